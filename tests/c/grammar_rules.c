/* grammar_rules.c - a source becomes the rules one expects, by type, name, text and line. */
#include "grammar_kernel.h"

#include "tap.h"

static const Rule *rule(const Grammar *g, const char *name) {
    static const Rule none = {.name = "", .text = "(no such rule)"};
    int i = grammar_find(g, name);
    return i < 0 ? &none : grammar_rule(g, i);
}

static void check_protected_loops(void) {
    Grammar *g = kernel_grammar(false);
    is_str(rule(g, "<_k.cu_12>")->text, "sum = in[i];", "first statement of a line");
    is_str(rule(g, "<_k.cu_12.2>")->text, "part = half_of(sum);", "second statement of a line");
    is_str(rule(g, "<IF_k.cu_10>")->text, "(i < n)", "condition with its parentheses");
    is_str(rule(g, "<_k.cu_20>")->text, "sum += cell(c, b) *\n                   part;",
           "statement over two lines");
    is_int(rule(g, "<_k.cu_20>")->last_line, 21, "its last line");
    is_str(rule(g, "<ELSE_k.cu_16>")->text, "else", "else");
    is_str(rule(g, "<pragma_k.cu_19>")->text, "", "a pragma slot is empty");
    is_str(rule(g, "<pragma_K3>")->text, "#pragma unroll 3\n", "pool of pragmas");
    is_str(rule(g, "<launchbounds_K2>")->text, "__launch_bounds__(BLOCK, 2) ", "pool of bounds");
    is_str(rule(g, "<optconst_k.cu_6.2>")->text, "const ", "a const there is");
    is_str(rule(g, "<def_k.cu_2>")->text, "#define STEP 5", "configuration macro, no comment");
    is_str(rule(g, "<k.cu_10>")->text, "    if (i < n) {", "a fixed rule is its line");
    ok(grammar_find(g, "<_k.cu_8>") < 0, "a declaration is no rule");
    ok(grammar_find(g, "<for2_k.cu_18>") < 0, "protected loops: no rules for headers");
    has_str(rule(g, "<_k.cu_30>")->protected_why, "loop variable sum", "while's variable");
    ok(grammar_find(g, "<_k.cu_5>") >= 0, "a function that the kernel calls is open");
    is_str(rule(g, "<12>")->name, "<_k.cu_12>", "short form <12>");
    is_str(rule(g, "<IF_10>")->name, "<IF_k.cu_10>", "short form <IF_10>");
    is_str(rule(g, "<IF10>")->name, "<IF_k.cu_10>", "short form <IF10>");
    is_str(rule(g, "<_k.cu.12.2>")->name, "<_k.cu_12.2>", "dots as chapter 8 prints them");
    is_int(grammar_line_count(g), 35, "lines");
    is_str(grammar_line(g, 35), "}", "last line");
    is_str(grammar_line(g, 36), "", "no line");
    is_str(grammar_kernels(g)[0], "smooth", "kernels");
    is_str(grammar_names(g)[0], "temp", "names at top level");
    grammar_free(g);
}

static void check_open_loops(void) {
    Grammar *g = kernel_grammar(true);
    is_str(rule(g, "<for1_k.cu_18>")->text, "c = 0", "for1");
    is_str(rule(g, "<for2_k.cu_18>")->text, "c < 4", "for2");
    is_str(rule(g, "<for3_k.cu_18>")->text, "c++", "for3");
    is_str(rule(g, "<WHILE_k.cu_29>")->text, "(sum > 9)", "while");
    ok(rule(g, "<_k.cu_30>")->protected_why == NULL, "nothing is protected");
    grammar_free(g);
}

