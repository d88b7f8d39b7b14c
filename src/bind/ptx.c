/* ptx.c - gi.ptx: the instructions of PTX by name, and genomes that edit them. */
#include "bind/bind.h"

#include <string.h>

#include "ptx/genes.h"

#define CLASS "gilua.ptx"

static PtxBase *check_ptx(lua_State *L, int index) {
    PtxBase *b = *(PtxBase **)luaL_checkudata(L, index, CLASS);
    if (b == NULL) luaL_argerror(L, index, "the PTX is closed");
    return b;
}

static int open_ptx(lua_State *L) {
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    PtxBase **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    *box = ptx_base_open(text, len, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int close_ptx(lua_State *L) {
    PtxBase **box = luaL_checkudata(L, 1, CLASS);
    ptx_base_close(*box);
    *box = NULL;
    return 0;
}

static void push_buf(lua_State *L, gi_buf *b) {
    lua_pushlstring(L, b->data ? b->data : "", b->len);
    gi_buf_free(b);
}

static int apply(lua_State *L) {
    size_t len = 0;
    PtxBase *b = check_ptx(L, 1);
    const char *genes = luaL_checkstring(L, 2), *other = luaL_optlstring(L, 3, NULL, &len);
    gi_buf out = {0}, lost = {0};
    gi_err err;
    bool done = ptx_genes_apply(b, genes, other, len, &out, &lost, &err);
    if (done) {
        push_buf(L, &out);
        push_buf(L, &lost);
        return 2;
    }
    gi_buf_free(&out);
    gi_buf_free(&lost);
    return bind_failed(L, &err);
}

/* --- instructions --- */

/* { name =, text =, line =, open = } of an instruction. */
static void push_site(lua_State *L, const PtxBase *b, PtxSite at) {
    const PtxFunc *f = &ptx_base_module(b)->funcs[at.func];
    gi_buf name = {0}, text = {0};
    ptx_site_print(b, at, &name);
    ptx_print_instr(f, &f->code[at.instr], &text);
    lua_createtable(L, 0, 4);
    push_buf(L, &name), lua_setfield(L, -2, "name");
    push_buf(L, &text), lua_setfield(L, -2, "text");
    lua_pushinteger(L, f->code[at.instr].src_line), lua_setfield(L, -2, "line");
    lua_pushboolean(L, ptx_site_is_open(b, at)), lua_setfield(L, -2, "open");
}

static int instructions(lua_State *L) {
    PtxBase *b = check_ptx(L, 1);
    const PtxModule *m = ptx_base_module(b);
    lua_newtable(L);
    lua_Integer n = 0;
    for (int func = 0; func < m->n_funcs; func++) {
        for (int i = 0; i < m->funcs[func].n_code; i++) {
            push_site(L, b, (PtxSite){func, i});
            lua_rawseti(L, -2, ++n);
        }
    }
    return 1;
}

static int find(lua_State *L) {
    PtxBase *b = check_ptx(L, 1);
    const char *end;
    PtxSite at;
    gi_err err;
    if (!ptx_site_parse(b, luaL_checkstring(L, 2), &at, &end, &err)) return bind_failed(L, &err);
    luaL_argcheck(L, *end == '\0', 2, "something follows the name");
    push_site(L, b, at);
    return 1;
}

/* --- memory --- */

/* { variables =, { other =, OFFSET … } … }. */
static void push_reached(lua_State *L, const PtxReached *r) {
    lua_createtable(L, r->n, 1);
    lua_pushboolean(L, r->variables), lua_setfield(L, -2, "variables");
    for (int i = 0; i < r->n; i++) {
        lua_createtable(L, r->list[i].n, 1);
        lua_pushboolean(L, r->list[i].may_be_other), lua_setfield(L, -2, "other");
        for (int k = 0; k < r->list[i].n; k++) {
            lua_pushinteger(L, r->list[i].at[k]);
            lua_rawseti(L, -2, k + 1);
        }
        lua_rawseti(L, -2, i + 1);
    }
}

static int kernel_access(lua_State *L) {
    PtxAccess a;
    PtxBase *b = check_ptx(L, 1);
    if (!ptx_access(ptx_base_module(b), luaL_checkstring(L, 2), "gilua_", &a)) return 0;
    lua_createtable(L, 0, 3);
    push_reached(L, &a.reads), lua_setfield(L, -2, "reads");
    push_reached(L, &a.writes), lua_setfield(L, -2, "writes");
    lua_pushboolean(L, a.is_unknown), lua_setfield(L, -2, "unknown");
    ptx_access_free(&a);
    return 1;
}

/* --- genes --- */

static void push_gene(lua_State *L, const PtxBase *b, const PtxGene *g) {
    gi_buf text = {0};
    ptx_gene_print(b, g, &text);
    lua_createtable(L, 0, 8);
    push_buf(L, &text), lua_setfield(L, -2, "text");
    lua_pushstring(L, ptx_gene_kind_name(g->kind)), lua_setfield(L, -2, "kind");
    push_site(L, b, g->at), lua_setfield(L, -2, "at");
    if (g->kind != PTX_DELETE && g->kind != PTX_CONSTANT)
        push_site(L, b, g->from), lua_setfield(L, -2, "from");
    if (g->user.instr >= 0) push_site(L, b, g->user), lua_setfield(L, -2, "user");
    if (g->kind == PTX_OPERAND || g->kind == PTX_CONSTANT)
        lua_pushinteger(L, g->leaf), lua_setfield(L, -2, "operand");
}

static int genes(lua_State *L) {
    PtxBase *b = check_ptx(L, 1);
    const char *p = luaL_checkstring(L, 2);
    gi_err err;
    lua_newtable(L);
    for (lua_Integer n = 1; *(p += strspn(p, " \t\n")); n++) {
        PtxGene g;
        if (!ptx_gene_parse(b, p, &g, &p, &err)) return bind_failed(L, &err);
        push_gene(L, b, &g);
        lua_rawseti(L, -2, n);
    }
    return 1;
}

static PtxGeneKind kind_of(const char *name) {
    int k = 0;
    while (k < PTX_GENE_KINDS && strcmp(name, ptx_gene_kind_name((PtxGeneKind)k)) != 0) k++;
    return (PtxGeneKind)k;
}

/* weights = { copy = 1, delete = 0.5, … }; kinds left out weigh 1. */
static const double *read_weights(lua_State *L, int index, double weights[PTX_GENE_KINDS]) {
    if (lua_isnoneornil(L, index)) return NULL;
    luaL_checktype(L, index, LUA_TTABLE);
    for (int k = 0; k < PTX_GENE_KINDS; k++) weights[k] = 1;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        bool named = lua_type(L, -2) == LUA_TSTRING;
        PtxGeneKind kind = named ? kind_of(lua_tostring(L, -2)) : PTX_GENE_KINDS;
        luaL_argcheck(L, kind < PTX_GENE_KINDS, index,
                      "weights are those of copy, delete, move, replace, swap, operand, constant");
        weights[kind] = luaL_checknumber(L, -1);
        luaL_argcheck(L, weights[kind] >= 0, index, "a weight is negative");
    }
    return weights;
}

static int random_gene(lua_State *L) {
    double weights[PTX_GENE_KINDS];
    PtxBase *b = check_ptx(L, 1);
    gi_rng *rng = bind_check_rng(L, 2);
    const double *w = read_weights(L, 3, weights);
    gi_buf text = {0};
    gi_err err;
    bool drawn = ptx_gene_random(b, rng, w, &text, &err);
    if (drawn) push_buf(L, &text);
    gi_buf_free(&text);
    return drawn ? 1 : bind_failed(L, &err);
}

static int to_string(lua_State *L) {
    PtxBase *b = *(PtxBase **)luaL_checkudata(L, 1, CLASS);
    int n = 0;
    for (int i = 0; b && i < ptx_base_module(b)->n_funcs; i++)
        n += ptx_base_module(b)->funcs[i].n_code;
    if (b) lua_pushfstring(L, "PTX of %d instructions", n);
    else lua_pushliteral(L, "PTX (closed)");
    return 1;
}

void bind_ptx(lua_State *L) {
    static const BindRow methods[] = {
        {"apply", apply, "ptx:apply(genes [, other]) -> text, lost | nil, message, code",
         "The PTX with genes, or other PTX that a changed source gave, with those that name what "
         "is "
         "in it; lost: the others, with blanks between."},
        {"instructions", instructions, "ptx:instructions() -> list",
         "Every instruction, { name, text, line, open }: line is that of the source, 0 unknown; "
         "open: it may be copied, deleted, moved, replaced and swapped."},
        {"find", find, "ptx:find(name) -> instruction | nil, message, code",
         "The instruction that is called so: \"<ptx:k.2.7>\"."},
        {"access", kernel_access, "ptx:access(kernel) -> { reads, writes, unknown } | nil",
         "What a kernel may reach whatever its data: reads and writes are each a list of what "
         "addresses are made of, offsets of words of its parameters (numbers among them; other: or "
         "it is memory of its own, or a variable), and variables: any of the module, but for "
         "gilua's own. unknown: and whatever else. nil: there is no such kernel."},
        {"genes", genes, "ptx:genes(genes) -> list | nil, message, code",
         "Genes, each { text, kind, at, from, user, operand }, when all are legal."},
        {"random_gene", random_gene, "ptx:random_gene(rng [, weights]) -> gene",
         "A random legal gene; weights multiply the chance of copy, delete, move, replace, swap, "
         "operand, constant."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__tostring", to_string}, {"__gc", close_ptx}, {"__close", close_ptx}, {NULL, NULL}};
    static const BindRow rows[] = {{"open", open_ptx, "gi.ptx(text) -> ptx | nil, message, code",
                                    "PTX whose instructions genes name: <ptx:KERNEL.BLOCK.N> is "
                                    "the N-th of the BLOCK-th basic "
                                    "block. docs/ptx.md has the genes."},
                                   {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "ptx:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "ptx.", rows);
}
