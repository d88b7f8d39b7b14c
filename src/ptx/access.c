/* access.c - what memory a kernel may read and write, told by where its addresses come from.
**
** Each register has the set of sources that its value may be made of: words of the parameters, the
** address of a variable, memory of the kernel's own (shared, local), or 64 bits that were loaded
** from memory, which may be a pointer. Order and control do not count: an instruction adds the
** sources of what it reads to those of what it writes, until nothing changes any more (Andersen,
** "Program Analysis and Specialization for the C Programming Language", 1994, without fields).
** 32 bits from memory are taken for an index, unless two of them are put together.
*/
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 100 }; /* loops in loops need a few */

#define WORDS    (((uint64_t)1 << PTX_WORDS) - 1)
#define HALF     ((uint64_t)1 << 60) /* 32 bits from memory */
#define OWN      ((uint64_t)1 << 61)
#define VARIABLE PTX_FROM_VARIABLE
#define UNKNOWN  PTX_FROM_UNKNOWN

typedef struct Sources {
    const PtxFunc *f;
    const char *own;          /* variables whose names begin so are the kernel's own */
    uint64_t *of;             /* registers */
    uint32_t word[PTX_WORDS]; /* where these are among the parameters: bytes */
    int n_words;
    bool changed;
} Sources;

/* --- parameters --- */

/* Where a parameter is among all; -1: it is none. */
static int64_t offset_of(const PtxFunc *f, const PtxVar *var) {
    uint64_t at = 0;
    for (int i = 0; i < f->n_params; i++) {
        const PtxVar *p = &f->params[i];
        uint64_t align = p->align > 0 ? (uint64_t)p->align : 1;
        at = (at + align - 1) / align * align;
        if (p == var) return (int64_t)at;
        at += p->size;
    }
    return -1;
}

static uint64_t source_of_word(Sources *s, uint32_t at) {
    for (int i = 0; i < s->n_words; i++)
        if (s->word[i] == at) return (uint64_t)1 << i;
    if (s->n_words == PTX_WORDS) return UNKNOWN; /* too many */
    s->word[s->n_words] = at;
    return (uint64_t)1 << s->n_words++;
}

/* All words that so many bytes of a parameter lie in. */
static uint64_t source_of_param(Sources *s, const PtxOperand *base, int64_t offset, uint64_t size) {
    int64_t at = offset_of(s->f, base->var);
    if (at < 0 || offset < 0 || (uint64_t)offset > base->var->size ||
        size > base->var->size - (uint64_t)offset)
        return UNKNOWN;
    uint64_t first = (uint64_t)(at + offset) / 8 * 8, sources = 0;
    for (uint64_t word = first; word < (uint64_t)(at + offset) + size; word += 8)
        sources |= source_of_word(s, (uint32_t)word);
    return sources;
}

/* --- operands --- */

static PtxSpace space_of(const PtxInstr *in) {
    static const struct {
        const char *word;
        PtxSpace space;
    } words[] = {{"global", PTX_GLOBAL},
                 {"shared shared::cta shared::cluster", PTX_SHARED},
                 {"local", PTX_LOCAL},
                 {"const", PTX_CONST},
                 {"param param::entry param::func", PTX_PARAM}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_has_mod(in, words[i].word)) return words[i].space;
    return PTX_GENERIC;
}

/* Of the address of a variable or a function. */
static uint64_t source_of_symbol(const Sources *s, const PtxOperand *op) {
    if (op->var == NULL) return op->func >= 0 ? 0 : UNKNOWN;
    if (s->own && strncmp(op->var->name, s->own, strlen(s->own)) == 0) return OWN;
    switch (op->var->space) {
    case PTX_SHARED:
    case PTX_CONST: /* which no kernel writes */
    case PTX_LOCAL: return OWN;
    case PTX_GLOBAL: return VARIABLE;
    default: return UNKNOWN; /* a parameter's */
    }
}

