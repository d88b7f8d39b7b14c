/* source.c - see source.h: words and what they are, branches of #if, nodes. */
#include "source/source.h"

#include "source/lex.h"
#include "source/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

struct SourceWords {
    Names names;
    unsigned *classes; /* by number */
    int n, cap;
};

static const struct {
    unsigned classes;
    const char *words;
} known_words[] = {
    {WORD_TYPE,
     "void bool char short int long float double signed unsigned auto size_t ptrdiff_t int8_t "
     "int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uchar ushort uint ulong half "
     "__half __half2 half2 bfloat16 __nv_bfloat16 dim3 cudaTextureObject_t cudaSurfaceObject_t "
     "clock_t intptr_t uintptr_t"},
    {WORD_COMBINED, "unsigned signed long short int char double"},
    {WORD_STORAGE,
     "static extern register constexpr constinit inline __inline__ __shared__ __constant__ "
     "__managed__ __device__ __host__ __global__ __restrict__ __restrict restrict typename struct "
     "class union enum volatile const thread_local __forceinline__ __noinline__ mutable "
     "__grid_constant__"},
    {WORD_QUALIFIER, "const volatile __restrict__ __restrict restrict struct typename"},
    {WORD_ATTRIBUTE, "__align__ alignas __attribute__ __declspec __launch_bounds__ __maxnreg__ "
                     "__cluster_dims__ __block_size__"},
    {WORD_TYPE_OF, "decltype typeof __typeof__"},
    {WORD_NO_VALUE, "new delete throw return if for while do else switch case default goto break "
                    "continue asm __asm__ template typename operator using namespace struct class "
                    "union enum"},
    {WORD_TAG, "struct class union enum"},
    {WORD_CAST, "static_cast reinterpret_cast const_cast"},
    {WORD_NO_NAME,
     "decltype typeof __typeof__ noexcept explicit throw requires if while for switch"},
};
static const char *const vector_bases[] = {"char",  "uchar",    "short",     "ushort",
                                           "int",   "uint",     "long",      "ulong",
                                           "float", "longlong", "ulonglong", "double"};

static int word_number(Source *s, const char *text, size_t len) {
    struct SourceWords *w = s->words;
    int number = names_add(&w->names, text, len);
    while (w->n <= number) {
        gi_grow(w->classes, w->n, w->cap);
        w->classes[w->n++] = 0;
    }
    return number;
}

static void words_know(Source *s) {
    for (size_t k = 0; k < sizeof known_words / sizeof *known_words; k++) {
        const char *at = known_words[k].words;
        while (*at) {
            size_t n = strcspn(at, " ");
            int number = word_number(s, at, n);
            s->words->classes[number] |= known_words[k].classes;
            at += n + (at[n] == ' ');
        }
    }
    for (size_t k = 0; k < sizeof vector_bases / sizeof *vector_bases; k++)
        for (int n = 1; n <= 4; n++) {
            char name[16];
            int len = snprintf(name, sizeof name, "%s%d", vector_bases[k], n);
            int number = word_number(s, name, (size_t)len);
            s->words->classes[number] |= WORD_TYPE;
        }
}

static int token_number(Source *s, const SourceToken *t) {
    const char *text = s->text + t->start;
    size_t len = (size_t)(t->end - t->start);
    if (t->kind != TOK_NAME || !memchr(text, '\\', len)) return word_number(s, text, len);
    gi_buf clean = {0}; /* without what parts it in two lines */
    for (size_t i = 0; i < len; i++)
        if (text[i] != '\\' && text[i] != '\n' && text[i] != '\r') gi_buf_add(&clean, text + i, 1);
    int number = word_number(s, clean.data, clean.len);
    gi_buf_free(&clean);
    return number;
}

static void number_words(Source *s) {
    s->word = gi_alloc(((size_t)s->tokens.n + 1) * sizeof *s->word);
    for (int i = 0; i < s->tokens.n && !source_stopped(NULL); i++) {
        TokenKind kind = s->tokens.v[i].kind;
        bool has_word = kind == TOK_NAME || kind == TOK_NUMBER || kind == TOK_PUNCT;
        s->word[i] = has_word ? token_number(s, &s->tokens.v[i]) : -1;
    }
}

const char *source_word(const Source *s, int i) {
    bool has = i >= 0 && i < s->tokens.n && s->word[i] >= 0;
    return has ? s->words->names.text[s->word[i]] : "";
}

bool source_is(const Source *s, int i, const char *word) {
    return strcmp(source_word(s, i), word) == 0;
}

