/* emu_instructions_warp.c - instructions across the lanes of a warp and the warps of a block, with
** whole warps, partial ones and divergent masks, against loops over lanes.
*/
#include "emu_kit.h"

enum { BLOCK = 80, GRID = 3, N = BLOCK * GRID }; /* the last warp of a block has 16 lanes */

static void random_input(void) {
    for (int i = 0; i < N; i++) kit_in[i] = (uint32_t)kit_any_int();
}

static int lane_of(int i) {
    return i % BLOCK % 32;
}
static int first_of(int i) {
    return i - lane_of(i);
}
static int lanes_of(int i) {
    return i % BLOCK < 64 ? 32 : 16;
}

/* Lanes whose input is odd: the divergent mask of the tests. */
static uint32_t odd_mask(int i) {
    uint32_t mask = 0;
    for (int k = 0; k < lanes_of(i); k++) mask |= (kit_in[first_of(i) + k] & 1) << k;
    return mask;
}

static uint32_t full_mask(int i) {
    return lanes_of(i) == 32 ? 0xffffffff : 0xffff;
}

typedef uint32_t (*Lane)(int i, uint32_t mask);

/* The body twice: for all lanes, and inside a branch that only odd inputs take (the mask the same
** lanes name). In the body, %a0 is the mask. */
static void both(const char *title, const char *body, Lane want) {
    char text[1200], name[200];
    random_input();
    for (int i = 0; i < N; i++) kit_want[i] = want(i, full_mask(i));
    snprintf(text, sizeof text, "activemask.b32 %%a0;\n%s", body);
    kit_body(&(KitBody){title, NULL, text, GRID, BLOCK, 0});
    for (int i = 0; i < N; i++) kit_want[i] = kit_in[i] & 1 ? want(i, odd_mask(i)) : 0;
    snprintf(
        text, sizeof text,
        "and.b32 %%a19, %%x, 1;\nsetp.eq.u32 %%p19, %%a19, 0;\nmov.u32 %%r, 0;\n@%%p19 bra OUT;\n"
        "activemask.b32 %%a0;\n%s\nOUT:",
        body);
    snprintf(name, sizeof name, "%s, in a branch", title);
    kit_body(&(KitBody){name, NULL, text, GRID, BLOCK, 0});
}

#define EACH(k, mask)                                                                              \
    for (int k = 0; k < 32; k++)                                                                   \
        if ((mask) >> k & 1)

/* ---- votes: of the lanes with bit 1 set ---- */

static uint32_t ballot(int i, uint32_t mask) {
    uint32_t votes = 0;
    EACH(k, mask) votes |= (kit_in[first_of(i) + k] >> 1 & 1) << k;
    return votes;
}
static uint32_t any(int i, uint32_t mask) {
    return ballot(i, mask) != 0;
}
static uint32_t all(int i, uint32_t mask) {
    return ballot(i, mask) == mask;
}
static uint32_t uni(int i, uint32_t mask) {
    return all(i, mask) || !any(i, mask);
}
static uint32_t active(int i, uint32_t mask) {
    return (void)i, mask;
}

#define VOTER  "and.b32 %a1, %x, 2;\nsetp.ne.u32 %p1, %a1, 0;\n"
#define AS_INT "\nselp.u32 %r, 1, 0, %p2;"

static void test_votes(void) {
    both("activemask", "mov.u32 %r, %a0;", active);
    both("vote.sync.ballot.b32", VOTER "vote.sync.ballot.b32 %r, %p1, %a0;", ballot);
    both("vote.ballot.sync.b32", VOTER "vote.ballot.sync.b32 %r, %p1, %a0;", ballot);
    both("vote.sync.any.pred", VOTER "vote.sync.any.pred %p2, %p1, %a0;" AS_INT, any);
    both("vote.sync.all.pred", VOTER "vote.sync.all.pred %p2, %p1, %a0;" AS_INT, all);
    both("vote.sync.uni.pred", VOTER "vote.sync.uni.pred %p2, %p1, %a0;" AS_INT, uni);
    both("vote.sync.any.pred, negated",
         VOTER "vote.sync.any.pred %p2, !%p1, %a0;\n"
               "not.pred %p2, %p2;" AS_INT,
         all);
}

