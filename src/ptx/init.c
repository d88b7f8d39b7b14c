/* init.c - initialisers: numbers, nested braces, addresses of variables and functions.
**
** A nested { } fills one element of its dimension, wherever the one before it ended; a .v4 element
** counts as one more dimension. Everything not mentioned is zero.
*/
#include "ptx/parser.h"

#include <string.h>

typedef struct Init {
    PtxVar *var;
    size_t elem;   /* bytes of one number */
    int64_t limit; /* bytes there is room for */
    int64_t dims[PTXP_MAX_DIMS + 1];
    int n_dims;
    int64_t end;     /* bytes of P->init filled so far */
    int64_t skipped; /* of these, that were not mentioned */
} Init;

/* Bytes up to `end` exist, and those not yet filled are zero. */
static void reserve(Parser *P, Init *in, int64_t end) {
    in->skipped += end > in->end ? end - in->end - (int64_t)in->elem : 0;
    if (in->skipped > PTXP_MAX_SKIPPED)
        ptxp_fail(P, P->line, "the initialiser of '%s' leaves out more than %d bytes on its way",
                  in->var->name, PTXP_MAX_SKIPPED);
    if (end > P->cap_init) {
        P->cap_init = end * 2;
        P->init = gi_realloc(P->init, (size_t)P->cap_init);
    }
    if (end > in->end) {
        memset(P->init + in->end, 0, (size_t)(end - in->end));
        in->end = end;
    }
}

static double as_double(Constant c) {
    double d;
    float f;
    uint32_t bits = (uint32_t)c.bits;
    memcpy(&d, &c.bits, sizeof d);
    memcpy(&f, &bits, sizeof f);
    return c.kind == PTX_IMM_F64 ? d : (double)f;
}

