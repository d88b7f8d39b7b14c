/* ptx_print.c - printing and parsing are inverse: a printed module parses to one that prints the
** same and has the same instructions, registers and variables. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

static PtxModule *parse(const char *text, size_t len) {
    gi_err err = {.code = ""};
    PtxModule *m = ptx_parse(text, len, &err);
    if (m == NULL) printf("# %s\n", err.message);
    return m;
}

static bool same_text(const char *a, const char *b) {
    return (a == NULL && b == NULL) || (a && b && strcmp(a, b) == 0);
}

static bool same_operand(const PtxOperand *a, const PtxOperand *b) {
    bool same = a->kind == b->kind && a->negated == b->negated && a->reg == b->reg &&
                a->imm == b->imm && a->imm_kind == b->imm_kind && a->func == b->func &&
                a->offset == b->offset && a->n_elems == b->n_elems &&
                same_text(a->select, b->select) && (a->var == NULL) == (b->var == NULL);
    if (a->kind == PTX_OP_SYMBOL || a->kind == PTX_OP_SREG)
        same = same && same_text(a->symbol, b->symbol);
    for (int i = 0; same && i < a->n_elems; i++) same = same_operand(&a->elems[i], &b->elems[i]);
    return same;
}

static bool same_instr(const PtxInstr *a, const PtxInstr *b) {
    bool same = same_text(a->opcode, b->opcode) && a->n_mods == b->n_mods && a->guard == b->guard &&
                a->guard_negated == b->guard_negated && a->n_args == b->n_args &&
                a->target == b->target && a->n_targets == b->n_targets &&
                a->src_line == b->src_line;
    for (int i = 0; same && i < a->n_mods; i++) same = same_text(a->mods[i], b->mods[i]);
    for (int i = 0; same && i < a->n_args; i++) same = same_operand(&a->args[i], &b->args[i]);
    for (int i = 0; same && i < a->n_targets; i++) same = a->targets[i] == b->targets[i];
    return same;
}

static bool same_var(const PtxVar *a, const PtxVar *b) {
    bool same = same_text(a->name, b->name) && a->space == b->space && a->type == b->type &&
                a->vec == b->vec && a->align == b->align && a->size == b->size &&
                a->linkage == b->linkage && a->is_ptr == b->is_ptr &&
                a->ptr_align == b->ptr_align && a->ptr_space == b->ptr_space &&
                a->n_relocs == b->n_relocs && (a->init == NULL) == (b->init == NULL);
    if (same && a->init) same = memcmp(a->init, b->init, a->size) == 0;
    for (int i = 0; same && i < a->n_relocs; i++)
        same = a->relocs[i].offset == b->relocs[i].offset &&
               a->relocs[i].addend == b->relocs[i].addend &&
               a->relocs[i].generic == b->relocs[i].generic &&
               same_text(a->relocs[i].symbol, b->relocs[i].symbol);
    return same;
}

static bool same_func(const PtxFunc *a, const PtxFunc *b) {
    bool same = same_text(a->name, b->name) && a->is_entry == b->is_entry &&
                a->has_body == b->has_body && a->linkage == b->linkage &&
                a->n_params == b->n_params && a->n_rets == b->n_rets && a->n_regs == b->n_regs &&
                a->n_vars == b->n_vars && a->n_code == b->n_code && a->maxnreg == b->maxnreg &&
                memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) == 0 &&
                same_text(a->directives, b->directives) && a->n_protos == b->n_protos &&
                a->n_pragmas == b->n_pragmas;
    for (int i = 0; same && i < a->n_params; i++) same = same_var(&a->params[i], &b->params[i]);
    for (int i = 0; same && i < a->n_regs; i++)
        same = same_text(a->regs[i].name, b->regs[i].name) && a->regs[i].type == b->regs[i].type;
    for (int i = 0; same && i < a->n_vars; i++) same = same_var(a->vars[i], b->vars[i]);
    for (int i = 0; same && i < a->n_code; i++) same = same_instr(&a->code[i], &b->code[i]);
    return same;
}

static bool same_module(const PtxModule *a, const PtxModule *b) {
    bool same = a->n_vars == b->n_vars && a->n_funcs == b->n_funcs && a->n_files == b->n_files &&
                same_text(a->target, b->target);
    for (int i = 0; same && i < a->n_vars; i++) same = same_var(a->vars[i], b->vars[i]);
    for (int i = 0; same && i < a->n_funcs; i++) same = same_func(&a->funcs[i], &b->funcs[i]);
    for (int i = 0; same && i < a->n_files; i++) same = same_text(a->files[i], b->files[i]);
    return same;
}

static void round_trip(const char *text, const char *what) {
    gi_buf first = {0}, second = {0};
    PtxModule *a = parse(text, strlen(text));
    if (!ok(a != NULL, "%s parses", what)) return;
    ptx_print(a, &first);
    PtxModule *b = parse(first.data, first.len);
    if (ok(b != NULL, "%s, printed, parses", what)) {
        ok(same_module(a, b), "%s, printed and parsed, is the same module", what);
        ptx_print(b, &second);
        is_str(second.data, first.data, "and prints the same");
    }
    ptx_free(a);
    ptx_free(b);
    gi_buf_free(&first);
    gi_buf_free(&second);
}

/* One instruction, through a kernel, back to text. */
static void instr(const char *text) {
    gi_buf whole = {0}, out = {0};
    gi_buf_adds(&whole, PTX_KERNEL(""));
    whole.len -= 3; /* "\n}\n" */
    gi_buf_addf(&whole, "%s\n}\n", text);
    PtxModule *m = parse(whole.data, whole.len);
    if (ok(m && m->funcs[0].n_code == 1, "parses: %s", text)) {
        ptx_print_instr(&m->funcs[0], &m->funcs[0].code[0], &out);
        is_str(out.data, text, "and prints as it was");
    }
    ptx_free(m);
    gi_buf_free(&whole);
    gi_buf_free(&out);
}

