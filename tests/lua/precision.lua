-- precision: tolerances from what rounding does to each output.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 64, block_size_x = 32, args = {
  { name = "x", type = "%s", count = "size_x * 100" },
  { name = "y", type = "%s", count = "size_x", role = "out" } } }]]

local function problem_of(source, type, out)
  return gi.problem(scratch.problem(source, TABLE:format(type, out or type)))
end

-- The limits of y: how far an answer of this size may be off, and where that is from.
local function limits(source, type, out)
  local l = gi.precision.limits(problem_of(source, type, out), { { seed = 1 } }).y
  return function(size) return (l.max_error or 0) + (l.rel_error or 0) * size end, l.how, l
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
local BACKWARDS =
  "float s = 0.0f; for (int j = 99; j >= 0; j--) s += x[100 * i + j]; y[i] = s;"

tap.case("a sum in single precision may be added in another order", function()
  local allowed, how, l = limits(kernel("float", SUM), "f32")
  tap.has(how, "single and double precision differ by", "how it was found")
  local differ, largest = how:match("differ by (%S+) where the largest answer is (%S+)")
  tap.ok(allowed(50) >= 10 * differ * 0.5 and allowed(50) <= 10 * differ * 3,
    ("ten times the rounding error: %g of %s"):format(allowed(50), differ))
  tap.ok(tonumber(largest) > 40 and tonumber(largest) < 70, "a hundred numbers from 0 to 1")
  tap.ok(l.rel_error < 1e-5, "a share of the answer: " .. l.rel_error)
  local a = gi.kerneltable.run(problem_of(kernel("float", BACKWARDS), "f32"), { seed = 2 })
  local b = gi.kerneltable.run(problem_of(kernel("float", SUM), "f32"), { seed = 2 })
  local seen = gi.array.compare(a.y, b.y, { max_error = l.max_error, rel_error = l.rel_error })
  tap.ok(seen.max_error > 0 and seen.off == 0,
    ("backwards on other data: %g is within it"):format(seen.max_error))
end)

tap.case("each field of a struct has its own", function()
  local source = [[
struct Head { int n; float by; };
struct P { char kind; float3 at; int id; double mass; };
extern "C" __global__ void k(P *p, Head h, const float **rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= h.n) return;
  float s = 0;
  for (int j = 0; j < 100; j++) s += rows[i][j] * h.by;
  p[i].at.y = s;
  p[i].mass = sqrt(p[i].mass);
  p[i].id += 1;
}
]]
  local text = [[{ source = "kernel.cu", kernel = "k", size = 64, block_size_x = 32, args = {
    { name = "p", type = "struct", count = "size_x", role = "inout", fields = {
      { "kind", "i8" }, { "at", "f32", each = 3, fill = 0.1 }, { "id", "i32" },
      { "mass", "f64", at = 24 } } },
    { name = "h", type = "struct", fields = { { "n", "i32", "size_x" }, { "by", "f32", 0.3 } } },
    { name = "rows", type = "struct", count = "size_x", fields = {
      { "*", "f32", count = 100 } } } } }]]
  local found = gi.precision.limits(gi.problem(scratch.problem(source, text)), { { seed = 1 } })
  tap.has(found["p.at"].how, "single and double precision differ by", "of the floats")
  tap.ok(found["p.at"].rel_error < 1e-5, "a little")
  tap.ok((found["p.mass"].rel_error or 1) < 1e-11, "of the doubles less")
  tap.is(found["p.id"], nil, "of whole numbers none")
  local dir = scratch.problem(source:gsub("struct P [^\n]*", '#include "p.h"'), text)
  scratch.write(dir .. "/p.h", source:match "struct P [^\n]*\n")
  local other = gi.precision.limits(gi.problem(dir), { { seed = 1 } })
  tap.has(other["p.at"].how, "an ulp of the inputs", "else by the inputs")
  tap.ok(other["p.at"].rel_error and other["p.at"].rel_error > 1e-7, "those in structs, too")
end)

tap.case("functions and literals become double too", function()
  local _, how = limits(kernel("float", "y[i] = sqrtf(x[i]) * 0.1f + fmaxf(x[i], 1e-3f);"), "f32")
  tap.has(how, "single and double precision differ by", "the doubled kernel runs")
  local _, _, l = limits(kernel("float", "y[i] = x[i];"), "f32")
  tap.is(tostring(l.max_error), "nil", "where nothing is rounded, 0 is 0")
  tap.ok(l.rel_error > 0 and l.rel_error < 1e-6, "and else a little of each answer")
end)

