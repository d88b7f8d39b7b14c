/* box.c - core.farm's box: what a worker may do, and a folder for what it writes. */
#include <stdlib.h>

#include "bind/bind.h"
#include "farm/farm.h"

#define CLASS "gilua.scratch"

static void push_box(lua_State *L, BoxLocks box) {
    lua_createtable(L, 0, 3);
    lua_pushboolean(L, box.privileges), lua_setfield(L, -2, "privileges");
    lua_pushboolean(L, box.calls), lua_setfield(L, -2, "calls");
    lua_pushinteger(L, box.landlock), lua_setfield(L, -2, "landlock");
}

static int enter(lua_State *L) {
    static const char *const known[] = {"scratch", "gpu", "file_bytes", NULL};
    bind_check_options(L, 1, known);
    BoxOptions o = {.gpu = bind_option_bool(L, 1, "gpu", false)};
    const lua_Integer bytes = bind_option_int(L, 1, "file_bytes", 0);
    luaL_argcheck(L, bytes >= 0, 1, "file_bytes is negative");
    o.file_bytes = (uint64_t)bytes;
    o.scratch = bind_option_string(L, 1, "scratch", NULL);
    BoxLocks box;
    gi_err err;
    if (!box_enter(&o, &box, &err)) return bind_failed(L, &err);
    push_box(L, box);
    return 1;
}

static int here(lua_State *L) {
    push_box(L, box_here());
    return 1;
}

/* --- a folder that goes when nobody holds it --- */

typedef struct Scratch {
    char *path;
} Scratch;

static int make_scratch(lua_State *L) {
    Scratch *s = bind_new(L, CLASS, sizeof *s, 0);
    gi_err err;
    s->path = box_scratch(&err);
    return s->path ? 1 : bind_failed(L, &err);
}

static int scratch_path(lua_State *L) {
    const Scratch *s = luaL_checkudata(L, 1, CLASS);
    luaL_argcheck(L, s->path, 1, "the folder is closed");
    lua_pushstring(L, s->path);
    return 1;
}

static int close_scratch(lua_State *L) {
    Scratch *s = luaL_checkudata(L, 1, CLASS);
    if (s->path) box_scratch_remove(s->path);
    free(s->path);
    s->path = NULL;
    return 0;
}

void bind_box(lua_State *L) {
    static const BindRow methods[] = {
        {"path", scratch_path, "scratch:path() -> string", "Where it is."},
        {"close", close_scratch, "scratch:close()", "Removes it and all that is in it."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", close_scratch}, {"__close", close_scratch}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"enter_box", enter,
         "core.farm.enter_box([{scratch, gpu, file_bytes}]) -> { privileges, calls, landlock } | "
         "nil, message, code",
         "From now on this process has no network, starts no programs and writes no files but "
         "below scratch and, with gpu, to the driver's devices."},
        {"box", here, "core.farm.box() -> { privileges, calls, landlock }",
         "What a worker's box can be on this machine; landlock is its version, 0 for none."},
        {"scratch", make_scratch, "core.farm.scratch() -> scratch | nil, message, code",
         "A new folder for the files of workers, removed when it is closed or collected."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "scratch:", methods, meta);
    bind_rows(L, "farm.", rows);
}
