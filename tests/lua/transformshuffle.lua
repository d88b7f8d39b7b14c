-- Elements handed out by shuffles under transformation: what all lanes of a warp read, at any place
-- to which whole warps may come. What is made is right at every size, and in blocks of any shape.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local kernel = require "gilua.transform.kernel"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local shuffle = transform.find "shuffle"

local right, refused = rewritten.judge({ 0, 1, 31, 32, 33, 64, 200 })

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
local XY = T .. "  int u = blockIdx.y * blockDim.y + threadIdx.y;\n"
local SQUARE = { block = { 16, 4 }, grid = { 4, 16 }, sizes = { 0, 1, 31, 32, 33, 63 } }
local ROWS = { block = { 32, 4 }, grid = { 2, 16 }, sizes = SQUARE.sizes }

-- What a change asks of the launch.
local function launch(source, line, args)
  return assert(shuffle.make(kernel.of_text(source), line, args or {})).launch
end

local function many_shuffles(text) return select(2, text:gsub("__shfl_sync", "")) end

tap.case("what all lanes read", function()
  local product = rewritten.source(T .. [[
  if (t >= 40) return;
  float sum = 0.f;
  for (int k = 0; k < n; k++) sum += b[k] * a[k * 9 + t];
  out[t] = sum;]])
  local text = right("beside what each reads for itself", "shuffle", product, 6, {}, { block = 48 })
  tap.has(text, [[
  {
    int k = 0;
    if (__activemask() == 0xffffffffu) {
      const int lane = threadIdx.x % 32;
      for (; k + 31 < n; k += 32) {
        const float b_lane = b[k + lane];
        #pragma unroll
        for (int step = 0; step < 32; step++) {
          const float b_k = __shfl_sync(0xffffffffu, b_lane, step);
          sum += b_k * a[(k + step) * 9 + t];
        }
      }
    }
    for (; k < n; k++) sum += b[k] * a[k * 9 + t];
  }
]], "32 at once, and the rest as it was")
  tap.is(launch(product, 6), "block.y<=1 block.z<=1", "of blocks along x")
  tap.is(rewritten.found("shuffle", product), "6()", "where it is proposed")
  text = right("several, and their places in variables", "shuffle", rewritten.source(T .. [[
  float s = 1.f;
  int k;
  #pragma unroll 4
  for (k = 2; k <= n; k += 2) {
    int at = 3 * k + 1;
    if (k == t)
      continue;
    s += a[at] * a[k];
    if (t < k) {
      s = s * 0.5f + b[k + 1] + a[at];
    }
  }
  out[t] = s + k;]]), 7, {})
  tap.has(text, [[
  k = 2;
  if (__activemask() == 0xffffffffu) {
    const int lane = threadIdx.x % 32;
    for (; k + 62 <= n; k += 64) {
      const int at_of = 3 * (k + 2 * lane) + 1;
      const float a_lane = a[at_of];
      const float a_lane_too = a[k + 2 * lane];
      const float b_lane = b[(k + 2 * lane) + 1];
]], "each once, in steps of two")
  tap.has(text, [[
        int at = 3 * (k + 2 * step) + 1;
        if ((k + 2 * step) == t)
          continue;
        s += a_k * a_k_too;
        if (t < (k + 2 * step)) {
          s = s * 0.5f + b_k + a_k;
        }
      }
]], "the body as it was")
  tap.is(many_shuffles(text), 3, "an element that is read twice is handed out once")
  tap.is(text:find("#pragma unroll 4", 1, true), nil, "the loop's own pragma is gone")
  text = right("in a loop, with one in it", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  for (int i = 1; i < 4; i++)
    for (int k = i; k < n; k++) {
      for (int j = 0; j < 3; j++) s = s * 0.5f + a[t + j];
      s += a[k + 2 * i] * b[n - k + i];
    }
  out[t] = s;]]), 6, {})
  tap.is(text:find("#pragma", 1, true), nil, "32 times is too often for a loop")
  tap.is(many_shuffles(text), 2, "by the variable of the loop around it")
end)

tap.case("where not all lanes are", function()
  right("behind an if and an else", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  if (a[t] > 0.f) {
    s = 2.f;
  } else {
    for (int k = 0; k < n; k++) s = s * 0.75f + b[k] * a[t];
  }
  out[t] = s;]]), 8, {})
  right("in a loop of each thread's own", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  for (int i = t; i < 90; i += 7) {
    if (i == 33) break;
    for (int k = 0; k < n; k++) s = s * 0.75f + b[k];
  }
  out[t] = s;]]), 7, {})
  right("where one thread is not", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  if (t == 5) {
    s = 3.f;
  } else {
    for (int k = 0; k < n; k++) s = s * 0.75f + b[k];
  }
  out[t] = s;]]), 8, {})
  right("for one warp", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  const int warp = threadIdx.x / 32;
  if (warp == 1 && !(t > 60))
    for (int k = 0; k < n; k++) s = s * 0.75f + b[k];
  out[t] = s;]]), 7, {}, { block = 96 })
  right("below another head", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  if (t < 40)
    for (int k = 0; k < n; k++) s = s * 0.75f + b[k];
  out[t] = s;]]), 6, {}, { block = 48 })
