/* layouts.c - which loads and stores share a Layout (exec_layout.h), and where it is known to hold.
**
** Accesses by one register lie alike, whatever is added to it, as long as it holds the same: within
** a basic block the first of them compares the lanes' distances, the others need not. What the
** decoder remembers of this ends where the register is written and where other paths of the warp
** may run. Accesses of other sizes, and stores beside loads, have other layouts. */
#include "emu/decode/decode.h"

#include <stdlib.h>

enum { NEAR = 64 }; /* how far back a form is looked for that has the layout */

static bool has_layout(const MemForm *f) {
    if (f->bound == BOUND_SHARED) return f->bytes >= 4; /* of bytes, banks do not follow from it */
    return (f->bound == BOUND_GLOBAL || f->bound == BOUND_ANY) && f->wide_base;
}

static bool is_alike(const MemForm *f, const MemForm *g) {
    return f->base_reg == g->base_reg && f->bound == g->bound && f->bytes == g->bytes &&
           f->is_store == g->is_store;
}

static uint32_t find_layout(Decoder *d, const MemForm *f) {
    const Code *code = d->code;
    for (int i = code->n_mem - 1; i >= 0 && i >= code->n_mem - NEAR; i--)
        if (code->mem[i].layout && is_alike(f, &code->mem[i])) return code->mem[i].layout;
    return (uint32_t)++d->code->n_layouts;
}

static bool is_held(const Decoder *d, uint32_t layout) {
    for (int i = 0; i < d->n_held; i++)
        if (d->held[i].layout == layout) return true;
    return false;
}

/* A load that has the base of the one before may be done without a look at its layout. */
static void hold(Decoder *d, const MemForm *f) {
    if (f->same_base || d->n_held == MOST_HELD) return;
    d->held[d->n_held].layout = f->layout;
    d->held[d->n_held++].reg = f->base_reg;
}

void layouts_find(Decoder *d, const PtxOperand *base, MemForm *f) {
    f->base_reg = base->kind == PTX_OP_REG ? base->reg : -1;
    if (f->base_reg < 0 || !has_layout(f)) return;
    f->layout = find_layout(d, f);
    f->same_layout = is_held(d, f->layout);
    if (!f->same_layout) hold(d, f);
}

void layouts_forget(Decoder *d, int reg) {
    int n = 0;
    for (int i = 0; i < d->n_held; i++)
        if (d->held[i].reg != reg) d->held[n++] = d->held[i];
    d->n_held = n;
}

static void find_alone(Code *code) {
    int *uses = gi_alloc(((size_t)code->n_layouts + 1) * sizeof *uses);
    for (int k = 0; k < code->n_mem; k++) uses[code->mem[k].layout]++;
    for (int k = 0; k < code->n_mem; k++) code->mem[k].is_alone = uses[code->mem[k].layout] == 1;
    free(uses);
}

void layouts_number(EmuModule *mod) {
    for (int i = 0; i < mod->n_code; i++) {
        Code *code = &mod->code[i];
        find_alone(code);
        for (int k = 0; k < code->n_mem; k++) {
            MemForm *f = &code->mem[k];
            if (f->layout == 0) continue;
            f->layout += (uint32_t)mod->n_layouts;
            if (f->bound != BOUND_SHARED) f->lines = (uint32_t)mod->n_lines++;
        }
        mod->n_layouts += code->n_layouts;
    }
}
