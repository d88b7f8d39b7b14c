/* runtime.h - a CUDA run-time library over the virtual GPU: programs built by nvcc with
** `-cudart shared` and PTX inside run on it with no GPU, every access of every kernel checked.
**
** One shared object, libcudart.so.13, serves both major versions by symbol versions; `gilua run`
** puts it before the program and leaves a folder, named in GILUA_RUN, with what was asked for
** (config.h); the library leaves its report there (report.h).
**
** How it is laid out. Every call that a program can make is one API function, which takes the lock,
** checks what it was given, and hands an Op to a stream (op.h). The op runs at once: what a program
** asks for happens in the order in which it asks, which is one of the orders a GPU may choose, and
** streams and events only keep the modelled time. On a stream that is being captured the op
** becomes a node of a graph. All ops that run pass observers (observe.h).
**
** Private to src/runtime; nobody else includes it.
*/
#ifndef GILUA_RUNTIME_RUNTIME_H
#define GILUA_RUNTIME_RUNTIME_H

#include "base/base.h"
#include "emu/emu.h"
#include "runtime/abi.h"
#include "runtime/config.h"

typedef struct Runtime {
    Emu *emu;
    Config config;
    double host_ns;    /* modelled time at which the host is: later than all it waited for */
    bool is_assembling; /* nvJitLink is at work, which looks for a driver and finds this library */
    CudaError fault;   /* of a kernel: all later calls return it; a reset does not help */
} Runtime;
extern Runtime runtime;

/* --- calls --- */

/* Takes the lock and, at the first call, starts the virtual GPU. False: the call fails with what
** call_end then returns. name: the function's, for messages. */
bool call_begin(const char *name);
/* Sets the thread's last error, gives the lock back, and returns e or the fault. */
CudaError call_end(CudaError e);
const char *call_name(void); /* of the call that runs in this thread */
uint32_t call_thread(void);  /* its number, from 1 */
/* The next call of this thread was made under a name of the driver's. */
void call_alias(const char *name);
/* Returns e; says why the call fails, for the finding if the program does not read its error. */
CudaError failed(CudaError e, const char *fmt, ...) GI_PRINTF(2, 3);

#define CALL(expr) call_end(call_begin(__func__ + 3) ? (expr) : cudaErrorUnknown)

/* The same for what cannot be refused: a fault does not hinder it. */
#define QUERY(expr) (call_lock(__func__ + 3), call_unlock(expr))
void call_lock(const char *name);
CudaError call_unlock(CudaError e);

CudaError error_last(bool forget); /* the thread's; it is read by that */
void error_read(int code);         /* the program asks for its name or text */
const char *error_name(int code); /* "cudaErrorInvalidValue"; NULL */
const char *error_text(int code);

/* API(NAME, parameters) { … } defines a function for programs of CUDA 12 and 13; API_OF one with
** another type than CudaError; API_12 and API_13 the one of that version where they differ.
** ALSO(NAME, OTHER) gives it one more name. */
#define VERSION_12(fn, name) __asm__(".symver gi_" #fn "," #name "@libcudart.so.12")
#define VERSION_13(fn, name) __asm__(".symver gi_" #fn "," #name "@@libcudart.so.13")
#define DECLARED(type, fn, ...) __attribute__((visibility("default"))) type gi_##fn(__VA_ARGS__)
#define API_OF(type, name, ...)        \
    DECLARED(type, name, __VA_ARGS__); \
    VERSION_12(name, name);            \
    VERSION_13(name, name);            \
    type gi_##name(__VA_ARGS__)
#define API(name, ...) API_OF(CudaError, name, __VA_ARGS__)
#define API_12(name, ...)                       \
    DECLARED(CudaError, 12_##name, __VA_ARGS__); \
    VERSION_12(12_##name, name);                 \
    CudaError gi_12_##name(__VA_ARGS__)
#define API_13(name, ...)                    \
    DECLARED(CudaError, name, __VA_ARGS__);  \
    VERSION_13(name, name);                  \
    CudaError gi_##name(__VA_ARGS__)
#define ALSO(name, other)    \
    VERSION_12(name, other); \
    VERSION_13(name, other)
#define ALSO_12(name, other) VERSION_12(name, other)
#define PER_THREAD(name) ALSO(name, name##_ptsz)

/* --- speaking --- */

/* A line to standard error, "gilua: " before it. */
void say(const char *fmt, ...) GI_PRINTF(1, 2);
/* The program cannot go on: says so, leaves it in the report, and ends the process with
** RUN_REFUSED. */
void refuse(const char *fmt, ...) GI_PRINTF(1, 2) __attribute__((noreturn));
enum { RUN_REFUSED = 4 };

#endif
