/* nvToolsExt.h - NVTX, where CUDA 12 and older had it. CUDA 13 has it in a folder. */
#pragma once
#include <nvtx3/nvToolsExt.h>
