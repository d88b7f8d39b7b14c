/* exact.h - certificates: kernels run over the reals beside their usual run (docs/certificate.md).
**
** A launch with an Exact runs as ever, on the bits that a GPU has, and beside each word of a
** register or of memory a Word says which real number it stands for. Before each instruction
** exact_step makes the Words of its results of those of its operands. An ordinary launch pays
** nothing: it never comes here.
**
** What a number decides (a branch, an integer) goes by its bits, and the outcome is kept as a fact.
** What is not understood becomes WORD_POISON; where that reaches an answer, an address or a branch
** the Exact has failed, for good, with a reason and its line.
*/
#ifndef GILUA_EMU_EXACT_H
#define GILUA_EMU_EXACT_H

#include "emu/core.h"
#include "emu/exact/number.h"

#include <string.h>

enum { EXACT_CACHE_BITS = 14 };

typedef struct ExactConstant {
    uint64_t bits, p, q;
    bool used;
} ExactConstant;

typedef struct ExactInverse {
    uint64_t p, q, over_p, over_q;
} ExactInverse;

typedef struct ExactMaximum {
    uint64_t key; /* element of the maximum in P */
    uint64_t sum[2];
    Num constant;
    float degree;
    bool has_constant;
} ExactMaximum;

/* A set of keys, with a line of the source for each. */
typedef struct ExactSet {
    uint64_t *key; /* 0: free */
    int *line;
    size_t n, cap;
} ExactSet;

/* Memory that the inputs are in. */
typedef struct ExactMemory {
    uint64_t address, size;
    const uint8_t *data; /* where the host has it, or NULL */
    uint64_t id;         /* the same for both kernels */
    EmuExactType type;
} ExactMemory;

typedef struct ExactPage ExactPage; /* memory.c: words that the kernels wrote */

/* What the words of a function's constant rows are in the running launch. */
typedef struct ExactCode {
    const Code *code;
    uint64_t launch;
    Word *pool; /* a word for each 128 bytes of rows */
} ExactCode;

typedef struct ExactReason {
    const char *why;
    int line;
} ExactReason;

typedef struct ExactShared { /* shared memory of a block */
    const Block *block;
    uint64_t number, launch;
    Word *word;
} ExactShared;

struct Exact {
    uint64_t key[4];
    uint64_t power[8][256]; /* of an element of order Q */
    ExactConstant *constant;
    ExactInverse *inverse;
    ExactMaximum *maximum;
    size_t n_maxima, cap_maxima;
    ExactSet facts;
    ExactSet used[2]; /* inputs without a type that served as integers, as numbers */
    uint64_t comparisons;
    float degree;   /* the highest so far */
    const Emu *emu; /* of the running launch */
    ExactMemory *memory;
    int n_memory, cap_memory;
    ExactPage **page;
    size_t n_pages, cap_pages;
    ExactPage *last_page;
    ExactShared *shared;
    int n_shared, cap_shared;
    ExactCode **code;
    int n_code, cap_code;
    uint64_t launch;
    ExactReason *reason;
    int n_reasons, cap_reasons;
    bool is_program; /* emu_exact_program */
    bool failed;
    char why[160];
    int line;
    /* where it is: set by exact_step */
    const Code *running;
    const Ins *at;
    bool wrote_number; /* some answer is a number that a kernel wrote */
    Word *answer;      /* of the arrays that emu_exact_take was given, one after the other */
    double *real;      /* what the kernel answered there, as a number or as an integer */
    double *mean;      /* of the absolute values of its array's numbers */
    size_t n_answers, cap_answers;
};

/* --- exact.c --- */

/* A launch begins; it is over. */
void exact_begin(Exact *x, const Machine *m);
void exact_end(Exact *x, const EmuResult *r);
/* The certificate has failed, for good, at the running instruction. */
void exact_fail(Exact *x, const char *why);
/* A word that is not known has come where it matters. */
void exact_fail_by(Exact *x, const Word *poison);
void exact_degree(Exact *x, float degree);
void exact_fact(Exact *x, uint64_t key); /* 0: none */
int exact_line(const Exact *x);          /* of the source, that runs now; 0 */
/* An input without a type is taken for a number; for an integer. */
Word exact_input_number(Exact *x, Word w);
void exact_input_integer(Exact *x, const Word *w);
const ExactMaximum *exact_maximum_of(const Exact *x, uint64_t key);
void exact_keep_maximum(Exact *x, const ExactMaximum *m);

/* --- memory.c --- */

void exact_memory_free(Exact *x);
/* Words of global memory; of the memory of the host's that a constant row was filled from. */
Word exact_load(Exact *x, uint64_t address);
void exact_store(Exact *x, uint64_t address, const Word *w);
bool exact_wrote_number(Exact *x, uint64_t address);
Word exact_load_host(Exact *x, const void *at);
Word exact_param(const Exact *x, uint64_t offset); /* of the kernel */
/* The word of a lane at an address in a space, 4-aligned. */
Word exact_read_at(const Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address);
void exact_write_at(const Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address,
                    const Word *word);

/* --- frames and steps: step.c, moves.c --- */

