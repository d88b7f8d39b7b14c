/* core.h - what the files of the virtual GPU share; nothing outside src/emu includes it.
**
** The shape of a run:
**
**   emu_load    PTX text -> PtxModule -> one Code per function (decode*.c, forms.c)
**   emu_launch  one Machine; block after block; the warps of a block in turn (launch.c)
**   exec        one warp until it ends, waits or faults (exec.c, compiled twice)
**
** A warp's registers are a "file": for every storage slot a row of 32 lanes, 4 or 8 bytes each, for
** every predicate a 32-bit mask. Operands of a decoded instruction are byte offsets into the file;
** immediates and special registers are rows behind the registers, so that an instruction never
** asks what kind of operand it has. 8- and 16-bit registers sit zero-extended in 4-byte rows.
*/
#ifndef GILUA_EMU_CORE_H
#define GILUA_EMU_CORE_H

#include "base/base.h"
#include "emu/cost/cost.h"
#include "emu/emu.h"
#include "ptx/ptx.h"

/* Rows are read as whatever type the instruction names. */
typedef uint32_t U32 __attribute__((may_alias));
typedef int32_t S32 __attribute__((may_alias));
typedef uint64_t U64 __attribute__((may_alias));
typedef int64_t S64 __attribute__((may_alias));
typedef float F32 __attribute__((may_alias));
typedef double F64 __attribute__((may_alias));

enum { LANES = 32, ROW32 = 128, ROW64 = 256, ALL_LANES = -1 };
#define FULL_MASK       0xffffffffu
#define END_OF_FUNCTION (-1) /* as a reconvergence point */

typedef struct Machine Machine;
typedef struct Warp Warp;
typedef struct Code Code;

/* One decoded instruction. */
typedef struct Ins {
    uint16_t op;         /* OP_… of ops.h */
    uint16_t x;          /* per operation: flag, index of a slow function …; X_FREE */
    uint32_t d, a, b, c; /* byte offsets in the register file */
    uint64_t imm;
} Ins;

/* In Ins.x of lane operations: inactive lanes may be overwritten too. Set where the result is a
** register that is written and read in one basic block alone: lanes wait for each other between
** blocks, so no waiting lane has a value in it. */
#define X_FREE 0x8000u

/* An operation that is not worth a place in the fast loop. False after raising a fault. */
typedef bool (*SlowFn)(Machine *m, Warp *w, const Ins *in);

typedef struct InsPlace { /* where a decoded instruction comes from */
    int ptx_line, src_line;
    int index;   /* in PtxFunc.code, -1: made by the decoder */
    float clock, use; /* as in CostPlace */
    float slots;
    uint64_t out;
} InsPlace;

/* What an access means to other threads, for the check of races. */
enum {
    ORDER_ATOMIC = 1,
    ORDER_STRONG = 2,  /* volatile, .relaxed, .acquire, .release; all atomics are */
    ORDER_RELEASE = 4, /* as if a fence came first */
    ORDER_ACQUIRE = 8, /* as if a fence came behind */
    ORDER_BLOCK = 16,  /* of the block's scope; */
    ORDER_CLUSTER = 32768, /* of the cluster's; else of the GPU's */
    ORDER_VOLATILE = 32,
    ORDER_TESTED = 64,    /* a volatile load, of what is compared with something */
    ORDER_EXPECTED = 128, /* a load of what a compare-and-swap at the same address expects */
    ORDER_BLIND = 256,    /* an atomic whose result nobody reads */
    ORDER_SWAP = 1024,    /* a compare-and-swap */
    ORDER_AHEAD = 2048,   /* a copy that will write there, asynchronously */
    ORDER_GROUP = 4096,   /* a read by wgmma: its warpgroup waits for it, no thread alone */
    ORDER_ONE_PLACE = 8192, /* for cost alone: ptxas sees that all lanes have one address */
    ORDER_COUNTS = 16384,   /* … adds a constant, whose result nobody reads */
    ORDER_CACHED = 512    /* a load through a cache that does not see the launch's writes */
};

typedef struct Array { /* in the function's stack frame, or in shared memory; see locals.c */
    const PtxVar *var;
    uint32_t from, to;
    bool is_depot; /* all arrays together: the address that theirs are made from */
} Array;

/* A load or store: [base + offset] to or from `count` registers of `size` bytes each. */
typedef struct MemForm {
    uint8_t space;              /* PtxSpace */
    uint8_t size, count, bytes; /* bytes: of all registers */
    uint8_t bits[8];            /* width of each register: 16, 32, 64 */
    bool is_store, is_signed;
    bool wide_base;  /* the base register has 64 bits */
    uint8_t bound;   /* Bound of bounds.h: what checks it */
    uint32_t base;
    uint32_t reg[8];
    uint32_t unused; /* bit k: nobody reads reg[k] */
    bool is_free;    /* see X_FREE */
    uint16_t order;  /* ORDER_… */
    bool is_repeat;  /* see repeats.h: costs nothing */
    bool same_base;  /* shared loads: base is that of the one before, see Warp.base */
    int64_t offset;
    uint32_t layout, lines; /* of Machine.layouts, from 1, 0: none; of Machine.lines */
    int base_reg;           /* register of the base; -1: a constant */
    bool is_alone;          /* no other access has its layout */
    bool same_layout;       /* an access before it made sure that its layout holds */
    uint32_t array; /* of Code.arrays, that it is meant for, from 1; 0: any */
} MemForm;

typedef struct TexForm { /* of a fetch, or of an access to a surface */
    uint8_t reduce, type; /* sured: its AtomOp and one more, and its PtxType */
    uint8_t dims;
    bool layered, is_int, as_int, cube;
    uint8_t gather;    /* tld4: the channel, from 1; 0: an ordinary fetch */
    bool is_store;     /* surfaces: the next four, too */
    bool is_format;    /* .p: texels, whose format says what becomes of registers */
    uint8_t size;      /* bytes of each register */
    uint8_t clamp;     /* SURF_… */
    uint8_t bound;     /* Bound of bounds.h: what checks it */
    uint32_t handle;   /* 64-bit row */
    uint32_t coord[4]; /* layer first where layered */
    uint32_t reg[4];
    uint32_t unused; /* bit k: nobody reads reg[k] */
    int count;
    bool is_plain;   /* four results of a 1-D fetch by integer */
    uint32_t site;   /* number of this instruction among the module's fetches */
    bool one_handle; /* all lanes have the same handle: it was just loaded from a constant */
    bool is_free;    /* see X_FREE */
    bool is_repeat;  /* see repeats.h: costs nothing */
} TexForm;

