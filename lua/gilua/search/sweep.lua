-- sweep: each single step from the best in turn: every value of every parameter, every switch,
-- every transformation at each of its places. What the best lacks by one step is found here, where
-- chance, which draws some steps twice before it has drawn them all, may not come upon it.
--
--   local steps = sweep.new(problem, genes, rng)
--   local text = steps:next(best)   -- a genome one step from the best; nil where none is left
--
-- The steps are in an order drawn once. Where one makes a better best, the others go on from that,
-- behind the numbers next to those that it has (gilua.search.retouch says which): what is best for
-- one may be another by now.
-- When all have been tried from the same one, none is left.

local genome = require "gilua.search.genome"
local retouch = require "gilua.search.retouch"

local M = {}

---@class gilua.sweep
---@field steps string[] genes, in their order
---@field siblings fun(gene: string): string[] of gi.retouch
local Sweep = {}
Sweep.__index = Sweep

-- What two genes of which a genome has one at most have in common; nil of others.
local function place_of(gene)
  return genome.name_set(gene) or gene:match "^T:[%w_]+<[^<>]+>"
end

local function add_parameters(problem, opened, list)
  local is_open = {}
  for _, name in ipairs(opened) do is_open[name] = true end
  for _, p in ipairs(problem.parameters or {}) do
    if p.switch then list[#list + 1] = p.name end
    for _, value in ipairs(not p.switch and is_open[p.name] and p.values or {}) do
      list[#list + 1] = ("%s=%s"):format(p.name, value)
    end
  end
end

-- Parts of other functions are left to chance: there are many, and most are wrong.
local function add_transformations(grammar, list)
  for _, kind in ipairs(grammar:transformations()) do
    for _, place in ipairs(not kind.donated and kind.places or {}) do
      list[#list + 1] = place.gene
    end
  end
end

--- A genome with a step made: a gene that it has goes, one that stands at its place makes room.
---@param text string
---@param step string a gene
---@return string
function M.made(text, step)
  local genes, place, is_there = {}, place_of(step), false
  for _, gene in ipairs(genome.split(text)) do
    is_there = is_there or gene == step
    if place_of(gene) ~= place then genes[#genes + 1] = gene end
  end
  if not is_there then genes[#genes + 1] = step end
  return genome.join(genes)
end

-- A genome with each of its numbers one further down and one further up; the first is the last.
local function besides(self, text)
  local list, genes = {}, genome.split(text)
  for at, gene in ipairs(genes) do
    local siblings, i = self.siblings(gene), nil
    for k, sibling in ipairs(siblings) do
      if sibling == gene then i = k end
    end
    for _, k in ipairs(i and { i - 1, i + 1 } or {}) do
      genes[at] = siblings[k]
      if siblings[k] then table.insert(list, 1, genome.join(genes)) end
    end
    genes[at] = gene
  end
  return list
end

--- The next genome; nil where all steps have been tried from this one.
---@param best string
---@return string?
function Sweep:next(best)
  if best ~= self.best then
    self.near = besides(self, best)
    self.best, self.tried = best, 0
  end
  if #self.near > 0 then return table.remove(self.near) end
  if self.tried >= #self.steps then return nil end
  self.at, self.tried = self.at % #self.steps + 1, self.tried + 1
  return M.made(best, self.steps[self.at])
end

--- The steps of a problem.
---@param problem table
---@param genes table as gi.own.genes: { parameters =, transform_share = } (no transformations at 0)
---@param rng table
---@return gilua.sweep
function M.new(problem, genes, rng)
  local list = {}
  add_parameters(problem, genes.parameters or {}, list)
  if (genes.transform_share or 0) > 0 then add_transformations(problem.grammar, list) end
  for i = #list, 2, -1 do
    local k = rng:int(i)
    list[i], list[k] = list[k], list[i]
  end
  return setmetatable({ steps = list, siblings = retouch.new(problem).siblings, at = 0,
    tried = 0 }, Sweep)
end

return M
