#!/bin/bash
# Files of strangers, legal ones: each becomes a problem that runs, or one sentence says why not.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "strangers' files, which go the way of own.t's"; then finish; fi

# A few changes of each kernel show as well as all what its data are asked about them.
new() { "$GILUA" -e "require('gilua.study.adequacy').MOST = 8; ${lua:-}" new "$@"; }

ready() { # ready NAME WHAT LINE…: NAME.cu becomes a problem that runs, which says each line
  local name=$1 what=$2 out line
  shift 2
  out=$(new "$name.cu" 2>&1)
  like "$what: it runs" "$name/ is ready" "$out"
  for line in "$@"; do
    ok "$(grep -qF -- "$line" "$name/problem.lua"; echo $?)" "$what: $line" "$(cat "$name/problem.lua")"
  done
}

cat >far.cu <<'END'
#include <cuda_fp16.h>
__global__ void far(const float *in, __half *h, void *raw, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[3 * i + 2] + ((unsigned char *)raw)[i];
    h[i] = h[i] + __float2half(1.0f);
}
END
ready far "an array that is longer than was guessed" 'count = "(size_x) * 4" }, -- GUESS: how many, as far' \
  'name = "h", type = "u16", count = "size_x", fill = "half"' 'name = "raw", type = "u8"'

cat >tally.cu <<'END'
#define N 1000
__global__ void tally(int *hits, const int *weight)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) atomicAdd(&hits[i % 16], weight[i]);
}
int main() { int *h, *w; cudaMalloc(&h, 64); cudaMalloc(&w, 4 * N); tally<<<4, 256>>>(h, w); }
END
ready tally "what nothing speaks for" 'fill = 0, role = "inout" }, -- 64 bytes, line 7; GUESS: begins with zeros' \
  'count = 1000, fill = { 0, 100 } }, -- 4000 bytes, line 7; GUESS: what it holds'

cat >list.cu <<'END'
struct Node { int value; Node *next; };
__global__ void sums(int *out, const Node *heads, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (const Node *at = &heads[i]; at; at = at->next) sum += at->value;
    out[i] = sum;
}
END
ready list "a list, to its end" '{ "next", "struct", count = 1, role = "inout", fields = { -- GUESS: one, as in a list' \
  '-- GUESS: points nowhere, the end of a list'

cat >tiles.cu <<'END'
#define TILE 16

__global__ void tiles(float *out, const float *in, int n)
{
    __shared__ float s[(unsigned)TILE * 2u];
    int i = blockIdx.x * 2 * TILE + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = 3.0f * s[threadIdx.x ^ 1] + in[i];
}
static void run(float *to, const float *from, int many)
{
    tiles<<<(many + 31) / 32, dim3((int)TILE * 2u, static_cast<int>(1))>>>(to, from, many);
}
int main() { float *a, *b; cudaMalloc(&a, 4000); cudaMalloc(&b, 4000); run(a, b, 1000); }
END
ready tiles "casts and suffixes in a block; a function's parameters are what it is called with" \
  'restrictions = { "block_size_x == TILE * 2"' 'TILE = { 16, 32' 'count = "n", role = "out"' \
  '"size_x" }, -- many' 'size = 1000'

cat >field.cu <<'END'
struct Op { __device__ float operator()(float a) const { return 2 * a; } };
template <class T> struct Vec { T *data; int n; };
class Field {
public:
    Field(int n) : n_(n) { cudaMalloc(&data_, n * sizeof(float)); }
    __device__ float get(int i) const { return data_[i]; }
    __device__ void set(int i, float v) { data_[i] = v; }
    int bytes() const;
private:
    float *data_;
    int n_;
};
struct Cell { float3 at; int kind; double mass; };
__global__ void field(Field f, const Vec<double> w, Cell *cells, float **rows, Op op, float4 scale, int K)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.n) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += rows[i][k];
    f.set(i, op(f.get(i)) * w.data[i] * scale.y + s);
    cells[i].mass += cells[i].at.x * cells[i].kind;
}
int main()
{
    int n = 1000;
    Field f(n);
    Vec<double> w;
    Cell *c;
    float **rows;
    w.n = n;
    cudaMalloc(&w.data, n * sizeof(double));
    cudaMalloc(&c, n * sizeof(Cell));
    cudaMalloc(&rows, n * sizeof(float *));
    field<<<(n + 127) / 128, 128>>>(f, w, c, rows, Op(), make_float4(1, 2, 3, 4), 20);
}
END
ready field "structs that hold pointers, a class with functions for the host, a functor" \
  '{ "data_", "f32", count = 1000, role = "inout", ' '{ "data", "f64", count = 1000 }, -- 8000 bytes, line 31' \
  '{ "n", "i32", "size_x" }' '{ "mass", "f64", ' '{ "*", "f32", count = 256 }, -- GUESS: how many' \
  'GUESS: the bits of what has no fields here: the struct Op has nothing in it' '{ "z", "f32", ' 'size = 1000'

