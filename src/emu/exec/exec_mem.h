/* exec_mem.h - loads, stores and texture fetches of a whole warp, the common shapes fast.
** Included by exec.c alone, once per variant, after exec_move.h. Whatever is not common (lanes in
** different allocations, a fault, a window reached through a generic address) goes to mem_slow. */

static inline void lane_addresses(const Warp *w, const MemForm *f, uint64_t *at) {
    const uint8_t *row = w->file + f->base;
    if (f->wide_base) {
        const U64 *base = (const U64 *)(const void *)row;
        uint64_t offset = (uint64_t)f->offset;
        EACH_LANE at[i] = base[i] + offset;
    } else {
        const U32 *base = (const U32 *)(const void *)row;
        uint32_t offset = (uint32_t)f->offset;
        EACH_LANE at[i] = (uint32_t)(base[i] + offset);
    }
}

/* Makes at[] offsets from base; true when every active lane is aligned and ends below limit. */
static inline bool lanes_inside(const Warp *w, uint64_t *at, uint64_t base, uint64_t size,
                                unsigned bytes) {
    if (size < bytes) return false;
    uint64_t limit = size - bytes, low = bytes - 1, bad = 0;
    for (int i = 0; i < LANES; i++) {
        uint64_t offset = at[i] - base;
        bad |= (uint64_t)(offset > limit || (at[i] & low) != 0 ? -1 : 0) & (uint64_t)w->lane64[i];
    }
    if (bad) return false;
    EACH_LANE at[i] -= base;
    return true;
}

static inline Pattern lane_pattern(const Warp *w, const uint64_t *at, unsigned bytes) {
    int first = __builtin_ctz(w->active);
    uint64_t origin = at[first], step = 0, same = 0;
    uint64_t start = origin - (uint64_t)first * bytes;
    for (int i = 0; i < LANES; i++) {
        same |= (at[i] ^ origin) & (uint64_t)w->lane64[i];
        step |= (at[i] ^ (start + (uint64_t)i * bytes)) & (uint64_t)w->lane64[i];
    }
    if (same == 0) return LANES_UNIFORM;
    uint32_t run = w->active >> first;
    return step == 0 && (run & (run + 1)) == 0 ? LANES_DENSE : LANES_ANY;
}

/* lanes_inside, for lanes that lie like this. */
static inline bool pattern_inside(const Warp *w, uint64_t *at, uint64_t base, uint64_t size,
                                  unsigned bytes, Pattern pattern) {
    if (pattern == LANES_ANY) return lanes_inside(w, at, base, size, bytes);
    uint64_t first = at[__builtin_ctz(w->active)], start = first - base, all = bytes;
    if (pattern == LANES_DENSE) all *= (unsigned)__builtin_popcount(w->active);
    if ((first & (bytes - 1)) != 0 || size < all || start > size - all) return false;
    EACH_LANE at[i] -= base;
    return true;
}

/* The lines of scattered lanes. */
static __attribute__((noinline)) void charge_lines(Machine *m, Warp *w, Alloc *alloc, uint64_t *at,
                                                   CostKind kind) {
    uint64_t place = alloc->place;
    LineSet set;
    EACH_LANE at[i] += place;
    lines_collect(&set, at, w->active);
    lines_charge(m, w, alloc, &set, kind);
}

/* cost_range of an allocation's bytes. Most loads are of one line, or of a warp's 128 bytes, that
** the L1 has: then nothing is left to do but to count. */
static inline void charge_range(Machine *m, Warp *w, const Alloc *alloc, uint64_t at,
                                uint64_t bytes, CostKind kind) {
    uint64_t address = alloc->place + at, last = address + bytes - 1;
    if (kind == COST_KIND_LOAD && address >> 7 == last >> 7 && m->view == NULL &&
        line_is_there(&m->cost, alloc, address, last))
        m->result->global_sectors += (last >> 5) - (address >> 5) + 1;
    else cost_range(m, w, address, bytes, kind);
}

