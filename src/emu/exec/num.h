/* num.h - scalar arithmetic the C language lacks, as PTX defines it (PTX ISA, "Instruction Set").
**
** Pure functions on bits; used lane by lane by the emulator's slow operations and directly by its
** tests. NaN results are PTX's canonical ones: f32 0x7fffffff, f16 0x7fff, bf16 0x7fff; f64 keeps
** an operand's, made quiet: that of b, else c, else a (div: of a, else b), as an H200 does.
*/
#ifndef GILUA_EMU_NUM_H
#define GILUA_EMU_NUM_H

#include "base/base.h"

#include <string.h>

typedef enum NumRound {
    NUM_RN,
    NUM_RZ,
    NUM_RM,
    NUM_RP,
    NUM_RNA
} NumRound; /* RNA: half away (rna) */

static inline float num_f32_from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t num_f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double num_f64_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t num_f64_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* subnormal -> zero of the same sign */
static inline float num_ftz(float x) {
    uint32_t bits = num_f32_bits(x);
    return (bits & 0x7f800000) ? x : num_f32_from_bits(bits & 0x80000000);
}

/* add, mul, fma, div, sqrt, rcp in a chosen rounding, correctly rounded. */
float num_add_f32(float a, float b, NumRound r);
float num_mul_f32(float a, float b, NumRound r);
float num_fma_f32(float a, float b, float c, NumRound r);
float num_div_f32(float a, float b, NumRound r);
float num_sqrt_f32(float a, NumRound r);
/* .ftz: subnormal operands count as zero, and so do results that rounding to 24 bits leaves below
** 2^-126 (tiny after rounding, as an H200 has it: 2^-126 * (1 - 2^-24) is zero, not 2^-126). */
float num_mul_ftz_f32(float a, float b, NumRound r);
float num_fma_ftz_f32(float a, float b, float c, NumRound r);
float num_div_ftz_f32(float a, float b, NumRound r);
double num_add_f64(double a, double b, NumRound r), num_sub_f64(double a, double b, NumRound r);
double num_mul_f64(double a, double b, NumRound r);
double num_fma_f64(double a, double b, double c, NumRound r);
double num_div_f64(double a, double b, NumRound r);
double num_sqrt_f64(double a, NumRound r);

/* A NaN keeps its sign and becomes quiet. */
double num_abs_f64(double a);

/* min/max as PTX: a NaN operand gives the other (two: b's, quiet); -0 < +0. nan: NaN if either is
** (min.NaN). */
float num_min_f32(float a, float b, bool nan), num_max_f32(float a, float b, bool nan);
double num_min_f64(double a, double b), num_max_f64(double a, double b);

/* Approximate functions: within the error the PTX ISA states, deterministic on every machine
** (own polynomials or correctly rounded doubles: never the C library's float functions, whose
** last bit differs between versions). Special values as the ISA's tables. ftz as .ftz. */
float num_ex2_approx(float x, bool ftz), num_lg2_approx(float x, bool ftz);
float num_sin_approx(float x, bool ftz), num_cos_approx(float x, bool ftz);
float num_rcp_approx(float x, bool ftz), num_rsqrt_approx(float x, bool ftz);
float num_sqrt_approx(float x, bool ftz), num_div_approx(float a, float b, bool ftz);
float num_div_full(float a, float b, bool ftz), num_tanh_approx(float x);
/* The same with the largest error that the ISA allows: away from zero, or (away: false) towards it.
** What the ISA fixes stays (NaNs, infinities, zeros). It bounds nothing of sin and cos beyond
** 100 pi: there the error is a unit in the last place of the argument. A function of one operand
** has it in a. */
typedef enum NumApprox {
    NUM_RCP,
    NUM_SQRT,
    NUM_RSQRT,
    NUM_EX2,
    NUM_LG2,
    NUM_SIN,
    NUM_COS,
    NUM_DIV,
    NUM_DIV_FULL,
    NUM_TANH
} NumApprox;
float num_worst(NumApprox f, float a, float b, bool ftz, bool away);
/* The same of ex2 and tanh of half precision. */
uint16_t num_worst_half(NumApprox f, uint16_t bits, bool brain, bool away);
/* The same of rcp and rsqrt in f64, near the true value. The ISA gives no bound: it is one unit of
** their 20 bits, or of all bits for rsqrt.approx.f64 (the CUDA guide's rsqrt: 1 ulp). */
double num_worst_f64(double near, bool all_bits, bool away);
/* .approx.ftz.f64: 20 bits from the upper half of x; rsqrt.approx.f64 is 1 / sqrt(x), twice
** rounded (within 2 ulp). */
double num_rcp_approx_f64(double x), num_rsqrt_approx_f64(double x), num_rsqrt_f64(double x);

