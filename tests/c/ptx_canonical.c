/* ptx_canonical.c - equal code has equal text, and different code has not. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

static gi_buf canonical(const char *text) {
    gi_buf out = {0};
    ptx_canonical(text, strlen(text), &out);
    return out;
}

static bool equal(const char *a, const char *b) {
    gi_buf x = canonical(a), y = canonical(b);
    bool same = strcmp(x.data, y.data) == 0;
    gi_buf_free(&x);
    gi_buf_free(&y);
    return same;
}

static void test_kept(void) {
    gi_buf c = canonical(ptx_sample), again = canonical(c.data);
    gi_err err = {.code = ""};
    is_str(again.data, c.data, "a canonical text is its own");
    PtxModule *m = ptx_parse(c.data, c.len, &err);
    ok(m != NULL, "and still PTX: %s", err.message);
    ok(!strstr(c.data, "//") && !strstr(c.data, ".loc ") && !strstr(c.data, ".file") &&
           !strstr(c.data, ".section") && !strstr(c.data, "\n\n"),
       "without what only people read");
    ptx_free(m);
    gi_buf_free(&c);
    gi_buf_free(&again);
}

int main(void) {
    test_kept();
    ok(equal("add.s32 \t%r1,  %r2;\n\n", "  add.s32 %r1, %r2; // sum"), "blanks and comments");
    ok(!equal("add.s32 %r1, %r2;", "add.s32 %r1, %r3;"), "registers matter");
    ok(!equal("add.s32 %r1", "add.s32%r1"), "a blank is not nothing");
    ok(equal("@%p1 bra $L__BB4_12;\n$L__BB4_12:", "@%p1 bra $L__BB0_12;\n$L__BB0_12:"),
       "label numbers");
    ok(!equal("bra $L__BB4_12;", "bra $L__BB4_1;"), "which label matters");
    ok(equal("mov.u64 %SPL, __local_depot8;", "mov.u64 %SPL, __local_depot11;"), "stack frames");
    ok(equal(".func f\nprototype_7 : x; prototype_9 : y;",
             ".func f\nprototype_3 : x; prototype_5 : y;"),
       "prototypes count from the function's first");
    ok(!equal(".func f\nprototype_7 : x; prototype_8 : y; call prototype_7;",
              ".func f\nprototype_7 : x; prototype_8 : y; call prototype_8;"),
       "which prototype matters");
    ok(equal(".func f\nprototype_7 : x;\n.func g\nprototype_8 : x;",
             ".func f\nprototype_7 : x;\n.func g\nprototype_20 : x;"),
       "in each function anew");
    ok(equal("\t.loc 1 2 3\nret;", "\t.loc 1 9 3, function_name f, inlined_at 1 2 3\nret;"),
       "source lines");
    ok(equal("$L__tmp3:\nret;\n$L__func_end0:\n", "ret;"), "labels for debuggers");
    ok(equal("ret;\n.section .debug_str\n{\n.b8 1,2\n\n\t}\n", "ret;\n"), "debug sections");
    ok(!equal(".pragma \"a  b\";", ".pragma \"a b\";"), "strings are left alone");
    ok(equal("", "  // nothing\n"), "nothing");
    gi_buf out = {0};
    gi_buf_adds(&out, "before\n");
    ptx_canonical("ret;", 4, &out);
    is_str(out.data, "before\nret;\n", "the text is appended");
    gi_buf_free(&out);
    return tap_done();
}
