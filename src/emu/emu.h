/* emu.h - the virtual GPU: runs PTX on a CPU, one instruction for the 32 lanes of a warp at a time.
**
** What it promises: the values a GPU gives (bit for bit where IEEE 754 or the PTX ISA says so), a
** fault instead of a wrong answer, and `ticks` from a deterministic cost model of a named GPU.
** What it does not: tensor memory (tcgen05), memories of several GPUs (multimem).
**
** Addresses. Device pointers are virtual: bits 40 … 62 name the allocation, bits 0 … 39 the byte
** inside it, so a pointer that strays can only hit the end of its own allocation or nothing. Host
** addresses never show, so results do not depend on where memory happened to lie. (Below 2^47 is
** nothing but what emu_map_at put there: memory that programs reach from both sides.) Equal calls
** give equal addresses. One that is freed is not given out again before many others have been.
** Until then a fault's report says what it was, and who freed it.
**
** Single-threaded: one Emu is used by one thread at a time. Blocks run in order of their index,
** the warps of a block in turn from barrier to barrier, its paths as they reconverge; but where
** one of these waits for another by looking, that gets its turn (turns.c).
*/
#ifndef GILUA_EMU_H
#define GILUA_EMU_H

#include "base/base.h"

/* The modelled GPU. Values come from a Lua table (lua/gilua/base/gpu/NAME.lua) that gives a source
** for each; emu_model_set writes one by name. emu/cost/cost.h says how each enters the formula. */
typedef struct EmuModel {
    char name[32];
    double clock_ghz;
    double sms, schedulers_per_sm;
    double max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    double registers_per_sm, register_unit, max_registers_per_thread; /* unit: of a warp */
    double shared_per_sm, shared_per_block, shared_per_block_default, shared_unit; /* bytes */
    double local_per_thread; /* bytes of stack for calls and alloca */
    double max_grid_x, max_grid_y, max_grid_z;
    double memory_bytes; /* what programs are told that there is */
    /* throughput: warp instructions an SM finishes per clock */
    double rate_fp32, rate_fp64, rate_fp16, rate_int, rate_mul, rate_special, rate_convert,
        rate_branch, rate_shared, rate_global, rate_texture, rate_constant, rate_shuffle,
        rate_atomic, rate_tensor;
    /* latency in clocks until a dependent instruction can issue */
    double latency_alu, latency_mul, latency_fp64, latency_special, latency_shared, latency_l1,
        latency_l2, latency_dram, latency_texture, latency_constant, latency_atomic,
        latency_barrier, latency_barrier_warp, latency_tensor;
    /* memory: bytes per clock of the whole GPU, bytes */
    double l2_bytes_per_clock, l2_lines_per_clock;              /* loads */
    double l2_store_bytes_per_clock, l2_store_lines_per_clock;
    double atomics_per_clock, clocks_atomic; /* of global memory: all; clocks of one on a line */
    double latency_cas, latency_cas_wide;    /* of a loop around a compare-and-swap, shared */
    double clocks_local;                     /* of the L1 for a word of 32 lanes, local memory */
    double clocks_cas;                       /* … of one after the other on a word */
    double dram_bytes_per_clock, dram_lines_per_clock, l2_bytes, l1_bytes_per_sm, sector_bytes;
    double launch_ticks, block_ticks;   /* fixed cost of a launch; of a block on an SM */
    double block_start;                 /* clocks from one block's start on an SM to the next */
    /* energy: whatever runs; of a warp instruction; of 128 bytes of L1 or shared memory; a byte */
    double power_idle_w, energy_instruction_pj, energy_wavefront_pj, energy_l2_pj_byte,
        energy_dram_pj_byte;
    double approximation;     /* EmuApproximation; optional, no other model lists it */
    double matrix_capability; /* optional: matrix instructions sum as a GPU of this compute
                                 capability (75, 80, 89, 90, 100); 0: 90 */
} EmuModel;

