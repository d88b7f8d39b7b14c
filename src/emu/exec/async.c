/* async.c - cp.async: copies from global to shared memory that go on beside the program.
**
** A copy reads its source when it is issued and writes its destination when the lane waits for
** the group that it belongs to: so a kernel that does not wait finds what was there before, as it
** may on a GPU. What a lane that ends has not waited for is nobody's.
*/
#include "emu/decode/decode.h"
#include "emu/check/undefined.h"

#include <stdlib.h>
#include <string.h>

typedef struct Copy {
    uint8_t lane, bytes;
    uint32_t group; /* of the lane's */
    uint64_t to;    /* in shared memory */
    uint8_t data[16];
    uint32_t undefined, origin; /* bytes of data, a bit each; see undefined.h */
} Copy;

struct Copies {
    Copy *at;
    int n, cap;
    uint32_t committed[LANES]; /* groups */
};

void copies_begin(Copies *c) {
    if (c == NULL) return;
    c->n = 0;
    memset(c->committed, 0, sizeof c->committed);
}

void copies_free(Copies *c) {
    if (c == NULL) return;
    free(c->at);
    free(c);
}

static Copies *copies_of(Warp *w) {
    if (w->s.copies == NULL) w->s.copies = gi_alloc(sizeof *w->s.copies);
    return w->s.copies;
}

/* --- what they do --- */

/* imm of a copy. Rows: d destination, a source, b bytes of the source that count. */
typedef struct CopyForm {
    uint8_t bytes, wide_to;
} CopyForm;

/* False after a fault, as of mem_read. */
static bool issue(Machine *m, Warp *w, const Ins *in, int lane, uint64_t to, uint64_t from,
                  uint32_t counts) {
    CopyForm f;
    memcpy(&f, &in->imm, sizeof f);
    Copies *c = copies_of(w);
    Copy copy = {(uint8_t)lane, f.bytes, c->committed[lane], to, {0}, 0, ORIGIN_NONE};
    Access read = {m, w, in, lane, PTX_GLOBAL, from, f.bytes, false, 0};
    Access write = {m, w, in, lane, PTX_SHARED, to, f.bytes, true, 0};
    if (!mem_may_write(write)) return false;
    m->undefined.bytes = 0;
    if (counts && !mem_read(read, copy.data)) return false;
    if (counts < f.bytes) memset(copy.data + counts, 0, f.bytes - counts);
    copy.undefined = m->undefined.bytes & ((1u << counts) - 1);
    copy.origin = m->undefined.origin;
    gi_grow(c->at, c->n, c->cap);
    c->at[c->n++] = copy;
    return true;
}

static bool do_copy(Machine *m, Warp *w, const Ins *in) {
    CopyForm f;
    uint64_t to[LANES], from[LANES], place[LANES];
    uint32_t read = 0, wrote = 0;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->d, f.wide_to, 0, to);
    mem_addresses(w, in->a, true, 0, from);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint32_t counts = ((const U32 *)(const void *)row_at(w, in->b))[i];
        bool done = issue(m, w, in, i, to[i], from[i], counts < f.bytes ? counts : f.bytes);
        if (m->ended) return false;
        if (!done) continue;
        wrote |= 1u << i;
        if (counts == 0) continue;
        place[i] = alloc_place(alloc_of(m->emu, from[i]), from[i]);
        read |= 1u << i;
    }
    if (read) cost_lanes(m, w, place, read, COST_KIND_STORE); /* nobody waits for it here */
    if (wrote) cost_shared(m, to, wrote, f.bytes);
    return true;
}

static bool do_commit(Machine *m, Warp *w, const Ins *in) {
    Copies *c = copies_of(w);
    (void)m, (void)in;
    for (uint32_t left = w->active; left; left &= left - 1) c->committed[__builtin_ctz(left)]++;
    return true;
}

/* Is it of a group that the lane waits for, all but the last `pending`? */
static bool is_due(const Copies *c, const Copy *copy, uint32_t active, uint64_t pending) {
    uint32_t committed = c->committed[copy->lane];
    if (!(active >> copy->lane & 1)) return false;
    return pending == UINT64_MAX || copy->group + pending < committed;
}

