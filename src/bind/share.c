/* share.c - shares of arrays (array/share.h) as Lua sees them. */
#include "bind/bind.h"

#include <string.h>

#include "array/share.h"

#define CLASS "gilua.share"

/* A share is a few bytes to Lua but a descriptor to the system, which may allow no more than 1024
** of them: past so many at once, garbage is collected before another is made. */
#define MANY 128
static int live;
static int next_collection = MANY;

static Share *check_share(lua_State *L, int index) {
    Share *s = *(Share **)luaL_checkudata(L, index, CLASS);
    if (s == NULL) luaL_argerror(L, index, "the share is closed");
    return s;
}

Share *bind_optional_share(lua_State *L, int index) {
    return lua_isnoneornil(L, index) ? NULL : check_share(L, index);
}

Share **bind_new_share(lua_State *L) {
    if (live >= next_collection) {
        lua_gc(L, LUA_GCCOLLECT);
        next_collection = 2 * live > MANY ? 2 * live : MANY;
    }
    return bind_new(L, CLASS, sizeof(Share *), 0);
}

void bind_set_share(Share **box, Share *s) {
    *box = s;
    live += s != NULL;
}

static int close_share(lua_State *L) {
    Share **box = luaL_checkudata(L, 1, CLASS);
    live -= *box != NULL;
    share_unref(*box);
    *box = NULL;
    return 0;
}

static int share_create(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 1);
    luaL_argcheck(L, n >= 1 && n <= SHARE_MAX_ARRAYS, 1, "a list of 1 to 4096 arrays is needed");
    Array **arrays = lua_newuserdatauv(L, (size_t)n * sizeof(Array *), 0);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, 1, i);
        arrays[i - 1] = bind_test_array(L, -1); /* the list keeps it alive */
        if (arrays[i - 1] == NULL) luaL_error(L, "element %I of the list is no open array", i);
        lua_pop(L, 1);
    }
    gi_err err;
    Share **box = bind_new_share(L);
    Share *s = share_new(arrays, (int)n, &err);
    if (s == NULL) return bind_failed(L, &err);
    bind_set_share(box, s);
    return 1;
}

static int share_views(lua_State *L) {
    Share *s = check_share(L, 1);
    int n = share_count(s);
    Array **arrays = lua_newuserdatauv(L, (size_t)n * sizeof *arrays, 0);
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
        bind_push_array(L, NULL);
        lua_rawseti(L, -2, i);
    }
    gi_err err;
    if (!share_arrays(s, arrays, &err)) return bind_failed(L, &err);
    for (int i = 1; i <= n; i++) { /* nothing here can fail: no array is lost */
        lua_rawgeti(L, -1, i);
        *(Array **)lua_touserdata(L, -1) = arrays[i - 1];
        lua_pop(L, 1);
    }
    return 1;
}

static int size_of(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)share_bytes(check_share(L, 1)));
    return 1;
}

static int to_string(lua_State *L) {
    Share *s = *(Share **)luaL_checkudata(L, 1, CLASS);
    if (s == NULL) lua_pushliteral(L, "share (closed)");
    else
        lua_pushfstring(L, "share of %d arrays, %I bytes", share_count(s),
                        (lua_Integer)share_bytes(s));
    return 1;
}

void bind_share(lua_State *L) {
    static const BindRow methods[] = {
        {"arrays", share_views, "share:arrays() -> list | nil, message, code",
         "The arrays again, without a copy: each call gives views of its own, and what is written "
         "to them nobody else sees."},
        {"bytes", size_of, "share:bytes() -> integer", "Its size in memory."},
        {"close", close_share, "share:close()",
         "Gives the descriptor back; arrays made of it stay valid."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__tostring", to_string}, {"__gc", close_share}, {"__close", close_share}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"share", share_create, "core.array.share(arrays) -> share | nil, message, code",
         "A copy of the arrays in memory that other processes can map; it goes to a worker with a "
         "message."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "share:", methods, meta);
    bind_rows(L, "array.", rows);
}