/* ---- shuffles ---- */

static int segment_mode; /* 0: the warp, else segments of 8 lanes */

/* The lane a shuffle reads, as the ISA's pseudocode; *in tells whether it lies in range. */
static int source_lane(int lane, char mode, int b, bool *in) {
    int c = mode == 'u' ? 0 : 31, segmask = segment_mode ? 0x18 : 0;
    int max = (lane & segmask) | (c & ~segmask), min = lane & segmask, j = 0;
    switch (mode) {
    case 'u':
        j = lane - b;
        *in = j >= max;
        break;
    case 'd':
        j = lane + b;
        *in = j <= max;
        break;
    case 'x':
        j = lane ^ b;
        *in = j <= max;
        break;
    default:
        j = min | (b & ~segmask);
        *in = j <= max;
        break;
    }
    return *in ? j : lane;
}

/* Where the source is outside the mask the result is unspecified, and replaced by 0xdead. */
static uint32_t shuffled(int i, uint32_t mask, char mode, int b, bool predicate) {
    bool in;
    int j = source_lane(lane_of(i), mode, b, &in);
    if (!(mask >> j & 1)) return 0xdead;
    return predicate ? in : kit_in[first_of(i) + j];
}

static uint32_t up3(int i, uint32_t m) {
    return shuffled(i, m, 'u', 3, false);
}
static uint32_t down5(int i, uint32_t m) {
    return shuffled(i, m, 'd', 5, false);
}
static uint32_t down5_in(int i, uint32_t m) {
    return shuffled(i, m, 'd', 5, true);
}
static uint32_t butterfly(int i, uint32_t m) {
    return shuffled(i, m, 'x', 4, false);
}
static uint32_t index6(int i, uint32_t m) {
    return shuffled(i, m, 'i', 6, false);
}
static uint32_t by_lane(int i, uint32_t m) {
    return shuffled(i, m, 'i', (int)(kit_in[i] >> 8 & 31), false);
}

/* %a4 is the lane read, computed as the test does: outside the mask the result does not count. */
#define GUARD                                                                                      \
    "\nshr.u32 %a5, %a0, %a4;\nand.b32 %a5, %a5, 1;\nsetp.ne.u32 %p5, %a5, 0;\n"                   \
    "selp.u32 %r, %r, 57005, %p5;"

static void test_shuffles(void) {
    static const struct {
        const char *title, *mode, *b, *lane;
        Lane want;
    } table[] = {
        {"shfl.sync.up", "up", "3", "sub.s32 %a4, %a3, 3;\nsetp.ge.s32 %p4, %a4, %a6;", up3},
        {"shfl.sync.down", "down", "5", "add.s32 %a4, %a3, 5;\nsetp.le.s32 %p4, %a4, %a7;", down5},
        {"shfl.sync.bfly", "bfly", "4", "xor.b32 %a4, %a3, 4;\nsetp.le.s32 %p4, %a4, %a7;",
         butterfly},
        {"shfl.sync.idx", "idx", "6", "or.b32 %a4, %a6, 6;\nsetp.le.s32 %p4, %a4, %a7;", index6},
    };
    for (segment_mode = 0; segment_mode < 2; segment_mode++)
        for (int t = 0; t < KIT_COUNT(table); t++) {
            char body[900], title[100];
            bool up = table[t].want == up3;
            int c = segment_mode ? (up ? 0x1800 : 0x181f) : up ? 0 : 31;
            /* a6, a7: first and last lane of the segment; p4: in range */
            snprintf(
                body, sizeof body,
                "mov.u32 %%a3, %%laneid;\nand.b32 %%a6, %%a3, %d;\nor.b32 %%a7, %%a6, %d;\n%s\n"
                "selp.b32 %%a4, %%a4, %%a3, %%p4;\nshfl.sync.%s.b32 %%r|%%p2, %%x, %s, %d, %%a0;%s",
                segment_mode ? 0x18 : 0, segment_mode ? 7 : 31, table[t].lane, table[t].mode,
                table[t].b, c, GUARD);
            snprintf(title, sizeof title, "%s.b32%s", table[t].title,
                     segment_mode ? " in segments of 8" : "");
            both(title, body, table[t].want);
        }
    segment_mode = 0;
    both("shfl.sync.down's predicate",
         "mov.u32 %a3, %laneid;\nadd.s32 %a4, %a3, 5;\nsetp.le.s32 %p4, %a4, 31;\n"
         "selp.b32 %a4, %a4, %a3, %p4;\nshfl.sync.down.b32 %a8|%p2, %x, 5, 31, %a0;" AS_INT GUARD,
         down5_in);
    both(
        "shfl.sync.idx.b32 by register",
        "shr.u32 %a4, %x, 8;\nand.b32 %a4, %a4, 31;\nshfl.sync.idx.b32 %r, %x, %a4, 31, %a0;" GUARD,
        by_lane);
}

