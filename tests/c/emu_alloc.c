/* emu_alloc.c - memory as programs use it: who has an address, who had it and who freed it; memory
** at addresses of the host; memory of the emulator's own. */
#include <sys/mman.h>

#include "emu_core_run.h"

typedef struct Gpu {
    Emu *emu;
    EmuModule *module;
    EmuResult result;
    gi_err err;
} Gpu;

/* put(at, value) stores a word; sum(out, at) stores out = word at `at` + 1, with all 32 lanes. */
static const char text[] = PTX_HEAD
    ".visible .global .u32 variable;\n"
    ".visible .entry put(.param .u64 at, .param .u32 value) {\n"
    ".reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [at]; ld.param.u32 %v, [value];\n"
    "st.global.u32 [%d], %v; ret; }\n"
    ".visible .entry copy(.param .u64 to, .param .u64 from) {\n"
    ".reg .b64 %t, %f, %o; .reg .b32 %v, %i; ld.param.u64 %t, [to]; ld.param.u64 %f, [from];\n"
    "mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.s64 %t, %t, %o; add.s64 %f, %f, %o;\n"
    "ld.global.u32 %v, [%f]; add.u32 %v, %v, 1; st.global.u32 [%t], %v; ret; }\n"
    ".visible .entry four(.param .u64 at) {\n"
    ".reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [at];\n"
    "ld.global.v4.u32 {%v, %v, %v, %v}, [%d]; ret; }\n"
    ".visible .entry bump(.param .u64 at) {\n"
    ".reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [at]; atom.global.add.u32 %v, [%d], 1; ret; }\n";

static Gpu gpu_new(void) {
    EmuModel model = emu_model_round();
    Gpu g = {.emu = emu_new(&model)};
    g.module = emu_load(g.emu, text, strlen(text), &g.err);
    if (g.module == NULL) ok(false, "loads: %s", g.err.message);
    return g;
}

static void gpu_free(Gpu *g) {
    emu_unload(g->module);
    emu_free(g->emu);
}

static EmuStatus launch(Gpu *g, const char *kernel, unsigned threads, uint64_t a, uint64_t b) {
    uint64_t params[2] = {a, b};
    EmuLaunch l = {.kernel = kernel, .grid = {1, 1, 1}, .block = {threads, 1, 1}, .params = params};
    l.count_uninitialised = strcmp(kernel, "copy") == 0 && threads == 3;
    if (!emu_launch(g->module, &l, &g->result, &g->err)) ok(false, "%s", g->err.message);
    return g->result.status;
}

/* --- what is freed --- */

static void freed(void) {
    Gpu g = gpu_new();
    uint64_t a = emu_alloc(g.emu, 400, "a", &g.err), b = emu_alloc(g.emu, 40, "b", &g.err);
    uint32_t *words = emu_bytes(g.emu, a, 400, &g.err);
    is_int(launch(&g, "put", 1, a + 12, 7), EMU_OK, "memory of the emulator's own can be written");
    is_int(words && words[3] == 7 && words[4] == 0, 1, "and looked at; it began as zeros");
    ok(emu_release(g.emu, a, "cudaFree at main.cu:12", &g.err), "it is freed");
    is_int(launch(&g, "put", 1, a + 4, 7), EMU_ILLEGAL_ADDRESS, "a use after that is a fault");
    has_str(g.result.message,
            "use-after-free write of 4 bytes in global memory at byte 4 of 'a' (400 bytes, freed "
            "by cudaFree at main.cu:12)",
            "whose memory it was, and who freed it");
    is_int(launch(&g, "bump", 1, a, 0), EMU_ILLEGAL_ADDRESS, "so is an atomic");
    has_str(g.result.message, "use-after-free", "  in the same words");
    ok(!emu_release(g.emu, a, "cudaFree at main.cu:20", &g.err), "it cannot be freed again");
    is_str(g.err.message,
           "cudaFree at main.cu:20 frees a second time: byte 0 of 'a' (400 bytes), which cudaFree "
           "at main.cu:12 freed",
           "  both are named");
    ok(!emu_bytes(g.emu, a, 4, &g.err), "nor copied from");
    has_str(g.err.message, "which cudaFree at main.cu:12 freed", "  and that is said");
    EmuAllocation found;
    ok(emu_find(g.emu, a + 8, &found) && !found.is_live, "its address is still known");
    is_str(found.freed_by, "cudaFree at main.cu:12", "  with who freed it");
    is_int(launch(&g, "put", 1, b, 7), EMU_OK, "its neighbour is as it was");
    emu_release(g.emu, b, NULL, &g.err);
    is_int(launch(&g, "put", 1, b, 7), EMU_ILLEGAL_ADDRESS, "nobody who gave a name freed this");
    has_str(g.result.message, "byte 0 of 'b' (40 bytes, freed)", "  and that is said");
    gpu_free(&g);
}

