/* emu_format.c - a target for src/emu/format.c: any format, a zero byte, any bytes of arguments.
** tests/c/emu_format.c is its short relative. */
#include "emu/format.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_TEXT = 1 << 22 };

static const char *string(void *user, uint64_t address) {
    (void)user;
    return address % 3 == 0 ? NULL : address % 3 == 1 ? "text" : "";
}

/* Does a conversion of it want more bytes than a fuzzer should wait for? */
static bool is_wide(const char *format) {
    for (; *format; format++)
        if (strspn(format, "0123456789") > 4) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_buf out = {0};
    char *format = gi_alloc(size + 1);
    if (size) memcpy(format, data, size);
    format[size] = '\0';
    size_t len = strlen(format), n = len < size ? size - len - 1 : 0;
    uint8_t *args = malloc(n ? n : 1);
    if (n) memcpy(args, data + len + 1, n);
    int count = format_print(NULL, format, args, n, string, NULL);
    if (!is_wide(format)) {
        if (format_print(&out, format, args, n, string, NULL) != count) abort();
        if (out.len > MOST_TEXT) abort();
    }
    gi_buf_free(&out);
    free(args);
    free(format);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char all[] = "%d %5.3f %s %-08lld %#x %c %%%p %e %+g %*d %hhu %zu\n\0"
                              "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0?\1\0\0\0\0\0\0\0abcdefgh12345678";
    add(all, sizeof all - 1);
}
