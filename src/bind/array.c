/* array.c - gi.array: typed n-d arrays, indexed from 1 in memory order. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

#define CLASS "gilua.array"

Array *bind_check_array(lua_State *L, int index) {
    Array *a = *(Array **)luaL_checkudata(L, index, CLASS);
    if (a == NULL) luaL_argerror(L, index, "the array is closed");
    return a;
}

Array *bind_test_array(lua_State *L, int index) {
    Array **box = luaL_testudata(L, index, CLASS);
    return box ? *box : NULL;
}

void bind_push_array(lua_State *L, Array *a) {
    Array **box = bind_new(L, CLASS, sizeof *box, 0);
    *box = a;
}

static ArrayType check_type(lua_State *L, int index) {
    ArrayType type;
    const char *name = luaL_checkstring(L, index);
    if (!array_type_parse(name, &type))
        luaL_argerror(L, index,
                      lua_pushfstring(L,
                                      "'%s' is no element type (f32 f64 f16 bf16 e4m3 "
                                      "e5m2 i8 u8 i16 u16 i32 u32 i64 u64)",
                                      name));
    return type;
}

static Array *new_array(lua_State *L, ArrayType type, int ndim, const int64_t *shape) {
    gi_err err;
    Array **box = bind_new(L, CLASS, sizeof *box, 0);
    *box = array_new(type, ndim, shape, &err);
    if (*box == NULL) bind_misuse(L, &err);
    return *box;
}

static int array_create(lua_State *L) {
    ArrayType type = check_type(L, 1);
    int ndim = lua_gettop(L) - 1;
    int64_t shape[ARRAY_MAX_DIMS];
    luaL_argcheck(L, ndim >= 1 && ndim <= ARRAY_MAX_DIMS, 2, "one to seven sizes are needed");
    for (int i = 0; i < ndim; i++) shape[i] = luaL_checkinteger(L, i + 2);
    new_array(L, type, ndim, shape);
    return 1;
}

static void set_from(lua_State *L, Array *a, int64_t index, int value) {
    int whole;
    lua_Integer k = lua_tointegerx(L, value, &whole);
    if (whole && !array_type_is_float(a->type)) array_set_int(a, index, k);
    else array_set(a, index, luaL_checknumber(L, value));
}

static void push_element(lua_State *L, const Array *a, int64_t index) {
    if (array_type_is_float(a->type)) lua_pushnumber(L, array_get(a, index));
    else lua_pushinteger(L, array_get_int(a, index));
}

/* Shape of a nested list, from its first elements. */
static int list_shape(lua_State *L, int index, int64_t *shape) {
    int ndim = 0;
    lua_pushvalue(L, index);
    while (lua_type(L, -1) == LUA_TTABLE) {
        if (ndim == ARRAY_MAX_DIMS) luaL_error(L, "the list is nested too deeply");
        shape[ndim++] = luaL_len(L, -1);
        if (shape[ndim - 1] == 0) luaL_error(L, "the list is empty");
        lua_geti(L, -1, 1);
        lua_remove(L, -2);
    }
    lua_pop(L, 1);
    return ndim;
}

static int64_t fill_from_list(lua_State *L, Array *a, int dim, int64_t at) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list) || luaL_len(L, list) != a->shape[dim])
        luaL_error(L, "the list is uneven: each part of dimension %d needs %I elements", dim + 1,
                   (lua_Integer)a->shape[dim]);
    for (lua_Integer i = 1; i <= a->shape[dim]; i++) {
        lua_geti(L, list, i);
        if (dim + 1 < a->ndim) at = fill_from_list(L, a, dim + 1, at);
        else set_from(L, a, at++, -1);
        lua_pop(L, 1);
    }
    return at;
}

static int array_from(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    ArrayType type = lua_isnoneornil(L, 2) ? ARRAY_F32 : check_type(L, 2);
    int64_t shape[ARRAY_MAX_DIMS];
    int ndim = list_shape(L, 1, shape);
    Array *a = new_array(L, type, ndim, shape);
    lua_pushvalue(L, 1);
    fill_from_list(L, a, 0, 0);
    lua_pop(L, 1);
    return 1;
}

