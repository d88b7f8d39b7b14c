-- eurogp2014: the experiment on StereoCamera of Langdon and Harman, "Genetically Improved CUDA
-- Software", EuroGP 2014; UCL RN/14/02; Langdon, "Genetically Improved Software", 2015, chapter 8
-- (whose sections are named here). experiments/stereo_k20c.lua runs it.

local gi = require "gilua"

local M = {}

---RN/14/02, Table 4: mean microseconds on 2516 pairs of 320 x 240: as it was, tuned, evolved and
---tuned again (nil where the text as we have it is not legible).
M.gpus = {
  { name = "Quadro NVS 290", original = 27402, pretuned = 26019, pretuned_ratio = 1.053 },
  { name = "GeForce GTX 295", original = 5448, pretuned = 1518, pretuned_ratio = 3.589 },
  { name = "Tesla T10", original = 5256, pretuned = 1436, pretuned_ratio = 3.661, evolved = 1359,
    ratio = 3.861 },
  { name = "Tesla C2050", original = 4632, pretuned = 3017, pretuned_ratio = 1.535,
    evolved = 1130, ratio = 4.099 },
  { name = "GeForce GTX 580", original = 3077, pretuned = 1650, pretuned_ratio = 1.865,
    evolved = 722, ratio = 4.248 },
  { name = "Tesla K20c", original = 4362, pretuned = 1839, pretuned_ratio = 2.373, evolved = 638,
    ratio = 6.837 },
}

M.paper = "Langdon, Harman: Genetically Improved CUDA Software, EuroGP 2014 and UCL RN/14/02; "
  .. "Langdon: Genetically Improved Software, 2015, chapter 8"

---Table 8.1, in its order: the fixed front of a genome.
M.configuration = {
  "cache_preference", "dlcm", "OUT_TYPE", "STORE_disparityPixel", "STORE_disparityMinSSD", "DPER",
  "XHALO", "mul24", "GPtexturereadmode", "texturefilterMode", "textureaddressMode",
  "texturenormalized",
}

---§8.14.2: in the first population rules of the kernel's header are a thousand times as likely.
M.header_weights = { launchbounds = 1000, optrestrict = 1000, optconst = 1000, optvolatile = 1000 }

---The four settings of Figure 8.16 that are configuration; its six code changes name lines of the
---paper's source, and are described in README.md of kernels/stereo as far as ours has the like.
M.k20c_settings = "DPER=2 STORE_disparityMinSSD=SHARED XHALO STORE_disparityPixel=SHARED"

--------------------------------------------------------------------------------------------------
-- Cases

---A made-up pair of the paper's size, 320 x 240, or another.
---@param o { width: integer, height: integer, disparities: integer }
---@param seed integer
---@return table spec
function M.pair(o, seed)
  return { seed = seed, width = o.width, height = o.height, max_disparity = o.disparities }
end

