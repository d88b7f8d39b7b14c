/* record.c - recordings: what is kept comes back; files that are cut, changed or something else are
** refused, or read as far as they go; full disks. */
#include "record/chunk.h"
#include "record/record.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static const char path[] = "test.rec";
static gi_err err;
static char names[3][RECORD_NAME];
static uint8_t noise[5000];

static void write_one(bool whole) {
    static const uint8_t zeros[100000];
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    if (!ok(w != NULL, "a recording is begun")) return;
    record_event(w, "program %s", "./app");
    record_blob(w, zeros, sizeof zeros, names[0]);
    record_blob(w, noise, sizeof noise, names[1]);
    record_blob(w, "", 0, names[2]);
    uint64_t before = record_bytes(w);
    char again[RECORD_NAME];
    record_blob(w, noise, sizeof noise, again);
    is_str(again, names[1], "equal bytes have one name");
    is_int((long long)(record_bytes(w) - before), 0, "and are kept once");
    for (int i = 0; i < 20000; i++) record_event(w, "write %d %s", i, names[i % 3]);
    if (whole) ok(record_end(w, &err), "and ended");
    else record_flush(w), record_leave(w);
}

static void test_round(void) {
    uint8_t out[100000];
    size_t len;
    uint64_t bytes = 0;
    write_one(true);
    struct stat st;
    stat(path, &st);
    ok(st.st_size < 100000, "zeros take little room: %lld bytes in all", (long long)st.st_size);
    Recording *r = recording_open(path, &err);
    if (!ok(r != NULL, "it opens")) return;
    ok(recording_is_whole(r), "and is whole");
    const char *events = recording_events(r, &len);
    has_str(events, "program ./app\nwrite 0 ", "its events, a line each");
    is_int(strstr(events, "write 19999 ") != NULL, 1, "to the last");
    is_int((long long)strlen(events), (long long)len, "as long as it says");
    ok(recording_size(r, names[0], &bytes) && bytes == 100000, "a blob's size");
    ok(recording_read(r, names[0], out, 100000, &err) && out[0] == 0 && out[99999] == 0, "zeros");
    ok(recording_read(r, names[1], out, 5000, &err) && memcmp(out, noise, 5000) == 0, "noise");
    ok(recording_read(r, names[2], out, 0, &err), "nothing");
    ok(!recording_read(r, names[1], out, 4999, &err), "not into less room than it needs");
    has_str(err.message, "5000 bytes, where 4999 belong", "with a sentence");
    ok(!recording_read(r, "00000000000000000000000000000000", out, 1, &err), "a name of nothing");
    ok(!recording_size(r, "../../etc/passwd", &bytes), "what is no name");
    recording_close(r);
}

static void test_cut(void) {
    struct stat st;
    write_one(false);
    Recording *r = recording_open(path, &err);
    ok(r && !recording_is_whole(r), "one that was not ended is read, and says so");
    recording_close(r);
    write_one(true);
    stat(path, &st);
    bool all = true;
    for (off_t n = st.st_size - 1; n >= 0; n -= 97) {
        if (truncate(path, n) != 0) break;
        r = recording_open(path, &err);
        all = all && (n < 16 ? r == NULL : r != NULL && !recording_is_whole(r));
        recording_close(r);
    }
    ok(all, "cut short anywhere, it is what came before");
}

/* Every byte changed in turn, of a short one: the reader answers, and lies about no blob. */
static void test_damage(void) {
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    record_event(w, "a line");
    record_blob(w, noise, 300, names[0]);
    char letters[100];
    memset(letters, 'a', sizeof letters);
    record_blob(w, letters, sizeof letters, names[1]);
    ok(record_end(w, &err), "a short one");
    uint8_t file[4096], out[300];
    int fd = open(path, O_RDWR);
    ssize_t n = read(fd, file, sizeof file);
    int opened = 0, lies = 0;
    for (ssize_t i = 0; i < n; i++) {
        uint8_t wrong = file[i] ^ 0x41;
        if (pwrite(fd, &wrong, 1, i) != 1) break;
        Recording *r = recording_open(path, &err);
        opened += r != NULL;
        if (r && recording_read(r, names[0], out, 300, NULL)) lies += memcmp(out, noise, 300) != 0;
        if (r && recording_read(r, names[1], out, 100, NULL)) lies += out[99] != 'a';
        recording_close(r);
        if (pwrite(fd, &file[i], 1, i) != 1) break;
    }
    close(fd);
    is_int(lies, 0, "no byte can change and a blob be believed");
    ok(opened < n, "%d of %zd changes are told when it is opened, the rest when it is read",
       (int)n - opened, n);
}

