/* declare.c - declarations: registers, variables in every space, parameter lists.
**
** All share one shape: `.space` then words in any order (.align N, .v4, .f32, .ptr …), then names.
*/
#include "ptx/parser.h"

#include <string.h>

bool ptxp_space_of(const Name *word, PtxSpace *out) {
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{"reg", PTX_REG},       {"param", PTX_PARAM}, {"local", PTX_LOCAL},
                  {"shared", PTX_SHARED}, {"const", PTX_CONST}, {"global", PTX_GLOBAL}};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (ptxp_is(word, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    }
    return false;
}

static int alignment(Parser *P) {
    int align = ptxp_small(P, "the alignment", 1, 1 << 20);
    if (align & (align - 1)) ptxp_fail(P, P->line, "the alignment %d is not a power of two", align);
    return align;
}

static void attribute(Parser *P, PtxVar *v) {
    ptxp_expect(P, '(', "after .attribute");
    ptxp_expect(P, '.', "before the attribute's name");
    Name *word = ptxp_word(P, "an attribute");
    if (!ptxp_is(word, "managed"))
        ptxp_fail(P, P->line, "the attribute .%s is not supported (only .managed is)", word->text);
    v->is_managed_or_texref = true;
    ptxp_expect(P, ')', "after the attribute");
}

/* One word between the space and the name. */
static void qualifier(Parser *P, PtxVar *v, const Name *word) {
    if (ptxp_is(word, "align")) *(v->is_ptr ? &v->ptr_align : &v->align) = alignment(P);
    else if (ptxp_is(word, "v2")) v->vec = 2;
    else if (ptxp_is(word, "v4")) v->vec = 4;
    else if (ptxp_is(word, "ptr")) v->is_ptr = true;
    else if (ptxp_is(word, "attribute")) attribute(P, v);
    else if (v->is_ptr && ptxp_space_of(word, &v->ptr_space)) return;
    else if (v->type != PTX_NONE || !ptx_type_parse(word->text, &v->type))
        ptxp_fail(P, P->line, "'.%s' does not belong in a declaration", word->text);
}

/* What all names of one declaration share. */
static PtxVar qualifiers(Parser *P, PtxSpace space, PtxLinkage linkage) {
    PtxVar v = {.space = space, .vec = 1, .linkage = linkage, .is_extern = linkage == PTX_EXTERN};
    while (ptxp_take_char(P, '.')) qualifier(P, &v, ptxp_word(P, "a type"));
    if (v.type == PTX_NONE) ptxp_expected(P, "a type such as .b32");
    if (v.type == PTX_BF16 || v.type == PTX_BF16X2)
        ptxp_fail(P, P->line, "nothing is declared as .%s: its bits are .b16 or .b32",
                  ptx_type_name(v.type));
    if (ptx_type_size(v.type) * (size_t)v.vec > 16)
        ptxp_fail(P, P->line, "a vector has 16 bytes at most");
    if (v.type >= PTX_TEXREF && (P->depth > 1 || space == PTX_REG))
        ptxp_fail(P, P->line, "a .%s is no variable of a function", ptx_type_name(v.type));
    if (space == PTX_PARAM && P->depth > PTXP_PARAMS && v.vec > 1)
        ptxp_fail(P, P->line, "a parameter of a call is no vector");
    if (space == PTX_PARAM && v.align > 128)
        ptxp_fail(P, P->line, "a parameter is aligned to 128 bytes at most");
    if (v.type >= PTX_TEXREF) v.is_managed_or_texref = true;
    if (v.align == 0) v.align = (int)ptx_type_size(v.type) * v.vec;
    return v;
}

static int scalar_register(Parser *P, Name *name, PtxType type) {
    if (P->n_regs == PTXP_MAX_REGS)
        ptxp_fail(P, P->line, "a function has more than %d registers", PTXP_MAX_REGS);
    Binding *b = ptxp_declare(P, name, BIND_REG);
    b->index = P->n_regs;
    gi_grow(P->regs, P->n_regs, P->cap_regs);
    P->regs[P->n_regs] = (PtxReg){b->text, type};
    return P->n_regs++;
}

