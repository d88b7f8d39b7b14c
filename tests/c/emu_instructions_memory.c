/* emu_instructions_memory.c - loads and stores: every space, width, sign, vector and cache or order
** modifier; address conversion; parameters; variables and their initial values.
*/
#include "emu_kit.h"

/* ---- round trips: a value stored through one space comes back extended ---- */

static const struct {
    const char *space, *address; /* the address of 16 bytes of the thread's own in %l1 */
} places[] = {
    {".shared",
     "mov.u32 %a1, %tid.x;\nmul.wide.u32 %l2, %a1, 16;\nmov.u64 %l1, s;\nadd.s64 %l1, %l1, %l2;\n"},
    {".global", "mul.wide.u32 %l2, %i, 16;\nmov.u64 %l1, g;\nadd.s64 %l1, %l1, %l2;\n"},
    {".local", ".local .align 16 .b8 v[32];\nmov.u64 %l1, v;\nadd.s64 %l1, %l1, 16;\n"},
    {"", "mov.u32 %a1, %tid.x;\nmul.wide.u32 %l2, %a1, 16;\nmov.u64 %l1, s;\ncvta.shared.u64 %l1, "
         "%l1;\nadd.s64 %l1, %l1, %l2;\n"},
    {"", ".local .align 16 .b8 v[32];\nmov.u64 %l1, v;\ncvta.local.u64 %l1, %l1;\nadd.s64 %l1, "
         "%l1, 16;\n"},
    {"", "mul.wide.u32 %l2, %i, 16;\nmov.u64 %l1, g;\ncvta.global.u64 %l1, %l1;\nadd.s64 %l1, %l1, "
         "%l2;\n"},
};
static const char *const place_name[] = {
    "shared", "global", "local", "generic to shared", "generic to local", "generic to global"};
static const char decl[] = ".shared .align 16 .b8 s[2048];\n.global .align 16 .b8 g[8192];";

enum { BLOCK = 80, GRID = 3, N = BLOCK * GRID };

static uint32_t extend(uint32_t x, int bits, bool is_signed) {
    if (bits == 32) return x;
    uint32_t v = x & ((1U << bits) - 1);
    return is_signed && v >> (bits - 1) ? v | UINT32_MAX << bits : v;
}

static void random_input(void) {
    for (int i = 0; i < N; i++) kit_in[i] = (uint32_t)kit_any_int();
}

static void body(const char *title, const char *text) {
    kit_body(&(KitBody){title, decl, text, GRID, BLOCK, 0});
}

/* A narrow store must not touch its neighbours, a narrow load must extend by its own type. */
static void test_scalars(void) {
    static const struct {
        const char *store, *load;
        int bits;
        bool is_signed;
    } pairs[] = {{"u8", "u8", 8, false},    {"u8", "s8", 8, true},     {"b8", "b8", 8, false},
                 {"u16", "u16", 16, false}, {"u16", "s16", 16, true},  {"u32", "u32", 32, false},
                 {"b32", "s32", 32, true},  {"b16", "b16", 16, false}, {"s8", "s8", 8, true}};
    char text[900], title[120];
    for (int p = 0; p < KIT_COUNT(places); p++)
        for (int k = 0; k < KIT_COUNT(pairs); k++) {
            random_input();
            for (int i = 0; i < N; i++)
                kit_want[i] = extend(kit_in[i], pairs[k].bits, pairs[k].is_signed) + 7;
            snprintf(text, sizeof text,
                     "%sst%s.v2.u32 [%%l1], {7, 0};\nst%s.v2.u32 [%%l1+8], {0, 7};\nst%s.%s "
                     "[%%l1+4], %%x;\n"
                     "ld%s.%s %%r, [%%l1+4];\nld%s.u32 %%a2, [%%l1];\nadd.u32 %%r, %%r, %%a2;\n"
                     "ld%s.u32 %%a2, [%%l1+8];\nadd.u32 %%r, %%r, %%a2;",
                     places[p].address, places[p].space, places[p].space, places[p].space,
                     pairs[k].store, places[p].space, pairs[k].load, places[p].space,
                     places[p].space);
            snprintf(title, sizeof title, "st.%s, ld.%s: %s", pairs[k].store, pairs[k].load,
                     place_name[p]);
            body(title, text);
        }
}

