-- modelpairs: pairs of kernels of which a GPU runs one faster, for a reason that has a name.
--
-- tests/gpu/model.lua times them on a GPU and writes tests/data/model_NAME.txt; tests/lua/model.lua
-- holds the virtual GPU's ticks against those times. Each side is { body, grid, block, arguments }.
-- A body that does not begin with a line of its own is wrapped: `i` is the thread's number in the
-- grid, `t` in its block. alike: a GPU runs both alike. order: of this pair the model knows the
-- order alone, not how far they are apart.

local gi = require "gilua"

local M = {}

-- Arguments: how an array is filled. A number is an i32.
local fill = {}

local function fill_array(kind, n, value)
  local a = gi.array(kind, n)
  for k = 1, n do a[k] = value(k - 1) end
  return a
end

function fill.ones(n) return gi.array("f32", n):fill(1) end
function fill.doubles(n) return gi.array("f64", n):fill(1) end
function fill.zeros(n) return gi.array("i32", n):fill(0) end
function fill.longs(n) return gi.array("i64", n):fill(0) end

--- Element k of a cycle through all n (a power of two).
function fill.chase(n)
  return fill_array("i32", n, function(k) return (k * 126705 + 13) % n end)
end

--- The same, of every 32nd element: a line each.
function fill.lines(n)
  local a = gi.array("i32", n):fill(0)
  local lines = n // 32
  for k = 0, lines - 1 do a[k * 32 + 1] = (k * 126705 + 13) % lines * 32 end
  return a
end

function fill.random(n)
  return fill_array("i32", n, function(k) return (k * 2654435761 + 12345) >> 7 & 0xffffff end)
end

local HEAD = [[
extern "C" __global__ void k(%s) {
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; (void)t; (void)i;
  %s
}]]

--- Pairs of chases through tables of lines: which cache holds the table decides.
local CHASE = "int q = 0; for (int j = 0; j < m; j++) q = x[q]; y[i] = q;"
local COPY = { { "ones", 1 << 23 }, { "ones", 1 << 23 } }
local SQUARE = { { "ones", 1 << 22 }, { "ones", 1 << 22 } }
local FLOATS = "const float *__restrict__ x, float *y"

local function transpose(pad)
  return ([[__shared__ float tile[32][PAD];
  int a = t & 31, b = t >> 5, c = blockIdx.x & 63, r = blockIdx.x >> 6;
  for (int j = b; j < 32; j += 8) tile[j][a] = x[(r * 32 + j) * 2048 + c * 32 + a];
  __syncthreads();
  for (int j = b; j < 32; j += 8) y[(c * 32 + j) * 2048 + r * 32 + a] = tile[a][j];]])
    :gsub("PAD", pad)
end

local function shared_atomics(type, where)
  return ([[__shared__ TYPE bin[256];
  if (t < 256) bin[t] = 0;
  __syncthreads();
  for (int j = 0; j < 200; j++) atomicAdd(&bin[WHERE], (TYPE)1);
  __syncthreads();
  if (t < 256) y[t] = bin[t];]]):gsub("TYPE", type):gsub("WHERE", where)
end

local MATMUL = "const float *__restrict__ x, const float *__restrict__ y, float *z"
local MATRICES = { { "ones", 1 << 18 }, { "ones", 1 << 18 }, { "ones", 1 << 18 } }

local NAIVE_PRODUCT = [[int c = i & 511, r = i >> 9; float s = 0;
  for (int j = 0; j < 512; j++) s += x[r * 512 + j] * y[j * 512 + c];
  z[i] = s;]]

local TILED_PRODUCT = [[__shared__ float a[16][16], b[16][16];
  int c = t & 15, r = t >> 4, col = (blockIdx.x & 31) * 16 + c, row = (blockIdx.x >> 5) * 16 + r;
  float s = 0;
  for (int j = 0; j < 512; j += 16) {
    a[r][c] = x[row * 512 + j + c]; b[r][c] = y[(j + r) * 512 + col];
    __syncthreads();
    for (int q = 0; q < 16; q++) s += a[r][q] * b[q][c];
    __syncthreads();
  }
  z[row * 512 + col] = s;]]

