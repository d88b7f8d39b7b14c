/* main.c - gilua's command line: Lua's own, with gilua's options in front.
**
** main only makes the state and runs everything under pcall, as lua.c does: collect_args is pure,
** run_args has the effects. gilua's own behaviour lives in lua/gilua; it is found beside the
** program (build tree, portable folder), in ../share/gilua (installed) or in $GILUA_HOME.
*/
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lfs.h>
#include <limits.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/version.h"
#include "bind/bind.h"
#include "host/host.h"
#include "host/modules.h"

static const char usage_text[] =
    "usage: gilua [options] [script [args]]\n"
    "       gilua doctor            what this machine has, and what to do about what it lacks\n"
    "       gilua improve FILE.cu   a faster kernel and a verdict: all steps in one\n"
    "       gilua new FILE.cu [DIR] a problem folder for a kernel of that file\n"
    "       gilua check DIR         what is wrong with a problem, in order\n"
    "       gilua tune DIR          its parameters, each setting measured\n"
    "       gilua evolve DIR        a faster kernel\n"
    "       gilua apply RUN         what evolve or tune found, put into the file it came from\n"
    "       gilua resume RUN        goes on with a run that did not come to its end\n"
    "       gilua log RUN           what a run evaluated, a line a generation\n"
    "       gilua watch RUN         its page, served to a browser on this machine or over ssh\n"
    "       gilua show RUN ID       one mutant of a run: what became of it, and its source\n"
    "       gilua export RUN        every evaluation as a table\n"
    "       gilua rescore RUN FILE  all mutants of a run by another formula\n"
    "       gilua diff RUN RUN      in what two runs differ, and where they part\n"
    "       gilua replay RUN        its search simulated from its archive, as it was or otherwise\n"
    "       gilua merge DIR RUN...  the archives of runs in one\n"
    "       gilua verify RUN        is it right, and faster, on data nobody saw?\n"
    "       gilua judge OLD NEW     is the kernel of another file right, and faster?\n"
    "       gilua profile DIR       where its kernel's time goes\n"
    "       gilua calibrate FILE    a model of the GPU of this machine, for --gpu FILE\n"
    "       gilua serve --mcp       gilua as a tool of agents, by the Model Context Protocol\n"
    "       gilua agent --join URL  works for gilua on other machines\n"
    "       gilua cluster status    who does, and for which runs\n"
    "       gilua run -- PROGRAM    a whole CUDA program on the virtual GPU, every access checked\n"
    "       gilua record -- PROGRAM the same, and keeps what it asked of its GPU\n"
    "       gilua nvcc -o APP FILE  builds a program for gilua run, as nvcc would\n"
    "       gilua help [COMMAND]    this text, or a command's options (also COMMAND --help)\n"
    "       gilua version           gilua's and Lua's (also --version)\n"
    "options, as for lua:\n"
    "  -e CODE       run CODE\n"
    "  -l NAME       require NAME into global NAME\n"
    "  -i            enter the prompt after running the script\n"
    "  -v, -V        print versions\n"
    "  -             run standard input as a script\n"
    "  --            stop handling options\n"
    "gilua's own; a script that reads options with gi.cli takes them after its name too:\n"
    "  --device D    emu (the virtual GPU) or cuda[:N]\n"
    "  --seed N      seed of everything random\n"
    "  --out DIR     folder for results\n"
    "  --jobs N      worker processes\n"
    "  --cluster URL agents on other machines do the work (gilua agent)\n"
    "  --quiet       no progress\n"
    "  -h, --help    this text\n"
    "  --version     print versions\n"
    "exit status: 0; 1 something is wrong; 2 the command line is; 3 no winner;\n"
    "             4 gilua run: the virtual GPU cannot run the program;\n"
    "             130 interrupted, 143 by SIGTERM, 129 by SIGHUP, 141 nobody reads the output\n";

/* --- calling Lua --- */

static lua_State *interrupted_state;  /* the signal handler's only way to the state */
static volatile sig_atomic_t presses; /* of Ctrl-C during this call, and signals like it */
static volatile sig_atomic_t signal_number; /* the first of them */
static bool holds_on;

#define GRACE_S 1.0

