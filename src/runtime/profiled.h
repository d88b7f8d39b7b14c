/* profiled.h - what each line of the program's kernels costs (emu/profile.h), where `gilua run
** --profile` asks for it. It is left in PID.profile when the process ends: a row for each kernel,
** and under it one for each line. A process that ends by _exit or a signal leaves none. */
#ifndef GILUA_RUNTIME_PROFILED_H
#define GILUA_RUNTIME_PROFILED_H

#include "emu/emu.h"

EmuProfile *profiled(void); /* NULL: nobody asks */
void profiled_end(void);

#endif
