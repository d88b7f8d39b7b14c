/* ptxchange.c - changes PTX as PTX: fuzz_change for the targets that load it.
**
** The text is a list of tokens, and statements are what stands between ; { } and labels. Each call
** makes one change to modifiers, operands, offsets, numbers, declarations, guards, or statements;
** the next call reads the text anew. What comes out is odd, and most often still parses: names that
** are declared stay the names that are used. Forms that no seed has come from the emulator's own
** tables (emu/decode/decode.h), with registers of the widths that they want, mostly. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/decode/decode.h"
#include "fuzz.h"

enum { MOST_TOKENS = 1 << 15, MOST_NAME = 120 };

typedef struct Token {
    uint32_t at, len;
    char kind; /* 'w' a word, 'n' a number, 's' a string, else the character itself */
} Token;

typedef struct Text {
    gi_buf *b;
    gi_rng *rng;
    Token t[MOST_TOKENS];
    int n;
} Text;

static int below(Text *x, int n) {
    return (int)gi_rng_below(x->rng, (uint64_t)n);
}

static bool one_in(Text *x, int n) {
    return below(x, n) == 0;
}

/* --- tokens -------------------------------------------------------------------------------- */

static size_t word_length(const char *s) {
    size_t n = 0;
    while (ptx_is_letter(s[n]) || (s[n] == '.' && (n == 0 || ptx_is_letter(s[n + 1]))) ||
           (s[n] == ':' && s[n + 1] == ':') || (n > 0 && s[n] == ':' && s[n - 1] == ':'))
        n++;
    return n;
}

static size_t blank_length(const char *s) {
    if (s[0] == '/' && s[1] == '/') return strcspn(s, "\n");
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? (size_t)(end - s) + 2 : strlen(s);
    }
    return isspace((unsigned char)*s) ? 1 : 0;
}

static Token token_at(const char *text, size_t at) {
    const char *s = text + at;
    size_t len = 1, blank = strcspn(s + 1, "\"\n");
    char kind = *s;
    if (isdigit((unsigned char)*s)) len = word_length(s), kind = 'n';
    else if (ptx_is_letter(*s) || (*s == '.' && ptx_is_letter(s[1])))
        len = word_length(s), kind = 'w';
    else if (*s == '"') len = blank + 1 + (s[blank + 1] == '"'), kind = 's';
    return (Token){(uint32_t)at, (uint32_t)len, kind};
}

static void read_tokens(Text *x) {
    const char *text = x->b->data;
    x->n = 0;
    for (size_t at = 0; text && text[at] && x->n < MOST_TOKENS;) {
        size_t blank = blank_length(text + at);
        if (blank == 0) x->t[x->n++] = token_at(text, at);
        at += blank ? blank : x->t[x->n - 1].len;
    }
}

static char kind_at(const Text *x, int i) {
    return i >= 0 && i < x->n ? x->t[i].kind : '\0';
}

static const char *chars_at(const Text *x, int i) {
    return x->b->data + x->t[i].at;
}

/* A token's text, cut to MOST_NAME. */
static const char *name_at(const Text *x, int i, char name[MOST_NAME]) {
    snprintf(name, MOST_NAME, "%.*s", i >= 0 && i < x->n ? (int)x->t[i].len : 0,
             i >= 0 && i < x->n ? chars_at(x, i) : "");
    return name;
}

static bool is_text(const Text *x, int i, const char *text) {
    return i >= 0 && i < x->n && x->t[i].len == strlen(text) &&
           memcmp(chars_at(x, i), text, x->t[i].len) == 0;
}

static bool ends_statement(char kind) {
    return kind == ';' || kind == '{' || kind == '}' || kind == ':' || kind == '\0';
}

static bool is_register(const Text *x, int i) {
    return kind_at(x, i) == 'w' && *chars_at(x, i) == '%' &&
           memchr(chars_at(x, i), '.', x->t[i].len) == NULL;
}

static bool is_directive(const Text *x, int i) {
    return kind_at(x, i) == 'w' && *chars_at(x, i) == '.';
}

