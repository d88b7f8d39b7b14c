/* block.c - code tokens -> nodes: functions, blocks, loops, statements, in preorder.
**
** No C++ grammar: at file level anything up to a ';' or a '{' is one item, and an item with a
** parameter list before its '{' is a function. In a function the keywords of statements give the
** shape. What fits no form becomes a statement that stays fixed. Brackets are matched beforehand,
** so that no form can run past its block.
*/
#include "source/tree.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 400 };

typedef struct Parser {
    Tree *t;
    gi_err *err;
    int depth;
    bool labelled; /* the next statement carries a label */
    bool headed;   /* it stands behind a macro, and may be its body */
} Parser;

/* ---- small questions ---- */

bool tok_is(const Tree *t, int i, const char *text) {
    return i >= 0 && i < t->n_tok && token_is(t->src, &t->tok[i], text);
}

bool tok_in(const Tree *t, int i, const char *const *words) {
    for (; *words; words++)
        if (tok_is(t, i, *words)) return true;
    return false;
}

int tok_line(const Tree *t, int i) {
    return line_of(t->line_start, t->n_lines, t->tok[i].start);
}

bool node_inside(const Tree *t, int inner, int outer) {
    return inner >= outer && inner < t->node[outer].end;
}

static bool is_name(const Tree *t, int i) {
    return i < t->n_tok && t->tok[i].kind == TOK_NAME;
}

/* The token after the bracket's partner. */
static int past(const Tree *t, int i) {
    return t->match[i] >= 0 ? t->match[i] + 1 : i + 1;
}

int past_angle(const Tree *t, Angles kind, int i, int last) {
    int after = i < t->n_tok ? t->past_angle[kind][i] : 0;
    return after && after <= last ? after : i;
}

/* After `< … >` of a template, or i when it is not one. */
static int past_angles(const Tree *t, int i, int to) {
    return past_angle(t, ANGLES_PARAMETERS, i, to);
}

/* ---- brackets ---- */

static bool bracket_error(Parser *p, int open, int close) {
    Tree *t = p->t;
    char a = open >= 0 ? t->src[t->tok[open].start] : 0;
    if (close >= t->n_tok - 1)
        return gi_fail(p->err, "format", "line %d: this '%c' is never closed", tok_line(t, open),
                       a);
    char b = t->src[t->tok[close].start];
    if (open < 0)
        return gi_fail(p->err, "format", "line %d: this '%c' closes nothing", tok_line(t, close),
                       b);
    return gi_fail(p->err, "format", "line %d: this '%c' closes the '%c' of line %d",
                   tok_line(t, close), b, a, tok_line(t, open));
}

static bool match_brackets(Parser *p) {
    Tree *t = p->t;
    t->match = gi_alloc((size_t)t->n_tok * sizeof(int));
    int *stack = gi_alloc((size_t)t->n_tok * sizeof(int)), n = 0;
    bool fine = true;
    for (int i = 0; i < t->n_tok && fine; i++) {
        t->match[i] = -1;
        if (t->tok[i].kind != TOK_PUNCT) continue;
        char c = t->src[t->tok[i].start];
        if (c == '(' || c == '{' || c == '[') stack[n++] = i;
        if (c != ')' && c != '}' && c != ']') continue;
        char open = n ? t->src[t->tok[stack[n - 1]].start] : 0;
        fine = open == (c == ')' ? '(' : c == '}' ? '{' : '[');
        if (!fine) bracket_error(p, n ? stack[n - 1] : -1, i);
        else t->match[i] = stack[--n], t->match[t->match[i]] = i;
    }
    if (fine && n) fine = bracket_error(p, stack[n - 1], t->n_tok - 1);
    free(stack);
    return fine;
}

/* ---- angle brackets ---- */

/* Tokens '<' that may still be closed. Those before `base` stand outside the brackets around. */
typedef struct AngleStack {
    int *open, n;
    int *bases, n_bases, base;
} AngleStack;

/* Ends up to n of the open '<' at token i. */
static void close_angles(AngleStack *s, int n, int i, int *past_angle_of) {
    for (; n > 0 && s->n > s->base; n--) past_angle_of[s->open[--s->n]] = i + 1;
}

