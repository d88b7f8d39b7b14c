/* emu_format.c - device printf against the C library's, and with arguments nobody should trust. */
#include "emu/format.h"

#include <stdlib.h>

#include "tap.h"

/* The argument buffer a kernel fills: natural alignment, float as double. */
typedef struct Pack {
    unsigned char bytes[256];
    size_t len;
} Pack;

static void pack(Pack *p, const void *value, size_t size) {
    p->len = (p->len + size - 1) / size * size;
    memcpy(p->bytes + p->len, value, size);
    p->len += size;
}

static void pack_i32(Pack *p, int32_t v) {
    pack(p, &v, 4);
}
static void pack_i64(Pack *p, int64_t v) {
    pack(p, &v, 8);
}
static void pack_f64(Pack *p, double v) {
    pack(p, &v, 8);
}

static const char *string_at(void *user, uint64_t address) {
    return address == 0x1000 ? (const char *)user : NULL;
}

static char text[20000];
static int returned;

static const char *format(const char *fmt, const Pack *p) {
    gi_buf out = {0};
    char words[] = "words";
    returned = format_print(&out, fmt, p->bytes, p->len, string_at, words);
    snprintf(text, sizeof text, "%s", out.len ? out.data : "");
    if (format_print(NULL, fmt, p->bytes, p->len, string_at, words) != returned)
        snprintf(text, sizeof text, "not counted as printed"); /* where nobody reads it */
    gi_buf_free(&out);
    return text;
}

static const char *const flag_sets[] = {"", "-", "+", " ", "0", "#", "-+", "#0", "+0", "- #"};
static const char *const sizes[] = {"", "3", "12", ".0", ".5", "9.3", "12."};

/* Builds "%<flags><size><tail>". */
static void make_spec(char spec[32], size_t flags, size_t size, const char *tail) {
    snprintf(spec, 32, "<%%%s%s%s>", flag_sets[flags], sizes[size], tail);
}

#define EACH_SPEC(f, s)                                                                            \
    for (size_t f = 0; f < sizeof flag_sets / sizeof *flag_sets; f++)                              \
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)

static void test_integers(void) {
    static const int64_t values[] = {0,   1,     -1,        42,        -128,
                                     255, 65535, INT32_MAX, INT32_MIN, INT64_MIN};
    static const char *const tails[] = {"d", "i", "u", "x", "X", "o", "hd", "hhd", "hu", "hhx"};
    static const char *const long_tails[] = {"ld", "lld", "lu", "llx", "zu", "jd"};
    int wrong = 0;
    char spec[32], want[256];
    for (size_t v = 0; v < 10; v++) EACH_SPEC(f, s) {
            for (size_t k = 0; k < 10; k++) {
                Pack p = {.len = 0};
                pack_i32(&p, (int32_t)values[v]);
                make_spec(spec, f, s, tails[k]);
                snprintf(want, sizeof want, spec, (int32_t)values[v]);
                wrong += strcmp(format(spec, &p), want) != 0;
            }
            for (size_t k = 0; k < 6; k++) {
                Pack p = {.len = 0};
                pack_i64(&p, values[v]);
                make_spec(spec, f, s, long_tails[k]);
                snprintf(want, sizeof want, spec, values[v]);
                wrong += strcmp(format(spec, &p), want) != 0;
            }
        }
    ok(wrong == 0, "integers in every flag, width and size as the C library: %d wrong", wrong);
}

static void test_floats(void) {
    static const double values[] = {0,     -0.0,   1,         -1.5, 3.14159265358979,
                                    1e300, 1e-300, 123456789, 0.1};
    static const char *const tails[] = {"f", "F", "e", "E", "g", "G", "a", "A"};
    int wrong = 0;
    char spec[32], want[512];
    for (size_t v = 0; v < 9; v++) EACH_SPEC(f, s)
    for (size_t k = 0; k < 8; k++) {
        Pack p = {.len = 0};
        pack_f64(&p, values[v]);
        make_spec(spec, f, s, tails[k]);
        snprintf(want, sizeof want, spec, values[v]);
        wrong += strcmp(format(spec, &p), want) != 0;
    }
    ok(wrong == 0, "floats in every flag, width and size as the C library: %d wrong", wrong);
}

