// kernel.cu - how far each pixel of a left image lies to the left in the right image: sums that
// slide along the row.
//
// The answers are those of ../stereo/kernel.cu (Langdon, "Genetically Improved Software", 2015,
// chapter 8); the structure is another. There a thread is a pixel, and for every disparity adds up
// the eleven columns of its window from shared memory. Here a thread is a few disparities: it goes
// along the row, its windows gain a column and lose one, and the columns are its own. Nothing is
// added up twice and nothing but pixels is looked up. README.md beside it says what each macro is,
// what was measured, and how far that is from the least number of instructions.
//
// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// Who does how much. `lanes` neighbouring threads (8, 16, 32) share the disparities of a pixel,
// disparities_per_lane each; where there are more disparities than that, they go along the row
// again. Their strip is `rows` rows high and 12 * (turns - 1) pixels wide; turns is the host's.
#define lanes 32
#define disparities_per_lane 1
#define rows 1

// Columns whose pixels a thread asks for at a time: 1, 2, 4, 8.
#define packs 1

// A window's sum of (left - right)^2:
//   differences   as it stands: for four pixels, four differences and a sum of four squares
//   products      left^2 + right^2 - 2 left right: only the last depends on both images
#define squares differences

// The sums of columns that a window will lose: LOCAL, in registers, or SHARED.
#define ring_in LOCAL

// How the lanes of a pixel find their least: by one instruction (of 32 lanes), not by shuffles.
#undef reduces

// What a disparity is stored as: float, int, short, uchar (-1 is then 255).
#define OUT_TYPE float

// Images are read through textures, which know by themselves what is beyond the edges.
#undef textures

#pragma nv_diag_suppress 177,550  // a variable an alternative does not use is no cause for alarm

// ---- what they come to ------------------------------------------------------------------------

#define differences 0
#define products 1
#define LOCAL 0
#define SHARED 1
typedef unsigned char uchar;

#define RADIUS 5
#define WINDOW 11        // 2 * RADIUS + 1: pixels of a window, across and down
#define TURN 12          // columns of a turn: one more, so that a sum that comes has its own place
                         // while the one that goes is still there
#define NO_MATCH 500000  // a sum from which on there is no match (8.10)

// A sum and a label in one number, the least of which is the least sum's. 121 squares are below
// 2^23, so that 128 times that, and a label below 128 or NEVER, stay below 2^31.
#define LABELS 128
#define NEVER (1 << 30)  // label of a disparity that is not asked for: above every sum's

// Combinations that cannot be. problem.lua follows the same rules.
#if lanes * disparities_per_lane > LABELS
#define PER_LANE 4
#else
#define PER_LANE disparities_per_lane
#endif
#if rows * PER_LANE > 18  // more than a thread has registers, and a block shared memory, for
#define ROWS 1
#else
#define ROWS rows
#endif
#if ROWS * PER_LANE > 12  // 12 registers each
#define RING SHARED
#else
#define RING ring_in
#endif

#define WAY (lanes * PER_LANE)  // disparities of one way along the row

#if defined(reduces) && lanes == 32 && __CUDA_ARCH__ >= 800  // Turing has no such instruction
#define byReduction
#endif

// At each step the lanes read columns PER_LANE apart. Odd distances put those of a
// quarter warp into different banks; even ones are made odd by an empty place behind so many
// columns. Where m is a multiple of PER_LANE, slotOf(m + n) is slotOf(m) + slotOf(n).
#if PER_LANE % 2 == 0
#define slotOf(column) ((column) + (column) / PER_LANE)
#else
#define slotOf(column) (column)
#endif

#if RING == SHARED
#define ringAt(row, k, i)                                                                          \
    ring[(((row) * PER_LANE + (k)) * TURN + (i)) * blockDim.x + threadIdx.x]
#else
#define ringAt(row, k, i) ring[row][k][i]
#endif

// ---- images -----------------------------------------------------------------------------------
//
// Eight-bit grey, width by height. Outside of them their edge goes on.

__constant__ cudaTextureObject_t leftTexture;
__constant__ cudaTextureObject_t rightTexture;

#ifdef textures
#define leftPixels leftTexture
#define rightPixels rightTexture
#define pixelOf(image, x, y) tex2D<unsigned char>(image, (x) + 0.5f, (y) + 0.5f)
#else
#define leftPixels leftImage
#define rightPixels rightImage
#define inside(i, n) min(max(i, 0), (n) - 1)
#define pixelOf(image, x, y) __ldg(&(image)[inside(y, height) * width + inside(x, width)])
#endif

