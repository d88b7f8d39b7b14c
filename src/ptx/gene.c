/* gene.c - genes over PTX as text: reading, printing, and the reasons for refusing one. */
#include "ptx/inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *ptx_gene_kind_name(PtxGeneKind kind) {
    static const char *const names[PTX_GENE_KINDS] = {"copy", "delete",  "move",    "replace",
                                                      "swap", "operand", "constant"};
    return names[kind];
}

PtxBase *ptx_base_open(const char *ptx, size_t len, gi_err *err) {
    PtxModule *m = ptx_parse(ptx, len, err);
    if (m == NULL) return NULL;
    PtxBase *b = gi_alloc(sizeof *b);
    b->m = m;
    b->cfg = gi_alloc((size_t)m->n_funcs * sizeof *b->cfg);
    b->edit = gi_alloc((size_t)m->n_funcs * sizeof *b->edit);
    for (int i = 0; i < m->n_funcs; i++) {
        if (m->funcs[i].n_code == 0) continue;
        b->cfg[i] = ptx_cfg(&m->funcs[i]);
        ptx_edit_open(&b->edit[i], &m->funcs[i]);
    }
    return b;
}

void ptx_base_close(PtxBase *b) {
    if (b == NULL) return;
    for (int i = 0; i < b->m->n_funcs; i++) {
        if (b->cfg[i] == NULL) continue;
        ptx_cfg_free(b->cfg[i]);
        ptx_edit_close(&b->edit[i]);
    }
    free(b->cfg);
    free(b->edit);
    ptx_free(b->m);
    free(b);
}

const PtxModule *ptx_base_module(const PtxBase *b) {
    return b->m;
}

static const PtxFunc *func_of(const PtxBase *b, PtxSite at) {
    return &b->m->funcs[at.func];
}

static PtxInstr instr_of(const PtxBase *b, PtxSite at) {
    return func_of(b, at)->code[at.instr];
}

bool ptx_site_is_open(const PtxBase *b, PtxSite at) {
    return ptx_is_open(func_of(b, at), at.instr);
}

/* --- printing --- */

void ptx_site_print(const PtxBase *b, PtxSite at, gi_buf *out) {
    const PtxCfg *c = b->cfg[at.func];
    int block = c->block_of[at.instr];
    gi_buf_addf(out, "<ptx:%s.%d.%d>", func_of(b, at)->name, block + 1,
                at.instr - c->first[block] + 1);
}

static void print_number(const PtxOperand *n, gi_buf *out) {
    if (n->imm_kind == PTX_IMM_F32) gi_buf_addf(out, "0f%08" PRIX32, (uint32_t)n->imm);
    else if (n->imm_kind == PTX_IMM_F64) gi_buf_addf(out, "0d%016" PRIX64, n->imm);
    else gi_buf_addf(out, "%" PRId64, (int64_t)n->imm);
}

void ptx_gene_print(const PtxBase *b, const PtxGene *g, gi_buf *out) {
    static const char *const between[PTX_GENE_KINDS] = {"+", "", "-", "", "~", "", ""};
    ptx_site_print(b, g->at, out);
    gi_buf_adds(out, between[g->kind]);
    if (g->kind == PTX_DELETE) return;
    if (g->kind == PTX_OPERAND || g->kind == PTX_CONSTANT) gi_buf_addf(out, ".%d=", g->leaf);
    if (g->kind == PTX_CONSTANT) print_number(&g->number, out);
    else ptx_site_print(b, g->from, out);
    if (g->result) gi_buf_addf(out, ".%d", g->result + 1);
    if (g->user.instr < 0) return;
    gi_buf_adds(out, "/");
    ptx_site_print(b, g->user, out);
    gi_buf_addf(out, ".%d", g->user_leaf);
}

/* --- legality --- */

static void no_leaf(const PtxBase *b, PtxSite at, int leaf, gi_buf *why) {
    PtxInstr in = instr_of(b, at);
    gi_buf_addf(why, "there is no operand %d that could change in `", leaf);
    ptx_print_instr(func_of(b, at), &in, why);
    gi_buf_adds(why, "`");
}

/* The register of a leaf; -1: it is none, or there is no such leaf, which *why says. */
static int leaf_register(const PtxBase *b, PtxSite at, int leaf, gi_buf *why) {
    PtxInstr in = instr_of(b, at);
    PtxLeaves l;
    ptx_leaves(&in, &l);
    int r = leaf >= 0 && leaf < l.n ? ptx_leaf_reg(&in, &l.leaf[leaf]) : -1;
    if (r < 0) no_leaf(b, at, leaf, why);
    return r;
}

static int result_register(const PtxBase *b, PtxSite from, int result, gi_buf *why) {
    PtxInstr in = instr_of(b, from);
    PtxLeaves l;
    ptx_leaves(&in, &l);
    if (result >= 0 && result < l.n_writes) return *l.writes[result];
    gi_buf_addf(why, "there is no result %d of `", result + 1);
    ptx_print_instr(func_of(b, from), &in, why);
    gi_buf_adds(why, "`");
    return -1;
}

