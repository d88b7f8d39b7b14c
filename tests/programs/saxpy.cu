// saxpy.cu - what most programs do: memory, copies, a template kernel, a constant, a variable.
#include <cstdio>
#include <cstdlib>

__constant__ float scale[2];
__device__ int counter = 40;

template <typename T> __global__ void saxpy(T a, const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] * scale[1] + y[i];
        if (i % 1000 == 0) atomicAdd(&counter, 1);
    }
}

template <typename T> int wrong(int n) {
    T *x = (T *)malloc(n * sizeof(T)), *y = (T *)malloc(n * sizeof(T)), *dx, *dy;
    for (int i = 0; i < n; i++) x[i] = T(i % 17), y[i] = T(i % 5);
    cudaMalloc(&dx, n * sizeof(T));
    cudaMalloc(&dy, n * sizeof(T));
    cudaMemcpy(dx, x, n * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y, n * sizeof(T), cudaMemcpyHostToDevice);
    saxpy<T><<<(n + 127) / 128, 128>>>(T(3), dx, dy, n);
    cudaMemcpy(y, dy, n * sizeof(T), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i++) bad += y[i] != T(3 * (i % 17) * 2 + i % 5);
    cudaFree(dx);
    cudaFree(dy);
    free(x);
    free(y);
    return bad;
}

int main() {
    float two[2] = {7, 2};
    int count;
    cudaMemcpyToSymbol(scale, two, sizeof two);
    printf("float: %d wrong\n", wrong<float>(10000));
    printf("double: %d wrong\n", wrong<double>(2500));
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    printf("counter: %d\n", count);
    return count != 40 + 10 + 3;
}
