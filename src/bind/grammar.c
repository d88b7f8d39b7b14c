/* grammar.c - gi.grammar: kernels as typed line rules, genomes as lines of text. */
#include "bind/bind.h"

#include <stdlib.h>
#include <string.h>

#include "grammar/grammar.h"
#include "source/source.h"

#define CLASS "gilua.grammar"

static Grammar *check_grammar(lua_State *L, int index) {
    Grammar *g = *(Grammar **)luaL_checkudata(L, index, CLASS);
    if (g == NULL) luaL_argerror(L, index, "the grammar is closed");
    return g;
}

/* Reads options.config, a list of { name =, on_value =, in_source = }; lives on the Lua stack. */
static void read_config(lua_State *L, int index, GrammarOptions *o) {
    static const char *const known[] = {"name", "on_value", "in_source", NULL};
    if (lua_isnoneornil(L, index) || lua_getfield(L, index, "config") == LUA_TNIL) return;
    luaL_checktype(L, -1, LUA_TTABLE);
    int list = lua_gettop(L);
    int n = (int)luaL_len(L, list);
    GrammarConfig *config = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *config, 0);
    bind_room(L, 3 * n + 10, "parameters");
    for (int i = 0; i < n; i++) {
        if (lua_geti(L, list, i + 1) != LUA_TTABLE)
            luaL_error(L, "config: entry %d is no table", i + 1);
        int entry = lua_gettop(L);
        bind_check_options(L, entry, known);
        config[i].name = bind_option_string(L, entry, "name", NULL);
        config[i].on_value = bind_option_string(L, entry, "on_value", "1");
        config[i].in_source = bind_option_bool(L, entry, "in_source", true);
        if (config[i].name == NULL) luaL_error(L, "config: entry %d has no name", i + 1);
    }
    o->config = config;
    o->n_config = n;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int parse(lua_State *L) {
    static const char *const known[] = {"kernel",
                                        "open_loops",
                                        "initialisers",
                                        "skip_idle",
                                        "pragmas",
                                        "restricts",
                                        "consts",
                                        "volatiles",
                                        "launch_bounds",
                                        "launch_bounds_threads",
                                        "math",
                                        "config",
                                        "text",
                                        NULL};
    const char *path = luaL_checkstring(L, 1);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    GrammarOptions o = {.file = base_name(path)};
    o.kernel = bind_option_string(L, 2, "kernel", NULL);
    o.open_loops = bind_option_bool(L, 2, "open_loops", false);
    o.initialisers = bind_option_bool(L, 2, "initialisers", false);
    o.skip_idle = bind_option_bool(L, 2, "skip_idle", false);
    o.pragmas = bind_option_bool(L, 2, "pragmas", true);
    o.restricts = bind_option_bool(L, 2, "restricts", true);
    o.consts = bind_option_bool(L, 2, "consts", true);
    o.volatiles = bind_option_bool(L, 2, "volatiles", true);
    o.launch_bounds = bind_option_bool(L, 2, "launch_bounds", true);
    o.launch_bounds_threads = bind_option_string(L, 2, "launch_bounds_threads", NULL);
    o.math = bind_option_bool(L, 2, "math", false);
    const char *text = bind_option_string(L, 2, "text", NULL);
    read_config(L, 2, &o);
    Grammar **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    gi_buf source = {0};
    if (text) gi_buf_adds(&source, text);
    else if (!gi_read_file(path, &source, &err)) {
        gi_buf_free(&source);
        return bind_failed(L, &err);
    }
    *box = grammar_parse(source.data ? source.data : "", source.len, &o, &err);
    gi_buf_free(&source);
    if (bind_interrupted) return bind_interrupt(L);
    return *box ? 1 : bind_failed(L, &err);
}

