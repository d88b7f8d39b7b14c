/* legal.c - may this rule be aimed at, and may a copy of that one stand there?
**
** A copy is legal when every name in it means at the target what it meant at its own place, in
** every build in which the target is compiled (GECCO 2014 §3.6); when it changes no variable that
** ends a protected loop around the target (§3.4); when it does not carry a shared array's index
** out of its loop (§3.5): inside that loop is fine, and so is before every loop over that variable
** when the variable is initialised where it is declared, but after such a loop is not.
*/
#include "grammar/inside.h"

#include <string.h>

RuleType source_type(RuleType target) {
    switch (target) {
    case RULE_PRAGMA: return RULE_PRAGMA_K;
    case RULE_LAUNCHBOUNDS: return RULE_LAUNCHBOUNDS_K;
    case RULE_OPTCONST: return RULE_OPTCONST_K;
    case RULE_OPTRESTRICT: return RULE_OPTRESTRICT_K;
    case RULE_OPTVOLATILE: return RULE_OPTVOLATILE_K;
    case RULE_MATH: return RULE_MATH_K;
    default: return target;
    }
}

bool type_fits(RuleType source, RuleType target) {
    return source == source_type(target) || (source == RULE_INIT && target == RULE_STATEMENT);
}

bool rule_fits(const Grammar *g, int source, int target) {
    RuleType t = g->rule[target].type;
    return type_fits(g->rule[source].type, t) &&
           (t != RULE_MATH || (g->info[source].ways & g->info[target].ways) != 0);
}

static bool is_option(RuleType type) {
    return type == RULE_OPTCONST || type == RULE_OPTRESTRICT || type == RULE_OPTVOLATILE;
}

static bool is_slot(RuleType type) {
    return is_option(type) || type == RULE_MATH || type == RULE_PRAGMA ||
           type == RULE_LAUNCHBOUNDS;
}

bool rule_is_target(const Grammar *g, int rule) {
    const Rule *r = &g->rule[rule];
    return r->type != RULE_FIXED && r->type != RULE_DEF && r->type < RULE_PRAGMA_K &&
           r->protected_why == NULL;
}

bool rule_can_delete(const Grammar *g, int rule) {
    const Rule *r = &g->rule[rule];
    if (r->type == RULE_FOR2) return true;
    if (r->type == RULE_INIT) return r->zero != NULL;
    return r->text[0] != '\0';
}

bool rule_can_replace(const Grammar *g, int rule) {
    const Rule *r = &g->rule[rule];
    return r->type != RULE_ELSE && !(is_option(r->type) && r->text[0]);
}

bool rule_can_insert(const Grammar *g, int rule) {
    return g->rule[rule].type == RULE_STATEMENT;
}

bool config_is_target(const Grammar *g, int config) {
    return g->config[config].on_value != NULL;
}

/* ---- what a rule means at home ---- */

/* A macro that jumps counts as the jump, though it may do so within a loop of its own. */
static Jump jump_of(const Tree *t, const RuleInfo *info, const Uses *u, RuleType type) {
    if (type != RULE_STATEMENT) return JUMP_NONE;
    if (u->breaks || tok_is(t, info->first, "break")) return JUMP_BREAK;
    if (u->continues || tok_is(t, info->first, "continue")) return JUMP_CONTINUE;
    return u->returns || tok_is(t, info->first, "return") ? JUMP_RETURN : JUMP_NONE;
}

/* The loop variables of the loops around the rule that it uses, if it uses a shared array. */
static void find_counters(const Grammar *g, RuleInfo *info) {
    const Tree *t = &g->tree;
    for (int n = info->node; n >= 0; n = t->node[n].parent)
        for (int i = 0; i < g->loop[n].counter.n; i++) {
            int counter = g->loop[n].counter.v[i];
            for (int m = 0; m < info->n_meaning; m++)
                for (int k = 0; k < info->meaning[m].n && k < MEANING_MAX; k++)
                    if (info->meaning[m].what[k] == counter) int_add(&info->counters, counter);
        }
}

/* What becomes of an initialised variable from its declaration to the end of its scope. made_of:
** what the initialiser uses. */
static void find_life(const Grammar *g, RuleInfo *info, const Uses *made_of) {
    const Tree *t = &g->tree;
    const Decl *d = &t->decl[info->own];
    const Node *scope = &t->node[d->scope];
    int use = spots_before(&g->named, d->name, scope->last);
    int macro = spots_before(&g->named, t->names.n, scope->last);
    info->steady = spots_before(&g->changed, d->name, scope->last) < info->last;
    for (int i = 0; i < made_of->used.n && info->steady; i++)
        info->steady = spots_before(&g->changed, made_of->used.v[i], scope->last) < info->last;
    if (macro > use) use = macro;
    if (use >= info->last) info->last_use = use;
}

