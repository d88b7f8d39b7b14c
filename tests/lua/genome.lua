-- genome: text, and the operators of GECCO 2014 §3.3.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fake = require "fake"
local genome = require "gilua.search.genome"
local tap = require "tap"

local SEED = os.time()
tap.note("seed " .. SEED)

-- A generator that answers with the numbers it was given.
local function script(numbers)
  local i = 0
  return { int = function(_, low, high)
    i = i + 1
    assert(numbers[i] >= low and numbers[i] <= high, "the script does not fit")
    return numbers[i]
  end }
end

local function random_genome(rng, most)
  local genes = {}
  for i = 1, rng:int(0, most) do genes[i] = rng:pick(fake.genes) end
  return genome.join(genes)
end

tap.case("text splits into genes and joins again", function()
  tap.is(#genome.split(""), 0, "no gene in the empty genome")
  tap.is(genome.join(genome.split("  <a>  <b>+<c> X=1 ")), "<a> <b>+<c> X=1", "single blanks")
  tap.is(genome.length("<a> <b>+<c> X=1"), 3, "length counts genes")
end)

tap.case("of settings of one name the last counts", function()
  tap.is(genome.last_settings("A=1 <a> FAST A=2 B=1 FAST"), "<a> A=2 B=1 FAST", "where it stands")
end)

tap.case("the first population is distinct single genes", function()
  local problem, rng = fake.problem(), fake.rng(SEED)
  local genomes = assert(genome.initial(40, genome.source(problem), rng))
  local seen, single = {}, true
  for _, g in ipairs(genomes) do
    single = single and genome.length(g) == 1 and not seen[g]
    seen[g] = true
  end
  tap.is(#genomes, 40, "as many as asked for")
  tap.ok(single, "each of one gene, none twice")
end)

tap.case("the whole neighbourhood can be had, and not one more", function()
  local problem, rng = fake.problem(), fake.rng(SEED)
  local n = problem.grammar:gene_count()
  tap.is(#assert(genome.initial(n, genome.source(problem), rng)), n, "all of it")
  local none, why, code = genome.initial(n + 1, genome.source(problem), rng)
  tap.is(none, nil, "more than there are is refused")
  tap.has(why, ("%d different single genes was asked for, but only %d"):format(n + 1, n), "why")
  tap.is(code, "usage", "the code")
end)

tap.case("launch parameters are genes only where the options open them", function()
  local problem, rng = fake.problem(), fake.rng(SEED)
  local grammar = problem.grammar
  problem.grammar = { random_gene = function(_, r)
    return r:unit() < 0.5 and "block_size" or grammar:random_gene(r)
  end }
  local draw, closed = genome.source(problem), true
  for _ = 1, 500 do closed = closed and not draw(rng):find("block_size") end
  tap.ok(closed, "never proposed")
  local open, values = genome.source(problem, { parameters = { "block_size" } }), {}
  for _ = 1, 500 do
    local gene = open(rng)
    if gene:find("block_size") then values[gene] = true end
  end
  tap.ok(values["block_size=32"] and values["block_size=64"] and values["block_size=128"],
    "every value proposed")
  tap.is(values.block_size, nil, "never without a value")
end)

tap.case("options that are not known are refused", function()
  local problem = fake.problem()
  tap.raises(function() genome.source(problem, { parametres = {} }) end,
    "gilua.genome.source: unknown option 'parametres'; did you mean 'parameters'?", "a key")
  tap.raises(function() genome.source(problem, { parameters = { "block_sise" } }) end,
    "no launch parameter 'block_sise'; did you mean 'block_size'?", "a parameter")
end)

tap.case("mutation appends one gene", function()
  local rng, draw = fake.rng(SEED), genome.source(fake.problem())
  local appended = true
  for _ = 1, 200 do
    local parent = random_genome(rng, 10)
    local child = genome.mutate(parent, draw, rng)
    appended = appended and child:sub(1, #parent) == parent
      and genome.length(child) == genome.length(parent) + 1
  end
  tap.ok(appended, "to whatever the parent is")
end)

tap.case("two-point crossover, worked out by hand", function()
  local mother, father = "a b c d e", "v w x y z"
  tap.is(genome.cross(mother, father, script { 1, 3, 2, 4 }), "a x y d e",
    "start and end of the first, middle of the second")
  tap.is(genome.cross(mother, father, script { 3, 1, 4, 2 }), "a x y d e",
    "cut points in any order")
  tap.is(genome.cross(mother, father, script { 2, 2, 0, 5 }), "a b v w x y z c d e",
    "an empty cut inserts")
  tap.is(genome.cross(mother, father, script { 0, 5, 0, 1 }), "v", "all of the first may go")
  tap.is(genome.cross("a b c", "c a d", script { 1, 2, 0, 3 }), "a c d",
    "of duplicates the first stays")
end)

tap.case("empty children are refused, five times", function()
  local empty = { 0, 5, 3, 3 }
  local numbers = {}
  for _ = 1, 4 do table.move(empty, 1, 4, #numbers + 1, numbers) end
  local fifth = table.move({ 0, 4, 3, 3 }, 1, 4, #numbers + 1, { table.unpack(numbers) })
  tap.is(genome.cross("a b c d e", "v w x y z", script(fifth)), "e", "the fifth trial counts")
  table.move(empty, 1, 4, #numbers + 1, numbers)
  tap.is(genome.cross("a b c d e", "v w x y z", script(numbers)), nil, "a sixth is not made")
end)

tap.case("crossover of random parents", function()
  local rng = fake.rng(SEED)
  local known, distinct, filled, ordered = true, true, true, true
  for _ = 1, 2000 do
    local mother, father = random_genome(rng, 8), random_genome(rng, 8)
    local child = genome.cross(mother, father, rng)
    filled = filled and child ~= ""
    local seen = {}
    for i, gene in ipairs(genome.split(child or "")) do
      local at = (" " .. mother .. " " .. father .. " "):find(" " .. gene .. " ", 1, true)
      known, distinct, seen[gene] = known and at, distinct and not seen[gene], i
    end
    -- With one parent as both, nothing but the parent's genes can come out.
    local self = genome.cross(mother, mother, rng) or ""
    ordered = ordered and genome.length(self) <= genome.length(mother)
  end
  tap.ok(known, "every gene is a parent's")
  tap.ok(distinct, "no gene twice")
  tap.ok(filled, "never empty")
  tap.ok(ordered, "crossed with itself a genome does not grow")
end)

tap.case("a population of random configurations", function()
  local init = genome.configurations(fake.problem(), { "block_size" })
  local list = init(12, nil, fake.rng(5))
  tap.is(#list, 12, "3 block sizes x 2 switches on or off: all there are")
  local seen = {}
  for _, text in ipairs(list) do seen[text] = true end
  tap.is(seen["block_size=64 FAST"] and seen["block_size=32 FAST OTHER"] and seen["block_size=128"],
    true, "settings in the order of the parameters")
  local none, why = init(13, nil, fake.rng(5))
  tap.is(none, nil, "there are no more")
  tap.has(why, "only 12", "and it says so")
  tap.raises(function() genome.configurations(fake.problem(), { "blocksize" }) end,
    "did you mean 'block_size'", "an unknown parameter")
end)

tap.done()
