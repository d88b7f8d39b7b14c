/* emu_matrix_speed.c - multiply-adds a second of mma.sync on one core, by type, beside the floor:
** the same number of fused multiply-adds of floats, which sum without the cuts of tensor cores. */
#include <time.h>

#include "emu_kit.h"

enum { ROUNDS = 2000, SIDE = 16 }; /* products of a round, each with sums of its own */

static uint32_t data[8 * 32];

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_sums(gi_buf *b, int product) {
    for (int e = 0; e < 4; e++) gi_buf_addf(b, "%sc%d", e ? ", " : "{", 4 * product + e);
    gi_buf_adds(b, "}");
}

static EmuModule *module_of(const char *type, int k) {
    gi_buf b = {0};
    gi_buf_addf(
        &b,
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 d) {\n"
        ".reg .b32 a<4>, b<2>, n, t; .reg .f32 c<%d>; .reg .b64 x, o; .reg .pred p;\n"
        "ld.param.u64 x, [d]; mov.u32 t, %%tid.x; mul.wide.u32 o, t, 32; add.u64 x, x, o;\n"
        "ld.global.v4.b32 {a0, a1, a2, a3}, [x]; ld.global.v2.b32 {b0, b1}, [x+16];\n",
        4 * SIDE);
    for (int i = 0; i < 4 * SIDE; i++) gi_buf_addf(&b, "mov.f32 c%d, 0f00000000;\n", i);
    gi_buf_adds(&b, "mov.u32 n, 0;\nL:\n");
    for (int i = 0; i < SIDE; i++) {
        gi_buf_addf(&b, "mma.sync.aligned.m16n8k%d.row.col.f32.%s.%s.f32 ", k, type, type);
        add_sums(&b, i);
        gi_buf_adds(&b, ", {a0, a1, a2, a3}, {b0, b1}, ");
        add_sums(&b, i);
        gi_buf_adds(&b, ";\n");
    }
    gi_buf_addf(&b,
                "add.u32 n, n, 1; setp.lt.u32 p, n, %d; @p bra L;\nst.global.f32 [x], c0; ret; }",
                ROUNDS);
    EmuModule *m = kit_load(b.data, type);
    gi_buf_free(&b);
    return m;
}

/* Halves of normal numbers of a type of 16 bits; of tf32, and of bytes, whatever their bits are. */
static void fill(const char *type) {
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        uint32_t word = (uint32_t)kit_bits32((float)gi_rng_normal(&kit_rng)), half = word >> 16;
        uint32_t e = half >> 7 & 255,
                 small = (half & 0x8000) | (e - 112) << 10 | (word >> 13 & 1023);
        if (strcmp(type, "f16") == 0) half = e > 112 ? small : 0;
        data[i] = strcmp(type, "tf32") == 0 ? word : half << 16 | half;
    }
}

static void measure(const char *type, int k) {
    EmuModule *m = module_of(type, k);
    if (m == NULL) return;
    fill(type);
    uint64_t at = emu_map(kit_emu, data, sizeof data, false, "data");
    double before = cpu_seconds();
    kit_launch(m, "k", 1, 32, &at, type);
    double s = cpu_seconds() - before, products = (double)ROUNDS * SIDE;
    printf("%-5s %6.2f 10^9 multiply-adds/s, %4.0f ns a product\n", type,
           products * 16 * 8 * k / s * 1e-9, s / products * 1e9);
    emu_unmap(kit_emu, at);
    emu_unload(m);
}

static void measure_floor(void) {
    float a[16][16], b[16][8], c[8][16] = {{0}};
    for (int i = 0; i < 256; i++) a[i / 16][i % 16] = (float)i * 1e-4f;
    for (int i = 0; i < 128; i++) b[i / 8][i % 8] = (float)i * 1e-4f;
    double before = cpu_seconds(), products = 200000;
    for (int n = 0; n < (int)products; n++) {
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 16; k++)
                for (int i = 0; i < 16; i++) c[j][i] += a[k][i] * b[k][j];
        __asm__ volatile("" : "+m"(a), "+m"(c));
    }
    double s = cpu_seconds() - before;
    printf("floor %6.2f 10^9 multiply-adds/s in plain C, %4.0f ns a product\n",
           products * 2048 / s * 1e-9, s / products * 1e9);
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    measure("f16", 16);
    measure("bf16", 16);
    measure("tf32", 8);
    measure_floor();
    emu_free(kit_emu);
    return 0;
}
