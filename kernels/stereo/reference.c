/* reference.c - the disparities of kernel.cu on the CPU, and stereo pairs whose depth is known.
**
** Disparities: for every d the squared differences, summed down 11 rows (a row comes, one goes),
** then along 11 columns; all integers, so that the kernel must agree exactly. Beyond the images
** their edges go on.
**
** Scenes: surfaces (a slanted background, tilted plates, spheres) with a texture that can be
** looked up anywhere. A point of a surface at (x, y) of the left image, with disparity s(x, y), is
** at (x - s, y) of the right one; so for a pixel of the right image the point is found by solving
** for x on every surface, and of those that are there the nearest, of largest disparity, is seen.
** Both images get noise of their own, the right one another exposure.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RADIUS = 5, NO_MATCH = 500000, SURFACES = 9 };

/* disparity[y * width + x] in 0 … most, -1 for no match. False without memory. */
bool stereo_match(const uint8_t *left, const uint8_t *right, int64_t width, int64_t height,
                  int64_t most, float *disparity);

/* The answers in other types: -1 is 255 as a byte. */
void stereo_convert(const float *from, int64_t n, int32_t *i32, int16_t *i16, uint8_t *u8);

/* A pair, and what is known of it: depth, the true disparity of each left pixel; seen, 1 where the
** right image shows the same point. */
void stereo_scene(uint64_t seed, int64_t width, int64_t height, double most, double noise,
                  double exposure, uint8_t *left, uint8_t *right, float *depth, uint8_t *seen);

/* Of the answers: shares within `limit` of the depth, of all pixels and of those seen by both. */
void stereo_shares(const float *disparity, const float *depth, const uint8_t *seen, int64_t n,
                   double limit, double *shares);

/* A 16-bit picture as bytes, white becoming 255. */
void stereo_bytes(const uint16_t *from, int64_t n, int64_t maxval, uint8_t *to);
void stereo_stretch(const uint8_t *from, int64_t n, int64_t maxval, uint8_t *to);

/* ---- matching ----------------------------------------------------------------------------- */

static int64_t within(int64_t i, int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* An image whose edges go on for `before` pixels to the left and RADIUS to the right. */
static uint8_t *drawn_out(const uint8_t *image, int64_t width, int64_t height, int64_t before) {
    const int64_t pitch = before + width + RADIUS;
    uint8_t *out = malloc((size_t)(pitch * height));
    for (int64_t y = 0; out && y < height; y++)
        for (int64_t i = 0; i < pitch; i++)
            out[y * pitch + i] = image[y * width + within(i - before, width)];
    return out;
}

/* A row's squared differences come into the sums down the columns (sign 1) or leave them (-1). */
static void add_squares(const uint8_t *left, const uint8_t *right, int64_t n, int32_t sign,
                        int32_t *columns) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t diff = left[i] - right[i];
        columns[i] += sign * diff * diff;
    }
}

/* Where the windows of a row are better matched at d than before, d is taken. */
static void better(const int32_t *columns, int64_t width, int64_t d, int32_t *least,
                   float *disparity) {
    for (int64_t x = 0; x < width; x++) {
        int32_t sum = 0;
        for (int64_t i = 0; i <= 2 * RADIUS; i++) sum += columns[x + i];
        disparity[x] = sum < least[x] ? (float)d : disparity[x];
        least[x] = sum < least[x] ? sum : least[x];
    }
}

bool stereo_match(const uint8_t *left, const uint8_t *right, int64_t width, int64_t height,
                  int64_t most, float *disparity) {
    const int64_t columns = width + 2 * RADIUS, pitch = columns + most;
    uint8_t *l = drawn_out(left, width, height, RADIUS);
    uint8_t *r = drawn_out(right, width, height, RADIUS + most);
    int32_t *sums = calloc((size_t)((most + 1) * columns), sizeof *sums);
    int32_t *least = malloc((size_t)width * sizeof *least);
    const bool room = l && r && sums && least;
    for (int64_t y = -2 * RADIUS; room && y < height; y++) { /* the first ten rows only add up */
        const int64_t come = within(y + RADIUS, height), gone = within(y - RADIUS - 1, height);
        for (int64_t x = 0; y >= 0 && x < width; x++)
            least[x] = NO_MATCH, disparity[y * width + x] = -1;
        for (int64_t d = 0; d <= most; d++) {
            int32_t *of_d = sums + d * columns;
            add_squares(l + come * columns, r + come * pitch + most - d, columns, 1, of_d);
            if (y > 0)
                add_squares(l + gone * columns, r + gone * pitch + most - d, columns, -1, of_d);
            if (y >= 0) better(of_d, width, d, least, disparity + y * width);
        }
    }
    free(l);
    free(r);
    free(sums);
    free(least);
    return room;
}

