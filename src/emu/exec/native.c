/* native.c - see native.h. One pass over a run: each instruction is written as soon as it is met.
**
** Registers: 26 of the processor's 32 hold rows, two each (four for lanes of 64 bits); the others
** are for what one instruction needs. A row that was written is stored when its registers are
** wanted for another row, before a call, and at the run's end. A row that is only read is taken
** from memory by the instruction that reads it.
**
** A load of shared memory is written in line for the layouts that are common (exec_layout.h): one
** place, two places, neighbours 16 and 16, words of a window. The code looks at the layout; what it
** does not cover leaves the line: it stores all rows, calls the interpreter, loads them and comes
** back.
**
** Why an assembler of our own (evex.h): compiling takes 0.7 us an instruction. libLLVM 14 took 130,
** and 14 ms to be opened; all of a mutant's run takes a tenth of a second.
*/
#include "emu/exec/native_rows.h"

#include "emu/decode/bounds.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)

/* --- calls --- */

static SlowFn called(const Code *code, const Ins *in) {
    return in->op == OP_SLOW          ? code->slow[in->x]
           : in->op == OP_LDST        ? native_memory
           : in->op == OP_LOAD_SHARED ? native_shared
           : in->op == OP_TEX         ? native_texture
                                      : native_other;
}

/* The interpreter runs one instruction; all rows are in memory. */
static void write_call(Writer *s, int ins) {
    const Ins *in = &s->code->ins[ins];
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8b, RDI, rm_reg(R12));
    asm_general(b, true, 0x8b, RSI, rm_reg(R13));
    asm_constant(b, RDX, (uint64_t)(uintptr_t)in);
    asm_general(b, true, 0x89, RDX, rm_at(R13, offsetof(Warp, at)));
    asm_byte(b, 0xc5), asm_byte(b, 0xf8), asm_byte(b, 0x77); /* vzeroupper */
    asm_constant(b, RAX, (uint64_t)(uintptr_t)called(s->code, in));
    asm_byte(b, 0xff), asm_byte(b, 0xd0); /* call rax */
    asm_byte(b, 0x84), asm_byte(b, 0xc0); /* test al, al */
    const size_t jump = asm_jump_if(b, IF_ZERO);
    if (s->n_fault == s->cap_fault) {
        s->cap_fault = s->cap_fault * 2 + 16;
        s->fault = gi_realloc(s->fault, (size_t)s->cap_fault * sizeof *s->fault);
    }
    s->fault[s->n_fault++] = jump;
}

/* --- loads of shared memory --- */

static void leave_if(Writer *s, Cold *c, unsigned when) {
    c->jump[c->n++] = asm_jump_if(&s->b, when);
}

/* cmp of memory with a number of 8 bits that is extended. bytes: 1, 2 or 4. */
static void compare_memory(Writer *s, Rm rm, int bytes, int value) {
    if (bytes == 2) asm_byte(&s->b, 0x66);
    asm_byte(&s->b, 0x40 | ((unsigned)rm.base >> 3 & 1));
    asm_byte(&s->b, bytes == 1 ? 0x80 : 0x83);
    asm_rm(&s->b, 7, rm, 1);
    asm_byte(&s->b, (unsigned)value);
}

#define LAYOUT(field) rm_at(RDX, offsetof(Layout, field))

