/* emu_matrix.c - mma, wmma and ldmatrix against matrices in C: each shape and type, with fragments
** that are taken apart as the figures of the PTX ISA say, element by element; and sums of floats
** against the model of matrix_sum.h, written another way (whole numbers of 128 bits). */
#include <math.h>

#include "emu/core.h"
#include "emu_numbers.h"

enum { WORDS = 32, MOST = 256 };

typedef struct Shape {
    const char *name, *a, *b, *c, *d; /* "m16n8k16", types */
    int m, n, k;
    bool is_sparse; /* mma.sp */
    int selector;
} Shape;

static uint32_t in[32][WORDS], out[32][WORDS];
static double A[64][MOST], B[MOST][64], C[64][64];
static bool is_there[64][MOST]; /* of a sparse A */

/* --- where the ISA's figures have element e of a lane --- */

/* Of A and B the elements of a lane come in runs of `run` neighbours along k; in A a run for row
** group, one for row group + 8, then both again further on. */
static void place_a(const Shape *s, int lane, int e, int *i, int *k) {
    int bits = bits_of(s->a), run = bits == 64 ? 1 : 32 / bits, group = lane >> 2, place = lane & 3;
    int number = e / run, rows = s->m / 8;
    *i = number % rows == 0 ? group : group + number % rows * 8;
    *k = place * run + e % run + number / rows * run * 4;
}

static void place_b(const Shape *s, int lane, int e, int *k, int *j) {
    int bits = bits_of(s->b), run = bits == 64 ? 1 : 32 / bits, steps = s->k / (4 * run);
    *k = (lane & 3) * run + e % run + e / run % steps * 4 * run;
    *j = (lane >> 2) + e / run / steps * 8;
}

static void place_c(const Shape *s, int lane, int e, int *i, int *j) {
    *i = (lane >> 2) + ((e >> 1) % (s->m / 8)) * 8;
    *j = (lane & 3) * 2 + (e & 1) + (e >> 1) / (s->m / 8) * 8;
}

static void put(int lane, int word, const char *type, int e, double x) {
    int bits = bits_of(type), at = e * bits;
    uint64_t v = encode(type, x);
    if (bits == 64) memcpy(&in[lane][word + 2 * e], &v, 8);
    else in[lane][word + at / 32] |= (uint32_t)v << at % 32;
}

static double get(int lane, int word, const char *type, int e) {
    int bits = bits_of(type), at = e * bits;
    uint64_t v;
    if (bits == 64) memcpy(&v, &out[lane][word + 2 * e], 8);
    else v = out[lane][word + at / 32] >> at % 32 & (bits == 32 ? 0xffffffff : (1u << bits) - 1);
    return decode(type, v);
}

static int words_of(const char *type, int numbers) {
    return numbers / 32 * bits_of(type) / 32;
}

/* --- the kernel --- */

/* Registers %PREFIX0 … hold a fragment that is loaded from word `at` of the lane's. */
static void add_load(gi_buf *b, char prefix, const char *type, int words, int at) {
    bool wide = bits_of(type) == 64;
    gi_buf_addf(b, ".reg .b%d %%%c<%d>;\n", wide ? 64 : 32, prefix, words + 1);
    for (int i = 0; i < words / (wide ? 2 : 1); i++)
        gi_buf_addf(b, "ld.global.b%d %%%c%d, [%%mine+%d];\n", wide ? 64 : 32, prefix, i,
                    4 * (at + i * (wide ? 2 : 1)));
}

static void add_operand(gi_buf *b, char prefix, const char *type, int words, const char *after) {
    int n = words / (bits_of(type) == 64 ? 2 : 1);
    gi_buf_adds(b, "{");
    for (int i = 0; i < n; i++) gi_buf_addf(b, "%s%%%c%d", i ? ", " : "", prefix, i);
    gi_buf_addf(b, "}%s", after);
}

