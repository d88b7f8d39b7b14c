-- bandit: draws the kinds of gene that have paid on this problem more often. Each kind is an arm: a
-- line deleted, copied or replaced, each other type of rule, each parameter, all switches, each
-- kind of transformation, and kinds that a script adds. A gene that is new in a child rewards its
-- kind by the child's speed-up over its first parent. Kinds are drawn in proportion to their recent
-- rewards, and none is given up (probability matching over a window; Fialho, Da Costa, Schoenauer
-- and Sebag, "Analyzing Bandit-Based Adaptive Operator Selection Mechanisms", 2010, section 2).
--
--   local bandit = gi.bandit.new(problem, gi.own.genes(problem))
--   scheme.draw, scheme.init = bandit.draw, bandit.init
--   table.insert(scheme.observers, bandit)
--
-- If the virtual GPU says what bounds the best so far (gilua.roofline.binds), kinds that reduce it
-- are preferred until their own rewards are known.
--
-- Rewards are counted after a generation, in the order of its individuals, so the same seed gives
-- the same history for any number of workers.

local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local linked = require "gilua.search.linked"
local roofline = require "gilua.base.roofline"
local settings = require "gilua.base.settings"

local M = {}

---@class gilua.arm
---@field name string
---@field draw fun(rng: table): string? a gene of the kind; nil where there is none
---@field tries integer genes of it that came into a child
---@field earned number[] of the last of them: ln(child's speed-up / parent's), 0 if that is less
---@field eases string? words: what it is made against

---@class gilua.bandit an observer of evolution
---@field arms gilua.arm[]
---@field draw fun(rng: table): string a gene of a kind that pays
---@field binds string? what binds the best so far
---@field init fun(n: integer, draw: function, rng: table): string[] a first population of single
---  genes in which all kinds have the same share

M.defaults = {
  explore = 0.3, -- of the draws, shared by all arms alike
  window = 12,   -- tries of an arm that count
  prior = 0.02,  -- what an arm is thought to earn before its first try, as one of its tries
  boost = 3,     -- times that, of an arm that eases what binds
}

local TRIES = 40 -- for a gene of one way of changing statements

--------------------------------------------------------------------------------------------------
-- The arms

-- How a gene changes a statement.
local function way_of(gene)
  if gene:find(">+<", 1, true) then return "copy" end
  return gene:find("><", 1, true) and "replace" or "delete"
end

-- Rule types that genes can aim at, in order.
local function types_of(grammar)
  local counts = {}
  for _, rule in ipairs(grammar:rules()) do
    if not rule.protected and rule.type ~= "fixed" and not rule.type:find "_K$" then
      counts[rule.type] = true
    end
  end
  counts.def = nil -- parameters are arms of their own
  return settings.keys(counts)
end

local function only(types, one)
  local weights = { def = 0 }
  for _, name in ipairs(types) do weights[name] = name == one and 1 or 0 end
  return weights
end

local function rule_arms(grammar, add)
  local types = types_of(grammar)
  for _, name in ipairs(types) do
    local weights = only(types, name)
    local function draw(rng) return (grammar:random_gene(rng, weights)) end
    if name ~= "statement" then
      add(name, draw)
    else
      for _, way in ipairs { "delete", "copy", "replace" } do
        add("statement: " .. way, function(rng)
          for _ = 1, TRIES do
            local gene = draw(rng)
            if not gene or way_of(gene) == way then return gene end
          end
        end)
      end
    end
  end
end

