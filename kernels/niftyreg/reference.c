/* reference.c - the deformation field of kernel.cu on the CPU, and the inputs it is tested on.
**
** Model (Langdon, Modat, Petke, Harman, GECCO 2014 §2). Control points lie every 5 voxels along x,
** y and z: point (i, j, k) of the grid at voxel 5 * (i-1, j-1, k-1), so the grid begins one point
** before the image and ends two after it: ceil(n / 5) + 3 points for n voxels. Voxel v = 5q + r is
** moved by points q … q+3, with weights that depend on t = r / 5 alone:
**
**     displacement(x, y, z) = sum over c, b, a of wz[c] wy[b] wx[a] control[qz+c][qy+b][qx+a]
**
** Layouts: images and grids have x varying fastest; a displacement is 4 floats (x, y, z in voxels,
** and 0); a group is 1 x 5 x 5 voxels, named by the index of its first voxel, with its 25 answers
** in the order of z, then y.
**
** Plain C11, libc only. Called from problem.lua through gilua's library loader, and by the tests.
** Deterministic: same seed, same bits, on every machine (only + - * / and sqrt, as IEEE 754 has
** them).
*/
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#define SPACING     5
#define GROUP       (SPACING * SPACING)
#define MAX_THREADS 1024

/* ---- interface ---------------------------------------------------------------------------- */

/* The squashed ball of white noise of §4.1 in a cube of `side` voxels (image: side^3 floats, 0
** outside the ball). Its diameter is 140 / 217 of the side; radius, centre and the squash along
** each axis vary by 5 %, independently: the radius upwards, the others both ways. (The paper does
** not say which way. This gives its numbers: about 1.7 million active voxels at side 217.) */
void niftyreg_ball(uint64_t seed, int64_t side, float *image);

/* For each type of voxel (suffixes as in gilua's element types: niftyreg_active_u8 …):
**
** niftyreg_voxels_T: how many of n voxels are above threshold.
** niftyreg_active_T: the groups with at least one such voxel, in the order of their z, y, x.
** Returns how many there are and stores the first `capacity` of them; -1 when the image has more
** voxels than a 32-bit index can name. */
#define DECLARE_ACTIVE(T, suffix)                                                                  \
    int64_t niftyreg_voxels_##suffix(const T *image, int64_t n, double threshold);                 \
    int64_t niftyreg_active_##suffix(const T *image, int64_t nx, int64_t ny, int64_t nz,           \
                                     double threshold, int32_t *groups, int64_t capacity);
DECLARE_ACTIVE(int8_t, i8)
DECLARE_ACTIVE(uint8_t, u8)
DECLARE_ACTIVE(int16_t, i16)
DECLARE_ACTIVE(uint16_t, u16)
DECLARE_ACTIVE(int32_t, i32)
DECLARE_ACTIVE(uint32_t, u32)
DECLARE_ACTIVE(int64_t, i64)
DECLARE_ACTIVE(uint64_t, u64)
DECLARE_ACTIVE(float, f32)
DECLARE_ACTIVE(double, f64)

/* A random smooth field on a grid of gx * gy * gz control points: the root of the mean square of
** each component is `rms` voxels. False without memory. */
bool niftyreg_control(uint64_t seed, int64_t gx, int64_t gy, int64_t gz, double rms,
                      float *control);

/* The four weights at each of the five distances: basis[5][4] by distance, then node, and the same
** numbers as basis_a[4][5]. */
void niftyreg_basis(int32_t use_bspline, float *basis, float *basis_a);

/* The displacements of n groups of an image of nx * ny * nz voxels: out has n * 25 * 4 floats, in
** single precision. */
void niftyreg_deform(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                     const float *control, int32_t use_bspline, float *out);

/* The same by `threads` threads (1 to 1024): the seconds it took, or -1 where they could not be
** started. */
double niftyreg_deform_threads(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                               const float *control, int32_t use_bspline, int64_t threads,
                               float *out);

/* The same, voxel by voxel as the 64-term sum above, in double precision: slow and simple. */
void niftyreg_deform_double(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                            const float *control, int32_t use_bspline, double *out);

/* ---- random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) ------------------------- */

static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

/* v, give or take 5 %. */
static double vary(double v, uint64_t *state) {
    return v * (1 + 0.05 * (2 * random_unit(state) - 1));
}

