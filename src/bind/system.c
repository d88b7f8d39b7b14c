/* system.c - the little a script cannot ask plain Lua: clock, terminal, cores, program, versions.
 */
#include "bind/bind.h"

#include <errno.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/version.h"
#include "device/probe.h"

volatile int bind_interrupted;
volatile sig_atomic_t bind_ending, bind_asked;

int bind_interrupt(lua_State *L) {
    lua_sethook(L, NULL, 0, 0);
    bind_interrupted = 0;
    return luaL_error(L, "interrupted!");
}

static int seconds(lua_State *L) {
    lua_pushnumber(L, gi_seconds());
    return 1;
}

static int is_ending(lua_State *L) {
    lua_pushboolean(L, bind_ending != 0);
    lua_pushinteger(L, bind_ending);
    return 2;
}

static int was_asked(lua_State *L) {
    lua_pushboolean(L, bind_asked != 0);
    bind_asked = 0;
    return 1;
}

static int sleep_for(lua_State *L) {
    double seconds_left = luaL_checknumber(L, 1);
    luaL_argcheck(L, seconds_left >= 0 && seconds_left < 1e9, 1, "seconds are needed");
    struct timespec t = {.tv_sec = (time_t)seconds_left};
    t.tv_nsec = (long)((seconds_left - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL); /* a signal ends it */
    return 0;
}

static int own_pid(lua_State *L) {
    lua_pushinteger(L, getpid());
    return 1;
}

static int host_name(lua_State *L) {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    lua_pushstring(L, name);
    return 1;
}

static int is_terminal(lua_State *L) {
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

static int close_stream(lua_State *L) {
    luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
    return luaL_fileresult(L, fclose(stream->f) == 0, NULL);
}

/* What was standard output, as a file; standard output is the error output from now on. */
static int take_stdout(lua_State *L) {
    luaL_Stream *stream = lua_newuserdatauv(L, sizeof *stream, 0);
    stream->closef = NULL;
    luaL_setmetatable(L, LUA_FILEHANDLE);
    fflush(stdout);
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    stream->f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream->f || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return luaL_error(L, "cannot take standard output: %s", strerror(errno));
    stream->closef = close_stream;
    return 1;
}

static int terminal_width(lua_State *L) {
    struct winsize size;
    bool known = ioctl((int)luaL_optinteger(L, 1, 1), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    lua_pushinteger(L, known ? size.ws_col : 80);
    return 1;
}

static int cores(lua_State *L) {
    lua_pushinteger(L, gi_cores());
    return 1;
}

static int memory(lua_State *L) {
    const size_t bytes = gi_memory_size();
    if (bytes == SIZE_MAX) lua_pushnil(L);
    else lua_pushinteger(L, (lua_Integer)bytes);
    return 1;
}

static int program(lua_State *L) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) {
        gi_err err;
        gi_fail(&err, "io", "/proc/self/exe, which says where the program lies: %s",
                strerror(errno));
        return bind_failed(L, &err);
    }
    lua_pushlstring(L, path, (size_t)n);
    return 1;
}

static int hash(lua_State *L) {
    size_t len;
    char text[17];
    const char *bytes = luaL_checklstring(L, 1, &len);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)gi_hash(bytes, len, 0));
    lua_pushstring(L, text);
    return 1;
}

/* A digest of argument 1, as hexadecimal digits. */
static int digest(lua_State *L, void (*of)(const void *bytes, size_t len, char *hex)) {
    size_t len;
    char hex[65];
    const char *bytes = luaL_checklstring(L, 1, &len);
    of(bytes, len, hex);
    lua_pushstring(L, hex);
    return 1;
}

static int hash128(lua_State *L) {
    return digest(L, gi_hash128);
}

/* Of all arguments, with a line end between two, which so need not be put together. */
static int hash128_lines(lua_State *L) {
    int n = lua_gettop(L);
    luaL_Buffer all;
    luaL_buffinit(L, &all);
    for (int i = 1; i <= n; i++) {
        size_t len;
        const char *bytes = luaL_checklstring(L, i, &len);
        if (i > 1) luaL_addchar(&all, '\n');
        luaL_addlstring(&all, bytes, len);
    }
    char hex[33];
    gi_hash128(luaL_buffaddr(&all), luaL_bufflen(&all), hex);
    lua_pushlstring(L, hex, 32);
    return 1;
}

