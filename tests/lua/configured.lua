-- configured, pareto: chapter 8's genomes with a fixed front, and the error-time front.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local configured = require "gilua.search.configured"
local fake = require "fake"
local genome = require "gilua.search.genome"
local pareto = require "gilua.search.pareto"
local tap = require "tap"

local NAMES = { "FAST", "block_size", "OTHER" }
local problem = fake.problem()
local operators = configured.new(problem, NAMES)

local function draw(rng)
  local gene
  repeat gene = rng:pick(fake.genes) until gene:find("<", 1, true)
  return gene
end

tap.case("a genome is settings in order, then code", function()
  local settings, code = operators:split("<_kernel.cu_5> block_size=64 <_kernel.cu_6> FAST")
  tap.is(settings.FAST .. " " .. settings.block_size .. " " .. settings.OTHER .. "|",
    "FAST block_size=64 |", "settings, defaults where there are none")
  tap.is(table.concat(code, " "), "<_kernel.cu_5> <_kernel.cu_6>", "code")
  tap.is(operators:join(settings, code), "FAST block_size=64 <_kernel.cu_5> <_kernel.cu_6>",
    "back, in the order of the names")
  tap.is(operators:join(operators:split("block_size=32")), "", "the default needs no gene")
end)

tap.case("the first population: one setting each, then code too, all different", function()
  local list = assert(operators.init(20, draw, fake.rng(3)))
  local seen, single = {}, 0
  for _, text in ipairs(list) do
    seen[text] = (seen[text] or 0) + 1
    local settings, code = operators:split(text)
    local set = 0
    for name, value in pairs({ FAST = "", block_size = "block_size=32", OTHER = "" }) do
      if settings[name] ~= value then set = set + 1 end
    end
    tap.is(set, 1, "one setting in: " .. text)
    if #code == 0 then single = single + 1 end
  end
  local twice = 0
  for _, times in pairs(seen) do twice = twice + times - 1 end
  tap.is(twice, 0, "all different")
  tap.is(single, 4, "first the four there are: FAST, OTHER, block sizes 64 and 128")
end)

tap.case("half of the mutations are of the configuration", function()
  local rng, config, kept = fake.rng(9), 0, true
  for _ = 1, 1000 do
    local child = operators.mutate("FAST <_kernel.cu_5>", draw, rng)
    local _, code = operators:split(child)
    if #code == 1 then
      config = config + 1
    else
      kept = kept and code[1] == "<_kernel.cu_5>" and #code == 2
    end
  end
  tap.ok(kept, "the others append one gene")
  tap.ok(config > 430 and config < 570, config .. " of 1000")
end)

tap.case("crossover: settings from either, code by two cuts, no growth on average", function()
  local rng, total, from_mother = fake.rng(4), 0, 0
  local mother = "FAST <_kernel.cu_4> <_kernel.cu_5> <_kernel.cu_6>"
  local father = "block_size=64 OTHER <_kernel.cu_7> <_kernel.cu_9> <_kernel.cu_4>+<_kernel.cu_5>"
  for _ = 1, 2000 do
    local settings, code = operators:split(operators.cross(mother, father, rng))
    total = total + #code
    if settings.FAST ~= "" then from_mother = from_mother + 1 end
  end
  tap.near(total / 2000, 3, "genes, as the parents have", 0.1)
  tap.near(from_mother / 2000, 0.5, "FAST from one parent of two", 0.05)
  tap.is(genome.length(operators.cross("", "", rng)), 0, "nothing of nothing")
end)

tap.case("how many genomes carry which value", function()
  local list = configured.popular(problem, NAMES, {
    "FAST <_kernel.cu_5>", "block_size=64", "FAST FAST=undef block_size=32 OTHER",
    "block_size=128 block_size=64 FAST", "block_size=96",
  })
  local function shown(item)
    local parts = {}
    for i, v in ipairs(item.values) do
      parts[i] = ("%s %d%s"):format(v.value, v.count, v.default and "*" or "")
    end
    return item.name .. ": " .. table.concat(parts, ", ")
  end
  tap.is(shown(list[1]), "FAST: off 3*, on 2", "a switch is on or off; the last word counts")
  tap.is(shown(list[2]), "block_size: 32 2*, 64 2, 96 1", "values, also those nobody listed")
  tap.is(shown(list[3]), "OTHER: off 4*, on 1", "the third")
end)

