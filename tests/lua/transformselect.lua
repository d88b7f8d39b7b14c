-- Conditions under transformation: an if that only assigns, without its branch, and a choice as an
-- if. What is made is right at every size.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local rewritten = require "rewritten"
local tap = require "tap"

local right, refused = rewritten.judge { 0, 1, 33, 300 }

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
local no = "cannot be formed where it is not wanted"

-- A body below the index of a thread, whose first line is line 4.
local function of(body, type) return rewritten.source(T .. body, type) end

tap.case("an if without its branch", function()
  local text = right("the nearest of several", "select", of [[
  float best = 1e30f;
  int nearest = -1;
  for (int i = 0; i < n; i++) {
    float d = a[i] - b[t];
    if (d < best) {
      best = d;
      nearest = i; // the first
    }
  }
  out[t] = best + nearest;]], 8)
  tap.has(text, [[
    const bool chosen = d < best;
    best = chosen ? d : best;
    nearest = chosen ? i : nearest;
  }
]], "the condition is asked once, before what it reads changes")
  text = right("one value", "select", of [[
  float x = a[t];
  if (x < 0.f) x = 0;
  out[t] = x;]], 5)
  tap.has(text, "\n  x = (x < 0.f) ? 0 : x;\n", "on one line")
  text = right("both sides of the same", "select", of [[
  float x;
  int y;
  if (a[t] > b[t]) { x = a[t] * 2.f; y = t; } else { x = b[t]; y = n; }
  out[t] = x - y;]], 6)
  tap.has(text, "x = chosen ? x_then : x_else;", "one variable")
  tap.has(text, "y = chosen ? t : n;", "and the other")
  text = right("sides of different ones", "select", of [[
  float x = 1.f, y = 2.f;
  if (a[t] > b[t]) x = y; else { y = x + 5.f; x += 3.f; }
  out[t] = x - y;]], 5)
  tap.has(text, "x = chosen ? y : x;\n", "a variable that a side leaves as it is")
  text = right("what an assignment reads that another made", "select", of [[
  float x = 1.f, y = 2.f;
  if (a[t] > 0.f) { x = y; y = x + 1.f; x *= y + 2.f; --y; }
  out[t] = x - y;]], 5)
  tap.has(text, "const float y_then_too = y - 1;", "names")
  text = right("below a loop, in braces", "select", of [[
  float x = 0.f;
  for (int i = 0; i < n; i++)
    if (i % 3 == 1) x += i * 0.5f;
  out[t] = x;]], 6)
  tap.has(text, [[
    {
        const float x_then = x + (i * 0.5f);
        x = (i % 3 == 1) ? x_then : x;
    }
]], "what is declared")
  text = right("behind a case", "select", of [[
  float x = 0.f;
  switch (t % 3) {
    case 1:
      if (n > 5) x = t + 1;
      break;
    default: x = 2.f;
  }
  out[t] = x;]], 7)
  tap.has(text, "      {\n          const float x_then = t + 1;\n", "not beside the next case")
end)

tap.case("types as in an assignment", function()
  local text = right("narrower, wider, and without a sign", "select", of([[
  int x = n * 16777 - 12345, f = 3;
  unsigned char c = n;
  unsigned int u = t;
  bool seen = false;
  if (a[t] > 0) { x = 2.9f; c = 300; f += 1.75; u = -1; seen = true; }
  out[t] = x + c + f + (u > 5u) + seen * 7;]], "int"), 8, {}, { type = "i32" })
  tap.has(text, "x = chosen ? (int)2.9f : x;", "the variable's own stays whole")
  tap.has(text, "c = chosen ? (unsigned char)300 : c;", "a small one")
  tap.has(text, "seen = chosen ? true : seen;", "a truth")
  right("a typedef and a macro", "select", "typedef float real;\n#define NUMBER float\n" .. of [[
  real x = a[t];
  NUMBER y = b[t];
  if (x < y) { x = y; y = x * x; }
  out[t] = x + y;]], 8)
end)

