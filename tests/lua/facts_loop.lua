-- loop: what the head of a loop counts, how often it goes round, and what ends it.

package.path = "tests/lua/?.lua;" .. package.path
local halved = require "gilua.facts.halved"
local kernel = require "gilua.transform.kernel"
local loop_of = require "gilua.facts.loop"
local tap = require "tap"

local function loops_of(body)
  return kernel.of_text("#define FOUR 4\n#define BY_I (x + i)\n__constant__ int c[4];\n"
    .. "__global__ void k(float *out, const int *a, int n, int m)\n{\n" .. body .. "\n}\n").loops
end

tap.case("how many iterations a counted loop has", function()
  local function is(head, trips)
    tap.is(loops_of("for (" .. head .. ") out[0] = 0;")[1].trips, trips, head)
  end
  is("int i = 0; i < 8; i++", 8)
  is("int i = 0; i <= 8; i++", 9)
  is("int i = 8; i < 8; i++", 0)
  is("int i = 8; i <= 8; i++", 1)
  is("int i = 9; i <= 8; i++", 0)
  is("int i = 8; i >= 8; i--", 1)
  is("int i = 8; i > 8; i--", 0)
  is("int i = 7; i >= 8; i--", 0)
  is("int i = 7; i >= 0; --i", 8)
  is("int i = 0; i < 8; i += 3", 3)
  is("int i = 0; i < 9; i += 3", 3)
  is("int i = 0; i < 10; i = i + 3", 4)
  is("int i = 0; i < 10; i = 3 + i", 4)
  is("int i = 10; i > 0; i = i - 3", 4)
  is("int i = 10; i > 0; i -= 5", 2)
  is("int i = 0; i <= FOUR; i += 3", nil)
  is("int i = 10; 0 < i; i -= 5", 2)
  is("int i = 0; 8 >= i; i++", 9)
  is("n = 0; n < 8; n++", 8)
  is("int i = 0; i < 8; i -= 1", nil)
  is("int i = 0; i > -8; i++", nil)
  is("int i = 0; i < 8; i += 0", nil)
  is("int i = 0; i != 8; i++", nil)
  is("int i = 0; i < n; i++", nil)
  is("int i = n; i < 8; i++", nil)
  is("int i = 0; i < 8; i += n", nil)
  is("int i = 0, j = 0; i < 8; i++", nil)
  is("int j = 0; n < 8; n++", nil)
  is("m = 0; n < 8; n++", nil)
  is("n += 2; n < 8; n++", nil)
  is("int i = 0; i < 8; i = 3 - i", nil)
  is("int i = 0; i < 8; i = n + 1", nil)
  is("int i = 0; i < 8; i = i * 2", nil)
  is("int i = 0; i < 8; i *= 2", nil)
  is("int i = 0; i < 8; n++", nil)
  is("int i = 0; i < 8; out[0]++", nil)
end)

tap.case("what is a loop that counts", function()
  local function is(head, want)
    local loop = loops_of("for (" .. head .. ") out[0] = 0;")[1]
    local words = { loop.counted and "counts" or "no", loop.variable or "-", loop.type or "-",
      loop.relation or "-", loop.sign or "-", loop.step or "-", loop.declares and "own" or "-" }
    tap.is(table.concat(words, " "), want, head)
  end
  is("int i = 0; i < n; i++", "counts i int < 1 1 own")
  is("unsigned i = n; i >= 2; i -= 2", "counts i unsigned >= -1 -2 own")
  is("n = 0; m > n; n = n + m", "counts n int < 1 - -")
  is("; n < m; n++", "counts n int < 1 1 -")
  is("const int *p = a; p < a + n; p++", "no p - < 1 - own")
  is("auto &i = n; i < m; i++", "no i - < 1 - own")
  is("; c[0] < m; c[0]++", "no - - - - - -")
  is("; x < m; x++", "no x - < 1 1 -")
end)

