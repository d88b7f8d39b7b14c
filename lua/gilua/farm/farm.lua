--- farm: the evaluation farm: genomes in, measurements out. The cheapest filter comes first:
--
--   duplicate genome -> duplicate source -> does not compile
--     -> compiled in haste, while most are wrong: small case on the virtual GPU -> duplicate PTX
--     -> small case on the virtual GPU with every check on -> machine code, duplicate or not
--     -> whole case, every answer checked -> careful timing (device cuda)
--
-- funnel.lua takes one mutant through it; crew.lua has the worker processes. This file is what a
-- script sees: populations in, lists of measurements out, in order, and counts. Results do not
-- depend on the number of workers or on their speed.

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local cluster = require "gilua.farm.cluster"
local compilers = require "gilua.problem.compilers"
local crew = require "gilua.farm.crew"
local devices_of = require "gilua.farm.devices"
local funnel = require "gilua.farm.funnel"
local genomes_of = require "gilua.search.genome"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"
local together = require "gilua.farm.together"
local undo = require "gilua.base.undo"

local CHECKS = { every = true, parents = true, winners = true }
local CLOCKS = { events = true, spans = true }
local ASSEMBLERS = { nvrtc = true, nvjitlink = true, driver = true }
local WRONG = { whole = true, small = true }

---@class gilua.farm
---@field device string
---@field check_mode string "every", "parents" or "winners"
---@field virtual boolean it is the virtual GPU: ticks are exact
---@field closed boolean? its workers have ended
local Farm = {}
Farm.__index = Farm
Farm.__close = function(self) self:close() end

local DEFAULTS = {
  timeout_s = 600,          -- of a processor (of a GPU: by the clock) for one run
  compile_timeout_s = 20,   -- of a processor for one compilation, at most: else ten times what the
                            -- unmodified kernel's takes, rounded up to 4, 8, 16 …
  batch = 10,               -- most mutants in one compilation
  memory_bytes = 4 << 30,   -- of one worker
  check = "every",          -- which mutants run on the small case with every check on
  clock = "events",         -- device cuda: CUDA events, or the papers' own clock
  wrong = "whole",          -- what the errors of wrong mutants are of: the whole case; or, which
                            -- spares most of the work, the small one, if they were checked on it
  sieve = true,             -- with wrong = "small", while most are wrong: compiled in haste first
  two_stages = true,        -- device cuda: with wrong = "small" to PTX first, and to machine code
                            -- only those whose answers on the small case are right …
  assembler = "nvrtc",      -- … by NVRTC, whose code is nvcc's; or "nvjitlink", in half the time,
                            -- where divisions and their like are functions that are called; of
                            -- recorded problems always the latter, but for "driver": as it loads
  mixed = false,            -- GPUs of different models together
  per_round = 1000,         -- warp instructions of the checked run for each round that a loop's
                            -- guard allows: with fewer the budget ends endless loops first
  dedupe = true,            -- false: equal code runs again and again, to measure the noise
  timed_error = 0,          -- device cuda: wrong mutants are timed too, whose largest error is at
                            -- most so large a share of the largest right answer
  energy = false,           -- device cuda: what launches take is measured, too (1.5 s a mutant);
                            -- emu estimates it always
  flush_l2 = false,         -- device cuda: empty the L2 cache before every timed launch
  rel_error = 0.005,        -- device cuda: of the median, where sampling stops
  min_samples = 20, max_samples = 200,
  min_time_s = 0.003,       -- device cuda: what the samples of a short kernel take in all, at least
}

-- --- opening ----------------------------------------------------------------------------------