/* Shapes from all corners of the ISA: the parser knows none of these opcodes. */
static const char *const shapes[] = {
    "add.s32 %r1, %r2, -5;",
    "mad.lo.s32 %r1, %r2, 3, %r4;",
    "@!%p1 mov.f32 %f1, 0f7F800000;",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16], %rd2;",
    "st.volatile.shared.u8 [%r1], %rs1;",
    "setp.ne.and.s32 %p1|%p2, %r1, 0, !%p3;",
    "mov.b64 {%r1, _}, %rd1;",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
    "vote.sync.ballot.b32 %r1, !%p1, %r2;",
    "atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, "
    "[%r3];",
    "cp.async.cg.shared.global [%r1], [%rd1], 16;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
    "[%rd1, {%r2, %r3}], [%r4];",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2}, {%r1, %r2}, {%r3}, {%f3, %f4};",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1}, {%r2}, {%f1, %f2};",
    "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];",
    "tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}], {%f1, %f2}, {%f3, %f4};",
    "sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};",
    "elect.sync _|%p1, -1;",
    "bar.red.popc.u32 %r1, 0, %r2, !%p1;",
    "barrier.cluster.arrive.aligned;",
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+8], %r2;",
    "mov.u32 %r1, %lanemask_lt;",
    "mov.u64 %rd1, k_param_0+4;",
    "mov.u32 %r1, %cluster_ctaid.z;",
    "vadd.s32.s32.s32.sat %r1.h0, %r2.b1, %r3, %r4;",
    "ld.weak.global.u32 %r1, [%rd1].unified, %rd2;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4}, %p1;",
    "prefetch.tensormap [%rd1];",
    "ld.global.u8 %rs1, [4096];",
    "trap;",
};

int main(void) {
    round_trip(ptx_sample, "the sample");
    round_trip(PTX_HEAD, "an empty module");
    round_trip(PTX_HEAD ".func f()\n{\n}\n", "an empty function");
    round_trip(PTX_KERNEL("bra end; end:"), "a branch to the end");
    round_trip(
        PTX_HEAD
        ".global .u32 x;\n.visible .entry k(.param .u32 p)\n{\n{ .reg .b32 x, p, x$1; }\n"
        "{ .reg .f32 x, p, x$1; }\n.reg .b32 %r<3>;\nmov.u32 %r0, x;\nld.param.u32 %r1, [p];\n}\n",
        "names used again and again");
    round_trip(PTX_HEAD
               ".global .b8 a[] = {1, 2, 3};\n.global .f64 b = 1.5;\n.global .b8 c[3] = {0, 0};\n"
               ".global .v2 .u16 d = {1, 2};\n.global .s64 e = -1;\n.const .b16 f[1] = {65535};\n",
               "initialisers");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) instr(shapes[i]);
    return tap_done();
}
