/* body.c - the statements of a function: instructions, labels, declarations, scopes, .loc.
**
** Source lines. A .loc of file 1 gives its own line. Code inlined from another file carries
** `inlined_at file line column`, the place of the call; when that is again in another file, an
** earlier .loc of the same function had this very place and its own inlined_at. So the line found
** for each .loc is remembered under the key "file line column".
*/
#include "ptx/parser.h"

#include <string.h>

static int index_of_register(Parser *P) {
    Name *name = ptxp_ident(P, "a predicate register");
    if (name->bound == NULL || name->bound->kind != BIND_REG)
        ptxp_fail(P, P->line, "'%s' guards an instruction but is no register", name->text);
    if (P->regs[name->bound->index].type != PTX_PRED)
        ptxp_fail(P, P->line, "'%s' guards an instruction but is not .pred", name->text);
    return name->bound->index;
}

static void modifiers(Parser *P, PtxInstr *in) {
    P->n_mods = 0;
    while (ptxp_take_char(P, '.')) {
        gi_grow(P->mods, P->n_mods, P->cap_mods);
        P->mods[P->n_mods++] = ptxp_word(P, "a modifier")->text;
    }
    ptxp_order(in->opcode, P->mods, P->n_mods);
    in->n_mods = P->n_mods;
    in->mods = ptxp_keep_all(P, P->mods, P->n_mods);
}

/* Behind the opcode. */
static void instruction(Parser *P, PtxInstr in, const Name *opcode) {
    in.opcode = opcode->text;
    in.target = -1;
    in.src_line = P->src_line;
    modifiers(P, &in);
    if (ptxp_peek(P) != ';') ptxp_operands(P, &in);
    if (ptxp_peek(P) != ';') {
        gi_buf_clear(&P->scratch);
        gi_buf_addf(&P->scratch, "',' or ';' after an operand of '%s'", in.opcode);
        ptxp_expected(P, P->scratch.data);
    }
    ptxp_take_char(P, ';');
    ptxp_before(P, &in);
    gi_grow(P->code, P->n_code, P->cap_code);
    P->code[P->n_code++] = in;
    ptxp_behind(P, &in);
}

static void guarded(Parser *P, int line) {
    PtxInstr in = {.line = line};
    in.guard_negated = ptxp_take_char(P, '!');
    in.guard = index_of_register(P);
    instruction(P, in, ptxp_ident(P, "an instruction after the predicate"));
}

static void branch_targets(Parser *P, Name *name) {
    int base = P->n_uses; /* the stack of label uses serves as scratch */
    do {
        Name *to = ptxp_ident(P, "a label");
        gi_grow(P->uses, P->n_uses, P->cap_uses);
        P->uses[P->n_uses++] = (LabelUse){.name = to};
    } while (ptxp_take_char(P, ','));
    int n = P->n_uses - base;
    Name **labels = ptxp_take(P->arena, (size_t)n * sizeof *labels);
    for (int i = 0; i < n; i++) labels[i] = P->uses[base + i].name;
    P->n_uses = base;
    ptxp_declare(P, name, BIND_TARGETS)->index = P->n_targets;
    gi_grow(P->targets, P->n_targets, P->cap_targets);
    P->targets[P->n_targets++] = (Targets){labels, n};
}

/* (rets) _ (params) */
static void call_prototype(Parser *P, Name *name) {
    PtxProto proto = {0};
    if (ptxp_take_char(P, '(')) proto.n_rets = ptxp_params(P, false, true, &proto.rets);
    ptxp_ident(P, "'_' in the prototype");
    if (ptxp_take_char(P, '(')) proto.n_params = ptxp_params(P, false, false, &proto.params);
    if (ptxp_take_char(P, '.') && !ptxp_is(ptxp_word(P, "noreturn"), "noreturn"))
        ptxp_fail(P, P->line, "a prototype ends in something other than .noreturn");
    proto.name = ptxp_declare(P, name, BIND_PROTO)->text;
    gi_grow(P->protos, P->n_protos, P->cap_protos);
    P->protos[P->n_protos++] = proto;
}

static void add_label(Parser *P, Name *name, int line) {
    gi_grow(P->labels, P->n_labels, P->cap_labels);
    P->labels[P->n_labels++] = (Label){name, P->n_code, line};
}

/* Behind `name:`. */
static void label(Parser *P, Name *name, int line) {
    if (ptxp_peek(P) != '.') {
        add_label(P, name, line);
        return;
    }
    const char *start = P->p;
    int directive_line = P->line;
    ptxp_take_char(P, '.');
    Name *word = ptxp_word(P, "a directive");
    if (ptxp_is(word, "branchtargets")) branch_targets(P, name);
    else if (ptxp_is(word, "callprototype")) call_prototype(P, name);
    else if (ptxp_is(word, "calltargets"))
        ptxp_fail(P, line, ".calltargets is not supported: give a .callprototype instead");
    else { /* an ordinary label, before .loc, say */
        P->p = start;
        P->line = directive_line;
        add_label(P, name, line);
        return;
    }
    ptxp_expect(P, ';', "after the directive");
}

