/* shadow.c - what memory itself cannot tell: bytes that nobody wrote, and races (race.c, order.c).
**
** Nobody wrote: to shared memory since the block began, to local memory since the function was
** called, to an allocation since emu_unwritten.
**
** A launch that checks sends every access to shared and local memory here, and those to allocations
** that have something to tell: for races all that share memory with one a kernel can write to.
*/
#include "emu/check/shadow.h"
#include "emu/check/undefined.h"
#include "emu/exec/async.h"
#include "emu/exec/matrix_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that allocations have in common, in the order of host addresses. */
typedef struct Region {
    const uint8_t *from, *to;
    bool writable, is_uneven; /* is_uneven: its allocations do not begin at whole words of it */
    Cells *cells;
} Region;

/* What is known of a block that has begun and not ended. */
typedef struct ProxyFence { /* a thread's last */
    uint64_t time;
    uint32_t epoch;
} ProxyFence;

typedef struct BlockShadow {
    uint8_t *coming; /* races: copies under way to each word of shared memory */
    int n_coming;
    ProxyFence *proxy; /* by thread; NULL: there was none */
    bool runs;
    uint64_t number;
    BlockOrder order;
    Cells *shared;           /* races; NULL: not asked for */
    uint8_t *shared_written; /* a bit for each byte; NULL: not asked for */
    uint32_t *local[LANES];  /* per warp: for each byte of the stack, the lanes that wrote it */
    uint32_t local_cap[LANES];
    uint64_t serial; /* the how many-th block it is */
} BlockShadow;

struct Shadow {
    uint64_t time;              /* of the running instruction */
    BlockShadow *here, **block; /* the running one; all */
    int n_blocks, cap_blocks;
    uint64_t begun; /* blocks */
    Region *region;
    int n_regions;
    Handovers handovers;
    Watch *watch;
};

/* --- which allocations are watched --- */

