/* PGM files: written and read back, plain and raw, 8 and 16 bit; comments wherever the format has
** room for them; what is said of damaged ones, each in one sentence and before memory is taken. */
#include "image/image.h"
#include "tap.h"

#include <stdlib.h>

/* The pixels of a file given as text, as "1 2 3 / 4 5 6 max 255"; or the reason. */
static const char *seen(const char *bytes, size_t len) {
    static gi_buf text;
    Picture p;
    gi_err err;
    gi_buf_clear(&text);
    if (!picture_decode(bytes, len, "a.pgm", 0, &p, &err)) {
        gi_buf_adds(&text, err.message);
        return text.data;
    }
    for (int64_t i = 0; i < p.pixels->count; i++) {
        const int64_t x = i % p.pixels->shape[1];
        gi_buf_addf(&text, "%s%d ", x == 0 && i > 0 ? "/ " : "", (int)array_get_int(p.pixels, i));
    }
    gi_buf_addf(&text, "max %d %s", p.maxval, array_type_name(p.pixels->type));
    picture_release(&p);
    return text.data;
}

#define SEEN(literal) seen(literal, sizeof(literal) - 1)

static void reads_what_the_format_allows(void) {
    is_str(SEEN("P2\n3 2\n255\n1 2 3\n4 5 6\n"), "1 2 3 / 4 5 6 max 255 u8", "plain");
    is_str(SEEN("P2 3\t2\r\n9 1 2 3 4 5 6"), "1 2 3 / 4 5 6 max 9 u8",
           "any white space, none at the end");
    is_str(SEEN("P2#a\n# b\n3 # c\n2#d\n#\n7\n1 2 3 # row\n4 5 6"), "1 2 3 / 4 5 6 max 7 u8",
           "comments wherever white space may be");
    is_str(SEEN("P2\n2 1\n65535\n0 65535\n"), "0 65535 max 65535 u16", "plain, 16 bit");
    is_str(SEEN("P2\n1 1\n00255\n0007"), "7 max 255 u8", "leading zeros");
    is_str(SEEN("P5\n3 2\n255\n\001\002\003\004\005\377"), "1 2 3 / 4 5 255 max 255 u8", "raw");
    is_str(SEEN("P5\n2 1\n256\n\001\000\000\002"), "256 2 max 256 u16",
           "raw, 16 bit: the high byte first");
    is_str(SEEN("P5 2 1 255\n\n "), "10 32 max 255 u8",
           "raw: one white space ends the header, the next byte is a pixel, whatever it is");
    is_str(SEEN("P5 2 1 255 # x"), "35 32 max 255 u8", "raw: what looks like a comment, too");
    is_str(SEEN("P5\n#by hand\n2 1\n255# done\n\001\002"), "1 2 max 255 u8",
           "raw: a comment right after maxval ends the header with its line");
    is_str(SEEN("P5\n1 1\n255\n\007P5\n1 1\n255\n\010"), "7 max 255 u8",
           "of several pictures the first");
}

static void says_what_is_wrong(void) {
    has_str(SEEN(""), "a.pgm is empty", "nothing");
    has_str(SEEN("hello"), "a.pgm is neither a PGM nor a PNG file", "something else");
    has_str(SEEN("P6\n1 1\n255\nabc"), "only P2 and P5 are read", "a colour picture");
    has_str(SEEN("P5"), "is truncated: no white space follows its P5", "the kind alone");
    has_str(SEEN("P5x"), "is damaged: no white space follows its P5", "a longer word");
    has_str(SEEN("P5\n3"), "is truncated: it ends before its height", "no height");
    has_str(SEEN("P5\n3 # all that"), "is truncated: it ends before its height",
            "a comment without an end");
    has_str(SEEN("P5\nx 3"), "its width should be a number, byte 78 stands there", "letters");
    has_str(SEEN("P5\n-3 3"), "its width should be a number", "a sign");
    has_str(SEEN("P5\n0 3\n255\n"), "its width must be from 1 to 2147483647 and is 0", "no width");
    has_str(SEEN("P5\n3 0\n255\n"), "its height must be from 1 to", "no height");
    has_str(SEEN("P5\n3 1\n0\nabc"), "its maxval must be from 1 to 65535 and is 0", "maxval 0");
    has_str(SEEN("P5\n3 1\n65536\nabcdef"), "its maxval must be from 1 to 65535 and is at least",
            "maxval above 16 bits");
    has_str(SEEN("P5\n99999999999999999999999 1\n255\n"), "its width must be from",
            "a number beyond 64 bits");
    has_str(
        SEEN("P5\n2147483647 2147483647\n65535\nab"),
        "is truncated: 2147483647 x 2147483647 pixels need 9223372028264841218 bytes, and 2 are",
        "a huge claim takes no memory");
    has_str(SEEN("P2\n2147483647 2147483647\n65535\n1 2"), "is truncated: 2147483647 x",
            "nor does a plain one");
    has_str(SEEN("P5\n3 2\n255\nabcde"), "3 x 2 pixels need 6 bytes, and 5 are there", "cut");
    has_str(SEEN("P5\n3 1\n255"), "is truncated: no white space ends its header", "cut earlier");
    has_str(SEEN("P5\n1 1\n255x"), "is damaged: no white space ends its header", "no end");
    has_str(SEEN("P2\n3 1\n255\n1 22222"), "its pixel 2 must be from 0 to 255 and is at least",
            "a pixel too large");
    has_str(SEEN("P2\n3 1\n255\n111111 22"), "its pixel 1 must be", "the first one");
    has_str(SEEN("P2\n3 1\n255\n111 22     "), "is truncated: it ends before its pixel 3",
            "too few of them");
    has_str(SEEN("P5\n1 1\n100\n\145"), "its pixel 1 is 101, more than its maxval 100", "raw");
}

