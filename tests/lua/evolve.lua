-- evolve: the generational loop on a landscape with a known optimum.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local genome = require "gilua.search.genome"
local tap = require "tap"

local sorted = fake.sorted

local function scheme(changes)
  local s = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(1), new_case = fake.new_case,
    population = 30, generations = 12,
  }
  for name, value in pairs(changes or {}) do s[name] = value end
  return s
end

tap.case("it finds the optimum and cleans it", function()
  local run = evolve.run(scheme())
  local result = run.result
  tap.is(sorted(result.best.genome), sorted(genome.join(fake.BEST_GENES)), "exactly its genes")
  tap.near(result.speedup, 1 / fake.BEST_FACTOR, "its speed-up", 1e-4)
  tap.ok(genome.length(result.evolved) >= 3, "the evolved genome is kept beside it")
  tap.is(result.case, "case 14", "measured on a case after the last")
  tap.is(result.unseen, true, "which evolution never saw")
  tap.is(result.baseline.genome, "", "against the unmodified kernel")
  tap.is(#run.records, 12, "a record a generation")
  tap.is(run.stopped, nil, "it was not stopped")
end)

tap.case("a case is told what it is for, also where a run ends early", function()
  local stages = {}
  evolve.run(scheme { enough = function(run) return run.generation == 3 end,
    new_case = function(number, rng, stage)
      stages[number] = stage or "generation"
      return fake.new_case(number, rng)
    end })
  tap.is(table.concat(stages, " "), "generation generation generation best claim", "in order")
end)

tap.case("it starts from a genome, and ends no worse", function()
  local first, scratch = {}, {}
  local run = evolve.run(scheme { start = "FAST", population = 6, generations = 2,
    minimise = false, on_result = function(run, individual)
      if #run.records == 0 and individual.birth ~= "unmodified" then
        first[#first + 1] = individual
      end
      if individual.birth == "scratch" then scratch[#scratch + 1] = individual.genome end
    end })
  tap.is(first[1].birth .. " " .. first[1].genome, "start FAST", "which is the first of all")
  for i = 2, #first do
    tap.has(first[i].genome, "FAST", "the others of the first population begin with it")
  end
  for _, text in ipairs(scratch) do tap.has(text, "FAST", "and those from scratch") end
  tap.ok(run.result.speedup > 1, "the result is faster")
  local worse = evolve.run(scheme { start = "FAST", population = 2, generations = 1,
    minimise = false, init = function() return { "", "OTHER" } end,
    breed = { evolve.newcomers } })
  tap.has(worse.result.best.genome, "FAST", "where nothing better comes, the start is the result")
end)

tap.case("it ends when it is told that it is enough", function()
  local asked = 0
  local run = evolve.run(scheme { enough = function(r)
    asked = asked + 1
    return r.generation == 3
  end })
  tap.is(#run.records, 3, "no generation begins")
  tap.is(asked, 3, "it is asked before each but the first")
  tap.is(run.stopped, nil, "it has come to its end")
  tap.ok(run.result.speedup > 1, "with a winner")
end)

tap.case("the same seed gives the same run, another seed another", function()
  local function trace(seed)
    local lines = {}
    local run = evolve.run(scheme { rng = fake.rng(seed), on_result = function(_, individual)
      lines[#lines + 1] = individual.birth .. " " .. individual.genome
    end })
    return table.concat(lines, "\n"), run
  end
  local first, run = trace(5)
  local again, run_again = trace(5)
  tap.ok(first == again, "every individual")
  tap.is(run.result.best.ticks, run_again.result.best.ticks, "and the result")
  tap.ok(first ~= trace(6), "another seed")
end)

tap.case("generations follow the paper", function()
  local farm, births, first = fake.farm(), {}, {}
  evolve.run(scheme { farm = farm, population = 20, generations = 3,
    on_result = function(run, individual)
      if #run.records == 0 then first[#first + 1] = individual end
      if #run.records == 1 then births[individual.birth] = (births[individual.birth] or 0) + 1 end
    end })
  tap.is(first[1].genome, "", "the unmodified kernel runs first")
  local seen, single = {}, true
  for i = 2, #first do
    single = single and genome.length(first[i].genome) == 1 and not seen[first[i].genome]
    seen[first[i].genome] = true
  end
  tap.ok(single and #first == 21, "then as many different single genes as asked for")
  tap.is(births.unmodified, 1, "and once a generation")
  tap.is((births.mutation or 0) + (births.crossover or 0) + (births.scratch or 0), 20, "children")
  tap.ok(births.mutation >= 8 and births.crossover >= 8, "half by mutation, half by crossover")
  tap.is(farm.cases[2].name, "case 2", "a new case each generation")
end)

tap.case("wrong ones may be parents, and never win", function()
  local wrong, parents = 0, 0
  local run = evolve.run(scheme {
    fitness = function(own) return own.status == "ok" and own.ticks or math.huge end,
    acceptable = function(own) return own.status == "ok" end,
    select = function(population, rng)
      local list = evolve.paper.select(population, rng)
      for _, parent in ipairs(list) do
        parents = parents + 1
        wrong = wrong + (parent.measurement.max_error > 0.001 and 1 or 0)
      end
      return list
    end })
  tap.ok(wrong > parents / 10, ("%d of %d parents are wrong, which pays here"):format(wrong,
    parents))
  local right = true
  for _, record in ipairs(run.records) do
    right = right and (not record.best or record.best.measurement.max_error <= 0.001)
  end
  tap.is(right, true, "the best of every generation is right")
  tap.ok(run.result.speedup > 1 and run.result.best.max_error <= 0.001, "and so is the result")
end)

tap.case("missing children come from scratch", function()
  local births = {}
  evolve.run(scheme { population = 10, generations = 2,
    acceptable = function(own) return own.status == "ok" and own.genome == "FAST" end,
    init = function()
      return { "FAST", "OTHER", "OTHER", "OTHER", "OTHER", "OTHER", "OTHER", "OTHER", "OTHER",
        "OTHER" }
    end,
    on_result = function(run, individual)
      if #run.records == 1 then births[#births + 1] = individual.birth end
    end })
  tap.is(table.concat(births, " ", 1, 4), "unmodified mutation crossover scratch",
    "two children of the only parent, the rest new")
  tap.is(#births, 11, "a whole population")
end)

tap.case("each piece can be replaced", function()
  local called = {}
  local function note(name, f)
    return function(...)
      called[name] = true
      return f(...)
    end
  end
  local s = {}
  for _, name in ipairs { "init", "mutate", "cross", "fitness", "acceptable", "select",
    "minimise" } do
    s[name] = note(name, evolve.paper[name])
  end
  s.breed = { note("breed", evolve.mutants), evolve.crossovers, evolve.newcomers }
  s.draw = note("draw", genome.source(fake.problem()))
  evolve.run(scheme(s))
  for _, name in ipairs { "init", "mutate", "cross", "fitness", "acceptable", "select", "minimise",
    "breed", "draw" } do
    tap.ok(called[name], name .. " is called")
  end
end)

tap.case("observers see the run in order, the scheme's own hooks last", function()
  local events = {}
  local function observer(who)
    return {
      on_start = function() events[#events + 1] = who .. " start" end,
      on_generation = function(_, r) events[#events + 1] = who .. " " .. r.generation end,
      on_end = function() events[#events + 1] = who .. " end" end,
    }
  end
  local s = scheme { generations = 2, observers = { observer "a", observer "b" } }
  s.on_generation = function(_, record) events[#events + 1] = "own " .. record.generation end
  evolve.run(s)
  tap.is(table.concat(events, ", "),
    "a start, b start, a 1, b 1, own 1, a 2, b 2, own 2, a end, b end", "the order")
end)

tap.case("records say what a person asks", function()
  local run = evolve.run(scheme { population = 50, generations = 2 })
  local record = run.records[1]
  tap.ok(record.compiled > 0.9 and record.compiled <= 1, "share that compiles")
  tap.ok(record.right > 0.5 and record.right < record.compiled, "share that is right")
  tap.is(record.mean_length, 1.0, "the first population is of single genes")
  tap.near(record.speedup, record.baseline.ticks / record.best.measurement.ticks, "speed-up")
  tap.is(record.case, "case 1", "the case by name")
  tap.is(run.evaluations, run.scheme.farm.evaluations, "evaluations are counted")
  tap.ok((run.rejected.wrong or 0) > 0, "wrong answers are counted")
  tap.is(#record.genes, evolve.FREQUENT, "the most frequent genes")
  local small = evolve.run(scheme { population = 6, generations = 2 }).records[1].genes
  local held = 0
  for _, one in ipairs(small) do held = held + one.count end
  tap.is(held, 6, "of a small population all, those that one genome alone holds too")
end)

tap.case("an error in a hook keeps its line and what was found", function()
  local ended
  local s = scheme { observers = { { on_end = function(run) ended = run end } } }
  s.on_generation = function(_, record)
    if record.generation == 3 then
      local none = record.nothing
      return none.field
    end
  end
  local fine, why = pcall(evolve.run, s)
  tap.is(fine, false, "the error goes on")
  tap.has(tostring(why), "tests/lua/evolve.lua:" , "the user's line")
  tap.has(tostring(why), "attempt to index a nil value (local 'none')", "what was wrong")
  tap.has(tostring(why), "generation 3: on_generation (tests/lua/evolve.lua:", "when, and which")
  tap.is(tostring(why):find "\n", nil, "in one line")
  tap.is(#ended.records, 3, "observers get the generations so far")
  tap.is(ended.stopped.kind, "error", "and are told")
  tap.ok(ended.result.speedup > 1 and not ended.result.unseen, "with the best so far")
end)

tap.case("the interrupt key keeps what was found", function()
  local ended
  local calls = 0
  local farm = fake.farm(function()
    calls = calls + 1
    if calls == 100 then error("interrupted!") end
  end)
  local fine, why = pcall(evolve.run, scheme { farm = farm,
    on_end = function(run) ended = run end })
  tap.is(fine, false, "the run stops")
  tap.is(tostring(why), "interrupted", "with one word")
  tap.is(ended.stopped.kind, "interrupted", "observers are told")
  tap.is(#ended.records, 3, "whole generations are kept")
end)

tap.case("stopped before anything was found", function()
  local ended
  local farm = fake.farm(function() error("interrupted!") end)
  pcall(evolve.run, scheme { farm = farm, on_end = function(run) ended = run end })
  tap.is(ended.result, nil, "there is no result")
end)

tap.case("an error while keeping results does not hide the first", function()
  local s = scheme { on_generation = function() error("first") end,
    on_end = function() error("second") end }
  local _, why = pcall(evolve.run, s)
  tap.has(tostring(why), "first", "the first")
  tap.has(tostring(why), "while keeping the results", "and the second")
end)

local function refusal(changes)
  local _, why = pcall(evolve.run, scheme(changes))
  return tostring(why)
end

tap.case("what cannot work is refused in one sentence", function()
  tap.is(refusal { farm = { evaluate = function(_, genomes, _, options)
    local list = {}
    for i, g in ipairs(genomes) do
      list[i] = { genome = g, status = "timeout", message = "10 s were not enough" }
      options.on_result(i, list[i], i, #genomes)
    end
    return list
  end, case_info = function() return { name = "the ball" } end } },
    "the unmodified kernel does not run on the ball: timeout: 10 s were not enough", "baseline")
  tap.has(refusal { population = 1000 },
    "a population of 1000 different single genes was asked for, but only", "population")
  tap.has(refusal { farm = { evaluate = function() return nil, "no NVRTC was found" end } },
    "no NVRTC was found", "the farm's own reason")
  tap.has(refusal { breed = {} }, "the breeding steps made no children", "breeding")
  tap.has(refusal { fitness = function() return 0 / 0 end },
    "generation 1: fitness (tests/lua/evolve.lua", "fitness")
end)

tap.case("misuse raises at the caller's line", function()
  tap.raises(function() evolve.run(scheme { poplation = 3 }) end,
    "evolve.lua:", "the file")
  tap.raises(function() evolve.run(scheme { poplation = 3 }) end,
    "gilua.evolve.run: unknown option 'poplation'; did you mean 'population'?", "a key")
  tap.raises(function() evolve.run { problem = fake.problem() } end,
    "gilua.evolve.run: the scheme needs 'farm'", "a missing part")
end)

tap.case("a winner that fails on the unseen case hands over", function()
  local problem = fake.problem()
  local farm = fake.farm()
  local evaluate = farm.evaluate
  function farm:evaluate(genomes, case, options)
    return evaluate(self, genomes, case, { on_result = function(i, m, done, total)
      if case.name == "case 14" and m.genome:find("FAST") then m.max_error, m.off = 1.0, 1.0 end
      options.on_result(i, m, done, total)
    end })
  end
  local run = evolve.run(scheme { problem = problem, farm = farm })
  tap.ok(not run.result.best.genome:find("FAST"), "whatever is wrong there does not win")
  tap.ok(run.result.speedup >= 1, "nor is anything slower said to be best")
end)

tap.case("check = parents: who fails the checked run is no parent and no winner", function()
  local farm = fake.farm()
  local racing = 0
  local run = evolve.run(scheme { farm = farm, check = "parents",
    select = function(population, rng)
      local parents = evolve.paper.select(population, rng)
      for _, p in ipairs(parents) do racing = racing + (p.genome:find("FAST") and 1 or 0) end
      return parents
    end })
  tap.is(racing, 0, "no parent races")
  tap.is(farm.check_mode, "parents", "the farm is told")
  tap.ok(#farm.checked > 0, "would-be parents were checked")
  tap.ok(not run.result.best.genome:find("FAST"), "what races does not win")
  tap.ok((run.rejected.race or 0) > 0, "and is counted")
end)

tap.case("check = winners: only what may be announced is checked", function()
  local farm = fake.farm()
  local run = evolve.run(scheme { farm = farm, check = "winners" })
  tap.ok(#farm.checked <= 12, "few are checked: " .. #farm.checked)
  tap.ok(not run.result.best.genome:find("FAST"), "what races does not win")
  tap.raises(function() evolve.run(scheme { check = "often" }) end, "not 'often'", "misuse")
end)

tap.case("a gain that chance can explain is not announced", function()
  local farm = fake.farm()
  function farm:compare(a, b, case) -- luacheck: ignore self
    local c = fake.farm().compare(self, a, b, case)
    return { status = "ok", ratio = c.ratio, low = 0.99, high = 2, pairs = 40 }
  end
  local run = evolve.run(scheme { farm = farm })
  tap.is(run.result.best.genome, "", "the unmodified kernel is the result")
  tap.is(run.result.speedup, 1, "and no speed-up")
end)

tap.case("a gain counts from the least on, of the winner and of each of its genes", function()
  local small = evolve.run(scheme { least = 0.3 }).result
  tap.ok(1 / fake.BEST_FACTOR > 1.3, "the optimum gains more than the least")
  tap.ok(small.speedup > 1.3, "so that there is a winner: " .. small.speedup)
  tap.ok(genome.length(small.best.genome) < #fake.BEST_GENES, "without genes that gain less")
  local none = evolve.run(scheme { least = 0.8 }).result
  tap.is(none.best.genome, "", "the unmodified kernel is the result where all gain less together")
  tap.is(none.speedup, 1, "and no speed-up")
  local squared = evolve.run(scheme { least = 2, fitness = function(m)
    return m.status == "ok" and m.ticks ^ 2 or math.huge
  end }).result
  tap.is(squared.best.genome, "", "it is a share of the fitness, whatever that asks for")
  local farm = fake.farm()
  function farm:compare() -- luacheck: ignore self
    return { status = "ok", ratio = 1.005, low = 1.004, high = 1.006, pairs = 40 }
  end
  tap.is(evolve.run(scheme { farm = farm, least = 0.01 }).result.best.genome, "",
    "what gains less in turn is no winner")
  tap.is(evolve.run(scheme { farm = farm }).result.speedup, 1.005, "unless less than that counts")
end)

tap.case("what is faster alone and slower in turn is no winner", function()
  local farm = fake.farm()
  function farm:compare() -- luacheck: ignore self
    return { status = "ok", ratio = 0.996, low = 0.995, high = 0.997, pairs = 40 }
  end
  local run = evolve.run(scheme { farm = farm })
  tap.is(run.result.best.genome, "", "the unmodified kernel is the result")
  tap.is(run.result.speedup, 1, "and no speed-up")
  run = evolve.run(scheme { farm = farm, fitness = function(m)
    return m.status == "ok" and -m.ticks or math.huge
  end })
  tap.is(run.result.speedup, 0.996, "one that the fitness wants for something else may be")
end)

tap.case("children know the faster of their parents, so that the farm may stop early", function()
  local farm, least, asked = fake.farm(), math.huge, 0
  local evaluate = farm.evaluate
  function farm:evaluate(genomes, case, options)
    for _, limit in ipairs(options.slow_above) do
      if limit then least, asked = math.min(least, limit), asked + 1 end
    end
    local list = evaluate(self, genomes, case, { on_result = function(i, m, done, total)
      m.ns = m.ticks
      options.on_result(i, m, done, total)
    end })
    return list
  end
  local parents = { { genome = "FAST", measurement = { ns = 900 } },
                    { genome = "OTHER", measurement = { ns = 400 } } }
  for _, step in ipairs { evolve.mutants, evolve.crossovers } do
    local children, most = {}, 0
    local run = { scheme = evolve.paper, rng = fake.rng(1), draw = function() return "X=1" end }
    for _ = 1, 20 do step(run, parents, children) end
    for i, c in ipairs(children) do
      local own = parents[(i - 1) % 2 + 1].measurement.ns
      if c.parent_ns > own then most = math.huge end
      most = math.max(most, c.parent_ns)
    end
    tap.is(most, 900, "the faster of those it has, not the slower")
  end
  evolve.run(scheme { farm = farm })
  tap.ok(asked > 0 and least < math.huge, "limits are given")
  tap.ok(least >= 2 * 0.5 * fake.BEST_FACTOR * 1000 * 0.5, "and are of the right size: " .. least)
end)

tap.case("what a run took is its own", function()
  local farm, under_way = fake.farm(), nil
  evolve.run(scheme { farm = farm, generations = 2 })
  local run = evolve.run(scheme { farm = farm, generations = 2, on_generation = function(run)
    under_way = under_way or evolve.spent(run).runs
  end })
  tap.is(under_way, 31, "in its first generation, the unmodified kernel and its population")
  tap.is(evolve.spent(run).runs, run.evaluations, "not what its farm did for another run before")
  tap.ok(farm:stats().runs > 1.5 * run.evaluations, "which it counts as well")
  farm:evaluate({ "", "FAST" }, fake.new_case(99, fake.rng(1)))
  tap.is(evolve.spent(run).runs, run.evaluations, "nor what it does later")
end)

tap.done()
