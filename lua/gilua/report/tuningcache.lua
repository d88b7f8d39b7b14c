-- tuningcache: tuning results as a cache file of Kernel Tuner's, which its simulation mode reads
-- and from which both tuners can continue. It is JSON: what was tuned and where, then "cache", an
-- object with a line for each setting. The key is the values of tune_params_keys as Python prints
-- them. A run that is killed may leave the last two brackets out.
--
-- Times are in milliseconds and always have a decimal point: Kernel Tuner does not choose a time
-- without one as the best. A setting that failed has the name of its error in place of a time.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local lfs = require "lfs"
local textfile = require "gilua.base.textfile"
local undo = require "gilua.base.undo"

local M = {}

---@class TuningWorld what the times of a tuning belong to
---@field device string
---@field kernel string
---@field size integer|integer[]|string of the problem; Kernel Tuner may say "callable"
---@field objective? string|string[] that a file names
---@field parameters string[]
---@field values table<string, any[]> of each parameter, those that may be
---@field defaults table<string, any> of the problem's other parameters
---@field seed? integer of the case
---@field files? string hash of the kernel and what belongs to it
---@field clock_ghz? number

local ERRORS = { compile_error = "CompilationFailedConfig" }
local FATES = { CompilationFailedConfig = "compile_error", RuntimeFailedConfig = "launch_error",
  InvalidConfig = "launch_error", ErrorConfig = "launch_error" }

-- Names that an entry has for something else; the first four are Kernel Tuner's to refuse.
local TAKEN = { time = true, grid_size_x = true, grid_size_y = true, grid_size_z = true,
  times = true, compile_time = true, verification_time = true, benchmark_time = true,
  strategy_time = true, framework_time = true, status = true, message = true, ticks = true,
  registers = true, max_error = true, rel_error = true }

local WRITE_S = 1 -- at most so long a time waits to be written

--------------------------------------------------------------------------------------------------
-- Values

-- The shortest text of a float that reads back equal, as Python prints it.
local function float_text(x)
  local digits = 1
  while tonumber(("%." .. digits .. "g"):format(x)) ~= x and digits < 17 do digits = digits + 1 end
  local power = tonumber(("%." .. digits - 1 .. "e"):format(x):match "e(.*)")
  if power < -4 or power >= 16 then return ("%." .. digits - 1 .. "e"):format(x) end
  return ("%." .. math.max(digits - 1 - power, 1) .. "f"):format(x)
end

local list_text

local function json_text(value)
  if type(value) == "table" then return list_text(value) end
  local finite = math.type(value) == "float" and value - value == 0
  return finite and float_text(value) or json.line(value)
end

function list_text(list)
  local texts = {}
  for i, value in ipairs(list) do texts[i] = json_text(value) end
  return "[" .. table.concat(texts, ", ") .. "]"
end

local WORDS = { [true] = "True", [false] = "False" }

local function python_text(value)
  return WORDS[value] or type(value) == "string" and value or json_text(value)
end

local function key_of(names, values)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = python_text(values[name]) end
  return table.concat(parts, ",")
end

