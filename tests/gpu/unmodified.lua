-- unmodified: every kernel of kernels/ as it is, in this process, for compute-sanitizer to watch.
--
--   compute-sanitizer --report-api-errors no ./gilua --device cuda tests/gpu/unmodified.lua
--   compute-sanitizer --tool racecheck ./gilua --device cuda tests/gpu/unmodified.lua
--
-- (also initcheck and synccheck). Small cases, for the tools are slow. API errors are left out
-- because the driver says how many parameters a kernel has by refusing the one after the last.

local gi = require "gilua"
local options = gi.cli { doc = "Runs the unmodified kernels once." }
local device = assert(gi.device(options.device))

local names = {}
for name in require("lfs").dir(gi.home .. "/kernels") do
  if not name:find("^%.") then names[#names + 1] = name end
end
table.sort(names)

for _, name in ipairs(names) do
  local path = "kernels/" .. name
  local problem = gi.problem(path)
  local runner = gi.runner.new(problem, device)
  runner:use(assert(problem:case(problem.checked_case)))
  local code = assert(gi.compile(problem.source, { target = device:target() }))
  local mutant = { code = code, values = problem:values() }
  local m = runner:measure(mutant, { budget = 0, launch_s = 60 })
  print(("%s: %s, %d answers, largest error %g"):format(path, m.status, m.n, m.max_error))
  assert(gi.fitness.right(m), m.message)
end
