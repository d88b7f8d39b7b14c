-- retouch: mutation of a number within a gene. A transformation that pays with one argument may pay
-- more with another: the gene becomes one that does the same at the same place with another number.
-- Mutation that only appends genes (GECCO 2014, §3.3.2) finds it once in as many draws as there are
-- genes.
--
--   local retouch = gi.retouch.new(problem, { share = 0.25 })
--   scheme.mutate = retouch.mutate

local genome = require "gilua.search.genome"
local settings = require "gilua.base.settings"

local M = {}

---@class gilua.retouch
---@field siblings fun(gene: string): string[] itself among them; empty where there are none
---@field mutate fun(parent: string, draw: function, rng: table): string

M.defaults = { share = 0.25 } -- of the mutations; the others append a gene

-- Genes of transformations of one kind at one line.
local function add_transformations(grammar, families)
  for _, kind in ipairs(grammar:transformations()) do
    local lists = {}
    for _, place in ipairs(kind.places) do
      lists[place.line] = lists[place.line] or {}
      table.insert(lists[place.line], place.gene)
    end
    for _, list in pairs(lists) do
      for _, gene in ipairs(list) do families[gene] = list end
    end
  end
end

-- Values of one parameter.
local function add_parameters(problem, families)
  for _, p in ipairs(problem.parameters) do
    local list = {}
    for i, value in ipairs(not p.switch and p.values or {}) do
      list[i] = ("%s=%s"):format(p.name, value)
    end
    for _, gene in ipairs(list) do families[gene] = list end
  end
end

-- The rules <pragma_K0>, <pragma_K1> … that a rule may be replaced by: its pool.
local function pools_of(grammar)
  local pools = {}
  for _, rule in ipairs(grammar:rules()) do
    local type = rule.type:match "^(.*)_K$"
    if type then
      pools[type] = pools[type] or {}
      table.insert(pools[type], rule.name)
    end
  end
  return pools
end

local made = setmetatable({}, { __mode = "k" }) -- `mutate` -> the options it was made with

--- The options of M.new that a scheme's `mutate` was made with; nil where it was not.
---@param mutate function? of the scheme
---@return table?
function M.options_of(mutate) return mutate and made[mutate] end

---@param problem table
---@param options? { share?: number } see `defaults`
---@return gilua.retouch
function M.new(problem, options)
  local o = settings.fill("gilua.retouch.new", options, M.defaults)
  local families, pools = {}, pools_of(problem.grammar)
  add_transformations(problem.grammar, families)
  add_parameters(problem, families)
  local self = {}

  function self.siblings(gene)
    local target, pool = gene:match "^(<[^<>]+>)<(%a+)_K%d+>$"
    if not pool or not pools[pool] then return families[gene] or {} end
    local list = {}
    for i, name in ipairs(pools[pool]) do list[i] = target .. name end
    return list
  end

  function self.mutate(parent, draw, rng)
    if rng:unit() < o.share then
      local genes, open = genome.split(parent), {}
      for i, gene in ipairs(genes) do
        if #self.siblings(gene) > 1 then open[#open + 1] = i end
      end
      if #open > 0 then
        local at = rng:pick(open)
        genes[at] = rng:pick(self.siblings(genes[at]))
        return genome.join(genes)
      end
    end
    return genome.mutate(parent, draw, rng)
  end
  made[self.mutate] = { share = o.share }
  return self
end

return M
