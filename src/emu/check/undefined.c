/* undefined.c - undefined values in registers, and their uses. See undefined.h.
**
** Each instruction is looked at before it runs. Where all that it reads and writes is defined, as
** it mostly is, that is all. Else the undefined bits of its result come of those of its operands by
** a rule of its operation: exact for logic, moves, shifts by known numbers and fields; of a sum all
** bits from the lowest undefined one up; all bits of anything else. An instruction whose undefined
** operand is a use (a branch, an address) tells so, and its operand counts as defined from then on.
*/
#include "emu/check/undefined.h"

#include <stdlib.h>
#include <string.h>

#include "emu/exec/atoms.h"
#include "emu/decode/bounds.h"
#include "emu/exec/lanes.h"
#include "emu/exec/matrix_group.h"
#include "emu/decode/library.h"
#include "emu/decode/ops.h"

/* --- rows --- */

static uint64_t full(char width) {
    return width == 'p' ? 1 : width == 'w' ? FULL_MASK : UINT64_MAX;
}

/* What of a code's file lies at an offset: 0: nothing that can be undefined. */
static char width_at(const Code *c, uint32_t row) {
    return row == 0 || row >= c->pool_first ? 0 : row < c->reg32 ? 'p' : row < c->reg64 ? 'w' : 'q';
}

static size_t row_bytes(char width) {
    return width == 'p' ? 4 : width == 'w' ? ROW32 : ROW64;
}

static uint64_t lane_bits(const uint8_t *file, char width, uint32_t row, int lane) {
    const U32 *word = (const U32 *)(const void *)(file + row);
    if (width == 'q') return ((const U64 *)(const void *)(file + row))[lane];
    return width == 'p' ? *word >> lane & 1 : word[lane];
}

static void set_lane_bits(uint8_t *file, char width, uint32_t row, int lane, uint64_t bits) {
    U32 *word = (U32 *)(void *)(file + row);
    if (width == 'q') ((U64 *)(void *)(file + row))[lane] = bits;
    else if (width == 'w') word[lane] = (uint32_t)bits;
    else *word = (*word & ~(1u << lane)) | (uint32_t)(bits & 1) << lane;
}

/* Those of predicates, which are rows of 4 bytes, come first. */
static uint32_t *origin_of(const Frame *f, char width, uint32_t row, int lane) {
    uint32_t at = width == 'p' ? row / 4 * LANES : f->code->reg32 / 4 * LANES + row / 4;
    return &f->bits->origin[at + (uint32_t)lane];
}

/* Adds to *origin, where there are any. */
static uint64_t get(const Frame *f, char width, uint32_t row, int lane, uint32_t *origin) {
    const FrameBits *b = f->bits;
    if (width == 0 || !b->mark[row / 4]) return 0;
    uint64_t bits = lane_bits(b->bits, width, row, lane) & full(width);
    if (bits) *origin = origin_both(b->origins, *origin, *origin_of(f, width, row, lane));
    return bits;
}

static void put(const Frame *f, char width, uint32_t row, int lane, uint64_t bits,
                uint32_t origin) {
    FrameBits *b = f->bits;
    if (width == 0 || (bits == 0 && !b->mark[row / 4])) return;
    if (!b->mark[row / 4]) {
        memset(b->bits + row, 0, row_bytes(width));
        b->mark[row / 4] = 1;
        b->n_marked++;
    }
    *origin_of(f, width, row, lane) = origin;
    set_lane_bits(b->bits, width, row, lane, bits);
}

/* A row is defined again when no bit of it is left. */
static void tidy(const Frame *f, char width, uint32_t row) {
    FrameBits *b = f->bits;
    if (width == 0 || !b->mark[row / 4]) return;
    const uint64_t *word = (const uint64_t *)(const void *)(b->bits + row);
    uint64_t any = width == 'p' ? *(const U32 *)(const void *)word : 0;
    for (size_t k = 0; width != 'p' && k < row_bytes(width) / 8; k++) any |= word[k];
    if (any == 0) b->mark[row / 4] = 0, b->n_marked--;
}

uint64_t undefined_row(const Frame *f, uint32_t row, int lane, uint32_t *origin) {
    return get(f, width_at(f->code, row), row, lane, origin);
}

void undefined_set(const Frame *f, uint32_t row, int lane, uint64_t bits, uint32_t origin) {
    char width = width_at(f->code, row);
    if (width) put(f, width, row, lane, bits & full(width), origin);
    tidy(f, width, row);
}

/* The active lanes get defined values. */
static void clean(const Warp *w, const Frame *f, uint32_t row) {
    char width = width_at(f->code, row);
    if (width == 0 || !f->bits->mark[row / 4]) return;
    FOR_ACTIVE(w, i) put(f, width, row, (int)i, 0, ORIGIN_NONE);
    tidy(f, width, row);
}

