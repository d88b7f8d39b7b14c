/* ops.h - the operations of the fast loop (exec.c). Everything else is OP_SLOW.
** Suffixes: 32 64 any integer of that width, S/U signed or not, F f32, D f64, P predicate; N: f32
** whose NaN may have any bits, because only arithmetic reads it. */
#ifndef GILUA_EMU_OPS_H
#define GILUA_EMU_OPS_H

#define EMU_OPS(OP)                                                                             \
    OP(BLOCK) OP(JOIN) OP(BRA) OP(BRA_IF) OP(SWITCH) OP(CALL) OP(RET) OP(EXIT) OP(BARRIER)      \
    OP(SYNC) OP(ASK) OP(SLOW) OP(LDST) OP(LDST_ASK) OP(LOAD_SHARED) OP(TEX) OP(LOCAL_ADDRESS)   \
    OP(MOV32) OP(MOV64) OP(PACK) OP(UNPACK)                                                     \
    OP(AND_P) OP(OR_P) OP(XOR_P) OP(NOT_P) OP(MOV_P)                                            \
    OP(ADD32) OP(SUB32) OP(MUL32) OP(MAD32) OP(NEG32) OP(AND32) OP(OR32) OP(XOR32) OP(NOT32)    \
    OP(SHL32) OP(SHR32_U) OP(SHR32_S) OP(MIN32_S) OP(MIN32_U) OP(MAX32_S) OP(MAX32_U)           \
    OP(DIV32_S) OP(DIV32_U) OP(REM32_S) OP(REM32_U)                                             \
    OP(ABS32) OP(MULHI32_S) OP(MULHI32_U) OP(MULW_S) OP(MULW_U) OP(MADW_S) OP(MADW_U)           \
    OP(ADD64) OP(SUB64) OP(MUL64) OP(MAD64) OP(NEG64) OP(AND64) OP(OR64) OP(XOR64) OP(NOT64)    \
    OP(SHL64) OP(SHR64_U) OP(SHR64_S) OP(MIN64_S) OP(MIN64_U) OP(MAX64_S) OP(MAX64_U)           \
    OP(EXT32_S) OP(EXT32_U) OP(EXT64_S) OP(EXT64_U) OP(WIDEN_S) OP(WIDEN_U) OP(NARROW)          \
    OP(SELP32) OP(SELP64) OP(LOP3)                                                              \
    OP(EQ32) OP(LT32_S) OP(LT32_U) OP(EQ64) OP(LT64_S) OP(LT64_U)                               \
    OP(EQ_F) OP(NE_F) OP(LT_F) OP(LE_F) OP(NUM_F) OP(EQ_D) OP(NE_D) OP(LT_D) OP(LE_D) OP(NUM_D) \
    OP(ADD_F) OP(SUB_F) OP(MUL_F) OP(FMA_F) OP(ADD_FZ) OP(SUB_FZ) OP(MUL_FZ) OP(FMA_FZ)         \
    OP(ADD_N) OP(SUB_N) OP(MUL_N) OP(FMA_N) OP(FMA_F_X3) OP(FMA_N_X3)                           \
    OP(WEIGH_SHARED) OP(WEIGH_SHARED_N) OP(DIV_F) OP(SQRT_F) OP(MIN_F) OP(MAX_F)                \
    OP(FTZ_F) OP(SAT_F)                                                                         \
    OP(ADD_D) OP(SUB_D) OP(MUL_D) OP(FMA_D) OP(DIV_D) OP(SQRT_D)                                \
    OP(CVT_F_S32) OP(CVT_F_U32) OP(CVT_S32_F) OP(CVT_S32_F_RN) OP(CVT_D_S32) OP(CVT_D_F)        \
    OP(CVT_F_D) OP(TRUNC_F) OP(FLOOR_F) OP(CEIL_F) OP(RINT_F)

typedef enum EmuOp {
#define OP(name) OP_##name,
    EMU_OPS(OP)
#undef OP
    OP_COUNT
} EmuOp;

#endif
