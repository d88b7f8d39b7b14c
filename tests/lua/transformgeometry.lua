-- The geometry of a kernel under transformation: threads with several items, rows that lanes share.
-- What is made is right at every size, with the launch that it asks for.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local grammar = require "gilua.transform.grammar"
local kernels = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local merge, merge_threads = transform.find "merge", transform.find "merge_threads"

local BLOCK = 64

-- The answers of a source where each of n items is a thread's, and of what is made of it.
local function difference(source, name, line, args, n, options)
  local kind = type(name) == "table" and name or assert(transform.find(name))
  local change = assert(kind.make(kernels.of_text(source), line, args))
  local text = rewritten.text(name, source, line, args)
  local block = options.block or { BLOCK }
  local as_it_is = { grid = (n + block[1] - 1) // block[1], block = block }
  local changed = launch.changed(as_it_is, change.launch)
  changed.type, as_it_is.type, changed.races = options.type, options.type, options.races
  local want = assert(rewritten.run(source, n, as_it_is))
  local got, why = rewritten.run(text, n, changed)
  if not got then return ("n = %d: %s"):format(n, why) end
  for i = 1, #want do
    if math.abs(got[i] - want[i]) > (options.limit or 0) then
      return ("n = %d, element %d: %s, not %s"):format(n, i, got[i], want[i])
    end
  end
end

-- Right for items around the width of a block and of several.
local function right(what, name, source, line, args, options)
  for _, n in ipairs(options and options.sizes or { 1, 65, 200 }) do
    tap.is(difference(source, name, line, args, n, options or {}), nil,
      ("%s (%s), %d items"):format(what, table.concat(args, ","), n))
  end
end

local function refused(what, name, source, line, args, why)
  local text, reason = rewritten.text(name, source, line, args)
  tap.is(text, nil, what)
  tap.has(reason or "", why, what .. ": why")
  tap.is(rewritten.found(name, source):find("%f[%d]" .. line .. "%("), nil, what .. ": not found")
end

--------------------------------------------------------------------------------------------------
-- coarsen

local ITEMS = rewritten.source [[
    const int i = threadIdx.x + (int)blockIdx.x * blockDim.x;
    if (i >= n) return;
    float x = a[i]; // one
    if (x < 0.f)
        return;
    out[i] += x;]]

tap.case("the text of a coarsened kernel", function()
  tap.is(rewritten.text("coarsen", ITEMS, 3, { "4", "block" }),
    [[extern "C" __global__ void k(float *out, const float *a, const float *b, int n)
{
    #pragma unroll
for (unsigned int part = 0; part < 4; part++) {
    const unsigned int block = blockIdx.x * 4 + part;
    const int i = threadIdx.x + (int)block * blockDim.x;
    if (i >= n) continue;
    float x = a[i]; // one
    if (x < 0.f)
        continue;
    out[i] += x;
    }
}
]], "as it is before its lines are moved in")
  tap.is(rewritten.found("coarsen", ITEMS), "3(2,block) 3(2,grid) 3(2,next) 3(4,block) 3(4,grid) "
    .. "3(4,next) 3(8,block) 3(8,grid) 3(8,next)", "where it is proposed")
end)

tap.case("coarsened kernels are right", function()
  for _, way in ipairs { "block", "grid", "next" } do
    right("a return", "coarsen", ITEMS, 3, { "4", way })
  end
  right("inside an if, the block used twice", "coarsen", rewritten.source [[
    int t = threadIdx.x;
    unsigned i = blockIdx.x * 64 + t;
    if (b[0] < 90.f && i < n) {
        out[i] = a[i] + blockIdx.x;
    }]], 4, { "2", "grid" })
  right("a call that writes nobody knows what", "coarsen",
    "__device__ void put(float *&at, float x) { float *p = at; *p = x; }\n"
      .. rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *mine = out + i;
    if (i < n) put(mine, a[i]);]], 4, { "2", "block" })
  right("coarsened twice", "coarsen", rewritten.text("coarsen", rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < 1) out[i + j] = a[i];]], 4, { "2", "grid" }), 6, { "2", "block" })
end)

tap.case("what is not coarsened", function()
  local function of(body) return rewritten.source("    " .. body) end
  local args = { "2", "block" }
  refused("no guard", "coarsen",
    of "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    out[i] = 0.f;", 3, args,
    "line 4 does something")
  refused("something before the guard", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[blockIdx.x] = 1.f;
    if (i < n) out[i] = 0.f;]], 3, args, "line 4 does something")
  refused("a barrier", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float s[64];
    if (i < n) s[threadIdx.x] = a[i];
    __syncthreads();
    if (i < n) out[i] = s[0];]], 3, args, "wait for each other")
  refused("the grid's size", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gridDim.x;]], 3, args, "gridDim")
  refused("a return from a loop", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) { if (a[j] > 5.f) return; out[i] += a[j]; }]], 3, args,
    "line 5 returns from inside a loop")
  refused("what may be a barrier", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = a[i]; group.sync(); }]], 3, args,
    "wait for each other")
  refused("a method", "coarsen", of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = group.lanes();]], 3, args, "line 4 calls what is not known")
  refused("a barrier in a function", "coarsen",
    "__device__ void all() { asm volatile(\"bar.sync 0;\"); }\n" .. of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = a[i]; all(); }]], 4, args,
    "line 1 is not understood")
  refused("a macro with blockIdx", "coarsen", "#define B blockIdx.x\n" .. of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = B;]], 4, args, "the macro B has a blockIdx")
  refused("a function with blockIdx", "coarsen",
    "__device__ int which() { return blockIdx.x; }\n" .. of [[
int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = which();]], 4, args, "the function which uses blockIdx")
  refused("two names on one line with the brace", "coarsen",
    'extern "C" __global__ void k(float *out, int n) {'
      .. " int i = blockIdx.x * blockDim.x + threadIdx.x;\n if (i < n) out[i] = 0.f;\n}\n", 1, args,
    "braces share lines")
  tap.is(rewritten.text("coarsen", ITEMS, 3, { "4", "side" }), nil, "an unknown way")
  tap.is(rewritten.text("coarsen", ITEMS, 4, args), nil, "another line")
end)

--------------------------------------------------------------------------------------------------
-- grid_stride

tap.case("blocks that go on", function()
  tap.has(rewritten.text("grid_stride", ITEMS, 3, { "2" }), [[
for (unsigned int block = blockIdx.x; (long long)block * blockDim.x < n; block += gridDim.x) {
    const int i = threadIdx.x + (int)block * blockDim.x;
    if (i >= n) continue;
]], "the loop's head")
  tap.is(rewritten.found("grid_stride", ITEMS), "3(132) 3(264) 3(528) 3(1056)", "proposed")
  right("a return", "grid_stride", ITEMS, 3, { "2" })
  right("inside an if, a bound that is computed", "grid_stride", rewritten.source [[
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n - 1) out[i] = a[i] + blockIdx.x;]], 3, { "1" })
end)

tap.case("blocks that do not", function()
  local SUMS = rewritten.source [[
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&out[2], 2.f * a[i]);
    if (a[i] > 0.f) atomicAdd(out + 1, 1.f);
  }]]
  local sizes = { 1, 31, 33, 100, 4000 }
  right("sums of a thread", "grid_stride", SUMS, 3, { "3", "sum" }, { sizes = sizes, limit = 1e-2,
    races = true })
  right("warps that are not whole", "grid_stride", SUMS, 3, { "3", "sum" },
    { sizes = sizes, limit = 1e-2, block = { 48 } })
  local text = rewritten.text("grid_stride", SUMS, 3, { "3", "sum" })
  tap.has(text, "if (a[i] > 0.f) out_sum_too += 1.f;", "each place has its own")
  tap.is(select(2, text:gsub("atomicAdd%(&out%[2%]", "")), 2, "added once, by one lane or by each")
  tap.has(rewritten.found("grid_stride", SUMS), "3(132) 3(132,sum)", "where it is proposed")
  local _, why = rewritten.text("grid_stride", (SUMS:gsub("atomicAdd%(out %+ 1, 1.f%)",
    "out[1] = a[i]")), 3, { "3", "sum" })
  tap.has(why, "something else with 'out'", "another use of the array")
  _, why = rewritten.text("grid_stride", (SUMS:gsub("&out%[2%]", "&out[i]")
    :gsub("out %+ 1", "out + i")), 3, { "3", "sum" })
  tap.has(why, "no element that is the same", "a place of the thread's")
  refused("a bound in memory", "grid_stride", rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a[3]) out[i] = a[i];]], 3, { "2" }, "not made of parameters alone")
  refused("a bound that is written", "grid_stride", rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = n++;]], 3, { "2" }, "not made of parameters alone")
  refused("another index", "grid_stride", rewritten.source [[
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) out[i] = 0.f;]], 3, { "2" }, "is not blockIdx * blockDim + threadIdx")
end)

--------------------------------------------------------------------------------------------------
-- warp_row

local ROWS = rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        double sum = 0.0, count = 3.0;
        double big = a[row * 5];
        for (int j = 0; j < 19; j++) {
            const double x = a[row * 5 + j];
            sum += x * b[j];
            if (x > 0.0) count -= 1.0;
            if (x > big) big = x;
        }
        out[row] = sum + count + big;
    }]], "double")

