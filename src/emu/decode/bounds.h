/* bounds.h - where each access to memory has its bound: one table for instructions that have an
** address, one for handles, one for the functions that CUDA provides.
**
** An instruction that names memory is decoded through bound_of, with a Use. The table has a row
** for each Use, a column for each space, and three entries in each: the address is a variable's
** name ([v + 4]), a register ([%rd1 + 4]) or a number ([16]). The entry names the function that
** checks the bound; NONE is refused when the module is loaded. A Use without a row, or a row
** without a column, does not compile; neither does a loop of exec_mem.h that leaves a Bound out.
**
** A texture or surface is a handle: tex_handle wants its row, and what runs the instruction wants
** the row's bound. A function of CUDA's that has no row is not provided; its row has the bound of
** each argument, and library_argument gives an address only to code that names the same bound.
**
** What has no row: a call copies parameters between frames (warp.c), whose sizes same_params and
** indirect_callee compare. Rows of the register file are as wide as the register's class, and
** source and dest of decode.c give out none of another width.
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
    BOUND_TILE,   /* mem_read, mem_write of each row or number: matrix_move.c */
    BOUND_MBARRIER, /* mem_atomic, then Block.mbarriers: mbarrier.c */
    BOUND_BULK,     /* bulk_range: bulk.c */
    BOUND_MAP,      /* tensor_map: tensor.c; move_map: tensormap.c */
    BOUND_HINT,   /* nothing is read or written */
    BOUND_TEXEL,    /* tex_misuse, then tex_sample of any coordinates; plan_fetch */
    BOUND_SURFACE,  /* surface_misuse, then place: surface.c */
    BOUND_TEXT,     /* up to its NUL, in one memory: device_string */
    BOUND_STACK,    /* local memory up to local_top: local_bytes */
    BOUND_WORD,     /* mem_write */
    BOUND_OBJECT,   /* where an object of the heap begins: library_release */
    BOUND_BYTES,    /* of one allocation, which may be written: bytes_at of nested.c */
    BOUND_ROOM,     /* arguments that nested_arguments has given: launch of nested.c */
    BOUND_FUNCTION, /* a kernel of the module: entry_at */
    BOUND_VALUE     /* no memory: a number, a handle */
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
    USE(FILL, BY(NONE, SHARED, NONE), NO, NO, BY(SHARED, SHARED, NONE), NO, NO, NO, NO, NO)        \
    USE(DISCARD, BY(GLOBAL, GLOBAL, NONE), BY(GLOBAL, GLOBAL, NONE), NO, NO, NO, NO, NO, NO, NO)   \
    USE(MATRIX_LOAD, BY(NONE, TILE, NONE), BY(TILE, TILE, NONE), NO, BY(TILE, TILE, NONE), NO, NO, \
        NO, NO, NO)                                                                                \
    USE(MATRIX_STORE, BY(NONE, TILE, NONE), BY(TILE, TILE, NONE), NO, BY(TILE, TILE, NONE), NO,    \
        NO, NO, NO, NO)                                                                            \
    USE(MBARRIER, BY(NONE, MBARRIER, NONE), NO, NO, BY(MBARRIER, MBARRIER, NONE), NO, NO, NO, NO,  \
        NO)                                                                                        \
    USE(BULK, NO, BY(BULK, BULK, NONE), NO, BY(BULK, BULK, NONE), NO, NO, NO, NO, NO)              \
    USE(MAP, BY(MAP, MAP, NONE), NO, NO, NO, NO, NO, NO, NO, NO)                                   \
    USE(MAP_CHANGE, BY(NONE, MAP, NONE), BY(MAP, MAP, NONE), NO, BY(MAP, MAP, NONE), NO, NO, NO,   \
        NO, NO)                                                                                    \
    USE(PREFETCH, BY(HINT, HINT, NONE), BY(HINT, HINT, NONE), BY(HINT, HINT, NONE), NO,            \
        BY(HINT, HINT, HINT), BY(HINT, HINT, NONE), NO, NO, NO)