static EmuModule *module_of(const Shape *s, const char *instruction) {
    gi_buf b = {0};
    int quads = strcmp(s->name, "m8n8k4") == 0 && strcmp(s->a, "f16") == 0 ? 4 : 1;
    int wa = words_of(s->a, quads * s->m * s->k) / (s->is_sparse ? 2 : 1);
    int wb = words_of(s->b, quads * s->k * s->n);
    int wc = words_of(s->c, quads * s->m * s->n), wd = words_of(s->d, quads * s->m * s->n);
    gi_buf_adds(&b, ".version 8.7\n.target sm_90\n.address_size 64\n"
                    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                    ".reg .b32 %t; .reg .b64 %mine, %o, %step;\n"
                    "ld.param.u64 %mine, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;\n"
                    "mul.wide.u32 %step, %t, 128; add.u64 %mine, %mine, %step;\n"
                    "add.u64 %o, %o, %step;\n");
    add_load(&b, 'a', s->a, wa, 0);
    add_load(&b, 'b', s->b, wb, wa);
    add_load(&b, 'c', s->c, wc, wa + wb);
    if (s->is_sparse) add_load(&b, 'e', "s32", 1, wa + wb + wc);
    gi_buf_addf(&b, ".reg .b%d %%d<%d>;\n%s ", bits_of(s->d) == 64 ? 64 : 32, wd + 1, instruction);
    add_operand(&b, 'd', s->d, wd, ", ");
    add_operand(&b, 'a', s->a, wa, ", ");
    add_operand(&b, 'b', s->b, wb, ", ");
    add_operand(&b, 'c', s->c, wc, "");
    if (s->is_sparse) gi_buf_addf(&b, ", %%e0, %d", s->selector);
    gi_buf_adds(&b, ";\n");
    bool wide = bits_of(s->d) == 64;
    for (int i = 0; i < wd / (wide ? 2 : 1); i++)
        gi_buf_addf(&b, "st.global.b%d [%%o+%d], %%d%d;\n", wide ? 64 : 32, (wide ? 8 : 4) * i, i);
    gi_buf_adds(&b, "ret;\n}\n");
    EmuModule *m = kit_load(b.data, instruction);
    gi_buf_free(&b);
    return m;
}

static bool run(EmuModule *m, const char *what) {
    uint64_t params[2] = {emu_map(kit_emu, in, sizeof in, true, "in"),
                          emu_map(kit_emu, out, sizeof out, false, "out")};
    memset(out, 0, sizeof out);
    bool fine = kit_launch(m, "k", 1, 32, params, what);
    emu_unmap(kit_emu, params[0]);
    emu_unmap(kit_emu, params[1]);
    return fine;
}

/* --- the model, in whole numbers of 128 bits --- */

static int block, fraction, kept;
static bool in_pairs; /* bytes: two products of f16, see matrix.h */

/* Which number along k is summed as number `step`. */
static int along(const Shape *s, int step) {
    int half = s->k / 2, i = step % half;
    if (in_pairs && bits_of(s->a) == 8 && s->is_sparse) return i / 4 * 8 + step / half * 4 + i % 4;
    return in_pairs && bits_of(s->a) == 8 ? i / 2 * 4 + i % 2 + step / half * 2 : step;
}

static int exponent(const char *type, double x) {
    int e = 0, least = strcmp(type, "f16") == 0 || strcmp(type, "e5m2") == 0 ? -14
                       : strcmp(type, "e4m3") == 0                           ? -6
                                                                             : -126;
    frexp(x, &e);
    return x == 0 ? -126 : e - 1 < least ? least : e - 1;
}

/* x in units of 2^unit, cut. */
static __int128 cut(double x, int unit) {
    double whole = trunc(ldexp(x, -unit));
    return (__int128)whole;
}

static double nearest_half(__int128 sum, int unit) {
    double x = ldexp((double)sum, unit), step;
    int e;
    if (x == 0) return 0;
    frexp(x, &e);
    step = ldexp(1, e - 11 < -24 ? -24 : e - 11);
    double y = nearbyint(x / step) * step;
    return fabs(y) > 65504 ? copysign(HUGE_VAL, y) : y + 0.0; /* no zero has a sign */
}

/* c and the products from step `from` to step `to`. */
static double add_block(const Shape *s, int i, int j, double c, int from, int to) {
    int top = exponent(s->d, c);
    for (int step = from; step < to; step++) {
        int k = along(s, step), e = exponent(s->a, A[i][k]) + exponent(s->b, B[k][j]);
        if (e > top && (!s->is_sparse || is_there[i][k])) top = e;
    }
    int unit = top - fraction;
    __int128 all = cut(c, unit);
    for (int step = from; step < to; step++)
        all += cut(A[i][along(s, step)] * B[along(s, step)][j], unit);
    if (strcmp(s->d, "f16") == 0) return nearest_half(all, unit);
    int e;
    double x = ldexp((double)all, unit);
    frexp(x, &e);
    int last = e - 1 < -126 ? -126 - kept : e - 1 - kept;
    x = ldexp(trunc(ldexp(x, -last)), last);
    return fabs(x) >= 0x1p128 ? copysign(HUGE_VAL, x) : x;
}

