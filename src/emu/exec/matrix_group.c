/* matrix_group.c - see matrix_group.h. */
#include "emu/exec/matrix_group.h"

#include "emu/check/undefined.h"
#include "emu/exec/async.h"
#include "emu/exec/lanes.h"
#include "emu/exec/matrix_sum.h"
#include "emu/view.h"

#include <stdlib.h>
#include <string.h>

/* --- registers that belong to products under way --- */

typedef struct Held {
    uint32_t row, group;
    int frame;
    bool is_sum; /* else of A */
} Held;

typedef struct Piece { /* 16 bytes of shared memory that a product reads */
    uint64_t at;
    uint32_t group;
    const Code *code;
    const Ins *in;
} Piece;

struct Groups {
    Held *at;
    int n, cap;
    uint32_t committed; /* groups */
    uint32_t due;       /* groups that a warp waits for, at GROUP_BARRIER */
    Piece *piece;       /* with checks */
    int n_pieces, cap_pieces;
};

void groups_begin(Groups *g) {
    if (g == NULL) return;
    g->n = 0;
    g->committed = 0;
    g->n_pieces = 0;
}

void groups_free(Groups *g) {
    if (g == NULL) return;
    free(g->at);
    free(g->piece);
    free(g);
}

static Groups *groups_of(Warp *w) {
    if (w->s.groups == NULL) w->s.groups = gi_alloc(sizeof *w->s.groups);
    return w->s.groups;
}

static Held *held(const Warp *w, uint32_t row) {
    Groups *g = w->s.groups;
    for (int i = 0; g && i < g->n; i++)
        if (g->at[i].row == row && g->at[i].frame == w->frame) return &g->at[i];
    return NULL;
}

static void hold(Warp *w, uint32_t row, uint32_t group, bool is_sum) {
    Groups *g = groups_of(w);
    Held *h = held(w, row);
    if (h == NULL) {
        gi_grow(g->at, g->n, g->cap);
        h = &g->at[g->n++];
    }
    *h = (Held){row, group, w->frame, is_sum};
}

static void release(Warp *w, uint32_t row) {
    Held *h = held(w, row);
    if (h) *h = w->s.groups->at[--w->s.groups->n];
}

bool group_fence(Machine *m, Warp *w, const Ins *in) {
    (void)m, (void)w, (void)in;
    return true;
}

/* The warps of a warp's warpgroup. */
#define EACH_WARP(m, w, other)                                                                     \
    for (Warp *other = (m)->warp + (w)->index / GROUP_WARPS * GROUP_WARPS,                         \
              *end_ = (m)->warp + (m)->n_warps;                                                    \
         other < end_ && other->index / GROUP_WARPS == (w)->index / GROUP_WARPS; other++)

/* Have all warps issued the groups that this one waits for? A product is all warps' or none's. */
static bool all_issued(Machine *m, const Warp *w) {
    EACH_WARP(m, w, other) {
        if (other->state == WARP_DONE) continue;
        if ((other->s.groups ? other->s.groups->committed : 0) < w->s.groups->due) return false;
    }
    return true;
}

/* The groups are over: registers are the program's, and shared memory is no longer read. */
static void finish_groups(Machine *m, const Warp *w) {
    Groups *own = w->s.groups;
    int kept = 0;
    for (int i = 0; i < own->n; i++)
        if (own->at[i].group >= own->due) own->at[kept++] = own->at[i];
    own->n = kept;
    EACH_WARP(m, w, other) {
        Groups *g = other->state == WARP_DONE ? NULL : other->s.groups;
        kept = 0;
        for (int i = 0; g && i < g->n_pieces; i++)
            if (g->piece[i].group >= own->due) g->piece[kept++] = g->piece[i];
        if (g) g->n_pieces = kept;
    }
}

void group_look(Machine *m, const Warp *w) {
    EACH_WARP(m, w, other) {
        if (other->state != WARP_WAITING || other->barrier != GROUP_BARRIER) continue;
        if (!all_issued(m, other)) continue;
        finish_groups(m, other);
        m->changes++;
        barrier_leave(other, NULL);
    }
}

bool group_commit(Machine *m, Warp *w, const Ins *in) {
    (void)in;
    groups_of(w)->committed++;
    w->moved = true;
    if (m->group_waits) group_look(m, w);
    return true;
}

