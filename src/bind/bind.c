/* bind.c - see bind.h. */
#include "bind/bind.h"

#include <string.h>

static void add_doc(lua_State *L, const char *prefix, const BindRow *row) {
    lua_getfield(L, LUA_REGISTRYINDEX, "gilua.docs");
    lua_pushfstring(L, "%s%s", prefix, row->name);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, row->usage);
    lua_setfield(L, -2, "usage");
    lua_pushstring(L, row->doc);
    lua_setfield(L, -2, "doc");
    lua_settable(L, -3);
    lua_pop(L, 1); /* docs */
}

void bind_rows(lua_State *L, const char *prefix, const BindRow *rows) {
    for (; rows->name; rows++) {
        lua_pushcfunction(L, rows->fn);
        lua_setfield(L, -2, rows->name);
        add_doc(L, prefix, rows);
    }
}

void bind_class(lua_State *L, const char *class, const char *prefix, const BindRow *methods,
                const luaL_Reg *meta) {
    luaL_newmetatable(L, class);
    lua_newtable(L);
    bind_rows(L, prefix, methods);
    lua_setfield(L, -2, "__index");
    if (meta) luaL_setfuncs(L, meta, 0);
    lua_pop(L, 1); /* metatable */
}

void *bind_new(lua_State *L, const char *class, size_t size, int user_values) {
    void *p = lua_newuserdatauv(L, size, user_values);
    memset(p, 0, size);
    luaL_setmetatable(L, class);
    return p;
}

int bind_failed(lua_State *L, const gi_err *err) {
    lua_pushnil(L);
    lua_pushstring(L, err->message);
    lua_pushstring(L, err->code);
    return 3;
}

int bind_misuse(lua_State *L, const gi_err *err) {
    return luaL_error(L, "%s", err->message);
}

/* Edit distance of two short names, capped: the nearest known key is worth naming. */
static int distance(const char *a, const char *b) {
    enum { MAX = 32 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX) return MAX;
    int row[MAX + 1];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            int shorter = row[j] + 1, longer = row[j - 1] + 1;
            corner = row[j];
            if (shorter < change) change = shorter;
            row[j] = longer < change ? longer : change;
        }
    }
    return row[m];
}

static int refuse_key(lua_State *L, const char *key, const char *const *known) {
    const char *nearest = NULL;
    int best = 4; /* further away is no help */
    for (const char *const *k = known; *k; k++) {
        int d = distance(key, *k);
        if (d < best) best = d, nearest = *k;
    }
    if (nearest) return luaL_error(L, "unknown option '%s'; did you mean '%s'?", key, nearest);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (const char *const *k = known; *k; k++) {
        if (k != known) luaL_addstring(&b, ", ");
        luaL_addstring(&b, *k);
    }
    luaL_pushresult(&b);
    return luaL_error(L, "unknown option '%s'; known: %s", key, lua_tostring(L, -1));
}

void bind_check_options(lua_State *L, int index, const char *const *known) {
    if (lua_isnoneornil(L, index)) return;
    luaL_checktype(L, index, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TNUMBER) continue; /* a list part is the caller's to check */
        const char *key = luaL_tolstring(L, -2, NULL);
        const char *const *k = known;
        while (*k && strcmp(*k, key) != 0) k++;
        if (*k == NULL) refuse_key(L, key, known);
        lua_pop(L, 1); /* luaL_tolstring's copy */
    }
}

static int get_option(lua_State *L, int index, const char *name) {
    if (lua_isnoneornil(L, index)) {
        lua_pushnil(L);
        return LUA_TNIL;
    }
    return lua_getfield(L, index, name);
}

