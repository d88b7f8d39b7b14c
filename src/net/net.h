/* net.h - messages between machines: a connection to a NATS server (https://nats.io), by subject.
**
** libnats is opened at run time: gilua is built and runs without it. It has threads of its own;
** what they receive comes through a pipe, so that whoever waits can poll it among other
** descriptors. They handle no signals.
**
** Nothing is promised about a message: the server keeps none, and while the connection is cut what
** is published waits here, up to NET_WAITING bytes, or is refused. The connection is made again by
** itself for as long as it takes. Who needs an answer asks again.
*/
#ifndef GILUA_NET_H
#define GILUA_NET_H

#include "base/base.h"

#define NET_WAITING (64 << 20)

typedef struct Net Net;

/* Strings may be NULL. An address begins with nats:// or tls://; with ca or certificate the
** connection is encrypted in either case, and the server's certificate is always checked. */
typedef struct NetOptions {
    const char *url, *name; /* name: told to the server, for its log */
    const char *user, *password, *token;
    const char *ca;                /* file of the certificates that are trusted, PEM */
    const char *certificate, *key; /* this side's own, files, PEM: both or none */
} NetOptions;

/* Which libnats this machine has: "3.4.1". NULL: "nolib", and what to do. */
const char *net_library(gi_err *err);

/* Connects. NULL: "nolib", "usage" (an address or a file that is none), "io" (no server there, or
** it refuses). */
Net *net_open(const NetOptions *options, gi_err *err);
void net_close(Net *net); /* what was published goes out first, for a second at most */

/* Asks for the messages of a subject; "*" in it stands for one word. "io". */
bool net_subscribe(Net *net, const char *subject, gi_err *err);
/* Queues a message of at most net_max_bytes(). "io". */
bool net_publish(Net *net, const char *subject, const void *bytes, size_t len, gi_err *err);
size_t net_max_bytes(const Net *net); /* as the server has it */

/* The next message that is there: its subject and bytes, valid until the next call. False where
** there is none. Never blocks. */
typedef struct NetMessage {
    const char *subject, *bytes;
    size_t len;
} NetMessage;
bool net_take(Net *net, NetMessage *out);

/* Becomes readable when there is a message to take. */
int net_descriptor(const Net *net);

typedef enum NetState {
    NET_CONNECTED,
    NET_CUT,   /* it is being made again */
    NET_CLOSED /* for good: the server refuses us; err says how */
} NetState;
NetState net_state(Net *net, gi_err *err);

#endif
