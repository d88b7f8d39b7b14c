--- cluster: a crew on other machines. It takes jobs as crew.lua does, and gives them to agents
-- (agent.lua), each with a crew of its own. The agent assigns the blame for a lost worker, limits a
-- mutant's resources, and keeps the box. The manager only knows whether an agent is alive.
--
-- The manager owns the table of jobs. It gives an agent as many as keep it busy; each second the
-- agent reports the jobs that it has. A job that the agent does not report is given out again, and
-- so are all jobs of an agent that was silent for SILENT_S. A job may so be done twice: the first
-- answer counts, and on the virtual GPU both are equal. No single message has to arrive.
--
-- Neither source nor code passes through the manager. An agent receives a genome and the hash of
-- its source, makes the source itself, and keeps the compiled code (codestore.lua). Work on a code
-- goes to the agent that has it, unless that agent has more waiting work than the others.
--
-- Subjects: gilua.call (managers to all agents), gilua.beat (agents to all), gilua.state (managers
-- to anybody), gilua.agent.ID (to one agent, also from another agent), gilua.run.RUN (to one
-- manager).

local codestore = require "gilua.farm.codestore"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local devices_of = require "gilua.farm.devices"
local fail = require "gilua.base.fail"
local gpus = require "gilua.base.gpus"
local host = require "gilua.base.host"
local identity = require "gilua.base.identity"
local jobqueue = require "gilua.farm.jobqueue"
local lfs = require "lfs"
local link = require "gilua.farm.link"
local parcels = require "gilua.farm.parcels"
local printable = require "gilua.base.printable"
local settings = require "gilua.base.settings"
local undo = require "gilua.base.undo"

local M = {
  BEAT_S = 1, -- between two signs of life, of agents and managers
  SILENT_S = 6, -- an agent that is not heard of for so long is gone
  REFUSED_S = 10, -- that others may take to come when all who came are refused
  LATE_S = 4, -- a message that an agent has not seen after so long is lost
}

local WAIT_S = 0.25 -- for a message
local LONELY_S = 3 -- without an agent, until the manager says so
local MOST_HEARD = 500 -- messages between two looks at the clock
-- Garbage is looked for when memory has grown to so many times what it was, or by ROOM_KB, which
-- takes a quarter of the time less than Lua's own twice.
local MOST_PAUSE, LEAST_PAUSE = 1000, 200 -- per cent
local ROOM_KB = 512 << 10

---@class gilua.cluster
---@field far boolean sources and codes are with the agents: true
---@field restarts integer workers of agents lost
---@field losses table<string, integer> of them, by kind
---@field setbacks table agents: how many were gone; again: jobs that were given out once more;
---  twice: those of them that two answered; measured: those of these that were measurements
---@field hosts integer workers that compile, of all agents
---@field device_slots integer jobs that their devices may have
local Cluster = {}
Cluster.__index = Cluster
Cluster.__gc = function(self) self:close() end -- a script that ends need not close its farm

local function say(format, ...)
  io.stderr:write(printable.text(("gilua: " .. format .. "\n"):format(...)))
end

-- --- opening ------------------------------------------------------------------------------------

