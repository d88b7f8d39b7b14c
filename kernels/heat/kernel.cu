// kernel.cu - a few explicit time steps of the heat equation on a plate, in one launch.
//
// A first version as most people write it: a block takes a piece of the plate to shared memory,
// with a margin as wide as there are steps, and does all of them there; each step the part that is
// still right shrinks by one cell, and the middle is written back.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_x, block_y  threads of a block, and cells of its piece, margin included
#define block_x 32
#define block_y 8

// oneBuffer     one copy of the piece in shared memory and two barriers a step, not two and one
// wholePiece    every thread calculates in every step, not only where the answer is still right
// factored      T + c (left + right + up + down - 4 T), not each difference by itself
// rateInShared  the conductivity is kept in shared memory, not in a register
#undef oneBuffer
#undef wholePiece
#undef factored
#undef rateInShared

#ifdef oneBuffer
#define buffers 1
#else
#define buffers 2
#endif

#ifdef rateInShared
#define rateHere rates[y][x]
#else
#define rateHere rate
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// after[y][x] = temperature of a cell after `steps` steps from before[y][x], width by height cells
// row by row. conductivity[y][x] is 0 to 0.25, of the cell: an explicit step is then stable. Cells
// on the edge of the plate keep their temperature.
//
//   T'(x, y) = T + c ((T(x-1, y) - T) + (T(x+1, y) - T) + (T(x, y-1) - T) + (T(x, y+1) - T))
//
// Launch: blocks of block_x by block_y threads, each for block_x - 2 steps by block_y - 2 steps
// cells of the result: steps must be less than half of either.

extern "C" __global__ void heat(float *after, const float *before, const float *conductivity,
                                int width, int height, int steps)
{
    __shared__ float piece[buffers][block_y][block_x];
#ifdef rateInShared
    __shared__ float rates[block_y][block_x];
#endif

    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int column = blockIdx.x * (block_x - 2 * steps) + x - steps;  // on the plate
    const int row = blockIdx.y * (block_y - 2 * steps) + y - steps;
    int step = 0;
    int now = 0;     // the buffer to read
    int next = 0;    // the buffer to write
    int margin = 0;  // how far from the rim of the piece cells are still right
    float rate = 0.f;
    float here = 0.f;
    float change = 0.f;

    if (column >= 0 && column < width && row >= 0 && row < height) {
        here = before[row * width + column];
        if (column > 0 && column < width - 1 && row > 0 && row < height - 1) {
            rate = conductivity[row * width + column];
        }
    }
    piece[0][y][x] = here;
#ifdef rateInShared
    rates[y][x] = rate;
#endif
    __syncthreads();

    for (step = 0; step < steps; step++) {
#ifdef wholePiece
        margin = 1;
#else
        margin = step + 1;
#endif
        if (x >= margin && x < block_x - margin && y >= margin && y < block_y - margin) {
#ifdef factored
            change = piece[now][y][x - 1] + piece[now][y][x + 1] + piece[now][y - 1][x] +
                     piece[now][y + 1][x] - 4.f * here;
            here += rateHere * change;
#else
            change = (piece[now][y][x - 1] - here) + (piece[now][y][x + 1] - here);
            change += (piece[now][y - 1][x] - here) + (piece[now][y + 1][x] - here);
            here += rateHere * change;
#endif
        }
#ifdef oneBuffer
        __syncthreads();
#else
        next = 1 - now;
#endif
        piece[next][y][x] = here;
        now = next;
        __syncthreads();
    }

    if (x >= steps && x < block_x - steps && y >= steps && y < block_y - steps) {
        if (column < width && row < height) {
            after[row * width + column] = here;
        }
    }
}
