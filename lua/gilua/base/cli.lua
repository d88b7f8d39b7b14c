-- cli: command lines of experiments. A script declares its own options; the host's (--device --seed
-- --out --jobs --cluster --quiet --help) are accepted after the script's name as well as before it.
--
--   local options = gi.cli {
--     doc = "Evolve something.",
--     { name = "population", default = 300, min = 2, doc = "individuals in a generation" },
--     { name = "trace", default = false, doc = "say more" },
--   }
--   options.population, options.seed, options.quiet …
--
-- many = true: the option may be given several times; its value is a list. listed = true: it may,
-- too; its value is one text, joined by commas.
-- `positional` declares the arguments without dashes, in order: { { name = "problem", doc = … },
-- { name = "folder", optional = true } }. The last may have many = true: its value is a list.
-- runs = true: the script takes such arguments and leaves a run. `takes` names the standard options
-- that it uses ("seed quiet"; all by default): --help lists only these.

local attempt = require "gilua.base.attempt"
local printable = require "gilua.base.printable"
local ends = require "gilua.base.ends"
local events = require "gilua.base.events"
local gpus = require "gilua.base.gpus"
local settings = require "gilua.base.settings"

local M = {}

---@class CliOption
---@field name string without the dashes
---@field default any its type is the option's, unless `type` says otherwise; false: a flag
---@field type? string "integer" "number" "string" "flag"
---@field min? number
---@field max? number
---@field check? fun(value: any): boolean?, string? true, or nil and what is wrong
---@field doc? string
---@field many? boolean may be given again: its value is the list of what it was given
---@field listed? boolean may be given again: its value is all of it with commas between
---@field of_runs? boolean of what leaves a run alone

local COMPILERS = { nvrtc = true, llvm = true }

--- Of what compiles mutants.
M.compiling = {
  { name = "compiler", type = "string", of_runs = true, check = function(text)
    return COMPILERS[text], "must be nvrtc or llvm"
  end, doc = "the compiler of the kernel and its mutants: nvrtc or llvm (nvrtc)" },
  { name = "passes", type = "string", of_runs = true,
    doc = "with --compiler llvm: O0 to O3, Os, Oz or a comma-separated list of passes (O3)" },
}

M.standard = {
  { name = "device", default = "emu", doc = "where kernels run: emu, or cuda[:N]" },
  { name = "seed", default = 1, doc = "seed of all random choices" },
  { name = "out", type = "string", doc = "folder for the results" },
  { name = "jobs", type = "integer", min = 1, doc = "worker processes (one a core)" },
  { name = "cluster", type = "string",
    doc = "agents on other machines do the work: nats://HOST:4222 (gilua agent)" },
  { name = "gpu", type = "string", doc = "the GPU that emu stands for: "
    .. table.concat(gpus.NAMES, ", ") .. " or FILE.lua of gilua calibrate (h200)" },
  { name = "quiet", default = false, doc = "print nothing but errors" },
  { name = "resume", default = false, of_runs = true,
    doc = "go on with the last unfinished run of this command" },
  { name = "fresh", default = false, of_runs = true,
    doc = "measure everything again, whatever an earlier run there has measured" },
  M.compiling[1], M.compiling[2],
  { name = "json", default = false, of_runs = true,
    doc = "print events as JSON, an object a line; text goes to standard error" },
  { name = "help", default = false, doc = "print this and stop (also -h)" },
}

-- Those that a script may leave unsaid, and that hold for all that it does.
local OF_ALL = { "compiler", "passes", "cluster" }

local function type_of(option)
  if option.type then return option.type end
  if type(option.default) == "boolean" then return "flag" end
  return math.type(option.default) or "string"
end

local CONVERT = { -- text to value; nil where it is not one
  integer = function(text) return math.tointeger(tonumber(text)) end,
  float = tonumber,
  number = tonumber,
  string = function(text) return text end,
}

local ARTICLE = { integer = "a whole number", float = "a number", number = "a number" }

local function convert(option, text)
  local kind = type_of(option)
  local value = CONVERT[kind](text)
  local why
  if value == nil then
    why = "must be " .. ARTICLE[kind]
  elseif option.min and value < option.min then
    why = ("must be at least %s"):format(option.min)
  elseif option.max and value > option.max then
    why = ("must be at most %s"):format(option.max)
  elseif option.check then
    local right, complaint = option.check(value)
    if not right then why = complaint or "is not accepted" end
  end
  if why then return nil, ("--%s %s, not '%s'"):format(option.name, why, text) end
  return value
end

-- Does what takes these options leave a run?
local function is_run(spec) return spec.runs or not spec.positional end

-- Is its --json the standard one?
local function tells_events(spec)
  for _, option in ipairs(spec) do
    if option.name == "json" then return false end
  end
  return is_run(spec)
end

