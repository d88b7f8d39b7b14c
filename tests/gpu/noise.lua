-- noise: what two measurements of the same code differ by, and whether chance can look like a gain.
--
--   gilua --device cuda tests/gpu/noise.lua [--repetitions 50] [--placebos 300] [--rounds 5]
--
-- 1. The same mutant 50 times, each time as the farm reports it (against its neighbouring time of
--    the unmodified kernel): spread of the ratio.
-- 2. 50 interleaved comparisons of a kernel with itself: spread of the ratio, and how often the
--    95 % interval leaves out 1 (expected: 1 in 20).
-- 3. Placebo: 300 copies of the unmodified kernel as a population; the fastest of them is measured
--    again in interleaved pairs, as every winner is. Its interval must hold 1.

local gi = require "gilua"

local options = gi.cli {
  doc = "Measures the noise of timing on a GPU.",
  { name = "repetitions", default = 50, min = 2, doc = "measurements of one mutant" },
  { name = "placebos", default = 300, min = 2, doc = "copies of the unmodified kernel" },
  { name = "rounds", default = 5, min = 1, doc = "placebo runs" },
  { name = "clock", default = "events", doc = "events or spans" },
  { name = "samples", type = "integer", min = 3, doc = "least samples of a measurement" },
}

local problem = gi.problem "kernels/niftyreg"
local brain = gi.samples.path "brain"
local function case(seed)
  return brain and { image = brain, seed = seed } or { side = 217, seed = seed }
end

local function describe(name, ratios)
  local q = gi.stats.quantile
  print(("%-28s median %.4f  quartiles %.4f to %.4f  all %.4f to %.4f  spread %.2f %%"):format(name,
    gi.stats.median(ratios), q(ratios, 0.25), q(ratios, 0.75), q(ratios, 0), q(ratios, 1),
    100 * (q(ratios, 1) - q(ratios, 0)) / gi.stats.median(ratios)))
end

local farm = gi.farm(problem, {
  device = options.device, jobs = options.jobs, dedupe = false, clock = options.clock,
  min_samples = options.samples,
})

local function copies(genome, n)
  local list = {}
  for i = 1, n do list[i] = genome end
  return list
end

for _, genome in ipairs { "RemX", "<IF_kernel.cu_245><IF_kernel.cu_167>" } do
  local ratios, samples = {}, 0
  for i, m in ipairs(farm:evaluate(copies(genome, options.repetitions), case(1))) do
    ratios[i] = m.baseline_ns / m.ns
    samples = samples + #m.samples
  end
  describe(genome:sub(1, 24), ratios)
  print(("  %.1f samples a measurement"):format(samples / options.repetitions))
end

local ratios, outside, width = {}, 0, 0
for i = 1, options.repetitions do
  local c = farm:compare("", "", case(1), { seed = i })
  ratios[i] = c.ratio
  width = width + (c.high - c.low) / options.repetitions
  if c.low > 1 or c.high < 1 then outside = outside + 1 end
end
describe("interleaved, with itself", ratios)
print(("  1 is outside the 95 %% interval %d times of %d; mean width %.4f"):format(outside,
  options.repetitions, width))

local winners = 0
for round = 1, options.rounds do
  local best
  for _, m in ipairs(farm:evaluate(copies("", options.placebos), case(1 + round))) do
    if not best or m.ticks < best.ticks then best = m end
  end
  local c = farm:compare("", "", case(100 + round), { seed = round })
  local significant = c.low > 1
  winners = winners + (significant and 1 or 0)
  print(("placebo run %d: the best of %d seems %.4fx; measured again %.4fx (%.4f to %.4f)%s")
    :format(round, options.placebos, best.baseline_ns / best.ns, c.ratio, c.low, c.high,
      significant and "  SIGNIFICANT" or ""))
end
print(("%d of %d placebo runs report a winner"):format(winners, options.rounds))
farm:close()
