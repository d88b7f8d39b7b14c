#!/bin/bash
# A run that is killed (SIGKILL to all its processes) at KILLS random moments, and begun again each
# time, ends with the undisturbed run's results; what it had been told of is lost at most as far as it
# was in flight. Ended by SIGTERM at TERMS random moments it leaves its best so far, soon.
. "$(dirname "$0")/../cli/tap.sh"
cd "$TMP" || exit 1
RANDOM=${SEED:=$((RANDOM * 32768 + RANDOM))}
echo "# seed $SEED"
SEARCH=("$GILUA" "$TOP/tests/kills/search.lua" --quiet --jobs 2)
IN_FLIGHT=20 # a worker's job is at most ten mutants
MOST_MS=${MOST_MS:-2000}

# What has to be the same: all but seconds, workers lost, and whether it was begun again.
plain() { sed -zE 's/"seconds": *\{[^}]*\},?//; s/"restarts": *[0-9]+//; s/"stopped": *null//' "$1/result.json"; }
timeless() { sed -E 's/^ *[0-9.]+ s  //' "$1/log.txt"; }
same() { # same DIR: as the undisturbed run's
  local f
  [ "$(plain whole)" = "$(plain "$1")" ] && [ "$(timeless whole)" = "$(timeless "$1")" ] || return 1
  for f in best.cu best.patch generations.csv; do cmp -s whole/$f "$1/$f" || return 1; done
  [ "$("$GILUA" export whole)" = "$("$GILUA" export "$1")" ]
}
ms() { echo $(($(date +%s%N) / 1000000)); }

begun=$(ms)
"${SEARCH[@]}" --out whole
is "a run that nothing disturbs" 0 $?
took=$(($(ms) - begun))
echo "# it takes $took ms"

# moment: seconds until something happens, within a run. What is begun again has less to do, and how
# fast it goes is the machine's: where a run ended before its moment the next ones come earlier, and
# each that was met in time lets them come later again.
span=$took
moment() { awk -v r="$RANDOM" -v t="$span" 'BEGIN { printf "%.3f", 0.02 + r / 32768 * t / 1000 }'; }
too_late() { span=$((span * 3 / 4 + 1)); }
in_time() { span=$((span + span / 10 + 1)); }

# disturbed SIGNAL COMMAND…: gets the signal after a moment; its exit status, and how long it took to end.
# With TELL each SIGTERM's is printed.
disturbed() {
  local signal=$1 pid at
  shift
  "$@" >said.txt 2>&1 &
  pid=$!
  after_s=$(moment)
  sleep "$after_s"
  at=$(ms)
  kill "-$signal" $pid 2>/dev/null
  { wait $pid; } 2>/dev/null
  status=$? ended_ms=$(($(ms) - at))
}

# --- SIGKILL

kills=0 runs=0 different=0 refused=0 lost_in_all=0 lost_at_most=0 run=torn1
while [ $kills -lt "${KILLS:-100}" ]; do
  if [ -e $run/archive.sqlite ]; then
    disturbed KILL "${SEARCH[@]}" --out $run --resume
  else
    disturbed KILL "${SEARCH[@]}" --out $run
  fi
  if [ $status = 137 ]; then
    in_time
    kills=$((kills + 1))
    [ -e $run/archive.sqlite ] && [ -e $run.told ] || continue
    lost=$("$GILUA" "$TOP/tests/kills/lost.lua" $run 2>lost.said) || {
      refused=$((refused + 1)); echo "# kill $kills: $(cat lost.said)"; continue; }
    lost_in_all=$((lost_in_all + lost))
    [ "$lost" -le $lost_at_most ] || lost_at_most=$lost
    : >$run.told
  else
    too_late
    runs=$((runs + 1))
    if [ $status != 0 ] || ! same $run; then
      different=$((different + 1))
      echo "# $run: status $status: $(cat said.txt)"
      diff <(plain whole) <(plain $run) 2>&1 | head -5 | sed 's/^/# /'
    fi
    run=torn$((runs + 1))
  fi
done
[ ! -e $run/archive.sqlite ] || { "${SEARCH[@]}" --out $run --resume >said.txt 2>&1; same $run || different=$((different + 1)); }
is "$kills kills in $((runs + 1)) runs: each ends as the undisturbed one" 0 $different
is "what is left after each can be read" 0 $refused
[ $lost_at_most -le $IN_FLIGHT ]
ok $? "of what was measured $lost_in_all in all were lost, at most $lost_at_most at once"

# --- SIGTERM

span=$took
terms=0 late=0 without=0 odd=0 slowest_ms=0 with_best=0
while [ $terms -lt "${TERMS:-50}" ]; do
  rm -rf ended ended.told
  disturbed TERM "${SEARCH[@]}" --out ended
  [ $status = 0 ] && { too_late; continue; }
  in_time
  terms=$((terms + 1))
  [ $status = 143 ] || { odd=$((odd + 1)); echo "# status $status: $(cat said.txt)"; }
  [ $ended_ms -le "$MOST_MS" ] || late=$((late + 1))
  [ $ended_ms -le $slowest_ms ] || slowest_ms=$ended_ms
  [ -z "${TELL:-}" ] || echo "# after $after_s s: status $status, ended in $ended_ms ms, $(wc -l <ended/generations.csv || echo no) lines"
  past_first ended || continue
  if [ -s ended/best.cu ] && grep -q '"speedup": [0-9]' ended/result.json 2>/dev/null; then
    with_best=$((with_best + 1))
  else
    without=$((without + 1))
    echo "# after $(wc -l <ended/generations.csv) lines: $(ls ended) $(cat said.txt)"
  fi
done
is "$terms SIGTERMs: each ends with 143" 0 $odd
is "the best so far is there wherever a generation was done ($with_best times)" 0 $without
is "within $MOST_MS ms, the slowest took $slowest_ms" 0 $late
finish
