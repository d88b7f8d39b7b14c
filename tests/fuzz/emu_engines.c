/* emu_engines.c - a target that holds the engines of the virtual GPU against each other: the same
** PTX gives the same bytes, faults and ticks on each.
**
** What may differ, and nothing else:
**   vectors, lane by lane, compiled  nothing
**   threads                          memory after a fault: a lane whose load failed goes on with
**                                    what its register had from another warp
**   checked                          warnings of reads of what nobody wrote, and their count; of
**                                    races, and faults for them. Once a launch has such a fault, no
**                                    more is compared: it may have ended there. Undefined values
**                                    of shuffles are reported where they matter. A waiting warp is
**                                    reported with the last writer of what it looks at.
**   printed and read again           the numbers of lines, by which faults are counted: what has
**                                    any is not compared
** Compiled code is held against the first one, and two more engines, which the text's hash says. */
#include "world.h"

#include <malloc.h>

static _Noreturn void differ(const Way *way, const char *what, int kernel, const Seen *a,
                             const Seen *b) {
    fprintf(stderr, "%s: other %s (kernel %d)\n  base: %s\n  here: %s\n", way->name, what, kernel,
            a->n > kernel ? a->ran[kernel] ? a->result[kernel].message : a->refused[kernel]
                          : a->err.message,
            b->n > kernel ? b->ran[kernel] ? b->result[kernel].message : b->refused[kernel]
                          : b->err.message);
    abort();
}

/* Findings that only a checked run has. */
static bool is_of_checks(const EmuFinding *f) {
    static const char *const kinds[] = {"race",           "uninitialised_read", "benign_race",
                                        "local_overrun",  "shared_overrun",     "undefined_shuffle",
                                        "undefined_value"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(f->kind, kinds[i]) == 0) return true;
    return false;
}

static bool has_race(const Seen *s) {
    for (int i = 0; i < s->n; i++) {
        if (s->ran[i] && s->result[i].status == EMU_RACE) return true;
        for (int k = 0; s->ran[i] && k < s->result[i].faults.n; k++)
            if (is_of_checks(&s->result[i].faults.at[k])) return true;
    }
    return false;
}

/* Up to what a waiting warp looks at, where they tell it. */
static bool same_message(const char *a, const char *b) {
    const char *looks = strstr(a, ", looks at ");
    return looks ? strncmp(a, b, (size_t)(looks - a)) == 0 : strcmp(a, b) == 0;
}

static bool same_finding(const EmuFinding *a, const EmuFinding *b) {
    return a->kind == b->kind && a->count == b->count && same_message(a->message, b->message);
}

/* Leaves out what is of checks. Where there was no room for all of them, they are not compared. */
static bool same_findings(const EmuFindings *a, const EmuFindings *b) {
    int i = 0, k = 0;
    if (a->n == EMU_FINDINGS || b->n == EMU_FINDINGS) return true;
    for (;; i++, k++) {
        while (i < a->n && is_of_checks(&a->at[i])) i++;
        while (k < b->n && is_of_checks(&b->at[k])) k++;
        if (i >= a->n || k >= b->n) return i >= a->n && k >= b->n;
        if (!same_finding(&a->at[i], &b->at[k])) return false;
    }
}

static const char *other_result(const EmuResult *a, const EmuResult *b) {
    EmuResult x, y;
    if (a->status != b->status || !same_message(a->message, b->message)) return "status";
    if (memcmp(&a->ticks, &b->ticks, sizeof a->ticks) != 0) return "ticks";
    memcpy(&x, a, offsetof(EmuResult, faults)), memcpy(&y, b, offsetof(EmuResult, faults));
    x.uninitialised_reads = y.uninitialised_reads = 0;
    if (memcmp(&x.warp_instructions, &y.warp_instructions,
               offsetof(EmuResult, faults) - offsetof(EmuResult, warp_instructions)) != 0)
        return "counts";
    if (!same_findings(&a->faults, &b->faults)) return "faults";
    if (!same_findings(&a->warnings, &b->warnings)) return "warnings";
    return NULL;
}

