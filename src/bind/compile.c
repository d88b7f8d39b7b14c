/* compile.c - gi.compile: CUDA source to PTX or machine code. The compiler is opened once. */
#include "bind/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/cubin.h"
#include "compile/link.h"
#include "ptx/ptx.h"

#define KEY "gilua.compiler"

static int close_compiler(lua_State *L) {
    Compiler **box = luaL_checkudata(L, 1, KEY);
    if (*box) compile_close(*box);
    *box = NULL;
    return 0;
}

static Compiler *open_compiler(lua_State *L, gi_err *err) {
    if (lua_getfield(L, LUA_REGISTRYINDEX, KEY ".one") != LUA_TUSERDATA) {
        Compiler **box = bind_new(L, KEY, sizeof *box, 0);
        lua_replace(L, -2);
        *box = compile_open(err);
        if (*box) lua_pushvalue(L, -1), lua_setfield(L, LUA_REGISTRYINDEX, KEY ".one");
    }
    Compiler *c = *(Compiler **)lua_touserdata(L, -1);
    lua_pop(L, 1);
    return c;
}

static void read_options(lua_State *L, int index, CompileOptions *o) {
    static const char *const known[] = {"target",    "defines", "include", "options",
                                        "line_info", "name",    NULL};
    bind_check_options(L, index, known);
    o->target = bind_option_string(L, index, "target", "ptx");
    o->defines = bind_option_strings(L, index, "defines");
    o->includes = bind_option_strings(L, index, "include");
    o->options = bind_option_strings(L, index, "options");
    o->line_info = bind_option_bool(L, index, "line_info", true);
}

/* text, log | nil, first error with its line, "compile", log */
static int push_result(lua_State *L, const CompileResult *r) {
    const char *log = r->log.data ? r->log.data : "";
    if (r->ok) {
        lua_pushlstring(L, r->code.data ? r->code.data : "", r->code.len);
        lua_pushstring(L, log);
        return 2;
    }
    lua_pushnil(L);
    for (int i = 0; i < r->n_messages; i++) {
        if (!r->messages[i].is_error) continue;
        lua_pushfstring(L, "line %d: %s", r->messages[i].line, r->messages[i].text);
        break;
    }
    if (lua_isnil(L, -1)) lua_pushstring(L, *log ? log : "the compiler gave no reason");
    lua_pushliteral(L, "compile");
    lua_pushstring(L, log);
    return 4;
}

static int compile(lua_State *L) {
    size_t len;
    CompileOptions o = {0};
    const char *source = luaL_checklstring(L, 1, &len);
    lua_settop(L, 2);
    read_options(L, 2, &o);
    const char *name = bind_option_string(L, 2, "name", "kernel.cu");
    gi_err err;
    Compiler *c = open_compiler(L, &err);
    if (c == NULL) return bind_failed(L, &err);
    CompileResult r = {0};
    if (!compile_one(c, source, len, name, &o, &r, &err)) return bind_failed(L, &err);
    int n = push_result(L, &r);
    compile_result_free(&r);
    return n;
}

/* Where a unit is in the machine code, into the table on the top. */
static void set_place(lua_State *L, const CompileResult *r) {
    char hex[17];
    lua_pushinteger(L, r->image + 1), lua_setfield(L, -2, "image");
    lua_pushstring(L, r->tag), lua_setfield(L, -2, "tag");
    if (r->code_hash == 0) return;
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)r->code_hash);
    lua_pushstring(L, hex), lua_setfield(L, -2, "code_hash");
}

static void push_images(lua_State *L, CompileImages *images) {
    lua_createtable(L, images->n, 0);
    for (int i = 0; i < images->n; i++) {
        lua_pushlstring(L, images->v[i].data, images->v[i].len);
        lua_rawseti(L, -2, i + 1);
    }
    compile_images_free(images);
}

