/* init.c - what a variable is declared with, as a rule: `x[i]` of `float a = x[i];`.
**
** It may go where the variable can begin with zero instead, give way to what another variable of
** the same type begins with, and be assigned again elsewhere (`a = x[i];`). So its type must be
** known: arithmetic, a vector of CUDA's, a type of this file or a template's parameter; of `auto`,
** what the words of the expression tell. Types are compared as they are written.
*/
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- types as they are written ---- */

static const char *const dropped_words[] = {"volatile", "register", "struct", "class", "enum",
                                            "typename", NULL};
static const char *const other_words[] = {"static", "extern", "constexpr", "thread_local",
                                          "mutable", "inline", "__shared__", "__constant__",
                                          "__device__", "__managed__", "typedef", "using",
                                          "[", "(", "&", "&&", "*", NULL};
static const char *const header_words[] = {"half",        "__half",        "half2", "__half2",
                                           "nv_bfloat16", "__nv_bfloat16", "dim3",  NULL};


static const Decl *type_of_file(const Tree *t, int name) {
    for (int i = t->last_decl[name]; i >= 0; i = t->older_decl[i])
        if (t->decl[i].kind == DECL_TYPE) return &t->decl[i];
    return NULL;
}

static bool arithmetic_macro(const Tree *t, int name) {
    bool found = false;
    for (int i = t->last_macro[name]; i >= 0; i = t->older_macro[i]) {
        const Macro *m = &t->macro[i];
        if (m->undef) continue;
        found = m->body.n > 0;
        for (int k = 0; k < m->body.n; k++)
            if (!token_in(t->src, &m->body.v[k], tree_arithmetic_words)) return false;
    }
    return found;
}

typedef enum Known { KNOWN_NOT, KNOWN_TYPE, KNOWN_CLASS, KNOWN_NUMBER } Known;

/* Of a type written in tokens [first, last), without what was dropped. CLASS: it may not begin with
** nothing. */
static Known what_type(const Tree *t, int first, int last) {
    Known known = KNOWN_NOT;
    for (int i = first; i < last; i++) {
        if (tok_in(t, i, tree_arithmetic_words)) return KNOWN_NUMBER;
        if (tok_is(t, i, "<")) break;
        int name = t->tok[i].name;
        if (name < 0) continue;
        if (arithmetic_macro(t, name)) return KNOWN_NUMBER;
        const char *text = t->names.text[name];
        if (tok_in(t, i, header_words) || gi_is_vector_type(text)) known = KNOWN_TYPE;
        else if (type_of_file(t, name))
            known = t->constructed[name] ? KNOWN_CLASS : KNOWN_TYPE;
    }
    return known;
}

/* Returns the type of a declared variable, as written; "" if it is unknown.
** `auto` alone is "auto". */
static void type_text(const Tree *t, const Decl *d, Known *known, gi_buf *out) {
    gi_buf_adds(out, "");
    *known = what_type(t, d->first, d->type_end);
    for (int i = d->first; i < d->type_end; i++) {
        if (tok_in(t, i, other_words)) {
            *known = KNOWN_NOT;
            break;
        }
        bool qualifies = tok_is(t, i, "const") && d->stars == 0;
        if (qualifies || tok_in(t, i, dropped_words)) continue;
        if (out->len) gi_buf_adds(out, " ");
        gi_buf_add(out, t->src + t->tok[i].start, (size_t)(t->tok[i].end - t->tok[i].start));
    }
    bool deduced = strcmp(out->data, "auto") == 0 && d->stars == 0;
    if (*known == KNOWN_NOT && !deduced) out->data[out->len = 0] = '\0';
    if (strcmp(out->data, "unsigned") == 0) gi_buf_adds(out, " int");
    for (int i = 0; i < d->stars && out->len; i++) gi_buf_adds(out, " *");
}

/* ---- the type of an expression ---- */

/* In the order of the usual conversions; NOT: who knows. */
typedef enum Rank { RANK_NOT, RANK_INT, RANK_UINT, RANK_LONG, RANK_ULONG, RANK_FLOAT, RANK_DOUBLE }
Rank;

static const struct { const char *type; Rank rank; } ranks[] = {
    {"int", RANK_INT}, {"int32_t", RANK_INT}, {"std :: int32_t", RANK_INT},
    {"unsigned int", RANK_UINT}, {"uint", RANK_UINT}, {"uint32_t", RANK_UINT},
    {"std :: uint32_t", RANK_UINT}, {"long", RANK_LONG}, {"int64_t", RANK_LONG},
    {"std :: int64_t", RANK_LONG}, {"size_t", RANK_ULONG}, {"std :: size_t", RANK_ULONG},
    {"unsigned long", RANK_ULONG}, {"uint64_t", RANK_ULONG}, {"std :: uint64_t", RANK_ULONG},
    {"float", RANK_FLOAT}, {"double", RANK_DOUBLE}};
