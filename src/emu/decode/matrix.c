/* matrix.c - decodes mma, wmma, ldmatrix, stmatrix and movmatrix. Shapes and maps are rows of
** matrix_shapes.c; any other is refused, as by ptxas. */
#include "emu/exec/matrix_group.h"
#include "emu/decode/matrix_words.h"

#include <stdlib.h>
#include <string.h>

static bool take_flag(Words *w, const char *mod) {
    static const char *const rounds[] = {"rn", "rz", "rm", "rp"};
    for (unsigned k = 0; k < 4; k++)
        if (strcmp(mod, rounds[k]) == 0 && !w->has_round) return w->round = k, w->has_round = true;
    if (strcmp(mod, "satfinite") == 0) return w->saturates = true;
    if (strcmp(mod, "and") == 0) return w->is_and = true;
    if (strcmp(mod, "xor") == 0) return w->is_xor = true;
    if (strcmp(mod, "popc") == 0) return w->popc = true;
    if (strcmp(mod, "trans") == 0) return w->turned = true;
    if (strcmp(mod, "store") == 0) return w->is_store = true;
    if (strcmp(mod, "sp") == 0) return w->is_sparse = true;
    if (strcmp(mod, "sp::ordered_metadata") == 0) return w->is_sparse = w->is_ordered = true;
    return ptx_word_in(mod, "sync aligned load mma mma_async");
}

static bool take_word(Words *w, const char *mod) {
    MatrixType type;
    if (matrix_type(mod, &type) && w->n_types < 4) {
        w->type_word[w->n_types] = mod;
        w->type[w->n_types++] = type;
    } else if (ptx_word_in(mod, "row col") && w->n_layouts < 2) {
        w->by_rows[w->n_layouts++] = mod[0] == 'r';
    } else if (mod[0] == 'm' && mod[1] >= '1' && mod[1] <= '9' && w->shape == NULL) {
        w->shape = mod;
    } else if (ptx_word_in(mod, "x1 x2 x4") && w->count == 0) {
        w->count = mod[1] - '0';
    } else if (ptx_word_in(mod, "shared shared::cta global") && w->space == NULL) {
        w->space = mod;
    } else if (ptx_word_in(mod, "a b c d") && w->part == NULL) {
        w->part = mod;
    } else {
        return take_flag(w, mod);
    }
    return true;
}

/* Is a word in a place that is not its own? What is done comes first; types and layouts alone may
** be there twice. */
static bool is_odd(const Decoder *d, int i) {
    MatrixType type;
    const char *mod = mod_at(d, i);
    bool is_first = i == 0 || (i == 1 && strcmp(mod, "sp") == 0 && mod_is(d, 0, "mma_async"));
    if (!is_first && ptx_word_in(mod, "load store mma mma_async sp sp::ordered_metadata"))
        return true;
    if (matrix_type(mod, &type) || ptx_word_in(mod, "row col")) return false;
    for (int k = 0; k < i; k++)
        if (strcmp(mod_at(d, k), mod) == 0) return true;
    return false;
}

bool matrix_words(Decoder *d, Words *w) {
    bool moves = ptx_is(d->in, "ldmatrix stmatrix movmatrix");
    *w = (Words){0};
    for (int i = 0; i < d->in->n_mods; i++) {
        bool is_type = moves && strcmp(mod_at(d, i), "b16") == 0;
        if (is_odd(d, i) || (!is_type && !take_word(w, mod_at(d, i)))) return decode_unknown(d);
    }
    if (!has_mod(d, "sync") || !has_mod(d, "aligned"))
        return decode_fail(d, ".sync.aligned is required");
    return true;
}

static bool target_has(Decoder *d, int sm) {
    return atoi(d->mod->ptx->target + 3) >= sm ||
           decode_fail(d, "this needs .target sm_%d or newer", sm);
}

/* --- operands --- */

static bool type_agrees(MatrixType type, PtxType reg) {
    switch (type) {
    case MATRIX_F32: return reg == PTX_F32 || reg == PTX_B32;
    case MATRIX_F64: return reg == PTX_F64 || reg == PTX_B64;
    case MATRIX_S8:
    case MATRIX_U8:
    case MATRIX_S4:
    case MATRIX_U4:
    case MATRIX_B1:
    case MATRIX_S32: return reg == PTX_B32 || reg == PTX_S32 || reg == PTX_U32;
    default: return reg == PTX_B32;
    }
}