/* Leaves unless all lanes are active and the layout holds of their bases: compiled code runs with
** dead lanes, too, whose bank conflicts do not count. Then rax is the first lane's base. */
static void write_look(Writer *s, Cold *c, const MemForm *f) {
    const int n = parts(f->wide_base), first = SCRATCH, apart = SCRATCH + 1;
    const Operand base = source(s, f->base, n);
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8d, RDX, rm_at(R14, f->layout * sizeof(Layout)));
    compare_memory(s, rm_at(R13, offsetof(Warp, active)), 4, -1);
    leave_if(s, c, IF_NOT_ZERO);
    compare_memory(s, LAYOUT(active), 4, -1);
    leave_if(s, c, IF_NOT_ZERO);
    compare_memory(s, LAYOUT(wait), 2, 0);
    leave_if(s, c, IF_NOT_ZERO);
    if (f->same_layout) {
        compare_memory(s, LAYOUT(known), 1, 1);
        leave_if(s, c, IF_NOT_ZERO);
    } else {
        put(s, f->wide_base ? CAST64 : CAST32, first, 0, base.part[0]);
        for (int p = 0; p < n; p++) {
            const int x = in_register(s, base.part[p], apart);
            const size_t at = offsetof(Layout, apart) + 128u / (unsigned)n * (unsigned)p;
            put(s, f->wide_base ? SUB_Q : SUB_D, apart, x, rm_reg(first));
            if (f->wide_base) put_half(s, SX_DQ, apart + 1, rm_at(RDX, at));
            put_test(s, f->wide_base ? CMP_Q : CMP_D, 1 + p, apart,
                     f->wide_base ? rm_reg(apart + 1) : rm_at(RDX, at), 4);
        }
        const uint32_t join = EVEX(f->wide_base ? P66 : NP, M0F, 0, 0x45); /* kor */
        for (int p = 1; p < n; p++) asm_vex(b, join, 1, 1, 1, rm_reg(1 + p));
        asm_vex(b, EVEX(NP, M0F, 0, 0x98), 0, 1, 0, rm_reg(1)); /* kortestw */
        leave_if(s, c, IF_NOT_ZERO);
    }
    if (base.part[0].reg < 0) {
        asm_general(b, f->wide_base, 0x8b, RAX, base.part[0]);
    } else { /* vmovd, vmovq */
        Vector how = {.length = BITS128, .imm = -1};
        asm_evex(b, EVEX(P66, M0F, f->wide_base, 0x7e), base.part[0].reg, 0, rm_reg(RAX), how);
    }
}

/* rax, a base: becomes a pointer to the first lane's place, inside and aligned for all; or leaves.
** Warp.base is set on the way. */
static void write_bounds(Writer *s, Cold *c, const MemForm *f) {
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8b, RSI, rm_reg(RAX));
    asm_general(b, f->wide_base, 0x8d, RAX, rm_at(RAX, (size_t)f->offset));
    asm_general(b, false, 0x8b, RCX, LAYOUT(bits));
    asm_general(b, false, 0x0b, RCX, rm_reg(RAX));
    asm_byte(b, 0xf6), asm_byte(b, 0xc1), asm_byte(b, f->bytes - 1u); /* test cl, bytes - 1 */
    leave_if(s, c, IF_NOT_ZERO);
    asm_general(b, false, 0x8b, RDI, rm_at(R12, offsetof(Machine, shared_bytes)));
    asm_general(b, true, 0x3b, RAX, rm_reg(RDI));
    leave_if(s, c, IF_ABOVE);
    asm_general(b, true, 0x63, RCX, LAYOUT(low));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    leave_if(s, c, IF_NEGATIVE);
    asm_general(b, true, 0x63, RCX, LAYOUT(high));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    asm_general(b, true, 0x8d, RCX, rm_at(RCX, f->bytes));
    asm_general(b, true, 0x3b, RCX, rm_reg(RDI));
    leave_if(s, c, IF_ABOVE);
    asm_general(b, true, 0x03, RAX, rm_at(R12, offsetof(Machine, shared)));
}

/* All lanes have the words at rax. */
static void write_one_place(Writer *s, const MemForm *f, const Operand *d) {
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        put(s, CAST32, d[k].part[0].reg, 0, rm_at(RAX, 4u * (unsigned)k));
        put(s, MOV, d[k].part[1].reg, 0, d[k].part[0]);
    }
}

