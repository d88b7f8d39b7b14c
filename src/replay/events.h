/* events.h - a recording's lines as data. Private to src/replay. docs/recording.md has them. */
#ifndef GILUA_REPLAY_EVENTS_H
#define GILUA_REPLAY_EVENTS_H

#include "emu/emu.h"

#define HOST_END ((uint64_t)1 << 47) /* the virtual GPU's own addresses begin there */

enum { EVENT_HANDLES_WITHIN = 1 << 16 }; /* bytes of data that may hold textures' handles */

typedef enum EventKind {
    EVENT_NONE, /* nothing to replay: "gilua", "program", "gpu" */
    EVENT_MODULE,
    EVENT_CUBIN, /* a module that is machine code: its launches are opaque */
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
    EVENT_WROTE, /* what the opaque launch before it did */
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
    bool is_device;          /* memory at an address that only the virtual GPU gives */
    Place to, from;          /* from: of copies */
    uint64_t width, height, depth;
    unsigned value, element;
    const char *name; /* of a blob, variable or kernel: name_len bytes of the line */
    int name_len;
    unsigned grid[3], block[3], cluster[3]; /* cluster: zeros: the launch says none */
    uint64_t shared;
    bool cooperative;
    const char *hex; /* arguments: hex_len digits of the line */
    size_t hex_len;
    uint64_t size[3]; /* of an array: width, height, depth */
    int bits[4];      /* of a texel's parts */
    int parts;        /* what these are: 0 signed, 1 unsigned, 2 floating point */
    unsigned flags;   /* of an array: cudaArrayLayered … */
    bool is_surface;  /* of a texture's event: it is one that kernels write to */
    const char *rest; /* of a texture: what stands behind its place, to the end of the line */
} Event;

/* Reads the line that ends at `end`; false for one that is none. */
bool event_read(const char *line, const char *end, Event *out);

/* The line at `at`: where it ends, not counting what ends it. */
const char *event_line(const char *at, const char *end);

/* Is it less than a terabyte, and do the rows of a place, from the first to the last, lie within
** one? */
bool event_is_small(const Event *e);
bool event_is_place(const Place *p, const Event *e);
/* Is nothing copied or filled? */
bool event_is_nothing(const Event *e);
/* Bytes that are copied or filled, and from the first to the last byte of their place. */
uint64_t event_volume(const Event *e);
uint64_t event_span(const Place *p, const Event *e);

/* Reads a texture's line, without its texels; false if a recorder cannot have written it. */
bool event_texture(const Event *e, EmuTexture *out);
/* The bytes of the arguments of a launch, to free(). */
uint8_t *event_arguments(const Event *e);

/* The number behind "KEY=" in a texture's line, and behind commas in it; 0 where there is none. */
double event_value(const char *rest, const char *key, int index);

#endif
