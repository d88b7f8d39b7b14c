/* exec_move.h - what a load or store moves between rows and memory that is known to be there.
** Included by exec.c alone, once per variant. `at`: each lane's offset from `base`; those of lanes
** that are off may be anything. */

/* How the addresses of the active lanes lie. */
typedef enum Pattern { LANES_UNIFORM, LANES_DENSE, LANES_ANY } Pattern;

#define ACTIVE_LANES(i)                                                                            \
    for (uint32_t left_ = w->active, i; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);          \
         left_ &= left_ - 1)

static inline bool is_words(const MemForm *f) {
    return f->size == 4 && f->bits[0] == 32;
}

static inline void load_uniform(const Warp *w, const MemForm *f, const uint8_t *p) {
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

/* --- four words a lane: turned in vector registers --- */

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

static inline void load_words(const Warp *w, const MemForm *f, const uint8_t *base,
                              const uint64_t *at, int count) {
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

/* --- an element a lane, from anywhere --- */

/* Where every lane may read: those that are off where the first active one does. */
static inline const uint64_t *settled(const Warp *w, const uint64_t *at, uint64_t *all) {
    uint64_t first = at[__builtin_ctz(w->active)];
    if (w->active == FULL_MASK) return at;
    EACH_LANE all[i] = w->lane64[i] ? at[i] : first;
    return all;
}

#define GATHER(name, T, TO)                                                                        \
    static inline void name(const uint8_t *base, const uint64_t *at, TO *to) {                     \
        for (int i = 0; i < LANES; i++) {                                                          \
            T v;                                                                                   \
            memcpy(&v, base + at[i], sizeof v);                                                    \
            to[i] = (TO)v;                                                                         \
        }                                                                                          \
    }

GATHER(gather_s8, int8_t, U32)
GATHER(gather_u8, uint8_t, U32)
GATHER(gather_s16, int16_t, U32)
GATHER(gather_u16, uint16_t, U32)

/* Rows are read 32 bytes at a time, and a processor is slow to pass on what narrower stores
** wrote. */
#if defined(EMU_AVX2)
static inline int word_at(const uint8_t *p) {
    int v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void gather_32(const uint8_t *base, const uint64_t *at, U32 *to) {
    for (int g = 0; g < LANES; g += 8, at += 8)
        _mm256_storeu_si256(
            (__m256i *)(void *)(to + g),
            _mm256_set_epi32(word_at(base + at[7]), word_at(base + at[6]), word_at(base + at[5]),
                             word_at(base + at[4]), word_at(base + at[3]), word_at(base + at[2]),
                             word_at(base + at[1]), word_at(base + at[0])));
}

static inline double pair_at(const uint8_t *p) {
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void gather_64(const uint8_t *base, const uint64_t *at, U64 *to) {
    for (int g = 0; g < LANES; g += 4, at += 4)
        _mm256_storeu_pd((double *)(void *)(to + g),
                         _mm256_set_pd(pair_at(base + at[3]), pair_at(base + at[2]),
                                       pair_at(base + at[1]), pair_at(base + at[0])));
}
#else
GATHER(gather_32, uint32_t, U32)
GATHER(gather_64, uint64_t, U64)
#endif

/* The same of a whole warp's neighbours. */
#define WIDEN(name, T)                                                                             \
    static inline void name(const uint8_t *from, U32 *to) {                                        \
        T v[LANES];                                                                                \
        memcpy(v, from, sizeof v);                                                                 \
        EACH_LANE to[i] = (U32)v[i];                                                               \
    }

WIDEN(widen_s8, int8_t)
WIDEN(widen_u8, uint8_t)
WIDEN(widen_s16, int16_t)
WIDEN(widen_u16, uint16_t)

/* Elements of at most 4 bytes as words. */
static inline void gather_narrow(const MemForm *f, const uint8_t *base, const uint64_t *at,
                                 U32 *to) {
    if (f->size == 4) gather_32(base, at, to);
    else if (f->size == 2 && f->is_signed) gather_s16(base, at, to);
    else if (f->size == 2) gather_u16(base, at, to);
    else if (f->is_signed) gather_s8(base, at, to);
    else gather_u8(base, at, to);
}

static inline void widen_dense(const MemForm *f, const uint8_t *from, U32 *to) {
    if (f->size == 4) memcpy(to, from, ROW32);
    else if (f->size == 2 && f->is_signed) widen_s16(from, to);
    else if (f->size == 2) widen_u16(from, to);
    else if (f->is_signed) widen_s8(from, to);
    else widen_u8(from, to);
}

/* Words into register k of a load, extended to its width. */
static inline void put_words(const Warp *w, const MemForm *f, int k, const U32 *v) {
    if (f->bits[k] == 64) {
        U64 *d = (U64 *)(void *)(w->file + f->reg[k]);
        const S32 *s = (const S32 *)v;
        if (f->is_signed) EACH_LANE d[i] = w->lane64[i] ? (uint64_t)(int64_t)s[i] : d[i];
        else EACH_LANE d[i] = w->lane64[i] ? v[i] : d[i];
        return;
    }
    U32 *d = (U32 *)(void *)(w->file + f->reg[k]);
    const uint32_t keep = f->bits[k] == 16 ? 0xffff : 0xffffffff;
    if (f->is_free || w->active == FULL_MASK) EACH_LANE d[i] = v[i] & keep;
    else EACH_LANE d[i] = w->lane32[i] ? v[i] & keep : d[i];
}

static inline void put_pairs(const Warp *w, const MemForm *f, int k, const U64 *v) {
    U64 *d = (U64 *)(void *)(w->file + f->reg[k]);
    if (f->is_free || w->active == FULL_MASK) EACH_LANE d[i] = v[i];
    else EACH_LANE d[i] = w->lane64[i] ? v[i] : d[i];
}

static void load_elements(const Warp *w, const MemForm *f, const uint8_t *base,
                          const uint64_t *lanes, bool dense) {
    uint64_t all[LANES] __attribute__((aligned(64)));
    U64 v[LANES] __attribute__((aligned(64)));
    const uint64_t *at = settled(w, lanes, all);
    for (int k = 0; k < f->count; k++, base += f->size) {
        if (f->unused >> k & 1) continue;
        if (f->size == 8) {
            if (dense) memcpy(v, base + at[0], ROW64);
            else gather_64(base, at, v);
            put_pairs(w, f, k, v);
        } else {
            U32 *word = (U32 *)(void *)v;
            if (dense) widen_dense(f, base + at[0], word);
            else gather_narrow(f, base, at, word);
            put_words(w, f, k, word);
        }
    }
}

/* --- and to anywhere: where several lanes store, the last one's stays --- */

#define SCATTER(name, T, FROM)                                                                     \
    static inline void name(const Warp *w, const FROM *from, uint8_t *base, const uint64_t *at) {  \
        if (w->active == FULL_MASK) {                                                              \
            for (int i = 0; i < LANES; i++) {                                                      \
                T v = (T)from[i];                                                                  \
                memcpy(base + at[i], &v, sizeof v);                                                \
            }                                                                                      \
        } else {                                                                                   \
            ACTIVE_LANES(i) {                                                                      \
                T v = (T)from[i];                                                                  \
                memcpy(base + at[i], &v, sizeof v);                                                \
            }                                                                                      \
        }                                                                                          \
    }

SCATTER(scatter_8, uint8_t, U32)
SCATTER(scatter_16, uint16_t, U32)
SCATTER(scatter_32, uint32_t, U32)
SCATTER(scatter_64, uint64_t, U64)

#define NARROW(name, T)                                                                            \
    static inline void name(const U32 *from, uint8_t *to) {                                        \
        T v[LANES];                                                                                \
        EACH_LANE v[i] = (T)from[i];                                                               \
        memcpy(to, v, sizeof v);                                                                   \
    }

NARROW(narrow_8, uint8_t)
NARROW(narrow_16, uint16_t)

static inline void store_narrow(const Warp *w, const MemForm *f, const U32 *from, uint8_t *base,
                                const uint64_t *at, bool dense) {
    if (dense && f->size == 4) memcpy(base + at[0], from, ROW32);
    else if (dense && f->size == 2) narrow_16(from, base + at[0]);
    else if (dense) narrow_8(from, base + at[0]);
    else if (f->size == 4) scatter_32(w, from, base, at);
    else if (f->size == 2) scatter_16(w, from, base, at);
    else scatter_8(w, from, base, at);
}

static void store_elements(const Warp *w, const MemForm *f, uint8_t *base, const uint64_t *at,
                           bool dense) {
    for (int k = 0; k < f->count; k++, base += f->size) {
        const U64 *wide = (const U64 *)(const void *)(w->file + f->reg[k]);
        U32 cut[LANES] __attribute__((aligned(64)));
        if (f->size == 8 && dense) memcpy(base + at[0], wide, ROW64);
        else if (f->size == 8) scatter_64(w, wide, base, at);
        else if (f->bits[k] == 64) {
            EACH_LANE cut[i] = (uint32_t)wide[i];
            store_narrow(w, f, cut, base, at, dense);
        } else {
            store_narrow(w, f, (const U32 *)wide, base, at, dense);
        }
    }
}

/* --- local memory: word k of lane l lies at k * 128 + l * 4 ---
**
** `at`: each lane's offset in what is its own; those of all lanes may be used. */

static inline void local_cells(const uint64_t *at, unsigned more, uint64_t *cell) {
    for (int i = 0; i < LANES; i++) {
        uint64_t offset = at[i] + more;
        cell[i] = (offset & ~UINT64_C(3)) * LANES + (uint64_t)i * 4 + (offset & 3);
    }
}

static void load_local(const Warp *w, const MemForm *f, const uint64_t *lanes) {
    uint64_t all[LANES] __attribute__((aligned(64)));
    uint64_t cell[LANES] __attribute__((aligned(64)));
    U32 low[LANES] __attribute__((aligned(64))), high[LANES] __attribute__((aligned(64)));
    U64 both[LANES] __attribute__((aligned(64)));
    const uint64_t *at = settled(w, lanes, all);
    const uint8_t *base = w->s.local;
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        local_cells(at, (unsigned)k * f->size, cell);
        if (f->size == 8) {
            gather_32(base, cell, low);
            gather_32(base + ROW32, cell, high);
            EACH_LANE both[i] = low[i] | (uint64_t)high[i] << 32;
            put_pairs(w, f, k, both);
        } else {
            gather_narrow(f, base, cell, low);
            put_words(w, f, k, low);
        }
    }
}

static void store_local(const Warp *w, const MemForm *f, const uint64_t *at) {
    uint64_t cell[LANES] __attribute__((aligned(64)));
    U32 low[LANES] __attribute__((aligned(64))), high[LANES] __attribute__((aligned(64)));
    uint8_t *base = w->s.local;
    for (int k = 0; k < f->count; k++) {
        const U64 *wide = (const U64 *)(const void *)(w->file + f->reg[k]);
        local_cells(at, (unsigned)k * f->size, cell);
        if (f->bits[k] != 64) {
            store_narrow(w, f, (const U32 *)wide, base, cell, false);
            continue;
        }
        EACH_LANE low[i] = (uint32_t)wide[i];
        EACH_LANE high[i] = (uint32_t)(wide[i] >> 32);
        if (f->size == 8) {
            scatter_32(w, low, base, cell);
            scatter_32(w, high, base + ROW32, cell);
        } else {
            store_narrow(w, f, low, base, cell, false);
        }
    }
}

/* --- all shapes --- */

/* All lanes store to one place. */
static inline void store_last(const Warp *w, const MemForm *f, uint8_t *to) {
    int lane = 31 - __builtin_clz(w->active);
    for (int k = 0; k < f->count; k++, to += f->size) {
        uint64_t v = register_get(w, f, k, lane);
        memcpy(to, &v, f->size); /* little endian */
    }
}

static inline void load_rows(const Warp *w, const MemForm *f, const uint8_t *base,
                             const uint64_t *at, Pattern pattern) {
    bool dense = pattern == LANES_DENSE && w->active == FULL_MASK && f->count == 1;
    if (pattern == LANES_UNIFORM) load_uniform(w, f, base + at[__builtin_ctz(w->active)]);
    else if (is_words(f) && f->count == 4) load_words(w, f, base, at, 4);
    else load_elements(w, f, base, at, dense);
}

static inline void store_rows(const Warp *w, const MemForm *f, uint8_t *base, const uint64_t *at,
                              Pattern pattern) {
    bool dense = pattern == LANES_DENSE && w->active == FULL_MASK && f->count == 1;
    if (pattern == LANES_UNIFORM) store_last(w, f, base + at[__builtin_ctz(w->active)]);
    else if (is_words(f) && f->count == 4) store_words(w, f, base, at, 4);
    else store_elements(w, f, base, at, dense);
}
