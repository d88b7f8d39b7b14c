// streamcluster: online clustering by local search (O'Callaghan, Mishra, Meyerson, Guha and
// Motwani, "Streaming-data algorithms for high-quality clustering", ICDE 2002): which points
// are to be centres, where each point costs its squared distance to its centre and each centre
// a fixed price.
//
//     streamcluster POINTS DIMENSIONS CANDIDATES PRICE SEED
//
// Candidates are drawn, one after the other. One launch says what each point would save if it
// went to the candidate, a second what each centre's points would save in all if those left to
// it went there, too. If opening the candidate, and closing the centres that are not worth
// their price then, gains something, the host does so. Points are made around 20 places, in
// eighths, from the seed. Every gain is checked against the CPU, which takes the same
// decisions.
#include "../workload.h"

#include <vector>

#define BLOCK 128

// What each point saves by going to the candidate: below 0 where its centre is nearer.
__global__ void savings(const float *points, const float *cost, float *saved, int n, int dimensions,
                        int candidate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < dimensions; k++) {
            float d = points[k * n + i] - points[k * n + candidate];
            sum += d * d;
        }
        saved[i] = cost[i] - sum;
    }
}

// For each centre, a block: what its points lose if it is closed and they, too, go to the
// candidate; and, in the last place of both, what those points save that go there anyway.
__global__ void losses(const float *saved, const int *centre, float *lost, float *gained, int n) {
    __shared__ float lose[BLOCK];
    __shared__ float gain[BLOCK];
    int c = blockIdx.x;
    int t = threadIdx.x;
    lose[t] = 0.0f;
    gain[t] = 0.0f;
    __syncthreads();
    for (int i = t; i < n; i += BLOCK) {
        if (centre[i] == c) {
            if (saved[i] > 0.0f) gain[t] += saved[i];
            if (saved[i] <= 0.0f) lose[t] -= saved[i];
        }
    }
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) lose[t] += lose[t + half];
        __syncthreads();
        if (t < half) gain[t] += gain[t + half];
        __syncthreads();
    }
    if (t == 0) {
        lost[c] = lose[0];
        gained[c] = gain[0];
    }
}

// Points that go to the candidate: all that save by it, and all of centres that close.
__global__ void reassign(const float *saved, float *cost, int *centre, const int *becomes, int n,
                         int opened) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int to = becomes[centre[i]];
        if (saved[i] > 0.0f) to = opened;
        if (to == opened) cost[i] = cost[i] - saved[i];
        centre[i] = to;
    }
}

// A clustering on the host, in the same order of steps.
struct Clustering {
    std::vector<float> cost;
    std::vector<int> centre;
    int centres;
};

static float squared_distance(const std::vector<float> &points, int n, int dimensions, int a,
                              int b) {
    float sum = 0.0f;
    for (int k = 0; k < dimensions; k++) {
        float d = points[(size_t)k * n + a] - points[(size_t)k * n + b];
        sum += d * d;
    }
    return sum;
}

// What is gained by opening a candidate, from what each centre loses and gains; and what number
// each centre has afterwards: the candidate the last, and that of those closed.
static double gain_of(const float *lost, const float *gained, int centres, double price,
                      std::vector<int> &becomes, int &left) {
    double gain = -price;
    left = 0;
    becomes.resize(centres);
    for (int c = 0; c < centres; c++) {
        gain += gained[c];
        bool closes = price - lost[c] > 0;
        if (closes) gain += price - lost[c];
        becomes[c] = closes ? -1 : left++;
    }
    for (int &to : becomes)
        if (to < 0) to = left;
    return gain;
}

