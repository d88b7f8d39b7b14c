/* matrix_group.h - wgmma: products that the four warps of a warpgroup issue together, of matrices
** in shared memory.
**
** D has 64 rows, 16 a warp, so that each warp's part is its own: it is summed when the warp issues
** it. The sums are the program's only when it has waited for their group: to read a register of D,
** or of A, before that is a fault. (ptxas puts waits there where it sees such uses; the ISA calls
** them undefined.) A copy of one is held like it, for compilers make them, and a register that is
** written is free: in PTX it is another value. For the same reason nobody checks wgmma.fence.
**
** A descriptor says where a matrix is: bits 0 to 13 its address, 16 to 29 the leading and 32 to 45
** the stride byte offset, each divided by 16; 49 to 51 a base offset; 62 and 63 the swizzle. Rows
** of A, and columns of B, are cut into groups of 8, and what of them follows along k into pieces of
** 16 bytes. W is 1 without a swizzle, 2, 4 or 8 with one of 32, 64 or 128 bytes.
**
**   along k     number (row, byte): row % 8 * 16 W + row / 8 * stride
**               + piece * (W > 1 ? 16 : leading)
**   turned      of 16 bits: row % 8 * 2 + row / 8 % W * 16 + row / (8 W) * leading
**               + k % 8 * 16 W + k / 8 * stride; without a swizzle leading and stride change places
**
** The swizzle flips as many of an address's bits 4, 5, 6 as W has, by its bits 7, 8, 9. Source: PTX
** ISA 9.0, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"; CuTe's canonical layouts.
*/
#ifndef GILUA_EMU_MATRIX_GROUP_H
#define GILUA_EMU_MATRIX_GROUP_H

#include "emu/exec/matrix.h"

enum {
    GROUP_M = 64,
    GROUP_WARPS = 4,
    GROUP_N = 256,
    GROUP_SUMS = 128,
    GROUP_WORDS = 8 /* along k */
};

/* A wgmma.mma_async, beside its MatrixForm, whose c and d are not used. */
typedef struct GroupForm {
    MatrixShape shape;
    uint8_t sum_type, sums;   /* of D; registers */
    uint32_t reg[GROUP_SUMS]; /* of D */
    bool a_in_registers;
    bool turned[2], negated[2]; /* A and B */
    uint32_t descriptor[2];     /* rows of 64 bits */
    uint32_t scale;             /* row of a predicate: add to D, else begin with zeros */
    uint16_t *sum_map;          /* of D's numbers, as MatrixPart.map */
} GroupForm;

/* --- decode/matrix_group.c --- */
MatrixRule matrix_group_rule(MatrixType type);
void group_form_free(GroupForm *g);

/* --- exec/matrix_group.c --- */
bool matrix_group(Machine *m, Warp *w, const Ins *in, const MatrixForm *f);
/* wgmma.fence, commit_group; wait_group, a barrier of kind BAR_GROUP: the warp waits until the
** other three have issued the groups that it waits for. */
bool group_fence(Machine *m, Warp *w, const Ins *in);
bool group_commit(Machine *m, Warp *w, const Ins *in);
Stop group_wait(Machine *m, Warp *w);
void group_look(Machine *m, const Warp *w); /* w ended: do others wait for it? */
/* Tells of a write to bytes of a block's shared memory that a wgmma under way still reads. Only
** where the launch checks for races: Machine.has_groups. */
void groups_look(const Access *a, const Block *b, uint64_t at);
/* Another instruction is about to read row Ins.a; to write row Ins.d, with Ins.imm a copy of a. */
bool group_read(Machine *m, Warp *w, const Ins *in);
bool group_write(Machine *m, Warp *w, const Ins *in);
void groups_begin(Groups *g); /* a warp begins */
void groups_free(Groups *g);

#endif
