#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void rms_forward(float *out, const float *x, const float *w, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) sum += x[r * cols + c] * x[r * cols + c];
    float scale = rsqrtf(sum / cols + 1e-6f);
    for (int c = 0; c < cols; c++) out[r * cols + c] = x[r * cols + c] * scale * w[c];
}

torch::Tensor rms(torch::Tensor x, torch::Tensor w) {
    auto out = torch::empty_like(x);
    int rows = x.size(0), cols = x.size(1);
    rms_forward<<<(rows + 127) / 128, 128>>>(out.data_ptr<float>(), x.data_ptr<float>(),
                                             w.data_ptr<float>(), rows, cols);
    return out;
}
