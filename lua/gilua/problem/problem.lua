--- problem: how to run one kernel. gi.problem "kernels/niftyreg" loads its problem.lua.
--
-- problem.lua returns a table (docs/problem.md): name, source, kernel, grammar, parameters,
-- tolerance, case(problem, spec) and launch(case, values); or a table without functions, from which
-- gilua.kerneltable makes these (docs/own-kernels.md).

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local class = require "gilua.problem.class"
local creference = require "gilua.problem.creference"
local elsewhere = require "gilua.base.elsewhere"
local launches = require "gilua.transform.launch"
local otherlaunch = require "gilua.problem.otherlaunch"
local place = require "gilua.problem.place"
local lfs = require "lfs"
local settings = require "gilua.base.settings"
local transforming = require "gilua.transform.grammar"

---@class gilua.problem
---@field name string
---@field dir string
---@field source string the kernel's text
---@field source_path string
---@field is_ptx boolean the source is PTX: genes name its instructions, and nothing is compiled
---@field ptx userdata? gi.ptx of the unmodified kernel, where it is known
---@field loaded string[] Lua files that problem.lua loads
---@field kernel string
---@field grammar gilua.transforming_grammar
---@field parameters table[] { name, default, values, switch, value, in_source, doc }
---@field tolerance table { max_error, rel_error, wrong_above, parent_penalty, outputs }
---@field loop_limit integer iterations of all its loops that a thread is allowed in the checked run
---@field check_races string "global" or "shared": where the checked run looks for races
---@field benign_races string "warn" or "refuse": races that cannot change a result
local Problem = class.methods

local FIELDS = {
  name = "string", source = "string", kernel = "string", parameters = "table", tolerance = "table",
  case = "function", launch = "function",
}
local OPTIONAL = {
  title = true, paper = true, reference = true, grammar = true, checked_case = true, compile = true,
  reference_time = true, restrict = true, kernel_table = true, loop_limit = true, prepare = true,
  check_races = true, benign_races = true, recorded = true, made_from = true, values_of = true,
}
local LOOP_LIMIT = 10000
local CHOICES = { check_races = { "global", "shared" }, benign_races = { "warn", "refuse" } }

local KNOWN = {}
for _, fields in ipairs { FIELDS, OPTIONAL } do
  for field in pairs(fields) do KNOWN[field] = true end
end

local function check(def, path)
  if type(def) ~= "table" then fail("%s returns no table", path) end
  for _, field in ipairs(settings.keys(FIELDS)) do
    if type(def[field]) ~= FIELDS[field] then
      fail("%s: the field '%s' must be a %s", path, field, FIELDS[field])
    end
  end
  for field in pairs(def) do
    if not KNOWN[field] then
      fail("%s: unknown field '%s'%s", path, field, settings.meant(field, KNOWN))
    end
  end
end

local TOLERANCE = { max_error = "number", rel_error = "number", wrong_above = "number",
  parent_penalty = "number", outputs = "table" }

local function check_numbers(def, path)
  for field, value in pairs(def.tolerance) do
    local kind = TOLERANCE[field]
    if not kind then
      fail("%s: tolerance has no field '%s'%s", path, field, settings.meant(field, TOLERANCE))
    end
    if type(value) ~= kind then fail("%s: tolerance.%s must be a %s", path, field, kind) end
  end
  if not def.tolerance.max_error then fail("%s: tolerance needs max_error", path) end
  local limit = def.loop_limit
  if limit ~= nil and (math.type(limit) ~= "integer" or limit < 1) then
    fail("%s: loop_limit must be a whole number from 1 on, not %s", path, limit)
  end
end

local PARAMETER = { name = "string", doc = "string", switch = "boolean", values = "table",
  in_source = "boolean", value = true, default = true, -- true: text or number
  told = "boolean", macro = "boolean" } -- of kernel tables and recordings: who learns its value

-- Refuses a parameter that says less than its author thinks: a misspelt field, a value that nothing
-- can set.
local function check_parameter(p, what, path)
  if type(p) ~= "table" then fail("%s: %s must be a table", path, what) end
  for field, value in pairs(p) do
    local kind = PARAMETER[field]
    if not kind then
      fail("%s: %s has no field '%s'%s", path, what, field, settings.meant(field, PARAMETER))
    elseif kind ~= true and type(value) ~= kind then
      fail("%s: %s of %s must be a %s, not %s", path, field, what, kind, settings.shown(value))
    end
  end
  if type(p.name) ~= "string" then fail("%s: %s has no name", path, what) end
  if p.value ~= nil and not p.switch then
    fail("%s: %s has a value and is no switch: add switch = true, or give values = { … }", path,
      what)
  end
end

local function check_parameters(def, path)
  for i, p in ipairs(def.parameters) do
    local name = type(p) == "table" and type(p.name) == "string" and p.name
    check_parameter(p, name and ("parameter '%s'"):format(name) or ("parameter %d"):format(i),
      path)
  end
end

--- Fields that are one of a few words: the first where nothing is said.
local function check_choices(def, path)
  local chosen = {}
  for field, words in pairs(CHOICES) do
    local word = def[field] == nil and words[1] or def[field]
    if word ~= words[1] and word ~= words[2] then
      fail('%s: %s must be "%s" or "%s", not %s', path, field, words[1], words[2],
        settings.shown(word))
    end
    chosen[field] = word
  end
  return chosen
end

local function config_of(parameters)
  local config = {}
  for i, p in ipairs(parameters) do
    local on_value = tostring(p.value or p.default or 1)
    config[i] = { name = p.name, on_value = on_value, in_source = p.in_source ~= false }
  end
  return config
end

