/* kept.c - see kept.h. */
#include "compile/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/landlock.h"
#include "compile/inside.h"
#include "compile/overloads.h"
#include "compile/reach.h"

static const char first_line[] = "gilua compiled 1\n";

const char *compile_kept_folder(void) {
    struct stat st;
    const char *folder = getenv("GILUA_COMPILED");
    if (folder == NULL || *folder == '\0' || landlock_version() == 0) return NULL;
    mkdir(folder, 0700);
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) return NULL;
    return st.st_uid == geteuid() && !(st.st_mode & 022) ? folder : NULL;
}

/* --- the key */

typedef struct Reading { /* of what NVRTC may read; done becomes false where that is unknown */
    int n;               /* options; some name folders or files */
    const char *const *options, *const *own;
    gi_buf told;
    const char *here; /* the current folder, with a slash */
    char **seen;      /* paths */
    int n_seen, cap_seen;
    size_t bytes;
    bool done;
} Reading;

/* The path that an option names, but for CUDA's own folders; NULL where it names none. */
static const char *place_of_option(const char *option, const char *const *own) {
    const char *path = reach_path(option);
    for (int i = 0; path && own[i]; i++)
        if (strcmp(path, own[i]) == 0) return NULL;
    return path;
}

/* Two compilations of the text may differ for something else than what it includes: in a batch
** __COUNTER__ goes on from unit to unit. */
static bool is_unsure(const char *text) {
    return strstr(text, "__TIME") || strstr(text, "__DATE__") || strstr(text, "__has_") ||
           strstr(text, "__COUNTER__");
}

/* Where the first spelling of # in a line stands; NULL without one. */
static const char *find_hash(const char *line, const char *end, size_t *len) {
    for (const char *p = line; p < end; p++) {
        *len = *p == '#' ? 1 : strncmp(p, "%:", 2) == 0 ? 2 : strncmp(p, "?\?=", 3) == 0 ? 3 : 0;
        if (*len) return p;
    }
    return NULL;
}

static bool is_blank(const char *from, const char *to) {
    return from + strspn(from, " \t\r\v\f") >= to;
}

/* Does a directive that is spelt so neither read a file nor go on as a word in the next line? */
static bool reads_nothing(const char *word, size_t len) {
    static const char *const names[] = {"define", "undef", "if",    "ifdef",   "ifndef", "elif",
                                        "else",   "endif", "error", "warning", "pragma", "line"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && strncmp(word, names[i], len) == 0) return true;
    return false;
}

/* The name that a line includes, a copy; NULL for none. False where it is unknown which. */
static bool included(const char *line, const char *end, char **name) {
    size_t len;
    const char *hash = find_hash(line, end, &len), *word;
    *name = NULL;
    if (hash == NULL) return true;
    if (!is_blank(line, hash)) return memmem(line, (size_t)(hash - line), "*/", 2) == NULL;
    word = hash + len + strspn(hash + len, " \t");
    len = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
    if (len != 7 || strncmp(word, "include", 7) != 0)
        return reads_nothing(word, len) || is_blank(word, end);
    word += 7 + strspn(word + 7, " \t");
    if (*word != '<' && *word != '"') return false;
    len = strcspn(word + 1, *word == '<' ? ">\n" : "\"\n");
    if (word + 1 + len >= end) return false;
    *name = gi_strndup(word + 1, len);
    return true;
}

static void read_place(Reading *r, const char *folder, const char *name);

/* What a text includes, from the folder that it is in (or NULL) and from each of the options'. */
static void read_included(Reading *r, const char *folder, const char *text) {
    char *name;
    r->done = r->done && !is_unsure(text);
    for (const char *end; r->done && *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        r->done = included(text, end, &name);
        if (name == NULL) continue;
        if (*name == '/') r->done = false;
        if (folder) read_place(r, folder, name);
        for (int i = 0; i < r->n; i++) {
            const char *place = place_of_option(r->options[i], r->own);
            if (place) read_place(r, place, name);
        }
        free(name);
    }
}

/* A path counts with its name, which the answer may have; below the current folder, whose name is
** taken out of answers, that folder counts too. */
static void tell_path(Reading *r, const char *path) {
    const bool below = strncmp(path, r->here, strlen(r->here)) == 0;
    gi_buf_addf(&r->told, "%s %s\n", path, below ? r->here : "");
}

static bool was_seen(Reading *r, const char *path) {
    for (int i = 0; i < r->n_seen; i++)
        if (strcmp(r->seen[i], path) == 0) return true;
    gi_grow(r->seen, r->n_seen, r->cap_seen);
    r->seen[r->n_seen++] = gi_strdup(path);
    r->done = r->done && r->n_seen <= KEPT_MOST;
    return false;
}

static void read_text(Reading *r, const char *path) {
    char hex[65];
    gi_buf text = {0};
    r->done = r->done && gi_read_file(path, &text, NULL) && (r->bytes += text.len) <= KEPT_READ;
    gi_sha256(text.len ? text.data : "", text.len, hex);
    gi_buf_addf(&r->told, "%s\n", hex);
    char *folder = gi_strndup(path, (size_t)(strrchr(path, '/') - path));
    if (r->done && text.len) read_included(r, folder, text.data);
    free(folder);
    gi_buf_free(&text);
}

