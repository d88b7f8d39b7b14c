--- The evaluation farm: genomes in, measurements out, through the cheapest filter first.
--
--   duplicate genome -> duplicate source -> does not compile -> duplicate PTX
--     -> small case with every check on -> whole case
--
-- Worker processes compile in batches and run; one that dies or hangs is replaced and its job is
-- tried once more alone, so that only the guilty mutant is blamed. Results do not depend on how
-- many workers there are or on which of them was faster.

local core = require "gilua.core"
local settings = require "gilua.settings"
local wire = require "gilua.wire"
local failed = require("gilua.runner").failed

local BATCH = 8 -- mutants in one compilation: constant, so that no result depends on `jobs`
local BUDGET_FACTOR = 100 -- instructions a mutant may use, relative to the unmodified kernel

---@class gilua.farm
local Farm = {}
Farm.__index = Farm
Farm.__close = function(self) self:close() end

local DEFAULTS = { timeout_s = 600 } -- of one job

--- What goes before every mutant: loop guards, off, where loop headers are open to change.
local function prologue(grammar)
  local guard = grammar:guard(false)
  return guard == "" and "" or guard .. "#line 1\n"
end

---@param problem gilua.problem
---@param options? { jobs?: integer, device?: string, timeout_s?: number }
---@return gilua.farm
local function open(problem, options)
  options = settings.fill("gilua.farm", options, DEFAULTS, { "jobs", "device" })
  local gi = require "gilua"
  local device_name = options.device or gi.options.device or "emu"
  local device, why = gi.device(device_name) -- an impossible device fails here, not in a worker
  if not device then gi.fail("%s", why) end
  local compiler, message = core.compile.info()
  if not compiler then gi.fail("%s", message) end
  local jobs = options.jobs or gi.options.jobs or core.system.cores()
  if jobs < 1 then gi.fail("--jobs %d: at least one worker is needed", jobs) end
  local workers, reason = core.farm.open({ core.system.program(), "--worker" }, jobs)
  if not workers then gi.fail("%s", reason) end
  local self = setmetatable({
    problem = problem, device = device_name, target = device:target(),
    jobs = jobs, workers = workers, timeout_s = options.timeout_s,
    idle = {}, busy = {}, -- worker -> true; worker -> job
    compiled = {}, -- hash of a source -> { hash of its PTX } or { status, message }
    codes = {}, -- hash of PTX -> PTX
    names = problem.grammar:names(),
    prologue = prologue(problem.grammar),
    budget = 0, checked_budget = 0, -- warp instructions a run may use; 0: no limit yet
    case_key = nil, measured = {}, -- of the case at hand: PTX key -> measurement
    counts = { evaluations = 0, runs = 0, restarts = 0,
               duplicates = { genome = 0, source = 0, ptx = 0 }, rejected = {},
               seconds = { case = 0, compile = 0, checked = 0, run = 0, check = 0 } },
  }, Farm)
  for i = 1, jobs do self.idle[i] = true end
  return self
end

--- Ends the workers.
function Farm:close()
  self.workers:close()
end

---@return table { evaluations, runs, restarts, duplicates, rejected, seconds }
function Farm:stats()
  return self.counts
end

---@return table? { name, answers, voxels } of the last case
function Farm:case_info()
  return self.info
end

-- --- jobs -------------------------------------------------------------------------------------

--- The message of a job.
function Farm:message(job)
  if job.op == "compile" then
    local units = {}
    for i, s in ipairs(job.sources) do units[i] = { source = s, names = self.names } end
    return { op = "compile", units = units, options = { target = self.target } }
  end
  return { op = "run", problem = self.problem.dir, device = self.device, case = self.case,
           case_key = self.case_key, code = job.code, values = job.values,
           budget = self.budget, checked_budget = self.checked_budget }
end

function Farm:start(worker, job)
  self.idle[worker] = nil
  self.busy[worker] = job
  job.deadline = core.system.seconds() + self.timeout_s
  self.workers:send(worker, wire.encode(self:message(job)))
end

function Farm:release(worker)
  local job = self.busy[worker]
  self.busy[worker] = nil
  self.idle[worker] = true
  return job
end

