-- eurogp2014: the experiment on StereoCamera of Langdon and Harman, "Genetically Improved CUDA
-- Software", EuroGP 2014; UCL RN/14/02; Langdon, "Genetically Improved Software", 2015, chapter 8
-- (whose sections are named here). experiments/stereo_k20c.lua runs it.

local gi = require "gilua"
local fail = require "gilua.base.fail"
local entries = require "gilua.base.entries"
local lfs = require "lfs"

local M = {}

--- RN/14/02, Table 4: mean microseconds on 2516 pairs of 320 x 240: as it was, tuned, evolved and
--- tuned again (nil where the text as we have it is not legible).
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

--- Table 8.1, in its order: the fixed front of a genome.
M.configuration = {
  "cache_preference", "dlcm", "OUT_TYPE", "STORE_disparityPixel", "STORE_disparityMinSSD", "DPER",
  "XHALO", "mul24", "GPtexturereadmode", "texturefilterMode", "textureaddressMode",
  "texturenormalized",
}

--- §8.14.2: in the first population rules of the kernel's header are a thousand times as likely.
M.header_weights = { launchbounds = 1000, optrestrict = 1000, optconst = 1000, optvolatile = 1000 }

--- The four settings of Figure 8.16 that are configuration; and with them its code changes, on the
--- lines of our kernel that do the same (README.md of kernels/stereo).
M.k20c_settings = "DPER=2 STORE_disparityMinSSD=SHARED XHALO STORE_disparityPixel=SHARED"
M.k20c_genome = M.k20c_settings
  .. " <pragma_307><pragma_K3> <pragma_265><pragma_K11> <299> <IF_286><IF_211>"

--------------------------------------------------------------------------------------------------
-- Cases

--- A made-up pair of the paper's size, 320 x 240, or another.
---@param o { width: integer, height: integer, disparities: integer }
---@param seed integer
---@return table spec
function M.pair(o, seed)
  return { seed = seed, width = o.width, height = o.height, max_disparity = o.disparities }
end

