-- Evolve NiftyReg's spline kernel on a real brain, on the virtual GPU, in about two minutes.
--
-- Langdon, Modat, Petke, Harman: "Improving 3D Medical Image Registration CUDA Software with
-- Genetic Programming", GECCO 2014. The scheme at the end is the paper's Table 3, row by row, but
-- smaller: the paper evolved 300 kernels for 50 generations.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evolves NiftyReg's spline kernel (GECCO 2014, Table 3) on a real brain.",
  { name = "population", default = 80, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 16, min = 1, doc = "generations" },
  { name = "side", type = "integer", min = 20, doc = "use a ball in a cube of this side instead" },
}

local report, unwritable = gi.report.open(options.out, ("out/quickstart-%d"):format(options.seed))
if not report then gi.fail("%s", unwritable) end

local niftyreg = gi.problem "kernels/niftyreg"
local brain, missing = gi.samples.path "brain"
if not brain and not options.side and not options.quiet then
  print(missing .. "; using the ball of §4.1 in its place")
end

-- A new training image for each generation: the brain under a new random deformation, or a new
-- squashed ball of the paper's size (§4.1).
local function new_case(_, rng)
  local seed = rng:int(1 << 31)
  if brain and not options.side then return { image = brain, seed = seed } end
  return { side = options.side or 217, seed = seed }
end

-- The fitness of §3.8, to be minimised: `own` is the mutant's measurement.
local function fitness(own)
  if own.status ~= "ok" then return math.huge end -- it crashed, hung or did not compile
  local C = 213748364
  local value = own.ticks / 10
  if own.max_error > 0.001 then value = value + math.min(C * (own.max_error + 0.1), C) end
  value = value + C * own.unset -- fraction of voxels without an answer
  if own.max_error > 0.1 then value = value + C * own.wrong end -- fraction of wrong voxels
  return value
end

gi.evolve.run {
  -- Representation: variable list of replacements, deletions, insertions into the BNF grammar
  problem = niftyreg,
  -- Fitness: compile, run on every active voxel, compare with the CPU, compare the run time
  farm = gi.farm(niftyreg, { device = options.device, jobs = options.jobs }),
  fitness = fitness,
  acceptable = gi.fitness.acceptable, -- a parent is right, and at most 10 % slower (§3.9)
  -- Population: panmictic, non-elitist, generational; a new training image each generation
  population = options.population,
  new_case = new_case,
  -- Parameters: initial population of random single mutants, 50 % truncation selection, 50 %
  -- two-point crossover, 50 % mutation, no size limit
  init = gi.genome.initial,
  select = gi.select.truncation,
  mutate = gi.genome.mutate,
  cross = gi.genome.cross,
  generations = options.generations,
  rng = gi.rng(options.seed),
  -- What is shown, and what is kept
  observers = { report, gi.progress.new { quiet = options.quiet, results = report } },
}
