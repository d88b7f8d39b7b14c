/* scope.c - what a name means at a token, and which names a stretch of tokens uses and changes.
**
** A name means the declarations of the innermost scope that is around the token and begins before
** it; more than one when #if decides. A visible macro hides them all. A statement that uses a macro
** uses whatever the macro's text names, since that is looked up where the macro is used.
*/
#include "grammar/tree.h"

#include <stdlib.h>

/* ---- meanings ---- */

/* Chains the n items of one name each, newest first. */
static void chain(int n_names, int n, int **last, int **older) {
    *last = gi_alloc((size_t)n_names * sizeof(int));
    *older = gi_alloc((size_t)n * sizeof(int));
    for (int i = 0; i < n_names; i++) (*last)[i] = -1;
}

void tree_index_macros(Tree *t) {
    chain(t->names.n, t->n_macro, &t->last_macro, &t->older_macro);
    for (int i = 0; i < t->n_macro; i++) {
        t->older_macro[i] = t->last_macro[t->macro[i].name];
        t->last_macro[t->macro[i].name] = i;
    }
}

void tree_index_decls(Tree *t) {
    chain(t->names.n, t->n_decl, &t->last_decl, &t->older_decl);
    for (int i = 0; i < t->n_decl; i++) {
        t->older_decl[i] = t->last_decl[t->decl[i].name];
        t->last_decl[t->decl[i].name] = i;
    }
}

static void meaning_add(Meaning *m, int what) {
    if (m->n < MEANING_MAX) m->what[m->n] = what;
    m->n++;
}

/* Adds the macros visible at `at`; true when one of them is sure to be defined there. */
static bool resolve_macro(const Tree *t, int name, int at, Meaning *out) {
    int place = t->tok[at].place;
    for (int i = t->last_macro[name]; i >= 0; i = t->older_macro[i]) {
        const Macro *m = &t->macro[i];
        if (m->before > at || !place_compatible(t, m->place, place)) continue;
        bool sure = place_implied(t, m->place, place);
        if (!m->undef) meaning_add(out, -1 - i);
        if (sure) return !m->undef;
    }
    return false;
}

/* Members of a class are visible in all of it. */
static bool decl_visible(const Tree *t, const Decl *d, int node, int at) {
    return node_inside(t, node, d->scope) &&
           (d->at < at || t->node[d->scope].kind == NODE_CLASS) &&
           place_compatible(t, d->place, t->tok[at].place);
}

static void resolve_decl(const Tree *t, int name, int node, int at, Meaning *out) {
    int scope = -1; /* the scope in which one is sure to be: none outside it counts */
    for (int i = t->last_decl[name]; i >= 0; i = t->older_decl[i]) {
        const Decl *d = &t->decl[i];
        if (!decl_visible(t, d, node, at) || d->scope < scope) continue;
        if (d->kind == DECL_FUNCTION && out->n > 0) continue; /* prototypes: one will do */
        meaning_add(out, i);
        if (place_implied(t, d->place, t->tok[at].place)) scope = d->scope;
    }
}

void tree_resolve(const Tree *t, int name, int node, int at, Meaning *out) {
    *out = (Meaning){.name = name};
    if (!resolve_macro(t, name, at, out)) resolve_decl(t, name, node, at, out);
}

/* ---- uses ---- */

bool name_set_has(const NameSet *s, int name) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == name) return true;
    return false;
}

static bool name_set_add(NameSet *s, int name) {
    if (name_set_has(s, name)) return false;
    gi_grow(s->v, s->n, s->cap);
    s->v[s->n++] = name;
    return true;
}

static bool is_member(const Tree *t, const Token *v, int i) {
    return i > 0 && (token_is(t->src, &v[i - 1], ".") || token_is(t->src, &v[i - 1], "->") ||
                     (i > 1 && token_is(t->src, &v[i - 1], "::") && v[i - 2].kind == TOK_NAME));
}

static bool is_param(const Macro *m, int name) {
    for (int i = 0; i < m->n_params; i++)
        if (m->param[i] == name) return true;
    return false;
}

static void use_name(const Tree *t, int name, Uses *out);

static void use_macro(const Tree *t, const Macro *m, Uses *out) {
    if (m->is_statement) {
        out->statement_macro = true;
        if (tree_macro_form(t, m->name) == MACRO_PIECE) out->piece_macro = true;
    }
    for (int i = 0; i < m->body.n; i++) {
        const Token *k = &m->body.v[i];
        if (token_is(t->src, k, "break")) out->breaks = true;
        if (token_is(t->src, k, "continue")) out->continues = true;
        if (token_is(t->src, k, "return")) out->returns = true;
        if (k->kind != TOK_NAME || is_member(t, m->body.v, i) || is_param(m, k->name)) continue;
        use_name(t, k->name, out);
        if (m->assigns) name_set_add(&out->assigned, k->name);
    }
}

