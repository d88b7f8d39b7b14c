/* device.h - one interface, two devices: "emu" (emu.c, the virtual GPU) and "cuda" (cuda.c).
**
** A device runs modules over buffers and textures; it says what happened in a Measurement and
** never believes a kernel (docs/device.md says what each device promises). Handles belong to their
** device and must be released before it. One thread at a time uses a device.
**
** A lost device. Some faults leave the driver's context unusable, and a kernel that never ends
** cannot be stopped from inside the process. Then `lost` is set in the measurement, everything but
** releasing fails with "driver", and the process has to be replaced.
*/
#ifndef GILUA_DEVICE_H
#define GILUA_DEVICE_H

#include "array/array.h"
#include "emu/emu.h"

typedef enum DeviceStatus {
    STATUS_OK, STATUS_COMPILE_ERROR, STATUS_LAUNCH_ERROR, STATUS_ILLEGAL_ADDRESS, STATUS_MISALIGNED,
    STATUS_TIMEOUT, STATUS_LOOP_LIMIT, STATUS_RACE, STATUS_CRASH, STATUS_OUT_OF_MEMORY
} DeviceStatus;

const char *device_status_name(DeviceStatus s); /* "ok" "illegal_address" … (design §4) */

typedef struct Device Device;
typedef struct DeviceBuffer DeviceBuffer;
typedef struct DeviceTexture DeviceTexture;
typedef struct DeviceModule DeviceModule;

/* "emu" or "cuda[:N]". model: the GPU emu stands for (ignored by cuda). "nodevice", "nolib". */
Device *device_open(const char *name, const EmuModel *model, gi_err *err);
void device_close(Device *d);
const char *device_name(const Device *d);        /* "emu", "cuda" */
const char *device_description(const Device *d); /* "virtual NVIDIA H200 (emu)" */
const char *device_target(const Device *d);      /* what to compile for: "compute_90" or "sm_90" */

typedef struct DeviceInfo {
    char name[128], uuid[40];     /* uuid: "" on emu */
    int compute;                  /* 90 */
    int sms;
    double clock_ghz;             /* its highest */
    uint64_t memory_bytes, l2_bytes;
    double memory_rate;           /* bytes a second at most; 0: unknown */
    int driver;                   /* 13000 is 13.0; 0 on emu */
    int max_threads_per_block;
    size_t shared_per_block;      /* the most a kernel may ask for */
    const char *engine;           /* how emu runs kernels (emu_engine); NULL on cuda */
} DeviceInfo;
void device_info(const Device *d, DeviceInfo *out);

/* Joules that the whole GPU, whoever uses it, has taken since some moment: what lies between two
** readings counts. NVML's counter (libnvidia-ml.so.1, or what GILUA_NVML names), in millijoules,
** which moves every 20 to 100 ms. "usage" on emu, "nolib", "driver". */
bool device_energy(const Device *d, double *joules, gi_err *err);

/* What kernels may do with a buffer. One that is none of their business, such as the expected
** answers, is out of their reach on emu; on cuda, where a stray pointer may find it, its contents
** are scrambled with a key that changes with every process. */
typedef enum DeviceAccess { ACCESS_WRITE, ACCESS_READ, ACCESS_NONE } DeviceAccess;

/* Device memory holding an array. On emu it *is* the array's memory (no copy); on cuda it is a
** copy between guard zones, and one that kernels may not write to has a checksum. label: what
** device_intact calls it; NULL for a description of the array. "nomem", "driver". */
DeviceBuffer *device_buffer(Device *d, Array *a, DeviceAccess access, const char *label,
                            gi_err *err);
