/* grammar_refuse.c - illegal genes are refused, and the message says why. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "grammar_kernel.h"

#include "source/source.h"
#include "tap.h"

static const struct { const char *gene, *message; } cases[] = {
    {"<_k.cu_8>", "gene 1, <_k.cu_8>: k.cu has no rule <_k.cu_8>; line 8 reads `    int i = "
                  "threadIdx.x, b = 0, c = 0; /* ; { */`"},
    {"<99>", "gene 1, <99>: k.cu has no rule <99> (it has 35 lines)"},
    {"<12> <12", "gene 2, <12: a gene is <A>, <A><B>, <A>+<B>, NAME, NAME=VALUE or "
                "<lines_…>=TEXT"},
    {"<12>+", "gene 1, <12>+: there is no rule after the '+'"},
    {"<12><13>x", "gene 1, <12><13>x: there is more after its second rule"},
    {"slow", "gene 1, slow: there is no configuration entry of that name, and rules stand in < >"},
    {"block_size", "gene 1, block_size: block_size needs a value: write block_size=VALUE"},
    {"STEP=", "gene 1, STEP=: there is no value after the '='"},
    {"<IF_10><12>", "gene 1, <IF_10><12>: <IF_k.cu_10> is an if condition and <_k.cu_12> is a "
                    "statement: both rules of a gene have the same type"},
    {"<IF_10>+<IF_22>", "gene 1, <IF_10>+<IF_22>: <IF_k.cu_10> is an if condition: only statements "
                        "can be inserted"},
    {"<12><12>", "gene 1, <12><12>: replacing <_k.cu_12> by itself changes nothing"},
    {"<k.cu_10>", "gene 1, <k.cu_10>: <k.cu_10> is a fixed line"},
    {"<def_2>", "gene 1, <def_2>: <def_k.cu_2> is a configuration macro: set it by its name, NAME "
                "or NAME=VALUE"},
    {"<pragma_K1>", "gene 1, <pragma_K1>: <pragma_K1> is a pool rule: it can only be the second of "
                    "a pair"},
    {"<pragma_18>", "gene 1, <pragma_18>: <pragma_k.cu_18> is empty: there is nothing to delete"},
    {"<pragma_18><pragma_19>", "gene 1, <pragma_18><pragma_19>: <pragma_k.cu_18> is a pragma slot: "
                               "it takes a rule of its pool, such as <pragma_K0>, not "
                               "<pragma_k.cu_19>"},
    {"<ELSE_15><ELSE_16>", "gene 1, <ELSE_15><ELSE_16>: <ELSE_k.cu_15> is an else: it can only be "
                           "deleted"},
    {"<34><13>", "gene 1, <34><13>: inner, which <_k.cu_13> uses, is not in scope at line 34"},
    {"<5><17> <5><34>", "gene 2, <5><34>: out, which <_k.cu_34> uses, is not in scope at line 5"},
    {"<34><32>", "gene 1, <34><32>: quick, which <_k.cu_32> uses, depends on an #if that does not "
                 "cover line 34"},
    {"<34><_k.cu_22>", "gene 1, <34><_k.cu_22>: `break;` needs a loop around it, and line 34 is in "
                       "none"},
    {"<34><5>", "gene 1, <34><5>: x, which <_k.cu_5> uses, is not in scope at line 34"},
    {"<34><20>", "gene 1, <34><20>: <_k.cu_20> reads or writes a shared array by the loop variable "
                 "b, and line 34 is outside the loop of line 19"},
    {"<30>", "gene 1, <30>: <_k.cu_30> is protected: it changes the loop variable sum"},
    {"<optconst_k.cu_6.2><optconst_K0>", "gene 1, <optconst_k.cu_6.2><optconst_K0>: "
                                         "<optconst_k.cu_6.2> holds \"const \" already: it can "
                                         "only be deleted"},
};

static void check_scopes(void) {
    static const char text[] = "__global__ void k(int n, int *p) {\n int s = 0;\n"
                               " while (s < n) {\n  if (n > 2) s++;\n  p[n] = 1;\n }\n"
                               " { int n = 2;\n  s = n;\n  p[0] = s; }\n p[1] = n;\n"
                               " while (n) { if (s) continue; p[2] = 3; }\n}\n"
                               "__device__ int f() {\n return 1;\n}\n"
                               "__global__ void c(int n) {\n if constexpr (4 > 3) n = 1;\n"
                               " if (n) n = 2;\n if constexpr (sizeof(n) > 4) n = 3;\n}\n";
    static const struct { const char *gene, *why; } wrong[] = {
        {"<8><10>", "n means something else at line 8 than at line 10"},
        {"<5><8>", "n means something else at line 5 than at line 8"},
        {"<IF_4>", "is protected: it guards a statement that decides when a loop ends"},
        {"<4>", "is protected: it changes the loop variable s"},
        {"<_k_11>", "is protected: it decides when a while loop ends"},
        {"<5><_k_11>", "`continue` could keep the protected loop of line 3 from ending"},
        {"<IF_17><IF_18>", "the value of <IF_k_18> is not known at compile time"},
        {"<5><14>", "`return 1;` belongs to another function than line 5"},
    };
    GrammarOptions o = {.file = "k"};
    Grammar *g = grammar_parse(text, strlen(text), &o, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Genome genome;
        gi_err err = {0};
        ok(!genome_parse(g, wrong[i].gene, &genome, &err), "refused: %s", wrong[i].gene);
        has_str(err.message, wrong[i].why, "its reason");
    }
    static const char *const right[] = {"<IF_17>", "<IF_17><IF_19>", "<IF_18><IF_17>"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        Genome genome;
        gi_err err = {0};
        ok(genome_parse(g, right[i], &genome, &err), "allowed: %s %s", right[i], err.message);
        genome_free(&genome);
    }
    grammar_free(g);
}

/* A statement that reads a shared array may move before its loop (GECCO 2014, Table 4:
** <288>+<293>), since its loop variables are initialised, but not behind it. */
static void check_before_loop(const Grammar *g) {
    Genome genome;
    ok(genome_parse(g, "<17>+<20>", &genome, NULL), "shared array before its loop");
    genome_free(&genome);
}

/* A raised flag ends reading, and one that is lowered lets it go on. */
static void check_stop(void) {
    static const char text[] = "__global__ void k(float *x) { x[0] = 1; }\n";
    const GrammarOptions o = {.file = "k.cu"};
    volatile int raised = 1;
    gi_err err = {0};
    SourceTokens t;
    source_stop_when(&raised);
    ok(grammar_parse(text, strlen(text), &o, &err) == NULL, "a source is not read when stopped");
    ok(strstr(err.message, "interrupted") != NULL, "and says that it was interrupted");
    source_tokens(text, 0, (int)strlen(text), 1, &t);
    is_int(t.n, 0, "no tokens when stopped");
    source_tokens_free(&t);
    raised = 0;
    Grammar *g = grammar_parse(text, strlen(text), &o, NULL);
    ok(g != NULL, "read when the flag is lowered");
    gi_rng rng;
    gi_buf gene = {0};
    gi_rng_seed(&rng, 1);
    raised = 1;
    err.message[0] = '\0';
    is_int(grammar_gene_count(g, &err), -1, "genes are not counted when stopped");
    ok(strstr(err.message, "interrupted") != NULL, "and it says so");
    ok(!grammar_random_gene(g, &rng, NULL, &gene, &err), "nor drawn");
    raised = 0;
    is_int(grammar_gene_count(g, &err), 2, "counted when the flag is lowered");
    ok(grammar_random_gene(g, &rng, NULL, &gene, &err), "and drawn");
    gi_buf_free(&gene);
    grammar_free(g);
    source_stop_when(NULL);
}

static volatile int alarmed;
static double alarmed_s;

static double processor_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_alarm(int signal) {
    (void)signal;
    alarmed_s = processor_s();
    alarmed = 1;
}

typedef bool Reads(const gi_buf *text);

static bool read_rules(const gi_buf *text) {
    const GrammarOptions o = {.file = "k.cu", .initialisers = true};
    Grammar *g = grammar_parse(text->data, text->len, &o, NULL);
    grammar_free(g);
    return g != NULL;
}

static bool read_tree(const gi_buf *text) {
    Source s;
    source_read(text->data, (int)text->len, &s);
    source_free(&s);
    return !alarmed;
}

/* Returns the seconds of the processor that reading a source takes. The flag is raised after
** some of them, never if 0. */
static double read_until(Reads *reads, const gi_buf *text, double after_s, bool *read,
                         bool *raised) {
    struct itimerval after = {.it_value.tv_sec = (time_t)after_s};
    after.it_value.tv_usec = (suseconds_t)((after_s - (double)after.it_value.tv_sec) * 1e6);
    double began = processor_s();
    alarmed = 0;
    setitimer(ITIMER_PROF, &after, NULL);
    *read = reads(text);
    *raised = alarmed;
    return processor_s() - began;
}

/* A flag that is raised at any moment ends the reading of a long source soon. */
static void check_stop_at(Reads *reads, const char *head, const char *line, int lines) {
    gi_buf text = {0};
    bool read, raised;
    int stopped = 0;
    gi_buf_adds(&text, head);
    for (int i = 0; i < lines; i++) gi_buf_adds(&text, line);
    gi_buf_adds(&text, "}\n;\n");
    double longest = 0;
    read_until(reads, &text, 0, &read, &raised); /* warms the caches */
    double whole = read_until(reads, &text, 0, &read, &raised);
    ok(read, "a long source is read: %s", line);
    for (int i = 1; i <= 6; i++) {
        read_until(reads, &text, whole * i / 8, &read, &raised);
        double took = processor_s() - alarmed_s;
        if (raised) ok(!read, "stopped after %d eighths", i);
        if (raised && took > longest) longest = took;
        stopped += !read;
    }
    ok(stopped > 2, "stopped %d times", stopped);
    ok(longest < whole / 3, "it ends soon: %.3f of %.3f s", longest, whole);
    gi_buf_free(&text);
}

static void check_stop_anywhere(void) {
    signal(SIGPROF, on_alarm);
    source_stop_when(&alarmed);
    for (int tree = 0; tree < 2; tree++) {
        Reads *reads = tree ? read_tree : read_rules;
        check_stop_at(reads, "__device__ float t[] = {\n", "1.5f, 2, 0x1F, 4.25, 5,\n", 40000);
        check_stop_at(reads, "__global__ void k(float *x, int n) {\n", "if (n) x[n] = x[0] + n;\n",
                      10000);
    }
    source_stop_when(NULL);
}

int main(void) {
    Grammar *g = kernel_grammar(false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Genome genome;
        gi_err err = {0};
        ok(!genome_parse(g, cases[i].gene, &genome, &err), "refused: %s", cases[i].gene);
        is_str(err.code, "gene", "code");
        is_str(err.message, cases[i].message, "message");
    }
    check_before_loop(g);
    check_scopes();
    grammar_free(g);
    check_stop();
    check_stop_anywhere();
    return tap_done();
}
