#!/bin/bash
# Evolution below the source: gilua evolve --genome ptx, and what is done with what it finds.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
json() { "$GILUA" -e 'local v = require("gilua").json.decode(io.read "a") for k in ("'"$1"'"):gmatch "[^.]+" do v = v[tonumber(k) or k] end print(v)'; }

# Barriers that nobody needs, of which no compiler takes one away.
cat >scale.cu <<'CU'
#include <cuda_runtime.h>

__global__ void scale(float *out, const float *in, float by)
{
    __syncthreads();
    __syncthreads();
    __syncthreads();
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * by;
}

int main(void)
{
    const int n = 4096;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    scale<<<n / 128, 128>>>(out, in, 3.f);
}
CU
"$GILUA" new scale.cu scale >/dev/null
EVOLVE=("$GILUA" evolve scale --least 0.0001 --population 24 --generations 4 --seed 3 --weak-data)
out=$("${EVOLVE[@]}" --genome ptx --jobs 2 --out run 2>&1)
ok $? "evolution below the source finds something" "$out"
genome=$(json best.genome <run/result.json)
like "of genes of PTX alone" "^(<ptx:[^ ]+ ?)+$" "$genome"
like "which are told with their lines" 'bar.sync 0;. of line [5-8]' "$out"
like "best.ptx is among the results" "best.patch best.ptx result.json" "$out"
is "and has fewer barriers than the kernel had" 1 \
  "$(($(grep -c bar.sync run/best.ptx) < $(grep -c bar.sync run/problem.kept/kernel.ptx)))"
is "the source is as it was" "" "$(cat run/best.patch)"
if command -v ptxas >/dev/null; then
  ptxas -arch=sm_90 -o /dev/null run/best.ptx 2>ptxas.said
  ok $? "ptxas takes it" "$(cat ptxas.said)"
else
  echo "# left out: there is no ptxas"
fi

said=$out
like "it is verified" "answers on 2 cases, all right.* times faster" "$("$GILUA" verify run --cases 2)"
like "what no data can tell is marked" "MARKED: lines? .*changed where the data do not notice" "$said"
fails "and put nowhere unread" "changes line.*then add --anyway" "$GILUA" apply run
out=$("$GILUA" apply run --anyway)
like "apply says where the kernel is" "run/best.ptx is the kernel with all of them" "$out"
like "and that the file needs no change" "scale.cu needs no change" "$out"
id=$("$GILUA" export run | awk -F, '/<ptx:/ { print $1; exit }')
like "show has the genes in words" "instructions? .*\`|operand [0-9]" "$("$GILUA" show run "$id")"
like "a further run may start from it" "^Starts from <ptx:" \
  "$("$GILUA" evolve scale --from run --genome ptx --population 6 --generations 1 --weak-data --out further)"

# GEVO's search, with two objectives
GEVO=("$GILUA" evolve scale --scheme gevo --genome ptx --objectives time,error --error 2 --population 12
  --generations 2 --seed 3 --weak-data)
said=$("${GEVO[@]}" --jobs 1 --out front 2>&1)
like "GEVO's search has a summary too" "evaluations in" "$said"
"${GEVO[@]}" --jobs 2 --out again >/dev/null 2>&1
is "two workers find what one does" "$(json front.points.1.genome <front/result.json)" \
  "$(json front.points.1.genome <again/result.json)"
cmp -s front/generations.csv again/generations.csv
ok $? "generation by generation"
is "the archive has all that was evaluated, kept or not" "$(json evaluations <front/result.json)" \
  "$("$GILUA" export front --jsonl | wc -l)"
like "with what was tried" '"birth": "try"' "$("$GILUA" export front --jsonl)"
is "of which a generation's line knows nothing: offspring and elites" "12 15" \
  "$("$GILUA" log front | awk '$1 == 1 || $1 == 2 { print $2 }' | xargs)"
like "what was tried is counted" "^[1-9][0-9]+$" "$(json accepted.mutation.tried <front/result.json)"
like "the page has the front" "<h2>Pareto front</h2>.*gilua apply RUN --pick N" "$(tr '\n' ' ' <front/report.html)"
out=$("$GILUA" apply front --pick 1)
like "a point of it can be taken" "front/pick-1.ptx is the kernel with all" "$out"
is "which is another kernel" 1 "$(cmp -s front/pick-1.ptx front/problem.kept/kernel.ptx; echo $?)"
misused "a point that is not there" "pick 99: the front of front has [0-9]+ points?" \
  "$GILUA" apply front --pick 99
misused "a point of a run without a front" "run has no Pareto front" "$GILUA" verify run --pick 1
misused "objectives of another search" "objectives is for --scheme gevo" \
  "$GILUA" evolve scale --objectives time --weak-data
misused "an unknown objective" "must be some of energy, error, mean_error, registers, shared_bytes, time" \
  "$GILUA" evolve scale --scheme gevo --objectives tiem --weak-data

out=$("$GILUA" "$TOP/experiments/gevo_reduction.lua" --approximate --population 6 --generations 1 \
  --rows 4 --out reduction 2>&1)
ok $? "the experiment of a kernel of kernels/ runs" "$out"
like "and ends with its front" "^front 1  [0-9.]+  [-0-9.e]+" "$out"

"$GILUA" new "$TOP/tests/own/saxpy.cu" other >/dev/null
fails "not one of another kernel" "the winner of run does not fit other: gene <ptx:scale.* names no function" \
  "$GILUA" evolve other --from run --population 6 --generations 1 --weak-data --out no

if sanitized "other runs of the same search, for their results"; then finish; fi
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//' "$1/result.json"; }
"${EVOLVE[@]}" --genome ptx --out again --jobs 1 --quiet
is "the same seed, the same result, with one worker" "$(plain run)" "$(plain again)"
cmp -s run/best.ptx again/best.ptx
ok $? "and the same PTX"
killed_when 'past_first torn' "${EVOLVE[@]}" --genome ptx --out torn
out=$("$GILUA" resume torn 2>&1)
is "one that was killed comes to the same end" "$(plain run)" "$(plain torn)"

out=$("${EVOLVE[@]}" --genome both --out both 2>&1)
ok $? "both sorts at once" "$out"
genomes=$("$GILUA" export both --jsonl)
like "in one genome" '"<[^"]*_kernel.cu_[^"]*<ptx:|"<ptx:[^"]*<[^"]*kernel.cu_' "$genomes"
"${EVOLVE[@]}" --genome source --out source --quiet >/dev/null 2>&1
is "without a word, of the source alone" "" "$("$GILUA" export source | grep '<ptx:')"
misused "another word" "--genome must be source, ptx, both, llvm or all, not 'sass'" "$GILUA" evolve scale --genome sass

sed -i 's/by;/by + 0.f;/; s/__syncthreads();$/;/' scale/kernel.cu
out=$("$GILUA" verify run --cases 1 2>&1)
like "on another kernel it is not called right" "compile_error|lost|names no|WRONG|1.000 times" "$out"
finish
