/* Slow operations in vector code (rows.c), in each of its builds, against their plain forms, which
** go lane by lane through num.h: the same bits, for random operands and for edges, also where lanes
** are off. */
#include <stdlib.h>
#include <string.h>

#include "emu/core.h"
#include "emu_model.h"
#include "tap.h"

enum { THREADS = 256, BLOCKS = 64, N = THREADS * BLOCKS };

/* Operands: %r1 %r2 %r3, and the same as %h1 … (their low halves) and %f1 …; %rd1 … and %d1 …, made
** of pairs of them. Results: %r9, %h9, %f9, %rd9, %d9. */
typedef struct Op {
    const char *text;
    char result;
} Op;

static const Op ops[] = {
#define HALVES(op, mods, args)                                                                     \
    {op mods ".f16 %h9, " args, 'h'}, {op mods ".f16x2 %r9, " args, 'r'},                          \
        {op ".ftz" mods ".f16 %h9, " args, 'h'}, {op ".ftz" mods ".f16x2 %r9, " args, 'r'}
#define BRAINS(op, args) {op ".bf16 %h9, " args, 'h'}, {op ".bf16x2 %r9, " args, 'r'}
    HALVES("add", "", "$1, $2"),
    HALVES("add", ".sat", "$1, $2"),
    HALVES("sub", "", "$1, $2"),
    HALVES("mul", "", "$1, $2"),
    HALVES("mul", ".sat", "$1, $2"),
    HALVES("fma.rn", "", "$1, $2, $3"),
    HALVES("fma.rn", ".sat", "$1, $2, $3"),
    HALVES("fma.rn", ".relu", "$1, $2, $3"),
    HALVES("min", "", "$1, $2"),
    HALVES("max", "", "$1, $2"),
    HALVES("min", ".NaN", "$1, $2"),
    HALVES("max", ".NaN", "$1, $2"),
    HALVES("neg", "", "$1"),
    HALVES("abs", "", "$1"),
    BRAINS("add", "$1, $2"),
    BRAINS("sub", "$1, $2"),
    BRAINS("mul", "$1, $2"),
    BRAINS("fma.rn", "$1, $2, $3"),
    BRAINS("fma.rn.relu", "$1, $2, $3"),
    BRAINS("min", "$1, $2"),
    BRAINS("max.NaN", "$1, $2"),
    BRAINS("neg", "$1"),
    BRAINS("abs", "$1"),
    {"cvt.f32.f16 %f9, %h1", 'f'},
    {"cvt.rn.f16.f32 %h9, %f1", 'h'},
    {"cvt.f32.bf16 %f9, %h1", 'f'},
    {"cvt.rn.bf16.f32 %h9, %f1", 'h'},
    {"cvt.rn.f16x2.f32 %r9, %f1, %f2", 'r'},
    {"cvt.rn.bf16x2.f32 %r9, %f1, %f2", 'r'},
    {"cvt.rz.f16.f32 %h9, %f1", 'h'},
    {"cvt.rn.relu.f16x2.f32 %r9, %f1, %f2", 'r'},
#define SPECIAL(op, args) {op ".f32 %f9, " args, 'f'}, {op ".ftz.f32 %f9, " args, 'f'}
    SPECIAL("rcp.approx", "%f1"),
    SPECIAL("sqrt.approx", "%f1"),
    SPECIAL("rsqrt.approx", "%f1"),
    SPECIAL("ex2.approx", "%f1"),
    SPECIAL("lg2.approx", "%f1"),
    SPECIAL("sin.approx", "%f1"),
    SPECIAL("cos.approx", "%f1"),
    SPECIAL("div.approx", "%f1, %f2"),
    SPECIAL("div.full", "%f1, %f2"),
    {"tanh.approx.f32 %f9, %f1", 'f'},
    {"fma.rm.f32 %f9, %f1, %f2, %f3", 'f'},
    {"fma.rp.f32 %f9, %f1, %f2, %f3", 'f'},
    {"fma.rz.f32 %f9, %f1, %f2, %f3", 'f'},
    {"fma.rm.sat.f32 %f9, %f1, %f2, %f3", 'f'},
    {"fma.rm.f32 %f9, %f1, %f2, 0f4B400001", 'f'},
#define CANCELS(way)                                                                               \
    {"mul.f32 %f8, %f1, %f2; neg.f32 %f8, %f8; @%p1 fma." way ".f32 %f9, %f1, %f2, %f8", 'f'},     \
        {"neg.f32 %f8, %f1; @%p1 fma." way ".f32 %f9, %f1, 0f3F800000, %f8", 'f'},                 \
        {"fma." way ".f32 %f9, %f1, 0f00000000, %f3", 'f'}
    CANCELS("rm"),
    CANCELS("rp"),
    CANCELS("rz"),
    {"cvt.rzi.u32.f32 %r9, %f1", 'r'},
    {"cvt.rzi.ftz.u32.f32 %r9, %f1", 'r'},
    {"cvt.rzi.s64.f32 %rd9, %f1", 'q'},
    {"cvt.rn.f32.u16 %f9, %h1", 'f'},
    {"cvt.rn.f32.s16 %f9, %h1", 'f'},
    {"cvt.rn.f32.s64 %f9, %rd1", 'f'},
    {"cvt.rn.f32.f64 %f9, %d1", 'f'},
    {"cvt.rzi.s32.f64 %r9, %d4", 'r'},
    {"cvt.rzi.u32.f64 %r9, %d4", 'r'},
    {"cvt.rzi.s64.f64 %rd9, %d1", 'q'},
    {"cvt.rn.f64.u32 %d9, %r1", 'd'},
    {"cvt.rn.f64.s64 %d9, %rd1", 'd'},
    {"cvt.rn.f64.u64 %d9, %rd1", 'd'},
    {"prmt.b32 %r9, %r1, %r2, %r3", 'r'},
#define ROUNDED(mode)                                                                              \
    {"add." mode ".f32 %f9, %f1, %f2", 'f'}, {"sub." mode ".f32 %f9, %f1, %f2", 'f'},              \
        {"mul." mode ".f32 %f9, %f1, %f2", 'f'}, {"add." mode ".ftz.sat.f32 %f9, %f1, %f2", 'f'},  \
        {"sub." mode ".f32 %f9, %f1, %f1", 'f'}, {"mul." mode ".f32 %f9, %f1, 0f00000000", 'f'}
    ROUNDED("rz"),
    ROUNDED("rm"),
    ROUNDED("rp"),
    {"shf.l.clamp.b32 %r9, %r1, %r2, %r3", 'r'},
    {"shf.l.wrap.b32 %r9, %r1, %r2, %r3", 'r'},
    {"shf.r.clamp.b32 %r9, %r1, %r2, %r3", 'r'},
    {"shf.r.wrap.b32 %r9, %r1, %r2, %r3", 'r'},
#define FIELDS(at, n)                                                                              \
    {"bfe.u32 %r9, %r1, " at ", " n, 'r'}, {"bfe.s32 %r9, %r1, " at ", " n, 'r'}
    FIELDS("%r2", "%r3"),
    FIELDS("7", "9"),
    FIELDS("0", "32"),
    FIELDS("31", "0"),
    FIELDS("32", "5"),
    FIELDS("20", "255"),
    {"!and.b32 %r7, %r2, 63; and.b32 %r8, %r3, 63; bfe.s32 %r9, %r1, %r7, %r8", 'r'},
    {"!and.b32 %r7, %r2, 63; and.b32 %r8, %r3, 63; bfe.u32 %r9, %r1, %r7, %r8", 'r'},
    {"popc.b32 %r9, %r1", 'r'},
    {"clz.b32 %r9, %r1", 'r'},
    {"!shr.u32 %r8, %r1, %r2; clz.b32 %r9, %r8", 'r'},
    {"bfi.b32 %r9, %r1, %r2, %r3, %r2", 'r'},
    {"bfi.b32 %r9, %r1, %r2, 7, 32", 'r'},
    {"bfi.b32 %r9, %r1, %r2, 32, 5", 'r'},
    {"bfi.b32 %r9, %r1, %r2, 3, 0", 'r'},
    {"!and.b32 %r7, %r2, 63; and.b32 %r8, %r3, 63; bfi.b32 %r9, %r1, %r2, %r7, %r8", 'r'},
    {"mul.hi.u64 %rd9, %rd1, %rd2", 'q'},
    {"mul.hi.s64 %rd9, %rd1, %rd2", 'q'},
#define QUOTIENTS(type)                                                                            \
    {"div." type " %rd9, %rd1, %rd2", 'q'}, {"rem." type " %rd9, %rd1, %rd2", 'q'},                \
        {"div." type " %rd9, %rd1, 0", 'q'}, {"rem." type " %rd9, %rd1, -1", 'q'},                 \
        {"!shr." type " %rd7, %rd1, 12; shr." type " %rd8, %rd2, 40; div." type                    \
         " %rd9, %rd7, %rd8", 'q'},                                                                \
        {"!shr." type " %rd7, %rd1, 13; shr." type " %rd8, %rd2, 44; or.b64 %rd8, %rd8, 1; div."   \
         type " %rd9, %rd7, %rd8", 'q'},                                                           \
        {"!shr." type " %rd7, %rd1, 13; shr." type " %rd8, %rd2, 44; or.b64 %rd8, %rd8, 1; rem."   \
         type " %rd9, %rd7, %rd8", 'q'},                                                           \
        {"!shr." type " %rd7, %rd1, 38; shr." type " %rd8, %rd2, 38; or.b64 %rd8, %rd8, 1; "       \
         "mul.lo.s64 %rd7, %rd7, %rd8; sub.s64 %rd7, %rd7, 1; div." type " %rd9, %rd7, %rd8", 'q'}
    QUOTIENTS("u64"),
    QUOTIENTS("s64"),
    {"brev.b32 %r9, %r1", 'r'},
    {"min.f64 %d9, %d1, %d2", 'd'},
    {"max.f64 %d9, %d1, %d2", 'd'},
    {"!cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; min.f64 %d9, %d1, %d2", 'd'},
    {"!cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; max.f64 %d9, %d2, %d1", 'd'},
    {"!mov.b64 %d1, {%r1, %r2}; neg.f64 %d2, %d1; max.f64 %d9, %d1, %d2", 'd'},
    {"!mov.b64 %d1, 0; mov.b64 %d2, 0x8000000000000000; min.f64 %d9, %d1, %d2", 'd'},
    {"abs.f64 %d9, %d1", 'd'},
    {"dp4a.u32.u32 %r9, %r1, %r2, %r3", 'r'},
    {"dp4a.u32.s32 %r9, %r1, %r2, %r3", 'r'},
    {"dp4a.s32.u32 %r9, %r1, %r2, %r3", 'r'},
    {"dp4a.s32.s32 %r9, %r1, %r2, %r3", 'r'},
#define TO_INTEGERS(mode, ftz, type, from)                                                         \
    {"cvt." mode ftz ".u8." type " %h9, " from, 'h'}, {"cvt." mode ftz ".s8." type " %h9, " from,  \
                                                       'h'},                                       \
        {"cvt." mode ftz ".u16." type " %h9, " from, 'h'},                                         \
        {"cvt." mode ftz ".s16." type " %r9, " from, 'r'},                                         \
        {"cvt." mode ftz ".s32." type " %r9, " from, 'r'},                                         \
        {"cvt." mode ftz ".u32." type " %r9, " from, 'r'},                                         \
        {"cvt." mode ftz ".sat.u8." type " %r9, " from, 'r'}
    TO_INTEGERS("rzi", "", "f32", "%f1"),
    TO_INTEGERS("rni", "", "f32", "%f1"),
    TO_INTEGERS("rmi", ".ftz", "f32", "%f1"),
    TO_INTEGERS("rpi", ".ftz", "f32", "%f1"),
    TO_INTEGERS("rzi", "", "f16", "%h1"),
    TO_INTEGERS("rni", "", "f16", "%h1"),
    TO_INTEGERS("rpi", "", "f16", "%h1"),
    {"cvt.rn.f16.s32 %h9, %r1", 'h'},
    {"cvt.rn.f16.u32 %h9, %r1", 'h'},
    {"cvt.rn.f16.s16 %h9, %h1", 'h'},
    {"cvt.rn.f16.u16 %h9, %h1", 'h'},
    {"cvt.rn.f16.s8 %h9, %h1", 'h'},
    {"cvt.rn.f16.u8 %h9, %r1", 'h'},
    {"!match.any.sync.b32 %r9, %r1, -1", 'r'},
    {"!and.b32 %r8, %r1, 7; match.any.sync.b32 %r9, %r8, -1", 'r'},

/* Atomics: what was there and what is, of lanes at %rd15: one for all, each its own, side by side
** or not, one for two, or anywhere; all lanes or some. */
#define OLD_AND_NEW "ld.u32 %r8, [%rd15]; mad.lo.u32 %r9, %r9, 31, %r8"
#define OLD_AND_NEW_WIDE "ld.u64 %rd8, [%rd15]; mad.lo.u64 %rd9, %rd9, 31, %rd8"
#define WHERE_ONE       "mov.u64 %rd15, %rd10; "
#define WHERE_OWN       "mov.u64 %rd15, %rd12; "
#define WHERE_DENSE "mul.wide.u32 %rd15, %r12, 8; add.u64 %rd15, %rd15, %rd10; "
#define WHERE_WORDS "mul.wide.u32 %rd15, %r12, 4; add.u64 %rd15, %rd15, %rd10; "
#define WHERE_PAIRS                                                                                \
    "shr.u32 %r13, %r12, 1; mul.wide.u32 %rd15, %r13, 4; add.u64 %rd15, %rd15, %rd10; "
#define WHERE_ANY                                                                                  \
    "and.b32 %r13, %r2, 4080; cvt.u64.u32 %rd15, %r13; add.u64 %rd15, %rd15, %rd10; "
#define WHERE_SHARED                                                                               \
    "and.b32 %r13, %r2, 1020; cvt.u64.u32 %rd15, %r13; mov.u64 %rd8, sh; "                     \
    "add.u64 %rd15, %rd15, %rd8; cvta.shared.u64 %rd15, %rd15; st.u32 [%rd15], %r3; "
#define ATOMIC_AT(where, text, result)                                                             \
    {"!" where text, result}, {"!" where "@%p1 " text, result}
#define ATOMIC(text, result)                                                                       \
    ATOMIC_AT(WHERE_ONE, text, result), ATOMIC_AT(WHERE_OWN, text, result),                        \
        ATOMIC_AT(WHERE_DENSE, text, result), ATOMIC_AT(WHERE_ANY, text, result)
#define ATOMIC_WORD(text)                                                                          \
    ATOMIC(text, 'r'), ATOMIC_AT(WHERE_WORDS, text, 'r'), ATOMIC_AT(WHERE_PAIRS, text, 'r'),       \
        ATOMIC_AT(WHERE_SHARED, text, 'r')
    ATOMIC_WORD("atom.add.u32 %r9, [%rd15], %r2; " OLD_AND_NEW),
    ATOMIC_WORD("red.max.s32 [%rd15], %r2; " OLD_AND_NEW),
    ATOMIC_WORD("atom.inc.u32 %r9, [%rd15], %r2; " OLD_AND_NEW),
    ATOMIC_WORD("atom.cas.b32 %r9, [%rd15], %r1, %r2; " OLD_AND_NEW),
    ATOMIC_WORD("atom.add.f32 %f9, [%rd15], %f2; mov.b32 %r9, %f9; " OLD_AND_NEW),
    ATOMIC_WORD("red.add.f32 [%rd15], %f2; " OLD_AND_NEW),
    ATOMIC_WORD("atom.add.noftz.f16x2 %r9, [%rd15], %r2; " OLD_AND_NEW),
    ATOMIC_WORD("red.add.noftz.bf16x2 [%rd15], %r2; " OLD_AND_NEW),
    ATOMIC("atom.min.u64 %rd9, [%rd15], %rd2; " OLD_AND_NEW_WIDE, 'q'),
    ATOMIC("atom.add.f64 %d9, [%rd15], %d2; mov.b64 %rd9, %d9; " OLD_AND_NEW_WIDE, 'q'),
#define CARRIES(first, next, type, x)                                                              \
    {first type " " x "9, " x "1, " x "2; @%p1 " next ".cc" type " " x "9, " x "9, " x "3; "       \
     "@%p1 addc" type " " x "9, " x "9, " x "2", x[1] == 'r' && x[2] ? 'q' : 'r'}
    CARRIES("add.cc", "addc", ".u32", "%r"),
    CARRIES("sub.cc", "subc", ".u32", "%r"),
    CARRIES("sub.cc", "addc", ".s32", "%r"),
    CARRIES("add.cc", "addc", ".u64", "%rd"),
    CARRIES("sub.cc", "subc", ".u64", "%rd"),
#define PRODUCTS(part, type, x)                                                                    \
    {"add.cc" type " " x "9, " x "1, " x "2; @%p1 madc." part ".cc" type " " x "9, " x "1, "       \
     x "3, " x "2; @%p1 addc" type " " x "9, " x "9, " x "2", x[1] == 'r' && x[2] ? 'q' : 'r'}
    PRODUCTS("lo", ".u32", "%r"),
    PRODUCTS("hi", ".u32", "%r"),
    PRODUCTS("hi", ".s32", "%r"),
    PRODUCTS("lo", ".u64", "%rd"),
    PRODUCTS("hi", ".u64", "%rd"),

    {"ld.local.u32 %r9, [%rd15]", 'r'},
    {"ld.u32 %r9, [%rd17]", 'r'},
    {"ld.local.u8 %r9, [%rd15+3]", 'r'},
    {"ld.local.s8 %r9, [%rd15+2]", 'r'},
    {"ld.local.s16 %r9, [%rd15+6]", 'r'},
    {"ld.local.s32 %rd9, [%rd15+4]", 'q'},
    {"ld.local.u64 %rd9, [%rd15+8]", 'q'},
    {"ld.local.v2.u64 {%rd8, %rd9}, [%rd15]", 'q'},
    {"ld.local.v4.u32 {%r8, %r7, %r9, %r6}, [%rd15]", 'r'},
    {"ld.local.v4.u16 {%h8, %h7, %h6, %h9}, [%rd15+8]", 'h'},
    {"ld.local.u64 %rd9, [%rd18]", 'q'},
#define STORED(text) {text "; @%p1 ld.local.u64 %rd9, [%rd16]", 'q'}
    STORED("st.local.u32 [%rd15], %r3"),
    STORED("st.u32 [%rd17], %r3"),
    STORED("st.local.u8 [%rd15+1], %r3"),
    STORED("st.local.u16 [%rd15+2], %h3"),
    STORED("st.local.u64 [%rd15], %rd3"),
    STORED("st.local.v2.u64 [%rd15], {%rd3, %rd1}"),
    STORED("st.local.v4.u32 [%rd15], {%r3, %r2, %r1, %r4}"),
    STORED("st.local.v4.u8 [%rd15+4], {%r3, %r2, %r1, %r4}"),

/* Of the whole warp: without the condition. */
#define SHUFFLE(mode)                                                                              \
    {"!shfl.sync." mode ".b32 %r9|%p2, %r1, %r2, %r3, -1; @%p2 xor.b32 %r9, %r9, 5", 'r'},         \
        {"!shfl.sync." mode ".b32 %r9|%p2, %r1, 3, 0x181f, -1; @%p2 xor.b32 %r9, %r9, 5", 'r'}
    SHUFFLE("up"),
    SHUFFLE("down"),
    SHUFFLE("bfly"),
    SHUFFLE("idx"),
#define VOTE(mode)                                                                                 \
    {"!setp.lt.s32 %p2, %r1, %r2; vote.sync." mode ".pred %p2, %p2, -1; selp.b32 %r9, 1, 2, %p2",  \
     'r'},                                                                                         \
        {"!setp.le.s32 %p2, %r1, %r1; vote.sync." mode ".pred %p2, %p2, -1; "                      \
         "selp.b32 %r9, 1, 2, %p2", 'r'}
    VOTE("any"),
    VOTE("all"),
    VOTE("uni"),
    {"!setp.lt.s32 %p2, %r1, %r2; vote.sync.ballot.b32 %r9, %p2, -1", 'r'},
    {"!redux.sync.add.s32 %r9, %r1, -1", 'r'},
    {"!redux.sync.min.s32 %r9, %r1, -1", 'r'},
    {"!redux.sync.max.u32 %r9, %r1, -1", 'r'},
    {"!redux.sync.xor.b32 %r9, %r1, -1", 'r'},
};

