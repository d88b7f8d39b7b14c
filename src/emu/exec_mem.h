/* exec_mem.h - loads, stores and texture fetches of a whole warp, the common shapes fast.
** Included by exec.c alone, once per variant. Whatever is not common (lanes in different
** allocations, a fault, a window reached through a generic address) goes to mem_slow. */

/* How the addresses of the active lanes lie. */
typedef enum Pattern { LANES_UNIFORM, LANES_DENSE, LANES_ANY } Pattern;

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
        bad |= (uint64_t)(offset > limit || (offset & low) != 0 ? -1 : 0) & (uint64_t)w->lane64[i];
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
    uint64_t start = at[__builtin_ctz(w->active)] - base, all = bytes;
    if (pattern == LANES_DENSE) all *= (unsigned)__builtin_popcount(w->active);
    if ((start & (bytes - 1)) != 0 || size < all || start > size - all) return false;
    EACH_LANE at[i] -= base;
    return true;
}

#define ACTIVE_LANES(i)                                                                            \
    for (uint32_t left_ = w->active, i; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);          \
         left_ &= left_ - 1)

/* One element at p, extended to the register. */
static inline uint64_t element_read(const uint8_t *p, const MemForm *f, int k) {
    uint64_t v = 0;
    switch (f->size) {
    case 1:
        v = *p;
        if (f->is_signed) v = (uint64_t)(int64_t)(int8_t)v;
        break;
    case 2: {
        uint16_t h;
        memcpy(&h, p, 2);
        v = f->is_signed ? (uint64_t)(int64_t)(int16_t)h : h;
        break;
    }
    case 4: {
        uint32_t x;
        memcpy(&x, p, 4);
        v = f->is_signed ? (uint64_t)(int64_t)(int32_t)x : x;
        break;
    }
    default: memcpy(&v, p, 8);
    }
    return f->bits[k] == 16 ? v & 0xffff : v;
}

static inline void register_set(Warp *w, const MemForm *f, int k, int lane, uint64_t v) {
    if (f->bits[k] == 64) ((U64 *)(void *)(w->file + f->reg[k]))[lane] = v;
    else ((U32 *)(void *)(w->file + f->reg[k]))[lane] = (uint32_t)v;
}

static inline uint64_t register_get(const Warp *w, const MemForm *f, int k, int lane) {
    if (f->bits[k] == 64) return ((const U64 *)(const void *)(w->file + f->reg[k]))[lane];
    return ((const U32 *)(const void *)(w->file + f->reg[k]))[lane];
}

static void load_any(Warp *w, const MemForm *f, const uint8_t *base, const uint64_t *at) {
    ACTIVE_LANES(i) {
        const uint8_t *p = base + at[i];
        for (int k = 0; k < f->count; k++, p += f->size)
            register_set(w, f, k, (int)i, element_read(p, f, k));
    }
}

static void store_any(const Warp *w, const MemForm *f, uint8_t *base, const uint64_t *at) {
    ACTIVE_LANES(i) {
        uint8_t *p = base + at[i];
        for (int k = 0; k < f->count; k++, p += f->size) {
            uint64_t v = register_get(w, f, k, (int)i);
            memcpy(p, &v, f->size); /* little endian */
        }
    }
}

/* count registers of 4 bytes each. Four lanes of four words are turned in vector registers. */
#if defined(__x86_64__)
static inline bool four_lanes(const Warp *w, int g, int count) {
    return count == 4 && (w->active >> g & 15) == 15;
}

static inline void load_square(U32 *const *row, int g, const uint8_t *base, const uint64_t *at) {
    __m128 v[4];
    for (int k = 0; k < 4; k++)
        v[k] = _mm_loadu_ps((const float *)(const void *)(base + at[g + k]));
    _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
    for (int k = 0; k < 4; k++)
        if (row[k]) _mm_storeu_ps((float *)(void *)(row[k] + g), v[k]);
}

static inline void store_square(const U32 *const *row, int g, uint8_t *base, const uint64_t *at) {
    __m128 v[4];
    for (int k = 0; k < 4; k++) v[k] = _mm_loadu_ps((const float *)(const void *)(row[k] + g));
    _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
    for (int k = 0; k < 4; k++) _mm_storeu_ps((float *)(void *)(base + at[g + k]), v[k]);
}
#if defined(EMU_AVX2)
/* Eight lanes at once: rows are read 32 bytes at a time, and a processor is slow to pass on what
** two narrower stores wrote. */
static inline void load_octet(U32 *const *row, int g, const uint8_t *base, const uint64_t *at) {
    __m128 low[4], high[4];
    for (int k = 0; k < 4; k++) {
        low[k] = _mm_loadu_ps((const float *)(const void *)(base + at[g + k]));
        high[k] = _mm_loadu_ps((const float *)(const void *)(base + at[g + 4 + k]));
    }
    _MM_TRANSPOSE4_PS(low[0], low[1], low[2], low[3]);
    _MM_TRANSPOSE4_PS(high[0], high[1], high[2], high[3]);
    for (int k = 0; k < 4; k++)
        if (row[k])
            _mm256_storeu_ps((float *)(void *)(row[k] + g),
                             _mm256_insertf128_ps(_mm256_castps128_ps256(low[k]), high[k], 1));
}
#else
static inline void load_octet(U32 *const *row, int g, const uint8_t *base, const uint64_t *at) {
    load_square(row, g, base, at);
    load_square(row, g + 4, base, at);
}
#endif
#else
static inline void load_octet(U32 *const *row, int g, const uint8_t *base, const uint64_t *at) {
    (void)row, (void)g, (void)base, (void)at;
}
static inline bool four_lanes(const Warp *w, int g, int count) {
    return false && w && g && count;
}
static inline void load_square(U32 *const *row, int g, const uint8_t *base, const uint64_t *at) {
    (void)row, (void)g, (void)base, (void)at;
}
static inline void store_square(const U32 *const *row, int g, uint8_t *base, const uint64_t *at) {
    (void)row, (void)g, (void)base, (void)at;
}
#endif

