-- comparing: jobs about measured mutants: timing two of them in turn, reading one's output, and
-- measuring the least time that writing the answers takes.
--
-- The functions are methods of gilua.funnel, as are those of the other stages.

local assembler = require "gilua.farm.assembler"
local failed = require("gilua.farm.runner").failed

local Funnel = {}

--- What a job that is no evaluation needs: the case, and the code of mutants that were measured on
--- it. Their plans wait for it where a memory had spared it.
---@param genomes (string|table)[]
function Funnel:prepare(genomes)
  self:need_case()
  for _, genome in ipairs(genomes) do
    local plan = self:plan(genome)
    self:choose_stages(plan)
    if self:is_compiled(plan) and self:is_assembled(plan) then
      self:has_code(plan, plan:coded(), "code")
      if self.linked then self:has_code(plan, plan.text, "ptx") end
    end
  end
end

--- A plan of a mutant that was measured on the case at hand: its code is known.
function Funnel:measured_plan(genome)
  local plan = self:plan(genome)
  self:choose_stages(plan)
  if self:is_compiled(plan) then self:is_assembled(plan) end
  return plan
end

-- Is the assembler told anything of a mutant? The driver's cannot be.
local function is_told(plan)
  return plan.machine ~= nil and #assembler.options(plan.machine.options) > 0
end

-- What is compared: of a recorded problem what its driver makes of the PTX, as it does of a
-- program's; what nvJitLink makes of it, quicker, served to choose. Where either has options of
-- the assembler, both are nvJitLink's.
function Funnel:compared_code(plan, told)
  if told or not self.linked then return self:code_of(plan) end
  local hash = self.compiled:of(plan.text.hash).ptx
  return { code = self:code(hash), hash = hash, tag = "", values = plan.values }
end

--- Begins interleaved launches of two mutants that were measured on the case at hand.
---@return fun(): table what came of it, once the crew was served
function Funnel:pair(a, b, pairs_wanted)
  local plans, found = { self:measured_plan(a), self:measured_plan(b) }, nil
  local told = is_told(plans[1]) or is_told(plans[2])
  self.crew:post {
    kind = "pair", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, {
        op = "pair", a = self:compared_code(plans[1], told),
        b = self:compared_code(plans[2], told), pairs = pairs_wanted,
        timing = self:timing(plans[1]), launch_s = self.launch_s,
      })
    end,
    missing = function(hash) self.compiled:miss(hash) end,
    done = function(reply) found = reply end,
    blame = function(status, reason) found = { status = status, message = reason } end,
  }
  return function() return found end
end

--- Begins a run, untimed, of a mutant that was measured on the case at hand, for what it writes.
---@return fun(): table { measurement, output? } once the crew was served
function Funnel:answers(genome)
  local plan, found = self:measured_plan(genome), nil
  self.crew:post {
    kind = "answers", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, {
        op = "answers", mutant = self:code_of(plan), budget = self.budget,
        launch_s = self.launch_s,
      })
    end,
    missing = function(hash) self.compiled:miss(hash) end,
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
    kind = "floor", role = "device", limit_s = self.options.timeout_s,
    message = function(worker)
      return self:device_message(worker, { op = "floor", timing = self:timing {} })
    end,
    done = function(reply) found = reply end,
    blame = function(_, reason) found = { message = reason } end,
  }
  return function() return found end
end

return Funnel
