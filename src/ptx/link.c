/* link.c - one module of several, and aliases: who is meant by a name. See ptx.h.
**
** Operands and initialisers point to variables and functions, not to names. So linking puts the
** lists of all parts one behind the other, finds for each name that is not private what defines it,
** and turns the pointers there.
*/
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

/* Where pointers shall point: per function its index, per variable … itself or another. */
typedef struct Turn {
    const int *func; /* by index in the part, or in the module */
    const PtxVar *(*var)(const void *user, const PtxVar *v);
    const void *user;
} Turn;

static void turn_operand(const Turn *t, PtxOperand *op) {
    if (op->func >= 0) op->func = t->func[op->func];
    if (op->var && t->var) op->var = t->var(t->user, op->var);
    for (int i = 0; i < op->n_elems; i++) turn_operand(t, &op->elems[i]);
}

static void turn_function(const Turn *t, PtxFunc *f) {
    for (int i = 0; i < f->n_code; i++)
        for (int k = 0; k < f->code[i].n_args; k++) turn_operand(t, &f->code[i].args[k]);
}

static void turn_variable(const Turn *t, PtxVar *v) {
    for (int i = 0; i < v->n_relocs; i++) {
        PtxReloc *r = &v->relocs[i];
        if (r->func >= 0) r->func = t->func[r->func];
        if (r->var && t->var) r->var = t->var(t->user, r->var);
    }
}

static void turn_all(const Turn *t, PtxModule *m) {
    for (int i = 0; i < m->n_funcs; i++) turn_function(t, &m->funcs[i]);
    for (int i = 0; i < m->n_vars; i++) turn_variable(t, m->vars[i]);
}

void ptxp_resolve_aliases(PtxModule *m) {
    int *func = gi_alloc((size_t)(m->n_funcs + 1) * sizeof *func), n = 0;
    for (int i = 0; i < m->n_funcs; i++) func[i] = i;
    for (int i = 0; i < m->n_items; i++) {
        if (m->items[i].kind != PTX_ITEM_ALIAS) continue;
        func[m->items[i].index] = func[m->items[i].target];
        n++;
    }
    if (n > 0) turn_all(&(Turn){.func = func}, m);
    free(func);
}

/* --- what defines a name --- */

typedef struct Entry { /* of a hash table by name */
    const char *name;
    bool weak;
    int func; /* index in the linked module, or -1 */
    const PtxVar *var;
} Entry;

typedef struct Table {
    Entry *at;
    size_t cap; /* a power of two, more than there are names */
    gi_err *err;
} Table;

static Entry *entry_of(const Table *t, const char *name) {
    size_t i = (size_t)gi_hash(name, strlen(name), 0) & (t->cap - 1);
    while (t->at[i].name && strcmp(t->at[i].name, name) != 0) i = (i + 1) & (t->cap - 1);
    return &t->at[i];
}

static bool is_public(PtxLinkage l) {
    return l != PTX_PRIVATE && l != PTX_EXTERN;
}

/* Enters a definition; false where the name has one already that is as strong. */
static bool define(Table *t, Entry new) {
    Entry *e = entry_of(t, new.name);
    if (e->name && !e->weak && !new.weak)
        return gi_fail(t->err, "compile", "'%s' is defined in two of the modules that are linked",
                       new.name);
    if (e->name == NULL || (e->weak && !new.weak)) *e = new;
    return true;
}

static bool define_all(Table *t, const PtxModule *m) {
    for (int i = 0; i < m->n_funcs; i++) {
        const PtxFunc *f = &m->funcs[i];
        Entry e = {f->name, f->linkage == PTX_WEAK, i, NULL};
        if (f->has_body && is_public(f->linkage) && !define(t, e)) return false;
    }
    for (int i = 0; i < m->n_vars; i++) {
        const PtxVar *v = m->vars[i];
        Entry e = {v->name, v->linkage != PTX_VISIBLE, -1, v};
        bool memory = v->space == PTX_GLOBAL || v->space == PTX_CONST;
        if (memory && is_public(v->linkage) && !define(t, e)) return false;
    }
    return true;
}

