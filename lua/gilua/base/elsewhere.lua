--- elsewhere: maps a file's name to the place where it lies on this machine. A manager on another
--- machine names recordings and libraries by its own paths; an agent has fetched them
--- (gilua.farm.parcels), and whatever opens one of them looks its place up here.

local M = { files = {} } -- by name: where it lies; a worker's are those of the message at hand

--- Where to open a file of that name.
---@param path string
---@return string
function M.of(path)
  return M.files[path] or path
end

return M
