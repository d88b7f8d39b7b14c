--- attempt: pcall for steps that may fail without ending the command. It passes two errors on:
-- Ctrl-C, which is meant for the whole command, and running out of memory, which says nothing about
-- the step.

local ends = require "gilua.base.ends"

local function passed_on(ok, ...)
  if not ok and (ends.is_interruption((...)) or ends.is_no_memory((...))) then error((...), 0) end
  return ok, ...
end

--- Calls a function; true and its results, or false and the error.
---@param f function
---@return boolean ok
---@return any ...
local function attempt(f, ...)
  return passed_on(pcall(f, ...))
end

return attempt
