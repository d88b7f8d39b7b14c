/* grammar_tokens.c - a libFuzzer target for grammar_tokens: any bytes are tokens, in order, each on
** its line, brackets in pairs that do not cross.
**
**   clang -g -O1 -std=c11 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined \
**       tests/fuzz/grammar_tokens.c src/grammar/[a-z]*.c src/base/base.c -lm -o tokens_fuzz \
**       && ./tokens_fuzz tests/own/
**
** tests/c/grammar_tokens.c is its short, seeded relative. */
#include "../c/grammar_tokens_hold.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); /* its own, so that a byte beyond is seen */
    if (size) memcpy(text, data, size);
    if (tokens_trouble(text, (int)size)) abort();
    free(text);
    return 0;
}
