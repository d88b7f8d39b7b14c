--- sieve: while most mutants are wrong, compiles each in haste first and runs it on the small case.
-- A mutant that is wrong there stops, as by screen.lua. All others start the usual way from its
-- beginning, so the sieve never declares a mutant right. In haste the optimiser takes a fraction of
-- its time, and a compilation to PTX takes about half.

local core = require "gilua.core"
local plans = require "gilua.farm.plan"

local M = {}

local OPTION, SINCE = "--Ofast-compile=mid", { 12, 9 } -- of NVRTC
local WRONG = 0.6 -- the share of wrong ones from which on it pays …
local LEAST = 30  -- … among so many
local FADE = 0.99 -- what counts of a result when the next one comes

---@class gilua.sieve
---@field small table? the verdict of the unmodified kernel, compiled in haste
---@field useless boolean? that was not right
local Sieve = {}
Sieve.__index = Sieve

---@param funnel gilua.funnel
---@return gilua.sieve
function M.new(funnel)
  return setmetatable({ funnel = funnel, verdicts = {}, seen = 0, wrong = 0 }, Sieve)
end

local function is_known_to_nvrtc()
  local info = core.compile.info()
  local major, minor = tostring(info and info.version):match "^(%d+)%.(%d+)"
  major, minor = tonumber(major or 0), tonumber(minor or 0)
  return major > SINCE[1] or major == SINCE[1] and minor >= SINCE[2]
end

--- Counts a result, in the order of the genomes, so that nothing depends on who was faster.
---@param m table a measurement
function Sieve:note(m)
  if m.status == "compile_error" then return end
  self.seen = FADE * self.seen + 1
  self.wrong = FADE * self.wrong + ((m.status ~= "ok" or m.small) and 1 or 0)
end

--- Does it pay by what came last?
function Sieve:pays()
  if self.seen < LEAST or self.wrong < WRONG * self.seen then return false end
  if self.known == nil then self.known = is_known_to_nvrtc() end
  return self.known and not self.useless
end

-- Was a plan compiled as ever before?
local function is_compiled(self, plan)
  local compiled = self.funnel.compiled
  return compiled:of(plan.text.hash) or plan.machine and compiled:of(plan.machine.hash)
end

-- Returns the request to compile in haste, or nil if the compiler is not NVRTC.
local function in_haste(self, plan)
  local text = plan.checked
  if not self.funnel.problem.checked_case or self.funnel.far then return nil end
  if text.llvm or plan.text.of then return nil end
  return plans.in_haste(text, OPTION)
end

--- Has a plan be compiled in haste first, where the small case may end it and nothing is known.
---@param plan gilua.plan
function Sieve:put(plan)
  if plan.failure or is_compiled(self, plan) then return end
  plan.hasty = in_haste(self, plan)
end

-- The unmodified kernel goes first: its run sets what others may use.
local function begin(self)
  local plan = self.funnel:unmodified()
  plan.check, plan.hasty = true, in_haste(self, plan)
  self.funnel:compile_all { plan }
  self.funnel:advance(plan)
end

local function set_baseline(self, plan, verdict)
  self.small = verdict
  self.useless = verdict.status ~= "ok" or not self.funnel:is_right_there(verdict)
  if not self.useless then
    self.budget, self.loop_limit = self.funnel:budget_of(plan, verdict), verdict.loop_limit
  end
  self.funnel:settle "sieve"
end

-- From here the plan goes the usual way.
local function let_through(self, plan)
  plan.hasty, plan.sifted = nil, true
  self.funnel:choose_stages(plan)
  self.funnel:compile_late(plan)
  return true
end

local function job(self, plan, key)
  local funnel = self.funnel
  local function settle(verdict)
    funnel.counts.sifted = funnel.counts.sifted + 1
    self.verdicts[key] = verdict
    funnel:settle("sieve " .. key)
  end
  return {
    kind = "check", role = "host", limit_s = funnel.options.timeout_s,
    message = function()
      return { op = "sift", problem = funnel.problem.dir,
        code = funnel:code(funnel.compiled:of(plan.hasty.hash).ptx), values = plan.values,
        guarded = plan.checked ~= plan.text, first = plan.is_baseline, budget = self.budget or 0,
        loop_limit = self.loop_limit, most_error = funnel:most_error() }
    end,
    done = function(reply)
      funnel.seconds.checked = funnel.seconds.checked + reply.seconds
      settle(reply.verdict)
    end,
    blame = function(status, reason)
      settle { status = status, message = "on the small case: " .. reason }
    end,
  }
end

--- Takes a plan that was put here as far as it goes now.
---@param plan gilua.plan
---@return boolean is it through, to go the usual way?
function Sieve:passes(plan)
  local funnel = self.funnel
  if self.useless then return let_through(self, plan) end
  local unit = funnel:known(plan.hasty)
  if not unit then
    funnel:wait_for(plan.hasty.hash, plan)
    return false
  end
  if unit.status then
    if plan.is_baseline then set_baseline(self, plan, unit) else funnel:uncompiled(plan, unit) end
    return false
  end
  plan.hasty_unit = unit
  if not self.small and not plan.is_baseline then
    funnel:wait_for("sieve", plan, function() begin(self) end)
    return false
  end
  local key = unit.ptx_hash .. " " .. plan.launch_key
  local verdict = self.verdicts[key]
  if not verdict then
    if not funnel:has_code(plan, plan.hasty, "ptx") then return false end
    funnel:wait_for("sieve " .. key, plan, function() funnel.crew:post(job(self, plan, key)) end)
    return false
  end
  if plan.is_baseline then
    set_baseline(self, plan, verdict)
    return false
  end
  if verdict.passed then return let_through(self, plan) end
  plan.verdict, plan.verdict_key = verdict, "hasty " .. key
  funnel:ends_with(plan, verdict.status ~= "ok" and verdict or verdict.answers, self.small)
  return false
end

return M
