-- select: 50 % truncation, GECCO 2014 §3.9.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fake = require "fake"
local select = require "gilua.search.select"
local tap = require "tap"

local function population(...)
  local list = {}
  for i, fitness in ipairs { ... } do
    list[i] = { genome = "g" .. i, fitness = math.abs(fitness), acceptable = fitness > 0 }
  end
  return list
end

local function names(parents)
  local list = {}
  for i, parent in ipairs(parents) do list[i] = parent.genome end
  return table.concat(list, " ")
end

tap.case("the best half, best first", function()
  local rng = fake.rng(1)
  tap.is(names(select.truncation(population(5, 1, 4, 2, 6, 3), rng)), "g2 g4 g6", "of six, three")
  tap.is(names(select.truncation(population(3, 1, 2), rng)), "g2", "of three, one")
end)

tap.case("only the acceptable, even where they are few", function()
  local rng = fake.rng(1)
  tap.is(names(select.truncation(population(-1, -2, 9, 8, -3, -4), rng)), "g4 g3", "two of three")
  tap.is(#select.truncation(population(-1, -2), rng), 0, "none")
end)

tap.case("equals come in random order, the same for the same seed", function()
  local equals = {}
  for i = 1, 20 do equals[i] = 7 end
  local function drawn(seed)
    return names(select.truncation(population(table.unpack(equals)), fake.rng(seed)))
  end
  tap.is(drawn(1), drawn(1), "the same seed")
  tap.ok(drawn(1) ~= drawn(2), "another seed")
end)

tap.case("of 200 random populations", function()
  local seed = os.time()
  tap.note("seed " .. seed)
  local rng, right = fake.rng(seed), true
  for _ = 1, 200 do
    local values = {}
    for i = 1, rng:int(2, 30) do values[i] = rng:int(1, 9) * (rng:unit() < 0.7 and 1 or -1) end
    local all = population(table.unpack(values))
    local parents, taken = select.truncation(all, rng), {}
    for _, parent in ipairs(parents) do taken[parent] = true end
    local acceptable, worst = 0, parents[#parents]
    for _, one in ipairs(all) do
      if one.acceptable then acceptable = acceptable + 1 end
      if one.acceptable and worst and one.fitness < worst.fitness then
        right = right and taken[one]
      end
    end
    right = right and #parents == math.min(#all // 2, acceptable)
  end
  tap.ok(right, "nobody left out is better than anybody taken, and as many as may be")
end)

tap.done()