static double model(const Shape *s, int i, int j) {
    bool pairs = in_pairs && bits_of(s->a) == 8;
    int some = pairs ? s->k / 2 : s->is_sparse ? 2 * block : block;
    double sum = pairs ? 0 : C[i][j];
    for (int from = 0; from < s->k; from += some)
        sum = add_block(s, i, j, sum, from, from + some < s->k ? from + some : s->k);
    if (!pairs) return sum;
    if (strcmp(s->d, "f32") == 0) return (double)((float)sum + (float)C[i][j]);
    return isinf(sum) ? sum : nearest_half(cut(sum + C[i][j], -24), -24);
}

/* --- data --- */

enum { SMALL, WIDE, NEAR, TINY, DATA };

static double number(const char *type, int how) {
    if (strcmp(type, "b1") == 0) return (double)kit_below(2);
    if (!is_float(type)) {
        int bits = bits_of(type);
        if (how == SMALL || bits == 32)
            return (double)(int64_t)kit_below(8) - (type[0] == 'u' ? 0 : 4);
        return type[0] == 'u' ? (double)kit_below(1u << bits)
                              : (double)(int64_t)kit_below(1u << bits) - ldexp(1, bits - 1);
    }
    double x = gi_rng_unit(&kit_rng) * 2 - 1;
    if (how == SMALL) return (double)(int64_t)kit_below(9) - 4;
    if (how == NEAR) return x < 0 ? -2 + x * 0x1p-6 : 2 - x * 0x1p-6;
    if (how == TINY) /* sums round to zero in f16 */
        return strcmp(type, "f16") == 0 ? x * 0x1p-14 : x * 0x1p-8 * (double)kit_below(2);
    int reach = bits_of(type) == 8 || strcmp(type, "f16") == 0 ? 8 : 60;
    x = ldexp(x, (int)kit_below((uint64_t)reach) - reach / 2);
    return kit_below(6) ? decode(type, encode(type, x)) : 0;
}

static void fill(const Shape *s, int how) {
    for (int i = 0; i < s->m; i++)
        for (int k = 0; k < s->k; k++) A[i][k] = decode(s->a, encode(s->a, number(s->a, how)));
    for (int k = 0; k < s->k; k++)
        for (int j = 0; j < s->n; j++) B[k][j] = decode(s->b, encode(s->b, number(s->b, how)));
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) C[i][j] = decode(s->c, encode(s->c, number(s->c, how)));
}

static void scatter(const Shape *s) {
    int wa = words_of(s->a, s->m * s->k), wb = words_of(s->b, s->k * s->n);
    memset(in, 0, sizeof in);
    for (int lane = 0; lane < 32; lane++) {
        int x, y;
        for (int e = 0; e < s->m * s->k / 32; e++)
            place_a(s, lane, e, &x, &y), put(lane, 0, s->a, e, A[x][y]);
        for (int e = 0; e < s->k * s->n / 32; e++)
            place_b(s, lane, e, &x, &y), put(lane, wa, s->b, e, B[x][y]);
        for (int e = 0; e < s->m * s->n / 32; e++)
            place_c(s, lane, e, &x, &y), put(lane, wa + wb, s->c, e, C[x][y]);
    }
}

static bool is_and, saturates;

static double plain(const Shape *s, int i, int j) {
    double sum = C[i][j];
    for (int k = 0; k < s->k; k++) {
        bool x = A[i][k] != 0, y = B[k][j] != 0;
        if (strcmp(s->a, "b1") == 0) sum += is_and ? x && y : x != y;
        else if (strcmp(s->a, "f64") == 0) sum = fma(A[i][k], B[k][j], sum);
        else sum += A[i][k] * B[k][j];
    }
    return saturates ? fmax(fmin(sum, 2147483647), -2147483648.0) : sum;
}

static int differ(const Shape *s, int how) {
    int wrong = 0;
    bool modelled = how != SMALL && is_float(s->a) && bits_of(s->a) != 64;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < s->m * s->n / 32; e++) {
            int i, j;
            place_c(s, lane, e, &i, &j);
            double got = get(lane, 0, s->d, e), want = modelled ? model(s, i, j) : plain(s, i, j);
            if (strcmp(s->d, "s32") == 0) want = (double)(int32_t)(uint32_t)(int64_t)want;
            bool zeros = got == 0 && want == 0 && !(signbit(got) && strcmp(s->d, "f16") == 0);
            if (memcmp(&got, &want, sizeof got) != 0 && !zeros && wrong++ == 0)
                printf("# (%d, %d): got %a, want %a\n", i, j, got, want);
        }
    return wrong;
}