/* The constant's bits as an element of the variable's type. */
static uint64_t element_bits(Parser *P, PtxType type, Constant c) {
    bool is_float = type == PTX_F32 || type == PTX_F64;
    if (is_float == (c.kind == PTX_IMM_INT))
        ptxp_fail(P, P->line, "a %s constant initialises a .%s",
                  is_float ? "whole" : "floating-point", ptx_type_name(type));
    if (type == PTX_F32 && c.kind != PTX_IMM_F32) {
        float f = (float)as_double(c);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    if (type == PTX_F64 && c.kind != PTX_IMM_F64) {
        double d = as_double(c);
        memcpy(&c.bits, &d, sizeof d);
        return c.bits;
    }
    return c.bits;
}

static void put_mask(Parser *P, Init *in, int64_t offset, Constant mask);

/* Reads a whole number that is all of an element, as most are. Returns false, and reads nothing,
** where there may be more: a sign, a base, an operator. */
static bool take_plain(Parser *P, Constant *out) {
    const char *p = P->p;
    uint64_t value = 0;
    for (; p < P->end && p - P->p < 18 && *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    bool is_other = p == P->p || (*P->p == '0' && p - P->p > 1);
    if (is_other || p == P->end || (*p != ',' && *p != '}')) return false;
    P->p = p;
    *out = (Constant){.kind = PTX_IMM_INT, .bits = value};
    return true;
}

static void put_number(Parser *P, Init *in, int64_t offset) {
    Constant number;
    if (!take_plain(P, &number)) number = ptxp_constant(P);
    if (number.kind == PTX_IMM_INT && ptxp_take_char(P, '(')) {
        put_mask(P, in, offset, number);
        return;
    }
    uint64_t bits = element_bits(P, in->var->type, number);
    for (size_t i = 0; i < in->elem && i < 8; i++)
        P->init[offset + (int64_t)i] = (uint8_t)(bits >> 8 * i);
}

static const Binding *binding_of(Parser *P, const Init *in, const Name *name) {
    const Binding *b = name->bound;
    if (b == NULL || (b->kind != BIND_VAR && b->kind != BIND_FUNC))
        ptxp_fail(P, P->line, "the initialiser of '%s' names '%s', which is not declared",
                  in->var->name, name->text);
    return b;
}

static void add_reloc(Parser *P, const Init *in, PtxReloc r) {
    PtxType type = in->var->type;
    if (r.mask == 0 && in->elem != 8)
        ptxp_fail(P, P->line, "the address of '%s' needs 8 bytes, an element of '%s' has %d",
                  r.symbol, in->var->name, (int)in->elem);
    if (type < PTX_U8 || type > PTX_U64)
        ptxp_fail(P, P->line, "the address of '%s' initialises a .%s: only unsigned ones hold it",
                  r.symbol, ptx_type_name(type));
    if (r.var && r.var->space != PTX_GLOBAL && r.var->space != PTX_CONST)
        ptxp_fail(P, P->line, "'%s' of an initialiser is neither .global nor .const", r.symbol);
    if (r.func >= 0 && r.addend)
        ptxp_fail(P, P->line, "an initialiser names a place inside the function '%s'", r.symbol);
    gi_grow(P->relocs, P->n_relocs, P->cap_relocs);
    P->relocs[P->n_relocs++] = r;
}

/* symbol, symbol+8, generic(symbol)+8 */
static PtxReloc address(Parser *P, const Init *in, int64_t offset, Name *name) {
    PtxReloc r = {.offset = (uint64_t)offset, .func = -1};
    if (ptxp_is(name, "generic") && ptxp_take_char(P, '(')) {
        r.generic = true;
        name = ptxp_ident(P, "a variable's name");
        ptxp_expect(P, ')', "after generic(");
    }
    const Binding *b = binding_of(P, in, name);
    r.symbol = b->text;
    if (b->kind == BIND_VAR) r.var = b->var;
    else r.func = b->index;
    if (ptxp_take_char(P, '+')) r.addend = ptxp_integer(P, "the offset");
    return r;
}

/* 0xff00(address), behind its '(': one byte of it. */
static void put_mask(Parser *P, Init *in, int64_t offset, Constant mask) {
    PtxReloc r = address(P, in, offset, ptxp_ident(P, "a symbol"));
    r.mask = mask.bits;
    int shift = r.mask ? __builtin_ctzll(r.mask) : 1;
    if (shift % 8 || r.mask >> shift != 0xff)
        ptxp_fail(P, P->line, "the mask of '%s' does not select one byte", r.symbol);
    ptxp_expect(P, ')', "after the symbol that is masked");
    add_reloc(P, in, r);
}

static void put_address(Parser *P, Init *in, int64_t offset) {
    add_reloc(P, in, address(P, in, offset, ptxp_ident(P, "a symbol")));
}

static void put(Parser *P, Init *in, int64_t offset) {
    if (offset + (int64_t)in->elem > in->limit)
        ptxp_fail(P, P->line, "too many initialisers for '%s'", in->var->name);
    reserve(P, in, offset + (int64_t)in->elem);
    if (ptxp_at_ident(P)) put_address(P, in, offset);
    else put_number(P, in, offset);
}

static int64_t bytes_of_level(const Init *in, int level) {
    int64_t bytes = (int64_t)in->elem;
    for (int i = level; i < in->n_dims; i++) bytes *= in->dims[i];
    return bytes;
}

/* { … } at dimension `level`, which begins at byte `offset`; behind the '{'. */
static void braces(Parser *P, Init *in, int level, int64_t offset) {
    if (level >= in->n_dims)
        ptxp_fail(P, P->line, "the initialiser of '%s' has too many braces", in->var->name);
    int64_t step = bytes_of_level(in, level + 1), at = offset;
    if (ptxp_take_char(P, '}')) return;
    do {
        if (ptxp_take_char(P, '{')) {
            if (step) at = offset + (at - offset + step - 1) / step * step;
            braces(P, in, level + 1, at);
            at += step;
        } else {
            if (level + 1 < in->n_dims)
                ptxp_fail(P, P->line, "an element of '%s' is a row: '{' is expected",
                          in->var->name);
            put(P, in, at);
            at += (int64_t)in->elem;
        }
    } while (ptxp_take_char(P, ','));
    ptxp_expect(P, '}', "after the initialisers");
}

/* An array declared [] is as long as its initialiser, whole elements. */
static void find_length(Init *in, int64_t *dims) {
    int64_t step = bytes_of_level(in, 1);
    dims[0] = step ? (in->end + step - 1) / step : 0;
    in->var->size = (uint64_t)(dims[0] * step);
}

void ptxp_initialiser(Parser *P, PtxVar *var, int64_t *dims, int n_dims) {
    if (var->space != PTX_GLOBAL && var->space != PTX_CONST)
        ptxp_fail(P, P->line, "'%s' cannot have an initialiser: only .global and .const can",
                  var->name);
    Init in = {.var = var, .elem = ptx_type_size(var->type), .n_dims = n_dims};
    memcpy(in.dims, dims, (size_t)n_dims * sizeof *dims);
    P->n_relocs = 0;
    bool open = n_dims && dims[0] < 0;
    in.limit = open ? PTXP_MAX_BYTES : (int64_t)var->size;
    if (var->vec > 1) in.dims[in.n_dims++] = var->vec;
    if (ptxp_take_char(P, '{')) braces(P, &in, 0, 0);
    else if (in.n_dims) ptxp_expected(P, "'{' before an array's initialisers");
    else put(P, &in, 0);
    if (open) find_length(&in, dims);
    var->init = ptxp_take(P->arena, var->size);
    if (in.end) memcpy(var->init, P->init, (size_t)in.end);
    var->relocs = ptxp_keep_all(P, P->relocs, P->n_relocs);
    var->n_relocs = P->n_relocs;
}
