/* base.c - the module whose instructions genes name, and the genes as text: see genes.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/func.h"

const char *llvm_gene_kind_name(LlvmGeneKind kind) {
    static const char *const names[LLVM_GENE_KINDS] = {"copy", "delete",  "move",    "replace",
                                                       "swap", "operand", "constant"};
    return names[kind];
}

LlvmBase *llvm_base_open(Llvm *l, const void *bitcode, size_t len, gi_err *err) {
    LlvmModule *m = llvm_module_open(l, bitcode, len, err);
    if (m == NULL) return NULL;
    LlvmBase *b = gi_alloc(sizeof *b);
    b->m = m;
    b->funcs = llvm_funcs(m, &b->n_funcs);
    return b;
}

void llvm_base_close(LlvmBase *b) {
    if (b == NULL) return;
    llvm_funcs_free(b->funcs, b->n_funcs);
    llvm_module_close(b->m);
    free(b);
}

int llvm_base_funcs(const LlvmBase *b) {
    return b->n_funcs;
}

int llvm_base_size(const LlvmBase *b, int func) {
    return b->funcs[func].n;
}

static LlvmValue *value_of(const LlvmBase *b, LlvmSite at) {
    return b->funcs[at.func].code[at.instr];
}

bool llvm_site_is_open(const LlvmBase *b, LlvmSite at) {
    const Llvm *l = b->m->llvm;
    LlvmValue *v = value_of(b, at);
    const int kind = l->GetTypeKind(l->TypeOf(v)), opcode = l->GetInstructionOpcode(v);
    return kind != LLVM_TYPE_TOKEN && opcode != LLVM_PHI && opcode != LLVM_ALLOCA &&
           !llvm_is_terminator(l, v);
}

/* Without its metadata, which ends a line: ", !dbg !7". */
void llvm_site_text(const LlvmBase *b, LlvmSite at, gi_buf *out) {
    char *text = b->m->llvm->PrintValueToString(value_of(b, at));
    const char *from = text + strspn(text, " "), *end = strstr(from, ", !");
    size_t n = end ? (size_t)(end - from) : strlen(from);
    gi_buf_add(out, from, n);
    b->m->llvm->DisposeMessage(text);
}

/* The file of a function, or of an instruction; NULL. */
static const char *file_of(const LlvmBase *b, LlvmValue *v, unsigned *len) {
    *len = 0;
    return b->m->llvm->GetDebugLocFilename(v, len);
}

/* Lines of the source alone: the kernel's file, which is the last function's. */
int llvm_site_line(const LlvmBase *b, LlvmSite at) {
    unsigned len, own_len;
    const char *file = file_of(b, value_of(b, at), &len), *own = NULL;
    for (int i = b->n_funcs - 1; i >= 0 && own == NULL; i--)
        own = file_of(b, b->funcs[i].value, &own_len);
    if (file == NULL || own == NULL || len != own_len || memcmp(file, own, len) != 0) return 0;
    return (int)b->m->llvm->GetDebugLocLine(value_of(b, at));
}

/* --- printing --- */

void llvm_site_print(const LlvmBase *b, LlvmSite at, gi_buf *out) {
    const LlvmFunc *f = &b->funcs[at.func];
    const int block = f->block[at.instr];
    gi_buf_addf(out, "<llvm:%s.%d.%d>", f->name, block + 1, at.instr - f->first[block] + 1);
}

static void print_number(const LlvmNumber *n, gi_buf *out) {
    if (n->kind == LLVM_F32) gi_buf_addf(out, "0f%08" PRIX32, (uint32_t)n->bits);
    else if (n->kind == LLVM_F64) gi_buf_addf(out, "0d%016" PRIX64, n->bits);
    else gi_buf_addf(out, "%" PRId64, (int64_t)n->bits);
}

void llvm_gene_print(const LlvmBase *b, const LlvmGene *g, gi_buf *out) {
    static const char *const between[LLVM_GENE_KINDS] = {"+", "", "-", "", "~", "", ""};
    llvm_site_print(b, g->at, out);
    gi_buf_adds(out, between[g->kind]);
    if (g->kind == LLVM_DELETE) return;
    if (g->kind == LLVM_OPERAND || g->kind == LLVM_CONSTANT)
        gi_buf_addf(out, ".%d=", g->operand + 1);
    if (g->kind == LLVM_CONSTANT) print_number(&g->number, out);
    else llvm_site_print(b, g->from, out);
    if (g->user.instr < 0) return;
    gi_buf_adds(out, "/");
    llvm_site_print(b, g->user, out);
    gi_buf_addf(out, ".%d", g->user_operand + 1);
}

/* --- legality --- */

