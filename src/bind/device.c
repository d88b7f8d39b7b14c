/* device.c - gi.device: memory, textures, modules and launches.
**
** Children keep their parents alive through user values: a buffer, texture or module its device, a
** buffer and a texture their array. A parent collected in the same cycle is closed by its last
** child: `users` counts them.
**
** Misuse raises; a driver that fails, a lost device and no memory answer nil, message, code.
*/
#include "bind/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE  "gilua.device"
#define BUFFER  "gilua.buffer"
#define TEXTURE "gilua.texture"
#define MODULE  "gilua.module"

/* The device outlives its userdata while children use it: finalisers run in any order. */
typedef struct Shared {
    Device *device;
    int users;
} Shared;

typedef struct Child {
    Shared *shared;
    union {
        DeviceBuffer *buffer;
        DeviceTexture *texture;
        DeviceModule *module;
    } u;
} Child;

/* "usage" raises, everything else is the world's: nil, message, code. */
static int refuse(lua_State *L, const gi_err *err) {
    return strcmp(err->code, "usage") == 0 ? bind_misuse(L, err) : bind_failed(L, err);
}

static void release(Shared *s) {
    if (--s->users > 0) return;
    device_close(s->device);
    free(s);
}

static Shared *check_device(lua_State *L, int index) {
    Shared *s = *(Shared **)luaL_checkudata(L, index, DEVICE);
    if (s == NULL) luaL_argerror(L, index, "the device is closed");
    return s;
}

static Child *check_child(lua_State *L, int index, const char *class) {
    Child *c = luaL_checkudata(L, index, class);
    if (c->shared == NULL) luaL_argerror(L, index, "it is closed");
    return c;
}

