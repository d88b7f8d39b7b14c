/* profile.h - what each line of a kernel's source costs: for `gilua profile`.
**
** While a launch runs, what an instruction adds to the cost model's counts (cost.h) goes to a spot
** of its own. How often it ran, its issue slots, and how long a warp alone waits for the results it
** needs, follow from its basic block. When the launch has ended the spots of a line are summed up.
**
** Limits: one thread runs the launch; what kernels launch themselves is left out; waits for atomics
** and constants count as slots or not at all; lines of headers count for the line that includes
** their code, or for none (0).
*/
#ifndef GILUA_EMU_PROFILE_H
#define GILUA_EMU_PROFILE_H

#include "emu/emu.h"

struct Machine;
struct Warp;
struct Ins;

typedef struct Spot {
    double near, far;   /* clocks that warps wait for this load: from the L2 cache; from DRAM */
    double barrier;     /* clocks that warps wait at this barrier */
    double slots;       /* beyond those of every execution */
    uint64_t requests, sectors, conflicts;
} Spot;

typedef struct Profile {
    Spot *spot;     /* per instruction of the module */
    int *first;     /* of each function: its first spot */
    Spot *now;      /* of the instruction that runs */
    double slots;   /* the launch's counts when it began */
    uint64_t sectors, conflicts;
} Profile;

void profile_begin(struct Machine *m);
/* An instruction is about to run. */
void profile_step(struct Machine *m, struct Warp *w, const struct Ins *in);
/* The warp goes on behind its barrier after so many clocks. */
void profile_barrier(struct Machine *m, const struct Warp *w, double clocks);
/* Adds the launch to what it shall be added to, and frees the spots. */
void profile_end(struct Machine *m, int resident);

#endif
