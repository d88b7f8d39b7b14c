-- gilua.rewrite.tile and gilua.facts.contraction: products of matrices as two-level tiles.

package.path = "tests/lua/?.lua;" .. package.path
local kernel = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

-- Sizes that are no multiples of a tile, of a vector, of a slab; one of whole slabs; none at all.
local SIZES = { 0, 1, 7, 12, 33, 48, 60 }
-- Blocks beyond the last output too: what they loaded would lie behind the arrays.
local SHAPE = { grid = { 6, 6 }, block = { 16, 16 }, launched = true, races = true }

local right, refused = rewritten.judge(SIZES)

local SMALL = "32x32x16_4x4_2"

local FRAME = [[
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  %s
  %s sum = %s;
  for (int i = 0; i < %s; i++) %s
  %s]]

-- A kernel; its loop is at line 7.
local function source(o, type)
  return rewritten.source(FRAME:format(o.guard or "if (row >= n || col >= n) return;",
    type or "float", o.init or "0", o.bound or "n",
    o.body or "sum += a[row * n + i] * b[i * n + col];",
    o.after or "out[row * n + col] = sum;"), type)
end

local function with(o, extra)
  local new = {}
  for key, value in pairs(o) do new[key] = value end
  for key, value in pairs(extra or {}) do new[key] = value end
  return new
end

tap.case("layouts", function()
  for _, one in ipairs {
    { "A B", "a[row * n + i] * b[i * n + col]" },
    { "A B^T", "a[row * n + i] * b[col * n + i]" },
    { "A^T B", "a[i * n + row] * b[i * n + col]" },
    { "A^T B^T", "b[col * n + i] * a[i * n + row]" },
    { "rows that are shifted", "a[row * n + i + 4] * b[i * n + col + 1]" },
    { "each second element", "a[(row * n + i) / 2] * b[col * n + i]", true },
    { "distances",
      "(a[row * n + i] - b[col * n + i]) * (a[row * n + i] - b[col * n + i])" },
  } do
    for _, schedule in ipairs { SMALL, "64x32x32_4x4_3", "32x64x32_8x2_2", "64x64x16_4x4_3t" } do
      local text = source { body = ("sum += %s;"):format(one[2]) }
      right(one[1] .. " " .. schedule, "tile", text, 7, { schedule }, SHAPE)
    end
  end
end)

tap.case("types", function()
  for type, short in pairs { double = "f64", int = "i32" } do
    right(type, "tile", source({}, type), 7, { SMALL }, with(SHAPE, { type = short }))
  end
end)

tap.case("what stands around", function()
  for what, o in pairs {
    ["a condition around it"] = { guard = "if (row < n && col < n) {",
      after = "out[row * n + col] = sum; }" },
    ["outputs of a triangle"] = { guard = "if (row >= n || col >= n || col > row) return;" },
    ["what is there counts"] = { after = "out[row * n + col] = 2 * sum - out[row * n + col] / 2;" },
    ["a bias and an activation"] = {
      after = "float v = sum + a[col];\n  out[row * n + col] = v > 0 ? v : v / 4;" },
    ["a first value, and less"] = { init = "n", body = "sum -= b[row * n + i] * a[i * n + col];" },
    ["names of its own"] = { guard = "const int width = n;\n"
      .. "  const int at = row * width + col;\n  if (row >= n) return;  if (col >= width) return;",
      after = "out[at] = sum;" },
    ["another name of an array"] = { guard = "const float *next = a + 3;\n"
      .. "  if (row >= n || col >= n) return;",
      body = "sum += next[row * n + i] * b[col * n + i];" },
    ["bounds that are no numbers"] = {
      guard = "const float most = sqrtf(n * 7.0f - 50.0f);\n"
        .. "  if (row >= most || !(col < n)) return;" },
    ["a condition of the block"] = { guard = "if (n == 12) return;\n"
      .. "  if (row >= n || col >= n) return;" },
    ["rows that end by themselves"] = { guard = "if (row >= n - row || col >= n) return;",
      body = "sum += a[i * n + row] * b[i * n + col];" },
    ["columns of outputs"] = { after = "out[col * n + row] = sum;" },
    ["outputs from the last on"] = { after = "out[row * n + n - 1 - col] = sum;" },
    ["outputs that are nowhere aligned"] = { after = "out[row * n + col + 1] = sum;" },
    ["outputs with gaps"] = { guard = "const int skip = col / 16;\n"
      .. "  if (row >= n || col >= n) return;", after = "out[row * 64 + col + skip] = sum;" },
    ["a sum of its products"] = { after = "sum *= sum; atomicAdd(&out[row * n + col], sum);" },
  } do
    local line = o.guard and select(2, o.guard:gsub("\n", "")) + 7 or 7
    right(what, "tile", source(o), line, { SMALL }, SHAPE)
  end
end)