static void refused(const char *bytes, size_t n, const char *sentence, const char *what) {
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    ok(write(fd, bytes, n) == (ssize_t)n, "%s", what);
    close(fd);
    ok(recording_open(path, &err) == NULL, "  is refused");
    has_str(err.message, sentence, "  with a sentence");
}

/* As gilua wrote them first: blobs had another hash of their bytes for a name. */
static void test_version_1(void) {
    uint8_t head[HEAD_BYTES], chunk[CHUNK_BYTES];
    char name[RECORD_NAME], out[5], old[RECORD_NAME];
    Chunk blob = {.kind = CHUNK_BLOB, .stored = 5, .bytes = 5}, last = {.kind = CHUNK_END};
    gi_hash128("bytes", 5, old);
    blob_from(old, blob.name);
    blob_name(1, "", 0, last.name);
    head_write(head);
    head[12] = 1;
    unlink(path);
    FILE *file = fopen(path, "wb");
    fwrite(head, 1, sizeof head, file);
    chunk_write(&blob, chunk);
    fwrite(chunk, 1, sizeof chunk, file);
    fwrite("bytes", 1, 5, file);
    chunk_write(&last, chunk);
    fwrite(chunk, 1, sizeof chunk, file);
    fclose(file);
    Recording *r = recording_open(path, &err);
    ok(r && recording_is_whole(r), "a recording of version 1");
    ok(r && recording_read(r, old, out, 5, &err) && memcmp(out, "bytes", 5) == 0, "is read");
    record_name(r ? recording_version(r) : 2, "bytes", 5, name);
    is_str(name, old, "and what is compared with it has a name of then");
    record_name(RECORD_VERSION, "bytes", 5, name);
    ok(strcmp(name, old) != 0, "as it has none of now");
    recording_close(r);
}

static void test_names(void) {
    char name[RECORD_NAME];
    record_name(RECORD_VERSION, "bytes", 5, name);
    is_str(name, "95f64cad147d23ee983871c230125b12", "a name is what `xxhsum -H2` says");
    record_name(RECORD_VERSION, NULL, 0, name);
    is_str(name, "99aa06d3014798d86001c324468d497f", "of nothing, too");
}

static void test_others(void) {
    refused("", 0, "no recording of gilua's", "an empty file");
    refused("SQLite format 3\0 and so on", 26, "no recording of gilua's", "another program's");
    refused("gilua-rec\0\0\0\3\0\0\0", 16, "version 3", "a later version's");
    unlink(path);
    ok(recording_open(path, &err) == NULL && strcmp(err.code, "io") == 0, "none");
    ok(recording_open("/dev/zero", &err) == NULL, "a device");
    ok(mkfifo(path, 0666) == 0 && recording_open(path, &err) == NULL, "a pipe, without waiting");
    ok(record_create(path, &err) == NULL, "what is there is not written over");
}

static void test_full(void) {
    char name[RECORD_NAME];
    struct rlimit old, least;
    signal(SIGXFSZ, SIG_IGN);
    unlink(path);
    getrlimit(RLIMIT_FSIZE, &old);
    least = old;
    least.rlim_cur = 3000;
    setrlimit(RLIMIT_FSIZE, &least);
    RecordWriter *w = record_create(path, &err);
    record_blob(w, noise, sizeof noise, name);
    record_flush(w);
    ok(record_failed(w, &err), "a disk that is full is noticed at once");
    has_str(err.message, "test.rec cannot be written after 3000 bytes", "with a sentence");
    record_event(w, "more");
    ok(!record_end(w, &err), "and at the end");
    setrlimit(RLIMIT_FSIZE, &old);
}

int main(void) {
    char folder[] = "/tmp/gilua-test-XXXXXX";
    gi_rng rng;
    gi_rng_seed(&rng, 1);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)gi_rng_next(&rng);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
    test_round();
    test_cut();
    test_damage();
    test_version_1();
    test_names();
    test_others();
    test_full();
    unlink(path);
    if (chdir("/") != 0 || rmdir(folder) != 0) return 1;
    return tap_done();
}
