#!/bin/bash
# Bad input: one sentence that says what, where and what to do; an exit code; nothing lost.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

script() { printf '%s\n' "$@" >script.lua; }
quick="$TOP/experiments/quickstart.lua"
small=(--population 4 --generations 1 --side 20 --quiet --jobs 1)

script 'local gi = require "gilua"' 'local image, why = gi.nifti.read(arg[1])' 'if not image then gi.fail("%s", why) end'
fails "a NIfTI that is not there" "missing.nii.*No such file" "$GILUA" script.lua missing.nii
head -c 200 /dev/zero >zeros.nii
fails "a file that is no NIfTI" "zeros.nii" "$GILUA" script.lua zeros.nii
"$GILUA" -e 'local gi = require "gilua" assert(gi.nifti.write("whole.nii", gi.array("f32", 8, 9, 10)))'
head -c 2000 whole.nii >cut.nii
fails "a truncated NIfTI" "cut.nii.*(truncated|short|bytes)" "$GILUA" script.lua cut.nii
perl -e 'print pack("l< a8 s<2 q<8 x24 d<8 q< x364", 540, "n+2\0\r\n\x1a\n", 16, 32, 3, 8, 9, 10, (1) x 12, 544)' >two.nii
for bytes in 4 100 348 400 539 540; do
  head -c $bytes two.nii >two-cut.nii
  said=$("$GILUA" script.lua two-cut.nii 2>&1)
  [ $? = 1 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qE "^gilua: two-cut.nii (is truncated|is not a NIfTI)" <<<"$said"
  ok $? "a NIfTI-2 cut to $bytes bytes" "$said"
done
is "each is one sentence" 1 "$("$GILUA" script.lua cut.nii 2>&1 | wc -l)"

printf '__global__ void there(float *x) { x[0] = 1.0f; }\n' >k.cu
script 'local gi = require "gilua"' 'local g, why = gi.grammar.parse("k.cu", { kernel = arg[1] })' 'if not g then gi.fail("%s", why) end'
fails "a kernel file with no such entry" "k.cu.*elsewhere" "$GILUA" script.lua elsewhere
fails "an unbalanced source" "broken.cu" "$GILUA" -e 'local gi = require "gilua" local g, why = gi.grammar.parse("broken.cu", { text = "__global__ void f() { if (1) {" }) if not g then gi.fail("%s", why) end'

script 'local gi = require "gilua"' 'local p = gi.problem "kernels/niftyreg"' 'local s, why = p.grammar:apply(arg[1])' 'if not s then gi.fail("%s", why) end'
fails "a malformed gene" "<_kernel.cu_251" "$GILUA" script.lua "<_kernel.cu_251"
fails "a gene that names no rule" "<_kernel.cu_9999>" "$GILUA" script.lua "<_kernel.cu_9999>"
fails "a gene that joins two types" "IF_kernel.cu_245" "$GILUA" script.lua "<IF_kernel.cu_245><_kernel.cu_283>"
fails "a problem that is not there" "no problem.lua in nowhere" "$GILUA" -e 'require("gilua").problem "nowhere"'
fails "a device that is not there" "toaster" "$GILUA" "$quick" "${small[@]}" --out o --device toaster

misused "an unknown option" "unknown option --populaton; did you mean --population" "$GILUA" "$quick" --populaton 3
misused "an option's value out of range" "--population must be at least" "$GILUA" "$quick" --population 0
workers=(-e 'local gi = require "gilua"; print(gi.farm(gi.problem "kernels/reduction").jobs)')
is "GILUA_JOBS says how many workers there are" 3 "$(cd "$TOP" && GILUA_JOBS=3 "$GILUA" "${workers[@]}")"
is "and --jobs knows better" 1 "$(cd "$TOP" && GILUA_JOBS=3 "$GILUA" --jobs 1 "${workers[@]}")"
for jobs in two 0 1.5; do
  fails "GILUA_JOBS=$jobs" "^gilua: GILUA_JOBS is '$jobs': .*a whole number from 1; .unset GILUA_JOBS. makes" \
    env -C "$TOP" GILUA_JOBS=$jobs "$GILUA" "${workers[@]}"
done
fails "no NVRTC" "NVRTC|libnvrtc" env GILUA_NVRTC=/nowhere "$GILUA" "$quick" "${small[@]}" --out o
: >file
fails "an --out that cannot be written" "file/out" "$GILUA" "$quick" "${small[@]}" --out file/out

sed 's|^return |&|; s|kernels/niftyreg|'"$TOP"'/kernels/niftyreg|' "$quick" >hook.lua
grep -q 'gi.evolve.run *{' hook.lua || grep -q 'evolve.run' hook.lua
ok $? "the quickstart calls gi.evolve.run (the next test edits it)"
perl -0pi -e 's/(evolve\.run *\(? *\{)/$1\n  on_generation = function(_, record) if record.generation == 2 then error("my hook is wrong") end end,/' hook.lua
out=$("$GILUA" hook.lua --population 4 --generations 3 --side 20 --quiet --jobs 1 --out kept 2>&1 >/dev/null)
is "a Lua error in a hook ends the run with exit 1" 1 $?
like "and names the user's line" "hook.lua:[0-9]+: my hook is wrong" "$out"
like "and keeps the results so far" '"generations"' "$(cat kept/result.json 2>/dev/null)"
is "one line for each whole generation" 3 "$(wc -l <kept/generations.csv)"
finish