/* The first word of a statement, behind its guard. */
static bool is_opcode(const Text *x, int i) {
    if (kind_at(x, i) != 'w' || !islower((unsigned char)*chars_at(x, i))) return false;
    if (kind_at(x, i + 1) == ':') return false;
    if (ends_statement(kind_at(x, i - 1))) return true;
    return is_register(x, i - 1) && (kind_at(x, i - 2) == '@' || kind_at(x, i - 3) == '@');
}

static bool is_number(const Text *x, int i) {
    return kind_at(x, i) == 'n';
}

/* A name of a variable, function, parameter or label. */
static bool is_symbol(const Text *x, int i) {
    return kind_at(x, i) == 'w' && !is_register(x, i) && !is_directive(x, i) && !is_opcode(x, i) &&
           *chars_at(x, i) != '%';
}

static bool is_operand(const Text *x, int i) {
    return is_register(x, i) || is_number(x, i) || is_symbol(x, i);
}

static bool closes_address(const Text *x, int i) {
    return kind_at(x, i) == ']';
}

static bool is_comma(const Text *x, int i) {
    return kind_at(x, i) == ',';
}

typedef bool (*Is)(const Text *x, int i);

/* A token of a kind, from anywhere; -1: there is none. */
static int any(Text *x, Is is) {
    int from = x->n ? below(x, x->n) : 0;
    for (int k = 0; k < x->n; k++)
        if (is(x, (from + k) % x->n)) return (from + k) % x->n;
    return -1;
}

/* The tokens [*from, *to) of a statement, its guard and its ; with it. */
static void statement_of(const Text *x, int i, int *from, int *to) {
    *from = i;
    while (!ends_statement(kind_at(x, *from - 1))) --*from;
    *to = i;
    while (*to < x->n && kind_at(x, *to) != ';') ++*to;
    if (*to < x->n) ++*to;
}

/* --- edits --------------------------------------------------------------------------------- */

/* The tokens [from, to) become a text. */
static void put(Text *x, int from, int to, const char *text) {
    gi_buf out = {0};
    uint32_t at = from < x->n ? x->t[from].at : (uint32_t)x->b->len;
    uint32_t end = to > from ? x->t[to - 1].at + x->t[to - 1].len : at;
    gi_buf_adds(&out, "");
    gi_buf_add(&out, x->b->data, at);
    gi_buf_adds(&out, text);
    gi_buf_add(&out, x->b->data + end, x->b->len - end);
    gi_buf_free(x->b);
    *x->b = out;
}

static char *text_of(const Text *x, int from, int to) {
    gi_buf out = {0};
    gi_buf_adds(&out, "");
    if (to > from)
        gi_buf_add(&out, chars_at(x, from), x->t[to - 1].at + x->t[to - 1].len - x->t[from].at);
    gi_buf_adds(&out, "\n");
    return out.data;
}

/* --- words --------------------------------------------------------------------------------- */

/* Modifiers that stand where others of their list do. */
static const char *const families[] = {
    "global shared local const param shared::cta param::entry param::func shared::cluster",
    "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 pred b128",
    "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 e4m3x2 e5m2x2",
    "v2 v4 v8",
    "rn rz rm rp rni rzi rmi rpi approx full rna",
    "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
    "add min max inc dec cas exch and or xor popc",
    "up down bfly idx",
    "all any uni ballot",
    "1d 2d 3d a1d a2d cube acube base level",
    "r g b a",
    "trap clamp zero b p",
    "lo hi wide",
    "cta gpu sys gl cluster",
    "relaxed acquire release acq_rel volatile weak sc mmio",
    "ca cg cs lu cv wb wt nc",
    "sync arrive red warp aligned",
    "ftz sat cc relu noftz finite satfinite",
    "wrap clamp l r",
    "b4e f4e rc8 ecl ecr rc16",
    "to",
    "idx uni",
    "commit_group wait_group wait_all async bulk reduce tensor",
    "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count",
    "parity noComplete expect_tx noinc read multicast::cluster tile im2col",
    "mbarrier::complete_tx::bytes bulk_group shared::cta shared::cluster global",
    "row col trans",
    "x1 x2 x4",
    "a b c d",
    "load store mma mma_async sp sp::ordered_metadata",
    "m8n8k4 m16n8k8 m16n8k16 m16n8k32 m16n16k16 m8n32k16 m32n8k16 m64n8k16 m64n16k16 m64n8k32",
    "f16 bf16 tf32 f32 f64 s8 u8 s4 u4 b1 e4m3 e5m2 s32",
    "global_address rank box_dim global_dim global_stride element_stride elemtype swizzle_mode",
    "L1::no_allocate L1::evict_last L2::64B L2::128B L2::256B ca cg"};

