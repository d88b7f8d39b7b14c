/* no_memory.c - a machine without memory, for tests/cli/no_memory.t: loaded before the C library, it
** makes the first allocation by the path FAIL_PATH fail and those after it, FAIL_TIMES in all; with
** FAIL_NEAR the first that is no more than NEAR before or behind that one, which is sooner found.
** They are counted from the start or, with FAIL_LATER, from where the program asks for the variable
** FAIL_FROM_HERE; in the host, or, with FAIL_WORKER, in the workers, of which then the first alone
** goes without.
**
** Only what gilua and the C library ask for fails. NVRTC and the C++ library end the process where
** they get nothing, whoever called them.
**
** An allocation's path is who called whom until it was made: the return addresses on the stack, less
** where each library begins, and the lines of Lua that are under way. What is on it twice, by
** recursion, is there once. With FAIL_PATH=0 nothing fails, and the first process that is meant writes
** memory.paths to the folder $FAIL_TELLS: records of three 64-bit numbers, the path, its first
** and its last allocation; the very first record is how many allocations there were, how many paths,
** and how many found no room. A path that was refused becomes the only line of memory.failed, which
** has to be empty before.
**
** Both files are memory that is shared: a worker in its box opens none, and has no last word.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { LINE_BYTES = 24, MOST_MODULES = 64, MOST_STEPS = 200, MOST_LEVELS = 60, MOST_PATHS = 1 << 16 };
enum { NEAR = 1000 }; /* by what counts differ from run to run, and some */

typedef struct Range {
    uintptr_t from, to;
} Range;

typedef struct Record {
    uint64_t path, first, last;
} Record;

typedef struct Path { /* of addresses, or of lines; each once */
    uint64_t steps[MOST_STEPS];
    int n;
    bool makes_lua; /* lua_newstate is on it */
} Path;

static Range modules[MOST_MODULES]; /* the first n_ours are the program and the C library */
static Range lua_itself;             /* its functions, which lie together in the program */
static int n_modules, n_ours;
static uint64_t count, first, last; /* all; those that fail, less the last */
static uint64_t wanted_path, times, from, to;
static bool is_meant, counts; /* this process; from now on */
static Record *records;       /* memory.paths, where this process writes it */
static char *failed;          /* memory.failed: a line, or zeros */
static lua_State *lua;        /* once it is made */
static int (*get_stack)(lua_State *, int, lua_Debug *);
static int (*get_info)(lua_State *, const char *, lua_Debug *);
static uintptr_t new_state;
static __thread bool inside __attribute__((tls_model("initial-exec")));
static char folder[4096];

static const char *variable(const char *name) {
    size_t n = strlen(name);
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}

static uint64_t number(const char *name, uint64_t fallback) {
    const char *text = variable(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

static int open_here(const char *name, int flags) {
    char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC, 0666);
}

static bool is_in(uintptr_t at, Range range) {
    return at >= range.from && at < range.to;
}

/* All but this library itself. */
static int add_module(struct dl_phdr_info *info, size_t size, void *wants_ours) {
    (void)size;
    bool is_ours = !*info->dlpi_name || strstr(info->dlpi_name, "/libc.so");
    if (is_ours != (bool)wants_ours || n_modules == MOST_MODULES) return 0;
    uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    Range module = {info->dlpi_addr, info->dlpi_addr + end};
    if (!is_in((uintptr_t)add_module, module)) modules[n_modules++] = module;
    return 0;
}

static bool is_worker(void) {
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    return n > 0 && memmem(text, (size_t)n, "--worker", 8) != NULL;
}

/* A file of the folder as memory; NULL where it is not to be made. */
static void *map(const char *name, int flags, size_t bytes) {
    int fd = open_here(name, O_RDWR | O_CREAT | flags);
    if (fd < 0) return NULL;
    void *at = ftruncate(fd, (off_t)bytes) == 0
                   ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED) {
        perror(name);
        _exit(99);
    }
    return at;
}

__attribute__((constructor)) static void begin(void) {
    bool workers = number("FAIL_WORKER", 0);
    snprintf(folder, sizeof folder, "%s", variable("FAIL_TELLS"));
    if (is_worker() != workers) return;
    failed = map("memory.failed", 0, LINE_BYTES);
    if (!failed || (workers && *failed)) return;
    dl_iterate_phdr(add_module, (void *)1);
    n_ours = n_modules;
    dl_iterate_phdr(add_module, NULL);
    get_stack = (int (*)(lua_State *, int, lua_Debug *))dlsym(RTLD_DEFAULT, "lua_getstack");
    get_info = (int (*)(lua_State *, const char *, lua_Debug *))dlsym(RTLD_DEFAULT, "lua_getinfo");
    new_state = (uintptr_t)dlsym(RTLD_DEFAULT, "lua_newstate");
    lua_itself = (Range){(uintptr_t)dlsym(RTLD_DEFAULT, "lua_checkstack"),
                         (uintptr_t)dlsym(RTLD_DEFAULT, "luaL_openlibs")};
    wanted_path = number("FAIL_PATH", 0);
    times = number("FAIL_TIMES", 1);
    uint64_t near = number("FAIL_NEAR", 0);
    from = near > NEAR ? near - NEAR : 0;
    to = near > 0 ? near + NEAR : UINT64_MAX;
    if (wanted_path == 0) records = map("memory.paths", O_EXCL, sizeof(Record[MOST_PATHS + 1]));
    is_meant = true;
    counts = !variable("FAIL_LATER");
}

