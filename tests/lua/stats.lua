-- stats: figures that summarise a list.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local stats = require "gilua.stats"
local tap = require "tap"

tap.case("mean and median", function()
  tap.is(stats.mean { 1, 2, 6 }, 3.0, "mean")
  tap.ok(stats.mean {} ~= stats.mean {}, "the mean of nothing is nan")
  tap.is(stats.median { 9, 1, 5 }, 5, "the middle")
  tap.is(stats.median { 9, 1, 5, 6 }, 5.5, "between two")
  tap.is(stats.median {}, nil, "of nothing")
  local list = { 3, 1, 2 }
  stats.median(list)
  tap.is(list[1], 3, "the list stays as it was")
end)

tap.case("least and count", function()
  local words = { "three", "one", "two" }
  local word, length = stats.least(words, string.len)
  tap.is(word, "one", "the first of equals")
  tap.is(length, 3, "and its key")
  tap.is(stats.least({}, string.len), nil, "of nothing")
  tap.is(stats.count(words, function(w) return #w == 3 end), 2, "count")
end)

tap.done()