/* Tells that the active lanes use a row so. */
static void use(Machine *m, Warp *w, const Ins *in, const Frame *f, uint32_t row, const char *how) {
    char width = width_at(f->code, row);
    if (width == 0 || !f->bits->mark[row / 4]) return;
    FOR_ACTIVE(w, i) {
        uint32_t origin = ORIGIN_NONE;
        if (get(f, width, row, (int)i, &origin)) origin_matters(m, w, in, (int)i, origin, how);
    }
    clean(w, f, row);
}

/* --- frames --- */

void undefined_free(Frame *f) {
    if (f->bits == NULL) return;
    free(f->bits->bits);
    free(f->bits->mark);
    free(f->bits->origin);
    free(f->bits->params);
    free(f->bits->params_origin);
    free(f->bits);
}

static void reserve(FrameBits *b, size_t file, size_t origins, size_t params) {
    if (file > b->cap) {
        b->bits = gi_realloc(b->bits, file);
        b->mark = gi_realloc(b->mark, file / 4);
        memset(b->bits, 0, file);
        b->cap = file;
    }
    if (origins > b->origin_cap)
        b->origin = gi_realloc(b->origin, (b->origin_cap = origins) * sizeof *b->origin);
    if (params <= b->params_cap) return;
    b->params = gi_realloc(b->params, params);
    b->params_origin = gi_realloc(b->params_origin, params);
    b->params_cap = params;
}

void undefined_open(const Machine *m, Frame *f) {
    const Code *c = f->code;
    if (f->bits == NULL) f->bits = gi_alloc(sizeof *f->bits);
    FrameBits *b = f->bits;
    reserve(b, c->file_bytes, c->reg32 / 4 * LANES + c->file_bytes / 4,
            (size_t)c->param_bytes * LANES);
    memset(b->mark, 0, c->file_bytes / 4);
    b->n_marked = 0;
    b->params_marked = false;
    b->origins = m->emu->origins;
    for (int i = 0; i < c->n_unset; i++) {
        char width = width_at(c, c->unset[i]);
        for (int k = 0; k < LANES; k++) put(f, width, c->unset[i], k, UINT64_MAX, ORIGIN_REGISTER);
    }
}

/* Where a lane's parameters are. */
static size_t params_at(const Frame *f, uint32_t lane) {
    return (size_t)lane * f->code->param_bytes;
}

static void open_params(const Frame *f) {
    if (!f->bits->params_marked) memset(f->bits->params, 0, params_at(f, LANES));
    f->bits->params_marked = true;
}

void undefined_pass(uint32_t mask, const Frame *from, const uint32_t *from_at, const Frame *to,
                    const uint32_t *to_at, const uint32_t *size, int n) {
    if (!from->bits->params_marked && !to->bits->params_marked) return;
    open_params(from);
    open_params(to);
    for (; mask; mask &= mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(mask);
        for (int k = 0; k < n; k++) {
            size_t a = params_at(from, i) + from_at[k], b = params_at(to, i) + to_at[k];
            memcpy(to->bits->params + b, from->bits->params + a, size[k]);
            for (uint32_t at = 0; at < size[k]; at += 4)
                to->bits->params_origin[(b + at) / 4] = from->bits->params_origin[(a + at) / 4];
        }
    }
}

/* --- what becomes of undefined bits --- */

typedef enum Rule {
    RULE_NONE,  /* see undefined_step */
    RULE_ANY,   /* one makes all bits undefined */
    RULE_LEFT,  /* all from the lowest on */
    RULE_TABLE, /* a function of each bit of a, b and c: as of lop3 */
    RULE_SHL,
    RULE_SHR,
    RULE_SAR,
    RULE_SIGNED, /* the low bits of a, extended: x bits are cut off */
    RULE_UNSIGNED,
    RULE_PACK,
    RULE_EQUAL
} Rule;

typedef struct OpRule {
    uint8_t rule, table;
    char width[5]; /* of d, a, b, c; ' ': none */
} OpRule;

enum { T_A = 0xf0, T_AND = 0xc0, T_OR = 0xfc, T_XOR = 0x3c, T_NOT = 0x0f, T_SELECT = 0xe4 };

