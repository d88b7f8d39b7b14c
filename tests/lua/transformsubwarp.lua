-- Rows of fewer lanes under transformation: kernels that give a row to a warp, in each way in which
-- people write that, and those that count on there being 32 lanes.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local kernel = require "gilua.transform.kernel"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local subwarp = transform.find "subwarp"

local right, refused = rewritten.judge { 0, 1, 7, 30 }

local HEAD = 'extern "C" __global__ void k(float *out, const float *a, const float *b, int n)\n{\n'

-- Rows of n elements, no more than there are lanes to do them in all; sums are of eighths: exact.
local function launched(block, grid)
  return { block = block or 128, grid = grid or 8, launched = true }
end

local function launch(source, line, lanes)
  local change = assert(subwarp.make(kernel.of_text(source), line, { tostring(lanes) }))
  return change.launch
end

local WHO = [[
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x & 31;
  if (row >= 29) return;
  float sum = 0.0f;
]]
local LOOP = "  for (int c = lane; c < n; c += 32) sum += a[row * 30 + c] * b[c];\n"
local DOWN = [[
  for (int offset = 16; offset > 0; offset >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
]]
local STORE = "  if (lane == 0) out[row] = sum;\n"

local function source(body, before) return (before or "") .. HEAD .. body .. "}\n" end

tap.case("a row's sum", function()
  local plain = source(WHO .. LOOP .. DOWN .. STORE)
  local text = right("by eight lanes", "subwarp", plain, 4, { "8" }, launched())
  tap.has(text, [[
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  int lane = threadIdx.x & 7;
  if (row >= 29) return;
  float sum = 0.0f;
  for (int c = lane; c < n; c += 8) sum += a[row * 30 + c] * b[c];
  for (int offset = 4; offset > 0; offset >>= 1)
    sum += __shfl_down_sync(0xffu << (threadIdx.x & 24), sum, offset, 8);
  if (lane == 0) out[row] = sum;
]], "each place that counts on 32")
  tap.is(launch(plain, 4, 8), "block.x%32 grid.x/4", "a quarter of the blocks")
  text = right("by one thread", "subwarp", plain, 4, { "1" }, launched())
  tap.has(text, [[
  int row = (blockIdx.x * blockDim.x + threadIdx.x);
  int lane = 0;
  if (row >= 29) return;
  float sum = 0.0f;
  for (int c = lane; c < n; c += 1) sum += a[row * 30 + c] * b[c];
  if (lane == 0) out[row] = sum;
]], "without shuffles")
  tap.is(rewritten.found("subwarp", plain), "4(16) 4(8) 4(4) 4(2) 4(1)", "where it is proposed")
  local eight = text and rewritten.text("subwarp", plain, 4, { "8" })
  text = right("and back", "subwarp", eight:gsub("u << %(threadIdx.x & 24%)", "ffffffu"), 4,
    { "32" }, { block = 128, grid = 2, launched = true })
  tap.has(text, "__shfl_down_sync(0xffffffffu, sum, offset, 32)", "of a whole warp")
end)

tap.case("other ways to write it", function()
  local text = right("distances as numbers, the last lane, blocks counted by the kernel", "subwarp",
    source([[
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int row = blockIdx.x * WARPS + warp;
  if (row < 29) {
    float most = 0.0f;
    int c = lane;
    while (c < n) {
      most = fmaxf(most, a[row * 30 + c]);
      c += WARP;
    }
    most = fmaxf(most, __shfl_xor_sync(FULL, most, 16));
    most = fmaxf(most, __shfl_xor_sync(FULL, most, 8));
    most = fmaxf(most, __shfl_xor_sync(FULL, most, 4));
    most = fmaxf(most, __shfl_xor_sync(FULL, most, 2));
    most = fmaxf(most, __shfl_xor_sync(FULL, most, 1));
    if (lane == WARP - 1) out[row] = most;
  }
]], "static constexpr int WARP = 32, UNUSED = 1;\n"):gsub(", UNUSED = 1", "")
      :gsub("^", "#define FULL (~0u)\n#define WARPS 4\n"), 6, { "4" }, launched())
  tap.has(text, [[
  const int lane = threadIdx.x % 4, warp = threadIdx.x / 4;
  const int row = blockIdx.x * (WARPS * 8) + warp;
]], "a block has eight times as many rows")
  tap.has(text, [[
    most = fmaxf(most, __shfl_xor_sync(0xfu << (threadIdx.x & 28), most, 2, 4));
    most = fmaxf(most, __shfl_xor_sync(0xfu << (threadIdx.x & 28), most, 1, 4));
    if (lane == 3) out[row] = most;
]], "as many shuffles as it takes")
  text = right("rows the grid's warps apart, by names of what CUDA says, of threads of the grid",
    "subwarp", source([[
  const unsigned int block = blockIdx.x, width = blockDim.x;
  const unsigned int thread = block * width + threadIdx.x;
  const int lane = thread % warpSize;
  for (int row = thread >> 5; row < 29; row += gridDim.x * blockDim.x / warpSize) {
    float sum = 0.0f;
    const int first = row * 30;
    for (const float *p = a + first + lane; p < a + first + n; p += warpSize) sum += *p;
    for (int d = 1; d < warpSize; d *= 2) sum += __shfl_xor_sync(-1, sum, d);
    sum = __shfl_sync(-1, sum, 0);
    for (int c = lane; c < n; c += 32) out[row * 30 + c] = a[row * 30 + c] - sum;
  }
]]), 5, { "16" }, launched(64, 2))
  tap.has(text, "row += gridDim.x * blockDim.x / 16", "which are more")
  tap.has(text, "thread >> 4", "by a shift")
  text = right("rows of blocks", "subwarp", source([[
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  float sum = 0.0f;
  if (row < 29) {
    for (int c = threadIdx.x; c < n; c += blockDim.x) sum += a[row * 30 + c];
]] .. DOWN:gsub("\n  ", "\n    ") .. [[
    if (threadIdx.x == 0) out[row] = sum;
  }
]]), 6, { "8" }, launched({ 32, 4 }, 8))
  tap.has(text, "0xffu << (threadIdx.y * 8 & 24)", "of which four are in a warp")
  tap.has(text, "c += 8", "by as many as there are")
end)

tap.case("functions", function()
  local SUM = [[
__device__ float warpSum(float v)
{
  #pragma unroll
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  return v;
}
]]
  local body = WHO .. LOOP .. "  sum = warpSum(sum);\n" .. STORE
  local text = right("that only this kernel calls", "subwarp", source(body, SUM), 10, { "2" },
    launched())
  tap.has(text, "for (int d = 1; d > 0; d /= 2) v += __shfl_down_sync(0x3u << (threadIdx.x & 30), "
    .. "v, d, 2);", "are changed")
  text = right("and without its loop", "subwarp", source(body, SUM), 10, { "1" }, launched())
  tap.has(text, "__device__ float warpSum(float v)\n{\n  return v;\n}", "nor the pragma")
  local other = "__global__ void other(float *out) { out[0] = warpSum(out[threadIdx.x]); }\n"
  text = right("that others call too", "subwarp", source(body, SUM .. other), 11, { "8" },
    launched())
  tap.has(text, SUM, "stay as they are")
  tap.has(text, [[
__device__ float warpSum_8(float v)
{
  #pragma unroll
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffu << (threadIdx.x & 24), v, d, 8);
  return v;
}
]], "beside a copy")
  tap.has(text, "sum = warpSum_8(sum);", "which the kernel calls")
end)

