/* block.c - code tokens -> nodes: functions, blocks, loops, statements, in preorder.
**
** No C++ grammar: at file level anything up to a ';' or a '{' is one item, and an item with a
** parameter list before its '{' is a function. In a function the keywords of statements give the
** shape. What fits no form becomes a statement that stays fixed. Brackets are matched beforehand,
** so that no form can run past its block.
*/
#include "source/tree.h"

#include "source/reader.h"

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
static int behind(const Tree *t, int i) {
    return t->match[i] >= 0 ? t->match[i] + 1 : i + 1;
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

static bool holds(const Tree *t, int first, int last, const char *text) {
    for (int i = first; i < last; i++)
        if (tok_is(t, i, text)) return true;
    return false;
}

/* Declares the name that a head tests, which a value follows: `if (int z = n)`. Is there one? */
static bool declare_head(Tree *t, int node) {
    int first = t->node[node].head + 1, last = t->node[node].head_end - 1;
    bool declares = (holds(t, first, last, "=") || holds(t, first, last, "{")) &&
                    tree_is_declaration(t, first, last);
    if (declares) tree_declare(t, first, last, node);
    return declares;
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
    if (declare_head(t, node) || holds(t, paren + 1, head_end, ";"))
        fixed = "it holds a declaration";
    t->node[node].fixed = fixed;
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
    if (declare_head(t, node)) t->node[node].fixed = "it holds a declaration";
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

static int parse_for(Parser *p, int at, int parent) {
    Tree *t = p->t;
    if (!tok_is(t, at + 1, "(")) return parse_odd(p, at, parent);
    int node = open_node(p, NODE_FOR, parent, at);
    set_head(t, node, at + 1);
    Node *n = &t->node[node];
    int head_end = n->head_end, close = head_end - 1;
    Reader r = tree_reader(t, close);
    bool counts = for_parts(&r, at + 1, close, &n->semi1, &n->semi2);
    int first_end = counts ? n->semi1 : range_colon(&r, at + 1, close);
    if (first_end < close) tree_declare(t, at + 2, first_end, node);
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
    int after = tok_is(t, at + 1, "(") ? behind(t, at + 1) : at + 1;
    return tok_is(t, after, ";") ? after + 1 : after;
}

/* Where the simple statement at `at` ends: after its ';', or before what cannot belong to it. */
static int statement_end(const Tree *t, int at) {
    Reader r = tree_reader(t, t->n_tok - 1); /* decltype(n) z = 0; is no macro's call */
    bool call = is_name(t, at) && tok_is(t, at + 1, "(") && !is_declaration(&r, at);
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
    Reader r = tree_reader(t, t->n_tok - 1);
    int label = past_label(&r, at, r.stop);
    braceless = braceless || p->headed;
    p->headed = false;
    if (label > at) return parse_label(p, at, label, parent);
    if (tok_is(t, at, "[") && tok_is(t, at + 1, "[")) /* an attribute */
        return parse_statement(p, behind(t, at), parent, braceless);
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

static int parse_function(Parser *p, int first, int params, int brace, int parent) {
    Tree *t = p->t;
    Reader r = tree_reader(t, brace);
    int node = open_node(p, NODE_FUNCTION, parent, first), name = name_of(&r, first, params);
    set_head(t, node, params);
    if (name >= 0) {
        t->node[node].name = t->tok[name].name;
        tree_declare_name(t, DECL_FUNCTION, name, parent);
    }
    if (tok_is(t, first, "template") && tok_is(t, first + 1, "<"))
        tree_declare_params(t, first + 1, template_end(&r, first + 1, brace), node);
    tree_declare_params(t, params, t->match[params], node);
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

/* The rest of an item after a '}' that did not end it: declarators and their ';'. */
static int past_semicolon(const Tree *t, int i, int to) {
    while (i < to && !tok_is(t, i, ";")) i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    return i < to ? i + 1 : to;
}

static int parse_class(Parser *p, int first, int key, int brace, int parent) {
    Tree *t = p->t;
    Reader r = tree_reader(t, brace);
    int name = past_attributes(&r, key + 1);
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
    Reader r = tree_reader(t, to);
    int head = past_heads(&r, first, brace), word = tok_is(t, first, "inline") ? first + 1 : first;
    if (tok_is(t, word, "namespace")) {
        int name = is_name(t, word + 1) ? word + 1 : -1;
        if (name >= 0) tree_declare_name(t, DECL_NAMESPACE, name, parent);
        return parse_inside(p, NODE_NAMESPACE, first, name, brace, parent);
    }
    if (tok_is(t, first, "extern") && t->tok[first + 1].kind == TOK_STRING && brace == first + 2)
        return parse_inside(p, NODE_NAMESPACE, first, -1, brace, parent);
    int params = params_of(&r, first, brace);
    int body = params >= 0 ? body_of(&r, t->match[params], brace, to) : -1;
    if (body >= 0) return parse_function(p, first, params, body, parent);
    int key = holds(t, head, brace, "=") ? -1 : tag_of(&r, first, brace);
    if (key >= 0 && !tok_is(t, key, "enum")) return parse_class(p, first, key, brace, parent);
    int after = past_semicolon(t, t->match[brace] + 1, to);
    tree_declare(t, first, after, parent);
    return after;
}

static int parse_item(Parser *p, int at, int to, int parent) {
    Tree *t = p->t;
    Reader r = tree_reader(t, to);
    int i = past_heads(&r, at, to);
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
    if (!tree_read_words(t, err)) return false;
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
    if (t->source) source_free(t->source);
    for (int i = 0; i < t->n_place; i++) free(t->place[i].literal);
    for (int i = 0; i < t->n_macro; i++) {
        free(t->macro[i].param);
        free(t->macro[i].body.v);
    }
    void *all[] = {t->line_start,  t->tok,         t->match,      t->place,        t->dir,
                   t->macro,       t->node,        t->decl,       t->group_parent, t->group_fixed,
                   t->group_else,  t->last_decl,   t->older_decl, t->last_macro,   t->older_macro,
                   t->newest,      t->older_here,  t->first_here, t->next_here,    t->by_reference,
                   t->group_place, t->constructed, t->source};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    names_free(&t->names);
    *t = (Tree){0};
}
