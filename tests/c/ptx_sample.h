/* ptx_sample.h - PTX written for the tests: one module with about every shape the parser knows. */
#ifndef GILUA_TEST_PTX_SAMPLE_H
#define GILUA_TEST_PTX_SAMPLE_H

#define PTX_HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* A function body in a kernel with a predicate, and some registers of each size. */
#define PTX_KERNEL(body)                                                     \
    PTX_HEAD ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n" \
             ".reg .pred %p<4>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" \
             ".reg .f32 %f<9>;\n.reg .f64 %fd<3>;\n" body "\n}\n"

static const char ptx_sample[] =
    "// made by hand\n" PTX_HEAD
    ".extern .func (.param .b32 func_retval0) vprintf\n(\n"
    "\t.param .b64 vprintf_param_0,\n\t.param .b64 vprintf_param_1\n)\n;\n"
    ".func (.param .b32 func_retval0) twice(.param .b32 twice_param_0);\n"
    ".global .align 4 .u32 counter = 5;\n"
    ".global .align 8 .u64 where[3] = {generic(counter)+8, 0, twice};\n"
    ".const .align 4 .f32 table[4] = {0f3F800000, 2.5, -1.0};\n"
    ".visible .global .align 16 .v4 .f32 quads[2] = {{0f3F800000, 0f40000000}, {3.0}};\n"
    ".global .align 1 .b8 matrix[2][3] = {{1, 2}, {4, 5, 6}};\n"
    ".global .attribute(.managed) .align 4 .u32 shared_with_host;\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".global .texref old_texture;\n"
    "/* a comment\n over lines */\n"
    ".func (.param .b32 func_retval0) twice(\n\t.param .b32 twice_param_0\n)\n.noreturn\n{\n"
    "\t.reg .b32 %r<3>;\n"
    "\tld.param.u32 %r1, [twice_param_0];\n"
    "\tshl.b32 %r2, %r1, 1;\n"
    "\tst.param.b32 [func_retval0+0], %r2;\n"
    "\tret;\n}\n"
    ".visible .entry big(\n"
    "\t.param .u64 .ptr .global .align 4 big_param_0,\n"
    "\t.param .align 8 .b8 big_param_1[48],\n\t.param .f32 big_param_2\n)\n"
    ".maxntid 128, 2\n.minnctapersm 2\n.maxnreg 64\n.maxclusterrank 4\n{\n"
    "\t.local .align 8 .b8 __local_depot0[24];\n"
    "\t.shared .align 4 .b8 tile[512];\n"
    "\t.reg .b64 %SP;\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<12>;\n\t.reg .b64 %rd<9>;\n"
    "\t.reg .f32 %f<9>, extra;\n"
    "\t.loc 1 10 5\n"
    "\tld.param.u64 %rd1, [big_param_0];\n"
    "\tmov.u32 %r1, %tid.x;\n"
    "\tmov.b32 %r2, WARP_SZ;\n"
    "\t@!%p1 setp.lt.s32 %p1|%p2, %r1, -7;\n"
    "\t.loc 2 77 3, function_name $L__info_string0, inlined_at 1 12 9\n"
    "\t@%p1 bra.uni $L__BB1_2;\n"
    "\t.loc 3 5 1, function_name $L__info_string1+4, inlined_at 2 77 3\n"
    "\ttex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];\n"
    "\t.loc 3 9 1\n"
    "\ttex.1d.v4.s32.s32 {%r3, _, _, _}, [old_texture, %r1];\n"
    "\t.loc 1 14 1\n"
    "\tshfl.sync.down.b32 %r4|%p2, %r3, 0x10, 037, 0b11111;\n"
    "\tlop3.b32 %r5, %r1, %r2, %r3, (0xf0 & ~0x30) | 2 * 4;\n"
    "\tvadd.s32.s32.s32 %r6, %r1.b0, %r2.h1;\n"
    "\tld.global.L2::128B.u32 %r7, [%rd1+-4];\n"
    "\tst.shared::cta.f32 [tile+16], 0f40490FDB;\n"
    "\tatom.global.add.u32 _, [%rd1], 4294967295;\n"
    "\tfma.rn.f64 %rd2, 0d3FF0000000000000, -2.5, %rd3;\n"
    "$L__BB1_2:\n\t.pragma \"nounroll\";\n"
    "\t{ // callseq 0, 0\n\t.reg .b32 temp_param_reg;\n\t.param .b32 param0;\n"
    "\tst.param.b32 [param0+0], %r5;\n\t.param .b32 retval0;\n"
    "\tcall.uni (retval0),\n\ttwice,\n\t(\n\tparam0\n\t);\n"
    "\tld.param.b32 %r8, [retval0+0];\n\t}\n"
    "\t{\n\t.reg .b32 temp_param_reg;\n\t.param .b64 param0;\n\t.param .b32 retval0;\n"
    "\tmov.b32 temp_param_reg, %r8;\n"
    "\tst.param.b64 [param0], %rd4;\n"
    "\tproto : .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;\n"
    "\tcall (retval0), %rd2, (param0), proto;\n\t}\n"
    "\tts: .branchtargets $L__BB1_2, $L__BB1_3, $L__BB1_2;\n"
    "\t@%p2 brx.idx %r8, ts;\n"
    "\t{ loop: add.s32 %r9, %r9, 1; @%p1 bra loop; }\n"
    "\t{ loop: add.s32 %r9, %r9, 2; @%p1 bra loop; }\n"
    "\tbar.sync 0;\n"
    "$L__BB1_3:\n\tret;\n\n}\n"
    ".file 1 \"user.cu\"\n.file 2 \"a b/header.h\", 123, 456\n.file 3 \"third.h\"\n"
    ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,0\n\n}\n";

#endif
