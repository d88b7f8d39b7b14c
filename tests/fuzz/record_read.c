/* record_read.c - a libFuzzer target for src/record: any file is refused, or read as far as it
** goes.
**
**   clang -g -O1 -std=c11 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined \
**       tests/fuzz/record_read.c src/record/[cr]*.c src/base/base.c -lzstd -lm \
**       -o rec_fuzz && ./rec_fuzz corpus/
**
** with short recordings as the corpus. tests/c/record.c is its short, seeded relative. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_named(const Recording *r, const char *line, size_t len) {
    char name[RECORD_NAME] = "";
    uint64_t bytes;
    if (len < 32) return;
    memcpy(name, line + len - 32, 32);
    if (!recording_size(r, name, &bytes) || bytes > 1 << 20) return;
    void *out = malloc((size_t)bytes + 1);
    recording_read(r, name, out, (size_t)bytes, NULL);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/gilua-fuzz-XXXXXX";
    size_t len;
    int fd = mkstemp(path);
    if (write(fd, data, size) != (ssize_t)size) return 0;
    close(fd);
    Recording *r = recording_open(path, NULL);
    const char *events = r ? recording_events(r, &len) : "";
    for (const char *end; r && (end = strchr(events, '\n')); events = end + 1)
        read_named(r, events, (size_t)(end - events));
    recording_close(r);
    unlink(path);
    return 0;
}
