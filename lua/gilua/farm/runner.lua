--- runner: runs compiled mutants of one problem on one device and checks every answer. Workers use
-- it, and scripts that need no worker.
--
-- It never trusts a mutant. Before every launch, timed ones too, it fills the output with sentinels
-- and resets device variables. It compares every answer. Inputs and the guard zones around every
-- buffer must be unchanged. After the timing it checks all of that once more.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local pointed = require "gilua.problem.pointed"
local stats = require "gilua.base.stats"
local fitness = require "gilua.search.fitness"
local tolerance = require "gilua.problem.tolerance"
local wire = require "gilua.base.wire"

local M = {}
M.__index = M

local BASELINE_AGE_S = 0.1 -- the unmodified kernel is timed again when its last time is older
local BASELINE_SHARE = 10 -- … and when at least this many times what timing it took has passed
local KEPT_MODULES = 4
local LOOP_STEP, MOST_LOOPS = 4, 1e8 -- of the unmodified kernel; see M:check_first
local ENERGY_STRETCHES, ENERGY_S = 5, 0.3 -- of the counter, which moves every 20 to 100 ms
local ENERGY_SAMPLES = 50 -- launches at a time, beside those that are no samples
local PAIR_BLOCKS, MOST_OTHERS = 20, 4 -- of interleaved launches; see M:pair

---@param problem gilua.problem
---@param device userdata
function M.new(problem, device)
  return setmetatable({
    problem = problem, device = device, virtual = device:name() == "emu",
    buffers = {}, zero_buffers = {}, textures = {}, modules = {}, used = {}, scratch = {},
  }, M)
end

--- Makes `case` the one to run; the buffers and textures of the last one are released.
function M:use(case)
  for _, list in ipairs { self.buffers, self.zero_buffers } do
    for _, child in pairs(list) do child:close() end
  end
  for _, of_array in pairs(self.textures) do
    for _, child in pairs(of_array) do child:close() end
  end
  self.buffers, self.zero_buffers, self.textures, self.baseline = {}, {}, {}, nil
  self.case = case
end

local NoMemory = { __tostring = function(e) return e.message end }

local function must(value, message, code)
  if value ~= nil then return value end
  error(code == "nomem" and setmetatable({ message = message }, NoMemory) or message, 0)
end

-- What there is no memory for: a GPU's is the mutant's affair. The virtual GPU's is this process's,
-- which says nothing of the mutant until it was so twice, alone (crew.lua).
local function no_memory(self)
  if self.virtual then ends.raise_no_memory() end
  return "out_of_memory"
end

-- What an error makes of a mutant.
local function status_of(self, e, usual)
  return getmetatable(e) == NoMemory and no_memory(self) or usual
end

--- What a kernel writes and somebody looks at: { output, expected, compare, initial } each. The
--- case itself is the first.
local function outputs(case)
  return { case, table.unpack(case.also or {}) }
end

M.outputs = outputs

--- What the device has of an array of the case. Of one that the launch prepared last wants to begin
--- with zeros there is another.
---@param array userdata
---@param label? string its name in messages, when it is made
---@return userdata buffer
function M:buffer(array, label)
  local is_zeroed = self.zeroed ~= nil and self.zeroed[array] == true
  local buffers = is_zeroed and self.zero_buffers or self.buffers
  local b = buffers[array]
  if not b then
    local options = { read_only = not self.scratch[array], label = label }
    for _, o in ipairs(outputs(self.case)) do
      if array == o.output then options.read_only, options.initial = false, o.initial end
      if array == o.expected then options.hidden = true end
    end
    if is_zeroed then options.initial = array:copy():fill(0) end
    b = must(self.device:buffer(self:pointed(array, options), options))
    buffers[array] = b
  end
  return b
end

--- What a buffer of an array holds: where it has structs with pointers a copy with these set.
function M:pointed(array, options)
  local pointers = self.pointers and self.pointers[array]
  if not pointers then return array end
  local function address_of(...) return self:buffer(...):address() end
  if options and options.initial then
    options.initial = pointed.array(options.initial, pointers, address_of)
  end
  return pointed.array(array, pointers, address_of)
