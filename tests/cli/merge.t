#!/bin/bash
# gilua merge: runs in one archive, whatever comes between.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

make_run() { # make_run DIR N: of made-up rows
  mkdir -p "$1"
  (cd "$TOP" && "$GILUA" -e 'package.path = "tests/lua/?.lua;" .. package.path' \
    -e "require('madeup').archive('$TMP/$1/archive.sqlite', $2)")
}
make_run one 10000
make_run two 300
# All rows, whichever numbers runs have.
cat >rows.lua <<'LUA'
local a = require("gilua").archive.open(arg[1] .. "/archive.sqlite", { read_only = true })
for _, sql in ipairs { "SELECT uid, e.id, genome, ticks FROM evaluations e JOIN run r ON r.id = e.run ORDER BY 1, 2",
    "SELECT key, status FROM verdict ORDER BY 1", "SELECT key, ticks FROM measurement ORDER BY 1",
    "SELECT key, ptx FROM unit ORDER BY 1" } do
  for _, row in ipairs(a:rows(sql)) do
    print(row.uid, row.id, row.genome, row.ticks, row.key, row.ptx, row.status)
  end
end
LUA
rows() { "$GILUA" rows.lua "$1" | sha256sum; }
# How many evaluations there are of all runs; nothing where there is no archive.
count_of() { "$GILUA" -e 'local a = require("gilua").archive.open(arg[1], { read_only = true })
  print(a and a:row("SELECT count(*) AS n FROM evaluation").n or "")' - "$1/archive.sqlite" 2>/dev/null </dev/null; }

begun=$(now_ms)
out=$("$GILUA" merge whole one two)
took=$(($(now_ms) - begun))
is "it says what came of each" \
  "one/archive.sqlite: 1 run, 1 of them new; 10 000 evaluations added two/archive.sqlite: 1 run, 1 of them new; 300 evaluations added" \
  "$(xargs <<<"$out")"
like "the result is a folder that log reads" "another: --which 1: run, seed 1, ended" "$("$GILUA" log whole)"
is "and export" 10001 "$("$GILUA" export whole --which 1 | wc -l)"
like "show does without the run's own folder" "what was run lies with the run itself" \
  "$("$GILUA" show whole 7 --which 1)"
want=$(rows whole)
"$GILUA" merge whole two one >again.said
is "once more adds nothing" 2 "$(grep -c ' 0 of them new; 0 evaluations added' again.said)"
is "nor changes anything" "$want" "$(rows whole)"

killed=0 halves=
for _ in 1 2 3 4 5 6; do
  "$GILUA" merge torn one two >/dev/null 2>&1 &
  pid=$!
  disown
  sleep "$(awk -v ms=$took -v share=$RANDOM 'BEGIN { printf "%.4f", ms * share / 32768e3 }')"
  kill -9 $pid 2>/dev/null && killed=$((killed + 1))
  while kill -0 $pid 2>/dev/null; do sleep 0.01; done
  [ -e torn/archive.sqlite ] || continue
  n=$(count_of torn)
  case $n in "" | 0 | 300 | 10000 | 10300) ;; *) halves+=" $n" ;; esac
done
is "killed $killed times, a source is there whole or not at all" "" "$halves"
"$GILUA" merge torn one two >/dev/null
is "the same command does the rest" "$want" "$(rows torn)"

make_run big 60000
status=0
while [ $status = 0 ]; do # where it was done before the signal came, once more
  rm -rf stopped
  foreground "$GILUA" merge stopped big >said.txt 2>&1
  wait_until '[ -e stopped/archive.sqlite ]' $!
  begun=$(now_ms)
  kill -INT $!
  wait $!
  status=$?
done
is "Ctrl-C: its status" 130 $status
took=$(($(now_ms) - begun))
[ $took -lt $SOON_MS ]
ok $? "Ctrl-C ends it soon" "$took ms"
is "in one sentence" "gilua: interrupted" "$(tail -n 1 said.txt)"
fails "and nothing of the source is there" "no run has begun" "$GILUA" log stopped

misused "without runs there is nothing to merge" "RUNS is missing" "$GILUA" merge somewhere
fails "a folder that is none" "two/none is not there" "$GILUA" merge fresh one two/none
[ -e fresh ]
is "leaves nothing behind" 1 $?
finish
