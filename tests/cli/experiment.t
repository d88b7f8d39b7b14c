#!/bin/bash
# The paper's experiment from tuning to the report: its files, its determinism, Table 4.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/page.sh"
cd "$TOP" || exit 1

run() { # run DIR OPTION…
  local dir=$1
  shift
  "$GILUA" --out "$TMP/$dir" experiments/niftyreg_k20c.lua --side 24 --population 12 --generations 2 "$@" 2>&1
}

out=$(run A --jobs 1)
ok $? "it runs to its end" "$out"
for word in "write floor" "tuning before evolution" "random search of" "clean-up" \
  "tuning after evolution" "compiler options" "times faster" "paper: 0.71 ms"; do
  like "it says: $word" "$word" "$out"
done
for file in report.html experiment.json best.cu best.patch generations.csv result.json log.txt; do
  [ -s "$TMP/A/$file" ]
  ok $? "it leaves $file"
done
patch -s -o "$TMP/patched.cu" kernels/niftyreg/kernel.cu "$TMP/A/best.patch"
cmp -s "$TMP/patched.cu" "$TMP/A/best.cu"
ok $? "best.patch makes best.cu of the kernel"
echo "$out" >"$TMP/A.said"
listed "$TMP/A" "$TMP/A.said" "an experiment"
same_kernel "$TMP/A" kernels/niftyreg "an experiment"
winner=$(field "$TMP/A/experiment.json" winner.genome) from=$(field "$TMP/A/experiment.json" winner.from)
is "result.json has the same winner" "$winner" "$(field "$TMP/A/result.json" best.genome)"
is "found where" "$from" "$(field "$TMP/A/result.json" from)"
is "the terminal says the same" "$from" "$(sed -nE 's/^The kernel as it is: .*, found by (.*)\.$/\1/p' "$TMP/A.said")"
is "the report too" "$from" "$(sed -nE 's/^<p>.* genes?\. Found by (.*)\.<\/p>/\1/p' "$TMP/A/report.html")"
is "and apply" "The winner was found by $from" "$("$GILUA" apply "$TMP/A" | grep '^The winner was')"
is "the speed-up is the same in all" "$(field "$TMP/A/result.json" speedup)" "$(field "$TMP/A/experiment.json" winner.speedup)"
like "on the terminal" "$(printf '%.3f times faster' "$(field "$TMP/A/result.json" speedup)")" "$out"
cat >"$TMP/faster.lua" <<'LUA'
local gi = require "gilua"
local e = gi.json.decode(gi.textfile.read(arg[1], "it"))
local best
for _, o in ipairs(e.offers) do best = o.taken and o or best end
for _, o in ipairs(e.offers) do if o.right and o.ratio > best.ratio then print(o.from) end end
LUA
is "nothing that was found anywhere is faster" "" "$("$GILUA" "$TMP/faster.lua" "$TMP/A/experiment.json" 2>&1)"
well_formed "$TMP/A/report.html" "the report"
alone "$TMP/A/report.html" "the report"
for title in Tuning Evolution "Every mutant" Operators "Random search" Clean-up Validation; do
  like "it has: $title" "<h2>$title</h2>" "$(cat "$TMP/A/report.html")"
done

# but for what is measured in seconds, and the command line
timeless() { perl -0pe 's/"seconds": *[0-9.e-]+/"seconds": 0/g; s/"cpu": *\{[^}]*\}//; s/"command":[^\n]*//' "$1"; }

# (StereoCamera below goes the same way and takes longer.)
if ! sanitized "the same once more with two workers"; then
  out=$(run B --jobs 2 --quiet)
  is "quiet prints nothing" "" "$out"
  cmp -s <(timeless "$TMP/A/experiment.json") <(timeless "$TMP/B/experiment.json")
  ok $? "the same seed gives the same experiment, however many workers"
fi