/* Can there be no '>' behind token i for a '<' before it? */
static bool ends_angles(const Tree *t, Angles kind, int i) {
    static const char *const of_arguments[] = {";", "&&", "||", "=", NULL};
    static const char *const of_parameters[] = {";", "{", "}", NULL};
    return tok_in(t, i, kind == ANGLES_ARGUMENTS ? of_arguments : of_parameters);
}

static void match_angle(const Tree *t, Angles kind, int i, AngleStack *s) {
    int length = t->tok[i].end - t->tok[i].start;
    char c = t->src[t->tok[i].start];
    if (ends_angles(t, kind, i)) s->n = s->base;
    if (t->match[i] > i) {
        s->bases[s->n_bases++] = s->base;
        s->base = s->n;
    } else if (t->match[i] >= 0) {
        s->n = s->base;
        s->base = s->bases[--s->n_bases];
    } else if (c == '<' && length == 1) s->open[s->n++] = i;
    else if (c == '>' && t->src[t->tok[i].end - 1] == '>') close_angles(s, length, i,
                                                                       t->past_angle[kind]);
}

/* A `<` within brackets is closed within them. */
static void match_angles(Tree *t, Angles kind) {
    size_t size = ((size_t)t->n_tok + 1) * sizeof(int);
    AngleStack s = {.open = gi_alloc(size), .bases = gi_alloc(size)};
    t->past_angle[kind] = gi_alloc(size);
    for (int i = 0; i < t->n_tok; i++)
        if (t->tok[i].kind == TOK_PUNCT) match_angle(t, kind, i, &s);
    free(s.open);
    free(s.bases);
}

/* ---- nodes ---- */

static int open_node(Parser *p, NodeKind kind, int parent, int first) {
    Tree *t = p->t;
    gi_grow(t->node, t->n_node, t->cap_node);
    Node *n = &t->node[t->n_node];
    *n = (Node){.kind = kind, .parent = parent, .first = first, .head = -1, .head_end = -1,
                .semi1 = -1, .semi2 = -1, .else_at = -1, .function = -1, .name = -1};
    if (parent >= 0) n->function = t->node[parent].function;
    if (kind == NODE_FUNCTION) n->function = t->n_node;
    return t->n_node++;
}

static int close_node(Parser *p, int node, int last) {
    p->t->node[node].last = last;
    p->t->node[node].end = p->t->n_node;
    return last;
}

/* Fails where blocks are nested too deeply, or reading is interrupted. */
static bool must_end(Parser *p, int at) {
    if (source_stopped(p->err)) return true;
    return p->depth > DEPTH_MAX &&
           !gi_fail(p->err, "format", "line %d: blocks are nested too deeply (more than %d)",
                    tok_line(p->t, at), DEPTH_MAX);
}

/* Every parse_… takes a token and returns the token after, -1 on failure. */
static int parse_statement(Parser *p, int at, int parent, bool braceless);

static int parse_block(Parser *p, int at, int parent) {
    int node = open_node(p, NODE_BLOCK, parent, at), close = p->t->match[at];
    for (int i = at + 1; i < close;)
        if ((i = parse_statement(p, i, node, false)) < 0) return -1;
    return close_node(p, node, close + 1);
}

/* A body whose #if group is not that of its head may not be the body at all in some build. */
static void check_body_group(Tree *t, int head, int body) {
    int inner = t->tok[body].group;
    if (!tree_group_inside(t, t->tok[head].group, inner)) t->group_fixed[inner] = true;
}

static int parse_body(Parser *p, int at, int parent) {
    check_body_group(p->t, at > 0 ? at - 1 : 0, at);
    return parse_statement(p, at, parent, true);
}

/* The header's parenthesis at `at`; false when there is none. */
static bool set_head(Tree *t, int node, int at) {
    if (!tok_is(t, at, "(")) return false;
    t->node[node].head = at;
    t->node[node].head_end = t->match[at] + 1;
    return true;
}

/* A keyword that nothing known follows: one fixed token. */
static int parse_odd(Parser *p, int at, int parent) {
    int node = open_node(p, NODE_STATEMENT, parent, at);
    p->t->node[node].fixed = "it fits no form of statement";
    return close_node(p, node, at + 1);
}

