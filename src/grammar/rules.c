/* rules.c - from the tree to rules: what may change, where it stands, what it is called.
**
** Slots are collected in the order of the tree, sorted by position, and then every line of the file
** becomes a fixed rule followed by the rules whose first slot begins on it. Pools come last.
*/
#include "grammar/inside.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Slot {
    int start, end;
    RuleType type;
    int node, first, last;
    int line;               /* that names the rule; 0: the line of start */
    int key;                /* slots of one key (not 0) share a rule */
    bool braceless, own_line;
    const char *protected_why;
    int config;
    int decl; /* of an initialiser: its declaration, from 1 on */
    unsigned ways; /* RULE_MATH: which of the pool fit */
} Slot;

typedef struct Slots {
    Slot *v;
    int n, cap;
} Slots;

/* No rules: where a function counts its loops, and before that where a kernel has its clock. */
enum { GUARD_SLOT = RULE_TYPES, CLOCK_SLOT };

static void add_slot(Slots *l, Slot s) {
    gi_grow(l->v, l->n, l->cap);
    l->v[l->n++] = s;
}

/* ---- what must stay ---- */

bool tree_frozen(const Tree *t, int first, int last) {
    for (int i = first; i < last; i++)
        if (t->tok[i].partial || tree_group_fixed(t, t->tok[i].group)) return true;
    return last > first &&
           tree_directive_between(t, t->tok[first].start, t->tok[last - 1].end);
}

static bool has_block(const Tree *t, int first, int last) {
    for (int i = first; i < last; i++)
        if (tok_is(t, i, "{")) return true;
    return false;
}

/* Do the macros in [first, last) leave it what it looks like: an expression or, in a statement that
** is nothing but a macro, a whole one? Of two ways to jump legality could follow but one. */
static bool macros_fit(const Tree *t, RuleType type, int first, int last) {
    Uses u = {0};
    tree_uses(t, first, last, &u);
    bool call = type == RULE_STATEMENT && tree_is_macro_call(t, first, last);
    bool fit = call ? !u.piece_macro && u.breaks + u.continues + u.returns < 2 &&
                          tree_macro_form(t, t->tok[first].name) != MACRO_PIECE
                    : !u.statement_macro;
    uses_free(&u);
    return fit;
}

/* A slot that holds tokens [first, last), unless they must stay as they are. */
static void token_slot(const Tree *t, Slots *l, RuleType type, int node, int first, int last) {
    if (tree_frozen(t, first, last) || has_block(t, first, last) ||
        !macros_fit(t, type, first, last))
        return;
    add_slot(l, (Slot){.start = t->tok[first].start, .end = t->tok[last - 1].end, .type = type,
                       .node = node, .first = first, .last = last,
                       .braceless = t->node[node].braceless});
}

/* ---- loops ---- */

static bool is_unroll(const Tree *t, const Directive *d) {
    gi_buf text = {0};
    gi_buf_add(&text, t->src + d->start, (size_t)(d->end - d->start));
    bool found = strstr(text.data, "unroll") != NULL;
    gi_buf_free(&text);
    return found;
}

static int line_begin(const Tree *t, int at) {
    while (at > 0 && t->src[at - 1] != '\n') at--;
    return at;
}

static int line_after(const Tree *t, int at) {
    while (at < t->len && t->src[at] != '\n') at++;
    return at < t->len ? at + 1 : at;
}

static bool only_space(const Tree *t, int from, int to) {
    for (; from < to; from++)
        if (t->src[from] != ' ' && t->src[from] != '\t') return false;
    return true;
}