static void push_batch(lua_State *L, CompileResult *results, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 2);
        int entry = lua_gettop(L);
        int pushed = push_result(L, &results[i]);
        lua_setfield(L, entry, "log");  /* last in both forms */
        if (pushed == 4) lua_pop(L, 1); /* "compile" */
        lua_setfield(L, entry, pushed == 4 ? "message" : "code");
        lua_settop(L, entry);
        if (results[i].ok && results[i].tag[0]) set_place(L, &results[i]);
        lua_rawseti(L, -2, i + 1);
        compile_result_free(&results[i]);
    }
}

static int batch(lua_State *L) {
    CompileOptions o = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    int n = (int)luaL_len(L, 1);
    luaL_argcheck(L, n > 0, 1, "the list is empty");
    read_options(L, 2, &o);
    CompileUnit *units = lua_newuserdatauv(L, (size_t)n * sizeof *units, 0);
    CompileResult *results = lua_newuserdatauv(L, (size_t)n * sizeof *results, 0);
    bind_room(L, 5 * n + 20, "units");
    for (int i = 0; i < n; i++) {
        results[i] = (CompileResult){0};
        luaL_argcheck(L, lua_geti(L, 1, i + 1) == LUA_TTABLE, 1, "units are { source =, names = }");
        int unit = lua_gettop(L);
        units[i].source = bind_option_string(L, unit, "source", NULL);
        luaL_argcheck(L, units[i].source != NULL, 1, "a unit has no source");
        units[i].len = lua_rawlen(L, -1);
        units[i].names = bind_option_strings(L, unit, "names");
        units[i].kernel = bind_option_string(L, unit, "kernel", NULL);
    }
    gi_err err;
    CompileImages images = {0};
    bool machine_code = strncmp(o.target, "sm_", 3) == 0;
    Compiler *c = open_compiler(L, &err);
    if (c == NULL || !compile_batch(c, units, n, &o, results, machine_code ? &images : NULL, &err))
        return bind_failed(L, &err);
    push_batch(L, results, n);
    if (machine_code) push_images(L, &images), lua_setfield(L, -2, "images");
    return 1;
}

/* The linker is opened once and stays: opening it again would find the same one. */
static Linker *open_linker(gi_err *err) {
    static Linker *linker;
    if (linker == NULL) linker = link_open(err);
    return linker;
}

