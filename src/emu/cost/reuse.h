/* reuse.h - which sectors that a block's L1 lacks come from elsewhere than its own L2: from the L1,
** where another block of the SM has just read them; from DRAM, where L2 has lost them again.
**
** Blocks run one after the other here and side by side on a GPU, so distances between two accesses
** to a line cannot be counted as they come. Accesses beyond the L1 are kept, those of all lines or
** of a sample of them (by a hash of the line: Waldspurger and others, "Efficient MRC construction
** with SHARDS", FAST 2015), and put in the order in which a GPU makes them: wave by wave, in each
** by the clock of the warp. They then go through a cache for each SM and one for all, which keep
** the lines used last and are smaller by the share of lines that the sample has.
*/
#ifndef GILUA_EMU_REUSE_H
#define GILUA_EMU_REUSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ReuseAccess {
    uint32_t block, clock;
    uint64_t line; /* its name << 5 | is a store << 4 | sectors */
} ReuseAccess;

typedef struct Reuse {
    ReuseAccess *at;
    int n, cap;
    uint32_t skip;  /* lines whose hash has one of these bits are left out */
    uint32_t block; /* of what comes next, and its warp's clock */
    uint32_t clock;
} Reuse;

enum { REUSE_STORE = 16 };

/* Takes down an access to sectors of a line. A large list becomes a sample of half as many lines:
** which lines are in it when the launch ends does not depend on the order in which they came. */
void reuse_add(Reuse *r, uint64_t line);
void reuse_move(Reuse *to, Reuse *from);
void reuse_forget(Reuse *r);

static inline bool reuse_wants(const Reuse *r, uint32_t hash) {
    return (hash & r->skip) == 0;
}

typedef struct ReuseCaches {
    int sms;
    uint64_t wave;               /* blocks that run side by side */
    double l1_lines, l2_lines;   /* of an SM; of the GPU */
} ReuseCaches;

typedef struct ReuseFound { /* sectors found, and lines with at least one of them */
    double from_l1, lines_from_l1; /* loads that another block of the SM made cheap */
    double lost, lost_lines;       /* in L2 before, and no more */
} ReuseFound;

ReuseFound reuse_replay(const Reuse *r, const ReuseCaches *caches);

#endif
