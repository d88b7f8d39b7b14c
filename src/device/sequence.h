/* sequence.h - copies, fills and launches on a GPU, queued as one: what src/replay replays a whole
** program with. The device "cuda" alone has it.
**
** A sequence has memory, arrays and textures of its own, made before it runs. One repetition of it
** is three parts, one after the other, queued by whoever has it: what is restored, what is timed
** (between two events, gaps between launches included), what follows. All goes in one stream, but
** for launches that say which. Addresses are those of the GPU.
*/
#ifndef GILUA_SEQUENCE_H
#define GILUA_SEQUENCE_H

#include "device/device.h"

typedef struct Sequence Sequence;

/* "usage": the device has none. One at a time uses a device. */
Sequence *sequence_open(Device *d, gi_err *err);
void sequence_close(Sequence *s);

/* --- what it has --- */

typedef struct SequenceMemory {
    uint64_t address, bytes; /* where it shall be; none lies over another */
    uint64_t at;             /* where it is: there, or where the driver had room (guarded) */
} SequenceMemory;

/* Makes all of them, in the order of their addresses. "nomem", "driver". */
bool sequence_memory(Sequence *s, SequenceMemory *list, int n, gi_err *err);

typedef struct SequenceArray {
    uint64_t size[3]; /* elements, rows, slices or layers; 0: that dimension is not there */
    EmuTexFormat format;
    int channels;
    unsigned flags;   /* cudaArrayLayered … */
} SequenceArray;
/* Its number, from 0; -1. */
int sequence_array(Sequence *s, const SequenceArray *shape, gi_err *err);
/* A texture object over an array, or where that is -1 over an address. t->data is not looked at.
** Its handle; 0. */
uint64_t sequence_texture(Sequence *s, const EmuTexture *t, int array, uint64_t address,
                          gi_err *err);
/* A surface object over an array. Its handle; 0. */
uint64_t sequence_surface(Sequence *s, int array, gi_err *err);
/* Where a variable of a module is now; false: it has none of that name. */
bool sequence_variable(DeviceModule *m, const char *name, uint64_t *address, size_t *bytes);

/* --- what it does: each queues one thing, unless something went wrong before --- */

typedef struct SequencePlace { /* where rows of bytes begin */
    int array;         /* -1: at address */
    uint64_t address;
    uint64_t x, y, z;  /* in an array: bytes, rows, slices */
    uint64_t row, rows; /* bytes from a row to the next; rows from a slice to the next */
} SequencePlace;

typedef struct SequenceExtent { /* all at least 1 */
    uint64_t width, height, depth; /* bytes, rows, slices */
} SequenceExtent;

void sequence_copy(Sequence *s, const SequencePlace *to, const SequencePlace *from,
                   const SequenceExtent *x);
/* Elements of 1, 2 or 4 bytes; not in arrays. */
void sequence_fill(Sequence *s, const SequencePlace *to, unsigned value, unsigned element,
                   const SequenceExtent *x);
/* Variables as the code and device_symbol_write have them: but those of code that has to be loaded
** again for it, which sequence_run does. */
void sequence_reset(Sequence *s, DeviceModule *m);
enum { SEQUENCE_STREAMS = 4 };

typedef struct SequenceTurn { /* of a launch that need not wait for all before it */
    int launch;               /* its number, from 0 */
    unsigned stream;          /* below SEQUENCE_STREAMS; 0 is the stream of all else */
    const uint32_t *after;    /* [SEQUENCE_STREAMS]: the launch of each stream that has to end
                                 before, from 1; 0: none */
    bool is_awaited;          /* one of another stream waits for it */
} SequenceTurn;

/* Launches l with the bytes of its parameters that are given. row: what it is counted under, from
** 0, where kernels are timed. turn: NULL: it waits for all before it. Those with one are all in
** what is timed; copies and fills between them wait for all of them, and they for these. */
void sequence_launch(Sequence *s, DeviceModule *m, const DeviceLaunch *l, size_t bytes,
                     bool cooperative, int row, const SequenceTurn *turn);

/* --- repetitions --- */

typedef enum SequencePart { SEQUENCE_BEFORE, SEQUENCE_TIMED, SEQUENCE_AFTER } SequencePart;

typedef struct SequenceWork {
    bool (*queue)(void *user, SequencePart part, gi_err *err);
    void *user;
    int operations;          /* about so many; few are all queued before the first begins */
    bool as_graph;           /* sequence_time: what is timed is one CUDA graph, so that the GPU sets
                                the pace and not the host, whose launches take 2 to 4 us each */
    DeviceModule **modules;  /* loaded again before it, where their variables need that */
    int n_modules;
    double timeout_s;        /* 0: none */
    const volatile int *interrupt;
} SequenceWork;

/* One repetition. kernel_ns: of each row the time of its launches is added, or NULL; with it the
** whole takes a little longer. False for misuse, or a failure that is no kernel's. */
bool sequence_run(Sequence *s, const SequenceWork *work, double *kernel_ns, int n_rows,
                  Measurement *out, gi_err *err);
/* Repetitions until the median is known: as device_time. Free *out in any case. */
bool sequence_time(Sequence *s, const SequenceWork *work, const DeviceTiming *how,
                   DeviceSamples *out, gi_err *err);

#endif
