/* recorder.h - keeps what the program asks of its GPU, for replay (record/record.h). Private to
** src/runtime. docs/recording.md says what each line of a recording means.
*/
#ifndef GILUA_RUNTIME_RECORDER_H
#define GILUA_RUNTIME_RECORDER_H

#include "base/base.h"

/* Begins a recording. A program of several processes has one for each: of the second the path ends
** with ".2", and so on. */
bool recorder_open(const char *path, gi_err *err);
/* At the program's end: the recording is whole. */
void recorder_end(void);
void recorder_leave(void); /* a forked child has no part in its parent's */

#endif
