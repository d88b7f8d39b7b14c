/* compile_kept.c - what NVRTC made is kept: nothing that comes of a source shows that it was, and
** whatever NVRTC may have read decides whether it was. */
#include "compile/compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/landlock.h"
#include "tap.h"

#define KERNEL(body) "__global__ void kernel(int *p) { " body " }\n"

static char *temporary;
static char kept[600], inc[600], late[600];
static Compiler *compiler;

static gi_buf path_of(const char *folder, const char *name) {
    gi_buf path = {0};
    gi_buf_addf(&path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *folder, const char *name, const char *text) {
    gi_buf path = path_of(folder, name);
    FILE *f = fopen(path.data, "w");
    fputs(text, f);
    fclose(f);
    gi_buf_free(&path);
}

static void remove_file(const char *folder, const char *name) {
    gi_buf path = path_of(folder, name);
    unlink(path.data);
    gi_buf_free(&path);
}

/* How many entries there are; the path of the last one that was met. */
static int entries(gi_buf *last) {
    int n = 0;
    DIR *dir = opendir(kept);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        if (strlen(d->d_name) != 64) continue;
        n++;
        if (last) gi_buf_clear(last), gi_buf_addf(last, "%s/%s", kept, d->d_name);
    }
    if (dir) closedir(dir);
    return n;
}

static void forget(void) {
    gi_buf path = {0};
    while (entries(&path) > 0) unlink(path.data);
    gi_buf_free(&path);
}

static const char *option; /* of NVRTC's, besides */

static CompileResult compile(const char *source) {
    const char *const includes[] = {inc, late, NULL};
    const CompileOptions o = {.target = "compute_80",
                              .includes = includes,
                              .options = (const char *const[]){option, NULL},
                              .line_info = true};
    CompileResult r = {0};
    gi_err err;
    if (!compile_one(compiler, source, strlen(source), "kernel.cu", &o, &r, &err))
        ok(false, "NVRTC answers: %s", err.message);
    return r;
}

