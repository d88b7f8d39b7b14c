/* async.h - what the files of asynchronous work share: async.c (cp.async), mbarrier.c (what waits),
** bulk.c and tensor.c (bulk copies), cluster.c (blocks that run together).
**
** A copy takes its source when it is issued, but for those out of shared memory, and reaches its
** target when a thread waits for it: until then the target of a bulk copy holds bytes of all ones,
** as nobody can rely on what is there. So a thread that does not wait, or waits for the wrong
** phase, computes with NaNs; with checks the read itself is a fault.
*/
#ifndef GILUA_EMU_ASYNC_H
#define GILUA_EMU_ASYNC_H

#include "emu/core.h"

/* Row `row`, of 32 or 64 bits, in one lane. */
static inline uint64_t lane_word(const Warp *w, uint32_t row, bool wide, int lane) {
    if (wide) return ((const U64 *)(const void *)row_at(w, row))[lane];
    return ((const U32 *)(const void *)row_at(w, row))[lane];
}

/* --- mbarrier.c --- */

typedef enum MbarOp {
    MBAR_INIT,
    MBAR_INVAL,
    MBAR_ARRIVE,
    MBAR_DROP,
    MBAR_EXPECT,   /* expect_tx alone */
    MBAR_COMPLETE, /* complete_tx */
    MBAR_WAIT
} MbarOp;

/* imm of one. Rows: d the state or the predicate, a the address, b the count, the state or the
** parity. */
typedef struct MbarForm {
    uint8_t op, space, wide; /* MbarOp, PtxSpace, of the address */
    uint8_t expects;         /* b is of expect_tx, and one arrives */
    uint8_t incomplete;      /* .noComplete */
    uint8_t parity;          /* b is a parity */
    uint8_t result;          /* d is wanted */
    uint8_t relaxed;
} MbarForm;

bool mbarrier_do(Machine *m, Warp *w, const Ins *in); /* a SlowFn */
bool mbarrier_pending(Machine *m, Warp *w, const Ins *in);
/* What a copy or a lane's asynchronous arrival does to an object of a block, `bytes` complete or
** `count` arrivals; in: whose fault it is if it cannot. */
bool mbarrier_complete(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at,
                       int64_t bytes, double clock);
bool mbarrier_arrive(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at,
                     double clock);
/* One arrival more is pending (cp.async.mbarrier.arrive without .noinc); and is there an object? */
bool mbarrier_await(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at, int more);
void mbarrier_describe(const Block *b, PtxSpace space, uint64_t address, gi_buf *out);
void mbarriers_clear(Mbarriers *all); /* the block is over */
void mbarriers_free(Mbarriers *all);

/* --- async.c --- */

/* The oldest arrival that waits for copies of its lane, on an object of the running block, is
** made: false, where there is none. */
bool copies_arrive(Machine *m, uint64_t at, bool *found);
bool copies_end(Machine *m, Warp *w); /* the warp ends: arrivals are made; false: a fault */

/* Tells of an access to bytes of the running block that a copy is under way to. */
void copies_look(const Access *a, uint64_t at);

/* --- bulk.c --- */

/* The oldest copy to a block that completes on an object there reaches its target. */
bool bulk_arrive(Machine *m, Block *b, uint64_t at, bool *found);
void bulk_block_ended(Machine *m);         /* the running block */
bool bulk_warp_ended(Machine *m, Warp *w); /* its stores are done; false: a fault */
void bulk_free(Machine *m);
/* Tells of an access to bytes that a "copy" (name) uses: what. */
void bulk_tell(const Access *a, const Code *code, const Ins *copy, const char *name,
               const char *what);
/* Does a thread's access to shared memory of a block meet a copy that is under way? Then it is
** told. Only where the launch checks for races. */
void bulk_look(const Access *a, const Block *b, uint64_t at);

/* --- cluster.c --- */

/* Does an address of shared memory name a block of the cluster? */
static inline bool cluster_names(uint64_t address) {
    return address - CLUSTER_AT < (uint64_t)MOST_CLUSTER * CLUSTER_STEP;
}
/* The block in whose shared memory an address lies: the running one, or by its rank in the cluster;
** NULL: it has ended, or there is no such rank. */
Block *cluster_block(const Machine *m, uint64_t address);
/* The same, and the fault where it is NULL. */
Block *cluster_block_or_fault(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address);
/* In that block's shared memory. */
static inline uint64_t cluster_offset(uint64_t address) {
    return cluster_names(address) ? address % CLUSTER_STEP : address;
}
bool cluster_begin(Machine *m); /* sizes, or why it is refused: launch.c says it */
void cluster_place(const Machine *m, Block *b, uint64_t index);
bool cluster_arrive(Machine *m, Warp *w, const Ins *in); /* a SlowFn */
Stop cluster_wait(Machine *m, Warp *w);
void cluster_look(Machine *m); /* a warp ended: is the barrier complete now? */
bool cluster_map(Machine *m, Warp *w, const Ins *in);  /* mapa */
bool cluster_rank(Machine *m, Warp *w, const Ins *in); /* getctarank */

/* barrier.c: a warp that waits goes on. */
void barrier_leave(Warp *w, const Barrier *b);

#endif
