-- arrayfills: what arrays begin with, as bits of numbers of 16.
package.path = "tests/lua/?.lua;" .. package.path
local arrayfills = require "gilua.problem.arrayfills"
local core = require "gilua.core"
local families = require "gilua.problem.families"
local gi = require "gilua"
local tap = require "tap"

local function bits_of(x, format)
  return core.array.new("u16", 1):set_bits(core.array.from({ x }, "f32"), format)[1]
end

tap.case("numbers as the bits of halves", function()
  for bits, x in pairs { [0x0000] = 0, [0x3c00] = 1, [0xc000] = -2, [0x3555] = 1 / 3,
      [0x7bff] = 65504, [0xfbff] = -1e9, [0x0001] = 2.0 ^ -24, [0x03ff] = 1023 * 2.0 ^ -24,
      [0x0400] = 2.0 ^ -14, [0x4640] = 6.25, [0x3bff] = 1 - 2.0 ^ -11, [0x5a40] = 200 } do
    tap.is(bits_of(x, "half"), bits, ("half of %g"):format(x))
  end
  for bits, x in pairs { [0x0000] = 0, [0x3f80] = 1, [0xc000] = -2, [0x3eab] = 1 / 3,
      [0x4348] = 200 } do
    tap.is(bits_of(x, "bfloat16"), bits, ("bfloat16 of %g"):format(x))
  end
end)

tap.case("bits of what they cannot be", function()
  local floats, bits = core.array.new("f32", 2), core.array.new("u16", 2)
  tap.raises(function() bits:set_bits(floats, "quarter") end,
    "'quarter' is no format of 16 bits (half bfloat16)", "another format")
  tap.raises(function() bits:set_bits(core.array.new("f32", 3), "half") end,
    "bits of f32 go to an u16 of as many elements", "another length")
end)

-- Of an array of halves: how many are negative, zero, above 128, and no numbers.
local function sorts(array)
  local found = { negative = 0, zero = 0, large = 0, none = 0 }
  for i = 1, #array do
    local bits = array[i]
    if bits & 0x8000 ~= 0 then found.negative = found.negative + 1 end
    if bits & 0x7fff == 0 then found.zero = found.zero + 1 end
    if bits & 0x7fff > 0x5800 then found.large = found.large + 1 end
    if bits & 0x7fff >= 0x7c00 then found.none = found.none + 1 end
  end
  return found
end

tap.case("fills of such bits are of all sorts, and so are other data", function()
  local array = arrayfills.named.half(core.array.new("u16", 1000), gi.rng(1))
  local found = sorts(array)
  tap.ok(found.negative > 300 and found.zero > 20 and found.large > 3, "both signs, zeros, far")
  tap.is(found.none, 0, "all are numbers")
  local arg = { type = "u16", count = "n", fill = "half", role = "in" }
  local make = families.maker("extremes", arg)
  found = sorts(make(core.array.new("u16", 1000), gi.rng(1)))
  tap.ok(found.negative > 300 and found.large > 100, "extremes of both signs")
  local zeros = families.maker("zeros", arg)(core.array.new("u16", 9), gi.rng(1))
  tap.is(sorts(zeros).zero, 9, "zeros")
end)

tap.case("whole numbers of which every bit is random", function()
  for type, width in pairs { u8 = 8, i16 = 16, i32 = 32, u32 = 32, i64 = 64, u64 = 64 } do
    local array = arrayfills.named.bits(core.array.new(type, 200), gi.rng(1))
    local any, all, mask = 0, -1, width < 64 and (1 << width) - 1 or -1
    for i = 1, #array do any, all = any | array[i], all & array[i] end
    tap.is(("%x %x"):format(any & mask, all & mask), ("%x 0"):format(mask), type)
  end
  local arg = { type = "i64", count = "n", fill = "bits", role = "in" }
  local _, range = families.maker("extremes", arg)
  tap.is(range[2], (1 << 51) - 1, "other data are as large as can be drawn")
end)

tap.done()
