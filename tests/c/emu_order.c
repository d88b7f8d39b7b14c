/* What the race check takes to be in order (src/emu/check/order.c): barriers, bar.warp.syncs, and
** fences with a strong write that another thread reads. Each test tells blocks step by step what
** happens, and then asks which accesses are over. */
#include "emu/check/shadow.h"
#include "tap.h"

enum { KEY = 64, OTHER_KEY = 128, BLOCKS = 6 };

static BlockOrder block[BLOCKS];
static Handovers places;

static unsigned cluster[3] = {1, 1, 1};

static void open_block(uint32_t i) {
    static const unsigned grid[3] = {BLOCKS, 1, 1};
    order_begin(&block[i], i, grid, cluster);
}

static void begin(void) {
    handovers_free(&places);
    places = (Handovers){0};
    for (uint32_t i = 0; i < BLOCKS; i++) open_block(i);
}

/* An access of a thread at a time, in the block's epoch as it is now. */
static Touch touch(int at, int thread, uint64_t time) {
    const BlockOrder *b = &block[at];
    return (Touch){.time = time,
                   .block = b->block,
                   .epoch = b->epoch,
                   .lane_epoch = b->met[thread / LANES][thread % LANES][thread % LANES] + 1,
                   .thread = (uint16_t)thread};
}

static void fence(int at, int thread, uint64_t time, Scope scope) {
    order_release(&block[at], thread, time, scope);
    order_acquire(&block[at], thread, scope);
}

/* A thread writes a flag by an atomic; another block's thread 0 reads it, and fences. */
static void give(int from, int thread, uint64_t key) {
    order_give(&block[from], &places, key, thread, FENCE_GPU, false);
}
static void look(int to, int thread, uint64_t key) {
    order_take(&block[to], &places, key, thread, FENCE_GPU, true);
}
static void take(int to, uint64_t key) {
    look(to, 0, key);
    order_acquire(&block[to], 0, FENCE_GPU);
}

static void over(int at, int thread, Touch then, bool want, const char *what) {
    is_int(order_is_over(&block[at], &then, thread, false), want, what);
}

static void test_block(void) {
    begin();
    Touch early = touch(0, 0, 5);
    over(0, 0, early, true, "an access of one's own");
    over(0, 1, early, false, "one of another lane");
    over(0, 40, early, false, "one of another warp");
    over(1, 0, early, false, "one of another block, by the thread of the same number");
    order_barrier(&block[0]);
    over(0, 40, early, true, "one before a barrier");
    over(0, 40, touch(0, 0, 6), false, "one behind it");
}

static void test_warp(void) {
    begin();
    Touch zero = touch(0, 0, 5), seventh = touch(0, 7, 5);
    order_warp_sync(&block[0], 0, 1u << 0 | 1u << 1);
    over(0, 1, zero, true, "one of a lane that was met in a bar.warp.sync");
    over(0, 2, zero, false, "one of a lane that was not met");
    over(0, 33, zero, false, "one of a lane of another warp, whose number is the met one's");
    over(0, 1, touch(0, 0, 6), false, "one behind the bar.warp.sync");
    order_warp_sync(&block[0], 0, 1u << 1 | 1u << 2);
    over(0, 2, zero, true, "one that comes by a chain of two bar.warp.syncs");
    order_warp_sync(&block[0], 0, 1u << 7);
    over(0, 2, seventh, false, "one of a lane that synchronised alone");
    order_warp_sync(&block[0], 0, 0xffffffffu);
    over(0, 31, seventh, true, "one before a bar.warp.sync of the whole warp");
}

static void test_fence(void) {
    begin();
    Touch before = touch(0, 3, 5), other = touch(0, 4, 5), behind = touch(0, 3, 7);
    give(0, 3, KEY);
    take(1, KEY);
    over(1, 0, before, false, "a flag without a fence hands nothing over");
    fence(0, 3, 6, FENCE_GPU);
    take(1, KEY);
    over(1, 0, before, false, "nor one that was written before the fence");
    give(0, 3, KEY);
    over(1, 0, before, false, "nor one that is not read");
    take(1, OTHER_KEY);
    over(1, 0, before, false, "nor one at another place");
    take(1, KEY);
    over(1, 0, before, true, "a fence and a flag hand over what came before the fence");
    over(1, 0, touch(0, 3, 6), true, "  up to its very time");
    over(1, 0, behind, false, "  not what came behind it");
    over(1, 0, other, false, "  nor what another lane did");
    over(1, 0, touch(0, 35, 5), false, "  nor a lane of another warp");
    over(1, 0, touch(2, 3, 5), false, "  nor a thread of another block");
    over(2, 0, before, false, "  and to the block that read it alone");
    open_block(1);
    over(1, 0, before, false, "a new block has taken nothing");
}

