/* heartwall - points on the wall of a heart, followed through the frames of a film.
 *
 * Of each point there is a template, what the image was like around it. In a new frame the template
 * is correlated with the image at every displacement of up to REACH pixels (the normalised
 * cross-correlation), and where that is largest is where the point went. The template then becomes
 * a little like what was found there. A block follows a point. */
#include "../workload.h"

#include <vector>

#define RADIUS 7
#define SIDE (2 * RADIUS + 1)          /* of a template */
#define REACH 6
#define WAYS (2 * REACH + 1)           /* displacements along a side */
#define WINDOW (SIDE + 2 * REACH)      /* what of the image is looked at */
#define THREADS 192
#define KEPT 0.9f                      /* of the old template */

/* The correlation of a template (SIDE x SIDE) with the window at a displacement. */
__host__ __device__ static float correlation(const float *pattern, const float *window, int dx,
                                             int dy)
{
    float mean = 0, pattern_mean = 0;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            mean += window[(y + dy) * WINDOW + x + dx];
            pattern_mean += pattern[y * SIDE + x];
        }
    }
    mean /= SIDE * SIDE;
    pattern_mean /= SIDE * SIDE;
    float both = 0, square = 0, pattern_square = 0;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            float a = window[(y + dy) * WINDOW + x + dx] - mean;
            float b = pattern[y * SIDE + x] - pattern_mean;
            both += a * b;
            square += a * a;
            pattern_square += b * b;
        }
    }
    float scale = sqrtf(square * pattern_square);
    return scale > 0 ? both / scale : 0; /* a window off the image is flat */
}

/* A pixel of the image; beyond its edge the nearest. */
__host__ __device__ static float pixel(const float *frame, int width, int height, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return frame[y * width + x];
}

__global__ void track(const float *frame, int width, int height, const float *patterns, int *points,
                      float *scores)
{
    __shared__ float window[WINDOW * WINDOW];
    __shared__ float pattern[SIDE * SIDE];
    __shared__ float found[WAYS * WAYS];
    int p = blockIdx.x;
    int left = points[2 * p] - RADIUS - REACH, top = points[2 * p + 1] - RADIUS - REACH;

    for (int i = threadIdx.x; i < WINDOW * WINDOW; i += blockDim.x)
        window[i] = pixel(frame, width, height, left + i % WINDOW, top + i / WINDOW);
    __syncthreads();
    for (int i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x)
        pattern[i] = patterns[p * SIDE * SIDE + i];
    __syncthreads();

    for (int i = threadIdx.x; i < WAYS * WAYS; i += blockDim.x)
        found[i] = correlation(pattern, window, i % WAYS, i / WAYS);
    __syncthreads();

    if (threadIdx.x == 0) {
        int best = 0;
        for (int i = 1; i < WAYS * WAYS; i++) {
            if (found[i] > found[best]) best = i;
        }
        points[2 * p] += best % WAYS - REACH;
        points[2 * p + 1] += best / WAYS - REACH;
        scores[p] = found[best];
    }
}

__global__ void refresh(const float *frame, int width, int height, float *patterns,
                        const int *points)
{
    int p = blockIdx.x;

    for (int i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x) {
        float now = pixel(frame, width, height, points[2 * p] + i % SIDE - RADIUS,
                          points[2 * p + 1] + i / SIDE - RADIUS);
        patterns[p * SIDE * SIDE + i] = KEPT * patterns[p * SIDE * SIDE + i] + (1.0f - KEPT) * now;
    }
}

/* Grey levels: the wall's texture, `frame` steps on along a circle, and noise. */
static std::vector<float> make_frame(const std::vector<float> &texture, int width, int height,
                                     int frame, Random &random)
{
    std::vector<float> pixels((size_t)width * height);
    double turn = 0.7 * frame;
    int dx = (int)lround(4 * cos(turn)), dy = (int)lround(4 * sin(turn));
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int from_x = (x + dx + width) % width, from_y = (y + dy + height) % height;
            pixels[(size_t)y * width + x] = texture[(size_t)from_y * width + from_x] +
                (float)random.below(12);
        }
    }
    return pixels;
}

/* Noise that is smooth over a few pixels, in whole grey levels. */
static std::vector<float> make_texture(int width, int height, Random &random)
{
    std::vector<float> rough((size_t)width * height), smooth(rough.size());
    for (float &value : rough) value = (float)random.below(256);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int k = 0; k < 9; k++)
                sum += rough[(size_t)((y + k / 3) % height) * width + (x + k % 3) % width];
            smooth[(size_t)y * width + x] = floorf(sum / 9);
        }
    }
    return smooth;
}

