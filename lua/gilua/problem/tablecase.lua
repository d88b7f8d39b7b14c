-- tablecase: the data of a problem table's cases: sizes, scalars, arrays with their fills, structs
-- as C lays them out.

local fail = require "gilua.base.fail"
local arrayfills = require "gilua.problem.arrayfills"
local core = require "gilua.core"
local expression = require "gilua.problem.expression"
local families = require "gilua.problem.families"

local M = {
  SMALL = 2048, -- threads of the small case that every mutant runs on first
}

local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, f32 = 4, i64 = 8, u64 = 8,
  f64 = 8 }
local PACK = { i8 = "i1", u8 = "I1", i16 = "i2", u16 = "I2", i32 = "i4", u32 = "I4", f32 = "f",
  i64 = "i8", u64 = "I8", f64 = "d" }
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
---@return table<string, any>
function M.names(self, size, values)
  local names = { size = size[1], size_x = size[1], size_y = size[2] or 1, size_z = size[3] or 1,
    math = math }
  for name, value in pairs(values) do names[name] = value end
  for i, arg in ipairs(self.table.args) do
    if arg.value ~= nil then
      names[arg.name] = scalar(arg.value, arg.type, names, M.where(self, i))
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

local function fill(array, how, names, rng, where)
  if how == nil then how = arrayfills.is_whole(array) and { 0, 100 } or "uniform" end
  if arrayfills.named[how] then return arrayfills.named[how](array, rng) end
  if type(how) == "number" then return array:fill(scalar(how, array:dtype(), names, where)) end
  if type(how) == "function" then
    for i = 1, #array do array[i] = how(rng, i - 1, names) end
    return array
  end
  if how.ascending then
    return arrayfills.ascending(array, rng, expression.number(how.ascending, names, where))
  end
  return rng:fill(array, bounds(how, array:dtype(), names, where))
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

--- An array of `count` elements with their fill.
---@param arg table { type, count, fill, role }
---@param names table<string, any>
---@param rng userdata
---@param where string
---@param family? string of other data (gilua.families)
---@return userdata
function M.array(arg, names, rng, where, family)
  local count = expression.whole(arg.count, names, where .. ": count")
  if count > MOST_BYTES // BYTES[arg.type] then
    fail("%s: count: %d elements of %s are more than %d GB", where, count, arg.type,
      MOST_BYTES >> 30)
  end
  local array = core.array.new(arg.type, count)
  where = where .. ": fill"
  local make, range
  if family then make, range = families.maker(family, arg) end
  if make then return of_family(array, make, range, names, rng, where) end
  return fill(array, arg.fill, names, rng, where)
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

--- What the arrays of a case take, before they are made.
---@param self table of gilua.kerneltable
---@param names table<string, any>
---@return number bytes
function M.bytes(self, names)
  local total = 0.0
  for i, arg in ipairs(self.table.args) do
    if arg.count then
      local count = expression.whole(arg.count, names, M.where(self, i) .. ": count")
      total = total + 1.0 * BYTES[arg.type] * count
    end
  end
  return total
end

--------------------------------------------------------------------------------------------------
-- Structs

--- A struct's values by field, for a reference in Lua.
---@param arg table { fields }
---@param names table<string, any>
---@param where string
---@return table<string, number|number[]>
function M.fields(arg, names, where)
  local values = {}
  for i, field in ipairs(arg.fields) do
    local name, kind, value = table.unpack(field)
    local function of(one)
      return scalar(one, kind, names, ("%s: field %d (%s)"):format(where, i, name))
    end
    values[name] = type(value) ~= "table" and of(value) or {}
    for k, one in ipairs(type(value) == "table" and value or {}) do values[name][k] = of(one) end
  end
  return values
end

--- The bytes of a struct as C lays it out: every field at a multiple of its size, and the whole a
--- multiple of the largest.
---@param arg table { fields }
---@param names table<string, any>
---@param where string
---@param as? table<string, string> other types for those of fields: { f32 = "f64" }
---@return string
function M.struct(arg, names, where, as)
  local format, values, largest = "<!8", {}, "i8"
  for i, field in ipairs(arg.fields) do
    local name, kind, value = table.unpack(field)
    kind = as and as[kind] or kind
    if BYTES[kind] > BYTES[largest] then largest = kind end
    for _, one in ipairs(type(value) == "table" and value or { value }) do
      format = format .. PACK[kind]
      values[#values + 1] = scalar(one, kind, names, ("%s: field %d (%s)"):format(where, i, name))
    end
  end
  return string.pack(format .. "X" .. PACK[largest], table.unpack(values))
end

return M
