// A host program of NiftyReg's deformation kernel, as people have one: it makes a ball of groups of
// voxels and a random field, deforms on the GPU, and checks with the CPU. Arguments: side, seed.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernel.cu"

static cudaTextureObject_t linear(const void *data, size_t bytes, cudaChannelFormatDesc desc) {
    void *memory;
    cudaMalloc(&memory, bytes);
    cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice);
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = memory;
    what.res.linear.desc = desc;
    what.res.linear.sizeInBytes = bytes;
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &what, &how, NULL);
    return texture;
}

// Corners of the groups of 1 x 5 x 5 voxels that lie in a ball.
static std::vector<int> ball(int side) {
    std::vector<int> corners;
    for (int z = 0; z < side; z += 5)
        for (int y = 0; y < side; y += 5)
            for (int x = 0; x < side; x++) {
                float half = side / 2.f, dx = x - half, dy = y + 2 - half, dz = z + 2 - half;
                if (dx * dx + dy * dy + dz * dz < half * half)
                    corners.push_back(x + side * (y + side * z));
            }
    return corners;
}

static void weights(float basis[5][4]) {
    for (int d = 0; d < 5; d++) {
        double t = d / 5.0, s = 1 - t;
        basis[d][0] = s * s * s / 6;
        basis[d][1] = (3 * t * t * t - 6 * t * t + 4) / 6;
        basis[d][2] = (-3 * t * t * t + 3 * t * t + 3 * t + 1) / 6;
        basis[d][3] = t * t * t / 6;
    }
}

// The displacement of a voxel along x, on the CPU.
static double expected(const std::vector<float4> &control, int points, const float basis[5][4],
                       int x, int y, int z) {
    double sum = 0;
    for (int c = 0; c < 4; c++)
        for (int b = 0; b < 4; b++)
            for (int a = 0; a < 4; a++)
                sum += (double)basis[z % 5][c] * basis[y % 5][b] * basis[x % 5][a] *
                       control[(x / 5 + a) + points * ((y / 5 + b) + points * (z / 5 + c))].x;
    return sum;
}

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 20, points = (side + 4) / 5 + 3;
    int bspline = 1, five = 5;
    srand(argc > 2 ? atoi(argv[2]) : 1);
    std::vector<int> corners = ball(side);
    std::vector<float4> control(points * points * points);
    for (float4 &p : control)
        p = make_float4(rand() % 1000 / 100.f, rand() % 1000 / 100.f, rand() % 1000 / 100.f, 0);
    float basis[5][4], basis_a[4][5];
    weights(basis);
    for (int i = 0; i < 20; i++) basis_a[i % 4][i / 4] = basis[i / 4][i % 4];

    int groups = corners.size(), warps = block_size / 32;
    int3 image = make_int3(side, side, side), grid = make_int3(points, points, points);
    cudaTextureObject_t active =
        linear(corners.data(), groups * sizeof(int), cudaCreateChannelDesc<int>());
    cudaTextureObject_t field = linear(control.data(), control.size() * sizeof(float4),
                                       cudaCreateChannelDesc<float4>());
    cudaTextureObject_t table = linear(basis, sizeof basis, cudaCreateChannelDesc<float>());
    cudaTextureObject_t table_a = linear(basis_a, sizeof basis_a, cudaCreateChannelDesc<float>());
    cudaMemcpyToSymbol(c_ActiveVoxelNumber, &groups, sizeof groups);
    cudaMemcpyToSymbol(c_ImageSize, &image, sizeof image);
    cudaMemcpyToSymbol(c_ControlPointGrid, &grid, sizeof grid);
    cudaMemcpyToSymbol(givenUseBSpline, &bspline, sizeof bspline);
    cudaMemcpyToSymbol(givenSpacing, &five, sizeof five);
    cudaMemcpyToSymbol(c_Basis, basis, sizeof basis);
    cudaMemcpyToSymbol(c_BasisA, basis_a, sizeof basis_a);
    cudaMemcpyToSymbol(activeVoxelTexture, &active, sizeof active);
    cudaMemcpyToSymbol(controlPointTexture, &field, sizeof field);
    cudaMemcpyToSymbol(basisTexture, &table, sizeof table);
    cudaMemcpyToSymbol(basisTextureA, &table_a, sizeof table_a);

    float4 *out;
    std::vector<float4> moved(25 * groups);
    cudaMalloc(&out, moved.size() * sizeof(float4));
    spline_deformation<<<(groups + warps - 1) / warps, block_size, 256 * warps>>>(out);
    cudaMemcpy(moved.data(), out, moved.size() * sizeof(float4), cudaMemcpyDeviceToHost);

    double largest = 0;
    for (int i = 0; i < groups; i++)
        for (int j = 0; j < 25; j++) {
            int x = corners[i] % side, y = corners[i] / side % side, z = corners[i] / side / side;
            double is = moved[25 * i + j].x;
            largest = fmax(largest, fabs(is - expected(control, points, basis, x, y + j % 5,
                                                       z + j / 5)));
        }
    printf("%d groups, %s\n", groups, largest < 1e-4 ? "right" : "WRONG");
    return !(largest < 1e-4);
}
