-- Elements through shared memory under transformation: of loops that all threads of a block come
-- to, and of those behind conditions. What is made is right at every size.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local gi = require "gilua"
local rewritten = require "rewritten"
local tap = require "tap"

local right, refused = rewritten.judge({ 0, 1, 15, 16, 17, 50 })

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
local XY = T .. "  int u = blockIdx.y * blockDim.y + threadIdx.y;\n"
local SQUARE = { block = { 16, 4 }, grid = { 4, 16 } }

tap.case("what all threads read", function()
  local text = right("beside what each reads for itself", "stage", rewritten.source(T .. [[
  float sum = 0.f;
  for (int j = 1; j < n; j++) {
    if (j == t) continue;
    float d = a[j] - b[t];
    sum += d * d * a[j] + b[blockIdx.x * n + j];
  }
  out[t] = sum;]]), 5, { "16" })
  tap.has(text, "float d = a_tile[j_step] - b[t];", "not what each reads for itself")
  tap.has(text, "a_tile[j_part] = a[j_from + j_part];", "loaded together")
  tap.has(text, "sum += d * d * a[j] + b[blockIdx.x * n + j];", "the rest as it was")
  right("without braces, in another loop", "stage", rewritten.source(T .. [[
  float sum = 0.f;
  for (int i = 0; i < 3; i++)
    for (int j = i; j <= n / 2 + i; j++)
      sum = sum * 0.5f + a[j + 2 * i];
  out[t] = sum;]]), 6, { "16" }, { block = 48 })
  text = right("a known number of iterations", "stage", rewritten.source(T .. [[
  float sum = 0.f;
  #pragma unroll
  for (int j = 0; j < 32; j++)
    sum = sum * 0.5f + a[j + n];
  out[t] = sum;]]), 6, { "16" })
  tap.is(select(2, text:gsub("sum = sum", "")), 1, "without a rest")
  tap.is(rewritten.found("stage", "#define TAPS 40\n" .. rewritten.source(T .. [[
  float s = 0.f;
  for (int j = 0; j < TAPS - 1; j++) s += a[j];
  out[t] = s;]])), "6(16) 6(32)", "no more at once than there are")
  tap.is(rewritten.found("stage", rewritten.source(T .. [[
  float s = 0.f;
  if (t < n)
    for (int j = 1; j < n; j++) s += a[j];
  out[t] = s;]])), "6(16) 6(32) 6(64) 6(128)", "where it is proposed")
end)

