// srad: speckle reducing anisotropic diffusion of an ultrasound image (Yu and Acton, "Speckle
// reducing anisotropic diffusion", IEEE Transactions on Image Processing 2002).
//
//     srad COLUMNS ROWS ITERATIONS LAMBDA SEED
//
// An iteration is two launches: differences to the four neighbours and the coefficient of
// diffusion, then the new image. How strong speckle is, is worked out by the host from the top
// left corner of 32 x 32 pixels, which is taken to be of one tissue. LAMBDA is the step in
// hundredths. The image, a disk on a background under speckle, is made from the seed.
#include "../workload.h"

#include <vector>

#define TILE   16
#define CORNER 32

__global__ void coefficients(const float *image, float *north, float *south, float *west,
                             float *east, float *c, int columns, int rows, float speckle) {
    __shared__ float centre[TILE][TILE];
    __shared__ float above[TILE][TILE], below[TILE][TILE], left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    bool inside = x < columns && y < rows;
    int i = y * columns + x;

    // The tile, and what lies around it: at the image's edge, the edge itself.
    centre[ty][tx] = inside ? image[i] : 0.0f;
    __syncthreads();
    if (inside) {
        above[ty][tx] = ty > 0 ? centre[ty - 1][tx] : y > 0 ? image[i - columns] : image[i];
        below[ty][tx] = y == rows - 1   ? image[i]
                        : ty < TILE - 1 ? centre[ty + 1][tx]
                                        : image[i + columns];
    }
    __syncthreads();
    if (inside) {
        left[ty][tx] = tx > 0 ? centre[ty][tx - 1] : x > 0 ? image[i - 1] : image[i];
        right[ty][tx] = x == columns - 1 ? image[i]
                        : tx < TILE - 1  ? centre[ty][tx + 1]
                                         : image[i + 1];
    }
    __syncthreads();

    if (inside) {
        float j = centre[ty][tx];
        float n = above[ty][tx] - j, s = below[ty][tx] - j;
        float w = left[ty][tx] - j, e = right[ty][tx] - j;

        float gradient = (n * n + s * s + w * w + e * e) / (j * j);
        float laplacian = (n + s + w + e) / j;
        float num = 0.5f * gradient - (1.0f / 16.0f) * (laplacian * laplacian);
        float den = 1.0f + 0.25f * laplacian;
        float q = num / (den * den);
        den = (q - speckle) / (speckle * (1.0f + speckle));
        float coefficient = 1.0f / (1.0f + den);
        if (coefficient < 0.0f) coefficient = 0.0f;
        if (coefficient > 1.0f) coefficient = 1.0f;

        c[i] = coefficient;
        north[i] = n;
        south[i] = s;
        west[i] = w;
        east[i] = e;
    }
}

__global__ void diffuse(float *image, const float *north, const float *south, const float *west,
                        const float *east, const float *c, int columns, int rows, float lambda) {
    __shared__ float centre[TILE][TILE];
    __shared__ float updated[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    bool inside = x < columns && y < rows;
    int i = y * columns + x;

    centre[ty][tx] = inside ? c[i] : 0.0f;
    __syncthreads();
    if (inside) {
        float here = centre[ty][tx];
        float below = y == rows - 1 ? here : ty < TILE - 1 ? centre[ty + 1][tx] : c[i + columns];
        float right = x == columns - 1 ? here : tx < TILE - 1 ? centre[ty][tx + 1] : c[i + 1];
        float divergence = here * north[i] + below * south[i] + here * west[i] + right * east[i];
        updated[ty][tx] = image[i] + 0.25f * lambda * divergence;
    }
    __syncthreads();
    if (inside) image[i] = updated[ty][tx];
}

// The square of the coefficient of variation in the top left corner.
static float speckle_of(const std::vector<float> &corner) {
    double sum = 0, squares = 0;
    for (float v : corner) {
        sum += v;
        squares += (double)v * v;
    }
    double mean = sum / corner.size();
    return (float)((squares / corner.size() - mean * mean) / (mean * mean));
}

static void iterate_on_host(std::vector<float> &image, int columns, int rows, float speckle,
                            float lambda) {
    std::vector<float> c(image.size()), n(image.size()), s(image.size()), w(image.size()),
        e(image.size());
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int i = y * columns + x;
            float j = image[i];
            n[i] = image[y > 0 ? i - columns : i] - j;
            s[i] = image[y < rows - 1 ? i + columns : i] - j;
            w[i] = image[x > 0 ? i - 1 : i] - j;
            e[i] = image[x < columns - 1 ? i + 1 : i] - j;
            float gradient = (n[i] * n[i] + s[i] * s[i] + w[i] * w[i] + e[i] * e[i]) / (j * j);
            float laplacian = (n[i] + s[i] + w[i] + e[i]) / j;
            float num = 0.5f * gradient - laplacian * laplacian / 16.0f;
            float den = 1.0f + 0.25f * laplacian;
            float q = num / (den * den);
            c[i] = 1.0f / (1.0f + (q - speckle) / (speckle * (1.0f + speckle)));
            c[i] = fminf(fmaxf(c[i], 0.0f), 1.0f);
        }
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int i = y * columns + x;
            float below = c[y < rows - 1 ? i + columns : i], right = c[x < columns - 1 ? i + 1 : i];
            image[i] += 0.25f * lambda * (c[i] * n[i] + below * s[i] + c[i] * w[i] + right * e[i]);
        }
}

