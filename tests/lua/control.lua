-- control: random search in the loop of evolution, with as many evaluations and the same records.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local control = require "gilua.search.control"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local tap = require "tap"

local function scheme(seed)
  return { problem = fake.problem(), farm = fake.farm(), rng = fake.rng(seed),
           new_case = fake.new_case, population = 30, generations = 12 }
end

local function keys(record)
  local names = {}
  for name in pairs(record) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, " ")
end

local function mean_right(run)
  local sum = 0
  for _, record in ipairs(run.records) do sum = sum + record.right end
  return sum / #run.records
end

tap.case("as many evaluations, the same records", function()
  local evolved, random = evolve.run(scheme(1)), evolve.run(control.scheme(scheme(1)))
  tap.is(#random.records, #evolved.records, "a record a generation")
  local differ = 0
  for i, record in ipairs(random.records) do
    if record.evaluations ~= evolved.records[i].evaluations then differ = differ + 1 end
  end
  tap.is(differ, 0, "as many evaluations after each generation")
  tap.is(keys(random.records[1]), keys(evolved.records[1]), "with the same fields")
  tap.ok(random.result.speedup, "and a final comparison")
end)

tap.case("without selection wrong programs breed", function()
  for seed = 1, 3 do
    local evolved, random = evolve.run(scheme(seed)), evolve.run(control.scheme(scheme(seed)))
    tap.ok(mean_right(random) < mean_right(evolved), "fewer are right, seed " .. seed)
    tap.ok(random.result.speedup <= evolved.result.speedup, "no faster, seed " .. seed)
  end
end)

tap.done()
