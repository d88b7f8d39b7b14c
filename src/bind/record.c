/* record.c - core.record: recordings of whole programs, to read and to run again. */
#include "record/record.h"

#include <string.h>

#include "bind/device.h"
#include "replay/replay.h"

#define CLASS "gilua.recording"

enum { MOST_BYTES = 1 << 28 }; /* of a blob that nobody says a size of */

Recording *bind_check_recording(lua_State *L, int index) {
    Recording *r = *(Recording **)luaL_checkudata(L, index, CLASS);
    luaL_argcheck(L, r, index, "the recording is closed");
    return r;
}

static Recording *check_recording(lua_State *L) {
    return bind_check_recording(L, 1);
}

static int open_recording(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    Recording **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    *box = recording_open(path, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int close_recording(lua_State *L) {
    Recording **box = luaL_checkudata(L, 1, CLASS);
    recording_close(*box);
    *box = NULL;
    return 0;
}

static int events(lua_State *L) {
    size_t len;
    const char *text = recording_events(check_recording(L), &len);
    lua_pushlstring(L, text, len);
    return 1;
}

static int is_whole(lua_State *L) {
    lua_pushboolean(L, recording_is_whole(check_recording(L)));
    return 1;
}

static int blob(lua_State *L) {
    const Recording *r = check_recording(L);
    const char *name = luaL_checkstring(L, 2);
    lua_Integer most = luaL_optinteger(L, 3, MOST_BYTES);
    uint64_t bytes;
    gi_err err;
    if (!recording_size(r, name, &bytes)) {
        gi_fail(&err, "format", "the recording has no blob '%.40s'", name);
        return bind_failed(L, &err);
    }
    if (most < 0 || bytes > (uint64_t)most) {
        gi_fail(&err, "format", "blob %.40s of it has %llu bytes, more than belong there", name,
                (unsigned long long)bytes);
        return bind_failed(L, &err);
    }
    void *data = lua_newuserdatauv(L, (size_t)bytes + 1, 0);
    if (!recording_read(r, name, data, (size_t)bytes, &err)) return bind_failed(L, &err);
    lua_pushlstring(L, data, (size_t)bytes);
    return 1;
}

static int check(lua_State *L) {
    gi_err err;
    if (!replay_check(check_recording(L), &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int size(lua_State *L) {
    uint64_t bytes;
    if (!recording_size(check_recording(L), luaL_checkstring(L, 2), &bytes)) return 0;
    lua_pushinteger(L, (lua_Integer)bytes);
    return 1;
}

/* --- replay --- */

/* code = { [N] = PTX }, kept alive by the table at index. Leaves a userdata on the stack. */
const ReplayCode *bind_read_code(lua_State *L, int index, int *n) {
    *n = 0;
    if (index == 0) return NULL;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) ++*n;
    ReplayCode *code = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *code, 0);
    int i = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        luaL_argcheck(L, lua_isinteger(L, -2) && lua_type(L, -1) == LUA_TSTRING, 3,
                      "code is { [number of a module] = PTX }");
        code[i].module = (int)lua_tointeger(L, -2);
        code[i].ptx = lua_tolstring(L, -1, &code[i].len);
        i++;
    }
    return code;
}

/* An option of numbers of four bytes, some for each launch, as a userdata left on the stack; NULL:
** it is not given. n: launches. */
static const void *read_numbers(lua_State *L, int index, const char *name, size_t bytes, int *n) {
    const char *text = bind_option_string(L, index, name, NULL);
    size_t len = text ? (lua_getfield(L, index, name), lua_rawlen(L, -1)) : 0;
    *n = (int)(len / bytes);
    if (len == 0) return NULL;
    if (len % bytes != 0)
        luaL_error(L, "option '%s' has no %d numbers for each launch", name,
                   (int)(bytes / sizeof(uint32_t)));
    void *numbers = lua_newuserdatauv(L, len, 0);
    return memcpy(numbers, text, len);
}

const ReplayShape *bind_read_shapes(lua_State *L, int index, int *n) {
    return read_numbers(L, index, "shapes", sizeof(ReplayShape), n);
}

const ReplayJoin *bind_read_joins(lua_State *L, int index, int *n) {
    return read_numbers(L, index, "joins", sizeof(ReplayJoin), n);
}

const ReplayTurn *bind_read_turns(lua_State *L, int index, int *n) {
    return read_numbers(L, index, "turns", sizeof(ReplayTurn), n);
}

/* variables = { NAME = bytes or true }, likewise. */
static const ReplayVariable *read_variables(lua_State *L, int index, int *n) {
    *n = 0;
    if (index == 0) return NULL;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) ++*n;
    ReplayVariable *list = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *list, 0);
    int i = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        bool text = lua_type(L, -1) == LUA_TSTRING;
        luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING && (text || lua_toboolean(L, -1)), 3,
                      "variables is { name = bytes, or true to know what it holds in the end }");
        list[i] = (ReplayVariable){.name = lua_tostring(L, -2)};
        if (text) list[i].begins = lua_tolstring(L, -1, &list[i].bytes);
        i++;
    }
    return list;
}

