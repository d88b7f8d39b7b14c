/* series.h - the coefficients of the special functions, for one value (num_approx.c) and for a row
** of them (rows_special.h). */
#ifndef GILUA_EMU_SERIES_H
#define GILUA_EMU_SERIES_H

enum { SERIES_EXP2 = 11, SERIES_LOG = 8, SERIES_SIN = 7, SERIES_COS = 8 };

/* 2^x on [-1/2, 1/2]: ln(2)^k / k! */
static const double series_exp2[SERIES_EXP2] = {1,
                                                0.69314718055994529,
                                                0.24022650695910072,
                                                0.055504108664821583,
                                                0.0096181291076284769,
                                                0.0013333558146428443,
                                                0.00015403530393381609,
                                                1.5252733804059841e-05,
                                                1.321548679014431e-06,
                                                1.01780860092397e-07,
                                                7.0549116208011234e-09};
/* atanh(s) / s by the square of s */
static const double series_log[SERIES_LOG] = {1,       1.0 / 3,  1.0 / 5,  1.0 / 7,
                                              1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15};
/* sin(x) / x, cos(x) by the square of x */
static const double series_sin[SERIES_SIN] = {
    1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800};
static const double series_cos[SERIES_COS] = {
    1,           -1.0 / 2,       1.0 / 24,        -1.0 / 720,
    1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200};

#endif
