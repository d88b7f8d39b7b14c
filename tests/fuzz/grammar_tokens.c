/* grammar_tokens.c - a target for source_tokens: any bytes are tokens, in order, each on its line,
** brackets in pairs that do not cross. tests/c/grammar_tokens.c is its short, seeded relative. */
#include "../c/grammar_kernel.h"
#include "../c/grammar_tokens_hold.h"

#include "fuzz.h"

void fuzz_seeds(FuzzAdd *add) {
    static const char more[] = "R\"a(x)a\" '\\'' 0x1p-3 1'000 u8\"s\" \\\n // c \\\n d\n"
                               "/* e */ #if 0\n<<< >>>";
    add(kernel_text, strlen(kernel_text));
    add(more, strlen(more));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); /* its own, so that a byte beyond is seen */
    if (size) memcpy(text, data, size);
    if (tokens_trouble(text, (int)size)) abort();
    free(text);
    return 0;
}
