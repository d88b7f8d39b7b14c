/* scope.c - what a name means at a token, and which names a stretch of tokens uses and changes.
**
** A name means the declarations of the innermost scope that is around the token and begins before
** it; more than one when #if decides. A visible macro hides them all. A statement that uses a macro
** uses whatever the macro's text names, since that is looked up where the macro is used.
*/
#include "source/tree.h"

#include <stdlib.h>

/* ---- meanings ---- */

static int *no_items(int n) {
    int *list = gi_alloc((size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) list[i] = -1;
    return list;
}

void tree_index_macros(Tree *t) {
    t->last_macro = no_items(t->names.n);
    t->older_macro = gi_alloc((size_t)t->n_macro * sizeof(int));
    for (int i = 0; i < t->n_macro; i++) {
        t->older_macro[i] = t->last_macro[t->macro[i].name];
        t->last_macro[t->macro[i].name] = i;
    }
    t->last_decl = no_items(t->names.n);
}

/* Returns the slot of a name in a scope: its newest declaration there, from 1 on; 0: none. */
static int *newest_here(const Tree *t, int name, int scope) {
    uint32_t at = (uint32_t)name * 0x9e3779b1u ^ (uint32_t)scope * 0x85ebca6bu;
    for (at ^= at >> 15;; at++) {
        int *slot = &t->newest[at & (uint32_t)(t->n_newest - 1)];
        const Decl *d = &t->decl[*slot - (*slot > 0)];
        if (*slot == 0 || (d->name == name && d->scope == scope)) return slot;
    }
}

/* Chains the declarations of each scope, and notes the functions that take some argument by a
** reference to what is not const. */
static void index_scopes(Tree *t) {
    t->first_here = no_items(t->n_node);
    t->next_here = gi_alloc((size_t)t->n_decl * sizeof(int));
    t->by_reference = gi_alloc((size_t)t->names.n);
    for (int i = t->n_decl - 1; i >= 0; i--) {
        const Decl *d = &t->decl[i];
        const Node *scope = &t->node[d->scope];
        t->next_here[i] = t->first_here[d->scope];
        t->first_here[d->scope] = i;
        if (scope->kind == NODE_FUNCTION && scope->name >= 0 && d->kind == DECL_PARAMETER &&
            d->reference && !d->is_const)
            t->by_reference[scope->name] = true;
    }
}

static void index_constructors(Tree *t) {
    t->constructed = gi_alloc((size_t)t->names.n);
    for (int i = 0; i < t->n_node; i++) {
        const Node *n = &t->node[i];
        if (n->kind != NODE_CLASS || n->name < 0) continue;
        for (int k = n->first; k < n->last; k++)
            if (t->tok[k].name == n->name && tok_is(t, k + 1, "(")) t->constructed[n->name] = true;
    }
}

void tree_index_decls(Tree *t) {
    index_scopes(t);
    index_constructors(t);
    t->n_newest = 16;
    while (t->n_newest < 2 * t->n_decl) t->n_newest *= 2;
    t->newest = gi_alloc((size_t)t->n_newest * sizeof(int));
    t->older_here = gi_alloc((size_t)t->n_decl * sizeof(int));
    for (int i = 0; i < t->n_decl; i++) {
        int *slot = newest_here(t, t->decl[i].name, t->decl[i].scope);
        t->older_here[i] = *slot - 1;
        *slot = i + 1;
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

enum { AROUND_MAX = 64 };

/* Lists a name's declarations in the scopes around a node, newest first. Returns how many; more
** than AROUND_MAX: too many for the list. */
static int decls_around(const Tree *t, int name, int node, int *list) {
    int n = 0;
    for (; node >= 0; node = t->node[node].parent)
        for (int i = *newest_here(t, name, node) - 1; i >= 0; i = t->older_here[i]) {
            if (n == AROUND_MAX) return n + 1;
            int k = n++;
            for (; k > 0 && list[k - 1] < i; k--) list[k] = list[k - 1];
            list[k] = i;
        }
    return n;
}

/* Adds a declaration if it is visible. *scope: the scope in which one is sure to be, so that none
** outside it counts. */
static void resolve_one(const Tree *t, int i, int node, int at, int *scope, Meaning *out) {
    const Decl *d = &t->decl[i];
    if (!decl_visible(t, d, node, at) || d->scope < *scope) return;
    if (d->kind == DECL_FUNCTION && out->n > 0) return; /* prototypes: one will do */
    meaning_add(out, i);
    if (place_implied(t, d->place, t->tok[at].place)) *scope = d->scope;
}

/* Has a name a few declarations in the whole file, at most? */
static bool is_rare(const Tree *t, int name) {
    int i = t->last_decl[name];
    for (int n = 0; n < 16 && i >= 0; n++) i = t->older_decl[i];
    return i < 0;
}

/* Looks through all declarations of a rare name; else, as each of many functions may have one, only
** through those around the node. */
static void resolve_decl(const Tree *t, int name, int node, int at, Meaning *out) {
    int list[AROUND_MAX], scope = -1;
    int n = is_rare(t, name) ? AROUND_MAX + 1 : decls_around(t, name, node, list);
    for (int k = 0; k < n && n <= AROUND_MAX; k++) resolve_one(t, list[k], node, at, &scope, out);
    for (int i = t->last_decl[name]; i >= 0 && n > AROUND_MAX; i = t->older_decl[i])
        resolve_one(t, i, node, at, &scope, out);
}

void tree_resolve(const Tree *t, int name, int node, int at, Meaning *out) {
    *out = (Meaning){.name = name};
    if (!resolve_macro(t, name, at, out)) resolve_decl(t, name, node, at, out);
}

/* ---- uses ---- */

enum { SHORT_SET = 16 }; /* so many names are looked through one by one */

/* Returns the slot of a name, or the empty one where it belongs. */
static int *set_slot(const NameSet *s, int name) {
    uint32_t at = (uint32_t)name * 0x9e3779b1u;
    for (at ^= at >> 15;; at++) {
        int *slot = &s->slot[at & (uint32_t)(s->n_slot - 1)];
        if (*slot == 0 || s->v[*slot - 1] == name) return slot;
    }
}

bool name_set_has(const NameSet *s, int name) {
    if (s->n_slot) return *set_slot(s, name) != 0;
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == name) return true;
    return false;
}

/* Makes the hash table of a set that has grown. */
static void index_set(NameSet *s) {
    free(s->slot);
    s->n_slot = 4 * s->n;
    s->slot = gi_alloc((size_t)s->n_slot * sizeof(int));
    for (int i = 0; i < s->n; i++) *set_slot(s, s->v[i]) = i + 1;
}

bool name_set_add(NameSet *s, int name) {
    if (name_set_has(s, name)) return false;
    gi_grow(s->v, s->n, s->cap);
    s->v[s->n++] = name;
    if (s->n == SHORT_SET || 2 * s->n == s->n_slot) index_set(s);
    else if (s->n_slot) *set_slot(s, name) = s->n;
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

/* May the call of token i change its arguments? */
static bool changes_arguments(const Tree *t, int i) {
    int name = t->tok[i].name;
    return tok_is(t, i + 1, "(") && (t->by_reference[name] || assigning_macro(t, name));
}

void tree_uses(const Tree *t, int first, int last, Uses *out) {
    bool assembler = first < last && (tok_is(t, first, "asm") || tok_is(t, first, "__asm__"));
    int changed = first; /* up to this token all names are arguments that count as changed */
    for (int i = first; i < last; i++) {
        if (t->tok[i].kind != TOK_NAME) continue;
        int name = t->tok[i].name;
        if (i < changed) name_set_add(&out->assigned, name);
        if (i > first && is_member(t, t->tok, i)) continue;
        use_name(t, name, out);
        if (assembler || is_assigned(t, i, last)) name_set_add(&out->assigned, name);
        if (i + 1 < last && changes_arguments(t, i) && t->match[i + 1] > changed)
            changed = t->match[i + 1];
    }
}

/* ---- spots ---- */

/* Counts the tokens of each name while there is no list; then fills it. */
static void add_spot(Spots *s, int name, int token) {
    if (s->token) s->token[s->first[name + 1]++] = token;
    else s->first[name + 2]++;
}

static void add_changed_by_macro(const Tree *t, int i, Spots *changed) {
    Uses u = {0};
    use_name(t, t->tok[i].name, &u);
    for (int k = 0; k < u.assigned.n; k++) add_spot(changed, u.assigned.v[k], i);
    uses_free(&u);
}

static void add_spots(const Tree *t, Spots *named, Spots *changed) {
    int until = 0;
    for (int i = 0; i < t->n_tok; i++) {
        int name = t->tok[i].name;
        if (t->tok[i].kind != TOK_NAME) continue;
        bool macro = t->last_macro[name] >= 0;
        add_spot(named, name, i);
        if (macro) add_spot(named, t->names.n, i);
        if (i < until) add_spot(changed, name, i);
        if (is_member(t, t->tok, i)) continue;
        if (i >= until && is_assigned(t, i, t->n_tok)) add_spot(changed, name, i);
        if (macro) add_changed_by_macro(t, i, changed);
        if (changes_arguments(t, i) && t->match[i + 1] > until) until = t->match[i + 1];
    }
}

/* Makes the list of as many tokens as were counted. */
static void make_list(Spots *s, int n_names) {
    for (int i = 0; i < n_names; i++) s->first[i + 2] += s->first[i + 1];
    s->token = gi_alloc((size_t)s->first[n_names + 1] * sizeof(int) + 1);
}

void tree_index_spots(const Tree *t, Spots *named, Spots *changed) {
    int n = t->names.n + 1; /* with that of macros */
    named->first = gi_alloc((size_t)(n + 2) * sizeof(int));
    changed->first = gi_alloc((size_t)(n + 2) * sizeof(int));
    add_spots(t, named, changed);
    make_list(named, n);
    make_list(changed, n);
    add_spots(t, named, changed);
}

int spots_before(const Spots *s, int name, int last) {
    int low = s->first[name], high = s->first[name + 1];
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->token[middle] < last) low = middle + 1;
        else high = middle;
    }
    return low > s->first[name] ? s->token[low - 1] : -1;
}

void spots_free(Spots *s) {
    free(s->first);
    free(s->token);
    *s = (Spots){0};
}

void name_set_free(NameSet *s) {
    free(s->v);
    free(s->slot);
    *s = (NameSet){0};
}

void uses_free(Uses *u) {
    name_set_free(&u->used);
    name_set_free(&u->assigned);
    *u = (Uses){0};
}
