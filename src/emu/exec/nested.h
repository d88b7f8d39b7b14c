/* nested.h - launches that kernels make, CUDA's dynamic parallelism (CDP2). Private to src/emu.
**
** What a grid launches, copies and fills runs when it has ended, one after the other in the order
** in which it was asked for, each grid with all that it launches itself; last what was launched as
** its tail. That is an order that a GPU may choose, whatever streams and events are named: a grid
** may not wait for what it launched. Their figures are added to those of the launch they come from.
*/
#ifndef GILUA_EMU_NESTED_H
#define GILUA_EMU_NESTED_H

#include "emu/core.h"

/* Functions that kernels call; imm: their CallForm. */
bool nested_arguments(Machine *m, Warp *w, const Ins *in); /* room for those of a launch */
bool nested_launch(Machine *m, Warp *w, const Ins *in);
bool nested_copy(Machine *m, Warp *w, const Ins *in);
bool nested_set(Machine *m, Warp *w, const Ins *in);
bool nested_malloc(Machine *m, Warp *w, const Ins *in);
bool nested_free(Machine *m, Warp *w, const Ins *in);
bool nested_last_error(Machine *m, Warp *w, const Ins *in);
bool nested_peek_error(Machine *m, Warp *w, const Ins *in);
bool nested_error_text(Machine *m, Warp *w, const Ins *in);
bool nested_handle(Machine *m, Warp *w, const Ins *in);  /* makes a stream or an event */
bool nested_nothing(Machine *m, Warp *w, const Ins *in); /* what the order makes needless */

/* The grid of m has ended: what it launched runs, unless there was a fault. */
void nested_finish(Machine *m);

#endif
