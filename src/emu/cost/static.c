/* static.c - what is known of a launch's costs before it runs: the class of each instruction, a
** scoreboard over each basic block, and where each load is first waited for. See cost.h. */
#include "emu/cost/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How long until a dependent instruction can issue: one of the model's latencies. */
typedef enum Wait {
    WAIT_NONE,
    WAIT_ALU,
    WAIT_MUL,
    WAIT_FP64,
    WAIT_SPECIAL,
    WAIT_SHARED,
    WAIT_L1,
    WAIT_TEXTURE,
    WAIT_CONSTANT,
    WAIT_ATOMIC,
    WAIT_BARRIER,
    WAIT_TENSOR,
    WAITS
} Wait;

/* What a PTX instruction of each class becomes: issue slots (machine instructions), the pipe that
** works on `share` of them (FP32 and integer work is counted where it runs), the result's wait and
** how many such waits follow each other. From what ptxas emits for sm_80 and sm_90. */
typedef struct ClassCost {
    double slots;
    CostPipe pipe;
    double share;
    CostPipe pipe2;
    double share2;
    Wait wait;
    double waits;
} ClassCost;

static const ClassCost class_cost[COST_CLASSES] = {
    [COST_FREE] = {0, PIPE_ISSUE, 0, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_ALU] = {1, PIPE_INT, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_ALU64] = {2, PIPE_INT, 2, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_FP32] = {1, PIPE_FP32, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_FP64] = {1, PIPE_FP64, 1, PIPE_ISSUE, 0, WAIT_FP64, 1},
    [COST_FP16] = {1, PIPE_FP16, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_MUL] = {1, PIPE_MUL, 1, PIPE_ISSUE, 0, WAIT_MUL, 1},
    [COST_MUL_WIDE] = {1, PIPE_MUL, 1, PIPE_ISSUE, 0, WAIT_MUL, 1},
    [COST_MUL_HI] = {2, PIPE_MUL, 2, PIPE_ISSUE, 0, WAIT_MUL, 2},
    [COST_MUL64] = {4, PIPE_MUL, 3, PIPE_INT, 1, WAIT_MUL, 3},
    [COST_SHIFT64] = {3, PIPE_INT, 3, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_SPECIAL] = {1, PIPE_SPECIAL, 1, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_SPECIAL2] = {3, PIPE_SPECIAL, 1, PIPE_FP32, 2, WAIT_SPECIAL, 1.5},
    [COST_CONVERT] = {1, PIPE_CONVERT, 1, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_CONVERT64] = {1, PIPE_CONVERT, 4, PIPE_ISSUE, 0, WAIT_SPECIAL, 1.5},
    [COST_BITS] = {1, PIPE_CONVERT, 4, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_LANES] = {11, PIPE_INT, 9, PIPE_MUL, 2, WAIT_ALU, 7},
    [COST_LANES_SIGNED] = {18, PIPE_INT, 13, PIPE_MUL, 5, WAIT_ALU, 9},
    [COST_BRANCH] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_CALL] = {4, PIPE_BRANCH, 2, PIPE_INT, 2, WAIT_ALU, 4},
    [COST_BARRIER] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_FENCE] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_SLEEP] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_IDIV32] = {18, PIPE_INT, 10, PIPE_MUL, 5, WAIT_ALU, 18},
    [COST_IDIV64] = {75, PIPE_INT, 45, PIPE_MUL, 24, WAIT_ALU, 75},
    [COST_FDIV] = {9, PIPE_FP32, 8, PIPE_SPECIAL, 1, WAIT_ALU, 11},
    [COST_FDIV_FAST] = {3, PIPE_FP32, 2, PIPE_SPECIAL, 1, WAIT_ALU, 7},
    [COST_FSQRT] = {8, PIPE_FP32, 7, PIPE_SPECIAL, 1, WAIT_ALU, 10},
    [COST_FRCP] = {5, PIPE_FP32, 4, PIPE_SPECIAL, 1, WAIT_ALU, 8},
    [COST_DDIV] = {10, PIPE_FP64, 8, PIPE_SPECIAL, 1, WAIT_FP64, 9},
    [COST_DSQRT] = {10, PIPE_FP64, 8, PIPE_SPECIAL, 1, WAIT_FP64, 9},
    [COST_DRCP] = {8, PIPE_FP64, 6, PIPE_SPECIAL, 1, WAIT_FP64, 7},
    [COST_SHUFFLE] = {1, PIPE_SHUFFLE, 1, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_VOTE] = {1, PIPE_INT, 1, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_REDUX] = {1, PIPE_SHUFFLE, 2, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_LD_SHARED] = {1, PIPE_SHARED, 1, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_ST_SHARED] = {1, PIPE_SHARED, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_GLOBAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_ST_GLOBAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_LOCAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_ST_LOCAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_CONST] = {1, PIPE_ISSUE, 0, PIPE_ISSUE, 0, WAIT_CONSTANT, 1},
    [COST_ATOMIC] = {1, PIPE_ATOMIC, 1, PIPE_ISSUE, 0, WAIT_ATOMIC, 1},
    [COST_ATOMIC_SHARED] = {2, PIPE_SHARED, 2, PIPE_ISSUE, 0, WAIT_SHARED, 2},
    [COST_TEX] = {1, PIPE_TEXTURE, 1, PIPE_ISSUE, 0, WAIT_TEXTURE, 1},
    [COST_MATRIX] = {1, PIPE_TENSOR, 0, PIPE_ISSUE, 0, WAIT_TENSOR, 1},
    [COST_PRINT] = {100, PIPE_GLOBAL, 20, PIPE_INT, 80, WAIT_ATOMIC, 2},
};

