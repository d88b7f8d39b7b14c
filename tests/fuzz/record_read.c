/* record_read.c - a target for src/record: any file is refused, or read as far as it goes.
** tests/c/record.c is its short, seeded relative. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "record/record.h"

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
    static const char path[] = "record_read.file";
    size_t len;
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0) abort();
    Recording *r = recording_open(path, NULL);
    const char *events = r ? recording_events(r, &len) : "";
    for (const char *end; r && (end = strchr(events, '\n')); events = end + 1)
        read_named(r, events, (size_t)(end - events));
    recording_close(r);
    return 0;
}

/* A recording that was ended, and one that was not. */
void fuzz_seeds(FuzzAdd *add) {
    for (int whole = 0; whole < 2; whole++) {
        char path[] = "record_read.seed", name[RECORD_NAME], zeros[3000] = "some bytes";
        gi_err err;
        gi_buf bytes = {0};
        unlink(path);
        RecordWriter *w = record_create(path, &err);
        if (w == NULL) abort();
        record_event(w, "program %s", "./app");
        record_blob(w, zeros, sizeof zeros, name);
        record_event(w, "write 0 %s", name);
        record_blob(w, "short", 5, name);
        record_event(w, "read 0 %s", name);
        if (whole) record_end(w, &err);
        else record_leave(w);
        if (!gi_read_file(path, &bytes, &err)) abort();
        add(bytes.data, bytes.len);
        gi_buf_free(&bytes);
        unlink(path);
    }
}
