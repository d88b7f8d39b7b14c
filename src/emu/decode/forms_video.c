/* forms_video.c - the video instructions: vadd … vset on one number of 8, 16 or 32 bits, vadd2 …
** vset4 on all lanes of a word.
**
** One function does them all (PTX ISA, "Video Instructions"): elements are picked and extended, an
** operation makes a number of 64 bits, .sat clamps it, and it is summed up with c, or compared, or
** put into its place in c. Modifiers are a set: ptxas takes them in any order, types in theirs.
**
** No GPU since Kepler has these instructions. Where the ISA and what ptxas 13.0 makes of them for
** sm_90 differ, the bits are those of ptxas, which an H200 gives: .sat of a sum without a sign, of
** a shift and of vmad, and .min or .max with c.
*/
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <string.h>

typedef enum VideoOp { ADD, SUB, ABSDIFF, MIN, MAX, AVRG, SHL, SHR, SET, MAD } VideoOp;
enum { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };
enum { WHOLE = 6 }; /* after b0 … b3, h0, h1 */

/* Ins.imm. a, b: of a word's lanes the elements of {a, b}, four bits each, the lowest lane first;
** of a single number a part of its operand. mask: the lanes that are written, or a part. */
typedef struct Video {
    uint64_t op : 4, lanes : 3, second : 2, compare : 3, mask : 4, a : 16, b : 16, scale : 4;
    uint64_t signed_d : 1, signed_a : 1, signed_b : 1, sat : 1, wrap : 1, merges : 1;
    uint64_t negates_product : 1, negates_c : 1, plus_one : 1;
} Video;

/* --- one lane of a warp --- */

static int64_t extend(uint64_t x, unsigned bits, bool is_signed) {
    uint64_t low = x & ((1ull << bits) - 1), top = 1ull << (bits - 1);
    return is_signed ? (int64_t)(low ^ top) - (int64_t)top : (int64_t)low;
}

static unsigned part_bits(unsigned part) {
    return part < 4 ? 8 : part < WHOLE ? 16 : 32;
}

static unsigned part_at(unsigned part) {
    return part < 4 ? 8 * part : part < WHOLE ? 16 * (part - 4) : 0;
}

static unsigned result_bits(const Video *v) {
    return v->lanes > 1 ? 32 / v->lanes : part_bits(v->mask);
}

static int64_t pick(const Video *v, uint64_t from, uint64_t which, unsigned lane, bool is_signed) {
    unsigned k = which >> 4 * lane & 15, bits = 32 / v->lanes;
    if (v->lanes == 1) return extend(from >> part_at(k), part_bits(k), is_signed);
    return extend(from >> bits * k, bits, is_signed);
}

static bool compares(unsigned how, int64_t a, int64_t b) {
    switch (how) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
    }
}

static int64_t shift(const Video *v, int64_t a, int64_t b) {
    if (v->wrap) b &= 31;
    else if (b > 32) b = 32;
    return v->op == SHL ? (int64_t)((uint64_t)a << b) : a >> b;
}

static int64_t operate(const Video *v, int64_t a, int64_t b) {
    switch ((VideoOp)v->op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case ABSDIFF: return a < b ? b - a : a - b;
    case MIN: return a < b ? a : b;
    case MAX: return a > b ? a : b;
    case AVRG: return (a + b + (a + b >= 0)) >> 1;
    case SET: return compares(v->compare, a, b);
    default: return shift(v, a, b);
    }
}

