/* edit.c - instructions put in, taken out and given other operands, so that the function stays
** whole: branches keep their targets, and what is read has been written (GEVO, §3.4).
**
** An operand that its new place does not have becomes the value of its kind that was made last
** before the place, and where there is none the constant 1: as a number where ptxas takes one,
** else in a register that is written just before. A guard that is not there goes. What loses its
** only writer is treated alike wherever it is read.
*/
#include "ptx/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the arrays --- */

static void find_loose(PtxEdit *e);

/* Pragmas that say which bytes of a load are used do not outlive an edit. */
static void keep_pragmas(PtxEdit *e) {
    const PtxFunc *f = e->was;
    e->f.n_pragmas = 0;
    e->f.pragmas = gi_alloc(((size_t)f->n_pragmas + 1) * sizeof *f->pragmas);
    for (int i = 0; i < f->n_pragmas; i++)
        if (strncmp(f->pragmas[i].text, "used_bytes_mask", 15) != 0)
            e->f.pragmas[e->f.n_pragmas++] = f->pragmas[i];
}

void ptx_edit_open(PtxEdit *e, const PtxFunc *f) {
    size_t n = (size_t)f->n_code;
    *e = (PtxEdit){.f = *f, .was = f, .cap_code = f->n_code + 16, .cap_regs = f->n_regs + 16};
    e->f.code =
        memcpy(gi_alloc((size_t)e->cap_code * sizeof *f->code), f->code, n * sizeof *f->code);
    e->f.regs = gi_alloc((size_t)e->cap_regs * sizeof *f->regs);
    if (f->n_regs) memcpy(e->f.regs, f->regs, (size_t)f->n_regs * sizeof *f->regs);
    e->kind = gi_alloc((size_t)e->cap_regs);
    e->loose = gi_alloc((size_t)f->n_regs + 1);
    e->origin = gi_alloc((size_t)e->cap_code * sizeof(int));
    e->place = gi_alloc(n * sizeof(int));
    e->gone = gi_alloc(n);
    for (int i = 0; i < f->n_code; i++) e->origin[i] = e->place[i] = i;
    keep_pragmas(e);
    ptx_kinds(f, e->kind);
    find_loose(e);
}

static void forget(PtxEdit *e) {
    if (e->known) ptx_values_free(&e->values);
    e->known = false;
}

void ptx_edit_close(PtxEdit *e) {
    forget(e);
    free(e->f.code);
    free(e->f.regs);
    free(e->f.pragmas);
    free(e->kind);
    free(e->loose);
    free(e->origin);
    free(e->place);
    free(e->gone);
}

