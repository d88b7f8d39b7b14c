#!/bin/bash
# More files of strangers: what they have in common with many others, and was refused.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "strangers' files, which go the way of own.t's"; then finish; fi

new() { # new FILE FOLDER: what gilua says, with the problem.lua that it wrote
  "$GILUA" new "$1" "$2" --jobs 1 2>&1
  cat "$2/problem.lua" 2>&1
}

mkdir -p app/src app/inc
cat >app/inc/atom.h <<'END'
struct __attribute__((__packed__)) Atom { float x; int kind; };
struct __attribute__((__packed__)) Odd { char kind; float x; };
template <class T> struct Shared {
    __device__ operator T *() { extern __shared__ float raw[]; return (T *)raw; }
};
float host_only(float x) { return x + 1.0f; }
END
cat >app/src/atoms.cu <<'END'
#include "../inc/atom.h"
__global__ void atoms(const Atom *atom, const Odd *odd, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *s = Shared<float>();
    s[threadIdx.x] = i < n ? atom[i].x : 0.0f;
    __syncthreads();
    if (i < n) out[i] = s[threadIdx.x ^ 1] + (float)atom[i].kind + odd[i].x;
}
END
out=$(cd app/src && new atoms.cu "$TMP/atoms")
like "a file in the folder one stands in, its headers in one beside" "atoms/ is ready" "$out"
like "the members of a packed struct" 'name = "atom", type = "struct".*"kind", "i32"' "$(tr '\n' ' ' <<<"$out")"
like "but for one whose members are not aligned" 'name = "odd", type = "u8", count = "size_x \* 5"' "$out"
like "shared memory that only a header declares" 'shared = "block_size_x \* 8", -- GUESS: bytes' "$out"

cat >powers.cu <<'END'
__global__ void powers(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 1024) x[i] = x[i] * 3.0f + i;
}
int main()
{
    float *x;
    int n = 65536, m = n / 4096;
    cudaMalloc(&x, m * m * m * m * sizeof(float));
    powers<<<1, 64>>>(x, n);
}
END
out=$(new powers.cu powers)
like "bytes that grow faster than their argument" "powers/ is ready" "$out"
like "they are as many as the program has" 'name = "x", type = "f32", count = 65536' "$out"

cat >blur.cu <<'END'
__global__ void blur(const float *x, float *y, int height, int width, int wide)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col < width - 2 && row < height)
        y[row * (width - 2) + col] = x[row * width + col] + x[row * width + col + 2] + wide;
}
int main()
{
    float *x, *y, *z;
    int height = 60, width = 130, wide = 9;
    cudaMalloc(&x, height * width * sizeof(float));
    cudaMalloc(&y, height * (width - 2) * (2 * wide + 1) * sizeof(float));
    blur<<<dim3((width + 29) / 32, height), 32>>>(x, y, height, width, wide);
}
END
out=$(new blur.cu blur)
like "an array whose rows are shorter than an argument" \
    'name = "y", type = "f32", count = "height \* \(width - 2\) \* \(wide \* 2 \+ 1\)"' "$out"

cat >older.cu <<'END'
#if __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double *p, double x) { return *p += x; }
#endif
__global__ void older(double *sum, const double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum + i % 7, x[i]);
}
END
out=$(new older.cu older)
like "a function for older GPUs, which CUDA has for newer ones" "older/ is ready" "$out"

cat >masked.cu <<'END'
__constant__ unsigned char lut[256];
__global__ void masked(const unsigned long long *data, int *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) r[i] = lut[data[i] & 255] + lut[data[i] >> 16 & 255] + lut[data[i] >> 40 & 255];
}
END
out=$(new masked.cu masked)
like "an index of which some bits alone are one" 'name = "data", type = "u64".*fill = "bits"' "$out"

cat >swapped.cu <<'END'
__device__ void order(float &a, float &b) { if (a > b) { float c = a; a = b; b = c; } }
__global__ void swapped(float *x, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *row = x + 2 * i;
    if (i < n) order(row[0], row[1]);
    if (i < n) order(y[2 * i], y[2 * i + 1]);
}
END
out=$(new swapped.cu swapped)
like "what is written by reference alone" 'name = "y", type = "f32".*role = "inout"' "$out"
like "runs" "swapped/ is ready" "$out"

cat >handed.cu <<'END'
#ifndef __linux__
#error "this program is for one system alone"
#endif
__device__ void put(float a, float &b) { b = 3.0f * a; }
__global__ void handed(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) put(x[i], y[i]);
}
END
out=$(new handed.cu handed)
like "nothing else is written" 'name = "y", type = "f32".*role = "inout"' "$out"
like "it runs, where its file asks for a system" "handed/ is ready" "$out"