end)

tap.case("blocks of two dimensions", function()
  local product = rewritten.source(XY .. [[
  if (t < n && u < n) {
    float sum = 0.f;
    for (int k = 0; k < n; k++)
      sum += a[u * n + k] * b[k * n + t] + a[k];
    out[u * 64 + t] = sum;
  }]])
  local text = right("what all threads of a block read", "shuffle", product, 7, {}, SQUARE)
  tap.has(text, "const int lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;\n", "in any block")
  tap.has(text, "sum += a[u * n + (k + step)] * b[(k + step) * n + t] + a_k;\n", "and no others")
  tap.is(launch(product, 7), "block.z<=1", "of two dimensions")
  text = right("what those of a row read", "shuffle", product, 7, { "row" }, ROWS)
  tap.has(text, "const int lane = threadIdx.x % 32;\n", "in rows of whole warps")
  tap.has(text, "const float a_lane = a[u * n + (k + lane)];\n", "a row's")
  tap.has(text, "sum += a_k * b[(k + step) * n + t] + a_k_too;\n", "and the block's")
  tap.is(launch(product, 7, { "row" }), "block.x%32", "which the launch has to have")
  tap.is(rewritten.found("shuffle", product), "7() 7(row)", "both are proposed")
  tap.is(rewritten.found("shuffle", rewritten.source(XY .. [[
  float s = 0.f;
  for (int k = 0; k < n; k++) s += a[k] * b[k * n + t];
  out[u * 64 + t] = s;]])), "6()", "rows only where they read more")
  right("from and to a row's own", "shuffle", rewritten.source(XY .. [[
  float sum = 0.f;
  for (int k = u; k < n + threadIdx.y; k++) sum += a[k];
  out[u * 64 + t] = sum;]]), 6, { "row" }, ROWS)
  local short = kernel.of_text(product, { values = function() return { ["blockDim.x"] = 16 } end })
  tap.is(#shuffle.find(short), 1, "not by rows where they are half a warp")
end)

tap.case("warps that have an item each", function()
  local source = rewritten.source([[
  int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  float sum = 0.f;
  for (int k = warp; k < n; k++) sum = sum * 0.75f + a[k * 4 + warp] * b[lane];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;]])
  local text = right("by threadIdx.x", "shuffle", source, 5, {}, { block = 96 })
  tap.has(text, "const float a_lane = a[(k + lane_2) * 4 + warp];\n", "beside another lane")
  tap.is(launch(source, 5), "block.y<=1 block.z<=1", "of any length")
  source = rewritten.source(T .. [[
  const int warp = t >> 5;
  float sum = 0.f;
  for (int k = 0; k < n; k++) sum = sum * 0.75f + a[k + warp];
  out[t] = sum;]])
  right("by the number in the grid", "shuffle", source, 6, {}, { block = 64 })
  tap.is(launch(source, 6), "block.x%32", "where blocks are whole warps")
  refused("by less of it", "shuffle", rewritten.source(T .. [[
  const int part = threadIdx.x / 16;
  float sum = 0.f;
  for (int k = 0; k < n; k++) sum += a[k + part];
  out[t] = sum;]]), 6, {}, "no element")
  refused("by a number that begins elsewhere", "shuffle", rewritten.source(T .. [[
  const int part = (threadIdx.x + 16) / 32;
  float sum = 0.f;
  for (int k = 0; k < n; k++) sum += a[k + part];
  out[t] = sum;]]), 6, {}, "no element")
end)

tap.case("types", function()
  local function of(type, before, body)
    return before .. rewritten.source(T .. body, type)
  end
  for short, type in pairs { f64 = "double", i32 = "int", u8 = "unsigned char",
    i64 = "long long" } do
    right(type, "shuffle", of(type, "", [[
  ]] .. type .. [[ s = 0;
  for (int k = 0; k < n; k++) s += a[k] * b[t];
  out[t] = s;]]), 5, {}, { type = short })
  end
  local vectors = of("float", "#define REAL2 float2\n", [[
  const float4 *four = (const float4 *)a;
  const REAL2 *two = (const REAL2 *)b;
  float s = 0.f;
  for (int k = 0; k < n; k++) {
    const REAL2 q = two[k];
    s += four[k].x * q.y + four[k].w * q.x;
  }
  out[t] = s;]])
  local text = right("vectors", "shuffle", vectors, 8, {})
  tap.has(text, [[
          REAL2 two_k;
          two_k.x = __shfl_sync(0xffffffffu, two_lane.x, step);
          two_k.y = __shfl_sync(0xffffffffu, two_lane.y, step);
          float4 four_k;
          four_k.x = __shfl_sync(0xffffffffu, four_lane.x, step);
          four_k.w = __shfl_sync(0xffffffffu, four_lane.w, step);
]], "the members asked for")
  tap.has(text, "s += four_k.x * q.y + four_k.w * q.x;\n", "by their names")
  for what, use in pairs { structs = "const Pair p = pairs[k]; s += p.x;",
    ["members of structs"] = "s += pairs[k].x;" } do
    refused(what, "shuffle", of("float", "struct Pair { float x, y; };\n", [[
  const Pair *pairs = (const Pair *)a;
  float s = 0.f;
  for (int k = 0; k < n; k++) { ]] .. use .. [[ }
  out[t] = s;]]), 7, {}, "no element")
  end
end)

tap.case("where it is refused", function()
  local function loop(head, body, before)
    return rewritten.source(T .. (before or "  float s = 0.f;") .. "\n  " .. head .. " " .. body
      .. "\n  out[t] = s;")
  end
  local head, body = "for (int k = 1; k < n; k++)", "s += a[k];"
  tap.ok(rewritten.text("shuffle", loop(head, body), 5, {}), "as it is it can be made")
  refused("a break", "shuffle", loop(head, "{ if (k == t) break; s += a[k]; }"), 5, {},
    "it is left in another way")
  refused("a return", "shuffle", loop(head, "{ if (k == t) return; s += a[k]; }"), 5, {},
    "it is left in another way")
  refused("a barrier", "shuffle", loop(head, "{ s += a[k]; __syncthreads(); }"), 5, {},
    "threads wait for each other in it")
  refused("shuffles of its own", "shuffle", loop(head,
    "{ s += a[k]; s += __shfl_xor_sync(0xffffffffu, s, 1); }"), 5, {},
    "threads wait for each other in it")
  refused("from another place for each", "shuffle", loop("for (int k = t; k < n; k++)", body), 5,
    {}, "from and to different places")
  refused("to another place for each", "shuffle", loop("for (int k = 0; k < n + t; k++)", body), 5,
    {}, "from and to different places")
  refused("downwards", "shuffle", loop("for (int k = n; k > 0; k--)", body), 5, {},
    "it does not count up")
  refused("away from its bound", "shuffle", loop("for (int k = 9; k < n; k--)", body), 5, {},
    "it does not count up")
  refused("few iterations", "shuffle", loop("for (int k = 1; k < 32; k++)", body), 5, {},
    "fewer than 32 iterations")
  refused("of each thread's own", "shuffle", loop(head, "s += a[k + t];"), 5, {}, "no element")
  refused("what is written", "shuffle", loop(head, "out[t] += out[k];"), 5, {}, "no element")
  refused("what not each iteration reads", "shuffle", loop(head, "if (k < 9) s += a[k];"), 5, {},
    "no element")
  refused("what a row of the block reads", "shuffle", loop(head, "s += a[k + threadIdx.y];"), 5, {},
    "no element")
  refused("what whole rows leave out", "shuffle", loop(head, "if (threadIdx.y > 0) s += a[k];"), 5,
    { "row" }, "no element")
  refused("by the variable of a loop that threads leave", "shuffle", rewritten.source(T .. [[
  float s = 0.f;
  for (int i = 0; i < 9; i++) {
    if (i == t) break;
    for (int k = 0; k < n; k++) s += a[k + i];
  }
  out[t] = s;]]), 7, {}, "no element")
  for what, condition in pairs { ["one thread"] = "t == 0 && n > 0",
    ["the first lane"] = "!(threadIdx.x % 32)" } do
    refused(what, "shuffle", loop("if (" .. condition .. ")\n" .. head, body), 6, {}, "one lane")
  end
  refused("a device function", "shuffle", [[
__device__ float sum(const float *a, int n)
{
  float s = 0.f;
  for (int k = 0; k < n; k++) s += a[k];
  return s;
}
]], 4, {}, "it is in no kernel")
  refused("another argument", "shuffle", loop(head, body), 5, { "all" }, "it is written")
end)

tap.case("after others", function()
  local source = rewritten.source(T .. [[
  if (t < n) {
    for (int k = 0; k < 64 - n % 8; k++) out[t] += b[k] * a[t];
  }]])
  local kept = right("a sum in memory", "keep", source, 5, {}, { sizes = { 1, 31, 64 } })
  local line = select(2, kept:sub(1, kept:find "for %("):gsub("\n", "")) + 1
  local text = right("kept", "shuffle", kept, line, {}, { sizes = { 1, 31, 64 } })
  tap.has(text, "out_kept += b_k * a[t];\n", "and handed out")
end)

tap.done()
