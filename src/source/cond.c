/* cond.c - directives: which code tokens stand under which conditions, and the macros.
**
** Code under #if is kept from every branch, each token with its Place. Conditions are compared by
** their text, so that two regions of `#ifdef A` are the same place and `#else` is its opposite;
** `A && B` counts as both. A group with a branch whose brackets do not balance is read by one
** branch only: the one that agrees with earlier such choices, or the first.
*/
#include "source/tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct Branch {
    int directive;   /* raw index of #if, #elif, #else */
    int first, last; /* raw tokens of its content */
} Branch;

typedef struct Group {
    Branch *v;
    int n, cap;
    int end; /* raw index of #endif */
} Group;

typedef struct Cond {
    Tree *t;
    Tokens raw;
    gi_err *err;
    NameSet assumed; /* literals taken when an unbalanced group was read by one branch */
} Cond;

/* Each branch is known by the conditions of all before it, and each use of a macro looks at all its
** definitions: their numbers are bounded, for that is quadratic. */
enum { MAX_DEPTH = 100, MAX_BRANCHES = 400, MAX_DEFINITIONS = 400 };

/* ---- places ---- */

static int place_add(Tree *t, int base, int group, const int *literal, int n) {
    int above = base < 0 ? 0 : t->place[base].n;
    Place p = {gi_alloc((size_t)(above + n) * sizeof(int)), above + n, group, base, -1};
    if (above) memcpy(p.literal, t->place[base].literal, (size_t)above * sizeof(int));
    if (n) memcpy(p.literal + above, literal, (size_t)n * sizeof(int));
    gi_grow(t->place, t->n_place, t->cap_place);
    if (group >= 0) p.older = t->group_place[group], t->group_place[group] = t->n_place;
    t->place[t->n_place] = p;
    return t->n_place++;
}

static bool place_has(const Place *p, int literal) {
    for (int i = 0; i < p->n; i++)
        if (p->literal[i] == literal) return true;
    return false;
}

bool place_implied(const Tree *t, int a, int b) {
    const Place *p = &t->place[a];
    for (int i = 0; i < p->n; i++)
        if (!place_has(&t->place[b], p->literal[i])) return false;
    return true;
}

bool place_compatible(const Tree *t, int a, int b) {
    const Place *p = &t->place[a];
    for (int i = 0; i < p->n; i++)
        if (place_has(&t->place[b], p->literal[i] ^ 1)) return false;
    return true;
}

/* Does every branch of the group that can hold at place b occur among places? */
static bool group_covers(const Tree *t, int group, const int *places, int n, int b) {
    for (int p = t->group_place[group]; p >= 0; p = t->place[p].older) {
        if (!place_compatible(t, p, b)) continue;
        bool found = false;
        for (int i = 0; i < n; i++) found = found || places[i] == p;
        if (!found) return false;
    }
    return true;
}

bool places_cover(const Tree *t, const int *places, int n, int b) {
    for (int i = 0; i < n; i++) {
        const Place *p = &t->place[places[i]];
        if (place_implied(t, places[i], b)) return true;
        if (p->group >= 0 && t->group_else[p->group] && place_implied(t, p->base, b) &&
            group_covers(t, p->group, places, n, b))
            return true;
    }
    return false;
}

/* ---- conditions ---- */

/* The directive's word without '#', and where the rest begins. */
static int directive_word(const Tree *t, const Token *d, char word[16], int *rest) {
    int i = d->start + 1, n = 0;
    while (i < d->end && (t->src[i] == ' ' || t->src[i] == '\t')) i++;
    while (i < d->end && t->src[i] >= 'a' && t->src[i] <= 'z' && n < 15) word[n++] = t->src[i++];
    word[n] = '\0';
    *rest = i;
    return n;
}

static bool is_condition_start(const char *word) {
    return strcmp(word, "if") == 0 || strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0;
}

static int condition_number(Cond *c, const char *text) {
    gi_buf key = {0}; /* '#' keeps conditions apart from names */
    gi_buf_addf(&key, "#%s", text);
    int number = names_add(&c->t->names, key.data, key.len);
    gi_buf_free(&key);
    return number;
}

