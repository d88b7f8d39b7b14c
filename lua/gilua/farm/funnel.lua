--- The funnel of an evaluation: how one mutant gets from its genome to its measurement.
--
-- A mutant is a `plan` here, and `advance` takes it as far as what is known about it allows. It
-- then waits for a topic (a compilation, a check, the case ...), and whoever settles the topic
-- advances all that wait for it. So everything flows at once, and nothing is done twice: what is
-- known is kept under the hash of the source, of the PTX, or of the machine code.
--
--   plan:      genome -> source
--   compile:   source -> PTX and, for a GPU, machine code, in batches
--   check:     the small case on the virtual GPU with every check on; holds for every case
--   run:       the whole case on the device; holds for the case at hand
--
-- What this file does not decide: which worker does what (crew.lua), and what is counted and
-- reported (farm.lua).

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local lfs = require "lfs"
local wire = require "gilua.base.wire"
local failed = require("gilua.farm.runner").failed

-- What a mutant may use, relative to the unmodified kernel. The small case costs nothing, so that
-- a slow mutant is told from an endless one there; on the whole case ten times as slow is no use.
local CHECK_FACTOR = 100 -- warp instructions
local RUN_FACTOR = 10 -- warp instructions, or seconds on a GPU
local LEAST_PER_LOOP = 1000 -- … for each iteration that a guard allows: the guard comes first
local LEAST_LAUNCH_S = 1 -- not called endless before: a fault may take half a second to show
local KEEP_BYTES = 256 << 20 -- of machine code and PTX kept for the next cases

local M = {}

---@class gilua.funnel
local Funnel = {}
Funnel.__index = Funnel

--- The lines before every mutant, and those before its checked form where that is another text.
local function prologues(problem, clock)
  local grammar = problem.grammar
  local function lines(text) return text == "" and "" or text .. "#line 1\n" end
  local spans = clock == "spans" and grammar:clock(true) or ""
  local no_spans = clock == "spans" and grammar:clock(false) or ""
  local on = grammar:guard(true, problem.loop_limit)
  return lines(grammar:guard(false) .. spans), on ~= "" and lines(on .. no_spans) or nil
end

---@param problem gilua.problem
---@param workers gilua.crew
---@param devices table[] what the workers' probe found
---@param options table of gi.farm
function M.new(problem, workers, devices, options)
  local plain, guarded = prologues(problem, options.clock)
  return setmetatable({
    problem = problem, crew = workers, devices = devices, options = options,
    target = devices[1].target, virtual = devices[1].device == "emu",
    names = problem.grammar:names(), prologue = plain, checked_prologue = guarded,
    compiled = {}, codes = {}, kept_bytes = 0, -- by hash of the source; by hash of the code
    checks = {}, killers = {}, -- by key: verdicts that hold for every case
    measured = {}, -- by key, of the case at hand
    waiting = {}, -- topic -> plans
    seconds = { case = 0, compile = 0, checked = 0, run = 0, check = 0, time = 0 },
  }, Funnel)
end

-- --- plans ------------------------------------------------------------------------------------

