/* precompile.c - a program for the build: compiles Lua modules for modules.h.
**
**     precompile FOLDER FILE...    the modules of FOLDER, which the files lie below, to standard
**                                  output, in the order that they are named in
*/
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/modules.h"

static int fail(const char *file, const char *why) {
    fprintf(stderr, "precompile: %s: %s\n", file, why);
    return EXIT_FAILURE;
}

static int add(lua_State *L, const void *bytes, size_t n, void *to) {
    (void)L;
    gi_buf_add(to, bytes, n);
    return 0;
}

/* "lua/gilua/base/trace.lua" below "lua" as "gilua.base.trace"; init.lua by its folder's name. */
static void add_name(const char *folder, const char *file, gi_buf *out) {
    const char *from = file + strlen(folder) + 1;
    size_t len = strlen(from) - strlen(".lua");
    if (len > 5 && strncmp(from + len - 5, "/init", 5) == 0) len -= 5;
    for (size_t i = 0; i < len; i++) gi_buf_add(out, from[i] == '/' ? "." : from + i, 1);
    gi_buf_add(out, "", 1);
}

/* What modules.c relies on: behind the head is the name "@", as lua_dump writes a text of one. */
static const char NAMED[] = {(char)0x82, '@'};

/* NULL, or what is wrong. */
static const char *compile(lua_State *L, const char *text, size_t len, Module *m, gi_buf *out) {
    gi_buf code = {0};
    if (luaL_loadbufferx(L, text, len, "@", "t") != LUA_OK) return lua_tostring(L, -1);
    lua_dump(L, add, &code, 0);
    lua_pop(L, 1);
    const bool known = code.len > MODULE_HEAD + sizeof NAMED &&
                       memcmp(code.data + MODULE_HEAD, NAMED, sizeof NAMED) == 0;
    if (known) {
        m->hash = gi_hash(text, len, 0);
        m->len = len;
        m->code = out->len;
        m->code_len = code.len - sizeof NAMED;
        gi_buf_add(out, code.data, MODULE_HEAD);
        gi_buf_add(out, code.data + MODULE_HEAD + sizeof NAMED, m->code_len - MODULE_HEAD);
    }
    gi_buf_free(&code);
    return known ? NULL : "this Lua writes compiled code in a form that modules.c does not know";
}

static const char *add_module(lua_State *L, const char *folder, const char *file, Module *m,
                              gi_buf *out) {
    gi_err err;
    gi_buf text = {0};
    if (!gi_read_file(file, &text, &err)) return lua_pushstring(L, err.message);
    m->name = out->len;
    add_name(folder, file, out);
    const char *wrong = compile(L, text.data, text.len, m, out);
    gi_buf_free(&text);
    return wrong;
}

int main(int argc, char **argv) {
    if (argc < 3) return fail("usage", "precompile FOLDER FILE...");
    lua_State *L = luaL_newstate();
    Modules all = {.n = (uint64_t)argc - 2};
    Module *list = gi_alloc((size_t)all.n * sizeof *list);
    gi_buf bytes = {0};
    snprintf(all.lua, sizeof all.lua, "%s", lua_ident);
    int status = EXIT_SUCCESS;
    for (int i = 2; i < argc && status == EXIT_SUCCESS; i++) {
        const char *wrong = add_module(L, argv[1], argv[i], &list[i - 2], &bytes);
        if (wrong) status = fail(argv[i], wrong);
    }
    fwrite(&all, sizeof all, 1, stdout);
    fwrite(list, sizeof *list, (size_t)all.n, stdout);
    fwrite(bytes.data, 1, bytes.len, stdout);
    if (fclose(stdout) != 0) status = fail("standard output", "it cannot be written");
    free(list);
    gi_buf_free(&bytes);
    lua_close(L);
    return status;
}
