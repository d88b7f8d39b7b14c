/* Readers of a database where nothing can be written, beside somebody who writes to it or not. */
#include "store/store.h"
#include "nobody.h"

#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static gi_err err;

/* --- a writer, in a process of its own --- */

typedef struct Writer {
    pid_t pid;
    int ask, answer;
} Writer;

static void serve(const char *path, int ask, int answer) {
    char order;
    Store *s = store_open(path, false, &err);
    bool well = s && store_execute(s, "CREATE TABLE IF NOT EXISTS t (n INTEGER)", &err);
    while (read(ask, &order, 1) == 1 && order != 'q') {
        well = well && store_execute(s, "INSERT INTO t VALUES (1)", &err);
        if (write(answer, well ? "y" : "n", 1) != 1) break;
    }
    store_close(s);
    _exit(0);
}

static Writer writer_new(const char *path) {
    int ask[2], answer[2];
    if (pipe(ask) != 0 || pipe(answer) != 0) abort();
    Writer w = {fork(), ask[1], answer[0]};
    if (w.pid == 0) {
        close(ask[1]);
        serve(path, ask[0], answer[1]);
    }
    close(ask[0]);
    close(answer[1]);
    return w;
}

static bool writer_adds(const Writer *w) {
    char said = 'n';
    return write(w->ask, "a", 1) == 1 && read(w->answer, &said, 1) == 1 && said == 'y';
}

static void writer_ends(Writer *w, int by) {
    if (by) kill(w->pid, by);
    else if (write(w->ask, "q", 1) != 1) abort();
    waitpid(w->pid, NULL, 0);
    close(w->ask);
    close(w->answer);
}

/* A folder with a database of so many rows that everybody may read, in files that he may not write.
 */
static void make(const char *folder, const char *path, int rows) {
    mkdir(folder, 0755);
    Writer w = writer_new(path);
    for (int i = 0; i < rows; i++) ok(writer_adds(&w), "a row more");
    writer_ends(&w, 0);
}

/* --- a reader, this one --- */

static int64_t rows_of(Store *s) {
    StoreStatement *t = s ? store_prepare(s, "SELECT count(*) FROM t", &err) : NULL;
    bool well = t && store_step(t, &err) == STORE_ROW;
    int64_t n = well ? store_column_int(t, 0) : -1;
    if (t) store_reset(t);
    return n;
}

static void reads(const char *path, int64_t rows, const char *what) {
    Store *s = store_open(path, true, &err);
    int64_t n = rows_of(s);
    if (!ok(n == rows, "%s", what)) printf("# %" PRId64 " rows, not %" PRId64 ": %s\n", n, rows,
                                           s ? "" : err.message);
    store_close(s);
}

static void is_alone(const char *pattern, const char *what) {
    glob_t found;
    is_int(glob(pattern, 0, NULL, &found), GLOB_NOMATCH, what);
    globfree(&found);
}

static void test_closed_folder(void) {
    make("shut", "shut/a?b#c%41.db", 2);
    chmod("shut", 0555);
    if (!nobody_begin("a folder that cannot be written")) return;
    reads("shut/a?b#c%41.db", 2, "is read where no file can be made");
    ok(store_open("shut/none.db", true, &err) == NULL, "what is not there is not");
    has_str(err.message, "shut/none.db", "  says so");
    nobody_end();
}

static void test_others_file(void) {
    make("open", "open/a.db", 1);
    chmod("open", 0777);
    if (!nobody_begin("somebody else's file")) return;
    reads("open/a.db", 1, "is read, too");
    is_alone("open/a.db-*", "  with nothing left in its owner's way");
    nobody_end();
    Writer w = writer_new("open/a.db");
    ok(writer_adds(&w), "  who goes on writing");
    writer_ends(&w, 0);
}

static void test_live_writer(void) {
    mkdir("live", 0755);
    Writer w = writer_new("live/a.db");
    ok(writer_adds(&w), "somebody writes");
    chmod("live", 0555);
    if (nobody_begin("a reader beside a writer")) {
        Store *s = store_open("live/a.db", true, &err);
        is_int(rows_of(s), 1, "what is in its log is read");
        ok(writer_adds(&w), "it writes more");
        is_int(rows_of(s), 2, "  which is seen at once");
        store_close(s);
        nobody_end();
    }
    writer_ends(&w, SIGKILL);
    if (nobody_begin("what a killed writer left")) {
        reads("live/a.db", 2, "what a killed writer left is read");
        nobody_end();
    }
    unlink("live/a.db-shm");
    if (nobody_begin("a log alone")) {
        ok(store_open("live/a.db", true, &err) == NULL, "of a log that cannot be read");
        has_str(err.message, "copy the folder", "  a sentence says what to do");
        nobody_end();
    }
    reads("live/a.db", 2, "whoever may write reads all");
}

static void test_new_writer(void) {
    make("late", "late/a.db", 3);
    chmod("late", 0555);
    if (!nobody_begin("a writer that comes later")) return;
    Store *s = store_open("late/a.db", true, &err);
    is_int(rows_of(s), 3, "nobody writes");
    nobody_end();
    Writer w = writer_new("late/a.db");
    ok(writer_adds(&w), "somebody begins to");
    if (!nobody_begin("a writer that comes later")) return;
    is_int(rows_of(s), -1, "who looked before is told");
    is_str(err.code, "busy", "  that he must look again");
    reads("late/a.db", 4, "and then sees all");
    nobody_end();
    writer_ends(&w, 0);
    is_int(rows_of(s), -1, "also when it has ended");
    store_close(s);
}

static void test_no_room(void) {
    make("full", "full/a.db", 2);
    struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    Store *s = store_open("full/a.db", true, &err);
    int64_t n = rows_of(s);
    store_close(s);
    setrlimit(RLIMIT_FSIZE, &all);
    is_int(n, 2, "where there is no room for a byte");
}

int main(void) {
    nobody_folder();
    test_closed_folder();
    test_others_file();
    test_live_writer();
    test_new_writer();
    test_no_room();
    return tap_done();
}
