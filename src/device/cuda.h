/* cuda.h - the parts of the device "cuda". Private to src/device.
**
** One context, one stream: everything is queued on it in order and nothing is in flight when a
** public function returns (unless the device is lost). So the pinned staging memory is free at the
** start of each.
*/
#ifndef GILUA_DEVICE_CUDA_H
#define GILUA_DEVICE_CUDA_H

#include "device/class.h"
#include "device/driver.h"

enum { CUDA_GROUP = 32 };               /* launches between two readings of the SM clock */
enum { CUDA_PRINTED_BYTES = 16 << 10 }; /* of what kernels print and nobody has read yet */
enum { CUDA_STAGING_BYTES = 8 << 20 };    /* pinned; two halves */

/* Not results of the driver: what cuda_wait adds. */
enum { CU_TIMED_OUT = -1, CU_INTERRUPTED = -2 };

/* The comparison of arrays of one type; loaded when it is first needed. */
typedef struct CudaComparer {
    CuModule module;
    CuFunction compare, total;
} CudaComparer;

typedef struct CudaHelpers {
    CuModule module;
    CuFunction fill, pieces, sums, stamp, gate;
    CudaComparer comparers[ARRAY_F64 + 1];
} CudaHelpers;

/* Device memory that grows and holds nothing from one call to the next. */
typedef struct CudaScratch {
    CuPointer address;
    size_t bytes;
} CudaScratch;

/* Guarded device memory: [guard][contents][guard], all blocks of a device in a list. */
typedef struct CudaBlock {
    struct CudaDevice *device;
    struct CudaBlock *previous, *next;
    char *label;
    CuPointer base, address;
    size_t bytes;
    const void *host;      /* what the contents must be, while this is not NULL */
    uint64_t key;          /* contents are stored xor this, over and over; 0: as they are */
    uint64_t sums[3];      /* of the guard before, the contents, the guard behind */
} CudaBlock;

typedef struct CudaDevice {
    Device base;
    const Driver *cu;
    CuDevice device;
    CuContext context;
    CuStream stream;
    DeviceInfo info;
    int max_threads_per_sm;
    bool lost;
    char why_lost[300];
    char *staging;
    volatile uint32_t *gate;           /* pinned: the ticket that the GPU may pass with */
    uint32_t ticket;
    CuEvent half[2];                   /* when a half of the staging memory is free again */
    CuEvent start[CUDA_GROUP], end[CUDA_GROUP];
    CudaHelpers helpers;
    CudaScratch parts, table, stamps, flush;
    CudaBlock *blocks;
    double best_ghz;                   /* highest SM clock seen */
} CudaDevice;

typedef struct CudaBuffer {
    DeviceBuffer base;
    CudaBlock *block, *kept; /* kept: a copy of what fills it; NULL: the sentinel does */
} CudaBuffer;

/* A mutable variable of a module or a piece of one, and where it is in the saved copy; as the
** helper kernel sees it. */
typedef struct CudaPiece {
    CuPointer address;
    uint64_t saved;
    uint32_t bytes, pad;
} CudaPiece;

typedef struct CudaKernel {
    char *name;
    CuFunction function; /* NULL after a reload, until it is asked for */
    KernelInfo info;
    uint32_t *param_size, *param_offset; /* info's */
    int cache, carveout, dynamic; /* as last set */
} CudaKernel;

typedef struct CudaModule {
    DeviceModule base;
    CuModule module;
    char *image;           /* NUL-ended copy of the code */
    size_t image_bytes;
    char **kernel_names;   /* sorted */
    int n_kernels;
    CudaKernel *kernels;   /* those asked for */
    int n_known, cap_known;
    CudaPiece *pieces;     /* of mutable variables */
    int n_pieces, cap_pieces;
    CudaBlock *saved;      /* the pieces, then what launches find in them; NULL: none */
    char *saved_host;      /* the same bytes */
    size_t saved_bytes;
    bool reload;           /* a variable cannot be addressed: the code is loaded again instead */
} CudaModule;

/* --- cuda.c --- */

CudaDevice *cuda_of(const Device *d);
/* Makes the context current; fails when the device is lost. */
bool cuda_enter(CudaDevice *d, gi_err *err);
/* True for CU_OK; else fails with "nomem" or "driver": "cannot DOING: WORDS". Marks the device lost
** when the code says so. */
bool cuda_ok(CudaDevice *d, int code, const char *doing, gi_err *err);
bool cuda_is_fatal(int code);
void cuda_lose(CudaDevice *d, const char *why);
/* Until all that was queued is done: CU_OK, a result of the driver, CU_TIMED_OUT (0: waits for
** ever) or CU_INTERRUPTED. */
int cuda_wait(CudaDevice *d, double timeout_s, const volatile int *interrupt);
/* cuda_wait as the end of an ordinary operation. */
bool cuda_finish(CudaDevice *d, const char *doing, gi_err *err);

/* --- cuda_helpers.c --- */

extern const char cuda_helpers_general[], cuda_helpers_compare[]; /* CUDA text */

bool cuda_helpers_load(CudaDevice *d, gi_err *err);
const CudaComparer *cuda_comparer(CudaDevice *d, ArrayType type, gi_err *err);
/* Queues a helper over n blocks of 256 threads. args: pointers to the arguments. */
int cuda_help(CudaDevice *d, CuFunction f, unsigned blocks, void **args);

