/* hints.c - instructions that change no value: cache policies, prefetches, fences between proxies,
** events, registers handed back.
**
** Their operands are checked as ptxas does, and left. Three of them do something all the same:
** createpolicy gives a policy, which only hints read; discard leaves bytes undefined, and a fence
** that acquires or releases orders accesses for the check of races.
**
** A signature has a letter an operand:
**   G g l c k  an address: generic, in global, local, constant memory, in a kernel's parameters
**   8          the number 128         e m  numbers of an event: up to 15, a mask of 16 bits
**   n          registers: 24 to 256, a multiple of 8
**   P          the policy that is made  q w f  what it is made of
*/
#include "emu/decode/decode.h"
#include "emu/check/undefined.h"
#include "emu/exec/lanes.h"

#include <string.h>

enum { LINE = 128, PIECE = 16 };

static bool check_address(Decoder *d, const PtxOperand *op, char letter) {
    static const char letters[] = "Gglck";
    static const PtxSpace spaces[] = {PTX_GENERIC, PTX_GLOBAL, PTX_LOCAL, PTX_CONST, PTX_PARAM};
    Bound bound;
    return bound_of(d, USE_PREFETCH, spaces[strchr(letters, letter) - letters], op, &bound);
}

static bool check_number(Decoder *d, const PtxOperand *op, char letter) {
    static const struct {
        char letter;
        uint64_t least, most, unit;
    } limits[] = {{'8', LINE, LINE, LINE}, {'e', 0, 15, 1}, {'m', 0, 0xffff, 1}, {'n', 24, 256, 8}};
    uint64_t value, k = 0;
    while (limits[k].letter != letter) k++;
    if (!immediate(d, op, 'q', &value)) return false;
    if (value >= limits[k].least && value <= limits[k].most && value % limits[k].unit == 0)
        return true;
    return decode_fail(d, "the number is %d to %d, a multiple of %d", (int)limits[k].least,
                       (int)limits[k].most, (int)limits[k].unit);
}

/* A part of a cache is more than none of it, and all of it at most. */
static bool check_fraction(Decoder *d, const PtxOperand *op) {
    uint32_t row;
    if (!source(d, op, 'f', 0, &row)) return false;
    if (op->kind != PTX_OP_IMM) return true;
    uint64_t bits;
    return (immediate(d, op, 'f', &bits) && bits > 0 && bits <= 0x3f800000) ||
           decode_fail(d, "a fraction is above 0 and at most 1");
}

static bool check_operand(Decoder *d, const PtxOperand *op, char letter) {
    uint32_t row;
    if (strchr("Gglck", letter)) return check_address(d, op, letter);
    if (strchr("8emn", letter)) return check_number(d, op, letter);
    if (letter == 'f') return check_fraction(d, op);
    return letter == 'P' ? dest(d, op, 'q', &row) : source(d, op, letter, 0, &row);
}

static bool decode_hint(Decoder *d) {
    const char *sig = d->form->sig;
    for (int k = 0; sig[k]; k++)
        if (!check_operand(d, &d->in->args[k], sig[k])) return false;
    return true;
}

static bool decode_registers(Decoder *d) {
    return decode_has(d, 80, 90) && decode_has_own(d) && decode_hint(d);
}

static bool decode_ordering(Decoder *d) {
    if (!decode_has(d, 78, 90) || !decode_hint(d)) return false;
    emit_fence(d);
    return true;
}

/* What is known of policies: their first 16 bits say how long lines stay. */
static uint64_t policy_of(const Decoder *d) {
    return has_mod(d, "L2::evict_last")    ? 0x14f0000000000000u
           : has_mod(d, "L2::evict_first") ? 0x12f0000000000000u
                                           : 0x16f0000000000000u;
}

static bool decode_policy(Decoder *d) {
    uint32_t to;
    if (!decode_has(d, 74, 80) || !decode_hint(d)) return false;
    if (!dest(d, &d->in->args[0], 'q', &to)) return false;
    move_row(d, &d->in->args[0], true, to, pool_row(d, POOL_B64, policy_of(d)));
    return true;
}

/* --- discard --- */