typedef struct CallForm {
    int func;        /* index of the callee, -1: indirect */
    uint32_t target; /* indirect: 64-bit row of function addresses */
    int n_args, n_rets;
    uint32_t *arg, *arg_size; /* where in the caller's parameter area, bytes; one piece of memory */
    uint32_t *ret, *ret_size;
    const struct Provided *of; /* library.h; NULL: a function of the module */
} CallForm;

/* What the lanes of a mask do together, once all of them are there (sync.c). */
typedef enum SyncKind {
    SYNC_BARRIER, /* bar.warp.sync */
    SYNC_SHFL,
    SYNC_VOTE,
    SYNC_MATCH,
    SYNC_REDUX,
    SYNC_ELECT,
    SYNC_MATRIX /* matrix.h */
} SyncKind;

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { MATCH_ANY, MATCH_ALL };
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_SIGNED = 8 };
enum { REDUX_FLOAT = 16, REDUX_ABS = 32, REDUX_NAN = 64 };

typedef struct SyncForm {
    const char *name;    /* "shfl.sync" */
    uint8_t kind, mode;  /* SyncKind; SHFL_, VOTE_, MATCH_, REDUX_ */
    char width;          /* of what a lane brings: 'p', 'w', 'q'; 0: nothing */
    bool has_mask;       /* else the mask is whoever is there */
    bool one_mask;       /* the same in all lanes */
    uint32_t mask;       /* row of membermasks */
    uint32_t value;      /* row of what a lane brings */
    uint32_t b, c;       /* shuffles: rows of lane and clamp */
    uint32_t d, p;       /* rows of results: value, predicate */
    uint32_t matrix;     /* of Code.matrix */
} SyncForm;

/* Rows filled before a function runs: immediates once, special registers as they change. */
typedef enum PoolKind {
    POOL_B32,
    POOL_B64,
    POOL_SHARED_WIDE, /* the address of dynamic shared memory, 64 bits */
    POOL_CONST32,     /* value: where in host memory a constant lies */
    POOL_CONST64,
    POOL_PARAM32, /* value: offset of a kernel parameter */
    POOL_PARAM64,
    POOL_TID_X,
    POOL_TID_Y,
    POOL_TID_Z,
    POOL_LANEID,
    POOL_WARPID,
    POOL_NWARPID,
    POOL_NTID_X,
    POOL_NTID_Y,
    POOL_NTID_Z,
    POOL_NCTAID_X,
    POOL_NCTAID_Y,
    POOL_NCTAID_Z,
    POOL_CTAID_X,
    POOL_CTAID_Y,
    POOL_CTAID_Z,
    POOL_SMID,
    POOL_NSMID,
    POOL_GRIDID,
    POOL_LANEMASK_EQ,
    POOL_LANEMASK_LE,
    POOL_LANEMASK_LT,
    POOL_LANEMASK_GE,
    POOL_LANEMASK_GT,
    POOL_DYNAMIC_SMEM,
    POOL_TOTAL_SMEM,
    POOL_SHARED_DYNAMIC,
    POOL_RESERVED, /* shared memory that is the system's, see RESERVED_AT */
    POOL_RESERVED_END,
    POOL_CLUSTERID_X,
    POOL_CLUSTERID_Y,
    POOL_CLUSTERID_Z,
    POOL_NCLUSTERID_X,
    POOL_NCLUSTERID_Y,
    POOL_NCLUSTERID_Z,
    POOL_CLUSTER_CTAID_X,
    POOL_CLUSTER_CTAID_Y,
    POOL_CLUSTER_CTAID_Z,
    POOL_CLUSTER_NCTAID_X,
    POOL_CLUSTER_NCTAID_Y,
    POOL_CLUSTER_NCTAID_Z,
    POOL_CLUSTER_RANK,
    POOL_CLUSTER_SIZE,
    POOL_CLUSTER_EXPLICIT,
    POOL_WORKSPACE_LOW, /* the address of a cooperative launch's barrier, else 0 */
    POOL_WORKSPACE_HIGH,
    POOL_ZERO
} PoolKind;

typedef struct PoolRow {
    PoolKind kind;
    uint64_t value;
    uint32_t offset;
} PoolRow;

static inline bool pool_is_wide(PoolKind k) { /* a row of 64 bits a lane */
    return k == POOL_B64 || k == POOL_CONST64 || k == POOL_PARAM64 || k == POOL_SHARED_WIDE;
}

struct Code {
    const PtxFunc *func;
    int index;
    Ins *ins;
    int n_ins, cap_ins;
    InsPlace *place;
    uint32_t file_bytes; /* registers, then pool */
    uint32_t reg32, reg64, pool_first; /* where rows of 32 and 64 bits, and the pool, begin */
    struct CodeRange {
        uint32_t offset, bytes;
    } * clear; /* rows of all ones before a run: registers that may be read unwritten */
    int n_clear, cap_clear;
    int n_layouts;
    uint32_t *unset; /* rows of registers that may be read before they are written */
    int n_unset, cap_unset;
    PoolRow *pool; /* first the n_moving rows that differ between the warps of a launch */
    int n_pool, cap_pool, n_moving;
    MemForm *mem;
    int n_mem, cap_mem;
    TexForm *tex;
    int n_tex, cap_tex;
    CallForm *call;
    int n_call, cap_call;
    SyncForm *sync;
    int n_sync, cap_sync;
    struct MatrixForm *matrix; /* exec/matrix.h */
    int n_matrix, cap_matrix;
    struct BulkForm *bulk; /* exec/bulk.h */
    int n_bulk, cap_bulk;
    int *jump; /* brx.idx tables, one after the other: Ins indices */
    int n_jump, cap_jump;
    SlowFn *slow;
    int n_slow, cap_slow;
    Array *arrays;
    uint32_t local_bytes;           /* stack frame */
    uint32_t param_bytes;           /* per lane: formal parameters, returns, call sequences */
    uint32_t *formal, *formal_size; /* offsets and sizes of the formal parameters and returns */
    uint32_t *result, *result_size;
    size_t shared_bytes; /* demoted variables of this function and of all it calls */
    int registers, assembled; /* estimated; by ptxas, 0: not asked, -1: not known */
    int frame; /* bytes of stack by ptxas, and 1; 0: not asked, -1: not known */
    CostBlock *block; /* one per basic block */
    CostCarries carries;
    int n_blocks;
    int first_block; /* index of block 0 in Machine.cost.count */
    struct NativeRun *native; /* exec/native.h: of each instruction; NULL: none */
    char *refused;   /* why it cannot run, in a sentence; NULL: it can */
};