// Of a column of the tile: those of the left image come first.
#define pixelAt(column, y)                                                                         \
    pixelOf(                                                                                       \
        (column) < columns ? leftPixels : rightPixels,                                             \
        X + (column) - ((column) < columns ? 0 : columns + reach),                                 \
        y)

// Eleven pixels down a column are three words, the last with a byte of zero; .w is another matter.
// Of two columns: the sum of the products, or of the squared differences.
static __device__ int downColumns(const uint4 left, const uint4 right)
{
#if squares == products
    return __dp4a(left.x, right.x, __dp4a(left.y, right.y, __dp4a(left.z, right.z, 0u)));
#else
    const unsigned x = __vabsdiffu4(left.x, right.x);
    const unsigned y = __vabsdiffu4(left.y, right.y);
    const unsigned z = __vabsdiffu4(left.z, right.z);
    return __dp4a(x, x, __dp4a(y, y, __dp4a(z, z, 0u)));
#endif
}

// ---- the kernel -------------------------------------------------------------------------------
//
// disparity[width * y + x] receives the disparity d, 0 to max_disparity, at which
//     sum over the 11 x 11 pixels around (x, y) of (left(x, y) - right(x - d, y))^2
// is least, the smaller d of equals; -1 where the least sum is NO_MATCH or more. All in integers.
//
// Launch: blocks of whole warps, one dimension, at most 256 threads; each covers ROWS rows and,
// for every `lanes` of its threads, a strip of 12 * (turns - 1) pixels; enough of them over grid x
// and y for the image. Dynamic shared memory as problem.lua works it out:
//
//   uint4 tables[]   columns of the left tile and, behind them, of the right one, [ROWS][slots]
//   int sums[]       products: a column's squares, [ROWS][columns of both]
//   int least[]      of a way along the row, [ROWS][tile]
//   int best[]       of all ways, [ROWS][tile]
//   int ring[]       RING == SHARED: [ROWS][PER_LANE][TURN][threads]

extern __shared__ uint4 tables[];

