/* buffer.c - the class of buffers: an array in a device's memory. */
#include "bind/device.h"

DeviceBuffer *bind_check_buffer(lua_State *L, int index) {
    return bind_check_child(L, index, BIND_BUFFER)->u.buffer;
}

int bind_buffer_new(lua_State *L) {
    static const char *const known[] = {"read_only", "hidden", "label", "initial", NULL};
    BindDevice *owner = bind_check_device(L, 1);
    Array *a = bind_check_array(L, 2), *initial = NULL;
    bind_check_options(L, 3, known);
    lua_settop(L, 3);
    if (!lua_isnil(L, 3) && lua_getfield(L, 3, "initial") != LUA_TNIL)
        initial = bind_check_array(L, -1);
    lua_settop(L, 3);
    DeviceAccess access = bind_option_bool(L, 3, "hidden", false)      ? ACCESS_NONE
                          : bind_option_bool(L, 3, "read_only", false) ? ACCESS_READ
                                                                       : ACCESS_WRITE;
    const char *label = bind_option_string(L, 3, "label", NULL);
    BindChild *c = bind_new_child(L, BIND_BUFFER, true);
    gi_err err;
    c->u.buffer = device_buffer(owner->device, a, access, label, &err);
    if (c->u.buffer == NULL) return bind_failed(L, &err);
    bind_adopt(c, owner);
    if (initial && !device_buffer_keep(c->u.buffer, initial, &err)) return bind_refused(L, &err);
    return 1;
}

static void drop(BindChild *c) {
    device_buffer_free(c->u.buffer);
}

static int buffer_close(lua_State *L) {
    return bind_close_child(L, BIND_BUFFER, drop);
}

static int buffer_read(lua_State *L) {
    DeviceBuffer *b = bind_check_buffer(L, 1);
    gi_err err;
    lua_getiuservalue(L, 1, 2); /* its own array */
    if (!device_buffer_read(b, bind_check_array(L, -1), &err)) return bind_failed(L, &err);
    return 1;
}

static int buffer_write(lua_State *L) {
    DeviceBuffer *b = bind_check_buffer(L, 1);
    gi_err err;
    if (!device_buffer_write(b, bind_check_array(L, 2), &err)) return bind_refused(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int buffer_sentinel(lua_State *L) {
    gi_err err;
    if (!device_buffer_sentinel(bind_check_buffer(L, 1), &err)) return bind_refused(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int buffer_compare(lua_State *L) {
    DeviceBuffer *got = bind_check_buffer(L, 1), *expected = bind_check_buffer(L, 2);
    CompareOptions o = bind_compare_options(L, 3, false);
    Comparison c;
    gi_err err;
    if (!device_buffer_compare(got, expected, &o, &c, &err)) return bind_refused(L, &err);
    bind_push_comparison(L, &c, &o);
    return 1;
}

static int buffer_address(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)device_buffer_address(bind_check_buffer(L, 1)));
    return 1;
}

void bind_buffer_class(lua_State *L) {
    static const BindRow methods[] = {
        {"read", buffer_read, "buffer:read() -> array",
         "The buffer's array, holding what the device wrote."},
        {"write", buffer_write, "buffer:write(array) -> buffer",
         "Copies another array's contents in."},
        {"sentinel", buffer_sentinel, "buffer:sentinel() -> buffer",
         "Fills it with the mark that compare reports as unset, on the device."},
        {"time_sentinel", bind_buffer_time_sentinel, "buffer:time_sentinel([timing]) -> table",
         "Times that: no kernel that writes the whole buffer can be faster. As module:time."},
        {"compare", buffer_compare,
         "buffer:compare(expected_buffer [, {width, used, from, as, max_error, rel_error, limit, "
         "penalty}]) -> table",
         "gi.array.compare on the device, without copying the answers here."},
        {"address", buffer_address, "buffer:address() -> integer", "The device address."},
        {"close", buffer_close, "buffer:close()", "Frees the device memory."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", buffer_close}, {"__close", buffer_close}, {NULL, NULL}};
    bind_class(L, BIND_BUFFER, "buffer:", methods, meta);
}
