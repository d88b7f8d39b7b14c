-- tempfolder: a temporary folder that is removed after use.

local core = require "gilua.core"
local fail = require "gilua.base.fail"

local M = {}

--- An empty folder in $TMPDIR that is removed, with all in it, when the value is closed.
---@return { path: string } to be held in a variable <close>
function M.new()
  local folder, why = core.file.folder()
  if not folder then fail("%s", why) end
  return setmetatable({ path = folder:path() }, { __close = function() folder:close() end })
end

return M