extern "C" __global__ void stereo_disparity(
    OUT_TYPE *disparity,
    const unsigned char *leftImage,
    const unsigned char *rightImage,
    int width,
    int height,
    int max_disparity,
    int turns)
{
    // The block's tile, and what it needs of the images: `columns` of the left one, from X and Y
    // on, and of the right one these and the `reach` before them.
    const int strip = TURN * (turns - 1);
    const int tile = blockDim.x / lanes * strip;
    const int reach = (max_disparity / WAY + 1) * WAY;
    const int columns = tile + TURN;
    const int both = 2 * columns + reach;
    const int slots = slotOf(both);
    const int X = (int)blockIdx.x * tile + RADIUS - TURN;
    const int Y = (int)blockIdx.y * ROWS - RADIUS;
    int *const sums = (int *)(tables + ROWS * slots);
#if squares == products
    int *const least = sums + ROWS * both;
#else
    int *const least = sums;
#endif
    int *const best = least + ROWS * tile;

    // The thread's lane, and where in the tile its strip begins.
    const int lane = threadIdx.x % lanes;
    const int start = threadIdx.x / lanes * strip;

    int column = 0;
    int pixel = 0;
    int row = 0;
    int i = 0;
    int k = 0;

    // Columns that are packed at a time: of each the four pixels down to every one, and its words.
    const int stride = blockDim.x;
    int own = 0;
    unsigned four = 0;
    unsigned down[packs][ROWS + WINDOW - 1];
    uint4 words = make_uint4(0, 0, 0, 0);

    // A way along the row: its first disparity; the turn; the lane's columns there.
    int first = 0;
    int turn = 0;
    int at = 0;
    const uint4 *leftFrom = tables;
    const uint4 *rightFrom = tables;
    uint4 left = make_uint4(0, 0, 0, 0);
    uint4 right[ROWS][PER_LANE];

    // A lane's sums and disparities.
    int label[PER_LANE];
    int window[ROWS][PER_LANE];
    int sum = 0;
    int key = 0;
    int keys[ROWS][TURN];
#if RING == SHARED
    int *const ring = best + ROWS * tile;
#else
    int ring[ROWS][PER_LANE][TURN];
#endif

    // Columns of both images, eleven pixels to three words.
    for (column = threadIdx.x; column < both; column += packs * stride) {
#pragma unroll
        for (k = 0; k < packs; k++) {
            four = 0;
#pragma unroll
            for (i = 0; i < ROWS + WINDOW - 1; i++) {
                four = four >> 8 | (unsigned)pixelAt(column + k * stride, Y + i) << 24;
                down[k][i] = four;
            }
        }
#pragma unroll
        for (k = 0; k < packs; k++) {
            own = column + k * stride;
            if (own < both) {
#pragma unroll
                for (row = 0; row < ROWS; row++) {
                    words.x = down[k][row + 3];
                    words.y = down[k][row + 7];
                    words.z = down[k][row + 10] >> 8;
                    tables[row * slots + slotOf(own)] = words;
#if squares == products
                    sums[row * both + own] = downColumns(words, words);
#endif
                }
            }
        }
    }
    __syncthreads();

#if squares == products

    // The squares of the eleven columns that end with this one.
    for (column = threadIdx.x + WINDOW - 1; column < both; column += blockDim.x) {
        for (row = 0; row < ROWS; row++) {
            sum = 0;
#pragma unroll
            for (i = 0; i < WINDOW; i++) {
                sum += sums[row * both + column - i];
            }
            tables[row * slots + slotOf(column)].w = LABELS * sum;
        }
    }
    __syncthreads();
#endif

    for (first = 0; first <= max_disparity; first += WAY) {

        // Before the first column.
        at = start + columns + reach - first - lane * PER_LANE;
        leftFrom = tables + slotOf(start);
        rightFrom = tables + slotOf(at);
#pragma unroll
        for (k = 0; k < PER_LANE; k++) {
            label[k] = lane * PER_LANE + k;
            if (first + label[k] > max_disparity) label[k] = NEVER;
#pragma unroll
            for (row = 0; row < ROWS; row++) {
                window[row][k] = 0;
#pragma unroll
                for (i = 0; i < TURN; i++) {
                    ringAt(row, k, i) = 0;
                }
                if (k > 0) right[row][k - 1] = tables[row * slots + slotOf(at - k)];
            }
        }

        for (turn = 0; turn < turns; turn++) {
#pragma unroll
            for (i = 0; i < TURN; i++) {
#pragma unroll
                for (row = 0; row < ROWS; row++) {

                    // The next column; what was a disparity's is now the next one's.
                    left = leftFrom[row * slots + slotOf(i)];
#pragma unroll
                    for (k = PER_LANE - 1; k > 0; k--) {
                        right[row][k] = right[row][k - 1];
                    }
                    right[row][0] = rightFrom[row * slots + slotOf(i)];

                    // It comes into the windows, and the eleventh before it goes.
                    key = NEVER;
#pragma unroll
                    for (k = 0; k < PER_LANE; k++) {
                        sum = downColumns(left, right[row][k]);
                        window[row][k] += sum - ringAt(row, k, (i + 1) % TURN);
                        ringAt(row, k, i) = sum;
#if squares == products
                        sum = (int)right[row][k].w - 2 * LABELS * window[row][k];
#else
                        sum = LABELS * window[row][k];
#endif
                        key = min(key, sum + label[k]);
                    }
#if squares == products
                    key += (int)left.w;
#endif
                    keys[row][i] = key;
                }
            }

            // The least of the lanes, for the turn's pixels; the first turn has none.
            if (turn > 0) {
#pragma unroll
                for (row = 0; row < ROWS; row++) {
#pragma unroll
                    for (i = 0; i < TURN; i++) {
                        key = keys[row][i];
#ifdef byReduction
                        key = __reduce_min_sync(0xffffffff, key);
#else
#pragma unroll
                        for (k = lanes / 2; k > 0; k /= 2) {
                            key = min(key, __shfl_xor_sync(0xffffffff, key, k));
                        }
#endif
                        pixel = start + TURN * (turn - 1) + i;
                        if (lane == 0) least[row * tile + pixel] = key;
                    }
                }
            }
            leftFrom += slotOf(TURN);
            rightFrom += slotOf(TURN);
        }
        __syncwarp();

        // The least of all ways: sum and disparity.
        for (pixel = start + lane; pixel < start + strip; pixel += lanes) {
            for (row = 0; row < ROWS; row++) {
                key = least[row * tile + pixel];
                key = key / LABELS << 8 | (first + key % LABELS);
                if (first > 0) key = min(key, best[row * tile + pixel]);
                best[row * tile + pixel] = key;
            }
        }
        __syncwarp();
    }

    for (pixel = start + lane; pixel < start + strip; pixel += lanes) {
        column = (int)blockIdx.x * tile + pixel;
        for (row = 0; row < ROWS; row++) {
            key = best[row * tile + pixel];
            i = (int)blockIdx.y * ROWS + row;
            if (column < width && i < height)
                disparity[i * width + column] = key >> 8 < NO_MATCH ? key & 255 : -1;
        }
    }
}
