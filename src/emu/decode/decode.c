/* decode.c - PTX functions -> Code: layout of the register file, operands, forms, guards, blocks.
**
** What the fast loop sees is simpler than PTX. A guard becomes a branch around its instruction; 16-
** bit arithmetic becomes 32-bit arithmetic and a cut; ftz and sat become steps before and after;
** comparisons become the three or five primitive ones. An instruction, modifier, type or operand
** that is not understood here is refused, so nothing runs on a guess.
*/
#include "emu/decode/decode.h"

#include "emu/cost/repeats.h"
#include "emu/exec/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- errors --- */

static bool fail_text(Decoder *d, const char *what) {
    gi_buf text = {0};
    ptx_print_instr(d->func, d->in, &text);
    char where[200] = "";
    if (d->in->src_line)
        snprintf(where, sizeof where, ", %s line %d", d->func->file ? d->func->file : "source",
                 d->in->src_line);
    size_t n = text.len;
    while (n > 0 && (text.data[n - 1] == '\n' || text.data[n - 1] == ' ')) n--;
    size_t skip = 0;
    while (skip < n && (text.data[skip] == ' ' || text.data[skip] == '\t')) skip++;
    gi_fail(d->err, "compile", "PTX line %d%s: %s: %.*s (in %s)", d->in->line, where, what,
            (int)(n - skip), text.data ? text.data + skip : "", d->func->name);
    gi_buf_free(&text);
    return false;
}