/* Each source, and one rule that it must (or with '!' must not) give. */
static const char *const styles[][2] = {
    {"__global__ void k(int n){for(;;)if(n)break;else n--;}", "<_k_1.2>"},
    {"__global__ void k(int n)\n{\n do n--; while (n > 0);\n}", "<_k_3>"},
    {"__global__ void k(int n)\n{\n  auto f = [&](int x) { return x; };\n}", "!<_k_3>"},
    {"template <int N>\n__global__ void k(int n) {\n n = N < 3 ? 1 : 2;\n}", "<_k_3>"},
    {"struct S { int a; __device__ void f() { a = 1; } };\n__global__ void k(S s) { s.f(); }",
     "<_k_1>"},
    {"#define BLOCK(x) { x; }\n__global__ void k(int n) {\n BLOCK(n = 1)\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n switch (n) {\n case 1: n = 2;\n n = 3;\n }\n}", "!<_k_4>"},
    {"__global__ void k(int n) {\n n = R\"x(; } \")x\"[0];\n n = ';' + '\\'';\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n n = 1; \\\n n = 2;\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n#if 0\n don't { \"\n#endif\n n = 1;\n}", "<_k_5>"},
    {"__global__ void k(int n) {\n#ifdef A\n if (n) {\n#else\n if (!n) {\n#endif\n n = 1;\n }\n}",
     "!<IF_k_3>"},
    {"__global__ void k(int n) {\n#ifdef A\n if (n) {\n#else\n if (!n) {\n#endif\n n = 1;\n }\n}",
     "<_k_7>"},
    {"__global__ void k(int n) {\n#ifdef A\n#ifdef B\n n = 1;\n#else\n n = 2;\n#endif\n"
     " if (n) {\n#endif\n n = 3;\n#ifdef A\n }\n#endif\n#ifdef B\n if (n) {\n#else\n"
     " if (!n) {\n#endif\n n = 4;\n }\n}",
     "<_k_19>"},
    {"__global__ void k(int n) {\n out: n = 1;\n goto out;\n}", "!<_k_2>"},
    {"__global__ void k(float *p) {\n float4 v; Foo<int> w;\n v.x = *p;\n T * q = p;\n}", "<_k_3>"},
    {"__global__ void k(float *p) {\n T * q = p;\n}", "!<_k_2>"},
    {"__global__ void k(int n) {\n decltype(n) z = 0;\n z = n;\n}", "!<_k_2>"},
    {"__global__ void k(int n) {\n decltype(n) z = 0;\n z = n;\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n alignas(16) float z[4];\n z[0] = n;\n}", "!<_k_2>"},
    {"#define S __shared__\n__global__ void k(int n) {\n S float z[4];\n z[0] = n;\n}", "!<_k_3>"},
    {"struct P { int x; };\n__global__ void k(int n) {\n API P z = { n };\n n = 1;\n}", "!<_k_3>"},
    {"__global__ void k(int n) {\n if (M && n) n = 2;\n}", "<IF_k_2>"},
    {"__global__ void k(int n) {\n if (x < n && n > low) n = 2;\n}", "<IF_k_2>"},
    {"__global__ void k(int n) {\n if (int z = n & 1) n = z;\n}", "!<IF_k_2>"},
    {"__global__ void k(int n) {\n if (int z{n}) n = z;\n}", "!<IF_k_2>"},
    {"__global__ void k(int n) {\n while (T *z = next(n)) n = 1;\n}", "!<WHILE_k_2>"},
    {"struct P { P() : a{1}, b(2) { a = 3; } int a, b; };\n__global__ void k(P p) { p.a = 1; }",
     "<_k_2>"},
    {"template <int N> struct Q { int a; };\ntemplate <> __global__ void k<3>(int n) {\n n = 1;\n}",
     "<_k_3>"},
    {"enum class E : int { a, b };\n__global__ void k(int n) {\n n = 1;\n}", "<_k_3>"},
    {"__attribute__((global)) void k(int n)\n{\n n = 1;\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n LOOP(i, n) {\n n += i;\n }\n}", "<_k_3>"},
    {"__global__ void k(int n) {\n if constexpr (1) n = 2;\n}", "<IF_k_2>"},
    {"template <int N> __global__ void k(int n) {\n if constexpr (N) n = 2;\n}", "!<IF_k_2>"},
    {"template <int N> __global__ void k(int n) {\n if constexpr (N) n = 2;\n}", "<_k_2>"},
    {"template <class T> struct S { __device__ void f(int n) {\n if constexpr (1) n = 2;\n} };",
     "!<IF_k_2>"},
    {"__global__ void k(int n) {\r\n n = 1;\r\n}\r\n", "<_k_2>"},
    {"__global__ void k(int n) {\n#pragma unroll 4\n for (int i = 0; i < n; i++) n--;\n}",
     "<pragma_k_3>"},
    {"void host() {\n h = 1;\n}\n__global__ void k(int n) { n = 1; }", "!<_k_2>"},
};

