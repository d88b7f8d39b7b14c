/* lanes.h - how the slow operations (forms_*.c) walk over the active lanes of a warp. */
#ifndef GILUA_EMU_LANES_H
#define GILUA_EMU_LANES_H

#include "emu/core.h"

#define FOR_ACTIVE(w, i)                                                                           \
    for (uint32_t left_ = (w)->active, i = 0; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);    \
         left_ &= left_ - 1)

#define LANE(T, w, offset, i) (((T *)(void *)row_at((w), (offset)))[i])

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