bool matrix_register(Decoder *d, const PtxOperand *op, MatrixType type, bool is_dest,
                     uint32_t *row) {
    char letter = type == MATRIX_F64 ? 'd' : type == MATRIX_F32 ? 'f' : 'w';
    bool is_number = op->kind == PTX_OP_IMM && op->imm_kind != PTX_IMM_INT &&
                     type == MATRIX_F32 && !is_dest;
    if (!is_number && !(op->kind == PTX_OP_SINK && is_dest)) {
        if (op->kind != PTX_OP_REG || op->negated)
            return decode_fail(d, "a vector of registers is expected");
        if (!type_agrees(type, d->func->regs[op->reg].type))
            return decode_fail(d, "register %s does not have the fragment's type",
                               d->func->regs[op->reg].name);
    }
    return is_dest ? dest(d, op, letter, row) : source(d, op, letter, 0, row);
}

/* The registers of a fragment: `count` of them, in a vector. */
bool matrix_part(Decoder *d, const PtxOperand *op, MatrixType type, int count, bool is_dest,
                 MatrixPart *p) {
    if (op->kind != PTX_OP_VECTOR || op->n_elems != count)
        return decode_fail(d, "a vector of %d registers is expected", count);
    p->type = (uint8_t)type;
    p->count = (uint8_t)count;
    for (int k = 0; k < count; k++)
        if (!matrix_register(d, &op->elems[k], type, is_dest, &p->reg[k])) return false;
    return true;
}

MatrixForm *matrix_new(Decoder *d, MatrixForm f) {
    Code *code = d->code;
    gi_grow(code->matrix, code->n_matrix, code->cap_matrix);
    code->matrix[code->n_matrix] = f;
    return &code->matrix[code->n_matrix++];
}

/* All that a warp does together waits for all of its lanes (sync.c). */
bool matrix_emit(Decoder *d) {
    uint32_t last = (uint32_t)d->code->n_matrix - 1;
    const MatrixForm *f = &d->code->matrix[last];
    return emit_sync(d, (SyncForm){.name = f->name,
                                   .kind = SYNC_MATRIX,
                                   .has_mask = true,
                                   .mask = pool_row(d, POOL_B32, FULL_MASK),
                                   .value = f->address,
                                   .matrix = last});
}

static bool emit_matrix(Decoder *d, const MatrixForm *f) {
    matrix_new(d, *f);
    return matrix_emit(d);
}

/* --- products --- */

/* Do the types and flags go together, as ptxas has it? */
static bool product_agrees(Decoder *d, const Words *w, const MatrixShape *s, bool is_wmma) {
    MatrixType td = w->type[0], ta = w->type[1], tb = w->type[2], tc = w->type[3];
    bool is_quad = s->m == 8 && ta == MATRIX_F16 && !is_wmma;
    bool free_sums = is_wmma ? s->mixed : is_quad && td == MATRIX_F32;
    bool bits = ta == MATRIX_B1;
    if (!ptx_word_in(w->type_word[1], s->types) || !ptx_word_in(w->type_word[2], s->types) ||
        !ptx_word_in(w->type_word[0], s->sums) || !ptx_word_in(w->type_word[3], s->sums))
        return decode_fail(d, "this shape has no such types");
    if (ta != tb && (!s->mixed || is_quad || is_wmma))
        return decode_fail(d, "A and B have one type here");
    if (td != tc && !free_sums) return decode_fail(d, "C and D have one type here");
    if (w->n_layouts != 2) return decode_fail(d, "the layouts of A and B are expected");
    bool any_layout = is_quad || (is_wmma && s->k < 32);
    if (!any_layout && (!w->by_rows[0] || w->by_rows[1]))
        return decode_fail(d, "the layouts are .row.col here");
    if (w->saturates && (td != MATRIX_S32 || bits))
        return decode_fail(d, ".satfinite is of whole numbers");
    if (w->popc != bits || w->is_and + w->is_xor != bits)
        return decode_fail(d, ".and.popc or .xor.popc is of .b1, which needs one");
    if (w->has_round && ta != MATRIX_F64) return decode_fail(d, "a rounding is of .f64");
    return target_has(d, w->is_and ? 80 : s->sm);
}

