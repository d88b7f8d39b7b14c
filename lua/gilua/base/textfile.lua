-- textfile: reads a whole file as text and writes one, or returns a sentence about the failure.

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local printable = require "gilua.base.printable"

local M = {}

local MOST_BYTES = 1 << 26 -- of a text
local PIECE_BYTES = 1 << 16 -- read at once: this much memory is used, however short the file is

-- What is there and no file may keep its reader waiting, or never end.
local function refuse_others(path, what)
  local lfs = require "lfs" -- here: a plain Lua may have none
  local mode = lfs.attributes(path, "mode")
  if mode and mode ~= "file" then
    fail("cannot read %s: %s is a %s", what, path, mode == "directory" and "folder" or mode)
  end
end

--- What follows in an open file, so many bytes at most; "" at its end.
---@param file file*
---@param most integer
---@return string
function M.next_bytes(file, most)
  local pieces, n = {}, 0
  repeat
    local piece = file:read(math.min(PIECE_BYTES, most - n))
    pieces[#pieces + 1] = piece
    n = n + (piece and #piece or 0)
  until not piece or n == most
  return table.concat(pieces)
end

---@param path string
---@param what string that it is, for the sentence: "the kernel"
---@param most? integer bytes that it may have
---@return string
function M.read(path, what, most)
  most = most or MOST_BYTES
  refuse_others(path, what)
  local file, why = io.open(path, "rb")
  if not file then fail("cannot read %s: %s", what, why) end
  local text = M.next_bytes(file, most + 1)
  file:close()
  if #text > most then
    fail("cannot read %s: %s has more than %.1f MB, the most that is read: give a shorter file "
      .. "(a source's long tables can move to files that it includes)", what, path, most / 1e6)
  end
  return text
end

--- mkdir -p
---@param dir string
---@return boolean? made
---@return string? message
function M.make_folder(dir)
  local lfs = require "lfs" -- here: a plain Lua may have none
  local mode = lfs.attributes(dir, "mode")
  if mode == "directory" then return true end
  if mode then return nil, "Not a directory" end
  local parent = dir:gsub("/+$", ""):match("^(.*[^/])/+[^/]+$")
  if parent then
    local ok, why = M.make_folder(parent)
    if not ok then return nil, why end
  end
  local made, reason = lfs.mkdir(dir)
  if not made and lfs.attributes(dir, "mode") == "directory" then return true end -- just now
  if not made and not lfs.currentdir() and not dir:find "^/" then
    reason = "the folder that you are in is gone"
  end
  return made, reason
end

--------------------------------------------------------------------------------------------------
-- Writing. A full disk is waited for, because a run's results are worth more than the wait; but not
-- after the program has received a signal to end.

local found, core = attempt(require, "gilua.core") -- a plain Lua has none

local function say(format, ...) printable.complain(format:format(...)) end

--- Calls `write` repeatedly while the disk is full. Refuses with the reason if it fails otherwise,
--- or if the program has received a signal to end.
---@param write fun(...): any done, or nil, message and code
function M.until_there_is_room(write, ...)
  local told = false
  while true do
    local done, why, code = write(...)
    if done then
      if told then say("there is room again") end
      return
    end
    if code ~= "full" or core.system.ending() then fail("%s", why) end
    if not told then say("%s; waits until there is room (Ctrl-C: stop)", why) end
    told = true
    core.system.sleep(0.1)
  end
end

local function plainly(path, text)
  local file, why = io.open(path, "wb")
  if not file then return nil, "cannot write " .. why end
  local written, problem = file:write(text)
  local closed, late_problem = file:close()
  return written and closed, ("cannot write %s: %s"):format(path, problem or late_problem)
end

--- Writes a whole file, or refuses with why not. Whoever looks finds the old text or the new one,
--- whenever the program ends.
---@param path string
---@param text string
function M.write(path, text)
  M.until_there_is_room(found and core.file.write or plainly, path, text)
end

---@class Journal a text that grows by whole pieces
local Journal = {}
Journal.__index = Journal

--- An empty file to which text is added.
---@param path string
---@return Journal
function M.journal(path)
  local file, why = core.file.journal(path)
  if not file then fail("%s", why) end
  return setmetatable({ file = file }, Journal)
end

---@param text string
function Journal:add(text)
  M.until_there_is_room(self.file.add, self.file, text)
end

function Journal:close()
  self.file:close()
end

return M
