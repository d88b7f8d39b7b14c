/* events.h - a recording's lines as data. Private to src/replay. docs/recording.md has them. */
#ifndef GILUA_REPLAY_EVENTS_H
#define GILUA_REPLAY_EVENTS_H

#include "base/base.h"

typedef enum EventKind {
    EVENT_NONE, /* nothing to replay: "gilua", "program", "gpu" */
    EVENT_MODULE,
    EVENT_VARIABLE,
    EVENT_MEMORY,
    EVENT_ARRAY,
    EVENT_TEXTURE,
    EVENT_FREE,
    EVENT_FREE_ARRAY,
    EVENT_FREE_TEXTURE,
    EVENT_WRITE,
    EVENT_SET,
    EVENT_COPY,
    EVENT_LAUNCH,
    EVENT_READ
} EventKind;

typedef struct Place { /* where rows of bytes begin */
    int array;         /* -1: at address */
    uint64_t address;
    uint64_t x, y, z;  /* in an array: bytes, rows, slices */
    uint64_t row, rows;
} Place;

typedef struct Event {
    EventKind kind;
    int number;              /* of a module or array */
    uint64_t address, bytes; /* of memory, a variable; a texture's handle */
    bool is_device;          /* memory of the device's own */
    Place to, from;          /* from: of copies */
    uint64_t width, height, depth;
    unsigned value, element;
    const char *name; /* of a blob, variable or kernel: name_len bytes of the line */
    int name_len;
    unsigned grid[3], block[3];
    uint64_t shared;
    bool cooperative;
    const char *hex; /* arguments: hex_len digits of the line */
    size_t hex_len;
    uint64_t size[3]; /* of an array: width, height, depth */
    int bits[4];      /* of a texel's parts */
    const char *rest; /* of a texture: what stands behind its place, to the end of the line */
} Event;

/* Reads the line that ends at `end`; false for one that is none. */
bool event_read(const char *line, const char *end, Event *out);

/* The number behind "KEY=" in a texture's line, and behind commas in it; 0 where there is none. */
double event_value(const char *rest, const char *key, int index);

#endif
