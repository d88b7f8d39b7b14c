"""Launches Triton kernels on numpy arrays through the CUDA driver, without PyTorch.

    import gilua_triton
    gilua_triton.launch(add, 4, x, y, out, 4000, B=1024)

Under `gilua run -- python3 program.py` the driver is the virtual GPU, so that no GPU is needed. Triton
compiles for compute capability 9.0 (GILUA_TRITON_TARGET=80 names another). Its PTX is loaded, not its
machine code. Arrays are copied to the device before a launch and back after it. Numbers that numpy
has not got are passed as their bits: Typed(array of uint16, "bf16"), Typed(array of uint8, "fp8e5").
"""

import ctypes
import os
from typing import NamedTuple

import numpy
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ARRAYS = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "bool": "i1",
          "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
          "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}


class Typed(NamedTuple):
    """An array of bits, and the type that Triton is to take them for."""

    array: numpy.ndarray
    type: str


class DriverError(RuntimeError):
    """A call of the CUDA driver has failed."""


class Driver:
    """The CUDA driver with a context on device 0."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        """Calls a function of the driver; raises DriverError with its reason if it fails."""
        code = getattr(self.lib, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")

    def function(self, ptx, name, shared):
        """Loads PTX; returns the module and the kernel of that name."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:  # 8: the most dynamic shared memory
            self.call("cuFuncSetAttribute", function, 8, shared)
        return module, function

    def buffer(self, size):
        """Allocates device memory."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer


def kind(value):
    """Returns the type of an argument as Triton writes it, and what ctypes passes it as."""
    if isinstance(value, Typed):
        return "*" + value.type, None
    if isinstance(value, numpy.ndarray):
        if value.dtype.name not in ARRAYS:
            raise TypeError(f"Triton has no arrays of {value.dtype.name}")
        if not value.flags.c_contiguous:
            raise TypeError("an array must be contiguous: numpy.ascontiguousarray makes it so")
        return "*" + ARRAYS[value.dtype.name], None
    if isinstance(value, bool):
        return "i1", ctypes.c_int8
    if isinstance(value, int):
        return ("i32", ctypes.c_int32) if -2**31 <= value < 2**31 else ("i64", ctypes.c_int64)
    if isinstance(value, float):
        return "fp32", ctypes.c_float
    raise TypeError(f"a kernel takes arrays and numbers, not {type(value).__name__}")


def compile(kernel, args, constants, **options):
    """Compiles a kernel for these arguments; .asm["ptx"] of the result is its PTX."""
    names = [p.name for p in kernel.params if p.name not in constants]
    if len(names) != len(args):
        raise TypeError(f"{kernel.__name__} takes {', '.join(names)}: {len(args)} arguments are given")
    types = dict(zip(names, (kind(value)[0] for value in args)))
    signature = {p.name: types.get(p.name, "constexpr") for p in kernel.params}
    aligned = {(p.num,): [["tt.divisibility", 16]] for p in kernel.params
               if types.get(p.name, "").startswith("*")}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    target = GPUTarget("cuda", int(os.environ.get("GILUA_TRITON_TARGET", "90")), 32)
    return triton.compile(source, target=target, options=options)


driver = None


def launch(kernel, grid, *args, num_warps=4, num_stages=3, **constants):
    """Runs grid (a number, or up to three) programs of a kernel, and waits for them.

    Keywords are the kernel's constants. Returns what Triton compiled.
    """
    global driver
    made = compile(kernel, args, constants, num_warps=num_warps, num_stages=num_stages)
    meta = made.metadata
    if meta.num_ctas > 1:
        raise ValueError("several blocks a program (num_ctas) are not supported")
    driver = driver or Driver()
    grid = ((tuple(grid) if hasattr(grid, "__iter__") else (grid,)) + (1, 1))[:3]
    module, function = driver.function(made.asm["ptx"], meta.name, meta.shared)
    values, arrays, buffers = [], [], []
    try:
        for value in args:
            array = value.array if isinstance(value, Typed) else value
            if not isinstance(array, numpy.ndarray):
                values.append(kind(value)[1](value))
                continue
            values.append(driver.buffer(array.nbytes))
            buffers.append(values[-1])
            arrays.append((array.ctypes.data_as(ctypes.c_void_p), values[-1],
                           ctypes.c_size_t(array.nbytes)))
        for size in (meta.global_scratch_size, meta.profile_scratch_size):  # the last two parameters
            values.append(driver.buffer(size * grid[0] * grid[1] * grid[2]))
            buffers.append(values[-1])
        for host, device, size in arrays:
            driver.call("cuMemcpyHtoD_v2", device, host, size)
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        driver.call("cuLaunchKernel", function, *grid, 32 * meta.num_warps, 1, 1, meta.shared, None,
                    pointers, None)
        driver.call("cuCtxSynchronize")
        for host, device, size in arrays:
            driver.call("cuMemcpyDtoH_v2", host, device, size)
    finally:
        for buffer in buffers:
            driver.lib.cuMemFree_v2(buffer)
        driver.lib.cuModuleUnload(module)
    return made