-- All options of a script by name: its own, which may redefine a standard one, and the rest.
local function declared(spec)
  local list, by_name = {}, {}
  local runs = is_run(spec)
  for _, set in ipairs { spec, M.standard } do
    for _, option in ipairs(set) do
      local left_out = set == M.standard and option.of_runs and not runs
      if not by_name[option.name] and not left_out then
        by_name[option.name] = option
        list[#list + 1] = option
      end
    end
  end
  return list, by_name
end

-- Does --help list an option? Not a standard one that means nothing to what is run.
local function is_listed(spec, option)
  if not spec.takes or option.name == "help" then return true end
  for _, standard in ipairs(M.standard) do
    if option == standard then
      local names = " " .. spec.takes .. " "
      return not option.of_runs and names:find(" " .. option.name .. " ", 1, true) ~= nil
    end
  end
  return true
end

local function unknown(name, by_name)
  local nearest = settings.nearest(name, settings.keys(by_name))
  return ("unknown option --%s%s (--help lists them)"):format(name,
    nearest and "; did you mean --" .. nearest .. "?" or "")
end

--- What --help prints.
---@param spec table
---@param script string
---@return string
function M.help(spec, script)
  local words = {}
  for i, p in ipairs(spec.positional or {}) do
    words[i] = (p.optional and " [%s]" or p.many and " %s..." or " %s"):format(p.name:upper())
  end
  local lines = { ("usage: gilua %s%s [options]"):format(script, table.concat(words)) }
  if spec.doc then lines[#lines + 1] = spec.doc end
  lines[#lines + 1] = ""
  for _, p in ipairs(spec.positional or {}) do
    lines[#lines + 1] = ("  %-22s %s"):format(p.name:upper(), p.doc or "")
  end
  for _, option in ipairs((declared(spec))) do
    local kind = type_of(option)
    local value = kind == "flag" and "" or kind == "string" and " TEXT" or " N"
    local default = option.default and (" (%s)"):format(option.default) or ""
    if is_listed(spec, option) then
      lines[#lines + 1] = ("  --%-20s %s%s"):format(option.name .. value, option.doc or "", default)
    end
  end
  return table.concat(lines, "\n")
end

-- The value of the option at argv[i], and where to read on.
local function value_at(option, argv, i, attached)
  if type_of(option) == "flag" then
    if attached then return nil, ("--%s takes no value"):format(option.name) end
    return true, i + 1
  end
  local text = attached or argv[i + 1]
  if text == nil then return nil, ("--%s needs a value"):format(option.name) end
  local value, why = convert(option, text)
  if value == nil then return nil, why end
  return value, attached and i + 1 or i + 2
end

local function put_value(values, option, value)
  if option.many then
    values[option.name] = values[option.name] or {}
    table.insert(values[option.name], value)
  elseif option.listed and values[option.name] then
    values[option.name] = values[option.name] .. "," .. value
  else
    values[option.name] = value
  end
end

-- Values that the host read before the script's name, held to the same limits; nil and why not.
local function taken_over(values, host, by_name)
  for name, value in pairs(host or {}) do
    local option = by_name[name]
    if option and type_of(option) ~= "flag" then
      local _, why = convert(option, tostring(value))
      if why then return nil, why end
    end
    values[name] = value
  end
  return true
end

-- What has to be there and is not: a sentence; nil where all is. --help needs nothing.
local function missing(spec, values, words)
  local place = (spec.positional or {})[words + 1]
  if not place or place.optional or values.help then return nil end
  return ("%s is missing: %s"):format(place.name:upper(), place.doc or "see --help")
end

-- The place of the next word: the last one may take many.
local function place_for(spec, words)
  local places = spec.positional or {}
  local last = places[#places]
  return places[words + 1] or last and last.many and last
end

local function put(values, place, word)
  if not place.many then
    values[place.name] = word
  else
    values[place.name] = values[place.name] or {}
    table.insert(values[place.name], word)
  end
end

--- Reads a command line; prints nothing and ends nothing.
---@param spec table `doc` and a list of CliOption
---@param argv string[]
---@param host? table values of the host's options, used as defaults
---@return table? options
---@return string? message one sentence
function M.parse(spec, argv, host)
  local list, by_name = declared(spec)
  local values = {}
  for _, option in ipairs(list) do values[option.name] = option.default end
  local taken, unfit = taken_over(values, host, by_name)
  if not taken then return nil, unfit end
  local i, words = 1, 0
  while i <= #argv do
    local word = argv[i] == "-h" and "--help" or argv[i]
    local name, attached = word:match("^%-%-([^=]+)=?(.*)$")
    local place = not name and place_for(spec, words)
    if place then
      put(values, place, argv[i])
      words, i = words + 1, i + 1
    elseif not name then
      return nil, ("unexpected argument '%s' (--help lists the options)"):format(argv[i])
    elseif not by_name[name] then
      return nil, unknown(name, by_name)
    else
      if not word:find("=", 1, true) then attached = nil end
      local value, rest = value_at(by_name[name], argv, i, attached)
      if value == nil then return nil, rest end
      put_value(values, by_name[name], value)
      i = rest
    end
  end
  local why = missing(spec, values, words)
  if why then return nil, why end
  return values
end

--- Reads this script's command line. Prints the help and ends the program for --help (status 0), or
--- prints the fault of a wrong command line (status 2).
---@param spec table
---@return table options
local function read(spec)
  local script = arg and arg[0] or "script.lua"
  local found, gilua = attempt(require, "gilua")
  local options, why = M.parse(spec, arg or {}, found and gilua.options or nil)
  if not options then
    io.stderr:write(printable.text(("gilua: %s: %s\n"):format(script, why)))
    os.exit(ends.STATUS.usage, true)
  elseif options.help then
    print(M.help(spec, script))
    os.exit(0, true)
  end
  if options.gpu then gpus.choose(options.gpu) end
  if found then
    gilua.options.resume = options.resume or gilua.options.resume
    gilua.options.fresh = options.fresh or nil
    for _, name in ipairs(OF_ALL) do
      gilua.options[name] = options[name] or gilua.options[name]
    end
    if options.json and tells_events(spec) then events.begin() end
  end
  return options
end

return setmetatable(M, { __call = function(_, spec) return read(spec) end })