enum { FAMILIES = sizeof families / sizeof *families };

/* A word of a list. */
static const char *word_of(Text *x, const char *list, char word[MOST_NAME]) {
    int n = 1;
    for (const char *at = list; (at = strchr(at, ' ')) != NULL; at++) n++;
    for (n = below(x, n); n > 0; n--) list = strchr(list, ' ') + 1;
    snprintf(word, MOST_NAME, "%.*s", (int)strcspn(list, " "), list);
    return word;
}

static const char *another(Text *x, const char *mod, char word[MOST_NAME]) {
    int from = below(x, FAMILIES);
    for (int k = 0; k < FAMILIES && !one_in(x, 12); k++)
        if (ptx_word_in(mod, families[(from + k) % FAMILIES]))
            return word_of(x, families[(from + k) % FAMILIES], word);
    return word_of(x, families[from], word);
}

/* One of a word's parts, which dots part: another, away, twice, or one more behind it. */
static void change_parts(Text *x, int i, int first) {
    char parts[24][MOST_NAME], word[MOST_NAME], name[MOST_NAME];
    int n = 0;
    gi_buf out = {0};
    name_at(x, i, name);
    for (char *at = name; at && n < 24; n++) {
        char *dot = strchr(at, '.');
        if (dot) *dot++ = '\0';
        snprintf(parts[n], MOST_NAME, "%s", at);
        at = dot;
    }
    int k = n > first ? first + below(x, n - first) : 0, how = k < first ? 5 : below(x, 8);
    for (int j = 0; j < n; j++) {
        const char *dot = j ? "." : "";
        if (j != k || how > 3) gi_buf_addf(&out, "%s%s", dot, parts[j]);
        if (j != k) continue;
        if (how < 3) gi_buf_addf(&out, "%s%s", dot, another(x, parts[j], word));
        if (how > 4) gi_buf_addf(&out, ".%s", another(x, how == 7 ? parts[j] : "", word));
    }
    put(x, i, i + 1, out.data ? out.data : "");
    gi_buf_free(&out);
}

static void change_modifier(Text *x) {
    int i = any(x, is_opcode);
    if (i >= 0) change_parts(x, i, 1);
}

/* --- operands ------------------------------------------------------------------------------ */

static void odd_number(Text *x, char out[MOST_NAME]) {
    static const char *const odd[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "4",
                                      "5",
                                      "6",
                                      "7",
                                      "8",
                                      "12",
                                      "15",
                                      "16",
                                      "20",
                                      "24",
                                      "28",
                                      "31",
                                      "32",
                                      "33",
                                      "36",
                                      "60",
                                      "63",
                                      "64",
                                      "65",
                                      "96",
                                      "100",
                                      "127",
                                      "128",
                                      "252",
                                      "255",
                                      "256",
                                      "508",
                                      "512",
                                      "1020",
                                      "1023",
                                      "1024",
                                      "4088",
                                      "4092",
                                      "4095",
                                      "4096",
                                      "16384",
                                      "39000",
                                      "65535",
                                      "65536",
                                      "16777216",
                                      "16778240",
                                      "2147483647",
                                      "2147483648",
                                      "4294967295",
                                      "4294967296",
                                      "4294967292",
                                      "1099511627775",
                                      "1099511627776",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "0f3F800000",
                                      "0f7F800000",
                                      "0fFFC00001",
                                      "0d3FF0000000000000",
                                      "0d7FF0000000000001",
                                      "0x80000001",
                                      "0b101",
                                      "017"};
    int n = sizeof odd / sizeof *odd;
    snprintf(out, MOST_NAME, "%s%s", one_in(x, 5) ? "-" : "", odd[below(x, n)]);
}

