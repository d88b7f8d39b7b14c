/* timing.c - a module's timed launches: time, pair, spans; a buffer's time_sentinel. */
#include "bind/device.h"

DeviceTiming bind_read_timing(lua_State *L, int index) {
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

int bind_module_time(lua_State *L) {
    static const char *const known[] = {BIND_LAUNCH_FIELDS, BIND_TIMING_FIELDS, NULL};
    DeviceModule *m = bind_check_run(L, known);
    BindLaunch args;
    gi_err err;
    DeviceTiming timing = bind_read_timing(L, 2);
    if (!bind_read_launch(L, 2, m, &args, &err)) return bind_refused(L, &err);
    DeviceSamples s;
    bool ran = device_time(m, &args.launch, &timing, &s, &err);
    if (ran && !bind_interrupted) bind_push_samples(L, &s);
    device_samples_free(&s);
    if (!ran) return bind_refused(L, &err);
    return bind_interrupted ? bind_interrupt(L) : 1;
}

int bind_buffer_time_sentinel(lua_State *L) {
    static const char *const known[] = {BIND_TIMING_FIELDS, NULL};
    DeviceBuffer *b = bind_check_buffer(L, 1);
    if (lua_isnoneornil(L, 2)) lua_settop(L, 1), lua_newtable(L);
    bind_check_options(L, 2, known);
    DeviceTiming timing = bind_read_timing(L, 2);
    DeviceSamples s;
    gi_err err;
    bool ran = device_time_sentinel(b, &timing, &s, &err);
    if (ran) bind_push_samples(L, &s);
    device_samples_free(&s);
    return ran ? 1 : bind_refused(L, &err);
}

static void read_side(lua_State *L, const char *name, DeviceModule *m, BindLaunch *out) {
    static const char *const known[] = {BIND_LAUNCH_FIELDS, NULL};
    gi_err err;
    if (lua_getfield(L, 2, name) != LUA_TTABLE)
        luaL_error(L, "pair: '%s' must be a table that describes a launch", name);
    bind_check_options(L, lua_gettop(L), known);
    if (!bind_read_launch(L, lua_gettop(L), m, out, &err)) luaL_error(L, "%s", err.message);
}

int bind_module_pair(lua_State *L) {
    static const char *const known[] = {"a", "b", "other", "pairs", BIND_TIMING_FIELDS, NULL};
    DeviceModule *m = bind_check_run(L, known), *other = m;
    DeviceTiming timing = bind_read_timing(L, 2);
    int n = (int)bind_option_int(L, 2, "pairs", 40);
    if (lua_getfield(L, 2, "other") != LUA_TNIL) other = bind_check_module(L, lua_gettop(L));
    if (n < 1 || n > 100000) return luaL_error(L, "pair: 'pairs' is 1 to 100000, not %d", n);
    BindLaunch a, b;
    read_side(L, "a", m, &a);
    read_side(L, "b", other, &b);
    double *ns = lua_newuserdatauv(L, 2 * (size_t)n * sizeof *ns, 0);
    Measurement last;
    gi_err err;
    if (!device_time_pair((DevicePair){m, &a.launch}, (DevicePair){other, &b.launch}, n, &timing,
                          ns, ns + n, &last, &err))
        return bind_refused(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    bind_push_measurement(L, &last);
    if (last.status != STATUS_OK) return 1;
    bind_set_numbers(L, "a", ns, n);
    bind_set_numbers(L, "b", ns + n, n);
    return 1;
}

int bind_module_spans(lua_State *L) {
    static const char *const known[] = {BIND_LAUNCH_FIELDS, "variable", NULL};
    DeviceModule *m = bind_check_run(L, known);
    BindLaunch args;
    gi_err err;
    DeviceSpans s;
    const char *variable = bind_option_string(L, 2, "variable", DEVICE_SPANS);
    if (!bind_read_launch(L, 2, m, &args, &err)) return bind_refused(L, &err);
    if (!device_spans(m, &args.launch, variable, &s, &err)) return bind_refused(L, &err);
    if (bind_interrupted) return bind_interrupt(L);
    bind_push_measurement(L, &s.run);
    bind_set_number(L, "span_ticks", s.ticks);
    bind_set_number(L, "span_ns", s.ns);
    bind_set_count(L, "span_blocks", (uint64_t)s.blocks);
    bind_set_count(L, "span_sms", (uint64_t)s.sms);
    return 1;
}
