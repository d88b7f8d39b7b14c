/* emu_instructions_control.c - branches, loops that lanes leave at different times, nested and
** irregular divergence, jump tables, calls, returns and exits, against the same flow in C.
*/
#include "emu_kit.h"

enum { BLOCK = 80, GRID = 3, N = BLOCK * GRID };

static void check(const char *title, const char *decl, const char *body,
                  uint32_t (*want)(uint32_t x, int i)) {
    for (int i = 0; i < N; i++) {
        kit_in[i] = (uint32_t)kit_any_int();
        kit_want[i] = want(kit_in[i], i);
    }
    kit_body(&(KitBody){title, decl, body, GRID, BLOCK, 0});
}

static uint32_t if_else(uint32_t x, int i) {
    return (void)i, x & 1 ? x * 3 : x + 7;
}

/* Steps to 1 of the 3n + 1 problem, at most 50: every lane leaves at its own time. */
static uint32_t collatz(uint32_t x, int i) {
    uint32_t n = x % 1000 + 1, steps = 0;
    for (; n != 1 && steps < 50; steps++) n = n & 1 ? 3 * n + 1 : n / 2;
    return (void)i, steps;
}

static uint32_t nested(uint32_t x, int i) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < x % 7; k++)
        for (uint32_t j = k; j < (x >> 4) % 5; j++) {
            if ((k + j) % 3 == 0) continue;
            if (j == 3) break;
            sum += k * 10 + j;
        }
    return (void)i, sum;
}

static uint32_t switched(uint32_t x, int i) {
    switch (x % 6) {
    case 0: return x + 1;
    case 1: return x * 5;
    case 2: return x ^ 0xff;
    case 3: return (x * 5) ^ 0xff; /* falls from 1's work into 2's */
    default: return (void)i, 99;
    }
}

/* A jump into the middle of a loop: two entries, no structured form. */
static uint32_t irregular(uint32_t x, int i) {
    uint32_t n = x % 9, sum = 0;
    if (x & 16) goto middle;
top:
    sum += 1;
middle:
    sum += 10;
    if (n-- > 0) goto top;
    return (void)i, sum;
}

static uint32_t exits(uint32_t x, int i) {
    return x & 1 ? 0xa5a5a5a5 : x + (uint32_t)(i % BLOCK % 32); /* an exited lane writes nothing */
}

static uint32_t guarded(uint32_t x, int i) {
    uint32_t r = 0;
    if (x & 1) r += 1;
    if (!(x & 2)) r += 10;
    return (void)i, r;
}