/* Shared memory by generic addresses; false, and nothing done, where one of them is elsewhere. */
static bool generic_shared(Machine *m, Warp *w, const MemForm *f, uint64_t *at, Pattern pattern) {
    unsigned bytes = (unsigned)f->size * f->count;
    if (f->space != PTX_GENERIC || at[__builtin_ctz(w->active)] >> ID_SHIFT != ID_SHARED ||
        m->shadow || !pattern_inside(w, at, WINDOW(ID_SHARED), m->shared_bytes, bytes, pattern))
        return false;
    if (f->is_store) store_rows(w, f, m->shared, at, pattern), w->moved = true;
    else load_rows(w, f, m->shared, at, pattern);
    return true;
}

/* Words of local memory that all lanes have at one offset: a row. */
static inline void local_rows(const Warp *w, const MemForm *f, uint64_t offset) {
    uint8_t *word = w->s.local + offset / 4 * ROW32;
    for (int k = 0; k < f->count; k++, word += ROW32) {
        U32 *row = (U32 *)(void *)(w->file + f->reg[k]), *cell = (U32 *)(void *)word;
        if (f->is_store) EACH_LANE cell[i] = w->lane32[i] ? row[i] : cell[i];
        else EACH_LANE row[i] = w->lane32[i] ? cell[i] : row[i];
    }
}

/* Is it the same word of local memory in all active lanes? */
static inline bool one_word(const Warp *w, const uint64_t *at) {
    uint64_t first = at[__builtin_ctz(w->active)], other = 0;
    for (int i = 0; i < LANES; i++) other |= (at[i] ^ first) & (uint64_t)w->lane64[i];
    return other < 4;
}

/* At offsets that are fine. */
static void local_done(Machine *m, Warp *w, const MemForm *f, const uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    bool is_one = one_word(w, at);
    uint64_t first = at[__builtin_ctz(w->active)];
    if (is_words(f) && is_one) {
        local_rows(w, f, first);
    } else if (f->is_store) {
        store_local(w, f, at);
        w->moved = true;
    } else {
        load_local(w, f, at);
    }
    if (is_one) cost_local_row(m, w, first, w->active, bytes, f->is_store);
    else cost_local(m, w, at, w->active, bytes, f->is_store);
}

static bool local_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    if (m->emu->plain || !lanes_inside(w, at, 0, w->local_top, bytes) ||
        (m->shadow && !shadow_local_fits(m, w, f, at)))
        return mem_slow(m, w, in, f, at);
    local_done(m, w, f, at);
    return true;
}

/* Local memory by generic addresses; false, and nothing done, where one of them is elsewhere. */
static bool generic_local(Machine *m, Warp *w, const MemForm *f, uint64_t *at) {
    if (f->space != PTX_GENERIC || at[__builtin_ctz(w->active)] >> ID_SHIFT != ID_LOCAL ||
        m->shadow || m->emu->plain ||
        !lanes_inside(w, at, WINDOW(ID_LOCAL), w->local_top, (unsigned)f->size * f->count))
        return false;
    local_done(m, w, f, at);
    return true;
}

/* As one of several threads has the memory; at: offsets. */
static __attribute__((noinline)) uint8_t *apart(Machine *m, const Warp *w, const MemForm *f,
                                                const Alloc *alloc, const uint64_t *at,
                                                Pattern pattern) {
    uint64_t first = at[__builtin_ctz(w->active)], bytes = (uint64_t)f->size * f->count;
    if (pattern == LANES_ANY)
        return view_lanes(m, alloc, at, w->active, (unsigned)bytes, f->is_store);
    if (pattern == LANES_DENSE) bytes *= (unsigned)__builtin_popcount(w->active);
    return view_bytes(m, alloc, first, bytes, f->is_store);
}

