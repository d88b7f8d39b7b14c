// A parameter of the function's template.
#include "program.h"

template <typename T>
__global__ void gelu(T *y, const T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = x[i];
    y[i] = T(0.5) * v * (T(1) + tanhf(T(0.7978845608) * (v + T(0.044715) * v * v * v)));
}

template <int THREADS>
void apply(float *y, const float *x, int n) {
    gelu<float><<<(n + THREADS - 1) / THREADS, THREADS>>>(y, x, n);
}

int main() {
    int n = 3000001;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    fill(x, n);
    apply<64>(y, x, n); // timed
    print_sums(y, n);
    return 0;
}
