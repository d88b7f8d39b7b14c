/* lower.c - parameters in registers, written out as parameters in memory.
**
**     .func (.reg .b32 r) f (.reg .b32 a)      .func (.param .b32 r$param) f (.param .b32 a$param)
**     { … ret; }                               { .reg .b32 r, a; ld.param.b32 a, [a$param]; …
**                                                st.param.b32 [r$param], r; ret; }
**     call (%r1), f, (%r2);                    .param .b32 call$0, call$1;
**                                              st.param.b32 [call$0], %r2;
**                                              call (call$1), f, (call$0);
**                                              ld.param.b32 %r1, [call$1];
**
** A vector register is an array of bytes there, loaded and stored at once.
** So nobody after the parser needs to know that there are two kinds.
*/
#include "ptx/parser.h"

#include <string.h>

static const char *word(Parser *P, const char *text) {
    return ptxp_intern(P, text, strlen(text))->text;
}

/* b32 for s32 and f32: a move of bits, whatever they mean. */
static PtxType bits_of(Parser *P, PtxType type) {
    switch (ptx_type_size(type)) {
    case 2: return PTX_B16;
    case 4: return PTX_B32;
    case 8: return PTX_B64;
    default: ptxp_fail(P, P->line, "a parameter in a register of type .%s", ptx_type_name(type));
    }
}

static PtxOperand operand_of_var(const PtxVar *v) {
    return (PtxOperand){.kind = PTX_OP_SYMBOL, .symbol = v->name, .var = v, .reg = -1, .func = -1};
}

static PtxOperand address_of_var(Parser *P, const PtxVar *v) {
    PtxOperand at = {.kind = PTX_OP_ADDR, .reg = -1, .func = -1, .n_elems = 1};
    at.elems = ptxp_take(P->arena, sizeof *at.elems);
    at.elems[0] = operand_of_var(v);
    return at;
}

static PtxOperand register_operand(int reg) {
    return (PtxOperand){.kind = PTX_OP_REG, .reg = reg, .func = -1};
}

/* A register, or the n that a vector is. */
static PtxOperand registers_operand(Parser *P, int first, int n) {
    if (n <= 1) return register_operand(first);
    PtxOperand all = {.kind = PTX_OP_VECTOR, .reg = -1, .func = -1, .n_elems = n};
    all.elems = ptxp_take(P->arena, (size_t)n * sizeof *all.elems);
    for (int i = 0; i < n; i++) all.elems[i] = register_operand(first + i);
    return all;
}

/* ld.param or st.param of registers, where and when `like` runs. */
static void move(Parser *P, const PtxInstr *like, bool store, const PtxVar *v, PtxOperand value) {
    bool is_vector = value.kind == PTX_OP_VECTOR;
    PtxType type = is_vector ? P->regs[value.elems[0].reg].type : v->type;
    PtxInstr in = {.opcode = word(P, store ? "st" : "ld"),
                   .guard = like ? like->guard : -1,
                   .guard_negated = like && like->guard_negated,
                   .target = -1,
                   .n_mods = 2 + is_vector,
                   .n_args = 2,
                   .line = like ? like->line : P->line,
                   .src_line = P->src_line};
    in.mods = ptxp_take(P->arena, 3 * sizeof *in.mods);
    in.mods[0] = word(P, "param");
    if (is_vector) in.mods[1] = word(P, value.n_elems == 2 ? "v2" : "v4");
    in.mods[in.n_mods - 1] = word(P, ptx_type_name(bits_of(P, type)));
    in.args = ptxp_take(P->arena, 2 * sizeof *in.args);
    in.args[store ? 0 : 1] = address_of_var(P, v);
    in.args[store ? 1 : 0] = value;
    gi_grow(P->code, P->n_code, P->cap_code);
    P->code[P->n_code++] = in;
}

/* --- the function's own --- */

void ptxp_begin_reg_params(Parser *P) {
    for (int i = 0; i < P->n_reg_params; i++) {
        RegParam *p = &P->reg_params[i];
        p->reg = ptxp_register(P, p->name, p->type, p->n);
        if (!p->is_ret)
            move(P, NULL, false, &P->now->params[p->index], registers_operand(P, p->reg, p->n));
    }
}

static void store_returns(Parser *P, const PtxInstr *ret) {
    for (int i = 0; i < P->n_reg_params; i++) {
        const RegParam *p = &P->reg_params[i];
        if (p->is_ret)
            move(P, ret, true, &P->now->rets[p->index], registers_operand(P, p->reg, p->n));
    }
}

void ptxp_end_reg_params(Parser *P) {
    store_returns(P, NULL);
    P->n_reg_params = 0;
}

/* --- local memory of a module --- */

bool ptxp_is_shared_local(const Parser *P, const PtxVar *v) {
    return P->depth == 0 && v->space == PTX_LOCAL && P->m->version_major < 3;
}

/* A kernel that names such a variable declares it. A function would have to share its caller's. */
void ptxp_use_local(Parser *P, const Binding *b) {
    PtxVar *v = (PtxVar *)(uintptr_t)b->var;
    if (b->depth > 0 || v->space != PTX_LOCAL || P->m->version_major >= 3) return;
    if (!P->now->is_entry)
        ptxp_fail(P, P->line, "'%s' is the module's .local memory: only kernels may use it",
                  v->name);
    for (int i = 0; i < P->n_locals; i++)
        if (P->locals[i] == v) return;
    gi_grow(P->locals, P->n_locals, P->cap_locals);
    P->locals[P->n_locals++] = v;
}

