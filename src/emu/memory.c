/* memory.c - every access the fast paths of exec_mem.h leave over: lane by lane, each checked for
** bounds, alignment and permission, in lane order. */
#include "emu/decode/bounds.h"
#include "emu/exec/async.h"
#include "emu/exec/lanes.h"
#include "emu/check/undefined.h"
#include "emu/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- faults of an access --- */

static const char *space_name(PtxSpace space) {
    switch (space) {
    case PTX_SHARED: return "shared";
    case PTX_LOCAL: return "local";
    case PTX_CONST: return "constant";
    case PTX_PARAM: return "parameter";
    case PTX_GLOBAL: return "global";
    default: return "generic";
    }
}

static bool raise_access(const Access *a, EmuStatus status, const char *what, const char *where) {
    return fault_access(a->m, a->w, a->in, a->lane, status, "%s %s of %u byte%s in %s memory at %s",
                       what, a->is_write ? "write" : "read", a->bytes, a->bytes == 1 ? "" : "s",
                       space_name(a->space), where);
}

/* "byte 400 of 'out' (400 bytes)", or by how much it misses a neighbour. Of an address in memory
** that is known the number is left out: it depends on what was loaded before, and says nothing
** more. */
static void describe_global(const Access *a, char *out, size_t cap) {
    const Alloc *in = alloc_near(a->m->emu, a->address);
    if (in == NULL) {
        uint64_t id = a->address >> ID_SHIFT, before = OFFSET_MASK + 1 - (a->address & OFFSET_MASK);
        bool host = id < HOST_IDS, shared = id + 1 == ID_SHARED && before <= a->m->shared_bytes;
        if (shared)
            snprintf(out, cap, "%llu bytes before shared memory", (unsigned long long)before);
        else
            snprintf(out, cap, "address 0x%llx (no allocation%s)", (unsigned long long)a->address,
                     a->address < 4096 ? ", a null pointer"
                     : host            ? ", perhaps memory of the host"
                                       : "");
        return;
    }
    long long at = (long long)(a->address - in->address);
    int n = snprintf(
        out, cap, at < 0 ? "%lld bytes before '%s' (%llu bytes" : "byte %lld of '%s' (%llu bytes",
        at < 0 ? -at : at, in->label, (unsigned long long)in->size);
    if (!in->exists && n > 0 && (size_t)n < cap)
        n += snprintf(out + n, cap - (size_t)n, ", freed%s%s", in->freed_by ? " by " : "",
                      in->freed_by ? in->freed_by : "");
    if (n > 0 && (size_t)n < cap) snprintf(out + n, cap - (size_t)n, ")");
}

void mem_describe(const Access *a, char *out, size_t cap) {
    int n = snprintf(out, cap, "%s memory at ", space_name(a->space));
    if (a->space == PTX_SHARED && cluster_names(a->address))
        snprintf(out + n, cap - (size_t)n, "offset 0x%llx of block %llu of the cluster",
                 (unsigned long long)cluster_offset(a->address),
                 (unsigned long long)(a->address - CLUSTER_AT) / CLUSTER_STEP);
    else if (a->space == PTX_SHARED || a->space == PTX_LOCAL)
        snprintf(out + n, cap - (size_t)n, "offset 0x%llx", (unsigned long long)a->address);
    else describe_global(a, out + n, cap - (size_t)n);
}

static bool raise_bounds(const Access *a, uint64_t size) {
    char where[160];
    int32_t at = (int32_t)(uint32_t)a->address; /* addresses of 32 bits go round */
    if (a->space == PTX_SHARED && at < 0 && (int64_t)at >= -(int64_t)size)
        snprintf(where, sizeof where, "%d bytes before the first of %llu", -at,
                 (unsigned long long)size);
    else
        snprintf(where, sizeof where, "offset 0x%llx (%llu bytes%s)",
                 (unsigned long long)a->address, (unsigned long long)size,
                 a->space == PTX_LOCAL ? " a thread" : "");
    return raise_access(a, EMU_ILLEGAL_ADDRESS, "out-of-bounds", where);
}

static bool raise_misaligned(const Access *a) {
    char where[300];
    if (a->space == PTX_GLOBAL || a->space == PTX_GENERIC || a->space == PTX_CONST)
        describe_global(a, where, sizeof where);
    else snprintf(where, sizeof where, "offset 0x%llx", (unsigned long long)a->address);
    return raise_access(a, EMU_MISALIGNED, "misaligned", where);
}

/* --- one lane --- */

