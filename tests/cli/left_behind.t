#!/bin/bash
# Workers end with their host, however that ends and whatever they do: at a random moment of a run,
# and idle. What they are called by has a folder in $TMP.
. "$(dirname "$0")/tap.sh"
needs pgrep procps

# A worker that ends while LeakSanitizer looks through it leaves that one's tracer waiting for ever.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

left() { pgrep -f -- "--worker emu $TMP/" | wc -l; }
# none_left SECONDS: by the clock, on a machine that others may keep busy
none_left() {
  local end=$((SECONDS + $1))
  until [ "$(left)" = 0 ]; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

cat >"$TMP/idle.lua" <<'EOF'
local gi = require "gilua"
local farm <close> = gi.farm(gi.problem(arg[1]), { jobs = 2 })
farm:evaluate({ "" }, { seed = 1, width = 40, height = 30 })
io.stdout:write("idle\n")
io.stdout:flush()
io.stdin:read "l"
EOF
mkfifo "$TMP/wait"
TMPDIR=$TMP "$GILUA" "$TMP/idle.lua" "$TOP/kernels/heat" >"$TMP/said" <"$TMP/wait" &
host=$!
exec 9>"$TMP/wait"
until [ -s "$TMP/said" ] || ! kill -0 $host; do sleep 0.05; done
is "a host with two idle workers" 2 "$(left)"
kill -9 $host
wait $host 2>/dev/null
none_left 60
ok $? "which end when it is killed" "$(pgrep -fa -- "--worker emu $TMP/")"

seen=0
for pause in 0.03 0.08 0.15 0.3 "till it has some"; do
  TMPDIR=$TMP "$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 6 --generations 2 --quiet \
    --jobs 2 --out "$TMP/out" >"$TMP/run" 2>&1 &
  host=$!
  case $pause in
  0*) sleep $pause ;;
  *) wait_until '[ "$(left)" != 0 ]' $host ;;
  esac
  seen=$((seen + $(left)))
  kill -9 $host 2>/dev/null
  wait $host 2>/dev/null
  rm -rf "$TMP/out"
done
none_left 60
ok $? "nor is any left of runs that were killed at some moment" "$(pgrep -fa -- "--worker emu $TMP/")"
pkill -KILL -f -- "--worker emu $TMP/" # where a test failed
ok $((seen == 0)) "which had some ($seen)"
finish
