/* async.c - decodes mbarriers, addresses in a cluster, and its barrier. exec/async.h names what
** runs them. */
#include "emu/decode/decode.h"
#include "emu/exec/async.h"

#include <string.h>

/* --- mbarrier --- */

static MbarOp mbar_op(const Decoder *d) {
    static const char *const names[] = {[MBAR_INIT] = "init",
                                        [MBAR_INVAL] = "inval",
                                        [MBAR_ARRIVE] = "arrive",
                                        [MBAR_DROP] = "arrive_drop",
                                        [MBAR_EXPECT] = "expect_tx",
                                        [MBAR_COMPLETE] = "complete_tx",
                                        [MBAR_WAIT] = "test_wait try_wait"};
    int op = 0;
    while (!mod_is(d, 0, names[op])) op++;
    return (MbarOp)op;
}

/* Are there so many operands, the address at `place`, and an order and its scope together? */
static bool mbar_operands(Decoder *d, int place, int least, int most) {
    const PtxInstr *in = d->in;
    bool orders = has_mod(d, "release relaxed acquire"), scope = has_mod(d, "cta cluster");
    return (in->n_args >= least && in->n_args <= most && in->args[place].kind == PTX_OP_ADDR &&
            orders == scope) ||
           decode_unknown(d);
}

/* A register, or 0 or 1. */
static bool is_parity(Decoder *d, const PtxOperand *op) {
    uint64_t x = 0;
    if (op->kind != PTX_OP_IMM) return true;
    return whole_number(d, op, &x) && (x <= 1 || decode_fail(d, "a phase's parity is 0 or 1"));
}

static bool decode_mbarrier(Decoder *d) {
    const PtxInstr *in = d->in;
    MbarOp op = mbar_op(d);
    bool counts = op == MBAR_ARRIVE || op == MBAR_DROP, waits = op == MBAR_WAIT;
    bool try = waits && mod_is(d, 0, "try_wait"), has_result = counts || waits;
    bool expects = counts && has_mod(d, "expect_tx"), incomplete = has_mod(d, "noComplete");
    bool shared = has_mod(d, "shared shared::cta shared::cluster"), wide;
    MbarForm f = {.op = (uint8_t)op,
                  .space = shared ? PTX_SHARED : PTX_GENERIC,
                  .expects = expects,
                  .incomplete = incomplete,
                  .parity = has_mod(d, "parity"),
                  .relaxed = has_mod(d, "relaxed")};
    int least = has_result + 1 + (op != MBAR_INVAL && (!counts || expects || incomplete));
    int most = has_result + 1 + (op != MBAR_INVAL) + try;
    uint32_t to = 0, at, b = pool_row(d, POOL_B32, 1), hint;
    if (!mbar_operands(d, has_result, least, most)) return false;
    if (has_mod(d, "shared::cluster") && counts && in->args[0].kind != PTX_OP_SINK)
        return decode_fail(d, "an arrival in another block has no state");
    if (!decode_address(d, USE_MBARRIER, &in->args[has_result], (PtxSpace)f.space, 0, &at, &wide))
        return false;
    f.wide = wide;
    if (f.parity && !is_parity(d, &in->args[has_result + 1])) return false;
    if (in->n_args > has_result + 1 &&
        !source(d, &in->args[has_result + 1], waits && !f.parity ? 'q' : 'w', 0, &b))
        return false;
    if (in->n_args > has_result + 2 && !source(d, &in->args[has_result + 2], 'w', 1, &hint))
        return false;
    f.result = counts && in->args[0].kind == PTX_OP_REG;
    if (has_result && !dest(d, &in->args[0], waits ? 'p' : 'q', &to)) return false;
    uint64_t imm;
    memcpy(&imm, &f, sizeof imm);
    emit_slow(d, mbarrier_do, to, at, b, b, imm);
    forget_bases(d);
    return true;
}

static bool decode_pending(Decoder *d) {
    uint32_t to, state;
    if (d->in->n_args != 2) return decode_unknown(d);
    if (!source(d, &d->in->args[1], 'q', 0, &state) || !dest(d, &d->in->args[0], 'w', &to))
        return false;
    emit_slow(d, mbarrier_pending, to, state, 0, 0, 0);
    return true;
}

/* --- clusters --- */

