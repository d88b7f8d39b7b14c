-- leaks: what is left after 10,000 evaluations.
--
--   gilua [--device cuda] tests/gpu/leaks.lua [--evaluations 10000] [--side 40]
--
-- Random mutants of one to three genes, in populations of 500, each population on a new case, some
-- workers killed on the way. Prints descriptors and memory of this process and of its workers after
-- each fifth, and what is left of the workers when the farm is closed.

local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Looks for leaks.",
  { name = "evaluations", default = 10000, min = 10, doc = "mutants in all" },
  { name = "side", default = 40, min = 20, doc = "side of the ball" },
}

local function count(folder)
  local n = 0
  for name in lfs.dir(folder) do
    if name:match("^%d+$") then n = n + 1 end
  end
  return n
end

local function resident_mib(pid)
  local f = io.open(("/proc/%s/statm"):format(pid))
  if not f then return 0 end
  local pages = f:read("a"):match("^%d+ (%d+)")
  f:close()
  return tonumber(pages) * 4096 / 2 ^ 20
end

local problem = gi.problem "kernels/niftyreg"
local farm = gi.farm(problem, { device = options.device, jobs = options.jobs })
local rng = gi.rng(options.seed)
local processes = farm.crew.processes
local n_workers = #farm.crew.workers

local function say(done)
  collectgarbage()
  local least, most = math.huge, 0
  for i = 1, n_workers do
    local mib = resident_mib(processes:pid(i))
    least, most = math.min(least, mib), math.max(most, mib)
  end
  print(("%6d evaluations: descriptors %d, host %.0f MiB, workers %.0f to %.0f MiB, restarts %d"):
    format(done, count("/proc/self/fd"), resident_mib("self"), least, most, farm:stats().restarts))
end

local done = 0
while done < options.evaluations do
  local genomes = {}
  for i = 1, math.min(500, options.evaluations - done) do
    local genes = {}
    for k = 1, rng:int(3) do genes[k] = problem.grammar:random_gene(rng) end
    genomes[i] = table.concat(genes, " ")
  end
  farm:evaluate(genomes, { side = options.side, seed = rng:int(1000000) })
  done = done + #genomes
  if done % (options.evaluations // 5) < 500 then
    say(done)
    os.execute("kill -9 " .. processes:pid(1))
  end
end

local pids = {}
for i = 1, n_workers do pids[i] = processes:pid(i) end
farm:close()
local left = 0
for _, pid in ipairs(pids) do
  if lfs.attributes("/proc/" .. pid) then left = left + 1 end
end
collectgarbage()
print(("closed: %d of %d workers left, descriptors %d, host %.0f MiB"):format(left, n_workers,
  count("/proc/self/fd"), resident_mib("self")))
os.exit(left == 0, true)
