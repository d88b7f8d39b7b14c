/* atom128.c - atom.cas.b128 and atom.exch.b128: 16 bytes, of registers that are two rows of 64
** bits. */
#include "emu/check/undefined.h"
#include "emu/decode/decode.h"
#include "emu/exec/atoms.h"
#include "emu/exec/lanes.h"

#include <string.h>

enum { BYTES = 16 };

typedef struct Wide {
    uint64_t half[2];
} Wide;

static Wide wide_at(const Warp *w, uint32_t row, uint32_t lane) {
    return (Wide){{LANE(U64, w, row, lane), LANE(U64, w, row + ROW64, lane)}};
}

/* What the swap leaves is undefined where anything that it saw or wrote is. */
static void follow(Machine *m, const Warp *w, const Ins *in, const AtomForm *f, int lane,
                   uint64_t at) {
    const Frame *frame = &w->s.frame[w->frame];
    uint32_t found = m->undefined.bytes, origin = found ? m->undefined.origin : ORIGIN_NONE;
    uint32_t given = ORIGIN_NONE;
    uint64_t value = 0;
    for (uint32_t half = 0; half < 2; half++) {
        uint64_t old = found >> 8 * half & 0xff ? UINT64_MAX : 0;
        value |= undefined_row(frame, in->b + half * ROW64, lane, &given);
        if (f->op == ATOM_CAS) value |= undefined_row(frame, in->c + half * ROW64, lane, &given);
        if (f->is_read) undefined_set(frame, in->d + half * ROW64, lane, old, origin);
    }
    bool left = value || (found && f->op != ATOM_EXCH);
    if (left || found)
        shadow_define(m, w, lane, (PtxSpace)f->space, at, BYTES, left ? 0xffff : 0,
                      given ? given : origin);
}

/* False: the lane or the launch ends. */
static bool swap(Machine *m, Warp *w, const Ins *in, const AtomForm *f, int lane, uint64_t at,
                 uint64_t *seen) {
    Access a = {m, w, in, lane, (PtxSpace)f->space, at, BYTES, true, f->order};
    uint32_t i = (uint32_t)lane;
    Wide old, now = wide_at(w, f->op == ATOM_CAS ? in->c : in->b, i),
              expected = wide_at(w, in->b, i);
    m->undefined.bytes = 0;
    uint8_t *p = mem_atomic(&a);
    if (p == NULL) return false;
    memcpy(&old, p, BYTES);
    bool is_swapped = f->op != ATOM_CAS || memcmp(&old, &expected, BYTES) == 0;
    if (!is_swapped) now = old;
    if (!mem_look_at(&a, p, &now)) return false;
    memcpy(p, &now, BYTES);
    if (m->follows) follow(m, w, in, f, lane, at);
    w->moved |= memcmp(&old, &now, BYTES) != 0;
    w->beyond |= a.space != PTX_SHARED && f->is_read;
    for (uint32_t half = 0; half < 2; half++) {
        *seen = (*seen ^ at ^ old.half[half]) * 0xd6e8feb86659fd93u;
        if (f->is_read) LANE(U64, w, in->d + half * ROW64, i) = old.half[half];
    }
    return true;
}

static bool do_swap(Machine *m, Warp *w, const Ins *in) {
    AtomForm f;
    uint64_t at[LANES], seen = 0;
    uint32_t done = w->active;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, f.wide_base, 0, at);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        if (swap(m, w, in, &f, i, at[i], &seen)) continue;
        if (m->ended) return false;
        done &= ~(1u << i);
    }
    if (f.is_read) warp_saw(w, in, seen, (PtxSpace)f.space, at[__builtin_ctz(w->active)]);
    atom_cost(m, w, &f, at, done);
    return true;
}

bool decode_atomic_128(Decoder *d, const AtomForm *f) {
    const PtxOperand *args = d->in->args;
    uint32_t to, base, b, c;
    bool wide;
    uint64_t imm = 0;
    AtomForm form = *f;
    if (!decode_has(d, 83, 90)) return false;
    if (!decode_address(d, USE_ATOMIC, &args[1], (PtxSpace)f->space, 0, &base, &wide)) return false;
    if (!source(d, &args[2], 'Q', 0, &b) || !dest(d, &args[0], 'Q', &to)) return false;
    c = b;
    if (f->op == ATOM_CAS && !source(d, &args[3], 'Q', 1, &c)) return false;
    form.wide_base = wide;
    memcpy(&imm, &form, sizeof form);
    emit_slow(d, do_swap, to, base, b, c, imm);
    return true;
}