# What a GPU takes of a file: of CUDA's headers for the host, functions that nvcc lets the GPU call.
cat >relaxed.cu <<'END'
#include <cublas_v2.h>
constexpr int lanes() { return 32; }
constexpr int threads() { return 4 * lanes(); }
__global__ void relaxed(float *x, int n)
{
    int i = blockIdx.x * threads() + threadIdx.x;
    if (i < n) x[i] = 2 * x[i] + lanes();
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *x;
    cublasHandle_t handle;
    cublasCreate(&handle);
    cudaMalloc(&x, n * sizeof(float));
    relaxed<<<(n + 127) / 128, 128>>>(x, n);
}
END
ready relaxed "constexpr functions, headers of libraries" 'options = { "-default-device" }'

# More threads along a side for whose place nothing asks would leave rows out.
cat >flat.cu <<'END'
__global__ void flat(float *out, const float *in, int n)
{
    int i = blockIdx.y * n + blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) out[i] = in[i] + 1.0f;
}
int main() {
    float *a, *b;
    cudaMalloc(&a, 4 * 1024 * 8);
    cudaMalloc(&b, 4 * 1024 * 8);
    flat<<<dim3(8, 8), 128>>>(a, b, 1024);
}
END
ready flat "one thread along y" 'block_size_y = 1,'
ok "$(! grep -q 'block_size_y = {' flat/problem.lua; echo $?)" "it is not tuned" "$(cat flat/problem.lua)"
sed 's/blockIdx.y \* n/(blockIdx.y * blockDim.y + threadIdx.y) * n/; s/ flat(/ tall(/; s/flat</tall</' flat.cu >tall.cu
ready tall "one thread along y, for which the kernel asks" 'block_size_y = { 1,'

# Of several launches one that fits, of sizes that nothing says smaller ones.
cat >launches.cu <<'END'
#define BLOCK 64
template <int SIDE> __global__ void tiles(float *y, const float *x)
{
    __shared__ float s[SIDE * SIDE];
    int t = threadIdx.y * SIDE + threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    y[t] = s[SIDE * SIDE - 1 - t];
}
void run(float *y, float *x, int side)
{
    if (side == 8) tiles<8><<<1, dim3(side, side)>>>(y, x);
    else tiles<16><<<1, dim3(side, side)>>>(y, x);
}
int main() { float *a, *b; cudaMalloc(&a, 1024); cudaMalloc(&b, 1024); run(a, b, 16); }
END
ready launches "the launch that fits" 'template = { "16" }' 'block_size_y = 16'
cat >smaller.cu <<'END'
#define BLOCK 64
__global__ void smaller(int *to, const int *from, int rounds, int border)
{
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    for (int k = 0; k < rounds; k++)
        if (t >= border && t < BLOCK - border) to[i] = from[i] + k;
}
int main(int argc, char **argv) {
    int rows = atoi(argv[1]), *a, *b;
    cudaMalloc(&a, rows * BLOCK * 4);
    cudaMalloc(&b, rows * BLOCK * 4);
    smaller<<<rows, BLOCK>>>(a, b, rows, rows);
}
END
ready smaller "smaller sizes where larger ones do nothing" 'GUESS: rows = 16, which no source gives'

cat >tables.cu <<'END'
typedef unsigned char byte;
struct Curve { double k[2]; int n; };
__constant__ byte lut[256];
__constant__ Curve curves[3];
__constant__ int many;
__global__ void tables(float *y, const int *near, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= many) return;
    int at = near[i];
    y[i] = x[at] * lut[i & 255] + curves[i % 3].k[1] * curves[i % 3].n;
}
int main() {
    float *x, *y; int *near, n = 5000;
    cudaMalloc(&x, 400);
    cudaMalloc(&y, n * sizeof(float));
    cudaMalloc(&near, n * sizeof(int));
    cudaMemcpyToSymbol(many, &n, sizeof(int));
    tables<<<(n + 99) / 100, 100>>>(y, near, x);
}
END
ready tables "constants by the compiler, an index by way of a variable" 'lut = { type = "u8", count = 256,' \
  'curves = { type = "struct", count = 3, fields = {' '{ "k", "f64", each = 2 }' 'many = { type = "i32", count = 1, fill = { "size_x", "size_x" } }' \
  'fill = { 0, "99" } }, -- 20000 bytes, line 17; GUESS: used as an index' 'size = 5000'

