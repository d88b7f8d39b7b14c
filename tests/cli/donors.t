#!/bin/bash
# Parts of other functions come into a kernel: from the program's other kernels, and a folder's files.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir bins lib empty
cat >bins/kernel.cu <<'CUDA'
extern "C" __global__ void bin_of(int *bins, const float *values, const float *edges, int n, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = values[i];
    int bin = 0;
    for (int k = 1; k < count; k++) {
        if (edges[k] <= value) bin = k;
    }
    bins[i] = bin;
}
CUDA
cat >lib/taxes.cu <<'CUDA'
__global__ void taxes(float *due, const float *incomes, const float *steps, int people, int levels)
{
    int who = blockIdx.x * blockDim.x + threadIdx.x;
    if (who >= people) return;
    float income = incomes[who];
    int level = 0;
    for (int high = levels; high - level > 1;) {
        int middle = (level + high) / 2;
        if (steps[middle] <= income) level = middle;
        else high = middle;
    }
    due[who] = income * level;
}
CUDA
echo 'int main() { return 0; }' >lib/host.cu
cat >bins/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "bin_of", size = 4096, block_size_x = 128,
  args = { { name = "bins", type = "i32", count = "n", role = "out" },
    { name = "values", type = "f32", count = "n" },
    { name = "edges", type = "f32", count = "count", fill = "rising" },
    { name = "n", type = "i32", value = "size_x" }, { name = "count", type = "i32", value = 256 } } }
LUA
hash=$("$GILUA" -e 'local core = require "gilua.core"
  print(core.system.hash128(io.open("lib/taxes.cu"):read "a"):sub(1, 6))')
gene="T:transplant<7>(taxes.cu:7-11@$hash)"

like "check proposes none without donors" "^[^t]*$" "$("$GILUA" check bins | grep -o 'transplant')"
fails "a folder that is none" '^gilua: there is no folder nowhere to take donors from: name one that holds' \
  "$GILUA" evolve bins --donors nowhere
fails "one without such files" '^gilua: the folder empty holds no .cu or .cuh file to take parts from' \
  "$GILUA" evolve bins --donors empty
sed 's/^return {/&donors = 5,/' bins/problem.lua >problem.txt
mkdir five && cp bins/kernel.cu five && cp problem.txt five/problem.lua
fails "no path" "problem.lua: the field 'donors' must be a string, not 5" "$GILUA" check five
sed -i 's/donors = 5/donors = "..\/lib"/' five/problem.lua
out=$("$GILUA" check five)
like "check says what is left out" 'donors +1 files of five/../lib; not these:' "$out"
like "and why" 'host.cu: it has no function for a GPU' "$out"
like "and where parts fit" 'transplant \([0-9]+\)' "$out"

cat >from.lua <<'LUA'
local gi = require "gilua"
local o = gi.cli { doc = "Starts with a gene.", runs = true,
  positional = { { name = "gene", doc = "its text" } } }
local problem = gi.problem "bins"
problem:take_donors(problem:donors_of "lib")
gi.evolve.run { problem = problem, farm = gi.farm(problem), rng = gi.rng(1), population = 2,
  generations = 1, start = o.gene, fitness = gi.fitness.within(problem.tolerance),
  new_case = function(_, rng) return { seed = rng:int(1000) } end,
  observers = { gi.report.open(o.out, "out/run") } }
LUA
"$GILUA" from.lua "$gene" --out run --quiet
is "a run with a part of a donor" 0 $?
like "which wins" 'transplant<7>' "$(cat run/result.json)"
like "the run keeps the donor" '"from_program": *false' "$(cat run/result.json)"
ok "$([ -f run/problem.kept/elsewhere/1/taxes.cu ]; echo $?)" "beside its problem"
sed -i 's/due\[who\] =/due[who] +=/' lib/taxes.cu
like "apply takes what it kept" 'if \(edges\[middle\] <= value\) bin = middle;' "$("$GILUA" apply run --diff)"
out=$("$GILUA" verify run --cases 1)
is "so does verify" 0 $?
like "which says what has changed" 'changed since the run: .*lib/taxes.cu' "$out"
like "replay does" 'genomes asked for' "$("$GILUA" replay run)"
fails "elsewhere the gene is none" 'the donor lib/taxes.cu is not the file that the gene was made of' \
  "$GILUA" evolve bins --donors lib --from run
rm lib/taxes.cu
cp bins/kernel.cu lib/other.cu
fails "nor without the file" 'there is no donor taxes.cu in lib: put it there, or evolve anew' \
  "$GILUA" evolve bins --donors lib --from run

killed_when '[ -e long/generations.csv ]' "$GILUA" evolve bins --donors lib --population 4 --generations 4000 \
  --weak-data --out long
sed -i 's/bin = k/bin = k + 0/' lib/other.cu
fails "a run is not resumed with another donor" 'long cannot go on, .*other.cu has changed; begin a new run' \
  "$GILUA" resume long
finish
