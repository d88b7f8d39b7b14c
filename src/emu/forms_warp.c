/* forms_warp.c - what lanes of a warp do together: shuffles, votes, matches, reductions. */
#include "emu/decode.h"
#include "emu/lanes.h"

#include <string.h>

/* A lane that names others in its mask must find them here. Lanes that ended do not count. */
static bool check_mask(Machine *m, Warp *w, const Ins *in, uint32_t lane, uint32_t mask,
                       const char *what) {
    uint32_t missing = mask & w->live & ~w->active;
    if (missing == 0) return true;
    char who[160];
    fault_lanes(missing, who, sizeof who);
    return fault_raise(m, w, in, (int)lane, EMU_LAUNCH_ERROR,
                       "%s with mask 0x%08x reached without %s of the warp (undefined on a GPU)",
                       what, mask, who);
}

/* --- shuffles --- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

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

/* imm: predicate row, mask row (0: no mask), mode in the top bits. */
static bool do_shfl(Machine *m, Warp *w, const Ins *in) {
    int mode = (int)(in->imm >> 60);
    uint32_t mask_row = (uint32_t)(in->imm & 0x3fffffff),
             pred_row = (uint32_t)(in->imm >> 30 & 0x3fffffff);
    uint32_t from[LANES], valid = 0;
    memcpy(from, row_at(w, in->a), sizeof from);
    FOR_ACTIVE(w, i) {
        if (mask_row && !check_mask(m, w, in, i, LANE(U32, w, mask_row, i), "shfl.sync"))
            return false;
    }
    uint32_t result[LANES];
    FOR_ACTIVE(w, i) {
        bool is_valid;
        uint32_t j =
            shfl_source(mode, i, LANE(U32, w, in->b, i), LANE(U32, w, in->c, i), &is_valid);
        result[i] = from[w->active >> j & 1 ? j : i];
        valid |= (uint32_t)is_valid << i;
    }
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = result[i];
    pred_set(w, pred_row, valid, w->active);
    return true;
}

static bool decode_shfl(Decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const PtxInstr *in = d->in;
    bool sync = strcmp(mod_at(d, 0), "sync") == 0,
         pair = in->n_args && in->args[0].kind == PTX_OP_PAIR;
    uint32_t to, p = d->trash_p, a, b, c, mask = 0;
    uint64_t mode = 0;
    while (mode < 4 && strcmp(modes[mode], mod_at(d, sync)) != 0) mode++;
    if (mode == 4 || in->n_mods != 2 + sync || strcmp(last_mod(d), "b32") != 0 ||
        in->n_args != 4 + sync)
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &a) || !source(d, &in->args[2], 'w', 1, &b) ||
        !source(d, &in->args[3], 'w', 2, &c))
        return false;
    if (sync && !source(d, &in->args[4], 'w', 2, &mask)) return false;
    if (!dest(d, pair ? &in->args[0].elems[0] : &in->args[0], 'w', &to)) return false;
    if (pair && !dest(d, &in->args[0].elems[1], 'p', &p)) return false;
    emit_slow(d, do_shfl, to, a, b, c, mode << 60 | (uint64_t)p << 30 | mask);
    return true;
}