static void check_styles(void) {
    GrammarOptions o = {.file = "k", .pragmas = true};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        gi_err err = {0};
        const char *want = styles[i][1];
        Grammar *g = grammar_parse(styles[i][0], strlen(styles[i][0]), &o, &err);
        bool not = want[0] == '!';
        ok(g && (grammar_find(g, want + not) >= 0) != not, "style %zu: %s %s", i, want,
           err.message);
        grammar_free(g);
    }
}

/* The statements of a kernel: their names and texts, one a line. */
static char *statements(const char *text, const char *kernel) {
    GrammarOptions o = {.file = "k", .kernel = kernel, .open_loops = true};
    gi_buf out = {0};
    Grammar *g = grammar_parse(text, strlen(text), &o, NULL);
    gi_buf_adds(&out, "");
    for (int i = 0; i < grammar_rule_count(g); i++) {
        const Rule *r = grammar_rule(g, i);
        bool statement = r->type == RULE_STATEMENT || r->type == RULE_FOR1;
        if (statement) gi_buf_addf(&out, "%s %s\n", r->name, r->text);
    }
    grammar_free(g);
    return out.data;
}

/* Pointers and references of types that the file defines, or does not, or that a template takes,
** are declared, even where something else far away has the name of the type. */
static void check_pointers(void) {
    char *list = statements(
        "typedef struct { float x; } vec;\n"
        "typedef struct node { int a; } node_t;\n"
        "struct H { int ray; };\n"
        "__device__ int ray_of(int ray) { return ray; }\n"
        "template <typename T, class U, int N> __device__ void f(T *x) {\n"
        " T *p = x; U *q; T (*r)[4] = 0;\n"
        " p = x * N;\n"
        "}\n"
        "__global__ void k(vec *points, ray *rays, int n) {\n"
        " vec *p; vec *q = points, *r; vec **s = &q; vec *const e = points;\n"
        " node_t *t; ray *w = rays; ray &v = rays[0];\n"
        " vec (*a)[3] = 0; float (&b)[4] = c;\n"
        " for (vec *i = points; i < q; i++) n++;\n"
        " p = points;\n"
        " f<vec, vec, 3>(p);\n"
        "}\n", "k");
    is_str(list, "<_k_7> p = x * N;\n<_k_13> n++;\n<_k_14> p = points;\n"
                 "<_k_15> f<vec, vec, 3>(p);\n",
           "pointers to types are declarations");
    free(list);
}

