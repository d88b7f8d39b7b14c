#!/bin/bash
# gilua replay: a search simulated from its archive, with nothing of what it ran at hand.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

value() { sed -nE "s/^  \"$1\": \"?([^\",]*)\"?,?$/\1/p"; }
best() { "$GILUA" -e 'local gi = require "gilua"
  local r = gi.json.decode(gi.textfile.read("'"$1"'/result.json", "the result"))
  print(gi.json.number(r.speedup), r.best.genome)'; }

cp -r "$TOP/kernels/reduction" mine
"$GILUA" evolve mine --population 10 --generations 3 --seed 3 --weak-data --out own --quiet
"$GILUA" evolve mine --population 2 --generations 1 --seed 3 --weak-data --out nothing --quiet
"$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 16 --generations 4 --out quick --quiet
rm -rf mine

# What the best was judged on, where evolution has not seen it.
judged_on() { sed -nE 's/^  on (.*), never seen in evolution; .*/\1/p'; }
for run in own nothing; do
  is "$run: judged on the case that the run was judged on" "$(sed -nE 's/^  "case": "(.*)",$/\1/p' "$run/result.json")" \
    "$("$GILUA" replay $run | judged_on)"
done
is "a longer one takes cases again, and says of none that it is unseen" "" \
  "$("$GILUA" replay nothing --generations 4 | judged_on)"

for run in own quick; do
  json=$("$GILUA" replay $run --json)
  is "$run: as it was, nothing is missing" 0 "$(value missing <<<"$json")"
  is "$run: and the same is found" "$(best $run)" "$(value speedup <<<"$json")	$(value best <<<"$json")"
done
"$GILUA" evolve "$TOP/kernels/reduction" --scheme gevo --objectives time,error --population 6 --generations 2 \
  --seed 2 --weak-data --out gevo --quiet
json=$("$GILUA" replay gevo --json)
is "GEVO's search: nothing is missing" 0 "$(value missing <<<"$json")"
is "and the same is found" "$(best gevo)" "$(value speedup <<<"$json")	$(value best <<<"$json")"
is "another population is another search" 4 "$(value population <<<"$("$GILUA" replay gevo --population 4 --json)")"
generations() { sed -nE 's/^(generation .*)$/\1/p'; }
is "generation by generation" "$(sed -nE 's/^ *[0-9.]+ s  (generation [0-9]+\/.*)/\1/p' quick/log.txt)" \
  "$("$GILUA" replay quick | generations)"
like "which is said" "^Of [0-9]+ genomes asked for the archive answered [0-9]+; 0 were missing\.$" \
  "$("$GILUA" replay quick)"
like "with what the run found" "^The run itself found 1\.[0-9]{3}x\.$" "$("$GILUA" replay quick)"

out=$("$GILUA" replay quick --seed 9)
like "with another seed some are, and what became of them is said" \
  "; [1-9][0-9]* were missing: they count as kernels that do not run, and none became a parent\.$" "$out"
is "the same seed gives the same simulation" "$(grep -v second <<<"$out")" \
  "$("$GILUA" replay quick --seed=9 | grep -v second)"
json=$("$GILUA" replay quick --population 8 --generations 2 --json)
is "smaller, as asked" "8 2" "$(value population <<<"$json") $(value generations <<<"$json")"

echo 'return function(own) return own.status == "ok" and own.off == 0 and -own.ticks or 0 end' >slow.lua
like "another formula finds another kernel" "^0\.[0-9]+$" "$("$GILUA" replay quick --formula slow.lua --json | value speedup)"
cat >scheme.lua <<'LUA'
local calls = 0
return { finalists = 2, select = function(population)
  calls = calls + 1
  if calls == 1 then print("own selection of " .. #population) end
  return { population[1] }
end }
LUA
like "operators from a file" "^own selection of 16$" "$("$GILUA" replay quick --scheme scheme.lua)"
echo 'return { selekt = 1 }' >wrong.lua
mkfifo pipe.lua
fails "one that is a pipe is not waited for" "pipe.lua is a named pipe" \
  timeout 60 "$GILUA" replay quick --scheme pipe.lua
fails "a misspelt one gets a suggestion" "unknown option 'selekt'; did you mean 'select'" \
  "$GILUA" replay quick --scheme wrong.lua
# set WORDS…: what a simulation with these settings says
set() { local o=(); for word; do o+=(--set "$word"); done; "$GILUA" replay quick "${o[@]}" --json; }
is "settings, each by its name" "8 2 9" "$(set population=8 generations=2 seed=9 |
  sed -nE 's/^  "(population|generations|seed)": ([0-9]+),/\1 \2/p' | sort | awk '{ v[$1] = $2 } END { print v["population"], v["generations"], v["seed"] }')"
is "as with the options" "$("$GILUA" replay quick --seed 9 --population 8 --json)" "$(set seed=9 population=8)"
is "what the run had is the run" "$("$GILUA" replay quick --json)" \
  "$(set select=truncation breed=mutants+crossovers+newcomers minimise=knockout fitness=niftyreg)"
[ "$(set select=random | value missing)" -gt 0 ]
ok $? "operators by their names: parents at random ask for what nobody evaluated"
[ "$(set breed=mutants+newcomers | value missing)" -gt 0 ]
ok $? "and steps of breeding: newcomers in the place of crossovers do, too"
says() { misused "--set $1" "$2" "$GILUA" replay quick --set "$1"; }
says populaton=8 "knows no 'populaton'; did you mean population\?"
says population=1 "population must be a whole number of at least 2, not '1'"
says seed=x "seed must be a whole number, not 'x'"
says select=tournament "select is random, truncation, not 'tournament' \(others by --scheme FILE\)"
says breed=mutants+newcomer "breed is .*, not 'newcomer'; did you mean newcomers\?"
says jobs=3 "jobs has no meaning in a simulation: nothing is run"
says base=block_size=64 "base has no meaning in a simulation: each kernel of the run was given the run's"
says population "needs KEY=VALUE, not 'population'"
misused "twice" "seed is given twice" "$GILUA" replay quick --set seed=1 --set seed=2

echo 'return 7' >seven.lua
fails "no table" "must return a table with fields of a scheme" "$GILUA" replay quick --scheme seven.lua
fails "no formula" "must return a function" "$GILUA" replay quick --formula seven.lua

cat >replay.lua <<'LUA'
local gi = require "gilua"
local replay <close> = gi.replay.open "quick"
local run = replay:evolve { seed = 4, select = gi.select.truncation }
print(#run.records, run.replayed.asked == run.replayed.missing, run.result.best.status)
LUA
is "from Lua" "4	false	ok" "$("$GILUA" replay.lua)"

# --- an archive of a stranger's

echo 'assert(require("gilua.core").store.open "odd/archive.sqlite"):execute(arg[1])' >change.lua
changed() { # changed SQL SENTENCE COMMAND…: what is said of an archive so changed
  local sql=$1 sentence=$2
  shift 2
  rm -rf odd && cp -r quick odd
  "$GILUA" change.lua "$sql"
  fails "$sql" "^gilua: $sentence" "$GILUA" "$@"
}
changed "UPDATE evaluation SET ticks = 'many'" ".* is broken: ticks of evaluation 1 is no number$" replay odd
changed "UPDATE evaluation SET fitness = 'x'" ".* is broken: fitness of evaluation 1 is no number$" \
  rescore odd slow.lua
changed "UPDATE evaluation SET birth = 'odd'" ".* has no unmodified kernel before it$" replay odd
changed "UPDATE run SET scheme = '{\"functions\": 7}'" ".* tells of its scheme is broken$" replay odd
changed "UPDATE run SET seed = 'x'" ".* tells of its scheme is broken$" replay odd --json
changed "UPDATE measurement SET reply = x'00'" ".* is broken: bytes in it" replay odd --json

mkdir old && "$GILUA" -e 'local core, gi = require "gilua.core", require "gilua"
  assert(core.store.open "old/archive.sqlite"):execute(gi.textfile.read("'"$TOP"'/tests/data/archive-1.sql", "it"))'
fails "a run of a gilua that kept no scheme" "does not tell what its scheme was" "$GILUA" replay old
echo 'return function(own) return own.ticks end' >ticks.lua
like "what it kept can be ranked by" "100.05 +3 .*FAST|1000.5 " "$("$GILUA" rescore old ticks.lua)"
echo 'return require("gilua").fitness.within()' >within.lua
fails "what it kept of no evaluation cannot" \
  "^gilua: old/archive.sqlite does not tell 'off' of evaluation 1: it is of an older gilua" \
  "$GILUA" rescore old within.lua
fails "no run" "holds no archive.sqlite" "$GILUA" replay "$(mktemp -d)"
finish
