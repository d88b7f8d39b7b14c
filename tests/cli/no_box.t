#!/bin/bash
# Where the box of workers is missing, what a stranger may have written is refused on the first line,
# unless the person vouches for it: --no-box, or GILUA_BOX=off.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if ! cc -o no_box "$TOP/tests/faults/no_box.c" -lseccomp; then
  echo "1..0 # SKIP no C compiler, or no header of libseccomp"
  exit
fi
without() { ./no_box "$WHAT" "$GILUA" "$@"; }
first() { head -1 <<<"$1"; }

cat >k.cu <<'CU'
__global__ void scale(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] * 3 + 1;
}
void run(float *x, float *y) { scale<<<4, 64>>>(x, y, 250); }
CU
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
few='require("gilua.study.adequacy").MOST = 4'
"$GILUA" -e "$few" new k.cu --quiet
ok $? "with a box a problem is made"
"$GILUA" -e "$few" evolve k --population 4 --generations 1 --quiet --out run --jobs 1
[ -f run/result.json ]
ok $? "and evolved"
cat >secret.cu <<CU
#include "$TMP/secret.txt"
$(sed 's/scale/other/' k.cu)
CU
echo "int secret_word;;" >secret.txt

like "seccomp that is not there is told by doctor" "calls are NOT filtered" "$(WHAT=seccomp without doctor)"
for WHAT in landlock seccomp; do
  why="^gilua: workers are not shut in: this kernel has no $WHAT"
  shopt -s nocasematch
  for command in "new k.cu again" "new secret.cu" "new a.rec -o rec" "check k" "tune k --out t" "evolve k --out e" \
    "verify run" "apply run --anyway"; do
    out=$(without $command 2>&1 </dev/null)
    is "no $WHAT: $command: status" 1 $?
    [[ $(first "$out") =~ $why ]]
    ok $? "no $WHAT: $command says so on its first line" "$out"
    is "no $WHAT: $command: and nothing else" 1 "$(grep -c . <<<"$out")"
    like "no $WHAT: $command: with what to do" "add --no-box if you trust" "$out"
  done
  shopt -u nocasematch
  is "no $WHAT: nothing is made" "" "$(ls -d again secret rec t e 2>/dev/null)"
  like "no $WHAT: --json is one object with the sentence" '^\{"error":"workersarenotshutin.*"status":1\}$' \
    "$(without check k --json 2>/dev/null | tr -d ' \n')"
  without apply run --diff >/dev/null 2>&1
  status=$?
  [ $status = 0 ] || [ $status = 3 ]
  ok $? "no $WHAT: apply --diff runs nothing, and is not refused"
done

# A box that the kernel says it has, and that no worker can enter.
WHAT=filters
for command in "new k.cu again" "check k" "evolve k --out e" "verify run"; do
  out=$(without $command --quiet 2>&1 </dev/null)
  is "no filters: $command: status" 1 $?
  like "no filters: $command refuses" "^gilua: .*a worker is not boxed: seccomp refuses: .*--no-box goes on" "$out"
  is "no filters: $command: in one sentence" 1 "$(grep -c 'not boxed' <<<"$out")"
done
out=$(without -e "$few" check k --no-box --jobs 1 2>&1)
ok $? "no filters: --no-box goes on" "$out"
like "and each worker says so" "^gilua: a worker is not boxed: seccomp refuses" "$out"

WHAT=landlock
out=$(without -e "$few" new k.cu trusted --no-box 2>&1)
ok $? "--no-box goes on" "$out"
like "and says so first" "no Landlock.*\(--no-box\)$" "$(first "$out")"
out=$(without -e "$few" check trusted --quiet --no-box --jobs 1 2>&1)
ok $? "check --no-box" "$out"
like "says so first, quiet or not" "no Landlock.*\(--no-box\)$" "$(first "$out")"
like "with calls shut in as ever" "Operation not permitted" \
  "$(without "$TOP/tests/hostile/box.lua" "$TMP/victim" shell 2>&1 </dev/null)"
out=$(GILUA_BOX=off without check trusted --jobs 1 2>&1)
ok $? "GILUA_BOX=off is the person's word, too" "$out"
like "and is told first" "^gilua: GILUA_BOX=off: workers are not shut in" "$(first "$out")"
out=$("$GILUA" check trusted --jobs 1 --no-box 2>&1)
ok $? "with a box --no-box changes nothing" "$out"
is "and nothing is said of it" 0 "$(grep -c 'shut in' <<<"$out")"
finish
