/* llvm.c - core.llvm: CUDA source to LLVM's intermediate representation, and that to PTX. */
#include "bind/bind.h"

#include <string.h>

#include "llvm/genes.h"

#define CLASS "gilua.llvm"
#define BASE  "gilua.llvm.base"

static void push_buf(lua_State *L, gi_buf *b) {
    lua_pushlstring(L, b->data ? b->data : "", b->len);
    gi_buf_free(b);
}

static int info(lua_State *L) {
    gi_err err;
    Llvm *l = llvm_open(&err);
    if (l == NULL) return bind_failed(L, &err);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, llvm_version(l)), lua_setfield(L, -2, "version");
    lua_pushstring(L, llvm_path(l)), lua_setfield(L, -2, "path");
    lua_pushstring(L, llvm_clang(l)), lua_setfield(L, -2, "clang");
    return 1;
}

/* nil, message, code, log of what clang did not compile. */
static int push_refusal(lua_State *L, const LlvmFront *r) {
    static const char *const codes[] = {"", "compile", "timeout", "crash"};
    lua_pushnil(L);
    if (r->line > 0) lua_pushfstring(L, "line %d: %s", r->line, r->message);
    else lua_pushstring(L, r->message);
    lua_pushstring(L, codes[r->fate]);
    lua_pushstring(L, r->log.data ? r->log.data : "");
    return 4;
}

static int front(lua_State *L) {
    static const char *const known[] = {"target",  "header", "library",
                                        "options", "name",   "limit_s", NULL};
    LlvmSource s = {.text = luaL_checklstring(L, 1, &s.len)};
    lua_settop(L, 2);
    bind_check_options(L, 2, known);
    s.target = bind_option_string(L, 2, "target", "ptx");
    s.header = bind_option_string(L, 2, "header", NULL);
    s.library = bind_option_string(L, 2, "library", NULL);
    s.name = bind_option_string(L, 2, "name", "kernel.cu");
    s.options = bind_option_strings(L, 2, "options");
    s.limit_s = bind_option_number(L, 2, "limit_s", 0);
    luaL_argcheck(L, s.header != NULL, 2, "which header? that of gilua is gilua_llvm.h");
    gi_err err;
    LlvmFront r = {0};
    Llvm *l = llvm_open(&err);
    if (l == NULL || !llvm_front(l, &s, &r, &err)) return bind_failed(L, &err);
    int pushed = 2;
    if (r.fate == LLVM_OK) {
        lua_pushlstring(L, r.bitcode.data, r.bitcode.len);
        lua_pushstring(L, r.log.data ? r.log.data : "");
    } else {
        pushed = push_refusal(L, &r);
    }
    llvm_front_free(&r);
    return pushed;
}

/* --- modules --- */

static LlvmModule *check_module(lua_State *L) {
    LlvmModule *m = *(LlvmModule **)luaL_checkudata(L, 1, CLASS);
    if (m == NULL) luaL_argerror(L, 1, "the module is closed");
    return m;
}