static void operand_reason(const PtxBase *b, const PtxGene *g, gi_buf *why) {
    int old = leaf_register(b, g->at, g->leaf, why);
    int new = old < 0 ? -1 : result_register(b, g->from, g->result, why);
    if (new < 0) return;
    const PtxKind *kind = b->edit[g->at.func].kind;
    if (kind[old] != kind[new]) gi_buf_adds(why, "the operand and the result are of other types");
    else if (old == new) gi_buf_adds(why, "it changes nothing");
}

static void constant_reason(const PtxBase *b, const PtxGene *g, gi_buf *why) {
    PtxInstr in = instr_of(b, g->at);
    PtxLeaves l;
    ptx_leaves(&in, &l);
    const PtxLeaf *leaf = g->leaf > 0 && g->leaf < l.n ? &l.leaf[g->leaf] : NULL;
    PtxImmKind wanted = leaf == NULL            ? PTX_IMM_INT
                        : leaf->type == PTX_F32 ? PTX_IMM_F32
                        : leaf->type == PTX_F64 ? PTX_IMM_F64
                                                : PTX_IMM_INT;
    if (leaf == NULL || !leaf->takes_number || leaf->op->negated) no_leaf(b, g->at, g->leaf, why);
    else if (g->number.imm_kind != wanted)
        gi_buf_addf(why, "operand %d is written as %s", g->leaf,
                    wanted == PTX_IMM_F32   ? "0f and 8 hexadecimal digits"
                    : wanted == PTX_IMM_F64 ? "0d and 16 hexadecimal digits"
                                            : "a whole number");
    else if (leaf->op->kind == PTX_OP_IMM && leaf->op->imm == g->number.imm)
        gi_buf_adds(why, "it changes nothing");
}

bool ptx_same_results(const PtxBase *b, PtxSite one, PtxSite other) {
    PtxInstr x = instr_of(b, one), y = instr_of(b, other);
    PtxLeaves l, m;
    ptx_leaves(&x, &l);
    ptx_leaves(&y, &m);
    const PtxKind *kind = b->edit[one.func].kind;
    for (int k = 0; k < l.n_writes && l.n_writes == m.n_writes; k++)
        if (kind[*l.writes[k]] != kind[*m.writes[k]]) return false;
    return l.n_writes == m.n_writes;
}

static bool closed(const PtxBase *b, PtxSite at, gi_buf *why) {
    if (ptx_site_is_open(b, at)) return false;
    PtxInstr in = instr_of(b, at);
    gi_buf_adds(why, "`");
    ptx_print_instr(func_of(b, at), &in, why);
    gi_buf_adds(why, "` is not open: it ends a block, or belongs to a call");
    return true;
}

static bool is_same(PtxSite a, PtxSite b) {
    return a.func == b.func && a.instr == b.instr;
}

/* Of two instructions. */
static void pair_reason(const PtxBase *b, const PtxGene *g, gi_buf *why) {
    if (closed(b, g->from, why)) return;
    if ((g->kind == PTX_REPLACE || g->kind == PTX_SWAP) && closed(b, g->at, why)) return;
    if (g->kind != PTX_COPY && is_same(g->at, g->from)) gi_buf_adds(why, "it changes nothing");
    else if (g->kind == PTX_REPLACE && !ptx_same_results(b, g->at, g->from))
        gi_buf_adds(why, "the two make results of other types");
    else if (g->user.instr >= 0) leaf_register(b, g->user, g->user_leaf, why);
}

void ptx_gene_reason(const PtxBase *b, const PtxGene *g, gi_buf *why) {
    bool pair = g->kind != PTX_DELETE && g->kind != PTX_CONSTANT;
    if (pair && g->from.func != g->at.func)
        gi_buf_adds(why, "the two are instructions of different functions");
    else if (g->user.instr >= 0 && g->user.func != g->at.func)
        gi_buf_adds(why, "what uses the copy is in another function");
    else if (g->kind == PTX_DELETE) closed(b, g->at, why);
    else if (g->kind == PTX_OPERAND) operand_reason(b, g, why);
    else if (g->kind == PTX_CONSTANT) constant_reason(b, g, why);
    else pair_reason(b, g, why);
}

/* --- reading --- */

typedef struct Reader {
    const PtxBase *b;
    const char *p, *gene; /* gene: where it begins */
    gi_err *err;
} Reader;

static int length(const char *gene) {
    size_t n = strcspn(gene, " \t\n");
    return n > 200 ? 200 : (int)n;
}

static bool refuse(const Reader *r, const char *why) {
    return gi_fail(r->err, "gene", "gene %.*s: %s", length(r->gene), r->gene, why);
}

static bool read_number(const char **p, int *out) {
    char *end;
    if (**p < '0' || **p > '9') return false;
    long n = strtol(*p, &end, 10);
    if (n > INT32_MAX) return false;
    *out = (int)n;
    *p = end;
    return true;
}

static int find_function(const PtxBase *b, const char *name, size_t len) {
    for (int i = 0; i < b->m->n_funcs; i++)
        if (strlen(b->m->funcs[i].name) == len && memcmp(b->m->funcs[i].name, name, len) == 0 &&
            b->cfg[i])
            return i;
    return -1;
}

