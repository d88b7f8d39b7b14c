-- gilua.new.otherdata and gilua.problem.families: kernels that are right on their own data and
-- wrong on other kinds of them, and what other data are.

package.path = "tests/lua/?.lua;" .. package.path
local compared = require "gilua.new.compared"
local families = require "gilua.problem.families"
local gi = require "gilua"
local otherdata = require "gilua.new.otherdata"
local scratch = require "scratch"
local tablecase = require "gilua.problem.tablecase"
local tablerows = require "gilua.problem.tablerows"
local tap = require "tap"

-- A problem of one kernel `k`, and the rest of its table as text.
local function problem_of(source, rest)
  return gi.problem(scratch.problem(source, ([[{ source = "kernel.cu", kernel = "k", %s }]])
    :format(rest)))
end

local function found(problem, genome)
  local farm <close> = gi.farm(problem, { jobs = 1 })
  return gi.otherdata.of(problem, farm, genome)
end

-- The verdict and the reason on some data.
local function on(data, name)
  for _, row in ipairs(data.rows) do
    if row.data == name then return row.verdict, row.why end
  end
  return nil, "there is no such row"
end

--------------------------------------------------------------------------------------------------
-- What winners are wrong on

local SOFTMAX = [[
extern "C" __global__ void k(float *y, const float *x, int cols)
{
    __shared__ float part[32];
    const int t = threadIdx.x;
    const float *row = x + blockIdx.x * cols;
    float most = -3e38f, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, row[c]);
    for (int c = 0; c < cols; c++) sum += expf(row[c] - most);
    part[t] = sum;
    __syncthreads();
    for (int c = t; c < cols; c += blockDim.x)
        y[blockIdx.x * cols + c] = expf(row[c] - most) / part[blockDim.x - 1 - t];
}
]]
local ROWS = [[size = 40, block_size_x = 32, grid_div_x = { 1 }, args = {
  { name = "y", type = "f32", count = "size * cols", role = "out" },
  { name = "x", type = "f32", count = "size * cols" },
  { name = "cols", type = "i32", value = 50 } }, tolerance = { max_error = 1e-6 }]]

tap.case("softmax without its maximum is wrong where one number is far from the others", function()
  -- near zero all rows have about the same maximum, and none is needed
  local p = problem_of(SOFTMAX:gsub("%-3e38f", "0.0f"), ROWS)
  local data = found(p, "<_kernel.cu_8>")
  tap.is(on(data, "rising"), "right", "between -4 and 4")
  local verdict, why = on(data, "long tails")
  tap.is(verdict, "wrong", "a few hundred among the others")
  tap.has(why, "of 1 950 answers, largest error inf", "how many")
  tap.is(found(p, "").wrong, 0, "the kernel as it is is right on all")
end)

local BOUNDS = [[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = 2.0f * x[i];
}
]]
local EVEN = [[size = 4096, block_size_x = 128, checked_size = 1024, args = {
  { name = "y", type = "f32", count = "n", role = "out" },
  { name = "x", type = "f32", count = "n" }, { name = "n", type = "i32", value = "size_x" } },
  tolerance = { max_error = 1e-6 }]]

tap.case("a test of bounds that only other sizes need", function()
  local data = found(problem_of(BOUNDS, EVEN), "<_kernel.cu_4>")
  tap.is(on(data, "long tails"), "right", "in whole blocks it is for nothing")
  tap.is(on(data, "size 256"), "right", "so it is at 256")
  for _, size in ipairs { 1, 129, 341 } do
    local verdict, why = on(data, "size " .. size)
    tap.is(verdict, "wrong", "size " .. size)
    tap.has(why, "out-of-bounds", "by the memory check")
  end
end)

local BARRIER = [[
extern "C" __global__ void k(int *y, const int *x, int n)
{
    __shared__ int s[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = s[threadIdx.x ^ 1] + s[(threadIdx.x + 64) % 128];
}
]]
local ONE_WARP = [[size = 4096, block_size_x = 128, checked_size = 20, args = {
  { name = "y", type = "i32", count = "n", role = "out" },
  { name = "x", type = "i32", count = "n" }, { name = "n", type = "i32", value = "size_x" } }]]

tap.case("a barrier that goes is a race", function()
  local data = found(problem_of(BARRIER, ONE_WARP), "<_kernel.cu_6>")
  local verdict, why = on(data, "size 256")
  tap.is(verdict, "wrong", "on whole blocks")
  tap.has(why, "race in shared memory", "by the race check")
end)

local MEANS = [[
extern "C" __global__ void k(float *m, const float *a, int n)
{
    __shared__ float s[1];
    __syncwarp();
    if (threadIdx.x == 0) s[0] = 0.0f;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&s[0], a[blockIdx.x * n + i]);
    __syncthreads();
    if (threadIdx.x == 0) m[blockIdx.x] = s[0] / n;
}
]]