static const char *const rank_names[] = {"", "int", "unsigned int", "long", "unsigned long",
                                         "float", "double"};
static const char *const rank_zeros[] = {"", "0", "0u", "0l", "0ul", "0.f", "0."};

static Rank rank_of(const char *type) {
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (strcmp(ranks[i].type, type) == 0) return ranks[i].rank;
    return RANK_NOT;
}

static Rank number_rank(const Tree *t, int i) {
    const char *text = t->src + t->tok[i].start;
    int n = t->tok[i].end - t->tok[i].start;
    bool hex = n > 1 && (text[1] == 'x' || text[1] == 'X'), dot = false, u = false, l = false;
    if (hex || n > 9) return RANK_NOT; /* its size decides */
    for (int k = 0; k < n; k++) {
        dot = dot || text[k] == '.' || text[k] == 'e' || text[k] == 'E';
        u = u || text[k] == 'u' || text[k] == 'U';
        l = l || text[k] == 'l' || text[k] == 'L';
    }
    if (text[n - 1] == 'f' || text[n - 1] == 'F') return RANK_FLOAT;
    if (dot) return l ? RANK_NOT : RANK_DOUBLE;
    return l ? u ? RANK_ULONG : RANK_LONG : u ? RANK_UINT : RANK_INT;
}

/* The type of the variable at token i with its subscripts; *after is behind them. */
static void operand_type(const Grammar *g, int node, int i, int last, int *after, gi_buf *out) {
    const Tree *t = &g->tree;
    static const char *const builtins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", NULL};
    Meaning m;
    tree_resolve(t, t->tok[i].name, node, i, &m);
    *after = i + 1;
    gi_buf_adds(out, "");
    if (m.n == 0 && tok_in(t, i, builtins) && tok_is(t, i + 1, ".")) {
        *after = i + 3;
        gi_buf_adds(out, "unsigned int");
    }
    if (m.n != 1 || m.what[0] < 0) return;
    Known known;
    Decl d = t->decl[m.what[0]];
    int depth = d.stars + d.dims;
    for (; *after < last && tok_is(t, *after, "["); depth--) *after = t->match[*after] + 1;
    bool value = d.kind == DECL_VARIABLE || d.kind == DECL_PARAMETER;
    d.stars = 0;
    if (value && depth == 0 && !tok_is(t, *after, "(") && !tok_is(t, *after, "."))
        type_text(t, &d, &known, out);
    if (strcmp(out->data, "auto") == 0) out->data[out->len = 0] = '\0';
}

/* A call of one of CUDA's functions that return a float. */
static bool is_float_call(const Tree *t, int node, int i) {
    static const char *const functions[] = {
        "sqrtf", "rsqrtf", "expf",  "exp2f", "logf", "log2f",  "log10f", "sinf",  "cosf",  "tanf",
        "tanhf", "powf",   "fabsf", "fminf", "fmaxf", "floorf", "ceilf",  "fmodf", "atanf", "erff",
        "__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef", NULL};
    Meaning m;
    if (!tok_in(t, i, functions) || !tok_is(t, i + 1, "(")) return false;
    tree_resolve(t, t->tok[i].name, node, i, &m);
    return m.n == 0;
}

/* `+ - * / %` of numbers and variables, with parentheses; RANK_NOT for all else. */
static Rank expression_rank(const Grammar *g, int node, int first, int last) {
    static const char *const operators[] = {"+", "-", "*", "/", "%", NULL};
    const Tree *t = &g->tree;
    Rank rank = RANK_NOT;
    for (int i = first, after; i < last; i = after) {
        Rank r;
        after = i + 1;
        if (tok_in(t, i, operators)) continue;
        if (t->tok[i].kind == TOK_NUMBER) r = number_rank(t, i);
        else if (tok_is(t, i, "(") && tok_is(t, i + 1, "float") && tok_is(t, i + 2, ")")) {
            after = i + 3; /* a cast, whose operand follows */
            r = RANK_FLOAT;
        } else if (is_float_call(t, node, i)) {
            after = t->match[i + 1] + 1;
            r = RANK_FLOAT;
        } else if (tok_is(t, i, "(") && !tok_in(t, i + 1, tree_arithmetic_words)) {
            after = t->match[i] + 1;
            r = expression_rank(g, node, i + 1, after - 1);
        } else if (t->tok[i].kind == TOK_NAME) {
            gi_buf type = {0};
            operand_type(g, node, i, last, &after, &type);
            r = rank_of(type.data);
            gi_buf_free(&type);
        } else r = RANK_NOT;
        if (r == RANK_NOT) return RANK_NOT;
        if (r > rank) rank = r;
    }
    return rank;
}

