/* gilua_llvm_math.h - CUDA's mathematical library for clang: what gilua_llvm.h has of no single
** instruction. Each function is libdevice's (NVVM Libdevice User's Guide), under the name that CUDA
** has for it; clang links the file libdevice.10.bc, which comes with CUDA's toolkit, and takes of it
** what is called.
*/
#ifndef GILUA_LLVM_MATH_H
#define GILUA_LLVM_MATH_H

#define GILUA_M(T, name, parameters, symbol)                                                       \
    __device__ __attribute__((const)) T name parameters __asm__("__nv_" symbol);
#define GILUA_W(T, name, parameters, symbol) __device__ T name parameters __asm__("__nv_" symbol);

/* ---- of one number: double, and float under both names ---- */

#define GILUA_1(name)                                                                              \
    GILUA_M(double, name, (double), #name)                                                         \
    GILUA_M(float, name##f, (float), #name "f")                                                    \
    GILUA_M(float, name, (float), #name "f")

GILUA_1(acos) GILUA_1(acosh) GILUA_1(asin) GILUA_1(asinh) GILUA_1(atan) GILUA_1(atanh)
GILUA_1(cbrt) GILUA_1(cos) GILUA_1(cosh) GILUA_1(erf) GILUA_1(erfc) GILUA_1(exp) GILUA_1(exp2)
GILUA_1(expm1) GILUA_1(lgamma) GILUA_1(log) GILUA_1(log10) GILUA_1(log1p) GILUA_1(log2)
GILUA_1(logb) GILUA_1(nearbyint) GILUA_1(round) GILUA_1(sin) GILUA_1(sinh) GILUA_1(tan)
GILUA_1(tanh) GILUA_1(tgamma)
GILUA_1(cospi) GILUA_1(cyl_bessel_i0) GILUA_1(cyl_bessel_i1) GILUA_1(erfcinv) GILUA_1(erfcx)
GILUA_1(erfinv) GILUA_1(exp10) GILUA_1(j0) GILUA_1(j1) GILUA_1(normcdf) GILUA_1(normcdfinv)
GILUA_1(rcbrt) GILUA_1(sinpi) GILUA_1(y0) GILUA_1(y1)
GILUA_M(double, rsqrt, (double), "rsqrt")
GILUA_F float rsqrt(float x) { return rsqrtf(x); }
GILUA_F float trunc(float x) { return truncf(x); }
GILUA_F float rint(float x) { return rintf(x); }

/* ---- of two ---- */

#define GILUA_2(name)                                                                              \
    GILUA_M(double, name, (double, double), #name)                                                 \
    GILUA_M(float, name##f, (float, float), #name "f")                                             \
    GILUA_M(float, name, (float, float), #name "f")

GILUA_2(atan2) GILUA_2(fdim) GILUA_2(fmod) GILUA_2(hypot) GILUA_2(nextafter) GILUA_2(pow)
GILUA_2(remainder) GILUA_2(rhypot)
GILUA_F float fmin(float x, float y) { return fminf(x, y); }
GILUA_F float fmax(float x, float y) { return fmaxf(x, y); }
GILUA_F float copysign(float x, float y) { return copysignf(x, y); }

/* ---- others ---- */

#define GILUA_B(T, name, parameters, parameters_f)                                                 \
    GILUA_M(T(double), name, parameters, #name)                                                    \
    GILUA_M(T(float), name##f, parameters_f, #name "f")                                            \
    GILUA_M(T(float), name, parameters_f, #name "f")
#define GILUA_SAME(T) T
#define GILUA_INT(T)  int
#define GILUA_LONG(T) long long
GILUA_B(GILUA_SAME, ldexp, (double, int), (float, int))
GILUA_B(GILUA_SAME, scalbn, (double, int), (float, int))
GILUA_F double scalbln(double x, long n) { return scalbn(x, (int)n); }
GILUA_F float scalblnf(float x, long n) { return scalbnf(x, (int)n); }
GILUA_B(GILUA_SAME, jn, (int, double), (int, float))
GILUA_B(GILUA_SAME, yn, (int, double), (int, float))
GILUA_B(GILUA_INT, ilogb, (double), (float))
GILUA_B(GILUA_LONG, llrint, (double), (float))
GILUA_B(GILUA_LONG, llround, (double), (float))
GILUA_F long lrint(double x) { return (long)llrint(x); }
GILUA_F long lrint(float x) { return (long)llrintf(x); }
GILUA_F long lrintf(float x) { return (long)llrintf(x); }
GILUA_F long lround(double x) { return (long)llround(x); }
GILUA_F long lround(float x) { return (long)llroundf(x); }
GILUA_F long lroundf(float x) { return (long)llroundf(x); }
GILUA_F float fma(float x, float y, float z) { return fmaf(x, y, z); }
GILUA_M(double, norm3d, (double, double, double), "norm3d")
GILUA_M(float, norm3df, (float, float, float), "norm3df")
GILUA_M(double, norm4d, (double, double, double, double), "norm4d")
GILUA_M(float, norm4df, (float, float, float, float), "norm4df")
GILUA_M(double, rnorm3d, (double, double, double), "rnorm3d")
GILUA_M(float, rnorm3df, (float, float, float), "rnorm3df")
GILUA_M(double, rnorm4d, (double, double, double, double), "rnorm4d")
GILUA_M(float, rnorm4df, (float, float, float, float), "rnorm4df")
GILUA_W(double, norm, (int, const double *), "norm")
GILUA_W(float, normf, (int, const float *), "normf")
GILUA_W(double, rnorm, (int, const double *), "rnorm")
GILUA_W(float, rnormf, (int, const float *), "rnormf")
#define GILUA_P(T, name, Out)                                                                      \
    GILUA_W(T(double), name, (double, Out(double) *), #name)                                       \
    GILUA_W(T(float), name##f, (float, Out(float) *), #name "f")                                   \
    GILUA_W(T(float), name, (float, Out(float) *), #name "f")
GILUA_P(GILUA_SAME, frexp, GILUA_INT)
GILUA_W(double, modf, (double, double *), "modf")
GILUA_W(float, modff, (float, float *), "modff")
GILUA_W(float, modf, (float, float *), "modff")
GILUA_W(double, remquo, (double, double, int *), "remquo")
GILUA_W(float, remquof, (float, float, int *), "remquof")
#define GILUA_SINCOS(name)                                                                         \
    GILUA_W(void, name, (double, double *, double *), #name)                                       \
    GILUA_W(void, name##f, (float, float *, float *), #name "f")                                   \
    GILUA_W(void, name, (float, float *, float *), #name "f")
GILUA_SINCOS(sincos) GILUA_SINCOS(sincospi)
GILUA_F bool isfinite(float x) { return __builtin_isfinite(x); }
GILUA_F bool isfinite(double x) { return __builtin_isfinite(x); }
GILUA_F bool isnormal(float x) { return __builtin_isnormal(x); }
GILUA_F bool isnormal(double x) { return __builtin_isnormal(x); }
GILUA_F bool signbit(float x) { return __builtin_signbitf(x); }
GILUA_F bool signbit(double x) { return __builtin_signbit(x); }
GILUA_F double nan(const char *) { return __builtin_nan(""); }
GILUA_F float nanf(const char *) { return __builtin_nanf(""); }

/* ---- rounded as is said ---- */

#define GILUA_R(f, T, name, parameters, symbol)                                                    \
    f(T, name##_rd, parameters, symbol "_rd")                                                      \
    f(T, name##_ru, parameters, symbol "_ru")                                                      \
    f(T, name##_rz, parameters, symbol "_rz")
#define GILUA_RN(T, name, parameters, symbol)                                                      \
    GILUA_R(GILUA_M, T, name, parameters, symbol)                                                  \
    GILUA_M(T, name##_rn, parameters, symbol "_rn")
GILUA_R(GILUA_M, float, __fadd, (float, float), "fadd")
GILUA_R(GILUA_M, float, __fmul, (float, float), "fmul")
GILUA_R(GILUA_M, float, __fdiv, (float, float), "fdiv")
GILUA_R(GILUA_M, float, __frcp, (float), "frcp")
GILUA_R(GILUA_M, float, __fsqrt, (float), "fsqrt")
GILUA_R(GILUA_M, float, __fmaf, (float, float, float), "fmaf")
GILUA_RN(float, __fmaf_ieee, (float, float, float), "fmaf_ieee")
GILUA_RN(float, __fsub, (float, float), "fsub")
GILUA_M(float, __frsqrt_rn, (float), "frsqrt_rn")
GILUA_R(GILUA_M, double, __dadd, (double, double), "dadd")
GILUA_R(GILUA_M, double, __dmul, (double, double), "dmul")
GILUA_R(GILUA_M, double, __fma, (double, double, double), "fma")
GILUA_RN(double, __dsub, (double, double), "dsub")
GILUA_RN(double, __ddiv, (double, double), "ddiv")
GILUA_RN(double, __drcp, (double), "drcp")
GILUA_RN(double, __dsqrt, (double), "dsqrt")
GILUA_M(float, __tanf, (float), "fast_tanf")
GILUA_W(void, __sincosf, (float, float *, float *), "fast_sincosf")

GILUA_M(unsigned int, __float2uint_rd, (float), "float2uint_rd")
GILUA_M(unsigned int, __float2uint_ru, (float), "float2uint_ru")
GILUA_RN(long long, __float2ll, (float), "float2ll")
GILUA_RN(unsigned long long, __float2ull, (float), "float2ull")
GILUA_RN(int, __double2int, (double), "double2int")
GILUA_RN(unsigned int, __double2uint, (double), "double2uint")
GILUA_RN(long long, __double2ll, (double), "double2ll")
GILUA_RN(unsigned long long, __double2ull, (double), "double2ull")
GILUA_RN(float, __double2float, (double), "double2float")
GILUA_R(GILUA_M, float, __int2float, (int), "int2float")
GILUA_R(GILUA_M, float, __uint2float, (unsigned int), "uint2float")
GILUA_RN(float, __ll2float, (long long), "ll2float")
GILUA_RN(float, __ull2float, (unsigned long long), "ull2float")
GILUA_RN(double, __ll2double, (long long), "ll2double")
GILUA_RN(double, __ull2double, (unsigned long long), "ull2double")
GILUA_M(double, __int2double_rn, (int), "int2double_rn")
GILUA_M(double, __uint2double_rn, (unsigned int), "uint2double_rn")
GILUA_M(int, __double2hiint, (double), "double2hiint")
GILUA_M(int, __double2loint, (double), "double2loint")
GILUA_M(double, __hiloint2double, (int, int), "hiloint2double")

/* ---- whole numbers ---- */

GILUA_M(long long, __mul64hi, (long long, long long), "mul64hi")
GILUA_M(int, __hadd, (int, int), "hadd")
GILUA_M(int, __rhadd, (int, int), "rhadd")
GILUA_M(unsigned int, __uhadd, (unsigned int, unsigned int), "uhadd")
GILUA_M(unsigned int, __urhadd, (unsigned int, unsigned int), "urhadd")

/* ---- mixed arguments: an integer counts as a double, and the widest argument decides ---- */

GILUA_F float gilua_real(float);
GILUA_F double gilua_real(double);
#define GILUA_REAL(T) GILUA_F double gilua_real(T);
GILUA_REAL(bool) GILUA_REAL(char) GILUA_REAL(signed char) GILUA_REAL(unsigned char)
GILUA_REAL(short) GILUA_REAL(unsigned short) GILUA_REAL(int) GILUA_REAL(unsigned)
GILUA_REAL(long) GILUA_REAL(unsigned long) GILUA_REAL(long long) GILUA_REAL(unsigned long long)
#define GILUA_MIXED(name)                                                                          \
    template <class A, class B, class R = decltype(gilua_real(A()) + gilua_real(B()))>             \
    GILUA_F R name(A x, B y) { return name((R)x, (R)y); }
GILUA_MIXED(atan2) GILUA_MIXED(copysign) GILUA_MIXED(fdim) GILUA_MIXED(fmax) GILUA_MIXED(fmin)
GILUA_MIXED(fmod) GILUA_MIXED(hypot) GILUA_MIXED(nextafter) GILUA_MIXED(pow)
GILUA_MIXED(remainder)

#undef GILUA_M
#undef GILUA_W
#undef GILUA_1
#undef GILUA_2
#undef GILUA_B
#undef GILUA_P
#undef GILUA_R
#undef GILUA_RN
#undef GILUA_SAME
#undef GILUA_INT
#undef GILUA_LONG
#undef GILUA_SINCOS
#undef GILUA_REAL
#undef GILUA_MIXED
#endif
