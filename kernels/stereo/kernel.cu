// kernel.cu - how far each pixel of a left image lies to the left in the right image.
//
// Local stereo matching by the least sum of squared differences over 11 x 11 pixels. Written from
// the description in Langdon, "Genetically Improved Software" (2015), sections 8.8, 8.12 and 8.13,
// and the structure its appendix shows; it contains no code of StereoCamera. The same computation
// on the CPU, and how the images are made: reference.c. What every setting means: README.md.

// ---- tiles ------------------------------------------------------------------------------------
//
// A block works down ROWSperTHREAD rows of a strip about BLOCK_W pixels wide.
#define BLOCK_W 64
#define ROWSperTHREAD 40

// ---- configuration: Table 8.1. Four of its twelve are settings of the host alone ---------------
//
// OUT_TYPE              what a disparity is stored as: float, int, short, uchar (-1 is then 255)
// STORE_disparityPixel  where the best disparity so far is kept: GLOBAL SHARED LOCAL
// STORE_disparityMinSSD where its sum of squared differences is: GLOBAL SHARED LOCAL
#define OUT_TYPE float
#define STORE_disparityPixel GLOBAL
#define STORE_disparityMinSSD GLOBAL

// DPER   disparities worked on at a time, each by BLOCK_W threads of its own: 1 to 4 (8.12.2)
// XHALO  every thread has one column; those at the ends of the block have no pixel (8.12.1)
#define DPER 1
#undef XHALO

// mul24  how indices and squares are multiplied: __mul24 or product
#define mul24 __mul24

// GPtexturereadmode   NormalizedFloat, ElementType; None: from memory, without a texture
// textureaddressMode  Clamp Mirror Wrap (texturefilterMode, Linear or Point, is the host's)
// texturenormalized   1: coordinates run from 0 to 1
#define GPtexturereadmode NormalizedFloat
#define textureaddressMode Clamp
#define texturenormalized 0
#pragma nv_diag_suppress 177  // what an alternative does not use is no cause for alarm
#pragma nv_diag_suppress 550

// ---- what they come to ------------------------------------------------------------------------

#define GLOBAL 0
#define SHARED 1
#define LOCAL 2
#define NormalizedFloat 0
#define ElementType 1
#define None 2
#define Clamp 0
#define Mirror 1
#define Wrap 2
#define product(a, b) ((a) * (b))
typedef unsigned char uchar;

#define RADIUS 5
#define WINDOW 11       // 2 * RADIUS + 1: pixels of a window, across and down
#define NO_MATCH 500000 // a sum from which on there is no match (8.10)
#define SHARED_MOST 49152

// More than 1024 threads: one disparity at a time.
#if BLOCK_W * DPER <= 1024
#define GROUPS DPER
#else
#define GROUPS 1
#endif

// COLUMNS of squared differences make TILE_W pixels. A block of ten threads or fewer has no pixel
// left when ten have none: no XHALO.
#if defined(XHALO) && BLOCK_W > 2 * RADIUS
#define COLUMNS BLOCK_W
#define TILE_W (BLOCK_W - 2 * RADIUS)
#else
#define COLUMNS (BLOCK_W + 2 * RADIUS)
#define TILE_W BLOCK_W
#endif

// Shared memory holds both arrays, or the disparities alone, or neither: what does not fit is kept
// in global memory.
#define ARRAY_BYTES (4 * BLOCK_W * ROWSperTHREAD)
#define SUMS_BYTES (4 * GROUPS * (COLUMNS + BLOCK_W))
#if STORE_disparityPixel == SHARED && SUMS_BYTES + ARRAY_BYTES > SHARED_MOST
#define PIXEL_IN GLOBAL
#else
#define PIXEL_IN STORE_disparityPixel
#endif
#if STORE_disparityMinSSD == SHARED && \
    SUMS_BYTES + ARRAY_BYTES * (1 + (PIXEL_IN == SHARED)) > SHARED_MOST
#define SSD_IN GLOBAL
#else
#define SSD_IN STORE_disparityMinSSD
#endif