static int by_address(const void *a, const void *b) {
    const Alloc *x = *(Alloc *const *)a, *y = *(Alloc *const *)b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Puts allocations that overlap into one region; their cells_at is set, their cells not yet. */
static void find_regions(Shadow *s, Alloc **by, int n) {
    for (int i = 0; i < n; i++) {
        Alloc *a = by[i];
        Region *r = s->n_regions ? &s->region[s->n_regions - 1] : NULL;
        if (r == NULL || a->data >= r->to) {
            r = &s->region[s->n_regions++];
            *r = (Region){.from = a->data, .to = a->data};
        }
        if (a->data + a->size > r->to) r->to = a->data + a->size;
        a->cells_at = (uint64_t)(a->data - r->from);
        r->is_uneven |= a->cells_at % 4 != 0;
        r->writable |= !a->read_only && !a->is_const;
    }
}

static void watch_for_races(Shadow *s, Emu *e) {
    Alloc **by = gi_alloc((size_t)(e->n_list + 1) * sizeof *by);
    int n = 0, k = 0;
    for (int i = 0; i < e->n_list; i++) {
        Alloc *a = &e->alloc[e->list[i]];
        bool is_barrier = e->workspace && a->address == e->workspace; /* it orders, and is right */
        if (is_barrier) a->watched = true;
        else if (!a->is_hidden && a->size) by[n++] = a;
    }
    qsort(by, (size_t)n, sizeof *by, by_address);
    s->region = gi_alloc((size_t)(n + 1) * sizeof *s->region);
    find_regions(s, by, n);
    for (int i = 0; i < n; i++) {
        if (by[i]->data >= s->region[k].to) k++;
        Region *r = &s->region[k];
        if (!r->writable) continue;
        if (r->cells == NULL)
            r->cells = cells_new((uint64_t)(r->to - r->from), r->is_uneven, s->watch);
        by[i]->cells = r->cells;
        by[i]->watched = true;
    }
    free(by);
}

static void watch_unwritten(Emu *e) {
    for (int i = 0; i < e->n_list; i++) {
        Alloc *a = &e->alloc[e->list[i]];
        if (!a->unwritten) continue;
        if (a->written == NULL) a->written = gi_alloc((size_t)a->size / 8 + 1);
        a->watched = true;
    }
}

static void watch_used(Emu *e) {
    for (int i = 0; i < e->n_list; i++) {
        Alloc *a = &e->alloc[e->list[i]];
        if (a->is_hidden || a->is_const) continue;
        for (int k = 0; k < 2; k++)
            if (a->used[k] == NULL) a->used[k] = gi_alloc((size_t)a->size / 8 + 1);
        a->watched = true;
    }
}

Shadow *shadow_new(Machine *m) {
    const EmuLaunch *l = m->launch;
    if (!l->count_uninitialised) emu_all_written(m->emu); /* who knows where it will write */
    if (!l->count_uninitialised && l->check_races == EMU_RACES_NONE && !l->footprint) return NULL;
    Shadow *s = gi_alloc(sizeof *s);
    s->watch = watch_new(m);
    if (l->count_uninitialised) watch_unwritten(m->emu);
    if (l->footprint) watch_used(m->emu);
    if (l->check_races >= EMU_RACES_GLOBAL) watch_for_races(s, m->emu);
    return s;
}

/* Nobody has written it, and it is a region of its own. */
void shadow_object(Machine *m, Alloc *a) {
    Shadow *s = m->shadow;
    a->unwritten = m->launch->count_uninitialised;
    if (a->unwritten) a->written = gi_alloc((size_t)a->size / 8 + 1);
    a->watched = a->unwritten;
    if (m->launch->check_races < EMU_RACES_GLOBAL || a->size == 0) return;
    s->region = gi_realloc(s->region, (size_t)(s->n_regions + 1) * sizeof *s->region);
    a->cells = cells_new(a->size, false, s->watch);
    s->region[s->n_regions++] =
        (Region){.from = a->data, .to = a->data + a->size, .writable = true, .cells = a->cells};
    a->watched = true;
}

static void free_block(BlockShadow *b) {
    for (int i = 0; i < LANES; i++) free(b->local[i]);
    free(b->shared_written);
    free(b->proxy);
    free(b->coming);
    cells_free(b->shared);
    order_free(&b->order);
    free(b);
}

void shadow_free(Machine *m) {
    Shadow *s = m->shadow;
    if (s == NULL) return;
    for (int i = 0; i < m->emu->n_list; i++) {
        Alloc *a = &m->emu->alloc[m->emu->list[i]];
        a->watched = false;
        a->cells = NULL;
    }
    for (int i = 0; i < s->n_regions; i++) cells_free(s->region[i].cells);
    for (int i = 0; i < s->n_blocks; i++) free_block(s->block[i]);
    free(s->block);
    free(s->region);
    handovers_free(&s->handovers);
    watch_free(s->watch);
    free(s);
}

/* --- blocks, barriers, fences --- */

static BlockShadow *new_block(const Machine *m) {
    Shadow *s = m->shadow;
    BlockShadow *b = gi_alloc(sizeof *b);
    if (m->launch->count_uninitialised) b->shared_written = gi_alloc(m->shared_bytes / 8 + 1);
    if (m->launch->check_races) {
        b->shared = cells_new(m->shared_bytes, false, NULL);
        b->coming = gi_alloc(m->shared_bytes / 4 + 5);
    }
    gi_grow(s->block, s->n_blocks, s->cap_blocks);
    return s->block[s->n_blocks++] = b;
}

void shadow_block(Machine *m) {
    Shadow *s = m->shadow;
    BlockShadow *b = NULL;
    for (int i = 0; i < s->n_blocks && b == NULL; i++)
        if (!s->block[i]->runs) b = s->block[i];
    if (b == NULL) b = new_block(m);
    if (b->shared) cells_clear(b->shared);
    if (b->n_coming) memset(b->coming, 0, m->shared_bytes / 4 + 5);
    b->n_coming = 0;
    if (b->proxy) memset(b->proxy, 0, MOST_THREADS * sizeof *b->proxy);
    if (b->shared_written) memset(b->shared_written, 0, m->shared_bytes / 8 + 1);
    b->runs = true;
    b->serial = ++s->begun;
    b->number = block_number(m);
    order_begin(&b->order, (uint32_t)b->number, m->launch->grid, m->cluster);
    s->here = b;
}

static uint64_t number_of(const Machine *m, const Block *b) {
    const unsigned *g = m->launch->grid;
    return b->ctaid[0] + (uint64_t)g[0] * (b->ctaid[1] + (uint64_t)g[1] * b->ctaid[2]);
}

/* What is known of a block that runs; NULL: nothing. */
static BlockShadow *shadow_of(const Machine *m, const Block *b) {
    const Shadow *s = m->shadow;
    uint64_t number = number_of(m, b);
    for (int i = 0; s && i < s->n_blocks; i++)
        if (s->block[i]->runs && s->block[i]->number == number) return s->block[i];
    return NULL;
}

void shadow_enter(Machine *m) {
    m->shadow->here = shadow_of(m, m->block);
}

void shadow_block_end(Machine *m) {
    m->shadow->here->runs = false;
}

void shadow_barrier(Machine *m, uint32_t warps) {
    (void)warps;
    order_barrier(&m->shadow->here->order);
}

/* All that the cluster's blocks did is over for each of them. */
void shadow_cluster(Machine *m) {
    for (int k = 0; k < m->n_open; k++)
        if (m->open[k]->cluster == m->block->cluster)
            order_barrier(&shadow_of(m, m->open[k])->order);
    for (int i = 0; i < m->n_open; i++)
        for (int k = 0; k < m->n_open; k++)
            if (i != k && m->open[i]->cluster == m->block->cluster &&
                m->open[k]->cluster == m->block->cluster)
                order_meet(&shadow_of(m, m->open[i])->order, &shadow_of(m, m->open[k])->order);
}

void shadow_warp_sync(Machine *m, const Warp *w, uint32_t lanes) {
    order_warp_sync(&m->shadow->here->order, w->index, lanes);
}

void shadow_fence(Machine *m, const Warp *w, unsigned order) {
    Shadow *s = m->shadow;
    Scope scope = scope_of(order);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int thread = w->index * LANES + __builtin_ctz(left);
        order_release(&s->here->order, thread, s->time, scope);
        order_acquire(&s->here->order, thread, scope);
        lock_fence(&s->here->order, thread, s->time, scope);
    }
    s->time++;
}

