#!/bin/bash
# Data that cannot tell: evolution does not begin on them, and what wins on them is marked.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir same
cat >same/kernel.cu <<'CUDA'
extern "C" __global__ void absolute(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fabsf(x[i]);
}
CUDA
cat >same/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "absolute", size = 20000, block_size_x = 256,
  args = { { name = "x", type = "f32", count = "n", role = "inout", -- from 0 to 1, and nothing else
             fill = function(rng) return rng:unit() end },
           { name = "n", type = "i32", value = "size_x" } },
  tolerance = { max_error = 1e-6 } }
LUA

fails "a kernel that does nothing would win" '^gilua: a kernel that does nothing has right answers on these data' \
  "$GILUA" evolve same --quiet --out refused
[ ! -e refused ]
ok $? "and nothing is begun"
out=$("$GILUA" check same)
is "check calls it wrong" 1 $?
like "and shows the lines" '4: `x\[i\] = fabsf\(x\[i\]\);` could go' "$out"

"$GILUA" evolve same --weak-data --population 20 --generations 2 --out run >evolve.log
is "told to, it evolves" 0 $?
like "and marks what wins" '^MARKED: line 4 changed where the data do not notice' "$(cat evolve.log)"
like "result.json has the line" '"untold": \[ *4 *\]' "$(tr -d '\n' <run/result.json)"
like "verify says so" '^MARKED: line 4 ' "$("$GILUA" verify run --cases 1)"
fails "apply does not put it back" 'changes line 4, where its data do not notice a change' "$GILUA" apply run
[ ! -e run/kernel.cu ]
ok $? "nothing is written"
"$GILUA" apply run --diff >diff.log
ok $? "but shows it"
"$GILUA" apply run --anyway --quiet
is "unless told to" 0 $?

sed -i 's/fill = function.* end }/fill = "mixed" }/' same/problem.lua
"$GILUA" evolve same --population 8 --generations 1 --quiet --out better
is "with numbers of both signs nothing wins" 3 $?
finish
