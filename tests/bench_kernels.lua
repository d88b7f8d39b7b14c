--- The lines of `make bench` about kernels on the virtual GPU, one core: thousand million lane
--- instructions in a second of processor time.
---
--- `./gilua tests/bench_kernels.lua [PART [RUNS]]` runs the rows whose names have PART in them.
--- Compare two builds by running it with each in turn: the machine may have other work, too.

local gi = require "gilua"

local SOURCE = [[
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void tiled(const float *a, const float *b, float *c, int n) {
  __shared__ float s[16][16], t[16][16];
  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[i * n + k + x];
    t[y][x] = b[(k + y) * n + j];
    __syncthreads();
    for (int m = 0; m < 16; m++) sum += s[y][m] * t[m][x];
    __syncthreads();
  }
  c[i * n + j] = sum;
}

/* 64 x 64 results a block, 4 x 4 a thread. */
extern "C" __global__ void registers(const float *a, const float *b, float *c, int n) {
  __shared__ float s[64][17], t[16][64];
  int x = threadIdx.x, y = threadIdx.y, id = y * 16 + x;
  int i = blockIdx.y * 64, j = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int e = id; e < 1024; e += 256) {
      s[e / 16][e % 16] = a[(i + e / 16) * n + k + e % 16];
      t[e / 64][e % 64] = b[(k + e / 64) * n + j + e % 64];
    }
    __syncthreads();
    for (int m = 0; m < 16; m++) {
      float u[4], v[4];
      for (int p = 0; p < 4; p++) u[p] = s[y * 4 + p][m];
      for (int q = 0; q < 4; q++) v[q] = t[m][x * 4 + q];
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) sum[p][q] += u[p] * v[q];
    }
    __syncthreads();
  }
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) c[(i + y * 4 + p) * n + j + x * 4 + q] = sum[p][q];
}

extern "C" __global__ void plain(const float *a, const float *b, float *c, int n) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

extern "C" __global__ void stencil(const float *a, const float *b, float *c, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  for (int z = 1; z < n - 1; z++) {
    int i = (z * n + y) * n + x;
    c[i] = 0.4f * a[i] + 0.1f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] +
                                 a[i + n * n]);
  }
}

extern "C" __global__ void nbody(const float4 *a, const float *b, float4 *c, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = a[i];
  float fx = 0, fy = 0, fz = 0;
  for (int k = 0; k < n; k += 256) {
    tile[threadIdx.x] = a[k + threadIdx.x];
    __syncthreads();
    for (int m = 0; m < 256; m++) {
      float4 o = tile[m];
      float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = o.w * r * r * r;
      fx += dx * f, fy += dy * f, fz += dz * f;
    }
    __syncthreads();
  }
  c[i] = make_float4(fx, fy, fz, 0);
}

__device__ u64 scrambled(u64 s) { return s * 2806196910506780709ULL + 1; }

/* A random energy is looked up by bisection, then cross sections are interpolated. */
extern "C" __global__ void lookup(const double *a, const double *b, double *c, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  u64 seed = i * 77 + 1;
  for (int k = 0; k < 20; k++) seed = scrambled(seed);
  double e = (double)(seed >> 11) * (1.0 / 9007199254740992.0), sum[5] = {};
  int low = 0, high = n - 1;
  while (high - low > 1) {
    int m = low + (high - low) / 2;
    if (a[m] > e) high = m;
    else low = m;
  }
  double f = (a[low + 1] - e) / (a[low + 1] - a[low]);
  for (int m = 0; m < 16; m++) {
    seed = scrambled(seed);
    const double *p = b + (seed >> 33) % (u64)(n - 1) * 6;
    for (int k = 0; k < 5; k++) sum[k] += p[k + 6] - f * (p[k + 6] - p[k]);
  }
  c[i] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4];
}

extern "C" __global__ void sparse(const float *a, const int *b, float *c, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; k++) sum += a[i * 16 + k] * a[b[i * 16 + k] & (n - 1)];
  c[i] = sum;
}

extern "C" __global__ void transpose(const float *a, const float *b, float *c, int n) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) t[threadIdx.y + k][threadIdx.x] = a[(y + k) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) c[(y + k) * n + x] = t[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void reduce(const float *a, const float *b, float *c, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) sum += a[i];
  s[t] = sum;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) c[blockIdx.x] = s[0];
}

#define LOOP(name, before, body, after)                                                     \
  extern "C" __global__ void name(const float *a, const u32 *b, u32 *c, int n) {            \
    int i = blockIdx.x * 256 + threadIdx.x;                                                 \
    before;                                                                                 \
    for (int k = 0; k < n; k += 8) { body; body; body; body; body; body; body; body; }      \
    after;                                                                                  \
  }

LOOP(pairs, u32 x = b[i & 255], asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) :
  "r"(0x38003800)), c[i] = x)