/* --- cuda_memory.c --- */

bool cuda_scratch(CudaDevice *d, CudaScratch *s, size_t bytes, gi_err *err);
bool cuda_upload(CudaDevice *d, CuPointer to, const void *from, size_t n, gi_err *err);
bool cuda_download(CudaDevice *d, void *to, CuPointer from, size_t n, gi_err *err);
/* host: contents to begin with; they are watched from then on if `watch`. */
CudaBlock *cuda_block_new(CudaDevice *d, size_t bytes, const void *host, bool watch,
                          const char *label, gi_err *err);
void cuda_block_free(CudaBlock *b);
/* Takes what the contents are now (equal to b->host) as what they must be. */
bool cuda_block_record(CudaBlock *b, gi_err *err);
bool cuda_intact(Device *d, gi_buf *what, gi_err *err);

DeviceBuffer *cuda_buffer(Device *d, Array *a, DeviceAccess access, const char *label, gi_err *err);
void cuda_buffer_free(DeviceBuffer *b);
bool cuda_buffer_read(DeviceBuffer *b, Array *into, gi_err *err);
bool cuda_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err);
bool cuda_buffer_sentinel(DeviceBuffer *b, gi_err *err);
bool cuda_buffer_keep(DeviceBuffer *b, gi_err *err);
int cuda_queue_sentinel(DeviceBuffer *b);

/* --- cuda_compare.c, cuda_texture.c --- */

bool cuda_compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                  Comparison *out, gi_err *err);
DeviceTexture *cuda_texture(Device *d, Array *a, const TextureSpec *spec, gi_err *err);
void cuda_texture_free(DeviceTexture *t);

/* --- cuda_module.c --- */

DeviceModule *cuda_load(Device *d, const char *code, size_t len, gi_err *err);
void cuda_module_free(DeviceModule *m);
bool cuda_module_reset(DeviceModule *m, gi_err *err);
bool cuda_symbol_size(DeviceModule *m, const char *name, size_t *size);
bool cuda_symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n, gi_err *err);
bool cuda_symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err);
bool cuda_kernel_info(DeviceModule *m, const char *kernel, KernelInfo *out, gi_err *err);
const char *cuda_kernel_name(DeviceModule *m, int index);
/* NULL: "usage", no such kernel. Valid until the next call. */
CudaKernel *cuda_kernel(CudaModule *m, const char *name, gi_err *err);
/* Variables back to what a launch begins with, in two halves: code with `reload` set is loaded
** again, while nothing is in flight; that of others is a copy that is queued. */
bool cuda_module_renew(CudaModule *m, gi_err *err);
int cuda_queue_reset(CudaModule *m);

/* --- cuda_launch.c, cuda_time.c --- */

typedef struct CudaGroup {
    double ns[CUDA_GROUP]; /* of each launch, by events */
    double clock_ghz;      /* of the SMs during the group; 0 unknown */
} CudaGroup;

/* How a group is run. */
typedef struct CudaPlan {
    int lead, trail;       /* launches before and behind those that are timed (the same, in turn) */
    bool gate;             /* the GPU waits until the host has queued all of it */
    bool flush_l2;
    DeviceBuffer *fill;    /* this is filled with sentinels in place of every launch */
} CudaPlan;

/* Runs 1 … CUDA_GROUP launches, timed. False for misuse and failures; *out says how they went. */
bool cuda_group(CudaDevice *d, const DevicePair *shots, int n, const CudaPlan *plan,
                CudaGroup *group, Measurement *out, gi_err *err);
/* What a result of the driver says of a launch; a fatal one loses the device. */
void cuda_set_status(CudaDevice *d, const DeviceLaunch *l, int code, Measurement *out);
/* A kernel's attributes as a launch wants them. */
int cuda_configure(CudaDevice *d, CudaKernel *k, const DeviceLaunch *l);
/* The launch alone, of what is configured; bytes: of its parameters. */
int cuda_start(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l, size_t bytes,
               bool cooperative, CuStream stream);
/* What is queued behind the gate waits until it is open; 20 ms at most. */
int cuda_queue_gate(CudaDevice *d);
void cuda_open_gate(CudaDevice *d);
/* Two readings of the SM clocks: room for them, each queued (0, 1), fetched, and what they say when
** the stream is done: GHz, 0 unknown. */
bool cuda_stamps(CudaDevice *d, gi_err *err);
int cuda_queue_stamp(CudaDevice *d, int which);
int cuda_fetch_stamps(CudaDevice *d);
double cuda_read_clock(CudaDevice *d);
bool cuda_is_slow(const DeviceTiming *how, const DeviceSamples *s);
bool cuda_is_enough(const DeviceTiming *how, const DeviceSamples *s);
bool cuda_launch(DeviceModule *m, const DeviceLaunch *launch, Measurement *out, gi_err *err);
bool cuda_time(DeviceModule *m, const DeviceLaunch *launch, const DeviceTiming *how,
               DeviceSamples *out, gi_err *err);
bool cuda_time_pair(DevicePair a, DevicePair b, int pairs, const DeviceTiming *how, double *ns_a,
                    double *ns_b, Measurement *last, gi_err *err);
bool cuda_time_sentinel(DeviceBuffer *b, const DeviceTiming *how, DeviceSamples *out, gi_err *err);

#endif