static void try_shape(const Shape *s, const char *instruction) {
    EmuModule *m = module_of(s, instruction);
    int wrong = 0;
    if (m == NULL) return;
    for (int turn = 0; turn < 30; turn++) {
        fill(s, turn % DATA);
        scatter(s);
        if (!run(m, instruction)) break;
        wrong += differ(s, turn % DATA);
    }
    emu_unload(m);
    is_int(wrong, 0, instruction);
}

static const struct {
    const char *name, *types; /* of A and B */
    const char *sums;
    int m, n, k;
} mma[] = {{"m16n8k8", "f16", "f16 f32", 16, 8, 8},
           {"m16n8k16", "f16", "f16 f32", 16, 8, 16},
           {"m16n8k8", "bf16", "f32", 16, 8, 8},
           {"m16n8k16", "bf16", "f32", 16, 8, 16},
           {"m16n8k4", "tf32", "f32", 16, 8, 4},
           {"m16n8k8", "tf32", "f32", 16, 8, 8},
           {"m16n8k16", "e4m3 e5m2", "f16 f32", 16, 8, 16},
           {"m16n8k32", "e4m3 e5m2", "f16 f32", 16, 8, 32},
           {"m8n8k4", "f64", "f64", 8, 8, 4},
           {"m16n8k4", "f64", "f64", 16, 8, 4},
           {"m16n8k8", "f64", "f64", 16, 8, 8},
           {"m16n8k16", "f64", "f64", 16, 8, 16},
           {"m8n8k16", "s8 u8", "s32", 8, 8, 16},
           {"m16n8k16", "s8 u8", "s32", 16, 8, 16},
           {"m16n8k32", "s8 u8", "s32", 16, 8, 32},
           {"m8n8k32", "s4 u4", "s32", 8, 8, 32},
           {"m16n8k32", "s4 u4", "s32", 16, 8, 32},
           {"m16n8k64", "s4 u4", "s32", 16, 8, 64},
           {"m8n8k128", "b1", "s32", 8, 8, 128},
           {"m16n8k128", "b1", "s32", 16, 8, 128},
           {"m16n8k256", "b1", "s32", 16, 8, 256}};

/* Word number i of a list, or NULL. */
static const char *word_of(const char *list, int i, char to[8]) {
    for (; i > 0 && list; i--) list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL;
    if (list == NULL) return NULL;
    snprintf(to, 8, "%.*s", (int)strcspn(list, " "), list);
    return to;
}

static void each_mma(void) {
    char a[8], b[8], c[8], text[120];
    for (int r = 0; r < KIT_COUNT(mma); r++)
        for (int x = 0; word_of(mma[r].types, x, a); x++)
            for (int y = 0; word_of(mma[r].types, y, b); y++)
                for (int z = 0; word_of(mma[r].sums, z, c); z++) {
                    Shape s = {mma[r].name, a, b, c, c, mma[r].m, mma[r].n, mma[r].k, false, 0};
                    int both = strcmp(a, "b1") == 0 ? 2 : 1;
                    for (int k = 0; k < both; k++) {
                        is_and = both == 2 && k == 1;
                        snprintf(text, sizeof text, "mma.sync.aligned.%s.row.col.%s.%s.%s.%s%s",
                                 s.name, c, a, b, c,
                                 both == 1 ? ""
                                 : k       ? ".and.popc"
                                           : ".xor.popc");
                        try_shape(&s, text);
                    }
                }
}

/* --- mma.sp --- */

/* Places of two bits that a chunk's metadata names, and how many columns each stands for. */
static int columns_of_place(const Shape *s) {
    return bits_of(s->a) == 4 ? 2 : 1;
}

/* Writes the metadata of a chunk where the figures of the ISA have them; those of tf32 have pairs
** of 16 bits for columns. `words`: lanes of a quad that hold some. */
static void put_metadata(const Shape *s, int word, int row, int chunk, int chunks, int first,
                         int second) {
    int words = chunks / 4, lane = row % 8 * 4 + s->selector * words, bit;
    if (bits_of(s->a) >= 16) lane += chunk / 4, bit = (row < 8 ? 0 : 16) + chunk % 4 * 4;
    else lane += (row < 8 ? 0 : 1) + (chunk < 8 ? 0 : 2), bit = chunk % 8 * 4;
    in[lane][word] |= (uint32_t)(first | second << 2) << bit;
}

