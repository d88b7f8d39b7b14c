/* native.h - the compiler of the virtual GPU: machine code for the straight parts of kernels.
**
** A run is a row of instructions without control flow. Its arithmetic becomes instructions of
** AVX-512 that keep rows of lanes in registers from one instruction to the next; what it does not
** know is a call of the interpreter for one instruction. exec.c enters a run where a basic block
** begins or a warp goes on, if no dead lane would be woken; else it interprets the same
** instructions. Both leave the same bits in the register file, the same ticks and the same faults.
**
** Compiling takes less than a microsecond an instruction, so that all runs are compiled when a
** module is first launched. Without AVX-512, and where checks watch each access, exec.c interprets.
*/
#ifndef GILUA_EMU_NATIVE_H
#define GILUA_EMU_NATIVE_H

#include "emu/core.h"

/* False after a fault. */
typedef bool (*NativeFn)(Machine *m, Warp *w, uint8_t *file);

typedef struct NativeRun {
    NativeFn fn; /* NULL: none begins here */
    size_t at;   /* in the module's code */
    int n;       /* instructions */
} NativeRun;

/* Compiles the functions of a module, once: Code.native has a NativeRun for each instruction. Where
** the system gives no memory that can be executed, there is none. */
void native_compile(EmuModule *mod);
void native_free(EmuModule *mod);

/* Run one instruction: a load or store, a plain load of shared memory, a fetch, any other but
** control flow. False after a fault. In exec_avx512.c. */
bool native_memory(Machine *m, Warp *w, const Ins *in);
bool native_shared(Machine *m, Warp *w, const Ins *in);
bool native_texture(Machine *m, Warp *w, const Ins *in);
bool native_other(Machine *m, Warp *w, const Ins *in);

/* Does a launch run compiled code? Not where it goes on after a fault: lanes that were left out
** have what was in their rows before, and compiled code does not store what nobody reads. */
static inline bool native_runs(const Machine *m) {
    if (m->launch->max_faults > 1) return false;
    return m->emu->native && m->emu->vectors == VECTORS_AVX512 && m->layouts && !m->shadow &&
           !m->profile;
}

#endif