static void test_scope(void) {
    begin();
    Touch before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_BLOCK);
    give(0, 3, KEY);
    take(1, KEY);
    over(1, 0, before, false, "a fence for the block counts for no other block");
    over(0, 70, before, false, "nor for this one before the flag is read");
    take(0, KEY);
    over(0, 0, before, true, "it counts in the block");
    over(0, 70, before, false, "  for the thread that read the flag");
    order_barrier(&block[0]);
    begin();
    before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    take(0, KEY);
    over(0, 0, before, true, "one for the GPU counts in the block too");
    begin();
    before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    look(1, 0, KEY);
    order_acquire(&block[1], 0, FENCE_BLOCK);
    over(1, 0, before, false, "a reader's fence for its block takes nothing of another");
    order_acquire(&block[1], 0, FENCE_GPU);
    over(1, 0, before, true, "one for the GPU behind it does");
    begin();
    before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    order_give(&block[0], &places, KEY, 3, FENCE_BLOCK, false);
    take(1, KEY);
    over(1, 0, before, false, "a flag of the block's scope hands nothing to another block");
}

/* A thread's work, fence and flag in one scope, and another block's read and fence in another. */
static bool handed(int to, Scope from, Scope in) {
    begin();
    Touch before = touch(0, 3, 5);
    fence(0, 3, 6, from);
    order_give(&block[0], &places, KEY, 3, from, false);
    order_take(&block[to], &places, KEY, 0, in, true);
    order_acquire(&block[to], 0, in);
    return order_is_over(&block[to], &before, 0, false);
}

static void test_cluster(void) {
    cluster[0] = 2;
    begin();
    is_int(order_scope(&block[2], 2), FENCE_BLOCK, "a block itself");
    is_int(order_scope(&block[2], 3), FENCE_CLUSTER, "a block of its cluster");
    is_int(order_scope(&block[2], 1), FENCE_GPU, "the block before it, of another cluster");
    is_int(handed(1, FENCE_CLUSTER, FENCE_CLUSTER), true, "the cluster's scope holds inside it");
    is_int(handed(1, FENCE_GPU, FENCE_CLUSTER), true, "  for what is given to the GPU, too");
    is_int(handed(1, FENCE_CLUSTER, FENCE_GPU), true, "  and for a reader of the GPU's");
    is_int(handed(1, FENCE_BLOCK, FENCE_CLUSTER), false, "  not for what is given to a block");
    is_int(handed(1, FENCE_CLUSTER, FENCE_BLOCK), false, "  nor for a reader of the block's");
    is_int(handed(2, FENCE_CLUSTER, FENCE_CLUSTER), false, "it ends where the cluster does");
    is_int(handed(2, FENCE_CLUSTER, FENCE_GPU), false, "  whatever the reader's scope is");
    is_int(handed(2, FENCE_GPU, FENCE_CLUSTER), false, "  or the giver's");
    is_int(handed(2, FENCE_GPU, FENCE_GPU), true, "the GPU's goes on");
    cluster[0] = 1;
    is_int(handed(1, FENCE_CLUSTER, FENCE_CLUSTER), false, "a launch without clusters has none");
}

