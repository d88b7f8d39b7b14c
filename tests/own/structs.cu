#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

// All-pairs gravity. Positions are float4 (w = mass), the rest of a body lives in `Body`.

struct SimParams {
    int   numBodies;
    float timeStep;
    float softening2;   // squared
    float gravity;
    float damping;
};

struct Body {
    float vx, vy, vz;
    int   id;
};

__global__ void integrateBodies(const float4* oldPos, float4* newPos, Body* bodies, SimParams params)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.numBodies) return;

    float4 me = oldPos[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (int j = 0; j < params.numBodies; ++j) {
        if (j == i) continue;   // no self interaction
        float4 other = oldPos[j];
        float dx = other.x - me.x;
        float dy = other.y - me.y;
        float dz = other.z - me.z;
        float dist2 = dx * dx + dy * dy + dz * dz + params.softening2;
        float dist = sqrtf(dist2);
        float invDist3 = 1.0f / (dist * dist * dist);
        float s = params.gravity * other.w * invDist3;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }

    Body b = bodies[i];
    b.vx = (b.vx + ax * params.timeStep) * params.damping;
    b.vy = (b.vy + ay * params.timeStep) * params.damping;
    b.vz = (b.vz + az * params.timeStep) * params.damping;

    me.x += b.vx * params.timeStep;
    me.y += b.vy * params.timeStep;
    me.z += b.vz * params.timeStep;

    newPos[i] = me;
    bodies[i] = b;
}

static float frand() { return rand() / (float)RAND_MAX * 2.0f - 1.0f; }

int main()
{
    SimParams params = { 3000, 0.01f, 0.01f, 1.0f, 0.999f };
    const int n = params.numBodies;

    float4* hPos = (float4*)malloc(n * sizeof(float4));
    Body* hBodies = (Body*)malloc(n * sizeof(Body));
    srand(42);
    for (int i = 0; i < n; ++i) {
        hPos[i] = make_float4(frand(), frand(), frand(), 1.0f / n);
        hBodies[i] = Body{ 0.0f, 0.0f, 0.0f, i };
    }

    float4* dPos[2];
    Body* dBodies;
    cudaMalloc(&dPos[0], n * sizeof(float4));
    cudaMalloc(&dPos[1], n * sizeof(float4));
    cudaMalloc(&dBodies, n * sizeof(Body));
    cudaMemcpy(dPos[0], hPos, n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaMemcpy(dBodies, hBodies, n * sizeof(Body), cudaMemcpyHostToDevice);

    const int threads = 64, steps = 4;
    for (int s = 0; s < steps; ++s)
        integrateBodies<<<(n + threads - 1) / threads, threads>>>(dPos[s & 1], dPos[(s + 1) & 1], dBodies, params);

    cudaMemcpy(hPos, dPos[steps & 1], n * sizeof(float4), cudaMemcpyDeviceToHost);
    cudaMemcpy(hBodies, dBodies, n * sizeof(Body), cudaMemcpyDeviceToHost);
    if (cudaError_t err = cudaGetLastError()) {
        fprintf(stderr, "error: %s\n", cudaGetErrorString(err));
        return 1;
    }

    // Forces cancel pairwise and damping is the same for all: momentum must stay near zero.
    double px = 0, py = 0, pz = 0, speed = 0;
    for (int i = 0; i < n; ++i) {
        px += hBodies[i].vx * hPos[i].w;
        py += hBodies[i].vy * hPos[i].w;
        pz += hBodies[i].vz * hPos[i].w;
        speed += sqrt(hBodies[i].vx * hBodies[i].vx + hBodies[i].vy * hBodies[i].vy + hBodies[i].vz * hBodies[i].vz) / n;
    }
    printf("momentum %g %g %g, mean speed %g\n", px, py, pz, speed);
    return fabs(px) + fabs(py) + fabs(pz) < 1e-5 && speed > 1e-3 ? 0 : 1;
}