/* ---- images ------------------------------------------------------------------------------- */

void niftyreg_ball(uint64_t seed, int64_t side, float *image) {
    uint64_t state = seed;
    const double radius = (double)side * 70 / 217 * (1 + 0.05 * random_unit(&state));
    double centre[3], squash[3];
    for (int i = 0; i < 3; i++) centre[i] = vary(0.5 * (double)(side - 1), &state);
    for (int i = 0; i < 3; i++) squash[i] = vary(1, &state);

    memset(image, 0, (size_t)(side * side * side) * sizeof *image);
    for (int64_t z = 0; z < side; z++) {
        for (int64_t y = 0; y < side; y++) {
            const double dy = ((double)y - centre[1]) * squash[1];
            const double dz = ((double)z - centre[2]) * squash[2];
            const double rest = radius * radius - dy * dy - dz * dz;
            if (rest < 0) continue;
            const double half = sqrt(rest) / squash[0];
            int64_t x = (int64_t)fmax(0, ceil(centre[0] - half));
            const int64_t last = (int64_t)fmin((double)side - 1, floor(centre[0] + half));
            float *row = image + (z * side + y) * side;
            for (; x <= last; x++) row[x] = (float)(1 - random_unit(&state)); /* never 0 */
        }
    }
}

static int64_t groups_along(int64_t voxels) {
    return (voxels + SPACING - 1) / SPACING;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#define STRIP 256 /* groups along x looked at together */

typedef struct Strip {
    int64_t first;        /* index of its first voxel */
    int64_t n;            /* groups, side by side along x */
    int64_t rows, layers; /* voxels along y and z, fewer than 5 at the edge of the image */
} Strip;

/* Lists the marked groups of a strip. */
static int64_t list_marks(const Strip *s, const uint8_t *mark, int64_t found, int32_t *groups,
                          int64_t capacity) {
    for (int64_t i = 0; i < s->n; i++)
        if (mark[i] && found++ < capacity) groups[found - 1] = (int32_t)(s->first + i);
    return found;
}

/* For voxels of type T: count them; mark the groups of a strip that hold an active one; go through
** all strips of an image. */
#define DEFINE_ACTIVE(T, suffix)                                                                   \
    int64_t niftyreg_voxels_##suffix(const T *image, int64_t n, double threshold) {                \
        int64_t count = 0;                                                                         \
        for (int64_t i = 0; i < n; i++) count += (double)image[i] > threshold;                     \
        return count;                                                                              \
    }                                                                                              \
    static void mark_##suffix(const T *image, int64_t nx, int64_t ny, const Strip *s,              \
                              double threshold, uint8_t mark[STRIP]) {                             \
        memset(mark, 0, STRIP);                                                                    \
        for (int64_t z = 0; z < s->layers; z++)                                                    \
            for (int64_t y = 0; y < s->rows; y++) {                                                \
                const T *row = image + s->first + (z * ny + y) * nx;                               \
                for (int64_t i = 0; i < s->n; i++) mark[i] |= (double)row[i] > threshold;          \
            }                                                                                      \
    }                                                                                              \
    int64_t niftyreg_active_##suffix(const T *image, int64_t nx, int64_t ny, int64_t nz,           \
                                     double threshold, int32_t *groups, int64_t capacity) {        \
        int64_t found = 0;                                                                         \
        uint8_t mark[STRIP];                                                                       \
        if (nx > INT32_MAX / ny / nz) return -1;                                                   \
        for (int64_t z = 0; z < nz; z += SPACING)                                                  \
            for (int64_t y = 0; y < ny; y += SPACING)                                              \
                for (int64_t x = 0; x < nx; x += STRIP) {                                          \
                    const Strip s = {(z * ny + y) * nx + x, least(STRIP, nx - x),                  \
                                     least(SPACING, ny - y), least(SPACING, nz - z)};              \
                    mark_##suffix(image, nx, ny, &s, threshold, mark);                             \
                    found = list_marks(&s, mark, found, groups, capacity);                         \
                }                                                                                  \
        return found;                                                                              \
    }

