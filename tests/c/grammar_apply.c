/* grammar_apply.c - what each kind of gene does to the text, and where its lines come from. */
#include "grammar_kernel.h"

#include "tap.h"

static void gives(const Grammar *g, const char *genes, const char *part) {
    char *text = mutant(g, genes);
    has_str(text, part, genes);
    free(text);
}

static void check_text(void) {
    Grammar *g = kernel_grammar(false);
    char *same = mutant(g, "");
    is_str(same, kernel_text, "the empty genome gives the file itself");
    free(same);
    gives(g, "<12>", "        " " part = half_of(sum); // two\n");
    gives(g, "<12><28>", "        part += STEP; part = half_of(sum); // two\n");
    gives(g, "<34>+<28> <34>+<17>",
          "    part += STEP;\n    __syncthreads();\n    out[i] = sum;\n");
    gives(g, "<34>+<28> <34>", "    part += STEP;\n    \n");
    gives(g, "<34><28> <34>", "#endif\n    \n}\n");
    gives(g, "<34> <34><28>", "#endif\n    part += STEP;\n}\n");
    gives(g, "<_k.cu_15>", "else if (i == n) ;\n");
    gives(g, "<_k.cu_15>+<28>", "else if (i == n) { part += STEP;\n    sum = 3; }\n");
    gives(g, "<_k.cu_15>+<28> <_k.cu_15>", "{ part += STEP;\n    ; }\n");
    gives(g, "<IF_10>", "    if (0) {\n");
    gives(g, "<IF_22><IF_10>", "        if (i < n) break;\n");
    gives(g, "<ELSE_16>", "    else while (0) part = 4;\n");
    gives(g, "<pragma_19><pragma_K0>", "#pragma unroll\n        for (b");
    gives(g, "<pragma_18><pragma_K4> <pragma_18><pragma_K11>", "\n#pragma unroll 11\n    for (c");
    gives(g, "<launchbounds_6><launchbounds_K1>", "void __launch_bounds__(BLOCK, 1) smooth(");
    gives(g, "<optrestrict_6><optrestrict_K0>",
          "(const float *__restrict__ in, float *__restrict__ out,");
    gives(g, "<optconst_6><optconst_K0>", "const int n, const int m)");
    gives(g, "<optconst_k.cu_6.2>", "int n, int m)");
    gives(g, "<optvolatile_4><optvolatile_K0>", "\nvolatile __shared__ float temp[64];\n");
    gives(g, "FAST", "#define FAST 1\n");
    gives(g, "FAST FAST=undef", "#undef FAST\n");
    gives(g, "STEP=7", "#define STEP 7 // voxels\n");
    gives(g, "STEP", "#define STEP 10 // voxels\n");
    grammar_free(g);
}

/* Other ways to compute: pieces within what is original. */
static void check_math(void) {
    static const char text[] =
        "__global__ void k(const float *a, float *out, const float4 *v, int n, float scale) {\n"
        "    float s = 0, q = 1.0f / sqrtf(scale);\n"
        "    for (int j = 0; j < n; j++)\n"
        "        s += a[j] * expf(-a[n - j] / scale);\n"
        "    if (a[n] / q < scale)\n"
        "        out[n] = 2 * s / q / (1.f + v[n].x);\n"
        "    out[0] += n / 2;\n"
        "}\n";
    GrammarOptions o = {.file = "k.cu", .kernel = "k", .open_loops = true, .initialisers = true,
                        .skip_idle = true, .math = true};
    gi_err err;
    Grammar *g = grammar_parse(text, strlen(text), &o, &err);
    gives(g, "<math_2><math_K0>", "q = rsqrtf(scale);");
    gives(g, "<math_2><math_K1>", "q = __fdividef(1.0f , sqrtf(scale));");
    gives(g, "<math_4><math_K2>", "a[j] * __expf(__fdividef(-a[n - j] , scale));");
    gives(g, "<math_5><math_K1>", "(__fdividef(a[n] , q) < scale)");
    gives(g, "<math_6><math_K1>", "= __fdividef(2 * s , q) / (1.f + v[n].x);");
    gives(g, "<math_4><math_K0> <4>", "j++)\n        ;\n");
    gives(g, "<math_5><math_K1> <IF_5>", "    if (0)\n");
    gives(g, "<math_2><math_K1> <init_2.2>", "float s = 0, q = 0;");
    is_int(grammar_find(g, "<math_7>"), -1, "whole numbers are divided as they are");
    Genome genome;
    ok(!genome_parse(g, "<math_5><math_K0>", &genome, &err), "there is no function on line 5");
    has_str(err.message, "nothing at line 5 that `__expf` would change", "and that is said");
    grammar_free(g);
}

