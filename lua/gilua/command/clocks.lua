-- clocks: the time limits of a command and of a search within it.

local gi = require "gilua"

local M = {}

--- The share of a time after which a search ends; the rest is for what comes after it.
M.SEARCH = 0.6

-- An on_generation (gilua.evolve) that leaves a run as many generations as there is time for, so
-- that the last half of them looks around the best (gilua.own.scheme).
local function fitting(clock, ending)
  local began = gi.host.seconds()
  return function(run, record)
    local each = (gi.host.seconds() - began) / record.generation
    local more = math.max(0, clock.left() - ending) / each
    run.scheme.generations = math.min(run.scheme.generations,
      record.generation + math.tointeger(math.min(more // 1, 1 << 20)))
  end
end

--- Returns a clock of so many minutes, which begins now: left() seconds, words(), and for a search
--- that leaves `ending` seconds fitting(ending), an on_generation, and enough(ending), a scheme's.
---@param minutes number
---@return table
function M.of(minutes)
  local clock, began = { all = 60 * minutes }, gi.host.seconds()
  function clock.left() return clock.all - (gi.host.seconds() - began) end
  function clock.words()
    return ("%s of %s"):format(gi.progress.duration(gi.host.seconds() - began),
      gi.progress.duration(clock.all))
  end
  function clock.fitting(ending) return fitting(clock, ending) end
  function clock.enough(ending)
    return function() return clock.left() < ending and "its time was over" or nil end
  end
  return clock
end

return M