void stereo_convert(const float *from, int64_t n, int32_t *i32, int16_t *i16, uint8_t *u8) {
    for (int64_t i = 0; i < n; i++) {
        i32[i] = (int32_t)from[i];
        i16[i] = (int16_t)i32[i];
        u8[i] = (uint8_t)i32[i];
    }
}

/* ---- random numbers: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) --------------------------- */

static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

static double random_between(uint64_t *state, double least, double most) {
    return least + (most - least) * unit(mixed(*state += UINT64_C(0x9e3779b97f4a7c15)));
}

/* Deviation 1, nearly normal: four uniform numbers. */
static double random_noise(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += random_between(state, -1, 1);
    return sum * 0.8660254037844386; /* of deviation sqrt(4/3) */
}

/* ---- scenes ------------------------------------------------------------------------------- */

typedef struct Surface {
    enum { BACKGROUND, PLATE, SPHERE } kind;
    double x, y, half_width, half_height; /* centre and size in left pixels; a sphere's radii */
    double at, along_x, along_y;          /* disparity at the centre, its slopes */
    double bulge;                         /* a sphere's middle is so much nearer than its rim */
    double grey, contrast;
    uint64_t texture; /* seed */
} Surface;

/* A sphere's height, 1 in the middle, 0 at the rim and beyond. */
static double height_of(const Surface *s, double x, double y) {
    const double u = (x - s->x) / s->half_width, v = (y - s->y) / s->half_height;
    const double rest = 1 - u * u - v * v;
    return rest > 0 ? sqrt(rest) : 0;
}

static double disparity_at(const Surface *s, double x, double y) {
    const double plane = s->at + s->along_x * (x - s->x) + s->along_y * (y - s->y);
    return s->kind == SPHERE ? plane + s->bulge * height_of(s, x, y) : plane;
}

static bool covers(const Surface *s, double x, double y) {
    if (s->kind == BACKGROUND) return true;
    if (s->kind == SPHERE) return height_of(s, x, y) > 0;
    return fabs(x - s->x) <= s->half_width && fabs(y - s->y) <= s->half_height;
}

static double lattice(uint64_t seed, int64_t i, int64_t j) {
    return unit(mixed(seed ^ mixed((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) ^
                                   mixed((uint64_t)j + UINT64_C(0x632be59bd9b4e019)))));
}

/* Random values on a grid of that size, smooth between: 0 … 1. */
static double value_noise(uint64_t seed, double x, double y, double size) {
    const double fx = floor(x / size), fy = floor(y / size);
    double u = x / size - fx, v = y / size - fy;
    const int64_t i = (int64_t)fx, j = (int64_t)fy;
    u = u * u * (3 - 2 * u), v = v * v * (3 - 2 * v);
    const double top = lattice(seed, i, j) * (1 - u) + lattice(seed, i + 1, j) * u;
    const double low = lattice(seed, i, j + 1) * (1 - u) + lattice(seed, i + 1, j + 1) * u;
    return top * (1 - v) + low * v;
}

/* Three sizes of grain, the finest the strongest: what stereo matching lives on. */
static double brightness(const Surface *s, double x, double y) {
    const double t = 0.5 * value_noise(s->texture, x, y, 2.5) +
                     0.3 * value_noise(s->texture + 1, x, y, 7) +
                     0.2 * value_noise(s->texture + 2, x, y, 23);
    return s->grey + s->contrast * (2 * t - 1);
}

