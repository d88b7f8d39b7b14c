/* fault.c - says what a kernel did wrong, as compute-sanitizer would: what, where in memory, which
** block and thread, which line of the PTX and of the source, which kernel. */
#include "emu/core.h"

#include <stdio.h>
#include <string.h>

static void thread_of(const Machine *m, unsigned linear, unsigned out[3]) {
    const unsigned *b = m->launch->block;
    out[0] = linear % b[0];
    out[1] = linear / b[0] % b[1];
    out[2] = linear / b[0] / b[1];
}

static void add_place(const Machine *m, const Warp *w, const InsPlace *at, char *out, size_t cap) {
    const PtxModule *ptx = m->mod->ptx;
    const char *kernel = m->entry->func->name, *inside = w ? w->code->func->name : kernel;
    size_t n = strlen(out);
    if (at && at->ptx_line) {
        const char *file = ptx->n_files > 0 ? ptx->files[0] : "source";
        n += (size_t)snprintf(out + n, cap - n, ", PTX line %d", at->ptx_line);
        if (at->src_line && n < cap)
            n += (size_t)snprintf(out + n, cap - n, ", %s line %d", file, at->src_line);
    }
    if (n < cap && strcmp(kernel, inside) != 0)
        n += (size_t)snprintf(out + n, cap - n, ", in function %s", inside);
    if (n < cap) snprintf(out + n, cap - n, ", kernel %s", kernel);
}

bool fault_raise(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                 ...) {
    EmuResult *r = m->result;
    if (r->status != EMU_OK) return false;
    r->status = status;
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->message, sizeof r->message, fmt, args);
    va_end(args);
    size_t n = strlen(r->message), cap = sizeof r->message;
    const InsPlace *at = w && in ? &w->code->place[in - w->code->ins] : NULL;
    memcpy(r->block, m->ctaid, sizeof r->block);
    if (w) {
        int who = lane >= 0 ? lane : w->active ? __builtin_ctz(w->active) : 0;
        thread_of(m, (unsigned)(w->index * LANES + who), r->thread);
        n += (size_t)snprintf(r->message + n, cap - n, "; block (%u,%u,%u), %s (%u,%u,%u)",
                              m->ctaid[0], m->ctaid[1], m->ctaid[2],
                              lane >= 0 ? "thread" : "warp of thread", r->thread[0], r->thread[1],
                              r->thread[2]);
    }
    if (at) r->ptx_line = at->ptx_line, r->src_line = at->src_line;
    if (n < cap) add_place(m, w, at, r->message, cap);
    return false;
}

void fault_lanes(uint32_t mask, char *out, size_t cap) {
    size_t n = (size_t)snprintf(out, cap, "%s", mask & (mask - 1) ? "lanes" : "lane");
    for (int i = 0; i < LANES; i++) {
        if (!(mask >> i & 1)) continue;
        int end = i;
        while (end + 1 < LANES && mask >> (end + 1) & 1) end++;
        if (n < cap && end > i) n += (size_t)snprintf(out + n, cap - n, " %d-%d", i, end);
        else if (n < cap) n += (size_t)snprintf(out + n, cap - n, " %d", i);
        i = end;
    }
}
