/* wire.c - Lua values as bytes, for messages between the host and its workers.
**
**   n  nil       t f  booleans       i  64-bit integer       d  double       s  length (64), bytes
**   {  key value key value ... }     a  place (64) of an array in a list that travels beside
**
** Numbers are little endian, as the machines gilua runs on. Keys stand in an order of their own,
** so equal values have equal bytes and the bytes can serve as a key: booleans, numbers, then texts,
** each ascending. In C because the host does it for every mutant, between all its workers.
*/
#include "bind/bind.h"

#include <stdlib.h>
#include <string.h>

#define CLASS "gilua.wire"

enum { MAX_DEPTH = 100 }; /* far below what C's stack and Lua's hold */

typedef struct Key {
    int type; /* LUA_TBOOLEAN, LUA_TNUMBER or LUA_TSTRING, which is their order */
    bool whole;
    lua_Integer i; /* number, when whole; boolean */
    double d;      /* number, when not */
    const char *s; /* the table keeps it alive */
    size_t len;
} Key;

/* A userdata, so that an error on the way loses no memory. */
typedef struct Encoder {
    gi_buf out;
    Key *keys; /* of the tables being written, innermost last */
    int n, cap;
    int arrays; /* stack index of the list, 0: none */
} Encoder;

static int free_encoder(lua_State *L) {
    Encoder *e = luaL_checkudata(L, 1, CLASS);
    gi_buf_free(&e->out);
    free(e->keys);
    e->keys = NULL;
    return 0;
}

static int refuse(lua_State *L, const char *what) {
    lua_pushfstring(L, "a %s cannot be sent to a worker", what);
    return lua_error(L);
}

static void put_64(gi_buf *out, char kind, const void *bytes) {
    char record[9] = {kind};
    memcpy(record + 1, bytes, 8);
    gi_buf_add(out, record, sizeof record);
}

/* --- keys --- */

static int order_numbers(const Key *a, const Key *b) {
    if (a->whole && b->whole) return (a->i > b->i) - (a->i < b->i);
    /* whole and broken numbers are never equal; near 2^63 the rounding does not make them so */
    double x = a->whole ? (double)a->i : a->d, y = b->whole ? (double)b->i : b->d;
    return x != y ? (x > y) - (x < y) : a->whole - b->whole;
}

static int order(const void *pa, const void *pb) {
    const Key *a = pa, *b = pb;
    if (a->type != b->type) return a->type - b->type;
    if (a->type == LUA_TNUMBER) return order_numbers(a, b);
    if (a->type == LUA_TBOOLEAN) return (int)(a->i - b->i);
    int c = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);
    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static Key read_key(lua_State *L, int index) {
    Key k = {.type = lua_type(L, index)};
    switch (k.type) {
    case LUA_TBOOLEAN: k.i = lua_toboolean(L, index); break;
    case LUA_TSTRING: k.s = lua_tolstring(L, index, &k.len); break;
    case LUA_TNUMBER:
        k.whole = lua_isinteger(L, index);
        if (k.whole) k.i = lua_tointeger(L, index);
        else k.d = lua_tonumber(L, index);
        break;
    default: refuse(L, lua_pushfstring(L, "table with a %s for a key", luaL_typename(L, index)));
    }
    return k;
}

/* Appends the keys of the table on top, sorted; returns where they begin. */
static int collect_keys(lua_State *L, Encoder *e) {
    int first = e->n;
    bool sorted = true; /* as lists are met, mostly */
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        Key k = read_key(L, -2);
        gi_grow(e->keys, e->n, e->cap);
        if (e->n > first && order(&e->keys[e->n - 1], &k) > 0) sorted = false;
        e->keys[e->n++] = k;
    }
    if (!sorted) qsort(e->keys + first, (size_t)(e->n - first), sizeof *e->keys, order);
    return first;
}

/* --- encoding --- */

static void put_string(gi_buf *out, const char *s, size_t len) {
    uint64_t length = len;
    put_64(out, 's', &length);
    gi_buf_add(out, s, len);
}

static void put_key(gi_buf *out, const Key *k) {
    if (k->type == LUA_TSTRING) put_string(out, k->s, k->len);
    else if (k->type == LUA_TBOOLEAN) gi_buf_add(out, k->i ? "t" : "f", 1);
    else if (k->whole) put_64(out, 'i', &k->i);
    else put_64(out, 'd', &k->d);
}

/* Pushes the value of a key of the table on top. */
static void push_value(lua_State *L, const Key *k) {
    if (k->type == LUA_TNUMBER && k->whole) {
        lua_rawgeti(L, -1, k->i);
        return;
    }
    if (k->type == LUA_TSTRING) lua_pushlstring(L, k->s, k->len);
    else if (k->type == LUA_TBOOLEAN) lua_pushboolean(L, (int)k->i);
    else lua_pushnumber(L, k->d);
    lua_rawget(L, -2);
}

static void put_value(lua_State *L, Encoder *e, int depth);

static void put_table(lua_State *L, Encoder *e, int depth) {
    if (depth > MAX_DEPTH) refuse(L, "table nested 100 deep (does it contain itself?)");
    bind_room(L, 6, "values");
    int first = collect_keys(L, e), n = e->n;
    gi_buf_add(&e->out, "{", 1);
    for (int i = first; i < n; i++) {
        Key k = e->keys[i]; /* a copy: the vector may move */
        put_key(&e->out, &k);
        push_value(L, &k);
        put_value(L, e, depth + 1);
        lua_pop(L, 1);
    }
    gi_buf_add(&e->out, "}", 1);
    e->n = first;
}

