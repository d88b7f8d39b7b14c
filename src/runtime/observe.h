/* observe.h - observers of everything that happens on the device: every op that runs, every
** module, region, array and texture that comes and goes, in order. recorder.c is one of them.
*/
#ifndef GILUA_RUNTIME_OBSERVE_H
#define GILUA_RUNTIME_OBSERVE_H

#include "runtime/module.h"

typedef struct Observer {
    void (*op)(const Stream *s, const Op *op, CudaError result, double ns); /* it has run */
    void (*before)(const Stream *s, const Op *op);                          /* it is about to */
    void (*memory)(const Region *r, bool made);                             /* or about to go */
    void (*array)(const Texels *a, bool made);                              /* … */
    /* NULL for both: about to go, and so for a surface */
    void (*texture)(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r);
    void (*surface)(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r); /* made */
    void (*module)(const Module *m, const EmuText *texts, int n);           /* it is loaded */
    void (*wait)(void);                                /* the host waits, and may look then */
} Observer;

/* Fields may be NULL. The observer is called from now on, until the process ends. */
void observe(const Observer *o);
bool is_observed(void); /* by anyone */

void observed_before(const Stream *s, const Op *op);
void observed_op(const Stream *s, const Op *op, CudaError result, double ns);
void observed_memory(const Region *r, bool made);
void observed_array(const Texels *a, bool made);
void observed_texture(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r);
void observed_surface(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r);
void observed_module(const Module *m, const EmuText *texts, int n);
void observed_wait(void);

#endif
