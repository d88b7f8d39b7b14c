/* emu_instructions_int.c - integer, logic and shift instructions of the virtual GPU against plain
** C, wider types and loops over bits. */
#include "emu_kit.h"

#define U16(x) ((uint16_t)(x))
#define S16(x) ((int16_t)(x))
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
typedef __int128 s128;
typedef unsigned __int128 u128;

/* ---- sums and products ---- */

WANT(add, a + b)
WANT(sub, a - b)
WANT(mul, a *b)
WANT(mul_hi_s16, S16(a) * S16(b) >> 16)
WANT(mul_hi_u16, U32(U16(a)) * U16(b) >> 16)
WANT(mul_hi_s32, S64(S32(a)) * S32(b) >> 32)
WANT(mul_hi_u32, (uint64_t)U32(a) * U32(b) >> 32)
WANT(mul_hi_s64, (s128)S64(a) * S64(b) >> 64)
WANT(mul_hi_u64, (u128)a *b >> 64)
WANT(wide_s16, S16(a) * S16(b))
WANT(wide_u16, U32(U16(a)) * U16(b))
WANT(wide_s32, S64(S32(a)) * S32(b))
WANT(wide_u32, (uint64_t)U32(a) * U32(b))
WANT(mad, a *b + c)
WANT(mad_hi_s32, (S64(S32(a)) * S32(b) >> 32) + S64(c))
WANT(mad_hi_u32, ((uint64_t)U32(a) * U32(b) >> 32) + c)
WANT(mad_hi_u64, (uint64_t)((u128)a *b >> 64) + c)
WANT(mad_hi_s64, (uint64_t)((s128)S64(a) * S64(b) >> 64) + c)
WANT(mad_wide_s16, U32(S16(a) * S16(b)) + c)
WANT(mad_wide_u16, U32(U16(a)) * U16(b) + c)
WANT(mad_wide_s32, (uint64_t)(S64(S32(a)) * S32(b)) + c)
WANT(mad_wide_u32, (uint64_t)U32(a) * U32(b) + c)

static int64_t clamp32(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
}
WANT(add_sat, clamp32(S64(S32(a)) + S32(b)))
WANT(sub_sat, clamp32(S64(S32(a)) - S32(b)))
WANT(mad_hi_sat, clamp32((S64(S32(a)) * S32(b) >> 32) + S32(c)))

static int64_t s24(uint64_t x) {
    return (int64_t)(x << 40) >> 40;
}
WANT(mul24_lo_s, s24(a) * s24(b))
WANT(mul24_lo_u, (a & 0xffffff) * (b & 0xffffff))
WANT(mul24_hi_s, s24(a) * s24(b) >> 16)
WANT(mul24_hi_u, (a & 0xffffff) * (b & 0xffffff) >> 16)
WANT(mad24_lo_s, (uint64_t)(s24(a) * s24(b)) + c)
WANT(mad24_lo_u, (a & 0xffffff) * (b & 0xffffff) + c)

static uint64_t lanes16(uint64_t a, uint64_t b, int (*f)(int, int)) {
    int low = f(S16(a), S16(b)), high = f(S16(a >> 16), S16(b >> 16));
    return (uint64_t)U16(high) << 16 | U16(low);
}
static int lane_add(int x, int y) {
    return x + y;
}
static int lane_max(int x, int y) {
    return x > y ? x : y;
}
static int lane_min(int x, int y) {
    return x < y ? x : y;
}
static int lane_max_relu(int x, int y) {
    return lane_max(lane_max(x, y), 0);
}
static int lane_min_relu(int x, int y) {
    return lane_max(lane_min(x, y), 0);
}
static int lane_umax(int x, int y) {
    return U16(x) > U16(y) ? x : y;
}
static int lane_umin(int x, int y) {
    return U16(x) < U16(y) ? x : y;
}
WANT(add_16x2, lanes16(a, b, lane_add))
WANT(max_s16x2, lanes16(a, b, lane_max))
WANT(min_s16x2, lanes16(a, b, lane_min))
WANT(max_s16x2_relu, lanes16(a, b, lane_max_relu))
WANT(min_s16x2_relu, lanes16(a, b, lane_min_relu))
WANT(max_u16x2, lanes16(a, b, lane_umax))
WANT(min_u16x2, lanes16(a, b, lane_umin))

