-- ptx_speed: mutants of PTX a second, beside mutants of the source, stage by stage, in each mode of
-- `check` ("parents" as evolution has it: those that are right are checked afterwards). Seconds of
-- a stage are those of all workers together; what a stage takes alone is at least that over the
-- workers of its kind. On a GPU 100 mutants a second are asked for.

local core = require "gilua.core"
local gi = require "gilua"

local options = gi.cli {
  doc = "Mutants of PTX a second, by stage.",
  { name = "problem", default = "niftyreg", doc = "of kernels/" },
  { name = "genes", default = 700, min = 1, doc = "single genes, all different" },
  { name = "side", default = 60, min = 1, doc = "of NiftyReg's case" },
  { name = "least", default = 0, min = 0, doc = "PTX mutants a second that every mode must reach" },
}

local problem = gi.problem("kernels/" .. options.problem)
local case = options.problem == "niftyreg" and { side = options.side, seed = options.seed }
  or { seed = options.seed }

local function different(draw, rng)
  local list, seen = {}, {}
  for _ = 1, 30 * options.genes do
    local gene = draw(rng)
    if not seen[gene] and #list < options.genes then list[#list + 1] = gene end
    seen[gene] = true
  end
  return list
end

local STAGES = { "compile", "checked", "run", "check", "time" }

local function copy(t)
  local c = {}
  for key, value in pairs(t) do c[key] = value end
  return c
end

-- "3 killed, 2 context", the most frequent first by name.
local function losses(before, after)
  local words = {}
  for _, kind in ipairs(gi.settings.keys(after)) do
    local n = after[kind] - (before[kind] or 0)
    if n > 0 then words[#words + 1] = ("%d %s"):format(n, kind) end
  end
  return #words > 0 and table.concat(words, ", ") or "none"
end

local function fates(results)
  local counts, words = {}, {}
  for _, m in ipairs(results) do
    local fate = m.status ~= "ok" and m.status or gi.fitness.right(m) and "right" or "wrong"
    counts[fate] = (counts[fate] or 0) + 1
  end
  for _, fate in ipairs(gi.settings.keys(counts)) do
    words[#words + 1] = ("%d %s"):format(counts[fate], fate)
  end
  return table.concat(words, ", ")
end

local function right_ones(results)
  local list = {}
  for _, m in ipairs(results) do
    if gi.fitness.right(m) then list[#list + 1] = m.genome end
  end
  return list
end

local function measured(what, mode)
  local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs,
    check = mode })
  local ptx = gi.ptx(farm:ptx())
  farm:evaluate({ "" }, case) -- workers, libraries and the case are there
  farm:check { "" }
  local draw = what == "ptx" and gi.genome.ptx_source(ptx) or gi.genome.source(problem)
  local genes = different(draw, gi.rng(options.seed))
  local before = farm:stats()
  before.seconds = copy(before.seconds)
  local began = core.system.seconds()
  local list = farm:evaluate(genes, case)
  if mode == "parents" then farm:check(right_ones(list)) end
  local took, after = core.system.seconds() - began, farm:stats()
  local rate = #genes / took
  print(("%s, check \"%s\", on %s with %d workers: %d mutants in %.2f s, %.1f a second"):format(
    what, mode, farm:description(), farm.jobs, #genes, took, rate))
  for _, stage in ipairs(STAGES) do
    local s = after.seconds[stage] - before.seconds[stage]
    print(("  %-8s %7.2f s of workers, %7.2f ms a mutant"):format(stage, s, 1e3 * s / #genes))
  end
  print(("  %d compiled or assembled, %d checked, %d ran; workers lost: %s"):format(
    after.compilations - before.compilations, after.checks - before.checks,
    after.runs - before.runs, losses(before.losses, after.losses)))
  print("  " .. fates(list))
  return rate
end

local least = math.huge
for _, mode in ipairs { "every", "parents", "winners" } do
  local source, ptx = measured("source", mode), measured("ptx", mode)
  print(("check \"%s\": PTX %.1f times as many a second as source\n"):format(mode, ptx / source))
  least = math.min(least, ptx)
end
print(("least: %.1f PTX mutants a second%s"):format(least, options.least > 0
  and (", asked for: %d"):format(options.least) or ""))
os.exit(least >= options.least, true)