/* A number near the one that stands there, or an odd one. */
static void near_number(Text *x, int i, char out[MOST_NAME]) {
    char name[MOST_NAME];
    uint64_t now = strtoull(name_at(x, i, name), NULL, 0);
    static const int steps[] = {-8, -4, -1, 1, 2, 4, 8, 32};
    switch (below(x, 5)) {
    case 0:
        snprintf(out, MOST_NAME, "%" PRId64, (int64_t)(now + (uint64_t)steps[below(x, 8)]));
        break;
    case 1: snprintf(out, MOST_NAME, "%" PRIu64, one_in(x, 2) ? now / 2 : now * 2 % 100000); break;
    default: odd_number(x, out);
    }
}

/* A register with the same letters before its number, of this function or another. */
static int like(Text *x, int i) {
    size_t letters = 0;
    while (letters < x->t[i].len && !isdigit((unsigned char)chars_at(x, i)[letters])) letters++;
    int found = -1;
    for (int tries = 0; tries < 6 && found < 0; tries++) {
        int k = any(x, is_register);
        bool same = k >= 0 && x->t[k].len > letters && k != i &&
                    memcmp(chars_at(x, k), chars_at(x, i), letters) == 0;
        if (same && isdigit((unsigned char)chars_at(x, k)[letters])) found = k;
    }
    return found;
}

static void change_operand(Text *x) {
    char name[MOST_NAME] = "";
    int i = any(x, is_register), k = i < 0 ? -1 : like(x, i), how = below(x, 10);
    if (i < 0) return;
    if (how < 5) name_at(x, k < 0 ? i : k, name);
    else if (how < 7) name_at(x, any(x, is_register), name);
    else if (how == 7) odd_number(x, name);
    else if (how == 8) name_at(x, any(x, is_symbol), name);
    else snprintf(name, sizeof name, "_");
    put(x, i, i + 1, name);
}

/* Swaps two operands of one statement. */
static void swap_operands(Text *x) {
    int i = any(x, is_opcode), from, to, at[40], n = 0;
    char one[MOST_NAME], other[MOST_NAME];
    if (i < 0) return;
    statement_of(x, i, &from, &to);
    for (int k = i + 1; k < to && n < 40; k++)
        if (is_operand(x, k)) at[n++] = k;
    if (n < 2) return;
    int a = at[below(x, n)], b = at[below(x, n)];
    if (a == b) return;
    if (a > b) i = a, a = b, b = i;
    name_at(x, a, one), name_at(x, b, other);
    put(x, b, b + 1, one);
    put(x, a, a + 1, other);
}

static void change_symbol(Text *x) {
    char name[MOST_NAME];
    int i = any(x, is_symbol), k = any(x, is_symbol);
    if (i >= 0) put(x, i, i + 1, name_at(x, k, name));
}

static void change_number(Text *x) {
    char number[MOST_NAME];
    int i = any(x, is_number);
    if (i < 0) return;
    near_number(x, i, number);
    put(x, i, i + 1, number);
}

static void change_offset(Text *x) {
    char number[MOST_NAME], all[MOST_NAME + 2];
    int i = any(x, closes_address);
    if (i < 0) return;
    odd_number(x, number);
    snprintf(all, sizeof all, "+%.100s", number);
    if (is_number(x, i - 1)) put(x, i - 1, i, number);
    else put(x, i, i, all);
}

/* One more of a list's elements, or one less: operands, vectors, parameters, labels of a table. */
static void change_list(Text *x) {
    int i = any(x, is_comma);
    if (i < 0 || i + 1 >= x->n) return;
    char name[MOST_NAME], more[MOST_NAME + 2];
    snprintf(more, sizeof more, ",%.100s", name_at(x, i + 1, name));
    if (one_in(x, 2)) put(x, i, i, more);
    else put(x, i, i + 2, "");
}

/* --- declarations -------------------------------------------------------------------------- */