static bool inside(uint64_t offset, unsigned bytes, uint64_t size) {
    return size >= bytes && offset <= size - bytes;
}

/* Turns a generic address into a space and an offset in it; allocations stay as they are. */
static void resolve_generic(Access *a) {
    if (a->space != PTX_GENERIC) return;
    uint64_t id = a->address >> ID_SHIFT;
    if (id == ID_SHARED) a->space = PTX_SHARED;
    else if (id == ID_LOCAL) a->space = PTX_LOCAL;
    else if (id == ID_PARAM) a->space = PTX_PARAM;
    else return;
    a->address &= OFFSET_MASK;
}

void mem_describe_at(Machine *m, PtxSpace space, uint64_t address, char *out, size_t cap) {
    Access a = {.m = m, .space = space, .address = address};
    resolve_generic(&a);
    if (a.space == PTX_GENERIC) a.space = PTX_GLOBAL;
    mem_describe(&a, out, cap);
}

static bool check_window(const Access *a, uint64_t size) {
    if (!inside(a->address, a->bytes, size)) return raise_bounds(a, size);
    if (a->address & (a->bytes - 1)) return raise_misaligned(a);
    return true;
}

static uint8_t *global_at(const Access *a) {
    char where[300];
    const Emu *e = a->m->emu;
    Alloc *in = alloc_of(e, a->address);
    uint64_t offset = in ? a->address - in->address : 0;
    const char *wrong = NULL;
    const Alloc *near = in ? NULL : alloc_near(e, a->address);
    if (near && a->address >= near->address && !near->exists) wrong = "use-after-free";
    else if (in == NULL || !inside(offset, a->bytes, in->size)) wrong = "out-of-bounds";
    else if (a->is_write && in->is_const) wrong = "constant memory:";
    else if (a->is_write && in->read_only) wrong = "read-only memory:";
    else if (a->space == PTX_CONST && !in->is_const) wrong = "not constant memory:";
    if (wrong) {
        describe_global(a, where, sizeof where);
        raise_access(a, EMU_ILLEGAL_ADDRESS, wrong, where);
        return NULL;
    }
    if (a->address & (a->bytes - 1)) {
        raise_misaligned(a);
        return NULL;
    }
    if (a->m->view == NULL) return in->data + offset;
    if (!a->is_write) view_read(a->m, in, offset, a->bytes);
    uint8_t *data = view_bytes(a->m, in, offset, a->bytes, a->is_write);
    return data ? data + offset : NULL;
}

static uint8_t *param_at(const Access *a) {
    if (a->is_write) {
        raise_bounds(a, a->m->param_bytes);
        return NULL;
    }
    return check_window(a, a->m->param_bytes) ? (uint8_t *)(uintptr_t)a->m->params + a->address
                                              : NULL;
}

/* The system's shared memory. What libraries do there is their own affair: it is not watched. */
static uint8_t *reserved_at(const Access *a) {
    Access inside = *a;
    Block *b = a->m->block;
    inside.address -= RESERVED_AT;
    if (!check_window(&inside, RESERVED_BYTES)) return NULL;
    if (b->reserved == NULL) {
        b->reserved = gi_alloc(RESERVED_BYTES);
        memset(b->reserved, 0xff, RESERVED_BYTES);
    }
    return b->reserved + inside.address;
}

static void note_reach(const Access *a, bool is_read) {
    unsigned how = (is_read ? EMU_READ : 0) | (a->is_write ? EMU_WRITTEN : 0);
    alloc_reach(alloc_of(a->m->emu, a->address), (uint8_t)how);
}

static bool is_reserved(const Access *a) {
    return a->space == PTX_SHARED && a->address - RESERVED_AT < RESERVED_BYTES;
}

/* Shared memory, by an offset or by an address in the cluster. */
static uint8_t *shared_at(const Access *a) {
    Access inside = *a;
    Block *b = cluster_block_or_fault(a->m, a->w, a->in, a->lane, a->address);
    inside.address = cluster_offset(a->address);
    return b && check_window(&inside, a->m->shared_bytes) ? b->shared + inside.address : NULL;
}

/* Host bytes of anything but local memory. */
static uint8_t *host_at(const Access *a, bool is_read) {
    if (a->space == PTX_PARAM) return param_at(a);
    bool is_shared = a->space == PTX_SHARED;
    if (is_reserved(a)) return reserved_at(a);
    if (is_shared) return shared_at(a);
    uint8_t *p = global_at(a);
    if (p) note_reach(a, is_read);
    return p;
}

