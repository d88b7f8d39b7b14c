--- `gilua agent`: makes this machine work for gilua on other machines (docs/howto/cluster.md).

local devices = require "gilua.farm.devices"
local filecache = require "gilua.farm.filecache"
local ends = require "gilua.base.ends"
local gi = require "gilua"
local printable = require "gilua.base.printable"
local undo = require "gilua.base.undo"

return function()
  local o = gi.cli {
    takes = "device jobs quiet",
    doc = "Works for gilua on other machines, through a NATS server, until it is stopped. What it "
      .. "has in\nhand then is done by others. NATS_USER and NATS_PASSWORD, or NATS_TOKEN, say who "
      .. "we are;\nNATS_CA, NATS_CERT and NATS_KEY name files for an encrypted connection.",
    positional = {},
    { name = "cache", type = "string", doc = "folder of recordings and libraries that were fetched "
      .. "(~/.cache/gilua/fetched)" },
    { name = "cache-mb", default = filecache.MOST_BYTES >> 20, min = 1,
      doc = "most that it may take" },
    { name = "join", type = "string", doc = "the server: nats://HOST:4222" },
  }
  if not o.join then
    ends.with(ends.STATUS.usage, "--join is missing: the NATS server, nats://HOST:4222")
  end
  local function say(format, ...)
    if not o.quiet then
      io.stdout:write(printable.text(format:format(...)), "\n")
      io.stdout:flush()
    end
  end
  local agent = gi.agent.open { url = o.join, device = o.device, say = say,
                                jobs = o.jobs or devices.usual_jobs(),
                                cache = o.cache, cache_bytes = o["cache-mb"] << 20 }
  say("agent on %s at %s: %s", agent.host, o.join, agent:description())
  undo(function() agent:close() end, agent.serve, agent)
end
