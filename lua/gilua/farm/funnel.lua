--- The funnel of an evaluation: how one mutant gets from its genome to its measurement.
--
-- A mutant is a plan here (plan.lua), and `advance` takes it as far as what is known about it
-- allows. It then waits for a topic (a compilation, a check, the case ...), and whoever settles the
-- topic advances all that wait for it. So everything flows at once, and nothing is done twice: what
-- is known is kept under the hash of the source, of the PTX, or of the machine code.
--
--   plan:      genome -> source
--   compile:   source -> PTX, in batches
--   edit:      PTX -> PTX, where the genome has genes for it
--   check:     the small case on the virtual GPU with every check on; holds for every case. Where
--              the scheme wants no more of those that are wrong there, they stop here (screen.lua)
--   machine:   source -> machine code, for a GPU: half of a compilation's time goes into that, and
--              most mutants never come so far
--   run:       the whole case on the device; holds for the case at hand
--
-- Where a memory is given (gi.archive), it is asked before anything is done, and told of all that
-- is found out: a run that is begun again with the same seed finds what it had. What a memory
-- answers counts as done, so that the results of such a run are those of one never disturbed.
--
-- What was done and what was spared is counted here, where it happens. What this file does not
-- decide: which worker does what (crew.lua), and what a script sees (farm.lua).

local assembler = require "gilua.farm.assembler"
local bombs = require "gilua.farm.bombs"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local compiled = require "gilua.farm.compiled"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local plans_of = require "gilua.farm.plan"
local genes_of = require "gilua.search.genome"
local settings = require "gilua.base.settings"
local screen = require "gilua.farm.screen"
local sieve = require "gilua.farm.sieve"
local wire = require "gilua.base.wire"
local failed = require("gilua.farm.runner").failed

-- What a mutant may use, relative to the unmodified kernel. The small case costs little, so that
-- a slow mutant is told from an endless one there; on the whole case ten times as slow is no use.
local CHECK_FACTOR = 100 -- warp instructions, up to …
local MOST_CHECKED = 50000000 -- … so many, but RUN_FACTOR times as many in any case
local RUN_FACTOR = 10 -- warp instructions, or seconds on a GPU
local LEAST_PER_LOOP = 1000 -- … for each iteration that a guard allows: the guard comes first
local COMPILE_FACTOR = 10 -- seconds of a processor, and no less than …
local LEAST_COMPILE_S = 4
local BATCH_SHARE = 1 / 4 -- of such a limit several mutants have together, and no less than …
local BATCH_FACTOR = 3 -- … what others of their number took
local LEAST_BATCH = 4 -- mutants in one compilation, where there are as many
local MOST_MACHINE = 2 -- … to machine code: the GPU waits for them
local LEAST_LAUNCH_S = 1 -- not called endless before: a fault may take half a second to show

local M = {}

---@class gilua.funnel
local Funnel = {}
Funnel.__index = Funnel

-- Do workers of this machine make machine code of a recorded problem's PTX? The driver, which makes
-- it in its one process for each GPU, else keeps that waiting.
local function is_linked_here(target, workers, options)
  return target:find "^sm_" ~= nil and options.assembler ~= "driver" and not workers.far
    and core.compile.linker() ~= nil
end

---@param problem gilua.problem
---@param workers gilua.crew
---@param devices table[] what the workers' probe found
---@param options table of gi.farm
function M.new(problem, workers, devices, options)
  local target = devices[1].target
  local linked = problem.definition.recorded and is_linked_here(target, workers, options)
  -- a recording's launches run what its PTX gives, by the names that it has there
  if problem.definition.recorded and not linked then target = target:gsub("^sm_", "compute_") end
  local self = setmetatable({
    problem = problem, crew = workers, devices = devices, options = options,
    far = workers.far, -- its workers are agents': they make sources, and keep what is made of them
    virtual = devices[1].device == "emu", names = problem.grammar:names(),
    linked = linked, -- machine code of a recorded problem's mutants is made of their PTX
    maker = plans_of.maker(problem, target, options.clock,
      linked or options.two_stages and problem.checked_case ~= nil),
    compiled = options.compiled or compiled.new(),
    bombs = bombs.new(),
    verdicts = {}, killers = {}, -- by key: what holds for every case
    runs = {}, -- by key: measurements on the case at hand
    dropped = {}, -- hashes of texts whose code a memory had not
    edits = {}, -- texts whose PTX is at hand to be edited
    open = {}, -- lists of texts whose job waits and takes more of their kind
    came = {}, -- of the case at hand: who came to where an answer is, by kind of hash
    waiting = {}, -- topic -> plans
    seconds = { case = 0, compile = 0, checked = 0, run = 0, check = 0, time = 0 },
    counts = { compilations = 0, sifted = 0, checks = 0, screened = 0, runs = 0,
               duplicates = { genome = 0, source = 0, ptx = 0, code = 0 } },
  }, Funnel)
  self.sieve = sieve.new(self)
  return self
