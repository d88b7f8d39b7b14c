/* reference.c - nearest centres on the CPU, and the points and centres kernel.cu is tested on.
**
** Points have 8 coordinates, whole numbers from 0 to 255, and so have centres: squared distances
** are below 2^20, exact in single precision whatever the order, and of equally near centres the
** first is meant. So answers are compared exactly.
**
** Points lie in clouds around the centres, as they do after a few iterations of k-means.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** numbers, on every machine.
*/
#include <stdint.h>

#define DIMS 8

/* centres: k x DIMS; rows: n x DIMS; planes: DIMS x n, the same points; norms: k, |c|^2. */
void kmeans_points(uint64_t seed, int64_t n, int64_t k, float *centres, float *rows, float *planes,
                   float *norms);

void kmeans_nearest(const float *rows, const float *centres, int64_t n, int64_t k,
                    int32_t *nearest);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static float clamped(int64_t value) {
    return (float)(value < 0 ? 0 : value > 255 ? 255 : value);
}

void kmeans_points(uint64_t seed, int64_t n, int64_t k, float *centres, float *rows, float *planes,
                   float *norms) {
    uint64_t state = seed;
    for (int64_t c = 0; c < k; c++) {
        norms[c] = 0;
        for (int64_t d = 0; d < DIMS; d++) {
            const float value = (float)(random_bits(&state) >> 56);
            centres[DIMS * c + d] = value;
            norms[c] += value * value;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const float *centre = centres + DIMS * (int64_t)(random_bits(&state) % (uint64_t)k);
        for (int64_t d = 0; d < DIMS; d++) {
            const int64_t noise = (int64_t)(random_bits(&state) % 129) - 64;
            rows[DIMS * i + d] = planes[d * n + i] = clamped((int64_t)centre[d] + noise);
        }
    }
}

static int64_t distance(const float *a, const float *b) {
    int64_t sum = 0;
    for (int64_t d = 0; d < DIMS; d++) {
        const int64_t difference = (int64_t)a[d] - (int64_t)b[d];
        sum += difference * difference;
    }
    return sum;
}

void kmeans_nearest(const float *rows, const float *centres, int64_t n, int64_t k,
                    int32_t *nearest) {
    for (int64_t i = 0; i < n; i++) {
        int64_t least = INT64_MAX;
        for (int64_t c = 0; c < k; c++) {
            const int64_t here = distance(rows + DIMS * i, centres + DIMS * c);
            if (here >= least) continue;
            least = here;
            nearest[i] = (int32_t)c;
        }
    }
}
