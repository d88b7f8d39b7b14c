/* llvm.c - core.llvm: CUDA source to LLVM's intermediate representation, and that to PTX. */
#include "bind/bind.h"
#include "llvm/llvm.h"

#define CLASS "gilua.llvm"

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
    static const char *const known[] = {"target", "header", "options", "name", "limit_s", NULL};
    LlvmSource s = {.text = luaL_checklstring(L, 1, &s.len)};
    lua_settop(L, 2);
    bind_check_options(L, 2, known);
    s.target = bind_option_string(L, 2, "target", "ptx");
    s.header = bind_option_string(L, 2, "header", NULL);
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

void bind_llvm(lua_State *L) {
    static const BindRow methods[] = {
        {"run", run, "module:run(passes, target) -> true | nil, message, code",
         "Runs passes, with commas between: O0 O1 O2 O3 Os Oz, or names as opt -passes= takes "
         "them."},
        {"ptx", ptx, "module:ptx(target) -> text | nil, message, code",
         "The module as PTX for \"ptx\", \"compute_90\" or \"sm_90\"; it is of no more use then."},
        {"bitcode", bitcode, "module:bitcode() -> bytes", "The module as LLVM's bitcode."},
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
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "module:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "core.llvm.", rows);
}