// The cell of a row of the thread's own pixel.
#define CELL(row) (mul24(Y + (row), out_pitch) + X)
#if PIXEL_IN == GLOBAL
#define PIXEL(row) disparityPixel[CELL(row)]
#elif PIXEL_IN == SHARED
#define PIXEL(row) pixel_S[mul24(row, BLOCK_W) + lane]
#else
#define PIXEL(row) pixel_L[row]
#endif
#if SSD_IN == GLOBAL
#define MIN_SSD(row) disparityMinSSD[CELL(row)]
#elif SSD_IN == SHARED
#define MIN_SSD(row) ssd_S[mul24(row, BLOCK_W) + lane]
#else
#define MIN_SSD(row) ssd_L[row]
#endif

// ---- images -----------------------------------------------------------------------------------
//
// Eight-bit grey, width by height. Outside of them their edge goes on. A texture that clamps does
// that by itself; textures mirror and wrap by normalised coordinates only, and then, as without
// a texture, coordinates are held inside here. Texel centres lie at a half.

__constant__ cudaTextureObject_t leftTexture;
__constant__ cudaTextureObject_t rightTexture;

#if GPtexturereadmode == None
typedef int Coordinate;
#define inX(x) min(max((x), 0), width - 1)
#define inY(y) min(max((y), 0), height - 1)
#define readLeft(x, y) ((int)leftImage[mul24(inY(y), width) + inX(x)])
#define readRight(x, y) ((int)rightImage[mul24(inY(y), width) + inX(x)])
#else
typedef float Coordinate;
#if texturenormalized && textureaddressMode != Clamp
#define inX(x) fminf(fmaxf((x), 0.f), (float)(width - 1))
#define inY(y) fminf(fmaxf((y), 0.f), (float)(height - 1))
#else
#define inX(x) (x)
#define inY(y) (y)
#endif
#if texturenormalized
#define atX(x) ((inX(x) + 0.5f) * texelWidth)
#define atY(y) ((inY(y) + 0.5f) * texelHeight)
#else
#define atX(x) (inX(x) + 0.5f)
#define atY(y) (inY(y) + 0.5f)
#endif
#if GPtexturereadmode == NormalizedFloat
#define readTexture(t, x, y) __float2int_rn(255.f * tex2D<float>(t, atX(x), atY(y)))
#else
#define readTexture(t, x, y) ((int)tex2D<unsigned char>(t, atX(x), atY(y)))
#endif
#define readLeft(x, y) readTexture(leftTexture, x, y)
#define readRight(x, y) readTexture(rightTexture, x, y)
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// disparityPixel[out_pitch * y + x] receives the disparity d, 0 to max_disparity, at which
//     sum over the 11 x 11 pixels around (x, y) of (left(x, y) - right(x - d, y))^2
// is least, the smaller d of equals; -1 where the least sum is NO_MATCH or more. disparityMinSSD is
// memory to work in, as large, for SSD_IN == GLOBAL. All in integers: no rounding anywhere.
//
// Launch: GROUPS * BLOCK_W threads; blocks of TILE_W by ROWSperTHREAD pixels to cover the image.
//
// For a disparity, thread `lane` of its group has the sum of squared differences down the 11 rows
// of a column, in shared memory, and some have one of the columns beyond the block's end, too; 11
// neighbouring columns make the sum of a pixel. For the next row a column loses its first
// square and gains one. The groups other than the first leave their sums in reduce_ssd, where the
// first group looks for the least.
//
// For the sake of evolution variables are declared and initialised at the top, so that a
// statement may be copied to almost any line; loop headers may change, with guards against overrun.

