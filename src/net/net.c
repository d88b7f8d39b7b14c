/* net.c - see net.h. The pipe is the queue: a thread of libnats' writes the address of a message
** into it, the reader owns the message from then on. A full pipe makes that thread wait.
*/
#include "net/net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/library.h"

#define CONNECT_MS   5000
#define RECONNECT_MS 250 /* between two attempts */
#define PING_MS      5000
#define GOODBYE_MS   1000
#define DONE_S       2 /* that libnats may take to be done with our subscriptions */

typedef struct Received {
    NatsMessage *message;
} Received;

struct Net {
    const Nats *nats;
    NatsConnection *connection;
    NatsSubscription **subscriptions;
    int n_subscriptions, cap_subscriptions;
    int reader, writer; /* of the pipe */
    atomic_int alive;   /* subscriptions that may still call us */
    NatsMessage *taken; /* whose bytes somebody looks at */
};

/* --- threads of libnats --- */

static void on_message(NatsConnection *c, NatsSubscription *s, NatsMessage *m, void *closure) {
    (void)c, (void)s;
    Net *net = closure;
    const Received r = {m};
    ssize_t n;
    do n = write(net->writer, &r, sizeof r); /* whole, or not: it is less than PIPE_BUF */
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof r) net->nats->message_destroy(m); /* we are closing */
}

static void on_done(void *closure) {
    Net *net = closure;
    atomic_fetch_sub(&net->alive, 1);
}

/* Where there is no handler libnats prints to standard error. */
static void on_error(NatsConnection *c, NatsSubscription *s, int status, void *closure) {
    (void)c, (void)s, (void)status, (void)closure;
}

/* libnats' sockets are inherited by the programs that this one starts, which keep a connection open
** that is over here. Nothing says which descriptors they are: all sockets of the network are closed
** on exec, when one was made. (A program that is started between the two has it still.) */
static void close_on_exec(void) {
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = atoi(entry->d_name); /* 0 for "." and ".." */
        struct sockaddr_storage a = {0};
        socklen_t size = sizeof a;
        if (fd <= STDERR_FILENO || getsockname(fd, (struct sockaddr *)&a, &size) != 0) continue;
        if (a.ss_family == AF_INET || a.ss_family == AF_INET6) fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (folder) closedir(folder);
}

static void on_reconnected(NatsConnection *c, void *closure) {
    (void)c, (void)closure;
    close_on_exec();
}

/* Threads begin with the signals of who makes them blocked: none may run the host's handlers, nor
** be ended by a broken pipe. */
static sigset_t without_signals(void) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    return old;
}