tap.case("behind conditions", function()
  local text = right("a way out before it", "stage", rewritten.source(T .. [[
  if (t >= n || out[t] > 300.f) return;
  float s = out[t], q = 2.f;
  out[t] = q; // for now
  out[t + 64] = q;
  for (int j = 1; j < n; j++)
    s += a[j] * b[t];
  out[t] = s;]]), 8, { "16" })
  tap.has(text, "  const bool inside = t < n && !(out[t] > 300.f);\n", "becomes a variable")
  tap.has(text, "float s = inside ? out[t] : 0, q = 2.f;\n", "only they load")
  tap.has(text, "  if (inside) {\n    out[t] = q; // for now\n    out[t + 64] = q;\n  }\n",
    "only they write")
  tap.has(text, "  if (inside) out[t] = s;\n", "behind it too")
  text = right("an if around it, and one more", "stage", rewritten.source(XY .. [[
  if ((t < n) && (u < n)) {
    float s = 0.f;
    if (b[t] > 0.f) {
      for (int j = 0; j < n; j++) { s += a[j]; }
      s *= 2.f;
    }
    out[u * n + t] = s;
    out[u * n + t] += 1.f;
  }]]), 8, { "16" }, SQUARE)
  tap.has(text, "const bool inside2 = inside && b[t] > 0.f;\n", "both")
  tap.has(text, "    if (inside2) {\n      s *= 2.f;\n    }\n", "what is behind the inner one")
  tap.has(text, "  if (inside) {\n    out[u * n + t] = s;\n", "and behind the outer one")
  text = right("loops with pragmas", "stage", rewritten.source(T .. [[
  if (t < n) {
    float s = 0.f;
    out[t + 64] = 1.f;
    #pragma unroll 1
    for (int i = 0; i < 2; i++) {
      s *= 2.f;
      #pragma unroll 4
      for (int j = 0; j < n; j++) s += a[j];
    }
    out[t] = s;
  }]]), 11, { "16" })
  tap.has(text, "    #pragma unroll 1\n    for (int i = 0; i < 2; i++) {\n"
    .. "      if (inside) s *= 2.f;\n      __shared__", "stay before their loops")
  text = right("one or the other", "stage", rewritten.source(T .. [[
  if ((t < n / 2 || t > n - 3) && n > 2) {
    float s = 0.f;
    for (int j = 0; j < n; j++) s += a[j];
    out[t] = s;
  }]]), 6, { "16" })
  tap.has(text, "const bool inside = (t < n / 2 || t > n - 3) && n > 2;\n", "in brackets")
  text = right("a loop before another one", "stage", rewritten.source(T .. [[
  if (t < n) {
    float s = 0.f;
    for (int j = 0; j < n; j++) s += a[j];
    for (int i = 0; i < n; i++) s = s * 0.5f + b[i];
    out[t] = s;
  }]]), 6, { "16" })
  local line = select(2, text:sub(1, text:find "for %(int i"):gsub("\n", "")) + 1
  text = right("and the other one", "stage", text, line, { "16" })
  tap.has(text, "    if (inside) {\n      for (int i = i_from; i < n; i++)", "by the same variable")
  right("a sum that others ask for behind it", "stage", rewritten.source(T .. [[
  float s = 3.f;
  if (t < n) for (int j = 0; j < n; j++) s += a[j];
  out[t] = s;]]), 5, { "16" })
  local function loop(before, head, body)
    return rewritten.source(T .. before .. "\n  float s = 0.f;\n  " .. head .. " " .. body)
  end
  local head, body = "for (int j = 1; j < n; j++)", "s += a[j];"
  refused("an else", "stage", loop("if (t < n) s = 1.f; else {", head, body .. " }"), 6, { "64" },
    "it is in an else")
  refused("threads that wait behind it", "stage", loop("if (t < n) {", head, body
    .. " __syncwarp(); }"), 6, { "64" }, "threads wait for each other at line 6")
  refused("threads that wait before it", "stage", loop("if (t > n) return; __syncthreads();", head,
    body), 6, { "64" }, "threads wait for each other at line 4")
  refused("a way out in between", "stage", loop("while (t < n) { t += 9; if (t == 8) return; }",
    head, body), 6, { "64" }, "line 4 may leave the kernel")
  refused("a way out of more than that", "stage", loop("if (t < n) { if (t > 5) return;", head, body
    .. " }"), 6, { "64" }, "line 4 may leave the kernel")
  refused("from another place for each", "stage", loop("", "for (int j = t; j < n; j++)", body), 6,
    { "64" }, "different places")
  refused("of each thread's own", "stage", loop("", head, "s += a[j + t];"), 6, { "64" },
    "no element")
  refused("what is written", "stage", loop("", head, "out[t] += out[j];"), 6, { "64" },
    "no element")
  refused("what another name of it writes", "stage", loop("float *p = out;", head,
    "p[t] += out[j];"), 6, { "64" }, "no element")
  refused("what not each iteration reads", "stage", loop("", head, "if (j < 9) s += a[j];"), 6,
    { "64" }, "no element")
  refused("what some iterations leave out", "stage", loop("", head,
    "{ if (j > 9) continue; s += a[j]; }"), 6, { "64" }, "no element")
  refused("what a ?: chooses", "stage", loop("", head, "s += j < 9 ? a[j] : 0.f;"), 6, { "64" },
    "no element")
  local structs = "struct Pair { float x; int n; };\nstruct Rows { float x[64]; };\n"
    .. "typedef unsigned int Count;\nusing Real = float;\n"
    .. rewritten.source(T .. [[
  const Pair *pairs = (const Pair *)a;
  const Rows *rows = (const Rows *)b;
  const Count *counts = (const Count *)b;
  Real s = 0.f;
  for (int j = 0; j < n; j++) s += pairs[j].x + rows[j].x[t] * counts[j];
  out[t] = s;]])
  text = rewritten.text("stage", structs, 12, { "16" })
  tap.has(text, "s += pairs_tile[j_step].x + rows[(j_from + j_step)].x[t] * counts_tile[j_step];",
    "structs, small ones, and other names of types")
  refused("a condition that does more", "stage", loop("if (t++ < n) {", head, body .. " }"), 6,
    { "64" }, "line 4 does more than to ask")
  refused("in a loop that threads leave", "stage", rewritten.source(T .. [[
  float s = 0.f;
  while (s < n) {
    for (int j = 1; j < n; j++) s += a[j];
    if (t == 3) break;
  }]]), 6, { "64" }, "not all threads")
  refused("in a loop of other lengths", "stage", rewritten.source(T .. [[
  float s = 0.f;
  for (int i = 0; i < t; i++)
    for (int j = 1; j < n; j++) s += a[j];]]), 6, { "64" }, "from and to different places")
end)

