--- The farm's worker processes: who is free, what waits, and who is to blame when one is lost.
--
-- A worker serves its jobs in the order they were sent. So when it dies, hangs or outgrows its
-- memory, the first job it had not answered is the suspect; the others are sent again as if nothing
-- had happened. A suspect of several mutants is tried again in parts, one mutant each; a suspect of
-- one, once more alone; only what loses a worker a second time is blamed.
--
-- A job is a table:
--   kind       what to do first is decided by it: see ORDER
--   role       which workers can serve it: "host" or "device"
--   message    fun(worker): table, share?   what is sent
--   done       fun(reply: table, worker)    the answer
--   blame      fun(status, reason)          it lost two workers
--   parts      fun(): job[]?                the same for one mutant each; nil where it is one
--   limit_s    seconds a worker may take

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local wire = require "gilua.base.wire"

local M = {}

---@class gilua.crew
local Crew = {}
Crew.__index = Crew

-- What is nearest to a result goes first: memory stays small and results come early.
local ORDER = { probe = 1, case = 1, pair = 2, answers = 2, floor = 2, run = 3, check = 4,
                compile = 5 }
local KINDS = 5

local function queue()
  return { first = 1, last = 0 }
end

local function put(q, job)
  q.last = q.last + 1
  q[q.last] = job
end

local function put_first(q, job)
  q.first = q.first - 1
  q[q.first] = job
end

local function take(q)
  local job = q[q.first]
  q[q.first] = nil
  q.first = q.first + 1
  return job
end

--- Starts the workers.
---@param list table[] one entry a worker: { roles = { "host", "device" }, device =, depth = 1 }
---@param memory_bytes integer what a worker may use
---@return gilua.crew
function M.open(list, memory_bytes)
  local argv = { core.system.program(), "--worker" }
  local processes, why = core.farm.open(argv, #list, { memory_bytes = memory_bytes })
  if not processes then fail("%s", why) end
  local self = setmetatable({ processes = processes, workers = list, waiting = 0, restarts = 0 },
    Crew)
  self.queues = {}
  for kind = 1, KINDS do self.queues[kind] = { host = queue(), device = queue() } end
  for i, worker in ipairs(list) do
    worker.index, worker.jobs, worker.idle_deaths = i, {}, 0
  end
  return self
end

function Crew:close()
  self.processes:close()
end

function Crew:post(job, first)
  local q = self.queues[ORDER[job.kind]][job.role]
  if first then put_first(q, job) else put(q, job) end
  self.waiting = self.waiting + 1
end

local function start_clock(worker)
  local job = worker.jobs[1]
  worker.deadline = job and core.system.seconds() + job.limit_s or nil
end

function Crew:send(worker, job)
  worker.jobs[#worker.jobs + 1] = job
  if #worker.jobs == 1 then start_clock(worker) end
  local message, share = job.message(worker)
  self.processes:send(worker.index, wire.encode(message), share)
end

--- The next job a worker can serve, or nil.
function Crew:next_for(worker)
  for kind = 1, KINDS do
    for _, role in ipairs(worker.roles) do
      local q = self.queues[kind][role]
      if q.first <= q.last then
        self.waiting = self.waiting - 1
        return take(q)
      end
    end
  end
end

--- Gives jobs to the workers that can take one, the least busy first.
function Crew:assign()
  for depth = 0, 1 do
    for _, worker in ipairs(self.workers) do
      if #worker.jobs == depth and depth < worker.depth then
        local job = self:next_for(worker)
        if job then self:send(worker, job) end
      end
    end
  end
end

function Crew:busy()
  for _, worker in ipairs(self.workers) do
    if #worker.jobs > 0 then return true end
  end
  return false
end

--- A worker is replaced; what it had not answered is posted again.
function Crew:replace(worker)
  local jobs = worker.jobs
  worker.jobs, worker.deadline, worker.case_key = {}, nil, nil
  local ok, why = self.processes:restart(worker.index)
  if not ok then error(why, 0) end
  self.restarts = self.restarts + 1
  for i = #jobs, 1, -1 do self:post(jobs[i], true) end
end

--- A worker was lost over its first job.
function Crew:lost(worker, status, reason)
  local job = table.remove(worker.jobs, 1)
  self:replace(worker)
  if not job then
    worker.idle_deaths = worker.idle_deaths + 1
    if worker.idle_deaths > 3 then error("workers end without having been asked: " .. reason, 0) end
    return
  end
  local parts = job.parts and job.parts()
  if parts then
    for _, part in ipairs(parts) do
      part.again = true
      self:post(part)
    end
  elseif not job.again then
    job.again = true
    self:post(job)
  else
    job.blame(status, reason)
  end
end

--- A failure in a worker's own code or in a problem's: not a mutant's fate.
local function raise(failure)
  if failure.sentence then fail("%s", failure.sentence) end
  error("in a worker: " .. failure.trace, 0)
end

function Crew:answered(worker, bytes, share)
  local reply = wire.decode(bytes)
  if reply.failure then raise(reply.failure) end
  local job = table.remove(worker.jobs, 1)
  start_clock(worker)
  worker.idle_deaths = 0
  if reply.lost then self:replace(worker) end
  job.done(reply, worker, share)
end

function Crew:check_deadlines()
  local now = core.system.seconds()
  for _, worker in ipairs(self.workers) do
    if worker.deadline and now > worker.deadline then
      local job = worker.jobs[1]
      self:lost(worker, "timeout", ("no answer within %.3g s"):format(job.limit_s))
    end
  end
end

--- How long nobody has to look at the clock.
function Crew:patience()
  local now, least = core.system.seconds(), 1
  for _, worker in ipairs(self.workers) do
    if worker.deadline then least = math.min(least, worker.deadline - now) end
  end
  return math.max(least, 0.01)
end

--- Serves all that is posted, and what that posts, until nothing is left. `after` is called after
--- every event.
---@param after? fun()
function Crew:drain(after)
  while self.waiting > 0 or self:busy() do
    self:assign()
    local kind, index, bytes, share = self.processes:wait(self:patience())
    local worker = self.workers[index]
    if kind == "message" then
      self:answered(worker, bytes, share)
    elseif kind == "died" then
      self:lost(worker, "crash", bytes)
    elseif kind == "memory" then
      self:lost(worker, "out_of_memory", bytes)
    else
      self:check_deadlines()
    end
    if after then after() end
  end
end

--- Ends the workers' present jobs without an answer: nothing of them is kept. Used when an error
--- has stopped an evaluation half way, so that the next one begins with idle workers.
function Crew:clear()
  for _, kinds in ipairs(self.queues) do kinds.host, kinds.device = queue(), queue() end
  self.waiting = 0
  for _, worker in ipairs(self.workers) do
    if #worker.jobs > 0 then
      worker.jobs = {}
      self:replace(worker)
    end
  end
end

return M
