/* Memory of the virtual GPU: spaces, vectors, windows, initial values, atomics, faults. */
#include "emu_core_run.h"

static uint32_t out[4096];

static void test_vectors(void) {
    Run r = run_new(1, 32);
    for (int i = 0; i < 256; i++) out[i] = (uint32_t)i * 3;
    const char *body =
        "mul.wide.u32 %rd3, %r1, 16; add.s64 %rd3, %rd0, %rd3;\n"
        "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3];\n"
        "st.global.v2.u32 [%rd3], {%r8, %r7}; st.global.v2.u32 [%rd3+8], {%r6, %r5};\n";
    run_body(&r, body, out, sizeof out, "vector loads and stores");
    int wrong = 0;
    for (uint32_t i = 0; i < 128; i++) wrong += out[i] != (i / 4 * 4 + 3 - i % 4) * 3;
    is_int(wrong, 0, "each four turned round");
}

static void test_bytes(void) {
    Run r = run_new(1, 32);
    uint8_t *b = (uint8_t *)out;
    for (int i = 0; i < 64; i++) b[i] = (uint8_t)(i * 37);
    const char *body = "cvt.u64.u32 %rd3, %r1; add.s64 %rd3, %rd0, %rd3;\n"
                       "ld.global.s8 %r5, [%rd3]; ld.global.u8 %h1, [%rd3]; cvt.u32.u16 %r6, %h1;\n"
                       "ld.global.s8 %h2, [%rd3]; cvt.s32.s16 %r7, %h2;\n"
                       "sub.u32 %r7, %r7, %r5; shl.b32 %r6, %r6, 16; and.b32 %r5, %r5, 0xffff; "
                       "or.b32 %r5, %r5, %r6;\n"
                       "add.u32 %r5, %r5, %r7; st.global.u32 [%rd1+128], %r5;\n";
    run_body(&r, body, out, sizeof out, "bytes");
    int wrong = 0;
    for (int i = 0; i < 32; i++) {
        uint8_t v = (uint8_t)(i * 37);
        wrong += out[32 + i] != ((uint32_t)v << 16 | (uint16_t)(int8_t)v);
    }
    is_int(wrong, 0, "signed and unsigned bytes are extended to 16 and 32 bits");
}

static const char spaces[] = PTX_HEAD
    ".const .align 4 .u32 table[4] = {11, 22, 33, 44};\n"
    ".global .align 4 .u32 counter = 5;\n"
    ".global .align 8 .u64 where = counter;\n"
    ".extern .shared .align 16 .b8 dyn[];\n" PTX_KERNEL
    ".shared .align 4 .b8 sh[128]; .local .align 8 .b8 depot[32];\n"
    "mov.u32 %r5, sh; shl.b32 %r6, %r2, 2; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r2;\n"
    "bar.sync 0; xor.b32 %r7, %r6, 4; mov.u32 %r8, sh; add.u32 %r7, %r7, %r8; ld.shared.u32 %r9, "
    "[%r7];\n"
    "mov.u32 %r10, dyn; add.u32 %r10, %r10, %r6; st.shared.u32 [%r10], %r9; ld.shared.u32 %r9, "
    "[%r10];\n"
    "mov.u64 %rd3, depot; and.b32 %r11, %r2, 7; mul.wide.u32 %rd4, %r11, 4; add.s64 %rd5, %rd3, "
    "%rd4;\n"
    "st.local.u32 [%rd5], %r9; cvta.local.u64 %rd6, %rd5; ld.u32 %r12, [%rd6];\n"
    "cvta.shared.u64 %rd7, 0; \n"
    "mov.u64 %rd8, table; and.b32 %r13, %r2, 3; mul.wide.u32 %rd9, %r13, 4; add.s64 %rd9, %rd8, "
    "%rd9;\n"
    "ld.const.u32 %r14, [%rd9]; ld.const.u32 %r15, [table+4];\n"
    "ld.global.u64 %rd10, [where]; ld.global.u32 %r16, [%rd10]; atom.global.add.u32 %r17, "
    "[counter], 1;\n"
    "mad.lo.u32 %r12, %r14, 100, %r12; mad.lo.u32 %r12, %r15, 10000, %r12; st.global.u32 [%rd1], "
    "%r12;\n"
    "add.u32 %r17, %r17, %r16; st.global.u32 [%rd1+128], %r17;\n" PTX_END;

