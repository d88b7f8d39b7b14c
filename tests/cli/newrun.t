#!/bin/bash
# gilua new FILE.cu --run: the file's program is built and run in a box, and recorded. Nothing is
# run that nobody asked for.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir own
cat >own/app.cu <<'CU'
// Adds numbers of a file, and tries what a program of a stranger's might.
#include <cstdio>
#include <cstdlib>
__global__ void add(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    FILE *in = fopen("../data/numbers", "r"), *out = fopen("result", "w");
    if (n == 0 || !in || !out) return printf("wants a number and a file\n"), 3;
    float *h = (float *)calloc(n, 4), *x, *y;
    for (int i = 0; i < n; i++) if (fscanf(in, "%f", h + i) != 1) break;
    if (fopen("../data/numbers", "a") || fopen("app.cu", "a") || fopen(OUTSIDE, "w")) return 4;
    if (system("touch " OUTSIDE) == 0) return 5;
    cudaMalloc(&x, n * 4), cudaMalloc(&y, n * 4);
    cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, n * 4);
    add<<<(n + 63) / 64, 64>>>(x, y, n);
    cudaMemcpy(h, y, n * 4, cudaMemcpyDeviceToHost);
    fprintf(out, "%g\n", h[0]);
    return 0;
}
CU
mkdir data
seq 100 >data/numbers
printf 'program = app\nSIZE ?= 100\nrun: $(program)\n\t@./$(program) $(SIZE)\n' >own/Makefile
define="--define OUTSIDE=\"$TMP/outside\""

misused "both ways" "give one of them" "$GILUA" new plain.cu --run --guess
misused "arguments for nothing" "that --run runs" "$GILUA" new plain.cu -- 7
misused "seconds for nothing" "that --run runs" "$GILUA" new plain.cu --seconds 7
echo 'int main() { return 0; }' >plain.cu
mkdir bin
for name in sh chmod cat; do ln -s "$(command -v $name)" bin/; done
like "without nvcc that is said, and guessed" \
  "plain.cu is not recorded, so that its data are guessed: there is no nvcc" "$(PATH=$TMP/bin "$GILUA" new plain.cu --run 2>/dev/null)"
sed 's/argc > 1 ? atoi(argv\[1\]) : 0/atoi(argv[1])/' own/app.cu >words.cu
PATH=$TMP/bin "$GILUA" new words.cu --run -o worded -- 37 >/dev/null 2>&1
like "with sizes by its arguments" "n = 37, which it is run with" "$(cat worded/problem.lua)"

mkdir fake
printf '#!/bin/sh\necho "plain.cu(1): error: first"\necho "1 error detected in the compilation"\nexit 2\n' >fake/nvcc
chmod +x fake/nvcc
out=$(PATH=$TMP/fake:$PATH "$GILUA" new plain.cu wrong --run 2>&1)
like "what nvcc says of an error is shown whole: the error" "^  plain.cu\\(1\\): error: first" "$out"
like "and what follows" "^  1 error detected" "$out"

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - built and run # SKIP there is no nvcc on this machine"
  finish
elif ! "$GILUA" -e 'assert(not require "gilua.farm.boxedprogram".missing())' 2>/dev/null; then
  echo "ok $((count += 1)) - built and run # SKIP no program can be shut in on this machine"
  finish
fi
# A program's memory is limited, and a sanitizer takes more than there is of addresses.
sanitized "a program in its box" && finish
out=$("$GILUA" new own/app.cu $define --run -o run 2>&1)
like "it is built and run with its makefile's arguments, in a box" "runs in a box .*: ./app 100" "$out"
like "and recorded" 'train = \{ "app.rec" \}' "$(cat run/problem.lua 2>&1)$out"
is "nothing is guessed of it" 0 "$(grep -c GUESS run/problem.lua)"
is "what it wrote is gone" "Makefile app.cu" "$(echo $(ls own))"
is "its folder is as it was" "1 100" "$(echo $(sed -n '1p;$p' data/numbers))"
[ ! -e outside ]
ok $? "and nothing is outside"

mkdir two
printf '__global__ void add(int *x) { x[threadIdx.x] += threadIdx.x; }\n' >two/kernel.cu
cat >two/main.cu <<'CU'
#include <cstdio>
__global__ void add(int *x);
int main() {
    int *x, n;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    add<<<1, 64>>>(x);
    cudaMemcpy(&n, x + 63, 4, cudaMemcpyDeviceToHost);
    printf("%d\n", n);
}
CU
printf 'sums: main.o kernel.o\n\tnvcc -o $@ $^\n%%.o: %%.cu\n\tnvcc -c $<\n' >two/Makefile
out=$("$GILUA" new two/kernel.cu parts --run 2>&1)
like "a program of several files is built by its makefile" "kernel.cu is built and runs in a box .*: ./sums" "$out"
like "  and recorded" 'train = \{ "kernel.rec" \}' "$(cat parts/problem.lua 2>&1)$out"
printf 'sums: main.o kernel.o\n\tnvcc -arch=sm_20 -o $@ $^\n%%.o: %%.cu\n\tnvcc -gencode arch=compute_20,code=sm_20 -c $<\n' \
  >two/Makefile
out=$("$GILUA" new two/main.cu whole --run 2>&1)
like "for GPUs that nvcc does not know" "main.cu is built and runs in a box .*: ./sums" "$out"
like "  and of the file with main, too: a kernel is in one beside it" 'whole/ is ready' "$out"
printf '#include <unistd.h>\nint main() { return cudaFree(0) + sleep(100); }\n' >long.cu
like "what takes too long, and what to do" "long did not end within 1 seconds \(--seconds N gives it more" \
  "$("$GILUA" new long.cu --run --seconds 1 2>/dev/null)"
finish
