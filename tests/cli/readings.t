#!/bin/bash
# Kernels that do not run as their file was read: another reading of the launch is tried.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "strangers' files, which go the way of own.t's"; then finish; fi

ready() { # ready NAME WHAT LINE: NAME.cu becomes a problem that runs, which says the line
  out=$("$GILUA" new "$1.cu" 2>&1)
  like "$2: it runs" "$1/ is ready" "$out"
  ok "$(grep -qF -- "$3" "$1/problem.lua"; echo $?)" "$2: $3" "$(cat "$1/problem.lua")"
}

cat >last.cu <<'END'
__global__ void wave(const int *from, int *to, int cols, int i)
{
    int row = i - 1 - blockIdx.x;
    to[row * cols + threadIdx.x] = from[row * cols + threadIdx.x] + i;
}
END
ready last "one block where more lead out of an array" 'size = 256, -- GUESS: one block, as more lead nowhere'

cat >racing.cu <<'END'
__global__ void racing(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x] * (blockIdx.x + 1);
}
END
ready racing "one block where several write one place" 'size = 256, -- GUESS: one block, as more lead nowhere'
sed 's/y\[threadIdx.x\]/y[0]/' racing.cu >wrong.cu
fails "what wants a hand is told, and quietly too" \
  "^gilua: wrong/problem.lua is written, but its data want a hand: .*race" "$GILUA" new wrong.cu --quiet
ok "$("$GILUA" check racing >/dev/null 2>&1; echo $?)" "and then nothing races"

# A row of 32 threads: as many rows as the launch has room for, whatever says how many that is.
cat >rows.cu <<'END'
#define LANES 32
__global__ void sums(const float *in, float *out, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = lane; c < columns; c += LANES) sum += in[row * columns + c];
    for (int d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) out[row] = sum;
}
END
ready rows "a row of 32 threads" '"rows", type = "i32", value = "size_x // 32"'
cat rows.cu - >launched.cu <<'END'
int main()
{
    float *in, *out;
    int n = 5000, columns = 24;
    cudaMalloc(&in, n * columns * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    sums<<<(n * 32 + 127) / 128, 128>>>(in, out, n, columns);
    return cudaDeviceSynchronize() != 0;
}
END
ready launched "and what the host says of them" '"rows", type = "i32", value = "size_x // 32" }, -- n'
ok "$(grep -qF "size = 160001" launched/problem.lua; echo $?)" "32 threads for each, and one more" "$(cat launched/problem.lua)"

cat >misread.cu <<'END'
__global__ void misread(const int *from, int *to, int n, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 3 * from[i + shift];
}
static int other(int x) { int shift = -99; use(x); return shift; }
void run(int n, int shift) {
    int *a, *b;
    cudaMalloc(&a, 4 * n); cudaMalloc(&b, 4 * n);
    misread<<<(n + 31) / 32, 32>>>(a, b, n, shift);
}
END
ready misread "nothing is known of a launch with which it does not run" \
  'count = "size_x", role = "out" }, -- GUESS: how many'

finish
