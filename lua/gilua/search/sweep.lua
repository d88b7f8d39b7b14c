-- sweep: each single step from the best in turn: every value of every parameter, every switch,
-- every transformation at each of its places, __restrict__ and two of __launch_bounds__. What the
-- best lacks by one step is found here, where chance, which draws some steps twice before it has
-- drawn them all, may not come upon it. Where a block comes to do several times as much, a number
-- may have to go down with it to be any good (rows a thread works down): so such a step is there
-- with each number as many times less, too.
--
--   local steps = sweep.new(problem, genes, rng)
--   local text, step = steps:next(best) -- a genome one step from the best; nil where none is left
--   steps:came(step, 0.4)               -- it made of the best one 0.4 times as fast
--
-- The steps are in an order drawn once. Where one makes a better best, the others go on from that,
-- behind the numbers next to those that it has (gilua.search.retouch says which) and that have not
-- been tried lately: what is best for one may be another by now.
-- A step that made a much slower one, or none that is right, or the same code, is passed over in
-- the next round, in the next three where it does so again, and so on: most of them never will.
-- When all have been tried from the same one, none is left.

local genome = require "gilua.search.genome"
local retouch = require "gilua.search.retouch"

local M = {}

local POOR = 0.7 -- as fast as the best, and less
local LATELY = 40 -- genomes ago; half a round, where that is less

---@class gilua.step
---@field gene string
---@field default? string the parameter that it sets to what it is unless told
---@field parameter? table which is to be `by` times less with it
---@field by? integer
---@field given? integer how many genomes there had been when it was given last
---@field wrong? boolean it made none that is right then
---@field bad? integer how many rounds it was to be passed over last
---@field rests? integer how many are left of these

---@class gilua.sweep
---@field steps gilua.step[] in their order
---@field of table<string, gilua.step> by their genes, those of one gene alone
---@field given integer genomes so far
---@field tried integer steps that had their turn since the best is the best
---@field siblings fun(gene: string): string[] of gi.retouch
local Sweep = {}
Sweep.__index = Sweep

-- Of the words that the compiler is told, those tried, by the numbers of their rules.
local TOLD = { optrestrict = { 0 }, launchbounds = { 0, 2 } }

-- What two genes of which a genome has one at most have in common; nil of others.
local function place_of(gene)
  local slot, type = gene:match "^(<(%a+)_[^<>]+>)<%a+_K%d+>$"
  return genome.name_set(gene) or gene:match "^T:[%w_]+<[^<>]+>" or TOLD[type] and slot
end