DEFINE_ACTIVE(int8_t, i8)
DEFINE_ACTIVE(uint8_t, u8)
DEFINE_ACTIVE(int16_t, i16)
DEFINE_ACTIVE(uint16_t, u16)
DEFINE_ACTIVE(int32_t, i32)
DEFINE_ACTIVE(uint32_t, u32)
DEFINE_ACTIVE(int64_t, i64)
DEFINE_ACTIVE(uint64_t, u64)
DEFINE_ACTIVE(float, f32)
DEFINE_ACTIVE(double, f64)

/* ---- control points ----------------------------------------------------------------------- */

/* Replaces a line of n values, `stride` apart, by (1 2 1) / 4 of each and its neighbours; the ends
** count themselves as the missing neighbour. */
static void smooth_line(double *v, int64_t n, int64_t stride) {
    double before = v[0];
    for (int64_t i = 0; i < n; i++) {
        const double here = v[i * stride];
        const double after = i + 1 < n ? v[(i + 1) * stride] : here;
        v[i * stride] = 0.25 * before + 0.5 * here + 0.25 * after;
        before = here;
    }
}

static void smooth_grid(double *v, int64_t gx, int64_t gy, int64_t gz) {
    for (int64_t i = 0; i < gy * gz; i++) smooth_line(v + i * gx, gx, 1);
    for (int64_t k = 0; k < gz; k++)
        for (int64_t i = 0; i < gx; i++) smooth_line(v + k * gx * gy + i, gy, gx);
    for (int64_t i = 0; i < gx * gy; i++) smooth_line(v + i, gz, gx * gy);
}

bool niftyreg_control(uint64_t seed, int64_t gx, int64_t gy, int64_t gz, double rms,
                      float *control) {
    const int64_t n = gx * gy * gz;
    double *v = malloc((size_t)n * sizeof *v);
    if (!v) return false;

    uint64_t state = seed;
    memset(control, 0, (size_t)n * 4 * sizeof *control);
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) v[i] = 2 * random_unit(&state) - 1;
        for (int pass = 0; pass < 3; pass++) smooth_grid(v, gx, gy, gz);
        for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
        const double scale = sum > 0 ? rms / sqrt(sum / (double)n) : 0;
        for (int64_t i = 0; i < n; i++) control[4 * i + axis] = (float)(scale * v[i]);
    }
    free(v);
    return true;
}

/* ---- the spline --------------------------------------------------------------------------- */

/* Weights of nodes 0 … 3 at fraction t of the way from node 1 to node 2: the uniform cubic
** B-spline, or the interpolating cubic of Catmull and Rom. */
static void weights(bool use_bspline, double t, double w[4]) {
    if (use_bspline) {
        w[0] = (1 - t) * (1 - t) * (1 - t) / 6;
        w[1] = ((3 * t - 6) * t * t + 4) / 6;
        w[2] = (((-3 * t + 3) * t + 3) * t + 1) / 6;
        w[3] = t * t * t / 6;
    } else {
        w[0] = ((-t + 2) * t - 1) * t / 2;
        w[1] = ((3 * t - 5) * t * t + 2) / 2;
        w[2] = ((-3 * t + 4) * t + 1) * t / 2;
        w[3] = (t - 1) * t * t / 2;
    }
}

void niftyreg_basis(int32_t use_bspline, float *basis, float *basis_a) {
    for (int r = 0; r < SPACING; r++) {
        double w[4];
        weights(use_bspline, (double)r / SPACING, w);
        for (int node = 0; node < 4; node++) {
            basis[4 * r + node] = (float)w[node];
            basis_a[SPACING * node + r] = (float)w[node];
        }
    }
}

/* out = w[0] p[0] + … + w[3] p[3], of float4 values `stride` floats apart. */
static void combine(const float w[4], const float *p, int64_t stride, float *out) {
    for (int k = 0; k < 4; k++)
        out[k] = w[0] * p[k] + w[1] * p[stride + k] + w[2] * p[2 * stride + k] +
                 w[3] * p[3 * stride + k];
}

