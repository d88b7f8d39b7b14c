/* Temporary folders: what killed processes left goes with the next one, and nothing else does. */
#include "base/folder.h"
#include "nobody.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static gi_err err;
static char root[4096];

static bool is_there(const char *name) {
    struct stat st;
    return lstat(name, &st) == 0;
}

static void add_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
}

/* Another process looks: nobody but it has not looked yet. Its own folder goes with it. */
static void look(void) {
    pid_t other = fork();
    if (other == 0) {
        gi_folder f;
        _exit(gi_folder_open(&f, &err) ? (gi_folder_close(&f), 0) : 1);
    }
    int status = 1;
    waitpid(other, &status, 0);
    is_int(status, 0, "  another process has a folder");
}

/* A process that makes a folder, puts something there and is killed, or waits to be. */
static pid_t holder(char *path, size_t size) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    pid_t other = fork();
    if (other == 0) {
        gi_folder f;
        if (!gi_folder_open(&f, &err)) _exit(1);
        if (chdir(f.path) == 0 && mkdir("17", 0700) == 0) add_file("17/file");
        ssize_t n = write(ends[1], f.path, strlen(f.path) + 1);
        for (;;) pause();
        _exit(n < 0);
    }
    ssize_t n = read(ends[0], path, size);
    if (n <= 0) *path = '\0';
    close(ends[0]);
    close(ends[1]);
    return other;
}

static void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static void test_left(void) {
    char held[4096], left[4096];
    pid_t first = holder(held, sizeof held), second = holder(left, sizeof left);
    ok(is_there(held) && is_there(left), "two processes have folders: %s", left);
    end(second);
    look();
    ok(!is_there(left), "what the killed one left is gone");
    ok(is_there(held), "what the other has is there");
    end(first);
    look();
    ok(!is_there(held), "until it is killed, too");
}

/* Of such a name, but nothing that gilua has left. */
static void test_others(void) {
    static const char *const names[] = {"gilua-1-abcdef.txt", "gilua-abcdef", "gilua--abcdef",
                                        "gilua-1-abcde",      "gilua-x-abcdef", "xgilua-1-abcdef"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) mkdir(names[i], 0700);
    mkdir("mine", 0700);
    add_file("mine/file");
    ok(symlink("mine", "gilua-1-aaaaaa") == 0, "a link");
    add_file("gilua-1-bbbbbb");
    mkdir("gilua-1-cccccc", 0755);
    ok(mkdir("gilua-1-dddddd", 0700) == 0 && symlink("../mine", "gilua-1-dddddd/link") == 0,
       "a folder with a link in it");
    bool foreign = geteuid() == 0 && mkdir("gilua-1-eeeeee", 0700) == 0 &&
                   chown("gilua-1-eeeeee", 65534, 65534) == 0;
    look();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ok(is_there(names[i]), "%s is another name", names[i]);
    ok(is_there("gilua-1-aaaaaa") && is_there("gilua-1-bbbbbb"), "no folders");
    ok(is_there("gilua-1-cccccc"), "one that is open to others");
    ok(!foreign || is_there("gilua-1-eeeeee"), "another user's");
    ok(!is_there("gilua-1-dddddd"), "one that nobody holds goes");
    ok(is_there("mine/file"), "and no link is followed");
    mkdir("gilua-1-ffffff", 0700);
    chmod(".", 0777);
    look();
    ok(is_there("gilua-1-ffffff"), "nothing where others may move things about");
    chmod(".", 01777);
    look();
    ok(!is_there("gilua-1-ffffff"), "but in a folder like /tmp");
}

static void test_own(void) {
    gi_folder f, g;
    ok(gi_folder_open(&f, &err) && gi_folder_open(&g, &err), "a process has two");
    ok(strcmp(f.path, g.path) != 0 && is_there(f.path) && is_there(g.path), "  which are there");
    gi_folder_close(&f);
    gi_folder_close(&f);
    ok(f.path == NULL && is_there(g.path), "one is closed, twice");
    gi_folder_close(&g);
    setenv("TMPDIR", "/nowhere", 1);
    ok(!gi_folder_open(&f, &err) && f.path == NULL, "where there is none");
    has_str(err.message, "cannot make a folder for temporary files like /nowhere/gilua-",
            "  it is said where");
    setenv("TMPDIR", root, 1);
}

int main(void) {
    nobody_folder();
    if (chmod(".", 0700) != 0 || getcwd(root, sizeof root) == NULL) return 1;
    setenv("TMPDIR", root, 1);
    test_left();
    test_others();
    test_own();
    return tap_done();
}