/* What ex2, sin, div.approx … give: the true value, rounded; else what is off by all that the ISA
** allows, away from zero, towards it, or each in turn by the instruction. */
typedef enum EmuApproximation {
    EMU_APPROXIMATE_NEAREST,
    EMU_APPROXIMATE_AWAY,
    EMU_APPROXIMATE_TOWARDS,
    EMU_APPROXIMATE_IN_TURN
} EmuApproximation;

/* Sets one field by name; false for an unknown name. emu_model_fields() lists them, NULL-ended. */
bool emu_model_set(EmuModel *model, const char *field, double value);
bool emu_model_get(const EmuModel *model, const char *field, double *value);
const char *const *emu_model_fields(void);

typedef enum EmuStatus {
    EMU_OK,
    EMU_LAUNCH_ERROR, /* bad launch, trap, stack overflow, texture misuse, divergent barrier … */
    EMU_ILLEGAL_ADDRESS,
    EMU_MISALIGNED,
    EMU_TIMEOUT, /* the instruction budget ran out, or all wait for what can never come */
    EMU_RACE,
    EMU_OUT_OF_MEMORY,
    EMU_ABORTED /* the launch's interrupt flag was raised */
} EmuStatus;

const char *emu_status_name(EmuStatus s); /* the names of the design's status list */

/* What a kernel does that is no fault, though hardware or the next launch may make it one. */
typedef enum EmuWarning {
    EMU_WARN_UNINITIALISED,  /* a read of bytes that nobody wrote */
    EMU_WARN_SHUFFLE,        /* a shuffle from a lane that is not in the mask, or not there */
    EMU_WARN_LEFT,           /* lanes ended while a warp operation or a barrier waited */
    EMU_WARN_BENIGN_RACE,    /* a race that can change nothing */
    EMU_WARN_LOCAL_OVERRUN,  /* an access meant for a local array, beside it */
    EMU_WARN_SHARED_OVERRUN, /* … for a shared one */
    EMU_WARN_BARRIERS,       /* warps of a block meet at different __syncthreads() */
    EMU_WARN_UNDEFINED       /* a value that is undefined otherwise, and matters */
} EmuWarning;

const char *emu_warning_name(EmuWarning w); /* "uninitialised_read" … */

/* Something found at one instruction, however often: told of where it happened first. */
typedef struct EmuFinding {
    const char *kind;  /* emu_status_name of a fault, emu_warning_name of a warning */
    uint64_t count;    /* how often */
    char message[600]; /* what, space and address, block, thread, PTX line, source line, kernel */
    int ptx_line, src_line;
    unsigned block[3], thread[3];
    const char *kernel; /* the module's: of a kernel that others launch, too */
} EmuFinding;

enum { EMU_FINDINGS = 16 }; /* max_faults is at most this */

typedef struct EmuFindings { /* in the order of their first occurrences */
    EmuFinding at[EMU_FINDINGS];
    int n;
    uint64_t left_out; /* occurrences at instructions for which there was no room */
} EmuFindings;

/* Two sources of addresses that led to one byte, where one of the accesses wrote to it. A source is
** a parameter of the kernel by its number, from 0, or all variables of the module. */
enum { EMU_VARIABLES = -1, EMU_UNKNOWN = -2 };
typedef enum EmuMeeting {
    EMU_MEETS_UNKNOWN, /* `now`: an access by an address that is not understood */
    EMU_MEETS,         /* the two touch one byte */
    EMU_MEETS_IN_ORDER /* and what the first wrote the second reads, or writes over */
} EmuMeeting;
typedef struct EmuTouch {
    int source, src_line; /* of one before that nobody remembers 0 */
    bool writes;
} EmuTouch;
typedef struct EmuMeet { /* … of these lines, where it was seen first */
    const char *kernel;  /* the module's */
    EmuMeeting how;
    EmuTouch then, now;
    unsigned block[3], thread[3]; /* of `now` */
} EmuMeet;

enum { EMU_MEETINGS = 32 };

typedef struct EmuMeets {
    EmuMeet at[EMU_MEETINGS];
    int n;
    bool is_whole; /* there are no others: the launch was watched, and there was room */
} EmuMeets;

