/* inject.h - a recorder for programs as they are, on a GPU: a library that NVIDIA's driver loads
** (CUDA_INJECTION64_PATH), and that CUPTI tells of each call of the driver's functions. It writes
** the recording that `gilua record` writes of a program on the virtual GPU (record.h).
**
** inject.c begins and ends it; calls.c takes the arguments of each function apart; tape.c writes
** the recording; code.c finds the PTX or machine code of what is launched; marks.c finds what such
** machine code wrote; gpu.c asks the driver itself.
**
** It records what has happened: a call is looked at where it returns. One call at a time is
** looked at, in the order in which they come, and what the host gets is waited for, so that a
** recording is one of the orders that the GPU may have chosen. Private to src/inject.
*/
#ifndef GILUA_INJECT_INJECT_H
#define GILUA_INJECT_INJECT_H

#include "base/base.h"

/* --- inject.c --- */

typedef struct Wish { /* the file `inject` in the folder that GILUA_RUN names, "KEY VALUE" a line */
    char folder[512], record[512], as[16], kernel[256], cupti[512];
    uint64_t skip, count;
} Wish;
extern Wish wish;

void say(const char *fmt, ...) GI_PRINTF(1, 2);
/* What cannot be recorded: says so, leaves it in the folder, and ends the process with status 4. */
void refuse(const char *fmt, ...) GI_PRINTF(1, 2) __attribute__((noreturn));

/* --- gpu.c: the driver's own functions. What fails is the program's failure, and told by it --- */

bool gpu_find(gi_err *err); /* "driver": it lacks a function */
void gpu_name(char out[256]);
int gpu_compute(void);    /* 90 */
int gpu_current(void);    /* the device of this thread's context; -1: it has none */
void gpu_wait(void);      /* for all that this context was asked to do */
void gpu_wait_stream(void *stream);
bool gpu_read(void *to, uint64_t from, size_t bytes);
bool gpu_is_device(uint64_t address); /* memory of the device's own? */
void gpu_zero(uint64_t address, size_t bytes); /* and waits */
uint64_t gpu_memory(size_t bytes);             /* of our own, zeros; 0 */
void gpu_memory_free(uint64_t address);
/* Runs the only kernel of a PTX, with blocks and threads in a row, in the stream of all others. */
bool gpu_run(const char *ptx, const char *name, unsigned blocks, unsigned threads, void **params);
bool gpu_takes(const char *ptx); /* does the driver load it? */
/* Where a variable is that a function of the driver's gives, and its size. */
bool gpu_variable(const char *function, void *of, const char *name, uint64_t *address,
                  size_t *bytes);

typedef struct CuEventObject *GpuEvent;
GpuEvent gpu_event(void); /* NULL */
bool gpu_mark(GpuEvent e, void *stream);
double gpu_between(GpuEvent from, GpuEvent to); /* waits; nanoseconds, 0 where that is not known */

/* --- code.c --- */

typedef struct Image Image; /* what was loaded at once */

typedef struct Launched { /* a kernel */
    Image *image;
    char *name;
    int n_params;
    size_t *at, *size, bytes; /* of each argument; of all */
    uint8_t *textures;        /* of each word; NULL where nobody asked */
} Launched;

/* A module or library was loaded from an image in memory, or from a file; and is gone. */
void code_loaded(const void *handle, const void *image);
void code_loaded_file(const void *handle, const char *path);
void code_gone(const void *handle);
/* A handle is another name for what another one means. */
void code_same(const void *handle, const void *of);
/* A handle is the kernel of this name in a module. */
void code_function(const void *handle, const void *module, const char *name);
/* What a launch runs; name: what CUPTI calls it, or NULL. What there is neither PTX nor machine
** code of has no arguments that are known (at: NULL); code_launched refuses it. */
const Launched *code_known(const void *handle, const char *name);
const Launched *code_launched(const void *handle, const char *name);
/* Of each word of its arguments: does it read a texture by it? NULL: by none. */
const uint8_t *code_textures(const Launched *l);
/* The number of an image in the recording, which has it from now on. */
int code_number(Image *i);
/* The image of a module; NULL where it is not known, or has neither PTX nor machine code. */
Image *code_image(const void *handle);
/* Is it machine code alone; of a closed library? */
bool code_is_machine(const Image *i);
bool code_is_closed(const Image *i);

