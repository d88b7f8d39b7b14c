/* repl.c - the prompt: reads a chunk (over several lines while it is incomplete), runs it, prints
** what it returns. Errors print and the prompt goes on. */
#include "host/host.h"

#include <stdio.h>
#include <string.h>

#define EOF_MARK "<eof>"

/* A chunk that stops too early fails with a message that ends in <eof>. */
static bool is_incomplete(lua_State *L, int status) {
    if (status != LUA_ERRSYNTAX) return false;
    size_t len, mark = sizeof EOF_MARK - 1;
    const char *message = lua_tolstring(L, -1, &len);
    return len >= mark && strcmp(message + len - mark, EOF_MARK) == 0;
}

/* Pushes one line without its newline; false at the end of input. */
static bool push_line(lua_State *L, const char *prompt) {
    char chunk[512];
    luaL_Buffer b;
    fputs(prompt, stdout);
    fflush(stdout);
    luaL_buffinit(L, &b);
    bool any = false, whole = false;
    while (!whole && fgets(chunk, sizeof chunk, stdin)) {
        size_t n = strlen(chunk);
        whole = n > 0 && chunk[n - 1] == '\n';
        luaL_addlstring(&b, chunk, whole ? n - 1 : n);
        any = true;
    }
    luaL_pushresult(&b);
    if (!any) lua_pop(L, 1);
    return any;
}

/* Compiles the line at index 1 as an expression if it is one. */
static int load_expression(lua_State *L) {
    lua_pushfstring(L, "return %s", lua_tostring(L, 1));
    int status = luaL_loadbuffer(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=stdin");
    lua_remove(L, -2); /* the text */
    if (status != LUA_OK) lua_pop(L, 1);
    return status;
}

static int load_statement(lua_State *L) {
    for (;;) {
        size_t len;
        const char *text = lua_tolstring(L, 1, &len);
        int status = luaL_loadbuffer(L, text, len, "=stdin");
        if (!is_incomplete(L, status)) return status;
        if (!push_line(L, ">> ")) return status;
        lua_remove(L, -2); /* the message */
        lua_pushfstring(L, "%s\n%s", lua_tostring(L, 1), lua_tostring(L, -1));
        lua_replace(L, 1);
        lua_settop(L, 1);
    }
}

static void print_results(lua_State *L) {
    int n = lua_gettop(L);
    if (n == 0) return;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getglobal(L, "print");
    lua_insert(L, 1);
    host_report(L, host_call(L, n, 0));
}

void host_repl(lua_State *L) {
    lua_settop(L, 0);
    while (push_line(L, "> ")) {
        int status = load_expression(L);
        if (status != LUA_OK) status = load_statement(L);
        lua_remove(L, 1); /* the text */
        if (status == LUA_OK) status = host_call(L, 0, LUA_MULTRET);
        if (status == LUA_OK) print_results(L);
        else host_report(L, status);
        lua_settop(L, 0);
    }
    fputs("\n", stdout);
}
