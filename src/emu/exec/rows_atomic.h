/* rows_atomic.h - atomics of lanes that all go to one place where nobody watches: it is looked up
** once. Included by rows.c alone, once per variant; atoms.h has what they mean, and what goes
** elsewhere is done lane by lane. */

typedef struct AtomPlace {
    uint8_t *data;
    uint64_t base;
    Alloc *alloc; /* NULL: shared memory */
} AtomPlace;

static inline bool atom_place(const Machine *m, const Warp *w, const AtomForm *f,
                              const uint64_t *at, AtomPlace *to) {
    uint64_t first = at[__builtin_ctz(w->active)], size = m->shared_bytes, bad = 0;
    bool shared = f->space == PTX_SHARED ||
                  (f->space == PTX_GENERIC && first >> ID_SHIFT == ID_SHARED);
    *to = (AtomPlace){m->shared, f->space == PTX_SHARED ? 0 : WINDOW(ID_SHARED), NULL};
    if (m->shadow) return false;
    if (!shared) {
        Alloc *a = alloc_of(m->emu, first);
        if (a == NULL || a->watched || a->read_only || a->is_const || m->view) return false;
        *to = (AtomPlace){a->data, a->address, a};
        size = a->size;
    }
    if (size < f->size) return false;
    for (int i = 0; i < LANES; i++) {
        uint64_t offset = at[i] - to->base, on = (uint64_t)w->lane64[i];
        bad |= ((offset | (size - f->size - offset)) >> 63 | (at[i] & (f->size - 1u))) & on;
    }
    return bad == 0;
}

/* --- sums --- */

static inline uint32_t without_subnormal(uint32_t bits) {
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static __attribute__((noinline, cold)) uint32_t add_rare_f32(uint32_t a, uint32_t b) {
    float x = float_of(without_subnormal(a)), sum = x + float_of(without_subnormal(b));
    return sum == sum ? without_subnormal(bits_f(sum)) : 0x7fffffff;
}

static inline bool is_subnormal(uint32_t bits) {
    return (bits & 0x7fffffff) - 1 < 0x007fffff;
}

/* A call for what is rare, so that a sum waits for nothing but the one before it; one branch. */
static inline uint32_t add_bits_f32(uint32_t a, uint32_t b, bool keep) {
    float sum = float_of(a) + float_of(b);
    uint32_t bits = bits_f(sum);
    if (keep) return sum == sum ? bits : 0x7fffffff;
    int rare = (int)is_subnormal(a) | (int)is_subnormal(b) | (int)is_subnormal(bits) |
               (int)(sum != sum);
    return __builtin_expect(rare, 0) ? add_rare_f32(a, b) : bits;
}

/* The same without a branch, for many at a time. */
static inline uint32_t sum_bits_f32(uint32_t a, uint32_t b, bool keep) {
    if (keep) return bits_f(canon(float_of(a) + float_of(b)));
    return bits_f(flush(canon(flush(float_of(a)) + flush(float_of(b)))));
}

/* All lanes' to one place. The sum stays a float: what a lane waits for is one addition. */
static inline bool add_up_f32(const Warp *w, const U32 *bs, uint8_t *p, bool keep, U32 *olds) {
    uint32_t begin, changes = 0;
    memcpy(&begin, p, sizeof begin);
    float sum = float_of(begin);
    bool rare = is_subnormal(begin);
    FOR_ACTIVE(w, i) {
        const uint32_t b = bs[i], old = bits_f(sum);
        float next = sum + float_of(b);
        rare |= is_subnormal(b) || is_subnormal(bits_f(next));
        if (__builtin_expect((rare && !keep) || next != next, 0))
            next = float_of(keep ? 0x7fffffffu : add_rare_f32(old, b));
        rare = false;
        changes |= old ^ bits_f(next);
        olds[i] = old;
        sum = next;
    }
    memcpy(p, &sum, sizeof sum);
    return changes != 0;
}

/* Which NaN a sum is, num.h knows. */
static inline uint64_t add_bits_f64(uint64_t a, uint64_t b) {
    double x = num_f64_from_bits(a), y = num_f64_from_bits(b), sum = x + y;
    return num_f64_bits(sum == sum ? sum : num_add_f64(x, y, NUM_RN));
}

/* Two halves in a word. */
static inline uint32_t add_bits_f16x2(uint32_t a, uint32_t b) {
#if defined(EMU_AVX2)
    __m128 x = _mm_cvtph_ps(_mm_cvtsi32_si128((int)a)), y = _mm_cvtph_ps(_mm_cvtsi32_si128((int)b));
    __m128 sum = _mm_add_ps(x, y), nan = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
    sum = _mm_blendv_ps(sum, nan, _mm_cmpunord_ps(sum, sum));
    return (uint32_t)_mm_cvtsi128_si32(_mm_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT));
#else
    float low = canon(f16_value(a & 0xffff) + f16_value(b & 0xffff));
    float high = canon(f16_value(a >> 16) + f16_value(b >> 16));
    return f16_bits(low) | f16_bits(high) << 16;
#endif
}

