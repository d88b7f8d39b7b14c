/* scope.c - names and what they mean, scope by scope; labels. See parser.h. */
#include "ptx/parser.h"

void ptxp_open(Parser *P) {
    if (P->depth + 1 == PTXP_MAX_SCOPES)
        ptxp_fail(P, P->line, "scopes are nested more than %d deep", PTXP_MAX_SCOPES - 1);
    P->scopes[++P->depth] = (Scope){NULL, P->n_labels, P->n_uses};
}

static void pop_declarations(const Scope *scope) {
    for (Binding *b = scope->declared; b; b = b->next) b->name->bound = b->outer;
}

static void patch(Parser *P, const LabelUse *use, int at) {
    PtxInstr *in = &P->code[use->instr];
    if (use->slot < 0) in->target = at;
    else in->targets[use->slot] = at;
}

/* Resolves what the scope's own labels can resolve; other uses are left to the scope outside. */
static void resolve_labels(Parser *P, const Scope *scope) {
    for (int i = scope->first_label; i < P->n_labels; i++) {
        Label *l = &P->labels[i];
        if (l->name->label)
            ptxp_fail(P, l->line, "label '%s' stands twice in the same scope", l->name->text);
        l->name->label = l->at + 1;
    }
    int kept = scope->first_use;
    for (int i = scope->first_use; i < P->n_uses; i++) {
        LabelUse *use = &P->uses[i];
        if (use->name->label) patch(P, use, use->name->label - 1);
        else P->uses[kept++] = *use;
    }
    P->n_uses = kept;
    for (int i = scope->first_label; i < P->n_labels; i++) P->labels[i].name->label = 0;
    P->n_labels = scope->first_label;
}

void ptxp_close(Parser *P) {
    Scope *scope = &P->scopes[P->depth--];
    resolve_labels(P, scope);
    pop_declarations(scope);
}

void ptxp_abandon(Parser *P) {
    const Scope *scope = &P->scopes[P->depth--];
    for (int i = scope->first_label; i < P->n_labels; i++) P->labels[i].name->label = 0;
    P->n_labels = scope->first_label;
    pop_declarations(scope);
}

/* A name that nothing else in this function has or hides: so a reader of the flat function, or of
** its printed text, cannot mistake one variable for another. */
static Name *unique_name(Parser *P, Name *name) {
    if (name->func != P->func) {
        name->func = P->func;
        name->renamed = 0;
        if (name->bound == NULL && !name->is_hoisted) return name;
    }
    for (;;) {
        gi_buf_clear(&P->scratch);
        gi_buf_addf(&P->scratch, "%s$%d", name->text, ++name->renamed);
        Name *fresh = ptxp_intern(P, P->scratch.data, P->scratch.len);
        if (fresh->bound == NULL && !fresh->is_hoisted && fresh->func != P->func) {
            fresh->func = P->func;
            fresh->renamed = 0;
            return fresh;
        }
    }
}

Binding *ptxp_declare(Parser *P, Name *name, BindKind kind) {
    int depth = name->bound ? name->bound->depth : -1;
    if (depth == P->depth || (depth == PTXP_PARAMS && P->depth == PTXP_PARAMS + 1))
        ptxp_fail(P, P->line, "'%s' is declared twice in the same scope", name->text);
    Binding *b = ptxp_take(P->arena, sizeof *b);
    b->kind = kind;
    b->depth = P->depth;
    b->text = P->depth == 0 ? name->text : unique_name(P, name)->text;
    b->name = name;
    b->outer = name->bound;
    b->next = P->scopes[P->depth].declared;
    P->scopes[P->depth].declared = b;
    return name->bound = b;
}