static void test_branches(void) {
    check("if and else", NULL,
          "and.b32 %a1, %x, 1;\nsetp.eq.u32 %p1, %a1, 0;\n@%p1 bra ELSE;\nmul.lo.u32 %r, %x, "
          "3;\nbra.uni END;\n"
          "ELSE:\nadd.u32 %r, %x, 7;\nEND:",
          if_else);
    check("a negated guard on a branch", NULL,
          "and.b32 %a1, %x, 1;\nsetp.eq.u32 %p1, %a1, 0;\nadd.u32 %r, %x, 7;\n@!%p1 bra ODD;\nbra "
          "END;\n"
          "ODD:\nmul.lo.u32 %r, %x, 3;\nEND:",
          if_else);
    check("guarded instructions", NULL,
          "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\nand.b32 %a1, %x, 2;\nsetp.ne.u32 %p2, "
          "%a1, 0;\n"
          "@%p1 add.u32 %r, %r, 1;\n@!%p2 add.u32 %r, %r, 10;",
          guarded);
    check("a loop that lanes leave one by one", NULL,
          "rem.u32 %a1, %x, 1000;\nadd.u32 %a1, %a1, 1;\nTOP:\nsetp.eq.u32 %p1, %a1, "
          "1;\nsetp.ge.or.u32 %p1, %r, 50, %p1;\n"
          "@%p1 bra END;\nand.b32 %a2, %a1, 1;\nsetp.ne.u32 %p2, %a2, 0;\n@%p2 bra ODD;\nshr.u32 "
          "%a1, %a1, 1;\nbra NEXT;\n"
          "ODD:\nmad.lo.u32 %a1, %a1, 3, 1;\nNEXT:\nadd.u32 %r, %r, 1;\nbra TOP;\nEND:",
          collatz);
    check("nested loops with break and continue", NULL,
          "rem.u32 %a1, %x, 7;\nshr.u32 %a2, %x, 4;\nrem.u32 %a2, %a2, 5;\nmov.u32 %a3, "
          "0;\nOUTER:\nsetp.ge.u32 %p1, %a3, %a1;\n@%p1 bra END;\n"
          "mov.u32 %a4, %a3;\nINNER:\nsetp.ge.u32 %p2, %a4, %a2;\n@%p2 bra DONE;\nadd.u32 %a5, "
          "%a3, %a4;\nrem.u32 %a5, %a5, 3;\n"
          "setp.eq.u32 %p3, %a5, 0;\n@%p3 bra CONTINUE;\nsetp.eq.u32 %p4, %a4, 3;\n@%p4 bra "
          "DONE;\nmad.lo.u32 %a6, %a3, 10, %a4;\n"
          "add.u32 %r, %r, %a6;\nCONTINUE:\nadd.u32 %a4, %a4, 1;\nbra INNER;\nDONE:\nadd.u32 %a3, "
          "%a3, 1;\nbra OUTER;\nEND:",
          nested);
    check("brx.idx through a table", NULL,
          "rem.u32 %a1, %x, 6;\nmov.u32 %r, %x;\nsetp.gt.u32 %p1, %a1, 3;\n@%p1 bra OTHER;\n"
          "ts: .branchtargets L0, L1, L2, L3;\nbrx.idx %a1, ts;\n"
          "L0:\nadd.u32 %r, %r, 1;\nbra END;\nL1:\nmul.lo.u32 %r, %r, 5;\nbra "
          "END;\nL3:\nmul.lo.u32 %r, %r, 5;\n"
          "L2:\nxor.b32 %r, %r, 255;\nbra END;\nOTHER:\nmov.u32 %r, 99;\nEND:",
          switched);
    check("a loop with two entries", NULL,
          "rem.u32 %a1, %x, 9;\nand.b32 %a2, %x, 16;\nsetp.ne.u32 %p1, %a2, 0;\n@%p1 bra "
          "MIDDLE;\nTOP:\nadd.u32 %r, %r, 1;\n"
          "MIDDLE:\nadd.u32 %r, %r, 10;\nsetp.gt.u32 %p2, %a1, 0;\nsub.u32 %a1, %a1, 1;\n@%p2 bra "
          "TOP;",
          irregular);
    check("exit of some lanes", NULL,
          "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\n@%p1 exit;\nmov.u32 %a2, "
          "%laneid;\nadd.u32 %r, %x, %a2;",
          exits);
    check("ret of some lanes", NULL,
          "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\n@%p1 ret;\nmov.u32 %a2, "
          "%laneid;\nadd.u32 %r, %x, %a2;",
          exits);
    check("exit in both arms of a branch, lanes in the middle go on", NULL,
          "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\n@%p1 bra ODD;\nmov.u32 %a2, "
          "%laneid;\nadd.u32 %r, %x, %a2;\nbra END;\n"
          "ODD:\nexit;\nEND:",
          exits);
}

/* After an if the warp is whole again: a ballot sees every lane. */
static uint32_t whole(uint32_t x, int i) {
    return (void)x, i % BLOCK < 64 ? 0xffffffff : 0xffff;
}

static void test_reconvergence(void) {
    check("paths meet after an if", NULL,
          "and.b32 %a1, %x, 1;\nsetp.ne.u32 %p1, %a1, 0;\n@%p1 bra ODD;\nadd.u32 %a2, %x, 1;\nbra "
          "END;\nODD:\nadd.u32 %a2, %x, 2;\n"
          "END:\nactivemask.b32 %r;",
          whole);
    check("… and after a loop", NULL,
          "rem.u32 %a1, %x, 13;\nTOP:\nsetp.eq.u32 %p1, %a1, 0;\n@%p1 bra END;\nsub.u32 %a1, %a1, "
          "1;\nbra TOP;\nEND:\nactivemask.b32 %r;",
          whole);
    check("… and after calls that return early",
          ".func (.param .b32 r) f(.param .b32 n)\n{\n.reg .b32 %x;\n.reg .pred %p;\n"
          "ld.param.u32 %x, [n];\nsetp.gt.u32 %p, %x, 100;\nst.param.b32 [r], %x;\n@%p "
          "ret;\nadd.u32 %x, %x, 1;\nst.param.b32 [r], %x;\nret;\n}\n",
          "{ .param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\ncall (b), f, "
          "(a);\nld.param.b32 %a1, [b];\n}\nactivemask.b32 %r;",
          whole);
}

