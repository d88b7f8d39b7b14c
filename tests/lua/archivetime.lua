-- archivetime: for tests that ask what the archive costs. Times all its calls.

local core = require "gilua.core"
local gi = require "gilua"

local M = {}

local depth = 0

-- However deep the archive's calls go, the outermost counts.
local function timed(f, spent)
  local function done(cpu, wall, ...)
    depth = depth - 1
    if depth == 0 then
      spent.processor_s = spent.processor_s + os.clock() - cpu
      spent.clock_s = spent.clock_s + core.system.seconds() - wall
    end
    return ...
  end
  return function(...)
    depth = depth + 1
    return done(os.clock(), core.system.seconds(), f(...))
  end
end

local function time_all(class, spent)
  for name, f in pairs(class) do
    if type(f) == "function" and name:sub(1, 2) ~= "__" then class[name] = timed(f, spent) end
  end
end

--- From now on every call of any archive is timed.
---@return { processor_s: number, clock_s: number } spent grows
function M.begin()
  local spent = { processor_s = 0, clock_s = 0 }
  local folder <close> = require("gilua.base.tempfolder").new()
  local archive <close> = gi.archive.open(folder.path .. "/any.sqlite")
  time_all(getmetatable(archive), spent)
  time_all(getmetatable(archive:memory "any"), spent)
  return spent
end

return M