static void change_declaration(Text *x) {
    static const char *const spaces = ".global .shared .local .const .param .reg";
    static const char *const types =
        ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s32 .s64 .f32 .f64 .pred .b128 .f16";
    static const char *const others =
        ".visible .weak .extern .common .entry .func .noreturn .align .v2 .v4 .ptr "
        ".minnctapersm .maxntid .reqntid";
    int i = any(x, is_directive);
    char name[MOST_NAME], word[MOST_NAME];
    if (i < 0) return;
    name_at(x, i, name);
    const char *list = ptx_word_in(name, spaces)  ? spaces
                       : ptx_word_in(name, types) ? types
                                                  : others;
    if (one_in(x, 10)) list = one_in(x, 2) ? spaces : types;
    put(x, i, i + !one_in(x, 12), one_in(x, 12) ? "" : word_of(x, list, word));
}

/* --- statements ---------------------------------------------------------------------------- */

static void change_guard(Text *x) {
    char name[MOST_NAME] = "%p1", all[MOST_NAME + 4];
    int i = any(x, is_opcode), from, to;
    if (i < 0) return;
    statement_of(x, i, &from, &to);
    if (from < i) {
        bool away = one_in(x, 2);
        put(x, from, away ? i : from + 1, away ? "" : kind_at(x, from + 1) == '!' ? "@" : "@!");
        return;
    }
    int like_p = any(x, is_register);
    for (int tries = 0; tries < 8 && like_p >= 0 && chars_at(x, like_p)[1] != 'p'; tries++)
        like_p = any(x, is_register);
    if (like_p >= 0 && chars_at(x, like_p)[1] == 'p') name_at(x, like_p, name);
    snprintf(all, sizeof all, "@%s%.100s ", one_in(x, 2) ? "!" : "", name);
    put(x, i, i, all);
}

static bool stands_first(const Text *x, int i) {
    return is_opcode(x, i) && ends_statement(kind_at(x, i - 1));
}

static void move_statement(Text *x) {
    int i = any(x, is_opcode), to = any(x, stands_first), from, end, how = below(x, 3);
    if (i < 0 || to < 0) return;
    statement_of(x, i, &from, &end);
    char *text = text_of(x, from, end);
    if (how == 0) put(x, from, end, "");                                 /* away */
    else if (how == 1 || (to >= from && to < end)) put(x, to, to, text); /* twice */
    else if (to > from) put(x, to, to, text), put(x, from, end, "");
    else put(x, from, end, ""), put(x, to, to, text);
    free(text);
}

/* A statement of another text, or a run of some: its registers get numbers that are there. */
static void take_statements(Text *x, const gi_buf *other) {
    static Text y;
    gi_buf copy = {0};
    gi_buf_adds(&copy, other->data ? other->data : "");
    y.b = &copy, y.rng = x->rng;
    read_tokens(&y);
    int i = any(&y, stands_first), at = any(x, stands_first), from, to;
    if (i >= 0 && at >= 0) {
        statement_of(&y, i, &from, &to);
        for (int more = one_in(x, 3) ? below(x, 6) : 0; more > 0 && to < y.n; more--) {
            int begin;
            if (stands_first(&y, to)) statement_of(&y, to, &begin, &to);
        }
        char *text = text_of(&y, from, to);
        put(x, at, at, text);
        free(text);
    }
    gi_buf_free(&copy);
}

/* --- forms --------------------------------------------------------------------------------- */

/* A register declared before token i, of a type that the letter of a signature fits: families
** ".reg .b32 %r<9>" and single names. False: there is none. */
static bool register_for(Text *x, int i, char letter, char out[MOST_NAME]) {
    const char *types = letter == 'p'                    ? ".pred"
                        : letter == 'q' || letter == 'd' ? ".b64 .u64 .s64 .f64"
                        : letter == 'h' || letter == 'i' ? ".b16 .u16 .s16 .f16"
                                                         : ".b32 .u32 .s32 .f32 .f16x2";
    char type[MOST_NAME], name[MOST_NAME], most[MOST_NAME];
    int found = 0;
    for (int k = i - 1; k > 0; k--) {
        if (is_text(x, k, ".entry") || is_text(x, k, ".func")) break;
        if (!is_text(x, k, ".reg") || !ptx_word_in(name_at(x, k + 1, type), types)) continue;
        if (below(x, ++found) != 0) continue;
        name_at(x, k + 2, name);
        int n = atoi(name_at(x, k + 4, most));
        if (kind_at(x, k + 3) == '<' && n > 0)
            snprintf(out, MOST_NAME, "%.80s%d", name, below(x, n));
        else snprintf(out, MOST_NAME, "%s", name);
    }
    return found > 0;
}

