--- elsewhere: files that lie at other places here than where their names say. A problem of a
--- manager's on another machine names recordings and libraries that an agent has fetched
--- (gilua.farm.parcels); who opens one of them asks here.

local M = { files = {} } -- by name: where it lies; a worker's are those of the message at hand

--- Where to open a file of that name.
---@param path string
---@return string
function M.of(path)
  return M.files[path] or path
end

return M
