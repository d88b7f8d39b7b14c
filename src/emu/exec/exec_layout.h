/* exec_layout.h - loads and stores whose lanes lie as they did the last time. Included by exec.c
** alone, once per variant, after exec_mem.h's checks and before load_store.
**
** The addresses of an access change from run to run, but seldom how far the lanes are apart: a row
** of a matrix is another row, yet a row. A Layout keeps these distances with all that follows from
** them (the pattern, the bank conflicts, the lines), for each instruction or, in shared memory, for
** those of one base register. An access first compares the distances, in a few vector operations;
** then one address stands for all of them: one bounds check, one count of banks and lines.
**
** A layout changes no value, no tick and no fault. What it does not cover (checks that watch, lanes
** in several allocations, an address out of bounds) is left to the functions of exec_mem.h.
** Accesses that come to another layout each time, as to random addresses, soon stop looking. */

enum {
    LAYOUT_REACH = 1 << 30, /* bytes: lanes further apart have no layout */
    LAYOUT_WAITS = 8        /* at most 2 to that many accesses pass without a look */
};

/* --- is it the same? --- */

#if defined(EMU_AVX512)
/* Are these words, less one of them, the distances of a half warp of active lanes? Bits that tell
** them apart. */
static inline __m512i apart32(__m512i other, const U32 *base, __m512i one, const S32 *apart,
                              __mmask16 on) {
    __m512i x = _mm512_maskz_sub_epi32(on, _mm512_loadu_si512(base), one);
    return _mm512_ternarylogic_epi64(other, x, _mm512_load_si512(apart), 0xf6); /* a | (b ^ c) */
}

static inline __m512i apart64(__m512i other, const U64 *base, __m512i one, const S32 *apart,
                              __mmask8 on) {
    const __m512i x = _mm512_maskz_sub_epi64(on, _mm512_loadu_si512(base), one);
    const __m256i narrow = _mm256_load_si256((const __m256i *)(const void *)apart);
    return _mm512_ternarylogic_epi64(other, x, _mm512_cvtepi32_epi64(narrow), 0xf6);
}

/* Does it hold of these lanes? A constant mask for the common one costs nothing. */
static inline bool layout_holds(const Layout *l, const void *row, bool wide, int lane,
                                uint32_t active) {
    __m512i other = _mm512_setzero_si512();
    if (wide) {
        const U64 *base = row;
        const __m512i one = _mm512_set1_epi64((long long)base[lane]);
        for (int k = 0; k < LANES; k += 8)
            other = apart64(other, base + k, one, l->apart + k, (__mmask8)(active >> k));
    } else {
        const U32 *base = row;
        const __m512i one = _mm512_set1_epi32((int)base[lane]);
        for (int k = 0; k < LANES; k += 16)
            other = apart32(other, base + k, one, l->apart + k, (__mmask16)(active >> k));
    }
    return _mm512_test_epi64_mask(other, other) == 0;
}

static inline bool layout_same(const Layout *l, const Warp *w, const MemForm *f) {
    const uint8_t *row = w->file + f->base;
    if (l->active != w->active) return false;
    if (l->active == FULL_MASK) return layout_holds(l, row, f->wide_base, 0, FULL_MASK);
    return layout_holds(l, row, f->wide_base, l->lane, l->active);
}
#else
static inline bool layout_same(const Layout *l, const Warp *w, const MemForm *f) {
    const uint8_t *row = w->file + f->base;
    const int lane = l->lane;
    if (l->active != w->active) return false;
    if (f->wide_base) {
        const U64 *base = (const U64 *)(const void *)row;
        const uint64_t first = base[lane];
        uint64_t other = 0;
        for (int i = 0; i < LANES; i++)
            other |= (base[i] - first - (uint64_t)(int64_t)l->apart[i]) & (uint64_t)w->lane64[i];
        return other == 0;
    }
    const U32 *base = (const U32 *)(const void *)row;
    const uint32_t first = base[lane];
    uint32_t other = 0;
    for (int i = 0; i < LANES; i++)
        other |= (base[i] - first - (uint32_t)l->apart[i]) & (uint32_t)w->lane32[i];
    return other == 0;
}
#endif

/* --- finding it --- */

