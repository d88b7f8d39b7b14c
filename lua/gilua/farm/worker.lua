--- worker: the main loop of a worker process: it compiles batches, builds cases, runs and times
-- mutants, one message at a time.
--
-- A message carries all its data (problem, device, case), so a worker can be replaced at any
-- moment. The worker keeps problem, device and case of the last message, since the next one usually
-- needs them again.

local assembler = require "gilua.farm.assembler"
local attempt = require "gilua.base.attempt"
local compiler = require "gilua.farm.compiler"
local llvmcompiler = require "gilua.farm.llvmcompiler"
local core = require "gilua.core"
local elsewhere = require "gilua.base.elsewhere"
local gi = require "gilua"
local gpus = require "gilua.base.gpus"
local kerneltable = require "gilua.problem.kerneltable"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local launcher = require "gilua.problem.launcher"
local lfs = require "lfs"
local wire = require "gilua.base.wire"
local plans = require "gilua.farm.plan"
local recording = require "gilua.problem.recording"
local outputs_of = require("gilua.farm.runner").outputs
local replayer = require "gilua.farm.replayer"
local settings = require "gilua.base.settings"
local screen = require "gilua.farm.screen"
local tolerance = require "gilua.problem.tolerance"
local trace = require "gilua.base.trace"

local problems = {} -- by folder
local devices = {} -- by name
local checked -- the runner of checked runs: { dir =, runner = }
local whole -- the runner of whole cases: { dir =, device =, case_key =, runner = }
local turn -- whose those are: another crew of this process' may have written the same folder anew

local MOST_ARRAYS = 4096 -- of a share

local function must(value, message)
  if value == nil then fail("%s", message) end
  return value
end

local function problem_at(dir)
  problems[dir] = problems[dir] or gi.problem(dir)
  return problems[dir]
end

-- approximation: of the virtual GPU, what its approximate functions give; see gi.device
local function device_called(name, approximation)
  local key = ("%s %d"):format(name, approximation or 0)
  devices[key] = devices[key] or must(gi.device(name, { approximation = approximation }))
  return devices[key]
end

local operations = {}
local boxed = false -- this process is, and $TMPDIR its own

--- Compiles; large headers are kept, since most mutants begin with the same.
local function with_headers(compile, ...)
  if boxed then core.compile.keep_headers(core.home .. "/lua/gilua/include") end
  return compile(...)
end

