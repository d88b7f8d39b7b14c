-- limit: the ratio of a kernel's time to the shortest time that its work allows
-- (gilua.base.roofline), also for a GPU: since a GPU counts no work, the virtual GPU runs the same
-- kernels on the same case once.

local attempt = require "gilua.base.attempt"
local roofline = require "gilua.base.roofline"

local M = {}

--- Processor seconds that the virtual GPU may take for each: it is a courtesy, at the end of a run.
M.MOST_S = 3

--- Warp instructions of a reference that is a kernel: about as long.
M.MOST_WORK = 3e8

-- The case with a reference that runs on the virtual GPU, where it names a device for that.
local function of_emu(case)
  if not case.device then return case end
  local copy = {}
  for name, value in pairs(case) do copy[name] = value end
  copy.device, copy.budget = nil, math.min(case.budget or math.huge, M.MOST_WORK)
  return copy
end

-- What the virtual GPU counts of genomes on a case; of one that takes too long its status tells.
local function counted(problem, genomes, case)
  local farm <close> = require("gilua").farm(problem, { device = "emu", check = "winners",
    jobs = #genomes, timeout_s = M.MOST_S })
  return farm:evaluate(genomes, of_emu(case))
end

-- Why there is no limit, for a person.
local function why_of(m)
  return m.status == "timeout"
    and ("not known, as the virtual GPU, which counts the work, was not through in %d s"):format(
      M.MOST_S)
    or "not known, as the virtual GPU, which counts the work, says " .. m.status
end

--- The limits of kernels that a farm measured.
---@param farm gilua.farm
---@param genomes string[]
---@param case table on which they were measured
---@param measured gilua.measurement[]
---@return gilua.roofline[]? limits one for each; nil where one has none
---@return string? message why
function M.of(farm, genomes, case, measured)
  local list, work, gpu = {}, measured, nil
  if not farm.virtual then
    gpu = farm.devices and farm.devices[1]
    if farm.options.cluster or not gpu then return nil, "not known, as agents count no work" end
    local ran, counts = attempt(counted, farm.problem, genomes, case)
    if not ran then
      return nil, "not known, as the virtual GPU, which counts the work, cannot do the case: "
        .. tostring(counts):match "[^\n]*"
    end
    work = counts
  end
  for i, m in ipairs(measured) do
    if work[i].status ~= "ok" then return nil, why_of(work[i]) end
    local why
    if gpu then
      list[i], why = roofline.on_gpu(m.ns, work[i], gpu)
    else
      list[i], why = roofline.of(m)
    end
    if not list[i] then return nil, why end
  end
  return list
end

return M