static const Form sums[] = {
    {"add.s16 $0, $1, $2;", "h:hh", add, 0, 0},
    {"add.u16 $0, $1, $2;", "h:hh", add, 0, 0},
    {"add.s32 $0, $1, $2;", "w:ww", add, 0, 0},
    {"add.u32 $0, $1, $2;", "w:ww", add, 0, 0},
    {"add.s64 $0, $1, $2;", "l:ll", add, 0, 0},
    {"add.u64 $0, $1, $2;", "l:ll", add, 0, 0},
    {"add.sat.s32 $0, $1, $2;", "w:ww", add_sat, 0, 0},
    {"add.s16x2 $0, $1, $2;", "v:vv", add_16x2, 0, 0},
    {"add.u16x2 $0, $1, $2;", "v:vv", add_16x2, 0, 0},
    {"sub.s16 $0, $1, $2;", "h:hh", sub, 0, 0},
    {"sub.s32 $0, $1, $2;", "w:ww", sub, 0, 0},
    {"sub.u32 $0, $1, $2;", "w:ww", sub, 0, 0},
    {"sub.s64 $0, $1, $2;", "l:ll", sub, 0, 0},
    {"sub.u64 $0, $1, $2;", "l:ll", sub, 0, 0},
    {"sub.sat.s32 $0, $1, $2;", "w:ww", sub_sat, 0, 0},
    {"mul.lo.s16 $0, $1, $2;", "h:hh", mul, 0, 0},
    {"mul.lo.u16 $0, $1, $2;", "h:hh", mul, 0, 0},
    {"mul.lo.s32 $0, $1, $2;", "w:ww", mul, 0, 0},
    {"mul.lo.u32 $0, $1, $2;", "w:ww", mul, 0, 0},
    {"mul.lo.s64 $0, $1, $2;", "l:ll", mul, 0, 0},
    {"mul.lo.u64 $0, $1, $2;", "l:ll", mul, 0, 0},
    {"mul.hi.s16 $0, $1, $2;", "h:hh", mul_hi_s16, 0, 0},
    {"mul.hi.u16 $0, $1, $2;", "h:hh", mul_hi_u16, 0, 0},
    {"mul.hi.s32 $0, $1, $2;", "w:ww", mul_hi_s32, 0, 0},
    {"mul.hi.u32 $0, $1, $2;", "w:ww", mul_hi_u32, 0, 0},
    {"mul.hi.s64 $0, $1, $2;", "l:ll", mul_hi_s64, 0, 0},
    {"mul.hi.u64 $0, $1, $2;", "l:ll", mul_hi_u64, 0, 0},
    {"mul.wide.s16 $0, $1, $2;", "w:hh", wide_s16, 0, 0},
    {"mul.wide.u16 $0, $1, $2;", "w:hh", wide_u16, 0, 0},
    {"mul.wide.s32 $0, $1, $2;", "l:ww", wide_s32, 0, 0},
    {"mul.wide.u32 $0, $1, $2;", "l:ww", wide_u32, 0, 0},
    {"mad.lo.s16 $0, $1, $2, $3;", "h:hhh", mad, 0, 0},
    {"mad.lo.u16 $0, $1, $2, $3;", "h:hhh", mad, 0, 0},
    {"mad.lo.s32 $0, $1, $2, $3;", "w:www", mad, 0, 0},
    {"mad.lo.u32 $0, $1, $2, $3;", "w:www", mad, 0, 0},
    {"mad.lo.s64 $0, $1, $2, $3;", "l:lll", mad, 0, 0},
    {"mad.lo.u64 $0, $1, $2, $3;", "l:lll", mad, 0, 0},
    {"mad.hi.s32 $0, $1, $2, $3;", "w:www", mad_hi_s32, 0, 0},
    {"mad.hi.u32 $0, $1, $2, $3;", "w:www", mad_hi_u32, 0, 0},
    {"mad.hi.s64 $0, $1, $2, $3;", "l:lll", mad_hi_s64, 0, 0},
    {"mad.hi.u64 $0, $1, $2, $3;", "l:lll", mad_hi_u64, 0, 0},
    {"mad.hi.sat.s32 $0, $1, $2, $3;", "w:www", mad_hi_sat, 0, 0},
    {"mad.wide.s16 $0, $1, $2, $3;", "w:hhw", mad_wide_s16, 0, 0},
    {"mad.wide.u16 $0, $1, $2, $3;", "w:hhw", mad_wide_u16, 0, 0},
    {"mad.wide.s32 $0, $1, $2, $3;", "l:wwl", mad_wide_s32, 0, 0},
    {"mad.wide.u32 $0, $1, $2, $3;", "l:wwl", mad_wide_u32, 0, 0},
    {"mul24.lo.s32 $0, $1, $2;", "w:ww", mul24_lo_s, 0, 0},
    {"mul24.lo.u32 $0, $1, $2;", "w:ww", mul24_lo_u, 0, 0},
    {"mul24.hi.s32 $0, $1, $2;", "w:ww", mul24_hi_s, 0, 0},
    {"mul24.hi.u32 $0, $1, $2;", "w:ww", mul24_hi_u, 0, 0},
    {"mad24.lo.s32 $0, $1, $2, $3;", "w:www", mad24_lo_s, 0, 0},
    {"mad24.lo.u32 $0, $1, $2, $3;", "w:www", mad24_lo_u, 0, 0},
    {"max.s16x2 $0, $1, $2;", "v:vv", max_s16x2, 0, 0},
    {"min.s16x2 $0, $1, $2;", "v:vv", min_s16x2, 0, 0},
    {"max.s16x2.relu $0, $1, $2;", "v:vv", max_s16x2_relu, 0, 0},
    {"min.s16x2.relu $0, $1, $2;", "v:vv", min_s16x2_relu, 0, 0},
    {"max.u16x2 $0, $1, $2;", "v:vv", max_u16x2, 0, 0},
    {"min.u16x2 $0, $1, $2;", "v:vv", min_u16x2, 0, 0},
};

/* ---- carries: chains against 96- and 128-bit sums ---- */

static uint64_t pick(u128 wide, int part) {
    return (uint64_t)(wide >> 32 * part) & 0xffffffff;
}

static u128 join(uint64_t low, uint64_t high) {
    return (u128)U32(high) << 32 | U32(low);
}

/* {b:a} + {d:c} in 32-bit words */
WANT(carry_low, join(a, b) + join(c, d))
WANT(carry_out, pick(join(a, b) + join(c, d), 2))
WANT(borrow_low, join(a, b) - join(c, d))
WANT(borrow_out, (join(a, b) < join(c, d) ? -1 : 0))
/* a * b + {d:c}, the top 32 bits of 96 */
WANT(mad_cc_low, (u128)U32(a) * U32(b) + join(c, d))
WANT(mad_cc_out, pick((u128)U32(a) * U32(b) + join(c, d), 2))
/* a chain of 64-bit words: carry of a + b, plus c */
WANT(carry_64, (uint64_t)(((u128)a + b) >> 64) + c)
WANT(borrow_64, c - (a < b))

/* one flag: the carry out of a + b or of a + ~b + 1, whoever goes on from it */
#define LOW(x)             ((x) & 0xffffffff)
#define CARRY_32(a, b)     ((LOW(a) + LOW(b)) >> 32)
#define NO_BORROW_32(a, b) (LOW(a) >= LOW(b))
WANT(sub_addc, c + NO_BORROW_32(a, b))
WANT(add_subc, c + ~d + CARRY_32(a, b))
WANT(sub_madc, c * d + 7 + NO_BORROW_32(a, b))
WANT(mad_subc, d + ~(uint64_t)1 + CARRY_32(a * b, c))
WANT(add_subc_out, (LOW(c) + LOW(~d) + CARRY_32(a, b)) >> 32)
WANT(sub_madc_out, ((LOW(c) * LOW(d) >> 32) + LOW(a) + NO_BORROW_32(a, b)) >> 32)
WANT(sub_addc_64, c + (a >= b))
WANT(add_subc_64, c + ~(uint64_t)1 + (((u128)a + b) >> 64))
WANT(sub_madc_64, c * c + 5 + (a >= b))
WANT(mad_subc_64, b + ~c + (((u128)(a * b) + c) >> 64))

