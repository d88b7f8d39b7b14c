/* gpu.c - see gpu.h: repetitions of what gpu_plan.c made, and what comes of them.
**
** A variable of a module is wherever the driver put it, and other code has its own of the same
** name: what one holds goes to the other when a launch of the other code comes, as long as it may
** have changed.
*/
#include "replay/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/gpu_plan.h"

/* --- a run: which code --- */

static void forget_code(Kept *k) {
    device_module_free(k->module);
    free(k->ptx);
}

/* Other code, loaded; NULL with err filled. */
static DeviceModule *other_code(ReplayGpu *g, const ReplayCode *c, gi_err *err) {
    for (int i = 0; i < g->n_kept; i++)
        if (g->kept[i].len == c->len && memcmp(g->kept[i].ptx, c->ptx, c->len) == 0)
            return g->kept[i].module;
    DeviceModule *m = gpu_load(g, c->ptx, c->len, err);
    if (m == NULL) return NULL;
    if (g->n_kept == KEPT_CODE) {
        forget_code(&g->kept[0]);
        memmove(g->kept, g->kept + 1, --g->n_kept * sizeof *g->kept);
    }
    g->kept[g->n_kept++] = (Kept){gi_strndup(c->ptx, c->len), c->len, m};
    return m;
}

static bool use_code(ReplayGpu *g, const ReplayGpuOptions *o, gi_err *err) {
    memset(g->used, 0, (size_t)(g->n_modules + 1) * sizeof *g->used);
    if (o->n_code > KEPT_CODE)
        return gi_fail(err, "usage", "code for more than %d modules at a time", KEPT_CODE);
    for (int i = 0; i < o->n_code; i++) {
        const ReplayCode *c = &o->code[i];
        if (c->module < 0 || c->module >= g->n_modules)
            return gi_fail(err, "usage", "the recording has no module %d", c->module);
        if ((g->used[c->module] = other_code(g, c, err)) == NULL) return false;
    }
    return true;
}

static DeviceModule *module_of(const ReplayGpu *g, const Row *row) {
    return row->code == OTHER ? g->used[row->module] : g->recorded[row->module];
}

/* Has the code no such kernel? Else the driver failed. */
static bool is_missing(const gi_err *why) {
    return strcmp(why->code, "usage") == 0;
}

static ReplayJoin join_of(const ReplayGpu *g, const Op *op) {
    return op->kind == OP_LAUNCH && op->launch < g->n_joins ? g->joins[op->launch] : 0;
}

/* The bytes that a kernel is given: where its launches are joined with others, what both are. */
static size_t given_to(const ReplayGpu *g, int row) {
    for (int i = 0; i + 1 < g->n_ops && g->n_joins > 0; i++) {
        const Op *op = &g->ops[i], *next = &g->ops[i + 1];
        if (join_of(g, op) && op->row == row && next->kind == OP_LAUNCH)
            return join_of(g, op) + g->rows[next->row].n_params + REPLAY_JOIN_PAD - 1;
    }
    return g->rows[row].n_params;
}

/* Which code each kernel is of, and whether it takes what it was given. */
static bool choose_kernels(ReplayGpu *g, bool partial, gi_err *err) {
    for (int i = 0; i < g->n_rows; i++) {
        Row *row = &g->rows[i];
        KernelInfo info;
        gi_err why;
        row->code = g->used[row->module] ? OTHER : RECORDED;
        bool there = device_kernel_info(module_of(g, row), row->name, &info, &why);
        if (!there && row->code == OTHER && partial && is_missing(&why)) {
            row->code = RECORDED;
            there = device_kernel_info(module_of(g, row), row->name, &info, &why);
        }
        if (!there && !is_missing(&why)) return gi_fail(err, why.code, "%s", why.message);
        if (!there) return gi_fail(err, "compile", "kernel %s: %s", row->name, why.message);
        size_t given = given_to(g, i);
        if (info.param_bytes > given)
            return gi_fail(err, "compile",
                           "kernel %s takes %zu bytes of arguments and was given %zu", row->name,
                           info.param_bytes, given);
        row->bytes = info.param_bytes;
    }
    return true;
}

static void find_needs(const ReplayGpu *g, ReplayGpuResult *out) {
    bool any = false;
    for (int i = 0; i < g->n_rows; i++) any |= g->rows[i].code == OTHER;
    for (int i = 0; i < g->n_rows; i++) {
        KernelInfo info;
        if (any && g->rows[i].code != OTHER) continue;
        if (!device_kernel_info(module_of(g, &g->rows[i]), g->rows[i].name, &info, NULL)) continue;
        if (info.registers > out->registers) out->registers = info.registers;
        if (info.shared_bytes > out->shared_bytes) out->shared_bytes = info.shared_bytes;
    }
}

