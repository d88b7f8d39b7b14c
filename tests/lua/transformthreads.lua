-- What threads do together under transformation: atomics, trees of sums.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"
local kernels = require "gilua.transform.kernel"

local warp_atomic, block_atomic = transform.find "warp_atomic", transform.find "block_atomic"
local tree = transform.find "tree"

local right, refused = rewritten.judge({ 0, 1, 33, 300 })

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
local INTS = { type = "i32", block = 96, grid = 3 }

tap.case("a loop that one thread did alone", function()
  local plus = { block = 64, grid = 2, limit = 1e-3 }
  local sum = [[
  __shared__ float total;
  if (threadIdx.x == 0) {
    total = 0.f;
    for (int i = blockIdx.x; i < n; i++) total += a[i];
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;]]
  local text = right("a sum in shared memory", "warp_loop", rewritten.source(sum), 4, {}, plus)
  tap.has(text, "float total_sum = 0.f;", "is a variable meanwhile")
  tap.is(rewritten.found("warp_loop", rewritten.source(sum)), "4()", "where it is proposed")
  right("sums that were begun", "warp_loop", rewritten.source [[
  __shared__ float total;
  int t = threadIdx.x;
  if (t == 5) total = 3.f;
  __syncthreads();
  if (t < 1 && n >= 0) {
    float most = -1e9f;
    for (int i = 1; i < n; i += 3) {
      total += a[i];
      most = fmaxf(most, b[i]);
    }
    out[blockIdx.x] = total;
    out[8 + blockIdx.x] = most;
  }]], 7, {}, plus)
  text = right("where the least and the greatest are", "warp_loop", rewritten.source([[
  if (!threadIdx.x) {
    int low = 0, high = 5;
    for (int i = 1; i < n; i++) {
      if (a[i] < a[low]) low = i;
      if (b[high] < b[i]) { high = i; }
    }
    out[2 * blockIdx.x] = low;
    out[2 * blockIdx.x + 1] = high;
  }]], "int"), 3, {}, INTS)
  tap.has(text, "if (other != high && (b[other] > b[high] || b[other] == b[high] && other < high))",
    "of equals the first")
  refused("a barrier some threads may not come to", "warp_loop", rewritten.source [[
  if ((int)threadIdx.x >= n) return;
  if (threadIdx.x == 0) {
    float sum = 0.f;
    for (int i = 0; i < n; i++) sum += a[i];
    out[0] = sum;
  }]], 4, {}, "not all threads")
  refused("another thread", "warp_loop", rewritten.source [[
  if (threadIdx.x == 1) {
    float sum = 0.f;
    for (int i = 0; i < n; i++) sum += a[i];
    out[0] = sum;
  }]], 3, {}, "that the thread is the first")
  refused("one iteration needs another", "warp_loop", rewritten.source [[
  if (threadIdx.x == 0) {
    float sum = 0.f;
    for (int i = 0; i < n; i++) sum = sum * 0.5f + a[i];
    out[0] = sum;
  }]], 3, {}, "no loop that lanes could share")
  refused("an extreme whose elements change", "warp_loop", rewritten.source [[
  if (threadIdx.x == 0) {
    int best = 0;
    for (int i = 1; i < n; i++) {
      if (out[i] > out[best]) best = i;
      out[best] = 0.f;
    }
    out[0] = best;
  }]], 3, {}, "no loop that lanes could share")
end)

tap.case("what one thread writes alone, with a loop", function()
  local ints = { type = "i32", block = 64, grid = 2, races = true }
  local scan = [[
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = a[t] & 7;
  __syncthreads();
  if (t == 0) {
    int sum = n;
    for (int i = 0; i < 61; i++) {
      int own = s[i];
      s[i] = sum;
      sum += own;
    }
  }
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[t];]]
  local text = right("places from counts", "warp_loop", rewritten.source(scan, "int"), 7, {}, ints)
  tap.has(text, [[
  if (t < 32) {
    int sum = n;
    for (int i = 0; i < 61; i += 32) {
      int at = i + t;
      const bool has = at < 61;
      if (!has) at = i;
      int own = has ? s[at] : 0;
      int part = has ? own : 0;
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, part, step);
        if (t >= step) part += other;
      }
      int sum_prior = __shfl_up_sync(0xffffffffu, part, 1);
      sum_prior = t > 0 ? sum + sum_prior : sum;
      if (has) s[at] = sum_prior;
      sum += __shfl_sync(0xffffffffu, part, 31);
    }
    __syncwarp();
  }]], "as a person would write it")
  text = right("an element that goes along, by the first of the grid", "warp_loop",
    rewritten.source([[
  int block = blockIdx.x;
  int t = blockDim.x * block + threadIdx.x;
  if (t == 0) {
    out[0] = a[0];
    for (int x = 1; x < n; x++) out[x] = a[x] + out[x - 1];
    out[n + 1] = out[n / 2] + 1;
  }]], "int"), 5, {}, ints)
  tap.has(text, [[
  if (t < 32) {
    if (t == 0) out[0] = a[0];
    __syncwarp();]], "one stores, others wait")
  tap.has(text, "out[n + 1] = out[n / 2] + 1;", "and goes on alone")
  right("elements, each by itself, and what is read of them", "warp_loop", rewritten.source([[
  if (threadIdx.x == 0) {
    int first = a[0], all = 0;
    for (int i = 0; i < n; i++) out[600 * blockIdx.x + i] = a[i] * first;
    int third = out[600 * blockIdx.x + 3];
    out[600 * blockIdx.x + 3] = 0;
    for (int i = 0; i < n; i++) all += out[600 * blockIdx.x + i] + third;
    for (int i = 1; i < n; i++) out[600 * blockIdx.x + i] = all;
    out[600 * blockIdx.x] = all + 1;
  }]], "int"), 3, {}, ints)
  right("what the thread wrote before, itself", "warp_loop", rewritten.source([[
  __shared__ int s[64];
  if (threadIdx.x == 0) s[40] = 3;
  if (threadIdx.x == 0) {
    int all = 0;
    for (int i = 38; i < 42; i++) all += i == 40 ? s[i] : 1;
    out[blockIdx.x] = all;
  }]], "int"), 5, {}, ints)
  right("and in the round before", "warp_loop", rewritten.source([[
  for (int k = 0; k < 3; k++) {
    if (threadIdx.x == 0) {
      int all = 0;
      for (int i = 0; i < 40; i++) all += out[600 * blockIdx.x + i];
      if (threadIdx.x == 0) out[600 * blockIdx.x + 500 + k] = all;
    }
    if (threadIdx.x == 0) out[600 * blockIdx.x + 7] = k;
  }]], "int"), 4, {}, ints)
  refused("counted at once", "warp_loop", rewritten.source([[
  if (threadIdx.x == 0) {
    int all = atomicAdd(out, 1);
    for (int i = 0; i < n; i++) all += a[i];
    out[1] = all;
  }]], "int"), 3, {}, "does more than to compute")
  refused("stored where another goes", "warp_loop", rewritten.source([[
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; i++) out[a[i] & 63] = i;
  }]], "int"), 3, {}, "no loop")
  right("beside a barrier in a loop of threads", "warp_loop", rewritten.source([[
  __shared__ int s[65];
  for (int i = threadIdx.x; i < 128; i += 64) {
    __syncthreads();
    if (threadIdx.x == 0) {
      s[0] = 0;
      for (int k = 1; k <= 64; k++) s[k] = s[k - 1] + a[k + n];
    }
    __syncthreads();
    out[i + 128 * blockIdx.x] = s[threadIdx.x];
  }]], "int"), 6, {}, { type = "i32", block = 64, grid = 2, races = true })
  refused("what each thread has its own of", "warp_loop", rewritten.source([[
  int i = threadIdx.x + n;
  if (threadIdx.x == 0) {
    int all = 0;
    for (int k = 1; k <= 64; k++) all += a[k + i];
    out[i] = all;
  }]], "int"), 4, {}, "line 6 asks for i, which each thread has its own of")
  refused("some go on before they come to it", "warp_loop", rewritten.source([[
  for (int i = threadIdx.x; i < 128; i += 64) {
    __syncthreads();
    if (a[i] > n) continue;
    if (threadIdx.x == 0) {
      int all = 0;
      for (int k = 1; k <= 64; k++) all += a[k + i];
      out[i] = all;
    }
  }]], "int"), 6, {}, "not all threads")
  refused("some leave behind it", "warp_loop", rewritten.source([[
  for (int i = threadIdx.x; i < 128; i += 64) {
    __syncthreads();
    if (threadIdx.x == 0) {
      int all = 0;
      for (int k = 1; k <= 64; k++) all += a[k + i];
      out[i] = all;
    }
    if (a[i] > n) return;
  }]], "int"), 5, {}, "not all threads")
