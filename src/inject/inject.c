/* inject.c - see inject.h: how the driver begins the recorder, what it wishes, how it speaks. */
#include "inject/inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/calls.h"

enum { REFUSED = 4 }; /* the process's status, as under `gilua run` */

Wish wish;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside; /* the recorder itself calls the driver */
static pid_t process;             /* a forked child has no part in its parent's recording */
static bool is_open, traces;

/* --- speaking --- */

void say(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    gi_speak(fmt, args);
    va_end(args);
}

void refuse(const char *fmt, ...) {
    char path[600];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    gi_speak(fmt, args);
    snprintf(path, sizeof path, "%s/%d.refused", wish.folder, (int)getpid());
    FILE *f = fopen(path, "w");
    if (f) vfprintf(f, fmt, again), fclose(f);
    va_end(again);
    va_end(args);
    _exit(REFUSED);
}

/* --- what is wished --- */

static bool take_wish(const char *key, const char *value) {
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"record", wish.record, sizeof wish.record},
                 {"as", wish.as, sizeof wish.as},
                 {"kernel", wish.kernel, sizeof wish.kernel},
                 {"cupti", wish.cupti, sizeof wish.cupti}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return (size_t)snprintf(texts[i].to, texts[i].size, "%s", value) < texts[i].size;
    uint64_t *number = strcmp(key, "skip") == 0 ? &wish.skip : &wish.count;
    if (number == &wish.count && strcmp(key, "count") != 0) return false;
    *number = strtoull(value, NULL, 10);
    return true;
}

static void read_wish(const char *folder) {
    char path[600], *rest = NULL;
    gi_buf text = {0};
    gi_err err = {0};
    snprintf(wish.folder, sizeof wish.folder, "%s", folder);
    snprintf(path, sizeof path, "%s/inject", folder);
    if (!gi_read_file(path, &text, &err)) refuse("%s", err.message);
    gi_buf_adds(&text, "");
    for (char *line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, ' ');
        if (value) *value++ = '\0';
        if (value == NULL || !take_wish(line, value))
            refuse("%s: '%s' is not understood: the program `gilua` and its library "
                   "libgilua_inject.so are of different versions",
                   path, line);
    }
    gi_buf_free(&text);
}

/* --- callbacks --- */

/* Where the driver has begun: InitializeInjection is called before that. */
static void open_tape(void) {
    gi_err err = {0};
    if (!gpu_find(&err)) refuse("%s", err.message);
    tape_open();
    is_open = true;
}

static void on_call(void *user, int domain, uint32_t id, const CuptiCall *call) {
    (void)user;
    if (domain != CUPTI_DRIVER_API || inside || getpid() != process) return;
    if (traces && call->site == CUPTI_ENTER) say("the program calls %s (%u)", call->name, id);
    pthread_mutex_lock(&lock);
    inside = true;
    if (!is_open) open_tape();
    calls_take(id, call);
    inside = false;
    pthread_mutex_unlock(&lock);
}

static void at_exit(void) {
    if (getpid() != process || !is_open) return;
    pthread_mutex_lock(&lock);
    inside = true;
    tape_end();
    inside = false;
    pthread_mutex_unlock(&lock);
}

/* --- CUPTI --- */

static struct {
    int (*subscribe)(CuptiSubscriber **out, CuptiCallback *f, void *user);
    int (*enable)(uint32_t on, CuptiSubscriber *s, int domain, uint32_t id);
    int (*enable_all)(uint32_t on, CuptiSubscriber *s, int domain);
    int (*words)(int code, const char **out);
} cupti;

static void *open_cupti(void) {
    void *library = dlopen(wish.cupti, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) refuse("CUPTI, which recording on a GPU needs, cannot be loaded: %s",
                                dlerror());
    return library;
}

static void find_cupti(void *library) {
    const struct {
        void *slot;
        const char *name;
    } wanted[] = {{&cupti.subscribe, "cuptiSubscribe"},
                  {&cupti.enable, "cuptiEnableCallback"},
                  {&cupti.enable_all, "cuptiEnableDomain"},
                  {&cupti.words, "cuptiGetResultString"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(library, wanted[i].name);
        if (found == NULL) refuse("%s is no CUPTI: it has no %s", wish.cupti, wanted[i].name);
        memcpy(wanted[i].slot, &found, sizeof found); /* ISO C has no cast for this */
    }
}

/* Functions that an older CUPTI does not know are none of an older driver's. */
static void subscribe(void) {
    CuptiSubscriber *s = NULL;
    const char *words = "no reason";
    int code = cupti.subscribe(&s, on_call, NULL), enabled = 0;
    if (code != 0) {
        cupti.words(code, &words);
        refuse("CUPTI cannot watch the program (%s): is another tool at it, a profiler or a "
               "debugger?",
               words);
    }
    for (int i = 0; calls_id(i); i++)
        enabled += cupti.enable(1, s, CUPTI_DRIVER_API, calls_id(i)) == 0;
    if (traces) cupti.enable_all(1, s, CUPTI_DRIVER_API);
    if (enabled == 0) refuse("CUPTI knows none of the driver's functions");
}

/* What the driver calls, of the library that CUDA_INJECTION64_PATH names. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void) {
    const char *folder = getenv("GILUA_RUN");
    if (process) return 1;
    process = getpid();
    traces = getenv("GILUA_INJECT_TRACE") != NULL;
    if (folder == NULL)
        refuse("this is gilua's recorder, and nobody told it what to do: start the program with "
               "`gilua record -- PROGRAM`");
    read_wish(folder);
    find_cupti(open_cupti());
    subscribe();
    atexit(at_exit);
    return 1;
}
