/* emu_instructions_atomic.c - atom and red on global, shared and generic addresses.
**
** Two questions for each operation: does one thread's atomic return the old value and leave the
** right new one (against C, over random operands); and do 240 threads on one address lose nothing.
*/
#include "emu_kit.h"

#define F32(x) kit_f32(x)
#define F64(x) kit_f64(x)

/* New value of memory m with operand b (and c, for cas). */
WANT(add32, (uint32_t)(a + b))
WANT(add64, a + b)
WANT(addf, kit_bits32(F32(a) + F32(b)))
/* ISA: atom.add.f32 flushes subnormals on global memory, and does not on shared memory. */
static uint64_t flush(uint64_t x) {
    return x & 0x7f800000 ? x : x & 0x80000000;
}
WANT(addf_global, flush(kit_bits32(F32(flush(a)) + F32(flush(b)))))
WANT(addd, kit_bits64(F64(a) + F64(b)))
WANT(and_, a &b)
WANT(or_, a | b)
WANT(xor_, a ^ b)
WANT(exch, b)
WANT(cas32, (uint32_t)a == (uint32_t)b ? c : a)
WANT(cas64, a == b ? c : a)
WANT(min_s, (int32_t)a < (int32_t)b ? a : b)
WANT(max_s, (int32_t)a > (int32_t)b ? a : b)
WANT(min_u, (uint32_t)a < (uint32_t)b ? a : b)
WANT(max_u, (uint32_t)a > (uint32_t)b ? a : b)
WANT(min_s64, (int64_t)a < (int64_t)b ? a : b)
WANT(max_u64, a > b ? a : b)
WANT(inc, (uint32_t)a >= (uint32_t)b ? 0 : a + 1)
WANT(dec, (uint32_t)a == 0 || (uint32_t)a > (uint32_t)b ? b : a - 1)

static const struct {
    const char *op; /* with its type */
    char type;      /* of emu_kit.h */
    Want want;
} ops[] = {
    {"add.u32", 'w', add32}, {"add.s32", 'w', add32},   {"add.u64", 'l', add64},
    {"add.f32", 'f', addf},  {"add.f64", 'd', addd},    {"and.b32", 'w', and_},
    {"or.b32", 'w', or_},    {"xor.b32", 'w', xor_},    {"and.b64", 'l', and_},
    {"or.b64", 'l', or_},    {"xor.b64", 'l', xor_},    {"exch.b32", 'w', exch},
    {"exch.b64", 'l', exch}, {"cas.b32", 'w', cas32},   {"cas.b64", 'l', cas64},
    {"min.s32", 'w', min_s}, {"max.s32", 'w', max_s},   {"min.u32", 'w', min_u},
    {"max.u32", 'w', max_u}, {"min.s64", 'l', min_s64}, {"max.u64", 'l', max_u64},
    {"inc.u32", 'w', inc},   {"dec.u32", 'w', dec},
};

/* $1 is put in memory, the operation applied with $2 (and $3); the result is the new value of
** memory
** xor the value returned, times 3: both have to be right. Every thread has memory of its own. */
static const char *const text_format =
    "{ .reg .b64 at, t;\n.reg .b%d old, new;\n%s\n"
    "st%s.b%d [at], $1;\natom%s.%s old, [at], $2%s;\nld%s.b%d new, [at];\n"
    "mul.lo.u%d old, old, 3;\nxor.b%d $0, old, new; }";

static const struct {
    const char *space, *address;
} places[] = {
    {".shared",
     "mov.u32 %t, %tid.x;\nmul.wide.u32 t, %t, 8;\nmov.u64 at, mine;\nadd.s64 at, at, t;"},
    {".global", "mul.wide.u32 t, %i, 8;\nmov.u64 at, ours;\nadd.s64 at, at, t;"},
    {"", "mov.u32 %t, %tid.x;\nmul.wide.u32 t, %t, 8;\nmov.u64 at, mine;\ncvta.shared.u64 at, "
         "at;\nadd.s64 at, at, t;"},
    {"", "mul.wide.u32 t, %i, 8;\nmov.u64 at, ours;\ncvta.global.u64 at, at;\nadd.s64 at, at, t;"},
};

static Want current;
static uint64_t current_mask;
WANT(both, ((a * 3) ^ current(a, b, c, d)) & current_mask)

/* NaN results are any NaN, and here they would go through integer registers: no operand makes one.
 */
static uint64_t number(uint64_t bits, char type) {
    if (type == 'f')
        return isfinite(kit_f32(bits)) && fabsf(kit_f32(bits)) < 1e38F ? bits : 0x3f800000;
    if (type == 'd')
        return isfinite(kit_f64(bits)) && fabs(kit_f64(bits)) < 1e300 ? bits : 0x3ff0000000000000;
    return bits;
}

