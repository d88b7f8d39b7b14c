/* numbers.c - XORWOW, MRG32k3a and Philox 4x32-10 as cuRAND deals them out. See numbers.h. */
#include "standin/curand/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- XORWOW: a linear map of five words over GF(2), and a counter --- */

enum { XORWOW_WORDS = 5, XORWOW_BITS = 160, XORWOW_STEP = 362437, XORWOW_LANE_BITS = 67 };

typedef struct XorwowMap { /* the image of each bit of the state */
    uint32_t image[XORWOW_BITS][XORWOW_WORDS];
} XorwowMap;

static uint32_t xorwow_next(NumbersLane *l) {
    uint32_t *v = &l->word[1], t = v[0] ^ v[0] >> 2;
    memmove(v, v + 1, (XORWOW_WORDS - 1) * sizeof *v);
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
    l->word[0] += XORWOW_STEP;
    return v[4] + l->word[0];
}

static void xorwow_apply(const XorwowMap *m, uint32_t v[XORWOW_WORDS]) {
    uint32_t out[XORWOW_WORDS] = {0};
    for (int bit = 0; bit < XORWOW_BITS; bit++)
        for (int i = 0; v[bit / 32] >> bit % 32 & 1 && i < XORWOW_WORDS; i++)
            out[i] ^= m->image[bit][i];
    memcpy(v, out, sizeof out);
}

static void xorwow_square(XorwowMap *m) {
    XorwowMap old = *m;
    for (int bit = 0; bit < XORWOW_BITS; bit++) xorwow_apply(&old, m->image[bit]);
}

/* One step. */
static void xorwow_map(XorwowMap *m) {
    for (int bit = 0; bit < XORWOW_BITS; bit++) {
        NumbersLane l = {{0}};
        l.word[1 + bit / 32] = 1u << bit % 32;
        xorwow_next(&l);
        memcpy(m->image[bit], &l.word[1], sizeof m->image[bit]);
    }
}

/* Moves every lane by that many steps. */
static void xorwow_skip(Numbers *g, uint64_t steps) {
    XorwowMap m;
    xorwow_map(&m);
    for (uint64_t left = steps; left; left >>= 1, xorwow_square(&m))
        for (uint32_t i = 0; left & 1 && i < g->lanes; i++) xorwow_apply(&m, &g->lane[i].word[1]);
    for (uint32_t i = 0; i < g->lanes; i++) g->lane[i].word[0] += (uint32_t)steps * XORWOW_STEP;
}

static void xorwow_start(Numbers *g) {
    uint32_t s = (uint32_t)g->seed ^ 0xaad26b49, t = (uint32_t)(g->seed >> 32) ^ 0xf7dcefdd;
    s *= 1099087573, t *= 2591861531;
    NumbersLane l = {{6615241 + t + s, 123456789 + s, 362436069 ^ s, 521288629 + t, 88675123 ^ t,
                      5783321 + s}};
    XorwowMap far;
    xorwow_map(&far);
    for (int i = 0; i < XORWOW_LANE_BITS; i++) xorwow_square(&far);
    for (uint32_t i = 0; i < g->lanes; i++, xorwow_apply(&far, &l.word[1])) g->lane[i] = l;
}

/* --- MRG32k3a: two linear recurrences of three words, each modulo a prime --- */

enum { MRG_LANE_BITS = 76 };
static const uint64_t mrg_prime[2] = {4294967087, 4294944443};

typedef struct MrgMap {
    uint64_t of[2][3][3];
} MrgMap;

static const MrgMap mrg_step = {{{{0, 1, 0}, {0, 0, 1}, {4294967087 - 810728, 1403580, 0}},
                                 {{0, 1, 0}, {0, 0, 1}, {4294944443 - 1370589, 0, 527612}}}};

static void mrg_apply(const MrgMap *m, NumbersLane *l) {
    for (int k = 0; k < 2; k++) {
        uint32_t *s = &l->word[3 * k], out[3];
        for (int i = 0; i < 3; i++) {
            uint64_t sum = 0;
            for (int j = 0; j < 3; j++) sum = (sum + m->of[k][i][j] * s[j] % mrg_prime[k]);
            out[i] = (uint32_t)(sum % mrg_prime[k]);
        }
        memcpy(s, out, sizeof out);
    }
}

static void mrg_square(MrgMap *m) {
    MrgMap old = *m;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                uint64_t sum = 0;
                for (int n = 0; n < 3; n++) sum += old.of[k][i][n] * old.of[k][n][j] % mrg_prime[k];
                m->of[k][i][j] = sum % mrg_prime[k];
            }
}

