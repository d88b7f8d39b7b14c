/* emu_kit.h - what the suites of the virtual GPU share: values to try, and kernels made from one
** instruction.
**
** A Form is a piece of PTX with operands $0 (result) and $1 … $4, their types, and a C function
** that
** gives the expected result. kit_forms() wraps it into a module of three kernels - every thread
** runs it, a third of the threads is masked out, the last operand is an immediate - runs them over
** edge values and random ones, and compares bit for bit (NaN results: any NaN).
**
** Types, one letter an operand, result first, as in "w:ww":
**   h w l  integers of 16, 32, 64 bits      s  a 32-bit shift amount or position
**   v b    two 16-bit integers, four 8-bit integers, in 32 bits
**   f d    f32, f64                         F D  the same, NaN bits compared too
**   H B    f16, bf16 in a 16-bit register   X Y  f16x2, bf16x2 in a 32-bit register
**   p      predicate (0 or 1)
*/
#ifndef GILUA_EMU_KIT_H
#define GILUA_EMU_KIT_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "tap.h"

#define KIT          __attribute__((unused)) static
#define KIT_COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

typedef uint64_t (*Want)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

typedef struct Form {
    const char *text, *types;
    Want want;
    double limit; /* 0: bit for bit. Else the largest error allowed, measured as unit says */
    char unit;    /* 'u' ulp, 'a' absolute, 'r' relative, 'm' absolute or relative, the kinder */
} Form;

/* WANT(name, expression of a, b, c, d): an expected result as 64 bits. */
#define WANT(name, expression)                                                                     \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {                         \
        (void)a, (void)b, (void)c, (void)d;                                                        \
        return (uint64_t)(expression);                                                             \
    }

static gi_rng kit_rng;
static Emu *kit_emu;

/* ---- bits ---- */

KIT float kit_f32(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

KIT double kit_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

KIT uint64_t kit_bits32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KIT uint64_t kit_bits64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Value of a 16-bit float, from its definition. */
KIT double kit_value16(uint64_t h, int fraction_bits, int bias) {
    int field = (int)(h >> fraction_bits) & (2 * bias + 1);
    int fraction = (int)h & ((1 << fraction_bits) - 1);
    double m = field ? ldexp(fraction + (1 << fraction_bits), field - bias - fraction_bits)
                     : ldexp(fraction, 1 - bias - fraction_bits);
    if (field == 2 * bias + 1) m = fraction ? (double)NAN : HUGE_VAL;
    return h & 0x8000 ? -m : m;
}

KIT double kit_f16(uint64_t h) {
    return kit_value16(h & 0xffff, 10, 15);
}
KIT double kit_bf16(uint64_t h) {
    return kit_value16(h & 0xffff, 7, 127);
}

/* ---- values ---- */

static const uint64_t kit_edge_int[] = {0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        127,
                                        128,
                                        255,
                                        256,
                                        0x7fff,
                                        0x8000,
                                        0xffff,
                                        0x10000,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x100000000,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0x5555555555555555,
                                        0xaaaaaaaaaaaaaaaa,
                                        0x00ff00ff00ff00ff,
                                        0xfffffffffffffffe};

static const uint32_t kit_edge_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40000000, 0x3f000000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x4b000000, 0x4b7fffff, 0xcb000001,
    0x4f000000, 0xcf000000, 0x4f7fffff, 0x5f000000, 0xdf000000, 0x477fefff, 0x477ff000, 0x33000000,
    0x33000001, 0x38800000, 0x387fe000, 0x3f000001, 0x3effffff, 0x40200000, 0xc0600000, 0x7e800000,
    0x42fe0000, 0x437f0000, 0x43800000, 0xc3000000, 0x46fffe00, 0x477fff00, 0x4effffff, 0x4f800000,
    0x00800001, 0x3f7ffffe};

static const uint64_t kit_edge_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fefffffffffffff, 0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
    0x43e0000000000000, 0xc3e0000000000000, 0x41dfffffffe00000, 0x41e0000000000000,
    0x3fe0000000000000, 0x4004000000000000, 0xc00c000000000000, 0x36a0000000000000,
    0x47efffffe0000000, 0x47effffff0000000, 0x380fffffffffffff, 0x3690000000000000,
    0x40efffffffffffff, 0x41effffffff00000, 0x40efffc000000000, 0x3e70000000000000};

