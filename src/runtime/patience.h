/* patience.h - says so, once for each kernel, when a launch takes long: most are large, some wait
** for what the host would write after the launch, which never comes. Private to src/runtime. */
#ifndef GILUA_RUNTIME_PATIENCE_H
#define GILUA_RUNTIME_PATIENCE_H

#include "runtime/op.h"

/* Around a launch that runs. */
void patience_begin(const OpLaunch *l);
void patience_end(void);

#endif
