/* pgm.c - portable grey maps, plain (P2) and raw (P5), 8 and 16 bit.
**
** Comments run from # to the end of the line and count as white space, in the header and between
** the numbers of a plain raster, where netpbm's own programs take them too. After a raw header's
** maxval stands one white-space byte (or one comment), then the pixels, high byte first.
**
** Reference: the pgm(5) page of netpbm.
*/
#include "image/image.h"

#include <stdio.h>
#include <string.h>

typedef struct Reader {
    const unsigned char *at, *end;
    const char *name; /* of the file, for messages */
    gi_err *err;
} Reader;

static bool is_space(int c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static void skip_comment(Reader *r) {
    while (r->at < r->end && *r->at != '\n' && *r->at != '\r') r->at++;
    if (r->at < r->end) r->at++;
}

static void skip_space(Reader *r) {
    while (r->at < r->end && (is_space(*r->at) || *r->at == '#')) {
        if (*r->at == '#') skip_comment(r);
        else r->at++;
    }
}

/* The next number, from least to most; `what` is its name in messages. */
static bool read_number(Reader *r, const char *what, int64_t least, int64_t most, int64_t *out) {
    skip_space(r);
    if (r->at == r->end)
        return gi_fail(r->err, "format", "%s is truncated: it ends before its %s", r->name, what);
    if (!is_digit(*r->at))
        return gi_fail(r->err, "format",
                       "%s is damaged: its %s should be a number, byte %02x stands there", r->name,
                       what, *r->at);
    int64_t n = 0;
    for (; r->at < r->end && is_digit(*r->at); r->at++)
        if (n <= most) n = 10 * n + (*r->at - '0');
    if (n < least || n > most)
        return gi_fail(r->err, "format",
                       "%s is damaged: its %s must be from %lld to %lld and is %s%lld", r->name,
                       what, (long long)least, (long long)most, n > most ? "at least " : "",
                       (long long)n);
    *out = n;
    return true;
}

/* P5: the byte that ends the header. */
static bool end_header(Reader *r) {
    if (r->at < r->end && *r->at == '#') {
        skip_comment(r);
        return true;
    }
    if (r->at < r->end && is_space(*r->at)) {
        r->at++;
        return true;
    }
    return gi_fail(r->err, "format", "%s is %s: no white space ends its header", r->name,
                   r->at == r->end ? "truncated" : "damaged");
}

static bool read_plain(Reader *r, Array *a, int64_t maxval) {
    for (int64_t i = 0; i < a->count; i++) {
        int64_t value;
        char what[32];
        snprintf(what, sizeof what, "pixel %lld", (long long)i + 1);
        if (!read_number(r, what, 0, maxval, &value)) return false;
        array_set_int(a, i, value);
    }
    return true;
}

static bool read_raw(Reader *r, Array *a, int64_t maxval) {
    const size_t size = array_type_size(a->type);
    for (int64_t i = 0; i < a->count; i++, r->at += size) {
        const int value = size == 1 ? r->at[0] : r->at[0] << 8 | r->at[1];
        if (value > maxval)
            return gi_fail(r->err, "format",
                           "%s is damaged: its pixel %lld is %d, more than its maxval %lld",
                           r->name, (long long)i + 1, value, (long long)maxval);
        array_set_int(a, i, value);
    }
    return true;
}

/* Are there bytes enough for width * height pixels? A plain one takes a digit and a blank. */
static bool check_length(const Reader *r, bool plain, int64_t width, int64_t height, int64_t max) {
    const uint64_t count = (uint64_t)width * (uint64_t)height; /* both below 2^31 */
    const uint64_t need = plain ? 2 * count - 1 : max > 255 ? 2 * count : count;
    const size_t have = (size_t)(r->end - r->at);
    if (have >= need) return true;
    return gi_fail(r->err, "format",
                   "%s is truncated: %lld x %lld pixels need %llu bytes%s, and %zu are there",
                   r->name, (long long)width, (long long)height, (unsigned long long)need,
                   plain ? " or more" : "", have);
}

static bool read_kind(Reader *r, bool *plain) {
    const size_t len = (size_t)(r->end - r->at);
    if (len < 2 || r->at[0] != 'P' || (r->at[1] != '2' && r->at[1] != '5'))
        return gi_fail(r->err, "format",
                       "%s is no grey map: of netpbm's kinds only P2 and P5 are read%s", r->name,
                       len >= 2 && r->at[0] == 'P' ? " (pamtopnm and ppmtopgm make one)" : "");
    *plain = r->at[1] == '2';
    r->at += 2;
    if (r->at < r->end && (is_space(*r->at) || *r->at == '#')) return true;
    return gi_fail(r->err, "format", "%s is %s: no white space follows its P%c", r->name,
                   r->at == r->end ? "truncated" : "damaged", *plain ? '2' : '5');
}

bool pgm_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes, Picture *out,
                gi_err *err) {
    Reader r = {bytes, (const unsigned char *)bytes + len, name, err};
    bool plain = false;
    int64_t width, height, maxval;
    if (!read_kind(&r, &plain) || !read_number(&r, "width", 1, INT32_MAX, &width) ||
        !read_number(&r, "height", 1, INT32_MAX, &height) ||
        !read_number(&r, "maxval", 1, 65535, &maxval))
        return false;
    if (!plain && !end_header(&r)) return false;
    if (plain) skip_space(&r);
    if (!check_length(&r, plain, width, height, maxval)) return false;
    const double need = (double)width * (double)height * (maxval > 255 ? 2 : 1);
    if (!image_fits(name, need, (double)len, max_bytes, err)) return false;
    const int64_t shape[2] = {height, width};
    Array *a = array_new(maxval > 255 ? ARRAY_U16 : ARRAY_U8, 2, shape, err);
    if (!a) return false;
    if (!(plain ? read_plain(&r, a, maxval) : read_raw(&r, a, maxval))) {
        array_unref(a);
        return false;
    }
    *out = (Picture){a, (int)maxval};
    return true;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* netpbm wants no line longer than 70 characters: eleven numbers of up to five digits are 66. */
static void write_plain(const Array *a, gi_buf *out) {
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t column = i % a->shape[1];
        const bool last = column == a->shape[1] - 1 || column % 11 == 10;
        gi_buf_addf(out, "%d%c", (int)array_get_int(a, i), last ? '\n' : ' ');
    }
}

