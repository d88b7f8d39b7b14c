-- nothing and carried: what must hold where other threads do a loop's iterations: a thread without
-- one adds nothing, and no iteration asks for another's.

package.path = "tests/lua/?.lua;" .. package.path
local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local kernel = require "gilua.transform.kernel"
local nothing = require "gilua.facts.nothing"
local tap = require "tap"

local function read(body, before)
  return kernel.of_text((before or "") .. "__global__ void k(float *out, const float *a, int n)\n"
    .. "{\n  __shared__ float part[64];\n" .. body .. "\n}\n")
end

local LOOP = "for (int i = threadIdx.x; i < n; i += blockDim.x) { s += a[i]; most = a[i]; }\n"
local SUMS = "for (int i = threadIdx.x; i < n; i += blockDim.x) { s += a[i]; less -= a[i]; }\n"

tap.case("a thread without a round adds nothing, and shares add up", function()
  local function is(what, body, answer, before)
    local known = read(body, before)
    local fn = known.functions[#known.functions]
    local update
    for _, call in ipairs(effects.of(fn, fn.body).calls) do
      if call.name == "atomicAdd" then update = call.node end
    end
    tap.is(tostring(nothing.of(fn, update.args[2], { fn.loops[1].statement })),
      answer == "unknown" and "nil" or tostring(answer or false), what)
  end
  local function sum(what, first, value, answer, before)
    is(what, first .. LOOP .. "atomicAdd(out, " .. value .. ");", answer, before)
  end
  local ZERO = "float s = 0.0f, most = 0, q = 2;\n"
  sum("a sum from 0", ZERO, "s", true)
  sum("the last of a share", ZERO, "s - 2 * most", "unknown")
  is("products and differences of sums", "float s = 0, less = 0, q = 2;\n" .. SUMS
    .. "atomicAdd(out, -s * q - 2 * less);", true)
  local function shares(what, inside, value, answer, first)
    is(what, (first or "int s = 0, most = 0;\n")
      .. "for (int i = threadIdx.x; i < n; i += blockDim.x) { " .. inside .. " }\n"
      .. "atomicAdd(out, " .. value .. ");", answer)
  end
  shares("sums of whole numbers", "s += a[i]; most++;", "s + most", true)
  shares("the greatest of a share", "most = max(most, a[i]);", "most", nil)
  shares("the least, by an element of an array", "part[threadIdx.x] = min(part[3], a[i]);",
    "part[3]", "unknown", "part[threadIdx.x] = 0;\n")
  shares("a product", "s *= a[i];", "s", nil)
  shares("bits", "s |= 1;", "s", nil)
  shares("one number", "s = 1;", "s", "unknown")
  shares("what is added when it changes", "if (a[i] > 3) { atomicAdd(out, s); s = 1; } s++;", "s",
    "unknown")
  shares("what was found", "atomicMax(&part[0], a[i]);", "part[0]", nil, "part[0] = 0;\n")
  shares("an array of sums", "part[i & 7] += a[i];", "part[3]", true, "part[threadIdx.x] = 0;\n")
  shares("a square", "s += a[i];", "s * s", nil)
  shares("a square in two steps", "s += a[i];", "most", nil,
    "int s = 0, most = 0; if (n < 0) { most = s; most *= s; }\n")
  shares("a sum that is rounded", "f += a[i];", "(int)f", nil, "float f = 0;\n")
  shares("one of whole numbers that is cast", "s += a[i];", "(float)s", true)
  shares("a choice by a sum", "s += a[i];", "s > 3 ? s : 0", nil)
  shares("a choice by something else", "s += a[i];", "n > 3 ? s : 0", true)
  is("a sum that is cut", "float s = 0, less = 0;\n" .. SUMS
    .. "if (s < 0) s = 0;\natomicAdd(out, s);", nil)
  is("on a condition that has none", "float s = 0, less = 0;\n" .. SUMS
    .. "if (n < 9) s = 0;\natomicAdd(out, s);", true)
  sum("a product with what may be infinite", ZERO, "s * a[n]", nil)
  sum("with a quotient", ZERO, "s * (1.0f / n)", nil)
  sum("with a parameter", ZERO, "s * scale", nil, "__constant__ float scale;\n")
  sum("with a whole number", ZERO, "s * n", true)
  sum("with one that is cast", ZERO, "s * (float)n", true)
  sum("with another sum", ZERO, "most * s", nil)
  sum("with what is given something else", ZERO .. "q = a[n];\n", "s * q", nil)
  sum("multiplied before by what may be infinite", ZERO .. "s *= a[n];\n", "s", nil)
  sum("multiplied before by a number", ZERO .. "s *= q;\n", "s", true)
  sum("a sum with something else", ZERO, "s + q", nil)
  sum("from 1", "float s = 1, most;\n", "s", nil)
  sum("from what is loaded", "float s = a[n], most;\n", "s", nil)
  sum("from -0.0", "float s = -0.0f, most;\n", "s", true)
  sum("a parameter", ZERO, "n", nil)
  sum("a number", ZERO, "1", nil)
  sum("set before on a condition", ZERO .. "if (n > 2) s = 1;\n", "s", nil)
  sum("counted before", ZERO .. "s++;\n", "s", nil)
  sum("added to by another that is not 0", ZERO .. "most += q;\ns += most;\n", "s", nil)
  sum("the address of it is taken", ZERO .. "float *p = &s; *p = 1;\n", "s", nil)
  sum("a call that is not known", ZERO .. "touch(n);\n", "s", nil)
  sum("what lanes tell each other", ZERO, "__shfl_xor_sync(~0u, s, 1)", true)
  sum("what a function gives", ZERO, "half(s)", true,
    "__device__ float half(float x) { x += x; return 0.5f * x; }\n")
  sum("what it gives besides", ZERO, "more(s)", nil,
    "__device__ float more(float x) { return x + 1; }\n")
  sum("what it gives on a condition", ZERO, "some(s)", nil,
    "__device__ float some(float x) { if (x < 1) return 2; return x; }\n")
  sum("what a macro gives back", ZERO, "odd(s)", nil,
    "#define GIVE return 1;\n__device__ float odd(float x) { GIVE }\n")
  is("a shared array", "float s = 0, most = 0;\n" .. LOOP .. [[
  part[threadIdx.x] = s;
  for (int k = 32; k > 0; k /= 2) { part[threadIdx.x] += part[threadIdx.x + k]; }
  atomicAdd(out, part[0]);]], true)
  local function shared(what, behind, answer, before)
    is(what, "float s = 0, most = 0;\n" .. LOOP .. "part[threadIdx.x] = s;\n" .. behind
      .. "\natomicAdd(out, part[0]);", answer, before)
  end
  shared("one with something else by a pointer", "float *p = part + threadIdx.x; *p = 1;", nil)
  shared("by a pointer to an element", "float *p = &part[threadIdx.x]; p[0] += 1;", nil)
  shared("by a reference", "float (&z)[64] = part; z[3] = 1;", nil)
  shared("through what it points to itself", "*part = 1;", nil)
  shared("by a pointer that is loaded", "float *const *rows = (float **)a; rows[n][0] = 1;", nil)
  shared("an atomic sum of what is 0", "atomicAdd(&part[3], s);", true)
  shared("an atomic sum of what is not", "atomicAdd(&part[3], 1.0f);", nil)
  local ADDS = "__device__ void add(volatile float *p, int t) { p[t] += p[t + 32]; }\n"
  shared("a function that adds its elements", "add(part, threadIdx.x);", true, ADDS)
  shared("one that adds more", "add(part, threadIdx.x);", nil,
    (ADDS:gsub("p%[t %+ 32%]", "p[t + 32] + 1")))
  shared("one that does it by another name", "add(part, threadIdx.x);", nil,
    "__device__ void add(float *p, int t) { float *q = p + t; *q = 1; }\n")
  shared("one that hands it on", "go(part, threadIdx.x);", true,
    ADDS .. "__device__ void go(float *q, int t) { if (t < 3) add(q, t); }\n")
  is("one that has something else", "float s = 0, most = 0;\n" .. LOOP .. [[
  part[threadIdx.x] = s;
  part[3] = 1;
  atomicAdd(out, part[0]);]], nil)
end)

tap.case("an update that counts", function()
  local function is(what, body, name)
    local known = read("float s = 0, most;\n" .. LOOP .. body)
    local fn = known.functions[1]
    local call = nothing.counted(fn, { fn.loops[1].statement })
    tap.is(call and call.name, name, what)
  end
  is("a sum", "atomicAdd(out, s);", nil)
  is("a difference", "atomicSub(out, s);", nil)
  is("a number", "atomicAdd(out, 1.0f);", "atomicAdd")
  is("an exchange of 0", "atomicExch(out, s);", "atomicExch")
  is("a maximum is the same twice", "atomicMax((int *)out, 3);", nil)
end)

tap.case("what iterations tell each other", function()
  local function is(what, body, answer)
    tap.is((carried.of(read(body).loops[1])), answer, what)
  end
  local function of(what, inside, answer, behind)
    is(what, "float s = 0, x = 0; int k = 0;\nfor (int i = threadIdx.x; i < n; i += 64) {\n"
      .. inside .. "\n}\n" .. (behind or ""), answer)
  end
  of("nothing", "out[i] = a[i];", false)
  of("a sum", "s += a[i]; s -= 2;", false, "out[0] = s;")
  of("in more words", "if (i > 2) s = a[i] + s; x = fmaxf(a[i], x);", false, "out[0] = s;")
  of("a sum and a product", "s += a[i]; s *= 2;", nil)
  of("a sum as it stands", "s += a[i]; out[i] = s;", nil)
  of("a sum of itself", "s += s * a[i];", nil)
  of("the last one", "k = i;", nil, "out[0] = k;")
  of("the greatest, and where it is", "if (a[i] > x) { x = a[i]; k = i; }", nil, "out[0] = k;")
  of("one number, whoever sets it", "if (a[i] > 0) k = 1;", false, "out[0] = k;")
  of("two numbers", "k = 1; if (a[i] > 0) k = 2;", nil, "out[0] = k;")
  of("a value of its own", "x = a[i]; if (x > 0) out[i] = x;", false)
  of("one that is asked for behind it", "x = a[i]; if (x > 0) out[i] = x;", nil, "out[0] = x;")
  of("one that is given again behind it", "x = a[i]; if (x > 0) out[i] = x;", false,
    "x = 2; out[0] = x;")
  of("one that is given on a condition", "if (i > 2) x = a[i]; out[i] = x;", nil)
  of("one that is given on the other condition", "if (i > 2) x = a[i]; else out[i] = x;", nil)
  of("one that is given in braces", "if (i > 2) { x = a[i]; out[i] = x; } else out[i] = 1;", false)
  of("one that is given in the other braces", "if (i > 2) { x = a[i]; } else { out[i] = x; }", nil)
  of("one that is given in another case",
    "switch (n) { case 1: x = a[i]; break; case 2: out[i] = x; }", nil)
  of("one that is given by an inner loop", "while (n > 2) x = a[i]; out[i] = x;", nil)
  of("one that is given in an inner loop's head", "for (k = 0; k < 3; k++) out[i] += k;", false)
  of("one behind a jump to a label", "x = a[i]; next: out[i] = x;", nil)
  of("a loop that is left", "if (a[i] > 0) break;", nil)
  of("a loop whose variable goes on by more", "if (a[i] > 0) i += 64;", nil)
end)

tap.done()