/* The first directive that token `at` or one behind it follows. */
static int first_directive(const Tree *t, int at) {
    int low = 0, high = t->n_dir;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->dir[middle].before < at) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void pragma_slot(const Grammar *g, Slots *l, int node) {
    const Tree *t = &g->tree;
    int at = t->node[node].first, unroll = -1, last = -1;
    if (!g->options.pragmas || tree_frozen(t, at, at + 1)) return;
    if (at > 0 && tok_is(t, at - 1, ")") && tok_is(t, t->match[at - 1] - 1, "_Pragma")) return;
    for (int i = first_directive(t, at); i < t->n_dir && t->dir[i].before == at; i++) {
        last = i;
        if (t->dir[i].kind == DIR_PRAGMA && is_unroll(t, &t->dir[i])) unroll = i;
    }
    Slot s = {.type = RULE_PRAGMA, .node = t->node[node].parent, .first = at, .last = at,
              .line = tok_line(t, at), .own_line = true};
    int begin = line_begin(t, t->tok[at].start);
    if (unroll >= 0 && unroll != last) return; /* an #if decides about it */
    if (unroll >= 0) {
        s.start = line_begin(t, t->dir[unroll].start);
        s.end = line_after(t, t->dir[unroll].end);
    } else {
        s.own_line = only_space(t, begin, t->tok[at].start);
        s.start = s.end = s.own_line ? begin : t->tok[at].start;
    }
    add_slot(l, s);
}

/* One part of a for header, tokens [first, last), perhaps empty. */
static void for_slot(const Tree *t, Slots *l, RuleType type, int node, int first, int last) {
    if (first < last) {
        token_slot(t, l, type, node, first, last);
        return;
    }
    if (tree_frozen(t, first, first + 1)) return;
    int at = t->tok[first].start;
    add_slot(l, (Slot){.start = at, .end = at, .type = type, .node = node, .first = first,
                       .last = first});
}

static void loop_slots(const Grammar *g, Slots *l, int node) {
    const Tree *t = &g->tree;
    const Node *n = &t->node[node];
    pragma_slot(g, l, node);
    if (!g->options.open_loops || n->head < 0 || n->fixed ||
        tree_frozen(t, n->head, n->head_end))
        return;
    if (n->kind != NODE_FOR) {
        token_slot(t, l, RULE_WHILE, node, n->head, n->head_end);
        return;
    }
    if (n->semi1 < 0) return;
    if (t->first_here[node] < 0)
        for_slot(t, l, RULE_FOR1, node, n->head + 1, n->semi1);
    for_slot(t, l, RULE_FOR2, node, n->semi1 + 1, n->semi2);
    for_slot(t, l, RULE_FOR3, node, n->semi2 + 1, n->head_end - 1);
}

/* ---- kernel headers ---- */

/* End of token i and the blanks after it. */
static int past_blank(const Tree *t, int i) {
    int at = t->tok[i].end;
    while (at < t->len && (t->src[at] == ' ' || t->src[at] == '\t')) at++;
    return at;
}

/* The slot of a qualifier: where it stands among tokens [first, last), or empty before token at. */
static Slot qualifier_slot(const Tree *t, RuleType type, int node, int first, int last, int at,
                           const char *const *words) {
    for (int i = first; i < last; i++)
        if (tok_in(t, i, words))
            return (Slot){.start = t->tok[i].start, .end = past_blank(t, i), .type = type,
                          .node = node, .first = i, .last = i};
    return (Slot){.start = t->tok[at].start, .end = t->tok[at].start, .type = type, .node = node,
                  .first = at, .last = at};
}

static const char *const const_words[] = {"const", NULL};
static const char *const volatile_words[] = {"volatile", NULL};
static const char *const restrict_words[] = {"__restrict__", "__restrict", NULL};
static const char *const bounds_words[] = {"__launch_bounds__", NULL};

static bool points(const Tree *t, const Decl *d) {
    int i = d->at - 1;
    while (tok_is(t, i, "const") || tok_is(t, i, "volatile") || tok_in(t, i, restrict_words)) i--;
    return tok_is(t, i, "*") && i > d->first && !d->array;
}

/* Adds the names whose member functions a function calls: these may not suit a const object. */
static void find_called(const Tree *t, int function, NameSet *called) {
    for (int i = t->node[function].head_end; i < t->node[function].last; i++)
        if (t->tok[i].kind == TOK_NAME &&
            (tok_is(t, i + 1, "(") || (tok_is(t, i + 1, ".") && tok_is(t, i + 3, "("))))
            name_set_add(called, t->tok[i].name);
}

