-- place: finds a problem's folder.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local lfs = require "lfs"
local shell = require "gilua.base.shell"

-- A pipe would keep its reader waiting.
local function readable(path)
  local mode = lfs.attributes(path, "mode")
  if mode and mode ~= "file" then fail("%s is a %s, not a file", path, mode) end
  local f = io.open(path, "r")
  if f then f:close() end
  return f ~= nil
end

--- The folder of a problem: as given, else below gilua's own folder.
---@param path string of the folder or of its problem.lua
---@return string
local function place(path)
  path = path:gsub("/problem%.lua$", ""):gsub("(.)/+$", "%1")
  for _, dir in ipairs { path, core.home .. "/" .. path } do
    if readable(dir .. "/problem.lua") then return dir end
  end
  if lfs.attributes(path, "mode") == "file" then
    fail("%s is a file, and a problem is a folder that is made of it: gilua improve %s makes it "
      .. "and does the rest, gilua new %s makes it alone", path, shell.word(path), shell.word(path))
  end
  fail("there is no problem.lua in %s (nor in %s/%s): a problem is a folder like "
    .. "kernels/niftyreg", path, core.home, path)
end

return place
