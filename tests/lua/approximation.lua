-- approximation: a kernel whose approximate functions err as far as the PTX ISA lets them is right
-- or wrong by that.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local KERNEL = [[
extern "C" __global__ void wave(int n, float step, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = step * i;
  if (i < n) y[i] = FAST ? __sinf(x) : sinf(x);
}
]]

local function problem(step)
  return gi.problem(scratch.problem(KERNEL, ([[{ source = "kernel.cu", kernel = "wave", size = 1000,
    tune_params = { FAST = { 0, 1 } }, tolerance = { max_error = 1e-5, wrong_above = 1e-5 },
    args = { { name = "n", type = "i32", value = "size_x" },
             { name = "step", type = "f32", value = %g },
             { name = "y", type = "f32", count = "n", role = "out" } } }]]):format(step)))
end

local function wrong(step, genome, device)
  local p = problem(step)
  return gi.approximation.wrong { problem = p, genome = genome, case = gi.own.case(p, 1, device),
    jobs = 1 }
end

tap.case("what an approximation may do to an answer decides", function()
  tap.is(wrong(0.005, "FAST=1"), nil, "up to 5 it is right within 2^-20.5")
  tap.has(tostring(wrong(100, "FAST=1")), "approximate functions that err away from zero",
    "up to 100000 it is not, whatever this GPU gives")
  tap.is(wrong(100, ""), nil, "what has none has nothing to fear")
  tap.has(tostring(wrong(100, "FAST=1", "cuda")), "approximate functions that err away from zero",
    "a case of a GPU is made by the virtual one here")
end)

tap.case("the virtual GPU gives them on demand", function()
  local p = problem(0.005)
  local errors = {}
  for way = 0, 3 do
    local farm <close> = gi.farm(p, { device = "emu", jobs = 1, approximation = way })
    errors[way] = farm:evaluate({ "FAST=1" }, gi.own.case(p, 1))[1].max_error
  end
  tap.ok(errors[0] < 2^-23, "the true value, rounded", errors[0])
  for way = 1, 3 do
    tap.ok(errors[way] > 2^-21 and errors[way] < 2^-20.4, "the bound", errors[way])
  end
end)

tap.done()
