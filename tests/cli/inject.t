#!/bin/bash
# gilua record --inject: a program that is not built for gilua's library, recorded through CUPTI.
# CUPTI and the GPU are none: tests/c/fake_cupti.c before gilua's own libcuda.
. "$(dirname "$0")/tap.sh"
sanitized "a program without sanitizers loads them" && finish
cd "$TMP" || exit 1
export GILUA_CUPTI=${FAKE_CUPTI:-$TOP/build/tests/libcupti_fake.so}
cc=${CC:-cc}
if ! $cc -O1 -o app "$TOP/tests/programs/injected.c" "$TOP/lib/libcuda.so.1" 2>app.log; then
  ok 1 "the program builds" "$(cat app.log)"
  finish
fi
export LD_LIBRARY_PATH=$TOP/lib
"$GILUA" -e 'local h = require "gilua.farm.programhost"; h.write_config(arg[1], {}, h.model())' - .
# run.sh PROGRAM…: as a driver would start it
cat >run.sh <<END
#!/bin/bash
export FAKE_CUPTI_CONFIG=$TMP/config
LD_PRELOAD=$GILUA_CUPTI exec "\$@"
END
chmod +x run.sh
inject() { "$GILUA" record --inject "$@"; }
events() { "$GILUA" -e 'print((require"gilua.core".record.open(arg[1]):events()))' - "$1" 2>&1; }

"$GILUA" record --quiet -o own.rec -- ./app >own.out 2>err
is "on gilua's own library it runs" "0:" "$?:$(cat err)"
inject -o a.rec -- ./run.sh ./app >out 2>err
is "recorded through CUPTI it prints the same" "0:" "$?:$(diff own.out out)"
like "and what was kept is said" "a.rec has 8 launches of 3 kernels and 7 pieces" "$(cat err)"
events a.rec >a.txt
events own.rec >own.txt
# launches: without times and addresses of the host's memory
launches() { sed -n 's/ 0 [0-9.]* \([0-9a-f-]*\)$/ \1/;/^launch/s/ 00[0-9a-f]\{10\}0000$//p' "$1"; }
is "launches, with their arguments" "$(launches own.txt)" "$(launches a.txt)"
data() { awk -v kind="$1" '$1 == kind { print $NF }' "$2"; }
is "what was copied in" "$(data write own.txt | sort -u)" "$(data write a.txt | sort -u)"
is "what no launch reaches is not looked at" "2 1" \
  "$(for f in own a; do grep -c f004b6e94cd3a6cc $f.txt; done | xargs)"
is "the GPU's own time of a launch" "" "$(awk '$1 == "launch" && $8 <= 0' a.txt)"