static bool no_site(const char *text, gi_err *err, const char *why) {
    const char *end = strchr(text, '>');
    int n = end && end - text < 200 ? (int)(end - text) + 1 : length(text);
    return gi_fail(err, "gene", "%.*s %s", n, text, why);
}

bool ptx_site_parse(const PtxBase *b, const char *text, PtxSite *out, const char **end,
                    gi_err *err) {
    int block, n;
    if (strncmp(text, "<ptx:", 5) != 0) return no_site(text, err, "is no name of an instruction");
    const char *name = text + 5, *p = name;
    while (ptx_is_letter(*p)) p++;
    size_t len = (size_t)(p - name);
    if (*p++ != '.' || !read_number(&p, &block) || *p++ != '.' || !read_number(&p, &n) || *p != '>')
        return no_site(text, err, "is not <ptx:KERNEL.BLOCK.N>");
    int func = find_function(b, name, len);
    if (func < 0) return no_site(text, err, "names no function of the PTX");
    const PtxCfg *c = b->cfg[func];
    if (block < 1 || block > c->n_blocks)
        return no_site(text, err, "names no block: there are fewer");
    if (n < 1 || n > c->first[block] - c->first[block - 1])
        return no_site(text, err, "names no instruction: the block has fewer");
    *out = (PtxSite){func, c->first[block - 1] + n - 1};
    if (end) *end = p + 1;
    return true;
}

static bool site(Reader *r, PtxSite *out) {
    gi_err why;
    if (ptx_site_parse(r->b, r->p, out, &r->p, &why)) return true;
    return refuse(r, why.message);
}

static bool hexadecimal(Reader *r, PtxGene *g, int digits) {
    char text[17] = {0}, *end;
    if (strspn(r->p + 2, "0123456789abcdefABCDEF") != (size_t)digits)
        return refuse(r, "its number has not as many digits as its type has");
    memcpy(text, r->p + 2, (size_t)digits);
    g->number.imm = strtoull(text, &end, 16);
    g->number.imm_kind = digits == 8 ? PTX_IMM_F32 : PTX_IMM_F64;
    r->p += 2 + digits;
    return true;
}

/* What a leaf becomes: a number, or what an instruction makes. */
static bool new_operand(Reader *r, PtxGene *g) {
    g->kind = PTX_CONSTANT;
    g->number = (PtxOperand){.kind = PTX_OP_IMM, .func = -1};
    if (strncmp(r->p, "0f", 2) == 0) return hexadecimal(r, g, 8);
    if (strncmp(r->p, "0d", 2) == 0) return hexadecimal(r, g, 16);
    if (*r->p != '<') {
        char *end;
        long long n = strtoll(r->p, &end, 10);
        if (end == r->p || *r->p == ' ') return refuse(r, "'=' is followed by nothing");
        g->number.imm = (uint64_t)n;
        r->p = end;
        return true;
    }
    g->kind = PTX_OPERAND;
    if (!site(r, &g->from)) return false;
    if (*r->p != '.') return true;
    r->p++;
    if (!read_number(&r->p, &g->result) || g->result == 0)
        return refuse(r, "its result has no number, from 1");
    g->result--;
    return true;
}

static bool user(Reader *r, PtxGene *g) {
    if (*r->p != '/') return true;
    r->p++;
    if (!site(r, &g->user)) return false;
    if (*r->p++ != '.' || !read_number(&r->p, &g->user_leaf))
        return refuse(r, "what uses the copy is an operand: <C>.2");
    return true;
}

/* Behind the first name. */
static bool rest(Reader *r, PtxGene *g) {
    switch (*r->p) {
    case '<': g->kind = PTX_REPLACE; return site(r, &g->from);
    case '+':
        g->kind = PTX_COPY;
        r->p++;
        return site(r, &g->from) && user(r, g);
    case '-':
        g->kind = PTX_MOVE;
        r->p++;
        return site(r, &g->from);
    case '~':
        g->kind = PTX_SWAP;
        r->p++;
        return site(r, &g->from);
    case '.':
        r->p++;
        if (!read_number(&r->p, &g->leaf) || *r->p++ != '=')
            return refuse(r, "an operand is changed by <A>.2=<B> or <A>.2=7");
        return new_operand(r, g);
    default: g->kind = PTX_DELETE; return true;
    }
}

bool ptx_gene_parse(const PtxBase *b, const char *text, PtxGene *out, const char **end,
                    gi_err *err) {
    Reader r = {b, text, text, err};
    PtxGene g = {.user = {-1, -1}};
    if (!site(&r, &g.at) || !rest(&r, &g)) return false;
    if (*r.p && !strchr(" \t\n", *r.p)) return refuse(&r, "something follows its end");
    gi_buf why = {0};
    ptx_gene_reason(b, &g, &why);
    bool legal = why.len == 0 || refuse(&r, why.data);
    gi_buf_free(&why);
    if (!legal) return false;
    *out = g;
    if (end) *end = r.p;
    return true;
}