/* Adds what another launch found; kernel: outlives them. */
void emu_meets_add(EmuMeets *to, const EmuMeets *from, const char *kernel);

typedef struct Emu Emu;
typedef struct EmuModule EmuModule;

Emu *emu_new(const EmuModel *model);
void emu_free(Emu *e); /* after its modules */
const EmuModel *emu_model(const Emu *e);
/* How it runs kernels, in words: "compiled for AVX-512", "interpreted (GILUA_NATIVE is off)" … */
const char *emu_engine(const Emu *e);

/* Makes size_bytes of host memory visible to kernels; returns the device address, 256-aligned and
** never 0. The memory stays the caller's and must outlive the mapping. A write to a read-only
** mapping is an illegal address. size_bytes 0 is allowed: every access faults. */
uint64_t emu_map(Emu *e, void *data, size_t size_bytes, bool read_only, const char *label);
void emu_unmap(Emu *e, uint64_t address);

/* The same at an address of the caller's choice from 1 to 2^47, as if it were the host's own, in a
** piece that passes no multiple of 2^40. "usage" where it is taken. What kernels may do to it
** (vectors are aligned) goes by the address. */
bool emu_map_at(Emu *e, uint64_t address, void *data, size_t size_bytes, bool read_only,
                const char *label, gi_err *err);
/* How many bytes of this machine's memory allocations, variables of modules and what the caller
** takes may have together; "nomem" for what would have more. No limit unless this is called. What
** is freed still counts. */
void emu_memory_limit(Emu *e, uint64_t bytes);
/* Counts memory of the caller's own; and no longer. */
bool emu_take(Emu *e, uint64_t bytes, const char *what, gi_err *err);
void emu_give(Emu *e, uint64_t bytes);
/* Memory of the emulator's own, all zeros; 0 and "nomem" where there is none. */
uint64_t emu_alloc(Emu *e, size_t size_bytes, const char *label, gi_err *err);
/* Makes the next of them begin at this address, where that is one that a later one would have: as
** if those before it had been there and were freed. false, and nothing done, where it is none, or
** where they are more than 65 536 with those that were freed. */
bool emu_leave_out(Emu *e, uint64_t address);
/* Ends an allocation or a mapping, by its address. who: for later messages, such as "cudaFree at
** main.cu:12"; may be NULL. "usage", in a sentence that says whose memory it was, for an address
** that was freed before, never given out, not the first of its allocation, or a variable's. */
bool emu_release(Emu *e, uint64_t address, const char *who, gi_err *err);
/* Host view of n_bytes at a device address, a variable's too; NULL and "usage" where not all of
** them are there. */
void *emu_bytes(const Emu *e, uint64_t address, size_t n_bytes, gi_err *err);

typedef struct EmuAllocation {
    uint64_t address, size_bytes;
    void *data; /* of one that is live */
    const char *label;
    const char *freed_by; /* NULL: nobody, or nobody who gave a name */
    bool is_live;         /* else it has been freed */
    bool is_variable;     /* of a module */
    bool is_constant;     /* one that no kernel writes */
    bool is_heap;         /* a kernel allocated it by malloc */
    uint64_t serial;      /* the how many-th it is, from 1 */
} EmuAllocation;

/* The allocation an address lies in or behind, if it is known, live or freed. */
bool emu_find(const Emu *e, uint64_t address, EmuAllocation *out);
/* All that are live, the oldest first; free() it. */
EmuAllocation *emu_allocations(const Emu *e, int *n);

/* How much kernels can have of malloc and new, in all: 8 MiB, as CUDA has it, unless this is
** called. What they allocate stays until they free it, across launches. */
void emu_heap_limit(Emu *e, size_t bytes);
/* Bytes of stack that a thread has for recursion, calls by address and alloca, at least. */
void emu_stack_limit(Emu *e, size_t bytes);
/* What ptxas makes of PTX. From now on the whole process calls it where a launch may need more
** registers, or a recursion more stack, than there is. */
typedef struct EmuAssembler {
    int (*registers)(const char *ptx, size_t len, const char *kernel); /* a thread; 0: not known */
    int (*frame)(const char *ptx, size_t len, const char *function); /* bytes; -1: not known */
} EmuAssembler;
void emu_assembler(EmuAssembler a);
/* How many objects kernels have allocated and freed so far. */
uint64_t emu_heap_moves(const Emu *e);

