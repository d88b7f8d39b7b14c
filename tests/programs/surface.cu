// surface.cu - an image that a kernel changes in place through a surface, and another reads as a texture.
#include <cstdio>
#include <cstring>

// Every texel becomes itself and the one to its right.
__global__ void smooth(cudaSurfaceObject_t s, int w) {
    int x = threadIdx.x, y = blockIdx.x;
    float mine, next;
    surf2Dread(&mine, s, x * 4, y);
    surf2Dread(&next, s, (x + 1) % w * 4, y);
    __syncthreads();
    surf2Dwrite(mine + next * 0.5f, s, x * 4, y);
}

__global__ void fetch(cudaTextureObject_t t, float *out, int w) {
    int x = threadIdx.x, y = blockIdx.x;
    out[y * w + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}

int main() {
    const int W = 64, H = 16;
    static float host[W * H], back[W * H], want[W * H];
    float *out;
    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocArray(&a, &f, W, H, cudaArraySurfaceLoadStore);
    cudaMalloc(&out, sizeof host);
    for (int i = 0; i < W * H; i++) host[i] = want[i] = i % 7;
    cudaMemcpy2DToArray(a, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice);
    cudaResourceDesc r;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray, r.res.array.array = a;
    cudaTextureDesc d = {};
    cudaSurfaceObject_t s;
    cudaTextureObject_t t;
    cudaCreateSurfaceObject(&s, &r);
    cudaCreateTextureObject(&t, &r, &d, NULL);
    for (int n = 0; n < 3; n++) {
        smooth<<<H, W>>>(s, W);
        for (int y = 0; y < H; y++) {
            float first = want[y * W];
            for (int x = 0; x < W; x++) want[y * W + x] += (x + 1 < W ? want[y * W + x + 1] : first) * 0.5f;
        }
    }
    fetch<<<H, W>>>(t, out, W);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    int wrong = memcmp(back, want, sizeof back) != 0;
    cudaMemcpy2DFromArray(back, W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost);
    wrong += memcmp(back, want, sizeof back) != 0;
    cudaDestroySurfaceObject(s), cudaDestroyTextureObject(t), cudaFreeArray(a), cudaFree(out);
    printf("%d wrong\n", wrong);
    return wrong;
}
