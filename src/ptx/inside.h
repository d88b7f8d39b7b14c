/* inside.h - what the files that know genes share. Private to src/ptx. */
#ifndef GILUA_PTX_INSIDE_H
#define GILUA_PTX_INSIDE_H

#include "ptx/edit.h"
#include "ptx/genes.h"

struct PtxBase {
    PtxModule *m;
    PtxCfg **cfg;  /* of each function; NULL without a body */
    PtxEdit *edit; /* of each function, with no edits: kinds and values as they are */
};

/* Where the base's instructions are in another function that its function may have become: to[k] is
** an index there, or -1 where none is surely the one (names.c). */
void ptx_match(const PtxFunc *base, const PtxFunc *other, int *to);

/* Why a gene is illegal; *why stays empty where it is legal. */
void ptx_gene_reason(const PtxBase *b, const PtxGene *gene, gi_buf *why);

/* Do two instructions write as many registers, each of the same kind as the other's? */
bool ptx_same_results(const PtxBase *b, PtxSite one, PtxSite other);

#endif
