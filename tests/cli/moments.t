#!/bin/bash
# Ctrl-C at random moments: every command ends within a second, and leaves nothing half made. A second
# is one of a machine that does nothing else: a busy one is measured beside each. MOMENTS=20 tries as
# many of each command, on long inputs; else it is one, on shorter ones. SEED=N repeats them,
# ONLY="tune,evolve long" interrupts these commands alone.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
export LC_ALL=C.UTF-8 NO_COLOR=1 TERM=xterm XDG_STATE_HOME=$TMP/state

moments=${MOMENTS:-1} numbers=12000 statements=200 most_ms=1500
if [ -n "${MOMENTS:-}" ]; then
  numbers=350000 statements=11000 most_ms=30000
  unset GILUA_COMPILED # the compiler is interrupted too
fi
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
echo "# SEED=$SEED"

# busy: how many percent of a processor's seconds a short loop takes by the clock
busy() { perl -MTime::HiRes=time,clock -e '$t = time; $c = clock; 1 while clock() - $c < .04; printf "%d", 100 * (time - $t) / .04'; }

# Draws a moment, in milliseconds, into $moment.
draw() { moment=$(((RANDOM * 32768 + RANDOM) % $1 + 1)); }

# judged WHAT STATUS MS: a command that was interrupted
judged() {
  local limit=$((10 * $(busy)))
  is "$1, at $moment ms: its status" 130 "$2"
  [ "$3" -lt $limit ]
  ok $? "$1, at $moment ms: within a second" "$3 ms, $limit allowed"
}

asked() { [ -z "${ONLY:-}" ] || [[ ",$ONLY," == *",$1,"* ]]; }

# interrupted WHAT CLEAN WHOLE COMMAND…: at random moments; CLEAN (of the shell) goes before each, and
# WHOLE holds after it. A command that has ended by then is begun again, for a shorter time.
interrupted() {
  local what=$1 clean=$2 whole=$3 left=$moments most=$most_ms host begun status
  shift 3
  asked "$what" || return
  while [ $left -gt 0 ] && [ $most -gt 20 ]; do
    draw $most
    eval "$clean"
    begun=$(now_ms)
    foreground "$@" >out.txt 2>said.txt </dev/null
    host=$!
    while kill -0 $host 2>/dev/null && [ $(($(now_ms) - begun)) -lt $moment ]; do sleep 0.01; done
    if ! kill -0 $host 2>/dev/null; then
      most=$((moment * 2 / 3))
      continue
    fi
    begun=$(now_ms)
    kill -INT $host 2>/dev/null
    wait $host 2>/dev/null
    status=$?
    case $status in 0 | 1 | 3) most=$((moment * 2 / 3)) && continue ;; esac # it had just ended
    judged "$what" $status $(($(now_ms) - begun))
    eval "$whole"
    ok $? "$what: nothing half made" "$(ls -la; cat said.txt)"
    left=$((left - 1))
  done
}

perl -e 'srand(1); my $n = shift; print "__device__ float w[$n] = {\n", (map { sprintf "%.6ff,\n", rand } 1 .. $n), "};\n",
  "__global__ void k(const float *in, float *out, int n)\n{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n",
  "  if (i < n) out[i] = in[i] * w[i % $n];\n}\n"' $numbers >table.cu
perl -e 'print "__global__ void k(const float *in, float *out, int n)\n{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n",
  "  if (i >= n) return;\n  float x = in[i];\n", (map { "  x = x * 1.000$_" . "f + 0.25f;\n" } 1 .. shift), "  out[i] = x;\n}\n"' \
  $statements >long.cu
for name in table long; do
  whole="[ ! -e new ] || { [ -s new/problem.lua ] && [ -s new/experiment.lua ] && [ -s new/kernel.cu ]; }"
  interrupted "new $name" "rm -rf new" "$whole" "$GILUA" new $name.cu new --quiet
  "$GILUA" new $name.cu --quiet
  [ -s $name/problem.lua ]
  ok $? "$name is there to go on with"
done
few=(--population 4 --generations 1 --jobs 1 --weak-data)
"$GILUA" evolve table "${few[@]}" --quiet --out run
sed -i -E "s/\"genome\": \"[^\"]*\"/\"genome\": \"<if_kernel.cu_$((numbers + 6))>\"/" run/result.json
"$GILUA" apply run >out.txt && mv run/table.cu applied.cu
ok $? "apply writes the file anew"
for name in table long; do
  interrupted "check $name" true true "$GILUA" check $name --jobs 1
  interrupted "evolve $name" "rm -rf again" "[ ! -e again ] || $GILUA log again >log.txt" \
    "$GILUA" evolve $name "${few[@]}" --out again
done
interrupted tune "rm -rf again" "[ ! -e again ] || $GILUA log again >log.txt" "$GILUA" tune table --jobs 1 --out again
interrupted verify true true "$GILUA" verify run --jobs 1
interrupted apply "rm -f run/table.cu" "[ ! -e run/table.cu ] || cmp run/table.cu applied.cu" "$GILUA" apply run

# A launch that takes long, of somebody's program: the signal goes to gilua alone.
if command -v nvcc >/dev/null; then
  cat >launch.cu <<'CUDA'
__global__ void k(float *x, int n) { for (int i = 0; i < n; i++) x[threadIdx.x] *= 1.0001f; }
int main() { float *x; cudaMalloc(&x, 128); k<<<1, 32>>>(x, 1 << 28); cudaDeviceSynchronize(); return 0; }
CUDA
  kept_nvcc -cudart shared -arch=compute_80 -Wno-deprecated-gpu-targets -o launch launch.cu
  interrupted run true true "$GILUA" run -- ./launch
  interrupted record "rm -f launch.rec" "[ ! -e launch.rec ]" "$GILUA" record -o launch.rec -- ./launch
else
  echo "# not tried: run, record: there is no nvcc"
fi

# The prompt goes on, and is asked for more.
if ! asked prompt; then :
elif script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
  mkfifo keys
  script -qfec "$GILUA --jobs 1" /dev/null <keys >seen 2>&1 &
  host=$!
  exec 7>keys
  wait_until "tail -c 20 seen | grep -q '> '" $host
  for _ in $(seq $moments); do
    draw $most_ms
    rm -rf new
    : >seen
    echo 'gi.newproblem.write("table.cu", "new", { quiet = true })' >&7
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    begun=$(now_ms) limit=$((10 * $(busy)))
    printf '\003print("on" .. "ward")\n' >&7
    wait_until 'grep -q onward seen' $host
    took=$(($(now_ms) - begun))
    [ $took -lt $limit ]
    ok $? "the prompt, at $moment ms: goes on within a second" "$took ms, $limit allowed: $(cat -v seen)"
    eval "$whole"
    ok $? "the prompt: nothing half made" "$(ls -la new 2>&1)"
  done
  printf '\004' >&7
  exec 7>&-
  wait $host
else
  echo "# not tried: the prompt: there is no program 'script' (Debian's bsdutils)"
fi
finish
