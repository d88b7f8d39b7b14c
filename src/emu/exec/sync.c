/* sync.c - what lanes of a warp do together: shuffles, votes, matches, reductions, bar.warp.sync.
**
** A lane waits until all lanes of its membermask that have not ended have come to the same
** operation with the same mask, as the PTX ISA has it; they may come by other ways, and to other
** instructions. Mostly all are there at once. Where they are not, the path waits (warp_block), and
** the operation is done for all of them when the last has come.
*/
#include "emu/core.h"
#include "emu/exec/lanes.h"
#include "emu/exec/matrix.h"
#include "emu/exec/num.h"
#include "emu/exec/rows.h"
#include "emu/check/undefined.h"
#include "emu/exact/exact.h"

#include <string.h>

typedef struct Meet { /* lanes that are there together, and what each of them brings; no others */
    uint32_t lanes;
    uint64_t value[LANES];
    uint64_t undefined[LANES]; /* … where that is followed: the bits */
    uint32_t origin[LANES];
    Word number[LANES]; /* … of a launch with an Exact */
} Meet;

static void bring(const Frame *frame, const SyncForm *f, uint32_t lanes, Meet *meet) {
    const uint8_t *file = frame->file;
    const U32 *word = (const U32 *)(const void *)(file + f->value);
    const U64 *wide = (const U64 *)(const void *)(file + f->value);
    meet->lanes |= lanes;
    if (f->width == 0) return;
    for (int i = 0; i < LANES; i++) {
        if (!(lanes >> i & 1)) continue;
        meet->value[i] = f->width == 'q' ? wide[i] : f->width == 'w' ? word[i] : *word >> i & 1;
        meet->origin[i] = ORIGIN_NONE;
        if (frame->exact && f->width == 'w') meet->number[i] = exact_get(frame, f->value, i, false);
        if (frame->bits) meet->undefined[i] = undefined_row(frame, f->value, i, &meet->origin[i]);
    }
}

static uint32_t mask_of(const Warp *w, const SyncForm *f, uint32_t lane) {
    return f->has_mask ? LANE(U32, w, f->mask, lane) : w->active;
}

/* --- what the active lanes take from a meeting ---
**
** A result may lie where an operand does. No lane reads what is another's, but from the meeting. */

static uint32_t shfl_source(int mode, uint32_t lane, uint32_t b, uint32_t c, bool *valid) {
    uint32_t bval = b & 31, cval = c & 31, segment = c >> 8 & 31;
    uint32_t most = (lane & segment) | (cval & ~segment), least = lane & segment, j;
    switch (mode) {
    case SHFL_UP:
        j = lane - bval;
        *valid = (int32_t)j >= (int32_t)most;
        break;
    case SHFL_DOWN:
        j = lane + bval;
        *valid = j <= most;
        break;
    case SHFL_BFLY:
        j = lane ^ bval;
        *valid = j <= most;
        break;
    default:
        j = least | (bval & ~segment);
        *valid = j <= most;
        break;
    }
    return *valid ? j & 31 : lane;
}

/* A reader of a missing lane's value gets its own value. */
static void note_source(Machine *m, const Warp *w, const Ins *in, const SyncForm *f, uint32_t lane,
                        uint32_t source) {
    uint32_t mask = mask_of(w, f, lane);
    const char *why = !(w->exist >> source & 1)  ? "which the warp has not got"
                      : !(w->live >> source & 1) ? "which has ended"
                      : f->has_mask              ? "which is not in the mask"
                                                 : "which is elsewhere";
    static const char text[] = "%s (mask 0x%08x) reads lane %u, %s: its value is undefined";
    if (!m->follows)
        fault_note(m, w, in, (int)lane, EMU_WARN_SHUFFLE, text, f->name, mask, source, why);
    else
        undefined_set(
            &w->s.frame[w->frame], f->d, (int)lane, FULL_MASK,
            origin_at(m, w, in, (int)lane, EMU_WARN_UNDEFINED, text, f->name, mask, source, why));
}

