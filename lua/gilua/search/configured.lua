-- configured: genomes with a fixed part (one value for each configuration parameter) followed by a
-- variable number of code patches, and the operators on them of Langdon, "Genetically Improved
-- Software", chapter 8, 2015, §8.14.1, §8.14.3, §8.14.4 (UCL RN/14/02, §9).
--
-- Such a genome is ordinary text: settings other than the default, in the order of the problem's
-- parameters, then the code genes. So every other part of gilua accepts it.

local genome = require "gilua.search.genome"

local M = {}

local Configured = {}
Configured.__index = Configured

---@class gilua.configured what operators for one problem share
---@field init fun(n: integer, draw: function, rng: table): string[]?, string?, string?
---@field mutate fun(parent: string, draw: function, rng: table): string
---@field cross fun(first: string, second: string, rng: table): string?

--------------------------------------------------------------------------------------------------
-- The two parts

local function axis_of(problem, name)
  for _, p in ipairs(problem.parameters) do
    if p.name == name then
      if p.switch then return { name = name, values = { "", name }, default = "" } end
      local values = {}
      for i, v in ipairs(p.values or {}) do values[i] = ("%s=%s"):format(name, v) end
      if #values > 1 then
        return { name = name, values = values, default = ("%s=%s"):format(name, p.default) }
      end
    end
  end
  error(("gilua.configured: the problem has no parameter '%s' with values"):format(name), 3)
end

--- The settings of a genome, by parameter (the default where it has none), and its code genes.
---@param text string
---@return table<string, string> settings genes; "" for a switch that is off
---@return string[] code
function Configured:split(text)
  local settings, code = {}, {}
  for _, axis in ipairs(self.axes) do settings[axis.name] = axis.default end
  for _, gene in ipairs(genome.split(text)) do
    local name = genome.name_set(gene)
    if name and settings[name] then settings[name] = gene else code[#code + 1] = gene end
  end
  return settings, code
end

---@param settings table<string, string>
---@param code string[]
---@return string genome
function Configured:join(settings, code)
  local genes = {}
  for _, axis in ipairs(self.axes) do
    local gene = settings[axis.name]
    if gene ~= axis.default then genes[#genes + 1] = gene end
  end
  return genome.join(table.move(code, 1, #code, #genes + 1, genes))
end

--------------------------------------------------------------------------------------------------
-- Operators

-- Another value of one parameter; both drawn evenly.
local function reset(self, settings, rng)
  local axis = rng:pick(self.axes)
  local others = {}
  for _, value in ipairs(axis.values) do
    if value ~= settings[axis.name] then others[#others + 1] = value end
  end
  settings[axis.name] = rng:pick(others)
end

-- §8.14.1: different from each other, each one parameter that is not as usual; when these become
-- hard to find, with random code genes besides.
local PATIENCE = 20

local function initial(self, n, draw, rng)
  local barren = 0
  return genome.initial(n, function()
    local settings = self:split("")
    reset(self, settings, rng)
    local code = {}
    local text = self:join(settings, code)
    if self.seen[text] then barren = barren + 1 end
    if barren > PATIENCE then
      code[1] = draw(rng)
      text = self:join(settings, code)
    end
    self.seen[text] = true
    return text
  end, rng)
end

-- §8.14.3: half of the mutations change the configuration, half append a code gene.
local function mutated(self, parent, draw, rng)
  local settings, code = self:split(parent)
  if rng:unit() < 0.5 then
    reset(self, settings, rng)
  else
    code[#code + 1] = draw(rng)
  end
  return self:join(settings, code)
end

local function cuts(list, rng)
  local a, b = rng:int(0, #list), rng:int(0, #list)
  return math.min(a, b), math.max(a, b)
end

-- §8.14.4: each parameter from either parent; of the code of the first, what is between two cuts is
-- replaced by what is between two cuts of the second.
local function crossed(self, first, second, rng)
  local mother, mothers = self:split(first)
  local father, fathers = self:split(second)
  local settings, code = {}, {}
  for _, axis in ipairs(self.axes) do
    settings[axis.name] = (rng:unit() < 0.5 and mother or father)[axis.name]
  end
  local start, finish = cuts(mothers, rng)
  local from, to = cuts(fathers, rng)
  table.move(mothers, 1, start, 1, code)
  table.move(fathers, from + 1, to, #code + 1, code)
  table.move(mothers, finish + 1, #mothers, #code + 1, code)
  return self:join(settings, code)
end

--- The operators of chapter 8 for a problem: { init, mutate, cross } for a scheme of gilua.evolve.
---@param problem table
---@param names string[] parameters of the fixed part, switches or with values, in its order
---@return gilua.configured
function M.new(problem, names)
  local self = setmetatable({ axes = {}, seen = {} }, Configured)
  for i, name in ipairs(names) do self.axes[i] = axis_of(problem, name) end
  if #self.axes == 0 then error("gilua.configured.new: no parameters are named", 2) end
  function self.init(n, draw, rng)
    self.seen = {}
    return initial(self, n, draw, rng)
  end
  function self.mutate(parent, draw, rng) return mutated(self, parent, draw, rng) end
  function self.cross(first, second, rng) return crossed(self, first, second, rng) end
  return self
end

--------------------------------------------------------------------------------------------------
-- What became of the configuration

-- A gene's value as a person writes it; a switch is on or off.
local function value_of(axis, gene)
  if gene == axis.name then return "on" end
  return (gene == "" or gene == axis.name .. "=undef") and "off" or gene:match("=(.*)$")
end

-- The most frequent first, equals by their names.
local function by_count(axis, counts)
  local list = {}
  for value, count in pairs(counts) do
    list[#list + 1] = { value = value, count = count,
                        default = value == value_of(axis, axis.default) }
  end
  table.sort(list, function(x, y)
    if x.count ~= y.count then return x.count > y.count end
    return x.value < y.value
  end)
  return list
end

--- How many of some genomes carry each value of some parameters (RN/14/02, Table 5).
---@param problem table
---@param names string[] parameters, switches or with values
---@param genomes string[]
---@return table[] list of { name, values = { { value, count, default }, … } }, in the order of the
---  names; the most frequent value first, values that none carries left out
function M.popular(problem, names, genomes)
  local operators = M.new(problem, names)
  local list, counts = {}, {}
  for i = 1, #operators.axes do counts[i] = {} end
  for _, text in ipairs(genomes) do
    local settings = operators:split(text)
    for i, axis in ipairs(operators.axes) do
      local value = value_of(axis, settings[axis.name])
      counts[i][value] = (counts[i][value] or 0) + 1
    end
  end
  for i, axis in ipairs(operators.axes) do
    list[i] = { name = axis.name, values = by_count(axis, counts[i]) }
  end
  return list
end

return M
