-- gilua.wire: values as bytes and back, for messages between the host and its workers.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local wire = require "gilua.base.wire"

local function same(a, b)
  if type(a) ~= "table" then return rawequal(a, b) and math.type(a) == math.type(b) end
  if type(b) ~= "table" then return false end
  for k, v in pairs(a) do
    if not same(v, b[k]) then return false end
  end
  for k in pairs(b) do
    if a[k] == nil then return false end
  end
  return true
end

tap.case("every kind of value comes back as it was", function()
  for _, v in ipairs {
    0, -1, math.mininteger, math.maxinteger, 1.0, -0.0, 1e300, math.huge, -math.huge, "", "x\0y",
    ("z"):rep(100000), true, false, {}, { 1, 2, { 3 } }, { [1] = "a", [2.5] = "b", x = { y = {} } },
    { [true] = 1, [false] = 2, [-3] = 4 },
  } do
    local name = type(v) == "string" and #v .. " characters" or type(v)
    tap.is(same(wire.decode(wire.encode(v)), v), true, name)
  end
  tap.is(wire.decode(wire.encode(nil)), nil, "nil")
  local nan = wire.decode(wire.encode(0 / 0))
  tap.is(nan ~= nan, true, "NaN")
end)

-- A random value, and the same one built in another order.
local function random_pair(depth)
  local kind = math.random(depth > 0 and 5 or 4)
  if kind == 1 then local i = math.random(-5, 5) return i, i end
  if kind == 2 then local x = math.random() return x, x end
  if kind == 3 then local s = ("k"):rep(math.random(0, 4)) .. math.random(9) return s, s end
  if kind == 4 then local b = math.random(2) == 1 return b, b end
  local a, b, keys = {}, {}, {}
  for _ = 1, math.random(0, 8) do
    local k, v, w = random_pair(0), random_pair(depth - 1)
    w = w == nil and v or w
    if a[k] == nil then
      a[k], keys[#keys + 1] = { v, w }, k
    end
  end
  for i = #keys, 1, -1 do b[keys[i]] = a[keys[i]][2] end
  for _, k in ipairs(keys) do a[k] = a[k][1] end
  return a, b
end

tap.case("equal values have equal bytes, whatever order they were built in", function()
  local seed = tonumber(arg[1]) or os.time()
  tap.note(("seed %d"):format(seed))
  math.randomseed(seed)
  local unequal, unlike = 0, 0
  for _ = 1, 2000 do
    local a, b = random_pair(4)
    if wire.encode(a) ~= wire.encode(b) then unequal = unequal + 1 end
    if not same(wire.decode(wire.encode(a)), b) then unlike = unlike + 1 end
  end
  tap.is(unequal, 0, "2,000 random tables and their twins")
  tap.is(unlike, 0, "and they come back")
  tap.is(wire.encode(1) ~= wire.encode(1.0), true, "an integer is no float")
  tap.is(wire.encode "1" ~= wire.encode(1), true, "and no string")
end)

tap.case("arrays travel beside the bytes", function()
  local a, b = gi.array.from { 1 }, gi.array.from { 2 }
  local arrays = {}
  local bytes = wire.encode({ x = a, y = { b, a } }, arrays)
  tap.is(#arrays, 2, "each once")
  local back = wire.decode(bytes, arrays)
  tap.is(rawequal(back.x, a) and rawequal(back.y[1], b) and rawequal(back.y[2], a), true,
    "and come back in their places")
  tap.raises(function() wire.encode { a } end, "a userdata cannot be sent to a worker",
    "without a list an array is refused")
  tap.raises(function() wire.decode(bytes, {}) end, "a broken message", "and so is one not there")
end)

tap.case("what is no message is refused, whatever its bytes", function()
  tap.raises(function() wire.encode { print } end, "a function cannot be sent", "a function")
  local loop = {}
  loop[1] = loop
  tap.raises(function() wire.encode(loop) end, "contain itself", "a table that contains itself")
  local whole = wire.encode { a = { 1, 2.5, "text" }, b = true }
  local taken = 0
  for n = 0, #whole - 1 do
    if pcall(wire.decode, whole:sub(1, n)) then taken = taken + 1 end
  end
  tap.is(taken, 0, "no beginning of a message is a message")
  for _, bytes in ipairs { "", "x", "}", "{n", "{nn}", "{i", "s\255\255\255\255\255\255\255\255",
                           ("{"):rep(1000000) } do
    tap.raises(function() wire.decode(bytes) end, "a broken message",
      ("nonsense: %q"):format(bytes:sub(1, 4)))
  end
end)

tap.done()
