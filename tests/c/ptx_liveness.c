/* ptx_liveness.c - storage slots and pressure, against the textbook's data-flow equations computed
** one instruction and one register at a time. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

#include <stdlib.h>

static PtxModule *parse(const char *text) {
    gi_err err = {.code = ""};
    PtxModule *m = ptx_parse(text, strlen(text), &err);
    if (m == NULL) printf("# %s\n", err.message);
    return m;
}

enum { N_REGS = 24, MAX_CODE = 200 };

typedef struct Naive {
    bool reads[MAX_CODE][N_REGS], writes[MAX_CODE][N_REGS];
    bool in[MAX_CODE][N_REGS], out[MAX_CODE][N_REGS];
} Naive;

static Naive naive; /* large */

/* Half the registers are predicates, 32-bit, 64-bit in turn. */
static const char *reg(gi_rng *rng, const char *kind) {
    static char names[8][8];
    static int next;
    char *name = names[next++ % 8];
    snprintf(name, 8, "%%%s%d", kind, (int)gi_rng_below(rng, 8));
    return name;
}

static void random_kernel(gi_rng *rng, int n, gi_buf *out) {
    gi_buf_adds(out,
                PTX_HEAD ".entry k()\n{\n.reg .pred %p<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n");
    for (int i = 0; i < n; i++) {
        gi_buf_addf(out, "L%d: ", i);
        if (gi_rng_below(rng, 4) == 0) gi_buf_addf(out, "@%s ", reg(rng, "p"));
        switch (gi_rng_below(rng, 8)) {
        case 0: gi_buf_addf(out, "bra L%d;\n", (int)gi_rng_below(rng, (uint64_t)n)); break;
        case 1: gi_buf_addf(out, "setp.eq.s32 %s, %s, 0;\n", reg(rng, "p"), reg(rng, "r")); break;
        case 2: gi_buf_addf(out, "st.global.u32 [%s], %s;\n", reg(rng, "rd"), reg(rng, "r")); break;
        case 3: gi_buf_addf(out, "ld.global.u32 %s, [%s];\n", reg(rng, "r"), reg(rng, "rd")); break;
        case 4:
            gi_buf_addf(out, "mov.b64 %s, {%s, %s};\n", reg(rng, "rd"), reg(rng, "r"),
                        reg(rng, "r"));
            break;
        case 5:
            gi_buf_addf(out, "mov.b64 {%s, %s}, %s;\n", reg(rng, "r"), reg(rng, "r"),
                        reg(rng, "rd"));
            break;
        case 6: gi_buf_addf(out, "mov.u32 %s, 1;\n", reg(rng, "r")); break;
        default:
            gi_buf_addf(out, "add.s32 %s, %s, %s;\n", reg(rng, "r"), reg(rng, "r"), reg(rng, "r"));
        }
    }
    gi_buf_adds(out, "ret;\n}\n");
}

static void collect(const PtxOperand *op, bool *set) {
    if (op->kind == PTX_OP_REG) set[op->reg] = true;
    for (int i = 0; i < op->n_elems; i++) collect(&op->elems[i], set);
}

/* Written by hand for the opcodes above: the first operand is written but by bra, st and ret. */
static void collect_instr(const PtxInstr *in, bool *reads, bool *writes) {
    bool stores =
        !strcmp(in->opcode, "bra") || !strcmp(in->opcode, "st") || !strcmp(in->opcode, "ret");
    memset(reads, 0, N_REGS);
    memset(writes, 0, N_REGS);
    if (in->guard >= 0) reads[in->guard] = true;
    for (int a = 0; a < in->n_args; a++) collect(&in->args[a], a == 0 && !stores ? writes : reads);
}

static bool flow_into(const PtxFunc *f, int i, int r) { /* is r live before a successor of i? */
    const PtxInstr *in = &f->code[i];
    bool jumps = in->target >= 0, stops = in->guard < 0 && (jumps || !strcmp(in->opcode, "ret"));
    return (jumps && naive.in[in->target][r]) ||
           (!stops && i + 1 < f->n_code && naive.in[i + 1][r]);
}

static void solve(const PtxFunc *f) {
    memset(&naive, 0, sizeof naive);
    for (int i = 0; i < f->n_code; i++) collect_instr(&f->code[i], naive.reads[i], naive.writes[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = f->n_code - 1; i >= 0; i--)
            for (int r = 0; r < f->n_regs; r++) {
                naive.out[i][r] = flow_into(f, i, r);
                bool killed = naive.writes[i][r] && f->code[i].guard < 0;
                bool in = naive.reads[i][r] || (naive.out[i][r] && !killed);
                changed |= in != naive.in[i][r];
                naive.in[i][r] = in;
            }
    }
}

static int pressure(const PtxFunc *f, const bool *live) {
    int sum = 0;
    for (int r = 0; r < f->n_regs; r++)
        if (live[r] && f->regs[r].type != PTX_PRED) sum += (int)ptx_type_size(f->regs[r].type) / 4;
    return sum;
}

static int clashes_at(const PtxFunc *f, const PtxLiveness *l, const bool *live) {
    int n = 0;
    for (int a = 0; a < f->n_regs; a++)
        for (int b = a + 1; b < f->n_regs; b++)
            n += live[a] && live[b] && l->class_of[a] == l->class_of[b] && l->slot[a] == l->slot[b];
    return n;
}

