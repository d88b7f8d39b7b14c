/* farm.h - worker processes: spawn, framed messages over socket pairs, replacement, blame.
**
** A worker is the program itself, started by posix_spawn with a socket as descriptor 3; it serves
** one message at a time and answers each with one message. What a message means is the business of
** the Lua side (lua/gilua/farm.lua, worker.lua): here it is bytes. A worker that dies is reported,
** never waited for; one that takes too long is killed by its process id. Workers end when the host
** does, however it ends: their socket closes and the kernel sends them SIGKILL (PR_SET_PDEATHSIG).
*/
#ifndef GILUA_FARM_H
#define GILUA_FARM_H

#include "base/base.h"

#define FARM_WORKER_FD 3
#define FARM_MAX_MESSAGE (1u << 30) /* bytes; a larger one is a broken worker */

typedef struct Farm Farm;

/* Starts n workers running argv (NULL-ended, argv[0] a path). "io" when they cannot be started. */
Farm *farm_open(const char *const *argv, int n, gi_err *err);
void farm_close(Farm *f); /* kills and reaps every worker */
int farm_size(const Farm *f);
int farm_pid(const Farm *f, int worker);

/* Queues a message; it is written while farm_wait waits. Never blocks. */
void farm_send(Farm *f, int worker, const void *bytes, size_t len);

typedef enum FarmEventKind {
    FARM_MESSAGE, FARM_DIED, FARM_NOTHING, FARM_INTERRUPTED
} FarmEventKind;

typedef struct FarmEvent {
    FarmEventKind kind;
    int worker;
    gi_buf message;   /* FARM_MESSAGE: the answer; FARM_DIED: how ("killed by signal 9") */
} FarmEvent;

/* Waits up to timeout_s for one event (FARM_NOTHING when none came; FARM_INTERRUPTED when a signal
** arrived first). The event's buffer is the caller's, reused or freed by gi_buf_free. */
void farm_wait(Farm *f, double timeout_s, FarmEvent *out);

/* Ends a worker if it still runs and starts a new one in its place; queued messages are dropped. */
bool farm_restart(Farm *f, int worker, gi_err *err);

/* The worker's side: blocking. farm_receive is false at the end of the conversation. */
bool farm_receive(int fd, gi_buf *out);
bool farm_answer(int fd, const void *bytes, size_t len);

#endif
