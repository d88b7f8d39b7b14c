-- Memory under transformation: elements kept in variables, loads before loops and by other ways,
-- single precision. What is made is right at every size.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local rewritten = require "rewritten"
local tap = require "tap"

local SIZES = { 0, 1, 5, 64, 1000 }

local right, refused = rewritten.judge(SIZES)

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"

tap.case("an element kept in a variable", function()
  local text = right("updated", "keep", rewritten.source(T .. [[
  for (int i = 0; i < n; i++) // of the row
    out[t] += a[i] * b[t];]]), 4)
  tap.has(text, [[
  const bool has_rounds = 0 < n;
  float out_kept;
  if (has_rounds) out_kept = out[t];
  for (int i = 0; i < n; i++) // of the row
    out_kept += a[i] * b[t];
  if (has_rounds) out[t] = out_kept;
]], "as a person would write it")
  right("the only statement of an if, among others", "keep", rewritten.source(T .. [[
  if (t < 40)
    for (int i = 0; i < n; i++) {
      out[2 * t] += a[i];
      out[2 * t] *= 0.5f;
      if (b[i] > 1.f) out[2 * t] -= b[i];
    }
  else
    out[2 * t] = 1.f;]]), 5)
  text = right("given its value before", "keep", rewritten.source(T .. [[
  out[t] = 1.f;
  for (int i = 0; i < n; i++)
    out[t] += a[i];]]), 5)
  tap.has(text, "  float out_kept = 1.f;\n  for (", "once")
  refused("a volatile one", "keep", rewritten.source(T .. [[
  volatile float *v = out;
  for (int i = 0; i < n; i++) v[t] += a[i];]]), 5, {}, "the loop has no")
  refused("one that moves", "keep", rewritten.source(T .. [[
  for (int i = 0; i < n; i++) out[i] += a[i];]]), 4, {}, "the loop has no")
  refused("one that is read as another", "keep", rewritten.source(T .. [[
  for (int i = 0; i < n; i++) out[t] += out[i];]]), 4, {}, "the loop has no")
  refused("one that another pointer leads to", "keep", rewritten.source(T .. [[
  float *p = out + 1;
  for (int i = 0; i < n; i++) { out[t] += 1.f; p[i] = 0.f; }]]), 5, {}, "the loop has no")
  refused("one that others see", "keep", rewritten.source(T .. [[
  for (int i = 0; i < n; i++) { out[t] += a[i]; __syncthreads(); }]]), 4, {}, "the loop has no")
  refused("one that is returned from", "keep", rewritten.source(T .. [[
  for (int i = 0; i < n; i++) { out[t] += a[i]; if (out[t] > 3.f) return; }]]), 4, {},
    "the loop has no")
end)

