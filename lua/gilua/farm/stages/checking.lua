-- checking: runs a mutant on the small case, on the virtual GPU with every check on, and decides
-- whether it stops there; also runs on other data.
--
-- The functions are methods of gilua.funnel, as are those of the other stages.

local brokenpromise = require "gilua.problem.brokenpromise"
local limits = require "gilua.farm.stages.limits"
local screen = require "gilua.farm.screen"

local Funnel = {}

--- The verdict of a checked run holds for every case: the small case is always the same.
function Funnel:check_job(plan, key)
  local function settle(verdict)
    self.counts.checks = self.counts.checks + 1
    self.verdicts[key] = verdict
    self:settle("check " .. key)
  end
  return {
    kind = "check", role = "host", limit_s = self.options.timeout_s,
    code = self.far and self:checked_kernel(plan).code,
    missing = function(hash)
      self.compiled:miss(hash)
      self:settle("check " .. key)
    end,
    message = function()
      local kernel = self:checked_kernel(plan)
      return { op = "check", problem = self.problem.dir, code = kernel.code,
               values = kernel.values, guarded = kernel.guarded, first = not self.checked_budget,
               budget = self.checked_budget or 0, loop_limit = self.loop_limit,
               wrong_ends = self:ends_when_wrong(plan), most_error = self:most_error() }
    end,
    done = function(reply)
      self.seconds.checked = self.seconds.checked + reply.seconds
      if self.memory then self.memory:keep_verdict(key, reply.verdict) end
      settle(reply.verdict)
    end,
    blame = function(status, reason)
      settle { status = status, message = "in the checked run: " .. reason }
    end,
  }
end

--- Is what the small case says a plan's measurement? Where the scheme wants no more of wrong ones,
--- and the unmodified kernel is right there.
function Funnel:is_screened(plan)
  local answers = plan.verdict and plan.verdict.answers
  if plan.wrong ~= "small" or plan.is_baseline or not answers then return false end
  if not self:is_right_there(self.small) or self:is_right_there(plan.verdict) then return false end
  self:ends_with(plan, answers, self.small)
  return true
end

--- A plan gets no further than the small case.
---@param end_of table status, message: of its run or of its answers
---@param small table verdict of the unmodified kernel, compiled as the plan was
function Funnel:ends_with(plan, end_of, small)
  if not self.baseline then
    self:wait_for("baseline", plan)
  elseif end_of.status ~= "ok" then
    plan:fail(end_of.status, end_of.message)
    self:stopped(plan)
  else
    self:screened(plan, small)
  end
end

--- The small case is a plan's measurement; a memory keeps it as one.
---@param small table verdict of the unmodified kernel, compiled as the plan was
function Funnel:screened(plan, small)
  if plan.small then return end
  plan.small = screen.measurement(plan.verdict, small, self.baseline)
  if self.memory then
    self.memory:keep_measurement(self.case_key, plan:measured_as(), plan.small)
  end
  self.counts.screened = self.counts.screened + 1
  self:count(plan)
end

--- The largest error of the small case's answers that the scheme allows, besides right answers.
function Funnel:most_error()
  local share, largest = self.options.timed_error, self.small and self.small.largest
  return share > 0 and largest and share * largest or nil
end

--- Are the answers of a checked run right, or within the scheme's largest error?
function Funnel:is_right_there(verdict)
  return verdict.answers ~= nil
    and screen.may_be_right(verdict.answers, self.problem.tolerance, self:most_error())
end

--- Does the small case end a plan that is wrong there? Then nobody asks for its races.
function Funnel:ends_when_wrong(plan)
  return plan.wrong == "small" and plan.run and not plan.is_baseline and self.small ~= nil
    and self:is_right_there(self.small)
end

--- What a checked run may use at least.
function Funnel:least_budget(plan)
  return plan.checked ~= plan.text and self.options.per_round * self.problem.loop_limit or 0
end

--- What others' runs on the small case may use, by the unmodified kernel's.
function Funnel:budget_of(plan, verdict)
  return math.max(limits.checked_budget(verdict.instructions), self:least_budget(plan))
end

--- The unmodified kernel's checked run sets what others' may use.
function Funnel:set_checked_budget(plan)
  self.small = plan.verdict
  self.loop_limit = plan.verdict.loop_limit
  self.checked_budget = self:budget_of(plan, plan.verdict)
  self:settle("checked baseline")
end

--- Does a plan take arrays for different memory that met on the small case, in an order that
--- counts? It gets no further, whatever its answers are.
function Funnel:is_broken(plan)
  if plan.is_baseline or plan.by_hand then return false end
  local why = brokenpromise.of(self.problem, plan.genome, self.small and self.small.meets)
  if not why then return false end
  plan:fail("broken_promise", why)
  self:stopped(plan)
  return true
end

--- What a memory knows of a checked run.
function Funnel:recalled_verdict(key)
  local verdict = self.memory and self.memory:verdict(key)
  if verdict then
    self.counts.checks = self.counts.checks + 1
    self.verdicts[key] = verdict
  end
  return verdict
end

--- Is the plan's checked form known to be sound? False where it waits, or gets no further.
function Funnel:is_checked(plan)
  if not self.problem.checked_case then return true end
  if not self.checked_budget and not plan.is_baseline then
    self:wait_for("checked baseline", plan)
    return false
  end
  local key = self.compiled:of(plan.checked.hash).ptx_hash .. " " .. plan.launch_key
  local verdict = self.verdicts[key] or self:recalled_verdict(key)
  if not verdict or verdict.unchecked and not self:ends_when_wrong(plan) then
    if not self:has_code(plan, plan.checked, "ptx") then return false end
    self:wait_for("check " .. key, plan, function() self.crew:post(self:check_job(plan, key)) end)
    return false
  end
  plan.verdict, plan.verdict_key = verdict, key
  if verdict.status ~= "ok" then
    plan:fail(verdict.status, verdict.message)
    self:stopped(plan)
    return false
  end
  if plan.is_baseline and not self.checked_budget then self:set_checked_budget(plan) end
  return not self:is_broken(plan)
end

--- What a worker needs for a checked run of a plan that is compiled.
function Funnel:checked_kernel(plan)
  return { code = self:code(self.compiled:of(plan.checked.hash).ptx), values = plan.values,
           guarded = plan.checked ~= plan.text, way = plan.way }
end

--- Begins checked runs of kernels, their answers compared, on a case of other data; or (op) what
--- else a worker does with both. The plans are compiled, and the first is the unmodified kernel's.
---@param op? { op: string, seed?: integer, kernel?: table } kernel: in place of the second plan
---@return fun(): table? what came of it, once the crew was served; nil: it is to be asked again
function Funnel:examine(plans, case, op)
  local found
  self.crew:post {
    kind = "check", role = "host", limit_s = self.options.timeout_s,
    message = function()
      local kernels = {}
      for i, plan in ipairs(plans) do kernels[i] = self:checked_kernel(plan) end
      if op then kernels[2] = op.kernel or kernels[2] end
      return { op = op and op.op or "examine", seed = op and op.seed, problem = self.problem.dir,
               case = case, kernels = kernels,
               factor = limits.RUN_FACTOR, least = self:least_budget(plans[1]) }
    end,
    missing = function(hash) self.compiled:miss(hash) end,
    done = function(reply)
      self.seconds.checked = self.seconds.checked + reply.seconds
      self.counts.checks = self.counts.checks + #(reply.verdicts or {})
      found = reply
    end,
    blame = function(status, reason) found = { lost = { status = status, message = reason } } end,
  }
  return function() return found end
end

return Funnel
