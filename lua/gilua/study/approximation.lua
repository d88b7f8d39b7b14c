--- approximation: tests whether a kernel is still right when its approximate functions (__sinf,
--- __fdividef, sqrtf under -use_fast_math …) have the largest error that the PTX ISA allows. The
--- virtual GPU rounds their true value; hardware does not.

local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local progress = require "gilua.report.progress"

local WAYS = { "away from zero", "towards zero", "each in turn away from zero and towards it" }

local M = {}

-- The same case with answers of the virtual GPU: its workers cannot start a real one.
local function without_gpu(case)
  local own = {}
  for key, value in pairs(case) do own[key] = key ~= "device" and value or nil end
  return own
end

-- Both kernels with approximations that are off in that way: see gi.device.
local function measured(o, way, case)
  local farm <close> = require("gilua").farm(o.problem, { device = "emu", jobs = o.jobs,
    approximation = way })
  return farm:evaluate({ genome.join { o.genome }, "" }, case)
end

--- Why a genome is wrong, in a sentence; nil where it is right, and where the unmodified kernel is
--- wrong as well. Of a recorded problem nothing is known.
---@param o { problem: gilua.problem, genome: string, case: table, jobs?: integer }
---@return string?
function M.wrong(o)
  if o.problem.definition.recorded then return nil end
  local exact
  for way = 0, #WAYS do
    local both = measured(o, way, without_gpu(o.case))
    local m, own = both[1], both[2]
    if way == 0 then exact = m end
    if way > 0 and fitness.right(own) and not fitness.right(m) then
      return ("approximate functions that err %s, as far as the PTX ISA lets them, make %s of %s "
        .. "answers wrong, largest error %.3g; the kernel as it is stays right"):format(WAYS[way],
        progress.grouped(math.floor(m.wrong * m.n + 0.5)), progress.grouped(m.n), m.max_error)
    end
    -- No error is another: there is no such function.
    if way == 1 and m.max_error == exact.max_error and m.mean_error == exact.mean_error then
      return nil
    end
  end
end

return M
