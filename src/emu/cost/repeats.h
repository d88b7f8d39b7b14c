/* repeats.h - which instructions compute again what the same basic block has already. Private to
** src/emu. */
#ifndef GILUA_EMU_REPEATS_H
#define GILUA_EMU_REPEATS_H

#include "ptx/ptx.h"

/* Sets repeat[i] (f->n_code of them, zeroed) for the instructions that ptxas would leave out. */
void repeats_find(const PtxFunc *f, const PtxCfg *cfg, bool *repeat);

#endif
