/* PNG files: every colour type and depth that the format has, interlaced or not, against grey
** values worked out here; written and read back; what is said of damaged ones. The files are made
** with libpng itself, in memory; huge claims by hand, since libpng writes none. */
#include "image/image.h"
#include "png_chunks.h"
#include "tap.h"

#include <png.h>
#include <stdlib.h>

enum { WIDTH = 13, HEIGHT = 11 }; /* every pass of Adam7 has pixels, none of them whole blocks */

static void give(png_structp png, png_bytep bytes, size_t n) {
    gi_buf_add(png_get_io_ptr(png), (const char *)bytes, n);
}

static void flush(png_structp png) {
    (void)png;
}

/* Sample c of pixel (x, y), in 0 … 2^depth - 1. */
static unsigned sample(int x, int y, int c, int depth) {
    const unsigned v = (unsigned)(x * 7919 + y * 104729 + c * 1299709 + 12345) * 2654435761u;
    return (v >> 8) & ((1u << depth) - 1);
}

static void put_sample(unsigned char *row, int index, int depth, unsigned v) {
    if (depth == 16)
        row[2 * index] = (unsigned char)(v >> 8), row[2 * index + 1] = (unsigned char)v;
    else row[index * depth / 8] |= (unsigned char)(v << (8 - depth - index * depth % 8));
}

static unsigned char palette_of(int index, int c) {
    return (unsigned char)(index * 37 + c * 91 + 5);
}

static void set_palette(png_structp png, png_infop info, int depth, bool see_through) {
    png_color colours[256];
    png_byte alpha[3] = {0, 128, 255};
    for (int i = 0; i < 256; i++)
        colours[i] = (png_color){palette_of(i, 0), palette_of(i, 1), palette_of(i, 2)};
    png_set_PLTE(png, info, colours, 1 << depth);
    if (see_through) png_set_tRNS(png, info, alpha, depth == 1 ? 2 : 3, NULL);
}

static int channels_of(int type) {
    return type == PNG_COLOR_TYPE_RGB          ? 3
           : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                               : 1;
}