/* Is the node in a function or class that begins with `template`? */
static bool in_template(const Tree *t, int node) {
    for (; node >= 0; node = t->node[node].parent)
        if (tok_is(t, t->node[node].first, "template")) return true;
    return false;
}

/* In a template the branch that an `if constexpr` leaves out may be one that does not compile. */
static int parse_if(Parser *p, int at, int parent) {
    Tree *t = p->t;
    int paren = at + 1;
    const char *fixed = NULL;
    const bool constant = tok_is(t, paren, "constexpr");
    if (constant) paren++;
    if (constant && in_template(t, parent)) fixed = "it decides what of a template is compiled";
    if (!tok_is(t, paren, "(")) return parse_odd(p, at, parent);
    int node = open_node(p, NODE_IF, parent, at);
    set_head(t, node, paren);
    t->node[node].constant = constant;
    int head_end = t->node[node].head_end;
    for (int i = paren + 1; i < head_end; i++)
        if (tok_is(t, i, ";")) fixed = "it holds a declaration";
    if (tree_is_declaration(t, paren + 1, head_end - 1)) fixed = "it holds a declaration";
    t->node[node].fixed = fixed;
    tree_declare(t, paren + 1, head_end - 1, node);
    int i = parse_body(p, head_end, node);
    if (i >= 0 && tok_is(t, i, "else")) {
        t->node[node].else_at = i;
        i = parse_body(p, i + 1, node);
    }
    return i < 0 ? i : close_node(p, node, i);
}

static int parse_while(Parser *p, int at, int parent, NodeKind kind) {
    Tree *t = p->t;
    if (!tok_is(t, at + 1, "(")) return parse_odd(p, at, parent);
    int node = open_node(p, kind, parent, at);
    set_head(t, node, at + 1);
    int head_end = t->node[node].head_end;
    if (tree_is_declaration(t, at + 2, head_end - 1))
        t->node[node].fixed = "it holds a declaration";
    tree_declare(t, at + 2, head_end - 1, node);
    int i = parse_body(p, head_end, node);
    return i < 0 ? i : close_node(p, node, i);
}

static int parse_do(Parser *p, int at, int parent) {
    int node = open_node(p, NODE_DO, parent, at);
    int i = parse_body(p, at + 1, node);
    if (i < 0) return i;
    if (tok_is(p->t, i, "while") && set_head(p->t, node, i + 1)) {
        i = p->t->node[node].head_end;
        if (tok_is(p->t, i, ";")) i++;
    } else p->t->node[node].fixed = "it fits no form of loop";
    return close_node(p, node, i);
}

/* Finds the two ';' of a loop header. */
static void for_parts(Tree *t, Node *n) {
    for (int i = n->head + 1; i < n->head_end - 1;) {
        if (tok_is(t, i, ";") && n->semi1 < 0) n->semi1 = i;
        else if (tok_is(t, i, ";") && n->semi2 < 0) n->semi2 = i;
        i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    }
    if (n->semi2 < 0) n->semi1 = -1;
}

static void declare_range(Tree *t, int node, int first, int last) {
    for (int i = first; i < last; i++)
        if (tok_is(t, i, ":")) {
            tree_declare(t, first, i, node);
            return;
        }
}

static int parse_for(Parser *p, int at, int parent) {
    Tree *t = p->t;
    if (!tok_is(t, at + 1, "(")) return parse_odd(p, at, parent);
    int node = open_node(p, NODE_FOR, parent, at);
    set_head(t, node, at + 1);
    for_parts(t, &t->node[node]);
    int semi1 = t->node[node].semi1, head_end = t->node[node].head_end;
    if (semi1 >= 0) tree_declare(t, at + 2, semi1, node);
    else declare_range(t, node, at + 2, head_end - 1);
    int i = parse_body(p, head_end, node);
    return i < 0 ? i : close_node(p, node, i);
}

/* ---- simple statements ---- */

static const char *const control_words[] = {"if",     "for",      "while", "do", "switch", "else",
                                            "return", "continue", "break", "goto", NULL};