end

-- --- plans ------------------------------------------------------------------------------------

--- What is known of one genome before anything is compiled.
---@param genome string|table
---@return gilua.plan
function Funnel:plan(genome)
  local plan = self.maker:plan(genome)
  local cause = not plan.by_hand and not plan.failure and self.bombs:cause_in(genome)
  if cause then
    plan:fail("timeout", ("not compiled: %s has kept the compiler busy until its time was over")
      :format(cause))
  end
  return plan
end

--- From now on nothing is compiled that kept the compiler busy for too long in one of these.
---@param plans gilua.plan[] in an order that does not depend on who was compiled first
function Funnel:learn(plans)
  local compiled_ones, exploded = {}, {}
  for _, plan in ipairs(plans) do
    local list = plan.exploded and exploded or (plan.unit or plan.hasty_unit) and compiled_ones
    if list and not plan.by_hand then list[#list + 1] = plan.genome end
  end
  self.bombs:learn(compiled_ones, exploded)
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
  if plan.failure then return self:stopped(plan) end
  if plan.hasty and not self.sieve:passes(plan) then return end
  if not self:is_compiled(plan) then return end
  if plan.check and not self:is_checked(plan) then return end
  if not plan.run or self:is_screened(plan) then return end
  if self:is_assembled(plan) then self:run(plan) end
end

--- A plan gets no further.
function Funnel:stopped(plan)
  if plan.run then self:count(plan) end
end

--- A plan came to where its answer is known or on its way: counts what spared it the rest. The
--- counts do not depend on who came first: of those with one code, one is measured, and so on.
function Funnel:count(plan)
  if plan.counted then return end
  plan.counted = true
  local known = plan:seen_as(self.came)
  if known then self.counts.duplicates[known] = self.counts.duplicates[known] + 1 end
end

-- --- compiling --------------------------------------------------------------------------------

--- Seconds of a processor that a mutant's compilation may take. In steps of a factor of two: the
--- limit stands in messages, and no two measurements are the same.
---@param most number
---@param unmodified_s number? that the unmodified kernel's took; nil while nobody knows
---@return number
function M.compile_limit(most, unmodified_s)
  if not unmodified_s then return most end
  local limit = LEAST_COMPILE_S
  while limit < COMPILE_FACTOR * unmodified_s do limit = 2 * limit end
  return math.min(limit, most)
end

--- Warp instructions that a mutant may use on the small case, by the unmodified kernel's.
---@param own integer
---@return integer
function M.checked_budget(own)
  return math.max(math.min(own * CHECK_FACTOR, MOST_CHECKED), own * RUN_FACTOR)
end

--- Seconds of a processor that several may take in one call: it only has to be told from one that
--- does not end, whose mutants are then compiled one by one.
---@param limit number of one alone
---@param n integer
---@param each_s number? that a mutant took in the fastest call of several; nil while nobody knows
---@return number
function M.batch_limit(limit, n, each_s)
  if not each_s then return limit end
  return math.max(BATCH_SHARE * limit, BATCH_FACTOR * n * each_s)
end

--- Keeps a text that runs may need: Compiled:keep.
function Funnel:keep(code)
  return self.compiled:keep(code)
end

--- Between evaluations: Compiled:forget.
function Funnel:forget()
  self.compiled:forget()
end

--- What compilations took sets what others may take: the unmodified kernel's, and the fastest of
--- several at once.
function Funnel:time_compilation(list, cpu_s)
  if #list > 1 and cpu_s then
    self.each_s = math.min(self.each_s or math.huge, cpu_s / #list)
  end
  local hash = not self.unmodified_s and self.maker:unmodified().hash
  for _, text in ipairs(hash and list or {}) do
    if text.hash == hash then self.unmodified_s = cpu_s / #list end
  end
end

--- What a job of the compiler's is like, whatever it asks for. `ask(list)` is its message.
---@param texts gilua.plan.text[]
function Funnel:code_job(texts, ask)
  local function job(list)
    return {
      kind = texts.machine and "machine" or "compile", role = "host", once = true,
      limit_s = function()
        local limit = M.compile_limit(self.options.compile_timeout_s, self.unmodified_s)
        return #list > 1 and M.batch_limit(limit, #list, self.each_s) or limit
      end,
      sleep_s = crew.SLEEP_S, message = function() return ask(list) end,
      done = function(reply)
        self.seconds.compile = self.seconds.compile + reply.seconds
        self.counts.compilations = self.counts.compilations + #list
        if reply.doubt and not reply.results[1].code then
          return self:doubted(list[1], reply.doubt, reply.results[1])
        end
        self:time_compilation(list, reply.cpu_s)
        for i, text in ipairs(list) do
          local r = reply.results[i]
          self.compiled:add(text.hash, r, reply.images)
          self.compiled:of(text.hash).seconds = reply.seconds / #list
          if self.memory then self.memory:keep_unit(text, self.compiled, r.packed) end
        end
        self:gather(function()
          for _, text in ipairs(list) do self:settle(text.hash) end
        end)
      end,
      missing = function(hash)
        self.compiled:miss(hash)
        self:again(list, job)
      end,
      blame = function(status, reason)
        self.counts.compilations = self.counts.compilations + 1
        self:controlled(reason, list[1], function()
          self.compiled:fail(list[1].hash, status, "while compiling: " .. reason)
        end)
      end,
      parts = function()
        local parts = {}
        for i, text in ipairs(#list > 1 and list or {}) do parts[i] = job({ text }) end
        return #parts > 0 and parts or nil
      end,
    }
  end
  return job(texts)
end

--- A job could not be done for want of a code: what is edited is asked for by who waits for it.
function Funnel:again(texts, job)
  if not texts[1].of then return self.crew:post(job(texts)) end
  self:gather(function()
    for _, text in ipairs(texts) do self:settle(text.hash) end
  end)
end

--- What failed, alone in a worker, by the compiler's own words about itself. No memory keeps it.
function Funnel:doubted(text, doubt, result)
  self:controlled(doubt, text, function()
    if doubt:lower():find("memory", 1, true) then
      self.compiled:fail(text.hash, "out_of_memory", result.message, result.log)
    else
      self.compiled:add(text.hash, result)
    end
  end)
end

--- A compiler came to nothing over a text: is that the text's doing, or the machine's (a limit on
--- memory or processes, say)? The control is the unmodified kernel, in a new worker: where that is
--- not compiled either, the run cannot go on; else the text is to blame.
---@param reason string
---@param text gilua.plan.text
---@param blame fun()
function Funnel:controlled(reason, text, blame)
  local base = self.maker:unmodified()
  local function broken(why)
    fail("the compiler fails on the unmodified kernel, too, so no mutant can be judged: %s; has it "
      .. "the memory and the processes that it needs (ulimit -v, ulimit -u, TMPDIR)?", why)
  end
  if text.hash == base.hash then broken(reason) end
  local job = self:compile_job { base }
  job.suspect, job.strikes = true, crew.STRIKES - 1
  job.done = function(reply)
    if reply.doubt and not reply.results[1].code then broken(reply.doubt) end
    blame()
    self:settle(text.hash)
  end
  job.blame = function(_, why) broken(why) end
  self.crew:post(job)
end

--- Is machine code made of the PTX that is there, by nvJitLink? NVRTC makes both once more.
function Funnel:is_linked(text)
  local asked = text.llvm or self.linked or self.options.assembler == "nvjitlink"
  return asked and text.ptx ~= nil and self:code(text.ptx) ~= nil
end

--- What a compiler is told of a text: its PTX to be linked, its source, or how to make that.
function Funnel:unit_of(text, linked)
  local unit = { names = self.names, kernel = self.problem.kernel }
  if linked then
    unit.source = self:code(text.ptx)
  elseif not (self.far and text.genome) then
    unit.source = self.maker:source(text)
  else
    return { genome = text.genome, guarded = text.guarded, source_hash = text.source_hash }
  end
  return unit
end

--- Who compiles packs for the archive, like what is there already: there are many of them.
function Funnel:packing()
  local hash = self.memory and self.memory:like_hash()
  local like = hash and self.compiled:code(hash)
  if not like and not (self.memory and self.far) then return nil end
  return { like = like, hash = like and hash }
end

---@param texts gilua.plan.text[] of one target and the same options
function Funnel:compile_job(texts)
  return self:code_job(texts, function(list)
    local units, linked = {}, self:is_linked(list[1])
    for i, text in ipairs(list) do units[i] = self:unit_of(text, linked) end
    return { op = "compile", units = units, target = list[1].target, options = list[1].options,
             ptx = self.problem.is_ptx or linked, kernel = self.problem.kernel, llvm = list[1].llvm,
             recorded = self.linked and linked and self.problem.dir or nil,
             limit_s = self.options.compile_timeout_s, pack = self:packing(),
             problem = self.far and self.problem.dir, clock = self.far and self.options.clock }
  end)
end

--- What a text was compiled to, which is at hand: "ptx", or "ir", LLVM's bitcode.
function Funnel:made(text, kind)
  return self:code(self.compiled:of(text.hash)[kind])
end

--- PTX of a text that was compiled, and is at hand; or an agent's ticket of it.
function Funnel:ptx_of(text)
  return self:made(text, "ptx")
end

--- Has what a text was made to brought here, where an agent has it.
---@param hash string
function Funnel:fetch(hash)
  self.crew:post {
    kind = "fetch", role = "host", limit_s = self.options.timeout_s,
    message = function() return { op = "fetch", code = self:code(hash) } end,
    done = function(reply) self.compiled:fetched(hash, reply.code) end,
    missing = function() self.compiled:miss(hash) end,
  }
end

---@param texts gilua.plan.text[] alike (edits_alike); what they edit is at hand
function Funnel:edit_job(texts)
  return self:code_job(texts, function(list)
    local first, units = list[1], {}
    for i, text in ipairs(list) do
      local other = text.of ~= text.base and self:made(text.of, text.edits) or nil
      units[i] = { genes = text.genes, other = other }
    end
    return { op = first.edits == "ir" and "edit_llvm" or "edit",
             base = self:made(first.base, first.edits), units = units, target = first.target,
             options = first.options, kernel = self.problem.kernel, pack = self:packing() }
  end)
end

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

--- What makes a text for who waits for it.
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

-- --- the checked run --------------------------------------------------------------------------

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

--- The largest error of the small case's answers that is asked for, beside the right ones.
function Funnel:most_error()
  local share, largest = self.options.timed_error, self.small and self.small.largest
  return share > 0 and largest and share * largest or nil
end

--- Are the answers of a checked run right, or as near to it as is asked for?
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
  return plan.checked ~= plan.text and LEAST_PER_LOOP * self.problem.loop_limit or 0
end

--- What others' runs on the small case may use, by the unmodified kernel's.
function Funnel:budget_of(plan, verdict)
  return math.max(M.checked_budget(verdict.instructions), self:least_budget(plan))
end

--- The unmodified kernel's checked run sets what others' may use.
function Funnel:set_checked_budget(plan)
  self.small = plan.verdict
  self.loop_limit = plan.verdict.loop_limit
  self.checked_budget = self:budget_of(plan, plan.verdict)
  self:settle("checked baseline")
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
  return true
end

--- What a worker needs for a checked run of a plan that is compiled.
function Funnel:checked_kernel(plan)
  return { code = self:code(self.compiled:of(plan.checked.hash).ptx), values = plan.values,
           guarded = plan.checked ~= plan.text }
end

--- Begins checked runs of kernels, their answers compared, on a case of other data. The plans are
--- compiled, and the first is the unmodified kernel's.
---@return fun(): table? what came of it, once the crew was served; nil: it is to be asked again
function Funnel:examine(plans, case)
  local found
  self.crew:post {
    kind = "check", role = "host", limit_s = self.options.timeout_s,
    message = function()
      local kernels = {}
      for i, plan in ipairs(plans) do kernels[i] = self:checked_kernel(plan) end
      return { op = "examine", problem = self.problem.dir, case = case, kernels = kernels,
               factor = RUN_FACTOR, least = self:least_budget(plans[1]) }
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

-- --- the whole case ---------------------------------------------------------------------------

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

-- What the files and folders hold that a spec names.
local function add_named(parts, name, value)
  if type(value) == "table" then
    for key, inner in pairs(value) do add_named(parts, ("%s.%s"):format(name, key), inner) end
  elseif type(value) == "string" then
    local held = fingerprint.of(value)
    if held then parts[#parts + 1] = ("%s=%s"):format(name, held) end
  end
end

--- What tells a case from others: its spec, and what it names.
local function key_of(case)
  local spec, parts = wire.encode(case), {}
  add_named(parts, "", case)
  table.sort(parts)
  return spec .. table.concat(parts, " ")
end

--- Makes a case the one at hand; its first run is the unmodified kernel's, which is begun here.
---@return table? plan of the unmodified kernel; nil where the case is the one at hand already
function Funnel:use(case, checked)
  local key = key_of(case)
  if key == self.case_key and self.baseline then return nil end
  self:forget()
  self.case_key, self.case, self.baseline, self.runs, self.came = key, nil, nil, {}, {}
  self.info = self.memory and self.memory:case(key)
  self.spec = case
  if not self.info then self:need_case() end
  local plan = self:unmodified()
  plan.check, plan.run, plan.wrong = checked, true, self.options.wrong
  self.baseline_plan = plan
  self:begin { plan }
  return plan
end

--- A plan of the unmodified kernel.
function Funnel:unmodified()
  local plan = self:plan ""
  if plan.failure then fail("the unmodified kernel: %s", plan.failure.message) end
  plan.is_baseline = true
  return plan
end

--- Begins the unmodified kernel's checked run, which sets the budget of the others'.
---@return table? plan nil where it is known
function Funnel:checked_baseline()
  if self.checked_budget then return nil end
  local plan = self:unmodified()
  plan.check = true
  self:begin { plan }
  return plan
end

--- Is PTX first worth it? NVRTC makes it anew on the way to machine code, so only where few come
--- so far; nvJitLink does not.
function Funnel:is_sifted(plan)
  local few = plan.wrong == "small" and not plan.sifted
  return plan.check and (few or self.options.assembler == "nvjitlink")
end

--- What is there in one of both forms is not compiled to the other.
function Funnel:choose_stages(plan)
  if not plan.machine or self.linked or self:known(plan.text) then return end
  local whole = plan.run and not self:is_sifted(plan)
  if whole or self:known(plan.machine) then plan:in_one_go() end
end

--- Compiles what is new and takes every plan as far as it goes now.
function Funnel:begin(plans)
  for _, plan in ipairs(plans) do self:choose_stages(plan) end
  self:compile_all(plans)
  self:gather(function()
    for _, plan in ipairs(plans) do self:advance(plan) end
  end)
end

--- After an error: nobody waits for anything any more.
function Funnel:abandon()
  self.waiting, self.edits, self.open, self.gathering = {}, {}, {}, false
end

function Funnel:close()
  if self.share then self.share:close() end
  self.share, self.compiled, self.runs = nil, compiled.new(), {}
end

--- Genes of a text, and of those that it is made from, that found nothing to change.
---@return string?
function Funnel:lost_of(text)
  local unit = text and self.compiled:of(text.hash)
  local own = unit and not unit.status and unit.log or ""
  local before = text and text.of and self:lost_of(text.of) or ""
  local lost = genes_of.join { before, own }
  return lost ~= "" and lost or nil
end

--- Seconds that compiling its text took, to machine code too; nil where nobody knows.
function Funnel:compile_s(plan)
  local machine = plan.machine and self.compiled:of(plan.machine.hash)
  local first = plan.unit and plan.unit.seconds
  return machine and first and machine.seconds and first + machine.seconds or first
end

--- The measurement of a plan, a table of its own; nil while there is none yet. What ran for another
--- of the same code is this one's, too, but only once its own checked run has found nothing.
function Funnel:result_of(plan)
  local found = plan.failure or plan.counted and (plan.small or self.runs[plan.key])
  if not found then return nil end
  local m = {}
  for k, v in pairs(found) do m[k] = v end
  m.genome, m.source_hash = plan.genome, plan.text and plan.text.hash
  local unit = plan.unit or {}
  m.ptx_hash, m.code_hash, m.compile_s = unit.ptx_hash, plan.code_hash, self:compile_s(plan)
  m.lost = self:lost_of(plan.text)
  m.largest = self.info and self.info.largest
  if self.memory and found ~= plan.failure then
    m.key = self.memory:key_of_run(self.case_key, plan:measured_as())
  end
  local verdict = plan.verdict
  if verdict then
    m.uninitialised_reads = verdict.uninitialised_reads
    m.warnings = verdict.warnings or m.warnings
  end
  return m
end

-- --- comparing two -----------------------------------------------------------------------------

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
-- program's; what nvJitLink makes of it, quicker, served to choose. Where the assembler is told
-- something of either, both are nvJitLink's.
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

return M
