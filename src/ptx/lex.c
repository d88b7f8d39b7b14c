/* lex.c - characters to words; names; failure. See parser.h. */
#include "ptx/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptxp_fail(Parser *P, int line, const char *fmt, ...) {
    char reason[800];
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    gi_fail(&P->why, "compile", "PTX line %d: %s", line, reason);
    longjmp(P->escape, 1);
}

/* What stands at the reader, for a message: a word, or one character. */
static void found(const Parser *P, char *out, size_t size) {
    const char *e = P->p;
    while (e < P->end && (ptx_is_letter(*e) || *e == '.') && e - P->p < 60) e++;
    if (P->p == P->end) snprintf(out, size, "the end of the text");
    else if (e > P->p) snprintf(out, size, "'%.*s'", (int)(e - P->p), P->p);
    else if ((unsigned char)*P->p < 32 || (unsigned char)*P->p > 126)
        snprintf(out, size, "byte 0x%02x", (unsigned char)*P->p);
    else snprintf(out, size, "'%c'", *P->p);
}

void ptxp_expected(Parser *P, const char *what) {
    char seen[80];
    found(P, seen, sizeof seen);
    ptxp_fail(P, P->line, "expected %s, found %s", what, seen);
}

static void skip_block_comment(Parser *P) {
    int start = P->line;
    for (P->p += 2; P->end - P->p >= 2; P->p++) {
        if (P->p[0] == '*' && P->p[1] == '/') {
            P->p += 2;
            return;
        }
        if (*P->p == '\n') P->line++;
    }
    ptxp_fail(P, start, "a comment that begins here never ends");
}

void ptxp_space(Parser *P) {
    for (; P->p < P->end; P->p++) {
        char c = *P->p;
        char next = P->end - P->p >= 2 ? P->p[1] : '\0';
        if (c == '\n') P->line++;
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') continue;
        else if (c == '/' && next == '/') {
            while (P->p + 1 < P->end && P->p[1] != '\n') P->p++;
        } else if (c == '/' && next == '*') {
            skip_block_comment(P);
            P->p--;
        } else return;
    }
}

char ptxp_peek(const Parser *P) {
    return P->p < P->end ? *P->p : '\0';
}

bool ptxp_take_char(Parser *P, char c) {
    if (P->p == P->end || *P->p != c) return false;
    P->p++;
    ptxp_space(P);
    return true;
}

void ptxp_expect(Parser *P, char c, const char *where) {
    if (ptxp_take_char(P, c)) return;
    char what[100];
    snprintf(what, sizeof what, "'%c' %s", c, where);
    ptxp_expected(P, what);
}

bool ptxp_at_ident(const Parser *P) {
    char c = ptxp_peek(P);
    return ptx_is_letter(c) && !(c >= '0' && c <= '9');
}

Name *ptxp_ident(Parser *P, const char *what) {
    if (!ptxp_at_ident(P)) ptxp_expected(P, what);
    const char *start = P->p;
    while (P->p < P->end && ptx_is_letter(*P->p)) P->p++;
    Name *name = ptxp_intern(P, start, (size_t)(P->p - start));
    ptxp_space(P);
    return name;
}

Name *ptxp_word(Parser *P, const char *what) {
    const char *start = P->p;
    while (P->p < P->end) {
        if (ptx_is_letter(*P->p)) P->p++;
        else if (P->end - P->p >= 3 && P->p[0] == ':' && P->p[1] == ':' && ptx_is_letter(P->p[2]))
            P->p += 2;
        else break;
    }
    if (P->p == start) ptxp_expected(P, what);
    Name *name = ptxp_intern(P, start, (size_t)(P->p - start));
    ptxp_space(P);
    return name;
}

const char *ptxp_string(Parser *P) {
    if (ptxp_peek(P) != '"') ptxp_expected(P, "a string in quotes");
    const char *start = ++P->p;
    while (P->p < P->end && *P->p != '"' && *P->p != '\n')
        P->p += *P->p == '\\' && P->end - P->p > 1 ? 2 : 1;
    if (P->p >= P->end || *P->p != '"')
        ptxp_fail(P, P->line, "a string that begins here never ends");
    char *text = ptxp_take(P->arena, (size_t)(P->p - start) + 1);
    memcpy(text, start, (size_t)(P->p - start));
    P->p++;
    ptxp_space(P);
    return text;
}

static uint64_t hash_text(const char *text, size_t len) { /* FNV-1a: names are short */
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static void grow_table(Parser *P) {
    size_t buckets = P->buckets ? P->buckets * 2 : 512;
    Name **table = gi_alloc(buckets * sizeof(Name *));
    for (size_t i = 0; i < P->buckets; i++) {
        for (Name *n = P->table[i], *chain; n; n = chain) {
            chain = n->chain;
            n->chain = table[n->hash & (buckets - 1)];
            table[n->hash & (buckets - 1)] = n;
        }
    }
    free(P->table);
    P->table = table;
    P->buckets = buckets;
}

Name *ptxp_intern(Parser *P, const char *text, size_t len) {
    if (P->n_names >= P->buckets) grow_table(P);
    uint64_t h = hash_text(text, len);
    Name **head = &P->table[h & (P->buckets - 1)];
    for (Name *n = *head; n; n = n->chain)
        if (n->hash == h && n->len == len && memcmp(n->text, text, len) == 0) return n;
    Name *n = ptxp_take(P->arena, sizeof *n + len + 1);
    char *copy = (char *)(n + 1);
    memcpy(copy, text, len);
    *n = (Name){.text = copy, .len = len, .hash = h, .chain = *head};
    P->n_names++;
    return *head = n;
}

bool ptxp_is(const Name *n, const char *text) {
    return strcmp(n->text, text) == 0;
}