tap.case("tiles of cooperative groups", function()
  local text = right("know how many they are", "subwarp", source([[
  namespace cg = cooperative_groups;
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= 29) { return; }
  float sum = 0.0f;
  for (int c = warp.thread_rank(); c < n; c += warp.size()) sum += a[row * 30 + c];
  for (int d = warp.size() / 2; d > 0; d /= 2) sum += warp.shfl_down(sum, d);
  if (warp.thread_rank() == 0) out[row] = sum;
]], "#include <cooperative_groups.h>\n"), 10, { "4" }, launched())
  tap.has(text, "  cg::thread_block_tile<4> warp = cg::tiled_partition<4>(block);", "by their type")
  tap.has(text, "for (int d = warp.size() / 2; d > 0; d /= 2) sum += warp.shfl_down(sum, d);",
    "the rest stays")
  tap.is(rewritten.found("subwarp", source([[
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
  float sum = 0.0f;
  for (int c = tile.thread_rank(); c < n; c += 16) sum += a[row * 30 + c];
  sum = cg::reduce(tile, sum, cg::plus<float>{});
  if (tile.thread_rank() == 0) out[row] = sum;
]])), "6(32) 6(8) 6(4) 6(2) 6(1)", "sums by what comes with them")
end)

-- The line of a body that says what a lane is.
local function line_of_lane(body)
  local before = body:sub(1, body:find("threadIdx.x & 31", 1, true))
  return 3 + select(2, before:gsub("\n", ""))
