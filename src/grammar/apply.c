/* apply.c - a genome applied: the text copied with other fillings in its holes.
**
** What a gene puts in (copies are of original text):
**   statement    deleted: nothing, `;` for a body without braces; inserted before: each on a line
**                of its own, a body without braces gets braces; so it does for a macro, which may
**                stand for several statements or end in an if
**   condition    deleted: (0), for2: 0
**   else         deleted: `else while (0)`, so that the branch never runs, whatever it holds, and a
**                following else still belongs to the same if
**   initialiser  deleted: 0 or {}; its copy where a statement stands: `a = x[i];`
**   slots        the pool's text; a pragma on a line of its own
**   math         nothing where it stands, but pieces of what is original behind it: math.c
*/
#include "grammar/inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGINAL = -1, DELETED = -2 };

/* What the genome leaves of each rule. */
typedef struct Edit {
    int filling;     /* ORIGINAL, DELETED, or the rule whose text is copied */
    int gene;        /* that did it, -1 */
    int first, last; /* genes that insert before it: a list through Writer.next; -1 */
} Edit;

typedef struct Writer {
    const Grammar *g;
    const Genome *genome;
    Edit *edit;
    int *next;            /* by gene: the next insertion before the same rule */
    int *set;             /* by configuration entry: the gene that sets it, -1 */
    bool guarded, clocked;
    Pieces pieces;        /* of approximate mathematics, in the order of the text */
    Patched *out;
    int cap_origin, cap_gene;
    int line_origin, line_gene; /* of the line being written; 0 before its first byte */
} Writer;

/* ---- writing with a record of where lines come from ---- */

static void end_line(Writer *w) {
    Patched *p = w->out;
    gi_grow(p->origin, p->n_lines, w->cap_origin);
    gi_grow(p->gene, p->n_lines, w->cap_gene);
    p->origin[p->n_lines] = w->line_origin;
    p->gene[p->n_lines++] = w->line_gene;
    w->line_origin = 0;
    w->line_gene = -1;
}

/* Writes text that comes from source line origin, or from there on when it `moves` with its lines;
** gene made it, -1 for none. Returns the line of its end. */
static int put(Writer *w, const char *text, size_t len, int origin, bool moves, int gene) {
    gi_buf_add(&w->out->source, text, len);
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        if (w->line_origin == 0) w->line_origin = origin;
        if (gene >= 0) w->line_gene = gene;
        if (newline == NULL) return origin;
        end_line(w);
        len -= (size_t)(newline + 1 - text);
        text = newline + 1;
        origin += moves;
    }
    return origin;
}

static void puts_gene(Writer *w, const char *text, int line, int gene) {
    put(w, text, strlen(text), line, false, gene);
}

/* ---- approximate mathematics: pieces of original text ---- */

/* Closing pieces come before others at the same byte, inner ones first; of opening ones the
** outer. */
static int piece_order(const void *a, const void *b) {
    const Piece *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    bool closes_x = x->start == x->end && x->start == x->to, closes_y = y->start == y->end &&
                                                                        y->start == y->to;
    if (closes_x != closes_y) return closes_x ? -1 : 1;
    if (closes_x) return (x->from < y->from) - (x->from > y->from);
    if ((x->start == x->end) != (y->start == y->end)) return x->start == x->end ? -1 : 1;
    return (x->to < y->to) - (x->to > y->to);
}

/* The hole that an expression is in, -1: it is between them. */
static int hole_of(const Grammar *g, const Piece *p) {
    for (int i = 0; i < g->n_hole; i++)
        if (g->hole[i].start <= p->from && p->to <= g->hole[i].end) return i;
    return -1;
}

static void find_pieces(Writer *w) {
    const Grammar *g = w->g;
    Pieces *p = &w->pieces;
    for (int i = 0; i < g->n_rule; i++) {
        int filling = w->edit[i].filling, way = 0, from = p->n;
        if (g->rule[i].type != RULE_MATH || filling < 0) continue;
        while (g->info[filling].ways != 1u << way) way++;
        math_pieces(g, g->info[i].node, way, p);
        for (; from < p->n; from++) {
            p->v[from].gene = w->edit[i].gene;
            p->v[from].hole = hole_of(g, &p->v[from]);
        }
    }
    if (p->n) qsort(p->v, (size_t)p->n, sizeof *p->v, piece_order);
}

static int newlines(const char *text, int from, int to) {
    int n = 0;
    for (; from < to; from++) n += text[from] == '\n';
    return n;
}

