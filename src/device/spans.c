/* spans.c - the papers' clock: every block records when it starts and ends and on which SM; the
** longest span of an SM, from its first start to its last end, is the kernel's time.
**
** Reference: Langdon, Harman: Genetically Improved CUDA C++ Software (StereoCamera), §8.14.5.2.
** The counters are the SM's own and wrap: spans are unsigned differences from the block that
** started first, so an overflow between start and end does no harm.
*/
#include "device/class.h"

#include <stdlib.h>

enum { FIELDS = 3 }; /* start, end, SM: unsigned long long each */

typedef struct Span {
    uint64_t sm, start, end;
} Span;

static int by_sm(const void *a, const void *b) {
    const Span *x = a, *y = b;
    return (x->sm > y->sm) - (x->sm < y->sm);
}

/* First start to last end of spans of one SM. Differences to the first one are signed: the others
** start within half a counter's range of it. */
static uint64_t longest_of(const Span *s, int n) {
    int64_t first = 0, last = 0;
    for (int i = 0; i < n; i++) {
        int64_t start = (int64_t)(s[i].start - s[0].start);
        int64_t end = (int64_t)(s[i].end - s[0].start);
        if (start < first) first = start;
        if (end > last) last = end;
    }
    return (uint64_t)(last - first);
}

static void summarise(const Array *records, DeviceSpans *out) {
    int64_t blocks = records->count / FIELDS;
    const uint64_t *r = records->data;
    Span *spans = gi_alloc((size_t)blocks * sizeof *spans);
    int n = 0; /* blocks that came to their end: one that left by `exit` has none */
    for (int64_t i = 0; i < blocks; i++, r += FIELDS)
        if (r[1] != 0) spans[n++] = (Span){r[2], r[0], r[1]};
    qsort(spans, (size_t)n, sizeof *spans, by_sm);
    out->blocks = n;
    for (int i = 0, end; i < n; i = end, out->sms++) {
        for (end = i; end < n && spans[end].sm == spans[i].sm;) end++;
        double ticks = (double)longest_of(spans + i, end - i);
        if (ticks > out->ticks) out->ticks = ticks;
    }
    if (out->run.clock_ghz > 0) out->ns = out->ticks / out->run.clock_ghz;
    free(spans);
}

static bool run_recorded(DeviceModule *m, const DeviceLaunch *launch, const char *variable,
                         DeviceBuffer *records, DeviceSpans *out, gi_err *err) {
    uint64_t address = device_buffer_address(records), none = 0;
    if (!device_symbol_write(m, variable, &address, sizeof address, err)) return false;
    bool ran = device_launch(m, launch, &out->run, err);
    if (out->run.lost) return ran; /* nothing can be read or written any more */
    if (!device_symbol_write(m, variable, &none, sizeof none, ran ? err : NULL)) return false;
    return ran && device_buffer_read(records, device_buffer_array(records), err);
}

bool device_spans(DeviceModule *m, const DeviceLaunch *launch, const char *variable,
                  DeviceSpans *out, gi_err *err) {
    *out = (DeviceSpans){0};
    const unsigned *g = launch->grid;
    int64_t shape[2] = {(int64_t)g[0] * g[1] * g[2], FIELDS};
    if (shape[0] == 0 || shape[0] > INT32_MAX)
        return gi_fail(err, "usage", "spans: a grid of 1 to 2^31-1 blocks can be recorded");
    Array *array = array_new(ARRAY_U64, 2, shape, err);
    if (array == NULL) return false;
    DeviceBuffer *records = device_buffer(m->device, array, false, "block records", err);
    bool ok = records != NULL && run_recorded(m, launch, variable, records, out, err);
    if (ok && out->run.status == STATUS_OK) summarise(array, out);
    device_buffer_free(records);
    array_unref(array);
    return ok;
}
