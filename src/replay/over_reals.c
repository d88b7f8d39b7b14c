/* over_reals.c - see over_reals.h. Every write of the host's is an input of its own, so that two
** replays of one recording have the same inputs. Arrays of texels are not supported.
*/
#include "replay/over_reals.h"

/* Distinguishes the inputs of a row from those of other rows and from parameters. */
static uint64_t id_of(const Event *e, const ReplayMoved *m, uint64_t y, uint64_t z) {
    return (uint64_t)m->line << 40 | (z * e->height + y) << 8 | 2;
}

/* A __constant__ variable is read where the host has it. */
static void variable_row(EmuExact *x, const Event *e, uint64_t at, const uint8_t *bytes,
                         uint64_t id) {
    EmuExactType type = e->kind == EVENT_WRITE ? EMU_EXACT_WORDS : EMU_EXACT_RAW;
    if (e->kind == EVENT_COPY)
        emu_exact_refuse(x, "the host copies from the GPU's memory into a variable");
    else if (e->kind != EVENT_READ) emu_exact_memory(x, at, bytes, (size_t)e->width, type, id);
}

static void one_row(EmuExact *x, const Event *e, const ReplayMoved *m, uint64_t y, uint64_t z) {
    bool is_read = e->kind == EVENT_READ;
    uint64_t from = m->from + (z * e->from.rows + y) * e->from.row;
    uint64_t offset = (z * e->to.rows + y) * e->to.row, id = id_of(e, m, y, z);
    const uint8_t *bytes = m->first + (is_read ? (z * e->height + y) * e->width : offset);
    size_t width = (size_t)e->width;
    switch (e->kind) {
    case EVENT_WRITE: emu_exact_wrote(x, m->to + offset, width, id); break;
    case EVENT_SET: emu_exact_filled(x, m->to + offset, width / e->element * e->element); break;
    case EVENT_COPY: emu_exact_moved(x, m->to + offset, from, width); break;
    default: emu_exact_take(x, m->to + offset, bytes, width, EMU_EXACT_WORDS);
    }
    if (m->is_variable) variable_row(x, e, m->to + offset, bytes, id);
}

void replay_over_reals(EmuExact *x, const Event *e, const ReplayMoved *m) {
    if (e->to.array >= 0 || (e->kind == EVENT_COPY && e->from.array >= 0)) {
        emu_exact_refuse(x, "the program keeps data in arrays of texels");
        return;
    }
    for (uint64_t z = 0; z < e->depth; z++)
        for (uint64_t y = 0; y < e->height; y++) one_row(x, e, m, y, z);
}
