#!/bin/bash
# On a file system of a network one process has an archive to itself. None is at hand: the
# environment says that this one is such.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
export GILUA_STORE=alone
QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 10 --quiet)

"$GILUA" "${QUICK[@]}" --generations 3 --out net
is "a run comes to its end there" 0 $?
GILUA_STORE=shared "$GILUA" "${QUICK[@]}" --generations 3 --out here
is "with what it finds elsewhere" "$("$GILUA" export here)" "$("$GILUA" export net)"

"$GILUA" "${QUICK[@]}" --generations 4000 --out long >/dev/null 2>&1 &
run=$!
disown
wait_until '[ -s long/best.cu ]' $run
[ -e long/archive.sqlite-wal ] && [ ! -e long/archive.sqlite-shm ]
ok $? "nothing is shared in memory while a run is on" "$(ls long)"
fails "who wants to look then is told" "is another process's alone: .*look again when it has ended" \
  "$GILUA" log long
kill -9 $run
while kill -0 $run 2>/dev/null; do sleep 0.02; done
like "after a kill it can be looked at" "has not come to its end" "$("$GILUA" log long)"
known=$(wc -l <long/generations.csv)
foreground "$GILUA" resume long >said.txt 2>&1
wait_until '[ "$(wc -l <long/generations.csv)" -gt $known ]' $!
kill -INT $!
wait $!
like "and gone on with" "^gilua: interrupted$" "$(cat said.txt)"
"$GILUA" merge both net long >/dev/null
is "and merged" 2 "$("$GILUA" -e 'print(require("gilua").archive.open("both/archive.sqlite"):row(
  "SELECT count(*) AS n FROM run").n)')"
finish
