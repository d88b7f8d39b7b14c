/* edit.c - see edit.h.
**
** Ctrl-C while a line is edited is a key like others here, not a signal: libedit has no way back
** to its caller from a signal. So is Ctrl-Z, which then asks for the signal itself.
*/
#include "host/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef GILUA_EDIT
#include <histedit.h>
#endif

#define KEPT_ENTRIES 1000 /* in memory */
#define FILE_ENTRIES 2000 /* in the file, before it is cut to the last KEPT_ENTRIES */

struct Edit {
    EditComplete complete;
    void *context;
    const char *prompt;
    char path[PATH_MAX]; /* of the history file, "" for none */
    bool cancelled;
#ifdef GILUA_EDIT
    EditLine *editor; /* NULL: no terminal */
    History *history;
#endif
};

/* --- the history file --- */

/* mkdir -p of the folder that holds path. */
static bool make_parents(const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return true;
}

static bool append_to(const char *path, const char *entry) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    gi_buf text = {0};
    gi_buf_adds(&text, entry);
    if (*entry) gi_buf_adds(&text, "\n");
    bool ok = text.len == 0 || write(fd, text.data, text.len) == (ssize_t)text.len;
    gi_buf_free(&text);
    return close(fd) == 0 && ok;
}

/* The start of the last n lines of a text of `lines` lines. */
static const char *last_lines(const char *text, int lines, int n) {
    for (; lines > n; lines--) text = strchr(text, '\n') + 1;
    return text;
}

static int count_lines(const char *text) {
    int n = 0;
    for (; (text = strchr(text, '\n')); text++) n++;
    return n;
}

/* Through a second file, so that nobody finds half of it. */
static void replace_file(const char *path, const char *text) {
    char fresh[PATH_MAX + 8];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    size_t len = strlen(text);
    bool ok = write(fd, text, len) == (ssize_t)len;
    if (close(fd) == 0 && ok) rename(fresh, path);
    else unlink(fresh);
}

static void add_entry(Edit *e, const char *entry) {
#ifdef GILUA_EDIT
    HistEvent event;
    if (e->editor) history(e->history, &event, H_ENTER, entry);
#else
    (void)e, (void)entry;
#endif
}