tap.case("outputs by 16 bytes", function()
  local function wide(o) return rewritten.text("tile", source(o), 7, { SMALL }) end
  tap.has(wide {}, "*(float4 *)&out[row * n + col] = *(float4 *)out_row;", "neighbours")
  for _, after in ipairs { "out[col * n + row] = sum;", "out[row * n + 2 * col] = sum;",
    "out[row * n + col] += sum;", "out[row * n + col] = sum; out[0] = 0;" } do
    tap.ok(not wide({ after = after }):find "out_row", after)
  end
end)

tap.case("triangles", function()
  local function triangle(loop, body, guard)
    return (source({ body = body or "sum += a[row * n + i] * b[i * n + col];", guard = guard })
      :gsub("for %(int i = 0; i < n; i%+%+%)", ("for (%s; i++)"):format(loop)))
  end
  for what, text in pairs {
    ["lower times lower"] = triangle "int i = col; i <= row",
    ["upper times upper"] = triangle "int i = row; i < col + 1",
    ["lower times all"] = triangle "int i = 0; i <= row",
    ["all times lower"] = triangle "int i = col; i < n",
    ["below the diagonal, transposed"] = triangle("int i = 0; i < row - 2",
      "sum += a[i * n + row] * b[col * n + i];"),
    ["from beyond the diagonal on"] = triangle("int i = row + 4; i < n",
      "sum += a[row * n + i] * b[col * n + i];"),
    ["packed rows up to the array's end"] = triangle("int i = 0; i <= row",
      "sum += a[4096 - (row + 1) * (row + 2) / 2 + i] * b[i * n + col];"),
    ["what is not zero where one operand is"] = triangle("int i = col; i <= row",
      "sum += fabsf(a[row * n + i] - b[i * n + col]);"),
  } do
    for _, schedule in ipairs { SMALL, "64x32x32_4x4_3" } do
      right(what .. " " .. schedule, "tile", text, 7, { schedule }, SHAPE)
    end
  end
  local lower = triangle "int i = 0; i <= row"
  refused("transposed slabs", "tile", lower, 7, { "64x64x16_4x4_3t" }, "come element by element")
  for _, loop in ipairs { "int i = row + col; i < n", "int i = row * row; i < n",
    "int i = 0; i < row + n" } do
    refused(loop, "tile", triangle(loop), 7, { SMALL }, "its bounds depend on the output")
  end
  refused("no end of the rows", "tile", triangle("int i = 0; i <= row", nil,
    "if (row + 1 > n || col >= n) return;"), 7, { SMALL }, "its bounds depend on the output")
end)

-- Filters by blocks alone; columns; rows that a block shares. Its loop is at line 8.
local CONVOLUTION = [[
  %s
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= 2 || col >= n) return;
  float sum = 0;
  %s
  out[(f * 2 + row) * n + col] = sum;]]

local LOOPS = "for (int c = 1; c < %s; c++) for (int i = 0; i < 3; i++) "
  .. "for (int j = 1; j <= 2; j++) "

local function convolution(o)
  return rewritten.source(CONVOLUTION:format(o.filters or "int f = blockIdx.z;",
    (o.loops or LOOPS):format(o.channels or "4") .. (o.body
      or "sum += a[(c * 4 + row + i) * 64 + col + j] * b[((f * 4 + c) * 3 + i) * 2 + j];")))
