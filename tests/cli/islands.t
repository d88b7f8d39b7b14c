#!/bin/bash
# Islands beside each other: the same seeds have the same history, whoever is killed on the way.
. "$(dirname "$0")/tap.sh"

cd "$TOP" || exit 1
ISLANDS=(experiments/islands.lua --islands 2 --population 4 --generations 3 --every 1 --side 20 --jobs 2)
all() { (cd "$1" && cat 1/generations.csv 2/generations.csv ring/* && grep -h '"speedup"' 1/result.json 2/result.json); }

"$GILUA" --out "$TMP/whole" "${ISLANDS[@]}" >"$TMP/said.txt" 2>&1
ok $? "two islands come to their end" "$(cat "$TMP/said.txt")"
like "each tells of its generations" "^island 2  generation 3/3 " "$(cat "$TMP/said.txt")"
like "what they found meets on one case" "^On a ball that none of them has seen:$" "$(cat "$TMP/said.txt")"
like "both sent migrants" "island-2-generation-2.json" "$(ls "$TMP/whole/ring")"

# One is killed: the other, which would wait for it for ever, is ended; both go on.
"$GILUA" --out "$TMP/torn" "${ISLANDS[@]}" >"$TMP/said.txt" 2>&1 &
both=$!
until [ -s "$TMP/torn/1/generations.csv" ] && [ -s "$TMP/torn/2/.lock" ] || ! kill -0 $both 2>/dev/null; do sleep 0.02; done
kill -KILL "$(sed -nE 's/^process ([0-9]+) on .*/\1/p' "$TMP/torn/2/.lock")"
wait $both
status=$?
ok $((status == 0)) "islands that were ended do not say that all is well"
like "what was found is kept" "did not come to the end; what was found is kept" "$(cat "$TMP/said.txt")"
"$GILUA" --out "$TMP/torn" "${ISLANDS[@]}" --resume >"$TMP/said.txt" 2>&1
ok $? "the same command goes on with --resume" "$(cat "$TMP/said.txt")"
is "and comes to the same bytes" "$(all "$TMP/whole")" "$(all "$TMP/torn")"

# Told to end, by SIGTERM: all have saved what they have, and the status is the signal's.
"$GILUA" --out "$TMP/told" "${ISLANDS[@]}" --generations 300 >"$TMP/said.txt" 2>&1 &
both=$!
until [ -s "$TMP/told/1/best.cu" ] && [ -s "$TMP/told/2/best.cu" ] || ! kill -0 $both 2>/dev/null; do sleep 0.02; done
kill -TERM $both
wait $both
is "islands that are told to end by SIGTERM: its status" 143 $?
like "and both are kept" "^gilua: islands 1, 2 of .* what was found is kept" "$(cat "$TMP/said.txt")"
is "their best is there" 2 "$(cat "$TMP"/told/[12]/best.cu | grep -c __global__)"

# Alone
fails "an island alone has to know where to meet" "wants --meet FOLDER" "$GILUA" experiments/islands.lua --island 1
fails "nothing to go on with" "there are no islands to go on with" \
  "$GILUA" --out "$TMP/none" experiments/islands.lua --resume

finish
