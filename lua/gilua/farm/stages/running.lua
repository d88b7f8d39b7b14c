-- running: the whole case on the device: makes the case, runs each distinct code, and derives
-- limits for other mutants from the measurement.
--
-- The functions are methods of gilua.funnel, as are those of the other stages.

local fail = require "gilua.base.fail"
local limits = require "gilua.farm.stages.limits"
local failed = require("gilua.farm.runner").failed

local LEAST_LAUNCH_S = 1 -- not called endless before: a fault may take half a second to show

local Funnel = {}

--- The case is built by one worker and shared with the others; nothing of it is copied.
function Funnel:case_job(case)
  local spec, why = self.problem:prepared(case)
  if spec == nil then fail("%s", why) end
  return {
    kind = "case", role = "host", limit_s = self.options.timeout_s,
    message = function() return { op = "case", problem = self.problem.dir, case = spec } end,
    done = function(reply, _, share)
      if self.memory then self.memory:keep_case(self.case_key, reply.info) end
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
  message.approximation = self.options.approximation
  if worker.case_key == self.case_key then return message end
  worker.case_key = self.case_key
  message.case = self.case
  return message, self.share
end

function Funnel:code_of(plan)
  local unit = self.compiled:of(plan:coded().hash) -- which was compiled again, perhaps
  return { code = self:code(unit.code), hash = unit.code, tag = unit.tag, values = plan.values }
end

function Funnel:timing(plan)
  local o = self.options
  return { clock = o.clock, flush_l2 = o.flush_l2, rel_error = o.rel_error,
           min_samples = o.min_samples, max_samples = o.max_samples, min_time_s = o.min_time_s,
           max_error = o.timed_error > 0 and self.info.largest and o.timed_error * self.info.largest
             or nil,
           stop_above_ns = plan.slow_above or nil, energy = o.energy or nil }
end

function Funnel:run_job(plan)
  local key = plan.key
  return {
    kind = "run", role = "device", limit_s = self.options.timeout_s,
    code = self.far and self:code_of(plan).code,
    missing = function(hash)
      self.compiled:miss(hash)
      self:settle("run " .. key)
    end,
    message = function(worker)
      local base = not self.virtual and not plan.is_baseline
        and self:code_of(self.baseline_plan)
      return self:device_message(worker, {
        op = "run", mutant = self:code_of(plan), baseline = base or nil,
        budget = plan.is_baseline and 0 or self.budget, timing = self:timing(plan),
        launch_s = plan.is_baseline and 10 or self.launch_s,
      })
    end,
    done = function(reply)
      local m = reply.measurement
      if reply.lost then self:kills(key, m) end
      if self.memory then self.memory:keep_measurement(self.case_key, key, m, reply.lost) end
      self:measured(plan, m)
    end,
    blame = function(status, reason)
      local m = failed(status, reason)
      self:kills(key, m)
      self:measured(plan, m)
    end,
  }
end

--- What cost a worker its life, or its GPU: it runs on no other case.
function Funnel:kills(key, m)
  self.killers[key] = failed(m.status, "not run, for on another case " .. tostring(m.message))
end

--- A result of a device has come.
function Funnel:measured(plan, m)
  local seconds = self.seconds
  self.counts.runs = self.counts.runs + 1
  for stage, s in pairs(m.seconds) do seconds[stage] = (seconds[stage] or 0) + s end
  if plan.is_baseline then self:set_baseline(m) end
  self:correct_drift(m)
  self.runs[plan.key] = m
  self:settle("run " .. plan.key)
  if plan.is_baseline then self:settle("baseline") end
end

--- The unmodified kernel's run sets what others may use.
function Funnel:set_baseline(m)
  if m.status ~= "ok" then
    fail("the unmodified kernel fails (%s): %s", m.status, m.message)
  end
  self.baseline = m
  self.budget = (m.warp_instructions or 0) * limits.RUN_FACTOR
  self.launch_s = math.max(LEAST_LAUNCH_S, m.ns * 1e-9 * limits.RUN_FACTOR)
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
  if not plan.is_baseline and not self.baseline then return self:wait_for("baseline", plan) end
  if self.runs[plan.key] then return self:count(plan) end
  if self.killers[plan.key] then
    self:count(plan)
    self.runs[plan.key] = self.killers[plan.key]
    return
  end
  if self:recalled_measurement(plan) then return self:count(plan) end
  if not self.case then return self:wait_for("case", plan, self:makes_case()) end
  if not self:has_code(plan, plan:coded(), "code") then return end
  if not self.virtual and not self:has_code(plan, self.baseline_plan:coded(), "code") then
    return
  end
  self:count(plan)
  self:wait_for("run " .. plan.key, plan, function() self.crew:post(self:run_job(plan)) end)
end

--- What a memory knows of a run on the case at hand.
function Funnel:recalled_measurement(plan)
  if not self.memory then return false end
  local m, lost = self.memory:measurement(self.case_key, plan.key)
  if not m then return false end
  if lost then self:kills(plan.key, m) end
  self:measured(plan, m)
  return true
end

--- Has the case made, where a memory spared it and it is needed now.
function Funnel:makes_case()
  return self.spec and function() self.crew:post(self:case_job(self.spec)) end
end

--- The case itself is needed, not only what is known of it.
function Funnel:need_case()
  if self.case or self.waiting.case then return end
  self.waiting.case = {}
  self:makes_case()()
end

return Funnel