typedef struct Cells Cells; /* race.c */

/* Memory the kernel can reach through a pointer; a row of a table (alloc.c). */
typedef struct Alloc {
    uint8_t *data;
    uint64_t size, address;
    uint64_t
        place; /* the address that the cost model knows it by: row << ID_SHIFT, and at most 255 */
    bool live; /* its row is the id of its address */
    bool read_only, is_const;
    bool watched;   /* the running launch wants to know of all accesses to it */
    bool exists;    /* else it was freed, if it has a label */
    bool is_part;   /* of a window */
    bool is_hidden; /* no pointer reaches it: it stands for a texture's memory */
    bool is_owned, is_variable, is_heap; /* is_heap: a kernel allocated it */
    char *label, *freed_by;
    uint64_t serial; /* the how many-th it is */
    int in_list;
    uint64_t *touched; /* cost model: one bit a sector, or NULL */
    size_t touched_words;
    uint32_t order; /* cost model: of its first access in this launch, from 1; 0: none yet */
    uint8_t reach;  /* EmuReach: what this launch did with it; several threads set it */
    bool unwritten;   /* nobody has written to it, but where `written` has a bit for the byte */
    uint8_t *written; /* NULL: nowhere */
    uint8_t widest;   /* bytes of the largest number that a thread stored here: see is_padding */
    uint8_t *used[2]; /* footprint: bits of bytes read, and written; NULL */
    Cells *cells;     /* races: its first byte is byte cells_at of them; NULL: not asked for */
    uint64_t cells_at;
} Alloc;

typedef struct TexSlot {
    EmuTexture t;
    bool live;
    uint32_t alloc;   /* allocation standing for its memory in the cost model */
    uint8_t plain;    /* channels (1 or 4) if it is linear memory of 32-bit texels, else 0 */
    bool is_constant; /* nothing in the running launch can write to it */
    int memory;       /* row of the allocation that it shows, as of the last launch; -1: none */
    bool is_surface;
    bool is_gone;     /* its texels were freed */
} TexSlot;

typedef struct Window { /* 2^40 addresses that a host has, too */
    int *part;          /* rows, in the order of their addresses */
    int n, cap, n_freed;
} Window;

enum { HOST_IDS = 128, MOST_IDS = 0x7ffff0 };

/* Which of the fast loop's builds runs: what the processor has. */
enum { VECTORS_BASE, VECTORS_AVX2, VECTORS_AVX512 };

struct Emu {
    EmuModel model;
    Alloc *alloc; /* by row */
    int n_alloc, cap_alloc;
    int *list; /* rows of those that exist */
    int n_list, cap_list;
    int *freed; /* a ring of rows; the longest freed first */
    int first_freed, n_freed, cap_freed;
    uint64_t serial;
    uint32_t modules; /* loaded so far */
    uint64_t workspace;             /* of cooperative launches; 0: none yet */
    uint64_t error_texts;           /* nested.c; 0: none yet */
    uint64_t heap_limit, heap_used; /* bytes: library.c */
    uint64_t heap_moves;
    uint64_t heap_objects, heap_bytes;   /* live now, without what the heap takes for itself */
    uint64_t memory_limit, memory_taken; /* bytes; 0: no limit */
    Window *window; /* HOST_IDS of them */
    int *met;       /* cost model: rows that the last launch touched */
    int n_met, cap_met;
    TexSlot *tex;
    int n_tex, cap_tex;
    struct ViewKept *kept; /* view.h; NULL: nothing yet */
    struct Origins *origins; /* origins.c; NULL: nothing yet */
    int vectors; /* VECTORS_… */
    bool native; /* launches run compiled code: exec/native.h */
    bool plain; /* tests: slow operations lane by lane, see rows.h */
    uint64_t batch; /* tests: warp instructions of a batch, see threads.c; 0: as it thinks best */
};

/* Address windows that are not allocations. */
#define ID_SHIFT    40
#define ID_SHARED   0x7ffff1u
#define ID_LOCAL    0x7ffff2u
#define ID_PARAM    0x7ffff3u
#define ID_FUNC     0x7ffff4u
#define ID_TEX      0x7ffff5u
#define FUNC_SHIFT  24 /* behind the window's address and the module's number */
#define WINDOW(id)  ((uint64_t)(id) << ID_SHIFT)
#define OFFSET_MASK (((uint64_t)1 << ID_SHIFT) - 1)

typedef struct ModuleVar {
    const PtxVar *var;
    uint64_t address; /* or offset in shared memory */
    uint8_t *data;
    bool is_borrowed; /* the data are the host's */
} ModuleVar;

struct EmuModule {
    Emu *emu;
    PtxModule *ptx;
    Code *code; /* one per function of ptx */
    int n_code;
    ModuleVar *vars; /* one per variable of ptx */
    uint32_t serial; /* in the addresses of its functions */
    int n_blocks;
    int n_fetches; /* texture instructions */
    int n_layouts, n_lines; /* of loads and stores */
    uint8_t *native;        /* exec/native.h: machine code; NULL: none */
    size_t native_bytes;
    bool compiled; /* native_compile was called */
};

/* Why a path does not go on. */
typedef enum PathWait {
    PATH_GOES,
    PATH_AT_SYNC,   /* a warp operation, for lanes of its mask */
    PATH_AT_BARRIER /* for the rest of the warp */
} PathWait;