/* --- paths --------------------------------------------------------------------------------- */

static void add_step(Path *path, uint64_t step) {
    for (int i = 0; i < path->n; i++)
        if (path->steps[i] == step) return;
    if (path->n < MOST_STEPS) path->steps[path->n++] = step;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *to) {
    Path *path = to;
    uintptr_t at = _Unwind_GetIP(context);
    path->makes_lua |= new_state && _Unwind_GetRegionStart(context) == new_state;
    if (is_in(at, lua_itself)) return _URC_NO_REASON;
    for (int i = 0; i < n_modules; i++)
        if (is_in(at, modules[i]))
            add_step(path, (at - modules[i].from) ^ (modules[i].to - modules[i].from) << 40);
    return _URC_NO_REASON;
}

/* Like the standard's hash of a string, FNV-1a. */
static uint64_t mixed(uint64_t hash, const void *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return hash;
}

/* Lua knows a line where an error may be thrown or something is called: the last such one. Where the
** script itself is, outermost, says nothing of a way that others have too. */
static void add_lines(Path *path) {
    lua_Debug at;
    if (!lua || getpid() != gettid()) return;
    for (int level = 0; level < MOST_LEVELS && get_stack(lua, level, &at); level++) {
        get_info(lua, "Sl", &at);
        if (strcmp(at.what, "main") == 0 && !strstr(at.short_src, "lua/gilua/")) break;
        uint64_t where = mixed(0xcbf29ce484222325, at.short_src, strlen(at.short_src));
        add_step(path, mixed(where, &at.currentline, sizeof at.currentline));
    }
}

static uint64_t path_here(void) {
    Path frames = {.n = 0}, lines = {.n = 0};
    _Unwind_Backtrace(add_frame, &frames);
    if (!frames.makes_lua) add_lines(&lines);
    uint64_t hash = mixed(0xcbf29ce484222325, frames.steps, sizeof(uint64_t[frames.n]));
    hash = mixed(hash, lines.steps, sizeof(uint64_t[lines.n]));
    return hash ? hash : 1;
}

static void record(uint64_t nth) {
    static bool busy;
    uint64_t path = path_here();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {}
    Record *head = records, *at = NULL;
    for (uint64_t i = 0; i < MOST_PATHS && !at; i++) {
        Record *r = &records[1 + (path + i) % MOST_PATHS];
        if (r->path == path || r->path == 0) at = r;
    }
    if (!at || head->first > MOST_PATHS / 2) {
        head->last++;
    } else {
        if (at->path == 0) head->first++, at->first = nth;
        at->path = path;
        at->last = nth;
    }
    head->path = nth;
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void tell_path(void) {
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%llu\n", (unsigned long long)wanted_path);
    memcpy(failed, line, sizeof line);
}

/* --- allocations --------------------------------------------------------------------------- */

static bool is_ours(const void *caller) {
    for (int i = 0; i < n_ours; i++)
        if (is_in((uintptr_t)caller, modules[i])) return true;
    return false;
}

/* Is it this one's turn? By its path: from the first that has it on. */
static bool is_turn(uint64_t nth) {
    bool looks = wanted_path && first == 0 && nth >= from && nth <= to;
    if (looks && path_here() == wanted_path) {
        first = nth;
        last = nth + times;
    }
    return first > 0 && nth >= first && nth < last;
}

static bool fails(const void *caller) {
    if (!counts || inside || !is_ours(caller)) return false;
    inside = true;
    uint64_t nth = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (records) record(nth);
    bool turn = is_turn(nth);
    if (turn && *failed == 0) tell_path();
    inside = false;
    if (turn) errno = ENOMEM;
    return turn;
}

/* The first memory that lua_newstate asks for begins with the state, behind its extra space. */
static void look_for_lua(void *p) {
    Path path = {.n = 0};
    if (!is_meant || lua || !new_state || inside || !p) return;
    inside = true;
    _Unwind_Backtrace(add_frame, &path);
    if (path.makes_lua) lua = (lua_State *)((char *)p + LUA_EXTRASPACE);
    inside = false;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t n) {
    return FAILS ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return FAILS ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    void *made = n > 0 && FAILS ? NULL : __libc_realloc(p, n);
    if (!p) look_for_lua(made);
    return made;
}

void *aligned_alloc(size_t alignment, size_t n) {
    return FAILS ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    if (FAILS) return ENOMEM;
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}

char *getenv(const char *name) {
    if (strcmp(name, "FAIL_FROM_HERE") == 0 && is_meant) counts = true;
    return (char *)(uintptr_t)variable(name);
}
