-- gecco2014: the experiment of Langdon, Modat, Petke, Harman, "Improving 3D Medical Image
-- Registration CUDA Software with Genetic Programming", GECCO 2014. Each script
-- experiments/niftyreg_*.lua runs one row of its tables.

local gi = require "gilua"

local M = {}

--- Tables 1, 2 and 4. block: threads a block chosen before evolution and used during it;
--- block_after: chosen again for the cleaned winner; arch: the -arch that was best; ms: of the
--- winner on an image of side 217; evolved_length: genes of the best program, length: after
--- clean-up; genome: the same. The line numbers are the paper's and ours
--- (kernels/niftyreg/README.md).
M.gpus = {
  { key = "nvs290", name = "Quadro NVS 290", capability = "1.1", multiprocessors = 2,
    block = 128, block_after = 256, arch = "sm_11", ms = 62.40, evolved_length = 39, length = 8,
    genome = "<291>+<285> <283>+<249> constantBasis directxBasis <249>+<255> <288>+<283> "
      .. "<249>+<251> <248>+<288>" },
  { key = "gtx295", name = "GeForce GTX 295", capability = "1.3", multiprocessors = 30,
    block = 64, block_after = 512, arch = "sm_13", ms = 3.22, evolved_length = 25, length = 1,
    genome = "constantBasis" },
  { key = "t10", name = "Tesla T10", capability = "1.3", multiprocessors = 30,
    block = 64, block_after = 480, arch = "sm_13", ms = 3.09, evolved_length = 38, length = 1,
    genome = "constantBasis" },
  { key = "c2050", name = "Tesla C2050", capability = "2.0", multiprocessors = 14,
    block = 128, block_after = 160, arch = "none", ms = 2.06, evolved_length = 26, length = 10,
    genome = "<230>+<283> <252>+<251> c_UseBSpline <230>+<291> RemX <237>+<292> <IF_245><IF_167> "
      .. "<288>+<293> <IF_239><IF_167> <238><249>" },
  { key = "gtx580", name = "GeForce GTX 580", capability = "2.0", multiprocessors = 16,
    block = 64, block_after = 160, arch = "none", ms = 0.84, evolved_length = 39, length = 3,
    genome = "constantBasis <251>+<283> <IF_245><IF_167>" },
  { key = "k20c", name = "Tesla K20c", capability = "3.5", multiprocessors = 13,
    block = 128, block_after = 128, arch = "none", ms = 0.71, evolved_length = 19, length = 4,
    genome = "<288><232> <IF_245><IF_167> <288>+<293> directxBasis" },
}

M.paper = "Langdon, Modat, Petke, Harman: Improving 3D Medical Image Registration CUDA Software "
  .. "with Genetic Programming, GECCO 2014"

--- What §4.4 reports of all six: ten unseen configurations.
M.validation = { cases = 10, answers = 16816875, max_error = 0.000107, gain = "7 to 39 %" }

---@param key string "c2050"
---@return table
function M.gpu(key)
  for _, gpu in ipairs(M.gpus) do
    if gpu.key == key then return gpu end
  end
  error(("gilua.gecco2014: the paper has no GPU '%s'"):format(key), 2)
end

--------------------------------------------------------------------------------------------------
-- Cases (§4.1)

---@param side? integer of the cube, 217 in the paper
---@param seed integer
---@return table spec a random squashed ball with a random deformation
function M.ball(side, seed)
  return { side = side or 217, seed = seed }
end