/* MACRO(args) at `at` with a block after it, a loop for all we know. */
static int parse_unknown(Parser *p, int at, int parent) {
    Tree *t = p->t;
    int node = open_node(p, NODE_UNKNOWN, parent, at);
    set_head(t, node, at + 1);
    t->node[node].fixed = "it is headed by a macro";
    for (int i = at + 2; i < t->match[at + 1]; i++)
        if (is_name(t, i) && (tok_is(t, i - 1, ",") || tok_is(t, i - 1, "(")) &&
            (tok_is(t, i + 1, ",") || tok_is(t, i + 1, ")")))
            tree_declare_name(t, DECL_VARIABLE, i, node);
    int i = parse_block(p, t->match[at + 1] + 1, node);
    return i < 0 ? i : close_node(p, node, i);
}

/* After a macro at `at` that needs no ';' behind it, and its ';' where it has one; else `at`. */
static int past_ended_macro(const Tree *t, int at) {
    if (!is_name(t, at) || tree_macro_form(t, t->tok[at].name) != MACRO_ENDED) return at;
    int after = tok_is(t, at + 1, "(") ? past(t, at + 1) : at + 1;
    return tok_is(t, after, ";") ? after + 1 : after;
}

/* Where the simple statement at `at` ends: after its ';', or before what cannot belong to it. */
static int statement_end(const Tree *t, int at) {
    bool call = is_name(t, at) && tok_is(t, at + 1, "(");
    if (past_ended_macro(t, at) > at) return past_ended_macro(t, at);
    for (int i = at; i < t->n_tok - 1;) {
        if (tok_is(t, i, ";")) return i + 1;
        if (tok_is(t, i, "}")) return i;
        if (call && i == t->match[at + 1] + 1 && i > at + 1 &&
            (is_name(t, i) || tok_is(t, i, "{")))
            return i;
        if (i > at && tok_in(t, i, control_words)) return i;
        i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    }
    return t->n_tok - 1;
}

static bool holds(const Tree *t, int first, int last, const char *text) {
    for (int i = first; i < last; i++)
        if (tok_is(t, i, text)) return true;
    return false;
}

static bool partial_between(const Tree *t, int first, int last) {
    for (int i = first; i < last; i++)
        if (t->tok[i].partial) return true;
    return false;
}

static bool asm_with_label(const Tree *t, int first, int last) {
    if (!holds(t, first, last, "asm") && !holds(t, first, last, "__asm__")) return false;
    for (int i = first; i < last; i++)
        if (t->tok[i].kind == TOK_STRING &&
            memchr(t->src + t->tok[i].start, ':', (size_t)(t->tok[i].end - t->tok[i].start)))
            return true;
    return false;
}

/* Why the simple statement [first, last) may not be a rule; NULL when it may. */
static const char *statement_fixed(Parser *p, int first, int last, int parent) {
    const Tree *t = p->t;
    if (!tok_is(t, last - 1, ";") && past_ended_macro(t, first) != last)
        return "it has no ';' of its own";
    if (last - first == 1) return "it is empty";
    if (p->labelled) return "it carries a label";
    if (t->node[parent].kind == NODE_BLOCK && t->node[parent].parent >= 0 &&
        t->node[t->node[parent].parent].kind == NODE_SWITCH)
        return "it stands in a switch";
    if (t->node[parent].kind == NODE_SWITCH) return "it stands in a switch";
    if (tok_is(t, first, "goto")) return "it is a goto";
    if (tok_is(t, first, "_Pragma")) return "it is a pragma";
    if (holds(t, first, last, "{")) return "it holds a block";
    if (asm_with_label(t, first, last)) return "it holds a label";
    if (tree_directive_between(t, t->tok[first].start, t->tok[last - 1].end))
        return "it holds a directive";
    return NULL;
}

static int parse_simple(Parser *p, int at, int parent, bool braceless) {
    Tree *t = p->t;
    int last = statement_end(t, at);
    if (last <= at) last = at + 1;
    bool ended = past_ended_macro(t, at) == last;
    if (last == at + 1 && !tok_is(t, at, ";") && !ended) return parse_odd(p, at, parent);
    if (tok_is(t, last, "{") && !tok_is(t, last - 1, ";") && !ended)
        return parse_unknown(p, at, parent);
    bool declares = tree_is_declaration(t, at, last);
    int node = open_node(p, declares ? NODE_DECLARATION : NODE_STATEMENT, parent, at);
    t->node[node].braceless = braceless;
    t->node[node].fixed = declares ? "it is a declaration" : statement_fixed(p, at, last, parent);
    if (declares) tree_declare(t, at, last, parent);
    p->labelled = false;
    p->headed = !tok_is(t, last - 1, ";") && !ended;
    return close_node(p, node, last);
}

