/* png.c - PNG through libpng, from and to memory.
**
** libpng leaves by longjmp when something is wrong. So every step that calls it is a function of
** its own with nothing but a Decoder or Encoder, which lives outside of setjmp's frame and is
** released in one place.
**
** Grey by ITU-R Rec. BT.601: (299 red + 587 green + 114 blue) / 1000, rounded, in the file's own
** depth, on the values as they are stored (that is how the luma of a picture is defined).
*/
#include "image/image.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libpng reports goes here; warnings (a wrong profile, say) are nobody's concern. */
typedef struct Complaint {
    jmp_buf back;
    char text[200];
} Complaint;

static PNG_NORETURN void on_error(png_structp png, png_const_charp text) {
    Complaint *c = png_get_error_ptr(png);
    snprintf(c->text, sizeof c->text, "%s", text);
    longjmp(c->back, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct Decoder {
    Complaint complaint;
    const unsigned char *at, *end;
    const char *name;
    double file_bytes;
    uint64_t max_bytes;
    gi_err *err;
    png_structp png;
    png_infop info;
    png_uint_32 width, height;
    int depth, colours, passes; /* colours: samples a pixel once decoded, 1 or 3 */
    size_t row_bytes;
    unsigned char
        *rows; /* one row; all of them where the passes of an interlaced file add to them */
    Array *pixels;
} Decoder;

static void take_bytes(png_structp png, png_bytep to, size_t n) {
    Decoder *d = png_get_io_ptr(png);
    if ((size_t)(d->end - d->at) < n) png_error(png, "it ends early");
    memcpy(to, d->at, n);
    d->at += n;
}

/* Texts, profiles, times and the like may claim two thousand million bytes each, and libpng takes
** the memory before it looks whether they are there. All but the chunks that make pixels (IHDR,
** PLTE, tRNS, IDAT, IEND) are skipped; what a chunk of those may take is little. */
static void skip_what_is_no_pixel(png_structp png) {
    enum { MOST_CHUNK_BYTES = 1 << 20 };
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_chunk_malloc_max(png, MOST_CHUNK_BYTES);
}

/* The header, and what libpng is to make of the rows: 8 or 16 bits a sample, no alpha. */
static bool read_header(Decoder *d) {
    if (setjmp(d->complaint.back)) return false;
    png_set_read_fn(d->png, d, take_bytes);
    skip_what_is_no_pixel(d->png);
    png_read_info(d->png, d->info);
    const int type = png_get_color_type(d->png, d->info);
    d->width = png_get_image_width(d->png, d->info);
    d->height = png_get_image_height(d->png, d->info);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(d->png);
    else if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(d->png);
    png_set_strip_alpha(d->png);
    const uint16_t one = 1;
    if (*(const unsigned char *)&one == 1) png_set_swap(d->png); /* this machine: low byte first */
    d->passes = png_set_interlace_handling(d->png);
    return true;
}

/* After the size has been checked: libpng's own row buffers come with this. */
static bool start_rows(Decoder *d) {
    if (setjmp(d->complaint.back)) return false;
    png_read_update_info(d->png, d->info);
    d->depth = png_get_bit_depth(d->png, d->info);
    d->colours = png_get_channels(d->png, d->info);
    d->row_bytes = png_get_rowbytes(d->png, d->info);
    return true;
}

/* No file holds more than 1032 times its bytes; a size beyond that is not believed. */
static bool check_length(Decoder *d) {
    const int bits = png_get_bit_depth(d->png, d->info) * png_get_channels(d->png, d->info);
    const double need = (double)d->height * (1 + (double)d->width * bits / 8);
    const double have = (double)(d->end - d->at);
    if (need <= 1032 * have) return true;
    return gi_fail(d->err, "format",
                   "%s is truncated or damaged: %lu x %lu pixels cannot lie in its %.0f bytes",
                   d->name, (unsigned long)d->width, (unsigned long)d->height, have);
}

/* Before anything of the size is taken: the pixels, and the rows that they come from. */
static bool check_bound(Decoder *d) {
    const double rows = d->passes > 1 ? (double)d->height : 1;
    const double pixels = (double)d->height * (double)d->width * (d->depth == 16 ? 2 : 1);
    return image_fits(d->name, pixels + rows * (double)d->row_bytes, d->file_bytes, d->max_bytes,
                      d->err);
}

/* calloc, not malloc: what no row reaches is never touched. */
static bool make_room(Decoder *d) {
    const int64_t shape[2] = {(int64_t)d->height, (int64_t)d->width};
    d->pixels = array_new(d->depth == 16 ? ARRAY_U16 : ARRAY_U8, 2, shape, d->err);
    if (!d->pixels) return false;
    d->rows = calloc(d->passes > 1 ? d->height : 1, d->row_bytes);
    if (d->rows) return true;
    return gi_fail(d->err, "nomem", "no memory for the %lu x %lu pixels of %s",
                   (unsigned long)d->width, (unsigned long)d->height, d->name);
}

static unsigned rec_601(unsigned red, unsigned green, unsigned blue) {
    return (299 * red + 587 * green + 114 * blue + 500) / 1000;
}

static void store_row(Decoder *d, const unsigned char *row, png_uint_32 y) {
    const size_t first = (size_t)y * d->width;
    if (d->depth == 16) {
        const uint16_t *from = (const void *)row;
        uint16_t *to = (uint16_t *)d->pixels->data + first;
        for (size_t x = 0; x < d->width; x++, from += d->colours)
            to[x] = d->colours == 1 ? from[0] : (uint16_t)rec_601(from[0], from[1], from[2]);
    } else {
        unsigned char *to = (unsigned char *)d->pixels->data + first;
        for (size_t x = 0; x < d->width; x++, row += d->colours)
            to[x] = d->colours == 1 ? row[0] : (unsigned char)rec_601(row[0], row[1], row[2]);
    }
}

static bool read_rows(Decoder *d) {
    if (setjmp(d->complaint.back)) return false;
    for (int pass = 0; pass < d->passes; pass++)
        for (png_uint_32 y = 0; y < d->height; y++) {
            unsigned char *row = d->rows + (d->passes > 1 ? y * d->row_bytes : 0);
            png_read_row(d->png, row, NULL);
            if (pass == d->passes - 1) store_row(d, row, y);
        }
    png_read_end(d->png, NULL);
    return true;
}

static bool complain(Decoder *d) {
    return gi_fail(d->err, "format", "%s is not a sound PNG file: %s", d->name, d->complaint.text);
}

static bool decode(Decoder *d) {
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d->complaint, on_error, on_warning);
    if (d->png) d->info = png_create_info_struct(d->png);
    if (!d->info) return gi_fail(d->err, "nomem", "no memory to read %s", d->name);
    if (!read_header(d)) return complain(d);
    if (!check_length(d)) return false;
    if (!start_rows(d)) return complain(d);
    if (!check_bound(d) || !make_room(d)) return false;
    return read_rows(d) || complain(d);
}

bool png_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes, Picture *out,
                gi_err *err) {
    Decoder d = {.at = bytes,
                 .end = (const unsigned char *)bytes + len,
                 .name = name,
                 .file_bytes = (double)len,
                 .max_bytes = max_bytes,
                 .err = err};
    const bool done = decode(&d);
    png_destroy_read_struct(&d.png, &d.info, NULL);
    free(d.rows);
    if (done) *out = (Picture){d.pixels, d.depth == 16 ? 65535 : 255};
    else array_unref(d.pixels);
    return done;
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct Encoder {
    Complaint complaint;
    const Array *pixels;
    gi_buf *out;
    png_structp png;
    png_infop info;
} Encoder;

static void give_bytes(png_structp png, png_bytep bytes, size_t n) {
    Encoder *e = png_get_io_ptr(png);
    gi_buf_add(e->out, (const char *)bytes, n);
}

static void flush_nothing(png_structp png) {
    (void)png;
}

static bool write_picture(Encoder *e) {
    if (setjmp(e->complaint.back)) return false;
    const Array *a = e->pixels;
    const int colours = a->ndim == 3 ? 3 : 1;
    const size_t size = array_type_size(a->type);
    png_set_write_fn(e->png, e, give_bytes, flush_nothing);
    png_set_IHDR(e->png, e->info, (png_uint_32)a->shape[1], (png_uint_32)a->shape[0],
                 (int)(8 * size), colours == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(e->png, e->info);
    const uint16_t one = 1;
    if (size == 2 && *(const unsigned char *)&one == 1) png_set_swap(e->png);
    const size_t row_bytes = (size_t)a->shape[1] * (size_t)colours * size;
    for (int64_t y = 0; y < a->shape[0]; y++)
        png_write_row(e->png, (png_const_bytep)a->data + (size_t)y * row_bytes);
    png_write_end(e->png, NULL);
    return true;
}

bool png_encode(const Array *pixels, gi_buf *out, gi_err *err) {
    const bool shaped = pixels->ndim == 2 || (pixels->ndim == 3 && pixels->shape[2] == 3);
    if (!shaped || (pixels->type != ARRAY_U8 && pixels->type != ARRAY_U16))
        return gi_fail(err, "usage",
                       "a PNG file holds a u8 or u16 array: (height, width) or (height, width, 3)");
    if (pixels->shape[0] > INT32_MAX || pixels->shape[1] > INT32_MAX)
        return gi_fail(err, "usage", "a PNG file has fewer than 2147483648 rows and columns");
    Encoder e = {.pixels = pixels, .out = out};
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e.complaint, on_error, on_warning);
    if (e.png) e.info = png_create_info_struct(e.png);
    const bool done = e.info && write_picture(&e);
    if (!e.info) gi_fail(err, "nomem", "no memory to write a PNG file");
    else if (!done)
        gi_fail(err, "format", "libpng cannot write this picture: %s", e.complaint.text);
    png_destroy_write_struct(&e.png, &e.info);
    return done;
}