static void with_signals(sigset_t old) {
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* --- opening --- */

const char *net_library(gi_err *err) {
    const Nats *nats = nats_load(err);
    return nats ? nats->version() : NULL;
}

static bool is_there(const char *what, const char *path, gi_err *err) {
    if (path == NULL || access(path, R_OK) == 0) return true;
    return gi_fail(err, "usage", "%s %s cannot be read: %s", what, path, strerror(errno));
}

/* nats:// or tls://, a host (an address of IPv6 in brackets), perhaps a port. */
static bool is_address(const char *url) {
    const size_t scheme = strncmp(url, "nats://", 7) == 0  ? 7
                          : strncmp(url, "tls://", 6) == 0 ? 6
                                                           : 0;
    const char *host = url + scheme, *rest = host + strcspn(host, *host == '[' ? "]" : ":/, ");
    if (scheme == 0 || rest == host) return false;
    if (*host == '[' && *rest++ != ']') return false;
    char *end = (char *)(uintptr_t)rest;
    const long port = *rest == ':' && rest[1] != '-' ? strtol(rest + 1, &end, 10) : 1;
    return port >= 1 && port <= 65535 && end[*end == '/'] == '\0';
}

static bool check(const NetOptions *o, gi_err *err) {
    if (!is_address(o->url))
        return gi_fail(err, "usage",
                       "'%s' is no address of a NATS server: write nats://HOST:4222 or "
                       "tls://HOST:4222",
                       o->url);
    if ((o->certificate == NULL) != (o->key == NULL))
        return gi_fail(err, "usage", "of a certificate and its key one is missing");
    return is_there("the certificates of", o->ca, err) &&
           is_there("the certificate", o->certificate, err) && is_there("the key", o->key, err);
}

/* Everything but the address, which names the machine in the sentence of who calls. */
static int set_options(const Nats *nats, NatsOptions *options, const NetOptions *o) {
    const bool secure = o->ca || o->certificate || strncmp(o->url, "tls://", 6) == 0;
    int s = nats->set_url(options, o->url);
    if (!s && o->name) s = nats->set_name(options, o->name);
    if (!s && o->token) s = nats->set_token(options, o->token);
    if (!s && o->user) s = nats->set_user(options, o->user, o->password ? o->password : "");
    if (!s && secure) s = nats->set_secure(options, true);
    if (!s && o->ca) s = nats->load_ca(options, o->ca);
    if (!s && o->certificate) s = nats->load_certificate(options, o->certificate, o->key);
    if (!s) s = nats->set_timeout(options, CONNECT_MS);
    if (!s) s = nats->set_max_reconnect(options, -1);
    if (!s) s = nats->set_reconnect_wait(options, RECONNECT_MS);
    if (!s) s = nats->set_waiting(options, NET_WAITING);
    if (!s) s = nats->set_ping_interval(options, PING_MS);
    if (!s) s = nats->set_error_handler(options, on_error, NULL);
    if (!s) s = nats->set_reconnected(options, on_reconnected, NULL);
    return s;
}

static bool refuse(const Nats *nats, const NetOptions *o, int status, gi_err *err) {
    if (status == NATS_NO_SERVER)
        return gi_fail(
            err, "io",
            "no NATS server answers at %s: is nats-server running there, and no firewall "
            "between?",
            o->url);
    if (status == NATS_TIMEOUT || status == NATS_PROTOCOL_ERROR ||
        status == NATS_LINE_TOO_LONG)
        return gi_fail(err, "io",
                       "what listens at %s does not answer as a NATS server does: is that its "
                       "port (nats-server's own is 4222), or does it wait for tls://?",
                       o->url);
    if (status == NATS_NOT_SECURE)
        return gi_fail(err, "io",
                       "the NATS server at %s has no encryption: write nats://, and name no "
                       "certificates",
                       o->url);
    if (status == NATS_AUTH_FAILED)
        return gi_fail(
            err, "io",
            "the NATS server at %s does not know this %s: NATS_USER and NATS_PASSWORD, or "
            "NATS_TOKEN, say who we are",
            o->url,
            o->token  ? "token"
            : o->user ? "user and password"
                      : "user (none)");
    const char *more = nats->last_error(NULL);
    return gi_fail(err, "io", "the NATS server at %s cannot be used: %s%s%s", o->url,
                   nats->words(status), more ? ", " : "", more ? more : "");
}

static bool connect_to(Net *net, const NetOptions *o, gi_err *err) {
    NatsOptions *options = NULL;
    sigset_t old = without_signals();
    int s = net->nats->options_create(&options);
    if (!s) s = set_options(net->nats, options, o);
    if (!s) s = net->nats->connect(&net->connection, options);
    if (s) refuse(net->nats, o, s, err);
    close_on_exec();
    net->nats->options_destroy(options);
    with_signals(old);
    return s == NATS_OK;
}

Net *net_open(const NetOptions *options, gi_err *err) {
    const Nats *nats = nats_load(err);
    int ends[2];
    if (nats == NULL || !check(options, err)) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        gi_fail(err, "io", "a pipe cannot be made: %s", strerror(errno));
        return NULL;
    }
    Net *net = gi_alloc(sizeof *net);
    net->nats = nats, net->reader = ends[0], net->writer = ends[1];
    fcntl(net->reader, F_SETFL, O_NONBLOCK);
    if (connect_to(net, options, err)) return net;
    close(net->reader), close(net->writer);
    free(net);
    return NULL;
}

