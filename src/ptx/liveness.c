/* liveness.c - which registers are live where, and storage slots for them.
**
** Per register: from each block that reads it before writing it, walk back over predecessors until
** blocks that write it (no bit matrices: time and memory follow the live ranges). Live ranges are
** then closed intervals of instruction indices, and slots are given by linear scan (Poletto and
** Sarkar, "Linear Scan Register Allocation", 1999).
*/
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* Opcodes whose first operand may be a register and is read. Stores need no mention: theirs is an
** address. */
static bool reads_first(const PtxInstr *in) {
    static const char all[] = "bra brx bar barrier fence membar nanosleep pmevent setmaxnreg "
                              "stackrestore tcgen05";
    if (!strchr("bfmnpst", in->opcode[0]) || !ptx_is(in, all)) return false;
    if (ptx_is(in, "bar barrier")) return !ptx_has_mod(in, "red");
    return !ptx_is(in, "tcgen05") || ptx_has_mod(in, "dealloc");
}

bool ptx_is_dest(const PtxInstr *in, int arg) {
    if (arg != 0 || in->n_args == 0) return false;
    PtxOperandKind kind = in->args[0].kind;
    if (ptx_is(in, "call")) /* the returns; the arguments come after the function */
        return kind == PTX_OP_LIST;
    if (kind != PTX_OP_REG && kind != PTX_OP_VECTOR && kind != PTX_OP_PAIR) return false;
    return !reads_first(in);
}

/* All register mentions of a function, instruction by instruction: first[i] … first[i+1]-1. */
typedef struct Mention {
    int reg;
    bool write;
} Mention;

typedef struct Mentions {
    int *first;
    Mention *v;
    int n, cap;
} Mentions;

static void mention(Mentions *m, int reg, bool write) {
    gi_grow(m->v, m->n, m->cap);
    m->v[m->n++] = (Mention){reg, write};
}

static void mention_operand(Mentions *m, const PtxOperand *op, bool write) {
    if (op->kind == PTX_OP_REG) {
        if (write && op->select) mention(m, op->reg, false); /* the other parts stay */
        mention(m, op->reg, write);
    }
    bool inside = write && op->kind != PTX_OP_ADDR && op->kind != PTX_OP_TEX;
    for (int i = 0; i < op->n_elems; i++) mention_operand(m, &op->elems[i], inside);
}

static void mention_instr(Mentions *m, const PtxInstr *in) {
    if (in->guard >= 0) mention(m, in->guard, false);
    for (int a = 0; a < in->n_args; a++) {
        bool write = ptx_is_dest(in, a);
        mention_operand(m, &in->args[a], write);
        if (write && ptx_is(in, "wgmma")) /* accumulates into its destination */
            mention_operand(m, &in->args[a], false);
    }
}

static Mentions all_mentions(const PtxFunc *f) {
    Mentions m = {0};
    m.first = gi_alloc(((size_t)f->n_code + 1) * sizeof(int));
    for (int i = 0; i < f->n_code; i++) {
        mention_instr(&m, &f->code[i]);
        m.first[i + 1] = m.n;
    }
    return m;
}

/* Pairs (key, value), readable by key: first[k] … first[k+1]-1 after group(). */
typedef struct Pairs {
    int *key, *value, *first;
    int n, cap;
} Pairs;

static void add_pair(Pairs *p, int key, int value) {
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->key = gi_realloc(p->key, (size_t)p->cap * sizeof(int));
        p->value = gi_realloc(p->value, (size_t)p->cap * sizeof(int));
    }
    p->key[p->n] = key;
    p->value[p->n++] = value;
}

static void group(Pairs *p, int n_keys) {
    int *sorted = gi_alloc((size_t)p->n * sizeof(int));
    p->first = gi_alloc(((size_t)n_keys + 2) * sizeof(int));
    for (int i = 0; i < p->n; i++) p->first[p->key[i] + 2]++;
    for (int k = 0; k < n_keys; k++) p->first[k + 2] += p->first[k + 1];
    for (int i = 0; i < p->n; i++) sorted[p->first[p->key[i] + 1]++] = p->value[i];
    free(p->value);
    p->value = sorted;
}

static void free_pairs(Pairs *p) {
    free(p->key);
    free(p->value);
    free(p->first);
}

