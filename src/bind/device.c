/* device.c - gi.device: the class of devices, and the lives of what is on them. */
#include "bind/device.h"

#include "compile/link.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE "gilua.device"

int bind_refused(lua_State *L, const gi_err *err) {
    return strcmp(err->code, "usage") == 0 ? bind_misuse(L, err) : bind_failed(L, err);
}

/* --- lives --- */

static void release(BindDevice *d) {
    if (--d->users > 0) return;
    device_close(d->device);
    free(d);
}

BindDevice *bind_check_device(lua_State *L, int index) {
    BindDevice *d = *(BindDevice **)luaL_checkudata(L, index, DEVICE);
    if (d == NULL) luaL_argerror(L, index, "the device is closed");
    return d;
}

BindChild *bind_new_child(lua_State *L, const char *class, bool with_array) {
    BindChild *c = bind_new(L, class, sizeof *c, 2);
    lua_pushvalue(L, 1), lua_setiuservalue(L, -2, 1);
    if (with_array) lua_pushvalue(L, 2), lua_setiuservalue(L, -2, 2);
    return c;
}

void bind_adopt(BindChild *c, BindDevice *owner) {
    c->owner = owner;
    owner->users++;
}

BindChild *bind_check_child(lua_State *L, int index, const char *class) {
    BindChild *c = luaL_checkudata(L, index, class);
    if (c->owner == NULL) luaL_argerror(L, index, "it is closed");
    return c;
}

int bind_close_child(lua_State *L, const char *class, void (*drop)(BindChild *)) {
    BindChild *c = luaL_checkudata(L, 1, class);
    if (c->owner == NULL) return 0;
    drop(c);
    release(c->owner);
    c->owner = NULL;
    return 0;
}

/* --- devices --- */

void bind_read_model(lua_State *L, int index, EmuModel *model) {
    luaL_checktype(L, index, LUA_TTABLE);
    const char *name = bind_option_string(L, index, "name", "unnamed GPU");
    strncpy(model->name, name, sizeof model->name - 1);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        if (strcmp(key, "name") == 0 || strcmp(key, "source") == 0) continue;
        int number;
        double value = lua_tonumberx(L, -1, &number);
        if (!number || !emu_model_set(model, key, value))
            luaL_error(L, "GPU model '%s': '%s' is no field of it or no number", model->name, key);
    }
    for (const char *const *f = emu_model_fields(); *f; f++) {
        if (lua_getfield(L, index, *f) == LUA_TNIL)
            luaL_error(L, "GPU model '%s' lacks the field '%s'", model->name, *f);
        lua_pop(L, 1);
    }
}

static bool is_for_workers; /* launching is, in this process */

static int refuse_launches(lua_State *L) {
    (void)L;
    is_for_workers = true;
    emu_refuse_launches();
    return 0;
}

static int device_new(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (is_for_workers && strncmp(name, "cuda", 4) == 0)
        return luaL_error(L, "a GPU is opened in a worker, not in gilua's own process");
    EmuModel model = {0};
    bind_read_model(L, 2, &model);
    BindDevice **box = bind_new(L, DEVICE, sizeof *box, 0);
    gi_err err;
    emu_assembler((EmuAssembler){link_registers, link_frame});
    Device *d = device_open(name, &model, &err);
    if (d == NULL) return bind_failed(L, &err);
    *box = gi_alloc(sizeof **box);
    **box = (BindDevice){d, 1};
    return 1;
}

static int device_shut(lua_State *L) {
    BindDevice **box = luaL_checkudata(L, 1, DEVICE);
    if (*box) release(*box);
    *box = NULL;
    return 0;
}

static int device_get_name(lua_State *L) {
    lua_pushstring(L, device_name(bind_check_device(L, 1)->device));
    return 1;
}

static int device_get_target(lua_State *L) {
    lua_pushstring(L, device_target(bind_check_device(L, 1)->device));
    return 1;
}

static int device_get_info(lua_State *L) {
    DeviceInfo i;
    device_info(bind_check_device(L, 1)->device, &i);
    lua_createtable(L, 0, 11);
    lua_pushstring(L, i.name), lua_setfield(L, -2, "name");
    lua_pushstring(L, i.uuid), lua_setfield(L, -2, "uuid");
    lua_pushinteger(L, i.compute), lua_setfield(L, -2, "compute");
    lua_pushinteger(L, i.sms), lua_setfield(L, -2, "sms");
    lua_pushnumber(L, i.clock_ghz), lua_setfield(L, -2, "clock_ghz");
    lua_pushinteger(L, (lua_Integer)i.memory_bytes), lua_setfield(L, -2, "memory_bytes");
    lua_pushinteger(L, (lua_Integer)i.l2_bytes), lua_setfield(L, -2, "l2_bytes");
    bind_set_number(L, "memory_rate", i.memory_rate);
    lua_pushinteger(L, i.driver), lua_setfield(L, -2, "driver");
    lua_pushinteger(L, i.max_threads_per_block), lua_setfield(L, -2, "max_threads_per_block");
    lua_pushinteger(L, (lua_Integer)i.shared_per_block), lua_setfield(L, -2, "shared_per_block");
    lua_pushstring(L, i.engine), lua_setfield(L, -2, "engine");
    return 1;
}