/* Bytes [from, to) of the source with their pieces; of a hole, -1: between them. */
static int put_source(Writer *w, int from, int to, int line, int hole) {
    const char *text = w->g->text;
    for (int i = 0; i < w->pieces.n; i++) {
        Piece *p = &w->pieces.v[i];
        if (p->hole != hole || p->gene < 0 || p->start < from || p->end > to) continue;
        line = put(w, text + from, (size_t)(p->start - from), line, true, -1);
        put(w, p->text, strlen(p->text), line, false, p->gene);
        line += newlines(text, p->start, p->end);
        from = p->end;
        p->gene = -1; /* it is there now */
    }
    return put(w, text + from, (size_t)(to - from), line, true, -1);
}

/* ---- guards (open loops) ---- */

/* Does text need parentheses as an operand of &&? */
static bool loose(const char *text) {
    int depth = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '(' || *p == '[') depth++;
        if (*p == ')' || *p == ']') depth--;
        bool compares = p > text && strchr("<>=!", p[-1]);
        if (depth == 0 && (*p == '?' || *p == ',' || (*p == '|' && p[1] == '|') ||
                           (*p == '=' && p[1] != '=' && !compares)))
            return true;
    }
    return false;
}

void guard_before(RuleType type, const char *text, gi_buf *out) {
    if (type == RULE_WHILE) gi_buf_adds(out, "(GILUA_OK()&&");
    else if (text[0] == '\0') gi_buf_adds(out, "GILUA_OK()");
    else gi_buf_adds(out, loose(text) ? "GILUA_OK()&&(" : "GILUA_OK()&&");
}

void guard_after(RuleType type, const char *text, gi_buf *out) {
    if (type == RULE_WHILE || loose(text)) gi_buf_adds(out, ")");
}

/* A thread asks only before its first loop whether another's ran too long: who reads what others
** write all the time waits for them in the virtual GPU's eyes, and then all blocks would take turns
** in the loop that does not end, each up to the limit. Who found that one did enters no loop more,
** and who ran too long says so once: the line is that of the loop that did not end, not of others
** behind it. */
void grammar_guard_prologue(const Grammar *g, bool checked, long limit, gi_buf *out) {
    if (!g->options.open_loops) return;
    if (!checked) {
        gi_buf_adds(out, "#define GILUA_LOOPS\n#define GILUA_OK() 1\n");
        return;
    }
    gi_buf_addf(out,
                "__device__ volatile int gilua_loop_overrun;\n"
                "__device__ long long gilua_loop_limit = %ldLL;\n"
                "#define GILUA_LOOPS long long gilua_loops = 0;\n"
                "#define GILUA_OK() (((++gilua_loops > 1 || gilua_loop_overrun == 0) && "
                "gilua_loops <= gilua_loop_limit) || "
                "(gilua_loops == gilua_loop_limit + 1 ? gilua_loop_overrun = __LINE__ : 0, "
                "gilua_loops = gilua_loop_limit + 1, false))\n",
                limit);
}

static void put_guard(Writer *w, const Rule *r, const char *text, bool before) {
    gi_buf guard = {0};
    bool loop = r->type == RULE_FOR2 || r->type == RULE_WHILE;
    if (!loop || !w->guarded || !w->g->options.open_loops) return;
    if (before) guard_before(r->type, text, &guard);
    else guard_after(r->type, text, &guard);
    if (guard.len) puts_gene(w, guard.data, r->line, -1);
    gi_buf_free(&guard);
}

/* ---- holes ---- */

/* The blanks that the line of byte `at` begins with. */
static void put_indent(Writer *w, int at, int line, int gene) {
    const char *src = w->g->text;
    int begin = at, end;
    while (begin > 0 && src[begin - 1] != '\n') begin--;
    for (end = begin; src[end] == ' ' || src[end] == '\t'; end++) continue;
    put(w, src + begin, (size_t)(end - begin), line, false, gene);
}

/* A copy of a rule's text; of an initialiser where a statement stands, the assignment. */
static void put_copy(Writer *w, int source, RuleType target, int line, int gene) {
    const Rule *r = &w->g->rule[source];
    bool assigns = r->type == RULE_INIT && target == RULE_STATEMENT;
    if (assigns) puts_gene(w, r->variable, line, gene), puts_gene(w, " = ", line, gene);
    puts_gene(w, r->text, line, gene);
    if (assigns) puts_gene(w, ";", line, gene);
}

