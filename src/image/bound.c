/* bound.c - how much memory an image may take, and what is a file at all. See image.h. */
#include "image/image.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static double usual_bound(double file_bytes) {
    const double bound = (double)IMAGE_BASE_BYTES + IMAGE_RATIO * file_bytes;
    return bound < (double)IMAGE_MOST_BYTES ? bound : (double)IMAGE_MOST_BYTES;
}

bool image_fits(const char *name, double need, double file_bytes, uint64_t max_bytes, gi_err *err) {
    const double bound = max_bytes ? (double)max_bytes : usual_bound(file_bytes);
    if (need <= bound) return true;
    return gi_fail(err, "nomem",
                   "%s would take %.1f MB of memory, and %.1f MB are allowed for its %.0f bytes: "
                   "if you trust it, raise that by max_bytes",
                   name, need / 1e6, bound / 1e6, file_bytes);
}

bool image_file_size(const char *path, uint64_t *bytes, gi_err *err) {
    struct stat st;
    if (stat(path, &st) != 0)
        return gi_fail(err, "io", "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return gi_fail(err, "io", "%s is not a file but a %s", path,
                       S_ISDIR(st.st_mode) ? "folder" : "pipe or a device");
    *bytes = (uint64_t)st.st_size;
    return true;
}