# StereoCamera on tiny pairs, and on a folder of "real" ones, which are made here
stereo() { # stereo DIR OPTION…
  local dir=$1
  shift
  "$GILUA" --out "$TMP/$dir" experiments/stereo_k20c.lua --width 40 --height 30 --disparities 4 --small \
    --population 8 --generations 2 --no-control "$@" 2>&1
}
mkdir -p "$TMP/real/left" "$TMP/real/right"
cat >"$TMP/pairs.lua" <<'LUA'
  local gi = require "gilua"
  for i, size in ipairs { 50, 60 } do
    local c = gi.problem "kernels/stereo":case { seed = i, width = size, height = size }
    for _, side in ipairs { "left", "right" } do
      assert(gi.image.write(("%s/%s/%d.pgm"):format(arg[1], side, i), c[side]))
    end
  end
LUA
"$GILUA" "$TMP/pairs.lua" "$TMP/real"
out=$(stereo S --jobs 1 --pairs "$TMP/real")
ok $? "StereoCamera runs to its end" "$out"
is "each of the twelve genes has a line about the last parents" 12 "$(grep -c '^  last parents: ' <<<"$out")"
like "the real pairs are validated on" "^2.pgm, disparities to 4 .* 0 of 3 600 answers wrong" "$out"
like "the made-up pair's depth is known" "A made-up pair: .* within one pixel of the truth" "$out"
for file in pair-left pair-disparity pair-truth; do
  is "$file.png is a PNG" "PNG" "$(head -c 4 "$TMP/S/$file.png" | tail -c 3)"
  like "$file.pgm is a grey map of that size" "^P5 40 30 " "$(head -c 12 "$TMP/S/$file.pgm" | tr '\n' ' ')"
done
echo 'return require("gilua").fitness.stereo' >"$TMP/stereo.lua"
ranked=$("$GILUA" rescore "$TMP/S" "$TMP/stereo.lua" --rows 100 | sed '1d;$d')
is "ranked by its own formula every mutant is where the run had it" "" "$(awk '$2 != "-" && $1 != $2' <<<"$ranked")"
like "which are many" "^[1-9][0-9]$" "$(awk '$2 != "-"' <<<"$ranked" | wc -l)"
page=$(tr -d '\n' <"$TMP/S/report.html")
for what in "Error against time" "Configuration of the last breeding population" "by its size" \
  'src="data:image/png;base64,iVBORw0KGgo'; do
  like "the page has: $what" "$what" "$page"
done
(cd "$TMP/S" && cp report.html first.html && "$GILUA" -e 'gi = require "gilua"
  gi.html.write(gi.json.decode(io.open("experiment.json"):read "a"), "report.html")')
cmp -s "$TMP/S/report.html" "$TMP/S/first.html"
ok $? "the page can be made again of experiment.json"
if ! sanitized "stereo_wide.lua, which goes stereo_k20c.lua's way"; then
  out=$("$GILUA" --out "$TMP/W" experiments/stereo_wide.lua --width 40 --height 30 --disparities 4 \
    --small --population 4 --generations 1 --no-control 2>&1)
  ok $? "the wide kernel's experiment runs to its end" "$out"
  like "beside the paper's kernel" "the paper's kernel as it was .* times the winner's" "$out"
  like "and is right" "10 unseen cases.* 0 wrong" "$out"
  like "its fixed front is its own" "11 parameters" "$(cat "$TMP/W/report.html")"
fi
fails "pairs that are not there" "no folder 'left'" "$GILUA" experiments/stereo_k20c.lua --pairs "$TMP/S"
misused "tuning is all or few" "must be all or few, not 'some'" "$GILUA" experiments/stereo_k20c.lua --tuning some

out=$("$GILUA" experiments/niftyreg_table4.lua --side 24 2>&1)
ok $? "Table 4 is replayed" "$out"
is "all six programs run right" 6 "$(grep -cE '^(Quadro|GeForce|Tesla).* us .*x .* us .*x ' <<<"$out")"

out=$("$GILUA" experiments/niftyreg_k20c.lua --runs 0 2>&1)
is "no runs are refused" 2 $?
like "in one sentence" "--runs must be at least 1" "$out"
finish