static const uint16_t kit_edge_f16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00,
                                        0xbc00, 0x3bff, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                                        0x7e00, 0xfe01, 0x7c01, 0x4000, 0x3800, 0x3f80, 0x0080,
                                        0x007f, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x4100, 0xc300};

KIT uint64_t kit_below(uint64_t n) {
    return gi_rng_below(&kit_rng, n);
}

KIT uint64_t kit_any_int(void) {
    uint64_t x = gi_rng_next(&kit_rng) >> kit_below(64);
    switch (kit_below(4)) {
    case 0: return kit_edge_int[kit_below(KIT_COUNT(kit_edge_int))];
    case 1: return -kit_edge_int[kit_below(KIT_COUNT(kit_edge_int))];
    case 2: return -x;
    default: return x;
    }
}

KIT uint32_t kit_any_f32(void) {
    uint32_t edge = kit_edge_f32[kit_below(KIT_COUNT(kit_edge_f32))];
    switch (kit_below(5)) {
    case 0: return edge;
    case 1: return edge + (uint32_t)kit_below(5) - 2;
    case 2: return (uint32_t)kit_bits32((float)gi_rng_normal(&kit_rng));
    case 3: return (uint32_t)kit_bits32((float)((double)kit_below(4001) / 4 - 500));
    default: return (uint32_t)gi_rng_next(&kit_rng);
    }
}

KIT uint64_t kit_any_f64(void) {
    uint64_t edge = kit_edge_f64[kit_below(KIT_COUNT(kit_edge_f64))];
    switch (kit_below(6)) {
    case 0: return edge;
    case 1: return edge + kit_below(5) - 2;
    case 2: return kit_bits64(gi_rng_normal(&kit_rng));
    case 3: return kit_bits64((double)kit_below(4001) / 4 - 500);
    case 4: return kit_bits64((double)kit_f32(kit_any_f32()) * (1 + gi_rng_unit(&kit_rng) * 1e-7));
    default: return gi_rng_next(&kit_rng);
    }
}

KIT uint16_t kit_any_16(void) {
    return kit_below(2) ? kit_edge_f16[kit_below(KIT_COUNT(kit_edge_f16))]
                        : (uint16_t)gi_rng_next(&kit_rng);
}

/* 32 bits of integers with so many bits each: often the least, the largest, next to them, or 0. */
KIT uint64_t kit_any_lanes(int bits) {
    uint64_t word = 0, top = UINT64_C(1) << (bits - 1), mask = 2 * top - 1;
    for (int at = 0; at < 32; at += bits) {
        uint64_t edge = (kit_below(2) ? top : 0) + kit_below(5) - 2;
        word |= ((kit_below(2) ? edge : gi_rng_next(&kit_rng)) & mask) << at;
    }
    return word;
}

/* A value for an operand, as its bits. */
KIT uint64_t kit_any(char type) {
    switch (type) {
    case 'h': return kit_any_int() & 0xffff;
    case 'w': return kit_any_int() & 0xffffffff;
    case 'l': return kit_any_int();
    case 's': return kit_below(2) ? kit_below(70) : kit_any_int() & 0xffffffff;
    case 'f':
    case 'F': return kit_any_f32();
    case 'd':
    case 'D': return kit_any_f64();
    case 'p': return kit_below(2);
    case 'v': return kit_any_lanes(16);
    case 'b': return kit_any_lanes(8);
    case 'H':
    case 'B': return kit_any_16();
    default: return (uint64_t)kit_any_16() << 16 | kit_any_16();
    }
}

/* ---- launching ---- */

/* A GPU of round numbers: these tests ask for values and faults, not for ticks. */
KIT EmuModel kit_model(void) {
    static const struct {
        const char *field;
        double value;
    } values[] = {{"clock_ghz", 1.5},
                  {"sms", 4},
                  {"schedulers_per_sm", 4},
                  {"max_threads_per_block", 1024},
                  {"max_threads_per_sm", 2048},
                  {"max_blocks_per_sm", 32},
                  {"registers_per_sm", 65536},
                  {"register_unit", 256},
                  {"max_registers_per_thread", 255},
                  {"shared_per_sm", 233472},
                  {"shared_per_block", 232448},
                  {"shared_per_block_default", 49152},
                  {"shared_unit", 128},
                  {"local_per_thread", 16384},
                  {"max_grid_x", 2147483647},
                  {"max_grid_y", 65535},
                  {"max_grid_z", 65535},
                  {"sector_bytes", 32},
                  {"l2_bytes", 1 << 20},
                  {"l1_bytes_per_sm", 1 << 16}};
    EmuModel model;
    memset(&model, 0, sizeof model);
    strcpy(model.name, "test");
    for (const char *const *f = emu_model_fields(); *f; f++) emu_model_set(&model, *f, 4);
    for (int i = 0; i < KIT_COUNT(values); i++)
        if (!emu_model_set(&model, values[i].field, values[i].value))
            ok(false, "emu_model_set knows %s", values[i].field);
    return model;
}

