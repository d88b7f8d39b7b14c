#!/bin/bash
# gilua judge --whole: files that launch several kernels, each called through its host function.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

cat >centre.cu <<'END'
#include <cuda_runtime.h>
__global__ void sums(const float *x, float *sum, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) for (int c = 0; c < columns; c++) sum[r] += x[r * columns + c];
}
__global__ void less(const float *x, const float *sum, float *y, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) y[i] = x[i] - sum[i / columns] / columns;
}
static void launches(const float *x, float *y, float *sum, int rows, int columns) {
  sums<<<(rows + 63) / 64, 64>>>(x, sum, rows, columns);
  less<<<(rows * columns + 127) / 128, 128>>>(x, sum, y, rows, columns);
}
void centre(const float *x, float *y, int rows, int columns, float unused = 1) {
  float *sum;
  cudaMalloc(&sum, rows * sizeof(float));
  cudaMemset(sum, 0, rows * sizeof(float));
  launches(x, y, sum, rows, columns);
  cudaFree(sum);
}
int main() { return 0; }
END
cat >warps.cu <<'END'
#include <cuda_runtime.h>
__global__ void means(const float *in, float *mean, int width) {
  float s = 0;
  for (int c = threadIdx.x; c < width; c += 32) s += in[blockIdx.x * width + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) mean[blockIdx.x] = s / width;
}
__global__ void minus(const float *in, const float *mean, float *out, int width) {
  for (int c = threadIdx.x; c < width; c += blockDim.x)
    out[blockIdx.x * width + c] = in[blockIdx.x * width + c] - mean[blockIdx.x];
}
void run(const float *in, float *out, int height, int width) {
  float *mean;
  cudaMalloc(&mean, height * sizeof(float));
  means<<<height, 32>>>(in, mean, width);
  minus<<<height, 64>>>(in, mean, out, width);
  cudaFree(mean);
}
END
sed 's/^int main.*/void other(float *x) { sums<<<1, 1>>>(x, x, 1, 1); }/' centre.cu >two.cu
misused "two functions that launch: name one" "several functions that launch kernels: name one, --function OLD,NEW .it has centre, other" \
  "$GILUA" judge two.cu warps.cu --whole
sed 's/int width/long width/' warps.cu >wide.cu
misused "other arguments" "argument 4 of run in wide.cu is long width, and of centre in centre.cu it is int columns" \
  "$GILUA" judge centre.cu wide.cu --whole
misused "a function that is not there" "centre.cu has no function 'center' that launches a kernel; it has launches, centre" \
  "$GILUA" judge centre.cu warps.cu --whole --function center
sed 's/const float \*x, float \*y/const int *x, float *y/; s/const float \*x/const int *x/' centre.cu >whole_numbers.cu
misused "whole numbers of which nothing is known" "it is unknown which whole numbers are in x of centre: say it, --args FILE" \
  "$GILUA" judge whole_numbers.cu whole_numbers.cu --whole
echo 'return { args = { z = { count = 3 } } }' >args.lua
misused "an argument that is none" "args.lua: centre takes no 'z'" "$GILUA" judge centre.cu warps.cu --whole --args args.lua

if sanitized "programs around host functions, whose library wants the sanitizer's before it"; then finish; fi
if ! command -v nvcc >/dev/null; then
  ok 0 "nothing is called # SKIP there is no nvcc"
  finish
fi
cat >args.lua <<'END'
return { size = { 300, 40 }, checked_size = { 9, 33 }, sizes = { { 1, 1 }, { 70, 5 } },
  args = { x = { fill = { -1, 1 } } } }
END
out=$("$GILUA" judge centre.cu warps.cu --whole --args args.lua --cases 1 --json 2>err)
is "right and faster: exit status" 0 $?
like "the verdict" '"verdict": "right and faster"' "$out"
like "other sizes, and the full one" '"data": "size 70x5",
 *"verdict": "right"' "$out"
like "the answers of both arrays' lengths" '"answers": [0-9]{5}' "$out"
is "what is guessed is written down" "size_x" "$(grep -o 'size_x' out/judge-warps/old/whole.lua | head -1)"

