/* Cooperative groups: all threads of a grid, block after block, take over their neighbours' values n
** times; a reduction of each block through a group of 64 threads, which needs memory of the system. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void rotate(int *a, int n)
{
    cg::grid_group grid = cg::this_grid();
    if (!grid.is_valid()) {
        a[0] = -1;
        return;
    }
    for (int k = 0; k < n; k++) {
        int i = grid.thread_rank(), next = (i + 1) % grid.size(), v = a[next];
        grid.sync();
        a[i] = v + 1;
        grid.sync();
    }
}

extern "C" __global__ void tiles(int *out)
{
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    cg::thread_block_tile<64> tile = cg::tiled_partition<64>(block);
    int any = tile.any(threadIdx.x == 70);
    out[threadIdx.x] = tile.meta_group_rank() * 10 + any;
}
