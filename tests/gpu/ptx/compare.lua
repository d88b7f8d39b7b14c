--- Two devices' results of the same work, value by value.
--
-- A limit says how far two values may be apart, the sum of what its fields grant:
--   ulp = n     n units in the last place of the first value
--   rel = x     x times the first value
--   abs = x     x
--   from = f    f(tuple) gives a limit of its own, or nil where no bound is given
--   flush = x   a zero may be a number of this size: results next to the smallest normal number
--   ulps        true: the largest distance is told in units in the last place
-- Without a limit the bits must be equal; `nan = true` lets one NaN be another.

local M = {}

local function f16(h)
  local exponent, fraction = h >> 10 & 31, h & 1023
  local size = exponent == 31 and (fraction == 0 and math.huge or 0 / 0)
    or exponent == 0 and fraction * 2.0 ^ -24 or (fraction + 1024) * 2.0 ^ (exponent - 25)
  return h & 0x8000 ~= 0 and -size or size
end

local function f32(bits)
  return (string.unpack("<f", string.pack("<I4", bits)))
end

local function bf16(h)
  return f32(h << 16)
end

local function f64(bits)
  return (string.unpack("<d", string.pack("<i8", bits)))
end

-- value: of the bits as a float; digits: of its fraction, least: exponent of its smallest number
local FLOAT = {
  f = { value = f32, digits = 23, least = -126, hex = "%08x" },
  d = { value = f64, digits = 52, least = -1022, hex = "%016x" },
  H = { value = f16, digits = 10, least = -14, hex = "%04x" },
  B = { value = bf16, digits = 7, least = -126, hex = "%04x" },
}
FLOAT.F, FLOAT.D, FLOAT.n, FLOAT.m = FLOAT.f, FLOAT.d, FLOAT.f, FLOAT.d
M.value = { f = f32, d = f64, H = f16, B = bf16, F = f32, D = f64 }

local WIDTH = { h = 2, H = 2, B = 2, l = 8, d = 8, D = 8, m = 8 } -- else 4
local HALF = { X = "H", Y = "B" }

function M.width(type)
  return WIDTH[type] or 4
end

--- The step between numbers of this kind next to x.
local function ulp_of(kind, x)
  local field = string.unpack("<i8", string.pack("<d", x)) >> 52 & 2047
  local exponent = field == 2047 and kind.least or field - 1023
  return 2.0 ^ (math.max(exponent, kind.least) - kind.digits)
end

local function distance_text(limit, error, size, ulps)
  if not limit or limit.ulp or limit.ulps then return ("%.3g ulp"):format(ulps) end
  if limit.abs and not limit.rel then return ("%.3g abs"):format(error) end
  return ("%.3g rel"):format(size > 0 and error / size or error)
end

local function is_infinite(x)
  return x == math.huge or x == -math.huge
end

--- Are two different numbers too far apart? Notes the largest distance.
local function too_far(result, kind, x, y, limit)
  if x ~= x or y ~= y then return true end
  if is_infinite(x) or is_infinite(y) then
    -- a bound in ulps lets the largest number and infinity be neighbours
    return not (limit and limit.overflow and x * y > 0)
  end
  local error, ulp = math.abs(x - y), ulp_of(kind, x)
  if limit and limit.flush and x * y == 0 and error <= limit.flush then return false end
  if error / ulp > result.worst_ulp then
    result.worst_ulp = error / ulp
    result.worst = distance_text(limit, error, math.abs(x), error / ulp)
  end
  if not limit then return true end -- two zeros of different sign, too
  return error > (limit.ulp or 0) * ulp + (limit.rel or 0) * math.abs(x) + (limit.abs or 0)
end

--- Is a pair of different floating-point bits not allowed?
local function is_wrong(result, kind, x, y, index, spec)
  local limit = spec.limit
  if limit and limit.from then limit = limit.from(index) end
  if x ~= x and y ~= y then
    result.nan = result.nan + 1
    return not spec.nan
  elseif spec.limit and limit == nil then
    result.unbounded = result.unbounded + 1
    return false
  end
  return too_far(result, kind, x, y, limit)
end

--- Adds one differing pair to the result. index is its tuple, from 1.
local function judge(result, type, a, b, index, spec)
  local kind = FLOAT[type]
  local x, y = kind and kind.value(a), kind and kind.value(b)
  result.differing = result.differing + 1
  if kind and not is_wrong(result, kind, x, y, index, spec) then return end
  result.wrong = result.wrong + 1
  result.first = result.first
    or { index = index, a = a, b = b, x = x, y = y, hex = kind and kind.hex or "%x" }
end

function M.empty(n)
  return { n = n, differing = 0, wrong = 0, nan = 0, unbounded = 0, worst_ulp = 0 }
end

--- Compares two byte strings of values of one type.
---@param type string letter of values.lua
---@param a string bytes
---@param b string
---@param spec { limit: table?, nan: boolean? }
---@return table result n, differing, wrong, nan, unbounded, worst_ulp, worst, first
function M.bytes(type, a, b, spec)
  local half = HALF[type]
  local width = half and 2 or M.width(type)
  local format = width == 8 and "<i8" or "<I" .. width
  local per = half and 2 or 1
  local result = M.empty(#a // width // per)
  if a == b then return result end
  if #a ~= #b then error("the two devices gave results of different length", 0) end
  for at = 1, #a, width do
    local x, y = string.unpack(format, a, at), string.unpack(format, b, at)
    if x ~= y then judge(result, half or type, x, y, (at - 1) // width // per + 1, spec) end
  end
  return result
end

--- The bytes' values of `width` sorted: for results whose order is the scheduler's.
function M.sorted(bytes, width)
  local list, format = {}, width == 8 and "<i8" or "<I" .. width
  for at = 1, #bytes, width do list[#list + 1] = string.unpack(format, bytes, at) end
  table.sort(list)
  for i, v in ipairs(list) do list[i] = format:pack(v) end
  return table.concat(list)
end

function M.limit_text(limit)
  if not limit then return "bits" end
  local parts = {}
  if limit.text then return limit.text end
  if limit.ulp then parts[#parts + 1] = ("%g ulp"):format(limit.ulp) end
  if limit.rel then parts[#parts + 1] = ("%.3g rel"):format(limit.rel) end
  if limit.abs then parts[#parts + 1] = ("%.3g abs"):format(limit.abs) end
  return table.concat(parts, " + ")
end

return M
