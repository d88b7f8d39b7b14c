/* source_random.c - random texts of the words of C++: every node lies within its parent, has its
** tokens and, where it is unknown, a reason. Then what is nested or chained without a bound.
** Argument: seed. */
#include "source_hold.h"

#include "tap.h"

static const char *const words[] = {"(",
                                    ")",
                                    "[",
                                    "]",
                                    "{",
                                    "}",
                                    "<<<",
                                    ">>>",
                                    ">>",
                                    "<",
                                    ">",
                                    "::",
                                    ",",
                                    ";",
                                    ";",
                                    "x",
                                    "y",
                                    "f",
                                    "T",
                                    "1",
                                    "0.5f",
                                    "\"s\"",
                                    "'c'",
                                    "=",
                                    "==",
                                    "+",
                                    "-",
                                    "*",
                                    "&",
                                    "&&",
                                    "++",
                                    "?",
                                    ":",
                                    ".",
                                    "->",
                                    "int",
                                    "float",
                                    "auto",
                                    "const",
                                    "unsigned",
                                    "struct",
                                    "enum",
                                    "template",
                                    "typename",
                                    "class",
                                    "typedef",
                                    "using",
                                    "namespace",
                                    "operator",
                                    "extern",
                                    "alignas(8)",
                                    "[[maybe_unused]]",
                                    "__attribute__((x))",
                                    "__global__",
                                    "__device__",
                                    "__shared__",
                                    "if",
                                    "else",
                                    "for",
                                    "while",
                                    "do",
                                    "switch",
                                    "case",
                                    "default",
                                    "return",
                                    "break",
                                    "sizeof",
                                    "static_cast",
                                    "decltype",
                                    "auto [x, y] =",
                                    "void k(int n) {",
                                    "for (int i = 0; i < n; i++)",
                                    "[&](int a) {",
                                    "\n#if 1\n",
                                    "\n#else\n",
                                    "\n#endif\n",
                                    "...",
                                    "mutable",
                                    "new",
                                    "asm",
                                    "public",
                                    "~",
                                    "!",
                                    "%"};

static int random_text(gi_rng *rng, gi_buf *out) {
    int n = (int)gi_rng_below(rng, 60);
    for (int i = 0; i < n; i++) {
        gi_buf_adds(out, words[gi_rng_below(rng, sizeof words / sizeof *words)]);
        gi_buf_adds(out, " ");
    }
    return (int)out->len;
}

static void random_texts(uint64_t seed, int n) {
    gi_rng rng;
    int bad = 0;
    gi_rng_seed(&rng, seed);
    printf("# seed %" PRIu64 "\n", seed);
    for (int i = 0; i < n; i++) {
        gi_buf text = {0};
        int size = random_text(&rng, &text);
        char *own = malloc(size ? (size_t)size : 1); /* without a byte behind it */
        if (size) memcpy(own, text.data, (size_t)size);
        const char *trouble = source_trouble(own, size);
        if (trouble && bad++ < 3) printf("# text %d: %s:\n# %s\n", i, trouble, text.data);
        free(own);
        gi_buf_free(&text);
    }
    ok(bad == 0, "%d random texts", n);
}

/* A text that says one thing n times, between others. */
static void many(const char *before, const char *one, const char *after, int n) {
    gi_buf text = {0};
    gi_buf_adds(&text, before);
    for (int i = 0; i < n; i++) gi_buf_adds(&text, one);
    gi_buf_adds(&text, after);
    const char *trouble = source_trouble(text.data, (int)text.len);
    ok(trouble == NULL, "%d times `%s`%s%s", n, one, trouble ? ": " : "", trouble ? trouble : "");
    gi_buf_free(&text);
}

/* The reason why the first function of a text has no body, or the first unknown statement's. */
static const char *reason(const Source *s) {
    for (int i = 0; i < s->n_node; i++)
        if (s->node[i].why) return s->node[i].why;
    return "";
}

static void nested(const char *open, const char *close, const char *why) {
    gi_buf text = {0};
    gi_buf_adds(&text, "void f() { x = ");
    for (int i = 0; i < 300; i++) gi_buf_adds(&text, open);
    gi_buf_adds(&text, "1");
    for (int i = 0; i < 300; i++) gi_buf_adds(&text, close);
    gi_buf_adds(&text, "; }");
    Source s;
    source_read(text.data, (int)text.len, &s);
    is_str(reason(&s), why, open);
    source_free(&s);
    gi_buf_free(&text);
}

int main(int argc, char **argv) {
    random_texts(argc > 1 ? strtoull(argv[1], NULL, 10) : 4711, 10000);
    many("int x = 1", " + 1", ";", 100000);
    many("void f() { ", "g(1); ", "}", 50000);
    many("void f() { ", "{ ", "", 50000);
    many("", "namespace a { ", "", 50000);
    many("void f() { ", "if (x) ", ";}", 50000);
    many("", "template <", "", 50000);
    many("x = ", "f(", "", 50000);
    many("x = ", "a < ", "b;", 50000);
    nested("(", ")", "an expression that is nested too deeply");
    nested("T{", "}", "braces behind a name that is no known type");
    nested("int{", "}", "an expression that is nested too deeply");
    nested("- ", "", "an expression that is nested too deeply");
    return tap_done();
}
