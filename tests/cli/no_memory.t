#!/bin/bash
# Memory that runs out, wherever: a result or one sentence, no crash, and nothing lost. A first run
# counts the paths by which memory is asked for (tests/faults/no_memory.c); then each that is chosen
# is refused, for a moment where it comes first and for good about where it comes last. Chosen is a
# sample of SAMPLE; with EVERY=1 all that no part before refused. The file SEEN, if given, keeps which were, so
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

# without PATH N TIMES COMMAND...: a run in which memory runs out at the first allocation by PATH that
# is about the N-th (0: wherever it is), and from there on for so many; PATH, if it came, in $refused
without() {
  : >memory.failed
  FAIL_PATH=$1 FAIL_NEAR=$2 FAIL_TIMES=$3 LD_PRELOAD=$TMP/none.so$also "${@:4}" \
    >got.txt 2>err.txt </dev/null
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
      *lua/gilua/*.lua:*) return 1 ;;
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
    for near in $n 0; do # what depends on the clock shifts what comes after
      before
      without $path $near "$times" "$@"
      if [ -n "$refused" ]; then break; fi
    done
    if [ -z "$refused" ]; then unmet=$((unmet + 1)); fi
    see "$times $path"
    judge
    for _ in 1 2 3; do # in a few of which it is the same path's turn
      [ $outcome = bad ] && learn || break
      before
      without $path 0 "$times" "$@"
      judge
    done
    times_of[$outcome]=$((times_of[$outcome] + 1))
    if [ $outcome = bad ]; then echo "# path $path, about $n of $all, $times times: $lost" | head -5; fi
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
  [ "$(plain run)" = "$want" ] && cmp -s run/best.cu whole/best.cu &&
    cmp -s run/generations.csv whole/generations.csv
}

# go_on COMMAND...: with the run as it was left, or with the command once more where there is none.
go_on() {
  if [ -e run/archive.sqlite ] && "$GILUA" resume run >again.txt 2>&1; then return; fi
  "$@" >again.txt 2>&1
}

# The plots are what gnuplot drew once, if there is one: it takes longer than the rest of a page.
known_plots() {
  real_gnuplot=$(command -v gnuplot) || return
  mkdir bin plots
  printf '#!/bin/sh\n"%s" "$1" && exec cp "${1%%/*}"/*.svg "%s/plots"\n' "$real_gnuplot" "$TMP" >bin/gnuplot
  chmod +x bin/gnuplot
  PATH=$TMP/bin:$PATH "$GILUA" fake_run.lua >/dev/null || exit 1
  [ -e plots/1.svg ] || exit 1
  printf '#!/bin/sh\nexec cp "%s"/plots/*.svg "${1%%/*}"\n' "$TMP" >bin/gnuplot
  PATH=$TMP/bin:$PATH
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
    also=:$TMP/nvrtc/libnvrtc.so.13 without $path 0 "$times" "${command[@]}"
    GILUA_BOX=off after $status
    unset REAL_NVRTC
  }
}

# what_is_left: a hash of what is in the run's folder, in $left; what is the same goes on the same way
what_is_left() {
  [ -n "${LEFT_PID:-}" ] || coproc LEFT { exec "$GILUA" "$TOP/tests/faults/left.lua"; }
  echo run >&"${LEFT[1]}"
  read -r left <&"${LEFT[0]}" || exit 1
}

# whole TEXT SAMPLE COMMAND...: hold, for a run that leaves results
declare -A goes_on # by what was left
whole() {
  command=("${@:3}")
  goes_on=()
  rm -rf run whole
  "${command[@]}" >/dev/null && mv run whole || exit 1
  want=$(plain whole)
  before() { rm -rf run; }
  after() {
    left=
    if [ "$1" != 0 ]; then
      [ -e run ] || return # that is the undisturbed run again
      what_is_left
      [ -z "$left" ] || [ -z "${goes_on[$left]:-}" ] || return
      go_on "${command[@]}" || lost="${lost}it does not go on: $(cat again.txt)"
    fi
    [ -n "$lost" ] || same || lost="the results are others"
    [ -n "$lost" ] || [ -z "$left" ] || goes_on[$left]=yes
  }
  hold "$@"
  echo "# $1: ${#goes_on[@]} times it was gone on with"
}
wanted fake || wanted run || wanted worker && known_plots
wanted fake && whole "a run of a farm that is none" "${SAMPLE:-8}" "$GILUA" fake_run.lua
if wanted run || wanted worker; then known; fi
wanted run && whole "a run" "${SAMPLE:-4}" "$GILUA" "${quickstart[@]}"
wanted worker &&
  FAIL_WORKER=1 whole "a run, the worker's memory" "${SAMPLE:-4}" "$GILUA" "${quickstart[@]}"
finish
