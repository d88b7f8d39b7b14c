/* matrix_shapes.c - the shapes and types of matrix instructions, a row each; the fragment maps that
** follow from a row; how each generation of GPUs sums. Source: PTX ISA 9.0, "Warp Level Matrix
** Instructions" and "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions". */
#include "emu/exec/matrix_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES "s8 u8"
#define PARTS "s4 u4"
#define EIGHT "e4m3 e5m2"
static const MatrixShape shapes[] = {
    {"mma", 8, 8, 4, "f16", "f16 f32", 70, true},
    {"mma", 16, 8, 8, "f16", "f16 f32", 75, false},
    {"mma", 16, 8, 16, "f16", "f16 f32", 80, false},
    {"mma", 16, 8, 8, "bf16", "f32", 80, false},
    {"mma", 16, 8, 16, "bf16", "f32", 80, false},
    {"mma", 16, 8, 4, "tf32", "f32", 80, false},
    {"mma", 16, 8, 8, "tf32", "f32", 80, false},
    {"mma", 16, 8, 16, EIGHT, "f16 f32", 89, true},
    {"mma", 16, 8, 32, EIGHT, "f16 f32", 89, true},
    {"mma", 8, 8, 4, "f64", "f64", 80, false},
    {"mma", 16, 8, 4, "f64", "f64", 90, false},
    {"mma", 16, 8, 8, "f64", "f64", 90, false},
    {"mma", 16, 8, 16, "f64", "f64", 90, false},
    {"mma", 8, 8, 16, BYTES, "s32", 75, true},
    {"mma", 16, 8, 16, BYTES, "s32", 80, true},
    {"mma", 16, 8, 32, BYTES, "s32", 80, true},
    {"mma", 8, 8, 32, PARTS, "s32", 75, true},
    {"mma", 16, 8, 32, PARTS, "s32", 80, true},
    {"mma", 16, 8, 64, PARTS, "s32", 80, true},
    {"mma", 8, 8, 128, "b1", "s32", 75, false},
    {"mma", 16, 8, 128, "b1", "s32", 80, false},
    {"mma", 16, 8, 256, "b1", "s32", 80, false},
    {"mma.sp", 16, 8, 16, "f16", "f16 f32", 80, false},
    {"mma.sp", 16, 8, 32, "f16", "f16 f32", 80, false},
    {"mma.sp", 16, 8, 16, "bf16", "f32", 80, false},
    {"mma.sp", 16, 8, 32, "bf16", "f32", 80, false},
    {"mma.sp", 16, 8, 8, "tf32", "f32", 80, false},
    {"mma.sp", 16, 8, 16, "tf32", "f32", 80, false},
    {"mma.sp", 16, 8, 64, EIGHT, "f32", 89, true},
    {"mma.sp", 16, 8, 32, BYTES, "s32", 80, true},
    {"mma.sp", 16, 8, 64, BYTES, "s32", 80, true},
    {"mma.sp", 16, 8, 64, PARTS, "s32", 80, true},
    {"mma.sp", 16, 8, 128, PARTS, "s32", 80, true},
    {"wmma", 16, 16, 16, "f16", "f16 f32", 70, true},
    {"wmma", 32, 8, 16, "f16", "f16 f32", 70, true},
    {"wmma", 8, 32, 16, "f16", "f16 f32", 70, true},
    {"wmma", 16, 16, 16, "bf16", "f32", 80, false},
    {"wmma", 32, 8, 16, "bf16", "f32", 80, false},
    {"wmma", 8, 32, 16, "bf16", "f32", 80, false},
    {"wmma", 16, 16, 8, "tf32", "f32", 80, false},
    {"wmma", 8, 8, 4, "f64", "f64", 80, false},
    {"wmma", 16, 16, 16, BYTES, "s32", 72, false},
    {"wmma", 32, 8, 16, BYTES, "s32", 72, false},
    {"wmma", 8, 32, 16, BYTES, "s32", 72, false},
    {"wmma", 8, 8, 32, PARTS, "s32", 75, false},
    {"wmma", 8, 8, 128, "b1", "s32", 75, false},
};

bool matrix_type(const char *word, MatrixType *out) {
    static const char *const names[MATRIX_TYPES] = {
        "f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4", "b1", "f32", "s32"};
    for (int i = 0; i < MATRIX_TYPES; i++) {
        if (strcmp(names[i], word) != 0) continue;
        *out = (MatrixType)i;
        return true;
    }
    return false;
}

const MatrixShape *matrix_shape(const char *opcode, const char *word, const char *type,
                                bool is_sum) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const MatrixShape *s = &shapes[i];
        char name[24];
        snprintf(name, sizeof name, "m%dn%dk%d", s->m, s->n, s->k);
        if (strcmp(s->opcode, opcode) == 0 && strcmp(name, word) == 0 &&
            ptx_word_in(type, is_sum ? s->sums : s->types))
            return s;
    }
    return NULL;
}

/* --- how products are summed: docs/emu.md, "Matrix instructions", has the sources --- */

#define TYPE(t) (1u << MATRIX_##t)
static const struct {
    int capability; /* from this one on */
    unsigned types;
    MatrixRule rule;
} rules[] = {
    {100, TYPE(F16) | TYPE(BF16), {16, 25, 23, false}},
    {100, TYPE(TF32), {8, 25, 23, false}},
    {100, TYPE(E4M3) | TYPE(E5M2), {32, 25, 23, false}},
    {90, TYPE(F16) | TYPE(BF16), {16, 25, 23, false}},
    {90, TYPE(TF32), {8, 25, 23, false}},
    {90, TYPE(E4M3) | TYPE(E5M2), {16, 25, 23, true}},
    {89, TYPE(E4M3) | TYPE(E5M2), {16, 13, 13, false}},
    {80, TYPE(F16) | TYPE(BF16), {8, 24, 23, false}},
    {80, TYPE(TF32), {4, 24, 23, false}},
    {75, TYPE(F16), {8, 24, 23, false}},
    {0, TYPE(F16), {4, 23, 23, false}},
};