typedef enum Use {
#define USE(name, ...) USE_##name,
    BOUND_USES(USE)
#undef USE
    USE_COUNT
} Use;

/* What a handle is for. */
#define BOUND_HANDLES(USE)                                                                         \
    USE(FETCH, TEXEL) USE(SURFACE_LOAD, SURFACE) USE(SURFACE_STORE, SURFACE) USE(QUERY, VALUE)

typedef enum HandleUse {
#define USE(name, bound) HANDLE_##name,
    BOUND_HANDLES(USE)
#undef USE
} HandleUse;

/* A function, then: what runs it, its cost, bytes of its result; of each argument the bytes and
** what is reached by it. */
#define ARG(bytes, bound) {bytes, BOUND_##bound}
#define ITEM              ARG(8, VALUE) /* a stream, an event */
#define BOUND_CALLS(CALL)                                                                          \
    CALL(vprintf, library_print, PRINT, 4, ARG(8, TEXT), ARG(8, STACK))                            \
    CALL(__assertfail, library_assert, ALU, 0, ARG(8, TEXT), ARG(8, TEXT), ARG(4, VALUE),          \
         ARG(8, TEXT), ARG(8, VALUE))                                                              \
    CALL(malloc, library_malloc, PRINT, 8, ARG(8, VALUE))                                          \
    CALL(free, library_free, PRINT, 0, ARG(8, OBJECT))                                             \
    CALL(__cudaCDP2GetParameterBufferV2, nested_arguments, PRINT, 8, ARG(8, FUNCTION),             \
         ARG(12, VALUE), ARG(12, VALUE), ARG(4, VALUE))                                            \
    CALL(__cudaCDP2LaunchDeviceV2, nested_launch, PRINT, 4, ARG(8, ROOM), ITEM)                    \
    CALL(__cudaCDP2MemcpyAsync, nested_copy, PRINT, 4, ARG(8, BYTES), ARG(8, BYTES),               \
         ARG(8, VALUE), ARG(4, VALUE), ITEM)                                                       \
    CALL(__cudaCDP2MemsetAsync, nested_set, PRINT, 4, ARG(8, BYTES), ARG(4, VALUE),                \
         ARG(8, VALUE), ITEM)                                                                      \
    CALL(__cudaCDP2Malloc, nested_malloc, PRINT, 4, ARG(8, WORD), ARG(8, VALUE))                   \
    CALL(__cudaCDP2Free, nested_free, PRINT, 4, ARG(8, OBJECT))                                    \
    CALL(__cudaCDP2GetLastError, nested_last_error, PRINT, 4)                                      \
    CALL(__cudaCDP2PeekAtLastError, nested_peek_error, PRINT, 4)                                   \
    CALL(__cudaCDP2GetErrorString, nested_error_text, PRINT, 8, ARG(4, VALUE))                     \
    CALL(__cudaCDP2StreamCreateWithFlags, nested_handle, PRINT, 4, ARG(8, WORD), ARG(4, VALUE))    \
    CALL(__cudaCDP2StreamDestroy, nested_nothing, PRINT, 4, ITEM)                                  \
    CALL(__cudaCDP2StreamWaitEvent, nested_nothing, PRINT, 4, ITEM, ITEM, ARG(4, VALUE))           \
    CALL(__cudaCDP2EventCreateWithFlags, nested_handle, PRINT, 4, ARG(8, WORD), ARG(4, VALUE))     \
    CALL(__cudaCDP2EventRecord, nested_nothing, PRINT, 4, ITEM, ITEM)                              \
    CALL(__cudaCDP2EventRecordWithFlags, nested_nothing, PRINT, 4, ITEM, ITEM, ARG(4, VALUE))      \
    CALL(__cudaCDP2EventDestroy, nested_nothing, PRINT, 4, ITEM)

#endif
