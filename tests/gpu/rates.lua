-- rates: what the cost model's rates are on this GPU, by microbenchmarks.
--
--   gilua --device cuda tests/gpu/rates.lua
--
-- Each row is a loop of independent instructions of one kind on all SMs, with enough warps to hide
-- latency; printed are clocks of an SM for a warp instruction, the loop and its sum (the row
-- "nothing") included. The figures of lua/gilua/base/gpu/h200.lua marked [g] come from here.

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
__constant__ float table[1320];
extern "C" __global__ void k(float *out, const float4 *global4, cudaTextureObject_t f,
                             cudaTextureObject_t v, int n, int lanes, int zero) {
  __shared__ float4 shared4[1320];
  const float *shared = (const float *)shared4;
  const float *global1 = (const float *)global4;
  int lane = threadIdx.x & 31;
  float sum = 0;
  for (int i = threadIdx.x; i < 1320; i += blockDim.x) shared4[i] = make_float4(i, 1, 2, zero);
  __syncthreads();
  if (lane < lanes) {
    int base = ADDRESS, at = base;
    for (int i = 0; i < n; i++) {
      #pragma unroll
      for (int j = 0; j < 8; j++) { BODY; }
      at = base + (i * 8 & 255);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
]]

local WARPS, ITERATIONS = 8, 400
local blocks = 8 * info.sms

local function clocks(body, address, lanes)
  local fill = { BODY = body, ADDRESS = address }
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

-- Rows of control points: 640 bytes apart, always on the same part of a 128-byte line, or 752.
local ADDRESSES = {
  { "one", "0" }, { "by 4 lanes", "lane / 4" }, { "five", "lane % 5" },
  { "five apart", "lane % 5 * 4" }, { "by 5 apart", "lane / 5 * 4" }, { "by lane", "lane" },
  { "stride 5", "lane * 5" }, { "stride 8", "lane * 8" }, { "stride 33", "lane * 33 % 1024" },
  { "rows 640", "((lane & 3) * 40 + (lane >> 2 & 3) * 1880)", true },
  { "rows 752", "((lane & 3) * 47 + (lane >> 2 & 3) * 2209)", true },
}
local BODIES = {
  { "nothing", "sum += at + j" },
  { "tex f32", "sum += tex1Dfetch<float>(f, at + j)" },
  { "tex f32x4", "float4 t = tex1Dfetch<float4>(v, at + j); sum += t.x + t.y + t.z + t.w" },
  { "ld.global", "sum += global1[at + j]" },
  { "ld.global.v4", "float4 t = global4[at + j]; sum += t.x + t.y + t.z + t.w" },
  { "ld.const", "sum += table[at + j]" },
  { "ld.shared", "sum += shared[at + j]" },
  { "ld.shared.v4", "float4 t = shared4[at + j]; sum += t.x + t.y + t.z + t.w" },
}

print(info.name .. ": clocks of an SM for a warp instruction (loop and sums included)")
io.write(("%-14s %5s"):format("instruction", "lanes"))
for _, a in ipairs(ADDRESSES) do io.write(("%11s"):format(a[1])) end
print()
for _, b in ipairs(BODIES) do
  local small = b[1]:find("const") or b[1]:find("shared") -- arrays that the widest rows would leave
  for _, lanes in ipairs { 8, 16, 25, 32 } do
    io.write(("%-14s %5d"):format(b[1], lanes))
    for _, a in ipairs(ADDRESSES) do
      io.write(small and a[3] and ("%11s"):format("-")
        or ("%11.2f"):format(clocks(b[2], a[2], lanes)))
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