tap.case("every literal, wherever it stands, and nothing but code", function()
  local small = "#define LESS(x) ((x) - .0999f) /* 'f' */\n"
  local text = "if (x[i] < 0) printf(\"float 1.5f sinf\"); y[i] = LESS(.1f);"
  local allowed, how = limits(kernel("float", text, small), "f32")
  tap.has(how, "single and double precision differ by", "the doubled kernel runs")
  tap.ok(allowed(1e-4) > 1e-9, ("what .1f - .0999f loses: %g"):format(allowed(1e-4)))
end)

tap.case("the names of headers stay: float.h is no double.h", function()
  local _, how = limits(kernel("float", "y[i] = x[i] < FLT_MAX ? 0.1f * x[i] : 0.f;",
    "#include <float.h>\n"), "f32")
  tap.has(how, "single and double precision differ by", "the doubled kernel runs")
end)

tap.case("whole numbers must be equal", function()
  local found = gi.precision.limits(problem_of(kernel("int", "y[i] = x[i];"), "i32"), { {} })
  tap.is(next(found), nil, "no error is allowed")
end)

tap.case("each output by itself: counts of thousands, distances below 1", function()
  local problem = gi.problem(scratch.problem([[
extern "C" __global__ void k(float *far, float *near, int *n) {
  int i = threadIdx.x;
  float f = far[i], d = near[i];
  far[i] = f * 1000.1f + 0.3f, near[i] = d * 0.1f, n[i] = (int)f; }]], [[{ source = "kernel.cu",
    kernel = "k", size = 32, block_size_x = 32, args = {
      { name = "far", type = "f32", count = 32, role = "inout", fill = { 1000, 9000 } },
      { name = "near", type = "f32", count = 32, role = "inout" },
      { name = "n", type = "i32", count = 32, role = "inout" } } }]]))
  local found = gi.precision.limits(problem, { { seed = 1 }, { seed = 2 } })
  tap.is(found.n, nil, "whole numbers have none")
  tap.ok(found.near.rel_error < 1e-5 and (found.near.max_error or 0) < 1e-8,
    "what the distances may differ by is theirs")
  tap.ok(found.far.rel_error < 1e-5, "and of the counts")
  tap.has(found.far.how, "where the largest answer is", "with its figures")
end)

tap.case("answers near zero whose terms are large are off by what is absolute", function()
  local allowed, _, l = limits(kernel("float",
    "y[i] = 0.1f + x[i] * 10.0f - (0.1f + x[i + 64] * 10.0f);"), "f32")
  tap.ok(l.max_error and l.max_error > 1e-7 and l.max_error < 1e-4,
    "an absolute part: " .. tostring(l.max_error))
  tap.ok(allowed(0) < 1e-4, "of the terms' rounding")
end)

tap.case("doubles: inputs that are an ulp off", function()
  local _, how, l = limits(kernel("double", "y[i] = 3 * x[i];"), "f64")
  tap.ok(l.rel_error >= 2.0 ^ -40 and l.rel_error < 1e-11, "2^-40 of each answer: " .. l.rel_error)
  tap.has(how, "an ulp of the inputs", "and how")
  tap.is(how:match "double precision", nil, "it has no floats to be doubled")
  local allowed = limits(kernel("double", "y[i] = 1e6 * (x[i] - 0.5);"), "f64")
  tap.ok(allowed(0) > 1e-10 and allowed(0) < 1e-8, "what an ulp becomes is allowed: " .. allowed(0))
end)

local BITS = kernel("float", "y[i] = __int_as_float(__float_as_int(x[i] * 3.f) & ~1);",
  "static_assert(sizeof(float) == 4, \"four\");")

tap.case("a kernel that cannot run in double precision is run on inputs an ulp off", function()
  local allowed, how = limits(BITS, "f32")
  tap.has(how, "an ulp of the inputs, and another order of blocks, make", "how")
  tap.has(how, "; in double precision it cannot be run (it does not compile", "and why")
  tap.is(how:match "GUESS", nil, "which is no guess")
  tap.ok(allowed(1) > 1e-6 and allowed(1) < 1e-4, "of that size: " .. allowed(1))
end)

tap.case("a kernel that does not end in double precision is left at its limit", function()
  local before = gi.precision.most_instructions
  gi.precision.most_instructions = 100000
  local _, how = limits(kernel("float", "float e = 1; while (sizeof(e) == 8 && e < x[i] * 1e9f) "
    .. "e *= 1.0f; y[i] = x[i] * 3.f + 0.1f;"), "f32")
  gi.precision.most_instructions = before
  tap.has(how, "in double precision it cannot be run (timeout: the budget of 100000", "it is said")
  tap.has(how, "an ulp of the inputs", "and found out otherwise")
end)

