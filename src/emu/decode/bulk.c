/* bulk.c - decodes bulk copies, their groups, stores that complete on an mbarrier, and the fence
** between a thread's own accesses and copies. exec/bulk.h says what runs them. */
#include "emu/exec/bulk.h"
#include "emu/decode/decode.h"

#include <stdlib.h>
#include <string.h>

/* --- parts --- */

static const char *const op_names[] = {"add", "min",  "max", "inc", "dec",
                                       "cas", "exch", "and", "or",  "xor"};

/* Sets the reduction that an instruction names. into_shared: it is one for shared memory. */
static bool reduction(Decoder *d, BulkForm *f, bool into_shared, bool of_map) {
    static const struct {
        const char *ops, *into_shared, *global;
    } known[] = {{"add", "u32 s32 u64", "u32 s32 u64 f32 f64 f16 bf16"},
                 {"min max", "u32 s32", "u32 s32 u64 s64 f16 bf16"},
                 {"inc dec", "u32", "u32"},
                 {"and or xor", "b32", "b32 b64"}};
    PtxType type = PTX_B32;
    const char *last = mod_at(d, LAST);
    bool fits = of_map;
    for (int k = 0; k < 10; k++)
        if (has_mod(d, op_names[k])) f->op = (uint8_t)k;
    for (int k = 0; k < 4 && !of_map; k++)
        fits |= ptx_word_in(op_names[f->op], known[k].ops) &&
                ptx_word_in(last, into_shared ? known[k].into_shared : known[k].global);
    bool half = ptx_word_in(last, "f16 bf16") && f->op == ATOM_ADD;
    if (!of_map && (!ptx_type_parse(last, &type) || half != has_mod(d, "noftz"))) fits = false;
    f->reduces = true;
    f->type = (uint8_t)type;
    return fits || decode_unknown(d);
}

static bool keep(Decoder *d, const BulkForm *f) {
    Code *code = d->code;
    gi_grow(code->bulk, code->n_bulk, code->cap_bulk);
    code->bulk[code->n_bulk] = *f;
    emit_slow(d, bulk_issue, f->to, f->from, f->size, 0, (uint64_t)code->n_bulk++);
    forget_bases(d);
    d->cost[d->index] = COST_ST_GLOBAL;
    return true;
}

/* [map, {coordinates}] */
static bool tensor_operand(Decoder *d, BulkForm *f, const PtxOperand *op, uint32_t *map) {
    bool wide;
    if (op->kind != PTX_OP_TEX || op->n_elems != 2 || op->elems[1].kind != PTX_OP_VECTOR ||
        op->elems[1].n_elems != f->dims)
        return decode_fail(d, "a tensor map with %d coordinates is expected", f->dims);
    PtxOperand at = {.kind = PTX_OP_ADDR, .n_elems = 1, .elems = op->elems, .func = -1, .reg = -1};
    if (!decode_address(d, USE_MAP, &at, PTX_GENERIC, 1, map, &wide)) return false;
    for (int k = 0; k < f->dims; k++)
        if (!source(d, &op->elems[1].elems[k], 'w', 0, &f->coord[k])) return false;
    return true;
}

static bool shared_operand(Decoder *d, const PtxOperand *op, int which, uint32_t *row, bool *wide) {
    return decode_address(d, USE_BULK, op, PTX_SHARED, which, row, wide);
}

/* What follows: offsets of im2col, the mask of a multicast, a cache policy (which hints). */
static bool tail(Decoder *d, BulkForm *f, int k) {
    const PtxInstr *in = d->in;
    bool hint = has_mod(d, "L2::cache_hint");
    uint32_t policy;
    f->multicast = has_mod(d, "multicast::cluster");
    f->im2col = has_mod(d, "im2col im2col_no_offs");
    if (has_mod(d, "im2col")) {
        int n = f->dims - 2;
        if (n < 1 || k >= in->n_args || in->args[k].kind != PTX_OP_VECTOR ||
            in->args[k].n_elems != n)
            return decode_fail(d, "im2col has offsets in %d dimensions", n);
        f->n_offsets = (uint8_t)n;
        for (int i = 0; i < n; i++)
            if (!source(d, &in->args[k].elems[i], 'h', i, &f->offset[i])) return false;
        k++;
    }
    if (f->multicast && (k >= in->n_args || !source(d, &in->args[k++], 'h', 0, &f->mask)))
        return decode_unknown(d);
    if (hint && (k >= in->n_args || !source(d, &in->args[k++], 'q', 0, &policy)))
        return decode_unknown(d);
    return k == in->n_args || decode_unknown(d);
}