KIT void kit_begin(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20140712;
    printf("# seed %" PRIu64 " (give another as the argument)\n", seed);
    gi_rng_seed(&kit_rng, seed);
    EmuModel model = kit_model();
    kit_emu = emu_new(&model);
}

KIT int kit_end(void) {
    emu_free(kit_emu);
    return tap_done();
}

#ifndef KIT_HEADER /* a suite of later instructions has its own */
#define KIT_HEADER ".version 8.3\n.target sm_90\n.address_size 64\n"
#endif

/* Loads PTX, reporting a failure as a failed test. $KIT_DUMP names a folder for the texts, so that
** a person can hold them against ptxas. */
KIT EmuModule *kit_load(const char *ptx, const char *what) {
    static int dumped;
    const char *folder = getenv("KIT_DUMP");
    if (folder) {
        char path[300];
        snprintf(path, sizeof path, "%s/%04d.ptx", folder, dumped++);
        FILE *f = fopen(path, "w");
        if (f) {
            fputs(ptx, f);
            fclose(f);
        }
    }
    gi_err err = {.message = ""};
    EmuModule *m = emu_load(kit_emu, ptx, strlen(ptx), &err);
    if (!m) {
        ok(false, "%s: loads", what);
        printf("# %s\n", err.message);
    }
    return m;
}

/* Runs; false and a note when the launch did not end well. */
KIT bool kit_launch(EmuModule *m, const char *kernel, unsigned grid, unsigned block,
                    const void *params, const char *what) {
    EmuLaunch launch = {.kernel = kernel,
                        .grid = {grid, 1, 1},
                        .block = {block, 1, 1},
                        .params = params,
                        .budget = 50000000};
    EmuResult result;
    gi_err err = {.message = ""};
    memset(&result, 0, sizeof result);
    bool ran = emu_launch(m, &launch, &result, &err);
    if (ran && result.status == EMU_OK) return true;
    ok(false, "%s (%s): runs", what, kernel);
    printf("# %s\n", ran ? result.message : err.message);
    return false;
}

/* ---- one instruction, many values ---- */

enum { KIT_SOURCES = 4, KIT_N = 1000, KIT_BLOCK = 128 };

typedef struct KitRecord {
    uint64_t in[KIT_SOURCES];
} KitRecord;

typedef struct KitType {
    char letter;
    const char *reg, *load; /* register type, type of its load and store */
    int bits;
} KitType;

KIT const KitType *kit_type(char letter) {
    static const KitType types[] = {
        {'h', ".b16", "b16", 16}, {'w', ".b32", "b32", 32}, {'s', ".b32", "b32", 32},
        {'v', ".b32", "b32", 32}, {'b', ".b32", "b32", 32}, {'l', ".b64", "b64", 64},
        {'f', ".f32", "f32", 32}, {'F', ".f32", "f32", 32}, {'d', ".f64", "f64", 64},
        {'D', ".f64", "f64", 64}, {'H', ".b16", "b16", 16}, {'B', ".b16", "b16", 16},
        {'X', ".b32", "b32", 32}, {'Y', ".b32", "b32", 32}, {'p', ".b32", "b32", 32}};
    for (int i = 0; i < KIT_COUNT(types); i++)
        if (types[i].letter == letter) return &types[i];
    return NULL;
}

/* What a result holds where the instruction was masked out. */
#define KIT_OLD UINT64_C(0x5a5a5a5a5a5a5a5a)

KIT uint64_t kit_mask(char letter) {
    return letter == 'p' ? 1 : UINT64_MAX >> (64 - kit_type(letter)->bits);
}

