#!/bin/bash
# --json of what leaves a run: an object a line on standard output, text on standard error, whatever ends it.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
QUICK=("$TOP/experiments/quickstart.lua" --side 20 --population 10)

# lines FILE: each is an object with an event; prints the events in a row, those that repeat once
cat >lines.lua <<'LUA'
local gi = require "gilua"
local text = gi.textfile.read(arg[1], "it")
assert(text == "" or text:sub(-1) == "\n", "the last line is not whole")
local last
for line in text:gmatch "[^\n]+" do
  local value, why = gi.json.decode(line)
  assert(type(value) == "table" and type(value.event) == "string", why or "no event: " .. line)
  if value.event ~= last then io.write(value.event, " ") end
  last = value.event
end
LUA
lines() { "$GILUA" lines.lua "$1" 2>&1; }
last() { tail -1 "$1"; }
event() { grep "\"event\": \"$1\"" "$2"; }

"$GILUA" "${QUICK[@]}" --generations 2 --out run --json >out 2>err
is "a script: its status" 0 $?
is "each line is an object" "start generation result end " "$(lines out)"
like "a generation tells how far it is" '"generation": 2, "generations": 2, .*"speedup": 1\.[0-9]+, .*"evaluations": 22' \
  "$(event generation out | tail -1)"
like "the result tells of the best" '"genome": "[^"]+", "from": "evolution, generation [0-9]+, mutant [0-9]+".*"stopped": null' \
  "$(event result out)"
like "and of the files" '"files": \[ "report.html", "best.cu"' "$(event result out)"
is "the end" '{ "event": "end", "status": 0, "error": null }' "$(last out)"
like "text is on standard error" "^generation 2/2  best" "$(cat err)"
"$GILUA" "${QUICK[@]}" --generations 2 --out run2 --json --quiet >quiet 2>err
is "quiet leaves the objects" "$(sed 's/"folder": "[^"]*"//' out)" "$(sed 's/"folder": "[^"]*"//' quiet)"
is "alone" "" "$(cat err)"

echo 'local gi = require "gilua"; local o = gi.cli {}; print "hello"; io.write "there\n"; os.execute "echo from a shell"' >talks.lua
"$GILUA" talks.lua --json >out 2>err
is "whatever else is printed is no line of it" "end " "$(lines out)"
is "but text" "from a shell hello there" "$(sort err | tr '\n' ' ' | sed 's/ $//')"

cp -r "$TOP/kernels/reduction" mine
sed -i 's/"rows", 1000,/"rows", 50,/; s/values = { 32, .* 1024 }/values = { 128, 256 }/; s/"unroll", default = 1, values = { 1, 2, 4 }/"unroll", default = 1, values = { 1, 2 }/' \
  mine/problem.lua # which takes less time
"$GILUA" tune mine --json --jobs 1 --out tuned >out 2>err
is "tune: each line" "setting result end " "$(lines out)"
like "the settings" '"done": 1, "settings": [0-9]+, "genome": "[^"]+", "status": "ok", "right": true, "ticks": [0-9.]+' "$(event setting out | head -1)"
like "the result is that of result.json" '"best": \{ "genome": ' "$(event result out)"
"$GILUA" evolve mine --weak-data --population 6 --generations 2 --json --jobs 1 --out evolved >out 2>err
status=$?
is "evolve: each line" "start generation result end " "$(lines out)"
like "its status is the end's" "\"status\": $status," "$(last out)"
"$GILUA" evolve nowhere --json >out 2>err
like "what it cannot begin is told" '^\{ "event": "end", "status": 1, "error": "there is no problem.lua in nowhere .*" \}$' "$(cat out)"
like "in both" "^gilua: there is no problem.lua in nowhere " "$(cat err)"

# stopped SIGNAL STATUS COMMAND…
stopped() {
  local signal=$1 status=$2
  shift 2
  rm -f out # the last one's has generations, too
  : >out
  foreground "$GILUA" "$@" --json >out 2>err
  local pid=$!
  wait_until "grep -q '\"event\": \"generation\"' out" $pid
  kill "-$signal" $pid
  wait $pid 2>/dev/null
  is "SIG$signal: its status" "$status" $?
}
stopped INT 130 "${QUICK[@]}" --generations 4000 --out int
is "the last line is an object" "start generation result " "$(lines out | sed 's/end //')"
like "which says what stopped it" '"stopped": "interrupted"' "$(event result out)"
stopped TERM 143 evolve mine --weak-data --population 6 --generations 4000 --jobs 1 --out term
is "of a command too" "start generation result end " "$(lines out)"
like "and the end has the status" '"status": 143, "error": "interrupted"' "$(last out)"
stopped KILL 137 "${QUICK[@]}" --generations 4000 --out kill
is "kill -9 leaves whole lines" "start generation " "$(lines out)"

"$GILUA" "${QUICK[@]}" --generations 1 --out full --json >/dev/full 2>err
is "where it cannot be written" 1 $?
like "that is said" "cannot write to standard output" "$(cat err)"
finish
