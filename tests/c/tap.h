/* tap.h - the test protocol prove reads, in one header. A test file: include, call ok()/is_*(),
** return tap_done(). A failed check prints file, line and what was seen. */
#ifndef GILUA_TAP_H
#define GILUA_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static bool
tap_check(bool pass, const char *file, int line, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    if (!pass) {
        tap_failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
    return pass;
}

/* ok(condition, "what it shows: %d", ...) */
#define ok(cond, ...) tap_check((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, what)                                                               \
    do {                                                                                      \
        int64_t g_ = (int64_t)(got), w_ = (int64_t)(want);                                    \
        if (!ok(g_ == w_, "%s", what)) printf("# got %" PRId64 ", want %" PRId64 "\n", g_, w_); \
    } while (0)
#define is_str(got, want, what)                                                             \
    do {                                                                                    \
        const char *g_ = (got), *w_ = (want);                                               \
        if (!ok(g_ && strcmp(g_, w_) == 0, "%s", what))                                     \
            printf("# got  %s\n# want %s\n", g_ ? g_ : "(null)", w_);                       \
    } while (0)
#define has_str(text, part, what)                                                           \
    do {                                                                                    \
        const char *t_ = (text), *p_ = (part);                                              \
        if (!ok(t_ && strstr(t_, p_), "%s", what))                                          \
            printf("# no '%s' in\n# %s\n", p_, t_ ? t_ : "(null)");                         \
    } while (0)

__attribute__((unused)) static int tap_done(void) {
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
