-- json: what is written reads back the same, and the same value is the same bytes.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local json = require "gilua.base.json"
local tap = require "tap"

tap.case("values", function()
  tap.is(json.encode { 1, true, json.null, "a" }, '[\n  1,\n  true,\n  null,\n  "a"\n]', "array")
  tap.is(json.encode { b = 1, a = 2 }, '{\n  "a": 2,\n  "b": 1\n}', "keys sorted")
  tap.is(json.encode(json.object { { "b", 1 }, { "a", nil } }), '{\n  "b": 1,\n  "a": null\n}',
    "keys in the order given")
  tap.is(json.encode {}, "{}", "the empty table is an object")
  tap.is(json.encode(json.array {}), "[]", "unless said otherwise")
  tap.is(json.encode(nil), "null", "nil")
  tap.raises(function() json.encode { f = print } end, "cannot write a function", "a function")
end)

tap.case("numbers are the shortest that read back", function()
  tap.is(json.number(3), "3", "integer")
  tap.is(json.number(1e6), "1000000", "a whole float")
  tap.is(json.number(0.1), "0.1", "a tenth")
  tap.is(json.number(1 / 3), "0.3333333333333333", "a third")
  tap.is(json.number(1e300), "1e+300", "a large one")
  tap.is(json.number(math.mininteger), "-9223372036854775808", "the least integer")
  tap.is(json.number(math.huge), "null", "infinity")
  tap.is(json.number(0 / 0), "null", "nan")
  local seed = os.time()
  tap.note("seed " .. seed)
  local rng, equal = require("fake").rng(seed), true
  for _ = 1, 1000 do
    local x = (rng:unit() - 0.5) * 10.0 ^ rng:int(-300, 300)
    equal = equal and tonumber(json.number(x)) == x
  end
  tap.ok(equal, "1000 random numbers")
end)

tap.case("text", function()
  tap.is(json.encode 'a"b\\c\n\1é', '"a\\"b\\\\c\\n\\u0001é"', "escapes; UTF-8 as it stands")
  tap.is(json.encode "\255", '"\\u00ff"', "a byte that is no UTF-8")
end)

tap.case("what is written reads back", function()
  local value = { list = { 1, 2.5, "x" }, inner = { deep = { yes = true } }, text = "tab\tquote\"" }
  local back = json.decode(json.encode(value))
  tap.is(back.list[2], 2.5, "a number in a list")
  tap.is(back.inner.deep.yes, true, "an object in an object")
  tap.is(back.text, value.text, "text")
end)

tap.case("what is not JSON is named by its place", function()
  for text, at in pairs { ["{"] = 2, ["[1,]"] = 4, ["{\"a\" 1}"] = 6, ["tru"] = 1, ["1 2"] = 3,
    ["\"a\nb\""] = 3, [""] = 1, ["[1"] = 3, ["nan"] = 1 } do
    local value, why, code = json.decode(text)
    tap.is(tostring(value) .. " " .. tostring(code), "nil format", text)
    tap.has(why, ("at byte %d"):format(at), text)
  end
  local _, cut = json.decode "{"
  tap.is(cut, "not JSON at byte 2: it ends there", "a file that was cut")
  local deep, why = json.decode(("["):rep(100000))
  tap.is(deep, nil, "nested without end")
  tap.has(why, "nested more than 200 deep", "is refused")
  tap.is(json.decode("null"), json.null, "null alone")
  tap.is(json.decode("[null, 1]")[1], json.null, "null in an array")
  tap.is(json.decode('{"a": null}').a, nil, "a key without a value")
  tap.is(json.decode('"\\u00e9\\n"'), "é\n", "escapes")
  tap.is(json.decode('"\\ud83d\\ude00\\uD83D\\uDE00!"'), "😀😀!", "a character in two escapes")
  tap.is(json.decode('"\\ud83d\\u0041\\ude00"'), "\u{FFFD}A\u{FFFD}", "half of one is none")
end)

tap.done()
