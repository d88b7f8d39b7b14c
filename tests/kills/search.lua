-- search: a short evolution for kills.t. Each measurement that it is told of leaves its key in
-- OUT.told.
local gi = require "gilua"

local options = gi.cli { doc = "A short search, to be killed." }
local told <close> = assert(io.open(options.out .. ".told", "a"))
told:setvbuf "line"
local report = assert(gi.report.open(options.out))
local problem = gi.problem(gi.home .. "/kernels/reduction")
local watch = { on_result = function(_, individual)
  local m = individual.measurement
  if m.key then told:write(m.key, "\n") end
end }
gi.evolve.run {
  problem = problem, farm = gi.farm(problem), rng = gi.rng(options.seed), population = 10,
  generations = 4, fitness = gi.fitness.within(problem.tolerance),
  new_case = function(_, rng) return { seed = rng:int(1000), rows = 40, columns = 200 } end,
  observers = { report, watch },
}