static bool global_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    int first = __builtin_ctz(w->active);
    unsigned bytes = (unsigned)f->size * f->count;
    Alloc *alloc = alloc_of(m->emu, at[first]);
    Pattern pattern = lane_pattern(w, at, bytes);
    if (alloc == NULL && generic_shared(m, w, f, at, pattern)) return true;
    if (alloc == NULL && generic_local(m, w, f, at)) return true;
    if (alloc == NULL || (f->is_store && (alloc->read_only || m->launch->backwards)) ||
        (f->space == PTX_CONST && !alloc->is_const) ||
        !pattern_inside(w, at, alloc->address, alloc->size, bytes, pattern))
        return mem_slow(m, w, in, f, at);
    uint8_t *data = alloc->data;
    if (alloc->watched && !mem_fits(m, w, in, f, alloc, data, at)) {
        EACH_LANE at[i] += alloc->address;
        return mem_slow(m, w, in, f, at);
    }
    if (m->view && !alloc->is_const) data = apart(m, w, f, alloc, at, pattern);
    if (data == NULL) return false;
    alloc_reach(alloc, f->is_store ? EMU_WRITTEN : EMU_READ);
    if (f->is_store) store_rows(w, f, data, at, pattern), w->moved = true;
    else load_rows(w, f, data, at, pattern);
    if (f->space == PTX_CONST) {
        if (!f->is_repeat)
            cost_constant(m, w, at, pattern == LANES_UNIFORM ? w->active & -w->active : w->active);
        return true;
    }
    w->looked |= !f->is_store;
    CostKind kind = f->is_store ? COST_KIND_STORE : COST_KIND_LOAD;
    if (pattern == LANES_UNIFORM) {
        charge_range(m, w, alloc, at[first], bytes, kind);
    } else if (pattern == LANES_DENSE) {
        uint64_t lanes = (uint64_t)__builtin_popcount(w->active);
        charge_range(m, w, alloc, at[first], bytes * lanes, kind);
    } else {
        charge_lines(m, w, alloc, at, kind);
    }
    return true;
}

/* Do all banks give words of one row: 128 bytes? */
static inline bool in_one_row(const Warp *w, const uint64_t *at) {
    uint64_t first = at[__builtin_ctz(w->active)], apart = 0;
    for (int i = 0; i < LANES; i++) apart |= (at[i] ^ first) & (uint64_t)w->lane64[i];
    return apart < 128;
}

static inline bool one_distance(const uint64_t *at, uint64_t step) {
    uint64_t other = 0;
    for (int i = 0; i < LANES; i++) other |= at[i] ^ (at[0] + (uint64_t)i * step);
    return other == 0;
}

static inline void charge_banks(Machine *m, const Warp *w, const uint64_t *at, unsigned bytes) {
    unsigned unit = bytes < 4 ? 4 : bytes;
    uint64_t step = at[1] - at[0];
    if (bytes <= 4 && in_one_row(w, at)) return;
    if (w->active == FULL_MASK && step % unit == 0 && one_distance(at, step))
        banks_charge(m, banks_of_step(step, unit));
    else banks_charge(m, banks_count(at, w->active, bytes));
}

static bool shared_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    Pattern pattern = lane_pattern(w, at, bytes);
    if (!pattern_inside(w, at, 0, m->shared_bytes, bytes, pattern) ||
        (f->is_store && m->launch->backwards) ||
        (m->shadow && !mem_fits(m, w, in, f, NULL, m->shared, at)))
        return mem_slow(m, w, in, f, at);
    if (f->is_store) store_rows(w, f, m->shared, at, pattern), w->moved = true;
    else load_rows(w, f, m->shared, at, pattern);
    if (pattern == LANES_ANY) charge_banks(m, w, at, bytes);
    else if (pattern == LANES_DENSE && bytes > 4)
        m->cost.extra[PIPE_SHARED] += (bytes * (unsigned)__builtin_popcount(w->active) - 1) / 128;
    return true;
}

/* Have the active lanes one base address? */
static inline void look_at_base(const Machine *m, Warp *w, const MemForm *f) {
    const uint8_t *row = w->file + f->base;
    int lane = __builtin_ctz(w->active);
    if (f->wide_base) {
        const U64 *base = (const U64 *)(const void *)row;
        w->base = base[lane];
        w->one_base = !m->shadow && active_hold64(w, base, base[lane]);
    } else {
        const U32 *base = (const U32 *)(const void *)row;
        w->base = base[lane];
        w->one_base = !m->shadow && active_hold32(w, base, base[lane]);
    }
}

/* Where all active lanes read shared memory at one address, the most common load of all; NULL where
** they do not, or may not. Reads of memory under a shadow are watched: not here. */
static inline const uint8_t *uniform_shared(const Machine *m, Warp *w, const MemForm *f) {
    if (!f->same_base) look_at_base(m, w, f);
    uint64_t at = w->base + (uint64_t)f->offset, low = f->bytes - 1u;
    if (!f->wide_base) at = (uint32_t)at;
    /* an aligned address of a place that begins before the last one that fits */
    if (!w->one_base || (at & low) != 0 || at >= (m->shared_bytes & ~low)) return NULL;
    return m->shared + at;
}