/* From 1 to the first prime. */
static uint32_t mrg_next(NumbersLane *l) {
    mrg_apply(&mrg_step, l);
    uint32_t a = l->word[2], b = l->word[5];
    return a > b ? a - b : (uint32_t)(a + mrg_prime[0] - b);
}

static void mrg_skip(Numbers *g, uint64_t steps) {
    MrgMap m = mrg_step;
    for (; steps; steps >>= 1, mrg_square(&m))
        for (uint32_t i = 0; steps & 1 && i < g->lanes; i++) mrg_apply(&m, &g->lane[i]);
}

static void mrg_start(Numbers *g) {
    uint64_t a = (uint32_t)g->seed ^ 0x55555555, b = (uint32_t)(g->seed >> 32) ^ 0xaaaaaaaa;
    NumbersLane l;
    for (int i = 0; i < 6; i++) {
        uint64_t factor = g->seed == 0 ? 1 : (i < 3 ? i != 1 : i == 4) ? a : b;
        l.word[i] = (uint32_t)(factor * 12345 % mrg_prime[i / 3]);
    }
    MrgMap far = mrg_step;
    for (int i = 0; i < MRG_LANE_BITS; i++) mrg_square(&far);
    for (uint32_t i = 0; i < g->lanes; i++, mrg_apply(&far, &l)) g->lane[i] = l;
}

/* --- Philox 4x32-10: blocks of four numbers out of a counter --- */

enum { BLOCK = 4 };

static void philox_block(uint64_t seed, uint32_t lane, uint64_t block, uint32_t out[BLOCK]) {
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), lane, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53 * c[0], b = (uint64_t)0xcd9e8d57 * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        key[0] += 0x9e3779b9, key[1] += 0xbb67ae85;
    }
    memcpy(out, c, sizeof c);
}

/* --- starting --- */

/* Begins at the row-th number or block of each lane. */
static void philox_start(Numbers *g, uint64_t row) {
    for (uint32_t i = 0; i < g->lanes; i++)
        g->lane[i] = (NumbersLane){{(uint32_t)row, (uint32_t)(row >> 32)}};
}

static void step(Numbers *g, NumbersLane *l) {
    switch (g->type) {
    case NUMBERS_XORWOW: xorwow_next(l); break;
    case NUMBERS_MRG32K3A: mrg_next(l); break;
    case NUMBERS_PHILOX: if (++l->word[0] == 0) l->word[1]++; break;
    }
}

bool numbers_start(Numbers *g, NumbersType type, uint32_t lanes, uint64_t seed, uint64_t offset) {
    *g = (Numbers){.type = type, .seed = seed, .lanes = lanes};
    g->lane = malloc(lanes * sizeof *g->lane);
    if (g->lane == NULL) return false;
    if (type == NUMBERS_PHILOX) g->given = offset % BLOCK, offset /= BLOCK;
    uint64_t row = offset / lanes;
    switch (type) {
    case NUMBERS_XORWOW: xorwow_start(g), xorwow_skip(g, row); break;
    case NUMBERS_MRG32K3A: mrg_start(g), mrg_skip(g, row); break;
    case NUMBERS_PHILOX: philox_start(g, row); break;
    }
    g->next = (uint32_t)(offset % lanes);
    for (uint32_t i = 0; i < g->next; i++) step(g, &g->lane[i]);
    return true;
}

void numbers_end(Numbers *g) {
    free(g->lane);
    g->lane = NULL;
}

/* --- distributions: curand_uniform.h and curand_normal.h of CUDA's toolkit say how --- */

static const float INVERSE = 2.3283064e-10f; /* 2^-32 */
static const double INVERSE_53 = 0x1p-53;

static float uniform(uint32_t x) {
    return (float)x * INVERSE + INVERSE / 2;
}

static double uniform_double(uint32_t low, uint32_t high) {
    return (double)(low ^ (uint64_t)high << 21) * INVERSE_53 + INVERSE_53 / 2;
}

/* The Box-Muller transform: u in (0, 1], an angle. */
static void normals(float u, float angle, float out[2]) {
    float s = sqrtf(-2 * logf(u));
    out[0] = s * sinf(angle), out[1] = s * cosf(angle);
}

static void normals_of(uint32_t x, uint32_t y, float out[2]) {
    float turn = INVERSE * 6.2831855f;
    normals(uniform(x), (float)y * turn + turn / 2, out);
}

/* u in (0, 1), v in half turns. */
static void normals_double(double u, double v, double out[2]) {
    double s = sqrt(-2 * log(u));
    out[0] = s * sin(v * 3.1415926535897932), out[1] = s * cos(v * 3.1415926535897932);
}

static void normals_of_bits(const uint32_t x[4], double out[2]) {
    uint64_t z = x[2] ^ (uint64_t)x[3] << 21;
    normals_double(uniform_double(x[0], x[1]), (double)z * (2 * INVERSE_53) + INVERSE_53, out);
}

