// pathfinder: the cheapest way through a grid from its first row to its last, by dynamic
// programming. A step goes down, or down to the left or the right.
//
//     pathfinder COLUMNS ROWS STEPS SEED
//
// A launch does STEPS rows. A block has a margin of STEPS cells on both sides, whose costs are
// right for as long as they are needed, so that blocks need nothing of each other within a
// launch. The grid's costs, 0 to 9, are made from the seed. The last row is checked against the
// CPU.
#include "../workload.h"

#include <vector>

#define BLOCK 256

// `before` has the costs up to row `row` - 1; `after` gets those up to row `row` + steps - 1.
__global__ void rows_down(const int *grid, const int *before, int *after, int columns, int row,
                          int steps, int margin) {
    __shared__ int cost[BLOCK];
    __shared__ int next[BLOCK];
    int t = threadIdx.x;
    int x = blockIdx.x * (BLOCK - 2 * margin) - margin + t;
    bool inside = x >= 0 && x < columns;

    if (inside) cost[t] = before[x];
    __syncthreads();

    bool done = false;
    for (int i = 0; i < steps; i++) {
        done = false;
        // Of each row the block knows one cell less on both sides.
        if (inside && t > i && t < BLOCK - 1 - i) {
            int left = x > 0 ? cost[t - 1] : cost[t];
            int up = cost[t];
            int right = x < columns - 1 ? cost[t + 1] : cost[t];
            int shortest = min(left, min(up, right));
            next[t] = shortest + grid[columns * (row + i) + x];
            done = true;
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (done) cost[t] = next[t];
        __syncthreads();
    }
    if (done && t >= margin && t < BLOCK - margin) after[x] = next[t];
}

int main(int argc, char **argv) {
    const char *usage = "COLUMNS ROWS STEPS SEED";
    int columns = argument(argc, argv, 1, 4, usage, 1, 1 << 24);
    int rows = argument(argc, argv, 2, 4, usage, 2, (1 << 29) / columns);
    int steps = argument(argc, argv, 3, 4, usage, 1, BLOCK / 2 - 1);
    int seed = argument(argc, argv, 4, 4, usage, 0, 1 << 30);
    printf("pathfinder: %d columns, %d rows, %d a launch, seed %d\n", columns, rows, steps, seed);

    Random random(seed);
    size_t cells = (size_t)columns * rows;
    std::vector<int> grid(cells), path(columns), want(columns), last(columns);
    for (int &cost : grid) cost = random.below(10);

    int *d_grid, *d_cost[2];
    CUDA(cudaMalloc(&d_grid, cells * sizeof(int)));
    CUDA(cudaMalloc(&d_cost[0], columns * sizeof(int)));
    CUDA(cudaMalloc(&d_cost[1], columns * sizeof(int)));
    CUDA(cudaMemcpy(d_grid, grid.data(), cells * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_cost[0], grid.data(), columns * sizeof(int), cudaMemcpyHostToDevice));

    int from = 0, width = BLOCK - 2 * steps;
    int blocks = (columns + width - 1) / width;
    for (int row = 1; row < rows; row += steps) {
        int now = rows - row < steps ? rows - row : steps;
        rows_down<<<blocks, BLOCK>>>(d_grid, d_cost[from], d_cost[1 - from], columns, row, now,
                                     steps);
        from = 1 - from;
    }
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(path.data(), d_cost[from], columns * sizeof(int), cudaMemcpyDeviceToHost));

    want.assign(grid.begin(), grid.begin() + columns);
    for (int row = 1; row < rows; row++) {
        last = want;
        for (int x = 0; x < columns; x++) {
            int best = last[x];
            if (x > 0 && last[x - 1] < best) best = last[x - 1];
            if (x < columns - 1 && last[x + 1] < best) best = last[x + 1];
            want[x] = best + grid[(size_t)row * columns + x];
        }
    }
    int cheapest = path[0];
    for (int cost : path) cheapest = cost < cheapest ? cost : cheapest;
    CUDA(cudaFree(d_grid));
    CUDA(cudaFree(d_cost[0]));
    CUDA(cudaFree(d_cost[1]));
    printf("the cheapest way costs %d\n", cheapest);
    return verdict(wrong_values("the cost of end", path.data(), want.data(), columns));
}