local function check_options(o)
  if o.jobs < 1 then fail("--jobs %d: at least one worker is needed", o.jobs) end
  if not CHECKS[o.check] then
    fail("gilua.farm: check is \"every\", \"parents\" or \"winners\", not '%s'", o.check)
  end
  if not WRONG[o.wrong] then
    fail("gilua.farm: wrong is \"whole\" or \"small\", not '%s'", o.wrong)
  end
  if not ASSEMBLERS[o.assembler] then
    fail("gilua.farm: assembler is \"nvrtc\", \"nvjitlink\" or \"driver\", not '%s'",
      o.assembler)
  end
  if not CLOCKS[o.clock] then
    fail("gilua.farm: clock is \"events\" or \"spans\", not '%s'", o.clock)
  end
end

--- Who does the work: processes of this machine, or agents on others; and on what.
local function workers_for(problem, device, options)
  if options.cluster then return cluster.open(problem, device, options) end
  local devices = devices_of.probe(device, options.memory_bytes)
  if not options.mixed then devices_of.refuse_mixed(devices) end
  return crew.open(devices_of.staff(devices, options.jobs), options.memory_bytes, devices.box,
    compilers.may_be_llvm(problem)), devices
end

---@param problem gilua.problem
---@param options? table { jobs, device, check, clock, ... }: see DEFAULTS; cluster: the NATS server
---  through which agents do the work (gilua agent); compiled: what farms of the same kernel have in
---  common that differ in their data alone (gilua.compiled); approximation: on the virtual GPU, and
---  of no recorded problem, what approximate functions give (gi.device)
---@return gilua.farm
local function open(problem, options)
  options = settings.fill("gilua.farm", options, DEFAULTS,
    { "jobs", "device", "compiled", "cluster", "approximation" })
  local gi = require "gilua"
  options.jobs = options.jobs or gi.options.jobs or devices_of.usual_jobs()
  options.cluster = options.cluster or gi.options.cluster
  check_options(options)
  compilers.check(problem)
  local compiler, message = core.compile.info()
  if not compiler then fail("%s", message) end
  local device = options.device or gi.options.device or "emu"
  if problem.definition.recorded and options.clock == "spans" then
    fail("%s is of a recording, which is timed as a whole: a clock of its blocks is of one kernel",
      problem.dir)
  end
  local workers, devices = workers_for(problem, device, options)
  return setmetatable({
    problem = problem, device = device, devices = devices, jobs = options.jobs,
    options = options, check_mode = options.check, crew = workers,
    virtual = devices[1].device == "emu",
    funnel = funnel.new(problem, workers, devices, options),
    seen = {}, -- of the case at hand: what was evaluated, by kind of hash
    counts = { evaluations = 0, slow = 0, rejected = {} },
  }, Farm)
end

--- Ends the workers.
function Farm:close()
  self.closed = true
  self.crew:close()
  self.funnel:close()
end