bool decode_fail(Decoder *d, const char *fmt, ...) {
    char what[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return fail_text(d, what);
}

/* Instructions that are known and not supported, the first row that fits: the reason. */
static const struct {
    const char *opcodes, *mods, *reason;
} missing[] = {
    {"tcgen05", NULL, "tensor memory (tcgen05) is not supported"},
    {"wgmma", NULL, "there is no wgmma of this shape, these types and these modifiers"},
    {"wmma mma ldmatrix stmatrix movmatrix", NULL,
     "there is no matrix instruction of this shape, these types and these modifiers"},
    {"multimem", NULL, "multimem joins the memories of several GPUs, and the virtual GPU is one"},
    {"clusterlaunchcontrol", NULL, "cancelling launches of clusters is not supported"},
    {"tex", "2dms a2dms", "textures of several samples a texel are not supported"},
    {"cvt", "rs", "random rounding is not supported"},
};

static const char *missing_part(const PtxInstr *in) {
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (ptx_is(in, missing[i].opcodes) &&
            (missing[i].mods == NULL || ptx_has_mod(in, missing[i].mods)))
            return missing[i].reason;
    return "the virtual GPU does not know this instruction";
}

bool decode_unknown(Decoder *d) {
    return decode_fail(d, "%s", missing_part(d->in));
}

bool decode_has(Decoder *d, int version, int sm) {
    const PtxModule *m = d->mod->ptx;
    if (m->version_major * 10 + m->version_minor >= version && atoi(m->target + 3) >= sm)
        return true;
    return decode_fail(d, "this needs .version %d.%d and .target sm_%d or later", version / 10,
                       version % 10, sm);
}

bool decode_has_own(Decoder *d) {
    char last = d->mod->ptx->target[strlen(d->mod->ptx->target) - 1];
    return last == 'a' || last == 'f' || decode_fail(d, "this needs a .target such as sm_90a");
}

bool decode_only_mods(Decoder *d, const char *allowed) {
    for (int i = 0; i < d->in->n_mods; i++)
        if (!mod_is(d, i, allowed)) return decode_unknown(d);
    return true;
}

/* --- emission --- */

Ins *emit(Decoder *d, EmuOp op, uint32_t x, uint32_t dst, uint32_t a, uint32_t b, uint32_t c) {
    Code *code = d->code;
    if (code->n_ins >= code->cap_ins) {
        code->cap_ins = code->cap_ins ? code->cap_ins * 2 : 64;
        code->ins = gi_realloc(code->ins, (size_t)code->cap_ins * sizeof *code->ins);
        code->place = gi_realloc(code->place, (size_t)code->cap_ins * sizeof *code->place);
    }
    int i = code->n_ins++;
    if (op >= OP_LOCAL_ADDRESS && d->is_free) x |= X_FREE;
    code->ins[i] = (Ins){(uint16_t)op, (uint16_t)x, dst, a, b, c, 0};
    code->place[i] = (InsPlace){.index = -1};
    if (d->in)
        code->place[i] =
            (InsPlace){.ptx_line = d->in->line, .src_line = d->in->src_line, .index = d->index};
    return &code->ins[i];
}

Ins *emit_slow(Decoder *d, SlowFn fn, uint32_t dst, uint32_t a, uint32_t b, uint32_t c,
               uint64_t imm) {
    Code *code = d->code;
    int k = 0;
    while (k < code->n_slow && code->slow[k] != fn) k++;
    if (k == code->n_slow) {
        gi_grow(code->slow, code->n_slow, code->cap_slow);
        code->slow[code->n_slow++] = fn;
    }
    Ins *in = emit(d, OP_SLOW, (uint32_t)k, dst, a, b, c);
    in->imm = imm;
    return in;
}

Ins *emit_row(Decoder *d, EmuRow row, SlowFn plain, uint32_t dst, uint32_t a, uint32_t b,
              uint32_t c, uint64_t imm) {
    return emit_slow(d, row_or(d->emu, row, plain), dst, a, b, c, imm);
}

void fix_branch(Decoder *d, int target, int rpc) {
    gi_grow(d->fix, d->n_fix, d->cap_fix);
    d->fix[d->n_fix++] = (struct Fixup){d->code->n_ins - 1, target, rpc};
}

static int *pool_slot(const Decoder *d, PoolKind kind, uint64_t value) {
    uint64_t at = (value ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;
    for (at >>= 32;; at++) {
        int *slot = &d->pool_slot[at & (uint64_t)(d->n_pool_slots - 1)];
        const PoolRow *row = &d->code->pool[*slot - (*slot > 0)];
        if (*slot == 0 || (row->kind == kind && row->value == value)) return slot;
    }
}

static void grow_pool_slots(Decoder *d) {
    free(d->pool_slot);
    d->n_pool_slots = d->n_pool_slots ? 2 * d->n_pool_slots : 64;
    d->pool_slot = gi_alloc((size_t)d->n_pool_slots * sizeof(int));
    for (int i = 0; i < d->code->n_pool; i++)
        *pool_slot(d, d->code->pool[i].kind, d->code->pool[i].value) = i + 1;
}

uint32_t pool_row(Decoder *d, PoolKind kind, uint64_t value) {
    Code *code = d->code;
    if (2 * code->n_pool >= d->n_pool_slots) grow_pool_slots(d);
    int *slot = pool_slot(d, kind, value);
    if (*slot) return code->pool[*slot - 1].offset;
    gi_grow(code->pool, code->n_pool, code->cap_pool);
    uint32_t at = d->pool_next;
    *slot = code->n_pool + 1;
    code->pool[code->n_pool++] = (PoolRow){kind, value, at};
    d->pool_next += pool_is_wide(kind) ? ROW64 : ROW32;
    return at;
}

/* --- operands --- */

bool any_register(Decoder *d, const PtxOperand *op, uint32_t *out, int *bits) {
    if (op->kind != PTX_OP_REG) return decode_fail(d, "a register is expected as operand");
    if (op->negated && ptx_type_size(d->func->regs[op->reg].type) && d->live->class_of[op->reg])
        return decode_fail(d, "'!' stands before something that is no predicate");
    if (op->select) return decode_fail(d, "parts of registers (.%s) are not supported", op->select);
    int slot = d->live->slot[op->reg], cls = d->live->class_of[op->reg];
    size_t size = ptx_type_size(d->func->regs[op->reg].type);
    *bits = cls == 0 ? 1 : cls == 3 ? 128 : cls == 2 ? 64 : size <= 2 ? 16 : 32;
    if (d->alias[op->reg]) *out = d->alias[op->reg];
    else if (slot < 0) *out = cls == 0 ? d->trash_p : cls >= 2 ? d->trash64 : d->trash32;
    else if (cls == 3) *out = d->reg128 + (uint32_t)slot * 2 * ROW64;
    else if (cls == 0) *out = FIRST_PREDICATE + (uint32_t)slot * 4;
    else if (cls == 1) *out = d->reg32 + (uint32_t)slot * ROW32;
    else *out = d->reg64 + (uint32_t)slot * ROW64;
    return true;
}

static bool letter_fits(char letter, int bits) {
    switch (letter) {
    case 'p': return bits == 1;
    case 'q':
    case 'd': return bits == 64;
    case 'Q': return bits == 128;
    case 'h':
    case 'i': return bits == 16;
    default: return bits == 32;
    }
}

bool immediate(Decoder *d, const PtxOperand *op, char letter, uint64_t *out) {
    if (op->kind != PTX_OP_IMM) return decode_fail(d, "an immediate operand is expected");
    double value;
    float f;
    switch (letter) {
    case 'f':
        if (op->imm_kind == PTX_IMM_F64) {
            memcpy(&value, &op->imm, 8);
            f = (float)value;
            uint32_t bits;
            memcpy(&bits, &f, 4);
            *out = bits;
            return true;
        }
        *out = op->imm & 0xffffffffu;
        return true;
    case 'd':
        if (op->imm_kind == PTX_IMM_F32) return decode_fail(d, "a single-precision operand");
        *out = op->imm;
        return true;
    case 'h': *out = op->imm & 0xffff; break;
    case 'i': *out = (uint32_t)(int32_t)(int16_t)op->imm; break;
    case 'q': *out = op->imm; break;
    case 'p': *out = op->imm ? FULL_MASK : 0; break;
    default: *out = op->imm & 0xffffffffu;
    }
    /* mov.b32 and selp.b32 may be given a float constant: bits are bits */
    return true;
}

bool whole_number(Decoder *d, const PtxOperand *op, uint64_t *out) {
    if (op->kind == PTX_OP_IMM && op->imm_kind != PTX_IMM_INT)
        return decode_fail(d, "a whole number is expected");
    return immediate(d, op, 'w', out);
}

static bool source_register(Decoder *d, const PtxOperand *op, char letter, int scratch,
                            uint32_t *out) {
    int bits;
    if (!any_register(d, op, out, &bits)) return false;
    if (!letter_fits(letter, bits))
        return decode_fail(d, "register %s does not fit the instruction's type",
                           d->func->regs[op->reg].name);
    if (letter == 'p' && op->negated) {
        emit(d, OP_NOT_P, 0, d->tmp_p[scratch], *out, *out, 0);
        *out = d->tmp_p[scratch];
    } else if (letter == 'i') {
        emit(d, OP_EXT32_S, 16, d->tmp32[scratch], *out, *out, 0);
        *out = d->tmp32[scratch];
    }
    return true;
}

bool source(Decoder *d, const PtxOperand *op, char letter, int scratch, uint32_t *out) {
    uint64_t value;
    bool wide = letter == 'q' || letter == 'd';
    switch (op->kind) {
    case PTX_OP_REG: return source_register(d, op, letter, scratch, out);
    case PTX_OP_IMM:
        if (letter == 'Q') return decode_fail(d, "a number of 128 bits");
        if (!immediate(d, op, letter, &value)) return false;
        *out = pool_row(d, wide ? POOL_B64 : POOL_B32, value);
        return true;
    case PTX_OP_SREG:
        if ((letter == 'p') != (strcmp(op->symbol, "%is_explicit_cluster") == 0))
            return decode_fail(d, "%s is no operand of this type", op->symbol);
        if (letter != 'w' && letter != 'p') return decode_fail(d, "%s has 32 bits", op->symbol);
        return special_row(d, op->symbol, out);
    default: return decode_fail(d, "an operand of a kind the virtual GPU does not expect here");
    }
}

bool dest(Decoder *d, const PtxOperand *op, char letter, uint32_t *out) {
    int bits = 0;
    if (op->kind == PTX_OP_SINK) {
        *out = letter == 'p'                    ? d->trash_p
               : letter == 'q' || letter == 'd' ? d->trash64
                                                : d->trash32;
        return true;
    }
    if (!any_register(d, op, out, &bits)) return false;
    if (!letter_fits(letter, bits))
        return decode_fail(d, "register %s does not fit the instruction's type",
                           d->func->regs[op->reg].name);
    return true;
}

bool name_row(Decoder *d, const PtxOperand *to, uint32_t row) {
    if (to->kind != PTX_OP_REG || !d->is_once[to->reg] || row < d->pool_first) return false;
    if (d->live->class_of[to->reg] == 3) return false;
    d->alias[to->reg] = row;
    return true;
}

void move_row(Decoder *d, const PtxOperand *to, bool wide, uint32_t dst, uint32_t row) {
    if (!name_row(d, to, row)) emit(d, wide ? OP_MOV64 : OP_MOV32, 0, dst, row, row, row);
}

static int local_var_index(const Decoder *d, const PtxVar *var) {
    for (int i = 0; i < d->func->n_vars; i++)
        if (d->func->vars[i] == var) return i;
    return -1;
}

/* Offsets of formal parameters: entry parameters in the launch's block, others in the area. */
static bool formal_offset(const Decoder *d, const PtxVar *var, uint64_t *out) {
    const PtxFunc *f = d->func;
    for (int i = 0; i < f->n_params; i++)
        if (&f->params[i] == var) {
            *out = d->code->formal[i];
            return true;
        }
    for (int i = 0; i < f->n_rets; i++)
        if (&f->rets[i] == var) {
            *out = d->code->result[i];
            return true;
        }
    return false;
}

bool variable_address(Decoder *d, const PtxVar *var, uint64_t *out) {
    int local = local_var_index(d, var);
    if (local >= 0) {
        *out = d->var_offset[local];
        return true;
    }
    if (formal_offset(d, var, out)) return true;
    for (int i = 0; i < d->mod->ptx->n_vars; i++) {
        const ModuleVar *mv = &d->mod->vars[i];
        if (mv->var != var) continue;
        *out = mv->address;
        if (var->space == PTX_SHARED || mv->data) return true;
        return decode_fail(d,
                           var->is_extern
                               ? "variable %s is declared .extern and defined in no module"
                               : "variable %s in .local memory belongs to no function",
                           var->name);
    }
    return decode_fail(d, "variable %s is not known here", var->name);
}

bool symbol_row(Decoder *d, const PtxOperand *op, int64_t offset, uint32_t *out, bool *wide) {
    uint64_t at;
    *wide = true;
    if (op->func >= 0) {
        *out = pool_row(d, POOL_B64, module_func_address(d->mod, op->func));
        return true;
    }
    if (op->var == NULL) return decode_fail(d, "symbol %s is not defined", op->symbol);
    if (op->var->type >= PTX_TEXREF)
        return decode_fail(d, "%s: texture and surface references are not supported", op->symbol);
    if (op->var->space == PTX_SHARED && op->var->is_extern) {
        *out = pool_row(d, POOL_SHARED_DYNAMIC, (uint64_t)offset);
        *wide = false;
        return true;
    }
    if (!variable_address(d, op->var, &at)) return false;
    if (op->var->space == PTX_LOCAL) {
        emit(d, OP_LOCAL_ADDRESS, 0, d->tmp64[3], 0, 0, 0)->imm = at + (uint64_t)offset;
        *out = d->tmp64[3];
        return true;
    }
    *out = pool_row(d, POOL_B64, at + (uint64_t)offset);
    return true;
}

/* --- forms --- */

/* The first row that fits counts: those with `*` come behind. */
static const Form *const form_tables[] = {forms_compound, forms_hints,   forms_control, forms_int,
                                          forms_float,    forms_convert, forms_memory,  forms_warp,
                                          forms_texture,  forms_video,   forms_matrix,  forms_group,
                                          forms_async,
                                          forms_tensormap,
                                          NULL};

typedef struct Captured {
    bool ftz, sat;
    unsigned round;
} Captured;

static bool word_matches(const char *word, size_t len, const char *mod, Captured *got) {
    if (len == 1 && *word == 'R') {
        static const char *const names[] = {"rn", "rz", "rm", "rp"};
        for (unsigned k = 0; k < 4; k++)
            if (strcmp(mod, names[k]) == 0) {
                got->round = k;
                return true;
            }
        return false;
    }
    size_t n = strlen(mod);
    for (const char *end = word + len; word < end;) {
        const char *bar = memchr(word, '|', (size_t)(end - word));
        size_t part = (size_t)((bar ? bar : end) - word);
        if (part == n && memcmp(word, mod, n) == 0) return true;
        word += part + 1;
    }
    return false;
}

static bool mods_match(const char *pattern, const PtxInstr *in, Captured *got) {
    int next = 0;
    *got = (Captured){0};
    while (*pattern) {
        size_t len = strcspn(pattern, " ");
        bool optional = *pattern == '?';
        const char *word = pattern + optional;
        size_t n = len - optional;
        if (next < in->n_mods && word_matches(word, n, in->mods[next], got)) {
            if (n == 3 && memcmp(word, "ftz", 3) == 0) got->ftz = optional;
            if (n == 3 && memcmp(word, "sat", 3) == 0) got->sat = optional;
            next++;
        } else if (!optional) {
            return false;
        }
        pattern += len;
        while (*pattern == ' ') pattern++;
    }
    return next == in->n_mods;
}

/* Of rows that are alike but for their operands, those with a function of their own have as many
** as there are letters. */
static bool operands_match(const Form *f, const PtxInstr *in) {
    return f->custom == NULL || f->sig == ANY_OPERANDS || (int)strlen(f->sig) == in->n_args;
}

bool decode_mods_match(const Decoder *d, const char *pattern) {
    Captured got;
    return mods_match(pattern, d->in, &got);
}

static const Form *find_form(const PtxInstr *in, Captured *got) {
    for (int t = 0; form_tables[t]; t++)
        for (const Form *f = form_tables[t]; f->opcode; f++)
            if (strcmp(f->opcode, in->opcode) == 0 && operands_match(f, in) &&
                (f->mods[0] == '*' || mods_match(f->mods, in, got)))
                return f;
    return NULL;
}

/* Where only arithmetic reads a result, a NaN need not be made the one that GPUs give. */
static EmuOp cheapest(const Decoder *d, EmuOp op) {
    const PtxOperand *to = &d->in->args[0];
    if (to->kind != PTX_OP_REG || d->shows_bits[to->reg]) return op;
    switch (op) {
    case OP_ADD_F: return OP_ADD_N;
    case OP_SUB_F: return OP_SUB_N;
    case OP_MUL_F: return OP_MUL_N;
    case OP_FMA_F: return OP_FMA_N;
    default: return op;
    }
}

/* at: rows of d, a, b, c. */
static void emit_rows(Decoder *d, const Form *f, const Captured *got, uint32_t at[4]) {
    int n = (int)strlen(f->sig);
    for (int k = 1; k < n; k++) {
        if (!got->ftz || f->sig[k] != 'f') continue;
        emit(d, OP_FTZ_F, 0, d->tmp32[k - 1], at[k], at[k], at[k]);
        at[k] = d->tmp32[k - 1];
    }
    if (f->slow) {
        if (!worst_emit(d, f, at))
            emit_row(d, f->row, f->slow, at[0], at[1], at[2], at[3], got->round);
    } else emit(d, n > 0 ? cheapest(d, (EmuOp)f->op) : (EmuOp)f->op, 0, at[0], at[1], at[2], at[3]);
    if (n == 0) return;
    if (f->sig[0] == 'h' || f->sig[0] == 'i') emit(d, OP_EXT32_U, 16, at[0], at[0], at[0], 0);
    if (got->ftz && f->sig[0] == 'f') emit(d, OP_FTZ_F, 0, at[0], at[0], at[0], 0);
    if (got->sat && f->sig[0] == 'f') emit(d, OP_SAT_F, 0, at[0], at[0], at[0], 0);
}

static bool emit_form(Decoder *d, const Form *f, const Captured *got) {
    uint32_t at[4] = {0};
    int n = (int)strlen(f->sig);
    if (d->in->n_args != n) return decode_fail(d, "%d operands are expected", n);
    for (int k = 1; k < n; k++)
        if (!source(d, &d->in->args[k], f->sig[k], k - 1, &at[k])) return false;
    if (n > 0 && !dest(d, &d->in->args[0], f->sig[0], &at[0])) return false;
    emit_rows(d, f, got, at);
    return true;
}

bool emit_plain(Decoder *d, const PtxInstr *plain, uint32_t at[4]) {
    Captured got = {0};
    const Form *f = find_form(plain, &got);
    if (f == NULL || f->custom) return false;
    emit_rows(d, f, &got, at);
    return true;
}

/* May results overwrite the lanes that are not active? See X_FREE. */
static bool all_local(const Decoder *d, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG && !d->is_local[op->reg]) return false;
    for (int i = 0; i < op->n_elems; i++)
        if (!all_local(d, &op->elems[i])) return false;
    return true;
}

static void forget_uniform(Decoder *d, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG) d->is_uniform[op->reg] = false;
    for (int i = 0; i < op->n_elems; i++) forget_uniform(d, &op->elems[i]);
}

