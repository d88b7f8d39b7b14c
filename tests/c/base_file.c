/* Writing a file: links, permissions, folders where nothing can be made, disks without room. */
#include "base/file.h"
#include "nobody.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static gi_err err;

static bool put(const char *path, const char *text) {
    return gi_file_write(path, text, strlen(text), &err);
}

static void holds(const char *path, const char *want, const char *what) {
    char text[100] = "(no file)";
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n >= 0) text[n] = '\0';
    if (fd >= 0) close(fd);
    is_str(text, want, what);
}

static void has_mode(const char *path, mode_t want, const char *what) {
    struct stat st;
    is_int(stat(path, &st) == 0 ? st.st_mode & 07777 : 0, want, what);
}

static void is_link(const char *path, const char *want) {
    char target[100] = "";
    if (readlink(path, target, sizeof target - 1) < 0) strcpy(target, "(no link)");
    is_str(target, want, "  and the link is there");
}

static void left_nothing(void) {
    glob_t found;
    is_int(glob("*.gilua-*", 0, NULL, &found), GLOB_NOMATCH, "  and nothing is left beside it");
    globfree(&found);
}

static void test_plain(void) {
    umask(027);
    ok(put("new", "one"), "a new file");
    holds("new", "one", "  has its text");
    has_mode("new", 0640, "  and the usual permissions");
    chmod("new", 0604);
    ok(put("new", "two") && put("new", ""), "again");
    holds("new", "", "  without any");
    has_mode("new", 0604, "  it keeps its permissions");
    umask(022);
    ok(!put("none/here", "x"), "no folder");
    has_str(err.message, "cannot write none/here: No such file", "  says so");
    ok(!put(".", "x"), "a folder");
    left_nothing();
}

/* Left by a writer that was killed; one that is at work holds a lock. */
static void test_left(void) {
    ok(put("torn", "old") && put("torn.gilua-aaaaaa", "half") && put("torn.gilua-bbbbbb", "half") &&
           put("torn.backup", "mine") && put("torn.gilua-notes.txt", "mine"),
       "files beside one");
    int fd = gi_lock("torn.gilua-bbbbbb", "somebody", &err);
    ok(put("torn", "new"), "  it is written");
    is_int(access("torn.gilua-aaaaaa", F_OK), -1, "  what a killed writer left goes");
    is_int(access("torn.gilua-bbbbbb", F_OK), 0, "  what another is writing stays");
    holds("torn.backup", "mine", "  and so do files of other names");
    holds("torn.gilua-notes.txt", "mine", "  even like ones");
    gi_unlock(fd, "torn.gilua-bbbbbb");
    ok(put("t*n", "x") && put("tan.gilua-cccccc", "half") && put("t*n", "y"), "a name with a star");
    holds("tan.gilua-cccccc", "half", "  is no pattern");
    unlink("tan.gilua-cccccc");
    unlink("torn.gilua-notes.txt");
}

static void test_links(void) {
    mkdir("far", 0755);
    ok(put("far/file", "old"), "a file elsewhere");
    chmod("far/file", 0600);
    ok(symlink("far/file", "link") == 0 && put("link", "new"), "through a link to it");
    holds("far/file", "new", "  it is replaced");
    has_mode("far/file", 0600, "  with its permissions");
    is_link("link", "far/file");
    ok(symlink("there", "far/two") == 0 && symlink("far/two", "one") == 0, "links to nothing");
    ok(put("one", "text"), "are written through");
    holds("far/there", "text", "  to where they lead");
    is_link("one", "far/two");
    ok(symlink("none/file", "lost") == 0 && !put("lost", "x"), "a link into no folder");
    has_str(err.message, "cannot write none/file: No such file", "  says where it leads");
    ok(symlink("round", "round") == 0 && !put("round", "x"), "a link to itself");
    has_str(err.message, "cannot write round: Too many levels", "  says so");
    left_nothing();
}

