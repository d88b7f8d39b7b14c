/* fuse.c - neighbouring instructions that are done in one go, found once a function is decoded.
**
** The jump to the next operation takes as long as half of its work, and a row of 32 lanes that is
** read once, by the next operation, need not be written. The first instruction of a group gets the
** group's operation. All others stay as they are: for places to be found, and because exec.c goes
** on with them one by one wherever the group's short cut does not hold.
*/
#include "emu/decode/decode.h"

/* MUL_N, LOAD_SHARED and three FMA_F or FMA_N that add loaded words times the product. */
enum { GROUP = 5 };

static bool is_fma(const Ins *in) {
    return in->op == OP_FMA_F || in->op == OP_FMA_N;
}

/* The register that an operation writes as its only result. */
static int result_register(const Decoder *d, int ins) {
    const PtxOperand *to = &d->func->code[d->code->place[ins].index].args[0];
    return to->kind == PTX_OP_REG ? to->reg : -1;
}

/* Is it nothing but a value on the way, read this often and then dead? */
static bool is_passing(const Decoder *d, int reg, int reads) {
    return reg >= 0 && d->is_local[reg] && d->n_reads[reg] == reads;
}

/* Which of the words still to be added lies in this row? -1: none. */
static int word_in(uint32_t row, const MemForm *f, uint32_t words) {
    for (int k = 0; k < f->count; k++)
        if ((words >> k & 1) && f->reg[k] == row) return k;
    return -1;
}

/* The word that this multiply-add takes times the product t, where it writes neither t nor a word
** still to be added; else -1. */
static int word_of(const Ins *fma, uint32_t t, const MemForm *f, uint32_t words) {
    uint32_t other = fma->a == t ? fma->b : fma->a;
    if (!is_fma(fma) || (fma->a != t && fma->b != t)) return -1;
    if (fma->c == t || word_in(fma->c, f, words) >= 0) return -1;
    int word = word_in(other, f, words);
    if (word < 0 || fma->d == t || word_in(fma->d, f, words & ~(1u << word)) >= 0) return -1;
    return word;
}

/* The words loaded are three, each read by one sum alone; the product by those three alone. */
static bool only_for_sums(const Decoder *d, int ins, const MemForm *f) {
    const PtxInstr *load = &d->func->code[d->code->place[ins + 1].index];
    int used = 0;
    if (load->args[0].kind != PTX_OP_VECTOR) return false;
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        const PtxOperand *to = &load->args[0].elems[k];
        if (to->kind != PTX_OP_REG || !is_passing(d, to->reg, 1)) return false;
        used++;
    }
    return used == 3 && is_passing(d, result_register(d, ins), 3);
}

/* words: where in the load each of the three sums finds its word, a byte each. */
static bool is_weighing(const Decoder *d, int ins, uint64_t *words) {
    const Ins *in = &d->code->ins[ins];
    if (in[0].op != OP_MUL_N || in[1].op != OP_LOAD_SHARED) return false;
    const MemForm *f = &d->code->mem[in[1].imm];
    uint32_t t = in[0].d, left = ((1u << f->count) - 1) & ~f->unused;
    bool is_words = f->size == 4 && f->bits[0] == 32;
    if (!is_words || f->base == t || !only_for_sums(d, ins, f)) return false;
    *words = 0;
    for (int k = 0; k < 3; k++) {
        int word = word_of(&in[2 + k], t, f, left);
        if (word < 0) return false;
        left &= ~(1u << word);
        *words |= (uint64_t)(4 * word) << (8 * k);
    }
    return true;
}

/* Are these three all the same operation? */
static bool are_all(const Ins *in, EmuOp op) {
    return in[0].op == op && in[1].op == op && in[2].op == op;
}

/* May the sums be written without care for other lanes, and for which NaN they are? */
static bool is_careless(const Ins *in) {
    return are_all(in, OP_FMA_N) && (in[0].x & in[1].x & in[2].x & X_FREE);
}

void fuse(Decoder *d) {
    Code *code = d->code;
    uint64_t words;
    for (int i = 0; i + 2 < code->n_ins; i++) {
        Ins *in = &code->ins[i];
        if (i + GROUP <= code->n_ins && is_weighing(d, i, &words)) {
            in->op = is_careless(in + 2) ? OP_WEIGH_SHARED_N : OP_WEIGH_SHARED;
            in->imm = words;
        } else if (are_all(in, OP_FMA_F)) {
            in->op = OP_FMA_F_X3;
            i += 2;
        } else if (are_all(in, OP_FMA_N)) {
            in->op = OP_FMA_N_X3;
            i += 2;
        }
    }
}