typedef struct Live {
    const PtxFunc *f;
    const PtxCfg *cfg;
    Mentions m;
    Pairs exposed;  /* register: blocks that read it before they write it */
    Pairs killed;   /* register: blocks that surely write it */
    Pairs out;      /* block: registers live at its end */
    int *from, *to; /* the closed interval of each register; from > to: unused */
    bool *unset;    /* see PtxLiveness */
} Live;

static void widen(Live *l, int reg, int at) {
    if (at < l->from[reg]) l->from[reg] = at;
    if (at > l->to[reg]) l->to[reg] = at;
}

/* Reads come before writes within an instruction, whatever the order of its operands. */
static void scan_instr(Live *l, int i, int *exposed_in, int *killed_in) {
    int b = l->cfg->block_of[i];
    const Mention *v = l->m.v;
    for (int k = l->m.first[i]; k < l->m.first[i + 1]; k++) {
        int r = v[k].reg;
        widen(l, r, i);
        if (v[k].write || killed_in[r] == b + 1 || exposed_in[r] == b + 1) continue;
        exposed_in[r] = b + 1;
        add_pair(&l->exposed, r, b);
    }
    if (l->f->code[i].guard >= 0) return;
    for (int k = l->m.first[i]; k < l->m.first[i + 1]; k++) {
        int r = v[k].reg;
        if (!v[k].write || killed_in[r] == b + 1) continue;
        killed_in[r] = b + 1;
        add_pair(&l->killed, r, b);
    }
}

static void scan_blocks(Live *l) {
    int n = l->f->n_regs;
    int *exposed_in = gi_alloc(2 * (size_t)n * sizeof(int)), *killed_in = exposed_in + n;
    for (int i = 0; i < l->f->n_code; i++) scan_instr(l, i, exposed_in, killed_in);
    free(exposed_in);
    group(&l->exposed, n);
    group(&l->killed, n);
}

/* Stamps of the walk for one register: in[b] == r+1 when r is live at the beginning of b, … */
typedef struct Stamps {
    int *in, *out, *kill, *stack;
} Stamps;

static void walk_register(Live *l, int r, Stamps *s) {
    int depth = 0;
    for (int k = l->killed.first[r]; k < l->killed.first[r + 1]; k++)
        s->kill[l->killed.value[k]] = r + 1;
    for (int k = l->exposed.first[r]; k < l->exposed.first[r + 1]; k++) {
        int b = l->exposed.value[k];
        s->in[b] = r + 1;
        s->stack[depth++] = b;
    }
    while (depth > 0) {
        int b = s->stack[--depth];
        widen(l, r, l->cfg->first[b]);
        for (int k = 0; k < l->cfg->n_pred[b]; k++) {
            int p = l->cfg->pred[b][k];
            if (s->out[p] != r + 1) {
                s->out[p] = r + 1;
                add_pair(&l->out, p, r);
                widen(l, r, l->cfg->first[p + 1] - 1);
            }
            if (s->kill[p] == r + 1 || s->in[p] == r + 1) continue;
            s->in[p] = r + 1;
            s->stack[depth++] = p;
        }
    }
    l->unset[r] = s->in[0] == r + 1;
}

static void walk(Live *l) {
    size_t n = (size_t)l->cfg->n_blocks;
    int *all = gi_alloc(4 * n * sizeof(int));
    Stamps s = {all, all + n, all + 2 * n, all + 3 * n};
    for (int r = 0; r < l->f->n_regs; r++)
        if (l->exposed.first[r] < l->exposed.first[r + 1]) walk_register(l, r, &s);
    free(all);
    group(&l->out, l->cfg->n_blocks);
}

static uint8_t class_of(PtxType type) {
    size_t size = ptx_type_size(type);
    if (type == PTX_PRED) return 0;
    return size <= 4 ? 1 : size <= 8 ? 2 : 3;
}

static int weight(const PtxFunc *f, int reg) {
    static const int weights[] = {0, 1, 2, 4};
    return weights[class_of(f->regs[reg].type)];
}

