--- ends: ends a program that cannot go on, with a sentence for a person and a status for scripts.

local apart = require "gilua.base.apart"

local M = {}

--- Exit statuses: 0 is success, and these say whose turn it is.
M.STATUS = {
  world = 1, -- something is not as it must be: a file, a device, a kernel, an answer
  usage = 2, -- the command line is not understood
  no_winner = 3, -- nothing that is right is faster than the kernel as it is
  cannot_run = 4, -- gilua run: the program has what the virtual GPU cannot run
  interrupted = 130, -- Ctrl-C, as shells have it: 128 and the number of the signal
}

local Refusal = { __tostring = function(e) return e.message end }

--- Raises a sentence: it is printed without a traceback, and the program ends with the status.
---@param status integer
---@param format string
function M.with(status, format, ...)
  local message = select("#", ...) > 0 and format:format(...) or format
  error(setmetatable({ message = message, status = status }, Refusal), 0)
end

--- Is it what a refusal raises? An interruption, for one, is not.
---@param e any
---@return boolean
function M.is_refusal(e)
  return getmetatable(e) == Refusal
end

--- Is an error Ctrl-C's?
---@param problem any
---@return boolean
function M.is_interruption(problem)
  return tostring(problem):find("interrupted!", 1, true) ~= nil
end

local NO_MEMORY = "not enough memory" -- Lua's words

--- Is an error memory that has run out, as Lua says it, or a module that was being loaded?
---@param e any
---@return boolean
function M.is_no_memory(e)
  if type(e) ~= "string" then return false end
  return e == NO_MEMORY
    or e:find "^error loading module" ~= nil and e:sub(-#NO_MEMORY) == NO_MEMORY
end

--- Raises it.
function M.raise_no_memory()
  error(NO_MEMORY, 0)
end

--------------------------------------------------------------------------------------------------
-- What is done at the end of the whole command, where nothing has stopped it

local last_works = {}

--- Keeps a piece of work for the end of the command.
---@param work fun()
function M.at_end(work)
  last_works[#last_works + 1] = work
end

--- The command has come to its end: what was kept for it is done, once. Called by the host.
function M.finish()
  local works = last_works
  last_works = {}
  apart(works)
end

return M
