/* texture_words.c - a texture's description as the words of a recording. It needs nothing of an
** emulator, so that recorders of programs on a GPU have it, too. */
#include "emu/emu.h"

void emu_texture_words(const EmuTexture *t, gi_buf *out) {
    gi_buf_addf(out,
                "kind=%d format=%d channels=%d dims=%d size=%lld,%lld,%lld layers=%lld cube=%d "
                "pitch=%lld address=%d,%d,%d linear=%d normalized_coords=%d normalized_read=%d "
                "border=%.9g,%.9g,%.9g,%.9g",
                (int)t->kind, (int)t->format, t->channels, t->dims, (long long)t->size[0],
                (long long)t->size[1], (long long)t->size[2], (long long)t->layers, t->cube,
                (long long)t->pitch_bytes, (int)t->address[0], (int)t->address[1],
                (int)t->address[2], t->linear_filter, t->normalized_coords, t->normalized_read,
                (double)t->border[0], (double)t->border[1], (double)t->border[2],
                (double)t->border[3]);
}