---Pairs that no seed of training gives; other sizes, and the Aloe pair where it is installed.
---@param o table
---@param problem table
---@return table[] specs
function M.unseen(o, problem)
  local list = {}
  for i = 1, 10 do list[i] = M.pair(o, (1 << 31) + i) end
  if o.small then return list end
  for i, size in ipairs { { 160, 120 }, { 400, 300 }, { 640, 480 } } do
    list[#list + 1] = { seed = (1 << 31) + 20 + i, width = size[1], height = size[2],
                        max_disparity = o.disparities }
  end
  local aloe = { image = "aloe", max_disparity = o.disparities }
  if problem:case(aloe) then list[#list + 1] = aloe end
  return list
end

--------------------------------------------------------------------------------------------------
-- The scheme (Table 8.2)

---Fields of a scheme of gilua.evolve.
---@param problem table
---@return table
function M.scheme(problem)
  local operators = gi.configured.new(problem, M.configuration)
  local weighted = gi.genome.source(problem, { weights = M.header_weights })
  return {
    init = function(n, _, rng) return operators.init(n, weighted, rng) end,
    mutate = operators.mutate, cross = operators.cross,
    fitness = gi.fitness.stereo, acceptable = gi.fitness.stereo_acceptable,
  }
end

local function setting_rows(o)
  return {
    { name = "population", value = o.population, paper = "100" },
    { name = "generations", value = o.generations, paper = "50" },
    { name = "pair", value = ("%d x %d, a new one each generation"):format(o.width, o.height),
      paper = "320 x 240, one of 200 each generation" },
    { name = "disparities", value = ("0 to %d"):format(o.disparities), paper = "0 to 50" },
    { name = "fixed front", value = "12 parameters (Table 8.1)", paper = "the same" },
    { name = "crossover", value = "uniform on the front, two points on the rest (§8.14.4)",
      paper = "the same" },
    { name = "mutation", value = "half configuration, half code (§8.14.3)", paper = "the same" },
    { name = "fitness", value = "error, then time (§8.14.5, §8.14.6)", paper = "the same" },
    { name = "clean-up", value = "1 % rule", paper = "1 % rule" },
  }
end

local function microseconds(ns) return ns and ("%.1f us"):format(ns / 1e3) end

local function paper_rows(gpu)
  local function tuned(s)
    local t = s.tuning and s.tuning[1].result
    return t and t.default and t.best and t
  end
  return {
    { name = "as it was", paper = ("%d us"):format(gpu.original),
      ours = function(s) return microseconds(s.winner.default_ns) end },
    { name = "tuned", paper = ("%d us, %.3fx"):format(gpu.pretuned, gpu.pretuned_ratio),
      ours = function(s)
        local t = tuned(s)
        return t and ("%s, %.3fx"):format(microseconds(t.best.ns), t.default.ticks / t.best.ticks)
      end },
    { name = "evolved, cleaned, tuned again", paper = ("%d us, %.3fx"):format(gpu.evolved,
      gpu.ratio),
      ours = function(s)
        local r = s.validation.ratio
        return r and ("%s, %.3fx (median, unseen)"):format(microseconds(s.winner.ns), r.median)
      end },
    { name = "settings of Figure 8.16 on this kernel, tuned", paper = "part of 6.837x",
      ours = function(s)
        local text = gi.genome.join { s.base, M.k20c_settings }
        local m = s._farm:evaluate({ text }, s.fixed_case)[1]
        if not gi.fitness.right(m, s._problem.tolerance) then return m.status .. ", wrong" end
        local c = s._farm:compare(text, "", s.fixed_case)
        return ("%s, %.3fx"):format(microseconds(m.ns), c.ratio)
      end },
  }
end

--------------------------------------------------------------------------------------------------
-- The command line

---@param name string of the results' folder
---@return table options
function M.options(name)
  local spec = {
    doc = "StereoCamera (EuroGP 2014), whole: tune, evolve, clean up, re-tune, validate.",
    { name = "population", default = 100, min = 2, doc = "kernels in a generation" },
    { name = "generations", default = 50, min = 1, doc = "generations" },
    { name = "runs", default = 1, min = 1, doc = "runs, with seeds one after another" },
    { name = "width", default = 320, min = 16, doc = "of the pairs, in pixels" },
    { name = "height", default = 240, min = 16, doc = "of the pairs" },
    { name = "disparities", default = 50, min = 1, max = 128, doc = "the greatest" },
    { name = "small", default = false, doc = "validate on pairs of this size alone" },
    { name = "no-control", default = false, doc = "leave out the random search" },
  }
  local o = gi.cli(spec)
  o.out = o.out or ("out/%s-%d"):format(name, o.seed)
  o.control = not o["no-control"]
  return o
end

---Runs the study with the settings of a GPU of the paper.
---@param name string of the results' folder
---@return Study
function M.run(name)
  local o = M.options(name)
  local problem = gi.problem "kernels/stereo"
  return gi.experiment.run {
    title = "StereoCamera, EuroGP 2014, beside the Tesla K20c", paper = M.paper,
    problem = "kernels/stereo", options = o,
    new_case = function(_, rng) return M.pair(o, rng:int(1 << 31)) end,
    fixed_case = M.pair(o, (1 << 31) + 100), unseen = M.unseen(o, problem),
    tune = { "ROWSperTHREAD", "BLOCK_W" }, retune = { "ROWSperTHREAD", "BLOCK_W", "DPER" },
    scheme = M.scheme(problem), clean = { rule = "percent", percent = 1 },
    settings = setting_rows(o), paper_row = paper_rows(M.gpus[#M.gpus]),
  }
end

return M
