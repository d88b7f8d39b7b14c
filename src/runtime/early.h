/* early.h - memory that the host shares with the device and touches before it has waited for the
** work that writes there (check.streams). Private to src/runtime.
**
** While no call of the program runs, the pages that such work has written whole cannot be accessed;
** the first access of the program is a signal, which notes it and opens the page. So a page that
** holds anything else is not watched, nor is memory of cudaHostRegister. A system call that is
** given such a page fails with EFAULT.
*/
#ifndef GILUA_RUNTIME_EARLY_H
#define GILUA_RUNTIME_EARLY_H

#include "runtime/happens.h"

/* Around each outermost call of the program, with the lock held. */
void early_open(void);
void early_close(void);

#endif
