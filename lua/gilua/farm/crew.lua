--- crew: the farm's worker processes: it gives jobs to free workers, and decides which job is at
-- fault when a worker is lost.
--
-- A worker serves its jobs in the order in which they were sent. When it is lost, the first job
-- without an answer is concerned; the others are sent again as if nothing had happened. The reason
-- of the loss decides about that first job:
--
--   killed    From outside: no job is at fault. The job is sent again; a job of several mutants is
--             sent in parts in the end, since short jobs finish before the next kill. If only such
--             losses come any more, the run ends with a sentence, and no mutant is blamed.
--   died memory timeout
--             By the job: a fault, its size, its processor time. A job of several mutants is tried
--             again in parts, one mutant each. A job of one is tried again by a fresh worker that
--             does nothing else meanwhile. It is blamed after it has lost two workers that were
--             doing nothing else.
--   starved   The machine's memory ran out. Treated as by the job, but tried again after all other
--             jobs, when they use no memory.
--   doubt     The worker answered that its compiler failed, perhaps because of an earlier
--             compilation. Tried again in the same way; the result of a fresh compiler counts.
--
-- Times are processor seconds, since a worker that the system does not run is not slow. The wall
-- clock limits only a worker that waits for a GPU or sleeps.
--
-- A job is a table:
--   kind       decides the order of jobs (jobqueue.lua)
--   role       the workers that can serve it: "host" or "device"
--   message    fun(worker): table, share?   the message to send
--   done       fun(reply: table, worker)    receives the answer
--   blame      fun(status, reason)          the job is at fault
--   parts      fun(): job[]?                one job a mutant; nil if the job has one mutant
--   strikes    STRIKES - 1: it is blamed for the first worker that it loses
--   sleep_s    seconds by the wall clock that it may use no processor time
--   limit_s    processor seconds (for a GPU's worker: wall seconds) that it may use, or a function
--              that returns them, called until they are over
--   once       its processor time is its own: it is blamed for the first worker that it loses by
--              exceeding it
--   failed     fun(failure): the worker's own code, or a problem's, has failed; nil: that is raised

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local gpus = require "gilua.base.gpus"
local jobqueue = require "gilua.farm.jobqueue"
local wire = require "gilua.base.wire"

local M = {
  SLEEP_S = 5, -- that a compiler may do nothing
  STRIKES = 2, -- workers that a job loses, alone, before it is blamed
  needs_box = false, -- a worker that cannot be shut in refuses its jobs; else it warns and works
}

---@class gilua.crew
---@field restarts integer workers lost
---@field losses table<string, integer> of them, by kind: those above, and "context" (an answer was
---  that the mutant had broken the GPU's), "stopped" (by an error elsewhere)
local Crew = {}
Crew.__index = Crew

local STATUS = { died = "crash", memory = "out_of_memory", starved = "out_of_memory",
                 timeout = "timeout" }
local MOST_IN_VAIN = 50 -- losses for each worker that are nobody's, with no answer between
local MOST_KILLS = 500 -- of workers at one and the same job
local MOST_KILLS_TOGETHER = 3 -- … at one of several mutants
local REST_S, MOST_REST_S = 0.01, 0.25 -- of a worker whose predecessors came to nothing
local LOOK_S = 0.1 -- at one who is past its limit by the clock on the wall
local SLEEP_FACTOR = 10 -- by the clock on the wall a job may take so many times its limit, or as
                        -- long as it takes where it is others that keep it from the processor
local RENEW_SHARE = 0.5 -- of the memory allowed: an idle worker that has grown to more is replaced

-- --- starting and ending ------------------------------------------------------------------------

local kept -- crews whose users are through with them, by key_of; nil where none stays

--- What crews have in common that can stand for each other.
local function key_of(list, memory_bytes, box)
  local parts = { box, memory_bytes, gpus.chosen() }
  for i, worker in ipairs(list) do
    local roles = table.concat(worker.roles, "+")
    parts[i + 3] = ("%s %s %d"):format(roles, worker.device or "", worker.depth)
  end
  return table.concat(parts, "\n")
end

local function end_kept()
  local list = kept
  kept = nil
  for _, crew in pairs(list) do crew:close() end
end

--- Until what it returns is closed, workers stay when a crew is closed, and serve who opens one
--- alike: a process costs some hundredths of a second, and what its compiler knows of headers a
--- second. Of what a worker was told for others nothing counts.
---@return table to be closed
function M.keep()
  if kept then return setmetatable({}, { __close = function() end }) end
  kept = {}
  return setmetatable({}, { __close = end_kept })
end

--- Starts the workers.
---@param list table[] one entry a worker: { roles = { "host", "device" }, device =, depth = 1 }
---@param memory_bytes integer what a worker may use
---@param box string what they are shut into: "emu", "gpu" (which lets the driver work) or "none"
---@param programs? boolean they start programs, which are shut in with them
---@return gilua.crew
function M.open(list, memory_bytes, box, programs)
  local key = key_of(list, memory_bytes, programs and box .. " programs" or box)
  local idle = kept and kept[key]
  if idle then
    kept[key] = nil
    return idle:again()
  end
  local program, unknown = core.system.program()
  if not program then fail("cannot start the workers: %s", unknown) end
  local scratch, reason = core.file.folder()
  if not scratch then fail("%s", reason) end
  local argv = { program, "--worker", box, scratch:path(), tostring(memory_bytes),
    programs and "programs" or "alone", gpus.chosen(), M.needs_box and "needs a box" or nil }
  local processes, why = core.farm.open(argv, #list, { memory_bytes = memory_bytes })
  if not processes then fail("%s", why) end
  local crew = M.new(list, memory_bytes, processes)
  crew.scratch, crew.key = scratch, key
  return crew
end

--- A crew of processes that run.
function M.new(list, memory_bytes, processes)
  local self = setmetatable({
    processes = processes, workers = list, memory_bytes = memory_bytes, turn = 1,
  }, Crew)
  self:begin()
  for i, worker in ipairs(list) do
    worker.index, worker.jobs, worker.runs, worker.served, worker.rests_until = i, {}, true, 0, 0
  end
  return self
end

--- Nothing was asked of it so far.
function Crew:begin()
  self.restarts, self.losses = 0, {}
  self.in_vain = {} -- losses that were nobody's since the last answer, by kind
  self:forget_jobs()
end

--- A crew of the same processes for somebody else, who shares nothing with those before.
function Crew:again()
  local other = setmetatable({
    processes = self.processes, workers = self.workers, memory_bytes = self.memory_bytes,
    scratch = self.scratch, key = self.key, turn = self.turn + 1,
  }, Crew)
  other:begin()
  for _, worker in ipairs(other.workers) do worker.case_key = nil end
  return other
end

--- Ends the workers, or keeps them for others; of a crew that is closed already nothing.
function Crew:close()
  if self.closed then return end
  if kept and self.key and not kept[self.key] and not self:busy() then
    kept[self.key] = self:again()
  else
    self.processes:close()
    if self.scratch then self.scratch:close() end
  end
  self.closed = true
end

-- --- what waits ---------------------------------------------------------------------------------

function Crew:forget_jobs()
  self.queue = jobqueue.new()
  self.suspects = { host = jobqueue.line(), device = jobqueue.line() } -- each for a new worker
  self.starved = jobqueue.line() -- each for a new worker, when there is nothing else to do
end

--- How many jobs wait for a worker.
function Crew:waiting()
  return self.queue.n + self.suspects.host.n + self.suspects.device.n + self.starved.n
end

function Crew:post(job, first)
  local q = job.starved and self.starved or job.suspect and self.suspects[job.role] or self.queue
  q:put(job, first)
end

local function serves(worker, role)
  for _, own in ipairs(worker.roles) do
    if own == role then return true end
  end
  return false
end

--- The next job a worker can serve, or nil; a suspect comes first, where the worker is idle.
function Crew:next_for(worker)
  for _, role in ipairs(#worker.jobs == 0 and worker.roles or {}) do
    local job = self.suspects[role]:take()
    if job then return job end
  end
  return self.queue:take(worker.roles)
end

-- --- giving out work ----------------------------------------------------------------------------

--- What the first job of a worker has used is counted from now.
function Crew:start_clock(worker)
  if not worker.jobs[1] then return end
  worker.since_s, worker.since_cpu_s = core.system.seconds(), self.processes:cpu_s(worker.index)
  worker.awake_s, worker.awake_cpu_s = worker.since_s, worker.since_cpu_s
end

--- Has a worker done nothing at all for as long as its job may sleep? A compiler has nothing to
--- wait for, unless a source sends it to a pipe. On a machine that others keep busy it may get no
--- processor for as long, and that is not its doing.
function Crew:asleep(worker, now)
  local sleep_s = worker.jobs[1].sleep_s
  if not sleep_s then return false end
  local cpu_s = self.processes:cpu_s(worker.index)
  if cpu_s > worker.awake_cpu_s or self.processes:wants_cpu(worker.index) then
    worker.awake_s, worker.awake_cpu_s = now, cpu_s
  end
  return now - worker.awake_s > sleep_s
end

function Crew:send(worker, job)
  if job.suspect and worker.served > 0 and not self:renew(worker) then
    self:post(job, true)
    return
  end
  worker.jobs[#worker.jobs + 1] = job
  if #worker.jobs == 1 then self:start_clock(worker) end
  local message, share = job.message(worker)
  message.turn = self.turn
  self.processes:send(worker.index, wire.encode(message), share)
end

local function has_room(worker, depth)
  if not worker.runs or #worker.jobs ~= depth or depth >= worker.depth then return false end
  return depth == 0 or not worker.jobs[1].suspect
end

--- Gives jobs to the workers that can take one, the least busy first.
function Crew:assign()
  for depth = 0, 1 do
    for _, worker in ipairs(self.workers) do
      local job = has_room(worker, depth) and self:next_for(worker)
      if job then self:send(worker, job) end
    end
  end
  if self.starved.n > 0 and self:waiting() == self.starved.n and not self:busy() then
    self:assign_starved()
  end
end

function Crew:assign_starved()
  local role = self.starved:head().role
  for _, worker in ipairs(self.workers) do
    if worker.runs and serves(worker, role) then
      self:send(worker, self.starved:take())
      return
    end
  end
end

function Crew:busy()
  for _, worker in ipairs(self.workers) do
    if #worker.jobs > 0 then return true end
  end
  return false
end

-- --- losing workers -----------------------------------------------------------------------------

--- A worker came to nothing, and no job is to blame. It rests, the longer the more have come to
--- nothing; too many in a row end the run.
function Crew:lost_in_vain(worker, kind, sentence)
  local rounds = (self.in_vain[kind] or 0) + 1 / #self.workers
  self.in_vain[kind] = rounds
  if rounds >= MOST_IN_VAIN then fail("%s", sentence) end
  worker.rests_until = core.system.seconds() + math.min(REST_S * 2 ^ rounds, MOST_REST_S)
end

--- Puts a new process in the place of an idle worker's, if it has one.
---@return boolean started where not, the worker rests
function Crew:renew(worker)
  local ok, why = self.processes:restart(worker.index)
  worker.runs, worker.served, worker.case_key, worker.first_bytes = ok ~= nil, 0, nil, nil
  if not ok then self:lost_in_vain(worker, "start", why) end
  return worker.runs
end

--- Workers that were lost start again.
function Crew:revive()
  for _, worker in ipairs(self.workers) do
    if not worker.runs and core.system.seconds() >= worker.rests_until then self:renew(worker) end
  end
end

--- Ends what is left of a worker; what it had not answered is posted again.
function Crew:lose(worker, kind)
  local jobs = worker.jobs
  self.losses[kind] = (self.losses[kind] or 0) + 1
  worker.jobs, worker.runs, worker.rests_until = {}, false, 0
  self.processes:kill(worker.index)
  self.restarts = self.restarts + 1
  for i = #jobs, 1, -1 do self:post(jobs[i], true) end
end

--- A worker is replaced; what it had not answered is posted again.
---@return boolean started
function Crew:replace(worker)
  self:lose(worker, "stopped")
  return self:renew(worker)
end

local function killed_sentence(reason, times)
  return ("workers are being killed from outside, %s, so that nothing gets done (the last: %s); "
    .. "find out who does it: a limit on memory or processes may"):format(times, reason)
end

--- Somebody else ended a worker.
function Crew:killed(worker, job, reason)
  local times = MOST_IN_VAIN * #self.workers
  self:lost_in_vain(worker, "killed", killed_sentence(reason, times .. " times in a row"))
  if not job then return end
  job.kills = (job.kills or 0) + 1
  if job.kills >= MOST_KILLS then
    fail("%s", killed_sentence(reason, job.kills .. " times at the same job"))
  end
  if job.kills < MOST_KILLS_TOGETHER or not self:post_parts(job) then self:post(job, true) end
end

--- Posts a job of several mutants as one for each.
---@return boolean done it was one of several
function Crew:post_parts(job)
  local parts = job.parts and job.parts() or {}
  for _, part in ipairs(parts) do self:post(part) end
  return #parts > 0
end

--- A job lost its worker by its own doing, as it seems.
---@param alone boolean nothing else was asked of the worker
---@param sure boolean? no other worker would have it otherwise
function Crew:suspect(job, kind, reason, alone, sure)
  if self:post_parts(job) then return end
  if sure then job.strikes = M.STRIKES - 1 end
  if alone and kind ~= "doubt" then job.strikes = (job.strikes or 0) + 1 end
  if job.strikes == M.STRIKES then
    job.blame(STATUS[kind], reason)
    return
  end
  job.suspect, job.starved = true, kind == "starved"
  self:post(job)
end

--- A worker was lost over its first job.
---@param kind string "killed", "died", "memory", "timeout", "starved" or "doubt"
function Crew:lost(worker, kind, reason, sure)
  local alone = #worker.jobs == 1
  local job = table.remove(worker.jobs, 1)
  self:lose(worker, kind)
  if kind == "killed" or kind == "starved" and not job then
    self:killed(worker, job, reason)
  elseif not job then
    self:lost_in_vain(worker, "idle", "workers end without having been asked: " .. reason)
  else
    self:suspect(job, kind, reason, alone, sure)
  end
end

-- --- answers and time ---------------------------------------------------------------------------

--- A failure in a worker's own code or in a problem's: not a mutant's fate.
function M.raise(failure)
  if failure.sentence then fail("%s", failure.sentence) end
  error("in a worker: " .. failure.trace, 0)
end

--- Libraries keep what they take. A worker that has grown is replaced in time, between two jobs: so
--- no mutant pays for what others have left behind.
function Crew:renew_grown(worker)
  if #worker.jobs > 0 or self.memory_bytes == 0 then return end
  local bytes = self.processes:memory(worker.index)
  worker.first_bytes = worker.first_bytes or bytes
  if bytes > RENEW_SHARE * self.memory_bytes and bytes > 2 * worker.first_bytes then
    self:renew(worker)
  end
end

--- The worker has answered, and is as good as any, but for the case.
function Crew:failed(worker, failure)
  local job = table.remove(worker.jobs, 1)
  worker.case_key = nil
  if not job.failed then M.raise(failure) end
  worker.served = worker.served + 1
  self:start_clock(worker)
  job.failed(failure)
end

function Crew:answered(worker, bytes, share)
  local reply = wire.decode(bytes)
  if reply.failure then return self:failed(worker, reply.failure) end
  if reply.doubt and not worker.jobs[1].suspect then
    self:lost(worker, "doubt", reply.doubt)
    return
  end
  local job = table.remove(worker.jobs, 1)
  worker.served, self.in_vain = worker.served + 1, {}
  if reply.lost or reply.doubt then
    self:lose(worker, reply.doubt and "doubt" or "context")
  else
    self:start_clock(worker)
    self:renew_grown(worker)
  end
  job.done(reply, worker, share)
end

--- Seconds that a job may take, as of now.
---@return number
function M.limit_of(job)
  return type(job.limit_s) == "function" and job.limit_s() or job.limit_s
end

--- Why a worker's first job has had its time; nil while it has not.
---@return string? reason
---@return boolean? sure it would have it with every worker
function Crew:overdue(worker, now)
  local limit_s = M.limit_of(worker.jobs[1])
  if self:asleep(worker, now) then return "it waited for something that does not come" end
  local past_s = now - worker.since_s
  if past_s <= limit_s then return nil end
  if worker.device ~= "emu" then return ("no answer within %.3g s"):format(limit_s) end
  local used_s = self.processes:cpu_s(worker.index) - worker.since_cpu_s
  if used_s > limit_s then
    return ("no answer within %.3g s of processor time"):format(limit_s), worker.jobs[1].once
  elseif past_s > SLEEP_FACTOR * limit_s and not self.processes:wants_cpu(worker.index) then
    return ("no answer within %.3g s, and it was idle for most of them"):format(past_s)
  end
end

function Crew:check_deadlines()
  local now = core.system.seconds()
  for _, worker in ipairs(self.workers) do
    local reason, sure
    if worker.jobs[1] then reason, sure = self:overdue(worker, now) end
    if reason then self:lost(worker, "timeout", reason, sure) end
  end
end

--- How long nobody has to look at the clock.
function Crew:patience()
  local now, least = core.system.seconds(), 1
  for _, worker in ipairs(self.workers) do
    local job = worker.jobs[1]
    local look_s = job and math.max(worker.since_s + M.limit_of(job), now + LOOK_S)
    local wake_s = not worker.runs and worker.rests_until or look_s
    if wake_s then least = math.min(least, wake_s - now) end
  end
  return math.max(least, 0.01)
end

--- Gives out what waits, and waits for one event.
---@param most_s? number how long, at most
---@return boolean came of a worker
function Crew:step(most_s)
  self:revive()
  self:assign()
  local patience = math.min(self:patience(), most_s or math.huge)
  local kind, index, bytes, share = self.processes:wait(patience)
  local worker = self.workers[index]
  if kind == "message" then
    self:answered(worker, bytes, share)
  elseif worker then
    self:lost(worker, kind, bytes)
  end
  self:check_deadlines()
  return worker ~= nil
end

--- Serves all that is posted, and what that posts, until nothing is left. `after` is called after
--- every event.
---@param after? fun()
function Crew:drain(after)
  while self:waiting() > 0 or self:busy() do
    self:step()
    if after then after() end
  end
end

--- Ends the workers' present jobs without an answer: nothing of them is kept. Used when an error
--- has stopped an evaluation half way, so that the next one begins with idle workers.
function Crew:clear()
  for _, worker in ipairs(self.workers) do
    if #worker.jobs > 0 then
      worker.jobs = {}
      self:lose(worker, "stopped")
    end
  end
  self:forget_jobs()
  self.in_vain = {}
end

return M
