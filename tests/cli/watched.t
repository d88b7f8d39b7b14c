#!/bin/bash
# Arrays that a rewriting takes for different memory are watched on the virtual GPU: where they are
# one the mutant is refused with both lines, where not apply says on how many kinds of data.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir one two table
cat >one/kernel.cu <<'CUDA'
extern "C" __global__ void scale(float *y, const float *w, int n, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < count; k++) {
        float half = 0.5f * w[i];
        y[i] = y[i] * 0.25f + half;
    }
}
CUDA
cp one/kernel.cu two
cp one/kernel.cu table
problem() { # problem SAME: is w the memory of y?
  cat <<LUA
local gi = require "gilua"
local SAME = $1
local function case(_, spec)
  local n = spec.n or 1000
  local y, w, expected = gi.array("f32", n), gi.array("f32", n), gi.array("f32", n)
  for i = 1, n do
    y[i], w[i] = SAME and 0 or i, 2 * i
    local v = y[i]
    for _ = 1, 32 do v = v * 0.25 + 0.5 * (SAME and v or w[i]) end
    expected[i] = v
  end
  return { name = "scale", answers = n, n = n, w = w, output = y, initial = y:copy(), expected = expected,
           compare = {} }
end
return { name = "scale", source = "kernel.cu", kernel = "scale", parameters = {},
  grammar = { pragmas = false, consts = false, launch_bounds = false, restricts = false },
  tolerance = { max_error = 1e-3, wrong_above = 1e-3 }, checked_case = { n = 100 }, case = case,
  launch = function(c)
    return { grid = (c.n + 63) // 64, block = 64,
             args = { c.output, SAME and c.output or c.w, { "i32", c.n }, { "i32", 32 } } }
  end }
LUA
}
problem true >one/problem.lua
problem false >two/problem.lua
cat >table/problem.lua <<'LUA'
return { source = "kernel.cu", kernel = "scale", size = 4096, block_size_x = 64,
  grammar = { pragmas = false, consts = false, launch_bounds = false, restricts = false },
  args = { { name = "y", type = "f32", count = "size_x", role = "inout", fill = { 0, 1 } },
           { name = "w", type = "f32", count = "size_x", fill = { 0, 1 } },
           { name = "n", type = "i32", value = "size_x" }, { name = "count", type = "i32", value = 32 } } }
LUA
evolve() { "$GILUA" evolve "$1" --population 24 --generations 2 --weak-data --out "$1-run"; }

said="lines 6 and 7 touch the same byte of .w. and .y. in block \(0,0,0\), thread \(0,0,0\)"
evolve one >one.log
like "an array that is hoisted, and is the one that is written, whatever its answers are (all are right)" \
  "broken_promise: T:hoist<5>\(\): T:hoist<5>\(\) promises that .w. and .y. are different memory, but $said" \
  "$(cat one-run/log.txt)"
like "an element that is kept" "broken_promise: T:keep<5>\(\): .* $said" "$(cat one-run/log.txt)"
is "a block may do what several did: what one thread does stays in its order" 0 \
  "$(grep -c 'broken_promise: T:merge' one-run/log.txt)"
like "they are counted" '"broken_promise": [1-9]' "$(cat one-run/result.json)"
like "a search is simulated with them" "; 0 were missing\." "$("$GILUA" replay one-run)"

evolve two >two.log
like "two arrays: it wins" 'T:[a-z]*<5>' "$(cat two.log)"
is "and is not marked" 0 "$(grep -c MARKED two.log)"
kept='romises by T:[a-z]*<5>\(\) that `w` and `y` are different memory: watched on 1 kind of data$'
like "apply says that it was watched" "^P$kept" "$("$GILUA" apply two-run)"
like "verify, too" "^P$kept" "$("$GILUA" verify two-run --cases 1)"
like "and result.json" '"promised": \[ *"by T:' "$(tr -d '\n' <two-run/result.json)"
like "and the report" "It promises by T:.*watched on 1 kind of data" "$(cat two-run/report.html)"

evolve table >table.log
like "on data of other kinds, too" \
  'by T:[a-z]*<5>\(\) that `w` and `y` are different memory: watched on [1-9][0-9]* kinds of data$' \
  "$("$GILUA" apply table-run)"

# Nobody sees where an address leads: the promise is a person's.
sed -i 's/check_races = [a-z"]*,//; s/checked_case = /check_races = "shared", checked_case = /' two/problem.lua
mv two unseen
evolve unseen >unseen.log
like "what was not watched is marked" \
  'MARKED: promises by T:[a-z]*<5>\(\) that `w` and `y` are different memory, and what its case does was not watched' \
  "$(cat unseen.log)"
fails "and wants --anyway" "promises by T:[a-z]*<5>.*was not watched: read it" "$GILUA" apply unseen-run
like "which says so again" "MARKED: promises by T:.*was not watched" "$("$GILUA" apply unseen-run --anyway)"
finish