/* Leaves of each chunk of a row of A what metadata at random say; their numbers go to the fragment
** one after the other. */
static void scatter_sparse(const Shape *s, bool ordered) {
    int span = (bits_of(s->a) == 32 ? 2 : 4) * columns_of_place(s), chunks = s->k / span;
    Shape half = *s;
    double there[64][MOST];
    half.k = s->k / 2;
    int wa = words_of(s->a, s->m * half.k), wb = words_of(s->b, s->k * s->n);
    scatter(s);
    for (int lane = 0; lane < 32; lane++) {
        memmove(&in[lane][wa], &in[lane][2 * wa], (WORDS - 2 * (size_t)wa) * 4);
        memset(in[lane], 0, (size_t)wa * 4);
        in[lane][wa + wb + words_of(s->c, s->m * s->n)] = 0;
    }
    memset(is_there, 0, sizeof is_there);
    for (int i = 0; i < s->m; i++)
        for (int chunk = 0, n = 0; chunk < chunks; chunk++) {
            int place[2] = {(int)kit_below(3), 0};
            place[1] = place[0] + 1 + (int)kit_below((uint64_t)(3 - place[0]));
            if (bits_of(s->a) == 32) place[0] = (int)kit_below(2) * 2, place[1] = place[0] + 1;
            else if (!ordered && kit_below(2))
                place[0] ^= place[1], place[1] ^= place[0], place[0] ^= place[1];
            put_metadata(s, wa + wb + words_of(s->c, s->m * s->n), i, chunk, chunks, place[0],
                         place[1]);
            for (int p = 0; p < (bits_of(s->a) == 32 ? 1 : 2); p++)
                for (int c = 0; c < columns_of_place(s); c++, n++) {
                    int own = place[p] * columns_of_place(s) + c;
                    int at = bits_of(s->a) == 32 ? place[0] / 2 : own;
                    is_there[i][chunk * span + at] = true;
                    there[i][n] = A[i][chunk * span + at];
                }
        }
    for (int i = 0; i < s->m; i++)
        for (int k = 0; k < s->k; k++)
            if (!is_there[i][k]) A[i][k] = 0;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0, i, k; e < s->m * half.k / 32; e++)
            place_a(&half, lane, e, &i, &k), put(lane, 0, s->a, e, there[i][k]);
}

static void try_sparse(const Shape *s, bool ordered) {
    char text[120];
    snprintf(text, sizeof text, "mma.sp%s.sync.aligned.%s.row.col.%s.%s.%s.%s",
             ordered ? "::ordered_metadata" : "", s->name, s->d, s->a, s->b, s->c);
    EmuModule *m = module_of(s, text);
    int wrong = 0;
    for (int turn = 0; m && turn < 20; turn++) {
        fill(s, turn % DATA);
        scatter_sparse(s, ordered);
        if (!run(m, text)) break;
        wrong += differ(s, turn % DATA);
    }
    emu_unload(m);
    is_int(wrong, 0, text);
}

static void sparse(void) {
    static const Shape rows[] = {{"m16n8k16", "f16", "f16", "f16", "f16", 16, 8, 16, true, 3},
                                 {"m16n8k16", "f16", "f16", "f32", "f32", 16, 8, 16, true, 0},
                                 {"m16n8k32", "f16", "f16", "f16", "f16", 16, 8, 32, true, 0},
                                 {"m16n8k32", "f16", "f16", "f32", "f32", 16, 8, 32, true, 1},
                                 {"m16n8k16", "bf16", "bf16", "f32", "f32", 16, 8, 16, true, 2},
                                 {"m16n8k32", "bf16", "bf16", "f32", "f32", 16, 8, 32, true, 1},
                                 {"m16n8k8", "tf32", "tf32", "f32", "f32", 16, 8, 8, true, 1},
                                 {"m16n8k16", "tf32", "tf32", "f32", "f32", 16, 8, 16, true, 1},
                                 {"m16n8k64", "e4m3", "e5m2", "f32", "f32", 16, 8, 64, true, 0},
                                 {"m16n8k64", "e5m2", "e5m2", "f32", "f32", 16, 8, 64, true, 0},
                                 {"m16n8k32", "s8", "u8", "s32", "s32", 16, 8, 32, true, 1},
                                 {"m16n8k64", "u8", "s8", "s32", "s32", 16, 8, 64, true, 0},
                                 {"m16n8k64", "s4", "s4", "s32", "s32", 16, 8, 64, true, 0},
                                 {"m16n8k128", "u4", "s4", "s32", "s32", 16, 8, 128, true, 0}};
    for (int r = 0; r < KIT_COUNT(rows); r++)
        try_sparse(&rows[r], true), try_sparse(&rows[r], false);
}

