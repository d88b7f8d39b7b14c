/* ptx_lower.c - what is short for something else is written out: parameters in registers, vector
** registers, variables of the module that a function declares, aliases; and what one text is left
** of that is only understood in part. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

static gi_err err;

static PtxModule *parse(const char *text) {
    err = (gi_err){.code = ""};
    PtxModule *m = ptx_parse(text, strlen(text), &err);
    if (m == NULL) ok(false, "parses: %s", err.message);
    return m;
}

/* The instructions of function `f`, a line each. */
static char *code_of(const PtxFunc *f, gi_buf *out) {
    gi_buf_clear(out);
    for (int i = 0; i < f->n_code; i++) {
        ptx_print_instr(f, &f->code[i], out);
        gi_buf_adds(out, "\n");
    }
    return out->data;
}

/* Printed and parsed again it is the same text. */
static void stays(const PtxModule *m, const char *what) {
    gi_buf first = {0}, second = {0};
    ptx_print(m, &first);
    PtxModule *again = parse(first.data);
    if (again) ptx_print(again, &second);
    is_str(second.data, first.data, what);
    ptx_free(again);
    gi_buf_free(&first);
    gi_buf_free(&second);
}

/* A prototype may have no ';' behind it. */
static void prototypes(void) {
    PtxModule *m = parse(PTX_HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a)\n"
                                  ".func g (.param .b64 a) .noreturn\n.global .b32 x;\n"
                                  ".visible .func f (.param .b64 a)\n.entry k() { ret; }\n");
    if (m == NULL) return;
    is_int(m->n_funcs, 4, "four functions");
    ok(!m->funcs[0].has_body && !m->funcs[2].has_body && m->funcs[3].has_body, "one has a body");
    is_str(m->funcs[1].directives, ".noreturn", "a directive of the head stays there");
    stays(m, "and so it stays");
    ptx_free(m);
    err = (gi_err){.code = ""};
    static const char cut[] = PTX_HEAD ".func f (.param .b64 a)\n";
    ok(ptx_parse(cut, strlen(cut), &err) == NULL, "the last one needs its ';'");
}

/* Local memory of a module is that of each kernel which names it. */
static void module_locals(void) {
    static const char text[] =
        ".version 2.3\n.target sm_20\n.address_size 64\n.local .align 4 .b8 l[16];\n"
        ".entry a() { .reg .u32 x; st.local.u32 [l], 1; ld.local.u32 x, [l]; ret; }\n"
        ".entry b() { ret; }\n";
    PtxModule *m = parse(text);
    if (m == NULL) return;
    is_int(m->n_vars, 0, "the module has no variable");
    is_int(m->funcs[0].n_vars, 1, "the kernel that names it has");
    is_int(m->funcs[1].n_vars, 0, "the other has none");
    stays(m, "and so it stays");
    ptx_free(m);
    static const char func[] = ".version 2.3\n.target sm_20\n.address_size 64\n"
                               ".local .align 4 .b8 l[16];\n.func f() { st.local.u32 [l], 1; }\n";
    err = (gi_err){.code = ""};
    ok(ptx_parse(func, strlen(func), &err) == NULL, "a function does not get it");
    has_str(err.message, "only kernels may use it", "and says so");
}

/* A vector goes through as many bytes. */
static void vector_params(void) {
    gi_buf out = {0};
    PtxModule *m = parse(PTX_HEAD
                         ".func (.reg .v4 .f32 r) f (.reg .v4 .f32 a) { mov.v4.f32 r, a; ret; }\n"
                         ".visible .entry k() { .reg .v4 .f32 v, w;\ncall (w), f, (v);\nret; }\n");
    if (m == NULL) return;
    is_int((int)m->funcs[0].params[0].size, 16, "a vector in a parameter has 16 bytes");
    is_int(m->funcs[0].params[0].align, 16, "and their alignment");
    is_str(code_of(&m->funcs[0], &out),
           "ld.param.v4.b32 {a$x, a$y, a$z, a$w}, [a$param];\n"
           "mov.v4.f32 {r$x, r$y, r$z, r$w}, {a$x, a$y, a$z, a$w};\n"
           "st.param.v4.b32 [r$param], {r$x, r$y, r$z, r$w};\nret;\n"
           "st.param.v4.b32 [r$param], {r$x, r$y, r$z, r$w};\n",
           "it is loaded and stored at once");
    is_str(code_of(&m->funcs[1], &out),
           "st.param.v4.b32 [call$1], {v$x, v$y, v$z, v$w};\ncall (call$0), f, (call$1);\n"
           "ld.param.v4.b32 {w$x, w$y, w$z, w$w}, [call$0];\nret;\n",
           "by the caller, too");
    stays(m, "and so it stays");
    ptx_free(m);
    gi_buf_free(&out);
}

