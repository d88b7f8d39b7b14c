-- Agents that do no work: they answer at once what a good mutant would be answered, so that nothing
-- but the manager takes time. `./gilua tests/cluster/pretender.lua URL [AGENTS [PACKED_BYTES]]`:
-- what an archive is sent of each code.

local core = require "gilua.core"
local link = require "gilua.farm.link"

local url, n_agents, packed_bytes = arg[1], tonumber(arg[2]) or 1, tonumber(arg[3]) or 400
local net <close> = link.open(url, "pretender")
net:ask "gilua.agent.*"
net:ask "gilua.call"

local PACKED = ("x"):rep(packed_bytes)
local CODE_BYTES = 15000
local ALONE = core.store.pack(("x"):rep(CODE_BYTES)) -- the first, like which the others are packed
local WORKERS = 16 -- of an agent
local made = 0

local agents = {} -- by id: { runs, number }
for _ = 1, n_agents do agents[link.random_word()] = { runs = {}, number = {} } end

local answers = {}

function answers.case()
  return { info = { name = "none", answers = 1000 }, seconds = 0, digest = "d" }
end

-- No two are equal: nothing is spared.
function answers.compile(m, id)
  local results = {}
  for i in ipairs(m.units) do
    made = made + 1
    local hash = core.system.hash128(id .. made)
    results[i] = { code = { ["code at"] = id, hash = hash, bytes = CODE_BYTES }, hash = hash,
      packed = m.pack and { like = m.pack.hash, bytes = m.pack.hash and PACKED or ALONE } }
  end
  return { results = results, seconds = 0, cpu_s = 0 }
end

function answers.check()
  return { verdict = { status = "ok", instructions = 1000, loop_limit = 1000 }, seconds = 0 }
end

function answers.run()
  return { measurement = { status = "ok", ticks = 1000, ns = 500, n = 1000, max_error = 0,
    mean_error = 0, off = 0, wrong = 0, unset = 0, nan = 0, warp_instructions = 1000,
    registers = 20, shared_bytes = 0, seconds = { run = 0 } } }
end

local orders = {}

function orders.open(m, id, agent)
  agent.runs[m.run], agent.number[m.run] = true, 0
  net:send("gilua.run." .. m.run, { op = "ready", agent = id, digest = "d",
    slots = { { roles = { "device", "host" }, n = 2 * WORKERS } } })
end

function orders.work(m, id, agent)
  local list = {}
  agent.number[m.run] = m.number
  for i, spec in ipairs(m.jobs) do
    list[i] = { id = spec.id, reply = answers[spec.message.op](spec.message, id) }
  end
  net:send("gilua.run." .. m.run, { op = "done", agent = id, list = list, restarts = 0,
    losses = {} })
end

function orders.close(m, _, agent)
  agent.runs[m.run] = nil
end

local function beat(id, agent)
  net:send("gilua.beat", { agent = id, host = "pretended", jobs = WORKERS, pid = 0, devices = {},
    runs = {} })
  for run in pairs(agent.runs) do
    net:send("gilua.run." .. run, { op = "hand", agent = id, number = agent.number[run], ids = {} })
  end
end

local beat_s = 0
while true do
  local now = core.system.seconds()
  if now - beat_s > 1 then
    beat_s = now
    for id, agent in pairs(agents) do beat(id, agent) end
  end
  net:wait(0.5)
  for subject, m in net.take, net do
    local id = subject:match "^gilua%.agent%.(.*)"
    if subject == "gilua.call" then
      beat_s = 0
    elseif agents[id] and orders[m.op] then
      orders[m.op](m, id, agents[id])
    end
  end
end