static void const_slot(const Tree *t, Slots *l, int function, const Decl *d, const NameSet *called,
                       const NameSet *changed) {
    if (d->reference || d->pointer || d->array || tree_frozen(t, d->first, d->last)) return;
    Slot s = qualifier_slot(t, RULE_OPTCONST, function, d->first, d->at, d->first, const_words);
    bool open = s.start == s.end;
    if (open && name_set_has(called, d->name))
        s.protected_why = "the function calls a member of the argument";
    else if (open && name_set_has(changed, d->name))
        s.protected_why = "the function changes the argument";
    add_slot(l, s);
}

static void const_slots(const Tree *t, Slots *l, int function) {
    Uses body = {0}, calls = {0};
    find_called(t, function, &calls.used);
    tree_uses(t, t->node[function].head_end, t->node[function].last, &body);
    for (int i = t->first_here[function]; i >= 0; i = t->next_here[i])
        if (t->decl[i].kind == DECL_PARAMETER && t->decl[i].at > t->node[function].head)
            const_slot(t, l, function, &t->decl[i], &calls.used, &body.assigned);
    uses_free(&body);
    uses_free(&calls);
}

/* Where only some pointers are marked, the rule is about the others. */
static void restrict_slots(const Tree *t, Slots *l, int function) {
    int from = l->n, empty = 0;
    for (int i = t->first_here[function]; i >= 0; i = t->next_here[i]) {
        const Decl *d = &t->decl[i];
        if (d->kind != DECL_PARAMETER || !points(t, d)) continue;
        if (tree_frozen(t, d->first, d->last)) continue;
        Slot s = qualifier_slot(t, RULE_OPTRESTRICT, function, d->first, d->at, d->at,
                                restrict_words);
        s.key = function + 1;
        s.line = tok_line(t, t->node[function].head - 1);
        empty += s.start == s.end;
        add_slot(l, s);
    }
    int kept = from;
    for (int i = from; i < l->n; i++)
        if (empty == 0 || l->v[i].start == l->v[i].end) l->v[kept++] = l->v[i];
    l->n = kept;
}

static void bounds_slot(const Grammar *g, Slots *l, int function) {
    const Tree *t = &g->tree;
    const Node *n = &t->node[function];
    Slot s = qualifier_slot(t, RULE_LAUNCHBOUNDS, function, n->first, n->head, n->head - 1,
                            bounds_words);
    if (s.start < s.end) {
        if (!tok_is(t, s.first + 1, "(")) return;
        s.end = past_blank(t, t->match[s.first + 1]);
    } else if (g->options.launch_bounds_threads == NULL) return;
    if (tree_frozen(t, n->head - 1, n->head)) return;
    add_slot(l, s);
}

static void kernel_slots(const Grammar *g, Slots *l, int function) {
    if (g->options.launch_bounds) bounds_slot(g, l, function);
    if (g->options.restricts) restrict_slots(&g->tree, l, function);
    if (g->options.consts) const_slots(&g->tree, l, function);
}

/* ---- shared arrays ---- */

/* Returns by name how often it is subscripted at least wherever it stands; 0 where it is used
** whole. To be freed. */
static int *find_subscripts(const Tree *t) {
    int *least = gi_alloc((size_t)t->names.n * sizeof(int) + 1);
    for (int i = 0; i < t->names.n; i++) least[i] = INT_MAX;
    for (int i = 1; i < t->n_tok; i++) {
        int after = i + 1, dims = 0, name = t->tok[i].name;
        if (name < 0) continue;
        while (tok_is(t, after, "[")) after = t->match[after] + 1, dims++;
        if (tok_is(t, i - 1, "&")) dims = 0;
        if (dims < least[name]) least[name] = dims;
    }
    for (int m = 0; m < t->n_macro; m++) {
        const Tokens *body = &t->macro[m].body;
        for (int k = 0; k < body->n; k++)
            if (body->v[k].name >= 0 &&
                !(k + 1 < body->n && token_is(t->src, &body->v[k + 1], "[")))
                least[body->v[k].name] = 0;
    }
    return least;
}

/* A volatile array compiles when its elements are numbers and it is only ever subscripted. */
static bool volatile_fits(const Decl *d, const int *subscripts) {
    return d->plain && !d->pointer && subscripts[d->name] >= d->dims;
}

