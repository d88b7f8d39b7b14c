-- structguess: what a struct holds that a kernel takes: its members by the compiler (gilua.layout),
-- their values and arrays by the host's code, else guessed, as those of arguments are.

local csource = require "gilua.source.csource"
local layout = require "gilua.new.layout"
local luadata = require "gilua.base.luadata"
local members = require "gilua.host.members"
local scalarguess = require "gilua.new.scalarguess"
local usage = require "gilua.new.usage"

local M = {}

local LEAST = 17 -- smaller numbers are equal to a size by chance
local PART = 256 -- elements of an array that each of many structs points to
local WHOLE = { [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" } -- bits of what is no number

local ONE = { half = "0x3c00", bfloat16 = "0x3f80" } -- bits of 1 of what has no type in a table

---@class MemberGuess: ArgumentGuess a row of `fields`
---@field path string its name in the struct
---@field at integer byte
---@field each integer
---@field in_memory boolean a number of a struct that is in an array: it has a fill

-- The last name of a path: "x" of "at.x".
local function last_name(path)
  return path:match "[%w_]+$" or path
end

-- The dimension whose size a member says that has this value: one that an argument says, or that
-- the grid of the launch may be made of.
local function size_of(c, m, value)
  local shape = c.shape
  for d, n in ipairs(math.type(value) == "integer" and value >= LEAST and shape.size or {}) do
    local is_rounded = not shape.link[d] and shape.from and not shape.fixed_grid
      and value <= n and value > n - shape.block[d]
    if is_rounded and not m.type:find "8$" then
      shape.size[d], shape.link[d] = value, m.path
    end
    if shape.link[d] and shape.size[d] == value then return d end
  end
end

-- A number's value as it is written, and why where that is a guess.
local function value_of(c, m, name)
  local value = c.read.host:value(name)
  local d = value and size_of(c, m, value)
  if d then return luadata.quote("size_" .. ("xyz"):sub(d, d)) end
  if not value then
    return scalarguess.of({ name = name, type = m.type }, c.source, #c.shape.size, true)
  end
  if m.type:find "^f" then return luadata.text(value + 0.0) end
  return tostring(math.tointeger(value) or math.floor(value))
end

-- A number of a struct by value.
local function number(c, m, row)
  local text, why = value_of(c, m, last_name(m.path))
  row.type, row.each = m.type, m.each * m.width
  row.value = row.each > 1 and "{ " .. (text .. ", "):rep(row.each):sub(1, -3) .. " }" or text
  row.value_guessed = why ~= nil
  row.notes[1] = why
  return row
end

-- A number of structs in an array.
local function element(c, m, row)
  local is_float = m.type:find "^f"
  row.type, row.each, row.in_memory = m.type, m.each * m.width, true
  if is_float then return row end
  if usage.is_index(c.source, last_name(m.path), true) then
    row.fill, row.notes[1] = '{ 0, "size_x - 1" }', "GUESS: used as an index"
  else
    row.fill = m.type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
  end
  return row
end

-- What the host asks for under a member's name, whatever stands before it.
local function allocation_of(c, name)
  local host = c.read.host
  local found = host.allocated[name] and host:allocation(name) or host:allocation_of_member(name)
  local alias = not found and host.definitions[name]
  return found or alias and host:allocation(alias) or nil
end

-- How many elements the array has that a member points to: by what the host asks for.
local function set_count(c, m, row, is_part)
  local found = not m.is_nameless and allocation_of(c, last_name(m.path))
  local width = math.max(1, m.type and m.width or 1)
  local element_bytes = m.type and m.bytes // width or m.bytes
  if found and found.bytes and element_bytes > 0 and found.bytes % element_bytes == 0 then
    row.elements = found.bytes // element_bytes
    row.count = tostring(row.elements)
    row.notes[#row.notes + 1] = ("%d bytes, %s"):format(found.bytes, found.place)
    return
  end
  if m.leads_back then
    row.count, row.notes[#row.notes + 1] = "1", "GUESS: one, as in a list"
    return
  end
  local total = is_part and tostring(PART) or c.total
  row.count = total .. (width > 1 and " * " .. width or "")
  row.notes[#row.notes + 1] = "GUESS: how many"
end

local function fill_of(c, name, type)
  if type:find "^f" then return nil end
  if usage.is_index(c.source, name, true) then
    return '{ 0, "size_x - 1" }', "GUESS: used as an index"
  end
  return type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
end

-- An array of the numbers that a member points to, or of their bits.
local function pointed(c, m, row, is_part)
  local name = last_name(m.path)
  row.role = m.const and "in" or usage.role(c.source, name, true)
  row.type = m.type or m.bytes % 4 == 0 and m.bytes > 0 and "u32" or "u8"
  if not m.type then
    row.notes[1] = m.bytes == 0 and "GUESS: void as bytes" or "GUESS: a struct as bits"
    m = { path = m.path, is_nameless = m.is_nameless, type = row.type, bytes = m.bytes,
      width = math.max(1, m.bytes // 4) }
  end
  set_count(c, m, row, is_part)
  if row.role == "inout" and not row.type:find "^f" then
    row.fill = "0"
  elseif row.role ~= "out" then
    local why
    row.fill, why = fill_of(c, name, row.type)
    row.notes[#row.notes + 1] = why
  end
  return row
end

local members_of

-- An array of the structs that a member points to.
local function structs(c, m, row, is_part)
  row.type, row.bytes = "struct", m.to.bytes
  row.role = m.const and "in" or usage.role(c.source, last_name(m.path), true)
  if row.role == "out" then row.role = "inout" end -- who knows whether all of it
  set_count(c, { path = m.path, width = 1, bytes = m.to.bytes, leads_back = m.leads_back }, row,
    is_part)
  row.members = members_of(c, m.to, row.name, true)
  return row
end

-- The row of a member; nil of what has no place in a table.
local function member(c, m, prefix, in_memory)
  local row = { path = m.path, name = prefix .. "." .. m.path, at = m.at, each = m.each,
    notes = {} }
  if m.pointer and m.each == 1 and (m.to or not m.leads_back) then
    if m.to then return structs(c, m, row, in_memory) end
    if m.type or m.bytes > 0 and m.bytes < 1 << 20 or m.bytes == 0 then
      return pointed(c, m, row, in_memory)
    end
  end
  if m.type and not m.pointer then return (in_memory and element or number)(c, m, row) end
  local bits = m.pointer and 8 or m.bytes -- nowhere; what is no number
  local type = WHOLE[bits] or bits % 4 == 0 and "u32" or "u8"
  local each = m.each * math.max(1, bits // tonumber(type:match "%d+") * 8)
  row.notes[1] = m.leads_back and "GUESS: points nowhere, the end of a list"
    or m.pointer and "GUESS: points nowhere" or "GUESS: bits of what is no number"
  if in_memory then row.type, row.each, row.in_memory, row.fill = type, each, true, "0"
  else
    row.type, row.each = type, each
    row.value = each > 1 and "{ " .. ("0, "):rep(each):sub(1, -3) .. " }" or "0"
  end
  return row
end

function members_of(c, struct, prefix, in_memory)
  local rows = {}
  for i, m in ipairs(struct) do rows[i] = member(c, m, prefix, in_memory) end
  return rows
end

--- Rows of `fields`.
---@param c Guessing with `source`, tokens, and `total`, how many threads there are as an expression
---@param struct LayoutStruct
---@param name string of the argument
---@param in_memory boolean of an array of structs
---@return MemberGuess[]
function M.members(c, struct, name, in_memory)
  return members_of(c, struct, name, in_memory)
end

--- Rows of `fields` of a vector of CUDA's by value.
---@param c Guessing
---@param p table of gilua.signature
---@param given? string what the launch gives it: `make_float4(a, b, c, d)`
---@return MemberGuess[]
function M.vector(c, p, given)
  local rows, bytes = {}, p.bytes // p.width
  local t <close> = csource.tokens(given or "")
  local values = t[2] == "(" and csource.parts(t, 3, #t - 1) or {}
  for i = 1, p.width do
    local name, value = ("xyzw"):sub(i, i), c.read.host:value(values[i] or "")
    rows[i] = { path = name, name = p.name .. "." .. name, at = (i - 1) * bytes, each = 1,
      type = p.type, notes = { not value and "GUESS: its value is unknown" or nil },
      value_guessed = not value }
    if p.type:find "^f" then rows[i].value = luadata.text((value or i / 4) + 0.0)
    else rows[i].value = tostring(math.floor(value or 1)) end
  end
  return rows
end

-- What a variable holds that is one number: what is copied to it, else a guess.
local function fill_of_number(c, m, name, row)
  local text, why = value_of(c, m, name)
  row.notes[1] = why
  row.fill = text:find '^"' and ("{ %s, %s }"):format(text, text) or text
end

--- The row of `constants` of a variable; nil where the kernel cannot see it.
---@param c Guessing
---@param v { name: string, type: string } of hostcode:constants
---@return MemberGuess?
function M.variable(c, v)
  local m, of = layout.variable(c.read, c.options, v.name, members.last_name(v.type))
  if not m then return nil end
  local row = { name = v.name, notes = {}, count = tostring(m.each * m.width) }
  if m.pointer then
    row.type, row.count, row.bytes = "struct", tostring(m.each), 8
    row.members = M.pointers(c, m, v.name)
  elseif of then
    row.type, row.count, row.bytes = "struct", tostring(m.each), of.bytes
    row.members = members_of(c, of, v.name, true)
  elseif m.type then
    row.type = m.type
    if m.each * m.width == 1 then fill_of_number(c, m, v.name, row)
    else row.fill, row.notes[1] = fill_of(c, v.name, m.type), "GUESS: what is in it" end
  else
    row.type = m.bytes % 4 == 0 and "u32" or "u8"
    row.count = tostring(m.each * m.bytes // (row.type == "u32" and 4 or 1))
    row.fill, row.notes[1] = "0", "GUESS: a struct as bits"
  end
  return row
end

--- The one row of `fields` of a struct by value that is not understood: its bits.
---@param p table { name, bytes, half }
---@param why? string
---@return MemberGuess[]
function M.bits(p, why)
  local type = p.half and "u16" or p.bytes % 4 == 0 and "u32" or "u8"
  local each = p.bytes // (tonumber(type:match "%d+") // 8)
  local one = ONE[p.half] or "0"
  return { { path = layout.BITS, name = p.name .. "." .. layout.BITS, at = 0, each = each,
    type = type, value = each > 1 and "{ " .. (one .. ", "):rep(each):sub(1, -3) .. " }" or one,
    notes = { "GUESS: the bits of what has no fields here" .. (why and ": " .. why or "") } } }
end

--- The one row of `fields` of an array of pointers.
---@param c Guessing
---@param m LayoutMember what `T **` points to
---@param name string of the argument
---@return MemberGuess[]
function M.pointers(c, m, name)
  local row = { path = layout.POINTED, name = name .. "." .. layout.POINTED, at = 0, each = 1,
    notes = {} }
  local named = { path = name, is_nameless = true, const = m.const, type = m.type, width = m.width,
    bytes = m.bytes }
  return { pointed(c, named, row, true) }
end

return M