int main(int argc, char **argv) {
    const char *usage = "POINTS DIMENSIONS CANDIDATES PRICE SEED";
    int n = argument(argc, argv, 1, 5, usage, 1, 1 << 20);
    int dimensions = argument(argc, argv, 2, 5, usage, 1, (1 << 28) / n);
    int candidates = argument(argc, argv, 3, 5, usage, 1, 10000);
    double price = argument(argc, argv, 4, 5, usage, 1, 1 << 30);
    int seed = argument(argc, argv, 5, 5, usage, 0, 1 << 30);
    printf("streamcluster: %d points of %d dimensions, %d candidates, price %g, seed %d\n", n,
           dimensions, candidates, price, seed);

    Random random(seed);
    const int places = 20;
    std::vector<float> place((size_t)places * dimensions), points((size_t)n * dimensions);
    for (float &p : place) p = random.below(64) / 8.0f;
    for (int i = 0; i < n; i++) {
        int p = random.below(places);
        for (int k = 0; k < dimensions; k++)
            points[(size_t)k * n + i] = place[(size_t)p * dimensions + k] + random.below(16) / 8.0f;
    }

    // At first point 0 is the only centre.
    Clustering now = {std::vector<float>(n), std::vector<int>(n), 1};
    for (int i = 0; i < n; i++) now.cost[i] = squared_distance(points, n, dimensions, i, 0);

    float *d_points, *d_cost, *d_saved, *d_lost, *d_gained;
    int *d_centre, *d_becomes;
    size_t most = (size_t)candidates + 1;
    CUDA(cudaMalloc(&d_points, points.size() * sizeof(float)));
    CUDA(cudaMalloc(&d_cost, n * sizeof(float)));
    CUDA(cudaMalloc(&d_saved, n * sizeof(float)));
    CUDA(cudaMalloc(&d_centre, n * sizeof(int)));
    CUDA(cudaMalloc(&d_becomes, most * sizeof(int)));
    CUDA(cudaMalloc(&d_lost, most * sizeof(float)));
    CUDA(cudaMalloc(&d_gained, most * sizeof(float)));
    CUDA(
        cudaMemcpy(d_points, points.data(), points.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_cost, now.cost.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_centre, 0, n * sizeof(int)));

    int blocks = (n + BLOCK - 1) / BLOCK, wrong = 0, opened = 0, left, left_here;
    std::vector<float> lost(most), gained(most), saved(n);
    std::vector<int> becomes, becomes_here;
    for (int round = 0; round < candidates; round++) {
        int candidate = random.below(n), centres = now.centres;
        savings<<<blocks, BLOCK>>>(d_points, d_cost, d_saved, n, dimensions, candidate);
        losses<<<centres, BLOCK>>>(d_saved, d_centre, d_lost, d_gained, n);
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(lost.data(), d_lost, centres * sizeof(float), cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(gained.data(), d_gained, centres * sizeof(float), cudaMemcpyDeviceToHost));
        double gain = gain_of(lost.data(), gained.data(), centres, price, becomes, left);

        std::vector<float> lost_here(centres), gained_here(centres);
        double total = 0;
        for (int i = 0; i < n; i++) {
            saved[i] = now.cost[i] - squared_distance(points, n, dimensions, i, candidate);
            (saved[i] > 0 ? gained_here : lost_here)[now.centre[i]] += fabsf(saved[i]);
            total += now.cost[i];
        }
        double gain_here =
            gain_of(lost_here.data(), gained_here.data(), centres, price, becomes_here, left_here);
        if (fabs(gain - gain_here) > 1e-5 * (total + price) && wrong++ == 0)
            printf("candidate %d gains %g and not %g\n", candidate, gain, gain_here);

        if (gain > 0) {
            CUDA(cudaMemcpy(d_becomes, becomes.data(), centres * sizeof(int),
                            cudaMemcpyHostToDevice));
            reassign<<<blocks, BLOCK>>>(d_saved, d_cost, d_centre, d_becomes, n, left);
            CUDA(cudaGetLastError());
            for (int i = 0; i < n; i++) {
                int to = saved[i] > 0 ? left : becomes[now.centre[i]];
                if (to == left) now.cost[i] -= saved[i];
                now.centre[i] = to;
            }
            now.centres = left + 1;
            opened++;
        }
    }

    std::vector<int> centre(n);
    CUDA(cudaMemcpy(centre.data(), d_centre, n * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(d_points));
    CUDA(cudaFree(d_cost));
    CUDA(cudaFree(d_saved));
    CUDA(cudaFree(d_centre));
    CUDA(cudaFree(d_becomes));
    CUDA(cudaFree(d_lost));
    CUDA(cudaFree(d_gained));
    printf("%d candidates opened, %d centres\n", opened, now.centres);
    return verdict(wrong +
                   wrong_values("the centre of point", centre.data(), now.centre.data(), n));
}