static int read_bnf(lua_State *L) {
    size_t len;
    const char *bnf = luaL_checklstring(L, 1, &len);
    Grammar **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    *box = grammar_read(bnf, len, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int close_grammar(lua_State *L) {
    Grammar **box = luaL_checkudata(L, 1, CLASS);
    grammar_free(*box);
    *box = NULL;
    return 0;
}

/* Moves a C text to the stack and frees it. Only pushlstring can fail, out of memory. */
static void push_buf(lua_State *L, gi_buf *b) {
    lua_pushlstring(L, b->data ? b->data : "", b->len);
    gi_buf_free(b);
}

static int to_string(lua_State *L) {
    gi_buf text = {0};
    grammar_print(check_grammar(L, 1), &text);
    push_buf(L, &text);
    return 1;
}

static void push_rule(lua_State *L, const Rule *r) {
    lua_createtable(L, 0, 6);
    lua_pushstring(L, r->name), lua_setfield(L, -2, "name");
    lua_pushstring(L, rule_type_name(r->type)), lua_setfield(L, -2, "type");
    lua_pushinteger(L, r->line), lua_setfield(L, -2, "line");
    lua_pushinteger(L, r->last_line), lua_setfield(L, -2, "last_line");
    lua_pushstring(L, r->text), lua_setfield(L, -2, "text");
    if (r->variable) lua_pushstring(L, r->variable), lua_setfield(L, -2, "variable");
    if (r->zero) lua_pushstring(L, r->zero), lua_setfield(L, -2, "zero");
    if (r->protected_why) lua_pushstring(L, r->protected_why), lua_setfield(L, -2, "protected");
}

static int rules(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    const char *name = luaL_optstring(L, 2, NULL);
    RuleType type = RULE_TYPES;
    if (name && !rule_type_parse(name, &type))
        return luaL_argerror(L, 2,
                             lua_pushfstring(L,
                                             "'%s' is no rule type (statement if while else for1 "
                                             "for2 for3 init pragma def …)",
                                             name));
    lua_newtable(L);
    for (int i = 0, n = 0; i < grammar_rule_count(g); i++) {
        const Rule *r = grammar_rule(g, i);
        if (type != RULE_TYPES && r->type != type) continue;
        push_rule(L, r);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static int find(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    int i = grammar_find(g, luaL_checkstring(L, 2));
    if (i < 0) lua_pushnil(L);
    else push_rule(L, grammar_rule(g, i));
    return 1;
}

static int line(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    lua_pushstring(L, grammar_line(g, (int)luaL_checkinteger(L, 2)));
    return 1;
}

static int line_count(lua_State *L) {
    lua_pushinteger(L, grammar_line_count(check_grammar(L, 1)));
    return 1;
}

static void push_int_list(lua_State *L, const int *list, int n, int add) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, list[i] + add);
        lua_rawseti(L, -2, i + 1);
    }
}

/* The source, or where `before` is a string the 128-bit hash of that and the source. */
static void push_source(lua_State *L, const gi_buf *source, const char *before) {
    char hex[33];
    gi_buf all = {0};
    if (before == NULL) {
        lua_pushlstring(L, source->data ? source->data : "", source->len);
        return;
    }
    gi_buf_adds(&all, before);
    gi_buf_add(&all, source->data, source->len);
    gi_hash128(all.data, all.len, hex);
    gi_buf_free(&all);
    lua_pushstring(L, hex);
}

static void push_patched(lua_State *L, const Patched *p, bool lines, const char *before) {
    push_source(L, &p->source, before);
    lua_createtable(L, 0, 5);
    lua_createtable(L, 0, p->n_params);
    for (int i = 0; i < p->n_params; i++) {
        if (p->param_values[i] == NULL) continue;
        lua_pushstring(L, p->param_values[i]);
        lua_setfield(L, -2, p->param_names[i]);
    }
    lua_setfield(L, -2, "params");
    lua_pushboolean(L, p->unbounded);
    lua_setfield(L, -2, "unbounded");
    lua_pushboolean(L, p->rewritten);
    lua_setfield(L, -2, "rewritten");
    if (!lines) return;
    push_int_list(L, p->origin, p->n_lines, 0);
    lua_setfield(L, -2, "origin");
    push_int_list(L, p->gene, p->n_lines, 1); /* 0: no gene */
    lua_setfield(L, -2, "gene");
}

/* true, or { bare =, clock =, lines =, hash = } */
static unsigned read_marks(lua_State *L, int index) {
    static const char *const known[] = {"bare", "clock", "lines", "hash", NULL};
    if (!lua_istable(L, index)) return lua_toboolean(L, index) ? 0 : APPLY_GUARDS;
    bind_check_options(L, index, known);
    return (bind_option_bool(L, index, "bare", false) ? 0 : APPLY_GUARDS) |
           (bind_option_bool(L, index, "clock", false) ? APPLY_CLOCK : 0);
}

static int apply(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    const char *text = luaL_checkstring(L, 2);
    Genome genome = {0};
    Patched patched = {0};
    gi_err err;
    unsigned marks = read_marks(L, 3);
    bool asked = lua_istable(L, 3), lines = !asked || bind_option_bool(L, 3, "lines", true);
    const char *before = asked ? bind_option_string(L, 3, "hash", NULL) : NULL;
    bool ok = genome_parse(g, text, &genome, &err) &&
              genome_apply_marked(g, &genome, marks, &patched, &err);
    if (ok) push_patched(L, &patched, lines, before);
    genome_free(&genome);
    patched_free(&patched);
    return ok ? 2 : bind_failed(L, &err);
}

static int check(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    Genome genome = {0};
    gi_err err;
    bool ok = genome_parse(g, luaL_checkstring(L, 2), &genome, &err);
    gi_buf text = {0};
    if (ok) genome_print(g, &genome, &text);
    genome_free(&genome);
    if (!ok) return bind_failed(L, &err);
    push_buf(L, &text);
    return 1;
}

static int genes(lua_State *L) {
    static const char *const kinds[] = {"delete", "replace", "insert", "set", "lines"};
    Grammar *g = check_grammar(L, 1);
    Genome genome = {0};
    gi_err err;
    if (!genome_parse(g, luaL_checkstring(L, 2), &genome, &err)) return bind_failed(L, &err);
    lua_createtable(L, genome.n, 0);
    for (int i = 0; i < genome.n; i++) {
        const Gene *gene = &genome.genes[i];
        Genome one = {.genes = (Gene *)gene, .n = 1, .cap = 1};
        gi_buf text = {0};
        genome_print(g, &one, &text);
        lua_createtable(L, 0, 5);
        push_buf(L, &text), lua_setfield(L, -2, "text");
        lua_pushstring(L, kinds[gene->kind]), lua_setfield(L, -2, "kind");
        if (gene->target >= 0)
            push_rule(L, grammar_rule(g, gene->target)), lua_setfield(L, -2, "target");
        if (gene->source >= 0)
            push_rule(L, grammar_rule(g, gene->source)), lua_setfield(L, -2, "source");
        if (gene->value) lua_pushstring(L, gene->value), lua_setfield(L, -2, "value");
        if (gene->kind == GENE_LINES) {
            lua_pushinteger(L, gene->first), lua_setfield(L, -2, "line");
            lua_pushinteger(L, gene->last), lua_setfield(L, -2, "last_line");
        }
        lua_rawseti(L, -2, i + 1);
    }
    genome_free(&genome);
    return 1;
}

/* weights = { statement = 1, pragma = 0.5, … }; types left out weigh 1. */
static const double *read_weights(lua_State *L, int index, double weights[RULE_TYPES]) {
    if (lua_isnoneornil(L, index)) return NULL;
    luaL_checktype(L, index, LUA_TTABLE);
    for (int t = 0; t < RULE_TYPES; t++) weights[t] = 1;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        RuleType type = RULE_TYPES;
        if (lua_type(L, -2) != LUA_TSTRING || !rule_type_parse(lua_tostring(L, -2), &type))
            luaL_argerror(L, index, "weights are written { statement = 1, pragma = 0.5 }");
        weights[type] = luaL_checknumber(L, -1);
        luaL_argcheck(L, weights[type] >= 0, index, "a weight is negative");
    }
    return weights;
}