KIT void kit_immediate(gi_buf *b, char type, uint64_t value) {
    switch (type) {
    case 'h': gi_buf_addf(b, "%d", (int)(int16_t)value); break;
    case 'w': gi_buf_addf(b, "%d", (int)(int32_t)value); break;
    case 's': gi_buf_addf(b, "%u", (unsigned)value); break;
    case 'f': gi_buf_addf(b, "0f%08X", (unsigned)value); break;
    case 'd': gi_buf_addf(b, "0d%016llX", (unsigned long long)value); break;
    default: gi_buf_addf(b, "0x%llx", (unsigned long long)value); break;
    }
}

/* The form's text with $k replaced by registers, and source `imm` (0: none) by a value. */
KIT void kit_text(gi_buf *b, const Form *f, int imm, uint64_t value) {
    for (const char *p = f->text; *p; p++) {
        if (*p != '$') {
            gi_buf_add(b, p, 1);
            continue;
        }
        int k = *++p - '0';
        if (k == imm && k > 0) kit_immediate(b, f->types[1 + k], value);
        else gi_buf_addf(b, "%%v%d%s", k, (k ? f->types[1 + k] : f->types[0]) == 'p' ? "p" : "");
    }
    gi_buf_adds(b, "\n");
}

/* Source k of record %i into %vk; a predicate into %vkp. */
KIT void kit_source(gi_buf *b, int k, char letter) {
    const KitType *t = kit_type(letter);
    gi_buf_addf(b, "ld.global.%s %%v%d, [%%in + %d];\n", t->load, k, 8 * (k - 1));
    if (letter == 'p') gi_buf_addf(b, "setp.ne.b32 %%v%dp, %%v%d, 0;\n", k, k);
}

/* One kernel. masked: records 0, 3, 6 … skip the instruction. */
KIT void kit_kernel(gi_buf *b, const Form *f, const char *name, bool masked, int imm,
                    uint64_t value) {
    const char *sources = f->types + 2;
    char d = f->types[0];
    bool block = *f->text == '{';
    gi_buf_addf(b,
                ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
                ".reg .b32 %%i, %%n, %%t;\n.reg .b64 %%in, %%out, %%o;\n.reg .pred %%end, %%on;\n",
                name);
    for (int k = 0; k <= (int)strlen(sources); k++) {
        char letter = k ? sources[k - 1] : d;
        gi_buf_addf(b, ".reg %s %%v%d;\n", kit_type(letter)->reg, k);
        if (letter == 'p') gi_buf_addf(b, ".reg .pred %%v%dp;\n", k);
    }
    gi_buf_adds(b, "mov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %t, %tid.x;\n"
                   "mad.lo.s32 %i, %i, %n, %t;\nld.param.u32 %n, [n];\n"
                   "setp.ge.u32 %end, %i, %n;\n@%end bra DONE;\n"
                   "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
                   "mul.wide.u32 %o, %i, 32;\nadd.s64 %in, %in, %o;\n"
                   "mul.wide.u32 %o, %i, 8;\nadd.s64 %out, %out, %o;\n");
    for (int k = 1; k <= (int)strlen(sources); k++) kit_source(b, k, sources[k - 1]);
    gi_buf_addf(b, "mov.b64 %%o, 0x%llx;\nst.global.b64 [%%out], %%o;\n",
                (unsigned long long)KIT_OLD);
    gi_buf_addf(b, "ld.global.%s %%v0, [%%out];\n", kit_type(d)->load);
    if (d == 'p') gi_buf_adds(b, "setp.ne.b32 %v0p, %v0, %v0;\n");
    gi_buf_adds(b, "rem.u32 %t, %i, 3;\nsetp.ne.u32 %on, %t, 0;\n");
    if (masked) gi_buf_adds(b, block ? "@!%on bra SKIP;\n" : "@%on ");
    kit_text(b, f, imm, value);
    gi_buf_adds(b, "SKIP:\n");
    if (d == 'p') gi_buf_adds(b, "selp.b32 %v0, 1, 0, %v0p;\n");
    gi_buf_addf(b, "st.global.%s [%%out], %%v0;\nDONE:\nret;\n}\n", kit_type(d)->load);
}

/* ---- comparing ---- */

KIT bool kit_nan(char type, uint64_t bits) {
    switch (type) {
    case 'f': return isnan(kit_f32(bits));
    case 'd': return isnan(kit_f64(bits));
    case 'H': return (bits & 0x7fff) > 0x7c00;
    case 'B': return (bits & 0x7fff) > 0x7f80;
    default: return false;
    }
}

