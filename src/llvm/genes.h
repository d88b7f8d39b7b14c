/* genes.h - genomes over LLVM's intermediate representation: edits of single instructions, as in
** GEVO (Liou, Wang, Forrest and Wu, TACO 2020, §3.4), with its repair of SSA form.
**
** Instructions are named in the module of the unmodified kernel, as the passes left it:
** <llvm:KERNEL.BLOCK.N> is the N-th instruction of the BLOCK-th basic block of a function, both
** from 1. Operands are the values that LLVM's assembly language shows, from 1. The genes are those
** of PTX (ptx/genes.h): <A>, <A><B>, <A>+<B>, <A>+<B>/<C>.2, <A>-<B>, <A>~<B>, <A>.2=<B>, <A>.2=7.
**
** Genes are applied from left to right. Copies are of the instruction as it was, and read what
** those that it read have become. Names stay with an instruction wherever it goes. Where it is
** gone, what would change it does nothing, and what would stand before it stands where it was.
*/
#ifndef GILUA_LLVM_GENES_H
#define GILUA_LLVM_GENES_H

#include "llvm/llvm.h"

typedef enum LlvmGeneKind {
    LLVM_COPY,
    LLVM_DELETE,
    LLVM_MOVE,
    LLVM_REPLACE,
    LLVM_SWAP,
    LLVM_OPERAND,
    LLVM_CONSTANT,
    LLVM_GENE_KINDS
} LlvmGeneKind;

const char *llvm_gene_kind_name(LlvmGeneKind kind); /* "copy" "delete" … */

/* The module whose instructions the genes name. */
typedef struct LlvmBase LlvmBase;

LlvmBase *llvm_base_open(Llvm *l, const void *bitcode, size_t len, gi_err *err);
void llvm_base_close(LlvmBase *b);

typedef struct LlvmSite {
    int func, instr;
} LlvmSite;

int llvm_base_funcs(const LlvmBase *b);
int llvm_base_size(const LlvmBase *b, int func); /* instructions */

/* "<llvm:k.2.7>", from its beginning; *end is what follows it. "gene": it names nothing. */
bool llvm_site_parse(const LlvmBase *b, const char *text, LlvmSite *out, const char **end,
                     gi_err *err);
void llvm_site_print(const LlvmBase *b, LlvmSite at, gi_buf *out);
void llvm_site_text(const LlvmBase *b, LlvmSite at, gi_buf *out); /* in assembly language */
int llvm_site_line(const LlvmBase *b, LlvmSite at);               /* of the source, 0 unknown */
/* May it be copied, deleted, moved, replaced and swapped? */
bool llvm_site_is_open(const LlvmBase *b, LlvmSite at);

typedef struct LlvmNumber {
    enum { LLVM_WHOLE, LLVM_F32, LLVM_F64 } kind;
    uint64_t bits;
} LlvmNumber;

typedef struct LlvmGene {
    LlvmGeneKind kind;
    LlvmSite at, from, user;   /* user.instr -1: none is named */
    int operand, user_operand; /* from 0 */
    LlvmNumber number;
} LlvmGene;

/* Reads one gene that ends at a blank or the end of the text; "gene" with a message that names it
** and says why it is none, or illegal. A gene's legality does not depend on the others. */
bool llvm_gene_parse(const LlvmBase *b, const char *text, LlvmGene *out, const char **end,
                     gi_err *err);
void llvm_gene_print(const LlvmBase *b, const LlvmGene *gene, gi_buf *out);

/* The base with genes, with blanks between, or another module that a changed source gave. There an
** instruction is the one of its name only where nothing else can be (names.c). Genes that name what
** is not there do nothing and are appended to *lost. NULL: a gene is illegal ("gene"), the other is
** no module ("format"), or LLVM's verifier refuses what came out ("compile"). The module must be
** closed before the base. */
LlvmModule *llvm_genes_apply(LlvmBase *b, const char *genes, const void *other, size_t other_len,
                             gi_buf *lost, gi_err *err);

/* A random legal gene: its kind by weight (NULL: all alike), what it names uniformly. Appends its
** text. "usage": nothing is open. */
bool llvm_gene_random(const LlvmBase *b, gi_rng *rng, const double *weights, gi_buf *out,
                      gi_err *err);

#endif