/* Half precision, bits in and out. */
float num_f16_to_f32(uint16_t h);
uint16_t num_f32_to_f16(float x, NumRound r), num_f64_to_f16(double x, NumRound r);
float num_bf16_to_f32(uint16_t h);
uint16_t num_f32_to_bf16(float x, NumRound r), num_f64_to_bf16(double x, NumRound r);
uint32_t num_f32_to_tf32(float x, NumRound r); /* a NaN loses its low bits, may become infinite */
/* fma etc. for f16 and bf16: computed exactly and rounded once to nearest even. op: '+' '-' '*' 'f'
** (fma; the others ignore c); sat clamps to [+0, 1] (NaN: +0), relu to >= +0 (NaN stays). */
uint16_t num_f16_op(char op, uint16_t a, uint16_t b, uint16_t c, bool sat, bool relu, bool ftz);
uint16_t num_bf16_op(char op, uint16_t a, uint16_t b, uint16_t c, bool relu);

/* Conversions. Float to integer of `bits` (8 … 64) bits, signed or not, extended to 64: rounding
** RN = nearest even (rni), RZ, RM, RP; out of range saturates; NaN gives only the top bit of the
** destination set when it is 64 bits wide or x is an f64, else 0. */
uint64_t num_f64_to_int(double x, int bits, bool is_signed, NumRound r);
uint64_t num_f32_to_int(float x, int bits, bool is_signed, NumRound r);
float num_int_to_f32(uint64_t x, bool is_signed, NumRound r); /* x sign- or zero-extended to 64 */
double num_int_to_f64(uint64_t x, bool is_signed, NumRound r);
uint16_t num_int_to_f16(uint64_t x, bool is_signed, NumRound r);
uint16_t num_int_to_bf16(uint64_t x, bool is_signed, NumRound r);
/* From f64 a NaN keeps sign and upper payload, quiet, as it does from f16 to f64 and from bf16 to
** f32 (there untouched); from f32 to f16 and bf16, and from f16 to f32, it is the canonical one. */
float num_f64_to_f32(double x, NumRound r);
double num_f16_to_f64(uint16_t h);
float num_bf16_bits_to_f32(uint16_t h);
float num_round_f32(float x, NumRound r); /* to an integral value, still float (cvt.rni.f32.f32) */
double num_round_f64(double x, NumRound r);

/* Bit tricks. bfe, bfi: of 32 bits pos and len are their low 8 bits, as the ISA says; of 64 bits
** all of them, as an H200 does. */
uint32_t num_bfe_u32(uint32_t a, uint32_t pos, uint32_t len);
int32_t num_bfe_s32(int32_t a, uint32_t pos, uint32_t len);
uint64_t num_bfe_u64(uint64_t a, uint32_t pos, uint32_t len);
int64_t num_bfe_s64(int64_t a, uint32_t pos, uint32_t len);
uint32_t num_bfi_b32(uint32_t a, uint32_t b, uint32_t pos, uint32_t len);
uint64_t num_bfi_b64(uint64_t a, uint64_t b, uint32_t pos, uint32_t len);
uint32_t num_prmt(uint32_t a, uint32_t b, uint32_t c,
                  const char *mode); /* "" f4e b4e rc8 ecl ecr rc16 */
uint32_t num_shf(uint32_t a, uint32_t b, uint32_t c, bool left, bool wrap);
uint32_t num_lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t lut);
uint32_t num_bfind(uint64_t a, int bits, bool is_signed, bool shiftamt);
uint32_t num_brev32(uint32_t a);
uint64_t num_brev64(uint64_t a);
uint32_t num_bmsk(uint32_t a, uint32_t b, bool clamp);
uint32_t num_fns(uint32_t mask, uint32_t base, int32_t offset);
int32_t num_dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, int32_t c);
int32_t num_dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, int32_t c, bool hi);
/* c + |a - b| in `bits` bits; a and b sign- or zero-extended to 64. */
uint64_t num_sad(uint64_t a, uint64_t b, uint64_t c, int bits, bool is_signed);
uint64_t num_mul_hi_u64(uint64_t a, uint64_t b);
int64_t num_mul_hi_s64(int64_t a, int64_t b);
uint32_t num_vabsdiff4(uint32_t a, uint32_t b); /* of four bytes without a sign each */

#endif
