-- kerneltable: a problem described by a table, without functions: what most kernels need, and what
-- users of Kernel Tuner know (source, kernel, size, args, tune_params, restrictions, block_size_x).
-- A problem.lua that has `args` and no `launch` is one; `gilua new` writes one. definition() makes
-- of it what gi.problem takes (docs/own-kernels.md has every field).
--
-- Values are numbers or expressions in Lua's syntax over size_x, size_y, size_z, the parameters and
-- the scalar arguments: "size_x * 4".

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local core = require "gilua.core"
local creference = require "gilua.problem.creference"
local expression = require "gilua.problem.expression"
local settings = require "gilua.base.settings"
local tablecase = require "gilua.problem.tablecase"
local tablecheck = require "gilua.problem.tablecheck"
local tolerances = require "gilua.problem.tolerance"
local textfile = require "gilua.base.textfile"

local M = {
  most_instructions = 1 << 32, -- of a reference's warps: about a minute on the virtual GPU
}

local DIMENSIONS = { "x", "y", "z" }
local KEPT_CODE = 2 -- compiled sources: the kernel, and what it is compared with

--- Is this table one of these?
---@param def any
---@return boolean
function M.is(def)
  if type(def) ~= "table" then return false end
  return def.launch == nil and (def.args ~= nil or def.case == nil)
end

--------------------------------------------------------------------------------------------------
-- Parameters

local function in_source(source, name)
  return ("\n" .. source):find("\n[ \t]*#[ \t]*define[ \t]+" .. name .. "[ \t]") ~= nil
    or ("\n" .. source):find("\n[ \t]*#[ \t]*undef[ \t]+" .. name .. "[ \t\r\n]") ~= nil
end

local function defined_value(source, name)
  local text = ("\n" .. source):match("\n[ \t]*#[ \t]*define[ \t]+" .. name .. "[ \t]+([^\r\n/]+)")
  return text and (tonumber(text) or text:match("^%s*(.-)%s*$"))
end

local function mentioned(source, name)
  return source:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
end

-- What the unmodified kernel is launched with where no gene says otherwise.
local function default_of(t, name, values, source)
  local given = t[name] or t.defaults and t.defaults[name]
  return given or defined_value(source, name) or values[1]
end

local function parameters_of(t, source)
  local list, names = {}, settings.keys(t.tune_params or {})
  for _, d in ipairs(DIMENSIONS) do
    local name = "block_size_" .. d
    if t[name] and not (t.tune_params and t.tune_params[name]) then names[#names + 1] = name end
  end
  for _, name in ipairs(names) do
    local values = t.tune_params and t.tune_params[name] or { t[name] }
    list[#list + 1] = { name = name, values = values, in_source = in_source(source, name),
      default = default_of(t, name, values, source),
      macro = not in_source(source, name) and mentioned(source, name) }
  end
  return list
end

-- The most threads a block of any setting has: what __launch_bounds__ may promise.
local function most_threads(parameters)
  local most = 1
  for _, p in ipairs(parameters) do
    if p.name:find("^block_size_[xyz]$") then
      local high = p.default
      for _, v in ipairs(p.values) do high = math.max(high, v) end
      most = most * high
    end
  end
  return math.min(most, 1024)
end

-- Does a rule hold? A number would be true in Lua and, where it is 0, false in Python and C.
local function holds(rule, values, where)
  local is_met = expression.value(rule, values, where)
  if type(is_met) == "number" then
    fail("%s: '%s' gives %s, neither true nor false: compare it, as in "
      .. "x %% 32 == 0", where, tostring(rule), is_met)
  end
  return is_met
end

-- Whether all restrictions hold for values of the parameters; else the first that does not.
local function restriction(t, path)
  return function(values)
    for i, rule in ipairs(t.restrictions or {}) do
      local where = ("%s: restriction %d"):format(path, i)
      if not holds(rule, values, where) then
        return false, type(rule) == "string" and rule or where
      end
    end
    return true
  end
end

--------------------------------------------------------------------------------------------------
-- Cases

-- A spec: seed; size, the table's own if left out; device of the reference and its budget (most
-- warp instructions on the virtual GPU); family, where the data are to be of another kind, and
-- array, where only this one's.
local function check_spec(spec, name)
  return settings.fill(name .. ": case", spec, {}, { "seed", "size", "device", "budget", "family",
    "array" })
