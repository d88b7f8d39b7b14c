/* nested.c - see nested.h. */
#include "emu/exec/nested.h"

#include "emu/exec/lanes.h"
#include "emu/decode/library.h"
#include "emu/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUDA's codes, numbers of streams and limits. */
enum {
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    INVALID_CONFIGURATION = 9,
    TOO_DEEP = 65,
    TOO_MANY = 69,
    INVALID_FUNCTION = 98
};
enum { TAIL_STREAM = 3, DEEPEST = 24, MOST_PENDING = 1 << 20 };

typedef enum WorkKind { WORK_GRID, WORK_COPY, WORK_SET } WorkKind;

typedef struct Work {
    WorkKind kind;
    bool is_tail;
    Code *entry; /* of a grid, with the next four */
    unsigned grid[3], block[3];
    uint32_t shared;
    uint64_t arguments;       /* address */
    uint64_t to, from, bytes; /* of a copy; of a set, from is the byte */
} Work;

typedef struct LastError { /* each thread has its own */
    uint64_t thread;
    uint32_t code;
} LastError;

struct Nested {
    Work *given, *asked; /* grids that have room for their arguments; what is to run, in order */
    int n_given, cap_given, n_asked, cap_asked;
    LastError *errors;
    int n_errors, cap_errors;
    uint64_t handles;
};

static Nested *nested_of(Machine *m) {
    if (m->nested == NULL) m->nested = gi_alloc(sizeof *m->nested);
    return m->nested;
}

/* --- errors --- */

static uint64_t thread_of(const Machine *m, const Warp *w, int lane) {
    return block_number(m) << 10 | ((uint64_t)w->index * LANES + (uint64_t)lane);
}

static LastError *error_of(Nested *n, uint64_t thread) {
    for (int i = n->n_errors - 1; i >= 0; i--)
        if (n->errors[i].thread == thread) return &n->errors[i];
    return NULL;
}

static void set_error(Machine *m, const Warp *w, int lane, uint32_t code) {
    Nested *n = nested_of(m);
    LastError *e = error_of(n, thread_of(m, w, lane));
    if (e == NULL) {
        gi_grow(n->errors, n->n_errors, n->cap_errors);
        e = &n->errors[n->n_errors++];
        e->thread = thread_of(m, w, lane);
    }
    e->code = code;
}

static bool give_error(Machine *m, Warp *w, const Ins *in, bool clears) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        LastError *e = error_of(nested_of(m), thread_of(m, w, lane));
        library_give(w, f, lane, e ? e->code : 0);
        if (e && clears) e->code = 0;
    }
    return true;
}

bool nested_last_error(Machine *m, Warp *w, const Ins *in) {
    return give_error(m, w, in, true);
}

bool nested_peek_error(Machine *m, Warp *w, const Ins *in) {
    return give_error(m, w, in, false);
}

static const struct {
    uint32_t code;
    const char *text;
} texts[] = {{0, "no error"},
             {INVALID_VALUE, "invalid argument"},
             {NO_MEMORY, "out of memory"},
             {INVALID_CONFIGURATION, "invalid configuration argument"},
             {TOO_DEEP, "launch would exceed maximum depth of nested launches"},
             {TOO_MANY, "launch would exceed the number of pending launches"},
             {INVALID_FUNCTION, "invalid device function"},
             {UINT32_MAX, "unrecognized error code"}};
enum { TEXTS = sizeof texts / sizeof *texts, TEXT_BYTES = 64 };

/* Where kernels find them; 0: there is no memory. */
static uint64_t texts_of(Emu *e) {
    if (e->error_texts) return e->error_texts;
    e->error_texts = emu_alloc(e, TEXTS * TEXT_BYTES, "texts of errors", NULL);
    if (e->error_texts == 0) return 0;
    Alloc *a = alloc_of(e, e->error_texts);
    a->is_variable = a->read_only = true;
    for (int i = 0; i < TEXTS; i++)
        snprintf((char *)a->data + i * TEXT_BYTES, TEXT_BYTES, "%s", texts[i].text);
    return e->error_texts;
}