LlvmValue *llvm_number(const Llvm *l, LlvmType *type, const LlvmNumber *n) {
    const int kind = l->GetTypeKind(type);
    if (n->kind == LLVM_WHOLE && kind == LLVM_TYPE_INTEGER && l->GetIntTypeWidth(type) <= 64)
        return l->ConstInt(type, n->bits, 1);
    if (n->kind == LLVM_F32 && kind == LLVM_TYPE_FLOAT) {
        float x;
        uint32_t bits = (uint32_t)n->bits;
        memcpy(&x, &bits, 4);
        return l->ConstReal(type, (double)x);
    }
    if (n->kind != LLVM_F64 || kind != LLVM_TYPE_DOUBLE) return NULL;
    double x;
    memcpy(&x, &n->bits, 8);
    return l->ConstReal(type, x);
}

static void quote(const LlvmBase *b, LlvmSite at, gi_buf *why) {
    gi_buf_adds(why, "`");
    llvm_site_text(b, at, why);
    gi_buf_adds(why, "`");
}

static bool closed(const LlvmBase *b, LlvmSite at, gi_buf *why) {
    if (llvm_site_is_open(b, at)) return false;
    quote(b, at, why);
    gi_buf_adds(why, " is not open: it ends a block, joins values, or makes a local variable");
    return true;
}

static bool no_operand(const LlvmBase *b, LlvmSite at, int operand, gi_buf *why) {
    if (llvm_is_replaceable(b->m->llvm, value_of(b, at), operand)) return false;
    gi_buf_addf(why, "there is no operand %d that could change in ", operand + 1);
    quote(b, at, why);
    return true;
}

static LlvmType *operand_type(const LlvmBase *b, LlvmSite at, int operand) {
    const Llvm *l = b->m->llvm;
    return l->TypeOf(l->GetOperand(value_of(b, at), (unsigned)operand));
}

static void operand_reason(const LlvmBase *b, const LlvmGene *g, gi_buf *why) {
    const Llvm *l = b->m->llvm;
    if (no_operand(b, g->at, g->operand, why)) return;
    if (operand_type(b, g->at, g->operand) != l->TypeOf(value_of(b, g->from)))
        gi_buf_adds(why, "the operand and the result are of other types");
    else if (l->GetOperand(value_of(b, g->at), (unsigned)g->operand) == value_of(b, g->from))
        gi_buf_adds(why, "it changes nothing");
}

static void constant_reason(const LlvmBase *b, const LlvmGene *g, gi_buf *why) {
    const Llvm *l = b->m->llvm;
    if (no_operand(b, g->at, g->operand, why)) return;
    LlvmType *type = operand_type(b, g->at, g->operand);
    LlvmValue *number = llvm_number(l, type, &g->number);
    const int kind = l->GetTypeKind(type);
    if (number == NULL)
        gi_buf_addf(why, "operand %d is %s", g->operand + 1,
                    kind == LLVM_TYPE_FLOAT     ? "written as 0f and 8 hexadecimal digits"
                    : kind == LLVM_TYPE_DOUBLE  ? "written as 0d and 16 hexadecimal digits"
                    : kind == LLVM_TYPE_INTEGER ? "a whole number"
                                                : "of a type without numbers");
    else if (number == l->GetOperand(value_of(b, g->at), (unsigned)g->operand))
        gi_buf_adds(why, "it changes nothing");
}

void llvm_gene_reason(const LlvmBase *b, const LlvmGene *g, gi_buf *why) {
    const Llvm *l = b->m->llvm;
    const bool names_two = g->kind != LLVM_DELETE && g->kind != LLVM_CONSTANT;
    if (names_two && g->at.func != g->from.func) {
        gi_buf_adds(why, "it names instructions of two functions");
    } else if (g->kind == LLVM_OPERAND) {
        operand_reason(b, g, why);
    } else if (g->kind == LLVM_CONSTANT) {
        constant_reason(b, g, why);
    } else if (g->kind == LLVM_DELETE && llvm_is_phi(l, value_of(b, g->at))) {
        return; /* what reads it reads something else */
    } else if (names_two && closed(b, g->from, why)) {
        return;
    } else if ((g->kind == LLVM_DELETE || g->kind == LLVM_REPLACE || g->kind == LLVM_SWAP) &&
               closed(b, g->at, why)) {
        return;
    } else if (names_two && g->kind != LLVM_COPY && g->at.instr == g->from.instr) {
        gi_buf_adds(why, "it names one instruction twice");
    } else if (g->kind == LLVM_REPLACE &&
               l->TypeOf(value_of(b, g->at)) != l->TypeOf(value_of(b, g->from))) {
        gi_buf_adds(why, "their results are of other types");
    } else if (g->user.instr >= 0) {
        if (g->user.func != g->at.func) gi_buf_adds(why, "the user is in another function");
        else if (!no_operand(b, g->user, g->user_operand, why) &&
                 operand_type(b, g->user, g->user_operand) != l->TypeOf(value_of(b, g->from)))
            gi_buf_adds(why, "the operand and the result are of other types");
    }
}

/* --- reading --- */

/* A number of a name, from 1; 0: none. */
static int read_number(const char **p) {
    char *end;
    if (**p < '1' || **p > '9') return 0;
    long n = strtol(*p, &end, 10);
    *p = end;
    return n > 0 && n < INT32_MAX ? (int)n : 0;
}