static void put_insertions(Writer *w, const Hole *h, int line) {
    for (int i = w->edit[h->rule].first; i >= 0; i = w->next[i]) {
        put_copy(w, w->genome->genes[i].source, RULE_STATEMENT, line, i);
        puts_gene(w, "\n", line, i);
        put_indent(w, h->start, line, -1);
    }
}

static const char *deleted_text(const Rule *r, const Hole *h) {
    switch (r->type) {
    case RULE_STATEMENT: return h->braceless ? ";" : "";
    case RULE_IF:
    case RULE_WHILE: return "(0)";
    case RULE_FOR2: return "0";
    case RULE_ELSE: return "else while (0)";
    case RULE_INIT: return r->zero;
    default: return "";
    }
}

static void put_rule(Writer *w, const Hole *h, int line) {
    const Grammar *g = w->g;
    const Rule *r = &g->rule[h->rule];
    const Edit *e = &w->edit[h->rule];
    bool macro = e->filling >= 0 && g->info[e->filling].macro;
    bool braces = h->braceless && (e->first >= 0 || macro);
    bool original = e->filling == ORIGINAL;
    const char *text = original ? NULL
                       : e->filling == DELETED ? deleted_text(r, h) : g->rule[e->filling].text;
    if (braces) puts_gene(w, "{ ", line, w->edit[h->rule].gene);
    put_insertions(w, h, line);
    put_guard(w, r, original ? r->text : text, true);
    if (original) put_source(w, h->start, h->end, line, (int)(h - g->hole));
    else {
        bool pragma = r->type == RULE_PRAGMA && text[0] && !h->own_line;
        if (pragma) puts_gene(w, "\n", line, e->gene);
        if (e->filling >= 0) put_copy(w, e->filling, r->type, line, e->gene);
        else puts_gene(w, text, line, e->gene);
        if (text[0] == '\0') w->line_gene = e->gene;
    }
    put_guard(w, r, original ? r->text : text, false);
    if (braces) puts_gene(w, " }", line, -1);
}

static void put_config(Writer *w, const Hole *h, int config, int line) {
    const Grammar *g = w->g;
    int gene = w->set[config];
    if (gene < 0) {
        put(w, g->text + h->start, (size_t)(h->end - h->start), line, true, -1);
        return;
    }
    const char *value = w->genome->genes[gene].value;
    if (value == NULL) value = g->config[config].on_value;
    gi_buf text = {0};
    if (strcmp(value, "undef") == 0) gi_buf_addf(&text, "#undef %s", g->config[config].name);
    else gi_buf_addf(&text, "#define %s %s", g->config[config].name, value);
    puts_gene(w, text.data, line, gene);
    gi_buf_free(&text);
}

static int config_of(const Grammar *g, int rule) {
    for (int i = 0; i < g->options.n_config; i++)
        if (g->config_rule[i] == rule) return i;
    return -1;
}

/* A mark behind a brace, kept apart from what may follow on its line. */
static void put_mark(Writer *w, const char *mark, const Hole *h, int line) {
    puts_gene(w, mark, line, -1);
    if (!isspace((unsigned char)w->g->text[h->end])) puts_gene(w, " ", line, -1);
}

static void put_hole(Writer *w, const Hole *h, int line) {
    if (h->rule == HOLE_LOOPS) {
        if (w->guarded) put_mark(w, " GILUA_LOOPS", h, line);
    } else if (h->rule == HOLE_CLOCK) {
        if (w->clocked) put_mark(w, " GILUA_CLOCK", h, line);
    } else if (w->g->rule[h->rule].type == RULE_DEF)
        put_config(w, h, config_of(w->g, h->rule), line);
    else if (w->g->rule[h->rule].type != RULE_MATH) put_rule(w, h, line);
}

/* The source up to a byte, with its holes from *hole on. A hole that goes beyond is of the lines
** behind it: what is of these stays as it is. */
static void write_to(Writer *w, int *hole, int at, int to, int line) {
    const Grammar *g = w->g;
    for (; *hole < g->n_hole; ++*hole) {
        const Hole *h = &g->hole[*hole];
        if (h->start >= to && to < g->tree.len) break;
        if (h->start < at || h->end > to) continue;
        line = put_source(w, at, h->start, line, -1);
        put_hole(w, h, line);
        line += newlines(g->text, h->start, h->end);
        at = h->end;
    }
    put_source(w, at, to, line, -1);
}

