/* nvToolsExtCudaRt.h - NVTX's names of streams and events, where CUDA 12 and older had it. CUDA 13 has it in a folder. */
#pragma once
#include <nvtx3/nvToolsExtCudaRt.h>
