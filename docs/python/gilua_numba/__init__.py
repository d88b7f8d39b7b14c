"""Has Numba give the CUDA driver the PTX of its kernels, in the place of machine code.

    import gilua_numba
    from numba import cuda

The virtual GPU then runs them (`gilua run -- python3 program.py`), and a recording of a GPU has PTX, which evolves.
The driver compiles the PTX, so that a kernel's first launch takes longer. It needs numba-cuda.
"""

from numba.cuda.cudadrv import driver


def complete(self):
    """Returns what a linker was given as one PTX; what is not PTX alone becomes machine code, as ever."""
    codes = self._object_codes
    if self._has_ltoir:
        return driver.ObjectCode.from_ptx(self.get_linked_ptx())
    if len(codes) != 1 or codes[0].code_type != "ptx":
        return linked(self)
    self._info_log = self._error_log = ""
    self._complete = True
    return codes[0]


linked = driver._Linker.complete
driver._Linker.complete = complete