tap.case("an element that goes along", function()
  local text = right("stored and loaded again", "carry", rewritten.source(T .. [[
  if (t == 0)
    for (int x = 1; x < n; x++) // a sum
      out[x] = a[x] + out[x - 1];]]), 5)
  tap.has(text, [[
    {
    const bool has_rounds = 1 < n;
    float out_carried;
    if (has_rounds) out_carried = out[0];
    for (int x = 1; x < n; x++) // a sum
      out[x] = out_carried = a[x] + out_carried;
    }]], "as a person would write it")
  text = right("an update, downwards, of a row", "carry", rewritten.source(T .. [[
  for (int x = 20; x >= 0; x -= 2) {
    float half = out[t * 32 + x + 2] * 0.5f;
    out[t * 32 + x] -= b[x] < 0.f ? half : 1.f;
  }]]), 4)
  tap.has(text, [[
  float out_carried = out[t * 32 + 22];
  for (int x = 20; x >= 0; x -= 2) {
    float half = out_carried * 0.5f;
    out[t * 32 + x] = out_carried = out[t * 32 + x] - (b[x] < 0.f ? half : 1.f);
  }]], "written out")
  text = right("along columns, however wide", "carry", rewritten.source([[
  int t = blockIdx.x * blockDim.x + threadIdx.x, w = n > 99 ? 0 : 64;
  for (int i = 1; i < 20; i++) {
    out[i * w + t] += 2 * out[(i - 1) * w + t] + out[w * i + t - w];
  }]], "int"), 4, {}, { type = "i32", sizes = { 1, 100 }, grid = 1 })
  tap.has(text, "int out_carried = out[0 * w + t];", "where it begins")
  right("two arrays, a start that is a sum", "carry", rewritten.source([[
  __shared__ int s[2048];
  s[threadIdx.x] = 1;
  if (threadIdx.x != 0 || n > 1000) return;
  int x;
  for (x = n / 2 + 1; x <= n; ++x) {
    s[x] = s[x - 1] + a[x];
    out[x + 64 * blockIdx.x] = 2 * out[x + 64 * blockIdx.x - 1] + s[x];
  }]], "int"), 7, {}, { type = "i32", sizes = { 0, 1, 5, 31 }, grid = 1 })
  tap.is(rewritten.found("carry", rewritten.source(T .. [[
  for (int x = 1; x < n; x++) out[x] = out[x - 1];
  for (int x = 1; x < n; x++) out[x] = out[x] + 1.f;
  for (int x = 1; x < n; x++) out[x] = out[x + 1];
  for (int x = 1; x < n; x++) out[x] = a[x - 1];]])), "4()", "where it is proposed")
  local function none(what, body)
    refused(what, "carry", rewritten.source(T .. body), 4, {}, "no iteration loads")
  end
  none("the first is not loaded", [[
  for (int x = 0; x < n; x++) out[x] = x == 0 ? 0.f : out[x - 1] + a[x];]])
  none("nor below an if", [[
  for (int x = 0; x < n; x++) { float w = 0.f; if (x > 0) { w = out[x - 1]; } out[x] = w; }]])
  none("loaded behind", [[
  for (int x = 1; x < n; x++) { out[x] = a[x]; float w = out[x - 1]; out[x + 99] = w; }]])
  none("not stored in each", [[
  for (int x = 1; x < n; x++) { float w = out[x - 1]; if (w > 0.f) out[x] = w; }]])
  none("another writes to it", [[
  for (int x = 1; x < n; x++) { out[x] = out[x - 1]; out[2 * x] = 1.f; }]])
  none("others wait", [[
  for (int x = 1; x < n; x++) { out[x] = out[x - 1]; __syncthreads(); }]])
  none("an index that comes from memory", [[
  for (int x = 1; x < 9; x++) out[((int)a[x]) & 7] = out[((int)a[x - 1]) & 7];]])
  none("an index that changes besides", [[
  int k = 0; for (int x = 1; x < 9; x++) { out[x + k] = out[x - 1 + k]; k += 2; }]])
  none("two steps back", [[
  for (int x = 2; x < n; x++) out[x] = out[x - 2];]])
end)

tap.case("loads before a loop", function()
  local text = right("twice in it", "hoist", rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) {
    out[i] = a[t] * b[i];
    if (b[i] > 0.f) out[i] -= a[t];
  }]]), 4)
  tap.has(text, "  if (has_rounds) a_before = a[t];\n  for (", "before it")
  tap.has(text, "out[i] -= a_before;", "wherever it is")
  text = right("an index that is loaded itself", "hoist", rewritten.source(T .. [[
  int s = 0;
  for (int i = 0; i < n; i++) s += a[b[t] & 7] * i + b[t];
  out[t] = s;]], "int"), 5, {}, { type = "i32" })
  tap.has(text, "a_before = a[b[t] & 7];", "as a whole")
  tap.has(text, "b_before = b[t];", "and where it stands alone")
  refused("one that not each iteration makes", "hoist", rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) if (b[i] > 0.f) out[i] = a[t];]]), 4, {}, "the loop has no")
  refused("one that is written there", "hoist", rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) out[i] += out[0];]]), 4, {}, "the loop has no")
  refused("one behind a way out", "hoist", rewritten.source(T .. [[
  for (int i = t; i < n; i += 64) { if (i > 9) break; out[i] = a[t]; }]]), 4, {}, "the loop has no")
  refused("one that the head moves", "hoist", rewritten.source(T .. [[
  int j = 0;
  for (int i = t; i < n; i += 64, j++) out[i] = a[j];]]), 5, {}, "the loop has no")
