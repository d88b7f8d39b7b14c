/* farm.c - the farm's worker processes as Lua sees them (used by lua/gilua/farm/crew.lua). */
#include "bind/bind.h"

#include <string.h>
#include <unistd.h>

#include "farm/farm.h"

#define CLASS      "gilua.farm"
#define SEAT_CLASS "gilua.seat"
#define SLICE_S    0.1 /* a Ctrl-C that comes just before the wait is seen after this */

typedef struct Box {
    Farm *farm; /* NULL: closed */
    FarmEvent event;
} Box;

static Box *check_box(lua_State *L) {
    Box *box = luaL_checkudata(L, 1, CLASS);
    if (box->farm == NULL) luaL_argerror(L, 1, "the farm is closed");
    return box;
}

static int check_worker(lua_State *L, const Farm *f, int index) {
    lua_Integer w = luaL_checkinteger(L, index);
    luaL_argcheck(L, w >= 1 && w <= farm_size(f), index, "no such worker");
    return (int)w - 1;
}

static FarmOptions check_options(lua_State *L, int index) {
    static const char *const known[] = {"memory_bytes", NULL};
    bind_check_options(L, index, known);
    lua_Integer bytes = bind_option_int(L, index, "memory_bytes", 0);
    luaL_argcheck(L, bytes >= 0, index, "memory_bytes is negative");
    return (FarmOptions){.memory_bytes = (size_t)bytes};
}

static int open_farm(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int argc = (int)luaL_len(L, 1);
    luaL_argcheck(L, argc >= 1, 1, "the program's path is missing");
    int n = (int)luaL_checkinteger(L, 2);
    luaL_argcheck(L, n >= 1 && n <= 1024, 2, "between 1 and 1024 workers");
    FarmOptions options = check_options(L, 3);
    bind_room(L, argc + 5, "arguments");
    Box *box = bind_new(L, CLASS, sizeof *box, 0);
    int at = lua_gettop(L);
    const char **argv = lua_newuserdatauv(L, (size_t)(argc + 1) * sizeof *argv, 0);
    for (int i = 0; i < argc; i++) lua_geti(L, 1, i + 1), argv[i] = luaL_checkstring(L, -1);
    argv[argc] = NULL;
    gi_err err;
    box->farm = farm_open(argv, n, &options, &err);
    if (box->farm == NULL) return bind_failed(L, &err);
    lua_settop(L, at);
    return 1;
}

static int close_farm(lua_State *L) {
    Box *box = luaL_checkudata(L, 1, CLASS);
    farm_close(box->farm);
    box->farm = NULL;
    farm_event_free(&box->event);
    return 0;
}

static int send(lua_State *L) {
    size_t len;
    Farm *f = check_box(L)->farm;
    int worker = check_worker(L, f, 2);
    const char *bytes = luaL_checklstring(L, 3, &len);
    luaL_argcheck(L, len <= FARM_MAX_MESSAGE, 3, "a message has at most 1 GiB");
    farm_send(f, worker, bytes, len, bind_optional_share(L, 4));
    return 0;
}

static void wait_in_slices(Box *box, double seconds) {
    double until = gi_seconds() + seconds;
    do {
        double left = until - gi_seconds();
        farm_wait(box->farm, left < SLICE_S ? left : SLICE_S, &box->event);
        if (box->event.kind == FARM_NOTHING && bind_interrupted) box->event.kind = FARM_INTERRUPTED;
    } while (box->event.kind == FARM_NOTHING && gi_seconds() < until);
}

static int wait(lua_State *L) {
    static const char *const kinds[] = {"message", "died",    "memory",  "starved",
                                        "killed",  "watched", "nothing", "interrupted"};
    Box *box = check_box(L);
    wait_in_slices(box, luaL_checknumber(L, 2));
    FarmEvent *e = &box->event; /* the farm's, so that no Lua error loses what it holds */
    lua_pushstring(L, kinds[e->kind]);
    lua_pushinteger(L, e->worker + 1);
    lua_pushlstring(L, e->message.data ? e->message.data : "", e->message.len);
    if (e->share == NULL) return 3;
    Share **share = bind_new_share(L);
    bind_set_share(share, e->share);
    e->share = NULL;
    return 4;
}

static int watch(lua_State *L) {
    Farm *f = check_box(L)->farm;
    farm_watch(f, (int)luaL_checkinteger(L, 2));
    return 0;
}

static int end_one(lua_State *L) {
    Farm *f = check_box(L)->farm;
    farm_kill(f, check_worker(L, f, 2));
    return 0;
}