static inline uint32_t add_bits_bf16x2(uint32_t a, uint32_t b) {
    float low = float_of(a << 16) + float_of(b << 16);
    float high = float_of(a & 0xffff0000) + float_of(b & 0xffff0000);
    return bf16_bits(low) | bf16_bits(high) << 16;
}

/* --- a warp --- */

/* How the active lanes' addresses lie: at one; each at its own, of all lanes; as it comes. */
typedef enum AtomWay { ATOM_ONE, ATOM_APART, ATOM_ANYWHERE } AtomWay;

static inline AtomWay atom_way(const Warp *w, const uint64_t *at) {
    uint64_t first = at[__builtin_ctz(w->active)], other = 0;
    for (int i = 0; i < LANES; i++) other |= (at[i] ^ first) & (uint64_t)w->lane64[i];
    if (other == 0) return ATOM_ONE;
    return w->active == FULL_MASK && all_rise(at) ? ATOM_APART : ATOM_ANYWHERE;
}

#define ATOM_AT(i) (data + (at[i] - base))

/* What a lane that finds `old` at an address has seen: its share of a sum. */
static inline uint64_t atom_saw(uint64_t at, uint64_t old, int i) {
    return (at ^ old * 0x9e3779b97f4a7c15u) * (0xd6e8feb86659fd93u + 2 * (uint64_t)i);
}

/* What one lane does with `old`. */
#define ATOM_LANE(T, EXPR)                                                                         \
    const T b = bs[i], c = cs[i], now = (T)(EXPR);                                                 \
    (void)b, (void)c;                                                                              \
    changes |= old ^ now;                                                                          \
    if (read) {                                                                                    \
        sum += atom_saw(at[i], old, (int)i);                                                       \
        ds[i] = old;                                                                               \
    }

/* What the active lanes found. */
#define ATOM_READ(T, olds)                                                                         \
    {                                                                                              \
        T *d = &LANE(T, w, in->d, 0);                                                              \
        for (int i = 0; i < LANES; i++)                                                            \
            sum += atom_saw(at[i], olds[i], i) & (uint64_t)w->lane64[i];                           \
        EACH_LANE d[i] = w->lane64[i] ? olds[i] : d[i];                                            \
    }

/* In the order of lanes; whether anything changed, and in *seen what was there, if that is read.
** What all lanes add to one place is added up in a register; what each has to itself is done at
** once, by MANY. */
#define ATOM_LOOP(T, EXPR, MANY)                                                                   \
    {                                                                                              \
        const T *bs = &LANE(T, w, in->b, 0), *cs = &LANE(T, w, in->c, 0);                          \
        T *ds = read ? &LANE(T, w, in->d, 0) : NULL;                                               \
        if (way == ATOM_ONE) {                                                                     \
            uint8_t *p = ATOM_AT(__builtin_ctz(w->active));                                        \
            T old;                                                                                 \
            memcpy(&old, p, sizeof old);                                                           \
            FOR_ACTIVE(w, i) {                                                                     \
                ATOM_LANE(T, EXPR)                                                                 \
                old = now;                                                                         \
            }                                                                                      \
            memcpy(p, &old, sizeof old);                                                           \
        } else if (way == ATOM_APART) {                                                            \
            T olds[LANES] __attribute__((aligned(64))), nows[LANES] __attribute__((aligned(64)));  \
            const bool dense = at[LANES - 1] - at[0] == (LANES - 1) * sizeof(T);                   \
            if (dense) memcpy(olds, ATOM_AT(0), sizeof olds);                                      \
            else for (int i = 0; i < LANES; i++) memcpy(&olds[i], ATOM_AT(i), sizeof(T));          \
            EACH_LANE {                                                                            \
                const T old = olds[i], b = bs[i], c = cs[i];                                       \
                (void)old, (void)b, (void)c;                                                       \
                nows[i] = (T)(MANY);                                                               \
            }                                                                                      \
            for (int i = 0; i < LANES; i++) changes |= olds[i] ^ nows[i];                          \
            if (dense) memcpy(ATOM_AT(0), nows, sizeof nows);                                      \
            else for (int i = 0; i < LANES; i++) memcpy(ATOM_AT(i), &nows[i], sizeof(T));          \
            if (read) ATOM_READ(T, olds)                                                           \
        } else {                                                                                   \
            FOR_ACTIVE(w, i) {                                                                     \
                T old;                                                                             \
                memcpy(&old, ATOM_AT(i), sizeof old);                                              \
                ATOM_LANE(T, EXPR)                                                                 \
                memcpy(ATOM_AT(i), &now, sizeof now);                                              \
            }                                                                                      \
        }                                                                                          \
    }
