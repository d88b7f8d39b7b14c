-- An online softmax under transformation: its keys shared by parts of a block, through shared
-- memory. What is made is right at every number of keys.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local gi = require "gilua"
local rewritten = require "rewritten"
local tap = require "tap"

local SIZES = { 1, 3, 4, 5, 31, 32, 33, 64, 70, 129, 500 }
local right, refused = rewritten.judge(SIZES)
local OPTIONS = { launched = true, block = 32, grid = 2, limit = 1e-4, races = true }

-- A row of 8 numbers a thread, of 50 rows, n keys; what a test changes of it by name.
local BODY = [[
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 50) return;
  const float *qi = b + i * 8;
  float largest = -INFINITY, sum = 0.0f, acc[8];
  for (int d = 0; d < 8; d++) acc[d] = 0.0f;
  for (int j = 0; j < n; j++) {
    float s = 0.0f;
    for (int d = 0; d < 8; d++) s += qi[d] * a[j * 8 + d];
    s *= 0.125f;
    float m = fmaxf(largest, s);
    float keep = expf(largest - m), w = expf(s - m);
    sum = sum * keep + w;
    for (int d = 0; d < 8; d++) acc[d] = acc[d] * keep + w * b[(j + 3) * 8 + d];
    largest = m;
  }
  for (int d = 0; d < 8; d++) out[i * 8 + d] = acc[d] / sum;]]

-- The kernel with texts exchanged: each must be there.
local function changed(...)
  local text = BODY
  for _, pair in ipairs { ... } do
    local from, to = text:find(pair[1], 1, true)
    assert(from, pair[1])
    text = text:sub(1, from - 1) .. pair[2] .. text:sub(to + 1)
  end
  return "#define INFINITY __int_as_float(0x7f800000)\n" .. rewritten.source(text)
end

tap.case("a row of keys, at odd numbers of them", function()
  local text = right("parts and keys", "flash", changed(), 9, { "4", "32", "4" }, OPTIONS)
  tap.has(text, "threadIdx.x % (blockDim.x / 4)", "rows of a block are those of a part")
  tap.has(text, "s += qi_row[d] * a_tile[(key + j_nth) * 8 + d];", "keys from shared memory")
  tap.has(text, "scores[j_nth] = j < n ? s : -INFINITY;", "behind the last key is none")
  right("two parts, a key at a time", "flash", changed(), 9, { "2", "64", "1" }, OPTIONS)
  right("eight parts", "flash", changed(), 9, { "8", "64", "8" }, OPTIONS)
  tap.is(rewritten.found("flash", changed()),
    "9(4,64,4) 9(4,64,8) 9(4,32,4) "
    .. "9(4,32,8) 9(8,64,4) 9(8,64,8) 9(8,32,4) 9(2,64,4) 9(2,64,8) 9(2,32,4) 9(2,32,8)",
    "where it is proposed")
end)

