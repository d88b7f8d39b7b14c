/* replay.c - device:replay: recordings of whole programs, run again on a GPU. */
#include "bind/device.h"

#define CLASS "gilua.replay"

static void drop(BindChild *c) {
    replay_gpu_close(c->u.replay);
}

static int close_replay(lua_State *L) {
    return bind_close_child(L, CLASS, drop);
}

int bind_replay_new(lua_State *L) {
    BindDevice *d = bind_check_device(L, 1);
    const Recording *r = bind_check_recording(L, 2);
    lua_settop(L, 3);
    int n = lua_isnil(L, 3) ? 0 : (luaL_checktype(L, 3, LUA_TTABLE), (int)lua_rawlen(L, 3));
    const char **kernels = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *kernels, 0);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 3, i + 1);
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, 3, "names of kernels are strings");
        kernels[i] = lua_tostring(L, -1); /* which the table keeps */
        lua_pop(L, 1);
    }
    BindChild *c = bind_new_child(L, CLASS, false);
    gi_err err;
    c->u.replay = replay_gpu_open(r, d->device, kernels, n, &err);
    if (c->u.replay == NULL) return bind_refused(L, &err);
    bind_adopt(c, d);
    return 1;
}

/* --- what came of it --- */

static void push_reads(lua_State *L, const ReplayGpuResult *r) {
    lua_createtable(L, r->n_reads, 0);
    for (int i = 0; i < r->n_reads; i++) {
        const ReplayGpuRead *read = &r->reads[i];
        lua_createtable(L, 0, 4);
        lua_pushstring(L, read->name), lua_setfield(L, -2, "name");
        lua_pushboolean(L, read->same), lua_setfield(L, -2, "same");
        bind_set_count(L, "size", read->size);
        if (read->bytes)
            lua_pushlstring(L, (const char *)read->bytes, read->size), lua_setfield(L, -2, "bytes");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "reads");
}

static void push_result(lua_State *L, const ReplayGpuResult *r) {
    if (r->samples.n > 0) bind_push_samples(L, &r->samples);
    else bind_push_measurement(L, &r->run);
    if (r->run.status != STATUS_OK) {
        lua_pushstring(L, device_status_name(r->run.status)), lua_setfield(L, -2, "status");
        lua_pushstring(L, r->run.message), lua_setfield(L, -2, "message");
        return;
    }
    bind_set_count(L, "registers", (uint64_t)r->registers);
    bind_set_count(L, "shared_bytes", r->shared_bytes);
    bind_push_kernels(L, r->kernels, r->n_kernels);
    push_reads(L, r);
}

static int run(lua_State *L) {
    static const char *const known[] = {"code",     "partial",   "bytes",
                                        "timed",    "shapes",    "turns",
                                        "as_graph", "timeout_s", "joins",
                                        BIND_TIMING_FIELDS, NULL};
    BindChild *c = bind_check_child(L, 1, CLASS);
    if (lua_isnoneornil(L, 2)) lua_settop(L, 1), lua_newtable(L);
    lua_settop(L, 2);
    bind_check_options(L, 2, known);
    ReplayGpuOptions o = {.interrupt = &bind_interrupted,
                          .partial = bind_option_bool(L, 2, "partial", false),
                          .bytes = bind_option_bool(L, 2, "bytes", false),
                          .timed = bind_option_bool(L, 2, "timed", false),
                          .as_graph = bind_option_bool(L, 2, "as_graph", false),
                          .timing = bind_read_timing(L, 2),
                          .timeout_s = bind_option_number(L, 2, "timeout_s", 0)};
    int code = lua_getfield(L, 2, "code") == LUA_TTABLE ? lua_gettop(L) : 0;
    o.code = bind_read_code(L, code, &o.n_code);
    o.shapes = bind_read_shapes(L, 2, &o.n_shapes);
    o.joins = bind_read_joins(L, 2, &o.n_joins);
    o.turns = bind_read_turns(L, 2, &o.n_turns);
    ReplayGpuResult result;
    gi_err err;
    if (!replay_gpu_run(c->u.replay, &o, &result, &err)) return bind_refused(L, &err);
    if (!bind_interrupted) push_result(L, &result);
    replay_gpu_free(&result);
    return bind_interrupted ? bind_interrupt(L) : 1;
}

static int places(lua_State *L) {
    uint64_t there, elsewhere;
    replay_gpu_places(bind_check_child(L, 1, CLASS)->u.replay, &there, &elsewhere);
    lua_pushinteger(L, (lua_Integer)there);
    lua_pushinteger(L, (lua_Integer)elsewhere);
    return 2;
}

void bind_replay_class(lua_State *L) {
    static const luaL_Reg meta[] = {
        {"__gc", close_replay}, {"__close", close_replay}, {NULL, NULL}};
    static const BindRow methods[] = {
        {"run", run,
         "replay:run([options]) -> { status, lost, ns, ticks, clock_ghz, registers, shared_bytes, "
         "kernels, reads, message? } | nil, message, code",
         "Runs the recording once on the GPU, each kernel timed: kernels has { name, launches, "
         "ticks, ns } each; ns is of all from the first launch to the last, gaps included. "
         "timed = true runs it until the median is known and gives the fields of module:time, "
         "with its options, instead; with as_graph = true what is timed is launched as one CUDA "
         "graph, so that the GPU sets the pace and not the host. reads: what the host gets, { "
         "name, same, size, bytes? } each, bytes where they are not the same, or with bytes = "
         "true. turns, of timed runs alone: launches go on several streams, with "
         "events between them. options: code, partial, shapes, joins, turns as of "
         "recording:replay; timeout_s of one "
         "repetition."},
        {"places", places, "replay:places() -> integer, integer",
         "Bytes of memory that have the address that they had, and bytes that are elsewhere."},
        {"close", close_replay, "replay:close()", "Frees what it has on the GPU."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "replay:", methods, meta);
}
