/* ptx_parse.c - what the parser makes of PTX: operands, names and scopes, labels, initialisers,
** source lines; and the sentences it says about text it does not understand. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

static gi_err err;

static PtxModule *parse(const char *text) {
    err = (gi_err){.code = ""};
    return ptx_parse(text, strlen(text), &err);
}

static const PtxInstr *find(const PtxFunc *f, const char *opcode, int skip) {
    for (int i = 0; i < f->n_code; i++)
        if (strcmp(f->code[i].opcode, opcode) == 0 && skip-- == 0) return &f->code[i];
    return NULL;
}

static void test_operands(const PtxFunc *f) {
    const PtxInstr *in = find(f, "setp", 0);
    ok(in->guard_negated && strcmp(f->regs[in->guard].name, "%p1") == 0, "the guard @!%%p1");
    ok(in->n_mods == 2 && strcmp(in->mods[0], "lt") == 0 && strcmp(in->mods[1], "s32") == 0,
       "modifiers");
    is_int(in->args[0].kind, PTX_OP_PAIR, "p|q is a pair");
    is_int((int64_t)in->args[2].imm, -7, "a negative immediate");
    in = find(f, "tex", 0);
    is_int(in->args[0].n_elems, 4, "a vector of four");
    is_int(in->args[1].kind, PTX_OP_TEX, "texture operand");
    is_int(in->args[1].elems[1].kind, PTX_OP_VECTOR, "its coordinates");
    in = find(f, "tex", 1);
    is_int(in->args[0].elems[1].kind, PTX_OP_SINK, "_ is a sink");
    ok(in->args[1].elems[0].var && in->args[1].elems[0].var->type == PTX_TEXREF,
       "a texture by name");
    in = find(f, "shfl", 0);
    is_int(in->args[2].imm, 16, "hexadecimal");
    is_int(in->args[3].imm, 31, "octal");
    is_int(in->args[4].imm, 31, "binary");
    is_int(find(f, "lop3", 0)->args[4].imm, 0xc8, "a constant expression");
    is_str(find(f, "vadd", 0)->args[1].select, "b0", "a part of a register");
    in = find(f, "ld", 1);
    is_str(in->mods[1], "L2::128B", "a modifier with ::");
    is_int(in->args[1].offset, -4, "[reg+-4]");
    in = find(f, "st", 0);
    is_str(in->args[0].elems[0].symbol, "tile", "[symbol+16]: the symbol is elems[0]");
    is_int(in->args[0].offset, 16, "and the offset the address's");
    is_int(in->args[1].imm, 0x40490fdb, "bits of an f32");
    in = find(f, "fma", 0);
    is_int((int64_t)in->args[2].imm, (int64_t)0xc004000000000000, "-2.5 as bits of an f64");
    is_int(in->args[2].imm_kind, PTX_IMM_F64, "is marked as one");
    is_str(find(f, "mov", 0)->args[1].symbol, "%tid.x", "special register");
    is_int(find(f, "mov", 1)->args[1].imm, 32, "WARP_SZ");
}

static void test_flow(const PtxModule *m, const PtxFunc *f) {
    int after_tex = (int)(find(f, "fma", 0) - f->code) + 1, end = f->n_code - 1;
    is_int(find(f, "bra", 0)->target, after_tex, "a forward branch");
    const PtxInstr *in = find(f, "brx", 0);
    ok(in->n_targets == 3 && in->targets[0] == after_tex && in->targets[1] == end &&
           in->targets[2] == after_tex,
       "the targets of brx.idx, repeated ones too");
    int first = (int)(find(f, "bra", 1) - f->code), second = (int)(find(f, "bra", 2) - f->code);
    ok(f->code[first].target == first - 1 && f->code[second].target == second - 1,
       "the same label in two scopes means the nearer one");
    in = find(f, "call", 0);
    is_int(in->n_args, 3, "call (rets), function, (params)");
    is_int(in->args[0].kind, PTX_OP_LIST, "its list of returns");
    is_str(m->funcs[in->args[1].func].name, "twice", "the function it calls");
    in = find(f, "call", 1);
    is_int(in->args[1].kind, PTX_OP_REG, "an indirect call");
    is_str(in->args[3].symbol, f->protos[0].name, "its prototype");
    is_int(f->protos[0].n_params, 1, "which has a parameter");
    ok(f->n_pragmas == 1 && f->pragmas[0].at == after_tex, "the pragma's place");
}

static void test_scopes(const PtxFunc *f) {
    const PtxInstr *a = find(f, "call", 0), *b = find(f, "call", 1);
    const PtxOperand *x = &a->args[2].elems[0], *y = &b->args[2].elems[0];
    ok(x->var != y->var && x->var->type == PTX_B32 && y->var->type == PTX_B64,
       "param0 of two scopes are two variables");
    ok(strcmp(x->var->name, y->var->name) != 0, "with two names");
    for (int i = 0; i < f->n_regs; i++)
        for (int k = i + 1; k < f->n_regs; k++)
            if (strcmp(f->regs[i].name, f->regs[k].name) == 0)
                ok(false, "%s twice", f->regs[i].name);
    PtxModule *m =
        parse(PTX_HEAD ".global .u32 x;\n.visible .entry k()\n{\n.reg .b32 %r<2>;\n"
                       "mov.u32 %r0, x;\n{ .reg .b32 x; mov.u32 x, %r0; }\nmov.u32 %r1, x;\n}\n");
    PtxFunc *k = ptx_find_func(m, "k");
    ok(k->code[0].args[1].var == m->vars[0] && k->code[2].args[1].var == m->vars[0],
       "outside the scope x is the module's variable");
    is_int(k->code[1].args[0].kind, PTX_OP_REG, "inside it is the register");
    ok(strcmp(k->regs[2].name, "x") != 0, "which is renamed");
    ptx_free(m);
}

static void test_head(const PtxModule *m, const PtxFunc *f) {
    ok(f->is_entry && f->linkage == PTX_VISIBLE && f->n_params == 3,
       "an entry with three parameters");
    is_int(f->params[1].size, 48, "the size of a struct by value");
    is_int(f->params[1].align, 8, "and its alignment");
    ok(f->params[0].is_ptr && f->params[0].ptr_space == PTX_GLOBAL && f->params[0].ptr_align == 4,
       ".ptr");
    ok(f->maxntid[0] == 128 && f->maxntid[1] == 2 && f->maxntid[2] == 1, ".maxntid 128, 2");
    ok(f->minnctapersm == 2 && f->maxnreg == 64, ".minnctapersm, .maxnreg");
    is_str(f->directives, ".maxclusterrank 4", "other directives are kept");
    is_int(m->n_funcs, 5, "a prototype and its function are one");
    ok(!ptx_find_func(m, "vprintf")->has_body && ptx_find_func(m, "twice")->n_rets == 1,
       "declarations");
    ok(m->version_major == 8 && m->version_minor == 0 && strcmp(m->target, "sm_90") == 0,
       "version, target");
    ok(ptx_find_func(m, "nobody") == NULL && ptx_find_var(m, "nothing") == NULL, "unknown names");
}

static void test_initialisers(const PtxModule *m) {
    const PtxVar *v = ptx_find_var(m, "matrix");
    ok(v->size == 6 && memcmp(v->init, "\1\2\0\4\5\6", 6) == 0, "nested braces fill their row");
    v = ptx_find_var(m, "quads");
    float q[8];
    memcpy(q, v->init, sizeof q);
    ok(v->size == 32 && v->vec == 4 && q[1] == 2.0F && q[2] == 0.0F && q[4] == 3.0F, "vectors");
    v = ptx_find_var(m, "table");
    float t[4];
    memcpy(t, v->init, sizeof t);
    ok(t[0] == 1.0F && t[1] == 2.5F && t[2] == -1.0F && t[3] == 0.0F, "floats, decimal ones too");
    v = ptx_find_var(m, "where");
    ok(v->n_relocs == 2 && v->relocs[0].generic && v->relocs[0].addend == 8 &&
           v->relocs[1].offset == 16,
       "addresses");
    is_str(v->relocs[1].symbol, "twice", "of functions");
    v = ptx_find_var(m, "dynamic");
    ok(v->is_extern && v->size == 0 && v->space == PTX_SHARED && v->align == 16, "dynamic shared");
    ok(ptx_find_var(m, "shared_with_host")->is_managed_or_texref, "managed");
    PtxModule *n = parse(PTX_HEAD ".global .u64 n[7] = {0, 010, 18446744073709551615, 7U, 1+2,12 ,"
                                  "123456789012345678};");
    const uint64_t want[7] = {0, 8, UINT64_MAX, 7, 3, 12, 123456789012345678};
    ok(memcmp(n->vars[0]->init, want, sizeof want) == 0, "whole numbers, however they are written");
    ptx_free(n);
}

static void test_source_lines(const PtxFunc *f) {
    is_int(find(f, "ld", 0)->src_line, 10, ".loc of file 1");
    is_int(find(f, "bra", 0)->src_line, 12, "inlined: where it was inlined");
    is_int(find(f, "tex", 0)->src_line, 12, "inlined into what was inlined");
    is_int(find(f, "tex", 1)->src_line, 0, "another file, not inlined: unknown");
    is_int(find(f, "shfl", 0)->src_line, 14, "file 1 again");
    int line = 1;
    for (const char *p = ptx_sample; p < strstr(ptx_sample, "ld.param.u64 %rd1"); p++)
        line += *p == '\n';
    is_int(find(f, "ld", 0)->line, line, "the PTX line");
}

static void fails(const char *text, const char *message) {
    PtxModule *m = parse(text);
    ok(m == NULL && strcmp(err.code, "compile") == 0, "refused: %s", message);
    has_str(err.message, message, "and says so");
    ptx_free(m);
}

static void test_errors(void) {
    fails("", "PTX line 1: expected .version first, found the end of the text");
    fails(".version 4294967295.0\n", "expected a version such as 8.0");
    fails(".version 8.0\n.target sm_90\n.address_size 32\n", ".address_size 32 is not supported");
    fails(PTX_KERNEL("add.s32 %r1, %r2\nret;"),
          "PTX line 13: expected ',' or ';' after an operand of 'add', found 'ret'");
    fails(PTX_KERNEL("mov.u32 %r1, %r9;"), "PTX line 12: '%r9' is not declared");
    fails(PTX_KERNEL("bra nowhere;"),
          "PTX line 12: the label 'nowhere' is nowhere in the function 'k'");
    fails(PTX_KERNEL("here: ret;\nhere: ret;"), "PTX line 13: label 'here' stands twice");
    fails(PTX_KERNEL(".reg .b32 %r1;\n.reg .b32 %r1;"), "declared twice");
    fails(PTX_KERNEL("@%r1 ret;"), "'%r1' guards an instruction but is not .pred");
    fails(PTX_KERNEL("add.s32 %r1, !%r2, 1;"), "'%r2' is no predicate: '!' negates those");
    fails(PTX_KERNEL("vmad.s32.s32.s32 %r1, %r2, %r3, -%p1;"), "'%p1' is a predicate");
    fails(PTX_KERNEL("mov.f32 %f1, 0f3F80;"), "has 8 hexadecimal digits, not 4");
    fails(PTX_KERNEL("mov.u32 %r1, 1/0;"), "divides by zero");
    fails(PTX_KERNEL("mov.u64 %rd1, 99999999999999999999;"), "does not fit in 64 bits");
    fails(PTX_KERNEL(".reg .v2 .f32 v;\nmov.f32 v.z, 0f00000000;"), "'v' has no part '.z'");
    fails(PTX_KERNEL("{ ret;"), "found the end of the text");
    fails(PTX_KERNEL("ld.global.u32 %r1, [%rd1;"), "expected ']' after the address, found ';'");
    fails(PTX_KERNEL(".reg .b32 %x<99999999>;"), "the number of registers is 99999999");
    fails(PTX_KERNEL("brx.idx %r1, ts;"), "'ts' is no .branchtargets list declared before");
    fails(PTX_HEAD ".global .u32 a[2] = {1, 2, 3};", "too many initialisers for 'a'");
    fails(PTX_HEAD ".global .u8 a[2][333333333] = {{1}, {2}};",
          "the initialiser of 'a' leaves out more than 1048576 bytes");
    fails(PTX_HEAD ".global .u64 a = nothing;",
          "the initialiser of 'a' names 'nothing', which is not declared");
    fails(PTX_HEAD ".global .u32 a = 1;\n.global .u32 b = a;", "the address of 'a' needs 8 bytes");
    fails(PTX_HEAD ".global .u64 a;\n.global .u8 b = 0(a);",
          "the mask of 'a' does not select one byte");
    fails(PTX_HEAD ".shared .b8 a[];", "the size of 'a' is not known");
    fails(PTX_KERNEL(".shared .align 4 .b8 a[0];"), "the size of 'a' is not known");
    fails(PTX_HEAD ".global .b8 a[] = {};", "the size of 'a' is not known");
    fails(PTX_HEAD ".func f(.local .b32 a);", "a parameter is neither .param nor .reg");
    fails(PTX_HEAD ".func f();\n.alias g, f;", "'g' of an .alias is no function");
    fails(PTX_HEAD ".func f() {}\n.func f() {}", "PTX line 5: the function 'f' has two bodies");
    fails(PTX_HEAD ".func f()\n{\nshop {", "PTX line 6: "); /* no operand before */
    fails(PTX_HEAD ".func f()\n{\nshop {}, 1", "PTX line 6: ");
    fails(PTX_HEAD ".nonsense", "the directive .nonsense is not known");
    fails(PTX_HEAD "/* open", "a comment that begins here never ends");
    fails(PTX_HEAD ".global .b8 a[2147483647];", "outside");
}

int main(void) {
    PtxModule *m = parse(ptx_sample);
    if (!ok(m != NULL, "the sample parses: %s", err.message)) return tap_done();
    PtxFunc *f = ptx_find_func(m, "big");
    test_operands(f);
    test_flow(m, f);
    test_head(m, f);
    test_initialisers(m);
    test_source_lines(f);
    test_scopes(f);
    test_errors();
    ptx_free(m);
    ptx_free(NULL);
    return tap_done();
}
