/* replay.h - runs a recording (record/record.h) again on the virtual GPU, as it was or with other
** device code in a module's place, and says what the host would have got.
**
** Everything has the address that it had when it was recorded, so pointers are pointers wherever
** they are kept: in arguments, in structs, in memory. A host loop that ended on what it read is
** replayed as it went then. What opaque launches (of machine code) wrote is written as it was;
** where other code does such a launch it is an answer, among the reads. Equal recordings, code and
** options give equal results, to the bit.
*/
#ifndef GILUA_REPLAY_H
#define GILUA_REPLAY_H

#include "base/base.h"
#include "emu/emu.h"
#include "record/record.h"
#include "replay/turns.h"

typedef struct ReplayCode { /* in the place of a module's */
    int module;             /* its number in the recording */
    const char *ptx;
    size_t len;
} ReplayCode;

typedef struct ReplayVariable { /* of other code: what it begins with, and holds in the end */
    const char *name;
    const void *begins; /* NULL: with what the code says */
    size_t bytes;       /* of begins; a variable of another size is left alone */
} ReplayVariable;

typedef struct ReplayShape { /* of a launch; what begins with 0: as it was */
    unsigned grid[3], block[3];
} ReplayShape;

/* Two launches as one, of a kernel that does what both do: the first is put off, and its arguments
** stand before those of the next, which begin at this byte, as a struct. 0: nothing of the kind. */
typedef uint32_t ReplayJoin;

enum { REPLAY_JOIN_PAD = 8 }; /* a struct may have fewer bytes than that behind its last field */

typedef struct ReplayOptions {
    const EmuModel *model;
    const ReplayCode *code;
    int n_code;
    bool partial; /* what other code has no kernel for runs as recorded; false: it is no code */
    const ReplayVariable *variables;
    int n_variables;
    const ReplayShape *shapes; /* of the first n_shapes launches */
    int n_shapes;
    const ReplayJoin *joins; /* of the first n_joins launches; a joined one is what the first of
                                the two was, in its shape */
    int n_joins;
    const ReplayTurn *turns;  /* of all launches: their time is as if each went on when it may; they
                                 run in the recording's order all the same. NULL: that is it */
    int n_turns;
    bool touches;             /* what each launch touched is wanted */
    uint64_t budget;          /* warp instructions of all launches together; 0: the emulator's for
                                 each */
    uint64_t memory_bytes;    /* that all it asks for may take together; 0: no limit */
    bool count_uninitialised; /* as of EmuLaunch … */
    EmuRaces check_races;
    bool refuse_benign_races, meets, backwards;
    EmuExact *exact; /* NULL, or what the launches mean over the reals is added to it, and what the
                        host got are its answers */
    const volatile int *interrupt;
} ReplayOptions;

/* The shape of the n-th launch: what options say of its grid and block, or what was recorded. */
ReplayShape replay_shape(const ReplayShape *shapes, int n_shapes, int n, const unsigned grid[3],
                         const unsigned block[3]);

/* Arguments of two launches, and a pad of zeros, to free(): *bytes are those of the second, and
** become all but the pad. */
uint8_t *replay_joined(const uint8_t *first, size_t first_bytes, ReplayJoin at,
                       const uint8_t *second, size_t *bytes);

typedef struct ReplayKernel {
    char *name;
    int launches;
    double ns, ticks;
} ReplayKernel;

typedef struct ReplayRead { /* what the host got */
    char name[RECORD_NAME]; /* of what it got when it was recorded */
    void *bytes;
    size_t size;
    bool same; /* as then */
} ReplayRead;

typedef struct ReplayHeld { /* what a variable of the options held in the end */
    void *bytes;            /* NULL: no other code has it */
    size_t size;
} ReplayHeld;

typedef struct ReplayResult {
    EmuStatus status;    /* EMU_OK, or of the launch that ended it */
    char message[600];   /* why */
    int line;            /* of the event that ended it, from 1; 0 */
    double ticks, ns, energy_j; /* of all launches, as their turns are */
    uint64_t warp_instructions;
    EmuWork work;       /* of all launches … */
    double part_launch; /* … and ticks that these themselves take: two that are joined are one */
    ReplayKernel *kernels; /* in the order of their first launches */
    int n_kernels;
    ReplayRead *reads;
    int n_reads;
    ReplayHeld *held; /* in the order of the options' variables */
    int n_held;
    int n_launches;
    ReplayTouches touches; /* in the order of the launches */
    EmuFindings warnings; /* of the first launch that has any */
    EmuMeets meets;       /* of all launches */
} ReplayResult;

/* Is each of its lines one that a recorder writes, of data that are there? Nothing is taken or run:
** what is wrong otherwise only a replay finds. */
bool replay_check(const Recording *r, gi_err *err);

/* False where the recording cannot be replayed ("format": it is damaged, or has what is not known
** here; "compile": code that does not load, or lacks a kernel that is launched; "nomem"). What
** kernels do wrong is in out->status. */
bool replay_run(const Recording *r, const ReplayOptions *options, ReplayResult *out, gi_err *err);
void replay_free(ReplayResult *r);

#endif