end

--- What an output holds now: its own array, or one with pointers in its place.
---@return userdata
function M:read(array)
  return must(self:buffer(array):read())
end

--- Textures are made once a case: a launch describes them anew each time.
function M:texture(description)
  local options, key = {}, {}
  for k, v in pairs(description) do
    if k ~= "array" then
      options[k] = v
      key[#key + 1] = wire.encode { k, v }
    end
  end
  table.sort(key)
  local of_array = self.textures[description.array] or {}
  self.textures[description.array] = of_array
  local name = table.concat(key)
  of_array[name] = of_array[name] or must(self.device:texture(description.array, options))
  return of_array[name]
end

--- A launch argument or constant: arrays become buffers, { texture = name } its handle.
function M:value(v, launch)
  if type(v) == "table" and v.texture then
    local description = launch.textures and launch.textures[v.texture]
    if not description then error(("launch: no texture is called '%s'"):format(v.texture), 0) end
    return self:texture(description)
  elseif type(v) == "table" and v.struct then
    return pointed.struct(v, function(...) return self:buffer(...):address() end)
  elseif type(v) == "userdata" then
    return self:pointed(v)
  end
  return v
end

local function failed(status, message)
  return { status = status, message = message, ticks = math.huge, ns = math.huge, n = 0,
           max_error = math.huge, mean_error = math.huge, off = 1, wrong = 1, unset = 1, nan = 0,
           registers = 0, shared_bytes = 0, seconds = { run = 0, check = 0 } }
end
M.failed = failed

--- A loaded module; the last few stay, because the mutants of one compilation share theirs.
---@param mutant { code: string, hash?: string }
---@return userdata? module
---@return table? failure a measurement, where it cannot be loaded
function M:module(mutant)
  local key = mutant.hash
  local module = key and self.modules[key]
  if module then return module end
  local message, code
  module, message, code = self.device:load(mutant.code)
  if not module then
    return nil, failed(code == "nomem" and no_memory(self) or "compile_error", message)
  end
  if not key then return module end
  if #self.used == KEPT_MODULES then
    local old = table.remove(self.used, 1)
    self.modules[old]:close()
    self.modules[old] = nil
  end
  self.used[#self.used + 1], self.modules[key] = key, module
  return module
end

--- A module that nobody else uses.
function M:load(mutant)
  return must(self.device:load(mutant.code))
end

--- Sets a variable. In machine code that holds many mutants its name ends with the mutant's tag,
--- where they do not have it in common. One that the mutant does not use is not in its module.
local function write_variable(module, name, tag, value)
  local ok, message, code
  for _, ending in ipairs { tag or "", tag and tag ~= "" and "" or nil } do
    ok, message, code = module:write(name .. ending, value)
    if ok then return end
    if not (code == "usage" and message:find("has no __device__", 1, true)) then
      error(message, 0)
    end
  end
end

--- A launch of a mutant, its constants written: what module:launch and module:time take.
function M:prepare(module, mutant)
  local launch = self.problem:launch(self.case, mutant.values)
  local fill, filled = {}, {}
  self.pointers, self.scratch, self.zeroed = launch.pointers, {}, launch.zeroed
  for _, array in ipairs(launch.scratch or {}) do self.scratch[array] = true end
  for i, o in ipairs(outputs(self.case)) do
    local buffer = self:buffer(o.output, i == 1 and "output" or "output " .. i)
    if not filled[buffer] then fill[#fill + 1], filled[buffer] = buffer, true end
  end
  for i, array in ipairs(launch.scratch or {}) do
    fill[#fill + 1] = self:buffer(array, "scratch " .. i)
  end
  for name, v in pairs(launch.constants or {}) do
    write_variable(module, name, mutant.tag, self:value(v, launch))
  end
  local args = {}
  for i, v in ipairs(launch.args) do
    args[i] = type(v) == "userdata" and self:buffer(v, "argument " .. i) or self:value(v, launch)
  end
  return {
    kernel = self.problem.kernel .. (mutant.tag or ""), grid = launch.grid, block = launch.block,
    shared = launch.shared, cache = launch.cache, carveout = launch.carveout, args = args,
    print = false,
    fill = fill,
  }, launch.times or 1
end

--- What the answers of two comparisons cost, and how many count; nil where neither says so.
local function costs(a, b)
  if not (a.penalty and b.penalty) then return a.penalty or b.penalty, a.counted or b.counted end
  local counted = a.counted + b.counted
  return (a.penalty * a.counted + b.penalty * b.counted) / math.max(counted, 1), counted
end

--- Two comparisons as one: the means and shares are those of all answers.
local function together(a, b)
  local n = a.n + b.n
  local penalty, counted = costs(a, b)
  local function mean(x, y) return (x * a.n + y * b.n) / n end
  return { n = n, max_error = math.max(a.max_error, b.max_error), first_wrong = a.first_wrong,
           mean_error = mean(a.mean_error, b.mean_error), off = mean(a.off, b.off),
           wrong = mean(a.wrong, b.wrong), unset = mean(a.unset, b.unset),
           nan = mean(a.nan, b.nan), penalty = penalty, counted = counted }
end

M.together = together

--- The largest of the case's right answers, without its sign; nil where none is a finite number.
---@return number?
function M:largest()
  return tolerance.largest(self.case)
end

-- Refuses an output without its right answers.
local function require_expected(self, o)
  for _, field in ipairs { "output", "expected" } do
    if o[field] == nil then
      fail("%s/problem.lua: the case '%s' has no %s: `case` returns the array of the right answers "
        .. "as `expected`, that of the kernel's as `output` (docs/problem.md)", self.problem.dir,
        self.case.name or "?", field)
    end
  end
end

--- Compares the outputs as they are now with what is expected; what else was touched is a fault.
function M:judge()
  local ok, damage = self.device:intact()
  if not ok then return failed("illegal_address", damage) end
  local verdict
  for _, o in ipairs(outputs(self.case)) do
    require_expected(self, o)
    local expected = self:buffer(o.expected, "expected answers")
    local options = tolerance.options(self.problem.tolerance, o.compare)
    local one = must(self:buffer(o.output):compare(expected, options))
    verdict = verdict and together(verdict, one) or one
  end
  return verdict
end

local function merge(m, more)
  for k, v in pairs(more) do m[k] = v end
  return m
end

--- What goes wrong in a launch is the mutant's fate, misuse included: one that was made by hand may
--- have lost its kernel or changed its arguments. A kernel with an instruction that the virtual GPU
--- does not know is refused when it is launched.
local LAUNCH_STATUS = { compile = "compile_error", nomem = "out_of_memory" }

--- Launches a kernel of a module that is loaded.
---@return table measurement
function M:launched(module, launch)
  local ok, m, message, code = attempt(module.launch, module, launch)
  if not ok then return failed("launch_error", tostring(m)) end
  if m and m.status == "out_of_memory" or code == "nomem" then no_memory(self) end
  return m or failed(LAUNCH_STATUS[code] or "launch_error", message)
end

---@class Finding what a kernel does wrong at one instruction, and where it did so first
---@field kind string of a warning "uninitialised_read" … (docs/emu.md), of a fault its status
---@field count integer how often
---@field message string what, where in memory, block, thread, lines, kernel
---@field ptx_line integer
---@field line integer of the source; 0: not known
---@field block integer[] x, y, z
---@field thread integer[] x, y, z

---@class gilua.run_way
---@field backwards? boolean the last block begins first
---@field before? table a case on which it is launched first; its variables keep what it left there

--- Launches a module on another case, whose answers nobody looks at.
---@return table? failure a verdict
function M:launched_before(module, values, other, budget)
  local own = self.case
  self:use(other)
  local ready, launch = attempt(self.prepare, self, module, { values = values })
  local m = { status = "launch_error", message = not ready and tostring(launch) or nil }
  if ready then
    launch.budget = budget
    m = self:launched(module, launch)
  end
  self:use(own)
  return m.status ~= "ok" and { status = m.status, message = m.message } or nil
end

--- The checked run: race detector, uninitialised reads, and where loops are guarded their counter.
---@param budget number warp instructions, 0 for no limit but the device's own
---@param guarded boolean the code has loop guards
---@param loop_limit integer? how often a thread's may look at their conditions, where that is
---  another than the code says
---@param plain boolean? without a look at races and at what was never set
---@param meets boolean? with a look at which of its pointers lead to one byte
---@param how gilua.run_way? otherwise than once, from the first block to the last
---@return table { status, message, instructions, touched (bytes, as their least time),
---  uninitialised_reads, warnings = Finding[]?, meets = table[]? (of module:launch) }
function M:check(code, values, budget, guarded, loop_limit, plain, meets, how)
  local module, none = self:module { code = code }
  if not module then return { status = none.status, message = none.message } end
  local before = how and how.before and self:launched_before(module, values, how.before, budget)
  if before then return before end
  local ready, launch, times = attempt(self.prepare, self, module,
    { values = values })
  if not ready then
    return { status = status_of(self, launch, "launch_error"), message = tostring(launch) }
  end
  if values.judged then budget = math.ceil(budget * times) end
  launch.budget, launch.count_uninitialised = budget, not plain
  if loop_limit then
    local limit = core.array.new("i64", 1)
    limit[1] = loop_limit
    module:write("gilua_loop_limit", limit) -- not there where no loop is
  end
  launch.check_races = not plain and self.problem.check_races or nil
  launch.benign_races, launch.meets = self.problem.benign_races, meets
  launch.backwards = how and how.backwards
  launch.keep_variables = how and how.before ~= nil
  local m = self:launched(module, launch)
  local overrun = guarded and core.array.new("i32", 1)
  local has_guard = overrun and module:read("gilua_loop_overrun", overrun)
  module:close()
  if has_guard and overrun[1] ~= 0 then
    return { status = "loop_limit",
             message = ("the loop of kernel.cu line %d ran over the limit of its guard"):format(
               overrun[1]) }
  end
  return { status = m.status, message = m.message, instructions = m.warp_instructions,
           ticks = m.ticks, touched = m.least_memory, warnings = m.warnings,
           uninitialised_reads = m.uninitialised_reads,
           meets = m.status == "ok" and m.meets or nil }
end

-- Tells what the case's memory holds before a launch: inputs, or what nobody has written yet.
local function describe(self, exact)
  local fresh, hidden = {}, {}
  for array in pairs(self.scratch) do fresh[array] = true end
  for _, o in ipairs(outputs(self.case)) do
    fresh[o.output], hidden[o.expected or false] = not o.initial, true
  end
  for array, buffer in pairs(self.buffers) do
    if not hidden[array] then exact:memory(buffer, not fresh[array]) end
  end
end

--- Runs a kernel over the reals (docs/certificate.md), races checked.
---@param kernel { code: string, values: table }
---@param how { seed: integer, budget: integer, backwards?: boolean }
---@return userdata? exact what compares with another of the seed
---@return string? why there is none
---@return string? status
function M:exactly(kernel, how)
  local module, none = self:module { code = kernel.code }
  if not module then return nil, none.message, none.status end
  local ready, launch = attempt(self.prepare, self, module, { values = kernel.values })
  if not ready then return nil, tostring(launch), "launch_error" end
  local exact = core.exact.new(how.seed)
  describe(self, exact)
  launch.exact, launch.budget, launch.backwards = exact, how.budget, how.backwards
  launch.check_races, launch.benign_races = "global", self.problem.benign_races
  local m = self:launched(module, launch)
  for _, o in ipairs(m.status == "ok" and outputs(self.case) or {}) do
    exact:take(self:buffer(o.output))
  end
  module:close()
  if m.status ~= "ok" then return nil, m.message, m.status end
  return exact
end

--- The checked run of the unmodified kernel. Where the problem says nothing of its loops it gets a
--- tenth of what mutants may, and more where it needs more; loop_limit of the verdict is what
--- mutants may.
function M:check_first(code, values, budget, guarded)
  if not guarded or self.problem.definition.loop_limit then
    return self:check(code, values, budget, guarded, nil, false, true)
  end
  local limit, verdict = self.problem.loop_limit // 10
  repeat
    verdict = self:check(code, values, budget, guarded, limit, false, true)
    verdict.loop_limit = limit * 10
    limit = limit * LOOP_STEP
  until verdict.status ~= "loop_limit" or limit > MOST_LOOPS
  return verdict
end

--- A verdict, with what the answers are worth: the fields of a comparison, where it ran.
function M:examined(verdict)
  return verdict.status == "ok" and merge(verdict, self:judge()) or verdict
end

-- --- timing ------------------------------------------------------------------------------------

--- The papers' clock: launches whose blocks record when they start and end; as many as it takes
--- until the median is known well enough.
local function time_by_spans(module, launch, how, tag)
  local recorded = merge({ variable = "gilua_spans" .. (tag or "") }, launch)
  local list, clocks, m, error_now = {}, {}, nil, math.huge
  while #list < how.min_samples or error_now > how.rel_error and #list < how.max_samples do
    m = module:spans(recorded)
    if m.status ~= "ok" then return m end
    list[#list + 1], clocks[#clocks + 1] = m.span_ns, m.clock_ghz
    local known = stats.median_interval(list)
    error_now = known and (known.high - known.low) / 2 / known.median or math.huge
    local limit = how.stop_above_ns
    if limit and #list >= 3 and stats.median(list) > limit then break end
  end
  m.median_ns, m.samples, m.clocks, m.rel_error = stats.median(list), list, clocks, error_now
  m.slow = how.stop_above_ns ~= nil and m.median_ns > how.stop_above_ns
  m.clock = "spans"
  return m
end

local TIMED = { "ns", "samples", "clocks", "rel_error", "dropped", "slow", "capped", "clock" }

--- Times a launch that gave tolerable answers, and looks at the answers of the last timed launch.
function M:time(module, launch, how, tag)
  local m
  if how.clock == "spans" then
    m = time_by_spans(module, launch, how, tag)
  else
    m = module:time(merge({
      rel_error = how.rel_error, min_samples = how.min_samples, max_samples = how.max_samples,
      stop_above_ns = how.stop_above_ns, flush_l2 = how.flush_l2,
    }, launch))
  end
  if m.status ~= "ok" then return m end
  m.ns = m.median_ns or m.ns
  return m, self:judge()
end

--- `how`, with so many samples of a launch of about ns that they take how.min_time_s together: of
--- a short kernel the half width of the median's interval comes down to 0.2 % at no cost.
local function long_enough(how, ns)
  local enough = math.ceil(how.min_time_s * 1e9 / ns)
  local copy = merge({}, how)
  copy.min_samples = math.max(how.min_samples, math.min(enough, how.max_samples))
  return copy
end

--- The unmodified kernel's time of about now. Many mutants share it, so it is taken with more care.
function M:baseline_ns(baseline, how)
  local now = core.system.seconds()
  local last = self.baseline
  if last and now - last.at < math.max(BASELINE_AGE_S, BASELINE_SHARE * last.took) then
    return last.ns
  end
  local module, none = self:module(baseline)
  if not module then error(none.message, 0) end
  local launch = self:prepare(module, baseline)
  launch.timeout_s = not self.virtual and 10 or nil
  local careful = long_enough(merge({}, how), last and last.ns / 2 or 1e5)
  careful.stop_above_ns = nil
  local m = self:time(module, launch, careful, baseline.tag)
  if m.status ~= "ok" then
    error("the unmodified kernel cannot be timed any more: " .. tostring(m.message), 0)
  end
  local at = core.system.seconds()
  self.baseline = { ns = m.ns, at = at, took = at - now }
  return m.ns
end

--- The worse of two verdicts on the same mutant.
local function worse(first, second)
  if second.status and second.status ~= "ok" then return second end
  if second.unset > first.unset or second.off > first.off or second.max_error > first.max_error
    or (second.penalty or 0) > (first.penalty or 0) then return second end
  return first
end

-- Is a mutant worth timing: right, or as near to it as the scheme or the farm's user accepts?
local function is_worth_timing(m, timing, limits)
  if m.status ~= "ok" or not timing then return false end
  return fitness.tolerable(m, limits) or m.unset == 0 and m.max_error <= (timing.max_error or -1)
end

--- What a launch takes of the GPU's energy: NVML's counter before and after launches one after the
--- other, in some stretches of time, over how many these were. What is restored before each launch
--- and the GPU's own draw in gaps are in it. energy_error_j: twice the standard error of the mean.
---@return table? failure of a launch
function M:add_energy(m, module, launch)
  local each = {}
  for i = 1, ENERGY_STRETCHES do
    local before, began, launches = must(self.device:energy()), core.system.seconds(), 0
    repeat
      local t = module:time(merge({ min_samples = ENERGY_SAMPLES, max_samples = ENERGY_SAMPLES },
        launch))
      if t.status ~= "ok" then return t end
      launches = launches + t.launches
    until core.system.seconds() - began >= ENERGY_S
    each[i] = (must(self.device:energy()) - before) / launches
  end
  m.energy_j = stats.mean(each)
  local squares = 0
  for _, x in ipairs(each) do squares = squares + (x - m.energy_j) ^ 2 end
  m.energy_error_j = 2 * math.sqrt(squares / (#each - 1) / #each)
end

--- Careful timing (device cuda only), of mutants with right answers or nearly so.
function M:timed(m, module, launch, job, tag)
  local t, verdict = self:time(module, launch, long_enough(job.timing, m.ns), tag)
  if t.status ~= "ok" then
    local bad = failed(t.status, "after a first run that ended well: " .. tostring(t.message))
    bad.lost = t.lost
    return bad
  end
  for _, field in ipairs(TIMED) do m[field] = t[field] end
  local lost = job.timing.energy and self:add_energy(m, module, launch)
  if lost then return failed(lost.status, "while its energy was measured: " .. lost.message) end
  verdict = worse(m, verdict)
  if verdict ~= m and verdict.status then return verdict end
  return merge(m, { max_error = verdict.max_error, mean_error = verdict.mean_error,
                    off = verdict.off, wrong = verdict.wrong, unset = verdict.unset,
                    nan = verdict.nan, penalty = verdict.penalty, counted = verdict.counted })
end

-- --- the whole case ----------------------------------------------------------------------------

--- Runs a mutant on the current case, checks all answers, and on a GPU times it.
---@param mutant { code: string, values: table, tag?: string, hash?: string }
---@param job { budget: number, launch_s?: number, timing?: table, baseline?: table }
---@return table measurement
function M:measure(mutant, job)
  local start = core.system.seconds()
  local timing = not self.virtual and job.timing
  local baseline_ns = timing and job.baseline and self:baseline_ns(job.baseline, timing)
  local begun = core.system.seconds()
  local module, none = self:module(mutant)
  if not module then return none end
  local ready, launch, times = attempt(self.prepare, self, module, mutant)
  if not ready then return failed(status_of(self, launch, "launch_error"), tostring(launch)) end
  -- On the virtual GPU instructions say everything: seconds depend on who else is at work on the
  -- machine. Each thread may use as many, were there as few as the unmodified kernel has.
  launch.budget = times and math.ceil(job.budget * times) or job.budget
  launch.timeout_s = not self.virtual and job.launch_s or nil
  local m = self:launched(module, launch)
  local ran = core.system.seconds()
  local seconds = { run = ran - begun, check = 0, time = begun - start }
  if m.status == "ok" then
    m.baseline_ns = baseline_ns or nil
    merge(m, self:judge())
    seconds.check = core.system.seconds() - ran
  end
  if is_worth_timing(m, timing, self.problem.tolerance) then
    m = self:timed(m, module, launch, job, mutant.tag)
    seconds.time = seconds.time + core.system.seconds() - ran - seconds.check
  end
  if m.status ~= "ok" then
    local lost = m.lost
    m = failed(m.status, m.message)
    m.lost = lost
  end
  m.seconds = seconds
  return m
end

--- Runs a mutant on the current case, untimed, for what it writes.
---@param mutant table as of measure
---@param job { budget: number, launch_s?: number }
---@return table measurement
---@return userdata? output the case's own array; nil where the mutant does not run
function M:answers(mutant, job)
  local m = self:measure(mutant, { budget = job.budget, launch_s = job.launch_s })
  if m.status ~= "ok" then return m end
  return m, self:read(self.case.output)
end

--- What a variable of instrumented code holds after a run on the current case.
---@param code string
---@param values table of parameters
---@param name string
---@param bytes integer
---@param budget integer most warp instructions
---@return userdata? array of bytes
---@return string? why there is none
---@return string? status of what did not run
function M:noted(code, values, name, bytes, budget)
  local loaded, unknown = self.device:load(code)
  if not loaded then return nil, unknown end
  local module <close> = loaded
  local launch = self:prepare(module, { values = values })
  launch.budget = budget
  local m, refused = module:launch(launch)
  if not m then return nil, refused end
  if m.status ~= "ok" then return nil, m.message, m.status end
  return module:read(name, core.array.new("u8", bytes))
end

--- Loads a mutant between others that nobody runs, so that it lies where it has not lain before.
local function load_elsewhere(self, mutant, rng, others)
  for _ = 1, rng:int(MOST_OTHERS) do others[#others + 1] = self:load(mutant) end
  return self:load(mutant)
end

--- n interleaved launches of two mutants, each in a module of its own.
local function pair_round(self, a, b, n, rng, job)
  local others <close> = setmetatable({}, { __close = function(list)
    for _, module in ipairs(list) do module:close() end
  end })
  local module_a <close> = load_elsewhere(self, a, rng, others)
  local module_b <close> = load_elsewhere(self, b, rng, others)
  local launch_a, launch_b = self:prepare(module_a, a), self:prepare(module_b, b)
  local limit_s = not self.virtual and job.launch_s or nil
  launch_a.timeout_s, launch_b.timeout_s = limit_s, limit_s
  return module_a:pair {
    a = launch_a, b = launch_b, other = module_b, pairs = n, flush_l2 = job.timing.flush_l2,
  }
end

--- Interleaved launches of two mutants (device cuda). Where its code lies in memory makes one copy
--- of a kernel up to 0.2 % slower than another, for as long as it lies there: so the pairs come in
--- blocks, and both are loaded anew, somewhere else, for each.
---@return table { status, a_ns, b_ns, block } or { status, message }
function M:pair(a, b, job)
  local block = math.ceil(job.pairs / PAIR_BLOCKS)
  local found = { status = "ok", a_ns = {}, b_ns = {}, block = block }
  local rng = core.rng.new(1)
  while #found.a_ns < job.pairs do
    local m = pair_round(self, a, b, math.min(block, job.pairs - #found.a_ns), rng, job)
    if m.status and m.status ~= "ok" then
      return { status = m.status, message = m.message, lost = m.lost }
    end
    table.move(m.a, 1, #m.a, #found.a_ns + 1, found.a_ns)
    table.move(m.b, 1, #m.b, #found.b_ns + 1, found.b_ns)
  end
  return found
end

--- What it takes to write the case's output once, without calculating anything.
---@param timing table as of module:time
---@return table { ns, rel_error, samples, bytes }
function M:floor(timing)
  local output = self.case.output
  local m = must(self:buffer(output, "output"):time_sentinel {
    min_samples = timing.min_samples, max_samples = timing.max_samples,
    rel_error = timing.rel_error,
  })
  local bits = math.tointeger(output:dtype():match("%d+")) -- "f32": of an element
  return { ns = m.ns, rel_error = m.rel_error, samples = #m.samples, bytes = #output * bits // 8 }
end

return M
