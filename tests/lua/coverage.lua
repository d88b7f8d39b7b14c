-- coverage: which lines of a kernel a case reaches.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local KERNEL = [[
#include "half.h"
extern "C" __global__ void k(const int *x, int *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] > 1000) {
    y[i] = x[i] * x[i] + 17;
    return;
  }
  int s = 0;
  for (int j = 0; j < x[i]; j++)
    s += half(j) ^ s * 3;
  y[i] = s;
}
]]

local function problem_of(fill)
  local folder = scratch.problem(KERNEL, ([[{ source = "kernel.cu", kernel = "k", size = 100,
    block_size_x = 32, args = { { name = "x", type = "i32", count = "n", fill = %s },
      { name = "y", type = "i32", count = "n", role = "out" },
      { name = "n", type = "i32", value = "size_x" } } }]]):format(fill))
  scratch.write(folder .. "/half.h",
    "static __device__ int half(int x)\n{\n\n\n\n\n  return x / 2;\n}\n")
  return gi.problem(folder)
end

local function never(fill)
  local problem = problem_of(fill)
  local found = assert(gi.coverage.of(problem, { seed = 1 }))
  return " " .. table.concat(found.never, " ") .. " ", found.seen
end

tap.case("lines that never run, and those that do", function()
  local lines, seen = never "{ 1, 20 }"
  tap.has(lines, " 7 ", "the branch for large numbers is not reached")
  tap.ok(seen[6] and seen[13], "its condition and the end are")
  tap.ok(not lines:find(" 12 "), "nor is the loop's body missed")
end)

tap.case("other data reach other lines", function()
  local lines, seen = never "{ 2000, 3000 }"
  tap.ok(seen[7] and not lines:find(" 7 "), "the branch")
  tap.has(lines, " 12 ", "and not the loop's body")
  lines = never "function(_, i) return i == 0 and 2000 or i end"
  tap.is(lines, "  ", "both: every line")
end)

tap.case("changes that right answers say nothing about", function()
  local problem = problem_of "{ 1, 20 }"
  local lines = gi.coverage.untested(problem, "<_kernel.cu_13> <_kernel.cu_7>")
  tap.is(table.concat(lines, " "), "7", "the line that is not reached")
  tap.is(#gi.coverage.untested(problem, "<_kernel.cu_13>"), 0, "none where all are")
end)

tap.case("a kernel that faults has no coverage, and why", function()
  local folder = scratch.problem(KERNEL:gsub('#include "half.h"', "#define half(x) ((x) / 2)"),
    [[{ source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32, args = {
      { name = "x", type = "i32", count = "size_x", fill = { 1, 20 } },
      { name = "y", type = "i32", count = "size_x", role = "out" },
      { name = "n", type = "i32", value = "size_x * 2" } },
      reference = function() end }]])
  local found, why = gi.coverage.of(gi.problem(folder), { seed = 1 })
  tap.is(found, nil, "none")
  tap.has(why, "out-of-bounds", "why")
end)

tap.case("a kernel that does not end is left at its limit, and not tried again", function()
  local before, runs = gi.coverage.most_instructions, 0
  gi.coverage.most_instructions = 2000
  local problem = problem_of "{ 1, 20 }"
  local compile = gi.compiler.compile
  gi.compiler.compile = function(...)
    runs = runs + 1
    return compile(...)
  end
  local found, why = gi.coverage.of(problem, { seed = 1 })
  gi.compiler.compile, gi.coverage.most_instructions = compile, before
  tap.is(found, nil, "none")
  tap.has(why, "the budget of 2000 warp instructions", "why")
  tap.is(runs, 1, "one run")
end)

tap.done()