static unsigned classes_of(const Source *s, int i) {
    bool is_word = i >= 0 && i < s->tokens.n && s->tokens.v[i].kind == TOK_NAME;
    return is_word ? s->words->classes[s->word[i]] : 0;
}

const char *source_type_word(const Source *s, int i) {
    for (int k = 0; k < s->words->n; k++)
        if ((s->words->classes[k] & WORD_TYPE) && i-- == 0) return s->words->names.text[k];
    return NULL;
}

bool source_declares_type(const Source *s, int i) {
    return (classes_of(s, i) & WORD_OF_FILE) != 0;
}

bool source_is_storage(const Source *s, int i) {
    return (classes_of(s, i) & WORD_STORAGE) != 0;
}

void word_add(Source *s, int i, unsigned classes) {
    if (i >= 0 && i < s->tokens.n && s->tokens.v[i].kind == TOK_NAME)
        s->words->classes[s->word[i]] |= classes;
}

/* ---- what the reader asks ---- */

bool is(const Reader *r, int i, const char *word) {
    return source_is(r->s, i, word);
}

bool is_one_of(const Reader *r, int i, const char *const *words) {
    for (; *words; words++)
        if (is(r, i, *words)) return true;
    return false;
}

bool is_class(const Reader *r, int i, unsigned classes) {
    return (classes_of(r->s, i) & classes) != 0;
}

bool is_kind(const Reader *r, int i, TokenKind kind) {
    return i >= 0 && i < r->s->tokens.n && r->s->tokens.v[i].kind == kind;
}

int match_of(const Reader *r, int i) {
    return i >= 0 && i < r->s->tokens.n ? r->s->tokens.v[i].match : -1;
}

int past(const Reader *r, int i) {
    int match = match_of(r, i);
    return match > i ? match + 1 : r->stop + 1;
}

int fail(Reader *r, const char *why) {
    if (r->why == NULL) r->why = why, r->why_at = r->at;
    return -1;
}

int source_past_attribute(const Source *s, int i) {
    const SourceToken *t = s->tokens.v;
    if (i < 0 || i + 1 >= s->tokens.n) return i;
    bool brackets = source_is(s, i, "[") && source_is(s, i + 1, "[") && t[i].match > i &&
                    t[i + 1].match == t[i].match - 1;
    if (brackets) return t[i].match + 1;
    bool has = (classes_of(s, i) & WORD_ATTRIBUTE) && source_is(s, i + 1, "(");
    return has && t[i + 1].match > i ? t[i + 1].match + 1 : i;
}

/* ---- nodes ---- */

void not_known(Reader *r, int node, const char *why, int at) {
    if (r->s->node[node].why) return;
    r->s->node[node].why = why;
    r->s->node[node].why_at = at;
}

int node_new(Reader *r, SourceKind kind, int first, int last) {
    Source *s = r->s;
    gi_grow(s->node, s->n_node, s->cap_node);
    s->node[s->n_node] = (SourceNode){.kind = kind,
                                      .first = first,
                                      .last = last,
                                      .own = first,
                                      .token = -1,
                                      .open = -1,
                                      .close = -1,
                                      .semi1 = -1,
                                      .semi2 = -1,
                                      .parent = -1,
                                      .child = -1,
                                      .tail = -1,
                                      .next = -1,
                                      .decl = -1,
                                      .why_at = -1};
    return s->n_node++;
}

void adopt(Reader *r, int parent, int child, SourceRole role) {
    SourceNode *node = r->s->node;
    if (child < 0) return;
    node[child].parent = parent;
    node[child].role = role;
    if (node[parent].tail >= 0) node[node[parent].tail].next = child;
    else node[parent].child = child;
    node[parent].tail = child;
}

void unread(Reader *r, int n_node, int n_decl) {
    r->s->n_node = n_node;
    r->s->n_decl = n_decl;
}

bool source_in_header(const Source *s, int node) {
    for (; node > 0 && s->node[node].kind != SRC_LAMBDA; node = s->node[node].parent) {
        SourceRole role = s->node[node].role;
        SourceKind above = s->node[s->node[node].parent].kind;
        if (above < SRC_BLOCK) continue;
        if (above >= SRC_FOR && above <= SRC_SWITCH)
            return role == ROLE_INIT || role == ROLE_CONDITION || role == ROLE_STEP;
        if (above != SRC_EXPRESSION && above != SRC_DECLARATION && above != SRC_DECLARED)
            return false;
    }
    return false;
}

int source_child(const Source *s, int node, SourceRole role) {
    int child = s->node[node].child;
    while (child >= 0 && s->node[child].role != role) child = s->node[child].next;
    return child;
}

