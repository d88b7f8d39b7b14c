-- problems.lua - the problems of kernels/.

local lfs = require "lfs"

local M = {}

--- Their names, in order.
---@return string[]
function M.names()
  local names = {}
  for name in lfs.dir "kernels" do
    if lfs.attributes("kernels/" .. name .. "/problem.lua", "mode") then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

return M