static int device_get_energy(lua_State *L) {
    double joules;
    gi_err err;
    if (!device_energy(bind_check_device(L, 1)->device, &joules, &err)) return bind_failed(L, &err);
    lua_pushnumber(L, joules);
    return 1;
}

static int device_check_intact(lua_State *L) {
    gi_buf what = {0};
    gi_err err;
    bool intact = device_intact(bind_check_device(L, 1)->device, &what, &err);
    gi_buf_free(&what); /* err says the same */
    if (!intact) return bind_failed(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int device_tostring(lua_State *L) {
    BindDevice *d = *(BindDevice **)luaL_checkudata(L, 1, DEVICE);
    lua_pushfstring(L, "device: %s", d ? device_description(d->device) : "closed");
    return 1;
}

void bind_device(lua_State *L) {
    static const BindRow methods[] = {
        {"name", device_get_name, "dev:name() -> string", "\"emu\" or \"cuda\"."},
        {"target", device_get_target, "dev:target() -> string",
         "What to compile for: gi.compile's target."},
        {"info", device_get_info, "dev:info() -> table",
         "name, uuid, compute (90), sms, clock_ghz, memory_bytes, l2_bytes, memory_rate (bytes a "
         "second, at most; 0: unknown), driver (13000), max_threads_per_block, shared_per_block; "
         "on emu engine (how it runs kernels, in words)."},
        {"energy", device_get_energy, "dev:energy() -> joules | nil, message, code",
         "What the whole GPU has taken since some moment, by NVML's counter, which moves every 20 "
         "to 100 ms: what lies between two readings counts."},
        {"intact", device_check_intact, "dev:intact() -> true | nil, what, code",
         "Did kernels leave guard zones and read-only memory alone? If not (code \"touched\"), "
         "says what was hit and restores it; on emu such a write is a fault already."},
        {"buffer", bind_buffer_new,
         "dev:buffer(array [, {read_only, hidden, label, initial}]) -> buffer | nil, message, code",
         "Device memory holding the array; hidden: no kernel can read what is in it; initial: an "
         "array with what a launch that fills the buffer puts there in place of the sentinel; a "
         "kernel's write to a read_only buffer is an illegal address on emu and found by "
         "dev:intact() on cuda, which calls the buffer by its label."},
        {"texture", bind_texture_new,
         "dev:texture(array [, {kind, channels, size, layers, address, filter, coords, read, "
         "border}]) -> texture",
         "A texture object over the array: kind linear | array, address wrap | clamp | mirror | "
         "border, filter point | linear, coords texel | normalized, read element | "
         "normalized."},
        {"load", bind_module_new, "dev:load(code) -> module | nil, message, code",
         "Loads PTX (or machine code)."},
        {"replay", bind_replay_new,
         "dev:replay(recording [, kernels]) -> replay | nil, message, code",
         "Makes ready to run a recording of core.record on a GPU, again and again: its memory, at "
         "the address that it had where the driver gives it, modules, arrays, textures and data. "
         "kernels: a list; what those of machine code wrote is among the reads."},
        {"close", device_shut, "dev:close()", "Releases the device once nothing uses it."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", device_shut},
        {"__close", device_shut},
        {"__tostring", device_tostring},
        {NULL, NULL}};
    static const BindRow rows[] = {{"open", device_new,
                                    "core.device.open(name, model) -> dev | nil, message, code",
                                    "Opens a device; gi.device(name) supplies the GPU model."},
                                   {"refuse_launches", refuse_launches,
                                    "core.device.refuse_launches()",
                                    "From now on no kernel runs in this process: a launch and a "
                                    "replay are refused, and a GPU is not opened. Commands begin "
                                    "with it, since their kernels run in boxed workers."},
                                   {NULL, NULL, NULL, NULL}};
    bind_class(L, DEVICE, "device:", methods, meta);
    bind_buffer_class(L);
    bind_texture_class(L);
    bind_module_class(L);
    bind_replay_class(L);
    lua_newtable(L);
    bind_rows(L, "device.", rows);
}