end

tap.case("what counts on 32 lanes", function()
  local function no(what, body, why)
    refused(what, "subwarp", source(body), line_of_lane(body), { "8" }, why)
  end
  no("a lane has one element", WHO .. "  sum = lane < n ? a[row * 32 + lane] : 0.0f;\n" .. DOWN
    .. STORE, "line 7 has '32', which may count on 32 lanes")
  no("an element of each of 32", WHO .. LOOP .. DOWN .. "  out[row + 32] = sum;\n",
    "line 10 has '32', which may count on 32 lanes")
  no("a lane among others", WHO .. LOOP .. DOWN .. "  if (lane < 4) out[row] = sum;\n",
    "line 10 has 'lane'")
  no("steps of another size", WHO .. LOOP:gsub("+= 32", "+= 64") .. DOWN .. STORE,
    "line 7 has 'lane'")
  no("a sum of half of them", WHO .. LOOP .. DOWN:gsub("= 16", "= 8") .. STORE,
    "line 9 has lanes at a distance that is not understood")
  no("a distance that is left out", WHO .. LOOP .. [[
  sum += __shfl_xor_sync(~0, sum, 16);
  sum += __shfl_xor_sync(~0, sum, 8);
  sum += __shfl_xor_sync(~0, sum, 2);
  sum += __shfl_xor_sync(~0, sum, 1);
]] .. STORE, "line 8 has no shuffle for each distance, as of 4 lanes")
  no("some lanes", WHO .. LOOP .. DOWN:gsub("0xffffffffu", "0xffff") .. STORE,
    "line 9 names some lanes of a warp")
  no("one in the midst", WHO .. LOOP .. "  sum = __shfl_sync(~0, sum, 5);\n" .. STORE,
    "line 8 takes a value from a lane that is not understood")
  no("votes by lane", WHO .. LOOP .. "  out[row] = __popc(__ballot_sync(~0, sum > 0.0f));\n",
    "line 8 has '__ballot_sync'")
  no("shared memory", "  __shared__ float own[4];\n" .. WHO .. LOOP .. STORE,
    "it has shared memory")
  no("a lane's part of a row", WHO .. "  float own[2];\n" .. LOOP .. STORE, "it has an array")
  no("a thread's number", WHO .. LOOP .. DOWN .. "  if (threadIdx.x < n) out[row] = sum;\n",
    "line 10 has 'threadIdx.x'")
  no("the number of a block", WHO .. LOOP .. DOWN .. "  out[row + blockIdx.x] = sum;\n",
    "line 10 has 'blockIdx.x'")
  no("no rows", "  int lane = threadIdx.x & 31;\n  out[blockIdx.x] = lane == 0;\n",
    "begins a kernel without rows of teams")
  refused("no lanes", "subwarp", source "  out[threadIdx.x] = 0.0f;\n", 3, { "8" },
    "begins a kernel without rows of teams")
  refused("too many", "subwarp", source(WHO .. LOOP .. DOWN .. STORE), 4, { "64" },
    "it is written subwarp<LINE>(LANES)")
  refused("as many", "subwarp", source(WHO .. LOOP .. DOWN .. STORE), 4, { "32" },
    "a row is 32 lanes' already")
end)

