/* matrix_group.c - decodes wgmma. See emu/exec/matrix_group.h. */
#include "emu/exec/matrix_group.h"
#include "emu/decode/decode.h"
#include "emu/decode/matrix_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const MatrixShape shapes[] = {
    {"wgmma", 64, 0, 16, "f16", "f16 f32", 90, false},
    {"wgmma", 64, 0, 16, "bf16", "f32", 90, false},
    {"wgmma", 64, 0, 8, "tf32", "f32", 90, false},
    {"wgmma", 64, 0, 32, "e4m3 e5m2", "f16 f32", 90, true},
    {"wgmma", 64, 0, 32, "s8 u8", "s32", 90, true},
    {"wgmma", 64, 0, 256, "b1", "s32", 90, false},
    {"wgmma.sp", 64, 0, 32, "f16", "f16 f32", 90, false},
    {"wgmma.sp", 64, 0, 32, "bf16", "f32", 90, false},
    {"wgmma.sp", 64, 0, 16, "tf32", "f32", 90, false},
    {"wgmma.sp", 64, 0, 64, "e4m3 e5m2", "f16 f32", 90, true},
    {"wgmma.sp", 64, 0, 64, "s8 u8", "s32", 90, true},
};

/* Sums of 8-bit floats keep 13 bits; docs/emu.md has the source. */
MatrixRule matrix_group_rule(MatrixType type) {
    if (type == MATRIX_E4M3 || type == MATRIX_E5M2) return (MatrixRule){32, 13, 13, false};
    return (MatrixRule){type == MATRIX_TF32 ? 8 : 16, 25, 23, false};
}

void group_form_free(GroupForm *g) {
    if (g) free(g->sum_map);
    free(g);
}

/* Returns the row of a type; n of a word such as m64n128k16, 0 if the row does not have it. */
static const MatrixShape *shape_of(const Words *w, int *n) {
    int m, k, end = 0;
    for (size_t i = 0; w->shape && w->n_types == 3 && i < sizeof shapes / sizeof *shapes; i++) {
        bool is_sparse = strcmp(shapes[i].opcode, "wgmma.sp") == 0;
        if (is_sparse != w->is_sparse || !ptx_word_in(w->type_word[1], shapes[i].types)) continue;
        bool fits = sscanf(w->shape, "m%dn%dk%d%n", &m, n, &k, &end) == 3 && !w->shape[end];
        bool whole = strcmp(shapes[i].sums, "s32") == 0; /* by 16 from 32 on, but for 24 */
        fits = fits && m == GROUP_M && k == shapes[i].k && *n >= 8 && *n <= GROUP_N;
        fits = fits && *n % (whole && *n > 24 ? 16 : 8) == 0;
        return fits ? &shapes[i] : NULL;
    }
    return NULL;
}

static bool words_agree(Decoder *d, const Words *w, const MatrixShape *s) {
    bool bits = w->type[1] == MATRIX_B1;
    if (!ptx_word_in(w->type_word[0], s->sums) || !ptx_word_in(w->type_word[2], s->types))
        return decode_fail(d, "this shape has no such types");
    if (w->type[1] != w->type[2] && !s->mixed) return decode_fail(d, "A and B have one type here");
    if (w->saturates && (w->type[0] != MATRIX_S32 || bits))
        return decode_fail(d, ".satfinite is of whole numbers");
    if (w->popc != bits || w->is_and != bits || w->is_xor)
        return decode_fail(d, ".and.popc is of .b1, which needs it");
    if (w->is_ordered || w->n_layouts || w->count || w->space || w->part || w->turned ||
        w->has_round)
        return decode_unknown(d);
    if (atoi(d->mod->ptx->target + 3) == 90 && strchr(d->mod->ptx->target, 'a')) return true;
    return decode_fail(d, "wgmma is of .target sm_90a");
}

/* An immediate that is one of two numbers. */
static bool take_choice(Decoder *d, int arg, uint64_t first, uint64_t second, bool *is_second) {
    const PtxOperand *op = &d->in->args[arg];
    if (op->kind != PTX_OP_IMM || op->imm_kind != PTX_IMM_INT ||
        (op->imm != first && op->imm != second))
        return decode_fail(d, "operand %d is %d or %d", arg, (int)first, (int)second);
    *is_second = op->imm == second;
    return true;
}