/* The place of the array on top in the list, where it is put when it is new. */
static void put_array(lua_State *L, Encoder *e) {
    if (e->arrays == 0 || bind_test_array(L, -1) == NULL) refuse(L, luaL_typename(L, -1));
    lua_Integer n = (lua_Integer)lua_rawlen(L, e->arrays), place = 0;
    for (lua_Integer i = 1; i <= n && place == 0; i++) {
        lua_rawgeti(L, e->arrays, i);
        if (lua_rawequal(L, -1, -2)) place = i;
        lua_pop(L, 1);
    }
    if (place == 0) {
        place = n + 1;
        lua_pushvalue(L, -1);
        lua_rawseti(L, e->arrays, place);
    }
    put_64(&e->out, 'a', &place);
}

/* The value on top, which stays there. */
static void put_value(lua_State *L, Encoder *e, int depth) {
    size_t len;
    const char *s;
    Key number;
    switch (lua_type(L, -1)) {
    case LUA_TNIL: gi_buf_add(&e->out, "n", 1); break;
    case LUA_TBOOLEAN: gi_buf_add(&e->out, lua_toboolean(L, -1) ? "t" : "f", 1); break;
    case LUA_TNUMBER:
        number = read_key(L, -1);
        put_key(&e->out, &number);
        break;
    case LUA_TSTRING:
        s = lua_tolstring(L, -1, &len);
        put_string(&e->out, s, len);
        break;
    case LUA_TTABLE: put_table(L, e, depth); break;
    case LUA_TUSERDATA: put_array(L, e); break;
    default: refuse(L, luaL_typename(L, -1));
    }
}

static int encode(lua_State *L) {
    luaL_checkany(L, 1);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    Encoder *e = bind_new(L, CLASS, sizeof *e, 0);
    e->arrays = lua_isnil(L, 2) ? 0 : 2;
    lua_pushvalue(L, 1);
    put_value(L, e, 0);
    lua_pushlstring(L, e->out.data, e->out.len);
    gi_buf_free(&e->out); /* now, and not when garbage is collected */
    return 1;
}

/* --- decoding --- */

typedef struct Decoder {
    const char *at, *end;
    int arrays; /* stack index of the list, 0: none */
} Decoder;

static int broken(lua_State *L) {
    lua_pushliteral(L, "a broken message");
    return lua_error(L);
}

static void take(lua_State *L, Decoder *d, void *bytes, size_t len) {
    if ((size_t)(d->end - d->at) < len) broken(L);
    memcpy(bytes, d->at, len);
    d->at += len;
}

static lua_Integer take_64(lua_State *L, Decoder *d) {
    lua_Integer i;
    take(L, d, &i, sizeof i);
    return i;
}

static void push_string(lua_State *L, Decoder *d) {
    uint64_t len = (uint64_t)take_64(L, d);
    if (len > (uint64_t)(d->end - d->at)) broken(L);
    lua_pushlstring(L, d->at, (size_t)len);
    d->at += len;
}

static void push_next(lua_State *L, Decoder *d, int depth);

static void push_table(lua_State *L, Decoder *d, int depth) {
    if (depth > MAX_DEPTH) broken(L);
    bind_room(L, 6, "values");
    lua_newtable(L);
    while (d->at < d->end && *d->at != '}') {
        push_next(L, d, depth + 1);
        int type = lua_type(L, -1);
        bool nan = type == LUA_TNUMBER && !lua_rawequal(L, -1, -1);
        if (nan || (type != LUA_TBOOLEAN && type != LUA_TNUMBER && type != LUA_TSTRING)) broken(L);
        push_next(L, d, depth + 1);
        lua_rawset(L, -3);
    }
    if (d->at == d->end) broken(L);
    d->at++;
}

static void push_array(lua_State *L, Decoder *d) {
    lua_Integer place = take_64(L, d);
    if (d->arrays == 0 || lua_rawgeti(L, d->arrays, place) == LUA_TNIL) broken(L);
}

static void push_next(lua_State *L, Decoder *d, int depth) {
    char kind;
    double x;
    take(L, d, &kind, 1);
    switch (kind) {
    case 'n': lua_pushnil(L); break;
    case 't': lua_pushboolean(L, true); break;
    case 'f': lua_pushboolean(L, false); break;
    case 'i': lua_pushinteger(L, take_64(L, d)); break;
    case 'd':
        take(L, d, &x, sizeof x);
        lua_pushnumber(L, x);
        break;
    case 's': push_string(L, d); break;
    case 'a': push_array(L, d); break;
    case '{': push_table(L, d, depth); break;
    default: broken(L);
    }
}

static int decode(lua_State *L) {
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    Decoder d = {bytes, bytes + len, lua_isnil(L, 2) ? 0 : 2};
    push_next(L, &d, 0);
    if (d.at != d.end) broken(L);
    return 1;
}

void bind_wire(lua_State *L) {
    static const luaL_Reg meta[] = {{"__gc", free_encoder}, {NULL, NULL}};
    static const BindRow none[] = {{NULL, NULL, NULL, NULL}};
    static const BindRow rows[] = {
        {"encode", encode, "core.wire.encode(value [, arrays]) -> string",
         "nil, booleans, numbers, strings and tables of them as bytes, equal for equal values; "
         "arrays met are put into the list `arrays`, without it they are refused."},
        {"decode", decode, "core.wire.decode(bytes [, arrays]) -> value",
         "The value again; raises \"a broken message\" for other bytes."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "wire:", none, meta);
    lua_newtable(L);
    bind_rows(L, "wire.", rows);
}