/* The distinct places of the lanes, in the order in which the lanes come to them; none where there
** are more than a few. */
static void layout_find_few(Layout *l) {
    l->n_few = 0;
    for (uint32_t left = l->active; left; l->n_few++) {
        int32_t at = l->apart[__builtin_ctz(left)];
        uint32_t lanes = 0;
        if (l->n_few == LAYOUT_FEW) {
            l->n_few = 0;
            return;
        }
        for (int i = 0; i < LANES; i++) lanes |= (uint32_t)(l->apart[i] == at) << i;
        l->few_at[l->n_few] = at;
        l->few_lanes[l->n_few] = lanes & l->active;
        left &= ~lanes;
    }
}

/* Which word of the window around all lanes each of them has. */
static void layout_find_window(Layout *l) {
    uint32_t words = ((uint32_t)l->high - (uint32_t)l->low) / 4 + 1;
    l->has_window = (l->bits & 3) == 0 && words <= 2 * LANES;
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t left = words > 16 * n ? words - 16 * n : 0;
        l->window[n] = left >= 16 ? 0xffff : (uint16_t)((1u << left) - 1);
    }
    for (int i = 0; i < LANES; i++) l->word[i] = ((uint32_t)l->apart[i] - (uint32_t)l->low) / 4;
}

/* Are the lanes of each half of the warp neighbours? */
static bool layout_is_halves(const Layout *l) {
    int32_t other = 0;
    for (int i = 0; i < LANES; i++) other |= l->apart[i] ^ (l->apart[i & 16] + 4 * (i & 15));
    return l->active == FULL_MASK && other == 0;
}

static void layout_choose(Layout *l) {
    layout_find_few(l);
    layout_find_window(l);
    l->how = l->n_few               ? LAYOUT_PLACES
             : layout_is_halves(l) ? LAYOUT_HALVES
             : l->has_window       ? LAYOUT_WINDOW
                                   : LAYOUT_LANES;
}

static void layout_find_banks(Layout *l, unsigned bytes) {
    uint64_t at[LANES];
    Banks banks = {0, 0};
    EACH_LANE at[i] = (uint64_t)((int64_t)l->apart[i] - l->low);
    if (l->pattern == LANES_ANY && bytes >= 4) banks = banks_count(at, l->active, bytes);
    else if (l->pattern == LANES_DENSE && bytes > 4)
        banks.extra = (bytes * (unsigned)__builtin_popcount(l->active) - 1) / 128;
    l->banks = banks;
}

/* From the lanes' addresses. Its distances are 0 in lanes that are off. */
static __attribute__((noinline)) void layout_find(Layout *l, const Warp *w, const MemForm *f) {
    uint64_t at[LANES] __attribute__((aligned(64)));
    unsigned bytes = (unsigned)f->size * f->count;
    lane_addresses(w, f, at);
    uint64_t origin = at[__builtin_ctz(w->active)], far = 0;
    l->active = w->active;
    l->lane = (uint8_t)__builtin_ctz(w->active);
    l->low = l->high = 0;
    l->bits = 0;
    l->serial++;
    for (int i = 0; i < LANES; i++) {
        int64_t apart = (int64_t)((at[i] - origin) & (uint64_t)w->lane64[i]);
        if (!f->wide_base) apart = (int32_t)apart;
        far |= (uint64_t)(apart < -LAYOUT_REACH || apart > LAYOUT_REACH);
        l->apart[i] = (int32_t)apart;
        l->low = l->apart[i] < l->low ? l->apart[i] : l->low;
        l->high = l->apart[i] > l->high ? l->apart[i] : l->high;
        l->bits |= (uint32_t)l->apart[i];
    }
    l->known = !far;
    if (far) {
        l->active = 0;
        return;
    }
    l->pattern = (uint8_t)lane_pattern(w, at, bytes);
    layout_choose(l);
    layout_find_banks(l, bytes);
}

/* It is another: the next accesses do not look where the last one served too few. */
static __attribute__((noinline)) void layout_missed(Layout *l, const Warp *w, const MemForm *f) {
    l->doubt = l->served >= LAYOUT_PAYS ? 0 : l->doubt < LAYOUT_WAITS ? l->doubt + 1 : l->doubt;
    l->wait = (uint16_t)((1u << l->doubt) - 1);
    l->served = 0;
    layout_find(l, w, f);
}

/* The instruction's layout where it holds, else NULL. */
static inline Layout *layout_of(Machine *m, Warp *w, const MemForm *f) {
    Layout *l = &m->layouts[f->layout];
    if (l->wait) {
        l->wait--;
        l->known = false;
        return NULL;
    }
    bool holds = f->same_layout && l->known && l->active == w->active;
    if (!holds && !layout_same(l, w, f)) {
        layout_missed(l, w, f);
        return NULL;
    }
    l->known = true;
    l->served += l->served < LAYOUT_PAYS;
    return l;
}