static EmuRaces read_races(lua_State *L, int index) {
    static const char *const words[] = {"none", "shared", "global", NULL};
    static const EmuRaces races[] = {EMU_RACES_NONE, EMU_RACES_SHARED, EMU_RACES_GLOBAL};
    return races[bind_option_enum(L, index, "check_races", words, 0)];
}

void bind_push_kernels(lua_State *L, const ReplayKernel *kernels, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 0, 4);
        lua_pushstring(L, kernels[i].name), lua_setfield(L, -2, "name");
        bind_set_count(L, "launches", (uint64_t)kernels[i].launches);
        bind_set_number(L, "ticks", kernels[i].ticks);
        bind_set_number(L, "ns", kernels[i].ns);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "kernels");
}

static void push_reads(lua_State *L, const ReplayResult *r) {
    lua_createtable(L, r->n_reads, 0);
    for (int i = 0; i < r->n_reads; i++) {
        lua_createtable(L, 0, 3);
        lua_pushlstring(L, r->reads[i].bytes, r->reads[i].size), lua_setfield(L, -2, "bytes");
        lua_pushstring(L, r->reads[i].name), lua_setfield(L, -2, "name");
        lua_pushboolean(L, r->reads[i].same), lua_setfield(L, -2, "same");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "reads");
}

static void push_held(lua_State *L, const ReplayResult *r, const ReplayVariable *variables) {
    lua_createtable(L, 0, r->n_held);
    for (int i = 0; i < r->n_held; i++) {
        if (r->held[i].bytes == NULL) continue;
        lua_pushlstring(L, r->held[i].bytes, r->held[i].size);
        lua_setfield(L, -2, variables[i].name);
    }
    lua_setfield(L, -2, "variables");
}