extern "C" __global__ void stereo_disparity(
    OUT_TYPE *disparityPixel,
    int *disparityMinSSD,
    const unsigned char *leftImage,
    const unsigned char *rightImage,
    int out_pitch,
    int width,
    int height,
    int max_disparity)
{
    __shared__ int col_ssd[GROUPS * COLUMNS];
    __shared__ int reduce_ssd[GROUPS * BLOCK_W];
#if PIXEL_IN == SHARED
    __shared__ int pixel_S[ROWSperTHREAD * BLOCK_W];
#elif PIXEL_IN == LOCAL
    int pixel_L[ROWSperTHREAD];
#endif
#if SSD_IN == SHARED
    __shared__ int ssd_S[ROWSperTHREAD * BLOCK_W];
#elif SSD_IN == LOCAL
    int ssd_L[ROWSperTHREAD];
#endif

    // The thread's group and its place there, its pixel in the tile's first row, its sums.
    const int lane = threadIdx.x % BLOCK_W;
    const int group = threadIdx.x / BLOCK_W;
    const int X = mul24((int)blockIdx.x, TILE_W) + lane;
    const int Y = mul24((int)blockIdx.y, ROWSperTHREAD);
    const int columns = mul24(group, COLUMNS);
    const float texelWidth = 1.f / (float)width;
    const float texelHeight = 1.f / (float)height;

    Coordinate x_tex = 0;  // of a column
    Coordinate y_tex = 0;  // of the window's first row
    Coordinate d = 0;      // the group's disparity
    int d0 = 0;            // the first group's
    int dmin = 0;          // the best of the groups'
    int diff = 0;
    int ssd = 0;
    int column = 0;
    int row = 0;
    int i = 0;

    // No match yet.
    if (group == 0)
        if (lane < TILE_W && X < width) {
            for (row = 0; row < ROWSperTHREAD && Y + row < height; row++) {
                PIXEL(row) = -1;
                MIN_SSD(row) = NO_MATCH;
            }
        }

    for (d0 = 0; d0 <= max_disparity; d0 += GROUPS) {
        d = d0 + group;

        // The first row: whole columns.
        for (column = lane; column < COLUMNS; column += BLOCK_W) {
            x_tex = X - lane + column - RADIUS;
            y_tex = Y - RADIUS;
            ssd = 0;
            for (i = 0; i < WINDOW; i++) {
                diff = readLeft(x_tex, y_tex) - readRight(x_tex - d, y_tex);
                ssd += mul24(diff, diff);
                y_tex += 1;
            }
            col_ssd[columns + column] = ssd;
        }
        __syncthreads();

        // Eleven of them are a pixel's.
        if (lane < TILE_W) {
            ssd = 0;
            for (i = 0; i < WINDOW; i++) {
                ssd += col_ssd[columns + lane + i];
            }
        }
        if (group != 0) reduce_ssd[threadIdx.x] = ssd;
        __syncthreads();

        // The first group takes the least.
        if (group == 0)
            if (lane < TILE_W && X < width) {
                dmin = d0;
                for (i = 1; i < GROUPS; i++) {
                    if (d0 + i <= max_disparity && reduce_ssd[mul24(i, BLOCK_W) + lane] < ssd) {
                        ssd = reduce_ssd[mul24(i, BLOCK_W) + lane];
                        dmin = d0 + i;
                    }
                }
                if (ssd < MIN_SSD(0)) {
                    PIXEL(0) = dmin;
                    MIN_SSD(0) = ssd;
                }
            }
        __syncthreads();

        // The other rows: a column loses its first row and gains one.
        y_tex = Y - RADIUS;
        for (row = 1; row < ROWSperTHREAD && Y + row < height; row++) {
            for (column = lane; column < COLUMNS; column += BLOCK_W) {
                x_tex = X - lane + column - RADIUS;
                diff = readLeft(x_tex, y_tex) - readRight(x_tex - d, y_tex);
                col_ssd[columns + column] -= mul24(diff, diff);
                diff = readLeft(x_tex, y_tex + WINDOW) - readRight(x_tex - d, y_tex + WINDOW);
                col_ssd[columns + column] += mul24(diff, diff);
            }
            y_tex += 1;
            __syncthreads();

            if (lane < TILE_W) {
                ssd = 0;
                for (i = 0; i < WINDOW; i++) {
                    ssd += col_ssd[columns + lane + i];
                }
            }
            if (group != 0) reduce_ssd[threadIdx.x] = ssd;
            __syncthreads();

            if (group == 0)
                if (lane < TILE_W && X < width) {
                    dmin = d0;
                    for (i = 1; i < GROUPS; i++) {
                        if (d0 + i <= max_disparity && reduce_ssd[mul24(i, BLOCK_W) + lane] < ssd) {
                            ssd = reduce_ssd[mul24(i, BLOCK_W) + lane];
                            dmin = d0 + i;
                        }
                    }
                    if (ssd < MIN_SSD(row)) {
                        PIXEL(row) = dmin;
                        MIN_SSD(row) = ssd;
                    }
                }
            __syncthreads();
        }
    }

    // What was not kept in place is written.
#if PIXEL_IN != GLOBAL
    if (group == 0)
        if (lane < TILE_W && X < width) {
            for (row = 0; row < ROWSperTHREAD && Y + row < height; row++) {
                disparityPixel[CELL(row)] = PIXEL(row);
            }
        }
#endif
}
