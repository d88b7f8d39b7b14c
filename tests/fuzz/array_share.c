/* array_share.c - a target for src/array/share.c: any bytes in a memory file that a worker sends
** are refused, or are arrays that lie within it, each element readable. */
#include "array/share.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static void read_all(const Share *s) {
    gi_err err;
    int n = share_count(s);
    Array **list = gi_alloc((size_t)n * sizeof *list);
    if (!share_arrays(s, list, &err)) abort();
    for (int i = 0; i < n; i++) {
        volatile uint64_t hash = gi_hash(list[i]->data, list[i]->size_bytes, 0);
        (void)hash;
        if (list[i]->size_bytes > share_bytes(s)) abort();
        array_unref(list[i]);
    }
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_err err = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) abort();
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) abort();
    Share *s = share_from_fd(fd, &err);
    if (s) read_all(s);
    else if (err.message[0] == '\0') abort();
    share_unref(s);
    return 0;
}

/* Arrays of several types and shapes. */
void fuzz_seeds(FuzzAdd *add) {
    static const int64_t shape[] = {3, 5, 2};
    Array *list[3];
    gi_buf bytes = {0};
    for (int i = 0; i < 3; i++) {
        static const ArrayType types[] = {ARRAY_F32, ARRAY_I8, ARRAY_U64};
        list[i] = array_new(types[i], i + 1, shape, NULL);
    }
    Share *s = share_new(list, 3, NULL);
    if (s == NULL) abort();
    char *copy = malloc(share_bytes(s));
    if (pread(share_fd(s), copy, share_bytes(s), 0) != (ssize_t)share_bytes(s)) abort();
    gi_buf_add(&bytes, copy, share_bytes(s));
    add(bytes.data, bytes.len);
    for (int i = 0; i < 3; i++) array_unref(list[i]);
    share_unref(s);
    gi_buf_free(&bytes);
    free(copy);
}
