/* registers.c - what the decoder knows of each register before it decodes: how often and
** by which instructions it is read, and where it is written. What follows from that:
**
**   n_reads     components of a vector that nobody reads (the last of a float3) are not loaded
**   is_local    used in one stretch of code that lanes go through without waiting for each other,
**               where it is written first: needs no care for other lanes, which wait before or
**               behind it, and no value to begin with. A basic block is such a stretch, or several:
**               lanes may wait within it for others, at a warp operation, a barrier or a call
**   is_once     written once, before anything reads it: may be another name for a constant row
**   shows_bits  read by something that shows which NaN it is; else any NaN will do
*/
#include "emu/decode/decode.h"

#include <stdlib.h>

/* Is the result the same whichever NaN an f32 operand is? */
static bool is_blind_to_nans(const PtxInstr *in) {
    if (!ptx_word_in(ptx_mod(in, -1), "f32")) return false;
    if (ptx_is(in, "setp")) return true;
    if (in->n_mods > 2 || (in->n_mods == 2 && !ptx_word_in(in->mods[0], "rn"))) return false;
    return ptx_is(in, "add sub mul fma mad div min max");
}

static void note_reads(Decoder *d, const PtxOperand *op, bool shows_bits) {
    if (op->kind == PTX_OP_REG) {
        d->n_reads[op->reg]++;
        if (shows_bits) d->shows_bits[op->reg] = true;
    }
    for (int i = 0; i < op->n_elems; i++) note_reads(d, &op->elems[i], shows_bits);
}

/* where[r]: the block + 1 where register r is written, if that happens once and no line before
** reads it; else -1. To be called after note_reads. */
static void note_write(const Decoder *d, const PtxInstr *in, const PtxOperand *op, int block,
                       int *where) {
    if (op->kind == PTX_OP_REG) {
        bool is_first = where[op->reg] == 0 && d->n_reads[op->reg] == 0 && in->guard < 0;
        where[op->reg] = is_first ? block + 1 : -1;
    }
    for (int i = 0; i < op->n_elems; i++) note_write(d, in, &op->elems[i], block, where);
}

/* home[r]: the stretch (from 1) where register r was met first; -1 when it is no local of one. */
static void note_home(const PtxOperand *op, int stretch, bool is_write, int *home) {
    if (op->kind == PTX_OP_REG) {
        int *h = &home[op->reg];
        if (*h == 0) *h = is_write ? stretch : -1;
        else if (*h != stretch) *h = -1;
    }
    bool inside = is_write && op->kind != PTX_OP_ADDR && op->kind != PTX_OP_TEX;
    for (int i = 0; i < op->n_elems; i++) note_home(&op->elems[i], stretch, inside, home);
}

/* A product of a warpgroup adds to its result. */
static bool is_read(const PtxInstr *in, int arg) {
    return !ptx_is_dest(in, arg) || ptx_is(in, "wgmma");
}

static void note_homes(const PtxInstr *in, int stretch, int *home) {
    if (in->guard >= 0 && home[in->guard] != stretch) home[in->guard] = -1;
    for (int k = 0; k < in->n_args; k++)
        if (is_read(in, k)) note_home(&in->args[k], stretch, false, home);
    for (int k = 0; k < in->n_args; k++)
        if (ptx_is_dest(in, k)) note_home(&in->args[k], stretch, in->guard < 0, home);
}

/* May a lane wait here for others of its warp, while those run? */
static bool may_wait(const PtxInstr *in) {
    return ptx_is(in, "shfl vote match redux elect bar barrier call mma wmma wgmma ldmatrix "
                      "stmatrix movmatrix");
}

/* A slot is shared by registers whose lines do not overlap. Lanes that wait on earlier lines still
** need what lies in it: so locals of a block leave a slot that others have, too, for its twin. */
static void part_slots(PtxLiveness *l, const bool *is_local, int n_regs) {
    for (int c = 0; c < 4; c++) {
        int n = l->slots[c];
        int *twin = gi_alloc((size_t)(n + 1) * sizeof *twin); /* 0: needs none, -1: none yet */
        for (int r = 0; r < n_regs; r++)
            if (l->class_of[r] == c && l->slot[r] >= 0 && !is_local[r]) twin[l->slot[r]] = -1;
        for (int r = 0; r < n_regs; r++) {
            if (l->class_of[r] != c || l->slot[r] < 0 || !is_local[r]) continue;
            int *to = &twin[l->slot[r]];
            if (*to < 0) *to = l->slots[c]++;
            if (*to > 0) l->slot[r] = *to;
        }
        free(twin);
    }
}

void find_registers(Decoder *d) {
    size_t n = (size_t)d->func->n_regs + 1;
    int *home = gi_alloc(n * sizeof *home), *where = gi_alloc(n * sizeof *where);
    d->n_reads = gi_alloc(n * sizeof *d->n_reads);
    d->is_local = gi_alloc(n);
    d->is_uniform = gi_alloc(n);
    d->is_once = gi_alloc(n);
    d->shows_bits = gi_alloc(n);
    d->alias = gi_alloc(n * sizeof *d->alias);
    for (int i = 0, stretch = 1; i < d->func->n_code; i++) {
        const PtxInstr *in = &d->func->code[i];
        bool waits = may_wait(in), begins = i > 0 && d->cfg->block_of[i] != d->cfg->block_of[i - 1];
        for (int k = 0; k < in->n_args; k++)
            if (is_read(in, k)) note_reads(d, &in->args[k], !is_blind_to_nans(in));
        int block = d->cfg->block_of[i];
        if (in->guard >= 0 && where[in->guard] == 0) where[in->guard] = -1; /* a read, too */
        if (in->n_args > 0 && ptx_is_dest(in, 0)) note_write(d, in, &in->args[0], block, where);
        stretch += waits || begins; /* what waits is a stretch of its own: its operands stay */
        note_homes(in, stretch, home);
        stretch += waits;
    }
    for (size_t r = 0; r < n; r++) {
        d->is_local[r] = home[r] > 0;
        d->is_once[r] = where[r] == 1 || (where[r] > 0 && home[r] > 0);
    }
    part_slots(d->live, d->is_local, d->func->n_regs);
    free(where);
    free(home);
}
