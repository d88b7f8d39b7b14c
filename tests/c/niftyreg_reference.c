/* The reference of the NiftyReg problem: in single against double precision, against a direct
** 64-term sum written here, the weights, the active list and the random ball. */
#include "../../kernels/niftyreg/reference.c"
#include "tap.h"

#include <float.h>

/* ---- weights ------------------------------------------------------------------------------ */

static void test_weights(void) {
    for (int kind = 0; kind < 2; kind++) {
        float basis[5][4], basis_a[4][5];
        niftyreg_basis(kind, basis[0], basis_a[0]);
        double worst = 0, slope = 0;
        bool same = true;
        for (int r = 0; r < 5; r++) {
            double sum = 0, first = 0;
            for (int n = 0; n < 4; n++) {
                sum += (double)basis[r][n];
                first += (double)basis[r][n] * (n - 1);
                same = same && basis[r][n] == basis_a[n][r];
            }
            worst = fmax(worst, fabs(sum - 1));
            slope = fmax(slope, fabs(first - r / 5.0));
        }
        const char *name = kind ? "B-spline" : "interpolating";
        ok(worst < 2e-7, "%s weights sum to one (off by %.1e)", name, worst);
        ok(slope < 2e-7, "%s weights reproduce a straight line (off by %.1e)", name, slope);
        ok(same, "both tables hold the same %s weights", name);
        if (kind == 0)
            ok(basis[0][0] == 0 && basis[0][1] == 1 && basis[0][2] == 0,
               "it passes through its points");
        else
            ok(basis[0][3] == 0 && fabs((double)basis[0][1] - 2.0 / 3) < 1e-7,
               "1/6 4/6 1/6 0 at a point");
    }
}

/* ---- deformation -------------------------------------------------------------------------- */

typedef struct Case {
    int64_t nx, ny, nz, n;
    int32_t *groups;
    float *control, *single;
    double *exact;
    int32_t bspline;
} Case;

/* Every group of an nx * ny * nz image, and a field of displacements of 3 voxels. */
static Case new_case(int64_t nx, int64_t ny, int64_t nz, int32_t bspline, uint64_t seed) {
    Case c = {.nx = nx, .ny = ny, .nz = nz, .bspline = bspline};
    float *image = malloc((size_t)(nx * ny * nz) * sizeof *image);
    for (int64_t i = 0; i < nx * ny * nz; i++) image[i] = 1;
    c.n = niftyreg_active_f32(image, nx, ny, nz, 0, NULL, 0);
    c.groups = malloc((size_t)c.n * sizeof *c.groups);
    niftyreg_active_f32(image, nx, ny, nz, 0, c.groups, c.n);
    free(image);
    const int64_t points = points_along(nx) * points_along(ny) * points_along(nz);
    c.control = malloc((size_t)points * 4 * sizeof *c.control);
    c.single = malloc((size_t)c.n * 100 * sizeof *c.single);
    c.exact = malloc((size_t)c.n * 100 * sizeof *c.exact);
    niftyreg_control(seed, points_along(nx), points_along(ny), points_along(nz), 3, c.control);
    niftyreg_deform(c.groups, c.n, nx, ny, nz, c.control, bspline, c.single);
    niftyreg_deform_double(c.groups, c.n, nx, ny, nz, c.control, bspline, c.exact);
    return c;
}

static void free_case(Case *c) {
    free(c->groups);
    free(c->control);
    free(c->single);
    free(c->exact);
}

/* The cubic B-spline as a function of the distance u from its middle, in units of the spacing:
** the textbook definition, which shares nothing with reference.c. */
static double bspline_at(double u) {
    u = fabs(u);
    if (u >= 2) return 0;
    return u >= 1 ? pow(2 - u, 3) / 6 : 2.0 / 3 - u * u + u * u * u / 2;
}

/* Catmull-Rom, likewise (Keys 1981 with a = -1/2). */
static double keys_at(double u) {
    u = fabs(u);
    if (u >= 2) return 0;
    return u >= 1 ? -0.5 * u * u * u + 2.5 * u * u - 4 * u + 2 : 1.5 * u * u * u - 2.5 * u * u + 1;
}

