-- folders: an interrupt at any instruction of opening or closing a run's folder leaves no empty
-- folder and no lock behind (gilua.report.folder).

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local lfs = require "lfs"
local tap = require "tap"

-- Raises an error after as many instructions of a function. Returns whether the function came to
-- its end before.
local function interrupted(after, fn)
  local function stop()
    debug.sethook()
    error "interrupted"
  end
  local ended = pcall(function()
    debug.sethook(stop, "", after)
    fn()
    debug.sethook()
  end)
  collectgarbage()
  collectgarbage()
  return ended
end

local function use(given, usual)
  local folder <close> = gi.folder.open(given, usual)
  return folder.dir
end

-- Interrupts a function at each of its instructions. Returns how many there were, and what it left.
local function tried_everywhere(path, fn)
  local count, left = 0, {}
  repeat
    count = count + 1
    local ended = interrupted(count, fn)
    if lfs.attributes(path) then
      left[#left + 1] = ("after %d instructions: %s"):format(count, path)
      os.remove(path .. "/.lock")
      lfs.rmdir(path)
    end
  until ended
  return count, table.concat(left, "\n")
end

tap.case("a folder that a person chose", function()
  local path = tap.folder() .. "/chosen"
  local count, left = tried_everywhere(path, function() use(path, "") end)
  tap.is(left, "", "nothing is left")
  tap.ok(count > 100, "many instructions were tried: " .. count)
end)

tap.case("a new folder", function()
  local path = tap.folder() .. "/usual-1"
  local count, left = tried_everywhere(path, function() use(nil, path) end)
  tap.is(left, "", "nothing is left")
  tap.ok(count > 100, "many instructions were tried: " .. count)
end)

tap.case("a folder that was there stays", function()
  local path = tap.folder()
  local lost = {}
  local count = 0
  repeat
    count = count + 1
    local ended = interrupted(count, function() use(path, "") end)
    if not lfs.attributes(path) then lost[#lost + 1] = count end
    if lfs.attributes(path .. "/.lock") then lost[#lost + 1] = count end
  until ended
  tap.is(table.concat(lost, ", "), "", "at no instruction is it lost, or locked")
end)

tap.done()
