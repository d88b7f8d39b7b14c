#!/bin/bash
# No command runs a kernel in gilua's own process: there every launch is refused, so that each of the
# commands below does its work with workers alone, or fails. What ends such a worker is one sentence.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
cat >k.cu <<'CU'
__global__ void scale(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < 20; j++) s += x[i] * j;
  y[i] = s;
}
void run(float *x, float *y) { scale<<<8, 128>>>(x, y, 1000); }
CU

# Tries a launch of its own at the end of the command, and says what came of it.
cat >hook.lua <<'LUA'
local gi = require "gilua"
require("gilua.study.adequacy").MOST = 4
require("gilua.base.ends").at_end(function()
  local device = assert(gi.device "emu")
  local module = assert(device:load(".version 7.0\n.target sm_90\n.address_size 64\n"
    .. ".visible .entry k()\n{\n\tret;\n}\n"))
  local ok, why = pcall(module.launch, module, { kernel = "k", grid = 1, block = 32, args = {} })
  io.stderr:write("a launch here: ", ok and "ran" or tostring(why), "\n")
end)
LUA
REFUSED="a launch here: .*not run in gilua's own process"
boxed() { # boxed STATUS TEXT WORD...: the command comes to its end, and no kernel runs in its process
  local status=$1 text=$2 out
  shift 2
  out=$("$GILUA" -e "$(cat hook.lua)" "$@" 2>&1 </dev/null)
  is "$text: status" "$status" $?
  like "$text: launches in workers alone" "$REFUSED" "$out"
}

out=$("$GILUA" -e "$(cat hook.lua)" -e 'require("gilua.base.ends").finish()' 2>&1)
like "a script of one's own may launch" "a launch here: ran" "$out"
boxed 0 new new k.cu
sed -i 's/^  size = .*/  size = 1000,/' k/problem.lua
boxed 0 check check k --jobs 1
boxed 0 tune tune k --jobs 1 --out tuned
boxed 0 evolve evolve k --population 6 --generations 2 --seed 2 --jobs 1 --out run
boxed 0 verify verify run --cases 1 --jobs 1
boxed 0 apply apply run --anyway
boxed 0 "new of a recording" new a.rec b.rec -o p --source app.cu
boxed 0 "new of a recording without a source" new a.rec -o ptx
boxed 0 "check of a recording" check p --jobs 1

# A problem's own Lua launches in workers, too, or not at all.
mkdir -p own
cat >own/kernel.cu <<'CU'
extern "C" __global__ void k(float *y) { y[threadIdx.x] = 1; }
CU
cat >own/problem.lua <<'LUA'
local d = require("gilua").device "emu"
local m = d:load ".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
m:launch { kernel = "k", grid = 1, block = 32, args = {} }
return { source = "kernel.cu", kernel = "k", size = 32, block_size_x = 32,
  args = { { name = "y", type = "f32", count = "size_x", role = "out" } } }
LUA
fails "problem.lua launches nothing as it is loaded" "not run in gilua's own process" "$GILUA" check own

# What ends its process, in a problem whose data are made by code that does.
mkdir -p ends
cp own/kernel.cu ends
cat >ends/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "k", size = 32, block_size_x = 32, args = {
  { name = "y", type = "f32", count = "size_x", role = "inout", fill = function(_, i)
    require("gilua.core").library.open("libc.so.6"):call("abort", {})
  end } } }
LUA
out=$("$GILUA" check ends 2>&1)
is "a worker that dies: status" 1 $?
like "and the sentence" "the worker was killed by signal 6 \(Aborted\)" "$out"
is "which is one" 1 "$(grep -c 'signal 6' <<<"$out")"

# Ctrl-C while a draft is tried, which has no end.
sed 's/j < 20/j < 2000000000/; s/x\[i\] \* j/s * j/' k.cu >endless.cu
"$GILUA" -e 'require("gilua.new.trial").budget = 1 << 50' new endless.cu >endless.out 2>&1 &
host=$!
wait_until '[ "$(pgrep -c -P $host)" = 2 ]' $host # the compiler's, and the one that launches
begun=$(now_ms)
kill -INT $host
wait $host
is "Ctrl-C in a draft: status" 130 $?
[ $(($(now_ms) - begun)) -lt $SOON_MS ]
ok $? "it is soon over"
is "nothing is made" no "$([ -e endless ] && echo yes || echo no)"
is "no process is left" "" "$(pgrep -fa -- "--worker emu ${TMPDIR:-/tmp}/")"
is "nothing is left of it" "" "$(ls "${TMPDIR:-/tmp}" | grep '^gilua-[0-9]*-......$')"
finish