/* 64 bits and vectors: what one form stores, 32-bit loads find in order; and the other way round.
 */
static void test_vectors(void) {
    static const struct {
        const char *what, *store, *load;
    } forms[] = {
        {"u64",
         "mov.b64 %l5, {%a2, %a3};\nst@.u64 [%l1], %l5;\nmov.b64 %l6, {%a4, %a5};\nst@.u64 "
         "[%l1+8], %l6;",
         "ld@.u64 %l5, [%l1];\nld@.u64 %l6, [%l1+8];\nmov.b64 {%a2, %a3}, %l5;\nmov.b64 {%a4, "
         "%a5}, %l6;"},
        {"f64",
         "mov.b64 %d5, {%a2, %a3};\nst@.f64 [%l1], %d5;\nmov.b64 %d6, {%a4, %a5};\nst@.f64 "
         "[%l1+8], %d6;",
         "ld@.f64 %d5, [%l1];\nld@.f64 %d6, [%l1+8];\nmov.b64 {%a2, %a3}, %d5;\nmov.b64 {%a4, "
         "%a5}, %d6;"},
        {"f32",
         "mov.b32 %f2, %a2;\nst@.f32 [%l1], %f2;\nst@.v2.u32 [%l1+8], {%a4, %a5};\nst@.u32 "
         "[%l1+4], %a3;",
         "ld@.f32 %f2, [%l1];\nmov.b32 %a2, %f2;\nld@.u32 %a3, [%l1+4];\nld@.v2.u32 {%a4, %a5}, "
         "[%l1+8];"},
        {"v2.u32", "st@.v2.u32 [%l1], {%a2, %a3};\nst@.v2.u32 [%l1+8], {%a4, %a5};",
         "ld@.v2.u32 {%a2, %a3}, [%l1];\nld@.v2.u32 {%a4, %a5}, [%l1+8];"},
        {"v4.u32", "st@.v4.u32 [%l1], {%a2, %a3, %a4, %a5};",
         "ld@.v4.u32 {%a2, %a3, %a4, %a5}, [%l1];"},
        {"v4.f32",
         "mov.b32 %f2, %a2;\nmov.b32 %f3, %a3;\nmov.b32 %f4, %a4;\nmov.b32 %f5, %a5;\nst@.v4.f32 "
         "[%l1], {%f2, %f3, %f4, %f5};",
         "ld@.v4.f32 {%f2, %f3, %f4, %f5}, [%l1];\nmov.b32 %a2, %f2;\nmov.b32 %a3, %f3;\nmov.b32 "
         "%a4, %f4;\nmov.b32 %a5, %f5;"},
        {"v2.u64",
         "mov.b64 %l5, {%a2, %a3};\nmov.b64 %l6, {%a4, %a5};\nst@.v2.u64 [%l1], {%l5, %l6};",
         "ld@.v2.u64 {%l5, %l6}, [%l1];\nmov.b64 {%a2, %a3}, %l5;\nmov.b64 {%a4, %a5}, %l6;"},
        {"v2.f64",
         "mov.b64 %d5, {%a2, %a3};\nmov.b64 %d6, {%a4, %a5};\nst@.v2.f64 [%l1], {%d5, %d6};",
         "ld@.v2.f64 {%d5, %d6}, [%l1];\nmov.b64 {%a2, %a3}, %d5;\nmov.b64 {%a4, %a5}, %d6;"},
        {"v4.u16",
         "mov.b32 {%h1, %h2}, %a2;\nmov.b32 {%h3, %h4}, %a3;\nst@.v4.u16 [%l1], {%h1, %h2, %h3, "
         "%h4};\nst@.v2.u32 [%l1+8], {%a4, %a5};",
         "ld@.v4.u16 {%h1, %h2, %h3, %h4}, [%l1];\nmov.b32 %a2, {%h1, %h2};\nmov.b32 %a3, {%h3, "
         "%h4};\nld@.v2.u32 {%a4, %a5}, [%l1+8];"},
        {"v4.u8",
         "shr.u32 %a6, %a2, 8;\nshr.u32 %a7, %a2, 16;\nshr.u32 %a8, %a2, 24;\nst@.v4.u8 [%l1], "
         "{%a2, %a6, %a7, %a8};\n"
         "st@.u32 [%l1+4], %a3;\nst@.v2.u32 [%l1+8], {%a4, %a5};",
         "ld@.v4.u8 {%a2, %a6, %a7, %a8}, [%l1];\nbfi.b32 %a2, %a6, %a2, 8, 8;\nbfi.b32 %a2, %a7, "
         "%a2, 16, 8;\nbfi.b32 %a2, %a8, %a2, 24, 8;\n"
         "ld@.u32 %a3, [%l1+4];\nld@.v2.u32 {%a4, %a5}, [%l1+8];"},
        {"v2.u8",
         "shr.u32 %a6, %a2, 8;\nst@.v2.u8 [%l1], {%a2, %a6};\nshr.u32 %a6, %a2, 16;\nst@.u16 "
         "[%l1+2], %a6;\nst@.u32 [%l1+4], %a3;\nst@.v2.u32 [%l1+8], {%a4, %a5};",
         "ld@.v2.u8 {%a6, %a7}, [%l1];\nld@.u16 %a8, [%l1+2];\nbfi.b32 %a2, %a7, %a6, 8, "
         "8;\nbfi.b32 %a2, %a8, %a2, 16, 16;\n"
         "ld@.u32 %a3, [%l1+4];\nld@.v2.u32 {%a4, %a5}, [%l1+8];"},
    };
    /* a2 … a5 from x; after the trip they are mixed into one number */
    static const char make[] =
        "mov.u32 %a2, %x;\nnot.b32 %a3, %x;\nshl.b32 %a4, %x, 3;\nadd.u32 %a5, %x, 77;\n";
    static const char clear[] =
        "\nmov.u32 %a2, 0;\nmov.u32 %a3, 0;\nmov.u32 %a4, 0;\nmov.u32 %a5, 0;\n";
    static const char mix[] =
        "\nmad.lo.u32 %r, %a2, 3, %a3;\nmad.lo.u32 %r, %r, 5, %a4;\nmad.lo.u32 %r, %r, 7, %a5;";
    static const char plain_store[] =
        "st@.u32 [%l1], %a2;\nst@.u32 [%l1+4], %a3;\nst@.u32 [%l1+8], %a4;\nst@.u32 [%l1+12], %a5;";
    static const char plain_load[] =
        "ld@.u32 %a2, [%l1];\nld@.u32 %a3, [%l1+4];\nld@.u32 %a4, [%l1+8];\nld@.u32 %a5, [%l1+12];";
    for (int p = 0; p < KIT_COUNT(places); p++)
        for (int k = 0; k < 2 * KIT_COUNT(forms); k++) {
            int f = k / 2;
            bool storing = k & 1;
            gi_buf raw = {0}, text = {0};
            char title[120];
            gi_buf_addf(&raw, "%s%s%s%s%s%s", places[p].address, make,
                        storing ? forms[f].store : plain_store, clear,
                        storing ? plain_load : forms[f].load, mix);
            for (const char *c = raw.data; *c; c++) { /* @ is the space */
                if (*c == '@') gi_buf_adds(&text, places[p].space);
                else gi_buf_add(&text, c, 1);
            }
            random_input();
            for (int i = 0; i < N; i++) {
                uint32_t x = kit_in[i];
                kit_want[i] = (((x * 3 + ~x) * 5) + (x << 3)) * 7 + x + 77;
            }
            snprintf(title, sizeof title, "%s.%s: %s", storing ? "st" : "ld", forms[f].what,
                     place_name[p]);
            body(title, text.data);
            gi_buf_free(&raw);
            gi_buf_free(&text);
        }
}