static int link_modules(lua_State *L) {
    static const char *const known[] = {"target", "options", NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    bind_check_options(L, 2, known);
    const char *target = bind_option_string(L, 2, "target", NULL);
    luaL_argcheck(L, target != NULL, 2, "which target? \"sm_90\", for one");
    const char *const *options = bind_option_strings(L, 2, "options");
    int n = (int)luaL_len(L, 1);
    luaL_argcheck(L, n > 0, 1, "the list is empty");
    bind_room(L, n + 10, "modules");
    LinkModule *modules = lua_newuserdatauv(L, (size_t)n * sizeof *modules, 0);
    for (int i = 0; i < n; i++) {
        luaL_argcheck(L, lua_geti(L, 1, i + 1) == LUA_TSTRING, 1, "modules are PTX, as strings");
        modules[i] = (LinkModule){.name = NULL};
        modules[i].ptx = lua_tolstring(L, -1, &modules[i].len);
    }
    gi_err err;
    LinkResult r = {0};
    Linker *l = open_linker(&err);
    if (l == NULL || !link_ptx(l, modules, n, target, options, &r, &err))
        return bind_failed(L, &err);
    if (r.ok) lua_pushlstring(L, r.code.data, r.code.len);
    else lua_pushnil(L);
    lua_pushstring(L, r.log.data ? r.log.data : "");
    if (!r.ok) lua_pushliteral(L, "compile");
    int pushed = r.ok ? 2 : 3;
    link_result_free(&r);
    return pushed;
}

static int linker(lua_State *L) {
    gi_err err;
    int major, minor;
    Linker *l = open_linker(&err);
    if (l == NULL) return bind_failed(L, &err);
    link_version(l, &major, &minor);
    lua_createtable(L, 0, 2);
    lua_pushfstring(L, "%d.%d", major, minor), lua_setfield(L, -2, "version");
    lua_pushstring(L, link_path(l)), lua_setfield(L, -2, "path");
    return 1;
}

static int trouble(lua_State *L) {
    gi_err err;
    Compiler *c = open_compiler(L, &err);
    if (c == NULL) return bind_failed(L, &err);
    lua_pushstring(L, compile_trouble(c)); /* NULL is nil */
    return 1;
}

static int keep_headers(lua_State *L) {
    gi_err err;
    const char *standing = luaL_optstring(L, 1, NULL);
    Compiler *c = open_compiler(L, &err);
    if (c == NULL) return bind_failed(L, &err);
    lua_pushboolean(L, compile_keep_headers(c, standing));
    return 1;
}

static void push_strings(lua_State *L, const char *const *v) {
    lua_newtable(L);
    for (int i = 0; v[i]; i++) lua_pushstring(L, v[i]), lua_rawseti(L, -2, i + 1);
}

static int info(lua_State *L) {
    gi_err err;
    Compiler *c = open_compiler(L, &err);
    if (c == NULL) return bind_failed(L, &err);
    int major, minor;
    compile_version(c, &major, &minor);
    lua_createtable(L, 0, 5);
    lua_pushfstring(L, "%d.%d", major, minor), lua_setfield(L, -2, "version");
    lua_pushstring(L, *compile_includes(c)), lua_setfield(L, -2, "include"); /* NULL is nil */
    push_strings(L, compile_includes(c)), lua_setfield(L, -2, "includes");
    lua_pushboolean(L, compile_can_keep_headers(c)), lua_setfield(L, -2, "keeps_headers");
    lua_pushstring(L, compile_path(c)), lua_setfield(L, -2, "path");
    lua_newtable(L);
    const int *targets = compile_targets(c);
    for (int i = 0; targets[i]; i++) lua_pushinteger(L, targets[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "targets");
    return 1;
}

static int libdevice(lua_State *L) {
    gi_err err;
    const char *path = compile_libdevice(&err);
    if (path == NULL) return bind_failed(L, &err);
    lua_pushstring(L, path);
    return 1;
}

static int cupti(lua_State *L) {
    gi_err err;
    const char *path = compile_cupti(&err);
    if (path == NULL) return bind_failed(L, &err);
    lua_pushstring(L, path);
    return 1;
}

static int canonical_hash(lua_State *L) {
    size_t len;
    const char *code = luaL_checklstring(L, 1, &len);
    gi_buf text = {0};
    char hex[33];
    ptx_canonical(code, len, &text);
    gi_hash128(text.data, text.len, hex);
    gi_buf_free(&text);
    lua_pushstring(L, hex);
    return 1;
}

/* The variables of machine code, as a list of { name, bytes, constant, initialised }. */
static int variables(lua_State *L) {
    size_t len;
    gi_err err;
    CubinSymbol *symbols;
    const char *image = luaL_checklstring(L, 1, &len);
    int n = cubin_symbols(image, len, &symbols, &err);
    if (n < 0) return bind_failed(L, &err);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 4);
        lua_pushstring(L, symbols[i].name), lua_setfield(L, -2, "name");
        lua_pushinteger(L, (lua_Integer)symbols[i].size), lua_setfield(L, -2, "bytes");
        lua_pushboolean(L, symbols[i].constant), lua_setfield(L, -2, "constant");
        lua_pushboolean(L, symbols[i].initialised), lua_setfield(L, -2, "initialised");
        lua_rawseti(L, -2, i + 1);
    }
    cubin_symbols_free(symbols, n);
    return 1;
}