tap.case("a length of less than two warps' work is more, too", function()
  local p = problem_of(MEANS, [[size = 4, block_size_x = 256, grid_div_x = { 1 }, args = {
    { name = "m", type = "f32", count = "size_x", role = "out" },
    { name = "a", type = "f32", count = "size_x * n" }, { name = "n", type = "i32", value = 8 } },
    tolerance = { max_error = 1e-4 }]])
  local data = found(p, "<_kernel.cu_8><_kernel.cu_4>")
  tap.is(on(data, "all sorts"), "right", "one warp has work")
  local verdict, why = on(data, "n 65")
  tap.is(verdict, "wrong", "two have")
  tap.has(why, "race in shared memory", "by the race check")
end)

local BOUND = [[
#define ITEMS 4000
extern "C" __global__ void k(int *y, const int *x, int n, int width, int height)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int area = width * height, all = area;
    int changed = area;
    changed -= area;
    if (%s) y[i] = x[i];
}
]]

local MISSING = [[
#define MISSING -999.0f
extern "C" __global__ void k(float *y, const float *x, const int *kind, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    if (value == MISSING)
        value = 0.0f;
    if (kind[i] == 77)
        value = 1.0f;
    y[i] = 2.0f * value;
}
]]

tap.case("data hold the numbers that the source compares them with", function()
  local p = problem_of(MISSING, [[size = 1000, block_size_x = 32, args = {
    { name = "y", type = "f32", count = "n", role = "out" },
    { name = "x", type = "f32", count = "n" },
    { name = "kind", type = "i32", count = "n", fill = { 0, 9 } },
    { name = "n", type = "i32", value = "size_x" } }, tolerance = { max_error = 1e-6 }]])
  local data = found(p, "<_kernel.cu_8>")
  tap.is(on(data, "extremes"), "right", "random ones do not")
  tap.is(on(data, "holding -999 77"), "wrong", "one that floats may have")
  tap.is(on(found(p, "<_kernel.cu_10>"), "holding -999 77"), "right", "none beyond the range")
  local function numbers(condition)
    local list = compared.of(BOUND:format(condition))
    for i, n in ipairs(list) do list[i] = ("%g"):format(n) end
    return table.concat(list, " ")
  end
  tap.is(numbers "x[i] == -3 || 2.5f < (float)x[i] || x[i] != 0x10", "-3 2.5", "of elements")
  tap.is(numbers "x[i] < ITEMS", "4000", "a macro")
  tap.is(table.concat(compared.of("constexpr float M = -9.5f;\n" .. BOUND:format "x[i] == M"), " "),
    "-9.5", "a constant of the file's own")
  tap.is(numbers "i < 77 && threadIdx.x == 5 && n > 9", "", "none of places and sizes")
  tap.is(numbers "x[i] > 1 && x[i] > 2 && x[i] > 3 && x[i] > 4 && x[i] > 5 && x[i] > 1", "1 2 3 4",
    "the first four")
end)

