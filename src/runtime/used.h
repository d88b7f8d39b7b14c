/* used.h - does a program use what a call returned? Read from its machine code behind the call.
**
** The instructions that follow are read, on both sides of each branch, until one reads the register
** of the result (eax), one overwrites it, another call does, or the function returns, and then it
** is for the caller's caller to say. An instruction that is not known makes the answer unknown.
** x86-64 alone; elsewhere all is unknown.
*/
#ifndef GILUA_RUNTIME_USED_H
#define GILUA_RUNTIME_USED_H

#include "base/base.h"

typedef enum Used { USED_UNKNOWN, USED_YES, USED_NO, USED_RETURNED, USED_GOES_ON } Used;

/* back: where the call returns to, within n bytes of code: of the function. Never
** USED_GOES_ON. */
Used used_after(const uint8_t *back, const uint8_t *code, size_t n);

#endif