static void test_spaces(void) {
    Run r = run_new(1, 32);
    r.launch.shared_bytes = 128;
    ok(run_text(&r, spaces, out, sizeof out) && r.result.status == EMU_OK, "spaces %s%s",
       r.err.message, r.result.message);
    int wrong = 0;
    for (uint32_t i = 0; i < 32; i++) {
        wrong += out[i] != (i ^ 1) + (i % 4 + 1) * 1100 + 220000;
        wrong += out[32 + i] != 5 + 5 + i;
    }
    is_int(wrong, 0, "shared, dynamic shared, local through a generic address, constant, global");
    is_int(r.result.shared_bytes, 256, "static and dynamic shared memory");
}

static void test_faults(void) {
    static const struct {
        const char *body;
        EmuStatus status;
        const char *says;
    } cases[] = {
        {"ld.global.u32 %r5, [%rd1+16384];\n", EMU_ILLEGAL_ADDRESS,
         "out-of-bounds read of 4 bytes in global"},
        {"st.global.u32 [%rd1+-4], %r5;\n", EMU_ILLEGAL_ADDRESS,
         "4 bytes before 'out' (16384 bytes)"},
        {"ld.global.u64 %rd3, [%rd0+16380];\n", EMU_ILLEGAL_ADDRESS,
         "out-of-bounds read of 8 bytes in global memory at byte 16380"},
        {"ld.global.u32 %r5, [%rd1+2];\n", EMU_MISALIGNED, "misaligned read of 4 bytes"},
        {"mov.u64 %rd3, 0; ld.global.u32 %r5, [%rd3];\n", EMU_ILLEGAL_ADDRESS, "null pointer"},
        {".shared .b8 sh[64]; mov.u32 %r5, sh; st.shared.u32 [%r5+64], %r5;\n", EMU_ILLEGAL_ADDRESS,
         "out-of-bounds write of 4 bytes in shared"},
        {".local .align 4 .b8 lo[64]; mov.u64 %rd3, lo; ld.local.u32 %r5, [%rd3+64];\n",
         EMU_ILLEGAL_ADDRESS, "out-of-bounds read of 4 bytes in local"},
        {"setp.eq.u32 %p1, %r2, 13; @%p1 trap;\n", EMU_LAUNCH_ERROR, "thread (13,0,0)"},
        {"mov.u64 %rd3, 77; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r2}];\n",
         EMU_LAUNCH_ERROR, "texture misuse"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run r = run_new(1, 32);
        char text[4000];
        snprintf(text, sizeof text, "%s%s%s%s", PTX_HEAD, PTX_KERNEL, cases[i].body, PTX_END);
        if (!run_text(&r, text, out, sizeof out)) {
            ok(false, "loads: %s", r.err.message);
            continue;
        }
        is_int(r.result.status, cases[i].status, emu_status_name(cases[i].status));
        has_str(r.result.message, cases[i].says, cases[i].says);
        has_str(r.result.message, "kernel k", "and names the kernel");
        if (strstr(r.result.message, "'out'"))
            ok(strstr(r.result.message, "0x") == NULL, "and no address, which runs do not share");
    }
}

static void test_partial_fault(void) { /* one lane strays: it is the one named */
    Run r = run_new(2, 64);
    char text[4000];
    snprintf(text, sizeof text,
             "%s%ssetp.eq.u32 %%p1, %%r1, 101; selp.b64 %%rd1, 64, %%rd1, %%p1;\n"
             "st.global.u32 [%%rd1], 1;\n%s",
             PTX_HEAD, PTX_KERNEL, PTX_END);
    run_text(&r, text, out, sizeof out);
    is_int(r.result.status, EMU_ILLEGAL_ADDRESS, "a stray lane");
    ok(r.result.block[0] == 1 && r.result.thread[0] == 37, "block %u thread %u", r.result.block[0],
       r.result.thread[0]);
}

static void test_read_only(void) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err;
    uint64_t at = emu_map(e, out, 128, true, "input");
    char text[2000];
    snprintf(text, sizeof text, "%s%sst.global.u32 [%%rd1], 1;\n%s", PTX_HEAD, PTX_KERNEL, PTX_END);
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &at};
    EmuResult r;
    ok(m && emu_launch(m, &l, &r, &err), "loads");
    is_int(r.status, EMU_ILLEGAL_ADDRESS, "a write to a read-only buffer");
    has_str(r.message, "'input'", "names it");
    emu_unmap(e, at);
    emu_launch(m, &l, &r, &err);
    is_int(r.status, EMU_ILLEGAL_ADDRESS, "and so is a write to a released one");
    emu_unload(m);
    emu_free(e);
}