/* Nobody has written what the mapping holds (unless other mappings show the same memory): a
** kernel's reads before its writes are warned of, in a launch that asks. A launch that does not,
** which cannot know what it wrote, and emu_written take it back, emu_all_written everywhere;
** emu_wrote for some bytes. */
void emu_unwritten(Emu *e, uint64_t address);
void emu_written(Emu *e, uint64_t address);
void emu_all_written(Emu *e);
void emu_wrote(Emu *e, uint64_t address, size_t n_bytes);
/* The same of a copy, after emu_wrote: what nobody wrote at one place nobody has written at the
** other. */
void emu_copied(Emu *e, uint64_t to, uint64_t from, size_t n_bytes);

typedef struct EmuUndefined {
    uint64_t at, n_bytes; /* offset in its allocation, length */
    EmuFinding finding;   /* where a kernel left it so; kind NULL: nobody wrote it */
} EmuUndefined;
/* Finds the first bytes from *from to `end`, an address behind it, that are undefined and not yet
** told; padding of structs does not count. Moves *from there, so that the next call goes on. `how`:
** what becomes of them. Returns false where there are none. */
bool emu_undefined(Emu *e, uint64_t *from, uint64_t end, const char *how, EmuUndefined *out);

/* Textures. */
typedef enum EmuTexKind { EMU_TEX_LINEAR, EMU_TEX_ARRAY } EmuTexKind;
typedef enum EmuTexFormat {
    EMU_TEX_U8,
    EMU_TEX_S8,
    EMU_TEX_U16,
    EMU_TEX_S16,
    EMU_TEX_U32,
    EMU_TEX_S32,
    EMU_TEX_F16,
    EMU_TEX_F32
} EmuTexFormat;
typedef enum EmuTexAddress {
    EMU_TEX_WRAP,
    EMU_TEX_CLAMP,
    EMU_TEX_MIRROR,
    EMU_TEX_BORDER
} EmuTexAddress;

typedef struct EmuTexture {
    const void *data; /* must outlive the texture */
    EmuTexKind kind;  /* linear: 1-D tex1Dfetch; array: cudaArray semantics */
    EmuTexFormat format;
    int channels;        /* 1, 2 or 4 */
    int dims;            /* 1, 2, 3 */
    int64_t size[3];     /* texels: width, height, depth */
    int64_t layers;      /* 0, or the layers of a layered 1-D/2-D array (tex.a1d, tex.a2d) */
    int64_t pitch_bytes; /* bytes between rows; 0 = tight */
    EmuTexAddress address[3];
    bool cube;          /* its layers are the faces of cubes: +x -x +y -y +z -z */
    bool linear_filter; /* else point; the 9-bit fixed-point weights of CUDA appendix J */
    bool normalized_coords;
    bool normalized_read; /* integer texels read as float in [0,1] or [-1,1] */
    float border[4];
} EmuTexture;

/* Is the description one that CUDA has? "usage" where not (linear filtering of un-normalised
** integers, linear kind with dims != 1 …). */
bool emu_texture_check(const EmuTexture *t, gi_err *err);
/* Adds the description as the words of a recording's line (docs/recording.md). */
void emu_texture_words(const EmuTexture *t, gi_buf *out);
/* A handle a kernel can use as cudaTextureObject_t; 0 and a message when it is not. */
uint64_t emu_texture_new(Emu *e, const EmuTexture *t, gi_err *err);
/* The same as a cudaSurfaceObject_t: kernels may write to the data. How a texture is addressed and
** filtered says nothing here; the faces of a cube map are layers. */
uint64_t emu_surface_new(Emu *e, const EmuTexture *t, gi_err *err);
void emu_texture_free(Emu *e, uint64_t handle); /* of either */
/* Memory that the caller had made is about to go: whoever reads or writes a texture or surface over
** it faults. Where the emulator frees its own it knows. */
void emu_texels_gone(Emu *e, const void *data, size_t size_bytes);
/* Bytes that a description covers, from data on; it has been checked. */
int64_t emu_texture_bytes(const EmuTexture *t);

