/* library.h - the functions that CUDA provides to kernels: printf, assert, malloc and free. Private
** to src/emu. imm of each call's instruction: its CallForm. */
#ifndef GILUA_EMU_LIBRARY_H
#define GILUA_EMU_LIBRARY_H

#include "emu/core.h"

bool library_print(Machine *m, Warp *w, const Ins *in);
bool library_assert(Machine *m, Warp *w, const Ins *in);
bool library_malloc(Machine *m, Warp *w, const Ins *in);
bool library_free(Machine *m, Warp *w, const Ins *in);

#endif