void shadow_copy(Machine *m, uint64_t at, unsigned bytes, int change) {
    BlockShadow *b = m->shadow->here;
    for (unsigned k = 0; b->coming && k < bytes; k += 4) {
        b->coming[(at + k) / 4] = (uint8_t)(b->coming[(at + k) / 4] + change);
        b->n_coming += change;
    }
}

void shadow_landed(Machine *m, const Block *b, uint64_t at, unsigned bytes) {
    uint8_t *written = shadow_of(m, b)->shared_written;
    for (unsigned k = 0; written && k < bytes; k++)
        written[(at + k) / 8] |= (uint8_t)(1u << (at + k) % 8);
}

static bool is_coming(const BlockShadow *b, uint64_t at, unsigned bytes) {
    for (unsigned k = 0; b->n_coming && k < bytes; k += 4)
        if (b->coming[(at + k) / 4]) return true;
    return false;
}

void shadow_proxy_fence(Machine *m, const Warp *w) {
    BlockShadow *b = m->shadow->here;
    if (b->proxy == NULL) b->proxy = gi_alloc(MOST_THREADS * sizeof *b->proxy);
    m->shadow->time++;
    for (uint32_t left = w->active; left; left &= left - 1)
        b->proxy[w->index * LANES + __builtin_ctz(left)] =
            (ProxyFence){m->shadow->time, b->order.epoch};
}

/* Has a thread's write a proxy fence behind it: its own, or one by the thread that copies, to which
** the write was over? */
static bool is_fenced(const BlockShadow *b, const Touch *write, int thread) {
    const ProxyFence *own = b->proxy ? &b->proxy[write->thread] : NULL;
    const ProxyFence *here = b->proxy ? &b->proxy[thread] : NULL;
    if (own == NULL) return false;
    if (own->time > write->time) return true;
    bool near =
        write->thread / LANES == thread / LANES || order_is_over(&b->order, write, thread, true);
    return here->time > write->time && (here->epoch > write->epoch || near);
}

bool shadow_proxy(Machine *m, Warp *w, const Ins *in, int lane, uint64_t at, uint32_t bytes,
                  const char *reader) {
    const BlockShadow *b = m->shadow->here;
    Touch write;
    for (uint32_t k = 0; b->shared && k < bytes; k += 4) {
        if (!race_last_write(b->shared, at + k, &write) || write.block != b->order.block ||
            write.order & (ORDER_AHEAD | ORDER_ATOMIC) ||
            is_fenced(b, &write, w->index * LANES + lane))
            continue;
        if (fault_is_known(m, w, in, EMU_RACE)) return !m->ended;
        fault_access(m, w, in, lane, EMU_RACE,
                     "%s reads shared memory at offset 0x%llx, which thread %u "
                     "wrote (PTX line %d) with no fence.proxy.async between them",
                     reader, (unsigned long long)(at + k), write.thread, write.ptx_line);
        return !m->ended;
    }
    return true;
}