tap.case("a size is tried where the host may launch it", function()
  local function sizes(condition, n, height)
    local p = problem_of(BOUND:format(condition), ([[size = 4000, block_size_x = 64, args = {
      { name = "y", type = "i32", count = "size_x", role = "inout" },
      { name = "x", type = "i32", count = "size_x" }, { name = "n", type = "i32", value = %s },
      { name = "width", type = "i32", value = 40 },
      { name = "height", type = "i32", value = %s } }]]):format(n or 4000, height or 100))
    local list = {}
    for _, case in ipairs(otherdata.cases(p, "")) do
      list[#list + 1] = case.data:match "^size (%d+)$"
    end
    return table.concat(list, " ")
  end
  local ALL = "1 65 128 667"
  tap.is(sizes("i < n", "'size_x'"), ALL, "its bound follows the size")
  tap.is(sizes("i < n"), "", "its bound is a number")
  tap.is(sizes("i <= n - 1"), "", "or one less, of the last item")
  tap.is(sizes("i < width * height"), "", "a product of numbers")
  tap.is(sizes("i < width * height", nil, "'size_x // 40'"), ALL, "one that follows")
  tap.is(sizes("i < n", "'size_x + 70000'"), ALL, "beyond the threads of the full size, too")
  tap.is(sizes("i < ITEMS"), "", "a macro")
  tap.is(sizes("i < all"), "", "a variable of the kernel's own")
  tap.is(sizes("i < all", nil, "'size_x // 40'"), ALL, "one that follows")
  tap.is(sizes("i < changed"), ALL, "one that changes")
  tap.is(sizes("i < x[0]"), ALL, "one that nobody knows")
  tap.is(sizes("true"), ALL, "no bound")
end)

-- Its first barrier is there at the full size alone, or in its last blocks alone, and the second is
-- one too many wherever the first is.
local HALVES = [[
extern "C" __global__ void k(int *y, const int *x, int rows)
{
    __shared__ int s[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < rows ? x[i] : 0;
    if (%s) __syncthreads();
    __syncthreads();
    if (i < rows) y[i] = s[63 - threadIdx.x];
}
]]

tap.case("a race at the full size alone", function()
  local function of(condition, rows)
    local p = problem_of(HALVES:format(condition), ([[size = %d, block_size_x = 64,
      checked_size = 2048, args = { { name = "y", type = "i32", count = "rows", role = "out" },
      { name = "x", type = "i32", count = "rows" },
      { name = "rows", type = "i32", value = "size_x" } }]]):format(rows or 20000))
    return found(p, "<_kernel.cu_7>")
  end
  for _, condition in ipairs { "rows < 9000", "blockIdx.x < 200", "gridDim.x < 100" } do
    local data = of(condition)
    tap.is(on(data, "size 65"), "right", condition .. ": not at others")
    local verdict, why = on(data, "size 20000")
    tap.is(verdict, "wrong", condition)
    tap.has(why, "race in shared memory", "by the race check")
    tap.is(otherdata.unchecked(data), nil, "it was checked there")
  end
  local data = of("rows < 9000", 100 << 20)
  tap.is(data.wrong, 0, "one with large arrays is not run")
  tap.has(otherdata.unchecked(data), "nothing races or fails at its full size alone, where the "
    .. "checks did not run (2048 threads with the arguments of size 104857600: not run: its arrays "
    .. "take more than 256 MB)", "and a promise")
end)

local LONG = [[
extern "C" __global__ void k(int *y, int rows)
{
    __shared__ int s[64];
    int sum = 0;
    for (int r = 0; r < 3000; r++) sum += r * rows / 3;
    s[threadIdx.x] = sum;
    if (rows < 90000) __syncthreads();
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x];
    for (int r = 0; r < %s; r++) sum += r * rows / 3;
    y[blockIdx.x * blockDim.x + threadIdx.x] += sum == 7;
}
]]
local LONG_TABLE = [[size = 1000000, block_size_x = 64, checked_size = 128, args = {
  { name = "y", type = "i32", count = "size_x / 64 * 64 + 64", role = "out" },
  { name = "rows", type = "i32", value = "size_x" } }]]

tap.case("where the full size takes too long, fewer threads have its arguments", function()
  local function of(rounds, genome)
    return found(problem_of(LONG:format(rounds), LONG_TABLE), genome)
  end
  local part = "128 threads with the arguments of size 1000000"
  local data = of("0", "<_kernel.cu_8>")
  tap.is(on(data, part), "wrong", "where rows is large")
  tap.is(otherdata.unchecked(data), nil, "so that it was checked there")
  tap.is(on(of("rows", "<_kernel.cu_8>"), part), "wrong", "as long as its instructions last")
  data = of("rows", "T:unroll<11>(2)")
  local verdict, why = on(data, part)
  tap.is(verdict, "not told", "one that nobody runs to its end")
  tap.has(why, "did nothing wrong, and no more were run", "says how far")
  tap.is(otherdata.unchecked(data), nil, "and promises nothing")
end)

tap.case("where fewer threads have arrays too short for these, the full size is begun", function()
  local source = LONG:format("0"):gsub("3000", "300"):gsub("int %*y,", "%0 const int *x,")
    :gsub("sum == 7", "sum == x[rows - 1]")
  local with_x = LONG_TABLE:gsub("{ name = \"rows\"",
    '{ name = "x", type = "i32", count = "size_x" }, %0')
  local data = found(problem_of(source, with_x), "T:unroll<11>(2)")
  local verdict, why = on(data, "size 1000000")
  tap.is(verdict, "not told", "it takes too long")
  tap.has(why, "did nothing wrong, and no more were run", "but begins")
  tap.is(otherdata.unchecked(data), nil, "and promises nothing")
  tap.is(on(found(problem_of(source, with_x), "<_kernel.cu_8>"), "size 1000000"), "wrong",
    "as long as its instructions last")
end)

tap.case("threads of a block that an argument counts are as many as the block had", function()
  local data = found(problem_of([[
extern "C" __global__ void k(float *y, const float *x, int cols)
{
    const int c = threadIdx.x;
    if (c < cols) y[blockIdx.x * 64 + c] = 2 * x[blockIdx.x * 64 + c];
}
]], [[size = 640, block_size_x = 64, tune_params = { block_size_x = { 32, 64 } },
  grid = { "size_x // 64" }, args = {
  { name = "y", type = "f32", count = "size_x", fill = 1, role = "inout" },
  { name = "x", type = "f32", count = "size_x" },
  { name = "cols", type = "i32", value = 16 } }]]), "block_size_x=32")
  tap.is(on(data, "all sorts"), "right", "where they are fewer")
  tap.is(on(data, "cols 64"), "wrong", "where they are as many")
end)

local COUNT = [[
extern "C" __global__ void k(int *counts, const int *place, int n, int places)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int p = i < n ? place[i] : places;
    if (n < 0)
        counts[p] += 1;
    if (p < places)
        atomicAdd(&counts[p], 1);
}
]]
local FEW_OF_MANY = [[size = 40, block_size_x = 32, args = {
  { name = "counts", type = "i32", count = "places", role = "inout", fill = 0 },
  { name = "place", type = "i32", count = "n", fill = { 0, "places - 1" } },
  { name = "n", type = "i32", value = "size_x" },
  { name = "places", type = "i32", value = 1000000 } }]]