/* Divergence: lanes that go one way together. The last path runs; warp.c has the rules. */
typedef struct Path {
    uint32_t mask;
    int pc;          /* where it goes on or waits (valid when it is not running) */
    int rpc;         /* where it meets the others again */
    uint32_t meets;  /* PATH_AT_SYNC: the membermask of its lanes */
    uint32_t live;   /* of the warp, when this path came to wait: the others were gone */
    int16_t frame;   /* whose code it runs */
    uint8_t wait;    /* PathWait */
    bool in_vain;    /* its last turn was, see turns.c */
} Path;

/* A call of a function; frame 0 is the kernel's. Frames are a tree: lanes that diverged may be in
** different calls, or some of them still in one from which the others have returned. */
typedef struct Frame {
    Code *code;
    uint8_t *file; /* register file, owned by this place in the array */
    uint32_t file_cap;
    const Code *filled_for; /* whose pool rows are in file */
    uint64_t filled_launch;
    uint8_t *params; /* param_bytes for each lane */
    size_t params_cap;
    int caller;  /* frame */
    int call;    /* CallForm index in the caller */
    uint32_t local_base, local_top;
    struct FrameBits *bits; /* undefined.h; NULL: not followed */
    struct ExactFrame *exact; /* exact.h; NULL: none was asked for yet */
} Frame;

typedef enum WarpState { WARP_READY, WARP_WAITING, WARP_DONE } WarpState;

typedef struct Copies Copies; /* async.c */
typedef struct Groups Groups; /* matrix_group.c */

/* What a warp computes in. A warp that ends hands it to the next one that begins, so that warps
** which never wait for each other all run in the same memory, and that stays in the L1 cache. */
typedef struct WarpStore {
    Path *path;
    int cap_path;
    Frame *frame;
    int cap_frame;
    uint8_t *local; /* word w of lane l at w * 128 + l * 4 */
    size_t local_cap;
    Copies *copies; /* NULL: none was ever asked for */
    Groups *groups; /* the same */
    struct Word *exact_local; /* of local memory: word w of lane l at w * 32 + l */
    size_t exact_local_cap;
} WarpStore;

typedef struct Quiet {     /* endless.c: turns of a warp in which nobody changed memory */
    uint64_t changes;      /* Machine.changes, since when it is so */
    uint64_t turns, state; /* state: after one of them, with pc and active */
    int pc;
    uint32_t active;
    int looks;    /* at how many more turns' ends the state is compared */
    bool repeats; /* it came back to that state */
    bool met;     /* since that state: passed a barrier of the block */
} Quiet;

struct Warp {
    S32 lane32[LANES] __attribute__((aligned(64))); /* -1 for active lanes, 0 for the others */
    S64 lane64[LANES] __attribute__((aligned(64)));
    uint32_t spread; /* the mask that both hold: exec.c spreads `active` before it runs on */
    uint8_t *file;   /* of the running frame */
    Code *code;
    uint32_t active, live, exist;
    uint32_t carry; /* condition code of add.cc … */
    int pc;
    int index;
    WarpState state;
    double clock;    /* modelled clocks at the end of the current block of code, but for waits */
    double late;     /* … later if all that the L1 has not comes from DRAM: waits.h */
    const Ins *at;   /* the running access to memory */
    struct Spot *spots; /* of its function, where it is profiled; NULL */
    int n_waits;
    int64_t fuel;    /* warp instructions left in this turn */
    CostWait wait[COST_WAITS];
    int barrier;     /* while waiting */
    bool one_base; /* had the last load of shared memory the base address `base` in all lanes, and
                      is nobody watching? */
    uint64_t base;
    bool asked;  /* in this turn: looked at what others may change */
    bool moved;  /* … wrote memory */
    bool news;   /* … saw what it had not seen before, as far as it remembers */
    bool beyond; /* since it last moved: asked for what other blocks may change */
    bool fenced; /* … passed a fence or the like: what it looks at plainly may have changed */
    bool looked; /* … looked at global memory plainly */
    bool stuck;  /* its paths asked, and none moved */
    int patience; /* turns in which it asked and moved, or had news */
    int scanned;  /* turns since it last wrote in which it asked and had news */
    bool begun;  /* in this block */
    WarpStore s; /* once begun */
    int n_path;
    int frame;          /* the running one */
    uint32_t local_top; /* bytes a lane may use now */
    Quiet quiet;
    int64_t spared; /* warp instructions of its turn that it gave up */
    bool failed;    /* in this turn: an mbarrier's phase that it waits for is not over */
    uint32_t met, passes; /* cluster.c: lanes that arrived at its barrier; that may pass it */
    double met_clock;     /* … when */
    uint32_t bulk_groups[LANES]; /* bulk.c: that each lane committed, ever */
    bool saw; /* it looked at something in this block: the first lane last at saw_at of saw_in */
    PtxSpace saw_in;
    uint64_t saw_at;
    uint64_t seen[32][4]; /* what it saw last, in sets of equal hash; last of all: seldom used */
};

/* One of the 16 named barriers of a block. */
typedef struct Barrier {
    uint32_t arrived;   /* warps */
    uint32_t expected;  /* threads / 32; 0: every warp of the block */
    uint32_t red_count; /* lanes whose predicate was true, of red_total */
    uint32_t red_total;
    bool after_exit;
    const InsPlace *first; /* of the first warp's __syncthreads(); NULL: another barrier */
} Barrier;

/* A block that has begun and not ended. */
/* On a GPU the first kilobyte of a block's shared memory is the system's; libraries (cooperative
** groups) are given their piece of it. Here it lies where no other shared memory can. */
enum { RESERVED_AT = 1 << 24, RESERVED_BYTES = 1024 };

/* The shared memory of the block of rank r in a cluster begins at CLUSTER_AT + r * CLUSTER_STEP, in
** the same window: what mapa gives. */
enum { CLUSTER_AT = 1 << 28, CLUSTER_STEP = 1 << 24, MOST_CLUSTER = 16 };

typedef struct Mbarriers { /* that are initialised, in a block's shared memory */
    struct Mbarrier *at;
    int n, cap;
} Mbarriers;

