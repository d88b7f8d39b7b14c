/* picture.c - PGM and PNG files: which of the two it is, reading and writing the bytes. */
#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool picture_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes,
                    Picture *out, gi_err *err) {
    const unsigned char *b = bytes;
    if (len == 0) return gi_fail(err, "format", "%s is empty: not a picture", name);
    if (len >= 4 && memcmp(b, "\211PNG", 4) == 0)
        return png_decode(bytes, len, name, max_bytes, out, err);
    if (len >= 2 && b[0] == 'P' && b[1] >= '1' && b[1] <= '7')
        return pgm_decode(bytes, len, name, max_bytes, out, err);
    return gi_fail(err, "format", "%s is neither a PGM nor a PNG file", name);
}

bool picture_read(const char *path, uint64_t max_bytes, Picture *out, gi_err *err) {
    gi_buf bytes = {0};
    uint64_t size;
    if (!image_file_size(path, &size, err) ||
        !image_fits(path, (double)size, (double)size, max_bytes, err))
        return false;
    const bool done = gi_read_file(path, &bytes, err) &&
                      picture_decode(bytes.data, bytes.len, path, max_bytes, out, err);
    gi_buf_free(&bytes);
    return done;
}

void picture_release(Picture *picture) {
    array_unref(picture->pixels);
    picture->pixels = NULL;
}

static bool ends_with(const char *path, const char *suffix) {
    const size_t n = strlen(path), k = strlen(suffix);
    return n > k && strcmp(path + n - k, suffix) == 0;
}

/* A half-written file is removed: nothing is better than a damaged picture. */
static bool write_bytes(const char *path, const gi_buf *bytes, gi_err *err) {
    FILE *f = fopen(path, "wb");
    if (!f) return gi_fail(err, "io", "cannot write %s: %s", path, strerror(errno));
    const bool written = fwrite(bytes->data, 1, bytes->len, f) == bytes->len;
    const int why = errno;
    if (fclose(f) == 0 && written) return true;
    const int reason = written ? errno : why;
    remove(path);
    return gi_fail(err, "io", "cannot write all of %s: %s", path, gi_reason(reason));
}

bool picture_write(const char *path, const Array *pixels, const PictureOptions *options,
                   gi_err *err) {
    gi_buf bytes = {0};
    bool done;
    if (ends_with(path, ".png")) done = png_encode(pixels, &bytes, err);
    else if (ends_with(path, ".pgm")) done = pgm_encode(pixels, options, &bytes, err);
    else return gi_fail(err, "usage", "%s: the name of a picture must end in .png or .pgm", path);
    done = done && write_bytes(path, &bytes, err);
    gi_buf_free(&bytes);
    return done;
}
