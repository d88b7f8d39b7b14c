/* runtime_fatbin.c - a libFuzzer target for src/runtime/fatbin.c: any bytes are refused or are PTX.
**
**   clang -g -O1 -std=c11 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined \
**       tests/fuzz/runtime_fatbin.c src/runtime/fatbin.c src/base/base.c -lzstd -llz4 -lm \
**       -o fat_fuzz && ./fat_fuzz corpus/
**
** with sections of programs as the corpus: objcopy -O binary -j .nv_fatbin APP FILE.
** tests/c/runtime_fatbin.c is its short, seeded relative. */
#include "runtime/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_buf out = {0};
    fatbin_ptx(data, size, 90, &out, NULL);
    gi_buf_free(&out);
    return 0;
}
