#!/bin/bash
# The folders that runs leave: what they keep of the problem, what apply, verify and --from make of
# them, and what of a stranger's is never run.
. "$(dirname "$0")/tap.sh"
mkdir "$TMP/my kernels"
cd "$TMP/my kernels" || exit 1
sed 's/n_out = 100000,/n_out = 2000,/' "$TOP/tests/own/shared.cu" >"$TMP/shared.cu"
cp "$TMP/shared.cu" "$TOP/tests/own/saxpy.cu" .
"$GILUA" -e 'require("gilua.study.adequacy").MOST = 10' new shared.cu >new.log
ok $? "new" "$(cat new.log)"

json() { "$GILUA" "$TMP/json.lua" "$1"; }
cat >"$TMP/json.lua" <<'LUA'
local gi = require "gilua"
local value, why = gi.json.decode(io.read "a")
if value == nil then gi.fail("%s", why) end
for word in arg[1]:gmatch "[^.]+" do value = value[tonumber(word) or word] end
print(value)
LUA

# a run keeps what it ran
"$GILUA" evolve shared --least 0.0001 --scheme langdon --population 12 --generations 2 --quiet --jobs 1 --transform no --seed 6 --out run
is "a run that found something ends with 0" 0 $?
for file in problem.lua kernel.cu elsewhere/1/shared.cu grammar.bnf; do
  [ -f "run/problem.kept/$file" ]
  ok $? "it keeps $file"
  grep -q "$(sha256sum "run/problem.kept/$file" | cut -d' ' -f1)" run/result.json
  ok $? "whose SHA-256 result.json has"
done
cmp -s shared/problem.lua run/problem.kept/problem.lua && cmp -s shared.cu run/problem.kept/elsewhere/1/shared.cu
ok $? "as they were"

# a winner in the code, whatever evolution found: the last statement goes
rule=$(sed -nE 's/.*<(_kernel.cu_[0-9]+)> ::= .*/<\1>/p' run/problem.kept/grammar.bnf | tail -1)
winner() { cp -r run "$1" && sed -i -E '/^  "best"/,/^  }/s/"genome": "[^"]*"/"genome": "'"$2"'"/' "$1/result.json"; }
winner code "$rule"

# whose code it is
out=$("$GILUA" verify run --cases 1 --jobs 1)
like "verify says whose code it runs" \
  "^Runs shared/problem.lua \(SHA-256 $(sha256sum shared/problem.lua | cut -c1-12)…\), as it was in the run" "$out"
cp shared/problem.lua as-it-was.lua
echo "-- changed" >>shared/problem.lua
like "and what has changed" "changed since the run: shared/problem.lua; what ran is in run/problem.kept" \
  "$("$GILUA" verify run --cases 1 --jobs 1)"
is "for programs too" "shared/problem.lua" "$("$GILUA" verify run --cases 1 --jobs 1 --json | json code.changed.1)"

# apply runs nothing
cat >shared/problem.lua <<'LUA'
io.open("ran", "w"):close()
os.exit(42)
LUA
out=$("$GILUA" apply code --diff 2>&1)
is "apply --diff does not run problem.lua" 0 $?
like "and prints the difference" "^-" "$out"
out=$("$GILUA" apply code 2>&1)
is "nor does apply" 0 $?
like "it writes beside the run" "code/shared.cu is .*/shared.cu with the changes" "$out"
[ ! -e ran ]
ok $? "nothing of it ran"
"$GILUA" verify code >/dev/null 2>&1
is "which verify would" 42 $?
cp -r code stopped
sed -i -E 's/"stopped": ?null/"stopped": "interrupted"/' stopped/result.json
fails "the best of a run that was stopped is put nowhere unread" "the best so far of a run that was stopped" "$GILUA" apply stopped
is "unless told to" 0 "$("$GILUA" apply stopped --anyway >/dev/null; echo $?)"
rm -f ran && mv shared away
is "nor is the problem's folder needed" "$out" "$("$GILUA" apply code 2>&1)"
fails "verify says where what ran is" "no problem.lua in shared .*; what code ran is in code/problem.kept" "$GILUA" verify code
mv away shared && cp as-it-was.lua shared/problem.lua