/* barrier.cluster.arrive{.release|.relaxed}{.aligned}, barrier.cluster.wait{.acquire}{.aligned} */
bool decode_cluster_barrier(Decoder *d) {
    const PtxInstr *in = d->in;
    bool arrives = mod_is(d, 1, "arrive"), aligned = mod_is(d, LAST, "aligned");
    int order = mod_is(d, 2, arrives ? "release relaxed" : "acquire");
    if (ptx_is(in, "bar") || in->n_args || (!arrives && !mod_is(d, 1, "wait")) ||
        in->n_mods != 2 + order + aligned)
        return decode_unknown(d);
    if (arrives) emit_slow(d, cluster_arrive, 0, 0, 0, 0, 0);
    else emit(d, OP_BARRIER, BAR_CLUSTER | (aligned ? BAR_ALIGNED : 0), 0, 0, 0, 0);
    forget_bases(d);
    return true;
}

/* An address in a register, or the name of a shared variable. */
static bool cluster_source(Decoder *d, const PtxOperand *op, bool wide, uint32_t *at) {
    bool is_wide = false;
    if (op->kind != PTX_OP_SYMBOL) return source(d, op, wide ? 'q' : 'w', 0, at);
    if (op->var == NULL || op->var->space != PTX_SHARED || (wide && mod_is(d, 0, "u64")))
        return decode_fail(d, "%s is no shared variable", op->symbol);
    if (!symbol_row(d, op, op->offset, at, &is_wide)) return false;
    uint32_t row = wide ? d->tmp64[0] : d->tmp32[0];
    if (is_wide != wide) emit(d, wide ? OP_WIDEN_U : OP_NARROW, 0, row, *at, *at, *at), *at = row;
    return true;
}

/* mapa{.shared::cluster}.u32|u64 d, a, rank; getctarank of the same, d, a. 32 bits are an address
** of shared memory either way: ptxas 13.0 makes the same code of both. */
static bool decode_mapa(Decoder *d) {
    const PtxInstr *in = d->in;
    bool maps = ptx_is(in, "mapa"), wide = mod_is(d, LAST, "u64");
    bool generic = wide && !mod_is(d, 0, "shared::cluster");
    uint32_t to, at, rank = 0;
    if (in->n_args != 2 + maps) return decode_unknown(d);
    if (!cluster_source(d, &in->args[1], wide, &at)) return false;
    if (maps && !source(d, &in->args[2], 'w', 1, &rank)) return false;
    if (!dest(d, &in->args[0], wide && maps ? 'q' : 'w', &to)) return false;
    emit_slow(d, maps ? cluster_map : cluster_rank, to, at, rank, 0,
              (uint64_t)wide | (uint64_t)generic << 1);
    return true;
}

/* mov.pred p, %is_explicit_cluster */
bool decode_is_cluster(Decoder *d) {
    uint32_t to, row = pool_row(d, POOL_CLUSTER_EXPLICIT, 0);
    if (strcmp(d->in->args[1].symbol, "%is_explicit_cluster") != 0) return decode_unknown(d);
    if (!dest(d, &d->in->args[0], 'p', &to)) return false;
    emit(d, OP_EQ32, 1, to, row, pool_row(d, POOL_B32, 0), 0);
    return true;
}

const Form forms_async[] = {
    CUSTOM_OF("mbarrier", "init|inval ?shared|shared::cta b64", decode_mbarrier, ATOMIC_SHARED),
    CUSTOM_OF("mbarrier",
              "arrive|arrive_drop ?expect_tx ?release|relaxed ?cta|cluster "
              "?shared|shared::cta|shared::cluster b64",
              decode_mbarrier, ATOMIC_SHARED),
    CUSTOM_OF("mbarrier", "arrive|arrive_drop noComplete ?release ?cta ?shared|shared::cta b64",
              decode_mbarrier, ATOMIC_SHARED),
    CUSTOM_OF("mbarrier",
              "expect_tx|complete_tx ?relaxed ?cta|cluster ?shared|shared::cta|shared::cluster b64",
              decode_mbarrier, ATOMIC_SHARED),
    CUSTOM_OF("mbarrier",
              "test_wait|try_wait ?parity ?acquire|relaxed ?cta|cluster ?shared|shared::cta b64",
              decode_mbarrier, LD_SHARED),
    CUSTOM_OF("mbarrier", "pending_count b64", decode_pending, ALU),
    CUSTOM_OF("mapa", "?shared::cluster u32|u64", decode_mapa, ALU),
    CUSTOM_OF("getctarank", "?shared::cluster u32|u64", decode_mapa, ALU),
    FORMS_END};