/* --- moving --- */

/* Does a place `from` bytes into `size` bytes, and all lanes around it, lie inside and aligned? */
static inline bool layout_inside(const Layout *l, uint64_t address, uint64_t from, uint64_t size,
                                 unsigned bytes) {
    uint64_t below = (uint64_t)(-(int64_t)l->low), above = (uint64_t)l->high + bytes;
    return ((address | l->bits) & (bytes - 1)) == 0 && from <= size && from >= below &&
           size - from >= above;
}

#if defined(EMU_AVX512)
/* Words of all lanes into register k, which is a row of words. A row is written at once: what is
** written in parts is slow to be read. */
static inline void put_row(const Warp *w, const MemForm *f, int k, __m512i low, __m512i high) {
    U32 *d = (U32 *)(void *)(w->file + f->reg[k]);
    if (!f->is_free && w->active != FULL_MASK) {
        low = _mm512_mask_mov_epi32(_mm512_loadu_si512(d), (__mmask16)w->active, low);
        high = _mm512_mask_mov_epi32(_mm512_loadu_si512(d + 16), (__mmask16)(w->active >> 16),
                                     high);
    }
    _mm512_storeu_si512(d, low);
    _mm512_storeu_si512(d + 16, high);
}

/* Words 16 n … 16 n + 15 of the window that begins at p. */
static inline __m512i window_part(const Layout *l, const uint8_t *p, int n) {
    return _mm512_maskz_loadu_epi32(l->window[n], p + 64 * n);
}

/* A word a lane out of the window. */
static inline void load_window(const Warp *w, const MemForm *f, const Layout *l,
                               const uint8_t *p) {
    const __m512i first = _mm512_load_si512(l->word), second = _mm512_load_si512(l->word + 16);
    const __m512i a = window_part(l, p, 0), b = window_part(l, p, 1);
    __m512i low = _mm512_permutex2var_epi32(a, first, b);
    __m512i high = _mm512_permutex2var_epi32(a, second, b);
    if (l->window[2]) { /* the permutations take their indices modulo 32 */
        const __m512i c = window_part(l, p, 2), d = window_part(l, p, 3);
        const __m512i beyond = _mm512_set1_epi32(LANES);
        low = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(first, beyond), low,
                                      _mm512_permutex2var_epi32(c, first, d));
        high = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(second, beyond), high,
                                       _mm512_permutex2var_epi32(c, second, d));
    }
    put_row(w, f, 0, low, high);
}

/* A word a lane, from anywhere. */
static inline __m256i words_apart(const uint8_t *p, const S32 *apart) {
    return _mm256_set_epi32(word_at(p + apart[7]), word_at(p + apart[6]), word_at(p + apart[5]),
                            word_at(p + apart[4]), word_at(p + apart[3]), word_at(p + apart[2]),
                            word_at(p + apart[1]), word_at(p + apart[0]));
}

static inline __m512i sixteen_apart(const uint8_t *p, const S32 *apart) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(words_apart(p, apart)),
                              words_apart(p, apart + 8), 1);
}

static __attribute__((noinline)) void load_gathered(const Warp *w, const MemForm *f,
                                                    const Layout *l, const uint8_t *p) {
    put_row(w, f, 0, sixteen_apart(p, l->apart), sixteen_apart(p, l->apart + 16));
}

static inline void load_apart(const Warp *w, const MemForm *f, const Layout *l, const uint8_t *p) {
    if (l->how == LAYOUT_WINDOW) load_window(w, f, l, p + l->low);
    else load_gathered(w, f, l, p);
}

/* Neighbours, 16 and 16. */
static inline void load_halves(const Warp *w, const MemForm *f, const Layout *l,
                               const uint8_t *p) {
    put_row(w, f, 0, _mm512_loadu_si512(p + l->apart[0]), _mm512_loadu_si512(p + l->apart[16]));
}