static void test_reset(void) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err;
    EmuModule *m = emu_load(e, spaces, strlen(spaces), &err);
    size_t size = 0;
    uint32_t *counter = m ? emu_symbol(m, "counter", &size, NULL) : NULL;
    ok(counter && size == 4 && *counter == 5, "a variable begins at its initial value");
    if (counter) *counter = 99;
    emu_reset(m);
    ok(counter && *counter == 5, "and goes back to it");
    ok(emu_symbol(m, "sh", NULL, NULL) == NULL, "shared memory is no symbol of the host");
    EmuKernelInfo info;
    ok(emu_kernel_info(m, "k", &info, &err) && info.n_params == 1 && info.param_bytes == 8 &&
           info.shared_bytes == 128 && info.local_bytes == 32,
       "kernel info");
    ok(!emu_kernel_info(m, "nothing", &info, &err), "no such kernel: %s", err.message);
    is_str(emu_kernel_name(m, 0), "k", "kernel names");
    ok(emu_kernel_name(m, 1) == NULL, "end of the names");
    emu_unload(m);
    emu_free(e);
}

/* Of the module's shared variables a kernel has those that it names, or what it calls: as ptxas. */
static void test_shared_of_module(void) {
    static const char text[] =
        PTX_HEAD ".shared .align 4 .b8 small[64];\n.shared .align 128 .b8 big[32768];\n"
        ".func f() { .reg .b32 r; mov.u32 r, big; st.shared.u32 [r], r; ret; }\n"
        ".entry own() { .reg .b32 r; .shared .align 4 .b8 own[16]; mov.u32 r, small;\n"
        "st.shared.u32 [r], r; st.shared.u32 [own], r; ret; }\n"
        ".entry big_one() { .reg .b32 r; ld.shared.u32 r, [big+8]; ret; }\n"
        ".entry none() { ret; }\n.entry by_call() { call f; ret; }\n"
        ".entry pointer(.param .u64 p) { .reg .b64 d; ld.param.u64 d, [p];\n"
        "P: .callprototype _ ();\ncall d, P; ret; }\n";
    static const struct {
        const char *name;
        int bytes;
    } want[] = {{"own", 80}, {"big_one", 32896}, {"none", 0}, {"by_call", 32896},
                {"pointer", 32896}};
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {0};
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    for (int i = 0; i < 5; i++) {
        EmuKernelInfo info = {.shared_bytes = -1};
        bool fine = m && emu_kernel_info(m, want[i].name, &info, &err);
        is_int(info.shared_bytes, want[i].bytes, fine ? want[i].name : err.message);
    }
    if (m) emu_unload(m);
    emu_free(e);
}

static void test_uninitialised(void) {
    Run r = run_new(1, 32);
    r.launch.count_uninitialised = true;
    run_body(&r,
             ".shared .align 4 .b8 sh[256]; mov.u32 %r5, sh; mad.lo.u32 %r5, %r2, 4, %r5;\n"
             "setp.lt.u32 %p1, %r2, 20; @%p1 st.shared.u32 [%r5], 1; ld.shared.u32 %r6, [%r5];\n"
             "st.global.u32 [%rd1], %r6;\n",
             out, sizeof out, "reads of shared memory nobody wrote");
    is_int(r.result.uninitialised_reads, 12, "are counted");
    is_int(out[31], 0xffffffff, "and give NaNs");
}

int main(void) {
    test_vectors();
    test_bytes();
    test_spaces();
    test_faults();
    test_partial_fault();
    test_read_only();
    test_reset();
    test_shared_of_module();
    test_uninitialised();
    return tap_done();
}