/* ---- match, redux ---- */

static uint32_t match_any(int i, uint32_t mask) {
    uint32_t equal = 0;
    EACH(k, mask) equal |= (uint32_t)((kit_in[first_of(i) + k] & 6) == (kit_in[i] & 6)) << k;
    return equal;
}
static uint32_t match_all(int i, uint32_t mask) {
    return match_any(i, mask) == mask ? mask : 0;
}

#define REDUX(name, type, start, expression)                                                       \
    static uint32_t redux_##name(int i, uint32_t mask) {                                           \
        type v = start;                                                                            \
        EACH(k, mask) {                                                                            \
            type x = (type)kit_in[first_of(i) + k];                                                \
            v = expression;                                                                        \
        }                                                                                          \
        return (uint32_t)v;                                                                        \
    }
REDUX(add, uint32_t, 0, v + x)
REDUX(min_s32, int32_t, INT32_MAX, x < v ? x : v)
REDUX(max_s32, int32_t, INT32_MIN, x > v ? x : v)
REDUX(min_u32, uint32_t, UINT32_MAX, x < v ? x : v)
REDUX(max_u32, uint32_t, 0, x > v ? x : v)
REDUX(and, uint32_t, UINT32_MAX, v &x)
REDUX(or, uint32_t, 0, v | x)
REDUX(xor, uint32_t, 0, v ^ x)

static void test_match_redux(void) {
    both("match.any.sync.b32", "and.b32 %a1, %x, 6;\nmatch.any.sync.b32 %r, %a1, %a0;", match_any);
    both("match.any.sync.b64",
         "and.b32 %a1, %x, 6;\nmov.b64 %l1, {%a0, %a1};\nmatch.any.sync.b64 %r, %l1, %a0;",
         match_any);
    both("match.all.sync.b32", "and.b32 %a1, %x, 6;\nmatch.all.sync.b32 %r|%p2, %a1, %a0;",
         match_all);
    both("match.all.sync.b32 of equals", "match.all.sync.b32 %r|%p2, %a0, %a0;", active);
    both("redux.sync.add.s32", "redux.sync.add.s32 %r, %x, %a0;", redux_add);
    both("redux.sync.add.u32", "redux.sync.add.u32 %r, %x, %a0;", redux_add);
    both("redux.sync.min.s32", "redux.sync.min.s32 %r, %x, %a0;", redux_min_s32);
    both("redux.sync.max.s32", "redux.sync.max.s32 %r, %x, %a0;", redux_max_s32);
    both("redux.sync.min.u32", "redux.sync.min.u32 %r, %x, %a0;", redux_min_u32);
    both("redux.sync.max.u32", "redux.sync.max.u32 %r, %x, %a0;", redux_max_u32);
    both("redux.sync.and.b32", "redux.sync.and.b32 %r, %x, %a0;", redux_and);
    both("redux.sync.or.b32", "redux.sync.or.b32 %r, %x, %a0;", redux_or);
    both("redux.sync.xor.b32", "redux.sync.xor.b32 %r, %x, %a0;", redux_xor);
}

