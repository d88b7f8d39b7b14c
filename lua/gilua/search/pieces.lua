-- pieces: calls the functions of a scheme, which may be a researcher's own. An error becomes one
-- sentence: the function and its line, the generation, the genome, the result, and the expected
-- one.

local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"
local trace = require "gilua.base.trace"

local M = {}

--------------------------------------------------------------------------------------------------
-- What each gives: a description, and a function that says what is wrong with a value, or nil

local shown = settings.shown

local function unless(kind)
  return function(value) return type(value) ~= kind and shown(value) or nil end
end

local function no_number(value)
  if type(value) ~= "number" then return shown(value) end
  return value ~= value and "nan" or nil
end

-- What keeps a list from being one: its first element that is not as it must be, a gap, a name.
local function no_list(value, wrong)
  if type(value) ~= "table" then return shown(value) end
  local n, keys = 0, 0
  for i, element in ipairs(value) do
    local what = wrong(element)
    if what then return ("a list whose element %d is %s"):format(i, what) end
    n = i
  end
  for key in pairs(value) do
    keys = keys + 1
    if math.type(key) ~= "integer" then return "a table with the key " .. shown(key) end
  end
  return keys > n and ("a list whose element %d is nil"):format(n + 1) or nil
end

local function no_individual(value)
  if type(value) ~= "table" then return shown(value) end
  return type(value.genome) ~= "string" and "a table without a genome" or nil
end

local function no_genomes(value, why)
  if value == nil and type(why) == "string" then return nil end
  return no_list(value, unless "string") or (#value == 0 and "an empty list" or nil)
end

local function no_individuals(value)
  return no_list(value, no_individual)
end

local GIVES = {
  init = { "a list of genomes", no_genomes },
  draw = { "a gene", unless "string" },
  mutate = { "a genome", unless "string" },
  cross = { "a genome or nil", function(value) return value and unless "string"(value) end },
  fitness = { "a number", no_number },
  select = { "a list of individuals", no_individuals },
  minimise = { "a genome", unless "string" },
  hold = { "a genome", unless "string" },
  new_case = { "a case, as a table", unless "table" },
}

--------------------------------------------------------------------------------------------------
-- What a call is about

local function named(genome)
  if type(genome) == "table" then genome = genome.genome end
  if type(genome) ~= "string" then return nil end
  return genome == "" and "the unmodified kernel" or ("genome '%s'"):format(genome)
end

local function both(first, second)
  local a, b = named(first), named(second)
  return a and b and a .. " and " .. b
end

local ABOUT = {
  mutate = named, cross = both, fitness = named, acceptable = named, minimise = named, hold = named,
  on_result = function(_, individual) return named(individual) end,
}

local function stage(run)
  if run.generation == 0 then return "the first population" end
  if run.final then return "the final comparison" end
  return ("generation %d"):format(run.generation)
end

-- What a call is about, as the end of what is said of it.
local function about(piece, before, ...)
  local what = ABOUT[piece.name] and ABOUT[piece.name](...)
  return what and before .. what or ""
end

local function title(run, piece)
  return ("%s: %s (%s)"):format(stage(run), piece.title, piece.place)
end

--------------------------------------------------------------------------------------------------
-- Calling

-- What an error in a piece is: the sentence of whoever refused, or the line of a script's and what
-- happened there; where no script's function was at work below the nearest xpcall, which is that of
-- `guarded`, an error of gilua's own, with its trace. (A function that ends with a call of
-- gilua's has left no line.)
local function caught(e, ours)
  if ends.is_interruption(e) then return e end
  if type(e) ~= "string" then
    local meta = debug.getmetatable(e)
    if type(meta) == "table" and meta.__tostring then return e end
    return { told = "it raised " .. shown(e) }
  end
  if ours and not trace.line(1, xpcall) then return { fault = trace.text(e, 1) } end
  return { told = trace.told(e, 1, xpcall) }
end

local function failed(run, piece, e, ...)
  if type(e) ~= "table" then error(e, 0) end
  if e.fault then fail("%s", e.fault) end
  if not e.told then error(e, 0) end
  fail("%s failed%s: %s", title(run, piece), about(piece, " for ", ...), e.told)
end

--- A piece of a scheme, as it is called.
---@param run Run
---@param name string that it has in the scheme
---@param f function
---@param called? string for people, where the name is not enough
---@return function
function M.guarded(run, name, f, called)
  local piece = { name = name, title = called or name, place = trace.place(f) }
  local gives, ours = GIVES[name], trace.is_ours(f)
  local function catch(e) return caught(e, ours) end
  local function judged(arguments, ok, ...)
    if not ok then failed(run, piece, (...), table.unpack(arguments, 1, arguments.n)) end
    local wrong = gives and gives[2](...)
    if not wrong then return ... end
    fail("%s returned %s, not %s%s", title(run, piece), wrong, gives[1],
      about(piece, ", for ", table.unpack(arguments, 1, arguments.n)))
  end
  return function(...)
    return judged(table.pack(...), xpcall(f, catch, ...))
  end
end

-- One step of breeding: it gives nothing, but has made children.
local function step(run, number, f)
  local piece = { title = ("step %d of breed"):format(number), place = trace.place(f) }
  local guarded = M.guarded(run, "breed", f, piece.title)
  return function(_, parents, children)
    guarded(run, parents, children)
    local wrong = no_individuals(children)
    if wrong then fail("%s left %s, not children", title(run, piece), wrong) end
  end
end

--- Makes all functions of a run's scheme ones that can be called without care.
---@param run Run
function M.guard(run)
  local scheme = run.scheme
  for name in pairs(GIVES) do
    if scheme[name] then scheme[name] = M.guarded(run, name, scheme[name]) end
  end
  scheme.acceptable = M.guarded(run, "acceptable", scheme.acceptable)
  scheme.vary = scheme.vary and M.guarded(run, "vary", scheme.vary)
  local steps = {}
  for i, f in ipairs(scheme.breed) do steps[i] = step(run, i, f) end
  scheme.breed = steps
end

--- Tells everybody of an event, the scheme itself last. Who fails does not keep it from the others;
--- the first failure is raised when all have been told.
---@param run Run
---@param event string
function M.notify(run, event, ...)
  local first
  for i = 1, #run.scheme.observers + 1 do
    local who = run.scheme.observers[i]
    local f = (who or run.scheme)[event]
    if f then
      local called = who and ("%s of observer %d"):format(event, i) or event
      local ok, why = pcall(M.guarded(run, event, f, called), run, ...)
      if not ok then first = first or why end
    end
  end
  if first then error(first, 0) end
end

return M
