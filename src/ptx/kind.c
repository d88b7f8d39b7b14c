/* kind.c - what may stand for what: size, and floating point or not.
**
** Where a function declares registers of a size as .f32 and the like, its declarations say it.
** Where it declares all as .b32, as LLVM and later compilers of NVIDIA do, a register is a float
** when an instruction takes it for one, or what it is moved to or from is one.
*/
#include "ptx/edit.h"

#include <stdlib.h>

static bool is_float(PtxType type) {
    return type >= PTX_F16 && type <= PTX_F64;
}

PtxKind ptx_kind_of_type(PtxType type) {
    if (type == PTX_PRED) return PTX_KIND_PRED;
    return (PtxKind)((ptx_type_size(type) << 1) | (is_float(type) ? PTX_KIND_FLOAT : 0));
}

/* Registers that hold the same value, by what moves them: each points to another of its set. */
static int root_of(int *same, int r) {
    while (same[r] != r) r = same[r] = same[same[r]];
    return r;
}

static bool only_moves(const PtxInstr *in) {
    return ptx_is(in, "mov selp shfl") && in->n_args > 1;
}

static void join(int *same, const PtxFunc *f, const PtxOperand *a, const PtxOperand *b) {
    if (a->kind == PTX_OP_PAIR && a->n_elems) a = &a->elems[0];
    if (a->kind != PTX_OP_REG || b->kind != PTX_OP_REG) return;
    if (ptx_type_size(f->regs[a->reg].type) != ptx_type_size(f->regs[b->reg].type)) return;
    same[root_of(same, a->reg)] = root_of(same, b->reg);
}

/* The registers of an operand, but for those of addresses, are taken for the type. */
static void mark(const PtxFunc *f, int *same, bool *floats, const PtxOperand *op, PtxType type) {
    if (op->kind == PTX_OP_REG && ptx_type_size(f->regs[op->reg].type) == ptx_type_size(type))
        floats[root_of(same, op->reg)] = true;
    if (op->kind == PTX_OP_ADDR || op->kind == PTX_OP_TEX) return;
    for (int i = 0; i < op->n_elems; i++) mark(f, same, floats, &op->elems[i], type);
}

/* The first and the last type in an instruction's name: what it writes, and what it reads. */
static void types_of(const PtxInstr *in, PtxType *first, PtxType *last) {
    *first = *last = PTX_NONE;
    for (int i = 0; i < in->n_mods; i++) {
        PtxType type;
        if (!ptx_type_parse(in->mods[i], &type)) continue;
        if (*first == PTX_NONE) *first = type;
        *last = type;
    }
}

static void mark_instr(const PtxFunc *f, int *same, bool *floats, const PtxInstr *in) {
    PtxType first, last;
    types_of(in, &first, &last);
    for (int a = 0; a < in->n_args; a++) {
        PtxType type = ptx_is_dest(in, a) ? first : last;
        if (is_float(type)) mark(f, same, floats, &in->args[a], type);
    }
}

/* Floats among the registers of .b32 and the like, as what uses them says. */
static void find_floats(const PtxFunc *f, PtxKind *kind, const bool *declared) {
    int *same = gi_alloc((size_t)f->n_regs * sizeof *same);
    bool *floats = gi_alloc((size_t)f->n_regs);
    for (int r = 0; r < f->n_regs; r++) same[r] = r;
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        if (!only_moves(in)) continue;
        join(same, f, &in->args[0], &in->args[1]);
        if (ptx_is(in, "selp") && in->n_args > 2) join(same, f, &in->args[0], &in->args[2]);
    }
    for (int i = 0; i < f->n_code; i++) mark_instr(f, same, floats, &f->code[i]);
    for (int r = 0; r < f->n_regs; r++)
        if (kind[r] != PTX_KIND_PRED && !declared[ptx_type_size(f->regs[r].type)] &&
            floats[root_of(same, r)])
            kind[r] |= PTX_KIND_FLOAT;
    free(same);
    free(floats);
}

void ptx_kinds(const PtxFunc *f, PtxKind *kind) {
    bool declared[PTX_KIND_FLOAT] = {false}; /* by size: some register is declared a float */
    for (int r = 0; r < f->n_regs; r++) {
        kind[r] = ptx_kind_of_type(f->regs[r].type);
        if (kind[r] & PTX_KIND_FLOAT) declared[ptx_type_size(f->regs[r].type)] = true;
    }
    find_floats(f, kind, declared);
}

/* The bits of 1 or 1.0. */
static uint64_t bits_of_one(PtxKind kind) {
    if (!(kind & PTX_KIND_FLOAT)) return 1;
    int size = (kind & 0x7f) >> 1;
    return size == 8 ? 0x3ff0000000000000u : size == 4 ? 0x3f800000u : 0x3c00u;
}

PtxOperand ptx_one(PtxKind kind, PtxType type) {
    PtxOperand op = {.kind = PTX_OP_IMM, .func = -1, .imm = bits_of_one(kind)};
    op.imm_kind = type == PTX_F32 ? PTX_IMM_F32 : type == PTX_F64 ? PTX_IMM_F64 : PTX_IMM_INT;
    return op;
}
