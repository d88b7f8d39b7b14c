-- stats: figures that summarise a list.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local stats = require "gilua.base.stats"
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

tap.case("evenly spread items", function()
  local function of(n, most)
    local list = {}
    for i = 1, n do list[i] = i end
    local some, rest = stats.evenly(list, most)
    return table.concat(some, " ") .. " | " .. table.concat(rest, " ")
  end
  tap.is(of(9, 3), "1 5 9 | 2 3 4 6 7 8", "first, last and between")
  tap.is(of(4, 9), "1 2 3 4 | ", "all where there are no more")
  tap.is(of(4, 4), "1 2 3 4 | ", "nor where there are as many")
  tap.is(of(4, 1), "1 | 2 3 4", "one of them")
  tap.is(of(4, 0), " | 1 2 3 4", "none")
  tap.is(of(0, 5), " | ", "of none")
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
  -- where below does not vary, ratios are medians of what is drawn: of four values their tails
  -- are known, 13/256 for 1, 43/256 up to 1.5, 98/256 up to 2
  for _, row in ipairs { { 0.5, 2, 3 }, { 0.7, 1.5, 3.5 }, { 0.93, 1, 4 } } do
    local four = stats.ratio_interval({ 1, 2, 3, 4 }, { 1, 1, 1, 1 }, fake.rng(3),
      { confidence = row[1], resamples = 20000 })
    tap.ok(four.low == row[2] and four.high == row[3], ("%g of them lie in %g to %g"):format(
      row[1], four.low, four.high))
  end
  -- coverage: of 200 comparisons of a list with itself, about 5 % leave out 1
  local outside = 0
  for _ = 1, 200 do
    local a, b = {}, {}
    for i = 1, 30 do a[i], b[i] = 1 + 0.1 * rng:unit(), 1 + 0.1 * rng:unit() end
    local c = stats.ratio_interval(a, b, rng, { resamples = 100 })
    if c.low > 1 or c.high < 1 then outside = outside + 1 end
  end
  tap.ok(outside <= 24, "equal things are rarely called different: " .. outside .. " of 200")
  -- what hits a whole block is seen where blocks are drawn, and taken for certain where pairs are
  local missed = { 0, 0 }
  for _ = 1, 100 do
    local a, b, shift = {}, {}, 0
    for i = 1, 100 do
      if i % 5 == 1 then shift = 0.1 * rng:unit() end
      a[i], b[i] = 1 + shift + 0.05 * rng:unit(), 1.05 + 0.05 * rng:unit()
    end
    for k, block in ipairs { 1, 5 } do
      local c = stats.ratio_interval(a, b, rng, { resamples = 100, block = block })
      if c.low > 1 or c.high < 1 then missed[k] = missed[k] + 1 end
    end
  end
  tap.ok(missed[2] <= 16, "blocks: equal things are rarely called different: " .. missed[2])
  tap.ok(missed[1] > missed[2] + 10, "pairs alone would often do so: " .. missed[1] .. " of 100")
  tap.raises(function() stats.ratio_interval({ 1 }, {}, rng) end, "equal length", "misuse")
end)

tap.case("the interval of a median", function()
  local function upto(n)
    local list = {}
    for i = 1, n do list[i] = n + 1 - i end
    return list
  end
  tap.is(stats.median_interval(upto(5)), nil, "five values cannot say it at 95 %")
  local six, ten = stats.median_interval(upto(6)), stats.median_interval(upto(10))
  tap.is(six.low .. " " .. six.high, "1 6", "six: the extremes")
  tap.near(six.coverage, 1 - 2 / 64, "cover 96.9 %", 1e-12)
  tap.is(ten.low .. " " .. ten.high, "2 9", "ten: second and ninth, as in the tables")
  tap.near(ten.coverage, 1 - 22 / 1024, "cover 97.9 %", 1e-12)
  tap.is(ten.median, 5.5, "around the median")
  local many = stats.median_interval(upto(4000))
  tap.ok(math.abs((many.high - many.low) / 4000 - 1.96 / math.sqrt(4000)) < 1e-3, "many: normal")
end)

tap.case("Mann and Whitney, Vargha and Delaney", function()
  local apart = stats.mann_whitney({ 1, 2, 3 }, { 4, 5, 6 })
  tap.is(apart.u, 0.0, "none is greater")
  tap.near(apart.p, 2 / 20, "one of 20 arrangements on each side", 1e-12)
  local known = stats.mann_whitney({ 1, 2, 3, 4, 7 }, { 5, 6, 8, 9, 10 })
  local other = stats.mann_whitney({ 5, 6, 8, 9, 10 }, { 1, 2, 3, 4, 7 })
  tap.is(other.u .. " " .. other.p, "23.0 " .. known.p, "greater or less, as sure")
  tap.is(known.u, 2.0, "two pairs")
  tap.near(known.p, 8 / 252, "p of U = 2, n = m = 5, from the tables: 0.032", 1e-12)
  -- by hand: U = 1 + 3 * 0.5, variance 16 / 12 * (9 - 36 / 56), z = 5 / 3.33809
  local tied = stats.mann_whitney({ 1, 2, 2, 3 }, { 2, 3, 4, 4 })
  tap.is(tied.u, 2.5, "ties count half")
  tap.near(tied.p, 0.134169, "and are corrected for", 1e-5)
  tap.near(stats.a12({ 1, 2, 3 }, { 2, 2, 4 }), 3 / 9, "A12 by hand", 1e-12)
  tap.near(stats.a12({ 2, 2, 4 }, { 1, 2, 3 }), 6 / 9, "the other way round", 1e-12)
  local same = stats.mann_whitney({ 1, 1 }, { 1, 1 })
  tap.is(same.p, 1, "all equal: nothing to see")
  tap.raises(function() stats.mann_whitney({}, { 1 }) end, "a list is empty", "misuse")
end)

tap.done()
