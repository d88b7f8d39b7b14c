/* bulk.h - copies of many bytes that go on beside the program: what bulk.c, tensor.c and
** decode/bulk.c share. */
#ifndef GILUA_EMU_BULK_H
#define GILUA_EMU_BULK_H

#include "emu/exec/async.h"
#include "emu/exec/atoms.h"

enum { CHUNK = 16 }; /* bytes: all bulk copies are of whole chunks */

typedef enum BulkWay {
    BULK_GLOBAL_SHARED, /* completes on an mbarrier */
    BULK_SHARED_GLOBAL, /* is of a bulk group */
    BULK_SHARED_SHARED, /* into another block of the cluster; an mbarrier */
    BULK_STORE          /* registers into shared memory (st.async, red.async); an mbarrier */
} BulkWay;

/* What an instruction says; kept in Code.bulk, in->imm is its index. Rows: to, from, size (of
** BULK_STORE: the first value), object, mask. */
typedef struct BulkForm {
    BulkWay way;
    bool reduces, to_generic;
    uint8_t op, type; /* AtomOp and PtxType of a reduction */
    bool wide_to, wide_from, wide_object;
    bool multicast;
    uint32_t to, from, size, object, mask;
    uint32_t value[4]; /* BULK_STORE: rows */
    uint8_t n_values, value_bytes;
    bool tensor, im2col;
    uint8_t dims, n_offsets;
    uint32_t coord[5], offset[3]; /* rows; offsets are of 16 bits */
} BulkForm;

/* A copy under way. */
typedef struct Bulk {
    bool is_store; /* out of shared memory, by a group; else into it, on an mbarrier */
    Block *block;  /* whose shared memory it writes; of a store: reads */
    Block *issuer;
    Warp *w; /* who issued it */
    int lane;
    const Ins *in;
    Code *code;
    const BulkForm *form;
    uint32_t group;
    uint64_t at, object; /* in shared memory */
    uint64_t source;     /* shared to shared: in the issuer's; UINT64_MAX: none */
    uint64_t global;     /* a plain store: where to */
    uint32_t bytes;
    uint8_t swizzle;    /* see tensor.c; 0: none */
    uint8_t *data;      /* what arrives, or NULL */
    struct Word *cargo; /* its words, or NULL: exact.h */
    EmuTensorMap *map;  /* of a tensor's store, with its coordinates */
    int32_t coord[5];
    double clock; /* when it is complete */
} Bulk;

/* Where chunk `at` of shared memory lies under a swizzle. */
static inline uint64_t bulk_swizzle(uint64_t at, uint8_t swizzle) {
    uint64_t bits = swizzle ? (1u << swizzle) - 1 : 0; /* 1, 2, 3: of 32, 64, 128 bytes */
    return at ^ ((at >> 7 & bits) << 4);
}

bool bulk_issue(Machine *m, Warp *w, const Ins *in); /* SlowFns */
bool bulk_commit(Machine *m, Warp *w, const Ins *in);
bool bulk_wait(Machine *m, Warp *w, const Ins *in);

/* tensor.c. The map that a lane names, by a generic address; NULL after a fault. */
bool tensor_map(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address, EmuTensorMap *out);
bool tensor_reduces(const EmuTensorMap *map, AtomOp op); /* have its elements this operation? */
uint32_t tensor_bytes(const EmuTensorMap *map);          /* of a box, in shared memory */
/* Fills c->data from the tensor; or takes it to the tensor. False after a fault. */
bool tensor_gather(Machine *m, Bulk *c, const int32_t coord[5], const uint16_t offset[3]);
bool tensor_scatter(Machine *m, Bulk *c);
/* A reduction of one element, or a plain store. False after a fault. */
bool bulk_put(Machine *m, const Bulk *c, uint64_t global, const uint8_t *from, unsigned bytes,
              PtxType type);

#endif
