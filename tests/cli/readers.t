#!/bin/bash
# Readers look at an archive while a run writes to it: none fails, none sees half of anything, and
# the run is as if nobody had looked.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 12 --generations 6 --quiet)

"$GILUA" "${QUICK[@]}" --out alone
"$GILUA" "${QUICK[@]}" --out watched &
run=$!
wait_until '[ -s watched/archive.sqlite ]' $run
looks=0 bad='' last=0
cat >formula.lua <<'LUA'
return function(own, baseline) return own.ticks / baseline.ticks end
LUA
look() { # look WHAT COMMAND…: it must not fail but for a run that has not begun
  local what=$1 out
  shift
  out=$("$@" 2>&1)
  [ $? = 0 ] || grep -q "no run has begun" <<<"$out" || bad+="$what: $out; "
  looks=$((looks + 1))
}
while kill -0 $run 2>/dev/null; do
  look log "$GILUA" log watched
  n=$("$GILUA" export watched 2>/dev/null | wc -l)
  [ "$n" -ge "$last" ] || bad+="rows went from $last to $n; "
  last=$n
  [ "$n" -gt 3 ] && look show "$GILUA" show watched 2
  look rescore "$GILUA" rescore watched formula.lua --rows 1
  look jsonl "$GILUA" export watched --jsonl
done
wait $run
is "the run ends well" 0 $?
is "$looks readers in its time: none failed" "" "$bad"
[ $looks -ge 4 ]
ok $? "there were some" "$looks"
is "it evaluated what it does alone" "$("$GILUA" export alone)" "$("$GILUA" export watched)"
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+//' "$1/result.json"; }
is "with the same result" "$(plain alone)" "$(plain watched)"
finish
