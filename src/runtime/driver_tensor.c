/* driver_tensor.c - tensor maps: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make of a
** tensor's shape, for the bulk copies of emu/exec/tensor.c. The limits are those of CUDA's driver
** API; what the virtual GPU does not do is refused here, where the program can see it. */
#include "emu/emu.h"
#include "runtime/driver.h"

#include <string.h>

enum { MOST_BOX = 256, MOST_STEP = 8, SWIZZLES = 4, TENSOR_F16 = 6 };

typedef struct Shape {
    int type, interleave, swizzle, fill;
    uint32_t rank;
    uint64_t address;
    const uint64_t *size, *stride;
    const uint32_t *step;
} Shape;

static CudaError wrong(const char *what) {
    return failed(cudaErrorInvalidValue, "cuTensorMapEncode: %s", what);
}

static CudaError unsupported(const char *what) {
    return failed(cudaErrorNotSupported, "cuTensorMapEncode: %s, which the virtual GPU does not do",
                  what);
}

static CudaError check_kind(const Shape *s) {
    if (s->type < 0 || s->type > 15) return wrong("the data type is unknown");
    if (emu_tensor_element(s->type) == 0)
        return unsupported("elements of less than a byte");
    if (s->interleave) return unsupported("an interleaved layout");
    if (s->swizzle < 0 || s->swizzle >= SWIZZLES) return unsupported("a swizzle of other atoms");
    bool is_float = s->type >= TENSOR_F16; /* the types behind the whole numbers */
    if (s->fill < 0 || s->fill > 1) return wrong("a fill of zeros or of NaNs");
    if (s->fill && !is_float) return wrong("a fill of NaNs is of floating-point elements");
    return cudaSuccess;
}

static CudaError check_shape(const Shape *s) {
    if (s->rank < 1 || s->rank > 5) return wrong("a tensor has 1 to 5 dimensions");
    if (!s->size || !s->step || (s->rank > 1 && !s->stride)) return cudaErrorInvalidValue;
    if (s->address == 0 || s->address % 16) return wrong("the address is no multiple of 16");
    for (uint32_t k = 0; k < s->rank; k++) {
        if (s->size[k] < 1 || s->size[k] > (uint64_t)1 << 32) return wrong("a size of 1 to 2^32");
        if (s->step[k] < 1 || s->step[k] > MOST_STEP) return wrong("an element stride of 1 to 8");
        if (k + 1 < s->rank && (s->stride[k] % 16 || s->stride[k] >= (uint64_t)1 << 40))
            return wrong("strides are multiples of 16 below 2^40");
    }
    return check_kind(s);
}

/* Dimension 0 of a box: whole pieces of 16 bytes, no more than the swizzle spans. */
static CudaError check_row(const Shape *s, uint32_t elements) {
    uint32_t bytes = elements * emu_tensor_element(s->type), span = 16u << s->swizzle;
    if (elements < 1 || elements > MOST_BOX)
        return wrong("a box has 1 to 256 elements a dimension");
    if (bytes % 16) return wrong("a box's rows are multiples of 16 bytes");
    if (s->swizzle && bytes > span) return wrong("a box's rows are longer than the swizzle spans");
    return cudaSuccess;
}

static EmuTensorMap map_of(const Shape *s) {
    EmuTensorMap map = {.magic = EMU_TENSOR_MAGIC,
                        .address = s->address,
                        .type = (uint8_t)s->type,
                        .rank = (uint8_t)s->rank,
                        .swizzle = (uint8_t)s->swizzle,
                        .nans = (uint8_t)s->fill};
    for (uint32_t k = 0; k < s->rank; k++) {
        map.last[k] = (uint32_t)(s->size[k] - 1);
        map.step[k] = (uint8_t)s->step[k];
        if (k) map.stride[k - 1] = s->stride[k - 1];
    }
    return map;
}

static CudaError give(void *out, const EmuTensorMap *map) {
    if (out == NULL || (uintptr_t)out % 64) return wrong("the map is no multiple of 64 bytes");
    memset(out, 0, EMU_TENSOR_BYTES);
    memcpy(out, map, sizeof *map);
    return cudaSuccess;
}

static CudaError tiled(void *out, const Shape *s, const uint32_t *box) {
    CudaError e = check_shape(s);
    if (e == cudaSuccess && box == NULL) e = cudaErrorInvalidValue;
    if (e == cudaSuccess) e = check_row(s, box[0]);
    if (e) return e;
    EmuTensorMap map = map_of(s);
    for (uint32_t k = 0; k < s->rank; k++) {
        if (box[k] < 1 || box[k] > MOST_BOX)
            return wrong("a box has 1 to 256 elements a dimension");
        map.box[k] = (uint16_t)box[k];
    }
    return give(out, &map);
}

static CudaError im2col(void *out, const Shape *s, const int *lower, const int *upper,
                        uint32_t channels, uint32_t pixels) {
    CudaError e = check_shape(s);
    if (e == cudaSuccess && (!lower || !upper)) e = cudaErrorInvalidValue;
    if (e == cudaSuccess && s->rank < 3) e = wrong("im2col has 3 to 5 dimensions");
    if (e == cudaSuccess) e = check_row(s, channels);
    if (e == cudaSuccess && (pixels < 1 || pixels > 1024))
        e = wrong("a column has 1 to 1024 pixels");
    if (e) return e;
    EmuTensorMap map = map_of(s);
    int most = 1 << (s->rank == 3 ? 15 : s->rank == 4 ? 7 : 4);
    map.im2col = 1;
    map.box[0] = (uint16_t)channels;
    map.box[1] = (uint16_t)pixels;
    for (uint32_t k = 0; k + 2 < s->rank; k++) {
        if (lower[k] < -most || lower[k] >= most || upper[k] < -most || upper[k] >= most)
            return wrong("a corner of the pixels' box is too far out");
        map.lower[k] = (int16_t)lower[k];
        map.upper[k] = (int16_t)upper[k];
    }
    return give(out, &map);
}

DRIVER(cuTensorMapEncodeTiled, void *out, int type, uint32_t rank, void *address,
       const uint64_t *size, const uint64_t *stride, const uint32_t *box, const uint32_t *step,
       int interleave, int swizzle, int promotion, int fill) {
    Shape s = {type, interleave, swizzle, fill, rank, (uint64_t)(uintptr_t)address,
               size, stride,     step};
    (void)promotion; /* of lines in the L2 cache: a hint */
    return DRIVE(tiled(out, &s, box));
}

DRIVER(cuTensorMapEncodeIm2col, void *out, int type, uint32_t rank, void *address,
       const uint64_t *size, const uint64_t *stride, const int *lower, const int *upper,
       uint32_t channels, uint32_t pixels, const uint32_t *step, int interleave, int swizzle,
       int promotion, int fill) {
    Shape s = {type, interleave, swizzle, fill, rank, (uint64_t)(uintptr_t)address,
               size, stride,     step};
    (void)promotion;
    return DRIVE(im2col(out, &s, lower, upper, channels, pixels));
}

static CudaError replace(void *map, void *address) {
    EmuTensorMap now;
    if (map == NULL || (uintptr_t)map % 64 || address == NULL || (uintptr_t)address % 16)
        return wrong("the map is no multiple of 64 bytes, or the address none of 16");
    memcpy(&now, map, sizeof now);
    if (now.magic != EMU_TENSOR_MAGIC) return wrong("no tensor map is there");
    now.address = (uint64_t)(uintptr_t)address;
    return give(map, &now);
}

DRIVER(cuTensorMapReplaceAddress, void *map, void *address) {
    return DRIVE(replace(map, address));
}
