-- argumentguess: what a kernel's arguments hold. Values and sizes of arrays come from the host's
-- code where that says them (gilua.hostcode); roles from how a name stands in the kernel; the rest
-- is guessed, and its note begins with GUESS.

local csource = require "gilua.new.csource"
local fail = require "gilua.base.fail"
local launchguess = require "gilua.new.launchguess"
local luadata = require "gilua.base.luadata"
local tablecase = require "gilua.problem.tablecase"
local textureguess = require "gilua.new.textureguess"
local usage = require "gilua.new.usage"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local MOST_TIMES = 16 -- an array is so many times a size
local LEAST_LINKED = 16 -- smaller numbers are equal by chance
local MOST_OF = { i8 = 127, u8 = 255, i16 = 32767, u16 = 65535 } -- that the type holds
-- What an argument of that name usually is that begins at 0 or goes no way: 0, not 1.
local ZERO = "^[ijk]$|offset|start|begin|base|first|shift|^id$|^idx$|index|seed|lower|origin"
local WHOLE = { [1] = "u8", [2] = "i16", [4] = "i32", [8] = "i64" }

---@class ArgumentGuess a row of `args` in problem.lua
---@field name string
---@field type string
---@field value? string as it is written (gilua.luadata)
---@field count? string an expression
---@field fields? string as it is written
---@field fill? string as it is written
---@field role? string "in" is not written
---@field texture? table as it is in problem.lua
---@field notes string[]
---@field count_guessed? boolean
---@field limits? gilua.precision.limits of an output, found by trying
---@field value_guessed? boolean nothing says what it is
---@field elements? integer as many as the program asks for
---@field guessed? string the count before it was made longer (gilua.trial)
---@field longer? integer how many times
---@field original? string the program's own value or count, where that here is smaller

---@class Guessing what the guess of an argument may look at
---@field read Reading
---@field shape LaunchShape
---@field sparse { rows?: table, loop?: string, nonzeros: string } of M.arguments
---@field args ArgumentGuess[] those guessed before

