/* finish.c - the sum of a launch's costs: ticks, parts, energy. See cost.h. */
#include "emu/cost/cost.h"

#include "emu/core.h"

#include <assert.h>
#include <math.h>

/* |x|_p with p = 2^k: multiplications and square roots alone, which every machine rounds alike. */
static double norm(const double *x, int n, int k) {
    double most = 0, sum = 0;
    for (int i = 0; i < n; i++) most = fmax(most, x[i]);
    if (most <= 0) return 0;
    for (int i = 0; i < n; i++) {
        double power = x[i] / most;
        for (int j = 0; j < k; j++) power *= power;
        sum += power;
    }
    for (int j = 0; j < k; j++) sum = sqrt(sum);
    return most * sum;
}

static void pipe_rates(const EmuModel *m, double rate[PIPES]) {
    const double values[PIPES] = {[PIPE_ISSUE] = m->schedulers_per_sm,
                                  [PIPE_FP32] = m->rate_fp32,
                                  [PIPE_FP64] = m->rate_fp64,
                                  [PIPE_FP16] = m->rate_fp16,
                                  [PIPE_INT] = m->rate_int,
                                  [PIPE_MUL] = m->rate_mul,
                                  [PIPE_SPECIAL] = m->rate_special,
                                  [PIPE_CONVERT] = m->rate_convert,
                                  [PIPE_BRANCH] = m->rate_branch,
                                  [PIPE_SHARED] = m->rate_shared,
                                  [PIPE_GLOBAL] = m->rate_global,
                                  [PIPE_TEXTURE] = m->rate_texture,
                                  [PIPE_CONSTANT] = m->rate_constant,
                                  [PIPE_SHUFFLE] = m->rate_shuffle,
                                  [PIPE_ATOMIC] = m->rate_atomic,
                                  [PIPE_TENSOR] = m->rate_tensor};
    for (int k = 0; k < PIPES; k++) rate[k] = values[k] > 0 ? values[k] : 1;
}

static void pipe_totals(Machine *m, double total[PIPES]) {
    for (int k = 0; k < PIPES; k++) total[k] = m->cost.extra[k];
    for (int i = 0; i < m->mod->n_code; i++) {
        const Code *code = &m->mod->code[i];
        for (int b = 0; b < code->n_blocks; b++) {
            const CostCount *count = &m->cost.count[code->first_block + b];
            if (count->runs == 0) continue;
            m->result->warp_instructions += count->runs * (uint64_t)code->block[b].n;
            m->result->lane_instructions += count->lanes * (uint64_t)code->block[b].n;
            for (int k = 0; k < PIPES; k++)
                total[k] += (double)count->runs * code->block[b].pipe[k];
        }
    }
}

/* Clocks of work at a rate; what a model has no rate for takes none. */
static double over(double work, double rate) {
    return rate > 0 ? work / rate : 0;
}

/* Ticks that the arithmetic takes on all SMs, by the pipe that is busy longest. Address computation
** and copies are none of it: another kernel for the same answers may do without. */
static double least_arithmetic(const double total[PIPES], const double rate[PIPES], double sms) {
    static const CostPipe arithmetic[] = {PIPE_FP32, PIPE_FP64, PIPE_FP16, PIPE_SPECIAL};
    double most = 0;
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
        CostPipe k = arithmetic[i];
        most = fmax(most, over(total[k] / sms, rate[k]));
    }
    return most;
}

void emu_work_add(EmuWork *to, const EmuWork *from) {
    to->part_issue += from->part_issue;
    to->part_latency += from->part_latency;
    to->part_memory += from->part_memory;
    to->least_memory += from->least_memory;
    to->least_arithmetic += from->least_arithmetic;
}

/* --- memory --- */

/* What of a launch's accesses goes where: sectors that loads and stores move beyond the L1, lines
** of these loads, sectors that come from DRAM. */
typedef struct Traffic {
    double sectors, lines, dram, dram_lines;
    double far; /* which share of the sectors comes from DRAM */
} Traffic;

static Traffic traffic_of(const Machine *m, int resident) {
    const EmuModel *g = m->model;
    const Cost *c = &m->cost;
    double sms = fmax(1, g->sms);
    ReuseCaches caches = {.sms = (int)sms,
                          .wave = (uint64_t)(sms * resident),
                          .l1_lines = (g->l1_bytes_per_sm - (double)resident * m->shared_bytes) /
                                      128,
                          .l2_lines = g->l2_bytes / 128};
    ReuseFound found = reuse_replay(&c->reuse, &caches);
    Traffic t = {.sectors = (double)c->l2_sectors + c->spill_sectors,
                 .lines = (double)c->l2_lines + c->spill_sectors / 4,
                 .dram = (double)c->dram_sectors + found.lost + c->spill_dram};
    t.dram_lines = (double)c->dram_lines + found.lost_lines + c->spill_dram / 4;
    t.sectors = fmax(t.sectors - found.from_l1, (double)c->dram_sectors);
    t.lines = fmax(t.lines - found.lines_from_l1, t.sectors / 4 - (double)c->store_lines);
    t.far = t.sectors > 0 ? fmin(1, t.dram / t.sectors) : 0;
    return t;
}