/* The words of a few places, each to its lanes. */
static inline void load_few(const Warp *w, const MemForm *f, const Layout *l, const uint8_t *p) {
    for (int k = 0; k < f->count; k++, p += 4) {
        if (f->unused >> k & 1) continue;
        __m512i low = _mm512_setzero_si512(), high = low;
        for (int j = 0; j < l->n_few; j++) {
            const __m512i all = _mm512_set1_epi32(word_at(p + l->few_at[j]));
            low = _mm512_mask_mov_epi32(low, (__mmask16)l->few_lanes[j], all);
            high = _mm512_mask_mov_epi32(high, (__mmask16)(l->few_lanes[j] >> 16), all);
        }
        put_row(w, f, k, low, high);
    }
}
#else
static inline void load_apart(const Warp *w, const MemForm *f, const Layout *l, const uint8_t *p) {
    U32 v[LANES] __attribute__((aligned(64)));
    for (int i = 0; i < LANES; i++) memcpy(v + i, p + l->apart[i], 4);
    put_words(w, f, 0, v);
}

static inline void load_halves(const Warp *w, const MemForm *f, const Layout *l,
                               const uint8_t *p) {
    U32 v[LANES] __attribute__((aligned(64)));
    for (int i = 0; i < LANES; i += LANES / 2) memcpy(v + i, p + l->apart[i], ROW32 / 2);
    put_words(w, f, 0, v);
}

static inline void load_few(const Warp *w, const MemForm *f, const Layout *l, const uint8_t *p) {
    U32 v[LANES] __attribute__((aligned(64)));
    for (int k = 0; k < f->count; k++, p += 4) {
        if (f->unused >> k & 1) continue;
        for (int j = 0; j < l->n_few; j++) {
            uint32_t word, lanes = l->few_lanes[j];
            memcpy(&word, p + l->few_at[j], 4);
            EACH_LANE v[i] = lanes >> i & 1 ? word : v[i];
        }
        put_words(w, f, k, v);
    }
}
#endif

/* Lane by lane: offsets are from the lowest one on, because they are unsigned. */
static __attribute__((noinline)) void layout_move_lanes(Warp *w, const MemForm *f, const Layout *l,
                                                        uint8_t *p) {
    uint64_t at[LANES] __attribute__((aligned(64)));
    EACH_LANE at[i] = (uint64_t)((int64_t)l->apart[i] - l->low);
    if (f->is_store) store_rows(w, f, p + l->low, at, (Pattern)l->pattern);
    else load_rows(w, f, p + l->low, at, (Pattern)l->pattern);
}

/* All lanes are neighbours. */
static inline bool layout_is_row(const Layout *l, const MemForm *f) {
    return l->pattern == LANES_DENSE && l->active == FULL_MASK && f->count == 1;
}

static inline void layout_load(Warp *w, const MemForm *f, const Layout *l, const uint8_t *p) {
    if (l->pattern == LANES_UNIFORM) load_uniform(w, f, p);
    else if (l->how == LAYOUT_PLACES) load_few(w, f, l, p);
    else if (l->how == LAYOUT_HALVES) load_halves(w, f, l, p);
    else load_apart(w, f, l, p);
}

/* Loads or stores at p + apart. */
static inline void layout_move(Warp *w, const MemForm *f, const Layout *l, uint8_t *p) {
    const uint64_t none = 0;
    w->moved |= f->is_store;
    if (!f->is_store && is_words(f) && (f->count == 1 || l->how == LAYOUT_PLACES))
        layout_load(w, f, l, p);
    else if (!layout_is_row(l, f)) layout_move_lanes(w, f, l, p);
    else if (f->is_store) store_elements(w, f, p, &none, true);
    else load_elements(w, f, p, &none, true);
}

/* --- shared memory --- */

static __attribute__((noinline)) bool layout_shared(Machine *m, Warp *w, const MemForm *f) {
    const Layout *l = layout_of(m, w, f);
    if (l == NULL) return false;
    const void *base = w->file + f->base;
    const int lane = l->lane;
    uint64_t at = f->wide_base ? ((const U64 *)base)[lane] + (uint64_t)f->offset
                               : ((const U32 *)base)[lane] + (uint32_t)f->offset;
    if (!layout_inside(l, at, at, m->shared_bytes, f->bytes)) return false;
    layout_move(w, f, l, m->shared + at);
    if (l->banks.extra) banks_charge(m, l->banks);
    if (!f->is_store) { /* for those that follow with same_base */
        w->base = f->wide_base ? ((const U64 *)base)[lane] : ((const U32 *)base)[lane];
        w->one_base = l->pattern == LANES_UNIFORM;
    }
    return true;
}

/* Had all lanes of a load one address the last time? Then it is looked at as such a load, and its
** layout is compared by nobody. */
static inline bool layout_was_one(const Machine *m, const MemForm *f) {
    Layout *l = m->layouts ? &m->layouts[f->layout] : NULL;
    if (l && l->pattern != LANES_UNIFORM) return false;
    if (l) l->known = false;
    return true;
}