static bool is_shared_array(const Grammar *g, int decl) {
    const Tree *t = &g->tree;
    const Decl *d = &t->decl[decl];
    int function = t->node[d->scope].function;
    bool first = decl == 0 || d[-1].first != d->first; /* of several declarators */
    return d->kind == DECL_VARIABLE && d->shared && d->array && first &&
           (function < 0 || g->open[function]) && !tree_frozen(t, d->first, d->last);
}

static void volatile_slots(const Grammar *g, Slots *l) {
    const Tree *t = &g->tree;
    int from = l->n, empty = 0;
    bool fits = true;
    int *subscripts = find_subscripts(t);
    for (int i = 0; i < t->n_decl; i++) {
        const Decl *d = &t->decl[i];
        if (!is_shared_array(g, i)) continue;
        for (int k = i; k < t->n_decl && t->decl[k].first == d->first; k++) /* with the others */
            fits = fits && volatile_fits(&t->decl[k], subscripts);
        Slot s = qualifier_slot(t, RULE_OPTVOLATILE, d->scope, d->first, d->at, d->first,
                                volatile_words);
        s.key = t->n_node + 1;
        empty += s.start == s.end;
        add_slot(l, s);
    }
    free(subscripts);
    int kept = from;
    for (int i = from; i < l->n; i++)
        if (empty == 0 || l->v[i].start == l->v[i].end) l->v[kept++] = l->v[i];
    l->n = kept;
    if (empty && !fits)
        l->v[from].protected_why = "a shared array is not of plain numbers, or is used whole";
}

/* ---- what variables begin with ---- */

static void init_slot(const Grammar *g, Slots *l, int decl) {
    const Tree *t = &g->tree;
    const Decl *d = &t->decl[decl];
    Init init;
    if (!init_of(g, decl, &init)) return;
    int n = l->n;
    token_slot(t, l, RULE_INIT, d->scope, d->value, d->value_end);
    if (l->n > n) {
        Slot *s = &l->v[n];
        s->decl = decl + 1;
        s->first = d->at; /* as the variable sees them, names mean what they do before it */
        s->braceless = false;
        s->protected_why = init.constant ? "it is a constant, on which types may depend" : NULL;
    }
    free(init.type);
    free(init.zero);
}

/* ---- everything ---- */

static void config_slots(const Grammar *g, Slots *l) {
    const Tree *t = &g->tree;
    for (int c = 0; c < g->options.n_config; c++) {
        int name = names_find(&t->names, g->config[c].name);
        for (int i = 0; i < t->n_dir && g->config[c].in_source; i++) {
            const Directive *d = &t->dir[i];
            bool define = d->kind == DIR_DEFINE || d->kind == DIR_UNDEF;
            if (!define || d->name != name || d->partial) continue;
            int end = d->end;
            while (end > d->start && strchr(" \t\r", t->src[end - 1])) end--;
            add_slot(l, (Slot){.start = d->start, .end = end, .type = RULE_DEF, .config = c + 1,
                               .first = d->before, .last = d->before});
            break;
        }
    }
}

/* Behind the brace that a function's body begins with. */
static void body_slot(const Tree *t, Slots *l, int type, int function) {
    int body = function + 1;
    while (body < t->n_node && t->node[body].kind != NODE_BLOCK) body++;
    if (body >= t->node[function].end) return;
    int brace = t->node[body].first;
    if (tree_frozen(t, brace, brace + 1)) return;
    int at = t->tok[brace].end;
    add_slot(l, (Slot){.start = at, .end = at, .type = (RuleType)type, .node = body});
}

/* What could be computed approximately in a node itself. */
static void math_slot(const Grammar *g, Slots *l, int node) {
    const Tree *t = &g->tree;
    int first = t->node[node].first, at = t->tok[first].start;
    unsigned ways = math_ways(g, node);
    if (ways)
        add_slot(l, (Slot){.start = at, .end = at, .type = RULE_MATH, .node = node, .first = first,
                           .last = first, .ways = ways});
}

