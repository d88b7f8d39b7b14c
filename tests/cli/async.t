#!/bin/bash
# gilua run with asynchronous copies, mbarriers and clusters: programs that are right against C, with
# checks silent; and each planted error told at its line.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - CUDA programs # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first

right() { # right NAME WANT: with checks and without, in the GPU's order and another
  program "$1"
  is "$1 is right" "$2" "$("$GILUA" run --quiet -- "./$1" 2>&1 | tr '\n' '|')"
  is "$1 is right, and nothing is told" "$2" \
    "$("$GILUA" run --quiet --check races,global-races,uninit -- "./$1" 2>&1 | tr '\n' '|')"
}

right pipelines "split: 0 wrong|ahead: 0 wrong|roles: 0 wrong|specialised: 0 wrong|product: 0 wrong, cudaSuccess|"
right clusters "sum: 0 wrong|bins: 0 wrong|places: 0 wrong|exchange: 0 wrong|fit: 1|largest: 8|driver: 0 wrong, 1|uneven: cudaErrorInvalidClusterSize|end: cudaSuccess|"

# Recorded, with the sizes of clusters that the host says, and replayed: the same bytes come out.
"$GILUA" record --quiet -o clusters.rec -- ./clusters >/dev/null 2>&1
cat >replayed.lua <<'LUA'
local gi = require "gilua"
local r <close> = gi.recording.open "clusters.rec"
local together, same = {}, 0
for _, event in ipairs(r.events) do
  if event[1] == "launch" then together[#together + 1] = event[10] or "-" end
end
local got = assert(r:replay {})
for _, read in ipairs(got.reads) do same = same + (read.same and 1 or 0) end
print(table.concat(together, " "), got.status, same, #got.reads)
LUA
is "launches of clusters are recorded and replayed" "- 2,1,1 - - 4,1,1 ok 5 5" \
  "$("$GILUA" replayed.lua 2>&1 | tr '\t' ' ')"

right tensors "1: 0 wrong|1, before: 0 wrong|2, swizzle 0: 0 wrong|2, swizzle 1: 0 wrong|2, swizzle 2: 0 wrong|2, swizzle 3: 0 wrong|3: 0 wrong|3, steps: 0 wrong|4: 0 wrong|5: 0 wrong|columns: 0 wrong|columns, steps: 0 wrong|columns of a line: 0 wrong|transpose: 0 wrong|sums: 0 wrong|an odd row: -1|a row too long: -1|end: cudaSuccess|"

GPU=compute_90a right specialised "128 x 64 x 64: 0 wrong, cudaSuccess|256 x 128 x 512: 0 wrong, cudaSuccess|"
GPU=compute_90a program pending_groups
program pending
found() { # found PROGRAM VARIANT: "LINE KIND" of each place that is told
  "$GILUA" run --quiet --check races,global-races,uninit --json found.json -- "./$1" "$2" >out 2>err </dev/null
  env -u LD_PRELOAD awk '/"kind":/ { kind = $2 } /"line":/ { if ($2 + 0) print $2 + 0, kind }' found.json |
    tr -d '",' | sort -nu
}
told() { # told PROGRAM: the places that its text names
  sed -n '/told: /{=;s/.*told: //p}' "$TOP/tests/programs/$1.cu" | paste -d' ' - - | sort -nu
}
is "what is wrong is told at its place, and nothing else" "$(told pending)" "$(found pending bug)"
told=$(cat err)
like "a read before the phase" "read in shared memory at offset 0xfc that the copy of PTX line [0-9]+, source line [0-9]+ still brings: the phase of its mbarrier is waited for first; block \(0,0,0\), thread \(0,0,0\).* kernel void early" "$told"
like "a phase twice" "waits a second time for phase 0 of the mbarrier in shared memory at 0x100, while phase 1 is under way" "$told"
like "a buffer too early" "still reads: cp.async.bulk.wait_group.read comes first" "$told"
like "no fence" "which thread 32 wrote \(PTX line [0-9]+\) with no fence.proxy.async between them" "$told"
like "a wait of its own thread" "still brings: its thread waits for it first, and then the others for that" "$told"
is "what is right is not told" "cudaSuccess|" "$(found pending fix; cat out err | tr '\n' '|')"

is "tiles that are multiplied or sent: what is wrong is told at its place, and nothing else" \
  "$(told pending_groups)" "$(found pending_groups bug)"
told=$(cat err)
like "a product without a fence" "wgmma.mma_async reads shared memory .* wrote .* with no fence.proxy.async" "$told"
like "a tile that a product reads" "that the wgmma.mma_async of PTX line [0-9]+, source line [0-9]+ still reads: wgmma.wait_group comes first" "$told"
is "what is right of them is not told" "cudaSuccess|" "$(found pending_groups fix; cat out err | tr '\n' '|')"

program pending_barriers
is "barriers and pipelines of libraries: what is wrong is told at its place, and nothing else" \
  "$(told pending_barriers)" "$(found pending_barriers bug)"
is "what is right of these is not told" "cudaSuccess|" "$(found pending_barriers fix; cat out err | tr '\n' '|')"

program=pending
ends() { # ends VARIANT MESSAGE CODE
  "$GILUA" run --quiet -- "./$program" "$1" >out 2>err
  like "$1: is told" "$2" "$(cat err)"
  is "$1: what waiting for it returns" "$3" "$(cat out)"
}
ends never "endless wait.*warp 0 runs .*looks at shared memory at offset 0x100, an mbarrier whose phase 0 lacks 0 of 1 arrivals and 16 bytes" \
  cudaErrorLaunchTimeout
ends beyond "a bulk copy of 272 bytes at offset 0x40 of shared memory, which has 264 bytes.*thread \(0,0,0\).*kernel beyond" \
  cudaErrorIllegalAddress
ends misaligned "a bulk copy of 32 bytes at offset 0x4 of shared memory: both are multiples of 16" \
  cudaErrorMisalignedAddress
ends left "shared memory of block 0 of the cluster, which has ended.*block \(1,0,0\).*kernel left" \
  cudaErrorIllegalAddress
ends overwritten "something wrote over the object: mbarrier in shared memory at 0x0" cudaErrorLaunchFailure
program=pending_groups
ends beyond "the descriptor of A .* reaches offset 0x[0-9a-f]+ of shared memory, which has 2304 bytes" cudaErrorIllegalAddress
ends twice "more arrivals than the phase has pending" cudaErrorLaunchFailure
ends corner "a box of a tensor that begins at coordinate 3, 12 bytes along dimension 0.*multiples of 16" \
  cudaErrorIllegalInstruction
for variant in beyond twice corner; do
  is "$variant, mended: nothing is told" cudaSuccess "$("$GILUA" run --quiet -- ./pending_groups $variant fix 2>&1)"
done
mended() { # mended VARIANT MESSAGE CODE: and its right form ends well
  "$GILUA" run --quiet -- ./pending_barriers "$1" bug >out 2>err
  like "$1: is told" "$2" "$(cat err)"
  is "$1: what waiting for it returns" "$3" "$(cat out)"
  is "$1, mended: nothing is told" cudaSuccess "$("$GILUA" run --quiet -- ./pending_barriers "$1" fix 2>&1)"
}
mended absent "endless wait.*an mbarrier whose phase 0 lacks 32 of 64 arrivals" cudaErrorLaunchTimeout
mended raw "no mbarrier.init was there, or an inval after it: mbarrier in shared memory at 0x0" cudaErrorLaunchFailure
finish