/* Behind A and B, and the metadata and their selector of a sparse A. */
static int scale_operand(const Decoder *d) {
    return has_mod(d, "sp") ? 5 : 3;
}

/* Signs of A and B for floats; who is turned, for halves. A in registers is never turned. */
static bool take_choices(Decoder *d, const MatrixShape *s, GroupForm *g) {
    bool halves = ptx_word_in(s->types, "f16 bf16"), signs = strcmp(s->sums, "s32") != 0;
    int first = scale_operand(d) + 1;
    int n = first + 2 * signs + (halves ? 2 - g->a_in_registers : 0);
    if (d->in->n_args != n) return decode_fail(d, "%d operands are expected", n);
    for (int i = 0; signs && i < 2; i++)
        if (!take_choice(d, first + i, 1, UINT64_MAX, &g->negated[i])) return false;
    for (int i = g->a_in_registers; halves && i < 2; i++)
        if (!take_choice(d, first + 2 + i - g->a_in_registers, 0, 1, &g->turned[i])) return false;
    return true;
}

static bool take_sums(Decoder *d, MatrixType type, int n, GroupForm *g) {
    const PtxOperand *op = &d->in->args[0];
    int count = n * MATRIX_STRIP * (int)matrix_bits(type) / 32 / LANES;
    if (op->kind != PTX_OP_VECTOR || op->n_elems != count)
        return decode_fail(d, "a vector of %d registers is expected", count);
    g->sums = (uint8_t)count;
    g->sum_type = (uint8_t)type;
    for (int k = 0; k < count; k++)
        if (!matrix_register(d, &op->elems[k], type, true, &g->reg[k])) return false;
    return true;
}

static bool take_descriptor(Decoder *d, int arg, GroupForm *g, int which) {
    const PtxOperand *op = &d->in->args[arg];
    if (op->kind != PTX_OP_REG) return decode_fail(d, "a descriptor is in a register of 64 bits");
    return source(d, op, 'q', which, &g->descriptor[which]);
}

static bool take_factors(Decoder *d, const Words *w, MatrixForm *f) {
    GroupForm *g = f->group;
    f->a.type = (uint8_t)w->type[1];
    f->b.type = (uint8_t)w->type[2];
    if (!take_descriptor(d, 2, g, 1)) return false;
    if (!g->a_in_registers) return take_descriptor(d, 1, g, 0);
    int k = f->shape->k / (f->is_sparse ? 2 : 1);
    if (!matrix_part(d, &d->in->args[1], w->type[1], 4, false, &f->a)) return false;
    f->a.map = matrix_map_a(MATRIX_STRIP, k, w->type[1]);
    f->a.places = (uint16_t)(MATRIX_STRIP * (w->type[1] == MATRIX_B1 ? k / 32 : k));
    return true;
}

static bool take_scale(Decoder *d, GroupForm *g) {
    return source(d, &d->in->args[scale_operand(d)], 'p', 2, &g->scale);
}

static bool fill(Decoder *d, const Words *w, const MatrixShape *s, int n, MatrixForm *f) {
    GroupForm *g = f->group;
    g->a_in_registers = d->in->args[1].kind == PTX_OP_VECTOR;
    g->shape = *s;
    g->shape.n = (uint16_t)n;
    f->rule = matrix_group_rule(w->type[1]);
    f->saturates = w->saturates;
    f->is_and = true;
    f->is_ordered = true;
    f->a.type = (uint8_t)w->type[1];
    f->work = matrix_work(w->type[1], MATRIX_STRIP * n * s->k / (w->is_sparse ? 2 : 1));
    g->sum_map = matrix_map_c(MATRIX_STRIP, n);
    return take_choices(d, s, g) && take_sums(d, w->type[0], n, g) && take_scale(d, g) &&
           (!w->is_sparse || matrix_metadata(d, 3, f));
}

static bool decode_product(Decoder *d) {
    Words w;
    int n = 0;
    if (!matrix_words(d, &w)) return false;
    const MatrixShape *s = shape_of(&w, &n);
    if (s == NULL || d->in->n_args <= scale_operand(d)) return decode_unknown(d);
    if (!words_agree(d, &w, s)) return false;
    MatrixForm *f = matrix_new(d, (MatrixForm){.kind = MATRIX_GROUP, .name = "wgmma.mma_async"});
    f->group = gi_alloc(sizeof *f->group);
    f->shape = &f->group->shape;
    if (!fill(d, &w, s, n, f) || !take_factors(d, &w, f)) return false;
    d->cost[d->index] = COST_MATRIX;
    return matrix_emit(d);
}