tap.case("values that are formed anyway", function()
  local text = right("an element that the condition loads", "select", of [[
  float top = -1e30f;
  for (int i = 0; i < n; i++)
    if (a[i] > top) top = a[i];
  out[t] = top;]], 6)
  tap.has(text, "const float top_then = a[i];", "loaded once more")
  right("one of shared memory", "select", of [[
  __shared__ float s[32];
  unsigned int x = t > 3 ? 1u : 2u;
  s[threadIdx.x] = a[t];
  __syncthreads();
  for (int i = 0; i < 32; i++)
    if (s[i] > 0.f && n > 3) x = s[i] * x;
  out[t] = x;]], 9)
  right("one that was loaded before", "select", of [[
  float x = 0.f, y = a[t] + b[t + 1];
  if (y > 0.f) x = a[t] * y;
  out[t] = x;]], 5)
  right("a division by a number", "select", of([[
  int x = 0;
  if (a[t] > 0) x = n / 7 + n % 4;
  out[t] = x;]], "int"), 5, {}, { type = "i32" })
  local function one(what, body, line, why)
    refused(what, "select", of(body), line or 5, {}, why or no)
  end
  one("an element that only the if loads", "  float x = 0.f;\n"
    .. "  if (t < n) x = a[t];\n  out[t] = x;")
  one("an element that && keeps", "  float x = 0.f;\n"
    .. "  if (t < n && a[t] > 0.f) x = a[t];\n  out[t] = x;")
  one("an element at another place since", "  float x = a[t]; t += 5;\n"
    .. "  if (t < n) x = a[t];\n  out[t] = x;")
  one("an element at a place that the if makes", "  float x = a[t];\n"
    .. "  if (x > 0.f) { t = n; x = a[t]; }\n  out[t] = x;")
  one("an address that was formed", "  float x = 0.f; const float *p = &a[t * n];\n"
    .. "  if (t < n) x = a[t * n];\n  out[t] = x + *p;")
  one("a division by what may be zero", "  int x = 0;\n  if (n > 0) x = t / n;\n  out[t] = x;")
  one("a remainder of its own", "  int x = t;\n  if (n > 0) x %= n;\n  out[t] = x;")
  one("what lanes tell each other", "  float x = 0.f;\n"
    .. "  if (t < 5) x = __shfl_sync(__activemask(), a[t], 0);\n  out[t] = x;")
  one("a variable of shared memory", "  float x = 0.f;\n  __shared__ float y;\n"
    .. "  if (t < 5) x = y;\n  out[t] = x;", 6)
  one("a reference that is read", "  float x = 0.f;\n  float &y = out[n];\n"
    .. "  if (t < 5) x = y;\n  out[t] = x;", 6)
  one("a value with an effect", "  float x = 0.f;\n  if (t < 5) x = n++;\n  out[t] = x;")
  local plain = "does more than to assign"
  one("a store", "  float x = 0.f;\n  if (t < n) out[t] = x;", nil, plain)
  one("shared memory", "  __shared__ float x;\n  if (t == 5) x = 1.f;\n  out[t] = x;", nil, plain)
  one("a reference", "  float &x = out[t];\n  if (t == 5) x = 1.f;\n", nil, plain)
  one("one whose address is known", "  float x = 0.f, *p = &x;\n"
    .. "  if (t == 5) x = 1.f;\n  out[t] = *p;", nil, plain)
  one("a declaration", "  float x = 0.f;\n  if (t == 5) { int y = t; x = y; }\n  out[t] = x;", nil,
    plain)
  one("a way out", "  float x = 0.f;\n  if (t == 5) return;\n  out[t] = x;", nil, plain)
  one("a variable without a value", "  float x;\n  if (t == 5) x = 1.f;\n  if (t == 5) out[t] = x;",
    nil, "may have no value")
  one("no if", "  float x;\n  x = 1.f;\n  out[t] = x;", nil, "no if begins there")
  refused("a function of the file", "select", "__device__ int f(int x) { return 7 / x; }\n" .. of(
    "  int x = 0;\n  if (n > 0) x = f(n);\n  out[t] = x;"), 6, {}, no)
  refused("one of a known name", "select", "__device__ int max(int x) { return 7 / x; }\n" .. of(
    "  int x = 0;\n  if (n > 0) x = max(n);\n  out[t] = x;"), 6, {}, no)
  refused("a macro of more than a number", "select", "#define PART (t / n)\n" .. of(
    "  int x = 0;\n  if (n > 0) x = PART;\n  out[t] = x;"), 6, {}, no)
  refused("another argument", "select", of "", 3, { "2" }, "it is written select<LINE>()")
end)

tap.case("a choice as an if", function()
  local text = right("an element", "select", of [[
  out[t] = a[t] > 0.f ? sqrtf(a[t]) : b[t];]], 4, { "if" })
  tap.has(text, "  if (a[t] > 0.f) out[t] = sqrtf(a[t]);\n  else out[t] = b[t];\n", "both sides")
  text = right("a declaration", "select", of [[
  const float x = (t < n) ? a[t] : 0;
  out[t] = x;]], 4, { "if" })
  tap.has(text, "  float x;\n  if (t < n) x = a[t];\n  else x = 0;\n", "without its const")
  text = right("one that stays as it is", "select", of [[
  float x = 1.f;
  if (t > 3)
    x = a[t] > 0.f ? x : b[t];
  else x = 5.f;
  out[t] = x;]], 6, { "if" })
  tap.has(text, "    {\n        if (!(a[t] > 0.f)) x = b[t];\n    }\n", "and the else's own if")
  text = right("the type of both", "select", of([[
  double x = n;
  int i = a[t] * 16777 + 1;
  x += i > 5 ? i : 0.5f;
  out[t] = x;]], "int"), 6, { "if" }, { type = "i32" })
  tap.has(text, "if (i > 5) x += (float)i;", "as in the choice")
  local function one(what, body, why)
    refused(what, "select", of(body), 4, { "if" }, why)
  end
  one("a place with an effect", "  out[n++] = t > 3 ? 1.f : 2.f;", "effects of its own")
  one("part of a sum", "  out[t] = 1.f + (t > 3 ? 1.f : 2.f);", "no statement there assigns")
  one("a head of a loop", "  for (int i = t > 3 ? 1 : 2; i < n; i++) out[t] += i;", "no statement")
  one("unknown types", "  out[t] = t > 3 ? a[t] : *b;", "its words do not tell")
  tap.is(rewritten.found("select", of [[
  float x = t > 3 ? a[t] : b[t];
  if (x > 5.f) x = sqrtf(x);
  if (x > 5.f) out[0] = sqrtf(x);
  if (x > 5.f) x = 1.f; else x += n * 2 + 1;
  if (x > 5.f) x = 1.f; else x += n * 2;
  out[t] = x > n ? x : 1.f;]]), "4(if) 5() 7() 9(if)",
    "proposed where an if has enough to do, and at choices")
end)

tap.done()
