-- Is evolution better than chance, and are genes below the source worth having? Random search,
-- evolution of the source alone, and of source and PTX together, with the same number of
-- evaluations, on recordings of whole programs.
--
-- GEVO (Liou, Wang, Forrest, Wu, TACO 2020) has no such comparison; Arcuri and Briand ("A
-- practical guide for using statistical tests to assess randomized algorithms in software
-- engineering", ICSE 2011) say what one is: seeds, Mann and Whitney's p, Vargha and Delaney's A.
--
--   kernels/workloads/make -s problem nw lud bfs
--   gilua experiments/search_comparison.lua
--
-- Random search draws genomes of one to four genes of source and PTX, half each, and keeps the
-- best. Evolution is steady (docs/howto/search.md) with a bandit over the kinds of genes. Each
-- ends with the same minimising. What counts is the time on the recording that nobody has seen, of
-- a winner that is right on all recordings and free of races there; any other counts as the
-- program as it is.

local gi = require "gilua"
local textfile = gi.textfile

local o = gi.cli {
  doc = "Random search, source alone, and source with PTX: the same number of evaluations.",
  { name = "problems", default = "out/workloads", doc = "folder of NAME/problem" },
  { name = "only", default = "nw,lud,bfs", doc = "names, with commas between" },
  { name = "evaluations", default = 160, min = 20, doc = "of each search" },
  { name = "population", default = 40, min = 4, doc = "evaluations of a generation" },
  { name = "seeds", default = 5, min = 2, doc = "searches of each kind" },
  { name = "json", type = "string", doc = "a file for all of it" },
}

local KINDS = { "random", "source", "all" }

local function draw_all(problem, farm)
  return gi.genome.either(gi.genome.source(problem, gi.own.genes(problem)),
    gi.genome.ptx_source(gi.below.open(problem, farm)))
end

-- The fields of a scheme, by kind: where genes come from, and who survives.
local fields_of = {}

function fields_of.random(problem, farm)
  return { population = o.evaluations, generations = 1, draw = draw_all(problem, farm),
    init = function(n, draw, rng)
      local genomes = {}
      for i = 1, n do
        local genes = {}
        for k = 1, rng:int(4) do genes[k] = draw(rng) end
        genomes[i] = gi.genome.last_settings(gi.genome.join(genes))
      end
      return genomes
    end }
end

local function by_bandit(problem, genes, arms)
  local bandit = gi.bandit.new(problem, genes, { arms = arms })
  return { init = bandit.init, draw = bandit.draw, observers = { bandit } }
end

function fields_of.source(problem)
  return by_bandit(problem, gi.own.genes(problem))
end

function fields_of.all(problem, farm)
  local draw = gi.genome.ptx_source(gi.below.open(problem, farm))
  return by_bandit(problem, gi.own.genes(problem), { { name = "ptx", draw = draw } })
end

-- One search: its winner, and how many evaluations that took.
local function searched(problem, farm, kind, seed)
  local s = gi.steady.scheme { population = o.population, living = math.max(4, o.population // 4) }
  local evaluations = 0
  s.problem, s.farm, s.rng = problem, farm, gi.rng(seed)
  s.fitness, s.generations = gi.fitness.within(problem.tolerance), 1000
  s.new_case = function() return gi.own.case(problem, 1) end
  s.enough = function() return evaluations >= o.evaluations end
  for name, value in pairs(fields_of[kind](problem, farm)) do s[name] = value end
  s.observers = s.observers or {}
  table.insert(s.observers, { on_result = function(run)
    evaluations = evaluations + (run.final and 0 or 1)
  end })
  return gi.evolve.run(s).result.best.genome, evaluations
end

-- How many times as fast on the unseen recording; 1 where the winner is none, and why.
local function judged(problem, farm, genome)
  if genome == "" then return 1, "nothing found" end
  local recorded, cases = problem.definition.recorded, {}
  for _, use in ipairs { "train", "validate", "unseen" } do
    table.move(recorded:specs(use), 1, #recorded:specs(use), #cases + 1, cases)
  end
  local rows = gi.validate.run { problem = problem, farm = farm, cases = cases, genome = genome,
    pairs = 2 }.rows
  for _, row in ipairs(rows) do
    if not row.right then return 1, ("%s: %s"):format(row.case, row.status) end
  end
  local verdicts = farm:examine(genome, { cases[#cases] })
  local own = verdicts and verdicts[1].verdicts and verdicts[1].verdicts[2]
  if not own or own.status ~= "ok" then return 1, own and own.status or "not checked" end
  return rows[#rows].ratio
end

local function say(...)
  print((...):format(select(2, ...)))
  io.stdout:flush()
end

-- All searches of a program: { random = { ratio … }, … }.
local function all_of(name)
  local problem = gi.problem(("%s/%s/problem"):format(o.problems, name))
  local ratios = {}
  for _, kind in ipairs(KINDS) do
    ratios[kind] = {}
    for seed = 1, o.seeds do
      local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, wrong = "small" })
      local genome, evaluations = searched(problem, farm, kind, seed)
      local ratio, why = judged(problem, farm, genome)
      ratios[kind][seed] = ratio
      say("%-14s %-7s seed %d  %.3fx  %d evaluations  %s", name, kind, seed, ratio, evaluations,
        why and ("COUNTS AS NONE (%s)  %s"):format(why, genome) or genome)
    end
  end
  return ratios
end

-- Logarithms over the program's median, so that programs may be taken together.
local function together(programs, kind)
  local list = {}
  for _, ratios in ipairs(programs) do
    local all = {}
    for _, k in ipairs(KINDS) do table.move(ratios[k], 1, o.seeds, #all + 1, all) end
    local middle = gi.stats.median(all)
    for _, r in ipairs(ratios[kind]) do list[#list + 1] = math.log(r / middle) end
  end
  return list
end

local function compared(name, values)
  local words = {}
  for _, other in ipairs { "random", "source" } do
    local t = gi.stats.mann_whitney(values.all, values[other])
    words[#words + 1] = ("%.3f | %.2f"):format(t.p, t.a12)
  end
  say("| %s | %s |", name, table.concat(words, " | "))
end

local names, programs = {}, {}
for name in o.only:gmatch "[^,%s]+" do
  names[#names + 1] = name
  programs[#programs + 1] = all_of(name)
end

say("\n| program | %s |", table.concat(KINDS, " | "))
say("| --- | --- | --- | --- |")
for i, name in ipairs(names) do
  local cells = {}
  for k, kind in ipairs(KINDS) do
    local list = programs[i][kind]
    cells[k] = ("%.3f (%.3f to %.3f)"):format(gi.stats.median(list),
      math.min(table.unpack(list)), math.max(table.unpack(list)))
  end
  say("| `%s` | %s |", name, table.concat(cells, " | "))
end
say("\n| all against | random: p | A | source: p | A |")
say("| --- | --- | --- | --- | --- |")
for i, name in ipairs(names) do compared(("`%s`"):format(name), programs[i]) end
local pooled = {}
for _, kind in ipairs(KINDS) do pooled[kind] = together(programs, kind) end
compared("together", pooled)

if o.json then
  textfile.write(o.json, gi.json.encode { options = { evaluations = o.evaluations,
    seeds = o.seeds }, names = names, programs = programs })
end
