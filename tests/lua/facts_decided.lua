-- decided: what the last digit of a quotient decides, if anything.

package.path = "tests/lua/?.lua;" .. package.path
local decided = require "gilua.facts.decided"
local expression = require "gilua.source.expression"
local kernel = require "gilua.transform.kernel"
local statement = require "gilua.source.statement"
local tap = require "tap"

local HEAD = "__device__ float own(float q) { return q > 1.f; }\n"
  .. "__global__ void k(float *out, const float *a, int *n, float4 *v, float h)\n{\n"

-- What the quotients by h decide in a body, and on which of its lines.
local function of(body, head)
  local known, nodes = kernel.of_text((head or HEAD) .. body .. "\n}\n"), {}
  local fn = known.functions[#known.functions]
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs(statement.trees(s)) do
      expression.walk(tree, function(node)
        if node.kind == "binary" and node.op == "/" then nodes[#nodes + 1] = node end
      end)
    end
  end
  local what, line = decided.of(fn, nodes)
  return what, line and line - select(2, (head or HEAD):gsub("\n", "\n"))
end

local function is(body, want) tap.is((of(body)), want, body) end

tap.case("sums, products and continuous functions decide nothing", function()
  is("out[0] = a[0] / h;", nil)
  is("out[0] = sqrtf(a[0] / h) * 2.f - fmaxf(1.f, a[1] / h);", nil)
  is("float q = a[0] / h, s = 0.f; s += q * q; out[0] = std::exp(-s);", nil)
  is("auto q = a[0] / h; double d = (double)q; out[0] = float(d);", nil)
  is("v[0].x = a[0] / h; v[1] = make_float4(a[0] / h, 0, 0, 0);", nil)
  is("atomicAdd(&out[0], a[0] / h);", nil)
  is("float q = a[0] / h; out[0] = a[1] < h ? q : -q; if (n[0] > 3) out[1] = q;", nil)
  is("float q = a[0] / h; out[n[0]] = q; int m = n[1] >> 1; out[m] = q;", nil)
end)

tap.case("what is compared, cut or unknown", function()
  is("if (a[0] / h >= 3.f) out[0] = 1.f;", "a comparison")
  is("float q = a[0] / h; out[0] = 1.f + q < 2.f ? 1.f : 0.f;", "a comparison")
  is("float q = a[0] / h; bool b = out[0] == q; n[0] = b;", "a comparison")
  is("float q = 0.f; for (int i = 0; q < 3.f; i++) q += a[i] / h;", "a comparison")
  is("float q = a[0] / h; if (q) out[0] = 1.f;", "a condition")
  is("float q = a[0] / h; out[0] = q && n[0];", "a condition")
  is("float q = a[0] / h; out[0] = !q;", "a condition")
  is("out[0] = a[(int)(a[0] / h)];", "a whole number")
  is("int c = a[0] / h; out[0] = c;", "a whole number")
  is("n[0] = a[0] / h;", "a whole number")
  is("out[0] = unsigned(a[0] / h);", "what unsigned gives")
  is("out[0] = static_cast<long>(a[0] / h);", "a whole number")
  for _, name in ipairs { "floorf", "std::ceil", "truncf", "roundf", "rint", "fmodf", "remainderf",
                          "__float2int_rd", "own", "isinf", "ilogbf" } do
    is(("out[0] = %s(a[0] / h, 2.f);"):format(name), ("what %s gives"):format(name:match "[%w_]+$"))
  end
  is("modff(a[0] / h, &out[0]);", "what is not understood")
end)

tap.case("on its way through variables and memory", function()
  is("float q[2]; q[0] = a[0] / h; if (q[1] > 0.f) out[0] = 1.f;", "a comparison")
  is("out[0] = a[0] / h; __syncthreads(); if (out[1] > 0.f) n[0] = 1;", "a comparison")
  is("float *p = out; *p = a[0] / h; if (out[1] > 0.f) n[0] = 1;", "a comparison")
  is("float s[2]; float &r = s[0]; r = a[0] / h; if (s[1] > 0.f) n[0] = 1;", "a comparison")
  is("__shared__ float s[1]; atomicAdd(s, a[0] / h); if (s[0] > 0.f) n[0] = 1;", "a comparison")
  is("float q = a[0] / h, r = __shfl_down_sync(~0u, q, 1); n[0] = r;", "a whole number")
  is("float s, c; __sincosf(a[0] / h, &s, &c); out[0] = c; if (s > 0.f) n[0] = 1;", "a comparison")
  is("float s, c; sincosf(a[0] / h, &s, &c); out[0] = c * s;", nil)
  is("v[0].x = a[0] / h; if (v[0].x > 0.f) n[0] = 1;", "a comparison")
  tap.is(select(2, of("out[0] = a[0] / h;\nfloat q = out[0];\nn[0] = q > 1.f;")), 3, "the line")
end)

tap.case("a type or a caller that nobody knows", function()
  tap.is(of("out[0] = a[0] / h;", "template <class T> __global__ void k(T *out, T *a, T h)\n{\n"),
    "a value of a type that is not known", "a template's")
  tap.is(of("return a[0] / h;", "__device__ float f(const float *a, float h)\n{\n"),
    "what its callers do", "what a function returns")
  tap.is(of("[&] { out[0] = a[0] / h; }();"), "what is not understood", "a lambda")
end)

tap.done()