static void reg_params(void) {
    gi_buf out = {0};
    PtxModule *m =
        parse(PTX_HEAD
              ".func (.reg .f32 r, .param .b32 s) f (.reg .f32 a, .param .b64 b, .reg .b64 c) {\n"
              ".reg .pred p;\nmov.f32 r, a;\n@p ret;\nadd.f32 r, r, a;\nret;\n}\n"
              ".func void (.reg .b32 a) { .reg .b32 x; mov.u32 x, a; }\n"
              ".visible .entry k() { .reg .f32 x, y; .reg .b64 l; .reg .pred q; .param .b64 b; "
              ".param .b32 s;\n"
              "call (x, s), f, (y, b, 7);\n@q call (_, s), f, (0f3F800000, b, l);\n"
              "call void, (5);\nret; }\n");
    if (m == NULL) return;
    is_int(m->funcs[0].n_params, 3, "parameters in registers are parameters");
    is_str(m->funcs[0].params[0].name, "a$param", "of another name");
    is_int(m->funcs[0].params[0].space, PTX_PARAM, "in memory");
    is_str(code_of(&m->funcs[0], &out),
           "ld.param.b32 a, [a$param];\nld.param.b64 c, [c$param];\nmov.f32 r, a;\n"
           "@p st.param.b32 [r$param], r;\n@p ret;\nadd.f32 r, r, a;\n"
           "st.param.b32 [r$param], r;\nret;\nst.param.b32 [r$param], r;\n",
           "they are loaded first and stored before each return");
    is_str(code_of(&m->funcs[2], &out),
           "st.param.b32 [call$3], y;\nst.param.b64 [call$4], 7;\n"
           "call (call$2, s), f, (call$3, b, call$4);\nld.param.b32 x, [call$2];\n"
           "st.param.b32 [call$6], 0f3F800000;\nst.param.b64 [call$7], l;\n"
           "@q call (call$5, s), f, (call$6, b, call$7);\n"
           "st.param.b32 [call$8], 5;\ncall void, (call$8);\nret;\n",
           "calls go through memory, where and when they did");
    stays(m, "and so it stays");
    ptx_free(m);
    gi_buf_free(&out);
}

static void vectors(void) {
    gi_buf out = {0};
    PtxModule *m = parse(PTX_KERNEL(".reg .v4 .f32 v;\n.reg .v2 .b32 w<2>;\n"
                                    "ld.global.v4.f32 v, [%rd1];\nadd.f32 v.x, v.y, v.a;\n"
                                    "st.global.v2.b32 [%rd1], w1;\nmov.b32 w0.g, w1.x;\nret;"));
    if (m == NULL) return;
    is_str(code_of(&m->funcs[0], &out),
           "ld.global.v4.f32 {v$x, v$y, v$z, v$w}, [%rd1];\nadd.f32 v$x, v$y, v$w;\n"
           "st.global.v2.b32 [%rd1], {w1$x, w1$y};\nmov.b32 w0$y, w1$x;\nret;\n",
           "a vector register is several");
    stays(m, "and so it stays");
    ptx_free(m);
    gi_buf_free(&out);
}

static void hoisted(void) {
    PtxModule *m =
        parse(PTX_HEAD ".func f() { .global .u32 n = 3; .reg .b32 r; ld.global.u32 r, [n]; ret; }\n"
                       ".func g() { .global .u32 n = 4; { .const .f32 c[2] = {1.5, 2.5}; } ret; }\n"
                       ".global .u32 n = 5;\n");
    if (m == NULL) return;
    is_int(m->n_vars, 4, "variables in .global and .const are the module's");
    ok(m->vars[0]->init[0] == 3 && m->vars[1]->init[0] == 4, "each function has its own");
    ok(m->funcs[0].code[0].args[1].elems[0].var == m->vars[0], "which it means");
    ok(strcmp(m->vars[0]->name, m->vars[1]->name) != 0, "of names that nobody else has");
    is_str(m->vars[3]->name, "n", "and the module's keeps its own");
    stays(m, "and so it stays");
    ptx_free(m);
}

