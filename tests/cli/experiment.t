#!/bin/bash
# The paper's experiment from tuning to the report: its files, its determinism, Table 4.
. "$(dirname "$0")/tap.sh"
cd "$TOP" || exit 1

run() { # run DIR OPTION…
  local dir=$1
  shift
  "$GILUA" --out "$TMP/$dir" experiments/niftyreg_k20c.lua --side 24 --population 12 --generations 2 "$@" 2>&1
}

out=$(run A --jobs 1)
ok $? "it runs to its end" "$out"
for word in "write floor" "tuning before evolution" "random search of" "clean-up" \
  "tuning after evolution" "compiler options" "times faster" "paper: 0.71 ms"; do
  like "it says: $word" "$word" "$out"
done
for file in report.html experiment.json best.cu best.patch generations.csv result.json log.txt; do
  [ -s "$TMP/A/$file" ]
  ok $? "it leaves $file"
done
patch -s -o "$TMP/patched.cu" kernels/niftyreg/kernel.cu "$TMP/A/best.patch"
cmp -s "$TMP/patched.cu" "$TMP/A/best.cu"
ok $? "best.patch makes best.cu of the kernel"
like "the report is one page" "</html>" "$(tail -n 1 "$TMP/A/report.html")"

out=$(run B --jobs 2 --quiet)
is "quiet prints nothing" "" "$out"
# but for what is measured in seconds, and the command line
timeless() { perl -0pe 's/"seconds": *[0-9.e-]+/"seconds": 0/g; s/"cpu": *\{[^}]*\}//; s/"command":[^\n]*//' "$1"; }
cmp -s <(timeless "$TMP/A/experiment.json") <(timeless "$TMP/B/experiment.json")
ok $? "the same seed gives the same experiment, however many workers"

out=$("$GILUA" experiments/niftyreg_table4.lua --side 24 2>&1)
ok $? "Table 4 is replayed" "$out"
is "all six programs run right" 6 "$(grep -cE '^(Quadro|GeForce|Tesla).* us .*x .* us .*x ' <<<"$out")"

out=$("$GILUA" experiments/niftyreg_k20c.lua --runs 0 2>&1)
is "no runs are refused" 1 $?
like "in one sentence" "--runs must be at least 1" "$out"
finish
