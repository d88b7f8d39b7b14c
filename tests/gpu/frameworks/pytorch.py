"""A training step of about 200 launches, one of them of an extension's kernel (load_inline)."""
import sys
import time

import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
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
"""
rms = load_inline("gilua_rms", cpp_sources="torch::Tensor rms(torch::Tensor x, torch::Tensor w);",
                  cuda_sources=CUDA, functions=["rms"]).rms
torch.manual_seed(1)
layers = [torch.nn.Linear(256, 256) for _ in range(8)]
model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.GELU())]).cuda()
optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
x, w = torch.randn(4096, 256).cuda(), torch.rand(256).cuda()
torch.cuda.synchronize()
begun = time.time()
y = model(rms(x, w))
loss = (y * y).mean()
loss.backward()
optimiser.step()
print("loss %.6f" % loss.item())
print("step %.3f s" % (time.time() - begun), file=sys.stderr)