static void check_macros(void) {
    char *list = statements(
        "#define LOAD(x) s[x] = a[x]; t[x] = b[x]\n"
        "#define ADD(x) do { float q = a[x]; sum += q; } while (0)\n"
        "#define BLOCK(x) { x; }\n"
        "#define END(x) sum *= x;\n"
        "#define STOP(c) if (c) return\n"
        "#define HALF sum /= \\\n  2; sum++\n"
        "#ifdef A\n#define EITHER(x) sum = x;\n#else\n#define EITHER(x) sum = x\n#endif\n"
        "#define DECL(x) float v = x\n"
        "#define OPEN(c) if (c) {\n"
        "#define CLOSE }\n"
        "#define WHEN(c) if (c)\n"
        "#define BOTH(c) if (c) continue; else return\n"
        "#define LABEL(l) l: sum++\n"
        "#define VALUE(x) ({ int t = x; t; })\n"
        "__global__ void k(float *a, float *b, int n) {\n"
        " LOAD(n); ADD(n); BLOCK(sum = 1) BLOCK(sum = 2); END(3)\n"
        " *a = 1;\n"
        " STOP(n > 4); HALF; EITHER(3);\n"
        " DECL(2); WHEN(n) sum = 5;\n"
        " OPEN(n) sum++; CLOSE\n"
        " for (;;) { BOTH(n); LABEL(x); }\n"
        " n = VALUE(4);\n"
        " if (n) END(4) else END(5)\n"
        " { sum = 2; }\n"
        "}\n", "k");
    is_str(list, "<_k_21> LOAD(n);\n<_k_21.2> ADD(n);\n<_k_21.3> BLOCK(sum = 1)\n"
                 "<_k_21.4> BLOCK(sum = 2);\n<_k_21.5> END(3)\n<_k_22> *a = 1;\n"
                 "<_k_23> STOP(n > 4);\n<_k_23.2> HALF;\n<_k_23.3> EITHER(3);\n"
                 "<_k_24> sum = 5;\n<_k_25> sum++;\n<for1_k_26> \n<_k_28> END(4)\n"
                 "<_k_28.2> END(5)\n<_k_29> sum = 2;\n",
           "a macro that is one or more whole statements is a statement");
    free(list);
}

static void refused(const char *text, const char *kernel, const char *message) {
    gi_err err = {0};
    GrammarOptions o = {.file = "k.cu", .kernel = kernel};
    Grammar *g = grammar_parse(text, strlen(text), &o, &err);
    ok(g == NULL, "refused: %s", message);
    is_str(err.message, message, "and says why");
    grammar_free(g);
}

/* How many statements are open, of three kernels with one each and a function of the last. */
static int open_statements(const char *kernel) {
    static const char text[] = "__device__ void f(int *x) { x[0] = 4; }\n"
                               "__global__ void a(int *x) { x[0] = 1; }\n"
                               "__global__ void ab(int *x) { x[0] = 2; }\n"
                               "__global__ void b(int *x) { f(x); }\n";
    GrammarOptions o = {.file = "k.cu", .kernel = kernel};
    gi_err err;
    Grammar *g = grammar_parse(text, strlen(text), &o, &err);
    int n = 0;
    for (int i = 0; g && i < grammar_rule_count(g); i++) {
        const Rule *r = grammar_rule(g, i);
        n += r->type == RULE_STATEMENT && r->protected_why == NULL;
    }
    grammar_free(g);
    return n;
}

static void check_kernels(void) {
    is_int(open_statements("a"), 1, "one kernel is open");
    is_int(open_statements("ab,a"), 2, "or several");
    is_int(open_statements("a,b"), 3, "with what they call");
    is_int(open_statements(NULL), 4, "or all");
}

static void check_errors(void) {
    refused("int a;\n__global__ void k() {\n", NULL, "k.cu, line 2: this '{' is never closed");
    refused("int f(}\n", NULL, "k.cu, line 1: this '(' is never closed");
    refused("\n}\n", NULL, "k.cu, line 2: this '}' closes nothing");
    refused("char *s = \"abc\n;", NULL, "k.cu, line 1: a literal that begins here has no end");
    refused("int a; /* b", NULL, "k.cu, line 1: a comment that begins here has no end");
    refused("#ifdef A\nint a;", NULL, "k.cu, line 1: this #if has no #endif");
    refused("#endif\n", NULL, "k.cu, line 1: #endif without an #if");
    refused("__global__ void a() {}\n", "b",
            "k.cu has no __global__ function named b; the first it has is a");
    refused("__global__ void a() {}\n", "a,bc,d",
            "k.cu has no __global__ function named bc; the first it has is a");
}

int main(void) {
    check_protected_loops();
    check_open_loops();
    check_styles();
    check_pointers();
    check_macros();
    check_kernels();
    check_errors();
    return tap_done();
}
