-- Remainders under transformation: counters that loops carry along. What is made is right at every
-- size.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local kernels = require "gilua.transform.kernel"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local remainder = transform.find "remainder"

local right, refused = rewritten.judge { 0, 1, 7, 33, 61, 1000 }

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"

-- A body below the index of a thread, whose first line is line 4.
local function of(body) return rewritten.source(T .. body, "int") end

local function same(what, body, line, args, options)
  options = options or {}
  options.type = "i32"
  return right(what, remainder, of(body), line, args, options)
end

tap.case("counters", function()
  local text = same("a known divisor, and any step", [[
  for (int i = t; i < n; i += blockDim.x) {
    int row = i / 33; // each
    out[row * 64 + i % 33] = a[i];
  }]], 4, {})
  tap.has(text, [[
  int i_quotient = t / 33, i_rest = t % 33;
  const int quotient_step = blockDim.x / 33, rest_step = blockDim.x % 33;
  for (int i = t; i < n; i += blockDim.x) {
    int row = i_quotient; // each
    out[row * 64 + i_rest] = a[i];
    i_quotient += quotient_step;
    i_rest += rest_step;
    if (i_rest >= 33) { i_rest -= 33; i_quotient++; }
  }
]], "as a person would write it")
  text = same("one at a time, from zero, of one statement", [[
  int sum = 0;
  if (t < 50)
    for (int i = 0; i <= n; ++i)
      sum = sum * 3 + a[i % 61];
  out[t] = sum;]], 6, {})
  tap.has(text, "    {\n    int i_rest = 0;\n    for (int i = 0; i <= n; ++i) {", "in braces")
  tap.has(text, "i_rest += 1;\n      if (i_rest >= 61) i_rest -= 61;", "the rest alone")
  text = same("a step that numbers tell", [[
  for (int i = threadIdx.x & 31; i < 500; i += 5) out[i] = (i + t) % 5 + (i / 6) * 7 + i % 3;]],
    4, {})
  tap.has(text, "int i_rest = ((threadIdx.x & 31) + t) % 5;", "a sum")
  tap.has(text, "i_rest += 5;", "as much as the divisor")
  tap.has(text, "rest_step = 5 % 3", "more than it")
  same("a count of the loop around", [[
  for (int k = 0; k < 3; k++)
    for (unsigned i = k; i < (unsigned)n; i += 7u) {
      if (i > 300) break;
      out[i * 3 + k] = i / 10 * 100 + i % 10 + t % 1;
    }]], 5, {}, { grid = 1, block = 1 })
  local macros = "#define RADIUS 3\n#define SIDE (2 * RADIUS + 1)\n#define WRONG 2 * RADIUS\n"
  right("a macro that is a number", remainder, macros .. of [[
  for (int i = t; i < n; i += 64) out[i] = i / SIDE * 9 + i % SIDE;]], 7, {}, { type = "i32" })
  refused("one that is none where it stands", remainder, macros .. of [[
  for (int i = t; i < n; i += 64) out[i] = i / WRONG;]], 7, {}, "by nothing")
  same("64 bits", [[
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = i / 33 * 64 + i % 33;]], 4, {})
end)