end)

tap.case("several elements at once", function()
  local row = rewritten.source(T .. [[
  float sum = 0.f;
  if (t < 3)
    for (int j = 0; j < n; j++)
      sum += a[t * n + j] * b[j + t];
  out[t] = sum;]])
  local text = right("a sum, wherever its row begins", "vector", row, 6, { "4" })
  tap.has(text, "for (; j < n && ((size_t)&a[t * n + j] & 15) != 0; j++)", "first to a boundary")
  tap.has(text, "float4 b_4 = *(const float4 *)&b[j + t];", "a load")
  right("in parts", "vector", row, 6, { "2", "split" }, { limit = 1e-1 })
  text = right("read, written, and changed", "vector", rewritten.source(T .. [[
  if (t == 0)
    for (int j = n / 3; j < n; j++) {
      float x = a[j];
      out[j] = x * b[j + 1] + a[j];
      out[j] += 1.f;
    }]]), 5, { "4" })
  tap.has(text, "*(float4 *)&out[j] = out_4;", "a store")
  right("bytes", "vector", rewritten.source(T .. [[
  if (t == 1)
    for (int j = 1; j <= n; j++)
      out[j] = out[j] / 2 + a[j];]], "unsigned char"), 5, { "4" }, { type = "u8" })
  local why = "no neighbouring elements"
  refused("every second", "vector", rewritten.source(T .. [[
  for (int j = 0; j < n; j++) out[t] += a[2 * j];]]), 4, { "4" }, why)
  refused("from the one before", "vector", rewritten.source(T .. [[
  for (int j = 1; j < n; j++) out[j] = out[j - 1] + a[n];]]), 4, { "4" }, why)
  refused("only some of them", "vector", rewritten.source(T .. [[
  for (int j = 1; j < n; j++) if (n > 5) out[j] = 1.f;]]), 4, { "4" }, why)
  refused("a start that moves", "vector", rewritten.source(T .. [[
  int m = 0;
  for (int j = 1; j < n; j++) { m += 2; out[j + m] = 1.f; }]]), 5, { "4" }, why)
  refused("three", "vector", row, 6, { "3" }, "elements 4 or 2")
end)

