#!/bin/bash
# gilua improve: from a file to a verdict in one command.
. "$(dirname "$0")/tap.sh"
needs pgrep procps
cd "$TMP" || exit 1

cat >rows.cu <<'CU'
__global__ void row_norms(float *norm, const float *x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) sum += x[row * columns + i] * x[row * columns + i];
    norm[row] = sqrtf(sum);
}
int main() {
    int rows = 300, columns = 200;
    float *x, *norm;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&norm, rows * sizeof(float));
    row_norms<<<(rows + 127) / 128, 128>>>(norm, x, rows, columns);
}
CU
cat >scale.cu <<'CU'
__global__ void scale(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
CU
cat >sums.cu <<'CU'
__global__ void sums(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) {
        out[i] = sum;
        sum += in[(i + k) % n];
    }
    out[i] = sum;
}
CU

# --- a winner
out=$("$GILUA" improve rows.cu --minutes 0.5 2>&1)
is "a winner: its status" 0 $?
is "  each step says a line" "new check tune evolve verify" "$(sed -n 's/^\([a-z]*\): .*/\1/p' <<<"$out" | xargs)"
like "  on how much it was right" "^verify: right on 600 answers of 2 new cases and on [0-9]+ sorts of other data$" "$out"
like "  the verdict: the gain, the trust, what to do" \
  '^[0-9]+\.[0-9]{2}x, certified; apply with: gilua apply out/rows-1 --in-place$' "$(tail -1 <<<"$out")"
$(tail -1 <<<"$out" | sed "s/.*: gilua/$(sed 's/[/&]/\\&/g' <<<"$GILUA")/") >/dev/null
ok $? "  and that does it"
cmp -s rows.cu rows.cu.orig
is "  the file is changed" 1 $?
mv rows.cu.orig rows.cu

out=$("$GILUA" evolve rows --generations 1000 --minutes 0.1 --out by_the_clock 2>&1)
like "evolve ends by the clock, too" 'ended after generation [0-9]+ of [0-9]+: its time was over' "$out"

# --- one to read, none at all
out=$("$GILUA" improve sums.cu --minutes 0.3 2>&1)
like "a winner that promises something" \
  '^1\.[0-9]+x, one promise to read: .* promises that .*; gilua apply out/sums-1 --diff .* --anyway' "$out"
out=$("$GILUA" improve scale.cu --minutes 0.3 2>&1)
is "nothing is worth a change: its status" 3 $?
like "  and why" "^nothing worth a change: 1\.[0-9]x above its launch floor$" "$(tail -1 <<<"$out")"

# --- what it takes
out=$("$GILUA" improve scale --minutes 0.1 --json 2>/dev/null)
like "a folder; the verdict as an event" '"event": "verdict", "text": "nothing worth' "$out"
touch -d "2 minutes" scale.cu
fails "a file that has changed since" "scale.cu has changed since scale/ was made of it" "$GILUA" improve scale.cu
fails "no file" "cannot open none.cu: No such file" "$GILUA" improve none.cu
fails "evolve of a file says who does that" "gilua improve rows.cu makes it and does the rest" "$GILUA" evolve rows.cu
sed 's/y\[i\] =/y[i + 100000000] =/' scale.cu >far.cu
fails "a kernel that does not run" "far/problem.lua wants a hand" "$GILUA" improve far.cu
sed -i 's/i < n/i < n \/ 2/' scale/kernel.cu
fails "what check finds wrong" "^gilua: scale: answers: 50 % of them are never written \(gilua check scale shows all\)" "$GILUA" improve scale

# --- Ctrl-C
rm -rf out
foreground "$GILUA" improve rows --minutes 5 >out.txt 2>said.txt </dev/null
host=$!
wait_until 'past_first out/rows-1' $host
kill -INT $host
wait $host
is "Ctrl-C: its status" 130 $?
like "  and the command that goes on" "^gilua: to go on: gilua resume out/rows-1$" "$(cat said.txt)"
[ -s out/rows-1/best.cu ]
ok $? "  what was found is there"
"$GILUA" - out/rows-1/archive.sqlite <<'LUA'
local s = assert(require("gilua.core").store.open(arg[1]))
assert(s:execute "UPDATE run SET command = replace(command, '\"5\"', '\"0.2\"')")
LUA
like "  it comes to its verdict" "^[0-9.]+x, certified" "$("$GILUA" resume out/rows-1 2>&1)"

# --- the live line
if script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
  rm -rf scale
  out=$(SHELL=$BASH script -qec "TERM=xterm $GILUA improve scale.cu --minutes 0.3" /dev/null </dev/null)
  like "a terminal shows how the search goes, and the time" \
    "evolves: generation [12] of [0-9]+, [0-9]+ kernels tried, best 1.00x  0:[0-9]+ of 0:18" "$out"
  out=$(SHELL=$BASH script -qec "TERM=xterm $GILUA new sums.cu other" /dev/null </dev/null)
  like "new shows what it tries" "trying fills [1-9] of [1-9], [0-9]+ of [0-9]+ changes noticed" "$out"
fi
finish
