/* measurement.c - what a device measured, as a table. */
#include "bind/device.h"

void bind_set_number(lua_State *L, const char *name, double value) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

void bind_set_count(lua_State *L, const char *name, uint64_t value) {
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void set_point(lua_State *L, const char *name, const unsigned p[3]) {
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) lua_pushinteger(L, p[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, name);
}

/* Sets `name` to the list of what was found; not where nothing was. */
void bind_set_findings(lua_State *L, const char *name, const EmuFindings *list) {
    if (list->n == 0) return;
    lua_createtable(L, list->n, 0);
    for (int i = 0; i < list->n; i++) {
        const EmuFinding *f = &list->at[i];
        lua_createtable(L, 0, 7);
        lua_pushstring(L, f->kind), lua_setfield(L, -2, "kind");
        lua_pushstring(L, f->message), lua_setfield(L, -2, "message");
        bind_set_count(L, "count", f->count);
        bind_set_count(L, "ptx_line", (uint64_t)f->ptx_line);
        bind_set_count(L, "line", (uint64_t)f->src_line);
        set_point(L, "block", f->block);
        set_point(L, "thread", f->thread);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, name);
}

/* Parameters from 1 on; variables are 0. */
static void set_touch(lua_State *L, const char *name, const EmuTouch *t) {
    lua_createtable(L, 0, 3);
    bind_set_count(L, "source", (uint64_t)(t->source + 1));
    bind_set_count(L, "line", (uint64_t)t->src_line);
    lua_pushboolean(L, t->writes), lua_setfield(L, -2, "writes");
    lua_setfield(L, -2, name);
}

/* Sets "meets" to the list; not where it is not all. */
void bind_set_meets(lua_State *L, const EmuMeets *meets) {
    static const char *const how[] = {"unknown", "any", "in order"};
    if (!meets->is_whole) return;
    lua_createtable(L, meets->n, 0);
    for (int i = 0; i < meets->n; i++) {
        const EmuMeet *one = &meets->at[i];
        lua_createtable(L, 0, 7);
        lua_pushstring(L, one->kernel), lua_setfield(L, -2, "kernel");
        lua_pushstring(L, how[one->how]), lua_setfield(L, -2, "how");
        if (one->how != EMU_MEETS_UNKNOWN) set_touch(L, "first", &one->then);
        set_touch(L, "second", &one->now);
        set_point(L, "block", one->block);
        set_point(L, "thread", one->thread);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "meets");
}

void bind_push_work(lua_State *L, const EmuWork *work) {
    bind_set_number(L, "part_issue", work->part_issue);
    bind_set_number(L, "part_latency", work->part_latency);
    bind_set_number(L, "part_memory", work->part_memory);
    bind_set_number(L, "least_memory", work->least_memory);
    bind_set_number(L, "least_arithmetic", work->least_arithmetic);
}

void bind_push_measurement(lua_State *L, const Measurement *m) {
    const EmuResult *r = &m->emu;
    lua_createtable(L, 0, 24);
    lua_pushstring(L, device_status_name(m->status)), lua_setfield(L, -2, "status");
    lua_pushboolean(L, m->lost), lua_setfield(L, -2, "lost");
    bind_set_number(L, "clock_ghz", m->clock_ghz);
    bind_set_number(L, "ticks", m->ticks);
    bind_set_number(L, "ns", m->ns);
    bind_set_count(L, "registers", (uint64_t)m->registers);
    bind_set_count(L, "shared_bytes", m->shared_bytes);
    bind_set_number(L, "occupancy", m->occupancy);
    bind_set_count(L, "warp_instructions", r->warp_instructions);
    bind_set_count(L, "lane_instructions", r->lane_instructions);
    bind_set_count(L, "global_sectors", r->global_sectors);
    bind_set_count(L, "texture_sectors", r->texture_sectors);
    bind_set_count(L, "shared_conflicts", r->shared_conflicts);
    bind_set_count(L, "divergent_branches", r->divergent_branches);
    bind_set_count(L, "barriers", r->barriers);
    bind_set_count(L, "uninitialised_reads", r->uninitialised_reads);
    bind_set_count(L, "barrier_after_exit", r->barrier_after_exit);
    bind_set_count(L, "heap_objects", r->heap_objects);
    bind_set_count(L, "heap_bytes", r->heap_bytes);
    if (r->energy_j > 0) { /* of a GPU nobody knows them */
        bind_set_number(L, "energy_j", r->energy_j);
        bind_push_work(L, &r->work);
    }
    bind_set_findings(L, "warnings", &r->warnings);
    bind_set_findings(L, "faults", &r->faults);
    bind_set_meets(L, &r->meets);
    if (m->status == STATUS_OK) return;
    lua_pushstring(L, m->message), lua_setfield(L, -2, "message");
    if (r->ptx_line == 0) return; /* a GPU does not say where */
    bind_set_count(L, "ptx_line", (uint64_t)r->ptx_line);
    bind_set_count(L, "line", (uint64_t)r->src_line);
    set_point(L, "fault_block", r->block);
    set_point(L, "fault_thread", r->thread);
}

void bind_set_numbers(lua_State *L, const char *name, const double *values, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) lua_pushnumber(L, values[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool value) {
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

void bind_push_samples(lua_State *L, const DeviceSamples *s) {
    bind_push_measurement(L, &s->last);
    bind_set_numbers(L, "samples", s->ns, s->n);
    bind_set_numbers(L, "clocks", s->clock_ghz, s->n);
    lua_createtable(L, s->n, 0);
    for (int i = 0; i < s->n; i++) lua_pushboolean(L, s->throttled[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "throttled");
    bind_set_count(L, "dropped", (uint64_t)s->dropped);
    bind_set_count(L, "launches", (uint64_t)s->launches);
    bind_set_number(L, "median_ns", s->median_ns);
    bind_set_number(L, "rel_error", s->rel_error);
    set_bool(L, "slow", s->slow);
    set_bool(L, "capped", s->capped);
    if (s->n > 0) bind_set_number(L, "ns", s->median_ns);
}
