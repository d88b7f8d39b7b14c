/* driver_values.c - the driver API's writes of a word, and waits for one, in the order of a stream.
**
** What a stream is asked to do happens at once, so a wait is fulfilled when it is asked for or
** never: whatever comes before it has happened, and what the host writes later comes too late.
*/
#include <string.h>

#include "runtime/copy.h"
#include "runtime/driver.h"
#include "runtime/op.h"

enum { WAIT_GEQ, WAIT_EQ, WAIT_AND, WAIT_NOR, WAIT_FLUSH = 1 << 30 };

static CudaError check(const Stream *s, uint64_t address, size_t size) {
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (s->capture) return cudaErrorStreamCaptureUnsupported;
    return address % size ? cudaErrorInvalidValue : cudaSuccess;
}

static CudaError write_value(Stream *handle, uint64_t address, uint64_t value, size_t size) {
    CudaError e = check(stream_of(handle), address, size);
    for (size_t i = 0; e == cudaSuccess && i < size; i += 4) {
        Op op = set_op((void *)(uintptr_t)(address + i), 4, 1, (int)(value >> 8 * i), 4,
                       (CudaExtent){4, 1, 1}, true);
        e = op_submit(handle, &op);
    }
    return e;
}

static bool holds(uint64_t now, uint64_t value, size_t size, unsigned how) {
    uint64_t all = size == 8 ? UINT64_MAX : UINT32_MAX;
    switch (how) {
    case WAIT_GEQ: return size == 8 ? (int64_t)(now - value) >= 0 : (int32_t)(now - value) >= 0;
    case WAIT_EQ: return now == value;
    case WAIT_AND: return (now & value) != 0;
    default: return (~(now | value) & all) != 0;
    }
}

static CudaError wait_value(Stream *handle, uint64_t address, uint64_t value, size_t size,
                            unsigned flags) {
    Region *r;
    uint64_t now = 0;
    unsigned how = flags & ~(unsigned)WAIT_FLUSH;
    CudaError e = check(stream_of(handle), address, size);
    if (e) return e;
    const void *p = how > WAIT_NOR ? NULL : memory_bytes(address, size, "reads", &r);
    if (p == NULL) return cudaErrorInvalidValue;
    if (r) contents_settle(&r->contents);
    memcpy(&now, p, size);
    if (!holds(now, value, size, how))
        refuse("%s waits for a value that is not there yet (%llu is): the virtual GPU runs "
               "a stream's work at once and cannot wait for a later value",
               call_name(), (unsigned long long)now);
    return cudaSuccess;
}

DRIVER(cuStreamWriteValue32, Stream *s, uint64_t address, uint32_t value, unsigned flags) {
    (void)flags; /* whether a barrier comes before it */
    return DRIVE(write_value(s, address, value, 4));
}
DRIVER(cuStreamWriteValue64, Stream *s, uint64_t address, uint64_t value, unsigned flags) {
    (void)flags;
    return DRIVE(write_value(s, address, value, 8));
}
DRIVER(cuStreamWaitValue32, Stream *s, uint64_t address, uint32_t value, unsigned flags) {
    return DRIVE(wait_value(s, address, value, 4, flags));
}
DRIVER(cuStreamWaitValue64, Stream *s, uint64_t address, uint64_t value, unsigned flags) {
    return DRIVE(wait_value(s, address, value, 8, flags));
}
#define EVERY_NAME(name)        \
    AGAIN(name, name##_v2);     \
    AGAIN(name, name##_ptsz);   \
    AGAIN(name, name##_v2_ptsz)
EVERY_NAME(cuStreamWriteValue32);
EVERY_NAME(cuStreamWriteValue64);
EVERY_NAME(cuStreamWaitValue32);
EVERY_NAME(cuStreamWaitValue64);
