/* spill.h - what registers that do not fit cost: each block's loads and stores of local memory. */
#ifndef GILUA_EMU_SPILL_H
#define GILUA_EMU_SPILL_H

#include "ptx/ptx.h"

typedef struct SpillBlock { /* words a lane: one wavefront each */
    int loads, stores;
} SpillBlock;

/* Runs each basic block with `have` registers of 32 bits, and fills block[]. The register whose
** next use is farthest makes room (Belady, 1966). Returns words of different registers that
** are ever spilled. */
int spill_blocks(const PtxFunc *f, const PtxCfg *cfg, int have, SpillBlock *block);

#endif
