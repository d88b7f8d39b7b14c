/* view.h - memory as one of several threads has it, which run blocks of a launch side by side
** (threads.c).
**
** Nobody writes to memory itself meanwhile. What a thread's blocks write lies apart, a copy of each
** sector of 32 bytes with a mask of the bytes written, and what they read of those sectors comes
** from there. Sectors that they read are noted: the cost model's L1 is empty when a block begins,
** so each of them misses it once. All of this is of one run of blocks, a batch, and ends when the
** batch is taken over into memory or thrown away.
**
** Which sectors came from DRAM depends on the blocks before: the trace holds those that were new to
** this batch, and view_take counts. What warps wait for does not (waits.h).
*/
#ifndef GILUA_EMU_VIEW_H
#define GILUA_EMU_VIEW_H

#include "emu/core.h"

typedef struct ViewPart { /* of an allocation; sectors count from its place's first one */
    uint8_t *copy;           /* of its bytes: there where the mask is not 0 */
    uint32_t *mask;          /* per sector: its bytes that were written */
    uint64_t *touched;       /* a bit a sector: as Alloc.touched, and by this batch */
    uint64_t *read;          /* a bit a sector: read by this batch */
    size_t words;            /* of `touched` and of `read` */
    uint32_t n_dirty;        /* sectors written */
} ViewPart;

typedef struct ViewPlace {
    uint32_t row, at; /* of an allocation: a sector, or a word of 64 */
} ViewPlace;

typedef struct ViewPlaces {
    ViewPlace *at;
    int n, cap;
} ViewPlaces;

typedef struct Trace { /* sectors `bits` of word `at` of an allocation, touched the first time */
    uint32_t row, at;
    uint64_t bits;
} Trace;

enum { VIEWS = 64 }; /* at a time */

typedef enum ViewLeft {
    VIEW_HOLDS,
    VIEW_LEFT,    /* something that only blocks in their order can tell */
    VIEW_UNSUITED /* … and that will be so again: do not try further */
} ViewLeft;

/* Memory that views had and the next launch's have again: pages are slow when they are first used.
** Masks are all 0. */
typedef struct ViewPages {
    struct ViewPiece {
        uint8_t *at;
        size_t size;
    } * piece;
    int n, cap;
    size_t bytes; /* of all pieces */
} ViewPages;

typedef struct ViewKept { /* of one thread */
    ViewPages copies, masks;
} ViewKept;

typedef struct View {
    ViewKept *kept; /* the Emu's */
    ViewPart *part; /* by row */
    int n_parts;
    int *used; /* rows of those that there are */
    int n_used, cap_used;
    ViewPlaces dirty, read; /* sectors; words */
    Trace *trace;
    int n_trace, cap_trace;
    ViewLeft left;
} View;

View *view_new(Emu *e, int thread); /* below VIEWS */
void view_free(View *v);
void views_forget(Emu *e); /* what is kept for later launches */
/* Ends the running batch: it is thrown away. Always false, as after a fault. */
bool view_leave(Machine *m, ViewLeft why);
/* The memory in which an access finds its bytes, `offset` from the allocation's first, or that of
** these lanes; where it writes, all of its bytes count as written. NULL: no room, and the batch
** has ended. */
uint8_t *view_bytes(Machine *m, const Alloc *a, uint64_t offset, uint64_t bytes, bool is_write);
uint8_t *view_lanes(Machine *m, const Alloc *a, const uint64_t at[LANES], uint32_t mask,
                    unsigned bytes, bool is_write);
void view_read(Machine *m, const Alloc *a, uint64_t offset, unsigned bytes);
/* Sectors of a line, as touch() of cost.c. */
void view_touch(Machine *m, const Alloc *a, uint64_t line, uint32_t sectors, bool is_load);

/* --- between batches, by one thread --- */

typedef struct Written { /* what batches have written since the threads began: a bit a sector */
    uint64_t **by_row;
    int n;
    ViewPlaces words;
} Written;

bool view_conflicts(const View *v, const Written *w); /* did it read what was written meanwhile? */
/* Memory, the cost model and `all` n views as they are after the batch of v. w: NULL where no batch
** comes after it. */
void view_take(Machine *m, View *v, View *const *all, int n, Written *w);
void view_drop(Machine *m, View *v);  /* the batch is over, whatever came of it */
void view_follow(Machine *m, View *v); /* blocks ran that no view knows of */
void written_clear(Written *w);
void written_free(Written *w);

#endif