/* Hopper's rates by type: NVIDIA's H100 white paper (dense). */
double matrix_work(MatrixType a, int products) {
    static const double share[MATRIX_TYPES] = {
        [MATRIX_F16] = 1,    [MATRIX_BF16] = 1, [MATRIX_TF32] = 2,   [MATRIX_E4M3] = 0.5,
        [MATRIX_E5M2] = 0.5, [MATRIX_F64] = 15, [MATRIX_S8] = 0.5,   [MATRIX_U8] = 0.5,
        [MATRIX_S4] = 0.5,   [MATRIX_U4] = 0.5, [MATRIX_B1] = 0.0625};
    return share[a] * products / 1024;
}

static void map_quad(MatrixForm *f, const Words *w) {
    f->is_quad = true;
    f->tiles = 4;
    f->a.map = matrix_quad_a(w->by_rows[0]);
    f->b.map = matrix_quad_b(w->by_rows[1]);
    f->c.map = matrix_quad_c(f->c.type == MATRIX_F32);
    f->d.map = matrix_quad_c(f->d.type == MATRIX_F32);
    f->a.places = f->tiles * 4 * MATRIX_STRIP;
    f->b.places = f->tiles * 4 * 8;
    f->c.places = f->d.places = f->tiles * 8 * MATRIX_STRIP;
}

static void map_product(MatrixForm *f, const MatrixShape *s) {
    int k = s->k / (f->a.type == MATRIX_B1 ? 32 : 1);
    f->tiles = (uint8_t)((s->m + MATRIX_STRIP - 1) / MATRIX_STRIP);
    f->a.map = matrix_map_a(s->m, f->is_sparse ? s->k / 2 : s->k, (MatrixType)f->a.type);
    f->b.map = matrix_map_b(s->k, s->n, (MatrixType)f->b.type);
    f->c.map = matrix_map_c(s->m, s->n);
    f->d.map = matrix_map_c(s->m, s->n);
    if (f->rule.by_pairs) {
        f->rule.at_once = (uint8_t)(s->k / 2);
        if (!f->is_sparse) matrix_order_pairs(f->a.map, 1, s->k, MATRIX_STRIP, 2);
        matrix_order_pairs(f->b.map, s->n, s->k, 1, f->is_sparse ? 4 : 2);
    }
    f->a.places = (uint16_t)(f->tiles * k * MATRIX_STRIP / (f->is_sparse ? 2 : 1));
    f->b.places = (uint16_t)(k * s->n);
    f->c.places = f->d.places = (uint16_t)(f->tiles * s->n * MATRIX_STRIP);
}

/* wmma keeps 16 numbers of f16 a lane whatever the shape: the first are those that count. */
static int factor_registers(int numbers, MatrixType type, bool is_wmma) {
    return is_wmma && type == MATRIX_F16 ? 8 : matrix_registers(numbers, type);
}

static bool take_factor(Decoder *d, const PtxOperand *op, int numbers, MatrixType type,
                        bool is_wmma, MatrixPart *p) {
    if (!matrix_part(d, op, type, factor_registers(numbers, type, is_wmma), false, p)) return false;
    p->count = (uint8_t)matrix_registers(numbers, type);
    return true;
}

/* The compute capability of the GPU whose order of summation is simulated. */
static int capability(const Decoder *d) {
    int asked = (int)d->emu->model.matrix_capability;
    return asked ? asked : 90;
}

bool matrix_metadata(Decoder *d, int arg, MatrixForm *f) {
    const PtxOperand *op = &d->in->args[arg], *which = op + 1;
    f->is_sparse = true;
    f->rule.at_once *= 2; /* columns; half of them are stored */
    if (op->kind != PTX_OP_REG || !type_agrees(MATRIX_S32, d->func->regs[op->reg].type))
        return decode_fail(d, "metadata are in a register of 32 bits");
    if (which->kind != PTX_OP_IMM || which->imm_kind != PTX_IMM_INT ||
        which->imm >= 4u / (unsigned)matrix_metadata_lanes(f))
        return decode_fail(d, "the sparsity selector is a number below %d",
                           4 / matrix_metadata_lanes(f));
    f->selector = (uint8_t)which->imm;
    return source(d, op, 'w', 0, &f->metadata);
}