tap.case("rows and columns of a product", function()
  local product = rewritten.source(XY .. [[
  if (t < n && u < n) {
    float sum = 0.f;
    for (int k = 0; k < n; k++) {
      int at = k * n + t;
      sum += a[u * n + k] * b[at];
    }
    out[u * n + t] = sum;
  }]])
  local text = right("as it is", "stage", product, 7, { "16", "32" }, SQUARE)
  tap.has(text, "__shared__ float a_tile[32][17];", "rows, with padding")
  tap.has(text, "__shared__ float b_tile[16][32];", "columns")
  tap.has(text, "a_tile[threadIdx.y][k_part] = u < n ? a[u * n + (k_from + k_part)] : 0;",
    "where there is a row")
  tap.has(text, "const int at_of = (k_from + k_part) * n + t;\n", "an index in a variable")
  tap.has(text, "b_tile[k_part][threadIdx.x] = t < n ? b[at_of] : 0;", "where there is a column")
  tap.has(text, "      sum += a_tile[threadIdx.y][k_step] * b_tile[k_step][threadIdx.x];\n",
    "from there")
  right("blocks of another shape", "stage", product, 7, { "32", "64" },
    { block = { 4, 64 }, grid = { 16, 1 } })
  text = right("with the other transposed", "stage", rewritten.source(XY .. [[
  const float *mine = a + u * n;
  const int first = t * n, next = first + n;
  if (t >= n || next > 4096 - n || u >= n) return;
  float sum = 0.f;
  for (int k = 0; k < n; ++k) sum += mine[k] * b[first + k];
  out[u * n + t] = sum;]]), 9, { "16", "16" }, SQUARE)
  tap.has(text, "      const int t_of = blockIdx.x * blockDim.x + thread;\n"
    .. "      const int first_of = t_of * n;\n      const int next_of = first_of + n;\n",
    "neighbours at a time")
  tap.has(text, "t_of < n && next_of <= 4096 - n ? b[first_of + (k_from + k_part)] : 0;",
    "of another thread's row")
  refused("a condition that says where both lie", "stage", rewritten.source(XY .. [[
  if (u * n + t < n * n) {
    float sum = 0.f;
    for (int k = 0; k < n; k++) sum += a[u * n + k];
    out[u * n + t] = sum;
  }]]), 7, { "16", "32" }, "no element")
  refused("a row that is loaded", "stage", rewritten.source(XY .. [[
  int row = (int)b[u];
  float sum = 0.f;
  for (int k = 0; k < n; k++) sum += a[row * n + k];
  out[u * n + t] = sum;]]), 7, { "16", "32" }, "no element")
  refused("too much of them", "stage", product, 7, { "128", "128" }, "too much memory")
  refused("blocks as long as you like", "stage", product, 7, { "16" },
    "how long a side of a block is at most")
end)