tap.case("the text of rows that lanes share", function()
  local text = rewritten.text("warp_row", ROWS, 3, { "32" })
  tap.has(text, [[
    const int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row < n) {
        double sum = 0.0, count = 3.0;
        double big = a[row * 5];
        if (lane != 0) count = 0;
        for (int j = lane; j < 19; j += 32) {
]], "the loop's head")
  tap.has(text, [[
        for (int step = 16; step > 0; step /= 2) {
            { const double other = __shfl_xor_sync(0xffffffffu, big, step);]]
    .. [[ if (other > big) big = other; }
            count += __shfl_xor_sync(0xffffffffu, count, step);
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        if (lane == 0) out[row] = sum + count + big;
]], "what is put together")
  tap.is(rewritten.found("warp_row", ROWS), "3(32) 3(16) 3(8) 3(4) 3(256) 3(128)",
    "where it is proposed")
end)

tap.case("the manual's rows", function()
  local page = assert(io.open "docs/transformations.md"):read "a"
  local before, after = page:match "```c\n(.-)```.-```c\n(.-)```"
  local head = "__global__ void k(const double *a, double *s, int rows, int cols)\n{\n"
  tap.is(rewritten.text("warp_row", head .. before .. "}\n", 3, { "32" }), head .. after .. "}\n",
    "what it says is what is done")
end)

tap.case("rows that lanes share are right", function()
  local doubles = { type = "f64", limit = 1e-9 }
  for _, lanes in ipairs { "32", "16", "8", "4" } do
    right("sum, count and greatest", "warp_row", ROWS, 3, { lanes }, doubles)
  end
  right("two loops, one that writes", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = 0.0;
    for (int j = 1; j <= 15; j += 2) sum = sum + a[row * 7 + j];
    for (int j = 0; j < 9; j++)
        out[row * 9 + j] = b[j] * sum;]], "double"), 3, { "8" }, doubles)
  right("blocks with two sides", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x, part = threadIdx.y;
    double sum = 0.0;
    for (int j = part; j < 20; j++) sum += a[row + j];
    if (row < n) out[row * 4 + part] = sum;]], "double"), 3, { "8" },
    { type = "f64", limit = 1e-9, block = { 16, 4 } })
  right("a loop within one that all lanes do", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double all = 0.0, sum = 0.0;
    for (int k = 0; k < 3; k++) {
        for (int j = row; j < row + 20; j++) sum += a[j + k];
        all = all * 0.5 + sum;
    }
    out[row] = all;]], "double"), 3, { "16" }, doubles)
  local alone = rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        double sum = 0.0, was = out[row];
        for (int j = 0; j < 21; j++) {
            if (j == row) continue;
            sum += a[j] - was;
        }
        double now = out[row] * 0.5 + sum;
        if (now < 0.0) now = -now;
        out[row] = now;
        out[row + 2048] = out[row] + was;
    }]], "double")
  right("one lane goes on alone", "warp_row", alone, 3, { "8" }, doubles)
  tap.has(rewritten.text("warp_row", alone, 3, { "32" }), [[
        }
        __syncwarp(0xffffffffu);
        if (lane != 0) return;
        double now]], "the others leave")
  local nearest = rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int best = 1000000, where = -1;
    for (int j = 2; j < 40; j++) {
        int d = a[row] - b[j];
        d = d * d / 9;
        if (d < best) {
            best = d;
            where = j;
        }
    }
    out[row] = where * 100000 + best;]], "int")
  right("the nearest, the first of equals", "warp_row", nearest, 3, { "32" }, { type = "i32" })
  right("the farthest", "warp_row", nearest:gsub("d < best", "best < d"):gsub("1000000", "-1")
    :gsub("where", "other"), 3, { "4" }, { type = "i32" })
  refused("the last of equals", "warp_row", nearest:gsub("d < best", "d <= best"), 3, {}, "no loop")
  refused("another place", "warp_row", nearest:gsub("= j;", "= n - j;"), 3, {}, "no loop")
  refused("a place that is read", "warp_row", nearest:gsub("d / 9", "d / 9 + where"), 3, {},
    "no loop")
  right("bounds in memory", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int most = a[row] > 0 ? 1 : 0;
    for (int j = b[row] < 0 ? 0 : 3; j < a[row + 1]; ++j) most = max(most, a[j]);
    out[row] -= most;]], "int"), 3, { "8" }, { type = "i32" })
end)

tap.case("rows that a block shares", function()
  local blocks = { type = "f64", limit = 1e-9, races = true }
  for _, lanes in ipairs { "256", "64" } do
    right("sum, count and greatest " .. lanes, "warp_row", ROWS, 3, { lanes }, blocks)
  end
  tap.is(transform.find("warp_row").make(kernels.of_text(ROWS), 3, { "64" }).launch,
    "grid.x@1 block.x=64 block.y==1 block.z==1", "a block for each row")
  tap.has(rewritten.text("warp_row", ROWS, 3, { "128" }), [[
        {
            __shared__ double big_of[4];
            __shared__ double count_of[4];
            __shared__ double sum_of[4];
            if (lane % 32 == 0) big_of[lane / 32] = big;
            if (lane % 32 == 0) count_of[lane / 32] = count;
            if (lane % 32 == 0) sum_of[lane / 32] = sum;
            __syncthreads();
            big = big_of[0];
            count = count_of[0];
            sum = sum_of[0];
            for (int warp = 1; warp < 4; warp++) {
                { const double other = big_of[warp]; if (other > big) big = other; }
                count += count_of[warp];
                sum += sum_of[warp];
            }
            __syncthreads();
        }
        if (lane == 0) out[row] = sum + count + big;
]], "as a person would write it")
  right("what others read", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = 0.0;
    for (int j = 0; j < 50; j++) sum += a[row + j];
    out[row * 51] = sum;
    for (int j = 0; j < 50; j++) out[row * 51 + j + 1] = b[j] * out[row * 51];
    for (int j = 0; j < 50; j++) sum += out[row * 51 + 50 - j];
    out[row * 51] = sum;]], "double"), 3, { "64" },
    { type = "f64", limit = 1e-9, races = true, sizes = { 1, 65, 80 } })
  right("the nearest, the first of equals", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int best = 1000000, where = -1;
    for (int j = 2; j < 140; j++) {
        int d = a[row] - b[j];
        d = d * d / 9;
        if (d < best) {
            best = d;
            where = j;
        }
    }
    out[row] = where * 100000 + best;]], "int"), 3, { "128" },
    { type = "i32", races = true })
  for _, lanes in ipairs { "8", "64" } do
    right("elements that are added to " .. lanes, "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    for (int j = 0; j < 100; j++) atomicAdd(&out[(row * 7 + j * j) % 300], a[row + j]);
    atomicAdd(out, 3);]], "int"), 3, { lanes }, { type = "i32", races = true })
  end
  local nested = rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = b[row], most = 0.0;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 37 + k; j++) sum += a[row * 3 + k * 40 + j];
    for (int k = 0; k < 2; k++)
        for (int j = 5; j < 37; j++) most = fmax(most, a[row + k * 40 + j]);
    for (int k = 1; k < 14; k += 3)
        for (int j = k; j < 75; j += 2) sum += a[row + k * 40 + j];
    out[row] = sum * most;]], "double")
  for _, args in ipairs { { "64" }, { "64", "nest" }, { "256", "nest" } } do
    right("loops within each other", "warp_row", nested, 3, args, blocks)
  end
  tap.has(rewritten.text("warp_row", nested, 3, { "64", "nest" }), [[
    for (int k = 1 + 3 * (lane / 32); k < 14; k += 6)
        for (int j = k + 2 * (lane % 32); j < 75; j += 64) sum += a[row + k * 40 + j];
]], "the loops' heads")
  local function no_nest(what, source, lanes, why)
    tap.has(select(2, rewritten.text("warp_row", source, 3, { lanes, "nest" })), why, what)
  end
  no_nest("lanes of one warp", nested, "32", "one warp")
  no_nest("one loop", ROWS, "64", "is all of another's body")
  no_nest("a sum for each round", rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float most = 0;
    for (int k = 0; k < 3; k++) {
        float sum = 0;
        for (int j = 0; j < 37; j++) sum += a[row * 3 + k * 40 + j];
        most = fmaxf(most, sum);
    }
    out[row] = most;]], "64", "is all of another's body")
  tap.has(select(2, rewritten.text("warp_row", rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int j = 0; j < 9; j++) { s += a[row * 9 + j]; out[row * 9 + j] = s; }]], 3, { "64" })),
    "a block's threads do not share a running sum", "a running sum")
end)

