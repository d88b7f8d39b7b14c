/* over_reals.h - what the host of a recorded program does with memory, for a certificate
** (docs/certificate.md, emu_exact_program). Private to src/replay.
*/
#ifndef GILUA_REPLAY_OVER_REALS_H
#define GILUA_REPLAY_OVER_REALS_H

#include "replay/events.h"

typedef struct ReplayMoved { /* a write, fill, copy or read */
    uint64_t to, from;       /* addresses here */
    int line;                /* the event's */
    bool is_variable;        /* `to` is in a variable that the program names */
    const uint8_t *first;    /* bytes of its first row; of a read all rows, one behind the other */
} ReplayMoved;

/* Gives the words of all rows: inputs, constants, those of another place; takes answers. */
void replay_over_reals(EmuExact *x, const Event *e, const ReplayMoved *m);

#endif
