/* value.c - which registers are written on every path to a place.
**
** Where one block alone writes a register, dominance says it. For the others forward, block by
** block, until nothing changes: a block begins with what all its predecessors end with. Blocks that
** no path leads to have everything. A guarded write counts: what it leaves unwritten the compiler
** has written by its opposite.
*/
#include "ptx/edit.h"

#include <stdlib.h>
#include <string.h>

static void find_writes(PtxFunc *f, PtxValues *v) {
    int n = 0, cap = f->n_code + 16;
    v->first = gi_alloc(((size_t)f->n_code + 1) * sizeof(int));
    v->reg = gi_alloc((size_t)cap * sizeof(int));
    for (int i = 0; i < f->n_code; i++) {
        PtxLeaves l;
        ptx_leaves(&f->code[i], &l);
        v->first[i] = n;
        for (int k = 0; k < l.n_writes; k++) {
            gi_grow(v->reg, n, cap);
            v->reg[n++] = *l.writes[k];
        }
    }
    v->first[f->n_code] = n;
}

static void find_homes(const PtxFunc *f, PtxValues *v) {
    int bits = 0;
    v->home = gi_alloc((size_t)f->n_regs * sizeof(int));
    for (int r = 0; r < f->n_regs; r++) v->home[r] = -1;
    for (int i = 0; i < f->n_code; i++) {
        for (int k = v->first[i]; k < v->first[i + 1]; k++) {
            int *home = &v->home[v->reg[k]], block = v->cfg->block_of[i];
            if (*home == -1) *home = block;
            else if (*home >= 0 && *home != block) *home = -2 - bits++;
        }
    }
    v->words = bits / 64 + 1;
}

/* What block b ends with, given what it begins with. */
static void through(const PtxValues *v, int b, const uint64_t *in, uint64_t *out) {
    const PtxCfg *c = v->cfg;
    memcpy(out, in, (size_t)v->words * sizeof *out);
    for (int k = v->first[c->first[b]]; k < v->first[c->first[b + 1]]; k++) {
        int bit = -2 - v->home[v->reg[k]];
        if (bit >= 0) out[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
}

/* What all predecessors of block b end with; true when it is less than was thought. */
static bool meet(PtxValues *v, int b, const uint64_t *outs) {
    bool changed = false;
    uint64_t *in = v->in + (size_t)b * (size_t)v->words;
    for (int w = 0; w < v->words; w++) {
        uint64_t all = b == 0 ? 0 : ~(uint64_t)0;
        for (int p = 0; p < v->cfg->n_pred[b]; p++)
            all &= outs[(size_t)v->cfg->pred[b][p] * (size_t)v->words + (size_t)w];
        changed |= all != in[w];
        in[w] = all;
    }
    return changed;
}

void ptx_values(PtxFunc *f, PtxValues *v) {
    *v = (PtxValues){.cfg = ptx_cfg(f)};
    v->enter = gi_alloc(2 * (size_t)v->cfg->n_blocks * sizeof(int));
    v->leave = v->enter + v->cfg->n_blocks;
    ptx_dominators(v->cfg, v->enter, v->leave);
    find_writes(f, v);
    find_homes(f, v);
    size_t n = (size_t)v->cfg->n_blocks, size = n * (size_t)v->words * sizeof(uint64_t);
    uint64_t *outs = gi_alloc(size);
    v->in = gi_alloc(size);
    memset(v->in, 0xff, size);
    memset(outs, 0xff, size);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < n; b++) {
            changed |= meet(v, (int)b, outs);
            through(v, (int)b, v->in + b * (size_t)v->words, outs + b * (size_t)v->words);
        }
    }
    free(outs);
}

void ptx_values_free(PtxValues *v) {
    ptx_cfg_free(v->cfg);
    free(v->first);
    free(v->reg);
    free(v->home);
    free(v->enter);
    free(v->in);
    *v = (PtxValues){0};
}

bool ptx_dominates(const PtxValues *v, int block, int other) {
    if (v->enter[other] < 0) return true;
    return v->enter[block] >= 0 && v->enter[block] <= v->enter[other] &&
           v->leave[other] <= v->leave[block];
}

bool ptx_enters(const PtxValues *v, int reg, int block) {
    int home = v->home[reg], bit = -2 - home;
    if (bit < 0)
        return v->enter[block] < 0 || (home >= 0 && home != block && ptx_dominates(v, home, block));
    return v->in[(size_t)block * (size_t)v->words + (size_t)(bit / 64)] >> (bit % 64) & 1;
}

bool ptx_is_written(const PtxValues *v, int reg, int at) {
    int b = v->cfg->block_of[at];
    if (ptx_enters(v, reg, b)) return true;
    for (int k = v->first[v->cfg->first[b]]; k < v->first[at]; k++)
        if (v->reg[k] == reg) return true;
    return false;
}
