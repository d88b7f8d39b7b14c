/* exec.c - runs one warp: one decoded instruction for its 32 lanes at a time.
**
** Every simple operation is a loop over 32 lanes that the compiler turns into vector code, once for
** warps whose live lanes all run together (results of dead lanes do not matter) and once keeping
** the old value of inactive lanes. Dispatch is threaded: each operation jumps to the next one.
** exec_avx2.c and exec_avx512.c compile this file again; all variants give identical bits, so
** nothing here may depend on contraction, reassociation or the C library's rounding.
*/
#include "emu/exec/vector.h"

#include "emu/cost/banks.h"
#include "emu/decode/bounds.h"
#include "emu/exec/lanes.h"
#include "emu/cost/lines.h"
#include "emu/cost/waits.h"
#include "emu/decode/ops.h"
#include "emu/exec/native.h"
#include "emu/check/undefined.h"
#include "emu/exact/exact.h"
#include "emu/profile.h"

#ifndef EMU_VARIANT
#define EMU_VARIANT exec_base
#endif

static inline void spread_active(Warp *w) {
    uint32_t mask = w->spread = w->active;
    S32 *narrow = w->lane32;
    S64 *wide = w->lane64;
    if (mask == FULL_MASK) {
        memset(w->lane32, 0xff, sizeof w->lane32);
        memset(w->lane64, 0xff, sizeof w->lane64);
        return;
    }
    EACH_LANE narrow[i] = (int32_t)(mask << (31 - i)) >> 31;
    EACH_LANE wide[i] = narrow[i];
}

/* A row's bits, 32 bytes at a time, and whether none of them is set. */
typedef uint64_t Bits __attribute__((vector_size(32), aligned(8), may_alias));

static inline bool none_set(const Bits *v) {
#if defined(EMU_AVX2)
    return _mm256_testz_si256((__m256i)*v, (__m256i)*v);
#else
    return ((*v)[0] | (*v)[1] | (*v)[2] | (*v)[3]) == 0;
#endif
}

/* Do the active lanes of a row of n * 32 bytes all hold what is in the four words? */
static inline bool active_hold(const void *row, const void *lanes, int n, uint64_t word) {
    const Bits *v = row, *active = lanes;
    const Bits all = {word, word, word, word};
    Bits other = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) other |= (v[k] ^ all) & active[k];
    return none_set(&other);
}
static inline bool active_hold32(const Warp *w, const U32 *row, uint32_t word) {
    return active_hold(row, w->lane32, ROW32 / 32, word | (uint64_t)word << 32);
}
static inline bool active_hold64(const Warp *w, const U64 *row, uint64_t word) {
    return active_hold(row, w->lane64, ROW64 / 32, word);
}

/* Do two rows hold the same in the active lanes? */
static inline bool active_same32(const Warp *w, const U32 *x, const U32 *y) {
    const Bits *a = (const Bits *)x, *b = (const Bits *)y, *active = (const Bits *)w->lane32;
    Bits other = {0, 0, 0, 0};
    for (int k = 0; k < ROW32 / 32; k++) other |= (a[k] ^ b[k]) & active[k];
    return none_set(&other);
}

/* Is each of two rows one value throughout? */
static inline bool same_lanes(const void *a, const void *b) {
    const Bits *x = a, *y = b;
    uint64_t p = *(const U32 *)a, q = *(const U32 *)b;
    p |= p << 32, q |= q << 32;
    const Bits first_x = {p, p, p, p}, first_y = {q, q, q, q};
    Bits other = {0, 0, 0, 0};
    for (int k = 0; k < ROW32 / 32; k++) other |= (x[k] ^ first_x) | (y[k] ^ first_y);
    return none_set(&other);
}

#include "emu/exec/exec_num.h"
#include "emu/exec/exec_move.h"
#include "emu/exec/exec_mem.h"

