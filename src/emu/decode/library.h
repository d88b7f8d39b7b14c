/* library.h - the functions that CUDA provides to kernels: printf, assert, malloc and free. Private
** to src/emu. imm of each call's instruction: its CallForm. Launches are in nested.h. */
#ifndef GILUA_EMU_LIBRARY_H
#define GILUA_EMU_LIBRARY_H

#include "emu/decode/bounds.h"

/* A row of BOUND_CALLS. */
typedef struct Provided {
    const char *name;
    SlowFn run;
    uint8_t cost, result;
    struct ProvidedArg {
        uint8_t bytes, bound;
    } arg[5];
} Provided;

/* What a call of one lane brings, in up to 8 bytes, and in any number; and what it takes back. An
** address is given to whoever says how it is checked: bound is that of the argument's row. */
uint64_t library_argument(const Warp *w, const CallForm *f, int lane, int k, Bound bound);
const uint8_t *library_bytes(const Warp *w, const CallForm *f, int lane, int k);
void library_give(const Warp *w, const CallForm *f, int lane, uint64_t value);

/* An object of the heap; 0: there is no room. That of argument 0 goes, if it is not null; false
** after a fault. */
uint64_t library_object(Machine *m, const Warp *w, int lane, uint64_t size);
bool library_release(Machine *m, Warp *w, const Ins *in, int lane);

bool library_print(Machine *m, Warp *w, const Ins *in);
bool library_assert(Machine *m, Warp *w, const Ins *in);
bool library_malloc(Machine *m, Warp *w, const Ins *in);
bool library_free(Machine *m, Warp *w, const Ins *in);

#endif