/* Parameters of the kernel, at addresses that it works out. */
static bool param_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    Pattern pattern = lane_pattern(w, at, bytes);
    if (m->shadow || f->is_store || !pattern_inside(w, at, 0, m->param_bytes, bytes, pattern))
        return mem_slow(m, w, in, f, at);
    load_rows(w, f, m->params, at, pattern);
    return true;
}

/* Parameters of a device function: each lane's own, at one offset that bound_place has checked. */
static void frame_access(const Warp *w, const MemForm *f, uint64_t *at) {
    const Frame *frame = &w->s.frame[w->frame];
    uint64_t size = frame->code->param_bytes, offset = (uint64_t)f->offset;
    for (int i = 0; i < LANES; i++) at[i] = (uint64_t)i * size + offset;
    if (f->is_store) store_elements(w, f, frame->params, at, false);
    else load_elements(w, f, frame->params, at, false);
}

/* Do all lanes have neighbouring elements, each one's a register? What most accesses are. */
#define NEIGHBOURS(name, T)                                                                        \
    static inline bool name(const Warp *w, const MemForm *f) {                                     \
        const T *base = (const T *)(const void *)(w->file + f->base);                              \
        T size = f->size, apart = 0;                                                               \
        if (w->active != FULL_MASK || f->count != 1 || base[1] - base[0] != size) return false;    \
        for (int i = 0; i < LANES; i++) apart |= (base[i] - base[0]) ^ (T)i * size;                \
        return apart == 0;                                                                         \
    }

NEIGHBOURS(neighbours_32, U32)
NEIGHBOURS(neighbours_64, U64)

/* Neighbours from an offset of shared memory on; false, and nothing done, where they are not all
** there, or are watched. */
static bool shared_neighbours(Machine *m, Warp *w, const MemForm *f, uint64_t at) {
    uint64_t bytes = (uint64_t)f->size * LANES;
    if (m->shadow || at & (f->size - 1u) || m->shared_bytes < bytes ||
        at > m->shared_bytes - bytes)
        return false;
    if (f->is_store) store_elements(w, f, m->shared, &at, true), w->moved = true;
    else load_elements(w, f, m->shared, &at, true);
    return true;
}

/* global_access of neighbours, without the addresses of all; false, and nothing done, where it is
** not of one allocation's memory, or of shared memory. */
static bool neighbour_access(Machine *m, Warp *w, const MemForm *f, bool *ran) {
    const U64 *base = (const U64 *)(const void *)(w->file + f->base);
    uint64_t bytes = (uint64_t)f->size * LANES, first = base[0] + (uint64_t)f->offset;
    Alloc *alloc = alloc_of(m->emu, first);
    if (alloc == NULL && f->space == PTX_GENERIC && first >> ID_SHIFT == ID_SHARED)
        return shared_neighbours(m, w, f, first - WINDOW(ID_SHARED));
    if (alloc == NULL || (f->is_store && alloc->read_only) || alloc->watched ||
        first & (f->size - 1u) || alloc->size < bytes ||
        first - alloc->address > alloc->size - bytes)
        return false;
    uint64_t at = first - alloc->address;
    uint8_t *data = alloc->data;
    if (m->view && !alloc->is_const) data = view_bytes(m, alloc, at, bytes, f->is_store);
    *ran = data != NULL;
    if (data == NULL) return true;
    alloc_reach(alloc, f->is_store ? EMU_WRITTEN : EMU_READ);
    if (f->is_store) store_elements(w, f, data, &at, true), w->moved = true;
    else load_elements(w, f, data, &at, true), w->looked = true;
    charge_range(m, w, alloc, at, bytes, f->is_store ? COST_KIND_STORE : COST_KIND_LOAD);
    return true;
}

