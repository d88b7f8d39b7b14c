-- Beyond EuroGP 2014: the same experiment on another structure. kernels/stereo_wide finds the same
-- disparities by sums that slide along the row; how the work is shared out, how squares and the
-- least are found, all of it is the fixed front of the genome (§8.14), beside the code's lines.
--
--   gilua --device cuda experiments/stereo_wide.lua [--help]
--   gilua --device cuda experiments/stereo_wide.lua --width 1920 --height 1080 --disparities 128

local gi = require "gilua"

local FOLDER = "kernels/stereo_wide"
local problem = gi.problem(FOLDER)

local names, with_values = {}, {}
for i, parameter in ipairs(problem.parameters) do
  names[i] = parameter.name
  if not parameter.switch then with_values[#with_values + 1] = parameter.name end
end

local study = gi.eurogp2014.study("stereo_wide", { problem = FOLDER, front = names })
local o = study.options

--- A genome of the paper's kernel, on the case of tuning: what all of this is to be held against.
local function papers_kernel(genome)
  return function(s)
    local farm <close> = gi.farm(gi.problem "kernels/stereo", { device = o.device, jobs = o.jobs })
    local m = farm:evaluate({ genome }, s.fixed_case)[1]
    return ("%.2f us, %.1f times the winner's"):format(m.ns / 1e3, m.ns / s.winner.ns)
  end
end

--- A first population of single settings (§8.14.1), most of them useful, and of random
--- configurations, which hold values that only pay beside others.
local function half_and_half(single, random)
  return function(n, draw, rng)
    local list, message, code = single(n // 2, draw, rng)
    if not list then return nil, message, code end
    local others, why, other_code = random(n - #list, draw, rng)
    if not others then return nil, why, other_code end
    return table.move(others, 1, #others, #list + 1, list)
  end
end

study.title = "StereoCamera, by sums that slide along the row"
study.base, study.tune, study.retune = "", {}, { "turns", "warps" }
if o.tuning == "all" then table.insert(study.retune, "packs") end
study.scheme.init = half_and_half(study.scheme.init,
  gi.genome.configurations(problem, with_values))
for _, row in ipairs(study.settings) do
  if row.name == "tuning" then
    row.value = table.concat(study.retune, ", ") .. ", after evolution"
  end
end
study.paper_row = {
  { name = "the paper's kernel as it was", ours = papers_kernel "", paper = "4362 us" },
  { name = "tuned, with the settings of Figure 8.16", paper = "638 us, with its code changes",
    ours = papers_kernel("ROWSperTHREAD=5 " .. gi.eurogp2014.k20c_settings) },
  table.unpack(gi.eurogp2014.rates(gi.eurogp2014.gpus[#gi.eurogp2014.gpus], o)),
}
gi.experiment.run(study)