/* A cache gives bytes at one rate, and answers requests, a line each, at another. */
static double requests(double sectors, double lines, double bytes_per_clock,
                       double lines_per_clock) {
    return fmax(over(sectors * 32, bytes_per_clock), over(lines, lines_per_clock));
}

static double l2_clocks(const EmuModel *g, const Cost *c, const Traffic *t) {
    double stores = (double)c->store_sectors, loads = fmax(0, t->sectors - stores);
    return requests(loads, t->lines, g->l2_bytes_per_clock, g->l2_lines_per_clock) +
           requests(stores, (double)c->store_lines, g->l2_store_bytes_per_clock,
                    g->l2_store_lines_per_clock);
}

/* Atomics on global memory are done by the slices of L2, and those on one line by one of them. */
static double atomic_clocks(const EmuModel *g, const Cost *c) {
    uint64_t most = 0;
    for (int k = 0; k < COST_ATOMIC_LINES; k++)
        if (c->atomic_line[k] > most) most = c->atomic_line[k];
    return fmax(over((double)c->atomic_ops, g->atomics_per_clock), (double)most * g->clocks_atomic);
}

static double energy_of(const EmuModel *g, const Traffic *t, const double total[PIPES], double ns) {
    double wavefronts = total[PIPE_SHARED] + total[PIPE_GLOBAL] + total[PIPE_TEXTURE];
    double pj = total[PIPE_ISSUE] * g->energy_instruction_pj + wavefronts * g->energy_wavefront_pj
              + t->sectors * 32 * g->energy_l2_pj_byte
              + t->dram * 32 * g->energy_dram_pj_byte;
    return g->power_idle_w * ns * 1e-9 + pj * 1e-12;
}

/* --- waiting --- */

/* Time lies between that of loads from L2 and that of loads from DRAM as their share says. */
static double latency_of(const EmuModel *g, const Cost *c, const Traffic *t, double busiest,
                         int resident) {
    double blocks = fmax(1, (double)c->blocks);
    double mean = (c->sum_near + t->far * (c->sum_far - c->sum_near) + c->spill_clocks) / blocks;
    double most = c->most_near + t->far * (c->most_far - c->most_near) + c->spill_clocks / blocks;
    double waves = ceil(busiest / resident);
    double both[2] = {(waves - 1) * mean + most, busiest * g->block_start};
    return norm(both, 2, 2);
}

/* --- the sum --- */

/* No part of the model may be shorter than its work over the rate that the GPU has for it; a model
** without a rate has no such floor. */
static void check_floors(const EmuModel *g, const EmuResult *r, const Cost *c, const Traffic *t,
                         const double total[PIPES], const double rate[PIPES], double sms) {
    double left = (r->ticks - g->launch_ticks) * (1 + 1e-9);
    for (int k = 0; k < PIPES; k++) assert(over(total[k] / sms, rate[k]) <= left);
    assert(over(t->dram * 32, g->dram_bytes_per_clock) <= left);
    assert(over((t->sectors - (double)c->store_sectors) * 32, g->l2_bytes_per_clock) <= left);
    assert(t->sectors + 1e-6 >= (double)c->dram_sectors || t->dram >= (double)c->dram_sectors);
    assert(r->ticks >= g->launch_ticks);
    (void)left, (void)t, (void)c, (void)total, (void)rate, (void)sms, (void)r, (void)g;
}

void cost_finish(Machine *m, int resident) {
    const EmuModel *model = m->model;
    const Cost *c = &m->cost;
    EmuResult *r = m->result;
    double total[PIPES], rate[PIPES], part[PIPES];
    pipe_totals(m, total);
    pipe_rates(model, rate);
    double blocks = (double)c->blocks > 0 ? (double)c->blocks : 1;
    double sms = model->sms >= 1 ? model->sms : 1;
    double busiest = ceil(blocks / sms);
    for (int k = 0; k < PIPES; k++) part[k] = over(total[k] / blocks * busiest, rate[k]);
    Traffic t = traffic_of(m, resident);
    m->cost.far = t.far;
    double bytes[3] = {l2_clocks(model, c, &t),
                       requests(t.dram, t.dram_lines, model->dram_bytes_per_clock,
                                model->dram_lines_per_clock),
                       atomic_clocks(model, c)};
    r->work.part_issue = norm(part, PIPES, 2);
    r->work.part_memory = norm(bytes, 3, 1);
    r->work.least_memory = over((double)c->dram_sectors * 32, model->dram_bytes_per_clock);
    r->work.least_arithmetic = least_arithmetic(total, rate, sms);
    r->work.part_latency = latency_of(model, c, &t, busiest, resident);
    double parts[3] = {r->work.part_issue, r->work.part_memory, r->work.part_latency};
    r->ticks = model->launch_ticks + norm(parts, 3, 2);
    r->ns = model->clock_ghz > 0 ? r->ticks / model->clock_ghz : 0;
    r->energy_j = energy_of(model, &t, total, r->ns);
    check_floors(model, r, c, &t, total, rate, sms);
}