local REGISTER_PRODUCT = [[__shared__ float a[16][33], b[16][33];
  int c = t & 15, r = t >> 4, col = (blockIdx.x & 15) * 32, row = (blockIdx.x >> 4) * 32;
  float s[2][2] = {};
  for (int j = 0; j < 512; j += 16) {
    for (int q = t; q < 512; q += 256) {
      a[q & 15][q >> 4] = x[(row + (q >> 4)) * 512 + j + (q & 15)];
      b[q >> 5][q & 31] = y[(j + (q >> 5)) * 512 + col + (q & 31)];
    }
    __syncthreads();
    for (int q = 0; q < 16; q++)
      for (int u = 0; u < 2; u++)
        for (int v = 0; v < 2; v++) s[u][v] += a[q][r + 16 * u] * b[q][c + 16 * v];
    __syncthreads();
  }
  for (int u = 0; u < 2; u++)
    for (int v = 0; v < 2; v++) z[(row + r + 16 * u) * 512 + col + c + 16 * v] = s[u][v];]]

local function spilled(bounds)
  return ([[
extern "C" __global__ void __launch_bounds__(BOUNDS) k(const float *x, float *y, int n) {
  float c[64];
  int i = blockIdx.x * 256 + threadIdx.x;
  #pragma unroll
  for (int j = 0; j < 64; j++) c[j] = x[(i + j * 256) & (n - 1)];
  for (int k = 0; k < 20; k++) {
    float b = x[(k * 37) & (n - 1)];
    #pragma unroll
    for (int j = 0; j < 64; j++) c[j] = c[j] * b + c[(j + 1) & 63];
  }
  float s = 0;
  #pragma unroll
  for (int j = 0; j < 64; j++) s += c[j];
  y[i] = s;
}]]):gsub("BOUNDS", bounds)
end

local CHAIN = [[int q = i; for (int j = 0; j < 400; j++) q = x[q]; y[i] = q;]]
local CHAINS = [[int a = i, b = i + 100000, c = i + 200000, d = i + 300000;
  for (int j = 0; j < 100; j++) { a = x[a]; b = x[b]; c = x[c]; d = x[d]; }
  y[i] = a + b + c + d;]]
local INTS = "const int *x, int *y"
local TABLE = { { "chase", 1 << 22 }, { "zeros", 1 << 16 } }

