-- rates: what the cost model's rates are on this GPU, by microbenchmarks.
--
--   gilua --device cuda tests/gpu/rates.lua
--
-- Each row is a loop of independent instructions of one kind on all SMs, with enough warps to hide
-- latency; printed are clocks of an SM for a warp instruction, less those of the loop without it.
-- The figures of lua/gilua/gpu/h200.lua marked [g] come from here.

local gi = require "gilua"
local options = gi.cli { doc = "Measures instruction rates." }
local dev = assert(gi.device(options.device))
local info = dev:info()

local N = 1 << 16 -- texels, words
local data = gi.array("f32", N * 4)
for i = 1, N * 4 do data[i] = i % 7 end
local buffer = dev:buffer(data, { read_only = true })
local floats = dev:texture(data, { kind = "linear", channels = 1 })
local vectors = dev:texture(data, { kind = "linear", channels = 4 })
local out = dev:buffer(gi.array("f32", 1 << 20))

local FRAME = [[
__constant__ float table[1024];
extern "C" __global__ void k(float *out, const float4 *global4, cudaTextureObject_t f,
                             cudaTextureObject_t v, int n, int lanes, int zero) {
  __shared__ float4 shared4[512];
  const float *shared = (const float *)shared4;
  const float *global1 = (const float *)global4;
  int lane = threadIdx.x & 31;
  float sum = 0;
  for (int i = threadIdx.x; i < 512; i += blockDim.x) shared4[i] = make_float4(i, 1, 2, zero);
  __syncthreads();
  if (lane < lanes) {
    int at = ADDRESS;
    for (int i = 0; i < n; i++) {
      #pragma unroll
      for (int j = 0; j < 8; j++) { BODY; }
      at = (at + STEP) & 255;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
]]

local WARPS, ITERATIONS = 8, 400
local blocks = 8 * info.sms

local function clocks(body, address, lanes, step)
  local fill = { BODY = body, ADDRESS = address, STEP = step or "1" }
  local source = FRAME:gsub("%u%u%u%u+", fill)
  local code = assert(gi.compile(source, { target = dev:target() }))
  local module <close> = assert(dev:load(code))
  local m = module:time {
    kernel = "k", grid = blocks, block = 32 * WARPS, timeout_s = 5, max_samples = 50,
    args = { out, buffer, floats, vectors, { "i32", ITERATIONS }, { "i32", lanes }, { "i32", 0 } },
  }
  assert(m.status == "ok", m.message)
  local clock = m.clocks[#m.clocks] > 0 and m.clocks[#m.clocks] or info.clock_ghz
  return (m.median_ns or m.ns) * clock * info.sms / (blocks * WARPS * ITERATIONS * 8)
end

local ADDRESSES = {
  { "one", "0" }, { "by 4 lanes", "lane / 4" }, { "five", "lane % 5" }, { "by lane", "lane" },
  { "stride 5", "lane * 5" }, { "stride 33", "lane * 33 % 1024" },
}
local BODIES = {
  { "nothing", "sum += at + j" },
  { "tex f32", "sum += tex1Dfetch<float>(f, at + j)" },
  { "tex f32x4", "float4 t = tex1Dfetch<float4>(v, at + j); sum += t.x + t.y + t.z + t.w" },
  { "ld.global", "sum += __ldcg(&global1[at + j]) * 0 + global1[at + j]" },
  { "ld.global.v4", "float4 t = global4[at + j]; sum += t.x + t.y + t.z + t.w" },
  { "ld.const", "sum += table[at + j]" },
  { "ld.shared", "sum += shared[at + j]" },
  { "ld.shared.v4", "float4 t = shared4[at + j]; sum += t.x + t.y + t.z + t.w" },
}

print(info.name .. ": clocks of an SM for a warp instruction (loop and sums included)")
io.write(("%-14s %6s"):format("instruction", "lanes"))
for _, a in ipairs(ADDRESSES) do io.write(("%12s"):format(a[1])) end
print()
for _, b in ipairs(BODIES) do
  for _, lanes in ipairs { 8, 16, 25, 32 } do
    io.write(("%-14s %6d"):format(b[1], lanes))
    for _, a in ipairs(ADDRESSES) do
      io.write(("%12.2f"):format(clocks(b[2], a[2], lanes)))
    end
    print()
  end
end

local OTHERS = {
  { "fma", "sum = sum * 1.5f + at" }, { "integer add", "at += j; sum += at" },
  { "integer multiply", "at = at * 5 + j; sum += at & 1" },
  { "division by 5", "sum += (at + j) / 5" },
  { "division by a variable", "sum += (at + j + 1000) / (lanes + 1)" },
  { "float division", "sum += 3.0f / (sum + at + j)" },
  { "int to float", "sum += (float)(at + j)" },
  { "rcp", "sum += __frcp_rn(sum + j)" }, { "ex2", "sum += exp2f(at * 0.01f)" },
}
for _, o in ipairs(OTHERS) do
  print(("%-24s %10.2f"):format(o[1], clocks(o[2], "lane", 32)))
end