static void forget_base(Decoder *d, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG && d->shared_base == op->reg) d->shared_base = -1;
    if (op->kind == PTX_OP_REG) layouts_forget(d, op->reg);
    for (int i = 0; i < op->n_elems; i++) forget_base(d, &op->elems[i]);
}

static bool decode_one(Decoder *d) {
    Captured got = {0};
    bool writes = d->in->n_args > 0 && ptx_is_dest(d->in, 0);
    d->is_free = d->in->guard < 0 && writes && all_local(d, &d->in->args[0]);
    if (writes) forget_uniform(d, &d->in->args[0]);
    const Form *f = find_form(d->in, &got);
    if (f == NULL) return decode_unknown(d);
    if (!operands_agree(d)) return false;
    d->form = f;
    d->cost[d->index] = f->cost;
    group_touches(d);
    bool done = f->custom ? f->custom(d) : emit_form(d, f, &got);
    if (writes) forget_base(d, &d->in->args[0]);
    return done;
}

static bool decode_instr(Decoder *d) {
    bool is_branch = ptx_is(d->in, "bra");
    if (d->in->guard < 0 || is_branch) return decode_one(d);
    PtxOperand guard = {.kind = PTX_OP_REG, .reg = d->in->guard, .func = -1};
    uint32_t p;
    int bits;
    if (!any_register(d, &guard, &p, &bits)) return false;
    int skip = d->code->n_ins;
    emit(d, OP_BRA_IF, !d->in->guard_negated, 0, p, 0, 0);
    if (!decode_one(d)) return false;
    d->n_held = 0; /* the other lanes did not do it */
    Ins *join = emit(d, OP_JOIN, 0, 0, 0, 0, 0);
    int after = (int)(join - d->code->ins);
    d->code->ins[skip].d = d->code->ins[skip].c = (uint32_t)after;
    return true;
}