#define R(op, rule, table, widths) [OP_##op] = {RULE_##rule, table, widths}
static const OpRule rules[OP_COUNT] = {
    R(MOV32, TABLE, T_A, "ww  "),
    R(MOV64, TABLE, T_A, "qq  "),
    R(PACK, PACK, 0, "qww "),
    R(AND_P, TABLE, T_AND, "ppp "),
    R(OR_P, TABLE, T_OR, "ppp "),
    R(XOR_P, TABLE, T_XOR, "ppp "),
    R(NOT_P, TABLE, T_NOT, "pp  "),
    R(MOV_P, TABLE, T_A, "pp  "),
    R(ADD32, LEFT, 0, "www "),
    R(SUB32, LEFT, 0, "www "),
    R(MUL32, LEFT, 0, "www "),
    R(MAD32, LEFT, 0, "wwww"),
    R(NEG32, LEFT, 0, "ww  "),
    R(AND32, TABLE, T_AND, "www "),
    R(OR32, TABLE, T_OR, "www "),
    R(XOR32, TABLE, T_XOR, "www "),
    R(NOT32, TABLE, T_NOT, "ww  "),
    R(SHL32, SHL, 0, "www "),
    R(SHR32_U, SHR, 0, "www "),
    R(SHR32_S, SAR, 0, "www "),
    R(MIN32_S, ANY, 0, "www "),
    R(MIN32_U, ANY, 0, "www "),
    R(MAX32_S, ANY, 0, "www "),
    R(MAX32_U, ANY, 0, "www "),
    R(DIV32_S, ANY, 0, "www "),
    R(DIV32_U, ANY, 0, "www "),
    R(REM32_S, ANY, 0, "www "),
    R(REM32_U, ANY, 0, "www "),
    R(ABS32, ANY, 0, "ww  "),
    R(MULHI32_S, ANY, 0, "www "),
    R(MULHI32_U, ANY, 0, "www "),
    R(MULW_S, LEFT, 0, "qww "),
    R(MULW_U, LEFT, 0, "qww "),
    R(MADW_S, LEFT, 0, "qwwq"),
    R(MADW_U, LEFT, 0, "qwwq"),
    R(ADD64, LEFT, 0, "qqq "),
    R(SUB64, LEFT, 0, "qqq "),
    R(MUL64, LEFT, 0, "qqq "),
    R(MAD64, LEFT, 0, "qqqq"),
    R(NEG64, LEFT, 0, "qq  "),
    R(AND64, TABLE, T_AND, "qqq "),
    R(OR64, TABLE, T_OR, "qqq "),
    R(XOR64, TABLE, T_XOR, "qqq "),
    R(NOT64, TABLE, T_NOT, "qq  "),
    R(SHL64, SHL, 0, "qqw "),
    R(SHR64_U, SHR, 0, "qqw "),
    R(SHR64_S, SAR, 0, "qqw "),
    R(MIN64_S, ANY, 0, "qqq "),
    R(MIN64_U, ANY, 0, "qqq "),
    R(MAX64_S, ANY, 0, "qqq "),
    R(MAX64_U, ANY, 0, "qqq "),
    R(EXT32_S, SIGNED, 0, "ww  "),
    R(EXT32_U, UNSIGNED, 0, "ww  "),
    R(EXT64_S, SIGNED, 0, "qq  "),
    R(EXT64_U, UNSIGNED, 0, "qq  "),
    R(WIDEN_S, SIGNED, 0, "qw  "),
    R(WIDEN_U, UNSIGNED, 0, "qw  "),
    R(NARROW, TABLE, T_A, "wq  "),
    R(SELP32, TABLE, T_SELECT, "wwwp"),
    R(SELP64, TABLE, T_SELECT, "qqqp"),
    R(LOP3, TABLE, 0, "wwww"),
    R(EQ32, EQUAL, 0, "pww "),
    R(EQ64, EQUAL, 0, "pqq "),
    R(LT32_S, ANY, 0, "pww "),
    R(LT32_U, ANY, 0, "pww "),
    R(LT64_S, ANY, 0, "pqq "),
    R(LT64_U, ANY, 0, "pqq "),
    R(EQ_F, ANY, 0, "pww "),
    R(NE_F, ANY, 0, "pww "),
    R(LT_F, ANY, 0, "pww "),
    R(LE_F, ANY, 0, "pww "),
    R(NUM_F, ANY, 0, "pww "),
    R(EQ_D, ANY, 0, "pqq "),
    R(NE_D, ANY, 0, "pqq "),
    R(LT_D, ANY, 0, "pqq "),
    R(LE_D, ANY, 0, "pqq "),
    R(NUM_D, ANY, 0, "pqq "),
    R(ADD_F, ANY, 0, "www "),
    R(SUB_F, ANY, 0, "www "),
    R(MUL_F, ANY, 0, "www "),
    R(FMA_F, ANY, 0, "wwww"),
    R(ADD_N, ANY, 0, "www "),
    R(SUB_N, ANY, 0, "www "),
    R(MUL_N, ANY, 0, "www "),
    R(FMA_N, ANY, 0, "wwww"),
    R(FMA_F_X3, ANY, 0, "wwww"),
    R(FMA_N_X3, ANY, 0, "wwww"),
    R(WEIGH_SHARED, ANY, 0, "www "),
    R(WEIGH_SHARED_N, ANY, 0, "www "),
    R(ADD_FZ, ANY, 0, "www "),
    R(SUB_FZ, ANY, 0, "www "),
    R(MUL_FZ, ANY, 0, "www "),
    R(FMA_FZ, ANY, 0, "wwww"),
    R(DIV_F, ANY, 0, "www "),
    R(SQRT_F, ANY, 0, "ww  "),
    R(MIN_F, ANY, 0, "www "),
    R(MAX_F, ANY, 0, "www "),
    R(FTZ_F, ANY, 0, "ww  "),
    R(SAT_F, ANY, 0, "ww  "),
    R(ADD_D, ANY, 0, "qqq "),
    R(SUB_D, ANY, 0, "qqq "),
    R(MUL_D, ANY, 0, "qqq "),
    R(FMA_D, ANY, 0, "qqqq"),
    R(DIV_D, ANY, 0, "qqq "),
    R(SQRT_D, ANY, 0, "qq  "),
    R(CVT_F_S32, ANY, 0, "ww  "),
    R(CVT_F_U32, ANY, 0, "ww  "),
    R(CVT_S32_F, ANY, 0, "ww  "),
    R(CVT_S32_F_RN, ANY, 0, "ww  "),
    R(CVT_D_S32, ANY, 0, "qw  "),
    R(CVT_D_F, ANY, 0, "qw  "),
    R(CVT_F_D, ANY, 0, "wq  "),
    R(TRUNC_F, ANY, 0, "ww  "),
    R(FLOOR_F, ANY, 0, "ww  "),
    R(CEIL_F, ANY, 0, "ww  "),
    R(RINT_F, ANY, 0, "ww  "),
};
#undef R

