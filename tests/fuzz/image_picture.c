/* image_picture.c - a target for src/image: any bytes are a PGM or PNG picture, or refused in one
** sentence; what was read survives writing. tests/c/image_pgm.c and image_png.c are its short
** relatives. */
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

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

void fuzz_seeds(FuzzAdd *add) {
    const int64_t shape[] = {5, 7};
    for (int wide = 0; wide < 2; wide++) {
        gi_err err;
        Picture p = {.pixels = array_new(wide ? ARRAY_U16 : ARRAY_U8, 2, shape, NULL),
                     .maxval = wide ? 65535 : 255};
        for (int64_t i = 0; i < p.pixels->count; i++) array_set(p.pixels, i, (double)(i * 7));
        for (int how = 0; how < 3; how++) {
            gi_buf bytes = {0};
            if (!encode(how, &p, &bytes, &err)) abort();
            add(bytes.data, bytes.len);
            gi_buf_free(&bytes);
        }
        picture_release(&p);
    }
}