tap.case("what goes along in a lane's loop", function()
  local function no(what, body, why)
    refused(what, "subwarp", source(body), line_of_lane(body), { "8" }, why)
  end
  local why = ", which counts what a lane did before"
  no("how often it was there", WHO .. "  int k = 0;\n"
    .. "  for (int c = lane; c < n; c += 32, k++) out[row * 30 + c] = a[row * 30 + c] * b[k];\n",
    "line 8 asks for 'k'" .. why)
  no("by more than one", WHO .. "  const float *p = b;\n  int c = lane;\n"
    .. "  while (c < n) { sum += a[c] * *p; p += n; c += 32; }\n" .. DOWN .. STORE,
    "line 9 asks for 'p'" .. why)
  no("what it has so far", WHO .. [[
  for (int c = lane; c < n; c += 32) {
    sum += a[row * 30 + c];
    out[row * 30 + c] = sum;
  }
]], "line 9 stores 'sum', which has what a lane did before")
  local text = right("how many there are, and what begins anew", "subwarp", source(WHO .. [[
  int many = 0, k;
  float best = -100.0f;
  for (int c = lane; c < n; c += 32) {
    for (k = 0; k < 2; k++) sum += a[row * 30 + c] * b[k];
    many++;
    if (a[c] > best) best = a[c];
    float part = sum;
    part += 1.0f;
  }
]] .. DOWN .. DOWN:gsub("sum", "many")
  .. DOWN:gsub("sum %+= (.-);", "best = fmaxf(best, %1);"):gsub("sum", "best")
  .. "  if (lane == 0) out[row] = sum + many + best;\n"), 4, { "4" }, launched())
  tap.has(text, "c += 4", "is put together")
end)

-- The text and what is asked of the launch; the promise.
local function made(text, line, lanes)
  local change, why = subwarp.make(kernel.of_text(text), line, { tostring(lanes) })
  if not change then return why end
  return rewritten.text("subwarp", text, line, { tostring(lanes) }), change.launch, change.promise
end

tap.case("what one that goes along tells another", function()
  local function promise(body) return select(3, made(source(WHO .. body), 4, 4)) end
  tap.has(promise([[
  float most = -1e9f;
  for (int c = lane; c < n; c += 32) {
    float higher = fmaxf(most, a[c]);
    sum = sum * expf(most - higher) + expf(a[c] - higher);
    most = higher;
  }
]]), "comes to the same, however it is shared out", "is promised")
  tap.is(promise(LOOP .. DOWN .. STORE), nil, "a sum alone is none")
  local PLACE = [[
  int at = -1;
  for (int c = lane; c < n; c += 32)
    if (a[c] > sum || at < 0) { sum = a[c]; at = c; }
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_xor_sync(~0u, sum, d);
    int its = __shfl_xor_sync(~0u, at, d);
    if (other > sum || other == sum && its < at) { sum = other; at = its; }
  }
  if (lane == 0) out[row] = at;
]]
  tap.is(promise(PLACE), nil, "nor the greatest, and where it is first")
  tap.has(promise(PLACE:gsub(" || other == sum && its < at", "")),
    "it does not matter which counts", "of equals any is promised")
  refused("an update in memory", "subwarp", source(WHO .. [[
  for (int c = lane; c < n; c += 32) { sum += a[c]; atomicAdd(&out[c], sum); }
]]), 4, { "8" }, "line 7 stores 'sum'")
end)

