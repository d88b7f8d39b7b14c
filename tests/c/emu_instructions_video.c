/* emu_instructions_video.c - the video instructions of the virtual GPU, against the formulas of the
** PTX ISA written out in whole numbers: every operation, with types, parts, saturation, and second
** operations drawn at random. Where ptxas 13.0 makes something else for sm_90, its code is written
** out instead. */
#include "emu_kit.h"

typedef struct Spec {
    const char *op;       /* "add" … */
    int lanes;            /* 1, 2, 4 */
    bool sd, sa, sb, sat; /* signed: d, a, b */
    int second;           /* 0, or '+' 'm' 'M' */
    int a[4], b[4];       /* of each lane the element of {a, b}; of one number a part, 6: all */
    int mask;             /* lanes written; of one number a part, 6: all of it */
    bool merges, wrap, po, minus_a, minus_c;
    int shift;   /* of vmad */
    int compare; /* index into compares */
} Spec;

static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const parts[] = {".b0", ".b1", ".b2", ".b3", ".h0", ".h1", ""};
static Spec now;

/* Bits [at, at + n) of x, as a number. */
static int64_t field(uint64_t x, int at, int n, bool sign) {
    int64_t v = 0;
    for (int k = n - 1; k >= 0; k--) v = 2 * v + (int64_t)(x >> (at + k) & 1);
    return sign && v >= INT64_C(1) << (n - 1) ? v - (INT64_C(1) << n) : v;
}

static int part_size(int part) {
    return part < 4 ? 8 : part < 6 ? 16 : 32;
}

static int part_place(int part) {
    return part < 4 ? 8 * part : part == 5 ? 16 : 0;
}

