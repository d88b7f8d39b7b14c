/* genes.h - genomes over PTX: edits of single instructions, as in GEVO (Liou, Wang, Forrest and Wu,
** TACO 2020, §3.4), with its repair.
**
** Instructions are named in the PTX of the unmodified kernel: <ptx:KERNEL.BLOCK.N> is the N-th
** instruction of the BLOCK-th basic block of a function, both from 1. Operands are counted as they
** are printed, registers and numbers that are read, from 1; 0 is the predicate before the
** instruction. A gene is one of
**
**   <A>              A is deleted
**   <A><B>           A is replaced by a copy of B, whose results go where A's went
**   <A>+<B>          a copy of B goes before A; what it makes is used by the next instruction that
**                    reads such a value …
**   <A>+<B>/<C>.2    … or by operand 2 of C, where it can be
**   <A>-<B>          B goes from where it is to before A
**   <A>~<B>          A and B change places
**   <A>.2=<B>        operand 2 of A becomes what B makes; <B>.3: the third of several results
**   <A>.2=7          operand 2 of A becomes a number: decimal, or bits as PTX has them, 0f3F800000
**
** Genes are applied from left to right. Copies are of the instruction as it was, whatever became of
** it, and names stay with an instruction wherever it goes. Where it is gone, what would change it
** does nothing, and what would stand before it stands where it was.
*/
#ifndef GILUA_PTX_GENES_H
#define GILUA_PTX_GENES_H

#include "ptx/ptx.h"

typedef enum PtxGeneKind {
    PTX_COPY,
    PTX_DELETE,
    PTX_MOVE,
    PTX_REPLACE,
    PTX_SWAP,
    PTX_OPERAND,
    PTX_CONSTANT,
    PTX_GENE_KINDS
} PtxGeneKind;

const char *ptx_gene_kind_name(PtxGeneKind kind); /* "copy" "delete" … */

/* The PTX whose instructions the genes name. */
typedef struct PtxBase PtxBase;

PtxBase *ptx_base_open(const char *ptx, size_t len, gi_err *err);
void ptx_base_close(PtxBase *b);
const PtxModule *ptx_base_module(const PtxBase *b);

/* A name: an instruction of a function of the module. */
typedef struct PtxSite {
    int func, instr;
} PtxSite;

/* "<ptx:k.2.7>", from its beginning; *end is what follows it. "gene": it names nothing. */
bool ptx_site_parse(const PtxBase *b, const char *text, PtxSite *out, const char **end,
                    gi_err *err);
void ptx_site_print(const PtxBase *b, PtxSite at, gi_buf *out);
/* May it be copied, deleted, moved, replaced and swapped? Before what may not, others may go. */
bool ptx_site_is_open(const PtxBase *b, PtxSite at);

typedef struct PtxGene {
    PtxGeneKind kind;
    PtxSite at, from, user; /* user.instr -1: none is named */
    int leaf, user_leaf;    /* operands */
    int result;             /* of `from`, from 0 */
    PtxOperand number;
} PtxGene;

/* Reads one gene that ends at a blank or the end of the text; "gene" with a message that names it
** and says why it is none, or illegal: that a rule of this file is broken, or that kinds of values
** do not fit. A gene's legality does not depend on the others. */
bool ptx_gene_parse(const PtxBase *b, const char *text, PtxGene *out, const char **end,
                    gi_err *err);
void ptx_gene_print(const PtxBase *b, const PtxGene *gene, gi_buf *out);

/* Applies genes, with blanks between, to the base; or to other PTX, which a changed source gave.
** There an instruction is the one of its name only where nothing else can be: see names.c. Genes
** that name what is not there do nothing and are appended to *lost, with blanks between. Appends
** the PTX to *out. False: a gene is illegal, or the other PTX is not understood. */
bool ptx_genes_apply(const PtxBase *b, const char *genes, const char *other, size_t other_len,
                     gi_buf *out, gi_buf *lost, gi_err *err);

/* A random legal gene: its kind by weight (NULL: all alike), what it names uniformly. Appends its
** text. "usage": nothing is open. */
bool ptx_gene_random(const PtxBase *b, gi_rng *rng, const double *weights, gi_buf *out,
                     gi_err *err);

#endif
