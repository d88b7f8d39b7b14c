/* box.c - core.farm's box: what a worker may do. */
#include "bind/bind.h"
#include "compile/compile.h"
#include "farm/farm.h"

static void push_box(lua_State *L, BoxLocks box) {
    lua_createtable(L, 0, 3);
    lua_pushboolean(L, box.privileges), lua_setfield(L, -2, "privileges");
    lua_pushboolean(L, box.calls), lua_setfield(L, -2, "calls");
    lua_pushinteger(L, box.landlock), lua_setfield(L, -2, "landlock");
}

static int enter(lua_State *L) {
    static const char *const known[] = {"scratch", "gpu", "programs", "file_bytes", NULL};
    bind_check_options(L, 1, known);
    BoxOptions o = {.gpu = bind_option_bool(L, 1, "gpu", false),
                    .programs = bind_option_bool(L, 1, "programs", false)};
    const lua_Integer bytes = bind_option_int(L, 1, "file_bytes", 0);
    luaL_argcheck(L, bytes >= 0, 1, "file_bytes is negative");
    o.file_bytes = (uint64_t)bytes;
    o.scratch = bind_option_string(L, 1, "scratch", NULL);
    if (!o.programs) o.kept = compile_kept_folder(); /* a stranger's program has no need of it */
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

void bind_box(lua_State *L) {
    static const BindRow rows[] = {
        {"enter_box", enter,
         "core.farm.enter_box([{scratch, gpu, programs, file_bytes}]) -> "
         "{ privileges, calls, landlock } | nil, message, code",
         "From now on this process has no network, starts no programs and writes no files but "
         "below scratch, to the driver's devices with gpu, and, without programs, below "
         "$GILUA_COMPILED. With programs it may start some, "
         "which are in the same box."},
        {"box", here, "core.farm.box() -> { privileges, calls, landlock }",
         "What a worker's box can be on this machine; landlock is its version, 0 for none."},
        {NULL, NULL, NULL, NULL}};
    bind_rows(L, "farm.", rows);
}