/* .v4 v: registers v$x, v$y, v$z, v$w, and v for all of them. */
static int vector_register(Parser *P, Name *name, PtxType type, int n) {
    int first = P->n_regs;
    for (int i = 0; i < n; i++) {
        gi_buf_clear(&P->scratch);
        gi_buf_addf(&P->scratch, "%s$%c", name->text, "xyzw"[i]);
        scalar_register(P, ptxp_intern(P, P->scratch.data, P->scratch.len), type);
    }
    Binding *b = ptxp_declare(P, name, BIND_REG);
    b->index = first;
    b->n = n;
    return first;
}

int ptxp_register(Parser *P, Name *name, PtxType type, int n) {
    return n > 1 ? vector_register(P, name, type, n) : scalar_register(P, name, type);
}

static void one_register(Parser *P, Name *name, const PtxVar *shape) {
    ptxp_register(P, name, shape->type, shape->vec);
}

/* %r<7> declares %r0 … %r6. */
static void register_range(Parser *P, const Name *base, const PtxVar *shape) {
    int n = ptxp_plain(P, "the number of registers", 0, PTXP_MAX_REGS);
    ptxp_expect(P, '>', "after the number of registers");
    for (int i = 0; i < n; i++) {
        gi_buf_clear(&P->scratch);
        gi_buf_add(&P->scratch, base->text, base->len);
        char digits[12], *d = digits + sizeof digits;
        for (int k = i; d == digits + sizeof digits || k > 0; k /= 10) *--d = (char)('0' + k % 10);
        gi_buf_add(&P->scratch, d, (size_t)(digits + sizeof digits - d));
        one_register(P, ptxp_intern(P, P->scratch.data, P->scratch.len), shape);
    }
}

static void registers(Parser *P) {
    if (P->depth == 0) ptxp_fail(P, P->line, "registers are declared outside a function");
    PtxVar v = qualifiers(P, PTX_REG, PTX_PRIVATE);
    do {
        Name *name = ptxp_ident(P, "a register's name");
        if (ptxp_take_char(P, '<')) register_range(P, name, &v);
        else one_register(P, name, &v);
    } while (ptxp_take_char(P, ','));
}

/* [16][4]; dims[0] is -1 for []. */
static int dimensions(Parser *P, int64_t *dims) {
    int n = 0;
    while (ptxp_take_char(P, '[')) {
        if (n == PTXP_MAX_DIMS)
            ptxp_fail(P, P->line, "an array has more than %d dimensions", PTXP_MAX_DIMS);
        if (n == 0 && ptxp_peek(P) == ']') dims[n++] = -1;
        else dims[n++] = ptxp_small(P, "an array's size", 0, PTXP_MAX_BYTES);
        ptxp_expect(P, ']', "after the array's size");
    }
    return n;
}

static uint64_t size_of(Parser *P, const PtxVar *v, const int64_t *dims, int n_dims) {
    uint64_t size = ptx_type_size(v->type) * (uint64_t)v->vec;
    for (int i = 0; i < n_dims; i++) {
        size *= (uint64_t)(dims[i] < 0 ? 1 : dims[i]);
        if (size > PTXP_MAX_BYTES)
            ptxp_fail(P, P->line, "'%s' is larger than %d bytes", v->name, PTXP_MAX_BYTES);
    }
    return n_dims && dims[0] < 0 ? 0 : size;
}

/* A variable of the whole module that only one function knows: a name that nobody else has. */
static const char *hoisted_name(Parser *P, Name *name) {
    Name *fresh;
    int i = 1;
    do {
        gi_buf_clear(&P->scratch);
        gi_buf_addf(&P->scratch, "%s$%d", name->text, i++);
        fresh = ptxp_intern(P, P->scratch.data, P->scratch.len);
    } while (fresh->is_hoisted || fresh->bound || fresh->func == P->func);
    fresh->is_hoisted = true;
    return fresh->text;
}

static void add_module_variable(Parser *P, PtxVar *v) {
    gi_grow(P->items, P->n_items, P->cap_items);
    P->items[P->n_items++] = (PtxItem){PTX_ITEM_VAR, P->n_vars, 0};
    gi_grow(P->vars, P->n_vars, P->cap_vars);
    P->vars[P->n_vars++] = v;
}