static void test_modifiers(void) {
    static const struct {
        const char *load, *store;
    } forms[] = {{"ld.volatile.global.u32", "st.volatile.global.u32"},
                 {"ld.relaxed.gpu.global.u32", "st.relaxed.gpu.global.u32"},
                 {"ld.acquire.gpu.global.u32", "st.release.gpu.global.u32"},
                 {"ld.global.nc.u32", "st.global.u32"},
                 {"ld.global.ca.u32", "st.global.wb.u32"},
                 {"ld.global.cg.u32", "st.global.cg.u32"},
                 {"ld.global.cs.u32", "st.global.cs.u32"},
                 {"ld.global.cv.u32", "st.global.wt.u32"},
                 {"ld.global.lu.u32", "st.global.u32"},
                 {"ldu.global.u32", "st.global.u32"},
                 {"ld.relaxed.sys.global.u32", "st.relaxed.cta.global.u32"},
                 {"ld.weak.global.u32", "st.weak.global.u32"},
                 {"ld.global.L1::no_allocate.u32", "st.global.L1::no_allocate.u32"},
                 {"ld.global.nc.L2::128B.u32", "st.global.u32"}};
    char text[400];
    random_input();
    for (int i = 0; i < N; i++) kit_want[i] = kit_in[i];
    for (int k = 0; k < KIT_COUNT(forms); k++) {
        snprintf(text, sizeof text, "%s%s [%%l1], %%x;\nmembar.gl;\n%s %%r, [%%l1];",
                 places[1].address, forms[k].store, forms[k].load);
        body(forms[k].load, text);
    }
    body("ld.volatile.shared.u32, membar.cta", "mov.u32 %a1, %tid.x;\nmul.wide.u32 %l2, %a1, "
                                               "16;\nmov.u64 %l1, s;\nadd.s64 %l1, %l1, %l2;\n"
                                               "st.volatile.shared.u32 [%l1], "
                                               "%x;\nmembar.cta;\nfence.sc.cta;\nfence.acq_rel.gpu;"
                                               "\nmembar.sys;\nld.volatile.shared.u32 %r, [%l1];");
    body("prefetch touches nothing",
         "mov.u64 %l1, g;\nprefetch.global.L1 [%l1];\nprefetch.global.L2 [%l1];\nprefetchu.L1 "
         "[%l1];\nmov.u32 %r, %x;");
    body("shared address in 32 bits",
         "mov.u32 %a1, %tid.x;\nshl.b32 %a1, %a1, 4;\nmov.u32 %a2, s;\nadd.u32 %a2, %a2, "
         "%a1;\nst.shared.u32 [%a2+4], %x;\nld.shared.u32 %r, [%a2+4];");
}

