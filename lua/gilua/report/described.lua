-- described: a scheme as data, for an archive: its numbers and texts, its functions by their names
-- in gilua, and the parts of the problem that a simulation needs (gi.replay).

local bandit = require "gilua.search.bandit"
local genome = require "gilua.search.genome"
local gevo = require "gilua.search.gevo"
local json = require "gilua.base.json"
local retouch = require "gilua.search.retouch"
local steady = require "gilua.search.steady"

local M = {}

M.OWN = "own" -- a function that has no name in gilua

-- Where a scheme's functions have names.
local ROOMS = { "evolve", "genome", "select", "fitness", "minimise", "control" }

local names -- function -> "select.truncation"

local function name_of(f)
  if not names then
    names = {}
    local rooms = { own = require "gilua.problem.own" }
    for _, room in ipairs(ROOMS) do rooms[room] = require("gilua.search." .. room) end
    for room, functions in pairs(rooms) do
      for name, value in pairs(functions) do
        if type(value) == "function" then names[value] = ("%s.%s"):format(room, name) end
      end
    end
  end
  return f and names[f] or M.OWN
end

-- Numbers, texts and tables of them; nil for the rest.
local function plain(value)
  local kind = type(value)
  if kind == "number" or kind == "string" or kind == "boolean" then return value end
  if kind ~= "table" or getmetatable(value) then return nil end
  local copy = {}
  for key, inner in pairs(value) do
    if type(key) == "string" or math.type(key) == "integer" then copy[key] = plain(inner) end
  end
  return copy
end

local NUMBERS = { "population", "generations", "finalists", "least", "start", "base",
  "check" }
local FUNCTIONS = { "init", "mutate", "cross", "fitness", "acceptable", "select", "minimise",
  "hold" }

local function functions_of(scheme)
  local list = {}
  for _, name in ipairs(FUNCTIONS) do
    if scheme[name] then list[#list + 1] = { name, name_of(scheme[name]) } end
  end
  local enough = name_of(scheme.enough) -- one of the run's own may ask the clock
  if enough ~= M.OWN then list[#list + 1] = { "enough", enough } end
  local breed = {}
  for i, step in ipairs(scheme.breed) do breed[i] = name_of(step) end
  list[#list + 1] = { "breed", json.array(breed) }
  return json.object(list)
end

local function parameters_of(problem)
  local list = {}
  for i, p in ipairs(problem.parameters) do
    list[i] = { name = p.name, default = plain(p.default), switch = p.switch == true,
      values = plain(p.values), in_source = p.in_source ~= false }
  end
  return json.array(list)
end

-- What makes the scheme of GEVO's search again (gilua.search.gevo).
local function gevo_of(run)
  local options = plain(gevo.options_of(run.functions.vary))
  if options then options.objectives = json.array(options.objectives) end
  return options
end

-- Where its genes came from, where that was said: gilua.genome.made_of.
local function draw_of(draw)
  return draw and (plain(genome.made_of(draw)) or M.OWN)
end

--- What a run is, as JSON.
---@param run Run
---@return string
function M.scheme(run)
  local scheme, list = run.scheme, {}
  for _, name in ipairs(NUMBERS) do list[#list + 1] = { name, scheme[name] } end
  list[#list + 1] = { "functions", functions_of(run.functions) }
  local kinds = plain(bandit.options_of(run.functions.draw))
  list[#list + 1] = { "gevo", gevo_of(run) }
  list[#list + 1] = { "steady", plain(steady.options_of(run.functions.vary)) }
  list[#list + 1] = { "bandit", kinds }
  list[#list + 1] = { "retouch", plain(retouch.options_of(run.functions.mutate)) }
  list[#list + 1] = { "draw", not kinds and draw_of(run.functions.draw) or nil }
  list[#list + 1] = { "case_draws", json.array(run.case_draws) }
  list[#list + 1] = { "genes", plain(scheme.genes) }
  list[#list + 1] = { "parameters", parameters_of(run.problem) }
  list[#list + 1] = { "tolerance", plain(run.problem.tolerance) }
  return json.line(json.object(list))
end

--- A function by the name that it has in gilua; nil where it has none there.
---@param name string "select.truncation"
---@return function?
function M.named(name)
  name_of()
  for f, known in pairs(names) do
    if known == name then return f end
  end
end

return M
