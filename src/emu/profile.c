/* profile.c - see profile.h. */
#include "emu/profile.h"

#include <stdlib.h>
#include <string.h>

#include "emu/cost/cost.h"
#include "emu/core.h"
#include "emu/decode/ops.h"

/* --- while a launch runs --- */

void profile_begin(Machine *m) {
    Profile *p = gi_alloc(sizeof *p);
    int n = 0;
    *p = (Profile){.first = gi_alloc((size_t)(m->mod->n_code + 1) * sizeof *p->first)};
    for (int i = 0; i < m->mod->n_code; i++) {
        p->first[i] = n;
        n += m->mod->code[i].n_ins;
    }
    p->spot = gi_alloc((size_t)(n + 1) * sizeof *p->spot);
    memset(p->spot, 0, (size_t)(n + 1) * sizeof *p->spot);
    m->profile = p;
}

static Spot *spots_of(const Profile *p, const Code *code) {
    return p->spot + p->first[code->index];
}

/* What the instruction that ran last has added. */
static void take(const Machine *m, Profile *p) {
    uint64_t sectors = m->result->global_sectors + m->result->texture_sectors;
    uint64_t conflicts = m->result->shared_conflicts;
    double slots = m->cost.extra[PIPE_ISSUE];
    if (p->now) {
        p->now->requests += sectors > p->sectors;
        p->now->sectors += sectors - p->sectors;
        p->now->conflicts += conflicts - p->conflicts;
        p->now->slots += slots - p->slots;
    }
    p->sectors = sectors, p->conflicts = conflicts, p->slots = slots;
}

void profile_step(Machine *m, Warp *w, const Ins *in) {
    Profile *p = m->profile;
    take(m, p);
    w->spots = spots_of(p, w->code);
    p->now = w->spots + (in - w->code->ins);
}

void profile_barrier(Machine *m, const Warp *w, double clocks) {
    spots_of(m->profile, w->code)[w->pc].barrier += clocks;
}

/* --- what is kept of all launches --- */

struct EmuProfile {
    EmuProfiled *kernel;
    int n, cap;
};

EmuProfile *emu_profile_new(void) {
    EmuProfile *p = gi_alloc(sizeof *p);
    *p = (EmuProfile){0};
    return p;
}

void emu_profile_free(EmuProfile *p) {
    if (p == NULL) return;
    for (int i = 0; i < p->n; i++) {
        free(p->kernel[i].name);
        free(p->kernel[i].file);
        free(p->kernel[i].line);
    }
    free(p->kernel);
    free(p);
}

int emu_profile_kernels(const EmuProfile *p) {
    return p->n;
}

const EmuProfiled *emu_profile_kernel(const EmuProfile *p, int i) {
    return &p->kernel[i];
}

static char *copy_of(const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(gi_alloc(n), text, n);
}

static EmuProfiled *kernel_of(EmuProfile *p, const Code *entry) {
    const char *name = entry->func->name, *file = entry->func->file ? entry->func->file : "";
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->kernel[i].name, name) == 0 && strcmp(p->kernel[i].file, file) == 0)
            return &p->kernel[i];
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 8;
        p->kernel = gi_realloc(p->kernel, (size_t)p->cap * sizeof *p->kernel);
    }
    p->kernel[p->n] = (EmuProfiled){.name = copy_of(name), .file = copy_of(file)};
    return &p->kernel[p->n++];
}

static EmuLineCost *line_of(EmuProfiled *k, int number) {
    for (int i = 0; i < k->n_lines; i++)
        if (k->line[i].number == number) return &k->line[i];
    k->line = gi_realloc(k->line, (size_t)(k->n_lines + 1) * sizeof *k->line);
    k->line[k->n_lines] = (EmuLineCost){.number = number};
    return &k->line[k->n_lines++];
}

/* --- the end of a launch --- */

static bool is_shared(const Code *code, const Ins *in) {
    if (in->op == OP_LOAD_SHARED) return true;
    return (in->op == OP_LDST || in->op == OP_LDST_ASK) &&
           code->mem[in->imm].space == PTX_SHARED;
}

static void add_spot(EmuLineCost *line, const Spot *s, double far) {
    line->slots += s->slots;
    line->memory += s->near + far * (s->far - s->near);
    line->barrier += s->barrier;
    line->requests += s->requests;
    line->sectors += s->sectors;
    line->conflicts += s->conflicts;
}

/* clock: when the instruction before it has issued, from the block's end on. */
static void add_static(EmuLineCost *line, const Code *code, int i, const CostCount *c,
                       double *clock) {
    const InsPlace *p = &code->place[i];
    double wait = (double)p->clock - *clock;
    line->instructions += c->runs;
    line->threads += c->lanes;
    line->slots += (double)p->slots * (double)c->runs;
    if (wait > 0) line->dependence += wait * (double)c->runs;
    if (is_shared(code, &code->ins[i])) line->shared += c->runs;
    *clock = (double)p->clock + (double)p->slots;
}

static void add_code(const Machine *m, const Code *code, EmuProfiled *to, double far) {
    const Spot *spot = spots_of(m->profile, code);
    const CostCount *count = NULL;
    double clock = 0;
    int last = -1;
    for (int i = 0; i < code->n_ins; i++) {
        const Ins *in = &code->ins[i];
        const InsPlace *p = &code->place[i];
        EmuLineCost *line = line_of(to, p->src_line);
        add_spot(line, &spot[i], far);
        if (in->op == OP_BLOCK) {
            count = &m->cost.count[in->b];
            clock = -((const CostBlock *)(uintptr_t)in->imm)->latency;
        } else if (count && count->runs && p->index >= 0 && p->index != last) {
            add_static(line, code, i, count, &clock);
            last = p->index;
        }
    }
}

/* What keeps an SM from holding more warps. */
static const char *limiter(const Machine *m, int resident) {
    const EmuModel *g = m->model;
    const EmuResult *r = m->result;
    const unsigned *grid = m->launch->grid;
    if ((double)grid[0] * grid[1] * grid[2] < resident * g->sms) return "blocks of the grid";
    if (r->occupancy >= 1) return "nothing";
    if (cost_resident(g, m->threads, 1, r->shared_bytes) > resident) return "registers";
    if (cost_resident(g, m->threads, r->registers, 0) > resident) return "shared memory";
    return (resident + 1) * m->threads > g->max_threads_per_sm ? "threads" : "blocks of an SM";
}

static int by_number(const void *a, const void *b) {
    const EmuLineCost *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

void profile_end(Machine *m, int resident) {
    Profile *p = m->profile;
    const EmuResult *r = m->result;
    take(m, p);
    EmuProfiled *k = kernel_of(m->launch->profile, m->entry);
    for (int i = 0; i < m->mod->n_code; i++) add_code(m, &m->mod->code[i], k, m->cost.far);
    qsort(k->line, (size_t)k->n_lines, sizeof *k->line, by_number);
    k->launches++;
    k->ticks += r->ticks;
    emu_work_add(&k->work, &r->work);
    k->registers = r->registers;
    k->shared_bytes = r->shared_bytes;
    k->occupancy = r->occupancy;
    k->limiter = limiter(m, resident);
    free(p->spot);
    free(p->first);
    free(p);
    m->profile = NULL;
}
