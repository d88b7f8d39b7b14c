/* gpu.h - runs a recording (record/record.h) on a GPU, as it was or with other code in a module's
** place, again and again: what replay.h does on the virtual one.
**
** All that the host gave lies on the GPU before it begins, and what the host took stays there until
** it is compared; so a repetition copies nothing over the bus. What came before the first launch is
** restored without its time being counted; from the first launch to the last all is timed, copies
** between them (on the GPU) and gaps included. Memory begins as zeros. It has the address that it
** had when it was recorded where the driver gives it, else pointers to it in arguments are changed;
** pointers that lie in memory are right where memory is where it was alone.
*/
#ifndef GILUA_REPLAY_GPU_H
#define GILUA_REPLAY_GPU_H

#include "device/sequence.h"
#include "replay/replay.h"

typedef struct ReplayGpu ReplayGpu;

/* Makes all that the recording needs on a device "cuda", which outlives it; the recording stays the
** caller's, and open. kernels: what those of machine code among these n wrote is among the reads.
** "format", "compile", "nomem", "driver", "usage". */
ReplayGpu *replay_gpu_open(const Recording *r, Device *d, const char *const *kernels, int n,
                           gi_err *err);
void replay_gpu_close(ReplayGpu *g);
/* Bytes of memory that are where they were, and of those that had to be put elsewhere. */
void replay_gpu_places(const ReplayGpu *g, uint64_t *there, uint64_t *elsewhere);

typedef struct ReplayGpuOptions {
    const ReplayCode *code; /* PTX; kept until other code comes, so that the same is loaded once */
    int n_code;
    const ReplayShape *shapes; /* as of ReplayOptions, these too */
    int n_shapes;
    const ReplayJoin *joins;
    int n_joins;
    const ReplayTurn *turns;   /* of all launches, of timed ones alone; NULL: one stream */
    int n_turns;
    bool partial;
    bool bytes;             /* of all that the host gets, right or not */
    bool timed;             /* repetitions until the median is known; else one, each kernel timed */
    bool as_graph;          /* timed: what is timed is one CUDA graph, without the host's pace */
    DeviceTiming timing;
    double timeout_s;       /* of a repetition; 0: none */
    const volatile int *interrupt;
} ReplayGpuOptions;

typedef struct ReplayGpuRead {
    char name[RECORD_NAME];
    bool same;
    size_t size;
    const uint8_t *bytes; /* NULL: same, and nobody asked */
} ReplayGpuRead;

typedef struct ReplayGpuResult {
    Measurement run;       /* status, message, lost; of the last repetition: ns, clock */
    DeviceSamples samples; /* of a timed one */
    ReplayKernel *kernels; /* of one that is not: in the order of their first launches */
    int n_kernels;
    ReplayGpuRead *reads;  /* of what ended well */
    int n_reads;
    int registers;         /* of the kernel of other code (of any, without) that has most */
    size_t shared_bytes;   /* likewise, static */
} ReplayGpuResult;

/* False: as replay_run ("compile": code that does not load, or lacks a kernel), and "driver". What
** kernels do wrong is in out->run. Valid until the next run; free it in any case of true. */
bool replay_gpu_run(ReplayGpu *g, const ReplayGpuOptions *options, ReplayGpuResult *out,
                    gi_err *err);
void replay_gpu_free(ReplayGpuResult *r);

#endif