static bool take_product(Decoder *d, const Words *w, const MatrixShape *s, bool is_wmma) {
    const PtxOperand *args = d->in->args;
    int tiles = s->m == 8 && w->type[1] == MATRIX_F16 && !is_wmma ? 4 : 1;
    int sums = tiles * s->m * s->n, there = s->k / (w->is_sparse ? 2 : 1);
    MatrixForm f = {.kind = MATRIX_PRODUCT,
                    .name = is_wmma ? "wmma.mma.sync" : w->is_sparse ? "mma.sp.sync" : "mma.sync",
                    .shape = s,
                    .rule = matrix_rule(capability(d), w->type[1]),
                    .saturates = w->saturates,
                    .is_and = w->is_and,
                    .is_ordered = w->is_ordered,
                    .round = (uint8_t)w->round,
                    .work = matrix_work(w->type[1], s->m * s->n * there)};
    if (!take_factor(d, &args[1], tiles * s->m * there, w->type[1], is_wmma, &f.a) ||
        !take_factor(d, &args[2], tiles * s->k * s->n, w->type[2], is_wmma, &f.b) ||
        !matrix_part(d, &args[3], w->type[3], matrix_registers(sums, w->type[3]), false, &f.c) ||
        !matrix_part(d, &args[0], w->type[0], matrix_registers(sums, w->type[0]), true, &f.d) ||
        (w->is_sparse && !matrix_metadata(d, 4, &f)))
        return false;
    if (tiles == 4) map_quad(&f, w);
    else map_product(&f, s);
    d->cost[d->index] = COST_MATRIX;
    return emit_matrix(d, &f);
}

/* Of f16 wmma.mma names D and C alone. */
static void spread_types(Words *w) {
    w->type[3] = w->type[1];
    w->type_word[3] = w->type_word[1];
    w->type[1] = w->type[2] = MATRIX_F16;
    w->type_word[1] = w->type_word[2] = "f16";
    w->n_types = 4;
}

static bool decode_product(Decoder *d, Words *w, bool is_wmma) {
    if (is_wmma && w->n_types == 2) spread_types(w);
    if (w->shape == NULL || w->n_types != 4 || d->in->n_args != (w->is_sparse ? 6 : 4) ||
        w->space || w->part || w->turned || w->count || (w->is_sparse && is_wmma))
        return decode_unknown(d);
    const char *opcode = w->is_sparse ? "mma.sp" : d->in->opcode;
    const MatrixShape *s = matrix_shape(opcode, w->shape, w->type_word[1], false);
    if (s == NULL) return decode_unknown(d);
    return product_agrees(d, w, s, is_wmma) && take_product(d, w, s, is_wmma);
}

static bool decode_mma(Decoder *d) {
    Words w;
    if (has_mod(d, "load store mma a b c d")) return decode_unknown(d);
    return matrix_words(d, &w) && decode_product(d, &w, false);
}

/* --- wmma.load, wmma.store --- */

/* Rows and columns of the part that is moved, and the maps of its numbers by places. */
static uint16_t *part_map(const MatrixShape *s, char part, MatrixType type, int *rows,
                          int *columns) {
    *rows = part == 'b' ? s->k : s->m;
    *columns = part == 'a' ? s->k : s->n;
    if (part == 'a') return matrix_map_a(s->m, s->k, type);
    return part == 'b' ? matrix_map_b(s->k, s->n, type) : matrix_map_c(s->m, s->n);
}