static const PtxVar *defined_var(const void *table, const PtxVar *v) {
    if (v->linkage == PTX_PRIVATE || (v->space != PTX_GLOBAL && v->space != PTX_CONST)) return v;
    const Entry *e = entry_of(table, v->name);
    return e->name && e->var ? e->var : v;
}

/* Functions without a body that are not private are what somebody else defines, too: a .weak one
** may be declared before its body. */
static int defined_func(const Table *t, const PtxModule *m, int i) {
    const PtxFunc *f = &m->funcs[i];
    if (f->linkage == PTX_PRIVATE) return i;
    const Entry *e = entry_of(t, f->name);
    return e->name && e->func >= 0 ? e->func : i;
}

/* --- the lists --- */

static void append(PtxModule *all, PtxModule *part, int number) {
    int funcs = all->n_funcs;
    int *func = gi_alloc((size_t)(part->n_funcs + 1) * sizeof *func);
    for (int i = 0; i < part->n_funcs; i++) func[i] = funcs + i;
    turn_all(&(Turn){.func = func}, part);
    free(func);
    for (int i = 0; i < part->n_vars; i++) all->vars[all->n_vars++] = part->vars[i];
    for (int i = 0; i < part->n_funcs; i++) {
        all->funcs[funcs + i] = part->funcs[i];
        all->funcs[funcs + i].part = number;
    }
    for (int i = 0; i < part->n_items; i++) {
        PtxItem item = part->items[i];
        if (item.kind == PTX_ITEM_VAR) item.index += all->n_vars - part->n_vars;
        else item.index += funcs, item.target += funcs;
        all->items[all->n_items++] = item;
    }
    all->n_funcs += part->n_funcs;
}

static PtxModule *put_together(PtxModule **parts, int n) {
    size_t vars = 0, funcs = 0, items = 0;
    for (int i = 0; i < n; i++) {
        vars += (size_t)parts[i]->n_vars;
        funcs += (size_t)parts[i]->n_funcs;
        items += (size_t)parts[i]->n_items;
    }
    PtxArena *arena = gi_alloc(sizeof *arena);
    PtxModule *all = ptxp_take(arena, sizeof *all);
    *all = *parts[0];
    all->arena = arena;
    all->vars = ptxp_take(arena, (vars + 1) * sizeof *all->vars);
    all->funcs = ptxp_take(arena, (funcs + 1) * sizeof *all->funcs);
    all->items = ptxp_take(arena, (items + 1) * sizeof *all->items);
    all->parts = ptxp_take(arena, (size_t)n * sizeof *all->parts);
    memcpy(all->parts, parts, (size_t)n * sizeof *parts);
    all->n_vars = all->n_funcs = all->n_items = 0;
    all->n_parts = n;
    for (int i = 0; i < n; i++) append(all, parts[i], i);
    return all;
}

/* Drops the definitions that another one of the same name replaces. */
static void drop_others(const Table *t, const int *func, PtxModule *m) {
    for (int i = 0; i < m->n_funcs; i++)
        if (func[i] != i) m->funcs[i].has_body = false;
    for (int i = 0; i < m->n_vars; i++)
        if (defined_var(t, m->vars[i]) != m->vars[i]) m->vars[i]->is_extern = true;
}

PtxModule *ptx_link(PtxModule **parts, int n, gi_err *err) {
    PtxModule *all = put_together(parts, n);
    Table t = {.err = err, .cap = 64};
    while (t.cap < 2 * (size_t)(all->n_funcs + all->n_vars)) t.cap *= 2;
    t.at = gi_alloc(t.cap * sizeof *t.at);
    int *func = gi_alloc((size_t)(all->n_funcs + 1) * sizeof *func);
    bool fine = define_all(&t, all);
    for (int i = 0; i < all->n_funcs; i++) func[i] = defined_func(&t, all, i);
    if (fine) {
        turn_all(&(Turn){.func = func, .var = defined_var, .user = &t}, all);
        drop_others(&t, func, all);
    } else {
        ptx_free(all);
    }
    free(func);
    free(t.at);
    return fine ? all : NULL;
}
