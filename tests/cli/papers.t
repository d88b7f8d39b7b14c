#!/bin/bash
# The kernels of both papers in programs of people: host code that makes data, launches, and checks
# with the CPU. Recorded, replayed, and made problems.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - programs of the papers # SKIP there is no nvcc on this machine"
  finish
  exit
fi
sanitized "programs of the papers" && { finish; exit; }

cat >answers.lua <<'END'
local gi = require "gilua"
local app <close> = gi.recording.open(arg[1] .. ".1.rec")
local same, n = 0, 0
for _, read in ipairs(app:replay().reads) do
  n, same = n + 1, same + (read.same and 1 or 0)
end
print(("replayed: %d of %d pieces are the same"):format(same, n))
local problem = gi.problem(arg[1])
local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
local m = farm:evaluate({ "" }, gi.own.case(problem, 1))[1]
print(gi.fitness.right(m) and "right" or m.status, m.n)
END

story() { # NAME ARGUMENTS OTHER-ARGUMENTS WHAT-IT-PRINTS ANSWERS
  kept_nvcc -std=c++14 -w -cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo \
    -I "$TOP/kernels/$1" -o "$1.app" "$TOP/tests/programs/host_$1.cu" >nvcc.log 2>&1
  ok $? "$1's program is built" "$(cat nvcc.log)"
  # shellcheck disable=SC2086 # several arguments
  is "$1: the kernel is right by its CPU" "$4" "$("$GILUA" record --quiet -o "$1.1.rec" -- "./$1.app" $2 2>&1)"
  # shellcheck disable=SC2086
  "$GILUA" record --quiet -o "$1.2.rec" -- "./$1.app" $3 >/dev/null 2>&1
  ok $? "$1: another input"
  out=$("$GILUA" new "$1.1.rec" "$1.2.rec" -o "$1" --source "$TOP/kernels/$1/kernel.cu" 2>&1)
  ok $? "$1: a problem is made of both" "$out"
  out=$("$GILUA" answers.lua "$1" 2>&1)
  like "$1: a replay gives the same bytes" "replayed: 1 of 1 pieces are the same" "$out"
  like "$1: the kernel as it is gives the program's answers" "^right	$5$" "$out"
}

story niftyreg "10 1" "12 2" "28 groups, right" 2800
story stereo "70 12 1" "66 14 2" "840 pixels, 0 wrong" 840
finish
