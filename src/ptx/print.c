/* print.c - modules and instructions as PTX text.
**
** Functions are printed flat: declarations first, then code. Labels are made from instruction
** indices ($L12), as are the tables of brx.idx ($T12).
*/
#include "ptx/ptx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_operand(const PtxFunc *f, const PtxInstr *in, const PtxOperand *op, gi_buf *out);

static void print_list(const PtxFunc *f, const PtxInstr *in, const PtxOperand *op, const char *open,
                       const char *separator, const char *close, gi_buf *out) {
    gi_buf_adds(out, open);
    for (int i = 0; i < op->n_elems; i++) {
        if (i > 0) gi_buf_adds(out, separator);
        print_operand(f, in, &op->elems[i], out);
    }
    gi_buf_adds(out, close);
}

static void print_offset(int64_t offset, gi_buf *out) {
    if (offset) gi_buf_addf(out, "+%" PRId64, offset);
}

static void print_immediate(const PtxOperand *op, gi_buf *out) {
    if (op->imm_kind == PTX_IMM_F32) gi_buf_addf(out, "0f%08" PRIX32, (uint32_t)op->imm);
    else if (op->imm_kind == PTX_IMM_F64) gi_buf_addf(out, "0d%016" PRIX64, op->imm);
    else gi_buf_addf(out, "%" PRId64, (int64_t)op->imm);
}

static void print_address(const PtxFunc *f, const PtxInstr *in, const PtxOperand *op, gi_buf *out) {
    gi_buf_adds(out, "[");
    print_operand(f, in, &op->elems[0], out);
    print_offset(op->offset, out);
    gi_buf_adds(out, "]");
}

static void print_label(const PtxFunc *f, const PtxInstr *in, gi_buf *out) {
    if (in->target >= 0) gi_buf_addf(out, "$L%d", in->target);
    else gi_buf_addf(out, "$T%d", (int)(in - f->code));
}

static void print_operand(const PtxFunc *f, const PtxInstr *in, const PtxOperand *op, gi_buf *out) {
    if (op->negated) gi_buf_adds(out, f->regs[op->reg].type == PTX_PRED ? "!" : "-");
    switch (op->kind) {
    case PTX_OP_REG: gi_buf_adds(out, f->regs[op->reg].name); break;
    case PTX_OP_IMM: print_immediate(op, out); break;
    case PTX_OP_SREG: gi_buf_adds(out, op->symbol); break;
    case PTX_OP_SYMBOL:
        gi_buf_adds(out, op->symbol);
        print_offset(op->offset, out);
        break;
    case PTX_OP_ADDR: print_address(f, in, op, out); break;
    case PTX_OP_LABEL: print_label(f, in, out); break;
    case PTX_OP_VECTOR: print_list(f, in, op, "{", ", ", "}", out); break;
    case PTX_OP_TEX: print_list(f, in, op, "[", ", ", "]", out); break;
    case PTX_OP_PAIR: print_list(f, in, op, "", "|", "", out); break;
    case PTX_OP_LIST: print_list(f, in, op, "(", ", ", ")", out); break;
    case PTX_OP_SINK: gi_buf_adds(out, "_"); break;
    }
    if (op->select) gi_buf_addf(out, ".%s", op->select);
}

void ptx_print_instr(const PtxFunc *f, const PtxInstr *in, gi_buf *out) {
    if (in->guard >= 0)
        gi_buf_addf(out, "@%s%s ", in->guard_negated ? "!" : "", f->regs[in->guard].name);
    gi_buf_adds(out, in->opcode);
    for (int i = 0; i < in->n_mods; i++) gi_buf_addf(out, ".%s", in->mods[i]);
    for (int i = 0; i < in->n_args; i++) {
        gi_buf_adds(out, i == 0 ? " " : ", ");
        print_operand(f, in, &in->args[i], out);
    }
    gi_buf_adds(out, ";");
}

static const char *space_name(PtxSpace space) {
    static const char *const names[] = {"",        ".reg",   ".param", ".local",
                                        ".shared", ".const", ".global"};
    return names[space];
}

static const char *linkage_text(PtxLinkage linkage) {
    static const char *const texts[] = {"", ".visible ", ".weak ", ".extern ", ".common "};
    return texts[linkage];
}

static void print_pointer(const PtxVar *v, gi_buf *out) {
    gi_buf_adds(out, " .ptr");
    if (v->ptr_space != PTX_GENERIC) gi_buf_addf(out, " %s", space_name(v->ptr_space));
    if (v->ptr_align) gi_buf_addf(out, " .align %d", v->ptr_align);
}

/* Elements of the variable's type, a vector counting as several; -1 for []. */
static int64_t n_numbers(const PtxVar *v) {
    return v->size ? (int64_t)(v->size / ptx_type_size(v->type)) : -1;
}

static bool is_array(const PtxVar *v) {
    return n_numbers(v) != v->vec;
}

