/* image_picture.c - a libFuzzer target for src/image: any bytes are a PGM or PNG picture, or
** refused in one sentence; what was read survives writing.
**
**   clang -g -O1 -std=c11 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined \
**       tests/fuzz/image_picture.c src/image/[bp]*.c src/array/[a-z]*.c src/base/base.c \
**       -lpng16 -lz -lm -o image_fuzz && ./image_fuzz corpus/
**
** with a folder of small PGM and PNG files as the corpus. tests/c/image_pgm.c and image_png.c are
** its short relatives.
*/
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool encode(int how, const Picture *p, gi_buf *out, gi_err *err) {
    const PictureOptions options = {.maxval = p->maxval, .plain = how == 1};
    return how == 2 ? png_encode(p->pixels, out, err) : pgm_encode(p->pixels, &options, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_err err = {0};
    Picture p, copy;
    if (!picture_decode(data, size, "it", 0, &p, &err)) {
        if (err.message[0] == '\0' || strchr(err.message, '\n')) abort();
        return 0;
    }
    for (int how = 0; how < 3 && p.pixels->count < 100000; how++) {
        gi_buf bytes = {0};
        if (!encode(how, &p, &bytes, &err)) abort();
        if (!picture_decode(bytes.data, bytes.len, "copy", 0, &copy, &err)) abort();
        if (memcmp(copy.pixels->data, p.pixels->data, p.pixels->size_bytes) != 0) abort();
        picture_release(&copy);
        gi_buf_free(&bytes);
    }
    picture_release(&p);
    return 0;
}