/* Counts the layout's bank conflicts. */
static void write_banks(Writer *s) {
    gi_buf *b = &s->b;
    const Vector scalar = {.length = BITS128, .imm = -1};
    const Rm extra = rm_at(R12, offsetof(Machine, cost.extra) + PIPE_SHARED * sizeof(double));
    asm_general(b, false, 0x8b, RCX, LAYOUT(banks.extra));
    asm_general(b, false, 0x85, RCX, rm_reg(RCX));
    const size_t none = asm_jump_if(b, IF_ZERO);
    put(s, XOR_D, SCRATCH, SCRATCH, rm_reg(SCRATCH));
    asm_evex(b, EVEX(PF2, M0F, 0, 0x2a), SCRATCH, SCRATCH, rm_reg(RCX), scalar); /* vcvtsi2sd */
    asm_evex(b, EVEX(PF2, M0F, 1, 0x58), SCRATCH, SCRATCH, extra, scalar);
    asm_evex(b, EVEX(PF2, M0F, 1, 0x11), SCRATCH, 0, extra, scalar);
    asm_general(b, false, 0x8b, RCX, LAYOUT(banks.conflicts));
    asm_general(b, true, 0x8b, RDI, rm_at(R12, offsetof(Machine, result)));
    asm_general(b, true, 0x01, RCX, rm_at(RDI, offsetof(EmuResult, shared_conflicts)));
    asm_aim(b, none, b->len);
}

/* Where the load before it had the same base in all lanes: a uniform load without a look at the
** lanes or at the layout, which none of the loads that trust it asks. Goes on behind it where that
** was not so; *done: to be aimed behind the load. */
static void write_same_base(Writer *s, const MemForm *f, const Operand *d, size_t *done) {
    gi_buf *b = &s->b;
    size_t no[4];
    asm_byte(b, 0x41), asm_byte(b, 0x80); /* cmp byte */
    asm_rm(b, 7, rm_at(R13, offsetof(Warp, one_base)), 1);
    asm_byte(b, 1);
    no[0] = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, true, 0x8b, RAX, rm_at(R13, offsetof(Warp, base)));
    asm_general(b, f->wide_base, 0x8d, RAX, rm_at(RAX, (size_t)f->offset));
    asm_byte(b, 0xa8), asm_byte(b, f->bytes - 1u); /* test al, bytes - 1 */
    no[1] = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, false, 0x8b, RDI, rm_at(R12, offsetof(Machine, shared_bytes)));
    asm_general(b, true, 0x3b, RAX, rm_reg(RDI)); /* a place below 0 is a large number */
    no[2] = asm_jump_if(b, IF_ABOVE);
    asm_general(b, true, 0x8d, RCX, rm_at(RAX, f->bytes));
    asm_general(b, true, 0x3b, RCX, rm_reg(RDI));
    no[3] = asm_jump_if(b, IF_ABOVE);
    asm_general(b, true, 0x03, RAX, rm_at(R12, offsetof(Machine, shared)));
    write_one_place(s, f, d);
    *done = asm_jump(b);
    for (int i = 0; i < 4; i++) asm_aim(b, no[i], b->len);
}

/* Sets Warp.one_base. */
static void write_one_base(Writer *s, bool is_one) {
    asm_byte(&s->b, 0x41), asm_byte(&s->b, 0xc6);
    asm_rm(&s->b, 0, rm_at(R13, offsetof(Warp, one_base)), 1);
    asm_byte(&s->b, is_one);
}

/* 16 words of a window at rcx: the n-th 16, into a register. */
static void put_window(Writer *s, int n, int to) {
    Vector how = PLAIN;
    how.mask = 1;
    how.zeroes = true;
    load_mask(s, 1, RDX, offsetof(Layout, window) + 2u * (unsigned)n, false);
    asm_evex(&s->b, MOVU, to, 0, rm_at(RCX, 64u * (unsigned)n), how);
}

/* d = what its indices choose of two registers. */
static void put_chosen(Writer *s, int d, int part, int from) {
    put(s, MOV, d, 0, rm_at(RDX, offsetof(Layout, word) + 64u * (unsigned)part));
    put(s, EVEX(P66, M0F38, 0, 0x76), d, from, rm_reg(from + 1)); /* vpermi2d */
}