bool mem_look_at(const Access *a, const uint8_t *p, const void *value) {
    bool is_shared = a->space == PTX_SHARED;
    if (a->m->shadow == NULL || a->space == PTX_PARAM || is_reserved(a)) return true;
    const Alloc *in = is_shared ? NULL : alloc_of(a->m->emu, a->address);
    if (is_shared || in->watched) shadow_access(a, in, p, value);
    return !a->m->ended;
}

uint8_t *mem_atomic(Access *a) {
    resolve_generic(a);
    if (a->m->view && a->space != PTX_LOCAL && a->space != PTX_SHARED) {
        view_leave(a->m, VIEW_UNSUITED);
        return NULL;
    }
    if (a->space != PTX_LOCAL) return host_at(a, true);
    fault_raise(a->m, a->w, a->in, a->lane, EMU_LAUNCH_ERROR, "atomic operation on local memory");
    return NULL;
}

static uint8_t *local_byte(const Warp *w, int lane, uint64_t offset) {
    return w->s.local + offset / 4 * ROW32 + (uint64_t)lane * 4 + offset % 4;
}

static bool local_move(const Access *a, void *out, const void *from) {
    if (!check_window(a, a->w->local_top)) return false;
    if (a->m->shadow) shadow_local(a);
    for (unsigned k = 0; k < a->bytes; k++) {
        uint8_t *cell = local_byte(a->w, a->lane, a->address + k);
        if (a->is_write) *cell = ((const uint8_t *)from)[k];
        else ((uint8_t *)out)[k] = *cell;
    }
    return true;
}

bool mem_read(Access a, void *out) {
    resolve_generic(&a);
    if (a.space == PTX_LOCAL) return local_move(&a, out, NULL);
    const uint8_t *p = host_at(&a, true);
    if (p && !mem_look_at(&a, p, NULL)) p = NULL;
    if (p) memcpy(out, p, a.bytes);
    a.w->looked |= a.space == PTX_GLOBAL || a.space == PTX_GENERIC;
    return p != NULL;
}

bool mem_write(Access a, const void *from) {
    resolve_generic(&a);
    if (a.space == PTX_LOCAL) return local_move(&a, NULL, from);
    uint8_t *p = host_at(&a, false);
    if (p && !mem_look_at(&a, p, from)) p = NULL;
    if (p) memcpy(p, from, a.bytes);
    return p != NULL;
}

bool mem_may_write(Access a) {
    if (is_reserved(&a)) return reserved_at(&a) != NULL;
    return check_window(&a, a.m->shared_bytes);
}

/* --- a warp, lane by lane --- */

static void load_registers(const Warp *w, const MemForm *f, int lane, const uint8_t *p) {
    for (int k = 0; k < f->count; k++, p += f->size)
        register_set(w, f, k, lane, element_read(p, f, k));
}

static void store_registers(const Warp *w, const MemForm *f, int lane, uint8_t *p) {
    for (int k = 0; k < f->count; k++, p += f->size) {
        uint64_t v = register_get(w, f, k, lane);
        memcpy(p, &v, f->size);
    }
}

static void check_array(Access a, const MemForm *f) {
    const Array *array = &a.w->code->arrays[f->array - 1];
    resolve_generic(&a);
    if (a.space == array->var->space) shadow_array(&a, array);
}

static bool one_lane(Machine *m, Warp *w, const Ins *in, const MemForm *f, int lane,
                     uint64_t address) {
    uint8_t bytes[32];
    unsigned n = (unsigned)f->size * f->count;
    Access a = {m, w, in, lane, (PtxSpace)f->space, address, n, f->is_store, f->order};
    if (m->shadow && f->array) check_array(a, f);
    if (f->is_store) {
        w->moved = true;
        store_registers(w, f, lane, bytes);
        if (!mem_write(a, bytes)) return false;
        if (m->follows) undefined_stored(m, w, f, lane, a.space, address);
        return true;
    }
    m->undefined.bytes = 0;
    if (!mem_read(a, bytes)) return false;
    load_registers(w, f, lane, bytes);
    if (m->undefined.bytes) undefined_loaded(m, w, f, lane);
    return true;
}

/* Parameters of functions are per lane, at offsets that bound_place has checked. */
static void function_param(const Warp *w, const MemForm *f, int lane) {
    const Frame *frame = &w->s.frame[w->frame];
    uint8_t *p = frame->params + (size_t)lane * frame->code->param_bytes + f->offset;
    if (f->is_store) store_registers(w, f, lane, p);
    else load_registers(w, f, lane, p);
}

