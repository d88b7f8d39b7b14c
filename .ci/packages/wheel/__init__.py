"""gilua: genetic improvement of CUDA kernels, with Lua.

The program itself is no Python: `gilua` and `python -m gilua` start it. HOME has its Lua files, experiments,
kernels and manual; runs are read with the module gilua_reader.
"""
import os

__version__ = "@VERSION@"

HOME = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HOME, "gilua")