static void track_on_host(const std::vector<float> &frame, int width, int height,
                          std::vector<float> &patterns, std::vector<int> &points,
                          std::vector<float> &scores)
{
    std::vector<float> window(WINDOW * WINDOW);
    for (size_t p = 0; p < points.size() / 2; p++) {
        float *pattern = &patterns[p * SIDE * SIDE];
        int left = points[2 * p] - RADIUS - REACH, top = points[2 * p + 1] - RADIUS - REACH;
        for (int i = 0; i < WINDOW * WINDOW; i++)
            window[i] = pixel(frame.data(), width, height, left + i % WINDOW, top + i / WINDOW);
        int best = 0;
        float most = -2;
        for (int i = 0; i < WAYS * WAYS; i++) {
            float value = correlation(pattern, window.data(), i % WAYS, i / WAYS);
            if (value > most) {
                most = value;
                best = i;
            }
        }
        points[2 * p] += best % WAYS - REACH;
        points[2 * p + 1] += best / WAYS - REACH;
        scores[p] = most;
        for (int i = 0; i < SIDE * SIDE; i++) {
            float now = pixel(frame.data(), width, height, points[2 * p] + i % SIDE - RADIUS,
                              points[2 * p + 1] + i / SIDE - RADIUS);
            pattern[i] = KEPT * pattern[i] + (1.0f - KEPT) * now;
        }
    }
}

int main(int argc, char **argv)
{
    const char *usage = "WIDTH HEIGHT POINTS FRAMES SEED";
    int width = argument(argc, argv, 1, 5, usage, 32, 4096);
    int height = argument(argc, argv, 2, 5, usage, 32, 4096);
    int n = argument(argc, argv, 3, 5, usage, 1, 65535);
    int frames = argument(argc, argv, 4, 5, usage, 1, 1000);
    int seed = argument(argc, argv, 5, 5, usage, 0, 1 << 30);
    Random random(seed);
    std::vector<float> texture = make_texture(width, height, random);
    std::vector<float> frame = make_frame(texture, width, height, 0, random);
    std::vector<float> patterns((size_t)n * SIDE * SIDE);
    std::vector<int> points(2 * n);
    for (int p = 0; p < n; p++) {
        points[2 * p] = random.below(width);
        points[2 * p + 1] = random.below(height);
        for (int i = 0; i < SIDE * SIDE; i++)
            patterns[(size_t)p * SIDE * SIDE + i] = pixel(frame.data(), width, height,
                points[2 * p] + i % SIDE - RADIUS, points[2 * p + 1] + i / SIDE - RADIUS);
    }
    printf("heartwall: %d x %d pixels, %d points, %d frames, seed %d\n", width, height, n, frames,
           seed);

    float *d_frame, *d_patterns, *d_scores;
    int *d_points;
    size_t frame_bytes = frame.size() * sizeof(float);
    size_t pattern_bytes = patterns.size() * sizeof(float);
    CUDA(cudaMalloc(&d_frame, frame_bytes));
    CUDA(cudaMalloc(&d_patterns, pattern_bytes));
    CUDA(cudaMalloc(&d_points, points.size() * sizeof(int)));
    CUDA(cudaMalloc(&d_scores, n * sizeof(float)));
    CUDA(cudaMemcpy(d_patterns, patterns.data(), pattern_bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_points, points.data(), points.size() * sizeof(int), cudaMemcpyHostToDevice));
    int wrong = 0;
    std::vector<int> got(points.size());
    std::vector<float> scores(n), got_scores(n);
    for (int i = 1; i <= frames; i++) {
        frame = make_frame(texture, width, height, i, random);
        CUDA(cudaMemcpy(d_frame, frame.data(), frame_bytes, cudaMemcpyHostToDevice));
        track<<<n, THREADS>>>(d_frame, width, height, d_patterns, d_points, d_scores);
        refresh<<<n, THREADS>>>(d_frame, width, height, d_patterns, d_points);
        CUDA(cudaMemcpy(got.data(), d_points, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(got_scores.data(), d_scores, n * sizeof(float), cudaMemcpyDeviceToHost));
        track_on_host(frame, width, height, patterns, points, scores);
        wrong += wrong_values("place", got.data(), points.data(), 2 * n) +
            wrong_values("correlation of point", got_scores.data(), scores.data(), n, 1e-4);
    }
    release(d_frame, d_patterns, d_points, d_scores);
    return verdict(wrong);
}