tap.case("running sums of rows that lanes share", function()
  local doubles = { type = "f64", limit = 1e-9, races = true }
  local both = rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double s = b[row];
    for (int j = 0; j < 9; j++) {
        const double v = a[row * 9 + j]; // its own
        out[row * 19 + 2 * j] = s;
        s += v * v;
        out[row * 19 + 2 * j + 1] = s > 9.0 ? 0.5 * s : s;
    }
    out[row * 19 + 18] = s;]], "double")
  for _, lanes in ipairs { "32", "8", "4" } do
    right("before and behind", "warp_row", both, 3, { lanes }, doubles)
  end
  tap.has(rewritten.text("warp_row", both, 3, { "8" }), [[
    for (int j = 0; j < 9; j += 8) {
        int at = j + lane;
        const bool has = at < 9;
        if (!has) at = j;
        const double v = a[row * 9 + at];
        double part = has ? v * v : 0;
        for (int step = 1; step < 8; step *= 2) {
            const double other = __shfl_up_sync(mask, part, step, 8);
            if (lane >= step) part += other;
        }
        const double s_here = s + part;
        double s_prior = __shfl_up_sync(mask, part, 1, 8);
        s_prior = lane > 0 ? s + s_prior : s;
        if (has) {
            out[row * 19 + 2 * at] = s_prior;
            out[row * 19 + 2 * at + 1] = s_here > 9.0 ? 0.5 * s_here : s_here;
        }
        s += __shfl_sync(mask, part, 7, 8);
    }
]], "as a person would write it")
  local ints = { type = "i32", races = true }
  right("taken away, by twos, with the greatest", "warp_row", rewritten.source([[
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    int s = 5, most = -9, j;
    if (row >= n) return;
    for (j = 1; j <= 14; j += 2) {
        s = s - a[row * 3 + j];
        if (s > most) most = s;
    }
    out[row] = s + 100 * most;]], "int"), 3, { "4" }, ints)
  for what, loop in pairs {
    ["in some iterations"] =
      "for (int j = 0; j < 11; j++) { if (a[j] > b[row]) { s += a[j]; } out[row * 11 + j] = s; }",
    ["where one of two says so, less a choice"] =
      "for (int j = 0; j < 11; j++) { out[row * 11 + j] = s; "
      .. "if (a[j] > 1 ? b[j] > 2 : b[j] < 1) s -= a[row] > 3 ? j : b[j]; }",
    ["from the end on"] = "for (int j = 10; j >= 0; j--) { s += a[row * 11 + j]; "
      .. "out[row * 11 + j] = s; }",
    ["from the end on, by twos, before"] = "for (int j = 4 * 4; j > 1; j -= 2) { "
      .. "out[row * 17 + j] = s; s -= a[j] * b[row]; }",
  } do
    for _, lanes in ipairs { "4", "32" } do
      right(what .. " " .. lanes, "warp_row", rewritten.source([[
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int s = 5;
]] .. loop, "int"), 3, { lanes }, ints)
    end
  end
  right("an element that goes along", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    out[row * 20] = 7;
    for (int j = 1; j < 20; j++)
        out[row * 20 + j] = out[row * 20 + j - 1] + a[j] * b[row];]], "int"), 3, { "16" }, ints)
  tap.has(rewritten.text("warp_row", rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 1; j < n; j++) out[row * n + j] += out[row * n + j - 1];]], 3, { "4" }),
    "if (has_rounds) out_carried = out[row * n];", "the first of them")
  right("an offset", "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int at = row, sum = 0;
    for (int j = 0; j < 11; j++) {
        sum += a[at] * b[j];
        at += 3;
    }
    out[row] = sum;]], "int"), 3, { "8" }, ints)
  local function none(what, body, type, why)
    refused(what, "warp_row", rewritten.source([[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    int s = 0, w = 1;
]] .. body, type or "int"), 3, { "8" }, why or "no loop")
  end
  none("not a sum", "for (int j = 0; j < 9; j++) { s = 3 * s + a[j]; out[row * 9 + j] = s; }")
  none("made of itself", "for (int j = 0; j < 9; j++) { s += s * a[j]; out[row * 9 + j] = s; }")
  none("set anew", "for (int j = 0; j < 9; j++) { s += a[j]; out[row * 9 + j] = s; s = s % 7; }")
  none("in some iterations and in others otherwise", [[
    for (int j = 0; j < 9; j++) { if (a[j] > 0) s += 1; else s -= 2; out[row * 9 + j] = s; }]])
  none("where it is large", [[
    for (int j = 0; j < 9; j++) { if (s < 5) s += a[j]; out[row * 9 + j] = s; }]])
  none("where what is written before says so", [[
    for (int j = 0; j < 9; j++) {
      out[row * 9 + j] = s;
      if (out[row * 9 + j] > 3) s += a[j];
    }]])
  none("from the end on, with the first of the greatest", [[
    int at = 0, most = 0;
    for (int j = 8; j >= 0; j--) {
      s += a[j]; out[row * 9 + j] = s;
      if (a[j] > most) { most = a[j]; at = j; }
    }
    out[4000] = at;]])
  none("from the end on, by a number without a sign", [[
    for (unsigned j = 8; j > 0; j--) { s += a[j]; out[row * 9 + j] = s; }]])
  none("of another running one",
    "for (int j = 0; j < 9; j++) { s += w; w += a[j]; out[row * 9 + j] = s; }")
  none("what is added is written before", [[
    for (int j = 0; j < 9; j++) { out[row * 9 + j] = s + 1; s += out[row * 9 + j]; }]])
  none("cut to a whole number each time",
    "for (int j = 0; j < 9; j++) { s += a[j] * 0.3; out[row * 9 + j] = s; }", "double")
end)

tap.case("lanes that wait for what one writes", function()
  local function of(what, body, lanes)
    body = "    int row = blockIdx.x * blockDim.x + threadIdx.x;\n" .. body
    local source = rewritten.source(body, "int")
    right(what, "warp_row", source, 3, { lanes }, { type = "i32" })
    return rewritten.text("warp_row", source, 3, { "32" })
  end
  local text = of("read by a later loop", [[
    if (row >= n) return;
    out[row] = out[row] / 2 + 1;
    int x = 0;
    for (int j = 0; j < 35; j++) x += a[j] * out[row];
    out[row + 2048] = x;]], "8")
  tap.has(text, [[
    __syncwarp(0xffffffffu);
    if (lane == 0) out[row] = out[row] / 2 + 1;
    __syncwarp(0xffffffffu);
]], "before and behind")
  of("in the next round", [[
    for (int k = 0; k < 3; k++) {
        int x = out[row];
        for (int j = 0; j < 40; j++) x += a[j];
        if (k < 2) out[row] = x % 1000;
    }]], "4")
  of("behind the block", [[
    int x = 0;
    if (row < n) {
        for (int j = 0; j < 33; j++) x += a[j];
        out[row] = x;
    }
    out[row + 2048] = out[row] + x;]], "32")
  text = of("what a loop writes", [[
    if (row >= n / 8) return;
    for (int j = 0; j < 8; j++) out[8 * row + j] -= a[j];
    out[2048 + row] = out[8 * row] + out[8 * row + 5];]], "4")
  tap.has(text, "-= a[j];\n    __syncwarp(0xffffffffu);\n", "behind the loop")
end)

tap.case("sums in memory, in loops as they were once written", function()
  local summing = rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        out[row] = 0;
        int j;
        for (j = 0; j < 37; j++) {
            out[row] += a[(row + 3 * j) % 64] * b[j];
        }
    }]]
  local numbers = { type = "i32" }
  local whole = summing:gsub("float", "int")
  for _, lanes in ipairs { "32", "4" } do
    right("of products", "warp_row", whole, 3, { lanes }, numbers)
  end
  local text, says = rewritten.text("warp_row", whole, 3, { "32" })
  tap.has(text, [[
        int out_kept = 0;
        int j;
        for (j = lane; j < 37; j += 32) {
            out_kept += a[(row + 3 * j) % 64] * b[j];
        }
]], "in a variable")
  tap.has(text, "        if (lane == 0) out[row] = out_kept;\n", "stored by one lane")
  tap.has(says, "; what its loops update is kept in variables", "said")
  tap.is(rewritten.found("warp_row", summing), "3(32) 3(16) 3(8) 3(4) 3(256) 3(128)",
    "where it is proposed")
  right("two, by one variable", "warp_row", whole:gsub("    }$", "", 1):gsub("    }\n}\n$", [[
        for (j = 1; j <= n; j++) out[row] -= b[j];
    }
}
]]), 3, { "8" }, numbers)
  refused("a loop's variable that is asked for behind it", "warp_row",
    whole:gsub("    }\n}\n$", "        out[row] += j;\n    }\n}\n"), 3, {}, "no loop")
  refused("one that somebody points to", "warp_row",
    whole:gsub("int j;", "int j; int *p = &j;"), 3, {}, "no loop")
  refused("sums of which each needs the other", "warp_row",
    whole:gsub("%+= a", "= out[row] / 2 + a"), 3, {}, "no loop")
end)

tap.case("rows that stay a thread's", function()
  local function of(body)
    return rewritten.source("    int row = blockIdx.x * blockDim.x + threadIdx.x;\n" .. body)
  end
  refused("no loop", "warp_row", of "    out[row] = a[row];", 3, {}, "no loop")
  refused("a chain of iterations", "warp_row", of [[
    float x = 0.f;
    for (int j = 0; j < n; j++) x = x * 0.5f + a[j];
    out[row] = x;]], 3, {}, "no loop")
  refused("a sum that is read within", "warp_row", of [[
    float x = 0.f;
    for (int j = 0; j < n; j++) { x = a[j] - x; out[row * n + j] = x; }]], 3, {}, "no loop")
  refused("a loop that is left", "warp_row", of [[
    float x = 0.f;
    for (int j = 0; j < n; j++) { if (a[j] > 2.f) break; x += a[j]; }
    out[row] = x;]], 3, {}, "no loop")
  refused("neighbours meet in memory", "warp_row", of [[
    for (int j = 1; j < n; j++) out[row * n + j] *= out[row * n + j - 1];]], 3, {}, "no loop")
  refused("elements around its own", "warp_row", of [[
    for (int j = 0; j < n; j++) {
        int k = 0;
        while (k < 4) out[row * n + j + k++] = a[j];
    }]], 3, {}, "no loop")
  refused("an array of the thread's", "warp_row", of [[
    float x[8], sum = 0.f;
    for (int j = 0; j < 8; j++) x[j] = a[row * 8 + j];
    for (int j = 0; j < 8; j++) sum += x[j] * x[7 - j];
    out[row] = sum;]], 3, {}, "fills an array")
  refused("the place in the block matters", "warp_row", of [[
    float x = threadIdx.x;
    for (int j = 0; j < n; j++) x += a[j];
    out[row] = x;]], 3, {}, "threadIdx.x is used for more")
end)

--------------------------------------------------------------------------------------------------
-- grid_size

-- A kernel in which a thread goes over items by the grid's width.
local function striding(head, rest, before)
  return rewritten.source(([[
    int t = threadIdx.x, s = 0;
%s    for (%s) {
        out[i] = out[i] + 2 * a[i];
        s += a[i];
    }
%s]]):format(before or "", head, rest or ""), "int")
end

local HEAD = "int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x"
local INTS = { type = "i32" }