/* ".global .align 4 .f32 name[16]" */
static void print_declaration(const PtxVar *v, gi_buf *out) {
    gi_buf_adds(out, space_name(v->space));
    if (v->is_managed_or_texref && v->type < PTX_TEXREF) gi_buf_adds(out, " .attribute(.managed)");
    if (v->type < PTX_TEXREF) gi_buf_addf(out, " .align %d", v->align);
    if (v->vec > 1) gi_buf_addf(out, " .v%d", v->vec);
    gi_buf_addf(out, " .%s", ptx_type_name(v->type));
    if (v->is_ptr) print_pointer(v, out);
    gi_buf_addf(out, " %s", v->name);
    if (v->size == 0) gi_buf_adds(out, "[]");
    else if (is_array(v)) gi_buf_addf(out, "[%" PRId64 "]", n_numbers(v) / v->vec);
}

static const PtxReloc *reloc_at(const PtxVar *v, uint64_t offset) {
    for (int i = 0; i < v->n_relocs; i++)
        if (v->relocs[i].offset == offset) return &v->relocs[i];
    return NULL;
}

static void print_number(const PtxVar *v, uint64_t offset, gi_buf *out) {
    uint64_t bits = 0;
    size_t size = ptx_type_size(v->type);
    for (size_t i = size < 8 ? size : 8; i-- > 0;) bits = bits << 8 | v->init[offset + i];
    if (v->type == PTX_F32) gi_buf_addf(out, "0f%08" PRIX64, bits);
    else if (v->type == PTX_F64) gi_buf_addf(out, "0d%016" PRIX64, bits);
    else if (bits == 0) gi_buf_adds(out, "0"); /* an array may have millions */
    else gi_buf_addf(out, "%" PRIu64, bits);
}

static void print_element(const PtxVar *v, uint64_t offset, gi_buf *out) {
    const PtxReloc *r = v->n_relocs ? reloc_at(v, offset) : NULL;
    if (r == NULL) print_number(v, offset, out);
    else {
        if (r->mask) gi_buf_addf(out, "0x%" PRIx64 "(", r->mask);
        gi_buf_addf(out, r->generic ? "generic(%s)" : "%s", r->symbol);
        print_offset(r->addend, out);
        if (r->mask) gi_buf_adds(out, ")");
    }
}

/* How many leading elements are not zero: the others go without saying. */
static int64_t n_given(const PtxVar *v) {
    uint64_t end = v->size;
    while (end > 0 && v->init[end - 1] == 0) end--;
    for (int i = 0; i < v->n_relocs; i++)
        if (v->relocs[i].offset >= end) end = v->relocs[i].offset + 1;
    uint64_t elem = ptx_type_size(v->type) * (uint64_t)v->vec;
    int64_t n = (int64_t)((end + elem - 1) / elem) * v->vec;
    return n ? n : v->vec;
}

static void print_initialiser(const PtxVar *v, gi_buf *out) {
    uint64_t size = ptx_type_size(v->type);
    int64_t n = n_given(v);
    gi_buf_adds(out, " = ");
    if (is_array(v)) gi_buf_adds(out, "{");
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) gi_buf_adds(out, ", ");
        if (v->vec > 1 && i % v->vec == 0) gi_buf_adds(out, "{");
        print_element(v, (uint64_t)i * size, out);
        if (v->vec > 1 && i % v->vec == v->vec - 1) gi_buf_adds(out, "}");
    }
    if (is_array(v)) gi_buf_adds(out, "}");
}

static void print_var(const PtxVar *v, const char *indent, gi_buf *out) {
    gi_buf_addf(out, "%s%s", indent, linkage_text(v->linkage));
    print_declaration(v, out);
    if (v->init && v->size) print_initialiser(v, out);
    gi_buf_adds(out, ";\n");
}

static void print_params(const PtxVar *params, int n, gi_buf *out) {
    gi_buf_adds(out, "(");
    for (int i = 0; i < n; i++) {
        gi_buf_adds(out, i ? ",\n\t" : "");
        print_declaration(&params[i], out);
    }
    gi_buf_adds(out, ")");
}

static void print_extents(const char *name, const int n[3], gi_buf *out) {
    if (n[0]) gi_buf_addf(out, "\n.%s %d, %d, %d", name, n[0], n[1], n[2]);
}

static void print_head(const PtxFunc *f, gi_buf *out) {
    gi_buf_addf(out, "%s%s ", linkage_text(f->linkage), f->is_entry ? ".entry" : ".func");
    if (f->n_rets) print_params(f->rets, f->n_rets, out);
    gi_buf_addf(out, " %s", f->name);
    print_params(f->params, f->n_params, out);
    print_extents("maxntid", f->maxntid, out);
    print_extents("reqntid", f->reqntid, out);
    if (f->minnctapersm) gi_buf_addf(out, "\n.minnctapersm %d", f->minnctapersm);
    if (f->maxnreg) gi_buf_addf(out, "\n.maxnreg %d", f->maxnreg);
    if (f->directives && f->directives[0]) gi_buf_addf(out, "\n%s", f->directives);
}

