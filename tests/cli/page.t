#!/bin/bash
# The page of a run: there from the first generation on, one file that needs nothing else, true.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/page.sh"
cd "$TMP" || exit 1
QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 10)

"$GILUA" "${QUICK[@]}" --generations 3 --out run >run.said
is "a run" 0 $?
like "its page is among the results" "^Results are in run: report.html best.cu " "$(cat run.said)"
page=$(cat run/report.html)
well_formed run/report.html "the page"
alone run/report.html "the page"
for title in "The winner" Evolution "Where the winner comes from" "Every mutant" Operators; do
  like "it has: $title" "<h2>$title</h2>" "$page"
done
like "it has ended" "^<body>$" "$page"
"$GILUA" "${QUICK[@]}" --generations 3 --out again --quiet
cmp -s run/report.html again/report.html
ok $? "the same seed leaves the same page"

# The number of the winner's line is that of the archive.
id=$(grep -oE '<td class="r">[0-9]+</td><td class="l">best</td>' run/report.html | grep -oE '[0-9]+' | head -1)
like "what it says of the winner is in the archive" "^birth +best$" "$("$GILUA" show run "$id")"

# --- what is said in several places is the same in all

said() { sed -nE "s/$1/\\1/p" "$2" | head -1 | tr -d ' \302\240\342\200\257'; }

agree() { # agree DIR SAID WHAT: terminal, result.json and page
  local dir=$1 text=$2 what=$3
  is "$what: evaluations in result.json and on the terminal" "$(field "$dir/result.json" evaluations)" \
    "$(said '^([0-9 ]+) evaluations in .*' "$text")"
  is "$what: and on the page" "$(field "$dir/result.json" evaluations)" \
    "$(said '^<p>(.*) evaluations in [0-9]+ generations?.*' "$dir/report.html")"
  is "$what: generations in result.json and on the terminal" "$(field "$dir/result.json" generations)" \
    "$(grep -cE '^generation [0-9]+/' "$text")"
  is "$what: and on the page" "$(field "$dir/result.json" generations)" \
    "$(said '^<p>.* evaluations in ([0-9]+) generations?.*' "$dir/report.html")"
  is "$what: and in generations.csv" "$(field "$dir/result.json" generations)" "$(($(wc -l <"$dir/generations.csv") - 1))"
  is "$what: genes in result.json and on the terminal" "$(field "$dir/result.json" genes)" \
    "$(said '^What the ([0-9]+|one) genes? of the best do.*' "$text" | sed s/one/1/)"
  is "$what: and on the page" "$(field "$dir/result.json" genes)" \
    "$(said '^<p>.* registers, ([0-9]+) genes?\..*' "$dir/report.html")"
  is "$what: where the best was found" "$(field "$dir/result.json" from)" \
    "$(sed -nE 's/^  found by (.*)/\1/p' "$text")"
  is "$what: and on the page" "$(field "$dir/result.json" from)" \
    "$(sed -nE 's/^<p>.* genes?\. Found by (.*)\.<\/p>/\1/p' "$dir/report.html")"
  same_kernel "$dir" "$TOP/kernels/niftyreg" "$what"
  listed "$dir" "$text" "$what"
}
agree run run.said "a whole run"
is "the archive has as many evaluations" "$(field run/result.json evaluations)" "$(($("$GILUA" export run | wc -l) - 1))"

# --- while it is on, and after kill -9

"$GILUA" "${QUICK[@]}" --generations 400 --out torn >/dev/null 2>&1 &
pid=$!
disown
wait_until '[ -s torn/report.html ]' $pid
[ -s torn/report.html ]
ok $? "the first generation leaves a page"
cp torn/report.html early.html
well_formed early.html "an early page"
like "it says how far the run is" "Under way:</strong> [0-9]+ of 400 generations are complete" "$(cat early.html)"
wait_until '! cmp -s torn/report.html early.html' $pid
cmp -s torn/report.html early.html
is "it is written again as the run goes" 1 $?
kill -9 $pid
while kill -0 $pid 2>/dev/null; do sleep 0.01; done
well_formed torn/report.html "the page that kill -9 leaves"
like "it knows when it is late" 'data-patience="[0-9]+"' "$(cat torn/report.html)"

"$GILUA" "${QUICK[@]}" --generations 400 --out left >left.said 2>&1 &
pid=$!
wait_until '[ -s left/report.html ]' $pid
kill -TERM $pid
wait $pid
agree left left.said "a stopped one"
like "one that SIGTERM ends says so" "Stopped:</strong> interrupted; [0-9]+ of 400 generations" "$(cat left/report.html)"
finish