tap.case("more blocks for loops by the grid's width", function()
  tap.is(rewritten.found("grid_size", striding(HEAD)), "4(2) 4(4) 4(8) 4(16)", "proposed")
  local change = transform.find("grid_size").make(kernels.of_text(striding(HEAD)), 4,
    { "8" })
  tap.is(change.launch, "grid.x*8", "the launch")
  right("a sum of all", "grid_size", striding(HEAD, "    atomicAdd(&out[n + 1], s);"), 4, { "4" },
    INTS)
  right("names for both", "grid_size", striding("int i = first; i < n; i += stride",
    "    if (first == 0) atomicAdd(&out[n], a[3]);", [[
    const int first = t + blockDim.x * blockIdx.x; int stride = (int)gridDim.x * blockDim.x;
]]), 5, { "2" }, INTS)
  local LOOP = "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    .. "i += gridDim.x * blockDim.x) "
  refused("blocks that add something besides", "grid_size", rewritten.source("    float s = 1;\n"
    .. LOOP .. "s += a[i];\n    atomicAdd(out, s);"), 4, { "2" }, "counts, outside of the loop")
  local function promised(body)
    local source = rewritten.source("    float s = 0;\n" .. LOOP .. body)
    return transform.find("grid_size").make(kernels.of_text(source), 4, { "2" }).promise
  end
  tap.is(promised "{ s += a[i]; out[i] = s; }",
    "no iteration of the loop at line 4 asks for `s` of another", "a sum as it stands is a promise")
  tap.is(promised "{ s += a[i]; out[i] = a[i]; }", nil, "a sum is none")
  right("a block for an item", "grid_size", rewritten.source([[
    for (int row = blockIdx.x; row < n; row += gridDim.x)
        if (threadIdx.x < 3) out[3 * row + threadIdx.x] -= a[row];]], "int"), 3, { "16" }, INTS)
end)

tap.case("where the number of blocks matters", function()
  refused("what each block writes", "grid_size", striding(HEAD, "    out[blockIdx.x] = s;"), 4,
    { "2" }, "line 8 uses blockIdx.x for more")
  refused("what is written once a thread", "grid_size", striding(HEAD, "    out[t] = s;"), 4,
    { "2" }, "line 8 writes, outside")
  refused("blocks are counted", "grid_size", striding(HEAD, "    atomicAdd(&out[n], 1);"), 4,
    { "2" }, "line 8 counts, outside")
  refused("the grid's size", "grid_size", striding(HEAD, "    atomicAdd(&out[n], gridDim.x);"), 4,
    { "2" }, "line 8 uses gridDim.x for more")
  refused("its name", "grid_size", striding("int i = first; i < n; i += gridDim.x * blockDim.x",
    "    atomicAdd(&out[n], first);", "    int first = blockIdx.x * blockDim.x + t;\n"), 5, { "2" },
    "line 9 uses first for more")
  refused("another step", "grid_size", striding(
    "int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * 64"), 4, { "2" },
    "no loop goes on by the grid's width")
  refused("a step of two widths", "grid_size", striding(
    "int i = blockIdx.x * blockDim.x + t; i < n; i += 2 * gridDim.x * blockDim.x"), 4, { "2" },
    "no loop goes on by the grid's width")
  refused("a loop that is left", "grid_size", rewritten.source([[
    for (int i = blockIdx.x; i < n; i += gridDim.x) { if (a[i] > 3) break; out[i] = 1; }]], "int"),
    3, { "2" }, "left before its end")
  refused("a start that changes", "grid_size", striding("int i = t; i < n; i += gridDim.x", nil,
    "    t = t * gridDim.x;\n"), 5, { "2" }, "no loop goes on")
end)

--------------------------------------------------------------------------------------------------
-- merge

local TAPS = rewritten.source [[
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.f;
    for (int k = 0; k < 9; k++)
        sum += b[k] * a[i + k]; // both
    out[i] = sum;]]

-- Tiles in shared memory, of which one is the same for neighbours along x; a macro for an element.
local TILES = [[
#define PART(i) mine[(i) + 1]
]] .. rewritten.source [[
    __shared__ float mine[66], common[8];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.f;
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x < 8) common[threadIdx.x] = b[8 * k + threadIdx.x];
        PART(threadIdx.x) = i < n ? a[i + k] : 0.f;
        __syncthreads();
        for (int j = 0; j < 8; j++) sum += common[j] * PART((threadIdx.x + j) % 64);
        __syncthreads();
    }
    if (i < n) out[i] = sum;]]

tap.case("blocks that become one", function()
  tap.is(rewritten.text(merge, TAPS, 1, { "x", "2" }),
    [[extern "C" __global__ void k(float *out, const float *a, const float *b, int n)
{
    int i_all[2];
    #pragma unroll
    for (int part = 0; part < 2; part++) {
        const unsigned int block = blockIdx.x * 2 + part;
        auto &i = i_all[part];
        i = block * blockDim.x + threadIdx.x;
    }
    bool together = true;
    #pragma unroll
    for (int part = 0; part < 2; part++) {
        auto &i = i_all[part];
        if (i >= n) together = false;
    }
    if (together) {
    float sum_all[2];
    #pragma unroll
    for (int part = 0; part < 2; part++) {
        auto &sum = sum_all[part];
        sum = 0.f;
    }
    #pragma unroll
    for (int k = 0; k < 9; k++)
        {
        #pragma unroll
        for (int part = 0; part < 2; part++) {
            auto &i = i_all[part];
            auto &sum = sum_all[part];
            sum += b[k] * a[i + k];
        }
        } // both
    #pragma unroll
    for (int part = 0; part < 2; part++) {
        auto &i = i_all[part];
        auto &sum = sum_all[part];
        out[i] = sum;
    }
    } else {
        #pragma unroll 1
        for (int part = 0; part < 2; part++) {
            auto i = i_all[0];
            #pragma unroll
            for (int other = 1; other < 2; other++)
                if (part == other) i = i_all[other];
            if (i >= n) continue;
            float sum = 0.f;
            for (int k = 0; k < 9; k++)
                sum += b[k] * a[i + k];
            out[i] = sum;
        }
    }
}
]], "the text")
  tap.is(rewritten.found(merge, TAPS), "1(x,2) 1(x,4) 1(x,8)", "where it is proposed")
  local text = rewritten.text(merge, TILES, 2, { "x", "4" })
  tap.has(text, "__shared__ float mine_all[4][66];", "a tile of its own for each")
  tap.has(text, "if (threadIdx.x < 8) common[threadIdx.x] = b[8 * k + threadIdx.x];\n",
    "one for all")
end)

tap.case("where the condition does not hold for all blocks", function()
  local function work(body)
    return rewritten.source([[
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i / 2;
    if (i < n) {
        float sum = 0.f;
        for (int k = 0; k < 9; k++) sum += a[i + k] * b[k];
]] .. body .. "        out[i] = sum;\n    }")
  end
  local reading, changing = work "        sum += b[j];\n", work "        i = j * 2 + i % 2;\n"
  local text = rewritten.text(merge, reading, 1, { "x", "4" })
  tap.has(text, "if (part == other) { i = i_all[other]; j = j_all[other]; }",
    "what is read is a copy")
  tap.is(assert(gi.compile(text, { target = "ptx" })):find("%.local"), nil, "none is in memory")
  right("two that it reads", merge, reading, 1, { "x", "4" })
  text = rewritten.text(merge, changing, 1, { "x", "4" })
  tap.has(text:match "else {(.*)", "auto &i = i_all[part];", "what is changed is none")
  right("a number that the work changes", merge, changing, 1, { "x", "4" })
end)

tap.case("what keeps a block beyond the last from doing anything", function()
  local function launches(condition, before)
    local source = rewritten.source(("    int i = blockIdx.x * blockDim.x + threadIdx.x;\n%s"
      .. "    if (%s) { out[i] = a[i]; }"):format(before or "", condition))
    local change = merge.make(kernels.of_text(source), 1, { "x", "4" })
    return change.launch, change.promise
  end
  local any, whole = "grid.x/4", "grid.x%4 grid.x/4"
  tap.is(launches "i < n", any, "a number that grows with it")
  tap.is(launches("j < n", "    int j = 0;\n    j = 3 + (int)i / 2 - 1;\n"), any, "by other names")
  tap.is(launches "a[i] < 9.f", whole, "what is loaded")
  tap.is(launches "n - i > 3", whole, "one that shrinks")
  tap.is(launches "i < 2 * i - n", whole, "two that grow")
  tap.is(launches("j < n", "    int j = i;\n    if (n > 3) j = b[i];\n"), whole, "one of two")
  tap.is(launches("j < n", "    int j = 0;\n    if (n > 3) j = i;\n"), whole, "not always")
  local function by(value) return launches("j < n", "    int j = " .. value .. ";\n") end
  tap.is(select(2, by "blockIdx.x * 3 + n"), nil, "a factor above zero promises nothing")
  tap.is(by "blockIdx.x * 0 + threadIdx.x", whole, "times 0 nothing grows")
  tap.is(by "blockIdx.x * -2 + n", whole, "times less it shrinks")
  tap.is(by "i / -2", whole, "so does a quotient")
  tap.is(by "blockIdx.x * n + threadIdx.x", any, "times what nobody knows")
  tap.is(select(2, by "blockIdx.x * n + threadIdx.x"), "`n` is above zero", "is a promise")
  tap.is(select(2, by "blockIdx.x * (n - 2) + i / n"), "`n` is above zero, and `n - 2` is above "
    .. "zero", "two factors, two promises")
  local words, promise = by "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32"
  tap.is(words, "block.x%32 " .. any, "a part of the block is asked of the launch")
  tap.is(promise, nil, "and not promised")
  tap.is(select(2, by "i * i"), nil, "a square of what is not below zero")
  tap.is(by "(i - 9) * (i - 9)", whole, "a square of what may be")
end)

-- A product of n by n numbers, an element a thread.
local PRODUCT = rewritten.source [[
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];
    out[row * n + col] = sum;]]

