#!/bin/bash
# The command line, as Lua users expect it, and gilua's own options.
. "$(dirname "$0")/tap.sh"

like "a script gets its arguments in arg" "a b" "$(echo 'print(arg[1], arg[2])' | tr -d '\n' >"$TMP/s.lua"; "$GILUA" "$TMP/s.lua" a b | tr '\t' ' ')"
like "-e runs code" "42" "$("$GILUA" -e 'print(6*7)')"
like "-l requires into a global" "table" "$("$GILUA" -l lfs -e 'print(type(lfs))')"
like "- runs standard input" "hello" "$(echo 'print("hello")' | "$GILUA" -)"
like "standard input that is no terminal is a script" "hello" "$(echo 'print("hello")' | "$GILUA")"
is "an error in standard input is one line" "gilua: stdin:2: attempt to index a nil value (global 'x')" \
  "$(printf '\nx.y = 1\n' | "$GILUA" 2>&1)"
like "-v prints versions" "gilua .*Lua 5.4" "$("$GILUA" -v)"
like "-i enters the prompt" "> *3" "$(echo '1+2' | "$GILUA" -i 2>&1)"
like "the prompt takes statements over several lines" "7" "$(printf 'for i = 7, 7 do\nprint(i)\nend\n' | "$GILUA" -i 2>&1)"
like "the prompt goes on after an error" "attempt to.*still here" "$(printf 'nothing.x = 1\nprint("still here")\n' | "$GILUA" -i 2>&1 | tr '\n' ' ')"
like "--help explains itself" "usage: gilua .*--device" "$("$GILUA" --help | tr '\n' ' ')"
like "options come before the script too" "7 true emu" "$("$GILUA" --seed 7 --quiet --device=emu -e 'local o = require("gilua").options print(o.seed, o.quiet, o.device)' | tr '\t' ' ')"
like "the library is found from anywhere" "table" "$(cd / && "$GILUA" -e 'print(type(require "gilua"))')"

misused "an unknown option" "option '--sed'" "$GILUA" --sed 7
misused "an option that lacks its value" "'-e': it needs an argument" "$GILUA" -e
misused "a seed that is no number" "whole number, not 'x'" "$GILUA" --seed x -e 'print(1)'
fails "a script that is not there" "cannot open nowhere.lua" "$GILUA" nowhere.lua

like "--version prints versions" "^gilua [0-9.]+, Lua 5.4" "$("$GILUA" --version)"
is "and so does the command" "$("$GILUA" -v)" "$("$GILUA" version)"
is "help is --help" "$("$GILUA" --help)" "$("$GILUA" help)"
is "help of a command is the command's" "$("$GILUA" evolve --help)" "$("$GILUA" help evolve)"
for command in $("$GILUA" help | sed -nE 's/^ +gilua ([a-z]+) .*/\1/p'); do
  like "$command has a help" "usage: gilua $command" "$("$GILUA" help "$command")"
done
misused "help of nothing" "'evolv' is no command; did you mean evolve?" "$GILUA" help evolv
cd "$TOP" || exit 1 # where experiments/ is
misused "a command with a slip" "'evolv' is neither a command nor a script; did you mean evolve?" "$GILUA" evolv x
misused "after options too" "did you mean check?" "$GILUA" --seed 3 chekc
misused "an experiment's name" "did you mean experiments/quickstart.lua?" "$GILUA" quikstart
misused "a word like none" "'xyzzy' is neither a command nor a script \(gilua help" "$GILUA" xyzzy
fails "a script's path with a slip" "cannot open experiments/qickstart.lua: .*; did you mean experiments/quickstart.lua?" "$GILUA" experiments/qickstart.lua
misused "a folder" "kernels is a folder: a command says what to do with it" "$GILUA" kernels
misused "CUDA source" "saxpy.cu is no Lua script: gilua new" "$GILUA" tests/own/saxpy.cu
misused "a command without what it needs" "PROBLEM is missing" "$GILUA" check
misused "a value out of range before the command" "--jobs must be at least 1, not '0'" "$GILUA" --jobs 0 check kernels/heat
printf 'error(setmetatable({ status = 7 }, { __tostring = function() return "seven" end }))' >"$TMP/seven.lua"
ends 7 "an error value may say the status" "^gilua: seven$" "$GILUA" "$TMP/seven.lua"
printf 'error({ status = "x" })' >"$TMP/none.lua"
fails "one that is none is 1" "error object is a table" "$GILUA" "$TMP/none.lua"

printf 'local function f()\n  error("oops")\nend\n\nf()\n' >"$TMP/e.lua"
fails "an error in a script: its line" "e.lua:2: oops" "$GILUA" "$TMP/e.lua"
fails "and the traceback with the caller's line" "e.lua:5: in main chunk" "$GILUA" "$TMP/e.lua"

cat >"$TMP/many.lua" <<'LUA'
local kept = {}
repeat kept[#kept + 1] = io.open "/dev/null" or false until not kept[#kept]
require "gilua.base.csv"
LUA
fails "a module that cannot be opened is not one that is not there" "cannot open .*/csv.lua: Too many open files" \
  bash -c 'ulimit -n 20; exec "$@"' - "$GILUA" "$TMP/many.lua"

like "doctor names the compiler, the driver and the data" "NVRTC.*CUDA driver.*brain.*virtual GPU" "$("$GILUA" doctor | tr '\n' ' ')"
fails "a wrong GILUA_HOME is not passed over" "GILUA_HOME is '/nowhere', where there is no lua/gilua: name the folder" \
  env GILUA_HOME=/nowhere "$GILUA" -e 'print(1)'
is "and in one sentence" 1 "$(GILUA_HOME=/nowhere "$GILUA" -e 'print(1)' 2>&1 | wc -l)"
is "a right one is taken" "$TOP" "$(GILUA_HOME=$TOP "$GILUA" -e 'print(require "gilua".home)')"
cat >"$TMP/modules.lua" <<'END'
local gi, n, other = require "gilua", 0, {}
for _, module in pairs(gi.modules) do
  local loader, path = package.searchers[2](module) -- before Lua's own
  n = n + 1
  if not loader or string.dump(loader) ~= string.dump(loadfile(path)) then other[#other + 1] = module end
end
print(n > 150, table.concat(other, " "))
END
is "every module is compiled in the program, as Lua compiles its file" "true " "$("$GILUA" "$TMP/modules.lua" | tr '\t' ' ')"
mkdir "$TMP/home" && cp -r "$TOP/lua" "$TMP/home/lua"
printf '\nerror "changed"\n' >"$TMP/tail" && sed -i "2r $TMP/tail" "$TMP/home/lua/gilua/base/csv.lua"
fails "but what runs is the file: one that was changed" "home/lua/gilua/base/csv.lua:4: changed" \
  env GILUA_HOME="$TMP/home" "$GILUA" -e 'require("gilua.base.csv")'
is "in another place under its own name" "@$TMP/home/lua/gilua/base/json.lua" \
  "$(GILUA_HOME="$TMP/home" "$GILUA" -e 'print(debug.getinfo(require("gilua.base.json").decode).source)')"
is "an empty one is none" "$TOP" "$(GILUA_HOME= "$GILUA" -e 'print(require "gilua".home)')"
finish