end

local FILTERS = with(SHAPE, { grid = { 6, 1, 32 } })

tap.case("nests of loops, and indices that a block shares", function()
  for what, o in pairs {
    ["a convolution"] = {},
    ["of as many channels as there are"] = { channels = "n % 4" },
    ["whole slabs"] = { channels = "9" },
    ["an index of 64 bits"] = { body = "sum += a[(size_t)(c * 4 + row + i) * 64 + col + j] * "
      .. "b[((f * 4 + c) * 3 + i) * 2 + j];" },
    ["columns further apart from round to round"] = { body = "sum += a[(c * 4 + row) * 64 + "
      .. "col * (i + 1) / 4 + col * j] * b[((f * 4 + c) * 3 + i) * 2 + j];" },
    ["with fma"] = { body = "sum = fmaf(a[(c * 4 + row + i) * 64 + col + 2 * j], "
      .. "b[((f * 4 + c) * 3 + i) * 2 + j], sum);" },
    ["with sum = sum + ..."] = { body = "sum = a[(c * 4 + row) * 64 + col + j] * "
      .. "b[(f * 4 + c) * 3 + i] + sum;" },
    ["filters along the fastest index"] = { body = "sum -= a[(c * 4 + row + i) * 64 + col + j] * "
      .. "b[(c * 6 + i * 2 + j) * 32 + f];" },
    ["an index beside another declaration"] = { filters = "int f = blockIdx.z, wide = n + 1;",
      body = "sum += a[(c * 4 + row + i) * 64 + col + wide - n] * b[(f * 4 + c) * 3 + i + j];" },
  } do
    for _, schedule in ipairs { SMALL, "32x64x32_4x4_2t", "32x32x24_4x4_2" } do
      right(what .. " " .. schedule, "tile", convolution(o), 8, { schedule }, FILTERS)
    end
  end
  local batch = rewritten.source [[
  const int p = blockIdx.z;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int i = 0; i < n; i++) sum += a[row * n + i + p] * b[i * n + col + 2 * p];
  if (row < 30) out[(p * 30 + row) * n + col] = sum;]]
  right("a batch", "tile", batch, 8, { SMALL }, with(SHAPE, { grid = { 4, 4, 2 } }))
end)

tap.case("nests that are refused", function()
  for why, o in pairs {
    ["how many rounds the loop at line 8"] = { loops = LOOPS:gsub("i < 3", "i < n") },
    ["how many rounds"] = { loops = LOOPS:gsub("i < 3", "i < c") },
    ["it does not count up by one"] = { loops = LOOPS:gsub("i%+%+", "i += 2") },
    ["its bounds depend on the output"] = { channels = "row" , body =
      "sum += a[(row + c * 4 + i) * 64 + j] * b[((col * 4 + c) * 3 + i) * 2 + j];" },
    ["it does more than to add"] = {
      body = "{ n++; sum += a[c + col + row] * b[f + c + i + j]; }" },
    ["other than zero"] = { body = "sum = fmaf(a[c + col], b[f + c + i + j], 1.0f);" },
    ["may be other than zero"] = { body = "sum = fmaf(a[c + col], b[f + c], sum) + sum;" },
  } do
    refused(why, "tile", convolution(o), 8, { SMALL }, why)
  end
  local function proposed(values)
    return #transform.find("tile").find(kernel.of_text(convolution {}, { values = function()
      return values
    end }))
  end
  tap.is(proposed { ["gridDim.z"] = 96 }, 6, "schedules with 32 filters")
  tap.is(proposed { ["gridDim.z"] = 128 }, proposed {}, "all")
  tap.is(proposed { ["gridDim.z"] = 48 }, 0, "none")
  local function shares_offsets(o)
    return rewritten.text("tile", convolution(o), 8, { SMALL }):find("__shfl_sync", 1, true) ~= nil
  end
  tap.ok(shares_offsets {}, "lanes share the offsets of rounds")
  tap.ok(not shares_offsets { body = "sum += a[(size_t)c * 64 + col + j] * b[f * 18 + c + i];" },
    "not those of 64 bits")
  tap.ok(not shares_offsets { body = "sum += a[c * 64 + col * j + i] * b[f * 18 + c + i];" },
    "nor those that are no sum")
  local change = transform.find("tile").make(kernel.of_text(convolution {}), 8, { SMALL })
  tap.is(change.launch, "grid.x@32 block.x=64 grid.y@1 block.y=1 grid.z%32 grid.z/32 block.z==1",
    "filters have to be a multiple, rows a block each")
