-- results: the names of the files that a run leaves in its folder. Other files there are a user's.

local attempt = require "gilua.base.attempt"
local entries = require "gilua.base.entries"
local fail = require "gilua.base.fail"
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
  local whole = name:match "^(.+)%.gilua%-%w%w%w%w%w%w$"
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

-- 2 before 10.
local function by_number(a, b)
  local m, n = tonumber(a), tonumber(b)
  if m and n then return m < n end
  return a < b
end

--- The runs in a folder, those of islands say: names of folders in it. None where it is no folder.
---@param folder string
---@return string[] names in order
function M.runs_in(folder)
  local names = {}
  if lfs.attributes(folder, "mode") ~= "directory" then return names end
  for name in entries(folder) do
    local path = ("%s/%s"):format(folder, name)
    if lfs.symlinkattributes(path, "mode") == "directory" and M.is_run(path) then
      names[#names + 1] = name
    end
  end
  table.sort(names, by_number)
  return names
end

local MOST_NAMED = 4

--- Refuses a folder that is no run's. If it holds runs, the sentence names them.
---@param folder string
---@param why string
function M.refuse(folder, why)
  local known, names = attempt(M.runs_in, folder)
  if not known or #names == 0 then fail("%s %s", folder, why) end
  local more = #names > MOST_NAMED and (" and %d more"):format(#names - MOST_NAMED) or ""
  for i, name in ipairs(names) do names[i] = ("%s/%s"):format(folder, name) end
  fail("%s is no run, but holds some: %s%s", folder,
    table.concat(names, ", ", 1, math.min(#names, MOST_NAMED)), more)
end

return M