/* `case x:`, `default:` or `name:`; returns the token after, or `at` when it is none of them. */
static int past_label(const Tree *t, int at) {
    if (is_name(t, at) && tok_is(t, at + 1, ":")) return at + 2;
    if (!tok_is(t, at, "case")) return at;
    int questions = 0;
    for (int i = at + 1; i < t->n_tok - 1; i = t->match[i] > i ? t->match[i] + 1 : i + 1) {
        if (tok_is(t, i, ";") || tok_is(t, i, "{") || tok_is(t, i, "}")) return at;
        if (tok_is(t, i, "?")) questions++;
        if (tok_is(t, i, ":") && questions-- == 0) return i + 1;
    }
    return at;
}

static int parse_label(Parser *p, int at, int after, int parent) {
    int node = open_node(p, NODE_STATEMENT, parent, at);
    p->t->node[node].fixed = "it is a label";
    p->labelled = true;
    close_node(p, node, after);
    /* `case 1:` may be the whole rest of a block */
    return tok_is(p->t, after, "}") ? after : parse_statement(p, after, parent, false);
}

static int parse_shape(Parser *p, int at, int parent, bool braceless) {
    Tree *t = p->t;
    int label = past_label(t, at);
    braceless = braceless || p->headed;
    p->headed = false;
    if (label > at) return parse_label(p, at, label, parent);
    if (tok_is(t, at, "[") && tok_is(t, at + 1, "[")) /* an attribute */
        return parse_statement(p, past(t, at), parent, braceless);
    if (tok_is(t, at, "{")) {
        p->labelled = false;
        return parse_block(p, at, parent);
    }
    if (tok_is(t, at, "if")) return parse_if(p, at, parent);
    if (tok_is(t, at, "for")) return parse_for(p, at, parent);
    if (tok_is(t, at, "while")) return parse_while(p, at, parent, NODE_WHILE);
    if (tok_is(t, at, "switch")) return parse_while(p, at, parent, NODE_SWITCH);
    if (tok_is(t, at, "do")) return parse_do(p, at, parent);
    if (tok_is(t, at, "else")) return parse_odd(p, at, parent);
    if (tok_is(t, at, "}")) return at; /* the statement is missing; the brace is the block's */
    return parse_simple(p, at, parent, braceless);
}

static int parse_statement(Parser *p, int at, int parent, bool braceless) {
    if (must_end(p, at)) return -1;
    p->depth++;
    int after = at < p->t->n_tok - 1 ? parse_shape(p, at, parent, braceless) : at;
    p->depth--;
    return after;
}

/* ---- file level ---- */

static int parse_items(Parser *p, int at, int to, int parent);

static const char *const attribute_words[] = {
    "__launch_bounds__", "__attribute__", "__align__",         "alignas", "decltype", "__declspec",
    "noexcept",          "explicit",      "__cluster_dims__", "throw",   "requires", NULL};
static const char *const after_params[] = {"{",        "const", "noexcept", "override", "final",
                                           "volatile", ":",     "->",       "&",        "&&",
                                           "[",        "try",   "requires", NULL};

/* After `template <…>`, whose parameters may have defaults; `at` where there is none. */
static int past_template(const Tree *t, int at, int to) {
    if (!tok_is(t, at, "template") || !tok_is(t, at + 1, "<")) return at;
    int after = past_angles(t, at + 1, to);
    return after > at + 1 ? after : at;
}