static int restart(lua_State *L) {
    gi_err err;
    Farm *f = check_box(L)->farm;
    if (!farm_restart(f, check_worker(L, f, 2), &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int cpu_s(lua_State *L) {
    Farm *f = check_box(L)->farm;
    lua_pushnumber(L, farm_cpu_s(f, check_worker(L, f, 2)));
    return 1;
}

static int wants_cpu(lua_State *L) {
    Farm *f = check_box(L)->farm;
    lua_pushboolean(L, farm_wants_cpu(f, check_worker(L, f, 2)));
    return 1;
}

static int memory(lua_State *L) {
    Farm *f = check_box(L)->farm;
    lua_pushinteger(L, (lua_Integer)farm_memory(f, check_worker(L, f, 2)));
    return 1;
}

static int pid(lua_State *L) {
    Farm *f = check_box(L)->farm;
    lua_pushinteger(L, farm_pid(f, check_worker(L, f, 2)));
    return 1;
}

/* --- the worker's side --- */

typedef struct Seat {
    FarmSeat *seat;
    gi_buf message;
    Share *share;
} Seat;

static int leave(lua_State *L) {
    Seat *s = luaL_checkudata(L, 1, SEAT_CLASS);
    farm_leave(s->seat);
    gi_buf_free(&s->message);
    share_unref(s->share);
    *s = (Seat){0};
    return 0;
}

static void push_message(lua_State *L, Seat *s) {
    lua_pushlstring(L, s->message.data ? s->message.data : "", s->message.len);
    Share *share = s->share;
    if (share == NULL) {
        lua_pushnil(L);
        return;
    }
    Share **box = bind_new_share(L);
    bind_set_share(box, share);
    s->share = NULL;
}

/* A worker's last word where there is no memory for any other. */
static int no_memory(lua_State *L) {
    (void)L;
    _exit(GI_EXIT_MEMORY);
}

/* The worker's loop: handler(message, share) -> answer [, share], until the host goes. */
static int serve(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    Seat *s = bind_new(L, SEAT_CLASS, sizeof *s, 0);
    s->seat = farm_join(FARM_WORKER_FD);
    while (farm_receive(s->seat, &s->message, &s->share)) {
        size_t len;
        lua_settop(L, 2);
        lua_pushvalue(L, 1);
        push_message(L, s);
        lua_call(L, 2, 2);
        const char *answer = luaL_checklstring(L, 3, &len);
        if (!farm_answer(s->seat, answer, len, bind_optional_share(L, 4))) break;
    }
    return 0;
}

void bind_farm(lua_State *L) {
    static const BindRow methods[] = {
        {"send", send, "workers:send(i, bytes [, share])",
         "Queues a message for worker i; a share of arrays goes with it."},
        {"wait", wait, "workers:wait(timeout_s) -> kind, i, bytes, share|nil",
         "The next event: \"message\"; how a worker ended: \"died\" (its own doing), \"memory\" "
         "(it used too much), \"starved\" (the machine's memory ran out), \"killed\" (from "
         "outside); \"watched\": what is watched can be read; \"nothing\" or \"interrupted\"."},
        {"watch", watch, "workers:watch(descriptor)",
         "Waiting ends when this descriptor can be read, too; -1: none."},
        {"kill", end_one, "workers:kill(i)", "Ends worker i at once."},
        {"restart", restart, "workers:restart(i) -> true | nil, message, code",
         "Replaces worker i."},
        {"pid", pid, "workers:pid(i) -> integer",
         "The process id of worker i, 0 when it has ended."},
        {"cpu_s", cpu_s, "workers:cpu_s(i) -> number",
         "Seconds of processor time that worker i has used."},
        {"wants_cpu", wants_cpu, "workers:wants_cpu(i) -> boolean",
         "Is worker i at work, or would be if it got a processor? One that waits is not."},
        {"memory", memory, "workers:memory(i) -> integer",
         "Bytes of memory that are worker i's alone."},
        {"close", close_farm, "workers:close()", "Ends all workers."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", close_farm}, {"__close", close_farm}, {NULL, NULL}};
    static const luaL_Reg seat_meta[] = {{"__gc", leave}, {NULL, NULL}};
    static const BindRow none[] = {{NULL, NULL, NULL, NULL}};
    static const BindRow rows[] = {
        {"open", open_farm,
         "core.farm.open(argv, n [, {memory_bytes}]) -> workers | nil, message, code",
         "Starts n processes of argv that serve messages; one that uses more memory than allowed "
         "is ended."},
        {"serve", serve, "core.farm.serve(handler)",
         "In a worker: answers each message with handler(message, share|nil) -> answer [, share] "
         "until the host ends."},
        {"no_memory", no_memory, "core.farm.no_memory()",
         "In a worker: ends it at once, and the host knows that it got no memory."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "workers:", methods, meta);
    bind_class(L, SEAT_CLASS, "seat:", none, seat_meta);
    lua_newtable(L);
    bind_rows(L, "farm.", rows);
    bind_box(L);
}