/* map[e * 32 + lane] = row * 256 + column of the piece e that a lane moves: a number, or a register
** of numbers below a byte. */
static uint16_t *pieces_of(const MatrixShape *s, char part, MatrixType type, int pieces) {
    int rows, columns, wide = type == MATRIX_B1 ? 32 : 1;
    int in = matrix_bits(type) < 8 && wide == 1 ? 8 : 1; /* numbers of a piece in the map */
    uint16_t *map = part_map(s, part, type, &rows, &columns);
    uint16_t *to = gi_alloc((size_t)pieces * LANES * sizeof *to);
    int k = (part == 'b' ? rows : columns) / wide, n = part == 'b' ? columns : rows;
    int own = n * k / LANES / in;
    for (int j = 0; j < n; j++)
        for (int l = 0; l < k; l += in) {
            int place = part == 'b' ? j * k + l
                                    : (j / MATRIX_STRIP * k + l) * MATRIX_STRIP + j % MATRIX_STRIP;
            int e = map[place] / LANES / in, lane = map[place] % LANES;
            int row = part == 'b' ? l * wide : j, column = part == 'b' ? j : l * wide;
            for (; e < pieces; e += own) to[e * LANES + lane] = (uint16_t)(row * 256 + column);
        }
    free(map);
    return to;
}

/* In which shapes and layouts is there such a part? */
static bool move_agrees(Decoder *d, const Words *w, const MatrixShape *s) {
    char part = w->part[0];
    bool is_sum = part == 'c' || part == 'd';
    if (w->is_store != (part == 'd')) return decode_unknown(d);
    if (!is_sum && s->k >= 32 && w->by_rows[0] != (part == 'a'))
        return decode_fail(d, "A has rows and B has columns here");
    return target_has(d, s->sm);
}

static int pieces_in(MatrixType type) {
    unsigned bits = matrix_bits(type);
    return bits < 8 || bits == 64 ? 1 : 32 / (int)bits;
}

/* Without a stride, rows follow each other; or columns. */
static bool take_stride(Decoder *d, const Words *w, const MatrixShape *s, MatrixForm *f) {
    char part = w->part[0];
    int rows = part == 'b' ? s->k : s->m, columns = part == 'a' ? s->k : s->n;
    f->stride = pool_row(d, POOL_B32, (uint64_t)(w->by_rows[0] ? columns : rows));
    if (d->in->n_args < 3) return true;
    const PtxOperand *op = &d->in->args[2];
    if (op->kind == PTX_OP_REG && !type_agrees(MATRIX_S32, d->func->regs[op->reg].type))
        return decode_fail(d, "a stride is a whole number of 32 bits");
    return source(d, op, 'w', 1, &f->stride);
}

static bool decode_move(Decoder *d, const Words *w) {
    const PtxOperand *at = &d->in->args[!w->is_store], *regs = &d->in->args[w->is_store];
    if (w->shape == NULL || w->n_types != 1 || w->n_layouts != 1 || w->part == NULL ||
        mod_at(d, 1) != w->part || d->in->n_args < 2 || d->in->n_args > 3 || w->turned ||
        w->count || w->popc || w->saturates || w->has_round || w->is_and || w->is_xor)
        return decode_unknown(d);
    char part = w->part[0];
    bool is_factor = part == 'a' || part == 'b';
    const MatrixShape *s = matrix_shape("wmma", w->shape, w->type_word[0], !is_factor);
    if (s == NULL || !move_agrees(d, w, s)) return s == NULL ? decode_unknown(d) : false;
    MatrixType type = w->type[0];
    int numbers = part == 'a' ? s->m * s->k : part == 'b' ? s->k * s->n : s->m * s->n;
    int count = factor_registers(numbers, type, is_factor);
    PtxSpace space = w->space == NULL                  ? PTX_GENERIC
                     : strcmp(w->space, "global") == 0 ? PTX_GLOBAL
                                                       : PTX_SHARED;
    MatrixForm f = {.kind = MATRIX_MOVE,
                    .name = w->is_store ? "wmma.store.sync" : "wmma.load.sync",
                    .shape = s,
                    .is_store = w->is_store,
                    .turned = !w->by_rows[0],
                    .space = (uint8_t)space};
    MatrixPart *p = w->is_store ? &f.a : &f.d;
    if (!decode_address(d, w->is_store ? USE_MATRIX_STORE : USE_MATRIX_LOAD, at, space, 0,
                        &f.address, &f.wide) ||
        !take_stride(d, w, s, &f) || !matrix_part(d, regs, type, count, !w->is_store, p))
        return false;
    p->map = pieces_of(s, part == 'd' ? 'c' : part, type, count * pieces_in(type));
    d->cost[d->index] = COST_ALU;
    return emit_matrix(d, &f);
}

