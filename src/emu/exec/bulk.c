/* bulk.c - bulk copies between global memory and shared memory of a cluster's blocks, and stores
** that complete on an mbarrier (st.async, red.async).
**
** A copy into shared memory reads its source when it is issued, and fills its target with ones. The
** bytes arrive, and complete on their mbarrier, when somebody waits there (mbarrier.c). A copy out
** of shared memory reads and writes when its thread waits for its group, or the warp ends: so what
** is written over too early is what arrives.
**
** Checks report a thread that touches bytes which a copy still writes, or writes bytes which one
** still reads. They also report a copy of bytes that a thread wrote with no fence.proxy.async since
** (shadow.c).
*/
#include "emu/exec/bulk.h"
#include "emu/exact/exact.h"
#include "emu/check/undefined.h"
#include "emu/exec/lanes.h"
#include "emu/view.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the list --- */

static Bulk *bulk_new(Machine *m, Bulk c) {
    gi_grow(m->bulk, m->n_bulk, m->cap_bulk);
    m->bulk[m->n_bulk] = c;
    return &m->bulk[m->n_bulk++];
}

/* Takes copy k out of the list. */
static Bulk taken(Machine *m, int k) {
    Bulk c = m->bulk[k];
    memmove(&m->bulk[k], &m->bulk[k + 1], (size_t)(--m->n_bulk - k) * sizeof c);
    return c;
}

static void forget(Bulk *c) {
    free(c->data);
    free(c->cargo);
    free(c->map);
    c->data = NULL;
    c->cargo = NULL;
    c->map = NULL;
}

void bulk_free(Machine *m) {
    for (int i = 0; i < m->n_bulk; i++) forget(&m->bulk[i]);
    free(m->bulk);
}

/* --- shared memory of a copy --- */

/* An address of the block's memory, as the running block has it. */
static uint64_t address_of(const Machine *m, const Block *b, uint64_t at) {
    return b == m->block ? at : CLUSTER_AT + (uint64_t)b->rank * CLUSTER_STEP + at;
}

static bool misplaced(const Machine *m, uint64_t at, unsigned align, uint64_t bytes) {
    return at % align || bytes % CHUNK || bytes > m->shared_bytes || at > m->shared_bytes - bytes;
}

/* Is [at, at + bytes) inside a block's shared memory, and aligned? */
static bool bulk_range(Machine *m, const Bulk *c, uint64_t at, unsigned align) {
    if (!misplaced(m, at, align, c->bytes)) return true;
    bool aligned = at % align == 0 && c->bytes % CHUNK == 0;
    return fault_raise(m, c->w, c->in, c->lane, aligned ? EMU_ILLEGAL_ADDRESS : EMU_MISALIGNED,
                       aligned ? "%s of %u bytes at offset 0x%llx of shared memory, which has %u "
                                 "bytes"
                               : "%s of %u bytes at offset 0x%llx of shared memory: both are "
                                 "multiples of 16, and a box begins at a multiple of %u",
                       c->form->tensor ? "a box" : "a bulk copy", c->bytes, (unsigned long long)at,
                       aligned ? m->shared_bytes : align);
}

/* What a write of a copy's is to other threads: each element of a reduction is an atomic. */
static uint16_t order_of(const Bulk *c) {
    return c->form->reduces ? ORDER_AHEAD | ORDER_STRONG | ORDER_ATOMIC | ORDER_BLIND : ORDER_AHEAD;
}

/* Tells the checks that the issuing thread writes there. */
static bool look_at(Machine *m, const Bulk *c, const Block *b, uint64_t at) {
    for (uint32_t k = 0; m->shadow && k < c->bytes; k += CHUNK) {
        uint64_t to = bulk_swizzle(at + k, c->swizzle);
        Access a = {m,     c->w, c->in,      c->lane, PTX_SHARED, address_of(m, b, to),
                    CHUNK, true, order_of(c)};
        if (to + CHUNK <= m->shared_bytes && !mem_look_at(&a, b->shared + to, NULL)) return false;
    }
    return true;
}

/* Who sees the object's phase over sees what its copies brought. */
static bool hand_over(Machine *m, const Bulk *c) {
    uint64_t other = ~(uint64_t)0;
    Access a = {m,       c->w,       c->in,
                c->lane, PTX_SHARED, address_of(m, c->block, c->object),
                8,       true,       ORDER_STRONG | ORDER_ATOMIC | ORDER_BLIND | ORDER_RELEASE};
    return mem_look_at(&a, c->block->shared + c->object, &other);
}

