// k-means, assignment step: which centre is nearest to each point?
//
//   nvcc -I inc -DDIM=3 includes.cu -o kmeans

#include <algorithm>
#include <cfloat>
#include <vector>

#include <vec.h>
#include "common.cuh"

__global__ void assign(const vec *points, const vec *centres, int *label, float *distance,
                       int *members, int numPoints, int numCentres)
{
    const int p = globalThread();
    if (p >= numPoints) return;

    int best = -1;
    float bestDistance = FLT_MAX;
    for (int c = 0; c < numCentres; c++) {
        float d = distance2(points[p], centres[c]);
        if (d < bestDistance) {
            bestDistance = d;
            best = c;
            label[p] = best;
            distance[p] = sqrtf(bestDistance);
        }
    }
    atomicAdd(&members[best], 1);
}

int main()
{
    const int numPoints = 50000, numCentres = 40;
    std::vector<vec> points(numPoints), centres(numCentres);
    unsigned state = 12345;
    auto next = [&state] {
        state = state * 1664525u + 1013904223u;
        return (state >> 8) / 16777216.0f;
    };
    for (vec &p : points)
        for (int k = 0; k < DIM; k++) p[k] = next();
    for (vec &c : centres)
        for (int k = 0; k < DIM; k++) c[k] = next();

    vec *dPoints, *dCentres;
    int *dLabel, *dMembers;
    float *dDistance;
    cudaCheck(cudaMalloc(&dPoints, numPoints * sizeof(vec)));
    cudaCheck(cudaMalloc(&dCentres, numCentres * sizeof(vec)));
    cudaCheck(cudaMalloc(&dLabel, numPoints * sizeof(int)));
    cudaCheck(cudaMalloc(&dDistance, numPoints * sizeof(float)));
    cudaCheck(cudaMalloc(&dMembers, numCentres * sizeof(int)));
    cudaCheck(cudaMemset(dMembers, 0, numCentres * sizeof(int)));
    cudaCheck(cudaMemcpy(dPoints, points.data(), numPoints * sizeof(vec), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dCentres, centres.data(), numCentres * sizeof(vec), cudaMemcpyHostToDevice));

    const int blocks = (numPoints + kThreads - 1) / kThreads;
    assign<<<blocks, kThreads>>>(dPoints, dCentres, dLabel, dDistance, dMembers, numPoints, numCentres);
    cudaCheck(cudaGetLastError());

    std::vector<int> label(numPoints), members(numCentres);
    cudaCheck(cudaMemcpy(label.data(), dLabel, numPoints * sizeof(int), cudaMemcpyDeviceToHost));

    cudaCheck(cudaMemcpy(members.data(), dMembers, numCentres * sizeof(int), cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int c = 0; c < numCentres; c++)
        if (members[c] != std::count(label.begin(), label.end(), c)) wrong++;
    for (int p = 0; p < numPoints; p++) {
        float least = FLT_MAX;
        for (const vec &c : centres) least = std::min(least, distance2(points[p], c));
        if (label[p] < 0 || distance2(points[p], centres[label[p]]) > least + 1e-6f) wrong++;
    }
    std::printf("%d points in %d dimensions, %d centres: %d wrong\n", numPoints, DIM, numCentres, wrong);
    return wrong != 0;
}
