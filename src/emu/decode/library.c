/* library.c - see library.h.
**
** The heap: each object is an allocation of its own, so that an access beyond it, a use after free
** and a double free are found as with any other memory. It holds what emu_heap_limit allows; an
** object takes its bytes, rounded up to 16, and 16 more.
*/
#include "emu/decode/library.h"

#include "emu/format.h"
#include "emu/view.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- what a call brings and takes --- */

/* Where one lane has its parameters. */
static uint8_t *params_of(const Warp *w, int lane) {
    const Frame *frame = &w->s.frame[w->frame];
    return frame->params + (size_t)lane * frame->code->param_bytes;
}

uint64_t library_argument(const Warp *w, const CallForm *f, int lane, int k, Bound bound) {
    uint64_t value = 0;
    assert(f->of->arg[k].bound == bound && f->arg_size[k] <= sizeof value);
    memcpy(&value, params_of(w, lane) + f->arg[k], f->arg_size[k]);
    return value;
}

const uint8_t *library_bytes(const Warp *w, const CallForm *f, int lane, int k) {
    assert(f->of->arg[k].bound == BOUND_VALUE);
    return params_of(w, lane) + f->arg[k];
}

void library_give(const Warp *w, const CallForm *f, int lane, uint64_t value) {
    if (f->n_rets) memcpy(params_of(w, lane) + f->ret[0], &value, f->ret_size[0]);
}

enum { MOST_TEXT = 1 << 16 }; /* bytes that are looked through for the end of a text */

/* Bytes of one lane's local memory from `offset` on, as many as there are. */
static size_t local_bytes(const Warp *w, int lane, uint64_t offset, char *out, size_t cap) {
    size_t n = 0;
    for (; n < cap && offset + n < w->local_top; n++)
        out[n] = (char)w->s.local[(offset + n) / 4 * ROW32 + (uint64_t)lane * 4 + (offset + n) % 4];
    return n;
}

typedef struct Reader { /* who reads a text */
    const Machine *m;
    const Warp *w;
    int lane;
    char local[1024]; /* a text of local memory, until the next one is read */
} Reader;

static const char *local_string(Reader *r, uint64_t offset) {
    size_t n = local_bytes(r->w, r->lane, offset, r->local, sizeof r->local);
    return memchr(r->local, 0, n) ? r->local : NULL;
}

static const char *shared_string(const Machine *m, uint64_t offset) {
    if (offset >= m->shared_bytes) return NULL;
    const char *text = (const char *)m->shared + offset;
    return memchr(text, 0, m->shared_bytes - offset) ? text : NULL;
}

/* The text at a device address, for formats; NULL when it is not readable up to its NUL. */
static const char *device_string(void *user, uint64_t address) {
    Reader *r = user;
    const Machine *m = r->m;
    if (address >> ID_SHIFT == ID_LOCAL) return local_string(r, address & OFFSET_MASK);
    if (address >> ID_SHIFT == ID_SHARED) return shared_string(m, address & OFFSET_MASK);
    const Alloc *a = alloc_of(m->emu, address);
    uint64_t offset = a ? address - a->address : 0;
    if (a == NULL || offset >= a->size) return NULL;
    const uint64_t left = a->size - offset;
    if (memchr(a->data + offset, 0, left < MOST_TEXT ? left : MOST_TEXT) == NULL) return NULL;
    return (const char *)(a->data + offset);
}

/* --- printf --- */

/* printf's argument buffer of one lane: local memory from `address` to the end of its frame. */
static size_t print_args(const Warp *w, int lane, uint64_t address, uint8_t *out, size_t cap) {
    if (address >> ID_SHIFT != ID_LOCAL) return 0;
    return local_bytes(w, lane, address & OFFSET_MASK, (char *)out, cap);
}

/* One lane's printf; *count is what it returns. The format stays while its texts are read. */
static bool print_lane(Machine *m, Warp *w, const Ins *in, int lane, uint64_t format, uint64_t args,
                       int32_t *count) {
    Reader reader = {.m = m, .w = w, .lane = lane}, texts = reader;
    const char *text = device_string(&reader, format);
    if (text == NULL)
        return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                           "printf with a format at 0x%llx that is not readable",
                           (unsigned long long)format);
    uint8_t bytes[1024];
    size_t n = print_args(w, lane, args, bytes, sizeof bytes);
    gi_buf_clear(&m->text);
    gi_buf *out = m->launch->print ? &m->text : NULL;
    *count = format_print(out, text, bytes, n, device_string, &texts);
    if (m->text.len) m->launch->print(m->launch->print_user, m->text.data, m->text.len);
    return true;
}