/* Loads PTX. Fails ("compile") where the text is no PTX. A kernel with an instruction that is not
** known, or that calls a function with one, is refused ("compile", by emu_kernel_info and
** emu_launch) with the PTX line, the source line and the text of the instruction; the others run.
** Globals and constants are set to their initial values. */
EmuModule *emu_load(Emu *e, const char *ptx, size_t len, gi_err *err);

typedef struct EmuText {
    const char *ptx;
    size_t len;
    int registers; /* a thread of a kernel without launch bounds may have; 0: all */
} EmuText;

typedef struct EmuLink {
    const EmuText *texts;
    int n;
    /* Where a __managed__ variable shall lie: an address from 1 to 2^47, and as many bytes of the
    ** host's, which outlive the module; false: "nomem". NULL: where any variable may. */
    bool (*managed)(void *user, const char *name, size_t size_bytes, uint64_t *address,
                    void **data);
    void *user;
} EmuLink;

/* The same of several texts that belong together, as nvlink does for -rdc=true: what one declares
** .extern another defines. What nobody defines refuses the kernels that need it; two definitions of
** a name are "compile". */
EmuModule *emu_link(Emu *e, const EmuLink *what, gi_err *err);
void emu_unload(EmuModule *m);
/* Back to initial values: what a mutant wrote into device globals is gone. */
void emu_reset(EmuModule *m);
/* Host view of a __device__ or __constant__ variable; NULL when there is none of that name. */
void *emu_symbol(EmuModule *m, const char *name, size_t *size_bytes, uint64_t *address);

typedef struct EmuKernelInfo {
    int registers;       /* estimated 32-bit hardware registers a thread */
    size_t shared_bytes; /* static */
    size_t local_bytes;  /* stack a thread, without calls' recursion */
    int max_threads;     /* from __launch_bounds__, or 0 */
    int target;          /* compute capability that its PTX is for: 80 */
    size_t param_bytes;
    int n_params; /* as many as fit in 32764 bytes, 4352 before PTX 8.1 */
    const uint32_t *param_size, *param_offset; /* bytes; the module's, while it is loaded */
} EmuKernelInfo;
bool emu_kernel_info(const EmuModule *m, const char *kernel, EmuKernelInfo *out, gi_err *err);
/* Returns registers a thread as ptxas gives them (emu_assembler, called once a kernel); without
** ptxas the estimate. */
int emu_kernel_registers(const EmuModule *m, const char *kernel);
/* As many as ptxas may make of an estimate. */
int emu_registers_most(int estimate);
/* What of a kernel may depend on the order of its threads: the first atomic of floats or whose
** result is read, else the only store. */
typedef struct EmuOrder {
    bool is_atomic, rounds; /* rounds: some atomic adds floats */
    const char *file;       /* the module's; NULL: not known */
    int src_line;           /* 0: not known */
} EmuOrder;
EmuOrder emu_kernel_order(const EmuModule *m, const char *kernel);
/* May it tell the host something while it runs: stores that are volatile or of system scope? */
bool emu_kernel_talks(const EmuModule *m, const char *kernel);
/* May it read %globaltimer, so that equal launches do not do the same? */
bool emu_kernel_reads_time(const EmuModule *m, const char *kernel);
/* Names of the entries of a module, in order; NULL past the end. */
const char *emu_kernel_name(const EmuModule *m, int index);

/* Makes the memory that a grid's blocks meet at, which the first cooperative launch makes else;
** false where there is none. */
bool emu_grid_barrier(Emu *e);

typedef enum EmuRaces { EMU_RACES_NONE, EMU_RACES_SHARED, EMU_RACES_GLOBAL } EmuRaces;