/* --- global memory --- */

/* The lines of a few places of one sector each. */
static void lines_of_few(const Layout *l, uint64_t address, LineSet *set) {
    set->n = 0;
    for (int k = 0; k < l->n_few; k++) {
        uint64_t at = address + (uint64_t)(int64_t)l->few_at[k], line = at >> 7;
        int j = 0;
        while (j < set->n && set->line[j] != line) j++;
        if (j == set->n) set->line[set->n] = line, set->sectors[set->n++] = 0;
        set->sectors[j] |= 1u << (at >> 5 & 3);
    }
}

/* The lines of lanes around an address: those of last time, moved, where it lies as far from the
** beginning of a line. */
static inline const LineSet *layout_lines(const Layout *l, LayoutLines *had, uint64_t address) {
    LineSet *set = &had->set;
    if (had->serial == l->serial && ((address ^ had->address) & 127) == 0) {
        uint64_t move = (address >> 7) - (had->address >> 7);
        for (int i = 0; move && i < set->n; i++) set->line[i] += move;
    } else if (l->n_few) {
        lines_of_few(l, address, set);
    } else {
        uint64_t at[LANES] __attribute__((aligned(64)));
        EACH_LANE at[i] = address + (uint64_t)(int64_t)l->apart[i];
        lines_collect(set, at, l->active);
    }
    had->serial = l->serial;
    had->address = address;
    return set;
}

/* `at`: of the first active lane in its allocation. */
static inline void layout_charge(Machine *m, Warp *w, const MemForm *f, Layout *l, Alloc *alloc,
                                 uint64_t at) {
    CostKind kind = f->is_store ? COST_KIND_STORE : COST_KIND_LOAD;
    if (l->pattern == LANES_UNIFORM) {
        charge_range(m, w, alloc, at, f->bytes, kind);
    } else if (l->pattern == LANES_DENSE) {
        charge_range(m, w, alloc, at, (uint64_t)f->bytes * (unsigned)__builtin_popcount(l->active),
                     kind);
    } else {
        lines_charge(m, w, alloc, layout_lines(l, &m->lines[f->lines], alloc->place + at), kind);
    }
}

/* The memory as one of several threads has it. */
static __attribute__((noinline)) uint8_t *layout_view(Machine *m, const MemForm *f, const Layout *l,
                                                      const Alloc *alloc, uint64_t first) {
    uint64_t at[LANES] __attribute__((aligned(64)));
    if (l->pattern != LANES_ANY)
        return view_bytes(m, alloc, first, (uint64_t)l->high + f->bytes, f->is_store);
    EACH_LANE at[i] = first + (uint64_t)(int64_t)l->apart[i];
    return view_lanes(m, alloc, at, l->active, f->bytes, f->is_store);
}

/* Done, where the lanes lie as last time; else false. *ran: as load_store says. */
static __attribute__((noinline)) bool layout_global(Machine *m, Warp *w, const MemForm *f,
                                                    bool *ran) {
    Layout *l = layout_of(m, w, f);
    if (l == NULL) return false;
    const U64 *base = (const U64 *)(const void *)(w->file + f->base);
    uint64_t address = base[l->lane] + (uint64_t)f->offset;
    Alloc *alloc = alloc_of(m->emu, address);
    if (alloc == NULL || alloc->watched || (f->is_store && alloc->read_only)) return false;
    uint64_t at = address - alloc->address;
    if (!layout_inside(l, address, at, alloc->size, f->bytes)) return false;
    uint8_t *data = alloc->data;
    if (m->view && !alloc->is_const) data = layout_view(m, f, l, alloc, at);
    *ran = data != NULL;
    if (data == NULL) return true;
    layout_move(w, f, l, data + at);
    alloc_reach(alloc, f->is_store ? EMU_WRITTEN : EMU_READ);
    w->looked |= !f->is_store;
    layout_charge(m, w, f, l, alloc, at);
    return true;
}

static inline bool by_layout(Machine *m, Warp *w, const MemForm *f, bool *ran) {
    if (f->layout == 0 || m->layouts == NULL || m->shadow) return false;
    if (f->is_store && m->launch->backwards) return false;
    *ran = true;
    return f->bound == BOUND_SHARED ? layout_shared(m, w, f) : layout_global(m, w, f, ran);
}
