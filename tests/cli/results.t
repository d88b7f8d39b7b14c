#!/bin/bash
# Whatever ends a run, or comes between, what it found is there: signals, a full disk, kill -9.
. "$(dirname "$0")/tap.sh"
needs pkill procps
cd "$TMP" || exit 1

cat >run.lua <<'LUA'
-- Evolution with a farm that is none, slow enough to be met at work: PAUSE seconds a measurement.
package.path = "./?.lua;" .. package.path
local gi, core, fake = require "gilua", require "gilua.core", require "fake"
local report = assert(gi.report.open(arg[1], "out/fake-1"))
local pause = tonumber(os.getenv "PAUSE" or "0")
local is_there = require("lfs").attributes
local hold = os.getenv "HOLD" -- after its first generation it waits till this file is there
local run = gi.evolve.run {
  problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3), new_case = fake.new_case,
  population = 20, generations = tonumber(os.getenv "GENERATIONS" or 6),
  observers = { report, gi.progress.new { results = report },
    { on_result = function()
      core.system.sleep(pause)
      while hold and is_there(arg[1] .. "/result.json") and not is_there(hold) do
        core.system.sleep(0.01)
      end
    end } },
}
LUA
cp "$TOP/tests/lua/fake.lua" .

# What a result says, but for seconds.
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//' "$1/result.json"; }
timeless() { sed -E 's/^ *[0-9.]+ s  //' "$1/log.txt"; }

# begun DIR: waits until a generation of $pid's is kept there.
begun() { wait_until "[ -s '$1/result.json' ]" $pid; }

"$GILUA" run.lua whole >whole.said
is "a run that nothing disturbs ends well" 0 $?
like "and says what there is" "^Results are in whole: report.html best.cu best.patch result.json generations.csv log.txt$" \
  "$(cat whole.said)"

# --- signals

stopped() { # stopped SIGNAL STATUS
  local pid start took status
  PAUSE=0.02 GENERATIONS=400 foreground "$GILUA" run.lua "by-$1" >"$1.said" 2>&1
  pid=$!
  begun "by-$1"
  sleep "0.$((RANDOM % 4))"
  start=$(now_ms)
  kill "-$1" $pid
  wait $pid 2>/dev/null
  status=$?
  took=$(($(now_ms) - start))
  is "SIG$1: its status" "$2" $status
  [ $took -lt $SOON_MS ]
  ok $? "SIG$1: long before it would end" "$took ms"
  like "SIG$1: the best so far is there, and why it is not the last" '"stopped": ?"interrupted"' \
    "$(cat "by-$1/result.json")"
  [ -s "by-$1/best.cu" ]
  ok $? "SIG$1: as a kernel"
}
stopped INT 130
stopped TERM 143
stopped HUP 129

GENERATIONS=400 "$GILUA" run.lua piped 2>piped.err | head -2 >/dev/null
is "nobody reads what it prints: its status" 141 "${PIPESTATUS[0]}"
is "and nothing is said" "" "$(cat piped.err)"
like "but the best so far is there" '"stopped"' "$(cat piped/result.json)"

PAUSE=0.02 GENERATIONS=400 "$GILUA" run.lua taken >taken.said 2>&1 &
pid=$!
begun taken
mv taken away # at one stroke
wait $pid
is "a folder that is taken away: its status" 1 $?
like "what could not be written" "^gilua: cannot write taken/.*: No such file or directory$" "$(cat taken.said)"
is "nothing is said to be there that is not" "" "$(grep 'results so far' taken.said)"

HOLD=go-on "$GILUA" run.lua asked >asked.said 2>&1 &
pid=$!
begun asked
kill -USR1 $pid
: >go-on
wait $pid
is "SIGUSR1 does not end it" 0 $?
like "it saves, and says so in the log" "asked by SIGUSR1" "$(cat asked/log.txt)"
is "and the result is as if nobody had asked" "$(plain whole)" "$(plain asked)"

# asked_all WHAT WANT COMMAND…: SIGUSR1 again and again, to all processes of a command, ends none. Its
# status is $ENDS, and what it says has WANT in it. It reads ./input.
ENDS=0
asked_all() {
  local what=$1 want=$2 pid status
  shift 2
  (trap '' USR1; exec setsid "$@" <input >asked.out 2>asked.err) &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    pkill -USR1 -s $pid 2>/dev/null
    sleep 0.003
  done
  wait $pid
  status=$?
  is "SIGUSR1 and $what: its status" "$ENDS" $status
  like "  and its work is done" "$want" "$(cat asked.out asked.err)"
}
cat >half.cu <<'END'
__global__ void half(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 0.5f;
}
END
: >input
asked_all "new" "half it's/ is ready.* Next: gilua check 'half it'.''s', or gilua evolve 'half it'" \
  "$GILUA" new half.cu "half it's"