typedef struct Place {
    int file, line, column;
} Place;

static Place place(Parser *P) {
    Place at;
    at.file = ptxp_plain(P, "the file number", 0, INT32_MAX);
    at.line = ptxp_plain(P, "the line number", 0, INT32_MAX);
    at.column = ptxp_plain(P, "the column", 0, INT32_MAX);
    return at;
}

static Name *place_key(Parser *P, Place at) {
    gi_buf_clear(&P->scratch);
    gi_buf_addf(&P->scratch, "%d %d %d", at.file, at.line, at.column);
    return ptxp_intern(P, P->scratch.data, P->scratch.len);
}

/* The line of file 1 that stands for the place. */
static int user_line(Parser *P, Place at) {
    if (at.file == 1) return at.line;
    Name *key = place_key(P, at);
    return key->src_func == P->func ? key->src_line : 0;
}

/* .loc file line column [, function_name label [+ n]] [, inlined_at file line column] */
static void loc(Parser *P) {
    Place at = place(P);
    int line = at.file == 1 ? at.line : 0;
    while (ptxp_take_char(P, ',')) {
        Name *word = ptxp_ident(P, "function_name or inlined_at");
        if (ptxp_is(word, "function_name")) {
            ptxp_ident(P, "a label");
            if (ptxp_take_char(P, '+')) ptxp_integer(P, "the offset of the label");
        } else if (ptxp_is(word, "inlined_at")) {
            int outer = user_line(P, place(P));
            if (at.file != 1) line = outer;
        } else ptxp_fail(P, P->line, "'%s' does not belong in .loc", word->text);
    }
    P->src_line = line;
    if (at.file == 1) return;
    Name *key = place_key(P, at);
    key->src_func = P->func;
    key->src_line = line;
}

static void pragma(Parser *P) {
    gi_grow(P->pragmas, P->n_pragmas, P->cap_pragmas);
    P->pragmas[P->n_pragmas++] = (PtxPragma){P->n_code, ptxp_string(P)};
    ptxp_expect(P, ';', "after .pragma");
}

static void directive(Parser *P) {
    PtxSpace space;
    int line = P->line;
    Name *word = ptxp_word(P, "a directive");
    if (ptxp_space_of(word, &space)) ptxp_declaration(P, space, PTX_PRIVATE);
    else if (ptxp_is(word, "loc")) loc(P);
    else if (ptxp_is(word, "pragma")) pragma(P);
    else ptxp_fail(P, line, "the directive .%s is not known inside a function", word->text);
}

/* One statement; false at the '}' that closes the function. */
static bool statement(Parser *P, int outermost) {
    int line = P->line;
    if (ptxp_take_char(P, '{')) ptxp_open(P);
    else if (ptxp_peek(P) == '}') {
        if (P->depth == outermost) return false;
        ptxp_take_char(P, '}');
        ptxp_close(P);
    } else if (ptxp_take_char(P, '@')) guarded(P, line);
    else if (ptxp_take_char(P, '.')) directive(P);
    else {
        Name *word = ptxp_ident(P, "an instruction, a label, a directive or '}'");
        if (ptxp_take_char(P, ':')) label(P, word, line);
        else instruction(P, (PtxInstr){.guard = -1, .line = line}, word);
    }
    return true;
}

static void begin(Parser *P) {
    P->src_line = 0;
    P->n_regs = P->n_locals = P->n_code = P->n_protos = P->n_pragmas = 0;
    P->n_targets = P->n_labels = P->n_uses = 0;
}

static void finish(Parser *P, PtxFunc *f) {
    if (P->n_uses)
        ptxp_fail(P, P->uses[0].line, "the label '%s' is nowhere in the function '%s'",
                  P->uses[0].name->text, f->name);
    f->regs = ptxp_keep_all(P, P->regs, f->n_regs = P->n_regs);
    f->vars = ptxp_keep_all(P, P->locals, f->n_vars = P->n_locals);
    f->code = ptxp_keep_all(P, P->code, f->n_code = P->n_code);
    f->protos = ptxp_keep_all(P, P->protos, f->n_protos = P->n_protos);
    f->pragmas = ptxp_keep_all(P, P->pragmas, f->n_pragmas = P->n_pragmas);
}

void ptxp_body(Parser *P, PtxFunc *f) {
    begin(P);
    ptxp_open(P); /* names of scopes in the body may hide parameters */
    int outermost = P->depth;
    ptxp_begin_reg_params(P);
    while (statement(P, outermost)) continue;
    ptxp_end_reg_params(P);
    ptxp_expect(P, '}', "at the end of the function");
    ptxp_close(P);
    finish(P, f);
    f->has_body = true;
}