tap.case("sums by atomics are added in another order too", function()
  local source = kernel("double", "atomicAdd(y, x[i] * 1e5 + 1.0 / 3);")
  local problem = gi.problem(scratch.problem(source, [[{ source = "kernel.cu", kernel = "k",
    size = 2048, block_size_x = 32, args = {
      { name = "x", type = "f64", count = 2048, fill = "index" },
      { name = "y", type = "f64", count = 1, fill = 0, role = "inout" } } }]]))
  local a = gi.kerneltable.run(problem, { seed = 1 })
  local b = gi.kerneltable.run(problem, { seed = 1 }, { backwards = true })
  tap.ok(a.y[1] ~= b.y[1] and math.abs(a.y[1] / b.y[1] - 1) < 1e-12,
    "the last block first: another sum of the same")
  local how = gi.precision.limits(problem, { { seed = 1 } }).y.how
  tap.ok(tonumber(how:match "make (%S+)") > 0, "whole numbers stay, and the order shows: " .. how)
end)

tap.case("what is as large as the answers is no tolerance, but a guess that says so", function()
  local _, how, l = limits(kernel("float",
    "y[i] = (__float_as_uint(x[i] * 3.f + 0.1f) & 1) ? 400.f : 0.25f;"), "f32")
  tap.has(how, "GUESS: 1e-5 of an answer", "a guess")
  tap.has(how, "could not tell wrong from right", "why")
  tap.is(l.rel_error, 1e-5, "a little of each answer")
  tap.ok(l.max_error < 0.01, "and never of their size: " .. l.max_error)
end)

tap.case("answers that are no numbers", function()
  local _, how, l = limits(kernel("float", "y[i] = sqrtf(-1.f - x[i]);"), "f32")
  tap.has(how, "GUESS: no answer is a finite number", "all of them")
  tap.is(tostring(l.max_error) .. " " .. tostring(l.rel_error), "nil nil", "nothing else is right")
  _, how = limits(kernel("float", "y[i] = i % 4 ? 0.1f * x[i] : sqrtf(-1.f - x[i]);"), "f32")
  tap.has(how, "single and double precision differ", "some of them")
  tap.has(how, "GUESS: 25 % of the answers are not finite", "are told")
end)

tap.case("a kernel that does not run at all is a sentence", function()
  tap.has(scratch.sentence(limits, kernel("float", "y[i + 1000] = x[i];"), "f32"),
    "illegal_address", "it says why")
end)

--------------------------------------------------------------------------------------------------
-- In what gilua new writes

local function rows_of(source)
  local folder = tap.folder()
  scratch.write(folder .. "/k.cu", source)
  gi.newproblem.write(folder .. "/k.cu", folder .. "/k", { quiet = true })
  local rows = {}
  for line in tap.read(folder .. "/k/problem.lua"):gmatch "[^\n]+" do
    local name = line:match 'role = "%a+"' and line:match 'name = "(%w+)"'
      or line:match '^      { "(%w+)"'
    if name then rows[name] = line end
  end
  return rows
end

local MAIN = [[
int main() {
  const int n = 3000;
  %s
  k<<<(n + 63) / 64, 64>>>(%s, n);
}
]]

tap.case("gilua new writes them beside each output, with where they are from", function()
  local rows = rows_of([[
__global__ void k(const float *x, float *sum, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { sum[i] = x[i] * 0.1f + 3.3f; count[i] = i; }
}
]] .. MAIN:format("float *x, *s; int *c; cudaMalloc(&x, n * sizeof(float));"
    .. "cudaMalloc(&s, n * sizeof(float)); cudaMalloc(&c, n * sizeof(int));", "x, s, c"))
  tap.has(rows.sum, "rel_error = ", "a share of a float")
  tap.has(rows.sum, "single and double precision differ by", "with its source")
  tap.is(rows.count:match "_error", nil, "none of whole numbers")
end)

local STRUCT = [[
struct Item { %s };
__global__ void k(Item *items, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { items[i].%s += 0.1f; }
}
]] .. MAIN:format("Item *d; cudaMalloc(&d, n * sizeof(Item));", "d")

tap.case("each field of a struct that is written has its own", function()
  local fields = rows_of(STRUCT:format("float weight; int id; double mass; float2 at;", "weight"))
  tap.has(fields.items, 'type = "struct", count = "n", role = "inout", fields = {', "a struct")
  tap.has(fields.weight, "rel_error = ", "of floats")
  tap.has(fields.mass, '{ "mass", "f64", rel_error = ', "of doubles")
  tap.is(fields.id:match "_error", nil, "none of whole numbers")
  tap.has(fields.at, '{ "at", "f32", each = 2, ', "a vector is two")
end)

tap.done()
