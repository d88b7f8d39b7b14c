/* cost.h - how many clocks a launch would take: the deterministic cost model.
**
** The model answers "which of two kernels is faster, and roughly by how much" for a GPU described
** by an EmuModel. It follows the usual analytic picture of a GPU (Hong and Kim, ISCA 2009; Volkov,
** "Understanding latency hiding on GPUs", 2016): a kernel is bound by what it issues, by what it
** moves, or by how long its warps wait when too few are resident to hide it.
**
**   blocks  B, over S SMs: the busiest SM runs n = ceil(B / S) of them, R at a time (R from
**           threads, registers, shared memory and block slots), in ceil(n / R) waves.
**
**   part_issue    what the busiest SM must issue. Every PTX instruction of a warp, whatever its
**                 active lanes (so both paths of a divergent branch count), takes issue slots and
**                 time on a pipe:
**                     slots = n / B * sum(slots),  t_0 = slots / schedulers_per_sm
**                     t_k   = n / B * sum(warp instructions on pipe k) / rate_k
**                     part_issue = |t_0, t_1, ...|_4
**                 Memory pipes are charged one wavefront per 128-byte line a warp touches, local
**                 memory clocks_local for each; shared memory one per conflicting word on its worst
**                 bank. A texture fetch without conflicts takes 1 / rate_texture clocks, twice that
**                 where both half warps want 16 bytes a lane; a quad whose texels share tag or data
**                 banks takes more (cost.c has the rule). A load of constants by a register is
**                 charged each distinct address; by name it is an operand, and free. What ptxas
**                 leaves out is free (repeats.h).
**   part_memory   what the L2 cache, DRAM and atomics take, each the larger of its bytes over a
**                 bandwidth and its requests over a rate:
**                     part_memory = |l2 loads + l2 stores, dram, atomics|_2
**                 32-byte sectors that miss the L1 share of a block travel from the L2; those that
**                 nobody touched before in this launch from DRAM, by 64 bytes. How many more come
**                 from DRAM, because the L2 lost them, and how many fewer from the L2, because
**                 another block of the SM read them, a sample of lines tells (reuse.h). Local
**                 memory is laid out as on the GPU, word w of the 32 lanes side by side. Registers
**                 beyond those that a thread has are local memory, too, loaded and stored as often
**                 as the code wants them (spill.h). Atomics on global memory are operations of the
**                 L2: as many as atomics_per_clock, but on one line one after the other,
**                 clocks_atomic for a sector and three times that for each lane that is not part of
**                 a row.
**   part_latency  waits. A warp alone needs for a basic block the time that a scoreboard of result
**                 latencies gives (static.c, worked out once, when the code is loaded). A load that
**                 misses L1 is on its way for latency_l2 or latency_dram, and the warp waits where
**                 its result is read (waits.h): so loads that do not depend on each other wait
**                 together. Both times are kept, and the launch's share of sectors that came from
**                 DRAM says which counts how much. A barrier makes the warps of a block meet at the
**                 time of the last plus latency_barrier and latency_barrier_warp for each. An
**                 atomic of shared memory that is a loop (floats, 8 bytes) takes latency_cas for
**                 each lane at its busiest word, and a block as long as its busiest word takes,
**                 clocks_cas an update. The time of a block is that of its slowest warp plus
**                 block_ticks:
**                     part_latency = |(ceil(n / R) - 1) * mean block + slowest block,
**                                     n * block_start|_4
**
**   ticks = launch_ticks + |part_issue, part_memory, part_latency|_4
**
** A p-norm |x|_p = (sum x_i^p)^(1/p) is close to the largest part and strictly grows with each, so
** no saving is ever invisible, and no launch is below the roofline of any pipe or level (finish.c
** asserts it). L1 is a direct-mapped table of 128-byte lines with four sector bits, empty at the
** start of each block, of (l1_bytes_per_sm - shared memory in use) / R bytes, R at most the blocks
** that an SM gets. Not modelled: scheduling by ptxas, instruction caches, DRAM pages, L2 slices,
** clock changes. The warps of a block run one after the other between barriers: what one of them
** reads again is in the L1 even where the others would have driven it out.
**
** What an L1 entry is found by must not depend on where memory happened to be mapped: allocations
** are numbered in the order in which a launch first touches them.
**
** Energy is an estimate beside it, of the same counts (the form of Arunkumar, Bolotin, Nellans and
** Wu, "Understanding the Future of Energy Efficiency in Multi-Module GPUs", HPCA 2019):
**     joules = power_idle_w * time + issue slots * energy_instruction_pj
**              + wavefronts of shared memory, L1 and textures * energy_wavefront_pj
**              + l2 bytes * energy_l2_pj_byte + dram bytes * energy_dram_pj_byte
** of all SMs. A warp instruction costs the same whatever it does and its active lanes hold.
**
** Costs of a basic block are added up when the code is loaded; a run counts how often each block
** was entered. Sums are taken in a fixed order, so equal runs give equal ticks to the last bit.
*/
#ifndef GILUA_EMU_COST_H
#define GILUA_EMU_COST_H

