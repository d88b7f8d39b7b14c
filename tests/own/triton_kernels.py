"""Triton kernels through gilua_triton, against numpy: `NAME right` for each."""

import numpy as np
import triton
import triton.language as tl
from gilua_triton import DriverError, Typed, compile, launch

rng = np.random.default_rng(20140712)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def judge(name, got, want, tolerance):
    error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max()
    print(name, "right" if error <= tolerance else f"WRONG {error}")


@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + tl.program_id(0) * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def product(a, b, c, N, K, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((M, BN), tl.float32)
    for step in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (step + k)[None, :])
        sums = tl.dot(left, tl.load(b + (step + k)[:, None] * N + n[None, :]), sums)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@triton.jit
def described(a, b, c, M, N, K, B: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [B, B])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [B, B])
    sums = tl.zeros((B, B), tl.float32)
    y, x = tl.program_id(0) * B, tl.program_id(1) * B
    for k in range(0, K, B):
        sums = tl.dot(left.load([y, k]), right.load([k, x]), sums)
    tl.make_tensor_descriptor(c, [M, N], [N, 1], [B, B]).store([y, x], sums.to(tl.float16))


@triton.jit
def total(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0), 0))


@triton.jit
def outside(x, o, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.load(x + tl.arange(0, B) + 1))


x, o = normal(3, 500), np.zeros((3, 500), np.float32)
launch(softmax, 3, x, o, 500, B=512)
e = np.exp(x.astype(np.float64))
judge("softmax", o, e / e.sum(1, keepdims=True), 1e-6)

for name in ("f16", "bf16"):
    a, b, c = normal(64, 128), normal(128, 64), np.zeros((64, 64), np.float32)
    if name == "f16":
        a, b = a.astype(np.float16), b.astype(np.float16)
        launch(product, 1, a, b, c, 64, 128, M=64, BN=64, BK=32)
    else:  # bits of whole numbers: exact in bf16
        a, b = np.round(a * 3), np.round(b * 3)
        bits = [(v.view(np.uint32) >> 16).astype(np.uint16) for v in (a, b)]
        launch(product, 1, Typed(bits[0], "bf16"), Typed(bits[1], "bf16"), c, 64, 128, M=64, BN=64, BK=32)
    judge("product in " + name, c, a.astype(np.float64) @ b.astype(np.float64), 1e-3)

a, b = normal(64, 192).astype(np.float16), normal(192, 128).astype(np.float16)
c = np.zeros((64, 128), np.float16)
launch(described, (1, 2), a, b, c, 64, 128, 192, B=64)
judge("tensor descriptors", c, a.astype(np.float64) @ b.astype(np.float64), 0.05)

x, o = np.arange(3000, dtype=np.int32), np.zeros(1, np.int32)
launch(total, 3, x, o, 3000, B=1024, num_warps=2)
judge("atomics", o, np.array([x.sum()]), 0)

for what, args in (("a list", ([1.0], x, 3)), ("too few", (x,))):
    try:
        compile(total, args, {"B": 32})
    except TypeError as problem:
        print(f"{what}: {problem}")
try:
    launch(outside, 1, x[:32].copy(), o.repeat(32), B=32, num_warps=1)
except DriverError as problem:
    print("outside:", problem)