/* Registers that follow one another with numbered names, as %r0 … %r6 do: how many from `first`. */
static int range_length(const PtxFunc *f, int first, size_t *stem) {
    const char *name = f->regs[first].name;
    size_t len = strlen(name);
    *stem = len - 1;
    if (len < 2 || name[len - 1] != '0' || (name[len - 2] >= '0' && name[len - 2] <= '9')) return 0;
    gi_buf want = {0};
    int n = 1;
    for (; first + n < f->n_regs && f->regs[first + n].type == f->regs[first].type; n++) {
        gi_buf_clear(&want);
        gi_buf_addf(&want, "%.*s%d", (int)*stem, name, n);
        if (strcmp(want.data, f->regs[first + n].name) != 0) break;
    }
    gi_buf_free(&want);
    return n;
}

static void print_registers(const PtxFunc *f, gi_buf *out) {
    for (int r = 0, n; r < f->n_regs; r += n) {
        size_t stem;
        const char *type = ptx_type_name(f->regs[r].type);
        n = range_length(f, r, &stem);
        if (n > 0) gi_buf_addf(out, "\t.reg .%s %.*s<%d>;\n", type, (int)stem, f->regs[r].name, n);
        else {
            gi_buf_addf(out, "\t.reg .%s %s;\n", type, f->regs[r].name);
            n = 1;
        }
    }
}

static void print_prototypes(const PtxFunc *f, gi_buf *out) {
    for (int i = 0; i < f->n_protos; i++) {
        const PtxProto *p = &f->protos[i];
        gi_buf_addf(out, "\t%s: .callprototype ", p->name);
        if (p->n_rets) print_params(p->rets, p->n_rets, out);
        gi_buf_adds(out, " _ ");
        print_params(p->params, p->n_params, out);
        gi_buf_adds(out, ";\n");
    }
}

static void print_table(const PtxFunc *f, const PtxInstr *in, gi_buf *out) {
    gi_buf_addf(out, "\t$T%d: .branchtargets ", (int)(in - f->code));
    for (int k = 0; k < in->n_targets; k++)
        gi_buf_addf(out, "%s$L%d", k ? ", " : "", in->targets[k]);
    gi_buf_adds(out, ";\n");
}

static bool *labelled(const PtxFunc *f) {
    bool *label = gi_alloc((size_t)f->n_code + 1);
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        if (in->target >= 0) label[in->target] = true;
        for (int k = 0; k < in->n_targets; k++) label[in->targets[k]] = true;
    }
    return label;
}

static void print_code(const PtxFunc *f, gi_buf *out) {
    bool *label = labelled(f);
    int line = 0, pragma = 0;
    for (int i = 0; i <= f->n_code; i++) {
        if (label[i]) gi_buf_addf(out, "$L%d:\n", i);
        for (; pragma < f->n_pragmas && f->pragmas[pragma].at == i; pragma++)
            gi_buf_addf(out, "\t.pragma \"%s\";\n", f->pragmas[pragma].text);
        if (i == f->n_code) break;
        const PtxInstr *in = &f->code[i];
        if (in->src_line != line) gi_buf_addf(out, "\t.loc 1 %d 0\n", line = in->src_line);
        if (in->n_targets) print_table(f, in, out);
        gi_buf_adds(out, "\t");
        ptx_print_instr(f, in, out);
        gi_buf_adds(out, "\n");
    }
    free(label);
}

static void print_body(const PtxFunc *f, gi_buf *out) {
    print_head(f, out);
    gi_buf_adds(out, "\n{\n");
    print_registers(f, out);
    for (int i = 0; i < f->n_vars; i++) print_var(f->vars[i], "\t", out);
    print_prototypes(f, out);
    print_code(f, out);
    gi_buf_adds(out, "}\n");
}

void ptx_print(const PtxModule *m, gi_buf *out) {
    gi_buf_addf(out, ".version %d.%d\n.target %s%s\n.address_size %d\n", m->version_major,
                m->version_minor, m->target, m->target_options, m->address_size);
    for (int i = 0; i < m->n_files; i++)
        if (m->files[i][0]) gi_buf_addf(out, ".file %d \"%s\"\n", i + 1, m->files[i]);
    for (int i = 0; i < m->n_items; i++) {
        PtxItem item = m->items[i];
        if (item.kind == PTX_ITEM_VAR) print_var(m->vars[item.index], "", out);
        else if (item.kind == PTX_ITEM_ALIAS)
            gi_buf_addf(out, ".alias %s, %s;\n", m->funcs[item.index].name,
                        m->funcs[item.target].name);
        else if (item.kind == PTX_ITEM_BODY) print_body(&m->funcs[item.index], out);
        else {
            print_head(&m->funcs[item.index], out);
            gi_buf_adds(out, "\n;\n");
        }
    }
}
