-- tablerows: the memory layout of a problem table's arguments.
--
-- An array of numbers is one block of memory and one list of numbers. A struct has fields; each is
-- a list of numbers or, if it has a `count`, a pointer to a block of its own, named after the field
-- ("view.data"). An array of structs is one block with all their fields; its pointers point into
-- blocks with a part for each struct.

local M = {}

local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, f32 = 4, i64 = 8, u64 = 8,
  f64 = 8, f16 = 2, bf16 = 2, e4m3 = 1, e5m2 = 1 }

--- Bytes of an element of a type.
M.BYTES = BYTES

local POINTER = 8 -- bytes

--------------------------------------------------------------------------------------------------
-- Layout

---@class TableField as it is written: { name, type, value }, or named `each`, `at`, `count`, …
---@class FieldLayout
---@field type string as it lies there: another than the leaf's in another compilation's layout
---@field at integer byte of the struct
---@field each integer elements
---@field pointer boolean

-- How many elements a field has itself.
local function elements(field)
  return field.each or type(field[3]) == "table" and #field[3] or 1
end

local function bytes_of(field, as)
  return field.count ~= nil and POINTER or BYTES[as or field[2]]
end

---@class Layout
---@field bytes integer of a struct
---@field [integer] FieldLayout

--- Where the fields of a struct lie: where they say it, else as C does, every field at a multiple
--- of its element's size and the whole a multiple of the largest.
---@param row table { fields, bytes }
---@param as? Layout in its place: as another compilation has it
---@return Layout
function M.layout(row, as)
  if as then return as end
  local layout, at, largest = {}, 0, 1
  for i, field in ipairs(row.fields) do
    local size = bytes_of(field)
    at = field.at or (at + size - 1) // size * size
    layout[i] = { type = field[2], at = at, each = elements(field), pointer = field.count ~= nil }
    at, largest = at + size * layout[i].each, math.max(largest, size)
  end
  layout.bytes = row.bytes or (at + largest - 1) // largest * largest
  return layout
end

--------------------------------------------------------------------------------------------------
-- Blocks and leaves

---@class Block memory of an array
---@field name string
---@field where string for sentences
---@field type? string of its elements; nil of structs
---@field counts table[] { expression, where }: what its length is the product of
---@field role? string
---@field texture? table
---@field layout? Layout of structs
---@field leaves Leaf[]
---@field pointers { at: integer, to: Block }[]
---@field argument? integer whose it is; nil of what a struct points to
---@field constant? boolean it is a variable's, not an argument's

---@class Leaf numbers of one type: an array, or a field of an array's structs
---@field name string
---@field type string
---@field count any (gilua.families asks)
---@field role? string
---@field fill any
---@field max_error? number
---@field rel_error? number
---@field block Block
---@field field? FieldLayout

-- A leaf of a block, by the row or field that describes it.
local function leaf_of(block, row, name, field)
  return { name = name, type = field and row[2] or block.type, count = row.count or true,
    role = block.role, fill = row.fill, max_error = row.max_error, rel_error = row.rel_error,
    block = block, field = field }
end

local add_block

-- The fields of a row's structs: pointers get blocks; of structs in memory the others are leaves.
local function add_fields(rows, row, name, counts, where, block)
  local layout, pointers = M.layout(row, rows.as and rows.as[name]), {}
  for i, field in ipairs(row.fields) do
    local full = name .. "." .. field[1]
    if field.count ~= nil then
      pointers[#pointers + 1] = { at = layout[i].at,
        to = add_block(rows, field, full, field[2], counts,
          ("%s: field %d (%s)"):format(where, i, field[1])) }
    elseif block then
      block.leaves[#block.leaves + 1] = leaf_of(block, field, full, layout[i])
    end
  end
  return layout, pointers
end

function add_block(rows, row, name, type, counts, where)
  local block = { name = name, type = type ~= "struct" and type or nil, role = row.role,
    where = where, texture = row.texture, leaves = {}, pointers = {},
    counts = { table.unpack(counts) } }
  table.insert(block.counts, { row.count, where .. ": count" })
  rows.blocks[#rows.blocks + 1] = block
  if block.type then
    block.leaves[1] = leaf_of(block, row, name)
  else
    block.layout, block.pointers = add_fields(rows, row, name, block.counts, where, block)
  end
  table.move(block.leaves, 1, #block.leaves, #rows.leaves + 1, rows.leaves)
  return block
end

---@class TableRows
---@field blocks Block[] in the order of the arguments
---@field leaves Leaf[] likewise
---@field structs table<integer, { layout: Layout, pointers: table[] }> by value, by argument
---@field of table<integer, Block> arrays, by argument
---@field constants table<string, Block>
---@field as? table<string, Layout>

--- The blocks and leaves of a table.
---@param t table
---@param path? string of its file, for sentences
---@param as? table<string, Layout> of structs, in place of their own
---@return TableRows
function M.of(t, path, as)
  local rows = { blocks = {}, leaves = {}, structs = {}, of = {}, constants = {}, as = as }
  for i, arg in ipairs(t.args) do
    local where = ("%s: argument %d (%s)"):format(path or "problem.lua", i, arg.name)
    if arg.count ~= nil then
      rows.of[i] = add_block(rows, arg, arg.name, arg.type, {}, where)
      rows.of[i].argument = i
    elseif arg.type == "struct" then
      local layout, pointers = add_fields(rows, arg, arg.name, {}, where)
      rows.structs[i] = { layout = layout, pointers = pointers }
    end
  end
  local names = {}
  for name in pairs(t.constants or {}) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local where = ("%s: constants.%s"):format(path or "problem.lua", name)
    rows.constants[name] = add_block(rows, t.constants[name], name, t.constants[name].type, {},
      where)
    rows.constants[name].constant = true
  end
  return rows
end

return M