/* The same of loads by all lanes from one place. */
static bool one_place_load(Machine *m, Warp *w, const MemForm *f, bool *ran) {
    const U64 *base = (const U64 *)(const void *)(w->file + f->base);
    uint64_t from = base[__builtin_ctz(w->active)], bytes = (uint64_t)f->size * f->count;
    if (!active_hold64(w, base, from)) return false;
    from += (uint64_t)f->offset;
    Alloc *alloc = alloc_of(m->emu, from);
    if (alloc == NULL || alloc->watched || from & (bytes - 1) || alloc->size < bytes ||
        from - alloc->address > alloc->size - bytes)
        return false;
    uint64_t at = from - alloc->address;
    const uint8_t *data = alloc->data;
    if (m->view && !alloc->is_const) data = view_bytes(m, alloc, at, bytes, false);
    *ran = data != NULL;
    if (data == NULL) return true;
    load_uniform(w, f, data + at);
    alloc_reach(alloc, EMU_READ);
    w->looked = true;
    charge_range(m, w, alloc, at, bytes, COST_KIND_LOAD);
    return true;
}

/* The same of shared_access. */
static bool neighbour_shared(Machine *m, Warp *w, const MemForm *f) {
    const U32 *base = (const U32 *)(const void *)(w->file + f->base);
    if (!shared_neighbours(m, w, f, (uint32_t)(base[0] + (uint32_t)f->offset))) return false;
    if (f->size > 4) m->cost.extra[PIPE_SHARED] += (f->size * LANES - 1u) / 128;
    return true;
}

/* Done, where it is of neighbours or of one place; else false. */
static inline bool of_neighbours(Machine *m, Warp *w, const MemForm *f, bool *ran) {
    *ran = true;
    if (f->space == PTX_SHARED && !f->wide_base)
        return neighbours_32(w, f) && neighbour_shared(m, w, f);
    if ((f->space != PTX_GLOBAL && f->space != PTX_GENERIC) || !f->wide_base) return false;
    if (neighbours_64(w, f)) return neighbour_access(m, w, f, ran);
    return !f->is_store && one_place_load(m, w, f, ran);
}

#include "emu/exec/exec_layout.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/* Where an access has its layout for itself, neighbours are found as quickly without it. */
static bool load_store(Machine *m, Warp *w, const Ins *in, const MemForm *f) {
    uint64_t at[LANES] __attribute__((aligned(64)));
    bool ran;
    if (!f->is_alone && by_layout(m, w, f, &ran)) return ran;
    if (of_neighbours(m, w, f, &ran)) return ran;
    if (f->is_alone && by_layout(m, w, f, &ran)) return ran;
    lane_addresses(w, f, at);
    switch ((Bound)f->bound) { /* no default: a new Bound wants its check here */
    case BOUND_ANY:
    case BOUND_GLOBAL:
    case BOUND_CONST: return global_access(m, w, in, f, at);
    case BOUND_SHARED: return shared_access(m, w, in, f, at);
    case BOUND_LOCAL: return local_access(m, w, in, f, at);
    case BOUND_PARAM: return param_access(m, w, in, f, at);
    case BOUND_FRAME:
        if (m->shadow) return mem_slow(m, w, in, f, at);
        frame_access(w, f, at);
        return true;
    case BOUND_NONE:
    case BOUND_ATOMIC:
    case BOUND_COPY:
    case BOUND_TILE:
    case BOUND_MBARRIER:
    case BOUND_BULK:
    case BOUND_MAP:
    case BOUND_HINT:
    case BOUND_TEXEL:
    case BOUND_SURFACE:
    case BOUND_TEXT:
    case BOUND_STACK:
    case BOUND_WORD:
    case BOUND_OBJECT:
    case BOUND_BYTES:
    case BOUND_ROOM:
    case BOUND_FUNCTION:
    case BOUND_VALUE: break; /* of no load or store */
    }
    return fault_raise(m, w, in, ALL_LANES, EMU_LAUNCH_ERROR, "an access without a bound");
}
#pragma GCC diagnostic pop

/* A plain load of shared memory whose lanes may have several addresses. */
static bool load_shared_apart(Machine *m, Warp *w, const Ins *in, const MemForm *f) {
    if (f->layout && m->layouts && !m->shadow && layout_shared(m, w, f)) return true;
    const uint8_t *from = uniform_shared(m, w, f);
    if (from == NULL) return load_store(m, w, in, f);
    load_uniform(w, f, from);
    return true;
}