/* --- layout --- */

uint32_t decode_align(uint32_t x, uint32_t unit) {
    return unit > 1 ? (x + unit - 1) / unit * unit : x;
}

static void lay_out_registers(Decoder *d) {
    const int *slots = d->live->slots;
    uint32_t at = FIRST_PREDICATE + (uint32_t)slots[0] * 4;
    for (int k = 0; k < 4; k++, at += 4) d->tmp_p[k] = at;
    d->trash_p = at;
    d->reg32 = decode_align(at + 4, 64);
    at = d->reg32 + (uint32_t)slots[1] * ROW32;
    for (int k = 0; k < 4; k++, at += ROW32) d->tmp32[k] = at;
    d->trash32 = at;
    d->reg64 = at + ROW32;
    at = d->reg64 + (uint32_t)slots[2] * ROW64;
    for (int k = 0; k < 4; k++, at += ROW64) d->tmp64[k] = at;
    d->trash64 = at;
    at += ROW64 + (slots[3] ? ROW64 : 0); /* of 128 bits they take two rows each, and this two */
    d->reg128 = at;
    d->pool_first = d->pool_next = at + (uint32_t)slots[3] * 2 * ROW64;
    d->code->reg32 = d->reg32;
    d->code->reg64 = d->reg64;
    d->code->pool_first = d->pool_first;
}

