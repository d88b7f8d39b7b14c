/* farm.h - worker processes: spawn, framed messages over socket pairs, shared arrays, replacement.
**
** A worker is the program itself, started by exec with a socket as descriptor 3; it serves
** one message at a time and answers each with one message. What a message means is the business of
** the Lua side (lua/gilua/farm): here it is bytes, and perhaps a share of arrays
** (array/share.h), whose descriptor travels with it. A worker is never believed and never waited
** for: one that dies, sends nonsense or outgrows its memory is ended by its process id, and
** reported.
**
** Deaths are classed by their cause, because a mutant is blamed for some and not for others. By
** the worker's own doing are a fault (SIGSEGV, SIGABRT and their kin), an exit, nonsense, and its
** size. A signal that no program gets by what it does (SIGKILL above all) came from somebody else:
** from the kernel where its count of processes killed for want of memory (`oom_kill` in
** /proc/vmstat, Linux 4.13) has just risen, else from outside. Workers offer themselves to
** that killer before everybody else (oom_score_adj).
**
** Each worker leads a process group, which is killed with it, so that its own children go too.
** Workers end when the host does, however it ends: the kernel sends them a signal
** (PR_SET_PDEATHSIG), on which they kill their group, and their socket closes.
*/
#ifndef GILUA_FARM_H
#define GILUA_FARM_H

#include "array/share.h"
#include "base/base.h"

#define FARM_WORKER_FD   3
#define FARM_MAX_MESSAGE (1u << 30) /* bytes; a larger one is a broken worker */

typedef struct Farm Farm;

typedef struct FarmOptions {
    size_t memory_bytes; /* of one worker, pages shared with others not counted; 0: no limit */
} FarmOptions;

/* Starts n workers running argv (NULL-ended, argv[0] a path); options may be NULL. "io" when they
** cannot be started. */
Farm *farm_open(const char *const *argv, int n, const FarmOptions *options, gi_err *err);
void farm_close(Farm *f); /* kills and reaps every worker */
int farm_size(const Farm *f);
int farm_pid(const Farm *f, int worker); /* 0 when it has ended */

/* Sends a message, with a share when it is not NULL. What the socket does not take at once is
** written while farm_wait waits; a reference to the share is held until then. Never blocks. At most
** FARM_MAX_MESSAGE bytes. */
void farm_send(Farm *f, int worker, const void *bytes, size_t len, Share *share);

typedef enum FarmEventKind {
    FARM_MESSAGE,
    FARM_DIED,    /* by a fault, an exit or nonsense of its own */
    FARM_MEMORY,  /* it outgrew its limit, or an allocation of its own failed */
    FARM_STARVED, /* the machine's memory ran out, and the kernel took this worker */
    FARM_KILLED,  /* by a signal that somebody sent it, or because we could not take its answer */
    FARM_WATCHED, /* the descriptor of farm_watch can be read */
    FARM_NOTHING,
    FARM_INTERRUPTED
} FarmEventKind;

typedef struct FarmEvent {
    FarmEventKind kind;
    int worker;
    gi_buf message; /* FARM_MESSAGE: the answer; of one that ended: how, a sentence */
    Share *share;   /* that came with a message, or NULL */
} FarmEvent;

/* Waits up to timeout_s for one event (FARM_NOTHING when none came; FARM_INTERRUPTED when a signal
** arrived first). Zero-initialise the event once; what it holds from the last time is released,
** its buffer reused. While waiting, the processes are looked at 20 times a second. */
void farm_wait(Farm *f, double timeout_s, FarmEvent *event);
/* From now on farm_wait ends (FARM_WATCHED) when this descriptor, which is the caller's, can be
** read and no worker has anything for us; -1: none. */
void farm_watch(Farm *f, int fd);
void farm_event_free(FarmEvent *event);

/* Seconds of processor time that a worker has used since its start, and the bytes of memory that
** are its alone; 0 when it has ended. */
double farm_cpu_s(const Farm *f, int worker);
size_t farm_memory(const Farm *f, int worker);
/* Is it at work, or would be if it got a processor? A worker that waits for something is not. */
bool farm_wants_cpu(const Farm *f, int worker);

/* Ends a worker at once; nothing is reported of it any more. */
void farm_kill(Farm *f, int worker);
/* Ends a worker if it still runs and starts a new one in its place; queued messages are dropped. */
bool farm_restart(Farm *f, int worker, gi_err *err);

/* The worker's side, blocking; for one socket a process. One that ends with GI_EXIT_MEMORY says
** that it got no memory. */
typedef struct FarmSeat FarmSeat;
FarmSeat *farm_join(int fd); /* takes over the descriptor; first thing in a worker */
/* The next message and its share (the caller's) or NULL; false at the end of the conversation. */
bool farm_receive(FarmSeat *seat, gi_buf *out, Share **share);
bool farm_answer(FarmSeat *seat, const void *bytes, size_t len, Share *share);
void farm_leave(FarmSeat *seat);

/* The box: what a worker may do once it has entered it, since what it runs may be a stranger's
** (the code of a problem; a compiler and an emulator, fed with a stranger's kernel). It reads
** files, and writes below its own scratch folder alone; has no network, starts no process and
** signals none, gets no privilege that it does not have, and changes nothing of the machine that
** outlives it. With a GPU it may write to the driver's devices and have sockets that nobody
** outside is connected to (but for an MPS server that is there). docs/security.md says it for
** people. */
typedef struct BoxOptions {
    const char *scratch; /* a folder in which it gets one of its own, $TMPDIR from then on; NULL:
                          * nothing may be written at all */
    const char *kept;    /* a folder in which it may make, replace and remove files; may be NULL */
    bool gpu;            /* it will open device cuda */
    uint64_t file_bytes; /* the most that a file may grow to, shared arrays too; 0: no limit */
    bool programs;       /* it will start programs: compilers, and what they make of a stranger's
                          * source. They are in the same box, and scratch itself is where they may
                          * write */
} BoxOptions;

typedef struct BoxLocks {
    bool privileges; /* no new ones (Linux 3.5) */
    bool calls;      /* the network, processes, the machine: seccomp */
    int landlock;    /* files: the version of Landlock, 0 where the kernel has none (before 5.13) */
} BoxLocks;

/* To be called before the process has a second thread (it sets variables of the environment, too);
** there is no way out. *out says what is shut; false ("io") where the kernel has a lock and
** refused to turn it. Kernels without Landlock are no failure. With AddressSanitizer the process
** may be cloned and traced. */
bool box_enter(const BoxOptions *options, BoxLocks *out, gi_err *err);
BoxLocks box_here(void); /* what a box can be on this machine */

#endif