bool nested_error_text(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        uint64_t code = library_argument(w, f, lane, 0, BOUND_VALUE), i = 0, at = texts_of(m->emu);
        while (i < TEXTS - 1 && texts[i].code != code) i++;
        library_give(w, f, lane, at ? at + i * TEXT_BYTES : 0);
    }
    return true;
}

/* --- a launch: arguments (function, grid, block, shared bytes), launch (arguments, stream) --- */

static Code *entry_at(const EmuModule *mod, uint64_t address) {
    uint64_t offset = address - module_func_address(mod, 0);
    if (offset % 16 || offset / 16 >= (uint64_t)mod->n_code) return NULL;
    Code *code = &mod->code[offset / 16];
    return code->func->is_entry && code->func->has_body ? code : NULL;
}

static bool is_geometry(const EmuModel *g, const Work *of) {
    double threads = (double)of->block[0] * of->block[1] * of->block[2];
    return threads >= 1 && threads <= g->max_threads_per_block && of->block[2] <= 64 &&
           of->grid[0] && of->grid[1] && of->grid[2] && of->grid[0] <= g->max_grid_x &&
           of->grid[1] <= g->max_grid_y && of->grid[2] <= g->max_grid_z;
}

static uint32_t wrong_with(const Machine *m, const Nested *n, const Work *g) {
    if (g->entry == NULL) return INVALID_FUNCTION;
    if (!is_geometry(m->model, g)) return INVALID_CONFIGURATION;
    if (m->depth >= DEEPEST) return TOO_DEEP;
    return n->n_given + n->n_asked >= MOST_PENDING ? TOO_MANY : 0;
}

/* The address of the room; 0: there is an error. */
static uint64_t room_for(Machine *m, const Warp *w, int lane, Work *g) {
    char label[340];
    Nested *n = nested_of(m);
    uint32_t wrong = wrong_with(m, n, g);
    size_t bytes = wrong ? 0 : module_param_bytes(g->entry);
    if (!wrong) {
        snprintf(label, sizeof label, "arguments of a launch of %s", g->entry->func->name);
        g->arguments = emu_alloc(m->emu, bytes ? bytes : 1, label, NULL);
        if (g->arguments == 0) wrong = NO_MEMORY;
    }
    if (wrong) return set_error(m, w, lane, wrong), 0;
    gi_grow(n->given, n->n_given, n->cap_given);
    n->given[n->n_given++] = *g;
    return g->arguments;
}

bool nested_arguments(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        Work g = {.entry = entry_at(m->mod, library_argument(w, f, lane, 0, BOUND_FUNCTION)),
                  .shared = (uint32_t)library_argument(w, f, lane, 3, BOUND_VALUE)};
        memcpy(g.grid, library_bytes(w, f, lane, 1), sizeof g.grid);
        memcpy(g.block, library_bytes(w, f, lane, 2), sizeof g.block);
        library_give(w, f, lane, room_for(m, w, lane, &g));
    }
    return true;
}

static void ask(Nested *n, const Work *what, uint64_t stream) {
    gi_grow(n->asked, n->n_asked, n->cap_asked);
    n->asked[n->n_asked] = *what;
    n->asked[n->n_asked++].is_tail = stream == TAIL_STREAM;
}

static bool launch(Nested *n, uint64_t arguments, uint64_t stream) {
    int i = n->n_given - 1;
    while (i >= 0 && n->given[i].arguments != arguments) i--;
    if (i < 0) return false;
    ask(n, &n->given[i], stream);
    n->given[i] = n->given[--n->n_given];
    return true;
}

bool nested_launch(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        uint64_t arguments = library_argument(w, f, lane, 0, BOUND_ROOM);
        uint64_t stream = library_argument(w, f, lane, 1, BOUND_VALUE);
        bool done = launch(nested_of(m), arguments, stream);
        if (!done) set_error(m, w, lane, INVALID_VALUE);
        library_give(w, f, lane, done ? 0 : INVALID_VALUE);
    }
    return true;
}

