-- repeats, control: several runs together, and the random search they are held against.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local control = require "gilua.search.control"
local fake = require "fake"
local repeats = require "gilua.search.repeats"
local tap = require "tap"

tap.case("a summary of runs", function()
  local s = repeats.summary({ 1.5, 1.4, 1.6, 1.45, 1.55 }, { 1.1, 1.2, 1.0, 1.15, 1.05 })
  tap.is(s.n .. " " .. s.median .. " " .. s.control.median, "5 1.5 1.1", "medians")
  tap.is(("%.5f %s %s"):format(s.p, s.a12, s.words), "0.00794 1.0 large",
    "2 / C(10, 5); all greater")
  s = repeats.summary({ 1, 2, 3, 4 }, { 1, 2, 3, 4 })
  tap.is(s.words, "negligible", "no difference")
end)

tap.case("an effect has the name of its least size", function()
  local function words(above) -- of 100 pairs, the first is greater in so many
    local list, ten = {}, {}
    for i = 1, 10 do
      local share = math.min(10, math.max(0, above - 10 * (i - 1)))
      list[i], ten[i] = share + 0.5, i
    end
    return repeats.summary(list, ten).words
  end
  for above, want in pairs { [71] = "large", [70] = "medium", [64] = "medium", [63] = "small",
                             [56] = "small", [55] = "negligible", [45] = "negligible",
                             [44] = "small", [36] = "medium", [29] = "large" } do
    tap.is(words(above), want, ("A12 of %.2f"):format(above / 100))
  end
end)

tap.case("random selection takes half, whoever they are", function()
  local population = {}
  for i = 1, 10 do population[i] = { fitness = i, acceptable = i > 5 } end
  local rng, counts, odd = fake.rng(1), {}, 0
  for _ = 1, 400 do
    local parents, seen = control.select(population, rng), {}
    if #parents ~= 5 then odd = odd + 1 end
    for _, p in ipairs(parents) do
      if seen[p] then odd = odd + 1 end
      seen[p] = true
      counts[p.fitness] = (counts[p.fitness] or 0) + 1
    end
  end
  tap.is(odd, 0, "five different ones each time")
  local least, most = math.huge, 0
  for i = 1, 10 do least, most = math.min(least, counts[i]), math.max(most, counts[i]) end
  tap.ok(least > 150 and most < 250, ("each about 200 times of 400: %d to %d"):format(least, most))
  tap.is(population[1].fitness .. " " .. population[10].fitness, "1 10", "the population is kept")
end)

tap.case("the scheme differs in its selection alone", function()
  local scheme = { population = 7, select = print, other = 1 }
  local random = control.scheme(scheme)
  tap.is(random.population .. " " .. random.other, "7 1", "the same")
  tap.is(random.select, control.select, "but for the selection")
  tap.is(scheme.select, print, "the one given is not changed")
end)

tap.done()