-- The pairs of a folder: pictures of equal names in its folders left and right.
local function pairs_in(folder, most)
  if lfs.attributes(folder .. "/left", "mode") ~= "directory" then
    fail("--pairs %s: it has no folder 'left'; pairs are pictures of equal names in its folders "
      .. "left and right", folder)
  end
  local names, list = {}, {}
  for name in entries(folder .. "/left") do
    if name:match("%.pgm$") or name:match("%.png$") then names[#names + 1] = name end
  end
  if #names == 0 then fail("--pairs %s: there is no .pgm or .png in its left", folder) end
  table.sort(names)
  for i, name in ipairs(names) do
    list[i] = { left = ("%s/left/%s"):format(folder, name), max_disparity = most,
                right = ("%s/right/%s"):format(folder, name) }
  end
  return list
end

local function other_sizes(list, o, problem)
  for i, size in ipairs(o.sizes) do
    if size[1] ~= o.width or size[2] ~= o.height then
      list[#list + 1] = { seed = (1 << 31) + 20 + i, width = size[1], height = size[2],
                          max_disparity = o.disparities }
    end
  end
  local aloe = { image = "aloe", max_disparity = o.disparities }
  if problem:case(aloe) then list[#list + 1] = aloe end
end

--- Pairs that no seed of training gives; other sizes, the Aloe pair where it is installed, and the
--- pairs of the folder that --pairs names.
---@param o table
---@param problem table
---@return table[] specs
function M.unseen(o, problem)
  local list = {}
  for i = 1, 10 do list[i] = M.pair(o, (1 << 31) + i) end
  if not o.small then other_sizes(list, o, problem) end
  local real = o.pairs and pairs_in(o.pairs, o.disparities) or {}
  return table.move(real, 1, #real, #list + 1, list)
end

--- What the winner computes, as pictures: of a made-up pair whose depth is known, and of Aloe.
---@param o table
---@return fun(farm: table, genome: string): table[]
function M.draw(o)
  return function(farm, genome)
    local list = { gi.disparity.draw(farm, genome, { name = "pair", title = "A made-up pair",
      spec = M.pair(o, (1 << 31) + 101) }) }
    if not o.small then
      list[2] = gi.disparity.draw(farm, genome, { name = "aloe", title = "The Aloe pair",
        spec = { image = "aloe", max_disparity = o.disparities } })
    end
    return list
  end
end

--------------------------------------------------------------------------------------------------
-- The scheme (Table 8.2)

--- Fields of a scheme of gilua.evolve.
---@param problem table
---@param front? string[] parameters of the fixed front (`configuration`)
---@return table
function M.scheme(problem, front)
  local operators = gi.configured.new(problem, front or M.configuration)
  local weighted = gi.genome.source(problem, { weights = M.header_weights })
  return {
    init = function(n, _, rng) return operators.init(n, weighted, rng) end,
    mutate = operators.mutate, cross = operators.cross,
    fitness = gi.fitness.stereo, acceptable = gi.fitness.stereo_acceptable,
  }
end

local function setting_rows(o, front)
  return {
    { name = "population", value = o.population, paper = "100" },
    { name = "generations", value = o.generations, paper = "50" },
    { name = "pair", value = ("%d x %d, a new one each generation"):format(o.width, o.height),
      paper = "320 x 240, one of 200 each generation" },
    { name = "disparities", value = ("0 to %d"):format(o.disparities), paper = "0 to 50" },
    { name = "fixed front", value = ("%d parameters"):format(#front),
      paper = "12 parameters (Table 8.1)" },
    { name = "crossover", value = "uniform on the front, two points on the rest (§8.14.4)",
      paper = "the same" },
    { name = "mutation", value = "half configuration, half code (§8.14.3)", paper = "the same" },
    { name = "fitness", value = "error, then time (§8.14.5, §8.14.6)", paper = "the same" },
    { name = "tuning", value = o.tuning == "few" and "some settings" or "every setting",
      paper = "all reasonable combinations" },
    { name = "clean-up", value = "1 % rule", paper = "1 % rule" },
  }
end

local function microseconds(ns) return ns and ("%.1f us"):format(ns / 1e3) end

-- Pixels tried at a disparity, in a pair.
local function tries(o)
  return o.width * o.height * (o.disparities + 1)
end

--- How fast the winner is as a camera would see it, beside a GPU of the paper: rows of a study.
---@param gpu table of `gpus`
---@param o table
---@return table[]
function M.rates(gpu, o)
  return {
    { name = "pairs a second", paper = ("%.0f"):format(1e6 / gpu.evolved),
      ours = function(s) return ("%.0f"):format(1e9 / s.winner.ns) end },
    { name = "pixel-disparities a second",
      paper = ("%.3g"):format(320 * 240 * 51 * 1e6 / gpu.evolved),
      ours = function(s) return ("%.3g"):format(tries(o) * 1e9 / s.winner.ns) end },
  }
end

-- What a genome of the paper does on the tuned kernel: a row.
local function replay(name, paper, genes)
  return { name = name, paper = paper, ours = function(s)
    local text = gi.genome.join { s.base, genes }
    local m = s._farm:evaluate({ text }, s.fixed_case)[1]
    if not gi.fitness.right(m) then return m.status .. ", wrong" end
    local c = s._farm:compare(text, "", s.fixed_case)
    return ("%s, %.3fx"):format(microseconds(m.ns), c.ratio)
  end }
end

local function paper_rows(gpu, o)
  local function tuned(s)
    local t = s.tuning and s.tuning[1].result
    return t and t.default and t.best and t
  end
  local rates = M.rates(gpu, o)
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
    rates[1], rates[2],
    replay("settings of Figure 8.16 on this kernel, tuned", "part of 6.837x", M.k20c_settings),
    replay("and its code changes", "6.837x", M.k20c_genome),
  }
end

--------------------------------------------------------------------------------------------------
-- The command line

--- What is not given on the command line: the paper's, and, as the virtual GPU runs hundreds of
--- thousands times slower than a GPU, less of it there. sizes: of unseen pairs besides that of
--- training (Figure 8.15: what is lost on others).
M.defaults = {
  gpu = { population = 100, generations = 50, width = 320, height = 240, tuning = "all",
          sizes = { { 160, 120 }, { 320, 240 }, { 400, 300 }, { 640, 480 } } },
  emu = { population = 20, generations = 8, width = 128, height = 96, tuning = "few",
          sizes = { { 160, 120 }, { 240, 180 }, { 320, 240 }, { 400, 300 } } },
}

-- Shapes about the best of RN/14/02 (§6: 5 rows, 64 wide) that the virtual GPU is quick with: the
-- fewer rows, the more it has to do.
local FEW = {
  { name = "ROWSperTHREAD", values = { 3, 5, 10, 20, 40 } },
  { name = "BLOCK_W", values = { 32, 64, 128 } }, { name = "DPER", values = { 1, 2, 4 } },
}

--- The parameters of the tuning before and after evolution.
---@param o { tuning: string }
---@return table before
---@return table after
function M.tunings(o)
  if o.tuning == "few" then return { FEW[1], FEW[2] }, FEW end
  return { "ROWSperTHREAD", "BLOCK_W" }, { "ROWSperTHREAD", "BLOCK_W", "DPER" }
end

local function all_or_few(text)
  return text == "all" or text == "few", "must be all or few"
end

---@param name string of the results' folder
---@return table options
function M.options(name)
  local spec = {
    doc = "StereoCamera (EuroGP 2014), whole: tune, evolve, clean up, re-tune, validate.",
    { name = "population", type = "integer", min = 2,
      doc = "kernels in a generation (100; on emu 20)" },
    { name = "generations", type = "integer", min = 1, doc = "generations (50; on emu 8)" },
    { name = "runs", default = 1, min = 1, doc = "runs, with seeds one after another" },
    { name = "width", type = "integer", min = 16,
      doc = "of the pairs, in pixels (320; on emu 128)" },
    { name = "height", type = "integer", min = 16, doc = "of the pairs (240; on emu 96)" },
    { name = "disparities", default = 50, min = 1, max = 128, doc = "the greatest" },
    { name = "tuning", type = "string", check = all_or_few,
      doc = "all settings, or few (all; on emu few)" },
    { name = "pairs", type = "string", doc = "a folder of real pairs, to validate on too" },
    { name = "small", default = false, doc = "validate on pairs of this size alone" },
    { name = "no-control", default = false, doc = "leave out the random search" },
  }
  local o = gi.cli(spec)
  local virtual = (o.device or "emu") == "emu"
  for key, value in pairs(M.defaults[virtual and "emu" or "gpu"]) do
    if o[key] == nil then o[key] = value end
  end
  o.usual = ("out/%s-%d"):format(name, o.seed)
  o.control = not o["no-control"]
  return o
end

--- The study of this command line, for gilua.experiment: fields may be replaced before it is run.
---@param name string of the results' folder
---@param given? { problem: string, front: string[] } another problem with the same cases, and its
---  parameters of the fixed front
---@return Study
function M.study(name, given)
  local o = M.options(name)
  local folder = given and given.problem or "kernels/stereo"
  local front = given and given.front or M.configuration
  local problem = gi.problem(folder)
  local before, after = M.tunings(o)
  return {
    title = "StereoCamera, EuroGP 2014, beside the Tesla K20c", paper = M.paper,
    problem = folder, options = o,
    new_case = function(_, rng) return M.pair(o, rng:int(1 << 31)) end,
    fixed_case = M.pair(o, (1 << 31) + 100), unseen = M.unseen(o, problem),
    tune = before, retune = after, scheme = M.scheme(problem, front),
    clean = { rule = "percent", percent = 1 }, configuration = front,
    error = { name = "mean penalty of a pixel", of = gi.fitness.stereo_error }, draw = M.draw(o),
    settings = setting_rows(o, front), paper_row = paper_rows(M.gpus[#M.gpus], o),
  }
end

--- Runs the study with the settings of a GPU of the paper.
---@param name string of the results' folder
---@return Study
function M.run(name)
  return gi.experiment.run(M.study(name))
end

return M