/* --- the forms --- */

#define INTO   "shared::cluster|shared::cta global"
#define OUT_OF "global shared::cta"
#define DONE   "mbarrier::complete_tx::bytes"
#define DIMS   "1d|2d|3d|4d|5d"
#define OPS    "add|min|max|inc|dec|and|or|xor"

/* [to], [from], bytes, [object]; [to], [from], bytes */
static bool plain_copy(Decoder *d, BulkWay way, bool reduces) {
    const PtxInstr *in = d->in;
    BulkForm f = {.way = way};
    bool grouped = way == BULK_SHARED_GLOBAL, from_global = way == BULK_GLOBAL_SHARED;
    if (in->n_args < 3 + !grouped) return decode_unknown(d);
    if (reduces && !reduction(d, &f, !grouped, false)) return false;
    if (!decode_address(d, USE_BULK, &in->args[0], grouped ? PTX_GLOBAL : PTX_SHARED, 0, &f.to,
                        &f.wide_to) ||
        !decode_address(d, USE_BULK, &in->args[1], from_global ? PTX_GLOBAL : PTX_SHARED, 1,
                        &f.from, &f.wide_from) ||
        !source(d, &in->args[2], 'w', 0, &f.size))
        return false;
    if (!grouped && !shared_operand(d, &in->args[3], 2, &f.object, &f.wide_object)) return false;
    return tail(d, &f, 3 + !grouped) && keep(d, &f);
}

static uint8_t dims_of(const Decoder *d) {
    for (int i = 0; i < d->in->n_mods; i++)
        if (mod_is(d, i, "1d 2d 3d 4d 5d")) return (uint8_t)(mod_at(d, i)[0] - '0');
    return 0;
}

/* [to], [map, {…}], [object] …; [map, {…}], [from] … */
static bool tensor_copy(Decoder *d, bool load, bool reduces) {
    const PtxInstr *in = d->in;
    BulkForm f = {
        .way = load ? BULK_GLOBAL_SHARED : BULK_SHARED_GLOBAL, .tensor = true, .dims = dims_of(d)};
    if (in->n_args < 2 + load) return decode_unknown(d);
    if (reduces && !reduction(d, &f, false, true)) return false;
    f.size = pool_row(d, POOL_B32, 0);
    if (load) {
        f.wide_from = true;
        if (!shared_operand(d, &in->args[0], 0, &f.to, &f.wide_to) ||
            !tensor_operand(d, &f, &in->args[1], &f.from) ||
            !shared_operand(d, &in->args[2], 2, &f.object, &f.wide_object))
            return false;
    } else {
        f.wide_to = true;
        if (!tensor_operand(d, &f, &in->args[0], &f.to) ||
            !shared_operand(d, &in->args[1], 0, &f.from, &f.wide_from))
            return false;
    }
    return tail(d, &f, 2 + load) && keep(d, &f);
}

/* Nothing is read: a hint. */
static bool prefetch(Decoder *d, bool tensor) {
    const PtxInstr *in = d->in;
    BulkForm f = {.tensor = tensor, .dims = dims_of(d)};
    uint32_t row;
    bool wide;
    d->cost[d->index] = COST_FREE;
    if (in->n_args < 1 + !tensor) return decode_unknown(d);
    if (tensor) return tensor_operand(d, &f, &in->args[0], &row) && tail(d, &f, 1);
    return decode_address(d, USE_PREFETCH, &in->args[0], PTX_GLOBAL, 0, &row, &wide) &&
           source(d, &in->args[1], 'w', 0, &row) && tail(d, &f, 2);
}

static bool group(Decoder *d, bool waits) {
    uint64_t pending = 0;
    d->cost[d->index] = COST_ALU;
    if (d->in->n_args != waits) return decode_unknown(d);
    if (waits && !whole_number(d, &d->in->args[0], &pending)) return false;
    emit_slow(d, waits ? bulk_wait : bulk_commit, 0, 0, 0, 0, pending);
    forget_bases(d);
    return true;
}

#define IS(pattern) decode_mods_match(d, pattern)

