-- What the compiler and the assembler are told is a gene where a problem has parameters `math` and
-- `ptxas`: what becomes of answers and ticks, and what cannot be meant.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local KERNEL = [[
#include <math.h>
extern "C" __global__ void k(float *y, const float *x, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = sqrtf(x[i]) / (1.0f + __expf(x[i]));
}
]]

local function problem(values, source)
  return gi.problem(scratch.problem(source or KERNEL, ([[{ source = "kernel.cu", kernel = "k",
    size = 1000, block_size_x = 64, tolerance = { max_error = 1e-6 },
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
      { name = "x", type = "f32", count = "size_x", fill = { 0.5, 2 } },
      { name = "n", type = "i32", value = "size_x" } },
    tune_params = { math = { %s } } }]]):format(values)))
end

tap.case("each value is told to the compiler, and judged like any gene", function()
  local p = problem '"precise", "ftz", "division", "fast"'
  local usual = table.concat(p:compile_options(p:values ""), " ")
  tap.is(table.concat(p:compile_options { math = "division" }, " "),
    usual .. " -prec-div=false -prec-sqrt=false", "division")
  local farm <close> = gi.farm(p, { jobs = 1 })
  local m = farm:evaluate({ "", "math=precise", "math=division", "math=fast" }, { seed = 1 })
  for _, one in ipairs(m) do tap.is(one.status, "ok", one.genome .. ": it runs") end
  tap.is(m[2].ptx_hash, m[1].ptx_hash, "precise is the kernel as it is")
  tap.ok(m[3].ticks < m[1].ticks, "division: fewer ticks")
  tap.ok(m[4].ptx_hash ~= m[3].ptx_hash, "fast is more than that")
  tap.ok(m[4].max_error < 1e-6, "its answers are as good as the problem wants")
end)

tap.case("the assembler is told, and the PTX is as it was", function()
  local folder = scratch.problem(KERNEL, [[{ source = "kernel.cu", kernel = "k",
    size = 100, block_size_x = 64, args = { { name = "y", type = "f32", count = "size_x",
      role = "out" }, { name = "x", type = "f32", count = "size_x" },
      { name = "n", type = "i32", value = "size_x" } },
    tune_params = { ptxas = { "default", "dlcm_cg", "registers_32" } } }]])
  local p = gi.problem(folder)
  tap.has(table.concat(p:compile_options { ptxas = "registers_32" }, " "),
    "-Xptxas=-maxrregcount=32", "its registers")
  local farm <close> = gi.farm(p, { jobs = 1 })
  local m = farm:evaluate({ "", "ptxas=dlcm_cg" }, { seed = 1 })
  tap.is(m[2].status, "ok", "it runs")
  tap.is(m[2].ptx_hash, m[1].ptx_hash, "the virtual GPU has no assembler")
end)

tap.case("what means nothing is said", function()
  local ok, why = pcall(problem, '"precise", "quick"', KERNEL:gsub("#[^\n]*", ""))
  tap.ok(not ok, "no such value")
  tap.has(tostring(why), "math is one of division, fast, ftz, precise, not 'quick'", "it says so")
end)

tap.case("nor is a value that somebody types taken for another", function()
  local p = problem '"precise", "fast"'
  local ok, why = pcall(p.compile_options, p, { math = "quick" })
  tap.ok(not ok, "no such value")
  tap.has(tostring(why), "math is one of division, fast, ftz, precise, not 'quick'", "it says so")
end)

tap.case("a macro of the kernel's own by that name is that macro", function()
  local source = "#define math 2\n" .. KERNEL:gsub("1%.0f", "math")
  local p = gi.problem(scratch.problem(source, [[{ source = "kernel.cu", kernel = "k",
    size = 100, block_size_x = 64,
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
      { name = "x", type = "f32", count = "size_x" }, { name = "n", type = "i32",
      value = "size_x" } }, tune_params = { math = { 2, 3 } } }]]))
  tap.is(#p:compile_options { math = 3 }, #p:compile_options { math = 2 }, "no option of it")
end)

tap.done()