/* Text of tokens [a, b) with one blank between; `defined(X)` as `defined X`. */
static void condition_text(const Cond *c, const Tokens *l, int a, int b, gi_buf *out) {
    for (int i = a; i < b; i++) {
        const Token *k = &l->v[i];
        bool paren = i > a && token_is(c->t->src, &l->v[i - 1], "defined") && i + 2 < b &&
                     token_is(c->t->src, k, "(");
        if (paren) k = &l->v[i + 1];
        if (out->len) gi_buf_adds(out, " ");
        gi_buf_add(out, c->t->src + k->start, (size_t)(k->end - k->start));
        if (paren) i += 2;
    }
}

static int literal_of(Cond *c, const Tokens *l, int a, int b) {
    int negative = 0;
    gi_buf text = {0};
    while (a + 1 < b && token_is(c->t->src, &l->v[a], "!") &&
           token_is(c->t->src, &l->v[a + 1], "defined")) {
        negative = 1;
        a++;
    }
    condition_text(c, l, a, b, &text);
    int literal = condition_number(c, text.data ? text.data : "") * 2 + negative;
    gi_buf_free(&text);
    return literal;
}

/* Adds `a && b && c` as three literals, anything else as one. */
static void add_conjunction(Cond *c, const Tokens *l, NameSet *out) {
    int n = l->n - 1, depth = 0, from = 0;
    bool one = n == 0;
    for (int i = 0; i < n; i++)
        if (token_is(c->t->src, &l->v[i], "||") || token_is(c->t->src, &l->v[i], "?")) one = true;
    for (int i = 0; i <= n; i++) {
        if (i < n && token_is(c->t->src, &l->v[i], "(")) depth++;
        if (i < n && token_is(c->t->src, &l->v[i], ")")) depth--;
        bool cut = i == n || (!one && depth == 0 && token_is(c->t->src, &l->v[i], "&&"));
        if (!cut) continue;
        gi_grow(out->v, out->n, out->cap);
        out->v[out->n++] = literal_of(c, l, from, i);
        from = i + 1;
    }
}

/* Appends what holds when the condition of directive d is true; returns the literal of its being
** false. *constant is 0 or 1 for `#if 0` and `#if 1`, else -1. */
static int condition_literals(Cond *c, const Token *d, NameSet *out, int *constant) {
    char word[16];
    int rest, before = out->n;
    Tokens l = {0};
    gi_buf text = {0};
    *constant = -1;
    directive_word(c->t, d, word, &rest);
    if (!lex(c->t->src, rest, d->end, &c->t->names, &l, NULL) || l.n == 0) {
        gi_grow(l.v, l.n, l.cap);
        l.v[l.n++] = (Token){.kind = TOK_END};
    }
    bool defined = strstr(word, "def") != NULL, negative = strstr(word, "ndef") != NULL;
    if (defined) gi_buf_adds(&text, "defined");
    condition_text(c, &l, 0, l.n - 1, &text);
    int whole = condition_number(c, text.data ? text.data : "") * 2;
    if (defined) {
        gi_grow(out->v, out->n, out->cap);
        out->v[out->n++] = whole + negative;
    } else {
        add_conjunction(c, &l, out);
        if (text.data && strcmp(text.data, "0") == 0) *constant = 0;
        if (text.data && strcmp(text.data, "1") == 0) *constant = 1;
    }
    gi_buf_free(&text);
    free(l.v);
    return out->n - before == 1 ? out->v[before] ^ 1 : whole + 1;
}

/* ---- groups ---- */

/* The branches of the #if at raw[at]. */
static bool group_read(Cond *c, int at, int to, Group *g) {
    char word[16];
    int rest, depth = 0;
    for (int i = at; i < to; i++) {
        if (c->raw.v[i].kind != TOK_DIRECTIVE) continue;
        directive_word(c->t, &c->raw.v[i], word, &rest);
        depth += is_condition_start(word);
        bool end = strcmp(word, "endif") == 0;
        if (depth == 1 && (i == at || end || strncmp(word, "el", 2) == 0)) {
            if (g->n) g->v[g->n - 1].last = i;
            if (end) return g->end = i, true;
            gi_grow(g->v, g->n, g->cap);
            g->v[g->n++] = (Branch){i, i + 1, to};
        }
        depth -= end;
    }
    return gi_fail(c->err, "format", "line %d: this #if has no #endif",
                   line_of(c->t->line_start, c->t->n_lines, c->raw.v[at].start));
}

static int bracket_kind(const Cond *c, const Token *k) {
    const char *at = k->kind == TOK_PUNCT ? strchr("(){}[]", c->t->src[k->start]) : NULL;
    return at ? (int)(at - "(){}[]") : -1;
}