cat >replay.lua <<'LUA'
local gi = require "gilua"
local r <close> = gi.recording.open(arg[1])
local m = assert(r:replay {})
local same = 0
for _, read in ipairs(m.reads) do same = same + (read.same and 1 or 0) end
print(m.status, #m.reads, same)
LUA
is "a replay gives the host the same" "ok 7 7" "$("$GILUA" replay.lua a.rec | tr '\t' ' ')"
# A GPU's addresses lie below 2^47, where the virtual GPU has none of its own.
cat >lower.lua <<'LUA'
local core, tape = require "gilua.core", require "tape"
local function lowered(a)
  local other = a >> 47 == 0 or a >> 48 ~= 0 -- the host's memory, a texture's handle
  return other and a or 0x7e0000000000 + ((a >> 40) - 0x80 << 21) + (a & 0xffffffffff)
end
local from, lines = core.record.open(arg[1]), {}
local parts, names = { "gilua-rec\0\0\0\1\0\0\0" }, {} -- version 1, which has other names
for name in from:events():gmatch " (%x+)\n" do
  local bytes = #name == 32 and not names[name] and from:blob(name)
  if bytes then names[name], parts[#parts + 1] = core.system.hash128(bytes), tape.chunk(1, bytes) end
end
local function word(hex)
  local a = ("<I8"):unpack((hex:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end)))
  if a >> 47 == 0 or a >> 48 ~= 0 then return hex end
  return (("<I8"):pack(lowered(a)):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end
for line in from:events():gmatch "[^\n]+" do
  line = line:gsub("0x(%x+)", function(a) return ("0x%x"):format(lowered(tonumber(a, 16))) end)
  if line:find "^launch" then
    line = line:gsub("%x+$", function(hex) return (hex:gsub(("%x"):rep(16), word)) end)
  end
  lines[#lines + 1] = line:gsub("%x+$", names) .. "\n"
end
parts[#parts + 1] = tape.chunk(2, table.concat(lines))
parts[#parts + 1] = tape.chunk(3, "")
local file <close> = io.open(arg[2], "wb")
file:write(table.concat(parts))
LUA
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" lower.lua a.rec low.rec
like "with addresses as a GPU gives them" "^memory 0x7e0000400000 200 device" "$(events low.rec)"
is "it gives the same, too" "ok 7 7" "$("$GILUA" replay.lua low.rec | tr '\t' ' ')"
export GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so}
cat >gpu.lua <<'LUA'
local gi = require "gilua"
local r, gpu = gi.recording.open(arg[1]), gi.device "cuda"
local m = assert(assert(gpu:replay(r.file)):run {})
local same = 0
for _, read in ipairs(m.reads) do same = same + (read.same and 1 or 0) end
print(m.status, #m.reads, same)
LUA
is "and on a GPU" "ok 7 7" "$(env -u LD_LIBRARY_PATH "$GILUA" gpu.lua low.rec | tr '\t' ' ')"
unset GILUA_CUDA

inject --quiet -o part.rec --kernel add --skip 1 --count 2 -- ./run.sh ./app >out 2>err
is "some launches only" "0::2" "$?:$(cat err):$(events part.rec | grep -c '^launch')"
is "are replayed from memory as it was then" "ok 2 2" "$("$GILUA" replay.lua part.rec | tr '\t' ' ')"
inject --quiet -o dead.rec -- ./run.sh ./app die >out 2>err
is "a program that dies leaves what it did" "134:8" "$?:$(events dead.rec | grep -c '^launch')"

FAKE_CUPTI_UNSEEN=1 inject --quiet -o unseen.rec -- ./run.sh ./app >out 2>err
is "kernels whose functions nobody was seen to ask for, by their names" "0::8" \
  "$?:$(cat err):$(events unseen.rec | grep -c '^launch')"
inject --quiet -o texture.rec -- ./run.sh ./app texture >out 2>err
is "a texture over an array" "0::sampled 128 200" "$?:$(cat err):$(tail -1 out)"
like "with a handle of the recording's own" "^texture 0x6c61780000000000 array:0 kind=1 format=7" \
  "$(events texture.rec)"
is "which only that argument becomes by which it is read" 1 \
  "$(events texture.rec | grep '^launch.* sample' | grep -o 000000000078616c | wc -l)"
cat >kept.lua <<'LUA'
local r = require "gilua.core".record.open "texture.rec"
local text = r:events()
local at = text:match "\nvariable %d+ kept (0x%x+)"
local blob = at and text:match("\nwrite " .. at .. " [^\n]* (%x+)\n")
print(blob and ("%x"):format(("<I8"):unpack(r:blob(blob))))
LUA
is "and what a variable is given" 6c61780000000000 "$("$GILUA" kept.lua)"
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" lower.lua texture.rec texture_low.rec
is "gives the same" "ok 8 8" "$("$GILUA" replay.lua texture_low.rec | tr '\t' ' ')"
cat >on_gpu.lua <<'LUA'
local r, gpu = require "gilua".recording.open "texture.rec", require "gilua".device "cuda"
local m = assert(gpu:replay(r.file)):run {}
print(m.status, m.message)
LUA
like "on a GPU it becomes that of now, which the fake one's driver calls 7" "0x7 is no texture" "$(
  env -u LD_LIBRARY_PATH GILUA_NVJITLINK=/none \
    GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so} "$GILUA" on_gpu.lua 2>&1)"
printf '%s\n' '.version 8.0' '.target sm_70' '.address_size 64' '.entry idle() { ret; }' >idle.ptx
inject --quiet -o file.rec -- ./run.sh ./app file idle.ptx >out 2>err
is "a module of a file" "0::3" "$?:$(cat err):$(events file.rec | grep -c '^module')"

# --- machine code: its launches are opaque, and what they wrote is kept as data ---

FAKE_CUPTI_CUBIN=1 inject -o machine.rec -- ./run.sh ./app mixed >out 2>err
is "with kernels of machine code the program is recorded whole" "0:mixed 8 11 155" "$?:$(tail -1 out)"
like "and how many launches these are is said" \
  "has 12 launches of 3 kernels, 7 of them opaque \(machine code alone\), and" "$(cat err)"
events machine.rec >machine.txt
is "code, launches, what an opaque one reads and what it wrote, in their order" \
  "launch scale read 512 cubin launch add wrote 512 launch scale read 512 launch add wrote 512 read 200" \
  "$(tail -13 machine.txt | sed -nE 's/^launch [0-9]+ (\w+) .*/launch \1/p; s/^(cubin) .*/\1/p
    s/^(read|wrote) 0x\w+400 ([0-9]+) .*/\1 \2/p' | xargs)"
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" lower.lua machine.rec machine_low.rec
is "the virtual GPU takes what they wrote" "ok 12 12" "$("$GILUA" replay.lua machine_low.rec | tr '\t' ' ')"
is "a GPU does them" "ok 12 12" "$(
  env -u LD_LIBRARY_PATH GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so} \
    "$GILUA" gpu.lua machine_low.rec | tr '\t' ' ')"
cat >wrong.lua <<'LUA'
local gi = require "gilua"
local r <close> = gi.recording.open "machine_low.rec"
local wrong = {}
for i, read in ipairs(r:replay { code = { [2] = (r:module(2):gsub("%%r6, %%r2", "%%r2, %%r2")) } }.reads) do
  if not read.same then wrong[#wrong + 1] = i end
end
print(table.concat(wrong, " "))
LUA
is "what opaque launches alone read of other code is seen to be wrong" "10 11" "$("$GILUA" wrong.lua)"
# The same in a closed library: what it wrote is kept where another kernel or the host sees it.
echo 'int run(int n, char **v); int main(int n, char **v) { return run(n, v); }' >main.c
$cc -Dmain=run -O1 -shared -fPIC -o libtorch_app.so "$TOP/tests/programs/injected.c" "$TOP/lib/libcuda.so.1" &&
  $cc -o closed_app main.c ./libtorch_app.so -Wl,-rpath,"$TMP"
FAKE_CUPTI_CUBIN=1 inject -o library.rec -- ./run.sh ./closed_app mixed >out 2>err
is "kernels of a closed library are recorded too" "0:mixed 8 11 155" "$?:$(tail -1 out)"
events library.rec >library.txt
is "what they wrote is kept before other kernels and what the host reads" \
  "launch scale read 512 cubin launch add wrote 512 launch scale read 512 launch add wrote 200 read 200" \
  "$(tail -13 library.txt | sed -nE 's/^launch [0-9]+ (\w+) .*/launch \1/p; s/^(cubin) .*/\1/p
    s/^(read|wrote) 0x\w+400 ([0-9]+) .*/\1 \2/p' | xargs)"
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" lower.lua library.rec library_low.rec
like "and the virtual GPU gives the same" "^ok ([0-9]+) \1$" "$("$GILUA" replay.lua library_low.rec | tr '\t' ' ')"

# Triton's cache has the PTX of the same bytes; that of others, or PTX that the driver refuses, is none.
cat >cache.lua <<'LUA'
local r = require "gilua.core".record.open "machine.rec"
for number, name in r:events():gmatch "\ncubin (%d+) (%x+)" do
  local code = r:blob(name)
  for path, text in pairs { k = code, other = code:gsub("ELF", "elf", 1) } do
    path = ("cache/%s/%s"):format(number, path)
    io.open(path .. ".cubin", "wb"):write(text):close()
    io.open(path .. ".ptx", "wb"):write(path:find "k$" and code:match "%.version[^\0]*" or "none"):close()
  end
end
LUA
mkdir -p cache/1 cache/3 && "$GILUA" cache.lua
triton() { TRITON_CACHE_DIR=$TMP/cache FAKE_CUPTI_CUBIN=1 inject -o "$1" -- ./run.sh ./app mixed >out 2>err; }
triton triton.rec
is "PTX beside the machine code is recorded in its place" "0:mixed 8 11 155:0" \
  "$?:$(tail -1 out):$(grep -c 'opaque' err)"
is "and runs on the virtual GPU" "ok" "$(
  LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" lower.lua triton.rec triton_low.rec
  "$GILUA" replay.lua triton_low.rec | cut -f1)"
for n in 1 3; do echo none >cache/$n/k.ptx; done
triton refused.rec
like "PTX that the driver refuses stays machine code" "of 3 kernels, 7 of them opaque" "$(cat err)"
cat >add.cu <<'CU'
extern "C" __global__ void add(int *p) { p[threadIdx.x] += 1; }
CU
sed 's/1;/2;/' add.cu >two.cu
fails "machine code alone evolves not" "add was recorded as machine code, .*name its source" \
  "$GILUA" new machine_low.rec -o none --kernel add
out=$("$GILUA" new machine_low.rec -o source --source add.cu --kernel add 2>&1)
like "its source is compared with what it wrote" \
  "add.cu: kernel add was recorded as machine code; what is copied out is the same with it, to the bit" \
  "$out"
{ echo 'add = RawKernel(r"""'; cat add.cu; echo '""", "add")'; } >add.py
out=$("$GILUA" new machine_low.rec -o python --source add.py --kernel add 2>&1)
like "so is the text in a Python file's string" "add.py: kernel add was recorded .* to the bit" "$out"
fails "another source is refused" "two.cu does not give the kernels that were recorded" \
  "$GILUA" new machine_low.rec -o other --source two.cu --kernel add
out=$("$GILUA" check source)
like "and mutants are held against that" "score 1.00: 3 of 3 changes of the kernel are noticed" "$out"
LUA_PATH="$TOP/tests/lua/?.lua;;" GILUA_NVJITLINK=/none \
  GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so} env -u LD_LIBRARY_PATH \
  "$GILUA" check source --device cuda >out 2>&1