static bool decode_wmma(Decoder *d) {
    Words w;
    if (!matrix_words(d, &w)) return false;
    if (mod_is(d, 0, "mma")) return decode_product(d, &w, true);
    return mod_is(d, 0, "load store") ? decode_move(d, &w) : decode_unknown(d);
}

/* --- ldmatrix, stmatrix, movmatrix --- */

static bool any_word_register(Decoder *d, const PtxOperand *op, bool is_dest, uint32_t *row) {
    if (op->kind != PTX_OP_REG) return decode_fail(d, "a register of 32 bits is expected");
    return is_dest ? dest(d, op, 'w', row) : source(d, op, 'w', 0, row);
}

static bool decode_rows(Decoder *d) {
    Words w;
    bool is_store = ptx_is(d->in, "stmatrix");
    const PtxOperand *at = &d->in->args[!is_store], *regs = &d->in->args[is_store];
    if (!matrix_words(d, &w)) return false;
    if (w.shape == NULL && !has_mod(d, "m8n8")) return decode_unknown(d);
    if (strcmp(w.shape, "m8n8") != 0 || !mod_is(d, LAST, "b16"))
        return decode_fail(d, "shapes but .m8n8 of .b16 are of sm_100a and later, which is not "
                              "supported");
    if (w.count == 0 || d->in->n_args != 2 || w.n_types || w.part || w.n_layouts || w.popc ||
        w.saturates || w.is_and || w.is_xor || w.has_round ||
        (w.space && strcmp(w.space, "global") == 0))
        return decode_unknown(d);
    if (regs->kind != PTX_OP_VECTOR || regs->n_elems != w.count)
        return decode_fail(d, "a vector of %d registers is expected", w.count);
    PtxSpace space = w.space ? PTX_SHARED : PTX_GENERIC;
    MatrixForm f = {.kind = MATRIX_ROWS,
                    .name = is_store ? "stmatrix.sync" : "ldmatrix.sync",
                    .is_store = is_store,
                    .turned = w.turned,
                    .space = (uint8_t)space,
                    .count = (uint8_t)w.count};
    if (!target_has(d, is_store ? 90 : 75) ||
        !decode_address(d, is_store ? USE_MATRIX_STORE : USE_MATRIX_LOAD, at, space, 0, &f.address,
                        &f.wide))
        return false;
    MatrixPart *p = is_store ? &f.a : &f.d;
    p->count = (uint8_t)w.count;
    for (int k = 0; k < w.count; k++)
        if (!any_word_register(d, &regs->elems[k], !is_store, &p->reg[k])) return false;
    d->cost[d->index] = is_store ? COST_ST_SHARED : COST_LD_SHARED;
    return emit_matrix(d, &f);
}

static bool decode_turn(Decoder *d) {
    Words w;
    MatrixForm f = {.kind = MATRIX_TURN, .name = "movmatrix.sync", .count = 1};
    if (!matrix_words(d, &w)) return false;
    if (w.shape == NULL || strcmp(w.shape, "m8n8") != 0 || !w.turned || d->in->n_args != 2 ||
        !mod_is(d, LAST, "b16") || d->in->n_mods != 5)
        return decode_unknown(d);
    if (!target_has(d, 75) || !any_word_register(d, &d->in->args[1], false, &f.a.reg[0]) ||
        !any_word_register(d, &d->in->args[0], true, &f.d.reg[0]))
        return false;
    f.a.count = f.d.count = 1;
    d->cost[d->index] = COST_SHUFFLE;
    return emit_matrix(d, &f);
}

const Form forms_matrix[] = {
    CUSTOM("mma", decode_mma, MATRIX),          CUSTOM("wmma", decode_wmma, MATRIX),
    CUSTOM("ldmatrix", decode_rows, LD_SHARED), CUSTOM("stmatrix", decode_rows, ST_SHARED),
    CUSTOM("movmatrix", decode_turn, SHUFFLE),  FORMS_END};
