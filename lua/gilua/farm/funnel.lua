--- funnel: takes one mutant from its genome to its measurement.
--
-- A mutant is a plan here (plan.lua), and `advance` takes it as far as its known facts allow. It
-- then waits for a topic (a compilation, a check, the case …); whatever settles the topic advances
-- all plans that wait for it. Nothing is done twice: results are kept under the hash of the source,
-- of the PTX, or of the machine code.
--
--   plan:      genome -> source
--   compile:   source -> PTX, in batches
--   edit:      PTX -> PTX, if the genome has genes for it
--   check:     the small case on the virtual GPU with every check on; holds for every case. If the
--              scheme needs no more of mutants that are wrong there, they stop here (screen.lua)
--   machine:   source -> machine code, for a GPU: this is half of a compilation's time, and most
--              mutants never come so far
--   run:       the whole case on the device; holds for this case
--
-- A memory (gi.archive), if given, is consulted before any work and is told every result. So a run
-- that is started again with the same seed finds its earlier results. An answer of the memory
-- counts as work done, so the counts of a resumed run are those of an undisturbed one.
--
-- This file counts what was done and what was spared. crew.lua decides which worker does it,
-- farm.lua what a script sees, and stages/ has the stages.

local bombs = require "gilua.farm.bombs"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local compiled = require "gilua.farm.compiled"
local core = require "gilua.core"
local plans_of = require "gilua.farm.plan"
local genes_of = require "gilua.search.genome"
local limits = require "gilua.farm.stages.limits"
local sieve = require "gilua.farm.sieve"
local wire = require "gilua.base.wire"

local M = {}

---@class gilua.funnel
local Funnel = {}
Funnel.__index = Funnel

local function take_methods(stage)
  for name, method in pairs(stage) do Funnel[name] = method end
end

take_methods(require "gilua.farm.stages.jobs")
take_methods(require "gilua.farm.stages.compiling")
take_methods(require "gilua.farm.stages.checking")
take_methods(require "gilua.farm.stages.running")
take_methods(require "gilua.farm.stages.comparing")

--- Seconds of a processor that a mutant's compilation may take (gilua.farm.stages.limits).
M.compile_limit = limits.compile_limit

--- Warp instructions that a mutant may use on the small case (gilua.farm.stages.limits).
M.checked_budget = limits.checked_budget

--- Seconds of a processor that several may take in one call (gilua.farm.stages.limits).
M.batch_limit = limits.batch_limit

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

-- --- cases ------------------------------------------------------------------------------------

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

-- --- results ----------------------------------------------------------------------------------

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

return M
