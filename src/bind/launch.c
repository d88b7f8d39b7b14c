/* launch.c - what a script says of a launch, and module:launch. */
#include "bind/device.h"

#include <stdio.h>
#include <string.h>

static void read_dim3(lua_State *L, int index, const char *name, unsigned out[3]) {
    out[0] = out[1] = out[2] = 1;
    int type = lua_getfield(L, index, name);
    int n = type == LUA_TTABLE ? (int)luaL_len(L, -1) : 1;
    if ((type != LUA_TNUMBER && type != LUA_TTABLE) || n < 1 || n > 3)
        luaL_error(L, "launch: '%s' must be a number or a list of up to three", name);
    for (int i = 0; i < n; i++) {
        int whole;
        if (type == LUA_TTABLE) lua_geti(L, -1, i + 1);
        else lua_pushvalue(L, -1);
        lua_Integer k = lua_tointegerx(L, -1, &whole);
        if (!whole || k < 0 || k > UINT32_MAX)
            luaL_error(L, "launch: '%s' must hold whole numbers from 0 to 2^32-1", name);
        out[i] = (unsigned)k;
        lua_pop(L, 1);
    }
    lua_pop(L, 1); /* field */
}

static void read_params(lua_State *L, int index, const char *kernel, const KernelInfo *info,
                        unsigned char *params) {
    int n = 0;
    if (lua_getfield(L, index, "args") == LUA_TTABLE) n = (int)luaL_len(L, -1);
    else if (!lua_isnil(L, -1)) luaL_error(L, "launch: 'args' must be a list");
    if (n != info->n_params)
        luaL_error(L, "launch: %s takes %d arguments, not %d", kernel, info->n_params, n);
    for (int i = 0; i < n; i++) {
        char what[64];
        snprintf(what, sizeof what, "launch: argument %d of %.30s", i + 1, kernel);
        unsigned char small[8];
        size_t size;
        lua_geti(L, -1, i + 1);
        const void *bytes = bind_value_bytes(L, lua_gettop(L), what, small, &size);
        if (size != info->param_size[i])
            luaL_error(L, "%s has %d bytes, not %d", what, (int)info->param_size[i], (int)size);
        memcpy(params + info->param_offset[i], bytes, size);
        lua_pop(L, 1);
    }
    lua_pop(L, 1); /* args */
}

static void print_text(void *user, const char *text, size_t len) {
    gi_buf_add(user, text, len);
}

/* What the kernel printed goes where Lua's io.write goes, as a CUDA program's would to stdout. */
static void write_printed(lua_State *L, const gi_buf *text) {
    if (lua_getglobal(L, "io") == LUA_TTABLE && lua_getfield(L, -1, "write") == LUA_TFUNCTION) {
        lua_pushlstring(L, text->data, text->len);
        lua_call(L, 1, 0);
    } else {
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_fill(lua_State *L, int index, DeviceLaunch *launch) {
    int type = lua_getfield(L, index, "fill"); /* stays: anchors the buffers */
    if (type == LUA_TNIL) return;
    if (type != LUA_TTABLE) luaL_error(L, "launch: 'fill' must be a list of buffers");
    int n = (int)luaL_len(L, -1);
    launch->fill = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *launch->fill, 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, -2, i + 1);
        if (luaL_testudata(L, -1, BIND_BUFFER) == NULL)
            luaL_error(L, "launch: 'fill' must be a list of buffers");
        launch->fill[i] = bind_check_buffer(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    launch->n_fill = n;
}

static const void *make_params(lua_State *L, int index, const char *kernel,
                               const KernelInfo *info) {
    unsigned char *params = lua_newuserdatauv(L, info->param_bytes + 8, 0);
    memset(params, 0, info->param_bytes + 8);
    read_params(L, index, kernel, info, params);
    return params;
}

/* check_races = true is "shared". */
static EmuRaces read_races(lua_State *L, int index) {
    static const char *const where[] = {"shared", "global", NULL};
    int type = lua_getfield(L, index, "check_races");
    bool on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (type != LUA_TSTRING) return on ? EMU_RACES_SHARED : EMU_RACES_NONE;
    return bind_option_enum(L, index, "check_races", where, 0) == 1 ? EMU_RACES_GLOBAL
                                                                    : EMU_RACES_SHARED;
}

bool bind_read_launch(lua_State *L, int index, DeviceModule *m, BindLaunch *out, gi_err *err) {
    static const char *const caches[] = {"default", "shared", "l1", "equal", NULL};
    static const char *const benign[] = {"warn", "refuse", NULL};
    DeviceLaunch *l = &out->launch;
    KernelInfo info;
    bind_room(L, 12, "values");
    *out = (BindLaunch){.launch.interrupt = &bind_interrupted};
    l->kernel = bind_option_string(L, index, "kernel", device_kernel_name(m, 0));
    if (l->kernel == NULL) luaL_error(L, "launch: the module has no kernel");
    read_dim3(L, index, "grid", l->grid);
    read_dim3(L, index, "block", l->block);
    bool clusters = lua_getfield(L, index, "cluster") != LUA_TNIL;
    lua_pop(L, 1);
    if (clusters) read_dim3(L, index, "cluster", l->cluster);
    l->shared_bytes = (size_t)bind_option_int(L, index, "shared", 0);
    l->budget = (uint64_t)bind_option_number(L, index, "budget", 0);
    l->max_faults = (int)bind_option_int(L, index, "max_faults", 1);
    l->count_uninitialised = bind_option_bool(L, index, "count_uninitialised", false);
    l->check_races = read_races(L, index);
    l->refuse_benign_races = bind_option_enum(L, index, "benign_races", benign, 0) == 1;
    l->meets = bind_option_bool(L, index, "meets", false);
    l->backwards = bind_option_bool(L, index, "backwards", false);
    l->exact = bind_option_exact(L, index);
    l->cooperative = bind_option_bool(L, index, "cooperative", false);
    l->threads = (int)bind_option_int(L, index, "threads", 1);
    l->keep_variables = bind_option_bool(L, index, "keep_variables", false);
    l->cache = (DeviceCache)bind_option_enum(L, index, "cache", caches, CACHE_DEFAULT);
    l->carveout = (int)bind_option_int(L, index, "carveout", -1);
    l->timeout_s = bind_option_number(L, index, "timeout_s", 0);
    out->print = bind_option_bool(L, index, "print", true);
    read_fill(L, index, l);
    if (!device_kernel_info(m, l->kernel, &info, err)) return false;
    l->params = make_params(L, index, l->kernel, &info);
    return true;
}

DeviceModule *bind_check_run(lua_State *L, const char *const *known) {
    DeviceModule *m = bind_check_module(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    return m;
}

int bind_module_launch(lua_State *L) {
    static const char *const known[] = {BIND_LAUNCH_FIELDS, NULL};
    DeviceModule *module = bind_check_run(L, known);
    BindLaunch args;
    gi_err err;
    if (!bind_read_launch(L, 2, module, &args, &err)) return bind_refused(L, &err);
    gi_buf printed = {0};
    if (args.print) args.launch.print = print_text, args.launch.print_user = &printed;
    Measurement m;
    bool ran = device_launch(module, &args.launch, &m, &err);
    if (printed.len > 0) write_printed(L, &printed);
    gi_buf_free(&printed);
    if (!ran) return bind_refused(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    bind_push_measurement(L, &m);
    return 1;
}