Stop group_wait(Machine *m, Warp *w) {
    Groups *g = groups_of(w);
    uint32_t pending = w->code->ins[w->pc].x >> BAR_PENDING;
    g->due = g->committed > pending ? g->committed - pending : 0;
    if (all_issued(m, w)) {
        finish_groups(m, w);
        barrier_leave(w, NULL);
        return STOP_NOT;
    }
    if (m->view) return view_leave(m, VIEW_UNSUITED), STOP_FAULT;
    m->group_waits = true;
    w->state = WARP_WAITING;
    w->barrier = GROUP_BARRIER;
    return STOP_WAIT;
}

void groups_look(const Access *a, const Block *b, uint64_t at) {
    for (int k = 0; k < a->m->n_warps; k++) {
        const Groups *g = b->warp[k].state == WARP_DONE ? NULL : b->warp[k].s.groups;
        for (int i = 0; g && i < g->n_pieces; i++) {
            const Piece *p = &g->piece[i];
            if (at >= p->at + 16 || at + a->bytes <= p->at) continue;
            bulk_tell(a, p->code, p->in, "wgmma.mma_async",
                      "still reads: wgmma.wait_group comes first");
            return;
        }
    }
}

/* With checks: the piece is read until the group is over. */
static bool note_piece(Machine *m, Warp *w, const Ins *in, uint64_t at) {
    Groups *g = groups_of(w);
    if (!m->launch->check_races) return true;
    m->has_groups = true;
    gi_grow(g->piece, g->n_pieces, g->cap_pieces);
    g->piece[g->n_pieces++] = (Piece){at, g->committed, w->code, in};
    return shadow_proxy(m, w, in, 0, at, 16, "wgmma.mma_async");
}

bool group_read(Machine *m, Warp *w, const Ins *in) {
    const Held *h = held(w, in->a);
    if (h == NULL) return true;
    return fault_raise(m, w, in, __builtin_ctz(w->active), EMU_LAUNCH_ERROR,
                       "a register of %c is read before wgmma.wait_group has waited for its "
                       "wgmma.mma_async (undefined on a GPU)",
                       h->is_sum ? 'D' : 'A');
}

bool group_write(Machine *m, Warp *w, const Ins *in) {
    const Held *from = in->imm ? held(w, in->a) : NULL;
    (void)m;
    if (from) hold(w, in->d, from->group, from->is_sum);
    else release(w, in->d);
    return true;
}

/* --- matrices in shared memory --- */

typedef struct Place { /* of a descriptor */
    uint64_t bits, start, leading, stride;
    unsigned wide; /* W */
    bool turned;
    char name;
} Place;

static bool bad_descriptor(Machine *m, Warp *w, const Ins *in, const Place *p, const char *why) {
    return fault_raise(m, w, in, 0, EMU_LAUNCH_ERROR,
                       "wgmma.mma_async: the descriptor of %c, 0x%016llx, %s", p->name,
                       (unsigned long long)p->bits, why);
}

static bool read_descriptor(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, int which,
                            Place *p) {
    static const unsigned wide[4] = {1, 8, 4, 2};
    const U64 *row = (const U64 *)(const void *)row_at(w, f->group->descriptor[which]);
    uint64_t d = row[0];
    *p = (Place){.bits = d,
                 .start = (d & 0x3fff) << 4,
                 .leading = (d >> 16 & 0x3fff) << 4,
                 .stride = (d >> 32 & 0x3fff) << 4,
                 .wide = wide[d >> 62],
                 .turned = f->group->turned[which],
                 .name = "AB"[which]};
    for (int i = 1; i < LANES; i++)
        if (row[i] != d) return bad_descriptor(m, w, in, p, "is another one in other lanes");
    if (d >> 49 & 7)
        return bad_descriptor(m, w, in, p,
                              "has a base offset, which is not supported: begin the "
                              "matrix where its swizzle repeats");
    return true;
}

/* Bytes behind the start: of a row and byte along k; turned, of a row and k. */
static uint64_t offset_of(const Place *p, uint64_t row, uint64_t k) {
    uint64_t unit = 16 * p->wide;
    if (!p->turned)
        return row % 8 * unit + row / 8 * p->stride + k / 16 * (p->wide > 1 ? 16 : p->leading) +
               k % 16;
    uint64_t rows = p->wide > 1 ? p->leading : p->stride;
    uint64_t along = p->wide > 1 ? p->stride : p->leading;
    return row % 8 * 2 + row / 8 % p->wide * 16 + row / (8 * p->wide) * rows + k % 8 * unit +
           k / 8 * along;
}

