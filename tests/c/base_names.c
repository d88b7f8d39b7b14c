/* Names of C and of CUDA. */
#include "base/base.h"
#include "tap.h"

static void test_vector_types(void) {
    static const char *const are[] = {"float4", "uchar2", "longlong3", "ulonglong1", "double2",
                                      "int1",   "ulong4"};
    static const char *const are_not[] = {"",     "4",       "float",   "float5", "float0",
                                          "u4",   "ufloat2", "bfloat4", "nt4",    "float44",
                                          "dim3", "half2",   "Float4",  "int_4"};
    for (size_t i = 0; i < sizeof are / sizeof *are; i++)
        ok(gi_is_vector_type(are[i]), "%s is a vector", are[i]);
    for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
        ok(!gi_is_vector_type(are_not[i]), "'%s' is none", are_not[i]);
}

static void test_letters(void) {
    const char *letters = "azAZ09_", *others = " -.$\n\0";
    for (int i = 0; letters[i]; i++) ok(gi_is_letter(letters[i]), "'%c' is a letter", letters[i]);
    for (int i = 0; i < 6; i++) ok(!gi_is_letter(others[i]), "%d is none", others[i]);
}

int main(void) {
    test_vector_types();
    test_letters();
    return tap_done();
}