typedef struct Operand {
    uint64_t value, undefined;
} Operand;

/* Returns the result's undefined bits: 0 for some value of the undefined inputs, 1 for another. */
static uint64_t by_table(uint8_t table, const Operand x[3]) {
    uint64_t seen[2] = {0, 0};
    for (int k = 0; k < 8; k++) {
        uint64_t can = UINT64_MAX;
        for (int i = 0; i < 3; i++) {
            uint64_t one = k >> (2 - i) & 1 ? x[i].value : ~x[i].value;
            can &= one | x[i].undefined;
        }
        seen[table >> k & 1] |= can;
    }
    return seen[0] & seen[1];
}

static uint64_t shifted(Rule rule, bool wide, const Operand x[3]) {
    uint64_t n = x[1].value, bits = x[0].undefined;
    if (x[1].undefined) return UINT64_MAX;
    if (rule == RULE_SAR && !wide) bits = (uint64_t)(int64_t)(int32_t)bits;
    if (rule == RULE_SAR) return (uint64_t)((int64_t)bits >> (n < 63 ? n : 63));
    if (n >= 64) return 0;
    return rule == RULE_SHL ? bits << n : bits >> n;
}

/* x: bits that are cut off; of 32, where the operand has so many. */
static uint64_t extended(Rule rule, unsigned cut, uint64_t bits) {
    bits <<= cut;
    return rule == RULE_SIGNED ? (uint64_t)((int64_t)bits >> cut) : bits >> cut;
}

static uint64_t outcome(const OpRule *r, const Ins *in, const Operand x[3]) {
    uint64_t all = x[0].undefined | x[1].undefined | x[2].undefined;
    bool wide = r->width[1] == 'q';
    switch ((Rule)r->rule) {
    case RULE_LEFT: return all | (0 - all);
    case RULE_TABLE: return by_table(in->op == OP_LOP3 ? (uint8_t)in->imm : r->table, x);
    case RULE_SHL:
    case RULE_SHR:
    case RULE_SAR: return shifted((Rule)r->rule, wide, x);
    case RULE_SIGNED:
    case RULE_UNSIGNED:
        return extended((Rule)r->rule, (in->x & 63u) + (wide ? 0 : 32), x[0].undefined);
    case RULE_PACK: return x[0].undefined | x[1].undefined << 32;
    case RULE_EQUAL:
        return all && ((x[0].value ^ x[1].value) & ~(x[0].undefined | x[1].undefined)) == 0;
    default: return all ? UINT64_MAX : 0;
    }
}

static bool is_row(char width) {
    return width > ' ';
}

/* The value of a predicate is the same in all bits, so that it may choose between words. */
static Operand operand(const Warp *w, const Frame *f, char width, uint32_t row, int lane,
                       uint32_t *origin) {
    if (!is_row(width)) return (Operand){0, 0};
    Operand x = {lane_bits(w->file, width, row, lane), 0};
    if (width_at(f->code, row)) x.undefined = get(f, width, row, lane, origin);
    if (width == 'p') x.value = 0 - x.value, x.undefined = 0 - x.undefined;
    return x;
}