tap.case("what the loop does besides", function()
  local function text(body, before, top)
    return (rewritten.text("stage", (before or "") .. rewritten.source(T .. "  if (t < n) {\n"
      .. "    float s = 0.f; " .. (top or "") .. "\n    for (int j = 0; j < n; j++) " .. body
      .. "\n    out[t] = s;\n  }"), before and 7 or 6, { "16" }))
  end
  local alone = "      if (inside) {\n        for (int j_step"
  tap.is(text("s += a[j];"):find(alone, 1, true), nil, "a sum does not matter without an item")
  tap.has(text("s += f(a[j]);", "__device__ float f(float x) { return x / 2; }\n"), alone,
    "a function that may do more")
  tap.has(text("s += max(a[j]);", "__device__ int c; __device__ float max(float x)"
    .. " { c++; return x; }\n"), alone, "one of a known name that does")
  tap.has(text("s += p[j].x;", "struct P { float x, y; };\n", "const P *p = (const P *)a;"),
    alone, "what 0 cannot stand for")
  tap.has(text("total += a[j];", nil, "__shared__ float total;"), alone, "a shared variable")
  tap.is(text('{ s += a[j]; asm(""); }'), nil, "what nobody knows")
  local pairs = text("{ float2 v = p[t]; v.x += a[j]; p[t] = v; }", nil,
    "float2 *p = (float2 *)out;")
  tap.is(pairs:find("_kept", 1, true), nil, "nor does it stay in a variable")
  tap.has(text("{ s += a[j]; while (s > 2.f) s -= 1.f; }"), alone, "a loop that may not end")
  tap.has(text("{ s += a[j]; out[t + j] = s; }"), alone, "a store")
  tap.has(right("what stays in a variable", "stage", rewritten.source(T .. [[
  for (int j = 0; j < n; j++) out[t] += a[j];]]), 4, { "16" }),
    "float out_kept = has_rounds ? out[t] : 0;", "if it has a round")
  local kept = right("of threads with an item", "stage", rewritten.source(T .. [[
  if (t < n / 2) {
    out[t] = 1.f;
    for (int j = 0; j < n; j++) out[t] += a[j];
  }]]), 6, { "16" })
  tap.has(kept, "float out_kept = inside ? out[t] : 0;", "who has one")
  right("a rest of known length", "stage", rewritten.source(T .. [[
  float s = 0.f;
  for (int j = 0; j < 40; j++) s = s * 0.5f + a[j];
  out[t] = s;]]), 5, { "16" })
  local function no(what, head, body, why)
    refused(what, "stage", rewritten.source(XY .. "  float s = 0.f;\n  " .. head .. " " .. body), 6,
      { "16", "32" }, why)
  end
  local head = "for (int j = 0; j < n; j++)"
  no("each second one", "for (int j = 0; j < n; j += 2)", "s += a[j];", "count up by one")
  no("each thread's own of a block", head, "s += a[u * n + t + j];", "no element")
  no("of a third side", head, "s += a[u * n + j + threadIdx.z];", "no element")
  no("in blocks of three sides", head, "s += a[u * n + j] * threadIdx.z;", "no element")
  local two = right("where different conditions hold", "stage", rewritten.source(XY .. [[
  if (t < n && u < n) {
    float s = 0.f;
    for (int j = 0; j < n; j++) {
      int at = j * n + t;
      s += a[u * n + j] * b[j] - a[j] + a[j * n + t] * b[at];
    }
    out[u * n + t] = s;
  }]]), 7, { "16", "32" }, SQUARE)
  tap.has(two, "b_tile[j_part] = b[j_from + j_part];\n        a_tile_too[j_part]", "in one loop")
end)

tap.case("a template's product", function()
  local source = [[
template <typename T> __global__ void k(T *c, const T *__restrict__ a, const T *b, int n)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) {
    T sum = T(0);
    for (int i = 0; i < n; i++) sum += a[y * n + i] * b[i * n + x];
    c[y * n + x] = sum;
  }
}
]]
  local text = rewritten.text("stage", source, 6, { "16", "16" })
  tap.has(text, "a_tile[threadIdx.y][i_part] = y < n ? a[y * n + (i_from + i_part)] : T();",
    "whatever it is of")
  tap.is(text:find("if (inside) {\n      for (int i_step", 1, true), nil, "threads without an item")
  local uses = "template __global__ void k<%s>(%s *, const %s *, const %s *, int);\n"
  for _, type in ipairs { "float", "double", "long long", "unsigned char" } do
    local one, why = gi.compile(text .. uses:gsub("%%s", type))
    tap.ok(one, type .. (why and ": " .. why or ""))
  end
  tap.has(select(2, rewritten.text("stage", source, 6, { "128", "32" })), "too much memory",
    "as large as any may be")