typedef struct Block {
    unsigned ctaid[3], smid;
    Warp *warp;
    uint8_t *shared;
    uint8_t *reserved; /* NULL until it is used */
    Barrier barrier[16];
    uint32_t barriers_met; /* bit id: a warp came to that barrier */
    uint32_t ended;        /* warps */
    uint64_t cluster;      /* its cluster's number, and its rank in it */
    unsigned rank;
    uint32_t linear;      /* its number in the grid */
    double cluster_clock; /* when the cluster's barrier was complete last */
    Mbarriers mbarriers;  /* mbarrier.c */
} Block;

typedef struct Shadow Shadow; /* shadow.c: uninitialised reads and races */
typedef struct View View;     /* view.h: memory as a thread of several has it */
typedef struct Team Team;     /* threads.c */

/* What a texture instruction fetched last. Neighbouring warps often ask for the same texels: then
** the offsets, the cost model's lines and, of a constant texture, the values are those of last
** time. */
typedef struct Fetch {
    U32 x[LANES] __attribute__((aligned(64))); /* coordinates of the active lanes */
    U32 offset[LANES];                         /* bytes */
    S32 inside[LANES];                         /* -1 for the lanes seen, else 0 */
    U32 value[4][LANES];                       /* of a constant texture */
    uint32_t active, seen;                     /* lanes; those whose texel exists */
    const TexSlot *slot;                       /* NULL: nothing yet */
    uint64_t handle;                           /* of slot */
    bool is_constant;                          /* slot is: value holds */
    uint32_t unused;                           /* bit k: value[k] is not kept */
    CostMemo cost;
} Fetch;

/* What an access to shared memory waits for its banks: wavefronts beyond the first; those of them
** that are conflicts. */
typedef struct Banks {
    unsigned extra, conflicts;
} Banks;

/* How words are loaded: one by one, from a few places, from neighbours 16 and 16, from a window. */
enum { LAYOUT_LANES, LAYOUT_PLACES, LAYOUT_HALVES, LAYOUT_WINDOW };
enum {
    LAYOUT_FEW = 4,
    LAYOUT_PAYS = 64 /* accesses that a layout must serve to be worth finding */
};

/* How the lanes of a load or store lay when it ran last: exec_layout.h. */
typedef struct Layout {
    S32 apart[LANES] __attribute__((aligned(64))); /* bytes from the first active lane's address;
                                                      0 in lanes that are off */
    U32 word[LANES]; /* of the window from the lowest lane on, of at most 64 words */
    uint16_t window[4]; /* a bit for each of its words */
    bool has_window;
    uint8_t pattern; /* Pattern of exec_move.h */
    uint8_t n_few;   /* how many distinct places the lanes have; 0: more than LAYOUT_FEW */
    uint8_t how;     /* LAYOUT_…: how words are loaded */
    uint8_t lane;    /* the first active one */
    bool known;      /* the last access that could tell found that it holds */
    uint16_t served, doubt, wait; /* accesses since it was found; misses; accesses without a look */
    uint32_t active;              /* lanes of the warp then; 0: there is no layout */
    uint32_t serial;              /* of layouts found here */
    int32_t low, high;            /* the least and the largest of `apart` */
    uint32_t bits;                /* that some of `apart` has */
    int32_t few_at[LAYOUT_FEW];
    uint32_t few_lanes[LAYOUT_FEW];
    Banks banks;
} Layout;

/* The lines of a layout around an address, as the cost model has it. */
typedef struct LayoutLines {
    uint32_t serial; /* the layout's; 0: none yet */
    uint64_t address;
    LineSet set;
} LayoutLines;

typedef struct Nested Nested;

struct Machine {
    Emu *emu;
    EmuModule *mod;
    Code *entry;
    const EmuLaunch *launch;
    const EmuModel *model;
    EmuResult *result;
    uint64_t serial; /* of the launch */
    const uint8_t *params;
    size_t param_bytes;
    uint32_t shared_bytes, dynamic_base; /* all; where the launch's own part begins */
    int n_warps, threads;                /* of a block */
    Block *block;                        /* runs; the next five are its */
    unsigned ctaid[3], smid;
    Warp *warp;
    uint8_t *shared;
    Barrier *barrier;
    Block **open; /* the first n_open have begun, all n_made have memory */
    int n_open, n_made, cap_open;
    int64_t resident; /* blocks that the GPU holds at a time */
    unsigned cluster[3];  /* blocks of a cluster in each direction; 1 where there are none */
    int cluster_size;     /* … in all */
    bool has_clusters;    /* the launch says so, or the kernel */
    struct Bulk *bulk;    /* bulk.c: copies under way */
    int n_bulk, cap_bulk;
    bool has_groups; /* wgmma ran under the check of races */
    bool group_waits; /* a warp has waited for others of its warpgroup */
    WarpStore *spare; /* of warps that ended; room for n_warps */
    int n_spare;
    int64_t turn; /* warp instructions of a turn */
    uint64_t changes; /* turns in which somebody changed memory */
    unsigned polls;
    double begun; /* processor time when the launch began */
    Shadow *shadow;
    bool follows; /* undefined values: undefined.h */
    struct {
        uint32_t bytes, origin; /* a bit for each undefined byte */
    } undefined;                /* … that the last access to memory found */
    View *view; /* NULL: the launch has memory for itself */
    Team *team; /* NULL: one thread */
    Cost cost;
    Fetch *fetches, **fetch; /* per texture instruction of the module; they change places */
    Layout *layouts;         /* of loads and stores; NULL: nobody looks at them */
    LayoutLines *lines;
    int64_t budget;
    bool ended; /* by a fault */
    EmuCause cause; /* of the fault that is about to be raised; NONE: EMU_CAUSE_FAULT */
    gi_buf text; /* scratch of printf */
    struct Profile *profile; /* profile.c; NULL */
    Nested *nested; /* nested.c: what the grid launches; NULL: nothing yet */
    int depth;      /* of launches by kernels */
};

/* Why a warp stops running; STOP_NOT: it goes on. */
typedef enum Stop { STOP_NOT, STOP_DONE, STOP_WAIT, STOP_YIELD, STOP_FAULT } Stop;

/* only: NULL, or the one instruction to run, which is no control flow. */
Stop exec_base(Machine *m, Warp *w, const Ins *only);
Stop exec_avx2(Machine *m, Warp *w, const Ins *only); /* where Emu.vectors says so, and the next */
Stop exec_avx512(Machine *m, Warp *w, const Ins *only);

