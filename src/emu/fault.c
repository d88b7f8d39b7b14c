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
    const PtxFunc *here = w ? w->code->func : m->entry->func;
    const char *kernel = m->entry->func->name, *inside = here->name;
    size_t n = strlen(out);
    if (at && at->ptx_line) {
        const char *file = here->file ? here->file : "source";
        n += (size_t)snprintf(out + n, cap - n, ", PTX line %d", at->ptx_line);
        if (m->mod->ptx->n_parts > 1 && n < cap)
            n += (size_t)snprintf(out + n, cap - n, " of text %d", here->part + 1);
        if (at->src_line && n < cap)
            n += (size_t)snprintf(out + n, cap - n, ", %s line %d", file, at->src_line);
    }
    if (n < cap && strcmp(kernel, inside) != 0)
        n += (size_t)snprintf(out + n, cap - n, ", in function %s", inside);
    if (n < cap) snprintf(out + n, cap - n, ", kernel %s", kernel);
}

/* What happened at an instruction, in a sentence, and where. w and in may be NULL. */
void fault_describe(const Machine *m, const Warp *w, const Ins *in, int lane, const char *fmt,
                    va_list args, EmuFinding *out) {
    size_t cap = sizeof out->message;
    const InsPlace *at = w && in ? &w->code->place[in - w->code->ins] : NULL;
    vsnprintf(out->message, cap, fmt, args);
    out->kernel = m->entry->func->name;
    memcpy(out->block, m->ctaid, sizeof out->block);
    if (w) {
        size_t n = strlen(out->message);
        int who = lane >= 0 ? lane : w->active ? __builtin_ctz(w->active) : 0;
        thread_of(m, (unsigned)(w->index * LANES + who), out->thread);
        snprintf(out->message + n, cap - n, "; block (%u,%u,%u), %s (%u,%u,%u)", m->ctaid[0],
                 m->ctaid[1], m->ctaid[2], lane >= 0 ? "thread" : "warp of thread", out->thread[0],
                 out->thread[1], out->thread[2]);
    }
    if (at) out->ptx_line = at->ptx_line, out->src_line = at->src_line;
    add_place(m, w, at, out->message, cap);
}

/* Counts a finding that need not be told: one of this kind at this PTX line is there, or there is
** no room for another. */
static bool is_counted(EmuFindings *list, const char *kind, int ptx_line) {
    for (int i = 0; i < list->n; i++) {
        EmuFinding *f = &list->at[i];
        if (f->ptx_line != ptx_line || f->kind != kind) continue;
        f->count++;
        return true;
    }
    if (list->n == EMU_FINDINGS) list->left_out++;
    return list->n == EMU_FINDINGS;
}

/* A new finding, with count 1 and no message yet; NULL where it is counted with others. */
static EmuFinding *new_finding(EmuFindings *list, const char *kind, int ptx_line) {
    if (is_counted(list, kind, ptx_line)) return NULL;
    EmuFinding *f = &list->at[list->n++];
    *f = (EmuFinding){.kind = kind, .count = 1};
    return f; /* describe fills in the rest */
}

static int line_of(const Warp *w, const Ins *in) {
    return w && in ? w->code->place[in - w->code->ins].ptx_line : 0;
}

bool fault_is_noted(Machine *m, const Warp *w, const Ins *in, EmuWarning kind) {
    return is_counted(&m->result->warnings, emu_warning_name(kind), line_of(w, in));
}

bool fault_is_known(Machine *m, const Warp *w, const Ins *in, EmuStatus status) {
    return m->ended || is_counted(&m->result->faults, emu_status_name(status), line_of(w, in));
}

void fault_note(Machine *m, const Warp *w, const Ins *in, int lane, EmuWarning kind,
                const char *fmt, ...) {
    EmuFinding *f = new_finding(&m->result->warnings, emu_warning_name(kind), line_of(w, in));
    if (f == NULL) return;
    va_list args;
    va_start(args, fmt);
    fault_describe(m, w, in, lane, fmt, args, f);
    va_end(args);
}

void fault_add(EmuResult *r, const EmuFinding *f) {
    if (r->warnings.n < EMU_FINDINGS) r->warnings.at[r->warnings.n++] = *f;
    else r->warnings.left_out += f->count;
}

const char *emu_warning_name(EmuWarning w) {
    static const char *const names[] = {"uninitialised_read", "undefined_shuffle", "lanes_left",
                                        "benign_race",        "local_overrun",     "shared_overrun",
                                        "different_barriers", "undefined_value"};
    return names[w];
}

static void tell_first(const Machine *m, EmuStatus status, const EmuFinding *f) {
    EmuResult *r = m->result;
    r->status = status;
    r->cause = m->cause ? m->cause : EMU_CAUSE_FAULT;
    memcpy(r->message, f->message, sizeof r->message);
    memcpy(r->block, f->block, sizeof r->block);
    memcpy(r->thread, f->thread, sizeof r->thread);
    r->ptx_line = f->ptx_line, r->src_line = f->src_line;
}

static void record(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                   va_list args) {
    EmuFindings *list = &m->result->faults;
    EmuFinding *f = new_finding(list, emu_status_name(status), line_of(w, in));
    if (f == NULL) return;
    fault_describe(m, w, in, lane, fmt, args, f);
    if (list->n == 1) tell_first(m, status, f);
}

bool fault_raise(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                 ...) {
    if (m->ended) return false;
    va_list args;
    va_start(args, fmt);
    record(m, w, in, lane, status, fmt, args);
    va_end(args);
    m->ended = true;
    return false;
}

bool fault_access(Machine *m, Warp *w, const Ins *in, int lane, EmuStatus status, const char *fmt,
                  ...) {
    if (m->ended) return false;
    va_list args;
    va_start(args, fmt);
    record(m, w, in, lane, status, fmt, args);
    va_end(args);
    m->ended = m->result->faults.n >= m->launch->max_faults;
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