/* Where nobody reads what is printed, lanes with one format have one result: a kernel that prints
** without end is not slower for it than its budget foresees. */
bool library_print(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    w->moved |= m->launch->print != NULL;
    uint64_t last = 0;
    int32_t count = 0;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t format = library_argument(w, f, lane, 0, BOUND_TEXT);
        uint64_t args = library_argument(w, f, lane, 1, BOUND_STACK);
        bool known = m->launch->print == NULL && format == last;
        if (!known && !print_lane(m, w, in, lane, format, args, &count)) return false;
        last = format;
        library_give(w, f, lane, (uint32_t)count);
    }
    return true;
}

/* --- assert --- */

/* __assertfail(message, file, line, function, char size) */
bool library_assert(Machine *m, Warp *w, const Ins *in) {
    const CallForm *f = &w->code->call[in->imm];
    int lane = __builtin_ctz(w->active);
    unsigned line = (unsigned)library_argument(w, f, lane, 2, BOUND_VALUE);
    Reader r[3];
    const char *text[3];
    for (int i = 0; i < 3; i++) {
        r[i] = (Reader){.m = m, .w = w, .lane = lane};
        text[i] = device_string(&r[i], library_argument(w, f, lane, i < 2 ? i : 3, BOUND_TEXT));
        if (text[i] == NULL) text[i] = "?";
    }
    m->cause = EMU_CAUSE_ASSERT;
    return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "assertion failed: %s (%s:%u, %s)",
                       text[0], text[1], line, text[2]);
}

/* --- the heap --- */

void emu_heap_limit(Emu *e, size_t bytes) {
    e->heap_limit = bytes;
}

uint64_t emu_heap_moves(const Emu *e) {
    return e->heap_moves;
}

static uint64_t heap_share(uint64_t size) {
    return (size + 15) / 16 * 16 + 16;
}

/* "thread (3,0,0) of block (0,0,0) in kernel k" */
static void name_thread(const Machine *m, const Warp *w, int lane, char *out, size_t cap) {
    const unsigned *b = m->launch->block, *c = m->ctaid;
    unsigned t = (unsigned)w->index * LANES + (unsigned)lane;
    snprintf(out, cap, "thread (%u,%u,%u) of block (%u,%u,%u) in kernel %s", t % b[0],
             t / b[0] % b[1], t / b[0] / b[1], c[0], c[1], c[2], m->entry->func->name);
}

uint64_t library_object(Machine *m, const Warp *w, int lane, uint64_t size) {
    Emu *e = m->emu;
    char who[300], label[340];
    if (size > e->heap_limit || heap_share(size) > e->heap_limit - e->heap_used) return 0;
    name_thread(m, w, lane, who, sizeof who);
    snprintf(label, sizeof label, "malloc of %s", who);
    uint64_t address = emu_alloc(e, (size_t)size, label, NULL);
    if (address == 0) return 0;
    Alloc *a = alloc_of(e, address);
    memset(a->data, 0xff, (size_t)size); /* as of shared memory, nobody may rely on it */
    a->is_heap = true;
    e->heap_used += heap_share(size);
    e->heap_objects++, e->heap_bytes += size;
    e->heap_moves++;
    if (m->shadow) shadow_object(m, a);
    return address;
}

/* Of no bytes there is an object, too. */
bool library_malloc(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const CallForm *f = &w->code->call[in->imm];
    w->moved = true;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t size = library_argument(w, f, lane, 0, BOUND_VALUE);
        library_give(w, f, lane, library_object(m, w, lane, size));
    }
    return true;
}

bool library_release(Machine *m, Warp *w, const Ins *in, int lane) {
    gi_err why;
    char who[300];
    uint64_t address = library_argument(w, &w->code->call[in->imm], lane, 0, BOUND_OBJECT);
    if (address == 0) return true;
    w->moved = true;
    const Alloc *a = alloc_of(m->emu, address);
    name_thread(m, w, lane, who, sizeof who);
    if (a && !a->is_heap)
        return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                           "free of '%s', which no kernel allocated", a->label);
    uint64_t size = a ? a->size : 0;
    if (!alloc_release(m->emu, address, who, &why))
        return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS, "%s", why.message);
    m->emu->heap_used -= heap_share(size);
    m->emu->heap_objects--, m->emu->heap_bytes -= size;
    m->emu->heap_moves++;
    return true;
}

bool library_free(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    for (uint32_t left = w->active; left; left &= left - 1)
        if (!library_release(m, w, in, __builtin_ctz(left))) return false;
    return true;
}
