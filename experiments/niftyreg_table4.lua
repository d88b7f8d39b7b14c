-- The six final programs of GECCO 2014, Table 4, on this kernel and this device: each is compiled,
-- every answer checked, and timed against the kernel as it is (192 threads a block) in interleaved
-- pairs, once with its genes alone and once with the paper's final block size too. The paper's line
-- numbers are lines of kernels/niftyreg/kernel.cu; a gene that does not exist there is named.
--
--   gilua [--device cuda] experiments/niftyreg_table4.lua [--side N] [--seed N]

local gi = require "gilua"
local gecco = gi.gecco2014

local options = gi.cli {
  doc = "Replays Table 4 of GECCO 2014.",
  { name = "side", type = "integer", min = 20, doc = "of the ball, in place of 217" },
}

local problem = gi.problem "kernels/niftyreg"
local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs })
local case = gecco.ball(options.side, options.seed)

--- The genes that this kernel has, and the names of those it does not have.
local function ours(genome)
  local known, unknown = {}, {}
  for _, gene in ipairs(gi.genome.split(genome)) do
    local list = problem.grammar:genes(gene) and known or unknown
    list[#list + 1] = gene
  end
  return gi.genome.join(known), unknown
end

--- What a genome is worth on the case, as three cells.
local function cells(genome)
  local m = farm:evaluate({ genome }, case)[1]
  if not gi.fitness.right(m) then
    return m.status == "ok" and "wrong" or m.status, "-", ("%.2g"):format(m.max_error)
  end
  local c = farm:compare(genome, "", case)
  if c.status ~= "ok" then return c.status, "-", ("%.2g"):format(m.max_error) end
  local ratio = c.low == c.high and ("%.3fx"):format(c.ratio)
    or ("%.3fx %.3f-%.3f"):format(c.ratio, c.low, c.high)
  return ("%.2f us"):format(m.ns / 1e3), ratio, ("%.2g"):format(m.max_error)
end

local baseline = farm:evaluate({ "" }, case)[1]
print(("%s, case %s: the kernel as it is takes %.2f us"):format(farm:description(),
  farm:case_info().name, baseline.ns / 1e3))
print()
local FORMAT = "%-16s %9s %6s | %10s %20s | %10s %20s | %8s"
print(FORMAT:format("GPU of the paper", "its time", "genes", "192 thr.", "speed-up", "its block",
  "speed-up", "error"))
for _, gpu in ipairs(gecco.gpus) do
  local genome, unknown = ours(gpu.genome)
  local time, ratio, worst = cells(genome)
  local tuned = gi.genome.join { ("block_size=%d"):format(gpu.block_after), genome }
  local tuned_time, tuned_ratio = cells(tuned)
  print(FORMAT:format(gpu.name, ("%.2f ms"):format(gpu.ms), gi.genome.length(genome), time, ratio,
    tuned_time, tuned_ratio, worst))
  for _, gene in ipairs(unknown) do
    print(("  %s of the paper does not exist in this kernel, and is left out"):format(gene))
  end
end
print()
print "The paper's times are of its own GPU, kernel and image. Speed-ups here are against the"
print "kernel as it is, with 192 threads a block; on a GPU from interleaved pairs, 95 % intervals."