static int branch_choice(Cond *c, const Group *g);

/* Adds up brackets of raw [a, b) into count[3]; false as soon as one closes too many. Stops
** counting below depth levels of #if. */
static bool count_brackets(Cond *c, int a, int b, int count[3], int depth) {
    char word[16];
    int rest;
    for (int i = a; i < b; i++) {
        const Token *k = &c->raw.v[i];
        int kind = bracket_kind(c, k);
        if (kind >= 0) count[kind / 2] += kind % 2 ? -1 : 1;
        if (kind >= 0 && count[kind / 2] < 0) return false;
        if (k->kind != TOK_DIRECTIVE) continue;
        directive_word(c->t, k, word, &rest);
        if (!is_condition_start(word) || depth == 0) continue;
        Group g = {0};
        bool fine = group_read(c, i, b, &g);
        if (fine) {
            int taken = branch_choice(c, &g);
            fine = taken < 0 || count_brackets(c, g.v[taken].first, g.v[taken].last, count,
                                               depth - 1);
            i = g.end;
        }
        free(g.v);
        if (!fine) return false;
    }
    return true;
}

static bool balanced(Cond *c, int a, int b) {
    int count[3] = {0, 0, 0};
    return count_brackets(c, a, b, count, MAX_DEPTH) && !count[0] && !count[1] && !count[2];
}

static bool group_balanced(Cond *c, const Group *g) {
    for (int i = 0; i < g->n; i++)
        if (!balanced(c, g->v[i].first, g->v[i].last)) return false;
    return true;
}

/* Literals of branch k: its own condition, and that the ones before it do not hold. *never: it is
** known not to be compiled. */
static void branch_literals(Cond *c, const Group *g, int k, NameSet *out, bool *never) {
    *never = false;
    for (int i = 0; i <= k; i++) {
        int constant, before = out->n;
        char word[16];
        int rest;
        directive_word(c->t, &c->raw.v[g->v[i].directive], word, &rest);
        if (strcmp(word, "else") == 0) continue;
        int no = condition_literals(c, &c->raw.v[g->v[i].directive], out, &constant);
        if (constant == (i == k ? 0 : 1)) *never = true;
        if (constant >= 0) out->n = before;
        else if (i < k) {
            out->v[before] = no;
            out->n = before + 1;
        }
    }
}

static bool contradicts(const NameSet *literals, const NameSet *assumed) {
    for (int i = 0; i < literals->n; i++)
        if (name_set_has(assumed, literals->v[i] ^ 1)) return true;
    return false;
}

static bool has_else(Cond *c, const Group *g) {
    char word[16];
    int rest;
    directive_word(c->t, &c->raw.v[g->v[g->n - 1].directive], word, &rest);
    return strcmp(word, "else") == 0;
}

/* The branch by which an unbalanced group is read: the first that agrees with what was assumed,
** -1 for none of them. */
static int branch_choice(Cond *c, const Group *g) {
    for (int k = 0; k < g->n; k++) {
        NameSet literals = {0};
        bool never;
        branch_literals(c, g, k, &literals, &never);
        bool agrees = !never && !contradicts(&literals, &c->assumed);
        free(literals.v);
        if (agrees) return k;
    }
    return -1;
}

/* ---- walking ---- */

static bool walk(Cond *c, int a, int b, int place, int group, bool partial, int depth);

static void code_token(Cond *c, int raw, int place, int group, bool partial) {
    Tree *t = c->t;
    gi_grow(t->tok, t->n_tok, t->cap_tok);
    t->tok[t->n_tok] = c->raw.v[raw];
    t->tok[t->n_tok].place = place;
    t->tok[t->n_tok].group = group;
    t->tok[t->n_tok++].partial = partial;
}

static int group_add(Tree *t, int parent, bool has_else) {
    int n = t->n_group;
    gi_grow(t->group_parent, n, t->cap_group);
    gi_grow(t->group_place, n, t->cap_places);
    gi_grow(t->group_fixed, n, t->cap_fixed);
    gi_grow(t->group_else, n, t->cap_else);
    t->group_parent[n] = parent;
    t->group_place[n] = -1;
    t->group_else[n] = has_else;
    t->group_fixed[n] = false;
    return t->n_group++;
}

