-- tablecase: makes the cases of a problem table: sizes, scalars, arrays with their fills, structs
-- in C's layout.

local fail = require "gilua.base.fail"
local arrayfills = require "gilua.problem.arrayfills"
local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local expression = require "gilua.problem.expression"
local families = require "gilua.problem.families"
local settings = require "gilua.base.settings"
local tablerows = require "gilua.problem.tablerows"

local M = {
  SMALL = 2048, -- threads of the small case that every mutant runs on first
}

local BYTES = tablerows.BYTES
local MOST_BYTES = 1 << 33 -- of an array
local JUST_BELOW = 2.0 ^ -20 -- of a range: how far below its end a float stays

---@param size integer|integer[]
---@return integer[]
function M.sizes(size)
  return type(size) == "table" and size or { size }
end

--- The same shape with at most 2048 threads, and no multiple of any block: a kernel that loses the
--- test of its bounds reaches past its arrays there.
---@param size integer[]
---@return integer[]
function M.smaller(size)
  local small, total = table.move(size, 1, #size, 1, {}), 1
  for _, n in ipairs(size) do total = total * n end
  while total > M.SMALL do
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

--- Are its elements answers, compared after a launch?
---@param arg table { role }
---@return boolean
function M.is_written(arg)
  return arg.role == "out" or arg.role == "inout"
end

--- An argument, for sentences: "folder/problem.lua: argument 2 (x)".
---@param self table of gilua.kerneltable
---@param i integer
---@return string
function M.where(self, i)
  return ("%s: argument %d (%s)"):format(self.path, i, self.table.args[i].name)
end

-- A number that an element of the type can hold, so that none is bent to it silently.
local function scalar(value, type, names, where)
  local n = expression.number(value, names, where)
  if type:find("^f") then return n end
  local k = math.tointeger(n)
  if not k then fail("%s is %s, so its value must be a whole number, not %s", where, type, n) end
  local bits = 8 * BYTES[type]
  local low = type:find("^u") and 0 or bits == 64 and math.mininteger or -(1 << (bits - 1))
  local high = bits == 64 and math.maxinteger or (1 << (type:find("^u") and bits or bits - 1)) - 1
  if k < low or k > high then
    fail("%s: %d does not fit %s (%d to %d)", where, k, type, low, high)
  end
  return k
end

--- The names that expressions may use: sizes, then parameters, then scalar arguments in order.
---@param self table of gilua.kerneltable
---@param size integer[]
---@param values table<string, any> of parameters
---@param given? table<string, integer> scalar arguments that have another value than the table says
---@return table<string, any>
function M.names(self, size, values, given)
  local names = { size = size[1], size_x = size[1], size_y = size[2] or 1, size_z = size[3] or 1,
    math = math }
  for name, value in pairs(values) do names[name] = value end
  for i, arg in ipairs(self.table.args) do
    if arg.value ~= nil then
      local value = given and given[arg.name] or arg.value
      names[arg.name] = scalar(value, arg.type, names, M.where(self, i))
    end
  end
  return names
end

--------------------------------------------------------------------------------------------------
-- Arrays

-- The numbers of { low, high }.
local function bounds(range, type, names, where)
  local low, high = scalar(range[1], type, names, where), scalar(range[2], type, names, where)
  if low > high then
    fail("%s: { %s, %s }: the first must not be above the second", where, low, high)
  end
  return low, high
end

local function by_function(array, how, names, rng, where)
  local whole = arrayfills.is_whole(array)
  for i = 1, #array do
    local x = how(rng, i - 1, names)
    if type(x) ~= "number" or whole and not math.tointeger(x) then
      fail("%s: the function gives %s for element %d of %s, which must be a %snumber", where,
        settings.shown(x), i - 1, array:dtype(), whole and "whole " or "")
    end
    array[i] = x
  end
  return array
end

local function fill(array, how, names, rng, where)
  if how == nil then how = arrayfills.is_whole(array) and { 0, 100 } or "uniform" end
  if arrayfills.named[how] then return arrayfills.named[how](array, rng) end
  if type(how) == "number" then return array:fill(scalar(how, array:dtype(), names, where)) end
  if type(how) == "function" then
    return by_function(array, how, names, rng, where)
  end
  if how.ascending then
    return arrayfills.ascending(array, rng, expression.number(how.ascending, names, where))
  end
  local low, high = bounds(how, array:dtype(), names, where)
  if attempt(rng.fill, rng, array, low, high) then return array end
  fail("%s: { %s, %s }: the two are too far apart, or too near each other", where, low, high)
end

-- The array as a family has it. Of floats the upper bound itself is outside.
local function of_family(array, make, range, names, rng, where)
  if not range then return make(array, rng) end
  local low, high = bounds(range, array:dtype(), names, where)
  if not arrayfills.is_whole(array) then
    low, high = low + 0.0, high - (high - low) * JUST_BELOW
  end
  return make(array, rng, low, high)
end

-- An array of so many elements of a leaf.
local function filled(leaf, count, names, rng, where, family)
  local array = core.array.new(leaf.type, count)
  local make, range
  if family then make, range = families.maker(family, leaf) end
  if make then return of_family(array, make, range, names, rng, where) end
  return fill(array, leaf.fill, names, rng, where)
end

-- How many elements a block has, or structs.
local function length(block, names)
  local n = 1
  for _, count in ipairs(block.counts) do
    local k = expression.whole(count[1], names, count[2])
    if k > 0 and n > MOST_BYTES // k then
      fail("%s: %d times %d are more than %d GB", count[2], n, k, MOST_BYTES >> 30)
    end
    n = n * k
  end
  return n
end

-- Bytes of an element, or of a struct.
local function element_bytes(block)
  return block.layout and block.layout.bytes or BYTES[block.type]
end

--- Puts what a leaf holds into its block's array.
---@param leaf Leaf
---@param array userdata the block's
---@param values userdata the leaf's
function M.place(leaf, array, values)
  local f = leaf.field
  array:set_field(values, f.type, leaf.block.layout.bytes, f.at, f.each)
end

--- What a leaf holds: its block's array itself, or a copy of its field of all structs.
---@param leaf Leaf
---@param array userdata the block's
---@return userdata
function M.take(leaf, array)
  local f = leaf.field
  return f and array:field(f.type, leaf.block.layout.bytes, f.at, f.each) or array
end

-- An array of structs, as yet of zeros.
local function raw(block, n)
  local bytes = block.layout.bytes
  if bytes % 4 == 0 then return core.array.new("u32", n * bytes // 4) end
  return core.array.new("u8", n * bytes)
end

--- A block's array, with its fills.
---@param block Block
---@param names table<string, any>
---@param rng userdata
---@param where string
---@param family fun(name: string): string? of other data (gilua.families), by the leaf's name
---@return userdata
function M.array(block, names, rng, where, family)
  local n = length(block, names)
  if n > MOST_BYTES // element_bytes(block) then
    fail("%s: count: %d elements of %s are more than %d GB", where, n, block.type or "a struct",
      MOST_BYTES >> 30)
  end
  where = where .. ": fill"
  if not block.layout then
    return filled(block.leaves[1], n, names, rng, where, family(block.name))
  end
  local array = raw(block, n)
  for _, leaf in ipairs(block.leaves) do
    M.place(leaf, array, filled(leaf, n * leaf.field.each, names, rng, where, family(leaf.name)))
  end
  return array
end

--- A copy of a block's array in which nothing is written yet: every number is a sentinel.
---@param block Block
---@param array userdata
---@return userdata
function M.unwritten(block, array)
  local copy = array:copy()
  if not block.layout then return copy:sentinel() end
  for _, leaf in ipairs(block.leaves) do
    M.place(leaf, copy, core.array.new(leaf.field.type, #M.take(leaf, array)):sentinel())
  end
  return copy
end

--- How an argument's texture reads its array: options of dev:texture.
---@param arg table { texture }
---@param names table<string, any>
---@param where string
---@return table
function M.texture(arg, names, where)
  local options = { kind = "array" }
  for key, value in pairs(arg.texture) do options[key] = value end
  local size = {}
  for d, text in ipairs(options.size or {}) do
    size[d] = expression.whole(text, names, where .. ": texture.size")
  end
  options.size = options.size and size
  return options
end

--- What a block takes, before it is made.
---@param block Block
---@param names table<string, any>
---@return number bytes
function M.block_bytes(block, names)
  return 1.0 * element_bytes(block) * length(block, names)
end

--- What the arrays of a case take, before they are made.
---@param self table of gilua.kerneltable
---@param names table<string, any>
---@return number bytes
function M.bytes(self, names)
  local total = 0.0
  for _, block in ipairs(self.rows.blocks) do
    if not block.constant then total = total + M.block_bytes(block, names) end
  end
  return total
end

--------------------------------------------------------------------------------------------------
-- Structs

-- A field's numbers, as a list.
local function numbers(field, names, where)
  local list = {}
  for k, one in ipairs(type(field[3]) == "table" and field[3] or { field[3] }) do
    list[k] = scalar(one, field[2], names, where)
  end
  return list
end

-- The fields that a struct by value holds itself: what `visit` gets with the field's numbers.
local function each_number(arg, names, where, visit)
  for i, field in ipairs(arg.fields) do
    if field.count == nil then
      visit(i, field, numbers(field, names, ("%s: field %d (%s)"):format(where, i, field[1])))
    end
  end
end

--- A struct's values by field, for a reference in Lua.
---@param arg table { fields }
---@param names table<string, any>
---@param where string
---@return table<string, number|number[]>
function M.fields(arg, names, where)
  local values = {}
  each_number(arg, names, where, function(_, field, list)
    values[field[1]] = type(field[3]) == "table" and list or list[1]
  end)
  return values
end

--- The bytes of a struct by value; its pointers are 0.
---@param arg table { fields, bytes }
---@param names table<string, any>
---@param where string
---@param as? Layout in place of its own
---@return string
function M.struct(arg, names, where, as)
  local layout = tablerows.layout(arg, as)
  local struct = core.array.new("u8", layout.bytes)
  each_number(arg, names, where, function(i, field, list)
    local f = layout[i]
    struct:set_field(core.array.from(list, field[2]), f.type, layout.bytes, f.at, f.each)
  end)
  return struct:bytes()
end

return M