static int random_gene(lua_State *L) {
    double weights[RULE_TYPES];
    Grammar *g = check_grammar(L, 1);
    gi_rng *rng = bind_check_rng(L, 2);
    const double *w = read_weights(L, 3, weights);
    gi_buf text = {0};
    gi_err err;
    if (!grammar_random_gene(g, rng, w, &text, &err)) {
        gi_buf_free(&text);
        return bind_interrupted ? bind_interrupt(L) : bind_failed(L, &err);
    }
    push_buf(L, &text);
    return 1;
}

static int gene_count(lua_State *L) {
    gi_err err;
    long n = grammar_gene_count(check_grammar(L, 1), &err);
    if (n < 0) return bind_interrupted ? bind_interrupt(L) : bind_failed(L, &err);
    lua_pushinteger(L, n);
    return 1;
}

static int gene_at(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    gi_buf text = {0};
    gi_err err;
    if (grammar_gene_count(g, &err) < 0)
        return bind_interrupted ? bind_interrupt(L) : luaL_error(L, "%s", err.message);
    if (!grammar_gene_at(g, (long)luaL_checkinteger(L, 2) - 1, &text)) {
        gi_buf_free(&text);
        return luaL_argerror(L, 2, "there are not so many genes");
    }
    push_buf(L, &text);
    return 1;
}