-- Where a problem lies, for a machine that may have gilua elsewhere.
local function place_of(dir)
  local path = dir:sub(1, 1) == "/" and dir or lfs.currentdir() .. "/" .. dir
  local below = path:sub(1, #core.home + 1) == core.home .. "/"
  return { path = path, home = core.home, below_home = below and path:sub(#core.home + 2) or nil }
end

--- What an agent must agree with before it may work.
function M.offer_of(problem, run, options)
  local versions = host.versions()
  local llvm = compilers.may_be_llvm(problem) and core.llvm.info()
  local list = parcels.of(problem)
  return { op = "open", run = run, gilua = versions.gilua, nvrtc = versions.nvrtc,
           llvm = llvm and llvm.version or nil,
           program = identity.program(), problem = problem.name,
           files = identity.problem(problem.dir, parcels.names(list)), parcels = list,
           place = place_of(problem.dir),
           memory_bytes = options.memory_bytes, timeout_s = options.timeout_s }
end

local function check_device(device)
  if device == "emu" and gpus.chosen() ~= gpus.USUAL then
    fail("--gpu %s: agents' virtual GPUs stand for an %s; leave out --cluster, or --gpu",
      gpus.chosen(), gpus.find(gpus.USUAL).name)
  end
  if device ~= "emu" and device ~= "cuda" then
    fail("--device %s: with --cluster it is emu or cuda; which GPUs those are is said to each "
      .. "agent (gilua agent --device %s)", device, device)
  end
end

--- Finds agents at a NATS server and waits until one can work.
---@param problem gilua.problem
---@param device string "emu" or "cuda"
---@param options table of gi.farm: cluster, memory_bytes, timeout_s
---@return gilua.cluster
---@return table[] devices as of devices.probe
function M.open(problem, device, options)
  check_device(device)
  local run = link.random_word()
  local self = setmetatable({
    run = run, link = link.open(options.cluster, "gilua manager " .. run, say), device = device,
    far = true, offer = M.offer_of(problem, run, options),
    agents = {}, ready = {}, hosts = 0, device_slots = 0,
    restarts = 0, losses = {}, setbacks = { agents = 0, again = 0, twice = 0, measured = 0 },
    next_id = 1, done = { run = 0, check = 0, compile = 0 },
    began_s = core.system.seconds(), beat_s = 0, pause = collectgarbage("setpause", MOST_PAUSE),
  }, Cluster)
  if device == "emu" then self:set_devices(devices_of.probe("emu", options.memory_bytes)) end
  self:forget_jobs()
  undo(function() self:close() end, self.gather, self)
  return self, self.devices
end

--- On what it is all to run.
function Cluster:set_devices(devices)
  local d = devices[1]
  self.devices = devices
  self.offer.device = { name = d.name, target = d.target, driver = d.driver, kind = self.device }
end

function Cluster:gather()
  self.link:ask("gilua.run." .. self.run)
  self.link:ask "gilua.beat"
  self.link:send("gilua.call", { run = self.run })
  while self.device_slots == 0 do self:step() end
end

function Cluster:close()
  if self.closed then return end
  self.closed = true
  collectgarbage("setpause", self.pause)
  for _, agent in pairs(self.agents) do self:tell(agent, { op = "close", run = self.run }) end
  self.link:close()
end

-- Numbers of jobs that somebody has in hand, ascending.
function M.numbers(hand)
  local list = {}
  for id in pairs(hand) do list[#list + 1] = id end
  table.sort(list)
  return list
end

-- --- jobs ---------------------------------------------------------------------------------------

function Cluster:forget_jobs()
  self.table = {} -- number -> what is to be answered
  self.retried = {} -- number -> kind of a job that was given out once more
  self.queue = jobqueue.new() -- of those that nobody has
  for _, agent in pairs(self.agents) do
    agent.hand, agent.queue = {}, jobqueue.new()
    for _, slot in ipairs(agent.slots or {}) do slot.hand = 0 end
  end
end

---@param job table as crew.lua's; code: what it is done with above all, or the ticket of that;
---  missing: fun(hash), called where an agent was to have a code and has it no more
---@param first? boolean
function Cluster:post(job, first)
  local entry = { id = self.next_id, job = job, kind = job.kind, role = job.role }
  self.next_id = self.next_id + 1
  self.table[entry.id] = entry
  self:queue_of(entry):put(entry, first)
end

-- Where it waits: an agent that has its code comes first.
function Cluster:queue_of(entry)
  local holder = self.agents[codestore.holder(entry.job.code) or ""]
  local can = holder and holder.state == "ready" and holder.serves[entry.role]
  return can and holder.queue or self.queue
end

-- Nobody has it: it is given out again, before others.
function Cluster:take_back(entry)
  self:leave_hand(entry)
  self.setbacks.again = self.setbacks.again + 1
  self.retried[entry.id] = entry.kind
  self:queue_of(entry):put(entry, true)
end

-- Its agent is no longer asked for it.
function Cluster:leave_hand(entry)
  if not entry.agent then return end
  entry.agent.hand[entry.id] = nil
  entry.slot.hand = entry.slot.hand - 1
  entry.agent, entry.slot = nil, nil
end

local function limits_of(job)
  local parts = job.parts and job.parts()
  return crew.limit_of(job), parts and crew.limit_of(parts[1]) or nil
end

-- The message to an agent about a job. It describes a case by what makes it.
function Cluster:message_of(entry)
  local job = entry.job
  local message = job.message { device = self.device }
  entry.spec = job.kind == "case" and message.case or nil
  entry.limit_s, entry.part_limit_s = limits_of(job)
  return { id = entry.id, kind = job.kind, role = job.role, limit_s = entry.limit_s,
           part_limit_s = entry.part_limit_s, sleep_s = job.sleep_s, once = job.once,
           strikes = job.strikes, suspect = job.suspect, message = message }
end

--- The slots that can take more, the least busy first.
function Cluster:roomy_slots()
  local list = {}
  for _, agent in ipairs(self.ready) do
    for _, slot in ipairs(agent.slots) do
      if slot.hand < slot.n then list[#list + 1] = { agent = agent, slot = slot } end
    end
  end
  table.sort(list, function(a, b) return a.slot.hand / a.slot.n < b.slot.hand / b.slot.n end)
  return list
end

-- The code of a job was at an agent that is gone.
function Cluster:is_lost(entry)
  local holder = self.agents[codestore.holder(entry.job.code) or ""]
  return holder and holder.state == "gone"
end

--- The next one of a queue for these roles that is still to be answered.
function Cluster:next_of(queue, roles)
  repeat
    local entry = queue:take(roles)
    if not entry then return nil end
    local wanted = self.table[entry.id] == entry
    if wanted and not self:is_lost(entry) then return entry end
    if wanted then self:missing(entry, entry.job.code.hash) end
  until false
end

-- The queues of agents that are behind, the longest first.
function Cluster:long_queues()
  local list = {}
  for _, agent in ipairs(self.ready) do
    if agent.queue.n > 0 then list[#list + 1] = agent.queue end
  end
  table.sort(list, function(a, b) return a.n > b.n end)
  return list
end

--- Jobs of the agent's own codes come first, then jobs without an agent, then those of other
--- agents.
function Cluster:next_for(agent, roles, long)
  local entry = self:next_of(agent.queue, roles) or self:next_of(self.queue, roles)
  for i = 1, entry and 0 or #long do
    entry = self:next_of(long[i], roles)
    if entry then break end
  end
  return entry
end

--- How many measurements a second a run has come to between two of its reports, or since it began.
---@param first table { done = { run }, seconds }
---@param last table
---@return number
function M.rate(first, last)
  if last.seconds > first.seconds then
    return (last.done.run - first.done.run) / (last.seconds - first.seconds)
  end
  return last.seconds > 0 and last.done.run / last.seconds or 0.0
end

--- What a run waits for: where more would make it faster.
---@param state table of a run: { agents, device, waiting = { host, device } }
---@return string
function M.binds(state)
  if state.agents == 0 then return "agents: none works for it" end
  if state.device == "cuda" and state.waiting.device > state.waiting.host then return "GPUs" end
  if state.waiting.host + state.waiting.device > 0 then return "workers" end
  return "nothing: all work is given out"
end

-- The description for other managers and for the run's page.
function Cluster:state()
  return { run = self.run, problem = self.offer.problem, device = self.device,
    done = { run = self.done.run, check = self.done.check, compile = self.done.compile },
    agents = #self.ready,
    waiting = { host = self:waiting "host", device = self:waiting "device" },
    seconds = core.system.seconds() - self.began_s }
end

--- Who works for the run, and how it goes.
---@return table { nodes = { { host, workers, gpus, state, why } }, measurements, waiting, rate,
---  binds }: measurements: up to now; rate: of them a second, since the last report but one;
---  waiting and binds: how many jobs waited, and for what, when it was last told
function Cluster:status()
  local nodes = {}
  for i, id in ipairs(settings.keys(self.agents)) do
    local agent = self.agents[id]
    nodes[i] = { host = agent.host or "?", workers = agent.jobs or 0, gpus = agent.gpus or {},
      state = agent.state, why = agent.why }
  end
  table.sort(nodes, function(a, b) return a.host < b.host end)
  local now = self:state()
  local told = self.told or now
  return { nodes = nodes, measurements = now.done.run, rate = M.rate(self.told_before or now, now),
    waiting = told.waiting.host + told.waiting.device, binds = M.binds(told) }
end

function Cluster:waiting(role)
  local n = self.queue:waiting(role)
  for _, agent in ipairs(self.ready) do n = n + agent.queue:waiting(role) end
  return n
end

-- Gives an entry to an agent, and puts the message to it into `given`.
function Cluster:give(entry, agent, slot, given)
  given[agent] = given[agent] or {}
  table.insert(given[agent], self:message_of(entry))
  entry.agent, entry.slot, entry.number = agent, slot, agent.number + 1
  entry.sent_s = core.system.seconds()
  agent.hand[entry.id], slot.hand = entry, slot.hand + 1
end

--- Gives jobs to agents: one message for each. In each round an agent is given as many as its part
--- of the work is, so that large and small ones are through together.
function Cluster:assign()
  local long = self:long_queues()
  if self.queue.n == 0 and #long == 0 then return end
  local places, given, least = self:roomy_slots(), {}, math.huge
  for _, place in ipairs(places) do least = math.min(least, place.slot.n) end
  while #places > 0 do
    local roomy = {}
    for _, place in ipairs(places) do
      local agent, slot = place.agent, place.slot
      local most = math.min(slot.n, slot.hand + slot.n // least)
      while slot.hand < most do
        local entry = self:next_for(agent, slot.roles, long)
        if not entry then break end
        self:give(entry, agent, slot, given)
      end
      if slot.hand == most and most < slot.n then roomy[#roomy + 1] = place end
    end
    places = roomy
  end
  for agent, jobs in pairs(given) do
    agent.number = agent.number + 1
    self:tell(agent, { op = "work", run = self.run, number = agent.number, jobs = jobs })
  end
end

-- --- answers ------------------------------------------------------------------------------------

-- An array as an agent sends it, in the place of a share.
local function arrays_of(list)
  if not list then return nil end
  local share = { close = function() end }
  function share.arrays()
    local arrays = {}
    for i, a in ipairs(list) do
      arrays[i] = core.array.frombytes(a.bytes, a.dtype, table.unpack(a.shape))
    end
    return arrays
  end
  return share
end

local function settle(job, verdict, spec)
  local reply = verdict.reply
  if verdict.failure then
    crew.raise(verdict.failure)
  elseif verdict.status then
    job.blame(verdict.status, verdict.reason)
  elseif verdict.parts then
    for i, part in ipairs(job.parts()) do settle(part, verdict.parts[i]) end
  else
    if spec then reply.case = { spec = spec, digest = reply.digest } end
    job.done(reply, {}, arrays_of(verdict.arrays))
  end
end

--- A job cannot be done: a code is nowhere any more.
function Cluster:missing(entry, hash)
  self:leave_hand(entry)
  self.table[entry.id] = nil
  entry.job.missing(hash)
end

-- Somebody else was faster.
function Cluster:answered_twice(id)
  local kind = self.retried[id]
  if not kind then return end -- nobody wants it any more
  self.retried[id] = nil
  self.setbacks.twice = self.setbacks.twice + 1
  if kind == "run" then self.setbacks.measured = self.setbacks.measured + 1 end
end

function Cluster:answered(verdict)
  local entry = self.table[verdict.id]
  if not entry then return self:answered_twice(verdict.id) end
  if verdict.missing then return self:missing(entry, verdict.missing) end
  self:leave_hand(entry)
  self.table[entry.id] = nil
  if self.done[entry.kind] then self.done[entry.kind] = self.done[entry.kind] + 1 end
  settle(entry.job, verdict, entry.spec)
end

local heard = {} -- what comes to gilua.run.RUN, by op

function heard.ready(self, agent, m)
  if agent.state ~= "asked" then return end
  self.digest = self.digest or m.digest
  if m.digest ~= self.digest then
    self:tell(agent, { op = "close", run = self.run })
    return self:refused(agent, "its small case is another than that of the first agent")
  end
  agent.state, agent.slots, agent.hand, agent.number = "ready", m.slots, {}, 0
  agent.serves, agent.queue = {}, jobqueue.new()
  for _, slot in ipairs(agent.slots) do
    slot.hand = 0
    for _, role in ipairs(slot.roles) do agent.serves[role] = true end
  end
  self:count_hosts()
end

function heard.refused(self, agent, m)
  self:lose(agent, "refused")
  self:refused(agent, m.why)
end

-- An agent asks for pieces of a file.
function heard.want(self, agent, m)
  for _, parcel in ipairs(self.offer.parcels) do
    if parcel.hash == m.hash then
      for _, piece in ipairs(parcels.pieces(parcel, m.from)) do self:tell(agent, piece) end
      return
    end
  end
end

function heard.unknown(self, agent)
  if agent.state == "ready" then self:lose(agent, "new") end
end

function heard.leaving(self, agent)
  self:lose(agent, "gone")
end

function heard.done(self, _, m)
  self.restarts = self.restarts + m.restarts
  for kind, n in pairs(m.losses) do self.losses[kind] = (self.losses[kind] or 0) + n end
  for _, verdict in ipairs(m.list) do self:answered(verdict) end
end

-- What an agent has in hand, after it has seen so many of our messages.
function heard.hand(self, agent, m)
  if agent.state ~= "ready" then return end
  local there, now = {}, core.system.seconds()
  for _, id in ipairs(m.ids) do there[id] = true end
  for _, id in ipairs(M.numbers(agent.hand)) do
    local entry = agent.hand[id]
    local seen = entry.number <= m.number
    if seen and not there[id] or not seen and now - entry.sent_s > M.LATE_S then
      self:take_back(entry)
    end
  end
end

-- --- agents -------------------------------------------------------------------------------------

function Cluster:tell(agent, message)
  self.link:send("gilua.agent." .. agent.id, message)
end

-- Who is there: workers that compile, and slots of devices.
function Cluster:count_hosts()
  self.hosts, self.device_slots, self.ready = 0, 0, {}
  for _, id in ipairs(settings.keys(self.agents)) do
    local agent = self.agents[id]
    if agent.state == "ready" then self.ready[#self.ready + 1] = agent end
  end
  for _, agent in ipairs(self.ready) do
    self.hosts = self.hosts + agent.jobs
    for _, slot in ipairs(agent.slots) do
      if slot.roles[1] == "device" then self.device_slots = self.device_slots + slot.n end
    end
  end
end

function Cluster:refused(agent, why)
  agent.state, agent.why = "refused", why
  say("the agent on %s does no work for this run: %s", agent.host, why)
end

--- What an agent had is for others.
function Cluster:lose(agent, state)
  local queue = agent.queue
  if state ~= "refused" then self.setbacks.agents = self.setbacks.agents + 1 end
  agent.state, agent.queue = state, nil
  for _, id in ipairs(M.numbers(agent.hand)) do self:take_back(agent.hand[id]) end
  repeat
    local entry = queue and queue:take { "device", "host" }
    if entry then self.queue:put(entry) end
  until not entry
  self:count_hosts()
end

function Cluster:invite(agent)
  if not self.offer.device then return end
  agent.state, agent.asked_s = "asked", core.system.seconds()
  self:tell(agent, self.offer)
end

-- A sign of life of an agent.
function Cluster:beat(m)
  local agent = self.agents[m.agent]
  if not agent then
    agent = { id = m.agent, state = "new", hand = {} }
    self.agents[m.agent] = agent
  end
  agent.host, agent.jobs, agent.heard_s = m.host, m.jobs, core.system.seconds()
  agent.gpus = {}
  for i, d in ipairs(m.devices) do agent.gpus[i] = d.name end
  if not self.offer.device and m.devices[1] then self:set_devices(m.devices) end
  local forgotten = agent.state == "asked" and agent.heard_s - agent.asked_s > M.LATE_S
  if agent.state == "new" or agent.state == "gone" or forgotten then self:invite(agent) end
end

--- Takes what has come.
function Cluster:hear()
  for _ = 1, MOST_HEARD do
    local subject, m = self.link:take()
    if not subject then return end
    local agent = self.agents[m.agent]
    if subject == "gilua.beat" then
      self:beat(m)
    elseif agent and heard[m.op] then
      agent.heard_s = core.system.seconds()
      heard[m.op](self, agent, m)
    end
  end
end

function Cluster:check_silence(now)
  for _, agent in pairs(self.agents) do
    local alive = agent.state == "ready" or agent.state == "asked"
    if alive and now - agent.heard_s > M.SILENT_S then self:lose(agent, "gone") end
  end
end

-- Limits that are others than when the jobs were given out, by number.
local function changed_limits(agent)
  local limits = {}
  for id, entry in pairs(agent.hand) do
    local limit_s, part_limit_s = limits_of(entry.job)
    if limit_s ~= entry.limit_s or part_limit_s ~= entry.part_limit_s then
      entry.limit_s, entry.part_limit_s = limit_s, part_limit_s
      limits[id] = { limit_s = limit_s, part_limit_s = part_limit_s }
    end
  end
  return limits
end

local function why_of(agents)
  for _, agent in pairs(agents) do
    if agent.state ~= "refused" then return nil end
  end
  local _, one = next(agents)
  return one and one.why
end

-- If nobody can work it prints that, and if nobody ever can it ends the run.
function Cluster:check_lonely(now)
  if self.device_slots > 0 then
    self.alone_s = nil
    return
  end
  self.alone_s = self.alone_s or now
  local why = why_of(self.agents)
  if why and now - self.alone_s > M.REFUSED_S then
    fail("no agent at %s can work for this run: %s", self.link.url, why)
  end
  if not why and now - self.alone_s > LONELY_S and not self.said_lonely then
    self.said_lonely = true
    local what = self.device == "cuda" and " --device cuda" or ""
    say("no agent%s answers at %s; waiting (`gilua agent --join %s%s` on a node starts one)",
      what ~= "" and " with a GPU" or "", self.link.url, self.link.url, what)
  end
end

-- How far memory may grow from now on.
local function leave_room()
  local pause = 100 + 100 * ROOM_KB // collectgarbage "count"
  collectgarbage("setpause", math.tointeger(math.max(LEAST_PAUSE, math.min(pause, MOST_PAUSE))))
end

function Cluster:tick()
  local now = core.system.seconds()
  self:check_silence(now)
  self:check_lonely(now)
  if now - self.beat_s < M.BEAT_S then return end
  self.beat_s = now
  leave_room()
  for _, agent in ipairs(self.ready) do
    self:tell(agent, { op = "alive", run = self.run, limits = changed_limits(agent) })
  end
  self.told_before, self.told = self.told, self:state()
  self.link:send("gilua.state", self.told)
end

-- --- serving ------------------------------------------------------------------------------------

function Cluster:step()
  self:assign()
  self.link:wait(WAIT_S)
  self:hear()
  self:tick()
end

--- Serves all that is posted, and what that posts, until nothing is left. `after` is called after
--- every event.
---@param after? fun()
function Cluster:drain(after)
  if not next(self.table) then return end
  self:hear() -- nobody has listened for a while: agents were not silent
  local now = core.system.seconds()
  for _, agent in pairs(self.agents) do agent.heard_s = now end
  while next(self.table) do
    self:step()
    if after then after() end
  end
end

--- Nothing that was posted is wanted any more.
function Cluster:clear()
  self:forget_jobs()
  for _, agent in ipairs(self.ready) do
    self:tell(agent, { op = "drop", run = self.run })
  end
end

return M