/* Warp instructions of a launch that names no budget: about a minute's. */
#define EMU_BUDGET ((uint64_t)1 << 32)

/* --- certificates (docs/certificate.md) --- */

/* What a kernel means over the reals: which real numbers its answers are for random inputs. */
typedef struct Exact EmuExact;

typedef enum EmuExactType { /* of the inputs in a piece of memory, or of the answers */
                            EMU_EXACT_RAW, /* no inputs */
                            EMU_EXACT_F32,
                            EMU_EXACT_F64,
                            EMU_EXACT_HALVES, /* floats of 16 bits: not supported */
                            EMU_EXACT_WORDS   /* integers, or whatever the kernel takes them for */
} EmuExactType;

enum { EMU_EXACT_PARAMS = 1 }; /* the id of the kernel's parameters; other memory has others */

/* Two of one seed can be compared. */
EmuExact *emu_exact_new(uint64_t seed);
void emu_exact_free(EmuExact *x);
/* Says what is in memory before the first launch. data: where the host has it, or NULL. id: equal
** in two kernels for the same input. */
void emu_exact_memory(EmuExact *x, uint64_t address, const void *data, size_t size_bytes,
                      EmuExactType type, uint64_t id);
/* Says that the launches are a program's: each has parameters of its own, and the host writes
** memory between them. Memory that the host never wrote is not known then. */
void emu_exact_program(EmuExact *x);
/* The host of such a program wrote inputs, or the same byte everywhere, or moved bytes. id: as of
** emu_exact_memory, another for each time. */
void emu_exact_wrote(EmuExact *x, uint64_t address, size_t size_bytes, uint64_t id);
void emu_exact_filled(EmuExact *x, uint64_t address, size_t size_bytes);
void emu_exact_moved(EmuExact *x, uint64_t to, uint64_t from, size_t size_bytes);
/* The same bytes of the host's lie at another place, too: emu_exact_memory's of them hold there. */
void emu_exact_copied(EmuExact *x, const void *to, const void *from, size_t size_bytes);
/* Nothing can be said of it, for this reason. */
void emu_exact_refuse(EmuExact *x, const char *why);
/* Takes answers, as the launches left them; data: what the host has there. */
void emu_exact_take(EmuExact *x, uint64_t address, const void *data, size_t size_bytes,
                    EmuExactType type);

typedef enum EmuExactSide { EMU_EXACT_BOTH, EMU_EXACT_FIRST, EMU_EXACT_SECOND } EmuExactSide;

typedef struct EmuCertificate {
    bool certified;
    bool alike;           /* but for degree_bits: with another seed there would be as many more */
    bool is_empty;        /* the same answers, and neither has a number: nothing to certify */
    uint64_t facts;       /* different comparisons and conversions of floats, the same in both */
    uint64_t comparisons; /* how often the first kernel made them */
    double degree_bits;   /* a wrong certificate has a chance of 2^-degree_bits at most */
    EmuExactSide side;    /* why not: of which kernel */
    int line;             /* of its source; 0: none */
    char why[240];
} EmuCertificate;
/* Were the answers of both the same real numbers, decided by the same comparisons? False: why not
** is in *out. */
bool emu_exact_compare(const EmuExact *a, const EmuExact *b, EmuCertificate *out);

