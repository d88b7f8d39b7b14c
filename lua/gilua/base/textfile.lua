-- textfile: a whole file as a text, and back, or a sentence about why not.

local fail = require "gilua.base.fail"

local M = {}

local MOST_BYTES = 1 << 26 -- of a text

-- What is there and no file may keep its reader waiting, or never end.
local function refuse_others(path, what)
  local lfs = require "lfs" -- here: a plain Lua may have none
  local mode = lfs.attributes(path, "mode")
  if mode and mode ~= "file" then
    fail("cannot read %s: %s is a %s", what, path, mode == "directory" and "folder" or mode)
  end
end

---@param path string
---@param what string that it is, for the sentence: "the kernel"
---@param most? integer bytes that it may have
---@return string
function M.read(path, what, most)
  most = most or MOST_BYTES
  refuse_others(path, what)
  local file, why = io.open(path, "rb")
  if not file then fail("cannot read %s: %s", what, why) end
  local text = file:read(most + 1) or ""
  file:close()
  if #text > most then
    fail("cannot read %s: %s has more than %.1f MB", what, path, most / 1e6)
  end
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