/* As kit_form, with the variables that the text needs and operands that are numbers. */
static void one_each(const Form *f, const char *title, char type, KitBuffers *b) {
    gi_buf ptx = {0};
    for (int i = 0; i < KIT_N; i++) {
        for (int k = 0; k < 3; k++) b->in[i].in[k] = number(kit_any(type), type);
        if (i % 4 == 0) b->in[i].in[1] = b->in[i].in[0]; /* equal, for cas and inc */
    }
    gi_buf_adds(&ptx,
                KIT_HEADER ".shared .align 8 .b8 mine[1024];\n.global .align 8 .b8 ours[8192];\n");
    kit_kernel(&ptx, f, "full", false, 0, 0);
    kit_kernel(&ptx, f, "masked", true, 0, 0);
    EmuModule *m = kit_load(ptx.data, title);
    gi_buf_free(&ptx);
    if (!m) return;
    int wrong = kit_check(f, m, "full", b, false) + kit_check(f, m, "masked", b, true);
    emu_unload(m);
    ok(wrong == 0, "%s", title);
}

static void test_one_each(void) {
    KitBuffers *b = gi_alloc(sizeof *b);
    b->in_at = emu_map(kit_emu, b->in, sizeof b->in, true, "in");
    b->out_at = emu_map(kit_emu, b->out, sizeof b->out, false, "out");
    for (int o = 0; o < KIT_COUNT(ops); o++)
        for (int p = 0; p < KIT_COUNT(places); p++) {
            char text[700], title[100];
            int bits = strchr("ld", ops[o].type) ? 64 : 32;
            bool cas = strncmp(ops[o].op, "cas", 3) == 0;
            char letter = bits == 64 ? 'l' : 'w',
                 types[6] = {letter, ':', letter, letter, letter, 0};
            const char *s = places[p].space;
            snprintf(text, sizeof text, text_format, bits, places[p].address, s, bits, s, ops[o].op,
                     cas ? ", $3" : "", s, bits, bits, bits);
            if (ops[o].type == 'f' || ops[o].type == 'd')
                types[2] = types[3] = types[4] = ops[o].type;
            snprintf(title, sizeof title, "atom%s.%s%s", s, ops[o].op,
                     *s       ? ""
                     : p == 2 ? " (into shared)"
                              : " (into global)");
            Form f = {text, types, both, 0, 0};
            current = ops[o].type == 'f' && p % 2 == 1 ? addf_global : ops[o].want;
            current_mask = kit_mask(letter);
            one_each(&f, title, ops[o].type, b);
        }
    emu_unmap(kit_emu, b->in_at);
    emu_unmap(kit_emu, b->out_at);
    free(b);
}

/* ---- many threads, one address ---- */

enum { BLOCK = 80, GRID = 3, N = BLOCK * GRID };

/* Every thread takes a number at `sum` (global, zero at first): each of 0 … N-1 is taken once. */
static void test_ranks(const char *title, const char *body) {
    char seen[N] = {0};
    int wrong = 0;
    EmuModule *m;
    for (int i = 0; i < N; i++) kit_in[i] = (uint32_t)i;
    KitBody k = {
        title, ".global .align 4 .u32 sum;\n.global .align 8 .u64 sum64;", body, GRID, BLOCK, 0};
    char *ptx = kit_body_ptx(&k);
    m = kit_load(ptx, title);
    free(ptx);
    if (!m) return;
    uint64_t params[3] = {emu_map(kit_emu, kit_in, sizeof kit_in, false, "in"),
                          emu_map(kit_emu, kit_out, sizeof kit_out, false, "out"), 0};
    if (kit_launch(m, "k", GRID, BLOCK, params, title)) {
        for (int i = 0; i < N; i++)
            if (kit_out[i] >= N || seen[kit_out[i]]++) wrong++;
        ok(wrong == 0, "%s: every rank once", title);
    }
    emu_unmap(kit_emu, params[0]);
    emu_unmap(kit_emu, params[1]);
    emu_unload(m);
}

