// shared.cu - memory that both sides see, arrays and textures, sets, copies on the device.
#include <cstdio>
#include <cstdlib>

__global__ void twice(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

__global__ void sample(cudaTextureObject_t t, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, i + 0.5f, 1.5f);
}

__global__ void look(cudaTextureObject_t t, float *out) { // along +x -x +y -y +z -z
    float v[3] = {0, 0, 0};
    v[threadIdx.x / 2] = threadIdx.x % 2 ? -1 : 1;
    out[threadIdx.x] = texCubemap<float>(t, v[0], v[1], v[2]);
}

// Looks at the six faces of a cube, of which each holds its number: how many are wrong.
static int wrong_faces(float *out) {
    float texels[6][4][4], row[6];
    for (int i = 0; i < 96; i++) texels[i / 16][i / 4 % 4][i % 4] = i / 16;
    cudaArray_t faces;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaMalloc3DArray(&faces, &desc, make_cudaExtent(4, 4, 6), cudaArrayCubemap);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels, 16, 4, 4);
    copy.dstArray = faces, copy.extent = make_cudaExtent(4, 4, 6);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = faces;
    cudaTextureDesc how = {};
    how.normalizedCoords = 1;
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    look<<<1, 6>>>(texture, out);
    cudaMemcpy(row, out, sizeof row, cudaMemcpyDeviceToHost);
    cudaFreeArray(faces); // before the texture, as programs do
    cudaDestroyTextureObject(texture);
    int wrong = 0;
    for (int i = 0; i < 6; i++) wrong += row[i] != i;
    return wrong;
}

int main(int argc, char **argv) {
    const int n = 100;
    int *both, *pinned, *device, wrong = 0;
    cudaMallocManaged(&both, n * sizeof(int));
    cudaMallocHost(&pinned, n * sizeof(int));
    cudaMalloc(&device, 2 * n * sizeof(int));
    for (int i = 0; i < n; i++) both[i] = pinned[i] = i;
    twice<<<1, 128>>>(both, n); // twice what the host wrote,
    cudaDeviceSynchronize();
    both[3] = 1000;             // and once more, after it wrote again
    twice<<<1, 128>>>(both, n);
    cudaMemset(device, 1, 2 * n * sizeof(int));
    cudaMemcpy(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(device + n, device, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaMemcpy(pinned, device + n, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) wrong += both[i] != (i == 3 ? 2000 : 4 * i) || pinned[i] != i;

    float texels[3][8], *out, row[8];
    for (int i = 0; i < 24; i++) texels[i / 8][i % 8] = i;
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &desc, 8, 3);
    cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 3, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    cudaMalloc(&out, sizeof row);
    sample<<<1, 32>>>(texture, out, 8);
    cudaMemcpy(row, out, sizeof row, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 8; i++) wrong += row[i] != 8 + i;
    cudaDestroyTextureObject(texture);
    cudaFreeArray(array);
    wrong += wrong_faces(out);
    printf("%d wrong\n", wrong);
    if (argc > 1) abort();
    cudaFree(both);
    return wrong != 0;
}
