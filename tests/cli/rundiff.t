#!/bin/bash
# gilua diff: in what two runs differ, and where they part.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 10 --quiet)
"$GILUA" "${QUICK[@]}" --generations 3 --out a
"$GILUA" "${QUICK[@]}" --generations 4 --out "b run"
"$GILUA" "${QUICK[@]}" --generations 3 --seed 2 --out c

out=$("$GILUA" diff a a)
like "a run and itself: settings" "^settings   the same$" "$out"
like "world" "^world      the same$" "$out"
like "times" "^best       [0-9]+ ticks, [0-9]+ ticks: the second is 1\.000 times as fast$" "$out"
like "history" "^history    the same, 3 generations$" "$out"
is "and no difference of sources" 0 "$(grep -c '^+++' <<<"$out")"

out=$("$GILUA" diff a "b run")
like "a generation more: the setting" "^settings   generations: 3, 4$" "$out"
like "the first generation that only one has" "^history    parts in generation 4, at evaluation [0-9]+$" "$out"
like "which the other has not" "^           - \(has ended\)$" "$out"

out=$("$GILUA" diff a c)
like "another seed: the setting" "^settings   seed: 1, 2$" "$out"
like "parts at once" "^history    parts in generation 1, at evaluation 2$" "$out"
like "by this" "^           \\+ <.*: [a-z_]+(, [0-9.]+ ticks)?$" "$out"
json=$("$GILUA" diff a c --json)
is "as JSON, too" "1 seed" "$("$GILUA" -e 'local d = require("gilua").json.decode(io.read "a")
  print(d.history.parts.generation .. " " .. d.settings[1].name)' <<<"$json")"
is "from Lua" "0" "$("$GILUA" -e 'print(require("gilua").rundiff.of("a", "b run").ratio and 0)')"

cp -r "$TOP/kernels/reduction" mine
EVOLVE=("$GILUA" evolve mine --population 6 --generations 2 --weak-data --quiet)
"${EVOLVE[@]}" --out before
echo "// changed" >>mine/kernel.cu
"${EVOLVE[@]}" --out after
like "another kernel is another world" "^world      kernel.cu has changed$" "$("$GILUA" diff before after)"
like "genes of one and of the other are marked" "^(genes     |          ) [-+ ] [<a-zA-Z]" "$("$GILUA" diff before c)"
rm after/archive.sqlite
like "without an archive there is no history" "one of them has no archive" "$("$GILUA" diff before after)"
fails "what is no run" "is no run: it has neither result.json" "$GILUA" diff a "$(mktemp -d)"
misused "one alone" "SECOND is missing" "$GILUA" diff a
finish
