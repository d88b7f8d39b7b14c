// Tensor cores as programs use them, against plain C++: nvcuda::wmma in every shape, type and
// layout; a product by cp.async, ldmatrix and mma.sync in a pipeline; attention by mma.sync.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace nvcuda;
namespace sub = wmma::experimental;

static int failures;

static void check(const char *what, bool fine) {
  printf("%s: %s\n", what, fine && cudaDeviceSynchronize() == cudaSuccess ? "right" : "WRONG");
  failures += !fine;
}

template <class T> struct Managed {
  T *at;
  explicit Managed(size_t n) { cudaMallocManaged(&at, n * sizeof(T)); }
  ~Managed() { cudaFree(at); }
  T &operator[](size_t i) { return at[i]; }
};

static int any(int n) {  // 0 … n - 1, the same each time
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8 & 0xffff ? (state >> 8) % n : 0;
}

// ---- wmma: one warp, one tile; small whole numbers, so that every sum is exact ----

template <class Type> struct Stored { using type = Type; };
template <> struct Stored<wmma::precision::tf32> { using type = float; };

template <int M, int N, int K, class Type, class Sum, class LA, class LB>
__global__ void tile(const typename Stored<Type>::type *a, const typename Stored<Type>::type *b,
                     const Sum *c, Sum *d, int lda, int ldb, int ldc, wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, M, N, K, Type, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Type, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(d, fc, ldc, layout);
}

template <class T> constexpr bool rows() { return std::is_same<T, wmma::row_major>::value; }

template <int M, int N, int K, class Type, class Sum, class LA, class LB> static bool tile_is_right() {
  using Store = typename Stored<Type>::type;
  const int pad = 8;
  bool fine = true;
  for (int layout = 0; layout < 2; layout++) {
    int lda = (rows<LA>() ? K : M) + pad, ldb = (rows<LB>() ? N : K) + pad;
    int ldc = (layout == 0 ? N : M) + pad;
    Managed<Store> a(64 * 64), b(64 * 64);
    Managed<Sum> c(64 * 64), d(64 * 64);
    static double x[32][32], y[32][32], z[32][32];
    for (int i = 0; i < M; i++)
      for (int k = 0; k < K; k++)
        a[rows<LA>() ? i * lda + k : k * lda + i] = Store(float(x[i][k] = any(5)));
    for (int k = 0; k < K; k++)
      for (int j = 0; j < N; j++)
        b[rows<LB>() ? k * ldb + j : j * ldb + k] = Store(float(y[k][j] = any(4)));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++)
        c[layout == 0 ? i * ldc + j : j * ldc + i] = Sum(float(z[i][j] = any(9)));
    tile<M, N, K, Type, Sum, LA, LB><<<1, 32>>>(a.at, b.at, c.at, d.at, lda, ldb, ldc,
        layout == 0 ? wmma::mem_row_major : wmma::mem_col_major);
    fine = fine && cudaDeviceSynchronize() == cudaSuccess;
    for (int i = 0; i < M && fine; i++)
      for (int j = 0; j < N; j++) {
        double want = z[i][j];
        for (int k = 0; k < K; k++) want += x[i][k] * y[k][j];
        fine = fine && double(float(d[layout == 0 ? i * ldc + j : j * ldc + i])) == 2 * want;
      }
  }
  return fine;
}

template <int M, int N, int K, class Type, class Sum> static bool layouts_are_right() {
  using R = wmma::row_major;
  using C = wmma::col_major;
  return tile_is_right<M, N, K, Type, Sum, R, R>() && tile_is_right<M, N, K, Type, Sum, R, C>() &&
         tile_is_right<M, N, K, Type, Sum, C, R>() && tile_is_right<M, N, K, Type, Sum, C, C>();
}

template <class Type, class Sum> static bool shapes_are_right() {
  return layouts_are_right<16, 16, 16, Type, Sum>() && layouts_are_right<32, 8, 16, Type, Sum>() &&
         layouts_are_right<8, 32, 16, Type, Sum>();
}

template <class Type, bool Bits>
__global__ void small_tile(const void *a, const void *b, int *d, bool with_and) {
  constexpr int K = Bits ? 128 : 32;
  wmma::fragment<wmma::matrix_a, 8, 8, K, Type, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, K, Type, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, K, int> fc;
  wmma::fill_fragment(fc, 3);
  wmma::load_matrix_sync(fa, (const unsigned *)a, K);
  wmma::load_matrix_sync(fb, (const unsigned *)b, K);
  if constexpr (Bits)
    wmma::bmma_sync(fc, fa, fb, fc, with_and ? sub::bmmaBitOpAND : sub::bmmaBitOpXOR);
  else wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}

static int part(const uint32_t *words, int row, int k, int bits, bool is_signed) {
  int per = 32 / bits, at = row * (bits == 1 ? 128 : 32) + k;
  uint32_t v = words[at / per] >> at % per * bits & ((1u << bits) - 1);
  return is_signed && v >> (bits - 1) ? (int)v - (1 << bits) : (int)v;
}

