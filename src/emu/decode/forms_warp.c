/* forms_warp.c - decodes what lanes of a warp do together (sync.c). */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"

#include <stdlib.h>
#include <string.h>

/* Is a row one number in all lanes? */
static bool is_number(const Decoder *d, uint32_t row) {
    const PoolRow *p = d->code->pool, *end = p + d->code->n_pool;
    while (p < end && p->offset != row) p++;
    return p < end && p->kind == POOL_B32;
}

/* The results are written when the last lane has come, and what goes in must still be there then:
** neither is in registers that other paths may overwrite (registers.c). */
bool emit_sync(Decoder *d, SyncForm f) {
    Code *code = d->code;
    gi_grow(code->sync, code->n_sync, code->cap_sync);
    f.one_mask = f.has_mask && is_number(d, f.mask);
    code->sync[code->n_sync] = f;
    emit(d, OP_SYNC, 0, 0, 0, 0, 0)->imm = (uint64_t)code->n_sync++;
    forget_bases(d); /* another path may have run */
    return true;
}

/* From sm_70 and version 6.4 of the ISA on a warp's lanes go apart, and .sync says who comes. */
static bool needs_sync(const Decoder *d) {
    const PtxModule *m = d->mod->ptx;
    return m->version_major * 10 + m->version_minor >= 64 && atoi(m->target + 3) >= 70;
}

static bool decode_shfl(Decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const PtxInstr *in = d->in;
    bool sync = mod_is(d, 0, "sync"),
         pair = in->n_args && in->args[0].kind == PTX_OP_PAIR;
    uint32_t to, p = d->trash_p, a, b, c, mask = 0;
    uint8_t mode = 0;
    while (mode < 4 && strcmp(modes[mode], mod_at(d, sync)) != 0) mode++;
    if (mode == 4 || (!sync && needs_sync(d)) || in->n_mods != 2 + sync ||
        !mod_is(d, LAST, "b32") || in->n_args != 4 + sync)
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &a) || !source(d, &in->args[2], 'w', 1, &b) ||
        !source(d, &in->args[3], 'w', 2, &c))
        return false;
    if (sync && !source(d, &in->args[4], 'w', 2, &mask)) return false;
    if (!dest(d, pair ? &in->args[0].elems[0] : &in->args[0], 'w', &to)) return false;
    if (pair && !dest(d, &in->args[0].elems[1], 'p', &p)) return false;
    return emit_sync(d, (SyncForm){.name = sync ? "shfl.sync" : "shfl",
                                   .kind = SYNC_SHFL,
                                   .mode = mode,
                                   .width = 'w',
                                   .has_mask = sync,
                                   .mask = mask,
                                   .value = a,
                                   .b = b,
                                   .c = c,
                                   .d = to,
                                   .p = p});
}

static bool decode_vote(Decoder *d) {
    static const char *const kinds[] = {"all", "any", "uni", "ballot"};
    const PtxInstr *in = d->in;
    bool sync = has_mod(d, "sync");
    uint8_t kind = 0;
    uint32_t to, p, mask = 0;
    while (kind < 4 && !has_mod(d, kinds[kind])) kind++;
    bool ballot = kind == VOTE_BALLOT;
    if (kind == 4 || (!sync && needs_sync(d)) || in->n_mods != 2 + sync || in->n_args != 2 + sync ||
        !mod_is(d, LAST, ballot ? "b32" : "pred"))
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'p', 0, &p)) return false;
    if (sync && !source(d, &in->args[2], 'w', 0, &mask)) return false;
    if (!dest(d, &in->args[0], ballot ? 'w' : 'p', &to)) return false;
    return emit_sync(d, (SyncForm){.name = sync ? "vote.sync" : "vote",
                                   .kind = SYNC_VOTE,
                                   .mode = kind,
                                   .width = 'p',
                                   .has_mask = sync,
                                   .mask = mask,
                                   .value = p,
                                   .d = to});
}

static bool do_activemask(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = w->active;
    return true;
}

static bool decode_activemask(Decoder *d) {
    uint32_t to;
    if (d->in->n_mods != 1 || !mod_is(d, LAST, "b32") || d->in->n_args != 1)
        return decode_unknown(d);
    if (!dest(d, &d->in->args[0], 'w', &to)) return false;
    emit_slow(d, do_activemask, to, 0, 0, 0, 0);
    return true;
}

static bool decode_elect(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t to, p, mask;
    if (in->n_mods != 1 || !mod_is(d, 0, "sync") || in->n_args != 2 ||
        in->args[0].kind != PTX_OP_PAIR)
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &mask) || !dest(d, &in->args[0].elems[0], 'w', &to) ||
        !dest(d, &in->args[0].elems[1], 'p', &p))
        return false;
    return emit_sync(d, (SyncForm){.name = "elect.sync",
                                   .kind = SYNC_ELECT,
                                   .has_mask = true,
                                   .mask = mask,
                                   .d = to,
                                   .p = p});
}

