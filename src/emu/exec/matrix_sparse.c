/* matrix_sparse.c - mma.sp: at which columns the numbers of A are, which has half of each row.
**
** A row is cut into chunks. Of four columns two are there; of two of tf32 one; of four pairs of s4
** or u4 two pairs. Four bits of metadata say which, as two places of two bits, the first lowest;
** for tf32 they are places 0 and 1, or 2 and 3. In a quad of lanes 1, 2 or 4 lanes have them, from
** lane selector * lanes on, for rows q and 8 + q of quad q:
**
**   16 bits and more   lane i has chunks 4 i to 4 i + 3: of row q in its low, of row 8 + q in its
**                      high half
**   8 bits and fewer   lane i has chunks 8 (i / 2) to 8 (i / 2) + 7 of row q + 8 (i % 2)
**
** Source: PTX ISA 9.0, "Matrix multiply-accumulate operation using mma.sp instruction".
*/
#include "emu/exec/matrix.h"

/* Numbers of A in a chunk. */
static int numbers_there(const MatrixForm *f) {
    unsigned bits = matrix_bits((MatrixType)f->a.type);
    return bits == 32 ? 1 : bits == 4 ? 4 : 2;
}

int matrix_metadata_lanes(const MatrixForm *f) {
    return f->shape->k / (2 * numbers_there(f)) / 4;
}

/* Are both places of a chunk other ones, in their order, and for tf32 neighbours? */
static bool is_valid(const MatrixForm *f, unsigned first, unsigned second) {
    if (f->a.type == MATRIX_TF32) return first % 2 == 0 && second == first + 1;
    return f->is_ordered ? first < second : first != second;
}

bool matrix_columns(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, uint8_t *column) {
    const U32 *word = (const U32 *)(const void *)row_at(w, f->metadata);
    const int there = numbers_there(f), chunks = f->shape->k / (2 * there);
    const int lanes = matrix_metadata_lanes(f), pair = there == 4 ? 2 : 1;
    const bool wide = matrix_bits((MatrixType)f->a.type) >= 16;
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int row = 0; row < MATRIX_STRIP; row++) {
            int high = row / 8, i = wide ? chunk / 4 : high + chunk / 8 * 2;
            int lane = row % 8 * 4 + f->selector * lanes + i;
            unsigned code = word[lane] >> (wide ? chunk % 4 * 4 + 16 * high : chunk % 8 * 4) & 15;
            unsigned place[2] = {code & 3, code >> 2};
            if (!is_valid(f, place[0], place[1]))
                return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                                   "%s has metadata 0x%08x in lane %d, which say places %u and %u "
                                   "of chunk %d of row %d (undefined on a GPU)",
                                   f->name, word[lane], lane, place[0], place[1], chunk, row);
            for (int s = 0; s < there; s++) {
                int to = there == 1 ? (int)place[0] / 2 : (int)place[s / pair] * pair + s % pair;
                int at = (chunk * there + s) * MATRIX_STRIP + row;
                column[at] = (uint8_t)(chunk * 2 * there + to);
            }
        }
    return true;
}