local function note(arg, text)
  if text and text ~= "" then arg.notes[#arg.notes + 1] = (text:gsub("%s+", " ")) end
end

local function size_name(d)
  return "size_" .. DIMENSIONS[d]
end

--------------------------------------------------------------------------------------------------
-- Scalars

-- The dimension whose size an argument says.
local function linked_dimension(c, name)
  for d = 1, #c.shape.size do
    if c.shape.link[d] == name then return d end
  end
end

-- The argument that says a size of this value.
local function same_size(c, p, value)
  if math.type(value) ~= "integer" or value <= LEAST_LINKED or MOST_OF[p.type] then return nil end
  for d = 1, #c.shape.size do
    if c.shape.link[d] and c.shape.size[d] == value then return c.shape.link[d] end
  end
end

-- A number as C gives it to a parameter of this type.
local function converted(value, p)
  local type, bits = p.type, 8 * p.bytes
  if type:find("^f") then return value + 0.0 end
  value = math.tointeger(value) or math.tointeger((value < 0 and math.ceil or math.floor)(value))
  if not value or bits == 64 then return value end
  value = value & (1 << bits) - 1
  return type:find("^i") and value >= 1 << bits - 1 and value - (1 << bits) or value
end

local function is_zero(name)
  for pattern in ZERO:gmatch("[^|]+") do
    if name:lower():find(pattern) then return true end
  end
  return false
end

-- The value of an argument of which the host's code says nothing.
local function guessed_value(c, p)
  if p.type:find("^f") then return "1.0", "GUESS: nothing says what it is" end
  local d = launchguess.may_be_size(p) and launchguess.dimension_by_name(p.name, #c.shape.size)
  if d then return luadata.quote(size_name(d)), "GUESS: from its name" end
  if is_zero(p.name) then return "0", "GUESS: from its name" end
  return "1", "GUESS: nothing says what it is"
end

local function scalar(c, p, i)
  local arg = { name = p.name, type = p.type, notes = {} }
  local text, d = c.read.launch and c.read.launch.args[i], linked_dimension(c, p.name)
  local value = c.read.values[p.name]
  value = value and converted(value, p)
  if d then
    arg.value = luadata.quote(size_name(d))
    note(arg, text and text .. launchguess.assumed(c.read, text) or p.text)
  elseif value then
    arg.value = luadata.text(same_size(c, p, value) or value)
    note(arg, text .. launchguess.assumed(c.read, text))
  else
    local why
    arg.value, why = guessed_value(c, p)
    arg.value_guessed = true
    note(arg, why)
  end
  return arg
end

--------------------------------------------------------------------------------------------------
-- Structs by value

-- The name of the type that stands before the first `*` of a parameter, or before the parameter.
local function plain_type(p)
  local t <close> = csource.tokens(p.text)
  local i = (t:find(1, "*") or #t) - 1
  while t[i] == "const" or t[i] == "&" do i = i - 1 end
  return t[i] or ""
end

-- A field's value as it is written, and whether it is a guess.
local function field_text(c, f, kind)
  local value = c.read.host:value(f.name)
  local d = linked_dimension(c, f.name)
  if value and d and value == c.shape.size[d] then return luadata.quote(size_name(d)), false end
  if not value then return kind:find("^f") and "1.0" or "1", true end
  return luadata.text(kind:find("^f") and value + 0.0 or value), false
end

local function field_kind(c, f)
  return f.type:find("float") and "f32" or f.type:find("double") and "f64"
    or WHOLE[c.read.host:size_of(f.type) or 0] or "i32"
end

local function refuse_struct(c, p, why)
  fail("kernel %s takes the struct '%s', %s in %s: pass its fields one by one, or write "
    .. "problem.lua by hand (docs/own-kernels.md)", c.read.kernel, p.text, why, c.read.path)
end

-- The compiler knows how many bytes it has: another number means that a field was not understood.
local function check_layout(c, p, fields)
  local row = { fields = {} }
  for i, f in ipairs(fields) do
    if f.count > p.bytes then refuse_struct(c, p, "which holds more than it has room for") end
    local zeros = {}
    for k = 1, f.count do zeros[k] = 0 end
    row.fields[i] = { f.name, field_kind(c, f), zeros }
  end
  if #tablecase.struct(row, {}, p.name) ~= p.bytes then
    refuse_struct(c, p, "which holds more than plain numbers")
  end
end

local function struct(c, p)
  local fields = c.read.host:fields(plain_type(p))
  if not fields then refuse_struct(c, p, "whose fields cannot be read") end
  check_layout(c, p, fields)
  local arg, list, any = { name = p.name, type = "struct", notes = {} }, {}, false
  for i, f in ipairs(fields) do
    local kind = field_kind(c, f)
    local text, guessed = field_text(c, f, kind)
    if f.count > 1 then text = "{ " .. (text .. ", "):rep(f.count):sub(1, -3) .. " }" end
    list[i] = ("{ %s, %s, %s }"):format(luadata.quote(f.name), luadata.quote(kind), text)
    any = any or guessed
  end
  arg.fields = "{ " .. table.concat(list, ", ") .. " }"
  note(arg, any and "GUESS: values of its fields")
  return arg
end

--------------------------------------------------------------------------------------------------
-- How many elements

local function times(text, k)
  return k == 1 and text or ("%s * %d"):format(text, k)
end

-- n as one of the quantities { text, value } or a multiple of it.
local function single_text(list, n)
  for _, a in ipairs(list) do
    for k = 1, MOST_TIMES do
      if a[2] * k == n then return times(a[1], k) end
    end
    if a[2] + 1 == n then return a[1] .. " + 1" end
  end
end

local function product_text(list, n)
  for i, a in ipairs(list) do
    for k = i + 1, #list do
      local both = a[2] * list[k][2]
      for each = 1, MOST_TIMES do
        if both * each == n then return times(a[1] .. " * " .. list[k][1], each) end
      end
    end
  end
end

-- n as a product of the arguments that the host computes the bytes of, where it is one: twice the
-- argument gives twice the bytes, four times for its square.
local function followed_text(c, text, n)
  local product, names = 1, {}
  for i, p in ipairs(c.read.params) do
    local v, arg = c.read.values[p.name], c.args[i]
    if arg and arg.value and math.type(v) == "integer" and v > 0 then
      local ratio = c.read.host:follows(c.read.launch.args[i] or "", function()
        local allocation = c.read.host:allocation(text)
        return allocation and allocation.bytes
      end, c.read.launch.args)
      local power = ratio and math.tointeger(math.log(ratio, 2))
      if ratio and (not power or power < 1) then return nil end
      for _ = 1, power or 0 do product, names[#names + 1] = product * v, p.name end
    end
  end
  if #names > 0 and n % product == 0 then
    return times(table.concat(names, " * "), n // product)
  end
end

-- Expressions that give n, the simplest first: over arguments that are sizes, then sizes.
local function count_text(c, n)
  local names, sizes = {}, {}
  for i, p in ipairs(c.read.params) do
    local v, arg = c.read.values[p.name], c.args[i]
    if arg and arg.value and arg.value:find('^"') and math.type(v) == "integer" and v > 1 then
      names[#names + 1] = { p.name, v }
    end
  end
  for d = 1, #c.shape.size do sizes[d] = { size_name(d), c.shape.size[d] } end
  return single_text(names, n) or product_text(names, n) or single_text(sizes, n)
    or product_text(sizes, n)
end

local function total(c)
  local list = {}
  for d = 1, #c.shape.size do list[d] = size_name(d) end
  return table.concat(list, " * ")
end

local function guessed_count(c, p, width)
  if c.sparse.rows == p then return total(c) .. " + 1" end
  local loop = c.sparse.loop
  if loop and c.read.body:find(1, p.name, "[", loop, "]") then
    return c.sparse.nonzeros
  end
  return total(c) .. (width > 1 and " * " .. width or "")
end

-- From the bytes that the host asks for, else a guess.
local function set_count(c, p, i, arg, width)
  local text = c.read.launch and c.read.launch.args[i]
  local allocation = text and c.read.host:allocation(text)
  local bytes, element = allocation and allocation.bytes, math.max(1, p.bytes // width) -- of void
  if not bytes or bytes % element ~= 0 then
    arg.count, arg.count_guessed = guessed_count(c, p, width), true
    note(arg, "GUESS: how many")
    return
  end
  local n = bytes // element
  arg.elements = n
  local product = n % width == 0
    and (followed_text(c, text, n // width) or count_text(c, n // width))
  arg.count = product and (width > 1 and product .. " * " .. width or product) or tostring(n)
  note(arg, ("%d bytes, %s"):format(bytes, allocation.place))
end

--- Sparse rows: the array of offsets that is read in pairs, the variable that runs between them,
--- and how many elements the offsets point into.
---@param read Reading
---@return { rows?: table, loop?: string, nonzeros: string }
function M.sparse(read)
  local rows
  for _, p in ipairs(read.params) do
    local may_be = not rows and p.pointer and p.const and p.type and p.type:find("^[iu]")
    if may_be and usage.pairs(read.body, p.name) then rows = p end
  end
  return { rows = rows, loop = rows and usage.loop_from(read.body, rows.name),
    nonzeros = "size_x * 8" }
end

--------------------------------------------------------------------------------------------------
-- Fills, element types

-- What an array of whole numbers begins with: is it an index of something, or offsets of rows?
local function fill_of(c, p, type, role)
  if type:find("^f") or role == "out" then return nil end
  if role == "inout" then return "0" end
  local body = c.read.body
  if not MOST_OF[type] and select(2, usage.pairs(body, p.name)) then
    return ('{ ascending = "%s" }'):format(c.sparse.nonzeros), "GUESS: offsets, read in pairs"
  end
  local most = MOST_OF[type]
  if usage.is_index(body, p.name) then
    if most and most < c.shape.size[1] then return ("{ 0, %d }"):format(most) end
    return '{ 0, "size_x - 1" }', "GUESS: used as an index"
  end
  return type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
end

-- What has no type of its own in a table: its bits as whole numbers, from 0.125 to 1.
local HALVES = {
  half = "{ 0x3000, 0x3c00 }", half2 = "{ 0x3000, 0x3c00 }",
  nv_bfloat16 = "{ 0x3e00, 0x3f80 }", nv_bfloat162 = "{ 0x3e00, 0x3f80 }",
}

-- Floats from 0.125 to 1, as bits.
local FLOATS = "{ 0x3e000000, 0x3f800000 }"

-- The type of all fields, vectors included; nil where they differ or are not known.
local function type_of_all(fields)
  local all
  for _, f in ipairs(fields or {}) do
    local base = f.type:match "^%a+"
    local type = base == "float" and "f32" or base == "double" and "f64"
    if not type or all and all ~= type then return nil end
    all = type
  end
  return all
end

local function has_floats(fields)
  for _, f in ipairs(fields or {}) do
    if f.type:find "float" or f.type:find "double" then return true end
  end
  return not fields
end

-- Element type and how many of them an element of a struct has, why, and what it is filled with
-- where that is another guess than the type's. An answer is of floats only where all of it is known
-- to be: of others' bits no error can be told.
local function element_of_struct(c, p, role)
  local name = plain_type(p):gsub("^__", "")
  if HALVES[name] and p.bytes % 2 == 0 then
    return "u16", p.bytes // 2, "GUESS: the bits of " .. name, HALVES[name]
  end
  local fields = c.read.host:fields(plain_type(p))
  local type = type_of_all(fields)
  if type == "f64" then return type, p.bytes // 8, "GUESS: a struct as doubles" end
  if p.bytes % 4 ~= 0 then return "u8", p.bytes, "GUESS: a struct as bytes" end
  if not has_floats(fields) then return "i32", p.bytes // 4, "GUESS: a struct as whole numbers" end
  if type or role == "in" then return "f32", p.bytes // 4, "GUESS: a struct as floats" end
  return "u32", p.bytes // 4, "GUESS: a struct as the bits of floats, which must be equal", FLOATS
end

local function element_of(c, p, role)
  if not p.struct then return p.type, p.width end
  if p.bytes > 0 then return element_of_struct(c, p, role) end
  if p.text:find("(", 1, true) then
    fail("kernel %s takes a pointer to a function (%s), which only a program on the GPU has",
      c.read.kernel, p.name)
  end
  return "u8", 1, "GUESS: void as bytes"
end

local function array(c, p, i)
  local role = p.const and "in" or usage.role(c.read.body, p.name)
  local type, width, as, fill = element_of(c, p, role)
  local arg = { name = p.name, type = type, role = role, notes = {} }
  set_count(c, p, i, arg, width)
  local why
  arg.fill, why = fill_of(c, p, type, arg.role)
  if fill and arg.fill then arg.fill, why = fill, nil end
  note(arg, as)
  note(arg, why)
  return arg
end

local function texture(c, p)
  local arg = { name = p.name, role = "in", notes = {} }
  arg.type, arg.count, arg.texture = textureguess.of(c.read, c.shape, p)
  arg.fill = not arg.type:find "^f" and (arg.type == "u8" and "{ 0, 255 }" or "{ 0, 100 }") or nil
  note(arg, "GUESS: a texture's size, and how it is read")
  return arg
end

--- Rows of `args` for a kernel's parameters.
---@param read Reading
---@param shape LaunchShape
---@return ArgumentGuess[]
function M.arguments(read, shape)
  local c = { read = read, shape = shape, sparse = M.sparse(read), args = {} }
  for i, p in ipairs(read.params) do
    if p.text:find("cudaSurfaceObject_t", 1, true) then
      fail("kernel %s takes a surface (%s), which neither a table nor a problem with functions can "
        .. "describe: write to an array instead", read.kernel, p.name)
    elseif textureguess.is_texture(p) then c.args[i] = texture(c, p)
    elseif not p.pointer and not p.struct then c.args[i] = scalar(c, p, i) end
  end
  for i, p in ipairs(read.params) do -- their sizes are told by scalars
    if p.pointer then c.args[i] = array(c, p, i)
    elseif p.struct then c.args[i] = struct(c, p) end
  end
  return c.args
end

return M
