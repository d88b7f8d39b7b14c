/* runtime_memo.c - how much memory may go to launches that are remembered. */
#include "runtime/memo.h"
#include "tap.h"

#define GIB ((size_t)1 << 30)

static void most(void) {
    is_int(memo_most(128 * GIB, 0), 4 * GIB, "no more than 4 GiB, however much is free");
    is_int(memo_most(SIZE_MAX, 4 * GIB), 4 * GIB, "  or where that is not known");
    is_int(memo_most(16 * GIB, 0), 2 * GIB, "an eighth of what is free");
    is_int(memo_most(14 * GIB, 2 * GIB), 2 * GIB, "what memos hold already counts as free");
    is_int(memo_most(0, 2 * GIB), GIB / 4, "where nothing is free, most of that goes");
}

/* Programs beside each other that all keep as much as they may. */
static void beside(int programs, size_t memory, size_t own) {
    size_t kept[64] = {0}, free;
    for (int turn = 0; turn < 100 * programs; turn++) {
        free = memory - (size_t)programs * own;
        for (int i = 0; i < programs; i++) free -= kept[i];
        kept[turn % programs] = memo_most(free, kept[turn % programs]);
    }
    ok(free > memory / 16 && free < memory, "%d programs leave something free", programs);
}

int main(void) {
    most();
    beside(16, 128 * GIB, 2 * GIB);
    beside(16, 16 * GIB, GIB / 2);
    beside(64, 128 * GIB, GIB / 2);
    return tap_done();
}
