/* cuda_streams.c - see cuda_streams.h. */
#include "device/cuda_streams.h"

#include <stdlib.h>
#include <string.h>

void cuda_streams_begin(CudaStreams *s) {
    s->is_forked = false;
    for (int i = 0; i < SEQUENCE_STREAMS - 1; i++) s->side[i].is_used = false;
}

static int make_event(const CudaDevice *d, CuEvent *e) {
    return *e ? CU_OK : d->cu->event_new(e, CU_EVENT_NO_TIME);
}

/* Records an event, made where it is not there yet. */
static int record(const CudaDevice *d, CuEvent *e, CuStream stream) {
    int code = make_event(d, e);
    return code == CU_OK ? d->cu->event_record(*e, stream) : code;
}

static int fork_off(CudaStreams *s, const CudaDevice *d) {
    if (s->is_forked) return CU_OK;
    int code = record(d, &s->fork, d->stream);
    s->is_forked = code == CU_OK;
    return code;
}

/* A stream besides the first, behind the fork. */
static int use_side(CudaStreams *s, const CudaDevice *d, CudaSide *side) {
    int code = CU_OK;
    if (side->stream == NULL) code = d->cu->stream_new(&side->stream, CU_STREAM_NON_BLOCKING);
    if (code == CU_OK && !side->is_used) code = d->cu->stream_wait(side->stream, s->fork, 0);
    side->is_used |= code == CU_OK;
    return code;
}

static int wait_for(const CudaStreams *s, const CudaDevice *d, const SequenceTurn *t,
                    CuStream stream) {
    int code = CU_OK;
    for (int i = 0; i < SEQUENCE_STREAMS && code == CU_OK; i++)
        if (t->after[i] > 0 && (unsigned)i != t->stream)
            code = d->cu->stream_wait(stream, s->ended[t->after[i] - 1], 0);
    return code;
}

int cuda_streams_take(CudaStreams *s, CudaDevice *d, const SequenceTurn *t, CuStream *out) {
    CudaSide *side = t->stream == 0 ? NULL : &s->side[t->stream - 1];
    int code = fork_off(s, d);
    if (code == CU_OK && side) code = use_side(s, d, side);
    *out = side ? side->stream : d->stream;
    return code == CU_OK ? wait_for(s, d, t, *out) : code;
}

static CuEvent *end_of(CudaStreams *s, int launch) {
    if (launch >= s->n_ended) {
        int n = 2 * launch + 16;
        CuEvent *more = gi_alloc((size_t)n * sizeof *more);
        if (s->ended) memcpy(more, s->ended, (size_t)s->n_ended * sizeof *more);
        free(s->ended);
        s->ended = more, s->n_ended = n;
    }
    return &s->ended[launch];
}

int cuda_streams_queued(CudaStreams *s, CudaDevice *d, const SequenceTurn *t, CuStream stream) {
    return t->is_awaited ? record(d, end_of(s, t->launch), stream) : CU_OK;
}

int cuda_streams_join(CudaStreams *s, CudaDevice *d) {
    int worst = CU_OK;
    for (CudaSide *side = s->side; s->is_forked && side < s->side + SEQUENCE_STREAMS - 1; side++) {
        if (!side->is_used) continue;
        int code = record(d, &side->all, side->stream);
        if (code == CU_OK) code = d->cu->stream_wait(d->stream, side->all, 0);
        if (code != CU_OK) worst = code;
    }
    cuda_streams_begin(s);
    return worst;
}

void cuda_streams_free(CudaStreams *s, const CudaDevice *d) {
    for (int i = 0; i < SEQUENCE_STREAMS - 1; i++) {
        if (s->side[i].all) d->cu->event_free(s->side[i].all);
        if (s->side[i].stream) d->cu->stream_free(s->side[i].stream);
    }
    if (s->fork) d->cu->event_free(s->fork);
    for (int i = 0; i < s->n_ended; i++)
        if (s->ended[i]) d->cu->event_free(s->ended[i]);
}