echo '__global__ void fun(float *x, float (*f)(float)) { x[threadIdx.x] = f(1); }' >fun.cu
out=$(new fun.cu 2>&1)
is "a pointer to a function: the reason, and nothing else" \
  "gilua: kernel fun takes a pointer to a function (f), which only a program on the GPU has" "$out"

cat >main.cu <<'END'
#include <stdio.h>
#include <vector>
#define real float
int n = 0;
#include "kern.cu"
int main() {
    real *x;
    cudaMalloc(&x, 5000 * sizeof(real));
    twice<<<(5000 + 127) / 128, 128>>>(x, 5000);
    n = 3000; wait_for<<<n, 128>>>(x);
}
END
cat >kern.cu <<'END'
__global__ void twice(real *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2 * x[i];
}
__global__ void wait_for(real *x) { x[blockIdx.x] = 1; }
END
ready main "a kernel in a file that is included" 'size = 5000, -- from the launch' \
  'block_size_x = 128,' 'an ulp of the inputs' 'made_from = { path = "../kern.cu"'
ready kern "a file that another includes" 'size = 5000, -- from the launch'
out=$(new kern.cu later --kernel wait_for 2>&1)
like "a size that is set later" "later/ is ready" "$out"

cat >several.cu <<'END'
__global__ void nothing(const float *x, int n)
{
    if (n < 0)
        __trap();
    // longer than the others
}
__global__ void outside(float *x)
{
    __shared__ float s[4];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[0];
}
__global__ void good(float *x, unsigned char width, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= width;
}
END
ready several "of several kernels the one that runs" 'kernel = "good"' 'name = "width", type = "u8", value = 3'
out=$(new several.cu again 2>&1)
like "and why the others do not" "nothing is passed over: kernel nothing writes to none" "$out"
like "by a fault, too" "outside is passed over: illegal_address" "$out"
like "which one it is" "good is taken, the longest that runs as guessed; --kernel" "$out"
out=$(new several.cu none --kernel outside 2>&1)
like "the one that is asked for, although others run" "as guessed the kernel does not run" "$out"

cat >enum.cu <<'END'
enum class Kind { one, two };
template <Kind K> __global__ void t(float *x) { x[threadIdx.x] = K == Kind::one ? 1 : 2; }
int main() { t<Kind::two><<<1, 32>>>(0); }
END
ready enum "a template of an enum" 'template = { "Kind::two" }'

cat >within.cu <<'END'
enum Way { across, down };
template <class T> struct Pair { T a, b; };
template <class P, Way W, int N = 3> __global__ void pairs(P *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i].a += W == down ? x[i].b : N;
}
template <class T, Way W, int B> void run(int n)
{
    using pair = Pair<T>;
    pair *x;
    cudaMalloc(&x, n * sizeof(pair));
    pairs<pair, W><<<(n + B - 1) / B, B>>>(x, n);
}
int main() { run<double, down, 96>(1000); }
END
ready within "a template that is launched within another" 'template = { "Pair < double >", "down", "3" }' \
  'block_size_x = 96,'
cat >deduced.cu <<'END'
template <class T> __global__ void twice(T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i].y *= 2;
}
int main()
{
    double2 *x;
    cudaMalloc(&x, 1000 * sizeof(double2));
    twice<<<8, 128>>>(x, 1000);
}
END
ready deduced "a template whose type is deduced" 'template = { "double2" }' 'type = "f64", count = "n * 2"'
# guesses that a run speaks against become others
cat >tile.cu <<'END'
#define WIDTH 24
__global__ void sums(const float *x, float *out)
{
    __shared__ float s[64];
    extern __shared__ float more[];
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 0; k < WIDTH; k++) more[k * blockDim.x + threadIdx.x] = s[threadIdx.x] + k;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = s[63] + more[5];
}
END
ready tile "a block as large as its shared memory, which reaches further" 'block_size_x = 64, -- GUESS; not to' \
  'shared = "(block_size_x * 8) * 16", -- GUESS: bytes, as far as it reaches'