tap.case("an atomic that only equal indices need", function()
  local data = found(problem_of(COUNT, FEW_OF_MANY), "<_kernel.cu_8><_kernel.cu_6>")
  tap.is(on(data, "every place"), "right", "each is hit once")
  for _, name in ipairs { "one place", "every place twice", "first and last place" } do
    tap.is(on(data, name), "wrong", name)
  end
end)

tap.case("what begins with one number may begin with others", function()
  local data = found(problem_of([[
extern "C" __global__ void k(int *y, const int *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        { y[i] = x[i];
          y[i] += 0; }
}
]], [[size = 1000, block_size_x = 32, args = {
  { name = "y", type = "i32", count = "n", role = "inout", fill = 0 },
  { name = "x", type = "i32", count = "n", fill = 0 },
  { name = "n", type = "i32", value = "size_x" } }]]), "<_kernel.cu_5>")
  tap.is(on(data, "size 1"), "right", "zeros where zeros would be written")
  tap.is(on(data, "begun"), "wrong", "but not where something else was")
end)

tap.case("right answers by what nobody wrote", function()
  local data = found(problem_of([[
extern "C" __global__ void k(int *y, const int *x, int n)
{
    __shared__ int s[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    if (i < n) y[i] = x[i] + (s[threadIdx.x] == 2000000000);
}
]], ONE_WARP), "<_kernel.cu_5>")
  local verdict, why = on(data, "zeros")
  tap.is(verdict, "wrong", "it was never added, and is read")
  tap.has(why, "nobody wrote", "by the check of reads")
end)

tap.case("large numbers are rounded more, and that is not wrong", function()
  local p = problem_of([[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = x[(i + 1) % n], c = x[(i + 2) % n];
    if (n < 0)
        y[i] = a + (b + c);
    if (n < -1)
        y[i] = a + b;
    y[i] = (a + b) + c;
}
]], EVEN)
  local data = found(p, "<_kernel.cu_10><_kernel.cu_7>")
  tap.is(data.wrong, 0, "a sum in another order")
  tap.is(on(data, "extremes"), "right", "of millions too")
  for _, row in ipairs(data.rows) do
    if row.data == "extremes" then tap.ok(row.max_error > 1e-3, "though it differs") end
  end
  tap.is(on(found(p, "<_kernel.cu_10><_kernel.cu_9>"), "extremes"), "wrong", "a sum without one")
end)