static void remember(Cond *c, const NameSet *literals) {
    for (int i = 0; i < literals->n; i++) {
        gi_grow(c->assumed.v, c->assumed.n, c->assumed.cap);
        c->assumed.v[c->assumed.n++] = literals->v[i];
    }
}

/* chosen: it is the one by which its group is read, so that what it holds under is assumed. */
static bool walk_branch(Cond *c, const Group *g, int k, int place, int group, bool partial,
                        bool chosen, int depth) {
    NameSet literals = {0};
    bool never, fine = true;
    branch_literals(c, g, k, &literals, &never);
    if (!never) {
        int inner = place_add(c->t, place, group, literals.v, literals.n);
        if (chosen) remember(c, &literals);
        fine = walk(c, g->v[k].first, g->v[k].last, inner, group, partial, depth + 1);
    }
    free(literals.v);
    return fine;
}

static void add_directive(Cond *c, int raw, DirectiveKind kind, int name, bool partial) {
    Tree *t = c->t;
    gi_grow(t->dir, t->n_dir, t->cap_dir);
    t->dir[t->n_dir++] = (Directive){.kind = kind,
                                     .start = c->raw.v[raw].start,
                                     .end = c->raw.v[raw].end,
                                     .before = t->n_tok,
                                     .name = name,
                                     .partial = partial};
}

static bool walk_group(Cond *c, const Group *g, int place, int outer, bool partial, int depth) {
    if (g->n > MAX_BRANCHES)
        return gi_fail(c->err, "format", "line %d: an #if with %d branches (at most %d)",
                       line_of(c->t->line_start, c->t->n_lines, c->raw.v[g->v[0].directive].start),
                       g->n, MAX_BRANCHES);
    int group = group_add(c->t, outer, has_else(c, g));
    bool all = group_balanced(c, g);
    int choice = all ? -1 : branch_choice(c, g);
    for (int k = 0; k < g->n; k++) {
        add_directive(c, g->v[k].directive, DIR_CONDITION, -1, partial);
        bool taken = all || k == choice;
        if (taken && !walk_branch(c, g, k, place, group, partial || !all, !all, depth))
            return false;
    }
    add_directive(c, g->end, DIR_CONDITION, -1, partial);
    return true;
}

/* ---- macros ---- */

static const char *const statement_words[] = {"if",   "else",   "for",   "while",    "do",
                                              "goto", "switch", "break", "continue", "return",
                                              "case", NULL};
static const char *const assign_words[] = {"=",  "+=", "-=",  "*=",  "/=", "%=", "&=",
                                           "|=", "^=", "<<=", ">>=", "++", "--", "&", NULL};

/* Parameters of a function-like macro; l.v[1] is the parenthesis. Returns where the body begins. */
static int macro_params(Macro *m, const Tokens *l, const Tree *t) {
    int i = 2, cap = 0;
    for (; i < l->n - 1 && !token_is(t->src, &l->v[i], ")"); i++) {
        if (l->v[i].kind != TOK_NAME) continue;
        gi_grow(m->param, m->n_params, cap);
        m->param[m->n_params++] = l->v[i].name;
    }
    return i < l->n - 1 ? i + 1 : i;
}

static void macro_body(const Tree *t, Macro *m, const Tokens *l, int from) {
    for (int i = from; i < l->n - 1; i++) {
        const Token *k = &l->v[i];
        gi_grow(m->body.v, m->body.n, m->body.cap);
        m->body.v[m->body.n++] = *k;
        if (bracket_kind(&(Cond){.t = (Tree *)t}, k) / 2 == 1) m->is_statement = true;
        bool ends = token_is(t->src, k, ";");
        if (ends || token_in(t->src, k, statement_words)) m->is_statement = true;
        if (token_in(t->src, k, assign_words)) m->assigns = true;
    }
}

static int add_macro(Cond *c, int raw, int rest, bool undef, int place) {
    Tree *t = c->t;
    const Token *d = &c->raw.v[raw];
    Tokens l = {0};
    Macro m = {.name = -1, .place = place, .before = t->n_tok, .undef = undef};
    if (lex(t->src, rest, d->end, &t->names, &l, NULL) && l.v[0].kind == TOK_NAME) {
        bool params = token_is(t->src, &l.v[1], "(") && l.v[1].start == l.v[0].end;
        m.name = l.v[0].name;
        macro_body(t, &m, &l, params ? macro_params(&m, &l, t) : 1);
        gi_grow(t->macro, t->n_macro, t->cap_macro);
        t->macro[t->n_macro++] = m;
    }
    free(l.v);
    return m.name;
}