/* Component k of the displacement of voxel (x, y, z), summed over every control point there is. */
static double displacement_at(const Case *c, int64_t x, int64_t y, int64_t z, int k) {
    double (*weight)(double) = c->bspline ? bspline_at : keys_at;
    const int64_t gx = points_along(c->nx), gy = points_along(c->ny), gz = points_along(c->nz);
    double sum = 0;
    for (int64_t w = 0; w < gz; w++)
        for (int64_t v = 0; v < gy; v++)
            for (int64_t u = 0; u < gx; u++)
                sum += weight((double)x / 5 - (double)(u - 1)) *
                       weight((double)y / 5 - (double)(v - 1)) *
                       weight((double)z / 5 - (double)(w - 1)) *
                       (double)c->control[4 * ((w * gy + v) * gx + u) + k];
    return sum;
}

static void test_deform(int64_t nx, int64_t ny, int64_t nz, int32_t bspline, uint64_t seed) {
    Case c = new_case(nx, ny, nz, bspline, seed);
    double worst = 0, direct = 0, padding = 0;
    uint64_t state = seed;
    for (int64_t i = 0; i < c.n * 100; i++) {
        worst = fmax(worst, fabs((double)c.single[i] - c.exact[i]));
        if (i % 4 == 3) padding = fmax(padding, fabs((double)c.single[i]));
    }
    for (int round = 0; round < 200; round++) {
        const int64_t g = (int64_t)(random_bits(&state) % (uint64_t)c.n),
                      v = (int64_t)(random_bits(&state) % 25);
        const int64_t x = c.groups[g] % nx, y = c.groups[g] / nx % ny, z = c.groups[g] / nx / ny;
        for (int k = 0; k < 3; k++)
            direct = fmax(direct, fabs(displacement_at(&c, x, y + v % 5, z + v / 5, k) -
                                       c.exact[100 * g + 4 * v + k]));
    }
    printf("# %lld x %lld x %lld, %s\n", (long long)nx, (long long)ny, (long long)nz,
           bspline ? "B-spline" : "interpolating");
    ok(worst < 5e-6, "single precision is within 5e-6 voxels of double (%.1e)", worst);
    ok(direct < 1e-12, "double precision is the textbook sum over all control points (%.1e)",
       direct);
    ok(padding == 0, "the fourth component is 0");
    free_case(&c);
}

/* A field that is linear in space is reproduced exactly: displacement = position / 10. */
static void test_linear_field(void) {
    Case c = new_case(23, 18, 11, 1, 1);
    for (int64_t w = 0; w < points_along(11); w++)
        for (int64_t v = 0; v < points_along(18); v++)
            for (int64_t u = 0; u < points_along(23); u++) {
                float *p = c.control + 4 * ((w * points_along(18) + v) * points_along(23) + u);
                p[0] = 0.5f * (float)(u - 1), p[1] = 0.5f * (float)(v - 1),
                p[2] = 0.5f * (float)(w - 1);
            }
    niftyreg_deform(c.groups, c.n, 23, 18, 11, c.control, 1, c.single);
    double worst = 0;
    for (int64_t i = 0; i < c.n * 25; i++) {
        const int64_t g = c.groups[i / 25], x = g % 23, y = g / 23 % 18 + i % 5,
                      z = g / 23 / 18 + i % 25 / 5;
        worst = fmax(worst, fabs((double)c.single[4 * i] - (double)x / 10));
        worst = fmax(worst, fabs((double)c.single[4 * i + 1] - (double)y / 10));
        worst = fmax(worst, fabs((double)c.single[4 * i + 2] - (double)z / 10));
    }
    ok(worst < 1e-6, "a linear field comes out as it went in (%.1e)", worst);
    free_case(&c);
}

/* ---- control points ----------------------------------------------------------------------- */

static void test_control(void) {
    enum { GX = 20, GY = 17, GZ = 14, N = GX * GY * GZ };
    float *a = malloc(N * 16), *b = malloc(N * 16);
    niftyreg_control(5, GX, GY, GZ, 3, a);
    niftyreg_control(5, GX, GY, GZ, 3, b);
    ok(memcmp(a, b, N * 16) == 0, "one seed, one field");
    niftyreg_control(6, GX, GY, GZ, 3, b);
    ok(memcmp(a, b, N * 16) != 0, "another seed, another field");
    double sum = 0, steps = 0;
    for (int64_t i = 0; i < N; i++) sum += (double)(a[4 * i] * a[4 * i]);
    for (int64_t i = 0; i + 1 < N; i++)
        if ((i + 1) % GX) steps += pow((double)(a[4 * i + 4] - a[4 * i]), 2);
    ok(fabs(sqrt(sum / N) - 3) < 1e-4, "its root mean square is what was asked for");
    const double step = sqrt(steps / ((GX - 1) * GY * GZ));
    ok(step < 2.5, "it is smooth: neighbours differ by %.2f voxels, unrelated ones would by 4.24",
       step);
    free(a);
    free(b);
}