static bool same(const gi_buf *a, const gi_buf *b) {
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool is_forged(const char *source) {
    CompileResult r = compile(source);
    const bool forged = r.ok && r.code.len == 6 && memcmp(r.code.data, "forged", 6) == 0;
    compile_result_free(&r);
    return forged;
}

/* What comes of a source is what comes of it where nothing is kept; `added` entries more. */
static void is_true(const char *source, int added, const char *what) {
    const int before = entries(NULL);
    CompileResult r = compile(source);
    is_int(entries(NULL) - before, added, what);
    unsetenv("GILUA_COMPILED");
    CompileResult plain = compile(source);
    setenv("GILUA_COMPILED", kept, 1);
    ok(r.ok == plain.ok && same(&r.code, &plain.code) && same(&r.log, &plain.log) &&
           r.n_messages == plain.n_messages,
       "%s: the same comes of it", what);
    compile_result_free(&r);
    compile_result_free(&plain);
}

static void test_kept(void) {
    is_true(KERNEL("p[0] = 1;"), 1, "a source");
    is_true(KERNEL("p[0] = 1;"), 0, "a source once more");
    is_true(KERNEL("p[0] = 2; int unused;"), 1, "one with a warning");
    is_true(KERNEL("p[0] = 2; int unused;"), 0, "one with a warning once more");
    is_true(KERNEL("p[0] = none;"), 1, "one that does not compile");
    is_true(KERNEL("p[0] = none;"), 0, "one that does not compile once more");
    is_true(KERNEL("p[0] = 1; printf(\"%s\", __FILE__);"), 1, "one with its name");
    is_true("#line 1 \"x.cu\"\n" KERNEL("p[0] = 1;"), 1, "one whose lines name this folder");
    ok(chdir(inc) == 0, "elsewhere");
    is_true("#line 1 \"x.cu\"\n" KERNEL("p[0] = 1;"), 0, "the same in another folder");
    ok(chdir(temporary) == 0, "back");
}

static bool same_result(const CompileResult *a, const CompileResult *b) {
    bool equal = same(&a->code, &b->code) && same(&a->log, &b->log) && a->ok == b->ok &&
                 a->n_messages == b->n_messages;
    for (int i = 0; equal && i < a->n_messages; i++)
        equal = a->messages[i].line == b->messages[i].line;
    return equal;
}

static const char *const batch_names[] = {"kernel", NULL};

static CompileUnit unit(const char *source) {
    return (CompileUnit){source, strlen(source), batch_names, "kernel"};
}

/* Compiles two units with what is kept and without; that keeps `added` entries. */
static void batch_is(const char *a, const char *b, int added, const char *what) {
    const CompileUnit units[] = {unit(a), unit(b)};
    const CompileOptions o = {.target = "compute_80", .line_info = true};
    CompileResult all[2][2] = {{{0}}};
    gi_err err;
    const int before = entries(NULL);
    for (int i = 0; i < 2; i++) {
        if (i == 1) unsetenv("GILUA_COMPILED");
        ok(compile_batch(compiler, units, 2, &o, all[i], NULL, &err), "a batch of %s", what);
        is_int(entries(NULL) - before, added, "new entries");
    }
    setenv("GILUA_COMPILED", kept, 1);
    for (int k = 0; k < 2; k++) {
        ok(same_result(&all[0][k], &all[1][k]), "the same comes of unit %d", k);
        compile_result_free(&all[0][k]);
        compile_result_free(&all[1][k]);
    }
}

static void test_batch(void) {
    static const char one[] = KERNEL("p[0] = 11;"), two[] = KERNEL("p[0] = 12; int unused;"),
                      wrong[] = KERNEL("p[0] = none;");
    batch_is(one, two, 2, "two units");
    batch_is(one, two, 0, "the same");
    batch_is(two, one, 0, "the same in another order");
    batch_is(wrong, one, 1, "one of them, and another");
    batch_is(two, wrong, 0, "units that met others");
    batch_is(KERNEL("p[0] = __COUNTER__;"), one, 0, "one that counts");
    const CompileOptions o = {.target = "sm_80", .line_info = true};
    CompileResult r = {0};
    gi_err err;
    const int before = entries(NULL);
    ok(compile_one(compiler, one, sizeof one - 1, "kernel.cu", &o, &r, &err), "machine code");
    is_int(entries(NULL), before, "is not kept");
    compile_result_free(&r);
}

/* The last entry with another text in place of its code, sealed as such. */
static void forge(bool sealed) {
    char hex[65];
    gi_buf path = {0}, body = {0}, all = {0};
    entries(&path);
    gi_buf_adds(&all, strrchr(path.data, '/') + 1);
    gi_buf_adds(&body, "16\nforged0\n"); /* it compiled; six bytes of code, none of a log */
    gi_buf_add(&all, body.data, body.len);
    gi_sha256(all.data, all.len, hex);
    gi_buf_clear(&all);
    if (!sealed) hex[0] = hex[0] == '0' ? '1' : '0';
    gi_buf_addf(&all, "gilua compiled 1\n%s\n%s", hex, body.data);
    truncate(path.data, 0);
    write_file(kept, strrchr(path.data, '/') + 1, all.data);
    gi_buf_free(&path);
    gi_buf_free(&body);
    gi_buf_free(&all);
}

static void test_entries(void) {
    static const char source[] = KERNEL("p[0] = 3;");
    gi_buf path = {0};
    forget();
    (void)is_forged(source);
    is_int(entries(&path), 1, "an entry");
    forge(true);
    ok(is_forged(source), "a sealed entry is what comes of the source");
    chmod(path.data, 0640);
    ok(!is_forged(source), "one that others may read is not");
    forge(true);
    ok(!is_forged(KERNEL("p[0] = 4;")), "nor is that of another source");
    gi_buf other = {0};
    gi_buf_addf(&other, "%s/moved", temporary);
    forget();
    (void)is_forged(source);
    forge(true);
    rename(path.data, other.data);
    ok(symlink(other.data, path.data) == 0 && !is_forged(source), "nor what a link leads to");
    rename(other.data, path.data);
    ok(is_forged(source), "which counts in its place");
    forge(false);
    ok(!is_forged(source), "one that was changed does not");
    forge(true);
    truncate(path.data, 80);
    ok(!is_forged(source), "nor does one that is torn");
    struct stat st;
    ok(stat(path.data, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size > 100,
       "it is written anew, for its user alone");
    forge(true);
    chmod(kept, 0777);
    ok(!is_forged(source), "in a folder that others may write in nothing counts");
    forget();
    is_true(source, 0, "and nothing is kept there");
    chmod(kept, 0700);
    gi_buf_free(&path);
    gi_buf_free(&other);
}

static void test_headers(void) {
    static const char source[] = "#include \"a.h\" // whose value counts\n" KERNEL("p[0] = A;");
    write_file(late, "a.h", "#include \"below/b.h\"\n");
    gi_buf below = path_of(late, "below");
    mkdir(below.data, 0700);
    write_file(below.data, "b.h", "#include \"c.h\"\n");
    write_file(below.data, "c.h", "#define A 1\n");
    is_true(source, 1, "headers");
    is_true(source, 0, "headers once more");
    write_file(below.data, "c.h", "#define A 2\n");
    is_true(source, 1, "the last of them changed");
    write_file(inc, "c.h", "#define A 3\n");
    is_true(source, 1, "one of its name in a folder before, which it hides");
    remove_file(below.data, "c.h");
    is_true(source, 1, "… and does not any more");
    write_file(inc, "a.h", "#define A 4\n");
    is_true(source, 1, "the first in a folder before");
    remove_file(inc, "a.h");
    remove_file(inc, "c.h");
    is_true(source, 1, "one missing");
    static const char cuda[] = "#include <cuda_fp16.h>\n" KERNEL("p[0] = 5;");
    is_true(cuda, 1, "a header of CUDA's");
    write_file(inc, "vector_types.h", "#error mine\n");
    is_true(cuda, 1, "a file with the name of what it may include");
    remove_file(inc, "vector_types.h");
    gi_buf_free(&below);
}

static void test_unsure(void) {
    write_file(late, "x.h", "#define A 7\n");
    is_true("#define X \"x.h\"\n#include X\n" KERNEL("p[0] = A;"), 0, "a macro for a name");
    is_true("#if __has_include(\"x.h\")\n#define A 1\n#else\n#define A 0\n#endif\n"
            KERNEL("p[0] = A;"), 0, "a question for a file");
    is_true("%:include \"x.h\"\n" KERNEL("p[0] = A;"), 1, "another spelling of #");
    is_true("/* */ #include \"x.h\"\n" KERNEL("p[0] = A;"), 0, "a comment before it");
    is_true("# /* */ include \"x.h\"\n" KERNEL("p[0] = A;"), 0, "a comment in it");
    is_true("#inc\\\nlude \"x.h\"\n" KERNEL("p[0] = A;"), 0, "a word that goes on");
    is_true("#include \\\n\"x.h\"\n" KERNEL("p[0] = A;"), 0, "a line that goes on");
    is_true("#include_next \"x.h\"\n" KERNEL("p[0] = A;"), 0, "the next one");
    is_true("#include \"/dev/null\"\n" KERNEL("p[0] = 7;"), 0, "an absolute path");
    is_true(KERNEL("p[0] = sizeof __TIME__;"), 0, "the time");
    write_file(late, "x.h", "#define A sizeof __DATE__\n");
    is_true("#include \"x.h\"\n" KERNEL("p[0] = A;"), 0, "a header with the date");
    write_file(late, "x.h", "#define A 7\n");
    option = "--pre-include=x.h";
    is_true(KERNEL("p[0] = A;"), 0, "a header before the source");
    option = "-include=x.h";
    is_true(KERNEL("p[0] = A + 1;"), 0, "the same in short");
    option = NULL;
}

/* Entries of an earlier process, without a byte of a disk. */
static void test_room(void) {
    char name[65];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%064d", i);
        gi_buf path = path_of(kept, name);
        const int fd = open(path.data, O_WRONLY | O_CREAT, 0600);
        const struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        ok(ftruncate(fd, 400 << 20) == 0 && futimens(fd, times) == 0, "400 MB, %s", name);
        close(fd);
        gi_buf_free(&path);
    }
    (void)is_forged(KERNEL("p[0] = 9;"));
    is_int(entries(NULL), 3, "there is room for two of them and what is new");
    snprintf(name, sizeof name, "%064d", 0);
    gi_buf path = path_of(kept, name);
    ok(access(path.data, F_OK) != 0, "the oldest is gone");
    gi_buf_free(&path);
    forget();
}

int main(void) {
    gi_err err;
    gi_folder folder;
    if (landlock_version() == 0) {
        printf("1..0 # SKIP this kernel has no Landlock\n");
        return 0;
    }
    compiler = compile_open(&err);
    if (!ok(compiler != NULL && gi_folder_open(&folder, &err), "NVRTC and a folder")) {
        printf("# %s\n", err.message);
        return tap_done();
    }
    temporary = folder.path;
    snprintf(kept, sizeof kept, "%s/kept", temporary);
    snprintf(inc, sizeof inc, "%s/inc", temporary);
    snprintf(late, sizeof late, "%s/late", temporary);
    mkdir(inc, 0700);
    mkdir(late, 0700);
    ok(chdir(temporary) == 0, "there");
    unsetenv("GILUA_COMPILED");
    ok(compile_kept_folder() == NULL, "without the variable nothing is kept");
    setenv("GILUA_COMPILED", kept, 1);
    is_str(compile_kept_folder(), kept, "the folder is made");
    test_room();
    test_kept();
    test_batch();
    test_entries();
    test_headers();
    test_unsure();
    compile_close(compiler);
    gi_folder_close(&folder);
    return tap_done();
}