local function passes(outer, inner)
  return ([[float4 s = make_float4(0, 0, 0, 0);
  int w = n / 8;
  for (int OUTER) for (int INNER)
    for (int e = i; e < w; e += gridDim.x * 256) {
      float4 v = x[c * w + (e + r * 37 * 256) % w];
      s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
  if (s.x == 12345.0f) y[0] = s;]]):gsub("OUTER", outer):gsub("INNER", inner)
end

local CHUNKS, TURNS = "c = 0; c < 8; c++", "r = 0; r < 4; r++"
local VECTORS = "const float4 *x, float4 *y, int n"
local LARGE = { { "ones", 128 << 18 }, { "ones", 64 }, 128 << 16 }

local function chain_of_fma(type, chains)
  return ([[TYPE a[CHAINS]; for (int q = 0; q < CHAINS; q++) a[q] = t + q;
  #pragma unroll 4
  for (int j = 0; j < 4096 / CHAINS; j++)
    for (int q = 0; q < CHAINS; q++) a[q] = a[q] * (TYPE)0.999 + (TYPE)0.5;
  TYPE s = 0; for (int q = 0; q < CHAINS; q++) s += a[q];
  y[i] = s;]]):gsub("TYPE", type):gsub("CHAINS", tostring(chains))
end

--- A loop of `body` for a warp that has no other work, or for a block of them.
local function loop(n, body, unroll)
  return ("float a = t; int m = t + 7; (void)m;\n  #pragma unroll %d\n"
    .. "  for (int j = 0; j < %d; j++) { %s }\n  y[i] = a + m;"):format(unroll or 4, n, body)
end

local function gather(shared)
  return ([[__shared__ int keep[SHARED]; keep[t] = t;
  int q = keep[t] + blockIdx.x * 64;
  for (int j = 0; j < 16; j++) q = x[q & 4194303];
  y[i] = q;]]):gsub("SHARED", tostring(shared))
end

local function straight(steps, rounds)
  return ([[float a = t, b = t + 1;
  for (int j = 0; j < ROUNDS; j++) {
    #pragma unroll
    for (int q = 0; q < STEPS; q++) { a = a * b + (float)q; b = b * a + 0.5f; }
  }
  y[i] = a + b;]]):gsub("STEPS", tostring(steps)):gsub("ROUNDS", tostring(rounds))
end

local Y, YI = "float *y", "int *y"
local ONE_OUT = { { "ones", 1 << 20 } }
local BINS = { { "zeros", 1 << 18 } }

local function read_again(bytes, rounds) -- a block's own piece, again and again
  return ([[float s = 0; const float *own = x + blockIdx.x * WORDS;
  for (int r = 0; r < ROUNDS; r++) {
    #pragma unroll 4
    for (int j = t; j < WORDS; j += 256) s += own[j];
    __syncthreads();
  }
  y[i] = s;]]):gsub("WORDS", tostring(bytes // 4)):gsub("ROUNDS", tostring(rounds))
end

M.list = {
  -- memory parallelism
  { "four chases of 100 against one of 400, a warp an SM", args = TABLE, parameters = INTS,
    fast = { CHAINS, 132, 32 }, slow = { CHAIN, 132, 32 } },
  { "four chases of 100 against one of 400, one thread", args = TABLE, parameters = INTS,
    fast = { CHAINS, 1, 1 }, slow = { CHAIN, 1, 1 } },
  { "eight loads together against one by one, few warps", parameters = FLOATS,
    args = { { "ones", 1 << 22 }, { "ones", 1 << 16 } },
    fast = { [[float s = 0;
  for (int j = i; j < 1 << 22; j += 8 * 16896) {
    float v[8];
    #pragma unroll
    for (int q = 0; q < 8; q++) v[q] = x[(j + q * 16896) & 4194303];
    #pragma unroll
    for (int q = 0; q < 8; q++) s += v[q];
  }
  y[i] = s;]], 132, 128 },
    slow = { [[float s = 0;
  #pragma unroll 1
  for (int j = i; j < 1 << 22; j += 16896) s += x[j];
  y[i] = s;]], 132, 128 } },
  { "the next load before this one's work, which ptxas undoes, and after it", alike = true,
    parameters = FLOATS,
    args = { { "ones", 1 << 22 }, { "ones", 1 << 16 } },
    fast = { [[float s = 0, next = x[i];
  #pragma unroll 1
  for (int j = 0; j < 200; j++) {
    float v = next;
    next = x[(i + (j + 1) * 4224) & 4194303];
    #pragma unroll
    for (int q = 0; q < 64; q++) v = v * 0.99f + 0.5f;
    s += v;
  }
  y[i] = s;]], 132, 32 },
    slow = { [[float s = 0;
  #pragma unroll 1
  for (int j = 0; j < 200; j++) {
    float v = x[(i + j * 4224) & 4194303];
    #pragma unroll
    for (int q = 0; q < 64; q++) v = v * 0.99f + 0.5f;
    s += v;
  }
  y[i] = s;]], 132, 32 } },
  { "many warps against few, a stream", parameters = FLOATS, args = COPY,
    fast = { "for (int j = i; j < 1 << 23; j += 132 * 1024) y[j] = x[j];", 132, 1024 },
    slow = { "\n#pragma unroll 1\nfor (int j = i; j < 1 << 23; j += 132 * 64) y[j] = x[j];",
      132, 64 } },
  { "16 bytes a load against 4, few warps", parameters = "const float4 *x, float *y",
    args = { { "ones", 1 << 22 }, { "ones", 1 << 16 } },
    fast = { [[float s = 0;
  #pragma unroll 1
  for (int j = i; j < 1 << 20; j += 132 * 64) { float4 v = x[j]; s += v.x + v.y + v.z + v.w; }
  y[i] = s;]], 132, 64 },
    slow = { [[float s = 0; const float *w = (const float *)x;
  #pragma unroll 1
  for (int j = i; j < 1 << 22; j += 132 * 64) s += w[j];
  y[i] = s;]], 132, 64 } },
  { "more blocks of a waiting kernel an SM", order = true, parameters = INTS,
    args = { { "chase", 1 << 22 }, { "zeros", 1 << 19 } },
    fast = { gather(64), 4224, 64 }, slow = { gather(11000), 4224, 64 } },
  { "four chains of multiply-adds against one, a warp", parameters = Y, args = ONE_OUT,
    fast = { chain_of_fma("float", 4), 132, 32 }, slow = { chain_of_fma("float", 1), 132, 32 } },

  -- caches
  { "four passes over 8 x 16 MB against four over 128 MB", parameters = VECTORS, args = LARGE,
    fast = { passes(CHUNKS, TURNS), 1056, 256 }, slow = { passes(TURNS, CHUNKS), 1056, 256 } },
  { "a chase through 16 KB against 1 MB", parameters = INTS .. ", int m",
    fast = { CHASE, 1, 1, { { "lines", 1 << 12 }, { "zeros", 64 }, 8000 } },
    slow = { CHASE, 1, 1, { { "lines", 1 << 18 }, { "zeros", 64 }, 8000 } } },
  { "a chase through 1 MB against 128 MB", parameters = INTS .. ", int m",
    fast = { CHASE, 1, 1, { { "lines", 1 << 18 }, { "zeros", 64 }, 80000 } },
    slow = { CHASE, 1, 1, { { "lines", 1 << 25 }, { "zeros", 64 }, 80000 } } },
  { "a block reads its 32 KB 64 times against its 512 KB four times", parameters = FLOATS,
    args = { { "ones", 132 << 17 }, { "ones", 1 << 16 } },
    fast = { read_again(32 << 10, 64), 132, 256 },
    slow = { read_again(512 << 10, 4), 132, 256 } },
  { "lines from all over 16 MB against 256 MB",
    parameters = "const float *x, float *y, unsigned n",
    fast = { [[float s = 0; unsigned q = i * 2654435761u;
  for (int j = 0; j < 16; j++) { q = q * 1664525u + 1013904223u; s += x[(q >> 4) & (n - 1)]; }
  y[i] = s;]], 1056, 256, { { "ones", 1 << 22 }, { "ones", 1 << 19 }, 1 << 22 } },
    slow = { [[float s = 0; unsigned q = i * 2654435761u;
  for (int j = 0; j < 16; j++) { q = q * 1664525u + 1013904223u; s += x[(q >> 4) & (n - 1)]; }
  y[i] = s;]], 1056, 256, { { "ones", 1 << 26 }, { "ones", 1 << 19 }, 1 << 26 } } },
  { "one pass against three over 96 MB", order = true,
    parameters = "const float *x, float *y, int n",
    args = { { "ones", 96 << 18 }, { "ones", 1 << 19 }, 96 << 18 },
    fast = { [[float a = 0, b = 0, c = 0;
  for (int j = i; j < n; j += 1056 * 256) { float v = x[j]; a += v; b += v * v; c = fmaxf(c, v); }
  y[i] = a + b + c;]], 1056, 256 },
    slow = { [[float a = 0, b = 0, c = 0;
  for (int j = i; j < n; j += 1056 * 256) a += x[j];
  for (int j = i; j < n; j += 1056 * 256) b += x[j] * a;
  for (int j = i; j < n; j += 1056 * 256) c = fmaxf(c, x[j] + b);
  y[i] = a + b + c;]], 1056, 256 } },

  -- access patterns
  { "a stream against one of every 32nd word", parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 1 << 15, 256 },
    slow = { "y[i] = x[(i << 5 & 8388607) | i >> 18];", 1 << 15, 256 } },
  { "stores side by side against every 32nd word", parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 1 << 15, 256 },
    slow = { "y[(i << 5 & 8388607) | i >> 18] = x[i];", 1 << 15, 256 } },
  { "transpose in padded tiles against without tiles", parameters = FLOATS, args = SQUARE,
    fast = { transpose(33), 4096, 256 },
    slow = { "y[(i & 2047) * 2048 + (i >> 11)] = x[i];", 1 << 14, 256 } },
  { "transpose in tiles of 33 against 32 columns", parameters = FLOATS, args = SQUARE,
    fast = { transpose(33), 4096, 256 }, slow = { transpose(32), 4096, 256 } },
  { "arrays against structs of eight, one member read", parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 4096, 256 }, slow = { "y[i] = x[i * 8];", 4096, 256 } },
  { "shared words without against with conflicts of 32", parameters = Y, args = ONE_OUT,
    fast = { [[__shared__ float a[1056]; for (int j = t; j < 1056; j += 256) a[j] = j;
  __syncthreads(); float s = 0;
  for (int j = 0; j < 200; j++) s += a[(t + j) & 1023];
  y[i] = s;]], 132, 256 },
    slow = { [[__shared__ float a[1056]; for (int j = t; j < 1056; j += 256) a[j] = j;
  __syncthreads(); float s = 0;
  for (int j = 0; j < 200; j++) s += a[(t * 32 + j) & 1023];
  y[i] = s;]], 132, 256 } },
  { "constants by one address against one a lane", parameters = "float *y", args = ONE_OUT,
    fast = { [[
__constant__ float table[1024];
extern "C" __global__ void k(float *y) {
  float s = 0;
  for (int j = 0; j < 200; j++) s += table[(j * 5 + blockIdx.x) & 1023];
  y[blockIdx.x * 256 + threadIdx.x] = s;
}]], 132, 256 },
    slow = { [[
__constant__ float table[1024];
extern "C" __global__ void k(float *y) {
  float s = 0;
  for (int j = 0; j < 200; j++) s += table[(j * 5 + threadIdx.x) & 1023];
  y[blockIdx.x * 256 + threadIdx.x] = s;
}]], 132, 256 } },

  -- products, sums
  { "a product in shared tiles against without", order = true, parameters = MATMUL, args = MATRICES,
    fast = { TILED_PRODUCT, 1024, 256 }, slow = { NAIVE_PRODUCT, 1024, 256 } },
  { "a product, four results a thread and one", alike = true, parameters = MATMUL, args = MATRICES,
    fast = { REGISTER_PRODUCT, 256, 256 }, slow = { TILED_PRODUCT, 1024, 256 } },
  { "sums of a block by shuffles against barriers", parameters = Y, args = ONE_OUT,
    fast = { [[__shared__ float part[32]; float s = t;
  for (int j = 0; j < 100; j++) {
    for (int q = 16; q; q /= 2) s += __shfl_xor_sync(~0u, s, q);
    if ((t & 31) == 0) part[t >> 5] = s;
    __syncthreads();
    s = part[t & 31 & 7] * 0.01f;
    for (int q = 4; q; q /= 2) s += __shfl_xor_sync(~0u, s, q);
    __syncthreads();
  }
  y[i] = s;]], 264, 256 },
    slow = { [[__shared__ float part[256]; float s = t;
  for (int j = 0; j < 100; j++) {
    part[t] = s;
    for (int q = 128; q; q /= 2) { __syncthreads(); if (t < q) part[t] += part[t + q]; }
    __syncthreads();
    s = part[0] * 0.01f;
    __syncthreads();
  }
  y[i] = s;]], 264, 256 } },

  -- registers
  { "64 floats kept against spilled for occupancy", parameters = "",
    args = { { "ones", 1 << 20 }, { "ones", 1 << 20 }, 1 << 20 },
    fast = { spilled("256"), 1056, 256 }, slow = { spilled("256, 8"), 1056, 256 } },
  { "an array by constant against by unknown indices", parameters = "float *y, int m",
    args = { { "ones", 1 << 20 }, 3 },
    fast = { [[float a[16]; for (int q = 0; q < 16; q++) a[q] = t + q;
  for (int j = 0; j < 100; j++)
    #pragma unroll
    for (int q = 0; q < 16; q++) a[q] = a[q] * 0.5f + a[(q + 3) & 15];
  float s = 0; for (int q = 0; q < 16; q++) s += a[q];
  y[i] = s;]], 264, 256 },
    slow = { [[float a[16]; for (int q = 0; q < 16; q++) a[q] = t + q;
  for (int j = 0; j < 100; j++)
    #pragma unroll
    for (int q = 0; q < 16; q++) a[(q + m) & 15] = a[(q + m) & 15] * 0.5f + a[(q + m + m) & 15];
  float s = 0; for (int q = 0; q < 16; q++) s += a[q];
  y[i] = s;]], 264, 256 } },

  -- atomics
  { "a histogram in shared memory against in global memory", parameters = "const int *x, int *y",
    args = { { "random", 1 << 20 }, { "zeros", 256 } },
    fast = { [[__shared__ int bin[256]; bin[t] = 0; __syncthreads();
  for (int j = i; j < 1 << 20; j += 264 * 256) atomicAdd(&bin[x[j] & 255], 1);
  __syncthreads(); atomicAdd(&y[t], bin[t]);]], 264, 256 },
    slow = { "for (int j = i; j < 1 << 20; j += 264 * 256) atomicAdd(&y[x[j] & 255], 1);",
      264, 256 } },
  { "shared atomics of integers against floats, apart", parameters = "float *y", args = ONE_OUT,
    fast = { shared_atomics("int", "t & 255"), 132, 256 },
    slow = { shared_atomics("float", "t & 255"), 132, 256 } },
  { "shared atomics of integers against floats, 8 bins", parameters = "float *y", args = ONE_OUT,
    fast = { shared_atomics("int", "(t + j) & 7"), 132, 256 },
    slow = { shared_atomics("float", "(t + j) & 7"), 132, 256 } },
  { "shared atomics of floats apart against on one word", parameters = "float *y", args = ONE_OUT,
    fast = { shared_atomics("float", "t & 255"), 132, 256 },
    slow = { shared_atomics("float", "j & 255"), 132, 256 } },
  { "shared atomics of floats against doubles", parameters = "double *y",
    args = { { "doubles", 1 << 18 } },
    fast = { shared_atomics("float", "t & 255"), 132, 256 },
    slow = { shared_atomics("double", "t & 255"), 132, 256 } },
  { "global atomics of 132 blocks apart against on one word", parameters = YI, args = BINS,
    fast = { "for (int j = 0; j < 20; j++) atomicAdd(&y[i], j);", 132, 256 },
    slow = { "for (int j = 0; j < 20; j++) atomicAdd(&y[j], t);", 132, 256 } },
  { "global sums of floats a warp against a lane", parameters = Y, args = ONE_OUT,
    fast = { [[for (int j = 0; j < 20; j++) { float s = t + j;
    for (int q = 16; q; q /= 2) s += __shfl_xor_sync(~0u, s, q);
    if ((t & 31) == 0) atomicAdd(&y[j], s); }]], 132, 256 },
    slow = { "for (int j = 0; j < 20; j++) atomicAdd(&y[j], (float)(t + j));", 132, 256 } },

  -- arithmetic
  { "multiply-adds of floats against doubles", parameters = "double *y",
    args = { { "doubles", 1 << 18 } },
    fast = { chain_of_fma("float", 4), 132, 512 }, slow = { chain_of_fma("double", 4), 132, 512 } },
  { "a product against a division", parameters = Y, args = ONE_OUT,
    fast = { loop(500, "a = a * 0.37f + 1.5f;"), 132, 512 },
    slow = { loop(500, "a = a / (a + 2.7f) + 1.5f;"), 132, 512 } },
  { "__sinf against sinf", parameters = Y, args = ONE_OUT,
    fast = { loop(200, "a = __sinf(a) + 1.5f;"), 132, 512 },
    slow = { loop(200, "a = sinf(a) + 1.5f;"), 132, 512 } },
  { "32-bit against 64-bit remainders", parameters = "float *y, int u", args = { ONE_OUT[1], 77 },
    fast = { loop(100, "m = (m * 31 + 5) % (u + j);"), 132, 256 },
    slow = { loop(100, "m = (int)((m * 31LL + (5LL << 33)) % ((long long)u + j));"), 132, 256 } },
  { "branches by warp against by lane", parameters = Y, args = ONE_OUT,
    fast = { loop(100, [[if (t >> 5 & 1) for (int q = 0; q < 16; q++) a = a * 0.9f + 0.5f;
    else for (int q = 0; q < 16; q++) a = fmaxf(a, 0.3f) * a;]]), 132, 512 },
    slow = { loop(100, [[if (t & 1) for (int q = 0; q < 16; q++) a = a * 0.9f + 0.5f;
    else for (int q = 0; q < 16; q++) a = fmaxf(a, 0.3f) * a;]]), 132, 512 } },

  -- blocks, code
  { "132 equal blocks against 133", parameters = Y, args = ONE_OUT,
    fast = { chain_of_fma("float", 4), 132, 1024 },
    slow = { chain_of_fma("float", 4), 133, 1024 } },
  { "a block's warps on their own against barriers", parameters = Y, args = ONE_OUT,
    fast = { loop(500, "a = a * 0.37f + 1.5f; __syncwarp();"), 132, 1024 },
    slow = { loop(500, "a = a * 0.37f + 1.5f; __syncthreads();"), 132, 1024 } },
  { "a loop written out against one too long for that", parameters = Y, args = ONE_OUT,
    fast = { straight(256, 320), 132, 32 }, slow = { straight(16384, 5), 132, 32 } },
  { "blocks of 256 threads against of 32, of little work", parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 1 << 13, 256 }, slow = { "y[i] = x[i];", 1 << 16, 32 } },

  -- what a GPU runs alike, or nearly so
  { "a copy in blocks of 256 and of 512", alike = true, parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 1 << 15, 256 }, slow = { "y[i] = x[i];", 1 << 14, 512 } },
  { "a stream in one order and in another", alike = true, parameters = FLOATS, args = COPY,
    fast = { "y[i] = x[i];", 1 << 15, 256 },
    slow = { "int j = (gridDim.x - 1 - blockIdx.x) * 256 + t; y[j] = x[j];", 1 << 15, 256 } },
}

--- The source of one side.
function M.source(pair, side)
  if side[1]:find("extern \"C\"", 1, true) then return side[1] end
  return HEAD:format(pair.parameters, (side[1]:gsub("%%", "%%")))
end

--- Arguments on a device; arrays that both sides have are made once.
local function arguments(dev, list, made)
  local args = {}
  for k, a in ipairs(list) do
    if type(a) == "table" then
      local key = a[1] .. a[2] .. ":" .. k
      made[key] = made[key] or dev:buffer(fill[a[1]](a[2]))
      args[k] = made[key]
    else
      args[k] = { "i32", a }
    end
  end
  return args
end

--- Calls do_one(module, launch, "fast" | "slow") for both sides.
function M.both(dev, pair, target, do_one)
  local made, out = {}, {}
  for _, name in ipairs { "fast", "slow" } do
    local side = pair[name]
    local code = assert(gi.compile(M.source(pair, side), { target = target, name = "k.cu" }))
    local module <close> = assert(dev:load(code))
    local launch = { kernel = "k", grid = side[2], block = side[3],
                     args = arguments(dev, side[4] or pair.args, made) }
    out[name] = do_one(module, launch, name)
  end
  for _, buffer in pairs(made) do buffer:close() end
  return out
end

return M