/* ---- images ------------------------------------------------------------------------------- */

/* Active groups found the slow way. */
static void test_active(uint64_t seed) {
    enum { NX = 300, NY = 13, NZ = 11 };
    uint8_t *image = malloc(NX * NY * NZ);
    double *same = malloc(NX * NY * NZ * sizeof *same);
    uint64_t state = seed;
    for (int i = 0; i < NX * NY * NZ; i++) same[i] = image[i] = random_bits(&state) % 40 ? 3 : 9;
    int32_t groups[NX * 9], again[NX * 9];
    const int64_t n = niftyreg_active_u8(image, NX, NY, NZ, 3, groups, NX * 9);
    int64_t k = 0;
    bool right = true;
    for (int z = 0; z < NZ; z += 5)
        for (int y = 0; y < NY; y += 5)
            for (int x = 0; x < NX; x++) {
                bool active = false;
                for (int v = 0; v < 25; v++)
                    if (y + v % 5 < NY && z + v / 5 < NZ)
                        active = active || image[((z + v / 5) * NY + y + v % 5) * NX + x] > 3;
                if (active) right = right && k < n && groups[k++] == (z * NY + y) * NX + x;
            }
    ok(right && k == n, "the active list of a random image (%lld of %d groups)", (long long)n,
       NX * 9);
    is_int(niftyreg_active_f64(same, NX, NY, NZ, 3, again, NX * 9), n,
           "the same list from f64 voxels");
    ok(memcmp(groups, again, (size_t)n * 4) == 0, "in the same order");
    again[10] = -1;
    ok(niftyreg_active_u8(image, NX, NY, NZ, 3, again, 10) == n && again[10] == -1,
       "no more than the capacity is stored");
    is_int(niftyreg_active_u8(image, NX, NY, NZ, 9, again, NX * 9), 0,
           "nothing above the threshold, no groups");
    int64_t above = 0;
    for (int i = 0; i < NX * NY * NZ; i++) above += image[i] > 3;
    is_int(niftyreg_voxels_u8(image, NX * NY * NZ, 3), above, "voxels above the threshold");
    is_int(niftyreg_active_u8(image, 2000, 2000, 2000, 3, again, 1), -1,
           "an image too large for 32-bit indices is refused");
    free(image);
    free(same);
}

/* §4.1: about 1.7 million active voxels of 10 218 313 on average, in groups of 25. */
static void test_ball(void) {
    enum { SIDE = 217, SEEDS = 12 };
    const int64_t n = (int64_t)SIDE * SIDE * SIDE;
    float *image = malloc((size_t)n * sizeof *image);
    double mean = 0, least_count = 1e9, most = 0;
    bool clear = true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        niftyreg_ball(seed, SIDE, image);
        const double active = 25 * (double)niftyreg_active_f32(image, SIDE, SIDE, SIDE, 0, NULL, 0);
        mean += active / SEEDS;
        least_count = fmin(least_count, active);
        most = fmax(most, active);
        for (int64_t i = 0; i < SIDE * SIDE; i++)
            clear = clear && image[i] == 0 && image[n - 1 - i] == 0;
    }
    ok(mean > 1.6e6 && mean < 1.8e6, "%d balls have %.0f active voxels on average", SEEDS, mean);
    ok(most / least_count > 1.05, "they differ in size (%.0f to %.0f)", least_count, most);
    ok(clear, "and do not touch the walls");

    float *again = malloc((size_t)n * sizeof *again);
    niftyreg_ball(SEEDS, SIDE, again);
    ok(memcmp(image, again, (size_t)n * sizeof *image) == 0, "one seed, one ball");
    niftyreg_ball(3, 40, image);
    const double share = (double)niftyreg_voxels_f32(image, 64000, 0) / 64000;
    ok(share > 0.1 && share < 0.2, "a small ball fills the same share of its cube (%.3f)", share);
    free(image);
    free(again);
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 2014;
    printf("# seed %" PRIu64 "\n", seed);
    test_weights();
    test_deform(31, 22, 14, 1, seed);
    test_deform(31, 22, 14, 0, seed + 1);
    test_deform(5, 5, 5, 1, seed + 2);
    test_deform(1, 6, 11, 1, seed + 3);
    test_linear_field();
    test_control();
    test_active(seed);
    test_ball();
    return tap_done();
}