/* Exit statuses that C knows; lua/gilua/base/ends.lua has all of them and says what they mean. */
enum { ENDED_WORLD = 1, ENDED_USAGE = 2, ENDED_SIGNAL = 128 };

static int ended_with; /* the status that the last failure asks for */
static char at_work[80] = "starting"; /* what the program is at, should memory run out */

static void stop_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    bind_interrupt(L);
}

/* What does not hear Ctrl-C, a loop in C that never looks, has HEARING_US of the processor's time.
** Then the program ends here and now: results are whole or not there, whenever that is. */
#define HEARING_US 700000

static void on_unheard(int number) {
    static const char words[] = "gilua: interrupted\n";
    (void)number;
    if (!bind_interrupted) return;
    if (write(2, words, sizeof words - 1) < 0) {} /* nothing to be done then */
    _exit(ENDED_SIGNAL + (int)signal_number);
}

static void listen_for_it(void) {
    const struct itimerval once = {.it_value = {0, HEARING_US}};
    signal(SIGPROF, on_unheard);
    setitimer(ITIMER_PROF, &once, NULL);
}

/* The first one stops what runs, in good order: what was found is kept. Until GRACE_S later others
** are the same wish (a batch system signals a process and then its group; a closed pipe is met at
** each line). Then one more ends the program at once; at the prompt a second Ctrl-C warns, and the
** third does. */
static void on_stop(int number) {
    static const char warning[] = "\ngilua: still stopping; Ctrl-C once more ends the program\n";
    static double first;
    double now = gi_seconds();
    if (presses > 0 && (number == SIGPIPE || now - first < GRACE_S)) return;
    presses++;
    if (presses == 1) signal_number = number;
    if (presses > 1) signal(number, SIG_DFL);
    if (presses > 1 && !holds_on) {
        raise(number);
        return;
    }
    if (presses > 1 && write(2, warning, sizeof warning - 1) < 0) {} /* nothing to be done then */
    first = now;
    bind_ending = signal_number;
    bind_interrupted = 1;
    lua_sethook(interrupted_state, stop_hook,
                LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
    if (!holds_on) listen_for_it();
}

/* Who wants to know what was found so far ends nothing, whatever runs, or nothing. */
static void on_asked(int number) {
    (void)number;
    bind_asked = 1;
}

/* What waits meanwhile (for somebody at the other end of a pipe, say) does so no longer: no
** SA_RESTART. The handler before. */
static void (*handle(int number, void (*handler)(int)))(int) {
    struct sigaction before, a = {.sa_handler = handler};
    sigemptyset(&a.sa_mask);
    return sigaction(number, &a, &before) == 0 ? before.sa_handler : SIG_ERR;
}

static void catch_signals(bool catch) {
    handle(SIGINT, catch ? on_stop : holds_on ? SIG_IGN : SIG_DFL);
    static const int others[] = {SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (handle(others[i], catch ? on_stop : SIG_DFL) == SIG_IGN) handle(others[i], SIG_IGN);
}

/* The status of a refusal: the field of that name, where the error object has one. */
static int status_of(lua_State *L, int object) {
    int status = 0;
    if (lua_istable(L, object)) {
        lua_pushliteral(L, "status");
        lua_rawget(L, object);
        status = (int)lua_tointeger(L, -1);
        lua_pop(L, 1); /* status */
    }
    return status > 0 && status < 256 ? status : ENDED_WORLD;
}

/* lua/gilua/base/trace.lua says what of it a script's author wants to see. */
static int push_trace(lua_State *L, const char *message) {
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, "gilua.base.trace") == LUA_TTABLE &&
        lua_getfield(L, -1, "text") == LUA_TFUNCTION) {
        lua_pushstring(L, message);
        lua_pushinteger(L, 2);
        lua_call(L, 2, 1);
    } else {
        luaL_traceback(L, L, message, 2);
    }
    return 1;
}

/* An error object with a __tostring is a sentence for a person: no traceback. */
static int add_traceback(lua_State *L) {
    const char *message = lua_tostring(L, 1);
    ended_with = presses > 0 ? ENDED_SIGNAL + signal_number : status_of(L, 1);
    if (message == NULL) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    return push_trace(L, message);
}