/* A plain load of shared memory. */
static inline bool load_shared(Machine *m, Warp *w, const Ins *in, const MemForm *f) {
    const bool is_one = f->same_base ? w->one_base : layout_was_one(m, f);
    const uint8_t *from = is_one ? uniform_shared(m, w, f) : NULL;
    if (from == NULL) return load_shared_apart(m, w, in, f);
    load_uniform(w, f, from);
    return true;
}

/* --- tex.1d with integer coordinates on linear memory of 32-bit texels, 1 or 4 channels: an array
** read. Lanes outside read 0, and 1 where the texture has no fourth channel. --- */

/* d = the texel's word for lanes inside, 0 for the other active ones. */
static inline void texels_one(const Warp *w, const Fetch *f, const void *data, bool is_free,
                              U32 *d) {
#if defined(EMU_AVX2)
    for (int g = 0; g < LANES; g += 8) {
        __m256i inside = _mm256_loadu_si256((const __m256i *)(const void *)(f->inside + g));
        __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(f->offset + g));
        __m256i old = _mm256_setzero_si256();
        if (!is_free)
            old = _mm256_andnot_si256(
                _mm256_load_si256((const __m256i *)(const void *)(w->lane32 + g)),
                _mm256_loadu_si256((const __m256i *)(const void *)(d + g)));
        _mm256_storeu_si256((__m256i *)(void *)(d + g),
                            _mm256_mask_i32gather_epi32(old, (const int *)data, at, inside, 1));
    }
#else
    (void)is_free;
    ACTIVE_LANES(i) {
        uint32_t v = 0;
        if (f->inside[i]) memcpy(&v, (const uint8_t *)data + f->offset[i], 4);
        d[i] = v;
    }
#endif
}

static inline void texels_four(const Warp *w, const Fetch *f, const uint8_t *data, uint32_t seen,
                               U32 *const *row) {
    uint64_t at[LANES];
    EACH_LANE at[i] = f->offset[i];
    for (int g = 0; g < LANES; g += 4) {
        if (g % 8 == 0 && four_lanes(w, g, 4) && four_lanes(w, g + 4, 4) &&
            (seen >> g & 255) == 255) {
            load_octet(row, g, data, at);
            g += 4;
            continue;
        }
        if (four_lanes(w, g, 4) && (seen >> g & 15) == 15) {
            load_square(row, g, data, at);
            continue;
        }
        for (uint32_t left = w->active >> g & 15; left; left &= left - 1) {
            int i = g + __builtin_ctz(left);
            for (int k = 0; k < 4; k++) {
                uint32_t v = 0;
                if (seen >> i & 1) memcpy(&v, data + at[i] + 4 * k, 4);
                if (row[k]) row[k][i] = v;
            }
        }
    }
}

static inline bool same_fetch(const Warp *w, const Fetch *f, const TexSlot *slot, const U32 *x) {
    return f->slot == slot && f->active == w->active && active_same32(w, x, f->x);
}

/* What to look into for a fetch: what the instruction fetched last or, where the next one has
** fetched just that, as in a stencil that moves on by one, the next one's: they change places. */
static inline Fetch *fetch_for(Machine *m, const Warp *w, const TexForm *form, const TexSlot *slot,
                               const U32 *x, bool *again) {
    Fetch **place = &m->fetch[form->site], *own = place[0], *next = place[1];
    *again = same_fetch(w, own, slot, x);
    if (*again || next->unused != form->unused || !same_fetch(w, next, slot, x)) return own;
    *again = true;
    place[0] = next;
    place[1] = own;
    return next;
}

static void plan_fetch(Machine *m, const Warp *w, Fetch *f, const TexSlot *slot, const U32 *x) {
    uint32_t size = (uint32_t)slot->t.size[0];
    unsigned shift = slot->plain == 4 ? 4 : 2;
    f->slot = slot;
    f->active = w->active;
    EACH_LANE {
        f->x[i] = x[i];
        f->inside[i] = x[i] < size ? w->lane32[i] : 0;
        f->offset[i] = x[i] << shift;
    }
    f->seen = mask_of(f->inside);
    if (f->seen) alloc_reach(&m->emu->alloc[slot->alloc], EMU_READ);
    if (f->seen)
        cost_collect(m, &f->cost, slot->alloc, f->offset, f->inside, f->seen, 4u * slot->plain);
}