void shadow_step(Machine *m) {
    m->shadow->time++;
}

/* --- bytes that nobody wrote --- */

/* A byte of memory, for origins: of shared and local memory it is another one in each block. */
static uint64_t place_of(const Shadow *s, const Warp *w, int lane, PtxSpace space,
                         uint64_t address) {
    if (space == PTX_SHARED)
        return WINDOW(ID_SHARED) | (s->here->serial & 0xffff) << 24 | (address & 0xffffff);
    if (space == PTX_LOCAL)
        return WINDOW(ID_LOCAL) | (s->here->serial & 1023) << 30 | (uint64_t)w->index << 25 |
               (uint64_t)lane << 20 | (address & 0xfffff);
    return address;
}

/* May what is undefined of an access be a struct's padding? Of a thread's or a block's own memory
** only the access itself is looked at: padding does not begin it, and ends where a number may begin
** that is larger. */
static bool looks_padded(const Access *a, uint32_t bytes) {
    bool is_global = a->space == PTX_GLOBAL || a->space == PTX_GENERIC;
    const Alloc *in = is_global ? alloc_of(a->m->emu, a->address) : NULL;
    unsigned from = (unsigned)__builtin_ctz(bytes), to = 32 - (unsigned)__builtin_clz(bytes);
    if (in) return alloc_pads(in, a->address - in->address + from);
    for (unsigned size = 2; from > 0 && size <= a->bytes; size *= 2)
        if (to % size == 0 && to - from < size) return true;
    return false;
}

/* Sets what a read found of undefined bytes. They are of the origin that stored them, or of this
** read, where nobody did. */
static void find_undefined(const Access *a, uint32_t bytes) {
    char where[300];
    uint64_t first = a->address + (unsigned)__builtin_ctz(bytes);
    uint32_t origin =
        origin_kept(a->m->emu, place_of(a->m->shadow, a->w, a->lane, a->space, first));
    int kind = EMU_WARN_UNINITIALISED;
    if (origin == ORIGIN_NONE) {
        if (looks_padded(a, bytes)) kind |= ORIGIN_PADS;
        origin = origin_again(a->m, a->w, a->in, kind);
    }
    if (origin == ORIGIN_NONE) {
        mem_describe(a, where, sizeof where);
        origin =
            origin_at(a->m, a->w, a->in, a->lane, kind, "read of %u byte%s that nobody wrote in %s",
                      a->bytes, a->bytes == 1 ? "" : "s", where);
    }
    a->m->undefined.bytes = bytes;
    a->m->undefined.origin = origin;
}

/* The bytes that an access reads and that are undefined, a bit each. What a plain one writes is
** defined from now on. written: a bit for each byte from `at` on; accesses are aligned to these. */
static inline uint32_t undefined_of(const Access *a, uint8_t *written, uint64_t at) {
    uint8_t own = (uint8_t)(a->bytes >= 8 ? 255 : ((1u << a->bytes) - 1) << at % 8);
    uint8_t *bits = &written[at / 8];
    uint32_t undefined = 0;
    if (a->is_write && !(a->order & ORDER_ATOMIC)) {
        for (unsigned k = 0; k < a->bytes; k += 8) bits[k / 8] |= own;
        return 0;
    }
    if (a->bytes <= 8) return (uint32_t)(~*bits & own) >> at % 8;
    for (unsigned k = 0; k < a->bytes; k += 8) undefined |= (uint32_t)(uint8_t)~bits[k / 8] << k;
    return undefined;
}

void shadow_define(Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address,
                   unsigned bytes, uint32_t undefined, uint32_t origin) {
    BlockShadow *here = m->shadow->here;
    uint64_t id = space == PTX_GENERIC ? address >> ID_SHIFT : 0;
    if (id == ID_SHARED) space = PTX_SHARED, address &= OFFSET_MASK;
    if (id == ID_LOCAL) space = PTX_LOCAL, address &= OFFSET_MASK;
    Alloc *a = space == PTX_SHARED || space == PTX_LOCAL ? NULL : alloc_of(m->emu, address);
    for (unsigned k = 0; k < bytes; k++, address++) {
        bool is_defined = !(undefined >> k & 1);
        if (space == PTX_LOCAL) {
            uint32_t *cell = &here->local[w->index][address];
            *cell = is_defined ? *cell | 1u << lane : *cell & ~(1u << lane);
        } else if (space == PTX_SHARED && address < m->shared_bytes) {
            uint8_t *bits = &here->shared_written[address / 8], bit = (uint8_t)(1u << address % 8);
            *bits = is_defined ? *bits | bit : (uint8_t)(*bits & ~bit);
        } else if (a) {
            alloc_define(m->emu, a, address - a->address, is_defined);
        }
        if (!is_defined) origin_keep(m->emu, place_of(m->shadow, w, lane, space, address), origin);
    }
}