int host_call(lua_State *L, int n_args, int n_results) {
    int base = lua_gettop(L) - n_args;
    lua_pushcfunction(L, add_traceback);
    lua_insert(L, base);
    interrupted_state = L;
    presses = bind_ending = 0;
    catch_signals(true);
    int status = lua_pcall(L, n_args, n_results, base);
    catch_signals(false);
    if (holds_on && bind_interrupted) { /* it came too late, and is not meant for the next call */
        bind_interrupted = 0;
        lua_sethook(L, NULL, 0, 0);
    }
    if (holds_on && presses > 0 && signal_number != SIGINT) raise(signal_number);
    lua_remove(L, base);
    return status;
}

void host_hold_on(void) {
    holds_on = true;
    signal(SIGINT, SIG_IGN);
}

/* Pushes a field of gilua.core; is it a string? */
static bool core_string(lua_State *L, const char *field) {
    return lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) == LUA_TTABLE &&
           lua_getfield(L, -1, "gilua.core") == LUA_TTABLE &&
           lua_getfield(L, -1, field) == LUA_TSTRING;
}

/* A run that has begun to leave results says where (lua/gilua/report/folder.lua): core.results. Not
** where somebody has taken the folder away. */
static int name_results(lua_State *L) {
    if (core_string(L, "results") && access(lua_tostring(L, -1), F_OK) == 0)
        fprintf(stderr, "gilua: results so far are in %s\n", lua_tostring(L, -1));
    return 0;
}

/* After a signal: the command that goes on with the run (lua/gilua/report/history.lua). */
static int name_next(lua_State *L) {
    if (core_string(L, "goes_on"))
        fprintf(stderr, "gilua: to go on: %s\n", lua_tostring(L, -1));
    return 0;
}

/* As Lua says it; a module that was being loaded says it too. */
static bool is_no_memory(const char *message) {
    static const char said[] = "not enough memory", loading[] = "error loading module";
    return strcmp(message, said) == 0 ||
           (strncmp(message, loading, sizeof loading - 1) == 0 && strstr(message, said));
}

/* A message for a person, in one piece; of memory that ran out without asking for any. */
static void print_error(const char *message, size_t len) {
    if (is_no_memory(message)) {
        fprintf(stderr, "gilua: out of memory while %s\n", at_work);
        return;
    }
    gi_buf text = {0};
    gi_printable(&text, message, len);
    gi_buf_adds(&text, ""); /* which is a string now, if an empty one */
    fprintf(stderr, "gilua: %s\n", text.data);
    gi_buf_free(&text);
}

bool host_report(lua_State *L, int status) {
    if (status == LUA_OK) return true;
    if (presses > 0 && signal_number == SIGPIPE) return lua_pop(L, 1), false; /* nobody reads */
    size_t len = 0;
    const char *message = lua_tolstring(L, -1, &len);
    fflush(stdout);
    if (message) print_error(message, len);
    else fputs("gilua: (error message is no string)\n", stderr);
    lua_pop(L, 1);
    lua_pushcfunction(L, presses > 0 ? name_next : name_results);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
    return false;
}

/* --- command line --- */

typedef struct Args {
    int script; /* index of the script in argv, argc when there is none */
    bool interactive, version, help, executes, worker;
    const char *bad; /* the option that is wrong */
    const char *why;
} Args;

/* gilua's options that take a value; --quiet takes none. */
static const char *const valued[] = {"device", "seed", "out", "jobs", "cluster", NULL};

/* The value of argv[*i] when it is --name VALUE or --name=VALUE, else NULL; moves *i to its end. */
static const char *option_value(char **argv, int *i, const char *name) {
    const char *arg = argv[*i] + 2;
    size_t n = strlen(name);
    if (strncmp(arg, name, n) != 0) return NULL;
    if (arg[n] == '=') return arg + n + 1;
    return arg[n] == '\0' && argv[*i + 1] ? argv[++*i] : NULL;
}

static bool collect_long(char **argv, int *i, Args *a) {
    const char *name = argv[*i] + 2;
    if (strcmp(name, "help") == 0) return a->help = true;
    if (strcmp(name, "version") == 0) return a->version = true;
    if (strcmp(name, "quiet") == 0) return true;
    if (strcmp(name, "worker") == 0) return a->worker = true;
    for (const char *const *v = valued; *v; v++)
        if (option_value(argv, i, *v)) return true;
    a->bad = argv[*i];
    a->why = "it is unknown or lacks its value; see gilua --help";
    return false;
}

