-- Islands against one population and against runs that know nothing of each other, at the same
-- number of evaluations: five seeds of a kernel.
--
--   gilua --device cuda --jobs 16 tests/gpu/islands.lua [--problem kernels/niftyreg] [--seeds 5]
--   gilua --jobs 1 tests/gpu/islands.lua --small --population 10 --generations 8
--
-- Four islands are played one after the other by generation here, in one process: a coroutine each,
-- on one farm. What wins is measured on one unseen case, in turn with the unmodified kernel.

local gi = require "gilua"

local options = gi.cli {
  doc = "Compares islands with one population, and with runs apart.",
  { name = "problem", default = "kernels/niftyreg", doc = "folder of the kernel" },
  { name = "small", default = false, doc = "cases that the virtual GPU is soon through with" },
  { name = "seeds", default = 5, min = 2, doc = "runs of each" },
  { name = "islands", default = 4, min = 2, doc = "how many" },
  { name = "population", default = 40, min = 4, doc = "of an island" },
  { name = "generations", default = 10, min = 2, doc = "of each" },
}

-- Sizes of cases; what is not here is as the problem has it.
local SIZES = { niftyreg = { side = 60 } }
local SMALL = { niftyreg = { side = 20 }, heat = { width = 64, height = 48 },
                reduction = { rows = 60 }, kmeans = { points = 512 }, spmv = { rows = 300 } }

local problem = gi.problem(options.problem)
local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs })

local function case(seed)
  local spec = { seed = seed }
  for k, v in pairs((options.small and SMALL or SIZES)[problem.name] or {}) do spec[k] = v end
  return spec
end

local function scheme(seed, population)
  return {
    problem = problem, farm = farm, rng = gi.rng(seed), population = population,
    generations = options.generations, minimise = false,
    new_case = function(_, rng) return case(rng:int(1 << 31)) end,
    observers = {},
  }
end

-- Each waits, where it would wait for its neighbour's file, for its turn.
local function in_turn(schemes)
  local runs, waiting = {}, {}
  for i, s in ipairs(schemes) do
    s.on_generation = function() coroutine.yield() end
    waiting[i] = coroutine.create(function() runs[i] = gi.evolve.run(s) end)
  end
  local left = #waiting
  while left > 0 do
    for _, co in ipairs(waiting) do
      if coroutine.status(co) == "suspended" then
        local ok, why = coroutine.resume(co)
        if not ok then error(why, 0) end
        if coroutine.status(co) == "dead" then left = left - 1 end
      end
    end
  end
  return runs
end

-- What a genome gains on a case; 1 where it is wrong or slower.
local function ratio_of(genome, seed)
  local c = farm:compare(genome, "", case(seed))
  return c.status == "ok" and math.max(1, c.ratio) or 1
end

-- The gain of the best of the runs' results, chosen on one unseen case and claimed on another; and
-- what their evolution evaluated, but for the comparisons at its end.
local function gain(runs, seed)
  local best, chosen, evaluations = "", 1, 0
  for _, run in ipairs(runs) do
    evaluations = evaluations + run.records[#run.records].evaluations
    local own = run.result.best.genome
    local ratio = ratio_of(own, (1 << 31) + seed)
    if ratio > chosen then best, chosen = own, ratio end
  end
  return ratio_of(best, (1 << 32) + seed), evaluations
end

local function some(seed, folder)
  local schemes = {}
  for i = 1, options.islands do
    local s = scheme((seed << 16) + i, options.population)
    schemes[i] = folder and gi.islands.join(s, { folder = folder, island = i,
      islands = options.islands }) or s
  end
  return schemes
end

local WAYS = {
  { "islands", function(seed)
    local scratch <close> = gi.tempfolder.new()
    return in_turn(some(seed, scratch.path .. "/ring"))
  end },
  { "apart", function(seed) return in_turn(some(seed)) end },
  { "one population", function(seed)
    return { gi.evolve.run(scheme(seed << 16, options.islands * options.population)) }
  end },
}

local gains = {}
for _, way in ipairs(WAYS) do
  local name, play = way[1], way[2]
  gains[name] = {}
  for seed = 1, options.seeds do
    local ratio, evaluations = gain(play(seed), seed)
    gains[name][seed] = ratio
    print(("%-15s seed %d  %.4fx  %d evaluations"):format(name, seed, ratio, evaluations))
    io.stdout:flush()
  end
end
for _, other in ipairs { "apart", "one population" } do
  local test = gi.stats.mann_whitney(gains.islands, gains[other])
  print(("%s: islands against %s: medians %.4f and %.4f, p = %.3f, A = %.2f"):format(problem.name,
    other, gi.stats.median(gains.islands), gi.stats.median(gains[other]), test.p, test.a12))
end