static void take_bits(const Warp *w, uint32_t row, uint32_t lane, uint64_t bits, uint32_t origin) {
    undefined_set(&w->s.frame[w->frame], row, (int)lane, origin ? bits : 0, origin);
}

/* Of what many lanes bring, each bit may depend on all; but a ballot has one of each lane. */
static void take_all(const Warp *w, const SyncForm *f, const Meet *meet, uint32_t lane) {
    bool is_ballot = f->kind == SYNC_VOTE && f->mode == VOTE_BALLOT;
    uint32_t origin = ORIGIN_NONE, lanes = 0;
    for (uint32_t left = mask_of(w, f, lane) & meet->lanes; left && f->width; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (meet->origin[i] == ORIGIN_NONE) continue;
        origin = meet->origin[i];
        lanes |= 1u << i;
    }
    take_bits(w, f->d, lane, is_ballot ? lanes : UINT64_MAX, origin);
    take_bits(w, f->p, lane, UINT64_MAX, origin);
}

static void take_number(const Warp *w, const SyncForm *f, uint32_t lane, const Word *word) {
    exact_put(&w->s.frame[w->frame], f->d, (int)lane, false, word);
    exact_forget_test(&w->s.frame[w->frame], f->p, (int)lane);
}

static void take_shfl(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    uint32_t valid = 0;
    FOR_ACTIVE(w, i) {
        bool is_valid;
        uint32_t b = LANE(U32, w, f->b, i), c = LANE(U32, w, f->c, i);
        uint32_t j = shfl_source(f->mode, i, b, c, &is_valid);
        bool is_there = meet->lanes & mask_of(w, f, i) & 1u << j;
        LANE(U32, w, f->d, i) = (uint32_t)meet->value[is_there ? j : i];
        if (m->follows) take_bits(w, f->d, i, meet->undefined[j], is_there ? meet->origin[j] : 0);
        if (m->follows) take_bits(w, f->p, i, 0, ORIGIN_NONE);
        if (m->launch->exact) take_number(w, f, i, &meet->number[is_there ? j : i]);
        if (!is_there) note_source(m, w, in, f, i, j);
        valid |= (uint32_t)is_valid << i;
    }
    pred_set(w, f->p, valid, w->active);
}

static void take_vote(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    uint32_t bits = 0, votes = 0;
    (void)m, (void)in;
    for (uint32_t i = 0; i < LANES; i++)
        if (meet->lanes >> i & 1) votes |= (uint32_t)meet->value[i] << i;
    FOR_ACTIVE(w, i) {
        uint32_t here = mask_of(w, f, i) & meet->lanes, yes = votes & here;
        bool all = yes == here, none = yes == 0;
        bool vote = f->mode == VOTE_ALL ? all : f->mode == VOTE_ANY ? !none : all || none;
        if (f->mode == VOTE_BALLOT) LANE(U32, w, f->d, i) = yes;
        bits |= (uint32_t)vote << i;
    }
    if (f->mode != VOTE_BALLOT) pred_set(w, f->d, bits, w->active);
}

static void take_match(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    uint32_t agree = 0;
    (void)m, (void)in;
    FOR_ACTIVE(w, i) {
        uint32_t here = mask_of(w, f, i) & meet->lanes, equal = 0;
        for (uint32_t left = here; left; left &= left - 1) {
            uint32_t j = (uint32_t)__builtin_ctz(left);
            equal |= (uint32_t)(meet->value[j] == meet->value[i]) << j;
        }
        LANE(U32, w, f->d, i) = f->mode == MATCH_ALL && equal != here ? 0 : equal;
        agree |= (uint32_t)(equal == here) << i;
    }
    if (f->mode == MATCH_ALL) pred_set(w, f->p, agree, w->active);
}

