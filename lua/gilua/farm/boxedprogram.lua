--- boxedprogram: runs a stranger's program or makefile in the box of workers: it may read files and
--- write below one scratch folder; it has no network and can signal no other process
--- (docs/security.md). Its child processes are in the same box, and end with it.

local core = require "gilua.core"
local printable = require "gilua.base.printable"

local M = {}

local MOST_BYTES = 4 << 30 -- of memory of one of its processes, and of a file
local NO_MEMORY = 75 -- the status of gilua's library in a program, where it gets none
-- What gilua itself does in that process: this file's become.
local HERE = ([[require(%q).become(arg[1], table.move(arg, 2, #arg, 1, {}))]]):format(...)
-- $1: kilobytes of memory; $2: seconds of a processor; $3: the folder; $4: what it prints.
local SHELL = [[ulimit -d "$1"; ulimit -t "$2"; ulimit -c 0; cd "$3" || exit; log=$4; shift 4
exec "$@" >"$log" 2>&1 </dev/null]]

--- Why programs cannot be shut in on this machine; nil where they can, or GILUA_BOX is off.
---@return string?
function M.missing()
  local box = core.farm.box()
  if os.getenv "GILUA_BOX" == "off" or box.calls and box.landlock > 0 then return nil end
  return ("this machine cannot shut a program in (its kernel has no %s)"):format(
    box.calls and "Landlock" or "seccomp")
end

--- In the process that becomes the program.
---@param scratch string
---@param words string[] the program
function M.become(scratch, words)
  core.system.end_with_parent()
  if os.getenv "GILUA_BOX" ~= "off" then
    local box, why = core.farm.enter_box { scratch = scratch, programs = true,
      file_bytes = MOST_BYTES }
    if not box then error(why, 0) end
  end
  local _, why = core.system.become { argv = words, env = { "TMPDIR=" .. scratch,
    "HOME=" .. scratch } }
  error(why, 0)
end

---@class BoxedEnd how a program ended
---@field status? integer
---@field why? string why it came to no end, or to a bad one
---@field late? boolean its time was over
---@field text string what it printed

local function text_of(path)
  local f <close> = io.open(path, "rb")
  return f and f:read(1 << 20) or ""
end

--- Runs a program to its end.
---@param words string[] it and its arguments
---@param o { scratch: string, folder: string, limit_s: number, env?: string[] } folder: where it
---  begins; env: NAME=VALUE
---@return BoxedEnd
function M.run(words, o)
  local path = o.scratch .. "/log"
  local seconds = math.ceil(o.limit_s) * core.system.cores()
  local argv = { core.system.program(), "-e", HERE, "-", o.scratch, "sh", "-c", SHELL, "sh",
    tostring(MOST_BYTES // 1024), tostring(seconds), o.folder, path }
  table.move(words, 1, #words, #argv + 1, argv)
  local status, signal, code = core.system.run { argv = argv, env = o.env, limit_s = o.limit_s }
  local ended, name = { status = status, text = text_of(path) }, words[1]:match "[^/]*$"
  if not status and code == "timeout" then
    ended.why, ended.late = ("%s did not end within %g seconds"):format(name, o.limit_s), true
  elseif not status then
    ended.why = signal
  elseif signal then
    ended.why = ("%s was ended by signal %d"):format(name, signal)
  elseif status == NO_MEMORY then
    ended.why = ("%s ran out of memory: in the box a program has %d GB, "
      .. "the virtual GPU's included"):format(name, MOST_BYTES >> 30)
  elseif status ~= 0 then
    ended.why = ("%s ended with status %d"):format(name, status)
  end
  return ended
end

--- The last line that a program printed, fit to be shown; "" where there is none. Of make's own
--- only where there is no other: what failed says why.
---@param text string
---@return string
function M.last_line(text)
  local last, of_make
  for line in text:gmatch "[^\r\n]+" do
    if line:find "^make[%[:]" then of_make = line elseif line:find "%S" then last = line end
  end
  return printable.text((last or of_make or ""):match "^%s*(.-)%s*$")
end

local MOST_LINES = 100

--- All that a program printed, fit to be shown, a line each behind its own line end and two blanks;
--- "" where that is nothing. Of very much the beginning, and how many more lines there are.
---@param text string
---@return string
function M.whole(text)
  local list, n = {}, 0
  for line in text:gmatch "[^\r\n]+" do
    if line:find "%S" then
      n = n + 1
      list[n <= MOST_LINES and n or MOST_LINES + 1] = "\n  " .. printable.text(line)
    end
  end
  if n > MOST_LINES then list[MOST_LINES + 1] = ("\n  (%d more lines)"):format(n - MOST_LINES) end
  return table.concat(list)
end

return M