static uint64_t swizzled(const Place *p, uint64_t at) {
    return at ^ ((at >> 7 & (p->wide - 1)) << 4);
}

/* 16 bytes; which of them nobody wrote goes to *origin. False after a fault. */
static bool read_piece(Machine *m, Warp *w, const Ins *in, const Place *p, uint64_t offset,
                       uint8_t *to, uint32_t *origin) {
    uint64_t at = swizzled(p, p->start + offset);
    if (at + 16 > m->shared_bytes)
        return fault_raise(m, w, in, 0, EMU_ILLEGAL_ADDRESS,
                           "wgmma.mma_async: the descriptor of %c (start 0x%llx, leading 0x%llx, "
                           "stride 0x%llx, swizzle of %u bytes) reaches offset 0x%llx of shared "
                           "memory, which has %u bytes",
                           p->name, (unsigned long long)p->start, (unsigned long long)p->leading,
                           (unsigned long long)p->stride, p->wide > 1 ? 16 * p->wide : 0,
                           (unsigned long long)at, (unsigned)m->shared_bytes);
    if (m->shadow == NULL) {
        memcpy(to, m->shared + at, 16);
        return true;
    }
    m->undefined.bytes = 0;
    if (!mem_read((Access){m, w, in, 0, PTX_SHARED, at, 16, false, ORDER_GROUP}, to)) return false;
    if (!note_piece(m, w, in, at)) return false;
    if (m->undefined.bytes) *origin = m->undefined.origin;
    return true;
}

enum { K_BYTES = 32, K_MOST = 64 }; /* bytes of a row along k; of B where A is sparse */

/* Rows [first, first + n) with their so many bytes along k, one after the other. */
static bool read_rows(Machine *m, Warp *w, const Ins *in, const Place *p, int first, int n,
                      int bytes, uint8_t *to, uint32_t *origin) {
    uint8_t piece[16];
    if (!p->turned && p->wide == 2 && bytes > K_BYTES)
        return bad_descriptor(m, w, in, p,
                              "has a swizzle of 32 bytes, which the 64 of a column along k do not "
                              "fit");
    for (int r = 0; r < n && !p->turned; r++)
        for (int c = 0; c < bytes / 16; c++)
            if (!read_piece(m, w, in, p, offset_of(p, (uint64_t)(first + r), 16u * (unsigned)c),
                            to + r * bytes + 16 * c, &origin[r]))
                return false;
    for (int r = 0; r < n && p->turned; r += 8)
        for (int k = 0; k < bytes / 2; k++) {
            uint32_t from = ORIGIN_NONE;
            if (!read_piece(m, w, in, p, offset_of(p, (uint64_t)(first + r), (uint64_t)k), piece,
                            &from))
                return false;
            for (int i = 0; i < 8; i++) {
                memcpy(to + (r + i) * bytes + 2 * k, piece + 2 * i, 2);
                if (from) origin[r + i] = from;
            }
        }
    return true;
}

/* --- the product --- */

typedef struct GroupWork {
    uint8_t a[MATRIX_STRIP * K_BYTES], b[GROUP_N * K_MOST];
    uint8_t column[MATRIX_STRIP * K_BYTES]; /* of each number of a sparse A */
    uint32_t origin_a[MATRIX_STRIP], origin_b[GROUP_N];
    uint32_t bits[GROUP_N * MATRIX_STRIP + 1];
    float fa[MATRIX_STRIP * K_MOST], fb[GROUP_N * K_MOST], fc[GROUP_N * MATRIX_STRIP];
    uint32_t ea[MATRIX_STRIP * K_MOST], eb[GROUP_N * K_MOST];
    int32_t ia[MATRIX_STRIP * K_MOST], ib[GROUP_N * K_MOST], ic[GROUP_N * MATRIX_STRIP];
} GroupWork;

/* Numbers of n rows, as bits; A's are then ordered by strips. */
static void numbers_of(MatrixType t, const uint8_t *bytes, int n, uint32_t *to) {
    unsigned size = t == MATRIX_B1 ? 4 : matrix_bits(t) / 8;
    for (int i = 0; i < n; i++) {
        to[i] = 0;
        memcpy(&to[i], bytes + (unsigned)i * size, size);
    }
}

