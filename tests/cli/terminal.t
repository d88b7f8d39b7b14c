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
echo "error('$esc[2J', 0)" >"$evil/problem.lua"
quiet "an error in a problem" "$GILUA" check "$evil"
finish