typedef struct EmuLaunch {
    const char *kernel;
    unsigned grid[3], block[3];
    unsigned cluster[3];      /* blocks of a cluster; 0: as the kernel says, or none */
    size_t shared_bytes;      /* dynamic */
    const void *params;       /* EmuKernelInfo.param_bytes, laid out by param_offset */
    int max_faults;           /* the launch ends at the last of this many instructions with a fault
                                  that others survive (an address, a race); 0: at the first */
    uint64_t budget;          /* warp instructions before EMU_TIMEOUT; 0: EMU_BUDGET */
    double timeout_s;         /* processor time before EMU_TIMEOUT, which then depends on the
                                  machine, as no other answer does; 0: none */
    bool count_uninitialised; /* warn of reads of bytes never written whose values matter (slower):
                                  they decide a branch or an address, or the host reads them */
    bool host_tells;          /* … which emu_undefined is asked for; else it reads, after the
                                  launch, all that the launch left undefined */
    EmuRaces check_races;     /* in which memory (slower) */
    bool refuse_benign_races; /* they are EMU_RACE too, not a warning */
    bool footprint;           /* emu_footprint is wanted (slower) */
    bool meets;               /* which of its pointers lead to one byte is wanted: needs
                                  EMU_RACES_GLOBAL */
    bool cooperative;         /* all blocks run at a time and may wait for each other (grid.sync):
                                  more than fit on the GPU are refused */
    double begun_ns;          /* what %globaltimer says when it begins */
    bool backwards;           /* blocks begin in the order of their index from the last to the
                                  first, and so run the warps of each, and the lanes that meet at
                                  one place: on a GPU any order is possible */
    uint32_t shuffle;         /* not 0: they do so in yet another order, of that number */
    EmuExact *exact;          /* NULL, or what the launch adds to: with no undefined values */
    struct EmuProfile *profile; /* NULL, or what the costs of each line are added to: one thread
                                   runs it */
    int threads;              /* cores that may run blocks side by side; 0, 1: one. Every answer,
                                  fault and tick is the same */
    const volatile int *interrupt;                           /* polled now and then; may be NULL */
    _Atomic uint64_t *done; /* NULL, or where it writes how many blocks have ended, while it runs */
    void (*print)(void *user, const char *text, size_t len); /* device printf; NULL = dropped */
    void *print_user;
} EmuLaunch;

/* A tensor in global memory, as bulk copies address it: what cuTensorMapEncode fills in. Programs
** keep it in 128 bytes and hand it on. */
typedef struct EmuTensorMap {
    uint64_t magic, address;
    uint64_t stride[4]; /* bytes, of dimensions 1 to 4 */
    uint32_t last[5];   /* of each dimension: its size less one */
    uint16_t box[5];    /* elements; im2col: channels, pixels */
    uint8_t step[5];    /* traversal stride in each dimension */
    uint8_t type, rank; /* CUtensorMapDataType */
    uint8_t swizzle;    /* 0 none, 1, 2, 3: over 32, 64, 128 bytes */
    uint8_t im2col;
    uint8_t nans;               /* what is outside is no zero but 0x7ff7 in each 16 bits */
    int16_t lower[3], upper[3]; /* im2col: corners of the box of pixels */
} EmuTensorMap;

enum { EMU_TENSOR_BYTES = 128 };
#define EMU_TENSOR_MAGIC 0x70616d726f736e74u

/* Bytes of an element of a CUtensorMapDataType; 0: it is not supported. */
unsigned emu_tensor_element(int type);

/* What ended a launch: CUDA has an error code of its own for each. */
typedef enum EmuCause {
    EMU_CAUSE_NONE,          /* nothing: it is EMU_OK */
    EMU_CAUSE_FAULT,         /* of the kernel; status says which */
    EMU_CAUSE_CONFIGURATION, /* refused, it did not begin: empty, or larger than a GPU takes */
    EMU_CAUSE_RESOURCES,     /* refused: more threads, registers or memory than there are for it */
    EMU_CAUSE_CLUSTER,       /* refused: clusters that do not fit the grid, the kernel or the GPU */
    EMU_CAUSE_COOPERATIVE,   /* refused: more blocks than can run at a time */
    EMU_CAUSE_ASSERT,
    EMU_CAUSE_TRAP,        /* trap, brkpt */
    EMU_CAUSE_INSTRUCTION, /* one that a GPU refuses with these operands */
    EMU_CAUSE_STACK        /* stack overflow */
} EmuCause;

typedef struct EmuWork {                          /* in ticks */
    double part_issue, part_latency, part_memory; /* the model's terms */
    /* what no other order of the same work avoids: its bytes, each moved once, and its arithmetic
    ** (floating point and special functions) with all SMs evenly busy */
    double least_memory, least_arithmetic;
} EmuWork;

void emu_work_add(EmuWork *to, const EmuWork *from);

