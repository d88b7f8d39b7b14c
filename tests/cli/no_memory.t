#!/bin/bash
# Memory that runs out, wherever: a result or one sentence, no crash, and nothing lost. A sample of
# the places; all of them with EVERY=1, or every STEP-th. ONLY names one part: pieces (of those
# PIECES), fake, run or worker; with STEP, FIRST is the first place. The seed is SEED, or printed. FAULTS
# is a folder with none.so and nvrtc/libnvrtc.so.13 of tests/faults, for machines without a C compiler.
. "$(dirname "$0")/tap.sh"
if sanitized "a library that allocates comes before the sanitizer's"; then finish; fi
cd "$TMP" || exit 1
RANDOM=${SEED:=$((RANDOM * 32768 + RANDOM))}
echo "# seed $SEED"
export FAIL_TELLS=$TMP
if [ -n "${FAULTS:-}" ]; then cp -r "$FAULTS/none.so" "$FAULTS/nvrtc" . || exit 1; else
  mkdir nvrtc
  cc -shared -fPIC -O1 -o none.so "$TOP/tests/faults/no_memory.c" &&
    cc -shared -fPIC -O1 -o nvrtc/libnvrtc.so.13 "$TOP/tests/faults/known_nvrtc.c" -ldl || exit 1
fi

# without AT TIMES COMMAND...: a run in which memory runs out, from there on for so many allocations
without() {
  rm -f memory.failed
  FAIL_AT=$1 FAIL_TIMES=$2 LD_PRELOAD=$TMP/none.so "${@:3}" >got.txt 2>err.txt </dev/null
}

# places N SAMPLE: numbers from 1 to N, all (every STEP-th) or so many at random
places() {
  if [ -n "${EVERY:-}" ]; then seq "${FIRST:-$((1 + RANDOM % ${STEP:-1}))}" "${STEP:-1}" "$1"; return; fi
  for _ in $(seq "$2"); do echo $((1 + (RANDOM * 32768 + RANDOM) % $1)); done
}

# Is what was said one sentence for a person? libnifti complains by itself when it gets no memory.
one_sentence() {
  local said
  said=$(grep -vE '^\*\* |^gilua: results so far are in ' err.txt)
  grep -q '^gilua: .' <<<"$said" && ! grep -q lua/gilua/ <<<"$said"
}

before() { :; }    # each run
after() { :; }     # what a run that ended with $1 has lost, in $lost

# hold TEXT SAMPLE COMMAND...: whatever allocation fails, for a moment or from then on for good
hold() {
  local text=$1 sample=$2 all n times status good=0 told=0 bad=0
  shift 2
  before
  without 0 0 "$@"
  all=$(cat memory.count 2>/dev/null)
  if [ "${all:-0}" = 0 ]; then ok 1 "$text: it takes no memory"; return; fi
  rm memory.count
  cp got.txt want.txt
  for times in 2 100000000; do
    for n in $(places "$all" "$sample"); do
      before
      without "$n" $times "$@"
      status=$? lost=
      if [ $status = 0 ] && cmp -s got.txt want.txt; then
        good=$((good + 1))
      elif [[ $status = 1 || $status = 75 ]] && one_sentence; then
        told=$((told + 1))
      else
        lost="status $status: $(cat err.txt)"
      fi
      after $status
      [ -z "$lost" ] && continue
      bad=$((bad + 1))
      echo "# allocation $n of $all, $times times: $lost" | head -5
    done
  done
  ok $((bad > 0)) "$text, $all allocations: $good times the result, $told times a sentence, $bad times neither"
}

wanted() { [ -z "${ONLY:-}" ] || [ "$ONLY" = "$1" ]; }

if wanted pieces; then
  export FAIL_LATER=1
  for piece in ${PIECES:-$("$GILUA" "$TOP/tests/faults/no_memory.lua")}; do
    hold "$piece" "${SAMPLE:-6}" "$GILUA" "$TOP/tests/faults/no_memory.lua" "$piece"
  done
  unset FAIL_LATER
fi

# --- whole runs. What ended badly goes on, with memory, and comes to the undisturbed run's results.

cp "$TOP/tests/lua/fake.lua" .
cat >fake_run.lua <<'LUA'
package.path = "./?.lua;" .. package.path
local gi, fake = require "gilua", require "fake"
local report = assert(gi.report.open "run")
gi.evolve.run { problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3),
  new_case = fake.new_case, population = 8, generations = 2, observers = { report } }
LUA
quickstart=("$TOP/experiments/quickstart.lua" --side 20 --population 4 --generations 2 --jobs 1
  --quiet --out run)

# What has to be the same: all but seconds, and how many workers were lost.
plain() { sed -zE 's/"seconds": *\{[^}]*\},?//; s/"restarts": *[0-9]+//' "$1/result.json"; }
same() {
  [ "$(plain run)" = "$(plain whole)" ] && cmp -s run/best.cu whole/best.cu &&
    cmp -s run/generations.csv whole/generations.csv
}

# go_on COMMAND...: with the run as it was left, or with the command once more where there is none. Where
# nothing was left at all, that is the undisturbed run again.
go_on() {
  if ! [ -e run ]; then nothing=yes; return; fi
  if [ -e run/archive.sqlite ] && "$GILUA" resume run >again.txt 2>&1; then return; fi
  "$@" >again.txt 2>&1
}

# The compiler is as it was, but does each source once: most of a run's time was its.
known() {
  REAL_NVRTC=$("$GILUA" -e 'io.write(require "gilua".compile.info().path)')
  export KNOWN=$TMP/known GILUA_NVRTC=$TMP/nvrtc REAL_NVRTC
  ln -s "$(dirname "$REAL_NVRTC")"/libnvrtc-builtins* nvrtc/
  truncate -s 8M known
  GILUA_BOX=off "$GILUA" "${quickstart[@]}" || exit 1
  rm -rf run
  unset REAL_NVRTC
}

# whole TEXT SAMPLE COMMAND...: hold, for a run that leaves results
whole() {
  command=("${@:3}")
  rm -rf run whole
  "${command[@]}" >/dev/null && mv run whole || exit 1
  before() { rm -rf run; }
  after() {
    nothing=
    [ "$1" = 0 ] || go_on "${command[@]}" || lost="${lost}it does not go on: $(cat again.txt)"
    [ -n "$lost$nothing" ] || same || lost="the results are others"
  }
  hold "$@"
}
wanted fake && whole "a run of a farm that is none" "${SAMPLE:-8}" "$GILUA" fake_run.lua
if wanted run || wanted worker; then known; fi
wanted run && whole "a run" "${SAMPLE:-4}" "$GILUA" "${quickstart[@]}"
wanted worker &&
  FAIL_WORKER=1 whole "a run, the worker's memory" "${SAMPLE:-4}" "$GILUA" "${quickstart[@]}"
finish