static int sha256(lua_State *L) {
    return digest(L, gi_sha256);
}

static int printable(lua_State *L) {
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    gi_buf out = {0};
    gi_printable(&out, text, len);
    lua_pushlstring(L, out.data, out.len);
    gi_buf_free(&out);
    return 1;
}

static int version(lua_State *L) {
    lua_pushliteral(L, GILUA_VERSION);
    return 1;
}

static int driver(lua_State *L) {
    DriverInfo info;
    device_probe(&info);
    lua_createtable(L, 0, 3);
    lua_pushboolean(L, info.loaded), lua_setfield(L, -2, "loaded");
    lua_pushinteger(L, info.version), lua_setfield(L, -2, "version");
    lua_pushstring(L, info.why_not), lua_setfield(L, -2, "why_not");
    lua_createtable(L, info.n_gpus, 0);
    for (int i = 0; i < info.n_gpus; i++) {
        const GpuInfo *gpu = &info.gpus[i];
        lua_createtable(L, 0, 3);
        lua_pushstring(L, gpu->name), lua_setfield(L, -2, "name");
        lua_pushinteger(L, gpu->major * 10 + gpu->minor), lua_setfield(L, -2, "compute");
        lua_pushinteger(L, (lua_Integer)gpu->memory_bytes), lua_setfield(L, -2, "memory_bytes");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "gpus");
    return 1;
}

void bind_system(lua_State *L) {
    static const BindRow rows[] = {
        {"seconds", seconds, "core.system.seconds() -> number", "A monotonic clock in seconds."},
        {"sleep", sleep_for, "core.system.sleep(seconds)", "Waits; a signal ends it early."},
        {"ending", is_ending, "core.system.ending() -> boolean, integer",
         "Has a signal (Ctrl-C, SIGTERM, SIGHUP, SIGPIPE) asked this program to end? And which."},
        {"asked", was_asked, "core.system.asked() -> boolean",
         "Has SIGUSR1 asked, since this was last called, for what was found so far?"},
        {"pid", own_pid, "core.system.pid() -> integer", "This process."},
        {"hostname", host_name, "core.system.hostname() -> string", "This machine's name."},
        {"isatty", is_terminal, "core.system.isatty(fd) -> boolean",
         "Is the descriptor a terminal?"},
        {"take_stdout", take_stdout, "core.system.take_stdout() -> file",
         "What was standard output; whatever is printed there goes to standard error from now on."},
        {"width", terminal_width, "core.system.width([fd]) -> integer",
         "Columns of the terminal, 80 if none."},
        {"cores", cores, "core.system.cores() -> integer",
         "Processors that this program may use: those it is bound to (taskset, Slurm), and no more "
         "than its control group has the time of (docker --cpus)."},
        {"memory", memory, "core.system.memory() -> integer or nil",
         "Bytes of memory that the machine has, or that its control group allows."},
        {"program", program, "core.system.program() -> path or nil, message, code",
         "The path of the running program."},
        {"hash", hash, "core.system.hash(string) -> string",
         "A 64-bit hash as 16 hexadecimal digits."},
        {"hash128_lines", hash128_lines, "core.system.hash128_lines(string, ...) -> string",
         "core.system.hash128 of the strings as lines, with no line end behind the last."},
        {"hash128", hash128, "core.system.hash128(string) -> string",
         "A 128-bit hash as 32 hexadecimal digits."},
        {"sha256", sha256, "core.system.sha256(string) -> string",
         "SHA-256 as 64 hexadecimal digits."},
        {"printable", printable, "core.system.printable(string) -> string",
         "The text as a terminal may have it: control characters as \\x1b, line ends and tabs as "
         "they are."},
        {"version", version, "core.system.version() -> string", "gilua's version."},
        {"driver", driver, "core.system.driver() -> { loaded, version, why_not, gpus }",
         "What the CUDA driver says of this machine (starts the driver in this process)."},
        {NULL, NULL, NULL, NULL}};
    lua_newtable(L);
    bind_rows(L, "system.", rows);
    bind_program(L);
}