static void write_raw(const Array *a, bool wide, gi_buf *out) {
    for (int64_t i = 0; i < a->count; i++) {
        const int value = (int)array_get_int(a, i);
        const char pair[2] = {(char)(value >> 8), (char)value};
        gi_buf_add(out, wide ? pair : pair + 1, wide ? 2 : 1);
    }
}

static bool check_values(const Array *a, int maxval, gi_err *err) {
    for (int64_t i = 0; i < a->count; i++)
        if (array_get_int(a, i) > maxval)
            return gi_fail(err, "usage", "pixel %lld is %lld, more than the maxval %d",
                           (long long)i + 1, (long long)array_get_int(a, i), maxval);
    return true;
}

bool pgm_encode(const Array *pixels, const PictureOptions *options, gi_buf *out, gi_err *err) {
    if (pixels->ndim != 2 || (pixels->type != ARRAY_U8 && pixels->type != ARRAY_U16))
        return gi_fail(err, "usage", "a PGM file holds a u8 or u16 array of two dimensions");
    const int largest = pixels->type == ARRAY_U8 ? 255 : 65535;
    const int maxval = options && options->maxval ? options->maxval : largest;
    const bool plain = options && options->plain;
    if (maxval < 1 || maxval > 65535)
        return gi_fail(err, "usage", "the maxval of a PGM file is from 1 to 65535, not %d", maxval);
    if (!check_values(pixels, maxval, err)) return false;
    gi_buf_addf(out, "P%d\n%lld %lld\n%d\n", plain ? 2 : 5, (long long)pixels->shape[1],
                (long long)pixels->shape[0], maxval);
    if (plain) write_plain(pixels, out);
    else write_raw(pixels, maxval > 255, out);
    return true;
}
