/* exact.c - the class of certificates: what a kernel means over the reals (docs/certificate.md). */
#include "bind/device.h"

#define CLASS "gilua.exact"

typedef struct BindExact {
    EmuExact *exact; /* NULL: closed */
} BindExact;

static EmuExact *check_exact(lua_State *L, int index) {
    BindExact *b = luaL_checkudata(L, index, CLASS);
    if (b->exact == NULL) luaL_error(L, "the certificate is closed");
    return b->exact;
}

EmuExact *bind_option_exact(lua_State *L, int index) {
    EmuExact *x = NULL;
    if (lua_getfield(L, index, "exact") != LUA_TNIL) x = check_exact(L, lua_gettop(L));
    lua_pop(L, 1); /* the table has it */
    return x;
}

static int exact_new(lua_State *L) {
    uint64_t seed = (uint64_t)luaL_checkinteger(L, 1);
    BindExact *b = lua_newuserdatauv(L, sizeof *b, 0);
    b->exact = NULL;
    luaL_setmetatable(L, CLASS);
    b->exact = emu_exact_new(seed);
    return 1;
}

static int exact_close(lua_State *L) {
    BindExact *b = luaL_checkudata(L, 1, CLASS);
    emu_exact_free(b->exact);
    b->exact = NULL;
    return 0;
}

static EmuExactType type_of(const Array *a) {
    return a->type == ARRAY_F32   ? EMU_EXACT_F32
           : a->type == ARRAY_F64 ? EMU_EXACT_F64
           : array_type_is_small(a->type) ? EMU_EXACT_HALVES
                                  : EMU_EXACT_WORDS;
}

static int exact_memory(lua_State *L) {
    EmuExact *x = check_exact(L, 1);
    DeviceBuffer *b = bind_check_buffer(L, 2);
    const Array *a = device_buffer_array(b);
    bool is_input = lua_toboolean(L, 3);
    uint64_t address = device_buffer_address(b);
    emu_exact_memory(x, address, NULL, a->size_bytes, is_input ? type_of(a) : EMU_EXACT_RAW,
                     address);
    lua_settop(L, 1);
    return 1;
}

static int exact_take(lua_State *L) {
    EmuExact *x = check_exact(L, 1);
    DeviceBuffer *b = bind_check_buffer(L, 2);
    const Array *a = device_buffer_array(b);
    emu_exact_take(x, device_buffer_address(b), a->data, a->size_bytes, type_of(a));
    lua_settop(L, 1);
    return 1;
}

static int exact_compare(lua_State *L) {
    static const char *const sides[] = {"both", "first", "second"};
    EmuCertificate c;
    emu_exact_compare(check_exact(L, 1), check_exact(L, 2), &c);
    lua_newtable(L);
    lua_pushboolean(L, c.certified);
    lua_setfield(L, -2, "certified");
    lua_pushboolean(L, c.alike);
    lua_setfield(L, -2, "alike");
    lua_pushboolean(L, c.is_empty);
    lua_setfield(L, -2, "empty");
    bind_set_count(L, "comparisons", c.facts);
    bind_set_count(L, "compared", c.comparisons);
    bind_set_number(L, "degree_bits", c.degree_bits);
    if (c.certified) return 1;
    lua_pushstring(L, c.why);
    lua_setfield(L, -2, "why");
    lua_pushstring(L, sides[c.side]);
    lua_setfield(L, -2, "side");
    if (c.line) bind_set_count(L, "line", (uint64_t)c.line);
    return 1;
}

void bind_exact(lua_State *L) {
    static const BindRow methods[] = {
        {"memory", exact_memory, "exact:memory(buffer, is_input) -> exact",
         "Says that a buffer holds inputs before the first launch, or nothing that counts."},
        {"take", exact_take, "exact:take(buffer) -> exact",
         "Takes the answers that the launches left in a buffer."},
        {"compare", exact_compare,
         "exact:compare(other) -> { certified, alike, empty, comparisons, compared, degree_bits, "
         "why, side, line }",
         "Are the answers of both, made from one seed, the same real numbers for all inputs that "
         "compare alike? alike: they are here, and only degree_bits are too few. empty: "
         "they are, and neither wrote a number."},
        {"close", exact_close, "exact:close()", "Frees its memory."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", exact_close}, {"__close", exact_close}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"new", exact_new, "gi.exact.new(seed) -> exact",
         "What a launch (exact =) computes over the reals, with random inputs of this seed."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "exact:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "exact.", rows);
}