/* Of one lane alone it is the same operation, of it and itself. */
static uint32_t redux_float(int mode, uint32_t x, uint32_t y) {
    uint32_t mask = mode & REDUX_ABS ? 0x7fffffff : FULL_MASK;
    float a = num_f32_from_bits(x & mask), b = num_f32_from_bits(y & mask);
    bool nan = mode & REDUX_NAN, is_min = (mode & 7) == REDUX_MIN;
    return num_f32_bits(is_min ? num_min_f32(a, b, nan) : num_max_f32(a, b, nan));
}

static uint32_t redux(int mode, uint32_t x, uint32_t y) {
    if (mode & REDUX_FLOAT) return redux_float(mode, x, y);
    bool less = mode & REDUX_SIGNED ? (int32_t)y < (int32_t)x : y < x;
    switch (mode & ~REDUX_SIGNED) {
    case REDUX_ADD: return x + y;
    case REDUX_MIN: return less ? y : x;
    case REDUX_MAX: return less ? x : y;
    case REDUX_AND: return x & y;
    case REDUX_OR: return x | y;
    default: return x ^ y;
    }
}

static void take_redux(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    (void)m, (void)in;
    FOR_ACTIVE(w, i) {
        uint32_t here = mask_of(w, f, i) & meet->lanes;
        uint32_t sum = (uint32_t)meet->value[__builtin_ctz(here)];
        if (f->mode & REDUX_FLOAT) sum = redux_float(f->mode, sum, sum);
        for (here &= here - 1; here; here &= here - 1)
            sum = redux(f->mode, sum, (uint32_t)meet->value[__builtin_ctz(here)]);
        LANE(U32, w, f->d, i) = sum;
    }
}

/* The lowest lane of the mask is the leader. */
static void take_elect(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    uint32_t leader = 0;
    (void)m, (void)in;
    FOR_ACTIVE(w, i) {
        uint32_t first = (uint32_t)__builtin_ctz(mask_of(w, f, i) & meet->lanes);
        leader |= (uint32_t)(first == i) << i;
        LANE(U32, w, f->d, i) = first;
    }
    pred_set(w, f->p, leader, w->active);
}

static void take_barrier(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    (void)in;
    warp_fence(w);
    for (uint32_t left = m->shadow ? w->active : 0; left;) {
        uint32_t lanes = mask_of(w, f, (uint32_t)__builtin_ctz(left)) & meet->lanes;
        shadow_warp_sync(m, w, lanes);
        left &= ~lanes;
    }
}

/* All lanes together. */
static void take_matrix(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    (void)meet;
    w->at = in;
    matrix_run(m, w, in, &w->code->matrix[f->matrix]);
}

static void take(Machine *m, Warp *w, const Ins *in, const SyncForm *f, const Meet *meet) {
    static void (*const kinds[])(Machine *, Warp *, const Ins *, const SyncForm *, const Meet *) = {
        [SYNC_BARRIER] = take_barrier, [SYNC_SHFL] = take_shfl,   [SYNC_VOTE] = take_vote,
        [SYNC_MATCH] = take_match,     [SYNC_REDUX] = take_redux, [SYNC_ELECT] = take_elect,
        [SYNC_MATRIX] = take_matrix};
    bool is_simple = f->kind != SYNC_SHFL && f->kind != SYNC_BARRIER && f->kind != SYNC_MATRIX;
    kinds[f->kind](m, w, in, f, meet);
    if (m->follows && is_simple) FOR_ACTIVE(w, i) take_all(w, f, meet, i);
    if (m->launch->exact && is_simple)
        exact_settle(w, &w->s.frame[w->frame], f->d, f->p);
}

/* --- who is there --- */

typedef enum Presence { ALL_THERE, SOME_MISSING, NOT_ITS_OWN } Presence;