local function add_told(grammar, list)
  local names = {}
  for _, rule in ipairs(grammar:rules()) do names[rule.name] = true end
  for _, rule in ipairs(grammar:rules()) do
    for _, number in ipairs(TOLD[rule.type] or {}) do
      local value = ("<%s_K%d>"):format(rule.type, number)
      if names[value] then list[#list + 1] = { gene = rule.name .. value } end
    end
  end
end

-- Adds each value of the open parameters, and the switches; those that are numbers.
local function add_parameters(problem, opened, list)
  local is_open, numbers = {}, {}
  for _, name in ipairs(opened) do is_open[name] = true end
  for _, p in ipairs(problem.parameters or {}) do
    local values = not p.switch and is_open[p.name] and p.values or {}
    local is_number = #values > 1
    if p.switch then list[#list + 1] = { gene = p.name } end
    for _, value in ipairs(values) do
      is_number = is_number and math.type(value) ~= nil
      list[#list + 1] = { gene = ("%s=%s"):format(p.name, value),
        default = tostring(value) == tostring(p.default) and p.name or nil }
    end
    if is_number then numbers[#numbers + 1] = p end
  end
  return numbers
end

-- Parts of other functions are left to chance: there are many, and most are wrong.
local function add_transformations(grammar, numbers, list)
  for _, kind in ipairs(grammar:transformations()) do
    for _, place in ipairs(not kind.donated and kind.places or {}) do
      list[#list + 1] = { gene = place.gene }
      for _, p in ipairs(kind.times and numbers or {}) do
        list[#list + 1] = { gene = place.gene, parameter = p,
          by = math.tointeger(tonumber(place.args[kind.times])) }
      end
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

-- The value of a parameter that is nearest to a number, the smaller one of two.
local function nearest(p, wanted)
  local best
  for _, value in ipairs(p.values) do
    local is_nearer = not best or math.abs(value - wanted) < math.abs(best - wanted)
      or math.abs(value - wanted) == math.abs(best - wanted) and value < best
    if is_nearer then best = value end
  end
  return best
end

-- What a genome sets a parameter to; nil: nothing.
local function setting(text, name)
  local value
  for _, gene in ipairs(genome.split(text)) do
    if genome.name_set(gene) == name then value = gene:match "=(.*)" end
  end
  return value
end

-- A genome with a step made; nil where there is none: it is so already, the number cannot be less.
local function stepped(text, step)
  local p = step.parameter
  if not p then
    local is_so = step.default and not setting(text, step.default)
    return not is_so and M.made(text, step.gene) or nil
  end
  if (" " .. text .. " "):find(" " .. step.gene .. " ", 1, true) then return nil end
  local present = tonumber(setting(text, p.name)) or p.default
  local less = nearest(p, present / step.by)
  if less >= present then return nil end
  return M.made(M.made(text, step.gene), ("%s=%s"):format(p.name, less))
end

local function step_with(self, gene)
  self.of[gene] = self.of[gene] or { gene = gene }
  return self.of[gene]
end

local function is_recent(self, step)
  local lately = math.min(LATELY, #self.steps // 2)
  return step.given ~= nil and self.given - step.given < lately
end

-- A genome with each of its numbers one further down and one further up, of those that have not
-- been tried lately and were not wrong: { text, step }, the first is the last.
local function besides(self, text)
  local list, genes = {}, genome.split(text)
  for at, gene in ipairs(genes) do
    local siblings, i = self.siblings(gene), nil
    for k, sibling in ipairs(siblings) do
      if sibling == gene then i = k end
    end
    for _, k in ipairs(i and { i - 1, i + 1 } or {}) do
      local step = siblings[k] and step_with(self, siblings[k])
      if step and not step.wrong and not is_recent(self, step) then
        genes[at] = siblings[k]
        table.insert(list, 1, { genome.join(genes), step })
      end
    end
    genes[at] = gene
  end
  return list
end

-- Is a step to be passed over once more?
local function is_resting(step)
  local left = step.rests or 0
  step.rests = math.max(0, left - 1)
  return left > 0
end

-- The next step in its turn, and what it makes; nil behind the last of a whole round.
local function in_turn(self, best)
  while self.tried < #self.steps do
    self.at, self.tried = self.at % #self.steps + 1, self.tried + 1
    local step = self.steps[self.at]
    local text = not is_resting(step) and not is_recent(self, step) and stepped(best, step)
    if text then return text, step end
  end
end

--- The next genome, and the step that made it; nil where all have been tried from this one.
---@param best string
---@return string?
---@return gilua.step?
function Sweep:next(best)
  if best ~= self.best then
    self.near = besides(self, best)
    self.best, self.tried = best, 0
  end
  local text, step = table.unpack(table.remove(self.near) or {})
  if not text then text, step = in_turn(self, best) end
  if not text then return nil end
  self.given, step.given = self.given + 1, self.given
  return text, step
end

--- What became of a step.
---@param step gilua.step
---@param speedup number how many times as fast as the best one was; 0: it is not right
function Sweep:came(step, speedup)
  local is_poor = speedup < POOR or speedup == 1
  step.bad = is_poor and 2 * (step.bad or 0) + 1 or 0
  step.rests, step.wrong = step.bad, speedup == 0
end

--- The steps of a problem.
---@param problem table
---@param genes table as gi.own.genes: { parameters =, transform_share = } (no transformations at 0)
---@param rng table
---@return gilua.sweep
function M.new(problem, genes, rng)
  local list = {}
  local numbers = add_parameters(problem, genes.parameters or {}, list)
  add_told(problem.grammar, list)
  if (genes.transform_share or 0) > 0 then add_transformations(problem.grammar, numbers, list) end
  for i = #list, 2, -1 do
    local k = rng:int(i)
    list[i], list[k] = list[k], list[i]
  end
  local of = {}
  for _, step in ipairs(list) do
    if not step.parameter then of[step.gene] = step end
  end
  return setmetatable({ steps = list, of = of, siblings = retouch.new(problem).siblings, at = 0,
    tried = 0, given = 0 }, Sweep)
end

return M