end)

tap.case("launch bounds", function()
  local text = source {}:gsub("void k", "void __launch_bounds__(THREADS, 4) k")
  local bound = "#define THREADS 256\n" .. text
  local new = right("those that there are", "tile", bound, 8, { SMALL }, SHAPE)
  tap.has(new or "", "void __launch_bounds__(64) k(", "become those of the tile's blocks")
end)

tap.case("refused", function()
  for why, o in pairs {
    ["no `if` says where its outputs end"] = { guard = "if (row >= n) return;" },
    ["other than zero"] = { body = "sum += a[row * n + i] * b[i * n + col] + 1;" },
    ["it has no operand for each of two"] = { body = "sum += a[row * n + i] * b[i];" },
    ["it has no operand for each of two indices"] = {
      body = "sum += a[row * n + i] * a[row * n + i];" },
    ["more than two operands"] = {
      body = "sum += a[row * n + i] * b[i * n + col] * b[row * n + i];" },
    ["that the kernel may write"] = { body = "sum += a[row * n + i] * out[i * n + col];" },
    ["it does more than to add"] = { body = "{ sum += a[row * n + i] * b[i * n + col]; n--; }" },
    ["line 5 does more"] = { guard = "out[0] = 1; if (row >= n || col >= n) return;" },
    ["its bounds depend on the output"] = { bound = "2 * row" },
    ["behind it is not understood"] = { after = "out[row * n + col] = sum; n = 2;" },
    ["x of its threads does not count"] = { after = "out[row * n + col] = sum + threadIdx.x;" },
    ["line 6 does more"] = { guard = "const int next = row * n;\n"
      .. "  if (row >= n || col >= n) return; atomicAdd(&out[4000], 1.0f);" },
    ["is no element whose place is known"] = { guard = "const float *line = a + row * n;\n"
      .. "  if (row >= n || col >= n) return;", body = "sum += line[i] * b[i * n + col];" },
    ["first value depends on the output"] = { init = "row" },
  } do
    local line = o.guard and select(2, o.guard:gsub("\n", "")) + 7 or 7
    refused(why, "tile", source(o), line, { SMALL }, why)
  end
  refused("no schedule", "tile", source {}, 7, { "32x32x16" }, "it is written tile<LINE>(")
  refused("no whole warps", "tile", source {}, 7, { "16x16x16_4x4_2" }, "no whole warps")
  refused("too much memory", "tile", source {}, 7, { "128x128x32_8x8_2" }, "too much memory")
  refused("uneven", "tile", source {}, 7, { "32x64x16_2x4_2" }, "share a slab evenly")
end)

tap.case("what is asked of the host", function()
  local change = transform.find("tile").make(kernel.of_text(source {}), 7, { SMALL })
  tap.is(change.launch, "grid.x@32 block.x=64 grid.y@32 block.y=1 block.z==1", "the launch")
  tap.is(change.promise, nil, "each row and column is loaded by the kernel, too")
  local half = source { guard = "if (row >= n || col >= n || col > row) return;" }
  tap.has(transform.find("tile").make(kernel.of_text(half), 7, { SMALL }).promise,
    "leaves none of its rows and columns out", "unknown where an output's condition has both")
  tap.is(#change.pairs, 2, "the output's array is taken for other memory than the operands'")
  local new = launch.changed({ grid = { 5, 3 }, block = { 16, 8 } }, change.launch)
  tap.is(table.concat(new.grid, " ") .. " " .. table.concat(new.block, " "), "3 1 1 64 1 1",
    "blocks for as many outputs as there were threads")
end)

tap.done()