static void follow(const Warp *w, const Frame *f, const Ins *in, const OpRule *r) {
    const uint32_t row[3] = {in->a, in->b, in->c};
    FOR_ACTIVE(w, i) {
        uint32_t origin = ORIGIN_NONE;
        Operand x[3];
        for (int k = 0; k < 3; k++) x[k] = operand(w, f, r->width[1 + k], row[k], (int)i, &origin);
        uint64_t bits = outcome(r, in, x) & full(r->width[0]);
        put(f, r->width[0], in->d, (int)i, origin ? bits : 0, origin);
    }
    tidy(f, r->width[0], in->d);
}

static void follow_unpack(const Warp *w, const Frame *f, const Ins *in) {
    FOR_ACTIVE(w, i) {
        uint32_t origin = ORIGIN_NONE;
        uint64_t bits = undefined_row(f, in->a, (int)i, &origin);
        put(f, 'w', in->d, (int)i, (uint32_t)bits, origin);
        put(f, 'w', in->c, (int)i, bits >> 32, origin);
    }
    tidy(f, 'w', in->d);
    tidy(f, 'w', in->c);
}

/* --- operations of the slow kind, told apart by the PTX instruction --- */

/* Those that only move bits about: they are done with the undefined bits in the operands' place.
** controls: which of a, b, c say where to. */
static const struct {
    const char *opcode;
    int controls;
} movers[] = {{"prmt", 4}, {"shf", 4}, {"brev", 0}, {"bfe", 6}, {"bfi", 4}, {"szext", 2}};

/* Puts rows of controls, which are defined, among the undefined bits; and takes them away. */
static void lend(const Warp *w, const Frame *f, uint32_t row, uint8_t kept[ROW64]) {
    memcpy(kept, f->bits->bits + row, ROW32);
    memcpy(f->bits->bits + row, w->file + row, ROW32);
}

static void zero_defined(const Frame *f, uint32_t row) {
    char width = width_at(f->code, row);
    if (width && !f->bits->mark[row / 4]) memset(f->bits->bits + row, 0, row_bytes(width));
}

static bool is_defined(const Warp *w, const Frame *f, uint32_t row, uint32_t *origin) {
    uint64_t any = 0;
    FOR_ACTIVE(w, i) any |= undefined_row(f, row, (int)i, origin);
    return any == 0;
}

static bool follow_mover(Machine *m, Warp *w, Frame *f, const Ins *in, int controls) {
    uint32_t row[4] = {in->a, in->b, in->c, (uint32_t)in->imm}, data[3], origin = ORIGIN_NONE;
    uint8_t kept[4][ROW64], *file = w->file;
    int n_data = 0;
    if (f->code->func->code[f->code->place[in - f->code->ins].index].n_args == 5) controls |= 8;
    for (int k = 0; k < 4; k++)
        if (controls >> k & 1 && !is_defined(w, f, row[k], &origin)) return false;
    for (int k = 0; k < 3; k++)
        if (!(controls >> k & 1)) zero_defined(f, row[k]), data[n_data++] = row[k];
    zero_defined(f, in->d);
    uint32_t origins[LANES];
    FOR_ACTIVE(w, i) {
        origins[i] = ORIGIN_NONE;
        for (int k = 0; k < n_data; k++) undefined_row(f, data[k], (int)i, &origins[i]);
    }
    for (int k = 0; k < 4; k++)
        if (controls >> k & 1) lend(w, f, row[k], kept[k]);
    w->file = f->bits->bits;
    f->code->slow[in->x](m, w, in);
    w->file = file;
    for (int k = 3; k >= 0; k--)
        if (controls >> k & 1 && row[k] != in->d) memcpy(f->bits->bits + row[k], kept[k], ROW32);
    char width = width_at(f->code, in->d);
    FOR_ACTIVE(w, i)
    undefined_set(f, in->d, (int)i, width ? lane_bits(f->bits->bits, width, in->d, (int)i) : 0,
                  origins[i]);
    return true;
}

static void follow_slow(const Warp *w, const Frame *f, const Ins *in) {
    OpRule r = {RULE_ANY, 0, {0}};
    const uint32_t row[4] = {in->d, in->a, in->b, in->c};
    for (int k = 0; k < 4; k++) r.width[k] = width_at(f->code, row[k]);
    if (is_row(r.width[0])) follow(w, f, in, &r);
}