/* The hash covers all variables of an image, so that a kernel differs from one with others. */
static int code_hash(lua_State *L) {
    size_t len;
    const char *image = luaL_checklstring(L, 1, &len), *kernel = luaL_checkstring(L, 2);
    gi_err err;
    CubinSymbol *symbols;
    uint64_t hash;
    char hex[17];
    int n = cubin_symbols(image, len, &symbols, &err);
    if (n < 0) return bind_failed(L, &err);
    const char **names = gi_alloc(((size_t)n + 1) * sizeof *names);
    for (int i = 0; i < n; i++) names[i] = symbols[i].name;
    bool known = cubin_code_hash(image, len, kernel, names, &hash, &err);
    free(names);
    cubin_symbols_free(symbols, n);
    if (!known) return bind_failed(L, &err);
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)hash);
    lua_pushstring(L, hex);
    return 1;
}

void bind_compile(lua_State *L) {
    static const luaL_Reg meta[] = {{"__gc", close_compiler}, {NULL, NULL}};
    static const BindRow none[] = {{NULL, NULL, NULL, NULL}};
    static const BindRow rows[] = {
        {"compile", compile,
         "gi.compile(source [, options]) -> code, log | nil, message, code, log",
         "Compiles CUDA source to PTX (target \"ptx\" or \"compute_90\") or machine code "
         "(\"sm_90\"); "
         "options: target, defines, include, options, line_info, name. A worker of its own does "
         "it: one that dies, takes too long or too much memory is a message, and Ctrl-C ends it."},
        {"batch", batch, "gi.compile.batch(units [, options]) -> list | nil, message, code",
         "Compiles many { source =, names =, kernel = } in one call, to { code, log } or "
         "{ message, log } each. To machine code: code is PTX; the list's images hold the machine "
         "code, image (an index), tag and code_hash say where the unit is."},
        {"keep_headers", keep_headers,
         "core.compile.keep_headers([folder]) -> boolean | nil, message, code",
         "From now on large headers that many sources begin with are compiled once, for this "
         "process; what comes of a source is the same. Of a source alone those count that stay as "
         "they are: CUDA's, and those of a folder. The compiler writes to $TMPDIR for it, which "
         "must be nobody else's. False where NVRTC cannot do it (before 12.8)."},
        {"link", link_modules,
         "core.compile.link(modules, options) -> code, log | nil, message, code",
         "Assembles PTX by nvJitLink and links it into one image of machine code; modules: a list "
         "of texts, options: target (\"sm_90\"), options."},
        {"linker", linker, "core.compile.linker() -> { version, path } | nil, message, code",
         "What nvJitLink is in use."},
        {"code_hash", code_hash,
         "core.compile.code_hash(image, kernel) -> string | nil, message, code",
         "A hash that is equal for machine code that does the same: the kernel's instructions and "
         "all that they may refer to."},
        {"variables", variables, "core.compile.variables(image) -> list | nil, message, code",
         "The variables of machine code: { name, bytes, constant, initialised } each."},
        {"canonical_hash", canonical_hash, "core.compile.canonical_hash(ptx) -> string",
         "A hash that is equal for PTX that differs only in line information and comments."},
        {"trouble", trouble, "core.compile.trouble() -> string|nil",
         "What the compiler has said of a failure of its own: what it says since then only another "
         "process can confirm."},
        {"info", info,
         "gi.compile.info() -> { version, path, include, includes, targets, keeps_headers } | nil, "
         "message, code",
         "What compiler is in use; include: the folder of CUDA's headers, or nil; includes: it and "
         "the folders of what they include."},
        {"cupti", cupti, "core.compile.cupti() -> path | nil, message, code",
         "CUPTI, CUDA's library for tools, which programs are recorded by on a GPU."},
        {"libdevice", libdevice, "core.compile.libdevice() -> path | nil, message, code",
         "CUDA's mathematical functions for LLVM: the file libdevice.10.bc."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, KEY, "compile:", none, meta);
    lua_newtable(L);
    bind_rows(L, "compile.", rows);
}
