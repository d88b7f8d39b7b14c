#!/bin/bash
# A run that is killed goes on where it was, and its archive tells what became of every mutant.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 10 --generations 4)

# What has to be the same: all but seconds, and workers lost.
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+//; s/"stopped": *null//' "$1/result.json"; }
timeless() { sed -E 's/^ *[0-9.]+ s  //' "$1/log.txt"; }

"$GILUA" "${QUICK[@]}" --out whole >whole.said
is "a run that nothing disturbs" 0 $?

killed() { { timeout -s KILL "$@" >/dev/null 2>&1; } 2>/dev/null; [ $? = 137 ]; }
killed_when 'past_first torn' "$GILUA" "${QUICK[@]}" --out torn
kills=1
while [ $kills -lt 5 ]; do
  killed "0.$((3 + RANDOM % 7))" "$GILUA" resume torn || break
  kills=$((kills + 1))
done
"$GILUA" resume torn >resume.said 2>&1
[ $? = 0 ] || grep -q "came to its end" resume.said
ok $? "killed $kills times, it comes to its end" "$(cat resume.said)"
is "the same result" "$(plain whole)" "$(plain torn)"
for f in best.cu best.patch generations.csv; do
  cmp -s whole/$f torn/$f
  ok $? "the same $f, byte for byte"
done
is "the same log but for its seconds" "$(timeless whole)" "$(timeless torn)"
is "the same evaluations" "$("$GILUA" export whole)" "$("$GILUA" export torn)"
fails "what has come to its end does not go on" "came to its end" "$GILUA" resume torn
fails "what is no run does not either" "holds no archive.sqlite" "$GILUA" resume "$(mktemp -d)"

# --- --resume, a changed problem

cp -r "$TOP/kernels/reduction" mine
sed -i 's/"rows", 1000,/"rows", 50,/' mine/problem.lua # which takes less time
EVOLVE=("$GILUA" evolve mine --population 6 --generations 3 --weak-data)
fails "nothing to go on with" "there is no run to go on with" "${EVOLVE[@]}" --resume
"${EVOLVE[@]}" --out first >first.said 2>&1
killed_when 'past_first second' "${EVOLVE[@]}" --out second
"${EVOLVE[@]}" --out second --resume >second.said 2>&1
is "the same command with --resume goes on" "$(plain first)" "$(plain second)"
worlds() { "$GILUA" -e 'local a = require("gilua").archive.open("first/archive.sqlite")
  print(a:row("SELECT count(*) AS n FROM world").n, a:row("SELECT count(*) AS n FROM measurement").n)'; }
before=$(worlds)
"${EVOLVE[@]}" --out first >/dev/null 2>&1
is "a second run there measures nothing again" "$before" "$(worlds)"
echo "-- changed" >>mine/problem.lua
"${EVOLVE[@]}" --out first >/dev/null 2>&1
read -r n_worlds n_measured < <(worlds)
is "a changed problem is another world" 2 "$n_worlds"
[ "$n_measured" -gt "$(cut -f2 <<<"$before")" ]
ok $? "of which nothing is known" "$before, then $n_measured"

# --- what people ask

log=$("$GILUA" log whole)
like "a line a generation" "^ +4 +10 +[0-9]+ +[0-9]+ +1\.[0-9]+x" "$log"
like "and what became of them: right and wrong apart" "[0-9]+ right, [0-9]+ wrong.*; ended 20" "$log"
is "  as many as export has" "$("$GILUA" export whole | awk -F, '$NF == 1' | wc -l)" "$(grep -oE '[0-9]+ right' <<<"$log" | grep -oE '[0-9]+')"
id=$(awk '$1 == 4 { print $6 }' <<<"$log")
shown=$("$GILUA" show whole "$id")
like "one mutant: its genome" "^genome +." "$shown"
like "its ancestors" "^ancestors +[0-9]+, generation [0-9]" "$shown"
like "when its genome was measured again" "^measured as +[0-9]+, generation [0-9], ball 20.*: ok, [0-9.]+ ticks" "$shown"
like "its source as a difference" "^\+" "$shown"
like "or whole" "__global__ void" "$("$GILUA" show whole "$id" --source)"
cp -r whole spoilt && echo '{"kept": ' >spoilt/result.json
fails "with a result that is torn" "^gilua: spoilt/result.json is not what a run leaves: not JSON" "$GILUA" show spoilt "$id"
fails "one that is not there" "has no evaluation 99999" "$GILUA" show whole 99999
misused "no number" "must be a whole number" "$GILUA" show whole best
is "a table has a line for each" "$("$GILUA" export whole --jsonl | wc -l)" \
  "$(($("$GILUA" export whole | wc -l) - 1))"

# What is refused, or ends before its first generation, in the same folder: the results that lie there are
# an earlier run's, and so is what is told.
cp -r whole kept
"$GILUA" "${QUICK[@]}" --side 3000 --out kept >/dev/null 2>&1
is "a run that is refused leaves the results" "$(plain whole)" "$(plain kept)"
is "the table of an earlier run is what it was" "$("$GILUA" export whole)" "$("$GILUA" export kept)"
is "and so is what is said of it" "$log" "$("$GILUA" log kept | grep -v ^another)"
like "which has the other beside it" "^another: --which 2: .*has not come to its end" "$("$GILUA" log kept)"
like "of which nothing is known" "^nothing evaluated; has not" "$("$GILUA" log kept --which 2)"
like "it is simulated" "The run itself found 1\." "$("$GILUA" replay kept)"

cat >formula.lua <<'LUA'
return function(own, baseline)
  return own.status == "ok" and own.max_error < 1e-3 and own.ticks / baseline.ticks or math.huge
end
LUA
like "another formula" "^ +0\.[0-9]+ .*<|^ +0\.[0-9]+ .*[a-zA-Z]" "$("$GILUA" rescore whole formula.lua)"

# A formula that a scheme of gilua's has says of every mutant what the run said.
echo 'return require("gilua").fitness.within()' >within.lua
"$GILUA" rescore whole within.lua --rows 100 | sed '1d;$d' >ranked.txt
is "the run's own formula, on all that were timed" "" "$(awk '$2 != "-" && $1 != $2' ranked.txt)"
[ "$(awk '$2 != "-"' ranked.txt | wc -l)" -gt 10 ] && grep -q '^ *inf  *inf ' ranked.txt
ok $? "and on those that did not run" "$(cat ranked.txt)"
echo 'return function() return "x" end' >bad.lua
fails "one that gives no number" \
  "^gilua: generation 1: the formula \(bad.lua:1\) returned 'x', not a number, for the unmodified kernel$" \
  "$GILUA" rescore whole bad.lua
printf 'return function(own)\n  return own.tics / 2\nend\n' >worse.lua
fails "one that raises" \
  "^gilua: generation 1: the formula \(worse.lua:1\) failed for the unmodified kernel: worse.lua:2: attempt to" \
  "$GILUA" rescore whole worse.lua
is "in one line" 1 "$("$GILUA" rescore whole worse.lua 2>&1 >/dev/null | wc -l)"
finish