static bool same_text(const gi_buf *a, const gi_buf *b) {
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static const char *other_memory(const Seen *a, const Seen *b) {
    if (memcmp(a->buffer, b->buffer, sizeof a->buffer) != 0) return "memory";
    if (memcmp(a->own, b->own, sizeof a->own) != 0) return "memory of its own";
    if (memcmp(a->texels, b->texels, sizeof a->texels) != 0) return "texels";
    if (!same_text(&a->variables, &b->variables)) return "variables";
    if (!same_text(&a->printed, &b->printed)) return "printed text";
    return NULL;
}

static bool has_fault(const Seen *s) {
    for (int i = 0; i < s->n; i++)
        if (s->ran[i] && s->result[i].faults.n) return true;
    return false;
}

static void compare(const Way *way, const Seen *a, const Seen *b) {
    const char *what = NULL;
    int i = 0;
    if (a->is_loaded != b->is_loaded || strcmp(a->err.message, b->err.message) != 0)
        differ(way, "answer to loading", 9, a, b);
    if (way->is_checked && has_race(b)) return;
    for (; what == NULL && i < a->n; i++) {
        if (a->ran[i] != b->ran[i] || strcmp(a->refused[i], b->refused[i]) != 0) what = "refusal";
        else if (a->ran[i]) what = other_result(&a->result[i], &b->result[i]);
    }
    if (what == NULL && !(way->threads && has_fault(a))) what = other_memory(a, b);
    if (what) differ(way, what, i > 0 ? i - 1 : 0, a, b);
}

/* What is printed and read again is the same program. */
static void compare_printed(const char *text, size_t len, const Seen *base) {
    static const Way again = {.name = "printed and read again"};
    static Seen seen;
    gi_buf out = {0};
    PtxModule *m = has_fault(base) ? NULL : ptx_parse(text, len, NULL);
    if (m == NULL) return;
    gi_buf_addf(&out, "// launch %u\n", world_number(text));
    ptx_print(m, &out);
    ptx_free(m);
    world_try(out.data, out.len, &again, &seen);
    const char *what = seen.is_loaded ? other_memory(base, &seen) : "answer to loading";
    for (int i = 0; what == NULL && i < base->n; i++) {
        const EmuResult *a = &base->result[i], *b = &seen.result[i];
        if (base->ran[i] != seen.ran[i]) what = "refusal";
        else if (base->ran[i] && (a->status != b->status || a->ticks != b->ticks)) what = "ticks";
    }
    if (what) differ(&again, what, 0, base, &seen);
    gi_buf_free(&out);
}

/* What nobody wrote is another byte for each engine. */
static void other_garbage(int turn) {
    mallopt(M_PERTURB, 1 + turn * 0x55 % 255);
}

/* Holds one engine against the first. `base` is what that left behind with the usual budget. */
static void hold(const char *text, size_t size, const Way *way, const Seen *base) {
    static Seen seen, with_budget;
    Way first = world_ways[0];
    first.budget = way->budget;
    if (way->budget) world_try(text, size, &first, &with_budget);
    world_try(text, size, way, &seen);
    compare(way, way->budget ? &with_budget : base, &seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Seen base;
    char *text = gi_alloc(size + 1);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    uint64_t hash = gi_hash(text, size, 0);
    other_garbage(0);
    world_try(text, size, &world_ways[0], &base);
    hold(text, size, &world_ways[WORLD_COMPILED], &base);
    for (int k = 0; k < 2; k++, hash >>= 8) {
        int which = 1 + (int)(hash % WORLD_WAYS);
        other_garbage(which);
        if (which == WORLD_WAYS) {
            if (base.is_loaded) compare_printed(text, size, &base);
            continue;
        }
        hold(text, size, &world_ways[which], &base);
    }
    free(text);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    world_seeds(add);
}
