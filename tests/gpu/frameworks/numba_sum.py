"""A kernel of numba-cuda, which nvJitLink makes machine code of."""
import numpy
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


x = numpy.arange(4096, dtype=numpy.float32)
y = cuda.device_array_like(x)
double[32, 128](cuda.to_device(x), y)
print("sum %.1f" % y.copy_to_host().sum())