/* --- a run: which streams --- */

/* Kernels' own times are those of one stream. */
static bool use_turns(ReplayGpu *g, const ReplayGpuOptions *o, gi_err *err) {
    g->turns = o->timed ? o->turns : NULL;
    if (g->turns == NULL) return true;
    if (!replay_turns_check(g->turns, o->n_turns, g->n_launches, err)) return false;
    free(g->awaited);
    g->awaited = gi_alloc((size_t)(g->n_launches + 1) * sizeof *g->awaited);
    for (int i = 0; i < g->n_launches; i++)
        for (int s = 0; s < REPLAY_STREAMS; s++)
            if (g->turns[i].after[s]) g->awaited[g->turns[i].after[s] - 1] = true;
    return true;
}

/* --- a repetition --- */

static void find_variables(ReplayGpu *g) {
    for (int i = 0; i < g->n_variables; i++) {
        Variable *v = &g->variables[i];
        DeviceModule *modules[2] = {g->recorded[v->module], g->used[v->module]};
        for (int k = 0; k < 2; k++) {
            size_t bytes = 0;
            bool there = modules[k] &&
                         sequence_variable(modules[k], v->name, &v->at[k], &bytes) &&
                         bytes == v->bytes;
            if (!there) v->at[k] = 0;
            v->valid[k] = there;
        }
    }
}

static SequencePlace place_in(const Variable *v, int code, const SequencePlace *p) {
    SequencePlace at = *p;
    at.address += v->at[code];
    return at;
}

/* Does f with each place where what is written must be: of a variable all that hold it. */
static void to_each(ReplayGpu *g, const Op *op, const SequencePlace *from) {
    const Variable *v = op->to.variable < 0 ? NULL : &g->variables[op->to.variable];
    for (int code = RECORDED; code <= OTHER; code++) {
        if (v ? !v->valid[code] : code == OTHER) continue;
        SequencePlace to = v ? place_in(v, code, &op->to.place) : op->to.place;
        if (from) sequence_copy(g->sequence, &to, from, &op->extent);
        else sequence_fill(g->sequence, &to, op->value, op->element, &op->extent);
    }
}

static bool queue_copy(ReplayGpu *g, const Op *op, gi_err *err) {
    const Variable *v = op->from.variable < 0 ? NULL : &g->variables[op->from.variable];
    if (v && !v->valid[RECORDED] && !v->valid[OTHER])
        return gi_fail(err, "format",
                       "the recording copies from variable %s of %llu bytes, and its module has "
                       "none of that name and size",
                       v->name, (unsigned long long)v->bytes);
    SequencePlace from =
        v ? place_in(v, v->valid[RECORDED] ? RECORDED : OTHER, &op->from.place) : op->from.place;
    to_each(g, op, &from);
    return true;
}

/* Before a launch: its code's variables hold what they must. Behind it these alone do. */
static void carry_variables(ReplayGpu *g, const Row *row) {
    for (int i = 0; i < g->n_variables; i++) {
        Variable *v = &g->variables[i];
        int code = row->code;
        if (v->module != row->module || v->at[code] == 0 || v->at[!code] == 0) continue;
        SequencePlace to = {.array = -1, .address = v->at[code], .row = v->bytes, .rows = 1};
        SequencePlace from = {.array = -1, .address = v->at[!code], .row = v->bytes, .rows = 1};
        SequenceExtent all = {v->bytes, 1, 1};
        if (!v->valid[code]) sequence_copy(g->sequence, &to, &from, &all);
        v->valid[code] = true;
        if (!v->is_constant) v->valid[!code] = false;
    }
}

/* Addresses of variables in a launch's arguments, of the code that it runs. */
static void fix_arguments(ReplayGpu *g, const Op *op, const Row *row) {
    for (int i = 0; i < op->n_fixups; i++) {
        const Variable *v = &g->variables[op->fixups[i].variable];
        int code = v->at[row->code] && v->module == row->module ? row->code : RECORDED;
        uint64_t address = v->at[code] + op->fixups[i].offset;
        memcpy(op->params + op->fixups[i].at, &address, 8);
    }
}

