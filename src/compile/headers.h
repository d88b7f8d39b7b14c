/* headers.h - what sources begin with, compiled once: NVRTC's precompiled headers (12.8 and later).
** Private to src/compile.
**
** NVRTC writes an image of its heap to a file. The image is of use to this process alone, for it
** holds addresses; so the file loses its name as soon as it is made, and goes with the process.
** Headers are kept when their image is large: small ones cost less to read again than is worth a
** file. That is a matter of their size, not of time, so it is the same on every machine.
*/
#ifndef GILUA_COMPILE_HEADERS_H
#define GILUA_COMPILE_HEADERS_H

#include "base/base.h"

typedef struct HeadersEntry HeadersEntry;

typedef struct Headers { /* zero: keeps nothing */
    char *folder;        /* where images are made; NULL: nothing is kept */
    HeadersEntry *v;
    int n, cap;
    long turn; /* of use, for the oldest to go first */
} Headers;

/* Has NVRTC compile the headers, with this option too; false where it could not. *log gets what it
** says of them. */
typedef bool (*HeadersMake)(void *context, const char *option, gi_buf *log);

/* The option by which NVRTC takes headers from their image, until the next call; NULL where there
** is none. `key` is all that decides what the headers mean. They are compiled when they are asked
** for a second time, or at once with `eager`: who has much to compile behind them. */
const char *headers_option(Headers *h, const char *key, size_t len, bool eager, HeadersMake make,
                           void *context);
/* NVRTC did not take them: they are not offered again. */
void headers_refuse(Headers *h, const char *option);
void headers_free(Headers *h);

/* Where `said`, NVRTC's log, has the line that says that an image was used or made, and what is
** behind it; false where no line says so. */
bool headers_line(const char *said, const char **line, const char **rest);
/* NVRTC's log of a source that it compiled behind such headers, as it would be without: with what
** it had to say of them. False where the log does not say that they were used. */
bool headers_log(const Headers *h, const char *option, const char *said, gi_buf *out);

/* How much of a source its leading #include lines take, with blanks and comments; 0 for none. Only
** those count that `known` knows, up to the first that it does not. */
size_t headers_length(const char *source, bool (*known)(const void *context, const char *name),
                      const void *context);

/* Is what a text includes, and what that includes, surely too small for an image? `find` has the
** path of a file that may be (the caller frees it), NULL for another. */
typedef char *(*HeadersFind)(const void *context, const char *name);
bool headers_are_small(const char *text, HeadersFind find, const void *context);

#endif
