/* nvToolsExtCuda.h - NVTX's names of contexts and streams, where CUDA 12 and older had it. CUDA 13 has it in a folder. */
#pragma once
#include <nvtx3/nvToolsExtCuda.h>
