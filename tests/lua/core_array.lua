-- gi.array: elements, shapes, lists, comparison, misuse.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

tap.case("an array is indexed from 1 and knows its length, type and shape", function()
  local a = gi.array("f32", 2, 3)
  tap.is(#a, 6, "length")
  tap.is(a:dtype(), "f32", "type")
  tap.is(table.concat({ a:shape() }, "x"), "2x3", "shape")
  a[1], a[6] = 1.5, 2
  tap.is(a[1] + a[6], 3.5, "set and read")
  tap.is(a:at(2, 3), 2.0, "the last index varies fastest")
  tap.is(a[7], nil, "past the end is nil")
  tap.raises(function() a[7] = 1 end, "outside the array of 6", "setting past the end raises")
  tap.raises(function() gi.array("f33", 2) end, "'f33' is no element type", "unknown type")
  tap.raises(function() gi.array("f32") end, "one to seven sizes", "no sizes")
  tap.raises(function() gi.array("f32", 0) end, "", "an empty array is refused")
end)

tap.case("lists become arrays, nested ones with more dimensions", function()
  local a = gi.array.from { 1, 2, 3 }
  tap.is(a:dtype(), "f32", "f32 unless said")
  local nested = gi.array.from({ { 1, 2 }, { 3, 4 } }, "i32")
  tap.is(table.concat(nested:table(), " "), "1 2 3 4", "nested")
  tap.raises(function() gi.array.from { { 1, 2 }, { 3 } } end, "uneven", "uneven lists are refused")
  tap.raises(function() gi.array.from {} end, "empty", "an empty list is refused")
end)

tap.case("64-bit integers survive exactly", function()
  local a = gi.array("i64", 1)
  a[1] = math.mininteger
  tap.is(a[1], math.mininteger, "the smallest integer")
end)

tap.case("comparison is strict about NaN and what was never written", function()
  local want = gi.array.from { 1, 2, 3, 4 }
  local got = want:copy()
  got[2] = 2.5
  local c = gi.array.compare(got, want, { limit = 0.1 })
  tap.is(c.max_error, 0.5, "largest error")
  tap.is(c.wrong, 0.25, "share of wrong answers")
  tap.is(c.first_wrong, 2, "the first of them, from 1")
  got[3] = 0 / 0
  tap.is(gi.array.compare(got, want).max_error, math.huge, "NaN is infinitely wrong")
  c = gi.array.compare(got, got)
  tap.is(c.max_error .. " " .. c.nan, "0.0 0.25", "but where it was expected; that is told")
  tap.is(gi.array.compare(want:copy():sentinel(), want).unset, 1.0, "the sentinel is unset")
  c = gi.array.compare(got, want, { width = 2 })
  tap.is(c.n, 2, "width: answers of two elements")
  tap.raises(function() gi.array.compare(got, want, { widht = 2 }) end,
    "unknown option 'widht'; did you mean 'width'?", "a misspelt option names the nearest")
  tap.raises(function() gi.array.compare(got, gi.array("f32", 3)) end, "", "lengths must agree")
end)

tap.case("a penalty is what an answer costs: by how far, by where, or nothing", function()
  local want = gi.array.from { -1, -1, 10, 10, 10, 10, 10 }
  local got = gi.array.from { -1, 20, 10, 12, -1, 0 / 0, 51 }
  local penalty = { ignore = -1, unset = 200, outside = 100, low = 0, high = 50 }
  local c = gi.array.compare(got, want, { limit = 0.5, penalty = penalty })
  tap.is(c.counted, 5, "where -1 was expected nothing counts")
  tap.is(c.penalty, (0 + 2 + 100 + 100 + 100) / 5, "two off, and three outside 0 to 50")
  tap.is(c.first_wrong, 2, "what is wrong is another matter")
  got[3] = gi.array("f32", 1):sentinel()[1]
  c = gi.array.compare(want:copy():sentinel(), want, { penalty = penalty })
  tap.is(c.penalty, 200.0, "never set")
  c = gi.array.compare(got, want, { penalty = { unset = 3, outside = 7 } })
  tap.is(c.counted, 7, "without `ignore` everything counts")
  tap.is(gi.array.compare(got, want).penalty, nil, "nothing unless asked for")
  local bytes, none = gi.array.from({ 255, 7, 255 }, "u8"), gi.array.from({ 255, 255, 7 }, "u8")
  penalty = { ignore = 255, unset = 200, outside = 100, low = 0, high = 50 }
  tap.is(gi.array.compare(bytes, none, { penalty = penalty }).penalty, 100.0, "255 is a byte's -1")
  local function refused(p, part)
    tap.raises(function() gi.array.compare(got, want, { penalty = p }) end, part, part)
  end
  refused(5, "option 'penalty' must be a table { unset =, outside = }, not a number")
  refused({ unset = 200 }, "unset (200) and outside (nan) must be numbers from 0 on")
  refused({ unset = 200, outside = 100, hihg = 50 }, "did you mean 'high'")
  refused({ unset = 200, outside = 100, low = 1, high = 0 }, "low (1) must not be above high (0)")
end)

tap.case("a share holds arrays for other processes; each gets views of its own", function()
  local core = require "gilua.core"
  local a, b = gi.array.from({ 1, 2, 3 }), gi.array.from({ { 1, 2 }, { 3, 4 } }, "i64")
  local share = core.array.share { a, b }
  a[1] = 99
  local first, second = share:arrays(), share:arrays()
  tap.is(tostring(first[1]), "f32 array 3: 1.0, 2.0, 3.0", "what was in it when it was shared")
  tap.is(tostring(first[2]), "i64 array 2x2: 1, 2, 3, 4", "types and shapes, too")
  first[1][1] = 7
  tap.is(second[1][1], 1.0, "what is written to a view stays in it")
  tap.is(share:bytes() % 64, 0, "each array begins on a boundary of 64 bytes")
  share:close()
  share:close()
  tap.is(first[2]:at(2, 2), 4, "views outlive the share")
  tap.raises(function() share:arrays() end, "the share is closed", "which then gives no more")
  tap.raises(function() core.array.share {} end, "1 to 4096 arrays", "an empty one is refused")
  tap.raises(function() core.array.share { a, 5 } end, "element 2", "and what is no array")
end)

tap.case("shares that are forgotten give their descriptors back", function()
  local core = require "gilua.core"
  local a = gi.array.from { 1 }
  local function count()
    local n = 0
    for _ in require("lfs").dir("/proc/self/fd") do n = n + 1 end
    return n
  end
  local before, most = count(), 0
  for i = 1, 3000 do
    local share, why = core.array.share { a }
    if not share then error(why) end
    if i % 100 == 0 then most = math.max(most, count() - before) end
  end
  tap.is(most < 400, true, "3,000 of them never hold 400 descriptors: " .. most)
  collectgarbage()
  collectgarbage()
  tap.is(count(), before, "and none in the end")
end)

tap.done()
