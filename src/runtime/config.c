/* config.c - reads what `gilua run` asks for. See config.h. */
#include "runtime/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_number(Config *c, const char *key, double value) {
    if (strncmp(key, "model.", 6) == 0) return emu_model_set(&c->model, key + 6, value);
    if (strcmp(key, "check.uninit") == 0) c->uninitialised = value != 0;
    else if (strcmp(key, "check.streams") == 0) c->streams = value != 0;
    else if (strcmp(key, "check.order") == 0) c->order = value != 0;
    else if (strcmp(key, "profile") == 0) c->profile = value != 0;
    else if (strcmp(key, "check.leaks") == 0) c->leaks = value != 0;
    else if (strcmp(key, "api-errors") == 0) c->api_errors = value != 0;
    else if (strcmp(key, "check.races") == 0 && c->races == EMU_RACES_NONE)
        c->races = value != 0 ? EMU_RACES_SHARED : EMU_RACES_NONE;
    else if (strcmp(key, "check.races") == 0) return true;
    else if (strcmp(key, "check.global-races") == 0)
        c->races = value != 0 ? EMU_RACES_GLOBAL : c->races;
    else if (strcmp(key, "repeats.skip") == 0) c->skip = value != 0;
    else if (strcmp(key, "record.skip") == 0) c->record_skip = (uint64_t)value;
    else if (strcmp(key, "record.count") == 0) c->record_count = (uint64_t)value;
    else if (strcmp(key, "repeats.most") == 0) c->most_repeats = (uint64_t)value;
    else if (strcmp(key, "threads") == 0) c->threads = (int)value;
    else if (strcmp(key, "patience") == 0) c->patience = (uint64_t)value;
    else return false;
    return true;
}

static bool read_line(Config *c, char *line) {
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"gpu", c->model.name, sizeof c->model.name},
                 {"record", c->record, sizeof c->record},
                 {"record.as", c->record_as, sizeof c->record_as},
                 {"record.kernel", c->record_kernel, sizeof c->record_kernel}};
    char *value = strchr(line, ' '), *end;
    if (value == NULL) return false;
    *value++ = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(line, texts[i].key) == 0)
            return (size_t)snprintf(texts[i].to, texts[i].size, "%s", value) < texts[i].size;
    double number = strtod(value, &end);
    return end > value && *end == '\0' && set_number(c, line, number);
}

bool config_read(const char *folder, Config *out, gi_err *err) {
    char path[600], *rest = NULL;
    gi_buf text = {0};
    Config c = {.threads = gi_cores()};
    snprintf(c.folder, sizeof c.folder, "%s", folder);
    snprintf(path, sizeof path, "%s/config", folder);
    if (!gi_read_file(path, &text, err)) return false;
    bool ok = true;
    gi_buf_adds(&text, "");
    for (char *line = strtok_r(text.data, "\n", &rest); line && ok;
         line = strtok_r(NULL, "\n", &rest)) {
        ok = read_line(&c, line);
        if (!ok)
            gi_fail(err, "format",
                    "%s: '%s' is not understood: the program `gilua` and its library libcudart.so "
                    "are of different versions",
                    path, line);
    }
    gi_buf_free(&text);
    if (ok) *out = c;
    return ok;
}
