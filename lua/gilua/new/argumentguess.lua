-- argumentguess: what a kernel's arguments hold. Values and sizes of arrays come from the host's
-- code where that says them (gilua.hostcode); roles from how a name stands in the kernel; the rest
-- is guessed, and its note begins with GUESS.

local arithmetic = require "gilua.base.arithmetic"
local csource = require "gilua.source.csource"
local fail = require "gilua.base.fail"
local hostfills = require "gilua.host.hostfills"
local launchguess = require "gilua.new.launchguess"
local layout = require "gilua.new.layout"
local luadata = require "gilua.base.luadata"
local members = require "gilua.host.members"
local scalarguess = require "gilua.new.scalarguess"
local scalaruse = require "gilua.new.scalaruse"
local structguess = require "gilua.new.structguess"
local textureguess = require "gilua.new.textureguess"
local usage = require "gilua.new.usage"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local MOST_TIMES = 16 -- an array is so many times a size
local MOST_SHIFT = 16 -- of an argument that is so much less or more there
local LEAST_LINKED = 16 -- smaller numbers are equal by chance
local MOST_OF = { i8 = 127, u8 = 255, i16 = 32767, u16 = 65535 } -- that the type holds

---@class ArgumentGuess a row of `args` in problem.lua
---@field name string
---@field type string
---@field value? string as it is written (gilua.luadata)
---@field count? string an expression
---@field members? MemberGuess[] of structs
---@field bytes? integer of a struct
---@field fill? string as it is written
---@field told? boolean the host's code says what it is filled with
---@field role? string "in" is not written
---@field texture? table as it is in problem.lua
---@field notes string[]
---@field count_guessed? boolean
---@field width? integer numbers of an element
---@field indexed? string the array that it holds places of
---@field limits? gilua.precision.limits of an output, found by trying
---@field value_guessed? boolean the host's code does not give it
---@field is_guess? boolean its value, or what the host makes it of, is guessed
---@field elements? integer as many as the program asks for
---@field guessed? string the count before it was made longer (gilua.trial)
---@field longer? integer how many times
---@field original? string the program's own value or count, where that here is smaller

---@class Guessing what the guess of an argument may look at
---@field read Reading
---@field shape LaunchShape
---@field sparse { rows?: table, loop?: string, nonzeros: string } of M.arguments
---@field args ArgumentGuess[] those guessed before
---@field source userdata tokens of the source
---@field options string[] of the compiler
---@field total string how many threads there are, an expression

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

-- Is an argument before the i-th?
local function comes_before(c, name, i)
  for k = 1, i - 1 do
    if c.read.params[k].name == name then return true end
  end
  return false
end

-- What says a size of this value to the i-th argument: another before it, else the size itself.
local function same_size(c, p, i, value)
  if math.type(value) ~= "integer" or value <= LEAST_LINKED or MOST_OF[p.type] then return nil end
  for d = 1, #c.shape.size do
    local link = c.shape.link[d]
    if link and c.shape.size[d] == value then
      return comes_before(c, link, i) and link or size_name(d)
    end
  end
end

-- A number as C gives it to a parameter of this type.
local function converted(value, p)
  local type, bits = p.type, 8 * p.bytes
  if type:find("^f") then return value + 0.0 end
  value = arithmetic.truncated(value)
  if not value or bits == 64 then return value end
  value = value & (1 << bits) - 1
  return type:find("^i") and value >= 1 << bits - 1 and value - (1 << bits) or value
end

