-- textfile: a whole file as a text, and back, or a sentence about why not.

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

--- mkdir -p
---@param dir string
---@return boolean? made
---@return string? message
function M.make_folder(dir)
  local lfs = require "lfs" -- here: a plain Lua may have none
  local mode = lfs.attributes(dir, "mode")
  if mode == "directory" then return true end
  if mode then return nil, "Not a directory" end
  local parent = dir:gsub("/+$", ""):match("^(.*[^/])/+[^/]+$")
  if parent then
    local ok, why = M.make_folder(parent)
    if not ok then return nil, why end
  end
  return lfs.mkdir(dir)
end

--- Writes a whole file, or refuses with why not.
---@param path string
---@param text string
function M.write(path, text)
  local file, why = io.open(path, "wb")
  if not file then fail("cannot write %s", why) end
  local written, problem = file:write(text)
  local closed, late_problem = file:close()
  if not (written and closed) then fail("cannot write %s: %s", path, problem or late_problem) end
end

return M
