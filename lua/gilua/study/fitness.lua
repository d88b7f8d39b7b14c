--- fitness: the formulas of `lua/gilua/search/fitness.lua` under the names of the papers'
--- experiments. `gi.fitness` is this module.

local M = {}

local function take_names(from)
  for name, value in pairs(from) do M[name] = value end
end
take_names(require "gilua.search.fitness")

--- The fitness of NiftyReg (GECCO 2014, §3.8) is `absolute`.
M.niftyreg = M.absolute

--- The error of StereoCamera (chapter 8, §8.14.5.3) is `mean_penalty`.
M.stereo_error = M.mean_penalty

--- The fitness of StereoCamera (chapter 8, §8.14.6) is `error_first`.
M.stereo = M.error_first

--- A parent of StereoCamera's experiment (chapter 8, §8.14.6) is `faster_within` the limit.
M.stereo_acceptable = M.faster_within

--- Returns the function that an archive of an older gilua names so, or nil.
---@param name string "fitness.niftyreg"
---@return function?
function M.formerly(name)
  local own = name:match "^fitness%.(.+)$"
  return own and M[own]
end

return M