static void cannot_free(Emu *e, uint64_t address, const char *words) {
    gi_err err = {.message = ""};
    ok(!emu_release(e, address, "cudaFree", &err) && strcmp(err.code, "usage") == 0, "not freed");
    has_str(err.message, words, "  and why");
}

static void not_freed(void) {
    Gpu g = gpu_new();
    uint64_t a = emu_alloc(g.emu, 400, "a", &g.err), address;
    cannot_free(g.emu, a + 16, "cudaFree frees inside of an allocation: byte 16 of 'a'");
    cannot_free(g.emu, 0x12345, "frees a pointer that was never allocated: address 0x12345");
    cannot_free(g.emu, a + ((uint64_t)9 << 40), "never allocated");
    emu_symbol(g.module, "variable", NULL, &address);
    cannot_free(g.emu, address, "frees a variable of a module: byte 0 of 'variable'");
    ok(emu_bytes(g.emu, a + 396, 4, &g.err) && emu_bytes(g.emu, a + 400, 0, &g.err),
       "up to its last byte it can be looked at");
    ok(!emu_bytes(g.emu, a + 396, 5, &g.err), "and no further");
    is_str(g.err.message, "5 bytes are not there: byte 396 of 'a' (400 bytes)", "  which is said");
    ok(emu_alloc(g.emu, (size_t)1 << 62, "all", &g.err) == 0 && !strcmp(g.err.code, "nomem"),
       "more memory than there is cannot be had");
    gpu_free(&g);
}

/* Addresses come in one order, and one that was freed not at once again. */
static void rest(void) {
    Gpu g = gpu_new(), h = gpu_new();
    uint64_t first = emu_alloc(g.emu, 4, "first", &g.err), last = 0;
    bool same = emu_alloc(h.emu, 4, "first", &h.err) == first, again = false;
    emu_release(g.emu, first, NULL, &g.err), emu_release(h.emu, first, NULL, &h.err);
    for (int i = 0; i < 60000; i++) {
        uint64_t a = emu_alloc(g.emu, 4, "x", &g.err), b = emu_alloc(h.emu, 400, "y", &h.err);
        same = same && a == b;
        again = again || a == first;
        emu_release(g.emu, a, NULL, &g.err), emu_release(h.emu, b, NULL, &h.err);
    }
    ok(same, "equal calls have equal addresses");
    ok(!again, "an address rests while 60000 others are freed");
    for (int i = 0; i < 20000 && last != first; i++)
        emu_release(g.emu, last = emu_alloc(g.emu, 4, "z", &g.err), NULL, &g.err);
    ok(last == first, "and comes again when it was the longest");
    EmuAllocation found;
    ok(emu_find(g.emu, first, &found), "it is known");
    is_str(found.label, "z", "  by its new name");
    gpu_free(&g), gpu_free(&h);
}

static void leaks(void) {
    Gpu g = gpu_new();
    uint64_t a = emu_alloc(g.emu, 1, "a", &g.err), b = emu_alloc(g.emu, 2, "b", &g.err);
    uint64_t c = emu_alloc(g.emu, 3, "c", &g.err);
    emu_release(g.emu, a, NULL, &g.err);
    int n;
    EmuAllocation *all = emu_allocations(g.emu, &n);
    is_int(n, 3, "what lives: a variable and two allocations");
    ok(n == 3 && all[0].is_variable && all[1].address == b && all[2].address == c,
       "the oldest first");
    free(all);
    gpu_free(&g);
}

/* --- memory at addresses of the host --- */

