/* format.h - device printf: formats with arguments laid out as vprintf's buffer (each argument at
** its natural alignment, float promoted to double, %s a device address). */
#ifndef GILUA_EMU_FORMAT_H
#define GILUA_EMU_FORMAT_H

#include "base/base.h"

/* Appends the formatted text (out NULL: only counts). `string` gives the NUL-terminated text at a
** device address, or NULL when it is not readable (then "(bad address)" is printed). Reads at most
** args_len bytes. Returns the number of arguments consumed (printf's result on a GPU); negative
** when the format has an unknown conversion or wants more arguments than there are: those appear
** as they stand. */
int format_print(gi_buf *out, const char *fmt, const unsigned char *args, size_t args_len,
                 const char *(*string)(void *user, uint64_t address), void *user);

#endif