// Grey values of 1 to 255, as a probe gives them.
static void make_image(std::vector<float> &image, int columns, int rows, Random &random) {
    float radius = (columns < rows ? columns : rows) / 3.0f;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            float dx = x - columns * 0.6f, dy = y - rows * 0.6f;
            float tissue = dx * dx + dy * dy < radius * radius ? 150.0f : 60.0f;
            float noise = random.unit() + random.unit() + random.unit() + random.unit() - 2.0f;
            float grey = rintf(tissue * (1.0f + 0.5f * noise));
            image[y * columns + x] = fminf(fmaxf(grey, 1.0f), 255.0f);
        }
}

int main(int argc, char **argv) {
    const char *usage = "COLUMNS ROWS ITERATIONS LAMBDA SEED";
    int columns = argument(argc, argv, 1, 5, usage, CORNER, 1 << 14);
    int rows = argument(argc, argv, 2, 5, usage, CORNER, 1 << 14);
    int iterations = argument(argc, argv, 3, 5, usage, 1, 1000);
    float lambda = argument(argc, argv, 4, 5, usage, 1, 100) / 100.0f;
    int seed = argument(argc, argv, 5, 5, usage, 0, 1 << 30);
    printf("srad: %d x %d pixels, %d iterations of %g, seed %d\n", columns, rows, iterations,
           lambda, seed);

    int n = columns * rows;
    size_t bytes = n * sizeof(float);
    Random random(seed);
    std::vector<float> image(n), want, corner(CORNER * CORNER);
    make_image(image, columns, rows, random);
    want = image;

    float *d_image, *d_c, *d_n, *d_s, *d_w, *d_e;
    CUDA(cudaMalloc(&d_image, bytes));
    CUDA(cudaMalloc(&d_c, bytes));
    CUDA(cudaMalloc(&d_n, bytes));
    CUDA(cudaMalloc(&d_s, bytes));
    CUDA(cudaMalloc(&d_w, bytes));
    CUDA(cudaMalloc(&d_e, bytes));
    CUDA(cudaMemcpy(d_image, image.data(), bytes, cudaMemcpyHostToDevice));

    dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    for (int k = 0; k < iterations; k++) {
        CUDA(cudaMemcpy2D(corner.data(), CORNER * sizeof(float), d_image, columns * sizeof(float),
                          CORNER * sizeof(float), CORNER, cudaMemcpyDeviceToHost));
        float speckle = speckle_of(corner);
        coefficients<<<grid, block>>>(d_image, d_n, d_s, d_w, d_e, d_c, columns, rows, speckle);
        diffuse<<<grid, block>>>(d_image, d_n, d_s, d_w, d_e, d_c, columns, rows, lambda);
        CUDA(cudaGetLastError());

        for (int y = 0; y < CORNER; y++)
            for (int x = 0; x < CORNER; x++) corner[y * CORNER + x] = want[y * columns + x];
        iterate_on_host(want, columns, rows, speckle_of(corner), lambda);
    }
    CUDA(cudaMemcpy(image.data(), d_image, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(d_image));
    CUDA(cudaFree(d_c));
    CUDA(cudaFree(d_n));
    CUDA(cudaFree(d_s));
    CUDA(cudaFree(d_w));
    CUDA(cudaFree(d_e));

    double sum = 0;
    for (float v : image) sum += v;
    printf("mean %.2f\n", sum / n);
    return verdict(wrong_values("pixel", image.data(), want.data(), n, 1e-3));
}
