/* type.c - the fundamental types of PTX. */
#include "ptx/ptx.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [PTX_NONE] = {"", 0},
    [PTX_PRED] = {"pred", 1},
    [PTX_B8] = {"b8", 1},
    [PTX_B16] = {"b16", 2},
    [PTX_B32] = {"b32", 4},
    [PTX_B64] = {"b64", 8},
    [PTX_B128] = {"b128", 16},
    [PTX_U8] = {"u8", 1},
    [PTX_U16] = {"u16", 2},
    [PTX_U32] = {"u32", 4},
    [PTX_U64] = {"u64", 8},
    [PTX_S8] = {"s8", 1},
    [PTX_S16] = {"s16", 2},
    [PTX_S32] = {"s32", 4},
    [PTX_S64] = {"s64", 8},
    [PTX_F16] = {"f16", 2},
    [PTX_F16X2] = {"f16x2", 4},
    [PTX_BF16] = {"bf16", 2},
    [PTX_BF16X2] = {"bf16x2", 4},
    [PTX_F32] = {"f32", 4},
    [PTX_F64] = {"f64", 8},
    [PTX_TEXREF] = {"texref", 8},
    [PTX_SAMPLERREF] = {"samplerref", 8},
    [PTX_SURFREF] = {"surfref", 8},
};

size_t ptx_type_size(PtxType type) {
    return types[type].size;
}

const char *ptx_type_name(PtxType type) {
    return types[type].name;
}

bool ptx_type_parse(const char *name, PtxType *out) {
    for (int i = PTX_PRED; i <= PTX_SURFREF; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = (PtxType)i;
            return true;
        }
    }
    return false;
}