transform.add { name = "add_bound", doc = "A test.", first = true,
  find = function() return {} end,
  make = function(_, line)
    return { edits = { { line, line, "    // nothing" } }, launch = "block.y=8" }
  end }

tap.case("a register tile: a tile in shared memory, blocks merged on both sides", function()
  local g = grammar.of(assert(core.grammar.parse("kernel.cu", { text = PRODUCT, kernel = "k" })))
  local function made(genes)
    local text, detail = g:apply(genes)
    return text, detail.params[launch.PARAMETER]
  end
  local both = "T:merge<1>(x,4) T:merge<1>(y,2)"
  local text, words = made("T:stage<7>(16,16) " .. both)
  tap.is(words, "block.z<=1 block.y<=16 block.x<=16 grid.x/4 grid.y/2", "no grid is refused")
  tap.has(text, "float sum_all_all[2][4];", "sums of a tile")
  local function is_right(source, becomes)
    for _, n in ipairs { 1, 9, 37, 64 } do
      local grid = (n + 7) // 8
      tap.is(rewritten.difference(PRODUCT, source, { n }, { grid = { grid, grid },
        block = { 8, 8 }, launch = becomes }), nil, ("%d blocks a side, %s"):format(grid, becomes))
    end
  end
  is_right(text, words)
  tap.is(made "T:merge<1>(x,4) T:stage<7>(16,16) T:merge<1>(y,2)", text, "in any order")
  is_right(made "T:merge_threads<1>(x,2,block) T:stage<7>(16,16) T:merge<1>(y,2)")
  tap.is(select(2, made(both)), "grid.x/4 grid.y/2", "blocks alone")
  tap.is(select(2, made "T:merge_threads<1>(x,2,next) T:merge<1>(y,2)"),
    "block.x%2 block.x/2 grid.y/2", "threads, then blocks")
  tap.is(select(2, made "T:merge<1>(x,4) T:unroll<7>(2) T:merge<1>(y,2)"), "grid.x/4 grid.y/2",
    "geometry is made first")
  tap.is(select(2, made "T:merge<1>(x,4) T:add_bound<7>() T:merge<1>(y,2)"),
    "grid.x/4 block.y=8 grid.y%2 grid.y/2", "after another change only the text says it")
  g = grammar.of(assert(core.grammar.parse("kernel.cu", { kernel = "k",
    text = PRODUCT:gsub("col >= n", "row < 0") })))
  tap.is(select(2, made(both)), "grid.x%4 grid.x/4 grid.y/2", "a side that nothing bounds")
end)

tap.case("loops around what is done for each", function()
  local function around(head, before, top)
    local source = (top or "") .. rewritten.source(([[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
%s    for (%s)
        out[i] += a[i + k];]]):format(before or "", head))
    local line = select(2, (top or ""):gsub("\n", "")) + 1
    return rewritten.text(merge, source, line, { "x", "4" })
      :match "(#pragma unroll[^\n]*)\n *for %(int k"
  end
  tap.is(around "int k = 0; k < 32; k++", "#pragma unroll", "of few iterations")
  tap.is(around "int k = 0; k < 33; k++", nil, "of many")
  tap.is(around "int k = 0; k < n; k++", nil, "of nobody knows how many")
  tap.is(around("int k = 1; k <= W; k += 2", "", "#define R 5\n#define W (2 * R + 1)\n"),
    "#pragma unroll", "that macros tell")
  tap.is(around "int k = 9; k < 9; k++", nil, "of none")
  tap.is(around "int k = 9; k > 0; k--", "#pragma unroll", "downwards")
  tap.is(around("int k = 0; k < 9; k++", "#pragma unroll 3\n"), "#pragma unroll 3",
    "what a person said stays")
  tap.is(around "int k = threadIdx.x; k < n; k += 64", "#pragma unroll 2", "that threads share")
  tap.is(around "int k = threadIdx.x; k < n; k += blockDim.x", nil, "by what is not known")
  local deep = rewritten.text(merge, rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++) {
        for (int j = 0; j < 16; j++) out[i] += a[i + k] * b[j];
        for (int h = 0; h < 4; h++) out[i] += a[i + k] * b[h];
    }]], 1, { "x", "4" })
  tap.has(deep, "#pragma unroll\n    for (int k", "the outer one")
  tap.ok(not deep:find("#pragma unroll\n        for (int j", 1, true), "none with too much in all")
  tap.has(deep, "#pragma unroll\n        for (int h", "one with little")
end)

tap.case("blocks that became one are right", function()
  for _, count in ipairs { "2", "4" } do
    right("a guard that returns", merge, TAPS, 1, { "x", count })
    right("shared memory, barriers, a macro", merge, TILES, 2, { "x", count })
  end
  right("a guard around the work, blocks that are numbered", merge, rewritten.source [[
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, steps = 0;
    float last = 0.f;
    if (i < n) {
        for (int k = i; k < 500; k += 32) {
            last += a[k] * 0.5f + steps;
            steps++;
        }
        out[i] = last;
    }]], 1, { "x", "2" }, { limit = 1e-2 })
  right("what a block reads that another may write", merge, rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float first = out[4000];
    for (int k = 0; k < 3; k++) first += b[k];
    out[i] += first;]], 1, { "x", "2" })
  right("a condition that has a name", merge, rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = n > 0 && i < n;
    float x = inside ? a[i] : 0.f, y = !inside ? 0.f : b[i];
    for (int k = 0; k < 3; k++) x += y * b[k];
    if (inside) out[i] = x;]], 1, { "x", "2" })
  right("a variable only in some builds", merge, rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef ABSENT
    float other = i < n ? a[i] : 0.f;
#define HERE other
#else
#define HERE 1.f
#endif
    for (int k = 0; k < 3; k++) {
        __syncthreads();
        if (i < n) out[i] += HERE;
    }]], 1, { "x", "2" })
end)

tap.case("blocks that do not become one", function()
  refused("one that somebody leaves behind the question for an item", merge, rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float sum = 0.f;
        for (int j = 0; j < 5; j++) sum += a[row + j];
        if (threadIdx.x % 4 != 0) return;
        out[row] = sum;
    }]], 1, { "x", "4" }, "it returns behind what asks for an item")
  local function of(body) return rewritten.source("    int i = blockIdx.x * 64 + threadIdx.x;\n    "
    .. body) end
  refused("two ways out", merge, of [[
if (i >= n) return;
    if (a[i] > 0.f) return;
    out[i] = 1.f;]], 1, { "x", "2" }, "returns for some blocks")
  refused("what is not known", merge, of "if (i < n) printf(\"%d\", i);", 1, { "x", "2" },
    "not understood")
  refused("a macro with blockIdx", merge, "#define B blockIdx.x\n" .. of "out[B] = i;", 2,
    { "x", "2" }, "the macro B")
  refused("a parameter of its own", merge, of [[
n -= i;
    for (int k = 0; k < n; k++) out[k + i] = 0.f;
    if (n > 0) out[n] = 1.f;]], 1, { "x", "2" }, "n cannot be there for each block")
  refused("a name that is there twice", merge, of [[
for (int k = 0; k < 2; k++) { float i = b[k]; __syncthreads(); }
    __syncthreads();
    if (i < n) out[i] = 1.f;]], 1, { "x", "2" }, "declared more than once")
  local open = of "out[i] = 1.f;"
  for _, source in ipairs { open, of "if (i < n) out[i] = gridDim.x;",
      of "if (i < n) out[i] = 1.f; else out[i] = 2.f;",
      of "if (i < n || n > 9) out[i] = 1.f;", of "if (!(i < n)) out[i] = 1.f;" } do
    local change = merge.make(kernels.of_text(source), 1, { "x", "2" })
    tap.is(change.launch, "grid.x%2 grid.x/2", "where a block beyond the last would do something")
  end
  tap.is(rewritten.text(merge, open, 1, { "x", "1" }), nil, "one block")
  tap.is(launch.changed({ grid = 4, block = 32, shared = 96 }, "grid.x/2 shared*2").shared, 192,
    "memory for two")
  tap.is(launch.words "shared*2", "2 times as much shared memory", "in words")
end)

tap.case("what is said of the grid outside of what is done for each", function()
  local strided = rewritten.source [[
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] += a[i];]]
  right("a step that has a name", merge, strided, 1, { "x", "2" }, { sizes = { 65, 128 } })
  right("of an odd grid, for any number of blocks is right there", merge, strided, 1, { "x", "2" },
    { sizes = { 65, 128, 300 }, grid = 3, launched = true })
  local source = rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = 0;
    float sum = 0.f;
    for (int j = i; j < n; j += 500)
        for (k = 0; k < 3 && k < n; k++) sum += a[j + k];
    if (i < n) {
        for (k = 1; k < 4; k++) {
            sum += b[i + k];
        }
        out[i] = sum;
    }]]
  right("a loop that all begin with its own value", merge, source, 1, { "x", "4" },
    { sizes = { 200, 256 } })
  tap.has(rewritten.text(merge, source, 1, { "x", "4" }),
    "for (k = 1; k < 4; k++) {\n            #pragma unroll", "stays one loop")
end)

--------------------------------------------------------------------------------------------------
-- merge_threads

-- A tile of which a thread reads what others wrote; neighbours read nearly the same.
local WINDOW = rewritten.source [[
    __shared__ float tile[68];
    const int first = blockIdx.x * 64, last = min(first + 64, n);
    for (int k = threadIdx.x; k < 68; k += blockDim.x) tile[k] = first + k < n ? a[first + k] : 1.f;
    __syncthreads();
    const int i = first + threadIdx.x;
    if (i < last) {
        float sum = 0.f;
        for (int k = 0; k < 5; k++) sum += tile[threadIdx.x + k];
        out[i] = sum * b[blockIdx.x];
    }]]

local BOTH = { "next", "block" }