tap.case("divisors of which nobody knows the sign", function()
  local body = [[
  int w = n % 12 - 4;
  for (int i = t; i < 900; i += 64) {
    if (w != 0)
      out[i] = i / w * 5 + i % w; // of w
  }]]
  local text = same("the loop twice", body, 5, {}, { sizes = { 0, 3, 4, 5, 6, 7, 11 } })
  tap.has(text, "  if (w > 0) {\n      int i_quotient = t / w, i_rest = t % w;\n", "once for such")
  tap.has(text, "  } else {\n      for (int i = t; i < 900; i += 64) {\n    if (w != 0)\n"
    .. "      out[i] = i / w * 5 + i % w; // of w\n", "once as it was")
  text = same("with a pragma and a barrier", [[
  __shared__ int row[32];
  #pragma unroll 1
  for (int i = 0; i < 40; i += 3) {
    row[threadIdx.x] = i;
    __syncthreads();
    if (n > 2) out[t] += row[31 - threadIdx.x] + i % n;
    __syncthreads();
  }]], 6, {})
  tap.has(text, "  if (n > 0) {\n      int i_rest = 0;\n      const int rest_step = 3 % n;\n"
    .. "      #pragma unroll 1\n      for (", "before the first loop, too")
  refused("a barrier, and a divisor of each thread's", remainder, of [[
  int w = t + a[t];
  for (int i = 0; i < 40; i += 3) {
    out[t] += i % w;
    __syncthreads();
  }]], 5, {}, "threads wait for each other")
  refused("shared memory", remainder, of [[
  for (int i = 0; i < 40; i += 3) {
    __shared__ int row[32];
    row[threadIdx.x] = i % n;
  }]], 4, {}, "declares shared memory")
end)

tap.case("loops that go on dividing", function()
  local function one(what, body, why, line)
    refused(what, remainder, "#define BELOW (1 - 9)\n" .. of(body), 1 + (line or 4), {}, why)
  end
  local below, within = "may be below zero", "change within"
  one("from what may be below zero", "  for (int i = n; i < 50; i++) out[i] = i % 7;", below)
  one("by what may be below zero", "  for (int i = t; i < 50; i += n) out[i] = i % 7;", below)
  one("a sum with such", "  for (int i = t; i < 50; i++) out[i] = (i + n) % 7;", "by nothing")
  one("an index that was made less", "  t -= 40;\n  for (int i = t; i < 50; i++) out[i] = i % 7;",
    below, 5)
  one("a number below zero", "  const int from = 3;\n  for (int i = BELOW; i < from; i++) "
    .. "out[i + 9] = i % 7;", below, 5)
  one("a cast of such", "  for (int i = (int)n; i < 50; i++) out[i] = i % 7;", below)
  one("twice itself", "  for (int i = t; i < 50; i++) out[i] = (i + i) % 7;", "by nothing")
  one("a divisor that has it", "  for (int i = t; i < 50; i++) out[i] = i % (7 + i);", "by nothing")
  one("a difference", "  for (int i = t - 1; i < 50; i++) out[i + 1] = i % 7;", below)
  one("downwards", "  for (int i = t; i >= 0; i--) out[i] = i % 7;", "count upwards")
  one("a small type", "  for (unsigned char i = t; i < 50; i++) out[i] = i % 7;", below)
  one("a divisor that changes", "  for (int i = t; i < 50; i++) { out[i] = i % n; n += 2; }",
    "by nothing")
  one("a divisor that the loop loads", "  for (int i = t; i < 50; i++) out[i] = i % a[i];",
    "by nothing")
  one("a divisor in memory", "  for (int i = t; i < 50; i++) out[i] = i % a[7];", "by nothing")
  one("a variable that the body moves", "  for (int i = t; i < 50; i++) { out[i] = i % 7; i++; }",
    within)
  one("a continue", "  for (int i = t; i < 50; i++) { if (i == n) continue; out[i] = i % 7; }",
    "continue")
  one("a power of two", "  for (int i = t; i < 50; i++) out[i] = i % 8;", "by nothing")
  one("floating numbers", "  for (int i = t; i < 50; i++) out[i] = i / 7.f;", "by nothing")
  one("no loop", "  out[t] = 5;", "no loop begins")
  tap.is(rewritten.found(remainder, of [[
  int x = t / n, y = t % n;
  for (int i = t; i < 50; i++) out[i] = i % 7 + x * y;]]), "5()",
    "where it is proposed")
  refused("an argument", remainder, of "", 3, { "2" }, "it is written remainder<LINE>()")
  local known = kernels.of_text(of "  for (int i = t; i < 50; i++) out[i] = i % 7;")
  known.options.open = function(line) return line ~= 4 end
  tap.is(#remainder.find(known), 0, "not where nothing may change")
end)

tap.done()