end

-- The family that fills an array; nil where its own fill does.
local function family_of(s, name)
  return (s.array == nil or s.array == name) and s.family or nil
end

local function case_name(size, s)
  local name = ("size %s, seed %s"):format(table.concat(size, "x"), tostring(s.seed or 1))
  if s.family then name = name .. ", " .. s.family end
  return s.array and ("%s of %s"):format(name, s.array) or name
end

local function make_case(self, spec, as)
  local t, s = self.table, check_spec(spec, self.name)
  local size = tablecase.sizes(s.size or t.size)
  local names, rng = tablecase.names(self, size, self:defaults()), core.rng.new(s.seed or 1)
  local case = { size = size, arrays = {}, structs = {}, constants = {} }
  for i, arg in ipairs(t.args) do
    local where = tablecase.where(self, i)
    if arg.type == "struct" then
      case.structs[arg.name] = tablecase.struct(arg, names, where, as)
    elseif arg.count then
      case.arrays[arg.name] = tablecase.array(arg, names, rng, where, family_of(s, arg.name))
    end
  end
  for _, name in ipairs(settings.keys(t.constants or {})) do
    case.constants[name] = tablecase.array(t.constants[name], names, rng,
      ("%s: constants.%s"):format(self.path, name), family_of(s, name))
  end
  case.name = case_name(size, s)
  return case, names, s
end

-- What is written, in the arguments' order: the first is the case's own output.
local function set_outputs(t, case, expected)
  local list, answers = {}, 0
  for _, arg in ipairs(t.args) do
    if tablecase.is_written(arg) then
      local array = case.arrays[arg.name]
      answers = answers + #array
      list[#list + 1] = { output = array, expected = expected[arg.name],
        compare = { limit = t.tolerance.wrong_above, max_error = arg.max_error,
          rel_error = arg.rel_error },
        initial = arg.role == "inout" and array:copy() or nil }
    end
  end
  for key, value in pairs(table.remove(list, 1)) do case[key] = value end
  case.also, case.answers = list, answers
  return case
end

--------------------------------------------------------------------------------------------------
-- Launches

-- Blocks in a dimension: the size over the product of grid_div, or of the block's side.
local function blocks_in(self, d, size, block, names)
  local field = "grid_div_" .. DIMENSIONS[d]
  local divisor = 1
  for _, text in ipairs(self.table[field] or { block }) do
    divisor = divisor * expression.whole(text, names, ("%s: %s"):format(self.path, field))
  end
  return (size + divisor - 1) // divisor
end

-- Bytes of dynamic shared memory.
local function shared_bytes(self, names)
  if self.table.shared == nil then return nil end
  local where = self.path .. ": shared"
  local bytes = expression.value(self.table.shared, names, where)
  local whole = type(bytes) == "number" and math.tointeger(bytes)
  if whole and whole >= 0 then return whole end
  fail("%s must be a whole number of bytes, not %s", where, tostring(bytes))
end

local function launch_of(self, case, values)
  local t, names = self.table, tablecase.names(self, case.size, values)
  local launch = { block = {}, grid = {}, args = {}, constants = case.constants, scratch = {},
    textures = {}, shared = shared_bytes(self, names) }
  for d, name in ipairs(DIMENSIONS) do
    launch.block[d] = values["block_size_" .. name] or 1
    launch.grid[d] = blocks_in(self, d, case.size[d] or 1, launch.block[d], names)
  end
  for d, text in ipairs(t.grid or {}) do
    launch.grid[d] = expression.whole(text, names, self.path .. ": grid")
  end
  for i, arg in ipairs(t.args) do
    if arg.texture then
      launch.textures[arg.name] = tablecase.texture(arg, names, tablecase.where(self, i))
      launch.textures[arg.name].array = case.arrays[arg.name]
    end
    launch.args[i] = arg.texture and { texture = arg.name } or case.structs[arg.name]
      or case.arrays[arg.name] or { arg.type, names[arg.name] }
    if arg.role == "scratch" then table.insert(launch.scratch, case.arrays[arg.name]) end
  end
  return launch
