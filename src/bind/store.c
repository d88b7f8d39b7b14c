/* store.c - core.store: databases. */
#include "store/store.h"

#include "bind/bind.h"

#define CLASS "gilua.store"

static Store *check_store(lua_State *L) {
    Store *s = *(Store **)luaL_checkudata(L, 1, CLASS);
    luaL_argcheck(L, s, 1, "the database is closed");
    return s;
}

static int open_store(lua_State *L) {
    static const char *const known[] = {"read_only", NULL};
    const char *path = luaL_checkstring(L, 1);
    bind_check_options(L, 2, known);
    bool read_only = bind_option_bool(L, 2, "read_only", false);
    Store **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    *box = store_open(path, read_only, &err);
    if (*box == NULL) return bind_failed(L, &err);
    store_stop_when(*box, &bind_interrupted);
    return 1;
}

static int close_store(lua_State *L) {
    Store **box = luaL_checkudata(L, 1, CLASS);
    store_close(*box);
    *box = NULL;
    return 0;
}

static int execute(lua_State *L) {
    Store *s = check_store(L);
    gi_err err;
    if (!store_execute(s, luaL_checkstring(L, 2), &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* A value for parameter i; false where it is of no kind that a database has. */
static bool bind_value(lua_State *L, StoreStatement *t, int i, int index) {
    size_t len;
    const char *bytes;
    switch (lua_type(L, index)) {
    case LUA_TNIL: return true;
    case LUA_TBOOLEAN: store_bind_int(t, i, lua_toboolean(L, index)); return true;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index)) store_bind_int(t, i, lua_tointeger(L, index));
        else store_bind_number(t, i, lua_tonumber(L, index));
        return true;
    case LUA_TSTRING:
        bytes = lua_tolstring(L, index, &len);
        store_bind_text(t, i, bytes, len);
        return true;
    default: return false;
    }
}

/* The statement with so many parameters given; NULL where there is none. Raises for too many. */
static StoreStatement *prepare_for(lua_State *L, Store *s, const char *sql, int given,
                                   gi_err *err) {
    StoreStatement *t = store_prepare(s, sql, err);
    if (t != NULL && given > store_parameters(t))
        luaL_error(L, "the statement has %d parameters, not %d", store_parameters(t), given);
    return t;
}

/* The statement of argument 2 with parameters from the arguments after it. NULL: the answer to the
** caller is on the stack. */
static StoreStatement *prepare(lua_State *L, Store *s) {
    gi_err err;
    int given = lua_gettop(L) - 2;
    StoreStatement *t = prepare_for(L, s, luaL_checkstring(L, 2), given, &err);
    if (t == NULL) return bind_failed(L, &err), NULL;
    for (int i = 1; i <= given; i++) {
        if (bind_value(L, t, i, i + 2)) continue;
        store_reset(t);
        luaL_argerror(L, i + 2, "a string, a number, a boolean or nil is needed");
    }
    return t;
}

static int run(lua_State *L) {
    Store *s = check_store(L);
    StoreStatement *t = prepare(L, s);
    if (t == NULL) return 3;
    gi_err err;
    StoreStep step;
    while ((step = store_step(t, &err)) == STORE_ROW) {}
    int64_t changes = store_changes(s);
    store_reset(t);
    if (step == STORE_FAILED) return bind_failed(L, &err);
    lua_pushinteger(L, changes);
    return 1;
}

/* Changes that wait are one list, with no table of their own: the statement, how many parameters,
** and those; a light userdata stands for nil. */
static int later(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkstring(L, 2);
    int top = lua_gettop(L);
    lua_Integer at = luaL_len(L, 1);
    for (int i = 1; i <= top; i++) { /* room for all of it first: there may be no memory */
        lua_pushboolean(L, false);
        lua_rawseti(L, 1, at + i);
    }
    lua_pushvalue(L, 2);
    lua_rawseti(L, 1, ++at);
    lua_pushinteger(L, top - 2);
    lua_rawseti(L, 1, ++at);
    for (int i = 3; i <= top; i++) {
        if (lua_isnil(L, i)) lua_pushlightuserdata(L, NULL);
        else lua_pushvalue(L, i);
        lua_rawseti(L, 1, ++at);
    }
    return 0;
}

/* Binds parameters from a list on top of the stack, from `at` on; the list keeps them alive. */
static void bind_listed(lua_State *L, StoreStatement *t, lua_Integer at, int n) {
    for (int i = 1; i <= n; i++) {
        bool is_nil = lua_rawgeti(L, -1, at + i - 1) == LUA_TLIGHTUSERDATA;
        bool well = is_nil || bind_value(L, t, i, -1);
        lua_pop(L, 1);
        if (well) continue;
        store_reset(t);
        luaL_error(L, "parameter %d is no string, number, boolean or nil", i);
    }
}

static int run_all(lua_State *L) {
    Store *s = check_store(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_Integer end = luaL_len(L, 2);
    for (lua_Integer at = 1; at < end;) {
        if (lua_rawgeti(L, 2, at) == LUA_TBOOLEAN) { /* room for what had no memory */
            lua_settop(L, 2);
            at++;
            continue;
        }
        lua_rawgeti(L, 2, at + 1);
        const char *sql = luaL_checkstring(L, 3);
        int n = (int)luaL_checkinteger(L, 4);
        gi_err err;
        StoreStatement *t = prepare_for(L, s, sql, n, &err);
        lua_settop(L, 2);
        if (t == NULL) return bind_failed(L, &err);
        bind_listed(L, t, at + 2, n);
        StoreStep step;
        while ((step = store_step(t, &err)) == STORE_ROW) {}
        store_reset(t);
        if (step == STORE_FAILED) return bind_failed(L, &err);
        at += n + 2;
    }
    lua_pushboolean(L, true);
    return 1;
}

static void push_column(lua_State *L, const StoreStatement *t, int i) {
    size_t len;
    const char *bytes;
    switch (store_column_type(t, i)) {
    case STORE_NULL: lua_pushnil(L); break;
    case STORE_INT: lua_pushinteger(L, store_column_int(t, i)); break;
    case STORE_NUMBER: lua_pushnumber(L, store_column_number(t, i)); break;
    case STORE_BYTES:
        bytes = store_column_bytes(t, i, &len);
        lua_pushlstring(L, bytes, len);
        break;
    }
}

static void push_row(lua_State *L, const StoreStatement *t) {
    int n = store_columns(t);
    lua_createtable(L, 0, n);
    for (int i = 0; i < n; i++) {
        const char *name = store_column_name(t, i);
        if (name == NULL) luaL_error(L, "not enough memory");
        push_column(L, t, i);
        lua_setfield(L, -2, name);
    }
}

static int rows(lua_State *L) {
    Store *s = check_store(L);
    StoreStatement *t = prepare(L, s);
    if (t == NULL) return 3;
    lua_newtable(L);
    gi_err err;
    StoreStep step;
    for (lua_Integer n = 1; (step = store_step(t, &err)) == STORE_ROW; n++) {
        push_row(L, t);
        lua_rawseti(L, -2, n);
    }
    store_reset(t);
    return step == STORE_DONE ? 1 : bind_failed(L, &err);
}

static int row(lua_State *L) {
    Store *s = check_store(L);
    StoreStatement *t = prepare(L, s);
    if (t == NULL) return 3;
    gi_err err;
    StoreStep step = store_step(t, &err);
    if (step == STORE_ROW) push_row(L, t);
    store_reset(t);
    if (step == STORE_FAILED) return bind_failed(L, &err);
    if (step == STORE_DONE) lua_pushboolean(L, false);
    return 1;
}

static int pack(lua_State *L) {
    size_t len, like_len;
    const char *text = luaL_checklstring(L, 1, &len), *like = luaL_optlstring(L, 2, "", &like_len);
    gi_buf packed = {0};
    store_pack(text, len, like, like_len, &packed);
    lua_pushlstring(L, packed.data ? packed.data : "", packed.len);
    gi_buf_free(&packed);
    return 1;
}

static int unpack(lua_State *L) {
    size_t len, like_len;
    const char *packed = luaL_checklstring(L, 1, &len);
    lua_Integer bytes = luaL_checkinteger(L, 2);
    const char *like = luaL_optlstring(L, 3, "", &like_len);
    luaL_argcheck(L, bytes >= 0, 2, "it is negative");
    gi_buf text = {0};
    gi_err err;
    bool well = store_unpack(packed, len, like, like_len, (size_t)bytes, &text, &err);
    if (well) lua_pushlstring(L, text.data ? text.data : "", text.len);
    gi_buf_free(&text);
    return well ? 1 : bind_failed(L, &err);
}

void bind_store(lua_State *L) {
    static const BindRow methods[] = {
        {"execute", execute, "store:execute(sql) -> true | nil, message, code",
         "Statements without parameters."},
        {"run", run, "store:run(sql, ...) -> changes | nil, message, code",
         "A statement with parameters ?1 … (strings, numbers, booleans, nil); how many rows it "
         "changed."},
        {"run_all", run_all, "store:run_all(list) -> true | nil, message, code",
         "All statements of a list that core.store.later made, up to the first that fails."},
        {"rows", rows, "store:rows(sql, ...) -> list | nil, message, code",
         "All rows of a query, each a table by the names of its columns; text and blobs are "
         "strings."},
        {"row", row, "store:row(sql, ...) -> table | false | nil, message, code",
         "The first row of a query; false where there is none."},
        {"close", close_store, "store:close()", "Closes it."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", close_store}, {"__close", close_store}, {NULL, NULL}};
    static const BindRow functions[] = {
        {"open", open_store, "core.store.open(path[, {read_only}]) -> store | nil, message, code",
         "A database in a file (SQLite); codes \"full\", \"busy\", \"format\", \"usage\", "
         "\"interrupted\" (Ctrl-C), \"io\"."},
        {"later", later, "core.store.later(list, sql, ...)",
         "Appends a statement with its parameters to a list for store:run_all."},
        {"pack", pack, "core.store.pack(text[, like]) -> string",
         "A text made small (deflate), with another that it resembles."},
        {"unpack", unpack,
         "core.store.unpack(packed, bytes[, like]) -> string | nil, message, code",
         "The text again; bytes: how many it has."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "store:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "store.", functions);
}
