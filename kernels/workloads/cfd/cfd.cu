/* cfd - air around a body: the Euler equations on an unstructured mesh, by finite volumes.
 *
 * Each element has four neighbours and a normal to each, as long as the edge between them. A time
 * step is a launch for its length in each element, then three stages, each two launches: what flows
 * through the edges (Rusanov's flux), and what becomes of the elements. */
#include "../workload.h"

#include <algorithm>
#include <vector>

#define THREADS 192
#define VARIABLES 5 /* density, momentum in x, y and z, energy */
#define SIDES 4
#define STAGES 3
#define GAMMA 1.4f
#define MACH 0.6f
#define WALL -1 /* in place of a neighbour: the body */
#define FAR -2  /* or the air far away */

struct State {
    float density, x, y, z, energy;
};

__constant__ State far_away;

__host__ __device__ static float pressure_of(const State &s)
{
    float speed2 = (s.x * s.x + s.y * s.y + s.z * s.z) / (s.density * s.density);
    return (GAMMA - 1.0f) * (s.energy - 0.5f * s.density * speed2);
}

/* How fast waves go: the air's speed and sound's. */
__host__ __device__ static float wave_speed(const State &s)
{
    float speed2 = (s.x * s.x + s.y * s.y + s.z * s.z) / (s.density * s.density);
    return sqrtf(speed2) + sqrtf(GAMMA * pressure_of(s) / s.density);
}

/* What flows along a normal in a state. */
__host__ __device__ static State flow(const State &s, float nx, float ny, float nz)
{
    float pressure = pressure_of(s);
    float through = (s.x * nx + s.y * ny + s.z * nz) / s.density;
    State f;
    f.density = s.density * through;
    f.x = s.x * through + pressure * nx;
    f.y = s.y * through + pressure * ny;
    f.z = s.z * through + pressure * nz;
    f.energy = (s.energy + pressure) * through;
    return f;
}

__host__ __device__ static State state_of(const float *variables, int n, int i)
{
    State s;
    s.density = variables[i];
    s.x = variables[n + i];
    s.y = variables[2 * n + i];
    s.z = variables[3 * n + i];
    s.energy = variables[4 * n + i];
    return s;
}

/* What flows out of element i, to all its sides. */
__host__ __device__ static State outflow(int n, int i, const int *neighbours, const float *normals,
                                         const float *variables, const State &far)
{
    State own = state_of(variables, n, i), sum = {0, 0, 0, 0, 0};
    for (int k = 0; k < SIDES; k++) {
        int j = neighbours[k * n + i];
        float nx = normals[(3 * k + 0) * n + i];
        float ny = normals[(3 * k + 1) * n + i];
        float nz = normals[(3 * k + 2) * n + i];
        if (j == WALL) {
            float pressure = pressure_of(own);
            sum.x += pressure * nx;
            sum.y += pressure * ny;
            sum.z += pressure * nz;
        } else {
            State other = j == FAR ? far : state_of(variables, n, j);
            State out = flow(own, nx, ny, nz), in = flow(other, nx, ny, nz);
            float length = sqrtf(nx * nx + ny * ny + nz * nz);
            float waves = length * fmaxf(wave_speed(own), wave_speed(other));
            sum.density += 0.5f *
                (out.density + in.density - waves * (other.density - own.density));
            sum.x += 0.5f * (out.x + in.x - waves * (other.x - own.x));
            sum.y += 0.5f * (out.y + in.y - waves * (other.y - own.y));
            sum.z += 0.5f * (out.z + in.z - waves * (other.z - own.z));
            sum.energy += 0.5f * (out.energy + in.energy - waves * (other.energy - own.energy));
        }
    }
    return sum;
}

/* The time step over the area: half of what is stable. */
__global__ void step_factor(int n, const float *variables, const float *areas, float *factors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State s = state_of(variables, n, i);
    factors[i] = 0.5f / (sqrtf(areas[i]) * wave_speed(s) * SIDES);
}

__global__ void flux(int n, const int *neighbours, const float *normals, const float *variables,
                     float *fluxes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State sum = outflow(n, i, neighbours, normals, variables, far_away);
    fluxes[i] = sum.density;
    fluxes[n + i] = sum.x;
    fluxes[2 * n + i] = sum.y;
    fluxes[3 * n + i] = sum.z;
    fluxes[4 * n + i] = sum.energy;
}