/* --- closing --- */

static void drop_all(Net *net) {
    NetMessage ignored;
    while (net_take(net, &ignored)) {}
}

/* A thread may still be in on_message, at a full pipe even. */
static bool wait_for_threads(Net *net) {
    double until = gi_seconds() + DONE_S;
    while (atomic_load(&net->alive) > 0 && gi_seconds() < until) {
        drop_all(net);
        usleep(1000);
    }
    drop_all(net);
    net->nats->message_destroy(net->taken);
    net->taken = NULL;
    return atomic_load(&net->alive) == 0;
}

void net_close(Net *net) {
    if (net == NULL) return;
    const Nats *nats = net->nats;
    sigset_t old = without_signals();
    if (nats->status(net->connection) == NATS_STATE_CONNECTED)
        nats->flush(net->connection, GOODBYE_MS);
    for (int i = 0; i < net->n_subscriptions; i++) nats->unsubscribe(net->subscriptions[i]);
    nats->close(net->connection);
    bool done = wait_for_threads(net);
    for (int i = 0; i < net->n_subscriptions; i++)
        nats->subscription_destroy(net->subscriptions[i]);
    nats->destroy(net->connection);
    with_signals(old);
    free(net->subscriptions);
    net->subscriptions = NULL;
    if (!done) return; /* what a thread may still use stays */
    close(net->reader), close(net->writer);
    free(net);
}

/* --- messages --- */

static bool fail_with(Net *net, const char *what, int status, gi_err *err) {
    return gi_fail(err, "io", "%s: %s", what, net->nats->words(status));
}

bool net_subscribe(Net *net, const char *subject, gi_err *err) {
    const Nats *nats = net->nats;
    NatsSubscription *s;
    gi_grow(net->subscriptions, net->n_subscriptions, net->cap_subscriptions);
    sigset_t old = without_signals();
    atomic_fetch_add(&net->alive, 1);
    int status = nats->subscribe(&s, net->connection, subject, on_message, net);
    if (status == NATS_OK) {
        net->subscriptions[net->n_subscriptions++] = s;
        if (nats->set_done(s, on_done, net) != NATS_OK) on_done(net);
        nats->set_pending(s, -1, -1); /* what waits for us is bounded by what we ask for */
    } else {
        atomic_fetch_sub(&net->alive, 1);
    }
    with_signals(old);
    return status == NATS_OK || fail_with(net, "messages cannot be asked for", status, err);
}

bool net_publish(Net *net, const char *subject, const void *bytes, size_t len, gi_err *err) {
    if (len > net_max_bytes(net))
        return gi_fail(err, "usage", "a message of %zu bytes, and the server takes %zu", len,
                       net_max_bytes(net));
    int status = net->nats->publish(net->connection, subject, bytes, (int)len);
    return status == NATS_OK || fail_with(net, "a message cannot be sent", status, err);
}

size_t net_max_bytes(const Net *net) {
    int64_t most = net->nats->max_payload(net->connection);
    return most > 0 ? (size_t)most : 1 << 20;
}

bool net_take(Net *net, NetMessage *out) {
    Received r;
    ssize_t n;
    do n = read(net->reader, &r, sizeof r);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof r) return false;
    net->nats->message_destroy(net->taken);
    net->taken = r.message;
    *out = (NetMessage){net->nats->message_subject(r.message), net->nats->message_data(r.message),
                        (size_t)net->nats->message_length(r.message)};
    return true;
}

int net_descriptor(const Net *net) {
    return net->reader;
}

NetState net_state(Net *net, gi_err *err) {
    const char *why = NULL;
    int state = net->nats->status(net->connection);
    if (state == NATS_STATE_CONNECTED) return NET_CONNECTED;
    if (state != NATS_STATE_CLOSED) return NET_CUT;
    net->nats->connection_error(net->connection, &why);
    gi_fail(err, "io", "the NATS server has closed the connection: %s",
            why && *why ? why : "it does not say why");
    return NET_CLOSED;
}
