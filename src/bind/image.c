/* image.c - gi.image: PGM and PNG pictures as arrays, and arrays as pictures. */
#include <math.h>

#include "bind/bind.h"
#include "image/image.h"

uint64_t bind_max_bytes(lua_State *L, int index) {
    static const char *const known[] = {"max_bytes", NULL};
    bind_check_options(L, index, known);
    const lua_Integer bytes = bind_option_int(L, index, "max_bytes", 0);
    luaL_argcheck(L, bytes >= 0, index, "max_bytes is negative");
    return (uint64_t)bytes;
}

static int read_picture(lua_State *L) {
    Picture picture = {0};
    gi_err err;
    const char *path = luaL_checkstring(L, 1);
    if (!picture_read(path, bind_max_bytes(L, 2), &picture, &err)) return bind_failed(L, &err);
    bind_push_array(L, picture.pixels);
    lua_pushinteger(L, picture.maxval);
    return 2;
}

static int write_picture(lua_State *L) {
    static const char *const known[] = {"maxval", "plain", NULL};
    const char *path = luaL_checkstring(L, 1);
    const Array *pixels = bind_check_array(L, 2);
    bind_check_options(L, 3, known);
    PictureOptions options = {.plain = bind_option_bool(L, 3, "plain", false)};
    const lua_Integer maxval = bind_option_int(L, 3, "maxval", 0);
    luaL_argcheck(L, maxval >= 0 && maxval <= 65535, 3, "maxval is from 1 to 65535");
    options.maxval = (int)maxval;
    gi_err err;
    if (!picture_write(path, pixels, &options, &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* The array's least and greatest number (not NaN or infinite), where the options name none. */
static void check_range(lua_State *L, const Array *a, double *low, double *high) {
    static const char *const known[] = {"low", "high", NULL};
    bind_check_options(L, 2, known);
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int64_t i = 0; i < a->count; i++) {
        const double v = array_get(a, i);
        if (!isfinite(v)) continue;
        if (v < least) least = v;
        if (v > most) most = v;
    }
    *low = bind_option_number(L, 2, "low", isfinite(least) ? least : 0);
    *high = bind_option_number(L, 2, "high", isfinite(most) ? most : 1);
    luaL_argcheck(L, isfinite(*low) && isfinite(*high) && *low <= *high, 2,
                  "low and high are numbers, low not above high");
}

static Array *check_plane(lua_State *L) {
    Array *a = bind_check_array(L, 1);
    luaL_argcheck(L, a->ndim == 2, 1, "an array of two dimensions is needed");
    return a;
}

/* Where v lies between low (0) and high (1), cut off at both; NaN lies nowhere: -1. */
static double place(double v, double low, double high) {
    if (isnan(v)) return -1;
    if (v <= low || high == low) return v < low ? 0 : v > low ? 1 : 0;
    return v >= high ? 1 : (v - low) / (high - low);
}

static int grey_picture(lua_State *L) {
    const Array *a = check_plane(L);
    double low, high;
    gi_err err;
    check_range(L, a, &low, &high);
    Array *out = array_new(ARRAY_U8, 2, a->shape, &err);
    if (!out) return bind_failed(L, &err);
    for (int64_t i = 0; i < a->count; i++) {
        const double t = place(array_get(a, i), low, high);
        array_set(out, i, t < 0 ? 0 : 255 * t);
    }
    bind_push_array(L, out);
    return 1;
}

/* Dark blue, blue-green, yellow-green, orange, light red: brightness rises and falls little, so
** that the hue shows depth, near being warm. */
static void colour_of(double t, unsigned char rgb[3]) {
    static const double stops[5][3] = {
        {40, 40, 130}, {20, 140, 190}, {120, 200, 80}, {250, 180, 40}, {230, 70, 60}};
    const int k = t < 1 ? (int)(4 * t) : 3;
    const double share = 4 * t - k;
    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned char)lrint(stops[k][i] + share * (stops[k + 1][i] - stops[k][i]));
}

static int colour_picture(lua_State *L) {
    const Array *a = check_plane(L);
    double low, high;
    gi_err err;
    check_range(L, a, &low, &high);
    const int64_t shape[3] = {a->shape[0], a->shape[1], 3};
    Array *out = array_new(ARRAY_U8, 3, shape, &err);
    if (!out) return bind_failed(L, &err);
    unsigned char *rgb = out->data;
    for (int64_t i = 0; i < a->count; i++, rgb += 3) {
        const double v = array_get(a, i), t = place(v, low, high);
        if (t >= 0 && v >= low) colour_of(t, rgb);
    }
    bind_push_array(L, out);
    return 1;
}

void bind_image(lua_State *L) {
    static const BindRow rows[] = {
        {"read", read_picture,
         "gi.image.read(path [, {max_bytes}]) -> array, maxval | nil, message, code",
         "Reads a PGM or PNG picture as grey values: u8, above a maxval of 255 u16, of shape "
         "(height, width). It may take max_bytes of memory: unless said otherwise 64 MiB and 32 "
         "times its file, at most 4 GiB."},
        {"write", write_picture,
         "gi.image.write(path, array [, {maxval, plain}]) -> true | nil, message, code",
         "Writes .pgm (plain: as text) or .png from u8 or u16 values; a PNG may have a third "
         "dimension of red, green, blue."},
        {"grey", grey_picture, "gi.image.grey(array [, {low, high}]) -> array | nil, message, code",
         "The values of a plane as u8: low and what is below it black, high and above white."},
        {"colour", colour_picture,
         "gi.image.colour(array [, {low, high}]) -> array | nil, message, code",
         "The values of a plane in colours, low blue and high red, to be written as PNG; what is "
         "below low (a disparity of -1) is black."},
        {NULL, NULL, NULL, NULL}};
    lua_newtable(L);
    bind_rows(L, "image.", rows);
}
