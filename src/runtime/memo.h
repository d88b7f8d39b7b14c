/* memo.h - launches that need not run again: what one computes depends on its arguments and on the
** memory it reaches alone, so one that was seen before, on equal memory, leaves what it left then.
** Private to src/runtime.
**
** A habit is all launches of one kernel with equal shape and arguments. Of some of them a memo is
** kept: the hashes of all memory reached, before and after, and the bytes of what changed. Memory
** that it only wrote may also hold what the launch left there: it would store the same to the same
** places again.
** What a launch reaches is known once it has run. Before the first of a habit its pointers say what
** that may be: if it read anything else it is not kept. Keeping costs time, by the bytes reached:
** it is done while there is credit, which launches that run bring in and those that are left out.
** Without it launches are tried seldom: a habit's 2nd, 4th, 8th …, and its first if it is its
** kernel's 1st, 2nd, 4th … But where one was found again, a longer sequence may be repeating: then
** all are kept for a while.
*/
#ifndef GILUA_RUNTIME_MEMO_H
#define GILUA_RUNTIME_MEMO_H

#include "runtime/op.h"

typedef struct Figures { /* of a launch, for the profile */
    double ticks, ns, occupancy, issue, latency, memory;
    uint64_t warp_instructions, lane_instructions, global_sectors;
    int registers;
    size_t shared_bytes;
} Figures;

typedef struct Habit Habit;

Habit *memo_habit(const OpLaunch *l);
/* Was it run before, on equal memory? Then the memory is as it was after that, and *out is what it
** took. */
bool memo_find(Habit *h, Figures *out);
/* Has it run as often as --repeats allows? *out: what the last one took. */
bool memo_capped(const Habit *h, Figures *out);
/* Around a launch that runs. plain: it did nothing but compute, so that it may be left out. */
void memo_before(Habit *h, const OpLaunch *l);
void memo_after(Habit *h, const Figures *took, bool plain);
/* Returns the bytes that memos may hold; they hold `kept`, and so many more are free: an eighth of
** what would be free without them, and no more than 4 GiB. So programs that run beside each other
** leave each other room. */
static inline size_t memo_most(size_t available, size_t kept) {
    const size_t eighth = available / 8 + kept / 8, most = (size_t)4 << 30;
    return eighth < most ? eighth : most;
}
/* The last launch is of no habit: what it reached may be something else now. */
void memo_unknown(void);

#endif
