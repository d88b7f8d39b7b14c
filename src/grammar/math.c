/* math.c - approximate functions and division, statement by statement: what -use_fast_math does to
** a whole kernel, as a gene.
**
** The rule <math_k.cu_12> stands empty before a statement, declaration, condition or loop header,
** and is filled from its pool: <math_k.cu_12><math_K0>. What it changes are pieces of original text
** within; where another gene has put something else in their place, they are gone with it. That
** the answers are still near enough is for the comparison with the reference to say.
**
** (Loads and stores through __ldcs and the like, and sums in several parts, were tried this way on
** an H200: none of 70 was faster by more than 1.6 %, most of those that mattered were slower.)
*/
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

/* The pool: <math_K0> and so on. */
enum { FUNCTIONS, DIVISION, BOTH };
static const char *const ways[] = {"__expf", "__fdividef", "__expf __fdividef", NULL};

const char *math_way(int way) {
    return ways[way];
}

static void piece_add(Pieces *p, int start, int end, int from, int to, const char *text) {
    gi_grow(p->v, p->n, p->cap);
    p->v[p->n++] = (Piece){.start = start, .end = end, .from = from, .to = to,
                           .text = gi_strdup(text), .gene = -1, .hole = -1};
}

void pieces_free(Pieces *p) {
    for (int i = 0; i < p->n; i++) free(p->v[i].text);
    free(p->v);
    *p = (Pieces){0};
}

/* before( … )behind, around tokens [first, last). */
static void wrap(const Tree *t, Pieces *p, int first, int last, const char *before,
                 const char *behind) {
    int from = t->tok[first].start, to = t->tok[last - 1].end;
    piece_add(p, from, from, from, to, before);
    piece_add(p, to, to, from, to, behind);
}

static void replace_tokens(const Tree *t, Pieces *p, int first, int last, const char *text) {
    int from = t->tok[first].start, to = t->tok[last - 1].end;
    piece_add(p, from, to, from, to, text);
}

/* ---- expressions by their tokens ---- */

static bool ends_operand(const Tree *t, int i) {
    static const char *const not_operands[] = {"return", "case", "else", "if", "while", NULL};
    if (t->tok[i].kind == TOK_NAME) return !tok_in(t, i, not_operands);
    return t->tok[i].kind == TOK_NUMBER || tok_is(t, i, ")") || tok_is(t, i, "]");
}

static bool is_cast(const Tree *t, int open) {
    return tok_is(t, open, "(") && tok_in(t, open + 1, tree_arithmetic_words);
}

/* The operand without casts and signs that ends before token `end`; -1: not seen through. */
static int primary_begin(const Tree *t, int first, int end) {
    for (int i = end - 1; i >= first; i--) {
        if (tok_is(t, i, ")") || tok_is(t, i, "]")) {
            i = t->match[i];
            if (i < first) return -1;
            if (i == first) return i;
            if (tok_is(t, i - 1, ">")) return -1; /* f<4>(x), perhaps */
            if (!ends_operand(t, i - 1) || is_cast(t, t->match[i - 1])) return i;
        } else if (t->tok[i].kind == TOK_NAME || t->tok[i].kind == TOK_NUMBER) {
            if (i == first) return i;
            if (tok_is(t, i - 1, "::")) return -1;
            if (!tok_is(t, i - 1, ".") && !tok_is(t, i - 1, "->")) return i;
            i--;
        } else return -1;
    }
    return -1;
}

static int operand_begin(const Tree *t, int first, int end) {
    static const char *const signs[] = {"-", "+", "!", "~", "*", "&", NULL};
    int i = primary_begin(t, first, end);
    while (i > first) {
        if (tok_is(t, i - 1, "++") || tok_is(t, i - 1, "--")) return -1;
        bool sign = tok_in(t, i - 1, signs) && (i - 1 == first || !ends_operand(t, i - 2));
        if (sign) i--;
        else if (tok_is(t, i - 1, ")") && is_cast(t, t->match[i - 1])) i = t->match[i - 1];
        else break;
    }
    return i;
}

/* Returns the first token of `a * b` in `a * b / c`, given the '/'. */
static int dividend_begin(const Tree *t, int first, int slash) {
    static const char *const products[] = {"*", "/", "%", NULL};
    int i = operand_begin(t, first, slash);
    while (i > first + 1 && tok_in(t, i - 1, products) && ends_operand(t, i - 2))
        i = operand_begin(t, first, i - 1);
    return i;
}

