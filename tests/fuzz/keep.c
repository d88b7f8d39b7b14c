/* keep.c - keeps the PTX that a test loads, as a seed: linked with --wrap=emu_load, it writes each
** text into the folder $PTX_FOLDER, under its hash. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/emu.h"

enum { MOST_BYTES = 9000 };

EmuModule *__real_emu_load(Emu *e, const char *ptx, size_t len, gi_err *err);
EmuModule *__wrap_emu_load(Emu *e, const char *ptx, size_t len, gi_err *err);

EmuModule *__wrap_emu_load(Emu *e, const char *ptx, size_t len, gi_err *err) {
    const char *folder = getenv("PTX_FOLDER");
    char path[4096];
    if (folder && len < MOST_BYTES) {
        snprintf(path, sizeof path, "%s/%016" PRIx64 ".ptx", folder, gi_hash(ptx, len, 0));
        FILE *f = fopen(path, "wb");
        if (f == NULL || fwrite(ptx, 1, len, f) != len || fclose(f) != 0) abort();
    }
    return __real_emu_load(e, ptx, len, err);
}