static uint64_t sources_of(const Sources *s, const PtxOperand *op) {
    uint64_t all = 0;
    if (op->kind == PTX_OP_REG) all = s->of[op->reg];
    if (op->kind == PTX_OP_SYMBOL) all = source_of_symbol(s, op);
    for (int i = 0; i < op->n_elems; i++) all |= sources_of(s, &op->elems[i]);
    return all;
}

static void add(Sources *s, const PtxOperand *to, uint64_t sources) {
    if (to->kind == PTX_OP_REG && s->f->regs[to->reg].type != PTX_PRED &&
        (s->of[to->reg] | sources) != s->of[to->reg]) {
        s->of[to->reg] |= sources;
        s->changed = true;
    }
    for (int i = 0; i < to->n_elems; i++) add(s, &to->elems[i], sources);
}

/* --- instructions --- */

/* The type of what it moves: its last modifier that is one. */
static PtxType type_of(const PtxInstr *in) {
    PtxType type = PTX_NONE;
    for (int i = in->n_mods - 1; i >= 0; i--)
        if (ptx_type_parse(in->mods[i], &type)) return type;
    return PTX_NONE;
}

static uint64_t n_moved(const PtxInstr *in) {
    return ptx_has_mod(in, "v2") ? 2 : ptx_has_mod(in, "v4") ? 4 : ptx_has_mod(in, "v8") ? 8 : 1;
}

/* What may be in a value that was loaded. */
static uint64_t source_of_load(Sources *s, const PtxInstr *in) {
    PtxType type = type_of(in);
    const PtxOperand *address = in->n_args > 1 ? &in->args[1] : NULL;
    bool is_param = ptx_is(in, "ld") && space_of(in) == PTX_PARAM;
    if (is_param && address && address->n_elems == 1 && address->elems[0].kind == PTX_OP_SYMBOL)
        return source_of_param(s, &address->elems[0], address->offset + address->elems[0].offset,
                               ptx_type_size(type) * n_moved(in));
    if (is_param) return UNKNOWN;
    if (type == PTX_F64) return 0;
    return ptx_type_size(type) >= 8 || type == PTX_NONE ? UNKNOWN : HALF;
}

static uint64_t result_of(Sources *s, const PtxInstr *in) {
    uint64_t all = 0;
    if (ptx_is(in, "ld ldu atom tex tld4 suld call")) return source_of_load(s, in);
    for (int a = 0; a < in->n_args; a++)
        if (!ptx_is_dest(in, a)) all |= sources_of(s, &in->args[a]);
    bool is_joined = ptx_is(in, "mov") && in->n_args == 2 && in->args[1].kind == PTX_OP_VECTOR;
    return is_joined && (all & HALF) ? all | UNKNOWN : all;
}

/* False: it does not come to an end. */
static bool flow(Sources *s) {
    s->changed = true;
    for (int round = 0; s->changed && round < MOST_ROUNDS; round++) {
        s->changed = false;
        for (int i = 0; i < s->f->n_code; i++) {
            const PtxInstr *in = &s->f->code[i];
            for (int a = 0; a < in->n_args; a++)
                if (ptx_is_dest(in, a)) add(s, &in->args[a], result_of(s, in));
        }
    }
    return !s->changed;
}

/* --- accesses --- */

static void note(PtxAccess *out, const Sources *s, uint64_t sources, bool is_write) {
    PtxReached *r = is_write ? &out->writes : &out->reads;
    if (sources & UNKNOWN || (sources & (WORDS | VARIABLE | OWN)) == 0) out->is_unknown = true;
    if (sources & VARIABLE) r->variables = true;
    if ((sources & WORDS) == 0) return;
    PtxWords words = {.may_be_other = (sources & (VARIABLE | OWN)) != 0};
    for (int i = 0; i < s->n_words; i++)
        if (sources >> i & 1) words.at[words.n++] = s->word[i];
    for (int i = 0; i < r->n; i++)
        if (r->list[i].n == words.n && r->list[i].may_be_other == words.may_be_other &&
            memcmp(r->list[i].at, words.at, (size_t)words.n * sizeof *words.at) == 0)
            return;
    gi_grow(r->list, r->n, r->cap);
    r->list[r->n++] = words;
}

