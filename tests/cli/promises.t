#!/bin/bash
# A winner that holds for the launch of its case and not for another of the file is marked.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
cat >blur.cu <<'CUDA'
__global__ void blur(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] + 1.0f;
    for (int k = 0; k < n % 7 + 20; k++)
        y[i] = y[i] * 0.5f + x[i];
}
int main()
{
    int n = 20000;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    blur<<<(n + 255) / 256, 256>>>(a, b, n);
    blur<<<(n + 255) / 256, 256>>>(a, a, n);
    return 0;
}
CUDA
"$GILUA" new blur.cu blur --quiet
is "new" 0 $?
sed -i 's/^  args = {/  grammar = { pragmas = false, consts = false, launch_bounds = false },\n&/' blur/problem.lua
"$GILUA" evolve blur --population 24 --generations 2 --scheme langdon --transform no --out run >evolve.log
is "evolves" 0 $?
like "to a kernel with __restrict__" 'optrestrict_kernel.cu_1' "$(cat evolve.log)"
marked='promises `__restrict__`, but line 16 launches it with `a` as both y and x'
like "which the second launch breaks" "^MARKED: $marked\\. Read it\\.\$" "$(cat evolve.log)"
like "result.json has it" '"promises": \[ *"`__restrict__`, but line 16' "$(tr -d '\n' <run/result.json)"
like "verify says so" "^MARKED: $marked" "$("$GILUA" verify run --cases 1)"
fails "apply does not put it back" "the winner of run $marked" "$GILUA" apply run
"$GILUA" apply run --anyway --quiet
is "unless told to" 0 $?

# A transformation that loads an element once takes arrays for apart, too.
cp blur/problem.lua problem.lua
sed -i 's/grammar = {/& restricts = false,/' blur/problem.lua
"$GILUA" evolve blur --scheme langdon --population 24 --generations 2 --out transformed >transformed.log
like "a transformation promises it as well" \
  '^MARKED: promises by T:(keep|hoist)<6>\(\) that its arrays are different memory, but line 16 launches it with `a` as both' \
  "$(cat transformed.log)"
mv problem.lua blur

mv blur.cu away.cu
"$GILUA" evolve blur --population 24 --generations 2 --scheme langdon --transform no --out moved >evolve.log
is "evolves where the file has moved" 0 $?
like "and says what cannot be asked" \
  '^MARKED: promises `__restrict__`, and the file of its launches cannot be asked: .*blur.cu' "$(cat evolve.log)"
like "and so does what it leaves" '"genome": *"<optrestrict_kernel.cu_1>' "$(tr -d '\n' <moved/result.json)"
"$GILUA" verify moved --cases 1 >verify.log
is "verify is for what is left" 0 $?
finish