cat >argv.cu <<'END'
#include <stdlib.h>
__global__ void turn(float *m, int n, int iterations)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < iterations; k++) m[(n - 1) * n + i] += 1;
}
int main(int argc, char **argv)
{
    int n = 0;
    float *m;
    n = atoi(argv[1]);
    size_t bytes = n * n * sizeof(float);
    cudaMalloc(&m, bytes);
    turn<<<(n + 255) / 256, 256>>>(m, n, 1 << 28);
}
END
lua='require("gilua.new.trial").budget = 4e5' # as what is too long ends sooner
ready argv "a size that the program reads, and a loop that is too long" \
  'size = 512, -- your program' 'count = "n * n", role = "inout", max_error' \
  '-- n; GUESS: n = 1024, which no source gives' '; GUESS: your program'"'"'s is 268435456; smaller here' \
  'on_gpu = { size = 1024, values = { iterations = 268435456 } }, -- with --device cuda'
lua=
cat >three.cu <<'END'
#define M 48
__global__ void rows(const float *a, float *out, int n, int columns, unsigned char dim,
                     int offset)
{
    float s = 0;
    for (int k = threadIdx.x; k < columns; k += blockDim.x) s += a[blockIdx.x * columns + k];
    atomicAdd(&out[blockIdx.x], s + dim + offset);
}
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= k || y >= m) return;
    float s = 0;
    for (int i = 0; i < n; i++) s += a[y * n + i] * b[i * k + x];
    c[y * k + x] = s;
}
int main()
{
    const int N = 2 * M, K = 4 * M, count = 40;
    float *a, *b, *c, *d;
    unsigned char dim;
    cudaMalloc(&a, M * N * 4); cudaMalloc(&b, N * K * 4); cudaMalloc(&c, M * K * 4);
    cudaMalloc(&d, count * 4);
    product<<<dim3(K / 16, M / 16), dim3(16, 16)>>>(a, b, c, M, N, K);
    rows<<<count, 64>>>(c, d, count, M, dim, unknown);
}
END
ready three "which sizes an array's length is made of" '"a", type = "f32", count = "m * n"' \
  '"b", type = "f32", count = "n * k"' '"c", type = "f32", count = "m * k"' 'size = { 192, 48 }'
out=$(new three.cu rows --kernel rows 2>&1)
like "a block of each row" 'grid_div_x = \{ 1 \}, -- a block takes one' "$(cat rows/problem.lua)"

cat >texture.cu <<'END'
__device__ float shade(cudaTextureObject_t t, float u, float v) { return tex2D<float>(t, u, v); }
__global__ void smooth(cudaTextureObject_t image, cudaTextureObject_t table, cudaTextureObject_t plain, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float4 c = tex1D<float4>(table, (x + 0.5f) / width);
    out[y * width + x] = shade(image, x - 0.5f, y + 0.25f) * c.x + c.w + tex1Dfetch<float>(plain, x);
}
int main()
{
    cudaTextureDesc d;
    d.filterMode = cudaFilterModeLinear;
    dim3 block(16, 16), grid(7, 5);
    float *out;
    cudaMalloc(&out, 100 * 70 * sizeof(float));
    smooth<<<grid, block>>>(0, 0, 0, out, 100, 70);
}
END
ready texture "textures, read here or by what is called" 'texture = { filter = "linear", size = { "size_x", "size_y" } }' \
  'count = "size_x * 4", texture = { channels = 4, filter = "linear", size = { "size_x" } }' \
  'count = "size_x", texture = { kind = "linear" }'
out=$("$GILUA" check texture 2>&1)
like "textures hold what they are filled with" "ok   data           score 1.00" "$out"
like "and are read by the reference too" "ok   reference      7 000 answers" "$out"
sed -i 's/channels = 4, filter/chanels = 4, filter/' texture/problem.lua
like "a slip in a texture" "texture: unknown field 'chanels'; did you mean 'channels'" "$("$GILUA" check texture 2>&1)"
echo '__global__ void s(cudaSurfaceObject_t o, float *x) { surf1Dwrite(x[0], o, 0); }' >surface.cu
like "a surface" "kernel s takes a surface \(o\)" "$(new surface.cu 2>&1)"
cat >sides.cu <<'END'
#define THREADS 64
#define EACH 4
__global__ void smooth(float *x, const float *y, int n)
{
    __shared__ float s[256];
    for (int k = 0; k < EACH; k++) {
        int i = (blockIdx.x * EACH + k) * THREADS + threadIdx.x;
        s[threadIdx.x] = i < n ? y[i] : 0;
        __syncthreads();
        if (i < n) x[i] = s[threadIdx.x] + s[threadIdx.x ^ 1] / 2;
        __syncthreads();
    }
}
int main()
{
    const int n = 20000;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    smooth<<<(n + THREADS * EACH - 1) / (THREADS * EACH), THREADS>>>(x, y, n);
}
END
ready sides "macros that go with the block, as far as they are right" '    EACH = { 1, 2, 4, 8, 16 },' \
  '    THREADS = { 32, 64, 96, 128, 192, 256 },' 'restrictions = { "block_size_x == THREADS" }' 'grid_div_x = { "block_size_x", "EACH" }'

