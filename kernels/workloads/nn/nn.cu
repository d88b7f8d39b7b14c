// nn: the k nearest neighbours of places on a map, among records of a latitude and a longitude.
//
//     nn RECORDS QUERIES K SEED
//
// For each query one launch makes all distances; then, K times, the nearest record that is left
// is found: each block reduces its own records to one, a last block those of all blocks.
// Records are made from the seed, at tenths of a degree. Checked against the same on the CPU.
#include "../workload.h"

#include <cfloat>
#include <vector>

#define BLOCK 256

struct Record {
    float latitude, longitude;
};

struct Found {
    float distance;
    int record;
};

__global__ void distances(const Record *records, float *distance, int n, float latitude,
                          float longitude) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float dy = latitude - records[i].latitude;
        float dx = longitude - records[i].longitude;
        distance[i] = sqrtf(dy * dy + dx * dx);
    }
}

// The nearest of what a block's threads have comes first; of equals the first record.
__device__ void nearest_first(float *near, int *who) {
    int t = threadIdx.x;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) {
            float other = near[t + half];
            if (other < near[t] || (other == near[t] && who[t + half] < who[t])) {
                near[t] = other;
                who[t] = who[t + half];
            }
        }
        __syncthreads();
    }
}

// The nearest of each block's records. `last` is the one found before: nobody finds it again.
__global__ void nearest_of_block(float *distance, int n, const Found *last, Found *best) {
    __shared__ float near[BLOCK];
    __shared__ int who[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    near[t] = FLT_MAX;
    who[t] = n;
    __syncthreads();
    if (i < n) {
        if (last && last->record == i) distance[i] = FLT_MAX;
        near[t] = distance[i];
        who[t] = i;
    }
    __syncthreads();
    nearest_first(near, who);
    if (t == 0) {
        best[blockIdx.x].distance = near[0];
        best[blockIdx.x].record = who[0];
    }
}

// The nearest of all blocks' nearest, by one block.
__global__ void nearest_of_all(const Found *best, int blocks, Found *found) {
    __shared__ float near[BLOCK];
    __shared__ int who[BLOCK];
    int t = threadIdx.x;
    near[t] = FLT_MAX;
    who[t] = 0x7fffffff;
    for (int b = t; b < blocks; b += BLOCK) {
        Found f = best[b];
        if (f.distance < near[t] || (f.distance == near[t] && f.record < who[t])) {
            near[t] = f.distance;
            who[t] = f.record;
        }
    }
    __syncthreads();
    nearest_first(near, who);
    if (t == 0) {
        found->distance = near[0];
        found->record = who[0];
    }
}

static double away(Record a, Record b) {
    double dy = (double)a.latitude - b.latitude, dx = (double)a.longitude - b.longitude;
    return sqrt(dy * dy + dx * dx);
}

// Are the k records found as far away as the k nearest?
static bool right(const std::vector<Record> &records, Record query, const Found *found, int k) {
    std::vector<char> taken(records.size());
    for (int j = 0; j < k; j++) {
        int got = found[j].record;
        if (got < 0 || got >= (int)records.size() || taken[got]) {
            printf("neighbour %d is record %d, which cannot be\n", j, got);
            return false;
        }
        taken[got] = 1;
    }
    std::vector<char> used(records.size());
    for (int j = 0; j < k; j++) {
        double best = DBL_MAX;
        int who = 0;
        for (size_t i = 0; i < records.size(); i++) {
            double d = away(query, records[i]);
            if (!used[i] && d < best) {
                best = d;
                who = (int)i;
            }
        }
        used[who] = 1;
        double own = away(query, records[found[j].record]);
        if (fabs(found[j].distance - best) > 1e-4 || fabs(own - best) > 1e-4) {
            printf("neighbour %d is at %g, the nearest left at %g\n", j, found[j].distance, best);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    const char *usage = "RECORDS QUERIES K SEED";
    int n = argument(argc, argv, 1, 4, usage, 1, 1 << 26);
    int queries = argument(argc, argv, 2, 4, usage, 1, 10000);
    int k = argument(argc, argv, 3, 4, usage, 1, n);
    int seed = argument(argc, argv, 4, 4, usage, 0, 1 << 30);
    printf("nn: %d records, %d queries, %d neighbours, seed %d\n", n, queries, k, seed);

    Random random(seed);
    std::vector<Record> records(n), asked(queries);
    for (Record &r : records) r = {random.below(900) / 10.0f, random.below(3600) / 10.0f};
    for (Record &r : asked) r = {random.below(900) / 10.0f, random.below(3600) / 10.0f};

    int blocks = (n + BLOCK - 1) / BLOCK;
    Record *d_records;
    float *d_distance;
    Found *d_best, *d_found;
    CUDA(cudaMalloc(&d_records, n * sizeof(Record)));
    CUDA(cudaMalloc(&d_distance, n * sizeof(float)));
    CUDA(cudaMalloc(&d_best, blocks * sizeof(Found)));
    CUDA(cudaMalloc(&d_found, k * sizeof(Found)));
    CUDA(cudaMemcpy(d_records, records.data(), n * sizeof(Record), cudaMemcpyHostToDevice));

    int wrong = 0;
    std::vector<Found> found(k);
    for (int q = 0; q < queries; q++) {
        distances<<<blocks, BLOCK>>>(d_records, d_distance, n, asked[q].latitude,
                                     asked[q].longitude);
        for (int j = 0; j < k; j++) {
            nearest_of_block<<<blocks, BLOCK>>>(d_distance, n, j > 0 ? d_found + j - 1 : NULL,
                                                d_best);
            nearest_of_all<<<1, BLOCK>>>(d_best, blocks, d_found + j);
        }
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(found.data(), d_found, k * sizeof(Found), cudaMemcpyDeviceToHost));
        printf("%5.1f %5.1f: nearest is record %d at %.3f\n", asked[q].latitude, asked[q].longitude,
               found[0].record, found[0].distance);
        if (q < 4) wrong += !right(records, asked[q], found.data(), k); // those of more take long
    }
    CUDA(cudaFree(d_records));
    CUDA(cudaFree(d_distance));
    CUDA(cudaFree(d_best));
    CUDA(cudaFree(d_found));
    return verdict(wrong);
}