/* ---- conversion of addresses ---- */

static void test_conversion(void) {
    static const char *const trips[] = {
        "mov.u64 %l1, s;\ncvta.shared.u64 %l2, %l1;\ncvta.to.shared.u64 %l3, %l2;",
        "mov.u64 %l1, g;\ncvta.global.u64 %l2, %l1;\ncvta.to.global.u64 %l3, %l2;",
        ".local .b8 v[4];\nmov.u64 %l1, v;\ncvta.local.u64 %l2, %l1;\ncvta.to.local.u64 %l3, %l2;",
        "mov.u64 %l1, c;\ncvta.const.u64 %l2, %l1;\ncvta.to.const.u64 %l3, %l2;"};
    char text[600];
    const char *vars =
        ".shared .align 16 .b8 s[64];\n.global .align 4 .b8 g[4];\n.const .align 4 .b8 c[4];";
    for (int i = 0; i < N; i++) kit_want[i] = 1;
    for (int k = 0; k < KIT_COUNT(trips); k++) {
        snprintf(text, sizeof text, "%s\nsetp.eq.u64 %%p1, %%l1, %%l3;\nselp.u32 %%r, 1, 0, %%p1;",
                 trips[k]);
        kit_body(&(KitBody){"cvta there and back", vars, text, GRID, BLOCK, 0});
    }
    static const char *const spaces[] = {"shared", "global", "local", "const"};
    for (int i = 0; i < N; i++) kit_want[i] = 1;
    for (int k = 0; k < 4; k++) {
        gi_buf b = {0};
        gi_buf_addf(&b, "%s\nmov.u32 %%r, 0;\n", trips[k]);
        for (int q = 0; q < 4;
             q++) /* 1 for its own space; a const address may also count as global */
            if (q == k || (q != 1 && k != 3))
                gi_buf_addf(&b,
                            "isspacep.%s %%p1, %%l2;\nselp.u32 %%a1, %d, 0, %%p1;\nadd.u32 %%r, "
                            "%%r, %%a1;\n",
                            spaces[q], q == k ? 1 : 100);
        kit_body(&(KitBody){"isspacep", vars, b.data, GRID, BLOCK, 0});
        gi_buf_free(&b);
    }
}