/* --- issue --- */

/* The object is there; nobody can rely on the target from now on. */
static bool begin_load(Machine *m, Bulk *c) {
    if (!bulk_range(m, c, c->at, c->form->tensor ? 128 : CHUNK) ||
        !mbarrier_await(m, c->w, c->in, c->lane, c->block, c->object, 0))
        return false;
    if (!look_at(m, c, c->block, c->at) || !hand_over(m, c)) return false;
    for (uint32_t k = 0; k < c->bytes && !c->form->reduces; k += CHUNK) {
        uint64_t to = bulk_swizzle(c->at + k, c->swizzle);
        if (to + CHUNK > m->shared_bytes) continue;
        memset(c->block->shared + to, 0xff, CHUNK);
        exact_await(&(Access){m, c->w, c->in, c->lane, PTX_SHARED, to, CHUNK, true, 0});
    }
    c->w->moved = true;
    bulk_new(m, *c);
    return true;
}

#define BULK_COPY "an asynchronous copy" /* to the check of proxies */

static bool begin_store(Machine *m, Bulk *c) {
    if (!bulk_range(m, c, c->at, c->form->tensor ? 128 : CHUNK)) return false;
    if (m->shadow && !shadow_proxy(m, c->w, c->in, c->lane, c->at, c->bytes, BULK_COPY))
        return false;
    c->group = c->w->bulk_groups[c->lane];
    bulk_new(m, *c);
    return true;
}

/* Reads the source of a plain copy. */
static bool gather(Machine *m, Bulk *c, PtxSpace space, uint64_t from) {
    if (from % CHUNK || c->bytes % CHUNK)
        return fault_raise(m, c->w, c->in, c->lane, EMU_MISALIGNED,
                           "a bulk copy of %u bytes from 0x%llx: both are multiples of 16",
                           c->bytes, (unsigned long long)from);
    for (uint32_t k = 0; k < c->bytes; k += CHUNK) {
        Access a = {m, c->w, c->in, c->lane, space, from + k, CHUNK, false, 0};
        if (!mem_read(a, c->data + k)) return false;
        exact_gather(&a, c->cargo, k);
    }
    const Alloc *in = space == PTX_GLOBAL && c->bytes ? alloc_of(m->emu, from) : NULL;
    if (in) cost_range(m, c->w, alloc_place(in, from), c->bytes, COST_KIND_STORE);
    return true;
}

static bool load_lane(Machine *m, Bulk *c, const BulkForm *f, int lane) {
    uint64_t from = lane_word(c->w, f->from, f->wide_from, lane);
    EmuTensorMap map;
    int32_t coord[5] = {0};
    uint16_t offset[3] = {0};
    bool fine;
    if (f->tensor) {
        if (!tensor_map(m, c->w, c->in, lane, from, &map)) return false;
        for (int k = 0; k < f->dims; k++) coord[k] = LANE(S32, c->w, f->coord[k], lane);
        for (int k = 0; k < f->n_offsets; k++)
            offset[k] = (uint16_t)LANE(U32, c->w, f->offset[k], lane);
        c->bytes = tensor_bytes(&map);
        if (c->bytes > m->shared_bytes) return bulk_range(m, c, c->at, CHUNK);
        c->map = gi_alloc(sizeof map);
        *c->map = map;
        c->swizzle = map.swizzle;
        c->data = gi_alloc(c->bytes + 1);
        c->cargo = exact_cargo(m, c->bytes);
        fine = tensor_gather(m, c, coord, offset);
    } else {
        c->bytes = LANE(U32, c->w, f->size, lane);
        if (c->bytes > m->shared_bytes) return bulk_range(m, c, c->at, CHUNK);
        c->data = gi_alloc(c->bytes + 1);
        c->cargo = exact_cargo(m, c->bytes);
        bool shared = f->way == BULK_SHARED_SHARED;
        if (shared) c->source = from;
        if (shared && m->shadow && c->bytes % CHUNK == 0 && from + c->bytes <= m->shared_bytes &&
            !shadow_proxy(m, c->w, c->in, lane, from, c->bytes, BULK_COPY))
            return false;
        fine = gather(m, c, shared ? PTX_SHARED : PTX_GLOBAL, from);
    }
    return fine;
}