/* Nobody knows what the bytes are from now on: they are all ones here, and count as undefined. */
static bool discard_line(Machine *m, Warp *w, const Ins *in, int lane, uint64_t at) {
    uint8_t ones[PIECE];
    memset(ones, 0xff, PIECE);
    if (at % LINE)
        return fault_raise(m, w, in, lane, EMU_MISALIGNED,
                           "misaligned discard of %d bytes at address 0x%llx", LINE,
                           (unsigned long long)at);
    uint32_t origin = m->follows ? origin_at(m, w, in, lane, EMU_WARN_UNINITIALISED,
                                             "global memory was discarded")
                                 : ORIGIN_NONE;
    for (uint64_t k = at; k < at + LINE; k += PIECE) {
        Access write = {m, w, in, lane, PTX_GLOBAL, k, PIECE, true, 0};
        if (!mem_write(write, ones)) return false;
        if (m->follows) shadow_define(m, w, lane, PTX_GLOBAL, k, PIECE, 0xffff, origin);
    }
    return true;
}

static bool do_discard(Machine *m, Warp *w, const Ins *in) {
    uint64_t at[LANES];
    mem_addresses(w, in->a, true, 0, at);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        if (!discard_line(m, w, in, i, at[i]) && m->ended) return false;
    }
    w->moved = true;
    return true;
}

/* discard{.global}.L2 [a], 128 */
static bool decode_discard(Decoder *d) {
    PtxSpace space = has_mod(d, "global") ? PTX_GLOBAL : PTX_GENERIC;
    uint32_t at;
    bool wide;
    if (!decode_has(d, 74, 80) || d->in->n_args != 2) return decode_unknown(d);
    if (!decode_address(d, USE_DISCARD, &d->in->args[0], space, 0, &at, &wide)) return false;
    if (!check_number(d, &d->in->args[1], '8')) return false;
    emit_slow(d, do_discard, 0, at, 0, 0, 0);
    return true;
}

#define HINT(opcode, mods, sig, cost) CUSTOM_SIG(opcode, mods, sig, decode_hint, cost)
#define POLICY(mods, sig)             CUSTOM_SIG("createpolicy", mods, sig, decode_policy, ALU)
#define FIRST  "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"
#define SECOND "?L2::evict_first|L2::evict_unchanged"
#define SCOPES "cta|gpu|sys|cluster"
#define ORDERING(mods, sig) CUSTOM_SIG("fence", mods, sig, decode_ordering, FENCE)
#define RESTRICT            "sync_restrict::shared::"

const Form forms_hints[] = {
    HINT("prefetch", "L1|L2|L2::evict_last|L2::evict_normal", "G", LD_GLOBAL),
    HINT("prefetch", "global L1|L2|L2::evict_last|L2::evict_normal", "g", LD_GLOBAL),
    HINT("prefetch", "local L1|L2", "l", LD_GLOBAL),
    HINT("prefetch", "tensormap", "G", LD_GLOBAL),
    HINT("prefetch", "const tensormap", "c", LD_GLOBAL),
    HINT("prefetch", "param tensormap", "k", LD_GLOBAL),
    HINT("prefetchu", "L1", "G", LD_GLOBAL),
    HINT("applypriority", "L2::evict_normal", "G8", LD_GLOBAL),
    HINT("applypriority", "global L2::evict_normal", "g8", LD_GLOBAL),
    CUSTOM_OF("discard", "?global L2", decode_discard, ST_GLOBAL),
    POLICY("fractional " FIRST " " SECOND " b64", "Pf"),
    POLICY("fractional " FIRST " " SECOND " b64", "P"),
    POLICY("range ?global " FIRST " " SECOND " b64", "PGww"),
    POLICY("cvt L2 b64", "Pq"),
    HINT("pmevent", "", "e", ALU),
    HINT("pmevent", "mask", "m", ALU),
    CUSTOM_SIG("setmaxnreg", "inc|dec sync aligned u32", "n", decode_registers, ALU),
    HINT("fence", "proxy alias", "", FENCE),
    HINT("fence", "proxy async global", "", FENCE),
    CUSTOM_SIG("fence", "proxy async ?shared::cta|shared::cluster", "", decode_proxy_fence, FENCE),
    HINT("fence", "mbarrier_init release cluster", "", FENCE),
    ORDERING("proxy tensormap::generic release " SCOPES, ""),
    ORDERING("proxy tensormap::generic acquire " SCOPES, "G8"),
    ORDERING(RESTRICT "cluster acquire cluster", ""),
    ORDERING(RESTRICT "cta release cluster", ""),
    ORDERING("proxy async::generic " RESTRICT "cluster acquire cluster", ""),
    ORDERING("proxy async::generic " RESTRICT "cta release cluster", ""),
    FORMS_END};
