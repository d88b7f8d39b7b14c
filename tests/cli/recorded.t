#!/bin/bash
# A problem of a recording: gilua new, check, evolve, verify and apply.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec

misused "options of a source without one" "for the file that --source names" "$GILUA" new a.rec --define X
misused "a file that is none" "app.cu is no recording" "$GILUA" new a.rec p app.cu --source app.cu
fails "a source that is not there" "cannot read|nothing.cu" "$GILUA" new a.rec p --source nothing.cu
is "leaves no folder" no "$([ -e p ] && echo yes || echo no)"
out=$("$GILUA" new a.rec b.rec -o p --source app.cu)
ok $? "a problem is made of recordings and a source" "$out"
like "what evolves, and what stays" "touch .* stays as it is" "$out"
"$GILUA" new a.rec -o parts --source app.cu --define A=1 --define B,C --include . >/dev/null
like "macros one by one" 'defines = . "A=1", "B", "C" .' "$(cat parts/problem.lua)"
fails "not where one is" "p is there already" "$GILUA" new a.rec p --source app.cu
out=$("$GILUA" check p)
ok $? "it is checked" "$out"
like "with the recording's name" "a.rec \(train\) on virtual NVIDIA H200 \(emu\)" "$out"
like "every piece is compared" "604 answers, largest difference 0" "$out"
out=$("$GILUA" evolve p --least 0.0001 --population 8 --generations 3 --seed 2 --out run)
ok $? "it evolves" "$out"
like "and is compared on the other recording" "on b.rec \(validate\), never seen in evolution" "$out"
like "its search is simulated from its archive" "; 0 were missing\." "$("$GILUA" replay run)"
cat >given.lua <<'LUA'
local gi = require "gilua"
local result = gi.json.decode(io.open("run/result.json"):read "a")
for _, grammar in ipairs { require("gilua.report.kept").read("run", result.kept).grammar, gi.problem("p").grammar } do
  local values = grammar:launch_values().scale
  for _, name in ipairs(gi.settings.keys(values)) do io.write(name, "=", values[name], " ") end
  print()
end
LUA
given=$("$GILUA" given.lua)
like "what its launches give is kept, for transformations" "^blockDim.x=[0-9]+ blockDim.y=[0-9]+ $" "$given"
is "as the recordings have it" 1 "$(sort -u <<<"$given" | wc -l)"
out=$("$GILUA" verify run)
like "verify runs all recordings" "  a.rec \(train\) +right.*b.rec \(validate\) +right" "$(tr '\n' ' ' <<<"$out")"
cp -r run wild
"$GILUA" -e '
local gi = require "gilua"
local text, rule = gi.textfile.read("wild/result.json", "it"), nil
for _, r in ipairs(gi.problem("p").grammar:rules()) do
  if r.type == "if" and r.text:find "i >= n" then rule = rule or r.name end