/* The name before the '(' of a function's parameters; -1 where there is none. That of an explicit
** specialisation, `template <> … f<3>(…)`, stands before its arguments. */
static int name_before(const Tree *t, int first, int params) {
    int depth = 0, i = params - 1;
    if (is_name(t, i)) return i;
    if (!tok_is(t, first, "template") || !tok_is(t, first + 2, ">")) return -1;
    for (; i > first + 2; i = t->match[i] >= 0 && t->match[i] < i ? t->match[i] - 1 : i - 1) {
        if (tok_is(t, i, ">")) depth++;
        else if (tok_is(t, i, ">>")) depth += 2;
        else if (tok_is(t, i, ">>>")) depth += 3;
        else if (tok_is(t, i, "<") && --depth == 0) return is_name(t, i - 1) ? i - 1 : -1;
        if (depth <= 0) return -1;
    }
    return -1;
}

/* The '(' of the parameters of an item that has its body's '{' at brace; -1: no function. */
static int find_params(const Tree *t, int first, int brace) {
    int head = past_template(t, first, brace);
    for (int i = head + 1; i < brace; i = t->match[i] > i ? t->match[i] + 1 : i + 1) {
        if (tok_is(t, i, "=")) return -1;
        if (!tok_is(t, i, "(") || t->match[i] > brace) continue;
        bool operator_name = holds(t, i > first + 3 ? i - 3 : first, i, "operator");
        if (operator_name && tok_is(t, i + 2, "(")) continue; /* operator()(…) */
        if (name_before(t, first, i) < 0 && !operator_name) continue;
        if (tok_in(t, i - 1, attribute_words)) continue;
        if (tok_in(t, t->match[i] + 1, after_params)) return i;
    }
    return -1;
}

/* After the initialisers `: a(1), b{2}` of a constructor: its body's '{'. */
static int past_initialisers(const Tree *t, int i) {
    for (; i < t->n_tok - 1; i++) {
        if (tok_is(t, i, ";") || tok_is(t, i, "}")) return i;
        if (tok_is(t, i, "{") && !is_name(t, i - 1) && !tok_is(t, i - 1, ">")) return i;
        if (tok_is(t, i, "(") || tok_is(t, i, "{")) i = t->match[i];
    }
    return i;
}

static int parse_function(Parser *p, int first, int params, int brace, int parent) {
    Tree *t = p->t;
    int node = open_node(p, NODE_FUNCTION, parent, first);
    set_head(t, node, params);
    int name = name_before(t, first, params);
    if (name >= 0) {
        t->node[node].name = t->tok[name].name;
        tree_declare_name(t, DECL_FUNCTION, name, parent);
    }
    if (tok_is(t, first, "template") && tok_is(t, first + 1, "<"))
        tree_declare_params(t, first + 1, past_angles(t, first + 1, brace) - 1, node);
    tree_declare_params(t, params, t->match[params], node);
    int after = t->match[params] + 1;
    if (tok_is(t, after, ":")) brace = past_initialisers(t, after);
    if (!tok_is(t, brace, "{")) return close_node(p, node, brace + 1);
    int end = parse_block(p, brace, node);
    return end < 0 ? end : close_node(p, node, end);
}

static int parse_inside(Parser *p, NodeKind kind, int first, int name, int brace, int parent) {
    Tree *t = p->t;
    int node = open_node(p, kind, parent, first);
    if (name >= 0) t->node[node].name = t->tok[name].name;
    if (parse_items(p, brace + 1, t->match[brace], node) < 0) return -1;
    return close_node(p, node, t->match[brace] + 1);
}

static const char *const class_words[] = {"struct", "class", "union", NULL};

/* The class keyword of an item that defines one: before brace, with no '(' of parameters. */
static int class_at(const Tree *t, int first, int brace) {
    for (int i = first; i < brace; i++) {
        if (tok_is(t, i, "<")) i = past_angles(t, i, brace) - (past_angles(t, i, brace) > i);
        if (tok_in(t, i, class_words)) return i;
    }
    return -1;
}

/* The rest of an item after a '}' that did not end it: declarators and their ';'. */
static int past_semicolon(const Tree *t, int i, int to) {
    while (i < to && !tok_is(t, i, ";")) i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    return i < to ? i + 1 : to;
}