bool is_float(const Grammar *g, int node, int first, int last) {
    return expression_rank(g, node, first, last) == RANK_FLOAT;
}

/* The type of `auto a = …`, in place of "auto", and its zero. */
static void deduce(const Grammar *g, const Decl *d, gi_buf *type, gi_buf *zero) {
    const Tree *t = &g->tree;
    int after;
    Rank rank = expression_rank(g, d->scope, d->value, d->value_end);
    type->data[type->len = 0] = '\0';
    if (rank != RANK_NOT) {
        gi_buf_addf(type, "auto %s", rank_names[rank]);
        gi_buf_adds(zero, rank_zeros[rank]);
    } else if (t->tok[d->value].kind == TOK_NAME) {
        gi_buf one = {0};
        operand_type(g, d->scope, d->value, d->value_end, &after, &one);
        if (after == d->value_end && one.len) {
            gi_buf_addf(type, "auto %s", one.data);
            if (strchr(one.data, ' ') == NULL) gi_buf_addf(zero, "%s{}", one.data);
        }
        gi_buf_free(&one);
    }
}

/* ---- what may be a rule ---- */

/* Is it decided when the kernel runs what name means to the initialiser of d? */
static bool is_of_run(const Tree *t, const Decl *d, int name) {
    static const char *const builtins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                           "warpSize"};
    Meaning m;
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(t->names.text[name], builtins[i]) == 0) return true;
    tree_resolve(t, name, d->scope, d->value, &m);
    for (int k = 0; k < m.n && k < MEANING_MAX; k++) {
        const Decl *used = m.what[k] < 0 ? NULL : &t->decl[m.what[k]];
        if (used == NULL) continue;
        bool of_template = used->at < t->node[used->scope].head; /* int N */
        if (used->kind == DECL_PARAMETER && !of_template) return true;
        if (used->kind == DECL_VARIABLE && !used->is_const) return true;
        if (used->kind == DECL_FUNCTION) return true;
    }
    return false;
}

/* May the value be one that types depend on, as in `const int N = 4; float a[N];`? */
static bool is_constant(const Tree *t, const Decl *d, const char *type) {
    Uses u = {0};
    bool constant = d->is_const && d->stars == 0 && !strstr(type, "float") &&
                    !strstr(type, "double");
    tree_uses(t, d->value, d->value_end, &u);
    for (int i = 0; i < u.used.n; i++) constant = constant && !is_of_run(t, d, u.used.v[i]);
    uses_free(&u);
    return constant;
}

static bool names_itself(const Tree *t, const Decl *d) {
    for (int i = d->value; i < d->value_end; i++)
        if (t->tok[i].name == d->name) return true;
    return false;
}

static bool has_place(const Grammar *g, const Decl *d) {
    const Node *n = &g->tree.node[d->scope];
    if (d->kind != DECL_VARIABLE || d->value >= d->value_end || d->array || d->reference ||
        n->function < 0 || !g->open[n->function])
        return false;
    return n->kind == NODE_BLOCK ||
           (n->kind == NODE_FOR && g->options.open_loops && d->at < n->semi1);
}

bool init_of(const Grammar *g, int decl, Init *out) {
    const Tree *t = &g->tree;
    const Decl *d = &t->decl[decl];
    gi_buf type = {0}, zero = {0};
    Known known = KNOWN_NOT;
    if (!has_place(g, d) || names_itself(t, d)) return false;
    type_text(t, d, &known, &type);
    if (strcmp(type.data, "auto") == 0) deduce(g, d, &type, &zero);
    else if (d->stars == 0 && known == KNOWN_NUMBER) gi_buf_adds(&zero, "0");
    else if (d->stars == 0 && known == KNOWN_TYPE) gi_buf_adds(&zero, "{}");
    bool fits = type.len > 0;
    if (fits)
        *out = (Init){type.data, zero.data, is_constant(t, d, type.data)};
    else {
        gi_buf_free(&type);
        gi_buf_free(&zero);
    }
    return fits;
}