static int open_module(lua_State *L) {
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    LlvmModule **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    Llvm *l = llvm_open(&err);
    if (l) *box = llvm_module_open(l, bytes, len, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int close_module(lua_State *L) {
    LlvmModule **box = luaL_checkudata(L, 1, CLASS);
    llvm_module_close(*box);
    *box = NULL;
    return 0;
}

static int run(lua_State *L) {
    LlvmModule *m = check_module(L);
    const char *passes = luaL_checkstring(L, 2), *target = luaL_checkstring(L, 3);
    gi_err err;
    if (!llvm_module_run(m, passes, target, &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int ptx(lua_State *L) {
    LlvmModule *m = check_module(L);
    gi_buf out = {0};
    gi_err err;
    bool done = llvm_module_ptx(m, luaL_checkstring(L, 2), &out, &err);
    if (done) push_buf(L, &out);
    gi_buf_free(&out);
    return done ? 1 : bind_failed(L, &err);
}

static int bitcode(lua_State *L) {
    gi_buf out = {0};
    llvm_module_write(check_module(L), &out);
    push_buf(L, &out);
    return 1;
}

static int text(lua_State *L) {
    gi_buf out = {0};
    llvm_module_print(check_module(L), &out);
    push_buf(L, &out);
    return 1;
}

/* --- genes --- */

static LlvmBase *check_base(lua_State *L) {
    LlvmBase *b = *(LlvmBase **)luaL_checkudata(L, 1, BASE);
    if (b == NULL) luaL_argerror(L, 1, "the module is closed");
    return b;
}

static int open_base(lua_State *L) {
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    LlvmBase **box = bind_new(L, BASE, sizeof *box, 0);
    gi_err err;
    Llvm *l = llvm_open(&err);
    if (l) *box = llvm_base_open(l, bytes, len, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int collect_base(lua_State *L) {
    LlvmBase **box = luaL_checkudata(L, 1, BASE);
    llvm_base_close(*box);
    *box = NULL;
    return 0;
}

/* The new module keeps the base alive, in whose context it is. */
static int apply(lua_State *L) {
    size_t len = 0;
    LlvmBase *b = check_base(L);
    const char *genes = luaL_checkstring(L, 2), *other = luaL_optlstring(L, 3, NULL, &len);
    LlvmModule **box = bind_new(L, CLASS, sizeof *box, 1);
    gi_buf lost = {0};
    gi_err err;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    *box = llvm_genes_apply(b, genes, other, len, &lost, &err);
    if (*box == NULL) {
        gi_buf_free(&lost);
        return bind_failed(L, &err);
    }
    push_buf(L, &lost);
    return 2;
}

/* { name =, text =, line =, open = } of an instruction. */
static void push_site(lua_State *L, const LlvmBase *b, LlvmSite at) {
    gi_buf name = {0}, words = {0};
    llvm_site_print(b, at, &name);
    llvm_site_text(b, at, &words);
    lua_createtable(L, 0, 4);
    push_buf(L, &name), lua_setfield(L, -2, "name");
    push_buf(L, &words), lua_setfield(L, -2, "text");
    lua_pushinteger(L, llvm_site_line(b, at)), lua_setfield(L, -2, "line");
    lua_pushboolean(L, llvm_site_is_open(b, at)), lua_setfield(L, -2, "open");
}

static int instructions(lua_State *L) {
    LlvmBase *b = check_base(L);
    lua_newtable(L);
    lua_Integer n = 0;
    for (int func = 0; func < llvm_base_funcs(b); func++) {
        for (int i = 0; i < llvm_base_size(b, func); i++) {
            push_site(L, b, (LlvmSite){func, i});
            lua_rawseti(L, -2, ++n);
        }
    }
    return 1;
}

static int find(lua_State *L) {
    LlvmBase *b = check_base(L);
    const char *end;
    LlvmSite at;
    gi_err err;
    if (!llvm_site_parse(b, luaL_checkstring(L, 2), &at, &end, &err)) return bind_failed(L, &err);
    luaL_argcheck(L, *end == '\0', 2, "something follows the name");
    push_site(L, b, at);
    return 1;
}

static void push_gene(lua_State *L, const LlvmBase *b, const LlvmGene *g) {
    gi_buf words = {0};
    llvm_gene_print(b, g, &words);
    lua_createtable(L, 0, 8);
    push_buf(L, &words), lua_setfield(L, -2, "text");
    lua_pushstring(L, llvm_gene_kind_name(g->kind)), lua_setfield(L, -2, "kind");
    push_site(L, b, g->at), lua_setfield(L, -2, "at");
    if (g->kind != LLVM_DELETE && g->kind != LLVM_CONSTANT)
        push_site(L, b, g->from), lua_setfield(L, -2, "from");
    if (g->user.instr >= 0) push_site(L, b, g->user), lua_setfield(L, -2, "user");
    if (g->kind == LLVM_OPERAND || g->kind == LLVM_CONSTANT)
        lua_pushinteger(L, g->operand + 1), lua_setfield(L, -2, "operand");
}

static int genes_of(lua_State *L) {
    LlvmBase *b = check_base(L);
    const char *p = luaL_checkstring(L, 2);
    gi_err err;
    lua_newtable(L);
    for (lua_Integer n = 1; *(p += strspn(p, " \t\n")); n++) {
        LlvmGene g;
        if (!llvm_gene_parse(b, p, &g, &p, &err)) return bind_failed(L, &err);
        push_gene(L, b, &g);
        lua_rawseti(L, -2, n);
    }
    return 1;
}

static LlvmGeneKind kind_of(const char *name) {
    int k = 0;
    while (k < LLVM_GENE_KINDS && strcmp(name, llvm_gene_kind_name((LlvmGeneKind)k)) != 0) k++;
    return (LlvmGeneKind)k;
}

/* weights = { copy = 1, delete = 0.5, … }; kinds left out weigh 1. */
static const double *read_weights(lua_State *L, int index, double weights[LLVM_GENE_KINDS]) {
    if (lua_isnoneornil(L, index)) return NULL;
    luaL_checktype(L, index, LUA_TTABLE);
    for (int k = 0; k < LLVM_GENE_KINDS; k++) weights[k] = 1;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        bool named = lua_type(L, -2) == LUA_TSTRING;
        LlvmGeneKind kind = named ? kind_of(lua_tostring(L, -2)) : LLVM_GENE_KINDS;
        luaL_argcheck(L, kind < LLVM_GENE_KINDS, index,
                      "weights are those of copy, delete, move, replace, swap, operand, constant");
        weights[kind] = luaL_checknumber(L, -1);
        luaL_argcheck(L, weights[kind] >= 0, index, "a weight is negative");
    }
    return weights;
}

static int random_gene(lua_State *L) {
    double weights[LLVM_GENE_KINDS];
    LlvmBase *b = check_base(L);
    gi_rng *rng = bind_check_rng(L, 2);
    const double *w = read_weights(L, 3, weights);
    gi_buf words = {0};
    gi_err err;
    bool drawn = llvm_gene_random(b, rng, w, &words, &err);
    if (drawn) push_buf(L, &words);
    gi_buf_free(&words);
    return drawn ? 1 : bind_failed(L, &err);
}

static int base_to_string(lua_State *L) {
    LlvmBase *b = *(LlvmBase **)luaL_checkudata(L, 1, BASE);
    int n = 0;
    for (int i = 0; b && i < llvm_base_funcs(b); i++) n += llvm_base_size(b, i);
    if (b) lua_pushfstring(L, "LLVM module of %d instructions", n);
    else lua_pushliteral(L, "LLVM module (closed)");
    return 1;
}

static void bind_base(lua_State *L) {
    static const BindRow methods[] = {
        {"apply", apply, "llvm:apply(genes [, other]) -> module, lost | nil, message, code",
         "The module with genes, or another that a changed source gave, as bitcode, with those "
         "that name what is in it; lost: the others, with blanks between. module:ptx(target) makes "
         "PTX of it."},
        {"instructions", instructions, "llvm:instructions() -> list",
         "Every instruction, { name, text, line, open }: line is that of the source, 0 unknown; "
         "open: it may be copied, deleted, moved, replaced and swapped."},
        {"find", find, "llvm:find(name) -> instruction | nil, message, code",
         "The instruction that is called so: \"<llvm:k.2.7>\"."},
        {"genes", genes_of, "llvm:genes(genes) -> list | nil, message, code",
         "Genes, each { text, kind, at, from, user, operand }, when all are legal."},
        {"random_gene", random_gene, "llvm:random_gene(rng [, weights]) -> gene",
         "A random legal gene; weights multiply the chance of copy, delete, move, replace, swap, "
         "operand, constant."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__tostring", base_to_string}, {"__gc", collect_base}, {NULL, NULL}};
    bind_class(L, BASE, "llvm:", methods, meta);
}

void bind_llvm(lua_State *L) {
    static const BindRow methods[] = {
        {"run", run, "module:run(passes, target) -> true | nil, message, code",
         "Runs passes, with commas between: O0 O1 O2 O3 Os Oz, or names as opt -passes= takes "
         "them."},
        {"ptx", ptx, "module:ptx(target) -> text | nil, message, code",
         "The module as PTX for \"ptx\", \"compute_90\" or \"sm_90\"; it is of no more use then."},
        {"bitcode", bitcode, "module:bitcode() -> bytes", "The module as LLVM's bitcode."},
        {"close", close_module, "module:close()", "Gives its memory back now."},
        {"text", text, "module:text() -> string", "The module in LLVM's assembly language."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", close_module}, {"__close", close_module}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"info", info, "core.llvm.info() -> { version, path, clang } | nil, message, code",
         "The LLVM library in use, and clang of its version (nil where there is none)."},
        {"front", front,
         "core.llvm.front(source, {target, header, options, name, limit_s}) -> bitcode, log | nil, "
         "message, code, log",
         "CUDA source as unoptimised LLVM bitcode, by clang; options are NVRTC's. \"compile\", "
         "\"timeout\" and \"crash\" are the source's fate."},
        {"open", open_module, "core.llvm.open(bytes) -> module | nil, message, code",
         "A module of LLVM, from bitcode or its assembly language."},
        {"base", open_base, "gi.llvm(bitcode) -> llvm | nil, message, code",
         "A module of LLVM whose instructions genes name: <llvm:KERNEL.BLOCK.N> is the N-th of the "
         "BLOCK-th basic block. docs/llvm.md has the genes."},
        {NULL, NULL, NULL, NULL}};
    bind_base(L);
    bind_class(L, CLASS, "module:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "llvm.", rows);
}