/* A pattern of modifiers (emu/decode/decode.h) with its choices made. */
static void add_modifiers(Text *x, gi_buf *out, const char *pattern) {
    while (*pattern) {
        size_t len = strcspn(pattern, " ");
        bool optional = *pattern == '?';
        char word[MOST_NAME];
        snprintf(word, sizeof word, "%.*s", (int)(len - optional), pattern + optional);
        for (char *bar = word; *bar; bar++)
            if (*bar == '|') *bar = ' ';
        const char *list = strcmp(word, "R") == 0 ? "rn rz rm rp" : word;
        char mod[MOST_NAME];
        if (!optional || one_in(x, 2)) gi_buf_addf(out, ".%s", word_of(x, list, mod));
        pattern += len + (pattern[len] == ' ');
    }
}

/* Instructions without a pattern: $ and a letter of a signature is a register, $s a symbol, $n a
** number. */
static const char *const templates[] = {
    "ld.global.u32 $w, [$q];",
    "ld.shared.u32 $w, [$w];",
    "ld.local.u32 $w, [$q];",
    "ld.u32 $w, [$q];",
    "ld.param.u32 $w, [$s+$n];",
    "ld.param.b64 $q, [$s];",
    "st.param.b32 [$s+$n], $w;",
    "st.shared.v2.u32 [$s+$n], {$w, $w};",
    "ld.shared.u32 $w, [$s+$n];",
    "ld.const.v4.f32 {$f, $f, $f, $f}, [$s];",
    "ld.local.v2.u64 {$q, $q}, [$s+$n];",
    "st.local.u8 [$s+$n], $h;",
    "ld.global.u32 $w, [$s+$n];",
    "mov.u64 $q, $s;",
    "mov.u32 $w, $s;",
    "cvta.shared.u64 $q, $q;",
    "cvta.to.shared.u64 $q, $q;",
    "cvta.local.u64 $q, $s;",
    "cvta.param.u64 $q, $q;",
    "isspacep.shared $p, $q;",
    "atom.shared.add.u32 $w, [$s+$n], $w;",
    "atom.global.cas.b32 $w, [$q], $w, $w;",
    "red.shared.max.s32 [$w], $w;",
    "atom.exch.b64 $q, [$q], $q;",
    "shfl.sync.idx.b32 $w|$p, $w, $w, 31, -1;",
    "vote.sync.ballot.b32 $w, $p, $n;",
    "match.all.sync.b32 $w|$p, $w, -1;",
    "redux.sync.add.u32 $w, $w, -1;",
    "activemask.b32 $w;",
    "bar.sync $n;",
    "bar.red.popc.u32 $w, 0, $p;",
    "bar.arrive 1, 64;",
    "bar.warp.sync $n;",
    "elect.sync $w|$p, -1;",
    "membar.gl;",
    "fence.acq_rel.gpu;",
    "bra $s;",
    "@$p bra $s;",
    "ret;",
    "exit;",
    "trap;",
    "call.uni $s;",
    "call.uni ($s), $s, ($s, $s);",
    "call ($s), $q, ($s), $s;",
    "brx.idx $w, $s;",
    "alloca.u64 $q, $q, $n;",
    "stacksave.u64 $q;",
    "stackrestore.u64 $q;",
    "cp.async.ca.shared.global [$w], [$q], $n;",
    "cp.async.commit_group;",
    "cp.async.wait_group $n;",
    "cp.async.cg.shared.global [$s+$n], [$q], 16, $w;",
    "cp.async.wait_all;",
    "nanosleep.u32 $w;",
    "mov.b64 {$w, $w}, $q;",
    "mov.b64 $q, {$w, $w};",
    "mov.b32 {$h, $h}, $w;",
    "mov.u32 $w, %clock;",
    "mov.u32 $w, %laneid;",
    "tex.1d.v4.u32.s32 {$w, $w, $w, $w}, [$q, {$w}];",
    "tex.2d.v4.f32.f32 {$f, $f, $f, $f}, [$q, {$f, $f}];",
    "suld.b.2d.b32.trap {$w}, [$q, {$w, $w}];",
    "sust.b.2d.b32.zero [$q, {$w, $w}], {$w};",
    "prefetch.global.L2 [$q];",
    "prefetch.tensormap [$q];",
    "discard.global.L2 [$q], 128;",
    "createpolicy.range.L2::evict_last.b64 $q, [$q], $w, $w;",
    "ld.global.L2::cache_hint.u32 $w, [$q], $q;",
    "fence.proxy.tensormap::generic.acquire.gpu [$q], 128;",
    "sured.b.add.2d.u32.clamp [$q, {$w, $w}], $w;",
    "vadd.s32.s32.s32.sat $w, $w.b1, $w.h0;",
    "vshl.u32.s32.u32.clamp.add $w, $w, $w, $w;",
    "vmad.s32.s32.s32.sat $w, $w, -$w, $w;",
    "vset4.s32.u32.ge $w.b21, $w, $w, $w;",
    "mov.v4.b32 {$w, $w, $w, $w}, {$w, $w, $w, $w};",
    "mov.b128 %q1, {$q, $q};",
    "mov.b128 {$q, $q}, %q0;",
    "ld.global.b128 %q0, [$q];",
    "ld.shared.b128 %q2, [$s+$n];",
    "st.shared.b128 [$s+$n], %q1;",
    "atom.shared.cas.b128 %q0, [$w], %q1, %q2;",
    "atom.global.exch.b128 %q0, [$q], %q1;",
    "st.bulk [$q], $n, 0;",
    "fma.rn.f32x2 $q, $q, $q, $q;",
    "max.NaN.f32 $f, $f, $f, $f;",
    "redux.sync.min.abs.f32 $f, $f, -1;",
    "mov.u32 $w, %cluster_ctarank;",
    "cvt.u64.u32 $q, $w;",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$w, $w, $w, $w}, [$s+$n];",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$w}, [$w];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$w], {$w, $w};",
    "movmatrix.sync.aligned.m8n8.trans.b16 $w, $w;",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$f, $f, $f, $f}, "
    "{$w, $w, $w, $w}, {$w, $w}, {$f, $f, $f, $f};",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$w, $w}, "
    "{$w, $w, $w, $w}, {$w, $w}, {$w, $w};",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {$w, $w}, [$s], $n;",
    "wmma.store.d.sync.aligned.col.m8n8k4.f64 [$q], {$d, $d}, $w;",
    "wgmma.fence.sync.aligned;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$f, $f, $f, $f}, "
    "$q, $q, $p, 1, 1, 0, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {$w, $w, $w, $w}, "
    "{$w, $w, $w, $w}, $q, $p;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned $n;",
    "mbarrier.init.shared.b64 [$s+$n], $n;",
    "mbarrier.arrive.shared.b64 $q, [$w];",
    "mbarrier.test_wait.shared.b64 $p, [$s], $q;",
    "mbarrier.try_wait.parity.shared.b64 $p, [$w], $w;",
    "mbarrier.expect_tx.relaxed.cta.shared.b64 [$s], $n;",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [$s];",
    "mapa.shared::cluster.u32 $w, $w, $w;",
    "mapa.u64 $q, $q, $w;",
    "getctarank.shared::cluster.u32 $w, $w;",
    "barrier.cluster.arrive.relaxed;",
    "barrier.cluster.wait;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [$w], "
    "{$w, $w}, [$w];",
    "cp.async.bulk.shared::cluster.shared::cta."
    "mbarrier::complete_tx::bytes [$w], [$s], $n, [$w];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$q], [$s], "
    "$n;",
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col."
    "mbarrier::complete_tx::bytes [$w], [$q, {$w, $w, $w}], "
    "[$w], {$h};",
    "cp.async.bulk.wait_group.read $n;",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [$q], $n, $w;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
    ".gpu.sync.aligned [$q], [$s], 128;",
    "fence.proxy.async;",
    "griddepcontrol.wait;",
    "setmaxnreg.dec.sync.aligned.u32 24;",
    "{ .shared .align 4 .b8 zs[$n]; st.shared.u32 [zs], $w; }",
    "{ .param .b32 zp; st.param.b32 [zp+$n], $w; }",
    "{ .local .b8 zl[$n]; ld.local.u8 $h, [zl]; }",
    "$Z: @$p bra $Z;"};

