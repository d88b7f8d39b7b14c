-- tablecheck: checks a problem table before anything runs. Each fault is one sentence that names
-- the file, the field and, for a misspelt name, the nearest known one.

local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"
local tablerows = require "gilua.problem.tablerows"

local M = {}

local LIST = "list" -- a table without names
local FIELDS = { -- and what each has to be
  name = "string", title = "string", source = "string", kernel = "string", size = true, args = LIST,
  tune_params = "table", restrictions = LIST, block_size_x = true, block_size_y = true,
  block_size_z = true, grid = LIST, grid_div_x = LIST, grid_div_y = LIST, grid_div_z = LIST,
  shared = true, constants = "table", include = LIST, defines = LIST, options = LIST,
  tolerance = "table", grammar = "table", reference = true, checked_size = true,
  defaults = "table", on_gpu = "table", checked_values = "table", made_from = "table",
  check_races = "string", benign_races = "string",
}
local ARGUMENT = { name = true, type = true, value = true, guess = true, count = true, fill = true,
  role = true, fields = true, bytes = true, texture = true, max_error = true, rel_error = true }
local FIELD = { ["1"] = true, ["2"] = true, ["3"] = true, at = true, each = true, count = true,
  fill = true, role = true, fields = true, bytes = true, max_error = true, rel_error = true }
local TEXTURE = { kind = true, size = true, channels = true, layers = true, address = true,
  filter = true, coords = true, read = true, border = true }
local TOLERANCE = { max_error = true, rel_error = true, wrong_above = true, parent_penalty = true }
local ON_GPU = { size = true, values = true }
local CONSTANT = { type = true, count = true, fill = true, fields = true, bytes = true }
local GRAMMAR = { open_loops = true, initialisers = true, skip_idle = true,
  pragmas = true, restricts = true, consts = true, volatiles = true, launch_bounds = true,
  launch_bounds_threads = true, math = true }
local ROLES = { ["in"] = true, out = true, inout = true, scratch = true }
local TYPES = { i8 = true, u8 = true, i16 = true, u16 = true, i32 = true, u32 = true, f32 = true,
  i64 = true, u64 = true, f64 = true, f16 = true, bf16 = true, e4m3 = true, e5m2 = true }
local SCALAR_TYPES = "f32 f64 f16 bf16 e4m3 e5m2 i8 u8 i16 u16 i32 u32 i64 u64"
local BITS = { half = true, bfloat16 = true }
local FILLS = { uniform = true, normal = true, mixed = true, zero = true, index = true,
  permutation = true, rising = true, falling = true, half = true, bfloat16 = true,
  bits = true }
local ELEMENTS = { include = "string", defines = "string", options = "string" } -- of lists
local MADE_FROM = { path = "string", template = LIST, templates = "table" }
local FILL_KINDS = { ["nil"] = true, string = true, number = true, table = true,
  ["function"] = true }
local MOST_THREADS = 1024 -- of a block
local MOST_DIMENSIONS = 3
local MOST_BYTES = 1 << 20 -- of a struct
local POINTER = 8 -- bytes

local meant = settings.meant

local function check_known(t, known, where)
  for _, key in ipairs(settings.keys(t)) do
    if not known[key] then fail("%s: unknown field '%s'%s", where, key, meant(key, known)) end
  end
end

