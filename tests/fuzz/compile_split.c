/* compile_split.c - a target for src/compile/split.c: whatever PTX a call of NVRTC gave for several
** units (names and strings in it are a stranger's), it is taken apart without a fault. A unit's
** module does not change when it is taken apart again. */
#include "compile/split.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { UNITS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_buf unit[UNITS] = {{0}}, untagged = {0};
    gi_buf *const out[UNITS] = {&unit[0], &unit[1], &unit[2]};
    char *text = gi_alloc(size + 1);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    split_untag(text, size, &untagged);
    split_ptx(text, strlen(text), UNITS, out);
    for (int i = 0; i < UNITS; i++) gi_buf_free(&unit[i]);
    gi_buf_free(&untagged);
    free(text);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char two[] =
        "// made by hand\n.version 8.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n"
        ".global .align 1 .b8 $str[4] = {104, 105, 10, 0};\n"
        ".const .align 4 .b8 table__gilua0000[16];\n.const .align 4 .b8 table__gilua0001[16];\n"
        ".visible .entry k__gilua0000(\n.param .u64 k__gilua0000_param_0\n)\n{\n"
        ".local .align 8 .b8 __local_depot0[8];\n.reg .pred %p<2>;\n.reg .b64 %rd<3>;\n"
        ".loc 1 3 5\n$L__BB0_1:\nmov.u64 %rd1, $str;\nmov.u64 %rd2, table__gilua0000;\n"
        "@%p1 bra $L__BB0_1;\nprototype_0 : .callprototype ()_ (.param .b64 _);\nret;\n}\n"
        ".visible .entry k__gilua0001(\n.param .u64 k__gilua0001_param_0\n)\n{\n"
        ".loc 2 4 1, function_name $L__info_string0, inlined_at 3 9 9\n"
        "$L__BB1_1:\nmov.u64 %rd1, $str;\n$L_brx_0: .branchtargets $L__BB1_1;\nret;\n}\n"
        ".file 1 \"kernel__gilua0000.cu\"\n.file 2 \"x.h\"\n.file 3 \"kernel__gilua0001.cu\"\n"
        ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,0\n}\n";
    add(two, sizeof two - 1);
}