--------------------------------------------------------------------------------------------------
-- What is not told

tap.case("where the kernel as it is is wrong, or gives no numbers, nothing is told", function()
  local data = found(problem_of([[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int k = i < n ? (int)x[i] : 0;
    if (i < n) y[i] = sqrtf(-1.0f - x[k]);
}
]], [[size = 1000, block_size_x = 32, args = {
  { name = "y", type = "f32", count = "n", role = "out" },
  { name = "x", type = "f32", count = "n" }, { name = "n", type = "i32", value = "size_x" } },
  tolerance = { max_error = 1e-6 }]]), "")
  local verdict, why = on(data, "long tails")
  tap.is(verdict, "not told", "an index made of a float")
  tap.has(why, "illegal_address", "says why")
  verdict, why = on(data, "zeros")
  tap.is(verdict, "not told", "a root of -1")
  tap.has(why, "gives no numbers", "says why")
  tap.is(data.wrong + data.right, 0, "nobody is blamed")
end)

-- A farm that finds the same on every case.
local function farm_that_finds(result, instructions)
  return {
    check = function() return { { status = "ok", instructions = instructions or 1000 } } end,
    examine = function(_, _, cases)
      local list = {}
      for i in ipairs(cases) do -- each case has other work
        list[i] = result and setmetatable({ extent = i }, { __index = result })
      end
      return result and list, "line 3: expected a ;"
    end,
  }
end

local function verdicts(own, m)
  local right = { status = "ok", n = 10, off = 0, unset = 0, nan = 0, max_error = 0 }
  for _, one in ipairs { own, m } do
    for field, value in pairs(right) do
      if one[field] == nil then one[field] = value end
    end
  end
  return { name = "a case", largest = 1, verdicts = { own, m } }
end

tap.case("who is to blame", function()
  local p = problem_of(BOUNDS, EVEN)
  for _, row in ipairs {
    { "right", verdicts({}, {}) },
    { "right", verdicts({ nan = 0.4 }, { nan = 0.4 }) },
    { "right", verdicts({}, { warnings = { { kind = "benign_race", message = "m" } } }) },
    { "wrong", verdicts({}, { status = "race", message = "m" }) },
    { "wrong", verdicts({}, { off = 0.1, max_error = math.huge }) },
    { "wrong", verdicts({}, { unset = 0.1, off = 0.1 }) },
    { "wrong", verdicts({}, { warnings = { { kind = "local_overrun", message = "m" } } }) },
    { "wrong", { lost = { status = "crash", message = "its worker died twice" } } },
    { "wrong", nil },
    { "not told", { why = "no such case" } },
    { "not told", verdicts({ status = "race", message = "m" }, { status = "timeout" }) },
    { "not told", verdicts({ unset = 0.5 }, { off = 1 }) },
    { "not told", verdicts({ nan = 0.6 }, { off = 1 }) },
    { "not told", verdicts({ off = 0.1, max_error = 1 }, { off = 1 }) },
  } do
    local data = gi.otherdata.of(p, farm_that_finds(row[2]), "")
    tap.is(data.rows[1].verdict, row[1], data.rows[1].why or "nothing is wrong")
  end
  local old = { kind = "local_overrun", message = "m" }
  local data = gi.otherdata.of(p, farm_that_finds(verdicts({ warnings = { old } },
    { warnings = { old } })), "")
  tap.is(data.rows[1].verdict, "right", "what the kernel as it is does too")

  local unmet = "the transformation wants grid.x to be a multiple of 8, and it is 2"
  local function launched(message)
    local one = verdicts({}, { status = "launch_error", message = message })
    local row = gi.otherdata.of(p, farm_that_finds(one), "").rows[1]
    return row.verdict .. ": " .. row.why
  end
  local t = p.definition.kernel_table.table
  tap.is(launched(unmet), "wrong: " .. unmet, "a launch that no host's code is asked for")
  t.made_from = { path = "k.cu" }
  tap.is(launched(unmet), "not told: " .. unmet, "one that the host's code is asked for")
  tap.is(launched "no such grid", "wrong: no such grid", "not one that fails otherwise")
  t.made_from = nil
end)