static double wait_clocks(const EmuModel *m, Wait w) {
    switch (w) {
    case WAIT_ALU: return m->latency_alu;
    case WAIT_MUL: return m->latency_mul;
    case WAIT_FP64: return m->latency_fp64;
    case WAIT_SPECIAL: return m->latency_special;
    case WAIT_SHARED: return m->latency_shared;
    case WAIT_L1: return m->latency_l1;
    case WAIT_TEXTURE: return m->latency_texture;
    case WAIT_CONSTANT: return m->latency_constant;
    case WAIT_ATOMIC: return m->latency_atomic;
    case WAIT_BARRIER: return m->latency_barrier;
    case WAIT_TENSOR: return m->latency_tensor;
    default: return 0;
    }
}

/* --- a scoreboard over each basic block ---
**
** Instructions issue in their order, each when its operands are there. ptxas moves loads up to
** where their addresses are known, but not above a barrier, and not above a store that may write
** what they read: one in the same state space, or in none that is named. So a load issues at that
** time, whatever stands before it waits for.
**
** A load that misses the L1 takes longer than the scoreboard says. Who waits for it is the first
** instruction that reads its result; a copy to another register does not wait, but holds the
** result, too. Where none in the load's block waits, the registers that hold the result at the
** block's end are carried into the blocks that follow: as bits, of at most 64 registers of a
** function. Results
** in others are waited for at the end of their block.
**
** Of a short body of an if, ptxas makes predicated instructions, and moves its loads up over those
** before: such a load that is only stored is waited for late (waits.h). */

enum { CARRIED = 64 };

/* State spaces that no pointer to another reaches. */
enum { SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACES };

typedef struct Scoreboard {
    const EmuModel *model;
    const PtxFunc *f;
    double *ready; /* per register of the function: when its value can be used */
    double clock, last, met;  /* …; of its last barrier */
    double stored[SPACES];    /* of the block's last store that may write to the space */
    int *holds;    /* per register: the result of which load of the block, from 1; below 0: what the
                      carried register ~holds had when the block began; 0: neither */
    int *dirty;    /* registers set in this block */
    int n_dirty, cap_dirty;
    int *carried;  /* per register: which bit it is, from 1; 0: none */
    int reg[CARRIED], n_carried;
    CostPlace *place; /* per instruction of the function */
    CostCarry begun[CARRIED];
    bool in_body; /* the block is the short body of an if */
} Scoreboard;

static void mark(Scoreboard *s, int reg) {
    gi_grow(s->dirty, s->n_dirty, s->cap_dirty);
    s->dirty[s->n_dirty++] = reg;
}

/* The first instruction that reads what a register holds waits for it; is_stored: it stores it. */
static void use_at(Scoreboard *s, int reg, double when, bool is_stored) {
    int held = s->holds[reg];
    if (held == 0) return;
    if (is_stored && s->in_body && held > 0) when = (double)COST_LATE;
    float *use = held > 0 ? &s->place[held - 1].use : &s->begun[-held - 1].use;
    if (*use == INFINITY) *use = (float)when;
}

static void uses_at(Scoreboard *s, const PtxOperand *op, double when, bool is_stored) {
    if (op->kind == PTX_OP_REG) use_at(s, op->reg, when, is_stored);
    for (int i = 0; i < op->n_elems; i++) uses_at(s, &op->elems[i], when, is_stored);
}

static bool is_store(uint8_t cls) {
    return cls == COST_ST_SHARED || cls == COST_ST_GLOBAL;
}

