-- Arithmetic under transformation: narrower numbers, divisions.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local rewritten = require "rewritten"
local tap = require "tap"
local kernel = require "gilua.transform.kernel"
local transform = require "gilua.transform.transform"

local divide = transform.find "divide"

local right, refused = rewritten.judge({ 1, 33, 300 })

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"

tap.case("64 bits to 32", function()
  local source = 'extern "C" __global__ void k(float *out, const float *a, const float *b, '
    .. 'int n)\n{\n' .. [[
  const long long most = n;
  unsigned long seen = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < most; i += 64) {
    long long j = (long long)fabsf(a[i] * 2) % most;
    seen += (j + 7) % most;
    out[i] = b[(j + n) % most] + seen;
  }
}
]]
  local text = right("variables, casts, loops", "narrow", source, 1, {})
  tap.has(text, "unsigned int i = blockIdx.x * (unsigned int)blockDim.x", "the loop's")
  tap.has(text, "const int most = n;", "others")
  tap.is(text:find("long", 1, true), nil, "all of them")
  text = rewritten.text("narrow", "__global__ void f(long long *x, size_t n) {\n"
    .. "  for (size_t i = 0; i < n; i++) x[i] = (long long *)x != 0;\n}\n", 1)
  tap.has(text, "f(long long *x, size_t n)", "a kernel keeps its parameters")
  tap.has(text, "i < (unsigned int)n; i++) x[i] = (long long *)x", "and what pointers lead to")
  text = rewritten.text("narrow", "__global__ void f(int *x) {\n"
    .. "  if (((size_t)&x[1] | (size_t)x) & (size_t)x[2]) x[0] = 1;\n}\n", 1)
  tap.has(text, "((size_t)&x[1] | (size_t)x) & (unsigned int)x[2]", "an address keeps its bits")
  refused("nothing so wide", "narrow", rewritten.source(T), 1, {}, "no numbers of 64 bits")
  refused("an address", "narrow", "__global__ void f(long *x) {\n  long y = 0;\n"
    .. "  long *z = &y;\n  x[0] = *z;\n}\n", 1, {}, "the address of y")
end)

tap.case("divisions", function()
  local text = right("by what stays", divide, rewritten.source(T .. [[
  const float h = b[t] + 60.f;
  for (int i = t; i < n; i += 64)
    out[i] = (a[i] / h + 1.f) / (h + 1.f) / n + i / 7;]]), 5, {}, { limit = 1e-4 })
  tap.has(text, "  const float h_inverse = 1.0f / h;\n", "formed before")
  tap.has(text, "(a[i] * h_inverse + 1.f) * divisor_inverse * n_inverse + i / 7;",
    "not of integers")
  local function promise(statement, divisor)
    local source = rewritten.source(T .. "  const float h = " .. (divisor or "b[t] + 60.f") .. ";\n"
      .. "  for (int i = t; i < n; i += 64) { " .. statement .. " }")
    return divide.make(kernel.of_text(source), 5, {}).promise
  end
  tap.is(promise "out[i] = (float)i / h * sqrtf(a[i] / h);", nil, "what decides nothing")
  for cut, what in pairs { ["out[i] = b[(int)(a[i] / h)];"] = "a whole number",
                           ["out[i] = fmodf(a[i] / h, 2.f);"] = "what fmodf gives",
                           ["out[i] = a[i] / h >= 3.f;"] = "a comparison" } do
    tap.is(promise(cut), ("no quotient's last digit decides %s (line 5)"):format(what), cut)
  end
  local SUBNORMAL = "no divisor is a subnormal number (below 1.2e-38), whose reciprocal is infinite"
  local function normal(divisor, want)
    tap.is(promise("out[i] = a[i] / h;", divisor), want, divisor)
  end
  for _, divisor in ipairs { "n", "(float)n", "sqrtf(b[t])", "b[t] + 1e-6f", "fmaxf(b[t], 1e-12f)",
                             "3.5f" } do normal(divisor) end
  for _, divisor in ipairs { "b[t]", "b[t] * 2.f", "b[t] + b[0]", "b[t] + 1e-30f", "fabsf(b[t])",
                             "(float)(double)b[t]", "fminf(b[t], 1.f)" } do
    normal(divisor, SUBNORMAL)
  end
  tap.is(promise("out[i] = floorf(a[i] / h);", "b[t]"), SUBNORMAL
    .. ", and that no quotient's last digit decides what floorf gives (line 5)", "both")
  refused("by what changes", divide, rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) out[i] = a[i] / (1.f + i);]]), 4, {}, "divides by nothing")
end)

tap.done()