bool bind_option_bool(lua_State *L, int index, const char *name, bool fallback) {
    bool value = get_option(L, index, name) == LUA_TNIL ? fallback : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

lua_Integer bind_option_int(lua_State *L, int index, const char *name, lua_Integer fallback) {
    lua_Integer value = fallback;
    int whole = 1;
    if (get_option(L, index, name) != LUA_TNIL) value = lua_tointegerx(L, -1, &whole);
    if (!whole) luaL_error(L, "option '%s' must be a whole number", name);
    lua_pop(L, 1);
    return value;
}

double bind_option_number(lua_State *L, int index, const char *name, double fallback) {
    double value = fallback;
    int number = 1;
    if (get_option(L, index, name) != LUA_TNIL) value = lua_tonumberx(L, -1, &number);
    if (!number) luaL_error(L, "option '%s' must be a number", name);
    lua_pop(L, 1);
    return value;
}

const char *bind_option_string(lua_State *L, int index, const char *name, const char *fallback) {
    int type = get_option(L, index, name);
    if (type == LUA_TNIL) return fallback;
    if (type != LUA_TSTRING) luaL_error(L, "option '%s' must be a string", name);
    return lua_tostring(L, -1);
}

int bind_option_enum(lua_State *L, int index, const char *name, const char *const *words,
                     int fallback) {
    const char *word = bind_option_string(L, index, name, words[fallback]);
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return luaL_error(L, "option '%s' cannot be '%s'", name, word);
}

void bind_room(lua_State *L, int n, const char *things) {
    if (lua_checkstack(L, n)) return;
    if (n > LUAI_MAXSTACK / 2) luaL_error(L, "too many %s", things);
    lua_pushliteral(L, "not enough memory");
    lua_error(L);
}

const char **bind_option_strings(lua_State *L, int index, const char *name) {
    int type = get_option(L, index, name);
    if (type == LUA_TNIL) return NULL;
    if (type != LUA_TTABLE) luaL_error(L, "option '%s' must be a list of strings", name);
    lua_Integer n = luaL_len(L, -1);
    bind_room(L, 4, "options");
    const char **list = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *list, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_geti(L, -2, i) != LUA_TSTRING)
            luaL_error(L, "option '%s' must be a list of strings", name);
        list[i - 1] = lua_tostring(L, -1); /* anchored in the table */
        lua_pop(L, 1);
    }
    list[n] = NULL;
    return list;
}

size_t bind_scalar(lua_State *L, int index, unsigned char bytes[8], ArrayType *type,
                   const char *what) {
    ArrayType t = ARRAY_F32;
    index = lua_absindex(L, index);
    if (lua_geti(L, index, 1) != LUA_TSTRING || !array_type_parse(lua_tostring(L, -1), &t))
        luaL_error(L, "%s: a scalar is written { \"f32\", 2.0 } with one of the array types", what);
    lua_geti(L, index, 2);
    double x = 0;
    lua_Integer k = 0;
    if (array_type_is_float(t)) {
        int number;
        x = lua_tonumberx(L, -1, &number);
        if (!number) luaL_error(L, "%s: %s wants a number", what, array_type_name(t));
    } else {
        int whole;
        k = lua_tointegerx(L, -1, &whole);
        if (!whole) luaL_error(L, "%s: %s wants a whole number", what, array_type_name(t));
    }
    lua_pop(L, 2); /* type, value */
    float f = (float)x;
    size_t size = array_type_size(t);
    if (t == ARRAY_F32) memcpy(bytes, &f, size);
    else if (t == ARRAY_F64) memcpy(bytes, &x, size);
    else if (array_type_is_small(t)) memcpy(bytes, &(uint32_t){array_small_bits(t, x)}, size);
    else memcpy(bytes, &k, size); /* little endian: the low bytes */
    if (type) *type = t;
    return size;
}

int bind_open(lua_State *L) {
    static const struct {
        const char *name;
        void (*open)(lua_State *);
    } rooms[] = {{"array", bind_array},   {"grammar", bind_grammar}, {"compile", bind_compile},
                 {"device", bind_device}, {"nifti", bind_nifti},     {"farm", bind_farm},
                 {"rng", bind_rng},       {"library", bind_library}, {"system", bind_system},
                 {"wire", bind_wire},     {"image", bind_image},     {"file", bind_file},
                 {"store", bind_store},   {"record", bind_record},   {"ptx", bind_ptx},
                 {"net", bind_net},       {"llvm", bind_llvm},       {"exact", bind_exact}};
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "gilua.docs");
    lua_newtable(L);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        int top = lua_gettop(L);
        rooms[i].open(L);
        if (lua_gettop(L) != top + 1)
            return luaL_error(L, "room %s left the stack uneven", rooms[i].name);
        lua_setfield(L, -2, rooms[i].name);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "gilua.docs");
    lua_setfield(L, -2, "docs");
    return 1;
}
