// textures.cu - texture objects over arrays, rows, linear memory and cubes, and surface objects,
// held against the host.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

__global__ void fetch(cudaTextureObject_t t, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, i);
}

__global__ void sample(cudaTextureObject_t t, float *out, int w, float dx, float dy, float scale) {
    int x = threadIdx.x, y = blockIdx.x;
    out[y * w + x] = tex2D<float>(t, (x + dx) * scale, (y + dy) * scale);
}

__global__ void bytes(cudaTextureObject_t t, float4 *out, int w) {
    int x = threadIdx.x, y = blockIdx.x;
    out[y * w + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
}

__global__ void volume(cudaTextureObject_t t, float *out, int w, int h) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * h + y) * w + x] = tex3D<float>(t, x + 1.0f, y + 0.5f, z + 0.5f);
}

__global__ void layer(cudaTextureObject_t t, float *out, int w, int h) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * h + y) * w + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, z);
}

// Every texel becomes itself and the one to its right.
__global__ void smooth(cudaSurfaceObject_t s, int w) {
    extern __shared__ float row[];
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dread(&row[x], s, x * 4, y);
    __syncthreads();
    surf2Dwrite(row[x] + row[(x + 1) % w], s, x * 4, y);
}

__global__ void direction(cudaTextureObject_t t, float *out) {
    float v[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    const float *d = v[threadIdx.x];
    out[threadIdx.x] = texCubemap<float>(t, d[0], d[1], d[2]);
}

static cudaTextureObject_t texture(const cudaResourceDesc &r, cudaTextureAddressMode address,
                                   cudaTextureFilterMode filter, cudaTextureReadMode read = cudaReadModeElementType,
                                   bool normalized = false) {
    cudaTextureDesc d = {};
    cudaTextureObject_t t = 0;
    for (int i = 0; i < 3; i++) d.addressMode[i] = address;
    d.filterMode = filter, d.readMode = read, d.normalizedCoords = normalized;
    cudaCreateTextureObject(&t, &r, &d, nullptr);
    return t;
}

static bool equal(const float *device, const std::vector<float> &want) {
    std::vector<float> got(want.size());
    cudaMemcpy(got.data(), device, got.size() * 4, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < got.size(); i++)
        if (std::fabs(got[i] - want[i]) > 1e-5f) return false;
    return true;
}

int main() {
    enum { W = 16, H = 8, D = 4 };
    std::vector<float> host(W * H * D), want(W * H * D);
    for (int i = 0; i < W * H * D; i++) host[i] = (i * 37 % 101) * 0.25f;
    auto at = [&](int x, int y, int z = 0) {
        x = x < 0 ? 0 : x >= W ? W - 1 : x, y = y < 0 ? 0 : y >= H ? H - 1 : y;
        return host[(z * H + y) * W + x];
    };
    float *out, *linear;
    size_t pitch;
    cudaMalloc(&out, W * H * D * 16);

    cudaResourceDesc r = {};
    cudaMalloc(&linear, W * H * 4);
    cudaMemcpy(linear, host.data(), W * H * 4, cudaMemcpyHostToDevice);
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = linear, r.res.linear.sizeInBytes = W * H * 4;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    cudaTextureObject_t t = texture(r, cudaAddressModeClamp, cudaFilterModePoint);
    fetch<<<1, 128>>>(t, out, W * H);
    check("linear", equal(out, std::vector<float>(host.begin(), host.begin() + W * H)));
    cudaMemset(linear, 0, W * H * 4);
    fetch<<<1, 128>>>(t, out, W * H);
    check("linear memory that changes", equal(out, std::vector<float>(W * H, 0)));
    cudaDestroyTextureObject(t);
    t = texture(r, cudaAddressModeClamp, cudaFilterModeLinear);
    fetch<<<1, 128>>>(t, out, W * H);
    check("linear memory has no filter", equal(out, std::vector<float>(W * H, 0)));
    cudaDestroyTextureObject(t);

    cudaArray_t a;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocArray(&a, &f, W, H);
    cudaMemcpy2DToArray(a, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray, r.res.array.array = a;
    t = texture(r, cudaAddressModeClamp, cudaFilterModeLinear);
    sample<<<H, W>>>(t, out, W, 1.0f, 1.0f, 1);
    want.resize(W * H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            want[y * W + x] = (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) / 4;
    check("between texels of an array", equal(out, want));
    cudaDestroyTextureObject(t);
    t = texture(r, cudaAddressModeBorder, cudaFilterModePoint);
    sample<<<H, W>>>(t, out, W, 2.5f, -1.5f, 1);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) want[y * W + x] = x + 2 < W && y >= 2 ? at(x + 2, y - 2) : 0;
    check("a border", equal(out, want));
    cudaDestroyTextureObject(t);
    t = texture(r, cudaAddressModeWrap, cudaFilterModePoint, cudaReadModeElementType, true);
    sample<<<H, 8>>>(t, out, 8, 8.5f, 8.5f, 0.125f);
    want.resize(8 * H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < 8; x++) want[y * 8 + x] = at((2 * x + 1) % W, y);
    check("round and round", equal(out, want));
    cudaDestroyTextureObject(t);

    char *rows;
    cudaMallocPitch(&rows, &pitch, W * 4, H);
    cudaMemcpy2D(rows, pitch, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = rows, r.res.pitch2D.desc = f, r.res.pitch2D.width = W, r.res.pitch2D.height = H;
    r.res.pitch2D.pitchInBytes = pitch;
    t = texture(r, cudaAddressModeClamp, cudaFilterModePoint);
    sample<<<H, W>>>(t, out, W, 0.5f, 0.5f, 1);
    check("rows", equal(out, std::vector<float>(host.begin(), host.begin() + W * H)));
    cudaDestroyTextureObject(t);

    std::vector<unsigned char> texels(W * H * 4);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = (unsigned char)(i * 3);
    cudaArray_t b;
    cudaChannelFormatDesc rgba = cudaCreateChannelDesc<uchar4>();
    cudaMallocArray(&b, &rgba, W, H);
    cudaMemcpy2DToArray(b, 0, 0, texels.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray, r.res.array.array = b;
    t = texture(r, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeNormalizedFloat);
    bytes<<<H, W>>>(t, (float4 *)out, W);
    want.assign(W * H * 4, 0);
    for (size_t i = 0; i < texels.size(); i++) want[i] = texels[i] / 255.0f;
    check("bytes as numbers up to 1", equal(out, want));
    cudaDestroyTextureObject(t);
    cudaTextureDesc d = {};
    d.filterMode = cudaFilterModeLinear;
    check("no bytes between bytes", cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidFilterSetting);
    cudaGetLastError();

    for (int layered = 0; layered < 2; layered++) {
        cudaArray_t box;
        cudaMalloc3DArray(&box, &f, make_cudaExtent(W, H, D), layered ? cudaArrayLayered : 0);
        cudaMemcpy3DParms p = {};
        p.srcPtr = make_cudaPitchedPtr(host.data(), W * 4, W, H);
        p.dstArray = box, p.extent = make_cudaExtent(W, H, D), p.kind = cudaMemcpyHostToDevice;
        cudaMemcpy3D(&p);
        memset(&r, 0, sizeof r);
        r.resType = cudaResourceTypeArray, r.res.array.array = box;
        t = texture(r, cudaAddressModeClamp, layered ? cudaFilterModePoint : cudaFilterModeLinear);
        if (layered) layer<<<dim3(H, D), W>>>(t, out, W, H);
        else volume<<<dim3(H, D), W>>>(t, out, W, H);
        want = host;
        for (int z = 0; z < D && !layered; z++)
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++) want[(z * H + y) * W + x] = (at(x, y, z) + at(x + 1, y, z)) / 2;
        check(layered ? "layers" : "a volume", equal(out, want));
        cudaDestroyTextureObject(t), cudaFreeArray(box);
    }
    cudaArray_t written, cube;
    cudaSurfaceObject_t s;
    std::vector<float> back(W * H);
    cudaMallocArray(&written, &f, W, H, cudaArraySurfaceLoadStore);
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray, r.res.array.array = a;
    check("no surface of an array that is not made for it", cudaCreateSurfaceObject(&s, &r) == cudaErrorInvalidValue);
    cudaGetLastError();
    r.res.array.array = written;
    cudaCreateSurfaceObject(&s, &r);
    cudaMemcpy2DToArray(written, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice);
    want.assign(host.begin(), host.begin() + W * H);
    for (int n = 0; n < 6; n++) { // the same launch, on what it wrote before
        smooth<<<H, W, W * 4>>>(s, W);
        for (int y = 0; y < H; y++) {
            float first = want[y * W];
            for (int x = 0; x < W; x++)
                want[y * W + x] += x + 1 < W ? want[y * W + x + 1] : first;
        }
    }
    cudaMemcpy2DFromArray(back.data(), W * 4, written, 0, 0, W * 4, H, cudaMemcpyDeviceToHost);
    check("what a surface is written to", back == want);
    for (int n = 0; n < 6; n++) { // … and on what it was before, again and again
        cudaMemcpy2DToArray(written, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice);
        smooth<<<H, W, W * 4>>>(s, W);
    }
    cudaMemcpy2DFromArray(back.data(), W * 4, written, 0, 0, W * 4, H, cudaMemcpyDeviceToHost);
    check("and the same launch again", back[0] == host[0] + host[1] && back[W - 1] == host[W - 1] + host[0]);
    check("the end of a surface", cudaDestroySurfaceObject(s) == cudaSuccess && cudaDestroySurfaceObject(s) == cudaErrorInvalidValue);
    cudaGetLastError();

    cudaMalloc3DArray(&cube, &f, make_cudaExtent(4, 4, 6), cudaArrayCubemap);
    cudaMemcpy3DParms faces = {};
    for (int i = 0; i < 4 * 4 * 6; i++) host[i] = i / 16;
    faces.srcPtr = make_cudaPitchedPtr(host.data(), 16, 4, 4);
    faces.dstArray = cube, faces.extent = make_cudaExtent(4, 4, 6), faces.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&faces);
    r.res.array.array = cube;
    t = texture(r, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, true);
    direction<<<1, 6>>>(t, out);
    check("the faces of a cube", equal(out, {0, 1, 2, 3, 4, 5}));
    cudaDestroyTextureObject(t), cudaFreeArray(cube), cudaFreeArray(written);

    cudaFreeArray(a), cudaFreeArray(b), cudaFree(rows), cudaFree(linear), cudaFree(out);
    return failed != 0;
}