/* $k: %hk in an instruction on one half, else %rk. */
static void put_text(gi_buf *out, const char *text) {
    bool two = strstr(text, "x2 ") != NULL;
    for (; *text; text++) {
        if (*text == '$') gi_buf_adds(out, two ? "%r" : "%h");
        else gi_buf_add(out, text, 1);
    }
}

/* Each thread's array of local memory, and places in it: %rd15 and %rd16, both anywhere, %rd15 by a
** generic address too, and %rd18, one of 8 bytes for all. */
static const char arrays[] =
    "mov.u64 %rd18, depot; st.local.v4.u32 [%rd18], {%r1, %r2, %r3, %r4};\n"
    "st.local.v4.u32 [%rd18+16], {%r2, %r1, %r3, %r4};\n"
    "st.local.v4.u32 [%rd18+32], {%r3, %r2, %r1, %r4};\n"
    "st.local.v4.u32 [%rd18+48], {%r4, %r3, %r2, %r1};\n"
    "st.local.v4.u32 [%rd18+64], {%r1, %r3, %r2, %r4};\n"
    "st.local.v4.u32 [%rd18+80], {%r1, %r4, %r3, %r2};\n"
    "st.local.v4.u32 [%rd18+96], {%r2, %r2, %r3, %r4};\n"
    "st.local.v4.u32 [%rd18+112], {%r4, %r4, %r1, %r1};\n"
    "and.b32 %r13, %r2, 112; cvt.u64.u32 %rd15, %r13; add.u64 %rd15, %rd15, %rd18;\n"
    "and.b32 %r13, %r4, 120; cvt.u64.u32 %rd16, %r13; add.u64 %rd16, %rd16, %rd18;\n"
    "cvta.local.u64 %rd17, %rd15;\n";

