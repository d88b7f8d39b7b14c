/* source_read.c - a target for source_read: any bytes make a tree whose nodes lie within their
** parents. tests/c/source_random.c is its short, seeded relative. */
#include "../c/grammar_kernel.h"
#include "../c/source_hold.h"

#include <stdio.h>

#include "fuzz.h"

void fuzz_seeds(FuzzAdd *add) {
    static const char *const more[] = {
        "template <typename T, int N> struct V { T v[N]; T sum() const { return v[0]; } };\n"
        "__constant__ float taps[4] = {1, 2};\nnamespace a::b { using R = float; }\n",
        "void f() { auto [x, y] = g<1, 2>(z); auto h = [&](int i) -> int { return i + x; };\n"
        "k<A<B>><<<g, 32>>>(p); for (auto &q : list) q = T(0.5); alignas(16) float t[4]; }\n",
        "void f() { switch (int c = g(); c) { case 1: [[fallthrough]]; default: break; }\n"
        "do { if constexpr (N > 1) x = (const float *)p; else y--; } while (a ? b : c); }\n"};
    add(kernel_text, strlen(kernel_text));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) add(more[i], strlen(more[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); /* its own, so that a byte beyond is seen */
    if (size) memcpy(text, data, size);
    const char *trouble = source_trouble(text, (int)size);
    if (trouble) {
        fprintf(stderr, "source_read: %s\n", trouble);
        abort();
    }
    free(text);
    return 0;
}