#define LONG "{ .reg .b32 l, h;\n"
static const Form carries[] = {
    {LONG "add.cc.u32 l, $1, $3;\naddc.u32 h, $2, $4;\nmov.b64 $0, {l, h}; }", "l:wwww", carry_low,
     0, 0},
    {LONG "add.cc.u32 l, $1, $3;\naddc.cc.u32 h, $2, $4;\naddc.u32 $0, 0, 0; }", "w:wwww",
     carry_out, 0, 0},
    {LONG "add.cc.s32 l, $1, $3;\naddc.cc.s32 h, $2, $4;\naddc.s32 $0, 0, 0; }", "w:wwww",
     carry_out, 0, 0},
    {LONG "sub.cc.u32 l, $1, $3;\nsubc.u32 h, $2, $4;\nmov.b64 $0, {l, h}; }", "l:wwww", borrow_low,
     0, 0},
    {LONG "sub.cc.u32 l, $1, $3;\nsubc.cc.u32 h, $2, $4;\nsubc.u32 $0, 0, 0; }", "w:wwww",
     borrow_out, 0, 0},
    {LONG "mad.lo.cc.u32 l, $1, $2, $3;\nmadc.hi.u32 h, $1, $2, $4;\nmov.b64 $0, {l, h}; }",
     "l:wwww", mad_cc_low, 0, 0},
    {LONG "mad.lo.cc.u32 l, $1, $2, $3;\nmadc.hi.cc.u32 h, $1, $2, $4;\naddc.u32 $0, 0, 0; }",
     "w:wwww", mad_cc_out, 0, 0},
    {LONG "add.cc.u32 l, $1, $3;\nmadc.lo.cc.u32 h, $2, 1, $4;\naddc.u32 $0, 0, 0; }", "w:wwww",
     carry_out, 0, 0},
    {"{ .reg .b64 l;\nadd.cc.u64 l, $1, $2;\naddc.u64 $0, $3, 0; }", "l:lll", carry_64, 0, 0},
    {"{ .reg .b64 l;\nsub.cc.u64 l, $1, $2;\nsubc.u64 $0, $3, 0; }", "l:lll", borrow_64, 0, 0},
    {LONG "sub.cc.s32 l, $1, $2;\naddc.s32 $0, $3, 0; }", "w:www", sub_addc, 0, 0},
    {LONG "add.cc.u32 l, $1, $2;\nsubc.u32 $0, $3, $4; }", "w:wwww", add_subc, 0, 0},
    {LONG "sub.cc.u32 l, $1, $2;\nmadc.lo.u32 $0, $3, $4, 7; }", "w:wwww", sub_madc, 0, 0},
    {LONG "mad.lo.cc.u32 l, $1, $2, $3;\nsubc.u32 $0, $4, 1; }", "w:wwww", mad_subc, 0, 0},
    {LONG "add.cc.u32 l, $1, $2;\nsubc.cc.u32 h, $3, $4;\naddc.u32 $0, 0, 0; }", "w:wwww",
     add_subc_out, 0, 0},
    {LONG "sub.cc.u32 l, $1, $2;\nmadc.hi.cc.u32 h, $3, $4, $1;\naddc.u32 $0, 0, 0; }", "w:wwww",
     sub_madc_out, 0, 0},
    {"{ .reg .b64 l;\nsub.cc.s64 l, $1, $2;\naddc.s64 $0, $3, 0; }", "l:lll", sub_addc_64, 0, 0},
    {"{ .reg .b64 l;\nadd.cc.u64 l, $1, $2;\nsubc.u64 $0, $3, 1; }", "l:lll", add_subc_64, 0, 0},
    {"{ .reg .b64 l;\nsub.cc.u64 l, $1, $2;\nmadc.lo.u64 $0, $3, $3, 5; }", "l:lll", sub_madc_64,
     0, 0},
    {"{ .reg .b64 l;\nmad.lo.cc.u64 l, $1, $2, $3;\nsubc.u64 $0, $2, $3; }", "l:lll",
     mad_subc_64, 0, 0},
};

/* ---- division. PTX leaves what is divided by zero open; an H200 gives all ones, for the remainder
** too ---- */

static uint64_t safe_div(s128 a, s128 b) {
    return (uint64_t)(b ? a / b : 0);
}
static uint64_t safe_rem(s128 a, s128 b) {
    return (uint64_t)(b ? a % b : 0);
}
WANT(div_s16, safe_div(S16(a), S16(b) | 1))
WANT(div_u16, safe_div(U16(a), U16(b) | 1))
WANT(div_s32, safe_div(S32(a), S32(b) | 1))
WANT(div_u32, safe_div(U32(a), U32(b) | 1))
WANT(div_s64, safe_div(S64(a), S64(b) | 1))
WANT(div_u64, safe_div((s128)a, (s128)(b | 1)))
WANT(rem_s16, safe_rem(S16(a), S16(b) | 1))
WANT(rem_u16, safe_rem(U16(a), U16(b) | 1))
WANT(rem_s32, safe_rem(S32(a), S32(b) | 1))
WANT(rem_u32, safe_rem(U32(a), U32(b) | 1))
WANT(rem_s64, safe_rem(S64(a), S64(b) | 1))
WANT(rem_u64, safe_rem((s128)a, (s128)(b | 1)))
WANT(ones_32, UINT32_MAX)
WANT(ones_64, UINT64_MAX)

#define DIV(op, type, width)                                                                       \
    "{ .reg .b" width " t;\nor.b" width " t, $2, 1;\n" op "." type width " $0, $1, t; }"
#define BY_ZERO(op, type, width)                                                                   \
    "{ .reg .b" width " t;\nand.b" width " t, $1, 0;\n" op "." type width " $0, $1, t; }"
static const Form divisions[] = {
    {DIV("div", "s", "16"), "h:hh", div_s16, 0, 0},
    {DIV("div", "u", "16"), "h:hh", div_u16, 0, 0},
    {DIV("div", "s", "32"), "w:ww", div_s32, 0, 0},
    {DIV("div", "u", "32"), "w:ww", div_u32, 0, 0},
    {DIV("div", "s", "64"), "l:ll", div_s64, 0, 0},
    {DIV("div", "u", "64"), "l:ll", div_u64, 0, 0},
    {DIV("rem", "s", "16"), "h:hh", rem_s16, 0, 0},
    {DIV("rem", "u", "16"), "h:hh", rem_u16, 0, 0},
    {DIV("rem", "s", "32"), "w:ww", rem_s32, 0, 0},
    {DIV("rem", "u", "32"), "w:ww", rem_u32, 0, 0},
    {DIV("rem", "s", "64"), "l:ll", rem_s64, 0, 0},
    {DIV("rem", "u", "64"), "l:ll", rem_u64, 0, 0},
    {BY_ZERO("div", "s", "32"), "w:w", ones_32, 0, 0},
    {BY_ZERO("div", "u", "32"), "w:w", ones_32, 0, 0},
    {BY_ZERO("div", "s", "64"), "l:l", ones_64, 0, 0},
    {BY_ZERO("div", "u", "64"), "l:l", ones_64, 0, 0},
    {BY_ZERO("rem", "s", "32"), "w:w", ones_32, 0, 0},
    {BY_ZERO("rem", "u", "64"), "l:l", ones_64, 0, 0},
};

/* ---- comparing, choosing ---- */

