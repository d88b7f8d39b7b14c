-- compiling: compiles each text once, in batches, and only as far as a plan needs it.
--
-- The functions are methods of gilua.funnel, as are those of the other stages.

local settings = require "gilua.base.settings"

local LEAST_BATCH = 4 -- mutants in one compilation, where there are as many
local MOST_MACHINE = 2 -- and at most, to machine code: the GPU waits for them

local Funnel = {}

-- What texts have in common that one job edits.
local function edits_alike(text)
  local key = { text.target, text.edits, text.base.hash }
  if text.edits == "ir" then table.move(text.options, 1, #text.options, 4, key) end
  return table.concat(key, "\n")
end

--- Posts what is to be edited, in batches.
function Funnel:post_edits()
  local groups = {}
  for _, text in ipairs(self.edits) do
    local key = edits_alike(text)
    groups[key] = groups[key] or {}
    table.insert(groups[key], text)
  end
  self.edits = {}
  for _, key in ipairs(settings.keys(groups)) do
    self:post_batches(groups[key], self.edit_job)
  end
end

--- A plan waits for its text, which is edited as soon as what it is made from is at hand.
function Funnel:edit(plan, text)
  if self:has_code(plan, text.base, text.edits) and self:has_code(plan, text.of, text.edits) then
    self:wait_for(text.hash, plan, function() table.insert(self.edits, text) end)
    if not self.gathering then self:post_edits() end
  end
end

--- Takes plans on by `step`, and posts together what they have to be edited.
function Funnel:gather(step)
  self.gathering = true
  step()
  self.gathering = false
  self:post_edits()
end

--- How many of what is left go into one compilation: many at first, because a call itself takes as
--- long as two mutants (NVRTC 13.0), few at the end, so that all workers finish together. A unit's
--- code does not depend on its company.
function Funnel:batch_size(left)
  local fair = -(-left // (self.crew.hosts or self.options.jobs))
  return math.min(left, self.options.batch, math.max(LEAST_BATCH, fair))
end

-- What texts have in common that one compilation can make.
local function group_key(text)
  local key = text.target .. "\n" .. table.concat(text.options, "\n")
  return text.llvm and "LLVM " .. text.llvm.passes .. "\n" .. key or key
end

--- The texts that nobody has compiled yet, in groups that can be compiled together: of one target,
--- with the same options. What was written by hand is compiled alone: only mutants of one grammar
--- are known to leave no macro, pragma or open brace behind for the next.
function Funnel:new_texts(plans)
  local groups, by_key = {}, {}
  for _, plan in ipairs(plans) do
    for _, text in ipairs(plan:texts()) do
      if not text.of and not self:known(text) and not self.waiting[text.hash] then
        self.waiting[text.hash] = {}
        local key = group_key(text)
        local group = not text.alone and by_key[key] or {}
        if #group == 0 then groups[#groups + 1] = group end
        if not text.alone then by_key[key] = group end
        group[#group + 1] = text
      end
    end
  end
  return groups
end

--- What is known of a text: by this farm, or by its memory.
---@return gilua.unit?
function Funnel:known(text)
  local unit = self.compiled:of(text.hash)
  if unit or not self.memory or self.dropped[text.hash] then return unit end
  unit = self.memory:unit(text.hash)
  if unit then
    self.counts.compilations = self.counts.compilations + 1
    self.compiled:recall(text.hash, unit)
  end
  return unit
end

--- Code by its hash: kept here, or by the memory; the ticket of what an agent keeps.
function Funnel:code(hash)
  return self.compiled:code(hash) or self.memory and self.memory:code(hash)
end

--- Is the code of a compiled text at hand? Where not (a memory knew what came of it, not the code),
--- it is compiled now, and the plan waits.
---@param kind string "ptx", "code", or "ir", LLVM's bitcode
function Funnel:has_code(plan, text, kind)
  local unit = self.compiled:of(text.hash)
  if unit and (unit.status or unit[kind] and self:code(unit[kind])) then return true end
  self.compiled:drop(text.hash)
  self.dropped[text.hash] = true
  if unit then self.counts.compilations = self.counts.compilations - 1 end -- counted as done
  self:make(plan, text)
  return false
end

--- Posts jobs for texts, in batches.
function Funnel:post_batches(texts, job)
  local first = 1
  while first <= #texts do
    local n = self:batch_size(#texts - first + 1)
    self.crew:post(job(self, table.move(texts, first, first + n - 1, 1, {})))
    first = first + n
  end
end

--- Compiles what nobody has compiled yet, in batches.
function Funnel:compile_all(plans)
  for _, group in ipairs(self:new_texts(plans)) do self:post_batches(group, self.compile_job) end
end

--- A plan ends with what the compiler said.
function Funnel:uncompiled(plan, unit)
  plan:fail(unit.status, unit.message, unit.log)
  plan.exploded = unit.status == "timeout"
  self:stopped(plan)
end

--- Is all compiled that the plan needs? False where it waits, or gets no further.
function Funnel:is_compiled(plan)
  for _, text in ipairs(plan:texts()) do
    local unit = self:known(text)
    if not unit then
      if text.of then self:edit(plan, text) else self:wait_for(text.hash, plan) end
      return false
    elseif unit.status then
      self:uncompiled(plan, unit)
      return false
    end
  end
  plan:compiled(self.compiled:of(plan.text.hash))
  return true
end

--- Starts the job that makes a text, if none is under way.
function Funnel:make(plan, text)
  local is_machine = text == plan.machine
  if text.of and not (is_machine and self.linked) then return self:edit(plan, text) end
  self:wait_for(text.hash, plan, function()
    if is_machine then return self:post_machine(text) end
    self.crew:post(self:compile_job { text })
  end)
end

--- Code of several comes cheaper together. Who wants some while the last job still waits for a
--- worker joins it, up to so many; nobody waits for company.
function Funnel:post_late(text, most, is_machine)
  local key = group_key(text)
  local list = not text.alone and self.open[key]
  if list then
    list[#list + 1] = text
    if #list >= most then self.open[key] = nil end
    return
  end
  list = { text, machine = is_machine }
  if not text.alone then self.open[key] = list end
  local job = self:compile_job(list)
  local message = job.message
  job.message = function(worker)
    if self.open[key] == list then self.open[key] = nil end
    return message(worker)
  end
  self.crew:post(job, true)
end

--- Has machine code made.
function Funnel:post_machine(text)
  self:post_late(text, MOST_MACHINE, true)
end

--- Has compiled what a plan needs that was not asked for when it began.
function Funnel:compile_late(plan)
  for _, text in ipairs(plan:texts()) do
    if not text.of and not self:known(text) and not self.waiting[text.hash] then
      self.waiting[text.hash] = {}
      if text.target:find "^sm_" then
        self:post_machine(text)
      else
        self:post_late(text, self.options.batch)
      end
    end
  end
end

--- Has the plan what a device is given? False where it waits, or gets no further.
function Funnel:is_assembled(plan)
  local text = plan.machine
  if not text then return true end
  if self.linked and not self:has_code(plan, plan.text, "ptx") then return false end
  local unit = self:known(text)
  if not unit then
    self:make(plan, text)
    return false
  elseif unit.status then
    self:uncompiled(plan, unit)
    return false
  end
  plan:assembled(unit)
  return true
end

return Funnel