uint32_t shadow_local_origin(const Machine *m, const Warp *w, int lane, uint64_t offset) {
    if (m->shadow->here->local[w->index][offset] >> lane & 1) return ORIGIN_NONE;
    return origin_kept(m->emu, place_of(m->shadow, w, lane, PTX_LOCAL, offset));
}

void shadow_local_frame(Machine *m, const Warp *w, uint32_t from, uint32_t to) {
    uint32_t **local = &m->shadow->here->local[w->index];
    uint32_t *cap = &m->shadow->here->local_cap[w->index];
    if (to > *cap) {
        *local = gi_realloc(*local, to * sizeof **local);
        memset(*local + *cap, 0, (to - *cap) * sizeof **local);
        *cap = to;
    }
    for (uint32_t k = from; k < to; k++) (*local)[k] &= ~w->active;
}

/* Words that all lanes have at one offset. */
static bool row_fits(uint32_t *cell, unsigned bytes, uint32_t lanes, bool is_store, bool any) {
    uint32_t all = lanes;
    for (unsigned k = 0; k < bytes; k++) {
        if (is_store) cell[k] |= lanes;
        else all &= cell[k];
    }
    return any || all == lanes;
}

bool shadow_local_fits(const Machine *m, const Warp *w, const MemForm *f, const uint64_t *at) {
    uint32_t *cell = m->shadow->here->local[w->index], frame = w->s.frame[w->frame].local_base;
    bool any = f->is_store || !m->launch->count_uninitialised;
    const Array *array = f->array ? &w->code->arrays[f->array - 1] : NULL;
    uint64_t first = at[__builtin_ctz(w->active)], apart = 0;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint64_t own = at[__builtin_ctz(left)];
        if (array && (own < frame + array->from || own + f->bytes > frame + array->to))
            return false;
        apart |= own ^ first;
    }
    if (apart == 0) return row_fits(cell + first, f->bytes, w->active, f->is_store, any);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (!row_fits(cell + at[i], f->bytes, 1u << i, f->is_store, any)) return false;
    }
    return true;
}

void shadow_local(const Access *a) {
    uint32_t *cell = a->m->shadow->here->local[a->w->index] + a->address;
    uint32_t undefined = 0;
    for (unsigned k = 0; k < a->bytes; k++) {
        if (a->is_write) cell[k] |= 1u << a->lane;
        else undefined |= (uint32_t) !(cell[k] >> a->lane & 1) << k;
    }
    if (undefined && a->m->follows) find_undefined(a, undefined);
}

/* The name that a source has for an array: the last part of a mangled one, as of _ZZ1kPiE1s. */
static const char *name_of(const PtxVar *var) {
    for (const char *p = strchr(var->name, 'E'); p; p = strchr(p + 1, 'E')) {
        char *end;
        unsigned long n = strtoul(p + 1, &end, 10);
        if (end > p + 1 && n > 0 && n == strlen(end)) return end;
    }
    return var->name;
}

void shadow_array(const Access *a, const Array *array) {
    char what[200], where[40];
    bool is_shared = a->space == PTX_SHARED;
    uint64_t frame = is_shared ? 0 : a->w->s.frame[a->w->frame].local_base;
    uint64_t from = frame + array->from, to = frame + array->to;
    if (a->address >= from && a->address + a->bytes <= to) return;
    int64_t at = (int32_t)(a->address - from); /* addresses of 32 bits go round */
    snprintf(where, sizeof where, at < 0 ? "%" PRId64 " bytes before" : "at byte %" PRId64 " of",
             at < 0 ? -at : at);
    if (is_shared) snprintf(what, sizeof what, "shared array '%.150s' of", name_of(array->var));
    else snprintf(what, sizeof what, "a local array of at most");
    fault_note(a->m, a->w, a->in, a->lane,
               is_shared ? EMU_WARN_SHARED_OVERRUN : EMU_WARN_LOCAL_OVERRUN,
               "%s of %u byte%s %s %s %llu bytes", a->is_write ? "write" : "read", a->bytes,
               a->bytes == 1 ? "" : "s", where, what, (unsigned long long)(to - from));
}