static int numbers_along_k(const MatrixForm *f) {
    return f->a.type == MATRIX_B1 ? 8 : f->shape->k;
}

/* Of a row of A, half of them where it is sparse. */
static int numbers_of_a(const MatrixForm *f) {
    return numbers_along_k(f) / (f->is_sparse ? 2 : 1);
}

static bool read_a(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, GroupWork *x) {
    Place p;
    if (f->group->a_in_registers) return true;
    return read_descriptor(m, w, in, f, 0, &p) &&
           read_rows(m, w, in, &p, w->index % GROUP_WARPS * MATRIX_STRIP, MATRIX_STRIP, K_BYTES,
                     x->a, x->origin_a);
}

static bool read_b(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, GroupWork *x) {
    Place p;
    return read_descriptor(m, w, in, f, 1, &p) &&
           read_rows(m, w, in, &p, 0, f->shape->n, f->is_sparse ? K_MOST : K_BYTES, x->b,
                     x->origin_b);
}

/* A's bits by [k][row of the strip]. */
static void take_a(const Warp *w, const MatrixForm *f, GroupWork *x, uint32_t *to) {
    int k = numbers_of_a(f);
    if (f->group->a_in_registers) {
        x->bits[matrix_unpack(w, &f->a, x->bits)] = 0;
        for (int i = 0; i < f->a.places; i++) to[i] = x->bits[f->a.map[i]];
        return;
    }
    numbers_of((MatrixType)f->a.type, x->a, MATRIX_STRIP * k, x->bits);
    for (int r = 0; r < MATRIX_STRIP; r++)
        for (int l = 0; l < k; l++) to[l * MATRIX_STRIP + r] = x->bits[r * k + l];
}

/* D's registers as a part: pieces of 8 registers at a time. */
static MatrixPart part_of(const GroupForm *g, int first) {
    MatrixPart p = {.type = g->sum_type,
                    .count = (uint8_t)(g->sums - first < MATRIX_REGISTERS ? g->sums - first
                                                                          : MATRIX_REGISTERS)};
    memcpy(p.reg, g->reg + first, p.count * sizeof *p.reg);
    return p;
}

static void take_sums(const Warp *w, const GroupForm *g, uint32_t *bits) {
    for (int first = 0; first < g->sums; first += MATRIX_REGISTERS) {
        MatrixPart p = part_of(g, first);
        bits += matrix_unpack(w, &p, bits);
    }
}

static void give_sums(const Warp *w, const GroupForm *g, const uint32_t *bits) {
    unsigned in = 32 / matrix_bits((MatrixType)g->sum_type);
    for (int first = 0; first < g->sums; first += MATRIX_REGISTERS) {
        MatrixPart p = part_of(g, first);
        matrix_pack(w, &p, bits);
        bits += p.count * in * LANES;
    }
}

/* The place of number p of a sparse A, of [k][row]. */
static int place_of(const GroupWork *x, int p) {
    return x->column[p] * MATRIX_STRIP + p % MATRIX_STRIP;
}

/* The numbers of a sparse A at their columns; the others are none. */
static void spread_floats(const MatrixForm *f, GroupWork *x) {
    const int there = numbers_of_a(f) * MATRIX_STRIP;
    float a[MATRIX_STRIP * K_BYTES];
    uint32_t ea[MATRIX_STRIP * K_BYTES];
    memcpy(a, x->fa, (size_t)there * sizeof *a);
    memcpy(ea, x->ea, (size_t)there * sizeof *ea);
    for (int i = 0; i < 2 * there; i++) x->fa[i] = 0, x->ea[i] = (uint32_t)MATRIX_NONE;
    for (int p = 0; p < there; p++) x->fa[place_of(x, p)] = a[p], x->ea[place_of(x, p)] = ea[p];
}

static void spread_integers(const MatrixForm *f, GroupWork *x) {
    const int there = numbers_of_a(f) * MATRIX_STRIP;
    int32_t a[MATRIX_STRIP * K_BYTES];
    memcpy(a, x->ia, (size_t)there * sizeof *a);
    memset(x->ia, 0, 2 * (size_t)there * sizeof *a);
    for (int p = 0; p < there; p++) x->ia[place_of(x, p)] = a[p];
}