static Array *ramp(ArrayType type, int64_t height, int64_t width, int step) {
    const int64_t shape[2] = {height, width};
    Array *a = array_new(type, 2, shape, NULL);
    for (int64_t i = 0; i < a->count; i++) array_set_int(a, i, i * step);
    return a;
}

static bool survives(const Array *a, int maxval, bool plain) {
    gi_buf bytes = {0};
    Picture p = {0};
    gi_err err = {0};
    const PictureOptions options = {maxval, plain};
    bool same = pgm_encode(a, &options, &bytes, &err) &&
                pgm_decode(bytes.data, bytes.len, "it", 0, &p, &err);
    if (!same) printf("# %s\n", err.message);
    same = same && p.pixels->type == a->type && p.pixels->shape[1] == a->shape[1] &&
           memcmp(p.pixels->data, a->data, a->size_bytes) == 0;
    int line = 0, longest = 0;
    for (size_t i = 0; plain && i < bytes.len; i++) {
        line = bytes.data[i] == '\n' ? 0 : line + 1;
        if (line > longest) longest = line;
    }
    picture_release(&p);
    gi_buf_free(&bytes);
    return same && longest <= 70;
}

static void written_is_read_back(void) {
    Array *small = ramp(ARRAY_U8, 7, 31, 1), *large = ramp(ARRAY_U16, 5, 40, 327);
    for (int plain = 0; plain < 2; plain++) {
        const char *how = plain ? "plain, in lines of at most 70 characters" : "raw";
        ok(survives(small, 0, plain), "8 bit, %s", how);
        ok(survives(small, 217, plain), "with a maxval of its own, %s", how);
        ok(survives(large, 0, plain), "16 bit, %s", how);
    }
    gi_buf bytes = {0};
    gi_err err;
    PictureOptions options = {.maxval = 10};
    ok(!pgm_encode(small, &options, &bytes, &err), "a pixel above the maxval is refused");
    is_str(err.message, "pixel 12 is 11, more than the maxval 10", "by its number");
    Array *row = ramp(ARRAY_F32, 2, 2, 1);
    ok(!pgm_encode(row, NULL, &bytes, &err), "numbers that are no u8 or u16 are refused");
    ok(!picture_write("a.jpg", small, NULL, &err), "so is the name of another format");
    has_str(err.message, "must end in .png or .pgm", "with the two that there are");
    ok(!picture_write("no/such/folder/a.pgm", small, NULL, &err), "a folder that is not there");
    is_str(err.code, "io", "is the world's fault");
    array_unref(small), array_unref(large), array_unref(row);
    gi_buf_free(&bytes);
}

/* Every cut of a file and every byte of it changed: a picture or a sentence, never more. */
static void damage_is_survived(void) {
    static const char raw[] = "P5\n# c\n4 3\n255\nabcdefghijkl", plain[] = "P2 2 2 9\n1 2 3 4\n";
    int refused = 0;
    for (size_t n = 0; n < sizeof raw - 1; n++)
        refused += strncmp(seen(raw, n), "a.pgm is ", 9) == 0;
    is_int(refused, sizeof raw - 1, "every cut of a raw file is refused");
    int answered = 0, tried = 0;
    for (size_t i = 0; i < sizeof plain - 1; i++)
        for (int c = 0; c < 256; c++, tried++) {
            char copy[sizeof plain];
            memcpy(copy, plain, sizeof plain);
            copy[i] = (char)c;
            answered += seen(copy, sizeof plain - 1)[0] != '\0';
        }
    is_int(answered, tried, "every single changed byte is answered");
}

int main(void) {
    reads_what_the_format_allows();
    says_what_is_wrong();
    written_is_read_back();
    damage_is_survived();
    return tap_done();
}