/* What a predicate says of two numbers; all zeros: nothing that depends on a number. */
typedef struct ExactTest {
    uint64_t a, b;  /* elements in P of what was compared */
    uint64_t fact;  /* of exact_order; 0 */
    uint8_t larger; /* which of the two it selects, where it is true: TEST_… */
    bool is_poison; /* a: the reason */
} ExactTest;
enum { TEST_OTHER, TEST_A, TEST_B };

typedef struct ExactFrame {
    Word *word;      /* rows of 32 and 64 bits: 32 or 64 words each, the low words first */
    uint8_t *mark;   /* by row, in units of ROW32: 0: all its words are RAW */
    ExactTest *test; /* 32 for each predicate */
    size_t cap, cap_tests, cap_params;
    Word *params; /* as Frame.params, by word */
    ExactCode *code;
} ExactFrame;

/* Rows, for step.c and moves.c. */
static inline Word *exact_words(const Frame *f, uint32_t row) {
    return f->exact->word + (row - f->code->reg32) / ROW32 * LANES;
}
static inline bool exact_is_register(const Frame *f, uint32_t row) {
    return row >= f->code->reg32 && row < f->code->pool_first;
}
static inline bool exact_is_wide(const Frame *f, uint32_t row) {
    return row >= f->code->reg64;
}
static inline uint8_t *exact_mark(const Frame *f, uint32_t row) {
    return &f->exact->mark[(row - f->code->reg32) / ROW32];
}
/* The word of a lane in a row; high: the second of a 64-bit row. */
static inline Word exact_get(const Frame *f, uint32_t row, int lane, bool high) {
    if (row >= f->code->pool_first)
        return f->exact->code->pool[(row - f->code->pool_first) / ROW32 + high];
    if (row < f->code->reg32 || !*exact_mark(f, row)) return exact_raw();
    return exact_words(f, row)[lane + (high ? LANES : 0)];
}
static inline void exact_put(const Frame *f, uint32_t row, int lane, bool high, const Word *w) {
    if (!exact_is_register(f, row)) return;
    uint8_t *mark = exact_mark(f, row);
    if (w->kind <= WORD_RAW && !*mark) return;
    Word *words = exact_words(f, row);
    if (!*mark) memset(words, 0, (exact_is_wide(f, row) ? 2 : 1) * LANES * sizeof *words);
    *mark = 1;
    words[lane + (high ? LANES : 0)] = *w;
}
/* The active lanes of a row of registers get RAW words. */
void exact_clear(const Warp *w, const Frame *f, uint32_t row);
/* The same of the results of an operation, which are registers or predicates; of one lane's. */
void exact_settle(const Warp *w, const Frame *f, uint32_t d, uint32_t p);
void exact_forget_test(const Frame *f, uint32_t row, int lane);
/* A lane uses a row as an integer. True where that is a float, or not known: `taint` is poison. */
bool exact_integers(Exact *x, const Frame *f, uint32_t row, int lane, Word *taint);
/* The active lanes use a row where only integers can be, for an address or a count. */
void exact_address(Exact *x, const Warp *w, const Frame *f, uint32_t row);

/* A frame's code begins to run; its memory goes. */
void exact_open(Machine *m, Frame *f);
void exact_close(Frame *f);
void exact_close_local(WarpStore *s);
/* Local memory of the frame is fresh. */
void exact_local(Warp *w, uint32_t from, uint32_t to);
/* Parameters of the lanes go from one frame to another, as copy_params has them. */
void exact_pass(uint32_t mask, const Frame *from, const uint32_t *from_at, const Frame *to,
                const uint32_t *to_at, const uint32_t *size, int n);
/* An instruction is about to run: the operation to run, or STEP_DONE. */
int exact_step(Machine *m, Warp *w, const Ins *in);
/* An atomic of a lane has found `old` at an address and left what it left. */
void exact_atomic(Machine *m, const Warp *w, const Ins *in, int lane, uint64_t address,
                  uint64_t old);
/* --- copies.c: the words of bytes that a copy has under way, its cargo --- */

/* Words for so many bytes, all RAW, which the caller frees; NULL where nobody follows numbers. */
Word *exact_cargo(const Machine *m, uint32_t bytes);
/* The bytes of an access become, or get, the words of a cargo from its byte `at` on. NULL: none. */
void exact_gather(const Access *from, Word *cargo, uint32_t at);
void exact_scatter(const Access *to, const Word *cargo, uint32_t at);
/* Until a copy arrives, nobody knows what its target holds. */
void exact_await(const Access *target);
/* An instruction reads words that are integers, or leaves such: a tensor's map, an mbarrier. */
void exact_take_integers(const Access *from);
void exact_leave_integers(const Access *to);
/* Steps of cp, st.async, red.async and tensormap; of mbarrier. */
void exact_copies(Exact *x, const Warp *w, const Frame *f, const Ins *in);
void exact_mbarrier(Exact *x, const Warp *w, const Frame *f, const Ins *in);

/* --- moves.c: what step.c leaves to it --- */

/* Returns a word after a part of it is read or written: an integer, or unknown. */
Word exact_part(Exact *x, Word w);
int exact_access(Machine *m, Warp *w, const Ins *in);
int exact_atomics(Machine *m, Warp *w, const Ins *in);
void exact_texels(Machine *m, Warp *w, const Ins *in);
void exact_called(Machine *m, Warp *w, const Ins *in);

#endif