# a stranger's folder
spoil() { rm -rf bad && cp -r code bad && "$@"; }
spoil sed -i 's|"name": "kernel.cu"|"name": "../../shared/kernel.cu"|' bad/result.json
fails "a file outside of the folder" "kept.files has a file outside of its folder" "$GILUA" apply bad
spoil sh -c 'echo "// more" >>bad/problem.kept/kernel.cu'
fails "a copy that was changed" "bad/problem.kept/kernel.cu is not what the run kept" "$GILUA" apply bad
spoil sh -c 'rm bad/problem.kept/kernel.cu && mkfifo bad/problem.kept/kernel.cu'
fails "a pipe in its place hangs nobody" "bad/problem.kept/kernel.cu is not there" timeout 20 "$GILUA" apply bad
spoil rm bad/problem.kept/grammar.bnf
fails "a copy that is gone" "bad/problem.kept/grammar.bnf is not there any more" "$GILUA" apply bad
spoil sed -i 's/"kept": {/"was": {/' bad/result.json
fails "a run that keeps nothing" "does not tell what was run .*: run it again" "$GILUA" apply bad
spoil sh -c 'head -c 900 run/result.json >bad/result.json'
fails "a result cut short" "bad/result.json is not what a run leaves: not JSON" "$GILUA" verify bad
spoil sh -c '"$1" -e "io.write((\"[\"):rep(1000000))" >bad/result.json' - "$GILUA"
fails "a result nested deep" "bad/result.json is not what a run leaves: .*nested" "$GILUA" apply bad
spoil sh -c 'printf "{ \"folder\": 7, \"best\": { \"genome\": {} } }" >bad/result.json'
ends 3 "fields of other types" "names no winner" "$GILUA" apply bad
cat >"$TMP/odd.lua" <<'LUA'
local gi = require "gilua"
local result = gi.json.decode(gi.textfile.read(arg[1], "it"))
result.kept[arg[2]] = 7
gi.report.write(arg[1], gi.json.encode(result))
LUA
for field in kernel source options files parameters made_from; do
  spoil "$GILUA" "$TMP/odd.lua" bad/result.json $field
  fails "$field of another kind" "bad/result.json does not tell what was run" "$GILUA" apply bad
done

# where apply writes
echo mine >shared.cu.orig
fails "a FILE.orig of one's own is kept" "shared.cu.orig is there already" "$GILUA" apply code --in-place --quiet
is "as it was" mine "$(cat shared.cu.orig)"
rm shared.cu.orig
cmp -s shared.cu "$TMP/shared.cu"
ok $? "and the file is"
if [ "$(id -u)" = 0 ]; then
  echo "# left out for root: a file that cannot be written"
else
  chmod a-w shared.cu
  fails "a file that cannot be written" "cannot change .*/shared.cu: Permission denied" "$GILUA" apply code --in-place
  [ ! -e shared.cu.orig ]
  ok $? "leaves nothing"
  chmod u+w shared.cu
fi
mkdir code/shared.cu.d && rm -f code/shared.cu && mkdir code/shared.cu
fails "a copy that cannot be written" "^gilua: cannot write code/shared.cu: Is a directory$" "$GILUA" apply code
rm -r code/shared.cu code/shared.cu.d
sed -i '1s/^/\n/' shared.cu
fails "a file changed since" "shared.cu is not what it was in the run" "$GILUA" apply code
cp "$TMP/shared.cu" .

# no winner
winner nothing ""
no_winner "nothing to apply" "nothing found nothing better than the kernel as it is" "$GILUA" apply nothing

# what compilers are told
mkdir flags
cat >flags/kernel.cu <<'CUDA'
extern "C" __global__ void k(float *y, const float *x, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = expf(x[i]) / (1.0f + x[i]);
}
CUDA
cat >flags/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
  tolerance = { max_error = 1e-4 }, tune_params = { math = { "precise", "fast" } },
  args = { { name = "y", type = "f32", count = "size_x", role = "out" },
    { name = "x", type = "f32", count = "size_x", fill = { 0, 1 } },
    { name = "n", type = "i32", value = "size_x" } } }
