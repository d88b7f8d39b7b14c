#!/bin/bash
# gilua run --check: each program of tests/programs has pairs, wrong (`NAME bug`) and right (`NAME
# fix`). Lines with "told: KIND" are where findings are in the first; there are no others, and none in
# the second.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - CUDA programs # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first

found() { # found CHECK PROGRAM…: "LINE KIND" of each place that is told; messages are left in err
  "$GILUA" run --quiet --check "$1" --json found.json -- "${@:2}" >out 2>err </dev/null
  status=$?
  env -u LD_PRELOAD awk '/"kind":/ { kind = $2 } /"line":/ { if ($2 + 0) print $2 + 0, kind }' found.json |
    tr -d '",' | sort -nu
}

pairs() { # pairs NAME CHECK [FLAG…]
  local source=$TOP/tests/programs/$1.cu
  program "$1" "${@:3}"
  is "$1: what is wrong is told at its place, and nothing else" \
    "$(sed -n '/told: /{=;s/.*told: //p}' "$source" | paste -d' ' - - | sort -nu)" \
    "$(found "$2" "./$1" bug)"
  is "$1: what is right is not" "" "$(found "$2" "./$1" fix; cat err)"
}

pairs undefined uninit
found uninit ./undefined bug >/dev/null
like "what is undefined says where it matters" \
  "read of 4 bytes that nobody wrote in global memory at byte 64 of 'cudaMalloc 2'.*line 58, .*; it decides a branch at PTX line [0-9]+, .*undefined.cu line 60" \
  "$(cat err)"
like "and so does what one launch leaves and another uses" "line 159, kernel leave.*; it is copied to the host" \
  "$(cat err)"
like "what the host copies that nobody wrote has its name" \
  "16 bytes that nobody wrote at byte 240 of 'cudaMalloc 12' \(256 bytes\): what cudaMemcpy reads there is copied to the host" \
  "$(cat err)"

pairs order order
found order ./order bug >/dev/null
like "how far results are apart is said" \
  "reads of .cudaMalloc 1. depends on the order of atomics: 1 of 1 words .* by at most [0-9.]+e-07 of their value .*line 18, kernel void sum" \
  "$(cat err)"

# What nothing orders names both calls: a line of a program's text is the words that follow "told: ".
source=$TOP/tests/programs/unordered.cu
program unordered
"$GILUA" run --quiet --check streams -- ./unordered bug >out 2>err
is "what is wrong with streams: status 1" 1 $?
is "as many findings as are wrong" "$(grep -c 'told: ' "$source")" "$(grep -c '^gilua: ' err)"
sed -n 's/.*told: //p' "$source" >told
while read -r words && read -r line <&3; do
  ok "$([[ $line == *"$words"* ]]; echo $?)" "told: $words" "$line"
done <told 3<err
"$GILUA" run --quiet --check streams -- ./unordered fix >out 2>err
is "what is ordered is not told" "0 " "$? $(cat err)"

cat >far.cu <<'EOT'
#include <cstdio>
__global__ void far(float x, double y, float *o) {
  unsigned short h = 0x3800; // 0.5
  double d;
  o[0] = __sinf(x);
  asm volatile("ex2.approx.f16 %0, %0;" : "+h"(h));
  asm volatile("rcp.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"(y));
  o[1] = h, o[2] = 3 * d - 1;
}
int main() {
  float *o, r[3];
  cudaMalloc(&o, 12), far<<<1, 1>>>(1e5f, 3.0, o), cudaMemcpy(r, o, 12, cudaMemcpyDeviceToHost);
  bool near[] = {r[0] > 0.0357 && r[0] < 0.0358, r[1] == 0x3da8, r[2] > -3e-7 && r[2] < 3e-7};
  for (bool is : near) printf("%s ", is ? "near" : "far");
}
EOT
kept_nvcc -cudart shared -gencode arch=compute_90,code=compute_90 -o far far.cu >far.log 2>&1
ok $? "far.cu builds" "$(cat far.log)"
is "approximations are the true values" "near near near " "$("$GILUA" run --quiet -- ./far)"
is "or, asked for, the worst that is allowed" "far far far " "$("$GILUA" run --quiet --worst -- ./far)"

# Each thread of the host has a default stream of its own, where nvcc is told so.
cat >threads.cu <<'EOT'
#include <thread>
__global__ void fill(int *x, int v) { x[threadIdx.x] = v; }
int main(int n, char **) {
  int *x;
  cudaMalloc(&x, 128);
  std::thread([&] { fill<<<1, 32>>>(x, 1); if (n > 1) cudaStreamSynchronize(0); }).join();
  std::thread([&] { fill<<<1, 32>>>(x, 2); }).join();
  cudaFree(x);
}
EOT
for what in legacy per-thread; do
  kept_nvcc -cudart shared -gencode arch=compute_90,code=compute_90 --default-stream $what \
    -o "threads-$what" threads.cu >threads.log 2>&1
  ok $? "threads.cu builds" "$(cat threads.log)"
done
is "one default stream orders what threads do" "" "$("$GILUA" run --quiet --check streams -- ./threads-legacy 2>&1)"
like "streams of their own do not" "nothing orders kernel fill.* on stream 2 and kernel fill.* on stream 3" \
  "$("$GILUA" run --quiet --check streams -- ./threads-per-thread 2>&1)"
is "but where one has been waited for" "" \
  "$("$GILUA" run --quiet --check streams -- ./threads-per-thread waits 2>&1)"

finish
