/* patience.h - says so when a launch takes long: how many of its blocks are done, and how long the
** others take at that rate. Where no block has ended, the kernel may wait for what the host would
** write after the launch. It is said again after twice the time. Private to src/runtime. */
#ifndef GILUA_RUNTIME_PATIENCE_H
#define GILUA_RUNTIME_PATIENCE_H

#include "runtime/op.h"

/* Around a launch that runs. Returns where the launch keeps the number of blocks that have
** ended, or NULL if nobody asks. */
_Atomic uint64_t *patience_begin(const OpLaunch *l);
void patience_end(void);

#endif