/* ---- variables ---- */

static void test_variables(void) {
    for (int i = 0; i < N; i++) kit_want[i] = 10 + 20 + 30 + 0 + 0xfffffffe + 0x3f800000 + 20;
    kit_body(&(KitBody){
        "initial values",
        ".const .align 4 .u32 table[3] = {10, 20, 30};\n.global .align 4 .u32 zero;\n"
        ".global .align 1 .s8 small[2] = {1, -2};\n.global .align 4 .f32 one = 0f3F800000;\n"
        ".global .align 8 .u64 pointer = generic(table) + 4;",
        "mov.u64 %l1, table;\nld.const.u32 %r, [%l1];\nld.const.u32 %a1, [table+4];\nadd.u32 %r, "
        "%r, %a1;\n"
        "ld.const.u32 %a1, [%l1+8];\nadd.u32 %r, %r, %a1;\nld.global.u32 %a1, [zero];\nadd.u32 %r, "
        "%r, %a1;\n"
        "ld.global.s8 %a1, [small+1];\nadd.u32 %r, %r, %a1;\nld.global.u32 %a1, [one];\nadd.u32 "
        "%r, %r, %a1;\n"
        "ld.global.u64 %l2, [pointer];\nld.u32 %a1, [%l2];\nadd.u32 %r, %r, %a1;",
        GRID, BLOCK, 0});
    kit_body(&(KitBody){"constant vectors",
                        ".const .align 16 .b8 v[16] = {1,0,0,0, 2,0,0,0, 3,0,0,0, 4,0,0,0};",
                        "ld.const.v4.f32 {%f1, %f2, %f3, %f4}, [v];\nmov.b32 %a1, "
                        "%f4;\nld.const.v2.u32 {%a2, %a3}, [v+8];\n"
                        "ld.const.f64 %d1, [v+8];\nmov.b64 {%a4, %a5}, %d1;\nadd.u32 %r, %a1, "
                        "%a3;\nadd.u32 %r, %r, %a5;\nsub.u32 %r, %r, 12;\n"
                        "add.u32 %r, %r, 1065353294;",
                        GRID, BLOCK, 0});
}

/* Emu_symbol sees a kernel's writes; emu_reset takes them back; dynamic shared memory is as long as
** the launch says. */
static void test_host_view(void) {
    static const char ptx[] =
        KIT_HEADER ".global .align 4 .u32 counter = 5;\n.extern .shared .align 16 .b8 dyn[];\n"
                   ".visible .entry k()\n{\n.reg .b32 %a<4>;\n.reg .b64 %l<4>;\nmov.u64 %l1, dyn;\n"
                   "mov.u32 %a1, 9;\nst.shared.u32 [%l1+60], %a1;\nld.shared.u32 %a2, [%l1+60];\n"
                   "ld.global.u32 %a1, [counter];\nadd.u32 %a1, %a1, %a2;\nst.global.u32 "
                   "[counter], %a1;\nret;\n}\n";
    EmuModule *m = kit_load(ptx, "a module variable");
    if (!m) return;
    size_t size = 0;
    uint64_t address = 0;
    uint32_t *counter = emu_symbol(m, "counter", &size, &address);
    ok(counter && size == 4 && address != 0 && *counter == 5,
       "the host sees a variable's initial value");
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .shared_bytes = 64};
    EmuResult r;
    gi_err err;
    ok(emu_launch(m, &l, &r, &err) && r.status == EMU_OK && counter && *counter == 14,
       "… and what a kernel wrote");
    l.shared_bytes = 60;
    ok(emu_launch(m, &l, &r, &err) && r.status == EMU_ILLEGAL_ADDRESS,
       "dynamic shared memory ends where the launch says");
    emu_reset(m);
    counter = emu_symbol(m, "counter", &size, &address);
    ok(counter && *counter == 5, "emu_reset brings the initial value back");
    ok(emu_symbol(m, "nobody", &size, &address) == NULL, "a name nobody declared is NULL");
    emu_unload(m);
}