KIT double kit_value(char type, uint64_t bits) {
    switch (type) {
    case 'f': return (double)kit_f32(bits);
    case 'H': return kit_f16(bits);
    case 'B': return kit_bf16(bits);
    default: return kit_f64(bits);
    }
}

/* Within the form's limit? want has the precision of the result: its own half ulp is granted. */
KIT bool kit_within(const Form *f, uint64_t got, uint64_t want) {
    double g = kit_value(f->types[0], got), w = kit_value(f->types[0], want);
    if (!isfinite(g) || !isfinite(w)) return g == w;
    double error = fabs(g - w), size = fabs(w);
    if (f->unit == 'a') return error <= f->limit;
    if (f->unit == 'r') return error <= f->limit * size;
    if (f->unit == 'm') return error <= f->limit * fmax(1, size);
    float ulp = nextafterf((float)size, INFINITY) - (float)size;
    return error <= f->limit * (double)ulp;
}

KIT bool kit_same(const Form *f, uint64_t got, uint64_t want) {
    char type = f->types[0];
    if (got == want) return true;
    if (type == 'X' || type == 'Y') {
        char half = type == 'X' ? 'H' : 'B';
        for (int s = 0; s < 32; s += 16) {
            uint64_t g = got >> s & 0xffff, w = want >> s & 0xffff;
            if (g != w && !(kit_nan(half, g) && kit_nan(half, w))) return false;
        }
        return got >> 32 == want >> 32;
    }
    if (kit_nan(type, want)) return kit_nan(type, got);
    return f->limit > 0 && !kit_nan(type, got) && kit_within(f, got, want);
}

typedef struct KitBuffers {
    KitRecord in[KIT_N];
    uint64_t out[KIT_N];
    uint64_t in_at, out_at;
} KitBuffers;

/* Runs one kernel of a form and counts wrong results; prints the first. -1: it did not run. */
KIT int kit_check(const Form *f, EmuModule *m, const char *kernel, KitBuffers *b, bool masked) {
    struct {
        uint64_t in, out;
        uint32_t n;
    } params = {b->in_at, b->out_at, KIT_N};
    memset(b->out, 0, sizeof b->out);
    if (!kit_launch(m, kernel, (KIT_N + KIT_BLOCK - 1) / KIT_BLOCK, KIT_BLOCK, &params, f->text))
        return -1;
    int wrong = 0, bits = kit_type(f->types[0])->bits;
    uint64_t high = bits == 64 ? 0 : UINT64_MAX << bits;
    for (int i = 0; i < KIT_N; i++) {
        const uint64_t *in = b->in[i].in;
        uint64_t old = f->types[0] == 'p' ? 0 : KIT_OLD & kit_mask(f->types[0]);
        bool off = masked && i % 3 == 0;
        uint64_t want = off ? old : f->want(in[0], in[1], in[2], in[3]) & kit_mask(f->types[0]);
        uint64_t got = b->out[i] & ~high;
        bool same = off ? got == want : kit_same(f, got, want);
        if ((!same || (b->out[i] & high) != (KIT_OLD & high)) && wrong++ == 0)
            printf("# %s, %s, record %d%s: (%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
                   "): got %#" PRIx64 ", want %#" PRIx64 "\n",
                   f->text, kernel, i, off ? " (masked out)" : "", in[0], in[1], in[2], in[3], got,
                   want);
    }
    return wrong;
}

/* The text on one line, as the test's name. */
KIT const char *kit_title(const Form *f) {
    static char title[200];
    snprintf(title, sizeof title, "%s", f->text);
    for (char *p = title; *p; p++)
        if (*p == '\n') *p = ' ';
    return title;
}

