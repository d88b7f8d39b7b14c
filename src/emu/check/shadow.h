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
    uint16_t order;             /* ORDER_… */
    int ptx_line, src_line;
} Touch;

/* What of a block's accesses is known to be over: all before its barrier number `epoch`, and behind
** it those of some lanes of some warps up to `time`. */
typedef struct Past {
    uint32_t block, epoch;
    uint32_t warps, lanes;
    uint64_t time;
} Past;

typedef struct Pasts { /* one a block, by index */
    Past *at;
    int n, cap;
} Pasts;

/* Blocks `from` to `to`, whose reads up to a time are over; some, in the order of blocks. */
typedef struct Span {
    uint32_t from, to;
    uint64_t time;
} Span;

typedef struct Spans {
    Span *at;
    int n, cap;
} Spans;

typedef enum Scope { FENCE_BLOCK, FENCE_CLUSTER, FENCE_GPU, FENCE_SCOPES } Scope;

/* What a thread has taken over since its block's last barrier: seen in places, without a fence
** behind it yet, and known. */
typedef struct Mind {
    Pasts seen[FENCE_SCOPES], knows;
    Pasts glimpsed;        /* what strong accesses may count on without a fence: not from locks */
    uint64_t key, version; /* of the place that it read last */
} Mind;

/* A thread that has a lock, or had it: from its compare-and-swap on, until its first fence of a
** scope or until it gave the lock back. */
typedef struct Bare {
    uint32_t block;
    int thread;
    uint64_t from, to[FENCE_SCOPES]; /* 0: not yet */
} Bare;

typedef struct Hold {  /* a thread's last lock */
    uint64_t key, was; /* where; what was there */
    Bare bare, before; /* its own; who had it before: to 0, nobody */
} Hold;

typedef struct Met { /* the lanes that a lane met by bar.warp.sync, or by a chain, in an epoch */
    uint32_t epoch, lanes;
} Met;

/* A running block's place in the order of things. */
typedef struct BlockOrder {
    uint32_t block, epoch; /* index in the grid; barriers that were passed */
    unsigned grid[2], cluster[3]; /* blocks along x and y; those of a cluster */
    /* per warp, a vector clock for each lane: met[w][i][j] is the last epoch of lane j that lane i
    ** knows to be over; its own, met[w][i][i] + 1, lasts until its next bar.warp.sync */
    uint32_t met[LANES][LANES][LANES];
    Met met_now[LANES][LANES];
    Past fence[FENCE_SCOPES][MOST_THREADS]; /* what each thread's last one covers; time 0: none */
    Past fenced[FENCE_SCOPES];              /* what all fences before the last barrier cover */
    Past fencing[FENCE_SCOPES];             /* … and those since */
    bool any_fence, any_known;
    Pasts known, warp_known[LANES]; /* as in Mind, of all threads and of those of each warp */
    Spans read;                     /* of other blocks */
    Mind *mind;                     /* by thread; NULL: nobody took anything */
    uint32_t minds[LANES];          /* by warp: lanes whose mind is not empty */
    Hold *hold;                     /* by thread; NULL: nobody took a lock */
    uint32_t holds[LANES];          /* by warp: lanes that have one, */
    uint32_t doubts[LANES];         /* and those whose last holder did something before it fenced */
} BlockOrder;

/* What a place in memory hands on from those who write to it to those who read it. */
typedef struct Handover {
    uint64_t key; /* 0: free */
    uint64_t version; /* how often somebody gave */
    uint32_t giver;   /* the block that gave last */
    Pasts pasts[FENCE_SCOPES];
    Spans read;
    Bare bare; /* the last holder, if it is a lock */
} Handover;

typedef struct Handovers { /* a hash table: cap is 0 or a power of two */
    Handover *at;
    int n, cap;
} Handovers;

/* order.c */
void order_begin(BlockOrder *b, uint32_t block, const unsigned grid[3], const unsigned cluster[3]);
/* The scope of an access; the least one that has a block, too. */
static inline Scope scope_of(unsigned order) {
    return order & ORDER_BLOCK ? FENCE_BLOCK : order & ORDER_CLUSTER ? FENCE_CLUSTER : FENCE_GPU;
}
Scope order_scope(const BlockOrder *b, uint32_t block);
void order_barrier(BlockOrder *b);
void order_meet(BlockOrder *b, const BlockOrder *other); /* what it did so far is over for b */
void order_warp_sync(BlockOrder *b, int warp, uint32_t lanes);
/* The two halves of a fence. */
void order_release(BlockOrder *b, int thread, uint64_t time, Scope scope);
void order_acquire(BlockOrder *b, int thread, Scope scope);
/* A strong access by a thread to the place `key`: a read sees what is handed over there, a write
** hands over what the thread released. is_lock: it is a compare-and-swap; replaces: a plain store,
** no atomic. */
void order_take(BlockOrder *b, const Handovers *h, uint64_t key, int thread, Scope scope,
                bool is_lock);
void order_give(const BlockOrder *b, Handovers *h, uint64_t key, int thread, Scope scope,
                bool replaces);
/* A strong store: the block's earlier reads happen before the later writes of a thread that reads
** the stored value. */
void order_give_reads(const BlockOrder *b, Handovers *h, uint64_t key, uint64_t time);
bool order_read_is_over(const BlockOrder *b, const Touch *then);
/* Is `then` over for a thread that is about to do something, strong or not? */
bool order_is_over(const BlockOrder *b, const Touch *then, int thread, bool strong);
Handover *handover_at(const Handovers *h, uint64_t key); /* NULL: none */
void order_free(BlockOrder *b);
void handovers_free(Handovers *h);

/* lock.c. A compare-and-swap changed the word `key` from `was`; a write put `value` there. */
void lock_take(BlockOrder *b, const Handovers *h, uint64_t key, int thread, uint64_t time,
               uint64_t was);
void lock_give(BlockOrder *b, const Handovers *h, uint64_t key, int thread, uint64_t time,
               uint64_t value);
void lock_fence(BlockOrder *b, int thread, uint64_t time, Scope scope);
void lock_barrier(BlockOrder *b);
/* Was `then` done under the lock that the thread has, by one that had not fenced? */
bool lock_is_bare(const BlockOrder *b, const Touch *then, int thread);

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
/* Notes a plain access (neither atomic nor strong) by all active lanes, each to the cells from
** from + at[lane] on and the bytes from memory + at[lane] on; values: what they store, a->bytes
** each, else NULL. now gets its thread here. Returns false if something that it might race with is
** not over: race_check says what it is. */
bool race_is_none(const Access *a, const BlockOrder *b, Cells *cells, uint64_t from,
                  const uint64_t *at, Touch now, const uint8_t *memory, const uint8_t *values);
bool race_last_write(const Cells *cells, uint64_t at, Touch *out);
/* Who wrote to a byte last; false: nobody did. */
bool race_writer(const Cells *cells, uint64_t at, uint32_t *block, int *thread);

#endif