static int push_names(lua_State *L, const char *const *names) {
    lua_newtable(L);
    for (int i = 0; names[i]; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int names(lua_State *L) {
    return push_names(L, grammar_names(check_grammar(L, 1)));
}

static int kernels(lua_State *L) {
    return push_names(L, grammar_kernels(check_grammar(L, 1)));
}

static void push_outline_params(lua_State *L, const OutlineParam *p, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, p[i].name), lua_setfield(L, -2, "name");
        lua_pushinteger(L, p[i].start + 1), lua_setfield(L, -2, "first");
        lua_pushinteger(L, p[i].end), lua_setfield(L, -2, "last");
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_outline_item(lua_State *L, const OutlineItem *item) {
    static const char *const kinds[] = {"kernel", "device", "host", "type", "other"};
    lua_createtable(L, 0, 10);
    lua_pushstring(L, kinds[item->kind]), lua_setfield(L, -2, "kind");
    lua_pushstring(L, item->name), lua_setfield(L, -2, "name");
    lua_pushboolean(L, item->open), lua_setfield(L, -2, "open");
    lua_pushinteger(L, item->start + 1), lua_setfield(L, -2, "first");
    lua_pushinteger(L, item->end), lua_setfield(L, -2, "last");
    lua_pushinteger(L, item->line), lua_setfield(L, -2, "line");
    lua_pushinteger(L, item->last_line), lua_setfield(L, -2, "last_line");
    if (item->head < 0) return;
    lua_pushinteger(L, item->head + 1), lua_setfield(L, -2, "head");
    push_outline_params(L, item->param, item->n_params), lua_setfield(L, -2, "params");
    push_outline_params(L, item->tparam, item->n_tparams), lua_setfield(L, -2, "template");
}

static int outline(lua_State *L) {
    Outline o;
    grammar_outline(check_grammar(L, 1), &o);
    lua_createtable(L, o.n, 0);
    for (int i = 0; i < o.n; i++) {
        push_outline_item(L, &o.item[i]);
        lua_rawseti(L, -2, i + 1);
    }
    outline_free(&o);
    return 1;
}

static int guard(lua_State *L) {
    Grammar *g = check_grammar(L, 1);
    gi_buf text = {0};
    grammar_guard_prologue(g, lua_toboolean(L, 2), (long)luaL_optinteger(L, 3, 1000000), &text);
    push_buf(L, &text);
    return 1;
}

static int clock_lines(lua_State *L) {
    gi_buf text = {0};
    check_grammar(L, 1);
    grammar_clock_prologue(lua_toboolean(L, 2), &text);
    push_buf(L, &text);
    return 1;
}

void bind_grammar(lua_State *L) {
    static const BindRow methods[] = {
        {"rules", rules, "g:rules([type]) -> list",
         "The rules (of one type), each { name, type, line, last_line, text, protected, "
         "variable, zero }."},
        {"find", find, "g:find(name) -> rule | nil",
         "A rule by full name or by the papers' short form."},
        {"line", line, "g:line(n) -> string", "Source line n as it stands."},
        {"line_count", line_count, "g:line_count() -> integer", "How many lines the source has."},
        {"apply", apply,
         "g:apply(genome [, bare | {bare, clock, lines, hash}]) -> source, { params, origin, gene, "
         "unbounded, rewritten } | nil, message, code",
         "The mutant's source (bare: without the guards of open loops; clock: with the place of "
         "the span clock, for which g:clock gives the lines); params are the values it sets, "
         "origin and gene tell for each line the source line and gene it came from; unbounded: by "
         "one of the genes a loop may run for ever; rewritten: whole lines have another text. "
         "lines = false leaves origin and gene out; hash = \"text\": in the source's place the "
         "128-bit hash of the text and the source."},
        {"check", check, "g:check(genome) -> genome | nil, message, code",
         "The genome printed with full names when every gene is legal."},
        {"genes", genes, "g:genes(genome) -> list | nil, message, code",
         "The genes of a genome, each { text, kind, target, source, value }; kind is delete, "
         "replace, insert, set, or lines, which has { value = its text, line, last_line }."},
        {"random_gene", random_gene, "g:random_gene(rng [, weights]) -> gene",
         "A uniformly random legal gene; weights multiply the chance of rule types."},
        {"gene_count", gene_count, "g:gene_count() -> integer | nil, message, code",
         "How many distinct legal genes there are; pairs of very many rules are not counted."},
        {"gene", gene_at, "g:gene(i) -> gene", "The i-th legal gene, in a fixed order."},
        {"names", names, "g:names() -> list",
         "The names the source declares at top level, but for functions called before that, or"
         " that it has no body of: a header has those."},
        {"kernels", kernels, "g:kernels() -> list", "The kernels in the source."},
        {"outline", outline, "g:outline() -> list",
         "What stands at file level, in order, each { kind = kernel | device | host | type | other,"
         " name, open, first, last, line, last_line, head, params, template }; first to last are"
         " its bytes, head that of a function's '('."},
        {"guard", guard, "g:guard(checked [, limit]) -> source",
         "The lines to put before a source with open loops: guards counting to limit, or none."},
        {"clock", clock_lines, "g:clock(on) -> source",
         "The lines to put before a source applied with clock = true: every block then records "
         "start, end and SM at *gilua_spans (see module:spans), or, not on, nothing is done."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__tostring", to_string},
                                    {"__gc", close_grammar},
                                    {"__close", close_grammar},
                                    {NULL, NULL}};
    static const BindRow rows[] = {
        {"parse", parse, "gi.grammar.parse(path [, options]) -> g | nil, message, code",
         "Reads a CUDA source into typed line rules; options: kernel, open_loops, initialisers, "
         "skip_idle, pragmas, restricts, consts, volatiles, launch_bounds, "
         "launch_bounds_threads, math, config, text."},
        {"read", read_bnf, "gi.grammar.read(bnf) -> g | nil, message, code",
         "A grammar from the BNF text that tostring(g) gave."},
        {NULL, NULL, NULL, NULL}};
    source_stop_when(&bind_interrupted);
    bind_class(L, CLASS, "grammar:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "grammar.", rows);
    bind_tokens(L);
    bind_source(L);
}