static void one_variable(Parser *P, const PtxVar *shape) {
    PtxVar *v = ptxp_take(P->arena, sizeof *v);
    *v = *shape;
    v->line = P->line;
    Name *name = ptxp_ident(P, "a variable's name");
    bool hoisted = P->depth && (v->space == PTX_GLOBAL || v->space == PTX_CONST);
    const char *text = hoisted ? hoisted_name(P, name) : NULL;
    Binding *b = ptxp_declare(P, name, BIND_VAR);
    b->var = v;
    if (hoisted) b->text = text;
    v->name = b->text;
    int64_t dims[PTXP_MAX_DIMS];
    int n_dims = dimensions(P, dims);
    v->size = size_of(P, v, dims, n_dims);
    if (ptxp_take_char(P, '=')) ptxp_initialiser(P, v, dims, n_dims);
    if (n_dims && v->size == 0 && !v->is_extern) /* nor [0]: ptxas says the same */
        ptxp_fail(P, v->line, "the size of '%s' is not known: only .extern arrays may be []",
                  v->name);
    if (ptxp_is_shared_local(P, v)) return; /* whoever names it declares it */
    if (P->depth == 0 || hoisted) {
        add_module_variable(P, v);
    } else {
        gi_grow(P->locals, P->n_locals, P->cap_locals);
        P->locals[P->n_locals++] = v;
    }
}

void ptxp_declaration(Parser *P, PtxSpace space, PtxLinkage linkage) {
    if (space == PTX_REG) registers(P);
    else {
        PtxVar shape = qualifiers(P, space, linkage);
        if (shape.type == PTX_PRED) ptxp_fail(P, P->line, "a variable in memory cannot be .pred");
        do one_variable(P, &shape);
        while (ptxp_take_char(P, ','));
    }
    ptxp_expect(P, ';', "after the declaration");
}

/* In a register: its variable has another name, as the register has its own. */
static Name *reg_param(Parser *P, Name *name, const PtxVar *v, bool is_ret) {
    gi_grow(P->reg_params, P->n_reg_params, P->cap_reg_params);
    P->reg_params[P->n_reg_params++] = (RegParam){name, v->type, v->vec, is_ret, P->n_params, 0};
    gi_buf_clear(&P->scratch);
    gi_buf_addf(&P->scratch, "%s$param", name->text);
    return ptxp_intern(P, P->scratch.data, P->scratch.len);
}

static void one_param(Parser *P, bool bind, bool is_ret) {
    ptxp_expect(P, '.', "before a parameter's .param");
    PtxSpace space;
    if (!ptxp_space_of(ptxp_word(P, ".param"), &space) || (space != PTX_PARAM && space != PTX_REG))
        ptxp_fail(P, P->line, "a parameter is neither .param nor .reg");
    PtxVar v = qualifiers(P, PTX_PARAM, PTX_PRIVATE);
    v.line = P->line;
    Name *name = ptxp_ident(P, "a parameter's name");
    if (space == PTX_REG && bind) name = reg_param(P, name, &v, is_ret);
    v.name = bind ? ptxp_declare(P, name, BIND_VAR)->text : name->text;
    int64_t dims[PTXP_MAX_DIMS];
    int n_dims = dimensions(P, dims);
    v.size = size_of(P, &v, dims, n_dims);
    if (space == PTX_REG && v.vec > 1) v.type = PTX_B8, v.vec = 1; /* as many bytes */
    gi_grow(P->params, P->n_params, P->cap_params);
    P->params[P->n_params++] = v;
}

/* The bindings can only point to the parameters once these have their place in the arena. */
static void bind_params(Parser *P, const PtxVar *params, int n) {
    Binding *b = P->scopes[P->depth].declared;
    for (int i = n - 1; i >= 0; i--, b = b->next) b->var = &params[i];
}

int ptxp_params(Parser *P, bool bind, bool are_rets, PtxVar **out) {
    P->n_params = 0;
    if (!ptxp_take_char(P, ')')) {
        do one_param(P, bind, are_rets);
        while (ptxp_take_char(P, ','));
        ptxp_expect(P, ')', "after the parameters");
    }
    *out = ptxp_keep_all(P, P->params, P->n_params);
    if (bind) bind_params(P, *out, P->n_params);
    return P->n_params;
}
