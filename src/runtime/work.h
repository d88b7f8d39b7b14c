/* work.h - what libcudart.so.13 gives the stand-ins of closed libraries: work that the host does in
** the device's place, in the order of a stream.
**
** A stand-in submits a function with a copy of its arguments. The function runs when the stream
** comes to it: at once, or whenever a graph runs into which the stream was captured. It names each
** piece of memory that it uses by gilua_work_memory, which gives the bytes to it and has them
** checked as a kernel's accesses are: bounds, undefined values, streams, recordings.
*/
#ifndef GILUA_RUNTIME_WORK_H
#define GILUA_RUNTIME_WORK_H

#include <stdbool.h>
#include <stddef.h>

#define WORK_API __attribute__((visibility("default")))
/* Defines a function of a closed library, whose result is an int. */
#define EXPORT(name, ...)           \
    WORK_API int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

typedef enum WorkAccess { WORK_READS = 1, WORK_WRITES = 2, WORK_UPDATES = 3 } WorkAccess;

/* Does the work; false where memory was missing. */
typedef bool (*WorkFn)(const void *args);

typedef struct Work {
    const char *name;  /* of the library's function, for people: it stays */
    WorkFn run;
    const void *args;  /* copied */
    size_t size;       /* bytes of args */
    double operations; /* floating-point operations, for its time */
    bool is_double;    /* … in double precision */
    bool waits;        /* the host waits for its end */
} Work;

/* Returns CUDA's error, 0 if there is none. stream: as programs hand it over. */
WORK_API int gilua_work(void *stream, const Work *work);

/* Of a function that runs: where `height` rows of `width` bytes, `pitch` apart, lie in the host's
** memory. NULL for what is no memory of that size, which is a finding. Valid until it ends. */
WORK_API void *gilua_work_memory(const void *device, size_t width, size_t pitch, size_t height,
                                 WorkAccess access);

/* Of a function that runs: reports what is wrong with what its arguments hold. */
WORK_API __attribute__((format(printf, 1, 2))) void gilua_work_wrong(const char *format, ...);

/* Notes why results are missing: `gilua run` says it at its end, with status 4. */
WORK_API void gilua_work_missing(const char *why);

/* The same of a function that is not here, and says so at once the first time. returns: the name
** of what it then returns. */
WORK_API void gilua_work_unsupported(const char *name, const char *returns, bool *told);

#endif