tap.case("ways to give each other", function()
  local function loop(head, call)
    return made(source(WHO .. LOOP .. ("  %s sum += %s;\n"):format(head, call) .. STORE), 4, 4)
  end
  local down, up = "__shfl_down_sync(~0u, sum, d)", "__shfl_xor_sync(~0u, sum, d)"
  for head, want in pairs {
    ["for (int d = 16; d; d /= 2)"] = "for (int d = 2; d; d /= 2)",
    ["for (int d = 32 / 2; d >= 1; d >>= 1)"] = "for (int d = 2; d >= 1; d >>= 1)",
    ["for (int d = 16; d != 0; d /= 2)"] = "for (int d = 2; d != 0; d /= 2)",
    ["for (int d = 1; d < 32; d <<= 1)"] = "for (int d = 1; d < 4; d <<= 1)",
    ["for (int d = 1; d <= 16; d *= 2)"] = "for (int d = 1; d <= 2; d *= 2)" } do
    tap.has(loop(head, head:find "= 1;" and up or down), want .. " sum += __shfl_", head)
  end
  for _, head in ipairs { "for (int d = 16; d > 1; d /= 2)", "for (int d = 1; d < 16; d *= 2)",
      "for (int d = 16; d > 0; d /= 4)", "for (int d = 1; d <= 32; d *= 2)" } do
    tap.has(loop(head, down), "has lanes at a distance that is not understood", head)
  end
  tap.has(made(source(WHO .. LOOP .. "  for (int d = 16; d > 0; d /= 2) sum += " .. down .. ";\n"
    .. "  for (int d = 4; d > 0; d /= 2) sum += " .. down .. ";\n" .. STORE), 4, 4),
    "line 9 has lanes at a distance that is not understood", "another loop with that name")
  tap.has(loop("int d; for (d = 16; d > 0; d /= 2)", down), "for (d = 2; d > 0; d /= 2)",
    "a variable from before")
  tap.has(loop("for (int d = 16; d > 0; d /= 2)", "__shfl_down_sync(~0u, sum, d, 16)"),
    "has a shuffle among other lanes than a team's", "in halves of a warp")
  local text = made(source(WHO .. LOOP .. [[
  __syncwarp();
  __syncwarp(0xffffffff);
  if (__any_sync(~0u, sum > 1.0f)) out[row + 100] = 1.0f;
  int many = __reduce_add_sync(~0u, (int)sum);
  sum = __shfl_sync(~0u, sum, 31);
  if (lane != 31) return;
  out[row] = many;
]]), 4, 16)
  local mask = "0xffffu << (threadIdx.x & 16)"
  for _, line in ipairs { "__syncwarp(M);\n  __syncwarp(M);", "__any_sync(M, sum > 1.0f)",
      "__reduce_add_sync(M, (int)sum)", "__shfl_sync(M, sum, 15, 16)",
      "if (lane != 15) return;" } do
    tap.has(text, (line:gsub("M", mask)), line)
  end
  right("what the last lane has", "subwarp", source(WHO .. LOOP .. [[
  for (int d = 1; d < 32; d *= 2) {
    float other = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += other;
  }
  sum = __shfl_sync(~0u, sum, 31);
  out[row] = sum;
]]), 4, { "8" }, launched())
  local last = "__device__ float last(float v) { return __shfl_sync(~0u, v, 32 - 1); }\n"
  text = right("and in a copy of a function", "subwarp", source(WHO .. LOOP .. [[
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  out[row] = last(sum);
]], last .. "__global__ void other(float *out) { out[0] = last(out[threadIdx.x]); }\n"), 6, { "4" },
    launched())
  tap.has(text, "{ return __shfl_sync(0xfu << (threadIdx.x & 28), v, 3, 4); }", "its lanes, too")
  local two = made(source(WHO .. [[
  float2 both = make_float2(0.0f, 0.0f);
  for (int c = lane; c < n; c += 32) { both.x += a[c]; both.y += b[c]; }
  for (int d = 16; d > 0; d /= 2) {
    both.x += __shfl_down_sync(~0u, both.x, d);
    both.y += __shfl_down_sync(~0u, both.y, d);
  }
  if (lane == 0) out[row] = both.x * both.y;
]]), 4, 8)
  tap.has(two, "both.y += __shfl_down_sync(0xffu << (threadIdx.x & 24), both.y, d, 8);", "members")
  tap.has(made(source(WHO .. [[
  float2 both = make_float2(1.0f, 0.0f);
  for (int c = lane; c < n; c += 32) both.x += a[c];
  for (int d = 16; d > 0; d /= 2) both.x += __shfl_down_sync(~0u, both.x, d);
]]), 4, 8), "gives each lane more of 'both'", "that begin with something")
end)

