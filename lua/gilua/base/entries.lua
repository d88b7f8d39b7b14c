--- entries: the names in a folder, as lfs.dir has them, or a sentence if it cannot be read.

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local lfs = require "lfs"

local function passed_on(folder, ok, ...)
  if ok then return ... end
  local why = tostring((...))
  fail("cannot read the folder %s: %s", folder, why:match ": ([^:]*)$" or why)
end

--- For a loop over the names in a folder, "." and ".." among them.
---@param folder string
---@return fun(): string?
---@return any ...
return function(folder)
  return passed_on(folder, attempt(lfs.dir, folder))
end
