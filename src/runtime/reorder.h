/* reorder.h - results that depend on the order in which threads run (check.order). Private to
** src/runtime.
**
** Each launch runs once more in a child process, blocks, warps and lanes from the last to the
** first, on memory as all launches before would have left it in that order. Where the two end with
** other bytes, the region keeps both (Region.other), copies take them along, and what the host
** reads of them is reported. So it does not matter what a kernel that sorts, say, makes one answer
** of.
*/
#ifndef GILUA_RUNTIME_REORDER_H
#define GILUA_RUNTIME_REORDER_H

#include "runtime/op.h"

/* Called around a launch that runs as `how`. NULL: no other orders. ok: it ended well. */
typedef struct ReorderRun ReorderRun;
ReorderRun *reorder_begin(const OpLaunch *l, const EmuLaunch *how);
void reorder_end(ReorderRun *run, bool ok);

/* n bytes at an address were written: copied from device memory, or (from 0) by the host. */
void reorder_wrote(uint64_t address, size_t n, uint64_t from);
/* The host reads them; all memory that it shares with the device. */
void reorder_read(uint64_t address, size_t n);
void reorder_read_shared(void);
void reorder_forget(struct Other *other);

#endif
