-- precision: tolerances from what single precision costs.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 64, block_size_x = 32, args = {
  { name = "x", type = "%s", count = "size_x * 100" },
  { name = "y", type = "%s", count = "size_x", role = "out" } } }]]

local function tolerance(source, type, out)
  local problem = gi.problem(scratch.problem(source, TABLE:format(type, out or type)))
  return gi.precision.tolerance(problem, { seed = 1 })
end

-- y = what f makes of 100 elements of x each
local function kernel(type, sum, before)
  return ([[%s
extern "C" __global__ void k(const %s *x, %s *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  %s
}
]]):format(before or "", type, type, sum)
end

local SUM = "float s = 0.0f; for (int j = 0; j < 100; j++) s += x[100 * i + j]; y[i] = s;"

tap.case("a sum in single precision may be added in another order", function()
  local allowed, how = tolerance(kernel("float", SUM), "f32")
  tap.has(how, "single and double precision differ by", "how it was found")
  local differ, largest = how:match("differ by (%S+) where the largest answer is (%S+)")
  tap.ok(allowed >= 10 * differ * 0.9 and allowed <= 10 * differ * 2.1,
    ("ten times the rounding error, up to one digit: %g of %s"):format(allowed, differ))
  tap.ok(tonumber(largest) > 40 and tonumber(largest) < 70, "a hundred numbers from 0 to 1")
  local problem = gi.problem(scratch.problem(kernel("float",
    "float s = 0.0f; for (int j = 99; j >= 0; j--) s += x[100 * i + j]; y[i] = s;"),
    TABLE:format("f32", "f32")))
  local forward = gi.problem(scratch.problem(kernel("float", SUM), TABLE:format("f32", "f32")))
  local a, b = gi.kerneltable.run(problem, { seed = 2 }), gi.kerneltable.run(forward, { seed = 2 })
  local difference = gi.array.compare(a.y, b.y, {}).max_error
  tap.ok(difference > 0 and difference <= allowed,
    ("backwards on other data: %g is within %g"):format(difference, allowed))
end)

tap.case("functions and literals become double too", function()
  local _, how = tolerance(kernel("float", "y[i] = sqrtf(x[i]) * 0.1f + fmaxf(x[i], 1e-3f);"),
    "f32")
  tap.has(how, "single and double precision differ by", "the doubled kernel runs")
  local allowed = tolerance(kernel("float", "y[i] = x[i];"), "f32")
  tap.ok(allowed > 0 and allowed < 1e-6, "where nothing is rounded, a little of the largest answer")
end)

tap.case("every literal, wherever it stands, and nothing but code", function()
  local small = "#define LESS(x) ((x) - .09999f) /* 'f' */\n"
  local text = "if (x[i] < 0) printf(\"float 1.5f sinf\"); y[i] = LESS(.1f);"
  local allowed, how = tolerance(kernel("float", text, small), "f32")
  tap.has(how, "single and double precision differ by", "the doubled kernel runs")
  tap.ok(allowed > 1e-9, ("what .1f - .09999f loses in single precision: %g"):format(allowed))
end)

tap.case("whole numbers must be equal", function()
  local allowed, how = tolerance(kernel("int", "y[i] = x[i];"), "i32")
  tap.is(allowed, 0, "no error is allowed")
  tap.has(how, "must be equal", "and why")
end)

tap.case("whole numbers beside rounded ones have no say", function()
  local problem = gi.problem(scratch.problem([[extern "C" __global__ void k(float *x, int *n) {
      x[threadIdx.x] += 0.1f; n[threadIdx.x] = 1000000; }]], [[{ source = "kernel.cu",
    kernel = "k", size = 32, block_size_x = 32, args = {
      { name = "x", type = "f32", count = 32, role = "inout" },
      { name = "n", type = "i32", count = 32, role = "out" } } }]]))
  tap.ok(gi.precision.tolerance(problem, { seed = 1 }) < 1e-5, "the tolerance is that of x")
end)

tap.case("doubles", function()
  local allowed, how = tolerance(kernel("double", "y[i] = 3 * x[i];"), "f64")
  tap.ok(allowed > 1e-12 and allowed < 1e-11, "2^-40 of the largest answer: " .. allowed)
  tap.has(how, "2^-40", "and how")
end)

tap.case("a kernel that cannot run in double precision gets a guess that says so", function()
  local allowed, how = tolerance(kernel("float",
    "y[i] = __int_as_float(__float_as_int(x[i]) & ~1) + only_float(x + i);",
    "static __device__ float only_float(const float *p) { return __uint_as_float("
    .. "*(const unsigned *)p); }\nstatic_assert(sizeof(float) == 4, \"four\");"), "f32")
  tap.has(how, "GUESS: 1e-5 of the largest answer", "a guess")
  tap.ok(allowed > 1e-6 and allowed < 1e-4, "of that size")
end)

tap.case("a kernel that does not run at all is a sentence", function()
  tap.has(scratch.sentence(tolerance, kernel("float", "y[i + 1000] = x[i];"), "f32"),
    "illegal_address", "it says why")
end)

tap.done()