static void node_slots(const Grammar *g, Slots *l, int node) {
    const Tree *t = &g->tree;
    const Node *n = &t->node[node];
    if (g->options.math) math_slot(g, l, node);
    switch (n->kind) {
    case NODE_STATEMENT:
        if (n->fixed == NULL) token_slot(t, l, RULE_STATEMENT, node, n->first, n->last);
        break;
    case NODE_IF:
        if (n->fixed == NULL) token_slot(t, l, RULE_IF, node, n->head, n->head_end);
        if (n->else_at >= 0) token_slot(t, l, RULE_ELSE, node, n->else_at, n->else_at + 1);
        break;
    case NODE_FOR:
    case NODE_WHILE:
    case NODE_DO: loop_slots(g, l, node); break;
    case NODE_FUNCTION:
        if (grammar_is_kernel(g, node)) {
            kernel_slots(g, l, node);
            body_slot(t, l, CLOCK_SLOT, node);
        }
        if (g->options.open_loops) body_slot(t, l, GUARD_SLOT, node);
        break;
    default: break;
    }
}

static int slot_order(const void *a, const void *b) {
    const Slot *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->type < y->type) - (x->type > y->type); /* slots of a header before for parts */
}

/* ---- rules from slots ---- */

/* How many rules of this type the line has, this one with them. Of its own text it has one. */
static int number_on_line(Grammar *g, RuleType type, int line) {
    if (type == RULE_FIXED) return 1;
    if (g->on_line[type] == NULL)
        g->on_line[type] = gi_alloc((size_t)(g->tree.n_lines + 1) * sizeof(int));
    return ++g->on_line[type][line];
}

static char *rule_name(Grammar *g, RuleType type, int line) {
    int same = number_on_line(g, type, line);
    gi_buf name = {0};
    gi_buf_addf(&name, "<%s%s_%d", rule_prefix(type), g->options.file, line);
    if (same > 1) gi_buf_addf(&name, ".%d", same);
    gi_buf_adds(&name, ">");
    return name.data;
}

static int add_rule(Grammar *g, Rule rule, RuleInfo info) {
    gi_grow(g->info, g->n_rule, g->cap_info);
    gi_grow(g->rule, g->n_rule, g->cap_rule);
    g->info[g->n_rule] = info;
    g->rule[g->n_rule] = rule;
    return g->n_rule++;
}

static void set_init(Grammar *g, int rule, int decl) {
    Init init;
    init_of(g, decl, &init);
    g->rule[rule].variable = gi_strdup(g->tree.names.text[g->tree.decl[decl].name]);
    g->rule[rule].zero = init.zero;
    g->info[rule].type = init.type;
    g->info[rule].own = decl;
}

static int slot_rule(Grammar *g, const Slot *s) {
    const Tree *t = &g->tree;
    int line = s->line ? s->line : line_of(t->line_start, t->n_lines, s->start);
    int end = s->end > s->start ? s->end - 1 : s->start;
    Rule r = {.name = rule_name(g, s->type, line), .type = s->type, .line = line,
              .last_line = line_of(t->line_start, t->n_lines, end),
              .text = gi_strndup(t->src + s->start, (size_t)(s->end - s->start)),
              .parent = line,
              .protected_why = s->protected_why ? gi_strdup(s->protected_why) : NULL};
    if (r.last_line < line) r.last_line = line;
    int rule = add_rule(g, r, (RuleInfo){.node = s->node, .first = s->first, .last = s->last,
                                         .shared = -1, .own = -1, .ways = s->ways});
    if (s->config) g->config_rule[s->config - 1] = rule;
    if (s->decl) set_init(g, rule, s->decl - 1);
    return rule;
}

static void add_hole(Grammar *g, const Slot *s, int *rule_of_key) {
    int rule = (int)s->type == CLOCK_SLOT ? HOLE_CLOCK : HOLE_LOOPS;
    bool shared = s->key && rule_of_key[s->key] >= 0;
    if (shared) rule = rule_of_key[s->key];
    else if (s->type < RULE_TYPES) rule = slot_rule(g, s);
    if (s->key) rule_of_key[s->key] = rule;
    gi_grow(g->hole, g->n_hole, g->cap_hole);
    g->hole[g->n_hole++] =
        (Hole){s->start, s->end, rule, s->braceless, s->own_line};
}

