/* overloads.c - see overloads.h. The macros write C++. All its names begin with gi: a macro of the
** command line may have any other. */
#include "compile/overloads.h"

#include <string.h>

/* clang-format off */

/* gi_other: what counts as a double without being one. gi_real: what an argument counts as. */
#define OTHER(type) "template <> struct gi_other<" #type "> { typedef double gi_type; };\n"
#define REAL(type)  "template <> struct gi_real<" #type "> { typedef " #type " gi_type; };\n"
static const char types[] =
    "template <class gi_T> struct gi_other {};\n"
    OTHER(bool) OTHER(char) OTHER(signed char) OTHER(unsigned char) OTHER(wchar_t)
    OTHER(char16_t) OTHER(char32_t) OTHER(short) OTHER(unsigned short) OTHER(int)
    OTHER(unsigned) OTHER(long) OTHER(unsigned long) OTHER(long long) OTHER(unsigned long long)
    OTHER(long double)
    "template <class gi_T> struct gi_real : gi_other<gi_T> {};\n"
    REAL(float) REAL(double);

#define INLINE   "__host__ __device__ __forceinline__ "
#define IF_OTHER "template <class gi_A, class = typename gi_other<gi_A>::gi_type>\n" INLINE
#define AS(type) "typename gi_real<" #type ">::gi_type()"
#define IF_BOTH                                                                                    \
    "template <class gi_A, class gi_B,"                                                            \
    " class gi_R = decltype(" AS(gi_A) " + " AS(gi_B) ")>\n" INLINE
#define IF_THREE                                                                                   \
    "template <class gi_A, class gi_B, class gi_C,"                                                \
    " class gi_R = decltype(" AS(gi_A) " + " AS(gi_B) " + " AS(gi_C) ")>\n" INLINE

/* Rows: functions of one argument, of one and what stays as it is, of two, of three. */
#define ONE(result, f)                                                                             \
    {#f, IF_OTHER #result " " #f "(gi_A gi_a) { return " #f "((double)gi_a); }\n"}
#define WITH(type, f)                                                                              \
    {#f, IF_OTHER "double " #f "(gi_A gi_a, " #type " gi_n) {"                                     \
                  " return " #f "((double)gi_a, gi_n); }\n"}
#define TWO(f)                                                                                     \
    {#f, IF_BOTH "gi_R " #f "(gi_A gi_a, gi_B gi_b) { return " #f "((gi_R)gi_a, (gi_R)gi_b); }\n"}
#define THREE(f)                                                                                   \
    {#f, IF_THREE "gi_R " #f "(gi_A gi_a, gi_B gi_b, gi_C gi_c) {"                                 \
                  " return " #f "((gi_R)gi_a, (gi_R)gi_b, (gi_R)gi_c); }\n"}

static const struct {
    const char *name, *text;
} overloads[] = {
    ONE(double, fabs), ONE(double, acos), ONE(double, asin), ONE(double, atan), ONE(double, acosh),
    ONE(double, asinh), ONE(double, atanh), ONE(double, cbrt), ONE(double, ceil), ONE(double, cos),
    ONE(double, cosh), ONE(double, erf), ONE(double, erfc), ONE(double, exp), ONE(double, exp2),
    ONE(double, expm1), ONE(double, floor), ONE(double, lgamma), ONE(double, log),
    ONE(double, log10), ONE(double, log1p), ONE(double, log2), ONE(double, logb),
    ONE(double, nearbyint), ONE(double, rint), ONE(double, round), ONE(double, sin),
    ONE(double, sinh), ONE(double, sqrt), ONE(double, tan), ONE(double, tanh), ONE(double, tgamma),
    ONE(double, trunc), ONE(int, ilogb), ONE(long, lrint), ONE(long, lround),
    ONE(long long, llrint), ONE(long long, llround), ONE(bool, isfinite), ONE(bool, isinf),
    ONE(bool, isnan), ONE(bool, signbit), WITH(int *, frexp), WITH(int, ldexp), WITH(int, scalbn),
    WITH(long, scalbln), TWO(atan2), TWO(copysign), TWO(fdim), TWO(fmax), TWO(fmin), TWO(fmod),
    TWO(hypot), TWO(nextafter), TWO(remainder), THREE(fma),
    {"pow", INLINE "float gilua_pow(float gi_a, float gi_b) { return pow(gi_a, gi_b); }\n"
            INLINE "double gilua_pow(double gi_a, double gi_b) { return pow(gi_a, gi_b); }\n"
            IF_BOTH "gi_R gilua_pow(gi_A gi_a, gi_B gi_b) { return pow((gi_R)gi_a, (gi_R)gi_b); }\n"
            "#ifndef pow\n#define pow gilua_pow\n#endif\n"},
};
/* clang-format on */

enum { N_OVERLOADS = sizeof overloads / sizeof overloads[0] };
_Static_assert(sizeof overloads / sizeof overloads[0] <= OVERLOADS_MOST, "flags");

/* Compares first letters first: a long text has many words. */
static void note_word(const char *word, size_t len, bool *wanted) {
    for (int i = 0; i < N_OVERLOADS; i++)
        if (overloads[i].name[0] == word[0] && strncmp(overloads[i].name, word, len) == 0 &&
            overloads[i].name[len] == '\0')
            wanted[i] = true;
}

void overloads_note(const char *text, bool *wanted) {
    while (*text) {
        const char *word = text;
        while (gi_is_letter(*text)) text++;
        const size_t len = (size_t)(text - word);
        if (len == strlen("include") && memcmp(word, "include", len) == 0)
            for (int i = 0; i < N_OVERLOADS; i++) wanted[i] = true;
        if (len) note_word(word, len, wanted);
        else text++;
    }
}

void overloads_write(const bool *wanted, gi_buf *out) {
    gi_buf functions = {0};
    for (int i = 0; i < N_OVERLOADS; i++)
        if (wanted[i]) gi_buf_adds(&functions, overloads[i].text);
    if (functions.len)
        gi_buf_addf(out, "#if __cplusplus >= 201103L\n%s%s#endif\n", types, functions.data);
    gi_buf_adds(out, "");
    gi_buf_free(&functions);
}