static void test_protected(void) {
    ok(put("kept", "mine") && chmod("kept", 0444) == 0, "a file that nobody shall write");
    if (nobody_begin("a write-protected file")) {
        ok(!put("kept", "other"), "is not replaced");
        has_str(err.message, "cannot write kept: it is write-protected", "  with a sentence");
        ok(symlink("kept", "to-kept") == 0 && !put("to-kept", "other"), "nor through a link");
        ok(put("own", "x") && chmod("own", 0400) == 0 && !put("own", "y"), "nor is one's own");
        nobody_end();
        holds("kept", "mine", "  it has its text");
        left_nothing();
    }
}

/* At most so many bytes a file, as on a disk that is full. */
static void limit_files(rlim_t bytes) {
    struct rlimit l = {bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &l);
}

static void test_closed_folder(void) {
    mkdir("closed", 0755);
    ok(put("closed/file", "a long old text") && chmod("closed/file", 0666) == 0, "a file");
    chmod("closed", 0555);
    if (nobody_begin("a folder where no file can be made")) {
        ok(put("closed/file", "new"), "in a folder where none can be made is written in place");
        holds("closed/file", "new", "  and has the new text alone");
        ok(!put("closed/other", "x"), "a new one there");
        has_str(err.message, "cannot write closed/other: Permission denied", "  is refused");
        signal(SIGXFSZ, SIG_IGN);
        limit_files(8);
        bool written = put("closed/file", "too much to have room");
        limit_files(RLIM_INFINITY);
        ok(!written, "where there is no room");
        holds("closed/file", "new", "  the old text stays, whole");
        nobody_end();
    }
}

static void test_others(void) {
    ok(mkfifo("pipe", 0600) == 0, "a pipe");
    int fd = open("pipe", O_RDONLY | O_NONBLOCK);
    char text[8] = "";
    ok(put("pipe", "hello") && read(fd, text, 7) == 5 && strcmp(text, "hello") == 0,
       "is written to");
    close(fd);
    ok(!put("/dev/full", "x") && strcmp(err.code, "io") == 0,
       "a device that takes no more is not waited for");
}

/* Another process looks whether a lock is held, as fast as it can; a lock is had all the same. */
static void test_looked_at(void) {
    pid_t looker = fork();
    if (looker == 0) {
        for (;;) gi_is_locked("looked-at");
    }
    int taken = 0;
    for (int i = 0; i < 300; i++) {
        int fd = gi_lock("looked-at", "me\n", &err);
        if (fd < 0) continue;
        taken++;
        close(fd); /* and the file stays, so that there is something to look at */
    }
    kill(looker, SIGKILL);
    waitpid(looker, NULL, 0);
    is_int(taken, 300, "who looks whether a lock is held keeps nobody from it");
}

/* A process that was killed holds its lock for a while. */
static void test_dying(void) {
    pid_t holder = fork();
    if (holder == 0) {
        gi_lock("dying", "it\n", &err);
        usleep(300000);
        _exit(0);
    }
    while (!gi_is_locked("dying")) usleep(1000);
    int fd = gi_lock("dying", "me\n", &err);
    ok(fd >= 0, "who lets go a moment later is waited for");
    close(fd);
    waitpid(holder, NULL, 0);
}

static void test_locks(void) {
    ok(!gi_is_locked("lock"), "no file, no lock");
    int fd = gi_lock("lock", "me\n", &err);
    ok(fd >= 0 && gi_is_locked("lock"), "a lock that is held");
    int second = gi_lock("lock", "another\n", &err);
    ok(second < 0 && strcmp(err.code, "busy") == 0, "nobody else has it");
    is_str(err.message, "me", "  but who has");
    close(fd);
    ok(!gi_is_locked("lock"), "who ended without a word holds it no more");
    holds("lock", "me\n", "  and looking changed nothing");
    fd = gi_lock("lock", "me\n", &err);
    gi_unlock(fd, "lock");
    ok(!gi_is_locked("lock"), "nor who let go");
    test_looked_at();
    test_dying();
}

int main(void) {
    nobody_folder();
    test_locks();
    test_plain();
    test_left();
    test_links();
    test_protected();
    test_closed_folder();
    test_others();
    return tap_done();
}