local function joined(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

--------------------------------------------------------------------------------------------------
-- Writing

local function pair(name, value)
  return ("%s: %s"):format(json.encode(name), json_text(value))
end


local function times_of(row)
  local ms = {}
  for i, ns in ipairs(row.samples or { row.ns }) do ms[i] = ns / 1e6 end
  return list_text(ms)
end

-- Fields beside the parameters and the time. Seconds there are on a GPU alone: those of the
-- virtual one are no kernel's.
local function facts(row)
  local s = row.seconds or {}
  local list = { pair("compile_time", 1e3 * (s.compile or 0)),
    pair("verification_time", 1e3 * (s.check or 0)),
    pair("benchmark_time", 1e3 * (s.time or 0)), pair("strategy_time", 0.0),
    pair("framework_time", 0.0), pair("status", row.status) }
  if row.message then list[#list + 1] = pair("message", row.message:match "^[^\n]*") end
  for _, name in ipairs { "ticks", "registers", "max_error", "rel_error" } do
    local value = row[name]
    if value and value < math.huge then list[#list + 1] = pair(name, value) end
  end
  return list
end

-- A setting's line.
local function entry(names, row)
  local parts, others = {}, facts(row)
  for i, name in ipairs(names) do parts[i] = pair(name, row.values[name]) end
  if row.right then
    parts[#parts + 1] = pair("time", row.ns / 1e6)
    parts[#parts + 1] = '"times": ' .. times_of(row)
  else
    parts[#parts + 1] = pair("time", ERRORS[row.status] or "RuntimeFailedConfig")
  end
  return json.encode(key_of(names, row.values)) .. ": "
    .. joined(table.move(others, 1, #others, #parts + 1, parts))
end

local function values_text(names, values)
  local parts = {}
  for i, name in ipairs(names) do
    parts[i] = ("%s: %s"):format(json.encode(name), list_text(values[name] or {}))
  end
  return joined(parts)
end

local function head(w)
  local lines = { pair("device_name", w.device), pair("kernel_name", w.kernel),
    pair("problem_size", w.size),
    '"tune_params_keys": ' .. list_text(w.parameters),
    '"tune_params": ' .. values_text(w.parameters, w.values),
    pair("objective", w.objective or "time") }
  if w.files then
    lines[#lines + 1] = '"gilua": ' .. joined { pair("version", host.versions().gilua),
      pair("seed", w.seed), pair("files", w.files) }
  end
  return "{\n" .. table.concat(lines, ",\n") .. ",\n\"cache\": {"
end

local function whole(w, entries)
  return head(w) .. (#entries > 0 and "\n" or "") .. table.concat(entries, ",\n")
    .. (#entries > 0 and "}\n}\n" or "\n")
end

--- A parameter whose name an entry needs for something else; nil where there is none.
---@param names string[]
---@return string?
function M.taken(names)
  for _, name in ipairs(names) do
    if TAKEN[name] then return name end
  end
end

--- Results as the text of a cache file.
---@param tuning Tuning
---@param world TuningWorld
---@return string
function M.encode(tuning, world)
  local entries = {}
  for i, row in ipairs(tuning.rows) do entries[i] = entry(world.parameters, row) end
  return whole(world, entries)
end

--------------------------------------------------------------------------------------------------
-- Reading

local NO_NUMBERS = { "NaN", "Infinity", "-Infinity" } -- which Python writes and JSON has not

local function decoded(text)
  for _, word in ipairs(NO_NUMBERS) do
    if text:find(word, 1, true) then
      text = text:gsub("([%[:,]%s*)" .. word:gsub("-", "%%-"), "%1null")
    end
  end
  return json.decode(text)
end

-- Closed, open as while Kernel Tuner writes, and ended within a line.
local ENDS = { "^(.*)}%s*}%s*$", "^(.-),?%s*$", "^(.*),%s*\n[^\n]*$" }

-- The entries of what follows `"cache": {`, as they stand and as values.
local function entries_of(rest)
  for _, pattern in ipairs(ENDS) do
    local raw = rest:match(pattern)
    local entries = raw and decoded("{" .. raw .. "}")
    if entries then return entries, raw end
  end
end

-- A cache file: its head as an object, its entries as values, and these as they stand.
local function parsed(path, text)
  local first, last = text:find '"cache"%s*:%s*{'
  local about = first and decoded(text:sub(1, last) .. "}}")
  local entries, raw
  if about then entries, raw = entries_of(text:sub(last + 1)) end
  if not entries then
    fail("%s is no cache file of Kernel Tuner's%s: give --cache another file, or one that is not "
      .. "there yet", path, text:find '"schema_version"' and " (results in the T4 format are none)"
      or "")
  end
  return about, entries, raw:gsub("^%s+", "")
end

local function strings(list)
  if type(list) ~= "table" or #list == 0 then return nil end
  for _, item in ipairs(list) do
    if type(item) ~= "string" then return nil end
  end
  return list
end

-- What a head must have, which keeps nothing else from being asked of it.
local function check_form(path, about)
  for _, name in ipairs { "device_name", "kernel_name" } do
    if type(about[name]) ~= "string" then fail("%s has no \"%s\" of text", path, name) end
  end
  if not strings(about.tune_params_keys) then
    fail("%s has no \"tune_params_keys\", a list of names", path)
  end
end

local function differs(path, what, theirs, ours)
  fail("%s has times of %s %s, and this is %s: give --cache another file", path, what, theirs, ours)
end

-- As a person says it; nil of a size that a function gives.
local function size_text(size)
  if type(size) == "number" then return json_text(size) end
  return type(size) == "table" and list_text(size):sub(2, -2):gsub(", ", " x ") or nil
end

local function check_kernel(path, about, w)
  if about.kernel_name ~= w.kernel then
    differs(path, "the kernel", about.kernel_name, w.kernel)
  end
  local theirs, ours = size_text(about.problem_size), size_text(w.size)
  if theirs and theirs ~= ours then differs(path, "size", theirs, ours) end
  local own = type(about.gilua) == "table" and about.gilua or {}
  if own.seed and own.seed ~= w.seed then differs(path, "seed", own.seed, w.seed) end
  if own.files and own.files ~= w.files then
    differs(path, "another text of", about.kernel_name, "what it is now")
  end
end

-- The file's parameters must be this problem's: those that are tuned, and others at what they are.
local function check_parameters(path, names, w)
  local named = {}
  for _, name in ipairs(names) do
    named[name] = true
    if not w.values[name] and w.defaults[name] == nil then
      fail("%s has times for values of '%s', which is no parameter of this problem", path, name)
    end
  end
  for _, name in ipairs(w.parameters) do
    if not named[name] then
      fail("%s does not say which '%s' its times are of: give --cache another file", path, name)
    end
  end
end

--------------------------------------------------------------------------------------------------
-- A file to go on with

---@class TuningCache
---@field path string
---@field device string whose times they are
---@field foreign boolean another device's than this
---@field taken integer how many settings were found in it
local Cache = {}
Cache.__index = Cache
Cache.__close = function(self) self:close() end

-- A value that is the same setting has the same text: 32 and 32.0; true and 1 of a switch.
local function plain(value)
  if value == true then return "1" elseif value == false then return "0" end
  return json.line(value)
end

function Cache:place(values)
  local parts = {}
  for i, name in ipairs(self.names) do
    local value = values[name]
    if value == nil then value = self.world.defaults[name] end
    if value == nil then return nil end
    parts[i] = plain(value)
  end
  return table.concat(parts, ",")
end

local function error_in(e)
  for _, value in pairs(e) do
    if FATES[value] then return value end
  end
end

-- What an entry says, as a row has it; nil where it has no time.
function Cache:row(e)
  local problem = error_in(e)
  if problem then
    local status = type(e.status) == "string" and e.status or FATES[problem]
    return { status = status, right = false, max_error = tonumber(e.max_error) or math.huge,
      message = ("%s, by %s"):format(type(e.message) == "string" and e.message or problem,
        self.path) }
  end
  if type(e.time) ~= "number" then return nil end
  local ns = e.time * 1e6
  return { status = "ok", right = true, ns = ns, registers = math.tointeger(e.registers),
    max_error = tonumber(e.max_error), rel_error = tonumber(e.rel_error),
    ticks = not self.foreign and (tonumber(e.ticks) or ns * (self.world.clock_ghz or 1)) or nil }
end

local function extended(theirs, ours)
  local list, seen = {}, {}
  for _, values in ipairs { type(theirs) == "table" and theirs or {}, ours } do
    for _, value in ipairs(values) do
      if not seen[plain(value)] then list[#list + 1] = value end
      seen[plain(value)] = true
    end
  end
  return list
end

-- The head that the file gets: its own, with values that are new.
local function merged(about, w)
  local copy = {}
  for name, value in pairs(w) do copy[name] = value end
  copy.device, copy.parameters = about.device_name, about.tune_params_keys
  copy.size, copy.objective, copy.values = about.problem_size or w.size, about.objective, {}
  local theirs = type(about.tune_params) == "table" and about.tune_params or {}
  for _, name in ipairs(copy.parameters) do
    copy.values[name] = extended(theirs[name], w.values[name] or { w.defaults[name] })
  end
  return copy
end

function Cache:load(text)
  local about, entries, raw = parsed(self.path, text)
  check_form(self.path, about)
  check_kernel(self.path, about, self.world)
  check_parameters(self.path, about.tune_params_keys, self.world)
  self.names, self.foreign = about.tune_params_keys, about.device_name ~= self.world.device
  self.device = about.device_name ~= "" and about.device_name or "an unnamed device"
  if raw ~= "" then self.entries[1] = raw end
  for _, e in pairs(entries) do
    local place = type(e) == "table" and self:place(e)
    if place then self.known[place] = self:row(e) end
  end
  self.head = merged(about, self.world)
end

--- Opens a cache file to go on with; one that is not there yet is made when something is added.
---@param path string
---@param world TuningWorld
---@return TuningCache
function M.open(path, world)
  local name = M.taken(world.parameters)
  if name then fail("a parameter called '%s' has no place in Kernel Tuner's cache files", name) end
  local lock, why, code = core.file.lock(path .. ".lock", ("process %d\n"):format(
    core.system.pid()))
  if not lock then
    fail("cannot use %s: %s", path, code == "busy" and "another run goes on with it" or why)
  end
  local self = setmetatable({ path = path, world = world, names = world.parameters, lock = lock,
    device = world.device, foreign = false, known = {}, entries = {}, taken = 0, head = world,
    written = host.seconds() }, Cache)
  if lfs.attributes(path) then
    undo(function() lock:close() end, function() self:load(textfile.read(path, "the cache")) end)
  end
  return self
end

--- What the file knows of a setting.
---@param values table by parameter
---@return table? row fields
function Cache:find(values)
  local row = self.known[self:place(values)]
  if row then self.taken = self.taken + 1 end
  return row
end

-- The whole file, beside and moved into place: whoever reads it meanwhile finds a whole one.
function Cache:write()
  if not self.changed then return end
  textfile.write(self.path, whole(self.head, self.entries))
  self.changed, self.written = false, host.seconds()
end

--- Adds a setting that was measured. At most a second later it is in the file.
---@param row table
function Cache:add(row)
  if self.foreign then return end
  local values = setmetatable({}, { __index = function(_, name)
    local value = row.values[name]
    if value == nil then return self.world.defaults[name] end
    return value
  end })
  local copy = setmetatable({ values = values }, { __index = row })
  self.entries[#self.entries + 1], self.changed = entry(self.names, copy), true
  if host.seconds() - self.written > WRITE_S then self:write() end
end

function Cache:close()
  if not self.lock then return end
  local lock = self.lock
  self.lock = nil
  local ok, why = pcall(self.write, self)
  lock:close()
  if not ok then error(why, 0) end
end

--------------------------------------------------------------------------------------------------

-- What the answers depend on, in a hash: all that a problem's files hold, but for the Lua, where
-- values of parameters may come and go.
local function files_hash(problem)
  local parts = {}
  for _, file in ipairs(kept.of(problem).files) do
    local counts = not file.name:find "%.lua$" and file.name ~= kept.GRAMMAR
    parts[#parts + 1] = counts and file.text or nil
  end
  return core.system.hash128(table.concat(parts, "\0"))
end

-- A problem that is no table has no size: its answers are counted.
local function size_of(problem, farm, case)
  local own = problem.definition.kernel_table
  if own then return own.table.size end
  if not farm:case_info() then farm:evaluate({ "" }, case) end
  return farm:case_info().answers
end

--- What the times of a tuning belong to.
---@param problem gilua.problem
---@param farm gilua.farm
---@param tuned { parameters: string[], values: table<string, any[]>, case: table }
---@return TuningWorld
function M.world(problem, farm, tuned)
  local defaults = {}
  for _, p in ipairs(problem.parameters) do
    defaults[p.name] = not p.switch and (tonumber(p.default) or p.default)
  end
  local device = farm.devices[1]
  return { device = farm.virtual and farm:description() or device.name, kernel = problem.kernel,
    size = size_of(problem, farm, tuned.case), parameters = tuned.parameters,
    values = tuned.values, defaults = defaults, seed = tuned.case.seed, files = files_hash(problem),
    clock_ghz = device.clock_ghz }
end

return M