/* Does printf print what was stored undefined? (Room between its arguments nobody stored.) */
static void use_printed(Machine *m, Warp *w, const Ins *in, const CallForm *c, const Frame *f) {
    FOR_ACTIVE(w, i) {
        uint64_t at;
        memcpy(&at, f->params + (size_t)i * f->code->param_bytes + c->arg[1], sizeof at);
        if (at >> ID_SHIFT != ID_LOCAL) continue;
        for (uint64_t k = at & OFFSET_MASK; k < w->local_top; k += 4)
            origin_matters(m, w, in, (int)i, shadow_local_origin(m, w, (int)i, k), "is printed");
    }
}

static void use_arguments(Machine *m, Warp *w, const Ins *in, const Frame *f) {
    const CallForm *c = &f->code->call[in->imm];
    if (c->of->run == library_print) use_printed(m, w, in, c, f);
    if (!f->bits->params_marked) return;
    FOR_ACTIVE(w, i) {
        size_t at = params_at(f, i);
        for (int k = 0; k < c->n_args; k++)
            for (uint32_t b = c->arg[k]; b < c->arg[k] + c->arg_size[k]; b++)
                if (f->bits->params[at + b])
                    origin_matters(m, w, in, (int)i, f->bits->params_origin[(at + b) / 4],
                                   "is given to a function of CUDA");
        for (int k = 0; k < c->n_rets; k++)
            memset(f->bits->params + at + c->ret[k], 0, c->ret_size[k]);
    }
}

static void use_texels(Machine *m, Warp *w, const Ins *in, const Frame *f) {
    const TexForm *t = &f->code->tex[in->imm];
    use(m, w, in, f, t->handle, "decides an address");
    for (int k = 0; k < t->dims + t->cube + t->layered; k++)
        use(m, w, in, f, t->coord[k], "decides an address");
    for (int k = 0; k < t->count && !t->is_store; k++)
        if (!(t->unused >> k & 1)) clean(w, f, t->reg[k]);
}

static int step_slow(Machine *m, Warp *w, const Ins *in, Frame *f) {
    int index = f->code->place[in - f->code->ins].index;
    const PtxInstr *ptx = index >= 0 ? &f->code->func->code[index] : NULL;
    const uint8_t *mark = f->bits->mark;
    if (ptx && ptx_is(ptx, "call")) return use_arguments(m, w, in, f), OP_SLOW;
    if (ptx && ptx_is(ptx, "suld sust sured")) return use_texels(m, w, in, f), OP_SLOW;
    if (!(mark[in->a / 4] | mark[in->b / 4] | mark[in->c / 4] | mark[in->d / 4])) return OP_SLOW;
    bool copies = ptx && (ptx_is(ptx, "cp") || ptx_has_mod(ptx, "async"));
    if (ptx && ((ptx_is(ptx, "atom red st discard") && !copies) || ptx_is(ptx, "mbarrier")))
        return use(m, w, in, f, in->a, "decides an address"), OP_SLOW;
    if (copies) {
        use(m, w, in, f, in->d, "decides an address");
        use(m, w, in, f, in->a, "decides an address");
        use(m, w, in, f, in->b, "decides how much is copied");
        return OP_SLOW;
    }
    for (size_t k = 0; ptx && k < sizeof movers / sizeof *movers; k++)
        if (ptx_is(ptx, movers[k].opcode) && follow_mover(m, w, f, in, movers[k].controls))
            return OP_SLOW;
    follow_slow(w, f, in);
    return OP_SLOW;
}

/* --- memory --- */

void undefined_loaded(const Machine *m, const Warp *w, const MemForm *f, int lane) {
    const Frame *frame = &w->s.frame[w->frame];
    uint8_t bytes[32];
    for (int k = 0; k < 32; k++) bytes[k] = m->undefined.bytes >> k & 1 ? 0xff : 0;
    for (int k = 0; k < f->count; k++) {
        char width = f->bits[k] == 64 ? 'q' : 'w';
        uint64_t bits = element_read(bytes + k * f->size, f, k);
        if (width_at(frame->code, f->reg[k]))
            put(frame, width, f->reg[k], lane, bits & full(width), m->undefined.origin);
    }
}

void undefined_stored(Machine *m, const Warp *w, const MemForm *f, int lane, PtxSpace space,
                      uint64_t address) {
    const Frame *frame = &w->s.frame[w->frame];
    Alloc *a = space == PTX_GLOBAL || space == PTX_GENERIC ? alloc_of(m->emu, address) : NULL;
    uint32_t undefined = 0, origin = ORIGIN_NONE;
    if (a) alloc_stored(a, f->size);
    for (int k = 0; k < f->count; k++) {
        uint64_t bits = undefined_row(frame, f->reg[k], lane, &origin);
        for (unsigned b = 0; b < f->size; b++)
            if (bits >> (8 * b) & 0xff) undefined |= 1u << ((unsigned)k * f->size + b);
    }
    if (undefined) shadow_define(m, w, lane, space, address, f->bytes, undefined, origin);
}