tap.case("what leaves a loop, and what goes on", function()
  local function is(body, want)
    local loop = loops_of("for (int i = 0; i < n; i++) {\n" .. body .. "\n}\nend: ;")[1]
    local words = {}
    for _, name in ipairs { "breaks", "continues", "leaves", "balanced", "writes_variable",
      "invariant", "simple" } do
      if loop[name] then words[#words + 1] = name end
    end
    tap.is(table.concat(words, " "), want, body)
  end
  is("out[i] = 0;", "balanced invariant simple")
  is("if (a[i]) break;", "breaks balanced invariant")
  is("if (a[i]) continue;", "continues balanced invariant simple")
  is("if (a[i]) out[i] = 0; else break;", "breaks balanced invariant")
  is("while (m--) { if (a[i]) break; continue; }", "balanced invariant simple")
  is("do { break; } while (0);", "balanced invariant simple")
  is("for (;;) break;", "balanced invariant simple")
  is("switch (a[i]) { case 1: break; }", "balanced invariant simple")
  is("switch (a[i]) { case 1: continue; }", "continues balanced invariant simple")
  is("if (a[i]) return;", "leaves balanced invariant")
  is("if (a[i]) goto end;", "leaves balanced invariant")
  is("while (m--) return;", "leaves balanced invariant")
  is("on: out[i] = 0;", "leaves balanced invariant")
  is("i += a[i];", "balanced writes_variable invariant")
  is("int *p = &i; *p = 2;", "balanced writes_variable invariant")
  is("n--;", "balanced")
  is("printf(\"\");", "balanced")
  is("\n#if A\nout[i] = 0;\n#endif", "balanced invariant simple")
  is("\n#if A\nout[i] = 0;\n#else\n#endif", "balanced invariant simple")
  is("\n#endif\nout[i] = 0;\n#if A", "invariant")
  is("\n#else\nout[i] = 0;", "invariant")
  is("\n#if A\nout[i] = 0;", "invariant")
end)

tap.case("a bound or a step that stays the same", function()
  local function is(head, body, answer)
    tap.is(loops_of("__shared__ int s[4];\nfor (int i = 0; " .. head .. ") {" .. body .. "}")[1]
      .invariant or false, answer, head .. " " .. body)
  end
  is("i < n; i++", "out[i] = 0;", true)
  is("i < a[n]; i++", "m = a[i];", true)
  is("i < out[n]; i++", "out[i] = 0;", false)
  is("i < a[n]; i++", "s[i] = 0;", true)
  is("i < s[n]; i++", "s[i] = 0;", false)
  is("i < s[n]; i++", "m = s[i];", true)
  is("i < s[n]; i++", "__syncthreads();", false)
  is("i < a[n]; i++", "__syncthreads();", true)
  is("i < n + i; i++", "out[i] = 0;", false)
  is("i < n++; i++", "out[i] = 0;", false)
  is("i < __shfl_sync(-1, n, 0); i++", "out[i] = 0;", false)
  is("i < twice(n); i++", "out[i] = 0;", false)
  is("i < n; i += m", "out[i] = 0;", true)
  is("i < n; i += m", "m++;", false)
  is("i < n; i += i", "out[i] = 0;", false)
  is("i < n; i += m", "int *p = &m;", false)
  is("i < (a[0] ? n : 0); i++", "m = a[i];", true)
  is("i < atomicAdd(s, 0); i++", "m = 0;", false)
end)

tap.case("the variable's tokens, and the pragmas before a loop", function()
  local function count(body)
    local loop = loops_of(body)[1]
    local tokens = loop_of.variable_tokens(loop, loop.body)
    return tokens and #tokens
  end
  tap.is(count "for (int i = 0; i < n; i++) { out[i] = a[i] + b.i + p->i; }", 2, "no members")
  tap.is(count "for (int i = 0; i < n; i++) out[0] = BY_I;", nil, "hidden in a macro")
  tap.is(count "for (int i = 0; i < n; i++) out[i] = FOUR;", 1, "another macro hides nothing")
  tap.is(count "for (int i = 0; i < n; i++) { int i = 2; }", nil, "another of the name")
  tap.is(#loops_of("\n#pragma unroll 2\n#pragma nounroll\nfor (int i = 0; i < n; i++) ;")[1]
    .pragmas, 2, "pragmas")
  tap.is(#loops_of("\n#pragma unroll 2\nn = 2;\nfor (int i = 0; i < n; i++) ;")[1].pragmas, 0,
    "not those of something else")
end)

tap.case("the innermost loops that fit", function()
  local loops = loops_of("for (;;) { for (int i = 0; i < n; i++) { while (m) m--; } }\n"
    .. "while (n) n--;")
  local fn = loops[1].fn
  local function kinds(fits, part)
    local list = {}
    for _, loop in ipairs(loop_of.innermost(fn, fits, part)) do list[#list + 1] = loop.kind end
    return table.concat(list, " ")
  end
  tap.is(kinds(function() return true end), "while while", "all fit")
  tap.is(kinds(function(loop) return loop.kind == "for" end), "for", "one within another")
  tap.is(kinds(function(loop) return not loop.counted end), "while while", "whiles")
  tap.is(kinds(function() return true end, loops[2].statement), "while", "of a part")
  tap.is(kinds(function(loop) return loop.counted end, loops[2].statement), "for", "itself")
end)

tap.case("loops that halve what threads put together", function()
  -- What is put together, and how many statements whatever is halved has, or 0.
  local function of(head, steps, before)
    local known = kernel.of_text("__global__ void k(float *y)\n{\n  int t = threadIdx.x, u = t + 1;"
      .. " int k; __shared__ float s[64]; float own[64];" .. (before or "") .. "\n  for (" .. head
      .. ") {" .. steps .. "}\n  y[t] = s[0];\n}\n")
    local loop = known.loops[1]
    local sum, any = halved.sum(loop), halved.any(loop)
    return ("%s %d"):format(sum and (sum.how.op or sum.how.call) .. (sum.bound and " up" or "")
      or "none", any and #any.body or 0)
  end
  local function is(head, steps, answer)
    tap.is(of(head, steps .. " __syncthreads();"), answer, head .. " " .. steps)
  end
  local down = "k = 32; k > 0; k /= 2"
  is(down, "if (t < k) s[t] += s[t + k];", "+ 2")
  is("k = 32; k >= 1; k >>= 1", "if (t < k) s[t] = s[t] * s[k + t];", "* 2")
  is("k = 32; k > 0u; k >>= 1u", "if (t < k) s[t] += s[t + k];", "+ 2")
  is("k = 32; k > 0; k = k / 2", "if (t < k) { s[t] = fmaxf(s[t + k], s[t]); }", "fmaxf 2")
  is("int k = 1; k < 64; k *= 2", "if (t % (2 * k) == 0) s[t] += s[t + k];", "+ up 0")
  is("int k = 1; k < 64; k *= 2", "if (t % (2 * u) == 0) s[t] += s[t + k];", "none 0")
  is("int k = 2; k < 64; k *= 2", "if (t % (2 * k) == 0) s[t] += s[t + k];", "none 0")
  is("k = 32; u > 0; k /= 2", "if (t < k) s[t] += s[t + k];", "none 0")
  is("k = 32; k > 0; k /= 3", "if (t < k) s[t] += s[t + k];", "none 0")
  is(down, "if (t < u) s[t] += s[t + k];", "none 0")
  is(down, "if (u < k) s[u] += s[u + k];", "none 0")
  is(down, "if (t < k) s[u] += s[u + k];", "none 2")
  is(down, "if (t < k) s[t] += s[t + u];", "none 2")
  is(down, "if (t < k) s[t] -= s[t + k];", "none 2")
  is(down, "if (t < k) own[t] += own[t + k];", "none 2")
  is(down, "if (t < k) s[t] += s[t + k]; else y[t] = 1;", "none 0")
  is(down, "if (t < k) { s[t] += s[t + k]; k = 2; }", "none 0")
  is(down, "if (t < k) { s[t] += s[t + k]; break; }", "none 0")
  is(down, "if (t < k) s[t] += 1; __syncthreads();", "none 0")
  is(down, "if (t < k) s[t] += 1; __syncthreads(); if (t < k) y[t] = s[t];", "none 4")
  is(down, "y[t] = 1;", "none 0")
  is(down, "", "none 0")
  tap.is(of(down, "if (t < k) s[t] += s[t + k];"), "none 0", "no barrier")
  tap.is(of(down, "if (t < k) s[t] += s[t + k]; y[t] = 1;"), "none 0", "something in its place")
  tap.is(of("k = 32; k > 0; k /= 2", "if (t < k) s[t] += s[t + k]; __syncthreads();", "y[k] = 2;"),
    "+ 0", "the variable is asked for elsewhere")
end)

tap.done()