/* ---- special registers ---- */

static uint32_t lane_id(int i, uint32_t m) {
    return (void)m, (uint32_t)lane_of(i);
}
static uint32_t mask_lt(int i, uint32_t m) {
    return (void)m, (1U << lane_of(i)) - 1;
}
static uint32_t mask_eq(int i, uint32_t m) {
    return (void)m, 1U << lane_of(i);
}
static uint32_t mask_le(int i, uint32_t m) {
    return mask_lt(i, m) | mask_eq(i, m);
}
static uint32_t mask_gt(int i, uint32_t m) {
    return ~mask_le(i, m);
}
static uint32_t mask_ge(int i, uint32_t m) {
    return ~mask_lt(i, m);
}
static uint32_t thread_x(int i, uint32_t m) {
    return (void)m, (uint32_t)(i % BLOCK);
}
static uint32_t block_x(int i, uint32_t m) {
    return (void)m, (uint32_t)(i / BLOCK);
}
static uint32_t shape(int i, uint32_t m) {
    return (void)i, (void)m, BLOCK * 1000 + GRID;
}
static uint32_t zero(int i, uint32_t m) {
    return (void)i, (void)m, 0;
}
static uint32_t one(int i, uint32_t m) {
    return (void)i, (void)m, 1;
}

static void test_special_registers(void) {
    both("%laneid", "mov.u32 %r, %laneid;", lane_id);
    both("%lanemask_lt", "mov.u32 %r, %lanemask_lt;", mask_lt);
    both("%lanemask_le", "mov.u32 %r, %lanemask_le;", mask_le);
    both("%lanemask_eq", "mov.u32 %r, %lanemask_eq;", mask_eq);
    both("%lanemask_ge", "mov.u32 %r, %lanemask_ge;", mask_ge);
    both("%lanemask_gt", "mov.u32 %r, %lanemask_gt;", mask_gt);
    both("%tid.x", "mov.u32 %r, %tid.x;", thread_x);
    both("%ctaid.x", "mov.u32 %r, %ctaid.x;", block_x);
    both("%ntid.x, %nctaid.x",
         "mov.u32 %a1, %ntid.x;\nmov.u32 %a2, %nctaid.x;\nmad.lo.u32 %r, %a1, 1000, %a2;", shape);
    both("%tid.y + %tid.z + %ctaid.y + %ctaid.z",
         "mov.u32 %a1, %tid.y;\nmov.u32 %a2, %tid.z;\nadd.u32 %r, %a1, %a2;\nmov.u32 %a1, "
         "%ctaid.y;\n"
         "add.u32 %r, %r, %a1;\nmov.u32 %a1, %ctaid.z;\nadd.u32 %r, %r, %a1;",
         zero);
    both("%clock goes on",
         "mov.u32 %a1, %clock;\nadd.f32 %f1, %f1, %f1;\nmov.u32 %a2, %clock;\n"
         "sub.u32 %a3, %a2, %a1;\nsetp.lt.u32 %p2, %a3, 100000;" AS_INT,
         one);
    both("%clock64 and %globaltimer never go back",
         "mov.u64 %l1, %clock64;\nmov.u64 %l3, %globaltimer;\nnanosleep.u32 20;\nmov.u64 %l2, "
         "%clock64;\n"
         "mov.u64 %l4, %globaltimer;\nsetp.ge.u64 %p1, %l2, %l1;\nsetp.ge.and.u64 %p2, %l4, %l3, "
         "%p1;" AS_INT,
         one);
    both("%smid < %nsmid",
         "mov.u32 %a1, %smid;\nmov.u32 %a2, %nsmid;\nsetp.lt.u32 %p2, %a1, %a2;" AS_INT, one);
    both("%warpid < %nwarpid",
         "mov.u32 %a1, %warpid;\nmov.u32 %a2, %nwarpid;\nsetp.lt.u32 %p2, %a1, %a2;" AS_INT, one);
}

