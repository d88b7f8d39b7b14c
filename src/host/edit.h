/* edit.h - lines from a person: a line editor with history and completion, on libedit.
**
** Without libedit (GILUA_EDIT not defined), and where there is no terminal, lines are read as they
** come, and there is neither history nor completion.
*/
#ifndef GILUA_EDIT_H
#define GILUA_EDIT_H

#include "base/base.h"

typedef struct Edit Edit;

/* What the Tab key does: characters before the cursor to take away, text to put there, and a
** listing to show below. `insert` and `list` may stay empty. */
typedef struct EditChange {
    int remove;
    gi_buf insert, list;
} EditChange;

/* Fills *change (zeroed) for the text that stands before the cursor. Must not jump. */
typedef void (*EditComplete)(void *context, const char *before, size_t len, EditChange *change);

typedef enum EditEnd { EDIT_LINE, EDIT_CANCELLED, EDIT_END } EditEnd;

/* Only one at a time. */
Edit *edit_open(bool terminal, EditComplete complete, void *context);
void edit_close(Edit *e);
/* Has it keys: can lines be edited, recalled and completed? */
bool edit_has_keys(const Edit *e);

/* One line without its newline. EDIT_CANCELLED: Ctrl-C; EDIT_END: Ctrl-D, or input is at its end.
*/
EditEnd edit_read(Edit *e, const char *prompt, gi_buf *line);

/* The history: kept in the file at path, one entry a line, readable by its owner alone. A file that
** is not there yet is made with its folders. An entry is written when it is added, so that two
** sessions add to one file and a lost one loses nothing. */
bool edit_load_history(Edit *e, const char *path, gi_err *err);
void edit_remember(Edit *e, const char *entry);

#endif