end)

tap.case("a kernel of one thread", function()
  local one = { type = "i32", block = 1, grid = 1, races = true }
  local function same(what, body)
    local source = rewritten.source(body, "int")
    local change = assert(transform.find("warp_loop").make(kernels.of_text(source), 1, {}))
    tap.is(change.launch, "grid.x==1 block.x==1 block.x=32", what .. ": its launch")
    local text = rewritten.text("warp_loop", source, 1)
    for _, n in ipairs { 0, 1, 33, 300 } do
      local want = assert(rewritten.run(source, n, one))
      local got, why = rewritten.run(text, n, { type = "i32", block = 32, grid = 1, races = true })
      local wrong = got and 0 or why
      for i = 1, got and #want or 0 do
        if got[i] ~= want[i] then wrong = i break end
      end
      tap.is(wrong, 0, ("%s: right, n = %d"):format(what, n))
    end
    return text
  end
  local text = same("elements, each by itself", [[
  for (int i = 0; i < n; i++)
    out[i] = a[i] + out[i];]])
  tap.has(text, [[
  for (int i = threadIdx.x; i < n; i += 32)
    out[i] = a[i] + out[i];
}]], "as a person would write it")
  same("an element that goes along, and what is done with it", [[
  int most = -100;
  out[0] = 3;
  for (int i = 1; i < n; i++) out[i] += out[i - 1];
  for (int i = 0; i < n; i++) most = max(most, out[i]);
  out[n + 1] = most;
  out[n + 2] = out[n / 2];]])
  tap.is(rewritten.found("warp_loop", rewritten.source [[
  for (int i = threadIdx.x; i < n; i++) out[i] = a[i];]]), "", "not of several")
  refused("what it returns from", "warp_loop", rewritten.source [[
  if (n > 90) return;
  for (int i = 0; i < n; i++) out[i] = a[i];]], 1, {}, "leaves it")
