/* block.h - private to this room: mapped memory that several arrays lie in. */
#ifndef GILUA_ARRAY_BLOCK_H
#define GILUA_ARRAY_BLOCK_H

#include "array/array.h"

/* A private view of a whole file, unmapped with its last reference. */
struct ArrayBlock {
    void *base;
    size_t bytes;
    int refs;
};

ArrayBlock *array_block_map(int fd, size_t bytes, gi_err *err); /* one reference; NULL: "nomem" */
void array_block_unref(ArrayBlock *b);                          /* NULL is fine */

/* An array over the block's bytes from offset on, which the caller has checked. */
Array *array_in_block(ArrayBlock *b, size_t offset, ArrayType type, int ndim, const int64_t *shape);

/* The number of elements of a shape; false ("usage") when it is none. */
bool array_shape_count(ArrayType type, int ndim, const int64_t *shape, int64_t *count, gi_err *err);

#endif