WANT(abs_s16, S16(a) < 0 ? -a : a)
WANT(abs_s32, S32(a) < 0 ? -a : a)
WANT(abs_s64, S64(a) < 0 ? -a : a)
WANT(neg, -a)
WANT(max_s16, S16(a) > S16(b) ? a : b)
WANT(max_u16, U16(a) > U16(b) ? a : b)
WANT(max_s32, S32(a) > S32(b) ? a : b)
WANT(max_u32, U32(a) > U32(b) ? a : b)
WANT(max_s64, S64(a) > S64(b) ? a : b)
WANT(max_u64, a > b ? a : b)
WANT(min_s16, S16(a) < S16(b) ? a : b)
WANT(min_u16, U16(a) < U16(b) ? a : b)
WANT(min_s32, S32(a) < S32(b) ? a : b)
WANT(min_u32, U32(a) < U32(b) ? a : b)
WANT(min_s64, S64(a) < S64(b) ? a : b)
WANT(min_u64, a < b ? a : b)
WANT(max_s32_relu, S32(a) > S32(b) ? (S32(a) > 0 ? a : 0) : (S32(b) > 0 ? b : 0))
WANT(min_s32_relu, S32(a) < S32(b) ? (S32(a) > 0 ? a : 0) : (S32(b) > 0 ? b : 0))
WANT(copy, a)
WANT(select_c, c & 1 ? a : b)
WANT(slct_s32, S32(c) >= 0 ? a : b)
WANT(slct_f32, kit_f32(c) >= 0 || (kit_f32(c) == 0) ? a : b)

static const Form choices[] = {
    {"abs.s16 $0, $1;", "h:h", abs_s16, 0, 0},
    {"abs.s32 $0, $1;", "w:w", abs_s32, 0, 0},
    {"abs.s64 $0, $1;", "l:l", abs_s64, 0, 0},
    {"neg.s16 $0, $1;", "h:h", neg, 0, 0},
    {"neg.s32 $0, $1;", "w:w", neg, 0, 0},
    {"neg.s64 $0, $1;", "l:l", neg, 0, 0},
    {"max.s16 $0, $1, $2;", "h:hh", max_s16, 0, 0},
    {"max.u16 $0, $1, $2;", "h:hh", max_u16, 0, 0},
    {"max.s32 $0, $1, $2;", "w:ww", max_s32, 0, 0},
    {"max.u32 $0, $1, $2;", "w:ww", max_u32, 0, 0},
    {"max.s64 $0, $1, $2;", "l:ll", max_s64, 0, 0},
    {"max.u64 $0, $1, $2;", "l:ll", max_u64, 0, 0},
    {"max.s32.relu $0, $1, $2;", "w:ww", max_s32_relu, 0, 0},
    {"min.s16 $0, $1, $2;", "h:hh", min_s16, 0, 0},
    {"min.u16 $0, $1, $2;", "h:hh", min_u16, 0, 0},
    {"min.s32 $0, $1, $2;", "w:ww", min_s32, 0, 0},
    {"min.u32 $0, $1, $2;", "w:ww", min_u32, 0, 0},
    {"min.s64 $0, $1, $2;", "l:ll", min_s64, 0, 0},
    {"min.u64 $0, $1, $2;", "l:ll", min_u64, 0, 0},
    {"min.s32.relu $0, $1, $2;", "w:ww", min_s32_relu, 0, 0},
    {"mov.b16 $0, $1;", "h:h", copy, 0, 0},
    {"mov.u16 $0, $1;", "h:h", copy, 0, 0},
    {"mov.b32 $0, $1;", "w:w", copy, 0, 0},
    {"mov.u32 $0, $1;", "w:w", copy, 0, 0},
    {"mov.s32 $0, $1;", "w:w", copy, 0, 0},
    {"mov.b64 $0, $1;", "l:l", copy, 0, 0},
    {"mov.u64 $0, $1;", "l:l", copy, 0, 0},
    {"mov.s64 $0, $1;", "l:l", copy, 0, 0},
    {"mov.pred $0, $1;", "p:p", copy, 0, 0},
    {"selp.b16 $0, $1, $2, $3;", "h:hhp", select_c, 0, 0},
    {"selp.u16 $0, $1, $2, $3;", "h:hhp", select_c, 0, 0},
    {"selp.b32 $0, $1, $2, $3;", "w:wwp", select_c, 0, 0},
    {"selp.u32 $0, $1, $2, $3;", "w:wwp", select_c, 0, 0},
    {"selp.s32 $0, $1, $2, $3;", "w:wwp", select_c, 0, 0},
    {"selp.b64 $0, $1, $2, $3;", "l:llp", select_c, 0, 0},
    {"selp.u64 $0, $1, $2, $3;", "l:llp", select_c, 0, 0},
    {"slct.u32.s32 $0, $1, $2, $3;", "w:www", slct_s32, 0, 0},
    {"slct.b64.s32 $0, $1, $2, $3;", "l:llw", slct_s32, 0, 0},
    {"slct.b32.f32 $0, $1, $2, $3;", "w:wwf", slct_f32, 0, 0},
};

