/* operand.c - operands of instructions.
**
** Their shape tells what they are, whatever the instruction: only bra, brx and call look at the
** opcode, for labels and argument lists.
*/
#include "ptx/parser.h"

#include <string.h>

static PtxOperand operand(Parser *P, PtxInstr *in);

static PtxOperand blank(PtxOperandKind kind) {
    return (PtxOperand){.kind = kind, .reg = -1, .func = -1};
}

static PtxOperand immediate(Parser *P) {
    Constant c = ptxp_constant(P);
    PtxOperand op = blank(PTX_OP_IMM);
    op.imm_kind = c.kind;
    op.imm = c.bits;
    return op;
}

static void enter(Parser *P) {
    if (++P->nesting > PTXP_MAX_NESTING)
        ptxp_fail(P, P->line, "an operand is nested more than %d deep", PTXP_MAX_NESTING);
}

static void push(Parser *P, PtxOperand op) {
    gi_grow(P->ops, P->n_ops, P->cap_ops);
    P->ops[P->n_ops++] = op;
}

/* Gives op the operands pushed since there were `base`. */
static void pop_elems(Parser *P, PtxOperand *op, int base) {
    op->n_elems = P->n_ops - base;
    if (op->n_elems > 0)
        op->elems = ptxp_keep(P, P->ops + base, op->n_elems, sizeof *P->ops);
    P->n_ops = base;
}

/* {a, b} and a call's (a, b), behind the opening bracket. */
static PtxOperand sequence(Parser *P, PtxInstr *in, PtxOperandKind kind, char close) {
    PtxOperand op = blank(kind);
    int base = P->n_ops;
    enter(P);
    if (!ptxp_take_char(P, close)) {
        do push(P, operand(P, in));
        while (ptxp_take_char(P, ','));
        ptxp_expect(P, close, "after the operands");
    }
    P->nesting--;
    pop_elems(P, &op, base);
    return op;
}

/* The sign, if there is one, begins the constant: [%r1+-4], [%r1+(2*4)]. */
static int64_t offset(Parser *P) {
    return ptxp_take_char(P, '+') ? ptxp_integer(P, "the offset") : 0;
}

/* [base+offset], [handle, {coordinates}], behind the '['. */
static PtxOperand bracket(Parser *P, PtxInstr *in) {
    PtxOperand op = blank(PTX_OP_ADDR);
    int base = P->n_ops;
    enter(P);
    push(P, operand(P, in));
    PtxOperand *first = &P->ops[base];
    op.offset = first->kind == PTX_OP_SYMBOL ? first->offset : offset(P);
    first->offset = 0;
    while (ptxp_take_char(P, ',')) {
        op.kind = PTX_OP_TEX;
        push(P, operand(P, in));
    }
    ptxp_expect(P, ']', "after the address");
    P->nesting--;
    pop_elems(P, &op, base);
    return op;
}

/* %pm0 … %pm7, %envreg0 …: what follows the stem is a number, perhaps with a tail. */
static bool is_numbered(const char *name, const char *stem, const char *tail) {
    size_t n = strlen(stem);
    if (strncmp(name, stem, n) != 0) return false;
    size_t digits = strspn(name + n, "0123456789");
    return digits > 0 && strcmp(name + n + digits, tail) == 0;
}

static bool is_special(const char *name) {
    static const char names[] =
        "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid "
        "cluster_ctarank cluster_nctarank is_explicit_cluster laneid warpid nwarpid smid "
        "nsmid gridid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt clock "
        "clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi "
        "reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap "
        "total_smem_size aggr_smem_size dynamic_smem_size current_graph_exec";
    if (*name++ != '%') return false;
    return ptx_word_in(name, names) || is_numbered(name, "pm", "") ||
           is_numbered(name, "pm", "_64") || is_numbered(name, "envreg", "") ||
           is_numbered(name, "reserved_smem_offset_", "");
}

/* %tid.x, %laneid */
static PtxOperand special_register(Parser *P, Name *name) {
    PtxOperand op = blank(PTX_OP_SREG);
    op.symbol = name->text;
    if (!ptxp_take_char(P, '.')) return op;
    Name *part = ptxp_word(P, "x, y or z");
    if (part->len != 1 || !strchr("xyzw", part->text[0]))
        ptxp_fail(P, P->line, "%s has no component '.%s'", name->text, part->text);
    gi_buf_clear(&P->scratch);
    gi_buf_addf(&P->scratch, "%s.%s", name->text, part->text);
    op.symbol = ptxp_intern(P, P->scratch.data, P->scratch.len)->text;
    return op;
}

/* A vector register: v.y or v.g is one of it, v alone all. */
static PtxOperand vector_register(Parser *P, const Binding *b) {
    PtxOperand op = blank(PTX_OP_VECTOR);
    if (ptxp_take_char(P, '.')) {
        Name *part = ptxp_word(P, "a part such as x");
        const char *letters = "xyzwrgba",
                   *at = part->len == 1 ? strchr(letters, *part->text) : NULL;
        if (at == NULL || (at - letters) % 4 >= b->n)
            ptxp_fail(P, P->line, "'%s' has no part '.%s'", b->text, part->text);
        op = blank(PTX_OP_REG);
        op.reg = b->index + (int)(at - letters) % 4;
        return op;
    }
    int base = P->n_ops;
    for (int i = 0; i < b->n; i++) {
        PtxOperand one = blank(PTX_OP_REG);
        one.reg = b->index + i;
        push(P, one);
    }
    pop_elems(P, &op, base);
    return op;
}

