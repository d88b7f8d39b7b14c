/* compile_log.c - a target for src/compile/log.c: whatever NVRTC's log says (it repeats the
** stranger's lines), it is taken apart without a loss of order, into messages of one line each. */
#include "compile/log.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static void blocks(const char *log) {
    LogBlock b;
    for (const char *at = log; log_next(&at, &b);) {
        if (b.start < log || b.end < b.start || at < b.end || b.text < b.start || b.text > b.end)
            abort();
        char *words = log_text(&b);
        if (words == NULL || strchr(words, '\n')) abort();
        free(words);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CompileResult r = {0};
    char *log = gi_alloc(size + 1);
    if (size) memcpy(log, data, size);
    log[size] = '\0';
    blocks(log);
    log_messages(log, "kernel.cu", &r);
    for (int i = 0; i < r.n_messages; i++)
        if (r.messages[i].text == NULL || strchr(r.messages[i].text, '\n')) abort();
    compile_result_free(&r);
    free(log);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char log[] =
        "kernel.cu(12): error: expected a \";\"\n    x = 1\n         ^\n\n"
        "kernel.cu(3): warning #177-D: variable \"y\" was declared but never\n"
        "          referenced\n      int y;\n          ^\n\nRemark: The warnings can be "
        "suppressed\n"
        "header.h(7): error: identifier \"T\" is undefined\n          detected during:\n"
        "            instantiation of \"f\" at line 3 of kernel.cu\n\n"
        "ptxas error   : Entry function 'k' uses too much shared data (0x19000 bytes)\n"
        "catastrophic error: cannot open source file \"x\"\n1 error detected in the compilation\n";
    static const char bare[] = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
    add(log, sizeof log - 1);
    add(bare, sizeof bare - 1);
}