static int find_func(const LlvmBase *b, const char *name, size_t len) {
    for (int i = 0; i < b->n_funcs; i++)
        if (strlen(b->funcs[i].name) == len && strncmp(b->funcs[i].name, name, len) == 0) return i;
    return -1;
}

static bool fail_name(const char *text, const char *why, gi_err *err) {
    return gi_fail(err, "gene", "%.*s names %s", (int)strcspn(text, " \t\n"), text, why);
}

/* A function's name may have dots in it: the last two part the numbers. */
bool llvm_site_parse(const LlvmBase *b, const char *text, LlvmSite *out, const char **end,
                     gi_err *err) {
    const char *close = strchr(text, '>'), *dot = close;
    if (strncmp(text, "<llvm:", 6) != 0 || close == NULL)
        return fail_name(text, "nothing: <llvm:KERNEL.BLOCK.N> is a name", err);
    for (int dots = 0; dots < 2 && dot > text; dots += *dot == '.') dot--;
    const char *name = text + 6, *p = dot + 1;
    int block = dot > name ? read_number(&p) : 0,
        n = block && *p == '.' ? (p++, read_number(&p)) : 0;
    if (n == 0 || p != close)
        return fail_name(text, "nothing: <llvm:KERNEL.BLOCK.N> is a name", err);
    const int func = find_func(b, name, (size_t)(dot - name));
    if (func < 0) return fail_name(text, "no function of the module", err);
    const LlvmFunc *f = &b->funcs[func];
    if (block > f->n_blocks) return fail_name(text, "no block of its function", err);
    if (n > f->first[block] - f->first[block - 1])
        return fail_name(text, "no instruction of its block", err);
    *out = (LlvmSite){func, f->first[block - 1] + n - 1};
    *end = close + 1;
    return true;
}

static bool read_constant(const char **p, LlvmNumber *out) {
    char *end;
    if (**p == '0' && ((*p)[1] == 'f' || (*p)[1] == 'd')) {
        const bool wide = (*p)[1] == 'd';
        const char *digits = *p + 2;
        if (strspn(digits, "0123456789abcdefABCDEF") != (wide ? 16 : 8)) return false;
        *out = (LlvmNumber){wide ? LLVM_F64 : LLVM_F32, strtoull(digits, &end, 16)};
    } else {
        if (strchr("-0123456789", **p) == NULL || **p == '\0') return false;
        *out = (LlvmNumber){LLVM_WHOLE, (uint64_t)strtoll(*p, &end, 10)};
        if (end == *p) return false;
    }
    *p = end;
    return true;
}

/* ".2": an operand, from 1 in the text and from 0 here. */
static bool read_operand(const char **p, int *out) {
    if (**p != '.') return false;
    (*p)++;
    *out = read_number(p) - 1;
    return *out >= 0;
}

/* What follows the first name; false where that is no gene. */
static bool read_rest(const LlvmBase *b, const char **p, LlvmGene *g, gi_err *err) {
    const char sign = **p;
    if (sign == '\0' || strchr(" \t\n", sign)) return g->kind = LLVM_DELETE, true;
    if (sign == '.') {
        if (!read_operand(p, &g->operand) || *(*p)++ != '=') return false;
        g->kind = **p == '<' ? LLVM_OPERAND : LLVM_CONSTANT;
        return g->kind == LLVM_OPERAND ? llvm_site_parse(b, *p, &g->from, p, err)
                                       : read_constant(p, &g->number);
    }
    g->kind = sign == '+'   ? LLVM_COPY
              : sign == '-' ? LLVM_MOVE
              : sign == '~' ? LLVM_SWAP
                            : LLVM_REPLACE;
    if (g->kind != LLVM_REPLACE) (*p)++;
    if (**p != '<' || !llvm_site_parse(b, *p, &g->from, p, err)) return false;
    if (g->kind != LLVM_COPY || **p != '/') return true;
    (*p)++;
    return llvm_site_parse(b, *p, &g->user, p, err) && read_operand(p, &g->user_operand);
}

bool llvm_gene_parse(const LlvmBase *b, const char *text, LlvmGene *out, const char **end,
                     gi_err *err) {
    const int len = (int)strcspn(text, " \t\n");
    const char *p;
    LlvmGene g = {.user = {-1, -1}};
    gi_err why = {0};
    if (!llvm_site_parse(b, text, &g.at, &p, err)) return false;
    if (!read_rest(b, &p, &g, &why) || (*p && strchr(" \t\n", *p) == NULL))
        return gi_fail(err, "gene", "%.*s is no gene%s%s", len, text,
                       why.message[0] ? ": " : ", or something stands behind it", why.message);
    gi_buf reason = {0};
    llvm_gene_reason(b, &g, &reason);
    if (reason.len) {
        gi_fail(err, "gene", "%.*s is illegal: %s", len, text, reason.data);
        gi_buf_free(&reason);
        return false;
    }
    *out = g;
    *end = p;
    return true;
}