/* Adds a name and, through macros of that name, all that they name. */
static void use_name(const Tree *t, int name, Uses *out) {
    if (!name_set_add(&out->used, name)) return;
    for (int i = t->last_macro[name]; i >= 0; i = t->older_macro[i])
        if (!t->macro[i].undef) use_macro(t, &t->macro[i], out);
}

static const char *const assign_words[] = {"=",  "+=", "-=",  "*=",  "/=", "%=", "&=",
                                           "|=", "^=", "<<=", ">>=", "++", "--", NULL};

/* Is the variable at token i changed: `i[…].x =`, `i++`, `++i`, or its address taken? */
static bool is_assigned(const Tree *t, int i, int last) {
    int before = i - 1, after = i + 1;
    while (after < last) {
        if (tok_is(t, after, "[")) after = t->match[after] + 1;
        else if (tok_is(t, after, ".")) after += 2;
        else break;
    }
    if (after < last && tok_in(t, after, assign_words)) return true;
    if (tok_is(t, before, "++") || tok_is(t, before, "--")) return true;
    if (!tok_is(t, before, "&")) return false;
    if (before == 0) return true;
    const Token *k = &t->tok[before - 1]; /* a name or ')' before it makes it a binary `and` */
    return !(k->kind == TOK_NAME || k->kind == TOK_NUMBER || tok_is(t, before - 1, "]")) &&
           (!tok_is(t, before - 1, ")") || tok_is(t, before - 2, "*"));
}

static bool assigning_macro(const Tree *t, int name) {
    for (int i = t->last_macro[name]; i >= 0; i = t->older_macro[i])
        if (t->macro[i].assigns) return true;
    return false;
}

/* A function of this file that takes some argument by a reference to what is not const? */
static bool takes_reference(const Tree *t, int name) {
    for (int f = 0; f < t->n_node; f++) {
        const Node *n = &t->node[f];
        if (n->kind != NODE_FUNCTION || n->name != name) continue;
        for (int i = 0; i < t->n_decl; i++)
            if (t->decl[i].scope == f && t->decl[i].kind == DECL_PARAMETER &&
                t->decl[i].reference && !t->decl[i].is_const)
                return true;
    }
    return false;
}

/* All names in the arguments at `open` count as changed. */
static void assign_arguments(const Tree *t, int open, Uses *out) {
    for (int i = open + 1; i < t->match[open]; i++)
        if (t->tok[i].kind == TOK_NAME) name_set_add(&out->assigned, t->tok[i].name);
}

void tree_uses(const Tree *t, int first, int last, Uses *out) {
    bool assembler = first < last && (tok_is(t, first, "asm") || tok_is(t, first, "__asm__"));
    for (int i = first; i < last; i++) {
        if (t->tok[i].kind != TOK_NAME || (i > first && is_member(t, t->tok, i))) continue;
        int name = t->tok[i].name;
        use_name(t, name, out);
        if (assembler || is_assigned(t, i, last)) name_set_add(&out->assigned, name);
        if (i + 1 < last && tok_is(t, i + 1, "(") &&
            (assigning_macro(t, name) || takes_reference(t, name)))
            assign_arguments(t, i + 1, out);
    }
}

static bool names_meet(const NameSet *a, const NameSet *b) {
    for (int i = 0; i < a->n; i++)
        if (name_set_has(b, a->v[i])) return true;
    return false;
}

static bool macro_assigns(const Tree *t, int name, const NameSet *names) {
    Uses u = {0};
    use_name(t, name, &u);
    bool meets = names_meet(&u.assigned, names);
    uses_free(&u);
    return meets;
}

/* Does the call of token i, by a macro or a reference, change a name that is an argument? */
static bool call_assigns(const Tree *t, int i, const NameSet *names) {
    for (int k = i + 2; k < t->match[i + 1]; k++)
        if (t->tok[k].kind == TOK_NAME && name_set_has(names, t->tok[k].name))
            return assigning_macro(t, t->tok[i].name) || takes_reference(t, t->tok[i].name);
    return false;
}

bool tree_assigns(const Tree *t, int first, int last, const NameSet *names) {
    bool assembler = first < last && (tok_is(t, first, "asm") || tok_is(t, first, "__asm__"));
    bool found = false;
    NameSet macros = {0}; /* each is looked at once */
    for (int i = first; i < last && !found; i++) {
        if (t->tok[i].kind != TOK_NAME || (i > first && is_member(t, t->tok, i))) continue;
        int name = t->tok[i].name;
        if (name_set_has(names, name)) found = assembler || is_assigned(t, i, last);
        if (!found && t->last_macro[name] >= 0 && name_set_add(&macros, name))
            found = macro_assigns(t, name, names);
        if (!found && i + 1 < last && tok_is(t, i + 1, "(")) found = call_assigns(t, i, names);
    }
    free(macros.v);
    return found;
}

void uses_free(Uses *u) {
    free(u->used.v);
    free(u->assigned.v);
    *u = (Uses){0};
}