static void plain_directive(Cond *c, int raw, int place, bool partial) {
    char word[16];
    int rest, name = -1;
    DirectiveKind kind = DIR_OTHER;
    directive_word(c->t, &c->raw.v[raw], word, &rest);
    if (strcmp(word, "pragma") == 0) kind = DIR_PRAGMA;
    if (strcmp(word, "define") == 0) kind = DIR_DEFINE;
    if (strcmp(word, "undef") == 0) kind = DIR_UNDEF;
    if (kind == DIR_DEFINE || kind == DIR_UNDEF)
        name = add_macro(c, raw, rest, kind == DIR_UNDEF, place);
    add_directive(c, raw, kind, name, partial);
}

static bool walk_directive(Cond *c, int *i, int b, int place, int group, bool partial, int depth) {
    char word[16];
    int rest, line = line_of(c->t->line_start, c->t->n_lines, c->raw.v[*i].start);
    directive_word(c->t, &c->raw.v[*i], word, &rest);
    if (strcmp(word, "endif") == 0 || strncmp(word, "el", 2) == 0)
        return gi_fail(c->err, "format", "line %d: #%s without an #if", line, word);
    if (!is_condition_start(word)) return plain_directive(c, *i, place, partial), true;
    if (depth > MAX_DEPTH) return gi_fail(c->err, "format", "line %d: #if nested too deeply", line);
    Group g = {0};
    bool fine = group_read(c, *i, b, &g);
    if (fine) {
        fine = walk_group(c, &g, place, group, partial, depth);
        *i = g.end;
    }
    free(g.v);
    return fine;
}

static bool walk(Cond *c, int a, int b, int place, int group, bool partial, int depth) {
    for (int i = a; i < b; i++) {
        const Token *k = &c->raw.v[i];
        if (source_stopped(c->err)) return false;
        if (k->kind == TOK_BAD)
            return gi_fail(c->err, "format", "line %d: a literal that begins here has no end",
                           line_of(c->t->line_start, c->t->n_lines, k->start));
        if (k->kind != TOK_DIRECTIVE) code_token(c, i, place, group, partial);
        else if (!walk_directive(c, &i, b, place, group, partial, depth)) return false;
    }
    return true;
}

/* Refuses a name with too many #define lines, or too many #undef lines. */
static bool few_definitions(Cond *c) {
    const Tree *t = c->t;
    int(*n)[2] = gi_alloc((size_t)t->names.n * sizeof *n);
    bool fine = true;
    for (int i = 0; i < t->n_dir && fine; i++) {
        const Directive *d = &t->dir[i];
        if (d->name < 0 || ++n[d->name][d->kind == DIR_UNDEF] <= MAX_DEFINITIONS) continue;
        fine = gi_fail(c->err, "format",
                       "line %d: %s has more than %d lines #%s: give some of these macros "
                       "another name",
                       line_of(t->line_start, t->n_lines, d->start), t->names.text[d->name],
                       MAX_DEFINITIONS, d->kind == DIR_UNDEF ? "undef" : "define");
    }
    free(n);
    return fine;
}

bool tree_preprocess(Tree *t, gi_err *err) {
    Cond c = {.t = t, .err = err};
    bool fine = lex(t->src, 0, t->len, &t->names, &c.raw, err);
    if (fine) {
        place_add(t, -1, -1, NULL, 0);
        fine = walk(&c, 0, c.raw.n, 0, -1, false, 0) && few_definitions(&c);
        tree_index_macros(t);
    }
    free(c.raw.v);
    free(c.assumed.v);
    return fine;
}

bool tree_directive_between(const Tree *t, int a, int b) {
    int low = 0, high = t->n_dir; /* directives lie in order */
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->dir[middle].start < a) low = middle + 1;
        else high = middle;
    }
    return low < t->n_dir && t->dir[low].start < b;
}

bool tree_group_fixed(const Tree *t, int g) {
    for (; g >= 0; g = t->group_parent[g])
        if (t->group_fixed[g]) return true;
    return false;
}

bool tree_group_inside(const Tree *t, int inner, int outer) {
    for (; inner >= 0; inner = t->group_parent[inner])
        if (inner == outer) return true;
    return outer < 0;
}
