-- bandit: kinds of gene that pay are drawn more often, and a first population gives all their turn.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local bandit = require "gilua.search.bandit"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local genome = require "gilua.search.genome"
local gi = require "gilua"
local tap = require "tap"

-- Arms that draw one gene each.
local function fixed(genes)
  local arms = {}
  for i, gene in ipairs(genes) do
    arms[i] = { name = "arm " .. gene, tries = 0, earned = {}, draw = function() return gene end }
  end
  return arms
end

local function names(arms)
  local list = {}
  for i, arm in ipairs(arms) do list[i] = arm.name end
  return table.concat(list, ", ")
end

local function arm_called(b, name)
  for i, arm in ipairs(b.arms) do
    if arm.name == name then return arm, i end
  end
end

tap.case("a problem's kinds: ways of lines, rule types, parameters, switches, transformations",
  function()
    local problem = gi.problem "kernels/histogram"
    local arms = bandit.arms(problem, gi.own.genes(problem))
    local text = names(arms)
    for _, name in ipairs { "statement: delete", "statement: copy", "statement: replace", "if",
        "parameter block_size", "parameter copies", "switch", "T:split_accumulator" } do
      tap.has(", " .. text .. ",", ", " .. name .. ",", name)
    end
    local rng, wrong = gi.rng(3), 0
    for _, arm in ipairs(arms) do
      for _ = 1, 20 do
        local gene = arm.draw(rng)
        local is_copy = gene and gene:find(">+<", 1, true) ~= nil
        if not gene then
          wrong = wrong + 1
        elseif arm.name:find "^T:" and gene:sub(1, #arm.name + 1) ~= arm.name .. "<" then
          wrong = wrong + 1
        elseif arm.name:find "^statement" and is_copy ~= (arm.name == "statement: copy") then
          wrong = wrong + 1
        elseif arm.name:find "^parameter" and "parameter " .. genome.name_set(gene) ~= arm.name then
          wrong = wrong + 1
        end
      end
    end
    tap.is(wrong, 0, "each draws genes of its own")
    local none = names(bandit.arms(problem, gi.own.genes(problem, 0)))
    tap.is(none:find("T:", 1, true), nil, "no transformations where none are asked for")
  end)

tap.case("chances follow what was earned, and none is given up", function()
  local arms = fixed { "A", "B", "C" }
  local o = { explore = 0.3, prior = 0.02 }
  for _, p in ipairs(bandit.chances(arms, o)) do tap.near(p, 1 / 3, "even at first", 1e-12) end
  arms[1].earned, arms[2].earned = { 0.5, 0.3 }, { 0, 0, 0, 0 }
  local p = bandit.chances(arms, o)
  tap.near(p[1] + p[2] + p[3], 1, "they add up to 1", 1e-12)
  tap.ok(p[1] > 0.7, "who earned is drawn most")
  tap.ok(p[3] > p[2], "who was not tried before who earned nothing")
  tap.ok(p[2] >= 0.1, "who earned nothing is not given up")
end)

tap.case("what eases what binds is thought to earn more until it is known", function()
  local arms = fixed { "A", "B" }
  local o = { explore = 0, prior = 0.02, boost = 3 }
  arms[1].eases = "issue memory"
  tap.near(bandit.chances(arms, o, "memory")[1], 3 / 4, "three times the other's", 1e-12)
  tap.near(bandit.chances(arms, o, "latency")[1], 1 / 2, "not where something else binds", 1e-12)
  tap.near(bandit.chances(arms, o)[1], 1 / 2, "nor where nobody knows", 1e-12)
  arms[1].earned, arms[2].earned = { 0, 0, 0, 0, 0 }, { 0.3 }
  tap.ok(bandit.chances(arms, o, "memory")[1] < 0.1, "what was earned counts for more")
  local m = { status = "ok", ticks = 9000, part_issue = 5e3, part_latency = 8e3, part_memory = 0,
    registers = 9, wrong = 0 }
  local problem = gi.problem "kernels/histogram"
  local b = bandit.new(problem, gi.own.genes(problem))
  b.on_generation({ population = {}, scheme = { start = "" } }, { baseline = m })
  tap.is(b.binds, "latency", "as the virtual GPU says of the best so far")
  tap.is(arm_called(b, "parameter block_size").eases, "latency", "a parameter may fill the GPU")
  tap.has(arm_called(b, "T:split_accumulator").eases, "latency", "sums in parts wait less")
end)

tap.case("what a generation has told counts from the next gene on", function()
  local b = bandit.new(gi.problem "kernels/histogram", { parameters = { "block_size" } })
  local arm, rng = arm_called(b, "parameter block_size"), gi.rng(1)
  local function share()
    local n = 0
    for _ = 1, 200 do n = n + (b.arm_of[b.draw(rng)] == arm and 1 or 0) end
    return n / 200
  end
  local before = share()
  arm.earned = { 5, 5, 5 }
  b.on_generation({ population = {}, scheme = { start = "" } }, { baseline = { ticks = 1 } })
  local after = share()
  tap.ok(before < 0.4 and after > 0.6, ("%.2f before, then %.2f"):format(before, after))
end)

tap.case("the arms take turns in the first population", function()
  local problem = gi.problem "kernels/histogram"
  local b = bandit.new(problem, gi.own.genes(problem))
  local list = b.init(60, nil, gi.rng(1))
  local seen, turns = {}, {}
  for _, text in ipairs(list) do
    seen[text] = (seen[text] or 0) + 1
    local arm = b.arm_of[text]
    if arm then turns[arm.name] = (turns[arm.name] or 0) + 1 end
  end
  tap.is(#list, 60, "as many as were asked for")
  for text, n in pairs(seen) do if n > 1 then tap.ok(false, text .. " is there twice") end end
  for _, arm in ipairs(b.arms) do tap.ok((turns[arm.name] or 0) >= 1, arm.name .. " had a turn") end
  tap.ok(turns.switch >= 3, "switches as often as transformations of one kind")
end)

local function learnt(seed)
  local problem = fake.problem()
  local b = bandit.new(problem, { parameters = { "block_size" } })
  local worths = {} -- of each kind the most that it was ever thought to earn
  local run = evolve.run { problem = problem, farm = fake.farm(), rng = fake.rng(seed),
    new_case = fake.new_case, population = 30, generations = 8, init = b.init, draw = b.draw,
    observers = { b }, on_generation = function()
      for _, arm in ipairs(b.arms) do
        worths[arm.name] = math.max(worths[arm.name] or 0, bandit.worth(arm, 0.02))
      end
    end }
  return b, run, worths
end

tap.case("evolution learns which pay", function()
  local b, run, worths = learnt(1)
  tap.is(fake.sorted(run.result.best.genome), fake.sorted(genome.join(fake.BEST_GENES)),
    "it finds the optimum")
  local copies = arm_called(b, "statement: copy")
  local better = arm_called(b, "if")
  tap.ok(copies.tries > 5 and better.tries > 5, "each was tried")
  local earned = 0
  for _, arm in ipairs(b.arms) do
    if arm.name == "statement: copy" then
      for _, reward in ipairs(arm.earned) do earned = earned + reward end
    end
  end
  tap.is(earned, 0, "copies of lines cost time here, and earn nothing")
  tap.ok(worths["if"] > 0.02, "conditions copied make it faster, and earn")
  tap.ok(better.tries > 0 and copies.tries + better.tries < run.evaluations,
    "only what a mutation brought is counted")
end)

tap.case("the same seed has the same history", function()
  local function trace(seed)
    local b, run = learnt(seed)
    local lines = { run.result.best.genome }
    for _, arm in ipairs(b.arms) do
      lines[#lines + 1] = ("%s %d %.6f"):format(arm.name, arm.tries, bandit.worth(arm, 0.02))
    end
    return table.concat(lines, "\n")
  end
  tap.is(trace(4), trace(4), "to what each arm earned")
  tap.ok(trace(4) ~= trace(5), "and another seed another")
end)

tap.case("kinds of one's own, and what is wrong", function()
  local problem = fake.problem()
  local b = bandit.new(problem, {}, { arms = { { name = "mine", draw = function()
    return "OTHER"
  end } } })
  tap.ok(arm_called(b, "mine"), "another arm is added")
  tap.raises(function() bandit.new(problem, {}, { windov = 3 }) end, "window",
    "an unknown option is refused with the nearest")
end)

tap.done()
