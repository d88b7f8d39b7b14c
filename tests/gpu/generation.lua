-- generation: the wall time of one generation, from genomes to measurements, and where it goes.
--
--   gilua [--device cuda] tests/gpu/generation.lua [--population 300] [--side N] [--repeats 3]
--
-- The mutants are those of a young evolution: one to eight random genes each, all sources distinct,
-- none seen before. The farm is warm (its workers run, one generation has passed), as it is from
-- the second generation on; every repeat has a new case and new mutants.

local gi = require "gilua"
local core = require "gilua.core"

local options = gi.cli {
  doc = "Times generations of distinct mutants.",
  { name = "population", default = 300, min = 1, doc = "mutants in a generation" },
  { name = "repeats", default = 3, min = 1, doc = "generations" },
  { name = "side", type = "integer", min = 20, doc = "a ball of this side instead of the brain" },
  { name = "check", default = "every", doc = "every, parents or winners" },
  { name = "batch", default = 10, min = 1, doc = "most mutants in one compilation" },
}

local problem = gi.problem "kernels/niftyreg"
local rng = gi.rng(options.seed)
local seen = {}

--- A genome whose source is new.
local function fresh()
  while true do
    local genes = {}
    for i = 1, rng:int(8) do genes[i] = problem.grammar:random_gene(rng) end
    local text = table.concat(genes, " ")
    local source = problem.grammar:apply(text)
    if source and not seen[source] then
      seen[source] = true
      return text
    end
  end
end

local brain = gi.samples.path "brain"
local function case(seed)
  if brain and not options.side then return { image = brain, seed = seed } end
  return { side = options.side or 217, seed = seed }
end

local function copy(t)
  local c = {}
  for k, v in pairs(t) do c[k] = type(v) == "table" and copy(v) or v end
  return c
end

local farm = gi.farm(problem, {
  device = options.device, jobs = options.jobs, check = options.check,
  batch = options.batch,
})
print(("device %s, %d host workers, population %d"):format(farm.devices[1].name, farm.jobs,
  options.population))
local warm = {}
for i = 1, 2 * farm.jobs do warm[i] = fresh() end
farm:evaluate(warm, case(1))

local walls = {}
for n = 1, options.repeats do
  local genomes = {}
  for i = 1, options.population do genomes[i] = fresh() end
  local before, start = copy(farm:stats()), core.system.seconds()
  local results = farm:evaluate(genomes, case(n + 1))
  local wall = core.system.seconds() - start
  walls[n] = wall
  local after = farm:stats()
  local stages = {}
  for stage, s in pairs(after.seconds) do
    stages[#stages + 1] = ("%s %.2f"):format(stage, s - (before.seconds[stage] or 0))
  end
  table.sort(stages)
  local right = gi.stats.count(results, function(m)
    return gi.fitness.right(m)
  end)
  local d, b = after.duplicates, before.duplicates
  print(("generation %d: %.2f s, %.0f mutants a second; runs %d, same PTX %d, same code %d, right "
    .. "%d, restarts %d"):format(n, wall, options.population / wall, after.runs - before.runs,
    d.ptx - b.ptx, d.code - b.code, right, after.restarts - before.restarts))
  print("  seconds of all workers: " .. table.concat(stages, ", "))
end
local drift = farm:stats().baseline
if drift then
  print(("unmodified kernel: %.2f us at first, %.2f to %.2f over %d timings"):format(
    drift.first_ns / 1e3, drift.low_ns / 1e3, drift.high_ns / 1e3, drift.n))
end
print(("median %.2f s (%.2f to %.2f)"):format(gi.stats.median(walls), math.min(table.unpack(walls)),
  math.max(table.unpack(walls))))
farm:close()
