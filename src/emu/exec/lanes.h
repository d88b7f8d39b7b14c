/* lanes.h - a warp lane by lane: how the slow operations (forms_*.c) walk over the active ones, and
** what a load or store moves for one. */
#ifndef GILUA_EMU_LANES_H
#define GILUA_EMU_LANES_H

#include "emu/core.h"

#include <string.h>

#define FOR_ACTIVE(w, i)                                                                           \
    for (uint32_t left_ = (w)->active, i = 0; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);    \
         left_ &= left_ - 1)

/* Takes a lane out of a mask: the first, or another where the launch runs in another order. */
static inline int lane_next(const Machine *m, uint32_t *left) {
    const EmuLaunch *l = m->launch;
    uint64_t k = 0;
    int i = l->backwards ? 31 - __builtin_clz(*left) : __builtin_ctz(*left);
    if (l->backwards && l->shuffle)
        while (i = (int)launch_place(l, k++, LANES), !(*left >> i & 1)) {}
    *left &= ~(1u << i);
    return i;
}

#define LANE(T, w, offset, i) (((T *)(void *)row_at((w), (offset)))[i])

/* --- registers and elements of a load or store --- */

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

static inline void register_set(const Warp *w, const MemForm *f, int k, int lane, uint64_t v) {
    if (f->bits[k] == 64) ((U64 *)(void *)(w->file + f->reg[k]))[lane] = v;
    else ((U32 *)(void *)(w->file + f->reg[k]))[lane] = (uint32_t)v;
}

static inline uint64_t register_get(const Warp *w, const MemForm *f, int k, int lane) {
    if (f->bits[k] == 64) return ((const U64 *)(const void *)(w->file + f->reg[k]))[lane];
    return ((const U32 *)(const void *)(w->file + f->reg[k]))[lane];
}

/* --- operations --- */

/* A slow operation: result of lane type TD from a, b, c of lane types TA, TB, TC. */
#define SLOW_OP(name, TD, TA, TB, TC, EXPR)                                                        \
    static bool name(Machine *m, Warp *w, const Ins *in) {                                         \
        (void)m;                                                                                   \
        FOR_ACTIVE(w, i) {                                                                         \
            TA a = LANE(TA, w, in->a, i);                                                          \
            TB b = LANE(TB, w, in->b, i);                                                          \
            TC c = LANE(TC, w, in->c, i);                                                          \
            (void)a, (void)b, (void)c;                                                             \
            LANE(TD, w, in->d, i) = (TD)(EXPR);                                                    \
        }                                                                                          \
        return true;                                                                               \
    }

#endif
