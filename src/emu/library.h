/* library.h - the functions that CUDA provides to kernels: printf, assert, malloc and free. Private
** to src/emu. imm of each call's instruction: its CallForm. Launches are in nested.h. */
#ifndef GILUA_EMU_LIBRARY_H
#define GILUA_EMU_LIBRARY_H

#include "emu/core.h"

/* What a call of one lane brings, in up to 8 bytes, and in any number; and what it takes back. */
uint64_t library_argument(const Warp *w, const CallForm *f, int lane, int k);
const uint8_t *library_bytes(const Warp *w, const CallForm *f, int lane, int k);
void library_give(const Warp *w, const CallForm *f, int lane, uint64_t value);

/* An object of the heap; 0: there is no room. It goes; false after a fault. */
uint64_t library_object(Machine *m, const Warp *w, int lane, uint64_t size);
bool library_release(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address);

bool library_print(Machine *m, Warp *w, const Ins *in);
bool library_assert(Machine *m, Warp *w, const Ins *in);
bool library_malloc(Machine *m, Warp *w, const Ins *in);
bool library_free(Machine *m, Warp *w, const Ins *in);

#endif
