/* fill.c - st.bulk: zeros in shared memory, so many bytes from an address on. Each lane has its own
** address and its own number of bytes. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"

#include <string.h>

enum { PIECE = 8 };

/* imm of a fill. Rows: a where, b how many bytes. */
enum { FILL_GENERIC = 1, FILL_WIDE = 2 };

static bool fill_lane(Machine *m, Warp *w, const Ins *in, int lane, uint64_t at, uint64_t bytes) {
    static const uint8_t zeros[PIECE];
    bool generic = in->imm & FILL_GENERIC;
    if (generic && at >> ID_SHIFT != ID_SHARED)
        return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                           "st.bulk at 0x%llx, which is no shared memory", (unsigned long long)at);
    if (generic) at &= OFFSET_MASK;
    if (bytes % PIECE)
        return fault_raise(m, w, in, lane, EMU_MISALIGNED,
                           "st.bulk of %llu bytes, no multiple of %d", (unsigned long long)bytes,
                           PIECE);
    for (uint64_t k = 0; k < bytes; k += PIECE) {
        Access write = {m, w, in, lane, PTX_SHARED, at + k, PIECE, true, 0};
        if (!mem_write(write, zeros)) return false;
    }
    return true;
}

static bool do_fill(Machine *m, Warp *w, const Ins *in) {
    uint64_t at[LANES], place[LANES];
    uint32_t wrote = 0;
    mem_addresses(w, in->a, in->imm & FILL_WIDE, 0, at);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        bool done = fill_lane(m, w, in, i, at[i], LANE(U64, w, in->b, i));
        if (m->ended) return false;
        if (!done) continue;
        wrote |= 1u << i;
        place[i] = at[i] & OFFSET_MASK;
    }
    w->moved = true;
    if (wrote) cost_shared(m, place, wrote, PIECE);
    return true;
}

/* st.bulk{.weak}{.shared::cta} [a], bytes, 0 */
bool decode_fill(Decoder *d) {
    const PtxOperand *args = d->in->args;
    bool generic = !has_mod(d, "shared::cta"), wide;
    uint64_t zero;
    uint32_t at, bytes;
    if (!decode_has(d, 86, 100)) return false;
    if (!decode_address(d, USE_FILL, &args[0], generic ? PTX_GENERIC : PTX_SHARED, 0, &at, &wide) ||
        !source(d, &args[1], 'q', 1, &bytes) || !immediate(d, &args[2], 'q', &zero))
        return false;
    if (zero) return decode_fail(d, "st.bulk writes zeros alone");
    if (args[1].kind == PTX_OP_IMM && args[1].imm % PIECE)
        return decode_fail(d, "st.bulk writes whole multiples of %d bytes", PIECE);
    emit_slow(d, do_fill, 0, at, bytes, 0, (generic ? FILL_GENERIC : 0u) | (wide ? FILL_WIDE : 0u));
    return true;
}