static void clear_range(Code *code, uint32_t offset, uint32_t bytes) {
    if (code->n_clear > 0) {
        struct CodeRange *last = &code->clear[code->n_clear - 1];
        if (last->offset + last->bytes == offset) {
            last->bytes += bytes;
            return;
        }
    }
    gi_grow(code->clear, code->n_clear, code->cap_clear);
    code->clear[code->n_clear++] = (struct CodeRange){offset, bytes};
}

/* Registers begin with all bits set, so that reading what was never written shows, as far as it can
** matter: locals of a block are written first, and so are those that the first block sets once. */
static void find_clears(Decoder *d) {
    const int *slots = d->live->slots;
    uint8_t *keep[4];
    for (int c = 0; c < 4; c++) keep[c] = gi_alloc((size_t)slots[c] + 1);
    for (int r = 0; r < d->func->n_regs; r++) {
        int slot = d->live->slot[r], c = d->live->class_of[r];
        if (slot >= 0 && !d->is_local[r] && !d->is_once[r]) keep[c][slot] = 1;
    }
    const uint32_t base[4] = {FIRST_PREDICATE, d->reg32, d->reg64, d->reg128};
    const uint32_t size[4] = {4, ROW32, ROW64, 2 * ROW64};
    for (int c = 0; c < 4; c++) {
        for (int s = 0; s < slots[c]; s++)
            if (keep[c][s]) clear_range(d->code, base[c] + (uint32_t)s * size[c], size[c]);
        free(keep[c]);
    }
    for (int r = 0; r < d->func->n_regs; r++) {
        int slot = d->live->slot[r], c = d->live->class_of[r];
        if (slot < 0 || !d->live->unset[r]) continue;
        for (int row = 0; row < 1 + (c == 3); row++) {
            gi_grow(d->code->unset, d->code->n_unset, d->code->cap_unset);
            d->code->unset[d->code->n_unset++] =
                base[c] + (uint32_t)slot * size[c] + (uint32_t)row * ROW64;
        }
    }
}

