/* library.c - gi.library: C functions of a shared object, called through libffi.
**
** For CPU references and the host side of problems: the arguments are written as for a kernel
** launch, an array (its data pointer) or { "i32", 5 }. The caller vouches for the signature.
*/
#include "bind/bind.h"

#include <dlfcn.h>
#include <ffi.h>
#include <stdio.h>
#include <string.h>

#define CLASS    "gilua.library"
#define MAX_ARGS 32

static void *check_library(lua_State *L) {
    void *handle = *(void **)luaL_checkudata(L, 1, CLASS);
    if (handle == NULL) luaL_argerror(L, 1, "the library is closed");
    return handle;
}

static int open_library(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    void **box = bind_new(L, CLASS, sizeof *box, 0);
    *box = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*box) return 1;
    gi_err err;
    gi_fail(&err, "io", "cannot load %s: %s", path, dlerror());
    return bind_failed(L, &err);
}

static int close_library(lua_State *L) {
    void **box = luaL_checkudata(L, 1, CLASS);
    if (*box) dlclose(*box);
    *box = NULL;
    return 0;
}

static ffi_type *ffi_of(ArrayType t) {
    switch (t) {
    case ARRAY_I8: return &ffi_type_sint8;
    case ARRAY_U8: return &ffi_type_uint8;
    case ARRAY_I16: return &ffi_type_sint16;
    case ARRAY_U16: return &ffi_type_uint16;
    case ARRAY_I32: return &ffi_type_sint32;
    case ARRAY_U32: return &ffi_type_uint32;
    case ARRAY_I64: return &ffi_type_sint64;
    case ARRAY_U64: return &ffi_type_uint64;
    case ARRAY_F32: return &ffi_type_float;
    case ARRAY_F64: return &ffi_type_double;
    case ARRAY_F16:
    case ARRAY_BF16: return &ffi_type_uint16; /* bits */
    case ARRAY_E4M3:
    case ARRAY_E5M2: return &ffi_type_uint8;
    }
    return &ffi_type_void;
}

typedef union Slot {
    void *pointer;
    unsigned char bytes[8];
} Slot;

static ffi_type *read_argument(lua_State *L, int index, int number, Slot *slot) {
    Array *a = bind_test_array(L, index);
    if (a) {
        slot->pointer = a->data;
        return &ffi_type_pointer;
    }
    char what[32];
    snprintf(what, sizeof what, "argument %d", number);
    if (!lua_istable(L, index)) luaL_error(L, "%s: an array or { type, value } is needed", what);
    ArrayType type;
    bind_scalar(L, index, slot->bytes, &type, what);
    return ffi_of(type);
}

static void push_value(lua_State *L, ArrayType t, const unsigned char *bytes) {
    float f;
    double d;
    int64_t k;
    memcpy(&f, bytes, sizeof f);
    memcpy(&d, bytes, sizeof d);
    memcpy(&k, bytes, sizeof k); /* libffi widens small integers to a register */
    if (t == ARRAY_F32) lua_pushnumber(L, (double)f);
    else if (t == ARRAY_F64) lua_pushnumber(L, d);
    else if (array_type_is_small(t))
        lua_pushnumber(L, array_small_value(t, (uint32_t)k & (t < ARRAY_E4M3 ? 0xffff : 0xff)));
    else if (t == ARRAY_I32) lua_pushinteger(L, (int32_t)k);
    else if (t == ARRAY_U32) lua_pushinteger(L, (uint32_t)k);
    else if (t == ARRAY_I16) lua_pushinteger(L, (int16_t)k);
    else if (t == ARRAY_U16) lua_pushinteger(L, (uint16_t)k);
    else if (t == ARRAY_I8) lua_pushinteger(L, (int8_t)k);
    else if (t == ARRAY_U8) lua_pushinteger(L, (uint8_t)k);
    else lua_pushinteger(L, k);
}

static int call(lua_State *L) {
    void *library = check_library(L);
    const char *name = luaL_checkstring(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    const char *result = luaL_optstring(L, 4, "void");
    ArrayType result_type = ARRAY_I64;
    bool is_void = strcmp(result, "void") == 0;
    luaL_argcheck(L, is_void || array_type_parse(result, &result_type), 4, "no element type");
    int n = (int)luaL_len(L, 3);
    luaL_argcheck(L, n <= MAX_ARGS, 3, "too many arguments");
    Slot slots[MAX_ARGS];
    ffi_type *types[MAX_ARGS];
    void *values[MAX_ARGS];
    for (int i = 0; i < n; i++) {
        lua_geti(L, 3, i + 1);
        types[i] = read_argument(L, lua_gettop(L), i + 1, &slots[i]);
        values[i] = &slots[i];
        lua_pop(L, 1); /* anchored in the list */
    }
    void *function = dlsym(library, name);
    if (function == NULL) return luaL_error(L, "the library has no function '%s'", name);
    ffi_cif cif;
    ffi_type *returns = is_void ? &ffi_type_void : ffi_of(result_type);
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)n, returns, types) != FFI_OK)
        return luaL_error(L, "cannot call '%s' with these arguments", name);
    unsigned char out[16] = {0};
    ffi_call(&cif, FFI_FN(function), out, values);
    if (is_void) return 0;
    push_value(L, result_type, out);
    return 1;
}

void bind_library(lua_State *L) {
    static const BindRow methods[] = {
        {"call", call, "lib:call(name, { array | {type, value}, … } [, result_type]) -> value",
         "Calls a C function; arrays pass as pointers, scalars by value."},
        {"close", close_library, "lib:close()", "Unloads the library."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", close_library}, {"__close", close_library}, {NULL, NULL}};
    static const BindRow rows[] = {{"open", open_library,
                                    "gi.library(path) -> lib | nil, message, code",
                                    "Loads a shared object with C functions (a reference)."},
                                   {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "library:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "library.", rows);
}
