#!/bin/bash
# One mutant of a run in its winner's place: gilua profile, verify and evolve --from.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

"$GILUA" evolve "$TOP/kernels/reduction" --population 8 --generations 2 --out run --quiet --weak-data
status=$?
[ $status = 0 ] || [ $status = 3 ] # 3: nothing faster was found, which its mutants do not mind
ok $? "a run" "its status is $status"
ask() { "$GILUA" export run | "$GILUA" -e "
  local gi = require 'gilua'
  for line in io.stdin:lines() do
    local id, _, birth, _, _, genome, rest = line:match '^(%d+),(%d+),([^,]*),(%d*),(%d*),([^,]*)(.*)'
    if id and ($1) then print(id, genome) break end
  end"; }
read -r id genome <<<"$(ask "birth == 'initial' and rest:find ',1$' and not genome:find ' '")"
like "a mutant of one gene that is right" '^[0-9]+ [^ ]+$' "$id $genome"

"$GILUA" profile run --mutant "$id" --without 1 --lines >said
is "its profile" 0 $?
like "names it" "^$(sed 's/[][()+*.^$]/\\&/g' <<<"$genome")$" "$(cat said)"
like "says what the gene brings" "^Without it: [0-9 ]+ ticks, right: it brings [0-9.]+" "$(cat said)"
"$GILUA" profile "$TOP/kernels/reduction" --quiet --json >plain.json
"$GILUA" profile run --mutant "$id" --without "$genome" --lines --quiet --json >own.json
"$GILUA" -e "
  local gi = require 'gilua'
  local plain = gi.json.decode(gi.textfile.read('plain.json', 'it'))
  local own = gi.json.decode(gi.textfile.read('own.json', 'it'))
  local all = 0
  for _, one in ipairs(own.lines) do all = all + one.share end
  print(own.without.ticks == plain.ticks, all > 0.5 and all <= 1 + 1e-9, own.without.gene == own.genome)" >compared
is "without its only gene it is the kernel as it is; lines have shares of the whole" "true true true" "$(tr '\t' ' ' <compared)"
misused "a gene that is none" "--without 7: the mutant has no such gene \(it has 1: " \
  "$GILUA" profile run --mutant "$id" --without 7
misused "a mutant that is none" "run has no mutant 999 \(gilua export lists them\)" "$GILUA" profile run --mutant 999
misused "of a problem" "--mutant and --without need a run: .*reduction is not one" \
  "$GILUA" profile "$TOP/kernels/reduction" --mutant 1

"$GILUA" verify run --mutant "$id" --cases 1 >said
like "a mutant is verified" "^$(sed 's/[][()+*.^$]/\\&/g' <<<"$genome") on " "$(cat said)"
"$GILUA" evolve "$TOP/kernels/heat" --population 40 --generations 1 --out heat --quiet --weak-data
bad=$("$GILUA" export heat | grep ',ok,.*,0$' | head -1 | cut -d, -f1)
"$GILUA" verify heat --mutant "$bad" --cases 1 --where >said 2>&1
is "a wrong mutant" 1 $?
like "says which answers are wrong" "answer [0-9]+ \\([0-9]+, [0-9]+\\): [-0-9.e+naif]+ instead of [0-9.]+" "$(cat said)"
like "and from where to where" "the first and last of them: answers [0-9]+ and [0-9]+" "$(cat said)"
"$GILUA" verify heat --mutant "$bad" --cases 1 --where --json --quiet 2>/dev/null >where.json
like "a program reads them" "^[0-9]+ true$" "$("$GILUA" -e "
  local where = require 'gilua'.json.decode(require 'gilua'.textfile.read('where.json', 'it')).where
  print(#where.first, where.first[1].answer == where.low)" | tr '\t' ' ')"
[ ! -e run/verify.json ]
ok $? "what apply reads of the winner stays"

"$GILUA" evolve "$TOP/kernels/reduction" --from "run:$id" --population 8 --generations 1 --out next --weak-data >said
like "evolution starts from it" "^Starts from $(sed 's/[][()+*.^$]/\\&/g' <<<"$genome")$" "$(cat said)"
misused "from a mutant that is none" "run has no mutant 999" "$GILUA" evolve "$TOP/kernels/reduction" --from run:999
finish