static int64_t limited(int64_t x, int bits, bool sign) {
    int64_t most = (INT64_C(1) << (bits - (sign ? 1 : 0))) - 1, least = sign ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

static bool holds(int how, int64_t a, int64_t b) {
    return how == 0   ? a == b
           : how == 1 ? a != b
           : how == 2 ? a < b
           : how == 3 ? a <= b
           : how == 4 ? a > b
                      : a >= b;
}

static int64_t shifted(int64_t a, int64_t n, bool left) {
    n = now.wrap ? n % 32 : n > 32 ? 32 : n;
    if (!left) return n == 0 ? a : a < 0 ? -((-a - 1) >> n) - 1 : a >> n;
    for (; n > 0; n--) a = (int64_t)(2 * (uint64_t)a);
    return a;
}

static bool is(const char *ops) {
    return strstr(ops, now.op) != NULL;
}

/* ptxas: 34 bits of a shift to the left; a whole sum without a sign is held above 0 alone. */
static int64_t saturated(int64_t x, int bits) {
    if (is("shl")) x = field((uint64_t)x, 0, 34, true);
    if (bits == 32 && !now.sd && !is("shl shr")) return x < 0 ? 0 : x;
    return limited(x, bits, now.sd);
}

static int64_t result_of(int64_t a, int64_t b) {
    const char *op = now.op;
    if (!strcmp(op, "add")) return a + b;
    if (!strcmp(op, "sub")) return a - b;
    if (!strcmp(op, "absdiff")) return llabs(a - b);
    if (!strcmp(op, "min")) return b < a ? b : a;
    if (!strcmp(op, "max")) return b > a ? b : a;
    if (!strcmp(op, "set")) return holds(now.compare, a, b) ? 1 : 0;
    if (!strcmp(op, "avrg")) /* halves are rounded away from zero */
        return a + b < 0 ? -((1 - a - b) / 2) : (a + b + 1) / 2;
    return shifted(a, b, !strcmp(op, "shl"));
}

static uint64_t want_one(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    (void)d;
    int pa = now.a[0], pb = now.b[0], pd = now.mask, bits = part_size(pd);
    int64_t x = result_of(field(a, part_place(pa), part_size(pa), now.sa),
                          field(b, part_place(pb), part_size(pb), now.sb));
    if (now.sat) x = saturated(x, bits);
    /* ptxas compares 64 bits, the high ones of a sum or a shift made from the low ones */
    int64_t whole = is("add sub shl shr") ? field((uint64_t)x, 0, 32, true) : x;
    int64_t other = field(c, 0, 32, now.sd);
    bool less = now.sd ? other < whole : (uint64_t)other < (uint64_t)whole;
    if (now.second == '+') return (uint64_t)(whole + other) & 0xffffffff;
    if (now.second) return (uint64_t)(less == (now.second == 'm') ? other : whole) & 0xffffffff;
    if (!now.merges) return (uint64_t)x & 0xffffffff;
    uint64_t out = c & 0xffffffff;
    for (int k = 0; k < bits; k++) {
        uint64_t bit = UINT64_C(1) << (part_place(pd) + k);
        out = (uint64_t)x >> k & 1 ? out | bit : out & ~bit;
    }
    return out;
}

static uint64_t want_lanes(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    (void)d;
    int bits = 32 / now.lanes;
    uint64_t sum = c, out = 0, both = (b & 0xffffffff) << 32 | (a & 0xffffffff);
    for (int k = 0; k < now.lanes; k++) {
        int64_t x = result_of(field(both, now.a[k] * bits, bits, now.sa),
                              field(both, now.b[k] * bits, bits, now.sb));
        if (now.sat) x = limited(x, bits, now.sd);
        bool on = now.mask >> k & 1;
        sum += on ? (uint64_t)x : 0;
        out |= (uint64_t)field(on ? (uint64_t)x : c >> k * bits, 0, bits, false) << k * bits;
    }
    return (now.second ? sum : out) & 0xffffffff;
}

/* a * b + c in units of 2^-shift: ptxas multiplies numbers with a sign and adds c as one. Without a
** sign anywhere, a sum below zero that is shifted is then a large one. */
static uint64_t want_mad(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    (void)d;
    bool sign = now.sa || now.sb || now.minus_a || now.minus_c;
    int64_t fa = field(a, part_place(now.a[0]), part_size(now.a[0]), now.sa);
    int64_t fb = field(b, part_place(now.b[0]), part_size(now.b[0]), now.sb);
    __int128 x = (__int128)field((uint64_t)fa, 0, 32, true) * field((uint64_t)fb, 0, 32, true);
    int64_t y = field(c, 0, 32, true);
    x = (now.minus_a ? -x : x) + (now.minus_c ? -y : y) + now.po;
    __int128 whole = x / ((__int128)1 << now.shift);
    if (x % ((__int128)1 << now.shift) < 0) whole--;
    if (now.sat && !sign && now.shift && x < 0) return 0xffffffff;
    return (uint64_t)(now.sat ? limited((int64_t)whole, 32, sign) : (int64_t)whole) & 0xffffffff;
}

/* ---- texts ---- */

static void draw(const char *op, int lanes) {
    now = (Spec){.op = op, .lanes = lanes, .sd = kit_below(2), .sa = kit_below(2)};
    now.sb = !is("shl shr") && kit_below(2);
    if (is("set")) now.sd = now.sa;
    now.compare = (int)kit_below(6);
    now.wrap = kit_below(2);
    for (int k = 0; k < lanes; k++) {
        now.a[k] = lanes == 1 ? (int)kit_below(7) : (int)kit_below((uint64_t)lanes * 2);
        now.b[k] = lanes == 1 ? (int)kit_below(7) : (int)kit_below((uint64_t)lanes * 2);
    }
    bool plain = lanes > 1 && kit_below(2);
    for (int k = 0; plain && k < lanes; k++) now.a[k] = k, now.b[k] = lanes + k;
    now.second = kit_below(3) ? 0 : lanes > 1 || !kit_below(3) ? '+' : kit_below(2) ? 'm' : 'M';
    now.merges = lanes == 1 && !now.second && kit_below(2);
    now.mask = lanes > 1    ? 1 + (int)kit_below((1u << lanes) - 1)
               : now.merges ? (int)kit_below(6)
                            : 6;
    now.sat = !is("set") && !(lanes > 1 && now.second) && kit_below(2);
}

static void draw_mad(void) {
    now = (Spec){.op = "mad",
                 .lanes = 1,
                 .sd = kit_below(2),
                 .sa = kit_below(2),
                 .sb = kit_below(2),
                 .sat = kit_below(2),
                 .mask = 6};
    now.a[0] = (int)kit_below(7), now.b[0] = (int)kit_below(7);
    now.po = kit_below(3) == 0;
    now.minus_a = !now.po && kit_below(2), now.minus_c = !now.po && !now.minus_a && kit_below(2);
    now.shift = kit_below(2) ? 0 : kit_below(2) ? 7 : 15;
}

/* .h10, .b3210: the highest lane first. None stands for all of an operand. */
static void add_lanes(gi_buf *b, const int *which, int from) {
    bool all = true;
    for (int k = 0; k < now.lanes; k++) all &= which[k] == from + k;
    if (all) return;
    gi_buf_adds(b, now.lanes == 2 ? ".h" : ".b");
    for (int k = now.lanes - 1; k >= 0; k--) gi_buf_addf(b, "%d", which[k]);
}

static void add_mask(gi_buf *b) {
    if (now.mask == (1 << now.lanes) - 1) return;
    gi_buf_adds(b, now.lanes == 2 ? ".h" : ".b");
    for (int k = now.lanes - 1; k >= 0; k--)
        if (now.mask >> k & 1) gi_buf_addf(b, "%d", k);
}

static void add_name(gi_buf *b) {
    gi_buf_addf(b, "v%s", now.op);
    if (now.lanes > 1) gi_buf_addf(b, "%d", now.lanes);
    if (now.po) gi_buf_adds(b, ".po"); /* modifiers go in any order */
    if (!is("set")) gi_buf_addf(b, ".%c32", now.sd ? 's' : 'u');
    gi_buf_addf(b, ".%c32.%c32", now.sa ? 's' : 'u', now.sb ? 's' : 'u');
    if (is("set")) gi_buf_addf(b, ".%s", compares[now.compare]);
    if (now.sat) gi_buf_adds(b, ".sat");
    if (is("shl shr")) gi_buf_adds(b, now.wrap ? ".wrap" : ".clamp");
    if (now.shift) gi_buf_addf(b, ".shr%d", now.shift);
    if (now.second)
        gi_buf_adds(b, now.second == '+' ? ".add" : now.second == 'm' ? ".min" : ".max");
}

static void add_text(gi_buf *b) {
    add_name(b);
    gi_buf_adds(b, " $0");
    if (now.lanes > 1) add_mask(b);
    else gi_buf_adds(b, parts[now.mask]);
    gi_buf_addf(b, ", %s$1", now.minus_a ? "-" : "");
    if (now.lanes > 1) add_lanes(b, now.a, 0);
    else gi_buf_adds(b, parts[now.a[0]]);
    gi_buf_adds(b, ", $2");
    if (now.lanes > 1) add_lanes(b, now.b, now.lanes);
    else gi_buf_adds(b, parts[now.b[0]]);
    if (now.lanes > 1 || now.second || now.merges || is("mad"))
        gi_buf_addf(b, ", %s$3", now.minus_c ? "-" : "");
    gi_buf_adds(b, ";");
}

static void try_now(Want want) {
    gi_buf b = {0};
    add_text(&b);
    bool has_c = strstr(b.data, "$3") != NULL;
    /* in braces: an immediate would have no part */
    gi_buf text = {0};
    gi_buf_addf(&text, "{ %s }", b.data);
    Form f = {text.data,
              has_c ? now.lanes == 2   ? "w:vvw"
                      : now.lanes == 4 ? "w:bbw"
                                       : "w:www"
                    : "w:ww",
              want, 0, 0};
    kit_forms(&f, 1);
    gi_buf_free(&b);
    gi_buf_free(&text);
}

int main(int argc, char **argv) {
    static const char *const one[] = {"add", "sub", "absdiff", "min", "max", "set", "shl", "shr"};
    static const char *const many[] = {"add", "sub", "absdiff", "min", "max", "set", "avrg"};
    kit_begin(argc, argv);
    for (int i = 0; i < KIT_COUNT(one); i++)
        for (int k = 0; k < 12; k++) draw(one[i], 1), try_now(want_one);
    for (int i = 0; i < KIT_COUNT(many); i++)
        for (int k = 0; k < 16; k++) draw(many[i], k % 2 ? 2 : 4), try_now(want_lanes);
    for (int k = 0; k < 24; k++) draw_mad(), try_now(want_mad);
    return kit_end();
}