end

--------------------------------------------------------------------------------------------------
-- References

-- An argument's array on a device: a texture, or a buffer.
local function on_device(device, arg, array, launch)
  if arg.texture then
    local options = {}
    for key, value in pairs(launch.textures[arg.name]) do
      if key ~= "array" then options[key] = value end
    end
    return device:texture(array, options)
  end
  local copy = array:copy()
  if arg.role == "out" then copy:sentinel() end
  return device:buffer(copy, { label = arg.name, read_only = arg.role == nil or arg.role == "in" })
end

-- What a device has of a case's arrays, by argument; nil and why where it has no room.
local function buffers_of(self, case, device, launch)
  local buffers = setmetatable({}, { __close = function(list)
    for _, buffer in pairs(list) do buffer:close() end
  end })
  for i, arg in ipairs(self.table.args) do
    local array = case.arrays[arg.name]
    if array then
      local buffer, why = on_device(device, arg, array, launch)
      if not buffer then return buffers, why end
      buffers[i] = buffer
    end
  end
  return buffers
end

-- A launch; misuse, such as a wrong number of arguments, is why there is none.
local function launched(module, launch)
  local ok, m = attempt(module.launch, module, launch)
  if not ok then return nil, (tostring(m):gsub("^.-bad argument #%d+ to 'launch' ", "")) end
  if m.status ~= "ok" then return nil, ("%s: %s"):format(m.status, m.message), m end
  return m
end

local recent = {} -- what was compiled last, of whatever problem: who tries data writes it anew

-- A kernel's code, or nil and why there is none. The last few stay: kernels are run again on other
-- cases, and beside another source.
local function code_of(self, device, run)
  local target, options = device:target(), self:options(run.values)
  local key = target .. "\n" .. table.concat(options, "\n") .. "\n" .. run.source
  for _, known in ipairs(recent) do
    if known.key == key then return known.code end
  end
  local code, unfit = require("gilua").compile(run.source,
    { target = target, options = options, name = run.file })
  if not code then return nil, "it does not compile: " .. unfit end
  table.insert(recent, 1, { key = key, code = code })
  recent[KEPT_CODE + 1] = nil
  return code
end

-- A kernel run once on a device: its outputs as arrays by name, and the measurement; or nil, why,
-- and the measurement where there is one.
---@param run { source: string, file: string, kernel: string, values: table, launch: table,
---  budget?: integer }
local function run_kernel(self, case, device, run)
  local code, unfit = code_of(self, device, run)
  if not code then return nil, unfit end
  local loaded, unloaded = device:load(code)
  if not loaded then return nil, unloaded end
  local module <close> = loaded
  for _, name in ipairs(settings.keys(case.constants)) do
    local ok, message = module:write(name, case.constants[name])
    if not ok then return nil, message end
  end
  local buffers <close>, full = buffers_of(self, case, device, run.launch)
  if full then return nil, full end
  local args = {}
  for i in ipairs(self.table.args) do args[i] = buffers[i] or run.launch.args[i] end
  local m, why, failed = launched(module, { kernel = run.kernel, grid = run.launch.grid,
    block = run.launch.block, shared = run.launch.shared, args = args,
    budget = run.budget or M.most_instructions, print = false, backwards = run.backwards })
  if not m then return nil, why, failed end
  local expected = {}
  for i, arg in ipairs(self.table.args) do
    local is_written = tablecase.is_written(arg)
    if is_written then expected[arg.name] = buffers[i]:read() end
  end
  return expected, m
end

-- Why a case is too large, and what stands for its measurement; nil where it is not.
local function too_large(self, spec, most_bytes)
  local size = tablecase.sizes(spec.size or self.table.size)
  local bytes = tablecase.bytes(self, tablecase.names(self, size, self:defaults()))
  if bytes <= most_bytes then return nil end
  return ("its arrays take %.0f MB, and %.0f MB are the most that is tried"):format(bytes / 1e6,
    most_bytes / 1e6), { status = "out_of_memory" }