static void note_address(PtxAccess *out, const Sources *s, const PtxInstr *in,
                         const PtxOperand *address, bool reads, bool writes) {
    PtxSpace space = space_of(in);
    if (space == PTX_SHARED || space == PTX_LOCAL || space == PTX_PARAM || space == PTX_CONST)
        return;
    uint64_t sources = sources_of(s, address);
    if (reads) note(out, s, sources, false);
    if (writes) note(out, s, sources, true);
}

/* What reaches memory in no way that is known here makes all unknown. */
static void note_access(PtxAccess *out, const Sources *s, const PtxInstr *in) {
    static const char harmless[] =
        "prefetch prefetchu createpolicy applypriority fence ldmatrix stmatrix mbarrier";
    bool is_matrix = ptx_is(in, "wmma");
    bool is_load = ptx_is(in, "ld ldu") || (is_matrix && ptx_has_mod(in, "load"));
    bool is_store = ptx_is(in, "st red") || (is_matrix && ptx_has_mod(in, "store"));
    bool is_copy = ptx_is(in, "cp") && !ptx_has_mod(in, "bulk");
    if (ptx_is(in, "call tex tld4 suld sust sured")) out->is_unknown = true;
    for (int a = 0; a < in->n_args; a++) {
        const PtxOperand *op = &in->args[a];
        if (op->kind != PTX_OP_ADDR || ptx_is(in, harmless)) continue;
        if (is_load) note_address(out, s, in, op, true, false);
        else if (is_store) note_address(out, s, in, op, ptx_is(in, "red"), true);
        else if (ptx_is(in, "atom")) note_address(out, s, in, op, true, true);
        else if (is_copy && a > 0) note(out, s, sources_of(s, op), false); /* into shared memory */
        else if (!is_copy) out->is_unknown = true;
    }
}

bool ptx_access(const PtxModule *m, const char *kernel, const char *own, PtxAccess *out) {
    const PtxFunc *f = ptx_find_func(m, kernel);
    *out = (PtxAccess){0};
    if (f == NULL || !f->is_entry) return false;
    Sources s = {.f = f, .own = own, .of = gi_alloc((size_t)(f->n_regs + 1) * sizeof *s.of)};
    out->is_unknown = !flow(&s) || f->refused != NULL;
    for (int i = 0; i < f->n_code; i++) note_access(out, &s, &f->code[i]);
    free(s.of);
    return true;
}

/* What addresses of an instruction are made of, besides memory of the kernel's own. */
static uint64_t sources_at(const Sources *s, const PtxInstr *in) {
    uint64_t all = 0;
    for (int a = 0; a < in->n_args && space_of(in) != PTX_PARAM; a++)
        if (in->args[a].kind == PTX_OP_ADDR) all |= sources_of(s, &in->args[a]);
    return all & (WORDS | VARIABLE | UNKNOWN);
}

PtxSources ptx_sources(const PtxFunc *f) {
    Sources s = {.f = f, .of = gi_alloc((size_t)(f->n_regs + 1) * sizeof *s.of)};
    PtxSources out = {.of = gi_alloc((size_t)(f->n_code + 1) * sizeof *out.of)};
    bool is_whole = flow(&s);
    for (int i = 0; i < f->n_code; i++)
        out.of[i] = is_whole ? sources_at(&s, &f->code[i]) : UNKNOWN;
    memcpy(out.word, s.word, sizeof out.word);
    out.n_words = s.n_words;
    free(s.of);
    return out;
}

void ptx_access_free(PtxAccess *a) {
    free(a->reads.list);
    free(a->writes.list);
}
