-- rank: do the virtual GPU's ticks put mutants in the order of a GPU's times?
--
--   gilua tests/gpu/rank.lua --out DIR [--mutants 200] [--device cuda]
--
-- Evaluates the same random mutants with right answers on emu and on the device, both on the whole
-- brain, prints Spearman's rank correlation and writes DIR/rank.csv (and rank.svg where there is
-- gnuplot). The GPU measures everything twice, on different deformations: the correlation of the
-- two says how much of an order there is to be found. Without a GPU only the emulated half is
-- written.

local gi = require "gilua"

local options = gi.cli {
  doc = "Rank correlation between emulated ticks and GPU time.",
  { name = "mutants", default = 200, min = 3, doc = "right mutants with distinct machine code" },
  { name = "side", type = "integer", min = 20, doc = "a ball of this side instead of the brain" },
}

local problem = gi.problem "kernels/niftyreg"
local brain = gi.samples.path "brain"
local case = brain and not options.side and { image = brain, seed = 5 }
  or { side = options.side or 217, seed = 5 }
local out = options.out or "out/rank"
os.execute(("mkdir -p '%s'"):format(out))

local rng = gi.rng(options.seed)
local function random_genome()
  local genes = {}
  for i = 1, rng:int(6) do genes[i] = problem.grammar:random_gene(rng) end
  return table.concat(genes, " ")
end

-- Collects right mutants whose PTX and launch differ, on the device that is asked for.
local gpu = options.device ~= "emu"
local farm = gi.farm(problem, {
  device = options.device, jobs = options.jobs, rel_error = 0.002, max_samples = 400,
})
local chosen, keys = { "" }, {}
local times = { [""] = farm:evaluate({ "" }, case)[1] }
while #chosen < options.mutants + 1 do
  local genomes = {}
  for i = 1, 100 do genomes[i] = random_genome() end
  for i, m in ipairs(farm:evaluate(genomes, case)) do
    local _, detail = problem.grammar:apply(genomes[i])
    local _, launch = farm.funnel.maker:launch_values(detail.params)
    local key = (m.code_hash or m.ptx_hash or "") .. launch
    if gi.fitness.right(m) and not keys[key] and #chosen <= options.mutants then
      keys[key] = true
      chosen[#chosen + 1], times[genomes[i]] = genomes[i], m
    end
  end
end
local again = {}
local other = { image = case.image, side = case.side, seed = 6 }
for i, m in ipairs(gpu and farm:evaluate(chosen, other) or {}) do again[i] = m.ns end
farm:close()

local emulated = times
if gpu then
  local second = gi.farm(problem, { device = "emu", jobs = options.jobs })
  emulated = {}
  for i, m in ipairs(second:evaluate(chosen, case)) do emulated[chosen[i]] = m end
  second:close()
end

local file = assert(io.open(out .. "/rank.csv", "w"))
file:write("genome,ticks,ns,again_ns,rel_error,emu_registers,gpu_registers,issue,latency,memory,"
  .. "occupancy\n")
local xs, ys = {}, {}
for i, genome in ipairs(chosen) do
  local e, g = emulated[genome], times[genome]
  xs[#xs + 1], ys[#ys + 1] = e.ticks, gpu and g.ns or e.ns
  file:write(('"%s",%.0f,%.1f,%.1f,%.4f,%d,%d,%.0f,%.0f,%.0f,%.3f\n'):format(genome, e.ticks,
    gpu and g.ns or 0, again[i] or 0, g.rel_error or 0, e.registers, g.registers, e.part_issue or 0,
    e.part_latency or 0, e.part_memory or 0, e.occupancy or 0))
end
file:close()

if os.execute("command -v gnuplot >/dev/null 2>&1") then
  local plot = io.popen("gnuplot", "w")
  plot:write(([[
set terminal svg size 800,600
set output "%s/rank.svg"
set datafile separator ","
set xlabel "ticks on the virtual GPU"
set ylabel "microseconds on the GPU"
set key off
plot "%s/rank.csv" every ::1 using 2:($3/1000) with points pt 7 ps 0.6
]]):format(out, out))
  plot:close()
end
print(("%d right mutants; Spearman's rank correlation %.3f"):format(#xs - 1,
  gi.stats.spearman(xs, ys)))
if gpu then
  print(("the GPU with itself, on another deformation: %.3f"):format(gi.stats.spearman(ys, again)))
end