tap.case("threads that become one are right", function()
  for _, spacing in ipairs(BOTH) do
    for _, count in ipairs { "2", "4" } do
      right("a guard that returns", merge_threads, TAPS, 1, { "x", count, spacing })
      right("shared memory, barriers, a macro", merge_threads, TILES, 2, { "x", count, spacing })
      right("a loop below a condition", merge_threads, WINDOW, 1, { "x", count, spacing })
    end
    right("a step that has a name", merge_threads, rewritten.source [[
    const int width = blockDim.x, step = gridDim.x * width;
    for (int i = blockIdx.x * width + threadIdx.x; i < n; i += step) out[i] += a[i];]], 1,
      { "x", "8", spacing })
    right("what only a condition asks for", merge_threads, rewritten.source [[
    const int first = blockIdx.x * 64, i = first + threadIdx.x;
    int most = i % 5;
    float sum = 0.f;
    __syncthreads();
    if (most > 2) {
        for (int k = 0; k < 3; k++) sum += a[first + k];
    }
    if (i < n) out[i] = sum;]], 1, { "x", "2", spacing })
    right("what a thread reads that another wrote", merge_threads, rewritten.source([[
    __shared__ float sums[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    sums[t] = i < n ? a[i] : 0.f;
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    __syncthreads();
    if (i < n) out[i] = sums[0] + sums[1];]]), 1, { "x", "4", spacing })
    right("atomics on shared memory", merge_threads, rewritten.source([[
    __shared__ int counts[8];
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) atomicAdd(&counts[a[i] & 7], 1);
    __syncthreads();
    atomicAdd(&counts[3], 2);
    __syncthreads();
    if (i < n) out[i] = counts[a[i] & 7];]], "int"), 1, { "x", "2", spacing }, { type = "i32" })
  end
  right("along y", merge_threads, rewritten.source [[
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int i = (blockIdx.x * blockDim.y + row) * blockDim.x + threadIdx.x;
    if (row < 4 && i < n) out[i] = a[i] + b[row];]], 1, { "y", "2", "next" }, { block = { 16, 4 } })
end)