tap.case("the launch", function()
  local body = LOOP .. DOWN .. STORE
  local function of(row, lanes, lines)
    local text = source("  int row = " .. row .. ";\n  int lane = threadIdx.x % 32;\n"
      .. (lines or "  if (row >= 29) return;\n") .. "  float sum = 0.0f;\n" .. body)
    local found, launch_text = made(text, 4, lanes)
    return launch_text or found
  end
  local grid = "(blockIdx.x * blockDim.x + threadIdx.x) / 32"
  tap.is(of(grid, 4, ""), "block.x%32 grid.x%8 grid.x/8", "whole groups of blocks without a bound")
  tap.is(of("(blockIdx.y * 96 + threadIdx.x) / 32", 4), "block.x%32 block.x==96 grid.y/8",
    "blocks of the length that is written, along another side")
  tap.is(of("3 + blockIdx.x * 5 + threadIdx.x / 32", 4), "block.x%32 block.x==160 grid.x/8",
    "or by rows")
  tap.is(of("blockIdx.x * 4 + blockIdx.y * 7 + threadIdx.x / 32", 4),
    "block.x%32 block.x==224 grid.y/8", "along one of two")
  tap.has(of("blockIdx.x * 4 + blockIdx.x * 7 + threadIdx.x / 32", 4), "line 3 has 'blockIdx.x'",
    "but once")
  tap.has(of("blockIdx.x * n + threadIdx.x / 32", 4), "counts the rows of a block in its own way",
    "nor by what nobody knows")
  local square = source("  int row = blockIdx.y * 4 + threadIdx.y;\n  if (row >= 29) return;\n"
    .. "  float sum = 0.0f;\n  for (int c = threadIdx.x; c < n; c += 32) sum += a[c];\n"
    .. DOWN .. "  if (!threadIdx.x) out[row] = sum;\n")
  local text, asked = made(square, 6, 16)
  tap.is(asked, "block.x==32 block.y==4 block.x=16 block.y*2 block.z<=1 grid.y/2", "square blocks")
  tap.has(text, "blockIdx.y * 8 + threadIdx.y", "have twice as many rows")
end)