static void make_png(int type, int depth, bool interlaced, bool see_through, gi_buf *out) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    static unsigned char pixels[HEIGHT][WIDTH * 8];
    png_bytep rows[HEIGHT];
    const int channels = channels_of(type);
    memset(pixels, 0, sizeof pixels);
    for (int y = 0; y < HEIGHT; y++) {
        rows[y] = pixels[y];
        for (int i = 0; i < WIDTH * channels; i++)
            put_sample(pixels[y], i, depth, sample(i / channels, y, i % channels, depth));
    }
    png_set_write_fn(png, out, give, flush);
    png_set_IHDR(png, info, WIDTH, HEIGHT, depth, type,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (type == PNG_COLOR_TYPE_PALETTE) set_palette(png, info, depth, see_through);
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static int grey(double r, double g, double b) {
    return (int)(0.299 * r + 0.587 * g + 0.114 * b + 0.5 + 1e-9);
}

/* What pixel (x, y) must come out as. */
static int expected(int type, int depth, int x, int y) {
    const int v = (int)sample(x, y, 0, depth);
    switch (type) {
    case PNG_COLOR_TYPE_GRAY: return depth < 8 ? v * 255 / ((1 << depth) - 1) : v;
    case PNG_COLOR_TYPE_GRAY_ALPHA: return v;
    case PNG_COLOR_TYPE_PALETTE: return grey(palette_of(v, 0), palette_of(v, 1), palette_of(v, 2));
    default: return grey(v, sample(x, y, 1, depth), sample(x, y, 2, depth));
    }
}

static void is_right(int type, int depth, bool interlaced, bool see_through) {
    gi_buf bytes = {0};
    Picture p;
    gi_err err;
    make_png(type, depth, interlaced, see_through, &bytes);
    if (!ok(picture_decode(bytes.data, bytes.len, "a.png", 0, &p, &err),
            "colour type %d, %d bits%s%s, is read", type, depth, interlaced ? ", interlaced" : "",
            see_through ? ", some of it transparent" : ""))
        printf("# %s\n", err.message);
    else {
        int wrong = 0;
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            wrong += array_get_int(p.pixels, i) != expected(type, depth, i % WIDTH, i / WIDTH);
        is_int(wrong, 0, "and right in every pixel");
        is_int(p.maxval, depth == 16 ? 65535 : 255, "and of that depth");
        ok(p.pixels->shape[0] == HEIGHT && p.pixels->shape[1] == WIDTH, "and of that shape");
        picture_release(&p);
    }
    gi_buf_free(&bytes);
}

static void every_kind_is_read(void) {
    static const struct {
        int type, depth;
    } kinds[] = {{PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},
                 {PNG_COLOR_TYPE_GRAY, 4},        {PNG_COLOR_TYPE_GRAY, 8},
                 {PNG_COLOR_TYPE_GRAY, 16},       {PNG_COLOR_TYPE_RGB, 8},
                 {PNG_COLOR_TYPE_RGB, 16},        {PNG_COLOR_TYPE_PALETTE, 1},
                 {PNG_COLOR_TYPE_PALETTE, 2},     {PNG_COLOR_TYPE_PALETTE, 4},
                 {PNG_COLOR_TYPE_PALETTE, 8},     {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
                 {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGB_ALPHA, 8},
                 {PNG_COLOR_TYPE_RGB_ALPHA, 16}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            is_right(kinds[i].type, kinds[i].depth, interlaced, false);
            if (kinds[i].type == PNG_COLOR_TYPE_PALETTE)
                is_right(kinds[i].type, kinds[i].depth, interlaced, true);
        }
}

static void written_is_read_back(ArrayType type) {
    const int64_t shape[2] = {9, 17};
    Array *a = array_new(type, 2, shape, NULL);
    gi_buf bytes = {0};
    Picture p;
    gi_err err;
    for (int64_t i = 0; i < a->count; i++)
        array_set_int(a, i, (int64_t)sample((int)i, 0, 0, type == ARRAY_U8 ? 8 : 16));
    ok(png_encode(a, &bytes, &err) && png_decode(bytes.data, bytes.len, "it", 0, &p, &err),
       "%s is written and read", array_type_name(type));
    ok(p.pixels->type == type && memcmp(p.pixels->data, a->data, a->size_bytes) == 0,
       "and is the same");
    picture_release(&p);
    array_unref(a);
    gi_buf_free(&bytes);
}

static void colours_are_written(void) {
    const int64_t shape[3] = {1, 2, 3};
    Array *a = array_new(ARRAY_U8, 3, shape, NULL);
    gi_buf bytes = {0};
    Picture p;
    gi_err err;
    memcpy(a->data, "\377\0\0\0\377\0", 6);
    ok(png_encode(a, &bytes, &err) && png_decode(bytes.data, bytes.len, "it", 0, &p, &err),
       "red and green are written");
    is_int(array_get_int(p.pixels, 0), 76, "and red is 76, as Rec. 601 says");
    is_int(array_get_int(p.pixels, 1), 150, "and green 150");
    picture_release(&p);
    array_unref(a);
    const int64_t other[3] = {1, 3, 2};
    a = array_new(ARRAY_U8, 3, other, NULL);
    ok(!png_encode(a, &bytes, &err), "two values a pixel are refused");
    is_str(err.code, "usage", "as misuse");
    array_unref(a);
    gi_buf_free(&bytes);
}

/* ---- damage ------------------------------------------------------------------------------- */

/* A header that claims width x height, and hardly any data. */
static void make_claim(unsigned long width, unsigned long height, gi_buf *b) {
    add_header(b, width, height, "\020\006\0\0\0"); /* 16 bit, red green blue alpha */
    add_chunk(b, "IDAT", "\x78\x9c\x63\x60\x60\x60\x00\x00", 8);
    add_chunk(b, "IEND", "", 0);
}

static const char *reason(const gi_buf *b, size_t len) {
    static gi_err err;
    Picture p;
    if (!picture_decode(b->data, len, "a.png", 0, &p, &err)) return err.message;
    picture_release(&p);
    return "";
}

static void claims_are_not_believed(void) {
    gi_buf b = {0};
    make_claim(900000, 900000, &b);
    has_str(reason(&b, b.len), "900000 x 900000 pixels cannot lie in its", "a huge claim");
    gi_buf_clear(&b), make_claim(0, 5, &b);
    has_str(reason(&b, b.len), "a.png is not a sound PNG file: ", "no width");
    gi_buf_clear(&b), make_claim(5, 0, &b);
    has_str(reason(&b, b.len), "a.png is not a sound PNG file: ", "no height");
    gi_buf_clear(&b), make_claim(0xffffffff, 1, &b);
    has_str(reason(&b, b.len), "a.png is not a sound PNG file: ", "a width beyond the format's");
    gi_buf_clear(&b), make_claim(30, 30, &b);
    has_str(reason(&b, b.len), "a.png is not a sound PNG file: ", "too little data");
    gi_buf_free(&b);
}

/* Is it refused, or read as the picture that it should be? */
static bool is_harmless(const gi_buf *b, const Picture *want) {
    gi_err err;
    Picture p;
    if (!picture_decode(b->data, b->len, "a.png", 0, &p, &err)) return true;
    bool is_same = p.maxval == want->maxval && p.pixels->size_bytes == want->pixels->size_bytes &&
                   memcmp(p.pixels->data, want->pixels->data, want->pixels->size_bytes) == 0;
    picture_release(&p);
    return is_same;
}

/* No cut passes for the picture. A changed byte is refused by its CRC or does no harm: libpng of
** Debian 13 takes any CRC of the last chunk. */
static void damage_is_survived(bool interlaced) {
    gi_buf b = {0};
    make_png(PNG_COLOR_TYPE_RGB, 8, interlaced, false, &b);
    size_t refused = 0, harmless = 0, answered = 0;
    gi_err err;
    Picture want;
    if (!picture_decode(b.data, b.len, "a.png", 0, &want, &err)) return;
    for (size_t n = 0; n < b.len; n++) refused += reason(&b, n)[0] != '\0';
    is_int(refused, b.len, "every cut is refused");
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] ^= 0x41;
        answered += reason(&b, b.len)[0] != '\0';
        harmless += is_harmless(&b, &want);
        b.data[i] ^= 0x41;
    }
    picture_release(&want);
    is_int(harmless, b.len, "no changed byte changes the picture");
    ok(answered + 4 >= b.len, "and all but the end's CRC are noticed");
    has_str(reason(&b, b.len / 2), "a.png is not a sound PNG file: it ends early", "a cut by name");
    gi_buf_free(&b);
}

int main(void) {
    every_kind_is_read();
    written_is_read_back(ARRAY_U8);
    written_is_read_back(ARRAY_U16);
    colours_are_written();
    claims_are_not_believed();
    damage_is_survived(false);
    damage_is_survived(true);
    return tap_done();
}
