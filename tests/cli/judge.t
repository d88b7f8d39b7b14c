#!/bin/bash
# gilua judge: the kernels that somebody brings beside an old one, and what is said of each.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "other kernels, which go the way of other_data.t's"; then finish; fi
DATA=$TOP/tests/data/judge

judge() { # judge STATUS OLD NEW...: what it says, and whether it ends so
  local want=$1
  shift
  out=$("$GILUA" judge "$@" --cases 1 2>err </dev/null)
  local code=$?
  is "$(basename "$2"): exit status" "$want" "$code"
  out=$(echo "$out" | cat - err)
}

judge 0 "$DATA/softmax.cu" "$DATA/softmax_faster.cu"
like "another signature, by what the launches give" "input is x \(as the launch gives it x\)" "$out"
like "another launch" "launched as 1024 blocks of 32 threads" "$out"
like "right on data of every kind and other sizes" "right on all sorts, zeros, .*size 1, size 129" "$out"
like "the verdict" "^RIGHT AND FASTER: softmax_warp of .*softmax_faster.cu" "$out"
like "how much faster" "^Speed: [3-9]\.[0-9]* times faster, ticks" "$out"
like "bytes over time" "^Bytes: it reads and writes 262.1 kB, each byte once, in .* TB/s" "$out"
like "a certificate in the place of a tolerance" "^It is certified equal over the reals" "$out"
like "a promise of the arrays" "promises that x, out share no memory" "$out"
OLD=out/judge-softmax_faster/old
cp -r $OLD softmax && OLD=softmax # judged as a problem's folder from here on

cat >alone.cu <<'END'
__global__ void positive(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
END
sed 's/i < n/i + 1 < n/' alone.cu >short.cu
judge 1 alone.cu short.cu
like "kernels without a host: the launch is the old one's, and a last answer is missing" \
  "all sorts +WRONG: 1 of [0-9 ]* answers, some never written" "$out"

# A number that nobody knows holds the size: other values of it are tried, and count where the
# work follows them.
cat >clamp.cu <<'END'
extern "C" __global__ void clamp(float *y, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = max(0.0f, x[i]);
}
void run(float *y, const float *x, int n) { clamp<<<1, 128>>>(y, x, n); }
END
sed 's/int i = threadIdx.x; i < n; i += blockDim.x/int i = threadIdx.x; i < 16; i += blockDim.x/' clamp.cu >sixteen.cu
judge 3 clamp.cu clamp.cu
like "a guess is tried with other values, and told" "It rests on n = 16, a guess: right with n 15, n 65, too" "$out"
judge 1 clamp.cu sixteen.cu
like "a kernel that is right at the guessed size alone" "right on all sorts, zeros.*n 15 +WRONG: 1 of 128" "$(tr '\n' ' ' <<<"$out")"
mkdir guess && sed '/void run/d' clamp.cu >guess/kernel.cu && cat >guess/problem.lua <<'END'
return {
  source = "kernel.cu", kernel = "clamp", size = 128, block_size_x = 128, checked_size = 128,
  args = {
    { name = "y", type = "f32", count = 16, role = "out" },
    { name = "x", type = "f32", count = 16 },
    { name = "n", type = "i32", value = 16, guess = true },
  },
}
END
misused "nothing but a guess holds the size: no verdict" \
  "sixteen.cu did nothing wrong, but at one size alone: n = 16 is guessed, and no other size" \
  "$GILUA" judge guess sixteen.cu --cases 1
cat >fixed.cu <<'END'
extern "C" __global__ void clamp(float *y, const float *x, int n, int all) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = max(0.0f, x[i]);
}
void run(float *y, const float *x, int n, int all) { clamp<<<(all + 127) / 128, 128>>>(y, x, n, all); }
END
sed '/void run/d' fixed.cu >guess/kernel.cu
sed -i 's/, guess = true//; s/count = 16, role = "out"/count = "size_x", role = "inout"/; s/count = 16/count = "size_x"/' guess/problem.lua
sed -i '/name = "n"/a\    { name = "all", type = "i32", value = "size_x" },' guess/problem.lua
judge 3 guess fixed.cu
like "a size that changes nothing is not told" "size 129 +not told: the old kernel writes and touches the same there: it is no other size" "$out"
sed -i 's/value = 16/value = 16, guess = 16/' guess/problem.lua
misused "guess is a truth value" "guess = true says that nobody knows" "$GILUA" judge guess sixteen.cu