mkdir guarded
cat >guarded/sizes.h <<'END'
#define WIDTH 64
END
cat >guarded/main.cu <<'END'
#ifndef MAIN_CU
#define MAIN_CU
#include "sizes.h"
#include "part.cu"
int main() { float *x; cudaMalloc(&x, 40 * WIDTH * sizeof(float)); part<<<40, WIDTH>>>(x); }
#endif
END
cat >guarded/part.cu <<'END'
__global__ void part(float *x) { int i = blockIdx.x * WIDTH + threadIdx.x; x[i] = x[i] * 2.0f + 1.0f; }
END
out=$(new guarded/part.cu part)
like "a file that another includes, which guards against being read twice" "part/ is ready" "$out"

mkdir two
cat >two/Makefile <<'END'
FACTOR = 3
CFLAGS = -O3 -DSCALE=$(FACTOR)
END
cat >two/kernel.cu <<'END'
#ifndef FIRST_CU
#define FIRST_CU
__device__ float scaled(int x) { return SCALE * x; }
#endif
END
cat >two/kernel2.cu <<'END'
#ifndef SECOND_CU
#define SECOND_CU
__global__ void second(const int *rows, const int *cols, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int first = rows[i], last = rows[i + 1];
    float sum = 0.0f;
    for (int k = first; k < last; k++) sum += scaled(cols[k]);
    y[i] = sum;
}
#endif
END
cat >two/main.cu <<'END'
#include "kernel.cu"
#include "kernel2.cu"
int main()
{
    int *rows, *cols, n = 1024;
    float *y;
    cudaMalloc(&rows, (n + 1) * sizeof(int));
    cudaMalloc(&cols, 3000 * sizeof(int));
    cudaMalloc(&y, n * sizeof(float));
    second<<<n / 64, 64>>>(rows, cols, y, n);
}
END
out=$(new two/kernel2.cu second)
like "a file beside it that has the name of the problem's own" "second/ is ready" "$out"
like "a macro of its makefile" "GUESS: SCALE=3, as the makefile beside it says" "$out"
like "rows end where their columns do" 'name = "rows".*{ ascending = 3000 }' "$out"

# A size that the program is given where its makefile runs it.
mkdir given && printf 'run: program\n\t./program 3 40000\n' >given/Makefile
cat >given/sum.cu <<'END'
__global__ void sum(float *y, const float *x, int dims, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < dims; k++) s += x[k * n + i];
    y[i] = s;
}
int main(int argc, char **argv)
{
    int dims = atoi(argv[1]), n = atoi(argv[2]);
    float *x, *y;
    cudaMalloc(&x, dims * n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    sum<<<(n + 255) / 256, 256>>>(y, x, dims, n);
}
END
like "a size that a program is run with" 'dims = 3, which it is run with' "$(new given/sum.cu given_sum)"
like "  and one" 'name = "dims", type = "i32", value = 3 ' "$(cat given_sum/problem.lua)"

# A program whose kernels are headers below, named by a header of all of them: either file will do.
mkdir -p tall/kernels
cat >tall/kernels/sizes.cuh <<'END'
#pragma once
#define ROWS 8
END
cat >tall/kernels/tall.cuh <<'END'
#pragma once
template <const int COLS> __global__ void tall(float *x)
{
    int i = blockIdx.x * COLS * ROWS + threadIdx.x;
    for (int row = 0; row < ROWS; row++) x[i + row * COLS] = x[i + row * COLS] * 2.0f + row;
}
END
cat >tall/all.cuh <<'END'
#pragma once
#include "kernels/sizes.cuh"
#include "kernels/tall.cuh"
END
cat >tall/another.cu <<'END'
#include "all.cuh"
int another() { return ROWS; }
END
cat >tall/run.cu <<'END'
#include "all.cuh"
int main() { float *x; cudaMalloc(&x, 40 * ROWS * 64 * sizeof(float)); tall<64><<<40, 64>>>(x); }
END
for file in run.cu kernels/tall.cuh; do
  out=$(new tall/$file tall_$(basename "$file" .cuh))
  like "$file: its headers' headers, or who includes it" "tall_.*/ is ready" "$out"
  ok "$(grep -q 'block_size_x = 64' tall_*/problem.lua; echo $?)" "$file: launched as there" "$(cat tall_*/problem.lua)"
  rm -rf tall_*
done

cat >shortest.cu <<'END'
__global__ void shortest(unsigned *d, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned through = d[y * n + k] + d[k * n + x];
    if (through < d[y * n + x]) d[y * n + x] = through;
}
int main()
{
    unsigned *d;
    const int n = 1024;
    cudaMalloc(&d, n * n * sizeof(unsigned));
    shortest<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(d, n, 0);
}
END
out=$(new shortest.cu shortest)
like "other fills where there is little time, too" "d\".*GUESS: a fill that shows" "$out"

{
  echo "__global__ void many(int n$(printf ', float *p%d' $(seq 2000)))"
  echo "{ p1[n] = p2000[n]; }"
} >many.cu
out=$("$GILUA" new many.cu many --jobs 1 2>&1)
is "status of a kernel with very many parameters" 1 $?
is "which is refused in a sentence" "gilua: kernel many has 2001 parameters, and gilua makes data for \
at most 1000: pass a struct or an array of pointers" "$out"

finish