tap.case("of a small case that is large some are run, and the others told", function()
  local p = problem_of(BOUNDS, EVEN)
  local data = gi.otherdata.of(p, farm_that_finds(verdicts({}, {}), 60000000), "")
  tap.is(#data.rows .. " " .. data.right, "13 7", "half of them, and the full size")
  tap.is(on(data, "all sorts") .. " " .. on(data, "size 341"), "right right", "first and last")
  local verdict, why = on(data, "zeros")
  tap.is(verdict, "not told", "one between")
  tap.has(why, "not run", "says so")
end)

tap.case("where one array cannot be other, the rest is", function()
  local p = problem_of([[
extern "C" __global__ void k(float *y, const float *x, const float *place, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int from = (int)(n * place[i]);
    y[i] = fabsf(x[from]);
}
]], [[size = 1000, block_size_x = 32, args = {
  { name = "y", type = "f32", count = "n", role = "out" },
  { name = "x", type = "f32", count = "n" }, { name = "place", type = "f32", count = "n" },
  { name = "n", type = "i32", value = "size_x" } }, tolerance = { max_error = 1e-6 }]])
  local data = found(p, "")
  tap.is(on(data, "all sorts"), nil, "all arrays at once: told by none")
  tap.is(on(data, "all sorts of x"), "right", "one that is a number")
  tap.is(on(data, "all sorts of place"), nil, "one that is an index is left out")
  tap.is(on(data, "zeros"), "right", "what both may be is for both")
end)

tap.case("a size that nothing follows is no other", function()
  local p = problem_of(BOUNDS:gsub("int n%)", "int m)"):gsub("i >= n", "i >= 1000"), [[
    size = 1000, block_size_x = 64, args = {
    { name = "y", type = "f32", count = 1000, role = "out" },
    { name = "x", type = "f32", count = 1000 }, { name = "m", type = "i32", value = 7 } }]])
  local data = found(p, "")
  tap.is(data.fixed, true, "the source has it")
  tap.has(table.concat(gi.otherdata.lines(data), "\n"), "no other size", "and a line says so")
end)

local FOURS = [[
extern "C" __global__ void k(float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] += 1.0f;
}
]]
local STRIDES = [[size = 64, block_size_x = 32, args = {
  { name = "x", type = "f32", count = "n", role = "inout" },
  { name = "n", type = "i32", value = %d } }, tolerance = { max_error = 1e-6 }]]

gi.transform.add { name = "fours", doc = "A test: four elements at a time, and no rest.",
  find = function() return {} end,
  make = function(_, line)
    return { says = "four at a time", edits = { { line, line + 1, [[
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n / 4; j += gridDim.x * blockDim.x)
        for (int k = 0; k < 4; k++) x[4 * j + k] += 1.0f;]] } } }
  end }

tap.case("a length that follows no size is odd, too", function()
  local data = found(problem_of(FOURS, STRIDES:format(1024)), "T:fours<3>()")
  tap.is(data.right > 0, true, "a part that takes four at a time is right on 1024")
  tap.is(on(data, "n 1023"), "wrong", "and leaves out the last of 1023")
  tap.ok(not data.fixed, "which is another size")
  tap.is(found(problem_of(FOURS, STRIDES:format(1024)), "").wrong, 0, "as it is it is right")
  local function told(n)
    return select(2, on(found(problem_of(FOURS, STRIDES:format(n)), ""), "n " .. n - 1))
  end
  tap.is(told(1023), "there is no such row", "one that is odd needs none")
  tap.is(told(16), "there is no such row", "nor what is too small for a length")
end)

tap.case("what would take too long is not waited for", function()
  local p = problem_of(BOUNDS:gsub("y%[i%] = 2.0f %* x%[i%]", "float s = 0;"
    .. " for (float f = fabsf(x[i]); f > 0.0f; f -= 1.0f) s += f; y[i] = s"), EVEN)
  local data = found(p, "")
  tap.is(on(data, "zeros"), "right", "no turn")
  local verdict, why = on(data, "extremes")
  tap.is(verdict, "not told", "a million turns where it had one")
  tap.has(why, "timeout", "says why")
end)