/* cudaMemcpyAsync(to, from, bytes, kind, stream), cudaMemsetAsync(to, byte, bytes, stream) */
static bool ask_all(Machine *m, const Warp *w, const Ins *in, WorkKind kind, int stream) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    Nested *n = nested_of(m);
    FOR_ACTIVE(w, lane) {
        Bound from = kind == WORK_COPY ? BOUND_BYTES : BOUND_VALUE;
        Work what = {.kind = kind,
                     .to = library_argument(w, f, lane, 0, BOUND_BYTES),
                     .from = library_argument(w, f, lane, 1, from),
                     .bytes = library_argument(w, f, lane, 2, BOUND_VALUE)};
        bool fits = n->n_given + n->n_asked < MOST_PENDING;
        if (fits) ask(n, &what, library_argument(w, f, lane, stream, BOUND_VALUE));
        else set_error(m, w, lane, TOO_MANY);
        library_give(w, f, lane, fits ? 0 : TOO_MANY);
    }
    return true;
}

bool nested_copy(Machine *m, Warp *w, const Ins *in) {
    return ask_all(m, w, in, WORK_COPY, 4);
}

bool nested_set(Machine *m, Warp *w, const Ins *in) {
    return ask_all(m, w, in, WORK_SET, 3);
}

/* --- memory, streams and events --- */

/* One lane's result, at an address that it gave. */
static bool put(Machine *m, Warp *w, const Ins *in, int lane, uint64_t value) {
    uint64_t to = library_argument(w, &w->code->call[in->imm], lane, 0, BOUND_WORD);
    Access a = {m, w, in, lane, PTX_GENERIC, to, sizeof value, true, 0};
    return mem_write(a, &value) || !m->ended;
}

bool nested_malloc(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        uint64_t size = library_argument(w, f, lane, 1, BOUND_VALUE);
        uint64_t object = library_object(m, w, lane, size);
        if (object == 0) set_error(m, w, lane, NO_MEMORY);
        if (!put(m, w, in, lane, object)) return false;
        library_give(w, f, lane, object ? 0 : NO_MEMORY);
    }
    return true;
}

bool nested_free(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        if (!library_release(m, w, in, lane)) return false;
        library_give(w, f, lane, 0);
    }
    return true;
}

bool nested_handle(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    FOR_ACTIVE(w, lane) {
        uint64_t handle = 256 + ++nested_of(m)->handles; /* none of CUDA's own */
        if (!put(m, w, in, lane, handle)) return false;
        library_give(w, f, lane, 0);
    }
    return true;
}

bool nested_nothing(Machine *m, Warp *w, const Ins *in) {
    const CallForm *f = &w->code->call[in->imm];
    (void)m;
    FOR_ACTIVE(w, lane) library_give(w, f, lane, 0);
    return true;
}

/* --- running them --- */

static void add_findings(EmuFindings *to, const EmuFindings *from) {
    to->left_out += from->left_out;
    for (int i = 0; i < from->n; i++) {
        if (to->n < EMU_FINDINGS) to->at[to->n++] = from->at[i];
        else to->left_out += from->at[i].count;
    }
}

static void add_fault(EmuResult *to, const EmuResult *from) {
    to->status = from->status;
    to->cause = from->cause;
    if (from->faults.n == 0) to->cause = EMU_CAUSE_FAULT; /* a refusal: not of the whole launch */
    memcpy(to->message, from->message, sizeof to->message);
    memcpy(to->block, from->block, sizeof to->block);
    memcpy(to->thread, from->thread, sizeof to->thread);
    to->ptx_line = from->ptx_line;
    to->src_line = from->src_line;
}

static void add_result(EmuResult *to, const EmuResult *from) {
    if (from->status != EMU_OK) add_fault(to, from);
    add_findings(&to->faults, &from->faults);
    add_findings(&to->warnings, &from->warnings);
    to->nested += 1 + from->nested;
    to->ticks += from->ticks;
    to->ns += from->ns;
    to->warp_instructions += from->warp_instructions;
    to->lane_instructions += from->lane_instructions;
    to->global_sectors += from->global_sectors;
    to->texture_sectors += from->texture_sectors;
    to->shared_conflicts += from->shared_conflicts;
    to->divergent_branches += from->divergent_branches;
    to->barriers += from->barriers;
    to->uninitialised_reads += from->uninitialised_reads;
    to->barrier_after_exit += from->barrier_after_exit;
    emu_work_add(&to->work, &from->work);
    to->energy_j += from->energy_j;
}

