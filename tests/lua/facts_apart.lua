-- apart: which accesses are of different memory, and what has to be promised where that is unknown.

package.path = "tests/lua/?.lua;" .. package.path
local apart = require "gilua.facts.apart"
local core = require "gilua.core"
local grammar = require "gilua.transform.grammar"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

local TEXT = [[
__device__ float pool[64]; __device__ float other[64]; __device__ float *where;
__constant__ float taps[4];
__shared__ float lines[32];
__device__ void f(float *p, float *q) { __shared__ float own[32]; own[0] = p[0]; q[0] = own[1]; }
__global__ void k(float *out, const float *a, float *__restrict__ r, int n)
{
  __shared__ float tile[32];
  extern __shared__ float s[];
  extern __shared__ int t[];
  float mine[4];
  out[0] = a[0] + r[0] + tile[0] + s[0] + t[0] + mine[0] + pool[0] + where[0] + taps[0] + lines[0];
}
]]

-- What is promised of a function's arrays: which no launch keeps, and which launches do.
local function promises(fn)
  local ours, hosts = {}, {}
  for _, pair in ipairs(apart.pairs(fn)) do
    table.insert(pair.ours and ours or hosts, pair.promise)
  end
  return ours, hosts
end

tap.case("two roots: yes, no or unknown", function()
  local known = kernel.of_text(TEXT)
  local k, f = known.by_name.k, known.by_name.f
  local function is(fn, a, b, answer)
    tap.is((apart.roots(fn, a, b)), answer, ("%s and %s"):format(a, b))
    tap.is((apart.roots(fn, b, a)), answer, ("%s and %s"):format(b, a))
  end
  is(k, "out", "out", false)
  is(k, "out", "a", nil)
  is(k, "out", "r", true)
  is(k, "out", "mine", true)
  is(k, "out", "tile", true)
  is(k, "out", "pool", nil)
  is(k, "out", "where", nil)
  is(k, "out", "taps", true)
  is(k, "pool", "other", true)
  is(k, "pool", "where", nil)
  is(k, "tile", "lines", true)
  is(k, "tile", "s", true)
  is(k, "s", "t", false)
  is(f, "p", "own", nil)
  is(f, "p", "q", nil)
end)

tap.case("unknown carries its sentence, and is promised only of what is understood", function()
  local k = kernel.of_text(TEXT).by_name.k
  tap.is(select(2, apart.roots(k, "out", "a")), "`out` and `a` are different memory", "sentence")
  tap.is(apart.promised(k, { root = "out" }, { root = "a" }), true, "by the host")
  tap.is(apart.promised(k, { root = "out" }, {}), false, "not of what is not understood")
  tap.is(apart.promised(k, { root = "s" }, { root = "t" }), false, "not against what is known")
  local ours, hosts = promises(k)
  tap.is(table.concat(ours, "; "), "`out` and `where` are different memory", "one of the file")
  tap.is(table.concat(hosts, "; "), "`a` and `out` are different memory; `out` and `pool` are "
    .. "different memory", "what launches decide")
  k = kernel.of_text("__global__ void k(float *x, float *y, float **rows)\n{\n  x[0] = y[0];\n"
    .. "  x[1] = y[1] + rows[0][1];\n}\n").by_name.k
  ours, hosts = promises(k)
  tap.is(table.concat(ours, "; "), "", "nothing of what is not understood")
  tap.is(table.concat(hosts, "; "), "`x` and `y` are different memory", "each pair once")
  k = kernel.of_text("__global__ void k(float *x, float *y)\n{\n  float s = x[0] + y[0];\n}\n")
    .by_name.k
  tap.is(#select(2, promises(k)), 0, "nothing where none is written")
end)

tap.case("what is taken for granted while a question is asked is noted", function()
  local k, kept = kernel.of_text(TEXT).by_name.k, {}
  local function taken(ask)
    local _, notes = apart.noting(ask)
    local list = {}
    for i, pair in ipairs(apart.pairs(k, notes)) do list[i] = pair[1] .. "-" .. pair[2] end
    return table.concat(list, " ") .. (notes.asked and "" or "not asked")
  end
  local function ask(a, b)
    return function() return apart.promised(k, { root = a }, { root = b }) end
  end
  tap.is(taken(ask("out", "a")), "a-out", "a pair that is unknown")
  tap.is(taken(ask("out", "r")), "", "not one that is proved, though it was asked")
  tap.is(taken(ask("out", "out")), "not asked", "an array and itself are no promise")
  tap.is(taken(ask("a", "pool")), "", "nor are two that are only read")
  tap.is(taken(function() end), "not asked", "nothing")
  for _, what in ipairs { "asked for", "kept" } do
    tap.is(taken(function() return apart.kept(kept, 1, ask("out", "pool")) end), "out-pool",
      "an answer that is " .. what)
  end
  tap.is(taken(function()
    pcall(apart.noting, function() error "stopped" end)
    return ask("out", "a")()
  end), "a-out", "a question that fails ends its own notes alone")
end)

-- What the genes of a kernel promise of arrays.
local function promised(head)
  local text = "__global__ void k(" .. head .. ", int n)\n{\n  int i = threadIdx.x;\n"
    .. "  for (int j = 0; j < n; j++)\n    y[i] += x[j];\n}\n"
  local g = grammar.of(assert(core.grammar.parse("k.cu", { text = text, kernel = "k" })))
  return g:genes("T:keep<4>()")[1].apart
end

tap.case("a kernel that promises it already has nothing to promise", function()
  tap.is(promised "float *y, const float *x", true, "unknown")
  tap.is(promised "float *__restrict__ y, const float *__restrict__ x", false, "proved")
end)

tap.done()