template <class Type> static bool small_is_right(int bits, bool is_signed, bool with_and) {
  Managed<uint32_t> a(32), b(32);
  Managed<int> d(64);
  int depth = bits == 1 ? 128 : 32;
  for (int i = 0; i < 32; i++) a[i] = any(65536) << 16 | any(65536), b[i] = any(65536) * 65537u + 77;
  small_tile<Type, std::is_same<Type, sub::precision::b1>::value>
      <<<1, 32>>>(a.at, b.at, d.at, with_and);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int want = 3;
      for (int k = 0; k < depth; k++) {
        int x = part(a.at, i, k, bits, is_signed), y = part(b.at, j, k, bits, is_signed);
        want += bits > 1 || with_and ? x * y : x ^ y;
      }
      if (d[i * 8 + j] != want) return false;
    }
  return true;
}

// ---- a product: 64 x 64 tiles of 128 threads, two stages of cp.async, ldmatrix, mma.sync ----

__device__ static void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, half) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ static void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                           __nv_bfloat16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ static uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ static void load_rows(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)));
}

__device__ static void load_turned(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}

enum { TILE = 64, DEPTH = 32, PAD = 8 };

__device__ static void copy(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__global__ void product(const half *a, const half *b, float *c, int n, int depth) {
  __shared__ __align__(16) half sa[2][TILE][DEPTH + PAD], sb[2][DEPTH][TILE + PAD];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const half *own_a = a + blockIdx.y * TILE * depth, *own_b = b + blockIdx.x * TILE;
  float sum[8][4] = {};
  auto fetch = [&](int stage, int k) {
    for (int i = t; i < TILE * DEPTH / 8; i += 128) {
      copy(&sa[stage][i / 4][i % 4 * 8], own_a + i / 4 * depth + k + i % 4 * 8);
      copy(&sb[stage][i / 8][i % 8 * 8], own_b + (k + i / 8) * n + i % 8 * 8);
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0, 0);
  for (int k = 0, stage = 0; k < depth; k += DEPTH, stage ^= 1) {
    if (k + DEPTH < depth) {
      fetch(stage ^ 1, k + DEPTH);
      asm volatile("cp.async.wait_group 1;");
    } else asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    for (int l = 0; l < DEPTH; l += 16) {
      uint32_t x[4], y[2];
      load_rows(x, &sa[stage][warp * 16 + lane % 16][l + lane / 16 * 8]);
      for (int j = 0; j < 8; j++) {
        load_turned(y, &sb[stage][l + lane % 16][j * 8]);
        mma(sum[j], x, y[0], y[1], half());
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++)
    for (int e = 0; e < 4; e++) {
      int row = blockIdx.y * TILE + warp * 16 + lane / 4 + e / 2 * 8;
      c[row * n + blockIdx.x * TILE + j * 8 + lane % 4 * 2 + e % 2] = sum[j][e];
    }
}

static bool product_is_right() {
  const int n = 128, depth = 160;
  Managed<half> a(n * depth), b(depth * n);
  Managed<float> c(n * n);
  for (int i = 0; i < n * depth; i++) a[i] = any(17) - 8, b[i] = any(9) - 4;
  product<<<dim3(n / TILE, n / TILE), 128>>>(a.at, b.at, c.at, n, depth);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float want = 0;
      for (int k = 0; k < depth; k++) want += float(a[i * depth + k]) * float(b[k * n + j]);
      if (c[i * n + j] != want) return false;
    }
  return true;
}

// ---- attention: a warp has 16 queries, goes over keys 8 at a time, softmax as it goes ----

enum { WIDTH = 32 };

__device__ static uint32_t pair(float x, float y, half) {
  half2 h = __floats2half2_rn(x, y);
  return *(uint32_t *)&h;
}

__device__ static uint32_t pair(float x, float y, __nv_bfloat16) {
  __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
  return *(uint32_t *)&h;
}

__device__ static float over_row(float x, bool is_sum) {
  for (int step = 1; step < 4; step *= 2) {
    float other = __shfl_xor_sync(~0u, x, step);
    x = is_sum ? x + other : fmaxf(x, other);
  }
  return x;
}

// The two numbers of neighbouring columns that a lane has of row-major memory.
template <class T> __device__ static uint32_t both(const T *p) { return *(const uint32_t *)p; }

template <class T>
__global__ void attention(const T *q, const T *k, const T *v, float *o, int keys, float scale) {
  int lane = threadIdx.x, group = lane / 4, place = lane % 4 * 2;
  const T *rows = q + blockIdx.x * 16 * WIDTH;
  uint32_t x[WIDTH / 16][4];
  float out[WIDTH / 8][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int d = 0; d < WIDTH / 16; d++)
    for (int r = 0; r < 4; r++)
      x[d][r] = both(rows + (group + r % 2 * 8) * WIDTH + d * 16 + r / 2 * 8 + place);
  for (int first = 0; first < keys; first += 16) {
    float s[2][4] = {};
    for (int half_of = 0; half_of < 2; half_of++)
      for (int d = 0; d < WIDTH / 16; d++) {
        const T *row = k + (first + half_of * 8 + group) * WIDTH + d * 16 + place;
        mma(s[half_of], x[d], both(row), both(row + 8), T());
      }
    for (int r = 0; r < 2; r++) {
      float top = most[r];
      for (int e = 0; e < 4; e++) top = fmaxf(top, s[e / 2][r * 2 + e % 2] * scale);
      top = over_row(top, false);
      float less = expf(most[r] - top), part = 0;
      for (int e = 0; e < 4; e++) {
        float &p = s[e / 2][r * 2 + e % 2];
        p = expf(p * scale - top);
        part += p;
      }
      most[r] = top;
      sum[r] = sum[r] * less + over_row(part, true);
      for (int j = 0; j < WIDTH / 8; j++) out[j][r * 2] *= less, out[j][r * 2 + 1] *= less;
    }
    uint32_t p[4] = {pair(s[0][0], s[0][1], T()), pair(s[0][2], s[0][3], T()),
                     pair(s[1][0], s[1][1], T()), pair(s[1][2], s[1][3], T())};
    for (int j = 0; j < WIDTH / 8; j++) {
      const T *column = v + (first + place) * WIDTH + j * 8 + group;
      uint32_t y0 = pair(float(column[0]), float(column[WIDTH]), T());
      uint32_t y1 = pair(float(column[8 * WIDTH]), float(column[9 * WIDTH]), T());
      mma(out[j], p, y0, y1, T());
    }
  }
  for (int j = 0; j < WIDTH / 8; j++)
    for (int e = 0; e < 4; e++)
      o[(blockIdx.x * 16 + group + e / 2 * 8) * WIDTH + j * 8 + place + e % 2] =
          out[j][e] / sum[e / 2];
}

// Errors of P in 8 or 11 bits, and of sums that are cut: 2^-7 or 2^-10 of the largest value.
template <class T> static bool attention_is_right(double limit) {
  const int queries = 32, keys = 64;
  Managed<T> q(queries * WIDTH), k(keys * WIDTH), v(keys * WIDTH);
  Managed<float> o(queries * WIDTH);
  for (int i = 0; i < queries * WIDTH; i++) q[i] = T((any(257) - 128) / 64.0f);
  for (int i = 0; i < keys * WIDTH; i++) k[i] = T((any(257) - 128) / 64.0f), v[i] = T((any(257) - 128) / 128.0f);
  float scale = 1 / std::sqrt((float)WIDTH);
  attention<T><<<queries / 16, 32>>>(q.at, k.at, v.at, o.at, keys, scale);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;
  double worst = 0;
  for (int i = 0; i < queries; i++) {
    std::vector<double> p(keys), want(WIDTH);
    double most = -1e30, sum = 0;
    for (int j = 0; j < keys; j++) {
      for (int d = 0; d < WIDTH; d++) p[j] += double(float(q[i * WIDTH + d])) * float(k[j * WIDTH + d]);
      most = std::fmax(most, p[j] *= scale);
    }
    for (double &x : p) sum += x = std::exp(x - most);
    for (int d = 0; d < WIDTH; d++) {
      for (int j = 0; j < keys; j++) want[d] += p[j] / sum * float(v[j * WIDTH + d]);
      worst = std::fmax(worst, std::fabs(want[d] - o[i * WIDTH + d]));
    }
  }
  return worst < limit;
}

int main() {
  check("wmma f16, f32 sums", shapes_are_right<half, float>());
  check("wmma f16, f16 sums", shapes_are_right<half, half>());
  check("wmma bf16", shapes_are_right<__nv_bfloat16, float>());
  check("wmma tf32", layouts_are_right<16, 16, 8, wmma::precision::tf32, float>());
  check("wmma f64", layouts_are_right<8, 8, 4, double, double>());
  check("wmma s8", shapes_are_right<signed char, int>());
  check("wmma u8", shapes_are_right<unsigned char, int>());
  check("wmma s4", small_is_right<sub::precision::s4>(4, true, false));
  check("wmma u4", small_is_right<sub::precision::u4>(4, false, false));
  check("wmma b1 xor", small_is_right<sub::precision::b1>(1, false, false));
  check("wmma b1 and", small_is_right<sub::precision::b1>(1, false, true));
  check("a product in a pipeline", product_is_right());
  check("attention in f16", attention_is_right<half>(0x1p-9));
  check("attention in bf16", attention_is_right<__nv_bfloat16>(0x1p-6));
  return failures != 0;
}
