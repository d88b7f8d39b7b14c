#!/bin/bash
# Where things are not as usual: no home, no room, no terminal, few files, another language. One
# sentence and a status, or the same as ever.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
cp "$TOP/tests/lua/fake.lua" .
cat >run.lua <<'LUA'
package.path = "./?.lua;" .. package.path
local gi, fake = require "gilua", require "fake"
local report = assert(gi.report.open(arg[1]))
gi.evolve.run { problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3),
  new_case = fake.new_case, population = 10, generations = 2,
  observers = { report, gi.progress.new { results = report } } }
LUA
real=("$TOP/experiments/quickstart.lua" --side 20 --population 4 --generations 1 --jobs 1 --quiet)

# one TEXT STATUS SENTENCE COMMAND...: it ends so, with one sentence on standard error
one() {
  local text=$1 status=$2 sentence=$3 said code
  shift 3
  said=$("$@" 2>&1 >/dev/null)
  code=$?
  [ $code = "$status" ] && grep -qE -- "^gilua: $sentence$" <<<"$said" && [ "$(wc -l <<<"$said")" = 1 ]
  ok $? "$text" "exit $code, want $status, in: $said"
}

# --- standard input and output

full() { "$GILUA" "$@" >/dev/full; }
lost="not all could be written to standard output: .*"
one "a version that nobody gets" 1 "$lost" full --version
one "help" 1 "$lost" full help
one "what a script prints" 1 "$lost" full -e 'print(1)'
one "a script's own status stays" 3 "$lost" full -e 'print(1) os.exit(3)'
one "a run's output" 1 "$lost" full run.lua full
[ -s full/best.cu ] && grep -q '"stopped": null' full/result.json
ok $? "and its results are whole" "$(ls full)"
closed() { "$GILUA" "$@" >&-; }
one "standard output that is closed" 1 "$lost" closed -e 'print(1)'
closed run.lua closed 2>/dev/null
cmp -s closed/generations.csv full/generations.csv && cmp -s closed/best.cu full/best.cu
ok $? "is no file of the run's" "$(cat closed/generations.csv)"
closed -e 'x = 1'
is "who prints nothing is none the worse" 0 $?
shut() { "$GILUA" - <&-; }
one "standard input that is closed" 1 "cannot read stdin: Bad file descriptor" shut
"$GILUA" run.lua none <&- >&- 2>&-
cmp -s none/best.cu full/best.cu
ok $? "with none of the three the results are the same"
"$GILUA" "${real[@]}" --out run >/dev/null
one "a table to a device without room" 1 "cannot write /dev/full: No space left on device" \
  timeout 20 "$GILUA" export run --out /dev/full

# --- the environment

one "no HOME that is one" 0 "" env -i HOME=/nowhere "$GILUA" -e 'io.stderr:write("gilua: \n")'
env -i "$GILUA" "${real[@]}" --out bare
cmp -s run/generations.csv bare/generations.csv
ok $? "an empty environment changes nothing"
one "a wrong TMPDIR" 1 "cannot make a folder for temporary files like /nowhere/.*" \
  env TMPDIR=/nowhere "$GILUA" "${real[@]}" --out tmp
gone() { mkdir gone && cd gone && rmdir ../gone && "$GILUA" "$TOP/experiments/quickstart.lua" --quiet; }
one "a folder that is gone" 1 "cannot write results to 'out': the folder that you are in is gone; .*" gone
few() { ulimit -n "$1" && shift && exec "$@"; }
one "few files" 1 "cannot start a worker: .*: Too many open files" few 8 "$GILUA" "${real[@]}" --out few
small() { ulimit -v 60000 && exec "$@"; }
if ! sanitized "memory that is limited, which the sanitizer's own is beyond"; then
  one "little memory" 1 "NVRTC of CUDA 12 or 13 is there and cannot be loaded: .*" small "$GILUA" "${real[@]}" --out small
fi

# --- a limit of a file's size

large() { ulimit -f "$1" && shift && exec "$@"; }
too_large="File too large: the limit of a file's size is [0-9]+ bytes \\(ulimit -f\\)"
printed() { large 1 "$GILUA" -e 'print(("x"):rep(5000))' >large.txt; }
one "an output" 1 "not all could be written to standard output: $too_large" printed
for kilobytes in 20 200; do
  fails "results of a run, of $kilobytes kB at most" "cannot write .*: $too_large|archive.sqlite: $too_large" \
    large $kilobytes "$GILUA" "${real[@]}" --out large
done
"$GILUA" resume large >/dev/null 2>&1
is "and nothing of it is lost" 0 $?

# --- the terminal

if script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
  on() { TERM=$1 script -qec "$GILUA run.lua on-$2" /dev/null </dev/null; }
  [[ $(on xterm 1) == *$'\033'* ]]
  ok $? "a terminal has a line that changes"
  ! grep -q $'\033' <<<"$(on dumb 2)"
  ok $? "TERM=dumb gets no escape sequences" "$(cat -v <<<"$(on dumb 3)")"
  ! grep -q $'\033' <<<"$(on '' 4)"
  ok $? "nor does one without a name"
  like "but a line a generation" "^generation 2/2 " "$(on dumb 5)"
  narrow=$(TERM=xterm script -qec "stty cols 20; $GILUA run.lua on-6" /dev/null </dev/null |
    tr '\r' '\n' | sed 's/\x1b\[K//' | grep -E '^(generation|finals)' | awk 'length > 19')
  is "of 20 columns the live line is no longer" "" "$narrow"
fi

# Turkish: a capital I is no large i there.
if localedef -i tr_TR -f UTF-8 "$TMP/tr_TR.UTF-8" 2>/dev/null && [ -d "$TMP/tr_TR.UTF-8" ]; then
  said=$(LOCPATH=$TMP LC_ALL=tr_TR.UTF-8 TERM=xterm NO_COLOR=1 XDG_STATE_HOME=$TMP \
    script -qec "$GILUA" /dev/null <<<'print(("IF"):lower(), ("i"):upper(), 1.5)')
  like "a prompt in Turkish takes IF for if" "if	I	1.5" "$said"
fi
finish
