"""A kernel of Triton's between PyTorch's own; its PTX is in Triton's cache."""
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, cols, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * cols + i, e / tl.sum(e, axis=0), mask=i < cols)


torch.manual_seed(1)
x = torch.randn(4096, 1000).cuda()
y = torch.empty_like(x)
softmax[(4096,)](y, x, 1000, B=1024)
print("sum %.6f" % (y * y).double().sum().item())
