/* grammar_outline.c - what stands at file level: kind, name, lines, bytes, parameters. */
#include "grammar/grammar.h"

#include "tap.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"kernel", "device", "host", "type", "other"};

static void append(char *out, size_t size, const char *text) {
    snprintf(out + strlen(out), size - strlen(out), "%s", text);
}

/* "kernel k 2-5 (a b) <T N>; ": one item. */
static void describe(const OutlineItem *item, char *out, size_t size) {
    char head[128];
    snprintf(head, sizeof head, "%s %s %d-%d", kinds[item->kind], item->name ? item->name : "-",
             item->line, item->last_line);
    append(out, size, head);
    for (int i = 0; i < item->n_params; i++) {
        append(out, size, i ? " " : " (");
        append(out, size, item->param[i].name ? item->param[i].name : "-");
        append(out, size, i + 1 == item->n_params ? ")" : "");
    }
    for (int i = 0; i < item->n_tparams; i++) {
        append(out, size, i ? " " : " <");
        append(out, size, item->tparam[i].name ? item->tparam[i].name : "-");
        append(out, size, i + 1 == item->n_tparams ? ">" : "");
    }
    append(out, size, "; ");
}

static Grammar *parsed(const char *text) {
    GrammarOptions options = {.file = "k.cu"};
    return grammar_parse(text, strlen(text), &options, NULL);
}

static const char *const cases[][3] = {
    {"nothing", "", ""},
    {"kinds",
     "int a;\n__device__ int f(int x) { return x; }\nint h() { return 1; }\nstruct S { int b; "
     "};\n__global__ void k(int *p) {\n *p = f(1);\n}\n",
     "other - 1-1; device f 2-2 (x); host h 3-3; type S 4-4; kernel k 5-7 (p); "},
    {"parameters",
     "__global__ void k(const float *__restrict__ x, a::T y, P<int, 3> z, int n = 3) {}",
     "kernel k 1-1 (x y z n); "},
    {"templates", "template <typename T, int N>\n__global__ void k(T *x) {}",
     "kernel k 1-2 (x) <T N>; "},
    {"arguments of templates that are given",
     "template <class T = float, int N = 3>\n"
     "__global__ void k(T *x) {}",
     "kernel k 1-2 (x) <T N>; "},
    {"a class's too", "template <int N = 3> struct S { int a[N]; };\n__global__ void k(S<> s) {}",
     "type S 1-1; kernel k 2-2 (s); "},
    {"namespaces and extern \"C\" are looked into",
     "namespace a { namespace {\n__global__ void k() {}\n} }\nextern \"C\" {\nint f() { return 1; "
     "}\n}",
     "kernel k 2-2; host f 5-5; "},
    {"classes are not", "class C {\n static void f() {}\n};\n", "type C 1-3; "},
    {"__host__ __device__", "__host__ __device__ int f() { return 1; }", "device f 1-1; "},
    {"launch bounds, static, attributes",
     "static __global__ void __launch_bounds__(256, 2)\nk(int *x) {}", "kernel k 1-2 (x); "},
    {"a prototype is no kernel", "__global__ void k(int *x);\n", "other - 1-1; "},
    {"values in braces", "int table[] = { 1, 2 };\nauto f = [](int x) { return x; };\n",
     "other - 1-1; other - 2-2; "},
    {"three templates that end at once",
     "template <class T = A<B<C<int>>>>\n__global__ void k(A<B<int>> x, A<B<C<int>>> y, T z) {}",
     "kernel k 1-2 (x y z) <T>; "},
    {"launches", "int h() {\n k<A<3>><<<f<4>(), 5>>>(x);\n return 1 << 2 >> 1;\n}\nint b;\n",
     "host h 1-4; other - 5-5; "},
    {"CR LF", "int a;\r\n__global__ void k() {\r\n}\r\n", "other - 1-1; kernel k 2-3; "},
};

static void check_cases(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Grammar *g = parsed(cases[i][1]);
        char got[512] = "";
        Outline o;
        grammar_outline(g, &o);
        for (int k = 0; k < o.n; k++) describe(&o.item[k], got, sizeof got);
        is_str(got, cases[i][2], cases[i][0]);
        outline_free(&o);
        is_int(o.n, 0, "a freed one is empty");
        grammar_free(g);
    }
}

static void check_bytes(void) {
    static const char text[] =
        "/* a */ template <int N>\n__global__ void k(const float *x) { x; } // b\n";
    Grammar *g = parsed(text);
    Outline o;
    grammar_outline(g, &o);
    const OutlineItem *k = &o.item[0];
    is_int(k->start, 8, "from its first word, comments before it are not its own");
    is_str(text + k->end, " // b\n", "to behind its last");
    ok(text[k->head] == '(', "the head is its parameters'");
    ok(strncmp(text + k->param[0].start, "const float *x)", 15) == 0 &&
           text[k->param[0].end] == ')',
       "a parameter has its whole text");
    ok(k->open, "the kernel is open");
    outline_free(&o);
    grammar_free(g);
}

int main(void) {
    check_cases();
    check_bytes();
    return tap_done();
}