static bool decode_match(Decoder *d) {
    const PtxInstr *in = d->in;
    bool all = mod_is(d, 1, "all"), any = mod_is(d, 1, "any");
    bool wide = mod_is(d, LAST, "b64");
    bool pair = in->n_args && in->args[0].kind == PTX_OP_PAIR;
    uint32_t to, p = d->trash_p, a, mask;
    if ((!all && !any) || in->n_mods != 3 || !mod_is(d, 0, "sync") || in->n_args != 3 ||
        (!wide && !mod_is(d, LAST, "b32")) || (pair && !all))
        return decode_unknown(d);
    if (!source(d, &in->args[1], wide ? 'q' : 'w', 0, &a) ||
        !source(d, &in->args[2], 'w', 1, &mask))
        return false;
    if (!dest(d, pair ? &in->args[0].elems[0] : &in->args[0], 'w', &to)) return false;
    if (pair && !dest(d, &in->args[0].elems[1], 'p', &p)) return false;
    return emit_sync(d, (SyncForm){.name = "match.sync",
                                   .kind = SYNC_MATCH,
                                   .mode = all ? MATCH_ALL : MATCH_ANY,
                                   .width = wide ? 'q' : 'w',
                                   .has_mask = true,
                                   .mask = mask,
                                   .value = a,
                                   .d = to,
                                   .p = p});
}

static const char *const redux_names[] = {"add", "min", "max", "and", "or", "xor"};

/* redux.sync.min|max{.abs}{.NaN}.f32 is of sm_100a. */
static bool redux_float(Decoder *d, uint8_t *op) {
    int words = has_mod(d, "abs") + has_mod(d, "NaN");
    if (d->in->n_mods != 3 + words || (*op != REDUX_MIN && *op != REDUX_MAX))
        return decode_unknown(d);
    *op |= REDUX_FLOAT | (has_mod(d, "abs") ? REDUX_ABS : 0) | (has_mod(d, "NaN") ? REDUX_NAN : 0);
    return decode_has(d, 86, 100) && decode_has_own(d);
}

static bool decode_redux(Decoder *d) {
    const PtxInstr *in = d->in;
    uint8_t op = REDUX_ADD;
    uint32_t to, a, mask;
    const char *type = mod_at(d, LAST);
    bool sign = strcmp(type, "s32") == 0, is_float = strcmp(type, "f32") == 0;
    if ((in->n_mods != 3 && !is_float) || in->n_args != 3 || !mod_is(d, 0, "sync"))
        return decode_unknown(d);
    while (op < 6 && strcmp(redux_names[op], mod_at(d, 1)) != 0) op++;
    if (is_float && !redux_float(d, &op)) return false;
    if (!is_float &&
        (op == 6 || (op < 3 ? !sign && strcmp(type, "u32") != 0 : strcmp(type, "b32") != 0)))
        return decode_unknown(d);
    if (!source(d, &in->args[1], 'w', 0, &a) || !source(d, &in->args[2], 'w', 1, &mask) ||
        !dest(d, &in->args[0], 'w', &to))
        return false;
    return emit_sync(d, (SyncForm){.name = "redux.sync",
                                   .kind = SYNC_REDUX,
                                   .mode = sign ? op | REDUX_SIGNED : op,
                                   .width = 'w',
                                   .has_mask = true,
                                   .mask = mask,
                                   .value = a,
                                   .d = to});
}

/* bar.warp.sync */
bool decode_warp_barrier(Decoder *d) {
    uint32_t mask;
    if (d->in->n_args != 1 || d->in->n_mods != 2 || !mod_is(d, 0, "warp") || !mod_is(d, 1, "sync"))
        return decode_unknown(d);
    if (!source(d, &d->in->args[0], 'w', 0, &mask)) return false;
    d->cost[d->index] = COST_ALU;
    return emit_sync(
        d,
        (SyncForm){.name = "bar.warp.sync", .kind = SYNC_BARRIER, .has_mask = true, .mask = mask});
}

const Form forms_warp[] = {CUSTOM("shfl", decode_shfl, SHUFFLE),
                           CUSTOM("vote", decode_vote, VOTE),
                           CUSTOM("activemask", decode_activemask, VOTE),
                           CUSTOM("elect", decode_elect, VOTE),
                           CUSTOM("match", decode_match, REDUX),
                           CUSTOM("redux", decode_redux, REDUX),
                           FORMS_END};
