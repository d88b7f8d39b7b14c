/* emu_hints.c - hints change no value, what they are given is checked all the same; clusters of one
** block; what discard leaves is nobody's. */
#define KIT_HEADER ".version 9.0\n.target sm_90a\n.address_size 64\n"
#include "emu_kit.h"

enum { GRID = 2, BLOCK = 64 };

static uint32_t same(uint32_t i) {
    return kit_in[i];
}
static uint32_t found(uint32_t i) {
    return kit_in[i] + 0xa5a5a5a5u;
}
static uint32_t place(uint32_t i) {
    return i / BLOCK * 1000 + GRID * 100 + 10 + 1;
}
static uint32_t ones(uint32_t i) {
    (void)i;
    return 0xffffffffu;
}

static const struct {
    const char *title, *body;
    uint32_t (*want)(uint32_t i);
} bodies[] = {
    {"accesses with a policy",
     "createpolicy.fractional.L2::evict_last.b64 %l0, 0.5; mul.wide.u32 %l1, %i, 4;\n"
     "add.s64 %l2, %l1, %out; add.s64 %l1, %l1, %in;\n"
     "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.u32 %a0, [%l1], %l0;\n"
     "atom.global.add.L2::cache_hint.u32 %a1, [%l2], %a0, %l0;\n"
     "st.global.L2::cache_hint.u32 [%l2], %a0, %l0; ld.global.u32 %a0, [%l2];\n"
     "add.u32 %r, %a0, %a1;",
     found},
    {"a cluster of one block",
     "mov.u32 %a0, %clusterid.x; mov.u32 %a1, %cluster_ctarank; mov.u32 %a2, %cluster_nctarank;\n"
     "mov.u32 %a3, %nclusterid.x; mov.u32 %a4, %cluster_ctaid.y; mov.u32 %a5, %cluster_nctaid.z;\n"
     "mov.pred %p0, %is_explicit_cluster; selp.u32 %a6, 7, 0, %p0;\n"
     "mad.lo.u32 %r, %a0, 1000, %a1; mad.lo.u32 %r, %a3, 100, %r; mad.lo.u32 %r, %a5, 10, %r;\n"
     "add.u32 %r, %r, %a2; add.u32 %r, %r, %a4; add.u32 %r, %r, %a6;",
     place},
    {"fences, events, prefetches",
     "fence.proxy.alias; fence.proxy.async.global; fence.mbarrier_init.release.cluster;\n"
     "fence.proxy.tensormap::generic.acquire.gpu [%in], 128; fence.acq_rel.cluster;\n"
     "pmevent 3; pmevent.mask 5; prefetch.tensormap [%in]; prefetchu.L1 [%in];\n"
     "applypriority.global.L2::evict_normal [%in], 128; setmaxnreg.inc.sync.aligned.u32 64;\n"
     "mov.u32 %a0, %envreg3; mov.u32 %a1, %pm0; add.u32 %r, %x, %a0; add.u32 %r, %r, %a1;\n"
     "mul.wide.u32 %l1, %i, 4; add.s64 %l1, %l1, %in; ld.mmio.relaxed.sys.global.u32 %r, [%l1];",
     same},
    {"discard: the bytes are all ones", /* a line of 128 bytes is a warp's */
     "mul.wide.u32 %l0, %i, 4; add.s64 %l0, %l0, %out; st.global.u32 [%l0+8192], %x;\n"
     "bar.warp.sync -1; and.b64 %l1, %l0, -128; discard.global.L2 [%l1+8192], 128;\n"
     "bar.warp.sync -1; ld.global.u32 %r, [%l0+8192];",
     ones},
};

/* The status and message of a launch of one warp. */
static EmuResult outcome(const char *body) {
    KitBody k = {body, NULL, body, 1, 32, 0};
    char *ptx = kit_body_ptx(&k);
    EmuModule *m = kit_load(ptx, body);
    EmuResult r = {0};
    gi_err err;
    uint64_t params[3] = {emu_map(kit_emu, kit_in, sizeof kit_in, true, "in"),
                          emu_map(kit_emu, kit_out, sizeof kit_out, false, "out"), 0};
    EmuLaunch l = {.kernel = "k",
                   .grid = {1, 1, 1},
                   .block = {32, 1, 1},
                   .params = params,
                   .count_uninitialised = true};
    if (m && !emu_launch(m, &l, &r, &err)) ok(false, "%s", err.message);
    emu_unmap(kit_emu, params[0]);
    emu_unmap(kit_emu, params[1]);
    if (m) emu_unload(m);
    free(ptx);
    return r;
}

static void faults(void) {
    EmuResult r = outcome("discard.global.L2 [%out+64], 128;");
    is_int(r.status, EMU_MISALIGNED, "half a line is discarded");
    has_str(r.message, "misaligned discard of 128 bytes", "  and told");
    r = outcome("discard.global.L2 [%out+16384], 128;");
    is_int(r.status, EMU_ILLEGAL_ADDRESS, "a line behind the array");
    r = outcome("discard.L2 [%in], 128;");
    is_int(r.status, EMU_ILLEGAL_ADDRESS, "a line that is read-only");
    r = outcome("discard.global.L2 [%out], 128; ld.global.u32 %r, [%out+4];\n"
                "setp.eq.u32 %p0, %r, 0; @%p0 add.u32 %r, %r, 1;");
    ok(r.status == EMU_OK && r.uninitialised_reads > 0, "a branch on what was discarded is told");
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    for (int i = 0; i < KIT_MOST; i++) kit_in[i] = (uint32_t)gi_rng_next(&kit_rng);
    for (int b = 0; b < KIT_COUNT(bodies); b++) {
        KitBody k = {bodies[b].title, NULL, bodies[b].body, GRID, BLOCK, 0};
        for (uint32_t i = 0; i < GRID * BLOCK; i++) kit_want[i] = bodies[b].want(i);
        kit_body(&k);
    }
    faults();
    return kit_end();
}
