#!/bin/bash
# What a newcomer meets in the first hour: mistakes in a folder of one's own, each with one sentence.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

mkdir smooth
cat >smooth/kernel.cu <<'CU'
#undef useLdg
extern "C" __global__ void smooth(float *out, const float *in, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef useLdg
  out[i] = 0.5f * __ldg(&in[i]);
#else
  out[i] = 0.5f * in[i];
#endif
}
CU
cat >smooth/reference.c <<'C'
void halved(float *out, const float *in, int n) { for (int i = 0; i < n; i++) out[i] = 0.5f * in[i]; }
C
cat >smooth/problem.lua <<'LUA'
local gi = require "gilua"
return {
  name = "smooth", source = "kernel.cu", kernel = "smooth", reference = "reference.c",
  parameters = {
    { name = "useLdg", switch = true, value = "1", doc = "loads through the read-only cache" },
    { name = "block_size", values = { 32, 64, 128 }, default = 128, in_source = false },
  },
  tolerance = { max_error = 1e-5, wrong_above = 0.1 },
  case = function(problem, spec)
    local input, expected = gi.array("f32", spec.n), gi.array("f32", spec.n)
    for i = 1, spec.n do input[i] = i end
    problem.lib:call("halved", { expected, input, { "i32", spec.n } })
    return { name = "n " .. spec.n, answers = spec.n, n = spec.n, input = input,
      output = gi.array("f32", spec.n), expected = expected, compare = { limit = 0.1 } }
  end,
  checked_case = { n = 500, seed = 1 },
  launch = function(case, values)
    return { grid = (case.n + 127) // 128, block = 128,
      args = { case.output, case.input, { "i32", case.n } } }
  end,
}
LUA

variant() { # variant NAME SED: the folder with a change of its problem.lua
  rm -rf "$1" && cp -r smooth "$1" && sed -i "$2" "$1/problem.lua"
}
check_small() { "$GILUA" -e "
  local gi = require 'gilua'
  local p = gi.problem '$1'
  local farm <close> = gi.farm(p, { jobs = 1 })
  print(farm:evaluate({ '' }, p.checked_case)[1].status)"; }

like "the C reference of one's own folder is compiled" "^ok" "$(check_small smooth 2>&1)"
[ -e smooth/reference.so ]
ok $? "  beside it"
variant typo 's/values = { 32/valeus = { 32/'
fails "a misspelt field of a parameter" "typo/problem.lua: parameter 'block_size' has no field 'valeus'; did you mean 'values'" \
  "$GILUA" check typo
variant switch 's/switch = true, //'
fails "a value without its switch" "parameter 'useLdg' has a value and is no switch: add switch = true" "$GILUA" check switch
variant expected 's/expected = expected, //'
out=$(check_small expected 2>&1)
like "a case without its right answers" "expected/problem.lua: the case 'n 500' has no expected: .case. returns" "$out"
is "  is one sentence, without a traceback" 0 "$(grep -c traceback <<<"$out")"

# --- answers that are no number
cat >roots.cu <<'CU'
__global__ void roots(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.0f;
    for (int k = 0; k < 8; k++) { y[i] = s; s += x[(i + k) % n]; }
    y[i] = sqrtf(s - 3.5f);
}
CU
like "new says how many answers are NaN" "^2[0-9].*% of its answers are NaN, and nothing else is known" "$("$GILUA" new roots.cu)"
"$GILUA" tune roots --quiet --out tuned
sed -i -E '0,/"genome": "[^"]*"/s//"genome": "block_size_x=64"/' tuned/result.json
like "and verify" "^1[0-9] [0-9]{3} of these answers are NaN, as the reference's are" \
  "$("$GILUA" verify tuned --cases 1 2>&1)"

# --- verify marks what apply marks
sed -e '/sqrtf/s/ - 3.5f//' roots.cu >asked.cu
cat >>asked.cu <<'CU'
int threads_of(int n);
int main() {
    float *x, *y;
    cudaMalloc(&x, 4000), cudaMalloc(&y, 4000);
    int b = threads_of(1000);
    roots<<<(1000 + b - 1) / b, b>>>(y, x, 1000);
}
CU
"$GILUA" new asked.cu --quiet >/dev/null 2>&1
"$GILUA" tune asked --quiet --out asked-run
marks() { grep "^MARKED" <<<"$1" | sort; }
applied=$("$GILUA" apply asked-run --diff 2>&1)
is "what apply marks verify marks" "$(marks "$applied")" "$(marks "$("$GILUA" verify asked-run --cases 1 2>&1)")"
like "  which is something" "^MARKED: the kernel wants another launch" "$applied"

# --- short options, help that lists what a command takes, JSON
is "-h" "$("$GILUA" --help)" "$("$GILUA" -h)"
is "-h of a command" "$("$GILUA" log --help)" "$("$GILUA" log -h)"
is "-V" "$("$GILUA" --version)" "$("$GILUA" -V)"
is "help of log: what it takes, no more" "--which --json --help" \
  "$("$GILUA" log --help | grep -oE '^  --[a-z]+' | xargs)"
like "help of a run: all that it takes" "--cluster .*--resume .*--json" "$("$GILUA" evolve --help | xargs)"
"$GILUA" evolve asked --generations 2 --population 8 --quiet --out run >/dev/null 2>&1
field() { "$GILUA" -e "local v = assert(require('gilua').json.decode(io.read 'a')) print(v.$1)"; }
is "new --json" "named true" "$("$GILUA" new asked.cu named --json 2>/dev/null | tee new.json | field folder) $(field ready <new.json)"
is "log --json: its counts are those of export" "$("$GILUA" export run | grep -c ',1$')" "$("$GILUA" log run --json | field mutants.right)"
is "show --json" "unmodified" "$("$GILUA" show run 1 --json | field birth)"
finish
