#!/bin/bash
# Workers that somebody else kills, one every 0.3 s: the run's results are those of an undisturbed
# one, byte for byte; no mutant is blamed.
#
#   bash tests/cli/farm_killed.t            a dozen kills over a small run
#   bash tests/cli/farm_killed.t 1000       so many, over runs of the whole quickstart
. "$(dirname "$0")/tap.sh"
needs pgrep procps
cd "$TMP" || exit 1
if sanitized "results in spite of kills, at the speed of a sanitizer"; then
  echo "1..0 # SKIP under sanitizers"
  exit 0
fi

wanted=${1:-12}
size=(--population 16 --generations 5)
[ $# -gt 0 ] && size=()

start() { # start DIR: the run's process id in $host
  "$GILUA" "$TOP/experiments/quickstart.lua" --seed 3 --side 30 "${size[@]}" --jobs 2 --quiet \
    --out "$1" >"$1.said" 2>&1 &
  host=$!
}

# As somebody who knows only that they are its children: kills one of them every 0.3 s.
disturb() {
  local workers
  while [ "$kills" -lt "$wanted" ] && kill -0 $host 2>/dev/null; do
    sleep 0.3
    mapfile -t workers < <(pgrep -P $host)
    [ ${#workers[@]} -gt 0 ] && kill -9 "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null &&
      kills=$((kills + 1))
  done
}

# result.json but for seconds and restarts
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+,?//' "$1/result.json"; }

start calm
wait $host
ok $? "an undisturbed run ends well" "$(cat calm.said)"
kills=0
runs=0
while [ "$kills" -lt "$wanted" ] && [ $runs -lt 100 ]; do
  runs=$((runs + 1))
  start "run$runs"
  before=$kills
  disturb
  wait $host
  ok $? "run $runs ends well, $((kills - before)) kills" "$(cat "run$runs.said")"
  is "result.json is the same but for seconds and restarts" "$(plain calm)" "$(plain "run$runs")"
  for f in best.cu best.patch generations.csv; do
    cmp -s "calm/$f" "run$runs/$f"
    ok $? "$f is the same, byte for byte"
  done
done
echo "# $kills kills over $runs runs, restarts: $(sed -n 's/.*"restarts": *\([0-9]*\).*/\1/p' run*/result.json |
  paste -sd ' ')"
ok $((kills < wanted)) "$wanted workers were killed" "$kills in $runs runs"
like "the log says what became of workers, and that no mutant is blamed" \
  "[0-9]+ workers? lost.*[0-9]+ killed from outside, which no mutant is blamed for" "$(cat run1/log.txt)"
finish