/* imm: groups that may stay pending; UINT64_MAX: wait_all, those not committed neither. */
static bool do_wait(Machine *m, Warp *w, const Ins *in) {
    Copies *c = copies_of(w);
    int kept = 0;
    bool waited = false;
    if (m->shadow) shadow_step(m);
    for (int i = 0; i < c->n; i++) {
        Copy *copy = &c->at[i];
        if (!is_due(c, copy, w->active, in->imm)) {
            c->at[kept++] = *copy;
            continue;
        }
        Access write = {m, w, in, copy->lane, PTX_SHARED, copy->to, copy->bytes, true, 0};
        waited = true;
        w->moved = true;
        bool wrote = mem_write(write, copy->data);
        if (!wrote && m->ended) return false;
        if (wrote && copy->undefined)
            shadow_define(m, w, copy->lane, PTX_SHARED, copy->to, copy->bytes, copy->undefined,
                          copy->origin);
    }
    c->n = kept;
    if (waited) w->clock += m->cost.miss_l2;
    return true;
}

/* --- decoding --- */

/* cp.async.ca|cg.shared{::cta}.global{.L2::cache_hint}{.L2::…} [to], [from], bytes {, bytes of the
** source}{, policy} */
static bool decode_copy(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t to, from, counts;
    uint64_t bytes;
    bool wide_to, wide_from, large = has_mod(d, "cg"), policy = has_mod(d, "L2::cache_hint");
    int hints = has_mod(d, "L2::64B L2::128B L2::256B") + policy, n_args = in->n_args - policy;
    if (!mod_is(d, 2, "shared shared::cta") || !mod_is(d, 3, "global") || in->n_mods != 4 + hints ||
        n_args < 3 || n_args > 4)
        return decode_unknown(d);
    if (policy && !source(d, &in->args[n_args], 'q', 0, &to)) return false;
    if (!decode_address(d, USE_COPY_TO, &in->args[0], PTX_SHARED, 0, &to, &wide_to)) return false;
    if (!decode_address(d, USE_COPY_FROM, &in->args[1], PTX_GLOBAL, 1, &from, &wide_from))
        return false;
    if (!immediate(d, &in->args[2], 'w', &bytes)) return false;
    if (bytes != 16 && (large || (bytes != 4 && bytes != 8)))
        return decode_fail(d, "4, 8 or 16 bytes are copied, with .cg 16");
    if (n_args == 4 && in->args[3].kind == PTX_OP_REG &&
        d->func->regs[in->args[3].reg].type == PTX_PRED)
        return decode_unknown(d);
    if (n_args == 4 && in->args[3].kind == PTX_OP_IMM && in->args[3].imm > bytes)
        return decode_fail(d, "more bytes of the source than are copied");
    counts = pool_row(d, POOL_B32, bytes);
    if (n_args == 4 && !source(d, &in->args[3], 'w', 0, &counts)) return false;
    CopyForm f = {(uint8_t)bytes, wide_to};
    uint64_t imm = 0;
    memcpy(&imm, &f, sizeof f);
    emit_slow(d, do_copy, to, from, counts, 0, imm);
    return true;
}

bool decode_cp(Decoder *d) {
    const PtxInstr *in = d->in;
    if (!mod_is(d, 0, "async") || has_mod(d, "bulk mbarrier reduce")) return decode_unknown(d);
    if (mod_is(d, 1, "ca") || mod_is(d, 1, "cg")) return decode_copy(d);
    uint64_t pending = UINT64_MAX;
    bool commit = mod_is(d, 1, "commit_group"), group = mod_is(d, 1, "wait_group");
    if ((!commit && !group && !mod_is(d, 1, "wait_all")) || in->n_mods != 2 || in->n_args != group)
        return decode_unknown(d);
    if (group && !immediate(d, &in->args[0], 'w', &pending)) return false;
    emit_slow(d, commit ? do_commit : do_wait, 0, 0, 0, 0, pending);
    d->cost[d->index] = COST_ALU;
    return true;
}