/* d[i] = EXPR for the active lanes; MASK is the lane mask of the width of d. */
#define LANES_DO(TD, TA, TB, TC, MASK, EXPR)                                            \
    {                                                                                   \
        PLACE(TD, d, in->d);                                                            \
        ROW(TA, a, in->a);                                                              \
        ROW(TB, b, in->b);                                                              \
        ROW(TC, c, in->c);                                                              \
        const uint32_t x = in->x & 63; /* a local: rows might alias the instruction */  \
        (void)a, (void)b, (void)c, (void)x;                                             \
        if (__builtin_expect(full || in->x & X_FREE, 1)) EACH_LANE d[i] = (TD)(EXPR);   \
        else EACH_LANE d[i] = MASK[i] ? (TD)(EXPR) : d[i];                              \
    }
#define LANE_OP(NAME, TD, TA, TB, TC, MASK, EXPR)                                       \
    L_##NAME:                                                                           \
    LANES_DO(TD, TA, TB, TC, MASK, EXPR)                                                \
    NEXT;
/* Three in a row of an operation: the jump to the next one takes as long as half of its work. */
#define LANE_OP_X3(NAME, T, EXPR)                                                       \
    L_##NAME##_X3:                                                                      \
    LANES_DO(T, T, T, T, w->lane32, EXPR)                                               \
    in++;                                                                               \
    LANES_DO(T, T, T, T, w->lane32, EXPR)                                               \
    in++;                                                                               \
    LANES_DO(T, T, T, T, w->lane32, EXPR)                                               \
    NEXT;
#define OP32(NAME, T, EXPR) LANE_OP(NAME, T, T, T, T, w->lane32, EXPR)
/* The same for divisions, which are slow: where all lanes divide the same numbers, once. */
#define DIVIDE_OP(NAME, T, EXPR)                                                                   \
    L_##NAME: {                                                                                    \
        PLACE(T, d, in->d);                                                                        \
        ROW(T, a, in->a);                                                                          \
        ROW(T, b, in->b);                                                                          \
        if (same_lanes(a, b)) {                                                                    \
            const int i = 0;                                                                       \
            const T q = (T)(EXPR);                                                                 \
            for (int k = 0; k < LANES; k++) d[k] = w->lane32[k] ? q : d[k];                        \
        } else {                                                                                   \
            EACH_LANE d[i] = w->lane32[i] ? (T)(EXPR) : d[i];                                      \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define OP64(NAME, T, EXPR) LANE_OP(NAME, T, T, T, T, w->lane64, EXPR)

/* d = word * (a * b) + c for three words of shared memory, see fuse.c. */
#define WEIGH_OP(NAME, MASKED, EXPR)                                                    \
    L_##NAME: {                                                                         \
        const MemForm *f = &w->code->mem[in[1].imm];                                    \
        const uint8_t *from = uniform_shared(m, w, f);                                  \
        if (from == NULL) goto L_MUL_N;                                                 \
        if (!f->same_base && m->layouts)                                                \
            m->layouts[f->layout].known = false; /* nobody compared it */               \
        F32 t[LANES] __attribute__((aligned(64)));                                      \
        ROW(F32, a, in->a);                                                             \
        ROW(F32, b, in->b);                                                             \
        EACH_LANE t[i] = a[i] * b[i];                                                   \
        for (int k = 0; k < 3; k++) {                                                   \
            float word;                                                                 \
            memcpy(&word, from + (in->imm >> (8 * k) & 255), 4);                        \
            PLACE(F32, d, in[2 + k].d);                                                 \
            ROW(F32, c, in[2 + k].c);                                                   \
            if (MASKED) EACH_LANE d[i] = w->lane32[i] ? (EXPR) : d[i];                  \
            else EACH_LANE d[i] = (EXPR);                                               \
        }                                                                               \
        in += 4;                                                                        \
        NEXT;                                                                           \
    }

