-- What the virtual GPU says of a kernel's memory: innocent ones pass, guilty ones are found where
-- they are guilty.
--
-- A kernel's source is what follows `extern "C" __global__ void k`; lines are counted from 1 there,
-- and a mark //A, //B … names one of them.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local function line_of(text, mark)
  local before = text:match("^(.-)//" .. mark)
  return before and select(2, before:gsub("\n", "")) + 1
end

--- Compiles a kernel and launches it with every check on.
---@param source string
---@param args table[] of buffer options with an array as [1], or { type, value }
---@param o? table fields of the launch
local function launch(source, args, o)
  local dev = gi.device "emu"
  local code = assert(gi.compile('extern "C" __global__ void k' .. source,
    { target = "compute_90" }))
  local l = { grid = 1, block = 32, args = {}, count_uninitialised = true, check_races = true }
  for name, value in pairs(o or {}) do l[name] = value end
  for i, arg in ipairs(args) do
    local options = { read_only = arg.read_only, label = arg.label, initial = arg.initial }
    l.args[i] = type(arg[1]) == "string" and arg or dev:buffer(arg[1], options)
  end
  return assert(dev:load(code)):launch(l)
end

local function ints(n, fill)
  return gi.array("i32", n):fill(fill or 0)
end

tap.case("a read of what nobody wrote is told of once a line, where it was first", function()
  local source = [[
(int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 4) s[t] = t;
  __syncthreads();
  if (t > 1) y[t] = s[t]; //A
  if (t == 7) y[t] += s[t + 32]; //B
}]]
  local m = launch(source, { { ints(32) } }, { grid = 2 })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(m.uninitialised_reads, 2 * (28 + 1), "all are counted")
  tap.is(#(m.warnings or {}), 2, "two instructions")
  local a, b = m.warnings[1], m.warnings[2]
  tap.is(a.kind, "uninitialised_read", "what")
  tap.is(a.line .. " " .. a.count, line_of(source, "A") .. " 56", "line and count of the first")
  tap.is(a.thread[1] .. " " .. a.block[1], "4 0", "its first thread")
  tap.is(b.line .. " " .. b.count, line_of(source, "B") .. " 2", "… of the second")
  tap.has(a.message, "4 bytes that nobody wrote in shared memory at offset 0x10", "what and where")
  tap.has(a.message, "thread (4,0,0)", "who")
  tap.ok(a.ptx_line > 0, "the PTX line")
end)

tap.case("a kernel without a fault has no list of warnings", function()
  local m = launch("(int *y) { y[threadIdx.x] = 1; }", { { ints(32) } })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(m.warnings, nil, "none")
end)

tap.case("at most 16 instructions are told of", function()
  local lines = {}
  for i = 1, 20 do lines[i] = ("y[%d] = s[%d];\n__syncthreads();"):format(i, 2 * i) end
  local source = "(int *y) {\n__shared__ volatile int s[64];\n%s}"
  local m = launch(source:format(table.concat(lines, "\n")), { { ints(32) } }, { block = 1 })
  tap.is(m.uninitialised_reads, 20, "all are counted")
  tap.is(#m.warnings, 16, "the first are told of")
end)

local FAULTS = [[
(int *y, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  y[t + n] = t; //A
  if (t == 3) y[t] = *(int *)((char *)y + 6); //B
  s[t] = t;
  y[t] = s[t ^ 1]; //C
  if (t == 31) atomicAdd(y + 40, 1); //D
  if (n == 8) __trap(); //E
  y[t] = 5;
}]]

local function lines(faults)
  local list = {}
  for i, f in ipairs(faults) do list[i] = ("%s %d %d"):format(f.kind, f.line, f.count) end
  return table.concat(list, ", ")
end

tap.case("a launch goes on after faults where it is asked to", function()
  local y = ints(32)
  local function run(n, most)
    return launch(FAULTS, { { y }, { "i32", n } }, { grid = 2, max_faults = most })
  end
  local function line(mark) return line_of(FAULTS, mark) end
  local first = run(1)
  tap.is(lines(first.faults), ("illegal_address %d 1"):format(line "A"), "the first ends it")
  local m = run(1, 16)
  tap.is(lines(m.faults), ("illegal_address %d 2, misaligned %d 2, race %d 64, "
    .. "illegal_address %d 2"):format(line "A", line "B", line "C", line "D"),
    "else all are told of and counted")
  tap.is(m.status .. " " .. m.message, "illegal_address " .. first.message,
    "status and message are the first one's")
  tap.is(m.faults[1].message, first.message, "as in the list")
  tap.is(m.faults[2].thread[1], 3, "each with its thread")
  tap.is(y[32], 5, "the lanes go on")
  tap.is(#run(1, 2).faults, 2, "up to the limit")
  m = run(8, 16)
  tap.is(m.faults[#m.faults].kind .. " " .. #m.faults, "launch_error 5",
    "a trap ends it")
  tap.is(m.status, "illegal_address", "and is not the first")
  tap.raises(function() run(1, 17) end, "at most 16 faults", "the limit has a limit")
end)

tap.done()