/* Behind the operand that begins at token i; -1: not seen through. */
static int operand_end(const Tree *t, int i, int last) {
    static const char *const signs[] = {"-", "+", "!", "~", "*", "&", NULL};
    while (i < last && (tok_in(t, i, signs) || is_cast(t, i)))
        i = is_cast(t, i) ? t->match[i] + 1 : i + 1;
    if (i >= last) return -1;
    if (tok_is(t, i, "(")) i = t->match[i] + 1;
    else if (t->tok[i].kind == TOK_NAME || t->tok[i].kind == TOK_NUMBER) i++;
    else return -1;
    while (i < last) {
        if (tok_is(t, i, "(") || tok_is(t, i, "[")) i = t->match[i] + 1;
        else if ((tok_is(t, i, ".") || tok_is(t, i, "->")) && i + 1 < last) i += 2;
        else break;
    }
    if (i < last && (tok_is(t, i, "::") || tok_is(t, i, "++") || tok_is(t, i, "--"))) return -1;
    return i <= last ? i : -1;
}

/* ---- approximate functions and division ---- */

static const struct { const char *name, *fast; bool of_float; } functions[] = {
    {"expf", "__expf", true},       {"exp10f", "__exp10f", true}, {"logf", "__logf", true},
    {"log2f", "__log2f", true},     {"log10f", "__log10f", true}, {"sinf", "__sinf", true},
    {"cosf", "__cosf", true},       {"tanf", "__tanf", true},     {"powf", "__powf", true},
    {"sincosf", "__sincosf", true}, {"exp", "__expf", false},     {"exp10", "__exp10f", false},
    {"log", "__logf", false},       {"log2", "__log2f", false},   {"log10", "__log10f", false},
    {"sin", "__sinf", false},       {"cos", "__cosf", false},     {"tan", "__tanf", false}};

/* Is token i the name of a function of CUDA's that is called? */
static bool is_call(const Tree *t, int node, int i, const char *name) {
    Meaning m;
    if (!tok_is(t, i, name) || !tok_is(t, i + 1, "(")) return false;
    if (tok_is(t, i - 1, "::") || tok_is(t, i - 1, ".") || tok_is(t, i - 1, "->")) return false;
    tree_resolve(t, t->tok[i].name, node, i, &m);
    return m.n == 0;
}

static bool is_one(const Tree *t, int i) {
    const char *text = t->src + t->tok[i].start;
    char *end;
    bool one = t->tok[i].kind == TOK_NUMBER && strtod(text, &end) == 1;
    return one && (*end == 'f' || *end == 'F') && end + 1 == t->src + t->tok[i].end;
}

/* `1.0f / sqrtf`( */
static bool is_rsqrt(const Tree *t, int node, int i) {
    return is_one(t, i) && tok_is(t, i + 1, "/") && is_call(t, node, i + 2, "sqrtf") &&
           !tok_is(t, i - 1, "/") && !tok_is(t, i - 1, "%");
}

static void function_pieces(const Grammar *g, int node, int i, Pieces *out) {
    const Tree *t = &g->tree;
    if (is_rsqrt(t, node, i)) replace_tokens(t, out, i, i + 3, "rsqrtf");
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        if (!is_call(t, node, i, functions[k].name)) continue;
        if (functions[k].of_float || is_float(g, node, i + 2, t->match[i + 1]))
            replace_tokens(t, out, i, i + 1, functions[k].fast);
    }
}

static void division_piece(const Grammar *g, int node, int first, int last, int slash,
                           Pieces *out) {
    const Tree *t = &g->tree;
    int begin = dividend_begin(t, first, slash), end = operand_end(t, slash + 1, last);
    if (begin < 0 || end < 0 || !is_float(g, node, begin, end)) return;
    wrap(t, out, begin, end, "__fdividef(", ")");
    replace_tokens(t, out, slash, slash + 1, ",");
}

/* ---- both ---- */

/* The tokens of a node itself, without what it holds. */
static bool own_tokens(const Tree *t, int node, int *first, int *last) {
    const Node *n = &t->node[node];
    bool head = n->kind == NODE_IF || n->kind == NODE_WHILE || n->kind == NODE_FOR;
    bool simple = n->kind == NODE_STATEMENT || n->kind == NODE_DECLARATION;
    *first = head ? n->head : n->first;
    *last = head ? n->head_end : n->last;
    return (simple || head) && *first >= 0 && !tree_frozen(t, n->first, *last);
}

void math_pieces(const Grammar *g, int node, int way, Pieces *out) {
    const Tree *t = &g->tree;
    int first, last;
    if (!own_tokens(t, node, &first, &last)) return;
    for (int i = first; i < last; i++) {
        bool rsqrt = way != DIVISION && i > first && is_rsqrt(t, node, i - 1);
        if (way != DIVISION) function_pieces(g, node, i, out);
        if (way != FUNCTIONS && tok_is(t, i, "/") && !rsqrt)
            division_piece(g, node, first, last, i, out);
    }
}

unsigned math_ways(const Grammar *g, int node) {
    unsigned fits = 0;
    for (int way = 0; way <= BOTH; way++) {
        Pieces p = {0};
        math_pieces(g, node, way, &p);
        if (p.n) fits |= 1u << way;
        pieces_free(&p);
    }
    bool both = (fits & 1u << FUNCTIONS) && (fits & 1u << DIVISION);
    return both ? fits : fits & ~(1u << BOTH);
}
