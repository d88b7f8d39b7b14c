-- kerneltable: a problem that a table describes, without functions. It suffices for most kernels,
-- and its fields are those of Kernel Tuner (source, kernel, size, args, tune_params, restrictions,
-- block_size_x). A problem.lua that has `args` and no `launch` is one; `gilua new` writes one.
-- definition() turns it into what gi.problem takes (docs/own-kernels.md has every field).
--
-- Values are numbers or expressions in Lua's syntax over size_x, size_y, size_z, the parameters and
-- the scalar arguments: "size_x * 4".

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local core = require "gilua.core"
local compilers = require "gilua.problem.compilers"
local creference = require "gilua.problem.creference"
local csource = require "gilua.source.csource"
local expression = require "gilua.problem.expression"
local launcher = require "gilua.problem.launcher"
local pointed = require "gilua.problem.pointed"
local runpath = require "gilua.base.runpath"
local settings = require "gilua.base.settings"
local tablecase = require "gilua.problem.tablecase"
local tablechange = require "gilua.problem.tablechange"
local tablecheck = require "gilua.problem.tablecheck"
local tablerows = require "gilua.problem.tablerows"
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

local NO_TYPES = settings.set "return case else throw goto"
local BEHIND_NAMES = settings.set "= ; , ) [ { :"

-- Has a source a variable or a parameter of its own that is called so?
local function declared(source, name)
  local t <close> = core.grammar.tokens(source)
  local i = t:find(1, name)
  while i do
    if t:kind(i - 1) == "name" and not NO_TYPES[t[i - 1]] and BEHIND_NAMES[t[i + 1]] then
      return true
    end
    i = t:find(i + 1, name)
  end
  return false
end

-- Does a source ask for a macro of this name? The sides of a block have theirs without being asked
-- for, so that they may be a variable's; of any other the compiler tells.
local function mentioned(source, name)
  return source:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
    and not (name:find "^block_size_[xyz]$" and declared(source, name))
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
    local inside = in_source(source, name)
    local told = not inside and compilers.is_told(name, values)
    list[#list + 1] = { name = name, values = values, in_source = inside, told = told,
      default = default_of(t, name, values, source),
      macro = not inside and not told and mentioned(source, name) }
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
-- warp instructions on the virtual GPU), and that of checked runs; family, where the data are to be
-- of another kind, and array, where only this one's; values, of scalar arguments that have others
-- than the table says.
local function check_spec(spec, name)
  return settings.fill(name .. ": case", spec, {}, { "seed", "size", "device", "budget",
    "checked_budget", "family", "array", "values" })
end

-- The family that fills an array; nil where its own fill does.
local function family_of(s, name)
  return (s.array == nil or s.array == name) and s.family or nil
end

local function case_name(size, s)
  local name = ("size %s, seed %s"):format(table.concat(size, "x"), tostring(s.seed or 1))
  for _, arg in ipairs(settings.keys(s.values or {})) do
    name = ("%s, %s = %d"):format(name, arg, s.values[arg])
  end
  if s.family then name = name .. ", " .. s.family end
  return s.array and ("%s of %s"):format(name, s.array) or name
end

-- Where a case has a block's array.
local function arrays_of(case, block)
  return block.constant and case.constants or case.arrays
end

local function array_of(case, block)
  return arrays_of(case, block)[block.name]
end

local function make_case(self, spec, rows)
  local t, s = self.table, check_spec(spec, self.name)
  rows = rows or self.rows
  local size = tablecase.sizes(s.size or t.size)
  local names = tablecase.names(self, size, self:defaults(), s.values)
  local rng = core.rng.new(s.seed or 1)
  local case = { size = size, values = s.values, arrays = {}, structs = {}, constants = {} }
  local function family(name) return family_of(s, name) end
  for _, block in ipairs(rows.blocks) do
    arrays_of(case, block)[block.name] = tablecase.array(block, names, rng, block.where, family)
  end
  for i, struct in pairs(rows.structs) do
    case.structs[t.args[i].name] = tablecase.struct(t.args[i], names, tablecase.where(self, i),
      struct.layout)
  end
  case.name = case_name(size, s)
  return case, names, s
end

-- How a leaf's numbers are compared within its block.
local function comparison(leaf, limit)
  local compare = { limit = limit, max_error = leaf.max_error, rel_error = leaf.rel_error }
  local f = leaf.field
  if f then
    local size = tablerows.BYTES[f.type]
    compare.as, compare.width = f.type, leaf.block.layout.bytes // size
    compare.from, compare.used = f.at // size, f.each
  end
  return compare