static void run_grid(Machine *m, const Work *g) {
    if (g->entry->refused) {
        fault_raise(m, NULL, NULL, ALL_LANES, EMU_LAUNCH_ERROR,
                    "a launch of kernel %s, which is refused: %s", g->entry->func->name,
                    g->entry->refused);
        return;
    }
    EmuLaunch how = *m->launch;
    how.done = NULL;
    how.kernel = g->entry->func->name;
    memcpy(how.grid, g->grid, sizeof how.grid);
    memcpy(how.block, g->block, sizeof how.block);
    how.shared_bytes = g->shared;
    how.params = emu_bytes(m->emu, g->arguments, 1, NULL);
    how.cooperative = false;
    EmuResult *r = gi_alloc(sizeof *r);
    Machine child = {.emu = m->emu,
                     .mod = m->mod,
                     .entry = g->entry,
                     .launch = &how,
                     .model = m->model,
                     .result = r,
                     .params = how.params,
                     .param_bytes = module_param_bytes(g->entry),
                     .serial = 1,
                     .depth = m->depth + 1,
                     .budget = m->budget};
    launch_grid(&child);
    nested_finish(&child);
    m->budget = child.budget;
    add_result(m->result, r);
    free(r);
}

/* Host bytes that may be written. NULL with why filled. */
static uint8_t *bytes_at(Machine *m, uint64_t address, uint64_t bytes, gi_err *why) {
    uint8_t *p = emu_bytes(m->emu, address, bytes, why);
    const Alloc *a = p ? alloc_of(m->emu, address) : NULL;
    if (a && (a->read_only || a->is_const))
        return gi_fail(why, "usage", "'%s' is read-only", a->label), NULL;
    if (a) emu_wrote(m->emu, address, bytes);
    return p;
}

/* What is moved takes of the budget what a warp would take for it, and can be interrupted. */
static bool pay_for(Machine *m, const Work *what) {
    const int64_t warps = (int64_t)(what->bytes / ROW32) + 1;
    if (m->launch->interrupt && *m->launch->interrupt)
        return fault_raise(m, NULL, NULL, ALL_LANES, EMU_ABORTED, "interrupted");
    if (warps > m->budget)
        return fault_raise(m, NULL, NULL, ALL_LANES, EMU_TIMEOUT,
                           "the instruction budget ran out: a kernel moves %llu bytes",
                           (unsigned long long)what->bytes);
    m->budget -= warps;
    return true;
}

static void move_bytes(Machine *m, const Work *what) {
    gi_err err = {0};
    uint8_t *to = bytes_at(m, what->to, what->bytes, &err), *from = NULL;
    if (to && what->kind == WORK_COPY) from = emu_bytes(m->emu, what->from, what->bytes, &err);
    m->result->nested++;
    if (to && (from || what->kind == WORK_SET) && !pay_for(m, what)) return;
    if (to && what->kind == WORK_SET) memset(to, (int)(what->from & 0xff), what->bytes);
    else if (from) memmove(to, from, what->bytes);
    else
        fault_raise(m, NULL, NULL, ALL_LANES, EMU_ILLEGAL_ADDRESS, "%s of %llu bytes: %s",
                    what->kind == WORK_SET ? "cudaMemsetAsync" : "cudaMemcpyAsync",
                    (unsigned long long)what->bytes, err.message);
}

static void run_those(Machine *m, bool tail) {
    for (int i = 0; i < m->nested->n_asked; i++) {
        const Work *what = &m->nested->asked[i];
        if (what->is_tail != tail || m->result->status != EMU_OK) continue;
        if (what->kind == WORK_GRID) run_grid(m, what);
        else if (what->bytes) move_bytes(m, what);
    }
}

void nested_finish(Machine *m) {
    Nested *n = m->nested;
    if (n == NULL) return;
    run_those(m, false);
    run_those(m, true);
    for (int i = 0; i < n->n_asked; i++)
        if (n->asked[i].kind == WORK_GRID) alloc_end(m->emu, n->asked[i].arguments);
    for (int i = 0; i < n->n_given; i++) alloc_end(m->emu, n->given[i].arguments);
    free(n->given);
    free(n->asked);
    free(n->errors);
    free(n);
    m->nested = NULL;
}
