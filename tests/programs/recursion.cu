// Device functions that call themselves and each other, to a depth that differs between lanes, one
// through a pointer.
__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n != 0 && even(n - 1); }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*table[2])(int) = {twice, square};

// Quicksort of a local array.
__device__ __noinline__ void sort(int *v, int low, int high) {
    if (low >= high) return;
    int pivot = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (v[i] < pivot) i++;
        while (v[j] > pivot) j--;
        if (i <= j) {
            int t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    }
    sort(v, low, j);
    sort(v, i, high);
}

extern "C" __global__ void recursion(int *a, int *parity, int *median, int *called, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a[i] = ackermann(i % 3, i % 5);
    parity[i] = even(i % 40);
    int v[9];
    for (int k = 0; k < 9; k++) v[k] = (i * 7919 + k * k * 104729) % 1000;
    sort(v, 0, 8);
    median[i] = v[4];
    called[i] = table[i & 1](i);
}