static int out_of_range(const PtxFunc *f, const PtxLiveness *l, const bool *used) {
    int n = 0;
    for (int r = 0; r < f->n_regs; r++)
        n += used[r] ? l->slot[r] < 0 || l->slot[r] >= l->slots[l->class_of[r]] : l->slot[r] != -1;
    return n;
}

/* Checks one function; returns how much is wrong. */
static int check(const PtxFunc *f, const PtxLiveness *l) {
    int wrong = 0, peak = 0;
    bool used[N_REGS] = {false};
    for (int i = 0; i < f->n_code; i++) {
        bool after[N_REGS], touched[N_REGS];
        for (int r = 0; r < f->n_regs; r++) {
            after[r] = naive.out[i][r] || naive.writes[i][r];
            touched[r] = after[r] || naive.in[i][r];
            used[r] |= naive.reads[i][r] || naive.writes[i][r];
        }
        wrong += clashes_at(f, l, touched);
        if (pressure(f, after) > peak) peak = pressure(f, after);
        if (pressure(f, naive.in[i]) > peak) peak = pressure(f, naive.in[i]);
    }
    if (peak != l->max_live32) printf("# max_live32 %d, want %d\n", l->max_live32, peak);
    return wrong + out_of_range(f, l, used) + (peak != l->max_live32);
}

static void test_random(uint64_t seed) {
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    printf("# seed %llu\n", (unsigned long long)seed);
    int wrong = 0, shared = 0;
    for (int round = 0; round < 400; round++) {
        gi_buf text = {0};
        random_kernel(&rng, 1 + (int)gi_rng_below(&rng, round % 2 ? 12 : 60), &text);
        PtxModule *m = parse(text.data);
        PtxFunc *f = &m->funcs[0];
        PtxCfg *c = ptx_cfg(f);
        PtxLiveness *l = ptx_liveness(f, c);
        solve(f);
        int bad = check(f, l);
        if (bad && !wrong) printf("# first wrong:\n%s", text.data);
        wrong += bad;
        shared += l->slots[0] + l->slots[1] + l->slots[2] < f->n_regs;
        ptx_liveness_free(l);
        ptx_cfg_free(c);
        ptx_free(m);
        gi_buf_free(&text);
    }
    is_int(wrong, 0, "registers live together have slots of their own; the pressure is exact");
    ok(shared > 100, "slots are shared in %d of 400 functions", shared);
}

static void test_straight(void) {
    PtxModule *m = parse(
        PTX_KERNEL("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nadd.s32 %r3, %r1, %r2;\n"
                   "mov.u32 %r4, 3;\nadd.s32 %r5, %r3, %r4;\nst.global.u32 [4096], %r5;\nret;"));
    PtxCfg *c = ptx_cfg(&m->funcs[0]);
    PtxLiveness *l = ptx_liveness(&m->funcs[0], c);
    is_int(l->max_live32, 2, "two values live at once");
    is_int(l->slots[1], 3, "and a slot for the result of both");
    is_int(l->slots[2], 0, "no 64-bit register is used");
    ptx_liveness_free(l);
    ptx_cfg_free(c);
    ptx_free(m);
}

/* A part of a register is written: the others stay, so the register is live before. */
static void test_part(void) {
    PtxModule *m = parse(PTX_KERNEL("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n"
                                    "vadd.u32.u32.u32 %r1.b0, %r2, %r3, %r3;\n"
                                    "st.global.u32 [4096], %r1;\nret;"));
    PtxCfg *c = ptx_cfg(&m->funcs[0]);
    PtxLiveness *l = ptx_liveness(&m->funcs[0], c);
    is_int(l->max_live32, 3, "three values live where one of them is written in part");
    ptx_liveness_free(l);
    ptx_cfg_free(c);
    ptx_free(m);
}

static void dest(const char *text, bool want) {
    gi_buf whole = {0};
    gi_buf_adds(&whole, PTX_KERNEL(""));
    whole.len -= 3;
    gi_buf_addf(&whole, "%s\n}\n", text);
    PtxModule *m = parse(whole.data);
    ok(m && ptx_is_dest(&m->funcs[0].code[0], 0) == want, "%s: %s", text,
       want ? "writes" : "only reads");
    ptx_free(m);
    gi_buf_free(&whole);
}

int main(void) {
    test_straight();
    test_part();
    dest("add.s32 %r1, %r2, 1;", true);
    dest("st.global.u32 [%rd1], %r1;", false);
    dest("red.global.add.u32 [%rd1], %r1;", false);
    dest("atom.global.add.u32 %r1, [%rd1], %r2;", true);
    dest("bar.sync %r1;", false);
    dest("bar.red.popc.u32 %r1, 0, %p1;", true);
    dest("bar.warp.sync %r1;", false);
    dest("setp.lt.s32 %p1|%p2, %r1, 0;", true);
    dest("nanosleep.u32 %r1;", false);
    dest("sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};", false);
    dest("call (k_param_0), k, (k_param_1);", true);
    dest("call k, (k_param_1);", false);
    dest("ret;", false);
    test_random(1);
    test_random(20200714);
    return tap_done();
}
