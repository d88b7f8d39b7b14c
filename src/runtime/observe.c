/* observe.c - the table of observers. See observe.h. */
#include "runtime/observe.h"

#include <assert.h>

static const Observer *table[8];
static int n;

void observe(const Observer *o) {
    assert(n < (int)(sizeof table / sizeof *table));
    table[n++] = o;
}

bool is_observed(void) {
    return n > 0;
}

void observed_before(const Stream *s, const Op *op) {
    for (int i = 0; i < n; i++)
        if (table[i]->before) table[i]->before(s, op);
}

void observed_op(const Stream *s, const Op *op, CudaError result, double ns) {
    for (int i = 0; i < n; i++)
        if (table[i]->op) table[i]->op(s, op, result, ns);
}

void observed_memory(const Region *r, bool made) {
    for (int i = 0; i < n; i++)
        if (table[i]->memory) table[i]->memory(r, made);
}

void observed_array(const Texels *a, bool made) {
    for (int i = 0; i < n; i++)
        if (table[i]->array) table[i]->array(a, made);
}

void observed_texture(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r) {
    for (int i = 0; i < n; i++)
        if (table[i]->texture) table[i]->texture(handle, t, r);
}

void observed_surface(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r) {
    for (int i = 0; i < n; i++)
        if (table[i]->surface) table[i]->surface(handle, t, r);
}

void observed_module(const Module *m, const EmuText *texts, int n_texts) {
    for (int i = 0; i < n; i++)
        if (table[i]->module) table[i]->module(m, texts, n_texts);
}

void observed_wait(void) {
    for (int i = 0; i < n; i++)
        if (table[i]->wait) table[i]->wait();
}
