--- undo: calls a function and undoes something if an error or Ctrl-C stops the function.

local trace = require "gilua.base.trace"

local function passed_on(undo, ok, ...)
  if ok then return ... end
  undo()
  error((...), 0)
end

--- Calls a function; undo() where it fails, whose error is raised then.
---@param undo fun()
---@param f function
---@return any ... what the function returns
return function(undo, f, ...)
  return passed_on(undo, xpcall(f, trace.handler, ...))
end
