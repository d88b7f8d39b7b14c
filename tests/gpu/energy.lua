-- energy: what launches take of this GPU, by NVML's counter, beside the virtual GPU's estimate.
--
--   gilua --device cuda tests/gpu/energy.lua [PROBLEM …]
--
-- For each problem the unmodified kernel is measured several times: joules of a launch with twice
-- the standard error, watts while it runs, and the estimate. What two measurements of the same
-- kernel differ by says what an objective of energy can tell.

local gi = require "gilua"
local options = gi.cli {
  doc = "Measures the energy of problems' kernels.", runs = true,
  positional = { { name = "problem", doc = "folders", many = true, optional = true } },
  { name = "times", default = 3, min = 2, doc = "measurements of each" },
}

local function measured(path, device, times)
  local problem = gi.problem(path)
  local farm <close> = gi.farm(problem, { device = device, jobs = 1, energy = device ~= "emu",
    dedupe = false })
  local genomes, case = {}, gi.own.case(problem, 1, device)
  for i = 1, times do genomes[i] = "" end
  return farm:evaluate(genomes, case)
end

print(("%-28s %12s %12s %10s %8s %14s %12s"):format("problem", "time", "joules", "+-", "watts",
  "differ by", "estimated"))
local paths = type(options.problem) == "table" and options.problem or { options.problem }
if #paths == 0 then paths = { gi.home .. "/kernels/matmul", gi.home .. "/kernels/heat" } end
for _, path in ipairs(paths) do
  local list = measured(path, options.device, options.times)
  local guess = measured(path, "emu", 1)[1]
  local joules = {}
  for i, m in ipairs(list) do
    if m.status ~= "ok" or not m.energy_j then
      error(("%s: %s %s"):format(path, m.status, m.message or "no energy was measured"), 0)
    end
    joules[i] = m.energy_j
  end
  table.sort(joules)
  local m = list[1]
  print(("%-28s %9.2f us %12.3g %10.2g %8.1f %13.2f%% %12.3g"):format(path:match "[^/]+/*$",
    m.ns / 1e3, m.energy_j, m.energy_error_j or 0, m.energy_j / (m.ns * 1e-9),
    100 * (joules[#joules] / joules[1] - 1), guess.energy_j))
end