local function sorted_text(values)
  local names = {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = name .. "=" .. tostring(values[name]) end
  return table.concat(names, " ")
end

--- All values, and those that a launch may depend on as a key: a switch shows in the PTX alone.
function Funnel:launch_values(params)
  local all, launch = self.problem:values(params), {}
  for _, p in ipairs(self.problem.parameters) do
    if not p.switch then launch[p.name] = all[p.name] end
  end
  return all, sorted_text(launch)
end

--- The text of a mutant and the values it sets; or nil and why there is none.
function Funnel:source_of(genome)
  if type(genome) == "table" then
    if type(genome.source) ~= "string" then
      error("gilua.farm: a mutant by hand is { source = text, params = {...} }", 0)
    end
    return genome.source, genome.params or {}
  end
  local clock = self.options.clock == "spans" and { clock = true } or nil
  local source, detail = self.problem.grammar:apply(genome, clock)
  if not source then return nil, detail end
  return source, detail.params
end

--- What is known of one genome before anything is compiled.
---@param genome string|table
function Funnel:plan(genome)
  local source, params = self:source_of(genome)
  local by_hand = type(genome) == "table"
  local name = by_hand and (genome.name or "by hand " .. core.system.hash(source)) or genome
  if not source then return { genome = name, result = failed("compile_error", params) } end
  local values, launch_key = self:launch_values(params)
  local options, target = self.problem:compile_options(values)
  if source:find("\0", 1, true) then
    return { genome = name, result = failed("compile_error", "the source has a zero byte") }
  end
  local plan = {
    genome = name, by_hand = by_hand, source = (by_hand and "" or self.prologue) .. source,
    values = values, launch_key = launch_key, options = options, target = target or self.target,
  }
  plan.source_hash = core.system.hash(plan.target .. "\n" .. table.concat(options, "\n") .. "\n"
    .. plan.source)
  if self.checked_prologue and not by_hand and self.problem.checked_case then
    plan.checked_source = self.checked_prologue .. source
    plan.checked_hash = core.system.hash(plan.checked_source)
  end
  return plan
end

--- A plan waits until somebody settles the topic; `start` is called where nobody waits yet.
function Funnel:wait_for(topic, plan, start)
  local list = self.waiting[topic]
  if list then
    list[#list + 1] = plan
    return
  end
  self.waiting[topic] = { plan }
  if start then start() end
end

function Funnel:settle(topic)
  local list = self.waiting[topic]
  self.waiting[topic] = nil
  for _, plan in ipairs(list or {}) do self:advance(plan) end
end

--- Takes a plan as far as it goes now.
function Funnel:advance(plan)
  if plan.result or not self:is_compiled(plan) or plan.result then return end
  if plan.checked and not self:is_checked(plan) or plan.result then return end
  if plan.measured then self:run(plan) end
end

-- --- compiling --------------------------------------------------------------------------------

--- Between evaluations: when the kept texts are too many they all go, and a genome that comes back
--- is compiled again. What does not compile is remembered.
function Funnel:forget()
  if self.kept_bytes <= KEEP_BYTES then return end
  for hash, unit in pairs(self.compiled) do
    if not unit.status then self.compiled[hash] = nil end
  end
  self.codes, self.kept_bytes = {}, 0
end

--- Keeps a text that runs may need.
function Funnel:keep(code)
  local hash = core.system.hash(code)
  if not self.codes[hash] then
    self.codes[hash] = code
    self.kept_bytes = self.kept_bytes + #code
  end
  return hash
end

--- What is remembered of one compiled unit.
function Funnel:unit_of(r, images)
  if not r.code then return { status = "compile_error", message = r.message, log = r.log } end
  local image = images and images[r.image]
  return { ptx = self:keep(r.code), ptx_hash = r.hash, code = self:keep(image or r.code),
           code_hash = r.code_hash, tag = image and r.tag or "" }
end

function Funnel:compile_job(units, target, options)
  local function job(list, again)
    return {
      kind = "compile", role = "host", limit_s = self.options.compile_timeout_s, again = again,
      message = function()
        local sources = {}
        for i, u in ipairs(list) do
          sources[i] = { source = u.source, names = self.names, kernel = self.problem.kernel }
        end
        return { op = "compile", units = sources, target = target, options = options }
      end,
      done = function(reply)
        self.seconds.compile = self.seconds.compile + reply.seconds
        for i, u in ipairs(list) do
          self.compiled[u.hash] = self:unit_of(reply.results[i], reply.images)
        end
        for _, u in ipairs(list) do self:settle(u.hash) end
      end,
      blame = function(status, reason)
        self.compiled[list[1].hash] = {
          status = status, message = "while compiling: " .. reason }
        self:settle(list[1].hash)
      end,
      parts = #list > 1 and function()
        local parts = {}
        for i, u in ipairs(list) do parts[i] = job({ u }) end
        return parts
      end or nil,
    }
  end
  return job(units)
end

--- How many of what is left go into one compilation: many at first, because that is cheaper, few at
--- the end, so that all workers finish together. A unit's code does not depend on its company.
function Funnel:batch_size(left)
  local fair = left // (2 * self.options.jobs)
  return math.min(left, math.max(2, math.min(fair, self.options.batch)))
end

--- Compiles what nobody has compiled yet, in batches of mutants that share their options. What was
--- written by hand is compiled alone: only mutants of one grammar are known to leave no macro,
--- pragma or open brace behind for the next.
function Funnel:compile_all(plans)
  local fresh, order = {}, {}
  local function want(hash, source, target, options, alone)
    if not hash or self.compiled[hash] or self.waiting[hash] then return end
    self.waiting[hash] = {}
    if alone then
      self.crew:post(self:compile_job({ { hash = hash, source = source } }, target, options))
      return
    end
    local key = target .. "\n" .. table.concat(options, "\n")
    if not fresh[key] then
      fresh[key] = { target = target, options = options }
      order[#order + 1] = fresh[key]
    end
    table.insert(fresh[key], { hash = hash, source = source })
  end
  for _, plan in ipairs(plans) do
    want(plan.source_hash, plan.source, plan.target, plan.options, plan.by_hand)
    want(plan.checked_hash, plan.checked_source, "compute_90", {})
  end
  for _, group in ipairs(order) do
    local first = 1
    while first <= #group do
      local n = self:batch_size(#group - first + 1)
      local units = table.move(group, first, first + n - 1, 1, {})
      self.crew:post(self:compile_job(units, group.target, group.options))
      first = first + n
    end
  end
end

function Funnel:is_compiled(plan)
  for _, hash in ipairs { plan.source_hash, plan.checked and plan.checked_hash or nil } do
    local unit = self.compiled[hash]
    if not unit then
      self:wait_for(hash, plan)
      return false
    elseif unit.status then
      plan.result = failed(unit.status, unit.message)
      plan.result.log = unit.log
      return true
    end
  end
  plan.unit = self.compiled[plan.source_hash]
  plan.ptx_hash = plan.unit.ptx_hash
  plan.code_hash = plan.unit.code_hash
  plan.key = (plan.code_hash or plan.ptx_hash) .. " " .. plan.launch_key .. (plan.copy or "")
  return true
end

-- --- the checked run --------------------------------------------------------------------------

--- The verdict of a checked run holds for every case: the small case is always the same.
function Funnel:check_job(plan, key)
  local unit = self.compiled[plan.checked_hash or plan.source_hash]
  return {
    kind = "check", role = "host", limit_s = self.options.timeout_s,
    message = function()
      return { op = "check", problem = self.problem.dir, code = self.codes[unit.ptx],
               values = plan.values, guarded = plan.checked_hash ~= nil,
               budget = self.checked_budget or 0 }
    end,
    done = function(reply)
      self.seconds.checked = self.seconds.checked + reply.seconds
      self.checks[key] = reply.verdict
      self:settle("check " .. key)
    end,
    blame = function(status, reason)
      self.checks[key] = { status = status, message = "in the checked run: " .. reason }
      self:settle("check " .. key)
    end,
  }
end

function Funnel:is_checked(plan)
  if not self.problem.checked_case then return true end
  if not self.checked_budget and not plan.baseline then
    self:wait_for("checked baseline", plan)
    return false
  end
  local unit = self.compiled[plan.checked_hash or plan.source_hash]
  local key = unit.ptx_hash .. " " .. plan.launch_key
  local verdict = self.checks[key]
  if not verdict then
    self:wait_for("check " .. key, plan, function() self.crew:post(self:check_job(plan, key)) end)
    return false
  end
  plan.verdict = verdict
  if verdict.status ~= "ok" then
    plan.result = failed(verdict.status, verdict.message)
  elseif plan.baseline and not self.checked_budget then
    local least = plan.checked_hash and LEAST_PER_LOOP * self.problem.loop_limit or 0
    self.checked_budget = math.max(verdict.instructions * CHECK_FACTOR, least)
    self:settle("checked baseline")
  end
  return true
end

-- --- the whole case ---------------------------------------------------------------------------

--- The case is built by one worker and shared with the others; nothing of it is copied.
function Funnel:case_job(case)
  return {
    kind = "case", role = "host", limit_s = self.options.timeout_s,
    message = function() return { op = "case", problem = self.problem.dir, case = case } end,
    done = function(reply, _, share)
      if self.share then self.share:close() end
      self.case, self.share, self.info = reply.case, share, reply.info
      self.seconds.case = self.seconds.case + reply.seconds
      self:settle("case")
    end,
    blame = function(_, reason)
      fail("the case of %s cannot be made: %s", self.problem.dir, reason)
    end,
  }
end

--- A message for a device worker, with the case where the worker has another one.
function Funnel:device_message(worker, message)
  message.problem, message.device, message.case_key = self.problem.dir, worker.device, self.case_key
  if worker.case_key == self.case_key then return message end
  worker.case_key = self.case_key
  message.case = self.case
  return message, self.share
end

function Funnel:code_of(plan)
  return { code = self.codes[plan.unit.code], hash = plan.unit.code, tag = plan.unit.tag,
           values = plan.values }
end

function Funnel:timing(plan)
  local o = self.options
  return { clock = o.clock, flush_l2 = o.flush_l2, rel_error = o.rel_error,
           min_samples = o.min_samples, max_samples = o.max_samples, min_time_s = o.min_time_s,
           stop_above_ns = plan.slow_above or nil }
end

function Funnel:run_job(plan)
  local key = plan.key
  return {
    kind = "run", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      local base = not self.virtual and not plan.baseline and self:code_of(self.baseline_plan)
      return self:device_message(worker, {
        op = "run", mutant = self:code_of(plan), baseline = base or nil,
        budget = plan.baseline and 0 or self.budget, timing = self:timing(plan),
        launch_s = plan.baseline and 10 or self.launch_s,
      })
    end,
    done = function(reply)
      local m = reply.measurement
      if reply.lost then self.killers[key] = m end
      self:measured_now(plan, m)
    end,
    blame = function(status, reason)
      self.killers[key] = failed(status, reason)
      self:measured_now(plan, self.killers[key])
    end,
  }
end

--- A result of a device has come.
function Funnel:measured_now(plan, m)
  local seconds = self.seconds
  for stage, s in pairs(m.seconds) do seconds[stage] = (seconds[stage] or 0) + s end
  if plan.baseline then self:set_baseline(m) end
  self:correct_drift(m)
  self.measured[plan.key] = m
  self:settle("run " .. plan.key)
  if plan.baseline then self:settle("baseline") end
end

--- The unmodified kernel's run sets what others may use.
function Funnel:set_baseline(m)
  if m.status ~= "ok" then
    fail("the unmodified kernel fails (%s): %s", m.status, m.message)
  end
  self.baseline = m
  self.budget = (m.warp_instructions or 0) * RUN_FACTOR
  self.launch_s = math.max(LEAST_LAUNCH_S, m.ns * 1e-9 * RUN_FACTOR)
  m.baseline_ns = m.baseline_ns or (not self.virtual and m.ns or nil)
end

--- On a GPU: ticks are the clocks of the time that the mutant would have taken when the unmodified
--- kernel was first timed, so that neither heat nor another GPU of the same model shows.
function Funnel:correct_drift(m)
  local ns = m.baseline_ns
  if not ns then return end
  local seen = self.drift
  if not seen then
    seen = { first_ns = ns, low_ns = ns, high_ns = ns, n = 0 }
    self.drift = seen
  end
  seen.last_ns, seen.n = ns, seen.n + 1
  seen.low_ns, seen.high_ns = math.min(seen.low_ns, ns), math.max(seen.high_ns, ns)
  if m.status == "ok" then
    m.ticks = m.ns / ns * self.baseline.ns * self.devices[1].clock_ghz
  end
end

--- The last stretch: a run for each distinct code and launch.
function Funnel:run(plan)
  if not self.case then return self:wait_for("case", plan) end
  if not plan.baseline and not self.baseline then return self:wait_for("baseline", plan) end
  if self.measured[plan.key] then return end
  if self.killers[plan.key] then
    self.measured[plan.key] = self.killers[plan.key]
    return
  end
  self:wait_for("run " .. plan.key, plan, function() self.crew:post(self:run_job(plan)) end)
end

--- What tells a case from others: its spec, and what the files hold that it names.
local function key_of(case)
  local parts = {}
  for name, value in pairs(case) do
    local path = type(value) == "string" and lfs.attributes(value, "mode") == "file" and value
    local file = path and io.open(path, "rb")
    if file then
      parts[#parts + 1] = ("%s=%s"):format(name, core.system.hash(file:read "a"))
      file:close()
    end
  end
  table.sort(parts)
  return wire.encode(case) .. table.concat(parts, " ")
end

--- Makes a case the one at hand; its first run is the unmodified kernel's, which is begun here.
---@return table? plan of the unmodified kernel; nil where the case is the one at hand already
function Funnel:use(case, checked)
  local key = key_of(case)
  if key == self.case_key and self.baseline then return nil end
  self:forget()
  self.case_key, self.case, self.baseline, self.measured = key, nil, nil, {}
  self.crew:post(self:case_job(case))
  local plan = self:unmodified()
  plan.checked, plan.measured = checked, true
  self.baseline_plan = plan
  self:begin { plan }
  return plan
end

--- A plan of the unmodified kernel.
function Funnel:unmodified()
  local plan = self:plan ""
  if plan.result then fail("the unmodified kernel: %s", plan.result.message) end
  plan.baseline = true
  return plan
end

--- Begins the unmodified kernel's checked run, which sets the budget of the others'.
---@return table? plan nil where it is known
function Funnel:checked_baseline()
  if self.checked_budget then return nil end
  local plan = self:unmodified()
  plan.checked = true
  self:begin { plan }
  return plan
end

--- Compiles what is new and takes every plan as far as it goes now.
function Funnel:begin(plans)
  self:compile_all(plans)
  for _, plan in ipairs(plans) do self:advance(plan) end
end

--- After an error: nobody waits for anything any more.
function Funnel:abandon()
  self.waiting = {}
end

function Funnel:close()
  if self.share then self.share:close() end
  self.share, self.codes, self.compiled, self.measured = nil, {}, {}, {}
end

--- The measurement of a plan, a table of its own; nil while there is none yet.
function Funnel:result_of(plan)
  local found = plan.result or plan.key and self.measured[plan.key]
  if not found then return nil end
  local m = {}
  for k, v in pairs(found) do m[k] = v end
  m.genome, m.source_hash = plan.genome, plan.source_hash
  m.ptx_hash, m.code_hash = plan.ptx_hash, plan.code_hash
  if plan.verdict then m.uninitialised_reads = plan.verdict.uninitialised_reads end
  return m
end

-- --- comparing two -----------------------------------------------------------------------------

--- Begins interleaved launches of two mutants that were measured on the case at hand.
---@return fun(): table what came of it, once the crew was served
function Funnel:pair(a, b, pairs_wanted)
  local plans, found = { self:plan(a), self:plan(b) }, nil
  for _, plan in ipairs(plans) do self:is_compiled(plan) end
  self.crew:post {
    kind = "pair", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, {
        op = "pair", a = self:code_of(plans[1]), b = self:code_of(plans[2]), pairs = pairs_wanted,
        timing = self:timing(plans[1]), launch_s = self.launch_s,
      })
    end,
    done = function(reply) found = reply end,
    blame = function(status, reason) found = { status = status, message = reason } end,
  }
  return function() return found end
end

--- Begins a run, untimed, of a mutant that was measured on the case at hand, for what it writes.
---@return fun(): table { measurement, output? } once the crew was served
function Funnel:answers(genome)
  local plan, found = self:plan(genome), nil
  self:is_compiled(plan)
  self.crew:post {
    kind = "pair", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, {
        op = "answers", mutant = self:code_of(plan), budget = self.budget,
        launch_s = self.launch_s,
      })
    end,
    done = function(reply, _, share)
      found = { measurement = reply.measurement }
      if not share then return end
      local arrays, why = share:arrays()
      share:close()
      if not arrays then error(why, 0) end
      found.output = arrays[1]
    end,
    blame = function(status, reason) found = { measurement = failed(status, reason) } end,
  }
  return function() return found end
end

--- Begins timing what writing the answers of the case at hand takes at least.
---@return fun(): table what came of it, once the crew was served
function Funnel:floor()
  local found
  self.crew:post {
    kind = "pair", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, { op = "floor", timing = self:timing {} })
    end,
    done = function(reply) found = reply end,
    blame = function(_, reason) found = { message = reason } end,
  }
  return function() return found end
end

return M