/* The fast loop multiplies what is none by 0, which an infinity of B would make a NaN. */
static bool any_odd(const GroupWork *x, int n, bool is_narrow) {
    for (int i = 0; i < n; i++)
        if (x->eb[i] == (is_narrow ? MATRIX_ODD_NARROW : MATRIX_ODD)) return true;
    return false;
}

static void negate(float *x, int n) {
    for (int i = 0; i < n; i++) x[i] = -x[i];
}

static void sum_floats(const Machine *m, const MatrixForm *f, GroupWork *x, const uint32_t *a,
                       const uint32_t *b, bool adds) {
    const GroupForm *g = f->group;
    int n = f->shape->n, k = f->shape->k, places = n * MATRIX_STRIP;
    MatrixType ta = (MatrixType)f->a.type, tb = (MatrixType)f->b.type;
    int least_a = matrix_least(ta), least_b = matrix_least(tb);
    int there = numbers_of_a(f) * MATRIX_STRIP;
    matrix_floats(ta, a, there, x->fa);
    matrix_floats(tb, b, n * k, x->fb);
    if (g->negated[0]) negate(x->fa, there);
    if (g->negated[1]) negate(x->fb, n * k);
    matrix_exponents(x->fa, there, least_a, x->ea);
    matrix_exponents(x->fb, n * k, least_b, x->eb);
    if (f->is_sparse) spread_floats(f, x);
    for (int i = 0; i < places; i++) {
        uint32_t bits = x->bits[g->sum_map[i]];
        matrix_floats((MatrixType)g->sum_type, &bits, 1, &x->fc[i]);
        if (!adds) x->fc[i] = 0;
    }
    MatrixTask t = {.n = n,
                    .k = k,
                    .rule = f->rule,
                    .halves = g->sum_type == MATRIX_F16,
                    .is_narrow = least_a > -60,
                    .per = 1,
                    .least = {least_a, least_b},
                    .a = x->fa,
                    .ea = x->ea,
                    .b = x->fb,
                    .eb = x->eb,
                    .c = x->fc};
    if (f->is_sparse && any_odd(x, n * k, t.is_narrow)) matrix_sum_plain(&t);
    else matrix_sum(m, &t);
    for (int i = 0; i < places; i++)
        x->bits[g->sum_map[i]] = matrix_bits_of((MatrixType)g->sum_type, x->fc[i]);
}

static void sum_integers(const MatrixForm *f, GroupWork *x, const uint32_t *a, const uint32_t *b,
                         bool adds) {
    const uint16_t *map = f->group->sum_map;
    int n = f->shape->n, k = numbers_along_k(f);
    matrix_integers((MatrixType)f->a.type, a, numbers_of_a(f) * MATRIX_STRIP, x->ia);
    if (f->is_sparse) spread_integers(f, x);
    matrix_integers((MatrixType)f->b.type, b, n * k, x->ib);
    for (int i = 0; i < n * MATRIX_STRIP; i++) x->ic[i] = adds ? (int32_t)x->bits[map[i]] : 0;
    for (int j = 0; j < n; j++)
        matrix_sum_column(f, k, x->ia, x->ib + j * k, x->ic + j * MATRIX_STRIP);
    for (int i = 0; i < n * MATRIX_STRIP; i++) x->bits[map[i]] = (uint32_t)x->ic[i];
}

/* Of whole numbers, and of floats where tests ask for them number by number. D is in bits. */
static void sum_plainly(const Machine *m, const Warp *w, const MatrixForm *f, GroupWork *x,
                        bool adds) {
    uint32_t a[MATRIX_STRIP * K_BYTES], b[GROUP_N * K_MOST];
    take_a(w, f, x, a);
    numbers_of((MatrixType)f->b.type, x->b, f->shape->n * numbers_along_k(f), b);
    take_sums(w, f->group, x->bits);
    if (f->group->sum_type == MATRIX_S32) sum_integers(f, x, a, b, adds);
    else sum_floats(m, f, x, a, b, adds);
}

/* --- what must hold, and what becomes of registers --- */

static bool may_issue(Machine *m, Warp *w, const Ins *in) {
    if (w->index / GROUP_WARPS * GROUP_WARPS + GROUP_WARPS > m->n_warps)
        return fault_raise(m, w, in, 0, EMU_LAUNCH_ERROR,
                           "wgmma.mma_async by warp %d of %d: a warpgroup is four warps, 128 "
                           "threads from a multiple of 128 on",
                           w->index, m->n_warps);
    return true;
}

