/* compile_split.c - taking apart the PTX of several units takes memory in proportion to the PTX. */
#include "compile/split.h"

#include <string.h>
#include <sys/resource.h>

#include "tap.h"

static gi_buf unit[2];

/* The module of unit 0, of text in which both units have a kernel and a file. */
static const char *split(const char *number) {
    gi_buf *const out[2] = {&unit[0], &unit[1]};
    gi_buf text = {0};
    gi_buf_adds(&text, ".version 8.0\n.target sm_80\n.address_size 64\n");
    gi_buf_addf(&text, ".file %s \"kernel__gilua0000.cu\"\n", number);
    gi_buf_adds(&text, ".file 1 \"kernel__gilua0001.cu\"\n");
    gi_buf_addf(&text, ".visible .entry k__gilua0000()\n{\n.loc %s 7 1\nret;\n}\n", number);
    gi_buf_adds(&text, ".visible .entry k__gilua0001()\n{\n.loc 1 8 1\nret;\n}\n");
    for (int i = 0; i < 2; i++) gi_buf_clear(&unit[i]);
    split_ptx(text.data, text.len, 2, out);
    gi_buf_free(&text);
    return unit[0].data;
}

int main(void) {
    const struct rlimit small = {64 << 20, 64 << 20};
    has_str(split("2"), ".loc 1 7 1", "a line of a file");
    has_str(split("99999"), ".loc 1 7 1", "of one with a large number");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    setrlimit(RLIMIT_AS, &small);
#else
    (void)small;
#endif
    const char *text = split("99999999");
    has_str(text, "ret;", "a number that no compiler gives takes no memory");
    ok(strstr(text, ".loc") == NULL, "and its lines are left out");
    for (int i = 0; i < 2; i++) gi_buf_free(&unit[i]);
    return tap_done();
}