/* --- votes --- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static bool do_vote(Machine *m, Warp *w, const Ins *in) {
    uint32_t p = pred_at(w, in->a), bits = 0;
    FOR_ACTIVE(w, i) {
        uint32_t mask = in->imm & 4 ? LANE(U32, w, in->b, i) : w->active;
        if (!check_mask(m, w, in, i, mask, "vote.sync")) return false;
        uint32_t here = mask & w->active, yes = p & here;
        bool all = yes == here, none = yes == 0;
        if ((in->imm & 3) == VOTE_BALLOT) LANE(U32, w, in->d, i) = yes;
        else if ((in->imm & 3) == VOTE_ALL) bits |= (uint32_t)all << i;
        else if ((in->imm & 3) == VOTE_ANY) bits |= (uint32_t)!none << i;
        else bits |= (uint32_t)(all || none) << i;
    }
    if ((in->imm & 3) != VOTE_BALLOT) pred_set(w, in->d, bits, w->active);
    return true;
}

static bool decode_vote(Decoder *d) {
    static const char *const kinds[] = {"all", "any", "uni", "ballot"};
    const PtxInstr *in = d->in;
    bool sync = has_mod(d, "sync");
    uint64_t kind = 0;
    uint32_t to, p, mask = 0;
    while (kind < 4 && !has_mod(d, kinds[kind])) kind++;
    bool ballot = kind == VOTE_BALLOT;
    if (kind == 4 || in->n_mods != 2 + sync || in->n_args != 2 + sync ||
        strcmp(last_mod(d), ballot ? "b32" : "pred") != 0)
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'p', 0, &p)) return false;
    if (sync && !source(d, &in->args[2], 'w', 0, &mask)) return false;
    if (!dest(d, &in->args[0], ballot ? 'w' : 'p', &to)) return false;
    emit_slow(d, do_vote, to, p, mask, 0, kind | (sync ? 4 : 0));
    return true;
}

static bool do_activemask(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = w->active;
    return true;
}

static bool decode_activemask(Decoder *d) {
    uint32_t to;
    if (d->in->n_mods != 1 || strcmp(last_mod(d), "b32") != 0 || d->in->n_args != 1)
        return decode_unknown(d);
    if (!dest(d, &d->in->args[0], 'w', &to)) return false;
    emit_slow(d, do_activemask, to, 0, 0, 0, 0);
    return true;
}

/* elect.sync d|p, mask: the lowest lane of the mask is the leader. */
static bool do_elect(Machine *m, Warp *w, const Ins *in) {
    uint32_t leader = 0;
    FOR_ACTIVE(w, i) {
        uint32_t mask = LANE(U32, w, in->a, i);
        if (!check_mask(m, w, in, i, mask, "elect.sync")) return false;
        uint32_t first = mask & w->active ? (uint32_t)__builtin_ctz(mask & w->active) : i;
        leader |= (uint32_t)(first == i) << i;
    }
    FOR_ACTIVE(w, i) {
        uint32_t here = LANE(U32, w, in->a, i) & w->active;
        LANE(U32, w, in->d, i) = here ? (uint32_t)__builtin_ctz(here) : i;
    }
    pred_set(w, in->b, leader, w->active);
    return true;
}

static bool decode_elect(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t to, p, mask;
    if (in->n_mods != 1 || strcmp(mod_at(d, 0), "sync") != 0 || in->n_args != 2 ||
        in->args[0].kind != PTX_OP_PAIR)
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &mask) || !dest(d, &in->args[0].elems[0], 'w', &to) ||
        !dest(d, &in->args[0].elems[1], 'p', &p))
        return false;
    uint32_t copy = d->tmp32[1]; /* d may be where the mask lies */
    emit(d, OP_MOV32, 0, copy, mask, mask, mask);
    emit_slow(d, do_elect, to, copy, p, 0, 0);
    return true;
}

/* --- matches --- */

static uint64_t value_at(const Warp *w, uint32_t row, bool wide, uint32_t i) {
    return wide ? LANE(U64, w, row, i) : LANE(U32, w, row, i);
}

/* imm: 1 wide, 2 all; c: predicate of match.all. */
static bool do_match(Machine *m, Warp *w, const Ins *in) {
    bool wide = in->imm & 1, all = in->imm & 2;
    uint32_t result[LANES], agree = 0;
    FOR_ACTIVE(w, i) {
        uint32_t mask = LANE(U32, w, in->b, i), equal = 0;
        if (!check_mask(m, w, in, i, mask, "match.sync")) return false;
        uint64_t mine = value_at(w, in->a, wide, i);
        for (uint32_t left = mask & w->active; left; left &= left - 1) {
            uint32_t j = (uint32_t)__builtin_ctz(left);
            equal |= (uint32_t)(value_at(w, in->a, wide, j) == mine) << j;
        }
        bool is_all = equal == (mask & w->active);
        result[i] = all && !is_all ? 0 : equal;
        agree |= (uint32_t)is_all << i;
    }
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = result[i];
    if (all) pred_set(w, in->c, agree, w->active);
    return true;
}

