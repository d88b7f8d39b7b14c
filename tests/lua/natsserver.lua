-- natsserver: a NATS server of a test's own, on the loopback, at a port that is free.

local core = require "gilua.core"
local host = require "gilua.base.host"

local scratch = require "scratch"
local tap = require "tap"

local M = {}

local PATIENCE_S = 60 -- a busy machine may take its time

---@class natsserver
---@field url string
---@field port integer
local Server = {}
Server.__index = Server
Server.__close = function(self) self:kill() end

local function program()
  local pipe <close> = assert(io.popen "PATH=$PATH:/usr/sbin command -v nats-server")
  return pipe:read "l"
end

--- Why there can be no server here; nil where there can.
---@return string?
function M.missing()
  local library, why = core.net.library()
  if not library then return why end
  return not program() and "nats-server is not installed" or nil
end

--- Ends the test with what is missing as its reason, where there can be no server.
function M.or_skip()
  local missing = M.missing()
  if not missing then return end
  tap.skip(missing)
  tap.done()
  os.exit(0)
end

local function waits_for(what, test)
  local until_s = core.system.seconds() + PATIENCE_S
  repeat
    local found = test()
    if found then return found end
    host.sleep(0.01)
  until core.system.seconds() > until_s
  error("no " .. what .. " within a minute")
end

M.waits_for = waits_for

-- Its port, when it listens; nil where somebody else has it: a server that was killed may hold it
-- for a while.
local function started(self, port)
  local command = ("%s -a 127.0.0.1 -p %d --ports_file_dir %s -c %s/conf >%s/log 2>&1 & echo $!")
    :format(program(), port, self.folder, self.folder, self.folder)
  local pipe <close> = assert(io.popen(command))
  self.pid = assert(math.tointeger(tonumber(pipe:read "l")))
  local ports = ("%s/nats-server_%d.ports"):format(self.folder, self.pid)
  local taken
  return waits_for("NATS server", function()
    local text = tap.read(ports)
    taken = (tap.read(self.folder .. "/log") or ""):find("already in use", 1, true)
    return taken or text and tonumber(text:match "://127%.0%.0%.1:(%d+)")
  end) and not taken and tonumber(tap.read(ports):match "://127%.0%.0%.1:(%d+)")
end

local function start(self, port)
  return waits_for("port", function() return started(self, port) end)
end

--- Starts one. It goes with the test's folder's variable: `local server <close> = …`.
---@param config? string what its configuration says; a busy machine may take long over TLS and
---  names, for which it has 2 s where nothing else is said
---@return natsserver
function M.open(config)
  local self = setmetatable({ folder = tap.folder() }, Server)
  scratch.write(self.folder .. "/conf", config or "")
  self.port = math.tointeger(start(self, -1))
  self.url = ("nats://127.0.0.1:%d"):format(self.port)
  return self
end

--- Ends it by SIGKILL.
function Server:kill()
  if self.pid then os.execute(("kill -9 %d 2>/dev/null"):format(self.pid)) end
  self.pid = nil
end

--- Starts it again at the same port.
function Server:start()
  start(self, self.port)
end

return M