/* Predicate d = COND, or its complement when in->x. */
#define TEST_OP(NAME, T, COND)                                                          \
    L_##NAME: {                                                                         \
        S32 t[LANES] __attribute__((aligned(64)));                                      \
        ROW(T, a, in->a);                                                               \
        ROW(T, b, in->b);                                                               \
        EACH_LANE t[i] = (COND) ? -1 : 0;                                               \
        pred_set(w, in->d, mask_of(t) ^ (in->x & 1 ? FULL_MASK : 0), w->active);        \
        NEXT;                                                                           \
    }

#define PRED_OP(NAME, EXPR)                                                             \
    L_##NAME: {                                                                         \
        uint32_t a = pred_at(w, in->a), b = pred_at(w, in->b);                          \
        (void)b;                                                                        \
        pred_set(w, in->d, (EXPR), w->active);                                          \
        NEXT;                                                                           \
    }

#define NEXT              \
    do {                  \
        in++;             \
        goto *go[in->op]; \
    } while (0)
#define JUMP(index)                    \
    do {                               \
        in = code + (index);           \
        goto *go[in->op];              \
    } while (0)
/* Ends the turn where the warp can do no more. */
#define STOP_OR(what)             \
    do {                          \
        Stop stop = (what);       \
        if (stop) return stop;    \
        RESUME;                   \
    } while (0)
/* After anything that may have changed the path, the frame or the mask. */
#define RESUME                         \
    do {                               \
        code = w->code->ins;           \
        file = w->file;                \
        full = w->active == w->live;   \
        if (w->spread != w->active)    \
            spread_active(w);          \
        in = code + w->pc;             \
        RUN_HERE;                      \
    } while (0)
/* Goes on at `in`, with compiled code where there is some and no lane is kept out. */
#define RUN_HERE                                                       \
    do {                                                               \
        if (compiled && full && w->code->native) {                     \
            const NativeRun *run = &w->code->native[in - code];        \
            if (run->fn) {                                             \
                if (!run->fn(m, w, file)) return STOP_FAULT;           \
                in += run->n;                                          \
            }                                                          \
        }                                                              \
        goto *go[in->op];                                              \
    } while (0)

