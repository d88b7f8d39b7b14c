-- kerneltable: a problem described by a table, without functions: what most kernels need, and what
-- users of Kernel Tuner know (source, kernel, size, args, tune_params, restrictions, block_size_x).
-- A problem.lua that has `args` and no `launch` is one; `gilua new` writes one. definition() makes
-- of it what gi.problem takes (docs/own-kernels.md has every field).
--
-- Values are numbers or expressions in Lua's syntax over size_x, size_y, size_z, the parameters and
-- the scalar arguments: "size_x * 4".

local core = require "gilua.core"
local settings = require "gilua.settings"

local M = {}

local FIELDS = { "name", "title", "source", "kernel", "size", "args", "tune_params", "restrictions",
  "block_size_x", "block_size_y", "block_size_z", "grid", "grid_div_x", "grid_div_y", "grid_div_z",
  "shared", "constants", "include", "defines", "options", "tolerance", "grammar", "reference",
  "checked_size", "defaults", "made_from", "edits" }
local ARG_FIELDS = { "name", "type", "value", "count", "fill", "role", "fields" }
local ROLES = { ["in"] = true, out = true, inout = true, scratch = true }
local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, f32 = 4, i64 = 8, u64 = 8,
  f64 = 8 }
local PACK = { i8 = "i1", u8 = "I1", i16 = "i2", u16 = "I2", i32 = "i4", u32 = "I4", f32 = "f",
  i64 = "i8", u64 = "I8", f64 = "d" }
local DIMENSIONS = { "x", "y", "z" }
local SMALL = 2048 -- threads of the small case that every mutant runs on first

---Is this table one of these?
---@param def any
---@return boolean
function M.is(def)
  return type(def) == "table" and def.args ~= nil and def.launch == nil
end

--------------------------------------------------------------------------------------------------
-- Expressions

-- Python's and C's words for what Lua spells otherwise: tables of Kernel Tuner have them.
local function as_lua(text)
  return (text:gsub("!=", "~="):gsub("&&", " and "):gsub("||", " or "):gsub("%*%*", "^"))
end

local function evaluator(text, where)
  local chunk, why = load("local _ENV = ...; return " .. as_lua(text), "=" .. where, "t", {})
  if not chunk then
    require("gilua").fail("%s: '%s' is no expression: %s", where, text, why:gsub("^.-:%d+: ", ""))
  end
  return chunk
end

local function value_of(value, names, where)
  if type(value) == "function" then return value(names) end
  if type(value) ~= "string" then return value end
  local ok, result = pcall(evaluator(value, where), names)
  if ok and result ~= nil then return result end
  require("gilua").fail("%s: '%s' has no value: %s; it may use %s", where, value,
    ok and "a name in it is unknown" or tostring(result):gsub("^.-:%d+: ", ""),
    table.concat(settings.keys(names), ", "))
end

local function whole(value, names, where)
  local n = value_of(value, names, where)
  local k = type(n) == "number" and math.tointeger(n)
  if k and k > 0 then return k end
  require("gilua").fail("%s must be a whole number above 0, not %s", where, tostring(n))
end

local function read(path)
  local file, why = io.open(path, "rb")
  if not file then require("gilua").fail("cannot read the kernel: %s", why) end
  local text = file:read("a")
  file:close()
  return text
end

--------------------------------------------------------------------------------------------------
-- Checking

local function check_known(list, where, names)
  for key in pairs(list) do
    local known = false
    for _, name in ipairs(names) do known = known or key == name end
    if not known then
      local nearest = settings.nearest(tostring(key), names)
      require("gilua").fail("%s: unknown field '%s'%s", where, key,
        nearest and ("; did you mean '%s'?"):format(nearest) or "")
    end
  end
end

local function check_argument(arg, where)
  local fail = require("gilua").fail
  if type(arg) ~= "table" then fail("%s must be a table { name =, type =, … }", where) end
  check_known(arg, where, ARG_FIELDS)
  if type(arg.name) ~= "string" then fail("%s has no name", where) end
  if arg.type == "struct" then
    if type(arg.fields) ~= "table" then fail("%s: a struct needs `fields`", where) end
  elseif not BYTES[arg.type] then
    fail("%s: '%s' is no element type (f32 f64 i8 u8 i16 u16 i32 u32 i64 u64, or struct)", where,
      tostring(arg.type))
  end
  if arg.count == nil and arg.value == nil and arg.type ~= "struct" then
    fail("%s needs a `value` (a number that the kernel takes) or a `count` (elements of an array)",
      where)
  end
  if arg.role and not ROLES[arg.role] then
    fail("%s: role is \"in\", \"out\", \"inout\" or \"scratch\", not '%s'", where,
      tostring(arg.role))
  end
end