static void fixed_rule(Grammar *g, int line) {
    Rule r = {.name = rule_name(g, RULE_FIXED, line), .line = line, .last_line = line,
              .text = gi_strdup(g->line_text[line - 1]), .parent = -1};
    g->line_rule[line - 1] = add_rule(g, r, (RuleInfo){.node = -1, .shared = -1, .own = -1});
}

static int pool_rule(Grammar *g, RuleType type, int k, char *text) {
    gi_buf name = {0};
    RuleType slot = RULE_PRAGMA;
    while (source_type(slot) != type) slot++;
    gi_buf_addf(&name, "<%sK%d>", rule_prefix(slot), k);
    return add_rule(g, (Rule){.name = name.data, .type = type, .text = text, .parent = -1},
                    (RuleInfo){.node = -1, .shared = -1, .own = -1});
}

static char *bounds_text(const Grammar *g, int blocks) {
    gi_buf text = {0};
    gi_buf_addf(&text, "__launch_bounds__(%s", g->options.launch_bounds_threads);
    if (blocks) gi_buf_addf(&text, ", %d", blocks);
    gi_buf_adds(&text, ") ");
    return text.data;
}

static void pools(Grammar *g) {
    const GrammarOptions *o = &g->options;
    for (int k = 0; k <= 11 && o->pragmas; k++) {
        gi_buf text = {0};
        gi_buf_adds(&text, "#pragma unroll");
        if (k) gi_buf_addf(&text, " %d", k);
        gi_buf_adds(&text, "\n");
        pool_rule(g, RULE_PRAGMA_K, k, text.data);
    }
    for (int k = 0; k <= 5 && o->launch_bounds && o->launch_bounds_threads; k++)
        pool_rule(g, RULE_LAUNCHBOUNDS_K, k, bounds_text(g, k));
    if (o->consts) pool_rule(g, RULE_OPTCONST_K, 0, gi_strdup("const "));
    if (o->restricts) pool_rule(g, RULE_OPTRESTRICT_K, 0, gi_strdup("__restrict__ "));
    if (o->volatiles) pool_rule(g, RULE_OPTVOLATILE_K, 0, gi_strdup("volatile "));
    for (int k = 0; o->math && math_way(k); k++) {
        int rule = pool_rule(g, RULE_MATH_K, k, gi_strdup(math_way(k)));
        g->info[rule].ways = 1u << k;
    }
}

/* ---- protection (§3.4) ---- */

static void protect(Grammar *g, int rule, const char *what, const char *name) {
    gi_buf why = {0};
    g->info[rule].ends_loop = true;
    if (g->rule[rule].protected_why || g->options.open_loops) return;
    gi_buf_addf(&why, "%s%s", what, name);
    g->rule[rule].protected_why = why.data;
}

static bool guards(RuleType type) {
    return type == RULE_IF || type == RULE_ELSE;
}

/* Returns by node the rules of its condition and its else, from 1 on; 0: none. To be freed. */
static int (*find_guards(const Grammar *g))[2] {
    int(*guard)[2] = gi_alloc((size_t)g->tree.n_node * sizeof *guard);
    for (int i = 0; i < g->n_rule; i++)
        if (guards(g->rule[i].type))
            guard[g->info[i].node][g->rule[i].type == RULE_ELSE] = i + 1;
    return guard;
}

/* What in a loop decides that it ends must stay, and so must the conditions that guard it. */
static void protect_way_out(Grammar *g, int rule, int loop, int (*guard)[2]) {
    const Tree *t = &g->tree;
    for (int n = g->info[rule].node; n >= 0 && node_inside(t, n, loop); n = t->node[n].parent)
        for (int k = 0; k < 2; k++)
            if (guard[n][k])
                protect(g, guard[n][k] - 1, "it guards a statement that decides when a loop ends",
                        "");
}