static int array_frombytes(lua_State *L) {
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    ArrayType type = check_type(L, 2);
    int64_t n = (int64_t)(len / array_type_size(type));
    luaL_argcheck(L, n > 0 && len % array_type_size(type) == 0, 1,
                  "its length is no multiple of the element size");
    int64_t shape[ARRAY_MAX_DIMS] = {n}, left = n;
    int ndim = lua_gettop(L) - 2;
    luaL_argcheck(L, ndim <= ARRAY_MAX_DIMS, 3, "seven sizes at most");
    for (int i = 0; i < ndim; i++) {
        shape[i] = luaL_checkinteger(L, i + 3);
        luaL_argcheck(L, shape[i] > 0 && left % shape[i] == 0, i + 3,
                      "not a size of so many bytes");
        left /= shape[i];
    }
    luaL_argcheck(L, ndim == 0 || left == 1, 3, "the sizes are those of fewer bytes");
    memcpy(new_array(L, type, ndim ? ndim : 1, shape)->data, bytes, len);
    return 1;
}

static int array_index(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    if (lua_isinteger(L, 2)) {
        lua_Integer i = lua_tointeger(L, 2);
        if (i < 1 || i > a->count) lua_pushnil(L);
        else push_element(L, a, i - 1);
        return 1;
    }
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(1)); /* methods */
    return 1;
}

static int array_newindex(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 1 || i > a->count)
        return luaL_error(L, "index %I is outside the array of %I elements", i,
                          (lua_Integer)a->count);
    set_from(L, a, i - 1, 3);
    return 0;
}

static int array_len(lua_State *L) {
    lua_pushinteger(L, bind_check_array(L, 1)->count);
    return 1;
}

static int64_t check_indices(lua_State *L, const Array *a, int first) {
    int64_t at = 0;
    for (int d = 0; d < a->ndim; d++) {
        lua_Integer i = luaL_checkinteger(L, first + d);
        luaL_argcheck(L, i >= 1 && i <= a->shape[d], first + d, "index out of range");
        at = at * a->shape[d] + (i - 1);
    }
    return at;
}

static int array_at(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    push_element(L, a, check_indices(L, a, 2));
    return 1;
}

static int array_put(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    set_from(L, a, check_indices(L, a, 2), a->ndim + 2);
    lua_settop(L, 1);
    return 1;
}

static int array_shape(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    for (int i = 0; i < a->ndim; i++) lua_pushinteger(L, a->shape[i]);
    return a->ndim;
}

static int array_dtype(lua_State *L) {
    lua_pushstring(L, array_type_name(bind_check_array(L, 1)->type));
    return 1;
}

static int array_fill(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    luaL_checknumber(L, 2);
    set_from(L, a, 0, 2);
    size_t size = array_type_size(a->type);
    char *bytes = a->data;
    for (size_t done = size; done < a->size_bytes;) { /* doubling copies */
        size_t n = done < a->size_bytes - done ? done : a->size_bytes - done;
        memcpy(bytes + done, bytes, n);
        done += n;
    }
    lua_settop(L, 1);
    return 1;
}