end)

tap.case("atomics of a warp", function()
  local text = right("one element", warp_atomic, rewritten.source(T .. [[
  int m = n / 2;
  if (t < n) atomicAdd(&out[m + blockIdx.x], a[t]);]], "int"), 5, {}, INTS)
  tap.has(text, "warp_value += __shfl_xor_sync(0xffffffffu, warp_value, lanes);", "by shuffles")
  text = right("counters", warp_atomic, rewritten.source(T .. [[
  if (t < n)
    atomicAdd(&out[a[t] & 7], 3);]], "int"), 5, { "match" }, INTS)
  tap.has(text, "atomicAdd(place, 3 * __popc(same_place));", "by a match")
  refused("an element of its own", warp_atomic, rewritten.source(T .. [[
  atomicAdd(&out[t], 1);]], "int"), 4, {}, "differs between threads")
  refused("an element that a condition chose", warp_atomic, rewritten.source(T .. [[
  int m = 0;
  if (t < 5) m = 1;
  atomicAdd(&out[m], 1);]], "int"), 6, {}, "differs between threads")
  refused("an element from memory that changes", warp_atomic, rewritten.source(T .. [[
  atomicAdd(&out[out[0] & 1], 1);]], "int"), 4, {}, "differs between threads")
  refused("a result that is used", warp_atomic, rewritten.source(T .. [[
  int was = atomicAdd(&out[0], 1);]], "int"), 4, {}, "no atomicAdd")
  refused("no count", warp_atomic, rewritten.source(T .. [[
  atomicAdd(&out[a[t] & 3], t);]], "int"), 4, { "match" }, "by a constant")
end)

