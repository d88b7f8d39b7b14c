// particlefilter: a disk is followed through a noisy video by sequential importance resampling
// (Gordon, Salmond and Smith, "Novel approach to nonlinear/non-Gaussian Bayesian state
// estimation", IEE Proceedings F, 1993).
//
//     particlefilter SIZE PARTICLES FRAMES SEED
//
// For each frame: particles move as the disk is thought to, and are weighed by the pixels
// around them; weights are summed and divided by their sum; where the disk is, is the weighted
// mean; and particles are drawn again by their weights. The video, SIZE x SIZE pixels a frame,
// is made from the seed. Checked: where each particle is, its weight, the sums, the means and the
// draws of each frame, from those of the frame before; and where the disk ends, against the truth.
#include "../workload.h"

#include <utility>
#include <vector>

#define BLOCK  128
#define RADIUS 5
#define DISK   228
#define GROUND 100

struct Offset {
    int x, y;
};

__device__ float uniform(unsigned *state, int i) {
    unsigned s = state[i] * 1664525u + 1013904223u;
    state[i] = s;
    return ((s >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

// Box and Muller, 1958.
__device__ float normal(unsigned *state, int i) {
    float u = uniform(state, i);
    float v = uniform(state, i);
    return sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
}

// Each particle moves, and looks at the pixels where the disk would be.
__global__ void move_and_weigh(float *x, float *y, float *weight, unsigned *state,
                               const unsigned char *frame, const Offset *disk, int pixels, int size,
                               int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = x[i] + 1.0f + 2.0f * normal(state, i);
        y[i] = y[i] - 2.0f + 2.0f * normal(state, i);

        float likelihood = 0.0f;
        for (int k = 0; k < pixels; k++) {
            int px = (int)rintf(x[i]) + disk[k].x;
            int py = (int)rintf(y[i]) + disk[k].y;
            if (px < 0) px = 0;
            if (px >= size) px = size - 1;
            if (py < 0) py = 0;
            if (py >= size) py = size - 1;
            float grey = frame[py * size + px];
            float ground = grey - GROUND, object = grey - DISK;
            likelihood += (ground * ground - object * object) / 4000.0f;
        }
        weight[i] = expf(likelihood / pixels);
    }
}

// The sum of each block's weights.
__global__ void sum_weights(const float *weight, float *partial, int n) {
    __shared__ float sum[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    sum[t] = 0.0f;
    __syncthreads();
    if (i < n) sum[t] = weight[i];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = sum[0];
}

// Weights over the sum of them all, which the first thread of each block adds up.
__global__ void normalise(float *weight, const float *partial, int blocks, int n) {
    __shared__ float total;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        total = 0.0f;
        for (int b = 0; b < blocks; b++) total += partial[b];
    }
    __syncthreads();
    if (i < n) weight[i] = weight[i] / total;
}

// Sums of weights up to each particle, by one block: each thread sums its own stretch, learns
// what all stretches before hold, and goes through its own again.
__global__ void cumulate(const float *weight, float *upto, int n) {
    __shared__ float stretch[BLOCK];
    int t = threadIdx.x;
    int each = (n + BLOCK - 1) / BLOCK;
    float sum = 0.0f;
    for (int i = t * each; i < (t + 1) * each && i < n; i++) sum += weight[i];
    stretch[t] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < t; k++) sum += stretch[k];
    for (int i = t * each; i < (t + 1) * each && i < n; i++) {
        sum += weight[i];
        upto[i] = sum;
    }
}

// The weighted mean of the positions, by one block.
__global__ void mean(const float *x, const float *y, const float *weight, float *where, int n) {
    __shared__ float sum_x[BLOCK];
    __shared__ float sum_y[BLOCK];
    int t = threadIdx.x;
    sum_x[t] = 0.0f;
    sum_y[t] = 0.0f;
    for (int i = t; i < n; i += BLOCK) {
        sum_x[t] += x[i] * weight[i];
        sum_y[t] += y[i] * weight[i];
    }
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) sum_x[t] += sum_x[t + half];
        __syncthreads();
        if (t < half) sum_y[t] += sum_y[t + half];
        __syncthreads();
    }
    if (t == 0) {
        where[0] = sum_x[0];
        where[1] = sum_y[0];
    }
}

// Particle i goes where the first one is whose sum of weights reaches the i-th of n even steps.
__global__ void resample(const float *x, const float *y, const float *upto, float *new_x,
                         float *new_y, float start, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float u = (start + i) / n;
        int from = n - 1;
        for (int k = 0; k < n; k++) {
            if (upto[k] >= u) {
                from = k;
                break;
            }
        }
        new_x[i] = x[from];
        new_y[i] = y[from];
    }
}

