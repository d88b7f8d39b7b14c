// parts.cu - device code in several parts, with -rdc=true (the other is parts_other.cu), and managed
// variables, which both sides write.
#include <cstdio>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

extern __device__ int shared_table[8];
extern __constant__ int factor;
__device__ int apply(int x);
void other_launch(int *p);

__managed__ int both = 7;
__managed__ double many[100];
__device__ int (*pointer)(int) = apply;

__global__ void use(int *p) {
    p[threadIdx.x] = apply(p[threadIdx.x]) + shared_table[threadIdx.x % 8] + pointer(1);
}

__global__ void change(int k) {
    if (threadIdx.x == 0) both += k;
    many[threadIdx.x] *= 2;
}

int main() {
    int *p, host[32];
    cudaMalloc(&p, sizeof host);
    for (int i = 0; i < 32; i++) host[i] = i;
    cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice);
    use<<<1, 32>>>(p);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    bool ok = true;
    for (int i = 0; i < 32; i++) ok = ok && host[i] == 3 * i + i % 8 + 3;
    check("functions and variables of another part", ok);
    other_launch(p);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    check("a kernel of another part", host[5] == -(3 * 5 + 5 + 3));
    int five = 5;
    cudaMemcpyToSymbol(factor, &five, sizeof five);
    cudaMemset(p, 0, sizeof host);
    use<<<1, 32>>>(p);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    check("a constant of another part", host[9] == 0 * 5 + 1 + 5);
    check("a managed variable begins", both == 7 && many[99] == 0);
    for (int i = 0; i < 100; i++) many[i] = i;
    both = 10;
    change<<<1, 100>>>(32);
    cudaDeviceSynchronize();
    ok = both == 42;
    for (int i = 0; i < 100; i++) ok = ok && many[i] == 2 * i;
    check("and is changed by both", ok);
    cudaPointerAttributes a;
    cudaPointerGetAttributes(&a, many + 3);
    check("it is managed memory", a.type == cudaMemoryTypeManaged && a.devicePointer == many + 3);
    void *address;
    size_t size;
    check("with an address and a size", cudaGetSymbolAddress(&address, many) == cudaSuccess && address == many &&
          cudaGetSymbolSize(&size, many) == cudaSuccess && size == sizeof many);
    cudaFree(p);
    return failed != 0;
}