/* fault.c. Records a fault, which ends the launch; always returns false. ALL_LANES: the warp. */
bool fault_raise(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                 ...) GI_PRINTF(6, 7);
/* The same of one lane's access, for which the launch ends (Machine.ended) only where max_faults
** leaves no room for more: the caller leaves the access out, and the lane goes on. */
bool fault_access(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                  ...) GI_PRINTF(6, 7);
/* A warning: told once for each instruction, with the place where it was first, and counted. */
void fault_note(Machine *m, const Warp *w, const Ins *in, int lane, EmuWarning kind,
                const char *fmt, ...) GI_PRINTF(6, 7);
/* Fills in a finding, but for its kind and count; adds one that is whole to the warnings. */
void fault_describe(const Machine *m, const Warp *w, const Ins *in, int lane, const char *fmt,
                    va_list args, EmuFinding *out);
void fault_add(EmuResult *r, const EmuFinding *f);
/* Before the two above, where it takes time to put what happens into words: true where that was
** told already, and is counted. */
bool fault_is_known(Machine *m, const Warp *w, const Ins *in, EmuStatus status);
bool fault_is_noted(Machine *m, const Warp *w, const Ins *in, EmuWarning kind);
/* "lanes 3, 5-7 and 9" */
void fault_lanes(uint32_t mask, char *out, size_t cap);

/* async.c, mbarrier.c, bulk.c and cluster.c: exec/async.h has more */
void copies_begin(Copies *c); /* a warp begins: none is under way */
void copies_free(Copies *c);

/* memory.c */
typedef struct Access { /* one lane's wish */
    Machine *m;
    Warp *w;
    const Ins *in;
    int lane;
    PtxSpace space;
    uint64_t address; /* an offset where the space is a window */
    unsigned bytes;
    bool is_write;
    uint16_t order; /* ORDER_… */
} Access;

static inline uint8_t *row_at(const Warp *w, uint32_t offset) {
    return w->file + offset;
}
static inline uint32_t pred_at(const Warp *w, uint32_t offset) {
    return *(U32 *)(w->file + offset);
}
static inline void pred_set(const Warp *w, uint32_t offset, uint32_t bits, uint32_t mask) {
    U32 *p = (U32 *)(w->file + offset);
    *p = (*p & ~mask) | (bits & mask);
}
/* Do all lanes of a row hold this, those that are off, too? Where they do, as is common, nothing
** needs to be looked at lane by lane. */
static inline bool row_is(const U32 *row, uint32_t value) {
    uint32_t other = 0;
    for (int i = 0; i < LANES; i++) other |= row[i] ^ value;
    return other == 0;
}
/* The instruction that a path which waits is at. */
static inline const Ins *path_ins(const Warp *w, const Path *p) {
    return &w->s.frame[p->frame].code->ins[p->pc];
}
/* Which of n blocks, warps or lanes is the i-th: in a shuffled order they are so many apart that
** all are met. */
static inline uint64_t launch_place(const EmuLaunch *l, uint64_t i, uint64_t n) {
    if (!l->backwards || l->shuffle == 0) return l->backwards ? n - 1 - i : i;
    uint64_t step = 0x9e3779b9u * (uint64_t)l->shuffle % n, a, b;
    do {
        a = ++step, b = n;
        while (b) {
            uint64_t rest = a % b;
            a = b, b = rest;
        }
    } while (a != 1);
    return (i % n * (step % n) + l->shuffle) % n;
}
/* Of the running block, in the grid. */
static inline uint64_t block_number(const Machine *m) {
    const unsigned *g = m->launch->grid, *b = m->ctaid;
    return b[0] + (uint64_t)g[0] * (b[1] + (uint64_t)g[1] * b[2]);
}

/* A thread stores a number of so many bytes. */
static inline void alloc_stored(Alloc *a, uint8_t size) {
    if (a->widest < size) a->widest = size;
}
/* alloc.c. The allocation that has an address, or NULL: it may end before. */
Alloc *alloc_in_window(const Emu *e, uint64_t address);
static inline Alloc *alloc_of(const Emu *e, uint64_t address) {
    uint64_t id = address >> ID_SHIFT;
    if (id < (uint64_t)e->n_alloc && e->alloc[id].live) return &e->alloc[id];
    return id < HOST_IDS ? alloc_in_window(e, address) : NULL;
}
/* It is read, or written. Looked at first: several threads share the line that it lies in. */
static inline void alloc_reach(Alloc *a, uint8_t how) {
    if ((__atomic_load_n(&a->reach, __ATOMIC_RELAXED) & how) != how)
        __atomic_fetch_or(&a->reach, how, __ATOMIC_RELAXED);
}
/* The same of those that have been freed; and of those that an address just misses. */
const Alloc *alloc_known(const Emu *e, uint64_t address);
const Alloc *alloc_near(const Emu *e, uint64_t address);
/* Where the cost model has an address. */
static inline uint64_t alloc_place(const Alloc *a, uint64_t address) {
    return address - a->address + a->place;
}
uint8_t *pages_new(size_t size); /* all zeros; NULL: there is none */
void pages_free(uint8_t *data, size_t size);
uint64_t alloc_new(Emu *e, Alloc what, const char *label); /* its address */
bool alloc_at(Emu *e, uint64_t address, Alloc what, const char *label, gi_err *err);
void alloc_free(Emu *e, uint32_t row);
void alloc_end(Emu *e, uint64_t address);
bool alloc_release(Emu *e, uint64_t address, const char *who, gi_err *err);
void allocs_free(Emu *e);
void alloc_unused(Alloc *a); /* its footprint is over */
/* Marks a byte as defined or not; one of an allocation that shares no bytes with others. */
void alloc_define(Emu *e, Alloc *a, uint64_t at, bool is_defined);
/* Are the undefined bytes around one what looks like the padding of a struct? */
bool alloc_pads(const Alloc *a, uint64_t at);
/* The first bytes from `from` to `end` that are undefined, and no padding; false: none. */
bool alloc_undefined(const Emu *e, uint64_t from, uint64_t end, EmuUndefined *out);
/* Host bytes of one lane's atomic access, checked; NULL after a fault: Machine.ended says whether
** to stop. Not for local memory. The caller has mem_look_at look at it before it writes. */
uint8_t *mem_atomic(Access *a);
/* Has the checks look at an access to those bytes. `value` will be written there (NULL: the access
** reads). Returns false where the launch ends. */
bool mem_look_at(const Access *a, const uint8_t *at, const void *value);
/* One lane's access to any space, byte-exact; false after a fault, as of mem_atomic. And whether
** shared memory may be written to there, without doing it. */
bool mem_read(Access a, void *out);
bool mem_write(Access a, const void *from);
bool mem_may_write(Access a);
/* "shared memory at offset 0x10", "global memory at byte 400 of 'out' (400 bytes)" */
void mem_describe(const Access *a, char *out, size_t cap);
void mem_describe_at(Machine *m, PtxSpace space, uint64_t address, char *out, size_t cap);
/* A load or store whose lanes access several allocations, or one lane faults. False: stop. */
bool mem_slow(Machine *m, Warp *w, const Ins *in, const MemForm *f, const uint64_t *at);
/* Is there nothing to tell of a warp's access to shared memory, or to a watched allocation (else
** NULL)? at: offsets from `data` that are fine. Else mem_slow is to look at it. */
bool mem_fits(Machine *m, Warp *w, const Ins *in, const MemForm *f, Alloc *alloc,
              const uint8_t *data, const uint64_t *at);
