-- textfile: a whole file as a text, or a sentence about why not.

local fail = require "gilua.base.fail"

local M = {}

---@param path string
---@param what string that it is, for the sentence: "the kernel"
---@return string
function M.read(path, what)
  local file, why = io.open(path, "rb")
  if not file then fail("cannot read %s: %s", what, why) end
  local text = file:read("a")
  file:close()
  if text == nil then fail("cannot read %s: %s is a folder", what, path) end
  return text
end

return M