/* model = { name =, clock_ghz =, … }: every field is known, every known field is there. */
static void read_model(lua_State *L, int index, EmuModel *model) {
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

static int device_new(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    EmuModel model = {0};
    read_model(L, 2, &model);
    Shared **box = bind_new(L, DEVICE, sizeof *box, 0);
    gi_err err;
    Device *d = device_open(name, &model, &err);
    if (d == NULL) return bind_failed(L, &err);
    *box = gi_alloc(sizeof **box);
    **box = (Shared){d, 1};
    return 1;
}

static int device_gc(lua_State *L) {
    Shared **box = luaL_checkudata(L, 1, DEVICE);
    if (*box) release(*box);
    *box = NULL;
    return 0;
}

static int device_get_name(lua_State *L) {
    lua_pushstring(L, device_name(check_device(L, 1)->device));
    return 1;
}

static int device_get_target(lua_State *L) {
    lua_pushstring(L, device_target(check_device(L, 1)->device));
    return 1;
}

static int device_get_info(lua_State *L) {
    DeviceInfo i;
    device_info(check_device(L, 1)->device, &i);
    lua_createtable(L, 0, 10);
    lua_pushstring(L, i.name), lua_setfield(L, -2, "name");
    lua_pushstring(L, i.uuid), lua_setfield(L, -2, "uuid");
    lua_pushinteger(L, i.compute), lua_setfield(L, -2, "compute");
    lua_pushinteger(L, i.sms), lua_setfield(L, -2, "sms");
    lua_pushnumber(L, i.clock_ghz), lua_setfield(L, -2, "clock_ghz");
    lua_pushinteger(L, (lua_Integer)i.memory_bytes), lua_setfield(L, -2, "memory_bytes");
    lua_pushinteger(L, (lua_Integer)i.l2_bytes), lua_setfield(L, -2, "l2_bytes");
    lua_pushinteger(L, i.driver), lua_setfield(L, -2, "driver");
    lua_pushinteger(L, i.max_threads_per_block), lua_setfield(L, -2, "max_threads_per_block");
    lua_pushinteger(L, (lua_Integer)i.shared_per_block), lua_setfield(L, -2, "shared_per_block");
    return 1;
}

static int device_check_intact(lua_State *L) {
    gi_buf what = {0};
    gi_err err;
    bool intact = device_intact(check_device(L, 1)->device, &what, &err);
    gi_buf_free(&what); /* err says the same */
    if (!intact) return bind_failed(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int device_tostring(lua_State *L) {
    Shared *s = *(Shared **)luaL_checkudata(L, 1, DEVICE);
    lua_pushfstring(L, "device: %s", s ? device_description(s->device) : "closed");
    return 1;
}

/* A closed child on the stack, its device (at 1) and array (at 2, if any) anchored. */
static Child *new_child(lua_State *L, const char *class, bool with_array) {
    Child *c = bind_new(L, class, sizeof *c, 2);
    lua_pushvalue(L, 1), lua_setiuservalue(L, -2, 1);
    if (with_array) lua_pushvalue(L, 2), lua_setiuservalue(L, -2, 2);
    return c;
}

static void adopt(Child *c, Shared *s) {
    c->shared = s;
    s->users++;
}

static int buffer_new(lua_State *L) {
    static const char *const known[] = {"read_only", "hidden", "label", "initial", NULL};
    Shared *s = check_device(L, 1);
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
    Child *c = new_child(L, BUFFER, true);
    gi_err err;
    c->u.buffer = device_buffer(s->device, a, access, label, &err);
    if (c->u.buffer == NULL) return bind_failed(L, &err);
    adopt(c, s);
    if (initial && !device_buffer_keep(c->u.buffer, initial, &err)) return refuse(L, &err);
    return 1;
}

static int buffer_gc(lua_State *L) {
    Child *c = luaL_checkudata(L, 1, BUFFER);
    if (c->shared == NULL) return 0;
    device_buffer_free(c->u.buffer);
    release(c->shared);
    c->shared = NULL;
    return 0;
}

static int buffer_read(lua_State *L) {
    Child *c = check_child(L, 1, BUFFER);
    gi_err err;
    lua_getiuservalue(L, 1, 2); /* its own array */
    if (!device_buffer_read(c->u.buffer, bind_check_array(L, -1), &err))
        return bind_failed(L, &err);
    return 1;
}

static int buffer_write(lua_State *L) {
    Child *c = check_child(L, 1, BUFFER);
    gi_err err;
    if (!device_buffer_write(c->u.buffer, bind_check_array(L, 2), &err)) return refuse(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int buffer_sentinel(lua_State *L) {
    gi_err err;
    if (!device_buffer_sentinel(check_child(L, 1, BUFFER)->u.buffer, &err)) return refuse(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int buffer_compare(lua_State *L) {
    Child *got = check_child(L, 1, BUFFER), *expected = check_child(L, 2, BUFFER);
    CompareOptions o = bind_compare_options(L, 3, false);
    Comparison c;
    gi_err err;
    if (!device_buffer_compare(got->u.buffer, expected->u.buffer, &o, &c, &err))
        return refuse(L, &err);
    bind_push_comparison(L, &c, &o);
    return 1;
}

static int buffer_address(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)device_buffer_address(check_child(L, 1, BUFFER)->u.buffer));
    return 1;
}

/* --- textures --- */

static int option_enum(lua_State *L, int index, const char *name, const char *const *words) {
    const char *word = bind_option_string(L, index, name, words[0]);
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return luaL_error(L, "option '%s' cannot be '%s'", name, word);
}

static EmuTexFormat texture_format(lua_State *L, ArrayType t) {
    switch (t) {
    case ARRAY_U8: return EMU_TEX_U8;
    case ARRAY_I8: return EMU_TEX_S8;
    case ARRAY_U16: return EMU_TEX_U16;
    case ARRAY_I16: return EMU_TEX_S16;
    case ARRAY_U32: return EMU_TEX_U32;
    case ARRAY_I32: return EMU_TEX_S32;
    case ARRAY_F32: return EMU_TEX_F32;
    default: return (EmuTexFormat)luaL_error(L, "a texture cannot hold %s", array_type_name(t));
    }
}

static void texture_size(lua_State *L, int index, const Array *a, EmuTexture *t) {
    int64_t texels = a->count / t->channels, product = 1;
    for (int i = 0; i < 3; i++) t->size[i] = 1;
    if (lua_isnoneornil(L, index) || lua_getfield(L, index, "size") == LUA_TNIL) {
        t->dims = 1;
        t->size[0] = texels;
        return;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    t->dims = (int)luaL_len(L, -1);
    if (t->dims < 1 || t->dims > 3)
        luaL_error(L, "option 'size' is { width [, height [, depth]] }");
    for (int i = 0; i < t->dims; i++) {
        lua_geti(L, -1, i + 1);
        t->size[i] = luaL_checkinteger(L, -1);
        product *= t->size[i];
        lua_pop(L, 1);
    }
    if (t->layers > 0) product *= t->layers;
    if (product != texels)
        luaL_error(L, "the texture's size has %I texels, the array %I", (lua_Integer)product,
                   (lua_Integer)texels);
}

static int texture_new(lua_State *L) {
    static const char *const known[] = {"kind",   "channels", "size", "layers", "address",
                                        "filter", "coords",   "read", "border", NULL};
    static const char *const kinds[] = {"linear", "array", NULL};
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border", NULL};
    static const char *const filters[] = {"point", "linear", NULL};
    static const char *const coords[] = {"texel", "normalized", NULL};
    static const char *const reads[] = {"element", "normalized", NULL};
    Shared *s = check_device(L, 1);
    Array *a = bind_check_array(L, 2);
    bind_check_options(L, 3, known);
    lua_settop(L, 3);
    EmuTexture t = {.format = texture_format(L, a->type)};
    t.kind = option_enum(L, 3, "kind", kinds) == 0 ? EMU_TEX_LINEAR : EMU_TEX_ARRAY;
    t.channels = (int)bind_option_int(L, 3, "channels", 1);
    luaL_argcheck(L, t.channels == 1 || t.channels == 2 || t.channels == 4, 3,
                  "channels are 1, 2 or 4");
    t.layers = bind_option_int(L, 3, "layers", 0);
    bool has_mode = !lua_isnoneornil(L, 3) && lua_getfield(L, 3, "address") != LUA_TNIL;
    int mode = has_mode ? option_enum(L, 3, "address", modes) : EMU_TEX_CLAMP;
    for (int i = 0; i < 3; i++) t.address[i] = (EmuTexAddress)mode;
    t.linear_filter = option_enum(L, 3, "filter", filters) == 1;
    t.normalized_coords = option_enum(L, 3, "coords", coords) == 1;
    t.normalized_read = option_enum(L, 3, "read", reads) == 1;
    t.border[0] = (float)bind_option_number(L, 3, "border", 0);
    for (int i = 1; i < 4; i++) t.border[i] = t.border[0];
    texture_size(L, 3, a, &t);
    Child *c = new_child(L, TEXTURE, true);
    gi_err err;
    c->u.texture = device_texture(s->device, a, &t, &err);
    if (c->u.texture == NULL) return refuse(L, &err);
    adopt(c, s);
    return 1;
}

static int texture_gc(lua_State *L) {
    Child *c = luaL_checkudata(L, 1, TEXTURE);
    if (c->shared == NULL) return 0;
    device_texture_free(c->u.texture);
    release(c->shared);
    c->shared = NULL;
    return 0;
}

static int texture_handle(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)device_texture_handle(check_child(L, 1, TEXTURE)->u.texture));
    return 1;
}

/* --- modules --- */

static int module_new(lua_State *L) {
    size_t len;
    Shared *s = check_device(L, 1);
    const char *code = luaL_checklstring(L, 2, &len);
    Child *c = new_child(L, MODULE, false);
    gi_err err;
    c->u.module = device_load(s->device, code, len, &err);
    if (c->u.module == NULL) return bind_failed(L, &err);
    adopt(c, s);
    return 1;
}

static int module_gc(lua_State *L) {
    Child *c = luaL_checkudata(L, 1, MODULE);
    if (c->shared == NULL) return 0;
    device_module_free(c->u.module);
    release(c->shared);
    c->shared = NULL;
    return 0;
}

static int module_kernels(lua_State *L) {
    Child *c = check_child(L, 1, MODULE);
    lua_newtable(L);
    const char *name;
    for (int i = 0; (name = device_kernel_name(c->u.module, i)) != NULL; i++) {
        lua_pushstring(L, name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int module_info(lua_State *L) {
    Child *c = check_child(L, 1, MODULE);
    EmuKernelInfo info;
    gi_err err;
    if (!device_kernel_info(c->u.module, luaL_checkstring(L, 2), &info, &err))
        return refuse(L, &err);
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
    if (!device_module_reset(check_child(L, 1, MODULE)->u.module, &err))
        return bind_failed(L, &err);
    lua_settop(L, 1);
    return 1;
}

/* The bytes of a value for a variable or parameter: buffer, texture, scalar, raw string. */
static const unsigned char *value_bytes(lua_State *L, int index, const char *what,
                                        unsigned char small[8], size_t *size) {
    Child *c;
    uint64_t word;
    if ((c = luaL_testudata(L, index, BUFFER)) != NULL) {
        word = device_buffer_address(check_child(L, index, BUFFER)->u.buffer);
    } else if ((c = luaL_testudata(L, index, TEXTURE)) != NULL) {
        word = device_texture_handle(check_child(L, index, TEXTURE)->u.texture);
    } else if (lua_type(L, index) == LUA_TSTRING) {
        return (const unsigned char *)lua_tolstring(L, index, size);
    } else if (lua_istable(L, index)) {
        *size = bind_scalar(L, index, small, NULL, what);
        return small;
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
    Child *c = check_child(L, 1, MODULE);
    const char *name = luaL_checkstring(L, 2);
    unsigned char small[8];
    size_t size;
    Array *a = bind_test_array(L, 3);
    const void *bytes = a ? a->data : NULL;
    if (a) size = a->size_bytes;
    else bytes = value_bytes(L, 3, name, small, &size);
    gi_err err;
    if (!device_symbol_write(c->u.module, name, bytes, size, &err)) return bind_failed(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int module_read(lua_State *L) {
    Child *c = check_child(L, 1, MODULE);
    const char *name = luaL_checkstring(L, 2);
    Array *a = bind_check_array(L, 3);
    gi_err err;
    if (!device_symbol_read(c->u.module, name, a->data, a->size_bytes, &err))
        return bind_failed(L, &err);
    lua_settop(L, 3);
    return 1;
}

/* --- launches --- */

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

static void read_params(lua_State *L, int index, const char *kernel, const EmuKernelInfo *info,
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
        const unsigned char *bytes = value_bytes(L, lua_gettop(L), what, small, &size);
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

static void set_number(lua_State *L, const char *name, double value) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const char *name, uint64_t value) {
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void set_point(lua_State *L, const char *name, const unsigned p[3]) {
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) lua_pushinteger(L, p[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, name);
}

/* Sets `name` to the list of what was found; not where nothing was. */
static void set_findings(lua_State *L, const char *name, const EmuFindings *list) {
    if (list->n == 0) return;
    lua_createtable(L, list->n, 0);
    for (int i = 0; i < list->n; i++) {
        const EmuFinding *f = &list->at[i];
        lua_createtable(L, 0, 7);
        lua_pushstring(L, f->kind), lua_setfield(L, -2, "kind");
        lua_pushstring(L, f->message), lua_setfield(L, -2, "message");
        set_count(L, "count", f->count);
        set_count(L, "ptx_line", (uint64_t)f->ptx_line);
        set_count(L, "line", (uint64_t)f->src_line);
        set_point(L, "block", f->block);
        set_point(L, "thread", f->thread);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, name);
}

static void push_measurement(lua_State *L, const Measurement *m) {
    const EmuResult *r = &m->detail;
    lua_createtable(L, 0, 24);
    lua_pushstring(L, device_status_name(m->status)), lua_setfield(L, -2, "status");
    lua_pushboolean(L, m->lost), lua_setfield(L, -2, "lost");
    set_number(L, "clock_ghz", m->clock_ghz);
    set_number(L, "ticks", m->ticks);
    set_number(L, "ns", m->ns);
    set_count(L, "registers", (uint64_t)m->registers);
    set_count(L, "shared_bytes", m->shared_bytes);
    set_number(L, "occupancy", r->occupancy);
    set_count(L, "warp_instructions", r->warp_instructions);
    set_count(L, "lane_instructions", r->lane_instructions);
    set_count(L, "global_sectors", r->global_sectors);
    set_count(L, "texture_sectors", r->texture_sectors);
    set_count(L, "shared_conflicts", r->shared_conflicts);
    set_count(L, "divergent_branches", r->divergent_branches);
    set_count(L, "barriers", r->barriers);
    set_count(L, "uninitialised_reads", r->uninitialised_reads);
    set_count(L, "barrier_after_exit", r->barrier_after_exit);
    set_number(L, "part_issue", r->part_issue);
    set_number(L, "part_latency", r->part_latency);
    set_number(L, "part_memory", r->part_memory);
    set_findings(L, "warnings", &r->warnings);
    if (m->status == STATUS_OK) return;
    lua_pushstring(L, r->message), lua_setfield(L, -2, "message");
    if (r->ptx_line == 0) return; /* a GPU does not say where */
    set_count(L, "ptx_line", (uint64_t)r->ptx_line);
    set_count(L, "line", (uint64_t)r->src_line);
    set_point(L, "fault_block", r->block);
    set_point(L, "fault_thread", r->thread);
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

/* A launch as a script describes it. Its pointers are anchored in `slots` values that read_launch
** leaves on the stack. */
typedef struct LaunchArgs {
    DeviceLaunch launch;
    bool print;
} LaunchArgs;

#define LAUNCH_FIELDS                                                                              \
    "kernel", "grid", "block", "shared", "args", "budget", "print", "count_uninitialised",         \
        "check_races", "cache", "carveout", "timeout_s", "fill"

static void read_fill(lua_State *L, int index, DeviceLaunch *launch) {
    int type = lua_getfield(L, index, "fill"); /* stays: anchors the buffers */
    if (type == LUA_TNIL) return;
    if (type != LUA_TTABLE) luaL_error(L, "launch: 'fill' must be a list of buffers");
    int n = (int)luaL_len(L, -1);
    launch->fill = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *launch->fill, 0);
    for (int i = 0; i < n; i++) {
        lua_geti(L, -2, i + 1);
        if (luaL_testudata(L, -1, BUFFER) == NULL)
            luaL_error(L, "launch: 'fill' must be a list of buffers");
        launch->fill[i] = check_child(L, lua_gettop(L), BUFFER)->u.buffer;
        lua_pop(L, 1);
    }
    launch->n_fill = n;
}

static const void *make_params(lua_State *L, int index, const char *kernel,
                               const EmuKernelInfo *info) {
    unsigned char *params = lua_newuserdatauv(L, info->param_bytes + 8, 0);
    memset(params, 0, info->param_bytes + 8);
    read_params(L, index, kernel, info, params);
    return params;
}

/* Fills *out from the table at index, whose keys the caller has checked; false: *err says why the
** kernel could not be asked for. */
static bool read_launch(lua_State *L, int index, DeviceModule *m, LaunchArgs *out, gi_err *err) {
    static const char *const caches[] = {"default", "shared", "l1", "equal", NULL};
    DeviceLaunch *l = &out->launch;
    EmuKernelInfo info;
    luaL_checkstack(L, 12, "launch");
    *out = (LaunchArgs){.launch.run.interrupt = &bind_interrupted};
    l->run.kernel = bind_option_string(L, index, "kernel", device_kernel_name(m, 0));
    if (l->run.kernel == NULL) luaL_error(L, "launch: the module has no kernel");
    read_dim3(L, index, "grid", l->run.grid);
    read_dim3(L, index, "block", l->run.block);
    l->run.shared_bytes = (size_t)bind_option_int(L, index, "shared", 0);
    l->run.budget = (uint64_t)bind_option_number(L, index, "budget", 0);
    l->run.count_uninitialised = bind_option_bool(L, index, "count_uninitialised", false);
    l->run.check_races = bind_option_bool(L, index, "check_races", false);
    l->cache = (DeviceCache)option_enum(L, index, "cache", caches);
    l->carveout = (int)bind_option_int(L, index, "carveout", -1);
    l->timeout_s = bind_option_number(L, index, "timeout_s", 0);
    out->print = bind_option_bool(L, index, "print", true);
    read_fill(L, index, l);
    if (!device_kernel_info(m, l->run.kernel, &info, err)) return false;
    l->run.params = make_params(L, index, l->run.kernel, &info);
    return true;
}

static int module_launch(lua_State *L) {
    static const char *const known[] = {LAUNCH_FIELDS, NULL};
    Child *c = check_child(L, 1, MODULE);
    luaL_checktype(L, 2, LUA_TTABLE);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    LaunchArgs args;
    gi_err err;
    if (!read_launch(L, 2, c->u.module, &args, &err)) return refuse(L, &err);
    gi_buf printed = {0};
    if (args.print) args.launch.run.print = print_text, args.launch.run.print_user = &printed;
    Measurement m;
    bool ran = device_launch(c->u.module, &args.launch, &m, &err);
    if (printed.len > 0) write_printed(L, &printed);
    gi_buf_free(&printed);
    if (!ran) return refuse(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    push_measurement(L, &m);
    return 1;
}

/* --- timing --- */

#define TIMING_FIELDS                                                                              \
    "min_samples", "max_samples", "warmup", "rel_error", "stop_above_ns", "flush_l2",              \
        "clock_tolerance"

static DeviceTiming read_timing(lua_State *L, int index) {
    return (DeviceTiming){
        .min_samples = (int)bind_option_int(L, index, "min_samples", 0),
        .max_samples = (int)bind_option_int(L, index, "max_samples", 0),
        .warmup = (int)bind_option_int(L, index, "warmup", 0),
        .rel_error = bind_option_number(L, index, "rel_error", 0),
        .stop_above_ns = bind_option_number(L, index, "stop_above_ns", 0),
        .flush_l2 = bind_option_bool(L, index, "flush_l2", false),
        .clock_tolerance = bind_option_number(L, index, "clock_tolerance", 0),
    };
}

static void set_numbers(lua_State *L, const char *name, const double *values, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) lua_pushnumber(L, values[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool value) {
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

static void push_samples(lua_State *L, const DeviceSamples *s) {
    push_measurement(L, &s->last);
    set_numbers(L, "samples", s->ns, s->n);
    set_numbers(L, "clocks", s->clock_ghz, s->n);
    lua_createtable(L, s->n, 0);
    for (int i = 0; i < s->n; i++) lua_pushboolean(L, s->throttled[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "throttled");
    set_count(L, "dropped", (uint64_t)s->dropped);
    set_number(L, "median_ns", s->median_ns);
    set_number(L, "rel_error", s->rel_error);
    set_bool(L, "slow", s->slow);
    set_bool(L, "capped", s->capped);
    if (s->n > 0) set_number(L, "ns", s->median_ns);
}

static int module_time(lua_State *L) {
    static const char *const known[] = {LAUNCH_FIELDS, TIMING_FIELDS, NULL};
    Child *c = check_child(L, 1, MODULE);
    luaL_checktype(L, 2, LUA_TTABLE);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    LaunchArgs args;
    gi_err err;
    DeviceTiming timing = read_timing(L, 2);
    if (!read_launch(L, 2, c->u.module, &args, &err)) return refuse(L, &err);
    DeviceSamples s;
    bool ran = device_time(c->u.module, &args.launch, &timing, &s, &err);
    if (ran && !bind_interrupted) push_samples(L, &s);
    device_samples_free(&s);
    if (!ran) return refuse(L, &err);
    return bind_interrupted ? bind_interrupt(L) : 1;
}

static int buffer_time_sentinel(lua_State *L) {
    static const char *const known[] = {TIMING_FIELDS, NULL};
    Child *c = check_child(L, 1, BUFFER);
    if (lua_isnoneornil(L, 2)) lua_settop(L, 1), lua_newtable(L);
    bind_check_options(L, 2, known);
    DeviceTiming timing = read_timing(L, 2);
    DeviceSamples s;
    gi_err err;
    bool ran = device_time_sentinel(c->u.buffer, &timing, &s, &err);
    if (ran) push_samples(L, &s);
    device_samples_free(&s);
    return ran ? 1 : refuse(L, &err);
}

static void read_side(lua_State *L, const char *name, DeviceModule *m, LaunchArgs *out) {
    static const char *const known[] = {LAUNCH_FIELDS, NULL};
    gi_err err;
    if (lua_getfield(L, 2, name) != LUA_TTABLE)
        luaL_error(L, "pair: '%s' must be a table that describes a launch", name);
    bind_check_options(L, lua_gettop(L), known);
    if (!read_launch(L, lua_gettop(L), m, out, &err)) luaL_error(L, "%s", err.message);
}

static int module_pair(lua_State *L) {
    static const char *const known[] = {"a", "b", "other", "pairs", TIMING_FIELDS, NULL};
    Child *c = check_child(L, 1, MODULE), *other = c;
    luaL_checktype(L, 2, LUA_TTABLE);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    DeviceTiming timing = read_timing(L, 2);
    int n = (int)bind_option_int(L, 2, "pairs", 40);
    if (lua_getfield(L, 2, "other") != LUA_TNIL) other = check_child(L, lua_gettop(L), MODULE);
    if (n < 1 || n > 100000) return luaL_error(L, "pair: 'pairs' is 1 to 100000, not %d", n);
    LaunchArgs a, b;
    read_side(L, "a", c->u.module, &a);
    read_side(L, "b", other->u.module, &b);
    double *ns = lua_newuserdatauv(L, 2 * (size_t)n * sizeof *ns, 0);
    Measurement last;
    gi_err err;
    if (!device_time_pair((DevicePair){c->u.module, &a.launch},
                          (DevicePair){other->u.module, &b.launch}, n, &timing, ns, ns + n, &last,
                          &err))
        return refuse(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    push_measurement(L, &last);
    if (last.status != STATUS_OK) return 1;
    set_numbers(L, "a", ns, n);
    set_numbers(L, "b", ns + n, n);
    return 1;
}

static int module_spans(lua_State *L) {
    static const char *const known[] = {LAUNCH_FIELDS, "variable", NULL};
    Child *c = check_child(L, 1, MODULE);
    luaL_checktype(L, 2, LUA_TTABLE);
    bind_check_options(L, 2, known);
    lua_settop(L, 2);
    LaunchArgs args;
    gi_err err;
    DeviceSpans s;
    const char *variable = bind_option_string(L, 2, "variable", DEVICE_SPANS);
    if (!read_launch(L, 2, c->u.module, &args, &err)) return refuse(L, &err);
    if (!device_spans(c->u.module, &args.launch, variable, &s, &err)) return refuse(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    push_measurement(L, &s.run);
    set_number(L, "span_ticks", s.ticks);
    set_number(L, "span_ns", s.ns);
    set_count(L, "span_blocks", (uint64_t)s.blocks);
    set_count(L, "span_sms", (uint64_t)s.sms);
    return 1;
}

void bind_device(lua_State *L) {
    static const BindRow device_methods[] = {
        {"name", device_get_name, "dev:name() -> string", "\"emu\" or \"cuda\"."},
        {"target", device_get_target, "dev:target() -> string",
         "What to compile for: gi.compile's target."},
        {"info", device_get_info, "dev:info() -> table",
         "name, uuid, compute (90), sms, clock_ghz, memory_bytes, l2_bytes, driver (13000), "
         "max_threads_per_block, shared_per_block."},
        {"intact", device_check_intact, "dev:intact() -> true | nil, what, code",
         "Did kernels leave guard zones and read-only memory alone? If not (code \"touched\"), "
         "says what was hit and restores it; on emu such a write is a fault already."},
        {"buffer", buffer_new,
         "dev:buffer(array [, {read_only, hidden, label, initial}]) -> buffer | nil, message, code",
         "Device memory holding the array; hidden: no kernel can read what is in it; initial: an "
         "array with what a launch that fills the buffer puts there in place of the sentinel; a "
         "kernel's write to a read_only buffer is an illegal address on emu and found by dev:intact() on "
         "cuda, which calls the buffer by its label."},
        {"texture", texture_new,
         "dev:texture(array [, {kind, channels, size, layers, address, filter, coords, read, "
         "border}]) -> texture",
         "A texture object over the array: kind linear | array, address wrap | clamp | mirror | "
         "border, filter "
         "point | linear, coords texel | normalized, read element | normalized."},
        {"load", module_new, "dev:load(code) -> module | nil, message, code",
         "Loads PTX (or machine code)."},
        {"close", device_gc, "dev:close()", "Releases the device once nothing uses it."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow buffer_methods[] = {
        {"read", buffer_read, "buffer:read() -> array",
         "The buffer's array, holding what the device wrote."},
        {"write", buffer_write, "buffer:write(array) -> buffer",
         "Copies another array's contents in."},
        {"sentinel", buffer_sentinel, "buffer:sentinel() -> buffer",
         "Fills it with the mark that compare reports as unset, on the device."},
        {"time_sentinel", buffer_time_sentinel, "buffer:time_sentinel([timing]) -> table",
         "Times that: no kernel that writes the whole buffer can be faster. As module:time."},
        {"compare", buffer_compare,
         "buffer:compare(expected_buffer [, {width, used, limit, penalty}]) -> table",
         "gi.array.compare on the device, without copying the answers here."},
        {"address", buffer_address, "buffer:address() -> integer", "The device address."},
        {"close", buffer_gc, "buffer:close()", "Frees the device memory."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow texture_methods[] = {
        {"handle", texture_handle, "texture:handle() -> integer",
         "The cudaTextureObject_t a kernel sees."},
        {"close", texture_gc, "texture:close()", "Frees the texture."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow module_methods[] = {
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
        {"launch", module_launch,
         "module:launch{ kernel, grid, block, shared, args, fill, cache, carveout, timeout_s, "
         "budget, print, count_uninitialised, check_races } -> measurement",
         "Runs a kernel, its device variables as the code or the host left them and the buffers "
         "in fill full of the sentinel; what it does wrong is in the measurement's status and "
         "message, what is no fault in its warnings. Device printf goes to io.write "
         "unless print is false (cuda: to stdout)."},
        {"time", module_time,
         "module:time{ launch fields, min_samples, max_samples, warmup, rel_error, stop_above_ns, "
         "flush_l2, clock_tolerance } -> measurement",
         "Launches until the median is known to rel_error: the measurement with samples, clocks, "
         "throttled, dropped, median_ns, rel_error, slow and capped."},
        {"pair", module_pair,
         "module:pair{ a = launch, b = launch, other = module of b, pairs = n } -> measurement",
         "Times two launches in turn, A B B A: the measurement has lists a and b of nanoseconds."},
        {"spans", module_spans, "module:spans{ launch fields, variable } -> measurement",
         "The papers' clock, of code that records its blocks where variable (gilua_spans) points: "
         "span_ticks, span_ns, "
         "span_blocks, span_sms."},
        {"close", module_gc, "module:close()", "Unloads the module."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg device_meta[] = {
        {"__gc", device_gc}, {"__close", device_gc}, {"__tostring", device_tostring}, {NULL, NULL}};
    static const luaL_Reg buffer_meta[] = {
        {"__gc", buffer_gc}, {"__close", buffer_gc}, {NULL, NULL}};
    static const luaL_Reg texture_meta[] = {
        {"__gc", texture_gc}, {"__close", texture_gc}, {NULL, NULL}};
    static const luaL_Reg module_meta[] = {
        {"__gc", module_gc}, {"__close", module_gc}, {NULL, NULL}};
    static const BindRow rows[] = {{"open", device_new,
                                    "core.device.open(name, model) -> dev | nil, message, code",
                                    "Opens a device; gi.device(name) supplies the GPU model."},
                                   {NULL, NULL, NULL, NULL}};
    bind_class(L, DEVICE, "device:", device_methods, device_meta);
    bind_class(L, BUFFER, "buffer:", buffer_methods, buffer_meta);
    bind_class(L, TEXTURE, "texture:", texture_methods, texture_meta);
    bind_class(L, MODULE, "module:", module_methods, module_meta);
    lua_newtable(L);
    bind_rows(L, "device.", rows);
}