cat >cast.cu <<'END'
struct Config { static constexpr int warps = 4; };
__global__ void softmax(float4 *out4, const float4 *x4, float *out, const float *x, int rows, int quads)
{
    constexpr int warps = Config::warps;
    int row = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows || lane != 0) return;
    float most = -INFINITY, sum = 0;
    const float *in = x + row * quads * 4;
    for (int i = 0; i < quads * 4; i++) most = fmaxf(most, in[i]);
    for (int i = 0; i < quads * 4; i++) sum += expf(in[i] - most);
    for (int i = 0; i < quads; i++) {
        float4 v = x4[row * quads + i];
        out4[row * quads + i] = make_float4(expf(v.x - most) / sum, expf(v.y - most) / sum,
                                            expf(v.z - most) / sum, expf(v.w - most) / sum);
    }
}
void run(float *out, const float *x, int rows, int columns)
{
    constexpr int warps = Config::warps;
    float4 *out4 = reinterpret_cast<float4 *>(out);
    const float4 *x4 = (const float4 *)x;
    softmax<<<(rows + warps - 1) / warps, warps * 32>>>(out4, x4, out, x, rows, columns / 4);
}
END
judge 1 $OLD cast.cu
like "pointers by what they were cast from, numbers made of others" "out4 is out .*x4 is x" "$(tr '\n' ' ' <<<"$out")"
like "a launch made of a class's constants" "launched as 256 blocks of 128 threads" "$out"
like "right where the columns are whole quads" "right on all sorts, .*size 1024" "$out"
like "and wrong where they are not" "columns 65 +WRONG" "$out"
like "a person may know that they always are" "with --own-size" "$out"
judge 3 $OLD "$DATA/softmax_slower.cu"
like "right and slower" "^RIGHT, NOT FASTER" "$out"
judge 1 $OLD "$DATA/softmax_no_max.cu" --junit report.xml
like "right on random data alone" "right on .*long tails" "$out"
like "and wrong beyond their range" "long tails beyond the range +WRONG: [0-9 ]* of 32 736 answers" "$out"
like "the input that shows it" "it runs again by: gilua judge softmax .*no_max.cu --fault out/judge-softmax_no_max/fault.json" "$out"
like "JUnit: a failure" '<testcase .*name="long tails beyond the range">' "$(cat report.xml)"
is "JUnit: as many as it says" "$(grep -o 'failures="[0-9]*"' report.xml)" "failures=\"$(grep -c '<failure' report.xml)\""
out=$("$GILUA" judge $OLD "$DATA/softmax_no_max.cu" --fault out/judge-softmax_no_max/fault.json 2>&1)
is "the input runs again, and is wrong again" 1 $?
like "the answers that are wrong" "answer 0 is nan, and was 1" "$out"
judge 0 $OLD "$DATA/softmax_no_max.cu" --own-data
like "right where no data are beyond their range" "^RIGHT AND FASTER" "$out"
judge 1 $OLD "$DATA/softmax_skips.cu"
like "rows that are skipped" "all sorts +WRONG: 16 352 of 32 736 answers, some never written" "$out"
like "a launch of nothing" "size 1 +WRONG: its launch has a grid of 0x1x1" "$out"
judge 1 $OLD "$DATA/softmax_cached.cu"
like "the last answer, given again" "WRONG: launched a second time, on other data: " "$out"
sed 's/rows = 1024/rows = 4096/' "$DATA/softmax.cu" >large.cu # more than the size of all checks
judge 1 large.cu "$DATA/softmax_races.cu"
like "right at small sizes" "right on all sorts.*size 129" "$out"
like "a race at size alone, by its line" "size 4096 +WRONG: race .*softmax_races.cu line 9" "$out"
judge 0 $OLD "$DATA/softmax_extension.cu"
like "a PyTorch extension without its binding" "launched as 128 blocks of 32x8 threads" "$out"
like "arguments by their places" "y is out \(by its place\)" "$out"