static bool decode_match(Decoder *d) {
    const PtxInstr *in = d->in;
    bool all = strcmp(mod_at(d, 0), "all") == 0, any = strcmp(mod_at(d, 0), "any") == 0;
    bool wide = strcmp(last_mod(d), "b64") == 0;
    bool pair = in->n_args && in->args[0].kind == PTX_OP_PAIR;
    uint32_t to, p = d->trash_p, a, mask;
    if ((!all && !any) || in->n_mods != 3 || strcmp(mod_at(d, 1), "sync") != 0 || in->n_args != 3 ||
        (!wide && strcmp(last_mod(d), "b32") != 0) || (pair && !all))
        return decode_unknown(d);
    if (!source(d, &in->args[1], wide ? 'q' : 'w', 0, &a) ||
        !source(d, &in->args[2], 'w', 1, &mask))
        return false;
    if (!dest(d, pair ? &in->args[0].elems[0] : &in->args[0], 'w', &to)) return false;
    if (pair && !dest(d, &in->args[0].elems[1], 'p', &p)) return false;
    emit_slow(d, do_match, to, a, mask, p, (uint64_t)wide | (uint64_t)all << 1);
    return true;
}

/* --- reductions --- */

static const char *const redux_names[] = {"add", "min", "max", "and", "or", "xor"};

static uint32_t redux(uint64_t op, bool sign, uint32_t x, uint32_t y) {
    bool less = sign ? (int32_t)y < (int32_t)x : y < x;
    switch (op) {
    case 0: return x + y;
    case 1: return less ? y : x;
    case 2: return less ? x : y;
    case 3: return x & y;
    case 4: return x | y;
    default: return x ^ y;
    }
}

static bool do_redux(Machine *m, Warp *w, const Ins *in) {
    uint32_t result[LANES];
    FOR_ACTIVE(w, i) {
        uint32_t mask = LANE(U32, w, in->b, i), here = mask & w->active, sum;
        if (!check_mask(m, w, in, i, mask, "redux.sync")) return false;
        sum = here ? LANE(U32, w, in->a, __builtin_ctz(here)) : LANE(U32, w, in->a, i);
        for (here &= here - 1; here; here &= here - 1)
            sum = redux(in->imm & 7, in->imm & 8, sum, LANE(U32, w, in->a, __builtin_ctz(here)));
        result[i] = sum;
    }
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = result[i];
    return true;
}

static bool decode_redux(Decoder *d) {
    const PtxInstr *in = d->in;
    uint64_t op = 0;
    uint32_t to, a, mask;
    const char *type = last_mod(d);
    if (in->n_mods != 3 || in->n_args != 3 || strcmp(mod_at(d, 0), "sync") != 0)
        return decode_unknown(d);
    while (op < 6 && strcmp(redux_names[op], mod_at(d, 1)) != 0) op++;
    bool sign = strcmp(type, "s32") == 0;
    if (op == 6 || (op < 3 ? !sign && strcmp(type, "u32") != 0 : strcmp(type, "b32") != 0))
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &a) || !source(d, &in->args[2], 'w', 1, &mask) ||
        !dest(d, &in->args[0], 'w', &to))
        return false;
    emit_slow(d, do_redux, to, a, mask, 0, op | (uint64_t)sign << 3);
    return true;
}

const Form forms_warp[] = {CUSTOM("shfl", decode_shfl, SHUFFLE),
                           CUSTOM("vote", decode_vote, VOTE),
                           CUSTOM("activemask", decode_activemask, VOTE),
                           CUSTOM("elect", decode_elect, VOTE),
                           CUSTOM("match", decode_match, REDUX),
                           CUSTOM("redux", decode_redux, REDUX),
                           FORMS_END};