/* A word a lane out of at most 64 that follow each other: load_window of exec_layout.h. */
static void write_window(Writer *s, const Operand *d) {
    gi_buf *b = &s->b;
    const int low = SCRATCH, high = SCRATCH + 2, chosen = SCRATCH + 4;
    Vector test = {.broadcasts = true, .length = BITS512, .imm = -1};
    asm_general(b, true, 0x63, RCX, LAYOUT(low));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    for (int n = 0; n < 2; n++) put_window(s, n, low + n);
    for (int p = 0; p < 2; p++) put_chosen(s, d->part[p].reg, p, low);
    compare_memory(s, LAYOUT(window[2]), 2, 0);
    const size_t small = asm_jump_if(b, IF_ZERO);
    for (int n = 0; n < 2; n++) put_window(s, 2 + n, high + n);
    for (int p = 0; p < 2; p++) {
        put_chosen(s, chosen, p, high);
        put(s, MOV, low, 0, rm_at(RDX, offsetof(Layout, word) + 64u * (unsigned)p));
        asm_evex(b, EVEX(P66, M0F38, 0, 0x27), 1, low, rm_at(RIP, POOL_LANES), test);
        put_masked(s, MOV, d->part[p].reg, 0, rm_reg(chosen), 1);
    }
    asm_aim(b, small, b->len);
}

/* The words at rax of lanes that lie like this. */
static void write_words(Writer *s, Cold *c, const MemForm *f, const Operand *d) {
    gi_buf *b = &s->b;
    size_t done[3];
    compare_memory(s, LAYOUT(pattern), 1, 0); /* LANES_UNIFORM */
    const size_t several = asm_jump_if(b, IF_NOT_ZERO);
    write_one_place(s, f, d);
    write_one_base(s, true);
    done[0] = asm_jump(b);
    asm_aim(b, several, b->len);
    compare_memory(s, LAYOUT(n_few), 1, 2);
    const size_t not_two = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, true, 0x63, RCX, LAYOUT(few_at[1]));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    load_mask(s, 1, RDX, offsetof(Layout, few_lanes[1]), false);
    load_mask(s, 2, RDX, offsetof(Layout, few_lanes[1]) + 2, false);
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        put(s, CAST32, d[k].part[0].reg, 0, rm_at(RAX, 4u * (unsigned)k));
        put(s, MOV, d[k].part[1].reg, 0, d[k].part[0]);
        for (int p = 0; p < 2; p++)
            put_masked(s, CAST32, d[k].part[p].reg, 0, rm_at(RCX, 4u * (unsigned)k), 1 + p);
    }
    write_one_base(s, false);
    done[1] = asm_jump(b);
    asm_aim(b, not_two, b->len);
    if (f->count == 1) {
        compare_memory(s, LAYOUT(how), 1, LAYOUT_HALVES);
        const size_t no_halves = asm_jump_if(b, IF_NOT_ZERO);
        asm_general(b, true, 0x63, RCX, LAYOUT(apart[16]));
        asm_general(b, true, 0x03, RCX, rm_reg(RAX));
        put(s, MOVU, d->part[0].reg, 0, rm_at(RAX, 0));
        put(s, MOVU, d->part[1].reg, 0, rm_at(RCX, 0));
        done[2] = asm_jump(b);
        asm_aim(b, no_halves, b->len);
        compare_memory(s, LAYOUT(how), 1, LAYOUT_WINDOW);
        leave_if(s, c, IF_NOT_ZERO);
        write_window(s, d);
        asm_aim(b, done[2], b->len);
        write_one_base(s, false);
    } else {
        c->jump[c->n++] = asm_jump(b);
    }
    for (int i = 0; i < 2; i++) asm_aim(b, done[i], b->len);
}

static bool is_load_in_line(const Ins *in, const MemForm *f) {
    return is_memory(in) && f->bound == BOUND_SHARED &&
           !f->is_store && f->layout && f->size == 4 && f->bits[0] == 32 && f->count <= 4 &&
           f->offset >= 0 && f->offset < INT32_MAX;
}