#define ATOM_BOTH(T, EXPR) ATOM_LOOP(T, EXPR, EXPR)
#define ATOM_INTEGER(OP)                                                                           \
    case OP:                                                                                       \
        if (f->size == 8) ATOM_BOTH(U64, atom_integer(OP, true, type, old, b, c))                  \
        else ATOM_BOTH(U32, atom_integer(OP, false, type, old, b, c))                              \
        break;

static bool atom_loop(Warp *w, const Ins *in, const AtomForm *f, const uint64_t *at,
                      const AtomPlace *to, uint64_t *seen) {
    uint64_t changes = 0, sum = 0;
    uint8_t *const data = to->data; /* locals: what is written might be anything else */
    const uint64_t base = to->base;
    const bool read = f->is_read, adds = f->op == ATOM_ADD;
    const bool keep = to->alloc == NULL; /* subnormals, in shared memory */
    const PtxType type = (PtxType)f->type;
    const AtomWay way = atom_way(w, at);
    if (adds && type == PTX_F32 && way == ATOM_ONE) {
        U32 olds[LANES] __attribute__((aligned(64))) = {0};
        uint8_t *p = ATOM_AT(__builtin_ctz(w->active));
        changes = add_up_f32(w, &LANE(U32, w, in->b, 0), p, keep, olds);
        if (read) ATOM_READ(U32, olds)
    } else if (adds && type == PTX_F32 && keep)
        ATOM_LOOP(U32, add_bits_f32(old, b, true), sum_bits_f32(old, b, true))
    else if (adds && type == PTX_F32)
        ATOM_LOOP(U32, add_bits_f32(old, b, false), sum_bits_f32(old, b, false))
    else if (adds && type == PTX_F64)
        ATOM_BOTH(U64, add_bits_f64(old, b))
    else if (adds && type == PTX_F16X2)
        ATOM_BOTH(U32, add_bits_f16x2(old, b))
    else if (adds && type == PTX_BF16X2)
        ATOM_BOTH(U32, add_bits_bf16x2(old, b))
    else if (type >= PTX_F16 && type <= PTX_BF16X2)
        ATOM_BOTH(U32, atom_value((AtomOp)f->op, type, old, b, c, keep))
    else switch ((AtomOp)f->op) {
        ATOM_INTEGER(ATOM_ADD)
        ATOM_INTEGER(ATOM_MIN)
        ATOM_INTEGER(ATOM_MAX)
        ATOM_INTEGER(ATOM_INC)
        ATOM_INTEGER(ATOM_DEC)
        ATOM_INTEGER(ATOM_CAS)
        ATOM_INTEGER(ATOM_EXCH)
        ATOM_INTEGER(ATOM_AND)
        ATOM_INTEGER(ATOM_OR)
        ATOM_INTEGER(ATOM_XOR)
    }
    *seen = sum;
    return changes != 0;
}

static bool row_ATOMIC(Machine *m, Warp *w, const Ins *in) {
    AtomForm f;
    AtomPlace to;
    uint64_t at[LANES] __attribute__((aligned(64))), seen = 0;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, f.wide_base, 0, at);
    if (f.size < 4 || m->launch->backwards || !atom_place(m, w, &f, at, &to))
        return atom_by_lanes(m, w, in);
    if (atom_loop(w, in, &f, at, &to, &seen)) w->moved = true;
    if (to.alloc) alloc_reach(to.alloc, EMU_READ | EMU_WRITTEN);
    w->beyond |= to.alloc && f.is_read;
    if (f.is_read) warp_saw(w, in, seen, (PtxSpace)f.space, at[__builtin_ctz(w->active)]);
    if (to.alloc) EACH_LANE at[i] += to.alloc->place - to.base;
    atomic_charge(m, w, at, w->active, to.alloc == NULL, to.alloc, atom_how(&f));
    return true;
}