static void hold_all(Warp *w, const MatrixForm *f) {
    const GroupForm *g = f->group;
    for (int r = 0; r < g->sums; r++) hold(w, g->reg[r], groups_of(w)->committed, true);
    for (int r = 0; g->a_in_registers && r < f->a.count; r++)
        hold(w, f->a.reg[r], groups_of(w)->committed, false);
}

/* A result is undefined where its row of A, its column of B, or what it is added to is. */
static void follow(const Warp *w, const MatrixForm *f, const GroupWork *x, bool adds) {
    const Frame *frame = &w->s.frame[w->frame];
    const GroupForm *g = f->group;
    unsigned bits = matrix_bits((MatrixType)g->sum_type), in = 32 / bits;
    for (int r = 0; r < g->sums; r++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t origin = ORIGIN_NONE;
            uint64_t all = adds ? undefined_row(frame, g->reg[r], lane, &origin) : 0;
            for (unsigned s = 0; s < in; s++) {
                unsigned e = (unsigned)r * in + s;
                int row = lane / 4 + 8 * (int)(e / 2 % 2);
                int column = lane % 4 * 2 + (int)(e % 2 + e / 4 * 8);
                uint32_t from = x->origin_a[row] ? x->origin_a[row] : x->origin_b[column];
                if (from)
                    all |= (bits == 32 ? FULL_MASK : (1u << bits) - 1ull) << s * bits,
                        origin = from;
            }
            undefined_set(frame, g->reg[r], lane, all, origin);
        }
}

/* What is undefined in registers of A counts for its rows. */
static void follow_registers(const Warp *w, const MatrixForm *f, GroupWork *x) {
    const Frame *frame = &w->s.frame[w->frame];
    for (int r = 0; f->group->a_in_registers && r < f->a.count; r++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t origin = ORIGIN_NONE;
            if (undefined_row(frame, f->a.reg[r], lane, &origin))
                x->origin_a[lane / 4 + 8 * (r % 2)] = origin;
        }
}

/* Words of A's rows, [word along k][row]. */
static void words_of_a(const Warp *w, const MatrixForm *f, const GroupWork *x, uint32_t *to) {
    for (int r = 0; r < MATRIX_STRIP; r++)
        for (int k = 0; k < GROUP_WORDS; k++) {
            int lane = r % 8 * 4 + k % 4, reg = k / 4 * 2 + r / 8;
            if (f->group->a_in_registers)
                to[k * MATRIX_STRIP + r] =
                    ((const U32 *)(const void *)row_at(w, f->a.reg[reg]))[lane];
            else memcpy(&to[k * MATRIX_STRIP + r], x->a + r * K_BYTES + 4 * k, 4);
        }
}

static bool sum_words(const Machine *m, const Warp *w, const MatrixForm *f, const GroupWork *x,
                      bool adds) {
    uint32_t a[GROUP_WORDS * MATRIX_STRIP], b[GROUP_N * GROUP_WORDS];
    if (f->group->sum_type == MATRIX_S32 || f->is_sparse) return false;
    words_of_a(w, f, x, a);
    memcpy(b, x->b, (size_t)f->shape->n * K_BYTES);
    return matrix_sum_words(m, w, f, &(MatrixTask){.word_a = a, .word_b = b, .adds = adds});
}

bool matrix_group(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    GroupWork x;
    bool adds = pred_at(w, f->group->scale) & 1;
    if (!may_issue(m, w, in)) return false;
    memset(x.origin_a, 0, sizeof x.origin_a);
    memset(x.origin_b, 0, sizeof x.origin_b);
    if (m->shadow) shadow_step(m);
    if (!read_a(m, w, in, f, &x) || !read_b(m, w, in, f, &x)) return false;
    if (f->is_sparse && !matrix_columns(m, w, in, f, x.column)) return false;
    if (m->follows) follow_registers(w, f, &x), follow(w, f, &x, adds);
    if (!sum_words(m, w, f, &x, adds)) {
        sum_plainly(m, w, f, &x, adds);
        give_sums(w, f->group, x.bits);
    }
    hold_all(w, f);
    m->cost.extra[PIPE_TENSOR] += f->work;
    return true;
}
