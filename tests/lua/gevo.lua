-- gevo: Algorithm 1 on a landscape with a known optimum.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local epistasis = require "gilua.study.epistasis"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local genome = require "gilua.search.genome"
local gevo = require "gilua.search.gevo"
local interactions = require "gilua.report.interactions"
local pareto = require "gilua.search.pareto"
local tap = require "tap"

local sorted = fake.sorted

local function scheme(options, changes)
  options = options or {}
  options.population = options.population or 24
  local s = gevo.scheme(options)
  s.problem, s.farm, s.rng, s.new_case = fake.problem(), fake.farm(), fake.rng(1), fake.new_case
  s.generations = 5
  for name, value in pairs(changes or {}) do s[name] = value end
  return s
end

tap.case("it finds the optimum, and keeps what brings more than 1 %", function()
  local run = evolve.run(scheme({ population = 60 }, { generations = 10 }))
  tap.is(sorted(run.result.best.genome), sorted(genome.join(fake.BEST_GENES)), "exactly its genes")
  tap.ok(genome.length(run.result.evolved) >= 3, "of those that evolved")
  tap.has(run.result.from, "GEVO, generation", "and it is said who found it")
end)

tap.case("a generation is elites and offspring, and all of them are valid", function()
  local births, odd, first = {}, 0, {}
  local run = evolve.run(scheme({}, { on_generation = function(run)
    for _, x in ipairs(run.population) do
      if not x.acceptable then odd = odd + 1 end
      if run.generation == 1 then first[#first + 1] = genome.length(x.genome) end
      local of = births[run.generation] or {}
      births[run.generation] = of
      of[x.birth] = (of[x.birth] or 0) + 1
    end
  end }))
  tap.is(odd, 0, "none is invalid")
  tap.is(#first, 24, "the first population")
  for _, length in ipairs(first) do
    if length > 3 or length < 1 then tap.is(length, 3, "up to three edits each") end
  end
  tap.is(births[1].mutation, 24, "is made by mutation")
  tap.is(births[2].elite, 6, "a quarter are elites")
  tap.is(#run.population, 30, "beside as many offspring as the population has")
  tap.ok(births[2].crossover >= 8, "most by crossover: " .. births[2].crossover)
  tap.ok(births[2].mutation >= 2, "some by mutation: " .. births[2].mutation)
end)

tap.case("what is tried is counted, and measured once on a case", function()
  local asked, twice, seen = 0, 0, {}
  local run = evolve.run(scheme({}, { on_result = function(run, x)
    asked = asked + 1
    if not run.final then
      twice = twice + (seen[x] == run.case and 1 or 0)
      seen[x] = run.case
    end
  end }))
  local tried, valid = 0, 0
  for _, record in ipairs(run.records) do
    for _, count in pairs(record.accepted) do
      tried, valid = tried + count.tried, valid + count.valid
      tap.ok(count.valid <= count.tried, "valid are some of those tried")
    end
  end
  tap.is(run.records[1].accepted.crossover, nil, "no crossover at first")
  tap.ok(tried > valid and valid >= 3 * 24, ("%d of %d were valid"):format(valid, tried))
  tap.is(asked, run.evaluations, "every evaluation is told")
  tap.is(twice, 0, "nobody is measured again")
end)

tap.case("who came and is no member of the population can be asked after", function()
  local came, tried, lost = {}, 0, 0
  evolve.run(scheme({}, {
    on_result = function(run, x) if not run.final then came[x] = true end end,
    on_generation = function(run)
      for _, list in ipairs { run.population, run.tried, { run.baseline } } do
        for _, x in ipairs(list) do came[x] = nil end
      end
      tried = tried + #run.tried
      for x in pairs(came) do lost = lost + (x.birth == "unmodified" and 0 or 1) end
      came = {}
    end,
  }))
  tap.ok(tried > 24, tried .. " were tried")
  tap.is(lost, 0, "and nobody is lost")
end)

tap.case("nothing is tried in vain with what a new case finds invalid", function()
  local number
  local run = evolve.run(scheme({}, { generations = 4, new_case = function(n, rng)
    number = n
    return fake.new_case(n, rng)
  end, acceptable = function(own)
    local odd = number % 2 == 0 and own.genome:find("FAST", 1, true)
    return own.status == "ok" and own.unset == 0 and own.off == 0 and not odd
  end }))
  for i, record in ipairs(run.records) do
    local count = record.accepted.mutation
    tap.ok(count.tried <= 3 * count.valid + 3, ("generation %d: %d tried, %d valid"):format(i,
      count.tried, count.valid))
  end
end)

tap.case("the same seed gives the same run, another seed another", function()
  local function trace(seed)
    local lines = {}
    evolve.run(scheme({ objectives = { "time", "error" } }, { rng = fake.rng(seed),
      on_result = function(_, x) lines[#lines + 1] = x.birth .. " " .. x.genome end }))
    return table.concat(lines, "\n")
  end
  tap.ok(trace(3) == trace(3), "every individual")
  tap.ok(trace(3) ~= trace(4), "another seed")
end)

tap.case("crossover shuffles the genes of both and cuts once", function()
  local rng, lengths = fake.rng(7), {}
  for _ = 1, 200 do
    local first, second = gevo.cross("A B C", "D E A", rng)
    local all, count = {}, 0
    for _, text in ipairs { first, second } do
      local here = {}
      for _, gene in ipairs(genome.split(text)) do
        if here[gene] then tap.ok(false, "twice in one child: " .. gene) end
        here[gene], all[gene], count = true, true, count + 1
      end
    end
    lengths[genome.length(first)] = true
    for gene in ("ABCDE"):gmatch "." do
      if not all[gene] then tap.ok(false, "lost: " .. gene) end
    end
    if count < 5 or count > 6 then tap.is(count, 6, "as many as there were") end
  end
  tap.ok(lengths[1] and lengths[3] and lengths[5], "cut anywhere")
  tap.is(gevo.cross("A", "", rng), nil, "one gene cannot be cut")
end)

tap.case("two objectives leave a front", function()
  local run = evolve.run(scheme({ objectives = { "time", "error" }, error = 0.6, population = 40 },
    { generations = 6 }))
  local front = run.result.front
  tap.is(table.concat(front.names, " "), "time error", "its objectives")
  tap.is(front.case, "case 9", "on a case of its own")
  local fast, slow = front.points[1], front.points[#front.points]
  tap.has(fast.genome, "<_kernel.cu_6>", "the fast end is wrong")
  tap.is(fast.values[2], 0.5, "by as much as was allowed")
  tap.is(slow.values[2], 1e-6, "the slow end is right")
  for i, a in ipairs(front.points) do
    for j, b in ipairs(front.points) do
      if i ~= j and pareto.dominates(a.values, b.values) then tap.ok(false, a.genome .. " wins") end
    end
  end
  tap.ok(run.result.best.off == 0, "the winner is right")
  local strict = evolve.run(scheme({ objectives = { "time", "error" } })).result.front
  for _, point in ipairs(strict.points) do
    tap.ok(point.values[2] <= 0.01 + 1e-6, "by itself 1 % is the most: " .. point.values[2])
  end
end)

tap.case("an objective may be any function", function()
  local run = evolve.run(scheme { objectives = { "time",
    { name = "genes", value = function(own) return genome.length(own.genome) end } } })
  local points = run.result.front.points
  tap.ok(#points > 1, "a front of time and length")
  tap.is(points[#points].values[2], 0.0, "whose end is the unmodified kernel")
  local ok, why = pcall(evolve.run, scheme { objectives = {
    { name = "odd", value = function() return "much" end } } })
  tap.is(ok, false, "one that gives no number is refused")
  tap.has(tostring(why), "the objective 'odd' gave 'much', not a number", "by its name")
  tap.has(select(2, pcall(gevo.scheme, { objectives = { "tiem" } })),
    "no objective is called 'tiem'; did you mean 'time'", "an unknown name")
  tap.has(select(2, pcall(gevo.scheme, { objectives = {} })), "at least one objective", "none")
end)

tap.case("what genes do alone, in pairs, and what is missed without each", function()
  local text = genome.join { "FAST", "<_kernel.cu_5>", "<_kernel.cu_6>", "<_kernel.cu_9>" }
  local e = epistasis.of { farm = fake.farm(), genome = text, case = { ticks = 100000 } }
  tap.near(math.exp(e.alone[1].effect), 0.85, "alone", 1e-4)
  tap.near(e.pairs[1][2].interaction, 0, "two that know nothing of each other", 1e-4)
  tap.is(e.pairs[1][2].kind .. " " .. e.pairs[1][3].kind, "add wrong", "in a word")
  tap.is(e.alone[3].right, false, "one is wrong alone")
  tap.is(e.all.right, false, "and so are all")
  local few = epistasis.of { farm = fake.farm(), genome = text, case = { ticks = 100000 },
    most = 2 }
  tap.is(#few.genes .. " " .. few.left_out, "2 2", "of many the first ones")
  -- ticks by number of genes: a farm in which any two of three help each other, or clash
  local function odd(of_two, right)
    return { evaluate = function(_, genomes)
      local list = {}
      for i, g in ipairs(genomes) do
        local n = genome.length(g)
        list[i] = { status = "ok", unset = 0, off = right(n) and 0 or 1,
          ticks = n == 2 and of_two or n == 0 and 100 or 90 }
      end
      return list
    end }
  end
  local function kinds(of_two, right)
    local found = epistasis.of { farm = odd(of_two, right), genome = "A B", case = {} }
    return found.pairs[1][2].kind
  end
  local function always() return true end
  tap.is(kinds(70, always), "help", "better than both together promise")
  tap.is(kinds(88, always), "hinder", "worse")
  tap.is(kinds(70, function(n) return n ~= 1 end), "need", "right together only")
  tap.is(kinds(70, function(n) return n ~= 2 end), "clash", "wrong together")
  local page = interactions.section { interactions = few, winner = { genes = {
    { gene = "FAST", text = "the `fast` way" } } } }
  tap.ok(page:find "1 and 2: add up, [+-]0.0 %%", "each pair says what it is")
  tap.has(page, "the <code>fast</code> way", "each gene in words")
  tap.is(select(2, page:gsub("<rect ", "")), 3, "a square a gene and a pair")
  tap.is(interactions.section {}, "", "nothing where there is nothing")
end)

tap.case("what races is not valid", function()
  local farm = fake.farm()
  local run = evolve.run(scheme({}, { farm = farm, check = "parents" }))
  tap.ok(not run.result.best.genome:find(fake.RACES, 1, true), "it does not win")
  for _, x in ipairs(run.population) do
    if x.genome:find(fake.RACES, 1, true) and x.acceptable then tap.ok(false, x.genome) end
  end
  tap.ok(#farm.checked > 0, "it was looked for")
end)

tap.done()
