-- set: `gilua replay --set KEY=VALUE` as fields of a scheme: numbers and genomes as they are,
-- functions by their names in gilua. Fields whose effect an archive cannot answer are refused.

local control = require "gilua.search.control"
local ends = require "gilua.base.ends"
local evolve = require "gilua.search.evolve"
local fitness = require "gilua.study.fitness"
local minimise = require "gilua.search.minimise"
local select = require "gilua.search.select"
local settings = require "gilua.base.settings"

local M = {}

local function refuse(format, ...)
  ends.with(ends.STATUS.usage, "--set " .. format, ...)
end

local function whole(least)
  return function(key, text)
    local value = math.tointeger(tonumber(text))
    if value and value >= least then return value end
    local limit = least > math.mininteger and (" of at least %d"):format(least) or ""
    refuse("%s must be a whole number%s, not '%s'", key, limit, text)
  end
end

-- One of the functions that have a name; false stands for none.
local function one_of(choices)
  return function(key, text)
    local value = choices[text]
    if value ~= nil then return value end
    local names = settings.keys(choices)
    local near = settings.nearest(text, names)
    refuse("%s is %s, not '%s'%s", key, table.concat(names, ", "), text,
      near and ("; did you mean %s?"):format(near) or " (others by --scheme FILE)")
  end
end

local step = one_of { mutants = evolve.mutants, crossovers = evolve.crossovers,
  newcomers = evolve.newcomers }

local function steps(key, text)
  local list = {}
  for word in (text .. "+"):gmatch "([^+]*)%+" do list[#list + 1] = step(key, word) end
  return list
end

-- Reads a value, by key.
local KEYS = {
  seed = whole(math.mininteger), population = whole(2), generations = whole(1),
  finalists = whole(1), start = function(_, text) return text end,
  select = one_of { truncation = select.truncation, random = control.select },
  fitness = one_of { niftyreg = fitness.niftyreg, within = fitness.within(),
    stereo = fitness.stereo },
  acceptable = one_of { acceptable = fitness.acceptable, right = fitness.right,
    stereo = fitness.stereo_acceptable },
  minimise = one_of { knockout = minimise.knockout, none = false },
  breed = steps,
}

local RUNS = "nothing is run: the archive answers"
local DRAWN = "genes are drawn where the run drew them"

-- Why not, of what evolve and a scheme have besides.
local MEANINGLESS = {
  device = RUNS, jobs = RUNS, check = RUNS, case = RUNS, new_case = RUNS, farm = RUNS,
  ["weak-data"] = RUNS, fresh = RUNS, resume = RUNS, out = "a simulation leaves no files",
  base = "each kernel of the run was given the run's, and was timed with it",
  tune = "settings that were tuned are in the run's own start (--set start=GENOME)",
  from = "give what to start with itself (--set start=GENOME)",
  genome = DRAWN, genes = DRAWN,
  problem = "a run is of one problem",
  formula = "--formula FILE gives one", scheme = "--scheme FILE gives one",
}

--- Fields of a scheme, seed too.
---@param list string[]? each KEY=VALUE
---@return table
function M.fields(list)
  local fields = {}
  for _, text in ipairs(list or {}) do
    local key, value = text:match "^%s*([^=%s]+)%s*=%s*(.-)%s*$"
    if not key then refuse("needs KEY=VALUE, not '%s'", text) end
    if MEANINGLESS[key] then
      refuse("%s has no meaning in a simulation: %s", key, MEANINGLESS[key])
    end
    if not KEYS[key] then
      local names = settings.keys(KEYS)
      local near = settings.nearest(key, names)
      refuse("knows no '%s'%s", key, near and ("; did you mean %s?"):format(near)
        or ": " .. table.concat(names, ", "))
    end
    if fields[key] ~= nil then refuse("%s is given twice", key) end
    fields[key] = KEYS[key](key, value)
  end
  return fields
end

return M
