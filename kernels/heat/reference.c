/* reference.c - the heat equation of kernel.cu on the CPU, and the plates it is tested on.
**
** A plate is width by height cells, row by row. Explicit steps of
**     T'(x, y) = T + c (T(x-1, y) + T(x+1, y) + T(x, y-1) + T(x, y+1) - 4 T)
** in double precision; cells on the edge keep their temperature. Rounded once, after the last step.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Temperatures from 0 to 100 degrees, some cells hot and some cold; conductivities 0.05 to 0.25. */
void heat_plate(uint64_t seed, int64_t width, int64_t height, float *before, float *conductivity);

/* False without memory. */
bool heat_steps(const float *before, const float *conductivity, int64_t width, int64_t height,
                int64_t steps, float *after);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

void heat_plate(uint64_t seed, int64_t width, int64_t height, float *before, float *conductivity) {
    uint64_t state = seed;
    for (int64_t i = 0; i < width * height; i++) {
        before[i] = (float)(100 * random_unit(&state));
        conductivity[i] = (float)(0.05 + 0.2 * random_unit(&state));
    }
}

static void one_step(const double *t, const float *c, int64_t width, int64_t height, double *out) {
    memcpy(out, t, (size_t)(width * height) * sizeof *t);
    for (int64_t y = 1; y < height - 1; y++)
        for (int64_t x = 1; x < width - 1; x++) {
            const int64_t i = y * width + x;
            const double around = t[i - 1] + t[i + 1] + t[i - width] + t[i + width];
            out[i] = t[i] + (double)c[i] * (around - 4 * t[i]);
        }
}

bool heat_steps(const float *before, const float *conductivity, int64_t width, int64_t height,
                int64_t steps, float *after) {
    const int64_t cells = width * height;
    double *both = malloc((size_t)cells * 2 * sizeof *both), *now = both;
    if (!both) return false;
    for (int64_t i = 0; i < cells; i++) now[i] = (double)before[i];
    for (int64_t s = 0; s < steps; s++) {
        double *next = now == both ? both + cells : both;
        one_step(now, conductivity, width, height, next);
        now = next;
    }
    for (int64_t i = 0; i < cells; i++) after[i] = (float)now[i];
    free(both);
    return true;
}