void device_buffer_free(DeviceBuffer *b);
Array *device_buffer_array(const DeviceBuffer *b);
uint64_t device_buffer_address(const DeviceBuffer *b);
bool device_buffer_read(DeviceBuffer *b, Array *into, gi_err *err); /* device -> array */
/* Array -> device; what a read-only buffer is restored to by device_intact from now on. */
bool device_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err);
/* Fills it as a launch that has it in `fill` does: with the sentinel (array_fill_sentinel), or with
** what it held when it was kept. */
bool device_buffer_sentinel(DeviceBuffer *b, gi_err *err);
/* Every launch shall find in b what `initial` holds now: for a kernel that reads and writes one
** array. "usage" for a read-only buffer or another size, "nomem", "driver". */
bool device_buffer_keep(DeviceBuffer *b, const Array *initial, gi_err *err);
/* As array_compare: all is the same but mean_error and penalty, which are to 1e-6 of themselves.
** Both buffers must belong to one device. */
bool device_buffer_compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                           Comparison *out, gi_err *err);
/* Are all guard zones and the contents of all read-only buffers and linear textures as they were?
** If not, *what gets one sentence saying what was hit, everything is restored, and the answer is
** false with err->code "touched"; any other code is a failure to find out. On emu always true: such
** a write is a fault there. */
bool device_intact(Device *d, gi_buf *what, gi_err *err);

/* How kernels read an array as a texture. Its type is that of a channel: f32 or an integer of up to
** 32 bits. */
typedef enum TextureKind { TEXTURE_LINEAR, TEXTURE_ARRAY } TextureKind;
typedef enum TextureAddress {
    TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER
} TextureAddress;

typedef struct TextureSpec {
    TextureKind kind;        /* linear: 1-D tex1Dfetch; array: cudaArray semantics */
    int channels;            /* 1, 2 or 4 */
    int dims;                /* 1, 2, 3 */
    int64_t size[3];         /* texels: width, height, depth */
    int64_t layers;          /* 0, or the layers of a layered 1-D or 2-D texture */
    TextureAddress address[3];
    bool linear_filter;      /* else point */
    bool normalized_coords;
    bool normalized_read;    /* integers are read as floats in [0,1] or [-1,1] */
    float border[4];
} TextureSpec;

/* The array's elements are those of size x layers texels. "usage" for what CUDA has not, "driver",
** "nomem". */
DeviceTexture *device_texture(Device *d, Array *a, const TextureSpec *spec, gi_err *err);
void device_texture_free(DeviceTexture *t);
uint64_t device_texture_handle(const DeviceTexture *t);

/* Loads PTX or, on cuda, machine code (a cubin). "compile", "nomem", "driver". */
DeviceModule *device_load(Device *d, const char *code, size_t len, gi_err *err);
void device_module_free(DeviceModule *m);
bool device_module_reset(DeviceModule *m, gi_err *err); /* variables as the code defines them */
/* Copies bytes to or from a __device__ or __constant__ variable, which must be as large. What was
** written is what every launch begins with. */
bool device_symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n,
                         gi_err *err);
bool device_symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err);

typedef struct KernelInfo {
    int registers;           /* 32-bit ones, a thread (emu: estimated) */
    size_t shared_bytes;     /* static */
    size_t local_bytes;      /* of stack, a thread */
    int max_threads;         /* a block, from __launch_bounds__; 0: as many as the device has */
    size_t param_bytes;      /* of all parameters, laid out by param_offset */
    int n_params;
    const uint32_t *param_size, *param_offset; /* the module's, until it is reset or freed */
} KernelInfo;
bool device_kernel_info(DeviceModule *m, const char *kernel, KernelInfo *out, gi_err *err);
const char *device_kernel_name(DeviceModule *m, int index); /* NULL past the end */

/* What an SM's memory is divided for (cuda): cuFuncSetCacheConfig. */
typedef enum DeviceCache { CACHE_DEFAULT, CACHE_SHARED, CACHE_L1, CACHE_EQUAL } DeviceCache;

/* Before every launch, timed ones too, the module's variables are what the code defines or the host
** wrote (unless they are kept), and the buffers in `fill` hold the sentinel or what was kept of
** them. */
typedef struct DeviceLaunch {
    const char *kernel;
    unsigned grid[3], block[3];
    size_t shared_bytes;     /* dynamic */
    const void *params;      /* KernelInfo.param_bytes of them */
    DeviceBuffer **fill;
    int n_fill;
    unsigned cluster[3];           /* blocks of a cluster; 0: as the kernel says, or none */
    bool cooperative;              /* all blocks run at a time: they may wait for each other */
    bool keep_variables;           /* they hold what the launches before left in them */
    const volatile int *interrupt; /* polled now and then; may be NULL */
    double timeout_s;        /* 0: none. On emu of processor time */
    /* cuda */
    DeviceCache cache;
    int carveout;            /* percent of the SM's memory that is shared; -1: the driver chooses */
    /* emu; what each means is said at EmuLaunch. printf of cuda goes to stdout */
    uint64_t budget;
    int max_faults;
    bool count_uninitialised;
    EmuRaces check_races;
    bool refuse_benign_races;
    bool meets;
    bool backwards;
    EmuExact *exact;
    int threads;
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
} DeviceLaunch;

