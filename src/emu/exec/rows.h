/* rows.h - slow operations that are quick all the same: a loop over the 32 lanes of their rows in
** vector code (rows.c), where the plain form goes lane by lane through num.h. Both give the same
** bits; tests ask for the plain ones by Emu.plain. */
#ifndef GILUA_EMU_ROWS_H
#define GILUA_EMU_ROWS_H

#include "emu/core.h"

/* H f16, B bf16; of two in a word with HALF_TWO. From RCP on: approximations; Z with .ftz.
** SHFL, MATCH: of whole warps.
** CVT_INT: f16 or f32 to an integer; CVT_H_INT: an integer to f16. ATOMIC: of lanes that go to one
** allocation. */
#define EMU_ROWS(R)                                                                                \
    R(NONE)                                                                                        \
    R(ADD_H) R(SUB_H) R(MUL_H) R(FMA_H) R(MIN_H) R(MAX_H) R(SIGN)                                  \
    R(ADD_B) R(SUB_B) R(MUL_B) R(FMA_B) R(MIN_B) R(MAX_B)                                          \
    R(CVT_F_H) R(CVT_H_F) R(CVT_B_F) R(PAIR_H_F) R(PAIR_B_F)                                       \
    R(RCP) R(SQRT) R(RSQRT) R(EX2) R(LG2) R(SIN) R(COS) R(DIV) R(DIV_FULL)                         \
    R(RCP_Z) R(SQRT_Z) R(RSQRT_Z) R(EX2_Z) R(LG2_Z) R(SIN_Z) R(COS_Z) R(DIV_Z) R(DIV_FULL_Z)       \
    R(TANH)                                                                                        \
    R(CVT_U32_F) R(CVT_S64_F) R(CVT_F_U16) R(CVT_F_S16) R(CVT_F_S64) R(CVT_F_D)                    \
    R(CVT_S32_D) R(CVT_U32_D) R(CVT_S64_D) R(CVT_D_U32) R(CVT_D_S64) R(CVT_D_U64)                  \
    R(CVT_INT) R(CVT_H_INT) R(FMA_SIDE) R(ADD_SIDE) R(SUB_SIDE) R(MUL_SIDE) R(PRMT) R(CARRY)       \
    R(SHF_L) R(SHF_L_WRAP) R(SHF_R) R(SHF_R_WRAP) R(BFE_U32) R(BFE_S32) R(BFI)                     \
    R(POPC) R(CLZ) R(BREV) R(MULHI_U64) R(MULHI_S64)                                               \
    R(DIV_U64) R(DIV_S64) R(REM_U64) R(REM_S64)                                                    \
    R(MIN_D) R(MAX_D) R(ABS_D)                                                                     \
    R(DP4A_UU) R(DP4A_US) R(DP4A_SU) R(DP4A_SS) R(SHFL) R(MATCH) R(ATOMIC)

typedef enum EmuRow {
#define R(name) ROW_##name,
    EMU_ROWS(R)
#undef R
    ROWS
} EmuRow;

/* In Ins.imm of ADD_H … MAX_B; the letter of SIGN's operation, 'n' or 'a', from bit 8 on. */
enum { HALF_BRAIN = 1, HALF_SAT = 2, HALF_RELU = 4, HALF_FTZ = 8, HALF_TWO = 16, HALF_NAN = 32 };
enum { HALF_WORST = 64, HALF_AWAY = 128 }; /* of ex2 and tanh */
enum { HALF_XORSIGN = 1 << 16, HALF_OOB = 1 << 17 }; /* of min and max; of fma: no row then */

/* What a conversion does: Ins.imm of slow_convert, CVT_INT, CVT_H_INT. */
typedef struct Convert {
    uint8_t to, from; /* PtxType; TO_TF32 */
    uint8_t round;    /* NumRound */
    uint8_t integral : 1, ftz : 1, sat : 1, relu : 1, satfinite : 1, wide_from : 1, rounded : 1;
    uint8_t to_bits; /* of the destination register */
} Convert;

/* In Ins.imm of CARRY. The sum is a + b (or a + ~b, or a * b + c) + carry in. */
enum { CC_IN = 1, CC_OUT = 2, CC_SUB = 4, CC_64 = 8, CC_MUL = 16, CC_HI = 32, CC_SIGNED = 64 };

extern const SlowFn rows_base[ROWS];
extern const SlowFn rows_avx2[ROWS], rows_avx512[ROWS]; /* where the processor has it */

static inline SlowFn row_or(const Emu *e, EmuRow row, SlowFn plain) {
    if (row == ROW_NONE || e->plain) return plain;
    return e->vectors == VECTORS_AVX512 ? rows_avx512[row]
           : e->vectors == VECTORS_AVX2 ? rows_avx2[row]
                                        : rows_base[row];
}

#endif
