-- Pairs of kernels, one wrong and one right, that differ by what stands in BUG() and FIX(). The
-- line with //A is the place of the finding. pairs.lua runs them on the virtual GPU,
-- tests/gpu/pairs.lua makes a program of each for a GPU.
--
-- A pair: its name, its text, fields of the launch, words of the finding. `bug` and `fix` in the
-- launch are the grid of one of the two, `cluster` is the blocks of a cluster.
-- y has 4096 words, f has 64, all 0.

local HELP = [[
__device__ unsigned get(const unsigned *p) { unsigned v;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void put(unsigned *p, unsigned v) {
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ unsigned acquire(const unsigned *p) { unsigned v;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void release(unsigned *p, unsigned v) {
  asm volatile("st.release.gpu.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ void release_cta(unsigned *p, unsigned v) {
  asm volatile("st.release.cta.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
#define CACHED(v, p) asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define ACQUIRE(v, p) asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
__device__ unsigned long long pair(unsigned v) { return 1ull << 32 | v; }
]]

local RACES = {
  { "atomics of the block's scope on a counter of the grid", [[
    BUG(atomicAdd_block(f, 1);) FIX(atomicAdd(f, 1);) //A]], { grid = 3 }, "block's scope" },
  { "… on a block's own counter are right", [[
    BUG(atomicAdd_block(f + blockIdx.x / 2, 1);) FIX(atomicAdd_block(f + blockIdx.x, 1);) //A]],
    { grid = 3 }, "block's scope" },
  { "atomics of the cluster's scope on a counter of two clusters", [[
    asm volatile("red.relaxed.cluster.global.add.u32 [%0], 1;" :: "l"(f) : "memory"); //A]],
    { bug = 4, fix = 2, cluster = 2 }, "cluster's scope" },
  { "release of the cluster's scope, to a block of another", [[
    if (blockIdx.x == 0 && t == 0) {
      y[0] = 42;
      asm volatile("st.release.cluster.u32 [%0], 1;" :: "l"(f) : "memory");
    }
    if (blockIdx.x == BUG(3) FIX(1) && t == 0) {
      unsigned v;
      do asm volatile("ld.acquire.cluster.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory"); //A
      while (!v);
      y[1] = y[0];
    }]], { grid = 4, cluster = 2 }, "cluster's scope" },
  { "a lock of the block's scope between blocks", [[
    if (t == 0) {
      while (BUG(atomicCAS_block) FIX(atomicCAS)(f, 0u, 1u)); //A
      __threadfence(); y[0]++; __threadfence();
      atomicExch(f, 0);
    }]], { grid = 2 }, "block's scope" },
  { "a lock without a fence behind it", [[
    if (t == 0) {
      while (atomicCAS(f, 0, 1));
      FIX(__threadfence();)
      y[0]++; //A
      __threadfence(); atomicExch(f, 0);
    }]], { grid = 2 } },
  { "a lock that is given back without a fence before it", [[
    if (t == 0) {
      while (atomicCAS(f, 0, 1));
      __threadfence();
      y[0]++; //A
      FIX(__threadfence();)
      atomicExch(f, 0);
    }]], { grid = 2 } },
  { "a lock whose fences are for the block alone", [[
    if (t == 0) {
      while (atomicCAS(f, 0, 1));
      BUG(__threadfence_block();) FIX(__threadfence();)
      y[0]++; //A
      __threadfence(); *(volatile unsigned *)f = 0;
    }]], { grid = 2 } },
  { "a lock that only who has it first takes without a fence", [[
    if (t == 0 && blockIdx.x == 0) {
      while (atomicCAS(f, 0, 1));
      FIX(__threadfence();)
      y[0] += 1;
      __threadfence(); atomicExch(f, 0);
    }
    if (t == 0 && blockIdx.x == 1) {
      while (atomicCAS(f, 0, 1));
      __threadfence();
      y[0] += 2; //A
      __threadfence(); atomicExch(f, 0);
    }]], { grid = 2 }, "without a fence behind that" },
  { "a plain read of what another thread has added to, before the reader did", [[
    if (t < 2) atomicAdd(f, 1);
    FIX(__syncwarp();)
    if (t == 1) y[0] = f[0]; //A
  ]], {} },
  { "lanes that meet behind others' meeting", [[
    __shared__ unsigned s[32];
    if (t < 2) __syncwarp(3);
    s[t] = t;
    FIX(if (t == 2 || t == 3) __syncwarp(12);)
    if (t == 3) y[0] = s[2]; //A
  ]], {} },
  { "bytes beside words", [[
    __shared__ unsigned s[32];
    __shared__ unsigned char c[32];
    s[t] = t;
    c[t] = (unsigned char)t;
    FIX(__syncwarp();)
    if (t == 1) y[0] = c[0]; //A
  ]], {} },
  { "a reader without a fence", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; __threadfence(); *(volatile unsigned *)f = 1; }
    if (blockIdx.x == 1 && t == 0) {
      while (!*(volatile unsigned *)f);
      FIX(__threadfence();)
      y[1] = y[0]; //A
    }]], { grid = 2 } },
  { "a fence by one thread before a barrier", [[
    if (blockIdx.x == 0) {
      y[t] = t + 1;
      BUG(if (t == 0)) __threadfence();
      __syncthreads();
      if (t == 0) *(volatile unsigned *)f = 1;
    } else {
      if (t == 0) { while (!*(volatile unsigned *)f); __threadfence(); }
      __syncthreads();
      y[600 + t] = y[t]; //A
    }]], { grid = 2, block = 64 } },
  { "fences by one warp before a barrier", [[
    if (blockIdx.x == 0) {
      y[t] = t + 1;
      BUG(if (t < 32) __threadfence();)
      __syncthreads();
      FIX(if (t == 40) __threadfence();)
      if (t == 40) atomicExch(f, 1);
    } else {
      if (t == 0) { while (!atomicAdd(f, 0)); __threadfence(); }
      __syncthreads();
      y[600 + t] = y[t]; //A
    }]], { grid = 2, block = 64 } },
  { "what one thread was handed, another reads", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; __threadfence(); atomicExch(f, 1); }
    if (blockIdx.x == 1) {
      if (t == 0) { while (!atomicAdd(f, 0)); __threadfence(); }
      FIX(__syncthreads();)
      if (t == 33) y[1] = y[0]; //A
    }]], { grid = 2, block = 64 } },
  { "a volatile store and an atomic of two values", [[
    if (t == 0 && blockIdx.x == 0) atomicExch(f, 1);
    if (t == 0 && blockIdx.x == 1)
      BUG(*(volatile unsigned *)f = 2;) FIX(atomicExch(f, 2);) //A]], { grid = 2 },
    "which of the two values stays" },
  { "volatile stores of two values", [[
    if (t == 0) *(volatile unsigned *)f = BUG(blockIdx.x + 1) FIX(1); //A]], { grid = 2 },
    "which of the two values stays" },
  { "a plain store beside an atomic", [[
    if (t == 0 && blockIdx.x == 0) atomicMax(f, 9u);
    if (t == 0 && blockIdx.x == 1)
      BUG(*f = 2;) FIX(atomicMax(f, 2u);) //A]], { grid = 2 } },
  { "a counter that another block sets back", [[
    if (t == 0 && BUG(blockIdx.x == 2) FIX(get(f) == 2u)) put(f, 0), y[3] = 1; //B
    if (t == 0 && blockIdx.x < 2) {
      BUG(*f = blockIdx.x;) //A
      FIX(atomicAdd(f, 1);)
    }]], { grid = 3 } },
  { "a read by the read-only cache of what its thread wrote", [[
    unsigned v;
    y[t] = t + 1;
    BUG(CACHED(v, y + t);) FIX(v = y[t];) //A
    y[t + 64] = v;]], {}, "read-only cache" },
  { "a read by the read-only cache of what another block handed over", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; __threadfence(); atomicExch(f, 1); }
    if (blockIdx.x == 1 && t == 0) {
      unsigned v;
      while (!acquire(f));
      BUG(CACHED(v, y);) FIX(v = y[0];) //A
      y[1] = v;
    }]], { grid = 2 }, "read-only cache" },
  { "a volatile value that no flag goes with", [[
    volatile unsigned *v = y;
    if (t == 0 && blockIdx.x == 0) { v[0] = 7; __threadfence(); atomicExch(f, 1); }
    if (t == 0 && blockIdx.x == 1) {
      FIX(while (!atomicAdd(f, 0));)
      y[9] = v[0]; //A
    }]], { grid = 2 }, "without a test" },
  { "a look-back through one word", [[
    unsigned long long *tile = (unsigned long long *)f, w = 0;
    if (t == 0) {
      if (blockIdx.x)
        do asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(w) : "l"(tile + blockIdx.x - 1)); //A
        while (!(w >> 32));
      BUG(tile[blockIdx.x] = pair(w + 1);)
      FIX(asm volatile("st.relaxed.gpu.u64 [%0], %1;" :: "l"(tile + blockIdx.x), "l"(pair(w + 1)));)
    }]], { grid = 6 } },
  { "a look-back through a value and its flag", [[
    if (t == 0) {
      unsigned before = 0;
      if (blockIdx.x) {
        while (!get(f + blockIdx.x - 1));
        __threadfence();
        before = y[blockIdx.x - 1]; //A
      }
      y[blockIdx.x] = before + 3;
      FIX(__threadfence();)
      put(f + blockIdx.x, 1);
    }]], { grid = 6 } },
  { "release and acquire", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; BUG(release_cta) FIX(release)(f, 1); }
    if (blockIdx.x == 1 && t == 0) {
      unsigned v;
      do ACQUIRE(v, f); while (!v); //A
      y[1] = y[0];
    }]], { grid = 2 }, "block's scope" },
  { "a relaxed load where an acquiring one is needed", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; release(f, 1); }
    if (blockIdx.x == 1 && t == 0) {
      while (!BUG(get) FIX(acquire)(f));
      y[1] = y[0]; //A
    }]], { grid = 2 } },
  { "a relaxed store where a releasing one is needed", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; BUG(put) FIX(release)(f, 1); }
    if (blockIdx.x == 1 && t == 0) {
      while (!acquire(f));
      y[1] = y[0]; //A
    }]], { grid = 2 } },
  { "a store of another thread between release and acquire", [[
    if (blockIdx.x == 0 && t == 0) { y[0] = 42; release(f, 1); }
    if (blockIdx.x == 1 && t == 0) { while (!get(f)); BUG(put(f, 2);) FIX(atomicAdd(f, 1);) }
    if (blockIdx.x == 2 && t == 0) {
      while (acquire(f) != 2);
      y[1] = y[0]; //A
    }]], { grid = 3 } },
  { "shared atomics beside a plain read", [[
    __shared__ int s;
    if (t == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, t + 1);
    FIX(__syncthreads();)
    if (t == 63) y[blockIdx.x] = s; //A
    ]], { block = 64, grid = 2 } },
  { "a volatile sum of a warp, as if it went in step", [[
    volatile unsigned *v = y; unsigned x;
    v[t] = t;
    FIX(__syncwarp();)
    x = t < 16 ? v[t + 16] : 0; //A
    FIX(__syncwarp();)
    v[t] = v[t] + x;]], {}, "without a test" },
  { "a flag in shared memory", [[
    __shared__ int s[32]; __shared__ volatile int ready;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 0) { s[5] = y[9] + 7; __threadfence_block(); ready = 1; }
    if (t == 40) {
      while (!ready);
      FIX(__threadfence_block();)
      y[0] = s[5]; //A
    }]], { block = 64 } },
  { "the last block's sum", [[
    __shared__ bool last;
    if (t == 0) {
      y[blockIdx.x] = blockIdx.x + 1;
      FIX(__threadfence();)
      last = atomicInc(f, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t < gridDim.x) y[100 + t] = y[t]; //A
    if (last && t == 40) *f = 0;]], { grid = 8, block = 64 } },
  { "in place, as far as the blocks before have read", [[
    unsigned x = y[blockIdx.x * 32 + t];
    __syncthreads();
    if (t == 0) {
      FIX(if (blockIdx.x) while (!get(f + blockIdx.x - 1));)
      put(f + blockIdx.x, x + 1);
    }
    __syncthreads();
    if (blockIdx.x) y[blockIdx.x * 32 - 32 + t] = x + 5; //A
    ]], { grid = 5 } },
}

local BARRIER = [[
    __syncthreads();
    if (t == 0) {
      __threadfence();
      atomicAdd(f, 1);
      while (*(volatile unsigned *)f < gridDim.x); //A
    }
    __syncthreads();]]

-- The texts are all in the message.
local WAITS = {
  { "a flag that is read once", [[
    if (t) return;
    if (blockIdx.x == 1) *(volatile unsigned *)f = 1;
    else { FIX(volatile) unsigned *g = f; while (*g == 0); } //A]], { grid = 2 },
    { "1 of 2 blocks has ended" } },
  { "a flag that a later block sets by a plain store", [[
    if (t) return;
    BUG(if (blockIdx.x == 1) f[1] = 1;) FIX(if (blockIdx.x == 1) atomicExch(f, 1);)
    if (blockIdx.x == 0) while (!atomicAdd(f, 0)); //A]], { grid = 2 },
    { "looks at global memory at byte 0 of", "1 of 2 blocks has ended" } },
  { "blocks that wait for one that cannot begin", [[
    if (t) return;
    if (blockIdx.x == gridDim.x - 1) *(volatile unsigned *)f = 1;
    else while (!*(volatile unsigned *)f); //A]], { block = 1024, bug = 300, fix = 64 },
    { "36 blocks have not begun, as the GPU holds 264 of these at a time" } },
  { "a grid's barrier by hand, with too many blocks", BARRIER,
    { block = 1024, bug = 300, fix = 64 },
    { "36 blocks have not begun", "looks at global memory at byte 0 of" } },
  { "a grid's barrier by hand, that one block leaves out",
    "BUG(if (blockIdx.x == 2) return;)" .. BARRIER, { grid = 4, block = 64 },
    { "1 of 4 blocks has ended", "last written by thread 0 of block (3,0,0)" } },
  { "a lock that its own thread takes again", [[
    if (t) return;
    while (atomicCAS(f, 0, 1));
    FIX(atomicExch(f, 0);)
    while (atomicCAS(f, 0, 1)); //A
    atomicExch(f, 0);]], {}, { "last written by thread 0 of block (0,0,0)" } },
  { "a lock whose holder waits for the lanes that want it", [[
    bool done = false;
    while (!done) //A
      if (atomicCAS(f, 0, 1) == 0) {
        BUG(__syncwarp();)
        __threadfence(); y[0] += 1; __threadfence();
        atomicExch(f, 0); done = true;
      }]], {}, { "lane 0 of warp 0 waits for the others", "lanes 1-31 of warp 0 run" } },
  { "a barrier in a loop, for what nobody does", [[
    FIX(if (t == 40) *(volatile unsigned *)f = 1;)
    while (!*(volatile unsigned *)f) //A
      __syncthreads();
    ]], { block = 64, bare = true }, { "warp 0", "warp 1" } },
  { "two warps, each waiting for the other's flag", [[
    __shared__ volatile int s[2];
    if (t < 2) s[t] = 0;
    __syncthreads();
    int w = t / 32;
    FIX(if (t % 32 == 0) s[w] = 1;)
    while (!s[1 - w]); //A
    BUG(if (t % 32 == 0) s[w] = 1;)]], { block = 64 },
    { "looks at shared memory at offset 0x4", "looks at shared memory at offset 0x0" } },
}

local ARRAYS = {
  { "past the end of a shared array", [[
    __shared__ int s[32]; __shared__ int u[32];
    u[t] = 5; s[t] = 1; __syncthreads();
    if (t < FIX(31) BUG(32)) s[t + 1] = t; //A
    __syncthreads(); y[t] = s[t] + u[t];]], {}, "at byte 128 of shared array 's' of 128 bytes" },
  { "before the first one", [[
    __shared__ int s[32]; __shared__ int u[32];
    u[t] = 5; s[t] = 1; __syncthreads();
    if (t > FIX(0) BUG(-1)) y[t] = u[t - 1]; //A
    y[t + 32] = s[t];]], {}, "4 bytes before shared array 'u' of 128 bytes" },
  { "by a pointer that moves on", [[
    __shared__ int s[32]; __shared__ int u[32];
    u[t] = 5; s[t] = 1; __syncthreads();
    int sum = 0;
    for (int *p = s, k = 0; k < FIX(32) BUG(33); k++) sum += *p++ * y[k]; //A
    y[t + 64] = sum + u[t];]], { block = 32 }, "at byte 128 of shared array 's'" },
  { "a vector", [[
    __shared__ __align__(16) int s[36]; __shared__ __align__(16) int u[36];
    for (int k = t; k < 36; k += 32) s[k] = k, u[k] = 1;
    __syncthreads();
    int4 v = *(int4 *)(s + 4 * (t % BUG(10) FIX(9))); //A
    y[t] = v.x + v.w + u[t];]], {}, "at byte 144 of shared array 's' of 144 bytes" },
}

-- Nothing is to be said of these.
local RIGHT = {
  { "arrays of one struct", [[
    __shared__ struct { int a[32], b[32]; } s;
    s.a[t] = t; s.b[t] = t; __syncthreads();
    y[t] = s.a[t + 1];]], {} },
  { "a union", [[
    __shared__ union { int i[64]; char c[256]; } s;
    s.c[t] = s.c[t + 224] = t; __syncthreads();
    y[t] = ((unsigned char *)s.i)[t];]], {} },
  { "dynamic shared memory, cut by hand", [[
    extern __shared__ int pool[];
    int *a = pool, *b = a + 32, *c = (int *)((char *)b + 128);
    a[t] = 1; b[t] = 2; c[t] = 3; __syncthreads();
    y[t] = a[t] + a[t + 32] + b[t + 32];]], { shared = 384 } },
  { "a wait that a long computation ends", [[
    if (t == 0) while (!*(volatile unsigned *)f);
    if (t == 32) {
      unsigned x = 1;
      for (unsigned i = 0; i < 3000000u + y[0]; i++) x = x * 1664525u + i;
      *(volatile unsigned *)f = x | 1;
    }]], { block = 64 } },
  { "barriers in a loop, until one who counts them ends it", [[
    __shared__ volatile int stop;
    if (t == 0) stop = 0;
    __syncthreads();
    for (int i = 0; !stop; i++) {
      __syncthreads();
      if (i == 3000 && t == 40) stop = 1;
      __syncthreads();
    }]], { block = 64 } },
}

local HEAD = [[
#undef BUG
#undef FIX
#define BUG(...) %s
#define FIX(...) %s
#line 1
extern "C" __global__ void %s_%s(unsigned *y, unsigned *f) { int t = threadIdx.x; (void)t;
%s
}
]]

--- The text of one kernel; `variant` is "bug" or "fix".
---@param name string
---@param variant string
---@param body string
---@return string
local function kernel(name, variant, body)
  local bug = variant == "bug"
  return HEAD:format(bug and "__VA_ARGS__" or "", bug and "" or "__VA_ARGS__", variant, name, body)
end

return { help = HELP, kernel = kernel, races = RACES, waits = WAITS, arrays = ARRAYS,
  right = RIGHT }
