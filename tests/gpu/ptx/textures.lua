--- Texture fetches: geometry, formats, channels, address modes, filtering.
--
-- Without filtering a fetch gives a texel: its bits must be equal, but for normalised integers
-- read as fractions, whose division may be rounded otherwise (1 ulp). With filtering, hardware
-- computes weights of 8 fractional bits (CUDA C++ Programming Guide, "Linear Filtering") and its
-- rounding of coordinate and weight is not documented: a weight may be off by one step of 2^-8 in
-- every dimension, so results may be apart by that part of the texels' range.

local gi = require "gilua"
local Rig = require "ptx.rig"

local M = {}

local SIZES = { { 37 }, { 37, 21 }, { 19, 13, 7 } }
local RANGE = 16 -- of the texels of f32 textures: -8 … 8
local ELEMENTS = { u8 = 255, i8 = 127, u16 = 65535, i16 = 32767, u32 = 2^31, i32 = 2^31 }

local function texels(dtype, n, rng)
  local a = gi.array(dtype, n)
  local top = ELEMENTS[dtype]
  for i = 1, n do
    if not top then a[i] = rng:int(-4096, 4096) / 512
    elseif dtype:sub(1, 1) == "u" then a[i] = rng:int(0, math.tointeger(top) - 1)
    else a[i] = rng:int(-math.tointeger(top) // 2, math.tointeger(top) // 2) end
  end
  return a
end

--- One word a lane, with 10 bits for every axis.
local function coordinates(dims)
  return function(rng)
    local list = {}
    for i = 1, Rig.BODY_GRID * Rig.BODY_BLOCK do
      local word = 0
      for k = 0, dims - 1 do word = word | rng:int(0, 1023) << 10 * k end
      list[i] = ("<I4"):pack(word)
    end
    return table.concat(list)
  end
end
local INPUTS = { coordinates(1), coordinates(2), coordinates(3) }

local function hex(x)
  return ("0f%08X"):format((string.unpack("<I4", string.pack("<f", x))))
end

--- Axis k: anywhere from half a texture before the first texel to half a texture behind the last.
local ANYWHERE = "cvt.rn.f32.u32 %%f%d, %%a1;\nfma.rn.f32 %%f%d, %%f%d, %s, %s;\n"
--- Axis k: a quarter of the way into one of those texels, so that there is no doubt which one.
local ON_TEXEL = "rem.u32 %%a1, %%a1, %d;\nsub.s32 %%a1, %%a1, %d;\ncvt.rn.f32.s32 %%f%d, %%a1;\n"
  .. "add.f32 %%f%d, %%f%d, 0f3E800000;\n"

--- PTX that makes the coordinates %f1 … of the word, 10 bits of it an axis.
local function make_coordinates(dims, size, normalized, on_texel)
  local text = {}
  for k = 1, dims do
    text[#text + 1] = ("shr.u32 %%a1, %%x, %d;\nand.b32 %%a1, %%a1, 1023;\n"):format(10 * (k - 1))
    if on_texel then
      text[#text + 1] = ON_TEXEL:format(2 * size[k], size[k] // 2, k, k, k)
      if normalized then
        text[#text + 1] = ("div.rn.f32 %%f%d, %%f%d, %s;\n"):format(k, k, hex(size[k]))
      end
    else
      local whole = normalized and 1 or size[k]
      text[#text + 1] = ANYWHERE:format(k, k, k, hex(2 * whole / 1024), hex(-whole / 2))
    end
  end
  return table.concat(text)
end

local COORDS = { "{%f1}", "{%f1, %f2}", "{%f1, %f2, %f3, %f3}" }
local LAYERED = { "{%a2, %f1}", "{%a2, %f1, %f2, %f2}" }
local OUT_F = "\nmov.b32 %r, %f5;\nmov.b32 %r1, %f6;\nmov.b32 %r2, %f7;\nmov.b32 %r3, %f8;"

local function limit_of(spec)
  if spec.filter == "linear" then
    local range = ELEMENTS[spec.dtype] and (spec.dtype:sub(1, 1) == "u" and 1 or 2) or RANGE
    return { abs = range * spec.dims * 2.0 ^ -8, text = ("%d/256 of the range"):format(spec.dims) }
  elseif spec.read == "normalized" then
    return { ulp = 1 }
  end
end

local function geometry_of(spec)
  return (spec.level and ".level" or "") .. (spec.layers and ".a" or ".") .. spec.dims .. "d"
end

local function title_of(spec)
  return ("tex%s %s x%d %s %s %s%s"):format(geometry_of(spec), spec.dtype, spec.channels,
    spec.address or "clamp", spec.filter or "point", spec.coords or "texel",
    spec.read == "normalized" and ", as fractions" or "")
end

--- The instruction itself; whole: integers come back as they are.
local function fetch(spec, whole)
  local returns = not whole and "f32" or spec.dtype:sub(1, 1) == "u" and "u32" or "s32"
  return ("tex%s.v4.%s.f32 %s, [%%extra, %s]%s;"):format(geometry_of(spec), returns,
    whole and "{%r, %r1, %r2, %r3}" or "{%f5, %f6, %f7, %f8}",
    (spec.layers and LAYERED or COORDS)[spec.dims], spec.level and ", 0f00000000" or "")
    .. (whole and "" or OUT_F)
end

--- spec: dims, dtype, channels, address, filter, coords, read, layers, level
local function body(spec, rng)
  spec.channels = spec.channels or 1
  local size, n = SIZES[spec.dims], spec.channels * (spec.layers or 1)
  for _, s in ipairs(size) do n = n * s end
  local whole = ELEMENTS[spec.dtype] and spec.read ~= "normalized"
  local layer = spec.layers and ("rem.u32 %%a2, %%t, %d;\n"):format(spec.layers) or ""
  return {
    title = title_of(spec), limit = limit_of(spec), words = 4, type = whole and "w" or "f",
    text = layer .. make_coordinates(spec.dims, size, spec.coords == "normalized",
      spec.filter ~= "linear") .. fetch(spec, whole),
    input = INPUTS[spec.dims],
    texture = { array = texels(spec.dtype, n, rng), options = {
      kind = "array", size = size, channels = spec.channels, layers = spec.layers,
      address = spec.address, filter = spec.filter, coords = spec.coords, read = spec.read,
      border = spec.address == "border" and 2.5 or nil } },
  }
end

local LINE = [[
and.b32 %a1, %x, 127;
sub.s32 %a1, %a1, 32;
]]

--- tex1Dfetch from linear memory: 64 texels, indices from -32 to 95.
local function lines(list, rng)
  for _, row in ipairs { { "f32", "f32", 1 }, { "f32", "f32", 2 }, { "f32", "f32", 4 },
    { "i16", "s32", 1 }, { "u8", "u32", 4 }, { "u32", "u32", 1 }, { "i32", "s32", 2 } } do
    local dtype, returns, channels = row[1], row[2], row[3]
    local whole = returns ~= "f32"
    list[#list + 1] = {
      title = ("tex.1d.v4.%s.s32 of %s x%d, linear memory"):format(returns, dtype, channels),
      text = LINE .. ("tex.1d.v4.%s.s32 %s, [%%extra, {%%a1}];"):format(returns,
        whole and "{%r, %r1, %r2, %r3}" or "{%f5, %f6, %f7, %f8}") .. (whole and "" or OUT_F),
      words = 4, type = whole and "w" or "f", input = INPUTS[1],
      texture = { array = texels(dtype, 64 * channels, rng),
                  options = { kind = "linear", channels = channels } },
    }
  end
end

function M.list(seed)
  local list, rng = {}, gi.rng(seed)
  local function put(spec) list[#list + 1] = body(spec, rng) end
  lines(list, rng)
  for dims = 1, 3 do
    for _, channels in ipairs { 1, 2, 4 } do
      put { dims = dims, dtype = "f32", channels = channels }
    end
    for _, filter in ipairs { "point", "linear" } do
      for _, address in ipairs { "wrap", "clamp", "mirror", "border" } do
        put { dims = dims, dtype = "f32", filter = filter, address = address,
              coords = "normalized" }
      end
      for _, address in ipairs { "clamp", "border" } do
        put { dims = dims, dtype = "f32", filter = filter, address = address }
      end
    end
  end
  for _, dtype in ipairs { "u8", "i8", "u16", "i16", "u32", "i32" } do
    put { dims = 2, dtype = dtype, channels = 4 }
    if not dtype:find("32") then
      put { dims = 2, dtype = dtype, channels = 2, read = "normalized" }
      put { dims = 2, dtype = dtype, read = "normalized", filter = "linear" }
    end
  end
  put { dims = 2, dtype = "f32", channels = 4, layers = 3 }
  put { dims = 1, dtype = "f32", layers = 3 }
  put { dims = 1, dtype = "f32", layers = 3, filter = "linear", address = "border" }
  put { dims = 2, dtype = "f32", channels = 4, level = true }
  return list
end

return M
