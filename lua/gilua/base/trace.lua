--- trace: where an error came from, in terms of the user's script. Calls inside gilua are shown
-- only when the mistake may be gilua's own.

local ends = require "gilua.base.ends"
local hint = require "gilua.base.hint"

local M = {}


-- What the host runs for a command and for a worker.
local HOSTS = { command = true, worker = true }

-- Is a file one of gilua's own? Lua shortens long paths from the left.
local function is_our_file(path)
  return HOSTS[path] or ("/" .. path):find "/lua/gilua/[%w_/]+%.lua$" ~= nil
end

local function begins_with_ours(text)
  local file = text:match "^([^\n]-):%d+:"
  return file ~= nil and is_our_file(file)
end

local function is_own(info)
  return info.what ~= "C" and not is_our_file((info.source:gsub("^[@=]", "")))
end

--- Is a function one of gilua's?
---@param f function
---@return boolean
function M.is_ours(f)
  return not is_own(debug.getinfo(f, "S"))
end

--- Where a function begins: "mine.lua:13".
---@param f function
---@return string
function M.place(f)
  local info = debug.getinfo(f, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

--- The line of a script that was running, the innermost: "mine.lua:14"; nil where none was.
---@param level integer as debug.getinfo has it
---@param outermost? function how far out to look
---@return string?
function M.line(level, outermost)
  for i = level + 1, math.huge do
    local info = debug.getinfo(i, "Slf")
    if not info or outermost and info.func == outermost then return nil end
    if is_own(info) then return ("%s:%d"):format(info.short_src, info.currentline) end
  end
end

--- What stops Lua from without, as a sentence: memory that has run out, and a part of gilua that
--- cannot be read, where `require` lists in many lines the places it searched.
---@param message string
---@return string?
function M.from_without(message)
  if ends.is_no_memory(message) then return "not enough memory" end
  local part = message:match "module '(gilua%.[^']*)' not found:"
    or message:match "error loading module '(gilua%.[^']*)' .-\n\tcannot open"
  return part and ("a part of gilua cannot be read: %s%s"):format(part,
    message:match "cannot open [^\n]*(: [^:\n]*)$" or "")
end

--- A message as the script's: with its line, where there is one, in place of one of gilua's.
---@param message string
---@param level integer of what was running
---@param outermost? function how far out to look
---@return string
function M.told(message, level, outermost)
  message = M.from_without(message) or hint.add(message)
  if not begins_with_ours(message) then return message end
  local rest, line = message:match "^[^\n]-:%d+: (.*)$", M.line(level + 1, outermost)
  return line and ("%s: %s"):format(line, rest) or rest
end

--- Raises what is wrong with a call, at the script's line that made it.
---@param format string
function M.misuse(format, ...)
  local message, line = format:format(...), M.line(1)
  error(line and ("%s: %s"):format(line, message) or message, 0)
end

-- The frames of a traceback that are a script's.
local function own_frames(text)
  local lines = {}
  for line in text:gmatch "\n\t([^\n]*)" do
    local none = begins_with_ours(line) or line:find "^%[C%]" or line:find "^%(%.%.%.tail"
    if not none then lines[#lines + 1] = line end
  end
  return lines
end

--- Returns a message with the calls that led to it: none if the message says enough, all if the
--- error is in gilua's own code. An interruption is not an error, wherever it came.
---@param message string
---@param level integer of what was running
---@return string
function M.text(message, level)
  if ends.is_interruption(message) then return "interrupted" end
  if message:find("\nstack traceback:", 1, true) then return message end
  local sentence = M.from_without(message)
  if sentence then return sentence end
  local all = debug.traceback("", level + 1)
  message = hint.add(message)
  if begins_with_ours(message) then return message .. all end
  local lines = own_frames(all)
  if #lines < 2 then return message end
  return ("%s\nstack traceback:\n\t%s"):format(message, table.concat(lines, "\n\t"))
end

--- For xpcall: an error that is a text gets its trace; what is a sentence, or an interruption,
--- stays as it is.
---@param e any
---@return any
function M.handler(e)
  if ends.is_interruption(e) then return e end
  return type(e) == "string" and M.text(e, 2) or e
end

return M