void undefined_atomic(Machine *m, const Warp *w, const Ins *in, int lane, uint64_t address) {
    const Frame *f = &w->s.frame[w->frame];
    AtomForm form;
    memcpy(&form, &in->imm, sizeof form);
    uint32_t found = m->undefined.bytes, all = (uint32_t)((1ull << form.size) - 1);
    uint32_t origin = found ? m->undefined.origin : ORIGIN_NONE, given = ORIGIN_NONE;
    uint64_t old = 0, value = undefined_row(f, in->b, lane, &given);
    if (form.op == ATOM_CAS) value |= undefined_row(f, in->c, lane, &given);
    for (unsigned k = 0; k < form.size; k++)
        if (found >> k & 1) old |= (uint64_t)0xff << 8 * k;
    if (form.is_read) undefined_set(f, in->d, lane, old, origin);
    bool left = value || (found && form.op != ATOM_EXCH);
    if (left || found)
        shadow_define(m, w, lane, (PtxSpace)form.space, address, form.size, left ? all : 0,
                      given ? given : origin);
}

/* Returns the results of a fetch that texel k's undefined bytes decide: that of each channel, or
** the k-th of a gather. */
static uint32_t decided_by(const TexForm *f, int size, int k, uint32_t bytes) {
    uint32_t results = 0, all = (1u << size) - 1;
    if (f->gather) return bytes >> (f->gather - 1) * size & all ? 1u << k : 0;
    for (int c = 0; c < f->count; c++) results |= (uint32_t)((bytes >> c * size & all) != 0) << c;
    return results;
}

void undefined_fetched(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                       const TexSlot *slot, const TexCoord *at) {
    Alloc *a = &m->emu->alloc[slot->memory];
    int size = tex_channel_bytes(&slot->t);
    unsigned bytes = (unsigned)(size * slot->t.channels);
    uint32_t results = 0, origin = ORIGIN_NONE;
    int64_t offset[8];
    int n = tex_reads(&slot->t, at, offset);
    for (int k = 0; k < n; k++) {
        if (offset[k] < 0) continue;
        uint64_t address = slot_address(m->emu, slot, offset[k]);
        shadow_texel(&(Access){m, w, in, lane, PTX_GLOBAL, address, bytes, false, 0}, a);
        uint32_t decided = decided_by(f, size, k, m->undefined.bytes);
        if (decided) origin = origin_both(m->emu->origins, origin, m->undefined.origin);
        results |= decided;
    }
    for (int k = 0; k < f->count; k++)
        if (results >> k & 1 && !(f->unused >> k & 1))
            undefined_set(&w->s.frame[w->frame], f->reg[k], lane, FULL_MASK, origin);
}

/* The undefined bytes of the registers that a store to a surface takes. */
static uint32_t surface_registers(const Frame *frame, const TexForm *f, int lane,
                                  uint32_t *origin) {
    uint32_t undefined = 0;
    for (int k = 0; k < f->count; k++) {
        uint64_t bits = undefined_row(frame, f->reg[k], lane, origin);
        for (int b = 0; b < f->size; b++)
            if (bits >> 8 * b & 0xff) undefined |= 1u << (k * f->size + b);
    }
    return undefined;
}

void undefined_surface(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                       const TexSlot *slot, int64_t offset) {
    const Frame *frame = &w->s.frame[w->frame];
    uint32_t found = m->undefined.bytes, from = found ? m->undefined.origin : ORIGIN_NONE;
    uint32_t bytes = (uint32_t)(f->size * f->count), given = ORIGIN_NONE;
    if (f->is_store) {
        uint32_t left = surface_registers(frame, f, lane, &given);
        if (f->is_format) {
            bytes = (uint32_t)tex_texel_bytes(&slot->t);
            if (left) left = (1u << bytes) - 1;
        }
        if (left && slot->memory < 0)
            origin_matters(m, w, in, lane, given, "is written to a surface");
        if (f->reduce && (left | found)) left = (1u << bytes) - 1, given = left ? given : from;
        if (left == 0 || slot->memory < 0) return;
        shadow_define(m, w, lane, PTX_GLOBAL, slot_address(m->emu, slot, offset), bytes, left,
                      given ? given : from);
        return;
    }
    for (int k = 0; k < f->count; k++) {
        uint64_t bits = 0;
        for (int b = 0; b < f->size; b++)
            if (found >> (k * f->size + b) & 1) bits |= (uint64_t)0xff << 8 * b;
        if (bits) undefined_set(frame, f->reg[k], lane, bits, from);
    }
}