--- Ten balls that no seed of training gives, and, at full size, the real brain where there is one.
---@param side? integer
---@return table[] specs
function M.unseen(side)
  local list = {}
  for i = 1, M.validation.cases do list[i] = M.ball(side, (1 << 31) + i) end
  local brain = gi.samples.path "brain"
  if brain and not side then list[#list + 1] = { image = brain, seed = 1 << 31 } end
  return list
end

--------------------------------------------------------------------------------------------------
-- The study

local function from_tuning(study, which)
  local t = study.tuning and study.tuning[which]
  return t and t.result.best and tostring(t.result.best.values.block_size)
end

local function paper_rows(gpu)
  return {
    { name = "block size before evolution", paper = tostring(gpu.block),
      ours = function(s) return from_tuning(s, 1) end },
    { name = "genes of the best", paper = tostring(gpu.evolved_length),
      ours = function(s) return tostring(gi.genome.length(s.evolved)) end },
    { name = "genes after clean-up", paper = tostring(gpu.length),
      ours = function(s) return s.cleanup and tostring(gi.genome.length(s.cleanup.genome)) end },
    { name = "block size after evolution", paper = tostring(gpu.block_after),
      ours = function(s) return from_tuning(s, 2) end },
    { name = "time of the winner", paper = ("%.2f ms"):format(gpu.ms),
      ours = function(s) return ("%.4f ms"):format(s.winner.ns / 1e6) end },
    { name = "faster than the default, unseen", paper = M.validation.gain .. " (six GPUs)",
      ours = function(s)
        local r = s.validation.ratio
        return r and ("%.1f %%"):format(100 * (r.median - 1))
      end },
    { name = "largest error, unseen", paper = ("%g"):format(M.validation.max_error),
      ours = function(s) return ("%.3g"):format(s.validation.max_error) end },
    { name = "answers checked, unseen", paper = gi.progress.grouped(M.validation.answers),
      ours = function(s) return gi.progress.grouped(s.validation.answers) end },
  }
end

local function setting_rows(o, block)
  return {
    { name = "population", value = o.population, paper = "300" },
    { name = "generations", value = o.generations, paper = "50" },
    { name = "training image", value = ("a new ball of side %d each generation"):format(
      o.side or 217), paper = "a new ball of side 217 each generation" },
    { name = "block size during evolution", value = block or "the best of tuning", paper =
      "the best of tuning" },
    { name = "selection", value = "truncation, 50 %", paper = "truncation, 50 %" },
    { name = "children", value = "half mutation, half two-point crossover",
      paper = "half mutation, half two-point crossover" },
    { name = "runs", value = o.runs, paper = "1" },
  }
end

local OPTIONS = {
  doc = "The experiment of GECCO 2014, whole: tune, evolve, clean up, re-tune, validate, report.",
  { name = "tuned", default = false,
    doc = "evolve at this device's own best block size, not the paper's" },
}

--- The command line of these experiments.
---@param name string of the results' folder
---@return table options
function M.options(name)
  local spec = { doc = OPTIONS.doc, OPTIONS[1], table.unpack(gi.experiment.options) }
  local o = gi.cli(spec)
  o.usual = ("out/%s-%d"):format(name, o.seed)
  o.control = not o["no-control"]
  return o
end

--- The study of one GPU's column.
---@param name string of the results' folder
---@param given? table { gpu = key of `gpus`, and fields of a Study that replace these }
---@return Study
function M.run(name, given)
  given = given or {}
  local gpu = given.gpu and M.gpu(given.gpu)
  local o = M.options(name)
  local block = gpu and not o.tuned and gpu.block or nil
  local study = {
    title = gpu and ("NiftyReg, GECCO 2014, settings of the %s"):format(gpu.name)
      or "NiftyReg, GECCO 2014",
    paper = M.paper, problem = "kernels/niftyreg", options = o,
    new_case = function(_, rng) return M.ball(o.side, rng:int(1 << 31)) end,
    fixed_case = M.ball(o.side, (1 << 31) + 100), unseen = M.unseen(o.side),
    base = block and ("block_size=%d"):format(block), tune = { "block_size" },
    compiler = { "ptxas", "arch" },
    settings = setting_rows(o, given.base == "" and "the default" or block),
    paper_row = gpu and paper_rows(gpu) or {},
  }
  for key, value in pairs(given) do
    if key ~= "gpu" then study[key] = value end
  end
  return gi.experiment.run(study)
end

--- Returns in which voxel an answer of NiftyReg's cases lies, from 0, x fastest: they list groups
--- of k x k voxels along y and z by their first one. Returns nil for a case of another kind.
---@param case table
---@param answers integer how many the case has
---@return (fun(i: integer): integer)? voxel of answer i, from 1
function M.voxel_of(case, answers)
  if not case.groups or not case.image_size or #case.image_size ~= 3 then return nil end
  local group = answers // #case.groups
  local k = math.tointeger(math.sqrt(group))
  if not k or group * #case.groups ~= answers then return nil end
  local nx, ny = case.image_size[1], case.image_size[2]
  return function(i)
    local lane = (i - 1) % group
    return case.groups[(i - 1) // group + 1] + lane % k * nx + lane // k * nx * ny
  end
end

return M
