#!/bin/bash
# However a run ends, by Ctrl-C or killed, its workers end at once.
. "$(dirname "$0")/tap.sh"

cat >"$TMP/worker.lua" <<'LUA'
local core = require "gilua.core"
core.farm.serve(function() while true do end end)
LUA
cat >"$TMP/host.lua" <<'LUA'
local core = require "gilua.core"
local workers = assert(core.farm.open({ core.system.program(), arg[1] }, 3))
local ids = {}
for i = 1, 3 do
  workers:send(i, "work for ever")
  ids[i] = workers:pid(i)
end
local file <close> = assert(io.open(arg[2], "w"))
file:write(table.concat(ids, " "), "\n")
file:close()
while true do
  workers:wait(600)
end
LUA

alive() { # alive PID...: prints those that run
  local pid
  for pid; do
    [ -e "/proc/$pid/stat" ] && ! grep -qE '^[0-9]+ \(.*\) [ZX]' "/proc/$pid/stat" && echo "$pid"
  done
}

stops() { # stops SIGNAL TEXT STATUS
  local host ids start left took status
  rm -f "$TMP/ids"
  foreground "$GILUA" "$TMP/host.lua" "$TMP/worker.lua" "$TMP/ids" 2>"$TMP/said"
  host=$!
  wait_until '[ -s "$TMP/ids" ]' $host
  read -r -a ids <"$TMP/ids"
  sleep 0.2
  is "$2: three workers run" 3 "$(alive "${ids[@]}" | wc -l)"
  start=$(now_ms)
  kill "-$1" $host
  wait $host 2>/dev/null
  status=$?
  while :; do
    left=$(alive "${ids[@]}")
    took=$(($(now_ms) - start))
    [ -n "$left" ] && [ $took -lt $SOON_MS ] || break
    sleep 0.01
  done
  is "$2: none is left" "" "$left"
  is "$2: its status" "$3" $status
  [ "$took" -lt $SOON_MS ]
  ok $? "$2: at once, though they are at work" "$took ms"
}

stops INT "Ctrl-C" 130
like "and the host says so" "interrupted" "$(cat "$TMP/said")"
stops KILL "the host killed by signal 9" 137
stops TERM "the host ended by signal 15" 143
finish