void grammar_rule_meaning(Grammar *g, int rule) {
    const Tree *t = &g->tree;
    RuleInfo *info = &g->info[rule];
    Uses u = {0};
    info->shared = -1;
    int first = info->own < 0 ? info->first : t->decl[info->own].value;
    tree_uses(t, first, info->last, &u);
    info->jump = jump_of(t, info, &u, g->rule[rule].type);
    info->macro = g->rule[rule].type == RULE_STATEMENT &&
                  tree_is_macro_call(t, info->first, info->last);
    for (int i = 0; i < u.used.n; i++) {
        Meaning m;
        tree_resolve(t, u.used.v[i], info->node, info->first, &m);
        if (m.n == 0) continue;
        gi_grow(info->meaning, info->n_meaning, info->cap_meaning);
        info->meaning[info->n_meaning++] = m;
        for (int k = 0; k < m.n && k < MEANING_MAX; k++) {
            if (m.what[k] < 0) continue;
            if (t->decl[m.what[k]].shared) info->shared = m.what[k];
            if (name_set_has(&u.assigned, m.name)) int_add(&info->assigned, m.what[k]);
        }
    }
    /* names that mean nothing here must not become local variables elsewhere */
    for (int i = 0; i < u.used.n; i++) {
        Meaning m;
        tree_resolve(t, u.used.v[i], info->node, info->first, &m);
        if (m.n > 0 || t->last_decl[m.name] < 0) continue;
        gi_grow(info->meaning, info->n_meaning, info->cap_meaning);
        info->meaning[info->n_meaning++] = m;
    }
    if (info->shared >= 0) find_counters(g, info);
    if (info->own >= 0) find_life(g, info, &u);
    uses_free(&u);
}

/* ---- verdicts ---- */

static int what_place(const Tree *t, int what) {
    return what < 0 ? t->macro[-1 - what].place : t->decl[what].place;
}

/* Does name mean the same at the target, in every build in which the target is compiled? */
static Verdict check_meaning(const Grammar *g, const Meaning *home, const RuleInfo *s,
                             const RuleInfo *target) {
    const Tree *t = &g->tree;
    int place = t->tok[target->first].place, kept = 0, places[MEANING_MAX];
    Meaning there;
    tree_resolve(t, home->name, target->node, target->first, &there);
    if (there.n > MEANING_MAX || home->n > MEANING_MAX)
        return (Verdict){WHY_SHADOW, home->name, -1};
    for (int i = 0; i < home->n; i++) {
        if (!place_compatible(t, what_place(t, home->what[i]), place)) continue;
        bool found = false;
        for (int k = 0; k < there.n; k++) found = found || there.what[k] == home->what[i];
        if (!found) return (Verdict){there.n ? WHY_SHADOW : WHY_SCOPE, home->name, -1};
        places[kept++] = what_place(t, home->what[i]);
    }
    if (there.n != kept) return (Verdict){WHY_SHADOW, home->name, -1};
    if (home->n == 0 || place_implied(t, t->tok[s->first].place, place)) return (Verdict){0};
    if (!places_cover(t, places, kept, place)) return (Verdict){WHY_CONDITION, home->name, -1};
    return (Verdict){0};
}

static bool breaks(NodeKind kind, Jump jump) {
    bool loop = kind == NODE_FOR || kind == NODE_WHILE || kind == NODE_DO;
    return loop || (jump == JUMP_BREAK && kind == NODE_SWITCH);
}

/* A node's own head is not inside its loop; its body is. */
static bool in_body(const Tree *t, int loop, int token) {
    const Node *n = &t->node[loop];
    return token >= n->first && token < n->last &&
           (n->head < 0 || token < n->head || token >= n->head_end);
}

static Verdict check_jump(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    const Tree *t = &g->tree;
    if (s->jump == JUMP_NONE) return (Verdict){0};
    if (s->jump == JUMP_RETURN) {
        bool same = t->node[s->node].function == t->node[target->node].function;
        return (Verdict){same ? WHY_LEGAL : WHY_RETURN, -1, -1};
    }
    for (int n = target->node; n >= 0 && t->node[n].kind != NODE_FUNCTION; n = t->node[n].parent) {
        if (!breaks(t->node[n].kind, s->jump)) continue;
        bool skips = s->jump == JUMP_CONTINUE && t->node[n].kind != NODE_FOR;
        return (Verdict){skips ? WHY_CONTINUE : WHY_LEGAL, -1, n};
    }
    return (Verdict){WHY_JUMP, -1, -1};
}