const char *source_kind_name(SourceKind kind) {
    static const char *const names[SRC_KINDS] = {
        "name",       "number", "call",      "index",    "member",   "unary",    "postfix",
        "binary",     "assign", "choice",    "cast",     "list",     "launch",   "lambda",
        "block",      "for",    "while",     "do",       "if",       "switch",   "declaration",
        "expression", "return", "break",     "continue", "goto",     "label",    "case",
        "type",       "empty",  "directive", "unknown",  "declared", "function", "namespace",
        "class",      "file"};
    return names[kind];
}

/* ---- branches of #if ---- */

static bool directive_is(const Source *s, int i, const char *word) {
    const char *at = s->text + s->tokens.v[i].start + 1, *end = s->text + s->tokens.v[i].end;
    size_t n = strlen(word);
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0 &&
           ((size_t)(end - at) == n || !isalnum((unsigned char)at[n]));
}

static int branch_new(Source *s, int directive, int group, int around) {
    gi_grow(s->branches, s->n_branches, s->cap_branches);
    s->branches[s->n_branches] = (SourceBranch){directive, group, around};
    return s->n_branches++;
}

static void find_branches(Source *s) {
    int now = branch_new(s, -1, 0, -1), groups = 0;
    s->branch = gi_alloc(((size_t)s->tokens.n + 1) * sizeof *s->branch);
    for (int i = 0; i < s->tokens.n; i++) {
        bool directive = s->tokens.v[i].kind == TOK_DIRECTIVE;
        bool begins = directive && (directive_is(s, i, "if") || directive_is(s, i, "ifdef") ||
                                    directive_is(s, i, "ifndef"));
        bool goes_on = directive && (directive_is(s, i, "else") || directive_is(s, i, "elif"));
        if (begins) now = branch_new(s, i, ++groups, now);
        else if (goes_on && now)
            now = branch_new(s, i, s->branches[now].group, s->branches[now].around);
        else if (directive && now && directive_is(s, i, "endif")) now = s->branches[now].around;
        s->branch[i] = now;
    }
}

/* ---- from end to end ---- */

/* Names that the text declares as types, wherever it does. */
static void find_types(Reader *r) {
    Source *s = r->s;
    for (int i = 0; i < s->tokens.n && !source_stopped(NULL); i++) {
        if (is_class(r, i, WORD_TAG) || is(r, i, "typename")) {
            int name = i + 1;
            while (is(r, name, "class") || source_past_attribute(s, name) > name)
                name = is(r, name, "class") ? name + 1 : source_past_attribute(s, name);
            word_add(s, name, WORD_OF_FILE);
            i = name - 1;
        } else if (is(r, i, "using") && is(r, i + 2, "=")) {
            word_add(s, i + 1, WORD_OF_FILE);
        } else if (is(r, i, "typedef")) {
            int k = i;
            while (k < s->tokens.n && !is(r, k, ";"))
                k = is(r, k, "{") || is(r, k, "(") ? past(r, k) : k + 1;
            word_add(s, k - 1, WORD_OF_FILE);
            i = k; /* every token is looked at once */
        }
    }
}

static void know_words(Source *out) {
    out->words = gi_alloc(sizeof *out->words);
    words_know(out);
    number_words(out);
}

static void read_words(const char *text, int from, int to, int line, Source *out) {
    *out = (Source){.text = text};
    source_tokens(text, from, to, line, &out->tokens);
    know_words(out);
    find_branches(out);
}

void source_of_tokens(const char *text, SourceTokens tokens, Source *out) {
    *out = (Source){.text = text, .tokens = tokens};
    know_words(out);
    Reader r = {.s = out, .stop = tokens.n - 1};
    find_types(&r);
}

void source_read(const char *text, int len, Source *out) {
    read_words(text, 0, len, 1, out);
    Reader r = {.s = out, .stop = out->tokens.n - 1};
    find_types(&r);
    read_file(&r);
}

void source_read_directive(const Source *s, int token, Source *out) {
    const SourceToken *t = &s->tokens.v[token];
    read_words(s->text, t->start + 1, t->end, t->line, out);
    Reader r = {.s = out, .stop = out->tokens.n - 1};
    read_directive(&r);
}

int source_read_expression(Source *s) {
    Reader r = {.s = s, .stop = s->tokens.n - 1};
    return read_expression(&r, 0, r.stop, false);
}

void source_free(Source *s) {
    if (s->words) {
        names_free(&s->words->names);
        free(s->words->classes);
    }
    source_tokens_free(&s->tokens);
    void *all[] = {s->words, s->word, s->branch, s->node, s->decl, s->branches};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    *s = (Source){0};
}