end

--- Runs the kernel of a problem table as it is, or `source` in its place, on a case.
---@param problem gilua.problem
---@param spec table { seed, size }
---@param options? { device?: string, source?: string, budget?: integer, structs?: table,
---  backwards?: boolean, most_bytes?: integer, convert?: fun(case: table, launch?: table) } budget:
---  most warp instructions on the virtual GPU; most_bytes: of its arrays together; convert may
---  change the case, and then the launch; structs: other types for those of fields,
---  { f32 = "f64" }; backwards: the last block begins first
---@return table<string, userdata>? outputs by argument's name
---@return table|string measurement, or why there are none
---@return table? measurement where there are none
function M.run(problem, spec, options)
  local o = settings.fill("kerneltable.run", options, { device = "emu" },
    { "source", "budget", "most_bytes", "convert", "structs", "backwards" })
  local self = problem.definition.kernel_table
  local large, why = too_large(self, spec, o.most_bytes or math.huge)
  if large then return nil, large, why end
  local case = make_case(self, spec, o.structs)
  if o.convert then o.convert(case) end
  local device <close> = assert(require("gilua").device(o.device))
  local values = self:defaults()
  local launch = launch_of(self, case, values)
  if o.convert then o.convert(case, launch) end
  return run_kernel(self, case, device, { source = o.source or self.source,
    file = self.dir .. "/" .. self.table.source, kernel = self.table.kernel,
    values = values, launch = launch, budget = o.budget, backwards = o.backwards })
end

-- The arguments for a function on the host, copies of what it writes, and those by name.
local function host_arguments(self, case, scalar)
  local args, expected = {}, {}
  for i, arg in ipairs(self.table.args) do
    local array = case.arrays[arg.name]
    local written = tablecase.is_written(arg)
    args[i] = array and (written and array:copy() or array) or scalar(arg, i)
    if written then expected[arg.name] = args[i] end
  end
  return args, expected
end

local function by_lua(self, case, names)
  local args, expected = host_arguments(self, case, function(arg, i)
    if arg.type ~= "struct" then return names[arg.name] end
    return tablecase.fields(arg, names, tablecase.where(self, i))
  end)
  for i, arg in ipairs(self.table.args) do args[arg.name] = args[i] end
  self.table.reference(args, names)
  return expected
end

local function by_c(self, case, names)
  local args, expected = host_arguments(self, case, function(arg)
    if not case.structs[arg.name] then return { arg.type, names[arg.name] } end
    fail("%s: a C reference cannot take the struct '%s' by value; write it in "
      .. "Lua, or as another kernel", self.path, arg.name)
  end)
  self.library = self.library or creference.open(self.dir, self.table.reference)
  self.library:call(self.table.kernel .. "_reference", args)
  return expected
end

-- Parameters of a reference: the defaults, but for `values`. What the source itself defines cannot
-- be another.
local function reference_values(self, given)
  local values = self:defaults()
  for _, name in ipairs(settings.keys(given)) do
    for _, p in ipairs(self.parameters) do
      if p.name == name and p.in_source then
        fail("%s: reference.values.%s: the source itself defines %s; give another "
          .. "`source`", self.path, name, name)
      end
    end
    values[name] = given[name]
  end
  return values
end

local function by_kernel(self, case, spec)
  local gi, r = require "gilua", self.table.reference or {}
  local device <close> = assert(gi.device(spec.device or "emu"))
  local values = reference_values(self, r.values or {})
  local run = { kernel = r.kernel or self.table.kernel, values = values,
    file = self.dir .. "/" .. (r.source or self.table.source),
    source = r.source and textfile.read(self.dir .. "/" .. r.source, "the reference")
      or self.source,
    launch = launch_of(self, case, values), budget = spec.budget }
  local expected, why = run_kernel(self, case, device, run)
  if not expected then
    fail("%s: the reference, kernel %s, does not run on %s: %s", self.path, run.kernel,
      case.name, why)
  end
  return expected
