/* emu_launch.c - a target for the virtual GPU: whatever PTX says, it is refused in a sentence, or
** runs to its end or to a fault, and touches no memory but its own. The input chooses the engine
** and what is checked (world.h); under the thread sanitizer, blocks run on several threads. */
#include "world.h"

static const Way *way_of(uint32_t n) {
#ifdef __SANITIZE_THREAD__
    return &world_ways[n & 1 << 18 ? 4 : 7];
#else
    return &world_ways[(n >> 18) % WORLD_WAYS];
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Seen seen;
    char *text = gi_alloc(size + 1);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    world_try(text, size, way_of(world_number(text)), &seen);
    gi_buf_free(&seen.variables);
    gi_buf_free(&seen.printed);
    free(text);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    world_seeds(add);
}
