-- What only a GPU does, without one: when a mutant is timed and how long, what is looked at again
-- after, the unmodified kernel's time beside it, interleaved pairs, and the drift of all of it.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local fakegpu = require "fakegpu"
local gi = require "gilua"
local runner = require "gilua.farm.runner"
local wire = require "gilua.base.wire"

local SOURCE = [[
extern "C" __global__ void k(int *out, const int *in)
{
    out[threadIdx.x] = 2 * in[threadIdx.x] + %s;
}
]]

local function code_of(off)
  return { code = assert(gi.compile(SOURCE:format(off), { target = "compute_90" })), values = {},
           hash = "off by " .. off }
end

local RIGHT, WRONG, ONE_WRONG = code_of "0", code_of "3", code_of "(threadIdx.x == 0 ? 3 : 0)"
local OTHER = { code = "// another\n" .. RIGHT.code, values = {}, hash = "another" }

local function problem(tolerance)
  return { kernel = "k", tolerance = tolerance or { max_error = 0, wrong_above = 0 },
           launch = function(_, case)
             return { grid = 1, block = 32, args = { case.output, case.input } }
           end }
end

local function new_case(penalty)
  local c = { input = gi.array("i32", 32), output = gi.array("i32", 32),
              expected = gi.array("i32", 32), compare = { penalty = penalty } }
  for i = 1, 32 do c.input[i], c.expected[i] = i, 2 * i end
  return c
end

local TIMING = { clock = "events", rel_error = 0.01, min_samples = 20, max_samples = 200,
                 min_time_s = 0.003, stop_above_ns = 5e6 }

--- A runner on a fake GPU and its case.
local function setup(ns, tolerance, penalty)
  local gpu = fakegpu.device(type(ns) == "function" and ns or function() return ns end)
  local r = runner.new(problem(tolerance), gpu)
  local case = new_case(penalty)
  r:use(case)
  return r, gpu, case
end

local function measure(r, mutant, more)
  local job = { budget = 0, launch_s = 2, timing = TIMING }
  for name, value in pairs(more or {}) do job[name] = value end
  return r:measure(mutant, job)
end

