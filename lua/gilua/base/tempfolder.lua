-- tempfolder: a folder for files that nobody wants afterwards.

local fail = require "gilua.base.fail"
local lfs = require "lfs"

local M = {}

local function remove(path)
  if lfs.symlinkattributes(path, "mode") == "directory" then
    for name in lfs.dir(path) do
      if name ~= "." and name ~= ".." then remove(path .. "/" .. name) end
    end
  end
  os.remove(path)
end

--- An empty folder that is removed, with all in it, when the value is closed.
---@return { path: string } to be held in a variable <close>
function M.new()
  local path = os.tmpname()
  os.remove(path)
  local made, why = lfs.mkdir(path)
  if not made then fail("cannot make the folder %s: %s", path, why) end
  return setmetatable({ path = path }, { __close = function() remove(path) end })
end

return M