/* Cost of an access whose lanes went different ways. */
static void charge(Machine *m, Warp *w, const MemForm *f, const uint64_t *at, uint32_t lanes) {
    uint64_t global[LANES], local[LANES];
    uint32_t in_global = 0, in_local = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t id = at[i] >> ID_SHIFT;
        if (f->space == PTX_LOCAL || (f->space == PTX_GENERIC && id == ID_LOCAL))
            local[i] = at[i] & OFFSET_MASK, in_local |= 1u << i;
        else if (f->space != PTX_SHARED && f->space != PTX_PARAM) {
            const Alloc *a = alloc_of(m->emu, at[i]);
            if (a) global[i] = alloc_place(a, at[i]), in_global |= 1u << i;
        }
    }
    CostKind kind = f->is_store ? COST_KIND_STORE : COST_KIND_LOAD;
    unsigned bytes = (unsigned)f->size * f->count;
    if (in_global) cost_lanes(m, w, global, in_global, kind);
    if (in_local) cost_local(m, w, local, in_local, bytes, f->is_store);
    if (f->space == PTX_SHARED && lanes) cost_shared(m, at, lanes, bytes);
}

bool mem_slow(Machine *m, Warp *w, const Ins *in, const MemForm *f, const uint64_t *at) {
    uint32_t done = w->active;
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        if (f->bound == BOUND_FRAME) function_param(w, f, i);
        else if (!one_lane(m, w, in, f, i, at[i])) done &= ~(1u << i);
        if (m->ended) return false;
    }
    if (f->bound != BOUND_FRAME) charge(m, w, f, at, done);
    return true;
}

/* Do all lanes stay inside the array that their access is meant for? */
static bool in_array(const Warp *w, const MemForm *f, const uint64_t *at) {
    const Array *array = &w->code->arrays[f->array - 1];
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint64_t own = at[__builtin_ctz(left)];
        if (own < array->from || own + f->bytes > array->to) return false;
    }
    return true;
}

bool mem_fits(Machine *m, Warp *w, const Ins *in, const MemForm *f, Alloc *alloc,
              const uint8_t *data, const uint64_t *at) {
    uint8_t stored[LANES * 32];
    PtxSpace space = alloc ? PTX_GLOBAL : PTX_SHARED;
    int first = __builtin_ctz(w->active);
    Access a = {m, w, in, first, space, at[first], f->bytes, f->is_store, f->order};
    if (f->order & ~ORDER_CACHED) return false;
    shadow_step(m);
    if (f->array && alloc == NULL && !in_array(w, f, at)) return false;
    if (f->is_store && alloc) alloc_stored(alloc, f->size);
    for (uint32_t left = f->is_store ? w->active : 0; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        store_registers(w, f, i, stored + (size_t)i * f->bytes);
    }
    return shadow_fits(&a, alloc, at, data, f->is_store ? stored : NULL);
}

static uint64_t two_lanes(const Warp *w, uint32_t row, bool wide) {
    int first = __builtin_ctz(w->active), last = 31 - __builtin_clz(w->active);
    const U32 *word = (const U32 *)(const void *)row_at(w, row);
    const U64 *both = (const U64 *)(const void *)row_at(w, row);
    uint64_t a = wide ? both[first] : word[first], b = wide ? both[last] : word[last];
    return a ^ (b << 32 | b >> 32);
}

uint64_t mem_where(const Warp *w, const MemForm *f) {
    return two_lanes(w, f->base, f->wide_base);
}

uint64_t mem_first(const Warp *w, const MemForm *f) {
    int i = __builtin_ctz(w->active);
    if (f->wide_base)
        return ((const U64 *)(const void *)row_at(w, f->base))[i] + (uint64_t)f->offset;
    return (uint32_t)(((const U32 *)(const void *)row_at(w, f->base))[i] + (uint32_t)f->offset);
}

uint64_t mem_what(const Warp *w, const MemForm *f, uint64_t where) {
    for (int k = 0; k < f->count; k++)
        where = where * 0xd6e8feb86659fd93u + two_lanes(w, f->reg[k], f->bits[k] == 64);
    return where;
}

void mem_addresses(const Warp *w, uint32_t base, bool wide, int64_t offset, uint64_t at[LANES]) {
    const uint8_t *row = row_at(w, base);
    for (int i = 0; i < LANES; i++)
        at[i] = wide ? ((const U64 *)(const void *)row)[i] + (uint64_t)offset
                     : ((const U32 *)(const void *)row)[i] + (uint32_t)offset;
}
