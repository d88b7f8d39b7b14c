--- `gilua cluster status`: lists the agents and managers of a NATS server (docs/howto/cluster.md).

local answer = require "gilua.command.answer"
local core = require "gilua.core"
local ends = require "gilua.base.ends"
local gi = require "gilua"
local link = require "gilua.farm.link"

local M = {}

-- Returns the messages of so many seconds: nodes by their agents' names, runs by theirs.
local function listen(url, seconds)
  local nodes, runs = {}, {}
  local net <close> = link.open(url, "gilua cluster status")
  net:ask "gilua.beat"
  net:ask "gilua.state"
  net:send("gilua.call", { run = "status" })
  local until_s = core.system.seconds() + seconds
  while core.system.seconds() < until_s do
    net:wait(until_s - core.system.seconds())
    for subject, m in net.take, net do
      if subject == "gilua.beat" then
        nodes[m.agent] = m
      else
        runs[m.run] = { first = runs[m.run] and runs[m.run].first or m, last = m }
      end
    end
  end
  return nodes, runs
end

local function many(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

-- As an object: what --json prints.
local function value_of(url, nodes, runs)
  local o, list, working = gi.json.object, {}, {}
  for i, id in ipairs(gi.settings.keys(nodes)) do
    local n, gpus = nodes[id], {}
    for k, d in ipairs(n.devices) do gpus[k] = d.name end
    list[i] = o { { "host", n.host }, { "pid", n.pid }, { "workers", n.jobs },
      { "gpus", gi.json.array(gpus) }, { "runs", #n.runs } }
  end
  for i, run in ipairs(gi.settings.keys(runs)) do
    local s = runs[run].last
    working[i] = o { { "run", run }, { "problem", s.problem }, { "device", s.device },
      { "agents", s.agents }, { "waiting", s.waiting.host + s.waiting.device },
      { "measurements", s.done.run }, { "rate", gi.cluster.rate(runs[run].first, s) },
      { "binds", gi.cluster.binds(s) } }
  end
  return o { { "server", url }, { "nodes", gi.json.array(list) },
    { "runs", gi.json.array(working) } }
end

local function tell(o, nodes, runs)
  local workers, gpus, n = 0, 0, 0
  for _, id in ipairs(gi.settings.keys(nodes)) do
    local node, names = nodes[id], {}
    for i, d in ipairs(node.devices) do names[i] = ", " .. d.name end
    n, workers, gpus = n + 1, workers + node.jobs, gpus + #node.devices
    answer.say(o, "%-24s %s%s; at work for %s", node.host .. " " .. node.pid,
      many(node.jobs, "worker"), table.concat(names), many(#node.runs, "run"))
  end
  answer.say(o, "in all: %s, %s, %s", many(n, "agent"), many(workers, "worker"),
    many(gpus, "GPU"))
  if n == 0 then
    answer.say(o, "none told of itself within %d s: `gilua agent --join %s` on a node starts one",
      o.seconds, o.cluster)
  end
  for _, run in ipairs(gi.settings.keys(runs)) do
    local s = runs[run].last
    answer.say(o, "run %s: %s on %s with %s: %s, %.3g a second; %s waiting; short are %s", run,
      s.problem, s.device, many(s.agents, "agent"), many(s.done.run, "measurement"),
      gi.cluster.rate(runs[run].first, s), many(s.waiting.host + s.waiting.device, "job"),
      gi.cluster.binds(s))
  end
end

function M.run()
  local o = gi.cli {
    takes = "cluster quiet",
    doc = "status: which agents a NATS server has, and which runs they work for, as they tell "
      .. "within\nsome seconds.",
    positional = { { name = "what", doc = "status" } },
    { name = "seconds", default = 3, min = 1, doc = "to listen" }, answer.JSON,
  }
  if o.what ~= "status" then
    ends.with(ends.STATUS.usage, "gilua cluster does one thing: status, not '%s'", o.what)
  elseif not o.cluster then
    ends.with(ends.STATUS.usage, "--cluster is missing: the NATS server, nats://HOST:4222")
  end
  return answer.given(o, function()
    local nodes, runs = listen(o.cluster, o.seconds)
    tell(o, nodes, runs)
    return value_of(o.cluster, nodes, runs)
  end)
end

return M
