/* shadow.h - what the files of the checks share: shadow.c (the hooks, and bytes that nobody wrote),
** order.c (what happens before what), race.c (who touched a byte, and do two touches race), watch.c
** (which pointers lead to one byte). */
#ifndef GILUA_EMU_SHADOW_H
#define GILUA_EMU_SHADOW_H

#include "emu/core.h"

enum { MOST_THREADS = LANES * LANES }; /* of a block */

/* One access. time 0: there was none. */
typedef struct Touch {
    uint64_t time;              /* of its instruction, see Shadow.time */
    uint32_t block;             /* index in the grid */
    uint32_t epoch, lane_epoch; /* of the block and of the lane, see BlockOrder */
    uint16_t thread;            /* of the block */
    uint8_t order;              /* ORDER_… */
    int ptx_line, src_line;
} Touch;

/* What of a block's accesses is known to be over: all before its barrier number `epoch`, and those
** of some lanes of a warp up to `time`. */
typedef struct Past {
    uint32_t block, epoch;
    int warp;
    uint32_t lanes;
    uint64_t time;
} Past;

enum { ANY_WARP = -1 }; /* as Past.warp: all of the block */

typedef struct Pasts { /* one a block, by index */
    Past *at;
    int n, cap;
} Pasts;

enum { FENCE_BLOCK, FENCE_GPU, FENCE_SCOPES };

typedef struct Fence { /* a thread's last; time 0: none */
    uint64_t time;
    uint32_t epoch, lanes; /* lanes: whose accesses it is behind, its own and those it had met */
} Fence;

typedef struct Met { /* the lanes that a lane met by bar.warp.sync, or by a chain, in an epoch */
    uint32_t epoch, lanes;
} Met;

/* A running block's place in the order of things. */
typedef struct BlockOrder {
    uint32_t block, epoch; /* index in the grid; barriers that were passed */
    /* per warp, a vector clock for each lane: met[w][i][j] is the last epoch of lane j that lane i
    ** knows to be over; its own, met[w][i][i] + 1, lasts until its next bar.warp.sync */
    uint32_t met[LANES][LANES][LANES];
    Met met_now[LANES][LANES];
    Fence fence[FENCE_SCOPES][MOST_THREADS];
    bool has_fenced[FENCE_SCOPES];   /* somebody, in this epoch */
    uint32_t fenced[FENCE_SCOPES];   /* epochs below: somebody fenced in them or later */
    bool any_fence;
    Pasts known; /* of other blocks, and of this one by other ways than barriers */
} BlockOrder;

/* What a place in memory hands on from those who write to it to those who read it. */
typedef struct Handover {
    uint64_t key; /* 0: free */
    Pasts pasts[FENCE_SCOPES];
} Handover;

typedef struct Handovers { /* a hash table: cap is 0 or a power of two */
    Handover *at;
    int n, cap;
} Handovers;

/* order.c */
void order_begin(BlockOrder *b, uint32_t block);
void order_barrier(BlockOrder *b);
void order_warp_sync(BlockOrder *b, int warp, uint32_t lanes);
void order_fence(BlockOrder *b, int thread, uint64_t time, bool whole_gpu);
/* A strong access by a thread to the place `key`: a read takes over what is handed over there, a
** write hands over what the thread fenced. */
void order_take(BlockOrder *b, const Handovers *h, uint64_t key);
void order_give(const BlockOrder *b, Handovers *h, uint64_t key, int thread);
/* Is `then` over for a thread that is about to do something? */
bool order_is_over(const BlockOrder *b, const Touch *then, int thread);
void order_free(BlockOrder *b);
void handovers_free(Handovers *h);

typedef struct Marks { /* of a byte: bits of the sources that addresses of it were made of */
    uint32_t reads, writes;
} Marks;

/* watch.c. NULL where the launch does not ask which pointers meet, or it cannot be told. */
typedef struct Watch Watch;
Watch *watch_new(Machine *m);
void watch_free(Watch *w);
/* An access to a byte that was last written by `wrote`, and read by read[0] and read[1]. */
void watch_touch(Watch *w, Marks *marks, const Touch *now, bool writes, const Touch *wrote,
                 const Touch read[2]);

/* race.c. The touches of a piece of memory. by_bytes: words may lie anywhere; watch: or NULL. */
Cells *cells_new(uint64_t bytes, bool by_bytes, Watch *watch);
void cells_clear(Cells *c);
void cells_free(Cells *c);
/* Notes an access to bytes [at, at + a->bytes) of cells, and tells where it races. memory: those
** bytes before it; value: what a plain write stores, else NULL. */
void race_check(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at, const Touch *now,
                const uint8_t *memory, const void *value);
/* The same of an access that is neither atomic nor strong, where all that it might race with is
** over. Else false: race_check is to say what it is. */
bool race_is_none(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at, const Touch *now,
                  const uint8_t *memory, const void *value);

#endif
