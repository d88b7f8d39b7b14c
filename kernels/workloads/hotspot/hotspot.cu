/* hotspot - the temperature of a chip over time: a stencil on a grid of cells.
 *
 * A cell is heated by its own power and exchanges heat with its four neighbours and, through the
 * package, with the air. A launch computes some time steps: a block reads a tile of TILE x TILE
 * cells into shared memory, and with each step the cells that it has right become fewer by one on
 * each side. */
#include "../workload.h"

#include <algorithm>
#include <vector>

#define TILE 16
#define AMBIENT 80.0f

/* The chip: metres, watts, kelvin, joules. */
#define CHIP_HEIGHT 0.016f
#define CHIP_WIDTH 0.016f
#define CHIP_THICKNESS 0.0005f
#define CONDUCTIVITY 100.0f
#define HEAT_CAPACITY 1.75e6f
#define CAPACITY_FACTOR 0.5f
#define MOST_POWER 0.5f

/* One launch: `steps` time steps from `from` to `to`. */
__global__ void heat(const float *power, const float *from, float *to, int columns, int rows,
                     int steps, float capacity, float rx, float ry, float rz, float seconds)
{
    __shared__ float now[TILE][TILE];
    __shared__ float watts[TILE][TILE];
    __shared__ float next[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int inner = TILE - 2 * steps;
    int left = blockIdx.x * inner - steps;
    int top = blockIdx.y * inner - steps;
    int x = left + tx, y = top + ty;
    bool inside = x >= 0 && x < columns && y >= 0 && y < rows;

    if (inside) {
        now[ty][tx] = from[y * columns + x];
        watts[ty][tx] = power[y * columns + x];
    }
    __syncthreads();

    /* The tile's cells that are on the chip, and each cell's neighbours among them. */
    int first_x = left < 0 ? -left : 0;
    int last_x = left + TILE > columns ? columns - left - 1 : TILE - 1;
    int first_y = top < 0 ? -top : 0;
    int last_y = top + TILE > rows ? rows - top - 1 : TILE - 1;
    int north = max(ty - 1, first_y), south = min(ty + 1, last_y);
    int west = max(tx - 1, first_x), east = min(tx + 1, last_x);

    for (int step = 1; step <= steps; step++) {
        bool computed = false;
        if (tx >= step && tx <= TILE - 1 - step && ty >= step && ty <= TILE - 1 - step && inside) {
            computed = true;
            float factor = seconds / capacity;
            float vertical = (now[south][tx] + now[north][tx] - 2.0f * now[ty][tx]) / ry;
            float horizontal = (now[ty][east] + now[ty][west] - 2.0f * now[ty][tx]) / rx;
            float air = (AMBIENT - now[ty][tx]) / rz;
            next[ty][tx] = now[ty][tx] + factor * (watts[ty][tx] + vertical + horizontal + air);
        }
        __syncthreads();
        if (step == steps) break;
        if (computed) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (tx >= steps && tx < TILE - steps && ty >= steps && ty < TILE - steps && inside)
        to[y * columns + x] = next[ty][tx];
}

/* The chip's constants; a time step is 0.4 of the longest that is stable. */
struct Chip {
    float capacity, rx, ry, rz, seconds;
    Chip(int rows, int columns)
    {
        float height = CHIP_HEIGHT / rows, width = CHIP_WIDTH / columns;
        capacity = CAPACITY_FACTOR * HEAT_CAPACITY * CHIP_THICKNESS * width * height;
        rx = width / (2.0f * CONDUCTIVITY * CHIP_THICKNESS * height);
        ry = height / (2.0f * CONDUCTIVITY * CHIP_THICKNESS * width);
        rz = CHIP_THICKNESS / (CONDUCTIVITY * height * width);
        seconds = 0.4f * capacity / (2.0f / rx + 2.0f / ry + 1.0f / rz);
    }
};

static void heat_on_host(const std::vector<float> &power, std::vector<float> &cells, int rows,
                         int columns, int steps, const Chip &chip)
{
    std::vector<float> next(cells.size());
    for (int step = 0; step < steps; step++) {
        for (int y = 0; y < rows; y++) {
            for (int x = 0; x < columns; x++) {
                const float *row = &cells[y * columns];
                float own = row[x];
                float north = y > 0 ? row[x - columns] : own;
                float south = y < rows - 1 ? row[x + columns] : own;
                float west = x > 0 ? row[x - 1] : own, east = x < columns - 1 ? row[x + 1] : own;
                next[y * columns + x] = own + chip.seconds / chip.capacity *
                    (power[y * columns + x] + (south + north - 2.0f * own) / chip.ry +
                     (east + west - 2.0f * own) / chip.rx + (AMBIENT - own) / chip.rz);
            }
        }
        cells.swap(next);
    }
}

int main(int argc, char **argv)
{
    const char *usage = "ROWS COLUMNS STEPS STEPS-A-LAUNCH SEED";
    int rows = argument(argc, argv, 1, 5, usage, 1, 8192);
    int columns = argument(argc, argv, 2, 5, usage, 1, 8192);
    int steps = argument(argc, argv, 3, 5, usage, 1, 100000);
    int height = argument(argc, argv, 4, 5, usage, 1, TILE / 2 - 1);
    int seed = argument(argc, argv, 5, 5, usage, 0, 1 << 30);
    int n = rows * columns;
    Random random(seed);
    std::vector<float> cells(n), power(n);
    for (float &cell : cells) cell = random.between(320.0f, 345.0f);
    for (float &cell : power) cell = random.below(8) ? 0.0f : random.between(0.0f, MOST_POWER);
    Chip chip(rows, columns);
    printf("hotspot: %d x %d cells, %d steps, %d a launch, seed %d\n", rows, columns, steps, height,
           seed);

    float *d_power, *d_cells[2];
    CUDA(cudaMalloc(&d_power, n * sizeof(float)));
    CUDA(cudaMalloc(&d_cells[0], n * sizeof(float)));
    CUDA(cudaMalloc(&d_cells[1], n * sizeof(float)));
    CUDA(cudaMemcpy(d_power, power.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_cells[0], cells.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    int inner = TILE - 2 * height, from = 0;
    dim3 block(TILE, TILE), grid((columns + inner - 1) / inner, (rows + inner - 1) / inner);
    for (int done = 0; done < steps; done += height) {
        int now = std::min(height, steps - done);
        if (now != height) {
            inner = TILE - 2 * now;
            grid = dim3((columns + inner - 1) / inner, (rows + inner - 1) / inner);
        }
        heat<<<grid, block>>>(d_power, d_cells[from], d_cells[1 - from], columns, rows, now,
                              chip.capacity, chip.rx, chip.ry, chip.rz, chip.seconds);
        CUDA(cudaGetLastError());
        from = 1 - from;
    }
    std::vector<float> got(n);
    CUDA(cudaMemcpy(got.data(), d_cells[from], n * sizeof(float), cudaMemcpyDeviceToHost));
    release(d_power, d_cells[0], d_cells[1]);

    heat_on_host(power, cells, rows, columns, steps, chip);
    return verdict(wrong_values("the temperature of cell", got.data(), cells.data(), n, 1e-5));
}
