-- An agent that does no work: it answers at once what a good mutant would be answered, so that
-- nothing but the manager takes time. `./gilua tests/cluster/pretender.lua URL [PTX_KB]`.

local core = require "gilua.core"
local link = require "gilua.farm.link"

local url, kilobytes = arg[1], tonumber(arg[2]) or 15
local id = link.random_word()
local net <close> = link.open(url, "pretender")
net:ask("gilua.agent." .. id)
net:ask "gilua.call"

local PTX = ("x"):rep(kilobytes * 1000 - 40)
local made = 0

local answers = {}

function answers.case()
  return { info = { name = "none", answers = 1000 }, seconds = 0, digest = "d" }
end

-- No two are equal: nothing is spared.
function answers.compile(m)
  local results = {}
  for i in ipairs(m.units) do
    made = made + 1
    local hash = core.system.hash128(id .. made)
    results[i] = { code = PTX .. hash, hash = hash }
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

local function work(m)
  local list = {}
  for i, spec in ipairs(m.jobs) do
    list[i] = { id = spec.id, reply = answers[spec.message.op](spec.message) }
  end
  net:send("gilua.run." .. m.run, { op = "done", agent = id, list = list, restarts = 0,
    losses = {} })
end

local number, runs, beat_s = {}, {}, 0
while true do
  local now = core.system.seconds()
  if now - beat_s > 1 then
    beat_s = now
    net:send("gilua.beat", { agent = id, host = "pretended", jobs = 16, pid = 0, devices = {},
      runs = {} })
    for run in pairs(runs) do
      net:send("gilua.run." .. run, { op = "hand", agent = id, number = number[run], ids = {} })
    end
  end
  net:wait(0.5)
  for subject, m in net.take, net do
    if subject == "gilua.call" then
      beat_s = 0
    elseif m.op == "open" then
      runs[m.run], number[m.run] = true, 0
      net:send("gilua.run." .. m.run, { op = "ready", agent = id, digest = "d",
        slots = { { roles = { "device", "host" }, n = 32 } } })
    elseif m.op == "work" then
      number[m.run] = m.number
      work(m)
    elseif m.op == "close" then
      runs[m.run] = nil
    end
  end
end
