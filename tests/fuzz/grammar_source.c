/* grammar_source.c - a target for the CUDA grammar: any text is refused in a sentence, or
** parses and is given back as it was, through the empty patch and through its BNF.
**
** tests/c/grammar_random.c is its short, seeded relative. */
#include "../c/grammar_kernel.h"

#include "fuzz.h"

/* What the kernel has not. */
static const char words[] =
    "if else for while do switch case 1: default: break; continue; return x; ( ) { } "
    "[ ] ; , < > :: int x float *p = 0; x = 1; x++ template <class T> struct S "
    "__global__ void k(int n) __shared__ __device__ int f(int &a) \n#if A\n "
    "\n#else\n \n#elif B && C\n \n#endif\n \n#define M(a) a + x\n \n#define N {\n "
    "\n#undef M\n M(x); \n#define S(a) x = a; { a; }\n S(1) S(1); \n#define D do {\n "
    "D N \"s\" 'c' \" ' R\"( )\" /* */ // \\\n # \n#pragma unroll\n "
    "asm(\"x\" : \"=r\"(x)); [&](int y) { return y; } operator() namespace n "
    "extern \"C\" enum { A, B } \n using T = int; goto l; l: auto [a, b] = c; 0x1p-3 "
    "1'000 \r\n \xc3\xa9 ";

/* Pieces lie in the text, one behind the other. */
static bool outline_holds(const Grammar *g, size_t len) {
    Outline o;
    int at = 0;
    bool fine = true;
    grammar_outline(g, &o);
    for (int i = 0; i < o.n; i++) {
        const OutlineItem *p = &o.item[i];
        fine = fine && p->start >= at && p->end >= p->start && (size_t)p->end <= len;
        at = p->end;
    }
    outline_free(&o);
    return fine;
}

/* The first and the last gene are legal, and can be marked; or the refusal has a message. */
static bool genes_hold(const Grammar *g) {
    bool fine = true;
    long n = grammar_gene_count(g, NULL), at[] = {0, n - 1};
    for (int i = 0; i < 2 && n > 0; i++) {
        gi_buf text = {0};
        gi_err err = {0};
        Genome one = {0};
        Patched p;
        fine = fine && grammar_gene_at(g, at[i], &text) && genome_parse(g, text.data, &one, &err);
        if (fine && genome_apply_marked(g, &one, APPLY_GUARDS | APPLY_CLOCK, &p, &err))
            patched_free(&p);
        else fine = fine && err.message[0] != '\0';
        genome_free(&one);
        gi_buf_free(&text);
    }
    return fine;
}

/* What parses is given back; refused text has a message. */
static bool holds(const char *text, size_t len, bool open) {
    gi_err err = {0};
    GrammarOptions o = {.file = "f.cu", .open_loops = open, .pragmas = true, .restricts = true,
                        .consts = true, .volatiles = true, .launch_bounds = true, .math = true,
                        .launch_bounds_threads = "64", .initialisers = true,
                        .skip_idle = true};
    Grammar *g = grammar_parse(text, len, &o, &err);
    if (g == NULL) return err.message[0] != '\0';
    Genome none = {0};
    Patched p;
    gi_buf bnf = {0}, again = {0};
    bool fine = genome_apply_unguarded(g, &none, &p, &err) && p.source.len == len &&
                memcmp(p.source.data, text, len) == 0;
    patched_free(&p);
    grammar_print(g, &bnf);
    Grammar *back = grammar_read(bnf.data, bnf.len, &err);
    if (back) grammar_print(back, &again);
    fine = fine && back && strcmp(bnf.data, again.data) == 0;
    fine = fine && outline_holds(g, len) && genes_hold(g);
    grammar_free(back);
    grammar_free(g);
    gi_buf_free(&bnf);
    gi_buf_free(&again);
    return fine;
}

void fuzz_seeds(FuzzAdd *add) {
    add(kernel_text, strlen(kernel_text));
    add(words, strlen(words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    if (!holds(text, size, false) || !holds(text, size, true)) abort();
    free(text);
    return 0;
}