tap.case("a right mutant is timed, as long as its length asks for", function()
  for _, row in ipairs { { 1000, 200 }, { 30000, 100 }, { 100000, 30 }, { 1e7, 20 } } do
    local ns, samples = table.unpack(row)
    local r, gpu = setup(ns)
    local m = measure(r, RIGHT)
    tap.is(m.status .. " " .. m.ns, "ok " .. ns, "its time")
    tap.is(#m.samples, samples, ("%g ns: samples of 3 ms, from 20 to 200"):format(ns))
    tap.is(gpu.launches[1].timeout_s, 2, "no launch longer than it may")
    tap.is(gpu.timings[1].how.stop_above_ns, 5e6, "given up where it is slow")
    tap.is(gpu.timings[1].how.rel_error, 0.01, "else until it is known well")
  end
end)

tap.case("a wrong one is not, unless it may be a parent", function()
  local r, gpu = setup(1000)
  local m = measure(r, WRONG)
  tap.is(m.max_error .. " " .. #gpu.timings, "3.0 0", "three off is wrong")
  r, gpu = setup(1000, { max_error = 0, parent_penalty = 5 }, { unset = 9, outside = 8 })
  tap.is(measure(r, WRONG).penalty .. " " .. #gpu.timings, "3.0 1", "but by little")
  r, gpu = setup(1000, { max_error = 0, parent_penalty = 2 }, { unset = 9, outside = 8 })
  tap.is(measure(r, WRONG).penalty .. " " .. #gpu.timings, "3.0 0", "by too much")
end)

tap.case("what is right once and wrong when it is timed is wrong", function()
  local function after_timing(change, tolerance, penalty)
    local r, gpu, case = setup(1000, tolerance, penalty)
    gpu.after = function() return change(case, gpu) end
    return measure(r, RIGHT), r
  end
  local m = after_timing(function(case) case.output[5] = 13 end)
  tap.is(m.status .. " " .. m.max_error .. " " .. m.wrong, "ok 3.0 0.03125", "one answer off by 3")
  tap.is(m.ns, 1000, "with its time")
  m = after_timing(function(case) case.output:sentinel() end)
  tap.is(m.unset, 1.0, "answers not written any more")
  m = after_timing(function(case) case.output[5] = 12 end, { max_error = 4, parent_penalty = 5 },
    { unset = 9, outside = 8, ignore = 2 })
  tap.is(m.max_error, 2.0, "two off")
  tap.ok(m.penalty > 0 and m.counted == 31, "what it costs comes with it")
  m = after_timing(function(_, gpu) gpu.damage = "the kernel wrote into 'argument 2'" end)
  tap.is(m.status, "illegal_address", "what it may not write to was touched")
  tap.has(m.message, "argument 2", "and is told")
  tap.is(m.ns, math.huge, "then it has no time")
  m = after_timing(function() return { status = "timeout", message = "ran on", lost = true } end)
  tap.is(m.status, "timeout", "a timing that does not end well")
  tap.has(m.message, "after a first run that ended well: ran on", "says that it was a later one")
  tap.is(m.lost, true, "and that the device is lost")
end)

tap.case("of two verdicts the worse counts", function()
  local r, gpu, case = setup(1000, { max_error = 0, parent_penalty = 5 },
    { unset = 9, outside = 8 })
  gpu.after = function() for i = 1, 32 do case.output[i] = case.expected[i] end end
  local m = measure(r, WRONG)
  tap.is(m.max_error .. " " .. m.penalty, "3.0 3.0", "timing makes nothing right")
  gpu.after = function() for i = 1, 32 do case.output[i] = case.expected[i] + 3 end end
  m = measure(r, ONE_WRONG)
  tap.is(m.max_error .. " " .. m.penalty, "3.0 3.0", "no error larger, but more of them")
  tap.is(m.wrong, 1.0, "all of them")
end)

tap.case("several outputs are judged as one", function()
  local r, _, case = setup(1000)
  local second = { output = gi.array("i32", 8), expected = gi.array("i32", 8), compare = {} }
  case.also = { second }
  local function judged(first_off, second_off)
    measure(r, RIGHT)
    case.output[3] = case.output[3] + first_off
    second.output:fill(0)
    second.output[1] = second_off
    return r:judge()
  end
  local m = judged(5, 2)
  tap.is(m.n .. " " .. m.max_error, "40 5.0", "the largest error of the first")
  tap.near(m.wrong, 2 / 40, "two of all answers are wrong")
  tap.near(m.mean_error, 7 / 40, "by so much in the mean")
  tap.is(judged(2, 5).max_error, 5.0, "the largest of the second")
end)

tap.case("the unmodified kernel is timed beside the others, when its time is old", function()
  local now, real = 1000, core.system.seconds
  core.system.seconds = function() return now end -- luacheck: ignore
  local ok, why = pcall(function()
    local took = 0
    local r, gpu = setup(function(code)
      if code == OTHER.code then now = now + took end
      return code == OTHER.code and 2000 or 1000
    end)
    local function timed()
      gpu.timings = {}
      local m = measure(r, RIGHT, { baseline = OTHER })
      tap.is(m.baseline_ns, 2000, "its time comes with the mutant's")
      return #gpu.timings == 2
    end
    tap.ok(timed(), "first")
    tap.is(gpu.timings[1].how.stop_above_ns, nil, "it is never given up")
    tap.is(gpu.timings[1].how.min_samples, 30, "… with care, as if it took 0.1 ms")
    now = now + 0.09
    tap.ok(not timed(), "its time of a moment ago will do")
    now, took = now + 0.02, 0.05
    tap.ok(timed(), "after 0.1 s it does not")
    tap.is(gpu.timings[1].how.min_samples, 200, "now that it is known, half as long again")
    now = now + 0.45
    tap.ok(not timed(), "what took 50 ms is good for 500")
    now = now + 0.1
    tap.ok(timed(), "no longer")
    r:use(new_case())
    tap.ok(timed(), "another case, another time")
  end)
  core.system.seconds = real -- luacheck: ignore
  if not ok then error(why, 0) end
end)

tap.case("a baseline that cannot be timed is an error, not a mutant's fate", function()
  local r, gpu = setup(1000)
  gpu.after = function() return { status = "timeout", message = "stuck" } end
  tap.raises(function() measure(r, RIGHT, { baseline = OTHER }) end,
    "the unmodified kernel cannot be timed any more: stuck", "it says so")
end)

tap.case("pairs come in blocks, both loaded anew for each", function()
  local r, gpu = setup(function(code) return code == OTHER.code and 2000 or 1000 end)
  local found = r:pair(RIGHT, OTHER, { pairs = 50, launch_s = 1, timing = TIMING })
  tap.is(#found.a_ns .. " " .. #found.b_ns .. " " .. found.block, "50 50 3", "50 pairs by three")
  tap.is(found.a_ns[50] .. " " .. found.b_ns[50], "1000 2000", "each with its own times")
  tap.is(#gpu.rounds .. " " .. gpu.rounds[17].pairs, "17 2", "seventeen blocks, the last of two")
  local places = {}
  for _, round in ipairs(gpu.rounds) do places[round.loaded] = true end
  tap.ok(next(places, next(places)) ~= nil, "at places that differ")
  tap.is(gpu.loaded, 0, "all are closed again")
  gpu.pair_ends = { status = "illegal_address", message = "bad", lost = true }
  found = r:pair(RIGHT, OTHER, { pairs = 50, launch_s = 1, timing = TIMING })
  tap.is(found.status .. " " .. tostring(found.lost), "illegal_address true", "a failure ends it")
  tap.is(gpu.loaded, 0, "and nothing stays loaded")
end)

-- --- the farm ----------------------------------------------------------------------------------

-- What workers answer: every source compiles to itself (its PTX) and to itself without what is in
-- brackets (its machine code), runs, and takes what `ns` says of it.
local function answers(ns)
  local function measurement(source, baseline)
    local m = { status = "ok", max_error = 0, mean_error = 0, wrong = 0, unset = 0, n = 1,
                ns = ns(source), seconds = {} }
    m.baseline_ns = baseline and ns(baseline.code, m) or nil
    return m
  end
  return {
    probe = function()
      return { devices = { { device = "cuda:0", name = "fake GPU", clock_ghz = 2,
                             target = "sm_90" } } }
    end,
    compile = function(m)
      local results = {}
      for i, u in ipairs(m.units) do
        local hash = core.system.hash(u.source .. table.concat(m.options))
        results[i] = { code = u.source, hash = hash,
                       code_hash = core.system.hash((u.source:gsub("%b()", ""))) }
      end
      return { results = results }
    end,
    case = function() return { case = wire.encode {}, info = { name = "fake" } } end,
    run = function(m) return { measurement = measurement(m.mutant.code, m.baseline) } end,
    pair = function(m)
      local reply = { status = "ok", a_ns = {}, b_ns = {}, block = 2 }
      for i = 1, m.pairs do reply.a_ns[i], reply.b_ns[i] = ns(m.a.code), ns(m.b.code) end
      return reply
    end,
  }
end

local PROBLEM = { dir = "fake", kernel = "k", source = "", parameters = {}, loop_limit = 10,
  definition = {}, tolerance = { max_error = 0 } }
function PROBLEM.values() return {} end
function PROBLEM.compile_options() return {} end
function PROBLEM.prepared(_, case) return case end
PROBLEM.grammar = { names = function() return {} end, guard = function() return "" end }
function PROBLEM.grammar.apply(_, genome) return "source of " .. genome, { params = {} } end

--- A farm on a fake GPU, and its crew; f(farm, crew).
local function with_farm(ns, options, f)
  local real = crew.open
  local fake = fakegpu.crew(answers(ns))
  crew.open = function() return fake end
  local problem_of = options.problem or PROBLEM
  local ok, why = pcall(function()
    local farm <close> = gi.farm(problem_of, { device = "cuda", jobs = 1 })
    f(farm, fake)
  end)
  crew.open = real
  if not ok then error(why, 0) end
end

tap.case("ticks are those of the day the unmodified kernel was first timed", function()
  local slower = 1 -- what heat makes of every time
  local function ns(source)
    return slower * (source == "source of " and 1000 or source:find("half") and 500 or 900)
  end
  with_farm(ns, {}, function(farm)
    local m = farm:evaluate({ "", "half" }, { n = 1 })
    tap.is(m[1].ticks .. " " .. m[2].ticks, "2000.0 1000.0", "clocks of 2 GHz")
    slower = 1.25
    m = farm:evaluate({ "other", "half again" }, { n = 1 })
    tap.near(m[1].ticks, 1800, "900 ns, however hot it is")
    tap.near(m[2].ticks, 1000, "and 500")
    tap.near(m[1].ns, 1125, "what was measured stays what it was")
    local drift = farm:stats().baseline
    tap.is(drift.first_ns .. " " .. drift.last_ns, "1000 1250.0", "the drift is told")
    tap.is(drift.low_ns .. " " .. drift.high_ns .. " " .. drift.n, "1000 1250.0 4", "in full")
  end)
end)

tap.case("equal machine code runs once, whatever PTX it was made from", function()
  with_farm(function() return 1000 end, {}, function(farm)
    local m = farm:evaluate({ "", "x", "x(again)", "y", "(neutral)" }, { n = 1 })
    tap.is(farm:stats().runs, 3, "the unmodified kernel, x and y")
    tap.is(farm:stats().duplicates.code, 2, "two were spared")
    tap.is(tostring(m[2].cached) .. " " .. m[3].cached .. " " .. m[5].cached, "nil code code",
      "and say so")
  end)
end)

tap.case("equal code that is launched otherwise is another run", function()
  local tunable = setmetatable({ parameters = { { name = "block", default = 32 } } },
    { __index = PROBLEM })
  function tunable.values(_, params) return { block = params.block or 32 } end
  tunable.grammar = setmetatable({}, { __index = PROBLEM.grammar })
  function tunable.grammar.apply(_, genome)
    return "source of ", { params = { block = genome:match("block=(%d+)") } }
  end
  with_farm(function() return 1000 end, { problem = tunable }, function(farm)
    farm:evaluate({ "", "block=64", "block=128", "block=64" }, { n = 1 })
    tap.is(farm:stats().runs, 3, "32, 64 and 128 threads a block")
    tap.is(farm:stats().duplicates.genome, 2, "the first and the last came twice")
  end)
end)

tap.case("what mutants may use is ten times what the unmodified kernel does", function()
  local seconds
  local function ns() return seconds * 1e9 end
  for s, want in pairs { [0.001] = 1, [0.3] = 3 } do
    seconds = s
    with_farm(ns, {}, function(farm, fake)
      farm:evaluate({ "other" }, { n = 1 })
      local first, last
      for _, message in ipairs(fake.asked) do
        if message.op == "run" then first, last = first or message, message end
      end
      tap.is(first.launch_s, 10, "the unmodified kernel: ten seconds")
      tap.near(last.launch_s, want, ("others: %g s, of one that takes %g"):format(want, s))
      tap.is(first.baseline, nil, "it is not timed beside itself")
      tap.is(last.baseline.code, "source of ", "others are beside it")
    end)
  end
end)

tap.case("a comparison says how much faster the first is", function()
  with_farm(function(source) return source == "source of " and 1000 or 800 end, {}, function(farm)
    local c = farm:compare("faster", "", { n = 1 }, { pairs = 10 })
    tap.is(c.ratio, 1.25, "b's time over a's")
    tap.is(c.low .. " " .. c.high .. " " .. c.pairs, "1.25 1.25 10", "and how well it is known")
  end)
end)

tap.done()
