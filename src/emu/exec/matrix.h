/* matrix.h - matrix instructions: what the decoder (decode/matrix*.c) says of one, and what runs it
** (exec/matrix*.c).
**
** The 32 lanes of a warp hold a matrix together: each has a fragment, some registers. Element e of
** a lane's fragment is the e-th number of its registers, lowest bits first. For all shapes but one,
** the PTX ISA's figures say the same: with group = lane / 4, place = lane % 4, and n numbers in a
** register,
**
**   A (m x k)  register r, number s: row group + 8 (r % (m / 8)),
**              column place * n + s + 4 n (r / (m / 8))
**   B (k x n)  the same of its transpose, columns running first
**   C, D       numbers go in pairs: row group + 8 (pair % (m / 8)),
**              column place * 2 + e % 2 + 8 (pair / (m / 8))
**
** matrix_map writes that down as a table for each shape; fragments of wmma, which the ISA leaves
** open, follow the same rule, as GPUs since Turing do. m8n8k4 of f16 has four small products and
** maps of its own.
*/
#ifndef GILUA_EMU_MATRIX_H
#define GILUA_EMU_MATRIX_H

#include "emu/core.h"

typedef enum MatrixType {
    MATRIX_F16,
    MATRIX_BF16,
    MATRIX_TF32,
    MATRIX_E4M3,
    MATRIX_E5M2,
    MATRIX_F64,
    MATRIX_S8,
    MATRIX_U8,
    MATRIX_S4,
    MATRIX_U4,
    MATRIX_B1,
    MATRIX_F32,
    MATRIX_S32,
    MATRIX_TYPES
} MatrixType;

static inline unsigned matrix_bits(MatrixType t) {
    static const uint8_t bits[MATRIX_TYPES] = {16, 16, 32, 8, 8, 64, 8, 8, 4, 4, 1, 32, 32};
    return bits[t];
}

/* A row of decode/matrix_shapes.c. */
typedef struct MatrixShape {
    const char *opcode; /* "mma" */
    uint16_t m, n, k;
    const char *types; /* of A and B, one or another */
    const char *sums;  /* of C and D */
    uint8_t sm;        /* the least capability of a target */
    bool mixed;        /* A and B may have two types of the list; else C and D may, where f32 goes
                          with an f16 */
} MatrixShape;

enum { MATRIX_REGISTERS = 8 };

enum { MATRIX_STRIP = 16 }; /* rows that are summed side by side */

/* Rows of the register file, and where each number of a matrix lies: map[p] is element * 32 + lane
** for place p. A and C are kept in strips of 16 rows, [strip][column][row of the strip], and B by
** columns. A place without a number has the first index behind all numbers. */
typedef struct MatrixPart {
    uint8_t type;  /* MatrixType */
    uint8_t count; /* registers */
    uint16_t places;
    uint16_t *map;
    uint32_t reg[MATRIX_REGISTERS];
} MatrixPart;

typedef enum MatrixKind {
    MATRIX_PRODUCT, /* mma, wmma.mma */
    MATRIX_ROWS,    /* ldmatrix, stmatrix: rows of 16 bytes of shared memory */
    MATRIX_TURN,    /* movmatrix */
    MATRIX_MOVE,    /* wmma.load, wmma.store */
    MATRIX_GROUP    /* wgmma.mma_async: matrix_group.h */
} MatrixKind;

/* How floating-point products are summed; see matrix_sum.h. */
typedef struct MatrixRule {
    uint8_t at_once;  /* products that are aligned together */
    uint8_t fraction; /* bits behind the point that each keeps */
    uint8_t kept;     /* bits behind the point of a result in f32 */
    bool by_pairs;    /* of bytes, as two products of f16: see matrix_pair_place */
} MatrixRule;

typedef struct MatrixForm {
    uint8_t kind;
    const char *name; /* "mma.sync" */
    const MatrixShape *shape;
    uint8_t tiles;         /* strips, or four products: */
    bool is_quad;          /* m8n8k4 of f16 */
    double work;           /* for the tensor pipe, see cost.h */
    MatrixPart a, b, c, d; /* of moves: d, or a where it stores */
    MatrixRule rule;
    bool saturates, is_and; /* .satfinite; .and.popc */
    uint8_t round;          /* NumRound: of f64 */
    bool is_sparse, is_ordered; /* mma.sp; ::ordered_metadata: see matrix_columns */
    uint8_t selector;
    uint32_t metadata;      /* row */
    bool is_store, turned;  /* of moves: .trans; number (i, j) is at j * stride + i */
    uint8_t space, count;   /* PtxSpace; matrices of ldmatrix */
    bool wide;              /* the address's row has 64 bits */
    uint32_t address, stride;
    struct GroupForm *group; /* matrix_group.h; NULL: of no warpgroup */
} MatrixForm;

/* --- decode/matrix_shapes.c --- */

/* The shape of an opcode that a word names ("m16n8k16") for a type of A and B, or of C and D
** (is_sum); NULL: there is none. */
const MatrixShape *matrix_shape(const char *opcode, const char *word, const char *type,
                                bool is_sum);
bool matrix_type(const char *word, MatrixType *out);
/* How a GPU of a capability (75, 80, 89, 90, 100) sums products of a type. */
MatrixRule matrix_rule(int capability, MatrixType type);
/* Where number i of k stands along k: numbers 0 and 1 of each four first, then 2 and 3. ptxas makes
** two products of f16 of one of bytes for a GPU that has none: the low halves of all registers,
** then the high ones. The first begins with zeros, and C is added to the second's result. Where A
** is sparse the two numbers are those of a chunk of four columns: `some` is 4, else 2. */
static inline int matrix_pair_place(int i, int k, int some) {
    return i / some % 2 * (k / 2) + i / (2 * some) * some + i % some;
}
/* Orders a map of [outer][k][inner] places so. */
void matrix_order_pairs(uint16_t *map, int outer, int k, int inner, int some);
/* Registers that a lane has of so many numbers; the tables of places. */
int matrix_registers(int numbers, MatrixType type);
uint16_t *matrix_map_a(int m, int k, MatrixType type);
uint16_t *matrix_map_b(int k, int n, MatrixType type);
uint16_t *matrix_map_c(int m, int n);
/* Those of m8n8k4 of f16: four, one after the other. by_rows: the layout of A or B. */
uint16_t *matrix_quad_a(bool by_rows);
uint16_t *matrix_quad_b(bool by_rows);
uint16_t *matrix_quad_c(bool is_f32);
void matrix_form_free(MatrixForm *f);

/* --- exec/matrix.c: runs one with all lanes of the warp; false after a fault --- */
bool matrix_run(Machine *m, Warp *w, const Ins *in, const MatrixForm *f);
/* exec/matrix_sparse.c: the column of each number of a sparse A, by places; false after a fault */
bool matrix_columns(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, uint8_t *column);
/* Quads hold the metadata in 1, 2 or 4 of their lanes: four bits for each chunk of a row. */
int matrix_metadata_lanes(const MatrixForm *f);
/* exec/matrix_move.c */
bool matrix_move(Machine *m, Warp *w, const Ins *in, const MatrixForm *f);
/* Element e of all lanes at number[e * 32 + lane], as the bits that it has; returns how many. */
int matrix_unpack(const Warp *w, const MatrixPart *p, uint32_t *number);
void matrix_pack(const Warp *w, const MatrixPart *p, const uint32_t *number);

#endif