/* A macro may be several statements, or end in an if: in a body without braces it gets some. */
static void check_macros(void) {
    static const char text[] = "#define TWO(x) n += x; n *= x\n#define STOP(c) if (c) return\n"
                               "#define WHEN(c) if (c)\n"
                               "__global__ void k(int n, int *p) {\n"
                               " TWO(2);\n STOP(n);\n if (n)\n  n++;\n else n--;\n p[0] = n;\n"
                               " WHEN(n) n = 2;\n}\n";
    GrammarOptions o = {.file = "k.cu"};
    Grammar *g = grammar_parse(text, strlen(text), &o, NULL);
    gives(g, "<8><5>", " if (n)\n  { TWO(2); }\n else n--;");
    gives(g, "<8><6>", "{ STOP(n); }\n else");
    gives(g, "<9><6> <9>+<5>", "else { TWO(2);\n STOP(n); }");
    gives(g, "<10><5>", "n--;\n TWO(2);\n WHEN");
    gives(g, "<5>", ") {\n \n STOP");
    gives(g, "<11>", "WHEN(n) ;\n}"); /* a body, for all that the macro says */
    grammar_free(g);
}

/* Only where a gene may keep a loop from ending is the mutant said to need guards: those that a
** grammar with protected loops would refuse. */
static void check_unbounded(void) {
    static const struct { const char *genes; bool unbounded; } cases[] = {
        {"", false}, {"<12> <34>+<17> <IF_22><IF_10>", false}, {"<pragma_18><pragma_K2>", false},
        {"<for2_18>", true}, {"<for3_18><for3_19>", true}, {"<WHILE_29>", true},
        {"<12> <30>", true}, {"<30>+<28>", false}, {"<30>+<12>", true}, {"<28><12>", false},
        {"STEP", true}, {"block_size=7", false}};
    Grammar *g = kernel_grammar(true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Genome genome;
        Patched p = {0};
        genome_parse(g, cases[i].genes, &genome, NULL);
        genome_apply(g, &genome, &p, NULL);
        is_int(p.unbounded, cases[i].unbounded, cases[i].genes);
        patched_free(&p);
        genome_free(&genome);
    }
    grammar_free(g);
}

static void check_guards(void) {
    Grammar *g = kernel_grammar(true);
    gi_buf prologue = {0};
    gives(g, "", "for (c = 0; GILUA_OK()&&c < 4; c++)");
    gives(g, "", "while (GILUA_OK()&&(sum > 9))");
    gives(g, "", "{ GILUA_LOOPS\n");
    gives(g, "<for1_18> <for2_18> <for3_18>", "for (; GILUA_OK()&&0; )");
    gives(g, "<for2_18><for2_19>", "for (c = 0; GILUA_OK()&&b < 4; c++)");
    gives(g, "<WHILE_29>", "while (GILUA_OK()&&(0))");
    grammar_guard_prologue(g, false, 0, &prologue);
    has_str(prologue.data, "#define GILUA_OK() 1\n", "guards off");
    grammar_guard_prologue(g, true, 1234, &prologue);
    has_str(prologue.data, "gilua_loop_limit = 1234LL;", "guards on");
    gi_buf_free(&prologue);
    Genome none = {0};
    Patched p;
    ok(genome_apply_unguarded(g, &none, &p, NULL), "without guards");
    is_str(p.source.data, kernel_text, "it is the file itself");
    patched_free(&p);
    grammar_free(g);
}

static void check_origin(void) {
    Grammar *g = kernel_grammar(false);
    Genome genome;
    Patched p;
    ok(genome_parse(g, "<17>+<20> <34><17> FAST block_size=128", &genome, NULL), "parses");
    ok(genome_apply(g, &genome, &p, NULL), "applies");
    is_int(p.n_lines, 37, "two lines more");
    is_int(p.gene[0], 2, "line 1 was made by gene 2");
    is_int(p.origin[16], 17, "inserted line stands at 17");
    is_int(p.gene[16], 0, "made by gene 0");
    is_int(p.origin[17], 17, "its second line too");
    is_int(p.origin[18], 17, "then line 17 itself");
    is_int(p.gene[18], -1, "which no gene made");
    is_int(p.origin[35], 34, "replaced line");
    is_int(p.gene[35], 1, "made by gene 1");
    is_int(p.n_params, 3, "all entries");
    is_str(p.param_values[0], "1", "bare switch: its on value");
    ok(p.param_values[1] == NULL, "not set by the genome");
    is_str(p.param_values[2], "128", "a parameter of the host");
    patched_free(&p);
    genome_free(&genome);
    grammar_free(g);
}

int main(void) {
    check_text();
    check_math();
    check_macros();
    check_unbounded();
    check_guards();
    check_origin();
    return tap_done();
}