static void test_mixed(void) {
    Pack p = {.len = 0};
    pack_i32(&p, 7);
    pack_f64(&p, 2.5);
    pack_i32(&p, 'x');
    pack_i64(&p, 0x1000);
    pack_i64(&p, 0xabc);
    is_str(format("%d %.2f %c '%s' %p 100%%\n", &p), "7 2.50 x 'words' 0xabc 100%\n",
           "arguments at their natural alignment");
    is_int(returned, 5, "the result counts arguments");
    is_str(format("plain", &(Pack){.len = 0}), "plain", "no conversion");
    is_int(returned, 0, "… and no argument");
}

static void test_stars(void) {
    Pack p = {.len = 0};
    pack_i32(&p, 8);
    pack_i32(&p, 2);
    pack_f64(&p, 3.14159);
    is_str(format("[%*.*f]", &p), "[    3.14]", "width and precision from arguments");
    p = (Pack){.len = 0};
    pack_i32(&p, -6);
    pack_i32(&p, 42);
    is_str(format("[%*d]", &p), "[42    ]", "a negative width aligns left");
    p = (Pack){.len = 0};
    pack_i32(&p, -1);
    pack_f64(&p, 0.5);
    is_str(format("[%.*f]", &p), "[0.500000]", "a negative precision is none");
}

static void test_strings(void) {
    Pack p = {.len = 0};
    pack_i64(&p, 0x1000);
    is_str(format("[%8s]", &p), "[   words]", "a string in a width");
    is_str(format("[%-8.3s]", &p), "[wor     ]", "… cut by its precision");
    p = (Pack){.len = 0};
    pack_i64(&p, 0x2000);
    is_str(format("%s", &p), "(bad address)", "an unreadable string");
    p = (Pack){.len = 0};
    pack_i64(&p, 0);
    is_str(format("%s %p", &p), "(null) %p", "a null string, then an argument that is missing");
    ok(returned < 0, "… which the result tells");
    is_str(format("[%7p]", &p), "[  (nil)]", "a null pointer");
    p = (Pack){.len = 0};
    pack_i32(&p, 'c');
    is_str(format("[%3c][%%]", &p), "[  c][%]", "a character in a width");
}

static void test_bad_formats(void) {
    Pack p = {.len = 0};
    pack_i32(&p, 1);
    is_str(format("%q %d", &p), "%q 1", "an unknown conversion stays, the rest goes on");
    ok(returned < 0, "… and the result is negative");
    is_str(format("%n", &p), "%n", "%n writes nothing");
    is_str(format("%d %d", &p), "1 %d", "a missing argument");
    is_str(format("%lld", &p), "%lld", "an argument cut short");
    is_str(format("%", &p), "%", "a lone % at the end");
    is_str(format("%-08.3", &p), "%-08.3", "… or a conversion without its letter");
    is_str(format("%*d", &p), "%*d", "a width but no value");
    is_int(strlen(format("%999999999999d", &p)), 4096, "widths are bounded");
    is_int(strlen(format("%.2147483648d", &p)), 4096, "precisions are bounded");
    p = (Pack){.len = 0};
    pack_i32(&p, INT32_MIN);
    pack_i32(&p, 1);
    is_int(strlen(format("%*d", &p)), 4096, "the smallest width too");
    char many[200] = "";
    p = (Pack){.len = 0};
    for (int i = 0; i < 40; i++) {
        strcat(many, "%d");
        pack_i32(&p, 1);
    }
    format(many, &p);
    ok(returned < 0 && strncmp(text, "11111111111111111111111111111111%d", 34) == 0,
       "at most 32 arguments");
}

/* Any text with any bytes as arguments: only ends, and stays in bounds (run under ASan). */
static void test_random(void) {
    static const char letters[] = "%%%%%*.0123456789-+ #hlzjtdiuxXocspeEfFgGaAn!";
    gi_rng rng;
    gi_rng_seed(&rng, 5);
    bool sane = true;
    for (int i = 0; i < 20000; i++) {
        char fmt[40];
        Pack p = {.len = gi_rng_below(&rng, 65)};
        size_t n = gi_rng_below(&rng, sizeof fmt);
        for (size_t k = 0; k < n; k++) fmt[k] = letters[gi_rng_below(&rng, sizeof letters - 1)];
        fmt[n] = '\0';
        for (size_t k = 0; k < p.len; k++) p.bytes[k] = (unsigned char)gi_rng_next(&rng);
        format(fmt, &p);
        sane = sane && returned <= 32;
    }
    ok(sane, "20000 random formats (seed 5) end well");
}

int main(void) {
    test_integers();
    test_floats();
    test_mixed();
    test_stars();
    test_strings();
    test_bad_formats();
    test_random();
    return tap_done();
}