static bool decode_wgmma(Decoder *d) {
    uint64_t pending = 0;
    bool wait = mod_is(d, 0, "wait_group");
    if (mod_is(d, 0, "mma_async")) return decode_product(d);
    if (!mod_is(d, 0, "fence commit_group wait_group") || d->in->n_mods != 3 ||
        !mod_is(d, 1, "sync") || !mod_is(d, 2, "aligned") || d->in->n_args != wait)
        return decode_unknown(d);
    if (strchr(d->mod->ptx->target, 'a') == NULL)
        return decode_fail(d, "wgmma is of .target sm_90a");
    if (wait && !whole_number(d, &d->in->args[0], &pending)) return false;
    if (pending > 7) return decode_fail(d, "0 to 7 groups may stay pending");
    if (wait)
        emit(d, OP_BARRIER, (uint16_t)(BAR_GROUP | BAR_ALIGNED | pending << BAR_PENDING), 0, 0, 0,
             0);
    else emit_slow(d, mod_is(d, 0, "fence") ? group_fence : group_commit, 0, 0, 0, 0, 0);
    d->cost[d->index] = COST_ALU;
    return true;
}

/* --- registers of products that another instruction uses --- */

static void note_operand(const PtxOperand *op, bool *of) {
    if (op->kind == PTX_OP_REG) of[op->reg] = true;
    for (int i = 0; i < op->n_elems; i++) note_operand(&op->elems[i], of);
}

static bool is_copy(const PtxInstr *in) {
    return ptx_is(in, "mov") && in->n_args == 2 && in->args[0].kind == PTX_OP_REG &&
           in->args[1].kind == PTX_OP_REG;
}

/* Adds what is copied from registers of the set; true where that changed it. */
static bool add_copies(const PtxFunc *f, bool *of) {
    bool grew = false;
    for (int i = 0; i < f->n_code; i++) {
        const PtxOperand *args = f->code[i].args;
        if (!is_copy(&f->code[i]) || !of[args[1].reg] || of[args[0].reg]) continue;
        grew = of[args[0].reg] = true;
    }
    return grew;
}

void group_registers(Decoder *d) {
    const PtxFunc *f = d->func;
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        if (!ptx_is(in, "wgmma") || !ptx_has_mod(in, "mma_async") || in->n_args < 2) continue;
        if (d->in_group == NULL) d->in_group = gi_alloc((size_t)f->n_regs + 1);
        note_operand(&in->args[0], d->in_group);
        if (in->args[1].kind == PTX_OP_VECTOR) note_operand(&in->args[1], d->in_group);
    }
    while (d->in_group && add_copies(f, d->in_group)) {}
}

static bool group_row(Decoder *d, const PtxOperand *op, uint32_t *row) {
    PtxOperand plain = {.kind = PTX_OP_REG, .reg = op->reg, .func = -1};
    int bits;
    return op->kind == PTX_OP_REG && d->in_group[op->reg] && any_register(d, &plain, row, &bits);
}

static void touch(Decoder *d, const PtxOperand *op, bool is_write) {
    uint32_t row;
    if (group_row(d, op, &row))
        emit_slow(d, is_write ? group_write : group_read, is_write ? row : 0, is_write ? 0 : row, 0,
                  0, 0);
    for (int i = 0; i < op->n_elems; i++) touch(d, &op->elems[i], is_write);
}

void group_touches(Decoder *d) {
    uint32_t to, from;
    if (d->in_group == NULL || ptx_is(d->in, "wgmma")) return;
    if (is_copy(d->in) && group_row(d, &d->in->args[0], &to) &&
        group_row(d, &d->in->args[1], &from)) {
        emit_slow(d, group_write, to, from, 0, 0, 1);
        return;
    }
    for (int k = 0; k < d->in->n_args; k++)
        if (!ptx_is_dest(d->in, k)) touch(d, &d->in->args[k], false);
    for (int k = 0; k < d->in->n_args; k++)
        if (ptx_is_dest(d->in, k)) touch(d, &d->in->args[k], true);
}

const Form forms_group[] = {CUSTOM("wgmma", decode_wgmma, MATRIX), FORMS_END};
