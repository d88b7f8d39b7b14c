/* module.c - all functions of a module: shared memory, numbers, and who is refused.
**
** A function with something that the virtual GPU does not know is refused, and so is every kernel
** that calls it: when it is launched, with the sentence that the decoder said. The others run.
*/
#include "emu/decode/decode.h"

#include <stdlib.h>
#include <string.h>

static uint32_t module_shared(EmuModule *mod) {
    uint32_t next = 0;
    for (int i = 0; i < mod->ptx->n_vars; i++) {
        const PtxVar *v = mod->ptx->vars[i];
        if (v->space == PTX_SHARED && !v->is_extern) mod->vars[i].address = decode_place(&next, v);
    }
    return decode_align(next, 16);
}

/* --- the module's shared memory that a kernel has: up to the last variable that it names --- */

typedef struct Reach {
    const EmuModule *mod;
    bool *seen; /* functions */
    int *todo, n_todo;
    uint32_t end, all;
} Reach;

static void reach_function(Reach *r, int func) {
    if (!r->seen[func]) r->todo[r->n_todo++] = func;
    r->seen[func] = true;
}

static void reach_operand(Reach *r, const PtxOperand *op) {
    bool is_shared = op->var && op->var->space == PTX_SHARED && !op->var->is_extern;
    for (int i = 0; is_shared && i < r->mod->ptx->n_vars; i++) {
        if (r->mod->ptx->vars[i] != op->var) continue;
        uint32_t end = decode_align(r->mod->vars[i].address + (uint32_t)op->var->size, 16);
        if (end > r->end) r->end = end;
    }
    if (op->kind == PTX_OP_SYMBOL && op->func >= 0) reach_function(r, op->func);
    for (int i = 0; i < op->n_elems; i++) reach_operand(r, &op->elems[i]);
}

/* A function whose address comes in a register may be any. */
static uint32_t shared_of_module(const EmuModule *mod, int func, uint32_t all) {
    size_t n = (size_t)mod->n_code;
    Reach r = {mod, gi_alloc(n), gi_alloc(n * sizeof(int)), 0, 0, all};
    for (reach_function(&r, func); r.n_todo && r.end < all;) {
        const PtxFunc *f = &mod->ptx->funcs[r.todo[--r.n_todo]];
        for (int i = 0; i < f->n_code; i++)
            for (int k = 0; k < f->code[i].n_args; k++) {
                const PtxOperand *op = &f->code[i].args[k];
                if (ptx_is(&f->code[i], "call") && op->kind == PTX_OP_REG) r.end = all;
                reach_operand(&r, op);
            }
    }
    free(r.seen);
    free(r.todo);
    return r.end;
}

static void place_formals(Code *code) {
    const PtxFunc *f = code->func;
    code->formal = gi_alloc((size_t)(f->n_params + 1) * 4);
    code->formal_size = gi_alloc((size_t)(f->n_params + 1) * 4);
    code->result = gi_alloc((size_t)(f->n_rets + 1) * 4);
    code->result_size = gi_alloc((size_t)(f->n_rets + 1) * 4);
    for (int i = 0; i < f->n_params; i++) {
        code->formal[i] = decode_place(&code->param_bytes, &f->params[i]);
        code->formal_size[i] = (uint32_t)f->params[i].size;
    }
    for (int i = 0; i < f->n_rets; i++) {
        code->result[i] = decode_place(&code->param_bytes, &f->rets[i]);
        code->result_size[i] = (uint32_t)f->rets[i].size;
    }
}

/* A kernel's threads need the registers of the hungriest function they may call. */
static void share_registers(EmuModule *mod) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < mod->n_code; i++) {
            Code *code = &mod->code[i];
            for (int k = 0; k < code->n_call; k++) {
                int callee = code->call[k].func;
                if (callee < 0 || mod->code[callee].registers <= code->registers) continue;
                code->registers = mod->code[callee].registers;
                changed = true;
            }
        }
    }
}

static void number_fetches(EmuModule *mod) {
    for (int i = 0; i < mod->n_code; i++)
        for (int k = 0; k < mod->code[i].n_tex; k++)
            mod->code[i].tex[k].site = (uint32_t)mod->n_fetches++;
}

/* Who calls what is refused is refused, for the same reason. */
static void pass_on_refusals(EmuModule *mod) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < mod->n_code; i++) {
            Code *code = &mod->code[i];
            for (int k = 0; k < code->n_call && code->refused == NULL; k++) {
                int callee = code->call[k].func;
                if (callee < 0 || mod->code[callee].refused == NULL) continue;
                code->refused = gi_strdup(mod->code[callee].refused);
                changed = true;
            }
        }
    }
}

/* Does what a kernel is given fit into the room that CUDA has for it? */
static bool params_fit(const EmuModule *mod, const Code *code, gi_err *why) {
    const PtxModule *ptx = mod->ptx;
    int version = ptx->version_major * 10 + ptx->version_minor;
    size_t most = version >= 81 ? 32764 : 4352, have = module_param_bytes(code);
    if (!code->func->is_entry || have <= most) return true;
    return gi_fail(why, "compile",
                   "PTX line %d: kernel %s has %zu bytes of parameters; at most %zu are allowed",
                   code->func->line, code->func->name, have, most);
}

static void decode_or_refuse(EmuModule *mod, int index, int first_block, uint32_t shared_base) {
    gi_err why = {0};
    const PtxFunc *f = mod->code[index].func;
    if (f->refused) gi_fail(&why, "compile", "%s (in %s)", f->refused, f->name);
    if (f->refused || !decode_function(mod, index, first_block, shared_base, &why) ||
        !params_fit(mod, &mod->code[index], &why))
        mod->code[index].refused = gi_strdup(why.message);
}

/* Shared memory: the module's variables that the entry names, then its own; device functions that
** declare some come behind the largest entry, and then every entry must hold it all. */
void decode_module(EmuModule *mod) {
    const PtxModule *ptx = mod->ptx;
    uint32_t base = module_shared(mod), entries_end = base, end;
    int blocks = 0;
    for (int i = 0; i < mod->n_code; i++) {
        mod->code[i].func = &ptx->funcs[i];
        mod->code[i].index = i;
        place_formals(&mod->code[i]);
    }
    for (int pass = 0; pass < 2; pass++) {
        end = entries_end;
        for (int i = 0; i < mod->n_code; i++) {
            const PtxFunc *f = &ptx->funcs[i];
            if (!f->has_body || f->is_entry != (pass == 0)) continue;
            uint32_t own = pass == 0 ? shared_of_module(mod, i, base) : decode_align(end, 16);
            decode_or_refuse(mod, i, blocks, own);
            blocks += mod->code[i].n_blocks;
            uint32_t top = (uint32_t)mod->code[i].shared_bytes;
            if (pass == 0 && top > entries_end) entries_end = top;
            if (pass == 1 && top > decode_align(end, 16)) end = top;
        }
    }
    for (int i = 0; i < mod->n_code && end > entries_end; i++)
        if (ptx->funcs[i].is_entry) mod->code[i].shared_bytes = end;
    mod->n_blocks = blocks;
    number_fetches(mod);
    layouts_number(mod);
    share_registers(mod);
    pass_on_refusals(mod);
}