static void add_entries(Edit *e, char *text) {
    for (char *end; *text && (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        add_entry(e, text);
    }
}

bool edit_load_history(Edit *e, const char *path, gi_err *err) {
    gi_buf text = {0};
    if (!make_parents(path) || !append_to(path, ""))
        return gi_fail(err, "io", "the history is not kept: %s: %s", path, strerror(errno));
    if (!gi_read_file(path, &text, err)) return gi_buf_free(&text), false;
    snprintf(e->path, sizeof e->path, "%s", path);
    if (text.len > 0 && strlen(text.data) == text.len) { /* gilua writes no zero bytes */
        int lines = count_lines(text.data);
        const char *kept = last_lines(text.data, lines, KEPT_ENTRIES);
        if (lines > FILE_ENTRIES) replace_file(path, kept);
        add_entries(e, text.data + (kept - text.data));
    }
    gi_buf_free(&text);
    return true;
}

void edit_remember(Edit *e, const char *entry) {
    if (*entry == '\0' || strchr(entry, '\n')) return;
    add_entry(e, entry);
    if (*e->path && !append_to(e->path, entry)) {
        fprintf(stderr, "gilua: the history is not kept any more: %s: %s\n", e->path,
                strerror(errno));
        *e->path = '\0';
    }
}

#ifdef GILUA_EDIT

/* --- keys --- */

static Edit *edit_of(EditLine *editor) {
    void *e = NULL;
    el_get(editor, EL_CLIENTDATA, &e);
    return e;
}

static char *prompt_of(EditLine *editor) {
    return (char *)edit_of(editor)->prompt;
}

static unsigned char cancel_line(EditLine *editor, int key) {
    (void)key;
    edit_of(editor)->cancelled = true;
    return CC_NEWLINE;
}

static unsigned char suspend(EditLine *editor, int key) {
    (void)editor, (void)key;
    raise(SIGTSTP); /* libedit's handler gives the terminal back first */
    return CC_REFRESH;
}

static bool is_blank(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t') return false;
    return true;
}

/* Tab: completes; in the indentation of a line it indents. */
static unsigned char complete_here(EditLine *editor, int key) {
    (void)key;
    Edit *e = edit_of(editor);
    const LineInfo *line = el_line(editor);
    size_t len = (size_t)(line->cursor - line->buffer);
    if (is_blank(line->buffer, len)) return el_insertstr(editor, "  ") ? CC_ERROR : CC_REFRESH;
    EditChange change = {0};
    char *before = gi_strndup(line->buffer, len);
    e->complete(e->context, before, len, &change);
    free(before);
    unsigned char result = CC_REFRESH;
    if (change.remove > 0) el_deletestr(editor, change.remove);
    if (change.insert.len > 0) el_insertstr(editor, change.insert.data);
    if (change.list.len > 0) {
        printf("\n%s\n", change.list.data);
        fflush(stdout);
        result = CC_REDISPLAY;
    } else if (change.remove == 0 && change.insert.len == 0) {
        result = CC_REFRESH_BEEP;
    }
    gi_buf_free(&change.insert);
    gi_buf_free(&change.list);
    return result;
}

static void bind_keys(EditLine *editor) {
    static const char *const keys[][2] = {{"^C", "gilua-cancel"},
                                          {"^Z", "gilua-suspend"},
                                          {"^I", "gilua-complete"},
                                          {"^R", "em-inc-search-prev"},
                                          {"\\e[H", "ed-move-to-beg"},
                                          {"\\e[F", "ed-move-to-end"},
                                          {"\\eOH", "ed-move-to-beg"},
                                          {"\\eOF", "ed-move-to-end"},
                                          {"\\e[1~", "ed-move-to-beg"},
                                          {"\\e[4~", "ed-move-to-end"},
                                          {"\\e[3~", "ed-delete-next-char"},
                                          {"\\e[1;5C", "em-next-word"},
                                          {"\\e[1;5D", "ed-prev-word"}};
    el_set(editor, EL_ADDFN, "gilua-cancel", "Give up the line", cancel_line);
    el_set(editor, EL_ADDFN, "gilua-suspend", "Suspend the program", suspend);
    el_set(editor, EL_ADDFN, "gilua-complete", "Complete", complete_here);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        el_set(editor, EL_BIND, keys[i][0], keys[i][1], NULL);
}

/* --- the editor --- */

/* Lines are bytes in the user's encoding; where the environment names none, UTF-8. Nothing else of
** the user's language counts: in Turkish a small I has no dot, and ("IF"):lower() would be none. */
static void choose_encoding(void) {
    setlocale(LC_CTYPE, "");
    const char *encoding = nl_langinfo(CODESET);
    if (strcmp(encoding, "ANSI_X3.4-1968") == 0 || strcmp(encoding, "UTF-8") == 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static void open_editor(Edit *e) {
    HistEvent event;
    choose_encoding();
    e->history = history_init();
    history(e->history, &event, H_SETSIZE, KEPT_ENTRIES);
    history(e->history, &event, H_SETUNIQUE, 1);
    e->editor = el_init("gilua", stdin, stdout, stderr);
    el_set(e->editor, EL_CLIENTDATA, e);
    el_set(e->editor, EL_PROMPT, prompt_of);
    el_set(e->editor, EL_SIGNAL, 1);
    el_set(e->editor, EL_EDITOR, "emacs");
    el_set(e->editor, EL_HIST, history, e->history);
    el_set(e->editor, EL_SETTY, "-d", "-isig", NULL);
    bind_keys(e->editor);
    el_source(e->editor, NULL); /* the user's ~/.editrc */
}

static void close_editor(Edit *e) {
    if (e->editor == NULL) return;
    el_end(e->editor);
    history_end(e->history);
}

bool edit_has_keys(const Edit *e) {
    return e->editor != NULL;
}

static EditEnd edit_line(Edit *e, gi_buf *line) {
    int n = 0;
    e->cancelled = false;
    fflush(stdout);
    const char *text = el_gets(e->editor, &n);
    if (e->cancelled) return puts("^C"), EDIT_CANCELLED;
    if (text == NULL) return EDIT_END;
    size_t len = strlen(text);
    gi_buf_add(line, text, len > 0 && text[len - 1] == '\n' ? len - 1 : len);
    return EDIT_LINE;
}

#else

static void open_editor(Edit *e) {
    (void)e;
}

static void close_editor(Edit *e) {
    (void)e;
}

bool edit_has_keys(const Edit *e) {
    (void)e;
    return false;
}

static EditEnd edit_line(Edit *e, gi_buf *line) {
    (void)e, (void)line;
    return EDIT_END;
}

#endif

/* --- with an editor or without --- */

Edit *edit_open(bool terminal, EditComplete complete, void *context) {
    Edit *e = gi_alloc(sizeof *e);
    e->complete = complete;
    e->context = context;
    e->prompt = "> ";
    if (terminal) open_editor(e);
    return e;
}

void edit_close(Edit *e) {
    close_editor(e);
    free(e);
}

static EditEnd read_line(const char *prompt, gi_buf *line) {
    char chunk[512];
    fputs(prompt, stdout);
    fflush(stdout);
    while (fgets(chunk, sizeof chunk, stdin)) {
        size_t n = strlen(chunk);
        bool whole = n > 0 && chunk[n - 1] == '\n';
        gi_buf_add(line, chunk, whole ? n - 1 : n);
        if (whole) return EDIT_LINE;
    }
    return line->len > 0 ? EDIT_LINE : EDIT_END;
}

EditEnd edit_read(Edit *e, const char *prompt, gi_buf *line) {
    e->prompt = prompt;
    return edit_has_keys(e) ? edit_line(e, line) : read_line(prompt, line);
}