static bool registers_lane(const Machine *m, Bulk *c, const BulkForm *f, int lane) {
    const Frame *frame = &c->w->s.frame[c->w->frame];
    c->bytes = (uint32_t)f->n_values * f->value_bytes;
    c->data = gi_alloc(CHUNK);
    c->cargo = exact_cargo(m, c->bytes);
    for (uint32_t k = 0, words = f->value_bytes / 4; c->cargo && k < c->bytes / 4; k++)
        c->cargo[k] = exact_get(frame, f->value[k / words], lane, k % words);
    for (int k = 0; k < f->n_values; k++) {
        uint64_t v = lane_word(c->w, f->value[k], f->value_bytes == 8, lane);
        memcpy(c->data + k * f->value_bytes, &v, f->value_bytes);
    }
    return true;
}

/* A copy of c for another block, with data of its own. */
static Bulk copy_for(const Machine *m, const Bulk *c, Block *b) {
    Bulk other = *c;
    other.block = b;
    other.data = gi_alloc(c->bytes + 1);
    memcpy(other.data, c->data, c->bytes);
    other.cargo = exact_cargo(m, c->bytes);
    if (c->cargo) memcpy(other.cargo, c->cargo, c->bytes / 4 * sizeof *c->cargo);
    other.map = NULL;
    return other;
}

/* The same to each block of the mask, at the same places. */
static bool multicast(Machine *m, Bulk *c, uint32_t mask) {
    bool fine = true;
    for (unsigned rank = 0; rank < 16 && fine; rank++) {
        if (!(mask >> rank & 1)) continue;
        uint64_t address = CLUSTER_AT + (uint64_t)rank * CLUSTER_STEP;
        Block *b = cluster_block_or_fault(m, c->w, c->in, c->lane, address);
        if (b == NULL) return false;
        Bulk one = copy_for(m, c, b);
        fine = begin_load(m, &one);
        if (!fine) forget(&one);
    }
    return fine;
}

static uint64_t shared_address(const Warp *w, uint32_t row, bool wide, int lane) {
    uint64_t at = lane_word(w, row, wide, lane);
    return at >> ID_SHIFT == ID_SHARED ? at & OFFSET_MASK : at;
}

/* st.async and red.async: of any block of the cluster, of 4, 8 or 16 bytes. */
static bool begin_registers(Machine *m, Bulk *c) {
    Access a = {m,        c->w, c->in,      c->lane, PTX_SHARED, address_of(m, c->block, c->at),
                c->bytes, true, order_of(c)};
    uint8_t *p = mem_atomic(&a);
    if (p == NULL || !mbarrier_await(m, c->w, c->in, c->lane, c->block, c->object, 0)) return false;
    if (!mem_look_at(&a, p, NULL) || !hand_over(m, c)) return false;
    if (!c->form->reduces) {
        memset(p, 0xff, c->bytes);
        exact_await(&a);
    }
    c->w->moved = true;
    bulk_new(m, *c);
    return true;
}

static bool into_shared(Machine *m, Bulk *c, const BulkForm *f, int lane) {
    uint64_t to = shared_address(c->w, f->to, f->wide_to, lane);
    uint64_t object = shared_address(c->w, f->object, f->wide_object, lane);
    c->block = cluster_block_or_fault(m, c->w, c->in, lane, to);
    if (c->block == NULL) return false;
    c->at = cluster_offset(to);
    c->object = cluster_offset(object);
    if (cluster_block(m, object) != c->block && !f->multicast)
        return fault_raise(m, c->w, c->in, lane, EMU_ILLEGAL_ADDRESS,
                           "a bulk copy completes on an mbarrier of the block that it writes to");
    bool fine = f->way == BULK_STORE ? registers_lane(m, c, f, lane) : load_lane(m, c, f, lane);
    if (!fine) return false;
    c->clock = warp_clock(c->w, c->in) + m->model->latency_l2 + c->bytes / 64.0;
    if (f->way == BULK_STORE) return begin_registers(m, c);
    if (!f->multicast) return begin_load(m, c);
    bool all = multicast(m, c, LANE(U32, c->w, f->mask, lane) & 0xffff);
    forget(c);
    return all;
}