/* The texels of the active lanes into the rows that somebody reads, and into f->value. */
static void fetch_texels(const Warp *w, const TexForm *form, Fetch *f) {
    const EmuTexture *t = &f->slot->t;
    U32 *row[4];
    for (int k = 0; k < 4; k++)
        row[k] = form->unused >> k & 1 ? NULL : (U32 *)(void *)(w->file + form->reg[k]);
    if (f->slot->plain == 4) texels_four(w, f, t->data, f->seen, row);
    else if (row[0]) texels_one(w, f, t->data, form->is_free, row[0]);
    for (int k = f->slot->plain; k < 4; k++) {
        U32 *d = row[k];
        if (d) EACH_LANE d[i] = w->lane32[i] ? 0 : d[i]; /* missing channels, as on an H200 */
    }
    for (int k = 0; k < 4; k++)
        if (row[k]) memcpy(f->value[k], row[k], ROW32);
}

static inline void recall_texels(const Warp *w, const TexForm *form, const Fetch *f) {
    for (int k = 0; k < 4; k++) {
        if (form->unused >> k & 1) continue;
        U32 *d = (U32 *)(void *)(w->file + form->reg[k]);
        const U32 *v = f->value[k];
        if (form->is_free) EACH_LANE d[i] = v[i];
        else EACH_LANE d[i] = w->lane32[i] ? v[i] : d[i];
    }
}

static inline void charge_texels(Machine *m, Warp *w, const TexForm *form, Fetch *f) {
    if (f->seen == 0 || form->is_repeat) return;
    if (f->cost.state != m->cost.state) {
        cost_texels(m, w, &f->cost);
        return;
    }
    m->result->texture_sectors += f->cost.sectors; /* the L1 has them all */
    m->cost.extra[PIPE_TEXTURE] += f->cost.wavefronts;
}

/* The texture of a handle, if its fetches are array reads; else NULL. */
static inline const TexSlot *plain_slot(const Machine *m, const TexForm *form, uint64_t handle) {
    uint64_t index = handle - WINDOW(ID_TEX);
    if (!form->is_plain || index >= (uint64_t)m->emu->n_tex) return NULL;
    const TexSlot *slot = &m->emu->tex[index];
    if (slot_is_watched(m->emu, slot)) return NULL;
    bool is_float = slot->t.format == EMU_TEX_F32;
    return slot->live && slot->plain && is_float != form->as_int ? slot : NULL;
}

/* A fetch that is not the last one of its instruction again, or not of a constant texture. */
static bool texture_other(Machine *m, Warp *w, const Ins *in, const TexForm *form, uint64_t handle,
                          const U32 *x) __attribute__((noinline));

static bool texture_other(Machine *m, Warp *w, const Ins *in, const TexForm *form, uint64_t handle,
                          const U32 *x) {
    const TexSlot *slot = plain_slot(m, form, handle);
    if (slot == NULL) return tex_slow(m, w, in, form);
    bool again;
    Fetch *f = fetch_for(m, w, form, slot, x, &again);
    if (!again) plan_fetch(m, w, f, slot, x);
    if (again && slot->is_constant) recall_texels(w, form, f);
    else fetch_texels(w, form, f);
    f->handle = handle;
    f->is_constant = slot->is_constant;
    f->unused = form->unused;
    charge_texels(m, w, form, f);
    return true;
}

static inline bool texture(Machine *m, Warp *w, const Ins *in, const TexForm *form) {
    const U64 *handle = (const U64 *)(const void *)(w->file + form->handle);
    const U32 *x = (const U32 *)(const void *)(w->file + form->coord[0]);
    uint64_t h = handle[__builtin_ctz(w->active)];
    if (!form->one_handle && !active_hold64(w, handle, h)) return tex_slow(m, w, in, form);
    Fetch *f = m->fetch[form->site];
    if (f->handle != h || !f->is_constant || f->active != w->active || !active_same32(w, x, f->x))
        return texture_other(m, w, in, form, h, x);
    recall_texels(w, form, f);
    charge_texels(m, w, form, f);
    return true;
}