/* ---- calls ---- */

static uint32_t weigh(uint32_t x, int i) {
    return (x & 0xff) * 2 + (x >> 8 & 0xff) * 3 + (uint32_t)(i % 7);
}
static uint32_t factorial(uint32_t x, int i) {
    uint32_t f = 1;
    for (uint32_t k = 2; k <= x % 10; k++) f *= k;
    return (void)i, f;
}
static uint32_t chosen(uint32_t x, int i) {
    return (void)i, x & 1 ? x + 100 : x * 2;
}
static uint32_t local_copy(uint32_t x, int i) {
    return (void)i, x + (x ^ 1) + (x ^ 2) + (x ^ 3);
}

static void test_calls(void) {
    check(
        "several parameters, a structure by value, two results' worth",
        ".func (.param .align 8 .b8 r[8]) weigh(.param .align 4 .b8 p[8], .param .b32 k)\n{\n.reg "
        ".b32 %x<9>;\n"
        "ld.param.v2.b32 {%x1, %x2}, [p];\nld.param.b32 %x3, [k];\nmul.lo.u32 %x4, %x1, "
        "2;\nmul.lo.u32 %x5, %x2, 3;\n"
        "add.u32 %x4, %x4, %x3;\nst.param.b32 [r], %x4;\nst.param.b32 [r+4], %x5;\nret;\n}\n",
        "and.b32 %a1, %x, 255;\nshr.u32 %a2, %x, 8;\nand.b32 %a2, %a2, 255;\nrem.u32 %a3, %i, 7;\n"
        "{ .param .align 4 .b8 p[8];\n.param .b32 k;\n.param .align 8 .b8 r[8];\nst.param.b32 [p], "
        "%a1;\nst.param.b32 [p+4], %a2;\n"
        "st.param.b32 [k], %a3;\ncall.uni (r), weigh, (p, k);\nld.param.v2.b32 {%a4, %a5}, "
        "[r];\n}\nadd.u32 %r, %a4, %a5;",
        weigh);
    check("recursion to a depth that differs between lanes",
          ".func (.param .b32 r) fact(.param .b32 n)\n{\n.reg .b32 %x, %y, %z;\n.reg .pred "
          "%p;\nld.param.u32 %x, [n];\nmov.u32 %y, 1;\n"
          "setp.lt.u32 %p, %x, 2;\n@%p bra OUT;\nsub.u32 %z, %x, 1;\n{ .param .b32 a;\n.param .b32 "
          "b;\nst.param.b32 [a], %z;\n"
          "call (b), fact, (a);\nld.param.b32 %y, [b];\n}\nmul.lo.u32 %y, %y, "
          "%x;\nOUT:\nst.param.b32 [r], %y;\nret;\n}\n",
          "rem.u32 %a1, %x, 10;\n{ .param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %a1;\ncall "
          "(b), fact, (a);\nld.param.b32 %r, [b];\n}",
          factorial);
    check("a call through a pointer that differs between lanes",
          ".func (.param .b32 r) plus(.param .b32 n)\n{\n.reg .b32 %x;\nld.param.u32 %x, "
          "[n];\nadd.u32 %x, %x, 100;\nst.param.b32 [r], %x;\nret;\n}\n"
          ".func (.param .b32 r) times(.param .b32 n)\n{\n.reg .b32 %x;\nld.param.u32 %x, "
          "[n];\nshl.b32 %x, %x, 1;\nst.param.b32 [r], %x;\nret;\n}\n"
          ".global .align 8 .u64 both[2] = {times, plus};\n",
          "and.b32 %a1, %x, 1;\nmul.wide.u32 %l1, %a1, 8;\nmov.u64 %l2, both;\nadd.s64 %l2, %l2, "
          "%l1;\nld.global.u64 %l3, [%l2];\n"
          "{ .param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\nproto: .callprototype (.param "
          ".b32 _) _ (.param .b32 _);\n"
          "call (b), %l3, (a), proto;\nld.param.b32 %r, [b];\n}",
          chosen);
    check("a local array passed by address",
          ".func fill(.param .b64 p, .param .b32 n)\n{\n.reg .b64 %q;\n.reg .b32 %x, %y;\n.local "
          ".align 4 .b8 own[16];\n.reg .b64 %o;\n"
          "ld.param.u64 %q, [p];\nld.param.u32 %x, [n];\nmov.u64 %o, own;\nst.local.u32 [%o], "
          "%x;\nld.local.u32 %x, [%o];\nst.u32 [%q], %x;\n"
          "xor.b32 %y, %x, 1;\nst.u32 [%q+4], %y;\nxor.b32 %y, %x, 2;\nst.u32 [%q+8], %y;\nxor.b32 "
          "%y, %x, 3;\nst.u32 [%q+12], %y;\nret;\n}\n",
          ".local .align 4 .b8 v[16];\nmov.u64 %l1, v;\ncvta.local.u64 %l2, %l1;\n{ .param .b64 "
          "a;\n.param .b32 b;\nst.param.b64 [a], %l2;\n"
          "st.param.b32 [b], %x;\ncall.uni fill, (a, b);\n}\nld.local.v4.u32 {%a1, %a2, %a3, %a4}, "
          "[%l1];\nadd.u32 %r, %a1, %a2;\n"
          "add.u32 %r, %r, %a3;\nadd.u32 %r, %r, %a4;",
          local_copy);
}