tap.case("counters of a block", function()
  local bytes = 'extern "C" __global__ void k(int *out, const int *a, const int *b, int n)\n{\n'
    .. T .. [[
  for (int i = t; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&out[(unsigned char)a[i] ], b[i]);
}
]]
  local text = right("bytes", block_atomic, bytes, 1, { "out" }, INTS)
  tap.has(text, "__shared__ int out_block[256];", "as many as there are bytes")
  tap.is(rewritten.found(block_atomic, bytes), "1(out)", "where it is proposed")
  right("a mask", block_atomic, rewritten.source(T .. [[
  if (t < n) {
    atomicAdd(&out[a[t] & 31], 1);
    atomicAdd(&out[b[t] & 63], 2);
  }]], "int"), 1, { "out" }, INTS)
  local unknown = rewritten.source(T .. [=[
  if (t < n) atomicAdd(&out[a[t] + 45], b[t]);
  else
    atomicAdd(&out[2 * t], 1);]=], "int")
  text = right("as many as nobody knows", block_atomic, unknown, 1, { "out", "16" }, INTS)
  tap.has(text, "if ((unsigned long long)out_block_place < 16)", "those of the block")
  tap.is(rewritten.found(block_atomic, unknown), "1(out,256) 1(out,1024)", "where it is proposed")
  text = right("threads that leave", block_atomic, rewritten.source(T .. [[
  if (t >= n) return;
  atomicAdd(&out[a[t] & 31], 1);]], "int"), 1, { "out" }, INTS)
  tap.has(text, "} while (false);", "they come to the end")
  right("two elements", block_atomic, rewritten.source(T .. [[
  if (t < n) atomicAdd(&out[0], a[t]);
  atomicAdd(&out[1], 3);]], "int"), 1, { "out" }, INTS)
  right("fractions", block_atomic, rewritten.source(T .. [[
  if (t < n) atomicAdd(&out[(int)(a[t] * a[t]) % 50], b[t]);]], "double"), 1, { "out", "32" },
    { type = "f64", block = 96, grid = 3, limit = 1e-9 })
  refused("no size", block_atomic, unknown, 1, { "out" }, "how many elements")
  refused("more than fit", block_atomic, unknown, 1, { "out", "16384" }, "in 32 KiB")
  refused("what is read too", block_atomic, rewritten.source(T .. [[
  atomicAdd(&out[a[t] & 31], out[5]);]], "int"), 1, { "out" }, "and nothing else")
  refused("threads that leave before a barrier", block_atomic, rewritten.source(T .. [[
  if (t >= n) return;
  __syncthreads();
  atomicAdd(&out[a[t] & 31], 1);]], "int"), 1, { "out" }, "wait for each other")
  refused("threads that leave a loop", block_atomic, rewritten.source(T .. [[
  for (int i = 0; i < n; i++) { if (a[i] == t) return; atomicAdd(&out[i & 31], 1); }]], "int"), 1,
    { "out" }, "returns from inside a loop")
end)

local function sums(loop)
  return rewritten.source(T .. [[
  __shared__ float part[96];
  const int me = threadIdx.x;
  part[me] = t < n ? a[t] : 0.f;
  part[me + blockDim.x] = b[t];
  __syncthreads();
]] .. loop .. [[
  if (me == 0) out[blockIdx.x] = part[0];]])
end

tap.case("the last rounds by a warp", function()
  local least = rewritten.source [[
  __shared__ float near[256];
  __shared__ int who[256];
  int t = threadIdx.x;
  near[t] = a[(blockIdx.x * 7 + t * 5) % 300] + n;
  who[t] = t;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) {
      float other = near[t + half];
      if (other < near[t]) { near[t] = other; who[t] = who[t + half]; }
    }
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + t] = near[0] * 1000.f + who[0];]]
  for _, block in ipairs { 8, 32, 64, 256 } do
    right("where the least is, of " .. block, tree, least, 9, { "warp" }, { block = block })
  end
  local two = rewritten.source [[
  __shared__ float low[128], high[128];
  int t = threadIdx.x, k;
  low[t] = a[t], high[t] = b[t];
  __syncthreads();
  for (k = 64; k >= 1; k >>= 1) {
    if (t < k) low[t] += low[t + k];
    __syncthreads();
    if (t < k)
      high[t] += high[t + k];
    __syncthreads();
  }
  out[t] = low[0] - high[0];]]
  right("two sums in turn, of a variable that was there", tree, two, 7, { "warp" },
    { block = 128, grid = 1, limit = 1e-3 })
  refused("a variable that is used later", tree, (two:gsub("high%[0%];", "%0 out[t] += k;")), 7,
    { "warp" }, "'k' is used elsewhere")
  tap.is(rewritten.found(tree, least), "9(warp)", "where it is proposed")
  local why = "no loop that halves"
  refused("another condition", tree, (least:gsub("t < half", "t <= half")), 9, { "warp" }, why)
  refused("no barrier at the end", tree, (least:gsub("__syncthreads%(%);\n  }", "}")), 9,
    { "warp" }, why)
  refused("others do something, too", tree, (least:gsub("who%[t %+ half%]; }\n    }",
    "%0\n    who[t] += 0;")), 9, { "warp" }, why)
end)