Stop EMU_VARIANT(Machine *m, Warp *w, const Ins *only) {
    static const void *const label[] = {
#define OP(name) &&L_##name,
        EMU_OPS(OP)
#undef OP
    };
    static const void *const follow[] = {
#define OP(name) &&L_FOLLOW,
        EMU_OPS(OP)
#undef OP
    };
    static const void *const end[] = {
#define OP(name) &&L_END,
        EMU_OPS(OP)
#undef OP
    };
    const void *const *const go =
        only                                                  ? end
        : m->follows || m->launch->exact || m->profile ? follow
                                                              : label;
    const Ins *code, *in;
    uint8_t *file;
    bool full;
    const bool compiled = native_runs(m);

    if (only) {
        code = w->code->ins;
        file = w->file;
        full = w->active == w->live;
        in = only;
        goto *label[in->op];
    }
    RESUME;

L_END:
    return STOP_NOT;

L_FOLLOW: { /* a profile, undefined values, or numbers over the reals, before each instruction */
    if (m->profile) profile_step(m, w, in);
    int op = m->follows ? undefined_step(m, w, in)
             : m->launch->exact ? exact_step(m, w, in)
                                : in->op;
    if (op != STEP_DONE) goto *label[op];
    if (m->ended) return STOP_FAULT;
    NEXT;
}
    /* Control. A basic block begins: paths that meet here, fuel, counts. */
L_BLOCK: {
    int here = (int)(in - code);
    if (in->x && w->s.path[w->n_path - 1].rpc == here) STOP_OR(warp_next_path(m, w));
    if (w->fuel <= 0) {
        w->pc = here;
        return STOP_YIELD;
    }
    const CostBlock *block = (const CostBlock *)(uintptr_t)in->imm;
    CostCount *count = &m->cost.count[in->b];
    count->runs++;
    count->lanes += (uint64_t)__builtin_popcount(w->active);
    w->fuel -= block->n;
    if (w->n_waits) {
        if (block->is_head) waits_late(w, 0);
        waits_enter(w, code_carry(w->code, block));
    }
    w->clock += block->latency;
    in++;
    RUN_HERE;
}
L_JOIN:
    if (w->s.path[w->n_path - 1].rpc == (int)(in - code)) STOP_OR(warp_next_path(m, w));
    in++;
    RUN_HERE;
L_BRA:
    JUMP(in->d);
L_BRA_IF: {
    uint32_t taken = (pred_at(w, in->a) ^ (in->x ? FULL_MASK : 0)) & w->active;
    if (taken == 0) NEXT;
    if (taken == w->active) JUMP(in->d);
    warp_diverge(m, w, taken, (int)in->d, (int)(in - code) + 1, (int)in->c);
    RESUME;
}
L_SWITCH:
    if (!warp_switch(m, w, in)) return STOP_FAULT;
    RESUME;
L_CALL:
    if (!warp_call(m, w, in)) return STOP_FAULT;
    RESUME;
L_RET:
    STOP_OR(warp_return(m, w));
L_EXIT:
    STOP_OR(warp_exit(m, w));
L_BARRIER:
    STOP_OR(barrier_reach(m, w, in));
L_SYNC:
    w->pc = (int)(in - code) + 1;
    STOP_OR(sync_run(m, w, in));
L_ASK:
    warp_fence(w);
    NEXT;
L_SLOW:
    w->at = in;
    if (!w->code->slow[in->x](m, w, in)) return STOP_FAULT;
    NEXT;
L_LDST:
    w->at = in;
    if (!load_store(m, w, in, &w->code->mem[in->imm])) return STOP_FAULT;
    NEXT;
L_LDST_ASK: { /* a load of what others may change */
    const MemForm *f = &w->code->mem[in->imm];
    uint64_t where = mem_where(w, f), first = mem_first(w, f);
    bool looked = w->looked;
    w->looked = false;
    w->at = in;
    if (!load_store(m, w, in, f)) return STOP_FAULT;
    w->beyond |= w->looked;
    w->looked = looked;
    warp_saw(w, in, mem_what(w, f, where), (PtxSpace)f->space, first);
    NEXT;
}
L_LOAD_SHARED:
    if (!load_shared(m, w, in, &w->code->mem[in->imm])) return STOP_FAULT;
    NEXT;
L_TEX:
    w->at = in;
    if (!texture(m, w, in, &w->code->tex[in->imm])) return STOP_FAULT;
    NEXT;
L_LOCAL_ADDRESS: {
    uint64_t value = w->s.frame[w->frame].local_base + in->imm;
    PLACE(U64, d, in->d);
    if (full || in->x & X_FREE) EACH_LANE d[i] = value;
    else EACH_LANE d[i] = w->lane64[i] ? value : d[i];
    NEXT;
}

    /* Moves, packs, predicates. */
    OP32(MOV32, U32, a[i])
    OP64(MOV64, U64, a[i])
    LANE_OP(PACK, U64, U32, U32, U32, w->lane64, a[i] | (uint64_t)b[i] << 32)
L_UNPACK: { /* d, c = low, high half of a */
    PLACE(U32, d, in->d);
    PLACE(U32, c, in->c);
    ROW(U64, a, in->a);
    EACH_LANE d[i] = w->lane32[i] ? (uint32_t)a[i] : d[i];
    EACH_LANE c[i] = w->lane32[i] ? (uint32_t)(a[i] >> 32) : c[i];
    NEXT;
}
    PRED_OP(AND_P, a & b)
    PRED_OP(OR_P, a | b)
    PRED_OP(XOR_P, a ^ b)
    PRED_OP(NOT_P, ~a)
    PRED_OP(MOV_P, a)

    /* Integers of 32 bits; 8- and 16-bit forms are made of these. */
    OP32(ADD32, U32, a[i] + b[i])
    OP32(SUB32, U32, a[i] - b[i])
    OP32(MUL32, U32, a[i] * b[i])
    OP32(MAD32, U32, a[i] * b[i] + c[i])
    OP32(NEG32, U32, 0u - a[i])
    OP32(AND32, U32, a[i] & b[i])
    OP32(OR32, U32, a[i] | b[i])
    OP32(XOR32, U32, a[i] ^ b[i])
    OP32(NOT32, U32, ~a[i])
    OP32(SHL32, U32, b[i] < 32 ? a[i] << (b[i] & 31) : 0)
    OP32(SHR32_U, U32, b[i] < 32 ? a[i] >> (b[i] & 31) : 0)
    LANE_OP(SHR32_S, S32, S32, U32, S32, w->lane32, a[i] >> (b[i] < 31 ? b[i] : 31))
    OP32(MIN32_S, S32, a[i] < b[i] ? a[i] : b[i])
    OP32(MIN32_U, U32, a[i] < b[i] ? a[i] : b[i])
    OP32(MAX32_S, S32, a[i] > b[i] ? a[i] : b[i])
    OP32(MAX32_U, U32, a[i] > b[i] ? a[i] : b[i])
    DIVIDE_OP(DIV32_S, S32, div_s32(a[i], b[i]))
    DIVIDE_OP(DIV32_U, U32, div_u32(a[i], b[i]))
    LANE_OP(REM32_S, U32, S32, S32, S32, w->lane32,
            b[i] ? (uint32_t)a[i] - (uint32_t)div_s32(a[i], b[i]) * (uint32_t)b[i] : UINT32_MAX)
    OP32(REM32_U, U32, b[i] ? a[i] - div_u32(a[i], b[i]) * b[i] : UINT32_MAX)
    LANE_OP(ABS32, U32, S32, S32, S32, w->lane32, a[i] < 0 ? 0u - (uint32_t)a[i] : (uint32_t)a[i])
    LANE_OP(MULHI32_S, U32, S32, S32, S32, w->lane32, (uint64_t)((int64_t)a[i] * b[i]) >> 32)
    LANE_OP(MULHI32_U, U32, U32, U32, U32, w->lane32, (uint64_t)a[i] * b[i] >> 32)
    LANE_OP(MULW_S, S64, S32, S32, S32, w->lane64, (int64_t)a[i] * b[i])
    LANE_OP(MULW_U, U64, U32, U32, U32, w->lane64, (uint64_t)a[i] * b[i])
    LANE_OP(MADW_S, U64, S32, S32, U64, w->lane64, (uint64_t)((int64_t)a[i] * b[i]) + c[i])
    LANE_OP(MADW_U, U64, U32, U32, U64, w->lane64, (uint64_t)a[i] * b[i] + c[i])

    /* Integers of 64 bits. */
    OP64(ADD64, U64, a[i] + b[i])
    OP64(SUB64, U64, a[i] - b[i])
    OP64(MUL64, U64, a[i] * b[i])
    OP64(MAD64, U64, a[i] * b[i] + c[i])
    OP64(NEG64, U64, 0 - a[i])
    OP64(AND64, U64, a[i] & b[i])
    OP64(OR64, U64, a[i] | b[i])
    OP64(XOR64, U64, a[i] ^ b[i])
    OP64(NOT64, U64, ~a[i])
    LANE_OP(SHL64, U64, U64, U32, U64, w->lane64, b[i] < 64 ? a[i] << (b[i] & 63) : 0)
    LANE_OP(SHR64_U, U64, U64, U32, U64, w->lane64, b[i] < 64 ? a[i] >> (b[i] & 63) : 0)
    LANE_OP(SHR64_S, S64, S64, U32, S64, w->lane64, a[i] >> (b[i] < 63 ? b[i] : 63))
    OP64(MIN64_S, S64, a[i] < b[i] ? a[i] : b[i])
    OP64(MIN64_U, U64, a[i] < b[i] ? a[i] : b[i])
    OP64(MAX64_S, S64, a[i] > b[i] ? a[i] : b[i])
    OP64(MAX64_U, U64, a[i] > b[i] ? a[i] : b[i])

    /* Widths: the low (width - x) bits of a, extended; WIDEN to a 64-bit row, NARROW from one. */
    LANE_OP(EXT32_S, S32, U32, U32, U32, w->lane32, (int32_t)(a[i] << x) >> x)
    OP32(EXT32_U, U32, a[i] << x >> x)
    LANE_OP(EXT64_S, S64, U64, U64, U64, w->lane64, (int64_t)(a[i] << x) >> x)
    OP64(EXT64_U, U64, a[i] << x >> x)
    LANE_OP(WIDEN_S, S64, S32, S32, S32, w->lane64, a[i])
    LANE_OP(WIDEN_U, U64, U32, U32, U32, w->lane64, a[i])
    LANE_OP(NARROW, U32, U64, U64, U64, w->lane32, a[i])

L_SELP32: {
    uint32_t p = pred_at(w, in->c);
    PLACE(U32, d, in->d);
    ROW(U32, a, in->a);
    ROW(U32, b, in->b);
    if (full || in->x & X_FREE) EACH_LANE d[i] = p >> i & 1 ? a[i] : b[i];
    else EACH_LANE d[i] = w->lane32[i] ? p >> i & 1 ? a[i] : b[i] : d[i];
    NEXT;
}
L_SELP64: {
    uint64_t p = pred_at(w, in->c);
    PLACE(U64, d, in->d);
    ROW(U64, a, in->a);
    ROW(U64, b, in->b);
    EACH_LANE d[i] = w->lane64[i] ? p >> i & 1 ? a[i] : b[i] : d[i];
    NEXT;
}
L_LOP3: { /* any function of three bits, as the exclusive or of its minterms */
    PLACE(U32, d, in->d);
    ROW(U32, a, in->a);
    ROW(U32, b, in->b);
    ROW(U32, c, in->c);
    uint32_t on[8];
    for (int k = 0; k < 8; k++) on[k] = in->imm >> k & 1 ? FULL_MASK : 0;
    EACH_LANE {
        uint32_t x = ~a[i] & ((~b[i] & ((~c[i] & on[0]) | (c[i] & on[1]))) |
                              (b[i] & ((~c[i] & on[2]) | (c[i] & on[3]))));
        uint32_t y = a[i] & ((~b[i] & ((~c[i] & on[4]) | (c[i] & on[5]))) |
                             (b[i] & ((~c[i] & on[6]) | (c[i] & on[7]))));
        d[i] = w->lane32[i] ? x | y : d[i];
    }
    NEXT;
}

    /* Comparisons; the others are these with operands exchanged or the result complemented. */
    TEST_OP(EQ32, U32, a[i] == b[i])
    TEST_OP(LT32_S, S32, a[i] < b[i])
    TEST_OP(LT32_U, U32, a[i] < b[i])
    TEST_OP(EQ64, U64, a[i] == b[i])
    TEST_OP(LT64_S, S64, a[i] < b[i])
    TEST_OP(LT64_U, U64, a[i] < b[i])
    TEST_OP(EQ_F, F32, a[i] == b[i])
    TEST_OP(NE_F, F32, a[i] < b[i] || a[i] > b[i])
    TEST_OP(LT_F, F32, a[i] < b[i])
    TEST_OP(LE_F, F32, a[i] <= b[i])
    TEST_OP(NUM_F, F32, a[i] == a[i] && b[i] == b[i])
    TEST_OP(EQ_D, F64, a[i] == b[i])
    TEST_OP(NE_D, F64, a[i] < b[i] || a[i] > b[i])
    TEST_OP(LT_D, F64, a[i] < b[i])
    TEST_OP(LE_D, F64, a[i] <= b[i])
    TEST_OP(NUM_D, F64, a[i] == a[i] && b[i] == b[i])

    /* f32: NaN results are the canonical one. Z: subnormals flushed. */
    OP32(ADD_F, F32, canon(a[i] + b[i]))
    OP32(SUB_F, F32, canon(a[i] - b[i]))
    OP32(MUL_F, F32, canon(a[i] * b[i]))
    OP32(FMA_F, F32, canon(fmaf(a[i], b[i], c[i])))
    OP32(ADD_N, F32, a[i] + b[i])
    OP32(SUB_N, F32, a[i] - b[i])
    OP32(MUL_N, F32, a[i] * b[i])
    OP32(FMA_N, F32, fmaf(a[i], b[i], c[i]))
    LANE_OP_X3(FMA_F, F32, canon(fmaf(a[i], b[i], c[i])))
    LANE_OP_X3(FMA_N, F32, fmaf(a[i], b[i], c[i]))
    WEIGH_OP(WEIGH_SHARED, true, canon(fmaf(word, t[i], c[i])))
    WEIGH_OP(WEIGH_SHARED_N, false, fmaf(word, t[i], c[i]))
    OP32(ADD_FZ, F32, flush(canon(flush(a[i]) + flush(b[i]))))
    OP32(SUB_FZ, F32, flush(canon(flush(a[i]) - flush(b[i]))))
    OP32(MUL_FZ, F32, canon(mul_fz(flush(a[i]), flush(b[i]))))
    OP32(FMA_FZ, F32, canon(fma_fz(flush(a[i]), flush(b[i]), flush(c[i]))))
    OP32(DIV_F, F32, canon(a[i] / b[i]))
    OP32(SQRT_F, F32, canon(sqrtf(a[i])))
    OP32(MIN_F, F32, min_f(a[i], b[i]))
    OP32(MAX_F, F32, max_f(a[i], b[i]))
    OP32(FTZ_F, F32, flush(a[i]))
    OP32(SAT_F, F32, saturate(a[i]))

    /* f64 */
    OP64(ADD_D, F64, pass_nan(a[i], b[i], a[i], a[i] + b[i]))
    OP64(SUB_D, F64, pass_nan(a[i], b[i], a[i], a[i] - b[i]))
    OP64(MUL_D, F64, pass_nan(a[i], b[i], a[i], a[i] * b[i]))
    OP64(FMA_D, F64, pass_nan(a[i], b[i], c[i], fma(a[i], b[i], c[i])))
    OP64(DIV_D, F64, pass_nan(b[i], a[i], a[i], a[i] / b[i]))
    OP64(SQRT_D, F64, pass_nan(a[i], a[i], a[i], sqrt(a[i])))

    /* Conversions; the rest is in slow.c. */
    LANE_OP(CVT_F_S32, F32, S32, S32, S32, w->lane32, (float)a[i])
    LANE_OP(CVT_F_U32, F32, U32, U32, U32, w->lane32, (float)a[i])
    LANE_OP(CVT_S32_F, S32, F32, F32, F32, w->lane32, to_s32(a[i]))
    LANE_OP(CVT_S32_F_RN, S32, F32, F32, F32, w->lane32, to_s32(rintf(a[i])))
    LANE_OP(CVT_D_S32, F64, S32, S32, S32, w->lane64, (double)a[i])
    LANE_OP(CVT_D_F, F64, F32, F32, F32, w->lane64, (double)a[i])
    LANE_OP(CVT_F_D, F32, F64, F64, F64, w->lane32, canon((float)a[i]))
    OP32(TRUNC_F, F32, canon(truncf(a[i])))
    OP32(FLOOR_F, F32, canon(floorf(a[i])))
    OP32(CEIL_F, F32, canon(ceilf(a[i])))
    OP32(RINT_F, F32, canon(rintf(a[i])))
}
