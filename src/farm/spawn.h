/* spawn.h - private to this room: starting and ending the processes of workers. */
#ifndef GILUA_FARM_SPAWN_H
#define GILUA_FARM_SPAWN_H

#include <sys/types.h>

#include "base/base.h"

/* Starts argv (argv[0] a path) with `socket` as FARM_WORKER_FD, /dev/null as standard input and
** output, no other descriptor but standard error, no core dumps, default signals, in a process
** group of its own, the first to go when the machine's memory runs out. It is ended by the kernel
** when the calling thread ends. 0: "io". */
pid_t spawn_worker(char *const *argv, int socket, gi_err *err);

/* Kills the worker's whole process group; the process itself has still to be reaped. */
void spawn_kill(pid_t pid);
/* Has it ended by itself? Leaves it to be reaped. */
bool spawn_has_ended(pid_t pid);
/* Waits for its end; returns how it ended, as wait(2) tells it. */
int spawn_reap(pid_t pid);
/* Bytes of memory that are this process's alone; 0 when it has ended. */
size_t spawn_memory(pid_t pid);
/* Seconds of processor time it has used, all threads together; 0 when it has ended. */
double spawn_cpu_s(pid_t pid);
/* Would it work if it got a processor, or its disk's answer: is one of its threads running, waiting
** for its turn, or in a wait that nothing interrupts? */
bool spawn_wants_cpu(pid_t pid);
/* How many processes the kernel has ever killed for want of memory; 0: it does not say. */
unsigned long long spawn_oom_kills(void);

#endif