/* live[r] == mark: r is live; -mark: it is written here though nobody reads it after. Steps back
** over instruction i; returns the new weight of what is live, *peak the most on the way: everything
** written is live just after, needed or not. */
static int step_back(const Live *l, int i, int now, int *live, int mark, int *peak) {
    if (l->m.n == 0) return now;
    const Mention *begin = l->m.v + l->m.first[i], *end = l->m.v + l->m.first[i + 1];
    for (const Mention *m = begin; m < end; m++) {
        if (!m->write || live[m->reg] == mark || live[m->reg] == -mark) continue;
        live[m->reg] = -mark;
        now += weight(l->f, m->reg);
    }
    if (now > *peak) *peak = now;
    bool surely = l->f->code[i].guard < 0;
    for (const Mention *m = begin; m < end; m++) {
        if (!m->write || !(live[m->reg] == -mark || (surely && live[m->reg] == mark))) continue;
        live[m->reg] = 0;
        now -= weight(l->f, m->reg);
    }
    for (const Mention *m = begin; m < end; m++) {
        if (m->write || live[m->reg] == mark) continue;
        live[m->reg] = mark;
        now += weight(l->f, m->reg);
    }
    if (now > *peak) *peak = now;
    return now;
}

static int max_pressure(const Live *l) {
    int peak = 0;
    int *live = gi_alloc((size_t)l->f->n_regs * sizeof(int));
    for (int b = 0; b < l->cfg->n_blocks; b++) {
        int now = 0;
        for (int k = l->out.first[b]; k < l->out.first[b + 1]; k++) {
            live[l->out.value[k]] = b + 1;
            now += weight(l->f, l->out.value[k]);
        }
        for (int i = l->cfg->first[b + 1] - 1; i >= l->cfg->first[b]; i--)
            now = step_back(l, i, now, live, b + 1, &peak);
    }
    free(live);
    return peak;
}

/* Registers by the instruction where their interval begins, or ends. */
static Pairs by_bound(const Live *l, const int *bound) {
    Pairs p = {0};
    for (int r = 0; r < l->f->n_regs; r++)
        if (l->from[r] <= l->to[r]) add_pair(&p, bound[r], r);
    group(&p, l->f->n_code);
    return p;
}

/* Freed slots of a class wait in a list: the last freed is taken first. */
static void assign_slots(const Live *l, PtxLiveness *out) {
    Pairs begin = by_bound(l, l->from), end = by_bound(l, l->to);
    size_t n = (size_t)l->f->n_regs;
    int *free_slots[4], n_free[4] = {0};
    for (int c = 0; c < 4; c++) free_slots[c] = gi_alloc(n * sizeof(int));
    for (int i = 0; i < l->f->n_code; i++) {
        for (int k = begin.first[i]; k < begin.first[i + 1]; k++) {
            int r = begin.value[k], c = out->class_of[r];
            out->slot[r] = n_free[c] ? free_slots[c][--n_free[c]] : out->slots[c]++;
        }
        for (int k = end.first[i]; k < end.first[i + 1]; k++) {
            int r = end.value[k], c = out->class_of[r];
            free_slots[c][n_free[c]++] = out->slot[r];
        }
    }
    for (int c = 0; c < 4; c++) free(free_slots[c]);
    free_pairs(&begin);
    free_pairs(&end);
}

static PtxLiveness *new_liveness(const PtxFunc *f) {
    PtxLiveness *out = gi_alloc(sizeof *out);
    out->slot = gi_alloc((size_t)f->n_regs * sizeof(int));
    out->class_of = gi_alloc((size_t)f->n_regs);
    for (int r = 0; r < f->n_regs; r++) {
        out->slot[r] = -1;
        out->class_of[r] = class_of(f->regs[r].type);
    }
    return out;
}

PtxLiveness *ptx_liveness(const PtxFunc *f, const PtxCfg *cfg) {
    Live l = {.f = f, .cfg = cfg, .m = all_mentions(f)};
    l.from = gi_alloc((size_t)f->n_regs * sizeof(int));
    l.to = gi_alloc((size_t)f->n_regs * sizeof(int));
    l.unset = gi_alloc((size_t)f->n_regs);
    for (int r = 0; r < f->n_regs; r++) {
        l.from[r] = f->n_code;
        l.to[r] = -1;
    }
    scan_blocks(&l);
    walk(&l);
    PtxLiveness *out = new_liveness(f);
    out->max_live32 = max_pressure(&l);
    out->unset = l.unset;
    assign_slots(&l, out);
    free_pairs(&l.exposed);
    free_pairs(&l.killed);
    free_pairs(&l.out);
    free(l.m.first);
    free(l.m.v);
    free(l.from);
    free(l.to);
    return out;
}

void ptx_liveness_free(PtxLiveness *l) {
    if (l == NULL) return;
    free(l->slot);
    free(l->class_of);
    free(l->unset);
    free(l);
}
