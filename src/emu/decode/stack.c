/* stack.c - how much stack a thread has, and what of it calls and alloca take.
**
** The driver gives each thread what a kernel is known to need, and at least the limit that the
** program set (cudaLimitStackSize, 1 KB by default). What is known beforehand is what functions
** need that call each other in no circle; recursion, calls by address and alloca find the limit. A
** call takes the frame that ptxas gives its function where a recursion comes near the limit and
** ptxas is there; else its function's arrays and STACK_CALL bytes. Measured on an H200 (driver
** 580): two recursive functions with arrays of 64 and 1024 bytes fail at exactly the depths that
** this gives, for limits from 512 bytes to 64 KB.
*/
#include "emu/core.h"

#include <stdlib.h>
#include <string.h>

enum { ASKED_FROM = 4 }; /* ptxas is run if the estimate is at least a fourth of the limit */

void emu_stack_limit(Emu *e, size_t bytes) {
    e->model.local_per_thread = (double)bytes;
}

/* Marks every function that this one may come to; seen: one byte each. */
static void reach(const EmuModule *mod, const Code *code, uint8_t *seen) {
    for (int k = 0; k < code->n_call; k++) {
        int callee = code->call[k].func;
        if (callee < 0 || seen[callee]) continue;
        seen[callee] = 1;
        reach(mod, &mod->code[callee], seen);
    }
}

static bool is_recursive(const EmuModule *mod, int index) {
    uint8_t *seen = gi_alloc((size_t)mod->n_code + 1);
    memset(seen, 0, (size_t)mod->n_code + 1);
    reach(mod, &mod->code[index], seen);
    bool found = seen[index];
    free(seen);
    return found;
}

/* Bytes that a function and those it calls need, which are in no circle; need: -1 for those that
** are not known yet. */
static double known_need(const EmuModule *mod, int index, double *need) {
    const Code *code = &mod->code[index];
    double most = 0;
    if (need[index] >= 0) return need[index];
    for (int k = 0; k < code->n_call; k++) {
        int callee = code->call[k].func;
        if (callee < 0 || is_recursive(mod, callee)) continue;
        double more = known_need(mod, callee, need) + STACK_CALL;
        if (more > most) most = more;
    }
    return need[index] = code->local_bytes + most;
}

static double stack_room(const Machine *m) {
    const EmuModule *mod = m->mod;
    double *need = gi_alloc((size_t)(mod->n_code + 1) * sizeof *need);
    for (int i = 0; i < mod->n_code; i++) need[i] = -1;
    double known = known_need(mod, m->entry->index, need);
    free(need);
    return known > m->model->local_per_thread ? known : m->model->local_per_thread;
}

static double estimated_frame(const Code *callee) {
    return callee ? (double)callee->local_bytes + STACK_CALL : 0;
}

static double stack_used(const Warp *w, int *depth) {
    *depth = 1;
    for (int i = w->frame; i != 0; i = w->s.frame[i].caller) ++*depth;
    return (double)w->local_top + (double)STACK_CALL * (*depth - 1);
}

/* By how much ptxas' frame of a function, in units of 16 bytes, is larger than the estimate. Only a
** recursion asks: what else calls has few frames. */
static double correction(const Machine *m, Code *code) {
    if (code == NULL || code == m->entry) return 0;
    if (code->frame == 0 && !is_recursive(m->mod, code->index)) code->frame = -1;
    int frame = launch_frame(m, code);
    return frame < 0 ? 0 : ((frame + 15) & ~15) - estimated_frame(code);
}

static double corrections(const Machine *m, const Warp *w, Code *callee) {
    double sum = correction(m, callee);
    for (int i = w->frame; i != 0; i = w->s.frame[i].caller)
        sum += correction(m, w->s.frame[i].code);
    return sum;
}

bool stack_overflow(Machine *m, Warp *w, const Ins *in, double bytes, Code *callee) {
    int depth;
    double used = stack_used(w, &depth) + estimated_frame(callee) + bytes;
    if (used <= m->model->local_per_thread / ASKED_FROM) return false;
    used += corrections(m, w, callee);
    if (used <= m->model->local_per_thread) return false;
    double room = stack_room(m);
    if (used <= room) return false;
    m->cause = EMU_CAUSE_STACK;
    fault_raise(m, w, in, -1, EMU_LAUNCH_ERROR,
                "stack overflow: %s%.180s at depth %d needs %.0f bytes of stack a thread, and "
                "there are %.0f (cudaLimitStackSize)",
                callee ? "call of " : "alloca", callee ? callee->func->name : "", depth, used,
                room);
    return true;
}