tap.case("misuse is named", function()
  tap.raises(function() configured.new(problem, { "NOPE" }) end, "no parameter 'NOPE'", "unknown")
  tap.raises(function() configured.new(problem, {}) end, "no parameters", "none")
end)

tap.case("the front: what nothing beats in both", function()
  local function point(...) return { at = { ... } } end
  local a, b, c, d = point(0, 1), point(1, 0.5), point(1, 0.7), point(0, 1)
  local front = pareto.front { c, a, b, d, point(0 / 0, 0.1), point(2, 0.5) }
  tap.is(#front, 2, "two; what cannot be compared is none")
  tap.is(front[1] == a and front[2] == b, true, "the first of equals, by their error")
  tap.is(pareto.dominates({ 1, 1 }, { 1, 1 }), false, "equals do not beat each other")
end)

tap.case("an observer keeps every genome that ran", function()
  local o = pareto.observer()
  require("gilua.search.evolve").run {
    problem = problem, farm = fake.farm(), rng = fake.rng(5), new_case = fake.new_case,
    population = 20, generations = 4, observers = { o },
  }
  tap.ok(#o.seen > 20, #o.seen .. " genomes")
  local front = o.front()
  tap.ok(#front >= 1 and #front < #o.seen, #front .. " of them on the front")
  for i = 2, #front do
    tap.ok(front[i].at[1] >= front[i - 1].at[1] and front[i].at[2] < front[i - 1].at[2],
      "more error buys less time")
  end
end)

-- What an observer is told of a generation in which genomes had these errors and times.
local function tell(o, generation, list)
  for _, item in ipairs(list) do
    o.on_result(nil, { genome = item[1], measurement = { status = item[4] or "ok",
      mean_error = item[2], ticks = item[3] } })
  end
  o.on_generation(nil, { generation = generation, baseline = { ticks = 100 } })
end

tap.case("a sketch has the front whole and of the rest what a plot can show", function()
  local o = pareto.sketch()
  tell(o, 1, { { "a", 0, 80 }, { "b", 0, 80.01 }, { "c", 1, 50 }, { "d", math.huge, 10 },
    { "e", 0 / 0, 10 }, { "f", 0, 1, "race" } })
  tell(o, 2, { { "a", 0, 1 }, { "g", 0.5, 90 }, { "h", 1, 50 }, { "i", 2, 20 } })
  local r = o.result()
  tap.is(r.genomes, 8, "genomes that ran, each once")
  tap.is(r.left_out, 2, "those without a finite error are counted")
  tap.is(#r.points, 4, "points that lie together are one")
  tap.is(r.points[1].count .. " " .. r.points[1].time, "2 0.8", "the first, and how many")
  local front = {}
  for i, p in ipairs(r.front) do
    front[i] = ("%s %g %g %d"):format(p.genome, p.error, p.time, p.generation)
  end
  tap.is(table.concat(front, ", "), "a 0 0.8 1, c 1 0.5 1, i 2 0.2 2", "the front")
end)

tap.case("a sketch of a long run is small, and its front is that of all of it", function()
  local rng, o, all = fake.rng(11), pareto.sketch(), {}
  for generation = 1, 50 do
    local list = {}
    for i = 1, 300 do
      local error = rng:unit() < 0.7 and 0 or 10 ^ rng:int(-2, 2) * rng:unit()
      local ticks = (20 + 100 * rng:unit()) / (1 + error) -- wrong ones are faster
      list[i] = { ("%d %d"):format(generation, i), error, ticks }
      all[#all + 1] = { at = { error, list[i][3] / 100 } }
    end
    tell(o, generation, list)
  end
  local r, front = o.result(), pareto.front(all)
  tap.is(r.genomes, 15000, "genomes")
  tap.ok(#r.points < 4000, #r.points .. " points are kept")
  local same = #front == #r.front
  for i, p in ipairs(front) do
    same = same and r.front[i].error == p.at[1] and r.front[i].time == p.at[2]
  end
  tap.ok(same and #front > 5, ("the front of all: %d"):format(#front))
end)

tap.done()