static void fill_template(Text *x, int at, const char *from, gi_buf *out) {
    char name[MOST_NAME];
    for (; *from; from++) {
        if (*from != '$') gi_buf_add(out, from, 1);
        else if (*++from == 's') gi_buf_adds(out, name_at(x, any(x, is_symbol), name));
        else if (*from == 'n') odd_number(x, name), gi_buf_adds(out, name);
        else if (*from == 'Z') gi_buf_addf(out, "Z%zu", x->b->len);
        else
            gi_buf_adds(out, register_for(x, at, one_in(x, 40) ? 'q' : *from, name) ? name : "%r1");
    }
    gi_buf_adds(out, "\n");
}

static const Form *any_form(Text *x) {
    static const Form *const tables[] = {forms_control, forms_int,   forms_float,  forms_convert,
                                         forms_memory,  forms_warp,  forms_texture, forms_matrix,
                                         forms_group,   forms_async, forms_tensormap};
    const Form *t = tables[below(x, sizeof tables / sizeof *tables)];
    int n = 0;
    while (t[n].opcode) n++;
    return &t[below(x, n)];
}

static void add_form(Text *x) {
    int at = any(x, stands_first);
    const Form *f = any_form(x);
    gi_buf all = {0}, filled = {0};
    if (at < 0) return;
    if (f->custom || f->sig[0] == '\0') {
        gi_buf_adds(&all, templates[below(x, sizeof templates / sizeof *templates)]);
    } else {
        gi_buf_adds(&all, f->opcode);
        add_modifiers(x, &all, f->mods);
        for (int k = 0; f->sig[k]; k++)
            gi_buf_addf(&all, "%s$%c", k ? ", " : " ", k && one_in(x, 8) ? 'n' : f->sig[k]);
        gi_buf_adds(&all, ";");
    }
    fill_template(x, at, all.data, &filled);
    put(x, at, at, filled.data);
    gi_buf_free(&all);
    gi_buf_free(&filled);
}