/* Have the active lanes of each mask all come that are still alive? */
static Presence presence(const Warp *w, const SyncForm *f, const U32 *mask) {
    Presence found = ALL_THERE;
    for (uint32_t left = w->active; left;) {
        uint32_t meets = mask[__builtin_ctz(left)];
        uint32_t lanes = f->one_mask ? left : warp_lanes_equal(w, mask, meets);
        if (lanes & ~meets) return NOT_ITS_OWN;
        if (meets & w->live & ~lanes) found = SOME_MISSING;
        left &= ~lanes;
    }
    return found;
}

static Stop foreign_mask(Machine *m, Warp *w, const Ins *in, const SyncForm *f) {
    FOR_ACTIVE(w, i) {
        uint32_t mask = mask_of(w, f, i);
        if (mask >> i & 1) continue;
        fault_raise(m, w, in, (int)i, EMU_LAUNCH_ERROR,
                    "%s by lane %u, which is not in its mask 0x%08x (undefined on a GPU)", f->name,
                    i, mask);
        break;
    }
    return STOP_FAULT;
}

/* --- the whole warp at once, as it mostly is: nobody is missing, nobody is off --- */

static bool is_whole(const Machine *m, const Warp *w, const SyncForm *f) {
    const U32 *mask = (const U32 *)(const void *)row_at(w, f->mask);
    if (m->emu->plain || m->launch->exact || (m->follows && undefined_any(w))) return false;
    return (w->active & w->live) == FULL_MASK && (!f->has_mask || row_is(mask, FULL_MASK));
}

static void vote_whole(const Warp *w, const SyncForm *f) {
    uint32_t votes = pred_at(w, f->value);
    bool all = votes == FULL_MASK, none = votes == 0;
    bool vote = f->mode == VOTE_ALL ? all : f->mode == VOTE_ANY ? !none : all || none;
    U32 *d = (U32 *)(void *)row_at(w, f->d);
    if (f->mode != VOTE_BALLOT) pred_set(w, f->d, vote ? FULL_MASK : 0, FULL_MASK);
    else for (int i = 0; i < LANES; i++) d[i] = votes;
}

static void redux_whole(const Warp *w, const SyncForm *f) {
    const U32 *value = (const U32 *)(const void *)row_at(w, f->value);
    U32 *d = (U32 *)(void *)row_at(w, f->d);
    uint32_t sum = value[0];
    for (int i = 1; i < LANES; i++) sum = redux(f->mode, sum, value[i]);
    for (int i = 0; i < LANES; i++) d[i] = sum;
}

static bool done_whole(Machine *m, Warp *w, const Ins *in, const SyncForm *f) {
    bool has_row = f->kind == SYNC_SHFL ||
                   (f->kind == SYNC_MATCH && f->mode == MATCH_ANY && f->width == 'w');
    bool is_easy = has_row || f->kind == SYNC_VOTE || f->kind == SYNC_REDUX;
    if (!is_easy || !is_whole(m, w, f)) return false;
    if (has_row) row_or(m->emu, f->kind == SYNC_SHFL ? ROW_SHFL : ROW_MATCH, NULL)(m, w, in);
    else if (f->kind == SYNC_VOTE) vote_whole(w, f);
    else redux_whole(w, f);
    return true;
}

Stop sync_run(Machine *m, Warp *w, const Ins *in) {
    const SyncForm *f = &w->code->sync[in->imm];
    if (done_whole(m, w, in, f)) return STOP_NOT;
    const U32 *mask = (const U32 *)(const void *)row_at(w, f->mask);
    Presence all = f->has_mask ? presence(w, f, mask) : ALL_THERE;
    if (all == NOT_ITS_OWN) return foreign_mask(m, w, in, f);
    if (all == SOME_MISSING) return warp_block(m, w, in, PATH_AT_SYNC, mask);
    Meet meet;
    meet.lanes = 0;
    bring(&w->s.frame[w->frame], f, w->active, &meet);
    take(m, w, in, f, &meet);
    return m->ended ? STOP_FAULT : STOP_NOT;
}

