/* decode.h - from PtxInstr to Ins: what the decoder's files share (decode*.c, forms_*.c).
**
** A Form says what one opcode with one pattern of modifiers becomes. Patterns are words in the
** order PTX prescribes: "s32|u32" is either, "?x" may be missing, "?R" is an optional rounding
** (rn rz rm rp, handed over in Ins.imm, 0 … 3), "*" leaves everything to the custom function.
** "?ftz" and "?sat" are done by the decoder: it flushes f32 sources and result, clamps the result.
**
** A signature has a letter per operand, the result first:
**   w 32-bit   q 64-bit   h u16 (results are cut to 16 bits)   i s16 (sources are sign-extended)
**   f f32      d f64      p predicate, sources may be negated
**   Q 128-bit: two rows of 64, the lower one first; for source and dest alone
*/
#ifndef GILUA_EMU_DECODE_H
#define GILUA_EMU_DECODE_H

#include "emu/decode/bounds.h"
#include "emu/core.h"
#include "emu/decode/ops.h"
#include "emu/exec/rows.h"

enum { FIRST_PREDICATE = 4 }; /* offset 0 is no register's: an operand that there is not */

enum {
    MOST_COPIES = 4,   /* that a loaded value is followed through, */
    MOST_HELD = 8,     /* layouts that are known to hold */
    MOST_READERS = 256 /* and instructions that are looked at for a compare-and-swap of it */
};

/* The readers of register r are at[first[r]] … at[first[r + 1] - 1]: see decode/memory.c. */
typedef struct Readers {
    int *first, *at;
    uint8_t (*tested)[MOST_COPIES + 1]; /* by register and copies: 0 unknown, 1 yes, 2 no */
} Readers;

typedef struct Decoder {
    Emu *emu;
    EmuModule *mod;
    Code *code;
    const PtxFunc *func;
    const PtxInstr *in; /* being decoded */
    const struct Form *form; /* the row of a table that it is */
    int index;
    PtxType type; /* the last that its modifiers name (operands.c) */
    PtxCfg *cfg;
    PtxLiveness *live;
    uint32_t pool_first, pool_next;
    int *pool_slot, n_pool_slots; /* hash of the code's pool: index + 1, 0 when free */
    uint32_t reg32, reg64, reg128; /* offsets of the row areas; predicates begin at 0 */
    uint32_t tmp32[4], tmp64[4], tmp_p[4], trash32, trash64, trash_p;
    uint32_t *var_offset; /* of func->vars: in local frame, shared memory or parameter area */
    uint8_t *cost;        /* CostClass per instruction */
    bool *is_repeat;      /* per instruction: see repeats.h */
    int *n_reads;         /* per register: operands that read it, guards left out */
    bool *is_local;       /* per register: used in one basic block, where it is written first */
    bool *apart;          /* per register: see apart.c; NULL until somebody asks */
    bool *is_uniform;     /* per register: a local that was loaded from one constant address */
    bool *is_once;        /* per register: one write, in the first block or as above: comes first */
    bool *shows_bits;     /* per register: something reads it that would show which NaN it is */
    uint32_t *alias;      /* per register: the constant row it stands for, or 0 */
    int shared_base;      /* register: base of this block's last load of shared memory; -1: none */
    struct {
        int reg;
        uint32_t layout;
    } held[MOST_HELD];    /* layouts.c: layouts that hold here, by their base registers */
    int n_held;
    Readers readers;      /* found when first asked for */
    bool *in_group;       /* per register: of a wgmma; NULL: there is none */
    bool has_cas;         /* somewhere in it is a compare-and-swap */
    bool is_free;         /* the instruction's results are all such, and it has no guard */
    int *array_of;        /* per register: the array in which its address lies (locals.c) */
    Array *arrays;
    int n_arrays, cap_arrays;
    int *block_start;     /* Ins index per block */
    struct Fixup {
        int ins, target, rpc; /* instruction indices; target -1: none */
    } * fix;
    int n_fix, cap_fix;
    gi_err *err;
} Decoder;

typedef bool (*DecodeFn)(Decoder *d);

typedef struct Form {
    const char *opcode, *mods, *sig;
    uint16_t op;
    SlowFn slow;
    uint8_t cost;
    DecodeFn custom;
    EmuRow row; /* that does the same as slow */
} Form;