/* A block's threads reduce into shared memory; after a barrier all read the result. */
static void reduce(const char *op, const char *value, uint32_t start, Want want, const char *load) {
    char body[600], title[80];
    for (int i = 0; i < N; i++) kit_in[i] = (uint32_t)kit_any_int();
    for (int block = 0; block < GRID; block++) {
        uint64_t total = start;
        for (int i = 0; i < BLOCK; i++) {
            uint64_t x = kit_in[block * BLOCK + i];
            if (strcmp(load, "f32") == 0)
                x = kit_bits32((float)(x & 1023)); /* exact in any order */
            total = want(total, x, 0, 0);
        }
        for (int i = 0; i < BLOCK; i++) kit_want[block * BLOCK + i] = (uint32_t)total;
    }
    snprintf(body, sizeof body,
             "mov.u64 %%l1, s;\nmov.u32 %%a9, %u;\nst.shared.u32 [%%l1], %%a9;\nbar.sync 0;\n"
             "and.b32 %%a8, %%x, 1023;\ncvt.rn.f32.u32 %%f1, %%a8;\n"
             "red.shared.%s [%%l1], %s;\nbar.sync 0;\nld.shared.u32 %%r, [%%l1];",
             start, op, value);
    snprintf(title, sizeof title, "red.shared.%s by a block", op);
    kit_body(&(KitBody){title, ".shared .align 4 .u32 s;", body, GRID, BLOCK, 0});
}

static void test_many(void) {
    test_ranks("atom.global.add.u32", "mov.u64 %l1, sum;\natom.global.add.u32 %r, [%l1], 1;");
    test_ranks("atom.global.inc.u32", "mov.u64 %l1, sum;\natom.global.inc.u32 %r, [%l1], 100000;");
    test_ranks("atom.global.sys.add.u32",
               "mov.u64 %l1, sum;\natom.global.sys.add.u32 %r, [%l1], 1;");
    test_ranks("atom.relaxed.gpu.global.add.u32",
               "mov.u64 %l1, sum;\natom.relaxed.gpu.global.add.u32 %r, [%l1], 1;");
    test_ranks(
        "atom.add.release.gpu.u32",
        "mov.u64 %l1, sum;\ncvta.global.u64 %l1, %l1;\natom.add.release.gpu.u32 %r, [%l1], 1;");
    test_ranks("atom.global.add.u64",
               "mov.u64 %l1, sum64;\natom.global.add.u64 %l2, [%l1], 1;\ncvt.u32.u64 %r, %l2;");
    test_ranks(
        "atom.global.add.f32",
        "mov.u64 %l1, sum;\natom.global.add.f32 %f1, [%l1], 0f3F800000;\ncvt.rzi.u32.f32 %r, %f1;");
    test_ranks("atom.global.add.f64", "mov.u64 %l1, sum64;\natom.global.add.f64 %d1, [%l1], "
                                      "0d3FF0000000000000;\ncvt.rzi.u32.f64 %r, %d1;");
    test_ranks(
        "a loop of atom.global.cas.b32",
        "mov.u64 %l1, sum;\nld.volatile.global.u32 %a1, [%l1];\nAGAIN:\nadd.u32 %a2, %a1, 1;\n"
        "atom.global.cas.b32 %a3, [%l1], %a1, %a2;\nsetp.eq.u32 %p1, %a3, %a1;\nmov.u32 %r, %a1;\n"
        "mov.u32 %a1, %a3;\n@!%p1 bra AGAIN;");
    test_ranks(
        "a lock taken by one lane of each warp",
        "mov.u32 %a1, %laneid;\nsetp.ne.u32 %p1, %a1, 0;\nmov.u64 %l1, sum64;\nmov.u64 %l2, sum;\n"
        "@%p1 bra WAIT;\nTRY:\natom.global.cas.b32 %a2, [%l1], 0, 1;\nsetp.ne.u32 %p2, %a2, "
        "0;\n@%p2 bra TRY;\n"
        "membar.gl;\nld.volatile.global.u32 %a3, [%l2];\nactivemask.b32 %a5;\nadd.u32 %a4, %a3, "
        "32;\n"
        "mov.u32 %a6, %tid.x;\nsetp.ge.u32 %p3, %a6, 64;\nselp.u32 %a7, 16, 32, %p3;\nadd.u32 %a4, "
        "%a3, %a7;\n"
        "st.volatile.global.u32 [%l2], %a4;\nmembar.gl;\natom.global.exch.b32 %a2, [%l1], "
        "0;\nWAIT:\n"
        "mov.u32 %a6, %tid.x;\nsetp.ge.u32 %p3, %a6, 64;\nselp.u32 %a8, 65535, -1, %p3;\n"
        "shfl.sync.idx.b32 %a3, %a3, 0, 31, %a8;\nadd.u32 %r, %a3, %a1;");
    reduce("add.u32", "%x", 5, add32, "u32");
    reduce("min.s32", "%x", INT32_MAX, min_s, "u32");
    reduce("max.u32", "%x", 0, max_u, "u32");
    reduce("or.b32", "%x", 0, or_, "u32");
    reduce("and.b32", "%x", UINT32_MAX, and_, "u32");
    reduce("xor.b32", "%x", 0, xor_, "u32");
    reduce("add.f32", "%f1", 0, addf, "f32");
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    test_one_each();
    test_many();
    return kit_end();
}
