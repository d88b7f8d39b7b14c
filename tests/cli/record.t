#!/bin/bash
# gilua record: what a program asked of its GPU, kept in a file.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

misused "no program" "gilua record -- ./app" "$GILUA" record -o a.rec
fails "a program that is not there" "there is no program ./nothing" "$GILUA" record -- ./nothing
touch here.rec
fails "a file that is there" "there is here.rec already" "$GILUA" record -o here.rec -- true
is "stays as it is" 0 "$(stat -c %s here.rec)"
"$GILUA" record -o none.rec -- true
is "of a program that is none of CUDA's nothing is kept" 0:no "$?:$([ -e none.rec ] && echo yes || echo no)"

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - CUDA programs # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first
for name in saxpy shared surface; do program $name; done

# events FILE: its lines, without what differs from machine to machine: names of data that hold it
events() { "$GILUA" -e 'print((require"gilua.core".record.open(arg[1]):events()))' - "$1" 2>&1; }
cat >events.lua <<'LUA'
local gi = require "gilua"
local r <close> = gi.recording.open(arg[1])
for _, event in ipairs(r.events) do print(table.concat(event, " ")) end
print(r.is_whole and "whole" or "cut", table.concat(r.program, "|"))
LUA
cat >data.lua <<'LUA'
-- The integers of the Nth event of a kind.
local gi = require "gilua"
local r <close> = gi.recording.open(arg[1])
local n = 0
for _, event in ipairs(r.events) do
  if event[1] == arg[2] then
    n = n + 1
    if n == tonumber(arg[3]) then
      local words, at = {}, 1
      local bytes = r:blob(event[#event])
      while at <= #bytes and #words < 5 do words[#words + 1], at = string.unpack(arg[4], bytes, at) end
      print(table.concat(words, " "))
    end
  end
end
LUA

"$GILUA" record -o saxpy.rec -- ./saxpy >out 2>err
is "a program runs as ever" "0:float: 0 wrong|double: 0 wrong|counter: 53|" "$?:$(tr '\n' '|' <out)"
like "and what was kept is said" "saxpy.rec has 2 launches of 2 kernels and 3 pieces" "$(cat err)"
"$GILUA" events.lua saxpy.rec >saxpy.txt
is "its events" "gilua program gpu memory memory module variable variable write memory memory write write launch read free free memory memory write write launch read free free read whole " \
  "$(cut -d' ' -f1 saxpy.txt | cut -f1 | tr '\n' ' ')"
like "a launch" "launch 0 _Z5saxpyIfEvT_PKS0_PS0_i 79,1,1 128,1,1 0 0 [0-9.]+ 00004040000000000000" \
  "$(cat saxpy.txt)"
is "what a constant was given" "7.0 2.0" "$("$GILUA" data.lua saxpy.rec write 1 '<f')"
is "what was copied out" "0.0 7.0 14.0 21.0 28.0" "$("$GILUA" data.lua saxpy.rec read 1 '<f')"
is "a variable at the end" 53 "$("$GILUA" data.lua saxpy.rec read 3 '<i4')"
"$GILUA" record --quiet -o again.rec -- ./saxpy >out 2>err
is "recorded again: the same bytes" "" "$(cmp saxpy.rec again.rec 2>&1)"
is "with --quiet nothing is said" "" "$(cat err)"

"$GILUA" record -o shared.rec -- ./shared >out 2>err
is "memory that both sides see, and textures" "0:0 wrong" "$?:$(cat out)"
"$GILUA" events.lua shared.rec >shared.txt
is "what the host wrote before the first launch" "0 1 2 3 4" "$("$GILUA" data.lua shared.rec write 1 '<i4')"
is "what it found there afterwards" "0 2 4 6 8" "$("$GILUA" data.lua shared.rec read 1 '<i4')"
is "and wrote before the second" "0 2 4 1000 8" "$("$GILUA" data.lua shared.rec write 3 '<i4')"
like "a fill" "^set 0x[0-9a-f]+ 800 1 1 1 800 1 1$" "$(grep '^set' shared.txt)"
like "a copy on the device" "^copy 0x[0-9a-f]+ 400 1 0x[0-9a-f]+ 400 1 400 1 1$" "$(grep '^copy' shared.txt)"
like "an array" "^array 0 8 3 0 2 32,0,0,0 0$" "$(grep '^array' shared.txt)"
like "its texels" "^write array:0:0:0:0 32 3 32 3 1 [0-9a-f]{32}$" "$(grep '^write array' shared.txt)"
like "a texture over it" "^texture 0x[0-9a-f]+ array:0 kind=1 format=7 channels=1 dims=2 size=8,3,1" \
  "$(grep '^texture' shared.txt)"
like "and its end" "^free texture:0x[0-9a-f]+$" "$(grep '^free texture' shared.txt)"

cat >replay.lua <<'LUA'
-- What a replay gives the host, beside what it got then: "same" for each piece.
local gi = require "gilua"
local r <close> = gi.recording.open(arg[1])
local ptx = r:module(0):gsub("fma%.rn%.f(%d+)%s+(%S+), (%S+), (%S+), ", "add.f%1 %2, %3, ")
local code = arg[2] and { [0] = ptx }
local one, two = assert(r:replay { code = code }), r:replay { code = code }
local pieces = {}
for i, read in ipairs(one.reads) do
  pieces[i] = read.same and "same" or "other"
  if read.bytes ~= two.reads[i].bytes then pieces[i] = "uncertain" end
end
local steady = one.ticks == two.ticks and one.ticks > 0 and "" or " ticks differ"
print(one.status .. ": " .. table.concat(pieces, " ") .. steady)
LUA
is "a replay gives the host the same, to the bit" "ok: same same same" "$("$GILUA" replay.lua saxpy.rec)"
is "memory that both sides see, and textures, too" "ok: same same same same same" \
  "$("$GILUA" replay.lua shared.rec)"
like "other code gives something else" "^ok: other other same" "$("$GILUA" replay.lua saxpy.rec other 2>&1)"

"$GILUA" record --quiet -o surface.rec -- ./surface >out 2>err
is "surfaces" "0:0 wrong" "$?:$(cat out)"
like "one over an array" "^surface 0x[0-9a-f]+ array:0 kind=1 format=7 channels=1 dims=2 size=64,16,1" \
  "$("$GILUA" events.lua surface.rec | grep ^surface)"
is "what is written through it comes out again" "ok: same same" "$("$GILUA" replay.lua surface.rec)"
is "by other code something else" "ok: other other" "$("$GILUA" replay.lua surface.rec other)"
"$GILUA" record --quiet -o part.rec --kernel smooth --skip 1 --count 1 -- ./surface >out 2>err
is "one launch alone: the array before and after it" "write array:0 read array:0" \
  "$("$GILUA" events.lua part.rec | sed -nE 's/^(write|read) (array:0).*/\1 \2/p' | xargs)"
is "which a replay gives again" "ok: same" "$("$GILUA" replay.lua part.rec)"

misused "an option of recordings" "unknown option --skip" "$GILUA" run --skip 1 -- ./saxpy
misused "a use that there is not" "train, validate, unseen" "$GILUA" record --as valid -- ./saxpy
"$GILUA" record -o saxpy.rec --as unseen --quiet --kernel saxpy --skip 1 --count 1 -- ./saxpy >out 2>err
is "some launches only, kept beside, for verify alone" "memory memory module variable variable memory memory free free memory memory write write write write launch read read " \
  "$("$GILUA" events.lua saxpy.unseen.rec | sed '1,/^as unseen/d;$d' | cut -d' ' -f1 | tr '\n' ' ')"
is "from memory as it was then" "50" "$("$GILUA" data.lua saxpy.unseen.rec write 1 '<i4')"
is "to memory as it was after them" "53" "$("$GILUA" data.lua saxpy.unseen.rec read 1 '<i4')"
is "which a replay gives again, to the bit" "ok: same same" "$("$GILUA" replay.lua saxpy.unseen.rec)"
out=$("$GILUA" record -o none.rec --quiet --kernel other --skip 1 -- ./saxpy 2>&1)
like "where there are not so many that is said" "the kernel other were to be skipped, and there were 0" "$out"

"$GILUA" record -o dead.rec -- ./shared die >out 2>err
is "a program that dies" 134 $?
like "leaves what it did until then" "dead.rec has 4 launches .*it ends in the middle" "$(cat err)"
head -c 2000 saxpy.rec >cut.rec
fails "a recording that is none" "no recording of gilua's" "$GILUA" events.lua out
"$GILUA" events.lua cut.rec | tail -1 | grep -q '^cut'
ok $? "one that is cut short says so"
finish