/* A function's parameters: what a lane loads or stores there goes as it is. */
static void frame_register(const Frame *f, const MemForm *mem, int k, int lane) {
    size_t at = params_at(f, (uint32_t)lane) + (size_t)mem->offset + (size_t)k * mem->size;
    uint8_t *byte = f->bits->params + at;
    uint32_t *origin = &f->bits->params_origin[at / 4], from = ORIGIN_NONE;
    if (!mem->is_store) {
        undefined_set(f, mem->reg[k], lane, element_read(byte, mem, k), *origin);
        return;
    }
    uint64_t bits = undefined_row(f, mem->reg[k], lane, &from);
    memcpy(byte, &bits, mem->size);
    if (bits) *origin = from;
    if (bits && mem->size == 8) origin[1] = from;
}

static void frame_access(const Warp *w, const Frame *f, const MemForm *mem) {
    bool any = f->bits->params_marked;
    for (int k = 0; k < mem->count; k++) any |= f->bits->mark[mem->reg[k] / 4];
    if (!any) return;
    open_params(f);
    FOR_ACTIVE(w, i)
    for (int k = 0; k < mem->count; k++) frame_register(f, mem, k, (int)i);
}

/* A store of something undefined goes lane by lane: memory.c asks for its bits. */
static int step_memory(Machine *m, Warp *w, const Ins *in, const Frame *f) {
    const MemForm *mem = &f->code->mem[in->imm];
    bool any = false;
    if (mem->bound == BOUND_FRAME) return frame_access(w, f, mem), in->op;
    use(m, w, in, f, mem->base, "decides an address");
    for (int k = 0; k < mem->count; k++) {
        if (mem->is_store) any |= f->bits->mark[mem->reg[k] / 4];
        else if (!(mem->unused >> k & 1)) clean(w, f, mem->reg[k]);
    }
    if (!any) return in->op;
    uint64_t at[LANES];
    mem_addresses(w, mem->base, mem->wide_base, mem->offset, at);
    if (!mem_slow(m, w, in, mem, at)) m->ended = true;
    return STEP_DONE;
}

/* --- the step --- */

static void use_sync(Machine *m, Warp *w, const Ins *in, const Frame *f) {
    const SyncForm *s = &f->code->sync[in->imm];
    if (s->has_mask) use(m, w, in, f, s->mask, "decides which lanes take part");
    if (s->kind == SYNC_MATRIX) {
        use(m, w, in, f, s->value, "decides an address");
        const MatrixForm *form = &f->code->matrix[s->matrix];
        use(m, w, in, f, form->stride, "decides an address");
        if (form->is_sparse) use(m, w, in, f, form->metadata, "decides where numbers of A are");
        for (int k = 0; k < 2 && form->group; k++)
            use(m, w, in, f, form->group->descriptor[k], "decides an address");
        if (form->group) use(m, w, in, f, form->group->scale, "decides what is added to");
    }
    if (s->kind != SYNC_SHFL) return;
    use(m, w, in, f, s->b, "decides from which lane a shuffle reads");
    use(m, w, in, f, s->c, "decides from which lane a shuffle reads");
}

int undefined_step_on(Machine *m, Warp *w, const Ins *in) {
    Frame *f = &w->s.frame[w->frame];
    const uint8_t *mark = f->bits->mark;
    switch (in->op) {
    case OP_BLOCK:
    case OP_JOIN:
    case OP_BRA:
    case OP_RET:
    case OP_EXIT:
    case OP_ASK: break;
    case OP_BRA_IF: use(m, w, in, f, in->a, "decides a branch"); break;
    case OP_SWITCH: use(m, w, in, f, in->a, "decides a branch"); break;
    case OP_CALL:
        if (f->code->call[in->imm].func < 0)
            use(m, w, in, f, f->code->call[in->imm].target, "decides which function is called");
        break;
    case OP_BARRIER:
        if ((in->x & BAR_KIND) < BAR_RED_POPC) break;
        use(m, w, in, f, in->c, "decides what a barrier's reduction gives");
        clean(w, f, in->d);
        break;
    case OP_SYNC: use_sync(m, w, in, f); break;
    case OP_SLOW: return step_slow(m, w, in, f);
    case OP_LDST:
    case OP_LDST_ASK:
    case OP_LOAD_SHARED: return step_memory(m, w, in, f);
    case OP_TEX: use_texels(m, w, in, f); break;
    case OP_LOCAL_ADDRESS: clean(w, f, in->d); break;
    case OP_UNPACK:
        if (mark[in->a / 4] | mark[in->d / 4] | mark[in->c / 4]) follow_unpack(w, f, in);
        break;
    default:
        if (mark[in->a / 4] | mark[in->b / 4] | mark[in->c / 4] | mark[in->d / 4])
            follow(w, f, in, &rules[in->op]);
        if (in->op == OP_FMA_F_X3) return OP_FMA_F; /* one at a time */
        if (in->op == OP_FMA_N_X3) return OP_FMA_N;
    }
    return in->op;
}