like "on a GPU too" "answers, largest difference 0 of 0" "$(cat out)"

# What needs the driver by its own name alone, and has device code in it.
$cc -DCLOSED -O1 -c -o closed.o "$TOP/tests/programs/injected.c"
nm -u closed.o | awk '$2 ~ /^cu[A-Z]/ { print "int " $2 "(void) { return 0; }" }' >stub.c
$cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda_stub.so stub.c && $cc -o closed closed.o libcuda_stub.so
fails "CUDA's library linked in, and no GPU" "nothing can take its place without a GPU" \
  env -u LD_LIBRARY_PATH "GILUA_CUDA=$TMP/none" "$GILUA" record -o auto.rec -- ./closed
FAKE_CUPTI_CONFIG=$TMP/config LD_PRELOAD=$GILUA_CUPTI \
  GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so} \
  "$GILUA" record --quiet -o auto.rec -- ./closed >out 2>err
is "with a GPU that is recorded on it, without --inject" "0::" "$?:$(cat err):$(diff own.out out)"
is "as it is" "$(events auto.rec | sed -n '/^module/p')" "$(sed -n '/^module/p' a.txt)"

refused() { # refused TEXT REGEX PROGRAM…
  local text=$1 regex=$2 out
  shift 2
  out=$(inject -o no.rec -- "$@" 2>&1 >/dev/null)
  [ $? = 4 ] && grep -qE -- "$regex" <<<"$out" && [ ! -e no.rec ]
  ok $? "$text" "$out"
}
refused "what is not recorded is refused, and there is no recording" \
  "gilua: the program makes a surface, .*\(cuSurfObjectCreate\), which cannot" \
  ./run.sh ./app surface
FAKE_CUPTI_CUBIN=bare refused "machine code that does not say what it is given" \
  "the parameters of kernel add are not understood: .*has no kernel 'add'" ./run.sh ./app
FAKE_CUPTI_TAKEN=1 refused "another tool at it" "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.*a profiler" \
  ./run.sh ./app
misused "an option of the virtual GPU" "--check is of the virtual GPU, and ./app is recorded on" \
  inject --check races -o no.rec -- ./app
out=$(inject -o no.rec -- true 2>&1)
is "a program that uses no driver" "0:gilua: the program called nothing of CUDA's driver: there is no recording" "$?:$out"
GILUA_CUPTI=/nowhere fails "no CUPTI" "GILUA_CUPTI is '/nowhere', where there is no CUPTI" \
  inject -o no.rec -- ./app
finish
