-- host: the clock, the terminal and the versions, which plain Lua does not have. Outside the
-- program gilua (in a plain Lua or an editor) it returns the nearest that Lua offers.

local attempt = require "gilua.base.attempt"

local M = {}

local found, core = attempt(require, "gilua.core")
local system = found and core.system

--- A clock that only goes forward, in seconds.
M.seconds = system and system.seconds or os.clock

--- Waits so many seconds. A plain Lua cannot, and comes back at once.
---@param seconds number
function M.sleep(seconds)
  if system then system.sleep(seconds) end
end

--- Is standard output a terminal?
---@return boolean
function M.is_terminal()
  return system and system.isatty(1) or false
end

--- Is a descriptor a terminal that understands escape sequences?
---@param fd integer
---@return boolean
function M.takes_escapes(fd)
  local kind = os.getenv "TERM" or ""
  return system ~= nil and kind ~= "" and kind ~= "dumb" and system.isatty(fd)
end

--- Columns of the terminal.
---@return integer
function M.width()
  return system and system.width(1) or 80
end

--- Versions of what a result depends on.
---@return { gilua?: string, lua: string, nvrtc?: string }
function M.versions()
  local versions = { lua = _VERSION }
  if system then
    versions.gilua = system.version()
    local compiler = core.compile.info()
    versions.nvrtc = compiler and compiler.version
  end
  return versions
end

return M