local function check(t, path)
  local fail = require("gilua").fail
  check_known(t, path, FIELDS)
  for _, field in ipairs { "source", "kernel" } do
    if type(t[field]) ~= "string" then fail("%s: the field '%s' must be a string", path, field) end
  end
  if t.size == nil then fail("%s: the field 'size' (how many threads) is missing", path) end
  local written = false
  for i, arg in ipairs(t.args) do
    check_argument(arg, ("%s: argument %d"):format(path, i))
    written = written or arg.role == "out" or arg.role == "inout"
  end
  if not written then
    fail("%s: no argument has role \"out\" or \"inout\": there would be no answers to check", path)
  end
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
    if type(values) ~= "table" or #values == 0 then
      require("gilua").fail("tune_params.%s must be a list of values", name)
    end
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

local function restriction(t)
  local rules = {}
  for i, rule in ipairs(t.restrictions or {}) do
    local where = ("restriction %d"):format(i)
    local text = type(rule) == "string" and rule or where
    rules[i] = { text = text, holds = type(rule) == "function" and rule
      or function(values) return value_of(rule, values, where) end }
  end
  return function(values)
    for _, rule in ipairs(rules) do
      if not rule.holds(values) then return false, rule.text end
    end
    return true
  end
end

--------------------------------------------------------------------------------------------------
-- Sizes and scalars

-- The names that expressions may use: sizes, then scalar arguments in order, then parameters.
local function names_of(t, size, values)
  local names = { size = size[1], size_x = size[1], size_y = size[2] or 1, size_z = size[3] or 1,
    math = math }
  for name, value in pairs(values) do names[name] = value end
  for i, arg in ipairs(t.args) do
    if arg.count == nil and arg.type ~= "struct" then
      names[arg.name] = value_of(arg.value, names, "argument " .. i .. " (" .. arg.name .. ")")
    end
  end
  return names
end

local function sizes(size)
  return type(size) == "table" and size or { size }
end