/* A load in a number: where from, then what, of two of the lanes; and the first one's address. */
uint64_t mem_first(const Warp *w, const MemForm *f);
uint64_t mem_where(const Warp *w, const MemForm *f);
uint64_t mem_what(const Warp *w, const MemForm *f, uint64_t where);
/* Addresses of all active lanes of a slow operation: row `base` + offset. */
void mem_addresses(const Warp *w, uint32_t base, bool wide, int64_t offset, uint64_t at[LANES]);

/* The object of a handle; NULL: none. */
static inline const TexSlot *slot_of(const Emu *e, uint64_t handle) {
    uint64_t index = handle - WINDOW(ID_TEX);
    return index < (uint64_t)e->n_tex && e->tex[index].live ? &e->tex[index] : NULL;
}
/* Are its texels looked at: for bytes that nobody wrote, or for the footprint? */
static inline bool slot_is_watched(const Emu *e, const TexSlot *s) {
    const Alloc *a = s->memory >= 0 ? &e->alloc[s->memory] : NULL;
    return a && (a->unwritten || a->used[0]);
}
/* Where a byte of it has its address, if it is watched. */
static inline uint64_t slot_address(const Emu *e, const TexSlot *s, int64_t offset) {
    const Alloc *a = &e->alloc[s->memory];
    return a->address + (uint64_t)((const uint8_t *)s->t.data - a->data) + (uint64_t)offset;
}
bool tex_slow(Machine *m, Warp *w, const Ins *in, const TexForm *f); /* texture.c */

/* warp.c: masks, paths, calls. What returns a Stop may have changed paths and frames. */
void warp_diverge(Machine *m, Warp *w, uint32_t taken, int target, int next, int rpc);
/* At a reconvergence point, its path at an end: goes on with the next one. */
Stop warp_next_path(Machine *m, Warp *w);
bool warp_switch(Machine *m, Warp *w, const Ins *in); /* brx.idx */
bool warp_call(Machine *m, Warp *w, const Ins *in);
/* The active lanes return or exit. */
Stop warp_return(Machine *m, Warp *w);
Stop warp_exit(Machine *m, Warp *w);
/* The running path waits at `in` for lanes that are elsewhere, those of one membermask apart from
** those of another (masks: NULL or a row): another path goes on. */
Stop warp_block(Machine *m, Warp *w, const Ins *in, PathWait wait, const U32 *masks);
/* Another path's turn, if there is one that can go on. The running one's was in vain if it is asked
** for a fresh one: one of which that is not said. After TURN_ANY it is said of none. */
typedef enum TurnOf { TURN_ANY, TURN_FRESH } TurnOf;
bool warp_rotate(Machine *m, Warp *w, TurnOf whose);
/* Turns to a path (its lanes, frame, instruction) without giving it its turn; to the last one. */
void warp_look(Warp *w, const Path *p);
void warp_enter(Warp *w);
uint32_t warp_lanes_equal(const Warp *w, const U32 *row, uint32_t value); /* of the active ones */
bool warp_begin(Machine *m, Warp *w, Code *entry); /* before its first turn in a block */
void warp_store_free(WarpStore *s);
/* launch.c. Bytes of stack that a call of the function takes by ptxas; -1: not known. */
int launch_frame(const Machine *m, Code *code);
/* stack.c. True after a fault: so many bytes more, for a call or (NULL) alloca, are too many. */
enum { STACK_CALL = 32 }; /* bytes: the return address and registers that are kept */
bool stack_overflow(Machine *m, Warp *w, const Ins *in, double bytes, Code *callee);
/* More stack for the active lanes, at *base; false after a fault. Back to where it was before. */
bool warp_alloca(Machine *m, Warp *w, const Ins *in, uint64_t bytes, uint32_t align,
                 uint64_t *base);
void warp_stackrestore(Warp *w, uint64_t top);
/* What a block of code does with the loads that are on their way when it begins. */
static inline const CostCarry *code_carry(const Code *c, const CostBlock *block) {
    return c->carries.n ? &c->carries.at[(block - c->block) * c->carries.n] : NULL;
}
double warp_clock(const Warp *w, const Ins *in); /* modelled clocks at this instruction */

/* Lanes of path i that are not in a path above it: they are where the path is. */
uint32_t warp_rest(const Warp *w, int i);
/* The active lanes saw this at an instruction, the first of them at this address: somebody waits,
** perhaps, for something else. */
void warp_saw(Warp *w, const Ins *in, uint64_t what, PtxSpace space, uint64_t at);
/* From here on memory that others wrote may be seen. */
static inline void warp_fence(Warp *w) {
    w->asked = w->fenced = true;
}

/* launch.c: what a Machine has for itself, but its shadow; and the other way round. */
bool machine_open(Machine *m);
void machine_close(Machine *m);
void machine_forget_fetches(Machine *m);

/* turns.c: runs the launch's blocks to their end, or false. */
bool turns_run(Machine *m);

