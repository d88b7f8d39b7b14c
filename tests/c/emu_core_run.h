/* emu_core_run.h - a few lines around the virtual GPU for its own tests: load PTX text, map one
** buffer, run one kernel, look at the result. */
#ifndef GILUA_TESTS_EMU_CORE_RUN_H
#define GILUA_TESTS_EMU_CORE_RUN_H

#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu_model.h"
#include "tap.h"

#define RUN __attribute__((unused)) static

/* What every test's PTX begins with. */
#define PTX_HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* Kernel k(u32 *out): %rd1 = out + 4 * global thread, %r1 = global thread, %r2 = tid. */
#define PTX_KERNEL                                                                             \
    ".visible .entry k(.param .u64 out) {\n"                                                   \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %rd<20>;\n" \
    "ld.param.u64 %rd0, [out]; cvta.to.global.u64 %rd0, %rd0;\n"                               \
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"                      \
    "mad.lo.s32 %r1, %r3, %r4, %r2; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd0, %rd2;\n"
#define PTX_END "ret; }\n"

typedef struct Run {
    EmuModel model;
    EmuLaunch launch;
    EmuResult result;
    gi_err err;
    bool loaded;
} Run;

RUN Run run_new(unsigned grid, unsigned block) {
    Run r = {.model = emu_model_round()};
    r.launch = (EmuLaunch){.kernel = "k", .grid = {grid, 1, 1}, .block = {block, 1, 1}};
    return r;
}

/* Runs kernel k of the text over `bytes` of data. False when it does not load. */
RUN bool run_text(Run *r, const char *ptx, void *data, size_t bytes) {
    Emu *e = emu_new(&r->model);
    uint64_t out = emu_map(e, data, bytes, false, "out");
    EmuModule *m = emu_load(e, ptx, strlen(ptx), &r->err);
    memset(&r->result, 0, sizeof r->result);
    r->loaded = m != NULL;
    if (m) {
        uint64_t params[8] = {out};
        if (r->launch.params == NULL) r->launch.params = params;
        if (!emu_launch(m, &r->launch, &r->result, &r->err)) r->loaded = false;
        if (r->launch.params == params) r->launch.params = NULL;
    }
    emu_unload(m);
    emu_free(e);
    return r->loaded;
}

/* The body of k, over data; one test line that it ran well. */
RUN bool run_body(Run *r, const char *body, void *data, size_t bytes, const char *what) {
    char *text = malloc(strlen(body) + 4096);
    sprintf(text, "%s%s%s%s", PTX_HEAD, PTX_KERNEL, body, PTX_END);
    bool fine = run_text(r, text, data, bytes);
    free(text);
    if (!fine) return ok(false, "%s: %s", what, r->err.message);
    return ok(r->result.status == EMU_OK, "%s %s", what, r->result.message);
}

#endif
