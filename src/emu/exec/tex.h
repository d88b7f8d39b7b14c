/* tex.h - texture sampling as CUDA's "Texture Fetching" appendix defines it. */
#ifndef GILUA_EMU_TEX_H
#define GILUA_EMU_TEX_H

#include "emu/emu.h"

/* Which tex form: coordinates given as s32 (unnormalised texel index: tex1Dfetch; on arrays too)
** or f32. geometry "1d" "2d" "3d" "a1d" "a2d". */
typedef struct TexCoord {
    int dims; /* of the instruction, without the layer */
    bool is_int;
    bool layered; /* a1d, a2d */
    bool cube;    /* a direction in f; dims is 2, that of a face */
    int gather;   /* tld4: this channel, from 1, of four texels; 0: a fetch */
    float f[3];
    int32_t i[3];
    int32_t layer; /* when layered */
} TexCoord;

/* One texel as four 32-bit values: float bits when the texture yields floats, else integers, sign-
** or zero-extended. Missing channels read 0, the fourth too, as on an H200. *byte_offset receives
** where the (first) texel lies in memory, -1 when none was read, for the cost model. Fetches
** outside a linear texture read 0. NaN coordinates count as 0. */
void tex_sample(const EmuTexture *t, const TexCoord *at, uint32_t out[4], int64_t *byte_offset);

/* Why this fetch makes no sense on this texture, as the end of a sentence ("… reads a 2-D texture
** with 1 coordinate"), or NULL. Callers fault on it; tex_sample itself reads something in bounds.
 */
const char *tex_misuse(const EmuTexture *t, const TexCoord *at, bool as_int);

/* Are texels floats (f16, f32, or normalised integers)? */
bool tex_yields_float(const EmuTexture *t);

/* Returns how many texels a fetch reads, at most 8, and where each lies (-1: the border). */
int tex_reads(const EmuTexture *t, const TexCoord *at, int64_t offset[8]);

/* Bytes of a channel; of a row's texels. Where byte at[0] of row at[1] of slice or layer at[2]
** is. */
int tex_channel_bytes(const EmuTexture *t);
int64_t tex_row_bytes(const EmuTexture *t);
int64_t tex_texel_bytes(const EmuTexture *t);
int64_t tex_byte_offset(const EmuTexture *t, const int64_t at[3]);

#endif