static bool out_of_shared(Machine *m, Bulk *c, const BulkForm *f, int lane) {
    EmuTensorMap map;
    c->is_store = true;
    c->block = m->block;
    c->at = shared_address(c->w, f->from, f->wide_from, lane);
    c->global = lane_word(c->w, f->to, true, lane);
    if (f->tensor) {
        if (!tensor_map(m, c->w, c->in, lane, c->global, &map)) return false;
        if (f->reduces && !tensor_reduces(&map, (AtomOp)f->op))
            return fault_raise(m, c->w, c->in, lane, EMU_LAUNCH_ERROR,
                               "a reduction that the tensor's elements do not have");
        c->map = gi_alloc(sizeof map);
        *c->map = map;
        c->bytes = tensor_bytes(&map);
        c->swizzle = map.swizzle;
        for (int k = 0; k < f->dims; k++) c->coord[k] = LANE(S32, c->w, f->coord[k], lane);
    } else {
        c->bytes = LANE(U32, c->w, f->size, lane);
        if (c->global % CHUNK)
            return fault_raise(m, c->w, c->in, lane, EMU_MISALIGNED,
                               "a bulk copy to 0x%llx, which is no multiple of 16",
                               (unsigned long long)c->global);
    }
    c->clock = warp_clock(c->w, c->in) + m->model->latency_l2 + c->bytes / 64.0;
    return begin_store(m, c);
}

bool bulk_issue(Machine *m, Warp *w, const Ins *in) {
    const BulkForm *f = &w->code->bulk[in->imm];
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        Bulk c = {.issuer = m->block,
                  .w = w,
                  .lane = i,
                  .in = in,
                  .code = w->code,
                  .form = f,
                  .source = UINT64_MAX};
        bool fine =
            f->way == BULK_SHARED_GLOBAL ? out_of_shared(m, &c, f, i) : into_shared(m, &c, f, i);
        if (fine) continue;
        forget(&c);
        if (m->ended) return false;
    }
    return true;
}

/* --- arrival --- */

static void reduce(AtomOp op, PtxType type, uint8_t *to, const uint8_t *from, unsigned bytes,
                   bool shared) {
    unsigned size = (unsigned)ptx_type_size(type);
    for (unsigned k = 0; k < bytes; k += size) {
        uint64_t old = 0, b = 0;
        memcpy(&old, to + k, size);
        memcpy(&b, from + k, size);
        uint64_t now = atom_value(op, type, old, b, 0, shared);
        memcpy(to + k, &now, size);
    }
}

static void land(Machine *m, const Bulk *c) {
    for (uint32_t k = 0; k < c->bytes; k += CHUNK) {
        uint64_t to = bulk_swizzle(c->at + k, c->swizzle);
        uint32_t n = c->bytes - k < CHUNK ? c->bytes - k : CHUNK;
        if (to + n > m->shared_bytes) continue;
        if (c->form->reduces)
            reduce((AtomOp)c->form->op, (PtxType)c->form->type, c->block->shared + to, c->data + k,
                   n, true);
        else memcpy(c->block->shared + to, c->data + k, n);
        exact_scatter(&(Access){m, c->w, c->in, c->lane, PTX_SHARED, to, n, true, 0}, c->cargo, k);
        if (m->shadow) shadow_landed(m, c->block, to, n);
    }
}

bool bulk_arrive(Machine *m, Block *b, uint64_t at, bool *found) {
    int k = 0;
    while (k < m->n_bulk &&
           (m->bulk[k].is_store || m->bulk[k].block != b || m->bulk[k].object != at))
        k++;
    *found = k < m->n_bulk;
    if (!*found) return true;
    Bulk c = taken(m, k);
    Code *running = c.w->code;
    land(m, &c);
    c.w->code = c.code; /* whose line a fault is of */
    bool fine = mbarrier_complete(m, c.w, c.in, c.lane, b, at, c.bytes, c.clock);
    c.w->code = running;
    forget(&c);
    return fine;
}

bool bulk_put(Machine *m, const Bulk *c, uint64_t global, const uint8_t *from, unsigned bytes,
              PtxType type) {
    uint8_t now[8];
    Access a = {m, c->w, c->in, c->lane, PTX_GLOBAL, global, bytes, true, 0};
    if (!c->form->reduces) return mem_write(a, from);
    unsigned size = (unsigned)ptx_type_size(type);
    for (unsigned k = 0; k < bytes; k += size) { /* each is an atomic of its own */
        Access one = {m,       c->w,       c->in,
                      c->lane, PTX_GLOBAL, global + k,
                      size,    true,       ORDER_ATOMIC | ORDER_STRONG | ORDER_BLIND};
        uint8_t *p = mem_atomic(&one);
        if (p == NULL) return false;
        memcpy(now, p, size);
        reduce((AtomOp)c->form->op, type, now, from + k, size, false);
        if (!mem_look_at(&one, p, now)) return false;
        memcpy(p, now, size);
    }
    return true;
}

