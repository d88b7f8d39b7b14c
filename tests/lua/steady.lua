-- steady: children one by one, the best of different code live, cells of MAP-Elites; the same bytes
-- however many workers there are.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local elites = require "gilua.search.elites"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local genome = require "gilua.search.genome"
local gi = require "gilua"
local steady = require "gilua.search.steady"
local tap = require "tap"

local function individual(id, text, fitness, more)
  local m = { registers = 20, shared_bytes = 0, ptx_hash = "ptx of " .. text }
  for name, value in pairs(more or {}) do m[name] = value end
  return { id = id, genome = text, fitness = fitness, acceptable = true, measurement = m }
end

local function texts(list)
  local words = {}
  for i, one in ipairs(list) do words[i] = one.genome end
  return table.concat(words, " | ")
end

tap.case("who lives: the best, each code once", function()
  local wrong = individual(5, "W", 1)
  wrong.acceptable = false
  local list = { individual(1, "<A> <B>", 10, { ptx_hash = "same" }),
    individual(2, "<A>", 10, { ptx_hash = "same" }), individual(3, "C", 9), wrong,
    individual(4, "D", 12) }
  tap.is(texts(steady.best(2)(list)), "C | <A>", "the shorter of equals, no wrong one")
  tap.is(texts(steady.best(9)(list)), "C | <A> | D", "all that differ")
  local launches = { individual(1, "n=1", 10, { ptx_hash = "same" }),
    individual(2, "n=2", 11, { ptx_hash = "same" }) }
  tap.is(#steady.best(9)(launches), 2, "equal code launched otherwise is another kernel")
end)

tap.case("cells: the best of each way to use the machine", function()
  local keep = elites.keep(elites.machine)
  local list = { individual(1, "A", 10), individual(2, "B", 9),
    individual(3, "C", 20, { registers = 60 }), individual(4, "D", 30, { shared_bytes = 4096 }),
    individual(5, "E", 31, { shared_bytes = 5000 }),
    individual(6, "F", 40, { global_sectors = 1000 }) }
  tap.is(texts(keep(list)), "B | C | D | F", "slow ones live where no faster one is like them")
  tap.is(texts(elites.keep(elites.machine, 2)(list)), "B | C", "so many at most")
end)

local function scheme(seed, more)
  local s = { problem = fake.problem(), farm = fake.farm(), rng = fake.rng(seed),
    new_case = fake.new_case, generations = 10 }
  local options = { population = 30, living = 8 }
  for name, value in pairs(more or {}) do options[name] = value end
  for name, value in pairs(steady.scheme(options)) do s[name] = value end
  return s
end

tap.case("it finds the optimum with as many evaluations", function()
  for _, more in ipairs { {}, { keep = elites.keep(elites.machine), choose = elites.choose } } do
    local run = evolve.run(scheme(1, more))
    tap.is(fake.sorted(run.result.best.genome), fake.sorted(genome.join(fake.BEST_GENES)),
      "its genes")
    tap.is(run.records[10].evaluations, 10 * 31, "30 and the unmodified kernel a generation")
  end
end)

tap.case("a child knows of those that were made before the last few", function()
  local ahead, latest, wrong, early = 4, 0, 0, 0
  local s = scheme(2, { ahead = ahead })
  local started
  s.on_result = function(run, one)
    if run.generation ~= started then started, latest = run.generation, 0 end
    if run.generation == 2 and one.birth ~= "unmodified" and one.birth ~= "elite" then
      for _, parent in ipairs(one.parents) do
        if parent > one.id - ahead then wrong = wrong + 1 end
        if parent > latest and latest > 0 then early = early + 1 end
      end
      if latest == 0 then latest = one.id end
    end
  end
  evolve.run(s)
  tap.is(wrong, 0, "no child has a parent whose fitness was not known")
  tap.ok(early > 0, "and some have parents of their own generation")
end)

tap.case("those that are stuck make room", function()
  local scratch = {}
  local s = scheme(1, { patience = 2 })
  s.on_generation = function(run)
    scratch[run.generation] = gi.stats.count(run.population, function(one)
      return one.birth == "scratch"
    end)
  end
  local run = evolve.run(s)
  local first
  for number = 2, 10 do
    if scratch[number] > 0 and not first then first = number end
  end
  tap.ok(first and first > 3, "new ones come when nothing was better for two generations")
  tap.ok(first and (scratch[first + 1] or 0) == 0, "these live on")
  local best = 0
  for number = 1, first - 1 do best = math.max(best, run.records[number].speedup or 0) end
  tap.ok(run.result.speedup > best - 1e-3, "the best of before is not lost")
end)

local function on_emu(jobs)
  local problem = gi.problem "kernels/reduction"
  local farm <close> = gi.farm(problem, { device = "emu", jobs = jobs, wrong = "small" })
  local bandit = gi.bandit.new(problem, gi.own.genes(problem))
  local lines, s = {}, steady.scheme { population = 14, living = 4, ahead = 5 }
  s.problem, s.farm, s.rng, s.generations = problem, farm, gi.rng(3), 3
  s.fitness, s.init, s.draw = gi.fitness.within(problem.tolerance), bandit.init, bandit.draw
  s.observers = { bandit }
  s.new_case = function(_, rng) return gi.own.case(problem, rng:int(1 << 31), "emu") end
  s.on_result = function(_, one)
    lines[#lines + 1] = ("%d %s %s %s %.3f"):format(one.id, one.birth, one.genome,
      one.measurement.status, one.measurement.ticks or 0)
  end
  local run = evolve.run(s)
  lines[#lines + 1] = ("%s %.6f"):format(run.result.best.genome, run.result.speedup)
  return table.concat(lines, "\n")
end

tap.case("the same bytes with one worker and with three", function()
  local one, three = on_emu(1), on_emu(3)
  tap.is(three, one, "every individual, in its order")
  tap.ok(select(2, one:gsub("\n", "")) > 40, "there were as many")
end)

tap.done()
