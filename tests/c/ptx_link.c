/* ptx_link.c - one module of several: what is declared in one is what is defined in another. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

static gi_err err;

static PtxModule *link(const char *const *texts, int n) {
    PtxModule *parts[8];
    err = (gi_err){.code = ""};
    for (int i = 0; i < n; i++)
        if ((parts[i] = ptx_parse(texts[i], strlen(texts[i]), &err)) == NULL) return NULL;
    return ptx_link(parts, n, &err);
}

/* Index of the function with this body. */
static int body_of(const PtxModule *m, const char *name) {
    int found = -1, n = 0;
    for (int i = 0; i < m->n_funcs; i++)
        if (m->funcs[i].has_body && strcmp(m->funcs[i].name, name) == 0) found = i, n++;
    return n == 1 ? found : -1;
}

static const PtxVar *defined(const PtxModule *m, const char *name) {
    const PtxVar *found = NULL;
    for (int i = 0; i < m->n_vars; i++)
        if (!m->vars[i]->is_extern && strcmp(m->vars[i]->name, name) == 0) found = m->vars[i];
    return found;
}

static void names(void) {
    static const char *const texts[] = {
        PTX_HEAD ".file 1 \"a.cu\"\n"
                 ".extern .func f(.param .b32 x);\n.extern .global .u32 v;\n.func own() { ret; }\n"
                 ".extern .func nobody();\n.global .u64 t[2] = {f, v};\n"
                 ".visible .entry k() { .reg .b32 r; .param .b32 x; ld.global.u32 r, [v];\n"
                 "call f, (x); call own; call nobody; ret; }\n",
        PTX_HEAD ".file 1 \"b.cu\"\n"
                 ".visible .global .u32 v = 3;\n.func own() { trap; ret; }\n"
                 ".visible .func f(.param .b32 x) { call own; ret; }\n"
                 ".extern .shared .u8 dynamic[];\n"};
    PtxModule *m = link(texts, 2);
    if (!ok(m != NULL, "two modules are one %s", err.message)) return;
    const PtxFunc *k = &m->funcs[body_of(m, "k")];
    int f = body_of(m, "f");
    ok(k->code[0].args[1].elems[0].var == defined(m, "v"), "a variable that the other defines");
    is_int(k->code[1].args[0].func, f, "a function that the other defines");
    const PtxFunc *a = &m->funcs[k->code[2].args[0].func],
                  *b = &m->funcs[m->funcs[f].code[0].args[0].func];
    ok(a != b && a->n_code == 1 && b->n_code == 2, "each has its own of a private name");
    ok(!m->funcs[k->code[3].args[0].func].has_body, "what nobody defines stays open");
    const PtxVar *t = defined(m, "t");
    ok(t->relocs[0].func == f && t->relocs[1].var == defined(m, "v"), "initialisers mean the same");
    is_str(k->file, "a.cu", "functions know their source");
    is_str(m->funcs[f].file, "b.cu", "each its own");
    ok(k->part == 0 && m->funcs[f].part == 1, "and the text they came from");
    gi_buf out = {0};
    ptx_print(m, &out);
    has_str(out.data, "call nobody", "all of it can be printed");
    gi_buf_free(&out);
    ptx_free(m);
}

static void weak(void) {
    static const char *const texts[] = {
        PTX_HEAD ".weak .func f();\n.weak .global .u32 v = 1;\n.weak .entry k() { ret; }\n"
                 ".visible .entry first() { .reg .b32 r; call f; ld.global.u32 r, [v]; ret; }\n"
                 ".weak .func f() { ret; }\n",
        PTX_HEAD ".weak .func f() { trap; ret; }\n.weak .global .u32 v = 2;\n"
                 ".weak .entry k() { trap; ret; }\n"
                 ".visible .entry second() { .reg .b32 r; call f; ld.global.u32 r, [v]; ret; }\n",
        PTX_HEAD ".visible .func f() { trap; trap; ret; }\n"};
    PtxModule *m = link(texts, 3);
    if (!ok(m != NULL, "weak definitions may be many %s", err.message)) return;
    int f = body_of(m, "f");
    is_int(m->funcs[f].n_code, 3, "a strong one holds");
    is_int(m->funcs[body_of(m, "first")].code[0].args[0].func, f, "for one");
    is_int(m->funcs[body_of(m, "second")].code[0].args[0].func, f, "and all");
    is_int(m->funcs[body_of(m, "k")].n_code, 1, "else the first");
    const PtxVar *v = defined(m, "v");
    ok(v->init[0] == 1 && m->funcs[body_of(m, "second")].code[1].args[1].elems[0].var == v,
       "also of variables");
    ptx_free(m);
}

static void twice(void) {
    static const char *const funcs[] = {PTX_HEAD ".visible .func f() { ret; }\n",
                                        PTX_HEAD ".visible .func f() { ret; }\n"};
    static const char *const vars[] = {PTX_HEAD ".visible .global .u32 v;\n",
                                       PTX_HEAD ".visible .const .u32 v;\n"};
    ok(link(funcs, 2) == NULL && strcmp(err.code, "compile") == 0, "two strong functions are not");
    is_str(err.message, "'f' is defined in two of the modules that are linked", "  which is said");
    ok(link(vars, 2) == NULL, "nor two variables");
    has_str(err.message, "'v' is defined in two", "  which is said");
}

int main(void) {
    names();
    weak();
    twice();
    return tap_done();
}