local function scalar(c, p, i)
  local arg = { name = p.name, type = p.type, notes = {} }
  local text, d = c.read.launch and c.read.launch.args[i], linked_dimension(c, p.name)
  local told = text and c.read.launch.told[i] or text
  local value = c.read.values[p.name]
  value = value and converted(value, p)
  local shared = c.shape.shared[p.name]
  if d or shared then
    arg.value = luadata.quote(d and size_name(d) or ("%s // %d"):format(size_name(shared[1]),
      shared[2]))
    note(arg, text and told .. launchguess.assumed(c.read, text) or p.text)
  elseif value then
    local linked, assumed = same_size(c, p, i, value), launchguess.assumed(c.read, text)
    arg.value = luadata.text(linked or value)
    arg.is_guess = not linked and assumed:find("no source gives", 1, true) ~= nil
    note(arg, told .. assumed)
  elseif not scalaruse.is_named(c.source, p.name) then
    arg.value = "1"
    note(arg, "nothing uses it")
  else
    local why
    arg.value, why = scalarguess.of(p, c.source, #c.shape.size, false)
    arg.value_guessed, arg.is_guess = true, true
    note(arg, why)
  end
  return arg
end

--------------------------------------------------------------------------------------------------
-- Structs by value

-- The name of the type that stands before the first `*` of a parameter, or before the parameter:
-- without the underscores that those of CUDA begin with.
local function plain_type(p)
  local before = p.text:match "^(.-)%*" or p.text:match "^(.-)[%w_]*%s*$"
  return (members.last_name(before):gsub("^__", ""))
end

local function struct_of(c, p, i)
  return layout.of(c.read, c.options, i, plain_type(p))
end

local function struct(c, p, i)
  if not p.struct then
    return { name = p.name, type = "struct", notes = {}, bytes = p.bytes,
      members = structguess.vector(c, p, c.read.launch and c.read.launch.args[i]) }
  end
  local of, why = struct_of(c, p, i)
  return { name = p.name, type = "struct", notes = {}, bytes = p.bytes,
    members = of and structguess.members(c, of, p.name, false)
      or structguess.bits(p, why) }
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

-- The factor of a product that is so many times as large with a number v twice as large, where that
-- is v less or more than something: its text and its value. Twice the number, less or more than
-- something, is one, too; nil of others.
local function shifted(name, v, ratio)
  for times_v = 1, 2 do
    local less = ratio ~= 1 and times_v * v * (2 - ratio) / (1 - ratio) or 0
    local whole = math.tointeger(less + 0.5 - (less + 0.5) % 1)
    if whole and math.abs(less - whole) < 1e-6 and whole ~= 0 and math.abs(whole) < v
      and math.abs(whole) <= MOST_SHIFT then
      return ("(%s %s %d)"):format(times(name, times_v), whole < 0 and "+" or "-",
        math.abs(whole)), times_v * v - whole
    end
  end
end

-- n as a product of the arguments that the host computes the bytes of, where it is one: twice the
-- argument gives twice the bytes, four times for its square. An argument may be less or more by
-- something there, as the width of what a convolution leaves.
local function followed_text(c, text, n)
  local product, names = 1, {}
  for i, p in ipairs(c.read.params) do
    local v, arg = c.read.values[p.name], c.args[i]
    if arg and arg.value and math.type(v) == "integer" and v > 0 then
      local ratio = c.read.host:follows(c.read.launch.args[i] or "", function()
        local allocation = c.read.host:allocation(text)
        return allocation and allocation.bytes
      end, c.read.launch.args)
      local power = ratio and ratio > 0 and math.tointeger(math.log(ratio, 2))
      local is_power = power and power >= 1
      local factor, value
      if ratio and not is_power then factor, value = shifted(p.name, v, ratio) end
      if ratio and not is_power and not factor and not tonumber(arg.value) then return nil end
      for _ = 1, is_power and power or factor and 1 or 0 do
        product, names[#names + 1] = product * (value or v), factor or p.name
        if product > n then return nil end -- before it is more than 64 bits hold
      end
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
  local most, indexed = MOST_OF[type], usage.index_of(body, p.name)
  if indexed then
    if most and most < c.shape.size[1] then return ("{ 0, %d }"):format(most) end
    return '{ 0, "size_x - 1" }', "GUESS: used as an index", indexed
  end
  return type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
end

-- Floats from 0.125 to 1, as bits.
local FLOATS = "{ 0x3e000000, 0x3f800000 }"

-- Element type of what is no number, how many of them one has, why, and what it is filled with
-- where that is another guess than the type's.
local function element_of_bits(p, role)
  if p.half then
    return "u16", p.bytes // 2, "GUESS: the bits of " .. p.half, ("%q"):format(p.half)
  end
  if p.bytes == 0 then return "u8", 1, "GUESS: void as bytes" end
  if p.bytes % 4 ~= 0 then return "u8", p.bytes, "GUESS: a struct as bytes" end
  if role == "in" then return "f32", p.bytes // 4, "GUESS: a struct as floats" end
  return "u32", p.bytes // 4, "GUESS: a struct as the bits of floats, which must be equal", FLOATS
end

-- The range of each integer type whose random values from the host may be out of range.
local LEAST = { u8 = 0, u16 = 0, u32 = 0, u64 = 0, i8 = -128, i16 = -32768 }
local GREATEST = { u8 = 255, u16 = 65535, i8 = 127, i16 = 32767 }

-- What the host draws for an array, by its name in a function, where the type can hold it.
local function drawn(c, text, body, type)
  local d = hostfills.of(c.read.host, text, body)
  if not d or d.low < (LEAST[type] or -math.huge) or d.high > (GREATEST[type] or math.huge) then
    return nil
  end
  local are_whole = math.tointeger(d.low) and math.tointeger(d.high)
  return (type:find "^f" or are_whole) and d or nil
end

-- Fills a row as the host does.
local function fill_as_drawn(arg, d)
  arg.told = true -- so that another is tried only where it shows too little
  arg.fill = not (arg.type:find "^f" and d.fill == "{ 0, 1 }") and d.fill or nil
  note(arg, "filled as at " .. d.place)
end

local function numbers(c, p, i, role, type, width)
  local arg = { name = p.name, type = type, role = role, notes = {} }
  set_count(c, p, i, arg, width)
  local why
  arg.width = width
  arg.fill, why, arg.indexed = fill_of(c, p, type, arg.role)
  local launch = role ~= "out" and c.read.launch or { args = {} }
  local d = launch.args[i] and drawn(c, launch.args[i], launch.body, type)
  if not d then return arg, why end
  arg.indexed = nil -- the host knows how far its indices lead
  fill_as_drawn(arg, d)
  return arg
end

local function bits(c, p, i, role)
  if p.bytes == 0 and p.text:find("(", 1, true) then
    fail("kernel %s takes a pointer to a function (%s), which only a program on the GPU has",
      c.read.kernel, p.name)
  end
  local type, width, as, fill = element_of_bits(p, role)
  local arg, why = numbers(c, p, i, role, type, width)
  if fill and arg.fill then arg.fill, why = fill, nil end
  note(arg, as)
  note(arg, why)
  return arg
end

-- An array of structs whose members are known, or of pointers.
local function structs(c, p, i, role)
  local of = struct_of(c, p, i)
  local pointer = not of and p.bytes == 8 and layout.pointer(c.read, c.options, i)
  if not of and not pointer then return nil end
  local arg = { name = p.name, type = "struct", notes = {}, bytes = p.bytes,
    role = role == "out" and "inout" or role } -- who knows whether all of one is written
  if pointer then arg.role = "in" end
  set_count(c, p, i, arg, 1)
  arg.members = of and structguess.members(c, of, p.name, true)
    or structguess.pointers(c, pointer, p.name)
  return arg
end

local function array(c, p, i)
  local role = p.const and "in" or usage.role(c.read.body, p.name)
  if p.struct then
    local is_known = p.bytes > 0 and not p.half
    return is_known and structs(c, p, i, role) or bits(c, p, i, role)
  end
  local arg, why = numbers(c, p, i, role, p.type, p.width)
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

-- Rows of `constants`: variables that the source mentions.
local function constants(c)
  local rows, seen = {}, {}
  for _, v in ipairs(c.read.host:constants()) do
    if c.source:find(1, v.name) and not seen[v.name] then
      local row = structguess.variable(c, v)
      local is_plain = row and not row.members and (row.fill or ""):find "^[{%d ,.}]*$"
      local d = is_plain and drawn(c, v.name, nil, row.type)
      if d then
        row.notes = {}
        fill_as_drawn(row, d)
      end
      rows[#rows + 1] = row
      seen[v.name] = true
    end
  end
  return rows
end

-- Offsets of rows end where the array ends that is read between them, if its length is known.
local function bound_offsets(c)
  local columns, offsets = nil, ('{ ascending = "%s" }'):format(c.sparse.nonzeros)
  for _, arg in ipairs(c.sparse.loop and c.args or {}) do
    local is_read = arg.count and c.read.body:find(1, arg.name, "[", c.sparse.loop, "]")
    columns = columns or is_read and not arg.count_guessed and arg or nil
  end
  for _, arg in ipairs(columns and c.args or {}) do
    if arg.fill == offsets then
      local count = tonumber(columns.count) or luadata.quote(columns.count)
      arg.fill = ("{ ascending = %s }"):format(count)
    end
  end
end

-- Indices of an array whose length is another than the size's go to its end.
local function bound_indices(c)
  local lengths = {}
  for _, arg in ipairs(c.args) do
    local width = arg.width or 1
    if arg.count and arg.count ~= c.total then
      local n = tonumber(arg.count)
      lengths[arg.name] = n and tostring(n // width - 1)
        or ("(%s)%s - 1"):format(arg.count, width > 1 and " // " .. width or "")
    end
  end
  for _, arg in ipairs(c.args) do
    local last = arg.indexed and lengths[arg.indexed]
    if last and arg.fill == '{ 0, "size_x - 1" }' then
      arg.fill = ("{ 0, %s }"):format(luadata.quote(last))
    end
  end
end

--- Rows of `args` for a kernel's parameters, and of `constants`.
---@param read Reading
---@param shape LaunchShape
---@param folder string the problem's: headers are there
---@return ArgumentGuess[] args
---@return ArgumentGuess[] constants
function M.arguments(read, shape, folder)
  local source <close> = csource.tokens(read.sliced.source)
  local c = { read = read, shape = shape, sparse = M.sparse(read), args = {}, source = source,
    options = table.move(read.compiler.options, 1, #read.compiler.options, 2, { "-I" .. folder }) }
  c.total = total(c)
  for i, p in ipairs(read.params) do
    if p.text:find("cudaSurfaceObject_t", 1, true) then
      fail("kernel %s takes a surface (%s), which neither a table nor a problem with functions can "
        .. "describe: write to an array instead", read.kernel, p.name)
    elseif textureguess.is_texture(p) then c.args[i] = texture(c, p)
    elseif not p.pointer then
      c.args[i] = ((p.struct or p.width > 1) and struct or scalar)(c, p, i)
    end
  end
  for i, p in ipairs(read.params) do -- scalar arguments give their sizes
    if p.pointer then c.args[i] = array(c, p, i) end
  end
  bound_indices(c)
  bound_offsets(c)
  return c.args, constants(c)
end

--- All rows of arguments and constants: these, and those of what is in their structs, each with the
--- row that says its role.
---@param draft Draft
---@return { row: ArgumentGuess, block: ArgumentGuess, is_leaf: boolean }[] is_leaf: of numbers
function M.flat(draft)
  local list = {}
  local function add(row, block)
    list[#list + 1] = { row = row, block = block, is_leaf = not row.members }
    for _, m in ipairs(row.members or {}) do add(m, m.in_memory and row or m) end
  end
  for _, arg in ipairs(draft.args) do add(arg, arg) end
  for _, constant in ipairs(draft.constants) do add(constant, constant) end
  return list
end

return M
