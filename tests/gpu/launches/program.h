// What the programs of this folder share: numbers on the GPU, and what is printed of them. Sums that
// cancel to nothing would show rounding alone, so the first one is of absolute values.
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

// Fills memory of the GPU with numbers from -1 to 1.
inline void fill(float *device, int count) {
    std::vector<float> host(count);
    unsigned int state = 12345;
    for (float &v : host)
        v = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1;
    cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice);
}

inline void print_sums(const float *device, int count) {
    std::vector<float> host(count);
    cudaMemcpy(host.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0, weighted = 0;
    for (int i = 0; i < count; i++) sum += std::fabs(host[i]), weighted += host[i] * (1 + i % 101);
    printf("%s %.3f %.3f\n", cudaGetErrorString(cudaGetLastError()), sum, weighted);
}
