/* leaf.c - the registers and numbers that an instruction reads, in order, and the registers that it
** writes.
**
** They are counted as they are printed: in `@%p1 mad.lo.s32 %r1, %r2, 3, %r4` leaf 0 is %p1, 1 is
** %r2, 2 is 3 and 3 is %r4. Addresses and vectors are looked into; names are no leaves.
*/
#include "ptx/edit.h"

#include <string.h>

/* Opcodes whose operands may be numbers, all of them. Others want registers here and there. */
static const char NUMBERS[] =
    "add sub mul mad fma min max setp and or xor shl shr selp mov div rem";
static const char HALF[] = "f16 f16x2 bf16 bf16x2 tf32"; /* PTX has no literals of these */

/* In which type operands are taken: with two types in its name (cvt.f32.s32, mul.wide is none) an
** instruction reads the last. */
static PtxType type_read(const PtxInstr *in) {
    PtxType type = PTX_NONE;
    for (int i = in->n_mods - 1; i >= 0; i--)
        if (ptx_type_parse(in->mods[i], &type)) return type;
    return PTX_NONE;
}

static PtxLeaf *add_leaf(PtxLeaves *l, PtxOperand *op) {
    if (l->n < 0 || l->n == PTX_LEAVES) {
        l->n = -1;
        return NULL;
    }
    l->leaf[l->n] = (PtxLeaf){.op = op};
    return &l->leaf[l->n++];
}

static void add_write(PtxLeaves *l, int *reg) {
    if (l->n_writes < 0 || l->n_writes == PTX_LEAVES) l->n_writes = -1;
    else l->writes[l->n_writes++] = reg;
}

/* What stands inside an address or a vector. */
static void add_inside(PtxLeaves *l, PtxOperand *op) {
    if (op->kind == PTX_OP_REG) add_leaf(l, op);
    for (int i = 0; i < op->n_elems; i++) add_inside(l, &op->elems[i]);
}

static void add_written(PtxLeaves *l, PtxOperand *op) {
    if (op->kind == PTX_OP_REG) {
        if (op->select) add_leaf(l, op); /* the other parts stay */
        add_write(l, &op->reg);
    }
    for (int i = 0; i < op->n_elems; i++) add_written(l, &op->elems[i]);
}

/* An operand of its own: where there may be a number, its type is the instruction's; `selp` and
** `setp` end in a predicate. */
static void add_read(PtxLeaves *l, PtxOperand *op, PtxType type, bool numbers) {
    if (op->kind != PTX_OP_REG && op->kind != PTX_OP_IMM) {
        add_inside(l, op);
        return;
    }
    if (op->kind == PTX_OP_IMM && !numbers) return; /* one that must be a number, of any sort */
    PtxLeaf *leaf = add_leaf(l, op);
    if (leaf == NULL) return;
    leaf->type = type;
    leaf->takes_number = numbers;
}

void ptx_leaves(PtxInstr *in, PtxLeaves *out) {
    bool numbers = ptx_is(in, NUMBERS) && !ptx_has_mod(in, HALF);
    PtxType type = type_read(in);
    out->n = out->n_writes = 0;
    add_leaf(out, NULL);
    for (int a = 0; a < in->n_args; a++) {
        PtxOperand *op = &in->args[a];
        bool predicate = (ptx_is(in, "selp") && a == 3) || (ptx_is(in, "setp") && a == 3);
        if (ptx_is_dest(in, a)) add_written(out, op);
        else add_read(out, op, predicate ? PTX_PRED : type, numbers && !predicate);
    }
}

int ptx_leaf_reg(const PtxInstr *in, const PtxLeaf *leaf) {
    if (leaf->op == NULL) return in->guard;
    return leaf->op->kind == PTX_OP_REG ? leaf->op->reg : -1;
}

void ptx_leaf_set_reg(PtxInstr *in, PtxLeaf *leaf, int reg) {
    if (leaf->op == NULL) in->guard = reg;
    else if (leaf->op->kind == PTX_OP_REG) leaf->op->reg = reg;
    else *leaf->op = (PtxOperand){.kind = PTX_OP_REG, .reg = reg, .func = -1};
}