static void test_fence_and_lanes(void) {
    begin();
    Touch met = touch(0, 4, 5);
    order_warp_sync(&block[0], 0, 1u << 3 | 1u << 4);
    order_warp_sync(&block[0], 0, 1u << 3 | 1u << 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    take(1, KEY);
    over(1, 0, met, true, "a fence is behind what its lane's met ones did");
    over(1, 0, touch(0, 6, 5), false, "  not behind a lane that it did not meet");
    begin();
    order_warp_sync(&block[0], 0, 1u << 3 | 1u << 4);
    order_barrier(&block[0]);
    met = touch(0, 4, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    take(1, KEY);
    over(1, 0, met, false, "who was met before a barrier was not met behind it");
}

static void test_fence_and_barrier(void) {
    begin();
    Touch first = touch(0, 9, 5), own = touch(0, 0, 5);
    fence(0, 0, 6, FENCE_GPU);
    order_barrier(&block[0]);
    Touch second = touch(0, 0, 8);
    give(0, 9, KEY);
    take(1, KEY);
    over(1, 0, first, false, "a fence before a barrier does not cover what others did");
    over(1, 0, own, true, "  but what its own thread did, whoever writes the flag behind it");
    over(1, 0, second, false, "  and not what that did behind the fence");
    order_barrier(&block[0]);
    give(0, 0, KEY);
    take(1, KEY);
    over(1, 0, second, false, "  nor behind a second barrier without a fence");
    begin();
    first = touch(0, 40, 5);
    for (int i = 0; i < 64; i++) fence(0, i, 6, FENCE_GPU);
    order_barrier(&block[0]);
    give(0, 0, KEY);
    take(1, KEY);
    over(1, 0, first, true, "fences of all before a barrier cover what all did");
    over(1, 0, touch(0, 40, 7), false, "  not what they did behind it");
    begin();
    first = touch(0, 9, 5);
    order_barrier(&block[0]);
    Touch others = touch(0, 9, 6);
    fence(0, 0, 7, FENCE_GPU);
    give(0, 0, KEY);
    take(1, KEY);
    over(1, 0, first, true, "a fence behind a barrier covers all before the barrier");
    over(1, 0, others, false, "  not what others did behind it");
    begin();
    first = touch(0, 0, 5);
    fence(0, 0, 6, FENCE_BLOCK);
    order_barrier(&block[0]);
    give(0, 0, KEY);
    take(1, KEY);
    over(1, 0, first, false, "one for the block before a barrier counts for no other block");
}

/* Who reads a flag knows nothing until its thread has fenced; barriers pass on what it knows. */
static void test_acquire(void) {
    begin();
    Touch before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    look(1, 5, KEY);
    over(1, 5, before, false, "a flag that is read without a fence behind it");
    order_acquire(&block[1], 6, FENCE_GPU);
    over(1, 6, before, false, "  with the fence of another thread");
    order_acquire(&block[1], 5, FENCE_GPU);
    over(1, 5, before, true, "  with its own");
    over(1, 6, before, false, "another lane does not know");
    order_warp_sync(&block[1], 0, 1u << 5 | 1u << 6);
    over(1, 6, before, true, "  until they met");
    over(1, 40, before, false, "nor another warp");
    order_barrier(&block[1]);
    over(1, 40, before, true, "  until a barrier");
    begin();
    before = touch(0, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    look(1, 5, KEY);
    order_barrier(&block[1]);
    over(1, 9, before, true, "a barrier behind the read stands for a fence");
}

/* A store replaces what a place hands over, an atomic adds to it. */
static void test_replace(void) {
    begin();
    Touch first = touch(0, 3, 5), second = touch(2, 3, 5);
    fence(0, 3, 6, FENCE_GPU);
    give(0, 3, KEY);
    fence(2, 3, 6, FENCE_GPU);
    give(2, 3, KEY);
    take(1, KEY);
    over(1, 0, first, true, "behind an atomic the first release is there");
    over(1, 0, second, true, "  and its own");
    order_give(&block[4], &places, KEY, 0, FENCE_GPU, true);
    take(3, KEY);
    over(3, 0, first, false, "behind a store of a thread that released nothing neither is");
    over(3, 0, second, false, "  neither");
}

static void test_two_warps(void) {
    begin();
    Touch first = touch(0, 3, 5), second = touch(0, 40, 7);
    fence(0, 3, 6, FENCE_GPU);
    fence(0, 40, 8, FENCE_GPU);
    give(0, 3, KEY);
    give(0, 40, KEY);
    take(1, KEY);
    over(1, 0, first, true, "two warps of a block hand over at one place");
    over(1, 0, second, true, "  both");
    over(1, 0, touch(0, 40, 9), false, "  not what comes behind both fences");
    begin();
    first = touch(0, 3, 9);
    fence(0, 3, 10, FENCE_GPU);
    give(0, 3, KEY);
    fence(0, 4, 4, FENCE_GPU);
    give(0, 4, KEY);
    take(1, KEY);
    over(1, 0, first, true, "the later of two fences counts, whichever writes first");
    over(1, 0, touch(0, 4, 3), true, "  and both lanes of the warp");
    over(1, 0, touch(0, 35, 3), false, "  not those of another warp");
    fence(0, 40, 1, FENCE_GPU);
    give(0, 40, KEY);
    take(1, KEY);
    over(1, 0, touch(0, 40, 1), true, "  which come in with a fence at the very first time");
    begin();
    fence(0, 9, 4, FENCE_GPU);
    order_barrier(&block[0]);
    fence(0, 3, 10, FENCE_GPU);
    give(0, 3, KEY);
    give(0, 40, KEY);
    take(1, KEY);
    over(1, 0, touch(0, 3, 9), true, "a lane's fence counts beside a flag of a warp without one");
    over(1, 0, touch(0, 70, 9), false, "  for its own warp alone");
}

/* Blocks 4, 1, 3, 0 hand over to block 2, in that order: its list is sorted by block. */
static void test_many_blocks(void) {
    static const int order[] = {4, 1, 3, 0};
    begin();
    for (int i = 0; i < 4; i++) {
        fence(order[i], 0, 10 + (uint64_t)order[i], FENCE_GPU);
        give(order[i], 0, KEY + 4 * (uint64_t)i);
        take(2, KEY + 4 * (uint64_t)i);
    }
    for (int i = 0; i < 4; i++) {
        over(2, 0, touch(order[i], 0, 10 + (uint64_t)order[i]), true, "of each of several blocks");
        over(2, 0, touch(order[i], 0, 11 + (uint64_t)order[i]), false, "  up to its own fence");
    }
    over(2, 0, touch(5, 0, 1), false, "  and of no block that handed nothing over");
    give(2, 0, OTHER_KEY);
    take(5, OTHER_KEY);
    over(5, 0, touch(3, 0, 13), true, "what was taken over is handed on, without a fence");
    over(5, 0, touch(2, 0, 1), false, "  not what the one between did itself");
}

/* More places than the table has at first: each hands on its own alone. */
static void test_many_places(void) {
    enum { MANY = 300 };
    int wrong = 0;
    begin();
    for (uint64_t i = 1; i <= MANY; i++) {
        open_block(0);
        fence(0, 0, i, FENCE_GPU);
        give(0, 0, 4 * i);
        take(2, 2); /* where nothing was written, however full the table is */
    }
    for (uint64_t i = 1; i <= MANY; i++) {
        open_block(1);
        take(1, 4 * i);
        Touch last = touch(0, 0, i), next = touch(0, 0, i + 1);
        wrong +=
            !order_is_over(&block[1], &last, 0, false) + order_is_over(&block[1], &next, 0, false);
    }
    is_int(wrong, 0, "300 places hand over what came before the fence of each");
    open_block(1);
    take(1, 2);
    over(1, 0, touch(0, 0, 1), false, "a place where nothing was written hands nothing over");
}

/* A block that begins where another one ended keeps none of its fences. */
static void test_again(void) {
    begin();
    fence(0, 3, 6, FENCE_GPU);
    order_barrier(&block[0]);
    open_block(0);
    is_int(block[0].epoch, 0, "a block that begins has passed no barrier");
    Touch before = touch(0, 3, 5);
    give(0, 3, KEY);
    take(1, KEY);
    over(1, 0, before, false, "and has no fence");
    order_warp_sync(&block[0], 0, 3);
    open_block(0);
    fence(0, 0, 6, FENCE_GPU);
    give(0, 0, KEY);
    take(1, KEY);
    over(1, 0, touch(0, 1, 5), false, "and met nobody");
}

int main(void) {
    test_block();
    test_warp();
    test_fence();
    test_scope();
    test_cluster();
    test_fence_and_lanes();
    test_fence_and_barrier();
    test_acquire();
    test_replace();
    test_two_warps();
    test_many_blocks();
    test_many_places();
    test_again();
    begin();
    for (int i = 0; i < BLOCKS; i++) order_free(&block[i]);
    return tap_done();
}