local function is_list(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for key in pairs(value) do
    if math.type(key) ~= "integer" then return false end
    n = n + 1
  end
  return n == #value
end

local function check_kind(value, kind, where)
  if value == nil or kind == true then return end
  local right = kind == LIST and is_list(value) or type(value) == kind
  if not right then fail("%s must be a %s, not %s", where, kind, settings.shown(value)) end
end

--------------------------------------------------------------------------------------------------
-- Sizes

local function is_whole(value, most)
  local k = type(value) == "number" and math.tointeger(value)
  return k and k > 0 and k <= most
end

local function check_size(size, where)
  local list = type(size) == "table" and size or { size }
  if #list < 1 or #list > MOST_DIMENSIONS then
    fail("%s is a number, or a list of up to three, such as { 512, 512 }", where)
  end
  for _, n in ipairs(list) do
    if not is_whole(n, math.maxinteger) then
      fail("%s: each is a whole number above 0, not %s", where, settings.shown(n))
    end
  end
end

local function dimensions(size) return type(size) == "table" and #size or 1 end

-- A size that a field gives besides `size`.
local function check_other_size(t, size, path, field)
  if size == nil then return end
  check_size(size, path .. ": " .. field)
  if dimensions(size) ~= dimensions(t.size) then
    fail("%s: %s has %d dimensions and size %d", path, field, dimensions(size), dimensions(t.size))
  end
end

-- Values that a field gives to scalar arguments.
local function check_values(t, values, path, field)
  local scalars = {}
  check_kind(values, "table", ("%s: %s"):format(path, field))
  for _, arg in ipairs(t.args) do scalars[arg.name] = arg.value ~= nil or nil end
  for _, name in ipairs(settings.keys(values or {})) do
    if not scalars[name] then
      fail("%s: %s names '%s', which is no argument with a value%s", path, field, name,
        meant(name, scalars))
    elseif math.type(values[name]) ~= "integer" then
      fail("%s: %s.%s must be a whole number, not %s", path, field, name,
        settings.shown(values[name]))
    end
  end
end

local function check_on_gpu(t, path)
  local own = t.on_gpu or {}
  check_known(own, ON_GPU, path .. ": on_gpu")
  check_other_size(t, own.size, path, "on_gpu.size")
  check_values(t, own.values, path, "on_gpu.values")
end

local function check_block(value, where)
  if not is_whole(value, MOST_THREADS) then
    fail("%s must be a whole number from 1 to %d, the most threads that a block can have, not "
      .. "%s", where, MOST_THREADS, settings.shown(value))
  end
end

--------------------------------------------------------------------------------------------------
-- Arguments

local function check_fill(fill, where, type_of)
  if BITS[fill] and type_of ~= "u16" then
    fail("%s: fill \"%s\" is of the type \"u16\", whose bits it makes, not of %s", where, fill,
      settings.shown(type_of))
  end
  local named = type(fill) == "string" and not FILLS[fill]
  local shaped = type(fill) == "table" and not fill.ascending and #fill ~= 2
  if not named and not shaped and FILL_KINDS[type(fill)] then return end
  fail("%s: fill is \"uniform\", \"normal\", \"mixed\", \"zero\", \"index\", \"permutation\", "
    .. "\"rising\", \"falling\", \"half\", \"bfloat16\", \"bits\", a number, "
    .. "{ low, high }, { ascending = last } or a function(rng, i, names), not %s%s", where,
    settings.shown(fill), named and meant(fill, FILLS) or "")
end

local function check_role(arg, where)
  if arg.role ~= nil and not ROLES[arg.role] then
    fail("%s: role is \"in\", \"out\", \"inout\" or \"scratch\", not %s%s", where,
      settings.shown(arg.role), meant(arg.role, ROLES))
  end
  if arg.role and arg.role ~= "in" and arg.count == nil then
    fail("%s: only an array (with a `count`) can have role \"%s\"", where, arg.role)
  end
end

local function check_limit(value, where)
  if type(value) ~= "number" or value < 0 or value ~= value or value == math.huge then
    fail("%s must be a number from 0 on, not %s", where, settings.shown(value))
  end
end

local function check_limits(arg, where, role)
  for _, field in ipairs { "max_error", "rel_error" } do
    if arg[field] ~= nil then
      check_limit(arg[field], where .. ": " .. field)
      if role ~= "out" and role ~= "inout" then
        fail("%s: only what is compared, of role \"out\" or \"inout\", has a %s", where, field)
      end
    end
  end
end

local check_fields

-- An element type, or a struct with fields. by_value: these have values.
local function check_type(row, kind, where, by_value)
  if kind == "struct" then
    if not is_list(row.fields) or #row.fields == 0 then
      fail("%s: a struct needs `fields`, a list of { name, type, value }", where)
    end
    check_fields(row, where, by_value)
  elseif not TYPES[kind] then
    fail("%s: '%s' is no element type (%s%s)%s", where, tostring(kind), SCALAR_TYPES,
      by_value == nil and "" or ", or struct", meant(kind, TYPES))
  end
end

-- A pointer in a struct: an array of its own.
local function check_pointer(field, where)
  check_type(field, field[2], where, false)
  check_fill(field.fill, where, field.type)
  check_role(field, where)
  check_limits(field, where, field.role)
end

-- A number in a struct, or several; in an array of structs it is filled, and may be an answer.
local function check_number(field, where, by_value, role)
  if by_value and field[3] == nil or not by_value and field[3] ~= nil then
    fail("%s is { name, type, value }, such as { \"dt\", \"f32\", 0.1 }%s", where,
      by_value and "" or "; in an array of structs without the value, with a `fill`")
  end
  where = ("%s (%s)"):format(where, field[1])
  check_type(field, field[2], where)
  if type(field[3]) == "table" and not (is_list(field[3]) and #field[3] > 0) then
    fail("%s: its value is a number, or a list of some", where)
  end
  for _, name in ipairs { "fill", "max_error", "rel_error", "role" } do
    if field[name] ~= nil and (by_value or name == "role") then
      fail("%s: only an array has a %s", where, name)
    end
  end
  if field.each ~= nil and not is_whole(field.each, MOST_BYTES) then
    fail("%s: each, how many there are, is a whole number above 0, not %s", where,
      settings.shown(field.each))
  end
  check_fill(field.fill, where, field.type)
  check_limits(field, where, role)
end

-- A field lies where its type may, within the struct and behind the one before it.
local function check_place(field, one, before, bytes, where)
  local size = one.pointer and POINTER or tablerows.BYTES[field[2]]
  local last = before and before.at + before.size * before.each or 0
  one.size = size
  if math.type(one.at) ~= "integer" or one.at < last or one.at % size ~= 0 then
    fail("%s: at, the byte where it begins, must be a multiple of %d from %d on, not %s", where,
      size, last, settings.shown(one.at))
  end
  if math.type(bytes) ~= "integer" or one.at + size * one.each > bytes or bytes % size ~= 0 then
    fail("%s: it is not within the struct's bytes, %s, a multiple of %d", where,
      settings.shown(bytes), size)
  end
end

function check_fields(row, where, by_value)
  local seen = {}
  for i, field in ipairs(row.fields) do
    local here = ("%s: field %d"):format(where, i)
    if type(field) ~= "table" or type(field[1]) ~= "string" then
      fail("%s is { name, type, value }, such as { \"dt\", \"f32\", 0.1 }", here)
    end
    check_known(field, FIELD, here)
    if field.at ~= nil and math.type(field.at) ~= "integer" then
      fail("%s: at, the byte where it begins, is a whole number, not %s", here,
        settings.shown(field.at))
    end
    if seen[field[1]] then fail("%s: two fields are called '%s'", here, field[1]) end
    seen[field[1]] = true
    if field.count == nil then check_number(field, here, by_value, row.role)
    else check_pointer(field, ("%s (%s)"):format(here, field[1])) end
  end
  local layout = tablerows.layout(row)
  for i, field in ipairs(row.fields) do
    check_place(field, layout[i], layout[i - 1], layout.bytes, ("%s: field %d (%s)"):format(where,
      i, field[1]))
  end
end

local function check_texture(arg, where)
  if arg.texture == nil then return end
  check_kind(arg.texture, "table", where .. ": texture")
  check_known(arg.texture, TEXTURE, where .. ": texture")
  check_kind(arg.texture.size, LIST, where .. ": texture.size")
  if arg.count == nil then
    fail("%s: a texture needs a `count`: how many numbers are in it", where)
  end
  if arg.role and arg.role ~= "in" then fail("%s: a texture is read, its role is \"in\"", where) end
end

local function check_argument(arg, where)
  if type(arg) ~= "table" then fail("%s must be a table { name =, type =, … }", where) end
  check_known(arg, ARGUMENT, where)
  if type(arg.name) ~= "string" then fail("%s has no name", where) end
  where = ("%s (%s)"):format(where, arg.name)
  check_type(arg, arg.type, where, arg.count == nil)
  if arg.type ~= "struct" and (arg.count == nil) == (arg.value == nil) then
    fail("%s needs either a `value` (a number that the kernel takes) or a `count` (elements of "
      .. "an array)", where)
  end
  if arg.guess ~= nil and (type(arg.guess) ~= "boolean" or arg.value == nil) then
    fail("%s: guess = true says that nobody knows its `value`; it is no other field's", where)
  end
  check_texture(arg, where)
  check_fill(arg.fill, where, arg.type)
  check_role(arg, where)
  check_limits(arg, where, arg.role)
end

-- Is what it is, or points to, written?
local function is_written(row)
  if row.role == "out" or row.role == "inout" then return true end
  for _, field in ipairs(row.fields or {}) do
    if is_written(field) then return true end
  end
  return false
end

local function check_arguments(args, constants, path)
  local seen, written = {}, false
  for i, arg in ipairs(args) do
    check_argument(arg, ("%s: argument %d"):format(path, i))
    if seen[arg.name] then fail("%s: two arguments are called '%s'", path, arg.name) end
    seen[arg.name] = true
    written = written or is_written(arg)
  end
  for _, name in ipairs(settings.keys(constants)) do
    written = written or type(constants[name]) == "table" and is_written(constants[name])
  end
  if not written then
    fail("%s: no argument has role \"out\" or \"inout\": there would be no answers to check", path)
  end
end

--------------------------------------------------------------------------------------------------
-- The rest

local function check_constants(constants, path)
  for _, name in ipairs(settings.keys(constants)) do
    local where, c = ("%s: constants.%s"):format(path, name), constants[name]
    if type(c) ~= "table" then
      fail("%s must be a table { type =, count =, … } by the variable's name", where)
    end
    check_known(c, CONSTANT, where)
    check_type(c, c.type, where, c.fields and false)
    if c.count == nil then fail("%s needs a `count`, 1 for a single number", where) end
    check_fill(c.fill, where, c.type)
  end
end

local function check_tuning(t, path)
  for _, name in ipairs(settings.keys(t.tune_params or {})) do
    local where, values = ("%s: tune_params.%s"):format(path, name), t.tune_params[name]
    if not is_list(values) or #values == 0 then
      fail("%s must be a list of values, not %s", where, settings.shown(values))
    end
    for _, value in ipairs(values) do
      if name:find("^block_size_[xyz]$") then check_block(value, where) end
    end
  end
  for _, d in ipairs { "x", "y", "z" } do
    local name = "block_size_" .. d
    if t[name] ~= nil then check_block(t[name], path .. ": " .. name) end
  end
  for i, rule in ipairs(t.restrictions or {}) do
    if type(rule) ~= "string" and type(rule) ~= "function" then
      fail("%s: restriction %d must be an expression in quotes or a function, not %s", path, i,
        settings.shown(rule))
    end
  end
end

local function check_reference(r, path)
  local kind = type(r)
  if kind == "string" and not r:find("%.c$") then
    fail("%s: reference '%s' must be a C file, whose name ends in .c", path, r)
  end
  if kind ~= "nil" and kind ~= "string" and kind ~= "function" and kind ~= "table" then
    fail("%s: reference is a C file's name, a function, or { kernel =, source =, values = }, "
      .. "not %s", path, settings.shown(r))
  end
  if kind == "table" then
    check_known(r, { kernel = true, source = true, values = true }, path .. ": reference")
  end
end

-- What stands in lists, and what is for other commands than the one that reads it first.
local function check_inner(t, path)
  for _, field in ipairs(settings.keys(ELEMENTS)) do
    for i, value in ipairs(t[field] or {}) do
      check_kind(value, ELEMENTS[field], ("%s: %s %d"):format(path, field, i))
    end
  end
  local grammar = t.grammar or {}
  for _, name in ipairs(settings.keys(grammar)) do
    local kind = name ~= "launch_bounds_threads" and "boolean" or "string"
    check_kind(grammar[name], kind, ("%s: grammar.%s"):format(path, name))
  end
  local made = t.made_from or {}
  check_known(made, MADE_FROM, path .. ": made_from")
  for _, name in ipairs(settings.keys(made)) do
    check_kind(made[name], MADE_FROM[name], ("%s: made_from.%s"):format(path, name))
  end
  for i, value in ipairs(made.template or {}) do
    check_kind(value, "string", ("%s: made_from.template %d"):format(path, i))
  end
end

local function check_tolerance(tolerance, path)
  check_known(tolerance, TOLERANCE, path .. ": tolerance")
  for _, field in ipairs(settings.keys(tolerance)) do
    check_limit(tolerance[field], ("%s: tolerance.%s"):format(path, field))
  end
end

--- Raises a sentence where the table is wrong.
---@param t table
---@param path string of its file
function M.check(t, path)
  check_known(t, FIELDS, path)
  for _, field in ipairs(settings.keys(t)) do
    check_kind(t[field], FIELDS[field], ("%s: the field '%s'"):format(path, field))
  end
  for _, field in ipairs { "source", "kernel", "size", "args" } do
    if t[field] == nil then fail("%s: the field '%s' is missing", path, field) end
  end
  check_size(t.size, path .. ": size")
  check_other_size(t, t.checked_size, path, "checked_size")
  check_arguments(t.args, t.constants or {}, path)
  check_on_gpu(t, path)
  check_values(t, t.checked_values, path, "checked_values")
  check_known(t.grammar or {}, GRAMMAR, path .. ": grammar")
  check_constants(t.constants or {}, path)
  check_tuning(t, path)
  check_inner(t, path)
  check_reference(t.reference, path)
  check_tolerance(t.tolerance or {}, path)
end

return M
