// faults.cu - one thing done wrong, named by the first argument; says what CUDA's functions return.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void beyond(int *p, int n) {
    int i = threadIdx.x;
    p[i + n - 32] = i; // the line that is told of: i >= 32
}

__global__ void fine(int *p) {
    p[threadIdx.x] = 1;
}

__global__ void misaligned(char *p) {
    *(int *)(p + 1) = 1;
}

__global__ void null(int *p) {
    p[2] = 1;
}

__global__ void asserts(int n) {
    if (threadIdx.x == 5) {
        printf("about to fail\n");
        assert(n == 7);
    }
}

__global__ void allocates(int *out) {
    int *p = (int *)malloc(24), *q = (int *)malloc(8);
    *p = *q = threadIdx.x;
    out[threadIdx.x] = *p + *q;
    free(q);
    if (threadIdx.x) free(p);
}

__global__ void racy(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void unset(const int *in, int *out) {
    if (in[threadIdx.x] == 7) atomicAdd(out, 1);
}

__global__ void fetches(cudaTextureObject_t t, int *out) {
    out[threadIdx.x] = tex1D<int>(t, threadIdx.x);
}

static cudaTextureObject_t texture_of(cudaArray_t a) {
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t = 0;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    cudaCreateTextureObject(&t, &r, &d, nullptr);
    return t;
}

static void say(const char *what, cudaError_t e) {
    printf("%s: %s\n", what, cudaGetErrorName(e));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "fine";
    int *p, *q;
    cudaMalloc(&p, 64 * sizeof(int));
    cudaMalloc(&q, 64 * sizeof(int));
    if (!strcmp(what, "beyond")) beyond<<<1, 64>>>(p, 64);
    else if (!strcmp(what, "misaligned")) misaligned<<<1, 1>>>((char *)p);
    else if (!strcmp(what, "null")) null<<<1, 1>>>(nullptr);
    else if (!strcmp(what, "assert")) asserts<<<1, 32>>>(8);
    else if (!strcmp(what, "race")) racy<<<1, 64>>>(p);
    else if (!strcmp(what, "heap")) allocates<<<2, 4>>>(p);
    else if (!strcmp(what, "unset")) unset<<<1, 32>>>(p, q);
    else if (!strcmp(what, "freed")) {
        cudaFree(q);
        fine<<<1, 8>>>(q);
    } else if (!strcmp(what, "twice")) {
        cudaFree(q);
        say("again", cudaFree(q));
    } else if (!strcmp(what, "middle")) say("free", cudaFree(p + 3));
    else if (!strcmp(what, "copy")) {
        int host[100];
        say("copy", cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    } else if (!strcmp(what, "texels")) {
        cudaArray_t a;
        cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
        cudaMallocArray(&a, &ints, 32);
        cudaTextureObject_t t = texture_of(a);
        fetches<<<1, 32>>>(t, p);
        cudaFreeArray(a);
        fetches<<<1, 32>>>(t, p);
    } else fine<<<1, 64>>>(p);
    say("launch", cudaGetLastError());
    say("wait", cudaDeviceSynchronize());
    say("last", cudaGetLastError());
    say("last again", cudaGetLastError());
    if (strcmp(what, "leak")) cudaFree(p), cudaFree(q);
    return 0;
}
