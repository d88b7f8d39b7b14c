#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

inline void cudaCheck(cudaError_t code, const char *file, int line)
{
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(code));
    std::exit(2);
}
#define cudaCheck(x) cudaCheck((x), __FILE__, __LINE__)

constexpr int kThreads = 128;

__device__ inline int globalThread() { return blockDim.x * blockIdx.x + threadIdx.x; }