/* --- accesses --- */

/* Of a word that hands over; shared memory is another one in each block. */
static uint64_t place_key(const Access *a, const uint8_t *memory, unsigned k) {
    uint64_t word = a->space == PTX_SHARED ? a->address : (uint64_t)(uintptr_t)memory;
    word = (word + k) & ~(uint64_t)3;
    if (a->space != PTX_SHARED) return word;
    return (number_of(a->m, cluster_block(a->m, a->address)) + 1) << 32 | cluster_offset(word) | 1;
}

/* A strong access. An atomic takes first and then gives, so that what is handed on goes through it.
** Bytes of one word hand over together. */
static void hand_over(const Access *a, Shadow *s, int thread, const uint8_t *memory) {
    BlockOrder *b = &s->here->order;
    bool atomic = a->order & ORDER_ATOMIC;
    Scope scope = scope_of(a->order);
    bool reads = !a->is_write || atomic, replaces = !atomic && a->bytes >= 4;
    if (a->order & ORDER_RELEASE) order_release(b, thread, s->time, scope);
    for (unsigned k = 0; k < a->bytes; k += 4) {
        uint64_t key = place_key(a, memory, k);
        if (reads) order_take(b, &s->handovers, key, thread, scope, a->order & ORDER_SWAP);
        if (a->is_write) order_give(b, &s->handovers, key, thread, scope, replaces);
        if (!reads && scope == FENCE_GPU && a->space != PTX_SHARED)
            order_give_reads(b, &s->handovers, key, s->time);
    }
}

static uint64_t word_at(const Access *a, const uint8_t *bytes) {
    uint64_t word = 0;
    memcpy(&word, bytes, a->bytes < 8 ? a->bytes : 8);
    return word;
}

/* Is it an atomic, or a strong load, while no thread has fenced, knows of others or has a lock? */
static inline bool hands_nothing_over(const Access *a, const Shadow *s) {
    const BlockOrder *b = &s->here->order;
    bool stores = a->is_write && !(a->order & ORDER_ATOMIC);
    if (stores || a->order & (ORDER_RELEASE | ORDER_ACQUIRE | ORDER_SWAP)) return false;
    return s->handovers.n == 0 && !b->any_fence && !b->any_known && b->holds[a->w->index] == 0;
}

/* A strong access: a lock may be taken by it, or given back. */
static void order_strong(const Access *a, Shadow *s, int thread, const uint8_t *memory,
                         const uint8_t *value) {
    BlockOrder *b = &s->here->order;
    bool changes = value && memcmp(value, memory, a->bytes) != 0;
    Scope scope = scope_of(a->order);
    uint64_t key = place_key(a, memory, 0);
    if (hands_nothing_over(a, s)) return;
    hand_over(a, s, thread, memory);
    if (changes && !(a->order & ORDER_SWAP))
        lock_give(b, &s->handovers, key, thread, s->time, word_at(a, value));
    if (changes && a->order & ORDER_SWAP)
        lock_take(b, &s->handovers, key, thread, s->time, word_at(a, memory));
    if (!(a->order & ORDER_ACQUIRE)) return;
    order_acquire(b, thread, scope);
    lock_fence(b, thread, s->time, scope);
}

static Touch touch_of(const Access *a, const Shadow *s) {
    const InsPlace *at = &a->w->code->place[a->in - a->w->code->ins];
    return (Touch){.time = s->time,
                   .block = s->here->order.block,
                   .epoch = s->here->order.epoch,
                   .lane_epoch = s->here->order.met[a->w->index][a->lane][a->lane] + 1,
                   .thread = (uint16_t)(a->w->index * LANES + a->lane),
                   .order = a->order,
                   .ptx_line = at->ptx_line,
                   .src_line = at->src_line};
}

static inline void note_used(const Access *a, const Alloc *in, uint64_t at) {
    for (unsigned k = 0; k < a->bytes; k++) {
        uint8_t bit = (uint8_t)(1u << (at + k) % 8);
        if (!a->is_write || a->order & ORDER_ATOMIC) in->used[0][(at + k) / 8] |= bit;
        if (a->is_write) in->used[1][(at + k) / 8] |= bit;
    }
}

