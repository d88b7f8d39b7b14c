/* spill.c - see spill.h. Each block is run twice, and the second time counts: it then begins with
** the registers that it ends with, as a loop's body does. What ptxas does better (it may compute a
** value again) and worse (it spills whole live ranges) is left aside. */
#include "emu/cost/spill.h"

#include "emu/core.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Mention { /* of a register, by an instruction of the block */
    int reg, next;       /* next: how far the next read of it is from the block's beginning */
    bool is_write;
} Mention;

typedef struct File {
    const PtxFunc *f;
    Mention *mention;
    int n_mentions, cap_mentions;
    int *next;             /* per register: see Mention */
    int *home;             /* … the block that mentions it, from 1; -1: several */
    bool *is_in, *dirty, *ever;
    int *in;               /* those that are in */
    int n, words, have, spilled;
    SpillBlock *count;
} File;

static int words_of(const File *s, int reg) {
    PtxType type = s->f->regs[reg].type;
    unsigned size = ptx_type_size(type);
    return type == PTX_PRED ? 0 : size <= 4 ? 1 : (int)size / 4;
}

static void drop(File *s, int k) {
    int reg = s->in[k];
    s->in[k] = s->in[--s->n];
    s->is_in[reg] = false;
    s->words -= words_of(s, reg);
    if (!s->dirty[reg] || (s->next[reg] == INT_MAX && s->home[reg] > 0)) return; /* it is dead */
    s->count->stores += words_of(s, reg);
    if (!s->ever[reg]) s->spilled += words_of(s, reg);
    s->ever[reg] = true;
}

static void make_room(File *s, int words) {
    while (s->words + words > s->have) {
        int farthest = -1;
        for (int k = 0; k < s->n; k++)
            if (words_of(s, s->in[k]) &&
                (farthest < 0 || s->next[s->in[k]] > s->next[s->in[farthest]]))
                farthest = k;
        if (farthest < 0) return;
        drop(s, farthest);
    }
}

static void visit(File *s, const Mention *m) {
    if (!s->is_in[m->reg]) {
        make_room(s, words_of(s, m->reg));
        s->is_in[m->reg] = true;
        s->in[s->n++] = m->reg;
        s->words += words_of(s, m->reg);
        s->dirty[m->reg] = false;
        if (!m->is_write) s->count->loads += words_of(s, m->reg);
    }
    s->dirty[m->reg] |= m->is_write;
    s->next[m->reg] = m->next;
}

static void mention(File *s, const PtxOperand *op, bool is_write) {
    if (op->kind == PTX_OP_REG) {
        gi_grow(s->mention, s->n_mentions, s->cap_mentions);
        s->mention[s->n_mentions++] = (Mention){op->reg, INT_MAX, is_write};
    }
    for (int i = 0; i < op->n_elems; i++) mention(s, &op->elems[i], is_write);
}

static void mention_block(File *s, const PtxCfg *cfg, int b) {
    s->n_mentions = 0;
    for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++) {
        const PtxInstr *in = &s->f->code[i];
        for (int dest = 0; dest < 2; dest++)
            for (int k = 0; k < in->n_args; k++) {
                bool is_write = ptx_is_dest(in, k) && in->args[k].kind != PTX_OP_ADDR;
                if (is_write == (dest == 1)) mention(s, &in->args[k], is_write);
            }
    }
}

/* Reads that follow: in the block, or in its next round. */
static void look_ahead(File *s) {
    int n = s->n_mentions;
    for (int j = 0; j < n; j++) s->next[s->mention[j].reg] = INT_MAX;
    for (int j = 2 * n - 1; j >= 0; j--) {
        Mention *m = &s->mention[j % n];
        if (j < n) m->next = s->next[m->reg];
        s->next[m->reg] = m->is_write ? INT_MAX : j;
    }
}

