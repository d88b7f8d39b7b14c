/* bounds.h - where each access to memory has its bound: the one table of them.
**
** An instruction that names memory is decoded through bound_of, with a Use. The table has a row
** for each Use, a column for each space, and three entries in each: the address is a variable's
** name ([v + 4]), a register ([%rd1 + 4]) or a number ([16]). The entry names the function that
** checks the bound; NONE is refused when the module is loaded. A Use without a row, or a row
** without a column, does not compile; neither does a loop of exec_mem.h that leaves a Bound out.
**
** What has no address has no row: a texture or surface is a handle, whose object texture.c and
** surface.c look up and hold coordinates against; the functions that CUDA provides (library.c,
** nested.c) take addresses as values, and reach memory through mem_write, alloc_of and emu_bytes;
** a call copies parameters between frames (warp.c), whose sizes same_params and indirect_callee
** compare. Rows of the register file are as wide as the register's class, and source and dest of
** decode.c give out none of another width.
*/
#ifndef GILUA_EMU_BOUNDS_H
#define GILUA_EMU_BOUNDS_H

#include "emu/core.h"

/* Who holds an access against its bound: the first two when it is decoded, the others each time. */
typedef enum Bound {
    BOUND_NONE,   /* refused */
    BOUND_FRAME,  /* parameters of functions and of calls: bound_place, then Code.param_bytes */
    BOUND_PARAM,  /* of kernels: bound_place by name; by address param_access, param_at */
    BOUND_GLOBAL, /* one allocation: global_access, neighbour_access, one_place_load, global_at */
    BOUND_CONST,  /* the same, of constant memory; known_const by name */
    BOUND_SHARED, /* shared_bytes: shared_access, uniform_shared, shared_neighbours, host_at */
    BOUND_LOCAL,  /* local_top: local_access, local_move */
    BOUND_ANY,    /* the address says which: generic_shared, generic_local, resolve_generic */
    BOUND_ATOMIC, /* atom_place of rows_atomic.h, mem_atomic */
    BOUND_COPY,   /* mem_read where it begins, mem_may_write and mem_write: async.c */
    BOUND_HINT    /* nothing is read or written */
} Bound;

#define BY(name, reg, number) {BOUND_##name, BOUND_##reg, BOUND_##number}
#define NO                    BY(NONE, NONE, NONE)

/* A Use, then: generic; global, const, shared, local; a kernel's parameter; a function's, its
** result, and what is declared for a call. */
#define BOUND_USES(USE)                                                                            \
    USE(LOAD, BY(GLOBAL, ANY, NONE), BY(GLOBAL, GLOBAL, NONE), BY(CONST, CONST, NONE),             \
        BY(SHARED, SHARED, NONE), BY(LOCAL, LOCAL, LOCAL), BY(PARAM, PARAM, NONE),                 \
        BY(FRAME, NONE, NONE), NO, BY(FRAME, NONE, NONE))                                          \
    USE(LOAD_UNIFORM, BY(GLOBAL, ANY, NONE), BY(GLOBAL, GLOBAL, NONE), NO, NO, NO, NO, NO, NO, NO) \
    USE(STORE, BY(GLOBAL, ANY, NONE), BY(GLOBAL, GLOBAL, NONE), NO, BY(SHARED, SHARED, NONE),      \
        BY(LOCAL, LOCAL, LOCAL), NO, NO, BY(FRAME, NONE, NONE), BY(FRAME, NONE, NONE))             \
    USE(ATOMIC, BY(ATOMIC, ATOMIC, NONE), BY(ATOMIC, ATOMIC, NONE), NO,                            \
        BY(ATOMIC, ATOMIC, NONE), NO, NO, NO, NO, NO)                                              \
    USE(COPY_FROM, NO, BY(COPY, COPY, NONE), NO, NO, NO, NO, NO, NO, NO)                           \
    USE(COPY_TO, NO, NO, NO, BY(COPY, COPY, NONE), NO, NO, NO, NO, NO)                             \
    USE(PREFETCH, BY(HINT, HINT, NONE), BY(HINT, HINT, NONE), NO, NO, BY(HINT, HINT, HINT), NO,    \
        NO, NO, NO)

typedef enum Use {
#define USE(name, ...) USE_##name,
    BOUND_USES(USE)
#undef USE
    USE_COUNT
} Use;

#endif
