-- associative: may a loop put the values of a variable together in another order? The rewritings
-- ask it, for an integer that adds fractions drops one in each iteration.

package.path = "tests/lua/?.lua;" .. package.path
local accumulators = require "gilua.facts.accumulators"
local associative = require "gilua.facts.associative"
local held = require "held"
local kernel = require "gilua.transform.kernel"
local reduction = require "gilua.facts.reduction"
local rewritten = require "rewritten"
local tap = require "tap"

local FRAME = [[
typedef int Number;
__device__ float part(float x) { return x * 0.5f; }
template <typename T>
__global__ void k(float *out, const float *a, const int *w, const T *v, int n)
{
  %s c = 0;
  for (int i = 0; i < n; i++) %s
  out[0] = c;
}
]]

-- The answers for a variable of a type: of the fact, of the accumulators, of the reductions.
local function answers(type, body)
  local loop = kernel.of_text(FRAME:format(type, body)).loops[1]
  local tree = loop.body.tree or loop.body.body.tree
  local fact = associative.of(loop.fn, type, tree.b) and true or false
  return { fact, #accumulators.list(loop) == 1, reduction.of(loop, "c") ~= nil }
end

local ROWS = {
  { "float", "c += a[i] * 0.5f;", true }, { "double", "c -= part(a[i]);", true },
  { "int", "c += w[i];", true }, { "int", "c += a[i] > 0.0f;", true },
  { "int", "c += (int)a[i];", true }, { "int", "c += __popc(w[i]) + i % 3;", true },
  { "int", "c += __ldg(&w[i]);", true }, { "int", "c += *(w + i);", true },
  { "long long", "c = c + w[i];", true },
  { "int", "c += a[i];", false }, { "int", "c += w[i] * 0.5f;", false },
  { "int", "c += a[i] > 0.0f ? a[i] : 0;", false }, { "int", "c -= part(a[i]);", false },
  { "int", "c += __ldg(&a[i]);", false }, { "int", "c += *(a + i);", false },
  { "long long", "c = c + a[i];", false }, { "int", "c *= 0.5f;", false },
  { "int", "c += abs(w[i]);", true }, { "int", "c += abs(a[i]);", false },
  { "int", "c += __mul24(w[i], i);", true }, { "int", "c += -a[i];", false },
  { "int", "c += max(a[i], 1.0f);", false },
}
tap.case("integers that drop a fraction in each iteration add in their order", function()
  for _, row in ipairs(ROWS) do
    local got = answers(row[1], row[2])
    for i, what in ipairs { "associative", "accumulators", "reduction" } do
      local is_product = i == 3 and row[2]:find "%*="
      if not is_product then
        tap.is(got[i], row[3], ("%s: %s %s"):format(what, row[1], row[2]))
      end
    end
  end
end)

tap.case("another name of an integer, and a type of a template", function()
  for _, answer in ipairs(answers("Number", "c += a[i];")) do tap.is(answer, false) end
  tap.is(answers("T", "c += a[i];")[3], false)
  tap.is(answers("T", "c += v[i];")[3], true)
  tap.is(answers("T", "c += T(v[i]) * v[0];")[3], true)
end)

local KERNELS = {
  { "a sum", "for (int i = 0; i < n; i++) c += a[t * 8 + i];" },
  { "a sum of a function's values", "for (int i = 0; i < n; i++) c -= part(a[t * 8 + i]);" },
  { "a product", "c = 1000; for (int i = 0; i < (n & 7); i++) c *= 0.5f;" },
  { "the greatest with its place", [[
  int at = -1; c = -99;
  for (int i = 0; i < n; i++) if (a[t + i] > c) { c = a[t + i]; at = i; }
  out[t + 128] = at;]] },
  { "lanes", [[
  int row = t / 32, lane = threadIdx.x & 31;
  for (int i = lane; i < n; i += 32) c += a[row * 64 + i];
  for (int o = 16; o > 0; o >>= 1) c += __shfl_xor_sync(0xffffffffu, c, o);]] },
  { "one thread", "if (threadIdx.x == 0) for (int i = 0; i < n; i++) c += a[i];" },
}
local HEAD = "__device__ float part(float x) { return x * 0.5f; }\n"
local BODY = [[
  int t = blockIdx.x * blockDim.x + threadIdx.x; %s c = 0;
  %s
  out[t] = c;]]
for _, one in ipairs(KERNELS) do
  tap.case("an integer's rewritings answer as it does: " .. one[1], function()
    for _, type in ipairs { "int", "long long" } do
      local source = HEAD .. rewritten.source(BODY:format(type, one[2]))
      local wrong = held.wrong(source, { grid = 2, block = 64, sizes = { 0, 1, 7, 37 },
        every = true })
      tap.is(table.concat(wrong, "; "), "", type)
    end
  end)
end

tap.done()
