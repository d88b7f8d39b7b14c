--- attempt: pcall for what the world may make fail. Two errors are passed on instead: Ctrl-C, since
-- it is meant for the whole command, not for one step that could do without its result; and memory
-- that has run out, which says nothing about the attempt.

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