/* An infinity of B counts where a number of A meets it, and nowhere else. */
static void sparse_specials(void) {
    Shape s = {"m16n8k16", "bf16", "bf16", "f32", "f32", 16, 8, 16, true, 0};
    const char *text = "mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    EmuModule *m = module_of(&s, text);
    fill(&s, SMALL);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++) A[i][k] = 1;
    scatter_sparse(&s, true);
    int wb = words_of("bf16", 16 * 8), wa = words_of("bf16", 16 * 8), wrong = 0;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0, k, j; e < wb * 2; e++) {
            place_b(&s, lane, e, &k, &j);
            if (k == 5) in[lane][wa + e / 2] &= e % 2 ? 0xffffu : 0xffff0000u;
            if (k == 5) in[lane][wa + e / 2] |= e % 2 ? 0x7f800000u : 0x7f80u;
        }
    if (m && run(m, text))
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0, i, j; e < 4; e++) {
                place_c(&s, lane, e, &i, &j);
                wrong += isinf(get(lane, 0, "f32", e)) != is_there[i][5];
                wrong += isnan(get(lane, 0, "f32", e)) != 0;
            }
    emu_unload(m);
    is_int(wrong, 0, "an infinity of B meets the numbers that are there");
}

/* --- m8n8k4 of f16: the ISA's tables, in the lanes of a quarter --- */

static void quad_place(char which, bool by_rows, bool wide, int lane, int e, int *row,
                       int *column) {
    int low = lane % 4 + (lane < 16 ? 0 : 4), block_row = e + (lane < 16 ? 0 : 4);
    if (which == 'a') *row = by_rows ? low : block_row, *column = by_rows ? e : lane % 4;
    else if (which == 'b') *row = by_rows ? lane % 4 : e, *column = by_rows ? block_row : low;
    else if (!wide) *row = low, *column = e;
    else
        *row = (lane & 1) + (e & 2) + (lane < 16 ? 0 : 4), *column = (e & 4) + (lane & 2) + (e & 1);
}

static double QA[4][8][4], QB[4][4][8], QC[4][8][8];

static void quad_fill(const Shape *s, bool rows_a, bool rows_b) {
    int x, y;
    memset(in, 0, sizeof in);
    for (int q = 0; q < 4; q++)
        for (int i = 0; i < 8; i++) {
            for (int k = 0; k < 4; k++) QA[q][i][k] = number("f16", SMALL);
            for (int k = 0; k < 4; k++) QB[q][k][i] = number("f16", SMALL);
            for (int j = 0; j < 8; j++) QC[q][i][j] = number("f16", SMALL);
        }
    for (int lane = 0; lane < 32; lane++) {
        int q = lane / 4 % 4;
        for (int e = 0; e < 4; e++) {
            quad_place('a', rows_a, false, lane, e, &x, &y);
            put(lane, 0, "f16", e, QA[q][x][y]);
            quad_place('b', rows_b, false, lane, e, &x, &y);
            put(lane, 2, "f16", e, QB[q][x][y]);
        }
        for (int e = 0; e < 8; e++) {
            quad_place('c', false, strcmp(s->c, "f32") == 0, lane, e, &x, &y);
            put(lane, 4, s->c, e, QC[q][x][y]);
        }
    }
}

static int quad_differ(const Shape *s) {
    int wrong = 0, i, j;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < 8; e++) {
            int q = lane / 4 % 4;
            quad_place('d', false, strcmp(s->d, "f32") == 0, lane, e, &i, &j);
            double want = QC[q][i][j];
            for (int k = 0; k < 4; k++) want += QA[q][i][k] * QB[q][k][j];
            wrong += get(lane, 0, s->d, e) != want;
        }
    return wrong;
}

static void quads(void) {
    static const char *const sums[][2] = {{"f16", "f16"}, {"f32", "f16"}, {"f32", "f32"}};
    for (int k = 0; k < 12; k++) {
        Shape s = {"m8n8k4", "f16", "f16", sums[k % 3][1], sums[k % 3][0], 8, 8, 4, false, 0};
        char text[120];
        bool rows_a = k / 3 % 2, rows_b = k / 6;
        snprintf(text, sizeof text, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
                 rows_a ? "row" : "col", rows_b ? "row" : "col", s.d, s.c);
        EmuModule *m = module_of(&s, text);
        quad_fill(&s, rows_a, rows_b);
        if (m && run(m, text)) is_int(quad_differ(&s), 0, text);
        if (m) emu_unload(m);
    }
}

/* --- saturation, infinities and NaN --- */