-- The same shape with at most SMALL threads, and no multiple of any block: a kernel that loses the
-- test of its bounds reaches past its arrays there.
local function smaller(size)
  local small, total = table.move(size, 1, #size, 1, {}), 1
  for _, n in ipairs(size) do total = total * n end
  while total > SMALL do
    local widest = 1
    for i, n in ipairs(small) do if n > small[widest] then widest = i end end
    total = total // small[widest]
    small[widest] = (small[widest] + 1) // 2
    total = total * small[widest]
  end
  for i, n in ipairs(small) do
    if size[i] > 2 and n % 2 == 0 then small[i] = n - 1 end
  end
  return small
end

--------------------------------------------------------------------------------------------------
-- Cases

-- 0 at first, `last` at last, and between them whole numbers that never fall: offsets of rows.
local function ascending(array, rng, last)
  local n = #array
  last = last or n - 1
  for i = 1, n do
    local jitter = i > 1 and i < n and rng:unit() - 0.5 or 0
    array[i] = math.floor((i - 1 + jitter) * last / math.max(n - 1, 1))
  end
  return array
end

local function fill(array, how, names, rng, where)
  local is_float = array:dtype():find("^f") ~= nil
  if how == nil then how = is_float and "uniform" or { 0, 100 } end
  if how == "uniform" then return rng:fill(array, 0, 1) end
  if how == "zero" then return array:fill(0) end
  if type(how) == "number" then return array:fill(how) end
  if type(how) == "table" and how.ascending then
    return ascending(array, rng, value_of(how.ascending, names, where .. ": fill"))
  end
  if type(how) == "table" then
    return rng:fill(array, value_of(how[1], names, where), value_of(how[2], names, where))
  end
  if how == "index" or how == "normal" or type(how) == "function" then
    local each = how == "index" and function(_, i) return i end
      or how == "normal" and function(r) return r:normal() end or how
    for i = 1, #array do array[i] = each(rng, i - 1) end
    return array
  end
  require("gilua").fail("%s: fill is \"uniform\", \"normal\", \"zero\", \"index\", a number, "
    .. "{ low, high }, { ascending = last } or a function(rng, i), not %s", where, tostring(how))
end

local function array_of(arg, names, rng)
  local where = "argument " .. arg.name
  local array = core.array.new(arg.type, whole(arg.count, names, where .. ": count"))
  return fill(array, arg.fill, names, rng, where)
end

-- The bytes of a struct as C lays it out: every field at a multiple of its size, and the whole a
-- multiple of the largest.
---@param as? table<string, string> other types for those of fields: { f32 = "f64" }
local function struct_of(arg, names, as)
  local format, values, largest = "<!8", {}, "i8"
  for i, field in ipairs(arg.fields) do
    local name, kind, value = table.unpack(field)
    kind = as and as[kind] or kind
    if not PACK[kind] then
      require("gilua").fail("argument %s: field %d (%s) has no element type but '%s'", arg.name, i,
        tostring(name), tostring(kind))
    end
    if BYTES[kind] > BYTES[largest] then largest = kind end
    for _, one in ipairs(type(value) == "table" and value or { value }) do
      format = format .. PACK[kind]
      values[#values + 1] = value_of(one, names, "argument " .. arg.name)
    end
  end
  return string.pack(format .. "X" .. PACK[largest], table.unpack(values))
end

local function check_spec(spec, name)
  return settings.fill(name .. ": case", spec, {}, { "seed", "size", "device" })
end

local function make_case(self, spec, as)
  local t, s = self.table, check_spec(spec, self.name)
  local size = sizes(s.size or t.size)
  local values = self:defaults()
  local names, rng = names_of(t, size, values), core.rng.new(s.seed or 1)
  local case = { size = size, arrays = {}, structs = {}, constants = {}, outputs = {} }
  for _, arg in ipairs(t.args) do
    if arg.type == "struct" then case.structs[arg.name] = struct_of(arg, names, as)
    elseif arg.count then case.arrays[arg.name] = array_of(arg, names, rng) end
  end
  for name, constant in pairs(t.constants or {}) do
    local arg = { name = name, type = constant.type, count = constant.count, fill = constant.fill }
    case.constants[name] = array_of(arg, names, rng)
  end
  case.name = ("size %s, seed %s"):format(table.concat(size, "x"), tostring(s.seed or 1))
  return case, names, s
end

-- What is written, in the arguments' order: the first is the case's own output.
local function set_outputs(t, case, expected)
  local list, answers = {}, 0
  for _, arg in ipairs(t.args) do
    if arg.role == "out" or arg.role == "inout" then
      local array = case.arrays[arg.name]
      answers = answers + #array
      list[#list + 1] = { output = array, expected = expected[arg.name],
        compare = { limit = t.tolerance.wrong_above },
        initial = arg.role == "inout" and array:copy() or nil }
    end
  end
  for key, value in pairs(table.remove(list, 1)) do case[key] = value end
  case.also, case.answers, case.outputs = list, answers, nil
  return case
end

--------------------------------------------------------------------------------------------------
-- Launches

local function launch_of(t, case, values)
  local names = names_of(t, case.size, values)
  local launch = { block = {}, grid = {}, args = {}, constants = case.constants, scratch = {} }
  for i, d in ipairs(DIMENSIONS) do
    local block = values["block_size_" .. d] or 1
    launch.block[i] = block
    local divisor = 1
    local given = t["grid_div_" .. d]
    for _, text in ipairs(given or { block }) do divisor = divisor * value_of(text, names, "grid") end
    launch.grid[i] = math.ceil((case.size[i] or 1) / divisor)
  end
  if t.grid then
    for i, text in ipairs(t.grid) do launch.grid[i] = whole(text, names, "grid") end
  end
  launch.shared = t.shared and math.tointeger(value_of(t.shared, names, "shared")) or nil
  for i, arg in ipairs(t.args) do
    launch.args[i] = case.structs[arg.name] or case.arrays[arg.name]
      or { arg.type, names[arg.name] }
    if arg.role == "scratch" then table.insert(launch.scratch, case.arrays[arg.name]) end
  end
  return launch
end

--------------------------------------------------------------------------------------------------
-- References

-- A kernel run once on a device: its outputs as arrays by name.
local function run_kernel(self, case, source, kernel, device, launch, budget)
  local code, why = core.compile.compile(source,
    { target = device:target(), options = self:options(self:defaults()) })
  if not code then return nil, "it does not compile: " .. why end
  local module <close> = assert(device:load(code))
  local buffers, written, args = {}, {}, {}
  for name, array in pairs(case.constants) do
    local ok, message = module:write(name, array)
    if not ok then return nil, message end
  end
  for i, arg in ipairs(self.table.args) do
    local array = case.arrays[arg.name]
    if array then
      local copy = array:copy()
      if arg.role == "out" then copy:sentinel() end
      buffers[i] = assert(device:buffer(copy, { label = arg.name,
        read_only = arg.role == nil or arg.role == "in" }))
      if arg.role == "out" or arg.role == "inout" then written[arg.name] = buffers[i] end
    end
    args[i] = buffers[i] or launch.args[i]
  end
  local m = module:launch { kernel = kernel, grid = launch.grid,
    block = launch.block, shared = launch.shared, args = args, budget = budget, print = false }
  local expected = {}
  for name, buffer in pairs(written) do expected[name] = buffer:read() end
  for _, buffer in pairs(buffers) do buffer:close() end
  if m.status ~= "ok" then return nil, ("%s: %s"):format(m.status, m.message), m end
  return expected, m
end

---Runs the kernel of a problem table as it is, or `source` in its place, on a case.
---@param problem gilua.problem
---@param spec table { seed, size }
---@param options? { device?: string, source?: string, values?: table, budget?: integer,
---  convert?: fun(case: table, launch?: table) } budget: most warp instructions on the virtual GPU;
---  convert may change the case, and then the launch; structs: other types of fields, { f32 = "f64" }
---@return table<string, userdata>? outputs by argument's name
---@return table|string measurement, or why there are none
---@return table? measurement where there are none
function M.run(problem, spec, options)
  local o = settings.fill("kerneltable.run", options, { device = "emu" },
    { "source", "values", "budget", "convert", "structs" })
  local self = problem.definition.kernel_table
  local case = make_case(self, spec, o.structs)
  if o.convert then o.convert(case) end
  local device <close> = assert(require("gilua").device(o.device))
  local launch = launch_of(self.table, case, o.values or self:defaults())
  if o.convert then o.convert(case, launch) end
  return run_kernel(self, case, o.source or self.source, self.table.kernel, device, launch,
    o.budget)
end

-- The arguments for a function on the host, copies of what it writes, and those by name.
local function host_arguments(self, case, scalar)
  local args, expected = {}, {}
  for i, arg in ipairs(self.table.args) do
    local array = case.arrays[arg.name]
    local written = arg.role == "out" or arg.role == "inout"
    args[i] = array and (written and array:copy() or array) or scalar(arg)
    if written then expected[arg.name] = args[i] end
  end
  return args, expected
end

local function by_lua(self, case, names)
  local args, expected = host_arguments(self, case, function(arg) return names[arg.name] end)
  for i, arg in ipairs(self.table.args) do args[arg.name] = args[i] end
  self.table.reference(args, names)
  return expected
end

local function by_c(self, case, names)
  local args, expected = host_arguments(self, case, function(arg)
    if not case.structs[arg.name] then return { arg.type, names[arg.name] } end
    require("gilua").fail("%s: a C reference cannot take the struct '%s' by value; write it in Lua, "
      .. "or as another kernel", self.path, arg.name)
  end)
  self.library = self.library or require("gilua.creference").open(self.dir, self.table.reference)
  self.library:call(self.table.kernel .. "_reference", args)
  return expected
end

local function by_kernel(self, case, spec)
  local gi, r = require "gilua", self.table.reference
  local device <close> = assert(gi.device(spec.device or "emu"))
  local source, kernel, values = self.source, self.table.kernel, self:defaults()
  if type(r) == "table" then
    kernel = r.kernel or kernel
    if r.source then source = read(self.dir .. "/" .. r.source) end
    for name, value in pairs(r.values or {}) do values[name] = value end
  end
  local launch = launch_of(self.table, case, values)
  local expected, why = run_kernel(self, case, source, kernel, device, launch)
  if not expected then
    gi.fail("%s: the reference, kernel %s, does not run on %s: %s", self.path, kernel, case.name,
      why)
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

---What gi.problem takes, made of a table.
---@param t table
---@param dir string
---@return table
function M.definition(t, dir)
  local path = dir .. "/problem.lua"
  check(t, path)
  t.tolerance = t.tolerance or {}
  local source = read(dir .. "/" .. t.source)
  local self = setmetatable({ table = t, dir = dir, path = path, source = source,
    name = t.name or dir:match("([^/]+)/*$"), parameters = parameters_of(t, source) }, KernelTable)
  local allowed = restriction(t)
  local tolerance = { max_error = t.tolerance.max_error or 0,
    wrong_above = t.tolerance.wrong_above or t.tolerance.max_error or 0 }
  t.tolerance = tolerance
  local grammar = { launch_bounds_threads = tostring(most_threads(self.parameters)) }
  for key, value in pairs(t.grammar or {}) do grammar[key] = value end
  local parameters = {}
  for i, p in ipairs(self.parameters) do
    parameters[i] = { name = p.name, default = p.default, values = p.values,
      in_source = p.in_source }
  end
  return {
    name = self.name, title = t.title, source = t.source, kernel = t.kernel,
    parameters = parameters, tolerance = tolerance, grammar = grammar, restrict = allowed,
    kernel_table = self,
    checked_case = { seed = 1, size = t.checked_size or smaller(sizes(t.size)) },
    compile = function(values) return self:options(values) end,
    case = function(_, spec)
      local case, names, s = make_case(self, spec)
      return set_outputs(t, case, expected_of(self, case, names, s))
    end,
    launch = function(case, values)
      local ok, rule = allowed(values)
      if not ok then error(("the restriction '%s' does not hold"):format(rule), 0) end
      return launch_of(t, case, values)
    end,
  }
end

return M