/* --- one lane's next result, or pair of normal ones --- */

static void xorwow_fill(NumbersLane *l, NumbersKind kind, void *out) {
    uint32_t x[4];
    int drawn = kind == NUMBERS_NORMAL_DOUBLE ? 4 : kind >= NUMBERS_UNIFORM_DOUBLE ? 2 : 1;
    for (int i = 0; i < drawn; i++) x[i] = xorwow_next(l);
    switch (kind) {
    case NUMBERS_BITS: *(uint32_t *)out = x[0]; break;
    case NUMBERS_UNIFORM: *(float *)out = uniform(x[0]); break;
    case NUMBERS_UNIFORM_DOUBLE: *(double *)out = uniform_double(x[0], x[1]); break;
    case NUMBERS_NORMAL: normals_of(x[0], x[1], out); break;
    case NUMBERS_NORMAL_DOUBLE: normals_of_bits(x, out); break;
    }
}

static double mrg_uniform(NumbersLane *l) {
    return mrg_next(l) * 2.3283065498378288e-10;
}

static void mrg_fill(NumbersLane *l, NumbersKind kind, void *out) {
    double u = kind == NUMBERS_BITS ? mrg_next(l) * 1.000000048662 : mrg_uniform(l);
    switch (kind) {
    case NUMBERS_BITS: *(uint32_t *)out = (uint32_t)u; break;
    case NUMBERS_UNIFORM: *(float *)out = (float)u; break;
    case NUMBERS_UNIFORM_DOUBLE: *(double *)out = u; break;
    case NUMBERS_NORMAL: normals((float)u, (float)mrg_uniform(l) * 6.2831855f, out); break;
    case NUMBERS_NORMAL_DOUBLE: normals_double(u, mrg_uniform(l) * 2, out); break;
    }
}

static size_t size_of(NumbersKind kind) {
    return kind == NUMBERS_UNIFORM_DOUBLE || kind == NUMBERS_NORMAL_DOUBLE ? 8 : 4;
}

static void lanes_fill(Numbers *g, NumbersKind kind, uint8_t *out, size_t n) {
    size_t step = kind >= NUMBERS_NORMAL ? 2 : 1;
    for (size_t i = 0; i < n; i += step, out += step * size_of(kind)) {
        NumbersLane *l = &g->lane[g->next];
        g->type == NUMBERS_XORWOW ? xorwow_fill(l, kind, out) : mrg_fill(l, kind, out);
        if (++g->next == g->lanes) g->next = 0;
    }
}

/* --- Philox: a lane gives four results at once, doubles out of two blocks --- */

static void philox_four(const Numbers *g, uint64_t block, NumbersKind kind, uint8_t *out) {
    uint32_t x[2 * BLOCK];
    float *f = (float *)out;
    double *d = (double *)out;
    philox_block(g->seed, g->next, block, x);
    if (size_of(kind) == 8) philox_block(g->seed, g->next, block + 1, x + BLOCK);
    for (int i = 0; i < BLOCK; i++) switch (kind) {
        case NUMBERS_BITS: memcpy(out + 4 * i, &x[i], 4); break;
        case NUMBERS_UNIFORM: f[i] = uniform(x[i]); break;
        case NUMBERS_UNIFORM_DOUBLE: d[i] = uniform_double(x[2 * i], x[2 * i + 1]); break;
        case NUMBERS_NORMAL: if (i % 2 == 0) normals_of(x[i], x[i + 1], f + i); break;
        case NUMBERS_NORMAL_DOUBLE: if (i % 2 == 0) normals_of_bits(&x[2 * i], d + i); break;
        }
}

static void philox_fill(Numbers *g, NumbersKind kind, uint8_t *out, size_t n) {
    size_t size = size_of(kind), count;
    for (; n > 0; out += count * size, n -= count) {
        _Alignas(8) uint8_t four[32];
        uint32_t *block = g->lane[g->next].word;
        philox_four(g, block[0] | (uint64_t)block[1] << 32, kind, four);
        count = BLOCK - g->given < n ? BLOCK - g->given : n;
        memcpy(out, four + g->given * size, count * size);
        g->given = (g->given + (uint32_t)count) % BLOCK;
        if (g->given) continue;
        uint32_t blocks = size == 8 ? 2 : 1;
        block[0] += blocks, block[1] += block[0] < blocks;
        if (++g->next == g->lanes) g->next = 0;
    }
}

void numbers_fill(Numbers *g, NumbersKind kind, void *out, size_t n) {
    if (g->type == NUMBERS_PHILOX) philox_fill(g, kind, out, n);
    else lanes_fill(g, kind, out, n);
}
