/* replay_turns.c - launches on several streams: which turns are none, and how long those that are
** take together. */
#include "replay/turns.h"

#include "tap.h"

static gi_err err;

#define is_double(got, want, what) ok((got) == (want), "%s: %g", what, got)
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static void test_check(void) {
    const ReplayTurn right[] = {{0, {0}}, {1, {0}}, {0, {0, 2}}, {3, {1, 2}}};
    const ReplayTurn later[] = {{0, {0}}, {1, {2}}, {0, {0}}};
    const ReplayTurn itself[] = {{0, {1}}};
    const ReplayTurn other[] = {{0, {0}}, {1, {0, 1}}};
    const ReplayTurn many[] = {{4, {0}}};
    ok(replay_turns_check(right, 4, 4, &err), "launches wait for earlier ones");
    ok(!replay_turns_check(right, 4, 5, &err), "each has its turn");
    ok(!replay_turns_check(later, 3, 3, &err), "none waits for itself or a later one");
    ok(!replay_turns_check(itself, 1, 1, &err), "not the first either");
    ok(!replay_turns_check(other, 2, 2, &err), "nor for one of another stream than it says");
    is_str(err.message, "launch 2 waits for launch 1, which is not before it on stream 1",
           "which is said");
    ok(!replay_turns_check(many, 1, 1, &err), "there are four streams");
}

/* Launches of so many ticks and shares, all on streams of their own but the last. */
static double together(double a, double share_a, double b, double share_b) {
    const ReplayTurn turns[] = {{0, {0}}, {1, {0}}};
    const ReplayTaken taken[] = {{a, share_a}, {b, share_b}};
    return replay_together(turns, taken, COUNT(turns));
}

static void test_time(void) {
    const ReplayTurn one[] = {{0, {0}}, {0, {0}}, {0, {0}}};
    const ReplayTurn joined[] = {{0, {0}}, {1, {0}}, {0, {0, 2}}, {1, {0}}};
    const ReplayTurn three[] = {{0, {0}}, {1, {0}}, {2, {0}}};
    const ReplayTaken small[] = {{100, 0.1}, {300, 0.1}, {50, 0.1}, {70, 0.1}};
    const ReplayTaken large[] = {{100, 0.6}, {300, 0.3}, {50, 0.7}};
    const ReplayTaken larger[] = {{100, 0.6}, {300, 0.3}, {50, 0.8}};
    is_double(together(100, 0.5, 60, 0.5), 100, "two that fit take as long as the longer one");
    is_double(together(100, 1, 60, 0.01), 160, "beside one that fills the GPU there is no room");
    is_double(together(100, 0.6, 60, 0.6), 160, "nor where both are too much");
    is_double(replay_together(one, small, 3), 450, "one stream: one after the other");
    is_double(replay_together(joined, small, 4), 370, "what waits begins behind what it waits for");
    is_double(replay_together(three, large, 3), 300, "the third begins when it has room");
    is_double(replay_together(three, larger, 3), 350, "late, where the last leaves it");
    is_double(replay_together(one, small, 0), 0, "nothing takes no time");
}

static void test_share(void) {
    const EmuModel model = {.sms = 100};
    const unsigned grid[] = {5, 2, 1}, more[] = {500, 1, 1};
    is_double(replay_share(&model, grid, &(EmuResult){.ticks = 10}), 0.1, "a block each takes one");
    is_double(replay_share(&model, more, &(EmuResult){.ticks = 10}), 1, "no more than all");
    is_double(replay_share(&model, grid, &(EmuResult){.ticks = 10, .work.part_memory = 8}), 0.8,
              "or its share of the memory's time");
}

int main(void) {
    test_check();
    test_time();
    test_share();
    return tap_done();
}