--- A worker was lost over a job: it is replaced; the job is tried again in parts, then blamed.
function Farm:lost(worker, status, reason, queue)
  local job = self:release(worker)
  local ok, message = self.workers:restart(worker)
  if not ok then error(message, 0) end
  self.counts.restarts = self.counts.restarts + 1
  if job.op == "compile" and #job.sources > 1 then
    for i, s in ipairs(job.sources) do
      queue[#queue + 1] = {
        op = "compile", sources = { s }, done = function(r) job.done(r, i) end,
        blame = function(_, ...) job.blame(i, ...) end,
      }
    end
  elseif not job.again then
    job.again = true
    queue[#queue + 1] = job
  else
    job.blame(1, status, reason)
  end
end

function Farm:finish(worker, bytes)
  local job = self:release(worker)
  local reply = wire.decode(bytes)
  if reply.failure then
    local gi = require "gilua"
    if reply.failure.sentence then gi.fail("%s", reply.failure.sentence) end
    error("in a worker: " .. reply.failure.trace, 0)
  end
  local seconds = self.counts.seconds
  if job.op == "compile" then
    seconds.compile = seconds.compile + reply.seconds
    for i, r in ipairs(reply.results) do job.done(r, i) end
    return
  end
  local m = reply.measurement
  for stage, s in pairs(m.seconds) do seconds[stage] = seconds[stage] + s end
  self.info = reply.case
  job.done(m)
end

--- The worker whose job has been running too long, if any.
function Farm:late()
  local now = core.system.seconds()
  for worker, job in pairs(self.busy) do
    if now > job.deadline then return worker end
  end
end

--- Serves a queue of jobs until it and all workers are done. Jobs may post more; on_reply is called
-- after each reply of a worker.
function Farm:drain(queue, on_reply)
  while #queue > 0 or next(self.busy) do
    for worker = 1, self.jobs do
      if self.idle[worker] and #queue > 0 then self:start(worker, table.remove(queue, 1)) end
    end
    local kind, worker, bytes = self.workers:wait(1)
    if kind == "message" then
      self:finish(worker, bytes)
      if on_reply then on_reply() end
    elseif kind == "died" then
      self:lost(worker, "crash", bytes, queue)
    else
      local late = self:late()
      if late then
        self:lost(late, "timeout", ("no answer within %g s"):format(self.timeout_s), queue)
      end
    end
  end
end

-- --- the funnel -------------------------------------------------------------------------------

local function sorted_text(values)
  local names = {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = name .. "=" .. tostring(values[name]) end
  return table.concat(names, " ")
end

--- All values, and those that a launch may depend on as a key: a switch shows in the PTX alone.
function Farm:launch_values(params)
  local all, launch = self.problem:values(params), {}
  for _, p in ipairs(self.problem.parameters) do
    if not p.switch then launch[p.name] = all[p.name] end
  end
  return all, sorted_text(launch)
end

--- What is known of one genome before anything is compiled.
function Farm:plan(genome)
  local source, detail = self.problem.grammar:apply(genome)
  if not source then return { genome = genome, result = failed("compile_error", detail) } end
  local values, launch_key = self:launch_values(detail.params)
  source = self.prologue .. source
  return { genome = genome, source = source, source_hash = core.system.hash(source),
           values = values, launch_key = launch_key }
end

function Farm:compile_result(r)
  if not r.code then return { message = r.message, status = "compile_error", log = r.log } end
  self.codes[r.hash] = self.codes[r.hash] or r.code
  return { hash = r.hash }
end

--- One run job for each distinct PTX and launch; the plan's key is known from here on.
function Farm:queue_run(plan, queue, front)
  local compiled = self.compiled[plan.source_hash]
  if not compiled.hash then
    plan.result = failed(compiled.status, compiled.message)
    plan.result.log = compiled.log
    return
  end
  plan.key = compiled.hash .. " " .. plan.launch_key
  plan.ptx_hash = compiled.hash
  if self.measured[plan.key] then return end
  self.measured[plan.key] = "pending"
  local key = plan.key
  table.insert(queue, front and 1 or #queue + 1, {
    op = "run", code = self.codes[compiled.hash], values = plan.values,
    done = function(m) self.measured[key] = m end,
    blame = function(_, status, reason) self.measured[key] = failed(status, reason) end,
  })
end

--- Compile jobs for the sources nobody has compiled yet, runs for the others.
function Farm:queue_all(plans, queue)
  local waiting, fresh = {}, {}
  for _, plan in ipairs(plans) do
    local hash = plan.source_hash
    if hash and self.compiled[hash] then
      self:queue_run(plan, queue)
    elseif hash and waiting[hash] then
      table.insert(waiting[hash], plan)
    elseif hash then
      waiting[hash] = { plan }
      fresh[#fresh + 1] = plan
    end
  end
  local function compiled(hash, result)
    self.compiled[hash] = result
    for _, plan in ipairs(waiting[hash]) do self:queue_run(plan, queue, true) end
  end
  for first = 1, #fresh, BATCH do
    local hashes, sources = {}, {}
    for i = first, math.min(first + BATCH - 1, #fresh) do
      hashes[#hashes + 1], sources[#sources + 1] = fresh[i].source_hash, fresh[i].source
    end
    queue[#queue + 1] = {
      op = "compile", sources = sources,
      done = function(r, i) compiled(hashes[i], self:compile_result(r)) end,
      blame = function(i, status, reason)
        compiled(hashes[i], { status = status, message = reason })
      end,
    }
  end
end

--- Counts, in the order of the genomes, what each one cost: nothing here depends on timing.
function Farm:account(plans)
  local counts, genomes, sources = self.counts, self.seen_genomes, self.seen_sources
  for _, plan in ipairs(plans) do
    local m = plan.measurement
    counts.evaluations = counts.evaluations + 1
    local source_key = plan.source and plan.source_hash .. " " .. plan.launch_key
    if genomes[plan.genome] then
      m.cached = "genome"
    elseif source_key and sources[source_key] then
      m.cached = "source"
    elseif plan.key and self.seen_keys[plan.key] then
      m.cached = "ptx"
    elseif plan.key then
      counts.runs = counts.runs + 1
    end
    if m.cached then counts.duplicates[m.cached] = counts.duplicates[m.cached] + 1 end
    genomes[plan.genome] = true
    if source_key then sources[source_key] = true end
    if plan.key then self.seen_keys[plan.key] = true end
    if m.status ~= "ok" then counts.rejected[m.status] = (counts.rejected[m.status] or 0) + 1 end
  end
end

--- Each genome gets a measurement table of its own.
function Farm:result_of(plan)
  local m = {}
  for k, v in pairs(plan.result or self.measured[plan.key]) do m[k] = v end
  m.genome = plan.genome
  m.ptx_hash = plan.ptx_hash
  m.source_hash = plan.source_hash
  return m
end

--- Makes a case the one at hand: its first run is the unmodified kernel's, which sets the budget.
function Farm:use(case)
  local key = wire.encode(case)
  if key == self.case_key then return end
  self.case, self.case_key, self.measured = case, key, {}
  self.budget, self.checked_budget = 0, 0
  self.seen_genomes, self.seen_sources, self.seen_keys = {}, {}, {}
  local plan = self:plan("")
  local queue = {}
  self:queue_all({ plan }, queue)
  self:drain(queue)
  local m = self:result_of(plan)
  if m.status ~= "ok" then
    require("gilua").fail("the unmodified kernel fails (%s): %s", m.status, m.message)
  end
  self.budget = (m.warp_instructions or 0) * BUDGET_FACTOR
  self.checked_budget = (m.checked_instructions or 0) * BUDGET_FACTOR
end

--- Measures every genome on a case.
---@param genomes string[] "" is the unmodified kernel
---@param case table what problem.case takes
---@param on_result? fun(i: integer, measurement: table, done: integer, total: integer) in order
---@return table[] measurements, one for each genome
function Farm:evaluate(genomes, case, on_result)
  self:use(case)
  local plans, queue, results = {}, {}, {}
  for i, genome in ipairs(genomes) do plans[i] = self:plan(genome) end
  self:queue_all(plans, queue)
  local reported = 0
  local function report()
    while reported < #plans do
      local plan = plans[reported + 1]
      local m = plan.key and self.measured[plan.key]
      if not plan.result and (m == nil or m == "pending") then return end
      reported = reported + 1
      plan.measurement = self:result_of(plan)
      results[reported] = plan.measurement
      if on_result then on_result(reported, plan.measurement, reported, #plans) end
    end
  end
  self:drain(queue, report)
  report()
  self:account(plans)
  return results
end

return open