MatrixRule matrix_rule(int capability, MatrixType type) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (capability >= rules[i].capability && rules[i].types >> type & 1) return rules[i].rule;
    return (MatrixRule){1, 23, 23, false}; /* of a type whose sums are exact */
}

/* --- maps --- */

/* Bits are taken 32 at a time. */
static int numbers_in(MatrixType t) {
    return t == MATRIX_B1 || matrix_bits(t) == 64 ? 1 : 32 / (int)matrix_bits(t);
}

int matrix_registers(int numbers, MatrixType type) {
    return numbers / LANES / (type == MATRIX_B1 ? 32 : numbers_in(type));
}

static int strips(int rows) {
    return (rows + MATRIX_STRIP - 1) / MATRIX_STRIP;
}

/* Where (row, column) lies in a matrix of so many columns that is kept in strips. */
static int place_in_strips(int row, int column, int columns) {
    return (row / MATRIX_STRIP * columns + column) * MATRIX_STRIP + row % MATRIX_STRIP;
}

/* `none`: what places without a number say. */
static uint16_t *new_map(int places, int none) {
    uint16_t *map = gi_alloc((size_t)places * sizeof *map);
    for (int p = 0; p < places; p++) map[p] = (uint16_t)none;
    return map;
}

/* Calls for each element of each lane of a fragment. */
#define EACH_NUMBER(per_lane)                                                                      \
    for (int lane = 0; lane < LANES; lane++)                                                       \
        for (int e = 0; e < (per_lane); e++)

uint16_t *matrix_map_a(int m, int k, MatrixType type) {
    int n = numbers_in(type), blocks = m / 8;
    if (type == MATRIX_B1) k /= 32;
    uint16_t *map = new_map(strips(m) * k * MATRIX_STRIP, m * k);
    EACH_NUMBER(m * k / LANES) {
        int r = e / n, i = lane / 4 + 8 * (r % blocks);
        int column = lane % 4 * n + e % n + 4 * n * (r / blocks);
        map[place_in_strips(i, column, k)] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

/* Registers go down the rows first, then on to the next 8 columns. */
uint16_t *matrix_map_b(int k, int n, MatrixType type) {
    int in = numbers_in(type);
    if (type == MATRIX_B1) k /= 32;
    int down = k / (4 * in);
    uint16_t *map = new_map(n * k, n * k);
    EACH_NUMBER(n * k / LANES) {
        int r = e / in, column = lane / 4 + 8 * (r / down);
        int row = lane % 4 * in + e % in + 4 * in * (r % down);
        map[column * k + row] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

uint16_t *matrix_map_c(int m, int n) {
    int blocks = m / 8;
    uint16_t *map = new_map(strips(m) * n * MATRIX_STRIP, m * n);
    EACH_NUMBER(m * n / LANES) {
        int i = lane / 4 + 8 * (e / 2 % blocks), j = lane % 4 * 2 + e % 2 + 8 * (e / 2 / blocks);
        map[place_in_strips(i, j, n)] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

void matrix_order_pairs(uint16_t *map, int outer, int k, int inner, int some) {
    size_t size = (size_t)(outer * k * inner) * sizeof *map;
    uint16_t *old = gi_alloc(size);
    memcpy(old, map, size);
    for (int o = 0; o < outer; o++)
        for (int l = 0; l < k; l++)
            memcpy(map + (o * k + matrix_pair_place(l, k, some)) * inner, old + (o * k + l) * inner,
                   (size_t)inner * sizeof *map);
    free(old);
}

/* --- m8n8k4 of f16: lanes 4 q … 4 q + 3, and the same from lane 16 on, have product q --- */

enum { QUAD_A = 4 * MATRIX_STRIP, QUAD_B = 4 * 8, QUAD_C = 8 * MATRIX_STRIP };

/* The number e of a lane's row (by_rows), or of its column. */
uint16_t *matrix_quad_a(bool by_rows) {
    uint16_t *map = new_map(4 * QUAD_A, 4 * LANES);
    EACH_NUMBER(4) {
        int i = (by_rows ? lane % 4 : e) + lane / 16 * 4, k = by_rows ? e : lane % 4;
        map[lane / 4 % 4 * QUAD_A + place_in_strips(i, k, 4)] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

uint16_t *matrix_quad_b(bool by_rows) {
    uint16_t *map = new_map(4 * QUAD_B, 4 * LANES);
    EACH_NUMBER(4) {
        int j = (by_rows ? e : lane % 4) + lane / 16 * 4, k = by_rows ? lane % 4 : e;
        map[lane / 4 % 4 * QUAD_B + j * 4 + k] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

uint16_t *matrix_quad_c(bool is_f32) {
    uint16_t *map = new_map(4 * QUAD_C, 8 * LANES);
    EACH_NUMBER(8) {
        int i = (is_f32 ? (lane & 1) + (e & 2) : lane % 4) + lane / 16 * 4;
        int j = is_f32 ? (e & 4) + (lane & 2) + (e & 1) : e;
        map[lane / 4 % 4 * QUAD_C + place_in_strips(i, j, 8)] = (uint16_t)(e * LANES + lane);
    }
    return map;
}

void matrix_form_free(MatrixForm *f) {
    free(f->a.map);
    free(f->b.map);
    free(f->c.map);
    free(f->d.map);
    group_form_free(f->group);
}