tap.case("the text of threads that become one", function()
  local text = rewritten.text(merge_threads, rewritten.source [[
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + blockDim.x;]], 1, { "x", "2", "block" })
  tap.has(text, "const unsigned int thread = threadIdx.x + blockDim.x * part;", "who it is")
  tap.has(text, "blockIdx.x * (blockDim.x * 2) + thread;", "and of how many")
  text = rewritten.text(merge_threads, WINDOW, 1, { "x", "2", "next" })
  tap.has(text, "thread = threadIdx.x * 2 + part;", "neighbours")
  tap.has(text, [[
        for (int k = 0; k < 5; k++) {
            #pragma unroll
            for (int part = 0; part < 2; part++) {]], "a loop that all come to is one loop")
  local change = merge_threads.make(kernels.of_text(WINDOW), 1, { "x", "4", "next" })
  tap.is(change.launch, "block.x%4 block.x/4", "the launch")
  tap.is(rewritten.found(merge_threads, WINDOW), "1(x,2,next) 1(x,2,block) 1(x,4,next) "
    .. "1(x,4,block) 1(x,8,next) 1(x,8,block)", "where it is proposed")
end)

tap.case("threads that do not become one", function()
  local function of(body) return rewritten.source("    int i = blockIdx.x * 64 + threadIdx.x;\n    "
    .. body) end
  local args = { "x", "2", "next" }
  refused("what lanes tell each other", merge_threads,
    of "out[i] = __shfl_xor_sync(0xffffffffu, a[i], 1);", 1, args, "lanes of a warp")
  refused("a barrier that counts", merge_threads,
    of "out[i] = __syncthreads_count(a[i] > 0.f);", 1, args, "counts threads")
  refused("groups of threads", merge_threads, of [[
auto block = cooperative_groups::this_thread_block();
    out[i] = block.thread_rank();]], 1, args, "lanes of a warp")
  refused("lanes in step", merge_threads, of [[
volatile float *mine = out;
    mine[i] += mine[i + 1];]], 1, args, "volatile memory")
  refused("a barrier behind a return", merge_threads, of [[
if (i >= n) return;
    __syncthreads();
    out[i] = 1.f;]], 1, args, "returns for some threads")
  refused("a barrier in a loop of a thread's own", merge_threads, of [[
for (int k = threadIdx.x; k < 200; k += 64) {
        __syncthreads();
        out[k] = 1.f;
    }]], 1, args, "not where all threads come")
  refused("a macro with threadIdx", merge_threads, "#define T threadIdx.x\n" .. of "out[T] = i;", 2,
    args, "the macro T")
  tap.has(select(2, rewritten.text(merge_threads, of "out[i] = 1.f;", 1, { "y", "2", "next" })),
    "does not ask for threadIdx.y", "nobody to tell apart")
  for _, wrong in ipairs { { "x", "2" }, { "x", "17", "next" }, { "x", "2", "far" } } do
    tap.has(select(2, rewritten.text(merge_threads, WINDOW, 1, wrong)), "it is written",
      "what cannot be meant: " .. table.concat(wrong, ","))
  end
end)

-- A warp to an item: what it loads is for all of its lanes, of which some have an answer.
local TEAMS = rewritten.source [[
    __shared__ float parts[2][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int i = 32 * (blockIdx.x * (blockDim.x / 32) + warp) + lane;
    float sum;
    parts[warp][lane] = i < n ? a[i] : 0.f;
    __syncwarp();
    if (lane < 25) {
        sum = 0.f;
        for (int k = 0; k < 16; k++) sum += parts[warp][k] * (lane + k);
        if (i < n) out[i] = sum;
    }]]

-- That with other lines for one of its own.
local function teams_with(from, to)
  local at, stop = TEAMS:find(from, 1, true)
  return TEAMS:sub(1, at - 1) .. to .. TEAMS:sub(stop + 1)
end

tap.case("threads of a warp that become one", function()
  local text = rewritten.text(merge_threads, TEAMS, 1, { "x", "2", "32" })
  tap.has(text, "warp = threadIdx.x / 16;", "the warp's number is the same for all")
  tap.has(text, "const unsigned int thread = threadIdx.x / 16 * 32 + threadIdx.x % 16 + 16 * part;",
    "who it is")
  tap.has(text, [[
    if (active[0]) {
        #pragma unroll
        for (int part = 0; part < 2; part++) {
            auto &sum = sum_all[part];
            sum = 0.f;
        }
        #pragma unroll
        for (int k = 0; k < 16; k++) {
            #pragma unroll
            for (int part = 0; part < 2; part++) {
                const auto lane = active[part] ? lane_all[part] : lane_all[0];
                auto &sum = sum_all[part];
                sum += parts[warp][k] * (lane + k);
            }
        }
        #pragma unroll
        for (int part = 0; part < 2; part++) {
            const auto i = active[part] ? i_all[part] : i_all[0];
            auto &sum = sum_all[part];
            if (active[part]) if (i < n) out[i] = sum;
        }
    } else {]], "what some lanes do is done for all, and stored for these")
  local change = merge_threads.make(kernels.of_text(TEAMS), 1, { "x", "4", "32" })
  tap.is(change.launch, "block.x%32 block.x/4", "the launch")
  tap.is(rewritten.found(merge_threads, TEAMS),
    "1(x,2,next) 1(x,2,block) 1(x,4,next) 1(x,4,block) 1(x,8,next) 1(x,8,block) "
    .. "1(x,2,32) 1(x,4,32) 1(x,8,32)", "where it is proposed")
end)

tap.case("loops with loops in them that some leave", function()
  local source = rewritten.source [[
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    float sum = 0.f;
    __shared__ float tile[16];
    int from = 0;
    for (; from + 15 < n; from += 16) {
        for (int k = threadIdx.x; k < 16; k += blockDim.x) tile[k] = a[from + k];
        __syncthreads();
        if (inside) {
            for (int k = 0; k < 16; k++) {
                if (from + k == i) continue;
                sum += tile[k];
            }
        }
        __syncthreads();
    }
    for (; from < n; from++) {
        if (from == i) continue;
        sum += a[from];
    }
    if (inside) out[i] = sum;]]
  local args = { "x", "2" }
  local first = source:gsub("    for %(; from < n; from%+%+%).*    if", "    if")
  right("a loop around it goes on for all", merge, first, 1, args, { sizes = { 256, 512 } })
  right("and one of their own behind it", merge, source, 1, args, { sizes = { 250, 500 } })
  right("one that all leave together", merge,
    source:gsub("if %(from == i%) continue;", "if (from > n - 3) break;"), 1, args,
    { sizes = { 250, 500 } })
  right("one that each leaves by itself", merge,
    source:gsub("if %(from == i%) continue;", "if (from > i) break;"), 1, args,
    { sizes = { 250, 500 } })
end)

tap.case("iterations that all leave together", function()
  local source = rewritten.source [[
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.f, most = -9.f;
    for (int k = 0; k < 9; k++) {
        if (k == 3 || a[k] < 0.f) continue;
        sum += a[k] * i;
        for (int j = 0; j < k; j++) {
            if (j == 5) break;
            if (j % 3 == 1) { sum -= b[j + i % 2]; continue; }
            most = fmaxf(most, b[(i + j) % 64]);
        }
    }
    out[i] = sum + most;]]
  local BREAK = "if %(j == 5%) break;"
  local function made(what, instead, body)
    local text = instead and source:gsub(BREAK, instead) or source
    right(what, merge, text, 1, { "x", "2" })
    tap.has(rewritten.text(merge, text, 1, { "x", "2" }), body, what .. ": the text")
  end
  made("by continue", nil, "        if (k == 3 || a[k] < 0.f) continue;\n        #pragma unroll")
  made("by break", nil, "            if (j == 5) break;\n            if (j % 3 == 1) {")
  right("of threads", merge_threads, source, 1, { "x", "4", "next" })
  local inner = "\n            for (int j = 0; j < k; j++) {\n                if ("
  made("each by its number", "if (j == i %% 4) break;", inner .. "j == i % 4) break;")
  made("to its next iteration", "if (j == i %% 4) continue;", inner .. "j == i % 4) continue;")
  made("within a condition of its own", "if (i %% 4 == 1) { if (j == 5) break; }", inner .. "i % 4")
  made("by what each has found", "if (most > 1.f) break;", inner .. "most > 1.f) break;")
  made("by what a loop of its own counts",
    "int own = 0; while (own < i %% 7) own++; if (own > j) break;",
    "\n            for (int j = 0; j < k; j++) {\n                int own = 0;")
  refused("within a condition that is evaluated for all", merge_threads, source:gsub(BREAK,
    "if (i %% 4 == 1) { for (int l = 0; l < 3; l++) sum += b[l]; if (j == 2) continue; }"), 1,
    { "x", "2", "next" }, "two changes overlap")
  refused("a return is of the whole kernel", merge,
    source:gsub(BREAK, "if (j == 7) { out[0] = 1.f; return; }"), 1, { "x", "2" }, "it returns")
end)

tap.case("what stands on one line", function()
  local source = rewritten.source [[
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n > 3) { float t = i < n ? a[i] : 0.f; if (i < n) out[i] = t; }
    for (int k = 0; k < 2; k++) { int at = i; if (at < n) out[at] += a[k]; }]]
  right("in a block", merge_threads, source, 1, { "x", "2", "block" }, { sizes = { 64 } })
end)

tap.case("neighbours of a warp", function()
  local text = rewritten.text(merge_threads, TEAMS, 1, { "x", "2", "next" })
  tap.has(text, "warp = threadIdx.x / 16;", "are in the same")
  tap.has(text, "const unsigned int thread = threadIdx.x * 2 + part;", "who it is")
  tap.has(text, "const auto lane = active[part] ? lane_all[part] : lane_all[0];",
    "what some do is done for all")
  tap.ok(not rewritten.text(merge_threads, TEAMS, 1, { "x", "2", "block" }):find "active",
    "others are asked one by one")
end)

tap.case("threads of a warp that became one are right", function()
  local function all(what, source)
    for _, count in ipairs { "2", "4", "8" } do
      for _, which in ipairs { "32", "next" } do
        right(what, merge_threads, source, 1, { "x", count, which })
      end
    end
  end
  all("as it is", TEAMS)
  right("all of it", merge_threads, TEAMS, 1, { "x", "16", "32" })
  all("by a shift", teams_with("threadIdx.x / 32", "threadIdx.x >> 5"))
  all("by warpSize", teams_with("threadIdx.x / 32", "threadIdx.x / warpSize"))
  all("by a name", teams_with("const int lane = threadIdx.x & 31, warp = threadIdx.x / 32",
    "const int t = threadIdx.x, lane = t % 32, warp = t / 32"))
  all("what goes on from before", teams_with("    if (lane < 25) {\n        sum = 0.f;",
    "    sum = i;\n    int at = lane;\n    if (lane < 9) {"):gsub(
    "parts%[warp%]%[k%] %* %(lane %+ k%);", "parts[warp][at] * k, at += 1;"))
  all("beside a constant", teams_with("const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;",
    "const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, two = 2;\n    float kept[two];\n"
    .. "    kept[lane & 1] = 1.f;"))
  all("the first lanes have nothing to do", teams_with("lane < 25", "lane > 6"))
  all("other lanes each time", teams_with("lane < 25", "(lane * 7 & 31) > 6 && i != 5"))
  all("a sum that goes on", teams_with("        if (i < n) out[i] = sum;\n    }",
    "    } else sum = 1.f;\n    if (i < n) out[i] = sum;"))
  all("one that goes on behind it alone", teams_with("        if (i < n) out[i] = sum;\n    }",
    "    }\n    if (i < n && lane < 25) out[i] = sum;"))
  all("from one turn to the next", teams_with("    if (lane < 25) {\n        sum = 0.f;",
    "    sum = 0.f;\n    for (int turn = 0; turn < 3; turn++) if (lane < 9 * turn) {"))
  all("values that some do not have", teams_with("        if (i < n) out[i] = sum;",
    "        int at = i;\n        if (i < n) at = (int)(out[i] = sum) & 15;\n"
    .. "        if (i < n) out[i] += parts[warp][at];"))
  right("eight threads a team", merge_threads, rewritten.source [[
    __shared__ float firsts[8];
    const int team = threadIdx.x / 8, i = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x % 8 == 0) firsts[team] = i < n ? a[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = firsts[threadIdx.x / 16 * 2] + firsts[team];]], 1, { "x", "4", "8" })
end)

tap.case("threads of a team whose size has a name", function()
  local source = "#define TEAM 8\n" .. rewritten.source [[
    __shared__ float firsts[16];
    const int team = threadIdx.x / TEAM, i = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x % TEAM == 0) firsts[team] = i < n ? a[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = firsts[threadIdx.x / 8] + firsts[team];]]
  tap.is(rewritten.found(merge_threads, source):match "%S+$", "2(x,8,TEAM)", "the gene says it")
  for _, count in ipairs { "2", "4", "8" } do
    right("by its name", merge_threads, source, 2, { "x", count, "TEAM" })
    right("neighbours", merge_threads, source, 2, { "x", count, "next" })
  end
  local text = rewritten.text(merge_threads, source, 2, { "x", "2", "TEAM" })
  tap.has(text, 'static_assert(TEAM % 2 == 0, "TEAM must be a multiple of 2");', "a promise")
  tap.has(text, "int team = threadIdx.x / (TEAM / 2);", "whatever it is")
  tap.has(text, "firsts[thread / 8]", "another number of eight may be no number of it")
  local half = source:gsub("TEAM 8", "TEAM 4")
  tap.is(difference(half, merge_threads, 2, { "x", "2", "TEAM" }, 200, {}), nil, "also of four")
end)

tap.case("which of a warp's threads are not done for all", function()
  local function has_filled(source)
    return rewritten.text(merge_threads, source, 1, { "x", "2", "32" }):find "active" ~= nil
  end
  tap.ok(has_filled(TEAMS), "those without use for others are")
  tap.ok(not has_filled(teams_with("        if (i < n) out[i] = sum;\n    }",
    "    }\n    if (i < n) out[i] = sum;")), "a sum that is asked for behind it")
  tap.ok(not has_filled(teams_with("    if (lane < 25) {\n        sum = 0.f;",
    "    sum = 0.f;\n    for (int turn = 0; turn < 3; turn++) if (lane < 9 * turn) {")),
    "a sum of all turns")
  tap.ok(not has_filled(teams_with("if (i < n) out[i] = sum;",
    "if (i < n) atomicAdd(&out[i], sum);")), "atomics")
  tap.ok(not has_filled(teams_with("if (i < n) out[i] = sum;",
    "if (i < n) out[i] = sum = 2.f * sum;\n        out[0] = 3.f;")), "what a store gives a value")
end)

tap.case("pointers to what each block has", function()
  refused("held by an array", merge, rewritten.source [[
    __shared__ float tile[64], other[64];
    float *which[2] = { tile, other };
    const int i = blockIdx.x * 64 + threadIdx.x;
    which[i & 1][threadIdx.x] = i < n ? a[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x] + other[threadIdx.x];]], 1, { "x", "2" },
    "may be shared memory")
  refused("or by what has members", merge, "struct Tile { float *at; };\n" .. rewritten.source [[
    __shared__ float tile[64];
    Tile held = { tile };
    const int i = blockIdx.x * 64 + threadIdx.x;
    held.at[threadIdx.x] = i < n ? a[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x ^ 1];]], 2, { "x", "2" }, "may be shared memory")
  refused("or a row of it", merge, rewritten.source [[
    __shared__ float tile[2][64];
    float *which[2] = { tile[0], tile[1] };
    const int i = blockIdx.x * 64 + threadIdx.x;
    which[i & 1][threadIdx.x] = i < n ? a[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = tile[0][threadIdx.x] + tile[1][threadIdx.x];]], 1, { "x", "2" },
    "may be shared memory")
  right("held pointers to other memory", merge, rewritten.source [[
    __shared__ float tile[64];
    const float *which[2] = { a, b };
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < n ? which[i & 1][i % 3] : 0.f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x ^ 1];]], 1, { "x", "2" }, { sizes = { 250, 500 } })
end)

tap.case("where one without work goes", function()
  local source = teams_with("    if (lane < 25) {\n        sum = 0.f;",
    "    sum = 0.f;\n    int at = lane;\n    if (lane < 9) {"):gsub(
    "parts%[warp%]%[k%] %* %(lane %+ k%);", "parts[warp][at] * k, at += 1;")
  local text = rewritten.text(merge_threads, source, 1, { "x", "2", "32" })
  tap.has(text, "        #pragma unroll\n        for (int part = 1; part < 2; part++)\n"
    .. "            if (!active[part]) { at_all[part] = at_all[0]; sum_all[part] = sum_all[0]; }",
    "it begins where the first one does, and stays in its array")
end)

tap.case("threads of a warp that do not become one", function()
  local args = { "x", "2", "32" }
  refused("a barrier for some", merge_threads, teams_with("__syncwarp()", "__syncwarp(0xffff)"), 1,
    args, "waits for some lanes")
  local wide = TEAMS:gsub("parts%[2%]%[32%]", "parts[1][64]"):gsub("& 31", "& 63")
    :gsub("32 %* %(", "64 * ("):gsub("x / 32", "x / 64")
  tap.has(select(2, rewritten.text(merge_threads, wide, 1, { "x", "2", "64" })),
    "no part of a warp", "more than a warp, which waits")
  tap.has(select(2, rewritten.text(merge_threads, TEAMS, 1, { "x", "3", "32" })),
    "no whole number of 3", "a third of a warp")
end)

--------------------------------------------------------------------------------------------------
-- axes, widen

tap.case("x and y change places", function()
  local rows = rewritten.source [[
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= 4) return;
    out[row * 4 + column] += a[row * 4 + column];]]
  right("a row along x", "axes", rows, 1, {}, { block = { 16, 4 } })
  local text = rewritten.text("axes", rows, 1)
  tap.has(text, "int row = blockIdx.y * blockDim.y + threadIdx.y;", "rows are along y")
  local change = transform.find("axes").make(kernels.of_text(rows), 1, {})
  local turned = launch.changed({ grid = { 5, 1 }, block = { 16, 4 } }, change.launch)
  tap.is(table.concat(turned.grid, " ") .. ", " .. table.concat(turned.block, " "),
    "1 5 1, 4 16 1", "the launch is turned")
  tap.is(launch.words(change.launch), "x and y of the grid and of the block change places",
    "in words")
  refused("one side", "axes", rewritten.source [[
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1.f;]], 1, {}, "do not differ along both")
  tap.is(rewritten.found("axes", rewritten.source [[
    int z = threadIdx.z;
    out[threadIdx.y * 4 + threadIdx.x] = a[threadIdx.y * 16 + z];]]), "", "nor by a third side")
  refused("a warp's votes", "axes", rewritten.source [[
    int i = threadIdx.x + threadIdx.y;
    if (i < n) out[i] = __shfl_xor_sync(0xffffffffu, a[i], 1);]], 1, {}, "tell each other")
end)

tap.case("wider blocks", function()
  local sum = "#define WIDTH 64\n" .. rewritten.source [[
    __shared__ float sum[WIDTH];
    int t = threadIdx.x;
    sum[t] = 0.f;
    for (int i = t; i < n; i += WIDTH) sum[t] += a[i + blockIdx.x];
    __syncthreads();
    for (int half = WIDTH / 2; half > 0; half /= 2) {
      if (t < half) sum[t] += sum[t + half];
      __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sum[0];]]
  right("a macro", "widen", sum, 2, { "4" }, { limit = 1e-3 })
  local text = rewritten.text("widen", sum, 2, { "4" })
  tap.has(text, "__shared__ float sum[(WIDTH * 4)];", "what depends on it grows")
  right("blockDim.x", "widen", rewritten.source [[
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = a[i] + n;]], 1, { "2" })
  right("a part each", "widen", rewritten.source [[
    int each = (n + blockDim.x - 1) / blockDim.x;
    for (int i = threadIdx.x * each; i < (threadIdx.x + 1) * each && i < n; i++)
      out[i] = a[i] * 2.f;]], 1, { "2" })
  local change = transform.find("widen").make(kernels.of_text(sum), 2, { "4" })
  tap.raises(function() launch.changed({ grid = { 5 }, block = { 128 } }, change.launch) end,
    "wants block.x to be 64, and it is 128", "a launch that is not as wide as the macro says")
  tap.has(select(2, rewritten.text("widen", sum, 2, { "32" })), "at most 1024 threads",
    "more than there can be")
  refused("items across blocks", "widen", rewritten.source [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) out[i] = 1.f;]],
    1, { "2" }, "count items across blocks")
  local own = "each of its threads has an element"
  refused("a thread of all, counted by a number", "widen", rewritten.source [[
    int t = blockIdx.x * 64 + threadIdx.x;
    for (int i = threadIdx.x; i < n; i += blockDim.x) a += i;
    out[t] = a[0];]], 1, { "2" }, own)
  refused("an array that does not grow", "widen", rewritten.source [[
    __shared__ float sum[64];
    int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) a += i;
    sum[t + 1] = a[0];]], 1, { "2" }, own)
  right("threads below a condition, and a loop from a block's own place", "widen",
    rewritten.source [[
    __shared__ float sum[64];
    int t = threadIdx.x;
    if (t < 32) sum[t] = a[t];
    __syncthreads();
    for (int i = blockIdx.x * 64 + threadIdx.x; i < blockIdx.x * 64 + n % 64; i += blockDim.x)
      out[i] = sum[5];]], 1, { "2" }, { launched = true, block = { 64 } })
  refused("threads that add something besides", "widen", rewritten.source [[
    float s = 1;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    atomicAdd(out, s);]], 1, { "2" }, "updates memory once")
  local function updates(what, condition, is_right, before)
    local kernel = (before or "") .. rewritten.source([[
    float s = 0; int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) s += a[i];
    if (]] .. condition .. ") atomicAdd(out, 1.f);")
    local line = before and 2 or 1
    if is_right then return right(what, "widen", kernel, line, { "2" }, { limit = 0.01 }) end
    refused(what, "widen", kernel, line, { "2" }, "updates memory once")
  end
  updates("by the first thread alone", "t == 0 && n > 2", true)
  updates("in other words", "!threadIdx.x", true)
  updates("of a warp alone", "32 > t", true)
  updates("as many as a macro says", "t < FEW", true, "#define FEW 20\n")
  updates("each second one", "t % 2 == 0", false)
  updates("half of them", "t < blockDim.x / 2", false)
  updates("as many as there are items", "t < n", false)
  updates("all but the first", "t > 0", false)
  updates("that or another", "t == 0 || n > 2", false)
  local told = "write what each found in its own share"
  refused("the first thread's own sum", "widen", rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    if (threadIdx.x == 0) out[0] = s;]], 1, { "2" }, told)
  refused("a warp's sum", "widen", rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(0xffffffffu, s, k);
    if (threadIdx.x == 0) out[0] = s;]], 1, { "2" }, told)
  refused("a condition on the first thread's sum", "widen", rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    if (threadIdx.x == 0) { if (s > 2.f) out[0] = 1; }]], 1, { "2" }, told)
  refused("the same in one condition", "widen", rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    if (threadIdx.x == 0 && s > 2.f) out[0] = 1;]], 1, { "2" }, told)
  local function items(what, body, before)
    refused(what, "widen", rewritten.source("int t = threadIdx.x; " .. (before or "")
      .. "\nfor (int i = t; i < n; i += blockDim.x) " .. body), 1, { "2" },
      "line 4 does an item otherwise")
  end
  items("the thread's number in a result", "out[i] = threadIdx.x;")
  items("a variable of it", "out[i] = a[i] * u;", "int u = t + 1;")
  items("a condition on it", "if (t % 2) out[i] = 1;")
  items("the block's width", "out[i] = blockDim.x;")
  items("an element of it", "atomicAdd(&out[t % 4], a[i]);")
  right("threads that add what they found", "widen", rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    atomicAdd(out, s);]], 1, { "2" }, { limit = 0.01 })
  refused("a loop that some leave", "widen", rewritten.source [[
    for (int i = threadIdx.x; i < n; i += blockDim.x) { if (a[i] > 1.f) break; out[i] = a[i]; }]],
    1, { "2" }, "left before its end")
  tap.is(transform.find("widen").make(kernels.of_text(rewritten.source [[
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { s += a[i]; out[i] = s; }]]), 1, { "2" })
    .promise, "no iteration of the loop at line 4 asks for `s` of another", "a promise")
  local function says(body, before, options)
    local frame = (before or "#define WIDTH 64\n") .. rewritten.source(body)
    local known = kernels.of_text(frame, options)
    local made, why = transform.find("widen").make(known, known.functions[1].line, { "2" })
    return made and made.promise or why or "nothing"
  end
  local loop = "for (int i = threadIdx.x; i < n; i += WIDTH) out[i] = a[i];\n"
  tap.is(says(loop), "nothing", "a loop by a macro")
  tap.is(says(loop .. "for (int j = threadIdx.x; j < n; j += 7) out[j] = threadIdx.x;"),
    "line 5 does the same for an item, however many threads there are",
    "one by something else promises")
  local none = "its threads go through no loop together"
  tap.is(says(loop, "#define WIDTH 16\n"), none, "a macro that is no block's width")
  tap.is(says "for (int i = n - threadIdx.x; i > 0; i -= WIDTH) out[i] = a[i];", none, "downwards")
  tap.is(says(loop .. "out[0] = PART(2);", "#define WIDTH 64\n#define PART(x) ((x) * WIDTH)\n"),
    "what it calls uses WIDTH, too", "a macro that has it")
  tap.is(says(loop, nil, { constants = { WIDTH = "64" } }), "WIDTH is a parameter of the problem",
    "the problem's own")
  local function block(n) return { values = function() return { ["blockDim.x"] = n } end } end
  tap.is(says(loop, nil, block(128)), "WIDTH is 64, and its blocks have 128 threads", "another")
  tap.is(says(loop, nil, block(64)), "nothing", "the same")
  tap.is(says(loop .. "extern __shared__ float s[]; s[0] = 1.f;"),
    "the launch says how much shared memory it has", "dynamic shared memory")
  tap.is(says(loop .. "dim3 d = blockDim;"), "blockDim is used as a whole", "all sides at once")
  tap.is(says(loop .. "out[0] = threadIdx.y;"), "its threads differ along more than x", "along y")
  tap.is(says(loop .. "if (threadIdx.x == 0) ; else atomicAdd(out, 1.f);"),
    "each of its threads updates memory once", "all but the first")
  refused("no loop", "widen", rewritten.source [[
    if ((int)threadIdx.x < n) out[threadIdx.x] = blockDim.x;]], 1, { "2" }, "no loop together")
  refused("what it calls knows the width", "widen", "#define WIDTH 64\n"
    .. "__device__ int half() { return WIDTH / 2; }\n" .. rewritten.source [[
    for (int i = threadIdx.x; i < n; i += WIDTH) out[i] = half();]], 3, { "2" }, "what it calls")
end)

tap.done()
