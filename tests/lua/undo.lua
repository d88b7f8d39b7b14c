-- attempt, undo: what becomes of failures, and of Ctrl-C, which is none.
package.path = "tests/lua/?.lua;" .. package.path
local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local tap = require "tap"
local undo = require "gilua.base.undo"

tap.case("what goes well is not undone", function()
  local undone = 0
  local function count() undone = undone + 1 end
  local a, b, c = undo(count, function(x, y) return x, nil, y end, 1, 2)
  tap.ok(a == 1 and b == nil and c == 2, "all results")
  tap.is(undone, 0, "and nothing else")
end)

tap.case("whatever stops it, it is undone once and told as it was", function()
  for _, why in ipairs { "a sentence", "interrupted!", { an = "object" } } do
    local undone = 0
    local ok, told = pcall(undo, function() undone = undone + 1 end, function() error(why, 0) end)
    tap.ok(not ok and undone == 1, "undone")
    if type(why) == "table" then tap.is(told, why, "the very object")
    else tap.has(told, why, "the words") end
  end
  local ok, told = pcall(undo, function() end, fail, "no %s", "room")
  tap.ok(not ok and tostring(told) == "no room", "a refusal is a sentence, without a trace")
end)

tap.case("an attempt may fail, but Ctrl-C ends more than it", function()
  tap.is(select("#", attempt(function() return 1, 2 end)), 3, "true and the results")
  local ok, why = attempt(error, "broken", 0)
  tap.ok(not ok and why == "broken", "false and the error")
  tap.ok(not pcall(attempt, error, "x:1: interrupted!", 0), "an interruption goes on upwards")
end)

tap.done()
