-- generation: the wall time of one generation, from genomes to measurements, and where it goes.
--
--   gilua [--device cuda] tests/gpu/generation.lua [--population 300] [--side N] [--repeats 3]
--     [--two-stages yes|no|both] [--wrong small|whole|both] [--assembler nvrtc|nvjitlink|both]
--     [--sieve yes|no|both] [--problem stereo]
--
-- `both` times a generation each way in turn, in farms of their own, with the same mutants.
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
  { name = "problem", default = "niftyreg", doc = "of kernels/" },
  { name = "side", type = "integer", min = 20,
    doc = "of niftyreg: a ball of this side instead of the brain" },
  { name = "check", default = "every", doc = "every, parents or winners" },
  { name = "batch", default = 10, min = 1, doc = "most mutants in one compilation" },
  { name = "two-stages", default = "yes", doc = "machine code after checked runs: yes, no, both" },
  { name = "sieve", default = "yes", doc = "compiled in haste first: yes, no, both" },
  { name = "assembler", default = "nvrtc", doc = "of the second stage: nvrtc, nvjitlink, both" },
  { name = "wrong", default = "small", doc = "errors of wrong ones: small case, whole, both" },
}

local problem = gi.problem("kernels/" .. options.problem)
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

local function fresh_ones(n)
  local list = {}
  for i = 1, n do list[i] = fresh() end
  return list
end

local brain = gi.samples.path "brain"
local function case(seed)
  if options.problem ~= "niftyreg" then return gi.own.case(problem, seed, options.device) end
  if brain and not options.side then return { image = brain, seed = seed } end
  return { side = options.side or 217, seed = seed }
end

local function copy(t)
  local c = {}
  for k, v in pairs(t) do c[k] = type(v) == "table" and copy(v) or v end
  return c
end

local function choices(value, first, second)
  if value == "both" then return { first, second } end
  if value ~= first and value ~= second then
    gi.fail("'%s' is none of %s, %s, both", value, first, second)
  end
  return { value }
end

local LEAST = 40 -- mutants that tell how many are wrong

-- A farm that is warm: its workers run, one generation has passed.
local function warm(o)
  o.device, o.jobs, o.check, o.batch = options.device, options.jobs, options.check, options.batch
  local farm = gi.farm(problem, o)
  farm:evaluate(fresh_ones(math.max(LEAST, 2 * farm.jobs)), case(1))
  return { farm = farm, walls = {}, name = ("errors of the %s case, %s%s"):format(o.wrong,
    o.two_stages and "two stages, " .. o.assembler or "one stage", o.sieve and ", sieve" or "") }
end

local function ways()
  local list = {}
  for _, wrong in ipairs(choices(options.wrong, "whole", "small")) do
    for _, stages in ipairs(choices(options["two-stages"], "no", "yes")) do
      for _, name in ipairs(stages == "no" and { "nvrtc" }
          or choices(options.assembler, "nvrtc", "nvjitlink")) do
        for _, sieve in ipairs(wrong == "whole" and { "no" }
            or choices(options.sieve, "no", "yes")) do
          list[#list + 1] = warm { wrong = wrong, two_stages = stages == "yes", assembler = name,
            sieve = sieve == "yes" }
        end
      end
    end
  end
  return list
end

local function stages_since(before, after)
  local list = {}
  for stage, s in pairs(after.seconds) do
    list[#list + 1] = ("%s %.2f"):format(stage, s - (before.seconds[stage] or 0))
  end
  table.sort(list)
  return table.concat(list, ", ")
end

local function time(way, n, genomes)
  local farm = way.farm
  local before, start = copy(farm:stats()), core.system.seconds()
  local results = farm:evaluate(genomes, case(n + 1))
  local wall = core.system.seconds() - start
  way.walls[n] = wall
  local after = farm:stats()
  local right = gi.stats.count(results, function(m)
    return gi.fitness.right(m)
  end)
  local d, b = after.duplicates, before.duplicates
  print(("generation %d, %s: %.2f s, %.0f mutants a second; runs %d, wrong on the small case %d, "
    .. "same PTX %d, same code %d, right %d, restarts %d"):format(n, way.name, wall,
    options.population / wall, after.runs - before.runs, after.screened - before.screened,
    d.ptx - b.ptx, d.code - b.code, right, after.restarts - before.restarts))
  print("  seconds of all workers: " .. stages_since(before, after))
end

local list = ways()
local farm = list[1].farm
print(("device %s, %d host workers, population %d"):format(farm.devices[1].name, farm.jobs,
  options.population))
for n = 1, options.repeats do
  local genomes = fresh_ones(options.population)
  for _, way in ipairs(list) do time(way, n, genomes) end
end
for _, way in ipairs(list) do
  local drift = way.farm:stats().baseline
  if drift then
    print(("unmodified kernel: %.2f us at first, %.2f to %.2f over %d timings"):format(
      drift.first_ns / 1e3, drift.low_ns / 1e3, drift.high_ns / 1e3, drift.n))
  end
  print(("%s: median %.2f s (%.2f to %.2f)"):format(way.name, gi.stats.median(way.walls),
    math.min(table.unpack(way.walls)), math.max(table.unpack(way.walls))))
  way.farm:close()
end