static void wait_for(const Scoreboard *s, const PtxOperand *op, double *clock) {
    if (op->kind == PTX_OP_REG && s->ready[op->reg] > *clock) *clock = s->ready[op->reg];
    for (int i = 0; i < op->n_elems; i++) wait_for(s, &op->elems[i], clock);
}

static void result_at(Scoreboard *s, const PtxOperand *op, double when, int holds) {
    if (op->kind == PTX_OP_REG) {
        mark(s, op->reg);
        s->ready[op->reg] = when;
        s->holds[op->reg] = holds;
        if (when > s->last) s->last = when;
    }
    for (int i = 0; i < op->n_elems; i++) result_at(s, &op->elems[i], when, holds);
}

static bool reads(const PtxInstr *in, int k) {
    return !ptx_is_dest(in, k) || in->args[k].kind == PTX_OP_ADDR;
}

static bool is_copy(const PtxInstr *in) {
    return ptx_is(in, "mov") && in->guard < 0 && in->n_args == 2 &&
           in->args[0].kind == PTX_OP_REG && in->args[1].kind == PTX_OP_REG;
}

/* Is this a class of loads that may miss the L1? */
static bool may_miss(uint8_t cls) {
    return cls == COST_LD_GLOBAL || cls == COST_LD_LOCAL || cls == COST_TEX;
}

static bool is_load(uint8_t cls) {
    return may_miss(cls) || cls == COST_LD_SHARED || cls == COST_LD_CONST;
}

static bool may_be_in(const PtxInstr *in, int space) {
    static const char *const names[SPACES] = {"global", "shared", "local"};
    return ptx_has_mod(in, names[space]) || !ptx_has_mod(in, "global shared local");
}

/* When nothing that stands before a load forbids it any more. */
static double load_from(const Scoreboard *s, const PtxInstr *in, uint8_t cls) {
    bool constant = cls == COST_TEX || cls == COST_LD_CONST || ptx_has_mod(in, "nc");
    if (ptx_has_mod(in, "volatile acquire relaxed")) return s->clock;
    double from = s->met;
    for (int k = 0; k < SPACES && !constant; k++)
        if (may_be_in(in, k)) from = fmax(from, s->stored[k]);
    return from;
}

static void note_store(Scoreboard *s, const PtxInstr *in, uint8_t cls) {
    switch (cls) {
    case COST_ST_SHARED:
    case COST_ST_GLOBAL:
    case COST_ST_LOCAL:
    case COST_ATOMIC:
    case COST_ATOMIC_SHARED:
        for (int k = 0; k < SPACES; k++)
            if (may_be_in(in, k)) s->stored[k] = s->clock;
        break;
    case COST_BARRIER:
    case COST_FENCE:
    case COST_CALL:
    case COST_PRINT: s->met = s->clock; break;
    default: break;
    }
}

static void step(Scoreboard *s, int index, uint8_t cls) {
    const PtxInstr *in = &s->f->code[index];
    const ClassCost *c = &class_cost[cls];
    double operands = 0;
    if (is_copy(in)) {
        int from = in->args[1].reg;
        result_at(s, &in->args[0], s->ready[from], s->holds[from]);
        s->place[index] = (CostPlace){.clock = (float)s->clock};
        return;
    }
    for (int k = 0; k < in->n_args; k++)
        if (reads(in, k)) wait_for(s, &in->args[k], &operands);
    if (in->guard >= 0) operands = fmax(operands, s->ready[in->guard]);
    double issued = fmax(s->clock, operands);
    if (is_load(cls)) issued = fmax(operands, load_from(s, in, cls));
    for (int k = 0; k < in->n_args; k++)
        if (reads(in, k)) uses_at(s, &in->args[k], issued, is_store(cls) && k > 0);
    if (in->guard >= 0) use_at(s, in->guard, issued, false);
    double when = issued + c->waits * wait_clocks(s->model, c->wait);
    s->place[index] = (CostPlace){.clock = (float)issued,
                                  .slots = (float)c->slots,
                                  .use = may_miss(cls) ? INFINITY : 0};
    for (int k = 0; k < in->n_args; k++)
        if (ptx_is_dest(in, k)) result_at(s, &in->args[k], when, may_miss(cls) ? index + 1 : 0);
    s->clock = fmax(s->clock, issued) + c->slots;
    if (s->clock > s->last) s->last = s->clock;
    note_store(s, in, cls);
}

static void add_class(CostBlock *b, const ClassCost *c) {
    b->pipe[PIPE_ISSUE] += c->slots;
    if (c->share > 0) b->pipe[c->pipe] += c->share;
    if (c->share2 > 0) b->pipe[c->pipe2] += c->share2;
    b->n++;
}