--------------------------------------------------------------------------------------------------
-- Other data

local function array(family, arg, names, seed)
  local full = { name = "x", type = "i32", count = 200 }
  for key, value in pairs(arg) do full[key] = value end
  return tablecase.array(tablerows.of({ args = { full } }).blocks[1],
    names or { n = 50, math = math }, gi.rng(seed or 1), "here",
    function() return family end):table()
end

local NUMBERS = { "all sorts", "zeros", "ones", "long tails", "extremes", "few values", "rising",
  "falling" }
local PLACES = { "one place", "every place", "every place, last first", "every place twice",
  "first and last place" }

tap.case("a range is kept", function()
  for _, fill in ipairs { { 3, 9 }, { -7, 7 }, { 0, 0 }, { 0, 100 }, { 5, "n - 1" } } do
    local low, high = fill[1], fill[2] == "n - 1" and 49 or fill[2]
    for _, type in ipairs { "i32", "u8", "i64", "f32", "f64" } do
      local outside = 0
      for _, family in ipairs(type:find "^u" and low < 0 and {} or
          table.move(PLACES, 1, #PLACES, #NUMBERS + 1, { table.unpack(NUMBERS) })) do
        for _, x in ipairs(array(family, { type = type, fill = fill })) do
          local at_end = x == high and (type:find "^[iu]" or low == high)
          if x < low or x > high or x == high and not at_end then outside = outside + 1 end
        end
      end
      tap.is(outside, 0, ("%s from %s to %s"):format(type, fill[1], fill[2]))
    end
  end
end)

-- How many different values.
local function distinct(list)
  local seen, n = {}, 0
  for _, x in ipairs(list) do
    if not seen[x] then seen[x], n = true, n + 1 end
  end
  return n
end

tap.case("indices: all the same, every one, twice, the ends", function()
  local fill = { 0, "n - 1" }
  local counts = {}
  for i, family in ipairs(PLACES) do counts[i] = distinct(array(family, { fill = fill })) end
  tap.is(table.concat(counts, " "), "1 50 50 50 2", "how many places are hit")
  tap.is(array("every place, last first", { fill = fill })[1], 49, "the last first")
  local twice = array("every place twice", { fill = fill })
  tap.is(twice[1] == twice[2] and twice[3] == twice[4], true, "neighbours share a place")
end)

tap.case("a permutation stays one, rows never fall, what is in order stays so", function()
  local ordered = { name = "a", type = "i32", count = 9, fill = "index" }
  for _, family in ipairs(families.of { args = { ordered } }) do
    tap.is(distinct(array(family, { fill = "permutation" })), 200, family)
  end
  for _, family in ipairs(PLACES) do
    local rows, falls = array(family, { fill = { ascending = "n" } }), false
    for i = 2, #rows do falls = falls or rows[i] < rows[i - 1] end
    tap.is(rows[1] .. " " .. rows[200] .. " " .. tostring(falls), "0 50 false", family)
  end
  for _, family in ipairs(NUMBERS) do
    local values, falls = array(family, { type = "f32", fill = "rising" }), false
    for i = 2, #values do falls = falls or values[i] < values[i - 1] end
    tap.is(falls, false, family)
  end
end)

tap.case("what somebody has fixed stays", function()
  local function names(arg)
    arg.name, arg.type, arg.count = "a", arg.type or "f32", 10
    return table.concat(families.of { args = { arg } }, ", ")
  end
  tap.is(names { fill = 3 }, "", "a number")
  tap.is(names { fill = function() return 1 end }, "", "a function")
  tap.is(names { role = "out" }, "", "what is written only")
  tap.is(names { role = "inout", fill = 0 }, "begun", "but not what goes on from there")
  tap.is(names {}, table.concat(NUMBERS, ", "), "any number")
  tap.is(names { type = "i32", fill = { 0, "n" } }, table.concat(PLACES, ", "), "an index")
  tap.raises(function() array("sorted", {}) end, "no family of data is called 'sorted'", "a slip")
end)

tap.case("the same seed, the same data; another, others", function()
  local one = table.concat(array("long tails", { type = "f32" }), " ")
  tap.is(table.concat(array("long tails", { type = "f32" }), " "), one, "the same")
  tap.ok(table.concat(array("long tails", { type = "f32" }, nil, 2), " ") ~= one, "others")
end)

tap.done()