/* One group, an axis at a time: 4x4x4 points, 4x4 columns along x, 4 layers of 5 along y, 5x5.
** p is the first of its control points; rows of the grid are `row` floats apart, layers `layer`. */
static void deform_group(const float *p, int64_t row, int64_t layer, const float wx[4],
                         const float basis[SPACING][4], float *out) {
    float columns[4][4][4], lines[4][SPACING][4];
    for (int c = 0; c < 4; c++)
        for (int b = 0; b < 4; b++) combine(wx, p + c * layer + b * row, 4, columns[c][b]);
    for (int c = 0; c < 4; c++)
        for (int y = 0; y < SPACING; y++) combine(basis[y], columns[c][0], 4, lines[c][y]);
    for (int z = 0; z < SPACING; z++)
        for (int y = 0; y < SPACING; y++)
            combine(basis[z], lines[0][y], 4 * SPACING, out + 4 * (SPACING * z + y));
}

static int64_t points_along(int64_t voxels) {
    return groups_along(voxels) + 3;
}

void niftyreg_deform(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                     const float *control, int32_t use_bspline, float *out) {
    const int64_t row = 4 * points_along(nx), layer = row * points_along(ny);
    float basis[SPACING][4], basis_a[4][SPACING];
    niftyreg_basis(use_bspline, basis[0], basis_a[0]);
    (void)nz;

    for (int64_t i = 0; i < n; i++) {
        const int64_t x = groups[i] % nx, y = groups[i] / nx % ny, z = groups[i] / nx / ny;
        const float *p = control + z / SPACING * layer + y / SPACING * row + 4 * (x / SPACING);
        deform_group(p, row, layer, basis[x % SPACING], basis, out + i * 4 * GROUP);
    }
}

/* One voxel: the sum of 64 terms. */
static void deform_voxel(int64_t x, int64_t y, int64_t z, int64_t row, int64_t layer,
                         const float *control, bool use_bspline, double out[4]) {
    double wx[4], wy[4], wz[4];
    weights(use_bspline, (double)(x % SPACING) / SPACING, wx);
    weights(use_bspline, (double)(y % SPACING) / SPACING, wy);
    weights(use_bspline, (double)(z % SPACING) / SPACING, wz);
    for (int k = 0; k < 4; k++) out[k] = 0;
    for (int c = 0; c < 4; c++)
        for (int b = 0; b < 4; b++)
            for (int a = 0; a < 4; a++) {
                const float *p = control + (z / SPACING + c) * layer + (y / SPACING + b) * row +
                                 4 * (x / SPACING + a);
                for (int k = 0; k < 4; k++) out[k] += wz[c] * wy[b] * wx[a] * (double)p[k];
            }
}

/* One thread's share of niftyreg_deform_threads. */
typedef struct Share {
    const int32_t *groups;
    int64_t n, nx, ny, nz;
    const float *control;
    int32_t use_bspline;
    float *out;
} Share;

static int deform_share(void *argument) {
    const Share *s = argument;
    niftyreg_deform(s->groups, s->n, s->nx, s->ny, s->nz, s->control, s->use_bspline, s->out);
    return 0;
}

static double seconds_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double niftyreg_deform_threads(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                               const float *control, int32_t use_bspline, int64_t threads,
                               float *out) {
    thrd_t started[MAX_THREADS];
    Share shares[MAX_THREADS];
    if (threads < 1 || threads > MAX_THREADS) return -1;
    double start = seconds_now();
    int64_t running = 0;
    for (int64_t t = 0; t < threads; t++) {
        int64_t first = n * t / threads, last = n * (t + 1) / threads;
        shares[t] = (Share){groups + first, last - first,           nx, ny, nz, control,
                            use_bspline,    out + first * 4 * GROUP};
        if (thrd_create(&started[running], deform_share, &shares[t]) == thrd_success) running++;
        else deform_share(&shares[t]);
    }
    for (int64_t t = 0; t < running; t++) thrd_join(started[t], NULL);
    return running == threads ? seconds_now() - start : -1;
}

void niftyreg_deform_double(const int32_t *groups, int64_t n, int64_t nx, int64_t ny, int64_t nz,
                            const float *control, int32_t use_bspline, double *out) {
    const int64_t row = 4 * points_along(nx), layer = row * points_along(ny);
    (void)nz;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = groups[i] % nx, y = groups[i] / nx % ny, z = groups[i] / nx / ny;
        for (int64_t v = 0; v < GROUP; v++)
            deform_voxel(x, y + v % SPACING, z + v / SPACING, row, layer, control, use_bspline,
                         out + 4 * (i * GROUP + v));
    }
}