/* Positions count from the round's beginning. */
static void run(File *s, SpillBlock *block) {
    SpillBlock first;
    s->count = &first;
    for (int round = 0; round < 2; round++) {
        if (round == 1) s->count = block;
        memset(s->count, 0, sizeof *s->count);
        for (int j = 0; j < s->n_mentions; j++) visit(s, &s->mention[j]);
        for (int k = 0; k < s->n; k++) /* the next round is nearer by one round */
            if (s->next[s->in[k]] != INT_MAX) s->next[s->in[k]] -= s->n_mentions;
    }
    while (s->n > 0) s->is_in[s->in[--s->n]] = false;
    s->words = 0;
}

static void find_homes(File *s, const PtxCfg *cfg) {
    for (int b = 0; b < cfg->n_blocks; b++) {
        mention_block(s, cfg, b);
        for (int j = 0; j < s->n_mentions; j++) {
            int *home = &s->home[s->mention[j].reg];
            *home = *home == 0 || *home == b + 1 ? b + 1 : -1;
        }
    }
}

int spill_blocks(const PtxFunc *f, const PtxCfg *cfg, int have, SpillBlock *block) {
    size_t regs = (size_t)f->n_regs + 1;
    File s = {.f = f,
              .have = have,
              .next = gi_alloc(regs * sizeof(int)),
              .home = gi_alloc(regs * sizeof(int)),
              .in = gi_alloc(regs * sizeof(int)),
              .is_in = gi_alloc(regs * sizeof(bool)),
              .dirty = gi_alloc(regs * sizeof(bool)),
              .ever = gi_alloc(regs * sizeof(bool))};
    find_homes(&s, cfg);
    for (int b = 0; b < cfg->n_blocks; b++) {
        mention_block(&s, cfg, b);
        look_ahead(&s);
        run(&s, &block[b]);
    }
    free(s.mention);
    free(s.next);
    free(s.home);
    free(s.in);
    free(s.is_in);
    free(s.dirty);
    free(s.ever);
    return s.spilled;
}

/* --- a launch's --- */

enum { RESERVED = 6 }; /* registers that hold no value of the PTX: as register_estimate has it */
enum { TOGETHER = 8 }; /* words that are loaded before one is waited for, about */

/* Which share of so many bytes, gone through again and again, a cache does not keep. */
static double beyond(double bytes, double cache) {
    return bytes > cache ? 1 - fmax(0, cache) / bytes : 0;
}

/* Local memory of all threads that are resident at a time lies in the L1, else in the L2 cache,
** else in DRAM. */
static void charge(Machine *m, int resident, double loads, double stores, double waits, int words) {
    const EmuModel *g = m->model;
    Cost *c = &m->cost;
    double each = fmin(resident, ceil((double)c->blocks / fmax(1, g->sms)));
    double bytes = each * m->n_warps * 128.0 * words, all = bytes * fmax(1, g->sms);
    double from_l2 = beyond(bytes, g->l1_bytes_per_sm - each * m->shared_bytes);
    double from_dram = beyond(all, g->l2_bytes);
    double far = g->latency_l2 + from_dram * (g->latency_dram - g->latency_l2);
    c->extra[PIPE_GLOBAL] += (loads + stores) * g->clocks_local;
    c->extra[PIPE_ISSUE] += loads + stores;
    c->spill_sectors += 4 * from_l2 * (loads + stores);
    c->spill_dram += 4 * from_l2 * from_dram * (loads + stores);
    c->spill_clocks += waits * (g->latency_l1 + from_l2 * (far - g->latency_l1)) / m->n_warps;
}

void cost_spill(Machine *m, int resident) {
    const Code *code = m->entry;
    PtxCfg *cfg = ptx_cfg(code->func);
    SpillBlock *block = gi_alloc((size_t)(cfg->n_blocks + 1) * sizeof *block);
    int have = m->result->registers - RESERVED, words;
    double loads = 0, stores = 0, waits = 0;
    words = spill_blocks(code->func, cfg, have < 4 ? 4 : have, block);
    for (int b = 0; b < cfg->n_blocks; b++) {
        double runs = (double)m->cost.count[code->first_block + b].runs;
        loads += runs * block[b].loads;
        stores += runs * block[b].stores;
        waits += runs * ((block[b].loads + TOGETHER - 1) / TOGETHER);
    }
    charge(m, resident, loads, stores, waits, words);
    free(block);
    ptx_cfg_free(cfg);
}