static int64_t clamp(int64_t x, unsigned bits, bool is_signed) {
    int64_t most = (INT64_C(1) << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    return x > most ? most : x < least ? least : x;
}

/* .sat of a whole result: of a shift to the left 34 bits count, and a sum without a sign is clamped
** below alone. */
static int64_t saturate(const Video *v, int64_t x) {
    if (v->op == SHL) x = extend((uint64_t)x, 34, true);
    bool wraps = result_bits(v) == 32 && !v->signed_d && v->op != SHL && v->op != SHR;
    return wraps ? (x < 0 ? 0 : x) : clamp(x, result_bits(v), v->signed_d);
}

/* A single number meets c, or is put into its place in c. Numbers of 64 bits are compared: of a sum
** or a shift 32 bits are kept, and taken for signed. */
static uint32_t finish_one(const Video *v, int64_t x, uint32_t c) {
    uint64_t mask = ((1ull << part_bits(v->mask)) - 1) << part_at(v->mask);
    bool cut = v->op == ADD || v->op == SUB || v->op == SHL || v->op == SHR;
    int64_t y = cut ? (int32_t)x : x;
    bool less = v->signed_d ? y < (int32_t)c : (uint64_t)y < c;
    switch (v->second) {
    case SECOND_ADD: return (uint32_t)x + c;
    case SECOND_MIN: return less ? (uint32_t)x : c;
    case SECOND_MAX: return less ? c : (uint32_t)x;
    default:
        return v->merges ? (uint32_t)((c & ~mask) | ((uint64_t)x << part_at(v->mask) & mask))
                         : (uint32_t)x;
    }
}

static uint32_t one_number(const Video *v, uint32_t a, uint32_t b, uint32_t c) {
    int64_t x = operate(v, pick(v, a, v->a, 0, v->signed_a), pick(v, b, v->b, 0, v->signed_b));
    return finish_one(v, v->sat ? saturate(v, x) : x, c);
}

static uint32_t many_numbers(const Video *v, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t from = (uint64_t)b << 32 | a;
    unsigned bits = result_bits(v);
    uint32_t lane_mask = (1u << bits) - 1, result = c;
    for (unsigned k = 0; k < v->lanes; k++) {
        if (!(v->mask >> k & 1)) continue;
        int64_t x =
            operate(v, pick(v, from, v->a, k, v->signed_a), pick(v, from, v->b, k, v->signed_b));
        if (v->sat) x = clamp(x, bits, v->signed_d);
        if (v->second) result += (uint32_t)x;
        else result = (result & ~(lane_mask << bits * k)) | ((uint32_t)x & lane_mask) << bits * k;
    }
    return result;
}

/* The product and c, all taken for signed numbers of 32 bits; .po adds one. Where no
** operand is signed, the sum is shifted and clamped as unsigned; one below zero is then 0. */
static uint32_t multiply(const Video *v, uint32_t a, uint32_t b, uint32_t c) {
    bool is_signed = v->signed_a || v->signed_b || v->negates_product || v->negates_c;
    int64_t x = (int64_t)(int32_t)pick(v, a, v->a, 0, v->signed_a) *
                (int32_t)pick(v, b, v->b, 0, v->signed_b);
    int64_t y = (int32_t)c;
    x = (v->negates_product ? -x : x) + (v->negates_c ? -y : y) + v->plus_one;
    if (!v->sat || is_signed) x >>= v->scale;
    else x = (int64_t)((uint64_t)x >> v->scale);
    return (uint32_t)(v->sat ? clamp(x, 32, is_signed) : x);
}

static bool slow_video(Machine *m, Warp *w, const Ins *in) {
    Video v;
    (void)m;
    memcpy(&v, &in->imm, sizeof v);
    uint32_t (*run)(const Video *, uint32_t, uint32_t, uint32_t) = v.op == MAD   ? multiply
                                                                   : v.lanes > 1 ? many_numbers
                                                                                 : one_number;
    FOR_ACTIVE(w, i)
    LANE(U32, w, in->d, i) =
        run(&v, LANE(U32, w, in->a, i), LANE(U32, w, in->b, i), LANE(U32, w, in->c, i));
    return true;
}

/* What kernels ask for: of bytes without a sign. */
SLOW_OP(slow_vabsdiff4, U32, U32, U32, U32, num_vabsdiff4(a, b))
SLOW_OP(slow_vabsdiff4_add, U32, U32, U32, U32,
        (uint32_t)num_dp4a(num_vabsdiff4(a, b), false, 0x01010101, false, (int32_t)c))

static SlowFn video_function(const Video *v) {
    bool plain = v->op == ABSDIFF && v->lanes == 4 && v->a == 0x3210 && v->b == 0x7654;
    if (!plain || v->mask != 15 || v->signed_a || v->signed_b || v->sat) return slow_video;
    return v->second ? slow_vabsdiff4_add : slow_vabsdiff4;
}

/* --- decoding --- */

static int index_of(const char *word, const char *const *words, int n) {
    int k = 0;
    while (k < n && strcmp(words[k], word) != 0) k++;
    return k < n ? k : -1;
}

/* vadd, vadd2 or vadd4: the operation, and how many lanes. */
static bool video_opcode(const char *opcode, Video *v) {
    static const char *const ops[] = {"add",  "sub", "absdiff", "min", "max",
                                      "avrg", "shl", "shr",     "set", "mad"};
    char name[16];
    size_t n = strlen(opcode) - 1;
    if (n == 0 || n >= sizeof name) return false;
    memcpy(name, opcode + 1, n + 1);
    char last = name[n - 1];
    v->lanes = last == '2' || last == '4' ? (unsigned)(last - '0') & 7u : 1;
    if (v->lanes > 1) name[n - 1] = '\0';
    int op = index_of(name, ops, 10);
    v->op = (unsigned)op & 15u;
    return op >= 0;
}

/* A modifier that is no type. seen: those that were there before, a bit each. */
static bool video_word(Video *v, const char *word, uint32_t *seen) {
    static const char *const words[] = {"sat",  "add",  "min",   "max", "clamp",
                                        "wrap", "shr7", "shr15", "po",  "eq",
                                        "ne",   "lt",   "le",    "gt",  "ge"};
    int k = index_of(word, words, 15);
    if (k < 0 || *seen >> k & 1) return false;
    *seen |= 1u << k;
    if (k == 0) v->sat = 1;
    else if (k <= 3) v->second = (unsigned)k & 3u;
    else if (k == 5) v->wrap = 1;
    else if (k == 6) v->scale = 7;
    else if (k == 7) v->scale = 15;
    else if (k == 8) v->plus_one = 1;
    else if (k >= 9) v->compare = (unsigned)(k - 9) & 7u;
    return true;
}

/* Does the operation have these words, one of a kind? They are bits by the order of video_word. */
static bool words_agree(const Video *v, uint32_t seen) {
    uint32_t second = seen & 0xe, mode = seen & 0x30, scale = seen & 0xc0, compare = seen & 0x7e00;
    bool shifts = v->op == SHL || v->op == SHR;
    if ((second & (second - 1)) || (v->lanes > 1 && (second & ~2u))) return false;
    if (v->sat && (v->op == SET || (v->lanes > 1 && second))) return false;
    if (shifts ? mode != 0x10 && mode != 0x20 : mode != 0) return false;
    if (v->op == SET ? compare == 0 || (compare & (compare - 1)) : compare != 0) return false;
    if (v->op == MAD) return !second && scale != 0xc0;
    return !scale && !v->plus_one;
}

static bool video_words(Decoder *d, Video *v) {
    PtxType types[3] = {PTX_U32, PTX_U32, PTX_U32};
    uint32_t seen = 0;
    int n_types = v->op == SET;
    for (int i = 0; i < d->in->n_mods; i++) {
        const char *word = d->in->mods[i];
        bool is_type = ptx_word_in(word, "u32 s32");
        if (is_type && n_types < 3) ptx_type_parse(word, &types[n_types++]);
        else if (is_type || !video_word(v, word, &seen)) return decode_unknown(d);
    }
    v->signed_d = types[0] == PTX_S32, v->signed_a = types[1] == PTX_S32;
    v->signed_b = types[2] == PTX_S32;
    if (v->op == SET) v->signed_d = v->signed_a;
    bool shifts = v->op == SHL || v->op == SHR;
    bool fits = n_types == 3 && words_agree(v, seen) && !(shifts && v->signed_b) &&
                (v->lanes == 1 || (!shifts && v->op != MAD));
    return (fits && (v->op != AVRG || v->lanes > 1)) || decode_unknown(d);
}

/* What an operand without a selector has: all of it. */
static uint64_t all_of(unsigned lanes, int arg) {
    if (lanes == 1) return WHOLE;
    if (lanes == 2) return arg == 2 ? 0x32 : 0x10;
    return arg == 2 ? 0x7654 : 0x3210;
}

/* b0 … b3, h0, h1 of one number; the elements of all lanes, the highest first: h10, b3210. */
static bool selector(Decoder *d, const Video *v, int arg, uint64_t *out) {
    static const char *const parts[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
    const char *select = d->in->args[arg].select;
    unsigned n = v->lanes;
    *out = all_of(n, arg);
    if (select == NULL) return true;
    int part = index_of(select, parts, 6);
    *out = 0;
    if (n == 1 && part >= 0) *out = (uint64_t)part;
    bool fits = n == 1 ? part >= 0 : strlen(select) == n + 1 && select[0] == (n == 2 ? 'h' : 'b');
    for (unsigned k = 0; fits && n > 1 && k < n; k++) {
        unsigned digit = (unsigned)(select[1 + k] - '0');
        fits = digit < 2 * n;
        *out = *out << 4 | digit;
    }
    return fits || decode_fail(d, "there is no part .%s of this operand", select);
}

/* The lanes that are written, as digits that fall: h0, h10, b310. */
static bool lane_mask(Decoder *d, const Video *v, const char *select, uint64_t *out) {
    unsigned last = v->lanes;
    bool fits = select && select[0] == (v->lanes == 2 ? 'h' : 'b') && select[1];
    *out = (1u << v->lanes) - 1;
    if (select == NULL) return true;
    *out = 0;
    for (const char *p = select + 1; fits && *p; p++) {
        unsigned digit = (unsigned)(*p - '0');
        fits = digit < last;
        *out |= fits ? 1u << digit : 0;
        last = digit;
    }
    return fits || decode_fail(d, "there are no lanes .%s of this result", select);
}

/* Of many lanes all operands are registers. which: the elements, NULL where it has no parts. */
static bool video_source(Decoder *d, const Video *v, int arg, uint64_t *which, uint32_t *row) {
    PtxOperand op = d->in->args[arg];
    if (v->lanes > 1 && op.kind != PTX_OP_REG) return decode_fail(d, "a register is expected");
    if (which && !selector(d, v, arg, which)) return false;
    if (which) op.select = NULL;
    op.negated = false;
    return source(d, &op, 'w', arg - 1, row);
}

static bool video_result(Decoder *d, Video *v, uint32_t *row) {
    PtxOperand op = d->in->args[0];
    uint64_t mask;
    bool fits = v->lanes > 1 ? lane_mask(d, v, op.select, &mask) : selector(d, v, 0, &mask);
    if (!fits) return false;
    v->mask = mask & 15;
    v->merges = op.select && v->lanes == 1;
    if (v->merges && (v->second || v->op == MAD)) return decode_unknown(d);
    op.select = NULL;
    return dest(d, &op, 'w', row);
}

/* A minus stands before factors and the sum of a vmad without .po. */
static bool video_signs(const Decoder *d, Video *v) {
    const PtxOperand *args = d->in->args;
    v->negates_product = args[1].negated != args[2].negated;
    v->negates_c = d->in->n_args > 3 && args[3].negated;
    return !(v->plus_one && (args[1].negated || args[2].negated || v->negates_c));
}

/* vabsdiff4 of bytes without a sign is one machine instruction. Of the others ptxas 13.0 makes for
** sm_90: of one number 2 to 5, 8 to 15 where it saturates, scales or compares; 3 of vadd4 and vsub4
** without signs; of lanes 12 where vabsdiff2 has no sign, 17 to 44 else. */
static uint8_t video_cost(const Video *v) {
    bool is_signed = v->signed_a || v->signed_b;
    bool plain = v->a == 0x3210 && v->b == 0x7654 && v->mask == 15 && !v->sat;
    if (v->lanes == 1 && (v->sat || v->scale || v->op == SET)) return COST_LANES;
    if (v->lanes == 1) return v->op == MAD ? COST_MUL_WIDE : COST_ALU64;
    if (v->op == ABSDIFF && plain && !v->signed_d && v->signed_a == v->signed_b) return COST_ALU;
    if (plain && !is_signed && (v->op == ADD || v->op == SUB)) return COST_ALU64;
    return v->op == ABSDIFF && !is_signed ? COST_LANES : COST_LANES_SIGNED;
}

static bool decode_video(Decoder *d) {
    Video v = {0};
    uint64_t a, b, imm;
    uint32_t to, at[3] = {0};
    if (!video_opcode(d->in->opcode, &v) || !video_words(d, &v)) return decode_unknown(d);
    if (d->in->n_args < 3 || !video_result(d, &v, &to)) return decode_unknown(d);
    bool has_c = v.lanes > 1 || v.second || v.merges || v.op == MAD;
    bool is_left = !has_c && d->in->n_args == 4; /* ptxas takes a c that nothing is done with */
    if (d->in->n_args != 3 + has_c + is_left)
        return decode_fail(d, "%d operands are expected", 3 + has_c);
    if (!video_signs(d, &v)) return decode_unknown(d);
    if (!video_source(d, &v, 1, &a, &at[0]) || !video_source(d, &v, 2, &b, &at[1])) return false;
    if ((has_c || is_left) && !video_source(d, &v, 3, NULL, &at[2])) return false;
    if (is_left && (v.negates_c || d->in->args[3].select)) return decode_unknown(d);
    v.a = a & 0xffff, v.b = b & 0xffff;
    memcpy(&imm, &v, sizeof imm);
    emit_slow(d, video_function(&v), to, at[0], at[1], at[2], imm);
    d->cost[d->index] = video_cost(&v);
    return true;
}

#define VIDEO(opcode)       CUSTOM(opcode, decode_video, ALU)
#define VIDEO_LANES(opcode) VIDEO(opcode), VIDEO(opcode "2"), VIDEO(opcode "4")

const Form forms_video[] = {VIDEO_LANES("vadd"), VIDEO_LANES("vsub"), VIDEO_LANES("vabsdiff"),
                            VIDEO_LANES("vmin"), VIDEO_LANES("vmax"), VIDEO_LANES("vset"),
                            VIDEO("vavrg2"),     VIDEO("vavrg4"),     VIDEO("vshl"),
                            VIDEO("vshr"),       VIDEO("vmad"),       FORMS_END};
