/* profiled.c - see profiled.h. */
#include "runtime/profiled.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/module.h"
#include "runtime/runtime.h"

static EmuProfile *profile;

EmuProfile *profiled(void) {
    if (profile == NULL && runtime.config.profile) profile = emu_profile_new();
    return profile;
}

static void write_kernel(FILE *out, const EmuProfiled *k) {
    char *shown = module_demangled(k->name);
    fprintf(out, "kernel\t%" PRIu64 "\t%.17g\t%.17g\t%.17g\t%.17g\t%d\t%zu\t%.17g\t%s\t%s\t%s\n",
            k->launches, k->ticks, k->work.part_issue, k->work.part_latency, k->work.part_memory,
            k->registers, k->shared_bytes, k->occupancy, k->limiter, shown, k->file);
    free(shown);
    for (int i = 0; i < k->n_lines; i++) {
        const EmuLineCost *l = &k->line[i];
        if (l->instructions == 0) continue;
        fprintf(out,
                "line\t%d\t%" PRIu64 "\t%" PRIu64 "\t%.17g\t%.17g\t%.17g\t%.17g\t%" PRIu64
                "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                l->number, l->instructions, l->threads, l->slots, l->dependence, l->memory,
                l->barrier, l->requests, l->sectors, l->shared, l->conflicts);
    }
}

void profiled_end(void) {
    char path[600];
    if (profile == NULL) return;
    snprintf(path, sizeof path, "%s/%d.profile", runtime.config.folder, (int)getpid());
    FILE *out = fopen(path, "w");
    for (int i = 0; out && i < emu_profile_kernels(profile); i++)
        write_kernel(out, emu_profile_kernel(profile, i));
    if (out == NULL || fclose(out) != 0) say("the profile cannot be written to %s", path);
    emu_profile_free(profile);
    profile = NULL;
}
