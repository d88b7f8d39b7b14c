/* grammar_init.c - what variables are declared with: which are rules, what genes make of them, and
** which genes would change nothing. */
#include "grammar_kernel.h"

#include "tap.h"

static const char text[] =
    "typedef struct { float x, y; } vec;\n"                              /*  1 */
    "struct Q { Q(int a); float v; };\n"                                 /*  2 */
    "#define REAL float\n"                                               /*  3 */
    "template <typename T, int N> __device__ T f(T *x, int n) {\n"       /*  4 */
    "  T sum = x[0];\n"                                                  /*  5 */
    "  const int m = N * 2;\n"                                           /*  6 */
    "  const int k = n * 2;\n"                                           /*  7 */
    "  return sum;\n"                                                    /*  8 */
    "}\n"                                                                /*  9 */
    "__global__ void k(const float *in, float *out, const vec *v, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"           /* 11 */
    "  unsigned j = threadIdx.x, j2 = 4, j3;\n"                          /* 12 */
    "  float a = in[i], b = in[j] * 2.0f, c = 0;\n"                      /* 13 */
    "  REAL d = a + b;\n"                                                /* 14 */
    "  vec w = v[i];\n"                                                  /* 15 */
    "  Q q = 3;\n"                                                       /* 16 */
    "  const vec &r = v[i];\n"                                           /* 17 */
    "  const float *p = in + i, *p2 = in;\n"                             /* 18 */
    "  float *const e = out + i;\n"                                      /* 19 */
    "  auto t = in[i] * 2;\n"                                            /* 20 */
    "  auto t2 = a + (b - 1);\n"                                         /* 21 */
    "  auto x = v[j];\n"                                                 /* 22 */
    "  auto y = sqrtf(a);\n"                                             /* 23 */
    "  const int M = 4;\n"                                               /* 24 */
    "  float array[4] = {0};\n"                                          /* 25 */
    "  unknown_t u = get();\n"                                           /* 26 */
    "  static int s = 3;\n"                                              /* 27 */
    "  float4 f4 = make_float4(a, b, c, d);\n"                           /* 28 */
    "  for (int l = j; l < n; l++) { float h = in[l]; a += h; }\n"       /* 29 */
    "  if (n > 1) a = b;\n"                                              /* 30 */
    "  out[i] = a + d;\n"                                                /* 31 */
    "  out[i] += f<float, 3>(array, n);\n"                               /* 32 */
    "}\n";

static Grammar *grammar(bool open_loops, bool skip_idle) {
    GrammarOptions o = {.file = "k", .kernel = "k", .open_loops = open_loops,
                        .initialisers = true, .skip_idle = skip_idle};
    return grammar_parse(text, strlen(text), &o, NULL);
}

static void check_rules(bool open_loops) {
    Grammar *g = grammar(open_loops, false);
    gi_buf list = {0};
    for (int i = 0; i < grammar_rule_count(g); i++) {
        const Rule *r = grammar_rule(g, i);
        if (r->type == RULE_INIT)
            gi_buf_addf(&list, "%d %s=%s %s%s; ", r->line, r->variable, r->text,
                        r->zero ? r->zero : "-", r->protected_why ? " constant" : "");
    }
    gi_buf want = {0};
    gi_buf_addf(&want, "5 sum=x[0] {}; 6 m=N * 2 0 constant; 7 k=n * 2 0; "
                       "11 i=blockIdx.x * blockDim.x + threadIdx.x 0; 12 j=threadIdx.x 0; "
                       "12 j2=4 0; 13 a=in[i] 0; 13 b=in[j] * 2.0f 0; 13 c=0 0; 14 d=a + b 0; "
                       "15 w=v[i] {}; 16 q=3 -; 18 p=in + i -; 18 p2=in -; 19 e=out + i -; "
                       "20 t=in[i] * 2 0.f; 21 t2=a + (b - 1) 0.f; 22 x=v[j] vec{}; "
                       "23 y=sqrtf(a) 0.f; 24 M=4 0 constant; "
                       "28 f4=make_float4(a, b, c, d) {}; %s29 h=in[l] 0; ",
                open_loops ? "29 l=j 0; " : "");
    is_str(list.data, want.data, "initialisers of types that are known");
    gi_buf_free(&list);
    gi_buf_free(&want);
    grammar_free(g);
}

static void gives(const Grammar *g, const char *genes, const char *part) {
    char *mutated = mutant(g, genes);
    has_str(mutated, part, genes);
    free(mutated);
}

static void check_genes(void) {
    Grammar *g = grammar(true, false);
    gives(g, "<init_13>", "float a = 0, b = in[j] * 2.0f,");
    gives(g, "<init_13><init_k_13.2>", "float a = in[j] * 2.0f, b = in[j] * 2.0f,");
    gives(g, "<init_15>", "vec w = {};");
    gives(g, "<init_20>", "auto t = 0.f;");
    gives(g, "<init_22>", "auto x = vec{};");
    gives(g, "<init_29>", "for (int l = 0; GILUA_OK()&&l < n; l++)");
    gives(g, "<init_29><init_24>", "for (int l = 4;");
    gives(g, "<31>+<init_13>", "\n  a = in[i];\n  out[i] = a + d;");
    gives(g, "<30><init_k_13.2>", "if (n > 1) b = in[j] * 2.0f;\n");
    gives(g, "<30>+<init_14>", "if (n > 1) { d = a + b;\n  a = b; }\n");
    gives(g, "<_k_29><init_29>", "float h = in[l]; l = j; }");
    grammar_free(g);
}