cat >zero.cu <<'END'
struct Options { int n = 0; };
int blocks(int n);
__global__ void zero(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i] + 1;
}
void run(float *x, int n) { zero<<<blocks(n), 64>>>(x, n); }
END
ready zero "a size that begins with 0" 'name = "n", type = "i32", value = "size_x" }'

cat >races.cu <<'END'
#define N 64
__global__ void turn(float *x)
{
    __shared__ float s[N];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[N - 1 - threadIdx.x];
}
int main() { turn<<<1, N>>>(0); }
END
out=$(new races.cu 2>&1)
is "what check will not take is not ready" 1 $?
like "and said so" "but its data want a hand: the unmodified kernel fails \(race\)" "$out"
like "a kernel that races is not tuned" 'tune_params = \{ *\}' "$(tr '\n' ' ' <races/problem.lua)"

echo '__device__ float other(float); __global__ void one(float *x) { x[threadIdx.x] = other(x[threadIdx.x]); }' >one.cu
like "a function that is nowhere" "kernel one calls other, which neither its file nor one beside it defines" \
  "$(new one.cu 2>&1)"
printf '#include <vector>\n__device__ float third(float);\nnamespace a { __device__ float other(float); }\n' >two.cu
echo '__device__ float other(float x) { std::vector<float> v; return 1 + third(x); }' >>two.cu
sed -i 's/std::vector<float> v; //; $a std::vector<float> host() { return { 1 }; }' two.cu
echo '__device__ float third(float x) { return 3 * x; }' >three.cu
ready one "functions of files beside it" 'options = { "--pre-include=before_kernel.h" }'
is "are included before it" '#include "two.cu" #include "three.cu"' "$(paste -sd' ' one/before_kernel.h)"
mkdir parts && printf '#pragma once\ninline constexpr int BIAS = 3;\n' >parts/deep.h
printf '#pragma once\n#include "deep.h"\n__device__ float other(float);\nvoid host();\n' >parts/mid.h
printf '#include "mid.h"\n__global__ void k(float *x) { x[threadIdx.x] = other(x[threadIdx.x]); }\n' \
  >parts/kernel.cu
printf '#include "mid.h"\n__device__ float third(float);\n%s\n' \
  '__device__ float other(float x) { return third(x) + BIAS; }' >parts/other.cu
printf '#include "deep.h"\n__device__ float third(float x) { return BIAS * x; }\n' >parts/third.cu
like "of a header that several have there is one copy" "k runs on the virtual GPU" \
  "$(new parts/kernel.cu of_parts 2>&1)"

# what the host alone needs, and headers that are elsewhere
{
  printf '#include <vector>\n#include <shapes.h>\nclass Crowd {\npublic:\n'
  for i in $(seq 90); do echo "    std::vector<int> all$i; int count$i() { return all$i.size(); }"; done
  echo '};'
  cat <<'END'
__global__ void crowd(Shape *x, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < std::min(n, UINT32_MAX)) x[i].side = 2 * x[i].side + 1;
}
END
} >crowd.cu
mkdir -p tree/inc tree/samples/one && mv crowd.cu tree/samples/one && cd tree/samples/one || exit 1
echo 'struct Shape { float side; };' >../../inc/shapes.h
ready crowd "a class with ninety functions of the host's, in a project with a folder of headers" "\"../../../inc\" }"
printf '#include "keys.h"\n__global__ void k(float *x) { x[threadIdx.x] = 1; }\n' >k.cu
echo 'not for strangers' >../../keys.h
like "other folders above it are not looked into" 'left out: #include "keys.h".* cannot open source file' \
  "$(new k.cu 2>&1)"