static inline void load_words(Warp *w, const MemForm *f, const uint8_t *base, const uint64_t *at,
                              int count) {
    U32 *row[4];
    for (int k = 0; k < count; k++)
        row[k] = f->unused >> k & 1 ? NULL : (U32 *)(void *)(w->file + f->reg[k]);
    for (int g = 0; g < LANES; g += 4) {
        if (g % 8 == 0 && four_lanes(w, g, count) && four_lanes(w, g + 4, count)) {
            load_octet(row, g, base, at);
            g += 4;
            continue;
        }
        if (four_lanes(w, g, count)) {
            load_square(row, g, base, at);
            continue;
        }
        for (uint32_t left = w->active >> g & 15; left; left &= left - 1) {
            int i = g + __builtin_ctz(left);
            for (int k = 0; k < count; k++)
                if (row[k]) memcpy(row[k] + i, base + at[i] + 4 * k, 4);
        }
    }
}

static inline void store_words(const Warp *w, const MemForm *f, uint8_t *base, const uint64_t *at,
                               int count) {
    const U32 *row[4];
    for (int k = 0; k < count; k++) row[k] = (const U32 *)(const void *)(w->file + f->reg[k]);
    for (int g = 0; g < LANES; g += 4) {
        if (four_lanes(w, g, count)) {
            store_square(row, g, base, at);
            continue;
        }
        for (uint32_t left = w->active >> g & 15; left; left &= left - 1) {
            int i = g + __builtin_ctz(left);
            for (int k = 0; k < count; k++) memcpy(base + at[i] + 4 * k, row[k] + i, 4);
        }
    }
}

static inline bool is_words(const MemForm *f) {
    return f->size == 4 && f->bits[0] == 32;
}

static inline void load_uniform(Warp *w, const MemForm *f, const uint8_t *p) {
    if (f->is_free && is_words(f)) {
        for (int k = 0; k < f->count; k++) {
            if (f->unused >> k & 1) continue;
            uint32_t word;
            memcpy(&word, p + 4 * k, 4);
            U32 *d = (U32 *)(void *)(w->file + f->reg[k]);
            EACH_LANE d[i] = word;
        }
        return;
    }
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        uint64_t v;
        if (f->size == 4 && f->bits[0] == 32) {
            uint32_t word;
            memcpy(&word, p + 4 * k, 4);
            v = word;
        } else {
            v = element_read(p + k * f->size, f, k);
        }
        if (f->bits[k] == 64) {
            U64 *d = (U64 *)(void *)(w->file + f->reg[k]);
            if (f->is_free) EACH_LANE d[i] = v;
            else EACH_LANE d[i] = w->lane64[i] ? v : d[i];
        } else {
            U32 *d = (U32 *)(void *)(w->file + f->reg[k]);
            uint32_t low = (uint32_t)v;
            if (f->is_free) EACH_LANE d[i] = low;
            else EACH_LANE d[i] = w->lane32[i] ? low : d[i];
        }
    }
}

/* n = 32 or 64 words. (memcpy of such a size becomes a slow string instruction.) */
static inline void copy_words(void *to, const void *from, int n) {
    for (int k = 0; k < n; k += LANES) {
        U32 v[LANES] __attribute__((aligned(64)));
        const U32 *a = (const U32 *)from + k;
        U32 *d = (U32 *)to + k;
        EACH_LANE v[i] = a[i];
        EACH_LANE d[i] = v[i];
    }
}

static inline void load_rows(Warp *w, const MemForm *f, const uint8_t *base, const uint64_t *at,
                             Pattern pattern) {
    int first = __builtin_ctz(w->active);
    if (pattern == LANES_UNIFORM) {
        load_uniform(w, f, base + at[first]);
    } else if (is_words(f) && f->count == 1) {
        if (pattern == LANES_DENSE && w->active == FULL_MASK)
            copy_words(w->file + f->reg[0], base + at[0], LANES);
        else load_words(w, f, base, at, 1);
    } else if (is_words(f) && f->count == 4) {
        load_words(w, f, base, at, 4);
    } else if (is_words(f) && f->count == 2) {
        load_words(w, f, base, at, 2);
    } else if (f->size == 8 && f->count == 1 && pattern == LANES_DENSE && w->active == FULL_MASK) {
        copy_words(w->file + f->reg[0], base + at[0], 2 * LANES);
    } else {
        load_any(w, f, base, at);
    }
}

