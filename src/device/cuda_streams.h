/* cuda_streams.h - the streams of a sequence, for launches that need not wait for each other.
** Private to src/device.
**
** The first stream is the device's own, on which all else is queued. What is queued there between
** launches waits for the launches of all streams, and those behind it wait for it. Captured into a
** graph, the same calls make its edges. All functions answer a result of the driver.
*/
#ifndef GILUA_DEVICE_CUDA_STREAMS_H
#define GILUA_DEVICE_CUDA_STREAMS_H

#include "device/cuda.h"
#include "device/sequence.h"

typedef struct CudaSide { /* a stream besides the first */
    CuStream stream;
    CuEvent all;  /* that was queued on it */
    bool is_used; /* since all streams were one */
} CudaSide;

typedef struct CudaStreams {
    CudaSide side[SEQUENCE_STREAMS - 1];
    CuEvent fork;   /* what was queued while all streams were one */
    bool is_forked; /* they are not one now */
    CuEvent *ended; /* by launch; NULL: nobody waited for it yet */
    int n_ended;
} CudaStreams;

/* Nothing is in flight: whatever came of the last repetition, all streams are one. */
void cuda_streams_begin(CudaStreams *s);
/* The stream of a launch, which waits there for what it must. */
int cuda_streams_take(CudaStreams *s, CudaDevice *d, const SequenceTurn *t, CuStream *out);
/* The launch was queued: others may wait for it. */
int cuda_streams_queued(CudaStreams *s, CudaDevice *d, const SequenceTurn *t, CuStream stream);
/* All streams are one: what comes next on the first waits for all of them. */
int cuda_streams_join(CudaStreams *s, CudaDevice *d);
void cuda_streams_free(CudaStreams *s, const CudaDevice *d);

#endif
