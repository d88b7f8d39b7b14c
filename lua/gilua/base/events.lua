-- events: the output of a long command with --json: one object a line on standard output, as things
-- happen (docs/formats.md). Everything printed for people goes to standard error from then on, so
-- that standard output has objects only. Each line is written whole, and the last one is an object
-- however the command ends.

local attempt = require "gilua.base.attempt"
local _, core = attempt(require, "gilua.core") -- a plain Lua has none, and no events
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local json = require "gilua.base.json"

local M = {}

local out -- standard output, once `begin` was called
local ended = false

--- Are events asked for?
---@return boolean
function M.on() return out ~= nil end

--- Tells of an event.
---@param event string what has happened
---@param pairs_list table[] its fields, as json.object has them
function M.tell(event, pairs_list)
  if not out then return end
  local fields = table.move(pairs_list, 1, #pairs_list, 2, { { "event", event } })
  local written, why = out:write(json.line(json.object(fields)), "\n")
  if written then written, why = out:flush() end
  if not written then fail("cannot write to standard output: %s", why) end
end

--- The last event: how the command has ended. Later ones are not told.
---@param status integer
---@param message? string
function M.ended(status, message)
  if ended or not out then return end
  local stopped, signal = core.system.ending()
  if stopped then status = 128 + signal end
  ended = true
  M.tell("end", { { "status", status }, { "error", message and message:match "^[^\n]*" } })
end

--- Writes events from now on.
function M.begin()
  if out then return end
  out = core.system.take_stdout()
  ends.at_end(function() M.ended(0) end)
end

return M
