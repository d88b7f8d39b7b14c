/* fatbin.h - reads fat binaries: what nvcc puts into a program's `.nv_fatbin`.
**
** A container begins with the magic BA55ED50, u16 version (1), u16 header size and u64 size of what
** follows: entries, one after the other, each with a header of its own:
**
**   u16 kind (1 PTX, 2 machine code), u16 version, u32 header size, u64 payload size with padding,
**   u32 size of the packed payload (at 16), u32 architecture (28: 90), u64 flags (40), u64 size
**   unpacked (56, where packed); at 20 a place in the header, or 0: there u32 place and u32 size
**   of ptxas' options as text (" -maxrregcount=64 ").
**
** Packed is what has flag 2000 hex (an LZ4 block) or 8000 hex (a zstd frame). All that is read is
** checked: a container may come from a stranger's program.
*/
#ifndef GILUA_RUNTIME_FATBIN_H
#define GILUA_RUNTIME_FATBIN_H

#include "base/base.h"

enum { FAT_PTX = 1, FAT_CODE = 2 };

/* Does a container begin here? *size: all its bytes, header too. */
bool fatbin_size(const void *data, size_t len, size_t *size);

/* Adds the PTX for the highest architecture that is at most `arch` to *out; *registers (or NULL):
** the most that a thread of it may have (-maxrregcount), 0 where that is not said. "format": no
** container, or a broken one; "nolib": it has no such PTX, and the message says what it has and how
** to build the program. */
bool fatbin_ptx(const void *data, size_t len, int arch, gi_buf *out, int *registers, gi_err *err);

/* The same of machine code (an ELF file) that a GPU of architecture `arch` runs: the highest of its
** own generation. */
bool fatbin_code(const void *data, size_t len, int arch, gi_buf *out, gi_err *err);

#endif
