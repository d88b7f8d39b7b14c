"""A training step of about 200 launches, one of them of an extension's kernel (rms.cu, load_inline)."""
import os
import sys
import time

import torch
from torch.utils.cpp_extension import load_inline

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "rms.cu"), encoding="utf-8") as file:
    rms = load_inline("gilua_rms", cpp_sources="torch::Tensor rms(torch::Tensor x, torch::Tensor w);",
                      cuda_sources=file.read(), functions=["rms"]).rms
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