/* A launch; with `more`, the one behind it as well, as one. */
static void queue_launch(ReplayGpu *g, const Op *op, const Op *more) {
    const Row *row = &g->rows[op->row];
    ReplayShape s = replay_shape(g->shapes, g->n_shapes, op->launch, op->grid, op->block);
    carry_variables(g, row);
    fix_arguments(g, op, row);
    DeviceLaunch l = {.kernel = row->name,
                      .grid = {s.grid[0], s.grid[1], s.grid[2]},
                      .block = {s.block[0], s.block[1], s.block[2]},
                      .cluster = {op->cluster[0], op->cluster[1], op->cluster[2]},
                      .shared_bytes = op->shared,
                      .params = op->params,
                      .carveout = -1};
    uint8_t *both = NULL;
    if (more) {
        size_t bytes = g->rows[more->row].n_params;
        fix_arguments(g, more, row);
        l.params = both =
            replay_joined(op->params, row->n_params, join_of(g, op), more->params, &bytes);
        if (more->shared > op->shared) l.shared_bytes = more->shared;
    }
    SequenceTurn turn = {.launch = op->launch};
    if (g->turns) {
        turn.stream = g->turns[op->launch].stream;
        turn.after = g->turns[op->launch].after;
        turn.is_awaited = g->awaited[op->launch];
    }
    sequence_launch(g->sequence, module_of(g, row), &l, row->bytes, op->cooperative, op->row,
                    g->turns ? &turn : NULL);
    free(both);
}

static void fill_bytes(ReplayGpu *g, uint64_t address, uint64_t bytes, unsigned value) {
    SequencePlace at = {.array = -1, .address = address, .row = bytes, .rows = 1};
    SequenceExtent all = {bytes, 1, 1};
    if (bytes > 0) sequence_fill(g->sequence, &at, value, 1, &all);
}

static void queue_beginning(ReplayGpu *g) {
    find_variables(g);
    for (int i = 0; i < g->n_modules; i++) {
        sequence_reset(g->sequence, g->recorded[i]);
        if (g->used[i]) sequence_reset(g->sequence, g->used[i]);
    }
    fill_bytes(g, device_buffer_address(g->got_at), g->got->size_bytes, ARRAY_SENTINEL_BYTE);
    for (int i = 0; i < g->n_memory; i++) fill_bytes(g, g->memory[i].at, g->memory[i].bytes, 0);
}

static bool queue_part(void *user, SequencePart part, gi_err *err) {
    ReplayGpu *g = user;
    int from = part == SEQUENCE_BEFORE ? 0 : part == SEQUENCE_TIMED ? g->first : g->last + 1;
    int to = part == SEQUENCE_BEFORE ? g->first : part == SEQUENCE_TIMED ? g->last + 1 : g->n_ops;
    if (part == SEQUENCE_BEFORE) queue_beginning(g);
    for (int i = from; i < to; i++) {
        const Op *op = &g->ops[i];
        const Op *next = i + 1 < to ? &g->ops[i + 1] : NULL;
        if (op->kind == OP_COPY && !queue_copy(g, op, err)) return false;
        if (op->kind == OP_COPY) continue;
        if (op->kind == OP_FILL) to_each(g, op, NULL);
        else if (!join_of(g, op)) queue_launch(g, op, NULL);
        else if (next && next->kind == OP_LAUNCH) queue_launch(g, op, next), i++;
        else
            return gi_fail(err, "usage",
                           "launch %d is to be done with the next one, which does not stand right "
                           "behind it",
                           op->launch + 1);
    }
    return true;
}

/* --- what came of it --- */

/* Are guard zones and read-only memory unchanged? If not, *m has the fault. */
static bool is_intact(ReplayGpu *g, Measurement *m, gi_err *err) {
    gi_buf what = {0};
    gi_err why;
    bool ok = device_intact(g->device, &what, &why);
    if (!ok && strcmp(why.code, "touched") == 0) {
        m->status = STATUS_ILLEGAL_ADDRESS;
        snprintf(m->message, sizeof m->message, "%s", what.data);
        ok = true;
    } else if (!ok) gi_fail(err, why.code, "%s", why.message);
    gi_buf_free(&what);
    return ok;
}

/* got: what came out, g->right's where all of it is right. */
static void list_reads(const ReplayGpu *g, const uint8_t *got, bool with_bytes,
                       ReplayGpuResult *out) {
    const uint8_t *right = g->right->data;
    out->reads = gi_alloc((size_t)(g->gets.n + 1) * sizeof *out->reads);
    for (int i = 0; i < g->gets.n; i++) {
        const Piece *p = &g->gets.list[i];
        bool same = got == right ||
                    memcmp(got + p->offset, right + p->offset, (size_t)p->bytes) == 0;
        ReplayGpuRead *r = &out->reads[out->n_reads++];
        *r = (ReplayGpuRead){.same = same, .size = (size_t)p->bytes,
                             .bytes = same && !with_bytes ? NULL : got + p->offset};
        memcpy(r->name, p->name, RECORD_NAME);
    }
}