static void check_refused(void) {
    static const char *const cases[][2] = {
        {"<init_16>", "gene 1, <init_16>: q must begin with something"},
        {"<init_24>", "gene 1, <init_24>: <init_k_24> is protected: it is a constant, on which "
                      "types may depend"},
        {"<init_13><init_14>", "gene 1, <init_13><init_14>: a and d are not declared with the same "
                               "type"},
        {"<init_13><init_k_29.2>", "gene 1, <init_13><init_k_29.2>: l, which <init_k_29.2> uses, "
                                   "is not in scope at line 13"},
        {"<init_k_12.2><init_13>", "gene 1, <init_k_12.2><init_13>: j2 and a are not declared with "
                                   "the same type"},
        {"<31>+<init_11>", "gene 1, <31>+<init_11>: i is const and cannot be assigned"},
        {"<31>+<init_19>", "gene 1, <31>+<init_19>: e is const and cannot be assigned"},
        {"<31>+<init_k_29.2>", "gene 1, <31>+<init_k_29.2>: h, which <init_k_29.2> uses, is not in "
                               "scope at line 31"},
        {"<init_13><30>", "gene 1, <init_13><30>: <init_k_13> is an initialiser and <_k_30> is a "
                          "statement: both rules of a gene have the same type"},
        {"<init_13>+<init_14>", "gene 1, <init_13>+<init_14>: <init_k_13> is an initialiser: only "
                                "statements can be inserted"},
        {"<8><init_13>", "gene 1, <8><init_13>: a, which <init_k_13> uses, is not in scope at line "
                         "8"}};
    Grammar *g = grammar(true, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Genome genome;
        gi_err err = {0};
        ok(!genome_parse(g, cases[i][0], &genome, &err), "refused: %s", cases[i][0]);
        is_str(err.message, cases[i][1], "its reason");
    }
    grammar_free(g);
}

/* A protected loop keeps its variable: no copy of what that began with is assigned in it. */
static void check_protected(void) {
    static const char loop[] = "__global__ void k(int n, int *p) {\n int s = 0;\n"
                               " while (s < n) {\n  s++;\n  p[n] = 1;\n }\n p[0] = s;\n}\n";
    GrammarOptions o = {.file = "k", .initialisers = true};
    Grammar *g = grammar_parse(loop, strlen(loop), &o, NULL);
    Genome genome;
    gi_err err = {0};
    ok(!genome_parse(g, "<5>+<init_2>", &genome, &err), "refused in the loop");
    has_str(err.message, "<init_k_2> changes s, the variable of the protected loop of line 3",
            "its reason");
    ok(genome_parse(g, "<7>+<init_2>", &genome, &err), "fine behind it");
    genome_free(&genome);
    grammar_free(g);
}

static bool drawn(const Grammar *g, const char *name) {
    bool found = false;
    for (long i = 0; i < grammar_gene_count(g, NULL) && !found; i++) {
        gi_buf gene = {0};
        grammar_gene_at(g, i, &gene);
        found = strcmp(gene.data, name) == 0;
        gi_buf_free(&gene);
    }
    return found;
}

/* A variable that keeps its value, and all it is made of, is not assigned it again; nor is one that
** nobody reads any more, or that was declared a moment ago. */
static void check_idle(void) {
    static const struct { const char *gene; bool drawn; const char *why; } cases[] = {
        {"<_k_31>+<init_k_13>", true, "a was changed: it gets its first value back"},
        {"<_k_31>+<init_k_14>", true, "a, of which d is made, was changed"},
        {"<_k_30>+<init_k_13.2>", false, "b never changes, nor does what it is made of"},
        {"<_k_31><init_k_12>", false, "j is thread's number for ever"},
        {"<_k_32>+<init_k_13>", false, "nobody reads a any more"},
        {"<_k_29>+<init_k_29.2>", false, "h was just declared"},
        {"<_k_29>+<init_k_29>", true, "l goes back to where it began"},
        {"<init_k_13.3>", false, "c begins with 0 anyway"},
        {"<init_k_13>", true, "a does not"}};
    Grammar *g = grammar(true, true), *all = grammar(true, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is = drawn(g, cases[i].gene);
        ok(is == cases[i].drawn && drawn(all, cases[i].gene), "%s: %s",
           is ? "drawn" : "not drawn", cases[i].why);
    }
    grammar_free(g);
    grammar_free(all);
}

int main(void) {
    check_rules(true);
    check_rules(false);
    check_genes();
    check_refused();
    check_protected();
    check_idle();
    return tap_done();
}
