#!/bin/bash
# A run tells no absolute path of the machine, and goes on where it was moved together with its problem.
. "$(dirname "$0")/tap.sh"
mkdir "$TMP/one"
cd "$TMP/one" || exit 1
cat >small.cu <<'END'
__global__ void k(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  __syncthreads();
  __syncthreads();
  if (i < n) x[i] = sqrtf(x[i]) + 1;
}
int main() { float *x; int n=1000; cudaMalloc(&x, n*sizeof(float)); k<<<(n+127)/128, 128>>>(x, n); }
END
"$GILUA" new small.cu q --guess --quiet
is "a problem" 0 $?
! grep -qF "$TMP" q/problem.lua
ok $? "which tells no absolute path" "$(cat q/problem.lua)"
like "but where its source lies" 'made_from = \{ path = "../small.cu"' "$(cat q/problem.lua)"
killed_when 'past_first r' "$GILUA" evolve q --generations 4000 --population 6 --jobs 1 --out r --quiet
"$GILUA" evolve q --generations 4 --population 12 --least 0.0001 --jobs 1 --out whole --quiet
"$GILUA" evolve "$PWD/q" --generations 4 --population 12 --least 0.0001 --jobs 1 --out typed --quiet
! grep -qF "$TMP" typed/result.json
ok $? "nor does a problem's folder that was typed so stand in result.json"
! grep -rqaF "$TMP" whole
ok $? "nothing of a run names an absolute path" "$(grep -rlaF "$TMP" whole)"
for file in result.json report.html log.txt generations.csv archive.sqlite; do
  ! grep -qaF "$TMP" "whole/$file"
  ok $? "$file names no absolute path" "$(grep -aoE ".{20}$TMP.{20}" "whole/$file")"
done
like "but paths from the run's folder on" '"path": "\{run\}/../small.cu"' "$(cat whole/result.json)"
like "as the archive does" '"\{run\}/\.\."' "$("$GILUA" -e 'local s = require("gilua.core").store.open "whole/archive.sqlite"
  print((s:rows "SELECT command FROM run")[1].command)' 2>&1)"
# verified TEXT RUN, from /: its problem is found, and is what ran.
verified() {
  local out
  out=$(cd / && "$GILUA" verify "$2" --cases 1 --jobs 1 2>&1)
  ok $? "$1: verify finds the problem" "$out"
  like "$1: it is what ran" "^Runs $(dirname "$2")/q/problem.lua .*, as it was in the run" "$out"
}
verified "the folder as it was typed, asked elsewhere" "$TMP/one/whole"
verified "an absolute folder, asked elsewhere" "$TMP/one/typed"
cd "$TMP" && mv one two && cd / || exit 1
verified "a folder as it was typed, moved" "$TMP/two/whole"
verified "an absolute folder, moved" "$TMP/two/typed"
echo '-- changed' >>"$TMP/two/q/problem.lua"
like "verify says that a problem was changed there" "changed since the run: $TMP/two/q/problem.lua" \
  "$(cd / && "$GILUA" verify "$TMP/two/whole" --cases 1 --jobs 1 2>&1)"
sed -i '$d' "$TMP/two/q/problem.lua"
like "it is read where it was moved to" "^genome" "$("$GILUA" show "$TMP/two/whole" 1 2>&1)"
cat >"$TMP/kept.lua" <<'LUA'
local gi = require "gilua"
local kept = gi.kept.read(arg[1], require("gilua.command.runs").result(arg[1]).kept)
print(kept.made_from.path)
LUA
is "what it was made from lies beside it there" "$TMP/two/small.cu" \
  "$(cd "$TMP" && "$GILUA" kept.lua "$TMP/two/whole" 2>&1)"
like "its problem is looked at there" "two/q" "$("$GILUA" check "$TMP/two/q" 2>&1)"
out=$("$GILUA" apply "$TMP/two/typed" --anyway 2>&1 | head -3)
like "what it found is carried back there" "small.cu" "$out"
foreground "$GILUA" resume "$TMP/two/r" >"$TMP/said.txt" 2>&1
host=$!
before=$(wc -l <"$TMP/two/r/generations.csv")
wait_until '[ "$(wc -l <"$TMP/two/r/generations.csv")" -gt $((before + 1)) ]' $host
kill -INT $host 2>/dev/null
wait $host
is "and goes on there, until Ctrl-C" "gilua: interrupted" "$(head -1 "$TMP/said.txt")"
finish