/* Its operands become its own. */
static PtxOperand *copy_operands(const PtxOperand *from, int n, PtxArena *a) {
    if (n == 0) return NULL;
    PtxOperand *to = ptxp_take(a, (size_t)n * sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    for (int i = 0; i < n; i++) to[i].elems = copy_operands(from[i].elems, from[i].n_elems, a);
    return to;
}

static PtxInstr copy_of(const PtxInstr *in, PtxArena *a) {
    PtxInstr copy = *in;
    copy.args = copy_operands(in->args, in->n_args, a);
    return copy;
}

/* Every index of an instruction, in branches, tables and beside the code, moves by `by` where it
** is more than `at`. */
static void shift(PtxEdit *e, int at, int by, PtxArena *a) {
    for (int i = 0; i < e->f.n_pragmas; i++)
        if (e->f.pragmas[i].at > at) e->f.pragmas[i].at += by;
    for (int i = 0; i < e->f.n_code; i++) {
        PtxInstr *in = &e->f.code[i];
        if (in->target > at) in->target += by;
        if (in->n_targets == 0) continue;
        int *targets = ptxp_take(a, (size_t)in->n_targets * sizeof *targets);
        for (int k = 0; k < in->n_targets; k++)
            targets[k] = in->targets[k] + (in->targets[k] > at ? by : 0);
        in->targets = targets;
    }
}

static void insert(PtxEdit *e, int at, PtxInstr in, int origin, PtxArena *a) {
    int n = e->f.n_code;
    if (n == e->cap_code) {
        e->cap_code *= 2;
        e->f.code = gi_realloc(e->f.code, (size_t)e->cap_code * sizeof *e->f.code);
        e->origin = gi_realloc(e->origin, (size_t)e->cap_code * sizeof(int));
    }
    memmove(e->f.code + at + 1, e->f.code + at, (size_t)(n - at) * sizeof *e->f.code);
    memmove(e->origin + at + 1, e->origin + at, (size_t)(n - at) * sizeof(int));
    e->f.code[at] = in;
    e->origin[at] = origin;
    e->f.n_code++;
    shift(e, at, 1, a);
    for (int k = 0; k < e->was->n_code; k++)
        if (e->place[k] >= at) e->place[k]++;
    if (origin >= 0) e->place[origin] = at, e->gone[origin] = false;
    forget(e);
}

static void take_out(PtxEdit *e, int at, PtxArena *a) {
    int n = --e->f.n_code;
    if (e->origin[at] >= 0) e->gone[e->origin[at]] = true;
    memmove(e->f.code + at, e->f.code + at + 1, (size_t)(n - at) * sizeof *e->f.code);
    memmove(e->origin + at, e->origin + at + 1, (size_t)(n - at) * sizeof(int));
    shift(e, at, -1, a);
    for (int k = 0; k < e->was->n_code; k++)
        if (e->place[k] > at) e->place[k]--;
    forget(e);
}

static int fresh_register(PtxEdit *e, PtxType type, PtxKind kind, PtxArena *a) {
    int r = e->f.n_regs++;
    if (r == e->cap_regs) {
        e->cap_regs *= 2;
        e->f.regs = gi_realloc(e->f.regs, (size_t)e->cap_regs * sizeof *e->f.regs);
        e->kind = gi_realloc(e->kind, (size_t)e->cap_regs);
    }
    char *name = ptxp_take(a, 24);
    snprintf(name, 24, "%%new%d", r);
    e->f.regs[r] = (PtxReg){name, type};
    e->kind[r] = kind;
    forget(e);
    return r;
}

/* --- values --- */

static const PtxValues *values(PtxEdit *e) {
    if (!e->known) ptx_values(&e->f, &e->values);
    e->known = true;
    return &e->values;
}

static bool has_value(PtxEdit *e, int reg, int at) {
    if (reg < e->was->n_regs && e->loose[reg]) return true;
    return ptx_is_written(values(e), reg, at);
}

/* What a block reads that neither its beginning nor itself has written; in[r] is the block, + 1,
** that has written register r. */
static void find_loose_in(PtxEdit *e, int block, int *in) {
    const PtxValues *v = values(e); /* also where nothing is read: what is drawn asks for them */
    for (int i = v->cfg->first[block]; i < v->cfg->first[block + 1]; i++) {
        PtxLeaves l;
        ptx_leaves(&e->f.code[i], &l);
        for (int k = 0; k < l.n; k++) {
            int r = ptx_leaf_reg(&e->f.code[i], &l.leaf[k]);
            if (r >= 0 && in[r] != block + 1 && !ptx_enters(v, r, block)) e->loose[r] = true;
        }
        for (int k = v->first[i]; k < v->first[i + 1]; k++) in[v->reg[k]] = block + 1;
    }
}

static void find_loose(PtxEdit *e) {
    int *in = gi_alloc((size_t)e->f.n_regs * sizeof *in);
    for (int b = 0; b < values(e)->cfg->n_blocks; b++) find_loose_in(e, b, in);
    free(in);
}

/* The register of a kind that was written last before a place, of those that have a value there;
** -1: none. */
static int nearest(PtxEdit *e, PtxKind kind, int at, int but) {
    const PtxValues *v = values(e);
    int block = v->cfg->block_of[at], own = v->first[v->cfg->first[block]];
    for (int k = v->first[at] - 1; k >= 0; k--) {
        int r = v->reg[k];
        if (e->kind[r] == kind && r != but && (k >= own || ptx_enters(v, r, block))) return r;
    }
    return -1;
}

static const char *const *move_of(PtxType type) {
    static const char *const names[] = {"pred", "b16", "b32", "b64", "f32", "f64"};
    if (type == PTX_F32 || type == PTX_F64) return &names[type == PTX_F32 ? 4 : 5];
    size_t size = ptx_type_size(type);
    return &names[size <= 2 ? 1 : size == 4 ? 2 : 3];
}

/* A register that is 1, or true, from before code[at] on, which moves up by one. */
static int make_one(PtxEdit *e, int at, int like, PtxArena *a) {
    PtxType type = e->f.regs[like].type;
    PtxKind kind = e->kind[like];
    bool predicate = kind == PTX_KIND_PRED;
    static const char *true_mods[] = {"eq", "s32"};
    PtxInstr in = {.guard = -1, .target = -1, .src_line = e->f.code[at].src_line};
    in.opcode = predicate ? "setp" : "mov";
    in.n_mods = predicate ? 2 : 1;
    in.mods = predicate ? true_mods : (const char **)(uintptr_t)move_of(type);
    in.n_args = predicate ? 3 : 2;
    in.args = ptxp_take(a, (size_t)in.n_args * sizeof *in.args);
    int r = fresh_register(e, type, kind, a);
    in.args[0] = (PtxOperand){.kind = PTX_OP_REG, .reg = r, .func = -1};
    in.args[1] = ptx_one(predicate ? 0 : kind, type);
    if (predicate) in.args[2] = in.args[1];
    insert(e, at, in, -1, a);
    return r;
}

/* A leaf of code[at] that reads `reg` gets another value. How many instructions came before it. */
static int give_value(PtxEdit *e, int at, int leaf, int reg, PtxArena *a) {
    PtxLeaves l;
    PtxInstr *in = &e->f.code[at];
    ptx_leaves(in, &l);
    PtxLeaf *it = &l.leaf[leaf];
    int other = nearest(e, e->kind[reg], at, reg);
    if (other >= 0) ptx_leaf_set_reg(in, it, other);
    else if (it->op == NULL) in->guard = -1;
    else if (it->takes_number && !it->op->negated) *it->op = ptx_one(e->kind[reg], it->type);
    else {
        ptx_leaf_set_reg(in, it, make_one(e, at, reg, a));
        return 1;
    }
    return 0;
}

/* All that code[at] reads gets a value where it has none. How many instructions came before it. */
static int mend(PtxEdit *e, int at, PtxArena *a) {
    PtxLeaves l;
    int added = 0;
    ptx_leaves(&e->f.code[at], &l);
    for (int k = 0; k < l.n; k++) {
        int r = ptx_leaf_reg(&e->f.code[at + added], &l.leaf[k]);
        if (r >= 0 && !has_value(e, r, at + added)) added += give_value(e, at + added, k, r, a);
    }
    return added;
}

/* Registers that have lost a writer get another value where they are read without one. */
static void mend_readers(PtxEdit *e, const PtxLeaves *lost, PtxArena *a) {
    for (int i = 0; i < e->f.n_code; i++) {
        PtxInstr in = e->f.code[i]; /* its operands are shared until one is changed */
        PtxLeaves l;
        ptx_leaves(&in, &l);
        bool reads = false;
        for (int k = 0; k < l.n; k++) {
            int r = ptx_leaf_reg(&in, &l.leaf[k]);
            for (int w = 0; w < lost->n_writes; w++)
                reads |= r >= 0 && r == *lost->writes[w] && !has_value(e, r, i);
        }
        if (!reads) continue;
        e->f.code[i] = copy_of(&e->f.code[i], a);
        i += mend(e, i, a);
    }
}

/* --- edits --- */

static bool is_result(const PtxLeaves *l, int reg) {
    for (int k = 0; k < l->n_writes; k++)
        if (*l->writes[k] == reg) return true;
    return false;
}

/* One leaf of code[i] becomes one of the results of code[maker], where it is of its kind. */
static bool connect_leaf(PtxEdit *e, int maker, int i, int leaf, PtxArena *a) {
    PtxLeaves made, l;
    ptx_leaves(&e->f.code[maker], &made);
    PtxInstr in = copy_of(&e->f.code[i], a);
    ptx_leaves(&in, &l);
    int old = leaf < l.n ? ptx_leaf_reg(&in, &l.leaf[leaf]) : -1;
    if (old < 0 || is_result(&made, old)) return false;
    for (int k = 0; k < made.n_writes; k++) {
        int r = *made.writes[k];
        if (e->kind[r] != e->kind[old] || !ptx_is_written(values(e), r, i)) continue;
        ptx_leaf_set_reg(&in, &l.leaf[leaf], r);
        e->f.code[i] = in;
        forget(e);
        return true;
    }
    return false;
}

static bool connect_any(PtxEdit *e, int maker, int i, PtxArena *a) {
    for (int k = 0; k < PTX_LEAVES; k++)
        if (connect_leaf(e, maker, i, k, a)) return true;
    return false;
}

/* The next instruction that reads a value such as code[maker] makes reads this one. */
static void connect_next(PtxEdit *e, int maker, PtxArena *a) {
    for (int i = maker + 1; i < e->f.n_code; i++)
        if (connect_any(e, maker, i, a)) return;
}

static bool is_read(PtxEdit *e, int maker) {
    PtxLeaves made, l;
    ptx_leaves(&e->f.code[maker], &made);
    for (int i = 0; i < e->f.n_code; i++) {
        ptx_leaves(&e->f.code[i], &l);
        for (int k = 0; i != maker && k < l.n; k++)
            if (is_result(&made, ptx_leaf_reg(&e->f.code[i], &l.leaf[k]))) return true;
    }
    return made.n_writes == 0;
}

void ptx_edit_delete(PtxEdit *e, int at, PtxArena *a) {
    if (e->gone[at]) return;
    PtxLeaves l;
    PtxInstr in = e->f.code[e->place[at]];
    ptx_leaves(&in, &l);
    take_out(e, e->place[at], a);
    mend_readers(e, &l, a);
}

void ptx_edit_replace(PtxEdit *e, int at, int from, PtxArena *a) {
    PtxLeaves old, new;
    PtxInstr was = e->was->code[at], in = copy_of(&e->was->code[from], a);
    ptx_leaves(&was, &old);
    ptx_leaves(&in, &new);
    for (int k = 0; k < new.n_writes &&k < old.n_writes; k++) *new.writes[k] = *old.writes[k];
    if (e->gone[at]) insert(e, e->place[at], in, at, a);
    else e->f.code[e->place[at]] = in;
    forget(e);
    mend(e, e->place[at], a);
}

static void own_results(PtxEdit *e, PtxInstr *in, PtxArena *a) {
    PtxLeaves l;
    ptx_leaves(in, &l);
    for (int k = 0; k < l.n_writes; k++) {
        int r = *l.writes[k];
        *l.writes[k] = fresh_register(e, e->f.regs[r].type, e->kind[r], a);
    }
}

void ptx_edit_copy(PtxEdit *e, int at, int from, int user, int leaf, PtxArena *a) {
    PtxInstr in = copy_of(&e->was->code[from], a);
    own_results(e, &in, a);
    int here = e->place[at];
    insert(e, here, in, -1, a);
    here += mend(e, here, a);
    bool used = user >= 0 && !e->gone[user] && connect_leaf(e, here, e->place[user], leaf, a);
    if (!used) connect_next(e, here, a);
}

void ptx_edit_move(PtxEdit *e, int at, int from, PtxArena *a) {
    int here = e->place[from], to = e->place[at];
    if (e->gone[from] || to == here || to == here + 1) return;
    PtxInstr in = copy_of(&e->f.code[here], a);
    PtxLeaves l;
    ptx_leaves(&in, &l);
    bool was_read = is_read(e, here);
    take_out(e, here, a);
    insert(e, e->place[at], in, from, a);
    mend(e, e->place[from], a);
    mend_readers(e, &l, a);
    if (was_read && !is_read(e, e->place[from])) connect_next(e, e->place[from], a);
}

static void exchange(PtxEdit *e, int i, int k) {
    PtxInstr in = e->f.code[i];
    int origin = e->origin[i];
    e->f.code[i] = e->f.code[k];
    e->f.code[k] = in;
    e->origin[i] = e->origin[k];
    e->origin[k] = origin;
    forget(e);
}

void ptx_edit_swap(PtxEdit *e, int at, int other, PtxArena *a) {
    if (e->gone[at] || e->gone[other] || at == other) return;
    PtxLeaves l, l_other;
    PtxInstr in = copy_of(&e->f.code[e->place[at]], a);
    PtxInstr in_other = copy_of(&e->f.code[e->place[other]], a);
    ptx_leaves(&in, &l);
    ptx_leaves(&in_other, &l_other);
    e->f.code[e->place[at]] = in;
    e->f.code[e->place[other]] = in_other;
    exchange(e, e->place[at], e->place[other]);
    int place = e->place[at];
    e->place[at] = e->place[other];
    e->place[other] = place;
    mend(e, e->place[at], a);
    mend(e, e->place[other], a);
    mend_readers(e, &l, a);
    mend_readers(e, &l_other, a);
}

/* A copy of code[at] whose leaf may be changed; NULL where there is no such leaf. */
static PtxInstr *changed_leaf(PtxEdit *e, int at, int leaf, PtxLeaves *l, PtxArena *a) {
    PtxInstr *in = &e->f.code[at];
    *in = copy_of(in, a);
    ptx_leaves(in, l);
    bool there = leaf < l->n && (leaf > 0 || in->guard >= 0);
    return there ? in : NULL;
}

/* The register that holds a result of an instruction; -1 where it is gone. */
static int result_of(PtxEdit *e, int from, int result) {
    PtxLeaves l;
    if (e->gone[from]) return -1;
    ptx_leaves(&e->f.code[e->place[from]], &l);
    return result < l.n_writes ? *l.writes[result] : -1;
}

void ptx_edit_operand(PtxEdit *e, int at, int leaf, int from, int result, PtxArena *a) {
    PtxLeaves l;
    int r = result_of(e, from, result), here = e->place[at];
    if (e->gone[at] || r < 0) return;
    PtxInstr *in = changed_leaf(e, here, leaf, &l, a);
    int old = in ? ptx_leaf_reg(in, &l.leaf[leaf]) : -1;
    if (old < 0 || e->kind[old] != e->kind[r]) return;
    ptx_leaf_set_reg(in, &l.leaf[leaf], r);
    forget(e);
    mend(e, here, a);
}

void ptx_edit_constant(PtxEdit *e, int at, int leaf, const PtxOperand *number, PtxArena *a) {
    PtxLeaves l;
    if (e->gone[at]) return;
    PtxInstr *in = changed_leaf(e, e->place[at], leaf, &l, a);
    if (in == NULL || l.leaf[leaf].op == NULL || !l.leaf[leaf].takes_number) return;
    *l.leaf[leaf].op = *number;
    forget(e);
}

/* --- what is open --- */

/* Parameters of calls are variables of the body, and of a .func those of its own list. */
static bool of_call(const PtxFunc *f, const PtxInstr *in) {
    if (ptx_is(in, "call")) return true;
    if (!ptx_is(in, "ld st") || !ptx_has_mod(in, "param")) return false;
    for (int a = 0; a < in->n_args; a++) {
        const PtxOperand *op = &in->args[a];
        bool of_kernel = op->kind == PTX_OP_ADDR && f->is_entry && op->elems[0].var >= f->params &&
                         op->elems[0].var < f->params + f->n_params;
        if (op->kind == PTX_OP_ADDR) return !of_kernel;
    }
    return true;
}

bool ptx_is_open(const PtxFunc *f, int i) {
    PtxInstr in = f->code[i];
    PtxLeaves l;
    ptx_leaves(&in, &l);
    if (l.n < 0 || l.n_writes < 0) return false;
    if (in.target >= 0 || in.n_targets > 0) return false; /* odd opcodes have labels, too */
    return !ptx_is(&in, "bra brx ret exit trap brkpt") && !of_call(f, &in);
}