/* An area that gets too large stays so; lay_out_vars refuses its declaration. */
uint32_t decode_place(uint32_t *next, const PtxVar *v) {
    uint32_t at = decode_align(*next, (uint32_t)(v->align > 0 ? v->align : 1));
    *next = at <= AREA_BYTES && v->size <= AREA_BYTES - at ? at + (uint32_t)v->size
                                                            : AREA_BYTES + 1;
    return at;
}

/* Offsets of the variables a function declares. shared_base: where its shared memory begins. */
static bool lay_out_vars(Decoder *d, uint32_t shared_base) {
    const PtxFunc *f = d->func;
    Code *code = d->code;
    uint32_t shared = shared_base;
    d->var_offset = gi_alloc((size_t)(f->n_vars + 1) * sizeof *d->var_offset);
    for (int i = 0; i < f->n_vars; i++) {
        const PtxVar *v = f->vars[i];
        if (v->space == PTX_LOCAL) d->var_offset[i] = decode_place(&code->local_bytes, v);
        else if (v->space == PTX_PARAM) d->var_offset[i] = decode_place(&code->param_bytes, v);
        else if (v->space == PTX_SHARED) d->var_offset[i] = decode_place(&shared, v);
        else
            return gi_fail(d->err, "compile",
                           "PTX line %d: variable %s in a space the virtual GPU "
                           "does not expect inside a function",
                           v->line, v->name);
    }
    if (code->local_bytes > AREA_BYTES || code->param_bytes > AREA_BYTES || shared > AREA_BYTES)
        return gi_fail(d->err, "compile",
                       "PTX line %d: the variables of %s are larger than %d bytes", f->line,
                       f->name, AREA_BYTES);
    code->local_bytes = decode_align(code->local_bytes, 8);
    code->param_bytes = decode_align(code->param_bytes, 8);
    code->shared_bytes = shared;
    return true;
}