--- What was done since it was opened. runs, checks, compilations: what workers did, the unmodified
--- kernel's too; sifted: small cases that ran of what was compiled in haste; screened: evaluations
--- that ended with the small case, by `wrong`; duplicates: evaluations that this spared, by what
--- they shared with an earlier one.
--- losses: workers lost, by how: "killed" from outside, "starved" (the machine's memory ran out),
--- "died", "memory", "timeout", "doubt" (of its compiler), "context" (of its GPU), "stopped".
--- setbacks: where agents work for it, those that were gone, and jobs given out once more for that.
---@return table { evaluations, runs, checks, sifted, compilations, restarts, losses, slow,
---  duplicates, rejected, seconds, baseline?, setbacks? = { agents, again, twice, measured } }
function Farm:stats()
  local s = { restarts = self.crew.restarts, losses = {}, seconds = self.funnel.seconds,
              baseline = self.funnel.drift }
  for name, value in pairs(self.funnel.counts) do s[name] = value end
  for kind, n in pairs(self.crew.losses) do s.losses[kind] = n end
  if self.crew.setbacks then
    s.setbacks = {}
    for what, n in pairs(self.crew.setbacks) do s.setbacks[what] = n end
  end
  for name, value in pairs(self.counts) do s[name] = value end
  return s
end

--- What it runs on, for people: "NVIDIA H200", "2 x NVIDIA H200", "virtual NVIDIA H200 (emu)".
---@return string
function Farm:description()
  local name = self.devices[1].name
  if self.virtual then return ("virtual %s (emu)"):format(name) end
  return #self.devices > 1 and ("%d x %s"):format(#self.devices, name) or name
end

--- Who works for it, where those are agents; nil where they are this machine's workers.
---@return table? of gilua.cluster: nodes, measurements, waiting, rate, binds
function Farm:cluster()
  return self.crew.status and self.crew:status()
end

--- Which mutants run on the small case with every check on, from now on.
---@param mode string "every", "parents" or "winners"
function Farm:set_check(mode)
  check_options(setmetatable({ check = mode }, { __index = self.options }))
  self.check_mode = mode
end

---@return table? { name, answers, voxels, size, group } of the last case
function Farm:case_info()
  return self.info or self.funnel.info
end

-- --- evaluating -------------------------------------------------------------------------------

--- Counts what came of the genomes, in their order: what is said of one does not depend on which
--- of several equal ones a worker happened to run.
function Farm:account(base, plans, results)
  local counts = self.counts
  if base then base:seen_as(self.seen) end
  for i, m in ipairs(results) do
    m.cached = plans[i]:seen_as(self.seen)
    counts.evaluations = counts.evaluations + 1
    if m.slow then counts.slow = counts.slow + 1 end
    if m.status ~= "ok" then counts.rejected[m.status] = (counts.rejected[m.status] or 0) + 1 end
  end
end

--- An error in `work`, the interrupt key's too, leaves no job behind: the farm is good for more, or
--- `closed` where it could not be tidied.
function Farm:guarded(work)
  undo(function()
    local tidy = pcall(function()
      self.funnel:abandon()
      self.crew:clear()
    end)
    if not tidy then self:close() end
  end, work)
end

--- Serves the crew until nothing is left. What workers have found is written while others are still
--- at work, for as long as that may take.
function Farm:serve(after)
  local memory = self.funnel.memory
  self:guarded(function()
    if after then after() end
    self.crew:drain(function()
      if after then after() end
      if memory then memory:flush_late() end
    end)
  end)
  if memory then memory:flush() end
end

--- From now on the farm asks a memory before it evaluates, and writes each result into it.
---@param memory table of gi.archive
function Farm:remember(memory)
  self.funnel.memory = memory
end

--- Begins something that one worker does and serves the crew until it is done. Where an agent had
--- not the code for it, that is made again, and it begins once more.
---@param method string of the funnel; it returns a function that gives what came of it
function Farm:one(method, ...)
  local found, arguments = nil, table.pack(...)
  self:guarded(function()
    local genomes = {}
    for _, argument in ipairs(arguments) do
      if type(argument) ~= "number" then genomes[#genomes + 1] = argument end
    end
    repeat
      self.funnel:prepare(genomes)
      self.crew:drain()
      found = self.funnel[method](self.funnel, table.unpack(arguments, 1, arguments.n))
      self.crew:drain()
    until found()
  end)
  return found()
end

--- Makes a case the one at hand, if it is not; then what was seen on the last one counts no more.
function Farm:use(case)
  local plan = self.funnel:use(case, self.check_mode == "every")
  if plan then self.seen = {} end
  return plan
end

--- The unmodified kernel did not get as far as its run: nothing can be compared with it.
local function require_baseline(plan)
  if plan and plan.failure then
    local m = plan.failure
    fail("the unmodified kernel fails (%s): %s", m.status, m.message)
  end
end

--- Makes the keys of equal mutants differ.
function Farm:next_copy()
  self.copies = (self.copies or 0) + 1
  return " copy " .. self.copies
end

local function is_to_be_checked(plan) return plan.check end

local function both_forms(given)
  if type(given) == "function" or given == nil then return { on_result = given } end
  return given
end

--- Is a mutant run on the small case first, whatever `check` says? On a GPU one of the PTX is: of
--- these one in seven faults, which costs the GPU's context, half a second, against the
--- milliseconds that one of many processors takes for a checked run.
function Farm:is_screened(genome)
  return not self.virtual and type(genome) == "string"
    and genomes_of.is_below(genome)
end

--- The plan of a genome that is to run on the whole case; by `wrong` only as far as it is right on
--- the small one.
function Farm:plan(genome, slow_above, wrong)
  local plan = self.funnel:plan(genome)
  plan.check, plan.run = self.check_mode == "every" or self:is_screened(genome), true
  plan.slow_above, plan.wrong = slow_above, wrong or self.options.wrong
  local sieve = self.options.sieve and plan.check and plan.wrong == "small" and self.funnel.sieve
  if sieve and sieve:pays() then sieve:put(plan) end
  if not self.options.dedupe then plan.copy = self:next_copy() end
  return plan
end

--- The plans of several.
function Farm:plans(genomes, slow_above, wrong)
  local plans = {}
  for i, genome in ipairs(genomes) do
    plans[i] = self:plan(genome, slow_above and slow_above[i], wrong)
  end
  return plans
end

--- Measures every genome on a case.
---@param genomes (string|table)[] "" is the unmodified kernel; { source =, params = } one by hand
---@param case table what problem.case takes; or { recordings = PATHS } of a recorded problem, where
---  each is as good as on the worst of them (gilua.farm.together)
---@param options? table|fun(i: integer, measurement: table, done: integer, total: integer)
---  on_result: called in the order of the genomes; slow_above: nanoseconds (or false) for each
---  genome, above which timing stops early; wrong: as of gi.farm, for these; more: asked after each
---  result, in their order, for one more genome and its slow_above, or nil
---@return table[] measurements, one for each genome
function Farm:evaluate(genomes, case, options)
  local asked, results, base, checked, plans = both_forms(options), {}, nil, nil, nil
  self.info = nil
  if type(case) == "table" and case.recordings then
    results, self.info = together.evaluate(self, genomes, case.recordings, asked)
    return results
  end
  local more = asked.more or function() end
  self:guarded(function()
    base = self:use(case)
    plans = self:plans(genomes, asked.slow_above, asked.wrong)
    if self.check_mode ~= "every" and stats.count(plans, is_to_be_checked) > 0 then
      checked = self.funnel:checked_baseline()
    end
    self.funnel:begin(plans)
  end)
  local function report()
    require_baseline(base)
    require_baseline(checked)
    repeat
      local new = {}
      while #results < #plans do
        local n = #results + 1
        local m = self.funnel:result_of(plans[n])
        if not m then break end
        results[n] = m
        self.funnel.sieve:note(m)
        if asked.on_result then asked.on_result(n, m, n, #plans) end
        local genome, slow_above = more()
        if genome then
          new[#new + 1] = self:plan(genome, slow_above, asked.wrong)
          plans[#plans + 1] = new[#new]
        end
      end
      self.funnel:begin(new)
    until #new == 0
  end
  self:serve(report)
  self.funnel:learn(plans)
  self:account(base, plans, results)
  return results
end

--- Returns what a text was compiled to, for a person; fetches it from the agent that has it.
---@param kind string "ptx", or "ir", LLVM's bitcode
---@return string?
function Farm:made(plan, text, kind)
  local code
  repeat
    if not self.funnel:has_code(plan, text, kind) then self:serve() end
    code = self.funnel:made(text, kind)
    if type(code) == "table" then
      self.funnel:fetch(code.hash)
      self:serve()
    end
  until type(code) ~= "table"
  return code
end

--- The PTX that a genome compiles to.
---@param genome? string "", the unmodified kernel
---@return string? ptx
---@return string? message why there is none
function Farm:ptx(genome)
  local plan
  self:guarded(function()
    plan = self.funnel:plan(genome or "")
    self.funnel:begin { plan }
  end)
  self:serve()
  if plan.failure then return nil, plan.failure.message end
  return self:made(plan, plan.text, "ptx")
end

--- LLVM's bitcode of the kernel as it is, whose instructions LLVM's genes name.
---@return string? bitcode
---@return string? message why there is none
function Farm:bitcode()
  local text = self.funnel.maker:llvm_base()
  if not text then return nil, "NVRTC compiles the kernel: --compiler llvm" end
  local plan = self.funnel:plan(text == self.funnel.maker:unmodified() and "" or "compiler=llvm")
  self:guarded(function() self.funnel:begin { plan } end)
  self:serve()
  if plan.failure then return nil, plan.failure.message end
  return self:made(plan, text, "ir")
end

--- Runs genomes on the problem's small case with every check on (races, uninitialised reads, loop
--- guards), whatever the farm's `check` is.
---@param genomes (string|table)[]
---@return table[] list of { status, message, instructions?, uninitialised_reads?,
---  warnings = Finding[]?, meets = table[]? }; instructions: of warps; meets: of the unmodified
---  kernel which of its pointers led to one byte (module:launch), where that is known
function Farm:check(genomes)
  local base
  local plans, verdicts = {}, {}
  self:guarded(function()
    base = self.funnel:checked_baseline()
    for i, genome in ipairs(genomes) do
      plans[i] = self.funnel:plan(genome)
      plans[i].check = true
    end
    self.funnel:begin(plans)
  end)
  self:serve(function() require_baseline(base) end)
  require_baseline(base)
  for i, plan in ipairs(plans) do
    local bad = plan.failure
    verdicts[i] = { status = bad and bad.status or "ok", message = bad and bad.message,
                    instructions = plan.verdict and plan.verdict.instructions,
                    uninitialised_reads = plan.verdict and plan.verdict.uninitialised_reads,
                    warnings = plan.verdict and plan.verdict.warnings,
                    meets = plan.verdict and plan.verdict.meets }
  end
  return verdicts
end

--- Runs a genome and the unmodified kernel on small cases of other data, with every check on and
--- every answer compared, on the virtual GPU whatever the device.
---@param genome string|table
---@param cases table[] what problem.case takes
---@param ways? string[] how it runs besides: "backwards", the last block first; "again", where it
---  has variables: after a launch on other data
---@return table[]? list, for each case one of { why }: there is no such case; { lost = { status,
---  message } }: of the worker; { name, largest, extent, verdicts }: the largest right answer, nil
---  where none is a number; the last answers that are written; of the unmodified kernel and of the
---  genome, and by its ways, { status, message, instructions, touched, uninitialised_reads,
---  warnings, meets (of the unmodified kernel) } and a comparison's fields; false of a way that is
---  none for it
---@return string? message why it cannot be run at all
function Farm:examine(genome, cases, ways)
  return self:both(genome, cases, nil, ways)
end

--- Are a genome and the unmodified kernel equal over the reals on each case?
--- (docs/certificate.md)
---@param genome string
---@param cases table[]
---@param how { seed: integer, kernel?: table } kernel: of Farm:checked_kernel, in the genome's
---  place
---@return table[]? list, for each case one of { why }; { lost = { status, message, kernel? } };
---  { name, certificate (of exact:compare), kernel }: which it fails with: 1 the unmodified one
---@return string? message why it cannot be run at all
function Farm:certify(genome, cases, how)
  return self:both(genome, cases, { op = "certify", seed = how.seed, kernel = how.kernel })
end

--- A genome's PTX for checked runs, for a farm of another problem.
---@param genome string
---@return { code: string, values: table, guarded: boolean }? kernel
---@return string? message
function Farm:checked_kernel(genome)
  local verdict, plan = self:check({ genome })[1], nil
  if verdict.status == "compile_error" then return nil, verdict.message end
  self:guarded(function()
    plan = self.funnel:plan(genome)
    plan.check = true
    self.funnel:begin { plan }
    self.funnel:has_code(plan, plan.checked, "ptx")
    self.crew:drain()
  end)
  return self.funnel:checked_kernel(plan)
end

-- Why one of some plans has no text that could be compiled; nil where all have.
local function untold(plans)
  for _, plan in ipairs(plans) do
    if not plan.checked then return plan.failure and plan.failure.message or "it has no source" end
  end
end

-- Has workers do `op` of Funnel:examine with a genome, in other ways too, and the unmodified kernel
-- on each case.
function Farm:both(genome, cases, op, ways)
  local asked, found, plans, why = {}, {}, {}, nil
  local verdict = self:check({ genome })[1]
  if verdict.status == "compile_error" then return nil, verdict.message end
  self:guarded(function()
    for i, text in ipairs { "", genome, table.unpack(ways or {}) } do
      plans[i] = self.funnel:plan(i > 2 and genome or text)
      plans[i].check, plans[i].way = true, i > 2 and text or nil
    end
    self.funnel:begin(plans)
    why = untold(plans)
    if why then return end
    repeat
      for _, plan in ipairs(plans) do self.funnel:has_code(plan, plan.checked, "ptx") end
      self.crew:drain()
      for i, case in ipairs(cases) do
        if not found[i] then asked[i] = self.funnel:examine(plans, case, op) end
      end
      self.crew:drain()
      for i, result in ipairs(asked) do found[i] = found[i] or result() end
    until stats.count(asked, function(result) return not result() end) == 0
  end)
  if why then return nil, why end
  return found
end

-- --- comparing two ----------------------------------------------------------------------------

--- Is a faster than b? On a GPU: interleaved pairs of launches and a bootstrap interval of the
--- ratio of medians; on emu the ratio of ticks, which is exact.
---@param a string|table genome
---@param b string|table genome
---@param case table
---@param options? { pairs?: integer, confidence?: number, seed?: integer }
---@return table { status = "ok", ratio = b's time / a's, low, high, pairs, a_ns, b_ns }, or
---  { status, message, genome } of the one that does not run
function Farm:compare(a, b, case, options)
  local o = settings.fill("farm:compare", options, { pairs = 100, confidence = 0.95, seed = 1 })
  if type(case) == "table" and case.recordings then
    return together.compare(self, a, b, case.recordings, o)
  end
  local both = self:evaluate({ a, b }, case, { wrong = "whole" })
  for _, m in ipairs(both) do
    if m.status ~= "ok" then
      return { status = m.status, message = m.message, genome = m.genome }
    end
  end
  if self.virtual then
    local ratio = both[2].ticks / both[1].ticks
    return { status = "ok", ratio = ratio, low = ratio, high = ratio, pairs = 1,
             a_ns = { both[1].ns }, b_ns = { both[2].ns } }
  end
  local found = self:one("pair", a, b, o.pairs)
  if found.status ~= "ok" then return found end
  local ci = stats.ratio_interval(found.b_ns, found.a_ns, core.rng.new(o.seed),
    { confidence = o.confidence, block = found.block })
  return { status = "ok", ratio = ci.ratio, low = ci.low, high = ci.high, pairs = #found.a_ns,
           a_ns = found.a_ns, b_ns = found.b_ns }
end

--- What a mutant writes on a case: every answer, right or wrong. A measurement does not carry them.
---@param genome string|table
---@param case table
---@return userdata? array of the type and shape of the case's output; nil where it does not run
---@return table measurement
function Farm:answers(genome, case)
  local m = self:evaluate({ genome }, case, { wrong = "whole" })[1]
  if m.status ~= "ok" then return nil, m end
  local found = self:one("answers", genome)
  return found.output, found.measurement
end

--- What writing the answers of a case takes at least: the time of a memset of the output. No kernel
--- that writes every answer can be faster.
---@param case table
---@return table { ns, bytes, rel_error, samples }
function Farm:floor(case)
  local base
  self:guarded(function()
    base = self:use(case)
    self.crew:drain()
  end)
  require_baseline(base)
  local found = self:one "floor"
  if not found.ns then fail("timing the write floor: %s", found.message) end
  return found
end

return open