static bool decode_reduce(Decoder *d) {
    if (IS("reduce async bulk shared::cluster shared::cta " DONE " " OPS " u32|s32|u64|b32"))
        return plain_copy(d, BULK_SHARED_SHARED, true);
    if (IS("reduce async bulk " OUT_OF " bulk_group ?L2::cache_hint " OPS
           " ?noftz u32|s32|u64|s64|f32|f64|f16|bf16|b32|b64"))
        return plain_copy(d, BULK_SHARED_GLOBAL, true);
    if (IS("reduce async bulk tensor " DIMS " " OUT_OF " " OPS
           " ?tile|im2col_no_offs bulk_group ?L2::cache_hint"))
        return tensor_copy(d, false, true);
    return decode_unknown(d);
}

bool decode_bulk(Decoder *d) {
    if (mod_is(d, 0, "reduce")) return decode_reduce(d);
    if (IS("async bulk " INTO " " DONE " ?multicast::cluster ?L2::cache_hint"))
        return plain_copy(d, BULK_GLOBAL_SHARED, false);
    if (IS("async bulk shared::cluster shared::cta " DONE))
        return plain_copy(d, BULK_SHARED_SHARED, false);
    if (IS("async bulk " OUT_OF " bulk_group ?L2::cache_hint"))
        return plain_copy(d, BULK_SHARED_GLOBAL, false);
    if (IS("async bulk tensor " DIMS " " INTO " ?tile|im2col " DONE
           " ?multicast::cluster ?L2::cache_hint"))
        return tensor_copy(d, true, false);
    if (IS("async bulk tensor " DIMS " " OUT_OF " ?tile|im2col_no_offs bulk_group ?L2::cache_hint"))
        return tensor_copy(d, false, false);
    if (IS("async bulk prefetch L2 global ?L2::cache_hint")) return prefetch(d, false);
    if (IS("async bulk prefetch tensor " DIMS " L2 global ?tile|im2col ?L2::cache_hint"))
        return prefetch(d, true);
    if (IS("async bulk commit_group")) return group(d, false);
    if (IS("async bulk wait_group ?read")) return group(d, true);
    return decode_unknown(d);
}

/* st.async [to], value, [object]; red.async of one value */
bool decode_store_async(Decoder *d) {
    const PtxInstr *in = d->in;
    BulkForm f = {.way = BULK_STORE, .n_values = 1};
    const PtxOperand *v = &in->args[1];
    PtxType type;
    bool red = ptx_is(in, "red");
    bool known =
        red ? IS("async ?relaxed ?cluster shared::cluster " DONE " " OPS " u32|s32|u64|b32")
            : IS("async ?weak shared::cluster " DONE " ?v2|v4 b32|b64|u32|u64|s32|s64|f32|f64");
    if (!known || in->n_args != 3 || !ptx_type_parse(mod_at(d, LAST), &type))
        return decode_unknown(d);
    if (red && !reduction(d, &f, true, false)) return false;
    const char *vector = red ? "" : mod_at(d, -2);
    if (ptx_word_in(vector, "v2 v4")) f.n_values = (uint8_t)(vector[1] - '0');
    f.value_bytes = (uint8_t)ptx_type_size(type);
    if ((v->kind == PTX_OP_VECTOR ? v->n_elems : 1) != f.n_values ||
        f.n_values * f.value_bytes > CHUNK)
        return decode_unknown(d);
    for (int k = 0; k < f.n_values; k++)
        if (!source(d, v->kind == PTX_OP_VECTOR ? &v->elems[k] : v, f.value_bytes == 8 ? 'q' : 'w',
                    k, &f.value[k]))
            return false;
    if (!shared_operand(d, &in->args[0], 0, &f.to, &f.wide_to) ||
        !shared_operand(d, &in->args[2], 2, &f.object, &f.wide_object))
        return false;
    f.from = f.to;
    f.size = pool_row(d, POOL_B32, 0);
    return keep(d, &f);
}

/* --- fences --- */

/* For the checks alone: copies are made in the order of the program. */
static bool do_proxy_fence(Machine *m, Warp *w, const Ins *in) {
    (void)in;
    if (m->shadow) shadow_proxy_fence(m, w);
    return true;
}

bool decode_proxy_fence(Decoder *d) {
    emit_slow(d, do_proxy_fence, 0, 0, 0, 0, 0);
    return true;
}