LOOP(to_zero, float x = a[i & 255], asm volatile("fma.rz.f32 %0, %0, %1, %1;" : "+f"(x) :
  "f"(0.5f)), c[i] = __float_as_uint(x))
LOOP(quotients, u64 x = b[i & 255] | 1ull << 62; u64 y = b[(i + 7) & 255] | 1; u64 z = 0,
  z += x / (y + (z & 15)), c[i] = z)
LOOP(fields, u32 x = b[i & 255]; u32 s = i & 7,
  asm volatile("bfe.u32 %0, %0, %1, 29;" : "+r"(x) : "r"(s)); x ^= i, c[i] = x)
LOOP(integers, u32 x = b[i & 255]; u32 y = i, x = x * 5 + y; y ^= x >> 3; x += y << 5, c[i] = x ^ y)
LOOP(floats, float x = a[i & 255]; float y = i; float z = 1, x = x * y + z; z = fminf(z * 0.5f, x);
  y = y * 0.25f + z, c[i] = __float_as_uint(x + y + z))
LOOP(doubles, double x = a[i & 255]; double y = i; double z = 1, x = x * y + z; z = z * 0.5 + x;
  y = y * 0.25 + z, c[i] = __float_as_uint((float)(x + y + z)))
]]

-- Name, kernel, n, grid, block.
local MIB = 1 << 20
local ROWS = {
  { "matmul, shared tiles", "tiled", 256, { 16, 16 }, { 16, 16 } },
  { "matmul, register tiles", "registers", 256, { 4, 4 }, { 16, 16 } },
  { "matmul, plain", "plain", 256, { 16, 16 }, { 16, 16 } },
  { "stencil", "stencil", 96, { 3, 12 }, { 32, 8 } },
  { "n-body", "nbody", 2048, { 8 }, { 256 } },
  { "lookup (as XSBench)", "lookup", 1 << 17, { 64 }, { 256 } },
  { "sparse product", "sparse", 1 << 20, { 256 }, { 256 } },
  { "transpose", "transpose", 1024, { 32, 32 }, { 32, 8 } },
  { "reduction", "reduce", 1 << 20, { 64 }, { 256 } },
  { "fma.f16x2", "pairs", 4096, { 8 }, { 256 } },
  { "fma.rz", "to_zero", 4096, { 8 }, { 256 } },
  { "div.u64", "quotients", 512, { 8 }, { 256 } },
  { "bfe", "fields", 4096, { 8 }, { 256 } },
  { "integers", "integers", 4096, { 8 }, { 256 } },
  { "floats", "floats", 4096, { 8 }, { 256 } },
  { "doubles", "doubles", 2048, { 8 }, { 256 } },
}

-- Sorted numbers for the lookup, small ones for the others.
local function inputs(kernel)
  local rng = gi.rng(1)
  if kernel == "lookup" then
    local n = 1 << 17
    local a, b = gi.array("f64", n), gi.array("f64", 6 * n)
    for i = 1, n do a[i] = (i - 1) / n end
    b:fill(0.25)
    return a, b, gi.array("f64", n)
  end
  local a, b = gi.array("f32", 4 * MIB / 4), gi.array("i32", MIB)
  for i = 1, MIB do
    a[i] = (i * 37 % 101) / 101
    b[i] = rng:int(0, 1 << 30)
  end
  if kernel == "plain" or kernel == "tiled" or kernel == "registers" then b = a end
  return a, b, gi.array("f32", MIB)
end

--- Runs a row; the median of thousand million lane instructions a second, and the ticks.
local function measured(device, module, row, runs)
  local a, b, c = inputs(row[2])
  local list, m = {}, nil
  for i = 1, runs do
    local start = os.clock()
    m = assert(module:launch { kernel = row[2], grid = row[4], block = row[5], budget = 0,
      args = { device:buffer(a), device:buffer(b), device:buffer(c), { "i32", row[3] } } })
    list[i] = m.lane_instructions / (os.clock() - start) / 1e9
    if m.status ~= "ok" then error(row[1] .. ": " .. tostring(m.message), 0) end
  end
  table.sort(list)
  return list[(#list + 1) // 2], m
end

local function run(part, runs)
  local code = assert(gi.compile(SOURCE, { target = "compute_90" }))
  local device = assert(gi.device "emu")
  local module = assert(device:load(code))
  for _, row in ipairs(ROWS) do
    if row[1]:find(part, 1, true) then
      local rate, m = measured(device, module, row, runs)
      print(("  %-24s %6.2f  (%.1f million lane instructions, %.0f ticks)"):format(row[1], rate,
        m.lane_instructions / 1e6, m.ticks))
    end
  end
end

run(arg[1] or "", tonumber(arg[2]) or 5)
