/* repeats.c - see repeats.h.
**
** PTX is not what runs: ptxas removes computations whose result is there already. Most were removed
** before PTX was made; what is left are texture fetches and loads of constants that NVVM may not
** join, because a barrier or an asm statement stands between them, and what hangs on those. Local
** value numbering: a register holds a value with a number; an instruction of a pure kind with the
** same operands, by number, as an earlier one gives the same value. (Cocke and Schwartz, 1970.)
*/
#include "emu/cost/repeats.h"

#include <stdlib.h>
#include <string.h>

typedef struct Known { /* a value and what it is computed from */
    uint64_t key;
    int value;
    int *slot;
} Known;

typedef struct Numbering {
    const PtxFunc *f;
    int *value; /* of each register */
    int *dirty; /* registers that have got a value in this block */
    int n_dirty, cap_dirty;
    Known *known;
    int n_known, cap_known;
    int *slot; /* a hash table of positions in known, from 1 on */
    uint64_t n_slots; /* a power of two */
    int next; /* the next new number */
} Numbering;

static bool is_pure(const PtxInstr *in) {
    static const char pure[] =
        "abs add and bfe bfi brev clz cnot copysign cos cvt cvta div ex2 fma lg2 lop3 mad mad24 "
        "max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr "
        "sin slct sqrt sub szext tanh tex xor";
    if (in->guard >= 0) return false;
    if (ptx_is(in, "ld")) return !ptx_has_mod(in, "volatile") && ptx_has_mod(in, "const param nc");
    return ptx_is(in, pure) || (in->opcode[0] == 'v' && !ptx_is(in, "vote")); /* video */
}

static uint64_t key_of_word(uint64_t key, const char *word) {
    return word ? gi_hash(word, strlen(word), key) : key;
}

/* Loads of constants that lie side by side become one: only where 16 bytes begin counts. */
static int64_t offset_of(const PtxOperand *op, bool by_sixteen) {
    return by_sixteen && op->kind == PTX_OP_ADDR ? op->offset & ~(int64_t)15 : op->offset;
}

static uint64_t key_of_operand(const Numbering *n, uint64_t key, const PtxOperand *op,
                               bool by_sixteen) {
    int64_t parts[] = {op->kind, op->negated, (int64_t)op->imm_kind, (int64_t)op->imm,
                       offset_of(op, by_sixteen),
                       op->kind == PTX_OP_REG ? n->value[op->reg] : -1, op->n_elems};
    key = gi_hash(parts, sizeof parts, key);
    key = key_of_word(key_of_word(key, op->symbol), op->select);
    for (int i = 0; i < op->n_elems; i++)
        key = key_of_operand(n, key, &op->elems[i], by_sixteen);
    return key;
}

static uint64_t key_of(const Numbering *n, const PtxInstr *in) {
    uint64_t key = key_of_word(0, in->opcode);
    for (int i = 0; i < in->n_mods; i++) key = key_of_word(key, in->mods[i]);
    bool by_sixteen = ptx_is(in, "ld") && ptx_has_mod(in, "const");
    for (int i = 0; i < in->n_args; i++)
        if (!ptx_is_dest(in, i)) key = key_of_operand(n, key, &in->args[i], by_sixteen);
    return key;
}

/* The registers of a destination get the values first, first + 1 … */
static int give_values(Numbering *n, const PtxOperand *op, int first) {
    if (op->kind == PTX_OP_REG) {
        gi_grow(n->dirty, n->n_dirty, n->cap_dirty);
        n->dirty[n->n_dirty++] = op->reg;
        n->value[op->reg] = first;
        return 1;
    }
    int given = 0;
    for (int i = 0; i < op->n_elems; i++) given += give_values(n, &op->elems[i], first + given);
    return given;
}

static void set_results(Numbering *n, const PtxInstr *in, int first) {
    int given = 0;
    for (int i = 0; i < in->n_args; i++)
        if (ptx_is_dest(in, i)) given += give_values(n, &in->args[i], first + given);
    if (first + given > n->next) n->next = first + given;
}

/* Returns the slot of a key, or the empty one where it belongs. */
static int *find(const Numbering *n, uint64_t key) {
    for (uint64_t at = key;; at++) {
        int *slot = &n->slot[at & (n->n_slots - 1)];
        if (*slot == 0 || n->known[*slot - 1].key == key) return slot;
    }
}

static bool is_load(const PtxInstr *in) {
    return ptx_is(in, "ld");
}

static bool is_copy(const PtxInstr *in) {
    return ptx_is(in, "mov") && in->guard < 0 && in->n_args == 2 &&
           in->args[0].kind == PTX_OP_REG && in->args[1].kind == PTX_OP_REG;
}

static bool visit(Numbering *n, const PtxInstr *in) {
    if (is_copy(in)) {
        give_values(n, &in->args[0], n->value[in->args[1].reg]);
        return false; /* it costs nothing anyway */
    }
    if (!is_pure(in)) {
        set_results(n, in, n->next);
        return false;
    }
    uint64_t key = key_of(n, in);
    int *slot = find(n, key);
    bool is_known = *slot > 0;
    if (!is_known) {
        gi_grow(n->known, n->n_known, n->cap_known);
        n->known[n->n_known++] = (Known){key, n->next, slot};
        *slot = n->n_known;
    }
    set_results(n, in, is_known && !is_load(in) ? n->known[*slot - 1].value : n->next);
    return is_known;
}

static void forget(Numbering *n) {
    while (n->n_dirty > 0) {
        int reg = n->dirty[--n->n_dirty];
        n->value[reg] = reg;
    }
    while (n->n_known > 0) *n->known[--n->n_known].slot = 0;
    n->next = n->f->n_regs;
}

void repeats_find(const PtxFunc *f, const PtxCfg *cfg, bool *repeat) {
    Numbering n = {.f = f, .value = gi_alloc((size_t)(f->n_regs + 1) * sizeof(int))};
    for (int r = 0; r < f->n_regs; r++) n.value[r] = r;
    for (n.n_slots = 16; n.n_slots < 2 * (uint64_t)f->n_code;) n.n_slots *= 2;
    n.slot = gi_alloc(n.n_slots * sizeof(int));
    for (int b = 0; b < cfg->n_blocks; b++) {
        forget(&n);
        for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++) repeat[i] = visit(&n, &f->code[i]);
    }
    free(n.value);
    free(n.dirty);
    free(n.slot);
    free(n.known);
}
