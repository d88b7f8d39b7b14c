#!/bin/bash
# A winner that is right on its problem's data and wrong on others: evolve leaves out what is wrong,
# verify names the data, apply asks.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir soft
cat >soft/kernel.cu <<'CUDA'
extern "C" __global__ void softmax(float *y, const float *x, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = 0.0f, sum = 0.0f;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[c * rows + row]);
    for (int c = 0; c < cols; c++)
        sum += expf(x[c * rows + row] - most);
    for (int c = 0; c < cols; c++)
        y[c * rows + row] = expf(x[c * rows + row] - most) / sum;
}
CUDA
cat >soft/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "softmax", size = 3000, block_size_x = 128,
  args = { { name = "y", type = "f32", count = "rows * cols", role = "out" },
           { name = "x", type = "f32", count = "rows * cols" },
           { name = "rows", type = "i32", value = "size_x" },
           { name = "cols", type = "i32", value = 12 } },
  grammar = { math = false }, tolerance = { max_error = 1e-6 } }
LUA

evolve() { # evolve SEED FOLDER
  "$GILUA" evolve soft --scheme langdon --population 24 --generations 2 --transform no --seed "$1" --out "$2"
}
log=$(evolve 6 left)
is "where all that won is wrong elsewhere there is no winner" 3 $?
like "and the log says what was left out" '^Left out: <_kernel.cu_7>, wrong on other data \(all sorts\): [0-9]+ of 17 988 answers' "$log"
like "result.json has the gene" '"refused": \[ *\{ *"gene": "<_kernel.cu_7>", *"data": "all sorts"' "$(tr -d '\n' <left/result.json)"
log=$(evolve 1 run)
is "else evolution ends" 0 $?
like "and says on how many the winner is right" '^Other data and sizes: right on 14$' "$log"
json=$(tr -d '\n' <run/result.json)
like "result.json has the rows" '"other_data": \[ *\{ *"data": "all sorts", *"case": "size 1499, seed 1, all sorts", *"verdict": "right"' "$json"
[[ $(grep '"genome"' run/result.json | tail -1) != *'<_kernel.cu_7>'* ]]
ok $? "the best is without it"
"$GILUA" verify run --cases 1 >verify.log
is "verify agrees" 0 $?
like "by name" '^  right on all sorts, zeros, ones, long tails,.* size 129, ' "$(cat verify.log)"

# as if nobody had looked
sed -i 's/"genome": "[^"]\+"/"genome": "<_kernel.cu_7>"/' run/result.json
fails "verify finds what is wrong elsewhere" '^gilua: other data and sizes: wrong on all sorts, long tails, extremes; right on 11' \
  "$GILUA" verify run --cases 1 --quiet
like "each with how many" '^  long tails +WRONG: [0-9]+ of 17 988 answers, largest error inf$' \
  "$("$GILUA" verify run --cases 1 2>/dev/null)"
out=$("$GILUA" verify run --cases 1 --json 2>/dev/null)
is "the status of a wrong answer" 1 $?
like "for programs too" '"all_right": false,.*"data": "long tails",[^}]*"verdict": "wrong",[^}]*"answers": 17988' "$(tr -d '\n' <<<"$out")"
like "what the own data say is told apart" '"wrong": 0' "$out"
[ "$out" = "$(cat run/verify.json)" ]
ok $? "it is kept in the run"
fails "apply does not put it back" 'the winner of run was wrong when verified: read it \(gilua apply run --diff\), then add --anyway' \
  "$GILUA" apply run
[ ! -e run/kernel.cu ]
ok $? "nothing is written"
"$GILUA" apply run --diff >/dev/null
is "but shows it" 0 $?
"$GILUA" apply run --anyway --quiet
is "unless told to" 0 $?

# who knows that there are no such data can say so
sed -i 's/"x", type = "f32", count = "rows \* cols" }/"x", type = "f32", count = "rows * cols", fill = { 0, 1 } }/' soft/problem.lua
"$GILUA" verify run --cases 1 --quiet
is "where the fill is a range, nothing is outside of it" 0 $?
"$GILUA" apply run --quiet
is "and apply takes it" 0 $?
finish