LUA
"$GILUA" tune flags --quiet --jobs 1 --out flagged
ok $? "flags are tuned"
like "and apply says which" "Besides, nvcc is to be told: -use_fast_math$" "$("$GILUA" apply flagged --anyway 2>&1)"

# tune leaves a run
tunes() { # tunes DEFAULT VALUES: the block size, in problem.lua
  sed -i "s/^  block_size_x = .*/  block_size_x = $1,/; s/^    block_size_x = {.*/    block_size_x = { $2 },/" \
    shared/problem.lua
}
tunes 32 '32, 64, 256, 512'
"$GILUA" tune shared --quiet --jobs 1 --out tuned
ok $? "tune finds a better setting"
best=$(json best.genome <tuned/result.json)
like "result.json has it" "^block_size_x=(64|256|512)$" "$best"
like "apply writes it" "^\+   int block = ${best#block_size_x=};" "$("$GILUA" apply tuned)"
like "verify measures it" "all right.* times faster" "$("$GILUA" verify tuned --cases 1 --jobs 1)"
out=$("$GILUA" evolve shared --from tuned --population 4 --generations 1 --jobs 1 --out further)
ok $? "evolve starts from it" "$out"
like "and says so" "^Starts from $best" "$out"
like "what is next can be typed, spaces and all" "gilua evolve shared --from 'two words', or gilua verify 'two words'" \
  "$("$GILUA" tune shared --jobs 1 --out "two words")"
is "it is in the result" "$best" "$(json start <further/result.json)"
like "a first kernel is what tune found" "$best" "$(json best.genome <further/result.json)"
out=$("$GILUA" evolve shared --tune --population 4 --generations 1 --jobs 1 --out both)
ok $? "--tune does both" "$out"
is "starting from the same" "$best" "$(json start <both/result.json)"
[ -s both/results.t4.json ]
ok $? "every setting is kept"
out=$("$GILUA" evolve shared --from further --population 4 --generations 1 --jobs 1 --quiet --out again)
ok $? "evolution may start from an earlier one" "$out"
misused "a share of transformations" "draws transformations as often as they pay" "$GILUA" evolve shared --transform 0.5
misused "the usual search of instructions" "--scheme steady is for genes of the source" \
  "$GILUA" evolve shared --scheme steady --genome ptx
misused "one of both" "give one of them" "$GILUA" evolve shared --from tuned --tune
fails "from what is no run" "shared is no run" "$GILUA" evolve shared --from shared
winner other "<_kernel.cu_9999>"
fails "from another kernel's" "the winner of other does not fit shared" "$GILUA" evolve shared --from other
tunes 32 '32'
fails "nothing to tune" "no parameter with more than one value" "$GILUA" evolve shared --tune --out x
tunes 512 '8, 512'
no_winner "a setting that is the best as it is" "^$" "$GILUA" tune shared --quiet --jobs 1 --out still
is "is no winner" "" "$(json best.genome <still/result.json)"

# --json: one object, whatever happens; of what leaves a run, the last but one of several
is "check" true "$("$GILUA" check shared --json --jobs 1 | json ok)"
is "tune" "" "$("$GILUA" tune shared --json --jobs 1 --out t 2>/dev/null | grep '"event": "result"' | json best.genome)"
is "verify" true "$("$GILUA" verify tuned --json --cases 1 --jobs 1 | json all_right)"
is "doctor" gilua "$("$GILUA" doctor --json | json findings.1.what)"
for command in check tune verify; do
  out=$("$GILUA" $command nowhere --json 2>err)
  is "$command's failure: its status" 1 $?
  is "$command's failure is an object too" "$(sed 's/^gilua: //' err)" "$(json error <<<"$out")"
done
sed -i 's/^return {/return { reference = function(a) for i = 1, #a[2] do a[2][i] = 7 end end,/' shared/problem.lua
"$GILUA" check shared --json --jobs 1 >answer.json
is "a problem with something wrong: its status" 1 $?
is "and no" false "$(json ok <answer.json)"
finish