KIT void kit_form(const Form *f, KitBuffers *b) {
    int n = (int)strlen(f->types) - 2, last = n;
    gi_buf ptx = {0};
    for (int i = 0; i < KIT_N; i++)
        for (int k = 0; k < n; k++) b->in[i].in[k] = kit_any(f->types[2 + k]);
    char type = n ? f->types[1 + last] : 'p';
    bool immediate = *f->text != '{' && strchr("hwslfd", type) && n > 1;
    uint64_t value = immediate ? kit_any(type) : 0;
    if (type == 's') value &= 255; /* what ptxas takes */
    gi_buf_adds(&ptx, KIT_HEADER);
    kit_kernel(&ptx, f, "full", false, 0, 0);
    kit_kernel(&ptx, f, "masked", true, 0, 0);
    if (immediate) kit_kernel(&ptx, f, "immediate", false, last, value);
    EmuModule *m = kit_load(ptx.data, kit_title(f));
    gi_buf_free(&ptx);
    if (!m) return;
    int wrong = kit_check(f, m, "full", b, false) + kit_check(f, m, "masked", b, true);
    if (immediate) {
        for (int i = 0; i < KIT_N; i++) b->in[i].in[last - 1] = value;
        wrong += kit_check(f, m, "immediate", b, false);
    }
    emu_unload(m);
    ok(wrong == 0, "%s", kit_title(f));
}

KIT void kit_forms(const Form *forms, int n) {
    KitBuffers *b = gi_alloc(sizeof *b);
    b->in_at = emu_map(kit_emu, b->in, sizeof b->in, true, "in");
    b->out_at = emu_map(kit_emu, b->out, sizeof b->out, false, "out");
    for (int i = 0; i < n; i++) kit_form(&forms[i], b);
    emu_unmap(kit_emu, b->in_at);
    emu_unmap(kit_emu, b->out_at);
    free(b);
}

/* ---- a kernel from a body ----
**
** The body is PTX that may use: %i the thread's index in the grid, %x = in[%i], %r the result that
** goes to out[%i], %in %out the arrays' addresses, %extra a 64-bit argument, and scratch registers
** %a0 … %a19 (b32) %l0 … (b64) %h0 … (b16) %f0 … (f32) %d0 … (f64) %p0 … (pred). */
enum { KIT_MOST = 4096 };

typedef struct KitBody {
    const char *title;
    const char *decl; /* at module level, or NULL */
    const char *body;
    unsigned grid, block;
    uint64_t extra;
} KitBody;

static uint32_t kit_in[KIT_MOST], kit_out[KIT_MOST], kit_want[KIT_MOST];

KIT char *kit_body_ptx(const KitBody *k) {
    gi_buf b = {0};
    gi_buf_addf(&b, "%s%s\n", KIT_HEADER, k->decl ? k->decl : "");
    gi_buf_adds(&b, ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 extra)\n{\n"
                    ".reg .b32 %i, %x, %r, %n, %t, %a<20>;\n"
                    ".reg .b64 %in, %out, %extra, %o, %l<20>;\n.reg .b16 %h<20>;\n"
                    ".reg .f32 %f<20>;\n.reg .f64 %d<20>;\n.reg .pred %p<20>;\n"
                    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
                    "ld.param.u64 %extra, [extra];\n"
                    "mov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %t, %tid.x;\n"
                    "mad.lo.s32 %i, %i, %n, %t;\nmul.wide.u32 %o, %i, 4;\n"
                    "add.s64 %o, %o, %in;\nld.global.u32 %x, [%o];\nmov.u32 %r, 0;\n");
    gi_buf_addf(&b, "%s\n", k->body);
    gi_buf_adds(&b, "mul.wide.u32 %o, %i, 4;\nadd.s64 %o, %o, %out;\n"
                    "st.global.u32 [%o], %r;\nret;\n}\n");
    return b.data;
}

/* Runs and compares out with kit_want for all threads. kit_in is the caller's. */
KIT void kit_body(const KitBody *k) {
    char *ptx = kit_body_ptx(k);
    EmuModule *m = kit_load(ptx, k->title);
    free(ptx);
    if (!m) return;
    struct {
        uint64_t in, out, extra;
    } params = {emu_map(kit_emu, kit_in, sizeof kit_in, false, "in"),
                emu_map(kit_emu, kit_out, sizeof kit_out, false, "out"), k->extra};
    memset(kit_out, 0xa5, sizeof kit_out);
    if (kit_launch(m, "k", k->grid, k->block, &params, k->title)) {
        unsigned wrong = 0, n = k->grid * k->block;
        for (unsigned i = 0; i < n; i++)
            if (kit_out[i] != kit_want[i] && wrong++ == 0)
                printf("# thread %u (in %#x): got %#x, want %#x\n", i, kit_in[i], kit_out[i],
                       kit_want[i]);
        ok(wrong == 0, "%s", k->title);
    }
    emu_unmap(kit_emu, params.in);
    emu_unmap(kit_emu, params.out);
    emu_unload(m);
}

#endif