#include "emu/cost/reuse.h"
#include "emu/emu.h"
#include "ptx/ptx.h"

/* Execution resources of an SM; each has a rate in the model except ISSUE (schedulers_per_sm). */
typedef enum CostPipe {
    PIPE_ISSUE,
    PIPE_FP32,
    PIPE_FP64,
    PIPE_FP16,
    PIPE_INT,
    PIPE_MUL,
    PIPE_SPECIAL,
    PIPE_CONVERT,
    PIPE_BRANCH,
    PIPE_SHARED,
    PIPE_GLOBAL,
    PIPE_TEXTURE,
    PIPE_CONSTANT,
    PIPE_SHUFFLE,
    PIPE_ATOMIC,
    PIPE_TENSOR,
    PIPES
} CostPipe;

/* Kinds of PTX instruction, by the machine instructions they become (cost.c has the table). */
typedef enum CostClass {
    COST_FREE, /* mov, cvta, ld.param: register renaming or an operand's constant bank */
    COST_ALU,
    COST_ALU64,
    COST_FP32,
    COST_FP64,
    COST_FP16,
    COST_MUL,
    COST_MUL_WIDE,
    COST_MUL64,
    COST_MUL_HI,
    COST_SHIFT64,
    COST_SPECIAL,
    COST_SPECIAL2,
    COST_CONVERT,
    COST_CONVERT64,
    COST_BITS,
    COST_LANES, /* lanes of a word taken apart, a machine instruction for each step */
    COST_LANES_SIGNED,
    COST_BRANCH,
    COST_CALL,
    COST_BARRIER,
    COST_FENCE,
    COST_SLEEP,
    COST_IDIV32,
    COST_IDIV64,
    COST_FDIV,
    COST_FDIV_FAST,
    COST_FSQRT,
    COST_FRCP,
    COST_DDIV,
    COST_DSQRT,
    COST_DRCP,
    COST_SHUFFLE,
    COST_VOTE,
    COST_REDUX,
    COST_LD_SHARED,
    COST_ST_SHARED,
    COST_LD_GLOBAL,
    COST_ST_GLOBAL,
    COST_LD_LOCAL,
    COST_ST_LOCAL,
    COST_LD_CONST,
    COST_ATOMIC,
    COST_ATOMIC_SHARED,
    COST_TEX,
    COST_MATRIX,
    COST_PRINT,
    COST_CLASSES
} CostClass;

/* Static cost of one basic block. */
typedef struct CostBlock {
    int n;          /* PTX instructions */
    double latency; /* clocks for a warp alone, loads hitting L1 */
    bool is_head;   /* of a loop */
    double pipe[PIPES];
} CostBlock;

/* Where an instruction stands in its block: clocks from the block's end on, so at most 0. */
typedef struct CostPlace {
    float clock;  /* it issues */
    float slots;  /* of issue */
    float use;    /* of a load: its result is waited for; infinite: not in this block, but … */
    uint64_t out; /* … these carried registers hold it, a bit each */
} CostPlace;

/* What a block does with what a carried register holds when it begins. */
typedef struct CostCarry {
    float use;    /* as above */
    uint64_t out;
} CostCarry;

typedef struct CostCarries {
    CostCarry *at; /* n a block */
    int n;
} CostCarries;

/* Loads of a warp on their way. near, far: when they are there if all that the L1 has not comes
** from L2; from DRAM. */
typedef struct CostWait {
    double near, far;
    float use;
    int32_t from; /* the load's place in its function */
    int32_t n;    /* loads that are waited for together, late (waits.h) */
    uint64_t out;
} CostWait;

/* Where the result of a load is waited for: behind this block, late (waits.h). */
#define COST_LATE 1e30f

enum { COST_WAITS = 16, COST_ATOMIC_LINES = 256 };

/* One entry of the L1 table: the name of a line << 4 | which of its sectors are there; 0: empty. */
typedef uint64_t CostLine;

struct Alloc;

typedef struct CostCount {
    uint64_t runs, lanes;
} CostCount;

/* The distinct 128-byte lines of a warp's access with the sectors wanted of each. */
typedef struct LineSet {
    uint64_t line[32];
    uint32_t sectors[32];
    int n;
} LineSet;

/* The lines of a texture fetch, worked out once for warps that fetch the same texels one after the
** other; the L1 still has them all while its state is that of the last time. */
typedef struct CostMemo {
    int n;               /* lines */
    uint32_t sectors;    /* of all lines */
    CostLine want[32];   /* the lines */
    uint32_t place[32];  /* where in the L1 each of them goes */
    int row;             /* of the allocation in which they lie, or -1 */
    double wavefronts;   /* on the texture pipe beyond the first */
    uint32_t epoch;      /* of the last look; 0: never */
    uint64_t state;      /* Cost.state when the L1 had them all; 0: not known */
} CostMemo;