end

-- What an output begins with; nil where that is nothing but sentinels.
local function initial_of(block, array)
  if block.role == "inout" then return array:copy() end
  return block.layout and tablecase.unwritten(block, array) or nil
end

-- What is written, in the arguments' order: the first is the case's own output.
local function set_outputs(self, case, expected)
  local list, answers = {}, 0
  for _, block in ipairs(self.rows.blocks) do
    local array = array_of(case, block)
    local initial = tablecase.is_written(block) and initial_of(block, array)
    for _, leaf in ipairs(initial ~= false and block.leaves or {}) do
      local compare = comparison(leaf, self.table.tolerance.wrong_above)
      answers = answers + #tablecase.take(leaf, array) // (compare.used or 1)
      list[#list + 1] = { output = array, expected = expected[block.name], compare = compare,
        initial = initial }
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

local function size_of(array)
  return #array * tablerows.BYTES[array:dtype()]
end

-- The pointers in an array of structs (gilua.pointed); nil where it has none.
local function pointers_of(block, case)
  local list, bytes = {}, block.layout and block.layout.bytes
  for i, p in ipairs(block.pointers) do
    local to = array_of(case, p.to)
    list[i] = { bytes = bytes, at = p.at, to = to, name = p.to.name,
      step = size_of(to) // (size_of(array_of(case, block)) // bytes) }
  end
  return #list > 0 and list or nil
end

-- A struct by value: its bytes, with the arrays that it points to where there are any.
local function struct_value(rows, case, i, arg)
  local bytes, list = case.structs[arg.name], {}
  for k, p in ipairs(bytes and rows.structs[i].pointers or {}) do
    list[k] = { at = p.at, to = array_of(case, p.to), name = p.to.name }
  end
  return #list > 0 and { struct = bytes, pointers = list } or bytes
end

local function launch_of(self, case, values, rows)
  local t, names = self.table, tablecase.names(self, case.size, values, case.values)
  local launch = { block = {}, grid = {}, args = {}, constants = case.constants, scratch = {},
    textures = {}, pointers = {}, shared = shared_bytes(self, names) }
  rows = rows or self.rows
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
    launch.args[i] = arg.texture and { texture = arg.name } or struct_value(rows, case, i, arg)
      or case.arrays[arg.name] or { arg.type, names[arg.name] }
  end
  for _, block in ipairs(rows.blocks) do
    local array = array_of(case, block) -- nil if the caller needs the launch's sides alone
    if array and block.role == "scratch" then table.insert(launch.scratch, array) end
    if array then launch.pointers[array] = pointers_of(block, case) end
  end
  return launch
end

--------------------------------------------------------------------------------------------------
-- References

-- A block's array on a device: a texture, or a buffer; nil and why where it has no room.
local function on_device(device, block, array, launch, address_of)
  if block.texture then
    local options = {}
    for key, value in pairs(launch.textures[block.name]) do
      if key ~= "array" then options[key] = value end
    end
    local ok, texture, why = attempt(device.texture, device, array, options)
    if not ok then
      fail("%s: texture: %s", block.where, tostring(texture):gsub("^[^:]*:%d+: ", "") .. "")
    end
    return texture, why
  end
  local copy = block.role == "out" and tablecase.unwritten(block, array) or array:copy()
  local pointers = launch.pointers[array]
  if pointers then copy = pointed.array(copy, pointers, address_of) end
  local is_read = block.role == nil or block.role == "in"
  return device:buffer(copy, { label = block.name, read_only = is_read })
end

-- What a device has of a case's arrays, by array; nil and why where it has no room.
local function buffers_of(rows, case, device, launch)
  local buffers = setmetatable({}, { __close = function(list)
    for _, buffer in pairs(list) do buffer:close() end
  end })
  local function address_of(array) return buffers[array]:address() end
  local function add(block)
    for _, pointer in ipairs(block.pointers) do
      local why = add(pointer.to)
      if why then return why end
    end
    local array = array_of(case, block)
    if block.constant or buffers[array] then return nil end
    local buffer, why = on_device(device, block, array, launch, address_of)
    buffers[array] = buffer
    return why
  end
  for _, block in ipairs(rows.blocks) do
    local why = add(block)
    if why then return buffers, why end
  end
  return buffers, nil, address_of
end

-- A launch; misuse, such as a wrong number of arguments, is why there is none.
local function launched(module, launch)
  local ok, m, refused = attempt(module.launch, module, launch)
  if not ok then return nil, (tostring(m):gsub("^.-bad argument #%d+ to 'launch' ", "")) end
  if not m then return nil, refused end
  if m.status ~= "ok" then return nil, ("%s: %s"):format(m.status, m.message), m end
  return m
end

local recent = {} -- what was compiled last, of whatever problem: who tries data writes it anew

-- What to compile for.
local function target_of(name)
  if not launcher.here then return launcher.bench().target(name) end
  local device <close> = assert(require("gilua").device(name))
  return device:target()
end

-- A kernel's code, or nil and why there is none. The last few stay: kernels are run again on other
-- cases, and beside another source.
local function code_of(self, run)
  local target = target_of(run.device)
  local options = self:options(run.values)
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

-- What a launch takes, of what a device has.
local function arguments(launch, buffers, address_of)
  local args = {}
  for i, value in ipairs(launch.args) do
    local texture = type(value) == "table" and value.texture
    if type(value) == "table" and value.struct then value = pointed.struct(value, address_of) end
    args[i] = buffers[texture and launch.textures[texture].array or value] or value
  end
  return args
end

local function write_constants(module, case, launch, address_of)
  for _, name in ipairs(settings.keys(case.constants)) do
    local array = case.constants[name]
    local pointers = launch.pointers[array]
    local ok, message = module:write(name,
      pointers and pointed.array(array, pointers, address_of) or array)
    if not ok then return message end
  end
end

-- Launches on a device what a case has been made into: the outputs, as M.launch.
local function launched_on(device, case, launch, run, rows)
  local loaded, unloaded = device:load(run.code)
  if not loaded then return nil, unloaded end
  local module <close> = loaded
  local buffers <close>, full, address_of = buffers_of(rows, case, device, launch)
  local unwritten = full or write_constants(module, case, launch, address_of)
  if unwritten then return nil, unwritten end
  local m, why, failed = launched(module, { kernel = run.kernel, grid = launch.grid,
    block = launch.block, shared = launch.shared, args = arguments(launch, buffers, address_of),
    budget = run.budget, print = false, backwards = run.backwards })
  if not m then return nil, why, failed end
  local expected = {}
  for _, block in ipairs(rows.blocks) do
    local buffer = tablecase.is_written(block) and buffers[array_of(case, block)]
    if buffer then expected[block.name] = buffer:read() end
  end
  return expected, m
end

---@class TableRun plain data: it is sent to the worker that launches (gilua.bench)
---@field kernel string
---@field values table of the parameters
---@field device string
---@field budget integer most warp instructions on the virtual GPU
---@field code? string what the kernel was compiled to
---@field layouts? table<string, Layout> others of structs
---@field change? TableChange of the inputs
---@field backwards? boolean the last block begins first

--- Launches a kernel once, in this process, which must be a worker.
---@param self table of a problem's definition: kernel_table
---@param spec table of a case
---@param run TableRun
---@param case? table that was made of the spec already
---@return table<string, userdata>? outputs by name of their blocks
---@return table|string measurement, or why there are none
---@return table? measurement where there are none
function M.launch(self, spec, run, case)
  local rows = run.layouts and tablerows.of(self.table, self.path, run.layouts) or self.rows
  local change = tablechange.of(run.change, self.table.args)
  case = case or make_case(self, spec, rows)
  change(case, nil, rows)
  local device <close> = assert(require("gilua").device(run.device))
  local launch = launch_of(self, case, run.values, rows)
  change(case, launch, rows)
  return launched_on(device, case, launch, run, rows)
end

-- Compiles and launches, the latter in a worker: `case` is used where this process is one.
local function run_kernel(self, spec, run, case)
  local code, unfit = code_of(self, run)
  if not code then return nil, unfit end
  run.code, run.source, run.file = code, nil, nil
  if launcher.here then return M.launch(self, spec, run, case) end
  return launcher.bench().launch(self, self.dir, spec, run)
end

-- Why a case is too large, and what stands for its measurement; nil where it is not.
local function too_large(self, spec, most_bytes)
  local size = tablecase.sizes(spec.size or self.table.size)
  local bytes = tablecase.bytes(self,
    tablecase.names(self, size, self:defaults(), spec.values))
  if bytes <= most_bytes then return nil end
  return ("its arrays take %.0f MB, and %.0f MB are the most that is tried"):format(bytes / 1e6,
    most_bytes / 1e6), { status = "out_of_memory" }
end

-- The arrays of blocks as those of their leaves.
local function by_leaf(rows, arrays)
  local leaves = {}
  for _, leaf in ipairs(rows.leaves) do
    local array = arrays[leaf.block.name]
    leaves[leaf.name] = array and tablecase.take(leaf, array)
  end
  return leaves
end

--- Runs the kernel of a problem table as it is, or `source` in its place, on a case, in a worker.
---@param problem gilua.problem
---@param spec table { seed, size }
---@param options? { device?: string, source?: string, budget?: integer,
---  layouts?: table<string, Layout>, backwards?: boolean, most_bytes?: integer,
---  change?: TableChange } budget: most warp instructions on the virtual GPU; most_bytes: of its
---  arrays together; change: of the inputs; layouts: others of structs, as `source` has them;
---  backwards: the last block begins first
---@return table<string, userdata>? outputs by name of their leaves (gilua.tablerows)
---@return table|string measurement, or why there are none
---@return table? measurement where there are none
function M.run(problem, spec, options)
  local o = settings.fill("kerneltable.run", options, { device = "emu" },
    { "source", "budget", "most_bytes", "change", "layouts", "backwards" })
  local self = problem.definition.kernel_table
  local large, why = too_large(self, spec, o.most_bytes or math.huge)
  if large then return nil, large, why end
  local rows = o.layouts and tablerows.of(self.table, self.path, o.layouts) or self.rows
  local expected, m, failed = run_kernel(self, spec, { source = o.source or self.source,
    file = self.dir .. "/" .. self.table.source, kernel = self.table.kernel,
    values = self:defaults(), device = o.device, budget = o.budget or M.most_instructions,
    layouts = o.layouts, change = o.change, backwards = o.backwards })
  return expected and by_leaf(rows, expected), m, failed
end

-- What a function on the host is given of each leaf: a copy of what it writes.
local function leaves_for_host(self, case)
  local given = {}
  for _, leaf in ipairs(self.rows.leaves) do
    local array = tablecase.take(leaf, array_of(case, leaf.block))
    given[leaf.name] = tablecase.is_written(leaf) and not leaf.field and array:copy() or array
  end
  return given
end

-- The arrays of written blocks, with what leaves hold now.
local function from_leaves(self, case, given)
  local expected = {}
  for _, leaf in ipairs(self.rows.leaves) do
    local name = leaf.block.name
    if tablecase.is_written(leaf) then
      expected[name] = expected[name] or leaf.field and array_of(case, leaf.block):copy()
        or given[leaf.name]
      if leaf.field then tablecase.place(leaf, expected[name], given[leaf.name]) end
    end
  end
  return expected
end

-- A struct, or an array of them, as a reference in Lua has it: { field = array or number }.
local function struct_for_lua(row, name, given, values)
  for _, field in ipairs(row.fields) do
    local full = name .. "." .. field[1]
    if given[full] then values[field[1]] = given[full]
    elseif field.fields then
      values[field[1]] = struct_for_lua(field, full, given, {})
    end
  end
  return values
end

local function by_lua(self, case, names)
  local given, args = leaves_for_host(self, case), {}
  for i, arg in ipairs(self.table.args) do
    local value = given[arg.name] or names[arg.name]
    if arg.type == "struct" then
      local numbers = arg.count == nil and tablecase.fields(arg, names, tablecase.where(self, i))
      value = struct_for_lua(arg, arg.name, given, numbers or {})
    end
    args[i], args[arg.name] = value, value
  end
  self.table.reference(args, names)
  return from_leaves(self, case, given)
end

local function by_c(self, case, names)
  local given, args = leaves_for_host(self, case), {}
  for i, arg in ipairs(self.table.args) do
    if arg.type == "struct" then
      fail("%s: a C reference cannot take the struct '%s'; write it in Lua, or as another kernel",
        self.path, arg.name)
    end
    args[i] = given[arg.name] or { arg.type, names[arg.name] }
  end
  self.library = self.library or creference.open(self.dir, self.table.reference)
  self.library:call(self.table.kernel .. "_reference", args)
  return from_leaves(self, case, given)
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
  local r = self.table.reference or {}
  local run = { kernel = r.kernel or self.table.kernel,
    values = reference_values(self, r.values or {}), device = spec.device or "emu",
    file = self.dir .. "/" .. (r.source or self.table.source),
    source = r.source and textfile.read(self.dir .. "/" .. r.source, "the reference")
      or self.source,
    budget = spec.budget or M.most_instructions }
  local expected, why = run_kernel(self, spec, run, case)
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
  return compilers.tell(self.parameters, values, list)
end

-- Every output with its limits, where one has its own.
local function limits_of(rows, tolerance)
  local list, any = {}, false
  for _, leaf in ipairs(rows.leaves) do
    if tablecase.is_written(leaf) then
      local o = tolerances.options(tolerance, { max_error = leaf.max_error,
        rel_error = leaf.rel_error })
      o.name, list[#list + 1] = leaf.name, o
      any = any or leaf.max_error ~= nil or leaf.rel_error ~= nil
    end
  end
  return any and list or nil
end

local function tolerance_of(t, rows)
  local given = t.tolerance or {}
  local filled = { max_error = given.max_error or 0, rel_error = given.rel_error,
    wrong_above = given.wrong_above, parent_penalty = given.parent_penalty }
  filled.outputs = limits_of(rows, filled)
  return filled
end

-- The arguments whose line in a problem's file says that `gilua new` guessed something of them.
local function guessed(path)
  local names = {}
  for line in textfile.read(path, "the problem"):gmatch "[^\n]+" do
    local name = line:find "GUESS" and line:match 'name = "([^"]*)"'
    if name then names[name] = true end
  end
  return names
end

-- The whole numbers that a launch is given whatever its size, by parameter, and the sides of its
-- block as "blockDim.x", those of its grid as "gridDim.z" where blocks are 1 long; those of the
-- kernel. Not what was guessed: code for such a value gains nothing where it is another.
local function values_of(t, parameters, path)
  local values, guesses = {}, t.made_from and guessed(path) or {}
  for _, p in ipairs(parameters) do
    local side = p.name:match "^block_size_([xyz])$"
    if side then values["blockDim." .. side] = p.default end
  end
  for d, side in ipairs { "x", "y", "z" } do
    local is_threads = t.grid ~= nil or (values["blockDim." .. side] or 1) > 1
    values["gridDim." .. side] = not is_threads
      and math.tointeger(tablecase.sizes(t.size)[d]) or nil
  end
  for _, arg in ipairs(t.args or {}) do
    local value = math.tointeger(arg.value)
    local is_whole = arg.name and value and arg.type:find "^[iu]%d+$"
    if is_whole and not arg.count and not guesses[arg.name] then
      values[arg.name] = value
    end
  end
  return function() return values end
end

--- What gi.problem takes, made of a table.
---@param t table
---@param dir string
---@return table
function M.definition(t, dir)
  local path = dir .. "/problem.lua"
  tablecheck.check(t, path)
  t = runpath.of_problem(t, dir)
  local source = textfile.read(dir .. "/" .. t.source, "the kernel")
  local short = csource.without_values(source)
  local self = setmetatable({ table = t, dir = dir, path = path, source = source,
    name = t.name or dir:match("([^/]+)/*$"), parameters = parameters_of(t, short),
    rows = tablerows.of(t, path) }, KernelTable)
  local allowed = restriction(t, path)
  if type(t.reference) == "string" then creference.build(dir, t.reference) end
  local tolerance = tolerance_of(t, self.rows)
  t.tolerance = tolerance
  local grammar = { open_loops = true, initialisers = true, skip_idle = true, math = true,
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
    kernel_table = self, values_of = values_of(t, self.parameters, path),
    check_races = t.check_races,
    benign_races = t.benign_races,
    checked_case = { seed = 1, values = t.checked_values,
      size = t.checked_size or tablecase.smaller(tablecase.sizes(t.size)) },
    compile = function(values) return self:options(values) end,
    case = function(_, spec)
      local case, names, s = make_case(self, spec)
      return set_outputs(self, case, expected_of(self, case, names, s))
    end,
    launch = function(case, values)
      local ok, rule = allowed(values)
      if not ok then error(("the restriction '%s' does not hold"):format(rule), 0) end
      return launch_of(self, case, values)
    end,
  }
end

return M