static void write_load(Writer *s, int ins, const MemForm *f) {
    Operand d[4];
    if (s->n_cold == s->cap_cold) {
        s->cap_cold = s->cap_cold * 2 + 16;
        s->cold = gi_realloc(s->cold, (size_t)s->cap_cold * sizeof *s->cold);
    }
    Cold *c = &s->cold[s->n_cold++];
    c->n = 0;
    c->ins = ins;
    row_find(s, f->base, parts(f->wide_base));
    for (int k = 0; k < f->count; k++) { /* what they hold does not matter: not loaded */
        if (f->unused >> k & 1) continue;
        const Held *r = row_find(s, f->reg[k], 2);
        d[k] = of_row(r ? r : row_new(s, f->reg[k], 2));
    }
    c->rows = s->rows;
    size_t done = 0;
    if (f->same_base) write_same_base(s, f, d, &done);
    write_look(s, c, f);
    write_bounds(s, c, f);
    write_words(s, c, f, d);
    asm_byte(&s->b, 0xc6); /* known = true */
    asm_rm(&s->b, 0, LAYOUT(known), 1);
    asm_byte(&s->b, 1);
    asm_byte(&s->b, 0x66), asm_byte(&s->b, 0xc7); /* served = LAYOUT_PAYS */
    asm_rm(&s->b, 0, LAYOUT(served), 2);
    asm_byte(&s->b, LAYOUT_PAYS), asm_byte(&s->b, 0);
    asm_general(&s->b, true, 0x89, RSI, rm_at(R13, offsetof(Warp, base)));
    write_banks(s);
    if (done) asm_aim(&s->b, done, s->b.len);
    for (int k = 0; k < f->count; k++)
        if (!(f->unused >> k & 1)) target_of(s, f->reg[k], 2, f->is_free);
    c->back = s->b.len;
}

static void write_cold(Writer *s, const Cold *c) {
    const Rows rows = s->rows;
    for (int i = 0; i < c->n; i++) asm_aim(&s->b, c->jump[i], s->b.len);
    s->rows = c->rows;
    s->ins = c->ins;
    rows_store(s);
    write_call(s, c->ins);
    for (int i = 0; i < s->rows.n; i++) {
        const Held *r = &s->rows.row[i];
        for (int p = 0; p < r->n; p++) put(s, MOV, r->reg[p], 0, home(r->at, p));
    }
    asm_aim(&s->b, asm_jump(&s->b), c->back);
    s->rows = rows;
}

/* --- runs --- */

/* Does it end a run: what may change the path, the frame or the mask? */
static bool is_control(const Ins *in) {
    return in->op <= OP_ASK;
}

/* Does a stretch of code end there, in which locals live (registers.c), and reads no row itself? A
** branch within a block is that of a guarded instruction. */
static bool ends_stretch(const Ins *in) {
    switch (in->op) {
    case OP_BRA:
    case OP_BRA_IF: return in[1].op == OP_BLOCK;
    case OP_BLOCK:
    case OP_RET:
    case OP_EXIT: return true;
    default: return false;
    }
}

typedef struct Mix { /* of a run: instructions that are written or called; groups of fuse.c */
    int written, called, fused;
} Mix;

static void write_one(Writer *s, int ins, Mix *mix) {
    const Ins *in = &s->code->ins[ins];
    const MemForm *f = is_memory(in) ? &s->code->mem[in->imm] : NULL;
    s->now++;
    s->ins = ins;
    mix->fused += in->op == OP_WEIGH_SHARED || in->op == OP_WEIGH_SHARED_N;
    if (f && is_load_in_line(in, f)) {
        write_load(s, ins, f);
        mix->written++;
    } else if (native_write(s, in)) {
        mix->written++;
    } else {
        rows_forget(s);
        write_call(s, ins);
        mix->called++;
    }
}