/* Parameters of every type, read whole and as vectors. */
static void test_parameters(void) {
    static const char ptx[] =
        KIT_HEADER ".visible .entry k(.param .u8 a, .param .s8 b, .param .u16 c, .param .s16 d, "
                   ".param .u32 e, .param .f32 f,\n"
                   ".param .u64 g, .param .f64 h, .param .align 16 .b8 v[16], .param .u64 out)\n{\n"
                   ".reg .b16 %h<4>;\n.reg .b32 %a<20>;\n.reg .b64 %l<9>;\n.reg .f32 %f<4>;\n.reg "
                   ".f64 %d<4>;\n"
                   "ld.param.u64 %l1, [out];\nld.param.u8 %a1, [a];\nst.global.u32 [%l1], "
                   "%a1;\nld.param.s8 %a1, [b];\nst.global.u32 [%l1+4], %a1;\n"
                   "ld.param.u16 %h1, [c];\ncvt.u32.u16 %a1, %h1;\nst.global.u32 [%l1+8], "
                   "%a1;\nld.param.s16 %a1, [d];\nst.global.u32 [%l1+12], %a1;\n"
                   "ld.param.u32 %a1, [e];\nst.global.u32 [%l1+16], %a1;\nld.param.f32 %f1, "
                   "[f];\nst.global.f32 [%l1+20], %f1;\n"
                   "ld.param.u64 %l2, [g];\nst.global.u64 [%l1+24], %l2;\nld.param.f64 %d1, "
                   "[h];\nst.global.f64 [%l1+32], %d1;\n"
                   "ld.param.v2.u32 {%a2, %a3}, [v];\nst.global.v2.u32 [%l1+40], {%a2, "
                   "%a3};\nld.param.v4.u8 {%a4, %a5, %a6, %a7}, [v+8];\n"
                   "st.global.u32 [%l1+48], %a5;\nst.global.u32 [%l1+52], %a7;\nmov.u64 %l3, "
                   "v;\nld.param.u32 %a8, [%l3+12];\nst.global.u32 [%l1+56], %a8;\nret;\n}\n";
    EmuModule *m = kit_load(ptx, "parameters");
    uint32_t out[16] = {0};
    static unsigned char block[256];
    if (!m) return;
    EmuKernelInfo info;
    gi_err err;
    uint64_t at = emu_map(kit_emu, out, sizeof out, false, "out"), g = 0x1122334455667788;
    double h = 2.5;
    float f = -1.5F;
    const struct {
        const void *value;
        size_t size;
    } values[] = {{"\x81", 1},
                  {"\x81", 1},
                  {"\x01\x82", 2},
                  {"\x01\x82", 2},
                  {"\x78\x56\x34\x12", 4},
                  {&f, 4},
                  {&g, 8},
                  {&h, 8},
                  {"\x01\0\0\0\x02\0\0\0\xf1\xf2\xf3\xf4\x09\0\0\0", 16},
                  {&at, 8}};
    ok(emu_kernel_info(m, "k", &info, &err) && info.n_params == 10, "ten parameters");
    for (int i = 0; i < 10; i++) {
        is_int(info.param_size[i], values[i].size, "the size of a parameter");
        memcpy(block + info.param_offset[i], values[i].value, values[i].size);
    }
    if (kit_launch(m, "k", 1, 1, block, "parameters")) {
        static const uint32_t want[] = {0x81,       0xffffff81, 0x8201,     0xffff8201, 0x12345678,
                                        0xbfc00000, 0x55667788, 0x11223344, 0,          0x40040000,
                                        1,          2,          0xf2,       0xf4,       9};
        int wrong = 0;
        for (int i = 0; i < KIT_COUNT(want); i++)
            if (out[i] != want[i] && ++wrong)
                printf("# word %d: got %#x, want %#x\n", i, out[i], want[i]);
        ok(wrong == 0, "parameters arrive, extended by their types");
    }
    emu_unmap(kit_emu, at);
    emu_unload(m);
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    test_scalars();
    test_vectors();
    test_modifiers();
    test_conversion();
    test_variables();
    test_host_view();
    test_parameters();
    return kit_end();
}