/* Operands to out + 16 * thread, the result for some lanes to out + 16 * N + 8 * thread. */
static char *program(const Op *op) {
    gi_buf b = {0};
    gi_buf_adds(&b, ".version 8.6\n.target sm_90\n.address_size 64\n"
                    ".visible .entry k(.param .u64 out) {\n"
                    ".reg .pred %p<3>; .reg .b16 %h<10>; .reg .b32 %r<20>; .reg .f32 %f<10>;\n"
                    ".reg .b64 %rd<20>; .reg .f64 %d<10>; .local .align 16 .b8 depot[128];\n"
                    ".shared .align 16 .b8 sh[1024];\n"
                    "ld.param.u64 %rd10, [out]; mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x;\n"
                    "mad.lo.u32 %r12, %r11, 256, %r10; mul.wide.u32 %rd11, %r12, 16;\n"
                    "add.u64 %rd12, %rd10, %rd11; mul.wide.u32 %rd13, %r12, 8;\n"
                    "add.u64 %rd14, %rd10, %rd13;\n"
                    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd12]; mov.b32 {%h1, %h4}, %r1;\n"
                    "mov.b32 {%h2, %h4}, %r2; mov.b32 {%h3, %h4}, %r3; mov.b32 %f1, %r1;\n"
                    "mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b64 %rd1, {%r1, %r2};\n"
                    "mov.b64 %rd2, {%r3, %r4}; mov.b64 %rd3, {%r2, %r4}; mov.b64 %d1, %rd1;\n"
                    "mov.b64 %d2, %rd2; mov.b64 %d3, %rd3; mov.u64 %rd9, 5; mov.u32 %r9, 5;\n"
                    "mov.b16 %h9, 5; mov.b32 %f9, %r9; mov.b64 %d9, %rd9; cvt.f64.f32 %d4, %f1;\n"
                    "setp.gt.u32 %p1, %r10, 40;\n");
    if (strstr(op->text, "local") || strstr(op->text, "%rd17]")) gi_buf_adds(&b, arrays);
    if (op->text[0] != '!') gi_buf_adds(&b, "@%p1 ");
    put_text(&b, op->text + (op->text[0] == '!'));
    gi_buf_adds(&b, ";\n");
    if (op->result == 'h') gi_buf_adds(&b, "cvt.u64.u16 %rd9, %h9;\n");
    if (op->result == 'r') gi_buf_adds(&b, "cvt.u64.u32 %rd9, %r9;\n");
    if (op->result == 'f') gi_buf_adds(&b, "mov.b32 %r9, %f9; cvt.u64.u32 %rd9, %r9;\n");
    if (op->result == 'd') gi_buf_adds(&b, "mov.b64 %rd9, %d9;\n");
    gi_buf_addf(&b, "st.global.u64 [%%rd14+%d], %%rd9; ret; }\n", 16 * N);
    return b.data;
}