/* setp for every comparison, signedness and width */
#define COMPARE(type, cast)                                                                        \
    WANT(eq_##type, cast(a) == cast(b))                                                            \
    WANT(ne_##type, cast(a) != cast(b))                                                            \
    WANT(lt_##type, cast(a) < cast(b))                                                             \
    WANT(le_##type, cast(a) <= cast(b))                                                            \
    WANT(gt_##type, cast(a) > cast(b))                                                             \
    WANT(ge_##type, cast(a) >= cast(b))
COMPARE(s16, S16)
COMPARE(u16, U16)
COMPARE(s32, S32)
COMPARE(u32, U32)
COMPARE(s64, S64)
COMPARE(u64, (uint64_t))

#define ORDERED(type, types)                                                                       \
    {"setp.eq." #type " $0, $1, $2;", types, eq_##type, 0, 0},                                     \
        {"setp.ne." #type " $0, $1, $2;", types, ne_##type, 0, 0},                                 \
        {"setp.lt." #type " $0, $1, $2;", types, lt_##type, 0, 0},                                 \
        {"setp.le." #type " $0, $1, $2;", types, le_##type, 0, 0},                                 \
        {"setp.gt." #type " $0, $1, $2;", types, gt_##type, 0, 0}, {                               \
        "setp.ge." #type " $0, $1, $2;", types, ge_##type, 0, 0                                    \
    }

WANT(lo_u32, U32(a) < U32(b))
WANT(ls_u32, U32(a) <= U32(b))
WANT(hi_u32, U32(a) > U32(b))
WANT(hs_u32, U32(a) >= U32(b))
WANT(lt_and, S32(a) < S32(b) && (c & 1))
WANT(lt_or, S32(a) < S32(b) || (c & 1))
WANT(lt_xor, (S32(a) < S32(b)) != (c & 1))
WANT(lt_and_not, S32(a) < S32(b) && !(c & 1))
WANT(second_and, !(S32(a) < S32(b)) && (c & 1))
WANT(set_u32, S32(a) < S32(b) ? 0xffffffff : 0)
WANT(set_f32, S32(a) < S32(b) ? 0x3f800000 : 0)
WANT(set_and, S32(a) < S32(b) && (c & 1) ? 0xffffffff : 0)

static const Form comparisons[] = {
    ORDERED(s16, "p:hh"),
    ORDERED(u16, "p:hh"),
    ORDERED(s32, "p:ww"),
    ORDERED(u32, "p:ww"),
    ORDERED(s64, "p:ll"),
    ORDERED(u64, "p:ll"),
    {"setp.eq.b16 $0, $1, $2;", "p:hh", eq_u16, 0, 0},
    {"setp.eq.b32 $0, $1, $2;", "p:ww", eq_u32, 0, 0},
    {"setp.ne.b32 $0, $1, $2;", "p:ww", ne_u32, 0, 0},
    {"setp.eq.b64 $0, $1, $2;", "p:ll", eq_u64, 0, 0},
    {"setp.ne.b64 $0, $1, $2;", "p:ll", ne_u64, 0, 0},
    {"setp.lo.u32 $0, $1, $2;", "p:ww", lo_u32, 0, 0},
    {"setp.ls.u32 $0, $1, $2;", "p:ww", ls_u32, 0, 0},
    {"setp.hi.u32 $0, $1, $2;", "p:ww", hi_u32, 0, 0},
    {"setp.hs.u32 $0, $1, $2;", "p:ww", hs_u32, 0, 0},
    {"setp.lt.and.s32 $0, $1, $2, $3;", "p:wwp", lt_and, 0, 0},
    {"setp.lt.or.s32 $0, $1, $2, $3;", "p:wwp", lt_or, 0, 0},
    {"setp.lt.xor.s32 $0, $1, $2, $3;", "p:wwp", lt_xor, 0, 0},
    {"setp.lt.and.s32 $0, $1, $2, !$3;", "p:wwp", lt_and_not, 0, 0},
    {"{ .reg .pred q;\nsetp.lt.s32 q|$0, $1, $2; }", "p:ww", ge_s32, 0, 0},
    {"{ .reg .pred q;\nsetp.lt.and.s32 q|$0, $1, $2, $3; }", "p:wwp", second_and, 0, 0},
    {"set.lt.u32.s32 $0, $1, $2;", "w:ww", set_u32, 0, 0},
    {"set.lt.f32.s32 $0, $1, $2;", "F:ww", set_f32, 0, 0},
    {"set.lt.and.u32.s32 $0, $1, $2, $3;", "w:wwp", set_and, 0, 0},
};

/* ---- logic and shifts ---- */

WANT(and_, a &b)
WANT(or_, a | b)
WANT(xor_, a ^ b)
WANT(not_, ~a)
WANT(not_pred, !(a & 1))
WANT(cnot, U32(a) == 0)
WANT(shl16, U32(b) > 15 ? 0 : a << U32(b))
WANT(shl32, U32(b) > 31 ? 0 : a << U32(b))
WANT(shl64, U32(b) > 63 ? 0 : a << U32(b))
WANT(shr_u16, U32(b) > 15 ? 0 : U16(a) >> U32(b))
WANT(shr_s16, S16(a) >> (U32(b) > 15 ? 15 : U32(b)))
WANT(shr_u32, U32(b) > 31 ? 0 : U32(a) >> U32(b))
WANT(shr_s32, S32(a) >> (U32(b) > 31 ? 31 : U32(b)))
WANT(shr_u64, U32(b) > 63 ? 0 : a >> U32(b))
WANT(shr_s64, S64(a) >> (U32(b) > 63 ? 63 : U32(b)))
WANT(shf_l_wrap, join(a, b) << (c & 31) >> 32)
WANT(shf_r_wrap, join(a, b) >> (c & 31))
WANT(shf_l_clamp, join(a, b) << (U32(c) > 32 ? 32 : U32(c)) >> 32)
WANT(shf_r_clamp, join(a, b) >> (U32(c) > 32 ? 32 : U32(c)))
WANT(lop3_96, a ^ b ^ c)
WANT(lop3_e8, (a & b) | (a & c) | (b & c))
WANT(lop3_2a, ~(a | b) & c)

static const Form logic[] = {
    {"and.b16 $0, $1, $2;", "h:hh", and_, 0, 0},
    {"and.b32 $0, $1, $2;", "w:ww", and_, 0, 0},
    {"and.b64 $0, $1, $2;", "l:ll", and_, 0, 0},
    {"and.pred $0, $1, $2;", "p:pp", and_, 0, 0},
    {"or.b16 $0, $1, $2;", "h:hh", or_, 0, 0},
    {"or.b32 $0, $1, $2;", "w:ww", or_, 0, 0},
    {"or.b64 $0, $1, $2;", "l:ll", or_, 0, 0},
    {"or.pred $0, $1, $2;", "p:pp", or_, 0, 0},
    {"xor.b16 $0, $1, $2;", "h:hh", xor_, 0, 0},
    {"xor.b32 $0, $1, $2;", "w:ww", xor_, 0, 0},
    {"xor.b64 $0, $1, $2;", "l:ll", xor_, 0, 0},
    {"xor.pred $0, $1, $2;", "p:pp", xor_, 0, 0},
    {"not.b16 $0, $1;", "h:h", not_, 0, 0},
    {"not.b32 $0, $1;", "w:w", not_, 0, 0},
    {"not.b64 $0, $1;", "l:l", not_, 0, 0},
    {"not.pred $0, $1;", "p:p", not_pred, 0, 0},
    {"cnot.b32 $0, $1;", "w:w", cnot, 0, 0},
    {"shl.b16 $0, $1, $2;", "h:hs", shl16, 0, 0},
    {"shl.b32 $0, $1, $2;", "w:ws", shl32, 0, 0},
    {"shl.b64 $0, $1, $2;", "l:ls", shl64, 0, 0},
    {"shr.u16 $0, $1, $2;", "h:hs", shr_u16, 0, 0},
    {"shr.s16 $0, $1, $2;", "h:hs", shr_s16, 0, 0},
    {"shr.u32 $0, $1, $2;", "w:ws", shr_u32, 0, 0},
    {"shr.b32 $0, $1, $2;", "w:ws", shr_u32, 0, 0},
    {"shr.s32 $0, $1, $2;", "w:ws", shr_s32, 0, 0},
    {"shr.u64 $0, $1, $2;", "l:ls", shr_u64, 0, 0},
    {"shr.b64 $0, $1, $2;", "l:ls", shr_u64, 0, 0},
    {"shr.s64 $0, $1, $2;", "l:ls", shr_s64, 0, 0},
    {"shf.l.wrap.b32 $0, $1, $2, $3;", "w:wws", shf_l_wrap, 0, 0},
    {"shf.r.wrap.b32 $0, $1, $2, $3;", "w:wws", shf_r_wrap, 0, 0},
    {"shf.l.clamp.b32 $0, $1, $2, $3;", "w:wws", shf_l_clamp, 0, 0},
    {"shf.r.clamp.b32 $0, $1, $2, $3;", "w:wws", shf_r_clamp, 0, 0},
    {"lop3.b32 $0, $1, $2, $3, 0x96;", "w:www", lop3_96, 0, 0},
    {"lop3.b32 $0, $1, $2, $3, 0xe8;", "w:www", lop3_e8, 0, 0},
    {"lop3.b32 $0, $1, $2, $3, 0x2;", "w:www", lop3_2a, 0, 0},
};

/* ---- bit fields and counting ---- */

/* A position or length: its low 8 bits; of 64-bit fields all of it, as an H200 does. */
static int field(uint64_t x, int bits) {
    uint32_t n = bits == 64 ? (uint32_t)x : x & 255;
    return n < 256 ? (int)n : 256;
}

static uint64_t bfe(uint64_t a, uint64_t b, uint64_t c, int bits, bool is_signed) {
    int p = field(b, bits), n = field(c, bits), msb = bits - 1;
    int last = p + n - 1 < msb ? p + n - 1 : msb;
    uint64_t sign = is_signed && n > 0 ? a >> last & 1 : 0, d = 0;
    for (int i = 0; i <= msb; i++) d |= (i < n && p + i <= msb ? a >> (p + i) & 1 : sign) << i;
    return d;
}

static uint64_t bfi(uint64_t a, uint64_t b, uint64_t c, uint64_t d, int bits) {
    int p = field(c, bits), n = field(d, bits);
    for (int i = 0; i < n && p + i < bits; i++)
        b = (b & ~(UINT64_C(1) << (p + i))) | (a >> i & 1) << (p + i);
    return b;
}

static uint64_t count(uint64_t a, int bits) {
    uint64_t n = 0;
    for (int i = 0; i < bits; i++) n += a >> i & 1;
    return n;
}

static uint64_t reverse(uint64_t a, int bits) {
    uint64_t d = 0;
    for (int i = 0; i < bits; i++) d |= (a >> i & 1) << (bits - 1 - i);
    return d;
}

static uint64_t find(uint64_t a, int bits, bool is_signed, bool shift) {
    uint64_t sign = is_signed ? a >> (bits - 1) & 1 : 0;
    for (int i = bits - 1; i >= 0; i--)
        if ((a >> i & 1) != sign) return (uint64_t)(shift ? bits - 1 - i : i);
    return UINT32_MAX;
}

static uint64_t leading(uint64_t a, int bits) {
    uint64_t n = find(a, bits, false, true);
    return n == UINT32_MAX ? (uint64_t)bits : n;
}

static uint64_t bmsk(uint64_t a, uint64_t b, bool clamp) {
    uint64_t first = clamp ? U32(a) : a & 31, width = clamp ? U32(b) : b & 31, d = 0;
    for (uint64_t i = 0; i < 32; i++)
        if (i >= first && i - first < width) d |= UINT64_C(1) << i;
    return d;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t bytes = U32(a) | b << 32, d = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t select = c >> 4 * i & 15, byte = bytes >> 8 * (select & 7) & 255;
        if (select & 8) byte = byte & 128 ? 255 : 0;
        d |= byte << 8 * i;
    }
    return d;
}

static uint64_t forward(uint64_t a, uint64_t b, uint64_t c) {
    u128 bytes = (u128)(U32(a) | b << 32) << 64 | (U32(a) | b << 32);
    return (uint64_t)(bytes >> 8 * (c & 3));
}

/* Bytes i of a word, each of those that `which` has at i: of the eight of {b, a}. */
static uint64_t pick_bytes(uint64_t a, uint64_t b, const int which[4]) {
    uint64_t bytes = U32(a) | b << 32, d = 0;
    for (int i = 0; i < 4; i++) d |= (bytes >> 8 * which[i] & 255) << 8 * i;
    return d;
}

/* The ISA's tables of prmt's modes: bytes 0 to 3 of the result for selectors 0 to 3. */
static const int backward[4][4] = {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}};
static const int edge_left[4][4] = {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}};
static const int edge_right[4][4] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}};
static const int half_word[4][4] = {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}};

static uint64_t extend(uint64_t a, uint64_t bits, bool is_signed) {
    uint64_t n = U32(bits), d = 0;
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t from = i < n ? i : n ? n - 1 : 32;
        if (from < 32 && (is_signed || i < n)) d |= (a >> from & 1) << i;
    }
    return d;
}

static uint64_t nth(uint64_t a, uint64_t b, uint64_t c) {
    int pos = (int)(b & 31), left = S32(c);
    if (left == 0) return a >> pos & 1 ? (uint64_t)pos : UINT32_MAX;
    for (int step = left > 0 ? 1 : -1; pos >= 0 && pos < 32; pos += step)
        if (a >> pos & 1 && (left -= step) == 0) return (uint64_t)pos;
    return UINT32_MAX;
}

WANT(bfe_u32, bfe(a, b, c, 32, false))
WANT(bfe_s32, bfe(a, b, c, 32, true))
WANT(bfe_u64, bfe(a, b, c, 64, false))
WANT(bfe_s64, bfe(a, b, c, 64, true))
WANT(bfi_b32, bfi(a, b, c, d, 32))
WANT(bfi_b64, bfi(a, b, c, d, 64))
WANT(popc_b32, count(a, 32))
WANT(popc_b64, count(a, 64))
WANT(clz_b32, leading(a, 32))
WANT(clz_b64, leading(a, 64))
WANT(brev_b32, reverse(a, 32))
WANT(brev_b64, reverse(a, 64))
WANT(bfind_u32, find(a, 32, false, false))
WANT(bfind_s32, find(a, 32, true, false))
WANT(bfind_u64, find(a, 64, false, false))
WANT(bfind_s64, find(a, 64, true, false))
WANT(bfind_shift_u32, find(a, 32, false, true))
WANT(bfind_shift_s32, find(a, 32, true, true))
WANT(bfind_shift_u64, find(a, 64, false, true))
WANT(bfind_shift_s64, find(a, 64, true, true))
WANT(bmsk_clamp, bmsk(a, b, true))
WANT(bmsk_wrap, bmsk(a, b, false))
WANT(prmt, permute(a, b, c))
WANT(prmt_f4e, forward(a, b, c))
WANT(prmt_rc8, (a >> 8 * (c & 3) & 255) * 0x01010101)
WANT(prmt_b4e, pick_bytes(a, b, backward[c & 3]))
WANT(prmt_ecl, pick_bytes(a, b, edge_left[c & 3]))
WANT(prmt_ecr, pick_bytes(a, b, edge_right[c & 3]))
WANT(prmt_rc16, pick_bytes(a, b, half_word[c & 3]))
WANT(szext_clamp_u, extend(a, b, false))
WANT(szext_clamp_s, extend(a, b, true))
WANT(szext_wrap_u, extend(a, b % 32, false))
WANT(szext_wrap_s, extend(a, b % 32, true))
WANT(fns, nth(U32(a), b, c))

static const Form fields[] = {
    {"bfe.u32 $0, $1, $2, $3;", "w:wss", bfe_u32, 0, 0},
    {"bfe.s32 $0, $1, $2, $3;", "w:wss", bfe_s32, 0, 0},
    {"bfe.u64 $0, $1, $2, $3;", "l:lss", bfe_u64, 0, 0},
    {"bfe.s64 $0, $1, $2, $3;", "l:lss", bfe_s64, 0, 0},
    {"bfi.b32 $0, $1, $2, $3, $4;", "w:wwss", bfi_b32, 0, 0},
    {"bfi.b64 $0, $1, $2, $3, $4;", "l:llss", bfi_b64, 0, 0},
    {"popc.b32 $0, $1;", "w:w", popc_b32, 0, 0},
    {"popc.b64 $0, $1;", "w:l", popc_b64, 0, 0},
    {"clz.b32 $0, $1;", "w:w", clz_b32, 0, 0},
    {"clz.b64 $0, $1;", "w:l", clz_b64, 0, 0},
    {"brev.b32 $0, $1;", "w:w", brev_b32, 0, 0},
    {"brev.b64 $0, $1;", "l:l", brev_b64, 0, 0},
    {"bfind.u32 $0, $1;", "w:w", bfind_u32, 0, 0},
    {"bfind.s32 $0, $1;", "w:w", bfind_s32, 0, 0},
    {"bfind.u64 $0, $1;", "w:l", bfind_u64, 0, 0},
    {"bfind.s64 $0, $1;", "w:l", bfind_s64, 0, 0},
    {"bfind.shiftamt.u32 $0, $1;", "w:w", bfind_shift_u32, 0, 0},
    {"bfind.shiftamt.s32 $0, $1;", "w:w", bfind_shift_s32, 0, 0},
    {"bfind.shiftamt.u64 $0, $1;", "w:l", bfind_shift_u64, 0, 0},
    {"bfind.shiftamt.s64 $0, $1;", "w:l", bfind_shift_s64, 0, 0},
    {"bmsk.clamp.b32 $0, $1, $2;", "w:ss", bmsk_clamp, 0, 0},
    {"bmsk.wrap.b32 $0, $1, $2;", "w:ss", bmsk_wrap, 0, 0},
    {"prmt.b32 $0, $1, $2, $3;", "w:www", prmt, 0, 0},
    {"prmt.b32.f4e $0, $1, $2, $3;", "w:www", prmt_f4e, 0, 0},
    {"prmt.b32.b4e $0, $1, $2, $3;", "w:www", prmt_b4e, 0, 0},
    {"prmt.b32.rc8 $0, $1, $2, $3;", "w:www", prmt_rc8, 0, 0},
    {"prmt.b32.ecl $0, $1, $2, $3;", "w:www", prmt_ecl, 0, 0},
    {"prmt.b32.ecr $0, $1, $2, $3;", "w:www", prmt_ecr, 0, 0},
    {"prmt.b32.rc16 $0, $1, $2, $3;", "w:www", prmt_rc16, 0, 0},
    {"szext.clamp.u32 $0, $1, $2;", "w:ws", szext_clamp_u, 0, 0},
    {"szext.clamp.s32 $0, $1, $2;", "w:ws", szext_clamp_s, 0, 0},
    {"szext.wrap.u32 $0, $1, $2;", "w:ws", szext_wrap_u, 0, 0},
    {"szext.wrap.s32 $0, $1, $2;", "w:ws", szext_wrap_s, 0, 0},
    {"{ .reg .b32 t;\nand.b32 t, $2, 31;\nfns.b32 $0, $1, t, $3; }", "w:wss", fns, 0, 0},
};

/* ---- dot products, differences ---- */

static int64_t part(uint64_t x, int i, int bits, bool is_signed) {
    uint64_t v = x >> i * bits & ((UINT64_C(1) << bits) - 1);
    return is_signed && v >> (bits - 1) ? (int64_t)v - (1 << bits) : (int64_t)v;
}

static uint64_t dot(uint64_t a, uint64_t b, uint64_t c, bool s, bool t) {
    int64_t sum = (int64_t)c;
    for (int i = 0; i < 4; i++) sum += part(a, i, 8, s) * part(b, i, 8, t);
    return (uint64_t)sum;
}

static uint64_t dot2(uint64_t a, uint64_t b, uint64_t c, bool s, bool t, int first) {
    int64_t sum = (int64_t)c;
    for (int i = 0; i < 2; i++) sum += part(a, i, 16, s) * part(b, first + i, 8, t);
    return (uint64_t)sum;
}

static uint64_t video(uint64_t a, uint64_t b, uint64_t c, int bits, bool s, bool add_lanes) {
    uint64_t lanes = 0, sum = c;
    for (int i = 0; i < 32 / bits; i++) {
        uint64_t x = (uint64_t)llabs(part(a, i, bits, s) - part(b, i, bits, s));
        sum += x;
        lanes |= x << i * bits;
    }
    return add_lanes ? sum : lanes;
}

static uint64_t distance(s128 a, s128 b) {
    return (uint64_t)(a > b ? a - b : b - a);
}

WANT(dp4a_ss, dot(a, b, c, true, true))
WANT(dp4a_uu, dot(a, b, c, false, false))
WANT(dp4a_su, dot(a, b, c, true, false))
WANT(dp4a_us, dot(a, b, c, false, true))
WANT(dp2a_lo_ss, dot2(a, b, c, true, true, 0))
WANT(dp2a_lo_su, dot2(a, b, c, true, false, 0))
WANT(dp2a_lo_us, dot2(a, b, c, false, true, 0))
WANT(dp2a_lo_uu, dot2(a, b, c, false, false, 0))
WANT(dp2a_hi_ss, dot2(a, b, c, true, true, 2))
WANT(dp2a_hi_su, dot2(a, b, c, true, false, 2))
WANT(dp2a_hi_us, dot2(a, b, c, false, true, 2))
WANT(dp2a_hi_uu, dot2(a, b, c, false, false, 2))
WANT(vabsdiff4_u, video(a, b, 0, 8, false, false))
WANT(vabsdiff4_u_add, video(a, b, c, 8, false, true))
WANT(vabsdiff4_s, video(a, b, 0, 8, true, false))
WANT(vabsdiff4_s_add, video(a, b, c, 8, true, true))
WANT(vabsdiff2_u, video(a, b, 0, 16, false, false))
WANT(vabsdiff2_u_add, video(a, b, c, 16, false, true))
WANT(vabsdiff2_s, video(a, b, 0, 16, true, false))
WANT(vabsdiff2_s_add, video(a, b, c, 16, true, true))
WANT(sad_s16, distance(S16(a), S16(b)) + c)
WANT(sad_u16, distance(U16(a), U16(b)) + c)
WANT(sad_s32, distance(S32(a), S32(b)) + c)
WANT(sad_u32, distance(U32(a), U32(b)) + c)
WANT(sad_s64, distance(S64(a), S64(b)) + c)
WANT(sad_u64, distance((s128)a, (s128)b) + c)

static const Form dots[] = {
    {"dp4a.s32.s32 $0, $1, $2, $3;", "w:bbw", dp4a_ss, 0, 0},
    {"dp4a.u32.u32 $0, $1, $2, $3;", "w:bbw", dp4a_uu, 0, 0},
    {"dp4a.s32.u32 $0, $1, $2, $3;", "w:bbw", dp4a_su, 0, 0},
    {"dp4a.u32.s32 $0, $1, $2, $3;", "w:bbw", dp4a_us, 0, 0},
    {"dp2a.lo.s32.s32 $0, $1, $2, $3;", "w:vbw", dp2a_lo_ss, 0, 0},
    {"dp2a.lo.s32.u32 $0, $1, $2, $3;", "w:vbw", dp2a_lo_su, 0, 0},
    {"dp2a.lo.u32.s32 $0, $1, $2, $3;", "w:vbw", dp2a_lo_us, 0, 0},
    {"dp2a.lo.u32.u32 $0, $1, $2, $3;", "w:vbw", dp2a_lo_uu, 0, 0},
    {"dp2a.hi.s32.s32 $0, $1, $2, $3;", "w:vbw", dp2a_hi_ss, 0, 0},
    {"dp2a.hi.s32.u32 $0, $1, $2, $3;", "w:vbw", dp2a_hi_su, 0, 0},
    {"dp2a.hi.u32.s32 $0, $1, $2, $3;", "w:vbw", dp2a_hi_us, 0, 0},
    {"dp2a.hi.u32.u32 $0, $1, $2, $3;", "w:vbw", dp2a_hi_uu, 0, 0},
    {"{ vabsdiff4.u32.u32.u32 $0, $1, $2, $3; }", "w:bbw", vabsdiff4_u, 0, 0},
    {"{ vabsdiff4.u32.u32.u32.add $0, $1, $2, $3; }", "w:bbw", vabsdiff4_u_add, 0, 0},
    {"{ vabsdiff4.s32.s32.s32 $0, $1, $2, $3; }", "w:bbw", vabsdiff4_s, 0, 0},
    {"{ vabsdiff4.s32.s32.s32.add $0, $1, $2, $3; }", "w:bbw", vabsdiff4_s_add, 0, 0},
    {"{ vabsdiff4.u32.s32.s32 $0, $1, $2, $3; }", "w:bbw", vabsdiff4_s, 0, 0},
    {"{ vabsdiff4.u32.s32.s32.add $0, $1, $2, $3; }", "w:bbw", vabsdiff4_s_add, 0, 0},
    {"{ vabsdiff2.u32.u32.u32 $0, $1, $2, $3; }", "w:vvw", vabsdiff2_u, 0, 0},
    {"{ vabsdiff2.u32.u32.u32.add $0, $1, $2, $3; }", "w:vvw", vabsdiff2_u_add, 0, 0},
    {"{ vabsdiff2.s32.s32.s32 $0, $1, $2, $3; }", "w:vvw", vabsdiff2_s, 0, 0},
    {"{ vabsdiff2.s32.s32.s32.add $0, $1, $2, $3; }", "w:vvw", vabsdiff2_s_add, 0, 0},
    {"{ vabsdiff2.u32.s32.s32 $0, $1, $2, $3; }", "w:vvw", vabsdiff2_s, 0, 0},
    {"{ vabsdiff2.u32.s32.s32.add $0, $1, $2, $3; }", "w:vvw", vabsdiff2_s_add, 0, 0},
    {"sad.s16 $0, $1, $2, $3;", "h:hhh", sad_s16, 0, 0},
    {"sad.u16 $0, $1, $2, $3;", "h:hhh", sad_u16, 0, 0},
    {"sad.s32 $0, $1, $2, $3;", "w:www", sad_s32, 0, 0},
    {"sad.u32 $0, $1, $2, $3;", "w:www", sad_u32, 0, 0},
    {"sad.s64 $0, $1, $2, $3;", "l:lll", sad_s64, 0, 0},
    {"sad.u64 $0, $1, $2, $3;", "l:lll", sad_u64, 0, 0},
};

/* ---- packing: vectors in mov ---- */

WANT(pack_2x32, join(a, b))
WANT(pack_2x16, U16(a) | (uint64_t)U16(b) << 16)
WANT(pack_4x16, U16(a) | (uint64_t)U16(b) << 16 | (uint64_t)U16(c) << 32 | d << 48)
WANT(high32, a >> 32)
WANT(low32, a)
WANT(high16, U32(a) >> 16)
WANT(third16, a >> 32)

static const Form packs[] = {
    {"mov.b64 $0, {$1, $2};", "l:ww", pack_2x32, 0, 0},
    {"mov.b32 $0, {$1, $2};", "w:hh", pack_2x16, 0, 0},
    {"mov.b64 $0, {$1, $2, $3, $4};", "l:hhhh", pack_4x16, 0, 0},
    {"{ .reg .b32 t;\nmov.b64 {t, $0}, $1; }", "w:l", high32, 0, 0},
    {"mov.b64 {$0, _}, $1;", "w:l", low32, 0, 0},
    {"{ .reg .b16 t;\nmov.b32 {t, $0}, $1; }", "h:w", high16, 0, 0},
    {"{ .reg .b16 t, u, v;\nmov.b64 {t, u, $0, v}, $1; }", "h:l", third16, 0, 0},
};

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    kit_forms(sums, KIT_COUNT(sums));
    kit_forms(carries, KIT_COUNT(carries));
    kit_forms(divisions, KIT_COUNT(divisions));
    kit_forms(choices, KIT_COUNT(choices));
    kit_forms(comparisons, KIT_COUNT(comparisons));
    kit_forms(logic, KIT_COUNT(logic));
    kit_forms(fields, KIT_COUNT(fields));
    kit_forms(dots, KIT_COUNT(dots));
    kit_forms(packs, KIT_COUNT(packs));
    return kit_end();
}