/* Pushes the list of addresses that a launch did this to; an empty one if that is unknown. */
static void push_touches(lua_State *L, const ReplayTouches *t, int first, unsigned how) {
    lua_newtable(L);
    for (int i = first; i < t->n && t->list[i].launch == t->list[first].launch; i++) {
        if (!(t->list[i].how & how)) continue;
        lua_pushinteger(L, (lua_Integer)t->list[i].address);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

static void push_touched(lua_State *L, const ReplayResult *r) {
    const ReplayTouches *t = &r->touches;
    int at = 0;
    lua_createtable(L, r->n_launches, 0);
    for (int launch = 0; launch < r->n_launches; launch++) {
        bool is_any = at < t->n && t->list[at].launch == launch;
        lua_createtable(L, 0, 2);
        if (!is_any || t->list[at].how != 0) { /* no entry where there is nothing */
            push_touches(L, t, is_any ? at : t->n, EMU_READ), lua_setfield(L, -2, "reads");
            push_touches(L, t, is_any ? at : t->n, EMU_WRITTEN), lua_setfield(L, -2, "writes");
        }
        lua_rawseti(L, -2, launch + 1);
        while (at < t->n && t->list[at].launch == launch) at++;
    }
    lua_setfield(L, -2, "touched");
}

static void push_replayed(lua_State *L, const ReplayResult *r, const ReplayOptions *o) {
    lua_createtable(L, 0, 18);
    lua_pushstring(L, emu_status_name(r->status)), lua_setfield(L, -2, "status");
    bind_push_work(L, &r->work);
    bind_set_number(L, "part_launch", r->part_launch);
    bind_set_number(L, "ticks", r->ticks);
    bind_set_number(L, "ns", r->ns);
    bind_set_number(L, "energy_j", r->energy_j);
    bind_set_count(L, "warp_instructions", r->warp_instructions);
    bind_set_findings(L, "warnings", &r->warnings);
    bind_set_meets(L, &r->meets);
    bind_push_kernels(L, r->kernels, r->n_kernels);
    push_reads(L, r);
    push_held(L, r, o->variables);
    if (o->touches) push_touched(L, r);
    if (r->status == EMU_OK) return;
    lua_pushstring(L, r->message), lua_setfield(L, -2, "message");
    bind_set_count(L, "event", (uint64_t)r->line);
}

static int replay(lua_State *L) {
    static const char *const known[] = {"code",        "partial",     "variables",
                                        "budget",      "backwards",   "count_uninitialised",
                                        "check_races", "benign_races",
                                        "memory_bytes", "shapes",      "turns",
                                        "joins",       "touched",     "meets",
                                        "exact",       NULL};
    static const char *const benign[] = {"warn", "refuse", NULL};
    const Recording *r = check_recording(L);
    EmuModel model = {0};
    lua_settop(L, 3);
    bind_read_model(L, 2, &model);
    bind_check_options(L, 3, known);
    ReplayOptions o = {.model = &model, .interrupt = &bind_interrupted};
    int code = lua_istable(L, 3) && lua_getfield(L, 3, "code") == LUA_TTABLE ? lua_gettop(L) : 0;
    o.code = bind_read_code(L, code, &o.n_code);
    o.shapes = bind_read_shapes(L, 3, &o.n_shapes);
    o.joins = bind_read_joins(L, 3, &o.n_joins);
    o.turns = bind_read_turns(L, 3, &o.n_turns);
    o.touches = bind_option_bool(L, 3, "touched", false);
    bool any = lua_istable(L, 3) && lua_getfield(L, 3, "variables") == LUA_TTABLE;
    o.variables = read_variables(L, any ? lua_gettop(L) : 0, &o.n_variables);
    o.partial = bind_option_bool(L, 3, "partial", false);
    o.backwards = bind_option_bool(L, 3, "backwards", false);
    o.refuse_benign_races = bind_option_enum(L, 3, "benign_races", benign, 0) == 1;
    o.budget = (uint64_t)bind_option_int(L, 3, "budget", 0);
    o.memory_bytes = (uint64_t)bind_option_int(L, 3, "memory_bytes", 0);
    o.count_uninitialised = bind_option_bool(L, 3, "count_uninitialised", false);
    o.check_races = read_races(L, 3);
    o.meets = bind_option_bool(L, 3, "meets", false);
    o.exact = lua_istable(L, 3) ? bind_option_exact(L, 3) : NULL;
    ReplayResult result;
    gi_err err;
    if (!replay_run(r, &o, &result, &err)) return bind_failed(L, &err);
    if (result.status == EMU_ABORTED) {
        replay_free(&result);
        return bind_interrupt(L);
    }
    push_replayed(L, &result, &o);
    replay_free(&result);
    return 1;
}

void bind_record(lua_State *L) {
    static const luaL_Reg meta[] = {
        {"__gc", close_recording}, {"__close", close_recording}, {NULL, NULL}};
    static const BindRow methods[] = {
        {"events", events, "r:events() -> string",
         "What happened, a line each (docs/recording.md)."},
        {"is_whole", is_whole, "r:is_whole() -> boolean",
         "Did the program come to its end? Else the recording is of what it did until it died."},
        {"blob", blob, "r:blob(name [, most]) -> string | nil, message, code",
         "The bytes of that name, held against it; more than `most` (2^28) are not unpacked."},
        {"check", check, "r:check() -> true | nil, message, code",
         "Is each of its lines one that a recorder writes, of data that it has? Nothing is run."},
        {"size", size, "r:size(name) -> integer|nil", "How many those are; nil: there are none."},
        {"replay", replay,
         "r:replay(model [, options]) -> { status, ticks, ns, energy_j, warp_instructions, "
         "part_launch, part_issue, part_latency, part_memory, least_memory, least_arithmetic, "
         "kernels, reads, warnings, meets, variables, message?, event? } | nil, message, code",
         "Runs it again on the virtual GPU that the model describes. options: code = { [N] = PTX } "
         "in the place of modules, partial (what that has no kernel for runs as recorded), budget "
         "(warp instructions of all launches), memory_bytes (that it may take), backwards (of each "
         "the last block begins first), "
         "count_uninitialised, check_races (\"none\", \"shared\", \"global\"), benign_races "
         "(\"warn\", \"refuse\"), meets (as of module:launch), exact (likewise; its answers are "
         "what the host got), "
         "shapes (bytes: x, y, z of the grid and of the block, of four bytes each, for each "
         "launch; 0: as it was), joins (four bytes for each launch: it is "
         "done with the next one, whose arguments begin at this byte, behind its own; 0: by "
         "itself), "
         "turns (of four bytes each, for each launch: "
         "its stream, from 0, and of the first to the fourth stream the launch that has to end "
         "before, from 1; 0: none; ticks and ns are as if they went on so), variables = { NAME = "
         "bytes | true } of other code: what they begin with; variables of the result: what they "
         "held in the end. touched = true: of the result it is { reads, writes } of each launch, "
         "addresses of allocations, 0 for any variable, and neither where it may be anything. "
         "reads: what the host got, { bytes, name, same } each; kernels: { name, launches, ticks, "
         "ns } each."},
        {"close", close_recording, "r:close()", "Closes the file."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow rows[] = {
        {"open", open_recording, "core.record.open(path) -> recording | nil, message, code",
         "Opens a recording of `gilua record`."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "recording:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "record.", rows);
}
