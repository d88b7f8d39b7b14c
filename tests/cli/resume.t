#!/bin/bash
# A run has come to its end when its whole command has: what is killed after its evolution goes on.
. "$(dirname "$0")/tap.sh"

ended() { "$GILUA" log "$1" | grep "; "; }

# --- a study: tuning, two evolutions, their controls, clean-up, validation

cd "$TOP" || exit 1
if ! sanitized "a study that is killed twice: one evolution is, below"; then
STUDY=(experiments/niftyreg_c2050.lua --side 20 --population 6 --generations 2 --runs 2 --quiet)
WHOLE=$TMP/whole TORN=$TMP/torn
timeless() { perl -0pe 's/"seconds": *[0-9.e-]+/"seconds": 0/g; s/"cpu": *\{[^}]*\}//; s/"command":[^\n]*//' "$1/experiment.json"; }
"$GILUA" --out "$WHOLE" "${STUDY[@]}"
is "a study that nothing disturbs" 0 $?
killed_when '[ -e "$TORN/experiment.json" ]' "$GILUA" --out "$TORN" "${STUDY[@]}"
like "killed in its first steps it has not come to its end" "has not come to its end" "$(ended "$TORN")"
evolved='grep -q "\"name\": \"evolve\"" "$TORN/experiment.json"'
killed_when "$evolved" "$GILUA" --out "$TORN" "${STUDY[@]}" --resume
eval "$evolved"
ok $? "begun again with --resume, it is killed after its evolutions" "$(cat "$TMP/said.txt")"
like "nor has it then" "has not come to its end" "$(ended "$TORN")"
"$GILUA" resume "$TORN" >"$TMP/said.txt" 2>&1
ok $? "it goes on" "$(cat "$TMP/said.txt")"
is "and ends as the undisturbed one" "$(timeless "$WHOLE")" "$(timeless "$TORN")"
log=$("$GILUA" log "$TORN")
like "now it has" "; ended 20" "$log"
is "the archive has each evolution, once" "2: random search, 3: evolution, 4: random search," \
  "$(sed -nE 's/^another: --which ([0-9]: [a-z ]+,) seed [12], ended$/\1/p' <<<"$log" | xargs)"
for n in 1 2 3 4; do
  is "with the same evaluations ($n)" "$("$GILUA" export "$WHOLE" --which $n)" "$("$GILUA" export "$TORN" --which $n)"
done
fails "and no other" "has no evolution 5" "$GILUA" log "$TORN" --which 5
fails "and goes on no more" "came to its end" "$GILUA" resume "$TORN"

fi

# --- a script that does more after its evolution

cd "$TMP" || exit 1
cat >more.lua <<'LUA'
local gi, core = require "gilua", require "gilua.core"
local options = gi.cli { doc = "Evolves, and then does more." }
local report = assert(gi.report.open(options.out, "out/more-1"))
local problem = gi.problem "kernels/reduction"
gi.evolve.run {
  problem = problem, farm = gi.farm(problem), rng = gi.rng(1), population = 4, generations = 1,
  new_case = function(_, rng) return { seed = rng:int(1000), rows = 50 } end, observers = { report },
}
print "evolved"
io.stdout:flush()
if not os.getenv "SHORT" then core.system.sleep(1000) end
print "more"
LUA
killed_when 'grep -q evolved said.txt' "$GILUA" more.lua --out script
like "killed after its evolution it has not come to its end" "has not come to its end" "$(ended script)"
like "resumed, it does the rest" "^more$" "$(SHORT=1 "$GILUA" resume script)"
like "and then it has" "; ended 20" "$(ended script)"

# --- --resume

export SHORT=1
out=$("$GILUA" more.lua --out script --resume 2>&1)
like "--resume of a run that has come to its end begins a new one" "^more$" "$out"
like "and says so" "^gilua: script has come to its end: a new run begins$" "$out"
is "in the same folder" 2 "$("$GILUA" -e 'print(require("gilua").archive.open("script/archive.sqlite",
  { read_only = true }):row("SELECT count(*) AS n FROM run WHERE ended").n)')"
"$GILUA" more.lua >/dev/null
"$GILUA" more.lua --resume >said.txt 2>&1
like "a folder of its own is a new one, too" "^gilua: out/more-1 has come to its end" "$(cat said.txt)"
[ -e out/more-1-2/archive.sqlite ]
ok $? "which is there"
(unset SHORT && killed_when 'grep -q evolved said.txt' "$GILUA" more.lua)
"$GILUA" more.lua >/dev/null
"$GILUA" more.lua --resume >said.txt 2>&1
is "the last that has not is the one that goes on" "evolved more" "$(tr '\n' ' ' <said.txt | sed 's/ $//')"
like "whichever came after it" "; ended 20" "$(ended out/more-1-3)"
# --- the world

cp -r "$TOP/kernels/reduction" mine
sed -i 's/"rows", 1000,/"rows", 50,/' mine/problem.lua # which takes less time
for out in mine/results mine; do
  killed_when '[ -s "$out/best.cu" ]' "$GILUA" evolve mine --population 6 --generations 2000 --weak-data --out $out
  known=$(wc -l <$out/generations.csv)
  foreground "$GILUA" resume $out >said.txt 2>&1
  wait_until '[ "$(wc -l <$out/generations.csv)" -gt $known ]' $!
  kill -INT $!
  wait $!
  like "results in the problem's own folder ($out) do not change it" "^gilua: interrupted" "$(cat said.txt)"
done
echo "// more" >>mine/kernel.cu
echo "one" >mine/one.txt
fails "what has changed is said" "^gilua: .*/mine cannot go on, .*: kernel.cu has changed, one.txt is new; begin" \
  "$GILUA" resume mine
"$GILUA" evolve mine --population 4 --generations 1 --weak-data --out mine >/dev/null 2>&1
like "a new run there says so in its log" "not asked: kernel.cu has changed, one.txt is new$" "$(cat mine/log.txt)"

# --- killed before it was written down

mkdir early
: >early/archive.sqlite
fails "what was not begun does not go on" "early was ended before anything was found.*; give its command again$" \
  "$GILUA" resume early
is "with --resume it begins" more "$("$GILUA" more.lua --out early --resume 2>&1 | tail -1)"
like "and is the folder's run" "; ended 20" "$(ended early)"

fails "with none to go on with nothing begins" "there is no run to go on with" "$GILUA" more.lua --out none --resume
finish
