-- stats: figures that summarise a list.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local stats = require "gilua.stats"
local fake = require "fake"
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

tap.case("quantiles", function()
  local list = { 4, 1, 3, 2, 5 }
  tap.is(stats.quantile(list, 0), 1.0, "the least")
  tap.is(stats.quantile(list, 1), 5.0, "the greatest")
  tap.is(stats.quantile(list, 0.25), 2.0, "a quartile")
  tap.is(stats.quantile({ 1, 2 }, 0.3), 1.3, "between neighbours")
  tap.is(stats.quantile({}, 0.5), nil, "of nothing")
  tap.is(list[1], 4, "the list stays as it was")
end)

tap.case("ranks and rank correlation", function()
  tap.is(table.concat(stats.ranks { 30, 10, 20, 10 }, " "), "4.0 1.5 3.0 1.5", "ties share")
  tap.is(stats.spearman({ 1, 2, 3, 4 }, { 1, 10, 100, 1000 }), 1.0, "the same order")
  tap.is(stats.spearman({ 1, 2, 3 }, { 3, 2, 1 }), -1.0, "the other way round")
  -- by hand: ranks 1 2 3 4 5 and 2 1 4 3 5; 1 - 6 * 4 / (5 * 24) = 0.8
  tap.near(stats.spearman({ 1, 2, 3, 4, 5 }, { 20, 10, 40, 30, 50 }), 0.8, "worked by hand", 1e-12)
  tap.ok(stats.spearman({ 1, 1 }, { 1, 2 }) ~= stats.spearman({ 1, 1 }, { 1, 2 }), "nan")
end)

tap.case("the interval of a ratio", function()
  local rng = fake.rng(7)
  local above, below = {}, {}
  for i = 1, 60 do
    local drift = 1 + i / 100 -- hits both of a pair
    above[i], below[i] = 200 * drift * (1 + 0.02 * rng:unit()), 100 * drift
  end
  local ci = stats.ratio_interval(above, below, rng)
  tap.near(ci.ratio, 2.02, "the ratio of the medians", 0.02)
  tap.ok(ci.low < ci.ratio and ci.ratio < ci.high, "lies in its interval")
  tap.ok(ci.high - ci.low < 0.05, "which is narrow, because pairs drift together")
  local wide = stats.ratio_interval(above, below, fake.rng(7), { confidence = 0.999 })
  local narrow = stats.ratio_interval(above, below, fake.rng(7), { confidence = 0.5 })
  tap.ok(wide.high - wide.low > narrow.high - narrow.low, "more confidence, more width")
  -- coverage: of 200 comparisons of a list with itself, about 5 % leave out 1
  local outside = 0
  for _ = 1, 200 do
    local a, b = {}, {}
    for i = 1, 30 do a[i], b[i] = 1 + 0.1 * rng:unit(), 1 + 0.1 * rng:unit() end
    local c = stats.ratio_interval(a, b, rng, { resamples = 200 })
    if c.low > 1 or c.high < 1 then outside = outside + 1 end
  end
  tap.ok(outside <= 24, "equal things are rarely called different: " .. outside .. " of 200")
  tap.raises(function() stats.ratio_interval({ 1 }, {}, rng) end, "equal length", "misuse")
end)

tap.done()