typedef struct Data {
    uint32_t in[N][4];
    uint64_t out[N];
} Data;

/* The best build that the processor has. */
static int best_vectors(void) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    int vectors = e->vectors;
    emu_free(e);
    return vectors;
}

static bool run(const char *text, bool plain, int vectors, Data *data, double *ticks) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    EmuResult r = {0};
    e->plain = plain;
    e->vectors = vectors;
    uint64_t at = emu_map(e, data, sizeof *data, false, "data");
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {
        .kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .params = &at};
    bool fine = m && emu_launch(m, &l, &r, &err) && r.status == EMU_OK;
    if (!fine) printf("# %s%s\n", err.message, m ? r.message : "");
    *ticks = r.ticks;
    emu_unload(m);
    emu_free(e);
    return fine;
}

/* --- operands --- */

static uint32_t random_half(gi_rng *rng) {
    static const uint16_t edges[] = {0,      0x8000, 1,      0x03ff, 0x0400, 0x3c00, 0x3bff,
                                     0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7fff, 0x3f80, 0x7f80,
                                     0xff80, 0x7f81, 0x0080, 0x007f, 0xbc00, 0x4000};
    if (gi_rng_below(rng, 4) == 0) return edges[gi_rng_below(rng, sizeof edges / sizeof *edges)];
    return (uint32_t)gi_rng_below(rng, 0x10000);
}

