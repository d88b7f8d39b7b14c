/* turns.h - launches of a recording that need not wait for each other: what each of them touched,
** from which that is found; on which stream each of them goes then; how long all of them take.
**
** The model of time is simple. A launch of B blocks has a share of the GPU's S multiprocessors,
** B / S, at most all of them; one that moves more has its share of the memory's time, part_memory
** of its ticks. It takes what it takes alone. It begins once what it waits for has ended, and those
** that are under way leave its share; of several the first of the recording begins first. So two
** that fit together take as long as the longer one; if one of them fills the GPU they take as long
** as one after the other. What events cost is not in it.
*/
#ifndef GILUA_REPLAY_TURNS_H
#define GILUA_REPLAY_TURNS_H

#include "emu/emu.h"

enum { REPLAY_STREAMS = 4 };

typedef struct ReplayTurn {         /* of a launch */
    uint32_t stream;                /* from 0 */
    uint32_t after[REPLAY_STREAMS]; /* the launch of each stream that has to end before, from 1; 0:
                                      none. It waits for those before it in its own stream anyway */
} ReplayTurn;

/* "usage": does each wait for earlier ones alone, of the streams that it says, and is it one of
** these for each of so many launches? */
bool replay_turns_check(const ReplayTurn *turns, int n, int n_launches, gi_err *err);

typedef struct ReplayTaken { /* what a launch took */
    double ticks, share;     /* share: of the GPU, at most 1 */
} ReplayTaken;

double replay_share(const EmuModel *model, const unsigned grid[3], const EmuResult *r);
/* Ticks of n launches together. The turns have been checked. */
double replay_together(const ReplayTurn *turns, const ReplayTaken *taken, int n);

typedef struct ReplayTouch { /* memory that a launch read or wrote */
    int launch;              /* from 0 */
    uint64_t address;        /* of an allocation; 0: a variable of a module, whichever */
    unsigned how;            /* of EmuReach; 0: whatever there is, for all that is known */
} ReplayTouch;

typedef struct ReplayTouches {
    ReplayTouch *list;
    int n, cap;
} ReplayTouches;

/* Adds those of the launch that just ended; constants and gilua's own variables are none. */
void replay_touched(ReplayTouches *t, const Emu *e, int launch, bool is_known);

#endif
