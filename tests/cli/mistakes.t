#!/bin/bash
# Mistakes in a researcher's own functions: one sentence, the results so far, a status.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
cp "$TOP/tests/lua/fake.lua" .

cat >head.lua <<'LUA'
package.path = "./?.lua;" .. package.path
local gi, fake = require "gilua", require "fake"
local report = assert(gi.report.open("out"))
local scheme = { problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3),
  new_case = fake.new_case, population = 10, generations = 4, observers = { report } }
LUA

# mine LUA...: a script that evolves with these lines before it begins
mine() {
  { cat head.lua; printf '%s\n' "$@" 'gi.evolve.run(scheme)'; } >mine.lua
  rm -rf out
}

# slip WHAT SENTENCE GENERATIONS: the script in mine.lua ends so, and so many generations are kept
slip() {
  local said
  said=$("$GILUA" mine.lua 2>&1 >/dev/null)
  is "$1: its status" 1 $?
  like "$1: a sentence" "^gilua: $2$" "$(head -1 <<<"$said")"
  is "$1: then where the results are, and nothing more" "gilua: results so far are in out" "$(tail -n +2 <<<"$said")"
  is "$1: every whole generation is kept" "$3" "$(($(wc -l <out/generations.csv) - 1))"
  like "$1: and why there are no more" '"stopped": ?"' "$(cat out/result.json)"
}

mine 'function scheme.select() return nil end'
slip "a selection that returns nil" 'generation 2: select \(mine.lua:6\) returned nil, not a list of individuals' 1
mine 'function scheme.cross() return {} end'
slip "a crossover that returns a table" \
  "generation 2: cross \(mine.lua:6\) returned a table, not a genome or nil, for genome '.+' and genome '.+'" 1
mine 'function scheme.fitness(own)' '  return own.genome == "" and 1 or 0/0' 'end'
slip "a fitness that is no number" \
  "generation 1: fitness \(mine.lua:6\) returned nan, not a number, for genome '.+'" 0
mine 'function scheme.mutate(parent)' '  return parent .. nothing' 'end'
slip "a mutation that raises" \
  "generation 2: mutate \(mine.lua:6\) failed for genome '.+': mine.lua:7: attempt to concatenate a nil value.*" 1
mine 'table.insert(scheme.observers, 1, { on_generation = function(run, record)' \
  '  if record.generation == 3 then error "I am out of paper" end' 'end })'
slip "an observer that raises" \
  "generation 3: on_generation of observer 1 \(mine.lua:6\) failed: mine.lua:7: I am out of paper" 3

mine 'gi.evolve.run(scheme)' 'print(nothing.else_)'
said=$("$GILUA" mine.lua 2>&1)
is "an error after the run: its status" 1 $?
like "its line" "^gilua: mine.lua:7: " "$said"
like "and where the results are" "^gilua: results so far are in out$" "$said"
[ -s out/best.cu ] && grep -q '"stopped": null' out/result.json
ok $? "which are whole" "$(cat out/result.json)"

mine 'scheme.select = "tournament"'
fails "what is no function is misuse of the script's line" \
  "^gilua: mine.lua:7: gilua.evolve.run: select must be a function, not 'tournament'$" "$GILUA" mine.lua
is "in one sentence" 1 "$("$GILUA" mine.lua 2>&1 >/dev/null | wc -l)"

cat >large.lua <<LUA
local gi = require "gilua"
local p = gi.problem "$TOP/kernels/niftyreg"
gi.farm(p, { jobs = 1 }):evaluate({ "" }, { side = 3000, seed = 1 })
LUA
said=$("$GILUA" large.lua 2>&1)
is "a problem that is too large" "gilua: niftyreg: side must be a whole number from 8 to 1024, not 3000" "$said"
cp -r "$TOP/kernels/reduction" broken
perl -0pi -e 's/(local function case\(.*?\n)/$1  local x = spec.nothing.at\n/' broken/problem.lua
cat >case.lua <<LUA
local gi = require "gilua"
gi.farm(gi.problem "broken", { jobs = 1 }):evaluate({ "" }, { seed = 1 })
LUA
said=$("$GILUA" case.lua 2>&1)
like "an error in a problem, in a worker: its line" "^gilua: broken/problem.lua:[0-9]+: attempt to index a nil" "$said"
is "and no traceback" 1 "$(wc -l <<<"$said")"
finish
