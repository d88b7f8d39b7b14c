/* channel.h - private to this room: messages over a stream socket, each perhaps with a share.
**
** A frame is a head { length, shares } of two 32-bit numbers in the machine's order and `length`
** bytes. A share's descriptor is attached (SCM_RIGHTS) to the first byte of its frame, so it
** has arrived when the head has; descriptors come in the order of their frames. The other side is
** never believed: a length, a descriptor or a share that is nonsense breaks the channel.
*/
#ifndef GILUA_FARM_CHANNEL_H
#define GILUA_FARM_CHANNEL_H

#include "array/share.h"
#include "base/base.h"

typedef struct ChannelShare {
    uint64_t at; /* first byte of its frame, counted from the first byte ever queued */
    Share *share;
} ChannelShare;

enum { CHANNEL_MAX_FDS = 64 }; /* descriptors received and not claimed yet */

typedef struct Channel {
    int fd; /* -1: closed */
    gi_buf out;
    size_t out_done;      /* of `out`, bytes written */
    uint64_t out_base;    /* bytes written and forgotten before out.data[0] */
    ChannelShare *shares; /* still to be sent: shares[first_share … n_shares-1] */
    int first_share, n_shares, cap_shares;
    gi_buf in;
    size_t in_done; /* of `in`, bytes taken */
    int fds[CHANNEL_MAX_FDS], n_fds;
} Channel;

void channel_open(Channel *c, int fd);
void channel_close(Channel *c); /* closes every descriptor, drops what is queued; twice is fine */
void channel_free(Channel *c);  /* its memory, too */

/* Queues a message; keeps a reference to the share (NULL: none) until it is written. */
void channel_put(Channel *c, const void *bytes, size_t len, Share *share);
bool channel_has_output(const Channel *c);
/* Writes what goes without blocking; false when the other side has gone. */
bool channel_flush(Channel *c);

typedef enum ChannelState {
    CHANNEL_OPEN,
    CHANNEL_ENDED,
    CHANNEL_BROKEN /* err says why */
} ChannelState;

/* Reads, without blocking, until one whole message is there or nothing more comes. */
ChannelState channel_fill(Channel *c, gi_err *err);

/* Is a whole message, or nonsense, there to be taken? */
bool channel_has_message(const Channel *c);

typedef enum ChannelTake {
    CHANNEL_NONE,
    CHANNEL_TOOK,
    CHANNEL_NONSENSE /* err says why */
} ChannelTake;

/* Moves the next whole message to *out (cleared first) and its share or NULL to *share. */
ChannelTake channel_take(Channel *c, gi_buf *out, Share **share, gi_err *err);

#endif