static int array_set_bits(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    const Array *floats = bind_check_array(L, 2);
    gi_err err;
    if (!array_fill_bits(a, floats, luaL_checkstring(L, 3), &err)) return bind_misuse(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int array_sentinel(lua_State *L) {
    array_fill_sentinel(bind_check_array(L, 1));
    lua_settop(L, 1);
    return 1;
}

static int array_copy(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    memcpy(new_array(L, a->type, a->ndim, a->shape)->data, a->data, a->size_bytes);
    return 1;
}

static int array_table(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    lua_createtable(L, a->count < 1 << 28 ? (int)a->count : 0, 0);
    for (int64_t i = 0; i < a->count; i++) {
        push_element(L, a, i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int array_bytes(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    lua_pushlstring(L, a->data, a->size_bytes);
    return 1;
}

static int array_range(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int64_t i = 0; i < a->count; i++) {
        double x = array_get(a, i);
        if (x < low) low = x;
        if (x > high) high = x;
    }
    if (low > high) return 0; /* nothing but NaN */
    lua_pushnumber(L, low);
    lua_pushnumber(L, high);
    return 2;
}

static int array_hash(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    lua_pushinteger(L, (lua_Integer)gi_hash(a->data, a->size_bytes, 0));
    return 1;
}

static int array_tostring(lua_State *L) {
    Array *a = *(Array **)luaL_checkudata(L, 1, CLASS);
    if (a == NULL) {
        lua_pushliteral(L, "array (closed)");
        return 1;
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, array_type_name(a->type));
    for (int i = 0; i < a->ndim; i++) {
        lua_pushfstring(L, i ? "x%I" : " array %I", (lua_Integer)a->shape[i]);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, ": ");
    for (int64_t i = 0; i < a->count && i < 6; i++) {
        if (i) luaL_addstring(&b, ", ");
        push_element(L, a, i);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        luaL_addvalue(&b);
    }
    if (a->count > 6) luaL_addstring(&b, ", ...");
    luaL_pushresult(&b);
    return 1;
}

/* bytes, at and times of a field from an argument on. */
static ArrayField check_field(lua_State *L, int type, int index) {
    return (ArrayField){check_type(L, type), luaL_checkinteger(L, index),
                        luaL_checkinteger(L, index + 1), luaL_optinteger(L, index + 2, 1)};
}

static int array_get_field(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    ArrayField field = check_field(L, 2, 3);
    gi_err err;
    Array **box = bind_new(L, CLASS, sizeof *box, 0);
    *box = array_take(a, &field, &err);
    return *box ? 1 : bind_misuse(L, &err);
}

static int array_set_field(lua_State *L) {
    Array *a = bind_check_array(L, 1), *values = bind_check_array(L, 2);
    ArrayField field = check_field(L, 3, 4);
    gi_err err;
    if (!array_place(a, &field, values, &err)) return bind_misuse(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int array_close(lua_State *L) {
    Array **box = luaL_checkudata(L, 1, CLASS);
    array_unref(*box);
    *box = NULL;
    return 0;
}

static ComparePenalty penalty_option(lua_State *L, int index) {
    static const char *const known[] = {"ignore", "unset", "outside", "low", "high", NULL};
    ComparePenalty p = {0};
    if (!lua_istable(L, index)) return p;
    const int at = lua_gettop(L) + 1;
    p.wanted = lua_getfield(L, index, "penalty") != LUA_TNIL;
    if (p.wanted && !lua_istable(L, at))
        luaL_error(L, "option 'penalty' must be a table { unset =, outside = }, not a %s",
                   luaL_typename(L, at));
    bind_check_options(L, at, known);
    p.ignore = bind_option_number(L, at, "ignore", (double)NAN);
    p.unset = bind_option_number(L, at, "unset", (double)NAN);
    p.outside = bind_option_number(L, at, "outside", (double)NAN);
    p.low = bind_option_number(L, at, "low", -(double)INFINITY);
    p.high = bind_option_number(L, at, "high", (double)INFINITY);
    lua_settop(L, at - 1);
    return p;
}

CompareOptions bind_compare_options(lua_State *L, int index, bool threads) {
    static const char *const known[] = {"width", "used",    "from", "as",      "max_error",
                                        "rel_error", "limit", "penalty", "threads", NULL};
    static const char *const no_threads[] = {"width",     "used",  "from",    "as", "max_error",
                                             "rel_error", "limit", "penalty", NULL};
    bind_check_options(L, index, threads ? known : no_threads);
    const char *as = bind_option_string(L, index, "as", NULL);
    ArrayType type = ARRAY_F32;
    if (as && !array_type_parse(as, &type)) luaL_error(L, "'as': '%s' is no element type", as);
    return (CompareOptions){.width = (int)bind_option_int(L, index, "width", 1),
                            .used = (int)bind_option_int(L, index, "used", 0),
                            .from = (int)bind_option_int(L, index, "from", 0),
                            .viewed = as != NULL,
                            .as = type,
                            .max_error = bind_option_number(L, index, "max_error", 0),
                            .rel_error = bind_option_number(L, index, "rel_error", 0),
                            .limit = bind_option_number(L, index, "limit", 0),
                            .threads = (int)bind_option_int(L, index, "threads", 0),
                            .penalty = penalty_option(L, index)};
}

void bind_push_comparison(lua_State *L, const Comparison *c, const CompareOptions *o) {
    lua_createtable(L, 0, 10);
    lua_pushinteger(L, c->n), lua_setfield(L, -2, "n");
    lua_pushnumber(L, c->max_error), lua_setfield(L, -2, "max_error");
    lua_pushnumber(L, c->mean_error), lua_setfield(L, -2, "mean_error");
    lua_pushnumber(L, c->off), lua_setfield(L, -2, "off");
    lua_pushnumber(L, c->wrong), lua_setfield(L, -2, "wrong");
    lua_pushnumber(L, c->unset), lua_setfield(L, -2, "unset");
    lua_pushnumber(L, c->nan), lua_setfield(L, -2, "nan");
    if (c->first_wrong >= 0)
        lua_pushinteger(L, c->first_wrong + 1), lua_setfield(L, -2, "first_wrong");
    if (!o->penalty.wanted) return;
    lua_pushinteger(L, c->counted), lua_setfield(L, -2, "counted");
    lua_pushnumber(L, c->penalty), lua_setfield(L, -2, "penalty");
}

static int compare(lua_State *L) {
    Array *got = bind_check_array(L, 1), *expected = bind_check_array(L, 2);
    CompareOptions o = bind_compare_options(L, 3, true);
    Comparison c;
    gi_err err;
    if (!array_compare(got, expected, &o, &c, &err)) return bind_misuse(L, &err);
    bind_push_comparison(L, &c, &o);
    return 1;
}

void bind_array(lua_State *L) {
    static const BindRow methods[] = {
        {"at", array_at, "a:at(i, j, …) -> number",
         "The element at one index per dimension, from 1."},
        {"put", array_put, "a:put(i, j, …, value) -> a",
         "Sets the element at one index per dimension."},
        {"shape", array_shape, "a:shape() -> n1, n2, …", "The sizes, slowest dimension first."},
        {"dtype", array_dtype, "a:dtype() -> string", "The element type's name."},
        {"fill", array_fill, "a:fill(value) -> a", "Sets every element."},
        {"set_bits", array_set_bits, "a:set_bits(floats, format) -> a",
         "Of an u16: the elements of an f32 as bits of numbers of 16, half or bfloat16."},
        {"sentinel", array_sentinel, "a:sentinel() -> a",
         "Fills with the mark that compare reports as unset (a NaN, or bytes 0xAB)."},
        {"copy", array_copy, "a:copy() -> array", "An array of its own with the same contents."},
        {"table", array_table, "a:table() -> list", "All elements as a flat Lua list."},
        {"bytes", array_bytes, "a:bytes() -> string", "The raw bytes, in memory order."},
        {"field", array_get_field, "a:field(dtype, bytes, at [, times]) -> array",
         "Of an array that holds structs of so many bytes: the numbers at a byte of each."},
        {"set_field", array_set_field, "a:set_field(values, dtype, bytes, at [, times]) -> a",
         "Puts the values there."},
        {"range", array_range, "a:range() -> low, high",
         "Smallest and largest element, NaN left out."},
        {"hash", array_hash, "a:hash() -> integer", "A 64-bit hash of the contents."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__newindex", array_newindex}, {"__len", array_len},
                                    {"__tostring", array_tostring}, {"__gc", array_close},
                                    {"__close", array_close},       {NULL, NULL}};
    static const BindRow rows[] = {
        {"new", array_create, "gi.array(dtype, n, …) -> array",
         "A zeroed array of \"f32\" \"f64\" \"f16\" \"bf16\" \"e4m3\" \"e5m2\" \"i8\" \"u8\" "
         "\"i16\" \"u16\" \"i32\" \"u32\" \"i64\" or \"u64\"; a[i] reads and writes from 1 in "
         "memory order, #a is the number of elements."},
        {"from", array_from, "gi.array.from(list [, dtype]) -> array",
         "An array (f32 unless said) with the numbers of a list, nested for more dimensions."},
        {"frombytes", array_frombytes, "gi.array.frombytes(string, dtype [, n, …]) -> array",
         "An array over a copy of raw bytes: of one dimension, or of these sizes."},
        {"compare", compare,
         "gi.array.compare(got, expected [, {width, used, from, as, max_error, rel_error, limit, "
         "penalty, threads}]) -> table",
         "Compares answers of `width` elements (`used` of them count, behind `from`; the bytes are "
         "taken for elements of type `as`): n, max_error, mean_error, off (share that differs "
         "by more than max_error + rel_error * |expected|), wrong (share that is off, by more "
         "than limit), unset, nan (share with a NaN where NaN was expected, which is right), "
         "first_wrong. With penalty = {ignore, unset, outside, "
         "low, high} also counted, the answers not expected to be `ignore`, and penalty, the mean "
         "of what these cost: `unset`, `outside` where not in low to high, else the error."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "array:", methods, meta);
    luaL_getmetatable(L, CLASS);
    lua_getfield(L, -1, "__index");
    lua_pushcclosure(L, array_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1); /* metatable */
    lua_newtable(L);
    bind_rows(L, "array.", rows);
    bind_share(L);
}
