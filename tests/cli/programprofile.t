#!/bin/bash
# gilua profile -- PROGRAM: what each line of a program's kernels costs, as text, JSON and a page.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - programs by line # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first
. "$TOP/tests/cli/programs.sh"
program profiled

"$GILUA" profile --out p -- ./profiled >out 2>err
is "gilua profile -- PROGRAM" 0 $?
field() { # field LINE NAME: of profile.json
  "$GILUA" -e 'local json, f = require("gilua").json, io.open("p/profile.json")
    for _, l in ipairs(json.decode(f:read "a").kernels[1].lines) do
      if l.line == '"$1"' then print(l["'"$2"'"]) end
    end'
}
is "a coalesced load takes 4 sectors a request" 4 "$(field 7 sectors_per_request)"
is "a strided one 32" 32 "$(field 8 sectors_per_request)"
is "of two launches of 64 warps each" 128 "$(field 8 requests)"
is "an access with conflicts of 32 takes 31 passes more" $((31 * 128)) "$(field 9 conflicts)"
is "and is one access" 128 "$(field 9 shared)"
is "loads that are on their way together are waited for at the first" true "$("$GILUA" -e "print($(field 7 memory) > 128 * 500)")"
is "a barrier of one warp at its own" true "$("$GILUA" -e "print($(field 10 barrier) > 128 * 20)")"
is "no line waits at another's barrier" 0 "$(field 9 barrier)"
like "as text, with the source" "line 8 \(.*32.0 sectors a request\): float b = x" "$(cat p/profile.txt)"
like "and what limits occupancy" "lines\(float const\*, float\*\): 2 launches.* limited by blocks of the grid" \
  "$(cat p/profile.txt)"
like "the page has the source beside the heat" "<td class=\"source\">    float b = x\[t \* 64" "$(cat p/profile.html)"
like "the same is said" "p/profile.html has the source beside the heat" "$(cat err)"

"$GILUA" run --json plain.json --quiet -- ./profiled >/dev/null
"$GILUA" run --json seen.json --profile q --quiet -- ./profiled >/dev/null
ticks() { sed -n 's/.*"ticks": \([0-9.]*\).*/\1/p' "$1" | tr '\n' ' '; }
is "ticks are those of a run without a profile" "$(ticks plain.json)" "$(ticks seen.json)"
runs "a program without kernels" 0 --profile none -- true
like "has no profile" "there is no profile" "$(cat err)"
finish
