#!/bin/bash
# Nothing from a file reaches the terminal raw: names, sources, compilers' words.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

esc=$'\033'
evil="e${esc}[31mvil"
raw() { grep -q "[$esc$(printf '\a\r')]" <<<"$1"; }

# quiet TEXT COMMAND...: it says something, shown and not sent
quiet() {
  local text=$1 out
  shift
  out=$("$@" 2>&1 </dev/null)
  ! raw "$out" && grep -qF '\x1b' <<<"$out"
  ok $? "$text" "$(cat -v <<<"$out")"
}

printf '#error "%s]0;title\a"\n__global__ void k(float *x) { x[0] = 1; }\n' "$esc" >"$evil.cu"
quiet "an #error in a file of such a name" "$GILUA" new "$evil.cu" out
quiet "a file that is not there" "$GILUA" new "no$evil.cu"
quiet "a script that is not there" "$GILUA" "no$evil.lua"
quiet "a problem that is not there" "$GILUA" check "no$evil"
mkdir "$evil"
echo "return function(own) return own.ticks or 0 end" >formula.lua
echo "error('$esc[2J', 0)" >"$evil/problem.lua"
quiet "an error in a problem" "$GILUA" check "$evil"

# --- what a run left that somebody else made

"$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 6 --generations 1 --out "$evil-run" --quiet
"$GILUA" - "$evil-run/archive.sqlite" <<LUA
local s = assert(require("gilua.core").store.open(arg[1]))
assert(s:execute "UPDATE genome SET text = text || char(27) || '[31mvil'")
assert(s:execute "UPDATE evaluation SET message = char(27) || '[2J'")
LUA
"$GILUA" export "$evil-run" >table.csv
raw "$(cat table.csv)"
ok $? "export: into a file or a pipe it goes as it is" "$(head -3 table.csv | cat -v)"
# on_terminal COMMAND...: what it says to a terminal
on_terminal() { SHELL=$BASH script -qec "$(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'; }
if script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
  for command in export "export --jsonl" log "show 2" "show 2 --source" rescore; do
    words=($command)
    out=$(on_terminal "$GILUA" "${words[0]}" "$evil-run" "${words[@]:1}" $([ "$command" = rescore ] && echo formula.lua))
    ! raw "$out" && grep -qE '\\x1b|u001b' <<<"$out"
    ok $? "$command: on a terminal it is shown" "$(head -20 <<<"$out" | cat -v)"
  done
fi
finish
