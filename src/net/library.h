/* library.h - libnats, loaded at run time. Private to src/net.
**
** What is needed of its API is declared here, by name, with types of its own whose layout is that
** of libnats 3 (nats.h of the NATS C client).
*/
#ifndef GILUA_NET_LIBRARY_H
#define GILUA_NET_LIBRARY_H

#include "base/base.h"

typedef struct NatsConnection NatsConnection;
typedef struct NatsSubscription NatsSubscription;
typedef struct NatsMessage NatsMessage;
typedef struct NatsOptions NatsOptions;
typedef void NatsHandler(NatsConnection *c, NatsSubscription *s, NatsMessage *m, void *closure);
typedef void NatsErrorHandler(NatsConnection *c, NatsSubscription *s, int status, void *closure);
typedef void NatsConnectionHandler(NatsConnection *c, void *closure);
typedef void NatsDone(void *closure);

/* The results (natsStatus) and states (natsConnStatus) that are treated apart. */
enum {
    NATS_OK = 0,
    NATS_PROTOCOL_ERROR = 2,
    NATS_LINE_TOO_LONG = 4,
    NATS_NO_SERVER = 6,
    NATS_NOT_SECURE = 8,
    NATS_AUTH_FAILED = 11,
    NATS_TIMEOUT = 26,
    NATS_STATE_CONNECTED = 2,
    NATS_STATE_CLOSED = 3
};

#define NATS_FUNCTIONS(F)                                                                          \
    F(const char *, version, nats_GetVersion, (void))                                              \
    F(const char *, last_error, nats_GetLastError, (int *status))                                  \
    F(const char *, words, natsStatus_GetText, (int status))                                       \
    F(int, options_create, natsOptions_Create, (NatsOptions **))                                   \
    F(void, options_destroy, natsOptions_Destroy, (NatsOptions *))                                 \
    F(int, set_url, natsOptions_SetURL, (NatsOptions *, const char *))                             \
    F(int, set_name, natsOptions_SetName, (NatsOptions *, const char *))                           \
    F(int, set_user, natsOptions_SetUserInfo, (NatsOptions *, const char *, const char *))         \
    F(int, set_token, natsOptions_SetToken, (NatsOptions *, const char *))                         \
    F(int, set_secure, natsOptions_SetSecure, (NatsOptions *, bool))                               \
    F(int, load_ca, natsOptions_LoadCATrustedCertificates, (NatsOptions *, const char *))          \
    F(int, load_certificate, natsOptions_LoadCertificatesChain,                                    \
      (NatsOptions *, const char *, const char *))                                                 \
    F(int, set_timeout, natsOptions_SetTimeout, (NatsOptions *, int64_t))                          \
    F(int, set_max_reconnect, natsOptions_SetMaxReconnect, (NatsOptions *, int))                   \
    F(int, set_reconnect_wait, natsOptions_SetReconnectWait, (NatsOptions *, int64_t))             \
    F(int, set_waiting, natsOptions_SetReconnectBufSize, (NatsOptions *, int))                     \
    F(int, set_ping_interval, natsOptions_SetPingInterval, (NatsOptions *, int64_t))               \
    F(int, set_error_handler, natsOptions_SetErrorHandler,                                         \
      (NatsOptions *, NatsErrorHandler *, void *))                                                 \
    F(int, set_reconnected, natsOptions_SetReconnectedCB,                                          \
      (NatsOptions *, NatsConnectionHandler *, void *))                                            \
    F(int, connect, natsConnection_Connect, (NatsConnection **, NatsOptions *))                    \
    F(int, status, natsConnection_Status, (NatsConnection *))                                      \
    F(int, connection_error, natsConnection_GetLastError, (NatsConnection *, const char **))       \
    F(int64_t, max_payload, natsConnection_GetMaxPayload, (NatsConnection *))                      \
    F(int, publish, natsConnection_Publish, (NatsConnection *, const char *, const void *, int))   \
    F(int, flush, natsConnection_FlushTimeout, (NatsConnection *, int64_t))                        \
    F(void, close, natsConnection_Close, (NatsConnection *))                                       \
    F(void, destroy, natsConnection_Destroy, (NatsConnection *))                                   \
    F(int, subscribe, natsConnection_Subscribe,                                                    \
      (NatsSubscription **, NatsConnection *, const char *, NatsHandler *, void *))                \
    F(int, set_pending, natsSubscription_SetPendingLimits, (NatsSubscription *, int, int))         \
    F(int, set_done, natsSubscription_SetOnCompleteCB, (NatsSubscription *, NatsDone *, void *))   \
    F(int, unsubscribe, natsSubscription_Unsubscribe, (NatsSubscription *))                        \
    F(void, subscription_destroy, natsSubscription_Destroy, (NatsSubscription *))                  \
    F(const char *, message_subject, natsMsg_GetSubject, (const NatsMessage *))                    \
    F(const char *, message_data, natsMsg_GetData, (const NatsMessage *))                          \
    F(int, message_length, natsMsg_GetDataLength, (const NatsMessage *))                           \
    F(void, message_destroy, natsMsg_Destroy, (NatsMessage *))

typedef struct Nats {
#define NATS_FIELD(type, field, symbol, arguments) type(*field) arguments;
    NATS_FUNCTIONS(NATS_FIELD)
#undef NATS_FIELD
} Nats;

/* Loads it, once; it stays loaded. NULL: "nolib". */
const Nats *nats_load(gi_err *err);

#endif