static bool collect_short(char **argv, int *i, Args *a) {
    const char *arg = argv[*i];
    a->bad = arg;
    a->why = "it is unknown; see gilua --help";
    bool alone = arg[2] == '\0';
    if (arg[1] == 'i' && alone) a->interactive = a->version = true;
    else if ((arg[1] == 'v' || arg[1] == 'V') && alone) a->version = true;
    else if (arg[1] == 'h' && alone) a->help = true;
    else if (arg[1] == 'e' || arg[1] == 'l') {
        a->executes = true;
        a->why = "it needs an argument";
        if (alone && argv[++*i] == NULL) return false;
    } else return false;
    a->bad = NULL;
    return true;
}

static Args collect_args(int argc, char **argv) {
    Args a = {.script = argc};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || strcmp(argv[i], "-") == 0) {
            a.script = i;
            break;
        }
        if (strcmp(argv[i], "--") == 0) {
            if (i + 1 < argc) a.script = i + 1;
            break;
        }
        if (!(argv[i][1] == '-' ? collect_long(argv, &i, &a) : collect_short(argv, &i, &a))) break;
    }
    return a;
}

/* The command line is wrong: a sentence that ends the program. */
static int refuse_usage(lua_State *L, const char *format, const char *given, const char *why) {
    ended_with = ENDED_USAGE;
    return luaL_error(L, format, given, why);
}

/* core.options: what was given of gilua's own options, numbers as numbers. */
static int push_options(lua_State *L, char **argv, int end) {
    lua_newtable(L);
    for (int i = 1; i < end; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if ((strcmp(argv[i], "-e") == 0 || strcmp(argv[i], "-l") == 0) && i + 1 < end) i++;
            continue;
        }
        if (strcmp(argv[i], "--quiet") == 0) {
            lua_pushboolean(L, true);
            lua_setfield(L, -2, "quiet");
        }
        for (const char *const *v = valued; *v; v++) {
            const char *given = argv[i], *value = option_value(argv, &i, *v);
            if (value == NULL) continue;
            bool number = strcmp(*v, "seed") == 0 || strcmp(*v, "jobs") == 0;
            if (!number) lua_pushstring(L, value);
            else if (lua_stringtonumber(L, value) == 0 || !lua_isinteger(L, -1))
                return refuse_usage(L, "%s needs a whole number, not '%s'", given, value);
            lua_setfield(L, -2, *v);
            break;
        }
    }
    return 1;
}

/* --- the library's place --- */

static bool is_home(const char *path) {
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s/lua/gilua/init.lua", path);
    return access(file, R_OK) == 0;
}

/* The folder that holds lua/, kernels/, data/: pushed, or an error that says where it was sought.
 */
static const char *find_home(lua_State *L) {
    char path[PATH_MAX];
    const char *given = getenv("GILUA_HOME");
    if (given && *given) {
        if (is_home(given)) return lua_pushstring(L, given);
        luaL_error(L, "GILUA_HOME is '%s', where there is no lua/gilua: name the folder that holds "
                      "lua/, or unset the variable", given);
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) luaL_error(L, "it cannot be found out where the program lies (is /proc there?); set "
                             "GILUA_HOME to the folder that holds lua/");
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    if (is_home(path)) return lua_pushstring(L, path);
    const char *share = lua_pushfstring(L, "%s/../share/gilua", path);
    if (is_home(share)) return realpath(share, path) ? lua_pushstring(L, path) : share;
    luaL_error(
        L,
        "the library lua/gilua is neither in %s nor in %s; set GILUA_HOME to the folder that "
        "holds lua/",
        path, share);
    return NULL;
}

/* An experiment that comes with gilua is found where gilua is installed, unless there is one of
** that name here. Kept in the registry as long as the state, because argv points to it. */
static char *find_experiment(lua_State *L, char *word) {
    static const char folder[] = "experiments/";
    if (strncmp(word, folder, sizeof folder - 1) != 0 || access(word, F_OK) == 0) return word;
    luaL_requiref(L, "gilua.core", bind_open, 0);
    lua_getfield(L, -1, "home");
    const char *path = lua_pushfstring(L, "%s/%s", lua_tostring(L, -1), word);
    const bool there = access(path, R_OK) == 0;
    if (there) luaL_ref(L, LUA_REGISTRYINDEX);
    else lua_pop(L, 1); /* path */
    lua_pop(L, 2);      /* home, core */
    return there ? (char *)(uintptr_t)path : word;
}

