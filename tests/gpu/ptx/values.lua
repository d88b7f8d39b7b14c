--- Operand values for one instruction: edges in every combination, then random bits.
--
-- A type is a letter, as in forms.lua:
--   h w l  integers of 16, 32, 64 bits        s  a 32-bit shift amount, position or length
--   f d    f32, f64                           n m  f32, f64 without NaN, infinity and the largest
--   H B    f16, bf16                          X Y  f16x2, bf16x2
--   v b    two 16-bit, four 8-bit integers    p  predicate (0 or 1)
--   F D    as f, d; marks a result whose NaN bits the instruction must keep
--
-- The first tuples hold every pair of edge values; the others are drawn from edges, their
-- neighbours, ordinary numbers and raw bits.

local gi = require "gilua"

local M = {}

M.N = 16384 -- tuples a form

local INT = { 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000,
  0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
  math.mininteger, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x00ff00ff00ff00ff, -2, -3, -128,
  -32768, -65536, 0x123456789abcdef0 }

local F32 = { 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
  0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40000000, 0x3f000000, 0x7f7fffff,
  0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x7fffffff, 0x4b000000,
  0x4b7fffff, 0xcb000001, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4effffff, 0x5f000000, 0xdf000000,
  0x5f7fffff, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x387fe000, 0x3f000001,
  0x3effffff, 0x40200000, 0xc0600000, 0x7e800000, 0x42fe0000, 0x437f0000, 0x43800000, 0xc3000000,
  0x46fffe00, 0x477fff00, 0x4f800000, 0x40490fdb, 0x3fc90fdb, 0xc2fc0000, 0xc3160000,
  -- products and quotients next to the smallest normal number, and more NaNs
  0x00800001, 0x80800001, 0x3f7ffffe, 0x3f800002, 0x20000001, 0x1fffffff, 0xffffffff, 0x7fa01000 }

local F64 = { 0, math.mininteger, 1, math.mininteger | 1, 0x000fffffffffffff, 0x0010000000000000,
  0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001,
  0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
  0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0x43e0000000000000,
  0xc3e0000000000000, 0x43f0000000000000, 0x41dfffffffe00000, 0x41e0000000000000,
  0x3fe0000000000000, 0x4004000000000000, 0xc00c000000000000, 0x36a0000000000000,
  0x47efffffe0000000, 0x47effffff0000000, 0x380fffffffffffff, 0x3690000000000000,
  0x40efffffffffffff, 0x41effffffff00000, 0x40efffc000000000, 0x3e70000000000000,
  0x7fd0000000000000, 0x0020000000000000, 0x400921fb54442d18, 0x7fffffffffffffff, -1,
  0x7ff4a5a5a5a5a5a5 }

local F16 = { 0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3bff,
  0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x4000, 0x3800, 0x3f80, 0xbf80,
  0x0080, 0x007f, 0x807f, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7fff, 0x4100, 0xc300, 0x5bff,
  0x7800, 0x4b80, 0x0401, 0x8401, 0x3bfe, 0x2001, 0x1fff, 0xffff, 0x7d55 }

local function bits32(x)
  return (string.unpack("<I4", string.pack("<f", x)))
end

local function bits64(x)
  return (string.unpack("<i8", string.pack("<d", x)))
end

local function raw(rng)
  return rng:int(math.mininteger, math.maxinteger)
end

local function any_int(rng)
  local kind = rng:int(4)
  if kind == 1 then return rng:pick(INT) end
  if kind == 2 then return -rng:pick(INT) end
  local x = raw(rng) >> rng:int(0, 63)
  return kind == 3 and -x or x
end

local function any_shift(rng)
  return rng:int(2) == 1 and rng:int(0, 70) or any_int(rng)
end

local function any_f32(rng)
  local kind = rng:int(6)
  if kind == 1 then return rng:pick(F32) end
  if kind == 2 then return rng:pick(F32) + rng:int(-2, 2) end
  if kind == 3 then return bits32(rng:normal()) end
  if kind == 4 then return bits32(rng:int(-2000, 2000) / 4) end
  return raw(rng) & 0xffffffff
end

local function any_f64(rng)
  local kind = rng:int(6)
  if kind == 1 then return rng:pick(F64) end
  if kind == 2 then return rng:pick(F64) + rng:int(-2, 2) end
  if kind == 3 then return bits64(rng:normal()) end
  if kind == 4 then return bits64(rng:int(-2000, 2000) / 4) end
  if kind == 5 then return bits64(rng:normal() * 2.0 ^ rng:int(-160, 160)) end
  return raw(rng)
end