end
local result = gi.json.decode(text)
local best = text:find(gi.json.encode(result.best.genome), text:find("\"best\"", 1, true), true)
gi.textfile.write("wild/result.json", text:sub(1, best - 1) .. gi.json.encode(rule)
  .. text:sub(best + #gi.json.encode(result.best.genome)))'
out=$("$GILUA" verify wild 2>&1)
is "what does not run to its end is not verified" 1 $?
like "and why" "a.rec \(train\) +WRONG: illegal_address: out-of-bounds (read|write) of 4 bytes" "$out"
like "which is no count of answers" "a.rec \(train\) does not run to its end there \(illegal_address\)$" "$out"
"$GILUA" apply run --diff --anyway >run.diff
like "apply changes the user's source" "^--- app.cu" "$(cat run.diff)"
like "its own lines" "^-  __syncthreads\(\);" "$(cat run.diff)"
is "and nothing of the host's" 0 "$(grep -c '^[-+].*printf' run.diff)"

# What a GPU copied out is its own in the last bit: a source is held against the recorded code, here.
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" -e \
  'io.open("gpu.rec", "wb"):write(require("tape").recording(100, { wrong = 3.0000002 }))'
sed '0,/__syncthreads();/s///' app.cu >less.cu
out=$("$GILUA" new gpu.rec -o g --source less.cu 2>&1)
like "other PTX that gives the same as the recorded" \
  "less.cu does not give the PTX that was recorded: .*the same with it, to the bit" "$out"
sed 's/was - 4.0f/was - 2.0f/' app.cu >other.cu
fails "but not other code" "other.cu does not give the kernels that were recorded" \
  "$GILUA" new gpu.rec -o h --source other.cu

# Launches that do not depend on each other.
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/pairs_tape.lua" pairs.cu c.rec d.rec
like "on how many streams they go is a gene" "do not depend on each other: .* is a gene, streams" \
  "$("$GILUA" new c.rec d.rec -o pairs --source pairs.cu)"
like "beside others" "parameters +streams \(3\)" "$("$GILUA" check pairs)"
out=$("$GILUA" evolve pairs --population 8 --generations 3 --seed 1 --transform no --out several)
ok $? "evolution finds it" "$out"
like "and says what it does" "streams=2" "$out"
like "with the kernels" "twice on stream 1; thrice on stream 2, waiting for sum" "$(tr '\n' ' ' <<<"$out" | tr -s ' ')"
like "verify honours it" "c.rec \(train\) +right, 1.[45].*d.rec \(validate\) +right, 1.[45]" \
  "$("$GILUA" verify several | tr '\n' ' ')"
like "apply says what goes where" \
  "MARKED: launches that .* on 2 streams.* by hand: twice on stream 1; thrice on stream 2, waiting" \
  "$("$GILUA" apply several --anyway)"
sed 's/"streams": \[/"other": [/' several/result.json >several/less.json
mv several/less.json several/result.json
like "or who does" "2 streams.* by hand: m:explain\(\) at the prompt says which" \
  "$("$GILUA" apply several --anyway)"

sed -i '/streams = /d' pairs/problem.lua
like "two kernels that are launched one behind the other are one" "thrice is done by the threads of twice" \
  "$("$GILUA" evolve pairs --population 8 --generations 3 --seed 1 --out fused)"
like "that is verified" "c.rec \(train\) +right, 1.[45].*d.rec \(validate\) +right, 1.[45]" \
  "$("$GILUA" verify fused | tr '\n' ' ')"
out=$("$GILUA" apply fused --anyway)
like "and applied, the launch too" "twice<<<8, 64>>>\(nullptr, nullptr, argc, thrice_arguments\(" "$out"
like "which is said" "changed too: the launch of thrice in one with that of twice before it" "$out"
if command -v nvcc >/dev/null; then
  said=$(kept_nvcc -arch=sm_90 -o fused/applied -x cu fused/pairs.cu 2>&1)
  ok $? "and it compiles" "$said"
fi

mkdir links && ln -s ../a.rec links/a.rec
"$GILUA" new links/a.rec b.rec -o q >/dev/null
ok $([ -f q/a.rec ] && cmp -s a.rec q/a.rec; echo $?) "a relative link is followed" "$(ls -l q)"
out=$("$GILUA" check q)
like "without a source the PTX is what evolves" "search space +[0-9]+ instructions that genes may" "$out"
like "and its data are judged by instructions" "data +score 0.[0-9]+: [0-9]+ of [0-9]+ changes" "$out"
misused "there are no genes of a source" "leave out --genome source" "$GILUA" evolve q --genome source
out=$("$GILUA" evolve q --least 0.0001 --population 16 --generations 3 --seed 1 --out below)
ok $? "it evolves" "$out"
like "and simulated" "; 0 were missing\." "$("$GILUA" replay below)"
cp -r below odd
cat >odd.lua <<'LUA'
local store = assert(require("gilua.core").store.open "odd/archive.sqlite")
local scheme = assert(store:row "SELECT scheme FROM run").scheme
local changed, n = scheme:gsub('"kind": "ptx", "options": {', '%0 "weights": { "copy": -1 } ')
assert(n == 1 and store:run("UPDATE run SET scheme = ?1", changed))
LUA
"$GILUA" odd.lua
fails "not where its archive is a stranger's" "^gilua: odd: what its archive tells of its scheme is broken: .*a weight is negative.$" "$GILUA" replay odd
sed -i 's/gsub(.*/gsub('"'"'"draw": %b{}'"', '"'"draw": "own"'"')/" odd.lua
"$GILUA" odd.lua
first() { "$GILUA" replay "$1" | grep '^generation 1/'; }
is "a first population stays where genes cannot be drawn again" "$(first below)" "$(first odd)"
like "verified on all recordings" "b.rec \(validate\) +right" "$("$GILUA" verify below)"
misused "nothing is there to change in place" "has no source" "$GILUA" apply below --in-place --anyway
out=$("$GILUA" apply below --anyway)
like "apply says how a program gets it" "cuModuleGetFunction the name _Z5lowerPfPii, _Z5scalePfPKfi" "$out"
ptx() { "$GILUA" -e 'print((require "gilua".ptx(require "gilua".textfile.read(arg[1]))))' - "$1"; }
like "which is PTX" "PTX of [0-9]+ instructions" "$(ptx below/module.ptx)"
[ "$(grep -c '\.entry' below/module.ptx)" = 3 ] && ! cmp -s below/module.ptx q/module.ptx
ok $? "the whole module, changed"

# End to end, with made-up builds and programs.
misused "a build that nothing is run of" "--build goes with --run" "$GILUA" apply run --build true
fails "a build that fails at once" "'echo no; false' ended with status 1: no, before anything was" \
  "$GILUA" apply run --anyway --build "echo no; false" --run true
cp app.cu was.cu
fails "another text, which is undone" "with the changes: line 2 of what it prints is \`[0-9]+\` where it was \`[0-9]+\`; the sources are as they were again" \
  "$GILUA" apply run --anyway --run "echo first; grep -c '__syncthreads();' app.cu || true"
fails "a build that fails with it" "with the changes: 'cmp app.cu was.cu 2>&1' ended with status 1.*and so is what is built|with the changes: 'cmp app.cu was.cu 2>&1' ended" \
  "$GILUA" apply run --anyway --build "cmp app.cu was.cu 2>&1" --run true
fails "another status" "it ended with status 1 where it ended with 0" \
  "$GILUA" apply run --anyway --run "cmp -s app.cu was.cu"
fails "a file that holds something else" "of answers.txt is" \
  "$GILUA" apply run --anyway --run "cksum <app.cu >answers.txt"
fails "a file that is not written any more" "answers.txt is not written any more" \
  "$GILUA" apply run --anyway --run "cmp -s app.cu was.cu && echo 1 >answers.txt; true"
mkdir app.cu.orig
fails "changes that cannot be put in" "app.cu.orig.*the sources are as they were again" \
  "$GILUA" apply run --anyway --run true
rmdir app.cu.orig
is "all is as it was" "no difference" "$(cmp app.cu was.cu && [ ! -e app.cu.orig ] && echo no difference)"
out=$("$GILUA" apply run --anyway --build true --run 'date +%s; echo done | tee answers.txt')
ok $? "the same, but for what always differs" "$out"
like "is told" "prints and writes \(1 file\) what it did, and ends with status 0" "$out"
like "and what was not compared" "Not compared, .*: words of what it prints" "$out"
is "the changes stay" "changed" "$(cmp -s app.cu was.cu || echo changed)"
is "and the old file" "" "$(cmp app.cu.orig was.cu 2>&1)"
finish