cd "$TMP" || exit 1

cat >lines.cu <<'END'
__global__ void lines(const float *a, float *x, int M, int batch)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= batch) return;
    for (int i = t + batch; i <= batch * (M - 1) + t; i += batch) x[i] = x[i] - a[i] * x[i - batch];
}
END
ready lines "a number that overflows with another is small" 'name = "M", type = "i32", value = 8, guess = true }, -- GUESS: small' \
  'name = "batch", type = "i32", value = "size_x" }, -- GUESS: what threads are compared with'

cp lines.cu apart.cu && sed -i 's/lines/apart/' apart.cu
echo 'int main() { float *a, *x; cudaMalloc(&a, 6000 * 4); cudaMalloc(&x, 6000 * 4); apart<<<4, 128>>>(a, x, 12, 500); }' >program.cu
ready apart "a launch in a file beside the kernel's" 'block_size_x = 128,' 'value = 12 }, -- 12' \
  'size = 500, -- from the launch at line 1 of program.cu' 'count = "batch * 12", role = "inout"'

cat >scatter.cu <<'END'
__global__ void scatter(const float *a, const int *to, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[to[i]] += a[i];
}
END
ready scatter "places at which two threads would meet are hit once each" '"to", type = "i32", count = "size_x", fill = "permutation"'

cat >hopeless.cu <<'END'
__global__ void hopeless(const float *a, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = a[i] > 1e30f ? a[i] : 0;
    out[i] += s;
}
__global__ void plain(const float *a, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * a[i];
}
END
like "of two kernels the one is passed over whose data cannot tell" \
  "hopeless is passed over: on such data a kernel that does nothing would be right" \
  "$(new hopeless.cu two)"
like "the other is taken" 'kernel = "plain"' "$(cat two/problem.lua)"
out=$(new hopeless.cu alone --kernel hopeless)
is "one alone is written, and is not ready" 1 $?
like "with a word on its data" "but its data want a hand: on such data" "$out"

# A first launch with numbers for names is there for the GPU to wake up.
cat >warmed.cu <<'END'
__global__ void warmed(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2 * a[i];
}
int main()
{
    int n = 1000;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    warmed<<<4, 256>>>(a, b, 1);
    warmed<<<4, 256>>>(a, b, n);
}
END
ready warmed "of a launch with one element and one with all the latter" 'name = "n", type = "i32", value = "size_x" }'
sed 's/(a, b, n);/(b, a, n);/' warmed.cu >swapped.cu
ready swapped "of launches with other arrays the first" 'name = "n", type = "i32", value = 1 }'

# What the host draws is what its arrays hold: of numbers to 100 no three neighbours are 1.
cat >cells.cu <<'END'
__global__ void cells(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = (i > 0 ? in[i - 1] : 0) + (i < n - 1 ? in[i + 1] : 0);
    out[i] = in[i] == 1 && sum == 2 ? 7 : in[i] == 0 && sum == 1 ? 3 : 0;
}
static void deal(int *cell, int n)
{
    for (int i = 0; i < n; i++) cell[i] = rand() % 2;
}
int main()
{
    int n = 1000, *h = (int *)malloc(n * sizeof(int)), *a, *b;
    deal(h, n);
    cudaMalloc(&a, n * sizeof(int));
    cudaMalloc(&b, n * sizeof(int));
    cudaMemcpy(a, h, n * sizeof(int), cudaMemcpyHostToDevice);
    cells<<<(n + 127) / 128, 128>>>(a, b, n);
}
END
ready cells "what the host draws" 'fill = { 0, 1 } }, -- 4000 bytes, line 16; filled as at line 10'

# Where the file says all, there is nothing to guess better.
cat >known.cu <<'END'
__global__ void beyond(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n || n > 0) b[i] = 2 * a[i];
}
int main()
{
    const int N = 10;
    float *a, *b;
    cudaMalloc(&a, N * sizeof(float));
    cudaMalloc(&b, N * sizeof(float));
    beyond<<<1, 32>>>(a, b, N);
}
END
out=$(new known.cu known)
is "a kernel that goes too far as it is launched is not ready" 1 $?
like "which is told so" "as the file launches it the kernel does not run:" "$out"
like "with the fault" "illegal_address: out-of-bounds read .* of 'a'" "$out"
like "and whose it is" \
  "None of its lines is a guess, they are as in known.cu: mend the kernel or its launch there" "$out"

finish