/* --- the way of the launch ----------------------------------------------------------------- */

/* "// launch N" on the first line says how it is launched (world.h). */
static void change_launch(Text *x) {
    gi_buf out = {0};
    const char *rest = x->b->data ? x->b->data : "";
    if (strncmp(rest, "// launch ", 10) == 0) rest += strcspn(rest, "\n"), rest += *rest == '\n';
    gi_buf_addf(&out, "// launch %u\n%s", (unsigned)gi_rng_next(x->rng), rest);
    gi_buf_free(x->b);
    *x->b = out;
}

void fuzz_change(gi_buf *input, const gi_buf *other, gi_rng *rng) {
    static void (*const changes[])(Text *) = {
        change_modifier, change_modifier,    change_modifier,    change_operand, change_operand,
        swap_operands,   change_symbol,      change_symbol,      change_number,  change_offset,
        change_list,     change_declaration, change_declaration, change_guard,   move_statement,
        move_statement,  add_form,           add_form,           add_form,       change_launch};
    static Text x;
    int which = (int)gi_rng_below(rng, sizeof changes / sizeof *changes + 3);
    x.b = input, x.rng = rng;
    read_tokens(&x);
    if (which < (int)(sizeof changes / sizeof *changes)) changes[which](&x);
    else take_statements(&x, other);
}