tap.case("single precision", function()
  local source = rewritten.source(T .. [[
  double sum = (0.0), scale = 1.5e-1;
  for (int i = t; i < n; i += 64)
    sum += (sqrt)((a[i]) * a[i]) * (scale) + (double)i / 1000;
  out[t] = sum;]], "double")
  local text = right("a whole function", "float", source, 1, {}, { type = "f64", limit = 1e-2 })
  tap.has(text, "float sum = (0.0f), scale = 1.5e-1f;", "variables and literals")
  tap.has(text, "(sqrtf)((float)(a[i]) * (float)a[i]) * (scale) + (float)i / 1000;", "what is read")
  tap.has(text, "double *out, const double *a", "memory stays as it is")
  text = right("one variable", "float", rewritten.source(T .. [[
  double x = a[t] * 0.5;
  double sum = x + n;
  x = sum * b[t];
  out[t] = x * sum;]], "double"), 4, { "x" }, { type = "f64", limit = 1e-1 })
  tap.has(text, "float x = (float)a[t] * 0.5f;", "it")
  tap.has(text, "double sum = x + n;", "not another")
  tap.has(text, "x = (float)sum * (float)b[t];", "but what is assigned to it")
  local called = "__device__ double half(double v) { return v / 2.0; }\n" .. rewritten.source(T
    .. [[
  double x = half(a[t]);
  out[t] = x;]], "double")
  text = right("with what it calls", "float", called, 2, { "all" }, { type = "f64", limit = 1e-1 })
  tap.has(text, "float half(float v) { return v / 2.0f; }", "a function's signature")
  tap.is(rewritten.found("float", called), "1() 2() 2(all) 5(x)", "where it is proposed")
  text = rewritten.text("float", "__device__ double f(const double x[][4], double y[3], double z)\n"
    .. "{\n  y[0] = x[0][1];\n  return x[2][3] * z;\n}\n", 1)
  tap.has(text, "float f(const double x[][4], double y[3], float z)", "arrays stay as they are")
  tap.has(text, "return (float)x[2][3] * z;", "and are rounded where they are read")
  refused("nothing double", "float", rewritten.source(T .. "  out[t] = a[t] * 0.5f;"), 1, {},
    "nothing there is double")
  refused("an address", "float", rewritten.source(T .. [[
  double x = 1.0;
  double *p = &x;
  out[t] = *p;]], "double"), 1, {}, "is used")
end)

tap.case("a pointer that a loop's head leads elsewhere", function()
  local fn = require "gilua.transform.kernel".of_text([[
__global__ void k(float *a, float *b, int n) {
  float *p = a, *q = a;
  for (int i = 0; i < n; p = b, i++) *p = *q;
}
]]).functions[1]
  local memory_of = require "gilua.facts.memory_of"
  tap.is(memory_of.of(fn, "p", fn.close - 1), nil, "may lead anywhere")
  tap.is(memory_of.of(fn, "q", fn.close - 1), "a", "another does not")
end)

local ARRAYS = [[
__constant__ float taps[4] = { 1, 2, 3, 4 };
static __device__ const float scale[2][2] = { { 1, 2 }, { 3, 4 } };
__device__ float sums[64];
__constant__ float unused[4];
__constant__ int length = 4;
#define tapOf(i) taps[i]
extern "C" __global__ void k(float *out, float *a, float *b, int n)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  sums[t % 64] = a[t % 5];
  out[t] = tapOf(t % length) * scale[t % 2][1] + n;
}
]]

tap.case("arrays of the file between constant and global memory", function()
  local text = right("read apart", "constant", ARRAYS, 1, { "taps" })
  tap.has(text, "__device__ float taps[4] = {", "global memory")
  text = right("read alike", "constant", ARRAYS, 2, { "scale" })
  tap.has(text, "static __constant__ const float scale[2][2]", "constant memory")
  tap.is(rewritten.found("constant", ARRAYS), "1(taps) 2(scale)",
    "arrays that are used, and not written")
  refused("one that is written", "constant", ARRAYS, 3, { "sums" }, "no array of the file")
  refused("one that nobody reads", "constant", ARRAYS, 4, { "unused" }, "no array of the file")
  refused("a number", "constant", ARRAYS, 5, { "length" }, "no array of the file")
  local pointed = ARRAYS:gsub("out%[t%] =", "const float *p = scale[1]; out[t] = p[0] *")
  refused("one that a pointer leads to", "constant", pointed, 2, { "scale" }, "no array of")
  right("one whose element a variable gets", "constant",
    ARRAYS:gsub("out%[t%] =", "const float p = scale[1][0]; out[t] = p *"), 2, { "scale" })
  local copied = "__device__ float scale[2][2];\n" .. ARRAYS:gsub("static[^\n]*\n", "")
    .. "void host(float *f) { cudaMemcpyToSymbol(scale, f, 16); }\n"
  tap.is(rewritten.found("constant", copied), "1(scale) 2(taps)", "the host may fill it")
end)

tap.done()
