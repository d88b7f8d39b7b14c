-- arrayfills: the initial contents of a problem table's arrays: the named fills, as functions of an
-- array and a generator, and values in a given order. gilua.tablecase says which fill an argument
-- has, gilua.families what other data there may be.

local core = require "gilua.core"

local M = {}

---@param array userdata
---@return boolean
function M.is_whole(array)
  return array:dtype():find "^[iu]" ~= nil
end

--- Every element by a function of the generator, the element's number from 1, and how many.
---@param of fun(rng: userdata, i: integer, n: integer): number
---@return fun(array: userdata, rng: userdata): userdata
function M.each(of)
  return function(array, rng)
    local n = #array
    for i = 1, n do array[i] = of(rng, i, n) end
    return array
  end
end

--- 0 at first, `last` at last, and between them whole numbers that never fall: offsets of rows.
function M.ascending(array, rng, last)
  local n = #array
  for i = 1, n do
    local jitter = i > 1 and i < n and rng:unit() - 0.5 or 0
    array[i] = math.floor((i - 1 + jitter) * last / math.max(n - 1, 1))
  end
  return array
end

--- All sorts of numbers in one array (array_fill_mixed).
function M.mixed(array, rng) return rng:mixed(array) end

--- Numbers of 16 bits that have no type of their own in a table, as the bits of one: the fills of
--- "u16" that are called so.
M.bits = { half = true, bfloat16 = true }

--- A fill of floats as one of their bits.
---@param name string of M.bits
---@param make fun(array: userdata, rng: userdata): userdata of "f32"
---@return fun(array: userdata, rng: userdata): userdata of "u16"
function M.as_bits(name, make)
  return function(array, rng)
    return array:set_bits(make(core.array.new("f32", #array), rng), name)
  end
end

local HALF = 1 << 32

--- Fills an array of whole numbers with random bits; of floats it gives what "mixed" gives.
function M.random_bits(array, rng)
  if not M.is_whole(array) then return M.mixed(array, rng) end
  local width = tonumber(array:dtype():match "%d+")
  local is_signed = array:dtype():find "^i" ~= nil
  for i = 1, #array do
    local bits = (rng:int(HALF) - 1) << 32 | (rng:int(HALF) - 1)
    if width < 64 then
      bits = bits & (1 << width) - 1
      if is_signed and bits >> width - 1 == 1 then bits = bits - (1 << width) end
    end
    array[i] = bits
  end
  return array
end

--- Every whole number from 0 to n - 1 once: an index that hits every place.
function M.permutation(array, rng)
  for i = 1, #array do array[i] = i - 1 end
  for i = #array, 2, -1 do
    local k = rng:int(i)
    array[i], array[k] = array[k], array[i]
  end
  return array
end

--- Puts the elements in order.
function M.sort(array, falls)
  local values = array:table()
  table.sort(values, falls and function(a, b) return a > b end or nil)
  for i, value in ipairs(values) do array[i] = value end
  return array
end

-- Numbers from 0 to 1, whole ones to 100.
local function plain(array, rng)
  return rng:fill(array, 0, M.is_whole(array) and 100 or 1)
end

--- Fills by their names.
---@type table<string, fun(array: userdata, rng: userdata): userdata>
M.named = {
  uniform = function(array, rng) return rng:fill(array, 0, 1) end,
  normal = M.each(function(rng) return rng:normal() end),
  zero = function(array) return array:fill(0) end,
  index = M.each(function(_, i) return i - 1 end),
  mixed = M.mixed,
  bits = M.random_bits,
  permutation = M.permutation,
  rising = function(array, rng) return M.sort(plain(array, rng)) end,
  falling = function(array, rng) return M.sort(plain(array, rng), true) end,
  half = M.as_bits("half", M.mixed),
  bfloat16 = M.as_bits("bfloat16", M.mixed),
}

return M