static void saturated(void) {
    Shape s = {"m16n8k32", "s8", "s8", "s32", "s32", 16, 8, 32, false, 0};
    for (int k = 0; k < 2; k++) {
        EmuModule *m = module_of(&s, k ? "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"
                                       : "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
        saturates = k;
        fill(&s, SMALL);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) C[i][j] = i % 2 ? 2147483600.0 : -2147483600.0;
        for (int i = 0; i < 16; i++)
            for (int l = 0; l < 32; l++) A[i][l] = 127, B[l][i % 8] = i % 3 ? 127 : -128;
        scatter(&s);
        if (m && run(m, "sums beyond 32 bits"))
            is_int(differ(&s, SMALL), 0, k ? ".satfinite clamps" : "else they wrap");
        emu_unload(m);
    }
    saturates = false;
}

static void specials(void) {
    Shape s = {"m16n8k16", "f16", "f16", "f32", "f32", 16, 8, 16, false, 0};
    EmuModule *m = module_of(&s, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    fill(&s, SMALL);
    for (int j = 0; j < 8; j++) B[2][j] = B[3][j] = j + 1;
    scatter(&s);
    /* A(g, 3) of lanes 4 g + 1, register 0, high half: inf, -inf, NaN, and a sum of both */
    in[1][0] = (in[1][0] & 0xffff) | 0x7c000000;
    in[5][0] = (in[5][0] & 0xffff) | 0xfc000000;
    in[9][0] = (in[9][0] & 0xffff) | 0x7e010000;
    in[13][0] = 0xfc007c00;
    if (m && run(m, "infinities")) {
        is_int(out[0][0], 0x7f800000, "a row with an infinity gives it");
        is_int(out[4][0], 0xff800000, "and with the other sign");
        is_int(out[8][0], 0x7fffffff, "a NaN gives the canonical one");
        is_int(out[12][0], 0x7fffffff, "so do two infinities that cancel");
    }
    emu_unload(m);
}

/* --- ldmatrix, stmatrix, movmatrix --- */

/* Each thread stores four words to shared memory and gets the address of a row of 16 bytes. */
static const char rows_at[] =
    ".shared .align 16 .b8 s[2048];\nmov.u32 %a8, s;\n"
    "shl.b32 %a9, %t, 2; add.u32 %a10, %a8, %a9;\n"
    "st.shared.u32 [%a10], %x; xor.b32 %a11, %x, 0x55aa55aa; st.shared.u32 [%a10+128], %a11;\n"
    "add.u32 %a11, %x, 99; st.shared.u32 [%a10+256], %a11;\n"
    "add.u32 %a11, %x, 777; st.shared.u32 [%a10+384], %a11;\nbar.sync 0;\n"
    "xor.b32 %a12, %t, 5; shl.b32 %a12, %a12, 4; add.u32 %a12, %a12, %a8;\n";

static uint16_t half_of(int matrix, int row, int column) {
    int lane = (matrix * 8 + row) ^ 5; /* whose 16 bytes it is */
    int word = lane * 4 + column / 2, at = word % 32;
    uint32_t x = kit_in[at];
    x = word < 32 ? x : word < 64 ? x ^ 0x55aa55aau : word < 96 ? x + 99 : x + 777;
    return (uint16_t)(x >> 16 * (column % 2));
}

static void want_rows(bool turned, int pick) {
    for (int lane = 0; lane < 32; lane++) {
        uint32_t word = 0;
        for (int half = 0; half < 2; half++) {
            int place = lane % 4 * 2 + half, group = lane / 4;
            uint16_t h = turned ? half_of(pick, place, group) : half_of(pick, group, place);
            word |= (uint32_t)h << 16 * half;
        }
        kit_want[lane] = word;
    }
}

static void rows(void) {
    static const char *const lists[] = {"%a0", "%a0, %a1", "", "%a0, %a1, %a2, %a3"};
    for (int i = 0; i < 32; i++) kit_in[i] = (uint32_t)gi_rng_next(&kit_rng);
    for (int count = 1; count <= 4; count *= 2)
        for (int turned = 0; turned < 2; turned++)
            for (int pick = 0; pick < count; pick++) {
                char body[1500], title[120];
                snprintf(title, sizeof title, "ldmatrix.x%d%s, register %d", count,
                         turned ? ".trans" : "", pick);
                snprintf(body, sizeof body,
                         "%sldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%%a12];\n"
                         "mov.b32 %%r, %%a%d;",
                         rows_at, count, turned ? ".trans" : "", lists[count - 1], pick);
                want_rows(turned, pick);
                kit_body(&(KitBody){title, NULL, body, 1, 32, 0});
            }
}

/* What stmatrix stores ldmatrix loads; movmatrix turns as .trans does. */
static void rows_back(void) {
    char body[2000];
    for (int turned = 0; turned < 2; turned++) {
        snprintf(body, sizeof body,
                 "%sxor.b32 %%a0, %%x, 1; add.u32 %%a1, %%x, 3;\n"
                 "stmatrix.sync.aligned.m8n8.x2%s.shared.b16 [%%a12+1024], {%%a0, %%a1};\n"
                 "bar.sync 0;\n"
                 "ldmatrix.sync.aligned.m8n8.x2%s.shared.b16 {%%a2, %%a3}, [%%a12+1024];\n"
                 "xor.b32 %%r, %%a2, %%a3;",
                 rows_at, turned ? ".trans" : "", turned ? ".trans" : "");
        for (int i = 0; i < 32; i++) kit_want[i] = (kit_in[i] ^ 1) ^ (kit_in[i] + 3);
        kit_body(&(KitBody){"stmatrix and ldmatrix", NULL, body, 1, 32, 0});
    }
    snprintf(body, sizeof body,
             "%sldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%a0}, [%%a12];\n"
             "movmatrix.sync.aligned.m8n8.trans.b16 %%r, %%a0;",
             rows_at);
    want_rows(true, 0);
    kit_body(&(KitBody){"movmatrix turns a matrix", NULL, body, 1, 32, 0});
}

/* Each engine gives the model's bits. */
static void engines(void) {
    static const Shape s = {"m16n8k16", "f16", "f16", "f32", "f32", 16, 8, 16, false, 0};
    static const Shape h = {"m16n8k16", "f16", "f16", "f16", "f16", 16, 8, 16, false, 0};
    static const Shape t = {"m16n8k8", "tf32", "tf32", "f32", "f32", 16, 8, 8, false, 0};
    static const Shape e = {"m16n8k32", "e4m3", "e5m2", "f32", "f32", 16, 8, 32, false, 0};
    static const Shape f = {"m16n8k16", "e4m3", "e4m3", "f16", "f16", 16, 8, 16, false, 0};
    int best = kit_emu->vectors;
    for (int v = VECTORS_BASE; v <= best + 1; v++) {
        kit_emu->vectors = v > best ? best : v;
        kit_emu->plain = v > best;
        printf("# %s\n", v > best ? "number by number" : v == VECTORS_BASE ? "base" : "vectors");
        try_shape(&s, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
        try_shape(&h, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16");
        try_shape(&t, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
        try_shape(&e, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32");
        try_shape(&f, "mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e4m3.f16");
    }
    kit_emu->plain = false;
    kit_emu->vectors = best;
}

/* Other generations: how many products at once, and how many bits. */
static void generations(void) {
    static const struct {
        int capability, at_once, bits, kept;
        Shape s;
    } rows[] = {{75, 8, 24, 23, {"m16n8k8", "f16", "f16", "f32", "f32", 16, 8, 8, false, 0}},
                {80, 8, 24, 23, {"m16n8k16", "f16", "f16", "f32", "f32", 16, 8, 16, false, 0}},
                {80, 4, 24, 23, {"m16n8k8", "tf32", "tf32", "f32", "f32", 16, 8, 8, false, 0}},
                {89, 16, 13, 13, {"m16n8k32", "e4m3", "e5m2", "f32", "f32", 16, 8, 32, false, 0}},
                {90, 16, 25, 23, {"m16n8k16", "bf16", "bf16", "f32", "f32", 16, 8, 16, false, 0}},
                {100, 32, 25, 23, {"m16n8k32", "e4m3", "e4m3", "f32", "f32", 16, 8, 32, false, 0}}};
    for (int i = 0; i < KIT_COUNT(rows); i++) {
        char text[120];
        const Shape *s = &rows[i].s;
        block = rows[i].at_once, fraction = rows[i].bits, kept = rows[i].kept;
        kit_emu->model.matrix_capability = rows[i].capability;
        in_pairs = rows[i].capability == 90;
        snprintf(text, sizeof text, "mma.sync.aligned.%s.row.col.f32.%s.%s.f32", s->name, s->a,
                 s->b);
        printf("# as capability %d\n", rows[i].capability);
        try_shape(s, text);
    }
    kit_emu->model.matrix_capability = 0;
    block = 16, fraction = 25, kept = 23, in_pairs = true;
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    block = 16, fraction = 25, kept = 23, in_pairs = true;
    each_mma();
    sparse();
    sparse_specials();
    quads();
    saturated();
    specials();
    rows();
    rows_back();
    engines();
    generations();
    return kit_end();
}