/* --- one function --- */

static void begin_block(Decoder *d, int block) {
    const PtxInstr *in = d->in;
    d->in = NULL;
    d->is_free = false;
    forget_bases(d);
    Ins *b = emit(d, OP_BLOCK, 0, 0, (uint32_t)block, (uint32_t)(d->code->first_block + block), 0);
    b->imm = (uint64_t)(uintptr_t)&d->code->block[block];
    d->block_start[block] = (int)(b - d->code->ins);
    d->in = in;
    InsPlace *at = &d->code->place[b - d->code->ins];
    at->ptx_line = in->line;
    at->src_line = in->src_line;
}

static int ins_of(const Decoder *d, int instr) {
    if (instr >= d->func->n_code) return d->code->n_ins - 1; /* the closing ret */
    return d->block_start[d->cfg->block_of[instr]];
}

static uint32_t rpc_of(const Decoder *d, int instr) {
    if (instr >= d->func->n_code) return (uint32_t)END_OF_FUNCTION;
    int at = ins_of(d, instr);
    d->code->ins[at].x = 1; /* paths meet here */
    return (uint32_t)at;
}

static void fix_branches(Decoder *d) {
    for (int i = 0; i < d->n_fix; i++) {
        struct Fixup f = d->fix[i];
        Ins *in = &d->code->ins[f.ins];
        if (f.target >= 0) in->d = (uint32_t)ins_of(d, f.target);
        if (f.rpc >= 0) in->c = rpc_of(d, f.rpc);
    }
    for (int i = 0; i < d->code->n_jump; i++) d->code->jump[i] = ins_of(d, d->code->jump[i]);
}

static bool decode_body(Decoder *d) {
    const PtxFunc *f = d->func;
    for (int b = 0; b < d->cfg->n_blocks; b++) {
        for (int i = d->cfg->first[b]; i < d->cfg->first[b + 1]; i++) {
            d->index = i;
            d->in = &f->code[i];
            if (i == d->cfg->first[b]) begin_block(d, b);
            if (!decode_instr(d)) return false;
        }
    }
    d->in = NULL;
    emit(d, OP_RET, 0, 0, 0, 0, 0);
    fix_branches(d);
    return true;
}

static void add_costs(Decoder *d) {
    Code *code = d->code;
    CostPlace *place = gi_alloc((size_t)(d->func->n_code + 1) * sizeof *place);
    for (int i = 0; i < d->func->n_code; i++)
        if (d->is_repeat[i]) d->cost[i] = COST_FREE;
    cost_blocks(&d->emu->model, d->func, d->cfg, d->cost, code->block, place, &code->carries);
    for (int i = 0; i < code->n_ins; i++) {
        InsPlace *p = &code->place[i];
        if (p->index < 0) continue;
        p->clock = place[p->index].clock;
        p->slots = place[p->index].slots;
        p->use = place[p->index].use;
        p->out = place[p->index].out;
    }
    free(place);
}