static bool scatter(Machine *m, Bulk *c) {
    c->cargo = exact_cargo(m, c->bytes);
    exact_gather(&(Access){m, c->w, c->in, c->lane, PTX_SHARED, c->at, c->bytes, false, 0},
                 c->cargo, 0);
    for (uint32_t k = 0; k < c->bytes; k += CHUNK)
        if (!bulk_put(m, c, c->global + k, c->block->shared + c->at + k, CHUNK,
                      (PtxType)c->form->type))
            return false;
    exact_scatter(&(Access){m, c->w, c->in, c->lane, PTX_GLOBAL, c->global, c->bytes, true, 0},
                  c->cargo, 0);
    const Alloc *in = c->bytes ? alloc_of(m->emu, c->global) : NULL;
    if (in) cost_range(m, c->w, alloc_place(in, c->global), c->bytes, COST_KIND_STORE);
    return true;
}

/* Does store k of the list. */
static bool finish(Machine *m, int k) {
    Bulk c = taken(m, k);
    Code *running = c.w->code;
    c.w->code = c.code;
    c.w->moved = true;
    bool fine = c.map ? tensor_scatter(m, &c) : scatter(m, &c);
    c.w->code = running;
    if (c.clock > c.w->clock) c.w->clock = c.clock;
    forget(&c);
    return fine || !m->ended;
}

bool bulk_commit(Machine *m, Warp *w, const Ins *in) {
    (void)m, (void)in;
    FOR_ACTIVE(w, i) w->bulk_groups[i]++;
    return true;
}

/* imm: groups that may stay pending. */
bool bulk_wait(Machine *m, Warp *w, const Ins *in) {
    for (int k = 0; k < m->n_bulk;) {
        const Bulk *c = &m->bulk[k];
        bool is_due = c->is_store && c->w == w && w->active >> c->lane & 1 &&
                      c->group + in->imm < w->bulk_groups[c->lane];
        if (!is_due) k++;
        else if (!finish(m, k)) return false;
    }
    return true;
}

bool bulk_warp_ended(Machine *m, Warp *w) {
    for (int k = 0; k < m->n_bulk;) {
        if (!m->bulk[k].is_store || m->bulk[k].w != w) k++;
        else if (!finish(m, k)) return false;
    }
    return true;
}

void bulk_block_ended(Machine *m) {
    for (int k = m->n_bulk - 1; k >= 0; k--) {
        if (m->bulk[k].issuer == m->block) m->bulk[k].source = UINT64_MAX;
        if (m->bulk[k].block != m->block) continue;
        Bulk c = taken(m, k);
        forget(&c);
    }
}

/* --- checks --- */

static bool meets(uint64_t a, uint64_t n, uint64_t b, uint64_t k) {
    return a < b + k && b < a + n;
}

void bulk_tell(const Access *a, const Code *code, const Ins *copy, const char *name,
               const char *what) {
    const InsPlace *at = &code->place[copy - code->ins];
    char where[300], line[40] = "";
    if (fault_is_known(a->m, a->w, a->in, EMU_RACE)) return;
    mem_describe(a, where, sizeof where);
    if (at->src_line) snprintf(line, sizeof line, ", source line %d", at->src_line);
    fault_access(a->m, a->w, a->in, a->lane, EMU_RACE, "%s in %s that the %s of PTX line %d%s %s",
                 a->is_write ? "write" : "read", where, name, at->ptx_line, line, what);
}

void bulk_look(const Access *a, const Block *b, uint64_t at) {
    for (int k = 0; k < a->m->n_bulk; k++) {
        const Bulk *c = &a->m->bulk[k];
        bool writes = !c->is_store && c->block == b && meets(at, a->bytes, c->at, c->bytes);
        bool reads = c->is_store ? c->block == b && meets(at, a->bytes, c->at, c->bytes)
                                 : c->source != UINT64_MAX && c->issuer == b &&
                                       meets(at, a->bytes, c->source, c->bytes);
        if (writes && !(c->form->reduces && a->order & ORDER_AHEAD))
            bulk_tell(a, c->code, c->in, "copy",
                      "still brings: the phase of its mbarrier is waited for first");
        else if (reads && a->is_write)
            bulk_tell(a, c->code, c->in, "copy",
                      c->is_store ? "still reads: cp.async.bulk.wait_group.read comes first"
                                  : "still reads: the phase of its mbarrier is waited for first");
        else continue;
        return;
    }
}