tap.case("other ways to write it", function()
  right("in other orders", "flash", changed({ "fmaxf(largest, s)", "max(s, largest)" },
    { "sum * keep + w", "w + keep * sum" }, { "acc[d] * keep + w * b[(j + 3) * 8 + d]",
    "b[(j + 3) * 8 + d] * w + keep * acc[d]" }), 9, { "4", "32", "4" }, OPTIONS)
  right("pointers in the loop, and a pragma", "flash", changed({ "float s = 0.0f;",
    "const float *kj = a + j * 8, *vj = b + (j + 3) * 8;\n    float s = 0.0f;\n#pragma unroll" },
    { "a[j * 8 + d]", "kj[d]" }, { "b[(j + 3) * 8 + d]", "vj[d]" }), 9, { "4", "32", "4" },
    OPTIONS)
  right("below an if", "flash", changed({ "if (i >= 50) return;", "if (i < 50) {" },
    { "acc[d] / sum;", "acc[d] / sum;\n  }" }), 9, { "2", "32", "4" }, OPTIONS)
  right("keys that do not count", "flash", changed({ "s *= 0.125f;",
    "s *= 0.125f;\n    if (j % 40 > 2 || j == i + 1) s = -INFINITY;" }), 9, { "4", "32", "2" },
    OPTIONS)
  right("a state that begins with a key", "flash", changed({ "-INFINITY, sum = 0.0f",
    "0.5f, sum = 2.0f" }, { "acc[d] = 0.0f", "acc[d] = d" }), 9, { "4", "32", "4" }, OPTIONS)
  right("no key at all", "flash", changed({ "acc[d] / sum", "sum == 0.0f ? 7.0f : acc[d] / sum" }),
    9, { "4", "32", "4" }, { launched = true, block = 32,
      grid = 2, limit = 1e-4, sizes = { 0, 1 } })
  right("up to the bound", "flash", changed { "j = 0; j < n", "j = 2; j <= n" }, 9,
    { "4", "32", "4" }, { launched = true, block = 32, grid = 2, limit = 1e-4,
      sizes = { 2, 5, 33, 34, 500 } })
end)

tap.case("rows with a last key of their own", function()
  local text = right("a causal mask", "flash", changed { "j < n", "j <= i" }, 9, { "4", "32", "4" },
    OPTIONS)
  tap.has(text, "if (inside) atomicMax(&j_last, i + 1);", "up to the greatest of the block")
  tap.has(text, "scores[j_nth] = j <= i ? s : -INFINITY;", "each up to its own")
  right("rows without a key", "flash", changed({ "j < n", "j < n - i" },
    { "acc[d] / sum", "sum == 0.0f ? 7.0f : acc[d] / sum" }), 9, { "2", "32", "4" }, OPTIONS)
end)

tap.case("what it is not made of", function()
  local function no(what, why, ...)
    refused(what, "flash", changed(...), 9, { "4", "32", "4" }, why)
  end
  no("another sum", "line 15 is no part of an online softmax", { "sum * keep + w", "sum + w" })
  no("values scaled by the weight", "line 16", { "acc[d] * keep + w *", "acc[d] * w + keep *" })
  no("the greatest is new too early", "line 15 is no",
    { "float keep", "largest = m;\n    float keep" })
  no("a score that asks for the state", "asks for the state", { "s *= 0.125f", "s *= sum" })
  no("a score of other memory", "reads 'a' in another way", { "s *= 0.125f", "s *= a[j + i]" })
  no("values of each thread", "reads 'b' in another way", { "b[(j + 3) * 8", "b[(j + i) * 8" })
  no("keys of each thread", "from and to different places", { "j = 0; j < n", "j = i; j < n" })
  no("a way out", "does not go through", { "s *= 0.125f;", "if (s > 9.f) break;" })
  no("memory is written before", "memory is written",
    { "float largest", "out[i] = 0; float largest" })
  no("threads wait", "wait for each other", { "for (int d = 0; d < 8; d++) out",
    "__syncthreads();\n  for (int d = 0; d < 8; d++) out" })
  no("another use of the thread's number", "more than 'i'", { "out[i * 8", "out[threadIdx.x * 8" })
  refused("keys that are no multiple", "flash", changed(), 9, { "4", "30", "4" }, "a multiple of")
  local long = changed():gsub("d < 8", "d < 64"):gsub("%* 8 %+ d", "* 64 + d")
    :gsub("acc%[8%]", "acc[64]")
  refused("too much memory", "flash", long, 9, { "4", "128", "4" }, "it is too much memory")
end)

tap.case("it pays", function()
  local source = changed()
  local text = rewritten.text("flash", source, 9, { "8", "64", "4" })
  local _, before = rewritten.run(source, 500)
  local _, after = rewritten.run(text, 500, { block = 256 })
  tap.ok(before / after > 3, ("at 500 keys of 8: %.2f times"):format(before / after))
end)

tap.done(gi)
