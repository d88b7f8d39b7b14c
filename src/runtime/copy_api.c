/* copy_api.c - cudaMemcpy and cudaMemset in all their forms but those of arrays (texels.c). */
#include "runtime/copy.h"
#include "runtime/module.h"

static CudaError submit(Stream *s, Op op) {
    return op_submit(s, &op);
}

/* --- lines --- */

API(cudaMemcpy, void *to, const void *from, size_t n, CudaMemcpyKind kind) {
    return CALL(submit(NULL, copy_line(to, from, n, kind, false)));
}
ALSO(cudaMemcpy, cudaMemcpy_ptds);
API(cudaMemcpyAsync, void *to, const void *from, size_t n, CudaMemcpyKind kind, Stream *s) {
    return CALL(submit(s, copy_line(to, from, n, kind, true)));
}
PER_THREAD(cudaMemcpyAsync);

static CudaError peers(int a, int b) {
    return a == 0 && b == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

static CudaError copy_peer(void *to, const void *from, size_t n, int a, int b, Stream *s,
                           bool is_async) {
    CudaError e = peers(a, b);
    return e ? e : submit(s, copy_line(to, from, n, cudaMemcpyDefault, is_async));
}

API(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t n) {
    return CALL(copy_peer(to, from, n, to_device, from_device, NULL, false));
}
API(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t n,
    Stream *s) {
    return CALL(copy_peer(to, from, n, to_device, from_device, s, true));
}

/* --- rows --- */

static CudaError copy_rows(void *to, size_t to_row, const void *from, size_t from_row, size_t width,
                           size_t height, CudaMemcpyKind kind, Stream *s, bool is_async) {
    if (width > to_row || width > from_row) return cudaErrorInvalidPitchValue;
    return submit(s, copy_op(side_of(to, to_row, height), side_of(from, from_row, height),
                             (CudaExtent){width, height, 1}, kind, is_async));
}

API(cudaMemcpy2D, void *to, size_t to_row, const void *from, size_t from_row, size_t width,
    size_t height, CudaMemcpyKind kind) {
    return CALL(copy_rows(to, to_row, from, from_row, width, height, kind, NULL, false));
}
ALSO(cudaMemcpy2D, cudaMemcpy2D_ptds);
API(cudaMemcpy2DAsync, void *to, size_t to_row, const void *from, size_t from_row, size_t width,
    size_t height, CudaMemcpyKind kind, Stream *s) {
    return CALL(copy_rows(to, to_row, from, from_row, width, height, kind, s, true));
}
PER_THREAD(cudaMemcpy2DAsync);

/* --- slices --- */

static CudaError copy_3d(const CudaCopy3D *p, Stream *s, bool is_async) {
    Op op;
    CudaError e = p ? copy_of_3d(p, is_async, &op) : cudaErrorInvalidValue;
    return e ? e : op_submit(s, &op);
}

API(cudaMemcpy3D, const CudaCopy3D *p) {
    return CALL(copy_3d(p, NULL, false));
}
ALSO(cudaMemcpy3D, cudaMemcpy3D_ptds);
API(cudaMemcpy3DAsync, const CudaCopy3D *p, Stream *s) {
    return CALL(copy_3d(p, s, true));
}
PER_THREAD(cudaMemcpy3DAsync);

static CudaError copy_3d_peer(const CudaCopy3DPeer *p, Stream *s, bool is_async) {
    if (p == NULL) return cudaErrorInvalidValue;
    CudaError e = peers(p->to_device, p->from_device);
    CudaCopy3D same = {p->from_array, p->from_pos, p->from,   p->to_array,
                       p->to_pos,     p->to,       p->extent, cudaMemcpyDefault};
    return e ? e : copy_3d(&same, s, is_async);
}

API(cudaMemcpy3DPeer, const CudaCopy3DPeer *p) {
    return CALL(copy_3d_peer(p, NULL, false));
}
ALSO(cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds);
API(cudaMemcpy3DPeerAsync, const CudaCopy3DPeer *p, Stream *s) {
    return CALL(copy_3d_peer(p, s, true));
}
PER_THREAD(cudaMemcpy3DPeerAsync);

/* --- variables --- */

/* A copy whose one side is n bytes of a variable, from an offset on. */
static CudaError copy_symbol(const void *symbol, size_t offset, const void *other, size_t n,
                             bool to_symbol, CudaMemcpyKind kind, Stream *s, bool is_async) {
    uint64_t address;
    size_t size;
    CudaError e = module_symbol(symbol, &address, &size);
    if (e) return e;
    if (offset > size || n > size - offset)
        return failed(cudaErrorInvalidValue, "%zu bytes from byte %zu on of a variable of %zu", n,
                      offset, size);
    if (kind == (to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice))
        return failed(cudaErrorInvalidMemcpyDirection, "the direction is %s a variable",
                      to_symbol ? "from a device, but the copy is to"
                                : "to a device, but the copy is from");
    char *at = (char *)(uintptr_t)(address + offset);
    return submit(s, to_symbol ? copy_line(at, other, n, kind, is_async)
                               : copy_line((void *)(uintptr_t)other, at, n, kind, is_async));
}

API(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t n, size_t offset,
    CudaMemcpyKind kind) {
    return CALL(copy_symbol(symbol, offset, from, n, true, kind, NULL, false));
}
ALSO(cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds);
API(cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t n, size_t offset,
    CudaMemcpyKind kind, Stream *s) {
    return CALL(copy_symbol(symbol, offset, from, n, true, kind, s, true));
}
PER_THREAD(cudaMemcpyToSymbolAsync);
API(cudaMemcpyFromSymbol, void *to, const void *symbol, size_t n, size_t offset,
    CudaMemcpyKind kind) {
    return CALL(copy_symbol(symbol, offset, to, n, false, kind, NULL, false));
}
ALSO(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds);
API(cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t n, size_t offset,
    CudaMemcpyKind kind, Stream *s) {
    return CALL(copy_symbol(symbol, offset, to, n, false, kind, s, true));
}
PER_THREAD(cudaMemcpyFromSymbolAsync);

/* --- fills --- */

static CudaError fill(void *to, size_t row, size_t rows, int value, CudaExtent bytes, Stream *s,
                      bool is_async) {
    return submit(s, set_op(to, row, rows, value, 1, bytes, is_async));
}

API(cudaMemset, void *to, int value, size_t n) {
    return CALL(fill(to, n, 1, value, (CudaExtent){n, 1, 1}, NULL, true));
}
ALSO(cudaMemset, cudaMemset_ptds);
API(cudaMemsetAsync, void *to, int value, size_t n, Stream *s) {
    return CALL(fill(to, n, 1, value, (CudaExtent){n, 1, 1}, s, true));
}
PER_THREAD(cudaMemsetAsync);
API(cudaMemset2D, void *to, size_t row, int value, size_t width, size_t height) {
    return CALL(fill(to, row, height, value, (CudaExtent){width, height, 1}, NULL, true));
}
ALSO(cudaMemset2D, cudaMemset2D_ptds);
API(cudaMemset2DAsync, void *to, size_t row, int value, size_t width, size_t height, Stream *s) {
    return CALL(fill(to, row, height, value, (CudaExtent){width, height, 1}, s, true));
}
PER_THREAD(cudaMemset2DAsync);
API(cudaMemset3D, CudaPitched to, int value, CudaExtent extent) {
    return CALL(fill(to.ptr, to.pitch, to.ysize, value, extent, NULL, true));
}
ALSO(cudaMemset3D, cudaMemset3D_ptds);
API(cudaMemset3DAsync, CudaPitched to, int value, CudaExtent extent, Stream *s) {
    return CALL(fill(to.ptr, to.pitch, to.ysize, value, extent, s, true));
}
PER_THREAD(cudaMemset3DAsync);