/* Lines with another text. The next one is marked where it is empty. */
static void put_lines(Writer *w, const Claim *c) {
    const Gene *gene = &w->genome->genes[c->gene];
    const size_t len = strlen(gene->value);
    puts_gene(w, gene->value, gene->first, c->gene);
    if (len && gene->value[len - 1] != '\n') puts_gene(w, "\n", gene->first, c->gene);
    if (len == 0 && c->end < w->g->tree.len) w->line_gene = c->gene;
}

static void write_all(Writer *w) {
    const Grammar *g = w->g;
    Claim *claim = gi_alloc((size_t)w->genome->n * sizeof *claim);
    const int n = lines_claims(g, w->genome, claim);
    int at = 0, line = 1, hole = 0;
    for (int i = 0; i < n; i++) {
        write_to(w, &hole, at, claim[i].start, line);
        put_lines(w, &claim[i]);
        at = claim[i].end;
        line = w->genome->genes[claim[i].gene].last + 1;
    }
    write_to(w, &hole, at, g->tree.len, line);
    if (w->line_origin || w->line_gene >= 0) end_line(w); /* a last line without newline */
    free(claim);
}

/* ---- genes ---- */

static void take_gene(Writer *w, int i) {
    const Gene *gene = &w->genome->genes[i];
    w->next[i] = -1;
    if (gene->kind == GENE_LINES) {
        w->out->rewritten = true;
        w->guarded = false;
        return;
    }
    if (gene->kind == GENE_SET) {
        w->set[gene->config] = i;
        return;
    }
    Edit *e = &w->edit[gene->target];
    if (gene->kind == GENE_INSERT) {
        if (e->first < 0) e->first = i;
        else w->next[e->last] = i;
        e->last = i;
        return;
    }
    e->filling = gene->kind == GENE_DELETE ? DELETED : gene->source;
    e->gene = i;
}

static void take_params(const Writer *w) {
    const Grammar *g = w->g;
    Patched *p = w->out;
    int n = p->n_params = g->options.n_config;
    p->param_names = gi_alloc((size_t)n * sizeof *p->param_names);
    p->param_values = gi_alloc((size_t)n * sizeof *p->param_values);
    for (int i = 0; i < n; i++) {
        p->param_names[i] = gi_strdup(g->config[i].name);
        if (w->set[i] < 0) continue;
        const char *value = w->genome->genes[w->set[i]].value;
        p->param_values[i] = gi_strdup(value ? value : g->config[i].on_value);
    }
}

bool genome_apply_marked(const Grammar *g, const Genome *genome, unsigned marks, Patched *out,
                         gi_err *err) {
    bool guarded = marks & APPLY_GUARDS, clocked = marks & APPLY_CLOCK;
    if (clocked && !(clock_has_place(g, err) && lines_leave_clock(g, genome, err))) return false;
    for (int i = 0; i < genome->n; i++)
        if (!gene_check(g, &genome->genes[i], err)) return false;
    *out = (Patched){0};
    Writer w = {.g = g, .genome = genome, .guarded = guarded, .clocked = clocked,
                .out = out, .line_gene = -1};
    w.edit = gi_alloc((size_t)g->n_rule * sizeof *w.edit);
    w.next = gi_alloc((size_t)genome->n * sizeof(int));
    w.set = gi_alloc((size_t)g->options.n_config * sizeof(int));
    for (int i = 0; i < g->n_rule; i++) w.edit[i] = (Edit){ORIGINAL, -1, -1, -1};
    for (int i = 0; i < g->options.n_config; i++) w.set[i] = -1;
    for (int i = 0; i < genome->n; i++) {
        take_gene(&w, i);
        if (gene_frees_loop(g, &genome->genes[i])) out->unbounded = true;
    }
    gi_buf_adds(&out->source, "");
    find_pieces(&w);
    write_all(&w);
    take_params(&w);
    pieces_free(&w.pieces);
    free(w.edit);
    free(w.next);
    free(w.set);
    return true;
}

bool genome_apply(const Grammar *g, const Genome *genome, Patched *out, gi_err *err) {
    return genome_apply_marked(g, genome, APPLY_GUARDS, out, err);
}

bool genome_apply_unguarded(const Grammar *g, const Genome *genome, Patched *out, gi_err *err) {
    return genome_apply_marked(g, genome, 0, out, err);
}

void patched_free(Patched *p) {
    gi_buf_free(&p->source);
    free(p->origin);
    free(p->gene);
    for (int i = 0; i < p->n_params; i++) {
        free((char *)p->param_names[i]);
        free((char *)p->param_values[i]);
    }
    free((void *)p->param_names);
    free((void *)p->param_values);
    *p = (Patched){0};
}
