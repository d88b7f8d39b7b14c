/* begin.c - what all recorders begin with. See record.h. */
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"

enum { PROCESSES = 1000 };

RecordWriter *record_create_next(const char *path, gi_err *err) {
    char numbered[600];
    RecordWriter *w = record_create(path, err);
    for (int i = 2; w == NULL && errno == EEXIST && i < PROCESSES; i++) {
        snprintf(numbered, sizeof numbered, "%s.%d", path, i);
        w = record_create(numbered, err);
    }
    return w;
}

/* A word: what would end it is written %XX. */
static void add_word(gi_buf *out, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c == '%' || c == 0x7f) gi_buf_addf(out, "%%%02x", c);
        else gi_buf_add(out, text, 1);
    }
}

void record_program(RecordWriter *w, const char *gpu, const char *use) {
    gi_buf line = {0}, words = {0};
    gi_read_file("/proc/self/cmdline", &words, NULL);
    for (size_t i = 0; i < words.len; i += strlen(words.data + i) + 1) {
        gi_buf_adds(&line, " ");
        add_word(&line, words.data + i);
    }
    record_event(w, "gilua %s", GILUA_VERSION);
    record_event(w, "program%s", line.data ? line.data : "");
    record_event(w, "gpu %s", gpu);
    if (use[0]) record_event(w, "as %s", use);
    gi_buf_free(&line);
    gi_buf_free(&words);
}

bool record_is_called(const char *kernel, const char *name) {
    char mangled[300];
    snprintf(mangled, sizeof mangled, "%zu%s", strlen(name), name);
    const char *at = strncmp(kernel, "_Z", 2) == 0 ? strstr(kernel, mangled) : NULL;
    return strcmp(kernel, name) == 0 || (at && (at[-1] < '0' || at[-1] > '9'));
}
