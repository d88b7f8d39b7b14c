/* ptx_word.c - the words of an instruction: whole words only, lists, modifiers from either end. */
#include "ptx/ptx.h"
#include "tap.h"

static void test_letters(void) {
    ok(ptx_is_letter('a') && ptx_is_letter('Z') && ptx_is_letter('9'), "letters and digits");
    ok(ptx_is_letter('%') && ptx_is_letter('$') && ptx_is_letter('_'), "what names begin with");
    ok(!ptx_is_letter('.') && !ptx_is_letter(' ') && !ptx_is_letter('\0'), "no others");
}

static void test_word_in(void) {
    ok(ptx_word_in("sub", "add sub mul"), "a word in the middle");
    ok(ptx_word_in("add", "add sub mul") && ptx_word_in("mul", "add sub mul"), "at either end");
    ok(ptx_word_in("mul", "mul24 mul"), "behind a longer one that begins alike");
    ok(!ptx_word_in("mul", "mul24 mad"), "the beginning of a word is none");
    ok(!ptx_word_in("d", "add"), "nor is its end");
    ok(!ptx_word_in("add sub", "add"), "nor what is longer than the list");
    ok(!ptx_word_in("", "add sub") && !ptx_word_in("add", ""), "nothing is in none");
    ok(ptx_word_in("shared::cta", "shared shared::cta"), "colons are letters");
}

static void test_instruction(void) {
    const char *mods[] = {"lo", "cc", "u32"};
    PtxInstr mad = {.opcode = "mad", .mods = mods, .n_mods = 3}, ret = {.opcode = "ret"};
    ok(ptx_is(&mad, "mad") && ptx_is(&mad, "mul mad") && !ptx_is(&mad, "mad24"), "the opcode");
    ok(ptx_has_mod(&mad, "cc") && ptx_has_mod(&mad, "hi lo") && !ptx_has_mod(&mad, "c"),
       "some modifier");
    is_str(ptx_mod(&mad, 0), "lo", "the first");
    is_str(ptx_mod(&mad, -1), "u32", "the last");
    is_str(ptx_mod(&mad, 3), "", "none behind it");
    is_str(ptx_mod(&mad, -4), "", "none before the first");
    is_str(ptx_mod(&ret, -1), "", "none at all");
    ok(!ptx_has_mod(&ret, "cc"), "and nothing is among them");
}

int main(void) {
    test_letters();
    test_word_in();
    test_instruction();
    return tap_done();
}
