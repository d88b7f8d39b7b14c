/* target.c - see target.h. Which version of LLVM knows what: llvm/lib/Target/NVPTX/NVPTX.td. */
#include "llvm/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/library.h"

static const struct {
    int sm;
    unsigned since; /* of LLVM */
    const char *features;
} known[] = {
    {75, 19, "+ptx83"},  {80, 19, "+ptx83"},  {86, 19, "+ptx83"},  {87, 19, "+ptx83"},
    {89, 19, "+ptx83"},  {90, 19, "+ptx83"},  {100, 20, "+ptx86"}, {101, 21, "+ptx86"},
    {103, 21, "+ptx88"}, {120, 20, "+ptx87"}, {121, 21, "+ptx88"},
};

bool llvm_goal(const Llvm *l, const char *target, LlvmGoal *out, gi_err *err) {
    if (strcmp(target, "ptx") == 0) target = "compute_80";
    const char *number = strchr(target, '_');
    char *end = NULL;
    long sm = number ? strtol(number + 1, &end, 10) : 0;
    bool own = end && strcmp(end, "a") == 0 && sm >= 90;
    for (size_t i = 0; i < sizeof known / sizeof *known && end && (*end == '\0' || own); i++) {
        if (known[i].sm != sm || l->major < known[i].since) continue;
        snprintf(out->cpu, sizeof out->cpu, "sm_%ld%s", sm, own ? "a" : "");
        out->features = known[i].features;
        return true;
    }
    return gi_fail(err, "usage",
                   "LLVM %u is not known to make PTX for the target '%s': another GPU, or "
                   "compiler=nvrtc, does",
                   l->major, target);
}