/* --- calls --- */

static bool is_param(const PtxOperand *op) {
    return op->kind == PTX_OP_SYMBOL && op->var && op->var->space == PTX_PARAM;
}

/* The callee's parameter or return; NULL where the function is not known. */
static const PtxVar *formal(const Parser *P, const PtxInstr *in, bool ret, int index) {
    for (int i = 0; i < in->n_args; i++) {
        int f = in->args[i].func;
        if (in->args[i].kind != PTX_OP_SYMBOL || f < 0) continue;
        const PtxFunc *callee = P->funcs[f].name == P->now->name ? P->now : &P->funcs[f];
        int n = ret ? callee->n_rets : callee->n_params;
        return index < n ? &(ret ? callee->rets : callee->params)[index] : NULL;
    }
    return NULL;
}

/* A vector's is an array of bytes. */
static PtxVar *new_param(Parser *P, PtxType type, int n) {
    PtxVar *v = ptxp_take(P->arena, sizeof *v);
    gi_buf_clear(&P->scratch);
    gi_buf_addf(&P->scratch, "call$%d", P->n_locals);
    *v = (PtxVar){.name = ptxp_intern(P, P->scratch.data, P->scratch.len)->text,
                  .space = PTX_PARAM,
                  .type = n > 1 ? PTX_B8 : type,
                  .vec = 1,
                  .align = (int)ptx_type_size(type) * n,
                  .size = ptx_type_size(type) * (size_t)n,
                  .line = P->line};
    gi_grow(P->locals, P->n_locals, P->cap_locals);
    P->locals[P->n_locals++] = v;
    return v;
}

/* The type in which a call's operand goes: the formal's, else the register's own. */
static PtxType type_of(Parser *P, const PtxInstr *in, const PtxOperand *op, bool ret, int index) {
    const PtxVar *f = formal(P, in, ret, index);
    if (op->kind == PTX_OP_VECTOR) return bits_of(P, P->regs[op->elems[0].reg].type);
    if (f) return bits_of(P, f->type);
    if (op->kind == PTX_OP_REG) return bits_of(P, P->regs[op->reg].type);
    ptxp_fail(P, in->line, "the type of operand %d of a call is not known", index + 1);
}

/* The list of arguments is behind the function, that of returns before it. */
static bool is_list_of_returns(const PtxInstr *in, int arg) {
    return arg == 0 && in->args[arg].kind == PTX_OP_LIST;
}

/* Registers alone, two or four. */
static bool is_vector(const PtxOperand *op) {
    bool fits = op->kind == PTX_OP_VECTOR && (op->n_elems == 2 || op->n_elems == 4);
    for (int i = 0; fits && i < op->n_elems; i++) fits = op->elems[i].kind == PTX_OP_REG;
    return fits;
}

/* Keeps in a return the registers that get it behind the call. */
static void keep(PtxOperand *op, const PtxOperand *value) {
    if (value->kind == PTX_OP_SINK) return;
    op->reg = value->kind == PTX_OP_REG ? value->reg : value->elems[0].reg;
    if (value->kind == PTX_OP_VECTOR) op->elems = value->elems, op->n_elems = value->n_elems;
}

void ptxp_before(Parser *P, PtxInstr *in) {
    if (ptx_is(in, "ret")) store_returns(P, in);
    if (!ptx_is(in, "call")) return;
    PtxInstr always = *in; /* operands are stored whether there is a call or not */
    always.guard = -1;
    always.guard_negated = false;
    for (int a = 0; a < in->n_args; a++) {
        PtxOperand *list = &in->args[a];
        bool rets = is_list_of_returns(in, a);
        for (int i = 0; list->kind == PTX_OP_LIST && i < list->n_elems; i++) {
            PtxOperand *op = &list->elems[i], value = *op;
            PtxOperandKind other = rets ? PTX_OP_SINK : PTX_OP_IMM;
            bool may_move = op->kind == PTX_OP_REG || op->kind == other || is_vector(op);
            if (is_param(op) || !may_move) continue; /* who decodes it says what is wrong */
            int n = op->kind == PTX_OP_VECTOR ? op->n_elems : 1;
            PtxVar *v = new_param(P, type_of(P, in, op, rets, i), n);
            *op = operand_of_var(v);
            if (!rets) move(P, &always, true, v, value);
            else keep(op, &value);
        }
    }
}

void ptxp_behind(Parser *P, const PtxInstr *in) {
    if (!ptx_is(in, "call") || in->n_args == 0 || !is_list_of_returns(in, 0)) return;
    for (int i = 0; i < in->args[0].n_elems; i++) {
        PtxOperand *op = &in->args[0].elems[i], to = register_operand(op->reg);
        if (op->reg < 0) continue;
        if (op->n_elems)
            to = (PtxOperand){PTX_OP_VECTOR, .reg = -1, .func = -1, .elems = op->elems,
                              .n_elems = op->n_elems};
        op->reg = -1, op->n_elems = 0, op->elems = NULL;
        move(P, in, false, op->var, to);
    }
}