local function any_16(rng)
  return rng:int(2) == 1 and rng:pick(F16) or raw(rng) & 0xffff
end

local function pair(list)
  local pairs_of = {}
  for i, low in ipairs(list) do pairs_of[i] = low | list[i * 7 % #list + 1] << 16 end
  return pairs_of
end

--- f32 bits that are a number below 1e38 in size; else one of their bits made into one.
local function number32(bits)
  return bits >> 23 & 255 < 253 and bits or bits & 0x807fffff | 127 << 23
end

local function number64(bits)
  return bits >> 52 & 2047 < 2040 and bits or bits & 0x800fffffffffffff | 1023 << 52
end

local function map(list, f)
  local out = {}
  for i, v in ipairs(list) do out[i] = f(v) end
  return out
end

--- Integers of so many bits side by side in 32: the least, the largest and their neighbours often.
local function lanes(bits)
  local top, mask = 1 << bits - 1, (1 << bits) - 1
  local edges, words = { 0, 1, 2, top - 2, top - 1, top, top + 1, mask - 1, mask }, {}
  local function word(lane)
    local all = 0
    for k = 0, 32 // bits - 1 do all = all | lane(k) << k * bits end
    return all
  end
  for i = 0, #edges - 1 do
    words[i + 1] = word(function(k) return edges[(i + 2 * k * (i + 1)) % #edges + 1] end)
  end
  return { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = words, any = function(rng)
    return word(function() return rng:int(2) == 1 and rng:pick(edges) or raw(rng) & mask end)
  end }
end

local SHIFT = { 0, 1, 2, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 511,
  0x7fffffff, 0x80000000, 0xffffffff }

-- pack: string.pack's format of one value; dtype: the array it lies in
local TYPES = {
  h = { pack = "<I2", dtype = "u16", mask = 0xffff, edges = INT, any = any_int },
  w = { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = INT, any = any_int },
  l = { pack = "<i8", dtype = "i64", mask = -1, edges = INT, any = any_int },
  s = { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = SHIFT, any = any_shift },
  f = { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = F32, any = any_f32 },
  d = { pack = "<i8", dtype = "i64", mask = -1, edges = F64, any = any_f64 },
  n = { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = map(F32, number32),
        any = function(rng) return number32(any_f32(rng) & 0xffffffff) end },
  m = { pack = "<i8", dtype = "i64", mask = -1, edges = map(F64, number64),
        any = function(rng) return number64(any_f64(rng)) end },
  H = { pack = "<I2", dtype = "u16", mask = 0xffff, edges = F16, any = any_16 },
  X = { pack = "<I4", dtype = "u32", mask = 0xffffffff, edges = pair(F16),
        any = function(rng) return any_16(rng) | any_16(rng) << 16 end },
  p = { pack = "<I4", dtype = "u32", mask = 1, edges = { 0, 1 },
        any = function(rng) return rng:int(0, 1) end },
  v = lanes(16),
  b = lanes(8),
}
TYPES.B, TYPES.Y = TYPES.H, TYPES.X
TYPES.F, TYPES.D = TYPES.f, TYPES.d
M.types = TYPES

--- Operand number `position` of every tuple, as a list of bit patterns.
local function column(type, position, rng, first)
  local t, out = TYPES[type], {}
  local n_edges = #t.edges
  for i = 0, M.N - 1 do
    local value
    if i < n_edges * n_edges and position <= 2 then
      value = t.edges[(position == 1 and i // n_edges or i % n_edges) + 1]
    elseif first and rng:int(16) == 1 then
      value = first[i + 1] -- equal operands are a case of their own
    elseif position > 2 and rng:int(3) == 1 then
      value = rng:pick(t.edges)
    else
      value = t.any(rng)
    end
    out[i + 1] = value & t.mask
  end
  return out
end

--- A store of operand columns, made when first asked for. Each has a generator of its own, so that
-- leaving out some forms changes nothing for the others.
---@param seed integer
---@return fun(type: string, position: integer): { values: integer[], array: userdata }
function M.store(seed)
  local kept = {}
  local function get(type, position)
    local key = type .. position
    if kept[key] then return kept[key] end
    local first = position > 1 and get(type, 1).values or nil
    local values = column(type, position, gi.rng(seed * 1000 + type:byte() * 8 + position), first)
    local packed, format = {}, TYPES[type].pack
    for i, v in ipairs(values) do packed[i] = format:pack(v) end
    kept[key] = { values = values,
                  array = gi.array.frombytes(table.concat(packed), TYPES[type].dtype) }
    return kept[key]
  end
  return get
end

return M
