-- Evolve the instructions of a row sum by GEVO's Algorithm 1, exactly and with 1 % of error.
--
-- Liou, Wang, Forrest, Wu: "GEVO: GPU Code Optimization Using Evolutionary Computation", TACO 2020:
-- GEVO-default (Figure 6) and GEVO-mO (Figure 9), small. The paper's populations are of 256 and
-- evolve for 48 hours.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evolves the PTX of kernels/reduction by GEVO's search (TACO 2020, Algorithm 1).",
  { name = "population", default = 32, min = 4, doc = "kernels in a generation" },
  { name = "generations", default = 4, min = 1, doc = "generations" },
  { name = "rows", default = 100, min = 1, doc = "of the matrix" },
  { name = "approximate", default = false, doc = "time and error, 1 % (GEVO-mO)" },
}

local report, unwritable = gi.report.open(options.out, ("out/gevo-%d"):format(options.seed))
if not report then gi.fail("%s", unwritable) end

local problem = gi.problem "kernels/reduction"
local farm = gi.farm(problem, { device = options.device, jobs = options.jobs,
  timed_error = options.approximate and 0.01 or nil })

local scheme = gi.gevo.scheme {
  -- Fitness: time alone, answers as near as the unmodified kernel's; or time and error (§3.2)
  objectives = options.approximate and { "time", "error" } or { "time" },
  -- Algorithm 1's parameters (§4.1) are the defaults but for the population
  population = options.population,
}
scheme.problem, scheme.farm, scheme.rng = problem, farm, gi.rng(options.seed)
-- Representation: a list of edits of instructions (§3.1, §3.4)
scheme.draw = gi.genome.ptx_source(gi.below.open(problem, farm))
scheme.generations = options.generations
-- Another matrix each generation, which the paper's fixed tests are not
scheme.new_case = function(_, rng)
  return { rows = options.rows, columns = 500 + rng:int(1000), seed = rng:int(1 << 31) }
end
scheme.check = farm.virtual and "parents" or "every"
table.insert(scheme.observers, report)
table.insert(scheme.observers, gi.progress.new { quiet = options.quiet, results = report })

local result = gi.evolve.run(scheme).result
if not options.quiet then
  for i, point in ipairs(result.front.points) do
    print(("front %d  %s  %s"):format(i, table.concat(point.values, "  "), point.genome))
  end
end