/* ptxas needs some registers beyond what PTX shows alive: addresses, loop state, the stack. */
static int register_estimate(const Decoder *d) {
    int n = d->live->max_live32 + 6;
    int most = (int)d->emu->model.max_registers_per_thread;
    if (n < 16) n = 16;
    return most > 0 && n > most ? most : n;
}

static bool is_moving(PoolKind k) {
    return (k >= POOL_CTAID_X && k <= POOL_CTAID_Z) || (k >= POOL_TID_X && k <= POOL_TID_Z) ||
           (k >= POOL_CLUSTERID_X && k <= POOL_CLUSTERID_Z) ||
           (k >= POOL_CLUSTER_CTAID_X && k <= POOL_CLUSTER_CTAID_Z) || k == POOL_CLUSTER_RANK ||
           k == POOL_SMID || k == POOL_WARPID;
}

/* Rows that differ between the warps of a launch first. */
static void sort_pool(Code *code) {
    for (int i = 0; i < code->n_pool; i++) {
        PoolRow row = code->pool[i];
        if (!is_moving(row.kind)) continue;
        code->pool[i] = code->pool[code->n_moving];
        code->pool[code->n_moving++] = row;
    }
}

bool decode_function(EmuModule *mod, int index, int first_block, uint32_t shared_base,
                     gi_err *err) {
    Code *code = &mod->code[index];
    const PtxFunc *f = &mod->ptx->funcs[index];
    Decoder d = {.emu = mod->emu, .mod = mod, .code = code, .func = f, .err = err};
    d.cfg = ptx_cfg(f);
    d.live = ptx_liveness(f, d.cfg);
    d.cost = gi_alloc((size_t)f->n_code + 1);
    d.block_start = gi_alloc((size_t)(d.cfg->n_blocks + 1) * sizeof *d.block_start);
    code->n_blocks = d.cfg->n_blocks;
    code->block = gi_alloc((size_t)(code->n_blocks + 1) * sizeof *code->block);
    code->first_block = first_block;
    d.is_repeat = gi_alloc((size_t)f->n_code + 1);
    repeats_find(f, d.cfg, d.is_repeat);
    for (int i = 0; i < f->n_code && !d.has_cas; i++)
        d.has_cas = ptx_is(&f->code[i], "atom") && ptx_has_mod(&f->code[i], "cas");
    find_registers(&d);
    group_registers(&d);
    lay_out_registers(&d);
    find_clears(&d);
    bool fine = lay_out_vars(&d, shared_base);
    if (fine) locals_find(&d);
    fine = fine && decode_body(&d);
    if (fine) {
        sort_pool(code);
        fuse(&d);
        add_costs(&d);
        code->registers = register_estimate(&d);
        code->file_bytes = decode_align(d.pool_next, 64);
    }
    ptx_liveness_free(d.live);
    ptx_cfg_free(d.cfg);
    free(d.pool_slot);
    free(d.readers.first);
    free(d.readers.at);
    free(d.readers.tested);
    free(d.cost);
    free(d.is_repeat);
    free(d.apart);
    free(d.in_group);
    free(d.n_reads);
    free(d.is_local);
    free(d.is_uniform);
    free(d.is_once);
    free(d.shows_bits);
    free(d.alias);
    free(d.block_start);
    free(d.var_offset);
    free(d.array_of);
    d.code->arrays = d.arrays;
    free(d.fix);
    return fine;
}

void code_free(Code *c) {
    free(c->ins);
    free(c->place);
    free(c->pool);
    free(c->mem);
    free(c->tex);
    for (int i = 0; i < c->n_call; i++) free(c->call[i].arg);
    free(c->call);
    free(c->sync);
    for (int i = 0; i < c->n_matrix; i++) matrix_form_free(&c->matrix[i]);
    free(c->matrix);
    free(c->jump);
    free(c->bulk);
    free(c->slow);
    free(c->formal);
    free(c->formal_size);
    free(c->result);
    free(c->result_size);
    free(c->block);
    free(c->carries.at);
    free(c->clear);
    free(c->unset);
    free(c->arrays);
    free(c->refused);
    memset(c, 0, sizeof *c);
}
