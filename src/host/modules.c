/* modules.c - see modules.h. A searcher before Lua's own, and one behind them. */
#include "host/modules.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

/* What precompile.c wrote; of no size where it could not run. */
extern const char modules_compiled[];
extern const uint64_t modules_size;

/* NULL where it is not among them, or another Lua is loaded than the one that compiled them. */
static const Module *find(const char *name) {
    const Modules *all = (const void *)modules_compiled;
    if (modules_size == 0 || strcmp(all->lua, lua_ident) != 0) return NULL;
    const Module *list = (const void *)(all + 1);
    const char *bytes = (const char *)(list + all->n);
    for (uint64_t i = 0; i < all->n; i++)
        if (strcmp(bytes + list[i].name, name) == 0) return &list[i];
    return NULL;
}

static bool has_text(const char *path, const Module *m) {
    gi_buf text = {0};
    const bool same = gi_read_file(path, &text, NULL) && text.len == m->len &&
                      gi_hash(text.data, text.len, 0) == m->hash;
    gi_buf_free(&text);
    return same;
}

/* Code in pieces, with the file's name between its head and the rest: the length, as lua_dump
** writes it (plus one, in units of seven bits, the last one marked), and the bytes. */
typedef struct Reading {
    const char *at[5]; /* NULL-ended */
    size_t n[5];
    int next;
    char length[10];
} Reading;

static void add_piece(Reading *r, const char *at, size_t n) {
    r->at[r->next] = at;
    r->n[r->next++] = n;
}

static const char *read_piece(lua_State *L, void *at, size_t *n) {
    (void)L;
    Reading *r = at;
    *n = r->n[r->next];
    return r->at[r->next++];
}

static int load(lua_State *L, const Module *m, const char *chunk) {
    const Modules *all = (const void *)modules_compiled;
    const char *code = (const char *)((const Module *)(all + 1) + all->n) + m->code;
    Reading r = {0};
    size_t first = sizeof r.length;
    for (size_t left = strlen(chunk) + 1; left; left >>= 7) r.length[--first] = (char)(left & 0x7f);
    r.length[sizeof r.length - 1] |= (char)0x80;
    add_piece(&r, code, MODULE_HEAD);
    add_piece(&r, r.length + first, sizeof r.length - first);
    add_piece(&r, chunk, strlen(chunk));
    add_piece(&r, code + MODULE_HEAD, m->code_len - MODULE_HEAD);
    r.next = 0;
    return lua_load(L, read_piece, &r, chunk, "b");
}

/* searcher(name): a loader and its file, or nothing; Lua's own searchers come next. */
static int search(lua_State *L) {
    const Module *m = find(luaL_checkstring(L, 1));
    if (m == NULL) return 0;
    lua_getfield(L, lua_upvalueindex(1), "searchpath");
    lua_pushvalue(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING) return 0;
    lua_call(L, 2, 1);
    const char *path = lua_tostring(L, -1);
    if (path == NULL || !has_text(path, m)) return 0;
    const char *chunk = lua_pushfstring(L, "@%s", path);
    if (load(L, m, chunk) != LUA_OK) return lua_error(L);
    lua_pushstring(L, path);
    return 2;
}

/* The last searcher: Lua takes a module's file that cannot be opened for one that is not there. It
** is opened once more; what is in its way then is the error, and no memory is Lua's own. */
static int search_unopened(lua_State *L) {
    const char *name = luaL_gsub(L, luaL_checkstring(L, 1), ".", LUA_DIRSEP);
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "path");
    const char *at = luaL_optstring(L, -1, "");
    while (*at) {
        size_t len = strcspn(at, ";");
        const char *path = luaL_gsub(L, lua_pushlstring(L, at, len), "?", name);
        if (access(path, F_OK) == 0) {
            int status = luaL_loadfile(L, path);
            if (status == LUA_OK) return lua_pushstring(L, path), 2;
            if (status == LUA_ERRFILE && errno == ENOMEM) luaL_error(L, "not enough memory");
            return lua_error(L);
        }
        lua_pop(L, 2); /* template, path */
        at += len + (at[len] == ';');
    }
    return 0;
}

void modules_offer(lua_State *L) {
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) { /* behind that of package.preload */
        lua_geti(L, -1, i);
        lua_seti(L, -2, i + 1);
    }
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, search, 1);
    lua_seti(L, -2, 2);
    lua_pushcfunction(L, search_unopened);
    lua_seti(L, -2, luaL_len(L, -2) + 1);
    lua_pop(L, 2);
}
