/* farm.c - the farm's worker processes as Lua sees them (used by lua/gilua/farm.lua). */
#include "bind/bind.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "farm/farm.h"

#define CLASS "gilua.farm"

static Farm *check_farm(lua_State *L) {
    Farm *f = *(Farm **)luaL_checkudata(L, 1, CLASS);
    if (f == NULL) luaL_argerror(L, 1, "the farm is closed");
    return f;
}

static int check_worker(lua_State *L, const Farm *f, int index) {
    lua_Integer w = luaL_checkinteger(L, index);
    luaL_argcheck(L, w >= 1 && w <= farm_size(f), index, "no such worker");
    return (int)w - 1;
}

static int open_farm(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int argc = (int)luaL_len(L, 1);
    int n = (int)luaL_checkinteger(L, 2);
    luaL_argcheck(L, n >= 1 && n <= 1024, 2, "between 1 and 1024 workers");
    luaL_checkstack(L, argc + 5, "too many arguments");
    Farm **box = bind_new(L, CLASS, sizeof *box, 0);
    const char **argv = lua_newuserdatauv(L, (size_t)(argc + 1) * sizeof *argv, 0);
    for (int i = 0; i < argc; i++) lua_geti(L, 1, i + 1), argv[i] = luaL_checkstring(L, -1);
    argv[argc] = NULL;
    gi_err err;
    *box = farm_open(argv, n, &err);
    if (*box == NULL) return bind_failed(L, &err);
    lua_settop(L, 3);
    return 1;
}

static int close_farm(lua_State *L) {
    Farm **box = luaL_checkudata(L, 1, CLASS);
    farm_close(*box);
    *box = NULL;
    return 0;
}

static int send(lua_State *L) {
    size_t len;
    Farm *f = check_farm(L);
    int worker = check_worker(L, f, 2);
    const char *bytes = luaL_checklstring(L, 3, &len);
    farm_send(f, worker, bytes, len);
    return 0;
}

static int wait(lua_State *L) {
    static const char *const kinds[] = {"message", "died", "nothing", "interrupted"};
    Farm *f = check_farm(L);
    FarmEvent event = {.kind = FARM_NOTHING};
    farm_wait(f, luaL_checknumber(L, 2), &event);
    lua_pushstring(L, kinds[event.kind]);
    lua_pushinteger(L, event.worker + 1);
    lua_pushlstring(L, event.message.data ? event.message.data : "", event.message.len);
    gi_buf_free(&event.message);
    return 3;
}

static int restart(lua_State *L) {
    gi_err err;
    Farm *f = check_farm(L);
    if (!farm_restart(f, check_worker(L, f, 2), &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int pid(lua_State *L) {
    Farm *f = check_farm(L);
    lua_pushinteger(L, farm_pid(f, check_worker(L, f, 2)));
    return 1;
}

/* The worker's loop: handler(message) -> answer, until the host goes. */
static int serve(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is the host's business */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    gi_buf message = {0};
    while (farm_receive(FARM_WORKER_FD, &message)) {
        size_t len;
        lua_settop(L, 1);
        lua_pushvalue(L, 1);
        lua_pushlstring(L, message.data ? message.data : "", message.len);
        lua_call(L, 1, 1);
        const char *answer = luaL_checklstring(L, -1, &len);
        if (!farm_answer(FARM_WORKER_FD, answer, len)) break;
    }
    gi_buf_free(&message);
    return 0;
}

void bind_farm(lua_State *L) {
    static const BindRow methods[] = {
        {"send", send, "workers:send(i, bytes)", "Queues a message for worker i."},
        {"wait", wait, "workers:wait(timeout_s) -> kind, i, bytes",
         "The next event: \"message\", \"died\", \"nothing\" or \"interrupted\"."},
        {"restart", restart, "workers:restart(i) -> true | nil, message, code",
         "Replaces worker i."},
        {"pid", pid, "workers:pid(i) -> integer",
         "The process id of worker i, 0 when it has ended."},
        {"close", close_farm, "workers:close()", "Ends all workers."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", close_farm}, {"__close", close_farm}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"open", open_farm, "core.farm.open(argv, n) -> workers | nil, message, code",
         "Starts n processes of argv that serve messages."},
        {"serve", serve, "core.farm.serve(handler)",
         "In a worker: answers each message with handler(message) until the host ends."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "workers:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "farm.", rows);
}