typedef struct EmuResult {
    EmuStatus status;             /* of the first fault */
    EmuCause cause;               /* … */
    char message[600];            /* what, space and address, block, thread, PTX line,
                                  source line, kernel */
    int ptx_line, src_line;       /* of the fault; 0 */
    unsigned block[3], thread[3]; /* of the fault */
    double ticks;                 /* clocks of the model */
    double ns;
    int registers;
    size_t shared_bytes; /* static + dynamic */
    double occupancy;    /* resident warps / maximum */
    /* what was counted */
    uint64_t warp_instructions, lane_instructions;
    uint64_t global_sectors, texture_sectors, shared_conflicts, divergent_branches, barriers;
    uint64_t uninitialised_reads, barrier_after_exit;
    uint64_t heap_objects, heap_bytes; /* that kernels allocated and have not freed at the end */
    uint64_t nested; /* launches that the kernel made, and these …: counted in with all figures */
    EmuWork work;
    double energy_j; /* estimated: cost.h */
    EmuMeets meets;  /* from here on only as many as there are are set */
    EmuFindings faults, warnings;
} EmuResult;

/* Runs one launch to its end or to a fault. Returns false only for misuse ("usage": no such
** kernel, params missing) and for a kernel that is refused ("compile"); everything a kernel does
** wrong is in out->status. */
bool emu_launch(EmuModule *m, const EmuLaunch *launch, EmuResult *out, gi_err *err);

/* What one line of a source cost in all launches of a kernel. Clocks are those of all warps. */
typedef struct EmuLineCost {
    int number;                     /* 0: of no line that is known */
    uint64_t instructions, threads; /* that warps ran; of their active lanes */
    double slots;                   /* of a scheduler, with further passes of accesses */
    double dependence;              /* clocks: results of arithmetic, shared memory and the L1 */
    double memory;                  /* clocks: loads of this line, from the L2 cache or DRAM */
    double barrier;                 /* clocks: the rest of the block, at this line's barriers */
    uint64_t requests, sectors;     /* of warps, beyond shared memory; of 32 bytes */
    uint64_t shared, conflicts;     /* accesses of warps to shared memory; further passes of them */
} EmuLineCost;

typedef struct EmuProfiled {
    char *name, *file; /* of the kernel; the source that its lines are of: "" where none is known */
    uint64_t launches;
    double ticks;
    EmuWork work;
    int registers;       /* from here on of the last launch */
    size_t shared_bytes;
    double occupancy;
    const char *limiter; /* what keeps an SM from holding more warps */
    EmuLineCost *line;   /* by rising number */
    int n_lines;
} EmuProfiled;

/* A profile is the sum of all launches that are given it (profile.h). */
typedef struct EmuProfile EmuProfile;
EmuProfile *emu_profile_new(void);
void emu_profile_free(EmuProfile *p);
int emu_profile_kernels(const EmuProfile *p);
const EmuProfiled *emu_profile_kernel(const EmuProfile *p, int i);

/* From now on no kernel runs in this process: emu_launch refuses each ("usage"), whoever calls it.
** For a process that has no box around it. It cannot be undone. */
void emu_refuse_launches(void);

typedef enum EmuReach { EMU_READ = 1, EMU_WRITTEN = 2 } EmuReach; /* an atomic does both */

/* The i-th allocation or variable that a load, store or atomic of the last launch reached, from 0:
** its address; 0 past the end. Constants that instructions name, and textures, are none of them.
** *how: of EmuReach. What was only written the launch did not depend on. Where kernels launch
** others (EmuResult.nested) it is of the last of these alone. */
uint64_t emu_touched(const Emu *e, int i, unsigned *how);
/* The same, and behind it the memory that the launch reached through textures and surfaces, which
** may come a second time. */
uint64_t emu_reached(const Emu *e, int i, unsigned *how);
/* Which bytes of it the last launch read and wrote, a bit each; of constants none. They hold until
** the next launch. False: it was not asked for. */
bool emu_footprint(const Emu *e, uint64_t address, const uint8_t **read, const uint8_t **written);

#endif