void shadow_access(const Access *a, const Alloc *in, const uint8_t *memory, const void *value) {
    Shadow *s = a->m->shadow;
    uint64_t at = in ? a->address - in->address : cluster_offset(a->address);
    const Block *owner = in ? NULL : cluster_block(a->m, a->address);
    const BlockShadow *of = owner && owner != a->m->block ? shadow_of(a->m, owner) : s->here;
    if (in && in->used[0]) note_used(a, in, at);
    uint8_t *written = in ? in->written : of->shared_written;
    bool is_ahead = a->order & ORDER_AHEAD; /* they are written when it arrives */
    uint32_t undefined = written && !is_ahead ? undefined_of(a, written, at) : 0;
    if (undefined) find_undefined(a, undefined);
    if (s->here->shared == NULL) return;
    int thread = a->w->index * LANES + a->lane;
    if (owner && a->m->n_bulk) bulk_look(a, owner, at);
    if (owner && a->m->has_groups && a->is_write) groups_look(a, owner, at);
    if (owner == a->m->block && is_coming(of, at, a->bytes)) copies_look(a, at);
    if (a->order & ORDER_STRONG) order_strong(a, s, thread, memory, value);
    Cells *cells = in ? in->cells : of->shared;
    if (cells == NULL) return;
    Touch now = touch_of(a, s);
    race_check(a, &s->here->order, cells, at + (in ? in->cells_at : 0), &now, memory, value);
}

void shadow_texel(const Access *a, Alloc *in) {
    uint64_t at = a->address - in->address;
    bool defines = a->is_write && !(a->order & ORDER_ATOMIC);
    uint32_t undefined = 0;
    a->m->undefined.bytes = 0;
    if (in->used[0]) note_used(a, in, at);
    for (unsigned k = 0; in->unwritten && k < a->bytes; k++) { /* aligned to its row alone */
        uint8_t bit = (uint8_t)(1u << (at + k) % 8), *bits = &in->written[(at + k) / 8];
        if (defines) *bits |= bit;
        else undefined |= (uint32_t) !(*bits & bit) << k;
    }
    if (undefined && a->m->follows) find_undefined(a, undefined);
}

bool shadow_writer(const Machine *m, const Block *b, PtxSpace space, uint64_t address,
                   uint32_t *block, int *thread) {
    const Alloc *in = NULL;
    const BlockShadow *of = shadow_of(m, b);
    const Cells *cells = NULL;
    if (space == PTX_GENERIC && address >> ID_SHIFT == ID_SHARED) space = PTX_SHARED;
    if (space != PTX_SHARED) in = alloc_of(m->emu, address);
    if (in) cells = in->cells, address += in->cells_at - in->address;
    if (of && space == PTX_SHARED) cells = of->shared;
    return cells && race_writer(cells, address & OFFSET_MASK, block, thread);
}

/* Are all bytes defined that the lanes of a plain access read? What they write is, from now on. */
static bool are_defined(const Access *a, uint8_t *written, const uint64_t *at) {
    uint32_t undefined = 0;
    for (uint32_t left = a->w->active; left; left &= left - 1)
        undefined |= undefined_of(a, written, at[__builtin_ctz(left)]);
    return undefined == 0;
}

static void note_all_used(const Access *a, const Alloc *in, const uint64_t *at) {
    for (uint32_t left = a->w->active; left; left &= left - 1)
        note_used(a, in, at[__builtin_ctz(left)]);
}

bool shadow_fits(const Access *a, const Alloc *in, const uint64_t *at, const uint8_t *memory,
                 const uint8_t *values) {
    Shadow *s = a->m->shadow;
    uint8_t *written = in ? in->written : s->here->shared_written;
    if (in && in->used[0]) note_all_used(a, in, at);
    if (written && !are_defined(a, written, at)) return false;
    Cells *cells = in ? in->cells : s->here->shared;
    if (s->here->shared == NULL || cells == NULL) return true;
    if (in == NULL && (a->m->n_bulk || a->m->has_groups || s->here->n_coming)) return false;
    if (s->here->order.doubts[a->w->index]) return false;
    return race_is_none(a, &s->here->order, cells, in ? in->cells_at : 0, at, touch_of(a, s),
                        memory, values);
}
