/* order.c - the order of an instruction's modifiers.
**
** The PTX ISA writes modifiers in one order; ptxas takes them in any (`div.ftz.rn.f32`), as long as
** types stay in theirs. Here they get the ISA's order when an instruction is read, so nobody else
** has to know. The table has a row for some opcodes: the words in that order, alternatives of one
** kind in one string. A word that its row does not name stays where it is, and no other passes it:
** `mul.s32.lo` is refused, as by ptxas.
*/
#include "ptx/parser.h"

#include <string.h>

enum { MOST_KINDS = 10 };

#define TYPES    "\1" /* any type */
#define OTHERS   "\2" /* any word that no other kind has */
#define VECTORS  "v2 v4 v8"
#define SHAPES   "1d 2d 3d a1d a2d cube acube 2dms a2dms"
#define ROUNDING "rn rz rm rp rna rs rni rzi rmi rpi approx full"

static const struct {
    const char *opcodes, *kinds[MOST_KINDS];
} orders[] = {
    {"add sub mul mad fma div min max abs neg sqrt rsqrt rcp sin cos ex2 lg2 tanh addc subc madc",
     {ROUNDING, "cc", "oob", "ftz", "sat", "NaN", "xorsign", "abs", "relu", TYPES}},
    {"cvt", {"pack", ROUNDING, "ftz", "sat", "satfinite", "relu", TYPES}},
    {"setp set",
     {"eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan", "and or xor", "ftz", TYPES}},
    {"slct", {"ftz", TYPES}},
    {"testp", {"finite infinite number notanumber normal subnormal", TYPES}},
    {"bfind bmsk szext lop3", {"shiftamt clamp wrap and or", TYPES}},
    {"prmt", {TYPES, "f4e b4e rc8 ecl ecr rc16"}},
    {"vote shfl redux match",
     {"sync", "all any uni ballot up down bfly idx add min max and or xor", "abs", "NaN", TYPES}},
    {"ld ldu st atom red", {OTHERS, VECTORS, TYPES}},
    {"tex tld4", {"level base grad r g b a", SHAPES, VECTORS, TYPES}},
    {"fence",
     {"alias async async::generic tensormap::generic mbarrier_init",
      "global shared::cta shared::cluster "
      "sync_restrict::shared::cta sync_restrict::shared::cluster",
      "sc acq_rel acquire release", "cta gpu sys cluster"}},
    {"ldmatrix stmatrix movmatrix",
     {"sync", "aligned", "m8n8 m16n16 m8n16", "x1 x2 x4", "trans", "shared shared::cta", TYPES}},
    {"prefetch applypriority discard", {"global local const param", OTHERS}},
};

/* s32 f16x2 tf32 e4m3x2 ue8m0x2 pred: a type begins with its letter and ends with a number. */
static bool is_type(const char *word) {
    char last = word[strlen(word) - 1];
    if (strcmp(word, "pred") == 0) return true;
    return strchr("bsufte", word[0]) && last >= '0' && last <= '9' && !strchr(word, ':');
}

/* Returns which of the kinds a word is, or -1. */
static int kind_of(const char *const kinds[MOST_KINDS], const char *word) {
    int others = -1;
    for (int k = 0; k < MOST_KINDS && kinds[k]; k++) {
        if (kinds[k][0] == *OTHERS) others = k;
        else if (kinds[k][0] == *TYPES ? is_type(word) : ptx_word_in(word, kinds[k])) return k;
    }
    return others;
}

/* Sorts by kinds, stably, between the words that are of none. */
static void sort(const char *const kinds[MOST_KINDS], const char **mods, int n) {
    for (int i = 1; i < n; i++) {
        const char *word = mods[i];
        int kind = kind_of(kinds, word), k = i;
        for (; k > 0 && kind >= 0 && kind_of(kinds, mods[k - 1]) > kind; k--) mods[k] = mods[k - 1];
        mods[k] = word;
    }
}

void ptxp_order(const char *opcode, const char **mods, int n) {
    for (size_t i = 0; n > 1 && i < sizeof orders / sizeof *orders; i++)
        if (ptx_word_in(opcode, orders[i].opcodes)) sort(orders[i].kinds, mods, n);
}