# A row too few from 65 rows on; sums that are not set to zero, wrong when it is called again.
sed 's/means<<<height/means<<<(height < 65 ? height : height - 1)/' warps.cu >short.cu
out=$("$GILUA" judge centre.cu short.cu --whole --args args.lua --cases 1 2>err)
is "wrong at a size: exit status" 1 $?
like "right at the small size" "zeros +right" "$out"
like "and wrong at another, by what the checks find" "size 70x5 +WRONG: .*read.*warps|size 70x5 +WRONG: .*short.cu" "$out"
like "the verdict" "^WRONG: run of short.cu" "$out"
cat - warps.cu >kept.cu <<'END'
static float *kept;
END
sed -i 's/^  float \*mean;/  float *mean = kept;/; s/^  cudaMalloc(&mean.*/  if (!kept) { cudaMalloc(\&kept, 1 << 20); cudaMemset(kept, 0, 1 << 20); mean = kept; }/; s/^  cudaFree(mean);//; s/) mean\[blockIdx.x\] = s/) mean[blockIdx.x] += s/' kept.cu
out=$("$GILUA" judge centre.cu kept.cu --whole --args args.lua --cases 1 2>err)
is "wrong when it is called again: exit status" 1 $?
like "right the first time" "its own kind +right" "$out"
like "and wrong the second" "called a second time +WRONG: [0-9 ]* of 297 answers" "$out"

# PyTorch extensions that launch two kernels, with a tensor between: judged whole without being asked.
cat >norm.cu <<'END'
#include <torch/extension.h>
template <typename T> __global__ void squares(const T *x, T *sum, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  sum[r] = 0;
  for (int c = 0; c < columns; c++) sum[r] += x[r * columns + c] * x[r * columns + c];
}
template <typename T>
__global__ void scale(const T *x, const T *sum, const T *w, T *y, int rows, int columns, float eps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns)
    y[i] = x[i] * rsqrtf(sum[i / columns] / columns + eps) * w[i % columns];
}
torch::Tensor rms(torch::Tensor x, const torch::Tensor &w, double eps) {
  const int rows = x.size(0), columns = x.size(1);
  TORCH_CHECK(w.size(0) == columns, "a weight for each column");
  auto y = torch::empty_like(x), sum = torch::empty({rows}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm", ([&] {
    squares<scalar_t><<<(rows + 63) / 64, 64>>>(x.data_ptr<scalar_t>(), sum.data_ptr<scalar_t>(), rows, columns);
    scale<scalar_t><<<(rows * columns + 255) / 256, 256>>>(x.data_ptr<scalar_t>(),
      sum.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), rows, columns, (float)eps);
  }));
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rms", &rms); }
END
cat >model.cu <<'END'
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void means(const float *x, float *mean, int columns) {
  float s = 0;
  for (int c = threadIdx.x; c < columns; c += 32) s += x[blockIdx.x * columns + c] * x[blockIdx.x * columns + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x == 0) mean[blockIdx.x] = s / columns;
}
__global__ void apply(const float *x, const float *mean, const float *w, float *y, int columns, float eps) {
  float by = 1 / sqrtf(mean[blockIdx.x] + eps);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    y[blockIdx.x * columns + c] = x[blockIdx.x * columns + c] * by * w[c];
}
torch::Tensor forward(torch::Tensor input, torch::Tensor weight, float eps = 1e-5) {
  int rows = input.size(0), columns = input.size(1);
  auto out = torch::empty_like(input);
  torch::Tensor mean = torch::empty({rows}, input.options());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  means<<<rows, 32, 0, stream>>>(input.data_ptr<float>(), mean.data_ptr<float>(), columns);
  apply<<<rows, 64, 0, stream>>>(input.data_ptr<float>(), mean.data_ptr<float>(),
                                 weight.data_ptr<float>(), out.data_ptr<float>(), columns, eps);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
END
out=$("$GILUA" judge norm.cu model.cu --cases 1 --own-data 2>err)
like "a right extension: exit status" "^[03]$" $?
like "its verdict" "^RIGHT" "$out"
like "a tensor's shape is what its function asks for" 'shape = .{0,3}"size_y"' "$(cat out/judge-model/old/whole.lua)"
like "other shapes" "size 7x65 +right" "$out"
# The temporary tensor is divided by one column less: wrong by 2 % and nowhere else.
sed 's,= s / columns,= s / (columns - 1),; s/forward(torch::Tensor input/forward(at::Tensor input/' model.cu >less.cu
sed -i 's/return out;/return out.view({columns, rows});/' less.cu
out=$("$GILUA" judge norm.cu less.cu --cases 1 --own-data 2>err)
is "a tensor of another shape: exit status" 1 $?
like "said so" "its own kind +WRONG: it returns other tensors: 1 of 30x33 in place of 1 of 33x30" "$out"
sed -i 's/return out.view.*/return out;/' less.cu
out=$("$GILUA" judge norm.cu less.cu --cases 1 --own-data --own-size 2>err)
is "a wrong extension: exit status" 1 $?
like "where it shows" "its own kind +WRONG: [0-9 ]* of 990 answers" "$out"
finish
