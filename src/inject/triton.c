/* triton.c - the PTX that Triton keeps beside the machine code that it loads.
**
** Triton gives the driver machine code, and keeps all that it came from in its cache: a folder a
** kernel, with NAME.cubin and NAME.ptx. PTX of the very bytes that are loaded is recorded in their
** place: genes have a hold there, and the virtual GPU runs it. It is taken where the driver takes
** it; one that is newer than the driver stays machine code. torch.compile has a cache of its own.
*/
#include "inject/inject.h"

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *given(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Where a cache is: Triton's, and that of torch.compile for the first GPU. */
static void triton_cache(char out[4096]) {
    const char *own = given("TRITON_CACHE_DIR"), *home = given("TRITON_HOME");
    if (home == NULL) home = given("HOME");
    snprintf(out, 4096, "%s%s", own ? own : home ? home : "", own ? "" : "/.triton/cache");
}

static void inductor_cache(char out[4096]) {
    const char *own = given("TORCHINDUCTOR_CACHE_DIR"), *temporary = given("TMPDIR");
    const struct passwd *user = getpwuid(getuid());
    const char *name = given("LOGNAME");
    if (name == NULL) name = given("USER");
    if (name == NULL && user) name = user->pw_name;
    if (own) snprintf(out, 4096, "%s/triton/0", own);
    else snprintf(out, 4096, "%s/torchinductor_%s/triton/0", temporary ? temporary : "/tmp",
                  name ? name : "");
}

static bool holds(const char *path, const void *code, size_t n) {
    struct stat s;
    gi_buf bytes = {0};
    bool same = stat(path, &s) == 0 && S_ISREG(s.st_mode) && (size_t)s.st_size == n &&
                gi_read_file(path, &bytes, NULL) && bytes.len == n &&
                memcmp(bytes.data, code, n) == 0;
    gi_buf_free(&bytes);
    return same;
}

/* The text of PATH with the ending .ptx; NULL. */
static char *text_beside(char *path) {
    gi_buf text = {0};
    memcpy(path + strlen(path) - strlen(".cubin"), ".ptx", sizeof ".ptx");
    if (gi_read_file(path, &text, NULL) && text.len > 0 && gpu_takes(text.data)) return text.data;
    gi_buf_free(&text);
    return NULL;
}

/* Of one kernel's folder. */
static char *in_folder(const char *folder, const void *code, size_t n) {
    char *text = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && text == NULL && (e = readdir(d)) != NULL;) {
        char path[8192];
        size_t length = strlen(e->d_name), end = strlen(".cubin");
        if (length <= end || strcmp(e->d_name + length - end, ".cubin") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (holds(path, code, n)) text = text_beside(path);
    }
    if (d) closedir(d);
    return text;
}

static char *in_cache(const char *all, const void *code, size_t n) {
    char *text = NULL;
    DIR *d = opendir(all);
    for (struct dirent *e; d && text == NULL && (e = readdir(d)) != NULL;) {
        char folder[4096 + 300];
        if (e->d_name[0] == '.') continue;
        snprintf(folder, sizeof folder, "%.4000s/%s", all, e->d_name);
        text = in_folder(folder, code, n);
    }
    if (d) closedir(d);
    return text;
}

char *triton_ptx(const void *code, size_t n) {
    char cache[4096];
    triton_cache(cache);
    char *text = in_cache(cache, code, n);
    if (text) return text;
    inductor_cache(cache);
    return in_cache(cache, code, n);
}
