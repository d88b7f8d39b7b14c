-- sweep: each single step from the best once, and on from a better one.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local gi = require "gilua"
local steady = require "gilua.search.steady"
local sweep = require "gilua.search.sweep"
local tap = require "tap"

local problem = gi.problem "kernels/heat"
local genes = gi.own.genes(problem)

local function all(steps, best)
  local list = {}
  for text in function() return steps:next(best) end do list[#list + 1] = text end
  return list
end

tap.case("a step", function()
  tap.is(sweep.made("a=1 b", "a=2"), "b a=2", "a value makes room for another")
  tap.is(sweep.made("a=1 b", "a=1"), "b", "the same one goes")
  tap.is(sweep.made("a=1 b", "b"), "a=1", "so does a switch")
  tap.is(sweep.made("T:unroll<7>(2) T:unroll<9>(2)", "T:unroll<7>(4)"),
    "T:unroll<9>(2) T:unroll<7>(4)", "and a transformation of its kind at its line")
  tap.is(sweep.made("<launchbounds_k.cu_7><launchbounds_K4> <launchbounds_k.cu_8><launchbounds_K4>",
    "<launchbounds_k.cu_7><launchbounds_K0>"),
    "<launchbounds_k.cu_8><launchbounds_K4> <launchbounds_k.cu_7><launchbounds_K0>",
    "and what the compiler is told at its line")
  tap.is(sweep.made("<_k.cu_7> a=1", "T:pad<7>(s)"), "<_k.cu_7> a=1 T:pad<7>(s)",
    "lines stay")
  tap.is(sweep.made("", "b"), "b", "from nothing")
end)

tap.case("all steps", function()
  local first = all(sweep.new(problem, genes, gi.rng(3)), "")
  local again = all(sweep.new(problem, genes, gi.rng(3)), "")
  local other = all(sweep.new(problem, genes, gi.rng(4)), "")
  tap.is(table.concat(first, ";"), table.concat(again, ";"), "the same seed, the same order")
  tap.ok(table.concat(first, ";") ~= table.concat(other, ";"), "another one, another order")
  table.sort(first)
  table.sort(other)
  tap.is(table.concat(first, ";"), table.concat(other, ";"), "and the same steps")
  local seen, expected = {}, 0
  for _, text in ipairs(first) do
    tap.is(seen[text], nil, text .. " once")
    seen[text] = true
  end
  for _, p in ipairs(problem.parameters) do
    expected = expected + (p.switch and 1 or #p.values - 1)
  end
  for _, kind in ipairs(problem.grammar:transformations()) do expected = expected + #kind.places end
  for _, rule in ipairs(problem.grammar:rules()) do
    expected = expected + (({ optrestrict = 1, launchbounds = 2 })[rule.type] or 0)
  end
  local alone = 0
  for _, text in ipairs(first) do alone = alone + (text:find " " and 0 or 1) end
  tap.is(alone, expected, "each other value, switch and place, and what the compiler may be told")
  local none = { parameters = {}, transform_share = 0 }
  local lines_only = all(sweep.new(problem, none, gi.rng(3)), "")
  for _, text in ipairs(lines_only) do tap.ok(not text:find "[:=]", "no number: " .. text) end
end)

tap.case("more by each block, and a number that is as many times less", function()
  local function with(best, gene)
    local list = {}
    for _, text in ipairs(all(sweep.new(problem, genes, gi.rng(3)), best)) do
      if text:find(gene, 1, true) and text:find("block_[xy]=") then list[#list + 1] = text end
    end
    table.sort(list)
    return table.concat(list, "; ")
  end
  for _, p in ipairs { problem.parameters[1], problem.parameters[2] } do
    tap.is(table.concat(p.values, " "), "8 16 32", p.name)
  end
  tap.is(with("", "T:merge<46>(x,2)"), "T:merge<46>(x,2) block_x=16", "half of 32; 8 is the least")
  tap.is(with("block_y=32", "T:merge<46>(x,4)"), "T:merge<46>(x,4) block_y=8; "
    .. "block_y=32 T:merge<46>(x,4); block_y=32 T:merge<46>(x,4) block_x=8", "a quarter")
  tap.is(with("block_x=16 block_y=32", "T:merge<46>(x,8)"),
    "block_x=16 T:merge<46>(x,8) block_y=8; block_x=16 block_y=32 T:merge<46>(x,8); "
    .. "block_y=32 T:merge<46>(x,8) block_x=8", "or what is nearest to an eighth")
  tap.is(with("block_x=8 block_y=8", "T:merge<46>(x,2)"), "block_x=8 block_y=8 T:merge<46>(x,2)",
    "nothing is less than the least")
end)

tap.case("more by each block, and as many times less by what does more already", function()
  local function with(best, gene)
    local list = {}
    for _, text in ipairs(all(sweep.new(problem, genes, gi.rng(3)), best)) do
      if text:find(gene, 1, true) and not text:find("block_[xy]=") and text:find "%(y" then
        list[#list + 1] = text
      end
    end
    table.sort(list)
    return table.concat(list, "; ")
  end
  tap.is(with("T:merge_threads<46>(y,8,next)", "T:merge<46>(x,4)"),
    "T:merge_threads<46>(y,2,next) T:merge<46>(x,4); "
    .. "T:merge_threads<46>(y,8,next) T:merge<46>(x,4)", "a quarter of eight")
  tap.is(with("T:merge_threads<46>(y,4,next)", "T:merge<46>(x,4)"),
    "T:merge_threads<46>(y,4,next) T:merge<46>(x,4)", "a quarter of four is none")
end)

tap.case("from a better one", function()
  local plain = { parameters = genes.parameters, transform_share = 0 }
  local steps = sweep.new(problem, plain, gi.rng(3))
  local n, as_it_is = #steps.steps, 0
  for _, step in ipairs(steps.steps) do as_it_is = as_it_is + (step.default and 1 or 0) end
  tap.is(as_it_is, 2, "block_x and block_y are something without a step")
  local first = steps:next ""
  while first:find "=" do first = steps:next "" end
  steps.at = 1
  tap.is(steps:next(first), sweep.made(first, steps.steps[2].gene), "it goes on where it was")
  tap.is(#all(steps, first), n - 1 - as_it_is, "until each has been tried from there")
  tap.is(steps:next(first), nil, "none is left")
  tap.ok(steps:next "", "but from another")
end)

-- In which of 8 rounds, from another best each, a step is tried that comes to so much.
local function rounds_of(speedup)
  local plain = { parameters = genes.parameters, transform_share = 0 }
  local steps = sweep.new(problem, plain, gi.rng(3))
  local rounds, wanted = {}, nil
  for round = 1, 8 do
    for _, step in function() return steps:next("round" .. round) end do
      wanted = wanted or step
      if step == wanted then rounds[#rounds + 1] = round end
      steps:came(step, step == wanted and speedup(round) or 1.01)
    end
  end
  return table.concat(rounds, " ")
end

tap.case("a step that made a much slower one", function()
  tap.is(rounds_of(function(round) return round < 7 and 0.69 or 0.71 end), "1 3 7 8",
    "is tried less and less often, until it does not")
  tap.is(rounds_of(function() return 1 end), "1 3 7", "so is one that makes the same code")
  tap.is(rounds_of(function() return 0.99 end), "1 2 3 4 5 6 7 8", "not so a little slower")
end)

-- Whether a step of these is tried once more from another best, in the round behind the one in
-- which it was wrong from the first: "yes" or "no".
local function is_tried(first, other, is_wanted, is_unlaunched)
  local steps = sweep.new(problem, genes, gi.rng(3))
  local wanted
  for text, step in function() return steps:next(first) end do
    if not wanted and is_wanted(step, text) then wanted = step end
    steps:came(step, step == wanted and 0 or 1.01, first, step == wanted and is_unlaunched)
  end
  assert(wanted, "no such step from " .. first)
  steps.given = steps.given + 1000 -- nothing is recent
  for _, step in function() return steps:next(other) end do
    if step == wanted then return "yes" end
    steps:came(step, 1.01, other)
  end
  return "no"
end

tap.case("a step that was wrong, where a number is another one by now", function()
  local function goes_down(step)
    return step.parameter and step.parameter.name == "block_x" and not step.fewer
  end
  tap.is(is_tried("block_x=32 a", "block_x=32 b", goes_down), "no", "what goes down is not")
  tap.is(is_tried("block_x=32 a", "block_x=16 a", goes_down), "yes", "it is")
  tap.is(is_tried("block_x=32 block_y=8", "block_x=32 block_y=16", goes_down), "no",
    "others do not count")
  local function is_merge(step) return step.gene:find "^T:merge<" and not step.parameter end
  tap.is(is_tried("block_x=32", "block_x=16", is_merge), "no", "nor where none goes down with it")
  tap.is(is_tried("block_x=32", "block_x=16", is_merge, true), "yes",
    "unless it could not be launched with those")
  tap.is(is_tried("block_x=32 a", "block_x=32 b", is_merge, true), "no", "and they are others")
end)

tap.case("a long list of numbers", function()
  local values = {}
  for i = 1, 40 do values[i] = 41 - i end
  local p = { name = "rows", values = values, default = 5 }
  local function of(parameter)
    local list = {}
    local owner = { parameters = { parameter }, grammar = problem.grammar }
    for _, step in ipairs(sweep.new(owner, { parameters = { "rows" }, transform_share = 0 },
      gi.rng(3)).steps) do
      list[#list + 1] = tonumber(step.gene:match "^rows=(%d+)$")
    end
    table.sort(list)
    return table.concat(list, " ")
  end
  tap.is(of(p), "1 2 4 5 8 16 32", "is tried by twice as much, and as it is unless told")
  p.values = { 9, 8, 7, 6, 5 }
  tap.is(of(p), "5 6 7 8 9", "a short one as it is")
  for i = 1, 40 do values[i] = i - 3 end
  p.values, p.default = values, -2
  tap.is(of(p), "0 1 2 4 8 16 32", "from those above nothing on") -- the pattern takes no sign
end)

tap.case("in a second round", function()
  local plain = { parameters = genes.parameters, transform_share = 0 }
  local steps = sweep.new(problem, plain, gi.rng(3))
  local speedups, turns = {}, {}
  for _, step in function() return steps:next "first" end do
    speedups[step] = 0.71 + (#turns * 7 % 11) / 100
    turns[#turns + 1] = step
    steps:came(step, speedups[step])
  end
  local last, n, is_sorted = 2, 0, true
  for _, step in function() return steps:next "second" end do
    n = n + 1
    is_sorted = is_sorted and speedups[step] <= last
    last = speedups[step]
    steps:came(step, 1.01)
  end
  tap.ok(n > 3 and is_sorted, ("those that came nearer have the first turns (%d of %d)"):format(n,
    #turns))
end)

tap.case("numbers next to those that a better one sets", function()
  local p
  for _, parameter in ipairs(problem.parameters) do
    if not parameter.switch and #parameter.values >= 3 and tonumber(parameter.values[2]) then
      p = p or parameter
    end
  end
  local function set(i) return ("%s=%s"):format(p.name, p.values[i]) end
  local steps = sweep.new(problem, genes, gi.rng(3))
  tap.is(steps:next(set(2) .. " x"), set(1) .. " x", "the one before")
  tap.is(steps:next(set(2) .. " x"), set(3) .. " x", "and the one behind")
  tap.is(steps.at, 0, "before the first in turn")
  local first
  for _, step in ipairs(steps.steps) do first = first or not step.fewer and step.gene end
  tap.has(steps:next(set(2) .. " x"), first, "which is the next")
  tap.is(steps:next(set(1)), set(2), "of the first value one")
  local text = steps:next(set(2) .. " y")
  tap.ok(text ~= set(1) .. " y" and text ~= set(3) .. " y", "none that was tried lately")
  steps = sweep.new(problem, genes, gi.rng(3))
  local function again(speedup)
    local new = sweep.new(problem, genes, gi.rng(3))
    new:came(select(2, new:next(set(1))), speedup)
    new.given = new.given + 40
    return new:next(set(1) .. " x")
  end
  tap.is(again(0.1), set(2) .. " x", "after a while again, be it slow")
  tap.ok(again(0) ~= set(2) .. " x", "unless it was wrong")
  local places = problem.grammar:transformations()[1].places
  tap.is(steps:next(places[2].gene), places[1].gene, "so of a transformation's")
  tap.is(steps:next(places[2].gene), places[3].gene, "and behind it")
end)

tap.case("the last generations of steady", function()
  local fields = steady.scheme { population = 12, living = 3, sweep = 0.25 }
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1, wrong = "small" })
  local before = nil
  local run = gi.evolve.run {
    problem = problem, farm = farm, rng = gi.rng(1), generations = 4, population = 12,
    fitness = gi.fitness.within(problem.tolerance), init = gi.own.first, genes = genes,
    new_case = function(number) return gi.own.case(problem, number, "emu") end,
    select = fields.select, breed = fields.breed, vary = fields.vary,
    on_generation = function(run, record)
      if record.generation == 3 then before = run.steps end
    end,
  }
  tap.is(before, nil, "in the others none")
  tap.ok(run.steps.at >= 3, "are steps in turn: " .. run.steps.at)
  local told = 0
  for _, step in ipairs(run.steps.steps) do told = told + (step.bad and 1 or 0) end
  tap.ok(told > 0, "it is told what became of them: " .. told)
  tap.is(steady.options_of(fields.vary).sweep, 0.25, "as the archive says")
  tap.is(steady.options_of(steady.scheme({}).vary).sweep, nil, "and says only then")
end)

tap.done()