static uint32_t random_word(gi_rng *rng) {
    static const uint32_t edges[] = {
        0,          0x80000000, 0x3f800000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001,
        0x00000001, 0x007fffff, 0x00800000, 0x477fefff, 0x477ff000, 0x477fe000, 0x38800000,
        0x387fffff, 0x33000000, 0x33000001, 0x32ffffff, 0x7f7fffff, 0x7f7f8000, 0x7f7f7fff,
        0x4b000000, 0x4f000000, 0xcf000000, 0x5f000000, 0x7fffffff, 0xffffffff, 31,
        32,         33,         0x3fc90fdb, 0x42c80000, 0x00010001, 0xc3200000, 0xc3200001,
        0x43000000, 0x42ffffff, 0xc2fc0000, 0xc3158000, 0x41a00000, 0x41a00001, 0x38d1b717,
        0x40c00000, 0x40c00001, 0x3f3504f3, 0x7e800000, 0x7e800001, 0xfe800001};
    uint64_t kind = gi_rng_below(rng, 10);
    if (kind == 0) return edges[gi_rng_below(rng, sizeof edges / sizeof *edges)];
    if (kind == 1) return (uint32_t)gi_rng_next(rng);
    if (kind == 2) return (uint32_t)gi_rng_next(rng) & 0xfffff000; /* ties */
    if (kind == 3) return 0x30000000 + (uint32_t)gi_rng_below(rng, 0x20000000);
    if (kind == 4) return 0x3e000000 + (uint32_t)gi_rng_below(rng, 0x05000000); /* 1/8 to 128 */
    if (kind == 5) return 0xbe000000 + (uint32_t)gi_rng_below(rng, 0x05800000);
    return random_half(rng) | random_half(rng) << 16;
}