fails "what is shown to be typed can be typed" "gilua new half.cu NAME" "$GILUA" new half.cu "half it's"
misused "and so can this" "as gilua check 'half it'.''s' " "$GILUA" "half it's"
mv "half it's" half
asked_all "check" "^ok +parameters" "$GILUA" check half
ENDS=3 asked_all "evolve, which finds nothing better" "Results" "$GILUA" evolve half --population 6 --generations 1 --transform no --out halved --weak-data
asked_all "verify" "65 536 answers on 1 cases, all right" "$GILUA" verify halved --cases 1
asked_all "a script with no run" "^done$" "$GILUA" -e 'for i = 1, 60 do
  require("gilua.core").system.sleep(0.005) end print "done"'
mkfifo prompt.in
(echo 'print(6 * 7)'; sleep 0.4; echo 'print(7 * 8)') >prompt.in &
rm input; ln -s prompt.in input
asked_all "the prompt" "56" "$GILUA" -i

for i in 1 2 3 4 5; do
  PAUSE=0.01 GENERATIONS=400 "$GILUA" run.lua "killed-$i" >/dev/null 2>&1 &
  pid=$!
  disown
  begun "killed-$i"
  sleep "0.$((RANDOM % 9))$((RANDOM % 9))"
  kill -9 $pid 2>/dev/null
  while kill -0 $pid 2>/dev/null; do sleep 0.01; done
  "$GILUA" -e 'local gi = require "gilua"
    local dir = "killed-'$i'"
    local result = assert(gi.json.decode(gi.textfile.read(dir .. "/result.json", "the result")))
    local csv = gi.textfile.read(dir .. "/generations.csv", "the table")
    local _, lines = csv:gsub("\n", "")
    assert(lines - 1 - #result.generation_speedups <= 1 and csv:sub(-1) == "\n")
    assert(gi.textfile.read(dir .. "/best.cu", "the best"):sub(-1) == "\n")'
  ok $? "kill -9: the last whole generation is there ($i)"
done
"$GILUA" run.lua killed-1 >again.said
is "another run in that folder is not in its way" 0 $?
like "and says where the first one is" "those of an earlier run are in killed-1/earlier-1$" "$(cat again.said)"

# --- a disk that is full. The n-th write to a file fails, and three after it, for each n.

if sanitized "a library that fails writes comes before the sanitizer's"; then finish; fi
cc -shared -fPIC -o full.so "$TOP/tests/faults/full_disk.c" -ldl || exit 1
n=0 bad=0 waited=0
while :; do
  n=$((n + 1))
  FULL_AT=$n FULL_BELOW=$TMP/full LD_PRELOAD=$TMP/full.so "$GILUA" run.lua "$TMP/full" >full.said 2>full.err
  status=$?
  [ -e full.failed ] || break
  rm full.failed
  grep -q "No space left on device; waits until there is room" full.err && waited=$((waited + 1))
  if ! { [ $status = 0 ] && [ "$(plain full)" = "$(plain whole)" ] &&
    [ "$(timeless full)" = "$(timeless whole)" ] && cmp -s full/best.patch whole/best.patch &&
    cmp -s full/generations.csv whole/generations.csv; }; then
    bad=$((bad + 1))
    echo "# write $n: status $status: $(cat full.err)"
  fi
  rm -rf full
done
[ $n -gt 20 ]
ok $? "there are writes to fail: $((n - 1))"
is "a full disk is waited for, whichever write meets it" 0 $bad
is "and each time but for the first, the lock's, that is said" $((n - 2)) $waited

FULL_AT=5 FULL_TIMES=1000000 FULL_BELOW=$TMP/never foreground env LD_PRELOAD="$TMP/full.so" \
  "$GILUA" run.lua "$TMP/never" >/dev/null 2>never.err
wait_until 'grep -q "waits until there is room" never.err' $!
kill -INT $!
wait $!
is "a disk that stays full can be left by Ctrl-C" 130 $?
like "which says what is missing" "gilua: cannot write .*never/.*: No space left" "$(cat never.err)"
finish
