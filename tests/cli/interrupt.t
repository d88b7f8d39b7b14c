#!/bin/bash
# Ctrl-C ends every command at once, whatever it is at: exit status 130, one sentence, and
# no half of a folder. What keeps them busy here is a stranger's kernel.
. "$(dirname "$0")/tap.sh"
needs pgrep procps
cd "$TMP" || exit 1

# A kernel that keeps the compiler busy: ten statements, five times ten times as many.
bomb() {
  echo '#define A0 x[0] += 1;'
  for i in 1 2 3 4 5; do
    echo "#define A$i $(yes "A$((i - 1))" | head -10 | tr '\n' ' ')"
  done
  echo '__global__ void k(float *x) { A5 }'
  echo 'int main() { float *x; cudaMalloc(&x, 128); k<<<1, 32>>>(x); }'
}

# catches_interrupts PID: whether it does by now (before that, SIGINT ends it without a word)
catches_interrupts() { grep -qs '^SigCgt:.*[2367abef]$' "/proc/$1/status"; }

# stops WHAT READY COMMAND…: interrupted when READY (of the shell) holds and it has had a moment more
stops() {
  local what=$1 ready=$2 host begun status took
  shift 2
  : >out.txt
  foreground "$GILUA" "$@" >out.txt 2>said.txt </dev/null
  host=$!
  wait_until 'catches_interrupts $host && eval "$ready"' $host
  sleep 0.2
  begun=$(now_ms)
  kill -INT $host
  wait $host 2>/dev/null
  status=$?
  took=$(($(now_ms) - begun))
  is "$what: its status" 130 $status
  like "$what: one sentence, and what goes on" \
    "^gilua: interrupted( gilua: to go on: gilua resume out/[a-z-]*fine-1)?$" "$(xargs <said.txt)"
  [ "$took" -lt $SOON_MS ]
  ok $? "$what: before its compiler or kernel comes to an end" "$took ms"
}

echo 'print "on" io.stdout:flush() print((("a"):rep(1 << 16)):match ".-.-.-.-b")' >deaf.lua
stops "a loop in C that does not listen" 'grep -q on out.txt' deaf.lua

cat >fine.cu <<'END'
__global__ void k(float *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sqrtf(x[i]) + 1;
}
int main() { float *x; cudaMalloc(&x, 4096); k<<<8, 128>>>(x, 1000); }
END
"$GILUA" new fine.cu --quiet && "$GILUA" evolve fine --population 4 --generations 1 --quiet --jobs 1 --out run
[ -s run/result.json ]
ok $? "a run to spoil"

bomb >bomb.cu
stops "new, compiling" "[ -d bomb ]" new bomb.cu
[ ! -e bomb ]
ok $? "and leaves no folder"
# till its budget ends, and slowly: what lanes find in their own memory is fetched one by one
slow='float t[8] = {}; while (t[(i + n) \& 7] != -1) t[(i * n) \& 7] += 0.5f; x[i] = t[0];'
sed "s/if (i < n) x.*/$slow/" fine.cu >slow.cu
stops "new, running" "[ -e slow/problem.lua ]" new slow.cu
[ ! -e slow ]
ok $? "and leaves no folder"

bomb | sed 's/^__global/extern "C" &/; /^int main/d' >fine/kernel.cu
for command in check tune evolve; do
  stops "$command, compiling" 'works $host' "$command" fine --jobs 1
done
stops "verify, compiling" "grep -q Runs out.txt" verify run --jobs 1
sed -i -E 's/"genome": "[^"]*"/"genome": "<optconst_fine.cu_1>"/' run/result.json
bomb >fine.cu
stops "apply, cutting" 'works $host' apply run
finish
