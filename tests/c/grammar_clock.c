/* grammar_clock.c - the span clock: where it stands, that genes cannot reach it, that it
** compiles. */
#include "compile/compile.h"
#include "grammar_kernel.h"

#include "tap.h"

static char *clocked(const Grammar *g, const char *genes, unsigned marks) {
    Genome genome = {0};
    Patched p = {0};
    gi_err err;
    bool fine = genome_parse(g, genes, &genome, &err) &&
                genome_apply_marked(g, &genome, marks | APPLY_CLOCK, &p, &err);
    char *text = gi_strdup(fine ? p.source.data : err.message);
    patched_free(&p);
    genome_free(&genome);
    return text;
}

static int count(const char *text, const char *part) {
    int n = 0;
    while ((text = strstr(text, part)) != NULL) n++, text += strlen(part);
    return n;
}

static void test_place(void) {
    Grammar *g = kernel_grammar(true);
    char *text = clocked(g, "", 0), *marked = clocked(g, "<IF_10> <17>+<28> FAST", APPLY_GUARDS);
    has_str(text, "const int m)\n{ GILUA_CLOCK\n    int i", "behind the kernel's brace");
    is_int(count(text, "GILUA_CLOCK"), 1, "of the kernel only: no device function");
    is_int(count(text, "\n"), count(kernel_text, "\n"), "lines are where they were");
    has_str(marked, "{ GILUA_CLOCK GILUA_LOOPS\n", "before the loops' counter; genes apply");
    free(text);
    free(marked);
    text = mutant(g, "");
    ok(strstr(text, "GILUA_CLOCK") == NULL, "only where it is asked for");
    free(text);
    grammar_free(g);
}

/* Its text is in no rule, so no gene can copy it; the BNF reads back to the same places. */
static void test_reach(void) {
    Grammar *g = kernel_grammar(true);
    gi_buf bnf = {0};
    bool found = false;
    for (int i = 0; i < grammar_rule_count(g); i++)
        found = found || strstr(grammar_rule(g, i)->text, "CLOCK") != NULL;
    ok(!found, "no rule holds it");
    grammar_print(g, &bnf);
    ok(strstr(bnf.data, "CLOCK") == NULL, "nor does the BNF");
    Grammar *again = grammar_read(bnf.data, bnf.len, NULL);
    ok(again != NULL, "which reads back");
    char *a = clocked(g, "<12>", APPLY_GUARDS), *b = clocked(again, "<12>", APPLY_GUARDS);
    is_str(b, a, "to a grammar with the same clock");
    free(a);
    free(b);
    grammar_free(again);
    grammar_free(g);
    gi_buf_free(&bnf);
}

static void test_apart(void) {
    static const char dense[] = "__global__ void k(int *a) {a[0] = 1;}\n";
    GrammarOptions o = {.file = "dense.cu", .open_loops = true};
    Grammar *g = grammar_parse(dense, strlen(dense), &o, NULL);
    char *text = clocked(g, "", APPLY_GUARDS);
    has_str(text, "GILUA_CLOCK  GILUA_LOOPS a[0] = 1;}", "apart from code on the brace's line");
    free(text);
    grammar_free(g);
}

static const char torn[] = "#ifdef WIDE\n__global__ void k(int *a, int n) {\n#else\n"
                           "__global__ void k(int *a) {\n    int n = 1;\n#endif\n    *a = n;\n}\n";

static void test_refusal(void) {
    GrammarOptions o = {.file = "torn.cu"};
    Grammar *g = grammar_parse(torn, strlen(torn), &o, NULL);
    char *text = clocked(g, "", 0);
    has_str(text, "torn.cu: a kernel's opening brace is in an #if", "no one place: refused");
    free(text);
    grammar_free(g);
}

/* Two returns, a void and an early one; blocks and grids of three dimensions. */
static const char returns[] =
    "extern \"C\" __global__ void k(float *a, int n) {\n"
    "    int i = blockIdx.z * blockDim.z + threadIdx.z;\n"
    "    if (i >= n) return;\n"
    "    for (int j = 0; j < n; j++) { if (a[j] < 0) return; a[i] += a[j]; }\n"
    "}\n";

static void test_compiles(Compiler *c, const char *target, bool on) {
    GrammarOptions o = {.file = "k.cu", .open_loops = true};
    Grammar *g = grammar_parse(returns, strlen(returns), &o, NULL);
    char *text = clocked(g, "", APPLY_GUARDS);
    gi_buf source = {0};
    gi_err err = {0};
    grammar_clock_prologue(on, &source);
    grammar_guard_prologue(g, true, 100, &source);
    gi_buf_addf(&source, "#line 1\n%s", text);
    CompileUnit units[2];
    for (int i = 0; i < 2; i++)
        units[i] =
            (CompileUnit){.source = source.data, .len = source.len, .names = grammar_names(g)};
    CompileResult r[2] = {{0}, {0}};
    CompileImages images = {0};
    CompileOptions how = {.target = target};
    bool machine = strncmp(target, "sm_", 3) == 0;
    bool ran = compile_batch(c, units, 2, &how, r, machine ? &images : NULL, &err);
    ok(ran && r[0].ok && r[1].ok, "two in one call, %s, clock %s %s", target, on ? "on" : "off",
       err.message);
    const char *ptx = ran && r[0].ok ? r[0].code.data : "";
    ok((strstr(ptx, "gilua_spans") != NULL) == on, "the pointer is there when it is on");
    ok((strstr(ptx, "atom") != NULL) == on, "so are the ends");
    for (int i = 0; i < 2; i++) compile_result_free(&r[i]);
    compile_images_free(&images);
    gi_buf_free(&source);
    free(text);
    grammar_free(g);
}

int main(void) {
    gi_err err = {0};
    test_place();
    test_reach();
    test_apart();
    test_refusal();
    Compiler *c = compile_open(&err);
    if (c == NULL) printf("# skipped, compiling: %s\n", err.message);
    for (int i = 0; c != NULL && i < 4; i++) test_compiles(c, i & 1 ? "ptx" : "sm_90", i < 2);
    if (c != NULL) compile_close(c);
    return tap_done();
}
