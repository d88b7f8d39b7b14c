-- own: the functions that experiments on a user's own kernel share.

local bandit = require "gilua.search.bandit"
local copied = require "gilua.problem.copied"
local core = require "gilua.core"
local genome = require "gilua.search.genome"
local linked = require "gilua.search.linked"
local minimise = require "gilua.search.minimise"
local retouch = require "gilua.search.retouch"
local roofline = require "gilua.base.roofline"
local settings = require "gilua.base.settings"
local steady = require "gilua.search.steady"

local M = {}

--- How many of the genes that are drawn are transformations, where the kernel has any.
M.TRANSFORM_SHARE = 0.25

local MOST_GENES = 4 -- of an individual of the first population

--- The spec of a case. Where there is a GPU the kernel as it is runs there for the answers: what it
--- does in milliseconds may take the virtual GPU minutes. So the case has the program's size there
--- (`on_gpu` of a problem table).
---@param problem gilua.problem
---@param seed integer
---@param device? string of the experiment
---@param last? boolean it is what the claim of the best is made on: of recordings one to choose by
---@return table spec
function M.case(problem, seed, device, last)
  local recorded = problem.definition.recorded
  if recorded then return last and recorded:specs("validate")[1] or recorded:spec(seed) end
  local spec, made = { seed = seed }, problem.definition.kernel_table
  if made and device and device:find("^cuda") then
    local own = made.table.on_gpu or {}
    spec.device = device:match("^cuda:%d+") or "cuda:0"
    spec.size, spec.values = own.size, own.values
  end
  return spec
end

--- The spec of a case of evolution. Of recordings a generation's are drawn (gilua.recorded); those
--- who did best meet on all to train on, and the claim of the best is made on all to choose by.
---@param problem gilua.problem
---@param seed integer
---@param device? string of the experiment
---@param stage? string "best" where the best meet, "claim"; else a generation
---@return table spec
function M.drawn(problem, seed, device, stage)
  local recorded = problem.definition.recorded
  if not recorded then return M.case(problem, seed, device) end
  if stage == "claim" and recorded:together "validate" then return recorded:together "validate" end
  return stage and recorded:together "train" or recorded:drawn(core.rng.new(seed))
end

--- Genes of a problem (options of gilua.genome.source): all of its parameters are open.
---@param problem gilua.problem
---@param transform_share? number of genes that are transformations (M.TRANSFORM_SHARE)
---@return table
function M.genes(problem, transform_share)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if not p.switch and p.values and #p.values > 1 then names[#names + 1] = p.name end
  end
  return { parameters = names, transform_share = transform_share or M.TRANSFORM_SHARE }
end

-- One gene for each transformation and each place of it, of random arguments: each is a large step,
-- so that none is left to chance. At most half of a population.
local function transformations(n, rng, run)
  local genes = run and run.scheme.genes
  if not genes or (genes.transform_share or 0) == 0 then return {} end
  local list, some = run.problem.grammar:one_of_each(rng), {}
  for i = 1, math.min(#list, n // 2) do some[i] = table.remove(list, rng:int(#list)) end
  return some
end

--- The first population: single genes (GECCO 2014, §3.3.1), among them transformations of each kind
--- at each place; and, of a kernel that has not so many, all of them, then random ones of two to
--- four genes.
---@param n integer
---@param draw fun(rng: table): string
---@param rng table
---@param run? Run
---@return string[] genomes all different, while there are so many
function M.first(n, draw, rng, run)
  local genomes, seen, tries = transformations(n, rng, run), {}, 0
  local repair = run and linked.of(run.problem)
  for _, text in ipairs(genomes) do seen[text] = true end
  while #genomes < n do
    tries = tries + 1
    local genes = {}
    local length = tries <= 10 * n and 1 or 1 + rng:int(MOST_GENES - 1)
    for i = 1, length do genes[i] = draw(rng) end
    local text = genome.last_settings(genome.join(genes))
    if repair then text = repair(text) end
    if not seen[text] or tries > 100 * n then genomes[#genomes + 1] = text end
    seen[text] = true
  end
  return genomes
end

local NEAR = 1.05 -- times its limit

--- Is the best of the last generation so near to the least time of its work that nothing is to be
--- gained? Then why, in words. Only the virtual GPU knows; and arithmetic is no such limit, for
--- most of what evolution finds is that there can be less of it.
---@param run Run
---@return string?
function M.enough(run)
  local record = run.records[#run.records]
  local m = record.improved and record.best.measurement or record.baseline
  local limit = roofline.of(m)
  if not limit or limit.times > NEAR or limit.by == "arithmetic" then return nil end
  return ("%s takes %.2f times the least time of its work, by %s"):format(
    record.improved and "the best" or "the unmodified kernel", limit.times, limit.by)
end

local WORTH = 0.05 -- of the time: what a change that a person has to read has to bring

-- The clean-up of a problem's winners.
local function cleaning(problem, is_marked)
  local worths = {}
  local function worth(gene)
    local known = not worths[gene] and problem.grammar:genes(gene)
    local is_read = known and known[1] and (copied.is(known[1]) or is_marked and is_marked(gene))
    worths[gene] = worths[gene] or is_read and WORTH or 0
    return worths[gene]
  end
  local repair = linked.of(problem)
  return function(text, score, noise)
    return minimise.knockout(text, score, noise, worth, repair)
  end
end

local LIVING = 4   -- one in so many of a population lives on
local SWEEP = 0.5  -- of the generations, the last ones: steps from the best in turn

--- The default search for a user's own kernel: the one that won the comparison of
--- docs/performance.md. Children one by one (gi.steady), of genes whose kinds have paid so far
--- (gi.bandit), or with another number in one that they have (gi.retouch); in the last generations
--- each single step from the best in turn (gi.sweep); until the best is near its limit. Of the best
--- a statement that stands for another, or besides, stays where it brings 5 % (problem/copied.lua),
--- and so does a gene for which it would be marked.
---@param problem gilua.problem
---@param options? { population?: integer, transform_share?: number,
---  is_marked?: fun(gene: string): boolean } 60; transformations where it is more than 0
---  (M.TRANSFORM_SHARE); is a winner with a gene for a person to read?
---@return table fields for gilua.evolve.run, with `observers`, to which others may be added
function M.scheme(problem, options)
  local o = settings.fill("gilua.own.scheme", options,
    { population = 60, transform_share = M.TRANSFORM_SHARE }, { "is_marked" })
  local genes = M.genes(problem, o.transform_share)
  local kinds = bandit.new(problem, genes)
  local fields = steady.scheme { population = o.population,
    living = math.max(2, o.population // LIVING), sweep = SWEEP }
  fields.genes, fields.init, fields.draw = genes, kinds.init, kinds.draw
  fields.mutate = retouch.new(problem).mutate
  fields.observers, fields.enough = { kinds }, M.enough
  fields.minimise = cleaning(problem, o.is_marked)
  return fields
end

return M
