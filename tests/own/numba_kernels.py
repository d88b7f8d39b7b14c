"""Kernels of numba-cuda against numpy, by PTX (gilua_numba); the last one writes outside its array."""
import math

import gilua_numba  # noqa: F401
import numpy
from numba import cuda, float32


@cuda.jit
def product(c, a, b):
    s, t = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    i, j, total = cuda.threadIdx.x, cuda.threadIdx.y, float32(0)
    for k in range(a.shape[1] // 16):
        s[i, j] = a[x, j + k * 16]
        t[i, j] = b[i + k * 16, y]
        cuda.syncthreads()
        for m in range(16):
            total += s[i, m] * t[m, j]
        cuda.syncthreads()
    c[x, y] = math.sqrt(total)


@cuda.jit
def histogram(h, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(h, x[i], 1)


@cuda.jit
def outside(x):
    x[cuda.grid(1) + 1] = 0


def say(what, right):
    print(what, "right" if right else "WRONG")


rng = numpy.random.default_rng(1)
a, b = rng.random((32, 32), dtype=numpy.float32), rng.random((32, 32), dtype=numpy.float32)
c, h, x = cuda.device_array_like(a), cuda.to_device(numpy.zeros(8, numpy.int32)), rng.integers(0, 8, 300)
product[(2, 2), (16, 16)](c, cuda.to_device(a), cuda.to_device(b))
say("product", numpy.allclose(c.copy_to_host(), numpy.sqrt(a @ b), rtol=1e-5))
histogram[3, 128](h, cuda.to_device(x))
say("histogram", (h.copy_to_host() == numpy.bincount(x, minlength=8)).all())
outside[1, 300](cuda.to_device(x))
