-- Arrays of floats of 16 and 8 bits: made, printed, compared, given to kernels as what they are.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

tap.case("elements are numbers", function()
  for name, want in pairs { f16 = "1.0 -2.5 65504.0 0.0999755859375",
                            bf16 = "1.0 -2.5 65536.0 0.10009765625",
                            e4m3 = "1.0 -2.5 448.0 0.1015625",
                            e5m2 = "1.0 -2.5 57344.0 0.09375" } do
    local a = gi.array.from({ 1, -2.5, 65504, 0.1 }, name)
    tap.is(table.concat(a:table(), " "), want, name)
    tap.has(tostring(a), name, "it says so")
    tap.is(#a:bytes(), name:find "16" and 8 or 4, "in as many bytes")
  end
end)

tap.case("fills are of numbers", function()
  for _, name in ipairs { "f16", "bf16", "e4m3", "e5m2" } do
    local a, whole = gi.array(name, 1000), true
    gi.rng(1):fill(a, -1, 1)
    for i = 1, #a do whole = whole and a[i] == math.floor(a[i]) and a[i] >= -1 end
    tap.ok(not whole, name .. " has fractions")
    gi.rng(2):mixed(a)
    local small, far = 0, 0
    for i = 1, #a do
      if math.abs(a[i]) <= 3 then small = small + 1 end
      if math.abs(a[i]) >= 192 then far = far + 1 end
    end
    tap.ok(small + far == 1000 and far > 0, "all sorts of numbers")
  end
end)

tap.case("comparisons are of values", function()
  for _, name in ipairs { "f16", "bf16", "e4m3", "e5m2" } do
    local a = gi.array.from({ 1, 2, 4, 8 }, name)
    local b = gi.array.from({ 1, 2.5, 4, 8 }, name)
    local c = gi.array.compare(a, b, { max_error = 0.25 })
    tap.is(c.max_error, 0.5, name .. ": the difference")
    tap.is(c.first_wrong, 2, "and where it is")
    tap.is(gi.array.compare(a, b, { max_error = 0.5 }).off, 0.0, "within a limit")
  end
end)

tap.case("a kernel reads and writes them", function()
  local code = assert(gi.compile([[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k(const __half *x, __nv_bfloat16 *y, __half factor) {
  int i = threadIdx.x;
  y[i] = __float2bfloat16(__half2float(x[i]) * __half2float(factor));
}]], { target = "compute_90" }))
  local device <close> = gi.device "emu"
  local x, y = gi.array("f16", 32), gi.array("bf16", 32)
  for i = 1, 32 do x[i] = i / 4 end
  local m = assert(device:load(code):launch { kernel = "k", grid = 1, block = 32,
    args = { device:buffer(x), device:buffer(y), { "f16", -2 } } })
  tap.is(m.status, "ok", m.message or "it runs")
  local wrong = 0
  for i = 1, 32 do wrong = wrong + (y[i] == -i / 2 and 0 or 1) end
  tap.is(wrong, 0, "what it stored, as numbers")
end)

tap.case("a problem's table has them", function()
  local p = gi.problem(scratch.problem([[
#include <cuda_fp16.h>
extern "C" __global__ void scale(int n, __half by, const __half *x, __half *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(__half2float(x[i]) * __half2float(by) + WRONG * 0.25f);
}
]], [[{ source = "kernel.cu", kernel = "scale", size = 1000, tune_params = { WRONG = { 0, 1 } },
    tolerance = { max_error = 0.01, wrong_above = 0.01 },
    args = { { name = "n", type = "i32", value = "size_x" },
             { name = "by", type = "f16", value = 2 },
             { name = "x", type = "f16", count = "n", fill = { -1, 1 } },
             { name = "y", type = "f16", count = "n", role = "out" } } }]]))
  local farm <close> = gi.farm(p, { device = "emu", jobs = 1 })
  local found = farm:evaluate({ "", "WRONG=1" }, gi.own.case(p, 1))
  tap.is(found[1].status, "ok", found[1].message or "it runs")
  tap.is(found[1].max_error, 0.0, "the kernel is right")
  tap.ok(math.abs(found[2].max_error - 0.25) < 0.002, "what is off by a quarter is",
    found[2].max_error)
end)

tap.done()