/* ---- geometry: three dimensions, every thread once ---- */

static void test_geometry(void) {
    static const char ptx[] = KIT_HEADER
        ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %a<20>;\n.reg .b64 %l<4>;\nld.param.u64 "
        "%l1, [out];\n"
        "mov.u32 %a1, %ctaid.z;\nmov.u32 %a2, %nctaid.y;\nmov.u32 %a3, %ctaid.y;\nmad.lo.u32 %a1, "
        "%a1, %a2, %a3;\n"
        "mov.u32 %a2, %nctaid.x;\nmov.u32 %a3, %ctaid.x;\nmad.lo.u32 %a1, %a1, %a2, %a3;\n"
        "mov.u32 %a2, %ntid.z;\nmov.u32 %a3, %tid.z;\nmad.lo.u32 %a1, %a1, %a2, %a3;\n"
        "mov.u32 %a2, %ntid.y;\nmov.u32 %a3, %tid.y;\nmad.lo.u32 %a1, %a1, %a2, %a3;\n"
        "mov.u32 %a2, %ntid.x;\nmov.u32 %a3, %tid.x;\nmad.lo.u32 %a1, %a1, %a2, %a3;\n"
        "mul.wide.u32 %l2, %a1, 4;\nadd.s64 %l1, %l1, %l2;\nred.global.add.u32 [%l1], "
        "1;\nret;\n}\n";
    EmuModule *m = kit_load(ptx, "geometry");
    if (!m) return;
    memset(kit_out, 0, sizeof kit_out);
    uint64_t at = emu_map(kit_emu, kit_out, sizeof kit_out, false, "out");
    EmuLaunch l = {.kernel = "k", .grid = {3, 2, 4}, .block = {5, 7, 3}, .params = &at};
    EmuResult r;
    gi_err err;
    int wrong = 0;
    ok(emu_launch(m, &l, &r, &err) && r.status == EMU_OK,
       "a launch of 3 x 2 x 4 blocks of 5 x 7 x 3 threads");
    for (int i = 0; i < 3 * 2 * 4 * 5 * 7 * 3; i++) wrong += kit_out[i] != 1;
    is_int(wrong, 0, "every thread runs once, at its own index");
    ok(r.lane_instructions > r.warp_instructions && r.ticks > 0, "work is counted");
    emu_unmap(kit_emu, at);
    emu_unload(m);
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    test_branches();
    test_reconvergence();
    test_calls();
    test_geometry();
    return kit_end();
}