__global__ void time_step(int n, int stage, const float *old, const float *factors,
                          const float *fluxes, float *variables)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int v = 0; v < VARIABLES; v++) {
        float factor = factors[i] / (STAGES - stage);
        variables[v * n + i] = old[v * n + i] - factor * fluxes[v * n + i];
    }
}

struct Mesh {
    int n;
    std::vector<int> neighbours;
    std::vector<float> normals, areas;
};

/* The edge between two corners, as a normal in the mesh's plane, which is tilted in space. */
static void set_normal(Mesh &mesh, int side, int i, const float *from, const float *to)
{
    float u = to[1] - from[1], v = from[0] - to[0];
    mesh.normals[(3 * side + 0) * mesh.n + i] = 0.8f * u - 0.36f * v;
    mesh.normals[(3 * side + 1) * mesh.n + i] = 0.6f * u + 0.48f * v;
    mesh.normals[(3 * side + 2) * mesh.n + i] = 0.8f * v;
}

/* Quadrilaterals with corners that are a little off a grid's, numbered at random within groups of
 * nearby ones; those in the middle are the body. */
static Mesh make_mesh(int width, int height, Random &random)
{
    std::vector<float> corners((size_t)(width + 1) * (height + 1) * 2);
    for (int y = 0; y <= height; y++) {
        for (int x = 0; x <= width; x++) {
            corners[2 * (y * (width + 1) + x)] = x + random.between(-0.2f, 0.2f);
            corners[2 * (y * (width + 1) + x) + 1] = y + random.between(-0.2f, 0.2f);
        }
    }
    std::vector<int> cells, number((size_t)width * height, WALL);
    for (int c = 0; c < width * height; c++) {
        int x = c % width, y = c / width;
        bool body = x > width * 2 / 5 && x < width * 3 / 5 && y > height * 2 / 5 &&
            y < height * 3 / 5;
        if (!body) cells.push_back(c);
    }
    for (size_t i = 0; i < cells.size(); i++)
        std::swap(cells[i], cells[std::min(i + random.below(64), cells.size() - 1)]);
    Mesh mesh;
    mesh.n = (int)cells.size();
    mesh.neighbours.resize((size_t)SIDES * mesh.n);
    mesh.normals.resize((size_t)SIDES * 3 * mesh.n);
    mesh.areas.resize(mesh.n);
    for (int i = 0; i < mesh.n; i++) number[cells[i]] = i;
    for (int i = 0; i < mesh.n; i++) {
        int x = cells[i] % width, y = cells[i] / width;
        const int across[SIDES][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
        const float *corner[SIDES + 1]; /* round the element, beginning with the side below */
        for (int k = 0; k <= SIDES; k++) {
            int cx = x + (k % SIDES == 1 || k % SIDES == 2), cy = y + (k % SIDES >= 2);
            corner[k] = &corners[2 * (cy * (width + 1) + cx)];
        }
        float twice = 0;
        for (int k = 0; k < SIDES; k++) {
            int to_x = x + across[k][0], to_y = y + across[k][1];
            bool outside = to_x < 0 || to_x >= width || to_y < 0 || to_y >= height;
            mesh.neighbours[k * mesh.n + i] = outside ? FAR : number[to_y * width + to_x];
            set_normal(mesh, k, i, corner[k], corner[k + 1]);
            twice += corner[k][0] * corner[k + 1][1] - corner[k + 1][0] * corner[k][1];
        }
        mesh.areas[i] = 0.5f * twice;
    }
    return mesh;
}

/* Air of density 1.4 and pressure 1, so that sound's speed is 1. */
static State air(float angle)
{
    State s;
    s.density = 1.4f;
    s.x = s.density * MACH * 0.9f * cosf(angle);
    s.y = s.density * MACH * 0.9f * sinf(angle);
    s.z = s.density * MACH * 0.3f;
    float momentum2 = s.x * s.x + s.y * s.y + s.z * s.z;
    s.energy = 1.0f / (GAMMA - 1.0f) + 0.5f * momentum2 / s.density;
    return s;
}

static void steps_on_host(const Mesh &mesh, std::vector<float> &variables, const State &far,
                          int steps)
{
    int n = mesh.n;
    std::vector<float> old, factors(n), fluxes(variables.size());
    for (int step = 0; step < steps; step++) {
        old = variables;
        for (int i = 0; i < n; i++) {
            float speed = wave_speed(state_of(&old[0], n, i));
            factors[i] = 0.5f / (sqrtf(mesh.areas[i]) * speed * SIDES);
        }
        for (int stage = 0; stage < STAGES; stage++) {
            for (int i = 0; i < n; i++) {
                State sum = outflow(n, i, &mesh.neighbours[0], &mesh.normals[0], &variables[0],
                                    far);
                const float values[] = {sum.density, sum.x, sum.y, sum.z, sum.energy};
                for (int v = 0; v < VARIABLES; v++) fluxes[v * n + i] = values[v];
            }
            for (int i = 0; i < n * VARIABLES; i++)
                variables[i] = old[i] - factors[i % n] / (STAGES - stage) * fluxes[i];
        }
    }
}

int main(int argc, char **argv)
{
    const char *usage = "WIDTH HEIGHT STEPS SEED";
    int width = argument(argc, argv, 1, 4, usage, 4, 2048);
    int height = argument(argc, argv, 2, 4, usage, 4, 2048);
    int steps = argument(argc, argv, 3, 4, usage, 1, 100000);
    int seed = argument(argc, argv, 4, 4, usage, 0, 1 << 30);
    Random random(seed);
    Mesh mesh = make_mesh(width, height, random);
    int n = mesh.n;
    State far = air(random.between(0.0f, 0.5f));
    std::vector<float> variables((size_t)VARIABLES * n);
    for (int i = 0; i < n; i++) {
        const float values[] = {far.density, far.x, far.y, far.z, far.energy};
        for (int v = 0; v < VARIABLES; v++) variables[v * n + i] = values[v];
    }
    printf("cfd: %d elements, %d steps, seed %d\n", n, steps, seed);

    int *d_neighbours;
    float *d_normals, *d_areas, *d_variables, *d_old, *d_fluxes, *d_factors;
    size_t bytes = variables.size() * sizeof(float);
    CUDA(cudaMalloc(&d_neighbours, mesh.neighbours.size() * sizeof(int)));
    CUDA(cudaMalloc(&d_normals, mesh.normals.size() * sizeof(float)));
    CUDA(cudaMalloc(&d_areas, n * sizeof(float)));
    CUDA(cudaMalloc(&d_factors, n * sizeof(float)));
    CUDA(cudaMalloc(&d_variables, bytes));
    CUDA(cudaMalloc(&d_old, bytes));
    CUDA(cudaMalloc(&d_fluxes, bytes));
    CUDA(cudaMemcpy(d_neighbours, mesh.neighbours.data(), mesh.neighbours.size() * sizeof(int),
                    cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_normals, mesh.normals.data(), mesh.normals.size() * sizeof(float),
                    cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_areas, mesh.areas.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_variables, variables.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyToSymbol(far_away, &far, sizeof far));

    int blocks = (n + THREADS - 1) / THREADS;
    for (int step = 0; step < steps; step++) {
        CUDA(cudaMemcpy(d_old, d_variables, bytes, cudaMemcpyDeviceToDevice));
        step_factor<<<blocks, THREADS>>>(n, d_variables, d_areas, d_factors);
        for (int stage = 0; stage < STAGES; stage++) {
            flux<<<blocks, THREADS>>>(n, d_neighbours, d_normals, d_variables, d_fluxes);
            time_step<<<blocks, THREADS>>>(n, stage, d_old, d_factors, d_fluxes, d_variables);
        }
    }
    CUDA(cudaGetLastError());
    std::vector<float> got(variables.size());
    CUDA(cudaMemcpy(got.data(), d_variables, bytes, cudaMemcpyDeviceToHost));
    release(d_neighbours, d_normals, d_areas, d_factors, d_variables, d_old, d_fluxes);

    steps_on_host(mesh, variables, far, steps);
    const char *names[] = {"density", "x momentum", "y momentum", "z momentum", "energy"};
    int wrong = 0;
    for (int v = 0; v < VARIABLES; v++)
        wrong += wrong_values(names[v], &got[v * n], &variables[v * n], n, 1e-4);
    return verdict(wrong);
}
