// kernel.cu - k-means: the nearest centre of every point.
//
// A first version as most people write it: a thread for every point, which goes through all the
// centres. Points have 8 coordinates, whole numbers from 0 to 255, as 8-bit features have; so all
// distances are exact in single precision, and there is one right answer.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size         threads a block: any multiple of 32 up to 1024
// points_per_thread  points a thread compares with a centre before the next centre: 1, 2, 4 or 8
// centres_from       0: global memory, 1: constant memory, 2: shared memory, in portions
// portion            centres in shared memory at a time: 16, 32, 64 or 128
#define block_size 256
#define points_per_thread 1
#define centres_from 0
#define portion 32

// rowPoints  points are read as rows of 8 numbers, two float4 each, not as 8 separate planes
// expanded   |c|^2 - 2 p c is compared, with |c|^2 from the host, not |p - c|^2
#undef rowPoints
#undef expanded

#define DIMS 8
#define MOST_CENTRES 1024  // in constant memory

__constant__ float c_centres[MOST_CENTRES * DIMS];

#if centres_from == 1
#define coordinate(centre, d) c_centres[DIMS * (centre) + (d)]
#elif centres_from == 2
#define coordinate(centre, d) shared[DIMS * ((centre) - start) + (d)]
#else
#define coordinate(centre, d) centres[DIMS * (centre) + (d)]
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// nearest[i] = number of the centre nearest to point i; of equally near ones the first. planes
// holds the points' coordinates one after the other (planes[d * n + i]), rows point by point
// (rows[DIMS * i + d]); centres is like rows, and norms has their |c|^2.
//
// Thread t of a block has points t, t + block_size ... of the block's.
//
// Launch: block_size threads, a block for every block_size * points_per_thread points.

extern "C" __global__ void kmeans(int *nearest, const float *planes, const float4 *rows,
                                  const float *centres, const float *norms, int n, int k)
{
#if centres_from == 2
    __shared__ float shared[portion * DIMS];
#endif

    const int base = blockIdx.x * block_size * points_per_thread + threadIdx.x;
    int start = 0;  // of the portion
    int stop = k;
    int centre = 0;
    int d = 0;
    int p = 0;
    int i = 0;
    float difference = 0.f;
    float distance = 0.f;
    float4 half = make_float4(0.f, 0.f, 0.f, 0.f);
    float point[points_per_thread][DIMS];
    float least[points_per_thread];
    int best[points_per_thread];

    for (p = 0; p < points_per_thread; p++) {
        least[p] = 3e38f;
        best[p] = 0;
        i = min(base + p * block_size, n - 1);
#ifdef rowPoints
        half = rows[2 * i];
        point[p][0] = half.x;
        point[p][1] = half.y;
        point[p][2] = half.z;
        point[p][3] = half.w;
        half = rows[2 * i + 1];
        point[p][4] = half.x;
        point[p][5] = half.y;
        point[p][6] = half.z;
        point[p][7] = half.w;
#else
        for (d = 0; d < DIMS; d++) {
            point[p][d] = planes[d * n + i];
        }
#endif
    }

#if centres_from == 2
    for (start = 0; start < k; start += portion) {
        stop = min(start + portion, k);
        __syncthreads();
        for (i = threadIdx.x; i < DIMS * (stop - start); i += block_size) {
            shared[i] = centres[DIMS * start + i];
        }
        __syncthreads();
#endif
        for (centre = start; centre < stop; centre++) {
            for (p = 0; p < points_per_thread; p++) {
#ifdef expanded
                distance = 0.f;
                for (d = 0; d < DIMS; d++) {
                    distance += point[p][d] * coordinate(centre, d);
                }
                distance = norms[centre] - 2.f * distance;
#else
                distance = 0.f;
                for (d = 0; d < DIMS; d++) {
                    difference = point[p][d] - coordinate(centre, d);
                    distance += difference * difference;
                }
#endif
                if (distance < least[p]) {
                    least[p] = distance;
                    best[p] = centre;
                }
            }
        }
#if centres_from == 2
    }
#endif

    for (p = 0; p < points_per_thread; p++) {
        i = base + p * block_size;
        if (i < n) {
            nearest[i] = best[p];
        }
    }
}