static const SyncForm *form_of(const Warp *w, const Path *p) {
    return &w->s.frame[p->frame].code->sync[path_ins(w, p)->imm];
}

/* Does a path wait for lanes that do this with this mask? */
static bool is_party(const Warp *w, const Path *p, const SyncForm *f, uint32_t meets) {
    if (p->mask == 0 || p->wait != PATH_AT_SYNC || p->meets != meets) return false;
    const SyncForm *g = form_of(w, p);
    return g->kind == f->kind && g->mode == f->mode && g->width == f->width;
}

static uint32_t who_came(const Warp *w, const Path *p) {
    uint32_t came = 0;
    for (int i = 0; i < w->n_path; i++)
        if (is_party(w, &w->s.path[i], form_of(w, p), p->meets)) came |= w->s.path[i].mask;
    return came;
}

bool sync_complete(const Warp *w, const Path *p) {
    return (p->meets & w->live & ~who_came(w, p)) == 0;
}

/* Lanes that ended while they were waited for: the ISA lets the others go on, CUDA's guide calls
** that undefined. */
static void note_leavers(Machine *m, const Warp *w, const Path *p) {
    uint32_t gone = p->meets & p->live & ~w->live;
    char who[160];
    if (gone == 0) return;
    fault_lanes(gone, who, sizeof who);
    fault_note(m, w, path_ins(w, p), __builtin_ctz(p->mask), EMU_WARN_LEFT,
               "%s with mask 0x%08x, and %s of the warp ended without it", form_of(w, p)->name,
               p->meets, who);
}

/* The paths of a matrix instruction have all come: to one place, or it is none that is .aligned. */
static void meet_matrix(Machine *m, Warp *w, const Path *p, const SyncForm *f) {
    const Path first = *p;
    uint32_t lanes = 0;
    bool is_one = true;
    for (int i = 0; i < w->n_path; i++) {
        Path *q = &w->s.path[i];
        if (!is_party(w, q, f, first.meets)) continue;
        is_one &= q->pc == first.pc && q->frame == first.frame;
        lanes |= q->mask;
        q->wait = PATH_GOES;
        q->pc++;
    }
    warp_look(w, &first);
    w->active = lanes;
    const Ins *in = path_ins(w, &first);
    if (is_one) take_matrix(m, w, in, f, NULL);
    else
        fault_raise(m, w, in, __builtin_ctz(lanes), EMU_LAUNCH_ERROR,
                    "lanes of a warp meet at different places of %s, which is .aligned", f->name);
}

void sync_meet(Machine *m, Warp *w, const Path *p) {
    const SyncForm f = *form_of(w, p);
    uint32_t meets = p->meets;
    if (f.kind == SYNC_MATRIX) {
        meet_matrix(m, w, p, &f);
        return;
    }
    Meet meet;
    meet.lanes = 0;
    for (int i = 0; i < w->n_path; i++) {
        const Path *q = &w->s.path[i];
        if (is_party(w, q, &f, meets)) bring(&w->s.frame[q->frame], form_of(w, q), q->mask, &meet);
    }
    for (int i = 0; i < w->n_path; i++) {
        Path *q = &w->s.path[i];
        if (!is_party(w, q, &f, meets)) continue;
        warp_look(w, q);
        note_leavers(m, w, q);
        take(m, w, path_ins(w, q), form_of(w, q), &meet);
        q->wait = PATH_GOES;
        q->pc++;
    }
}

void sync_split(Machine *m, Warp *w, const Path *p) {
    char who[160];
    fault_lanes(p->meets & w->live & ~who_came(w, p), who, sizeof who);
    fault_raise(m, w, path_ins(w, p), __builtin_ctz(p->mask), EMU_LAUNCH_ERROR,
                "%s with mask 0x%08x reached without %s of the warp (undefined on a GPU)",
                form_of(w, p)->name, p->meets, who);
}
