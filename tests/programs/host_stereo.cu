// A host program of the kernel of stereo matching, as people have one: a made-up pair of pictures,
// whose right one is shifted, matched on the GPU and on the CPU. Arguments: width, height, seed.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernel.cu"

typedef std::vector<unsigned char> Picture;

static cudaTextureObject_t texture(const Picture &p, int width, int height) {
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<unsigned char>();
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    cudaMallocArray(&what.res.array.array, &desc, width, height);
    cudaMemcpy2DToArray(what.res.array.array, 0, 0, p.data(), width, width, height,
                        cudaMemcpyHostToDevice);
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t made = 0;
    cudaCreateTextureObject(&made, &what, &how, NULL);
    return made;
}

static int at(const Picture &p, int width, int height, int x, int y) {
    x = x < 0 ? 0 : x >= width ? width - 1 : x, y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return p[y * width + x];
}

// The disparity of a pixel on the CPU.
static int expected(const Picture &left, const Picture &right, int width, int height, int most,
                    int x, int y) {
    int best = -1, least = NO_MATCH;
    for (int d = 0; d <= most; d++) {
        int sum = 0;
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                int diff = at(left, width, height, x + dx, y + dy) -
                           at(right, width, height, x + dx - d, y + dy);
                sum += diff * diff;
            }
        if (sum < least) least = sum, best = d;
    }
    return best;
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) : 100, height = argc > 2 ? atoi(argv[2]) : 50, most = 7;
    srand(argc > 3 ? atoi(argv[3]) : 1);
    Picture left(width * height), right(width * height);
    for (unsigned char &c : left) c = rand() % 200;
    for (int i = 0; i < width * height; i++) { // the lower half is nearer
        int x = i % width, y = i / width, d = y < height / 2 ? 2 : 5;
        right[i] = at(left, width, height, x + d, y) + rand() % 3;
    }
    cudaTextureObject_t l = texture(left, width, height), r = texture(right, width, height);
    cudaMemcpyToSymbol(leftTexture, &l, sizeof l);
    cudaMemcpyToSymbol(rightTexture, &r, sizeof r);
    float *disparity;
    int *sums;
    unsigned char *pictures;
    size_t pitch;
    cudaMallocPitch(&disparity, &pitch, width * sizeof(float), height);
    cudaMalloc(&sums, pitch * height);
    cudaMalloc(&pictures, 2 * width * height); // for those who read no texture
    cudaMemcpy(pictures, left.data(), width * height, cudaMemcpyHostToDevice);
    cudaMemcpy(pictures + width * height, right.data(), width * height, cudaMemcpyHostToDevice);
    dim3 grid((width + TILE_W - 1) / TILE_W, (height + ROWSperTHREAD - 1) / ROWSperTHREAD);
    stereo_disparity<<<grid, GROUPS * BLOCK_W>>>(disparity, sums, pictures,
                                                 pictures + width * height, pitch / sizeof(float),
                                                 width, height, most);
    std::vector<float> got(width * height);
    cudaMemcpy2D(got.data(), width * sizeof(float), disparity, pitch, width * sizeof(float), height,
                 cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < width * height; i++)
        wrong += got[i] != expected(left, right, width, height, most, i % width, i / width);
    printf("%d pixels, %d wrong\n", width * height, wrong);
    return wrong != 0;
}
