"""A function that torch.compile makes Triton kernels of: machine code alone, replayed as it is."""
import torch


@torch.compile
def f(x, w):
    return torch.softmax(torch.nn.functional.gelu(x) * w, dim=-1) + x.mean()


torch.manual_seed(1)
x, w = torch.randn(512, 512).cuda(), torch.rand(512).cuda()
print("sum %.4f" % f(x, w).double().mul(torch.arange(512, device="cuda")).sum().item())