--- Any number for a string that looks like one.
local function plain(v)
  return tonumber(v) or v
end

--- Parameter values of a launch: the defaults, then what a genome set ({ NAME = "128" }); and what
--- its transformations want of the launch. `judged` of a mutant by hand: see gilua.otherlaunch.
---@param params? table
function Problem:values(params)
  local values = {}
  for _, p in ipairs(self.parameters) do
    values[p.name] = plain(params and params[p.name] or p.default)
  end
  values[launches.PARAMETER] = params and params[launches.PARAMETER]
  values.judged = params and params.judged
  return values
end

--- Builds a case: inputs, output and expected answers. Slow: workers keep theirs.
function Problem:case(spec)
  return self.definition.case(self, spec)
end

--- What a worker is to build a case from, where that takes what a worker may not do (start
--- programs): the spec, as the problem's own `prepare` makes it.
---@return any? spec
---@return string? message
function Problem:prepared(spec)
  local prepare = self.definition.prepare
  if not prepare then return spec end
  return prepare(self, spec)
end

--- The launch of a case, as transformations want it; raises where they cannot have it.
function Problem:launch(case, values)
  local launch = self.definition.launch(case, values)
  if values and values.judged then return otherlaunch.changed(launch, case, values.judged) end
  return launches.changed(launch, values and values[launches.PARAMETER])
end

--- NVRTC options that parameter values ask for: { "-Xptxas=-dlcm=cg" }, and a target in place of
--- the device's own: "compute_75".
---@return string[] options
---@return string? target
function Problem:compile_options(values)
  if values and values.judged then return values.judged.options end
  local compile = self.definition.compile
  if not compile then return {} end
  local options, target = compile(values)
  return options or {}, target
end

--- How long the reference takes on the CPU, where the problem can say.
---@param spec table a case
---@param threads integer
---@return number? seconds
---@return string? message
function Problem:time_reference(spec, threads)
  local timed = self.definition.reference_time
  if not timed then return nil, self.name .. " does not time its reference" end
  return timed(self, spec, threads)
end

-- Compiles the C functions of a folder, where they have changed since: workers start no compiler.
local function build_reference(def, dir)
  local source = type(def.reference) == "string" and def.reference
  if source and lfs.attributes(dir .. "/" .. source) then creference.build(dir, source) end
end

--- The problem's C functions (reference.so), loaded when first used.
local function load_library(self)
  local path = creference.library(self.dir, self.definition.reference)
  local lib, message = core.library.open(elsewhere.of(path))
  if not lib then
    fail("%s; `make` builds it from %s", message, self.definition.reference)
  end
  return lib
end

local Meta = {
  __index = function(self, key)
    if key == "lib" and self.definition.reference then
      self.lib = load_library(self)
      return self.lib
    end
    return Problem[key]
  end,
  __names = function() -- the methods, for completion at the prompt
    local names = {}
    for name, method in pairs(Problem) do names[name] = method end
    return names
  end,
  __tostring = function(self)
    return ("problem %s: %s in %s, %d rules, %s legal genes"):format(self.name, self.kernel,
      self.source_path, #self.grammar:rules(), self.grammar:gene_count() or "very many")
  end,
}

-- The globals of problem.lua: Lua's, but for those that load a file, which `loaded` then lists.
local function globals(loaded)
  local env = {}
  for _, name in ipairs { "loadfile", "dofile" } do
    env[name] = function(path, ...)
      loaded[#loaded + 1] = path
      return _G[name](path, ...)
    end
  end
  return setmetatable(env, { __index = _G })
end

-- The source as PTX, whose instructions genes name.
local function open_ptx(self)
  local ptx, why = core.ptx.open(self.source)
  if not ptx then fail("%s: %s", self.source_path, why) end
  self.ptx, self.ptx_text = ptx, self.source
end

local function load_problem(path)
  local gi = require "gilua"
  local dir, loaded = place(path), {}
  local chunk, message = loadfile(dir .. "/problem.lua", "bt", globals(loaded))
  if not chunk then fail("%s", message) end
  local def = chunk()
  local kerneltable = require "gilua.problem.kerneltable"
  local recorded = require "gilua.problem.recorded"
  if recorded.is(def) then def = recorded.definition(def, dir) end
  if kerneltable.is(def) then def = kerneltable.definition(def, dir) end
  check(def, dir .. "/problem.lua")
  check_numbers(def, dir .. "/problem.lua")
  check_parameters(def, dir .. "/problem.lua")
  build_reference(def, dir)
  local chosen = check_choices(def, dir .. "/problem.lua")
  local self = setmetatable({
    name = def.name, dir = dir, kernel = def.kernel, definition = def, title = def.title,
    parameters = def.parameters, tolerance = def.tolerance, restrict = def.restrict,
    checked_case = def.checked_case, loop_limit = def.loop_limit or LOOP_LIMIT,
    check_races = chosen.check_races, benign_races = chosen.benign_races,
    source_path = dir .. "/" .. def.source, loaded = loaded,
    is_ptx = def.source:find "%.ptx$" ~= nil,
  }, Meta)
  local options = { kernel = not self.is_ptx and def.kernel or nil,
    config = config_of(def.parameters) }
  for k, v in pairs(not self.is_ptx and def.grammar or {}) do options[k] = v end
  local g, why = gi.grammar.parse(self.source_path, options)
  if not g then fail("%s", why) end
  self.grammar = transforming.of(g, { kernel = options.kernel, recorded = def.recorded ~= nil,
    values = def.values_of })
  self.source = g:apply("", true) -- the file, byte for byte
  if self.is_ptx then open_ptx(self) end
  class.opened(self)
  return self
end

return load_problem
