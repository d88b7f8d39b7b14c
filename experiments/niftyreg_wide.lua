-- Beyond GECCO 2014: the same experiment on richer material. kernels/niftyreg_wide computes the
-- same answers in many ways (orders of the sum, groups that share their planes, loads, stores,
-- decodings; §2's untried idea among them) and leaves it to search to find the combination. Here
-- all of its parameters are genes beside the lines of its source.
--
--   gilua --device cuda experiments/niftyreg_wide.lua [--runs 5] [--help]

local gi = require "gilua"

local problem = gi.problem "kernels/niftyreg_wide"
local CLEANED_UP_LAST = { ptxas = true, arch = true }

local opened = {}
for _, parameter in ipairs(problem.parameters) do
  if not parameter.switch and not CLEANED_UP_LAST[parameter.name] then
    opened[#opened + 1] = parameter.name
  end
end

--- The paper's kernel as it is, on the case of tuning: what all of this is to be held against.
local function papers_kernel(study)
  local farm <close> = gi.farm(gi.problem "kernels/niftyreg", {
    device = study.options.device, jobs = study.options.jobs })
  local m = farm:evaluate({ "" }, study.fixed_case)[1]
  return ("%.2f us, %.3f times the winner's"):format(m.ns / 1e3, m.ns / study.winner.ns)
end

gi.gecco2014.run("niftyreg_wide", {
  title = "NiftyReg's spline kernel, on richer material", problem = "kernels/niftyreg_wide",
  base = "", scheme = {
    -- single settings, as the paper begins with, lead to sum_order=1 and stay there
    init = gi.genome.configurations(problem, opened),
    genes = { parameters = opened, parameter_share = 0.5 },
  },
  paper_row = { { name = "the paper's kernel, 192 threads", ours = papers_kernel, paper = "-" } },
})