static void set_search_path(lua_State *L, const char *home) {
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "path");
    lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua;%s", home, home, lua_tostring(L, -1));
    lua_setfield(L, -3, "path");
    lua_pop(L, 2); /* path, package */
}

int luaopen_socket_core(lua_State *L); /* its header, Debian's, includes one that is not there */

static void preload(lua_State *L, const char *name, lua_CFunction open) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, open);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static void open_gilua(lua_State *L, char **argv, int script) {
    const char *home = find_home(L);
    set_search_path(L, home);
    modules_offer(L);
    preload(L, "lfs", luaopen_lfs);
    preload(L, "socket.core", luaopen_socket_core);
    luaL_requiref(L, "gilua.core", bind_open, 0);
    lua_pushstring(L, home);
    lua_setfield(L, -2, "home");
    push_options(L, argv, script);
    lua_setfield(L, -2, "options");
    lua_pop(L, 1); /* core */
    lua_getglobal(L, "require");
    lua_pushliteral(L, "gilua.base.trace");
    lua_call(L, 1, 0);
}

/* --- running --- */

static void push_arg_table(lua_State *L, char **argv, int argc, int script) {
    int zero = script < argc ? script : 0; /* no script: arg[0] is the program */
    lua_createtable(L, argc - zero, zero + 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - zero);
    }
    lua_setglobal(L, "arg");
}

static bool run_string(lua_State *L, const char *code, const char *name) {
    int status = luaL_loadbuffer(L, code, strlen(code), name);
    if (status == LUA_OK) status = host_call(L, 0, 0);
    return host_report(L, status);
}

static bool run_require(lua_State *L, const char *name) {
    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    int status = host_call(L, 1, 1);
    if (status == LUA_OK) lua_setglobal(L, name);
    return host_report(L, status);
}

/* -e and -l, in order. */
static bool run_options(lua_State *L, char **argv, int end) {
    for (int i = 1; i < end; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            for (const char *const *v = valued; *v; v++)
                if (option_value(argv, &i, *v)) break;
            continue;
        }
        int kind = argv[i][1];
        if (kind != 'e' && kind != 'l') continue;
        const char *text = argv[i][2] ? argv[i] + 2 : argv[++i];
        if (!(kind == 'e' ? run_string(L, text, "=(command line)") : run_require(L, text)))
            return false;
    }
    return true;
}

static bool run_script(lua_State *L, char **argv, int argc, int script) {
    const char *name = strcmp(argv[script], "-") == 0 ? NULL : argv[script];
    int status = luaL_loadfile(L, name);
    if (status == LUA_OK) {
        for (int i = script + 1; i < argc; i++) {
            luaL_checkstack(L, 3, "too many arguments");
            lua_pushstring(L, argv[i]);
        }
        status = host_call(L, argc - script - 1, 0);
    }
    return host_report(L, status);
}

static void print_versions(void) {
    printf("gilua %s, %s\n", GILUA_VERSION, LUA_RELEASE);
    fflush(stdout);
}

/* A function of lua/gilua/command/commands.lua for a word. */
static bool run_command(lua_State *L, const char *function, const char *word) {
    char code[80];
    snprintf(code, sizeof code, "require('gilua.command.commands').%s(...)", function);
    int status = luaL_loadbuffer(L, code, strlen(code), "=command");
    if (status == LUA_OK) {
        lua_pushstring(L, word);
        status = host_call(L, 1, 0);
    }
    return host_report(L, status);
}

static bool is_command(const char *word) {
    static const char *const words[] = {
        "doctor",  "improve", "new",    "check", "tune",   "evolve",  "apply",  "verify",
        "resume",  "run",     "log",    "show",  "export", "rescore", "record", "merge",
        "watch",   "replay",  "diff",   "agent", "cluster", "judge",  "serve",  "profile",
        "nvcc",    "help",    "version", "calibrate", NULL};
    for (const char *const *w = words; *w; w++)
        if (strcmp(*w, word) == 0) return true;
    return false;
}