/* What one launch adds up. */
typedef struct Cost {
    CostCount *count;    /* per basic block of the module */
    double extra[PIPES]; /* what depends on addresses */
    uint64_t l2_sectors, dram_sectors;            /* that loads and stores move */
    uint64_t dram_lines; /* accesses to a line that bring some of it from DRAM */
    uint64_t l2_lines, store_sectors, store_lines; /* lines of loads; stores alone */
    Reuse reuse;
    uint64_t atomic_ops, atomic_line[COST_ATOMIC_LINES]; /* on the L2 cache: all; by hash of line */
    uint32_t *cas;  /* updates of each word of shared memory that are loops, of the block */
    uint32_t most_cas; /* … of the word that has most */
    bool any_cas;
    CostLine *l1;
    uint64_t state;                  /* changes whenever a line leaves the L1 */
    uint32_t l1_lines, epoch, order; /* order: allocations touched so far */
    double beyond_near, beyond_far;  /* clocks of a load from L2, from DRAM */
    double sum_near, sum_far;        /* clocks of all blocks (waits.h) */
    double most_near, most_far;      /* … of the slowest */
    uint64_t blocks;
    double far; /* when the launch has ended: the share of sectors that came from DRAM */
    double spill_sectors, spill_dram, spill_clocks; /* by spilled registers; clocks of all warps */
} Cost;

struct Machine;
struct Warp;

/* First contact of a launch with an allocation: its number, and its map of sectors. */
void cost_meet(struct Machine *m, struct Alloc *a);

/* Fills block[0 … n_blocks-1], place[i] of each instruction of the function, and carries, whose
** table the caller frees. cls: one class per instruction. */
void cost_blocks(const EmuModel *model, const PtxFunc *f, const PtxCfg *cfg, const uint8_t *cls,
                 CostBlock *block, CostPlace *place, CostCarries *carries);

/* Blocks resident on an SM at a time; 0 when a single one does not fit. */
int cost_resident(const EmuModel *model, int threads, int registers, size_t shared_bytes);

void cost_begin(struct Machine *m, int resident, uint64_t blocks);
/* Adds what the launch did with registers beyond those that the result says (spill.h). */
void cost_spill(struct Machine *m, int resident);
void cost_free(Cost *c);
/* For a machine that runs blocks beside those of `like`. */
void cost_begin_beside(struct Machine *m, const struct Machine *like);
/* What blocks that `from` ran have cost, their time apart (cost_block_took), goes over to m. */
void cost_move(struct Machine *m, struct Machine *from);
void cost_forget(struct Machine *m); /* … stays nobody's */
void cost_block_begin(struct Machine *m, uint64_t index);
void cost_block_end(struct Machine *m);
void cost_finish(struct Machine *m, int resident);

/* Memory traffic of one warp access. Offsets are in bytes from the start of the allocation. */
typedef enum CostKind {
    COST_KIND_LOAD,
    COST_KIND_STORE,
    COST_KIND_TEXTURE,
    COST_KIND_ATOMIC
} CostKind;
void cost_range(struct Machine *m, struct Warp *w, uint64_t address, uint64_t bytes, CostKind kind);
/* Charges the texture fetch that memo holds. */
void cost_texels(struct Machine *m, struct Warp *w, CostMemo *memo);
/* Works out the lines that the lanes `seen` (not 0; in `inside` -1, the others 0) touch at these
** byte offsets of an allocation. */
void cost_collect(struct Machine *m, CostMemo *memo, uint32_t alloc, const uint32_t offset[32],
                  const int32_t inside[32], uint32_t seen, unsigned bytes);
/* The same of lines of one allocation or of several. */
void cost_lines(struct Machine *m, struct Warp *w, const LineSet *set, CostKind kind);
void cost_lanes(struct Machine *m, struct Warp *w, const uint64_t at[32], uint32_t mask,
                CostKind kind);
void cost_local(struct Machine *m, struct Warp *w, const uint64_t at[32], uint32_t mask,
                unsigned bytes, bool is_store);
/* The same where all lanes of the mask are in the words from one offset on. */
void cost_local_row(struct Machine *m, struct Warp *w, uint64_t offset, uint32_t mask,
                    unsigned bytes, bool is_store);
/* A load of constants from different addresses: they are read one after the other. */
void cost_constant(struct Machine *m, struct Warp *w, const uint64_t at[32], uint32_t mask);
void cost_shared(struct Machine *m, const uint64_t at[32], uint32_t mask, unsigned bytes);
/* in: the allocation of all of them, or NULL where they are in shared memory or in several. */
void cost_atomic(struct Machine *m, struct Warp *w, const uint64_t at[32], uint32_t mask,
                 bool shared, struct Alloc *in, unsigned how);

/* how: … */
enum {
    COST_ATOM_LOOP = 1,      /* in shared memory: a loop around a compare-and-swap */
    COST_ATOM_WIDE = 2,      /* of 8 bytes */
    COST_ATOM_ONE_PLACE = 4, /* ptxas has a warp's lanes summed up before */
    COST_ATOM_COUNTS = 8     /* adds a constant */
};

#endif