static uint8_t *host_memory(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static uint64_t address_of(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

static void windows(void) {
    Gpu g = gpu_new();
    uint8_t *m = host_memory(1 << 16), *at = m + 4096;
    uint64_t a = address_of(at);
    ok(emu_map_at(g.emu, a, at, 128, false, "node", &g.err), "memory where it is %s",
       g.err.message);
    ok(emu_map_at(g.emu, a + 128, at + 128, 40, false, "next", &g.err), "more beside it");
    ok(emu_map_at(g.emu, a - 64, at - 64, 64, true, "before", &g.err), "and before");
    ok(!emu_map_at(g.emu, a + 100, at, 8, false, "over", &g.err), "but not over it");
    has_str(g.err.message, "is taken: 'node' has 128 bytes", "  who is there is told");
    ok(!emu_map_at(g.emu, (uint64_t)1 << 50, at, 8, false, "far", &g.err), "nor anywhere else");
    for (int i = 0; i < 32; i++) ((uint32_t *)(void *)at)[i] = (uint32_t)i;
    is_int(launch(&g, "copy", 10, a + 128, a), EMU_OK, "kernels read and write there");
    is_int(((uint32_t *)(void *)at)[32 + 9], 10, "the host's memory");
    is_int(launch(&g, "copy", 11, a + 128, a), EMU_ILLEGAL_ADDRESS, "one thread too many");
    has_str(g.result.message, "thread (10,0,0)", "  which");
    has_str(g.result.message, "byte 40 of 'next' (40 bytes)", "  where");
    is_int(launch(&g, "put", 1, a - 4, 1), EMU_ILLEGAL_ADDRESS, "a read-only one is not written");
    is_int(launch(&g, "put", 1, a - 68, 1), EMU_ILLEGAL_ADDRESS, "nor is what lies before");
    has_str(g.result.message, "4 bytes before 'before' (64 bytes)", "  it is named");
    is_int(launch(&g, "put", 1, address_of(m) + 60000, 1), EMU_ILLEGAL_ADDRESS,
           "memory of the host that was not mapped");
    has_str(g.result.message, "no allocation, perhaps memory of the host", "  is taken for that");
    is_int(launch(&g, "bump", 7, a, 0), EMU_OK, "atomics");
    is_int(((uint32_t *)(void *)at)[0], 7, "count");
    ok(emu_bytes(g.emu, a + 8, 8, &g.err) == at + 8, "the host's view is the address");
    ok(emu_release(g.emu, a, "cudaFree", &g.err), "it is freed");
    is_int(launch(&g, "put", 1, a + 8, 1), EMU_ILLEGAL_ADDRESS, "and then not used");
    has_str(g.result.message, "use-after-free", "  whose memory it was is known");
    cannot_free(g.emu, a, "cudaFree frees a second time: byte 0 of 'node'");
    ok(emu_map_at(g.emu, a + 64, at + 64, 64, false, "new", &g.err), "others may come there");
    is_int(launch(&g, "put", 1, a + 64, 1), EMU_OK, "and be used");
    gpu_free(&g);
    munmap(m, 1 << 16);
}

/* Where memory lies says what is aligned, and nothing about time. */
static void places(void) {
    Gpu g = gpu_new();
    uint8_t *m = host_memory(1 << 16);
    uint64_t a = address_of(m) + 8, to = emu_alloc(g.emu, 128, "to", &g.err);
    emu_map_at(g.emu, a, m + 8, 128, false, "eight", &g.err);
    is_int(launch(&g, "four", 1, a, 0), EMU_MISALIGNED, "16 bytes at an address of 8");
    is_int(launch(&g, "four", 1, a + 8, 0), EMU_OK, "and of 16, inside of that");
    launch(&g, "copy", 32, to, a);
    double here = g.result.ticks;
    uint64_t sectors = g.result.global_sectors;
    uint64_t b = address_of(m) + 32768 + 8;
    emu_map_at(g.emu, b, m + 32776, 128, false, "elsewhere", &g.err);
    launch(&g, "copy", 32, to, b);
    ok(g.result.ticks == here, "equal launches take equal ticks, wherever memory lies");
    is_int(sectors, 9, "a line that begins in the middle of a sector touches one more");
    gpu_free(&g);
    munmap(m, 1 << 16);
}

/* --- what nobody has written --- */

static void unwritten(void) {
    Gpu g = gpu_new();
    uint64_t a = emu_alloc(g.emu, 256, "a", &g.err), to = emu_alloc(g.emu, 128, "to", &g.err);
    emu_unwritten(g.emu, a);
    launch(&g, "copy", 3, to, a);
    is_int(g.result.uninitialised_reads, 3, "words that nobody wrote are told of");
    emu_unwritten(g.emu, a);
    emu_wrote(g.emu, a + 3, 5);
    launch(&g, "copy", 3, to, a);
    is_int(g.result.uninitialised_reads, 2, "but for what the host wrote");
    emu_unwritten(g.emu, a);
    emu_wrote(g.emu, a, 133);
    launch(&g, "copy", 3, to, a + 124);
    is_int(g.result.uninitialised_reads, 1, "up to the last whole word");
    has_str(g.result.warnings.at[0].message, "at byte 132 of 'a'", "  which is told");
    gpu_free(&g);
}

/* The next allocation where a later one would be. */
static void left_out(void) {
    Gpu g = gpu_new();
    uint64_t first = emu_alloc(g.emu, 8, "first", NULL), row = (uint64_t)1 << 40;
    ok(emu_leave_out(g.emu, first + 5 * row), "four rows are left out");
    ok(emu_alloc(g.emu, 8, "later", NULL) == first + 5 * row, "the next is behind them");
    ok(!emu_find(g.emu, first + 2 * row, NULL), "there is nothing in them");
    ok(!emu_leave_out(g.emu, first + row), "one that was there cannot come again");
    ok(!emu_leave_out(g.emu, first + 65539 * row), "nor one so far that rows come again first");
    ok(emu_alloc(g.emu, 8, "last", NULL) == first + 6 * row, "and then nothing was done");
    gpu_free(&g);
}

int main(void) {
    left_out();
    freed();
    not_freed();
    rest();
    leaks();
    windows();
    places();
    unwritten();
    return tap_done();
}