/* Does machine code that is loaded from here belong to a closed library (origin.c)? */
bool origin_is_closed(const void *image);

/* The PTX that machine code was made of, from Triton's cache; NULL. free() it. */
char *triton_ptx(const void *code, size_t n);

/* Does f(user, container, bytes left) for each fat binary in the files that this process runs. */
void fat_each(void (*f)(void *user, const void *container, size_t left), void *user);

/* --- tape.c --- */

typedef enum MemoryKind {
    MEMORY_DEVICE,
    MEMORY_MANAGED,
    MEMORY_PINNED,
    MEMORY_REGISTERED,
    MEMORY_VARIABLE
} MemoryKind;

typedef struct Side { /* where rows of bytes begin */
    uint64_t address;
    size_t row, rows;  /* bytes from one to the next; of a slice */
    const void *array; /* its handle, instead of an address: there at byte x, row y, slice z */
    size_t x, y, z;
} Side;

typedef struct Extent {
    size_t width, height, depth; /* bytes, rows, slices */
} Extent;

typedef struct TapeLaunch {
    const void *function;
    const char *symbol;
    const unsigned *grid, *block;
    unsigned shared, cluster[3]; /* cluster: zeros: none */
    bool cooperative;
    void *stream, **params, **extra;
} TapeLaunch;

enum { ON_HOST = 1, ON_DEVICE, ANYWHERE }; /* what a call says of an address */

void tape_open(void); /* refuses where it cannot be made */
void tape_end(void);
void tape_memory(uint64_t address, size_t bytes, MemoryKind kind);
void tape_free(uint64_t address);
void tape_free_all(void); /* of the device's own: its context goes */
/* A variable that the program asked for by name. */
void tape_variable(const void *module, const char *name, uint64_t address, size_t bytes,
                   bool managed);
void tape_module(int number, const char *code, size_t len, bool is_machine);
/* It has been asked for in a stream. */
void tape_copy(const Side *to, int to_where, const Side *from, int from_where, const Extent *e,
               void *stream);
void tape_set(const Side *to, unsigned value, unsigned element, const Extent *e);
/* Before a launch, in the thread that makes it, and behind it. */
void tape_before(const TapeLaunch *l);
void tape_launch(const TapeLaunch *l, bool worked);
void tape_wait(void); /* the host has waited, and may look */
void tape_line(const char *fmt, ...) GI_PRINTF(1, 2); /* … as it is; where there is a recording */

/* --- marks.c --- */

enum { MARK_BYTES = 512 };

typedef struct Marks Marks; /* of a piece of memory */

Marks *marks_of(uint64_t address, size_t bytes); /* of zeros; refuses where there is no room */
void marks_free(Marks *m);
/* Asks for a look at it, and marks what has changed since the last one, if that is wanted. */
void marks_look(Marks *m, bool marking);
/* Does f for each run of bytes that is marked, and takes the marks away. */
void marks_take(Marks *m, void (*f)(void *user, size_t from, size_t to), void *user);

/* --- texture.c --- */

struct CuArray3D;
struct CuResource;
struct CuTexture;
void texture_array(const void *handle, const struct CuArray3D *d);
void texture_array_gone(const void *handle);
void texture_made(uint64_t handle, const struct CuResource *r, const struct CuTexture *d,
                  const void *view);
void texture_gone(uint64_t handle);
bool texture_any(void); /* array or texture that is there */
/* A PLACE in an array: bytes, rows and slices into it. */
void texture_place(const void *array, size_t x, size_t y, size_t z, char out[120]);
/* A texture's handle as the recording calls it; the word itself where it is none. */
uint64_t texture_word(uint64_t word);
/* Changes the handles among a kernel's arguments to those of the recording. */
void texture_arguments(const Launched *k, uint8_t *bytes);

#endif