/* ---- barriers of the block ---- */

static uint32_t votes_of_block(int i) {
    uint32_t n = 0;
    for (int k = i - i % BLOCK; k < i - i % BLOCK + BLOCK; k++) n += kit_in[k] >> 1 & 1;
    return n;
}

static void test_barriers(void) {
    static const char *const kinds[] = {"bar.sync 0;",
                                        "barrier.sync 0;",
                                        "bar.sync 3;",
                                        "bar.sync 1, 96;",
                                        "mov.u32 %a9, 2;\nbarrier.sync %a9;",
                                        "bar.warp.sync -1;\nbar.sync 0;",
                                        "barrier.sync.aligned 0;"};
    for (int k = 0; k < KIT_COUNT(kinds); k++) {
        char body[700];
        random_input();
        for (int i = 0; i < N; i++) kit_want[i] = kit_in[i - i % BLOCK + 79 - i % BLOCK];
        snprintf(body, sizeof body,
                 "mov.u32 %%a1, %%tid.x;\nshl.b32 %%a2, %%a1, 2;\nmov.u32 %%a3, s;\n"
                 "add.u32 %%a4, %%a3, %%a2;\nst.shared.u32 [%%a4], %%x;\n%s\n"
                 "sub.u32 %%a5, 79, %%a1;\nshl.b32 %%a5, %%a5, 2;\nadd.u32 %%a5, %%a3, %%a5;\n"
                 "ld.shared.u32 %%r, [%%a5];",
                 kinds[k]);
        kit_body(&(KitBody){kinds[k], ".shared .align 4 .b8 s[320];", body, GRID, BLOCK, 0});
    }
    random_input();
    for (int i = 0; i < N; i++) kit_want[i] = votes_of_block(i);
    kit_body(
        &(KitBody){"bar.red.popc.u32", NULL, VOTER "bar.red.popc.u32 %r, 0, %p1;", GRID, BLOCK, 0});
    for (int i = 0; i < N; i++) kit_want[i] = votes_of_block(i) > 0;
    kit_body(&(KitBody){"bar.red.or.pred", NULL, VOTER "bar.red.or.pred %p2, 0, %p1;" AS_INT, GRID,
                        BLOCK, 0});
    for (int i = 0; i < N; i++) kit_want[i] = votes_of_block(i) == BLOCK;
    kit_body(&(KitBody){"bar.red.and.pred", NULL, VOTER "bar.red.and.pred %p2, 0, %p1;" AS_INT,
                        GRID, BLOCK, 0});
    for (int i = 0; i < N; i++) kit_in[i] |= 2, kit_want[i] = 1;
    kit_body(&(KitBody){"bar.red.and.pred of ones", NULL,
                        VOTER "bar.red.and.pred %p2, 0, %p1;" AS_INT, GRID, BLOCK, 0});
}

/* Producer and consumer warps: bar.arrive does not wait. */
static void test_arrive(void) {
    for (int i = 0; i < 64; i++) {
        kit_in[i] = (uint32_t)i * 3;
        kit_want[i] = i < 32 ? 0 : (uint32_t)(i - 32) * 3;
    }
    kit_body(&(KitBody){"bar.arrive and bar.sync of two warps", ".shared .align 4 .b8 s[128];",
                        "mov.u32 %a1, %laneid;\nshl.b32 %a1, %a1, 2;\nmov.u32 %a2, s;\n"
                        "add.u32 %a1, %a1, %a2;\nsetp.ge.u32 %p1, %i, 32;\n@%p1 bra CONSUMER;\n"
                        "st.shared.u32 [%a1], %x;\nbar.arrive 1, 64;\nbra END;\n"
                        "CONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r, [%a1];\nEND:",
                        1, 64, 0});
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    test_votes();
    test_shuffles();
    test_match_redux();
    test_special_registers();
    test_barriers();
    test_arrive();
    return kit_end();
}