// Particles on the host: as the GPU has them after a frame, which the next frame is checked from.
// Were they the host's own, the last bit of a sum would now and then draw a particle's neighbour,
// whose weight would shift the sums of all behind it in the next frame, and so their draws: soon
// no two right answers were near each other.
struct Particles {
    std::vector<float> x, y, weight, upto, new_x, new_y;
    std::vector<unsigned> state;
};

static float uniform_here(unsigned &state) {
    state = state * 1664525u + 1013904223u;
    return ((state >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

static float normal_here(unsigned &state) {
    float u = uniform_here(state), v = uniform_here(state);
    return sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
}

static int within(int v, int size) {
    return v < 0 ? 0 : v >= size ? size - 1 : v;
}

// Whether a value is right up to an error; prints the first wrong value of each kind.
static int wrong_value(const char *what, int i, double got, double want, double error) {
    static const char *told = "";
    if (fabs(got - want) <= error) return 0;
    if (what != told) printf("%s %d is %g and not %g\n", what, i, got, want);
    told = what;
    return 1;
}

// How likely the pixels around a place are.
static float likelihood_at(float x, float y, const unsigned char *frame,
                           const std::vector<Offset> &disk, int size) {
    float likelihood = 0;
    for (Offset o : disk) {
        int px = within((int)rintf(x) + o.x, size), py = within((int)rintf(y) + o.y, size);
        float grey = frame[py * size + px];
        likelihood += ((grey - GROUND) * (grey - GROUND) - (grey - DISK) * (grey - DISK)) / 4000.0f;
    }
    return expf(likelihood / disk.size());
}

// Where the particles of `before` moved to (`now`), what they weigh, and the sums of that.
static int wrong_weights(Particles &before, const Particles &now, const unsigned char *frame,
                         const std::vector<Offset> &disk, int size, const float where[2]) {
    int n = (int)now.x.size(), wrong = 0;
    double total = 0, upto = 0, x = 0, y = 0;
    std::vector<float> weight(n);
    for (int i = 0; i < n; i++) {
        float to_x = before.new_x[i] + 1.0f + 2.0f * normal_here(before.state[i]);
        float to_y = before.new_y[i] - 2.0f + 2.0f * normal_here(before.state[i]);
        wrong += wrong_value("x of particle", i, now.x[i], to_x, 1e-4);
        wrong += wrong_value("y of particle", i, now.y[i], to_y, 1e-4);
        total += weight[i] = likelihood_at(now.x[i], now.y[i], frame, disk, size);
    }
    for (int i = 0; i < n; i++) {
        double want = weight[i] / total;
        upto += now.weight[i];
        x += (double)now.x[i] * now.weight[i];
        y += (double)now.y[i] * now.weight[i];
        wrong += wrong_value("weight", i, now.weight[i], want, 1e-4 * want);
        wrong += wrong_value("sum of weights up to", i, now.upto[i], upto, 1e-5);
    }
    wrong += wrong_value("mean", 0, where[0], x, 1e-5 * size);
    return wrong + wrong_value("mean", 1, where[1], y, 1e-5 * size);
}

// Each drawn particle is the one whose sum of weights reaches its step, or, where that is a matter
// of rounding, one beside it.
static int wrong_draws(const Particles &p, float start) {
    const double error = 1e-6;
    int n = (int)p.x.size(), first = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        double u = ((double)start + i) / n;
        while (first + 1 < n && p.upto[first] < u - error) first++;
        int k = first;
        while ((p.new_x[i] != p.x[k] || p.new_y[i] != p.y[k]) && k + 1 < n &&
               p.upto[k] <= u + error)
            k++;
        wrong += wrong_value("x of drawn particle", i, p.new_x[i], p.x[k], 0);
        wrong += wrong_value("y of drawn particle", i, p.new_y[i], p.y[k], 0);
    }
    return wrong;
}

static void make_frame(unsigned char *frame, int size, float x, float y, Random &random) {
    for (int py = 0; py < size; py++)
        for (int px = 0; px < size; px++) {
            float dx = px - x, dy = py - y;
            int grey = dx * dx + dy * dy <= RADIUS * RADIUS ? DISK : GROUND;
            grey += random.below(32) + random.below(32) - 31;
            frame[py * size + px] = (unsigned char)(grey > 255 ? 255 : grey);
        }
}

int main(int argc, char **argv) {
    const char *usage = "SIZE PARTICLES FRAMES SEED";
    int size = argument(argc, argv, 1, 4, usage, 32, 4096);
    int n = argument(argc, argv, 2, 4, usage, 1, 1 << 20);
    int frames = argument(argc, argv, 3, 4, usage, 1, size / 4);
    int seed = argument(argc, argv, 4, 4, usage, 0, 1 << 30);
    printf("particlefilter: %d x %d pixels, %d particles, %d frames, seed %d\n", size, size, n,
           frames, seed);

    // The disk goes right by 1 and up by 2 a frame, from the middle of the lower half.
    Random random(seed);
    float true_x = size / 2.0f, true_y = size * 0.75f;
    std::vector<Offset> disk;
    for (int y = -RADIUS; y <= RADIUS; y++)
        for (int x = -RADIUS; x <= RADIUS; x++)
            if (x * x + y * y <= RADIUS * RADIUS) disk.push_back({x, y});
    std::vector<float> zero(n);
    Particles p = {zero, zero, zero, zero, std::vector<float>(n, true_x),
                   std::vector<float>(n, true_y), std::vector<unsigned>(n)};
    for (unsigned &s : p.state) s = (unsigned)random.bits();

    int blocks = (n + BLOCK - 1) / BLOCK, pixels = (int)disk.size(), wrong = 0;
    size_t bytes = n * sizeof(float);
    float *d_x, *d_y, *d_new_x, *d_new_y, *d_weight, *d_upto, *d_partial, *d_where;
    unsigned *d_state;
    unsigned char *d_frame;
    Offset *d_disk;
    CUDA(cudaMalloc(&d_x, bytes));
    CUDA(cudaMalloc(&d_y, bytes));
    CUDA(cudaMalloc(&d_new_x, bytes));
    CUDA(cudaMalloc(&d_new_y, bytes));
    CUDA(cudaMalloc(&d_weight, bytes));
    CUDA(cudaMalloc(&d_upto, bytes));
    CUDA(cudaMalloc(&d_partial, blocks * sizeof(float)));
    CUDA(cudaMalloc(&d_where, 2 * sizeof(float)));
    CUDA(cudaMalloc(&d_state, n * sizeof(unsigned)));
    CUDA(cudaMalloc(&d_frame, size * size));
    CUDA(cudaMalloc(&d_disk, pixels * sizeof(Offset)));
    CUDA(cudaMemcpy(d_x, p.new_x.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_y, p.new_y.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_state, p.state.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_disk, disk.data(), pixels * sizeof(Offset), cudaMemcpyHostToDevice));

    std::vector<unsigned char> frame(size * size);
    float where[2] = {0, 0};
    for (int f = 0; f < frames; f++) {
        true_x += 1.0f;
        true_y -= 2.0f;
        make_frame(frame.data(), size, true_x, true_y, random);
        float start = random.unit();
        CUDA(cudaMemcpy(d_frame, frame.data(), size * size, cudaMemcpyHostToDevice));
        move_and_weigh<<<blocks, BLOCK>>>(d_x, d_y, d_weight, d_state, d_frame, d_disk, pixels,
                                          size, n);
        sum_weights<<<blocks, BLOCK>>>(d_weight, d_partial, n);
        normalise<<<blocks, BLOCK>>>(d_weight, d_partial, blocks, n);
        mean<<<1, BLOCK>>>(d_x, d_y, d_weight, d_where, n);
        cumulate<<<1, BLOCK>>>(d_weight, d_upto, n);
        resample<<<blocks, BLOCK>>>(d_x, d_y, d_upto, d_new_x, d_new_y, start, n);
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(where, d_where, sizeof where, cudaMemcpyDeviceToHost));
        Particles now = p;
        CUDA(cudaMemcpy(now.x.data(), d_x, bytes, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(now.y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(now.weight.data(), d_weight, bytes, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(now.upto.data(), d_upto, bytes, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(now.new_x.data(), d_new_x, bytes, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(now.new_y.data(), d_new_y, bytes, cudaMemcpyDeviceToHost));
        std::swap(d_x, d_new_x);
        std::swap(d_y, d_new_y);

        wrong += wrong_weights(p, now, frame.data(), disk, size, where) + wrong_draws(now, start);
        now.state = p.state;
        p = now;
    }
    CUDA(cudaFree(d_x));
    CUDA(cudaFree(d_y));
    CUDA(cudaFree(d_new_x));
    CUDA(cudaFree(d_new_y));
    CUDA(cudaFree(d_weight));
    CUDA(cudaFree(d_upto));
    CUDA(cudaFree(d_partial));
    CUDA(cudaFree(d_where));
    CUDA(cudaFree(d_state));
    CUDA(cudaFree(d_frame));
    CUDA(cudaFree(d_disk));

    printf("the disk is at (%.1f, %.1f), found at (%.1f, %.1f)\n", true_x, true_y, where[0],
           where[1]);
    if (n >= 500 && !(fabs(where[0] - true_x) < 3 && fabs(where[1] - true_y) < 3)) wrong++;
    return verdict(wrong);
}
