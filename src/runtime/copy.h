/* copy.h - making the ops of copies and fills. Private to src/runtime. */
#ifndef GILUA_RUNTIME_COPY_H
#define GILUA_RUNTIME_COPY_H

#include "runtime/op.h"

/* Rows of `row` bytes, `rows` to a slice, in memory; from a place (bytes, rows, slices) in an
** array. */
Side side_of(const void *p, size_t row, size_t rows);
Side side_of_array(Texels *a, size_t x, size_t y, size_t z);

enum { WHERE_HOST = 1, WHERE_DEVICE = 2 }; /* bits: managed and pinned memory is both */
unsigned side_where(const Side *s);
/* Adds what lies there, row after row, to out. */
void side_bytes(const Side *s, size_t width, size_t height, size_t depth, gi_buf *out);

Op copy_op(Side to, Side from, CudaExtent bytes, CudaMemcpyKind kind, bool is_async);
/* n bytes in a row. */
Op copy_line(void *to, const void *from, size_t n, CudaMemcpyKind kind, bool is_async);
Op set_op(void *to, size_t row, size_t rows, int value, unsigned element, CudaExtent bytes,
          bool is_async);

/* The op of cudaMemcpy3D's description. */
CudaError copy_of_3d(const CudaCopy3D *p, bool is_async, Op *out);

#endif