/* May it be a script? What is not there is none, nor a folder, nor CUDA source. */
static bool may_be_script(const char *word) {
    struct stat s;
    const char *dot = strrchr(word, '.');
    if (strcmp(word, "-") == 0) return true;
    return stat(word, &s) == 0 && !S_ISDIR(s.st_mode) && !(dot && strcmp(dot, ".cu") == 0);
}

static bool run_word(lua_State *L, char **argv, int argc, int script) {
    const char *word = argv[script];
    snprintf(at_work, sizeof at_work, "running %s", word);
    bool alone = script + 1 == argc;
    if (alone && strcmp(word, "version") == 0) return print_versions(), true;
    if (alone && strcmp(word, "help") == 0) return fputs(usage_text, stdout) >= 0;
    if (is_command(word)) return run_command(L, "run", word);
    if (!may_be_script(word)) return run_command(L, "no_script", word);
    return run_script(L, argv, argc, script);
}

/* What was kept for the end of the whole command (lua/gilua/base/ends.lua). */
static bool finish(lua_State *L) {
    return run_string(L, "local e = package.loaded['gilua.base.ends'] if e then e.finish() end",
                      "=end");
}

static bool run_args(lua_State *L, int argc, char **argv, const Args *a) {
    if (a->worker) return run_string(L, "require('gilua.farm.worker')()", "=worker");
    if (a->version) print_versions();
    if (!run_options(L, argv, a->script)) return false;
    bool ran = true;
    if (a->script < argc) ran = run_word(L, argv, argc, a->script);
    else if (!a->executes && !a->version && !isatty(0)) ran = run_string(L, "dofile()", "=command");
    if (a->interactive || (a->script >= argc && !a->executes && !a->version && isatty(0))) {
        if (!a->version) print_versions();
        host_repl(L);
        ran = true;
    }
    return ran && finish(L);
}

typedef struct Call {
    int argc;
    char **argv;
    bool ok;
} Call;

static int protected_main(lua_State *L) {
    Call *call = lua_touserdata(L, 1);
    Args a = collect_args(call->argc, call->argv);
    if (a.help) {
        fputs(usage_text, stdout);
        return (call->ok = true), 0;
    }
    if (a.bad) return refuse_usage(L, "option '%s': %s", a.bad, a.why);
    luaL_openlibs(L);
    open_gilua(L, call->argv, a.script);
    if (a.script < call->argc)
        call->argv[a.script] = find_experiment(L, call->argv[a.script]);
    push_arg_table(L, call->argv, call->argc, a.script);
    call->ok = run_args(L, call->argc, call->argv, &a);
    return 0;
}

/* --- standard input and output --- */

/* One that is closed is open on a file that refuses, lest the first file that is opened, a result,
** say, be it. */
static void open_standard(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

/* At the end of the program, whoever ends it: what was printed is written, or the status says that
** it was not. */
static void finish_output(int status, void *unused) {
    (void)unused;
    if (status == ENDED_SIGNAL + SIGPIPE) return; /* nobody reads, which was to be said to nobody */
    errno = 0;
    const bool lost = ferror(stdout), flushed = fflush(stdout) == 0;
    if (!lost && flushed) return;
    if (gi_met_large_file()) errno = EFBIG;
    fprintf(stderr, "gilua: not all could be written to standard output: %s\n",
            errno ? gi_reason(errno) : "it is closed, or the disk is full");
    _exit(status ? status : ENDED_WORLD);
}

int main(int argc, char **argv) {
    open_standard();
    on_exit(finish_output, NULL);
    signal(SIGUSR1, on_asked);
    gi_catch_large_files();
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        fprintf(stderr, "gilua: out of memory while starting\n");
        return ENDED_WORLD;
    }
    Call call = {argc, argv, false};
    lua_pushcfunction(L, protected_main);
    lua_pushlightuserdata(L, &call);
    bool ok = host_report(L, lua_pcall(L, 1, 0, 0)) && call.ok;
    lua_close(L);
    return ok ? EXIT_SUCCESS : ended_with ? ended_with : ENDED_WORLD;
}