static PtxOperand declared(Parser *P, const PtxInstr *in, const Binding *b) {
    if (b->kind == BIND_REG && b->n) return vector_register(P, b);
    PtxOperand op = blank(b->kind == BIND_REG ? PTX_OP_REG : PTX_OP_SYMBOL);
    if (b->kind == BIND_REG) {
        op.reg = b->index;
        if (ptxp_take_char(P, '.')) op.select = ptxp_word(P, "a part such as b0")->text;
        return op;
    }
    op.symbol = b->text;
    if (b->kind == BIND_FUNC) op.func = b->index;
    if (b->kind == BIND_VAR) op.var = b->var, ptxp_use_local(P, b);
    if (!ptx_is(in, "call")) op.offset = offset(P);
    return op;
}

static void use_label(Parser *P, Name *name, int slot) {
    gi_grow(P->uses, P->n_uses, P->cap_uses);
    P->uses[P->n_uses++] = (LabelUse){name, P->n_code, P->line, slot};
}

static PtxOperand label(Parser *P, Name *name) {
    PtxOperand op = blank(PTX_OP_LABEL);
    op.symbol = name->text;
    use_label(P, name, -1);
    return op;
}

static PtxOperand target_table(Parser *P, PtxInstr *in, const Binding *b) {
    const Targets *t = &P->targets[b->index];
    PtxOperand op = blank(PTX_OP_LABEL);
    op.symbol = b->text;
    in->n_targets = t->n;
    in->targets = ptxp_take(P->arena, (size_t)t->n * sizeof *in->targets);
    for (int i = 0; i < t->n; i++) use_label(P, t->labels[i], i);
    return op;
}

static PtxOperand undeclared(Parser *P, PtxInstr *in, Name *name) {
    if (is_special(name->text)) return special_register(P, name);
    if (ptxp_is(name, "_")) return blank(PTX_OP_SINK);
    if (ptx_is(in, "brx"))
        ptxp_fail(P, P->line, "'%s' is no .branchtargets list declared before", name->text);
    ptxp_fail(P, P->line, "'%s' is not declared", name->text);
}

static PtxOperand named(Parser *P, PtxInstr *in) {
    const char *start = P->p;
    int line = P->line;
    Name *name = ptxp_ident(P, "an operand");
    if (ptx_is(in, "bra")) return label(P, name);
    const Binding *b = name->bound;
    if (b && b->kind == BIND_TARGETS) return target_table(P, in, b);
    if (b) return declared(P, in, b);
    if (!ptxp_is(name, "WARP_SZ")) return undeclared(P, in, name);
    P->p = start; /* it may begin an expression */
    P->line = line;
    return immediate(P);
}

static PtxOperand pair(Parser *P, PtxInstr *in, PtxOperand first) {
    PtxOperand op = blank(PTX_OP_PAIR);
    int base = P->n_ops;
    push(P, first);
    push(P, named(P, in));
    pop_elems(P, &op, base);
    return op;
}

/* !%p1 of a predicate, and -%r1 of a vmad. */
static PtxOperand negated(Parser *P, PtxInstr *in) {
    bool of_predicate = *P->p++ == '!';
    ptxp_space(P);
    PtxOperand op = named(P, in);
    if (op.kind != PTX_OP_REG)
        ptxp_fail(P, P->line, "'!' or '-' stands before something that is no register");
    if ((P->regs[op.reg].type == PTX_PRED) != of_predicate)
        ptxp_fail(P, P->line, "'%s' is %s predicate: '!' negates those, '-' others",
                  P->regs[op.reg].name, of_predicate ? "no" : "a");
    op.negated = true;
    return op;
}

static PtxOperand operand(Parser *P, PtxInstr *in) {
    PtxOperand op;
    if (ptxp_take_char(P, '{')) return sequence(P, in, PTX_OP_VECTOR, '}');
    if (ptxp_peek(P) == '(' && ptx_is(in, "call")) {
        ptxp_take_char(P, '(');
        return sequence(P, in, PTX_OP_LIST, ')');
    }
    if (ptxp_take_char(P, '[')) {
        op = bracket(P, in);
        if (ptxp_take_char(P, '.')) op.select = ptxp_word(P, "unified")->text;
        return op;
    }
    bool minus = ptxp_peek(P) == '-' && ptx_is(in, "vmad") && !strchr("0123456789(-+", P->p[1]);
    if (minus || ptxp_peek(P) == '!') op = negated(P, in);
    else if (ptxp_at_ident(P)) op = named(P, in);
    else op = immediate(P);
    bool may_pair = op.kind == PTX_OP_REG || op.kind == PTX_OP_SINK;
    return may_pair && ptxp_take_char(P, '|') ? pair(P, in, op) : op;
}

void ptxp_operands(Parser *P, PtxInstr *in) {
    PtxOperand all = blank(PTX_OP_LIST);
    int base = P->n_ops;
    do push(P, operand(P, in));
    while (ptxp_take_char(P, ','));
    pop_elems(P, &all, base);
    in->args = all.elems;
    in->n_args = all.n_elems;
}
