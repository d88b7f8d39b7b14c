/* module.c - the class of modules: code on a device, its kernels and variables. */
#include "bind/device.h"

#include <string.h>

DeviceModule *bind_check_module(lua_State *L, int index) {
    return bind_check_child(L, index, BIND_MODULE)->u.module;
}

int bind_module_new(lua_State *L) {
    size_t len;
    BindDevice *owner = bind_check_device(L, 1);
    const char *code = luaL_checklstring(L, 2, &len);
    BindChild *c = bind_new_child(L, BIND_MODULE, false);
    gi_err err;
    c->u.module = device_load(owner->device, code, len, &err);
    if (c->u.module == NULL) return bind_failed(L, &err);
    bind_adopt(c, owner);
    return 1;
}

static void drop(BindChild *c) {
    device_module_free(c->u.module);
}

static int module_close(lua_State *L) {
    return bind_close_child(L, BIND_MODULE, drop);
}

static int module_kernels(lua_State *L) {
    DeviceModule *m = bind_check_module(L, 1);
    lua_newtable(L);
    const char *name;
    for (int i = 0; (name = device_kernel_name(m, i)) != NULL; i++) {
        lua_pushstring(L, name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int module_info(lua_State *L) {
    DeviceModule *m = bind_check_module(L, 1);
    KernelInfo info;
    gi_err err;
    if (!device_kernel_info(m, luaL_checkstring(L, 2), &info, &err)) return bind_refused(L, &err);
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, info.registers), lua_setfield(L, -2, "registers");
    lua_pushinteger(L, (lua_Integer)info.shared_bytes), lua_setfield(L, -2, "shared_bytes");
    lua_pushinteger(L, (lua_Integer)info.local_bytes), lua_setfield(L, -2, "local_bytes");
    lua_pushinteger(L, info.max_threads), lua_setfield(L, -2, "max_threads");
    lua_createtable(L, info.n_params, 0);
    for (int i = 0; i < info.n_params; i++)
        lua_pushinteger(L, (lua_Integer)info.param_size[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "params");
    return 1;
}

static int module_reset(lua_State *L) {
    gi_err err;
    if (!device_module_reset(bind_check_module(L, 1), &err)) return bind_failed(L, &err);
    lua_settop(L, 1);
    return 1;
}

const void *bind_value_bytes(lua_State *L, int index, const char *what, unsigned char small[8],
                             size_t *size) {
    uint64_t word;
    if (lua_type(L, index) == LUA_TSTRING) return lua_tolstring(L, index, size);
    if (lua_istable(L, index)) {
        *size = bind_scalar(L, index, small, NULL, what);
        return small;
    }
    if (luaL_testudata(L, index, BIND_BUFFER)) {
        word = device_buffer_address(bind_check_buffer(L, index));
    } else if (luaL_testudata(L, index, BIND_TEXTURE)) {
        word = device_texture_handle(bind_check_texture(L, index));
    } else {
        luaL_error(
            L, "%s: a buffer, a texture, { type, value } or a string of bytes is needed, not a %s",
            what, luaL_typename(L, index));
        return NULL;
    }
    memcpy(small, &word, sizeof word);
    *size = sizeof word;
    return small;
}

static int module_write(lua_State *L) {
    DeviceModule *m = bind_check_module(L, 1);
    const char *name = luaL_checkstring(L, 2);
    unsigned char small[8];
    size_t size;
    Array *a = bind_test_array(L, 3);
    const void *bytes = a ? a->data : NULL;
    if (a) size = a->size_bytes;
    else bytes = bind_value_bytes(L, 3, name, small, &size);
    gi_err err;
    if (!device_symbol_write(m, name, bytes, size, &err)) return bind_failed(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int module_read(lua_State *L) {
    DeviceModule *m = bind_check_module(L, 1);
    const char *name = luaL_checkstring(L, 2);
    Array *a = bind_check_array(L, 3);
    gi_err err;
    if (!device_symbol_read(m, name, a->data, a->size_bytes, &err)) return bind_failed(L, &err);
    lua_settop(L, 3);
    return 1;
}

void bind_module_class(lua_State *L) {
    static const BindRow methods[] = {
        {"kernels", module_kernels, "module:kernels() -> list", "The names of the kernels."},
        {"info", module_info,
         "module:info(kernel) -> { registers, shared_bytes, local_bytes, max_threads, params }",
         "What a kernel needs; params are its arguments' sizes in bytes."},
        {"reset", module_reset, "module:reset() -> module",
         "Sets device variables back to their initial values."},
        {"write", module_write, "module:write(name, array | value) -> module | nil, message, code",
         "Sets a __constant__ or __device__ variable from an array, { type, value }, buffer, "
         "texture or bytes."},
        {"read", module_read, "module:read(name, array) -> array | nil, message, code",
         "Copies a device variable into the array."},
        {"launch", bind_module_launch,
         "module:launch{ kernel, grid, block, shared, args, fill, cache, carveout, timeout_s, "
         "budget, print, count_uninitialised, check_races, benign_races, max_faults, backwards, "
         "threads, cooperative, cluster, keep_variables, meets } "
         "-> measurement",
         "Runs a kernel, its device variables as the code or the host left them (keep_variables: "
         "as the launches before did) and the buffers in fill full of the sentinel; what it does "
         "wrong is in the measurement's status and "
         "message, all of up to max_faults (1) faults in its faults, what is none in its warnings. "
         "cooperative: all blocks run at a time, as grid.sync() needs it; more than can are "
         "refused. cluster: how many blocks a cluster has, where the kernel does not say. "
         "heap_objects, heap_bytes: on the virtual GPU, what kernels have allocated by malloc and "
         "not freed. "
         "backwards: on the virtual GPU the last block begins first. threads: there, how many "
         "cores may run blocks side by side (1); answers, faults and ticks are the same. "
         "meets: there, of a launch with check_races = \"global\", the measurement's meets are "
         "which pointers of the kernel led to one byte that one of them wrote: { kernel, how "
         "(\"any\"; \"in order\": what the first wrote the second read or wrote over), first, "
         "second (each { source, line, writes }; source: the parameter's number, 0 for "
         "variables), block, thread (of second) } each; how = \"unknown\": "
         "second's address is not understood. None: not known. "
         "Device printf goes to io.write unless print is false (cuda: to stdout)."},
        {"time", bind_module_time,
         "module:time{ launch fields, min_samples, max_samples, warmup, rel_error, stop_above_ns, "
         "flush_l2, clock_tolerance } -> measurement",
         "Launches until the median is known to rel_error: the measurement with samples, clocks, "
         "throttled, dropped, launches (that ran in all), median_ns, rel_error, slow and capped."},
        {"pair", bind_module_pair,
         "module:pair{ a = launch, b = launch, other = module of b, pairs = n } -> measurement",
         "Times two launches in turn, A B B A: the measurement has lists a and b of nanoseconds."},
        {"spans", bind_module_spans, "module:spans{ launch fields, variable } -> measurement",
         "The papers' clock, of code that records its blocks where variable (gilua_spans) points: "
         "span_ticks, span_ns, span_blocks, span_sms."},
        {"close", module_close, "module:close()", "Unloads the module."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", module_close}, {"__close", module_close}, {NULL, NULL}};
    bind_class(L, BIND_MODULE, "module:", methods, meta);
}