/* Printed before the function, such a variable must not be hidden by one of the function's. */
static void hoisted_beside(const char *body, const char *what) {
    gi_buf text = {0};
    gi_buf_addf(&text, "%s.func f() { .reg .b32 r; %s ret; }\n", PTX_HEAD, body);
    PtxModule *m = parse(text.data);
    gi_buf_free(&text);
    if (m == NULL) return;
    const PtxFunc *f = &m->funcs[0];
    for (int i = 0; i < f->n_vars; i++)
        ok(strcmp(f->vars[i]->name, m->vars[0]->name) != 0, "%s: %s and %s", what,
           f->vars[i]->name, m->vars[0]->name);
    ok(f->n_vars > 0, "%s: both are there", what);
    stays(m, what);
    ptx_free(m);
}

static void masks(void) {
    PtxModule *m = parse(PTX_HEAD ".global .u32 a;\n"
                                  ".global .u8 b[3] = {7, 0xFF(generic(a)), 0XFF00(a+4)};\n"
                                  ".global .u8 c = 0xff0000(a);\n");
    if (m == NULL) return;
    const PtxVar *b = m->vars[1];
    is_int(b->n_relocs, 2, "bytes of an address");
    ok(b->relocs[0].mask == 0xff && b->relocs[0].generic && b->relocs[0].offset == 1, "the lowest");
    ok(b->relocs[1].mask == 0xff00 && b->relocs[1].addend == 4, "the next");
    ok(b->relocs[1].var == m->vars[0] && b->relocs[1].func == -1, "and whose");
    is_int((int64_t)m->vars[2]->relocs[0].mask, 0xff0000, "a later one");
    stays(m, "and so it stays");
    ptx_free(m);
}

static void aliases(void) {
    PtxModule *m = parse(PTX_HEAD ".func g();\n.func f() { ret; }\n.alias g, f;\n"
                                  ".global .u64 table[1] = {g};\n"
                                  ".visible .entry k() { call g; ret; }\n");
    if (m == NULL) return;
    int f = m->funcs[0].has_body ? 0 : 1;
    is_int(m->funcs[2].code[0].args[0].func, f, "who calls an alias calls the function");
    is_int(m->vars[0]->relocs[0].func, f, "and a table of functions has it");
    stays(m, "and so it stays");
    ptx_free(m);
}

static void partly(void) {
    static const char text[] =
        PTX_HEAD ".visible .entry a() { ret; }\n"
                 ".visible .entry b() { here: { x: oops %r1 } \"} // {\"\n"
                 "here: /* } */ }\n"
                 ".visible .entry c() { here: bra here; .reg .b32 %r1; x: ret; }\n";
    ok(ptx_parse(text, strlen(text), &err) == NULL, "a text is understood whole or not at all");
    PtxModule *m = ptx_parse_most(text, strlen(text), &err);
    if (!ok(m != NULL, "or most of it is taken: %s", err.message)) return;
    ok(m->n_funcs == 3 && m->funcs[0].n_code == 1, "the functions before");
    ok(m->funcs[1].has_body && m->funcs[1].n_code == 0,
       "of the one that is not understood nothing");
    has_str(m->funcs[1].refused, "PTX line 5: ", "but why, with the line");
    ok(m->funcs[2].n_code == 2 && m->funcs[2].refused == NULL, "and the functions behind");
    is_int(m->funcs[2].line, 7, "  where they are");
    ptx_free(m);
    static const char open[] = PTX_HEAD ".visible .entry a() { oops";
    ok(ptx_parse_most(open, strlen(open), &err) == NULL, "a body without an end is none");
    has_str(err.message, "no closing '}'", "  which is said");
}

int main(void) {
    reg_params();
    vector_params();
    module_locals();
    prototypes();
    vectors();
    hoisted();
#define CONSTANT     "{ .const .b32 a; ld.const.b32 r, [a]; }"
#define LOCAL(name) "{ .local .b32 " name "; st.local.b32 [" name "], r; }"
    hoisted_beside(CONSTANT LOCAL("a"), "a constant before a local variable");
    hoisted_beside(CONSTANT LOCAL("a") LOCAL("a"), "before several");
    hoisted_beside(LOCAL("a$1") CONSTANT, "a local variable with its next name");
    hoisted_beside(CONSTANT LOCAL("a$1"), "the same behind it");
    masks();
    aliases();
    partly();
    return tap_done();
}
