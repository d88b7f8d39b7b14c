#!/bin/bash
# Memory that runs out, wherever: a result or one sentence, no crash, and nothing lost. A first run
# counts the paths by which memory is asked for (tests/faults/no_memory.c); then each that is chosen
# is refused, for a moment where it comes first and for good where it comes last. Chosen is a sample of
# SAMPLE; with EVERY=1 all that no part before refused. The file SEEN, if given, keeps which were, so
# that the test may be ended and begun again; TIMES=2 refuses for a moment alone. ONLY names one part:
# pieces (of those PIECES), fake, run or worker. The seed is SEED, or printed. FAULTS is a folder with
# none.so and nvrtc/libnvrtc.so.13 of tests/faults, for machines without a C compiler.
. "$(dirname "$0")/tap.sh"
if sanitized "a library that allocates comes before the sanitizer's"; then finish; fi
cd "$TMP" || exit 1
RANDOM=${SEED:=$((RANDOM * 32768 + RANDOM))}
echo "# seed $SEED"
export FAIL_TELLS=$TMP
if [ -n "${FAULTS:-}" ]; then cp -r "$FAULTS/none.so" "$FAULTS/nvrtc" . || exit 1; else
  mkdir nvrtc
  cc -shared -fPIC -O1 $(pkg-config --cflags lua5.4 || echo -I/usr/include/lua5.4) \
    -o none.so "$TOP/tests/faults/no_memory.c" &&
    cc -shared -fPIC -O1 -o nvrtc/libnvrtc.so.13 "$TOP/tests/faults/known_nvrtc.c" -ldl || exit 1
fi

also= # what else is loaded first

# without N PATH TIMES COMMAND...: a run in which memory runs out, at the N-th allocation or the first
# by PATH, and from there on for so many; by which path it then was, in $refused
without() {
  : >memory.failed
  FAIL_AT=$1 FAIL_PATH=$2 FAIL_TIMES=$3 LD_PRELOAD=$TMP/none.so$also "${@:4}" >got.txt 2>err.txt </dev/null
  status=$?
  read -r refused <memory.failed
}

declare -A seen    # "TIMES PATH" of what was refused
[ -e "${SEEN:-}" ] && while read -r key; do seen[$key]=1; done <"$SEEN"
see() {
  seen[$1]=1
  if [ -n "${SEEN:-}" ]; then echo "$1" >>"$SEEN"; fi
}

# chosen SAMPLE: TIMES PATH N of those to be refused, where N is the path's first or last allocation
chosen() {
  local times path first last
  sed 1d paths.txt | awk -v seed=$RANDOM 'BEGIN { srand(seed) } { print rand(), $1, $2, $3 }' | sort |
    if [ -n "${EVERY:-}" ]; then cat; else head -n "$1"; fi |
    while read -r _ path first last; do
      for times in ${TIMES:-2 100000000}; do echo "$times $path $((times == 2 ? first : last))"; done
    done
}

# Is what was said one sentence for a person? libnifti complains by itself when it gets no memory.
one_sentence() {
  local line told=1
  while IFS= read -r line; do
    case $line in
      "** "* | "gilua: results so far are in "*) ;;
      *lua/gilua/*) return 1 ;;
      "gilua: "?*) told=0 ;;
    esac
  done <err.txt
  return $told
}

before() { :; }    # each run
learn() { false; } # for what may have been unknown to a test's compiler
after() { :; }     # what a run that ended with $1 has lost, in $lost

# judge: was it a result or a sentence, in $outcome? If not, or if something is lost, $lost says so.
judge() {
  lost=
  if [ $status = 0 ] && cmp -s got.txt want.txt; then
    outcome=good
  elif [[ $status = 1 || $status = 75 ]] && one_sentence; then
    outcome=told
  else
    lost="status $status: $(cat err.txt)"
  fi
  after $status
  if [ -n "$lost" ]; then outcome=bad; fi
}

# hold TEXT SAMPLE COMMAND...: whatever allocation fails, for a moment or from then on for good
hold() {
  local text=$1 sample=$2 all paths unkept times path n known=0 unmet=0
  local -A times_of=([good]=0 [told]=0 [bad]=0)
  shift 2
  rm -f memory.paths
  before
  without 0 0 0 "$@"
  cp got.txt want.txt
  # Records of the path, its first and its last allocation; at the head the sums.
  od -An -v -t u8 -w24 memory.paths | awk '$1 { print $1, $2, $3 }' >paths.txt
  read -r all paths unkept <paths.txt
  if [ "${all:-0}" = 0 ]; then ok 1 "$text: it takes no memory"; return; fi
  while read -r times path n; do
    if [ -n "${EVERY:-}" ] && [ -n "${seen[$times $path]:-}" ]; then known=$((known + 1)); continue; fi
    for at in "$n 0" "0 $path"; do # what depends on the clock shifts what comes after
      before
      without $at "$times" "$@"
      see "$times $refused"
      judge
      for _ in 1 2 3; do # an allocation is not always the same one's
        [ $outcome = bad ] && learn || break
        before
        without $at "$times" "$@"
        judge
      done
      times_of[$outcome]=$((times_of[$outcome] + 1))
      if [ $outcome = bad ]; then echo "# allocation $at of $all, $times times: $lost" | head -5; fi
      if [ -z "${EVERY:-}" ] || [ "$refused" = "$path" ]; then break; fi
    done
    if [ -z "$refused" ]; then unmet=$((unmet + 1)); fi
  done <<<"$(chosen "$sample")"
  echo "# $text: $known refused before, $unmet not met"
  ok $((times_of[bad] > 0 || unkept > 0)) "$text, $all allocations by $paths paths: ${times_of[good]} times \
the result, ${times_of[told]} times a sentence, ${times_of[bad]} times neither"
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
  real_nvrtc=$REAL_NVRTC
  unset REAL_NVRTC
  # What is done again after a worker's death comes to the compiler in other batches. Loaded first, it
  # has opened its file before a worker is shut in, which dies as before.
  learn() {
    export REAL_NVRTC=$real_nvrtc
    before
    also=:$TMP/nvrtc/libnvrtc.so.13 without $at "$times" "${command[@]}"
    GILUA_BOX=off after $status
    unset REAL_NVRTC
  }
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