static int is_entry(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* All that is in a folder; with `namesakes` what has the name of something in a folder of CUDA's,
** for a header of CUDA's may take it in its place. */
static void read_folder(Reading *r, const char *path, bool namesakes) {
    struct dirent **entries;
    const int n = scandir(path, &entries, is_entry, alphasort);
    r->done = r->done && n >= 0 && n <= KEPT_MOST;
    for (int i = 0; i < n; i++) {
        bool counts = !namesakes;
        for (int k = 0; namesakes && r->own[k] && !counts; k++) {
            gi_buf other = {0};
            gi_buf_addf(&other, "%s/%s", r->own[k], entries[i]->d_name);
            counts = access(other.data, F_OK) == 0;
            gi_buf_free(&other);
        }
        if (counts) read_place(r, path, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* A file or a folder that may be there. A link counts as what it leads to. */
static void read_place(Reading *r, const char *folder, const char *name) {
    struct stat st;
    gi_buf path = {0};
    gi_buf_addf(&path, "%s/%s", folder, name);
    if (r->done && stat(path.data, &st) == 0 && !was_seen(r, path.data)) {
        tell_path(r, path.data);
        if (S_ISDIR(st.st_mode)) read_folder(r, path.data, false);
        else read_text(r, path.data);
    }
    gi_buf_free(&path);
}

/* A file or a folder of CUDA's by its name and its date. */
static void tell_date(Reading *r, const char *path) {
    struct stat st;
    r->done = r->done && stat(path, &st) == 0;
    if (r->done)
        gi_buf_addf(&r->told, "%s %lld %lld.%09ld\n", path, (long long)st.st_size,
                    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* Does an option put a header of the user's before the source? It is looked for in the options'
** folders. */
static bool puts_before(const char *option) {
    if (strcmp(option, "--pre-include=" OVERLOADS_NAME) == 0) return false;
    return strncmp(option, "--pre-include", 13) == 0 || strncmp(option, "-include", 8) == 0;
}

/* A folder in which headers are looked for; nothing is kept with a header put before the source. */
static void read_option(Reading *r, const char *option) {
    struct stat st;
    const char *path = place_of_option(option, r->own);
    r->done = r->done && !is_unsure(option) && !puts_before(option);
    gi_buf_addf(&r->told, "%s\n", path ? "-I" : option);
    if (path == NULL || stat(path, &st) != 0) return;
    if (S_ISDIR(st.st_mode)) read_folder(r, path, true);
    else r->done = false;
}

/* The current folder with a slash behind it, allocated; NULL where it has no name. */
static char *current_folder(void) {
    char *path = getcwd(NULL, 0);
    gi_buf folder = {0};
    if (path && *path == '/' && path[1]) gi_buf_addf(&folder, "%s/", path);
    free(path);
    return folder.data;
}

KeptKey kept_key(const char *library, const char *const *own, int n, const char *const *options,
                 const char *name, const char *text) {
    KeptKey key = {""};
    Reading r = {.n = n, .options = options, .own = own};
    char *here = current_folder();
    if (here == NULL) return key;
    const char *slash = strrchr(name, '/');
    char *folder = slash ? gi_strndup(name, (size_t)(slash - name)) : NULL;
    r.done = true, r.here = here;
    gi_buf_adds(&r.told, first_line);
    tell_path(&r, name);
    tell_date(&r, library);
    for (int i = 0; own[i]; i++) tell_date(&r, own[i]);
    for (int i = 0; i < n; i++) read_option(&r, options[i]);
    read_included(&r, folder, text);
    gi_buf_adds(&r.told, text);
    if (r.done) gi_sha256(r.told.data, r.told.len, key.hex);
    for (int i = 0; i < r.n_seen; i++) free(r.seen[i]);
    free(r.seen);
    free(here);
    free(folder);
    gi_buf_free(&r.told);
    return key;
}

/* --- entries */

static void add_path(gi_buf *out, const char *name) {
    gi_buf_addf(out, "%s/%s", compile_kept_folder(), name);
}

/* SHA-256 of an entry's name and content: the line behind the first one. */
static void seal(const KeptKey *key, const char *bytes, size_t len, char hex[65]) {
    gi_buf all = {0};
    gi_buf_adds(&all, key->hex);
    gi_buf_add(&all, bytes, len);
    gi_sha256(all.data, all.len, hex);
    gi_buf_free(&all);
}

/* An entry as it lies there, if it is this user's alone. */
static bool read_entry(const KeptKey *key, gi_buf *out) {
    struct stat st;
    gi_buf path = {0};
    add_path(&path, key->hex);
    const bool own = lstat(path.data, &st) == 0 && S_ISREG(st.st_mode) &&
                     st.st_uid == geteuid() && !(st.st_mode & 077) && st.st_size < KEPT_BYTES;
    const bool done = own && gi_read_file(path.data, out, NULL);
    gi_buf_free(&path);
    return done;
}

/* Text behind its length in a line of its own, which is checked against what is left. */
static bool take(const char **p, const char *end, gi_buf *out) {
    char *rest;
    const unsigned long len = strtoul(*p, &rest, 10);
    if (rest == *p || *rest != '\n' || len > (size_t)(end - rest - 1)) return false;
    gi_buf_add(out, rest + 1, len);
    *p = rest + 1 + len;
    return true;
}

/* Puts the current folder's name, as PTX has it in its lines .file, in place of HERE; or the other
** way round. Strings of kernels are lists of numbers there. */
#define HERE "\"\1"

static void name_folder(gi_buf *text, bool here) {
    char *folder = current_folder();
    gi_buf quoted = {0}, out = {0};
    gi_buf_addf(&quoted, "\"%s", folder ? folder : "");
    compile_replace(&out, text->len ? text->data : "", here ? HERE : quoted.data,
                    here ? quoted.data : HERE);
    gi_buf_free(text);
    gi_buf_free(&quoted);
    free(folder);
    *text = out;
}

static bool take_result(const char *p, const char *end, CompileResult *out) {
    CompileResult r = {.ok = *p++ == '1'};
    const bool done = take(&p, end, &r.code) && take(&p, end, &r.log) && p == end;
    if (done) name_folder(&r.code, true), *out = r;
    else compile_result_free(&r);
    return done;
}

bool kept_read(const KeptKey *key, CompileResult *out) {
    enum { FIRST = sizeof first_line - 1, SEAL = 64, HEAD = FIRST + SEAL + 1 };
    char hex[65];
    gi_buf all = {0};
    bool done = key->hex[0] && compile_kept_folder() && read_entry(key, &all) && all.len > HEAD &&
                memcmp(all.data, first_line, FIRST) == 0;
    if (done) {
        seal(key, all.data + HEAD, all.len - HEAD, hex);
        done = memcmp(all.data + FIRST, hex, SEAL) == 0 &&
               take_result(all.data + HEAD, all.data + all.len, out);
    }
    gi_buf_free(&all);
    return done;
}

static void add_text(gi_buf *out, const gi_buf *text) {
    gi_buf_addf(out, "%zu\n", text->len);
    if (text->len) gi_buf_add(out, text->data, text->len);
}

static bool write_entry(const char *path, const gi_buf *text) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool done = write(fd, text->data, text->len) == (ssize_t)text->len;
    return close(fd) == 0 && done;
}

/* --- room */

typedef struct Entry {
    char *name;
    struct timespec date;
    size_t bytes;
} Entry;

static int by_date(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->date.tv_sec != y->date.tv_sec) return x->date.tv_sec < y->date.tv_sec ? -1 : 1;
    if (x->date.tv_nsec != y->date.tv_nsec) return x->date.tv_nsec < y->date.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_name(const char *name) {
    return strspn(name, "0123456789abcdef") == 64;
}

/* Removes the oldest until the rest takes so many bytes. */
static void make_room(const char *folder, size_t most) {
    struct { Entry *v; int n, cap; } all = {0};
    size_t bytes = 0;
    struct stat st;
    DIR *dir = opendir(folder);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        if (!is_name(d->d_name) || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        gi_grow(all.v, all.n, all.cap);
        all.v[all.n++] = (Entry){gi_strdup(d->d_name), st.st_mtim, (size_t)st.st_size};
        bytes += (size_t)st.st_size;
    }
    if (all.n) qsort(all.v, (size_t)all.n, sizeof *all.v, by_date);
    for (int i = 0; i < all.n; i++) {
        if (bytes > most && unlinkat(dirfd(dir), all.v[i].name, 0) == 0) bytes -= all.v[i].bytes;
        free(all.v[i].name);
    }
    free(all.v);
    if (dir) closedir(dir);
}

void kept_write(const KeptKey *key, const CompileResult *r) {
    static bool has_looked;
    char hex[65];
    const char *folder = compile_kept_folder();
    if (folder == NULL || key->hex[0] == '\0') return;
    gi_buf code = {0}, text = {0}, all = {0}, path = {0}, beside = {0};
    if (r->code.len) gi_buf_add(&code, r->code.data, r->code.len);
    name_folder(&code, false);
    gi_buf_adds(&text, r->ok ? "1" : "0");
    add_text(&text, &code);
    add_text(&text, &r->log);
    seal(key, text.data, text.len, hex);
    gi_buf_addf(&all, "%s%s\n", first_line, hex);
    gi_buf_add(&all, text.data, text.len);
    add_path(&path, key->hex);
    gi_buf_addf(&beside, "%s.%d", path.data, (int)getpid());
    if (!write_entry(beside.data, &all) || rename(beside.data, path.data) != 0)
        unlink(beside.data);
    if (!has_looked) make_room(folder, KEPT_BYTES); /* once a process: looking takes a while */
    has_looked = true;
    gi_buf_free(&code);
    gi_buf_free(&text);
    gi_buf_free(&all);
    gi_buf_free(&path);
    gi_buf_free(&beside);
}