static inline void store_rows(Warp *w, const MemForm *f, uint8_t *base, const uint64_t *at,
                              Pattern pattern) {
    if (is_words(f) && f->count == 1) {
        if (pattern == LANES_DENSE && w->active == FULL_MASK)
            copy_words(base + at[0], w->file + f->reg[0], LANES);
        else store_words(w, f, base, at, 1);
    } else if (is_words(f) && f->count == 4) {
        store_words(w, f, base, at, 4);
    } else if (is_words(f) && f->count == 2) {
        store_words(w, f, base, at, 2);
    } else if (f->size == 8 && f->count == 1 && pattern == LANES_DENSE && w->active == FULL_MASK) {
        copy_words(base + at[0], w->file + f->reg[0], 2 * LANES);
    } else {
        store_any(w, f, base, at);
    }
}

static bool global_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    int first = __builtin_ctz(w->active);
    unsigned bytes = (unsigned)f->size * f->count;
    uint64_t base = at[first] & ~OFFSET_MASK;
    Alloc *alloc = alloc_of(m->emu, at[first]);
    Pattern pattern = lane_pattern(w, at, bytes);
    if (alloc == NULL || (f->is_store && alloc->read_only) ||
        (f->space == PTX_CONST && !alloc->is_const) || alloc->watched ||
        !pattern_inside(w, at, base, alloc->size, bytes, pattern))
        return mem_slow(m, w, in, f, at);
    if (f->is_store) store_rows(w, f, alloc->data, at, pattern), w->moved = true;
    else load_rows(w, f, alloc->data, at, pattern);
    if (f->space == PTX_CONST) {
        if (!f->is_repeat)
            cost_constant(m, w, at, pattern == LANES_UNIFORM ? w->active & -w->active : w->active);
        return true;
    }
    CostKind kind = f->is_store ? COST_KIND_STORE : COST_KIND_LOAD;
    if (pattern == LANES_UNIFORM) {
        cost_range(m, w, base + at[first], bytes, kind);
    } else if (pattern == LANES_DENSE) {
        uint64_t lanes = (uint64_t)__builtin_popcount(w->active);
        cost_range(m, w, base + at[first], bytes * lanes, kind);
    } else {
        EACH_LANE at[i] += base;
        cost_lanes(m, w, at, w->active, kind);
    }
    return true;
}

static bool shared_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    Pattern pattern = lane_pattern(w, at, bytes);
    if (m->shadow || !pattern_inside(w, at, 0, m->shared_bytes, bytes, pattern))
        return mem_slow(m, w, in, f, at);
    if (f->is_store) store_rows(w, f, m->shared, at, pattern), w->moved = true;
    else load_rows(w, f, m->shared, at, pattern);
    if (pattern == LANES_ANY) cost_shared(m, at, w->active, bytes);
    else if (pattern == LANES_DENSE && bytes > 4)
        m->cost.extra[PIPE_SHARED] += (bytes * (unsigned)__builtin_popcount(w->active) - 1) / 128;
    return true;
}

/* Local memory is interleaved: word k of the 32 lanes is one row. */
static bool local_access(Machine *m, Warp *w, const Ins *in, const MemForm *f, uint64_t *at) {
    unsigned bytes = (unsigned)f->size * f->count;
    if (m->shadow || !lanes_inside(w, at, 0, w->local_top, bytes)) return mem_slow(m, w, in, f, at);
    bool uniform = lane_pattern(w, at, bytes) == LANES_UNIFORM;
    if (!is_words(f) || !uniform) return mem_slow(m, w, in, f, at);
    uint8_t *word = w->s.local + at[__builtin_ctz(w->active)] / 4 * ROW32;
    for (int k = 0; k < f->count; k++, word += ROW32) {
        U32 *row = (U32 *)(void *)(w->file + f->reg[k]), *cell = (U32 *)(void *)word;
        if (f->is_store) EACH_LANE cell[i] = w->lane32[i] ? row[i] : cell[i];
        else EACH_LANE row[i] = w->lane32[i] ? cell[i] : row[i];
    }
    cost_local(m, w, at, w->active, bytes, f->is_store);
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

static bool load_store(Machine *m, Warp *w, const Ins *in, const MemForm *f) {
    uint64_t at[LANES] __attribute__((aligned(64)));
    lane_addresses(w, f, at);
    switch (f->space) {
    case PTX_GENERIC:
    case PTX_GLOBAL:
    case PTX_CONST: return global_access(m, w, in, f, at);
    case PTX_SHARED: return shared_access(m, w, in, f, at);
    case PTX_LOCAL: return local_access(m, w, in, f, at);
    default: return mem_slow(m, w, in, f, at);
    }
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
