--- liveline: the one line of a terminal that shows progress and is rewritten in place. A command
--- begins it, and steps of the work write to it. Permanent output replaces it. Nothing is written
--- when standard error is not a terminal, or when no command has begun the line.

local host = require "gilua.base.host"
local printable = require "gilua.base.printable"

local M = {}

local LEAST_S = 0.1 -- between two texts

local on, tail = false, nil
local last, is_shown = -math.huge, false

--- Begins the line.
---@param quiet? boolean nothing is to be written
---@param ending? fun(): string text that stands behind each text, such as the time that is left
function M.begin(quiet, ending)
  on, tail, last = not quiet and host.takes_escapes(2), ending, -math.huge
  printable.before_line = on and M.clear or nil
end

--- Removes the text, so that something else may be printed.
function M.clear()
  if not is_shown then return end
  io.stderr:write "\r\27[K"
  is_shown, last = false, -math.huge
end

--- Shows a text in place of the one before; not more often than an eye can follow.
---@param format string
function M.show(format, ...)
  local now = host.seconds()
  if not on or now - last < LEAST_S then return end
  local text = format:format(...) .. (tail and "  " .. tail() or "")
  io.stderr:write("\r\27[K", printable.text(text):sub(1, host.width() - 1))
  last, is_shown = now, true
end

return M
