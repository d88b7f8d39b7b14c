-- bench: kernels that are run to learn about them run in a worker, and this process launches none.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local kerneltable = require "gilua.problem.kerneltable"
local scratch = require "scratch"
local tap = require "tap"
local tape = require "tape"

local PTX = [[
.version 7.0
.target sm_90
.address_size 64
.visible .entry k()
{
	ret;
}
]]

local KERNEL = [[
extern "C" __global__ void k(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] * 1.5f;
}
]]

local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32, args = {
  { name = "x", type = "f32", count = "size_x", fill = %s },
  { name = "y", type = "f32", count = "size_x", role = "out" },
  { name = "n", type = "i32", value = "size_x" } } }]]

local function problem_of(fill, text)
  return gi.problem(scratch.problem(KERNEL, text or TABLE:format(fill or "{ 0, 1 }")))
end

-- Processes that this one has started.
local function children()
  local pipe <close> = assert(io.popen(("pgrep -x -P %d gilua"):format(core.system.pid())))
  local list = {}
  for pid in pipe:lines() do list[#list + 1] = pid end
  return list
end

core.device.refuse_launches()

tap.case("this process launches nothing", function()
  local device <close> = assert(gi.device "emu")
  local module <close> = assert(device:load(PTX))
  tap.raises(function() module:launch { kernel = "k", grid = 1, block = 32, args = {} } end,
    "not run in gilua's own process", "no launch")
  tap.raises(function() gi.device "cuda" end, "a GPU is opened in a worker", "nor opens a GPU")
  local path = tap.folder() .. "/a.rec"
  scratch.write(path, tape.recording(20))
  local r <close> = gi.recording.open(path)
  local result, refused = r.file:replay(require "gilua.base.gpu.h200", {})
  tap.is(result, nil, "no replay")
  tap.has(tostring(refused), "not run in gilua's own process", "and why")
end)

tap.case("yet kernels are run, in a worker", function()
  local problem = problem_of()
  local out, m = kerneltable.run(problem, { seed = 1 })
  tap.is(#out.y, 100, "once: " .. tostring(m))
  tap.is(m.status, "ok", "with its measurement")
  local case = problem:case { seed = 1 }
  tap.is(gi.array.compare(case.expected, out.y, {}).max_error, 0, "as the reference")
  tap.ok(gi.precision.limits(problem, { { seed = 1 } }).y.rel_error, "in double precision")
  tap.is(gi.otherseeds.run(problem, 1), 7, "with other data")
  tap.is(#gi.coverage.of(problem, { seed = 1 }).never, 0, "with marks at its lines")
  tap.is(problem:mutant(""):errors().off, 0, "as a mutant of the prompt")
  local back = kerneltable.run(problem, { seed = 1 }, { backwards = true })
  tap.is(gi.array.compare(back.y, out.y, {}).max_error, 0, "backwards")
end)

tap.case("recordings are replayed there", function()
  local path = tap.folder() .. "/a.rec"
  scratch.write(path, tape.recording(20))
  local r <close> = gi.recording.open(path)
  local found = assert(r:replay())
  tap.is(found.status, "ok", "as they were")
  tap.is(found.reads[1].bytes, r:blob(found.reads[1].name), "with what they copy out")
  local other = {}
  for module in pairs(r:modules_of { [r.kernels[1].name] = true }) do
    other[module] = r:module(module):gsub("\n\tst%.global[^\n]*", "")
  end
  local changed = assert(r:replay { code = other })
  local read
  for _, one in ipairs(changed.reads) do read = read or not one.same and one end
  tap.ok(read and #read.bytes == #r:blob(read.name) and read.bytes ~= r:blob(read.name),
    "or with other code")
  local none, why = r:replay { code = { [next(other)] = "no PTX" } }
  tap.is(none, nil, "what cannot be run is not")
  tap.ok(type(why) == "string" and #why > 0, "and why: " .. tostring(why))
end)

-- A fill of Lua, which runs where the case is made.
local function fill_that(does)
  return ("function(_, i) %s return i end"):format(does)
end

tap.case("what ends the worker is reported in a sentence", function()
  local problem = problem_of(fill_that
    [[require("gilua.core").library.open("libc.so.6"):call("abort", {})]])
  local function run() return kerneltable.run(problem, { seed = 1 }) end
  tap.is(scratch.sentence(run), "the kernel ended the process that ran it: the worker was killed "
    .. "by signal 6 (Aborted)", "by a signal")
  tap.has(scratch.sentence(gi.coverage.of, problem, { seed = 1 }),
    "the problem's code ended the process that ran it: the worker was killed by signal 6", "a case")
  tap.is(#kerneltable.run(problem_of(), { seed = 1 }).y, 100, "the next one runs")
end)

tap.case("what does not end is ended", function()
  local base, per = gi.bench.base_s, gi.bench.per_s
  gi.bench.base_s, gi.bench.per_s = 0.2, 1e12
  local said = scratch.sentence(kerneltable.run, problem_of(fill_that "while true do end"),
    { seed = 1 })
  gi.bench.base_s, gi.bench.per_s = base, per
  tap.has(tostring(said), "the kernel took too long: no answer within 0.2", "by its time")
end)

tap.case("a worker that somebody kills is replaced", function()
  local problem = problem_of()
  local before = kerneltable.run(problem, { seed = 1 })
  for _, pid in ipairs(children()) do os.execute("kill -9 " .. pid) end
  local after = kerneltable.run(problem, { seed = 1 })
  tap.is(gi.array.compare(after.y, before.y, {}).max_error, 0, "and does the work")
end)

tap.case("a failure of the problem's code is its sentence, and the worker stays", function()
  kerneltable.run(problem_of(), { seed = 1 })
  local before = table.concat(children(), " ")
  local problem = problem_of(fill_that [[require("gilua.base.fail")("no data for %d", i)]])
  tap.has(scratch.sentence(kerneltable.run, problem, { seed = 1 }), "no data for 0", "the sentence")
  tap.is(table.concat(children(), " "), before, "the same processes")
end)

tap.case("a problem that is written anew is read anew", function()
  local folder = scratch.problem(KERNEL, TABLE:format "1")
  tap.is(kerneltable.run(gi.problem(folder), { seed = 1 }).y[1], 1.5, "before")
  scratch.write(folder .. "/problem.lua", "return " .. TABLE:format "2")
  tap.is(kerneltable.run(gi.problem(folder), { seed = 1 }).y[1], 3.0, "after")
end)

tap.done()
