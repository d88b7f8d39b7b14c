// Hopper's warpgroup products by plain stores to shared memory, against plain C++: each swizzle,
// both orders of A and B, A in registers, signs, and sums that go on; a tile a block.
#include <cuda_fp16.h>
#include <cstdint>
#include <cstdio>
#include <cstring>

enum { M = 64, N = 32, K = 64, ATOM = 1024, SHARED = 2 * M * K * 2 };

// Where number (row, k) lies in bytes: blocks of 8 rows and 16 W bytes; within one, rows follow each
// other and their pieces of 16 bytes change places by the row. Turned, k and rows change roles.
__host__ __device__ static uint32_t place(int row, int k, int rows, int W, bool turned) {
  int slow = turned ? k : row, fast = turned ? row : k;         // fast: along the 16 W bytes
  int slow_blocks = (turned ? K : rows) / 8, wide = 8 * W;
  int block = fast / wide * slow_blocks + slow / 8, r = slow % 8, piece = fast % wide / 8;
  int flip = W == 8 ? r : W == 4 ? r / 2 : W == 2 ? r / 4 : 0;
  return block * 128 * W + r * 16 * W + (piece ^ flip) * 16 + fast % 8 * 2;
}

__device__ static uint64_t descriptor(const void *start, uint32_t leading, uint32_t stride, int W) {
  uint64_t swizzle = W == 8 ? 1 : W == 4 ? 2 : W == 2 ? 3 : 0;
  uint64_t at = __cvta_generic_to_shared(start);
  return (at & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
         swizzle << 62;
}

// From one block of 8 to the next, along the slow side and along the fast one.
__device__ static uint64_t describe(const char *base, int k, int rows, int W, bool turned) {
  uint32_t slow = 128 * W, fast = (turned ? K : rows) / 8 * 128 * W;
  const char *start = base + (turned ? place(0, k, rows, W, true) : place(0, k, rows, 1, false));
  if (!turned && W > 1) start = base + k / (8 * W) * fast + k % (8 * W) * 2;
  if (turned) start = base + k / 8 * slow;
  if (!turned) return descriptor(start, fast, slow, W);
  return W == 1 ? descriptor(start, slow, fast, W) : descriptor(start, fast, slow, W);
}

#define SUMS                                                                                        \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define SUM_OPERANDS(s)                                                                             \
  "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]),     \
  "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15])

template <int TA, int TB, int SIGN>
__device__ static void multiply(float (&s)[16], uint64_t a, uint64_t b, int adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %18, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " SUMS ", %16, %17, p, %19, 1, %20, "
               "%21; }"
               : SUM_OPERANDS(s) : "l"(a), "l"(b), "r"(adds), "n"(SIGN), "n"(TA), "n"(TB));
}

template <int TB>
__device__ static void multiply(float (&s)[16], const uint32_t (&a)[4], uint64_t b, int adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %21, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " SUMS ", {%16,%17,%18,%19}, %20, "
               "p, 1, 1, %22; }"
               : SUM_OPERANDS(s)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(TB));
}

// a: [M][K], b: [N][K]; c: [M][N].
template <int TA, int TB, int SIGN, bool REGISTERS>
__global__ void tile(const half *a, const half *b, float *c, int W, int waits) {
  extern __shared__ __align__(ATOM) char shared[];
  char *sa = shared, *sb = shared + M * K * 2;
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  for (int i = t; i < M * K; i += 128)
    *(half *)(sa + place(i / K, i % K, M, W, TA)) = a[i];
  for (int i = t; i < N * K; i += 128)
    *(half *)(sb + place(i / K, i % K, N, W, TB)) = b[i];
#ifndef NO_PROXY_FENCE
  asm volatile("fence.proxy.async;");
#endif
  __syncthreads();
  float s[16];
  for (int i = 0; i < 16; i++) s[i] = 7;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < K; k += 16) {
    uint64_t db = describe(sb, k, N, W, TB);
    if constexpr (REGISTERS) {
      uint32_t x[4];
      for (int r = 0; r < 4; r++)
        memcpy(&x[r], &a[(warp * 16 + lane / 4 + r % 2 * 8) * K + k + r / 2 * 8 + lane % 4 * 2], 4);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      multiply<TB>(s, x, db, k > 0);
      asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    } else {
      multiply<TA, TB, SIGN>(s, describe(sa, k, M, W, TA), db, k > 0);
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (waits) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 16; i++)
    c[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = s[i];
}

static int failures;

static int any(int n) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

template <int TA, int TB, int SIGN, bool REGISTERS> static void check(const char *what) {
  half *a, *b;
  float *c;
  cudaMallocManaged(&a, M * K * sizeof *a);
  cudaMallocManaged(&b, N * K * sizeof *b);
  cudaMallocManaged(&c, M * N * sizeof *c);
  for (int i = 0; i < M * K; i++) a[i] = any(17) - 8;
  for (int i = 0; i < N * K; i++) b[i] = any(9) - 4;
  for (int W = 1; W <= 8; W *= 2) {
    memset(c, 0, M * N * sizeof *c);
    tile<TA, TB, SIGN, REGISTERS><<<1, 128, SHARED>>>(a, b, c, W, 1);
    bool fine = cudaDeviceSynchronize() == cudaSuccess;
    for (int i = 0; i < M && fine; i++)
      for (int j = 0; j < N; j++) {
        float want = 0;
        for (int k = 0; k < K; k++) want += SIGN * float(a[i * K + k]) * float(b[j * K + k]);
        fine = fine && c[i * N + j] == want;
      }
    printf("%s, swizzle of %d bytes: %s\n", what, W > 1 ? 16 * W : 0, fine ? "right" : "WRONG");
    failures += !fine;
  }
  cudaFree(a), cudaFree(b), cudaFree(c);
}

int main(int count, char **) {
  if (count > 1) {  // a register that is used too early
    float *c;
    half *a;
    cudaMallocManaged(&c, M * N * sizeof *c);
    cudaMallocManaged(&a, M * K * sizeof *a);
    memset(a, 0, M * K * sizeof *a);
    tile<0, 0, 1, false><<<1, 128, SHARED>>>(a, a, c, 8, 0);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 1;
  }
  check<0, 0, 1, false>("A and B along k");
  check<1, 0, 1, false>("A turned");
  check<0, 1, 1, false>("B turned");
  check<1, 1, -1, false>("both turned, A negated");
  check<0, 0, 1, true>("A in registers");
  check<0, 1, 1, true>("A in registers, B turned");
  return failures != 0;
}