static int parse_class(Parser *p, int first, int key, int brace, int parent) {
    Tree *t = p->t;
    int name = key + 1;
    while (name < brace && (tok_in(t, name, attribute_words) || tok_is(t, name, "[")))
        name = tok_is(t, name, "[") ? past(t, name) : tok_is(t, name + 1, "(") ? past(t, name + 1)
                                                                              : name + 1;
    if (!is_name(t, name)) name = -1;
    int end = parse_inside(p, NODE_CLASS, first, name, brace, parent);
    if (end < 0) return end;
    if (name >= 0) tree_declare_name(t, DECL_TYPE, name, parent);
    int after = past_semicolon(t, end, t->n_tok - 1);
    DeclKind kind = tok_is(t, first, "typedef") ? DECL_TYPE : DECL_VARIABLE;
    for (int i = end; i + 1 < after; i++)
        if (is_name(t, i)) tree_declare_name(t, kind, i, parent);
    return after;
}

/* An item whose first '{' outside parentheses is at brace. */
static int parse_braced(Parser *p, int first, int brace, int to, int parent) {
    Tree *t = p->t;
    int word = tok_is(t, first, "inline") ? first + 1 : first;
    if (tok_is(t, word, "namespace")) {
        int name = is_name(t, word + 1) ? word + 1 : -1;
        if (name >= 0) tree_declare_name(t, DECL_NAMESPACE, name, parent);
        return parse_inside(p, NODE_NAMESPACE, first, name, brace, parent);
    }
    if (tok_is(t, first, "extern") && t->tok[first + 1].kind == TOK_STRING && brace == first + 2)
        return parse_inside(p, NODE_NAMESPACE, first, -1, brace, parent);
    int params = find_params(t, first, brace);
    if (params >= 0) return parse_function(p, first, params, brace, parent);
    bool is_value = holds(t, past_template(t, first, brace), brace, "=");
    int key = is_value ? -1 : class_at(t, first, brace);
    if (key >= 0) return parse_class(p, first, key, brace, parent);
    int after = past_semicolon(t, t->match[brace] + 1, to);
    tree_declare(t, first, after, parent);
    return after;
}

static int parse_item(Parser *p, int at, int to, int parent) {
    Tree *t = p->t;
    int i = past_template(t, at, to);
    for (; i < to && !tok_is(t, i, ";"); i = t->match[i] > i ? t->match[i] + 1 : i + 1)
        if (tok_is(t, i, "{")) return parse_braced(p, at, i, to, parent);
    i = i < to ? i + 1 : to;
    tree_declare(t, at, i, parent);
    return i;
}

static int parse_items(Parser *p, int at, int to, int parent) {
    while (at >= 0 && at < to) {
        if (must_end(p, at)) return -1;
        bool access = p->t->node[parent].kind == NODE_CLASS && tok_is(p->t, at + 1, ":");
        p->depth++;
        at = access ? at + 2 : parse_item(p, at, to, parent);
        p->depth--;
    }
    return at;
}

bool tree_blocks(Tree *t, gi_err *err) {
    Parser p = {.t = t, .err = err};
    if (!match_brackets(&p)) return false;
    match_angles(t, ANGLES_ARGUMENTS);
    match_angles(t, ANGLES_PARAMETERS);
    int file = open_node(&p, NODE_FILE, -1, 0);
    if (parse_items(&p, 0, t->n_tok - 1, file) < 0) return false;
    close_node(&p, file, t->n_tok);
    for (int i = 0; i < t->n_node; i++) {
        Node *n = &t->node[i];
        bool simple = n->kind == NODE_STATEMENT || n->kind == NODE_DECLARATION;
        if (simple && n->fixed == NULL && partial_between(t, n->first, n->last))
            n->fixed = "it stands in a branch of an #if that does not stand alone";
    }
    return true;
}

void tree_free(Tree *t) {
    for (int i = 0; i < t->n_place; i++) free(t->place[i].literal);
    for (int i = 0; i < t->n_macro; i++) {
        free(t->macro[i].param);
        free(t->macro[i].body.v);
    }
    void *all[] = {t->line_start, t->tok,       t->match,      t->place,       t->dir,
                   t->macro,      t->node,      t->decl,       t->group_parent, t->group_fixed,
                   t->group_else, t->last_decl, t->older_decl, t->last_macro,  t->older_macro,
                   t->newest,     t->older_here, t->first_here, t->next_here,  t->by_reference,
                   t->group_place, t->past_angle[0], t->past_angle[1], t->constructed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    names_free(&t->names);
    *t = (Tree){0};
}
