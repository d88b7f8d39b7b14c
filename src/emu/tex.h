/* tex.h - texture sampling as CUDA's "Texture Fetching" appendix defines it. */
#ifndef GILUA_EMU_TEX_H
#define GILUA_EMU_TEX_H

#include "emu/emu.h"

/* Which tex form: coordinates given as s32 (unnormalised texel index: tex1Dfetch; on arrays too)
** or f32. geometry "1d" "2d" "3d" "a1d" "a2d". */
typedef struct TexCoord {
    int dims;             /* of the instruction, without the layer */
    bool is_int;
    float f[3];
    int32_t i[3];
    int32_t layer;        /* a1d, a2d */
} TexCoord;

/* One texel as four 32-bit values: float bits, or integers when as_int (the instruction's
** destination type). Missing channels read 0, 0, 1 (integer 0, 0, 1), as CUDA does. *byte_offset
** receives where the (first) texel lies in memory, -1 when none was read, for the cost model.
** Fetches outside a linear texture read 0. */
void tex_sample(const EmuTexture *t, const TexCoord *at, bool as_int, uint32_t out[4],
                int64_t *byte_offset);

/* Checks a description; fills *err ("usage"). */
bool tex_check(const EmuTexture *t, gi_err *err);

#endif
