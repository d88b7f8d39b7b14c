-- results: the names of what a run leaves in its folder, to tell it from what others put there.

local lfs = require "lfs"

local M = {}

--- The archive of a run's folder (gilua.store.archive).
M.ARCHIVE = "archive.sqlite"

local NAMES = { "^result%.json$", "^best%.cu$", "^best%.patch$", "^best%.ptx$",
  "^generations%.csv$", "^log%.txt$", "^experiment%.json$", "^report%.html$", "%.t4%.json$",
  "%.cache%.json$", "^problem%.kept$", "^verify%.json$", "^pick%-%d+%.ptx$" }

-- What stays where it is when another run begins in the folder.
local LASTING = { "^archive%.sqlite", "^proposals$", "^earlier%-%d+$", "^%.lock$" }

local function matches(name, patterns)
  for _, pattern in ipairs(patterns) do
    if name:find(pattern) then return true end
  end
  return false
end

--- Is it the name of a run's results, which move aside for another's?
---@param name string
---@return boolean
function M.is_result(name)
  return matches(name, NAMES)
end

-- What a program that was killed left of a file that it was about to put in its place: the name,
-- and six letters (src/base/file.c).
local function is_torn(name)
  local whole = name:match "^(.+)%.%w%w%w%w%w%w$"
  return whole ~= nil and (M.is_result(whole) or matches(whole, LASTING))
end

--- Is it the name of anything that a run leaves in its folder?
---@param name string
---@return boolean
function M.is_left(name)
  return M.is_result(name) or matches(name, LASTING) or is_torn(name)
end

--- Is it the folder of a run?
---@param folder string
---@return boolean
function M.is_run(folder)
  return lfs.attributes(("%s/%s"):format(folder, M.ARCHIVE), "mode") == "file"
end

return M
