/* known_nvrtc.c - an NVRTC that compiles each source once, for tests/cli/no_memory.t, where the same
** short run goes by some ten thousand times: what became of a source and its options lies in the file
** KNOWN, which is read when this library is loaded. What is not there fails; where REAL_NVRTC names
** the real library it is passed on to that one, and added (GILUA_BOX=off: a worker writes it).
**
** The file, of MOST_BYTES: for each { hash, result, length of log, length of PTX }, log and PTX; then zeros. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, NO_INPUT = 3, MOST_HEADERS = 4 };

typedef struct Head {
    uint64_t hash;
    int64_t result, log, ptx;
} Head;

typedef struct Program {
    uint64_t hash; /* of the source and its headers; then of the options too */
    void *real;
    char *source, *name, *header[MOST_HEADERS], *header_name[MOST_HEADERS];
    int n_headers;
    Head head;
    const char *log, *ptx;
} Program;

enum { MOST_BYTES = 8 << 20 };

static char *known;
static void *library; /* the real one; NULL where all has to be known */

/* All is opened here: what compiles is shut in, and a worker closes files that it does not know. */
__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("REAL_NVRTC");
    if (path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int fd = open(getenv("KNOWN"), (path ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) abort();
    known = mmap(NULL, MOST_BYTES, path ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (known == MAP_FAILED) abort();
    close(fd);
}

static void *real(const char *name) {
    return library ? dlsym(library, name) : NULL;
}

/* FNV-1a, with the zero at a text's end. */
static uint64_t add_text(uint64_t hash, const char *text) {
    do hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
    while (*text++);
    return hash;
}

/* Where what is known ends, or p's is. */
static char *find(Program *p) {
    char *at = known;
    for (;; at += sizeof p->head + (size_t)(p->head.log + p->head.ptx)) {
        memcpy(&p->head, at, sizeof p->head);
        p->log = at + sizeof p->head;
        p->ptx = p->log + p->head.log;
        if (p->head.hash == p->hash || p->head.hash == 0) return at;
    }
}

static char *take(Program *p, const char *size_of, const char *get, int64_t *len) {
    int (*size)(void *, size_t *), (*text)(void *, char *);
    size_t n = 0;
    *(void **)&size = real(size_of);
    *(void **)&text = real(get);
    if (size(p->real, &n) != OK) return NULL;
    char *bytes = malloc(n + 1);
    *len = (int64_t)n;
    return text(p->real, bytes) == OK ? bytes : NULL;
}

/* By the real library, and kept at `at`. */
static int make(Program *p, char *at, int n, const char *const *options) {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    *(void **)&create = real("nvrtcCreateProgram");
    *(void **)&compile = real("nvrtcCompileProgram");
    if (create == NULL ||
        create(&p->real, p->source, p->name, p->n_headers, (const char *const *)p->header,
               (const char *const *)p->header_name) != OK)
        return NO_INPUT;
    p->head = (Head){.hash = p->hash, .result = compile(p->real, n, options)};
    p->log = take(p, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", &p->head.log);
    p->ptx = p->head.result == OK ? take(p, "nvrtcGetPTXSize", "nvrtcGetPTX", &p->head.ptx) : NULL;
    if (at + 2 * sizeof p->head + p->head.log + p->head.ptx > known + MOST_BYTES) abort();
    memcpy(at + sizeof p->head, p->log, (size_t)p->head.log);
    if (p->ptx) memcpy(at + sizeof p->head + p->head.log, p->ptx, (size_t)p->head.ptx);
    memcpy(at, &p->head, sizeof p->head);
    return (int)p->head.result;
}

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return OK;
}

int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetNumSupportedArchs(int *n) {
    *n = 2;
    return OK;
}

int nvrtcGetSupportedArchs(int *list);
int nvrtcGetSupportedArchs(int *list) {
    list[0] = 80;
    list[1] = 90;
    return OK;
}

/* In memory that no_memory.c does not count, as it does the C library's. */
static char *copy(const char *text) {
    return memcpy(malloc(strlen(text) + 1), text, strlen(text) + 1);
}

int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names);
int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names) {
    if (n > MOST_HEADERS) return NO_INPUT;
    *p = calloc(1, sizeof **p);
    (*p)->hash = add_text(add_text(0xcbf29ce484222325, source), name);
    for (int i = 0; i < n; i++) {
        (*p)->hash = add_text(add_text((*p)->hash, headers[i]), names[i]);
        (*p)->header[i] = copy(headers[i]);
        (*p)->header_name[i] = copy(names[i]);
    }
    (*p)->n_headers = n;
    (*p)->source = copy(source);
    (*p)->name = copy(name);
    return OK;
}

int nvrtcDestroyProgram(Program **p);
int nvrtcDestroyProgram(Program **p) {
    for (int i = 0; i < (*p)->n_headers; i++) free((*p)->header[i]), free((*p)->header_name[i]);
    free((*p)->source);
    free((*p)->name);
    free(*p);
    *p = NULL;
    return OK;
}

/* Where a precompiled header lies is no part of what is compiled. */
int nvrtcCompileProgram(Program *p, int n, const char *const *options);
int nvrtcCompileProgram(Program *p, int n, const char *const *options) {
    for (int i = 0; i < n; i++)
        if (strstr(options[i], "pch") == NULL) p->hash = add_text(p->hash, options[i]);
    char *at = find(p);
    return p->head.hash == p->hash ? (int)p->head.result : make(p, at, n, options);
}

int nvrtcGetProgramLogSize(Program *p, size_t *size);
int nvrtcGetProgramLogSize(Program *p, size_t *size) {
    *size = (size_t)p->head.log;
    return OK;
}

int nvrtcGetProgramLog(Program *p, char *log);
int nvrtcGetProgramLog(Program *p, char *log) {
    if (p->log) memcpy(log, p->log, (size_t)p->head.log);
    return OK;
}

int nvrtcGetPTXSize(Program *p, size_t *size);
int nvrtcGetPTXSize(Program *p, size_t *size) {
    *size = (size_t)p->head.ptx;
    return OK;
}

int nvrtcGetPTX(Program *p, char *text);
int nvrtcGetPTX(Program *p, char *text) {
    if (p->ptx) memcpy(text, p->ptx, (size_t)p->head.ptx);
    return OK;
}

int nvrtcGetCUBINSize(Program *p, size_t *size);
int nvrtcGetCUBINSize(Program *p, size_t *size) {
    (void)p, (void)size;
    return NO_INPUT;
}

int nvrtcGetCUBIN(Program *p, char *code);
int nvrtcGetCUBIN(Program *p, char *code) {
    (void)p, (void)code;
    return NO_INPUT;
}

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result) {
    return result == OK ? "no error" : "NVRTC_ERROR_COMPILATION";
}