/* What the host gets is compared on the GPU; only where something differs it is fetched. */
static bool judge(ReplayGpu *g, const ReplayGpuOptions *o, ReplayGpuResult *out, gi_err *err) {
    Comparison c;
    if (!is_intact(g, &out->run, err)) return false;
    if (out->run.status != STATUS_OK) return true;
    if (!device_buffer_compare(g->got_at, g->right_at, NULL, &c, err)) return false;
    bool right = c.max_error == 0;
    if (!right && !device_buffer_read(g->got_at, g->got, err)) return false;
    list_reads(g, right ? g->right->data : g->got->data, o->bytes, out);
    return true;
}

/* How often a kernel is launched by itself: not where it is done with the one before. */
static int launches_of(const ReplayGpu *g, int row) {
    int n = g->rows[row].launches;
    for (int i = 1; i < g->n_ops && g->n_joins > 0; i++)
        if (g->ops[i].kind == OP_LAUNCH && g->ops[i].row == row && join_of(g, &g->ops[i - 1])) n--;
    return n;
}

static bool run_once(ReplayGpu *g, const SequenceWork *w, ReplayGpuResult *out, gi_err *err) {
    double *ns = gi_alloc((size_t)(g->n_rows + 1) * sizeof *ns);
    bool ok = sequence_run(g->sequence, w, ns, g->n_rows, &out->run, err);
    out->kernels = gi_alloc((size_t)(g->n_rows + 1) * sizeof *out->kernels);
    for (int i = 0; ok && i < g->n_rows; i++) {
        int launches = launches_of(g, i);
        if (launches > 0)
            out->kernels[out->n_kernels++] = (ReplayKernel){.name = gi_strdup(g->rows[i].name),
                                                            .launches = launches,
                                                            .ns = ns[i],
                                                            .ticks = ns[i] * out->run.clock_ghz};
    }
    free(ns);
    return ok;
}

static bool run_timed(ReplayGpu *g, const SequenceWork *w, const DeviceTiming *how,
                      ReplayGpuResult *out, gi_err *err) {
    bool ok = sequence_time(g->sequence, w, how, &out->samples, err);
    out->run = out->samples.last;
    return ok;
}

bool replay_gpu_run(ReplayGpu *g, const ReplayGpuOptions *o, ReplayGpuResult *out, gi_err *err) {
    ReplayGpuResult r = {0};
    g->shapes = o->shapes, g->n_shapes = o->n_shapes;
    g->joins = o->joins, g->n_joins = o->n_joins;
    if (!use_code(g, o, err) || !choose_kernels(g, o->partial, err) || !use_turns(g, o, err))
        return false;
    DeviceModule **modules = gi_alloc((size_t)(2 * g->n_modules + 1) * sizeof *modules);
    SequenceWork w = {.queue = queue_part, .user = g, .modules = modules,
                      .operations = 2 * (g->n_modules + g->n_memory) + g->n_ops + 8 +
                                    (g->turns ? REPLAY_STREAMS * g->n_launches : 0),
                      .as_graph = o->as_graph,
                      .timeout_s = o->timeout_s, .interrupt = o->interrupt};
    for (int i = 0; i < g->n_modules; i++) {
        modules[w.n_modules++] = g->recorded[i];
        if (g->used[i]) modules[w.n_modules++] = g->used[i];
    }
    bool ok = o->timed ? run_timed(g, &w, &o->timing, &r, err) : run_once(g, &w, &r, err);
    free(modules);
    if (ok && !r.run.lost) find_needs(g, &r);
    if (ok && r.run.status == STATUS_OK) ok = judge(g, o, &r, err);
    if (ok) *out = r;
    else replay_gpu_free(&r);
    return ok;
}

void replay_gpu_free(ReplayGpuResult *r) {
    for (int i = 0; i < r->n_kernels; i++) free(r->kernels[i].name);
    free(r->kernels);
    free(r->reads);
    device_samples_free(&r->samples);
    *r = (ReplayGpuResult){0};
}

/* --- its life --- */

void replay_gpu_places(const ReplayGpu *g, uint64_t *there, uint64_t *elsewhere) {
    *there = *elsewhere = 0;
    for (int i = 0; i < g->n_memory; i++)
        *(g->memory[i].at == g->memory[i].address ? there : elsewhere) += g->memory[i].bytes;
}

ReplayGpu *replay_gpu_open(const Recording *r, Device *d, const char *const *kernels, int n,
                           gi_err *err) {
    ReplayGpu *g = gi_alloc(sizeof *g);
    g->recording = r, g->device = d, g->err = err, g->first = g->last = -1;
    g->answering = kernels, g->n_answering = n;
    if (gpu_plan(g)) return g;
    replay_gpu_close(g);
    return NULL;
}

void replay_gpu_close(ReplayGpu *g) {
    if (g == NULL) return;
    for (int i = 0; i < g->n_kept; i++) forget_code(&g->kept[i]);
    gpu_plan_free(g);
    free(g);
}
