/* undefined.h - undefined values, followed from where they arise to where they matter, as memcheck
** follows them: a bit for each bit of a register lane (undefined.c) and for each byte of memory
** (shadow.c). Only launches that count what nobody wrote (Machine.follows) pay for it.
**
** A value arises at its origin (origins.c): a read of bytes that nobody wrote, a shuffle from a
** lane that is not there, a register that nothing set. It matters where it decides a branch, an
** address, or what a function that CUDA provides is given, and where the host reads it. What is
** never used so is not told. A finding's place is the origin's; it says of the first use where that
** was.
*/
#ifndef GILUA_EMU_UNDEFINED_H
#define GILUA_EMU_UNDEFINED_H

#include "emu/core.h"
#include "emu/decode/ops.h"
#include "emu/exec/tex.h"

/* What is known of a frame's registers and parameters. */
typedef struct FrameBits {
    uint8_t *bits;    /* laid out as the register file: a bit that is set is undefined */
    uint8_t *mark;    /* by offset / 4, of each row: 0: all of it is defined, whatever bits holds */
    uint32_t *origin; /* of each lane of a row that is not; see origin_of */
    size_t cap, origin_cap;
    int n_marked;            /* rows */
    uint8_t *params;         /* as Frame.params */
    uint32_t *params_origin; /* of each word of them */
    size_t params_cap;
    bool params_marked; /* else all of them are defined */
    struct Origins *origins;
} FrameBits;

enum { ORIGIN_NONE, ORIGIN_REGISTER, ORIGIN_FIRST };

/* --- origins.c --- */

void origins_free(Emu *e);
/* A launch begins; it is over, and its warnings are what mattered of it. */
void origins_begin(Machine *m);
void origins_end(Machine *m);
/* The origin at an instruction, counted once more. EMU_WARN_UNINITIALISED | ORIGIN_PADS: of bytes
** that look like the padding of a struct; the host may read those. */
enum { ORIGIN_PADS = 256 };
uint32_t origin_at(Machine *m, const Warp *w, const Ins *in, int lane, int kind, const char *fmt,
                   ...) GI_PRINTF(6, 7);
/* Counts an origin of this launch once more. Returns ORIGIN_NONE if origin_at is to describe it. */
uint32_t origin_again(Machine *m, const Warp *w, const Ins *in, int kind);
/* Returns the origin of a result that two values make. */
uint32_t origin_both(struct Origins *o, uint32_t a, uint32_t b);
/* May the host read it? */
bool origin_pads(const Emu *e, uint32_t origin);
/* A value of it matters at an instruction: "decides a branch". in: NULL: after the launch. */
void origin_matters(Machine *m, const Warp *w, const Ins *in, int lane, uint32_t origin,
                    const char *how);
/* What a thread stored at a place (undefined_place) is of an origin; ORIGIN_NONE: unknown. */
void origin_keep(Emu *e, uint64_t place, uint32_t origin);
void origins_forget(Emu *e, uint64_t from, uint64_t n_bytes); /* what was kept of places there */
uint32_t origin_kept(const Emu *e, uint64_t place);

/* --- undefined.c --- */

/* A frame's code begins to run: its registers are defined, but for those that it may not set. */
void undefined_open(const Machine *m, Frame *f);
void undefined_free(Frame *f);
/* Parameters of the lanes go from one frame to another, as copy_params has them. */
void undefined_pass(uint32_t mask, const Frame *from, const uint32_t *from_at, const Frame *to,
                    const uint32_t *to_at, const uint32_t *size, int n);

enum { STEP_DONE = -1 }; /* the instruction has run, or ended the launch */
/* An instruction is about to run. Returns the operation to run, or STEP_DONE. Mostly nothing is
** undefined. */
int undefined_step_on(Machine *m, Warp *w, const Ins *in);
static inline int undefined_step(Machine *m, Warp *w, const Ins *in) {
    const FrameBits *b = w->s.frame[w->frame].bits;
    bool none = b->n_marked == 0 && !b->params_marked && in->op != OP_SLOW;
    return none ? in->op : undefined_step_on(m, w, in);
}
/* Has the running frame a register with undefined bits? */
static inline bool undefined_any(const Warp *w) {
    return w->s.frame[w->frame].bits->n_marked != 0;
}

/* A lane's load, with its undefined bits in Machine.undefined; a lane's store. */
void undefined_loaded(const Machine *m, const Warp *w, const MemForm *f, int lane);
void undefined_stored(Machine *m, const Warp *w, const MemForm *f, int lane, PtxSpace space,
                      uint64_t address);
/* A lane has fetched texels of a texture that slot_is_watched. */
void undefined_fetched(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                       const TexSlot *slot, const TexCoord *at);
/* A lane has read bytes of a surface, of which Machine.undefined says what is undefined; or stored
** or reduced them. */
void undefined_surface(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                       const TexSlot *slot, int64_t offset);
/* An atomic of a lane that found Machine.undefined at an address. */
void undefined_atomic(Machine *m, const Warp *w, const Ins *in, int lane, uint64_t address);

/* A row's undefined bits in one lane, and their origin, where there are any; sets them. */
uint64_t undefined_row(const Frame *f, uint32_t row, int lane, uint32_t *origin);
void undefined_set(const Frame *f, uint32_t row, int lane, uint64_t bits, uint32_t origin);

/* --- shadow.c --- */

/* Notes of each byte of an access of a lane whether it is undefined (a bit each). */
void shadow_define(Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address,
                   unsigned bytes, uint32_t undefined, uint32_t origin);
/* Is a byte of local memory undefined because somebody stored it so? Its origin. */
uint32_t shadow_local_origin(const Machine *m, const Warp *w, int lane, uint64_t offset);

#endif