--- What a device name stands for: "cuda" is every GPU of this machine, "cuda:0,2" two of them.
local function names_of(device)
  local names, numbers = {}, device:match("^cuda:([%d,]+)$")
  for number in (numbers or ""):gmatch("%d+") do names[#names + 1] = "cuda:" .. number end
  if device == "cuda" then
    for i = 1, #core.system.driver().gpus do names[i] = ("cuda:%d"):format(i - 1) end
  end
  return #names > 0 and names or { device }
end

function operations.probe(m)
  local names = names_of(m.device)
  local list = {}
  for i, name in ipairs(names) do
    local device = must(gi.device(name))
    local info = device:info()
    list[i] = { device = name, name = info.name, clock_ghz = info.clock_ghz, uuid = info.uuid,
                target = device:target(), driver = info.driver, sms = info.sms,
                l2_bytes = info.l2_bytes, memory_rate = info.memory_rate }
    device:close()
  end
  return { devices = list }
end

--- Where the compiler itself fails, every unit has failed; `doubt` says that another process may
--- see it otherwise.
local function compile_all(units, options)
  local results, why, code = with_headers(gi.compile.batch, units, options)
  if results or code ~= "driver" then return must(results, why) end
  results = {}
  for i = 1, #units do results[i] = { message = why, log = why } end
  return results
end

-- Sources that LLVM compiles, each for itself.
local function by_llvm(m)
  local results = {}
  for i, unit in ipairs(m.units) do
    results[i] = llvmcompiler.compile(unit.source, { target = m.target, options = m.options,
      passes = m.llvm.passes, limit_s = m.limit_s })
    if results[i].kind == "nolib" or results[i].kind == "io" then fail("%s", results[i].message) end
  end
  return results
end

local named -- PTX whose instructions genes name: { text =, ptx = }

-- The runner of checked runs of a problem, its small case at hand.
local function checked_runner(dir)
  if not checked or checked.dir ~= dir then
    local problem = problem_at(dir)
    local runner = replayer.runner(problem, device_called "emu")
    runner:use(must(problem:case(problem.checked_case)))
    checked = { dir = dir, runner = runner }
  end
  return checked.runner
end

-- What is hashed of machine code: the kernel, or all that a recording launches.
local function hash_of(image, m)
  if not m.recorded then return must(core.compile.code_hash(image, m.kernel)) end
  local hashes = {}
  for _, entry in pairs(problem_at(m.recorded).definition.recorded.entries) do
    hashes[#hashes + 1] = entry .. " " .. must(core.compile.code_hash(image, entry))
  end
  table.sort(hashes)
  return core.system.hash(table.concat(hashes))
end

--- PTX as machine code for a GPU. What it does not assemble is the mutant's fate, all else the
--- run's.
local function assembled(r, m, images)
  local text, missing = r.code, nil
  if m.recorded then text, missing = checked_runner(m.recorded):linkable(text) end
  if missing then return { status = "launch_error", message = missing, log = missing } end
  if not text then return r end
  local image, why, code = core.compile.link({ text }, { target = m.target, options = m.assembler })
  if not image and code ~= "compile" then fail("%s", why) end
  if not image then return { message = why, log = why } end
  images[#images + 1] = image
  r.image, r.tag, r.code_hash = #images, "", hash_of(image, m)
  return r
end

-- Sources that are PTX as they are.
local function taken(m)
  local results = {}
  for i, unit in ipairs(m.units) do results[i] = { code = unit.source } end
  return results
end

-- PTX for the device; and machine code, where it is a GPU's target.
local function for_device(results, m)
  results.images = {}
  for i, r in ipairs(m.target:find "^sm_" and results or {}) do
    if r.code then results[i] = assembled(r, m, results.images) end
  end
  return results
end

local makers = {} -- of sources, by clock, of the problem in makers.dir

local function maker_for(m)
  if makers.dir ~= m.problem then makers = { dir = m.problem } end
  makers[m.clock] = makers[m.clock] or plans.maker(problem_at(m.problem), nil, m.clock)
  return makers[m.clock]
end

--- Makes the sources of units that a manager elsewhere sent as genomes. Raises if a source's hash
--- is not the manager's.
local function make_sources(m)
  local maker, problem = maker_for(m), problem_at(m.problem)
  local names = problem.grammar:names()
  for _, unit in ipairs(m.units) do
    unit.names, unit.kernel = names, problem.kernel
    if unit.genome then unit.source = must(maker:same_source(unit)) end
  end
end

--- PTX as an archive keeps it, for an agent's manager: like another's, where that was sent.
local function pack(results, m)
  for _, r in ipairs(m.pack and results or {}) do
    r.packed = r.code and { like = m.pack.hash, bytes = core.store.pack(r.code, m.pack.like or "") }
  end
end

function operations.compile(m)
  if m.problem then
    local ok, other = attempt(make_sources, m)
    if not ok then return { other = tostring(other) } end
  end
  local start, start_cpu = core.system.seconds(), os.clock()
  m.assembler = assembler.options(m.options)
  local results = m.ptx and for_device(taken(m), m) or m.llvm and for_device(by_llvm(m), m)
    or compile_all(m.units, { target = m.target, options = m.options })
  local images = results.images
  results.images = nil
  for _, r in ipairs(results) do
    if r.code then r.hash = core.compile.canonical_hash(r.code) end
  end
  pack(results, m)
  return { results = results, images = images, doubt = core.compile.trouble(),
           seconds = core.system.seconds() - start, cpu_s = os.clock() - start_cpu }
end

-- Where no gene finds anything to change the text stays as it is, so that it is known for the same.
local function edited(unit, m, images)
  local code, lost = named.ptx:apply(unit.genes, unit.other)
  if not code then return { message = lost, log = lost } end
  if lost == unit.genes then code = unit.other or m.base end
  local r = { code = code, hash = core.compile.canonical_hash(code),
              lost = lost ~= "" and lost or nil }
  return m.target:find "^sm_" and assembled(r, m, images) or r
end

local MOST_EDITS = 500 -- of one module of LLVM's, whose context keeps what each of them made

local llvm_base -- the module whose instructions genes name: { bitcode =, module =, edits = }

local function llvm_edited(unit, m)
  local module, lost = llvm_base.module:apply(unit.genes, unit.other)
  llvm_base.edits = llvm_base.edits + 1
  if not module then return { message = lost, log = lost } end
  local code, why = module:ptx(m.target)
  module:close()
  if not code then return { message = why, log = why } end
  return { code = code, hash = core.compile.canonical_hash(code),
           lost = lost ~= "" and lost or nil }
end

--- LLVM's bitcode with genes as PTX, and on a GPU what it assembles to.
function operations.edit_llvm(m)
  local start, results = core.system.seconds(), {}
  m.assembler = assembler.options(m.options)
  for i, unit in ipairs(m.units) do
    if not llvm_base or llvm_base.bitcode ~= m.base or llvm_base.edits == MOST_EDITS then
      llvm_base = { bitcode = m.base, module = must(core.llvm.base(m.base)), edits = 0 }
    end
    results[i] = llvm_edited(unit, m)
  end
  for_device(results, m)
  local images = results.images
  results.images = nil
  pack(results, m)
  return { results = results, images = images, seconds = core.system.seconds() - start }
end

--- PTX with genes, and on a GPU what it assembles to.
function operations.edit(m)
  local start = core.system.seconds()
  m.assembler = assembler.options(m.options)
  if not named or named.text ~= m.base then
    named = { text = m.base, ptx = must(core.ptx.open(m.base)) }
  end
  local results, images = {}, {}
  for i, unit in ipairs(m.units) do results[i] = edited(unit, m, images) end
  pack(results, m)
  return { results = results, images = images, seconds = core.system.seconds() - start }
end

--- Compiles one source for a caller that waits; an error in the request goes back to the caller.
function operations.compile_one(m)
  local ok, results = attempt(function()
    local compile = m.options and m.options.compiler == "llvm" and llvmcompiler.one
      or core.compile.compile
    local code, log, kind, whole_log = with_headers(compile, m.source, m.options)
    return { code, log, kind, whole_log }
  end)
  if not ok then results = { misuse = results:gsub("^[^:]+:%d+: ", "") } end
  return { results = results, doubt = core.compile.trouble() }
end

-- What an array adds to a case's digest. What an output holds does not count: it is filled before
-- every run, and a problem that keeps it from case to case has what the last run wrote there.
local function told_of(array, written)
  local shape = table.concat({ array:shape() }, "x")
  return written[array] and ("%s %s"):format(array:dtype(), shape)
    or ("%x %s %s"):format(array:hash(), array:dtype(), shape)
end

-- A case by what it holds: of a recording that is what the file does, wherever it lies.
local function without_paths(case)
  if not case.recording then return wire.encode(case, {}) end
  local told = {}
  for k, v in pairs(case) do told[k] = v end
  told.recording = must(fingerprint.whole(elsewhere.of(case.recording)))
  return wire.encode(told, {})
end

--- A case as bytes, and its arrays. `digest`: 128 bits of all of it, the same on every machine that
--- builds the same case.
local function encoded(case)
  local arrays = {}
  local bytes = wire.encode(case, arrays)
  local function digest()
    local parts, written = { core.system.hash128(without_paths(case)) }, {}
    for _, o in ipairs(outputs_of(case)) do
      if o.output then written[o.output] = true end
    end
    for i, array in ipairs(arrays) do parts[i + 1] = told_of(array, written) end
    return core.system.hash128(table.concat(parts, " "))
  end
  return bytes, arrays, digest
end

--- Can a problem be worked at here? Its small case says whether it is the same as elsewhere.
function operations.ready(m)
  local problem = problem_at(m.problem)
  if not problem.checked_case then return {} end
  local _, _, digest = encoded(must(problem:case(problem.checked_case)))
  return { digest = digest() }
end

--- Builds a case. Its arrays go into shared memory, from where every worker has them.
function operations.case(m)
  local start = core.system.seconds()
  local case = must(problem_at(m.problem):case(m.case))
  local bytes, arrays, digest = encoded(case)
  if #arrays > MOST_ARRAYS then
    fail("a case has %d arrays, with those of its answers, and at most %d are shared", #arrays,
      MOST_ARRAYS)
  end
  local share = #arrays > 0 and must(core.array.share(arrays)) or nil
  local info = { name = case.name, answers = case.answers, voxels = case.voxels,
                 size = case.size, group = case.group,
                 largest = case.expected and tolerance.largest(case) }
  return { case = bytes, info = info, digest = m.digest and digest() or nil,
           seconds = core.system.seconds() - start }, share
end

-- Runs the small case without the checks that take most of its time, to find wrong answers early.
-- nil: they are right.
local function wrong_at_once(runner, tolerated, m)
  local verdict = runner:check(m.code, m.values, m.budget, m.guarded, m.loop_limit, true)
  verdict.unchecked = true
  if verdict.status ~= "ok" then return verdict end
  verdict.answers = runner:examined { status = "ok" }
  return not screen.may_be_right(verdict.answers, tolerated, m.most_error) and verdict or nil
end

-- The small case with every check on; first: of the unmodified kernel.
local function verdict_of(runner, m)
  local verdict = m.first and runner:check_first(m.code, m.values, m.budget, m.guarded)
    or runner:check(m.code, m.values, m.budget, m.guarded, m.loop_limit)
  if verdict.status == "ok" then verdict.answers = runner:examined { status = "ok" } end
  if m.first then verdict.largest = runner:largest() end
  return verdict
end

--- The small case with every check on, on the virtual GPU whatever the device: a kernel whose lanes
--- race may give right answers here and wrong ones on a GPU. With `wrong_ends` what is wrong there
--- is not looked at any closer (`unchecked` in the verdict).
function operations.check(m)
  local start = core.system.seconds()
  local problem, runner = problem_at(m.problem), checked_runner(m.problem)
  local verdict = m.wrong_ends and wrong_at_once(runner, problem.tolerance, m)
    or verdict_of(runner, m)
  return { verdict = verdict, seconds = core.system.seconds() - start }
end

--- The small case of a mutant that was compiled in haste, as far as it says that it is wrong
--- (passed: it does not); first: of the unmodified kernel.
function operations.sift(m)
  local start = core.system.seconds()
  local problem, runner = problem_at(m.problem), checked_runner(m.problem)
  local verdict = m.first and verdict_of(runner, m) or not m.first
    and wrong_at_once(runner, problem.tolerance, m) or { status = "ok", passed = true }
  return { verdict = verdict, seconds = core.system.seconds() - start }
end

--- A case of other data, or why there is none, which is no fault: the kernel as it is may not take
--- them.
local function other_case(problem, spec)
  local ok, case = attempt(problem.case, problem, spec)
  if ok then return case end
  return nil, tostring(case)
end

-- Has a kernel's PTX a variable that a launch may leave something in for the next?
local function has_state(ptx)
  for name in ptx:gmatch "%.global [^\n;=]-([%w_$]+)[%[;= ]" do
    if not name:find "^%$" and not name:find "^gilua_" then return true end
  end
  return false
end

-- How a kernel runs in a way; false: it need not.
local function way_of(problem, kernel, spec)
  if kernel.way ~= "again" then return kernel.way and { [kernel.way] = true } end
  if not has_state(kernel.code) then return false end
  local other = {}
  for name, value in pairs(spec) do other[name] = value end
  other.seed = (spec.seed or 1) + 1
  return { before = must(problem:case(other)) }
end

-- The verdict on a kernel that is not the first; false of a way that is none for it.
local function examined(judge, kernel, spec, budget, loop_limit)
  local how = way_of(judge.problem, kernel, spec)
  if how == false then return false end
  return judge:examined(judge:check(kernel.code, kernel.values, budget, kernel.guarded, loop_limit,
    false, false, how))
end

-- Returns the runner of a message's problem on its case of other data, and the case; nil and why
-- there is none.
local function on_other(m)
  local problem = problem_at(m.problem)
  local case, why = other_case(problem, m.case)
  if not case then return nil, why end
  local judge = replayer.runner(problem, device_called "emu")
  judge:use(case)
  return judge, case
end

-- The last answer of each output that the kernel as it is changed, counted from 1: where a case's
-- numbers follow its size, so does this. Of an output that begins unwritten it is the last of all;
-- of a recording, whose answers have no arrays, it is unknown.
local function extent_of(case)
  local list = {}
  for i, o in ipairs(outputs_of(case)) do
    local after = o.expected and tolerance.numbers(o.expected, o.compare) or {}
    local before = o.initial and tolerance.numbers(o.initial, o.compare)
    local last = #after
    while before and last > 0 and after[last] == before[last] do last = last - 1 end
    list[i] = last
  end
  return table.concat(list, " ")
end

--- Kernels on a case of other data, with every check on and every answer compared. The first is the
--- kernel as it is, and sets what the others may use.
function operations.examine(m)
  local start = core.system.seconds()
  local judge, case = on_other(m)
  if not judge then return { why = case, seconds = core.system.seconds() - start } end
  local found = { name = case.name, largest = judge:largest(), extent = extent_of(case),
    verdicts = {} }
  local budget = m.case.checked_budget or m.case.budget or 0
  local first = m.kernels[1]
  local verdict = judge:check_first(first.code, first.values, budget, first.guarded)
  found.verdicts[1] = judge:examined(verdict)
  budget = verdict.status == "timeout" and budget
    or math.max((verdict.instructions or 0) * m.factor, m.least)
  for i = 2, #m.kernels do
    found.verdicts[i] = examined(judge, m.kernels[i], m.case, budget, verdict.loop_limit)
  end
  judge:use(nil)
  found.seconds = core.system.seconds() - start
  return found
end

local ORDERS = { false, true } -- of threads: from the first on, from the last

-- Two kernels on the case of a runner, with random elements of a seed: the comparison that failed,
-- or the one with the fewest bits.
local function certified(judge, m, seed)
  local found, first = {}, nil
  local budget = m.case.checked_budget or m.case.budget or 0
  for i = 1, #m.kernels * #ORDERS do
    local which = 1 + (i - 1) // #ORDERS
    local exact, no, status = judge:exactly(m.kernels[which],
      { seed = seed, budget = budget, backwards = ORDERS[1 + (i - 1) % #ORDERS] })
    if not exact then
      found.lost = { kernel = which, message = no, status = status }
      break
    end
    local c = first and first:compare(exact)
    if first then exact:close() else first = exact end
    local is_least = c and not (found.certificate and found.certificate.degree_bits < c.degree_bits)
    local is_alike = c and (c.alike or c.empty)
    if c and (is_least or not is_alike) then found.certificate = c end
    if c and not is_alike then
      found.kernel = which
      break
    end
  end
  if first then first:close() end
  return found
end

local LEAST_BITS, MOST_SEEDS = 20, 8 -- of certainty; seeds that may be tried for them

-- Formulas of a high degree leave few bits. Other seeds are independent, so that bits add up.
local function surely_certified(judge, m)
  local found, bits = nil, 0
  for seed = 0, MOST_SEEDS - 1 do
    found = certified(judge, m, m.seed + seed * 1000003)
    local c = found.certificate
    if found.lost or not c.alike then return found end
    bits = bits + c.degree_bits
    if bits >= LEAST_BITS then
      c.certified, c.degree_bits, c.why, c.side = true, bits, nil, nil
      return found
    end
  end
  return found
end

--- Two kernels on a case over the reals: `certificate` says whether they are equal, else `why`
--- there is no such case.
function operations.certify(m)
  local start = core.system.seconds()
  local judge, case = on_other(m)
  if not judge then return { why = case, seconds = core.system.seconds() - start } end
  local found = surely_certified(judge, m)
  judge:use(nil)
  found.name, found.seconds = case.name, core.system.seconds() - start
  return found
end

--- The runner of the case that a message speaks of.
local function runner_of(m, share)
  local here = whole and whole.dir == m.problem and whole.device == m.device
    and whole.approximation == m.approximation
  if not here then
    whole = { dir = m.problem, device = m.device, approximation = m.approximation,
              runner = replayer.runner(problem_at(m.problem),
                device_called(m.device, m.approximation)) }
  end
  if whole.case_key ~= m.case_key then
    whole.case_key = nil
    whole.runner:use(wire.decode(m.case, share and must(share:arrays()) or {}))
    whole.case_key = m.case_key
    if share then share:close() end
  end
  return whole.runner
end

function operations.run(m, share)
  local r = runner_of(m, share)
  local measurement = r:measure(m.mutant, m)
  local lost = measurement.lost
  measurement.lost = nil
  return { measurement = measurement, lost = lost }
end

--- What a mutant writes, as a share of one array; none where it does not run.
function operations.answers(m, share)
  local measurement, output = runner_of(m, share):answers(m.mutant, m)
  local lost = measurement.lost
  measurement.lost = nil
  return { measurement = measurement, lost = lost },
    output and must(core.array.share { output }) or nil
end

function operations.pair(m, share)
  return runner_of(m, share):pair(m.a, m.b, m)
end

function operations.floor(m, share)
  return runner_of(m, share):floor(m.timing)
end

--- A kernel of a problem table once on a case, for gilua.bench: its outputs as a share.
function operations.launch(m)
  local self = problem_at(m.problem).definition.kernel_table
  local outputs, found, failed = kerneltable.launch(self, m.spec, m.run)
  if not outputs then
    return { why = found, measurement = failed, lost = failed and failed.lost }
  end
  local names, arrays = settings.keys(outputs), {}
  for i, name in ipairs(names) do arrays[i] = outputs[name] end
  return { measurement = found, names = names },
    #arrays > 0 and must(core.array.share(arrays)) or nil
end

--- What a variable of instrumented code holds after a run, as a share.
function operations.noted(m, share)
  local run = m.run
  local held, why, status = runner_of(m, share):noted(run.code, run.values, run.name, run.bytes,
    run.budget)
  return { why = why, status = status }, held and must(core.array.share { held }) or nil
end

local replayed -- the recording that was replayed last: { path =, recording = }

--- A recording once more. What it copies out and is not as recorded goes as one share.
function operations.replay(m)
  if not replayed or replayed.path ~= m.path then
    if replayed then replayed.recording.file:close() end
    replayed = { path = m.path, recording = recording.open(m.path) }
  end
  local result, why, code = replayed.recording.file:replay(m.model, m.options)
  if not result then return { why = why, code = code } end
  local others = {}
  for _, read in ipairs(result.reads) do
    read.size = #read.bytes
    if not read.same then others[#others + 1] = read.bytes end
    read.bytes = nil
  end
  local bytes = table.concat(others)
  return { result = result },
    bytes ~= "" and must(core.array.share { core.array.frombytes(bytes, "u8") }) or nil
end

-- The box ---------------------------------------------------------------------------------------

-- luacheck: push ignore 122
--- Functions of Lua that would not work in a box, or not say why: its own files are made in /tmp,
--- whatever $TMPDIR says, and a program that cannot be started looks like one that failed.
local function adapt_library()
  local made = 0
  local function no_program(command)
    if command == nil then return false end -- os.execute(): is there a shell?
    return nil, command .. ": Operation not permitted", 1
  end
  os.execute, io.popen = no_program, no_program
  function os.tmpname()
    made = made + 1
    local path = ("%s/lua_%d"):format(os.getenv "TMPDIR", made)
    assert(io.open(path, "w")):close()
    return path
  end
  function io.tmpfile()
    local path = os.tmpname()
    local f = assert(io.open(path, "w+b"))
    os.remove(path)
    return f
  end
end

-- luacheck: pop

-- Where it may write, if the box does not make it one: a box for programs is that of many.
local function own_folder(folder)
  local own = ("%s/%d"):format(folder, core.system.pid())
  lfs.mkdir(own)
  return own
end

--- Shuts this process in before it runs anything of a problem's.
---@param kind string "emu", "gpu" or "none"
---@param folder string of the crew's scratch
---@param memory_bytes string
---@param programs boolean it starts clang
---@return string? why it has none
local function enter_box(kind, folder, memory_bytes, programs)
  if kind == "none" or os.getenv "GILUA_BOX" == "off" then return nil end
  if programs then folder = own_folder(folder) end
  local box, why = core.farm.enter_box { scratch = folder, gpu = kind == "gpu",
    file_bytes = math.tointeger(tonumber(memory_bytes)), programs = programs }
  boxed = true
  adapt_library()
  return not box and why or nil
end

-- Takes a worker that has no box: it serves those who do without, and refuses all that others ask.
local function without_box(why, is_needed)
  local sentence = ("a worker is not boxed: %s (docs/security.md)"):format(why)
  if not is_needed then
    io.stderr:write("gilua: ", sentence, "\n")
    return
  end
  for name in pairs(operations) do
    operations[name] = function() fail("%s; --no-box goes on without", sentence) end
  end
end

--- What a problem's code was refused is the system's word; whose doing it is, is said here.
local function explained(message)
  local refused = message:find("Permission denied", 1, true)
    or message:find("Operation not permitted", 1, true)
    or message:find("unable to generate a unique filename", 1, true)
  if not (boxed and refused) then return message end
  return message .. "\n(a worker starts no programs, has no network and writes no files but below "
    .. "$TMPDIR: docs/security.md)"
end

local function failure_of(e)
  if ends.is_no_memory(e) then core.farm.no_memory() end
  if type(e) == "table" then return { sentence = explained(tostring(e)) } end
  local from_without = trace.from_without(e)
  if from_without then return { sentence = from_without } end
  if trace.line(1) then return { sentence = explained(trace.told(e, 1)) } end
  return { trace = explained(debug.traceback(e, 2)) }
end

--- Of what others asked for only the compiler's memory stays, whose answers are the same.
local function begin_turn(number)
  if whole then whole.runner:use(nil) end
  if checked then checked.runner:use(nil) end
  turn, problems, whole, checked, makers = number, {}, nil, nil, {}
  if replayed then replayed.recording.file:close() end
  replayed = nil
end

local function answer(bytes, share)
  local m = wire.decode(bytes)
  if m.turn ~= turn then begin_turn(m.turn) end
  elsewhere.files = m.elsewhere or {}
  local ok, result, given = xpcall(operations[m.op], failure_of, m, share)
  if not ok and type(result) == "string" then result = failure_of(result) end -- Lua had no memory
  return wire.encode(ok and result or { failure = result }), ok and given or nil
end

return function()
  compiler.here, launcher.here = true, true
  recording.memory_bytes = math.tointeger(tonumber(arg[2])) or recording.memory_bytes
  gpus.choose(arg[4])
  local open = enter_box(arg[0], arg[1], arg[2], arg[3] == "programs")
  if open then without_box(open, arg[5] == "needs a box") end
  core.farm.serve(answer)
end