typedef struct Measurement {
    DeviceStatus status;
    bool lost;               /* the device is unusable from now on */
    double ticks, ns;
    double clock_ghz;        /* of the SMs during the launch */
    int registers;
    size_t shared_bytes;     /* static + dynamic */
    double occupancy;        /* resident warps / maximum */
    char message[600];       /* of a fault: what, and where the device knows where */
    EmuResult emu;           /* what only the virtual GPU can tell: where, warnings, counts */
} Measurement;

/* Runs one launch. False only for misuse or a lost device; what a kernel does wrong is in
** out->status. */
bool device_launch(DeviceModule *m, const DeviceLaunch *launch, Measurement *out, gi_err *err);

/* Repeated timing. A zero field means its default. */
typedef struct DeviceTiming {
    int min_samples;         /* 10 */
    int max_samples;         /* 200 */
    int warmup;              /* launches before the first sample: 2 */
    double rel_error;        /* enough samples when the median is known this well: 0.005 */
    double stop_above_ns;    /* after 3 samples a median above this ends it: `slow`. 0: never */
    bool flush_l2;           /* writes as many bytes as the L2 cache has before each launch */
    double clock_tolerance;  /* a group of samples is throttled below (1 - this) x the highest SM
                                clock seen on the device: 0.03 */
} DeviceTiming;

typedef struct DeviceSamples {
    int n;
    double *ns;              /* every sample, in order */
    double *clock_ghz;       /* SM clock while the sample's group ran; 0 unknown */
    bool *throttled;         /* left out of the median */
    int dropped;             /* samples throttled */
    int launches;            /* that ran in all, those that are no samples too */
    double median_ns;        /* of the samples kept; of all when every one was throttled */
    double rel_error;        /* half width of the ~95 % interval of the median over the median */
    bool slow, capped;       /* stopped by stop_above_ns; by max_samples before rel_error */
    Measurement last;        /* status, message, registers … of the last launch */
} DeviceSamples;

/* Times a kernel by events around each launch (emu: one launch, exact). Free *out in any case. */
bool device_time(DeviceModule *m, const DeviceLaunch *launch, const DeviceTiming *how,
                 DeviceSamples *out, gi_err *err);
void device_samples_free(DeviceSamples *s);

/* Times two kernels of one device in turn, A B B A …, so that drift hits both alike. ns_a and ns_b
** get `pairs` values each. *last: the status of all, or the first that failed (then the values mean
** nothing). */
typedef struct DevicePair {
    DeviceModule *module;
    const DeviceLaunch *launch;
} DevicePair;
bool device_time_pair(DevicePair a, DevicePair b, int pairs, const DeviceTiming *how, double *ns_a,
                      double *ns_b, Measurement *last, gi_err *err);

/* Times what writing a whole buffer takes, by filling it with sentinels again and again: no kernel
** that writes every answer can be faster. On cuda a memset for f32 and the integer types; on emu
** the launch and the bytes at the rate of the model's memory. Free *out in any case. */
bool device_time_sentinel(DeviceBuffer *b, const DeviceTiming *how, DeviceSamples *out,
                          gi_err *err);

/* The papers' clock (docs/device.md): one launch of a kernel whose source records, for each block,
** start, end and SM as unsigned long long[3] where a device variable points to. The longest span of
** an SM is the kernel's time. "usage" when the module has no such variable. */
typedef struct DeviceSpans {
    double ticks, ns;        /* the longest span of an SM */
    int blocks, sms;         /* blocks recorded, SMs they ran on */
    Measurement run;
} DeviceSpans;
#define DEVICE_SPANS "gilua_spans" /* as the grammar names it (g:clock) */
bool device_spans(DeviceModule *m, const DeviceLaunch *launch, const char *variable,
                  DeviceSpans *out, gi_err *err);

#endif