/* a * b, of f16, is a little less than half of c's last bit, or more. */
static void almost_tie(gi_rng *rng, uint32_t *in) {
    uint32_t a = 1 + (uint32_t)gi_rng_below(rng, 12), b = 1 + (uint32_t)gi_rng_below(rng, 12);
    uint32_t exponent = a + b + 11 - 15 + (uint32_t)gi_rng_below(rng, 2);
    in[0] = a << 10 | 1 | (uint32_t)gi_rng_below(rng, 2) << 15;
    in[1] = b << 10 | (gi_rng_below(rng, 2) ? 0x3fe : 1);
    in[2] = (exponent & 31) << 10 | (uint32_t)gi_rng_below(rng, 1024);
}

/* Now and then a sum that nearly cancels: c about -a * b, as halves. */
static void fill(gi_rng *rng, Data *d) {
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 4; k++) d->in[i][k] = random_word(rng);
        if (gi_rng_below(rng, 8) == 0) almost_tie(rng, d->in[i]);
        if (gi_rng_below(rng, 4)) continue;
        uint16_t a = (uint16_t)d->in[i][0], b = (uint16_t)d->in[i][1];
        int exponent = (a >> 10 & 31) + (b >> 10 & 31) - 15 + (int)gi_rng_below(rng, 24) - 12;
        if (exponent < 0 || exponent > 30) continue;
        uint32_t c = (uint32_t)exponent << 10 | (uint32_t)gi_rng_below(rng, 1024) |
                     ((a ^ b ^ 0x8000) & 0x8000);
        d->in[i][2] = (d->in[i][2] & 0xffff0000) | c;
    }
    memset(d->out, 0, sizeof d->out);
}

static void compare(const Op *op, const Data *in, int best) {
    static Data plain, other;
    char *text = program(op);
    double ticks[2];
    bool ran = true, same = true;
    int wrong = 0, first = -1;
    plain = *in;
    ran &= run(text, true, VECTORS_BASE, &plain, &ticks[0]);
    for (int vectors = VECTORS_BASE; vectors <= best; vectors++) {
        other = *in;
        ran &= run(text, false, vectors, &other, &ticks[1]);
        same &= ticks[0] == ticks[1];
        for (int i = 0; i < N; i++)
            if (other.out[i] != plain.out[i]) wrong++, first = i;
    }
    if (!ok(ran && wrong == 0 && same, "%s", op->text) && first >= 0)
        printf("# %d differ; of %08x %08x %08x %" PRIx64 ", not %" PRIx64 "\n", wrong,
               in->in[first][0], in->in[first][1], in->in[first][2], other.out[first],
               plain.out[first]);
    free(text);
}

int main(int argc, char **argv) {
    static Data data;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
    gi_rng rng;
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&rng, seed);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        fill(&rng, &data);
        compare(&ops[i], &data, best_vectors());
    }
    return tap_done();
}
