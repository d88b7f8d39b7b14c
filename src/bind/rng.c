/* rng.c - gi.rng: the one source of randomness, passed down explicitly. */
#include "bind/bind.h"

#define CLASS "gilua.rng"

gi_rng *bind_check_rng(lua_State *L, int index) {
    return luaL_checkudata(L, index, CLASS);
}

static int rng_new(lua_State *L) {
    lua_Integer seed = luaL_checkinteger(L, 1);
    gi_rng *r = bind_new(L, CLASS, sizeof *r, 1);
    gi_rng_seed(r, (uint64_t)seed);
    lua_pushinteger(L, seed);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

static int rng_int(lua_State *L) {
    gi_rng *r = bind_check_rng(L, 1);
    lua_Integer low = 1, high = luaL_checkinteger(L, 2);
    if (!lua_isnoneornil(L, 3)) {
        low = high;
        high = luaL_checkinteger(L, 3);
    }
    luaL_argcheck(L, low <= high, lua_gettop(L) > 2 ? 3 : 2, "the interval is empty");
    uint64_t span = (uint64_t)high - (uint64_t)low + 1; /* 0: all 2^64 */
    uint64_t x = span ? gi_rng_below(r, span) : gi_rng_next(r);
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + x));
    return 1;
}

static int rng_unit(lua_State *L) {
    lua_pushnumber(L, gi_rng_unit(bind_check_rng(L, 1)));
    return 1;
}

static int rng_normal(lua_State *L) {
    lua_pushnumber(L, gi_rng_normal(bind_check_rng(L, 1)));
    return 1;
}

/* Whole numbers for integer types, both ends included; else [low, high). */
static int rng_fill(lua_State *L) {
    gi_rng *r = bind_check_rng(L, 1);
    Array *a = bind_check_array(L, 2);
    lua_Number low = luaL_checknumber(L, 3), high = luaL_checknumber(L, 4);
    bool whole = !array_type_is_float(a->type);
    luaL_argcheck(L, low <= high && high - low < 0x1p53, 4, "the interval is empty or too wide");
    for (int64_t i = 0; i < a->count; i++) {
        if (whole) {
            uint64_t span = (uint64_t)(high - low) + 1;
            array_set_int(a, i, (int64_t)low + (int64_t)gi_rng_below(r, span));
        } else {
            array_set(a, i, low + (high - low) * gi_rng_unit(r));
        }
    }
    lua_settop(L, 2);
    return 1;
}

static int rng_mixed(lua_State *L) {
    gi_rng *r = bind_check_rng(L, 1);
    array_fill_mixed(bind_check_array(L, 2), r);
    lua_settop(L, 2);
    return 1;
}

static int rng_pick(lua_State *L) {
    gi_rng *r = bind_check_rng(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 2);
    luaL_argcheck(L, n > 0, 2, "the list is empty");
    lua_geti(L, 2, 1 + (lua_Integer)gi_rng_below(r, (uint64_t)n));
    return 1;
}

static int rng_seed(lua_State *L) {
    bind_check_rng(L, 1);
    lua_getiuservalue(L, 1, 1);
    return 1;
}

static int rng_draws(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)bind_check_rng(L, 1)->draws);
    return 1;
}

static int rng_tostring(lua_State *L) {
    bind_check_rng(L, 1);
    lua_getiuservalue(L, 1, 1);
    lua_pushfstring(L, "rng(%I)", lua_tointeger(L, -1));
    return 1;
}

void bind_rng(lua_State *L) {
    static const BindRow methods[] = {
        {"int", rng_int, "rng:int(n) | rng:int(low, high) -> integer",
         "A uniformly random integer in 1..n, or in low..high."},
        {"unit", rng_unit, "rng:unit() -> number", "A uniformly random number in [0, 1)."},
        {"normal", rng_normal, "rng:normal() -> number",
         "A normally distributed number, mean 0 and deviation 1."},
        {"fill", rng_fill, "rng:fill(array, low, high) -> array",
         "Sets every element to a uniformly random number in [low, high), of an integer type in "
         "low..high."},
        {"mixed", rng_mixed, "rng:mixed(array) -> array",
         "Sets every element to a number of one sort or another: zeros, ones, the same again and "
         "again, both signs, now and then one far from the others."},
        {"pick", rng_pick, "rng:pick(list) -> element", "A uniformly random element of a list."},
        {"seed", rng_seed, "rng:seed() -> integer", "The seed the generator was made from."},
        {"draws", rng_draws, "rng:draws() -> integer",
         "How many 64-bit words were taken from it: rng:int() takes one of nearly every range."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__tostring", rng_tostring}, {NULL, NULL}};
    static const BindRow rows[] = {{"new", rng_new, "gi.rng(seed) -> rng",
                                    "A random number generator (xoshiro256**) with its own state."},
                                   {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "rng:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "rng.", rows);
}
