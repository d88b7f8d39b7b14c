#!/bin/bash
# The prompt on a terminal: typed at, through the program `script`, as a person types.
. "$(dirname "$0")/tap.sh"

if ! script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
  echo "1..0 # SKIP the program 'script' (Debian's bsdutils) is not here"
  exit 0
fi

session=
trap '[ -z "$session" ] || kill "$session" 2>/dev/null; rm -rf "$TMP"' EXIT
export TERM=xterm XDG_STATE_HOME=$TMP/state LC_ALL=C.UTF-8 NO_COLOR=1
unset PROMPT_COMMAND
cd "$TOP" || exit 1

# open [COMMAND]: a prompt of its own, whose keys come from file descriptor 7.
open() {
  rm -f "$TMP/keys"
  mkfifo "$TMP/keys"
  : >"$TMP/seen"
  script -qfec "${1:-$GILUA --jobs 1}" /dev/null <"$TMP/keys" >"$TMP/seen" 2>&1 &
  session=$!
  exec 7>"$TMP/keys"
  mark=0
  expect '> $' || echo "# no prompt came: $(cat "$TMP/seen")"
}

# What was shown since the last keys, without escape sequences.
seen() { tail -c "+$((mark + 1))" "$TMP/seen" | tr -d '\r' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g'; }

keys() { # keys TEXT: types it; \n is Enter, \t Tab, \003 Ctrl-C, \004 Ctrl-D
  mark=$(stat -c %s "$TMP/seen")
  printf '%b' "$1" >&7
}

expect() { # expect REGEX: waits until it was shown since the last keys
  for _ in $(seq 2400); do
    seen | grep -qE -- "$1" && return 0
    sleep 0.05
  done
  return 1
}

shows() { # shows TEXT KEYS REGEX
  keys "$2"
  expect "$3"
  ok $? "$1" "no /$3/ in: $(seen)"
}

ends() { # the session ends, and nothing of it is left
  for _ in $(seq 2400); do
    kill -0 "$session" 2>/dev/null || { session= && return 0; }
    sleep 0.05
  done
  return 1
}

# A file that prints the processes which the prompt has started.
cat >"$TMP/children.lua" <<'LUA'
local lfs, list = require "lfs", {}
local me = io.open("/proc/self/stat"):read("a"):match("^%d+")
for name in lfs.dir("/proc") do
  local stat = name:find("^%d+$") and io.open("/proc/" .. name .. "/stat")
  if stat then
    if stat:read("a"):match("^%d+ %(.*%) %a (%d+)") == me then list[#list + 1] = name end
    stat:close()
  end
end
print("children " .. table.concat(list, " "))
LUA

alive() { # alive PID...: prints those that run
  local pid
  for pid; do
    [ -e "/proc/$pid/stat" ] && ! grep -qE '^[0-9]+ \(.*\) [ZX]' "/proc/$pid/stat" && echo "$pid"
  done
}

# --- a session
open
like "two lines of greeting at most" "^[12]$" "$(seen | grep -vcE '^> $')"
shows "an expression prints its value" '{ 1, 2, b = "x" }\n' '^\{ 1, 2, b = "x" \}'
shows "lines are continued" 'for i = 7, 7 do\n' '^>> $'
shows "until the chunk is whole" 'print(i * 6)\nend\n' '^42'
shows "an error is one line" 'nothing.x = 1\n' "^attempt to index a nil value \(global 'nothing'\)"
shows ":trace shows the rest" ':trace\n' 'stack traceback'
shows "Tab completes a name" 'collectg\t("count") > 1\n' 'collectgarbage\("count"\) > 1'
shows "and a file" 'p = gi.problem "kernels/niftyr\t' 'kernels/niftyreg'
shows "the problem loads" '\025p = gi.problem "kernels/niftyreg"\np\n' '^problem niftyreg'
shows "Tab completes a gene" 'm = p:mutant "<IF_24\t<IF_16\t"\nm\n' \
  '^mutant of niftyreg: <IF_kernel.cu_245><IF_kernel.cu_167>'
shows "a mutant shows what it changes" 'm:diff()\n' '^\+        if \(tid < c_ActiveVoxelNumber\)'
shows "runs" 'm:run()\n' '^ok .*ticks.* 0 of [0-9 ]+ wrong'
shows "and where it is wrong" 'p:mutant("<IF_279>"):errors()\n' '\?\?\?\?'

# --- Ctrl-C
shows "Ctrl-C gives up a line that is not finished" 'for i = 1,\003' '\^C'
shows "and the next begins anew" '6 * 7\n' '^42'
shows "a loop goes on" 'print("o".."n") while true do end\n' '^on$'
shows "Ctrl-C stops a loop" '\003' 'interrupted'
keys 'print("o".."n") p:use { side = 217, seed = 1 } p:neighbours(m, { more = 200 }):run()\n'
expect '^on$'
sleep 1 # whatever it is at
begun=$(now_ms)
shows "and a long evaluation" '\003' 'interrupted'
took=$(($(now_ms) - begun))
[ $took -lt $SOON_MS ]
ok $? "soon" "$took ms"
shows "all that there was is still there" 'm\n' '^mutant of niftyreg: <IF_kernel.cu_245>'
shows "and the farm works" 'p:use { side = 16, seed = 1 } print(m:run().status)\n' '^ok'

# --- the end
shows "it has workers" "dofile '$TMP/children.lua'\n" '^children [0-9]+'
read -r -a workers <<<"$(seen | sed -n 's/^children //p')"
keys '\004'
ends
ok $? "Ctrl-D ends it"
is "and no worker is left" "" "$(alive "${workers[@]}")"
exec 7>&-

like "the history is kept" '^p = gi.problem "kernels/niftyreg"$' "$(cat "$XDG_STATE_HOME/gilua/history")"
like "a loop as one line" '^for i = 7, 7 do print\(i \* 6\) end$' "$(cat "$XDG_STATE_HOME/gilua/history")"
is "for its owner alone" 600 "$(stat -c %a "$XDG_STATE_HOME/gilua/history")"
open
shows "the next session recalls it" '\033[A\033[A' 'p:use \{ side = 16'
shows "and gives up what was recalled" '\003' '\^C'
keys '\004'
ends
ok $? "and ends"
exec 7>&-

echo 'kept = "from the script"' >"$TMP/s.lua"
open "$GILUA -i $TMP/s.lua"
shows "-i after a script has what the script made" 'kept\n' '^"from the script"'
shows "exit ends it too" 'exit\n' 'exit'
ends
ok $? "at once"
exec 7>&-

# --- without a terminal: the same session, lines as they come
piped() { # piped LINES: what they print, without prompts, the version and the last line end
  printf "$1" | "$GILUA" -i 2>&1 | sed -E '1d; s/^(>>? )+//; $d'
}
is "a pipe gets no line editing" "> 3" "$(echo '1+2' | "$GILUA" -i 2>&1 | sed -n 2p)"
is "nor a greeting" 3 "$(echo '1+2' | "$GILUA" -i 2>&1 | wc -l)"
is "it has gi" true "$(piped 'gi == require "gilua"\n')"
like "and help" 'array.compare\(got, expected' "$(piped 'help "array.compare"\n')"
is "values as on a terminal" '{ 1, b = "x" }' "$(piped '{ 1, b = "x" }\n')"
is "a local stays" "42" "$(piped 'local kept = 42\nkept\n')"
is "_ is the last value" 43 "$(piped '6 * 7\n_ + 1\n' | tail -n 1)"
like "an error is one line, :trace shows the rest" "'nothing'.*stack traceback" \
  "$(piped 'nothing.x = 1\n:trace\n' | tr '\n' ' ')"
like "input that ends too early is told of" "unexpected symbol near <eof>" "$(piped 'x = \n')"
like "exit ends it" "^1$" "$(piped '1\nexit\n2\n')"

# --- a disassembler, where there is one
mkdir -p "$TMP/cuda/bin"
printf '#!/bin/sh\necho "disassembled $#: $(head -c 4 "$2" | tail -c 3)"\n' >"$TMP/cuda/bin/nvdisasm"
chmod +x "$TMP/cuda/bin/nvdisasm"
like "machine code goes through nvdisasm" "disassembled 2: ELF" "$(CUDA_HOME=$TMP/cuda PATH=/usr/bin:/bin \
  "$GILUA" -e 'print(require("gilua").problem("kernels/niftyreg"):mutant("RemX"):sass())' 2>&1)"
finish