static void protect_statement(Grammar *g, int rule, int (*guard)[2]) {
    const Tree *t = &g->tree;
    const RuleInfo *info = &g->info[rule];
    bool nearest = true;
    for (int n = info->node; n >= 0; n = t->node[n].parent) {
        const LoopVars *vars = &g->loop[n];
        bool loop = t->node[n].kind == NODE_FOR || t->node[n].kind == NODE_WHILE ||
                    t->node[n].kind == NODE_DO;
        bool was = g->info[rule].ends_loop;
        for (int i = 0; i < info->assigned.n; i++)
            if (int_has(&vars->control, info->assigned.v[i]))
                protect(g, rule, "it changes the loop variable ",
                        t->names.text[t->decl[info->assigned.v[i]].name]);
        if (loop && vars->control.n == 0 &&
            ((info->jump == JUMP_BREAK && nearest) || info->jump == JUMP_RETURN))
            protect(g, rule, "it is a way out of a loop without a condition", "");
        if (loop && nearest && info->jump == JUMP_CONTINUE && t->node[n].kind != NODE_FOR)
            protect(g, rule, "it decides when a while loop ends", "");
        if (!was && g->info[rule].ends_loop) protect_way_out(g, rule, n, guard);
        if (loop || (t->node[n].kind == NODE_SWITCH && info->jump == JUMP_BREAK)) nearest = false;
    }
}

/* Returns by declaration whether a loop's end depends on it. To be freed. */
static bool *find_controls(const Grammar *g) {
    bool *controls = gi_alloc((size_t)g->tree.n_decl + 1);
    for (int n = 0; n < g->tree.n_node; n++)
        for (int i = 0; i < g->loop[n].control.n; i++) controls[g->loop[n].control.v[i]] = true;
    return controls;
}

/* An open rule that a loop's end depends on by what it is. */
static bool opens_loop(const Grammar *g, int rule, const bool *controls) {
    switch (g->rule[rule].type) {
    case RULE_WHILE:
    case RULE_FOR1:
    case RULE_FOR2:
    case RULE_FOR3: return true;
    case RULE_INIT: return controls[g->info[rule].own];
    default: return false;
    }
}

static void protect_rules(Grammar *g) {
    int(*guard)[2] = find_guards(g);
    bool *controls = find_controls(g);
    for (int i = 0; i < g->n_rule && !source_stopped(NULL); i++)
        if (g->rule[i].type == RULE_STATEMENT) protect_statement(g, i, guard);
        else if (opens_loop(g, i, controls)) g->info[i].ends_loop = true;
    free(guard);
    free(controls);
}

static void collect(Grammar *g, Slots *l) {
    const Tree *t = &g->tree;
    config_slots(g, l);
    for (int i = 0; i < t->n_node && !source_stopped(NULL); i++)
        if (t->node[i].function >= 0 && g->open[t->node[i].function]) node_slots(g, l, i);
    if (g->options.volatiles) volatile_slots(g, l);
    for (int i = 0; i < t->n_decl && g->options.initialisers; i++) init_slot(g, l, i);
    if (l->n) qsort(l->v, (size_t)l->n, sizeof *l->v, slot_order);
}

static void describe_rules(Grammar *g) {
    for (int i = 0; i < g->n_rule && !source_stopped(NULL); i++) {
        Rule *r = &g->rule[i];
        if (r->parent > 0) r->parent = g->line_rule[r->parent - 1];
        if (g->info[i].node >= 0) grammar_rule_meaning(g, i);
    }
}

void grammar_make_rules(Grammar *g) {
    const Tree *t = &g->tree;
    Slots l = {0};
    int *rule_of_key = gi_alloc((size_t)(t->n_node + 2) * sizeof(int)), next = 0;
    for (int i = 0; i < t->n_node + 2; i++) rule_of_key[i] = -1;
    collect(g, &l);
    for (int line = 1; line <= t->n_lines && !source_stopped(NULL); line++) {
        int end = line < t->n_lines ? t->line_start[line] : t->len + 1;
        fixed_rule(g, line);
        for (; next < l.n && l.v[next].start < end; next++) add_hole(g, &l.v[next], rule_of_key);
    }
    pools(g);
    if (g->options.initialisers) tree_index_spots(t, &g->named, &g->changed);
    describe_rules(g);
    protect_rules(g);
    for (int type = 0; type < RULE_TYPES; type++) free(g->on_line[type]);
    free(rule_of_key);
    free(l.v);
}
