-- agentprocess: an agent on this machine, a process of its own, for a test.

local core = require "gilua.core"
local natsserver = require "natsserver"
local tap = require "tap"

local M = {}

---@class agentprocess
---@field folder string where it writes what it says
---@field pid integer
local Agent = {}
Agent.__index = Agent
Agent.__close = function(self) self:signal "KILL" end

--- Starts one with one worker. It ends with the variable: `local a <close> = …`.
---@param server natsserver
---@param o? { before: string?, device: string?, more: string? } before: variables, as a shell's;
---  more: options
---@return agentprocess
function M.open(server, o)
  o = o or {}
  local folder = tap.folder()
  local command = ("%s %s agent --join %s --jobs 1 --device %s --cache %s/cache %s >%s/said 2>&1 "
    .. "& echo $!"):format(o.before or "", core.system.program(), server.url, o.device or "emu",
    folder, o.more or "", folder)
  local pipe <close> = assert(io.popen(command))
  return setmetatable({ folder = folder, pid = assert(tonumber(pipe:read "l")) }, Agent)
end

function Agent:signal(name)
  os.execute(("kill -%s %d 2>/dev/null"):format(name, self.pid))
end

function Agent:said()
  return tap.read(self.folder .. "/said") or ""
end

--- Waits until it has said that.
function Agent:says(text)
  natsserver.waits_for(text, function() return self:said():find(text, 1, true) end)
end

return M