#define FAST(opcode, mods, sig, op, cost)                                                          \
    { opcode, mods, sig, OP_##op, NULL, COST_##cost, NULL, ROW_NONE }
#define SLOW(opcode, mods, sig, fn, cost)                                                          \
    { opcode, mods, sig, OP_SLOW, fn, COST_##cost, NULL, ROW_NONE }
#define QUICK(opcode, mods, sig, row, fn, cost)                                                    \
    { opcode, mods, sig, OP_SLOW, fn, COST_##cost, NULL, ROW_##row }
#define ANY_OPERANDS NULL /* which the function looks at */
#define CUSTOM_OF(opcode, mods, fn, cost) CUSTOM_SIG(opcode, mods, ANY_OPERANDS, fn, cost)
#define CUSTOM(opcode, fn, cost)          CUSTOM_OF(opcode, "*", fn, cost)
#define CUSTOM_SIG(opcode, mods, sig, fn, cost)                                                    \
    { opcode, mods, sig, 0, NULL, COST_##cost, fn, ROW_NONE }
#define FORMS_END                                                                                  \
    { NULL, NULL, NULL, 0, NULL, 0, NULL, ROW_NONE }

extern const Form forms_int[], forms_float[], forms_warp[], forms_convert[], forms_memory[],
    forms_control[], forms_texture[], forms_hints[], forms_video[], forms_compound[],
    forms_matrix[], forms_group[], forms_async[], forms_tensormap[];

/* Fails with the PTX line, the source line and the instruction. */
bool decode_fail(Decoder *d, const char *fmt, ...) GI_PRINTF(2, 3);
/* What all custom functions say of an instruction they do not know; of one with other modifiers
** than those of a list. */
bool decode_unknown(Decoder *d);
/* forms_float.c: an approximation with the largest error, where the model asks for it; false: it
** does not, or it is none. at: d, a, b, c. */
bool worst_emit(Decoder *d, const Form *form, const uint32_t at[4]);
/* Do its modifiers match a Form's pattern? */
bool decode_mods_match(const Decoder *d, const char *pattern);
bool decode_only_mods(Decoder *d, const char *allowed);
/* Emits a plain instruction for rows of d, a, b, c; false where there is no such one. */
bool emit_plain(Decoder *d, const PtxInstr *plain, uint32_t at[4]);
/* forms_convert.c: an f16 or a bf16 as f32. */
void emit_half_to_f32(Decoder *d, PtxType half, uint32_t to, uint32_t from);
bool decode_fill(Decoder *d); /* fill.c: st.bulk */
/* apart.c: may lanes differ in the registers of an operand, as ptxas can see? */
bool decode_is_apart(Decoder *d, const PtxOperand *op);
struct AtomForm;
/* atom128.c: cas and exch of 16 bytes. */
bool decode_atomic_128(Decoder *d, const struct AtomForm *f);
/* special.c: the row of a special register by its name. */
bool special_row(Decoder *d, const char *symbol, uint32_t *out);
/* Is the module of that version of the ISA (83 is 8.3), for that GPU, or of later ones? */
bool decode_has(Decoder *d, int version, int sm);
bool decode_has_own(Decoder *d); /* is it for one GPU alone, or a family: sm_90a, sm_100f? */
void emit_fence(Decoder *d); /* control.c: for the scope that the instruction names */

Ins *emit(Decoder *d, EmuOp op, uint32_t x, uint32_t dest, uint32_t a, uint32_t b, uint32_t c);
Ins *emit_slow(Decoder *d, SlowFn fn, uint32_t dest, uint32_t a, uint32_t b, uint32_t c,
               uint64_t imm);
/* The same by a row's loop, where it is not to be done plainly. */
Ins *emit_row(Decoder *d, EmuRow row, SlowFn plain, uint32_t dest, uint32_t a, uint32_t b,
              uint32_t c, uint64_t imm);
uint32_t pool_row(Decoder *d, PoolKind kind, uint64_t value);

/* Offset of a source or destination operand of the kind `letter`; false for one that does not
** fit. scratch: which temporary a conversion on the way may use (0 … 2). */
bool source(Decoder *d, const PtxOperand *op, char letter, int scratch, uint32_t *out);
bool dest(Decoder *d, const PtxOperand *op, char letter, uint32_t *out);
bool immediate(Decoder *d, const PtxOperand *op, char letter, uint64_t *out);
bool whole_number(Decoder *d, const PtxOperand *op, uint64_t *out); /* of 32 bits, no float */
/* A register of any class: its row and width (1 predicate, 16, 32, 64). */
bool any_register(Decoder *d, const PtxOperand *op, uint32_t *out, int *bits);
/* Where a variable lives: an address for .global and .const, else an offset in its space. */
bool variable_address(Decoder *d, const PtxVar *var, uint64_t *out);
/* The register `to` gets what lies in a row. If that is the same throughout a launch and the
** register gets nothing else, it is another name for the row (name_row: true), and nothing is to be
** done. */
bool name_row(Decoder *d, const PtxOperand *to, uint32_t row);
void move_row(Decoder *d, const PtxOperand *to, bool wide, uint32_t dst, uint32_t row);
/* A row with the address of a symbol operand: *wide tells whether it is a 64-bit one. */
bool symbol_row(Decoder *d, const PtxOperand *op, int64_t offset, uint32_t *out, bool *wide);

/* Words of the instruction; ptx.h says what a list of them is. */
enum { LAST = -1 }; /* modifier */
static inline bool has_mod(const Decoder *d, const char *mods) {
    return ptx_has_mod(d->in, mods);
}
static inline const char *mod_at(const Decoder *d, int i) {
    return ptx_mod(d->in, i);
}
static inline bool mod_is(const Decoder *d, int i, const char *words) {
    return ptx_word_in(ptx_mod(d->in, i), words);
}

/* decode.c: one function; false, and why it is refused, where something in it is not known. */
bool decode_function(EmuModule *mod, int index, int first_block, uint32_t shared_base, gi_err *err);
enum { AREA_BYTES = 1 << 30 }; /* of a function's variables in one space, at most */
uint32_t decode_align(uint32_t x, uint32_t unit);       /* the next multiple */
uint32_t decode_place(uint32_t *next, const PtxVar *v); /* its offset, and the next one free */

void find_registers(Decoder *d); /* registers.c: fills n_reads … shows_bits, alias */
/* layouts.c: sets the layout of an access at [base + …], and whether it is known to hold. */
void layouts_find(Decoder *d, const PtxOperand *base, MemForm *f);
void layouts_forget(Decoder *d, int reg); /* it is written */
void layouts_number(EmuModule *mod);      /* once all functions are decoded */
/* Other paths of the warp may run here. */
static inline void forget_bases(Decoder *d) {
    d->shared_base = -1;
    d->n_held = 0;
}
void locals_find(Decoder *d);    /* locals.c: fills array_of, arrays */
/* Sets the local array that an access at [base + …] is meant for, where that is known. */
void locals_of(Decoder *d, const PtxOperand *base, MemForm *f);
void fuse(Decoder *d);           /* fuse.c: neighbours to be done in one go */
/* texture.c: [handle, {coordinates}], and the form kept as the last of Code.tex. */
bool tex_handle(Decoder *d, HandleUse use, const PtxOperand *handle, TexForm *f);
bool tex_coordinates(Decoder *d, TexForm *f, const PtxOperand *at);
void tex_emit(Decoder *d, const TexForm *f);
bool decode_surface(Decoder *d); /* surface.c */
/* matrix_group.c: fills in_group; emits checks before an instruction that uses such registers. */
void group_registers(Decoder *d);
void group_touches(Decoder *d);
bool decode_cp(Decoder *d);      /* async.c */
/* decode/async.c: bulk copies; barrier.cluster; st.async and red.async; mov of
** %is_explicit_cluster. */
bool decode_bulk(Decoder *d);
bool decode_cluster_barrier(Decoder *d);
bool decode_store_async(Decoder *d);
bool decode_is_cluster(Decoder *d);
bool decode_proxy_fence(Decoder *d);
/* forms_fp8.c: a cvt with a type of 8 bits. */
bool is_fp8(const Decoder *d);
bool decode_fp8(Decoder *d);
/* bounds.c: who holds an access against its bound; false, and why, where there is no such access.
** Is an access inside a parameter? Is this one declared for a call? */
bool bound_of(Decoder *d, Use use, PtxSpace space, const PtxOperand *at, Bound *out);
bool bound_is_call_param(const Decoder *d, const PtxVar *var);
bool bound_place(Decoder *d, const PtxVar *var, int64_t inside, unsigned bytes);
bool operands_agree(Decoder *d); /* operands.c: have they the instruction's types? */
/* decode/memory.c: a row for an address, offset included. which: 0 or 1, of two. */
bool decode_address(Decoder *d, Use use, const PtxOperand *op, PtxSpace space, int which,
                    uint32_t *row, bool *wide);
/* Does anybody read what is written to this operand? */
bool decode_is_read(const Decoder *d, const PtxOperand *op);
bool decode_warp_barrier(Decoder *d); /* forms_warp.c: bar.warp.sync */
/* The same: what the lanes of a mask do together. */
bool emit_sync(Decoder *d, SyncForm f);
/* decode/call.c */
bool decode_call(Decoder *d);
bool decode_alloca(Decoder *d);
bool decode_stacksave(Decoder *d);
bool decode_stackrestore(Decoder *d);
void fix_branch(Decoder *d, int target, int rpc); /* for the Ins emitted last */

#endif
