/* Arrays for other processes: their file is sealed, also where the kernel is busy with it. */
#include "array/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array/array.h"
#include "tap.h"

static int busy;    /* how often sealing is refused */
static int refusal; /* errno of it */

/* Stands before libc's. */
int fcntl(int fd, int cmd, ...) {
    va_list list;
    va_start(list, cmd);
    long value = va_arg(list, long);
    va_end(list);
    if (cmd == F_ADD_SEALS && busy > 0) {
        busy--;
        errno = refusal;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, cmd, value);
}

static Share *made(int times, int reason, gi_err *err) {
    const int64_t shape[] = {1000};
    Array *a = array_new(ARRAY_F32, 1, shape, NULL);
    busy = times;
    refusal = reason;
    Share *s = share_new(&a, 1, err);
    array_unref(a);
    return s;
}

int main(void) {
    gi_err err;
    Share *s = made(3, EBUSY, &err);
    ok(s != NULL && busy == 0, "a file whose pages the kernel moves is sealed a moment later");
    ok(s && (syscall(SYS_fcntl, share_fd(s), F_GET_SEALS, 0) & F_SEAL_WRITE),
       "nobody can write to it");
    share_unref(s);
    s = made(1, EPERM, &err);
    ok(s == NULL && strcmp(err.code, "io") == 0, "another refusal is one");
    ok(strstr(err.message, "cannot share 0.0 MB of arrays") != NULL, "in words");
    return tap_done();
}
