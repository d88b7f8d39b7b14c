// kernel.cu - histograms of the tiles of a grey image, a block for every tile.
//
// Adaptive histogram equalisation starts with them. A first version as most people write it: the
// block counts in shared memory with atomics, a thread a pixel at a time, then writes the counts.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size  threads a block: any multiple of 32 up to 1024
// copies      histograms in shared memory that share the work, by the thread's number: 1, 2, 4 or 8
#define block_size 256
#define copies 1

// globalBins  no shared memory: the block counts in its part of the result, with global atomics
// fourPixels  a thread reads four neighbouring pixels at once (tiles are multiples of 4 wide)
// runs        a thread adds up equal neighbours before it counts them
// padded      the copies begin in different banks
#undef globalBins
#undef fourPixels
#undef runs
#undef padded

#define bins 256

#ifdef padded
#define copy_pitch (bins + 1)
#else
#define copy_pitch bins
#endif

#ifdef fourPixels
#define pixels 4  // that a thread reads at once
#else
#define pixels 1
#endif

#ifdef globalBins
#define binOf(value) histograms[block * bins + (value)]
#else
#define binOf(value) shared[threadIdx.x % copies * copy_pitch + (value)]
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// histograms[tile][value] = how many pixels of the tile have the value. The tiles are `side` pixels
// wide and high (a multiple of 4) and lie row by row; those at the right and lower edge may hold
// fewer pixels. A row of the image begins every `pitch` bytes, a multiple of 4.
//
// Launch: block_size threads, a block for every tile, over grid x and y.

extern "C" __global__ void tile_histograms(int *histograms, const unsigned char *image, int width,
                                           int height, int pitch, int side)
{
    __shared__ int shared[copies * copy_pitch];

    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int left = blockIdx.x * side;
    const int top = blockIdx.y * side;
    const int groups = side / pixels;  // reads along a row of the tile
    int i = 0;
    int k = 0;
    int x = 0;
    int y = 0;
    int value = 0;
    int last = -1;
    int count = 0;
    unsigned int word = 0;

#ifdef globalBins
    for (i = threadIdx.x; i < bins; i += block_size) {
        histograms[block * bins + i] = 0;
    }
#else
    for (i = threadIdx.x; i < copies * copy_pitch; i += block_size) {
        shared[i] = 0;
    }
#endif
    __syncthreads();

    for (i = threadIdx.x; i < groups * side; i += block_size) {
        x = left + i % groups * pixels;
        y = top + i / groups;
        if (x < width && y < height) {
#ifdef fourPixels
            word = *(const unsigned int *)(image + y * pitch + x);
#else
            word = image[y * pitch + x];
#endif
            for (k = 0; k < pixels; k++) {
                value = word >> 8 * k & 255;
                if (x + k < width) {
#ifdef runs
                    if (value == last) {
                        count++;
                    } else {
                        if (count > 0) {
                            atomicAdd(&binOf(last), count);
                        }
                        last = value;
                        count = 1;
                    }
#else
                    atomicAdd(&binOf(value), 1);
#endif
                }
            }
        }
    }
#ifdef runs
    if (count > 0) {
        atomicAdd(&binOf(last), count);
    }
#endif

#ifndef globalBins
    __syncthreads();
    for (i = threadIdx.x; i < bins; i += block_size) {
        count = 0;
        for (k = 0; k < copies; k++) {
            count += shared[k * copy_pitch + i];
        }
        histograms[block * bins + i] = count;
    }
#endif
}