end

local function expected_of(self, case, names, spec)
  local reference = self.table.reference
  if type(reference) == "function" then return by_lua(self, case, names) end
  if type(reference) == "string" then return by_c(self, case, names) end
  return by_kernel(self, case, spec)
end

--------------------------------------------------------------------------------------------------
-- The definition

local KernelTable = {}
KernelTable.__index = KernelTable

function KernelTable:defaults()
  local values = {}
  for _, p in ipairs(self.parameters) do values[p.name] = p.default end
  return values
end

-- Options of the compiler: the user's own, and the parameters that the source reads as macros.
function KernelTable:options(values)
  local list, t = { "-I" .. self.dir }, self.table -- copies of headers, without the host's part
  for _, folder in ipairs(t.include or {}) do
    list[#list + 1] = "-I" .. (folder:find("^/") and folder or self.dir .. "/" .. folder)
  end
  list[#list + 1] = "-I" .. core.home .. "/lua/gilua/include"
  for _, define in ipairs(t.defines or {}) do list[#list + 1] = "-D" .. define end
  for _, option in ipairs(t.options or {}) do list[#list + 1] = option end
  for _, p in ipairs(self.parameters) do
    if p.macro then list[#list + 1] = ("-D%s=%s"):format(p.name, values[p.name]) end
  end
  return list
end

-- Every output with its limits, where one has its own.
local function limits_of(t, tolerance)
  local list, any = {}, false
  for _, arg in ipairs(t.args) do
    if tablecase.is_written(arg) then
      local o = tolerances.options(tolerance, { max_error = arg.max_error,
        rel_error = arg.rel_error })
      o.name, list[#list + 1] = arg.name, o
      any = any or arg.max_error ~= nil or arg.rel_error ~= nil
    end
  end
  return any and list or nil
end

local function tolerance_of(t)
  local given = t.tolerance or {}
  local filled = { max_error = given.max_error or 0, rel_error = given.rel_error,
    wrong_above = given.wrong_above, parent_penalty = given.parent_penalty }
  filled.outputs = limits_of(t, filled)
  return filled
end

--- What gi.problem takes, made of a table.
---@param t table
---@param dir string
---@return table
function M.definition(t, dir)
  local path = dir .. "/problem.lua"
  tablecheck.check(t, path)
  local source = textfile.read(dir .. "/" .. t.source, "the kernel")
  local self = setmetatable({ table = t, dir = dir, path = path, source = source,
    name = t.name or dir:match("([^/]+)/*$"), parameters = parameters_of(t, source) }, KernelTable)
  local allowed = restriction(t, path)
  if type(t.reference) == "string" then creference.build(dir, t.reference) end
  local tolerance = tolerance_of(t)
  t.tolerance = tolerance
  local grammar = { open_loops = true, initialisers = true, skip_idle = true,
    launch_bounds_threads = tostring(most_threads(self.parameters)) }
  for key, value in pairs(t.grammar or {}) do grammar[key] = value end
  local parameters = {}
  for i, p in ipairs(self.parameters) do
    parameters[i] = { name = p.name, default = p.default, values = p.values,
      in_source = p.in_source }
  end
  return {
    name = self.name, title = t.title, source = t.source, kernel = t.kernel,
    parameters = parameters, tolerance = tolerance, grammar = grammar, restrict = allowed,
    kernel_table = self, check_races = t.check_races, benign_races = t.benign_races,
    checked_case = { seed = 1,
      size = t.checked_size or tablecase.smaller(tablecase.sizes(t.size)) },
    compile = function(values) return self:options(values) end,
    case = function(_, spec)
      local case, names, s = make_case(self, spec)
      return set_outputs(t, case, expected_of(self, case, names, s))
    end,
    launch = function(case, values)
      local ok, rule = allowed(values)
      if not ok then error(("the restriction '%s' does not hold"):format(rule), 0) end
      return launch_of(self, case, values)
    end,
  }
end

return M