tap.case("a tree of sums", function()
  local source = sums [[
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (me < k) part[me] += part[me + k];
    __syncthreads();
  }
]]
  for _, block in ipairs { 16, 24, 32, 64, 96, 128 } do
    right("in a block of " .. block, tree, source:gsub("96", "256"), 9, {},
      { block = block, limit = 1e-3 })
  end
  local text = rewritten.text(tree, source, 9, {})
  tap.has(text, "lane_value += __shfl_down_sync(0xffffffffu, lane_value, lanes);", "by shuffles")
  right("of greatest", tree, sums([[
  for (unsigned k = blockDim.x / 2; k >= 1; k = k / 2) {
    if (threadIdx.x < k) { part[threadIdx.x] = fmaxf(part[threadIdx.x + k], part[threadIdx.x]); }
    __syncthreads();
  }
]]):gsub("96", "256"), 9, {}, { block = 128, limit = 0 })
  for _, block in ipairs { 16, 64, 96 } do
    text = right("that begins with neighbours, in a block of " .. block, tree, sums([[
  for (int k = 1; k < blockDim.x; k *= 2) {
    if (me % (2 * k) == 0) part[me] += part[me + k];
    __syncthreads();
  }
]]):gsub("96", "256"), 9, {}, { block = block, limit = 1e-3 })
  end
  tap.has(text, "for (int k = blockDim.x / 2; k >= 32; k /= 2)", "is turned around")
  local function halved(behind)
    return rewritten.source(([[
  __shared__ float part[64];
  int me = threadIdx.x;
  for (int turn = 0; turn < 2; turn++) {
  part[me] = a[me] + turn;
  __syncthreads();
  for (int k = 32; k > 0; k >>= 1) {
    if (me < k) part[me] += part[me + k];
    __syncthreads();
  }
  %s
  __syncthreads();
  }]]):format(behind))
  end
  local others = "other elements of part than the first"
  local FIRST = { block = 64, limit = 1e-3 }
  right("whose first element is read", tree, halved "out[me] = part[0];", 8, {}, FIRST)
  right("by the first thread", tree, halved "if (me == 0) out[3] = part[me];", 8, {}, FIRST)
  right("others that are given again", tree, halved [[float sum = part[0];
  __syncthreads();
  part[me] = sum;
  __syncthreads();
  out[me] = part[63 - me];]], 8, {}, FIRST)
  refused("others are asked for", tree, halved "out[me] = part[me];", 8, {}, others)
  refused("another is", tree, halved "if (me == 0) out[3] = part[1];", 8, {}, others)
  refused("in the next turn", tree, (halved("out[me] = part[0];"):gsub("part%[me%] = a",
    "if (turn == 0) %0")), 8, {}, others)
  refused("without a barrier", tree, sums [[
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (me < k) part[me] += part[me + k];
  }
]], 9, {}, "no tree")
  refused("of another step", tree, sums [[
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (me < k) part[me] += part[me + k + 1];
    __syncthreads();
  }
]], 9, {}, "no tree")
  refused("where not all are", tree, sums [[
  if (t < 40) for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (me < k) part[me] += part[me + k];
    __syncthreads();
  }
]], 9, {}, "not all threads")
end)

tap.case("longer rows in shared memory", function()
  local source = rewritten.source [[
  __shared__ float tile[4][8], other[32];
  int x = threadIdx.x % 8, y = threadIdx.x / 8;
  tile[y][x] = a[threadIdx.x];
  other[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x % 4][threadIdx.x / 4] + other[0];]]
  local text = right("longer rows", "pad", source, 3, { "tile" }, { sizes = { 1 } })
  tap.has(text, "tile[4][8 + 1], other[32];", "the last extent")
  tap.is(rewritten.found("pad", source), "3(tile)", "of two dimensions")
  refused("an array whose rows are pointed to", "pad", rewritten.source [[
  __shared__ float tile[4][8];
  float *row = tile[2];
  out[0] = row[9];]], 3, { "tile" }, "no shared array")
  for _, use in ipairs { "float *flat = &tile[0][0]; flat[threadIdx.x] = a[threadIdx.x];",
    "*(float4 *)&tile[threadIdx.x % 4][4] = make_float4(1, 2, 3, 4);",
    "__pipeline_memcpy_async(&tile[0][4], a, 16);",
    "float &first = tile[0][0]; float *flat = &first; flat[threadIdx.x] = a[0];" } do
    refused("an element's address: " .. use, "pad", rewritten.source("  __shared__ float "
      .. "tile[4][8];\n  " .. use .. "\n  out[0] = tile[1][1];"), 3, { "tile" }, "address")
  end
  for body, want in pairs { ["x = v;"] = "4(tile)", ["(&x)[8] = v;"] = "" } do
    tap.is(rewritten.found("pad", "__device__ void put(float &x, float v) { " .. body .. " }\n"
      .. rewritten.source "  __shared__ float tile[4][8];\n  put(tile[1][1], a[0]);"), want, body)
  end
  tap.is(rewritten.found("pad", rewritten.source [[
  __shared__ float tile[4][8];
  atomicAdd(&tile[n & 3][1], a[0]); __pipeline_memcpy_async(&tile[0][4], a, 4);
  out[0] = tile[n & 3][n & tile[1][1] > 0];]]), "3(tile)", "the address of one element alone")
end)

tap.done()
