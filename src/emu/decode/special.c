/* special.c - special registers that stay the same while a thread runs: each is a row of constants.
** Clocks are control.c's. */
#include "emu/decode/decode.h"

#include <stdlib.h>
#include <string.h>

typedef struct Special {
    const char *name;
    PoolKind kind;
} Special;

static const Special specials[] = {{"%tid.x", POOL_TID_X},
                                   {"%tid.y", POOL_TID_Y},
                                   {"%tid.z", POOL_TID_Z},
                                   {"%ntid.x", POOL_NTID_X},
                                   {"%ntid.y", POOL_NTID_Y},
                                   {"%ntid.z", POOL_NTID_Z},
                                   {"%ctaid.x", POOL_CTAID_X},
                                   {"%ctaid.y", POOL_CTAID_Y},
                                   {"%ctaid.z", POOL_CTAID_Z},
                                   {"%nctaid.x", POOL_NCTAID_X},
                                   {"%nctaid.y", POOL_NCTAID_Y},
                                   {"%nctaid.z", POOL_NCTAID_Z},
                                   {"%laneid", POOL_LANEID},
                                   {"%warpid", POOL_WARPID},
                                   {"%nwarpid", POOL_NWARPID},
                                   {"%smid", POOL_SMID},
                                   {"%nsmid", POOL_NSMID},
                                   {"%gridid", POOL_GRIDID},
                                   {"%lanemask_eq", POOL_LANEMASK_EQ},
                                   {"%lanemask_le", POOL_LANEMASK_LE},
                                   {"%lanemask_lt", POOL_LANEMASK_LT},
                                   {"%lanemask_ge", POOL_LANEMASK_GE},
                                   {"%lanemask_gt", POOL_LANEMASK_GT},
                                   {"%dynamic_smem_size", POOL_DYNAMIC_SMEM},
                                   {"%total_smem_size", POOL_TOTAL_SMEM},
                                   {"%envreg0", POOL_ZERO},
                                   {"%envreg1", POOL_WORKSPACE_HIGH},
                                   {"%envreg2", POOL_WORKSPACE_LOW},
                                   {"%aggr_smem_size", POOL_TOTAL_SMEM},
                                   {"%reserved_smem_offset_begin", POOL_RESERVED},
                                   {"%reserved_smem_offset_0", POOL_RESERVED},
                                   {"%reserved_smem_offset_1", POOL_RESERVED},
                                   {"%reserved_smem_offset_end", POOL_RESERVED_END},
                                   {"%reserved_smem_offset_cap", POOL_RESERVED_END},
                                   {"%clusterid.x", POOL_CLUSTERID_X},
                                  {"%clusterid.y", POOL_CLUSTERID_Y},
                                  {"%clusterid.z", POOL_CLUSTERID_Z},
                                  {"%nclusterid.x", POOL_NCLUSTERID_X},
                                  {"%nclusterid.y", POOL_NCLUSTERID_Y},
                                  {"%nclusterid.z", POOL_NCLUSTERID_Z},
                                  {"%cluster_ctaid.x", POOL_CLUSTER_CTAID_X},
                                  {"%cluster_ctaid.y", POOL_CLUSTER_CTAID_Y},
                                  {"%cluster_ctaid.z", POOL_CLUSTER_CTAID_Z},
                                  {"%cluster_nctaid.x", POOL_CLUSTER_NCTAID_X},
                                  {"%cluster_nctaid.y", POOL_CLUSTER_NCTAID_Y},
                                  {"%cluster_nctaid.z", POOL_CLUSTER_NCTAID_Z},
                                  {"%cluster_ctarank", POOL_CLUSTER_RANK},
                                  {"%cluster_nctarank", POOL_CLUSTER_SIZE},
                                  {"%envreg", POOL_ZERO}, /* set by OpenCL alone */
                                   {"%pm", POOL_ZERO},     /* nobody counts with it */
                                   {NULL, POOL_ZERO}};

/* Of a name without its number or its component the row stands for all that have no own one. */
static bool is_special(const Special *s, const char *symbol) {
    size_t n = strlen(s->name);
    if (strcmp(symbol, s->name) == 0) return true;
    bool is_stem = strncmp(symbol, s->name, n) == 0 && !strstr(symbol, "_64");
    return is_stem && (symbol[n] == '.' || (symbol[n] >= '0' && symbol[n] <= '9'));
}

bool special_row(Decoder *d, const char *symbol, uint32_t *out) {
    bool is_env = strncmp(symbol, "%envreg", 7) == 0;
    if (is_env && atoi(symbol + 7) > 31) return decode_fail(d, "there are %%envreg0 to %%envreg31");
    if (strstr(symbol, ".w")) {
        *out = pool_row(d, POOL_ZERO, 0);
        return true;
    }
    for (const Special *s = specials; s->name; s++) {
        if (!is_special(s, symbol)) continue;
        *out = pool_row(d, s->kind, 0);
        return true;
    }
    return decode_fail(d, "special register %s is not supported", symbol);
}