tap.case("functions that cannot be copied", function()
  local SUM = "__device__ float total(float v)\n{\n" .. DOWN:gsub("sum", "v") .. "  return v;\n}\n"
  local OTHER = "__global__ void other(float *out) { out[0] = total(out[threadIdx.x]); }\n"
  local body = WHO .. LOOP .. "  sum = total(sum);\n" .. STORE
  local two = SUM .. "__device__ int total(int v) { return v; }\n"
  tap.has(made(source(body, two .. OTHER), 12, 8), "there are 2 functions total", "of one name")
  tap.has(made(source(body, "#define T(x) total(x)\n" .. SUM .. OTHER), 12, 8),
    "the macro T calls total", "that a macro calls")
  local between = "__device__ float twice(float v) { return 2.0f * total(v); }\n"
  local text = made(source(WHO .. LOOP .. "  sum = twice(sum);\n" .. STORE, SUM .. between
    .. OTHER:gsub("total", "twice")), 12, 8)
  tap.has(text, "__device__ float twice_8(float v) { return 2.0f * total_8(v); }",
    "and their callers")
  tap.has(text, "sum = twice_8(sum);", "which the kernel calls")
  tap.is(subwarp.make(kernel.of_text(source(WHO .. LOOP .. "  sum = twice(sum);\n" .. STORE,
    SUM .. between .. OTHER:gsub("total", "twice"))), 12, { "8" }).alone, true, "outside of it")
  local list = subwarp.find(kernel.of_text(source(body, SUM),
    { open = function(line) return line > 8 end }))
  tap.is(#list, 0, "nor changed where they are not open")
end)

tap.case("what lanes add up", function()
  local function no(what, body, why)
    refused(what, "subwarp", source(body), line_of_lane(body), { "8" }, why)
  end
  local why = "gives each lane more of 'sum' than its part of a row, and lanes add that up"
  local text = right("one lane's besides", "subwarp", source(WHO .. LOOP
    .. "  if (lane == 0) sum += b[row];\n" .. DOWN .. "  sum *= 0.5f;\n" .. STORE), 4, { "8" },
    launched())
  tap.has(text, "if (lane == 0) sum += b[row];", "which stays one's")
  no("all lanes' besides", WHO .. LOOP .. "  sum += b[row];\n" .. DOWN .. STORE, "line 8 " .. why)
  no("what each begins with", WHO:gsub("0%.0f", "0.5f") .. LOOP .. DOWN .. STORE, "line 6 " .. why)
  no("in two steps", WHO:gsub("0%.0f", "b[row]") .. LOOP .. [[
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_down_sync(~0u, sum, d);
    sum += other;
  }
]] .. STORE, "line 6 " .. why)
  no("by who knows whom", WHO .. LOOP .. "  sum = total(sum);\n" .. STORE,
    "something in it is not understood")
  refused("what a function added up before", "subwarp", source(WHO .. LOOP .. [[
  sum = total(sum);
  sum = total(sum);
]] .. STORE, "__device__ float total(float v)\n{\n" .. DOWN:gsub("sum", "v") .. "  return v;\n}\n"),
    10, { "8" }, "line 14 " .. why)
  no("how many they are", WHO .. LOOP .. "  int all = __reduce_add_sync(~0u, 1);\n" .. DOWN
    .. "  if (lane == 0) out[row] = sum * all;\n", "line 8 adds up what is no lane's part of a row")
  no("what one lane alone does before they choose", WHO .. LOOP .. "  if (lane == 0) sum += 1.0f;\n"
    .. DOWN:gsub("sum %+= (.-);", "sum = fmaxf(sum, %1);") .. STORE,
    "line 8 changes 'sum', by which they choose, in one lane alone")
  local own = source(WHO:gsub("0%.0f", "1.0f") .. LOOP .. [[
  for (int d = 16; d > 0; d /= 2) sum = joined(sum, __shfl_down_sync(~0u, sum, d));
]] .. STORE, "__device__ float joined(float u, float v) { return u * v; }\n")
  local change = assert(subwarp.make(kernel.of_text(own), 5, { "4" }))
  tap.is(change.promise, "a lane that has no part of a row changes nothing of what lanes put "
    .. "together", "by a function: promised")
  own = own:gsub("1%.0f", "0.0f")
  change = assert(subwarp.make(kernel.of_text(own), 5, { "4" }))
  tap.is(change.promise, nil, "or known, where each begins with nothing")
  right("the greatest, whatever each begins with", "subwarp", source(WHO:gsub("0%.0f", "b[row]")
    .. "  for (int c = lane; c < n; c += 32) sum = fmaxf(sum, a[c]);\n"
    .. DOWN:gsub("sum %+= (.-);", "sum = fmaxf(sum, %1);") .. STORE), 4, { "4" }, launched())
end)

tap.done()
