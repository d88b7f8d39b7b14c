/* grammar_bnf.c - BNF out and in: complete, a fixpoint, and honest about what it cannot read. */
#include "grammar_kernel.h"

#include "tap.h"

static bool same_genes(const Grammar *a, const Grammar *b) {
    long n = grammar_gene_count(a, NULL);
    bool same = n == grammar_gene_count(b, NULL);
    for (long i = 0; i < n && same; i++) {
        gi_buf x = {0}, y = {0};
        grammar_gene_at(a, i, &x);
        grammar_gene_at(b, i, &y);
        same = strcmp(x.data, y.data) == 0;
        gi_buf_free(&x);
        gi_buf_free(&y);
    }
    return same;
}

static void check_round(bool open_loops) {
    Grammar *g = kernel_grammar(open_loops);
    gi_buf first = {0}, second = {0};
    gi_err err = {0};
    grammar_print(g, &first);
    Grammar *back = grammar_read(first.data, first.len, &err);
    if (ok(back != NULL, "reads back %s", err.message)) {
        grammar_print(back, &second);
        is_str(second.data, first.data, "prints the same");
        ok(same_genes(g, back), "has the same genes");
        char *a = mutant(g, "<12><28> STEP"), *b = mutant(back, "<12><28> STEP");
        is_str(b, a, "applies the same");
        free(a);
        free(b);
    }
    gi_buf_free(&first);
    gi_buf_free(&second);
    grammar_free(back);
    grammar_free(g);
}

static void check_form(void) {
    Grammar *g = kernel_grammar(false);
    gi_buf text = {0};
    grammar_print(g, &text);
    has_str(text.data, "<k.cu_10> ::= \"    if \" <IF_k.cu_10> \" {\\n\"\n<IF_k.cu_10> ::= "
                       "\"(i < n)\"\n", "as Figure 2 of the GECCO paper");
    has_str(text.data, "<k.cu_18> ::= <pragma_k.cu_18> \"    for (c = 0;", "pragma slot");
    has_str(text.data, "<pragma_K0> ::= \"#pragma unroll\\n\"\n", "pool");
    gi_buf_free(&text);
    grammar_free(g);
}

/* Where a body is missing, the brace behind is its block's: nothing stands in the tree twice. */
static void check_missing_body(void) {
    static const char text[] = "__global__ void k(int i, int *o)\n{\n    if (i < 3) {\n"
                               "        if (i > 1) } else o[0] = 1;\n}\n";
    GrammarOptions o = {.file = "k.cu"};
    gi_buf bnf = {0};
    gi_err err = {0};
    Grammar *g = grammar_parse(text, strlen(text), &o, &err), *back = NULL;
    if (ok(g != NULL, "an if without a body parses %s", err.message)) {
        grammar_print(g, &bnf);
        back = grammar_read(bnf.data, bnf.len, &err);
        ok(back != NULL, "and its BNF reads back %s", err.message);
        ok(strstr(bnf.data, "<ELSE_k.cu_4.2>") == NULL, "each rule once");
    }
    gi_buf_free(&bnf);
    grammar_free(back);
    grammar_free(g);
}

static void refused(const char *bnf, const char *message) {
    gi_err err = {0};
    Grammar *g = grammar_read(bnf, strlen(bnf), &err);
    ok(g == NULL, "refused: %s", message);
    is_str(err.message, message, "message");
    grammar_free(g);
}

#define HEAD "# gilua grammar 1\n# file \"k\"\n"

static void check_errors(void) {
    refused("int a;\n", "line 1 of the BNF: it is neither a comment nor a rule `<name> ::= …`");
    refused("<k_1> ::= \"\"\n", "this is no BNF of gilua: it lacks the comments `# gilua grammar "
                                "1` and `# file \"…\"`");
    refused(HEAD, "the BNF has no rule <k_1>");
    refused(HEAD "<k_1> ::= <k_9>\n", "<k_1> names <k_9>, which the BNF does not define");
    refused(HEAD "<k_1> ::= \"a\n", "<k_1> has a right-hand side that is no list of quoted strings "
                                    "and rules");
    refused(HEAD "<k_1> ::= <k_1>\n", "<k_1> has a right-hand side that is no list of quoted "
                                      "strings and rules");
    refused(HEAD "<k_1> ::= \"\"\n<k_1> ::= \"\"\n", "the BNF defines <k_1> twice");
    refused(HEAD "<k_1> ::= \"a\" <_k_1>\n<_k_1> ::= \";\"\n",
            "the BNF has 2 rules and the source it holds gives 1: change the source file and "
            "print the grammar again");
}

int main(void) {
    check_round(false);
    check_round(true);
    check_form();
    check_errors();
    check_missing_body();
    return tap_done();
}