/* §3.4: does the copy change a variable that ends a loop around the target? */
static Verdict check_loops(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    const Tree *t = &g->tree;
    bool assigns = s->own >= 0 && target->own < 0;
    for (int n = target->node; n >= 0; n = t->node[n].parent) {
        const IntList *control = &g->loop[n].control;
        if (assigns && int_has(control, s->own))
            return (Verdict){WHY_LOOP_VARIABLE, t->decl[s->own].name, n};
        for (int i = 0; i < s->assigned.n; i++)
            if (int_has(control, s->assigned.v[i]))
                return (Verdict){WHY_LOOP_VARIABLE, t->decl[s->assigned.v[i]].name, n};
    }
    return (Verdict){0};
}

/* §3.5, see above, for one loop variable of a statement in node home. */
static Verdict check_counter(const Grammar *g, int counter, int home, const RuleInfo *target) {
    const Tree *t = &g->tree;
    int own = -1, passed = -1;
    for (int n = 0; n < t->n_node; n++) {
        if (!int_has(&g->loop[n].counter, counter)) continue;
        if (node_inside(t, home, n) && in_body(t, n, target->first)) return (Verdict){0};
        if (node_inside(t, home, n)) own = n;
        if (t->node[n].first <= target->first) passed = n;
    }
    bool fresh = passed < 0 && t->decl[counter].set;
    return (Verdict){fresh ? WHY_LEGAL : WHY_SHARED, t->decl[counter].name, own};
}

static Verdict check_shared(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    for (int i = 0; i < s->counters.n; i++) {
        Verdict v = check_counter(g, s->counters.v[i], s->node, target);
        if (v.why) return v;
    }
    return (Verdict){0};
}

/* May the variable that a source begins be assigned at the target? */
static Verdict check_assignment(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    const Decl *d = &g->tree.decl[s->own];
    Meaning own = {.name = d->name, .n = 1, .what = {s->own}};
    if (d->fixed) return (Verdict){WHY_CONST, d->name, -1};
    return check_meaning(g, &own, s, target);
}

static Verdict check_own(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    if (s->own < 0) return (Verdict){0};
    if (target->own < 0) return check_assignment(g, s, target);
    return (Verdict){strcmp(s->type, target->type) == 0 ? WHY_LEGAL : WHY_TYPE, -1, -1};
}

static Verdict check_member(const Grammar *g, const RuleInfo *s, const RuleInfo *target) {
    const Tree *t = &g->tree;
    int a = t->node[s->node].function, b = t->node[target->node].function;
    if (a == b || (t->node[t->node[a].parent].kind != NODE_CLASS &&
                   t->node[t->node[b].parent].kind != NODE_CLASS))
        return (Verdict){0};
    return (Verdict){WHY_MEMBER, -1, -1};
}

/* The condition of an `if constexpr` takes those of others alone. */
static Verdict check_constant(const Grammar *g, int source, int target) {
    const Tree *t = &g->tree;
    if (g->rule[target].type != RULE_IF) return (Verdict){0};
    const bool fits = !t->node[g->info[target].node].constant ||
                      (g->rule[source].type == RULE_IF && t->node[g->info[source].node].constant);
    return (Verdict){fits ? WHY_LEGAL : WHY_CONSTEXPR, -1, -1};
}

/* Verdicts that only protected loops give come last, behind all that any grammar gives. */
static Verdict verdict(const Grammar *g, int source, int target) {
    const RuleInfo *s = &g->info[source], *at = &g->info[target];
    if (is_slot(g->rule[target].type)) return (Verdict){0};
    if (g->rule[source].text[0] == '\0') return (Verdict){WHY_EMPTY, -1, -1};
    Verdict v = check_constant(g, source, target);
    if (!v.why) v = check_own(g, s, at);
    for (int i = 0; i < s->n_meaning && !v.why; i++)
        v = check_meaning(g, &s->meaning[i], s, at);
    if (!v.why) v = check_member(g, s, at);
    if (!v.why) v = check_shared(g, s, at);
    if (!v.why) v = check_jump(g, s, at);
    if (!v.why) v = check_loops(g, s, at);
    return v;
}

static bool is_of_loops(WhyNot why) {
    return why == WHY_LOOP_VARIABLE || why == WHY_CONTINUE;
}

Verdict grammar_copy_verdict(const Grammar *g, int source, int target) {
    Verdict v = verdict(g, source, target);
    return g->options.open_loops && is_of_loops(v.why) ? (Verdict){0} : v;
}

bool gene_frees_loop(const Grammar *g, const Gene *gene) {
    if (gene->kind == GENE_LINES) return false; /* no guard finds its loops */
    if (gene->kind == GENE_SET) return g->config[gene->config].in_source;
    bool copies = gene->kind == GENE_REPLACE || gene->kind == GENE_INSERT;
    return (gene->kind != GENE_INSERT && g->info[gene->target].ends_loop) ||
           (copies && is_of_loops(verdict(g, gene->source, gene->target).why));
}