static void make_surfaces(uint64_t *state, double width, double height, double most,
                          Surface surfaces[SURFACES]) {
    for (int k = 0; k < SURFACES; k++) {
        Surface *s = &surfaces[k];
        s->kind = k == 0 ? BACKGROUND : k % 3 == 0 ? SPHERE : PLATE;
        s->x = k == 0 ? width / 2 : random_between(state, 0.1, 0.95) * width;
        s->y = k == 0 ? height / 2 : random_between(state, 0.05, 0.95) * height;
        s->half_width = width * random_between(state, 0.06, 0.17);
        s->half_height = height * random_between(state, 0.08, 0.2);
        if (s->kind == SPHERE) s->half_height = s->half_width;
        const double tilt = fmin(0.16 * most / width, 0.1); /* 0.1: for solved() to converge */
        s->at = k == 0 ? random_between(state, 0.1, 0.2) : random_between(state, 0.32, 0.7);
        s->at *= most;
        s->along_x = random_between(state, -tilt, tilt) * (k == 0 ? 0.5 : 1);
        s->along_y = random_between(state, -tilt, tilt) * (k == 0 ? 0.5 : 1);
        s->bulge = fmin(0.15 * most, 0.5 * s->half_width);
        s->grey = random_between(state, 90, 165);
        s->contrast = random_between(state, 60, 90);
        s->texture = mixed(*state);
    }
}

/* The x at which the surface's point at (x, y) is seen at `right` in the other image: its slope
** being well below one, each step brings it nearer. */
static double solved(const Surface *s, double right, double y) {
    double x = right + s->at;
    for (int i = 0; i < 24; i++) {
        const double next = right + disparity_at(s, x, y);
        if (next == x) break;
        x = next;
    }
    return x;
}

/* The nearest surface at (x, y) of the left image. */
static int seen_left(const Surface *surfaces, double x, double y) {
    int best = 0;
    for (int k = 1; k < SURFACES; k++)
        if (covers(&surfaces[k], x, y) &&
            disparity_at(&surfaces[k], x, y) > disparity_at(&surfaces[best], x, y))
            best = k;
    return best;
}

/* The nearest at (right, y) of the right image, and the x of that point in the left one. */
static int seen_right(const Surface *surfaces, double right, double y, double *x) {
    int best = 0;
    *x = solved(&surfaces[0], right, y);
    for (int k = 1; k < SURFACES; k++) {
        if (fabs(y - surfaces[k].y) > surfaces[k].half_height) continue; /* not in this row */
        const double other = solved(&surfaces[k], right, y);
        if (covers(&surfaces[k], other, y) && other > *x) best = k, *x = other;
    }
    return best;
}

static uint8_t byte_of(double v) {
    return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5);
}

void stereo_scene(uint64_t seed, int64_t width, int64_t height, double most, double noise,
                  double exposure, uint8_t *left, uint8_t *right, float *depth, uint8_t *seen) {
    Surface surfaces[SURFACES];
    uint64_t state = mixed(seed + 1);
    make_surfaces(&state, (double)width, (double)height, most, surfaces);
    for (int64_t i = 0; i < width * height; i++) {
        const double x = (double)(i % width), y = (double)(i / width);
        const Surface *s = &surfaces[seen_left(surfaces, x, y)];
        const double d = disparity_at(s, x, y);
        double there;
        left[i] = byte_of(brightness(s, x, y) + noise * random_noise(&state));
        depth[i] = (float)d;
        seen[i] = x - d >= 0 && &surfaces[seen_right(surfaces, x - d, y, &there)] == s;
        s = &surfaces[seen_right(surfaces, x, y, &there)];
        right[i] = byte_of(exposure * brightness(s, there, y) + noise * random_noise(&state));
    }
}

void stereo_shares(const float *disparity, const float *depth, const uint8_t *seen, int64_t n,
                   double limit, double *shares) {
    int64_t all = 0, both = 0, visible = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool near = fabs((double)disparity[i] - (double)depth[i]) <= limit;
        all += near;
        both += near && seen[i];
        visible += seen[i];
    }
    shares[0] = (double)all / (double)n;
    shares[1] = visible ? (double)both / (double)visible : 0;
}

/* ---- pictures ----------------------------------------------------------------------------- */

void stereo_bytes(const uint16_t *from, int64_t n, int64_t maxval, uint8_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)((from[i] * 255 + maxval / 2) / maxval);
}

void stereo_stretch(const uint8_t *from, int64_t n, int64_t maxval, uint8_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)((from[i] * 255 + maxval / 2) / maxval);
}
