/* net.c - core.net: messages between machines (used by lua/gilua/farm/link.lua). */
#include "net/net.h"

#include <poll.h>

#include "bind/bind.h"

#define CLASS   "gilua.net"
#define SLICE_S 0.1 /* a Ctrl-C that comes just before the wait is seen after this */

static Net *check_net(lua_State *L) {
    Net *net = *(Net **)luaL_checkudata(L, 1, CLASS);
    if (net == NULL) luaL_argerror(L, 1, "the connection is closed");
    return net;
}

static int library(lua_State *L) {
    gi_err err;
    const char *version = net_library(&err);
    if (version == NULL) return bind_failed(L, &err);
    lua_pushstring(L, version);
    return 1;
}

static int open_net(lua_State *L) {
    static const char *const known[] = {"url", "name",        "user", "password", "token",
                                        "ca",  "certificate", "key",  NULL};
    bind_check_options(L, 1, known);
    NetOptions o = {
        bind_option_string(L, 1, "url", NULL),         bind_option_string(L, 1, "name", NULL),
        bind_option_string(L, 1, "user", NULL),        bind_option_string(L, 1, "password", NULL),
        bind_option_string(L, 1, "token", NULL),       bind_option_string(L, 1, "ca", NULL),
        bind_option_string(L, 1, "certificate", NULL), bind_option_string(L, 1, "key", NULL)};
    luaL_argcheck(L, o.url, 1, "url is missing");
    Net **box = bind_new(L, CLASS, sizeof *box, 0);
    gi_err err;
    *box = net_open(&o, &err);
    return *box ? 1 : bind_failed(L, &err);
}

static int close_net(lua_State *L) {
    Net **box = luaL_checkudata(L, 1, CLASS);
    net_close(*box);
    *box = NULL;
    return 0;
}

static int subscribe(lua_State *L) {
    gi_err err;
    if (!net_subscribe(check_net(L), luaL_checkstring(L, 2), &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int publish(lua_State *L) {
    gi_err err;
    size_t len;
    Net *net = check_net(L);
    const char *subject = luaL_checkstring(L, 2), *bytes = luaL_checklstring(L, 3, &len);
    if (!net_publish(net, subject, bytes, len, &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static int take(lua_State *L) {
    NetMessage m;
    if (!net_take(check_net(L), &m)) return 0;
    lua_pushstring(L, m.subject);
    lua_pushlstring(L, m.bytes ? m.bytes : "", m.len);
    return 2;
}

static int wait(lua_State *L) {
    struct pollfd fd = {net_descriptor(check_net(L)), POLLIN, 0};
    double until = gi_seconds() + luaL_checknumber(L, 2), left;
    int n;
    do {
        left = until - gi_seconds();
        double slice = left < SLICE_S ? left : SLICE_S;
        n = poll(&fd, 1, slice <= 0 ? 0 : (int)(slice * 1000 + 0.999));
    } while (n == 0 && left > 0 && !bind_interrupted);
    lua_pushboolean(L, n > 0);
    return 1;
}

static int descriptor(lua_State *L) {
    lua_pushinteger(L, net_descriptor(check_net(L)));
    return 1;
}

static int most_bytes(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)net_max_bytes(check_net(L)));
    return 1;
}

static int state(lua_State *L) {
    static const char *const words[] = {"connected", "cut", "closed"};
    gi_err err;
    NetState s = net_state(check_net(L), &err);
    lua_pushstring(L, words[s]);
    if (s != NET_CLOSED) return 1;
    lua_pushstring(L, err.message);
    return 2;
}

void bind_net(lua_State *L) {
    static const BindRow methods[] = {
        {"subscribe", subscribe, "net:subscribe(subject) -> true | nil, message, code",
         "Asks for a subject's messages; * in it stands for one word."},
        {"publish", publish, "net:publish(subject, bytes) -> true | nil, message, code",
         "Queues a message; while the connection is cut it waits, or is refused where too much "
         "waits."},
        {"take", take, "net:take() -> subject, bytes | nothing", "The next message that is there."},
        {"wait", wait, "net:wait(timeout_s) -> boolean",
         "Waits for a message; false where none came, or Ctrl-C was first."},
        {"descriptor", descriptor, "net:descriptor() -> integer",
         "What can be read when there is a message: for workers:watch."},
        {"most_bytes", most_bytes, "net:most_bytes() -> integer",
         "The largest message that the server takes."},
        {"state", state, "net:state() -> \"connected\"|\"cut\"|\"closed\", message|nil",
         "A connection that was cut is made again by itself; \"closed\": the server refuses."},
        {"close", close_net, "net:close()", "Sends what waits, for a second at most, and leaves."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", close_net}, {"__close", close_net}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"library", library, "core.net.library() -> version | nil, message, code",
         "Which libnats this machine has."},
        {"open", open_net,
         "core.net.open{url [, name, user, password, token, ca, certificate, key]} -> net | nil, "
         "message, code",
         "Connects to a NATS server; ca, certificate and key name files."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "net:", methods, meta);
    lua_newtable(L);
    bind_rows(L, "net.", rows);
}