local function parameter_arms(problem, opened, add)
  local switches, is_open = {}, {}
  for _, name in ipairs(opened) do is_open[name] = true end
  for _, p in ipairs(problem.parameters) do
    local genes = {}
    for i, value in ipairs(p.values or {}) do genes[i] = ("%s=%s"):format(p.name, value) end
    if p.switch then
      switches[#switches + 1] = p.name
    elseif is_open[p.name] and #genes > 1 then
      add("parameter " .. p.name, function(rng) return rng:pick(genes) end, "latency")
    end
  end
  if #switches > 0 then add("switch", function(rng) return rng:pick(switches) end) end
end

-- The places of a transformation that says which are likely to pay: those first.
local function by_score(places)
  local list, order = table.move(places, 1, #places, 1, {}), {}
  for i, place in ipairs(places) do order[place] = i end
  table.sort(list, function(a, b)
    if a.score ~= b.score then return a.score > b.score end
    return order[a] < order[b]
  end)
  return list
end

-- Of places with a score the best of three, else any.
local function place_drawn(places)
  if not places[1].score then return function(rng) return rng:pick(places).gene end end
  local list = by_score(places)
  return function(rng)
    return list[math.min(rng:int(#list), rng:int(#list), rng:int(#list))].gene
  end
end

local function transformation_arms(grammar, add)
  for _, kind in ipairs(grammar:transformations()) do
    add("T:" .. kind.name, place_drawn(kind.places), kind.eases)
  end
end

--- The kinds of gene that a problem has.
---@param problem table
---@param genes table as gi.own.genes: { parameters =, transform_share = } (no transformations at 0)
---@return gilua.arm[]
function M.arms(problem, genes)
  local arms = {}
  local function add(name, draw, eases)
    arms[#arms + 1] = { name = name, draw = draw, tries = 0, earned = {}, eases = eases }
  end
  rule_arms(problem.grammar, add)
  parameter_arms(problem, genes.parameters or {}, add)
  if (genes.transform_share or 0) > 0 then transformation_arms(problem.grammar, add) end
  return arms
end

--------------------------------------------------------------------------------------------------
-- What they are worth

--- What an arm is expected to earn: the mean of its last tries, and of the prior as one more.
---@param arm gilua.arm
---@param prior number
---@return number
function M.worth(arm, prior)
  local sum = prior
  for _, reward in ipairs(arm.earned) do sum = sum + reward end
  return sum / (#arm.earned + 1)
end

-- Is an arm made against what binds?
local function is_against(arm, binds)
  return binds ~= nil and arm.eases ~= nil and arm.eases:find(binds, 1, true) ~= nil
end

--- The chance of each arm: the same for all, and by what they are worth.
---@param arms gilua.arm[]
---@param o { explore: number, prior: number, boost?: number }
---@param binds? string what binds the best so far
---@return number[] chances that add up to 1
function M.chances(arms, o, binds)
  local worths, sum, chances = {}, 0, {}
  for i, arm in ipairs(arms) do
    worths[i] = M.worth(arm, o.prior * (is_against(arm, binds) and o.boost or 1))
    sum = sum + worths[i]
  end
  for i in ipairs(arms) do
    chances[i] = o.explore / #arms + (1 - o.explore) * worths[i] / sum
  end
  return chances
end

local function earn(arm, reward, window)
  arm.tries = arm.tries + 1
  table.insert(arm.earned, reward)
  if #arm.earned > window then table.remove(arm.earned, 1) end
end

-- Genes of a child that its parent has not.
local function new_genes(text, parent)
  local known, list = {}, {}
  for _, gene in ipairs(genome.split(parent)) do known[gene] = true end
  for _, gene in ipairs(genome.split(text)) do
    if not known[gene] then list[#list + 1] = gene end
    known[gene] = true
  end
  return list
end

-- How many times as fast as the unmodified kernel; nil of one that may be no parent.
local function speedup(individual, baseline)
  local m = individual.measurement
  if not (individual.acceptable and fitness.right(m)) then return nil end
  return baseline.ticks / m.ticks
end

-- What changed one gene at a time tells what it is worth; a crossover's child does not.
local TELLING = { initial = true, mutation = true, scratch = true }

local function judge(self, run, record)
  self.chances = nil
  local best = record.improved and record.best.measurement or record.baseline
  self.binds = roofline.binds(best) or self.binds
  local known = self.known -- of this run: id -> { genome, speedup }
  for _, individual in ipairs(run.population) do
    local now = speedup(individual, record.baseline)
    local parent = known[individual.parents[1]] or { genome = run.scheme.start, speedup = 1 }
    if TELLING[individual.birth] and not known[individual.id] then
      local reward = now and math.max(0, math.log(now / parent.speedup)) or 0
      for _, gene in ipairs(new_genes(individual.genome, parent.genome)) do
        local arm = self.arm_of[gene]
        if arm then earn(arm, reward, self.options.window) end
      end
    end
    if now then known[individual.id] = { genome = individual.genome, speedup = now } end
  end
end

--------------------------------------------------------------------------------------------------
-- Drawing

local function drawn_from(self, arm, rng)
  local gene = arm.draw(rng)
  if gene then self.arm_of[gene] = arm end
  return gene
end

local function pick(arms, chances, rng)
  local left = rng:unit()
  for i, chance in ipairs(chances) do
    left = left - chance
    if left < 0 then return arms[i] end
  end
  return arms[#arms]
end

local MOST_GENES = 4 -- of an individual of the first population, where single ones are too few

-- The arms take turns, each with a gene that is not there yet. One that brings nothing new TRIES
-- times has no more; when none has, random ones of two to four genes follow.
local function first(self, n, rng)
  local genomes, seen, left = {}, {}, table.move(self.arms, 1, #self.arms, 1, {})
  local function take(text)
    text = text and self.repair(text)
    if text and text ~= "" and not seen[text] and #genomes < n then
      seen[text], genomes[#genomes + 1] = true, text
      return true
    end
  end
  while #genomes < n and #left > 0 do
    for i = #left, 1, -1 do
      local is_new
      for _ = 1, TRIES do
        is_new = take(drawn_from(self, left[i], rng))
        if is_new then break end
      end
      if not is_new then table.remove(left, i) end
    end
  end
  for _ = 1, 100 * n do
    local genes = {}
    for i = 1, 1 + rng:int(MOST_GENES - 1) do genes[i] = self.draw(rng) end
    take(genome.last_settings(genome.join(genes)))
  end
  while #genomes < n do genomes[#genomes + 1] = self.draw(rng) end
  return genomes
end

local made = setmetatable({}, { __mode = "k" }) -- `draw` of a bandit -> its options, as data

--- The options of M.new that a scheme's `draw` was made with, as data; nil where it was not, or
--- where there were arms of a script's own.
---@param draw function? of the scheme
---@return table?
function M.options_of(draw) return draw and made[draw] end

local function named(arms)
  local names = {}
  for i, arm in ipairs(arms) do names[i] = arm.name end
  return table.concat(names, ", ")
end

---@param problem table
---@param genes table as gi.own.genes
---@param options? table { explore, window, prior, boost }: see `defaults`; arms: more kinds, {
---  { name =, draw = fun(rng): string?, eases = }, … }
---@return gilua.bandit for `observers` of a scheme, and its `draw` and `init`
function M.new(problem, genes, options)
  local o = settings.fill("gilua.bandit.new", options, M.defaults, { "arms" })
  local self = { arms = M.arms(problem, genes), arm_of = {}, known = {}, options = o,
    repair = linked.of(problem),
    chances = nil } -- of the arms; judge, which changes what they are worth, has them made again
  for _, arm in ipairs(o.arms or {}) do
    self.arms[#self.arms + 1] = { name = arm.name, draw = arm.draw, tries = 0, earned = {},
      eases = arm.eases }
  end
  if #self.arms == 0 then
    error("gilua.bandit.new: the problem has nothing that genes can change", 2)
  end
  function self.draw(rng)
    self.chances = self.chances or M.chances(self.arms, o, self.binds)
    for _ = 1, TRIES * #self.arms do
      local gene = drawn_from(self, pick(self.arms, self.chances, rng), rng)
      if gene then return gene end
    end
    fail("no kind of gene has one to draw: %s", named(self.arms))
  end
  if not o.arms then
    made[self.draw] = { explore = o.explore, window = o.window, prior = o.prior, boost = o.boost }
  end
  function self.init(n, _, rng) return first(self, n, rng) end
  function self.on_generation(run, record) judge(self, run, record) end
  return self
end

return M
