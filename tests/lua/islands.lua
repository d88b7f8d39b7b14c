-- islands: a ring of populations, on a landscape with a known optimum.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local islands = require "gilua.search.islands"
local json = require "gilua.base.json"
local tap = require "tap"

local function scheme(seed, changes)
  local s = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(seed), new_case = fake.new_case,
    population = 10, generations = 5,
  }
  for name, value in pairs(changes or {}) do s[name] = value end
  return s
end

-- What one island of a ring of two is given; and what the other has left there.
local function ring(folder, changes)
  local r = { folder = folder, island = 1, islands = 2, every = 2, migrants = 2, timeout_s = 0.2 }
  for name, value in pairs(changes or {}) do r[name] = value end
  return r
end

local TERMS = "2 islands, 2 migrants every 2 generations"

local function left(folder, island, generation, genomes, terms)
  local file <close> = assert(io.open(("%s/island-%d-generation-%d.json"):format(folder, island,
    generation), "w"))
  file:write(json.encode { terms = terms or TERMS, genomes = json.array(genomes) })
end

local function births(run_of)
  local list = {}
  run_of(function(run)
    list[run.generation] = { size = #run.population }
    for _, x in ipairs(run.population) do
      if x.birth == "immigrant" then table.insert(list[run.generation], x.genome) end
    end
  end)
  return list
end

tap.case("a ring of one evolves as if it were alone", function()
  local alone = evolve.run(scheme(3)).records
  local s = islands.join(scheme(3), ring(tap.folder(), { islands = 1 }))
  local joined = evolve.run(s).records
  for i, record in ipairs(alone) do
    tap.is(joined[i].best and joined[i].best.genome, record.best and record.best.genome,
      "generation " .. i)
  end
end)

tap.case("what its neighbour left comes in, at its time, and no population grows", function()
  local folder = tap.folder()
  left(folder, 2, 2, { "FAST", "<_kernel.cu_5>" })
  left(folder, 2, 4, { "FAST <_kernel.cu_5>" })
  local seen = births(function(look)
    evolve.run(islands.join(scheme(3, { on_generation = look }), ring(folder)))
  end)
  for generation = 1, 5 do tap.is(seen[generation].size, 10, "ten in generation " .. generation) end
  tap.is(table.concat(seen[3], ", "), "FAST, <_kernel.cu_5>", "two come after the second")
  tap.is(table.concat(seen[5], ", "), "FAST <_kernel.cu_5>", "one after the fourth")
  tap.is(#seen[1] + #seen[2] + #seen[4], 0, "none at other times")
end)

tap.case("what it leaves are its best, each once", function()
  local folder, best = tap.folder(), nil
  left(folder, 2, 2, { "FAST" })
  evolve.run(islands.join(scheme(3, { generations = 3, on_generation = function(run, record)
    if run.generation == 2 then best = record.best.genome end
  end }), ring(folder)))
  local genomes = json.decode(tap.read(folder .. "/island-1-generation-2.json")).genomes
  tap.is(#genomes, 2, "as many as are sent")
  tap.is(genomes[1], best, "the best first")
  tap.ok(genomes[1] ~= genomes[2], "another one second")
end)

tap.case("only who is right and may be a parent is sent", function()
  local function individual(genome, fitness, acceptable, max_error)
    return { genome = genome, fitness = fitness, acceptable = acceptable,
      measurement = { status = "ok", max_error = max_error, wrong = 0, unset = 0, nan = 0,
        off = max_error > 0.1 and 1 or 0 } }
  end
  local genomes = islands.best({ individual("slow", 9, true, 0), individual("fast", 3, true, 0),
    individual("fast", 3, true, 0), individual("barred", 1, false, 0),
    individual("wrong", 2, true, 7) }, 4)
  tap.is(table.concat(genomes, " "), "fast slow", "best first")
end)

tap.case("what is no migrant's file is refused in a sentence", function()
  local folder = tap.folder()
  local function refused(part, what, changes)
    tap.raises(function()
      evolve.run(islands.join(scheme(3), ring(folder, changes)))
    end, part, what)
  end
  refused("island 2 did not come to the end of generation 2 within 0.2 seconds", "none")
  left(folder, 2, 2, { "FAST" }, "3 islands, 2 migrants every 2 generations")
  refused("is of another run (3 islands", "one of another ring")
  left(folder, 2, 2, { 7 })
  refused("holds no migrants", "one whose genomes are none")
  refused("there are 2 islands, and this is to be number 3", "a number too high", { island = 3 })
  refused("every must be a whole number from 1 on, not 0", "no interval", { every = 0 })
  tap.raises(function() islands.join(scheme(3, { vary = print }), ring(folder)) end,
    "no place for", "a scheme that makes its populations itself")
end)

tap.done()