/* endless.c. At the end of a warp's turn: does it do the same for ever, unless somebody changes
** memory? And do all that have begun, or wait for those who do? */
bool endless_turn(Machine *m, Warp *w);
bool endless_all(const Machine *m);

/* launch.c: one grid, from its checks to its result. */
void launch_grid(Machine *m);
/* Runs blocks `from` to `to` of the launch, which do not wait for each other; false: not to the
** end. */
bool turns_batch(Machine *m, uint64_t from, uint64_t to);
void turns_forget(Machine *m); /* blocks that have begun will not go on */
void turns_free(Machine *m);

/* threads.c: blocks of a launch side by side. Is it worth while, from block `next` on? Then the
** block to go on with: as far as there, all is as after one block after the other. */
bool threads_worth(Machine *m, uint64_t next, uint64_t blocks);
uint64_t threads_run(Machine *m, uint64_t next, uint64_t blocks);
void threads_free(Machine *m);

/* barrier.c: barriers of the block. In Ins.x of one: */
enum {
    BAR_SYNC,
    BAR_ARRIVE,
    BAR_RED_POPC,
    BAR_RED_AND,
    BAR_RED_OR,
    BAR_CLUSTER,
    BAR_GROUP,
    BAR_KIND = 15
};
/* Warp.barrier of one that waits at the cluster's, or for the other warps of its warpgroup. */
enum { CLUSTER_BARRIER = 16, GROUP_BARRIER = 17 };
/* FIXED: of plain numbers; from bit PENDING on: groups that BAR_GROUP does not wait for. */
enum { BAR_COUNTED = 16, BAR_ALIGNED = 32, BAR_FIXED = 64, BAR_PENDING = 8 };
Stop barrier_reach(Machine *m, Warp *w, const Ins *in);
/* Do all lanes of a warp that has no path to run wait at one barrier? */
bool barrier_together(const Warp *w);
/* They do: the warp waits for the others of its block, unless nobody is missing. */
Stop barrier_arrive(Machine *m, Warp *w);
void barrier_split(Machine *m, Warp *w, const Path *p); /* the fault: the others never come */
void barrier_warp_ended(Machine *m);                    /* it is not waited for any more */

/* sync.c: what lanes of a warp do together. */
Stop sync_run(Machine *m, Warp *w, const Ins *in);
/* Have all lanes arrived for which a path waits? */
bool sync_complete(const Warp *w, const Path *p);
/* They have: it is done, for the others too. */
void sync_meet(Machine *m, Warp *w, const Path *p);
void sync_split(Machine *m, Warp *w, const Path *p); /* the fault: some never come */

/* shadow.c: what a launch checks beside bounds. m->shadow is there while there is something. */
Shadow *shadow_new(Machine *m);
void shadow_free(Machine *m);
void shadow_block(Machine *m);                   /* a new block begins to run */
void shadow_enter(Machine *m);                   /* one that began earlier runs on */
void shadow_block_end(Machine *m);               /* the running one is over */
void shadow_barrier(Machine *m, uint32_t warps); /* these warps passed a barrier together */
void shadow_cluster(Machine *m);                 /* the running block's cluster met */
void shadow_warp_sync(Machine *m, const Warp *w, uint32_t lanes);
/* A fence by the active lanes; order: ORDER_BLOCK, ORDER_CLUSTER, or 0 for the GPU's scope. */
void shadow_fence(Machine *m, const Warp *w, unsigned order);
/* A cp.async to these bytes of shared memory begins (1), or is over (-1). */
void shadow_copy(Machine *m, uint64_t at, unsigned bytes, int change);
/* A copy wrote to a block's shared memory. */
void shadow_landed(Machine *m, const Block *b, uint64_t at, unsigned bytes);
/* fence.proxy.async by the active lanes. And: does one follow all that threads wrote to bytes
** of shared memory which a copy is about to read? Else it reports; false: the launch ends. */
void shadow_proxy_fence(Machine *m, const Warp *w);
bool shadow_proxy(Machine *m, Warp *w, const Ins *in, int lane, uint64_t at, uint32_t bytes,
                  const char *reader);
void shadow_local_frame(Machine *m, const Warp *w, uint32_t from, uint32_t to);
void shadow_object(Machine *m, Alloc *a); /* it has just been allocated */
void shadow_step(Machine *m); /* a warp's next access: an instruction that runs again is another */
/* Reports what is wrong with an access that is about to happen. in: a watched allocation, or NULL
** for shared memory. memory: its bytes; value: what a write will store, else NULL. */
void shadow_access(const Access *a, const Alloc *in, const uint8_t *memory, const void *value);
void shadow_local(const Access *a);
/* Who wrote there last, as far as the check of races knows; false: nobody, or it does not know. */
bool shadow_writer(const Machine *m, const Block *b, PtxSpace space, uint64_t address,
                   uint32_t *block, int *thread);
/* A texel that is about to be read or written: is it defined? See Machine.undefined. */
void shadow_texel(const Access *a, Alloc *in);
/* shadow_access of a plain access by all active lanes (a->lane: the first), to the bytes from
** memory + at[lane] on; values: what they store, a->bytes each, else NULL. Returns false if there
** is something to tell, and does no harm then: shadow_access looks at each lane. */
bool shadow_fits(const Access *a, const Alloc *in, const uint64_t *at, const uint8_t *memory,
                 const uint8_t *values);
/* Of a warp's to local memory, at offsets that are fine. */
bool shadow_local_fits(const Machine *m, const Warp *w, const MemForm *f, const uint64_t *at);
/* Of a lane's access that is about to happen, and meant for an array. */
void shadow_array(const Access *a, const Array *array);

/* module.c */
/* A kernel that can run: "usage" where there is none, "compile" where it is refused. */
Code *module_entry(const EmuModule *m, const char *kernel, gi_err *err);
size_t module_param_bytes(const Code *code);
/* Functions have addresses 16 apart, those of each module in a row of their own. */
uint64_t module_func_address(const EmuModule *m, int func);
int module_func_at(const EmuModule *m, uint64_t address); /* -1: none of this module */

/* decode/module.c: all functions of a module; what is not known in one is said in Code.refused. */
void decode_module(EmuModule *mod);
void code_free(Code *c); /* decode.c */

#endif
