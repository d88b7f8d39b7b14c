/* matrix_words.h - what decode/matrix.c and matrix_group.c share. */
#ifndef GILUA_EMU_MATRIX_WORDS_H
#define GILUA_EMU_MATRIX_WORDS_H

#include "emu/decode/decode.h"
#include "emu/exec/matrix.h"

/* The words of an instruction, told apart. PTX has them in an order that ptxas does not ask for. */
typedef struct Words {
    const char *shape, *space, *part;
    MatrixType type[4];
    const char *type_word[4];
    bool by_rows[2];
    int n_types, n_layouts, count;
    bool saturates, is_and, is_xor, popc, turned, is_store, has_round, is_sparse, is_ordered;
    unsigned round;
} Words;

bool matrix_words(Decoder *d, Words *w);
/* A register of a fragment; the `count` of one, in a vector. */
bool matrix_register(Decoder *d, const PtxOperand *op, MatrixType type, bool is_dest,
                     uint32_t *row);
bool matrix_part(Decoder *d, const PtxOperand *op, MatrixType type, int count, bool is_dest,
                 MatrixPart *p);
/* Which numbers of A there are: operand `arg`, a register of metadata, and the next, in which lanes
** of a quad it is. Sums take as many products at once, of twice the columns. */
bool matrix_metadata(Decoder *d, int arg, MatrixForm *f);
/* For the tensor pipe: thousands of multiply-adds of f16 that take as long. */
double matrix_work(MatrixType a, int products);
/* Appends a form to the code's; emits the last one, which all lanes of a warp do together. */
MatrixForm *matrix_new(Decoder *d, MatrixForm f);
bool matrix_emit(Decoder *d);

#endif