"$GILUA" new "$DATA/total.cu" total --quiet
judge 1 total "$DATA/total_float.cu"
like "a float for a double" "all sorts +WRONG: 1 of 1 answers" "$out"
judge 0 total "$DATA/total_blocks.cu"
like "a sum that its host sets to zero" "^RIGHT AND FASTER" "$out"
like "where a sum cancels nothing is told" "rising +not told: .*rounding" "$out"
judge 0 total "$DATA/total_blocks.cu" --claim 0.001 --json
like "a claim beyond the memory's speed" '"impossible": "0.00 us are too short' "$out"
like "JSON: the verdict" '"verdict": "right and faster"' "$out"

cat >unlike.cu <<'END'
__global__ void blur(const float *x, const float *weights, float *y, int w) { y[threadIdx.x] = x[threadIdx.x] * weights[0]; }
END
misused "a kernel of other arguments" "blur of unlike.cu writes no out, which softmax writes" \
  "$GILUA" judge $OLD unlike.cu
misused "no second file" "NEW is missing" "$GILUA" judge softmax
echo '{ "what": "gilua judge: an input that shows a fault", "data": "x", "why": "y", "case": { "path": "/etc" } }' >odd.json
misused "a fault with what no case has" "'path' is nothing that a case has" \
  "$GILUA" judge softmax "$DATA/softmax_no_max.cu" --fault odd.json
cat "$DATA/softmax_slower.cu" - >both.cu <<'END'
__global__ void other(float *x) { x[0] = 1; }
void run(float *x, float *y, int r, int c) { softmax<<<r, 1>>>(x, y, r, c); other<<<1, 1>>>(x); }
END
misused "a file that launches several" "launches several kernels.*--kernel softmax,NAME" "$GILUA" judge softmax both.cu
misused "a file that is not there" "there is no nothing.cu" "$GILUA" judge softmax nothing.cu
misused "a map that names nothing" "has no such parameter or variable" "$GILUA" judge softmax "$DATA/softmax_faster.cu" --map wide=rows
sed 's/columns, x, out/cols, x, out/; s/int columns/int cols/' "$DATA/softmax_faster.cu" >cols.cu
misused "a number that nothing says" "width of cols.cu.*say which, --map width=NAME" "$GILUA" judge softmax cols.cu
judge 0 softmax cols.cu --map width=columns
like "said by the person" "width is columns \(as --map says\)" "$out"

# In the place of a kernel that a program ran.
if command -v nvcc >/dev/null; then
  sed 's/rows = 1024/rows = 256/' "$DATA/softmax.cu" | sed '/cudaDeviceSynchronize/a\
    cudaMemcpy(h, out, rows * columns * sizeof(float), cudaMemcpyDeviceToHost);' >program.cu
  kept_nvcc -cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -o program program.cu
  "$GILUA" record --quiet -o program.rec -- ./program 2>/dev/null
  judge 0 program.rec "$DATA/softmax_no_max.cu"
  like "right in a recorded program" "program.rec \(train\) +right, 1\.[0-9]*x" "$out"
  misused "another signature than was recorded" "takes other parameters \(.u32, .u64, .u64\)" \
    "$GILUA" judge program.rec "$DATA/softmax_faster.cu"
  sed 's/, 128>>>/, 64>>>/' program.cu >other_block.cu
  misused "another block than was recorded" "with blocks of 64x1x1 threads, and the recording with 128x1x1" \
    "$GILUA" judge program.rec other_block.cu
else
  ok 0 "in a recorded program # SKIP there is no nvcc"
fi
finish