end)

tap.case("rows apart", function()
  local shapes = { block = { 8, 8 }, grid = { 8, 8 }, sizes = { 1, 7, 30, 60 } }
  local text = right("written", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n) {
    float v = a[u * n + t];
    out[t * n + u] = 2.f * v;
  }]]), 7, { "out", "8", "8" }, shapes)
  tap.has(text, [[
  __shared__ float out_tile[8][9];
  if (inside) {
    out_tile[threadIdx.y][threadIdx.x] = 2.f * v;
  }
  __syncthreads();
  const int slot = threadIdx.y * blockDim.x + threadIdx.x;
  const int x_part = slot / blockDim.y, y_part = slot % blockDim.y;
  const int t_of = t - threadIdx.x + x_part, u_of = u - threadIdx.y + y_part;
  if (t_of < n && u_of < n) out[t_of * n + u_of] = out_tile[y_part][x_part];
}]], "by who is near")
  text = right("read", "transpose", rewritten.source(XY .. [[
  if (t >= n || u >= n) return;
  int at = t * n + u;
  out[u * n + t] = a[at] - b[at];]]), 7, { "a", "8", "8" }, shapes)
  tap.has(text, "  const int at_of = t_of * n + u_of;\n"
    .. "  if (t_of < n && u_of < n) a_tile[y_part][x_part] = a[at_of];\n", "for who is not")
  local wide = { block = { 16, 4 }, grid = { 4, 16 }, sizes = { 1, 7, 30, 60 } }
  right("blocks that are no squares", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n) out[t * 64 + u] = a[u * n + t];]]), 5, { "out", "32", "4" }, wide)
  right("and read", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n) out[u * n + t] = a[5 + t * n + u];]]), 5, { "a", "16", "8" }, wide)
  local function plain(what) return rewritten.source(XY .. "  if (t < n && u < n) " .. what) end
  tap.is(rewritten.found("transpose", plain "out[t * n + u] = a[u * n + t];"), "5(out,32,32)",
    "where it is proposed")
  tap.is(rewritten.found("transpose", plain "out[u * n + t] = a[u * n + t];"), "", "not of rows")
  local sides = { "out", "8", "8" }
  refused("what is written elsewhere, too", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n) out[t * n + u] = a[t];
  if (t == 0) out[u] = 1.f;]]), 5, sides, "it is read and written")
  refused("what something comes behind", "transpose", rewritten.source(XY .. [[
  float v = 1.f;
  if (t < n && u < n) out[t * n + u] = v;
  v = 2.f;]]), 6, sides, "something comes behind it")
  refused("what the kernel's end does not know", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n) {
    int pitch = n + 1;
    out[t * pitch + u] = a[t];
  }]]), 7, sides, "'pitch' is not known at the kernel's end")
  refused("what is added to", "transpose", plain "out[t * n + u] += a[t];", 5, sides,
    "more than read or written")
  refused("in a loop", "transpose", plain "for (int i = 0; i < n; i++) out[t * n + u] = a[i];", 5,
    sides, "it is in a loop")
  refused("in a loop's list", "transpose", plain
    "for (int i = 0; i < n; i++) { out[t * n + u] = a[i]; }", 5, sides, "it is in a loop")
  refused("where a loaded number says who has one", "transpose", rewritten.source(XY .. [[
  if (t < n && u < n && b[t] > 0.f) out[t * n + u] = a[t];]]), 5, sides,
    "which elements other threads have")
  refused("a stride that is loaded", "transpose", rewritten.source(XY .. [[
  int pitch = (int)b[0];
  if (t < n && u < n) out[t * pitch + u] = a[t];]]), 6, sides, "no element is read or written")
  refused("too much of it", "transpose", plain "out[t * n + u] = a[u * n + t];", 5,
    { "out", "256", "128" }, "too much memory")
end)

tap.done()