/* Before a run: registers that calls keep. */
static void write_begin(gi_buf *b) {
    static const uint8_t push[] = {0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    gi_buf_add(b, (const char *)push, sizeof push);
    asm_general(b, true, 0x8b, R12, rm_reg(RDI));
    asm_general(b, true, 0x8b, R13, rm_reg(RSI));
    asm_general(b, true, 0x8b, RBX, rm_reg(RDX));
    asm_general(b, true, 0x8b, R14, rm_at(RDI, offsetof(Machine, layouts)));
}

/* Behind it, with its answer. */
static void write_end(gi_buf *b, bool is_well) {
    static const uint8_t pop[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0xc3};
    asm_byte(b, 0xb8); /* mov eax, answer */
    asm_word(b, is_well);
    asm_byte(b, 0xc5), asm_byte(b, 0xf8), asm_byte(b, 0x77); /* vzeroupper */
    gi_buf_add(b, (const char *)pop, sizeof pop);
}

/* Is it faster than interpreting? Entering a run takes as long as a few instructions. Groups that
** weigh words are faster as one operation of the interpreter (measured: NiftyReg, 15 %). */
static bool pays(Mix mix) {
    return mix.fused == 0 && mix.written >= LEAST_RUN && mix.written >= mix.called;
}

/* The run that begins at an instruction: its place in the code, 0: none. */
static size_t write_run(Writer *s, int from, int *n) {
    const Code *code = s->code;
    const size_t begin = s->b.len;
    Mix mix = {0, 0, 0};
    int ins = from;
    s->rows.n = s->n_cold = s->n_fault = 0;
    s->rows.free = (1u << HELD) - 1;
    write_begin(&s->b);
    for (s->end = from; s->end < code->n_ins && !is_control(&code->ins[s->end]);) s->end++;
    s->frees = ends_stretch(&code->ins[s->end]);
    for (; ins < s->end; ins++) write_one(s, ins, &mix);
    *n = ins - from;
    if (!pays(mix)) {
        s->b.len = begin;
        return 0;
    }
    s->ins = s->end;
    rows_store(s);
    write_end(&s->b, true);
    for (int i = 0; i < s->n_cold; i++) write_cold(s, &s->cold[i]);
    for (int i = 0; i < s->n_fault; i++) asm_aim(&s->b, s->fault[i], s->b.len);
    if (s->n_fault) write_end(&s->b, false);
    return begin;
}

/* Where a run may begin: behind what ends one. */
static void write_function(Writer *s, Code *code) {
    code->native = gi_alloc(((size_t)code->n_ins + 1) * sizeof *code->native);
    s->code = code;
    for (int i = 0; i < code->n_ins; i++) {
        if (!is_control(&code->ins[i]) || i + 1 == code->n_ins) continue;
        code->native[i + 1].at = write_run(s, i + 1, &code->native[i + 1].n);
    }
}

/* The code as memory that can be executed, and no longer written; NULL: there is none. */
static uint8_t *executable(const gi_buf *b) {
    void *at = mmap(NULL, b->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    memcpy(at, b->data, b->len);
    if (mprotect(at, b->len, PROT_READ | PROT_EXEC) == 0) return at;
    munmap(at, b->len);
    return NULL;
}

static void write_pool(gi_buf *b) {
    const uint32_t nan = 0x7fffffff, big = 0x4f000000, one = 1, byte = 255, lanes = 32;
    const uint64_t quiet = 0x0008000000000000u, indefinite = 0xfff8000000000000u;
    uint8_t pool[POOL_ENDS] = {0};
    memcpy(pool + POOL_NAN, &nan, sizeof nan);
    memcpy(pool + POOL_BIG, &big, sizeof big);
    memcpy(pool + POOL_ONE, &one, sizeof one);
    memcpy(pool + POOL_BYTE, &byte, sizeof byte);
    memcpy(pool + POOL_LANES, &lanes, sizeof lanes);
    memcpy(pool + POOL_QUIET, &quiet, sizeof quiet);
    memcpy(pool + POOL_INDEFINITE, &indefinite, sizeof indefinite);
    gi_buf_add(b, (const char *)pool, sizeof pool);
}

void native_compile(EmuModule *mod) {
    Writer s = {0};
    if (mod->compiled) return;
    mod->compiled = true;
    write_pool(&s.b);
    for (int i = 0; i < mod->n_code; i++)
        if (mod->code[i].ins && mod->code[i].refused == NULL) write_function(&s, &mod->code[i]);
    mod->native = executable(&s.b);
    mod->native_bytes = s.b.len;
    for (int i = 0; i < mod->n_code; i++) {
        Code *code = &mod->code[i];
        for (int k = 0; code->native && k < code->n_ins; k++) {
            NativeRun *run = &code->native[k];
            const uint8_t *at = mod->native && run->at ? mod->native + run->at : NULL;
            memcpy(&run->fn, &at, sizeof at);
        }
    }
    gi_buf_free(&s.b);
    free(s.cold);
    free(s.fault);
}

void native_free(EmuModule *mod) {
    for (int i = 0; i < mod->n_code; i++) free(mod->code[i].native);
    if (mod->native) munmap(mod->native, mod->native_bytes);
}

#else
void native_compile(EmuModule *mod) {
    mod->compiled = true;
}
void native_free(EmuModule *mod) {
    (void)mod;
}
#endif