/* Gives a register a bit; false where there is none left. */
static bool carry(Scoreboard *s, int reg) {
    if (s->carried[reg]) return true;
    if (s->n_carried == CARRIED) return false;
    s->reg[s->n_carried++] = reg;
    s->carried[reg] = s->n_carried;
    return true;
}

/* Which registers hold what nobody has waited for when the block ends. */
static void carry_out(Scoreboard *s) {
    for (int i = 0; i < s->n_dirty; i++) {
        int reg = s->dirty[i], held = s->holds[reg];
        if (held == 0) continue;
        float *use = held > 0 ? &s->place[held - 1].use : &s->begun[-held - 1].use;
        uint64_t *out = held > 0 ? &s->place[held - 1].out : &s->begun[-held - 1].out;
        if (*use != INFINITY) continue;
        if (carry(s, reg)) *out |= (uint64_t)1 << (s->carried[reg] - 1);
        else *use = (float)s->last;
    }
}

static void begin_block(Scoreboard *s) {
    while (s->n_dirty > 0) {
        int reg = s->dirty[--s->n_dirty];
        s->ready[reg] = 0;
        s->holds[reg] = 0;
    }
    s->clock = s->last = s->met = 0;
    memset(s->stored, 0, sizeof s->stored);
    for (int k = 0; k < s->n_carried; k++) {
        mark(s, s->reg[k]);
        s->holds[s->reg[k]] = -k - 1;
        s->begun[k] = (CostCarry){INFINITY, 0};
    }
}

/* From the block's end on. */
static void end_block(Scoreboard *s, int first, int end, CostCarry *carry) {
    float last = (float)s->last;
    for (int i = first; i < end; i++) s->place[i].clock -= last, s->place[i].use -= last;
    for (int k = 0; carry && k < s->n_carried; k++)
        carry[k] = (CostCarry){s->begun[k].use - last, s->begun[k].out};
}

enum { MOST_BODY = 10 }; /* instructions of a body that ptxas predicates, about */

static bool is_body(const PtxCfg *cfg, int b) {
    if (b == 0 || cfg->first[b + 1] - cfg->first[b] > MOST_BODY) return false;
    return cfg->n_pred[b] == 1 && cfg->pred[b][0] == b - 1 && cfg->n_succ[b] == 1 &&
           cfg->succ[b][0] == b + 1 && cfg->n_succ[b - 1] == 2 &&
           cfg->succ[b - 1][0] + cfg->succ[b - 1][1] == 2 * b + 1;
}

/* Is it entered again from behind? */
static bool is_head(const PtxCfg *cfg, int b) {
    for (int k = 0; k < cfg->n_pred[b]; k++)
        if (cfg->pred[b][k] >= b) return true;
    return false;
}

static void run_block(Scoreboard *s, const PtxCfg *cfg, int b, const uint8_t *cls) {
    begin_block(s);
    s->in_body = is_body(cfg, b);
    for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++) step(s, i, cls[i]);
    carry_out(s);
}

/* Copies of carried registers are carried, too: until there are no more. */
static void find_carried(Scoreboard *s, const PtxCfg *cfg, const uint8_t *cls) {
    for (int before = -1; before != s->n_carried;) {
        before = s->n_carried;
        for (int b = 0; b < cfg->n_blocks; b++) run_block(s, cfg, b, cls);
    }
}

void cost_blocks(const EmuModel *model, const PtxFunc *f, const PtxCfg *cfg, const uint8_t *cls,
                 CostBlock *block, CostPlace *place, CostCarries *carries) {
    size_t regs = (size_t)f->n_regs + 1;
    Scoreboard s = {.model = model,
                    .f = f,
                    .ready = gi_alloc(regs * sizeof(double)),
                    .holds = gi_alloc(regs * sizeof(int)),
                    .carried = gi_alloc(regs * sizeof(int)),
                    .place = place};
    find_carried(&s, cfg, cls);
    carries->n = s.n_carried;
    if (s.n_carried)
        carries->at = gi_alloc((size_t)(cfg->n_blocks * s.n_carried) * sizeof *carries->at);
    for (int b = 0; b < cfg->n_blocks; b++) {
        run_block(&s, cfg, b, cls);
        block[b].latency = s.last;
        block[b].is_head = is_head(cfg, b);
        for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++)
            add_class(&block[b], &class_cost[cls[i]]);
        end_block(&s, cfg->first[b], cfg->first[b + 1],
                  s.n_carried ? &carries->at[b * s.n_carried] : NULL);
    }
    free(s.ready);
    free(s.holds);
    free(s.carried);
    free(s.dirty);
}
